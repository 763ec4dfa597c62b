#include "policy/attempt.h"

#include "policy/chain.h"

static const struct hf_call_target *target_of(const struct hf_call *call) {
  return &call->targets[call->target];
}

bool hf_attempt_repeat_is_left(const struct hf_call *call) {
  return call->visits[call->target].tries < call->retry.attempts && call->spent < call->max_attempts;
}

/* It is cut short of the deadline only to make room for another one, for whoever waits. */
static bool is_limited(const struct hf_call *call, const struct hf_attempt *a) {
  if (call->outlives || a->followed)
    return false;
  bool may_repeat = hf_chain_allows_repeat(call, call->target, call->now) || hf_chain_can_disprove(call, call->target);
  return (hf_attempt_repeat_is_left(call) && may_repeat) || hf_chain_can_pass_on(call);
}

/* Where what may have run can be asked about, time is kept for that; but the attempt has at least half of what is
 * left. */
static hf_time reserve_limit(const struct hf_call *call, const struct hf_attempt *a) {
  hf_time keep = target_of(call)->check_time;
  if (keep <= 0)
    return HF_TIME_NEVER;
  hf_time limit = call->deadline - hf_time_min(keep, (call->deadline - a->started) / 2);
  return hf_chain_allows_repeat(call, call->target, limit) ? HF_TIME_NEVER : limit;
}

static hf_time total_limit(const struct hf_call *call, const struct hf_attempt *a) {
  hf_time limit = is_limited(call, a) ? hf_time_add(a->started, call->timeout.attempt) : HF_TIME_NEVER;
  return hf_time_min(limit, reserve_limit(call, a));
}

hf_time hf_attempt_connect_limit(const struct hf_call *call, const struct hf_attempt *a) {
  return a->connected || a->new_session ? HF_TIME_NEVER : hf_time_add(a->started, call->timeout.connect);
}

static hf_time idle_limit(const struct hf_call *call, const struct hf_attempt *a) {
  return a->last_life == HF_TIME_NEVER ? HF_TIME_NEVER : hf_time_add(a->last_life, call->timeout.idle);
}

static hf_time key_limit(const struct hf_call *call, const struct hf_attempt *a) {
  const struct hf_call_target *t = target_of(call);
  if (t->safety != HF_SAFETY_KEYED || a->complete || hf_chain_is_safe(call, call->target, t->keyed_until))
    return HF_TIME_NEVER;
  return t->keyed_until;
}

static void tighten(struct hf_limit *limit, enum hf_limit_kind kind, hf_time at) {
  if (at < limit->at)
    *limit = (struct hf_limit){at, kind};
}

struct hf_limit hf_attempt_limit(const struct hf_call *call, const struct hf_attempt *a) {
  struct hf_limit limit = {key_limit(call, a), HF_LIMIT_KEY};
  tighten(&limit, HF_LIMIT_CONNECT, hf_attempt_connect_limit(call, a));
  tighten(&limit, HF_LIMIT_ATTEMPT, total_limit(call, a));
  tighten(&limit, HF_LIMIT_IDLE, idle_limit(call, a));
  return limit;
}

hf_time hf_attempt_hedge_time(const struct hf_call *call) {
  const struct hf_call_target *t = target_of(call);
  const struct hf_attempt *a = &call->attempt[call->attempt[0].in_flight ? 0 : 1];
  bool both = call->attempt[0].in_flight && call->attempt[1].in_flight;
  if (!t->hedged || !t->harmless || both || call->hedged || call->acquiring || call->spent >= call->max_attempts ||
      a->permit.hedge_after == HF_TIME_NEVER)
    return HF_TIME_NEVER;
  hf_time at = hf_time_add(a->started, a->permit.hedge_after);
  return hf_time_add(at, HF_LEAST_ATTEMPT) <= call->deadline ? at : HF_TIME_NEVER;
}
