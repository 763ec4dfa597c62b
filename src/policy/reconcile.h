/* What may have run, and the status check that is to say whether it did. */
#ifndef HF_POLICY_RECONCILE_H
#define HF_POLICY_RECONCILE_H

#include "policy/call.h"

#include <stdbool.h>

/* An attempt that may have run has ended: unless its child is dead, it can begin to run for a while; if it was followed
 * and its end was not told, at any time. */
void hf_reconcile_note_end(struct hf_call *call, const struct hf_attempt *a, const struct hf_evidence *evidence);

/* That it ran is conclusive at any time, that it did not only after everything has settled: so the check waits for
 * that, if the time is there. */
void hf_reconcile_begin(struct hf_call *call, struct hf_call_actions *out);

void hf_reconcile_check(struct hf_call *call, struct hf_call_actions *out);

/* A check got no answer, or one that may yet change: plans the next one, and returns false if there is no time
 * for one. */
bool hf_reconcile_again(struct hf_call *call, enum hf_check said);

/* It did not run: what is known of the attempts there is taken anew. */
void hf_reconcile_disprove(struct hf_call *call);

#endif
