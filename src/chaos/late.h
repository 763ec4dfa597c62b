/* A tool that runs when nobody waits for it any more: a server that was slow to begin, and goes on without its caller.
 */
#ifndef HF_CHAOS_LATE_H
#define HF_CHAOS_LATE_H

#include "chaos/server.h"

#include <uv.h>

/* Executes what the request asks for `ms` from now, and answers nobody. Copies what it needs. */
void hf_chaos_late(uv_loop_t *loop, struct hf_chaos *chaos, const struct hf_chaos_request *request, long ms);

#endif
