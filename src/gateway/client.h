/* The seam between the gateway and its clients.
 *
 * A client is one MCP client as a front knows it: a legacy HTTP session, a stdio connection, or, for modern HTTP, all
 * stateless requests of one principal at one endpoint. A front decodes messages, hands them in, and writes what comes
 * back; it decides nothing about them.
 *
 * A reply is where the answer to one request goes; the front makes it and owns its memory. Between hf_client_handle and
 * finish() the gateway may use it; afterwards it is the front's again. A callback may come from inside
 * hf_client_handle. */
#ifndef HF_GATEWAY_CLIENT_H
#define HF_GATEWAY_CLIENT_H

#include "base/blob.h"
#include "base/str.h"
#include "mcp/era.h"
#include "mcp/message.h"

#include <stdbool.h>

enum { HF_STATUS_CANCELLED = 499 };

struct hf_gateway;
struct hf_client;
struct hf_reply;
struct hf_exchange; /* the gateway's side of one request */

struct hf_reply_ops {
  /* A message that goes before the answer on this request's stream: progress, log, a request to the client. `text` is
   * taken. A front that answers JSON turns to SSE by the first of these. */
  void (*message)(struct hf_reply *reply, struct hf_pieces *text);

  /* The answer, always exactly one; `text` is taken. `http_status` is what the modern era wants for it (200 mostly);
   * legacy fronts ignore it. HF_STATUS_CANCELLED: the client itself cancelled; over stdio nothing is written then.
   * Empty text (with 500): the gateway had no memory for an answer. */
  void (*finish)(struct hf_reply *reply, int http_status, struct hf_pieces *text);
};

struct hf_header {
  struct hf_str name;
  struct hf_str value;
};

struct hf_reply {
  const struct hf_reply_ops *ops;
  struct hf_exchange *exchange; /* the gateway's, NULL before hf_client_handle and after finish() */
  uint64_t call;                /* set by hf_client_handle: its number, for what is known of the answer later */
  /* The `Mcp-Param-*` headers of a modern HTTP request, borrowed until hf_client_handle returns. `has_headers` is false
   * where the transport has none. */
  bool has_headers;
  const struct hf_header *headers;
  size_t header_count;
};

struct hf_client_ops {
  /* A message that belongs to no request (list_changed, a log line, a request without a better place). `text` is taken;
   * a front without a stream for it drops it, or keeps it within its limits for when there is one. */
  void (*notify)(struct hf_client *client, void *owner, struct hf_pieces *text);
};

struct hf_client_options {
  struct hf_str server;    /* endpoint: one server with its own names, or absent for all with prefixed names; copied */
  struct hf_str principal; /* who: the name of the token, or absent; copied */
  enum hf_era era;         /* MODERN: a stateless client; LEGACY: opens with `initialize`; UNKNOWN: decided by its first
                              request (stdio) */
  const struct hf_client_ops *ops;
  void *owner;
  uint64_t replay; /* not 0: its one call replays a dead letter, under this number of hf_gateway_next_call */
};

/* Opens a client. Returns 0 and owned, HF_ERR_NOTFOUND (no such server), HF_ERR_LIMIT (too many), HF_ERR_NOMEM,
 * HF_ERR_CLOSED (draining). */
int hf_client_open(struct hf_gateway *gateway, const struct hf_client_options *options, struct hf_client **ret_client);

/* Cancels what is in flight and frees it. No callback follows; replies of open requests are the front's again at once.
 */
void hf_client_close(struct hf_client *client);

/* Handles one message of the client: a request (with `reply`), or a notification or response (`reply` NULL). Takes
 * `message`: it is left empty. */
void hf_client_handle(struct hf_client *client, struct hf_message *message, struct hf_reply *reply);

/* The client went away from this request: the modern era's cancellation. The reply is the front's again at once; the
 * call ends as cancelled. Fronts of the legacy era don't call this on a disconnect, but keep the answer for resumption,
 * and say how it stands: nobody is there to read what the reply takes, or somebody is again. */
void hf_client_abandon(struct hf_client *client, struct hf_reply *reply);
void hf_client_away(struct hf_client *client, struct hf_reply *reply);
void hf_client_back(struct hf_client *client, struct hf_reply *reply);

/* What became of the answer to a call after finish(): its connection broke, so that it may not have arrived; or, after
 * hf_client_away, it was fetched. An equal call gets the one that did not arrive, instead of running anew. */
void hf_client_unheard(struct hf_gateway *gateway, uint64_t call);
void hf_client_heard(struct hf_gateway *gateway, uint64_t call);

/* Puts an error answer to an undecodable or unacceptable message into `ret_text`. `id` is its raw text or absent. */
int hf_client_error_text(struct hf_str id, int code, struct hf_str message, struct hf_pieces *ret_text);

/* The protocol version agreed with a legacy client, for header checks; absent before `initialize`. */
struct hf_str hf_client_version(const struct hf_client *client);
enum hf_era hf_client_era(const struct hf_client *client);

#endif
