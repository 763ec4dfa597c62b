/* A circuit breaker: closed, open, half-open.
 *
 * It trips on consecutive failures or on a failure rate, stays open for a time that grows while probes fail, then
 * leases one probe. Every change of state begins a new generation, and a result is believed only in the generation that
 * admitted it: a late or lost one can neither close, reopen nor wedge the breaker. Half-open ends at the latest with
 * the probe's lease. Pure: time and jitter are handed in. */
#ifndef HF_POLICY_BREAKER_H
#define HF_POLICY_BREAKER_H

#include "base/time.h"
#include "policy/window.h"

#include <stdbool.h>
#include <stdint.h>

struct hf_breaker_options {
  unsigned failures;     /* trips after this many in a row; 0 never */
  unsigned rate_percent; /* trips at this share of failures … */
  unsigned min_calls;    /* … of at least this many calls … */
  hf_time window;        /* … in this time */
  hf_time open;          /* the shortest time it stays open */
  hf_time max_open;      /* and the longest */
};

#define HF_BREAKER_OPTIONS_INIT                                                                                        \
  {                                                                                                                    \
    .failures = 5, .rate_percent = 50, .min_calls = 10, .window = HF_SECONDS(60), .open = HF_SECONDS(30),              \
    .max_open = HF_SECONDS(300)                                                                                        \
  }

enum hf_breaker_state { HF_BREAKER_CLOSED, HF_BREAKER_OPEN, HF_BREAKER_HALF_OPEN };

enum hf_verdict { HF_VERDICT_SUCCESS, HF_VERDICT_FAILURE, HF_VERDICT_NEUTRAL };

struct hf_breaker {
  struct hf_breaker_options options;
  enum hf_breaker_state state;
  uint32_t generation;
  unsigned consecutive;
  struct hf_window window;
  hf_time open_until;   /* open: when a probe is due; half-open: when its lease ends */
  hf_time tripped_at;   /* when this outage began */
  hf_time last_failure; /* the last failure seen in this outage */
  hf_time open_time;    /* what this outage has grown to, before jitter */
  hf_time outage;       /* what past outages took, smoothed */
};

enum hf_breaker_gate {
  HF_BREAKER_PASS,  /* closed */
  HF_BREAKER_PROBE, /* due: whoever comes may lease the probe */
  HF_BREAKER_STOP,  /* open, or half-open with the probe out; see open_until */
};

void hf_breaker_init(struct hf_breaker *breaker, const struct hf_breaker_options *options);

/* New thresholds and times; state and counts stay. */
void hf_breaker_configure(struct hf_breaker *breaker, const struct hf_breaker_options *options);

/* Says what a call that comes now may do. Changes nothing. */
enum hf_breaker_gate hf_breaker_gate(const struct hf_breaker *breaker, hf_time now);

/* Leases the probe until `lease_end`. The gate said HF_BREAKER_PROBE. */
void hf_breaker_lease(struct hf_breaker *breaker, hf_time lease_end);

/* Ends a lease that has run out: the breaker is open again and due at once. Returns true if it changed. */
bool hf_breaker_expire(struct hf_breaker *breaker, hf_time now);

/* Records a result that was admitted in `generation`; results of other generations are ignored. `at_least` is a floor
 * for the open time (Retry-After), 0 for none; `random` feeds the jitter. Returns true if the state changed. */
bool hf_breaker_record(struct hf_breaker *breaker, uint32_t generation, enum hf_verdict verdict, hf_time at_least,
                       hf_time now, uint64_t random);

/* Reopens a breaker that is due, on evidence from outside a call (a respawn or a synthetic probe that failed). */
bool hf_breaker_reopen(struct hf_breaker *breaker, hf_time now, uint64_t random);

const char *hf_breaker_state_name(enum hf_breaker_state state);

#endif
