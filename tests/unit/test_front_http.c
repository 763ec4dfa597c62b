/* The protocol over the HTTP front: sessions, streams, both eras, and who may come in. */
#include "http_front.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PING "{\"jsonrpc\":\"2.0\",\"id\":\"p-1\",\"method\":\"ping\"}"
#define LATER                                                                                                          \
  "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"later\",\"arguments\":{}}}"
#define BIG "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"big\",\"arguments\":{}}}"
#define META                                                                                                           \
  "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                             \
  "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN "MCP-Protocol-Version: 2026-07-28\r\n"
#define MODERN_CALL(tool)                                                                                              \
  "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":{}," META   \
  "}}"
#define MODERN_HEAD MODERN "Mcp-Method: tools/call\r\nMcp-Name: later\r\n"
#define LISTEN                                                                                                         \
  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{}," META "}}"

#define assert_has(text, part)                                                                                         \
  do {                                                                                                                 \
    const char *text_ = (text);                                                                                        \
    if (!strstr(text_, (part)))                                                                                        \
      fail_msg("no '%s' in '%s'", (part), text_);                                                                      \
  } while (0)

static const char *session_header(struct fixture *fx, const char *version) {
  static char header[128];
  (void)snprintf(header, sizeof(header), "Mcp-Session-Id: %s\r\n", fixture_session(fx, version));
  return header;
}

static const char *ask(struct fixture *fx, const char *method, const char *path, const char *extra) {
  char text[2048];
  (void)snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", method, path, extra);
  return fixture_ask(fx, text);
}

static int open_get(struct fixture *fx, const char *extra) {
  char text[8192];
  (void)snprintf(text, sizeof(text), "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n%s\r\n",
                 extra);
  int fd = fixture_connect(fx);
  fixture_send(fx, fd, text, strlen(text));
  return fd;
}

static int open_post(struct fixture *fx, const char *extra, const char *body) {
  int fd = fixture_connect(fx);
  const char *text = fixture_post(extra, body);
  fixture_send(fx, fd, text, strlen(text));
  return fd;
}

/* What a client sees of the era before any message: table of requests that end at the front. */
static void front_http__answers_bad_requests_with_their_status(void **state) {
  struct fixture *fx = *state;
  static const struct {
    const char *extra;
    const char *body;
    const char *status;
    const char *part;
  } cases[] = {
      {"", "{", "HTTP/1.1 400", "-32700"},
      {"", "", "HTTP/1.1 400", "-32700"},
      {"", "[]", "HTTP/1.1 400", "-32600"},
      {"", "[" PING "]", "HTTP/1.1 400", "-32600"},
      {"", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"method\":\"x\"}", "HTTP/1.1 400", "-32600"},
      {"", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"\\u006dethod\":\"x\"}", "HTTP/1.1 400", "-32600"},
      {"", "{\"jsonrpc\":\"2.0\",\"id\":5}", "HTTP/1.1 400", "-32600"},
      {"", PING, "HTTP/1.1 400", "\"id\":\"p-1\""},
      {"Mcp-Session-Id: 00112233445566778899aabbccddeeff\r\n", PING, "HTTP/1.1 404", "\"id\":\"p-1\""},
      {"MCP-Protocol-Version: garbage\r\n", PING, "HTTP/1.1 400", "\"id\":\"p-1\""},
      {"Accept: text/html\r\n", PING, "HTTP/1.1 406", "Accept"},
      {"Accept: application/json;q=0, text/event-stream;q=0.0\r\n", PING, "HTTP/1.1 406", "Accept"},
      {"Content-Encoding: gzip\r\n", PING, "HTTP/1.1 415", "Content-Encoding"},
      {MODERN, PING, "HTTP/1.1 400", "-32602"},
      {MODERN, MODERN_CALL("x"), "HTTP/1.1 400", "-32020"},
      {"Mcp-Method: tools/call\r\nMcp-Name: x\r\n", MODERN_CALL("x"), "HTTP/1.1 400", "-32020"},
      {"MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/call\r\nMcp-Name: x\r\n", MODERN_CALL("x"),
       "HTTP/1.1 400", "-32020"},
      {MODERN "Mcp-Method: tools/list\r\nMcp-Name: x\r\n", MODERN_CALL("x"), "HTTP/1.1 400", "-32020"},
      {MODERN "Mcp-Method: tools/call\r\n", MODERN_CALL("x"), "HTTP/1.1 400", "-32020"},
      {MODERN "Mcp-Method: tools/call\r\nMcp-Name: y\r\n", MODERN_CALL("x"), "HTTP/1.1 400", "-32020"},
      {MODERN "Mcp-Method: tools/call\r\nMcp-Name: =?base64?!!?=\r\n", MODERN_CALL("x"), "HTTP/1.1 400", "-32020"},
      {"MCP-Protocol-Version: 2099-01-01\r\nMcp-Method: ping\r\n",
       "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
       "protocolVersion\":\"2099-01-01\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
       "HTTP/1.1 400", "\"supported\":[\"2026-07-28\"],\"requested\":\"2099-01-01\""},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *text = fixture_ask(fx, fixture_post(cases[i].extra, cases[i].body));
    if (!strstr(text, cases[i].status) || !strstr(text, cases[i].part))
      fail_msg("case %zu: wanted '%s' and '%s', got '%s'", i, cases[i].status, cases[i].part, text);
  }
  assert_int_equal(fx->handled, 0);
}

static void front_http__knows_its_paths_and_methods(void **state) {
  struct fixture *fx = *state;
  assert_has(ask(fx, "GET", "/healthz", ""), "HTTP/1.1 200");
  assert_has(ask(fx, "GET", "/readyz?x=1", ""), "HTTP/1.1 503");
  assert_has(ask(fx, "GET", "/metrics", ""), "\r\n\r\n/metrics");
  assert_has(ask(fx, "POST", "/metrics", "Content-Length: 0\r\n"), "Allow: GET, HEAD");
  assert_has(ask(fx, "GET", "/", ""), "HTTP/1.1 404");
  assert_has(ask(fx, "GET", "/mcpx", ""), "HTTP/1.1 404");
  assert_has(ask(fx, "GET", "/mcp/a/b", ""), "HTTP/1.1 404");
  assert_has(ask(fx, "GET", "/mcp/a%2fb", ""), "HTTP/1.1 404");
  assert_has(ask(fx, "GET", "/mcp/%00", ""), "HTTP/1.1 404");
  assert_has(ask(fx, "PUT", "/mcp", ""), "HTTP/1.1 405");
  assert_has(ask(fx, "GET", "/mcp", MODERN), "HTTP/1.1 405");
  assert_has(ask(fx, "DELETE", "/mcp", MODERN), "HTTP/1.1 405");
  assert_has(ask(fx, "GET", "/mcp", ""), "HTTP/1.1 400");
  assert_has(ask(fx, "POST", "/mcp", "Content-Type: text/plain\r\nContent-Length: 0\r\n"), "HTTP/1.1 415");
}

static void front_http__session_lives_until_deleted(void **state) {
  struct fixture *fx = *state;
  const char *session = session_header(fx, "2025-06-18");
  assert_has(fixture_ask(fx, fixture_post(session, PING)), "{\"ok\":1}");
  const char *notified =
      fixture_ask(fx, fixture_post(session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
  assert_has(notified, "HTTP/1.1 202");
  assert_has(notified, "Content-Length: 0");
  assert_int_equal(fx->notifications, 1);
  assert_has(ask(fx, "DELETE", "/mcp", session), "HTTP/1.1 204");
  assert_int_equal(fx->clients, 0);
  assert_has(fixture_ask(fx, fixture_post(session, PING)), "HTTP/1.1 404");
  assert_has(ask(fx, "GET", "/mcp", session), "HTTP/1.1 404");
  assert_has(ask(fx, "DELETE", "/mcp", session), "HTTP/1.1 404");
}

static void front_http__initialize_ignores_a_stale_session(void **state) {
  struct fixture *fx = *state;
  const char *text = fixture_ask(
      fx, fixture_post("Mcp-Session-Id: stale\r\nMCP-Protocol-Version: nonsense\r\n",
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                       "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"));
  assert_has(text, "HTTP/1.1 200");
  assert_has(text, "Mcp-Session-Id: ");
  assert_null(strstr(text, "stale"));
}

static void front_http__failed_initialize_leaves_no_session(void **state) {
  struct fixture *fx = *state;
  const char *text = fixture_ask(
      fx, fixture_post("", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                           "\"refuse\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"));
  assert_null(strstr(text, "Mcp-Session-Id"));
  fixture_wait(fx, &fx->clients, 0);
}

static void front_http__session_belongs_to_its_endpoint(void **state) {
  struct fixture *fx = *state;
  const char *session = session_header(fx, "2025-06-18");
  char text[1024];
  (void)snprintf(text, sizeof(text),
                 "POST /mcp/files HTTP/1.1\r\nHost: localhost:80\r\nContent-Type: application/json\r\n%s"
                 "Content-Length: %zu\r\n\r\n%s",
                 session, strlen(PING), PING);
  assert_has(fixture_ask(fx, text), "HTTP/1.1 404");
}

static void front_http__unknown_server_is_not_found(void **state) {
  struct fixture *fx = *state;
  static const char text[] = "POST /mcp/nobody HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" MODERN
                             "Mcp-Method: tools/call\r\nMcp-Name: x\r\nContent-Length: %zu\r\n\r\n%s";
  char request[2048];
  (void)snprintf(request, sizeof(request), text, strlen(MODERN_CALL("x")), MODERN_CALL("x"));
  assert_has(fixture_ask(fx, request), "HTTP/1.1 404");
  assert_int_equal(fx->clients, 0);
}

static void front_http__call_turns_to_events_at_the_first_message(void **state) {
  struct fixture *fx = *state;
  int fd = open_post(fx, session_header(fx, "2025-06-18"), LATER);
  fixture_wait(fx, &fx->open_count, 1);
  fixture_message(fx, 0, "{\"progress\":\n1}");
  const char *text = fixture_read(fx, fd, "1}\n\n");
  assert_has(text, "Content-Type: text/event-stream");
  assert_has(text, "X-Accel-Buffering: no");
  assert_has(text, "Cache-Control: no-store");
  assert_has(text, "-0-1\nevent: message\ndata: {\"progress\":\ndata: 1}\n\n");
  fixture_finish(fx, 0, "{\"done\":1}");
  assert_has(fixture_read(fx, fd, "0\r\n\r\n"), "data: {\"done\":1}\n\n");
  (void)close(fd);
}

static void front_http__client_that_takes_json_only_gets_json(void **state) {
  struct fixture *fx = *state;
  char extra[256];
  (void)snprintf(extra, sizeof(extra), "%sAccept: application/json\r\n", session_header(fx, "2025-06-18"));
  int fd = open_post(fx, extra, LATER);
  fixture_wait(fx, &fx->open_count, 1);
  fixture_message(fx, 0, "{\"progress\":1}");
  fixture_finish(fx, 0, "{\"done\":1}");
  assert_has(fixture_read(fx, fd, NULL), "Content-Type: application/json");
  struct hf_front_http_stats stats;
  hf_front_http_stats(fx->front, &stats);
  assert_int_equal(stats.dropped, 1);
  (void)close(fd);
}

static void front_http__client_that_takes_events_only_gets_events(void **state) {
  struct fixture *fx = *state;
  char extra[256];
  (void)snprintf(extra, sizeof(extra), "%sAccept: text/event-stream\r\n", session_header(fx, "2025-06-18"));
  const char *text = fixture_ask(fx, fixture_post(extra, PING));
  assert_has(text, "Content-Type: text/event-stream");
  assert_has(text, "data: {\"ok\":1}\n\n");
}

static void event_id(const char *text, char id[80]) {
  const char *last = NULL;
  for (const char *at = text; (at = strstr(at, "id: ")); at++)
    last = at;
  assert_non_null(last);
  (void)snprintf(id, 80, "%.*s", (int)strcspn(last + 4, "\n"), last + 4);
}

static void front_http__broken_stream_is_resumed_where_it_broke(void **state) {
  struct fixture *fx = *state;
  char session[128];
  (void)snprintf(session, sizeof(session), "%s", session_header(fx, "2025-11-25"));
  int fd = open_post(fx, session, LATER);
  fixture_wait(fx, &fx->open_count, 1);
  fixture_message(fx, 0, "{\"progress\":1}");
  const char *text = fixture_read(fx, fd, "1}\n\n");
  assert_has(text, "-0-1\ndata: \n\n"); /* the priming event */
  char id[80];
  event_id(text, id);
  (void)close(fd);
  for (int i = 0; i < 5; i++)
    fixture_turn(fx);
  fixture_finish(fx, 0, "{\"done\":1}");
  assert_int_equal(fx->abandoned, 0);
  char extra[512];
  (void)snprintf(extra, sizeof(extra), "%sLast-Event-ID: %s\r\n", session, id);
  for (int i = 0; i < 2; i++) { /* and once more, when the resumed stream breaks before anything came */
    fd = open_get(fx, extra);
    text = fixture_read(fx, fd, "0\r\n\r\n");
    assert_has(text, "data: {\"done\":1}\n\n");
    assert_null(strstr(text, "progress"));
    (void)close(fd);
  }
}

static void refuse_resumption(struct fixture *fx, const char *extra, const char *why) {
  int fd = open_get(fx, extra);
  const char *text = fixture_read(fx, fd, NULL);
  assert_has(text, "HTTP/1.1 400");
  assert_has(text, why);
  (void)close(fd);
}

static void front_http__foreign_event_ids_are_answered_cleanly(void **state) {
  struct fixture *fx = *state;
  char other[128];
  (void)snprintf(other, sizeof(other), "%s", session_header(fx, "2025-06-18"));
  int fd = open_get(fx, other);
  assert_has(fixture_read(fx, fd, "\r\n\r\n"), "HTTP/1.1 200");
  fixture_notify(fx, "{\"secret\":1}");
  char id[80];
  event_id(fixture_read(fx, fd, "1}\n\n"), id);
  (void)close(fd);
  char session[128];
  (void)snprintf(session, sizeof(session), "%s", session_header(fx, "2025-06-18"));
  char extra[6000];
  (void)snprintf(extra, sizeof(extra), "%sLast-Event-ID: %s\r\n", session, id);
  refuse_resumption(fx, extra, "of another session");
  (void)snprintf(extra, sizeof(extra), "%sLast-Event-ID: %.9s9-1\r\n", other, id);
  refuse_resumption(fx, extra, "never sent in this session"); /* there is no such stream */
  (void)snprintf(extra, sizeof(extra), "%sLast-Event-ID: %.11s2\r\n", other, id);
  refuse_resumption(fx, extra, "never sent in this session"); /* nor such an event, yet */
  (void)snprintf(extra, sizeof(extra), "%sLast-Event-ID: %.11s0\r\n", other, id);
  refuse_resumption(fx, extra, "never sent in this session");
  static const char *const malformed[] = {
      "_", "-", "--", "1-2", "1-2-", "00000000-0-1-2", "G-0-1", "\xc3\xa4", "-1-2-3", "00000000-0-11111111111111111"};
  for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
    (void)snprintf(extra, sizeof(extra), "%sLast-Event-ID: %s\r\n", session, malformed[i]);
    refuse_resumption(fx, extra, "never sent by this server");
  }
  fd = open_get(fx, session);
  assert_has(fixture_read(fx, fd, "\r\n\r\n"), "HTTP/1.1 200");
  fixture_notify(fx, "{\"mine\":1}");
  const char *text = fixture_read(fx, fd, "1}\n\n");
  assert_has(text, "{\"mine\":1}");
  assert_null(strstr(text, "secret"));
  (void)close(fd);
}

/* Without an event id a client goes on where its stream was left, however often that breaks. */
static void go_on_without_an_id(struct fixture *fx, const char *version, bool primed) {
  char session[128];
  (void)snprintf(session, sizeof(session), "%s", session_header(fx, version));
  for (size_t i = 0; i < 100; i++) {
    int fd = open_get(fx, session);
    const char *text = fixture_read(fx, fd, primed ? "data: \n\n" : "retry: 1");
    assert_has(text, "retry: 1");
    if (i == 0) {
      fixture_notify(fx, "{\"seen\":1}");
      text = fixture_read(fx, fd, "1}\n\n");
      assert_has(text, primed ? "-0-2\n" : "-0-1\n");
    }
    (void)close(fd);
    for (struct hf_front_http_stats stats = {.streams = 1}; stats.streams > 0;) {
      fixture_turn(fx);
      hf_front_http_stats(fx->front, &stats);
    }
  }
  fixture_notify(fx, "{\"away\":1}");
  int fd = open_get(fx, session);
  const char *text = fixture_read(fx, fd, "1}\n\n");
  assert_has(text, primed ? "-0-66\nevent: message\ndata: {\"away\":1}\n\n" /* primed each time */
                          : "-0-2\nevent: message\ndata: {\"away\":1}\n\n");
  assert_null(strstr(text, "seen"));
  (void)close(fd);
}

static void front_http__a_broken_stream_goes_on_without_an_id(void **state) {
  go_on_without_an_id(*state, "2025-06-18", false);
}

static void front_http__a_client_without_an_id_gets_one_each_time(void **state) {
  go_on_without_an_id(*state, "2025-11-25", true);
}

/* All answers that came while their client was away are there when it comes back, not only the newest few. */
static void front_http__many_streams_that_broke_at_once_are_all_resumed(void **state) {
  enum { CALLS = 20 };
  struct fixture *fx = *state;
  char session[128];
  char id[CALLS][80];
  int fd[CALLS];
  (void)snprintf(session, sizeof(session), "%s", session_header(fx, "2025-11-25"));
  for (size_t i = 0; i < CALLS; i++) {
    fd[i] = open_post(fx, session, LATER);
    fixture_wait(fx, &fx->open_count, i + 1);
    fixture_message(fx, i, "{\"progress\":1}");
    event_id(fixture_read(fx, fd[i], "1}\n\n"), id[i]);
    (void)close(fd[i]);
    for (struct hf_front_http_stats stats = {.streams = 1}; stats.streams > 0;) {
      fixture_turn(fx);
      hf_front_http_stats(fx->front, &stats);
    }
  }
  for (size_t i = CALLS; i > 0; i--) {
    char answer[40];
    (void)snprintf(answer, sizeof(answer), "{\"answer\":%zu}", i - 1);
    fixture_finish(fx, i - 1, answer);
  }
  int other = open_post(fx, session, LATER);
  fixture_wait(fx, &fx->open_count, 1);
  fixture_message(fx, 0, "{\"progress\":1}");
  fixture_finish(fx, 0, "{\"done\":1}");
  assert_has(fixture_read(fx, other, "0\r\n\r\n"), "{\"done\":1}");
  (void)close(other);
  for (size_t i = 0; i < CALLS; i++) {
    char extra[512];
    char answer[40];
    (void)snprintf(extra, sizeof(extra), "%sLast-Event-ID: %s\r\n", session, id[i]);
    (void)snprintf(answer, sizeof(answer), "data: {\"answer\":%zu}\n\n", i);
    int again = open_get(fx, extra);
    assert_has(fixture_read(fx, again, "0\r\n\r\n"), answer);
    (void)close(again);
  }
}

static void front_http__notice_waits_for_the_stream(void **state) {
  struct fixture *fx = *state;
  char session[128];
  (void)snprintf(session, sizeof(session), "%s", session_header(fx, "2025-06-18"));
  fixture_notify(fx, "{\"early\":1}");
  int fd = open_get(fx, session);
  assert_has(fixture_read(fx, fd, "1}\n\n"), "{\"early\":1}");
  fixture_notify(fx, "{\"second\":1}");
  assert_has(fixture_read(fx, fd, "1}\n\n"), "{\"second\":1}");
  assert_has(ask(fx, "DELETE", "/mcp", session), "HTTP/1.1 204");
  assert_has(fixture_read(fx, fd, "0\r\n\r\n"), "0\r\n\r\n");
  (void)close(fd);
}

static void front_http__deleting_a_session_answers_its_calls(void **state) {
  struct fixture *fx = *state;
  char session[128];
  (void)snprintf(session, sizeof(session), "%s", session_header(fx, "2025-06-18"));
  int fd = open_post(fx, session, LATER);
  fixture_wait(fx, &fx->open_count, 1);
  assert_has(ask(fx, "DELETE", "/mcp", session), "HTTP/1.1 204");
  const char *text = fixture_read(fx, fd, NULL);
  assert_has(text, "HTTP/1.1 404");
  assert_has(text, "\"id\":7");
  (void)close(fd);
}

static void front_http__legacy_disconnect_cancels_nothing(void **state) {
  struct fixture *fx = *state;
  int fd = open_post(fx, session_header(fx, "2025-06-18"), LATER);
  fixture_wait(fx, &fx->open_count, 1);
  (void)close(fd);
  for (int i = 0; i < 20; i++) {
    fixture_turn(fx);
    (void)poll(NULL, 0, 1);
  }
  assert_int_equal(fx->open_count, 1);
  assert_int_equal(fx->abandoned, 0);
  fixture_finish(fx, 0, "{\"done\":1}");
}

static void front_http__modern_disconnect_cancels(void **state) {
  struct fixture *fx = *state;
  int fd = open_post(fx, MODERN_HEAD, MODERN_CALL("later"));
  fixture_wait(fx, &fx->open_count, 1);
  (void)close(fd);
  fixture_wait(fx, &fx->abandoned, 1);
  fd = open_post(fx, MODERN_HEAD, MODERN_CALL("later"));
  fixture_wait(fx, &fx->open_count, 1);
  fixture_message(fx, 0, "{\"progress\":1}");
  const char *text = fixture_read(fx, fd, "1}\n\n");
  assert_null(strstr(text, "id: "));
  (void)close(fd);
  fixture_wait(fx, &fx->abandoned, 2);
  assert_int_equal(fx->clients, 1);
}

static void front_http__modern_status_comes_from_the_gateway(void **state) {
  struct fixture *fx = *state;
  assert_has(
      fixture_ask(fx, fixture_post(MODERN "Mcp-Method: no/such\r\n",
                                   "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"no/such\",\"params\":{" META "}}")),
      "HTTP/1.1 404");
}

/* What says in `_meta` that it is modern is judged as that, whatever its method once was. */
static void front_http__a_modern_initialize_opens_no_session(void **state) {
  struct fixture *fx = *state;
  const char *text = fixture_ask(fx, fixture_post(MODERN "Mcp-Method: initialize\r\n",
                                                  "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"initialize\",\"params\":{"
                                                  "\"protocolVersion\":\"2026-07-28\"," META "}}"));
  assert_null(strstr(text, "Mcp-Session-Id"));
  assert_int_equal(fx->clients, 1);
  assert_has(
      fixture_ask(fx, fixture_post(MODERN "Mcp-Method: no/such\r\n",
                                   "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"no/such\",\"params\":{" META "}}")),
      "HTTP/1.1 404");
  assert_int_equal(fx->clients, 1);
}

static void front_http__listen_stays_open(void **state) {
  struct fixture *fx = *state;
  int fd = open_post(fx, MODERN "Mcp-Method: subscriptions/listen\r\n", LISTEN);
  fixture_wait(fx, &fx->open_count, 1);
  fixture_message(fx, 0, "{\"acknowledged\":1}");
  assert_has(fixture_read(fx, fd, "1}\n\n"), "data: {\"acknowledged\":1}\n\n");
  fixture_message(fx, 0, "{\"changed\":1}");
  assert_has(fixture_read(fx, fd, "1}\n\n"), "data: {\"changed\":1}\n\n");
  (void)close(fd);
  fixture_wait(fx, &fx->abandoned, 1);
}

static void front_http__same_ids_on_two_connections_are_two_requests(void **state) {
  struct fixture *fx = *state;
  char session[128];
  (void)snprintf(session, sizeof(session), "%s", session_header(fx, "2025-06-18"));
  int first = open_post(fx, session, LATER);
  fixture_wait(fx, &fx->open_count, 1);
  int second = open_post(fx, session, LATER);
  fixture_wait(fx, &fx->open_count, 2);
  fixture_finish(fx, 1, "{\"answer\":\"second\"}");
  fixture_finish(fx, 0, "{\"answer\":\"first\"}");
  assert_has(fixture_read(fx, first, NULL), "{\"answer\":\"first\"}");
  assert_has(fixture_read(fx, second, NULL), "{\"answer\":\"second\"}");
  (void)close(first);
  (void)close(second);
}

static void front_http__large_answer_passes_whole(void **state) {
  struct fixture *fx = *state;
  int fd = open_post(fx, session_header(fx, "2025-06-18"), BIG);
  size_t total = 0;
  static char chunk[256 << 10];
  for (hf_time end = hf_clock_now() + HF_SECONDS(20); total < (16U << 20) && hf_clock_now() < end;) {
    fixture_turn(fx);
    ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
    if (n > 0)
      total += (size_t)n;
  }
  assert_true(total >= (16U << 20));
  (void)close(fd);
}

static void front_http__host_and_origin_are_checked(void **state) {
  struct fixture *fx = *state;
  static const struct {
    const char *lines;
    const char *status;
  } cases[] = {
      {"Host: 127.0.0.1:8080\r\n", "400"},
      {"Host: localhost\r\n", "400"},
      {"Host: [::1]:99\r\n", "400"},
      {"Host: gateway.example\r\n", "400"},
      {"Host: evil.example\r\n", "403"},
      {"Host: 127.0.0.1.evil.example\r\n", "403"},
      {"Host: 10.0.0.1\r\n", "403"},
      {"Host: localhost\r\nOrigin: http://localhost\r\n", "400"},
      {"Host: localhost:80\r\nOrigin: http://localhost:3000\r\n", "403"},
      {"Host: localhost\r\nOrigin: https://app.example\r\n", "400"},
      {"Host: localhost\r\nOrigin: https://app.example.evil\r\n", "403"},
      {"Host: localhost\r\nOrigin: null\r\n", "403"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    char text[512];
    char status[32];
    (void)snprintf(text, sizeof(text), "GET /mcp HTTP/1.1\r\n%s\r\n", cases[i].lines);
    (void)snprintf(status, sizeof(status), "HTTP/1.1 %s", cases[i].status);
    assert_has(fixture_ask(fx, text), status);
  }
  const char *allowed = ask(fx, "OPTIONS", "/mcp",
                            "Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n"
                            "Access-Control-Request-Headers: content-type, mcp-method\r\n");
  assert_has(allowed, "HTTP/1.1 204");
  assert_has(allowed, "Access-Control-Allow-Origin: https://app.example\r\n");
  assert_has(allowed, "Access-Control-Allow-Headers: content-type, mcp-method\r\n");
}

static void front_http__tokens_name_principals_that_own_their_sessions(void **state) {
  struct fixture *fx = *state;
  assert_has(ask(fx, "GET", "/healthz", ""), "HTTP/1.1 200");
  assert_has(ask(fx, "GET", "/metrics", ""), "HTTP/1.1 401");
  assert_has(ask(fx, "GET", "/metrics", "Authorization: Bearer alice-token\r\n"), "HTTP/1.1 200");
  const char *refused = fixture_ask(fx, fixture_post("Authorization: Bearer nobody\r\n", PING));
  assert_has(refused, "HTTP/1.1 401");
  assert_has(refused, "WWW-Authenticate: Bearer\r\n");
  static const char init[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                             "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}";
  const char *opened = fixture_ask(fx, fixture_post("Authorization: Bearer alice-token\r\n", init));
  const char *id = strstr(opened, "Mcp-Session-Id: ");
  assert_non_null(id);
  char alice[256];
  char bob[256];
  (void)snprintf(alice, sizeof(alice), "%.50sAuthorization: bearer  alice-token\r\n", id);
  (void)snprintf(bob, sizeof(bob), "%.50sAuthorization: Bearer bob-token\r\n", id);
  assert_has(fixture_ask(fx, fixture_post(alice, PING)), "{\"ok\":1}");
  assert_has(fixture_ask(fx, fixture_post(bob, PING)), "HTTP/1.1 404");
  assert_has(ask(fx, "DELETE", "/mcp", bob), "HTTP/1.1 404");
}

static int set_up(void **state) {
  static struct fixture fx;
  static struct hf_str hosts[] = {HF_STR("gateway.example")};
  static struct hf_str origins[] = {HF_STR("https://app.example")};
  struct hf_settings *settings = fixture_settings();
  settings->allowed_hosts = (struct hf_strings){hosts, 1};
  settings->allowed_origins = (struct hf_strings){origins, 1};
  fixture_start(&fx, settings);
  *state = &fx;
  return 0;
}

static int set_up_tokens(void **state) {
  static struct fixture fx;
  static struct hf_principal_settings principals[] = {
      {HF_STR("alice"),
       {0x9c, 0x22, 0x0f, 0x20, 0x09, 0x55, 0xd7, 0x6c, 0x0a, 0x38, 0xd3, 0x08, 0x22, 0x5e, 0x0e, 0xf1,
        0x0c, 0x5f, 0x97, 0x1a, 0xca, 0xf2, 0xf8, 0xd1, 0xd8, 0xf7, 0x32, 0xaf, 0xfa, 0x5b, 0xd1, 0xdc}},
      {HF_STR("bob"), {0x97, 0xdd, 0x37, 0x07, 0x01, 0x5d, 0xcf, 0x06, 0x9c, 0xf7, 0x30, 0x22, 0xed, 0x71, 0x73, 0xb1,
                       0x16, 0x5d, 0xb6, 0xef, 0xf2, 0x4b, 0x44, 0x1c, 0xb5, 0x7f, 0xd0, 0x69, 0xa8, 0xc4, 0xe5, 0x25}},
  };
  struct hf_settings *settings = fixture_settings();
  settings->principals = principals;
  settings->principal_count = 2;
  fixture_start(&fx, settings);
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
      WITH_FRONT(front_http__answers_bad_requests_with_their_status),
      WITH_FRONT(front_http__knows_its_paths_and_methods),
      WITH_FRONT(front_http__session_lives_until_deleted),
      WITH_FRONT(front_http__initialize_ignores_a_stale_session),
      WITH_FRONT(front_http__failed_initialize_leaves_no_session),
      WITH_FRONT(front_http__session_belongs_to_its_endpoint),
      WITH_FRONT(front_http__unknown_server_is_not_found),
      WITH_FRONT(front_http__call_turns_to_events_at_the_first_message),
      WITH_FRONT(front_http__client_that_takes_json_only_gets_json),
      WITH_FRONT(front_http__client_that_takes_events_only_gets_events),
      WITH_FRONT(front_http__broken_stream_is_resumed_where_it_broke),
      WITH_FRONT(front_http__foreign_event_ids_are_answered_cleanly),
      WITH_FRONT(front_http__a_broken_stream_goes_on_without_an_id),
      WITH_FRONT(front_http__a_client_without_an_id_gets_one_each_time),
      WITH_FRONT(front_http__many_streams_that_broke_at_once_are_all_resumed),
      WITH_FRONT(front_http__notice_waits_for_the_stream),
      WITH_FRONT(front_http__deleting_a_session_answers_its_calls),
      WITH_FRONT(front_http__legacy_disconnect_cancels_nothing),
      WITH_FRONT(front_http__modern_disconnect_cancels),
      WITH_FRONT(front_http__modern_status_comes_from_the_gateway),
      WITH_FRONT(front_http__a_modern_initialize_opens_no_session),
      WITH_FRONT(front_http__listen_stays_open),
      WITH_FRONT(front_http__same_ids_on_two_connections_are_two_requests),
      WITH_FRONT(front_http__large_answer_passes_whole),
      WITH_FRONT(front_http__host_and_origin_are_checked),
      cmocka_unit_test_setup_teardown(front_http__tokens_name_principals_that_own_their_sessions, set_up_tokens,
                                      tear_down),
  };
  return cmocka_run_group_tests_name("front_http", tests, NULL, NULL);
}
