/* When to try again: exponential backoff with full jitter (M. Brooker, "Exponential Backoff and Jitter"), and
 * Retry-After (RFC 9110, 10.2.3). Whether to try again at all is for holdfast/classify.h and holdfast/budget.h to
 * say; a call (holdfast/call.h) joins the three. */
#ifndef HOLDFAST_RETRY_H
#define HOLDFAST_RETRY_H

#include "holdfast/api.h"
#include "holdfast/time.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hf_retry_jitter {
  HF_RETRY_JITTER_FULL, /* any pause up to its bound: callers that failed together come back apart */
  HF_RETRY_JITTER_NONE, /* the bound itself */
};

struct hf_retry_options {
  unsigned attempts; /* the most, the first included; at least 1 */
  hf_time base;      /* the bound of the first pause */
  hf_time max;       /* the bound of any pause */
  hf_time patience;  /* from the start of the call: until then a server that cannot be reached is tried again without
                        that counting as an attempt, if there are to be several; 0: each one counts */
  enum hf_retry_jitter jitter;
};

#define HF_RETRY_OPTIONS_INIT                                                                                          \
  { .attempts = 4, .base = HF_MS(500), .max = HF_SECONDS(8), .jitter = HF_RETRY_JITTER_FULL }

/* The pause before try number `retry` (1 is the first repeat): uniform in [0, min(max, base · 2^(retry-1))], or that
 * bound without jitter. With a hint (`retry_after` ≥ 0) it is never shorter than the hint, and jitter spreads callers
 * that got the same hint a little above it. `random` is 64 bits of chance. */
HF_API hf_time hf_retry_pause(const struct hf_retry_options *options, unsigned retry, hf_time retry_after,
                              uint64_t random);

/* Reads the value of a Retry-After header, `len` bytes at `value` (borrowed, need not be terminated): seconds, or an
 * HTTP date in any of its three forms against `wall_ms`, milliseconds since 1970 UTC. A date in the past is 0. Returns
 * 0, or HF_ERR_SYNTAX and leaves `ret_pause` alone. */
HF_API int hf_retry_after_read(const char *value, size_t len, int64_t wall_ms, hf_time *ret_pause);

#ifdef __cplusplus
}
#endif

#endif
