#include "json/canonical.h"

#include "base/arena.h"
#include "base/error.h"
#include "json/number.h"
#include "json/value.h"

#include <stdlib.h>

enum { ARENA_MAX = 256 << 20 };

/* A member of an object that is being sorted. */
struct member {
  struct hf_str key; /* in its one spelling, with quotes */
  uint32_t value;
};

struct canonical {
  struct hf_json_doc doc;
  struct hf_arena arena; /* members and keys */
  struct hf_buf *out;
};

/* Control characters, quote and backslash are always escaped and nothing else is, but for the halves of a surrogate
 * pair alone, which have no UTF-8. */
static int append_escaped(struct hf_buf *out, const struct hf_json_char *c) {
  if (c->lone_surrogate || c->code < 0x20)
    return hf_buf_printf(out, "\\u%04x", c->code);
  if (c->code == '"' || c->code == '\\')
    return hf_buf_append(out, c->code == '"' ? "\\\"" : "\\\\", 2);
  return hf_buf_append(out, c->bytes, c->len);
}

static int append_string(struct hf_buf *out, struct hf_str raw) {
  const char *p = raw.ptr;
  const char *end = raw.ptr + raw.len - 1;
  int r = 0;
  while (r == 0 && p < end) {
    const char *backslash = memchr(p, '\\', (size_t)(end - p));
    const char *stop = backslash ? backslash : end;
    r = hf_buf_append(out, p, (size_t)(stop - p));
    p = stop;
    if (r < 0 || !backslash)
      continue;
    struct hf_json_char c;
    p += hf_json_read_escape(p, end, &c);
    r = append_escaped(out, &c);
  }
  return r == 0 ? hf_buf_append(out, "\"", 1) : r;
}

static int append_number(struct hf_buf *out, struct hf_str raw) {
  struct hf_decimal number;
  int r = hf_decimal_read(raw, &number);
  if (r < 0)
    return r;
  return number.vast ? hf_buf_append_str(out, raw) : hf_decimal_append(&number, out);
}

static int compare_members(const void *a, const void *b) {
  const struct hf_str left = ((const struct member *)a)->key, right = ((const struct member *)b)->key;
  int order = memcmp(left.ptr, right.ptr, left.len < right.len ? left.len : right.len);
  return order ? order : (left.len > right.len) - (left.len < right.len);
}

static int read_key(struct canonical *c, uint32_t node, struct hf_str *ret_key) {
  struct hf_str raw = hf_json_span(&c->doc, node);
  if (!(c->doc.nodes[node].flags & HF_JSON_ESCAPED)) {
    *ret_key = raw;
    return 0;
  }
  struct hf_buf key;
  hf_buf_init(&key, raw.len * 3); /* "\b" is the worst: it becomes "\u0008" */
  int r = append_string(&key, raw);
  if (r == 0) {
    *ret_key = hf_arena_copy(&c->arena, hf_buf_str(&key));
    r = ret_key->ptr ? 0 : HF_ERR_NOMEM;
  }
  hf_buf_deinit(&key);
  return r;
}

/* Reads the members of an object and sorts them; none may come twice. */
static int sort_members(struct canonical *c, uint32_t object, struct member **ret_members) {
  uint32_t count = c->doc.nodes[object].count;
  struct member *members = hf_arena_alloc(&c->arena, count * sizeof *members);
  if (!members)
    return HF_ERR_NOMEM;
  struct hf_json_iter iter = hf_json_iter(&c->doc, object);
  uint32_t key;
  for (uint32_t i = 0; hf_json_next(&c->doc, &iter, &key, &members[i].value); i++) {
    int r = read_key(c, key, &members[i].key);
    if (r < 0)
      return r;
  }
  qsort(members, count, sizeof *members, compare_members);
  for (uint32_t i = 1; i < count; i++)
    if (hf_str_equal(members[i - 1].key, members[i].key))
      return HF_ERR_DUPLICATE;
  *ret_members = members;
  return 0;
}

static int append_value(struct canonical *c, uint32_t node);

static int append_object(struct canonical *c, uint32_t object) {
  uint32_t count = c->doc.nodes[object].count;
  struct member *members = NULL;
  int r = count ? sort_members(c, object, &members) : 0;
  if (r == 0)
    r = hf_buf_append(c->out, "{", 1);
  for (uint32_t i = 0; r == 0 && i < count; i++) {
    if (i > 0)
      r = hf_buf_append(c->out, ",", 1);
    if (r == 0)
      r = hf_buf_append_str(c->out, members[i].key);
    if (r == 0)
      r = hf_buf_append(c->out, ":", 1);
    if (r == 0)
      r = append_value(c, members[i].value);
  }
  return r == 0 ? hf_buf_append(c->out, "}", 1) : r;
}

static int append_array(struct canonical *c, uint32_t array) {
  struct hf_json_iter iter = hf_json_iter(&c->doc, array);
  uint32_t value;
  int r = hf_buf_append(c->out, "[", 1);
  for (bool first = true; r == 0 && hf_json_next(&c->doc, &iter, NULL, &value); first = false) {
    if (!first)
      r = hf_buf_append(c->out, ",", 1);
    if (r == 0)
      r = append_value(c, value);
  }
  return r == 0 ? hf_buf_append(c->out, "]", 1) : r;
}

/* Recurses as deep as the text is nested, which the scanner bounds at HF_JSON_DEPTH. */
static int append_value(struct canonical *c, uint32_t node) {
  struct hf_str raw = hf_json_span(&c->doc, node);
  switch (hf_json_type(&c->doc, node)) {
  case HF_JSON_OBJECT:
    return append_object(c, node);
  case HF_JSON_ARRAY:
    return append_array(c, node);
  case HF_JSON_STRING:
    return append_string(c->out, raw);
  case HF_JSON_NUMBER:
    return append_number(c->out, raw);
  case HF_JSON_NULL:
  case HF_JSON_FALSE:
  case HF_JSON_TRUE:
    break;
  }
  return hf_buf_append_str(c->out, raw);
}

int hf_json_canonical(struct hf_str raw, struct hf_buf *out) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = HF_JSON_CANONICAL_NODES;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  size_t start = out->len;
  int r = hf_json_scan_feed(&scan, raw.ptr, raw.len, true);
  if (r == 0) {
    struct canonical c = {.doc = hf_json_doc(raw.ptr, &scan), .out = out};
    hf_arena_init(&c.arena, ARENA_MAX);
    r = append_value(&c, 0);
    hf_arena_deinit(&c.arena);
  }
  if (r < 0)
    out->len = start;
  hf_json_scan_deinit(&scan);
  return r;
}
