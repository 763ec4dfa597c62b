/* Requests that two programs could read differently, as raw bytes over a real connection. */
#include "http_front.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define HEAD "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
#define GOOD "Content-Length: 40\r\n"

struct raw_case {
  const char *name;
  const char *bytes;
  size_t len;
  const char *expect; /* how the answer begins; "" is a connection closed without one */
};

#define CASE(name, bytes, expect)                                                                                      \
  { name, bytes, sizeof(bytes) - 1, expect }

static const struct raw_case cases[] = {
    CASE("both framings", HEAD GOOD "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"),
    CASE("both framings, other order", HEAD "Transfer-Encoding: chunked\r\n" GOOD "\r\n" PING, "HTTP/1.1 400"),
    CASE("unknown coding", HEAD "Transfer-Encoding: gzip\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("two codings", HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"),
    CASE("chunked twice", HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "HTTP/1.1 400"),
    CASE("chunked, misspelt", HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"),
    CASE("chunked behind a tab", HEAD "Transfer-Encoding: \x0b chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 400"),
    CASE("empty coding", HEAD "Transfer-Encoding:\r\n" GOOD "\r\n" PING, "HTTP/1.1 400"),
    CASE("coding in HTTP/1.0", "POST /mcp HTTP/1.0\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "HTTP/1.1 400"),
    CASE("length twice, equal", HEAD GOOD GOOD "\r\n" PING, "HTTP/1.1 400"),
    CASE("length twice, different", HEAD GOOD "Content-Length: 41\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("length as a list", HEAD "Content-Length: 40, 40\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("signed length", HEAD "Content-Length: +40\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("negative length", HEAD "Content-Length: -40\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("hexadecimal length", HEAD "Content-Length: 0x28\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("length with rubbish", HEAD "Content-Length: 40 x\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("empty length", HEAD "Content-Length:\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("huge length", HEAD "Content-Length: 99999999999999999999999\r\n\r\n" PING, "HTTP/1.1 413"),
    CASE("missing Host", "GET /mcp HTTP/1.1\r\nAccept: */*\r\n\r\n", "HTTP/1.1 400"),
    CASE("missing Host in HTTP/1.0", "GET /mcp HTTP/1.0\r\n\r\n", "HTTP/1.1 400"),
    CASE("empty Host", "GET /mcp HTTP/1.1\r\nHost:\r\n\r\n", "HTTP/1.1 400"),
    CASE("Host twice", HEAD GOOD "Host: 127.0.0.1\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("Host twice, different", HEAD GOOD "Host: evil.example\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("session twice", HEAD GOOD "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("absolute target", "GET http://127.0.0.1/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("authority target", "CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("asterisk target", "OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("fragment in the target", "GET /mcp#x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("NUL in the target", "GET /mcp\0x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("two spaces before the target", "GET  /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("two spaces behind the target", "GET /mcp  HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", ""),
    CASE("no version", "GET /mcp\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("version 2", "GET /mcp HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 505"),
    CASE("version 1.2", "GET /mcp HTTP/1.2\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("bare LF behind the request line", "GET /mcp HTTP/1.1\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("bare LF behind a header", "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\nAccept: */*\r\n\r\n", "HTTP/1.1 400"),
    CASE("bare LF at the end", "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\n", "HTTP/1.1 400"),
    CASE("bare CR in a value", HEAD GOOD "X: a\rContent-Length: 2\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("bare CR in the request line", "GET /mcp\rx HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("NUL in a value", HEAD GOOD "X: a\0b\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("NUL in a name", HEAD GOOD "X\0Y: a\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("NUL for a colon", HEAD GOOD "X\0 a\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("folded header", HEAD GOOD "X: a\r\n b\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("folded length", HEAD "Content-Length:\r\n 40\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("folded first line", "GET /mcp HTTP/1.1\r\n Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 400"),
    CASE("space before the colon", HEAD "Content-Length : 40\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("no colon", HEAD GOOD "rubbish\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("empty name", HEAD GOOD ": x\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("control character in a value", HEAD GOOD "X: \x01\r\n\r\n" PING, "HTTP/1.1 400"),
    CASE("name outside ASCII", HEAD GOOD "X\xc3\xa4: a\r\n\r\n" PING, "HTTP/1.1 400"),
};

static void front_framing__refuses_what_can_be_read_in_two_ways(void **state) {
  struct fixture *fx = *state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    int fd = fixture_connect(fx);
    fixture_send(fx, fd, cases[i].bytes, cases[i].len);
    const char *text = fixture_read(fx, fd, NULL);
    if (cases[i].expect[0] ? strncmp(text, cases[i].expect, strlen(cases[i].expect)) != 0 : text[0] != '\0')
      fail_msg("%s: wanted '%s', got '%s'", cases[i].name, cases[i].expect, text);
    if (strstr(text, "Mcp-Session-Id header is missing"))
      fail_msg("%s: read as a good request", cases[i].name);
    (void)close(fd);
    assert_int_equal(fx->handled, 0);
  }
}

/* The measure for the table above: the same requests without anything odd get as far as the protocol. */
static void front_framing__takes_either_framing(void **state) {
  struct fixture *fx = *state;
  assert_non_null(strstr(fixture_ask(fx, HEAD GOOD "\r\n" PING), "Mcp-Session-Id header is missing"));
  assert_non_null(
      strstr(fixture_ask(fx, HEAD "Transfer-Encoding: chunked\r\n\r\n13\r\n{\"jsonrpc\":\"2.0\",\"i\r\n15\r\n"
                                  "d\":1,\"method\":\"ping\"}\r\n0\r\n\r\n"),
             "Mcp-Session-Id header is missing"));
}

/* What follows a refused request on the connection is never taken for another one. */
static void front_framing__reads_nothing_behind_an_ambiguous_request(void **state) {
  struct fixture *fx = *state;
  static const char smuggled[] = HEAD GOOD "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                                           "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  int fd = fixture_connect(fx);
  fixture_send(fx, fd, smuggled, sizeof(smuggled) - 1);
  const char *text = fixture_read(fx, fd, "/healthz");
  assert_non_null(strstr(text, "HTTP/1.1 400"));
  assert_null(strstr(text, "HTTP/1.1 200"));
  assert_non_null(strstr(text, "Connection: close"));
  assert_true(fixture_closed(fx, fd));
  (void)close(fd);
}

static void front_framing__answers_pipelined_requests_in_order(void **state) {
  struct fixture *fx = *state;
  static const char two[] = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                            "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  int fd = fixture_connect(fx);
  fixture_send(fx, fd, two, sizeof(two) - 1);
  const char *text = fixture_read(fx, fd, "\r\n\r\n/readyz");
  const char *first = strstr(text, "\r\n\r\n/healthz");
  assert_non_null(first);
  assert_non_null(strstr(first, "HTTP/1.1 503"));
  (void)close(fd);
}

/* Bytes behind a request whose answer takes time wait for it; they end nothing and are not lost. */
static void front_framing__stray_bytes_wait_for_a_pending_call(void **state) {
  struct fixture *fx = *state;
  char id[64];
  (void)snprintf(id, sizeof(id), "Mcp-Session-Id: %s\r\n", fixture_session(fx, "2025-06-18"));
  size_t handled = fx->handled;
  int fd = fixture_connect(fx);
  const char *call = fixture_post(
      id, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"later\",\"arguments\":{}}}");
  fixture_send(fx, fd, call, strlen(call));
  fixture_wait(fx, &fx->open_count, 1);
  fixture_send(fx, fd, "\x01 rubbish\r\n\r\n", 13);
  fixture_turn(fx);
  assert_int_equal(fx->open_count, 1);
  fixture_finish(fx, 0, "{\"late\":1}");
  assert_non_null(strstr(fixture_read(fx, fd, NULL), "{\"late\":1}"));
  assert_true(fixture_closed(fx, fd));
  assert_int_equal(fx->handled, handled + 1);
  (void)close(fd);
}

static void front_framing__a_half_closed_peer_gets_its_answer(void **state) {
  struct fixture *fx = *state;
  char id[64];
  (void)snprintf(id, sizeof(id), "Mcp-Session-Id: %s\r\n", fixture_session(fx, "2025-06-18"));
  int fd = fixture_connect(fx);
  const char *call = fixture_post(
      id, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"later\",\"arguments\":{}}}");
  fixture_send(fx, fd, call, strlen(call));
  fixture_wait(fx, &fx->open_count, 1);
  assert_int_equal(shutdown(fd, SHUT_WR), 0);
  fixture_turn(fx);
  fixture_turn(fx);
  fixture_finish(fx, 0, "{\"late\":1}");
  assert_non_null(strstr(fixture_read(fx, fd, NULL), "{\"late\":1}"));
  (void)close(fd);
}

static void front_framing__a_request_cut_anywhere_harms_nobody(void **state) {
  struct fixture *fx = *state;
  const char *whole = fixture_post("", PING);
  size_t len = strlen(whole);
  for (size_t cut = 0; cut < len; cut++) {
    int fd = fixture_connect(fx);
    fixture_send(fx, fd, whole, cut);
    (void)shutdown(fd, SHUT_WR);
    fixture_turn(fx);
    (void)close(fd);
  }
  assert_int_equal(fx->handled, 0);
  assert_non_null(strstr(fixture_ask(fx, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), "HTTP/1.1 200"));
}

static int set_up(void **state) {
  static struct fixture fx;
  fixture_start(&fx, fixture_settings());
  *state = &fx;
  return 0;
}

static int tear_down(void **state) {
  fixture_stop(*state);
  return 0;
}

#define WITH_FRONT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FRONT(front_framing__refuses_what_can_be_read_in_two_ways),
      WITH_FRONT(front_framing__takes_either_framing),
      WITH_FRONT(front_framing__reads_nothing_behind_an_ambiguous_request),
      WITH_FRONT(front_framing__answers_pipelined_requests_in_order),
      WITH_FRONT(front_framing__stray_bytes_wait_for_a_pending_call),
      WITH_FRONT(front_framing__a_half_closed_peer_gets_its_answer),
      WITH_FRONT(front_framing__a_request_cut_anywhere_harms_nobody),
  };
  return cmocka_run_group_tests_name("front_framing", tests, NULL, NULL);
}
