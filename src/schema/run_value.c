/* Instructions about a value itself. */
#include "schema/equal.h"
#include "schema/run.h"

enum {
  FORMAT_STEPS = 2, /* for each byte */
  DIVISION_STEPS = 2,
};

static int is_one_of(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_enum *values) {
  const struct hf_json_doc *doc = hf_frame_doc(run, frame);
  enum hf_json_type type = hf_json_type(run->doc, frame->node);
  if (type == HF_JSON_STRING) {
    struct hf_str text;
    size_t used = run->used;
    if (hf_run_text(run, frame->node, false, &text) < 0)
      return HF_ERR_LIMIT;
    bool found = hf_member_names_find(&run->schema->names, &values->strings, text) != NULL;
    run->used = used;
    return hf_run_spend_text(run, text.len) ? found : HF_ERR_LIMIT;
  }
  if (values->single)
    return hf_json_equal(run->doc, frame->node, doc, values->node, &run->steps);
  struct hf_json_iter iter = hf_json_iter(doc, values->node);
  uint32_t value;
  while (hf_json_next(doc, &iter, NULL, &value)) {
    if (!hf_run_spend(run, 1))
      return HF_ERR_LIMIT;
    if (hf_json_type(doc, value) != type)
      continue;
    int r = hf_json_equal(run->doc, frame->node, doc, value, &run->steps);
    if (r != 0)
      return r;
  }
  return 0;
}

int hf_run_enum(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  const struct hf_enum *values = &run->schema->enums.at[op->a];
  int r = 0;
  if (values->types & hf_type_bit(hf_json_type(run->doc, frame->node)))
    r = is_one_of(run, frame, values);
  return r < 0 ? r : r ? 0 : hf_run_fail(run, frame, op);
}

int hf_run_multiple(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  const struct hf_number *divisor = &run->schema->numbers.at[op->a];
  struct hf_str raw = hf_json_span(run->doc, frame->node);
  int64_t value;
  int r;
  if (divisor->is_small && hf_number_small(raw, &value))
    r = value % divisor->small == 0;
  else if (!hf_run_spend(run, DIVISION_STEPS + (uint32_t)(raw.len / 4)))
    r = HF_ERR_LIMIT;
  else
    r = hf_decimal_is_multiple(raw, divisor->raw, &run->steps);
  return r < 0 ? r : r ? 0 : hf_run_fail(run, frame, op);
}

static int compare(struct hf_schema_run *run, uint32_t node, const struct hf_number *bound, int *ret_order) {
  struct hf_str raw = hf_json_span(run->doc, node);
  int64_t small;
  if (bound->is_small && hf_number_small(raw, &small)) {
    *ret_order = (small > bound->small) - (small < bound->small);
    return 0;
  }
  struct hf_decimal value;
  if (!hf_run_spend_text(run, 3 * (raw.len + bound->raw.len)) || hf_decimal_read(raw, &value) < 0)
    return HF_ERR_LIMIT;
  return hf_decimal_compare(&value, &bound->value, ret_order);
}

int hf_run_bound(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  int order;
  int r = compare(run, frame->node, &run->schema->numbers.at[op->a], &order);
  if (r < 0)
    return r;
  bool good = op->code == HF_OP_MAXIMUM             ? order <= 0
              : op->code == HF_OP_EXCLUSIVE_MAXIMUM ? order < 0
              : op->code == HF_OP_MINIMUM           ? order >= 0
                                                    : order > 0;
  return good ? 0 : hf_run_fail(run, frame, op);
}

int hf_run_length(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  size_t bytes = hf_json_span(run->doc, frame->node).len - 2;
  bool most = op->code == HF_OP_MAX_LENGTH;
  /* A character takes at most 12 bytes, two escapes of a surrogate each, and at least one. */
  if (most ? bytes <= op->a : bytes / 12 >= op->a)
    return 0;
  bool escaped = run->doc->nodes[frame->node].flags & HF_JSON_ESCAPED;
  if (!hf_run_spend_text(run, escaped ? 2 * bytes : bytes))
    return HF_ERR_LIMIT;
  uint64_t length = hf_json_length(run->doc, frame->node);
  return (most ? length <= op->a : length >= op->a) ? 0 : hf_run_fail(run, frame, op);
}

int hf_run_count(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  uint32_t count = run->doc->nodes[frame->node].count;
  bool most = op->code == HF_OP_MAX_ITEMS || op->code == HF_OP_MAX_PROPERTIES;
  return (most ? count <= op->a : count >= op->a) ? 0 : hf_run_fail(run, frame, op);
}

int hf_run_pattern(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  struct hf_str text;
  size_t used = run->used;
  int r = hf_run_text(run, frame->node, true, &text);
  if (r == 0)
    r = hf_regex_match(run->schema->regexes.at[op->a], run->regex_memory, text, &run->steps);
  run->used = used;
  return r < 0 ? r : r ? 0 : hf_run_fail(run, frame, op);
}

int hf_run_format(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  struct hf_str text;
  size_t used = run->used;
  int r = hf_run_text(run, frame->node, true, &text);
  if (r == 0 && !hf_run_spend(run, FORMAT_STEPS * (uint32_t)text.len))
    r = HF_ERR_LIMIT;
  bool good = r == 0 && run->schema->formats.at[op->a](text);
  run->used = used;
  return r < 0 ? r : good ? 0 : hf_run_fail(run, frame, op);
}
