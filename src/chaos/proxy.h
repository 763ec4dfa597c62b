/* The faulty server as a proxy before a real one: a child process on stdio.
 *
 * Everything passes byte for byte, both ways, but for requests that a fault meets. A fault that executes is passed on,
 * and what the server answers is spoiled; one that does not never reaches the server. */
#ifndef HF_CHAOS_PROXY_H
#define HF_CHAOS_PROXY_H

#include "chaos/server.h"

#include <uv.h>

enum { HF_CHAOS_PENDING_MAX = 65536 };

/* Runs until the child has ended. Returns what to exit with: the child's own code, 128 and the signal that ended it, or
 * 3 with `reterr` when it cannot be started. */
int hf_chaos_proxy_run(uv_loop_t *loop, struct hf_chaos *chaos, char **command, struct hf_error *reterr);

#endif
