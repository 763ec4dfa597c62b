/* The stages of a tools/call around its policy: what may answer or hold it before, and what learns of its end.
 *
 * Every stage has one shape, and one table in pipeline.c has them in their order. Adding a stage adds a row. */
#ifndef HF_GATEWAY_STAGE_STAGE_H
#define HF_GATEWAY_STAGE_STAGE_H

#include "gateway/exchange.h"

enum hf_stage_result {
  HF_STAGE_PASS,  /* on to the next one */
  HF_STAGE_KEPT,  /* it is HELD: hf_pipeline_go_on goes on with the next stage, or it is answered */
  HF_STAGE_ENDED, /* it is answered, and gone */
};

struct hf_stage_row {
  /* Before the call. NULL: nothing. */
  enum hf_stage_result (*before)(struct hf_exchange *exchange);

  /* The call is over, and is about to be answered: with `response` (the server's, borrowed) or, if that is NULL, as
   * `outcome` says. Not called for those that never became a call. NULL: nothing. */
  void (*landed)(struct hf_exchange *exchange, const struct hf_message *response, const struct hf_outcome *outcome);

  /* The exchange is about to be freed, in whatever state: what points to it from outside points no more. NULL: nothing.
   */
  void (*left)(struct hf_exchange *exchange);
};

#endif
