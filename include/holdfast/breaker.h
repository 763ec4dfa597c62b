/* A circuit breaker: closed, open, half-open.
 *
 * It trips on consecutive failures or on a failure rate, stays open for a time that grows while probes fail, then
 * leases one probe. Every change of state begins a new generation, and a result is believed only in the generation that
 * admitted it: a late or lost one can neither close, reopen nor wedge the breaker. Half-open ends at the latest with
 * the probe's lease.
 *
 * The states are those of M. Nygard, "Release It!"; generations and the lease of the probe are Holdfast's own. The open
 * time is learnt from past outages: probes are made when one is likely to have come to its end (docs/policy.md).
 *
 * A breaker alone:
 *
 *     uint32_t generation;
 *     if (!hf_breaker_acquire(breaker, now, hf_time_add(now, HF_SECONDS(10)), &generation))
 *       return "not now";
 *     … do it, within the ten seconds …
 *     hf_breaker_record(breaker, generation, ok ? HF_VERDICT_SUCCESS : HF_VERDICT_FAILURE, 0, now, random);
 *
 * A provider (holdfast/provider.h) has breakers of its own. */
#ifndef HOLDFAST_BREAKER_H
#define HOLDFAST_BREAKER_H

#include "holdfast/api.h"
#include "holdfast/time.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_breaker_options {
  unsigned failures;     /* trips after this many in a row; 0 never */
  unsigned rate_percent; /* trips at this share of failures … */
  unsigned min_calls;    /* … of at least this many calls … */
  hf_time window;        /* … in this time */
  hf_time open;          /* the shortest time it stays open, and what a probe that fails is worth in time */
  hf_time max_open;      /* and the longest */
  hf_time slow; /* a success that took longer counts as a failure of the tool; 0: none does. Read by a provider */
};

#define HF_BREAKER_OPTIONS_INIT                                                                                        \
  {                                                                                                                    \
    .failures = 5, .rate_percent = 50, .min_calls = 10, .window = HF_SECONDS(60), .open = HF_SECONDS(8),               \
    .max_open = HF_SECONDS(300)                                                                                        \
  }

enum hf_breaker_state { HF_BREAKER_CLOSED, HF_BREAKER_OPEN, HF_BREAKER_HALF_OPEN };

/* What a result says of whom it came from. Neutral (a caller that cancelled, a rejected argument) neither opens nor
 * closes; a neutral probe hands its lease to the next caller. */
enum hf_verdict { HF_VERDICT_SUCCESS, HF_VERDICT_FAILURE, HF_VERDICT_NEUTRAL };

enum hf_breaker_gate {
  HF_BREAKER_PASS,  /* closed */
  HF_BREAKER_PROBE, /* due: whoever comes may lease the probe */
  HF_BREAKER_STOP,  /* open, or half-open with the probe out */
};

struct hf_breaker;

/* What can be seen of a breaker. */
struct hf_breaker_view {
  enum hf_breaker_state state;
  uint32_t generation;
  unsigned consecutive; /* failures in a row, while closed */
  hf_time until;        /* open: when a probe is due; half-open: when its lease ends; closed: meaningless */
};

enum { HF_OUTAGES_MAX = 8 };

/* How an outage ended. */
enum hf_outage_end {
  HF_OUTAGE_GOES_ON,
  HF_OUTAGE_PROBED,    /* a probe got through when it was due */
  HF_OUTAGE_UNNOTICED, /* likewise, but nobody had called for a while: it may have ended long before */
};

/* What is remembered of an outage: from the trip of the breaker until it closed. */
struct hf_outage {
  hf_time began;
  hf_time ended;    /* HF_TIME_NEVER: it goes on */
  hf_time at_least; /* it took so long: until its last failure */
  hf_time at_most;  /* and no longer than this: until the probe that got through was due */
  unsigned probes;  /* that failed, synthetic ones among them */
  enum hf_outage_end end;
};

/* Returns owned, closed; NULL when out of memory. Copies `options`. */
HF_API struct hf_breaker *hf_breaker_new(const struct hf_breaker_options *options);

/* Takes the breaker; accepts NULL. */
HF_API void hf_breaker_free(struct hf_breaker *breaker);

/* New thresholds and times, copied; state and counts stay, but for the counts of a window of another length. */
HF_API void hf_breaker_configure(struct hf_breaker *breaker, const struct hf_breaker_options *options);

/* Asks for leave to go now. Returns true with the generation that the result is to be recorded in; when a probe is due,
 * this caller leases it until `lease_end` (at the latest then it counts as lost, and the next caller may probe).
 * Returns false, and nothing changes, while the breaker stops calls. */
HF_API bool hf_breaker_acquire(struct hf_breaker *breaker, hf_time now, hf_time lease_end, uint32_t *ret_generation);

/* Says what a call that comes now may do. Changes nothing. */
HF_API enum hf_breaker_gate hf_breaker_gate(const struct hf_breaker *breaker, hf_time now);

/* Ends a lease that has run out: the breaker is open again and due at once. Returns true if it changed. Not needed for
 * hf_breaker_acquire, only for a view that is up to date. */
HF_API bool hf_breaker_expire(struct hf_breaker *breaker, hf_time now);

/* Records a result that was admitted in `generation`; results of other generations are ignored. `at_least` is a floor
 * for the open time (Retry-After), up to max_open; 0 for none. `random` is 64 bits of chance that feed the jitter of
 * the open time. Returns true if the state changed. */
HF_API bool hf_breaker_record(struct hf_breaker *breaker, uint32_t generation, enum hf_verdict verdict,
                              hf_time at_least, hf_time now, uint64_t random);

/* Keeps a breaker open for longer, on evidence from outside a call (a health check that failed). Returns false, and
 * nothing changes, if it is closed. `random` as above. */
HF_API bool hf_breaker_reopen(struct hf_breaker *breaker, hf_time now, uint64_t random);

HF_API void hf_breaker_view(const struct hf_breaker *breaker, struct hf_breaker_view *ret_view);

/* The last outages, newest first. Returns how many there are. */
HF_API unsigned hf_breaker_outages(const struct hf_breaker *breaker, struct hf_outage ret_outages[HF_OUTAGES_MAX]);

/* The constant name of a state ("half_open"). */
HF_API const char *hf_breaker_state_name(enum hf_breaker_state state);

#ifdef __cplusplus
}
#endif

#endif
