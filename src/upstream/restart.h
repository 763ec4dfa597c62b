/* When to start a server again, and when to stop trying. Pure: time and chance are handed in.
 *
 * Pauses grow exponentially with each end that comes too soon. Only sustained uptime makes the count start anew: a
 * child that spawns well and dies at once is a crash loop however often it spawned. */
#ifndef HF_UPSTREAM_RESTART_H
#define HF_UPSTREAM_RESTART_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_restart_options {
  hf_time base;         /* the first pause, at most */
  hf_time max;          /* any pause, at most */
  hf_time stable_after; /* ready for this long: what comes then is a new story */
  unsigned park_after;  /* this many ends in a row park it; 0: never */
};

/* A child: cheap to start again, and pointless to start for ever. */
#define HF_RESTART_CHILD                                                                                               \
  { .base = HF_MS(250), .max = HF_SECONDS(5), .stable_after = HF_SECONDS(10), .park_after = 20 }

/* A remote server: it comes back when it comes back. */
#define HF_RESTART_REMOTE                                                                                              \
  { .base = HF_MS(250), .max = HF_SECONDS(30), .stable_after = HF_SECONDS(10), .park_after = 0 }

struct hf_restart {
  struct hf_restart_options options;
  unsigned failures; /* ends in a row that came too soon */
  bool ready;
  hf_time ready_at;
};

void hf_restart_init(struct hf_restart *restart, const struct hf_restart_options *options);

/* The server works from now on. */
void hf_restart_ready(struct hf_restart *restart, hf_time now);

/* It ended, or could not be started. Returns the pause before the next try, between half and all of the current bound
 * and no shorter than `at_least` (a server's Retry-After; 0 for none), or HF_TIME_NEVER: parked. `random` is uniform.
 */
hf_time hf_restart_ended(struct hf_restart *restart, hf_time now, hf_time at_least, uint64_t random);

/* A person or a probe asks for a fresh start. */
void hf_restart_forget(struct hf_restart *restart);

#endif
