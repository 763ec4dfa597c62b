/* Keywords about the items of arrays. */
#include "schema/compile.h"

int hf_compile_subs(struct hf_compiler *c, uint32_t array, struct hf_op *op) {
  if (hf_json_type(c->doc, array) != HF_JSON_ARRAY)
    return hf_compile_complain(c, HF_ERR_INVALID, array, "must be an array of schemas");
  if (c->doc->nodes[array].count == 0 && op->code != HF_OP_PREFIX)
    return hf_compile_complain(c, HF_ERR_INVALID, array, "must have a schema in it");
  op->a = c->schema->list.count;
  struct hf_json_iter iter = hf_json_iter(c->doc, array);
  uint32_t item;
  while (hf_json_next(c->doc, &iter, NULL, &item)) {
    uint32_t sub;
    int r = hf_compile_child(c, item, &sub);
    if (r == 0)
      r = hf_compile_list(c, sub);
    if (r < 0)
      return r;
    op->b++;
  }
  return hf_compile_op(c, op);
}

static int compile_prefix(struct hf_compiler *c, enum hf_word word) {
  struct hf_op op = {
      .code = HF_OP_PREFIX, .types = 1 << HF_JSON_ARRAY, .keyword = hf_word_row(word)->keyword, .node = c->words[word]};
  return hf_compile_subs(c, op.node, &op);
}

static int compile_rest(struct hf_compiler *c, enum hf_word word, uint32_t from) {
  struct hf_op op = {.code = HF_OP_ITEMS,
                     .types = 1 << HF_JSON_ARRAY,
                     .keyword = hf_word_row(word)->keyword,
                     .node = c->words[word],
                     .b = from};
  int r = hf_compile_child(c, op.node, &op.a);
  return r < 0 ? r : hf_compile_op(c, &op);
}

static int compile_items(struct hf_compiler *c) {
  uint32_t prefix = c->words[HF_WORD_PREFIX_ITEMS], items = c->words[HF_WORD_ITEMS];
  if (prefix) {
    int r = compile_prefix(c, HF_WORD_PREFIX_ITEMS);
    if (r < 0)
      return r;
  }
  if (items == HF_JSON_NONE)
    return 0;
  if (c->resource->draft == HF_DRAFT_2020 || hf_json_type(c->doc, items) != HF_JSON_ARRAY)
    return compile_rest(c, HF_WORD_ITEMS, prefix ? c->doc->nodes[prefix].count : 0);
  int r = compile_prefix(c, HF_WORD_ITEMS);
  if (r < 0 || c->words[HF_WORD_ADDITIONAL_ITEMS] == HF_JSON_NONE)
    return r;
  return compile_rest(c, HF_WORD_ADDITIONAL_ITEMS, c->doc->nodes[items].count);
}

static int compile_contains(struct hf_compiler *c) {
  uint32_t node = c->words[HF_WORD_CONTAINS];
  if (node == HF_JSON_NONE)
    return 0;
  struct hf_contains contains = {.min = 1,
                                 .max = UINT32_MAX,
                                 .min_node = c->words[HF_WORD_MIN_CONTAINS],
                                 .max_node = c->words[HF_WORD_MAX_CONTAINS],
                                 .evaluates = c->resource->draft == HF_DRAFT_2020};
  int r = hf_compile_child(c, node, &contains.sub);
  if (r == 0 && contains.min_node)
    r = hf_compile_count(c, contains.min_node, &contains.min);
  if (r == 0 && contains.max_node)
    r = hf_compile_count(c, contains.max_node, &contains.max);
  if (r < 0)
    return r;
  if (!hf_vec_push(&c->schema->contains, contains))
    return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
  struct hf_op op = {.code = HF_OP_CONTAINS,
                     .types = 1 << HF_JSON_ARRAY,
                     .keyword = HF_KEYWORD_CONTAINS,
                     .node = node,
                     .a = c->schema->contains.count - 1};
  return hf_compile_op(c, &op);
}

static int compile_unique(struct hf_compiler *c) {
  uint32_t node = c->words[HF_WORD_UNIQUE_ITEMS];
  bool unique = false;
  if (node == HF_JSON_NONE)
    return 0;
  if (hf_json_bool(c->doc, node, &unique) < 0)
    return hf_compile_complain(c, HF_ERR_INVALID, node, "must be a boolean");
  struct hf_op op = {
      .code = HF_OP_UNIQUE_ITEMS, .types = 1 << HF_JSON_ARRAY, .keyword = HF_KEYWORD_UNIQUE_ITEMS, .node = node};
  return unique ? hf_compile_op(c, &op) : 0;
}

int hf_compile_items(struct hf_compiler *c) {
  int r = compile_items(c);
  if (r == 0)
    r = compile_contains(c);
  return r < 0 ? r : compile_unique(c);
}
