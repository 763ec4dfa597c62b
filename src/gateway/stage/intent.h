/* What is written down before a call with effects is sent.
 *
 * An intent is in the store before the first byte of an unsafe or keyed call is handed over, so that a gateway killed
 * in the middle leaves a letter behind. A store that cannot take it holds no call up: it is said in the log, and the
 * call goes on. */
#ifndef HF_GATEWAY_STAGE_INTENT_H
#define HF_GATEWAY_STAGE_INTENT_H

#include "gateway/stage/stage.h"

#define HF_INTENT_WAIT HF_SECONDS(2) /* a slow store is not waited for longer */

/* May it do harm to run it twice? True if one of its providers is unsafe or keyed. */
bool hf_intent_has_effects(const struct hf_exchange *exchange);

/* The rows of the stage; it is the last one before the call. */
enum hf_stage_result hf_intent_before(struct hf_exchange *exchange);
void hf_intent_landed(struct hf_exchange *exchange, const struct hf_message *response,
                      const struct hf_outcome *outcome);
void hf_intent_left(struct hf_exchange *exchange);

/* The store's answer to this exchange is not wanted any more. */
void hf_intent_stop_waiting(struct hf_exchange *exchange);

/* The store did not take something: logged, but once a minute at most. */
void hf_intent_complain(struct hf_gateway *gateway, struct hf_str what, int error);

#endif
