/* Two ways to ask a language model over HTTP, as the texts that go there and come back: OpenAI's chat completions,
 * which many servers speak, and Anthropic's messages. No I/O.
 *
 * The key is in the headers and nowhere else. */
#ifndef HF_DAEMON_MODEL_API_H
#define HF_DAEMON_MODEL_API_H

#include "base/buf.h"
#include "gateway/settings.h"

enum { HF_MODEL_ANSWER_MAX = 1 << 20, HF_MODEL_TEXT_MAX = 128 << 10 };

/* Appends where to post, with a NUL behind it that does not count: the configured URL, and behind one that does not
 * name the operation its path in this API. Returns 0 or the buffer's error. */
int hf_model_api_url(const struct hf_model_settings *settings, struct hf_buf *out);

/* Appends the header lines ("Name: value"), each with a NUL behind it. Returns 0 or the buffer's error. */
int hf_model_api_headers(const struct hf_model_settings *settings, struct hf_buf *out);

/* Appends the request: instructions and one message. Returns 0 or the buffer's error. */
int hf_model_api_body(const struct hf_model_settings *settings, struct hf_str instructions, struct hf_str message,
                      struct hf_buf *out);

/* Appends what the model said, and tells the tokens that it took, in and out; -1 if the answer does not say. Returns 0;
 * HF_ERR_INVALID if it is no answer of this API; HF_ERR_LIMIT; HF_ERR_NOMEM. */
int hf_model_api_read(enum hf_model_api api, struct hf_str body, struct hf_buf *text, int64_t *ret_tokens);

#endif
