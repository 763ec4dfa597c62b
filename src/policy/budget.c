#include "policy/budget.h"

enum { TOKEN = 1000000, TOKEN_PERCENT = TOKEN / 100 };

/* The trickle stops counting idle time here: by then any sensible bucket is full, and the product stays in range. */
static const hf_time LONGEST_IDLE = HF_SECONDS(3600);

static int64_t capacity(const struct hf_budget *budget) {
  return (int64_t)budget->options.burst * TOKEN;
}

static void pay_in(struct hf_budget *budget, int64_t amount) {
  budget->level += amount;
  if (budget->level > capacity(budget))
    budget->level = capacity(budget);
}

/* One token a second is one millionth of a token per microsecond. */
static void trickle(struct hf_budget *budget, hf_time now) {
  if (now <= budget->updated)
    return;
  hf_time idle = hf_time_min(now - budget->updated, LONGEST_IDLE);
  budget->updated = now;
  pay_in(budget, idle * budget->options.per_second);
}

void hf_budget_init(struct hf_budget *budget, const struct hf_budget_options *options, hf_time now) {
  *budget = (struct hf_budget){.options = *options, .updated = now};
  budget->level = capacity(budget);
}

void hf_budget_configure(struct hf_budget *budget, const struct hf_budget_options *options) {
  budget->options = *options;
  pay_in(budget, 0);
}

void hf_budget_deposit(struct hf_budget *budget, hf_time now) {
  trickle(budget, now);
  pay_in(budget, (int64_t)budget->options.share_percent * TOKEN_PERCENT);
}

bool hf_budget_withdraw(struct hf_budget *budget, hf_time now) {
  trickle(budget, now);
  if (budget->level < TOKEN)
    return false;
  budget->level -= TOKEN;
  return true;
}

void hf_budget_charge(struct hf_budget *budget, int64_t tokens, hf_time now) {
  trickle(budget, now);
  pay_in(budget, -tokens * TOKEN);
}

unsigned hf_budget_left(const struct hf_budget *budget, hf_time now) {
  struct hf_budget then = *budget;
  trickle(&then, now);
  return then.level > 0 ? (unsigned)(then.level / TOKEN) : 0;
}
