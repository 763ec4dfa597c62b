#include "mcp/field_value.h"

#include "base/error.h"

static const struct hf_str prefix = {"=?base64?", 9};
static const struct hf_str suffix = {"?=", 2};
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool hf_field_name_valid(struct hf_str name) {
  for (size_t i = 0; i < name.len; i++)
    if (!hf_field_name_byte(name.ptr[i]))
      return false;
  return name.len > 0;
}

static bool ends_with(struct hf_str s, struct hf_str end) {
  return s.len >= end.len && memcmp(s.ptr + s.len - end.len, end.ptr, end.len) == 0;
}

static bool is_wrapped(struct hf_str s) {
  return s.len >= prefix.len + suffix.len && hf_str_starts(s, prefix) && ends_with(s, suffix);
}

/* Visible ASCII, spaces and tabs (RFC 9110, section 5.5). */
static bool is_header_safe(struct hf_str s) {
  for (size_t i = 0; i < s.len; i++)
    if (!(s.ptr[i] >= 0x20 && s.ptr[i] <= 0x7e) && s.ptr[i] != '\t')
      return false;
  return true;
}

/* An empty value would be safe, but some stacks drop empty headers: it is wrapped too. */
static bool is_plain(struct hf_str s) {
  return s.len > 0 && is_header_safe(s) && hf_str_trim(s).len == s.len && !is_wrapped(s);
}

static int encode_base64(struct hf_buf *buf, struct hf_str s) {
  for (size_t i = 0; i < s.len; i += 3) {
    unsigned char in[3] = {0};
    size_t n = s.len - i < 3 ? s.len - i : 3;
    memcpy(in, s.ptr + i, n);
    char out[4] = {alphabet[in[0] >> 2], alphabet[(in[0] & 3) << 4 | in[1] >> 4],
                   n > 1 ? alphabet[(in[1] & 15) << 2 | in[2] >> 6] : '=', n > 2 ? alphabet[in[2] & 63] : '='};
    int r = hf_buf_append(buf, out, sizeof out);
    if (r < 0)
      return r;
  }
  return 0;
}

int hf_field_value_encode(struct hf_buf *buf, struct hf_str text) {
  if (is_plain(text))
    return hf_buf_append_str(buf, text);
  int r = hf_buf_append_str(buf, prefix);
  if (r == 0)
    r = encode_base64(buf, text);
  return r == 0 ? hf_buf_append_str(buf, suffix) : r;
}

/* Returns 0 to 63, or -1. */
static int digit_value(char c) {
  const char *at = c ? strchr(alphabet, c) : NULL;
  return at ? (int)(at - alphabet) : -1;
}

/* Decodes one group of four; `pads` of its last characters are padding. */
static int decode_group(struct hf_buf *buf, const char *in, size_t pads) {
  unsigned bits = 0;
  for (size_t i = 0; i < 4; i++) {
    int value = i < 4 - pads ? digit_value(in[i]) : 0;
    if (value < 0)
      return HF_ERR_SYNTAX;
    bits = bits << 6 | (unsigned)value;
  }
  if (bits & ((1U << (8 * pads)) - 1))
    return HF_ERR_SYNTAX;
  char out[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
  return hf_buf_append(buf, out, 3 - pads);
}

static int decode_base64(struct hf_buf *buf, struct hf_str s) {
  if (s.len % 4)
    return HF_ERR_SYNTAX;
  for (size_t i = 0; i < s.len; i += 4) {
    size_t pads = 0;
    if (i + 4 == s.len && s.ptr[i + 3] == '=')
      pads = s.ptr[i + 2] == '=' ? 2 : 1;
    int r = decode_group(buf, s.ptr + i, pads);
    if (r < 0)
      return r;
  }
  return 0;
}

int hf_field_value_decode(struct hf_buf *buf, struct hf_str value) {
  if (!is_header_safe(value))
    return HF_ERR_SYNTAX;
  if (!is_wrapped(value))
    return hf_buf_append_str(buf, value);
  size_t before = buf->len;
  int r = decode_base64(buf, (struct hf_str){value.ptr + prefix.len, value.len - prefix.len - suffix.len});
  if (r < 0)
    buf->len = before;
  return r;
}
