#include "json/value.h"

#include "base/error.h"

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

/* Encodes any code point, lone surrogates too (those bytes are no UTF-8, so they equal nothing that is). */
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

/* Reads the escape at `p` (a backslash in a valid string that ends before `end`); returns the bytes it takes. */
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
    char bytes[4] = {*p};
    size_t len = 1;
    if (*p == '\\') {
      unsigned cp;
      p += read_escape(p, end, &cp);
      len = encode(cp, bytes);
    } else {
      p++;
    }
    if (text.len - at < len || memcmp(text.ptr + at, bytes, len) != 0)
      return false;
    at += len;
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
    unsigned cp;
    p += read_escape(p, end, &cp);
    if (is_high(cp) || is_low(cp))
      cp = 0xfffd;
    char bytes[4];
    size_t len = encode(cp, bytes);
    r = hf_buf_append(out, bytes, len);
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

static size_t skip_digits(struct hf_str raw, size_t at) {
  while (at < raw.len && raw.ptr[at] >= '0' && raw.ptr[at] <= '9')
    at++;
  return at;
}

/* True if it is a number as JSON spells one, with nothing around it. */
static bool is_number(struct hf_str raw) {
  size_t start = raw.len > 0 && raw.ptr[0] == '-';
  size_t at = skip_digits(raw, start);
  if (at == start || (raw.ptr[start] == '0' && at > start + 1))
    return false;
  if (at < raw.len && raw.ptr[at] == '.') {
    start = at + 1;
    at = skip_digits(raw, start);
    if (at == start)
      return false;
  }
  if (at < raw.len && (raw.ptr[at] == 'e' || raw.ptr[at] == 'E')) {
    start = at + 1;
    start += start < raw.len && (raw.ptr[start] == '+' || raw.ptr[start] == '-');
    at = skip_digits(raw, start);
    if (at == start)
      return false;
  }
  return at == raw.len;
}

/* The digits of a number without sign, point and leading or trailing zeros, and its power of ten. */
struct decimal {
  char digits[20];
  size_t count;
  bool negative;
  bool too_long;
  int64_t exponent;
};

static void read_decimal(struct hf_str raw, struct decimal *d) {
  *d = (struct decimal){.negative = raw.ptr[0] == '-'};
  size_t i = d->negative;
  bool point = false;
  int64_t zeros = 0; /* held back: they count only if a digit follows */
  for (; i < raw.len && raw.ptr[i] != 'e' && raw.ptr[i] != 'E'; i++) {
    if (raw.ptr[i] == '.') {
      point = true;
      continue;
    }
    if (point)
      d->exponent--;
    if (raw.ptr[i] == '0') {
      zeros += d->count > 0;
      continue;
    }
    for (; zeros > 0 && d->count < sizeof d->digits; zeros--)
      d->digits[d->count++] = '0';
    if (zeros > 0 || d->count == sizeof d->digits) {
      d->too_long = true;
      return;
    }
    d->digits[d->count++] = raw.ptr[i];
  }
  d->exponent += zeros;

  if (i == raw.len)
    return;
  i++;
  bool negative = raw.ptr[i] == '-';
  if (negative || raw.ptr[i] == '+')
    i++;
  int64_t exponent = 0;
  for (; i < raw.len; i++)
    if (exponent < INT32_MAX)
      exponent = exponent * 10 + (raw.ptr[i] - '0');
  d->exponent += negative ? -exponent : exponent;
}

int hf_json_int64(struct hf_str raw, int64_t *ret_value) {
  if (!is_number(raw))
    return HF_ERR_INVALID;
  struct decimal d;
  read_decimal(raw, &d);
  if (d.too_long)
    return HF_ERR_LIMIT;
  if (d.count > 0 && d.exponent < 0)
    return HF_ERR_INVALID;

  int64_t value = 0;
  for (size_t i = 0; i < d.count; i++) {
    int digit = d.digits[i] - '0';
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
