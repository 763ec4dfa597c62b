#include "upstream/exchange.h"

#include "base/error.h"

enum {
  READ_BUDGET = 128 << 10,   /* bytes that one turn of the loop reads from one connection */
  CODED_READ = 4 << 10,      /* at once where they are compressed, */
  CODED_STEP = 128,          /* of which so few are decoded at once, for they may grow a thousandfold, */
  DECODED_BUDGET = 64 << 10, /* until this much has come of it in one turn */
  JOINED_BODY_MAX = 16 << 10,
};

void hf_http_exchange_init(struct hf_http_exchange *exchange, struct hf_pool *pool,
                           const struct hf_http_exchange_events *events) {
  *exchange = (struct hf_http_exchange){.pool = pool, .events = events};
  hf_buf_init(&exchange->head, HF_REQUEST_HEAD_MAX);
  hf_list_init(&exchange->ticket.link);
}

void hf_http_exchange_cancel(struct hf_http_exchange *exchange) {
  if (!exchange->active)
    return;
  exchange->active = false;
  hf_pool_withdraw(exchange->pool, &exchange->ticket);
  if (exchange->connection)
    hf_connection_close(exchange->connection);
  exchange->connection = NULL;
  exchange->body = NULL;
  hf_buf_reset(&exchange->head, HF_REQUEST_HEAD_MAX);
}

void hf_http_exchange_deinit(struct hf_http_exchange *exchange) {
  hf_http_exchange_cancel(exchange);
  hf_buf_deinit(&exchange->head);
}

const struct hf_http1_reader *hf_http_exchange_response(const struct hf_http_exchange *exchange) {
  return &exchange->connection->reader;
}

static void fail(struct hf_http_exchange *exchange, enum hf_evidence_kind kind, struct hf_str reason) {
  hf_http_exchange_cancel(exchange);
  exchange->events->ended(exchange, &HF_EVIDENCE(kind), reason);
}

static bool is_written(const struct hf_http_exchange *exchange) {
  return exchange->written == exchange->total;
}

/* What is left to write, as parts. */
static size_t unwritten(const struct hf_http_exchange *exchange, struct hf_str *parts) {
  struct hf_str head = hf_buf_str(&exchange->head);
  size_t skip = exchange->written;
  size_t count = 0;
  if (skip < head.len)
    parts[count++] = (struct hf_str){head.ptr + skip, head.len - skip};
  skip -= skip < head.len ? skip : head.len;
  return exchange->body ? count + hf_pieces_after(exchange->body, skip, parts + count) : count;
}

static void on_readable(void *user, struct hf_connection *connection);

static void write_some(struct hf_http_exchange *exchange) {
  struct hf_connection *connection = exchange->connection;
  struct hf_str parts[HF_WIRE_PARTS_MAX];
  size_t written = 0;
  size_t count = unwritten(exchange, parts);
  int r = hf_wire_write(&connection->wire, parts, count, &written);
  exchange->written += written;
  exchange->write_failed = r < 0 && r != HF_ERR_AGAIN;
  hf_connection_want_write(connection, r < 0);
  exchange->events->sent(exchange, exchange->written, is_written(exchange));
}

/* A write error is not the end by itself: the server may have answered before it closed, and that answer counts. */
static void on_writable(void *user, struct hf_connection *connection) {
  struct hf_http_exchange *exchange = user;
  if (exchange->write_failed) {
    on_readable(user, connection);
    if (connection->user == user)
      fail(exchange, HF_EVIDENCE_BROKE, HF_STR("the connection broke while the request was written"));
  } else if (!is_written(exchange)) {
    write_some(exchange);
  } else if (!exchange->eager) {
    hf_connection_want_write(connection, false);
  }
}

static void complete(struct hf_http_exchange *exchange) {
  struct hf_connection *connection = exchange->connection;
  const struct hf_http1_reader *reader = &connection->reader;
  bool reusable = reader->keep_alive && is_written(exchange) && !hf_connection_has_coded(connection);
  if (connection->decoder && !hf_decoder_is_done(connection->decoder)) {
    fail(exchange, HF_EVIDENCE_BROKE, HF_STR("the compressed answer was cut off"));
    return;
  }
  /* The connection goes first, so that what ended() begins may have it. */
  exchange->active = false;
  exchange->body = NULL;
  exchange->connection = NULL;
  if (reusable)
    hf_connection_release(connection, hf_http1_header(reader, HF_STR("keep-alive")));
  else
    hf_connection_close(connection);
  exchange->events->ended(exchange, NULL, (struct hf_str){NULL, 0});
}

static bool take_head(struct hf_http_exchange *exchange, struct hf_connection *connection) {
  exchange->got_head = true;
  exchange->coding = hf_coding_of(hf_http1_header(&connection->reader, HF_STR("content-encoding")));
  bool coded = exchange->coding == HF_CODING_GZIP || exchange->coding == HF_CODING_DEFLATE;
  if (coded && hf_decoder_new(exchange->coding, &connection->decoder) < 0) {
    fail(exchange, HF_EVIDENCE_BROKE, HF_STR("out of memory"));
    return false;
  }
  exchange->events->head(exchange);
  return connection->user == exchange;
}

/* Returns false when the exchange is over or was given up. */
static bool take_body(struct hf_http_exchange *exchange, struct hf_connection *connection, struct hf_str bytes) {
  if (!connection->decoder) {
    exchange->events->body(exchange, bytes);
    return connection->user == exchange;
  }
  struct hf_str piece;
  do {
    size_t used;
    int r = hf_decoder_read(connection->decoder, bytes, &used, &piece);
    if (r < 0) {
      fail(exchange, HF_EVIDENCE_BAD_REPLY, HF_STR("the compressed answer is broken"));
      return false;
    }
    exchange->decoded += piece.len;
    if (piece.len)
      exchange->events->body(exchange, piece);
    if (connection->user != exchange)
      return false;
    bytes.ptr += used;
    bytes.len -= used;
  } while (bytes.len || piece.len == HF_DECODER_PIECE);
  return true;
}

/* Returns false when the exchange has failed. */
static bool hold_coded(struct hf_http_exchange *exchange, struct hf_connection *connection, struct hf_str bytes) {
  connection->coded_at = 0;
  hf_buf_reset(&connection->coded, CODED_READ);
  if (hf_buf_append_str(&connection->coded, bytes) == 0)
    return true;
  fail(exchange, HF_EVIDENCE_BROKE, HF_STR("out of memory"));
  return false;
}

/* Works through bytes that came. Returns false when the exchange is over or was given up. */
static bool digest(struct hf_http_exchange *exchange, struct hf_connection *connection, struct hf_str bytes) {
  for (size_t at = 0;;) {
    enum hf_http1_event event;
    struct hf_str body = {NULL, 0};
    size_t used = 0;
    int r = hf_http1_read(&connection->reader, (struct hf_str){bytes.ptr + at, bytes.len - at}, &event, &body, &used);
    if (r < 0) {
      struct hf_str why = hf_str_from(hf_http1_fault_text(connection->reader.fault));
      fail(exchange, HF_EVIDENCE_BAD_REPLY, why);
      return false;
    }
    at += used;
    switch (event) {
    case HF_HTTP1_MORE:
      return true;
    case HF_HTTP1_HEAD:
      if (!take_head(exchange, connection))
        return false;
      if (connection->decoder && at < bytes.len)
        return hold_coded(exchange, connection, (struct hf_str){bytes.ptr + at, bytes.len - at});
      break;
    case HF_HTTP1_BODY:
      if (!take_body(exchange, connection, body))
        return false;
      break;
    case HF_HTTP1_END:
      if (at < bytes.len)
        connection->reader.keep_alive = false; /* bytes nobody asked for */
      complete(exchange);
      return false;
    }
  }
}

/* Works through what is held, until enough has come of it for this turn. Returns false likewise. */
static bool digest_coded(struct hf_http_exchange *exchange, struct hf_connection *connection) {
  while (hf_connection_has_coded(connection) && exchange->decoded < DECODED_BUDGET) {
    size_t left = connection->coded.len - connection->coded_at;
    struct hf_str step = {connection->coded.data + connection->coded_at, left < CODED_STEP ? left : CODED_STEP};
    connection->coded_at += step.len;
    if (!digest(exchange, connection, step))
      return false;
  }
  return true;
}

static bool take(struct hf_http_exchange *exchange, struct hf_connection *connection, struct hf_str bytes) {
  bool good = connection->decoder ? hold_coded(exchange, connection, bytes) : digest(exchange, connection, bytes);
  return good && digest_coded(exchange, connection);
}

/* What is eager comes back in the next turn, where poll() would not. */
static void set_eager(struct hf_http_exchange *exchange, struct hf_connection *connection, bool eager) {
  if (eager || exchange->eager)
    hf_connection_want_write(connection, eager || !is_written(exchange));
  exchange->eager = eager;
}

static void end_of_stream(struct hf_http_exchange *exchange, struct hf_connection *connection, bool orderly) {
  if (orderly && hf_http1_read_eof(&connection->reader) == 0) {
    complete(exchange);
    return;
  }
  if (connection->reader.got_anything)
    fail(exchange, HF_EVIDENCE_BROKE, HF_STR("the connection ended inside the response"));
  else
    fail(exchange, HF_EVIDENCE_BROKE, HF_STR("the connection ended without a response"));
}

/* How much may be read now. */
static size_t room_for(const struct hf_connection *connection, size_t budget) {
  size_t most = connection->decoder ? CODED_READ : HF_CONNECTOR_SCRATCH;
  return budget < most ? budget : most;
}

static void on_readable(void *user, struct hf_connection *connection) {
  struct hf_http_exchange *exchange = user;
  char *scratch = exchange->pool->connector->scratch;
  size_t budget = READ_BUDGET;
  exchange->decoded = 0;
  if (!digest_coded(exchange, connection))
    return;
  while (budget && !hf_connection_has_coded(connection)) {
    size_t n = 0;
    size_t max = room_for(connection, budget);
    int r = hf_wire_read(&connection->wire, scratch, max, &n);
    if (r == HF_ERR_AGAIN) {
      set_eager(exchange, connection, false);
      return;
    }
    if (r < 0) {
      end_of_stream(exchange, connection, r == HF_ERR_CLOSED);
      return;
    }
    if (!take(exchange, connection, (struct hf_str){scratch, n}))
      return;
    budget -= n;
    /* A plain socket that gave less than asked for is empty: one system call saved. */
    if (n < max && !hf_connection_hides_bytes(connection))
      break;
  }
  set_eager(exchange, connection, hf_connection_hides_bytes(connection));
}

static const struct hf_connection_events connection_events = {on_readable, on_writable};

static void begin(struct hf_http_exchange *exchange, struct hf_connection *connection) {
  exchange->connection = connection;
  hf_connection_attach(connection, &connection_events, exchange);
  /* One record on TLS for a small request; a plain socket takes the parts in one call anyway. */
  if (hf_wire_hides_bytes(&connection->wire) && exchange->body && exchange->body->len <= JOINED_BODY_MAX &&
      hf_pieces_join(exchange->body, &exchange->head) == 0)
    exchange->body = NULL;
  write_some(exchange);
}

static void on_granted(struct hf_ticket *ticket, struct hf_connection *connection) {
  begin(HF_CONTAINER_OF(ticket, struct hf_http_exchange, ticket), connection);
}

static void on_refused(struct hf_ticket *ticket, const struct hf_evidence *evidence, struct hf_str reason) {
  struct hf_http_exchange *exchange = HF_CONTAINER_OF(ticket, struct hf_http_exchange, ticket);
  hf_http_exchange_cancel(exchange);
  exchange->events->ended(exchange, evidence, reason);
}

void hf_http_exchange_start(struct hf_http_exchange *exchange, const struct hf_pieces *body, hf_time connect_by,
                            bool urgent) {
  exchange->active = true;
  exchange->got_head = false;
  exchange->coding = HF_CODING_IDENTITY;
  exchange->eager = false;
  exchange->write_failed = false;
  exchange->written = 0;
  exchange->body = body;
  exchange->total = exchange->head.len + (body ? body->len : 0);
  exchange->ticket.connect_by = connect_by;
  exchange->ticket.granted = on_granted;
  exchange->ticket.failed = on_refused;
  struct hf_connection *connection;
  int r = hf_pool_take(exchange->pool, &exchange->ticket, urgent, &connection);
  if (r == 0)
    begin(exchange, connection);
  else if (r != HF_ERR_AGAIN)
    fail(exchange, HF_EVIDENCE_LOCAL_LIMIT, HF_STR("too many requests wait for a connection"));
}
