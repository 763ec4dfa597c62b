/* A retry budget: a token bucket that only repeats draw from.
 *
 * First attempts pay a share of a token in and are never held back; so repeats can be at most that share of the
 * traffic, plus a steady trickle, plus one burst. That is what keeps a broken server from being stormed by its callers
 * (the retry budget of Finagle and gRPC's retry throttling are the relatives). A provider (holdfast/provider.h)
 * has one of its own. */
#ifndef HOLDFAST_BUDGET_H
#define HOLDFAST_BUDGET_H

#include "holdfast/api.h"
#include "holdfast/time.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_budget_options {
  unsigned burst;         /* tokens: the most it holds, and what it starts with */
  unsigned per_second;    /* tokens: the trickle */
  unsigned share_percent; /* of a token, per first attempt */
};

#define HF_BUDGET_OPTIONS_INIT                                                                                         \
  { .burst = 100, .per_second = 10, .share_percent = 20 }

struct hf_budget;

/* Returns owned, full; NULL when out of memory. Copies `options`. */
HF_API struct hf_budget *hf_budget_new(const struct hf_budget_options *options, hf_time now);

/* Takes the budget; accepts NULL. */
HF_API void hf_budget_free(struct hf_budget *budget);

/* New figures, copied; what it holds is kept, up to the new burst. */
HF_API void hf_budget_configure(struct hf_budget *budget, const struct hf_budget_options *options);

/* A first attempt. */
HF_API void hf_budget_deposit(struct hf_budget *budget, hf_time now);

/* A repeat: takes a token and returns true, or returns false: do not repeat. */
HF_API bool hf_budget_withdraw(struct hf_budget *budget, hf_time now);

#ifdef __cplusplus
}
#endif

#endif
