/* What is wrong with a value, while it is told. */
#ifndef HF_GATEWAY_STAGE_MISFIT_H
#define HF_GATEWAY_STAGE_MISFIT_H

#include "gateway/validator.h"

/* The schema is that of a listing, so a misfit lasts for one turn of the loop; who needs it later looks again. */
struct hf_misfit {
  struct hf_str raw;              /* the value, borrowed */
  const char *whole;              /* what all of it is called, constant */
  const struct hf_schema *schema; /* NULL: it was refused before anybody asked it, and `why` says it all */
  struct hf_json_doc doc;         /* of `raw`, if it has errors */
  struct hf_schema_errors errors;
  struct hf_error why; /* a size or depth over its limit (HF_ERR_LIMIT), a member that is there twice, no JSON */

  struct hf_json_scan scan; /* what `doc` points to */
};

/* One that says nothing yet, of arguments: what else it may be of has another name. */
void hf_misfit_init(struct hf_misfit *misfit, struct hf_str raw);
void hf_misfit_deinit(struct hf_misfit *misfit);

/* Fills in why `raw` does not fit, which was found out before: the errors, or `why`. Returns 0 or HF_ERR_NOMEM; then
 * it says less. */
int hf_misfit_explain(struct hf_misfit *misfit, struct hf_validator *validator, const struct hf_schema *schema);

#endif
