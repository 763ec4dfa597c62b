/* When to try again: exponential backoff with full jitter, and Retry-After. Pure. */
#ifndef HF_POLICY_RETRY_H
#define HF_POLICY_RETRY_H

#include "base/str.h"
#include "base/time.h"

#include <stdint.h>

struct hf_retry_options {
  unsigned attempts; /* the most, the first included; at least 1 */
  hf_time base;      /* the bound of the first pause */
  hf_time max;       /* the bound of any pause */
};

#define HF_RETRY_OPTIONS_INIT                                                                                          \
  { .attempts = 4, .base = HF_MS(500), .max = HF_SECONDS(8) }

/* The pause before try number `retry` (1 is the first repeat): uniform in [0, min(max, base · 2^(retry-1))]. With a
 * hint (`retry_after` ≥ 0) it is never shorter than the hint, and callers that got the same hint are spread a little
 * above it. */
hf_time hf_retry_pause(const struct hf_retry_options *options, unsigned retry, hf_time retry_after, uint64_t random);

/* Reads a Retry-After header: seconds, or an HTTP date (RFC 9110, all three forms) against `wall_ms`, milliseconds
 * since 1970 UTC. A date in the past is 0. Returns 0, or HF_ERR_SYNTAX and leaves `ret_pause` alone. */
int hf_retry_after_parse(struct hf_str value, int64_t wall_ms, hf_time *ret_pause);

#endif
