#include "cli/letter_json.h"

#include "base/hex.h"
#include "gateway/letter/redact.h"
#include "policy/classify.h"

#include <stddef.h>
#include <string.h>

enum { VALUE_MAX = 128 << 20, WORD_MAX = 128 };

int hf_letter_status_parse(struct hf_str name, enum hf_letter_status *ret_status) {
  for (enum hf_letter_status s = 0; s < HF_LETTER_STATUS_COUNT; s++) {
    if (hf_str_equal(name, hf_str_from(hf_letter_status_name(s)))) {
      *ret_status = s;
      return 0;
    }
  }
  return HF_ERR_INVALID;
}

int hf_letter_json_redact(struct hf_str raw, const struct hf_letter_view *view, struct hf_buf *out, bool *ret_hidden) {
  if (view->secrets_shown)
    return hf_buf_append_str(out, raw);
  const size_t before = out->len;
  bool hidden = false;
  int r = hf_redact(raw, view->secrets, out, &hidden);
  if (r < 0) {
    out->len = before;
    hidden = true;
    r = hf_buf_append_str(out, HF_STR("\"[redacted]\""));
  }
  if (ret_hidden)
    *ret_hidden |= hidden;
  return r;
}

static void write_value(struct hf_json_writer *w, const char *key, struct hf_str raw, const struct hf_letter_view *view,
                        bool *hidden) {
  struct hf_buf text;
  hf_buf_init(&text, VALUE_MAX);
  hf_json_write_key(w, key);
  if (hf_letter_json_redact(raw, view, &text, hidden) == 0)
    hf_json_write_raw(w, hf_buf_str(&text));
  else
    hf_json_write_str(w, HF_STR("[redacted]"));
  hf_buf_deinit(&text);
}

static void write_entry(struct hf_json_writer *w, const struct hf_json_doc *doc, uint32_t entry,
                        const struct hf_letter_view *view) {
  struct hf_json_iter iter = hf_json_iter(doc, entry);
  uint32_t key;
  uint32_t value;
  hf_json_write_object(w);
  while (hf_json_next(doc, &iter, &key, &value)) {
    hf_json_write_key_raw(w, hf_json_span(doc, key));
    const struct hf_str raw = hf_json_span(doc, value);
    struct hf_buf text;
    hf_buf_init(&text, VALUE_MAX);
    bool may_hide = hf_json_type(doc, value) == HF_JSON_OBJECT;
    if (may_hide && hf_letter_json_redact(raw, view, &text, NULL) < 0)
      hf_json_write_str(w, HF_STR("[redacted]"));
    else
      hf_json_write_raw(w, may_hide ? hf_buf_str(&text) : raw);
    hf_buf_deinit(&text);
  }
  hf_json_write_object_end(w);
}

int hf_letter_json_redact_history(struct hf_str raw, const struct hf_letter_view *view, struct hf_buf *out) {
  const struct hf_json_options options = {
      .max_bytes = VALUE_MAX, .max_nodes = HF_JSON_NODES, .max_depth = HF_JSON_DEPTH, .tree_depth = 2};
  struct hf_json_scan scan;
  struct hf_json_writer w;
  hf_json_scan_init(&scan, &options);
  hf_json_writer_init(&w, out);
  bool good = hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0 && scan.nodes[0].type == HF_JSON_ARRAY;
  struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
  hf_json_write_array(&w);
  if (good) {
    struct hf_json_iter iter = hf_json_iter(&doc, 0);
    uint32_t entry;
    while (hf_json_next(&doc, &iter, NULL, &entry))
      if (hf_json_type(&doc, entry) == HF_JSON_OBJECT)
        write_entry(&w, &doc, entry, view);
  }
  hf_json_write_array_end(&w);
  hf_json_scan_deinit(&scan);
  return hf_json_write_finish(&w);
}

/* The texts of a letter, under the names that they have in JSON. */
static const struct {
  const char *name;
  size_t offset;
} texts[] = {
    {"id", offsetof(struct hf_letter, id)},
    {"call", offsetof(struct hf_letter, call)},
    {"principal", offsetof(struct hf_letter, principal)},
    {"tool", offsetof(struct hf_letter, tool)},
    {"route", offsetof(struct hf_letter, route)},
    {"providers", offsetof(struct hf_letter, providers)},
    {"class", offsetof(struct hf_letter, reason)},
    {"end", offsetof(struct hf_letter, end)},
    {"executed", offsetof(struct hf_letter, executed)},
    {"schema", offsetof(struct hf_letter, schema)},
    {"key", offsetof(struct hf_letter, key)},
    {"traceId", offsetof(struct hf_letter, trace_id)},
};

enum { TEXTS = sizeof texts / sizeof texts[0] };

static void write_fingerprint(struct hf_json_writer *w, const struct hf_fingerprint *fingerprint) {
  char hex[HF_FINGERPRINT_HEX];
  hf_hex(fingerprint->byte, sizeof fingerprint->byte, hex);
  hf_json_write_member_str(w, "fingerprint", (struct hf_str){hex, sizeof hex});
}

static void write_large(struct hf_json_writer *w, const struct hf_letter *letter, const struct hf_letter_view *view,
                        bool *hidden) {
  if (letter->arguments.ptr)
    write_value(w, "arguments", letter->arguments, view, hidden);
  if (letter->attempts.ptr)
    hf_json_write_member_raw(w, "attempts", letter->attempts);
  if (letter->result.ptr)
    write_value(w, "result", letter->result, view, NULL);
  if (!letter->history.ptr)
    return;
  struct hf_buf history;
  hf_buf_init(&history, VALUE_MAX);
  if (view->secrets_shown || hf_letter_json_redact_history(letter->history, view, &history) < 0)
    hf_json_write_member_raw(w, "history", view->secrets_shown ? letter->history : HF_STR("[]"));
  else
    hf_json_write_member_raw(w, "history", hf_buf_str(&history));
  hf_buf_deinit(&history);
}

void hf_letter_json_write(struct hf_json_writer *w, const struct hf_letter *letter, const struct hf_letter_view *view) {
  bool redacted = letter->redacted;
  hf_json_write_object(w);
  for (size_t i = 0; i < TEXTS; i++) {
    struct hf_str text;
    memcpy(&text, (const char *)letter + texts[i].offset, sizeof text);
    if (text.ptr)
      hf_json_write_member_str(w, texts[i].name, text);
  }
  hf_json_write_member_str(w, "status", hf_str_from(hf_letter_status_name(letter->status)));
  hf_json_write_member_int(w, "priority", letter->priority);
  hf_json_write_member_int(w, "firstMs", letter->first_ms);
  hf_json_write_member_int(w, "lastMs", letter->last_ms);
  hf_json_write_member_int(w, "count", letter->count);
  hf_json_write_member_int(w, "replays", letter->replays);
  write_fingerprint(w, &letter->fingerprint);
  if (letter->expiring)
    hf_json_write_member_bool(w, "expiring", true);
  if (view->whole)
    write_large(w, letter, view, &redacted);
  if (redacted)
    hf_json_write_member_bool(w, "redacted", true);
  hf_json_write_object_end(w);
}

static int refuse(struct hf_error *reterr, const char *member, const char *what) {
  return hf_error_set(reterr, HF_ERR_INVALID, "'%s' %s", member, what);
}

static int find(const struct hf_json_doc *doc, const char *name, uint32_t *ret_node, struct hf_error *reterr) {
  int r = hf_json_member(doc, 0, hf_str_from(name), ret_node);
  return r == HF_ERR_DUPLICATE ? refuse(reterr, name, "occurs twice") : r;
}

static int read_texts(const struct hf_json_doc *doc, struct hf_arena *arena, struct hf_letter *letter,
                      struct hf_error *reterr) {
  for (size_t i = 0; i < TEXTS; i++) {
    uint32_t node;
    struct hf_str text;
    int r = find(doc, texts[i].name, &node, reterr);
    if (r == HF_ERR_NOTFOUND)
      continue;
    if (r == 0)
      r = hf_json_string(doc, node, arena, &text);
    if (r == HF_ERR_INVALID && !reterr->code)
      return refuse(reterr, texts[i].name, "is no string");
    if (r < 0)
      return reterr->code ? r : hf_error_set(reterr, r, "%s", hf_err_text(r));
    memcpy((char *)letter + texts[i].offset, &text, sizeof text);
  }
  return 0;
}

static int read_number(const struct hf_json_doc *doc, const char *name, int64_t min, int64_t max, int64_t *ret_number,
                       struct hf_error *reterr) {
  uint32_t node;
  int r = find(doc, name, &node, reterr);
  if (r == HF_ERR_NOTFOUND)
    return refuse(reterr, name, "is missing");
  if (r < 0)
    return r;
  int64_t number;
  if (hf_json_int64(hf_json_span(doc, node), &number) < 0 || number < min || number > max)
    return refuse(reterr, name, "is no number that it can be");
  *ret_number = number;
  return 0;
}

static int read_numbers(const struct hf_json_doc *doc, struct hf_letter *letter, struct hf_error *reterr) {
  int64_t priority = 0, count = 0, replays = 0;
  int r = read_number(doc, "priority", 0, HF_PRIORITY_LAST, &priority, reterr);
  if (r == 0)
    r = read_number(doc, "firstMs", 0, INT64_MAX / 2, &letter->first_ms, reterr);
  if (r == 0)
    r = read_number(doc, "lastMs", 0, INT64_MAX / 2, &letter->last_ms, reterr);
  if (r == 0)
    r = read_number(doc, "count", 1, INT32_MAX, &count, reterr);
  if (r == 0)
    r = read_number(doc, "replays", 0, INT32_MAX, &replays, reterr);
  if (r < 0)
    return r;
  letter->priority = (unsigned)priority;
  letter->count = (unsigned)count;
  letter->replays = (unsigned)replays;
  return 0;
}

static int digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_fingerprint(const struct hf_json_doc *doc, struct hf_letter *letter, struct hf_error *reterr) {
  uint32_t node;
  int r = find(doc, "fingerprint", &node, reterr);
  if (r < 0)
    return r == HF_ERR_NOTFOUND ? refuse(reterr, "fingerprint", "is missing") : r;
  const struct hf_str raw = hf_json_span(doc, node);
  bool good = raw.len == HF_FINGERPRINT_HEX + 2;
  for (size_t i = 0; good && i < HF_FINGERPRINT_LEN; i++) {
    const int high = digit(raw.ptr[1 + 2 * i]);
    const int low = digit(raw.ptr[2 + 2 * i]);
    good = high >= 0 && low >= 0;
    letter->fingerprint.byte[i] = (uint8_t)(good ? high << 4 | low : 0);
  }
  return good ? 0 : refuse(reterr, "fingerprint", "is not 64 hexadecimal digits");
}

static int read_raw(const struct hf_json_doc *doc, const char *name, enum hf_json_type type, struct hf_str *ret_raw,
                    struct hf_error *reterr) {
  uint32_t node;
  int r = find(doc, name, &node, reterr);
  if (r < 0)
    return r == HF_ERR_NOTFOUND ? 0 : r;
  if (hf_json_type(doc, node) != type)
    return refuse(reterr, name, type == HF_JSON_ARRAY ? "is no array" : "is no object");
  *ret_raw = hf_json_span(doc, node);
  return 0;
}

static int read_rest(const struct hf_json_doc *doc, struct hf_letter *letter, struct hf_error *reterr) {
  uint32_t node;
  int r = read_raw(doc, "arguments", HF_JSON_OBJECT, &letter->arguments, reterr);
  if (r == 0)
    r = read_raw(doc, "attempts", HF_JSON_ARRAY, &letter->attempts, reterr);
  if (r == 0)
    r = read_raw(doc, "history", HF_JSON_ARRAY, &letter->history, reterr);
  if (r == 0)
    r = read_raw(doc, "result", HF_JSON_OBJECT, &letter->result, reterr);
  if (r == 0 && find(doc, "redacted", &node, reterr) == 0)
    r = hf_json_bool(doc, node, &letter->redacted) < 0 ? refuse(reterr, "redacted", "is neither true nor false") : 0;
  return r;
}

/* What gateways make themselves: it stands in sentences, and in commands that are to be copied. */
static bool is_word(struct hf_str text) {
  for (size_t i = 0; i < text.len; i++)
    if (text.ptr[i] <= ' ' || text.ptr[i] >= 0x7f || strchr("'\"`\\$", text.ptr[i]))
      return false;
  return text.len <= WORD_MAX;
}

static int check_words(const struct hf_letter *letter, struct hf_error *reterr) {
  const struct {
    const char *name;
    struct hf_str text;
  } words[] = {{"call", letter->call}, {"class", letter->reason}, {"end", letter->end}, {"traceId", letter->trace_id}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (!is_word(words[i].text))
      return refuse(reterr, words[i].name, "is none that a gateway gives");
  return 0;
}

/* What a letter must say to be one, in words that the rest of the gateway knows. */
static int check(const struct hf_json_doc *doc, struct hf_arena *arena, struct hf_letter *letter,
                 struct hf_error *reterr) {
  uint32_t node;
  struct hf_str status;
  if (!letter->id.ptr || letter->id.len >= HF_LETTER_ID_MAX || !hf_str_starts(letter->id, HF_STR("d-")) ||
      !is_word(letter->id))
    return refuse(reterr, "id", "is none of a dead letter");
  if (!letter->tool.ptr)
    return refuse(reterr, "tool", "is missing");
  if (find(doc, "status", &node, reterr) < 0 || hf_json_string(doc, node, arena, &status) < 0 ||
      hf_letter_status_parse(status, &letter->status) < 0)
    return refuse(reterr, "status", "is none that a letter can have");
  bool known = false;
  for (enum hf_executed e = HF_EXECUTED_NO; e <= HF_EXECUTED_YES; e++)
    known |= hf_str_equal(letter->executed, hf_str_from(hf_executed_name(e)));
  return known ? 0 : refuse(reterr, "executed", "is neither no, maybe nor yes");
}

int hf_letter_json_read(const struct hf_json_doc *doc, struct hf_arena *arena, struct hf_letter *ret_letter,
                        struct hf_error *reterr) {
  struct hf_letter letter = {.priority = 0};
  if (hf_json_type(doc, 0) != HF_JSON_OBJECT)
    return hf_error_set(reterr, HF_ERR_INVALID, "a letter is a JSON object");
  int r = read_texts(doc, arena, &letter, reterr);
  if (r == 0)
    r = check(doc, arena, &letter, reterr);
  if (r == 0)
    r = check_words(&letter, reterr);
  if (r == 0)
    r = read_numbers(doc, &letter, reterr);
  if (r == 0)
    r = read_fingerprint(doc, &letter, reterr);
  if (r == 0)
    r = read_rest(doc, &letter, reterr);
  if (r == 0)
    *ret_letter = letter;
  return r;
}
