/* The faulty server as an HTTP front before a real one: a child process on stdio, which all clients share.
 *
 * Requests get ids of their own on the way to the child, and theirs on the way back. What the child says unasked goes
 * to the newest request that takes an event stream, else to the streams that clients keep open, else nowhere. */
#ifndef HF_CHAOS_BRIDGE_H
#define HF_CHAOS_BRIDGE_H

#include "chaos/http.h"

struct hf_chaos_bridge;

/* Starts the child. Returns 0 and owned, or HF_ERR_UNAVAILABLE. Its end ends the process, with its exit status. */
int hf_chaos_bridge_new(uv_loop_t *loop, struct hf_chaos *chaos, char **command, struct hf_chaos_bridge **ret_bridge,
                        struct hf_error *reterr);

/* Borrowed. */
const struct hf_chaos_back *hf_chaos_bridge_back(const struct hf_chaos_bridge *bridge);

/* Kills the child. Accepts NULL. */
void hf_chaos_bridge_free(struct hf_chaos_bridge *bridge);

#endif
