/* A bulkhead: so many slots for calls in flight, and how long one is held. A provider has one, and so has each of its
 * tools, for a tool that hangs must not take the slots of the others. */
#ifndef HF_POLICY_BULKHEAD_H
#define HF_POLICY_BULKHEAD_H

#include "base/time.h"

#include <stdbool.h>

struct hf_bulkhead {
  unsigned limit; /* 0: none */
  unsigned in_flight;
  hf_time held; /* how long a slot was held of late; 0: not known yet */
};

bool hf_bulkhead_is_full(const struct hf_bulkhead *bulkhead);

void hf_bulkhead_take(struct hf_bulkhead *bulkhead);

/* Gives back a slot that was held for so long. */
void hf_bulkhead_give_back(struct hf_bulkhead *bulkhead, hf_time held);

/* How long somebody with `ahead` others before them probably waits for a slot; 0 if there is one, or nothing is known.
 */
hf_time hf_bulkhead_wait(const struct hf_bulkhead *bulkhead, unsigned ahead);

#endif
