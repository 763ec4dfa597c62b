/* The unit of time.
 *
 * A hf_time is a number of microseconds: a point on a monotonic axis of the caller's (CLOCK_MONOTONIC, a virtual clock)
 * or a difference on it. The library only compares and adds; where time seems to run backwards, it stands still. */
#ifndef HOLDFAST_TIME_H
#define HOLDFAST_TIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t hf_time;

/* Never; also "unknown" where a time says when something will be. */
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

#ifdef __cplusplus
}
#endif

#endif
