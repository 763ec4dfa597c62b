#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chaos/ledger.h"
#include "chaos/memory.h"
#include "chaos/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void chaos_memory__a_key_is_found_within_its_time(void **state) {
  (void)state;
  struct hf_chaos_memory memory;
  hf_chaos_memory_init(&memory);
  hf_chaos_memory_add(&memory, "pay", "k 1", HF_STR("{\"n\":1}"), 1000);
  hf_chaos_memory_add(&memory, "pay", "k 1", HF_STR("{\"n\":1}"), 2000);
  const struct hf_chaos_execution *first = hf_chaos_memory_find(&memory, "pay", "k 1", 1000);
  assert_non_null(first);
  assert_int_equal(first->number, 1);
  assert_int_equal(hf_chaos_memory_find(&memory, "pay", "k 1", 1001)->number, 2);
  assert_null(hf_chaos_memory_find(&memory, "pay", "k 1", 2001));
  assert_null(hf_chaos_memory_find(&memory, "pay", "k2", 0));
  assert_null(hf_chaos_memory_find(&memory, "read", "k 1", 0));
  assert_true(hf_chaos_memory_same(first, HF_STR("{\"n\":1}")));
  assert_false(hf_chaos_memory_same(first, HF_STR("{\"n\":2}")));
  assert_false(hf_chaos_memory_same(first, HF_STR("{\"n\":1}x")));
  hf_chaos_memory_deinit(&memory);
}

static void chaos_memory__what_ran_is_counted_by_some_of_its_arguments(void **state) {
  (void)state;
  struct hf_chaos_memory memory;
  hf_chaos_memory_init(&memory);
  hf_chaos_memory_add(&memory, "charge", "", HF_STR("{ \"a\" : \"x\", \"b\": {\"c\":[1,2]} }"), 1);
  hf_chaos_memory_add(&memory, "charge", "", HF_STR("{\"a\":\"x\",\"b\":2}"), 1);
  assert_int_equal(hf_chaos_memory_count(&memory, "charge", HF_STR("{\"a\":\"x\"}")), 2);
  assert_int_equal(hf_chaos_memory_count(&memory, "charge", HF_STR("{\"b\":{\"c\":[1,2]},\"a\":\"x\"}")), 1);
  assert_int_equal(hf_chaos_memory_count(&memory, "charge", HF_STR("{\"a\":\"x\",\"d\":1}")), 0);
  assert_int_equal(hf_chaos_memory_count(&memory, "charge", HF_STR("{}")), 2);
  assert_int_equal(hf_chaos_memory_count(&memory, "pay", HF_STR("{}")), 0);
  hf_chaos_memory_deinit(&memory);
}

static void chaos_memory__follows_its_ledger(void **state) {
  (void)state;
  char path[] = "/tmp/holdfast-ledger-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  static const char before[] = "pay k1 1000 1 {\"n\":1}\npay k2 10";
  assert_int_equal(write(file, before, sizeof before - 1), sizeof before - 1);
  struct hf_chaos_memory memory;
  hf_chaos_memory_init(&memory);
  hf_chaos_memory_follow(&memory, path);
  assert_non_null(hf_chaos_memory_find(&memory, "pay", "k1", 0));
  assert_null(hf_chaos_memory_find(&memory, "pay", "k2", 0));
  static const char after[] = "00 1 {\"n\":2}\n";
  assert_int_equal(write(file, after, sizeof after - 1), sizeof after - 1);
  assert_int_equal(hf_chaos_memory_find(&memory, "pay", "k2", 0)->at_ms, 1000);
  hf_chaos_ledger_add(file, "pay", "own", HF_STR("{}")); /* of which it is told besides */
  assert_null(hf_chaos_memory_find(&memory, "pay", "own", 0));
  hf_chaos_memory_deinit(&memory);
  assert_int_equal(close(file), 0);
  assert_int_equal(unlink(path), 0);
}

static void chaos_memory__the_oldest_is_forgotten(void **state) {
  (void)state;
  struct hf_chaos_memory memory;
  hf_chaos_memory_init(&memory);
  for (long i = 0; i <= HF_CHAOS_MEMORY_MAX; i++) {
    char key[32];
    assert_true(snprintf(key, sizeof key, "k%ld", i) > 0);
    hf_chaos_memory_add(&memory, "pay", key, HF_STR("{}"), i);
  }
  assert_null(hf_chaos_memory_find(&memory, "pay", "k0", 0));
  assert_int_equal(hf_chaos_memory_find(&memory, "pay", "k1", 0)->number, 2);
  assert_int_equal(hf_chaos_memory_count(&memory, "pay", HF_STR("{}")), HF_CHAOS_MEMORY_MAX);
  hf_chaos_memory_deinit(&memory);
}

static void chaos_memory__long_arguments_are_known_by_their_beginning(void **state) {
  (void)state;
  struct hf_chaos_memory memory;
  char text[HF_CHAOS_LEDGER_ARGUMENTS_MAX + 100];
  memset(text, 'a', sizeof text);
  hf_chaos_memory_init(&memory);
  const struct hf_chaos_execution *e = hf_chaos_memory_add(&memory, "pay", "k", (struct hf_str){text, sizeof text}, 1);
  assert_int_equal(strlen(e->arguments), HF_CHAOS_LEDGER_ARGUMENTS_MAX);
  assert_true(hf_chaos_memory_same(e, (struct hf_str){text, sizeof text}));
  text[0] = 'b';
  assert_false(hf_chaos_memory_same(e, (struct hf_str){text, sizeof text}));
  hf_chaos_memory_deinit(&memory);
}

static void chaos_wire__finds_the_end_of_an_answer(void **state) {
  (void)state;
  static const struct {
    const char *text;
    long end; /* what of it is the answer; else the error */
  } cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcX", 41},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 0},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", 0},
      {"HTTP/1.1 200 OK\r\n\r\nabc", HF_ERR_CLOSED},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nX", 60},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", 0},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", HF_ERR_SYNTAX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t at = 0;
    struct hf_str text = hf_str_from(cases[i].text);
    assert_int_equal(hf_chaos_wire_answer_end(text, &at), cases[i].end);
    at = 0;
    long end = 0;
    for (size_t len = 1; len <= text.len && end == 0; len++) /* byte by byte it is the same */
      end = hf_chaos_wire_answer_end((struct hf_str){text.ptr, len}, &at);
    assert_int_equal(end, cases[i].end);
  }
}

static void chaos_wire__finds_the_answer_in_a_stream(void **state) {
  (void)state;
  static const char stream[] =
      ": hello\r\n\r\nid: 1\r\ndata: \r\n\r\nevent: message\r\ndata: {\"method\":\"x\",\"id\":1}\r\n\r\n"
      "data: {\"id\":2,\ndata: \"result\":{}}\n\n";
  struct hf_buf message;
  hf_buf_init(&message, 1000);
  hf_chaos_wire_read_events(hf_str_from(stream), &message);
  assert_true(hf_str_equal(hf_buf_str(&message), HF_STR("{\"id\":2, \"result\":{}}")));
  hf_buf_deinit(&message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chaos_memory__a_key_is_found_within_its_time),
      cmocka_unit_test(chaos_memory__what_ran_is_counted_by_some_of_its_arguments),
      cmocka_unit_test(chaos_memory__follows_its_ledger),
      cmocka_unit_test(chaos_memory__the_oldest_is_forgotten),
      cmocka_unit_test(chaos_memory__long_arguments_are_known_by_their_beginning),
      cmocka_unit_test(chaos_wire__finds_the_end_of_an_answer),
      cmocka_unit_test(chaos_wire__finds_the_answer_in_a_stream),
  };
  return cmocka_run_group_tests_name("chaos_memory", tests, NULL, NULL);
}
