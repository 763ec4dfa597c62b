/* Values of the HTTP headers `Mcp-Name` and `Mcp-Param-*`: plain where safe, else `=?base64?…?=`. */
#ifndef HF_MCP_FIELD_VALUE_H
#define HF_MCP_FIELD_VALUE_H

#include "base/buf.h"

/* Appends `text` (UTF-8) as a header value. Returns 0 or the buffer's error. */
int hf_field_value_encode(struct hf_buf *buf, struct hf_str text);

/* Appends what `value` means. A value that is not wholly wrapped is literal. Returns 0, HF_ERR_SYNTAX for bad base64
 * (alphabet, padding, stray bits) or for bytes no header may have, or the buffer's error. */
int hf_field_value_decode(struct hf_buf *buf, struct hf_str value);

#endif
