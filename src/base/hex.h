/* Bytes as hexadecimal digits, in lower case. */
#ifndef HF_BASE_HEX_H
#define HF_BASE_HEX_H

#include <stddef.h>

/* Writes 2 * `len` digits to `text`, without a NUL. */
void hf_hex(const unsigned char *bytes, size_t len, char *text);

#endif
