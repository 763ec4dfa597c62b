#include "base/heap.h"

#include "base/alloc.h"
#include "base/error.h"

enum { HEAP_MIN_CAP = 16 };

void hf_heap_init(struct hf_heap *heap) {
  *heap = (struct hf_heap){0};
}

void hf_heap_deinit(struct hf_heap *heap) {
  hf_free(heap->nodes);
  hf_heap_init(heap);
}

int hf_heap_reserve(struct hf_heap *heap, size_t extra) {
  size_t need = heap->len + extra;
  if (need <= heap->cap)
    return 0;
  size_t cap = heap->cap ? heap->cap : HEAP_MIN_CAP;
  while (cap < need)
    cap *= 2;
  struct hf_heap_node **nodes = hf_realloc(heap->nodes, cap * sizeof *nodes);
  if (!nodes)
    return HF_ERR_NOMEM;
  heap->nodes = nodes;
  heap->cap = cap;
  return 0;
}

static bool before(const struct hf_heap_node *a, const struct hf_heap_node *b) {
  return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void place(struct hf_heap *heap, struct hf_heap_node *node, size_t index) {
  heap->nodes[index] = node;
  node->place = index + 1;
}

static void sift_up(struct hf_heap *heap, struct hf_heap_node *node, size_t index) {
  while (index > 0) {
    size_t parent = (index - 1) / 2;
    if (!before(node, heap->nodes[parent]))
      break;
    place(heap, heap->nodes[parent], index);
    index = parent;
  }
  place(heap, node, index);
}

static void sift_down(struct hf_heap *heap, struct hf_heap_node *node, size_t index) {
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap->len)
      break;
    if (child + 1 < heap->len && before(heap->nodes[child + 1], heap->nodes[child]))
      child++;
    if (!before(heap->nodes[child], node))
      break;
    place(heap, heap->nodes[child], index);
    index = child;
  }
  place(heap, node, index);
}

static void restore(struct hf_heap *heap, struct hf_heap_node *node, size_t index) {
  if (index > 0 && before(node, heap->nodes[(index - 1) / 2]))
    sift_up(heap, node, index);
  else
    sift_down(heap, node, index);
}

int hf_heap_set(struct hf_heap *heap, struct hf_heap_node *node, hf_time at) {
  if (node->place == 0) {
    int r = hf_heap_reserve(heap, 1);
    if (r < 0)
      return r;
    heap->len++;
    node->place = heap->len;
  }
  node->at = at;
  node->order = heap->next_order++;
  heap->nodes[node->place - 1] = node;
  restore(heap, node, node->place - 1);
  return 0;
}

void hf_heap_remove(struct hf_heap *heap, struct hf_heap_node *node) {
  if (node->place == 0)
    return;
  size_t index = node->place - 1;
  node->place = 0;
  struct hf_heap_node *last = heap->nodes[--heap->len];
  if (last != node)
    restore(heap, last, index);
}

struct hf_heap_node *hf_heap_top(const struct hf_heap *heap) {
  return heap->len ? heap->nodes[0] : NULL;
}
