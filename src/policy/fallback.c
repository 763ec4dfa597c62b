#include "policy/fallback.h"

#include "holdfast/call.h"
#include "policy/jitter.h"

#include <stdbool.h>

/* One call in so many tries another target first. */
enum { EXPLORES_ONE_IN = 20 };

/* Whoever wants to be preferred must be faster by this share. */
enum { BETTER_SHARE = 5 };

/* Ranks the candidates by `key`, smaller first; equals stay as they are configured. */
static void sort(unsigned *indexes, unsigned count, const int64_t *key) {
  for (unsigned i = 1; i < count; i++) {
    unsigned moved = indexes[i], at = i;
    for (; at > 0 && key[indexes[at - 1]] > key[moved]; at--)
      indexes[at] = indexes[at - 1];
    indexes[at] = moved;
  }
}

static void bring_to_front(unsigned *indexes, unsigned place) {
  unsigned moved = indexes[place];
  for (; place > 0; place--)
    indexes[place] = indexes[place - 1];
  indexes[0] = moved;
}

static unsigned place_of(const unsigned *indexes, unsigned count, unsigned index) {
  unsigned place = 0;
  while (place < count && indexes[place] != index)
    place++;
  return place;
}

/* Those that can be tried come first, in their configured order; returns how many they are. */
static unsigned part(const struct hf_candidate *candidates, unsigned count, unsigned *ret_order) {
  unsigned up = 0, len = 0;
  for (unsigned i = 0; i < count; i++)
    if (candidates[i].gate != HF_BREAKER_STOP)
      ret_order[len++] = i;
  up = len;
  for (unsigned i = 0; i < count; i++)
    if (candidates[i].gate == HF_BREAKER_STOP)
      ret_order[len++] = i;
  return up;
}

/* Which of the others to try first for once: one that is not known or whose probe is due, if there is any. */
static unsigned other_place(const struct hf_candidate *candidates, const unsigned *order, unsigned up,
                            uint64_t random) {
  unsigned wanted[HF_CALL_TARGETS_MAX], len = 0;
  for (unsigned i = 1; i < up; i++) {
    const struct hf_candidate *c = &candidates[order[i]];
    if (c->latency == HF_TIME_NEVER || c->gate == HF_BREAKER_PROBE)
      wanted[len++] = i;
  }
  if (len > 0)
    return wanted[hf_jitter_scale(random, len - 1)];
  return 1 + (unsigned)hf_jitter_scale(random, up - 2);
}

static unsigned by_latency(const struct hf_candidate *candidates, unsigned *order, unsigned up, unsigned preferred,
                           uint64_t random) {
  int64_t key[HF_CALL_TARGETS_MAX];
  for (unsigned i = 0; i < up; i++)
    key[order[i]] = candidates[order[i]].latency;
  sort(order, up, key);
  unsigned place = place_of(order, up, preferred);
  hf_time best = candidates[order[0]].latency;
  if (place < up && candidates[preferred].latency != HF_TIME_NEVER &&
      best > candidates[preferred].latency - candidates[preferred].latency / BETTER_SHARE)
    bring_to_front(order, place);
  preferred = order[0];
  if (up > 1 && random % EXPLORES_ONE_IN == 0)
    bring_to_front(order, other_place(candidates, order, up, random));
  return preferred;
}

static void by_weight(const struct hf_candidate *candidates, unsigned *order, unsigned up, uint64_t random) {
  int64_t key[HF_CALL_TARGETS_MAX], sum = 0;
  for (unsigned i = 0; i < up; i++) {
    key[order[i]] = -(int64_t)candidates[order[i]].weight;
    sum += candidates[order[i]].weight;
  }
  sort(order, up, key);
  if (sum == 0)
    return;
  int64_t drawn = hf_jitter_scale(random, sum - 1);
  unsigned place = 0;
  while (drawn >= candidates[order[place]].weight)
    drawn -= candidates[order[place++]].weight;
  bring_to_front(order, place);
}

unsigned hf_fallback_order(enum hf_order order, const struct hf_candidate *candidates, unsigned count,
                           unsigned preferred, uint64_t random, unsigned *ret_order) {
  unsigned up = part(candidates, count, ret_order);
  if (up == 0)
    return preferred;
  switch (order) {
  case HF_ORDER_PRIORITY:
    break;
  case HF_ORDER_LATENCY:
    return by_latency(candidates, ret_order, up, preferred, random);
  case HF_ORDER_SPLIT:
    by_weight(candidates, ret_order, up, random);
    break;
  }
  return ret_order[0];
}
