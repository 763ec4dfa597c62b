/* A circuit breaker in the caller's memory. What it does is told in holdfast/breaker.h, with its options, states and
 * most of its functions. */
#ifndef HF_POLICY_BREAKER_H
#define HF_POLICY_BREAKER_H

#include "base/time.h"
#include "holdfast/breaker.h"
#include "policy/outage.h"
#include "policy/window.h"

#include <stdint.h>

struct hf_breaker {
  struct hf_breaker_options options;
  enum hf_breaker_state state;
  uint32_t generation;
  unsigned consecutive;
  struct hf_window window;
  hf_time open_until; /* open: when a probe is due; half-open: when its lease ends */
  hf_time due;        /* when the open time before the probe was over */
  struct hf_outage_log outages;
};

void hf_breaker_init(struct hf_breaker *breaker, const struct hf_breaker_options *options);

/* Leases the probe until `lease_end`. The gate said HF_BREAKER_PROBE. */
void hf_breaker_lease(struct hf_breaker *breaker, hf_time lease_end);

#endif
