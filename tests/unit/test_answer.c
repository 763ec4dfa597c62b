#include "base/error.h"
#include "upstream/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define REPLY "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"

static unsigned messages;

static void on_message(struct hf_answer *answer, struct hf_message *message) {
  (void)answer;
  assert_int_equal(message->kind, HF_MESSAGE_RESULT);
  messages++;
}

static void on_life(struct hf_answer *answer) {
  (void)answer;
}

static const struct hf_answer_events events = {on_message, on_life};

static void begin(struct hf_answer *answer, enum hf_answer_kind kind, size_t max) {
  messages = 0;
  hf_answer_init(answer, &events);
  hf_answer_begin(answer, kind, max);
}

static void answer__a_byte_order_mark_before_json_is_skipped(void **state) {
  (void)state;
  static const char text[] = "\xef\xbb\xbf" REPLY;
  for (size_t step = 1; step <= sizeof text - 1; step++) {
    struct hf_answer answer;
    begin(&answer, HF_ANSWER_JSON, 1024);
    for (size_t at = 0; at < sizeof text - 1; at += step) {
      size_t left = sizeof text - 1 - at;
      assert_int_equal(hf_answer_feed(&answer, (struct hf_str){text + at, left < step ? left : step}), 0);
    }
    assert_int_equal(hf_answer_finish(&answer), 0);
    assert_int_equal(messages, 1);
    hf_answer_deinit(&answer);
  }
}

static void answer__half_a_byte_order_mark_is_no_json(void **state) {
  (void)state;
  struct hf_answer answer;
  begin(&answer, HF_ANSWER_JSON, 1024);
  assert_int_equal(hf_answer_feed(&answer, HF_STR("\xef\xbb" REPLY)), HF_ERR_SYNTAX);
  assert_int_equal(messages, 0);
  hf_answer_deinit(&answer);
}

static void feed(struct hf_answer *answer, struct hf_str text, unsigned times) {
  for (unsigned i = 0; i < times; i++)
    assert_int_equal(hf_answer_feed(answer, text), 0);
}

static void answer__a_stream_of_nothing_has_an_end(void **state) {
  (void)state;
  static const struct hf_str comment = HF_STR(": sixteen bytes\n");
  struct hf_answer answer;
  begin(&answer, HF_ANSWER_EVENTS, 160);
  feed(&answer, comment, 30);
  assert_int_equal(hf_answer_feed(&answer, HF_STR("data: " REPLY "\n\n")), 0);
  assert_int_equal(messages, 1);
  feed(&answer, comment, 40); /* four times the largest message */
  assert_int_equal(hf_answer_feed(&answer, comment), HF_ERR_LIMIT);
  assert_string_equal(answer.why.text, "too many bytes without an event");
  hf_answer_deinit(&answer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answer__a_byte_order_mark_before_json_is_skipped),
      cmocka_unit_test(answer__half_a_byte_order_mark_is_no_json),
      cmocka_unit_test(answer__a_stream_of_nothing_has_an_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
