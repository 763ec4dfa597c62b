#include "mcp/ndjson.h"

#include "base/alloc.h"
#include "base/error.h"
#include "mcp/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static int note_frame(void *context, struct hf_buf *buf, struct hf_json_scan *scan) {
  assert_int_equal(scan->pos, buf->len);
  return hf_buf_printf(context, "frame %.*s\n", HF_STR_FMT(hf_buf_str(buf)));
}

static int note_drop(void *context, const struct hf_ndjson_drop *drop) {
  static const char *const kinds[] = {"noise", "broken", "oversize", "cut"};
  if (drop->kind == HF_NDJSON_NOISE)
    return hf_buf_printf(context, "noise %zu <%.*s>\n", drop->len, HF_STR_FMT(drop->head));
  return hf_buf_printf(context, "%s id=%.*s %s\n", kinds[drop->kind], HF_STR_FMT(drop->id),
                       hf_json_fault_text(drop->fault));
}

enum { MAX_FRAME = 64 };

static void feed_all(struct hf_str text, size_t chunk, struct hf_buf *log) {
  struct hf_ndjson_handler handler = {log, note_frame, note_drop};
  struct hf_ndjson nd;
  hf_ndjson_init(&nd, MAX_FRAME, &handler);
  for (size_t at = 0; at < text.len; at += chunk)
    assert_int_equal(hf_ndjson_feed(&nd, text.ptr + at, text.len - at < chunk ? text.len - at : chunk), 0);
  assert_int_equal(hf_ndjson_eof(&nd), 0);
  hf_ndjson_deinit(&nd);
}

#define A56 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void ndjson__finds_the_messages_however_they_are_cut(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *log;
  } rows[] = {
      {"{\"a\":1}\n{\"b\":2}\n", "frame {\"a\":1}\nframe {\"b\":2}\n"},
      {"{\"a\":1}\r\n\r\n \t\n{\"b\":2}\r\n", "frame {\"a\":1}\nframe {\"b\":2}\n"},
      {"{\"a\":1}{\"b\":2} {\"c\":3}\n", "frame {\"a\":1}\nframe {\"b\":2}\nframe {\"c\":3}\n"},
      {"{\"a\":1}", "frame {\"a\":1}\n"},
      {"\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n", "frame {}\nframe {}\n"},
      {"\xef\xbb{}\n{}\n", "noise 4 <\xef\xbb{}>\nframe {}\n"},
      {"Server ready on stdio\n{}\n", "noise 21 <Server ready on stdio>\nframe {}\n"},
      {"banner\r\n{}\n", "noise 6 <banner>\nframe {}\n"},
      {"[info] starting {\"a\":1}\n{}\n", "noise 23 <[info] starting {\"a\":1}>\nframe {}\n"},
      {"[2024] x\n", "noise 8 <[2024] x>\n"},
      {"[\n{}\n", "noise 1 <[>\nframe {}\n"},
      {"[ {\"a\":1},{}]\n", "frame [ {\"a\":1},{}]\n"},
      {"{} trailing\n{}\n", "frame {}\nnoise 8 <trailing>\nframe {}\n"},
      {"{\"s\":\"\xe6\x97\xa5\"}\n", "frame {\"s\":\"\xe6\x97\xa5\"}\n"},
      {"{\"s\":\"\xe6\x97\"}\n{}\n", "broken id= invalid utf-8\nframe {}\n"},
      {"{\"id\":7,\"x\":nope}\n{}\n", "broken id=7 misspelt literal\nframe {}\n"},
      {"{\"id\":7,\n\"x\":1}\n{}\n", "broken id=7 text ends inside a value\nnoise 6 <\"x\":1}>\nframe {}\n"},
      {"{\"id\":7,\"x\":", "cut id=7 no fault\n"},
      {"noise at the end", "noise 16 <noise at the end>\n"},
      {"[", "noise 1 <[>\n"},
      {"{\"id\":8,\"x\":\"" A56 "\"}{}\n{}\n", "oversize id=8 text too long\nframe {}\n"},
      {"{\"x\":\"" A56 "\",\"id\":8}\n{}\n", "oversize id= text too long\nframe {}\n"},
      {"{\"x\":\"" A56 "\"}\n", "frame {\"x\":\"" A56 "\"}\n"}, /* just fits */
      {A56 A56 A56 A56 A56 "\n{}\n", "noise 280 <" A56 A56 "\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    size_t len = strlen(rows[i].text);
    for (size_t chunk = 1; chunk <= len; chunk++) {
      struct hf_buf log;
      hf_buf_init(&log, 4096);
      feed_all((struct hf_str){rows[i].text, len}, chunk, &log);
      bool long_noise = i + 1 == sizeof rows / sizeof rows[0];
      if (long_noise ? !hf_str_starts(hf_buf_str(&log), HF_STR("noise 280 <aaaa"))
                     : !hf_str_equal(hf_buf_str(&log), hf_str_from(rows[i].log)))
        fail_msg("%s in %zu: %.*s", rows[i].text, chunk, HF_STR_FMT(hf_buf_str(&log)));
      hf_buf_deinit(&log);
    }
  }
}

static int count_frame(void *context, struct hf_buf *buf, struct hf_json_scan *scan) {
  (void)buf;
  (void)scan;
  ++*(int *)context;
  return 0;
}

static int no_drop(void *context, const struct hf_ndjson_drop *drop) {
  (void)context;
  (void)drop;
  return HF_ERR_INVALID;
}

/* A megabyte of two-byte messages on one line, in one piece: quadratic work would take minutes. */
static void ndjson__is_linear_in_messages_on_one_line(void **state) {
  (void)state;
  enum { MESSAGES = 500000 };
  char *text = hf_malloc(2 * MESSAGES);
  assert_non_null(text);
  for (size_t i = 0; i < MESSAGES; i++)
    memcpy(text + 2 * i, "{}", 2);
  int frames = 0;
  struct hf_ndjson_handler handler = {&frames, count_frame, no_drop};
  struct hf_ndjson nd;
  hf_ndjson_init(&nd, 1 << 20, &handler);
  clock_t start = clock();
  assert_int_equal(hf_ndjson_feed(&nd, text, (size_t)2 * MESSAGES), 0);
  assert_true((clock() - start) / CLOCKS_PER_SEC < 10);
  assert_int_equal(frames, MESSAGES);
  hf_ndjson_deinit(&nd);
  hf_free(text);
}

static int take_message(void *context, struct hf_buf *buf, struct hf_json_scan *scan) {
  struct hf_refusal refusal;
  struct hf_message m = {0};
  int r = hf_message_from_scan(scan, buf, &m, &refusal);
  hf_message_move(context, &m);
  return r;
}

static void ndjson__a_frame_becomes_a_message(void **state) {
  (void)state;
  struct hf_message m = {0};
  struct hf_ndjson_handler handler = {&m, take_message, no_drop};
  struct hf_ndjson nd;
  hf_ndjson_init(&nd, 1 << 20, &handler);
  struct hf_str text =
      HF_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
  assert_int_equal(hf_ndjson_feed(&nd, text.ptr, text.len), 0);
  assert_true(hf_str_equal(m.id, HF_STR("2")));
  hf_ndjson_deinit(&nd);
  hf_message_deinit(&m);
}

static void ndjson__writes_one_line(void **state) {
  (void)state;
  struct hf_pieces message, out;
  hf_pieces_init(&message);
  hf_pieces_init(&out);
  assert_int_equal(hf_pieces_add_copy(&message, HF_STR("{\r\n  \"a\\n\":")), 0);
  assert_int_equal(hf_pieces_add_copy(&message, HF_STR("1}")), 0);
  assert_int_equal(hf_ndjson_write(&out, &message), 0);
  struct hf_buf text;
  hf_buf_init(&text, 4096);
  assert_int_equal(hf_pieces_join(&out, &text), 0);
  assert_true(hf_str_equal(hf_buf_str(&text), HF_STR("{    \"a\\n\":1}\n")));
  hf_buf_deinit(&text);
  hf_pieces_deinit(&message);
  hf_pieces_deinit(&out);
}

static void ndjson__survives_each_failing_allocation(void **state) {
  (void)state;
  int failures = 0;
  for (long n = 0;; n++) {
    int frames = 0;
    struct hf_ndjson_handler handler = {&frames, count_frame, no_drop};
    struct hf_ndjson nd;
    hf_ndjson_init(&nd, MAX_FRAME, &handler);
    hf_alloc_fail_after(n);
    int r = hf_ndjson_feed(&nd, "{\"a\":1}\n", 8);
    hf_alloc_fail_after(-1);
    hf_ndjson_deinit(&nd);
    if (r == 0)
      break;
    assert_int_equal(r, HF_ERR_NOMEM);
    failures++;
  }
  assert_true(failures >= 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ndjson__finds_the_messages_however_they_are_cut),
      cmocka_unit_test(ndjson__is_linear_in_messages_on_one_line),
      cmocka_unit_test(ndjson__a_frame_becomes_a_message),
      cmocka_unit_test(ndjson__writes_one_line),
      cmocka_unit_test(ndjson__survives_each_failing_allocation),
  };
  return cmocka_run_group_tests_name("ndjson", tests, NULL, NULL);
}
