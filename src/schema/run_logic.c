/* Instructions that put schemas together. */
#include "schema/run.h"

int hf_run_reference(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  return hf_run_apply(run, frame, op->a, op, frame->node, frame->evaluated);
}

/* The outermost resource on the way here that has the anchor decides. */
int hf_run_dynamic(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  uint32_t target = op->a, last = HF_NONE;
  const struct hf_frame *at = frame;
  do {
    if (at->sub->scope == last)
      continue;
    last = at->sub->scope;
    const struct hf_scope *scope = &run->schema->scopes.at[last];
    if (!hf_run_spend(run, 1 + scope->dynamic_count))
      return HF_ERR_LIMIT;
    for (uint32_t i = 0; i < scope->dynamic_count; i++) {
      const struct hf_dynamic *dynamic = &run->schema->dynamics.at[scope->first_dynamic + i];
      target = dynamic->name == op->b ? dynamic->sub : target;
    }
  } while ((at = at->up));
  return hf_run_apply(run, frame, target, op, frame->node, frame->evaluated);
}

int hf_run_all_of(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  int result = 0;
  for (uint32_t i = 0; i < op->b; i++) {
    int r = hf_run_apply(run, frame, run->schema->list.at[op->a + i], NULL, frame->node, frame->evaluated);
    if (hf_run_ends(run, r, &result))
      return result;
  }
  return result;
}

/* How many branches are valid; stops when there are `most`. */
static int count_valid(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op, uint32_t most,
                       uint32_t *ret_count) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < op->b && count < most; i++) {
    run->branch = i;
    int r = hf_run_branch(run, frame, run->schema->list.at[op->a + i]);
    if (r != 0 && r != HF_ERR_INVALID)
      return r;
    count += r == 0;
  }
  *ret_count = count;
  return 0;
}

/* Writes down the reason and what is wrong in each branch, then takes it back if a branch is valid. */
static int explain_branches(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op,
                            uint32_t most, uint32_t *ret_count) {
  struct hf_errors_mark mark = hf_errors_mark(run);
  struct hf_schema_error error = {
      .keyword = (enum hf_keyword)op->keyword, .at.keyword = op->node, .value = frame->node};
  int parent = run->parent;
  uint32_t branch = run->branch;
  bool outermost = run->certain == HF_NONE;
  if (outermost)
    run->certain = mark.count;
  int r = hf_run_report_parent(run, frame, &error);
  if (r == HF_ERR_INVALID)
    r = count_valid(run, frame, op, most, ret_count);
  run->parent = parent;
  run->branch = branch;
  if (r == 0 && *ret_count > 0)
    hf_errors_back(run, mark);
  if (r == 0 && outermost)
    run->certain = HF_NONE;
  return r;
}

static int run_branches(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op, uint32_t most,
                        uint32_t *ret_count) {
  return run->errors ? explain_branches(run, frame, op, most, ret_count) : count_valid(run, frame, op, most, ret_count);
}

int hf_run_any_of(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  uint32_t count = 0;
  int r = run_branches(run, frame, op, frame->evaluated ? UINT32_MAX : 1, &count);
  return r < 0 ? r : count > 0 ? 0 : HF_ERR_INVALID;
}

int hf_run_one_of(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  uint32_t count = 0;
  int r = run_branches(run, frame, op, 2, &count);
  if (r < 0 || count == 1)
    return r;
  return count == 0 ? HF_ERR_INVALID : hf_run_fail(run, frame, op);
}

int hf_run_not(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  int r = hf_run_quietly(run, frame, op->a, frame->node);
  if (r == HF_ERR_INVALID)
    return 0;
  return r < 0 ? r : hf_run_fail(run, frame, op);
}

int hf_run_if(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  const uint32_t *subs = run->schema->list.at + op->a;
  if (subs[1] == HF_NONE && subs[2] == HF_NONE && !frame->evaluated)
    return 0;
  int r = hf_run_quietly(run, frame, subs[0], frame->node);
  if (r != 0 && r != HF_ERR_INVALID)
    return r;
  uint32_t chosen = r == 0 ? subs[1] : subs[2];
  return chosen == HF_NONE ? 0 : hf_run_apply(run, frame, chosen, NULL, frame->node, frame->evaluated);
}
