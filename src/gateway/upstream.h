/* The seam between the gateway and the servers behind it.
 *
 * An upstream is one MCP session with one configured server: opened, probed for its era, restarted with backoff, behind
 * this interface, whatever its transport. src/upstream implements it; tests and the simulator fill it with fakes.
 *
 * All calls and callbacks happen on the loop thread. A callback never comes from inside the call that causes it: what a
 * call brings about is reported later, from the loop. Ids on the wire are the gateway's own, unique in the process. */
#ifndef HF_GATEWAY_UPSTREAM_H
#define HF_GATEWAY_UPSTREAM_H

#include "base/blob.h"
#include "base/str.h"
#include "base/time.h"
#include "gateway/client.h"
#include "mcp/era.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "policy/classify.h"

#include <stdbool.h>
#include <stdint.h>

enum hf_upstream_phase {
  HF_UPSTREAM_IDLE,     /* not started, or stopped because idle: the next use starts it */
  HF_UPSTREAM_STARTING, /* connecting, spawning, probing, initializing, or waiting to try again */
  HF_UPSTREAM_READY,
  HF_UPSTREAM_DOWN,  /* the last start or session failed: `evidence`, `reason`, next try not before `retry_at` */
  HF_UPSTREAM_PARKED /* a crash loop, or a configuration that cannot work: only revive() tries again */
};

struct hf_upstream_status {
  enum hf_upstream_phase phase;
  enum hf_era era;                /* when READY */
  struct hf_str version;          /* negotiated protocol version, when READY */
  const struct hf_message *hello; /* the result of `initialize` or `server/discover`, when READY; borrowed */
  struct hf_evidence evidence;    /* when DOWN or PARKED */
  struct hf_str reason;           /* one line for people, when DOWN or PARKED: with exit code and end of stderr */
  hf_time retry_at;               /* when DOWN */
  int64_t pid;                    /* of the child, or 0 */
  uint64_t starts;                /* how often it was started */
};

/* What the owner of an upstream hears about it. */
struct hf_upstream_events {
  /* The phase, or anything else in the status, has changed. */
  void (*changed)(void *owner, const struct hf_upstream_status *status);

  /* A notification or a request of the server that belongs to no attempt, or a result that comes too late for the one
   * that it belonged to (`message` is borrowed). The owner answers a request by post(), now or later, with the server's
   * own id. */
  void (*message)(void *owner, const struct hf_message *message);
};

struct hf_attempt_ref; /* one request under way at an upstream; belongs to the upstream */

/* What the one who started a request hears about it. After done() nothing more comes and the reference is dead. */
struct hf_attempt_events {
  /* `bytes` of the request were handed to the socket or pipe so far; `complete`: all of them, with the last body byte
   * (stdio: the newline). From the first call on, the connection stands: bytes may be 0 then. */
  void (*sent)(void *ctx, size_t bytes, bool complete);

  /* The server shows that it works on this request: SSE event, progress, anything. */
  void (*life)(void *ctx);

  /* A notification (progress, log) or a server's request on this request's stream; borrowed. */
  void (*message)(void *ctx, const struct hf_message *message);

  /* The end: `response` (borrowed, kind result or error) is the server's answer, else NULL; `evidence` says which row
   * of the fault table it is (its success row for a good result). */
  void (*done)(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response);

  /* A part of a large answer came: it is still coming. May be NULL. */
  void (*part)(void *ctx);
};

struct hf_upstream_request {
  uint64_t id; /* as written in `text`; also the progress token in it */
  enum hf_method method;
  struct hf_pieces *text;         /* the whole JSON-RPC message; taken: left empty */
  struct hf_str name;             /* value for `Mcp-Name`, or absent; borrowed for the call */
  const struct hf_header *params; /* `Mcp-Param-*` headers for a modern upstream; borrowed for the call */
  size_t param_count;
  bool new_session;   /* the last session was lost: open a new one first (once for all who ask) */
  hf_time connect_by; /* give up connecting then */
  const struct hf_attempt_events *events;
  void *ctx;
};

struct hf_upstream;

struct hf_upstream_ops {
  /* Starts it, if it is IDLE, or DOWN and its backoff allows; else remembers the wish. Idempotent. */
  void (*start)(struct hf_upstream *upstream);

  /* Forgets backoff and parking, and starts. */
  void (*revive)(struct hf_upstream *upstream);

  /* Sends a request; the upstream must be READY. Returns 0 and a reference, or HF_ERR_UNAVAILABLE (nothing was sent, no
   * event will come), HF_ERR_LIMIT, HF_ERR_NOMEM. */
  int (*request)(struct hf_upstream *upstream, struct hf_upstream_request *request, struct hf_attempt_ref **ret_ref);

  /* Gives a request up: no further event. The server is told as its era and transport have it (notifications/cancelled,
   * or a closed stream), also that `reason`. A late answer is dropped. */
  void (*abort)(struct hf_upstream *upstream, struct hf_attempt_ref *ref, struct hf_str reason);

  /* Sends a notification, or the answer to a server's request. `about` is the attempt whose stream it belongs to, or
   * NULL. `text` is taken. Best effort. */
  void (*post)(struct hf_upstream *upstream, struct hf_attempt_ref *about, struct hf_pieces *text);

  /* Ends the session politely and the child for good; `free` follows at any time. */
  void (*stop)(struct hf_upstream *upstream);

  /* Ends what is left at once; no event follows. */
  void (*free)(struct hf_upstream *upstream);
};

/* The head of every implementation. */
struct hf_upstream {
  const struct hf_upstream_ops *ops;
};

struct hf_server_settings;

/* How the gateway gets one: filled by the composition root. `capabilities` is the raw JSON object that is declared to
 * the server ("{}" for a shared upstream; the client's own for one of its own). The upstream starts IDLE. Returns
 * owned. */
struct hf_upstream_factory {
  int (*open)(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
              const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream);
  void *ctx;
};

#endif
