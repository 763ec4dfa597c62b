/* Runs the faulty server as its options say, until its end. */
#ifndef HF_CHAOS_RUN_H
#define HF_CHAOS_RUN_H

#include "chaos/options.h"

/* Returns what to exit with: 0; 1, the server failed; 2, bad usage; 3, it cannot start. 2 and 3 fill `reterr`. Faults
 * end the process themselves. */
int hf_chaos_run(const struct hf_chaos_options *options, struct hf_error *reterr);

#endif
