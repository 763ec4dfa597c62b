#include "upstream/pool.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

/* uvicorn and Node close an idle connection after 5 s, and uvicorn doesn't say so. */
#define IDLE_DEFAULT HF_MS(4000)
#define IDLE_MAX HF_SECONDS(60)
#define IDLE_MARGIN HF_SECONDS(1)

struct attempt {
  struct hf_list link;
  struct hf_pool *pool;
  struct hf_connect *connect;
};

static void on_timer(struct hf_timer *timer);
static void serve_waiting(struct hf_job *job);

int hf_pool_init(struct hf_pool *pool, struct hf_connector *connector, const struct hf_pool_options *options) {
  *pool = (struct hf_pool){.connector = connector, .options = *options, .timer_at = HF_TIME_NEVER};
  hf_list_init(&pool->idle);
  hf_list_init(&pool->busy);
  hf_list_init(&pool->attempts);
  hf_list_init(&pool->waiting);
  hf_job_init(&pool->job, serve_waiting);
  int r = hf_timer_init(connector->loop, &pool->timer, on_timer);
  if (r < 0)
    pool->connector = NULL;
  return r;
}

static void free_attempt(struct attempt *attempt) {
  hf_list_remove(&attempt->link);
  attempt->pool->attempt_count--;
  hf_free(attempt);
}

void hf_pool_deinit(struct hf_pool *pool) {
  if (!pool->connector)
    return;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &pool->waiting)
    hf_pool_withdraw(pool, HF_CONTAINER_OF(it, struct hf_ticket, link));
  HF_LIST_FOREACH (it, tmp, &pool->attempts) {
    struct attempt *attempt = HF_CONTAINER_OF(it, struct attempt, link);
    hf_connect_cancel(attempt->connect);
    free_attempt(attempt);
  }
  HF_LIST_FOREACH (it, tmp, &pool->idle)
    hf_connection_close(HF_CONTAINER_OF(it, struct hf_connection, link));
  HF_LIST_FOREACH (it, tmp, &pool->busy)
    hf_connection_close(HF_CONTAINER_OF(it, struct hf_connection, link));
  hf_job_cancel(&pool->job);
  hf_timer_deinit(pool->connector->loop, &pool->timer);
  pool->connector = NULL;
}

static void serve_later(struct hf_pool *pool) {
  if (pool->waiting_count)
    hf_job_defer(pool->connector->loop, &pool->job);
}

/* Moves the timer forward only: on time it looks at everything anyway, so that a call costs no heap operation. */
static void wake_at(struct hf_pool *pool, hf_time at) {
  if (at >= pool->timer_at)
    return;
  pool->timer_at = at;
  hf_timer_set(pool->connector->loop, &pool->timer, at);
}

static void on_closed(uv_handle_t *handle) {
  struct hf_connection *connection = handle->data;
  hf_decoder_free(connection->decoder);
  hf_buf_deinit(&connection->coded);
  hf_http1_reader_deinit(&connection->reader);
  hf_free(connection);
}

void hf_connection_close(struct hf_connection *connection) {
  struct hf_pool *pool = connection->pool;
  if (!pool)
    return;
  if (connection->user)
    pool->busy_count--;
  else
    pool->idle_count--;
  hf_list_remove(&connection->link);
  connection->user = NULL;
  connection->pool = NULL;
  uv_close((uv_handle_t *)&connection->poll, on_closed); /* before the descriptor goes */
  hf_wire_close(&connection->wire);
  serve_later(pool);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static int arm(struct hf_connection *connection, int events) {
  if (connection->armed == events)
    return 0;
  connection->armed = events;
  return uv_poll_start(&connection->poll, events, on_poll) < 0 ? HF_ERR_IO : 0;
}

static void on_poll(uv_poll_t *poll, int status, int events) {
  struct hf_connection *connection = HF_CONTAINER_OF(poll, struct hf_connection, poll);
  struct hf_pool *pool = connection->pool;
  if (!pool)
    return;
  hf_loop_advance(pool->connector->loop, hf_clock_now(), hf_clock_wall_ms());
  if (!connection->user) {
    char stray;
    size_t n;
    if (status < 0 || hf_wire_read(&connection->wire, &stray, 1, &n) != HF_ERR_AGAIN)
      hf_connection_close(connection);
    return;
  }
  if (status < 0)
    connection->armed = 0; /* libuv stops watching when the socket has an error; what came before it can be read */
  void *user = connection->user;
  if (events & UV_WRITABLE)
    connection->events->writable(user, connection);
  if (connection->user == user && (events != UV_WRITABLE || status < 0 || hf_connection_hides_bytes(connection)))
    connection->events->readable(user, connection);
  if (connection->pool && connection->armed == 0)
    (void)arm(connection, UV_READABLE);
}

bool hf_connection_has_coded(const struct hf_connection *connection) {
  return connection->coded_at < connection->coded.len;
}

bool hf_connection_hides_bytes(const struct hf_connection *connection) {
  return hf_connection_has_coded(connection) || hf_wire_hides_bytes(&connection->wire);
}

void hf_connection_want_write(struct hf_connection *connection, bool want) {
  if (arm(connection, want ? UV_READABLE | UV_WRITABLE : UV_READABLE) < 0)
    connection->armed = 0;
}

void hf_connection_attach(struct hf_connection *connection, const struct hf_connection_events *events, void *user) {
  connection->events = events;
  connection->user = user;
}

/* Placeholder owner of a connection between its being taken and its being attached. */
static void take(struct hf_connection *connection) {
  struct hf_pool *pool = connection->pool;
  hf_list_remove(&connection->link);
  pool->idle_count--;
  hf_list_push_back(&pool->busy, &connection->link);
  pool->busy_count++;
  connection->user = pool;
  hf_http1_reader_reset(&connection->reader);
}

/* An idle connection must have nothing to read: neither an end of stream nor bytes nobody asked for. */
static bool is_fit(struct hf_connection *connection) {
  char stray;
  size_t n;
  return hf_wire_read(&connection->wire, &stray, 1, &n) == HF_ERR_AGAIN;
}

/* An idle connection from the reserve is no way around the limit. */
static struct hf_connection *take_idle(struct hf_pool *pool, bool urgent) {
  if (!urgent && pool->busy_count >= pool->options.max_connections)
    return NULL;
  while (!hf_list_empty(&pool->idle)) {
    struct hf_connection *connection = HF_CONTAINER_OF(pool->idle.next, struct hf_connection, link);
    if (pool->connector->loop->now < connection->idle_until && is_fit(connection)) {
      take(connection);
      return connection;
    }
    hf_connection_close(connection);
  }
  return NULL;
}

static struct hf_connection *new_connection(struct hf_pool *pool, struct hf_wire *wire) {
  struct hf_connection *connection = hf_calloc(1, sizeof *connection);
  if (!connection)
    return NULL;
  if (uv_poll_init_socket(pool->connector->uv, &connection->poll, wire->fd) < 0) {
    hf_free(connection);
    return NULL;
  }
  connection->poll.data = connection;
  connection->pool = pool;
  connection->wire = *wire;
  connection->idle_until = hf_time_add(pool->connector->loop->now, IDLE_DEFAULT);
  hf_http1_reader_init(&connection->reader);
  hf_buf_init(&connection->coded, HF_CONNECTOR_SCRATCH);
  hf_list_push_front(&pool->idle, &connection->link);
  pool->idle_count++;
  wake_at(pool, connection->idle_until);
  if (arm(connection, UV_READABLE) == 0)
    return connection;
  *wire = (struct hf_wire){.fd = -1};
  hf_connection_close(connection);
  return NULL;
}

static struct hf_ticket *first_waiting(struct hf_pool *pool) {
  if (hf_list_empty(&pool->waiting))
    return NULL;
  return HF_CONTAINER_OF(pool->waiting.next, struct hf_ticket, link);
}

void hf_pool_withdraw(struct hf_pool *pool, struct hf_ticket *ticket) {
  if (!ticket->link.next || hf_list_empty(&ticket->link))
    return;
  hf_list_remove(&ticket->link);
  pool->waiting_count--;
}

static void fail_first(struct hf_pool *pool, const struct hf_evidence *evidence, struct hf_str reason) {
  struct hf_ticket *ticket = first_waiting(pool);
  if (!ticket)
    return;
  hf_pool_withdraw(pool, ticket);
  ticket->failed(ticket, evidence, reason);
}

static void on_connected(void *ctx, struct hf_wire *wire) {
  struct attempt *attempt = ctx;
  struct hf_pool *pool = attempt->pool;
  free_attempt(attempt);
  if (!new_connection(pool, wire)) {
    hf_wire_close(wire);
    fail_first(pool, &HF_EVIDENCE(HF_EVIDENCE_LOCAL_LIMIT), HF_STR("out of memory"));
    return;
  }
  serve_later(pool);
}

/* The first who waits hears of it, unless there still is an attempt for everyone who waits. */
static void on_failed(void *ctx, const struct hf_evidence *evidence, struct hf_str reason) {
  struct attempt *attempt = ctx;
  struct hf_pool *pool = attempt->pool;
  free_attempt(attempt);
  serve_later(pool);
  if (pool->attempt_count < pool->waiting_count)
    fail_first(pool, evidence, reason);
}

static int start_attempt(struct hf_pool *pool, hf_time connect_by) {
  static const struct hf_connect_events events = {on_connected, on_failed};
  struct attempt *attempt = hf_calloc(1, sizeof *attempt);
  if (!attempt)
    return HF_ERR_NOMEM;
  attempt->pool = pool;
  struct hf_connect_options options = pool->options.connect;
  options.timeout = connect_by - pool->connector->loop->now;
  int r = hf_connect_start(pool->connector, &options, &events, attempt, &attempt->connect);
  if (r < 0) {
    hf_free(attempt);
    return r;
  }
  hf_list_push_back(&pool->attempts, &attempt->link);
  pool->attempt_count++;
  return 0;
}

/* One attempt for each who waits, as far as the limit allows. */
static int start_attempts(struct hf_pool *pool, uint32_t limit, hf_time connect_by) {
  while (pool->attempt_count < pool->waiting_count &&
         pool->idle_count + pool->busy_count + pool->attempt_count < limit) {
    int r = start_attempt(pool, connect_by);
    if (r < 0)
      return r;
  }
  return 0;
}

/* Gives an idle connection to the first who waits, or opens more. The pool may be gone when a ticket was served. */
static void serve_waiting(struct hf_job *job) {
  struct hf_pool *pool = HF_CONTAINER_OF(job, struct hf_pool, job);
  struct hf_ticket *ticket = first_waiting(pool);
  if (!ticket)
    return;
  struct hf_connection *connection = take_idle(pool, ticket->urgent);
  if (!connection) {
    (void)start_attempts(pool, pool->options.max_connections, ticket->connect_by);
    return;
  }
  hf_pool_withdraw(pool, ticket);
  serve_later(pool);
  ticket->granted(ticket, connection);
}

int hf_pool_take(struct hf_pool *pool, struct hf_ticket *ticket, bool urgent, struct hf_connection **ret_connection) {
  hf_list_init(&ticket->link);
  ticket->urgent = urgent;
  struct hf_connection *connection = pool->waiting_count && !urgent ? NULL : take_idle(pool, urgent);
  if (connection) {
    *ret_connection = connection;
    return 0;
  }
  if (pool->waiting_count >= pool->options.max_waiting)
    return HF_ERR_LIMIT;
  if (urgent)
    hf_list_push_front(&pool->waiting, &ticket->link);
  else
    hf_list_push_back(&pool->waiting, &ticket->link);
  pool->waiting_count++;
  uint32_t limit = pool->options.max_connections + (urgent ? HF_POOL_RESERVE : 0);
  int r = start_attempts(pool, limit, ticket->connect_by);
  if (r < 0 && pool->attempt_count == 0 && pool->busy_count == 0) {
    hf_pool_withdraw(pool, ticket);
    return r;
  }
  wake_at(pool, ticket->connect_by);
  return HF_ERR_AGAIN;
}

/* "timeout=5, max=100" */
static hf_time hinted_idle(struct hf_str hint) {
  while (hint.len) {
    const char *comma = memchr(hint.ptr, ',', hint.len);
    size_t n = comma ? (size_t)(comma - hint.ptr) : hint.len;
    struct hf_str item = hf_str_trim((struct hf_str){hint.ptr, n});
    unsigned long long seconds;
    if (item.len > 8 && hf_str_equal_nocase((struct hf_str){item.ptr, 8}, HF_STR("timeout=")) &&
        hf_str_to_u64((struct hf_str){item.ptr + 8, item.len - 8}, 86400, &seconds) == 0)
      return hf_time_min(HF_SECONDS(seconds), IDLE_MAX) - IDLE_MARGIN;
    size_t step = comma ? n + 1 : n;
    hint.ptr += step;
    hint.len -= step;
  }
  return IDLE_DEFAULT;
}

void hf_connection_release(struct hf_connection *connection, struct hf_str hint) {
  struct hf_pool *pool = connection->pool;
  hf_time idle = hinted_idle(hint);
  if (idle <= 0 || arm(connection, UV_READABLE) < 0) {
    hf_connection_close(connection);
    return;
  }
  hf_list_remove(&connection->link);
  pool->busy_count--;
  connection->user = NULL;
  connection->used = true;
  hf_decoder_free(connection->decoder);
  connection->decoder = NULL;
  connection->coded_at = 0;
  hf_buf_reset(&connection->coded, 0);
  connection->idle_until = hf_time_add(pool->connector->loop->now, idle);
  hf_list_push_front(&pool->idle, &connection->link);
  pool->idle_count++;
  wake_at(pool, connection->idle_until);
  serve_later(pool);
}

static hf_time close_expired(struct hf_pool *pool, hf_time now) {
  hf_time next = HF_TIME_NEVER;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &pool->idle) {
    struct hf_connection *connection = HF_CONTAINER_OF(it, struct hf_connection, link);
    if (connection->idle_until <= now)
      hf_connection_close(connection);
    else
      next = hf_time_min(next, connection->idle_until);
  }
  return next;
}

/* One expired wish at a time: its report may end the pool, or withdraw others. */
static void on_timer(struct hf_timer *timer) {
  struct hf_pool *pool = HF_CONTAINER_OF(timer, struct hf_pool, timer);
  hf_time now = pool->connector->loop->now;
  hf_time next = close_expired(pool, now);
  struct hf_ticket *expired = NULL;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &pool->waiting) {
    struct hf_ticket *ticket = HF_CONTAINER_OF(it, struct hf_ticket, link);
    if (ticket->connect_by <= now && !expired)
      expired = ticket;
    else
      next = hf_time_min(next, ticket->connect_by);
  }
  pool->timer_at = HF_TIME_NEVER;
  wake_at(pool, hf_time_max(next, now));
  if (!expired)
    return;
  hf_pool_withdraw(pool, expired);
  if (pool->attempt_count)
    expired->failed(expired, &HF_EVIDENCE(HF_EVIDENCE_CONNECT_TIMEOUT), HF_STR("no connection in time"));
  else
    expired->failed(expired, &HF_EVIDENCE(HF_EVIDENCE_LOCAL_LIMIT), HF_STR("no free connection in time"));
}
