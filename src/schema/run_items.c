/* Instructions about the items of arrays. */
#include "schema/equal.h"
#include "schema/run.h"

enum { PAIRS_MAX = 8 };

/* `false` for an item says that the array is too long, which its keyword tells better than the schema. */
static int apply_item(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op, uint32_t item) {
  if (!(run->schema->subs.at[op->a].flags & HF_SUB_FALSE))
    return hf_run_apply(run, frame, op->a, NULL, item, NULL);
  if (!run->errors)
    return HF_ERR_INVALID;
  struct hf_schema_error error = {.keyword = (enum hf_keyword)op->keyword, .at.keyword = op->node, .value = item};
  return hf_run_report(run, frame, &error);
}

int hf_run_prefix(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  struct hf_json_iter iter = hf_json_iter(run->doc, frame->node);
  uint32_t item;
  int result = 0;
  for (uint32_t i = 0; i < op->b && hf_json_next(run->doc, &iter, NULL, &item); i++) {
    int r = hf_run_apply(run, frame, run->schema->list.at[op->a + i], NULL, item, NULL);
    if (hf_run_ends(run, r, &result))
      return result;
    if (frame->evaluated)
      hf_evaluated_add(frame->evaluated, i);
  }
  return result;
}

int hf_run_items(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  struct hf_json_iter iter = hf_json_iter(run->doc, frame->node);
  uint32_t item, ordinal = 0;
  int result = 0;
  for (; hf_json_next(run->doc, &iter, NULL, &item); ordinal++) {
    if (ordinal < op->b)
      continue;
    if (hf_run_ends(run, apply_item(run, frame, op, item), &result))
      return result;
    if (frame->evaluated)
      hf_evaluated_add(frame->evaluated, ordinal);
  }
  return result;
}

int hf_run_unevaluated_items(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  struct hf_json_iter iter = hf_json_iter(run->doc, frame->node);
  uint32_t item, ordinal = 0;
  int result = 0;
  for (; hf_json_next(run->doc, &iter, NULL, &item); ordinal++) {
    if (!hf_run_spend(run, 1))
      return HF_ERR_LIMIT;
    if (frame->evaluated->bits[ordinal / 64] >> (ordinal % 64) & 1)
      continue;
    if (hf_run_ends(run, apply_item(run, frame, op, item), &result))
      return result;
    hf_evaluated_add(frame->evaluated, ordinal);
  }
  return result;
}

static int count_matches(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_contains *contains,
                         uint32_t *ret_count) {
  bool all = contains->max != UINT32_MAX || (frame->evaluated && contains->evaluates);
  struct hf_json_iter iter = hf_json_iter(run->doc, frame->node);
  uint32_t item, ordinal = 0, count = 0;
  for (; (all || count < contains->min) && hf_json_next(run->doc, &iter, NULL, &item); ordinal++) {
    int r = hf_run_quietly(run, frame, contains->sub, item);
    if (r != 0 && r != HF_ERR_INVALID)
      return r;
    if (r < 0)
      continue;
    count++;
    if (frame->evaluated && contains->evaluates)
      hf_evaluated_add(frame->evaluated, ordinal);
  }
  *ret_count = count;
  return 0;
}

int hf_run_contains(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  const struct hf_contains *contains = &run->schema->contains.at[op->a];
  uint32_t count = 0;
  int r = count_matches(run, frame, contains, &count);
  if (r < 0)
    return r;
  if (count >= contains->min && count <= contains->max)
    return 0;
  struct hf_op said = *op;
  if (count > contains->max) {
    said.keyword = HF_KEYWORD_MAX_CONTAINS;
    said.node = contains->max_node;
  } else if (contains->min_node != HF_JSON_NONE) {
    said.keyword = HF_KEYWORD_MIN_CONTAINS;
    said.node = contains->min_node;
  }
  return hf_run_fail(run, frame, &said);
}

/* Returns 1 if two are equal. */
static int pairs_equal(struct hf_schema_run *run, uint32_t array) {
  uint32_t seen[PAIRS_MAX], count = 0, item;
  struct hf_json_iter iter = hf_json_iter(run->doc, array);
  while (hf_json_next(run->doc, &iter, NULL, &item)) {
    for (uint32_t i = 0; i < count; i++) {
      int r = hf_json_equal(run->doc, seen[i], run->doc, item, &run->steps);
      if (r != 0)
        return r;
    }
    seen[count++] = item;
  }
  return 0;
}

/* A slot has half of a hash, and the node. */
static int insert(struct hf_schema_run *run, uint64_t *slots, uint32_t mask, uint64_t hash, uint32_t item) {
  uint32_t at = (uint32_t)hash & mask;
  for (; slots[at] != 0; at = (at + 1) & mask) {
    if (!hf_run_spend(run, 1))
      return HF_ERR_LIMIT;
    if (slots[at] >> 32 != hash >> 32)
      continue;
    int r = hf_json_equal(run->doc, (uint32_t)slots[at], run->doc, item, &run->steps);
    if (r != 0)
      return r;
  }
  slots[at] = (hash & ~(uint64_t)UINT32_MAX) | item;
  return 0;
}

static int any_equal(struct hf_schema_run *run, uint32_t array) {
  uint32_t count = run->doc->nodes[array].count, size = 1;
  while (size < count + count / 3 && size < HF_RUN_SCRATCH_MAX)
    size *= 2;
  uint64_t *slots = hf_run_scratch(run, size * sizeof *slots);
  if (!slots || !hf_run_spend(run, size / 4))
    return HF_ERR_LIMIT;
  memset(slots, 0, size * sizeof *slots);
  struct hf_json_iter iter = hf_json_iter(run->doc, array);
  uint32_t item;
  while (hf_json_next(run->doc, &iter, NULL, &item)) {
    uint64_t hash;
    int r = hf_json_hash(run->doc, item, run->schema->names.key, &run->steps, &hash);
    if (r == 0)
      r = insert(run, slots, size - 1, hash, item);
    if (r != 0)
      return r;
  }
  return 0;
}

int hf_run_unique(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  size_t used = run->used;
  bool few = run->doc->nodes[frame->node].count <= PAIRS_MAX;
  int r = few ? pairs_equal(run, frame->node) : any_equal(run, frame->node);
  run->used = used;
  return r < 0 ? r : r == 0 ? 0 : hf_run_fail(run, frame, op);
}
