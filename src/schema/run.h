/* Running a program over a value.
 *
 * A frame is a subschema applied to a node; frames are chained up to the root, so that the dynamic scope and the way
 * through the schema are known without being written down. A run stops at the first reason; one that explains goes on
 * and writes the reasons down. */
#ifndef HF_SCHEMA_RUN_H
#define HF_SCHEMA_RUN_H

#include "schema/program.h"

enum {
  HF_RUN_SCRATCH_MAX = 256 << 10, /* bytes for what one run must remember at the same time */
  HF_STEP_BYTES = 16,             /* of a text, that are looked at in one step */
};

/* Which members or items of a value some schema has looked at: a bit for each, in their order. */
struct hf_evaluated {
  uint64_t *bits;
  uint32_t words;
};

struct hf_frame {
  const struct hf_frame *up;
  const struct hf_sub *sub;
  const struct hf_op *via; /* the reference that led here, or NULL */
  uint32_t node;
  struct hf_evaluated *evaluated; /* NULL: nobody asks */
};

struct hf_schema_run {
  const struct hf_schema *schema;
  const struct hf_json_doc *doc;
  struct hf_schema_errors *errors; /* NULL: only the verdict is wanted */
  struct hf_regex_memory *regex_memory;
  int parent; /* of errors to come, and in which of its branches */
  uint32_t branch;
  uint32_t certain; /* reasons before those of branches that are being tried; HF_NONE: all */
  uint32_t steps;   /* that are left */
  uint32_t depth;   /* likewise */
  size_t used;      /* of the scratch memory */
  uint64_t scratch[HF_RUN_SCRATCH_MAX / sizeof(uint64_t)];
};

/* Runs the whole program, in at most `steps`. Returns as hf_schema_check does. */
int hf_run_root(struct hf_schema_run *run, const struct hf_schema *schema, const struct hf_json_doc *doc, uint32_t node,
                struct hf_schema_errors *errors, uint32_t steps);

/* Applies a subschema. Returns 0, HF_ERR_INVALID, HF_ERR_LIMIT, or (of an explanation) HF_ERR_NOMEM. */
int hf_run_apply(struct hf_schema_run *run, const struct hf_frame *up, uint32_t sub, const struct hf_op *via,
                 uint32_t node, struct hf_evaluated *evaluated);

/* The same for a branch, whose evaluations count only if it is valid. */
int hf_run_branch(struct hf_schema_run *run, const struct hf_frame *frame, uint32_t sub);

/* The same, without telling why not. */
int hf_run_quietly(struct hf_schema_run *run, const struct hf_frame *frame, uint32_t sub, uint32_t node);

/* Takes steps. Returns false when there are none left. */
static inline bool hf_run_spend(struct hf_schema_run *run, uint32_t steps) {
  if (run->steps < steps) {
    run->steps = 0;
    return false;
  }
  run->steps -= steps;
  return true;
}

static inline bool hf_run_spend_text(struct hf_schema_run *run, size_t bytes) {
  return hf_run_spend(run, (uint32_t)(bytes / HF_STEP_BYTES));
}

static inline const struct hf_json_doc *hf_frame_doc(const struct hf_schema_run *run, const struct hf_frame *frame) {
  return &run->schema->docs.at[frame->sub->doc]->doc;
}

/* Keeps what is wrong; true if a walk ends with it, for an explanation goes on. */
static inline bool hf_run_ends(const struct hf_schema_run *run, int r, int *io_result) {
  if (r == 0)
    return false;
  *io_result = r;
  return r != HF_ERR_INVALID || !run->errors;
}

/* Scratch memory, which is given back by setting `used` to what it was. Returns NULL if there is no more. */
void *hf_run_scratch(struct hf_schema_run *run, size_t size);

/* What a string means: borrowed from the text, or unescaped into scratch memory. `utf8`: what is no character becomes
 * U+FFFD. Returns 0 or HF_ERR_LIMIT. */
int hf_run_text(struct hf_schema_run *run, uint32_t node, bool utf8, struct hf_str *ret_text);

/* Adds the member or item with this ordinal. */
void hf_evaluated_add(struct hf_evaluated *evaluated, uint32_t ordinal);

/* How many reasons there are, so that those of a branch can be taken back. */
struct hf_errors_mark {
  unsigned count;
  bool cut;
  size_t paths;
};

struct hf_errors_mark hf_errors_mark(const struct hf_schema_run *run);
void hf_errors_back(struct hf_schema_run *run, struct hf_errors_mark mark);

/* Writes down that an instruction is not satisfied; returns HF_ERR_INVALID, or HF_ERR_NOMEM. */
int hf_run_fail(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);

/* The same, with everything that an error may say. `error` has keyword, at.keyword, value, key and missing. */
int hf_run_report(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_schema_error *error);

/* The same, and errors to come are reasons of it, until the caller sets `parent` and `branch` back. */
int hf_run_report_parent(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_schema_error *error);

/* The instructions, by their code. */
typedef int (*hf_op_run)(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);

int hf_run_enum(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_multiple(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_bound(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_length(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_count(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_pattern(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_format(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_object(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_property_names(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_dependent(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_unevaluated_properties(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_prefix(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_items(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_contains(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_unique(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_unevaluated_items(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_reference(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_dynamic(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_all_of(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_any_of(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_one_of(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_not(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);
int hf_run_if(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op);

#endif
