/* The HTTP transport against a server whose every byte is scripted, on the same loop. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "daemon/loop.h"
#include "gateway/settings.h"
#include "upstream/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmocka.h>

enum { REQUESTS_MAX = 32, MESSAGES_MAX = 16, PATIENCE_MS = 5000, TICK_MS = 5 };

enum then { KEEP, CLOSE, RESET, NO_ACCEPT };

/* What the server does about the nth request, whatever connection it comes on. */
struct row {
  const char *reply; /* NULL: nothing */
  enum then then;
  size_t len; /* of a reply with NULs or a big one; 0: strlen */
  bool byte_by_byte;
};

struct server;

/* The server has memory of its own: it goes on when ours fails. */
struct text {
  char *data;
  size_t len;
};

struct peer {
  uv_tcp_t tcp;
  struct server *server;
  struct text in;
  bool closed;
};

struct server {
  uv_tcp_t tcp;
  int port;
  const struct row *rows;
  size_t row_count;
  size_t executed; /* requests that came whole */
  size_t connections;
  size_t ended; /* connections that the client closed */
  struct text request[REQUESTS_MAX];
  struct peer *peers[REQUESTS_MAX];
};

struct seen {
  struct hf_outgoing *out;
  size_t bytes;
  bool complete;
  unsigned lives;
  unsigned dones;
  unsigned messages;
  char message[MESSAGES_MAX][512];
  size_t message_len[MESSAGES_MAX];
  struct hf_evidence evidence;
};

struct bench {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  struct hf_connector connector;
  struct hf_transport *transport;
  struct server server;
  struct seen a; /* the first outgoing message */
  struct seen b;
  struct seen stream;  /* what belongs to no request */
  unsigned most_lives; /* of the first one, in one turn of the loop */
  struct hf_outgoing out_a;
  struct hf_outgoing out_b;
  bool opened;
  unsigned closed;
  struct hf_evidence why_closed;
  char reason[200];
  bool abort_on_message;
  bool free_on_message;
};

static void text_append(struct text *text, const char *bytes, size_t len) {
  text->data = realloc(text->data, text->len + len);
  memcpy(text->data + text->len, bytes, len);
  text->len += len;
}

static void on_free(uv_handle_t *handle) {
  free(handle->data);
}

static void peer_close(struct peer *peer) {
  if (peer->closed)
    return;
  peer->closed = true;
  for (size_t i = 0; i < REQUESTS_MAX; i++)
    if (peer->server->peers[i] == peer)
      peer->server->peers[i] = NULL;
  free(peer->in.data);
  peer->tcp.data = peer;
  uv_close((uv_handle_t *)&peer->tcp, on_free);
}

struct write {
  uv_write_t request;
  struct peer *peer;
  bool close;
};

static void on_written(uv_write_t *request, int status) {
  (void)status;
  struct write *write = (struct write *)request;
  if (write->close && status == 0)
    peer_close(write->peer);
  free(write);
}

static void peer_write(struct peer *peer, const char *bytes, size_t len, bool close) {
  struct write *write = calloc(1, sizeof *write);
  write->peer = peer;
  write->close = close;
  uv_buf_t buf = uv_buf_init((char *)(size_t)bytes, (unsigned)len);
  uv_write(&write->request, (uv_stream_t *)&peer->tcp, &buf, 1, on_written);
}

static void peer_reset(struct peer *peer) {
  uv_os_fd_t fd;
  uv_fileno((uv_handle_t *)&peer->tcp, &fd);
  struct linger hard = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  peer_close(peer);
}

static void peer_play(struct peer *peer, const struct row *row) {
  size_t len = row->reply ? row->len ? row->len : strlen(row->reply) : 0;
  for (size_t i = 0; row->byte_by_byte && i + 1 < len; i++)
    peer_write(peer, row->reply + i, 1, false);
  if (len && row->byte_by_byte)
    peer_write(peer, row->reply + len - 1, 1, row->then == CLOSE);
  else if (len)
    peer_write(peer, row->reply, len, row->then == CLOSE);
  else if (row->then == CLOSE)
    peer_close(peer);
  if (row->then == RESET)
    peer_reset(peer);
}

/* Length of the first whole request in `in`, or 0. */
static size_t request_length(const struct text *in) {
  const char *end = in->len ? memmem(in->data, in->len, "\r\n\r\n", 4) : NULL;
  if (!end)
    return 0;
  size_t head = (size_t)(end - in->data) + 4;
  const char *length = memmem(in->data, head, "Content-Length: ", 16);
  size_t total = head + (length ? strtoul(length + 16, NULL, 10) : 0);
  return total <= in->len ? total : 0;
}

static void on_peer_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
  (void)handle;
  *buf = uv_buf_init(malloc(size), (unsigned)size);
}

static void on_peer_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
  struct peer *peer = (struct peer *)stream;
  struct server *server = peer->server;
  if (n > 0)
    text_append(&peer->in, buf->base, (size_t)n);
  free(buf->base);
  if (n < 0) {
    server->ended++;
    peer_close(peer);
    return;
  }
  size_t len;
  while (!peer->closed && (len = request_length(&peer->in))) {
    size_t i = server->executed++;
    assert_true(i < REQUESTS_MAX);
    text_append(&server->request[i], peer->in.data, len);
    text_append(&server->request[i], "", 1);
    peer->in.len -= len;
    memmove(peer->in.data, peer->in.data + len, peer->in.len);
    server->peers[i] = peer;
    if (i < server->row_count)
      peer_play(peer, &server->rows[i]);
  }
}

static void on_connection(uv_stream_t *stream, int status) {
  struct server *server = (struct server *)stream;
  assert_int_equal(status, 0);
  struct peer *peer = calloc(1, sizeof *peer);
  peer->server = server;
  uv_tcp_init(stream->loop, &peer->tcp);
  uv_accept(stream, (uv_stream_t *)&peer->tcp);
  uv_tcp_nodelay(&peer->tcp, 1);
  uv_read_start((uv_stream_t *)&peer->tcp, on_peer_alloc, on_peer_read);
  server->connections++;
}

static struct seen *seen_of(struct bench *bench, struct hf_outgoing *out) {
  if (!out)
    return &bench->stream;
  return out == &bench->out_a ? &bench->a : &bench->b;
}

static void on_opened(void *owner) {
  ((struct bench *)owner)->opened = true;
}

static void on_closed(void *owner, const struct hf_evidence *evidence, struct hf_str reason) {
  struct bench *bench = owner;
  bench->closed++;
  bench->why_closed = *evidence;
  snprintf(bench->reason, sizeof bench->reason, "%.*s", HF_STR_FMT(reason));
}

static void on_sent(void *owner, struct hf_outgoing *out, size_t bytes, bool complete) {
  struct seen *seen = seen_of(owner, out);
  assert_true(bytes >= seen->bytes);
  assert_int_equal(out->handed, bytes);
  seen->bytes = bytes;
  seen->complete = complete;
}

static void on_life(void *owner, struct hf_outgoing *out) {
  seen_of(owner, out)->lives++;
}

static void on_message(void *owner, struct hf_outgoing *out, const struct hf_message *message) {
  struct bench *bench = owner;
  struct seen *seen = seen_of(bench, out);
  assert_int_equal(seen->dones, 0);
  struct hf_str text = hf_blob_str(message->blob);
  size_t i = seen->messages++;
  assert_true(i < MESSAGES_MAX);
  seen->message_len[i] = text.len;
  snprintf(seen->message[i], sizeof seen->message[i], "%.*s", text.len < 500 ? (int)text.len : 500, text.ptr);
  if (bench->abort_on_message)
    bench->transport->ops->abort(bench->transport, out);
  if (bench->free_on_message) {
    bench->transport->ops->free(bench->transport);
    bench->transport = NULL;
  }
}

static void on_done(void *owner, struct hf_outgoing *out, const struct hf_evidence *evidence) {
  struct seen *seen = seen_of(owner, out);
  seen->dones++;
  seen->evidence = *evidence;
  hf_pieces_deinit(&out->text);
}

static const struct hf_transport_events events = {on_opened, on_closed, on_sent, on_life, on_message, on_done};

static void server_start(struct server *server, uv_loop_t *uv, const struct row *rows, size_t row_count) {
  *server = (struct server){.rows = rows, .row_count = row_count};
  struct sockaddr_in address;
  uv_ip4_addr("127.0.0.1", 0, &address);
  uv_tcp_init(uv, &server->tcp);
  uv_tcp_bind(&server->tcp, (struct sockaddr *)&address, 0);
  assert_int_equal(uv_listen((uv_stream_t *)&server->tcp, 16, on_connection), 0);
  int len = sizeof address;
  uv_tcp_getsockname(&server->tcp, (struct sockaddr *)&address, &len);
  server->port = ntohs(address.sin_port);
}

static struct bench *bench_new(const struct row *rows, size_t row_count) {
  struct bench *bench = calloc(1, sizeof *bench);
  uv_loop_init(&bench->uv);
  hf_loop_init(&bench->loop, 1, NULL);
  hf_loop_driver_init(&bench->driver, &bench->uv, &bench->loop);
  assert_int_equal(hf_connector_init(&bench->connector, &bench->uv, &bench->loop), 0);
  server_start(&bench->server, &bench->uv, rows, row_count);
  return bench;
}

static struct hf_server_settings settings_for(char *url, size_t size, int port) {
  snprintf(url, size, "http://127.0.0.1:%d/mcp?x=1", port);
  return (struct hf_server_settings){.name = HF_STR("test"),
                                     .url = hf_str_from(url),
                                     .tls_verify = true,
                                     .max_connections = 2,
                                     .max_message = 32 << 20};
}

static void bench_open(struct bench *bench, enum hf_instance_mode instance) {
  char url[80];
  struct hf_server_settings settings = settings_for(url, sizeof url, bench->server.port);
  settings.instance = instance;
  struct hf_error err;
  assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &events, bench, &bench->transport, &err), 0);
}

static struct bench *bench_of(const struct row *rows, size_t row_count) {
  struct bench *bench = bench_new(rows, row_count);
  bench_open(bench, HF_INSTANCE_SHARED);
  return bench;
}
#define BENCH(rows) bench_of((rows), sizeof(rows) / sizeof *(rows))

static void on_walk(uv_handle_t *handle, void *arg) {
  struct bench *bench = arg;
  if (uv_is_closing(handle) || handle == (uv_handle_t *)&bench->server.tcp)
    return;
  if (handle->type == UV_TCP)
    peer_close((struct peer *)handle);
}

static void bench_free(struct bench *bench) {
  if (bench->transport)
    bench->transport->ops->free(bench->transport);
  hf_pieces_deinit(&bench->out_a.text);
  hf_pieces_deinit(&bench->out_b.text);
  uv_walk(&bench->uv, on_walk, bench);
  uv_close((uv_handle_t *)&bench->server.tcp, NULL);
  hf_loop_driver_close(&bench->driver);
  for (int i = 0; i < 1000 && uv_run(&bench->uv, UV_RUN_NOWAIT); i++)
    ;
  assert_int_equal(uv_loop_close(&bench->uv), 0);
  hf_connector_deinit(&bench->connector);
  assert_int_equal(bench->loop.timer_count, 0);
  hf_loop_deinit(&bench->loop);
  for (size_t i = 0; i < REQUESTS_MAX; i++)
    free(bench->server.request[i].data);
  free(bench);
}

static void on_patience(uv_timer_t *timer) {
  *(bool *)timer->data = true;
}

static void on_tick(uv_timer_t *timer) {
  ++*(unsigned *)timer->data;
}

/* Runs the loop until *flag is not 0, and fails the test when that takes too long. The flag may also be set in a turn
 * that then waits for nothing: hence the ticks. */
static void run_until(struct bench *bench, const unsigned *flag) {
  unsigned ticks = 0;
  uv_timer_t tick;
  uv_timer_init(&bench->uv, &tick);
  tick.data = &ticks;
  uv_timer_start(&tick, on_tick, TICK_MS, TICK_MS);
  while (!*flag && ticks < PATIENCE_MS / TICK_MS) {
    unsigned before = bench->a.lives;
    uv_run(&bench->uv, UV_RUN_ONCE);
    if (bench->a.lives - before > bench->most_lives)
      bench->most_lives = bench->a.lives - before;
  }
  uv_close((uv_handle_t *)&tick, NULL);
  uv_run(&bench->uv, UV_RUN_NOWAIT);
  assert_int_not_equal(*flag, 0);
}

static void run_for(struct bench *bench, uint64_t ms) {
  bool over = false;
  uv_timer_t patience;
  uv_timer_init(&bench->uv, &patience);
  patience.data = &over;
  uv_timer_start(&patience, on_patience, ms, 1); /* again: it may fire in a turn that then waits for I/O */
  while (!over)
    uv_run(&bench->uv, UV_RUN_ONCE);
  uv_close((uv_handle_t *)&patience, NULL);
  uv_run(&bench->uv, UV_RUN_NOWAIT);
}

static void send_text(struct bench *bench, struct hf_outgoing *out, uint64_t id, enum hf_method method,
                      struct hf_str text) {
  *seen_of(bench, out) = (struct seen){.out = out};
  *out = (struct hf_outgoing){
      .is_request = id != 0, .id = id, .method = method, .connect_by = hf_clock_now() + HF_SECONDS(2)};
  assert_int_equal(hf_pieces_add_copy(&out->text, text), 0);
  assert_int_equal(bench->transport->ops->send(bench->transport, out), 0);
}

static void send_call(struct bench *bench, struct hf_outgoing *out, uint64_t id) {
  char text[160];
  int n = snprintf(text, sizeof text,
                   "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}", (int)id);
  send_text(bench, out, id, HF_METHOD_TOOLS_CALL, (struct hf_str){text, (size_t)n});
}

/* Sends request 7 and runs until it is over. */
static void call(struct bench *bench) {
  send_call(bench, &bench->out_a, 7);
  run_until(bench, &bench->a.dones);
}

#define RESULT_7 "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"
#define JSON_7 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n" RESULT_7
#define SSE_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

static bool request_has(const struct bench *bench, size_t i, const char *what) {
  return i < bench->server.executed && strstr(bench->server.request[i].data, what) != NULL;
}

static void http__delivers_a_json_answer(void **state) {
  (void)state;
  const struct row rows[] = {{JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(bench->a.evidence.http_status, 200);
  assert_int_equal(bench->a.messages, 1);
  assert_string_equal(bench->a.message[0], RESULT_7);
  assert_true(bench->a.complete);
  assert_int_equal(bench->a.bytes, bench->server.request[0].len - 1);
  assert_true(request_has(bench, 0, "POST /mcp?x=1 HTTP/1.1\r\n"));
  assert_true(request_has(bench, 0, "Accept: application/json, text/event-stream\r\n"));
  assert_true(request_has(bench, 0, "\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\""));
  bench_free(bench);
}

static void http__reads_answers_that_come_byte_by_byte(void **state) {
  (void)state;
  const struct row rows[] = {
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
       "Transfer-Encoding: chunked\r\n\r\n10;x=y\r\n{\"jsonrpc\":\"2.0\"\r\n14\r\n,\"id\":7,\"result\":{}}\r\n0\r\nT: "
       "1\r\n\r\n",
       KEEP, 0, true},
      {JSON_7, KEEP},
  };
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_string_equal(bench->a.message[0], RESULT_7);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(bench->server.connections, 1);
  bench_free(bench);
}

static void http__reuses_a_connection(void **state) {
  (void)state;
  const struct row rows[] = {{JSON_7, KEEP}, {JSON_7, KEEP}, {JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  for (int i = 0; i < 3; i++) {
    call(bench);
    assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  }
  assert_int_equal(bench->server.executed, 3);
  assert_int_equal(bench->server.connections, 1);
  bench_free(bench);
}

static void http__never_repeats_on_a_warm_connection_that_closes_silently(void **state) {
  (void)state;
  const struct row rows[] = {{JSON_7, KEEP}, {NULL, CLOSE}, {JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  call(bench);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_BROKE);
  assert_true(bench->a.complete);
  assert_int_equal(bench->a.messages, 0);
  assert_int_equal(bench->server.executed, 2);
  run_for(bench, 50);
  assert_int_equal(bench->server.executed, 2);
  bench_free(bench);
}

static void http__reports_a_reset_after_the_request(void **state) {
  (void)state;
  const struct row rows[] = {{NULL, RESET}};
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_BROKE);
  assert_true(bench->a.complete);
  assert_int_equal(bench->server.executed, 1);
  bench_free(bench);
}

static void http__leaves_an_idle_connection_that_was_closed(void **state) {
  (void)state;
  const struct row rows[] = {{JSON_7, CLOSE}, {JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  call(bench);
  run_for(bench, 20);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(bench->server.connections, 2);
  bench_free(bench);
}

static void http__drops_a_connection_with_stray_bytes(void **state) {
  (void)state;
  const struct row rows[] = {{JSON_7 "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", KEEP}, {JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_string_equal(bench->a.message[0], RESULT_7);
  call(bench);
  assert_string_equal(bench->a.message[0], RESULT_7);
  assert_int_equal(bench->server.connections, 2);
  bench_free(bench);
}

static void http__reports_a_refused_connection(void **state) {
  (void)state;
  struct bench *bench = bench_new(NULL, 0);
  bench->server.port = 1;
  bench_open(bench, HF_INSTANCE_SHARED);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_CONNECT_REFUSED);
  assert_false(bench->a.complete);
  bench_free(bench);
}

struct status_case {
  const char *reply;
  enum hf_evidence_kind kind;
  int status;
  int code;
  hf_time retry_after;
  bool lost;
  unsigned messages;
};

static void http__tells_statuses_and_bad_replies_apart(void **state) {
  (void)state;
  static const struct status_case cases[] = {
      {"HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n", HF_EVIDENCE_HTTP_STATUS, 503, 0,
       HF_SECONDS(3), 0, 0},
      {"HTTP/1.1 429 Slow\r\nContent-Length: 5\r\n\r\nlater", HF_EVIDENCE_HTTP_STATUS, 429, 0, -1, 0, 0},
      {"HTTP/1.1 404 Gone\r\nContent-Length: 17\r\n\r\nSession not found", HF_EVIDENCE_HTTP_STATUS, 404, 0, -1, true,
       0},
      {"HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\nContent-Length: 94\r\n\r\n"
       "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"Bad Request: No valid session ID\"}}",
       HF_EVIDENCE_HTTP_STATUS, 400, 0, -1, false, 0},
      {"HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\nContent-Length: 68\r\n\r\n"
       "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32022,\"message\":\"version\"}}",
       HF_EVIDENCE_HTTP_STATUS, 400, -32022, -1, false, 1},
      {"HTTP/1.1 500 Oops\r\nContent-Length: 500\r\n\r\ncut", HF_EVIDENCE_HTTP_STATUS, 500, 0, -1, false, 0},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", HF_EVIDENCE_BAD_REPLY, 200, 0,
       -1, 0, 0},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{\"a\":", HF_EVIDENCE_BAD_REPLY,
       200, 0, -1, 0, 0},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"a\":", HF_EVIDENCE_BROKE, 200,
       0, -1, 0, 0},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n"
       "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}",
       HF_EVIDENCE_BAD_REPLY, 200, 0, -1, 0, 1},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: br\r\nContent-Length: "
       "2\r\n\r\n\x0b\x02",
       HF_EVIDENCE_BAD_REPLY, 200, 0, -1, 0, 0},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: "
       "2\r\n\r\n\x1f\x8b",
       HF_EVIDENCE_BROKE, 200, 0, -1, 0, 0},
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: "
       "2\r\n\r\n{}",
       HF_EVIDENCE_BAD_REPLY, 200, 0, -1, 0, 0},
      {"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", HF_EVIDENCE_BAD_REPLY, 202, 0, -1, 0, 0},
      {"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", HF_EVIDENCE_HTTP_STATUS, 302, 0, -1, 0, 0},
      {"HTTP/1.1 307 There\r\nLocation: http://elsewhere.test/x\r\nContent-Length: 0\r\n\r\n", HF_EVIDENCE_HTTP_STATUS,
       307, 0, -1, 0, 0},
      {"HTTP/1.1 101 Switch\r\n\r\n", HF_EVIDENCE_BAD_REPLY, 0, 0, -1, 0, 0},
      {"SSH-2.0-OpenSSH\r\n", HF_EVIDENCE_BAD_REPLY, 0, 0, -1, 0, 0},
      {SSE_HEAD "id: 1\ndata:\n\n", HF_EVIDENCE_BROKE, 200, 0, -1, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct row rows[] = {{cases[i].reply, CLOSE}};
    struct bench *bench = BENCH(rows);
    bench->transport->ops->settle(bench->transport, HF_ERA_MODERN, HF_STR("2026-07-28"));
    call(bench);
    assert_int_equal(bench->a.evidence.kind, cases[i].kind);
    assert_int_equal(bench->a.evidence.http_status, cases[i].status);
    if (cases[i].code)
      assert_int_equal(bench->a.evidence.jsonrpc_code, cases[i].code);
    assert_int_equal(bench->a.evidence.retry_after, cases[i].retry_after);
    if (cases[i].lost)
      assert_true(bench->a.evidence.says_session_lost);
    assert_int_equal(bench->a.messages, cases[i].messages);
    assert_int_equal(bench->server.executed, 1);
    bench_free(bench);
  }
}

static void gzip(struct text *to, const char *text, size_t len) {
  z_stream zlib = {0};
  assert_int_equal(deflateInit2(&zlib, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  size_t room = deflateBound(&zlib, len);
  char *out = malloc(room);
  zlib.next_in = (z_const Bytef *)text;
  zlib.avail_in = (uInt)len;
  zlib.next_out = (Bytef *)out;
  zlib.avail_out = (uInt)room;
  assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  text_append(to, out, zlib.total_out);
  deflateEnd(&zlib);
  free(out);
}

static void http__decodes_a_bomb_in_small_parts(void **state) {
  (void)state;
  enum { EVENTS = 1 << 20, TURN_MAX = 256 << 10 };
  static const char event[] = "data:\n\n";
  static const char answer[] = "data: " RESULT_7 "\n\n";
  static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n";
  const size_t event_len = sizeof event - 1;
  struct text text = {malloc(EVENTS * event_len + sizeof answer), 0};
  for (size_t i = 0; i < EVENTS; i++, text.len += event_len)
    memcpy(text.data + text.len, event, event_len);
  memcpy(text.data + text.len, answer, sizeof answer);
  struct text reply = {0};
  text_append(&reply, head, sizeof head - 1);
  gzip(&reply, text.data, text.len + sizeof answer - 1);
  const struct row rows[] = {{reply.data, KEEP, reply.len}};
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(bench->a.messages, 1);
  assert_true(bench->a.lives >= EVENTS);
  assert_true(bench->most_lives <= TURN_MAX / event_len);
  bench_free(bench);
  free(text.data);
  free(reply.data);
}

static void http__follows_a_redirect_within_the_origin(void **state) {
  (void)state;
  const struct row rows[] = {{"HTTP/1.1 307 There\r\nLocation: /mcp/\r\nContent-Length: 0\r\n\r\n", KEEP},
                             {JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(bench->server.executed, 2);
  assert_true(request_has(bench, 1, "POST /mcp/ HTTP/1.1\r\n"));
  assert_true(request_has(bench, 1, "\"id\":7"));
  bench_free(bench);
}

static void http__stops_a_redirect_loop(void **state) {
  (void)state;
#define AROUND                                                                                                         \
  { "HTTP/1.1 308 There\r\nLocation: /mcp\r\nContent-Length: 0\r\n\r\n", KEEP }
  const struct row rows[] = {AROUND, AROUND, AROUND, AROUND, AROUND, AROUND};
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_HTTP_STATUS);
  assert_int_equal(bench->a.evidence.redirect, HF_REDIRECT_TOO_MANY);
  assert_int_equal(bench->server.executed, 4);
  bench_free(bench);
}

static void http__says_which_redirect_it_refused(void **state) {
  (void)state;
  static const struct {
    const char *reply;
    int status;
    enum hf_redirect redirect;
  } cases[] = {
      {"HTTP/1.1 301 There\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 301, HF_REDIRECT_TO_GET},
      {"HTTP/1.1 302 There\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 302, HF_REDIRECT_TO_GET},
      {"HTTP/1.1 303 There\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", 303, HF_REDIRECT_TO_GET},
      {"HTTP/1.1 304 Same\r\n\r\n", 304, HF_REDIRECT_NONE},
      {"HTTP/1.1 307 There\r\nLocation: http://elsewhere.test/x\r\nContent-Length: 0\r\n\r\n", 307,
       HF_REDIRECT_ELSEWHERE},
      {"HTTP/1.1 308 There\r\nLocation: //127.0.0.1:1/mcp\r\nContent-Length: 0\r\n\r\n", 308, HF_REDIRECT_ELSEWHERE},
      {"HTTP/1.1 307 There\r\nLocation: ftp://127.0.0.1/x\r\nContent-Length: 0\r\n\r\n", 307, HF_REDIRECT_ELSEWHERE},
      {"HTTP/1.1 307 There\r\nContent-Length: 0\r\n\r\n", 307, HF_REDIRECT_NOWHERE},
      {"HTTP/1.1 307 There\r\nLocation: http://[/\r\nContent-Length: 0\r\n\r\n", 307, HF_REDIRECT_NOWHERE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct row rows[] = {{cases[i].reply, KEEP}};
    struct bench *bench = BENCH(rows);
    call(bench);
    assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_HTTP_STATUS);
    assert_int_equal(bench->a.evidence.http_status, cases[i].status);
    assert_int_equal(bench->a.evidence.redirect, cases[i].redirect);
    assert_int_equal(bench->server.executed, 1);
    bench_free(bench);
  }
}

static void http__delivers_events_and_frees_the_connection_after_the_answer(void **state) {
  (void)state;
  const struct row rows[] = {
      {SSE_HEAD ": comment\n\ndata:\nid: a\n\n"
                "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"
                "data: " RESULT_7 "\n\n",
       KEEP},
      {JSON_7, KEEP},
  };
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(bench->a.lives, 1);
  assert_int_equal(bench->a.messages, 2);
  assert_string_equal(bench->a.message[1], RESULT_7);
  /* The server leaves its stream open: the next call isn't held up, and the stream is closed soon. */
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  run_for(bench, 600);
  assert_int_equal(bench->server.ended, 1);
  bench_free(bench);
}

static void http__aborts_and_frees_inside_a_message(void **state) {
  (void)state;
  const struct row rows[] = {
      {SSE_HEAD "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\ndata: " RESULT_7 "\n\n", KEEP}};
  struct bench *bench = BENCH(rows);
  bench->abort_on_message = true;
  send_call(bench, &bench->out_a, 7);
  run_until(bench, &bench->a.messages);
  run_for(bench, 20);
  assert_int_equal(bench->a.messages, 1);
  assert_int_equal(bench->a.dones, 0);
  assert_int_equal(bench->server.ended, 1);
  bench_free(bench);

  bench = BENCH(rows);
  bench->free_on_message = true;
  send_call(bench, &bench->out_a, 7);
  run_until(bench, &bench->a.messages);
  assert_int_equal(bench->a.dones, 0);
  bench_free(bench);
}

#define INIT_RESULT "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\"}}"
#define INIT_REPLY                                                                                                     \
  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s-1\r\nContent-Length: 66\r\n\r\n" INIT_RESULT
#define ACCEPTED "HTTP/1.1 202 Accepted\r\n\r\n"
#define NO_STREAM "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"

static void initialize(struct bench *bench) {
  send_text(bench, &bench->out_a, 1, HF_METHOD_INITIALIZE,
            HF_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}"));
  run_until(bench, &bench->a.dones);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
}

static void http__keeps_a_legacy_session(void **state) {
  (void)state;
  const struct row rows[] = {{INIT_REPLY, KEEP},
                             {ACCEPTED, CLOSE},
                             {NO_STREAM, KEEP},
                             {JSON_7, KEEP},
                             {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", KEEP}};
  struct bench *bench = BENCH(rows);
  initialize(bench);
  assert_false(request_has(bench, 0, "Mcp-Session-Id"));
  assert_false(request_has(bench, 0, "MCP-Protocol-Version"));
  send_text(bench, &bench->out_a, 0, HF_METHOD_INITIALIZED,
            HF_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
  run_until(bench, &bench->a.dones);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_true(request_has(bench, 1, "Mcp-Session-Id: s-1\r\nMCP-Protocol-Version: 2025-06-18\r\n"));
  bench->transport->ops->settle(bench->transport, HF_ERA_LEGACY, HF_STR("2025-06-18"));
  run_for(bench, 50);
  assert_true(request_has(bench, 2, "GET /mcp?x=1 HTTP/1.1\r\n"));
  assert_true(request_has(bench, 2, "Accept: text/event-stream\r\nMcp-Session-Id: s-1\r\n"));
  call(bench);
  assert_true(bench->a.evidence.carried_session);
  assert_true(request_has(bench, 3, "Mcp-Session-Id: s-1\r\n"));
  bench->transport->ops->close(bench->transport);
  assert_false(bench->closed);
  run_for(bench, 50);
  assert_true(bench->closed);
  assert_true(request_has(bench, 4, "DELETE /mcp?x=1 HTTP/1.1\r\n"));
  assert_true(request_has(bench, 4, "Mcp-Session-Id: s-1\r\n"));
  bench_free(bench);
}

static void http__forgets_a_session(void **state) {
  (void)state;
  const struct row rows[] = {{INIT_REPLY, KEEP}, {JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  initialize(bench);
  bench->transport->ops->forget_session(bench->transport);
  call(bench);
  assert_false(request_has(bench, 1, "Mcp-Session-Id"));
  assert_false(bench->a.evidence.carried_session);
  bench_free(bench);
}

static void http__what_was_sent_in_a_session_carries_its_id(void **state) {
  (void)state;
  const struct row rows[] = {{INIT_REPLY, KEEP}, {JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  initialize(bench);
  send_call(bench, &bench->out_a, 7);
  bench->transport->ops->forget_session(bench->transport);
  run_until(bench, &bench->a.dones);
  assert_true(bench->a.evidence.carried_session);
  assert_true(request_has(bench, 1, "Mcp-Session-Id: s-1\r\n"));
  bench_free(bench);
}

static void http__hears_the_servers_own_stream_and_opens_it_again(void **state) {
  (void)state;
  const struct row rows[] = {
      {SSE_HEAD "retry: 10\n\nid: 5\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
       CLOSE},
      {SSE_HEAD "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}\n\n", KEEP},
  };
  struct bench *bench = BENCH(rows);
  bench->transport->ops->settle(bench->transport, HF_ERA_LEGACY, HF_STR("2025-06-18"));
  run_until(bench, &bench->stream.messages);
  assert_string_equal(bench->stream.message[0],
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
  bench->stream.messages = 0;
  run_until(bench, &bench->stream.messages);
  assert_true(request_has(bench, 1, "Last-Event-ID: 5\r\n"));
  assert_string_equal(bench->stream.message[0], "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}");
  bench_free(bench);
}

/* A server that may ask its client something puts it on its own stream, and what comes before the stream is lost. */
static void http__a_call_waits_for_the_stream_of_a_server_that_may_ask(void **state) {
  (void)state;
  static const char *const answers[] = {SSE_HEAD, NO_STREAM, NULL};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    const struct row rows[] = {{answers[i], KEEP}, {JSON_7, KEEP}};
    struct bench *bench = bench_new(rows, 2);
    bench_open(bench, HF_INSTANCE_SESSION);
    bench->transport->ops->settle(bench->transport, HF_ERA_LEGACY, HF_STR("2025-06-18"));
    call(bench);
    assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
    assert_true(request_has(bench, 0, "GET /mcp"));
    assert_true(request_has(bench, 1, "POST /mcp"));
    bench_free(bench);
  }
}

static void http__what_no_server_can_ask_about_waits_for_no_stream(void **state) {
  (void)state;
  static const struct {
    enum hf_instance_mode instance;
    enum hf_method method;
  } cases[] = {{HF_INSTANCE_SHARED, HF_METHOD_TOOLS_CALL}, {HF_INSTANCE_SESSION, HF_METHOD_TOOLS_LIST}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct row rows[] = {{NULL, KEEP}, {JSON_7, KEEP}};
    struct bench *bench = bench_new(rows, 2);
    bench_open(bench, cases[i].instance);
    bench->transport->ops->settle(bench->transport, HF_ERA_LEGACY, HF_STR("2025-06-18"));
    while (bench->server.executed == 0)
      run_for(bench, 1);
    hf_time before = hf_clock_now();
    send_text(bench, &bench->out_a, 7, cases[i].method, HF_STR("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\"}"));
    run_until(bench, &bench->a.dones);
    assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
    assert_true(hf_clock_now() - before < HF_MS(400));
    bench_free(bench);
  }
}

static void http__resumes_a_broken_legacy_answer(void **state) {
  (void)state;
  const struct row rows[] = {
      {INIT_REPLY, KEEP},
      {SSE_HEAD "retry: 100\nid: e1\ndata:\n\n", CLOSE},
      {SSE_HEAD "data: " RESULT_7 "\n\n", CLOSE},
  };
  struct bench *bench = BENCH(rows);
  initialize(bench);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_string_equal(bench->a.message[0], RESULT_7);
  assert_true(request_has(bench, 2, "GET /mcp?x=1 HTTP/1.1\r\n"));
  assert_true(request_has(bench, 2, "Last-Event-ID: e1\r\n"));
  assert_int_equal(bench->server.executed, 3);
  bench_free(bench);
}

static void http__gives_up_a_broken_answer_without_event_ids(void **state) {
  (void)state;
  const struct row rows[] = {{INIT_REPLY, KEEP}, {SSE_HEAD "data:\n\n", CLOSE}};
  struct bench *bench = BENCH(rows);
  initialize(bench);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_BROKE);
  assert_int_equal(bench->server.executed, 2);
  bench_free(bench);
}

static void http__sends_modern_headers(void **state) {
  (void)state;
  const struct row rows[] = {{JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  bench->transport->ops->settle(bench->transport, HF_ERA_MODERN, HF_STR("2026-07-28"));
  const struct hf_header params[] = {{HF_STR("Mcp-Param-City"), HF_STR("Oslo")}};
  bench->a = (struct seen){0};
  bench->out_a = (struct hf_outgoing){.is_request = true,
                                      .id = 7,
                                      .method = HF_METHOD_TOOLS_CALL,
                                      .name = HF_STR("w\xc3\xa4rme"),
                                      .params = params,
                                      .param_count = 1,
                                      .connect_by = hf_clock_now() + HF_SECONDS(2)};
  hf_pieces_add_copy(&bench->out_a.text, HF_STR("{}"));
  assert_int_equal(bench->transport->ops->send(bench->transport, &bench->out_a), 0);
  run_until(bench, &bench->a.dones);
  assert_true(request_has(bench, 0, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"));
  assert_true(request_has(bench, 0, "Mcp-Name: =?base64?d8Okcm1l?=\r\n"));
  assert_true(request_has(bench, 0, "Mcp-Param-City: Oslo\r\n"));
  run_for(bench, 20);
  assert_int_equal(bench->server.executed, 1); /* no stream is opened */
  bench_free(bench);
}

static void http__queues_beyond_its_connections_until_the_deadline(void **state) {
  (void)state;
  const struct row rows[] = {{NULL, KEEP}, {NULL, KEEP}};
  struct bench *bench = BENCH(rows);
  struct hf_outgoing first = {
      .is_request = true, .id = 1, .method = HF_METHOD_PING, .connect_by = hf_clock_now() + HF_SECONDS(2)};
  hf_pieces_add_copy(&first.text, HF_STR("{}"));
  assert_int_equal(bench->transport->ops->send(bench->transport, &first), 0);
  send_call(bench, &bench->out_b, 2);
  run_until(bench, (const unsigned *)&bench->server.executed);
  run_for(bench, 20);
  assert_int_equal(bench->server.executed, 2);
  bench->a = (struct seen){0};
  bench->out_a = (struct hf_outgoing){.is_request = true, .id = 3, .connect_by = hf_clock_now() + HF_MS(30)};
  hf_pieces_add_copy(&bench->out_a.text, HF_STR("{}"));
  assert_int_equal(bench->transport->ops->send(bench->transport, &bench->out_a), 0);
  run_until(bench, &bench->a.dones);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_LOCAL_LIMIT);
  assert_int_equal(bench->server.executed, 2);
  /* What must not wait has a reserve: the answer to a server's question. */
  send_text(bench, &bench->out_a, 0, HF_METHOD_UNKNOWN, HF_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"));
  run_for(bench, 30);
  assert_int_equal(bench->server.executed, 3);
  bench->transport->ops->abort(bench->transport, &first);
  hf_pieces_deinit(&first.text);
  bench_free(bench);
}

static void http__reads_a_large_result_without_a_long_turn(void **state) {
  (void)state;
  enum { SIZE = 16 << 20 };
  static const char head[] =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x\":\"";
  char *reply = malloc(SIZE + sizeof head + 8);
  size_t n = sizeof head - 1;
  memcpy(reply, head, n);
  memset(reply + n, 'A', SIZE);
  memcpy(reply + n + SIZE, "\"}}", 3);
  const struct row rows[] = {{reply, CLOSE, n + SIZE + 3}};
  struct bench *bench = BENCH(rows);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(bench->a.messages, 1);
  assert_int_equal(bench->a.message_len[0], SIZE + 42);
  bench_free(bench);
  free(reply);
}

static void http__refuses_a_message_beyond_its_limit(void **state) {
  (void)state;
  static char reply[4096];
  int n =
      snprintf(reply, sizeof reply, "%s",
               "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"");
  memset(reply + n, 'A', 2000);
  const struct row rows[] = {{reply, KEEP}};
  struct bench *bench = bench_new(rows, 1);
  char url[80];
  struct hf_server_settings settings = settings_for(url, sizeof url, bench->server.port);
  settings.max_message = 1024;
  assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &events, bench, &bench->transport, NULL), 0);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_BAD_REPLY);
  assert_int_equal(bench->a.evidence.http_status, 200);
  bench_free(bench);
}

static void http__sends_a_large_request_whole(void **state) {
  (void)state;
  enum { SIZE = 8 << 20 };
  const struct row rows[] = {{JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  char *text = malloc(SIZE);
  memset(text, ' ', SIZE);
  send_text(bench, &bench->out_a, 7, HF_METHOD_TOOLS_CALL, (struct hf_str){text, SIZE});
  free(text);
  run_until(bench, &bench->a.dones);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_true(bench->a.complete);
  assert_int_equal(bench->a.bytes, bench->server.request[0].len - 1);
  bench_free(bench);
}

static void http__checks_its_configuration(void **state) {
  (void)state;
  static const struct {
    const char *url;
    const char *header;
    int result;
    const char *text;
  } cases[] = {
      {"ftp://h/", NULL, HF_ERR_INVALID, "url is neither http nor https"},
      {"http://", NULL, HF_ERR_INVALID, "malformed url: No host part in the URL"},
      {"http://h/", "Content-Length: 5", HF_ERR_INVALID, "header 'Content-Length' cannot be configured"},
      {"http://h/", "no colon", HF_ERR_INVALID, "a header without a colon"},
      {"http://h/", "X-A: b\r\nc: d", HF_ERR_INVALID, "header 'X-A' is malformed"},
      {"http://u:p@h/", "Authorization: Bearer x", HF_ERR_INVALID,
       "credentials both in the url and in an Authorization header"},
      {"http://h/", "accept: */*", HF_ERR_INVALID, "header 'accept' cannot be configured"},
      {"http://h/", "Host: other", HF_ERR_INVALID, "header 'Host' cannot be configured"},
      {"http://u:p@h/", "X-A: b", 0, ""},
  };
  struct bench *bench = bench_new(NULL, 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hf_str header = hf_str_from(cases[i].header);
    struct hf_server_settings settings = {
        .name = HF_STR("t"), .url = hf_str_from(cases[i].url), .headers = {&header, cases[i].header ? 1 : 0}};
    struct hf_error err = {0};
    struct hf_transport *transport = NULL;
    assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &events, bench, &transport, &err),
                     cases[i].result);
    assert_string_equal(err.text, cases[i].text);
    if (transport)
      transport->ops->free(transport);
  }
  bench_free(bench);
}

static void http__sends_configured_headers_and_credentials(void **state) {
  (void)state;
  const struct row rows[] = {{JSON_7, KEEP}};
  struct bench *bench = bench_new(rows, 1);
  char url[80];
  snprintf(url, sizeof url, "http://us%%65r:pass@127.0.0.1:%d", bench->server.port);
  struct hf_str headers[] = {HF_STR("X-Key:  k "), HF_STR("User-Agent: mine")};
  struct hf_server_settings settings = {
      .name = HF_STR("t"), .url = hf_str_from(url), .headers = {headers, 2}, .max_connections = 1, .max_message = 1024};
  assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &events, bench, &bench->transport, NULL), 0);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  assert_true(request_has(bench, 0, "POST / HTTP/1.1\r\n"));
  assert_true(request_has(bench, 0, "X-Key: k\r\nUser-Agent: mine\r\n"));
  assert_true(request_has(bench, 0, "Authorization: Basic dXNlcjpwYXNz\r\n"));
  bench_free(bench);
}

/* As if so much time had passed. */
static void pass_time(struct bench *bench, hf_time span) {
  hf_loop_run(&bench->loop, bench->loop.now + span, bench->loop.wall_ms);
}

static void http__lets_idle_connections_go(void **state) {
  (void)state;
  const struct row rows[] = {{JSON_7, KEEP}};
  struct bench *bench = BENCH(rows);
  call(bench);
  pass_time(bench, HF_MS(3900));
  run_for(bench, 10);
  assert_int_equal(bench->server.ended, 0);
  pass_time(bench, HF_MS(200));
  run_for(bench, 10);
  assert_int_equal(bench->server.ended, 1);
  bench_free(bench);
}

static void http__goes_by_the_servers_keep_alive_time(void **state) {
  (void)state;
  const struct row rows[] = {{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nKeep-Alive: max=9, "
                              "timeout=2\r\nContent-Length: 36\r\n\r\n" RESULT_7,
                              KEEP},
                             {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nKeep-Alive: "
                              "timeout=1\r\nContent-Length: 36\r\n\r\n" RESULT_7,
                              KEEP}};
  struct bench *bench = BENCH(rows);
  call(bench);
  pass_time(bench, HF_MS(1100));
  run_for(bench, 10);
  assert_int_equal(bench->server.ended, 1);
  bench->loop.now = hf_clock_now();
  call(bench);
  run_for(bench, 10);
  assert_int_equal(bench->server.ended, 2);
  bench_free(bench);
}

static void open_by_proxy(struct bench *bench) {
  char proxy[64];
  snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", bench->server.port);
  const struct hf_server_settings settings = {.name = HF_STR("t"),
                                              .url = HF_STR("http://upstream.test/mcp"),
                                              .proxy = hf_str_from(proxy),
                                              .max_connections = 1,
                                              .max_message = 1024};
  assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &events, bench, &bench->transport, NULL), 0);
}

static void http__goes_through_a_proxy_by_a_tunnel(void **state) {
  (void)state;
  const struct row rows[] = {{"HTTP/1.1 200 Connected\r\n\r\n", KEEP}, {JSON_7, KEEP}, {JSON_7, KEEP}};
  struct bench *bench = bench_new(rows, 3);
  open_by_proxy(bench);
  for (int i = 0; i < 2; i++) {
    call(bench);
    assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_NONE);
  }
  assert_true(request_has(bench, 0, "CONNECT upstream.test:80 HTTP/1.1\r\n"));
  assert_true(request_has(bench, 1, "POST /mcp HTTP/1.1\r\nHost: upstream.test\r\n"));
  assert_int_equal(bench->server.connections, 1);
  bench_free(bench);
}

static void http__has_sent_nothing_when_a_proxy_refuses(void **state) {
  (void)state;
  const struct row rows[] = {{"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", KEEP}};
  struct bench *bench = bench_new(rows, 1);
  open_by_proxy(bench);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_CONNECT_REFUSED);
  assert_int_equal(bench->a.bytes, 0);
  bench_free(bench);
}

/* Whatever allocation fails, the call ends, once, and nothing is lost (the leak checker sees to that). */
static void http__survives_each_failed_allocation(void **state) {
  (void)state;
  unsigned succeeded = 0;
  for (long n = 0; succeeded < 2; n++) {
    assert_true(n < 200);
    const struct row rows[] = {{SSE_HEAD "id: 1\ndata: " RESULT_7 "\n\n", CLOSE}};
    struct bench *bench = BENCH(rows);
    bench->transport->ops->settle(bench->transport, HF_ERA_MODERN, HF_STR("2026-07-28"));
    bench->a = (struct seen){0};
    bench->out_a = (struct hf_outgoing){.is_request = true,
                                        .id = 7,
                                        .method = HF_METHOD_TOOLS_CALL,
                                        .name = HF_STR("t"),
                                        .connect_by = hf_clock_now() + HF_SECONDS(2)};
    assert_int_equal(hf_pieces_add_copy(&bench->out_a.text, HF_STR("{}")), 0);
    hf_alloc_fail_after(n);
    int r = bench->transport->ops->send(bench->transport, &bench->out_a);
    if (r == 0) {
      run_until(bench, &bench->a.dones);
      assert_int_equal(bench->a.dones, 1);
    } else {
      assert_int_equal(r, HF_ERR_NOMEM);
    }
    hf_alloc_fail_after(-1);
    succeeded = bench->a.messages ? succeeded + 1 : 0;
    bench_free(bench);
  }
}

#define ENDPOINT SSE_HEAD "event: endpoint\ndata: /post?s=1\n\n"
#define TAKEN "HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted"
#define REFUSED "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n"
#define INIT_EVENT "event: message\ndata: " INIT_RESULT "\n\n"

/* What the server says on the connection of its nth request. */
static void server_says(struct bench *bench, size_t request, const char *text) {
  assert_non_null(bench->server.peers[request]);
  peer_write(bench->server.peers[request], text, strlen(text), false);
}

static struct bench *old_bench(const struct row *rows, size_t row_count, bool told, const char *endpoint) {
  struct bench *bench = bench_new(rows, row_count);
  char url[80];
  struct hf_server_settings settings = settings_for(url, sizeof url, bench->server.port);
  settings.sse = told;
  settings.endpoint = endpoint ? hf_str_from(endpoint) : (struct hf_str){NULL, 0};
  settings.start_timeout = HF_MS(400);
  struct hf_error err;
  assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &events, bench, &bench->transport, &err), 0);
  return bench;
}
#define OLD_BENCH(rows, told) old_bench((rows), sizeof(rows) / sizeof *(rows), (told), NULL)

static void send_initialize(struct bench *bench) {
  send_text(bench, &bench->out_a, 1, HF_METHOD_INITIALIZE,
            HF_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}"));
}

static void http_sse__is_found_by_a_refusal_and_answers_on_its_stream(void **state) {
  (void)state;
  const struct row rows[] = {{REFUSED, KEEP}, {ENDPOINT, KEEP}, {TAKEN, KEEP}, {TAKEN, KEEP}};
  struct bench *bench = OLD_BENCH(rows, false);
  send_initialize(bench);
  while (bench->server.executed < 3)
    uv_run(&bench->uv, UV_RUN_ONCE);
  assert_true(request_has(bench, 0, "POST /mcp?x=1 "));
  assert_true(request_has(bench, 1, "GET /mcp?x=1 "));
  assert_true(request_has(bench, 1, "Accept: text/event-stream\r\n"));
  assert_true(request_has(bench, 2, "POST /post?s=1 "));
  assert_int_equal(bench->a.dones, 0);
  server_says(bench, 1, INIT_EVENT);
  run_until(bench, &bench->stream.messages);
  bench->stream.messages = 0;
  assert_string_equal(bench->stream.message[0], INIT_RESULT);
  bench->transport->ops->abort(bench->transport, &bench->out_a);
  bench->transport->ops->settle(bench->transport, HF_ERA_LEGACY, HF_STR("2024-11-05"));
  send_call(bench, &bench->out_b, 7);
  run_for(bench, 30);
  assert_true(bench->b.complete);
  assert_true(request_has(bench, 3, "POST /post?s=1 "));
  /* The two POSTs had one connection, the refused one and the stream have theirs. */
  assert_int_equal(bench->server.connections, 2);
  assert_int_equal(bench->b.dones, 0);
  server_says(bench, 1, "data: " RESULT_7 "\n\n");
  run_until(bench, &bench->stream.messages);
  bench_free(bench);
}

static void http_sse__a_refusal_stands_where_there_is_no_endpoint(void **state) {
  (void)state;
  static const char *const streams[] = {
      REFUSED, JSON_7, SSE_HEAD ": nothing\n\n", SSE_HEAD "data: {}\n\n",
      "HTTP/1.1 307 There\r\nLocation: http://elsewhere.test/\r\nContent-Length: 0\r\n\r\n"};
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    const struct row rows[] = {{REFUSED, KEEP}, {streams[i], KEEP}};
    struct bench *bench = OLD_BENCH(rows, false);
    send_initialize(bench);
    run_until(bench, &bench->a.dones);
    assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_HTTP_STATUS);
    assert_int_equal(bench->a.evidence.http_status, 405);
    assert_int_equal(bench->closed, 0);
    bench_free(bench);
  }
}

static void http_sse__other_refusals_ask_for_no_stream(void **state) {
  (void)state;
  static const int statuses[] = {401, 403, 406, 415, 429, 500, 503};
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    char reply[80];
    snprintf(reply, sizeof reply, "HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n", statuses[i]);
    const struct row rows[] = {{reply, KEEP}};
    struct bench *bench = OLD_BENCH(rows, false);
    send_initialize(bench);
    run_until(bench, &bench->a.dones);
    run_for(bench, 10);
    assert_int_equal(bench->server.executed, 1);
    bench_free(bench);
  }
}

static void http_sse__the_end_of_the_stream_is_the_end_of_all(void **state) {
  (void)state;
  const struct row rows[] = {{ENDPOINT, KEEP}, {TAKEN, KEEP}, {ENDPOINT, KEEP}, {TAKEN, KEEP}};
  struct bench *bench = OLD_BENCH(rows, true);
  send_call(bench, &bench->out_a, 7);
  while (bench->server.executed < 2)
    uv_run(&bench->uv, UV_RUN_ONCE);
  run_for(bench, 10);
  peer_reset(bench->server.peers[0]);
  run_until(bench, &bench->closed);
  assert_int_equal(bench->why_closed.kind, HF_EVIDENCE_BROKE);
  assert_int_equal(bench->a.dones, 0);
  assert_null(bench->out_a.transport_data);
  assert_int_equal(bench->out_a.handed, bench->server.request[1].len - 1);
  hf_pieces_deinit(&bench->out_a.text);
  send_call(bench, &bench->out_a, 8);
  while (bench->server.executed < 4)
    uv_run(&bench->uv, UV_RUN_ONCE);
  assert_int_equal(bench->closed, 1);
  bench_free(bench);
}

static void http_sse__what_waits_for_the_endpoint_was_not_sent(void **state) {
  (void)state;
  static const struct {
    const char *stream, *reason;
  } cases[] = {
      {SSE_HEAD, "its event stream names no endpoint"},
      {SSE_HEAD "event: endpoint\ndata: http://127.0.0.1:1/x?secret\n\n",
       "its endpoint event names another origin, 'http://127.0.0.1:1/x', where nothing is sent; 'endpoint' says the "
       "right "
       "path"},
      {SSE_HEAD "event: endpoint\ndata:\n\n", "its endpoint event names no URL: ''"},
      {SSE_HEAD "event: endpoint\ndata: http://[\n\n", "its endpoint event names no URL: 'http://['"},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0\r\n\r\n",
       "its event stream ended without naming an endpoint"},
      {JSON_7, "it answered GET with no event stream"},
      {REFUSED, "it answered GET with HTTP status 405"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct row rows[] = {{cases[i].stream, KEEP}};
    struct bench *bench = OLD_BENCH(rows, true);
    send_call(bench, &bench->out_a, 7);
    run_until(bench, &bench->closed);
    assert_string_equal(bench->reason, cases[i].reason);
    assert_int_equal(bench->out_a.handed, 0);
    assert_int_equal(bench->server.executed, 1);
    bench_free(bench);
  }
}

static void http_sse__a_configured_path_takes_the_place_of_the_servers(void **state) {
  (void)state;
  static const struct {
    const char *said, *configured, *target;
  } cases[] = {
      {"http://internal:8080/m?s=1", "/a/m", "POST /a/m?s=1 "},
      {"/m?s=1", "m", "POST /m?s=1 "},
      {"/m?s=1", "/a/m?k=2", "POST /a/m?k=2&s=1 "},
      {"/m", "/a/m", "POST /a/m "},
      {"m?s=1", NULL, "POST /m?s=1 "},
      {"?s=1", NULL, "POST /mcp?s=1 "},
      {"/m n?s=1#f", NULL, "POST /m%20n?s=1 "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char stream[200];
    snprintf(stream, sizeof stream, SSE_HEAD "event: endpoint\ndata: %s\n\n", cases[i].said);
    const struct row rows[] = {{stream, KEEP}, {TAKEN, KEEP}};
    struct bench *bench = old_bench(rows, 2, true, cases[i].configured);
    send_call(bench, &bench->out_a, 7);
    while (bench->server.executed < 2)
      uv_run(&bench->uv, UV_RUN_ONCE);
    assert_true(request_has(bench, 1, cases[i].target));
    bench_free(bench);
  }
}

static void http_sse__a_refused_post_is_told_by_its_status(void **state) {
  (void)state;
  const struct row rows[] = {{ENDPOINT, KEEP}, {"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", KEEP}};
  struct bench *bench = OLD_BENCH(rows, true);
  call(bench);
  assert_int_equal(bench->a.evidence.kind, HF_EVIDENCE_HTTP_STATUS);
  assert_int_equal(bench->a.evidence.http_status, 404);
  assert_true(bench->a.evidence.carried_session);
  assert_int_equal(bench->closed, 0);
  /* A lost session is lost as a whole. */
  bench->transport->ops->forget_session(bench->transport);
  assert_int_equal(bench->closed, 0);
  run_until(bench, &bench->closed);
  assert_int_equal(bench->why_closed.kind, HF_EVIDENCE_BROKE);
  bench_free(bench);
}

static void http_sse__closes_and_frees_at_any_time(void **state) {
  (void)state;
  const struct row rows[] = {{ENDPOINT, KEEP}, {TAKEN, KEEP}};
  for (uint64_t ms = 0; ms < 4; ms++) {
    struct bench *bench = OLD_BENCH(rows, true);
    send_call(bench, &bench->out_a, 7);
    run_for(bench, ms);
    bench->transport->ops->close(bench->transport);
    run_until(bench, &bench->closed);
    assert_int_equal(bench->closed, 1);
    bench_free(bench);

    bench = OLD_BENCH(rows, true);
    send_call(bench, &bench->out_a, 7);
    run_for(bench, ms);
    bench_free(bench);
  }
  struct bench *bench = OLD_BENCH(rows, true);
  bench->free_on_message = true;
  send_call(bench, &bench->out_a, 7);
  while (bench->server.executed < 2)
    uv_run(&bench->uv, UV_RUN_ONCE);
  server_says(bench, 0, "data: " RESULT_7 "\n\ndata: " RESULT_7 "\n\n");
  run_until(bench, &bench->stream.messages);
  assert_null(bench->transport);
  assert_int_equal(bench->stream.messages, 1);
  bench_free(bench);
}

static void http_sse__survives_each_failed_allocation(void **state) {
  (void)state;
  unsigned succeeded = 0;
  for (long n = 0; succeeded < 2; n++) {
    assert_true(n < 300);
    const struct row rows[] = {{REFUSED, KEEP}, {ENDPOINT, KEEP}, {TAKEN, KEEP}};
    struct bench *bench = OLD_BENCH(rows, false);
    bench->a = (struct seen){0};
    bench->out_a = (struct hf_outgoing){
        .is_request = true, .id = 1, .method = HF_METHOD_INITIALIZE, .connect_by = hf_clock_now() + HF_SECONDS(2)};
    assert_int_equal(hf_pieces_add_copy(&bench->out_a.text, HF_STR("{}")), 0);
    hf_alloc_fail_after(n);
    int r = bench->transport->ops->send(bench->transport, &bench->out_a);
    bool told = false;
    while (r == 0 && !bench->a.dones && !bench->closed && !bench->stream.messages) {
      run_for(bench, 1);
      if (bench->server.executed == 3 && !told) {
        server_says(bench, 1, INIT_EVENT);
        told = true;
      }
    }
    hf_alloc_fail_after(-1);
    succeeded = bench->stream.messages ? succeeded + 1 : 0;
    bench_free(bench);
  }
}

static void http__reports_opened_later(void **state) {
  (void)state;
  struct bench *bench = bench_of(NULL, 0);
  bench->transport->ops->open(bench->transport);
  assert_false(bench->opened);
  run_for(bench, 1);
  assert_true(bench->opened);
  bench_free(bench);
}

static void http__queues_no_more_than_its_limit(void **state) {
  (void)state;
  enum { MOST = 1100 };
  static struct hf_outgoing outs[MOST];
  const struct row rows[] = {{NULL, KEEP}, {NULL, KEEP}};
  struct bench *bench = BENCH(rows);
  for (size_t i = 0; i < MOST; i++) {
    outs[i] = (struct hf_outgoing){
        .is_request = true, .id = i, .method = HF_METHOD_PING, .connect_by = hf_clock_now() + HF_SECONDS(30)};
    hf_pieces_add_copy(&outs[i].text, HF_STR("{}"));
    assert_int_equal(bench->transport->ops->send(bench->transport, &outs[i]), 0);
  }
  const struct seen *seen = seen_of(bench, &outs[0]);
  run_for(bench, 20);
  assert_int_equal(seen->dones, MOST - 1024);
  assert_int_equal(seen->evidence.kind, HF_EVIDENCE_LOCAL_LIMIT);
  for (size_t i = 0; i < 1024; i++) {
    bench->transport->ops->abort(bench->transport, &outs[i]);
    hf_pieces_deinit(&outs[i].text);
  }
  bench_free(bench);
}

int main(void) {
  /* The servers here are on loopback, whatever proxy the machine wants for others. */
  unsetenv("http_proxy");
  unsetenv("https_proxy");
  unsetenv("HTTPS_PROXY");
  unsetenv("all_proxy");
  unsetenv("ALL_PROXY");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(http__delivers_a_json_answer),
      cmocka_unit_test(http__reads_answers_that_come_byte_by_byte),
      cmocka_unit_test(http__reuses_a_connection),
      cmocka_unit_test(http__never_repeats_on_a_warm_connection_that_closes_silently),
      cmocka_unit_test(http__reports_a_reset_after_the_request),
      cmocka_unit_test(http__leaves_an_idle_connection_that_was_closed),
      cmocka_unit_test(http__drops_a_connection_with_stray_bytes),
      cmocka_unit_test(http__reports_a_refused_connection),
      cmocka_unit_test(http__tells_statuses_and_bad_replies_apart),
      cmocka_unit_test(http__decodes_a_bomb_in_small_parts),
      cmocka_unit_test(http__follows_a_redirect_within_the_origin),
      cmocka_unit_test(http__stops_a_redirect_loop),
      cmocka_unit_test(http__says_which_redirect_it_refused),
      cmocka_unit_test(http__delivers_events_and_frees_the_connection_after_the_answer),
      cmocka_unit_test(http__aborts_and_frees_inside_a_message),
      cmocka_unit_test(http__keeps_a_legacy_session),
      cmocka_unit_test(http__forgets_a_session),
      cmocka_unit_test(http__what_was_sent_in_a_session_carries_its_id),
      cmocka_unit_test(http__hears_the_servers_own_stream_and_opens_it_again),
      cmocka_unit_test(http__a_call_waits_for_the_stream_of_a_server_that_may_ask),
      cmocka_unit_test(http__what_no_server_can_ask_about_waits_for_no_stream),
      cmocka_unit_test(http__resumes_a_broken_legacy_answer),
      cmocka_unit_test(http__gives_up_a_broken_answer_without_event_ids),
      cmocka_unit_test(http__sends_modern_headers),
      cmocka_unit_test(http__queues_beyond_its_connections_until_the_deadline),
      cmocka_unit_test(http__queues_no_more_than_its_limit),
      cmocka_unit_test(http__reads_a_large_result_without_a_long_turn),
      cmocka_unit_test(http__refuses_a_message_beyond_its_limit),
      cmocka_unit_test(http__sends_a_large_request_whole),
      cmocka_unit_test(http__checks_its_configuration),
      cmocka_unit_test(http__sends_configured_headers_and_credentials),
      cmocka_unit_test(http__lets_idle_connections_go),
      cmocka_unit_test(http__goes_by_the_servers_keep_alive_time),
      cmocka_unit_test(http__goes_through_a_proxy_by_a_tunnel),
      cmocka_unit_test(http__has_sent_nothing_when_a_proxy_refuses),
      cmocka_unit_test(http__survives_each_failed_allocation),
      cmocka_unit_test(http__reports_opened_later),
      cmocka_unit_test(http_sse__is_found_by_a_refusal_and_answers_on_its_stream),
      cmocka_unit_test(http_sse__a_refusal_stands_where_there_is_no_endpoint),
      cmocka_unit_test(http_sse__other_refusals_ask_for_no_stream),
      cmocka_unit_test(http_sse__the_end_of_the_stream_is_the_end_of_all),
      cmocka_unit_test(http_sse__what_waits_for_the_endpoint_was_not_sent),
      cmocka_unit_test(http_sse__a_configured_path_takes_the_place_of_the_servers),
      cmocka_unit_test(http_sse__a_refused_post_is_told_by_its_status),
      cmocka_unit_test(http_sse__closes_and_frees_at_any_time),
      cmocka_unit_test(http_sse__survives_each_failed_allocation),
  };
  return cmocka_run_group_tests_name("upstream_http", tests, NULL, NULL);
}
