/* The adaptive limit of a provider, in the caller's memory. What it does is told in holdfast/limiter.h. */
#ifndef HF_POLICY_LIMITER_H
#define HF_POLICY_LIMITER_H

#include "base/time.h"
#include "holdfast/limiter.h"

#include <stdint.h>

struct hf_limiter {
  struct hf_limiter_options options;
  int64_t limit;      /* in thousandths */
  hf_time usual;      /* of calls that are all of one kind */
  hf_time checked_at; /* when there was little to do, or a look ended */
  int64_t before;     /* looking: the limit to go back to; else 0 */
  hf_time look_took;  /* the last one */

  /* The window: calls that started in it, so that they have seen the limit of now. */
  hf_time since;
  unsigned answers;
  unsigned failures;
  unsigned most_in_flight;
  hf_time stretch; /* the sum of their latencies, as ratios to what is usual */
};

void hf_limiter_init(struct hf_limiter *limiter, const struct hf_limiter_options *options);

/* Like hf_limiter_record, of one kind of call among several. `usual` belongs to the kind: what such a call takes while
 * there is little to do; learnt here, and 0 at first. */
void hf_limiter_record_kind(struct hf_limiter *limiter, const struct hf_limiter_sample *sample, hf_time *usual,
                            hf_time now);

#endif
