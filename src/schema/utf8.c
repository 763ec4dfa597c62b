#include "schema/utf8.h"

static const uint32_t LOWEST[] = {0, 0, 0x80, 0x800, 0x10000};

size_t hf_utf8_read(struct hf_str text, uint32_t *ret_code) {
  if (text.len == 0)
    return 0;
  unsigned char first = (unsigned char)text.ptr[0];
  if (first < 0x80) {
    *ret_code = first;
    return 1;
  }
  size_t len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.len < len)
    return 0;
  uint32_t code = first & (0x7fU >> len);
  for (size_t i = 1; i < len; i++) {
    unsigned char byte = (unsigned char)text.ptr[i];
    if ((byte & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (byte & 0x3f);
  }
  if (code < LOWEST[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return 0;
  *ret_code = code;
  return len;
}
