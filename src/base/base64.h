/* Base64 with its standard alphabet and padding (RFC 4648, section 4). */
#ifndef HF_BASE_BASE64_H
#define HF_BASE_BASE64_H

#include "base/buf.h"

/* Appends `bytes`, encoded. Returns 0 or the buffer's error, after which a part may have been appended. */
int hf_base64_encode(struct hf_buf *buf, struct hf_str bytes);

/* Appends what `text` means. Returns 0, HF_ERR_SYNTAX (alphabet, padding, stray bits), or the buffer's error; then
 * nothing was appended. */
int hf_base64_decode(struct hf_buf *buf, struct hf_str text);

#endif
