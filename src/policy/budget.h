/* The retry budget of a provider: a token bucket that only repeats draw from.
 *
 * First attempts pay a share of a token in and are never held back; so repeats can be at most that share of the
 * traffic, plus a steady trickle, plus one burst. That is what keeps a broken provider from being stormed. Pure. */
#ifndef HF_POLICY_BUDGET_H
#define HF_POLICY_BUDGET_H

#include "base/time.h"

#include <stdbool.h>

struct hf_budget_options {
  unsigned burst;         /* the most it holds, and what it starts with */
  unsigned per_second;    /* the trickle */
  unsigned share_percent; /* of a token, per first attempt */
};

#define HF_BUDGET_OPTIONS_INIT                                                                                         \
  { .burst = 100, .per_second = 10, .share_percent = 20 }

struct hf_budget {
  struct hf_budget_options options;
  int64_t level;   /* in millionths of a token */
  hf_time updated; /* when the trickle was last paid in */
};

void hf_budget_init(struct hf_budget *budget, const struct hf_budget_options *options, hf_time now);

/* New figures; what it holds is kept, up to the new burst. */
void hf_budget_configure(struct hf_budget *budget, const struct hf_budget_options *options);

/* A first attempt. */
void hf_budget_deposit(struct hf_budget *budget, hf_time now);

/* A repeat: takes a token, or returns false. */
bool hf_budget_withdraw(struct hf_budget *budget, hf_time now);

#endif
