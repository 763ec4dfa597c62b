#include "policy/bulkhead.h"

#include <assert.h>

/* A share of each new time goes into the mean. */
enum { NEW_SHARE = 8 };

/* Longer is as bad; and the products stay in range. */
static const hf_time LONGEST = HF_SECONDS(24 * 3600);

bool hf_bulkhead_is_full(const struct hf_bulkhead *bulkhead) {
  return bulkhead->limit > 0 && bulkhead->in_flight >= bulkhead->limit;
}

void hf_bulkhead_take(struct hf_bulkhead *bulkhead) {
  bulkhead->in_flight++;
}

void hf_bulkhead_give_back(struct hf_bulkhead *bulkhead, hf_time held) {
  assert(bulkhead->in_flight > 0);
  bulkhead->in_flight--;
  held = hf_time_max(1, hf_time_min(held, LONGEST));
  if (bulkhead->held == 0)
    bulkhead->held = held;
  else
    bulkhead->held += (held - bulkhead->held) / NEW_SHARE;
}

hf_time hf_bulkhead_wait(const struct hf_bulkhead *bulkhead, unsigned ahead) {
  if (!hf_bulkhead_is_full(bulkhead))
    return 0;
  return bulkhead->held * ((hf_time)ahead + 1) / bulkhead->limit;
}
