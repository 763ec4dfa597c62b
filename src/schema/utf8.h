/* Reading UTF-8 a code point at a time. */
#ifndef HF_SCHEMA_UTF8_H
#define HF_SCHEMA_UTF8_H

#include "base/str.h"

#include <stdint.h>

/* Reads the code point that `text` starts with. Returns the bytes it takes, or 0 if the text is empty or starts with
 * what is no UTF-8 (overlong, a surrogate, cut off). */
size_t hf_utf8_read(struct hf_str text, uint32_t *ret_code);

#endif
