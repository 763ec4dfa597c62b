#include "holdfast/budget.h"

#include "base/alloc.h"
#include "policy/budget.h"

struct hf_budget *hf_budget_new(const struct hf_budget_options *options, hf_time now) {
  struct hf_budget *budget = hf_malloc(sizeof *budget);
  if (budget)
    hf_budget_init(budget, options, now);
  return budget;
}

void hf_budget_free(struct hf_budget *budget) {
  hf_free(budget);
}
