/* What a transport (stdio.c, http.c) offers to upstream.c, and what it reports.
 *
 * A transport moves messages and knows what was handed over; it knows nothing of handshakes, ids or restarts. Reports
 * never come from inside the call that causes them. */
#ifndef HF_UPSTREAM_TRANSPORT_H
#define HF_UPSTREAM_TRANSPORT_H

#include "base/blob.h"
#include "base/list.h"
#include "gateway/upstream.h"
#include "policy/classify.h"

struct hf_transport;

/* One message on its way out and, for a request, its answer on the way in. Made by upstream.c, linked by the transport
 * until it is over: by done() for a request, by handed() for anything else, or by abort(). */
struct hf_outgoing {
  struct hf_list link;  /* the transport's */
  void *transport_data; /* the transport's */
  bool is_request;
  uint64_t id;           /* of a request */
  enum hf_method method; /* UNKNOWN for the answer to a server request, and for methods not in the table */
  struct hf_pieces text; /* without the newline */
  struct hf_str name;    /* `Mcp-Name`, or absent; owned by upstream.c until it is over */
  const struct hf_header *params;
  size_t param_count;
  hf_time connect_by;

  /* The transport's to set. */
  size_t handed;             /* bytes handed over so far; known before sent() tells it */
  struct hf_evidence answer; /* set before message() or done(): http_status, retry_after, carried_session,
                                listed_unexecuted, and says_session_lost of a body that is no message */
};

struct hf_transport_events {
  /* The child runs, or there is nothing to open: messages may be sent. */
  void (*opened)(void *owner);

  /* The transport is gone: everything under way is over without done(). `reason` is for people. */
  void (*closed)(void *owner, const struct hf_evidence *evidence, struct hf_str reason);

  /* See hf_attempt_events.sent. */
  void (*sent)(void *owner, struct hf_outgoing *out, size_t bytes, bool complete);

  /* Something came on the stream of `out` that is no message yet: an SSE event, a comment doesn't count. */
  void (*life)(void *owner, struct hf_outgoing *out);

  /* A message arrived; borrowed. `out`: the request on whose HTTP response it came, or NULL (stdio, the GET stream). It
   * may be that request's answer: upstream.c decides by id. */
  void (*message)(void *owner, struct hf_outgoing *out, const struct hf_message *message);

  /* `out` is over: for a request without its answer (`evidence`), for anything else when it was written or failed. When
   * the answer was delivered by message(), done() still follows, unless abort() comes first. */
  void (*done)(void *owner, struct hf_outgoing *out, const struct hf_evidence *evidence);

  /* A part of a JSON answer to `out` came: a large one shows that it is still coming. So does a comment on a stream
   * that has shown life before. May be NULL. */
  void (*part)(void *owner, struct hf_outgoing *out);
};

struct hf_transport_ops {
  /* opened() or closed() follows; after closed() it may be opened again. */
  void (*open)(struct hf_transport *transport);

  /* Returns 0 (reports follow), HF_ERR_CLOSED, HF_ERR_LIMIT (queue full), HF_ERR_NOMEM. */
  int (*send)(struct hf_transport *transport, struct hf_outgoing *out);

  /* Lets go of `out`, with no further report on it; HTTP closes its stream. */
  void (*abort)(struct hf_transport *transport, struct hf_outgoing *out);

  /* The handshake is done: from here on headers follow the era, and a legacy HTTP transport opens its GET stream. */
  void (*settle)(struct hf_transport *transport, enum hf_era era, struct hf_str version);

  /* Forgets the session (HTTP) so that the next `initialize` gets a new one. */
  void (*forget_session)(struct hf_transport *transport);

  /* Ends it: HTTP deletes its session; a child gets its stdin closed, then SIGTERM, then SIGKILL to its group. closed()
   * follows, unless free() comes first. */
  void (*close)(struct hf_transport *transport);

  void (*free)(struct hf_transport *transport);

  int64_t (*pid)(const struct hf_transport *transport); /* 0 where there is no child */
};

struct hf_transport {
  const struct hf_transport_ops *ops;
  const struct hf_transport_events *events;
  void *owner;
};

#endif
