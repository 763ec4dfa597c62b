/* The waiter that a call queues at a provider with; permits and denials are public: holdfast/permit.h. */
#ifndef HF_POLICY_PERMIT_H
#define HF_POLICY_PERMIT_H

#include "base/list.h"
#include "base/time.h"
#include "holdfast/permit.h"

#include <stdbool.h>

/* A call's place in a provider's queue. It lives in the call (no allocation) and is linked only between an acquire that
 * was not answered and its grant, refusal or withdrawal. */
struct hf_waiter {
  struct hf_list node;
  struct hf_provider_tool *tool;
  hf_time until;      /* the call's deadline: no sense in waiting longer */
  hf_time lease;      /* how long the attempt may take */
  bool may_wait;      /* for a half-open breaker; readiness and slots are waited for in any case */
  bool is_retry;      /* draws from the retry budget */
  unsigned priority;  /* 1 … HF_PRIORITY_LAST */
  hf_time queued_at;  /* while queued */
  hf_time full_since; /* queued: since when only a slot is missing; HF_TIME_NEVER while it is not only that */
  bool queued;        /* linked in `node` */
};

#endif
