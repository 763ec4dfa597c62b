/* When an event stream that broke is asked for again: with jitter, ever more rarely while nothing comes of it, and no
 * sooner than the server's `retry:` says. Pure. */
#ifndef HF_UPSTREAM_REOPEN_H
#define HF_UPSTREAM_REOPEN_H

#include "base/random.h"
#include "base/time.h"

struct hf_reopen {
  hf_time first; /* the pause after the first break */
  hf_time most;  /* what it grows to, where the server does not want more */
  hf_time least; /* a server cannot want less */
};

enum { HF_REOPEN_RETRY_MAX_MS = 300000 };

/* The pause after `failures` in a row before this one; `retry_ms` is what the server said, or -1. */
hf_time hf_reopen_pause(const struct hf_reopen *reopen, unsigned failures, int64_t retry_ms, struct hf_random *random);

#endif
