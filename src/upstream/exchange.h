/* One HTTP exchange: a request is written once on a connection, and its response is read.
 *
 * It is never repeated here, whatever happens; how much of it was handed to the socket is known at each moment. It may
 * be read before it is written whole: servers refuse a body early. All events come from the loop. */
#ifndef HF_UPSTREAM_EXCHANGE_H
#define HF_UPSTREAM_EXCHANGE_H

#include "base/blob.h"
#include "upstream/decoder.h"
#include "upstream/pool.h"

enum { HF_REQUEST_HEAD_MAX = 128 << 10 };

struct hf_http_exchange;

/* After ended() the exchange is idle and may be freed; in the others it may be cancelled and then freed. */
struct hf_http_exchange_events {
  /* `bytes` of the request were handed over so far. */
  void (*sent)(struct hf_http_exchange *exchange, size_t bytes, bool complete);

  /* Status and headers of the response can be read. */
  void (*head)(struct hf_http_exchange *exchange);

  /* Some of the body, decoded if need be, borrowed. */
  void (*body)(struct hf_http_exchange *exchange, struct hf_str bytes);

  /* The response is complete (`evidence` NULL), or will never be: `reason` is one line for people. */
  void (*ended)(struct hf_http_exchange *exchange, const struct hf_evidence *evidence, struct hf_str reason);
};

struct hf_http_exchange {
  struct hf_pool *pool;
  const struct hf_http_exchange_events *events;
  struct hf_ticket ticket;
  struct hf_connection *connection; /* NULL while waiting, and when over */
  struct hf_buf head;               /* the request's head; small bodies are appended for TLS */
  const struct hf_pieces *body;     /* borrowed until it is over; may be NULL */
  size_t written;
  size_t total;
  enum hf_coding coding; /* of the response, once there is a head; UNKNOWN: the body comes as it is */
  size_t decoded;        /* bytes of the body in this turn of the loop */
  bool active;
  bool got_head;
  bool write_failed;
  bool eager; /* more to read than one turn may take */
};

void hf_http_exchange_init(struct hf_http_exchange *exchange, struct hf_pool *pool,
                           const struct hf_http_exchange_events *events);

/* Ends it without an event: an open connection is closed. */
void hf_http_exchange_deinit(struct hf_http_exchange *exchange);

/* Gives it up without an event, keeping the memory for another. */
void hf_http_exchange_cancel(struct hf_http_exchange *exchange);

/* Sends what stands in `head`, then `body`. To be called from the loop, for events may come at once. */
void hf_http_exchange_start(struct hf_http_exchange *exchange, const struct hf_pieces *body, hf_time connect_by,
                            bool urgent);

/* The response's, from head() until ended() is called. */
const struct hf_http1_reader *hf_http_exchange_response(const struct hf_http_exchange *exchange);

#endif
