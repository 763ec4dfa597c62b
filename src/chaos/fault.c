#include "chaos/fault.h"

#include "chaos/pick.h"

#include "base/distance.h"

#include <ctype.h>

static const struct {
  const char *name;
  enum hf_chaos_fault_kind kind;
  bool executes;
  long number;
} rows[] = {
    {"none", HF_CHAOS_NONE, true, 0},
    {"close_accept", HF_CHAOS_CLOSE_ACCEPT, false, 0},
    {"reset_accept", HF_CHAOS_RESET_ACCEPT, false, 0},
    {"reset_unread", HF_CHAOS_RESET_UNREAD, false, 0},
    {"reset", HF_CHAOS_RESET, false, 0},
    {"drop", HF_CHAOS_RESET, false, 0},
    {"execdrop", HF_CHAOS_RESET, true, 0},
    {"close", HF_CHAOS_CLOSE, false, 0},
    {"stall", HF_CHAOS_STALL, false, 0},
    {"death", HF_CHAOS_DEATH, false, 1},
    {"kill", HF_CHAOS_KILL, false, 0},
    {"refuse", HF_CHAOS_REFUSE, false, 200},
    {"late", HF_CHAOS_LATE, false, 1000},
    {"delay", HF_CHAOS_DELAY, true, 100},
    {"slow", HF_CHAOS_SLOW, true, 1},
    {"cut", HF_CHAOS_CUT, true, 0},
    {"cut_close", HF_CHAOS_CUT_CLOSE, true, 0},
    {"stall_after", HF_CHAOS_STALL_AFTER, true, 0},
    {"truncated", HF_CHAOS_TRUNCATED, true, 0},
    {"chunked", HF_CHAOS_CHUNKED, true, 7},
    {"chunk_bad", HF_CHAOS_CHUNK_BAD, true, 0},
    {"chunk_cut", HF_CHAOS_CHUNK_CUT, true, 0},
    {"garbage", HF_CHAOS_GARBAGE, true, 0},
    {"html", HF_CHAOS_HTML, true, 0},
    {"empty", HF_CHAOS_EMPTY, true, 0},
    {"wrong_id", HF_CHAOS_WRONG_ID, true, 0},
    {"string_id", HF_CHAOS_STRING_ID, true, 0},
    {"neither", HF_CHAOS_NEITHER, true, 0},
    {"both", HF_CHAOS_BOTH, true, 0},
    {"array", HF_CHAOS_ARRAY, true, 0},
    {"status", HF_CHAOS_STATUS, false, 500},
    {"429", HF_CHAOS_STATUS, false, 429},
    {"500", HF_CHAOS_STATUS, false, 500},
    {"502", HF_CHAOS_STATUS, false, 502},
    {"503", HF_CHAOS_STATUS, false, 503},
    {"504", HF_CHAOS_STATUS, false, 504},
    {"session", HF_CHAOS_SESSION, false, 404},
    {"sessionlost", HF_CHAOS_SESSION, false, 404},
    {"rpc", HF_CHAOS_RPC, false, -32603},
    {"iserror", HF_CHAOS_ISERROR, true, 0},
    {"sse", HF_CHAOS_SSE, true, 0},
    {"noise", HF_CHAOS_NOISE, true, 0},
    {"drift", HF_CHAOS_DRIFT, true, 0},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static bool eat_prefix(struct hf_str *text, struct hf_str prefix) {
  if (!hf_str_starts(*text, prefix)) {
    return false;
  }
  text->ptr += prefix.len;
  text->len -= prefix.len;
  return true;
}

/* Splits at the last `mark`; what follows it is returned, ptr NULL if there is none. */
static struct hf_str split_off(struct hf_str *text, char mark) {
  const char *at = text->len > 0 ? memrchr(text->ptr, mark, text->len) : NULL;
  if (at == NULL) {
    return (struct hf_str){NULL, 0};
  }
  struct hf_str rest = {at + 1, text->len - (size_t)(at + 1 - text->ptr)};
  text->len = (size_t)(at - text->ptr);
  return rest;
}

/* `status:429/2` and `429:2` say the same: what follows the status is its Retry-After. */
static void take_retry_after(struct hf_chaos_fault *fault, struct hf_str *argument, long named) {
  if (named != 0) {
    fault->number = named;
    return;
  }
  const char *slash = argument->ptr ? memchr(argument->ptr, '/', argument->len) : NULL;
  size_t skip = slash ? (size_t)(slash + 1 - argument->ptr) : argument->len;
  argument->ptr += skip;
  argument->len -= skip;
}

static int unknown(struct hf_str name, struct hf_error *reterr) {
  const char *names[ROWS + 1] = {NULL};
  enum { SHOWN = 40 };
  for (size_t i = 0; i < ROWS; i++) {
    names[i] = rows[i].name;
  }
  const char *nearest = hf_nearest(name, names);
  return hf_error_set(reterr, HF_ERR_INVALID, "unknown fault '%.*s'%s%s%s", (int)(name.len < SHOWN ? name.len : SHOWN),
                      name.ptr, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static int fill(struct hf_chaos_fault *fault, size_t row, struct hf_str name, struct hf_str argument,
                struct hf_error *reterr) {
  fault->kind = rows[row].kind;
  fault->number = hf_pick_number(argument, rows[row].number);
  bool negative = fault->number < 0 && fault->kind != HF_CHAOS_RPC && fault->kind != HF_CHAOS_SESSION;
  if (negative || fault->number > HF_CHAOS_NUMBER_MAX || fault->number < -HF_CHAOS_NUMBER_MAX) {
    return hf_error_set(reterr, HF_ERR_INVALID, "the number of fault '%s' is out of bounds", rows[row].name);
  }
  if (fault->kind == HF_CHAOS_STATUS) {
    take_retry_after(fault, &argument, isdigit((unsigned char)name.ptr[0]) ? rows[row].number : 0);
  }
  for (size_t i = 0; i < argument.len; i++) {
    if ((unsigned char)argument.ptr[i] < ' ') {
      return hf_error_set(reterr, HF_ERR_INVALID, "control character in the argument of fault '%s'", rows[row].name);
    }
    fault->text[i] = argument.ptr[i];
  }
  return 0;
}

int hf_chaos_fault_parse(struct hf_str text, struct hf_chaos_fault *ret_fault, struct hf_error *reterr) {
  struct hf_chaos_fault fault = {0};
  bool exec = eat_prefix(&text, HF_STR("exec+"));
  bool noexec = !exec && eat_prefix(&text, HF_STR("noexec+"));
  struct hf_str times = split_off(&text, '*');
  fault.times = hf_pick_number(times, 0);
  if ((times.ptr && fault.times == 0) || fault.times < 0) {
    return hf_error_set(reterr, HF_ERR_INVALID, "'*' needs a number of times");
  }
  const char *colon = text.len > 0 ? memchr(text.ptr, ':', text.len) : NULL;
  struct hf_str name = {text.ptr, colon ? (size_t)(colon - text.ptr) : text.len};
  struct hf_str argument = {colon ? colon + 1 : NULL, colon ? text.len - name.len - 1 : 0};
  if (argument.len >= sizeof fault.text) {
    return hf_error_set(reterr, HF_ERR_INVALID, "the argument of a fault has %zu bytes at most", sizeof fault.text - 1);
  }
  for (size_t i = 0; i < ROWS; i++) {
    if (hf_str_equal(name, hf_str_from(rows[i].name))) {
      int rc = fill(&fault, i, name, argument, reterr);
      fault.executes = (rows[i].executes || exec) && !noexec;
      if (rc == 0) {
        *ret_fault = fault;
      }
      return rc;
    }
  }
  return unknown(name, reterr);
}
