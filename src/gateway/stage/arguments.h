/* The stage that holds the arguments of a tools/call against the newest schema of its tool, before anything is sent.
 *
 * What fits passes untouched. What does not is repaired where there is exactly one way to (schema/repair.h), else
 * answered at once with what a model needs to do better; nothing was sent then. A schema that cannot be used, and a
 * check that hits its bounds, stop nobody: such a call passes, counted as unvalidated. */
#ifndef HF_GATEWAY_STAGE_ARGUMENTS_H
#define HF_GATEWAY_STAGE_ARGUMENTS_H

#include "gateway/stage/misfit.h"
#include "gateway/stage/stage.h"

/* Holds `raw` (absent: no arguments) against the schema of the exchange's tool or route. Returns 0 if it fits;
 * HF_ERR_INVALID with the misfit, owned, to be deinited; HF_ERR_AGAIN if nobody can tell, for there is no schema (any
 * more) that can be used; HF_ERR_NOMEM. */
int hf_arguments_examine(struct hf_exchange *exchange, struct hf_str raw, struct hf_misfit *ret_misfit);

/* The stage. */
enum hf_stage_result hf_arguments_before(struct hf_exchange *exchange);

/* Answers the call: its arguments are wrong, and this is why. One place where the text is put together. Ends the
 * exchange. `misfit` stays the caller's. */
void hf_arguments_refuse(struct hf_exchange *exchange, const struct hf_misfit *misfit);

/* A stage result of HF_STAGE_KEPT ends in one of these two. Goes on with other arguments, which were examined before
 * and are copied; `how` is what the marker calls it ("corrected_by_client"), constant. The exchange may be gone when it
 * returns. */
void hf_arguments_resume(struct hf_exchange *exchange, struct hf_str raw, const char *how);

/* Goes on with the caller's own: examines them anew and refuses them. Ends the exchange, or lets it pass if they fit by
 * now. */
void hf_arguments_give_up(struct hf_exchange *exchange);

#endif
