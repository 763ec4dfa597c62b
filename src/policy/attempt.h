/* How long an attempt in flight may take: what it is given up for, and when; and when a second one is worth its price.
 */
#ifndef HF_POLICY_ATTEMPT_H
#define HF_POLICY_ATTEMPT_H

#include "base/time.h"
#include "policy/call.h"

#include <stdbool.h>

/* An attempt with less than this left cannot end well: not even a local tool answers faster through a process. */
#define HF_LEAST_ATTEMPT HF_MS(10)

enum hf_limit_kind {
  HF_LIMIT_KEY,     /* it is a repeat under a key, not out yet, and the server forgets the key */
  HF_LIMIT_CONNECT, /* no connection */
  HF_LIMIT_ATTEMPT, /* in all */
  HF_LIMIT_IDLE,    /* silence */
};

struct hf_limit {
  hf_time at; /* HF_TIME_NEVER: there is none but the call's deadline */
  enum hf_limit_kind kind;
};

static inline void hf_attempt_end(struct hf_attempt *attempt) {
  attempt->in_flight = false;
  attempt->questions = 0;
}

/* The first of its limits. Those of a call that waits for a person stand still. */
struct hf_limit hf_attempt_limit(const struct hf_call *call, const struct hf_attempt *attempt);

hf_time hf_attempt_connect_limit(const struct hf_call *call, const struct hf_attempt *attempt);

/* When a hedge is due; HF_TIME_NEVER if not at all. One for each try. */
hf_time hf_attempt_hedge_time(const struct hf_call *call);

/* Is there a repeat left at this target? */
bool hf_attempt_repeat_is_left(const struct hf_call *call);

#endif
