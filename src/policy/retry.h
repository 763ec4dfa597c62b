/* When to try again; holdfast/retry.h has the options and the pause. Pure. */
#ifndef HF_POLICY_RETRY_H
#define HF_POLICY_RETRY_H

#include "base/str.h"
#include "base/time.h"
#include "holdfast/retry.h"

#include <stdint.h>

/* Reads a Retry-After header: seconds, or an HTTP date (RFC 9110, all three forms) against `wall_ms`, milliseconds
 * since 1970 UTC. A date in the past is 0. Returns 0, or HF_ERR_SYNTAX and leaves `ret_pause` alone. */
int hf_retry_after_parse(struct hf_str value, int64_t wall_ms, hf_time *ret_pause);

#endif
