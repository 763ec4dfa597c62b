#include "base/printer.h"

#include "base/alloc.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void printer__puts_pieces_together(void **state) {
  (void)state;
  struct hf_buf text;
  hf_buf_init(&text, 64);
  struct hf_printer out = {.buf = &text};
  hf_print(&out, "%s %d", "a", 7);
  hf_print_bytes(&out, "bc", 1);
  assert_int_equal(out.error, 0);
  assert_true(hf_str_equal(hf_buf_str(&text), HF_STR("a 7b")));
  hf_buf_deinit(&text);
}

static void printer__keeps_its_first_error_and_prints_no_more(void **state) {
  (void)state;
  struct hf_buf text;
  hf_buf_init(&text, 4);
  struct hf_printer out = {.buf = &text};
  hf_print(&out, "abc");
  hf_print(&out, "too long");
  hf_print(&out, "d");
  hf_print_bytes(&out, "d", 1);
  assert_int_equal(out.error, HF_ERR_LIMIT);
  assert_true(hf_str_equal(hf_buf_str(&text), HF_STR("abc")));
  hf_buf_deinit(&text);

  hf_buf_init(&text, 64);
  out = (struct hf_printer){.buf = &text};
  hf_alloc_fail_after(0);
  hf_print(&out, "a");
  hf_alloc_fail_after(-1);
  hf_print(&out, "b");
  assert_int_equal(out.error, HF_ERR_NOMEM);
  assert_int_equal(text.len, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(printer__puts_pieces_together),
      cmocka_unit_test(printer__keeps_its_first_error_and_prints_no_more),
  };
  return cmocka_run_group_tests_name("printer", tests, NULL, NULL);
}
