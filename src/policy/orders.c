#include "policy/orders.h"

#include "policy/attempt.h"
#include "policy/chain.h"

#include <assert.h>

struct hf_call_action *hf_orders_push(const struct hf_call *call, struct hf_call_actions *out,
                                      enum hf_call_action_kind kind) {
  assert(out->len < HF_CALL_ACTIONS_MAX);
  struct hf_call_action *action = &out->items[out->len++];
  *action = (struct hf_call_action){.kind = kind, .provider = call->target};
  return action;
}

static void push_report(const struct hf_call *call, unsigned provider, const struct hf_report *report,
                        struct hf_call_actions *out) {
  struct hf_call_action *action = hf_orders_push(call, out, HF_CALL_REPORT);
  action->provider = provider;
  action->report = *report;
}

void hf_orders_hand_back(const struct hf_call *call, unsigned provider, const struct hf_permit *permit,
                         struct hf_call_actions *out) {
  push_report(call, provider,
              &(struct hf_report){.permit = *permit, .blame = HF_BLAME_NOBODY, .retry_after = -1, .latency = -1}, out);
}

void hf_orders_report(struct hf_call *call, struct hf_attempt *a, enum hf_blame blame, hf_time latency,
                      struct hf_call_actions *out) {
  struct hf_report final = {
      .permit = a->permit, .blame = blame, .retry_after = call->evidence.retry_after, .latency = latency};
  push_report(call, call->target, &final, out);
  call->has_deferred = false;
  hf_attempt_end(a);
}

void hf_orders_report_deferred(struct hf_call *call, struct hf_attempt *a, enum hf_blame blame,
                               struct hf_call_actions *out) {
  hf_orders_report(call, a, blame, -1, out);
  struct hf_report *pushed = &out->items[out->len - 1].report;
  pushed->deferred = true;
  /* A breaker whose probe this settles has moved on to a new generation by then, and counts it only once. */
  call->has_deferred = blame != HF_BLAME_NOBODY && blame != HF_BLAME_SUCCESS;
  call->deferred = *pushed;
  call->deferred.deferred = false;
  call->deferred.permit.holds_slot = false;
}

void hf_orders_report_what_was_deferred(struct hf_call *call, struct hf_call_actions *out) {
  if (call->has_deferred)
    push_report(call, call->target, &call->deferred, out);
  call->has_deferred = false;
}

void hf_orders_abort(const struct hf_call *call, const struct hf_attempt *a, enum hf_abort_reason reason,
                     struct hf_call_actions *out) {
  struct hf_call_action *action = hf_orders_push(call, out, HF_CALL_ABORT_ATTEMPT);
  action->abort.attempt = a->index;
  action->abort.reason = reason;
}

void hf_orders_withdraw(struct hf_call *call, struct hf_call_actions *out) {
  if (!call->acquiring)
    return;
  hf_orders_push(call, out, HF_CALL_WITHDRAW);
  call->acquiring = false;
  call->owed = !call->waiter.queued;
  call->owed_by = call->target;
}

void hf_orders_acquire(struct hf_call *call, bool may_wait, bool is_retry, struct hf_call_actions *out) {
  struct hf_waiter *w = &call->waiter;
  bool limited = hf_chain_allows_repeat(call, call->target, call->now) || hf_chain_can_disprove(call, call->target);
  w->until = call->deadline;
  /* Others wait for a probe no longer than for any call, however long that one may take. */
  w->lease =
      limited && !call->outlives ? hf_time_min(call->timeout.attempt, call->timeout.deadline) : call->timeout.deadline;
  w->may_wait = may_wait && limited;
  w->is_retry = is_retry;
  w->priority = call->priority;
  call->acquiring = true;
  hf_orders_push(call, out, HF_CALL_ACQUIRE);
}
