/* Keywords that put schemas together. */
#include "schema/compile.h"

static int compile_lists(struct hf_compiler *c) {
  static const struct {
    uint8_t word, code;
  } rows[] = {{HF_WORD_ALL_OF, HF_OP_ALL_OF}, {HF_WORD_ANY_OF, HF_OP_ANY_OF}, {HF_WORD_ONE_OF, HF_OP_ONE_OF}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint32_t node = c->words[rows[i].word];
    if (node == HF_JSON_NONE)
      continue;
    struct hf_op op = {.code = rows[i].code,
                       .types = UINT8_MAX,
                       .keyword = hf_word_row((enum hf_word)rows[i].word)->keyword,
                       .node = node};
    int r = hf_compile_subs(c, node, &op);
    if (r < 0)
      return r;
  }
  return 0;
}

static int compile_one(struct hf_compiler *c, enum hf_word word, enum hf_op_code code, uint8_t types) {
  uint32_t node = c->words[word];
  if (node == HF_JSON_NONE)
    return 0;
  struct hf_op op = {.code = (uint8_t)code, .types = types, .keyword = hf_word_row(word)->keyword, .node = node};
  int r = hf_compile_child(c, node, &op.a);
  return r < 0 ? r : hf_compile_op(c, &op);
}

static int compile_if(struct hf_compiler *c) {
  uint32_t node = c->words[HF_WORD_IF];
  if (node == HF_JSON_NONE)
    return 0;
  static const uint8_t words[] = {HF_WORD_IF, HF_WORD_THEN, HF_WORD_ELSE};
  struct hf_op op = {.code = HF_OP_IF, .types = UINT8_MAX, .node = node, .a = c->schema->list.count};
  for (size_t i = 0; i < sizeof words; i++) {
    uint32_t sub = HF_NONE;
    int r = c->words[words[i]] ? hf_compile_child(c, c->words[words[i]], &sub) : 0;
    if (r == 0)
      r = hf_compile_list(c, sub);
    if (r < 0)
      return r;
  }
  return hf_compile_op(c, &op);
}

int hf_compile_logic(struct hf_compiler *c) {
  int r = compile_lists(c);
  if (r == 0)
    r = compile_one(c, HF_WORD_NOT, HF_OP_NOT, UINT8_MAX);
  if (r == 0)
    r = compile_if(c);
  if (r == 0)
    r = compile_one(c, HF_WORD_UNEVALUATED_ITEMS, HF_OP_UNEVALUATED_ITEMS, 1 << HF_JSON_ARRAY);
  return r < 0 ? r : compile_one(c, HF_WORD_UNEVALUATED_PROPERTIES, HF_OP_UNEVALUATED_PROPERTIES, 1 << HF_JSON_OBJECT);
}
