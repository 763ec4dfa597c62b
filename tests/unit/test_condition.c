#include "gateway/condition.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char result[] =
    "{\"content\":[{\"type\":\"text\",\"text\":\"order o-7 is \\u0022paid\\u0022\"}],\"structuredContent\":{"
    "\"status\":\"paid\",\"count\":1.0,\"total\":12345678901234567890123456789,\"tiny\":1e-30,\"vast\":"
    "1e9999999999999999,"
    "\"orders\":[{\"id\":7,\"paid\":true},\"x\",2],\"none\":[],\"nul\":null,\"twice\":1,\"twice\":2,\"bad\":{\"a\":1,"
    "\"a\":2}}}";

static void condition__compares_what_is_there(void **state) {
  (void)state;
  static const struct {
    const char *pointer;
    enum hf_operator operator;
    const char *value;
    int answer; /* 1, 0, or why it cannot be told */
  } rows[] = {
      {"/structuredContent/status", HF_OPERATOR_EQUALS, "\"paid\"", 1},
      {"/structuredContent/status", HF_OPERATOR_EQUALS, " \"p\\u0061id\" ", 1},
      {"/structuredContent/status", HF_OPERATOR_EQUALS, "\"Paid\"", 0},
      {"/structuredContent/count", HF_OPERATOR_EQUALS, "1", 1},
      {"/structuredContent/count", HF_OPERATOR_EQUALS, "10e-1", 1},
      {"/structuredContent/count", HF_OPERATOR_EQUALS, "1.0000000000000000000000000000001", 0},
      {"/structuredContent/count", HF_OPERATOR_EQUALS, "\"1\"", 0},
      {"/structuredContent/count", HF_OPERATOR_EQUALS, "true", 0},
      {"/structuredContent/total", HF_OPERATOR_EQUALS, "12345678901234567890123456789", 1},
      {"/structuredContent/total", HF_OPERATOR_EQUALS, "12345678901234567890123456788", 0},
      {"/structuredContent/vast", HF_OPERATOR_EQUALS, "1e9999999999999999", 1},
      {"/structuredContent/nul", HF_OPERATOR_EQUALS, "null", 1},
      {"/structuredContent/nul", HF_OPERATOR_EQUALS, "false", 0},
      {"/structuredContent/orders/0", HF_OPERATOR_EQUALS, "{\"paid\":true,\"id\":7.0}", 1},
      {"/structuredContent/orders/0", HF_OPERATOR_EQUALS, "{\"id\":7}", 0},
      {"/structuredContent/orders", HF_OPERATOR_EQUALS, "[\"x\",{\"paid\":true,\"id\":7},2]", 0},
      {"/structuredContent/nobody", HF_OPERATOR_EQUALS, "null", 0},
      {"/structuredContent/twice", HF_OPERATOR_EQUALS, "1", HF_ERR_DUPLICATE},
      {"/structuredContent/bad", HF_OPERATOR_EQUALS, "{\"a\":1}", HF_ERR_DUPLICATE},
      {"/structuredContent/status", HF_OPERATOR_NOT, "\"open\"", 1},
      {"/structuredContent/status", HF_OPERATOR_NOT, "\"paid\"", 0},
      {"/structuredContent/count", HF_OPERATOR_NOT, "1", 0},
      {"/structuredContent/nobody", HF_OPERATOR_NOT, "\"open\"", 0},
      {"/structuredContent/bad", HF_OPERATOR_NOT, "{}", HF_ERR_DUPLICATE},
      {"/structuredContent/nul", HF_OPERATOR_EXISTS, "true", 1},
      {"/structuredContent/nul", HF_OPERATOR_EXISTS, "false", 0},
      {"/structuredContent/nobody", HF_OPERATOR_EXISTS, "true", 0},
      {"/structuredContent/nobody", HF_OPERATOR_EXISTS, "false", 1},
      {"/structuredContent/nobody", HF_OPERATOR_EXISTS, " true ", 0},
      {"/structuredContent/none/0", HF_OPERATOR_EXISTS, "false", 1},
      {"/structuredContent/orders/2", HF_OPERATOR_EXISTS, "false", 0},
      {"/nobody", HF_OPERATOR_EXISTS, "false", 1},
      /* what would have it is missing, or is something else: nothing is known */
      {"/structured/nobody", HF_OPERATOR_EXISTS, "false", 0},
      {"/structuredContent/status/nobody", HF_OPERATOR_EXISTS, "false", 0},
      {"/structuredContent/nobody/0", HF_OPERATOR_EXISTS, "false", 0},
      {"/structuredContent/twice/x", HF_OPERATOR_EXISTS, "false", HF_ERR_DUPLICATE},
      {"", HF_OPERATOR_EXISTS, "true", 1},
      {"", HF_OPERATOR_EXISTS, "false", 0},
      {"/content/0/text", HF_OPERATOR_CONTAINS, "\"o-7 is \\\"p\"", 1},
      {"/content/0/text", HF_OPERATOR_CONTAINS, "\"\"", 1},
      {"/content/0/text", HF_OPERATOR_CONTAINS, "\"o-8\"", 0},
      {"/content/0/text", HF_OPERATOR_CONTAINS, "7", 0},
      {"/structuredContent/orders", HF_OPERATOR_CONTAINS, "{\"paid\":true,\"id\":7}", 1},
      {"/structuredContent/orders", HF_OPERATOR_CONTAINS, "2.0", 1},
      {"/structuredContent/orders", HF_OPERATOR_CONTAINS, "7", 0},
      {"/structuredContent/none", HF_OPERATOR_CONTAINS, "null", 0},
      {"/structuredContent", HF_OPERATOR_CONTAINS, "\"status\"", 0},
      {"/structuredContent/nobody", HF_OPERATOR_CONTAINS, "\"\"", 0},
      {"/structuredContent/count", HF_OPERATOR_AT_LEAST, "1", 1},
      {"/structuredContent/count", HF_OPERATOR_AT_LEAST, "1.0000001", 0},
      {"/structuredContent/count", HF_OPERATOR_AT_LEAST, "-2", 1},
      {"/structuredContent/total", HF_OPERATOR_AT_LEAST, "12345678901234567890123456790", 0},
      {"/structuredContent/total", HF_OPERATOR_AT_LEAST, "1.2345678901234567890123456789e28", 1},
      {"/structuredContent/tiny", HF_OPERATOR_AT_LEAST, "0", 1},
      {"/structuredContent/tiny", HF_OPERATOR_AT_LEAST, "2e-30", 0},
      {"/structuredContent/vast", HF_OPERATOR_AT_LEAST, "1e400", 1},
      {"/structuredContent/vast", HF_OPERATOR_AT_LEAST, "1e9999999999999999", HF_ERR_LIMIT},
      {"/structuredContent/orders", HF_OPERATOR_AT_LEAST, "3", 1},
      {"/structuredContent/orders", HF_OPERATOR_AT_LEAST, "3.5", 0},
      {"/structuredContent/none", HF_OPERATOR_AT_LEAST, "0", 1},
      {"/structuredContent/none", HF_OPERATOR_AT_LEAST, "1", 0},
      {"/structuredContent/status", HF_OPERATOR_AT_LEAST, "0", 0},
      {"/structuredContent/nobody", HF_OPERATOR_AT_LEAST, "0", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_condition condition = {hf_str_from(rows[i].pointer), rows[i].operator, hf_str_from(rows[i].value)};
    bool holds = false;
    int r = hf_condition_holds(&condition, hf_str_from(result), &holds);
    if ((r < 0 ? r : holds) != rows[i].answer)
      fail_msg("%s %d %s: %d, %d", rows[i].pointer, (int)rows[i].operator, rows[i].value, r, holds);
  }
}

static void condition__nothing_holds_of_what_is_no_json(void **state) {
  (void)state;
  struct hf_condition condition = {HF_STR("/a"), HF_OPERATOR_EXISTS, HF_STR("false")};
  bool holds = true;
  assert_int_equal(hf_condition_holds(&condition, HF_STR("{\"b\":1"), &holds), HF_ERR_SYNTAX);
  assert_int_equal(hf_condition_holds(&condition, HF_STR(""), &holds), HF_ERR_SYNTAX);
  assert_true(holds); /* untouched */
  assert_int_equal(hf_condition_holds(&condition, HF_STR("\"text\""), &holds), 0);
  assert_false(holds);
}

static void condition__out_of_memory_is_an_error(void **state) {
  (void)state;
  struct hf_condition condition = {HF_STR("/structuredContent/orders"), HF_OPERATOR_CONTAINS, HF_STR("{\"id\":7}")};
  for (long n = 0; n < 60; n++) {
    bool holds = true;
    hf_alloc_fail_after(n);
    int r = hf_condition_holds(&condition, hf_str_from(result), &holds);
    hf_alloc_fail_after(-1);
    if (r == 0) {
      assert_true(n > 5 && !holds);
      return;
    }
    assert_int_equal(r, HF_ERR_NOMEM);
    assert_true(holds);
  }
  fail();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(condition__compares_what_is_there),
      cmocka_unit_test(condition__nothing_holds_of_what_is_no_json),
      cmocka_unit_test(condition__out_of_memory_is_an_error),
  };
  return cmocka_run_group_tests_name("condition", tests, NULL, NULL);
}
