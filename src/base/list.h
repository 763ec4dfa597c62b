/* Intrusive doubly linked list: the links live in the element, so that linking never allocates and never fails. */
#ifndef HF_BASE_LIST_H
#define HF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct hf_list {
  struct hf_list *next;
  struct hf_list *prev;
};

#define HF_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Walks safely while the current element is removed; `it` and `tmp` are struct hf_list *. */
#define HF_LIST_FOREACH(it, tmp, head)                                                                                 \
  for ((it) = (head)->next, (tmp) = (it)->next; (it) != (head); (it) = (tmp), (tmp) = (it)->next)

static inline void hf_list_init(struct hf_list *head) {
  head->next = head->prev = head;
}

static inline bool hf_list_empty(const struct hf_list *head) {
  return head->next == head;
}

static inline void hf_list_push_back(struct hf_list *head, struct hf_list *item) {
  item->prev = head->prev;
  item->next = head;
  head->prev->next = item;
  head->prev = item;
}

static inline void hf_list_push_front(struct hf_list *head, struct hf_list *item) {
  hf_list_push_back(head->next, item);
}

/* Leaves the item initialised, so that removing twice is harmless. */
static inline void hf_list_remove(struct hf_list *item) {
  item->prev->next = item->next;
  item->next->prev = item->prev;
  hf_list_init(item);
}

#endif
