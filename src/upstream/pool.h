/* The connections to one server: how many there may be, who waits for one, and which are fit to be used again.
 *
 * A connection's poll handle is armed for as long as it lives, so that the loop sees the end of an idle one, and a
 * stray byte on it, when they come; it is looked at once more before it is used again. Idle ones go after a few
 * seconds, well before common servers close them: a request written into a closing connection leaves open whether it
 * was executed. */
#ifndef HF_UPSTREAM_POOL_H
#define HF_UPSTREAM_POOL_H

#include "base/list.h"
#include "gateway/loop.h"
#include "upstream/connect.h"
#include "upstream/decoder.h"
#include "upstream/http1.h"
#include "upstream/wire.h"

struct hf_pool;
struct hf_connection;

struct hf_connection_events {
  /* There may be bytes to read, an end of stream, or room to write. */
  void (*readable)(void *user, struct hf_connection *connection);
  void (*writable)(void *user, struct hf_connection *connection);
};

struct hf_connection {
  struct hf_list link; /* the pool's */
  struct hf_pool *pool;
  struct hf_wire wire;
  struct hf_http1_reader reader;
  struct hf_decoder *decoder; /* of the response's body, or NULL; here, for it must outlive the handling of a piece */
  struct hf_buf coded;        /* what came of it, and waits to be decoded from coded_at on */
  size_t coded_at;
  const struct hf_connection_events *events;
  void *user; /* NULL while idle */
  hf_time idle_until;
  int armed; /* UV_READABLE, UV_WRITABLE */
  bool used; /* it has carried an exchange before */
  uv_poll_t poll;
};

/* A wish for a connection. */
struct hf_ticket {
  struct hf_list link;
  hf_time connect_by;
  bool urgent;
  void (*granted)(struct hf_ticket *ticket, struct hf_connection *connection);
  void (*failed)(struct hf_ticket *ticket, const struct hf_evidence *evidence, struct hf_str reason);
};

struct hf_pool_options {
  struct hf_connect_options connect; /* borrowed as long as the pool lives; its timeout is each ticket's own */
  uint32_t max_connections;
  uint32_t max_waiting;
};

struct hf_pool {
  struct hf_connector *connector;
  struct hf_pool_options options;
  struct hf_list idle; /* the last used first */
  struct hf_list busy;
  struct hf_list attempts;
  struct hf_list waiting;
  uint32_t idle_count;
  uint32_t busy_count;
  uint32_t attempt_count;
  uint32_t waiting_count;
  struct hf_timer timer;
  hf_time timer_at;
  struct hf_job job; /* serves those who wait: never from inside a call */
};

enum { HF_POOL_RESERVE = 2 }; /* connections beyond the limit, for what must not wait behind long calls */

/* Returns 0 or HF_ERR_NOMEM. */
int hf_pool_init(struct hf_pool *pool, struct hf_connector *connector, const struct hf_pool_options *options);

/* Closes everything; no event follows. */
void hf_pool_deinit(struct hf_pool *pool);

/* Gets a connection: at once (returns 0 and it), or by the ticket's events, later, from the loop (HF_ERR_AGAIN). An
 * `urgent` wish may use the reserve. Returns HF_ERR_LIMIT if too many wait, HF_ERR_NOMEM. */
int hf_pool_take(struct hf_pool *pool, struct hf_ticket *ticket, bool urgent, struct hf_connection **ret_connection);

/* Gives a wish up; harmless if it does not wait. */
void hf_pool_withdraw(struct hf_pool *pool, struct hf_ticket *ticket);

/* Makes `user` hear of the connection's events. */
void hf_connection_attach(struct hf_connection *connection, const struct hf_connection_events *events, void *user);

/* Gives a connection back after a complete exchange. `hint` is the value of a Keep-Alive header, or absent. */
void hf_connection_release(struct hf_connection *connection, struct hf_str hint);

/* Ends it. */
void hf_connection_close(struct hf_connection *connection);

/* True if some of a compressed body came, and is not decoded yet. */
bool hf_connection_has_coded(const struct hf_connection *connection);

/* True if there may be something to read that poll() would not announce. */
bool hf_connection_hides_bytes(const struct hf_connection *connection);

/* Also wait for room to write, or no longer. */
void hf_connection_want_write(struct hf_connection *connection, bool want);

#endif
