#include "base/buf.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void buf__refuses_to_pass_its_maximum(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 4);
  assert_int_equal(hf_buf_append(&buf, "abc", 3), 0);
  assert_int_equal(hf_buf_append(&buf, "de", 2), HF_ERR_LIMIT);
  assert_int_equal(buf.len, 3);
  assert_memory_equal(buf.data, "abc", 3);
  hf_buf_deinit(&buf);
}

static void buf__consume_keeps_the_rest(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 1024);
  assert_int_equal(hf_buf_printf(&buf, "%s-%d", "line", 7), 0);
  hf_buf_consume(&buf, 5);
  assert_true(hf_str_equal(hf_buf_str(&buf), HF_STR("7")));
  hf_buf_deinit(&buf);
}

static void buf__appends_integers(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 64);
  assert_int_equal(hf_buf_append_int(&buf, INT64_MIN), 0);
  assert_int_equal(hf_buf_append_int(&buf, 0), 0);
  assert_int_equal(hf_buf_append_int(&buf, -7), 0);
  assert_int_equal(hf_buf_append_int(&buf, INT64_MAX), 0);
  assert_true(hf_str_equal(hf_buf_str(&buf), HF_STR("-92233720368547758080-79223372036854775807")));
  hf_buf_deinit(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buf__refuses_to_pass_its_maximum),
      cmocka_unit_test(buf__consume_keeps_the_rest),
      cmocka_unit_test(buf__appends_integers),
  };
  return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
