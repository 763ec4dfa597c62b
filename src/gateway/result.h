/* Does a tool's result keep what its outputSchema promises?
 *
 * Official clients hold every result against it themselves, and throw away what does not fit without telling the model
 * that the tool ran. So it is looked at here, where something can be done: another provider, an older answer, or the
 * answer itself as an error that says what it is. */
#ifndef HF_GATEWAY_RESULT_H
#define HF_GATEWAY_RESULT_H

#include "gateway/exchange.h"

/* True if the result of this attempt is to count as a fault. Counts and logs. What is wrong with it is kept for
 * hf_result_tell. */
bool hf_result_misfits(struct hf_exchange *exchange, const struct hf_target_tool *target,
                       const struct hf_message *response);

/* The same for the answer of a route, as it is after its mapping. */
bool hf_result_misfits_route(struct hf_exchange *exchange, const struct hf_message *response);

/* The answer as it is passed on then: an error in front of its own content, without the structured content that does
 * not fit. Returns 0 and the message, owned, or an error. */
int hf_result_tell(const struct hf_exchange *exchange, const struct hf_message *response, struct hf_message *ret_told);

#endif
