#include "mcp/log_level.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void log_level__is_ordered_as_syslogs(void **state) {
  (void)state;
  static const char *const names[] = {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};
  for (int i = 0; i < 8; i++) {
    assert_int_equal(hf_log_level_index(hf_str_from(names[i])), i);
    assert_string_equal(hf_log_level_name(i), names[i]);
  }
  assert_int_equal(hf_log_level_index(HF_STR("warn")), -1);
  assert_int_equal(hf_log_level_index(HF_STR("")), -1);
}

static void log_level__of_a_message(void **state) {
  (void)state;
  static const struct {
    const char *params;
    int asked;
    int of;
  } rows[] = {
      {"{\"level\":\"error\"}", 4, 4}, {"{\"level\":\"debug\"}", 0, 0}, {"{\"level\":\"loud\"}", -1, 0},
      {"{\"level\":\"\"}", -1, 0},     {"{\"level\":7}", -1, 0},        {"{}", -1, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf text;
    hf_buf_init(&text, 256);
    assert_int_equal(hf_buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":%s}",
                                   rows[i].params),
                     0);
    struct hf_message message;
    struct hf_refusal refusal;
    assert_int_equal(hf_message_decode(&text, &message, &refusal), 0);
    assert_int_equal(hf_log_level_asked(&message), rows[i].asked);
    assert_int_equal(hf_log_level_of(&message), rows[i].of);
    hf_message_deinit(&message);
    hf_buf_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(log_level__is_ordered_as_syslogs),
      cmocka_unit_test(log_level__of_a_message),
  };
  return cmocka_run_group_tests_name("log_level", tests, NULL, NULL);
}
