/* HTTP headers: which names there may be, and the values of `Mcp-Name` and `Mcp-Param-*`: plain where safe, else
 * `=?base64?…?=`. */
#ifndef HF_MCP_FIELD_VALUE_H
#define HF_MCP_FIELD_VALUE_H

#include "base/buf.h"

#include <stdbool.h>

/* True for a byte that a header's name may have (RFC 9110, section 5.6.2). */
static inline bool hf_field_name_byte(char c) {
  static const uint64_t allowed[2] = {0x3ff6cfa00000000U, 0x57ffffffc7fffffeU}; /* letters, digits, !#$%&'*+-.^_`|~ */
  unsigned char byte = (unsigned char)c;
  return byte < 128 && (allowed[byte / 64] >> byte % 64 & 1);
}

bool hf_field_name_valid(struct hf_str name);

/* Appends `text` (UTF-8) as a header value. Returns 0 or the buffer's error. */
int hf_field_value_encode(struct hf_buf *buf, struct hf_str text);

/* Appends what `value` means. A value that is not wholly wrapped is literal. Returns 0, HF_ERR_SYNTAX for bad base64
 * (alphabet, padding, stray bits) or for bytes no header may have, or the buffer's error. */
int hf_field_value_decode(struct hf_buf *buf, struct hf_str value);

#endif
