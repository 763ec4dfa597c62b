/* How long a tool's answers take: a histogram of fixed size that forgets.
 *
 * Buckets are an eighth of an octave wide, from 64 µs to half an hour, so that a quantile is at most an eighth too
 * high. Half of what is known is forgotten whenever 512 answers have been counted, and for every five minutes without
 * one that has gone by when the next answer comes. Nothing is allocated. */
#ifndef HF_POLICY_LATENCY_H
#define HF_POLICY_LATENCY_H

#include "base/time.h"

#include <stdint.h>

enum { HF_LATENCY_BUCKETS = 200, HF_LATENCY_LEAST = 5 };

struct hf_latency {
  uint16_t buckets[HF_LATENCY_BUCKETS];
  uint16_t total;
  uint16_t unread; /* counted since `p95` was worked out */
  hf_time last;    /* answer's time */
  hf_time p95;     /* kept, for every permit carries it */
};

void hf_latency_init(struct hf_latency *latency);

/* Counts one answer that took `took`. */
void hf_latency_add(struct hf_latency *latency, hf_time took, hf_time now);

/* What `percent` of the answers stayed below; HF_TIME_NEVER while fewer than HF_LATENCY_LEAST are known, or so few that
 * not one would be above (20 for 95 %). */
hf_time hf_latency_quantile(const struct hf_latency *latency, unsigned percent);

#endif
