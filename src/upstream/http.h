/* The HTTP transport: Streamable HTTP of both eras behind transport.h.
 *
 * It owns the connections to one server, the legacy session's id, the stream that the server opens towards us, and
 * knows of every request which bytes were handed to the socket. It never sends a request twice by itself: what a closed
 * connection means is for the caller to judge. */
#ifndef HF_UPSTREAM_HTTP_H
#define HF_UPSTREAM_HTTP_H

#include "base/error.h"
#include "upstream/connect.h"
#include "upstream/transport.h"

struct hf_server_settings;

/* Makes the transport of one server; `settings` is only read during the call. `connector` is borrowed and outlives it.
 * Returns 0 and owned, HF_ERR_INVALID (URL, headers; `reterr` says which), HF_ERR_NOMEM. */
int hf_http_transport_new(struct hf_connector *connector, const struct hf_server_settings *settings,
                          const struct hf_transport_events *events, void *owner, struct hf_transport **ret_transport,
                          struct hf_error *reterr);

#endif
