/* A routed request on its way through the policy kernel.
 *
 * The pipeline performs what the call's state machine asks for (permits, attempts, reports, the end) and tells it what
 * happened; it decides nothing. Events wait in the exchange's own queue, so that neither state machine runs inside
 * itself or the other. */
#ifndef HF_GATEWAY_PIPELINE_H
#define HF_GATEWAY_PIPELINE_H

#include "gateway/exchange.h"

/* Begins with the stages before the call; the exchange's targets are filled in. It may be gone when this returns. */
void hf_pipeline_start(struct hf_exchange *exchange);

/* A stage that kept the exchange lets it go: on with the next one, or the call. It may be gone when this returns. */
void hf_pipeline_go_on(struct hf_exchange *exchange);

/* Answers one exchange, and ends it: with the server's `response` (borrowed; under the exchange's own id, era and
 * marker), or if that is NULL as `outcome` says. */
void hf_pipeline_answer(struct hf_exchange *exchange, const struct hf_message *response,
                        const struct hf_outcome *outcome);

/* The exchange is about to be freed: the stages forget it. */
void hf_pipeline_left(struct hf_exchange *exchange);

/* Queues an event, for the end of this turn of the loop. */
void hf_pipeline_post(struct hf_exchange *exchange, const struct hf_call_event *event);

/* Queues an event and steps. Returns false if the exchange is gone. */
bool hf_pipeline_event(struct hf_exchange *exchange, const struct hf_call_event *event);

/* The client gives the call up; overtakes what is queued. The exchange is gone when it returns, unless it is being
 * written down: then it goes on without a client. */
void hf_pipeline_cancel(struct hf_exchange *exchange);

/* The exchange whose call waits with this waiter. */
struct hf_exchange *hf_pipeline_waiter_exchange(struct hf_waiter *waiter);

/* Nobody waits on the line any more: hf_call_outlive, for a call that is under way. */
void hf_pipeline_outlive(struct hf_exchange *exchange);

/* The call's timer was reached. */
void hf_pipeline_timer(struct hf_exchange *exchange);

#endif
