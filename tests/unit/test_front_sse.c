/* Sessions of HTTP+SSE at the front: one stream for each, POSTs that are only taken, and an end that is the stream's.
 */
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
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define LATER                                                                                                          \
  "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"later\",\"arguments\":{}}}"
#define OPEN "GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"

#define assert_has(text, part)                                                                                         \
  do {                                                                                                                 \
    const char *text_ = (text);                                                                                        \
    if (!strstr(text_, (part)))                                                                                        \
      fail_msg("no '%s' in '%.600s'", (part), text_);                                                                  \
  } while (0)

static struct hf_settings *sse_settings(void) {
  struct hf_settings *settings = fixture_settings();
  settings->sse.enabled = true;
  return settings;
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

/* Where the session's messages go, as the first event says it beside `/sse`. */
static void read_endpoint(struct fixture *fx, int fd, char endpoint[80]) {
  static const char event[] = "event: endpoint\ndata: ";
  const char *text = fixture_read(fx, fd, "\n\n");
  assert_has(text, "Content-Type: text/event-stream");
  assert_has(text, event);
  const char *data = strstr(text, event) + sizeof(event) - 1;
  (void)snprintf(endpoint, 80, "/%.*s", (int)strcspn(data, "\n"), data);
}

static int open_stream(struct fixture *fx, char endpoint[80]) {
  int fd = fixture_connect(fx);
  fixture_send(fx, fd, OPEN, sizeof(OPEN) - 1);
  read_endpoint(fx, fd, endpoint);
  return fd;
}

static const char *post(struct fixture *fx, const char *endpoint, const char *body) {
  char request[1024];
  (void)snprintf(
      request, sizeof(request),
      "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
      endpoint, strlen(body), body);
  return fixture_ask(fx, request);
}

static void front_sse__answers_come_on_the_stream_alone(void **state) {
  struct fixture fx;
  char endpoint[80];
  (void)state;
  fixture_start(&fx, sse_settings());
  int fd = open_stream(&fx, endpoint);
  const char *text = post(&fx, endpoint, PING);
  assert_has(text, "HTTP/1.1 202");
  assert_has(text, "Content-Length: 0");
  text = fixture_read(&fx, fd, "1}\n\n");
  assert_has(text, "event: message\ndata: {\"ok\":1}\n\n");
  assert_null(strstr(text, "id: "));
  (void)close(fd);
  fixture_stop(&fx);
}

static void front_sse__the_session_ends_with_its_stream(void **state) {
  struct fixture fx;
  char endpoint[80];
  (void)state;
  fixture_start(&fx, sse_settings());
  int fd = open_stream(&fx, endpoint);
  assert_has(post(&fx, endpoint, LATER), "HTTP/1.1 202");
  assert_int_equal(fx.open_count, 1);
  (void)close(fd);
  fixture_wait(&fx, &fx.clients, 0);
  assert_int_equal(fx.open_count, 0);
  assert_has(post(&fx, endpoint, PING), "HTTP/1.1 404");
  assert_int_equal(stats_of(&fx).sessions, 0);
  assert_int_equal(stats_of(&fx).streams, 0);
  fixture_stop(&fx);
}

/* A socket whose buffer takes little. */
static int open_small(struct fixture *fx, char endpoint[80]) {
  int fd = fixture_connect(fx);
  const int size = 4096;
  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
  fixture_send(fx, fd, OPEN, sizeof(OPEN) - 1);
  read_endpoint(fx, fd, endpoint);
  return fd;
}

static size_t count_of(struct fixture *fx, int fd, const char *part, size_t wanted) {
  static char chunk[RESPONSE_MAX];
  size_t count = 0;
  size_t kept = 0;
  const size_t len = strlen(part);
  for (hf_time end = hf_clock_now() + HF_SECONDS(10); count < wanted && hf_clock_now() < end;) {
    fixture_turn(fx);
    ssize_t n = recv(fd, chunk + kept, sizeof(chunk) - 1 - kept, MSG_DONTWAIT);
    if (n <= 0)
      continue;
    const char *at = chunk;
    size_t all = kept + (size_t)n;
    for (const char *found; (found = memmem(at, all - (size_t)(at - chunk), part, len)); at = found + len)
      count++;
    size_t rest = all - (size_t)(at - chunk);
    kept = rest < len - 1 ? rest : len - 1;
    memmove(chunk, chunk + all - kept, kept);
  }
  return count;
}

/* limits.writeBacklog: answers are waited for with the calls; what may not come on top are new calls. */
static void front_sse__answers_wait_for_a_slow_reader_and_new_calls_do_not(void **state) {
  enum { CALLS = 200 }; /* more bytes than sockets hold */
  struct fixture fx;
  char endpoint[80];
  (void)state;
  struct hf_settings *settings = sse_settings();
  settings->limits.write_backlog = 64 << 10;
  fixture_start(&fx, settings);
  int fd = open_stream(&fx, endpoint);
  for (size_t i = 0; i < CALLS; i++)
    assert_has(post(&fx, endpoint, LATER), "HTTP/1.1 202");
  static char answer[120000];
  memset(answer, 'x', sizeof(answer) - 1);
  memcpy(answer, "<answer>", 8);
  for (size_t i = 0; i < CALLS; i++) {
    fixture_finish(&fx, 0, answer);
    fixture_turn(&fx);
  }
  assert_int_equal(stats_of(&fx).cut_slow, 0);
  const char *text = post(&fx, endpoint, PING);
  assert_has(text, "HTTP/1.1 503");
  assert_has(text, "limits.writeBacklog");
  assert_int_equal(count_of(&fx, fd, "<answer>", CALLS), CALLS);
  turns(&fx, 10);
  assert_has(post(&fx, endpoint, PING), "HTTP/1.1 202");
  (void)close(fd);
  fixture_stop(&fx);
}

/* What did not arrive is an equal call's. */
static void front_sse__answers_that_were_not_written_are_told_of(void **state) {
  enum { CALLS = 200 };
  struct fixture fx;
  char endpoint[80];
  (void)state;
  fixture_start(&fx, sse_settings());
  int fd = open_stream(&fx, endpoint);
  static char answer[120000];
  memset(answer, 'x', sizeof(answer) - 1);
  for (size_t i = 0; i < CALLS; i++)
    assert_has(post(&fx, endpoint, LATER), "HTTP/1.1 202");
  for (size_t i = 1; i <= CALLS; i++) {
    fx.open[0]->call = i;
    fixture_finish(&fx, 0, answer);
  }
  (void)close(fd);
  fixture_wait(&fx, &fx.unheard, CALLS);
  assert_int_equal(fx.clients, 0);
  fixture_stop(&fx);
}

static void front_sse__notices_beyond_the_backlog_cut_the_reader_off(void **state) {
  struct fixture fx;
  char endpoint[80];
  (void)state;
  struct hf_settings *settings = sse_settings();
  settings->limits.write_backlog = 256 << 10;
  fixture_start(&fx, settings);
  int fd = open_small(&fx, endpoint);
  static char message[60000];
  memset(message, 'x', sizeof(message) - 1);
  for (int i = 0; i < 400 && stats_of(&fx).cut_slow == 0; i++) {
    fixture_notify(&fx, message);
    fixture_turn(&fx);
  }
  assert_int_equal(stats_of(&fx).cut_slow, 1);
  fixture_wait(&fx, &fx.clients, 0);
  (void)close(fd);
  fixture_stop(&fx);
}

/* Whatever allocation fails: the stream is refused or begins with its endpoint, and a call that was taken is answered,
 * or its stream ends. */
static void front_sse__want_of_memory_leaves_nobody_waiting(void **state) {
  struct fixture fx;
  char endpoint[80];
  (void)state;
  for (long n = 0; n < 24; n++) {
    fixture_start(&fx, sse_settings());
    int fd = fixture_connect(&fx);
    turns(&fx, 2);
    hf_alloc_fail_after(n);
    fixture_send(&fx, fd, OPEN, sizeof(OPEN) - 1);
    const char *text = fixture_read(&fx, fd, "\r\n\r\n");
    bool opened = strstr(text, "HTTP/1.1 200") != NULL;
    if (opened && !strstr(text, "event: endpoint") && !strstr(fixture_read(&fx, fd, "\n\n"), "event: endpoint") &&
        !fixture_closed(&fx, fd))
      fail_msg("allocation %ld: '%s'", n, text);
    hf_alloc_fail_after(-1);
    (void)close(fd);
    fixture_wait(&fx, &fx.clients, 0);
    fd = open_stream(&fx, endpoint);
    hf_alloc_fail_after(n);
    text = post(&fx, endpoint, PING);
    hf_alloc_fail_after(-1);
    if (strstr(text, "HTTP/1.1 202") && !strstr(fixture_read(&fx, fd, "1}\n\n"), "{\"ok\":1}") &&
        !fixture_closed(&fx, fd))
      fail_msg("allocation %ld: a call without an end", n);
    (void)close(fd);
    fixture_stop(&fx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(front_sse__answers_come_on_the_stream_alone),
      cmocka_unit_test(front_sse__the_session_ends_with_its_stream),
      cmocka_unit_test(front_sse__answers_wait_for_a_slow_reader_and_new_calls_do_not),
      cmocka_unit_test(front_sse__answers_that_were_not_written_are_told_of),
      cmocka_unit_test(front_sse__notices_beyond_the_backlog_cut_the_reader_off),
      cmocka_unit_test(front_sse__want_of_memory_leaves_nobody_waiting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
