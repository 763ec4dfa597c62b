/* `sampling/createMessage`: one message for the model of a client, and what it answered. */
#ifndef HF_GATEWAY_CORRECT_SAMPLING_H
#define HF_GATEWAY_CORRECT_SAMPLING_H

#include "base/buf.h"

#include <stdint.h>

enum { HF_SAMPLING_TEXT_MAX = 128 << 10 };

/* Appends the params of a request. Returns 0 or the buffer's error. */
int hf_sampling_params(struct hf_str instructions, struct hf_str message, uint32_t max_tokens, struct hf_buf *out);

/* Appends the text of a result (raw), all parts of it. Returns 0; HF_ERR_INVALID if there is none; HF_ERR_LIMIT;
 * HF_ERR_NOMEM. */
int hf_sampling_read(struct hf_str result, struct hf_buf *text);

#endif
