#include "base/base64.h"

#include "base/error.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int hf_base64_encode(struct hf_buf *buf, struct hf_str bytes) {
  for (size_t i = 0; i < bytes.len; i += 3) {
    unsigned char in[3] = {0};
    size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
    memcpy(in, bytes.ptr + i, n);
    char out[4] = {alphabet[in[0] >> 2], alphabet[(in[0] & 3) << 4 | in[1] >> 4],
                   n > 1 ? alphabet[(in[1] & 15) << 2 | in[2] >> 6] : '=', n > 2 ? alphabet[in[2] & 63] : '='};
    int r = hf_buf_append(buf, out, sizeof out);
    if (r < 0)
      return r;
  }
  return 0;
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

int hf_base64_decode(struct hf_buf *buf, struct hf_str text) {
  if (text.len % 4)
    return HF_ERR_SYNTAX;
  size_t before = buf->len;
  for (size_t i = 0; i < text.len; i += 4) {
    size_t pads = 0;
    if (i + 4 == text.len && text.ptr[i + 3] == '=')
      pads = text.ptr[i + 2] == '=' ? 2 : 1;
    int r = decode_group(buf, text.ptr + i, pads);
    if (r < 0) {
      buf->len = before;
      return r;
    }
  }
  return 0;
}
