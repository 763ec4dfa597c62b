#include "holdfast/breaker.h"

#include "base/alloc.h"
#include "policy/breaker.h"

struct hf_breaker *hf_breaker_new(const struct hf_breaker_options *options) {
  struct hf_breaker *breaker = hf_malloc(sizeof *breaker);
  if (breaker)
    hf_breaker_init(breaker, options);
  return breaker;
}

void hf_breaker_free(struct hf_breaker *breaker) {
  hf_free(breaker);
}

bool hf_breaker_acquire(struct hf_breaker *breaker, hf_time now, hf_time lease_end, uint32_t *ret_generation) {
  switch (hf_breaker_gate(breaker, now)) {
  case HF_BREAKER_STOP:
    return false;
  case HF_BREAKER_PROBE:
    hf_breaker_lease(breaker, lease_end);
    break;
  case HF_BREAKER_PASS:
    break;
  }
  *ret_generation = breaker->generation;
  return true;
}
