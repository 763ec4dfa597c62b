/* What passes between a call and a provider: the request for a permit (a waiter), the permit, and the reasons for which
 * there is none. */
#ifndef HOLDFAST_PERMIT_H
#define HOLDFAST_PERMIT_H

#include "holdfast/time.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a provider: what it knows of one of its tools. */
struct hf_provider_tool;

/* Places in a queue. One level is worth a second of waiting: 1 goes before all others that have not waited for seconds.
 */
enum { HF_PRIORITY_FIRST = 1, HF_PRIORITY_MIDDLE = 3, HF_PRIORITY_LAST = 5 };

/* A call's place in a provider's queue. It belongs to the call. */
struct hf_waiter;

/* Leave to make one attempt. A value: copied freely, owned by the call that was granted it, and good only in the
 * generations of the breakers that it names. */
struct hf_permit {
  uint32_t provider_generation;
  uint32_t tool_generation;
  hf_time granted_at;
  bool holds_slot;     /* one of the provider's concurrent calls, and of the tool's; given back by the first report */
  bool provider_probe; /* holds the lease of the provider's half-open breaker */
  bool tool_probe;     /* likewise of the tool's */
  hf_time hedge_after; /* what 95 of 100 answers of the tool took less than, at least 1 ms; HF_TIME_NEVER: not known */
};

enum hf_denial {
  HF_DENIAL_BREAKER, /* open; retry_at is when a probe is due */
  HF_DENIAL_LIMIT,   /* all slots are taken, and the queue is full, or too long for this call; or it gave its place up
                        to a more important one. retry_at is when it would probably have had its turn */
  HF_DENIAL_BUDGET,  /* the retry budget is spent */
  HF_DENIAL_DOWN,    /* the upstream cannot be started; `evidence` says why */
};

#ifdef __cplusplus
}
#endif

#endif
