#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void error__wraps_outward(void **state) {
  (void)state;
  struct hf_error error = {0};
  assert_int_equal(hf_error_set(&error, HF_ERR_NOTFOUND, "no such file"), HF_ERR_NOTFOUND);
  assert_int_equal(hf_error_wrap(&error, "cannot open '%s'", "x.yaml"), HF_ERR_NOTFOUND);
  assert_int_equal(hf_error_wrap(&error, "load config"), HF_ERR_NOTFOUND);
  assert_string_equal(error.text, "load config: cannot open 'x.yaml': no such file");
}

static void error__is_optional(void **state) {
  (void)state;
  assert_int_equal(hf_error_set(NULL, HF_ERR_IO, "nobody reads this"), HF_ERR_IO);
}

static void error__cuts_long_text(void **state) {
  (void)state;
  struct hf_error error;
  char longer[2 * HF_ERROR_TEXT_MAX];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  assert_int_equal(hf_error_set(&error, HF_ERR_INVALID, "%s", longer), HF_ERR_INVALID);
  assert_int_equal(strlen(error.text), HF_ERROR_TEXT_MAX - 1);
  assert_int_equal(hf_error_wrap(&error, "prefix"), HF_ERR_INVALID);
  assert_int_equal(strlen(error.text), HF_ERROR_TEXT_MAX - 1);
  assert_memory_equal(error.text, "prefix: xxx", 11);
  assert_int_equal(hf_error_wrap(&error, "%s", longer), HF_ERR_INVALID);
  assert_int_equal(strlen(error.text), HF_ERROR_TEXT_MAX - 1);
  assert_int_equal(error.text[0], 'x');
}

static void error__names_every_code(void **state) {
  (void)state;
  assert_string_equal(hf_err_name(0), "OK");
  assert_string_equal(hf_err_name(HF_ERR_NOMEM), "NOMEM");
  assert_string_equal(hf_err_text(HF_ERR_INCOMPLETE), "incomplete input");
  assert_string_equal(hf_err_text(HF_ERR_FULL), "no space left");
  assert_string_equal(hf_err_name(-9999), "UNKNOWN");
  assert_string_equal(hf_err_text(1), "unknown error");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(error__wraps_outward),
      cmocka_unit_test(error__is_optional),
      cmocka_unit_test(error__cuts_long_text),
      cmocka_unit_test(error__names_every_code),
  };
  return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
