/* The order in which a provider's waiters go.
 *
 * Priority is a head start: a waiter goes before those of a lesser one that came up to a second per level earlier. So
 * the more important go first, and yet nobody is passed by for ever. Among equals it is first come, first served. */
#ifndef HF_POLICY_QUEUE_H
#define HF_POLICY_QUEUE_H

#include "base/list.h"
#include "policy/permit.h"

/* Where a waiter would stand, and how many of those before it wait for a slot: in all, and of its tool. */
struct hf_queue_place {
  struct hf_list *next; /* it goes before this one */
  unsigned ahead;
  unsigned ahead_of_tool;
};

/* `queue` is a list of waiters; the new one's tool, priority and queued_at are set. */
struct hf_queue_place hf_queue_find(struct hf_list *queue, const struct hf_waiter *waiter);

/* The waiter that goes last, if `waiter` would go before it; else NULL. */
struct hf_waiter *hf_queue_last_after(const struct hf_list *queue, const struct hf_waiter *waiter);

#endif
