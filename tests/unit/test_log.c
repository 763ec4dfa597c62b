#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

/* Every test logs into one end and reads lines from the other. */
struct fixture {
  int in;
  int out;
  struct hf_log *log;
  char text[1 << 20];
};

static int pipe_setup(void **state) {
  static struct fixture fixture;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0)
    return -1;
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) /* the reading end only: the log gets a blocking one */
    return -1;
  fixture = (struct fixture){.in = ends[0], .out = ends[1], .log = hf_log_new(ends[1], HF_LOG_INFO, HF_LOG_JSON)};
  *state = &fixture;
  return fixture.log ? 0 : -1;
}

static int socket_setup(void **state) {
  static struct fixture fixture;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return -1;
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
    return -1;
  fixture = (struct fixture){.in = ends[0], .out = ends[1], .log = hf_log_new(ends[1], HF_LOG_INFO, HF_LOG_JSON)};
  *state = &fixture;
  return fixture.log ? 0 : -1;
}

static int teardown(void **state) {
  struct fixture *fixture = *state;
  hf_log_free(fixture->log);
  (void)close(fixture->in);
  (void)close(fixture->out);
  return 0;
}

/* Reads what is there, NUL-terminated. */
static char *drain(struct fixture *fixture) {
  size_t len = 0;
  ssize_t n;
  while ((n = read(fixture->in, fixture->text + len, sizeof fixture->text - 1 - len)) > 0)
    len += (size_t)n;
  fixture->text[len] = '\0';
  return fixture->text;
}

/* Splits off the next line and parses it; jansson refuses bytes that are no UTF-8. */
static json_t *next_line(char **rest) {
  char *line = *rest;
  char *end = strchr(line, '\n');
  assert_non_null(end);
  *end = '\0';
  *rest = end + 1;
  json_error_t error;
  json_t *object = json_loads(line, 0, &error);
  if (!object)
    fail_msg("not JSON: %s: %s", error.text, line);
  return object;
}

static const char *member(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "(none)";
}

static void log__writes_one_json_object_a_line(void **state) {
  struct fixture *fixture = *state;
  hf_log_event(fixture->log, HF_LOG_INFO, "child started", HF_LOG_STR("server", HF_STR("files")), HF_LOG_INT("pid", -7),
               HF_LOG_STR("absent", hf_str_from(NULL)));
  char *rest = drain(fixture);
  json_t *line = next_line(&rest);
  assert_string_equal(member(line, "level"), "info");
  assert_string_equal(member(line, "event"), "child started");
  assert_string_equal(member(line, "server"), "files");
  assert_int_equal(json_integer_value(json_object_get(line, "pid")), -7);
  assert_null(json_object_get(line, "absent"));
  assert_int_equal(strlen(member(line, "time")), strlen("2026-01-01T00:00:00.000Z"));
  assert_string_equal(rest, "");
  json_decref(line);
}

static void log__keeps_json_valid_whatever_the_bytes(void **state) {
  struct fixture *fixture = *state;
  static const struct {
    struct hf_str raw;
    const char *read_back;
  } rows[] = {
      {HF_STR("a\"b\\c"), "a\"b\\c"},
      {HF_STR("line\nend\r\t\x1b[31m\x7f"), "line\nend\r\t\x1b[31m\x7f"},
      {HF_STR("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {HF_STR("\xff"), "\xef\xbf\xbd"},                                                   /* never a UTF-8 byte */
      {HF_STR("x\xc3"), "x\xef\xbf\xbd"},                                                 /* cut off */
      {HF_STR("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd"},                                   /* overlong */
      {HF_STR("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                   /* a surrogate */
      {HF_STR("\xf4\x90\x80\x80!"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!"}, /* beyond U+10FFFF */
      {HF_STR("\xe2\x82(\xc2\x85"), "\xef\xbf\xbd\xef\xbf\xbd(\xc2\x85"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    hf_log_event(fixture->log, HF_LOG_ERROR, "x", HF_LOG_STR("value", rows[i].raw));
    char *rest = drain(fixture);
    json_t *line = next_line(&rest);
    assert_string_equal(member(line, "value"), rows[i].read_back);
    json_decref(line);
  }
}

static void log__human_lines_carry_no_control_bytes(void **state) {
  struct fixture *fixture = *state;
  hf_log_set(fixture->log, HF_LOG_DEBUG, HF_LOG_HUMAN);
  hf_log_event(fixture->log, HF_LOG_WARN, "call ended", HF_LOG_STR("tool", HF_STR("files__read")),
               HF_LOG_STR("text", HF_STR("a b\x1b]0;\xc2\x9b\xff")), HF_LOG_STR("empty", HF_STR("")),
               HF_LOG_INT("ms", 3));
  char *text = drain(fixture);
  assert_string_equal(text + strlen("2026-01-01T00:00:00.000Z"),
                      " warn  call ended tool=files__read text=\"a b\\u001b]0;\\u009b\\ufffd\" empty=\"\" ms=3\n");
}

static void log__cuts_values_and_lines(void **state) {
  struct fixture *fixture = *state;
  static char big[100000];
  memset(big, '\x01', sizeof big); /* six bytes each when escaped */
  struct hf_str value = {big, sizeof big};
  hf_log_event(fixture->log, HF_LOG_INFO, "x", HF_LOG_STR("a", value), HF_LOG_INT("ms", 5), HF_LOG_STR("b", value),
               HF_LOG_STR("c", value));
  char *rest = drain(fixture);
  assert_in_range(strlen(rest), 2048, PIPE_BUF);
  json_t *line = next_line(&rest);
  assert_int_equal(json_integer_value(json_object_get(line, "ms")), 5);
  const char *a = member(line, "a");
  assert_string_equal(a + strlen(a) - 3, "…");
  json_decref(line);
}

static void log__respects_its_level(void **state) {
  struct fixture *fixture = *state;
  assert_true(hf_log_enabled(fixture->log, HF_LOG_INFO));
  assert_false(hf_log_enabled(fixture->log, HF_LOG_DEBUG));
  assert_false(hf_log_enabled(NULL, HF_LOG_ERROR));
  hf_log_event(fixture->log, HF_LOG_DEBUG, "hidden", HF_LOG_INT("n", 1));
  hf_log_event(NULL, HF_LOG_ERROR, "nowhere", HF_LOG_INT("n", 1));
  assert_string_equal(drain(fixture), "");
}

/* Nobody reads: the log must neither block (the test would hang) nor tear a line, and must say what it lost. */
static void log__loses_lines_rather_than_block(void **state) {
  struct fixture *fixture = *state;
  static char big[1900];
  memset(big, 'x', sizeof big);
  enum { WRITTEN = 2000 };
  for (int i = 0; i < WRITTEN; i++)
    hf_log_event(fixture->log, HF_LOG_INFO, "filler", HF_LOG_INT("n", i),
                 HF_LOG_STR("value", ((struct hf_str){big, (size_t)(i % (int)sizeof big)})));

  int64_t seen = 0;
  int64_t lost = -1;
  for (int round = 0; round < 2; round++) {
    char *rest = drain(fixture);
    if (round == 0)
      hf_log_event(fixture->log, HF_LOG_INFO, "last", HF_LOG_INT("n", WRITTEN));
    while (*rest && strchr(rest, '\n')) {
      json_t *line = next_line(&rest);
      if (strcmp(member(line, "event"), "log lines lost") == 0)
        lost = json_integer_value(json_object_get(line, "lines"));
      else if (strcmp(member(line, "event"), "filler") == 0)
        seen++;
      json_decref(line);
    }
  }
  assert_in_range(seen, 1, WRITTEN - 1);
  assert_true(lost > 0);
}

static void log__finishes_a_torn_line_first(void **state) {
  struct fixture *fixture = *state;
  static char big[1900];
  memset(big, 'x', sizeof big);
  static char all[4 << 20];
  size_t len = 0;
  for (int i = 0; i < 1000; i++) {
    hf_log_event(fixture->log, HF_LOG_INFO, "filler", HF_LOG_INT("n", i),
                 HF_LOG_STR("value", ((struct hf_str){big, sizeof big})));
    if (i % 150 == 149) { /* reads less than a line, so that the next one fits only in part */
      ssize_t n = read(fixture->in, all + len, 700);
      assert_true(n > 0);
      len += (size_t)n;
    }
  }
  for (int round = 0; round < 2; round++) {
    char *rest = drain(fixture);
    size_t n = strlen(rest);
    memcpy(all + len, rest, n);
    len += n;
    hf_log_event(fixture->log, HF_LOG_INFO, "last", HF_LOG_INT("n", round));
  }
  all[len] = '\0';
  char *rest = all;
  size_t lines = 0;
  while (*rest) {
    json_decref(next_line(&rest));
    lines++;
  }
  assert_true(lines > 10);
}

static void log__leaves_the_descriptor_as_it_was(void **state) {
  struct fixture *fixture = *state;
  assert_int_equal(fcntl(fixture->out, F_GETFL) & O_NONBLOCK, 0);
}

static void log__needs_no_memory_to_write(void **state) {
  struct fixture *fixture = *state;
  unsigned long before = hf_alloc_count();
  hf_log_event(fixture->log, HF_LOG_INFO, "x", HF_LOG_INT("n", 1));
  assert_true(hf_alloc_count() == before);
  hf_alloc_fail_after(0);
  assert_null(hf_log_new(fixture->out, HF_LOG_INFO, HF_LOG_JSON));
  hf_log_free(NULL);
}

static size_t lines_with(const char *text, const char *part) {
  size_t count = 0;
  for (const char *p = text; (p = strstr(p, part)); p++)
    count++;
  return count;
}

static void log__a_storm_of_warnings_is_a_few_lines(void **state) {
  struct fixture *fixture = *state;
  for (int i = 0; i < 1000; i++)
    hf_log_event(fixture->log, HF_LOG_WARN, "server is down", HF_LOG_STR("server", HF_STR("a")), HF_LOG_INT("n", i));
  hf_log_event(fixture->log, HF_LOG_WARN, "server is down", HF_LOG_STR("server", HF_STR("b")));
  for (int i = 0; i < 12; i++)
    hf_log_event(fixture->log, HF_LOG_INFO, "call", HF_LOG_STR("server", HF_STR("a")));
  char *text = drain(fixture);
  assert_int_equal(lines_with(text, "\"server\":\"a\",\"n\""), 10);
  assert_int_equal(lines_with(text, "\"server\":\"b\""), 1);
  assert_int_equal(lines_with(text, "\"event\":\"call\""), 12);
  hf_log_free(fixture->log);
  fixture->log = NULL;
  text = drain(fixture);
  assert_non_null(
      strstr(text, "\"event\":\"repeated lines left out\",\"line\":\"server is down\",\"about\":\"a\",\"lines\":990}"));
}

#define ON_PIPE(test) cmocka_unit_test_setup_teardown(test, pipe_setup, teardown)
#define ON_SOCKET(test) cmocka_unit_test_setup_teardown(test, socket_setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      ON_PIPE(log__writes_one_json_object_a_line),
      ON_PIPE(log__keeps_json_valid_whatever_the_bytes),
      ON_PIPE(log__human_lines_carry_no_control_bytes),
      ON_PIPE(log__cuts_values_and_lines),
      ON_PIPE(log__respects_its_level),
      ON_PIPE(log__loses_lines_rather_than_block),
      ON_PIPE(log__leaves_the_descriptor_as_it_was),
      ON_PIPE(log__needs_no_memory_to_write),
      ON_SOCKET(log__loses_lines_rather_than_block),
      ON_SOCKET(log__finishes_a_torn_line_first),
      ON_PIPE(log__a_storm_of_warnings_is_a_few_lines),
  };
  return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
