#include "mcp/field_value.h"

#include "base/base64.h"
#include "base/error.h"

static const struct hf_str prefix = {"=?base64?", 9};
static const struct hf_str suffix = {"?=", 2};

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

int hf_field_value_encode(struct hf_buf *buf, struct hf_str text) {
  if (is_plain(text))
    return hf_buf_append_str(buf, text);
  int r = hf_buf_append_str(buf, prefix);
  if (r == 0)
    r = hf_base64_encode(buf, text);
  return r == 0 ? hf_buf_append_str(buf, suffix) : r;
}

int hf_field_value_decode(struct hf_buf *buf, struct hf_str value) {
  if (!is_header_safe(value))
    return HF_ERR_SYNTAX;
  if (!is_wrapped(value))
    return hf_buf_append_str(buf, value);
  return hf_base64_decode(buf, (struct hf_str){value.ptr + prefix.len, value.len - prefix.len - suffix.len});
}
