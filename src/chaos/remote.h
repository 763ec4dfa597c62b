/* The faulty server as a proxy before a real one over HTTP.
 *
 * Everything passes byte for byte, both ways, but for the headers that belong to a connection, and for requests that a
 * fault meets. A fault that executes is passed on, and what the server answers is spoiled; one that does not never
 * reaches the server. Each request has a connection of its own to the server. */
#ifndef HF_CHAOS_REMOTE_H
#define HF_CHAOS_REMOTE_H

#include "chaos/http.h"

struct hf_chaos_remote;

/* `url` is http://HOST[:PORT][/PATH]; its name is resolved once. Returns 0 and owned; HF_ERR_INVALID for what is no
 * such URL, HF_ERR_UNAVAILABLE for a host that is not known. */
int hf_chaos_remote_new(uv_loop_t *loop, struct hf_chaos *chaos, const char *url, struct hf_chaos_remote **ret_remote,
                        struct hf_error *reterr);

/* Borrowed. */
const struct hf_chaos_back *hf_chaos_remote_back(const struct hf_chaos_remote *remote);

/* Once the loop is idle. Accepts NULL. */
void hf_chaos_remote_free(struct hf_chaos_remote *remote);

#endif
