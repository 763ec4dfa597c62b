#include "json/unique.h"

#include "base/alloc.h"

#include <stdlib.h>

/* Up to so many members each is held against each: that is faster than to sort them, and needs no memory. */
enum { PAIRS_MAX = 24, KEYS_BYTES_MAX = 64 << 20 };

struct name {
  struct hf_str text;
  uint32_t node;
};

static bool same(const struct hf_json_node *a, const struct hf_json_node *b, const char *base) {
  uint32_t len = a->end - a->start;
  return len == b->end - b->start && memcmp(base + a->start, base + b->start, len) == 0;
}

/* Returns HF_ERR_AGAIN if a name has escapes: then it must be read to be compared. */
static int compare_pairs(const struct hf_json_doc *doc, uint32_t object, uint32_t *ret_key) {
  const struct hf_json_node *seen[PAIRS_MAX];
  unsigned count = 0;
  struct hf_json_iter iter = hf_json_iter(doc, object);
  uint32_t key, value;
  while (hf_json_next(doc, &iter, &key, &value)) {
    const struct hf_json_node *node = &doc->nodes[key];
    if (node->flags & HF_JSON_ESCAPED)
      return HF_ERR_AGAIN;
    for (unsigned i = 0; i < count; i++) {
      if (same(seen[i], node, doc->base)) {
        *ret_key = key;
        return HF_ERR_DUPLICATE;
      }
    }
    seen[count++] = node;
  }
  return 0;
}

static int by_text(const void *a, const void *b) {
  const struct name *left = a, *right = b;
  size_t len = left->text.len < right->text.len ? left->text.len : right->text.len;
  int order = len ? memcmp(left->text.ptr, right->text.ptr, len) : 0;
  if (order == 0)
    order = (left->text.len > right->text.len) - (left->text.len < right->text.len);
  return order ? order : (left->node > right->node) - (left->node < right->node);
}

static int compare_sorted(const struct hf_json_doc *doc, uint32_t object, uint32_t *ret_key) {
  struct hf_arena arena;
  hf_arena_init(&arena, KEYS_BYTES_MAX);
  uint32_t count = doc->nodes[object].count;
  struct name *names = hf_arena_alloc(&arena, count * sizeof *names);
  int r = names ? 0 : HF_ERR_NOMEM;
  struct hf_json_iter iter = hf_json_iter(doc, object);
  uint32_t value;
  for (uint32_t i = 0; r == 0 && hf_json_next(doc, &iter, &names[i].node, &value); i++)
    r = hf_json_string(doc, names[i].node, &arena, &names[i].text);
  if (r == 0)
    qsort(names, count, sizeof *names, by_text);
  for (uint32_t i = 1; r == 0 && i < count; i++) {
    if (hf_str_equal(names[i - 1].text, names[i].text)) {
      *ret_key = names[i].node;
      r = HF_ERR_DUPLICATE;
    }
  }
  hf_arena_deinit(&arena);
  return r;
}

int hf_json_unique(const struct hf_json_doc *doc, uint32_t *ret_key) {
  for (uint32_t node = 0; node < doc->count; node++) {
    const struct hf_json_node *n = &doc->nodes[node];
    if (n->type != HF_JSON_OBJECT || n->count < 2)
      continue;
    int r = n->count <= PAIRS_MAX ? compare_pairs(doc, node, ret_key) : HF_ERR_AGAIN;
    if (r == HF_ERR_AGAIN)
      r = compare_sorted(doc, node, ret_key);
    if (r < 0)
      return r;
  }
  return 0;
}
