/* What passes between a call and a provider: the request for a permit, the permit, and the verdict that hands it back.
 */
#ifndef HF_POLICY_PERMIT_H
#define HF_POLICY_PERMIT_H

#include "base/list.h"
#include "base/time.h"
#include "policy/classify.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_provider_tool;

/* Leave to make one attempt. A value: copied freely, owned by the call that was granted it, and good only in the
 * generations of the breakers that it names. */
struct hf_permit {
  uint32_t provider_generation;
  uint32_t tool_generation;
  bool holds_slot;     /* one of the provider's concurrent calls; given back by the first report */
  bool provider_probe; /* holds the lease of the provider's half-open breaker */
  bool tool_probe;     /* likewise of the tool's */
};

/* A call's place in a provider's queue. It lives in the call (no allocation) and is linked only between an acquire that
 * was not answered and its grant, refusal or withdrawal. */
struct hf_waiter {
  struct hf_list node;
  struct hf_provider_tool *tool;
  hf_time until; /* the call's deadline: no sense in waiting longer */
  hf_time lease; /* how long the attempt may take */
  bool may_wait; /* for a half-open breaker; readiness and slots are waited for in any case */
  bool is_retry; /* draws from the retry budget */
  bool queued;   /* linked in `node` */
};

enum hf_denial {
  HF_DENIAL_BREAKER, /* open; retry_at is when a probe is due */
  HF_DENIAL_LIMIT,   /* the queue is full */
  HF_DENIAL_BUDGET,  /* the retry budget is spent */
  HF_DENIAL_DOWN,    /* the upstream cannot be started; `evidence` says why */
};

#endif
