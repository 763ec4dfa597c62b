/* The HTTP front: MCP over Streamable HTTP, both eras, and the pages for operators.
 *
 * libmicrohttpd parses and writes HTTP on its own epoll set, which the event loop polls; this front accepts connections
 * itself, so that running out of descriptors pauses accepting and nothing else. All of it runs on the loop thread. */
#ifndef HF_FRONT_HTTP_H
#define HF_FRONT_HTTP_H

#include "base/buf.h"
#include "base/error.h"
#include "gateway/client.h"
#include "gateway/loop.h"
#include "gateway/settings.h"

#include <uv.h>

struct hf_front_http;

/* Fills the body of `/healthz`, `/readyz` or `/metrics` and names its type (a constant). Returns the HTTP status. */
typedef int hf_front_page_fn(void *context, struct hf_str path, struct hf_buf *body, const char **ret_type);

struct hf_front_http_options {
  uv_loop_t *uv;
  struct hf_loop *loop;
  struct hf_gateway *gateway;
  struct hf_settings *settings; /* a reference is taken */
  hf_front_page_fn *page;       /* NULL: no such pages */
  void *page_context;
};

struct hf_front_http_stats {
  uint64_t connections; /* open */
  uint64_t sessions;    /* open, legacy and stateless */
  uint64_t streams;     /* open */
  uint64_t requests;    /* ever begun */
  uint64_t refused;     /* answered with an error by the front itself */
  uint64_t dropped;     /* messages that had no stream to go to */
  uint64_t cut_slow;    /* connections cut off for being slow, either way */
  uint64_t pauses;      /* times accepting was paused for want of descriptors */
};

/* Binds and listens. Returns 0 and owned; or HF_ERR_INVALID (an address beyond loopback without tokens, or no
 * address), HF_ERR_IO (cannot bind), HF_ERR_NOMEM. */
int hf_front_http_new(const struct hf_front_http_options *options, struct hf_front_http **ret_front,
                      struct hf_error *reterr);

/* The port it listens on (of use when the settings say 0). */
uint16_t hf_front_http_port(const struct hf_front_http *front);

/* Tokens, hosts, origins and limits follow the new settings from the next request on; the address and the sizes of
 * tables don't. Sessions stay with their principals by name. */
void hf_front_http_reload(struct hf_front_http *front, struct hf_settings *settings);

/* Takes no new connections and requests, closes idle streams at once, lets open requests end. `done` comes once none
 * is left, from the loop. */
void hf_front_http_drain(struct hf_front_http *front, void (*done)(void *context), void *context);

void hf_front_http_stats(const struct hf_front_http *front, struct hf_front_http_stats *ret_stats);

/* Ends everything. The memory goes once the loop has closed its handles: run it until it has nothing left to do. Not
 * from inside a callback of the front. */
void hf_front_http_free(struct hf_front_http *front);

#endif
