/* The unit of time. Pure: policy code includes this and never the clock. */
#ifndef HF_BASE_TIME_H
#define HF_BASE_TIME_H

#include <stdint.h>

typedef int64_t hf_time; /* microseconds on some monotonic axis; also differences on it */

#define HF_TIME_NEVER INT64_MAX

#define HF_US(n) ((hf_time)(n))
#define HF_MS(n) ((hf_time)(n)*1000)
#define HF_SECONDS(n) ((hf_time)(n)*1000000)

static inline hf_time hf_time_min(hf_time a, hf_time b) {
  return a < b ? a : b;
}

static inline hf_time hf_time_max(hf_time a, hf_time b) {
  return a > b ? a : b;
}

/* now + delta, saturating at HF_TIME_NEVER. `delta` is not negative. */
static inline hf_time hf_time_add(hf_time now, hf_time delta) {
  hf_time sum;
  return __builtin_add_overflow(now, delta, &sum) ? HF_TIME_NEVER : sum;
}

#endif
