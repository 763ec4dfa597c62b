/* Time: monotonic microseconds for every decision, wall-clock only for what people read. */
#ifndef HF_BASE_CLOCK_H
#define HF_BASE_CLOCK_H

#include "base/time.h"

/* Monotonic; never jumps with the wall clock. */
hf_time hf_clock_now(void);

/* Milliseconds since 1970-01-01 UTC, for logs and `Retry-After` dates only. */
int64_t hf_clock_wall_ms(void);

#endif
