/* What a call asks of its owner in one step: the list of its actions, and the account of its permits. Every permit that
 * was granted is reported from here, once for good. */
#ifndef HF_POLICY_ORDERS_H
#define HF_POLICY_ORDERS_H

#include "base/time.h"
#include "policy/call.h"

#include <stdbool.h>

/* Appends an action, about the target that the call is at. There is always room: HF_CALL_ACTIONS_MAX. */
struct hf_call_action *hf_orders_push(const struct hf_call *call, struct hf_call_actions *out,
                                      enum hf_call_action_kind kind);

/* Asks for a permit. Where the tool may not be repeated, an open breaker is not waited for in any case. */
void hf_orders_acquire(struct hf_call *call, bool may_wait, bool is_retry, struct hf_call_actions *out);

/* If there is an acquire outstanding. */
void hf_orders_withdraw(struct hf_call *call, struct hf_call_actions *out);

/* Gives a permit back that was granted and not used. */
void hf_orders_hand_back(const struct hf_call *call, unsigned provider, const struct hf_permit *permit,
                         struct hf_call_actions *out);

/* Gives the permit back with the verdict on the attempt that has just ended. What an earlier attempt was blamed for is
 * forgotten: a call counts once, with its last word. */
void hf_orders_report(struct hf_call *call, struct hf_attempt *attempt, enum hf_blame blame, hf_time latency,
                      struct hf_call_actions *out);

/* Likewise, for the time until the next attempt. If none follows after all, the verdict counts then. */
void hf_orders_report_deferred(struct hf_call *call, struct hf_attempt *attempt, enum hf_blame blame,
                               struct hf_call_actions *out);

/* None follows at this target. */
void hf_orders_report_what_was_deferred(struct hf_call *call, struct hf_call_actions *out);

void hf_orders_abort(const struct hf_call *call, const struct hf_attempt *attempt, enum hf_abort_reason reason,
                     struct hf_call_actions *out);

#endif
