/* An adaptive limit on concurrent calls: as many as a server takes before its answers become slower.
 *
 * Latency tells of a queue in the server long before errors do. Over windows of answers the limiter compares how long
 * they took with how long they take when there is little to do, and moves the limit by that ratio (the gradient) and a
 * little upwards, so that it finds room that has become free. Failures count as if answers had become slower. What the
 * server takes when there is little to do is measured anew whenever there is little to do, or else every half a minute
 * at a quarter of the limit.
 *
 * The gradient is that of Netflix's concurrency-limits (Gradient2Limit) and of Envoy's adaptive concurrency filter; the
 * measuring at a quarter of the limit stands between Envoy's minRTT windows and the ProbeRTT of TCP BBR (Cardwell et
 * al., "BBR: Congestion-Based Congestion Control", ACM Queue 14, 2016). A provider (holdfast/provider.h) has a limiter
 * of its own. */
#ifndef HOLDFAST_LIMITER_H
#define HOLDFAST_LIMITER_H

#include "holdfast/api.h"
#include "holdfast/time.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_limiter_options {
  unsigned max;               /* the limit's upper bound; the lower one is 1 */
  unsigned tolerance_percent; /* of the latency with little to do: what is still as good as that; at least 100 */
};

#define HF_LIMITER_OPTIONS_INIT                                                                                        \
  { .max = 64, .tolerance_percent = 150 }

struct hf_limiter;

/* One call that has come to its end. Calls that say nothing of the server (cancelled, refused arguments) are left out.
 * Calls of one limiter are alike: a provider's limiter knows its tools apart. */
struct hf_limiter_sample {
  hf_time started;
  hf_time latency;    /* positive; of a failure ignored */
  unsigned in_flight; /* when it ended, itself included */
  bool failed;        /* timed out, broke, was turned away for overload */
};

/* Returns owned; NULL when out of memory. Copies `options`. */
HF_API struct hf_limiter *hf_limiter_new(const struct hf_limiter_options *options);

/* Takes the limiter; accepts NULL. */
HF_API void hf_limiter_free(struct hf_limiter *limiter);

/* New options, copied; what was learnt stays, within the new bound. */
HF_API void hf_limiter_configure(struct hf_limiter *limiter, const struct hf_limiter_options *options);

HF_API void hf_limiter_record(struct hf_limiter *limiter, const struct hf_limiter_sample *sample, hf_time now);

/* How many calls may be in flight now: 1 … max. */
HF_API unsigned hf_limiter_limit(const struct hf_limiter *limiter);

#ifdef __cplusplus
}
#endif

#endif
