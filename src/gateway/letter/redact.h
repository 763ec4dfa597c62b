/* Takes secrets out of JSON that people see, or that is to be kept without them.
 *
 * What counts as one: the values of members whose name matches a pattern (`*` stands for any run of characters; case
 * does not matter, nor does a dash for an underscore), and what a JSON Pointer names. Some patterns always hold:
 * tokens, secrets, passwords, API keys and `authorization`. Everything else stays byte for byte. */
#ifndef HF_GATEWAY_LETTER_REDACT_H
#define HF_GATEWAY_LETTER_REDACT_H

#include "base/buf.h"
#include "gateway/settings.h"

/* Appends `raw` with each secret's value replaced by "[redacted]". `secrets` are patterns and pointers (which begin
 * with a slash) beyond the usual ones, or NULL. `ret_changed` (or NULL) tells whether something was replaced. Returns
 * 0; HF_ERR_SYNTAX or HF_ERR_LIMIT if `raw` cannot be read; HF_ERR_LIMIT or HF_ERR_NOMEM of the buffer. On failure what
 * was appended is worth nothing, and must not be shown. */
int hf_redact(struct hf_str raw, const struct hf_strings *secrets, struct hf_buf *out, bool *ret_changed);

#endif
