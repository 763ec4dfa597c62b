#include "policy/queue.h"

static const hf_time HEAD_START = HF_SECONDS(1);

static hf_time turn(const struct hf_waiter *waiter) {
  unsigned priority = waiter->priority ? waiter->priority : HF_PRIORITY_MIDDLE;
  return waiter->queued_at + priority * HEAD_START;
}

static struct hf_waiter *waiter_at(struct hf_list *node) {
  return HF_CONTAINER_OF(node, struct hf_waiter, node);
}

struct hf_queue_place hf_queue_find(struct hf_list *queue, const struct hf_waiter *waiter) {
  struct hf_queue_place place = {0};
  struct hf_list *it = queue->next;
  for (; it != queue; it = it->next) {
    const struct hf_waiter *other = waiter_at(it);
    if (turn(waiter) < turn(other))
      break;
    if (other->full_since == HF_TIME_NEVER)
      continue;
    place.ahead++;
    place.ahead_of_tool += other->tool == waiter->tool;
  }
  place.next = it;
  return place;
}

struct hf_waiter *hf_queue_last_after(const struct hf_list *queue, const struct hf_waiter *waiter) {
  if (hf_list_empty(queue))
    return NULL;
  struct hf_waiter *last = waiter_at(queue->prev);
  return turn(waiter) < turn(last) ? last : NULL;
}
