#include "base/hex.h"

void hf_hex(const unsigned char *bytes, size_t len, char *text) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < len; i++) {
    text[2 * i] = digits[bytes[i] >> 4];
    text[2 * i + 1] = digits[bytes[i] & 15];
  }
}
