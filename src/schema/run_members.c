/* Instructions about the members of objects. */
#include "schema/equal.h"
#include "schema/run.h"

enum { MEMBER_STEPS = 2 };

static int report_key(struct hf_schema_run *run, const struct hf_frame *frame, enum hf_keyword keyword, uint32_t node,
                      uint32_t key) {
  if (!run->errors)
    return HF_ERR_INVALID;
  struct hf_schema_error error = {.keyword = keyword, .at.keyword = node, .value = frame->node, .key = key};
  return hf_run_report(run, frame, &error);
}

static int report_missing(struct hf_schema_run *run, const struct hf_frame *frame, enum hf_keyword keyword,
                          uint32_t node, uint32_t name) {
  if (!run->errors)
    return HF_ERR_INVALID;
  struct hf_schema_error error = {.keyword = keyword,
                                  .at.keyword = node,
                                  .value = frame->node,
                                  .missing = hf_json_span(hf_frame_doc(run, frame), name)};
  return hf_run_report(run, frame, &error);
}

/* A schema for a member that no other keyword has taken: `false` forbids its name. */
static int apply_rest(struct hf_schema_run *run, const struct hf_frame *frame, enum hf_keyword keyword, uint32_t sub,
                      uint32_t node, uint32_t key) {
  if (run->schema->subs.at[sub].flags & HF_SUB_FALSE)
    return report_key(run, frame, keyword, node, key);
  return hf_run_apply(run, frame, sub, NULL, key + 1, NULL);
}

/* To a pattern half a surrogate pair is U+FFFD, to a name only itself. */
static int match_patterns(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_object *object,
                          uint32_t key, bool *io_taken) {
  int result = 0;
  struct hf_str name;
  if (hf_run_text(run, key, true, &name) < 0)
    return HF_ERR_LIMIT;
  for (uint32_t i = 0; i < object->pattern_count; i++) {
    const struct hf_pattern_sub *pattern = &run->schema->patterns.at[object->first_pattern + i];
    int r = hf_regex_match(run->schema->regexes.at[pattern->regex], run->regex_memory, name, &run->steps);
    if (r < 0 || !hf_run_spend(run, 1))
      return HF_ERR_LIMIT;
    if (r == 0)
      continue;
    *io_taken = true;
    if (hf_run_ends(run, hf_run_apply(run, frame, pattern->sub, NULL, key + 1, NULL), &result))
      return result;
  }
  return result;
}

struct walk {
  const struct hf_object *object;
  uint32_t required; /* that were there */
};

static int run_member(struct hf_schema_run *run, const struct hf_frame *frame, struct walk *walk, uint32_t key,
                      bool *ret_taken) {
  const struct hf_object *object = walk->object;
  struct hf_str text;
  if (hf_run_text(run, key, false, &text) < 0 ||
      !hf_run_spend(run, MEMBER_STEPS + (uint32_t)(text.len / HF_STEP_BYTES)))
    return HF_ERR_LIMIT;
  int result = 0;
  const struct hf_member_name *name = hf_member_names_find(&run->schema->names, &object->names, text);
  bool taken = name && name->value != HF_NONE;
  walk->required += name && name->required != 0;
  if (taken && hf_run_ends(run, hf_run_apply(run, frame, name->value, NULL, key + 1, NULL), &result))
    return result;
  if (object->pattern_count > 0 && hf_run_ends(run, match_patterns(run, frame, object, key, &taken), &result))
    return result;
  if (!taken && object->additional != HF_NONE) {
    int r = apply_rest(run, frame, HF_KEYWORD_ADDITIONAL_PROPERTIES, object->additional, object->additional_node, key);
    result = r < 0 ? r : result;
    taken = true;
  }
  *ret_taken = taken;
  return result;
}

/* Marks the names that are there: a bit for each, in their order. */
static int mark_names(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_object *object,
                      uint64_t *bits) {
  const struct hf_member_name *first = run->schema->names.entries + object->names.first;
  struct hf_json_iter iter = hf_json_iter(run->doc, frame->node);
  uint32_t key, value;
  size_t used = run->used;
  while (hf_json_next(run->doc, &iter, &key, &value)) {
    struct hf_str text;
    if (hf_run_text(run, key, false, &text) < 0 || !hf_run_spend(run, MEMBER_STEPS) ||
        !hf_run_spend_text(run, text.len))
      return HF_ERR_LIMIT;
    const struct hf_member_name *name = hf_member_names_find(&run->schema->names, &object->names, text);
    if (name)
      bits[(name - first) / 64] |= UINT64_C(1) << ((name - first) % 64);
    run->used = used;
  }
  return 0;
}

static int report_required(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_object *object) {
  if (!run->errors)
    return HF_ERR_INVALID;
  size_t used = run->used, size = (object->names.count / 64 + 1) * sizeof(uint64_t);
  uint64_t *bits = hf_run_scratch(run, size);
  if (!bits || !hf_run_spend(run, object->names.count))
    return HF_ERR_LIMIT;
  memset(bits, 0, size);
  int r = mark_names(run, frame, object, bits);
  const struct hf_member_name *name = run->schema->names.entries + object->names.first;
  for (uint32_t i = 0; r == 0 && i < object->names.count; i++, name++)
    if (name->required != 0 && !(bits[i / 64] >> (i % 64) & 1)) {
      r = report_missing(run, frame, HF_KEYWORD_REQUIRED, object->required_node, name->required);
      r = r == HF_ERR_INVALID ? 0 : r;
    }
  run->used = used;
  return r == 0 ? HF_ERR_INVALID : r;
}

int hf_run_object(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  struct walk walk = {.object = &run->schema->objects.at[op->a]};
  struct hf_json_iter iter = hf_json_iter(run->doc, frame->node);
  uint32_t key, value, ordinal = 0;
  size_t used = run->used;
  int result = 0;
  for (; hf_json_next(run->doc, &iter, &key, &value); ordinal++) {
    bool taken = false;
    bool last = hf_run_ends(run, run_member(run, frame, &walk, key, &taken), &result);
    run->used = used;
    if (last)
      return result;
    if (taken && frame->evaluated)
      hf_evaluated_add(frame->evaluated, ordinal);
  }
  if (walk.required == walk.object->required_count)
    return result;
  return report_required(run, frame, walk.object);
}

int hf_run_property_names(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  struct hf_json_iter iter = hf_json_iter(run->doc, frame->node);
  uint32_t key, value;
  int result = 0;
  while (hf_json_next(run->doc, &iter, &key, &value)) {
    int r = hf_run_quietly(run, frame, op->a, key);
    if (r == HF_ERR_INVALID && run->errors) {
      struct hf_schema_error error = {
          .keyword = HF_KEYWORD_PROPERTY_NAMES, .at.keyword = op->node, .value = frame->node, .key = key};
      int parent = run->parent;
      uint32_t branch = run->branch;
      r = hf_run_report_parent(run, frame, &error);
      if (r == HF_ERR_INVALID)
        r = hf_run_apply(run, frame, op->a, NULL, key, NULL);
      run->parent = parent;
      run->branch = branch;
    }
    if (hf_run_ends(run, r, &result))
      return result;
  }
  return result;
}

static int need_members(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op,
                        uint32_t list) {
  const struct hf_json_doc *doc = hf_frame_doc(run, frame);
  struct hf_json_iter iter = hf_json_iter(doc, list);
  uint32_t item, value;
  int result = 0;
  while (hf_json_next(doc, &iter, NULL, &item)) {
    if (!hf_run_spend(run, 1 + run->doc->nodes[frame->node].count))
      return HF_ERR_LIMIT;
    struct hf_json_iter members = hf_json_iter(run->doc, frame->node);
    uint32_t key;
    bool found = false;
    while (!found && hf_json_next(run->doc, &members, &key, &value)) {
      int r = hf_json_equal(run->doc, key, doc, item, &run->steps);
      if (r < 0)
        return r;
      found = r;
    }
    if (!found && hf_run_ends(run, report_missing(run, frame, (enum hf_keyword)op->keyword, op->node, item), &result))
      return result;
  }
  return result;
}

int hf_run_dependent(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  int result = 0;
  for (uint32_t i = 0; i < op->b; i++) {
    const struct hf_dependent *dependent = &run->schema->dependents.at[op->a + i];
    uint32_t value;
    if (!hf_run_spend(run, 1 + run->doc->nodes[frame->node].count))
      return HF_ERR_LIMIT;
    if (hf_json_member(run->doc, frame->node, dependent->name, &value) < 0)
      continue;
    int r = dependent->sub == HF_NONE ? need_members(run, frame, op, dependent->list)
                                      : hf_run_apply(run, frame, dependent->sub, NULL, frame->node, frame->evaluated);
    if (hf_run_ends(run, r, &result))
      return result;
  }
  return result;
}

int hf_run_unevaluated_properties(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  struct hf_json_iter iter = hf_json_iter(run->doc, frame->node);
  uint32_t key, value, ordinal = 0;
  int result = 0;
  for (; hf_json_next(run->doc, &iter, &key, &value); ordinal++) {
    if (!hf_run_spend(run, 1))
      return HF_ERR_LIMIT;
    if (frame->evaluated->bits[ordinal / 64] >> (ordinal % 64) & 1)
      continue;
    if (hf_run_ends(run, apply_rest(run, frame, HF_KEYWORD_UNEVALUATED_PROPERTIES, op->a, op->node, key), &result))
      return result;
    hf_evaluated_add(frame->evaluated, ordinal);
  }
  return result;
}
