#include "policy/ending.h"

#include "policy/chain.h"
#include "policy/orders.h"

static enum hf_executed executed_of(const struct hf_call *call) {
  return call->inherited && call->executed == HF_EXECUTED_NO ? HF_EXECUTED_MAYBE : call->executed;
}

static struct hf_outcome outcome_of(const struct hf_call *call) {
  return (struct hf_outcome){
      .end = call->end,
      .fault = call->fault,
      .executed = executed_of(call),
      .evidence = call->evidence,
      .provider = call->provider,
      .attempts = call->attempts,
      .attempt = call->last_attempt,
      .elapsed = call->now - call->started,
      .retry_after = call->evidence.retry_after,
      .source = call->source,
      .age = call->age,
      .letter = call->letter,
  };
}

void hf_ending_finish(struct hf_call *call, struct hf_call_actions *out) {
  call->state = HF_CALL_STATE_FINISHED;
  hf_orders_push(call, out, HF_CALL_FINISH)->outcome = outcome_of(call);
}

void hf_ending_bury(struct hf_call *call, struct hf_call_actions *out) {
  if (!hf_chain_wants_letter(call)) {
    hf_ending_finish(call, out);
    return;
  }
  call->state = HF_CALL_STATE_BURYING;
  call->wake_at = hf_time_add(call->now, HF_CALL_LETTER_WAIT);
  hf_orders_push(call, out, HF_CALL_DEAD_LETTER)->outcome = outcome_of(call);
}

void hf_ending_begin(struct hf_call *call, struct hf_call_actions *out) {
  hf_orders_report_what_was_deferred(call, out);
  if (!hf_chain_may_degrade(call)) {
    hf_ending_bury(call, out);
    return;
  }
  call->state = HF_CALL_STATE_DEGRADING;
  hf_orders_push(call, out, HF_CALL_DEGRADE);
}

void hf_ending_degraded(struct hf_call *call, const struct hf_call_degraded *degraded, struct hf_call_actions *out) {
  if (call->state != HF_CALL_STATE_DEGRADING)
    return;
  if (degraded->source == HF_SOURCE_LIVE) {
    hf_ending_bury(call, out);
    return;
  }
  call->source = degraded->source;
  call->age = degraded->age;
  hf_ending_finish(call, out);
}

void hf_ending_letter_done(struct hf_call *call, bool written, struct hf_call_actions *out) {
  if (call->state != HF_CALL_STATE_BURYING)
    return;
  call->letter = written ? HF_LETTER_WRITTEN : HF_LETTER_FAILED;
  hf_ending_finish(call, out);
}
