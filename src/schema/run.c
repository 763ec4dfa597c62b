#include "schema/run.h"

#include "base/alloc.h"

struct hf_schema_run *hf_schema_run_new(void) {
  struct hf_schema_run *run = hf_malloc(sizeof *run);
  if (!run)
    return NULL;
  run->regex_memory = hf_regex_memory_new();
  if (!run->regex_memory) {
    hf_free(run);
    return NULL;
  }
  return run;
}

void hf_schema_run_free(struct hf_schema_run *run) {
  if (!run)
    return;
  hf_regex_memory_free(run->regex_memory);
  hf_free(run);
}

void *hf_run_scratch(struct hf_schema_run *run, size_t size) {
  size_t rounded = (size + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
  if (rounded < size || rounded > sizeof run->scratch - run->used)
    return NULL;
  void *memory = (char *)run->scratch + run->used;
  run->used += rounded;
  return memory;
}

int hf_run_text(struct hf_schema_run *run, uint32_t node, bool utf8, struct hf_str *ret_text) {
  struct hf_str raw = hf_json_span(run->doc, node);
  if (!(run->doc->nodes[node].flags & HF_JSON_ESCAPED)) {
    *ret_text = (struct hf_str){raw.ptr + 1, raw.len - 2};
    return 0;
  }
  /* What a string means is never longer than how it is spelt. */
  char *text = hf_run_scratch(run, raw.len);
  if (!text || !hf_run_spend(run, (uint32_t)(raw.len / 4)))
    return HF_ERR_LIMIT;
  *ret_text = (struct hf_str){text, hf_text_unescape(raw, utf8, text)};
  return 0;
}

/* Integers may be spelt with a fraction of zeros, except in draft 4. */
static bool is_integer(struct hf_schema_run *run, uint32_t node, bool strict) {
  struct hf_str raw = hf_json_span(run->doc, node);
  int64_t small;
  if (hf_number_small(raw, &small))
    return true;
  bool plain = true;
  for (size_t i = 0; i < raw.len && plain; i++)
    plain = raw.ptr[i] == '-' || (raw.ptr[i] >= '0' && raw.ptr[i] <= '9');
  struct hf_decimal value;
  if (plain || strict || hf_decimal_read(raw, &value) < 0)
    return plain;
  return value.exponent >= 0; /* of zero, too */
}

static int check_type(struct hf_schema_run *run, const struct hf_frame *frame) {
  const struct hf_sub *sub = frame->sub;
  uint8_t bit = hf_type_bit(hf_json_type(run->doc, frame->node));
  if (sub->types & bit)
    return 0;
  if ((sub->types & HF_TYPE_INTEGER) && bit == 1 << HF_JSON_NUMBER) {
    if (!hf_run_spend_text(run, 3 * hf_json_span(run->doc, frame->node).len))
      return HF_ERR_LIMIT;
    if (is_integer(run, frame->node, sub->flags & HF_SUB_STRICT))
      return 0;
  }
  const struct hf_op op = {.keyword = HF_KEYWORD_TYPE, .node = sub->type_node};
  return hf_run_fail(run, frame, &op);
}

static const hf_op_run ops[HF_OP_COUNT] = {
    [HF_OP_ENUM] = hf_run_enum,
    [HF_OP_MULTIPLE_OF] = hf_run_multiple,
    [HF_OP_MAXIMUM] = hf_run_bound,
    [HF_OP_EXCLUSIVE_MAXIMUM] = hf_run_bound,
    [HF_OP_MINIMUM] = hf_run_bound,
    [HF_OP_EXCLUSIVE_MINIMUM] = hf_run_bound,
    [HF_OP_MAX_LENGTH] = hf_run_length,
    [HF_OP_MIN_LENGTH] = hf_run_length,
    [HF_OP_MAX_ITEMS] = hf_run_count,
    [HF_OP_MIN_ITEMS] = hf_run_count,
    [HF_OP_MAX_PROPERTIES] = hf_run_count,
    [HF_OP_MIN_PROPERTIES] = hf_run_count,
    [HF_OP_PATTERN] = hf_run_pattern,
    [HF_OP_FORMAT] = hf_run_format,
    [HF_OP_OBJECT] = hf_run_object,
    [HF_OP_PROPERTY_NAMES] = hf_run_property_names,
    [HF_OP_DEPENDENT] = hf_run_dependent,
    [HF_OP_PREFIX] = hf_run_prefix,
    [HF_OP_ITEMS] = hf_run_items,
    [HF_OP_CONTAINS] = hf_run_contains,
    [HF_OP_UNIQUE_ITEMS] = hf_run_unique,
    [HF_OP_REF] = hf_run_reference,
    [HF_OP_DYNAMIC_REF] = hf_run_dynamic,
    [HF_OP_ALL_OF] = hf_run_all_of,
    [HF_OP_ANY_OF] = hf_run_any_of,
    [HF_OP_ONE_OF] = hf_run_one_of,
    [HF_OP_NOT] = hf_run_not,
    [HF_OP_IF] = hf_run_if,
    [HF_OP_UNEVALUATED_ITEMS] = hf_run_unevaluated_items,
    [HF_OP_UNEVALUATED_PROPERTIES] = hf_run_unevaluated_properties,
};

/* An explanation goes on after a reason, but not to what depends on the rest: if that is wrong, all would seem to be
 * unevaluated. */
static int run_ops(struct hf_schema_run *run, const struct hf_frame *frame) {
  int result = 0;
  if (hf_run_ends(run, check_type(run, frame), &result))
    return result;
  uint8_t bit = hf_type_bit(hf_json_type(run->doc, frame->node));
  for (uint32_t i = 0; i < frame->sub->op_count; i++) {
    const struct hf_op *op = &run->schema->ops.at[frame->sub->first_op + i];
    if (!(op->types & bit))
      continue;
    if (result < 0 && op->code >= HF_OP_UNEVALUATED_ITEMS)
      return result;
    int r = ops[op->code](run, frame, op);
    if (hf_run_ends(run, r, &result))
      return result;
  }
  return result;
}

static int begin_evaluated(struct hf_schema_run *run, uint32_t node, struct hf_evaluated *ret_evaluated) {
  uint32_t words = run->doc->nodes[node].count / 64 + 1;
  uint64_t *bits = hf_run_scratch(run, words * sizeof *bits);
  if (!bits || !hf_run_spend(run, words / 4))
    return HF_ERR_LIMIT;
  memset(bits, 0, words * sizeof *bits);
  *ret_evaluated = (struct hf_evaluated){bits, words};
  return 0;
}

void hf_evaluated_add(struct hf_evaluated *evaluated, uint32_t ordinal) {
  evaluated->bits[ordinal / 64] |= (uint64_t)1 << (ordinal % 64);
}

static void merge(struct hf_evaluated *into, const struct hf_evaluated *from) {
  for (uint32_t i = 0; i < into->words; i++)
    into->bits[i] |= from->bits[i];
}

/* Runs with a set of its own, which is added to the one above if the result is valid. */
static int run_apart(struct hf_schema_run *run, const struct hf_frame *frame) {
  struct hf_evaluated own;
  size_t used = run->used;
  int r = begin_evaluated(run, frame->node, &own);
  if (r < 0)
    return r;
  const struct hf_frame apart = {frame->up, frame->sub, frame->via, frame->node, &own};
  r = run_ops(run, &apart);
  if (r == 0 && frame->evaluated)
    merge(frame->evaluated, &own);
  run->used = used;
  return r;
}

int hf_run_apply(struct hf_schema_run *run, const struct hf_frame *up, uint32_t sub, const struct hf_op *via,
                 uint32_t node, struct hf_evaluated *evaluated) {
  const struct hf_frame frame = {up, &run->schema->subs.at[sub], via, node, evaluated};
  if (run->depth == 0 || !hf_run_spend(run, 1 + frame.sub->op_count))
    return HF_ERR_LIMIT;
  enum hf_json_type type = hf_json_type(run->doc, node);
  /* Most leaves say no more than their type. */
  if (frame.sub->op_count == 0 && frame.sub->flags == 0 && (frame.sub->types & hf_type_bit(type)))
    return 0;
  if (frame.sub->flags & HF_SUB_FALSE) {
    const struct hf_op op = {.keyword = HF_KEYWORD_FALSE};
    return hf_run_fail(run, &frame, &op);
  }
  run->depth--;
  bool apart = type >= HF_JSON_ARRAY && (frame.sub->flags & HF_SUB_UNEVALUATED);
  int r = apart ? run_apart(run, &frame) : run_ops(run, &frame);
  run->depth++;
  return r;
}

int hf_run_branch(struct hf_schema_run *run, const struct hf_frame *frame, uint32_t sub) {
  if (!frame->evaluated)
    return hf_run_apply(run, frame, sub, NULL, frame->node, NULL);
  struct hf_evaluated own;
  size_t used = run->used;
  int r = begin_evaluated(run, frame->node, &own);
  if (r < 0)
    return r;
  r = hf_run_apply(run, frame, sub, NULL, frame->node, &own);
  if (r == 0)
    merge(frame->evaluated, &own);
  run->used = used;
  return r;
}

int hf_run_quietly(struct hf_schema_run *run, const struct hf_frame *frame, uint32_t sub, uint32_t node) {
  struct hf_schema_errors *errors = run->errors;
  run->errors = NULL;
  int r = node == frame->node ? hf_run_branch(run, frame, sub) : hf_run_apply(run, frame, sub, NULL, node, NULL);
  run->errors = errors;
  return r;
}

int hf_run_root(struct hf_schema_run *run, const struct hf_schema *schema, const struct hf_json_doc *doc, uint32_t node,
                struct hf_schema_errors *errors, uint32_t steps) {
  run->schema = schema;
  run->doc = doc;
  run->errors = errors;
  run->parent = -1;
  run->branch = 0;
  run->certain = HF_NONE;
  run->steps = steps;
  run->depth = HF_SCHEMA_DEPTH_MAX;
  run->used = 0;
  return hf_run_apply(run, NULL, 0, NULL, node, NULL);
}

int hf_schema_check(const struct hf_schema *schema, struct hf_schema_run *run, const struct hf_json_doc *doc,
                    uint32_t node) {
  return hf_run_root(run, schema, doc, node, NULL, HF_SCHEMA_STEPS_MAX);
}
