/* The gateway's upstream over a transport: started and restarted, probed, greeted, and kept alive.
 *
 * It owns the life of one session with one server and every request that is under way on it. Each request ends exactly
 * once. What is not known to have been handed over is never said to have been. */
#ifndef HF_UPSTREAM_UPSTREAM_H
#define HF_UPSTREAM_UPSTREAM_H

#include "gateway/loop.h"
#include "gateway/settings.h"
#include "gateway/upstream.h"
#include "upstream/restart.h"
#include "upstream/transport.h"

struct hf_upstream_options {
  struct hf_loop *loop;
  const struct hf_server_settings *settings; /* copied where needed */
  struct hf_str capabilities;                /* copied */
  struct hf_restart_options restart;
  enum hf_era *remembered; /* borrowed: what a start found out, shared by all upstreams of one server; or NULL */
  const struct hf_upstream_events *events;
  void *owner;
};

/* The reports of a transport, for its making; its owner is the upstream. */
extern const struct hf_transport_events hf_upstream_transport_events;

/* Makes an upstream without its transport. Returns 0 and owned, or HF_ERR_NOMEM. */
int hf_upstream_new(const struct hf_upstream_options *options, struct hf_upstream **ret_upstream);

/* Gives it its transport, which it takes. Once, before anything else. */
void hf_upstream_attach(struct hf_upstream *upstream, struct hf_transport *transport);

#endif
