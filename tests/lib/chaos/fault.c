#include "fault.h"

#include "pick.h"

#include "base/alloc.h"
#include "base/error.h"

#include <ctype.h>
#include <stdlib.h>

static const struct {
  const char *name;
  enum chaos_fault_kind kind;
  bool executes;
  long number;
} table[] = {
    {"none", CHAOS_NONE, true, 0},
    {"close_accept", CHAOS_CLOSE_ACCEPT, false, 0},
    {"reset_accept", CHAOS_RESET_ACCEPT, false, 0},
    {"reset_unread", CHAOS_RESET_UNREAD, false, 0},
    {"reset", CHAOS_RESET, false, 0},
    {"drop", CHAOS_RESET, false, 0},
    {"execdrop", CHAOS_RESET, true, 0},
    {"close", CHAOS_CLOSE, false, 0},
    {"stall", CHAOS_STALL, false, 0},
    {"death", CHAOS_DEATH, false, 1},
    {"kill", CHAOS_KILL, false, 0},
    {"refuse", CHAOS_REFUSE, false, 200},
    {"delay", CHAOS_DELAY, true, 100},
    {"slow", CHAOS_SLOW, true, 1},
    {"cut", CHAOS_CUT, true, 0},
    {"cut_close", CHAOS_CUT_CLOSE, true, 0},
    {"stall_after", CHAOS_STALL_AFTER, true, 0},
    {"truncated", CHAOS_TRUNCATED, true, 0},
    {"chunked", CHAOS_CHUNKED, true, 7},
    {"chunk_bad", CHAOS_CHUNK_BAD, true, 0},
    {"chunk_cut", CHAOS_CHUNK_CUT, true, 0},
    {"garbage", CHAOS_GARBAGE, true, 0},
    {"html", CHAOS_HTML, true, 0},
    {"empty", CHAOS_EMPTY, true, 0},
    {"wrong_id", CHAOS_WRONG_ID, true, 0},
    {"string_id", CHAOS_STRING_ID, true, 0},
    {"neither", CHAOS_NEITHER, true, 0},
    {"both", CHAOS_BOTH, true, 0},
    {"array", CHAOS_ARRAY, true, 0},
    {"status", CHAOS_STATUS, false, 500},
    {"429", CHAOS_STATUS, false, 429},
    {"500", CHAOS_STATUS, false, 500},
    {"502", CHAOS_STATUS, false, 502},
    {"503", CHAOS_STATUS, false, 503},
    {"504", CHAOS_STATUS, false, 504},
    {"session", CHAOS_SESSION, false, 404},
    {"sessionlost", CHAOS_SESSION, false, 404},
    {"rpc", CHAOS_RPC, false, -32603},
    {"iserror", CHAOS_ISERROR, true, 0},
    {"sse", CHAOS_SSE, true, 0},
    {"noise", CHAOS_NOISE, true, 0},
};

void chaos_faults_init(struct chaos_faults *faults, uint64_t seed) {
  memset(faults, 0, sizeof *faults);
  hf_random_init(&faults->random, seed);
  hf_map_init(&faults->seen, CHAOS_KEYS_MAX);
}

void chaos_faults_deinit(struct chaos_faults *faults) {
  hf_map_deinit(&faults->seen);
  hf_free(faults->script);
}

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
  const char *at = memrchr(text->ptr, mark, text->len);
  if (at == NULL) {
    return (struct hf_str){NULL, 0};
  }
  struct hf_str rest = {at + 1, text->len - (size_t)(at + 1 - text->ptr)};
  text->len = (size_t)(at - text->ptr);
  return rest;
}

/* `status:429/2` and `429:2` say the same: what follows the status is its Retry-After. */
static void take_retry_after(struct chaos_fault *fault, struct hf_str *argument, long named) {
  if (named != 0) {
    fault->number = named;
    return;
  }
  const char *slash = argument->ptr ? memchr(argument->ptr, '/', argument->len) : NULL;
  size_t skip = slash ? (size_t)(slash + 1 - argument->ptr) : argument->len;
  argument->ptr += skip;
  argument->len -= skip;
}

int chaos_fault_parse(struct hf_str text, struct chaos_fault *ret_fault) {
  struct chaos_fault fault = {0};
  bool exec = eat_prefix(&text, HF_STR("exec+"));
  bool noexec = !exec && eat_prefix(&text, HF_STR("noexec+"));
  fault.times = pick_number(split_off(&text, '*'), 0);
  const char *colon = memchr(text.ptr, ':', text.len);
  struct hf_str name = {text.ptr, colon ? (size_t)(colon - text.ptr) : text.len};
  struct hf_str argument = {colon ? colon + 1 : NULL, colon ? text.len - name.len - 1 : 0};
  if (argument.len >= sizeof fault.text) {
    return HF_ERR_LIMIT;
  }
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    if (hf_str_equal(name, hf_str_from(table[i].name))) {
      fault.kind = table[i].kind;
      fault.executes = (table[i].executes || exec) && !noexec;
      fault.number = pick_number(argument, table[i].number);
      if (fault.kind == CHAOS_STATUS) {
        take_retry_after(&fault, &argument, isdigit(name.ptr[0]) ? table[i].number : 0);
      }
      if (argument.len > 0) {
        memcpy(fault.text, argument.ptr, argument.len);
      }
      *ret_fault = fault;
      return 0;
    }
  }
  return HF_ERR_SYNTAX;
}

int chaos_faults_add_rates(struct chaos_faults *faults, const char *text) {
  while (*text != '\0') {
    struct hf_str item = {text, strcspn(text, ",")};
    text += item.len;
    text += *text == ',';
    struct hf_str rate = split_off(&item, '=');
    if (rate.ptr == NULL || faults->rates == CHAOS_RATES_MAX) {
      return HF_ERR_SYNTAX;
    }
    int rc = chaos_fault_parse(item, &faults->rate_fault[faults->rates]);
    if (rc != 0) {
      return rc;
    }
    faults->rate[faults->rates++] = strtod(rate.ptr, NULL);
  }
  return 0;
}

int chaos_faults_read_script(struct chaos_faults *faults, FILE *file) {
  char line[512];
  faults->script = hf_calloc(CHAOS_SCRIPT_MAX, sizeof *faults->script);
  chaos_must(faults->script == NULL);
  while (fgets(line, sizeof line, file) != NULL) {
    char fault[300];
    struct chaos_script_line *entry = &faults->script[faults->script_len];
    if (line[0] == '#' || sscanf(line, "%63s %299s", entry->method, fault) < 1) {
      continue;
    }
    if (sscanf(line, "%63s %299s", entry->method, fault) != 2 || faults->script_len + 1 == CHAOS_SCRIPT_MAX) {
      return HF_ERR_SYNTAX;
    }
    int rc = chaos_fault_parse(hf_str_from(fault), &entry->fault);
    if (rc != 0) {
      return rc;
    }
    entry->fault.times += entry->fault.times == 0;
    faults->script_len++;
  }
  return 0;
}

/* True while `fault` has met `key` less often than its `*TIMES` allows. */
static bool within_times(struct chaos_faults *faults, const struct chaos_fault *fault, const char *own,
                         const char *key) {
  if (fault->times == 0) {
    return true;
  }
  char name[512];
  int len = snprintf(name, sizeof name, "%s %s", own, key);
  struct hf_str id = {name, (size_t)len < sizeof name ? (size_t)len : sizeof name - 1};
  uintptr_t met = (uintptr_t)hf_map_get(&faults->seen, id);
  if (met >= (uintptr_t)fault->times) {
    return false;
  }
  chaos_must(hf_map_put(&faults->seen, id, (void *)(met + 1)));
  return true;
}

static bool pick_scripted(struct chaos_faults *faults, const char *method, struct chaos_fault *fault) {
  for (size_t i = 0; i < faults->script_len; i++) {
    struct chaos_script_line *line = &faults->script[i];
    if (line->fault.times > 0 && (strcmp(line->method, "*") == 0 || strcmp(line->method, method) == 0)) {
      line->fault.times--;
      *fault = line->fault;
      return true;
    }
  }
  return false;
}

struct chaos_fault chaos_faults_pick(struct chaos_faults *faults, const char *method, const char *own,
                                     const char *key) {
  struct chaos_fault fault = {.executes = true};
  if (own[0] != '\0' && chaos_fault_parse(hf_str_from(own), &fault) == 0) {
    if (within_times(faults, &fault, own, key)) {
      return fault;
    }
    fault = (struct chaos_fault){.executes = true};
  }
  if (pick_scripted(faults, method, &fault) || strcmp(method, "tools/call") != 0) {
    return fault;
  }
  enum { DRAWS = 1000000 };
  double draw = (double)hf_random_below(&faults->random, DRAWS) / DRAWS;
  for (size_t i = 0; i < faults->rates; i++) {
    if (draw < faults->rate[i]) {
      return faults->rate_fault[i];
    }
    draw -= faults->rate[i];
  }
  return fault;
}
