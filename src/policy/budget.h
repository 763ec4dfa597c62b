/* The retry budget of a provider, in the caller's memory. What it does is told in holdfast/budget.h. */
#ifndef HF_POLICY_BUDGET_H
#define HF_POLICY_BUDGET_H

#include "base/time.h"
#include "holdfast/budget.h"

#include <stdint.h>

struct hf_budget {
  struct hf_budget_options options;
  int64_t level;   /* in millionths of a token */
  hf_time updated; /* when the trickle was last paid in */
};

void hf_budget_init(struct hf_budget *budget, const struct hf_budget_options *options, hf_time now);

/* For what is known only afterwards: takes tokens, or gives them back where that is negative. What it held can fall
 * below nothing; then there is nothing until that is paid in. Their number is below 2^31. */
void hf_budget_charge(struct hf_budget *budget, int64_t tokens, hf_time now);

/* The repeats that it would allow now, one after the other. */
unsigned hf_budget_left(const struct hf_budget *budget, hf_time now);

#endif
