/* The last outages of a breaker, and what they teach about the one that goes on: when to look next.
 *
 * A look costs a probe and finds out at once; waiting costs time in which the server was well again and nobody knew.
 * Between two looks the sum of both is least when the integral of sqrt(h / 2c) over time is 1, where h is the rate at
 * which outages that took so long come to their end, and c what a probe costs in time (J. B. Keller, "Optimum checking
 * schedules for systems subject to random failure", Management Science 21, 1974). c is a share of the shortest open
 * time: whoever sets that says what a probe is worth.
 *
 * h comes from the outages in the log, each of which ended at an unknown instant between its last failed probe and the
 * one that got through, and from one imagined outage of which nothing is known but that it goes on the longer the
 * longer it has gone on (h = 1/t). So where the log says nothing the waits grow steadily, and where it says
 * something the looks gather around it. */
#ifndef HF_POLICY_OUTAGE_H
#define HF_POLICY_OUTAGE_H

#include "base/time.h"
#include "holdfast/breaker.h"

struct hf_outage_log {
  struct hf_outage items[HF_OUTAGES_MAX]; /* a ring */
  unsigned newest;
  unsigned len;
};

/* A new outage; the oldest is forgotten. */
struct hf_outage *hf_outage_log_push(struct hf_outage_log *log, hf_time now);

/* The `index`-th newest, index < len. */
const struct hf_outage *hf_outage_log_at(const struct hf_outage_log *log, unsigned index);

/* How long from now on an outage that has gone on for `elapsed` is best left alone: within [least, most]. */
hf_time hf_outage_wait(const struct hf_outage_log *log, hf_time elapsed, hf_time least, hf_time most);

#endif
