#include "policy/reconcile.h"

#include "policy/attempt.h"
#include "policy/jitter.h"
#include "policy/orders.h"

static const struct hf_call_target *target_of(const struct hf_call *call) {
  return &call->targets[call->target];
}

/* Did its server say what became of the work that was followed there? */
static bool was_told(const struct hf_evidence *evidence) {
  return evidence->kind == HF_EVIDENCE_JSONRPC_ERROR || evidence->kind == HF_EVIDENCE_TOOL_ERROR ||
         evidence->kind == HF_EVIDENCE_TASK_CANCELLED;
}

void hf_reconcile_note_end(struct hf_call *call, const struct hf_attempt *a, const struct hf_evidence *evidence) {
  const struct hf_call_target *t = target_of(call);
  if (t->harmless)
    return;
  hf_time settle = t->check_time > 0 ? t->settle : HF_TIME_NEVER; /* else nobody was asked how long it takes */
  if (a->followed && !was_told(evidence))
    settle = HF_TIME_NEVER; /* work in a queue of its server's own begins whenever that comes to it */
  call->settled_at = hf_time_max(call->settled_at, evidence->child_dead ? call->now : hf_time_add(call->now, settle));
}

void hf_reconcile_check(struct hf_call *call, struct hf_call_actions *out) {
  call->state = HF_CALL_STATE_CHECKING;
  call->settled_check = call->now >= call->settled_at;
  call->wake_at = hf_time_min(call->deadline, hf_time_add(call->now, target_of(call)->check_time));
  hf_orders_push(call, out, HF_CALL_CHECK)->check_by = call->wake_at;
}

void hf_reconcile_begin(struct hf_call *call, struct hf_call_actions *out) {
  if (call->settled_at > call->now && hf_time_add(call->settled_at, target_of(call)->check_time) <= call->deadline) {
    call->state = HF_CALL_STATE_SETTLING;
    call->wake_at = call->settled_at;
    return;
  }
  hf_reconcile_check(call, out);
}

bool hf_reconcile_again(struct hf_call *call, enum hf_check said) {
  hf_time pause = hf_retry_pause(&call->retry, ++call->checks, -1, hf_jitter_next(&call->random));
  hf_time at = said == HF_CHECK_DID_NOT_RUN ? call->settled_at : hf_time_add(call->now, pause);
  if (hf_time_add(at, HF_LEAST_ATTEMPT) > call->deadline)
    return false;
  call->state = HF_CALL_STATE_SETTLING;
  call->wake_at = at;
  return true;
}

void hf_reconcile_disprove(struct hf_call *call) {
  call->executed = HF_EXECUTED_NO;
  for (unsigned i = 0; i < call->target_count; i++) {
    struct hf_visit *visit = &call->visits[i];
    if (call->targets[i].server == target_of(call)->server && visit->ran == HF_EXECUTED_MAYBE)
      visit->ran = HF_EXECUTED_NO;
    if (visit->ran > call->executed)
      call->executed = (enum hf_executed)visit->ran;
  }
}
