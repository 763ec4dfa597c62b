#include "holdfast/limiter.h"

#include "base/alloc.h"
#include "policy/limiter.h"

struct hf_limiter *hf_limiter_new(const struct hf_limiter_options *options) {
  struct hf_limiter *limiter = hf_malloc(sizeof *limiter);
  if (limiter)
    hf_limiter_init(limiter, options);
  return limiter;
}

void hf_limiter_free(struct hf_limiter *limiter) {
  hf_free(limiter);
}
