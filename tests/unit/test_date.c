#include "base/date.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_date(int64_t wall_ms, const char *expected) {
  char text[HF_DATE_MAX];
  const struct hf_str date = hf_date_write(wall_ms, text);
  assert_int_equal(date.len, strlen(expected));
  assert_memory_equal(date.ptr, expected, date.len);
}

static void date__is_utc_to_the_millisecond(void **state) {
  (void)state;
  assert_date(0, "1970-01-01T00:00:00.000Z");
  assert_date(951782400007, "2000-02-29T00:00:00.007Z");
  assert_date(1796049530120, "2026-11-30T14:38:50.120Z");
}

static void date__out_of_range_is_that_of_zero(void **state) {
  (void)state;
  assert_date(-1, "1970-01-01T00:00:00.000Z");
  assert_date(253402300799999, "9999-12-31T23:59:59.999Z");
  assert_date(253402300800000, "1970-01-01T00:00:00.000Z");
  assert_date(INT64_MAX, "1970-01-01T00:00:00.000Z");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(date__is_utc_to_the_millisecond),
      cmocka_unit_test(date__out_of_range_is_that_of_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
