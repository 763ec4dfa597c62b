#include "policy/chain.h"

#include "policy/attempt.h"

bool hf_chain_allows_repeat(const struct hf_call *call, unsigned target, hf_time when) {
  const struct hf_call_target *t = &call->targets[target];
  return hf_safety_allows_repeat(t->safety) && (t->safety != HF_SAFETY_KEYED || when < t->keyed_until);
}

bool hf_chain_can_disprove(const struct hf_call *call, unsigned target) {
  const struct hf_call_target *t = &call->targets[target];
  return t->check_time > 0 && t->settle < HF_TIME_NEVER;
}

/* Does it forbid a run at `to` that something may have run at `at`? Endpoints of one server are one place. */
static bool forbids(const struct hf_call *call, unsigned at, unsigned to, hf_time when) {
  if (at != to && call->targets[at].harmless)
    return false;
  return call->targets[at].server != call->targets[to].server || !hf_chain_allows_repeat(call, at, when) ||
         !hf_chain_allows_repeat(call, to, when);
}

bool hf_chain_is_safe(const struct hf_call *call, unsigned target, hf_time when) {
  if (call->executed == HF_EXECUTED_NO)
    return true;
  for (unsigned i = 0; i < call->target_count; i++) {
    if (call->visits[i].ran != HF_EXECUTED_NO && forbids(call, i, target, when))
      return false;
  }
  return true;
}

static bool is_open(const struct hf_call *call, unsigned target) {
  return !call->visits[target].gone_to && hf_chain_is_safe(call, target, call->now);
}

unsigned hf_chain_next(const struct hf_call *call) {
  unsigned i = call->stay ? call->target_count : 0;
  while (i < call->target_count && !is_open(call, i))
    i++;
  return i;
}

bool hf_chain_can_pass_on(const struct hf_call *call) {
  for (unsigned i = 0; i < call->target_count && !call->stay; i++) {
    if (is_open(call, i) && !forbids(call, call->target, i, call->now))
      return true;
  }
  return false;
}

unsigned hf_chain_half_open(const struct hf_call *call) {
  unsigned soonest = call->target_count;
  hf_time at = call->deadline;
  for (unsigned i = 0; i < call->target_count; i++) {
    const struct hf_visit *v = &call->visits[i];
    if (v->shut && v->retry_at < at && hf_chain_allows_repeat(call, i, v->retry_at) &&
        hf_chain_is_safe(call, i, v->retry_at)) {
      soonest = i;
      at = v->retry_at;
    }
  }
  return soonest;
}

bool hf_chain_wants_check(const struct hf_call *call) {
  return call->targets[call->target].check_time > 0 && call->visits[call->target].ran == HF_EXECUTED_MAYBE &&
         !hf_chain_allows_repeat(call, call->target, call->now) &&
         hf_time_add(call->now, HF_LEAST_ATTEMPT) <= call->deadline &&
         (call->end == HF_CALL_END_UNSAFE || call->end == HF_CALL_END_FINAL);
}

/* Faults that say something of the request, the caller or its credentials: another answer would hide it. */
static bool is_the_callers(enum hf_fault fault) {
  return fault == HF_FAULT_REJECTED || fault == HF_FAULT_UNKNOWN_TOOL || fault == HF_FAULT_CONFLICT ||
         fault == HF_FAULT_TOOL_ERROR || fault == HF_FAULT_UNEXPECTED || fault == HF_FAULT_INPUT_REQUIRED ||
         fault == HF_FAULT_TASK_CANCELLED;
}

static bool had_effects(const struct hf_call *call, unsigned target) {
  const struct hf_call_target *t = &call->targets[target];
  return call->visits[target].ran != HF_EXECUTED_NO && !t->harmless && t->safety != HF_SAFETY_READ_ONLY;
}

bool hf_chain_may_degrade(const struct hf_call *call) {
  if (!call->degrades || call->end == HF_CALL_END_CANCELLED || call->fault == HF_FAULT_UNAUTHORIZED ||
      is_the_callers(call->fault))
    return false;
  for (unsigned i = 0; i < call->target_count; i++) {
    if (had_effects(call, i))
      return false;
  }
  return true;
}

/* An effect of which nobody knows whether it happened. */
static bool effect_is_unknown(const struct hf_call *call) {
  for (unsigned i = 0; i < call->target_count; i++) {
    if (call->visits[i].ran == HF_EXECUTED_MAYBE && had_effects(call, i))
      return true;
  }
  return false;
}

static bool letters_are_kept(const struct hf_call *call) {
  if (call->letters != HF_LETTER_UNSAFE)
    return call->letters == HF_LETTER_ALL;
  for (unsigned i = 0; i < call->target_count; i++) {
    if (call->visits[i].gone_to && call->targets[i].safety != HF_SAFETY_READ_ONLY)
      return true;
  }
  return false;
}

bool hf_chain_wants_letter(const struct hf_call *call) {
  if (!letters_are_kept(call))
    return false;
  switch (call->end) {
  case HF_CALL_END_ANSWERED:
  case HF_CALL_END_CHECKED:
    return false;
  case HF_CALL_END_CANCELLED:
    return effect_is_unknown(call);
  case HF_CALL_END_FINAL:
    return !is_the_callers(call->fault) || effect_is_unknown(call);
  case HF_CALL_END_UNSAFE:
  case HF_CALL_END_ATTEMPTS:
  case HF_CALL_END_BUDGET:
  case HF_CALL_END_REFUSED:
  case HF_CALL_END_HINT:
  case HF_CALL_END_DEADLINE:
    return true;
  }
  return false;
}
