/* Which levels of the chain are open to a call as it stands: another run at a target, the next target, a status check,
 * an answer that is not live, a dead letter. Questions only: what is done about the answers is the call's. */
#ifndef HF_POLICY_CHAIN_H
#define HF_POLICY_CHAIN_H

#include "base/time.h"
#include "policy/call.h"

#include <stdbool.h>

/* May the target's tool be sent again there at `when` although it may have run? */
bool hf_chain_allows_repeat(const struct hf_call *call, unsigned target, hf_time when);

/* Can a status check show that the target did not run, so that it may run again? */
bool hf_chain_can_disprove(const struct hf_call *call, unsigned target);

/* Can an attempt at `target` that begins at `when` run no effect twice, over all targets? */
bool hf_chain_is_safe(const struct hf_call *call, unsigned target, hf_time when);

/* The next target that can be gone to now; `target_count` if there is none. */
unsigned hf_chain_next(const struct hf_call *call);

/* Would there be a next one if what is in flight ended with "may have run"? */
bool hf_chain_can_pass_on(const struct hf_call *call);

/* Of the targets whose breaker was open, the one that is half-open first and may be waited for; `target_count` if there
 * is none. */
unsigned hf_chain_half_open(const struct hf_call *call);

/* Is there something that may have run, must not run again, and can be asked about in time? */
bool hf_chain_wants_check(const struct hf_call *call);

/* May an answer that is not live stand in for the failure? */
bool hf_chain_may_degrade(const struct hf_call *call);

/* Is the failure written down? */
bool hf_chain_wants_letter(const struct hf_call *call);

#endif
