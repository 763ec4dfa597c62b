/* A binary min-heap of timers, intrusive: the node lives in its owner and knows its place, so that removal is O(log n)
 * and only growth of the array can fail. Ties leave in the order of insertion. */
#ifndef HF_BASE_HEAP_H
#define HF_BASE_HEAP_H

#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>

struct hf_heap_node {
  hf_time at;
  uint64_t order;
  size_t place; /* index plus one; 0 when not in a heap */
};

struct hf_heap {
  struct hf_heap_node **nodes;
  size_t len;
  size_t cap;
  uint64_t next_order;
};

void hf_heap_init(struct hf_heap *heap);
void hf_heap_deinit(struct hf_heap *heap);

/* Makes room so that the next `extra` hf_heap_set of new nodes cannot fail. Returns 0 or HF_ERR_NOMEM. */
int hf_heap_reserve(struct hf_heap *heap, size_t extra);

/* Inserts or moves the node. Returns 0 or HF_ERR_NOMEM (never for a node that is in the heap). */
int hf_heap_set(struct hf_heap *heap, struct hf_heap_node *node, hf_time at);

/* Takes the node out; harmless if it is not in. */
void hf_heap_remove(struct hf_heap *heap, struct hf_heap_node *node);

/* The earliest node, or NULL. */
struct hf_heap_node *hf_heap_top(const struct hf_heap *heap);

#endif
