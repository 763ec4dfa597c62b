#include "mcp/sse.h"

#include "base/alloc.h"
#include "base/error.h"
#include "mcp/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Writes down what comes, one event per line. */
static int note_event(void *context, struct hf_sse_event *event) {
  struct hf_buf *log = context;
  int r = hf_buf_printf(log, "%.*s|", HF_STR_FMT(event->type));
  if (r == 0 && event->has_id)
    r = hf_buf_printf(log, "id=%.*s|", HF_STR_FMT(event->id));
  if (r == 0 && event->retry_ms >= 0)
    r = hf_buf_printf(log, "retry=%lld|", (long long)event->retry_ms);
  if (r == 0 && event->json == 0)
    r = hf_buf_printf(log, "json:");
  if (r == 0 && event->has_data)
    r = hf_buf_printf(log, "<%.*s>", HF_STR_FMT(hf_buf_str(event->data)));
  return r == 0 ? hf_buf_printf(log, "\n") : r;
}

static int note_oversize(void *context, struct hf_str id) {
  return hf_buf_printf(context, "oversize %.*s\n", HF_STR_FMT(id));
}

enum { MAX_EVENT = 64 };

static void parse(struct hf_str text, size_t chunk, struct hf_buf *log) {
  struct hf_sse_handler handler = {log, note_event, note_oversize};
  struct hf_sse sse;
  hf_sse_init(&sse, MAX_EVENT, &handler);
  for (size_t at = 0; at < text.len; at += chunk)
    assert_int_equal(hf_sse_feed(&sse, text.ptr + at, text.len - at < chunk ? text.len - at : chunk), 0);
  hf_sse_deinit(&sse);
}

static void sse__parses_however_it_is_cut(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *events;
  } rows[] = {
      {"data: {\"a\":1}\n\n", "message|json:<{\"a\":1}>\n"},
      {"data:x\r\rdata:y\r\n\r\ndata:z\n\n", "message|<x>\nmessage|<y>\nmessage|<z>\n"},
      {"\xef\xbb\xbf"
       "data:x\n\n",
       "message|<x>\n"},
      {"\xef\xbb"
       "data:x\n\ndata:y\n\n",
       "message|<y>\n"},
      {"data: {\ndata: }\n\n", "message|json:<{\n}>\n"},
      {"id: 3\r\ndata: {\r\ndata: }\r\n\r\n", "message|id=3|json:<{\n}>\n"},
      {"data:  two spaces\n\n", "message|< two spaces>\n"},
      {"data\n\n", "message|<>\n"},
      {"data\ndata\n\n", "message|<\n>\n"},
      {"id: 7\ndata:\n\n", "message|id=7|<>\n"},
      {"id: 7\n\n", "message|id=7|\n"},
      {"id\ndata:x\n\n", "message|id=|<x>\n"},
      {"event: endpoint\ndata: /m\n\ndata:x\n\n", "endpoint|</m>\nmessage|<x>\n"},
      {"event: lonely\n\ndata:x\n\n", "message|<x>\n"},
      {"retry: 1500\n\n", "message|retry=1500|\n"},
      {"retry: 15x\n\nretry:\n\nretry: 9999999999999\n\n", ""},
      {": ping\n\n:\n\n", ""},
      {"datax: 1\ndat: 2\nunknown_field_name: 3\nDATA: 4\n\n", ""},
      {"data: x\n", ""},
      {"data: x", ""},
      {"\n\n\r\n\r\r", ""},
      {"data: {\"id\":5,\"result\":{\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}}\n"
       "data: more\n\ndata: ok\n\n",
       "oversize 5\nmessage|<ok>\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    size_t len = strlen(rows[i].text);
    for (size_t chunk = 1; chunk <= len; chunk++) {
      struct hf_buf log;
      hf_buf_init(&log, 4096);
      parse((struct hf_str){rows[i].text, len}, chunk, &log);
      if (!hf_str_equal(hf_buf_str(&log), hf_str_from(rows[i].events)))
        fail_msg("%s in %zu: %.*s", rows[i].text, chunk, HF_STR_FMT(hf_buf_str(&log)));
      hf_buf_deinit(&log);
    }
  }
}

static void sse__ids_with_nul_do_not_count(void **state) {
  (void)state;
  struct hf_buf log;
  hf_buf_init(&log, 4096);
  parse((struct hf_str){"id: a\0b\ndata: x\n\n", 17}, 17, &log);
  assert_true(hf_str_equal(hf_buf_str(&log), HF_STR("message|<x>\n")));
  hf_buf_deinit(&log);
}

static int take_message(void *context, struct hf_sse_event *event) {
  struct hf_refusal refusal;
  assert_int_equal(event->json, 0);
  return hf_message_from_scan(event->scan, event->data, context, &refusal);
}

static void sse__an_event_becomes_a_message_without_copying(void **state) {
  (void)state;
  struct hf_message m = {0};
  struct hf_sse_handler handler = {&m, take_message, NULL};
  struct hf_sse sse;
  hf_sse_init(&sse, 1 << 20, &handler);
  struct hf_str text = HF_STR("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":3,\"result\":{}}\n\ndata");
  assert_int_equal(hf_sse_feed(&sse, text.ptr, text.len), 0);
  assert_int_equal(m.kind, HF_MESSAGE_RESULT);
  assert_true(hf_str_equal(m.id, HF_STR("3")));
  assert_true(hf_sse_mid_event(&sse));
  hf_sse_deinit(&sse);
  hf_message_deinit(&m);
}

static int stop(void *context, struct hf_sse_event *event) {
  (void)context;
  (void)event;
  return 77;
}

static void sse__a_handler_stops_the_parser(void **state) {
  (void)state;
  struct hf_sse_handler handler = {NULL, stop, NULL};
  struct hf_sse sse;
  hf_sse_init(&sse, MAX_EVENT, &handler);
  assert_int_equal(hf_sse_feed(&sse, "data:x\n\n", 8), 77);
  assert_false(hf_sse_mid_event(&sse));
  hf_sse_deinit(&sse);
}

static void sse__survives_each_failing_allocation(void **state) {
  (void)state;
  int failures = 0;
  for (long n = 0;; n++) {
    struct hf_buf log;
    hf_buf_init(&log, 4096);
    struct hf_sse_handler handler = {&log, note_event, note_oversize};
    struct hf_sse sse;
    hf_sse_init(&sse, MAX_EVENT, &handler);
    hf_alloc_fail_after(n);
    int r = hf_sse_feed(&sse, "event:e\nid:1\ndata:{}\n\n", 22);
    hf_alloc_fail_after(-1);
    hf_sse_deinit(&sse);
    hf_buf_deinit(&log);
    if (r == 0)
      break;
    assert_int_equal(r, HF_ERR_NOMEM);
    failures++;
  }
  assert_true(failures >= 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sse__parses_however_it_is_cut),
      cmocka_unit_test(sse__ids_with_nul_do_not_count),
      cmocka_unit_test(sse__an_event_becomes_a_message_without_copying),
      cmocka_unit_test(sse__a_handler_stops_the_parser),
      cmocka_unit_test(sse__survives_each_failing_allocation),
  };
  return cmocka_run_group_tests_name("sse", tests, NULL, NULL);
}
