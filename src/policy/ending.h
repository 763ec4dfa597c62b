/* How a call ends once nothing live is left: another answer, a dead letter, the end. */
#ifndef HF_POLICY_ENDING_H
#define HF_POLICY_ENDING_H

#include "policy/call.h"

#include <stdbool.h>

/* Neither an attempt nor a check is left; `end`, `fault` and `evidence` stand. */
void hf_ending_begin(struct hf_call *call, struct hf_call_actions *out);

/* The last level. The deadline does not cover it: the store has its own time. */
void hf_ending_bury(struct hf_call *call, struct hf_call_actions *out);

void hf_ending_finish(struct hf_call *call, struct hf_call_actions *out);

/* The answers that the first two may ask for; ignored when they come late. */
void hf_ending_degraded(struct hf_call *call, const struct hf_call_degraded *degraded, struct hf_call_actions *out);
void hf_ending_letter_done(struct hf_call *call, bool written, struct hf_call_actions *out);

#endif
