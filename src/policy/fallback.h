/* In which order a call tries the targets of a route. Pure: chance, and what came first before, are handed in.
 *
 * Targets that are stopped come last, as they are configured: trying them costs a refusal at once. One whose probe is
 * due stands where it would stand if it were well: the call that tries it first becomes the probe, and those that come
 * while it is out find it stopped. So a preferred target is gone back to when its breaker closes, and not before. */
#ifndef HF_POLICY_FALLBACK_H
#define HF_POLICY_FALLBACK_H

#include "base/time.h"
#include "holdfast/breaker.h"

#include <stdint.h>

enum hf_order {
  HF_ORDER_PRIORITY, /* as configured */
  HF_ORDER_LATENCY,  /* the fastest first; now and then another, so that more than the first one is known */
  HF_ORDER_SPLIT,    /* the first by chance, as the weights say; then by weight */
};

struct hf_candidate {
  enum hf_breaker_gate gate; /* hf_provider_gate */
  hf_time latency;           /* the median of its answers; HF_TIME_NEVER: not known */
  unsigned weight;
};

/* Puts the indexes of the candidates, best first, into `ret_order`. `preferred` is what the function returned for the
 * route's last call (0 at first): with HF_ORDER_LATENCY another one must be a fifth faster to take its place, so that
 * two of a kind don't take turns. There is at least one candidate, and at most HF_CALL_TARGETS_MAX. */
unsigned hf_fallback_order(enum hf_order order, const struct hf_candidate *candidates, unsigned count,
                           unsigned preferred, uint64_t random, unsigned *ret_order);

#endif
