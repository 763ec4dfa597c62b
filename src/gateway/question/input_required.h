/* The result by which a modern client is asked: `input_required`. */
#ifndef HF_GATEWAY_QUESTION_INPUT_REQUIRED_H
#define HF_GATEWAY_QUESTION_INPUT_REQUIRED_H

#include "gateway/exchange.h"

struct hf_input_required {
  struct hf_str requests; /* raw object of raw requests */
  struct hf_str state;
  enum hf_executed executed;
};

/* Appends the result, marked. Returns 0 or the buffer's error. */
int hf_input_required_write(const struct hf_exchange *exchange, const struct hf_input_required *what,
                            struct hf_buf *out);

/* Appends one request as it stands among those of a result: method, and params if they are there (raw). */
int hf_input_request_write(enum hf_method method, struct hf_str params, struct hf_buf *out);

/* Reads such a request as it is to be made of a legacy client: its method, and its params, which are appended (nothing,
 * if it has none). Returns 0, HF_ERR_INVALID if it is none, or HF_ERR_NOMEM. */
int hf_input_request_read(struct hf_exchange *exchange, const struct hf_json_doc *doc, uint32_t request,
                          enum hf_method *ret_method, struct hf_buf *params);

#endif
