/* Schema drift: from one list to the next, a tool wants an argument that it did not want before.
 *
 * After the nth drift, the tool at place n - 1 of the list (round and round) has a required string property
 * `drift_n` in its inputSchema. The list alone changes: a call without it is executed as before. */
#ifndef HF_CHAOS_DRIFT_H
#define HF_CHAOS_DRIFT_H

#include "base/buf.h"

/* Rewrites `list`, an answer to tools/list, after `drifts` drifts. Anything else stays as it is. Returns 0, or what
 * the buffer says. */
int hf_chaos_drift(struct hf_buf *list, long drifts);

#endif
