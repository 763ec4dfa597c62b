/* What the gateway has to say beside a server's own answer: that the same call brought the same error before, what the
 * configuration advises about an error, and that a result is not what is expected of the tool.
 *
 * The server's words stay as they are; what is added is marked as the gateway's. Whoever may have changed something is
 * never advised to repeat it. */
#ifndef HF_GATEWAY_CORRECT_ADVICE_H
#define HF_GATEWAY_CORRECT_ADVICE_H

#include "gateway/exchange.h"

enum {
  HF_ADVICE_BYTES_MAX = 4096,       /* of hints about one error; those that don't fit are left out */
  HF_ADVICE_EXPECTED_MAX = 4 << 20, /* bytes of a result that is held against `expect`; larger ones pass */
};

/* Is it certain that the result is not what the target's tool is expected to answer? */
bool hf_advice_is_unexpected(const struct hf_target_tool *target, const struct hf_message *response);

/* The call is about to be answered: with `response`, or if that is NULL as `outcome` says. Notes what it means for its
 * caller's tries. Returns the message to pass on: `response`, or `ret_made` (then owned) if there is something to add.
 */
const struct hf_message *hf_advice_give(struct hf_exchange *exchange, const struct hf_message *response,
                                        const struct hf_outcome *outcome, struct hf_message *ret_made);

#endif
