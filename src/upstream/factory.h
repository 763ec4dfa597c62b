/* Makes the gateway's upstreams: the transport that a server's settings ask for, and the life over it. */
#ifndef HF_UPSTREAM_FACTORY_H
#define HF_UPSTREAM_FACTORY_H

#include "gateway/upstream.h"
#include "upstream/reaper.h"

struct hf_factory;

/* Borrows all three, which outlive it. Returns 0 and owned, or HF_ERR_NOMEM. */
int hf_factory_new(uv_loop_t *uv, struct hf_loop *loop, struct hf_reaper *reaper, struct hf_factory **ret_factory);

/* What the gateway takes; valid as long as the factory. */
const struct hf_upstream_factory *hf_factory_seam(const struct hf_factory *factory);

/* All its upstreams must be gone. */
void hf_factory_free(struct hf_factory *factory);

#endif
