/* Every limit of the HTTP front, and its end: each test passes one limit and sees what it does to that caller alone. */
#include "front/daemons.h"
#include "http_front.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define LATER                                                                                                          \
  "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"later\",\"arguments\":{}}}"
#define BIG "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"big\",\"arguments\":{}}}"
#define INIT                                                                                                           \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","            \
  "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define HEALTH "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

#define assert_has(text, part)                                                                                         \
  do {                                                                                                                 \
    const char *text_ = (text);                                                                                        \
    if (!strstr(text_, (part)))                                                                                        \
      fail_msg("no '%s' in '%.600s'", (part), text_);                                                                  \
  } while (0)

static char session[128];

static void open_session(struct fixture *fx) {
  (void)snprintf(session, sizeof(session), "Mcp-Session-Id: %s\r\n", fixture_session(fx, "2025-06-18"));
}

static int open_post(struct fixture *fx, const char *extra, const char *body) {
  int fd = fixture_connect(fx);
  const char *text = fixture_post(extra, body);
  fixture_send(fx, fd, text, strlen(text));
  return fd;
}

static int open_get(struct fixture *fx) {
  char text[512];
  (void)snprintf(text, sizeof(text), "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", session);
  int fd = fixture_connect(fx);
  fixture_send(fx, fd, text, strlen(text));
  return fd;
}

static void turns(struct fixture *fx, int ms) {
  for (hf_time end = hf_clock_now() + HF_MS(ms); hf_clock_now() < end;) {
    fixture_turn(fx);
    (void)poll(NULL, 0, 1);
  }
}

static struct hf_front_http_stats stats_of(struct fixture *fx) {
  struct hf_front_http_stats stats;
  hf_front_http_stats(fx->front, &stats);
  return stats;
}

static void front_limits__body(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.body_bytes = 64;
  fixture_start(&fx, settings);
  char body[128];
  memset(body, ' ', sizeof(body));
  body[64] = '\0';
  assert_has(fixture_ask(&fx, fixture_post("", body)), "HTTP/1.1 400");
  body[64] = ' ';
  body[65] = '\0';
  const char *text = fixture_ask(&fx, fixture_post("", body));
  assert_has(text, "HTTP/1.1 413");
  assert_has(text, "\"error\"");
  text = fixture_ask(&fx, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n"
                          "30\r\n                                                \r\n"
                          "30\r\n                                                \r\n0\r\n\r\n");
  assert_has(text, "HTTP/1.1 413");
  fixture_stop(&fx);
}

static void front_limits__header(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.header_bytes = 1024;
  fixture_start(&fx, settings);
  char extra[1200] = "X: ";
  memset(extra + 3, 'x', 1100);
  memcpy(extra + 1103, "\r\n", 3);
  assert_has(fixture_ask(&fx, fixture_post(extra, PING)), "HTTP/1.1 431");
  static char huge[40000] = "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ";
  size_t len = strlen(huge);
  memset(huge + len, 'x', sizeof(huge) - len - 1);
  assert_has(fixture_ask(&fx, huge), "HTTP/1.1 431");
  fixture_stop(&fx);
}

/* As large as allowed, in as many lines as a real client might send. */
static void front_limits__a_full_header_is_served(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.header_bytes = 32 << 10;
  fixture_start(&fx, settings);
  static char extra[32 << 10];
  size_t len = 0;
  for (int i = 0; i < 100; i++)
    len += (size_t)snprintf(extra + len, sizeof(extra) - len, "X-Line-%02d: %0300d\r\n", i, i);
  (void)snprintf(extra + len, sizeof(extra) - len, "X: %0*d\r\n", (32 << 10) - 400 - (int)len, 0);
  assert_has(fixture_ask(&fx, fixture_post(extra, PING)), "Mcp-Session-Id header is missing");
  fixture_stop(&fx);
}

static void front_limits__json_depth_and_nodes(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.json_depth = 4;
  settings->limits.json_nodes = 16;
  fixture_start(&fx, settings);
  assert_has(
      fixture_ask(&fx, fixture_post("", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":[[[1]]]}}")),
      "nested too deep");
  assert_has(fixture_ask(&fx, fixture_post("", "{\"jsonrpc\":\"2.0\",\"id\":1,\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,"
                                               "\"f\":1,\"method\":\"x\"}")),
             "too many values");
  fixture_stop(&fx);
}

static void front_limits__connections(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.connections = 2;
  fixture_start(&fx, settings);
  int first = fixture_connect(&fx);
  int second = fixture_connect(&fx);
  turns(&fx, 20);
  assert_int_equal(stats_of(&fx).connections, 2);
  int third = fixture_connect(&fx);
  fixture_send(&fx, third, HEALTH, sizeof(HEALTH) - 1);
  turns(&fx, 50);
  assert_int_equal(stats_of(&fx).connections, 2);
  (void)close(first);
  assert_has(fixture_read(&fx, third, NULL), "HTTP/1.1 200");
  (void)close(second);
  (void)close(third);
  fixture_stop(&fx);
}

static void front_limits__more_connections_than_one_daemon_takes(void **state) {
  enum { COUNT = HF_DAEMON_CONNECTIONS_MAX + 24 };
  struct fixture fx;
  int fds[COUNT];
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.connections = COUNT;
  fixture_start(&fx, settings);
  for (size_t i = 0; i < COUNT; i++) {
    fds[i] = fixture_connect(&fx);
    turns(&fx, 2);
  }
  turns(&fx, 20);
  assert_int_equal(stats_of(&fx).connections, COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    fixture_send(&fx, fds[i], HEALTH, sizeof(HEALTH) - 1);
    assert_has(fixture_read(&fx, fds[i], NULL), "HTTP/1.1 200");
    (void)close(fds[i]);
  }
  turns(&fx, 50);
  assert_int_equal(stats_of(&fx).connections, 0);
  fixture_stop(&fx);
}

static void front_limits__sessions(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.sessions = 2;
  fixture_start(&fx, settings);
  open_session(&fx);
  open_session(&fx);
  const char *text = fixture_ask(&fx, fixture_post("", INIT));
  assert_has(text, "HTTP/1.1 503");
  assert_has(text, "Retry-After: ");
  assert_has(fixture_ask(&fx, fixture_post(session, PING)), "{\"ok\":1}");
  fixture_stop(&fx);
}

static void front_limits__sessions_per_principal(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.sessions_per_principal = 1;
  fixture_start(&fx, settings);
  open_session(&fx);
  assert_has(fixture_ask(&fx, fixture_post("", INIT)), "HTTP/1.1 503");
  char text[512];
  (void)snprintf(text, sizeof(text), "DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", session);
  assert_has(fixture_ask(&fx, text), "HTTP/1.1 204");
  open_session(&fx);
  fixture_stop(&fx);
}

static void front_limits__idle_session_expires(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.session_idle = HF_MS(60);
  fixture_start(&fx, settings);
  open_session(&fx);
  int fd = open_get(&fx);
  assert_has(fixture_read(&fx, fd, "\r\n\r\n"), "HTTP/1.1 200");
  turns(&fx, 150);
  assert_int_equal(fx.clients, 1); /* a session whose stream is open is in use */
  (void)close(fd);
  fixture_wait(&fx, &fx.clients, 0);
  assert_has(fixture_ask(&fx, fixture_post(session, PING)), "HTTP/1.1 404");
  fixture_stop(&fx);
}

static void front_limits__streams(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.streams = 1;
  fixture_start(&fx, settings);
  open_session(&fx);
  int first = open_get(&fx);
  assert_has(fixture_read(&fx, first, "\r\n\r\n"), "HTTP/1.1 200");
  int second = open_get(&fx);
  assert_has(fixture_read(&fx, second, NULL), "HTTP/1.1 503");
  int call = open_post(&fx, session, LATER);
  fixture_wait(&fx, &fx.open_count, 1);
  fixture_message(&fx, 0, "{\"progress\":1}");
  fixture_finish(&fx, 0, "{\"done\":1}");
  assert_has(fixture_read(&fx, call, NULL), "Content-Type: application/json");
  (void)close(first);
  (void)close(second);
  (void)close(call);
  turns(&fx, 20);
  assert_int_equal(stats_of(&fx).streams, 0);
  fixture_stop(&fx);
}

static void front_limits__streams_of_one_session(void **state) {
  struct fixture fx;
  (void)state;
  fixture_start(&fx, fixture_settings());
  open_session(&fx);
  int fds[5];
  for (int i = 0; i < 5; i++) {
    fds[i] = open_get(&fx);
    assert_has(fixture_read(&fx, fds[i], "retry"), "HTTP/1.1 200");
  }
  assert_has(fixture_read(&fx, fds[0], "0\r\n\r\n"), "0\r\n\r\n");
  assert_int_equal(stats_of(&fx).streams, 4);
  fixture_notify(&fx, "{\"told\":1}");
  assert_has(fixture_read(&fx, fds[4], "1}\n\n"), "{\"told\":1}");
  for (int i = 0; i < 5; i++)
    (void)close(fds[i]);
  fixture_stop(&fx);
}

static void front_limits__slow_sender_is_cut(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.client_read = HF_MS(60);
  fixture_start(&fx, settings);
  int silent = fixture_connect(&fx);
  int slow = fixture_connect(&fx);
  const char *text = fixture_post("", PING);
  fixture_send(&fx, slow, text, strlen(text) - 10);
  for (int i = 0; i < 20; i++) { /* a byte now and then doesn't help */
    turns(&fx, 10);
    (void)send(slow, " ", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  assert_true(fixture_closed(&fx, slow));
  assert_true(fixture_closed(&fx, silent));
  assert_int_equal(stats_of(&fx).cut_slow, 2);
  (void)close(slow);
  (void)close(silent);
  fixture_stop(&fx);
}

static int connect_small(struct fixture *fx) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int size = 4096;
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(fx->port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
  return fd;
}

/* The end of its side comes in the same segment as its last bytes, which an edge-triggered wait can miss. */
static void front_limits__half_a_request_of_a_peer_that_closed_is_dropped_early(void **state) {
  (void)state;
  struct fixture fx;
  fixture_start(&fx, fixture_settings());
  static const char text[] = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                             "Content-Length: 100\r\n\r\n{";
  for (int i = 0; i < 20; i++) {
    int gone = fixture_connect(&fx);
    fixture_send(&fx, gone, text, sizeof(text) - 1);
    (void)close(gone);
  }
  hf_time until = hf_clock_now() + HF_SECONDS(10);
  fixture_turn(&fx);
  while (stats_of(&fx).connections > 0 && hf_clock_now() < until)
    fixture_turn(&fx);
  assert_int_equal(stats_of(&fx).connections, 0);
  assert_int_equal(stats_of(&fx).cut_slow, 0);
  fixture_stop(&fx);
}

static void front_limits__reader_that_takes_nothing_is_cut(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.client_write = HF_MS(500); /* counted in whole seconds */
  settings->limits.client_read = HF_MS(400);
  fixture_start(&fx, settings);
  open_session(&fx);
  int fd = connect_small(&fx);
  const char *text = fixture_post(session, BIG);
  fixture_send(&fx, fd, text, strlen(text));
  turns(&fx, 300);
  assert_int_equal(stats_of(&fx).connections, 1);
  for (hf_time end = hf_clock_now() + HF_SECONDS(5); stats_of(&fx).connections > 0 && hf_clock_now() < end;)
    turns(&fx, 20);
  assert_int_equal(stats_of(&fx).connections, 0);
  (void)close(fd);
  fixture_stop(&fx);
}

static void front_limits__stream_backlog(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.write_backlog = 256 << 10;
  settings->limits.replay_bytes = 1 << 20;
  fixture_start(&fx, settings);
  open_session(&fx);
  char request[512];
  (void)snprintf(request, sizeof(request), "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", session);
  int fd = connect_small(&fx);
  fixture_send(&fx, fd, request, strlen(request));
  turns(&fx, 20);
  static char message[60000];
  memset(message, 'x', sizeof(message) - 1);
  for (int i = 0; i < 400 && stats_of(&fx).cut_slow == 0; i++) {
    fixture_notify(&fx, message);
    fixture_turn(&fx);
  }
  assert_int_equal(stats_of(&fx).cut_slow, 1);
  turns(&fx, 20);
  assert_int_equal(stats_of(&fx).streams, 0);
  assert_has(fixture_ask(&fx, fixture_post(session, PING)), "{\"ok\":1}");
  (void)close(fd);
  fixture_stop(&fx);
}

static void front_limits__answer_too_large_to_keep_leaves_an_error(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.replay_bytes = 2048;
  fixture_start(&fx, settings);
  open_session(&fx);
  int fd = open_post(&fx, session, LATER);
  fixture_wait(&fx, &fx.open_count, 1);
  fixture_message(&fx, 0, "{\"progress\":1}");
  const char *text = fixture_read(&fx, fd, "1}\n\n");
  const char *id = strstr(text, "id: ");
  assert_non_null(id);
  char request[512];
  (void)snprintf(request, sizeof(request), "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: %.*s\r\n%s\r\n",
                 (int)strcspn(id + 4, "\n"), id + 4, session);
  (void)close(fd);
  turns(&fx, 20);
  char answer[4096];
  memset(answer, 'x', sizeof(answer) - 1);
  answer[sizeof(answer) - 1] = '\0';
  fixture_finish(&fx, 0, answer);
  fd = fixture_connect(&fx);
  fixture_send(&fx, fd, request, strlen(request));
  assert_has(fixture_read(&fx, fd, "0\r\n\r\n"), "\"id\":7,\"error\"");
  (void)close(fd);
  fixture_stop(&fx);
}

static void front_limits__silence_is_broken_by_comments(void **state) {
  struct fixture fx;
  struct hf_settings *settings = fixture_settings();
  (void)state;
  settings->limits.sse_keepalive = HF_MS(60);
  fixture_start(&fx, settings);
  open_session(&fx);
  int stream = open_get(&fx);
  assert_has(fixture_read(&fx, stream, ": keep-alive\n\n"), ": keep-alive\n\n");
  int call = open_post(&fx, session, LATER);
  const char *text = fixture_read(&fx, call, ": keep-alive\n\n");
  assert_has(text, "Content-Type: text/event-stream");
  fixture_finish(&fx, 0, "{\"done\":1}");
  assert_has(fixture_read(&fx, call, "0\r\n\r\n"), "data: {\"done\":1}\n\n");
  (void)close(call);
  (void)close(stream);
  fixture_stop(&fx);
}

/* The number that the next descriptor would get. */
static int next_descriptor(void) {
  int fd = dup(STDERR_FILENO);
  (void)close(fd);
  return fd;
}

static double cpu_seconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs the loop as the daemon does, sleeping until something happens. */
static void blocking_turns(struct fixture *fx, int ms) {
  for (hf_time end = hf_clock_now() + HF_MS(ms); hf_clock_now() < end;) {
    int backend = uv_backend_fd(&fx->uv);
    (void)uv_run(&fx->uv, UV_RUN_NOWAIT);
    hf_loop_run(&fx->loop, hf_clock_now(), hf_clock_wall_ms());
    hf_time wait = hf_time_min(hf_loop_next(&fx->loop), end) - hf_clock_now();
    (void)poll(&(struct pollfd){.fd = backend, .events = POLLIN}, 1, wait > 0 ? (int)(wait / 1000) + 1 : 0);
  }
}

static void front_limits__without_descriptors_accepting_pauses(void **state) {
  struct fixture fx;
  (void)state;
  fixture_start(&fx, fixture_settings());
  turns(&fx, 5);
  int waiting = fixture_connect(&fx);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit tight = {.rlim_cur = (rlim_t)next_descriptor(), .rlim_max = before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
  double cpu = cpu_seconds();
  blocking_turns(&fx, 500);
  cpu = cpu_seconds() - cpu;
  uint64_t pauses = stats_of(&fx).pauses;
  uint64_t connections = stats_of(&fx).connections;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(connections, 0);
  assert_in_range(pauses, 1, 10);
  if (cpu > 0.1)
    fail_msg("%.3f s of CPU time in half a second of waiting", cpu);
  fixture_send(&fx, waiting, HEALTH, sizeof(HEALTH) - 1);
  assert_has(fixture_read(&fx, waiting, NULL), "HTTP/1.1 200");
  (void)close(waiting);
  fixture_stop(&fx);
}

static void on_drained(void *context) {
  *(size_t *)context = 1;
}

static void front_limits__draining_ends_streams_and_answers_calls(void **state) {
  struct fixture fx;
  (void)state;
  fixture_start(&fx, fixture_settings());
  open_session(&fx);
  int idle = fixture_connect(&fx);
  fixture_send(&fx, idle, HEALTH, sizeof(HEALTH) - 1);
  assert_has(fixture_read(&fx, idle, NULL), "HTTP/1.1 200");
  int stream = open_get(&fx);
  assert_has(fixture_read(&fx, stream, "\r\n\r\n"), "HTTP/1.1 200");
  int call = open_post(&fx, session, LATER);
  fixture_wait(&fx, &fx.open_count, 1);
  int late = fixture_connect(&fx);
  turns(&fx, 10);
  size_t drained = 0;
  hf_front_http_drain(fx.front, on_drained, &drained);
  assert_has(fixture_read(&fx, stream, "0\r\n\r\n"), "0\r\n\r\n");
  assert_true(fixture_closed(&fx, idle));
  const char *text = fixture_post("", INIT);
  fixture_send(&fx, late, text, strlen(text));
  text = fixture_read(&fx, late, NULL);
  assert_has(text, "HTTP/1.1 503");
  assert_has(text, "Connection: close");
  assert_int_equal(drained, 0);
  fixture_finish(&fx, 0, "{\"done\":1}");
  assert_has(fixture_read(&fx, call, NULL), "{\"done\":1}");
  fixture_wait(&fx, &drained, 1);
  (void)close(idle);
  (void)close(stream);
  (void)close(call);
  (void)close(late);
  fixture_stop(&fx);
}

static void front_limits__reload_changes_who_may_come_in(void **state) {
  struct fixture fx;
  (void)state;
  fixture_start(&fx, fixture_settings());
  open_session(&fx);
  static struct hf_principal_settings nobody = {HF_STR("nobody"), {1}};
  struct hf_settings *next = fixture_settings();
  next->principals = &nobody;
  next->principal_count = 1;
  hf_front_http_reload(fx.front, next);
  hf_settings_free(next);
  assert_has(fixture_ask(&fx, fixture_post(session, PING)), "HTTP/1.1 401");
  fixture_stop(&fx);
}

/* Whatever allocation fails, that request alone suffers. */
static void front_limits__want_of_memory_harms_one_request(void **state) {
  struct fixture fx;
  (void)state;
  fixture_start(&fx, fixture_settings());
  for (long n = 0; n < 48; n++) {
    int fd = fixture_connect(&fx);
    turns(&fx, 2);
    hf_alloc_fail_after(n);
    const char *text = fixture_post("Accept: text/event-stream\r\n", INIT);
    fixture_send(&fx, fd, text, strlen(text));
    text = fixture_read(&fx, fd, NULL);
    hf_alloc_fail_after(-1);
    if (text[0] != '\0' && !strstr(text, "HTTP/1.1 200") && !strstr(text, "HTTP/1.1 500") &&
        !strstr(text, "HTTP/1.1 404"))
      fail_msg("allocation %ld: '%s'", n, text);
    (void)close(fd);
    turns(&fx, 2);
    assert_has(fixture_ask(&fx, HEALTH), "HTTP/1.1 200");
    fixture_stop(&fx);
    fixture_start(&fx, fixture_settings());
  }
  fixture_stop(&fx);
}

static void front_limits__beyond_loopback_only_with_tokens(void **state) {
  (void)state;
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_front_http *front = NULL;
  struct hf_error why = {0};
  assert_int_equal(uv_loop_init(&uv), 0);
  hf_loop_init(&loop, 1, NULL);
  struct hf_settings *settings = fixture_settings();
  settings->listen_host = HF_STR("0.0.0.0");
  struct hf_front_http_options options = {.uv = &uv, .loop = &loop, .settings = settings};
  assert_int_equal(hf_front_http_new(&options, &front, &why), HF_ERR_INVALID);
  assert_string_equal(why.text, "cannot listen on '0.0.0.0' without auth.tokens: not a loopback address");
  settings->listen_host = HF_STR("127.0.0.300");
  static struct hf_principal_settings nobody = {HF_STR("nobody"), {1}};
  settings->principals = &nobody;
  settings->principal_count = 1;
  assert_int_equal(hf_front_http_new(&options, &front, &why), HF_ERR_INVALID);
  while (uv_run(&uv, UV_RUN_NOWAIT) != 0)
    ;
  assert_int_equal(uv_loop_close(&uv), 0);
  hf_loop_deinit(&loop);
  hf_settings_free(settings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(front_limits__body),
      cmocka_unit_test(front_limits__header),
      cmocka_unit_test(front_limits__a_full_header_is_served),
      cmocka_unit_test(front_limits__json_depth_and_nodes),
      cmocka_unit_test(front_limits__connections),
      cmocka_unit_test(front_limits__more_connections_than_one_daemon_takes),
      cmocka_unit_test(front_limits__sessions),
      cmocka_unit_test(front_limits__sessions_per_principal),
      cmocka_unit_test(front_limits__idle_session_expires),
      cmocka_unit_test(front_limits__streams),
      cmocka_unit_test(front_limits__streams_of_one_session),
      cmocka_unit_test(front_limits__slow_sender_is_cut),
      cmocka_unit_test(front_limits__half_a_request_of_a_peer_that_closed_is_dropped_early),
      cmocka_unit_test(front_limits__reader_that_takes_nothing_is_cut),
      cmocka_unit_test(front_limits__stream_backlog),
      cmocka_unit_test(front_limits__answer_too_large_to_keep_leaves_an_error),
      cmocka_unit_test(front_limits__silence_is_broken_by_comments),
      cmocka_unit_test(front_limits__without_descriptors_accepting_pauses),
      cmocka_unit_test(front_limits__draining_ends_streams_and_answers_calls),
      cmocka_unit_test(front_limits__reload_changes_who_may_come_in),
      cmocka_unit_test(front_limits__want_of_memory_harms_one_request),
      cmocka_unit_test(front_limits__beyond_loopback_only_with_tokens),
  };
  return cmocka_run_group_tests_name("front_limits", tests, NULL, NULL);
}
