#include "json/value.h"

#include "base/error.h"
#include "json/number.h"

struct hf_json_iter hf_json_iter(const struct hf_json_doc *doc, uint32_t container) {
  const struct hf_json_node *node = &doc->nodes[container];
  return (struct hf_json_iter){container + 1, node->next, node->type == HF_JSON_OBJECT};
}

bool hf_json_next(const struct hf_json_doc *doc, struct hf_json_iter *iter, uint32_t *ret_key, uint32_t *ret_value) {
  if (iter->at >= iter->end)
    return false;
  if (iter->object) {
    if (ret_key)
      *ret_key = iter->at;
    iter->at++;
  }
  *ret_value = iter->at;
  iter->at = doc->nodes[iter->at].next;
  return true;
}

int hf_json_member(const struct hf_json_doc *doc, uint32_t object, struct hf_str name, uint32_t *ret_value) {
  if (doc->nodes[object].type != HF_JSON_OBJECT)
    return HF_ERR_NOTFOUND;
  struct hf_json_iter iter = hf_json_iter(doc, object);
  uint32_t key, value, found = HF_JSON_NONE;
  while (hf_json_next(doc, &iter, &key, &value)) {
    if (!hf_json_string_is(doc, key, name))
      continue;
    if (found)
      return HF_ERR_DUPLICATE;
    found = value;
  }
  if (!found)
    return HF_ERR_NOTFOUND;
  *ret_value = found;
  return 0;
}

static unsigned hex_value(char c) {
  return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

static unsigned hex4(const char *p) {
  return hex_value(p[0]) << 12 | hex_value(p[1]) << 8 | hex_value(p[2]) << 4 | hex_value(p[3]);
}

/* Lone surrogates become bytes that are no UTF-8, so that they equal nothing that is. */
static size_t encode(unsigned cp, char out[4]) {
  if (cp < 0x80) {
    out[0] = (char)cp;
    return 1;
  }
  if (cp < 0x800) {
    out[0] = (char)(0xc0 | cp >> 6);
    out[1] = (char)(0x80 | (cp & 0x3f));
    return 2;
  }
  if (cp < 0x10000) {
    out[0] = (char)(0xe0 | cp >> 12);
    out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[2] = (char)(0x80 | (cp & 0x3f));
    return 3;
  }
  out[0] = (char)(0xf0 | cp >> 18);
  out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
  out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
  out[3] = (char)(0x80 | (cp & 0x3f));
  return 4;
}

static bool is_high(unsigned cp) {
  return cp >= 0xd800 && cp <= 0xdbff;
}

static bool is_low(unsigned cp) {
  return cp >= 0xdc00 && cp <= 0xdfff;
}

static size_t read_escape(const char *p, const char *end, unsigned *ret_cp) {
  switch (p[1]) {
  case 'b':
    *ret_cp = '\b';
    return 2;
  case 'f':
    *ret_cp = '\f';
    return 2;
  case 'n':
    *ret_cp = '\n';
    return 2;
  case 'r':
    *ret_cp = '\r';
    return 2;
  case 't':
    *ret_cp = '\t';
    return 2;
  case 'u':
    break;
  default:
    *ret_cp = (unsigned char)p[1];
    return 2;
  }
  unsigned cp = hex4(p + 2);
  if (is_high(cp) && end - p >= 12 && p[6] == '\\' && p[7] == 'u') {
    unsigned low = hex4(p + 8);
    if (is_low(low)) {
      *ret_cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
      return 12;
    }
  }
  *ret_cp = cp;
  return 6;
}

size_t hf_json_read_escape(const char *p, const char *end, struct hf_json_char *ret_char) {
  unsigned cp;
  size_t taken = read_escape(p, end, &cp);
  ret_char->code = cp;
  ret_char->lone_surrogate = is_high(cp) || is_low(cp);
  ret_char->len = encode(cp, ret_char->bytes);
  return taken;
}

bool hf_json_string_is(const struct hf_json_doc *doc, uint32_t node, struct hf_str text) {
  const struct hf_json_node *n = &doc->nodes[node];
  if (n->type != HF_JSON_STRING)
    return false;
  const char *p = doc->base + n->start + 1;
  const char *end = doc->base + n->end - 1;
  if (!(n->flags & HF_JSON_ESCAPED))
    return hf_str_equal((struct hf_str){p, (size_t)(end - p)}, text);

  size_t at = 0;
  while (p < end) {
    struct hf_json_char c = {.bytes = {*p}, .len = 1};
    p += *p == '\\' ? hf_json_read_escape(p, end, &c) : 1;
    if (text.len - at < c.len || memcmp(text.ptr + at, c.bytes, c.len) != 0)
      return false;
    at += c.len;
  }
  return at == text.len;
}

int hf_json_unescape(struct hf_str raw, struct hf_buf *out) {
  const char *p = raw.ptr + 1;
  const char *end = raw.ptr + raw.len - 1;
  while (p < end) {
    const char *backslash = memchr(p, '\\', (size_t)(end - p));
    const char *stop = backslash ? backslash : end;
    int r = hf_buf_append(out, p, (size_t)(stop - p));
    if (r < 0)
      return r;
    p = stop;
    if (!backslash)
      break;
    struct hf_json_char c;
    p += hf_json_read_escape(p, end, &c);
    r = c.lone_surrogate ? hf_buf_append(out, "\xef\xbf\xbd", 3) : hf_buf_append(out, c.bytes, c.len);
    if (r < 0)
      return r;
  }
  return 0;
}

int hf_json_string(const struct hf_json_doc *doc, uint32_t node, struct hf_arena *arena, struct hf_str *ret_text) {
  if (hf_json_type(doc, node) != HF_JSON_STRING)
    return HF_ERR_INVALID;
  struct hf_str raw = hf_json_span(doc, node);
  if (!(doc->nodes[node].flags & HF_JSON_ESCAPED)) {
    *ret_text = (struct hf_str){raw.ptr + 1, raw.len - 2};
    return 0;
  }
  /* What a string means is never longer than how it is spelt. */
  struct hf_buf buf;
  hf_buf_init(&buf, raw.len);
  int r = hf_json_unescape(raw, &buf);
  struct hf_str text = {NULL, 0};
  if (r == 0)
    text = hf_arena_copy(arena, hf_buf_str(&buf));
  hf_buf_deinit(&buf);
  if (!text.ptr)
    return HF_ERR_NOMEM;
  *ret_text = text;
  return 0;
}

int hf_json_int64(struct hf_str raw, int64_t *ret_value) {
  struct hf_decimal d;
  int r = hf_decimal_read(raw, &d);
  if (r < 0)
    return r;
  if (d.exponent < 0)
    return HF_ERR_INVALID;

  int64_t value = 0;
  for (size_t i = 0; i < d.digits.len; i++) {
    if (d.digits.ptr[i] == '.')
      continue;
    int digit = d.digits.ptr[i] - '0';
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (int64_t)(d.negative ? -digit : digit), &value))
      return HF_ERR_LIMIT;
  }
  for (int64_t i = 0; value != 0 && i < d.exponent; i++)
    if (__builtin_mul_overflow(value, 10, &value))
      return HF_ERR_LIMIT;
  *ret_value = value;
  return 0;
}

int hf_json_bool(const struct hf_json_doc *doc, uint32_t node, bool *ret_value) {
  enum hf_json_type type = hf_json_type(doc, node);
  if (type != HF_JSON_TRUE && type != HF_JSON_FALSE)
    return HF_ERR_INVALID;
  *ret_value = type == HF_JSON_TRUE;
  return 0;
}
