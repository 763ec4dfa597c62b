/* Why a value is not valid: a run that does not stop at the first reason. */
#include "schema/run.h"

enum { PATHS_MAX = 256 << 10, FIRST_REASON_STEPS = 4096 };

void hf_schema_errors_init(struct hf_schema_errors *errors) {
  errors->count = 0;
  errors->cut = false;
  hf_buf_init(&errors->paths, PATHS_MAX);
}

void hf_schema_errors_deinit(struct hf_schema_errors *errors) {
  hf_buf_deinit(&errors->paths);
}

/* The verdict is that of a check. If the bounds do not suffice to find all reasons, there are those that were found;
 * not those of branches whose sisters were not all tried, unless there are no others. */
int hf_schema_explain(const struct hf_schema *schema, struct hf_schema_run *run, const struct hf_json_doc *doc,
                      uint32_t node, struct hf_schema_errors *errors) {
  errors->count = 0;
  errors->cut = false;
  hf_buf_reset(&errors->paths, PATHS_MAX);
  int verdict = hf_run_root(run, schema, doc, node, NULL, HF_SCHEMA_STEPS_MAX);
  if (verdict != HF_ERR_INVALID)
    return verdict;
  /* Enough to come to the first reason again and to write it down, else what is left. */
  uint32_t left = run->steps, enough = HF_SCHEMA_STEPS_MAX - left + FIRST_REASON_STEPS;
  int r = hf_run_root(run, schema, doc, node, errors, left > enough ? left : enough);
  if (r != HF_ERR_LIMIT)
    return r;
  if (run->certain != HF_NONE && run->certain > 0)
    errors->count = run->certain;
  errors->cut = true;
  return HF_ERR_INVALID;
}
