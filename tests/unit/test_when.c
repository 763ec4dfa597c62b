#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "cli/when.h"

#include <stdlib.h>
#include <time.h>

#define NOW INT64_C(1777638600000) /* 2026-05-01 12:30:00 UTC */
#define HOUR INT64_C(3600000)

static int in_zone(void **state) {
  (void)state;
  setenv("TZ", "XYZ-2", 1); /* two hours ahead of UTC, all year */
  tzset();
  return 0;
}

static void when__is_read_as_people_write_it(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {
      {"90m", NOW - 90 * 60000},
      {"24h", NOW - 24 * HOUR},
      {"7d", NOW - 7 * 24 * HOUR},
      {"40000d", 0},
      {"2026-05-01", NOW - 12 * HOUR - 30 * 60000 - 2 * HOUR},
      {"2026-05-01T12:30", NOW - 2 * HOUR},
      {"2026-05-01 12:30", NOW - 2 * HOUR},
      {"2026-05-01 12:30:15", NOW - 2 * HOUR + 15000},
      {"2026-05-01T12:30:15Z", NOW + 15000},
      {"2026-05-01T12:30Z", NOW},
      {"2026-05-01Z", NOW - 12 * HOUR - 30 * 60000},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int64_t ms = -1;
    if (hf_when_parse(hf_str_from(cases[i].text), NOW, &ms) != 0 || ms != cases[i].ms)
      fail_msg("%s: %lld", cases[i].text, (long long)(ms - cases[i].ms));
  }
}

static void when__what_is_none_is_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "24",
                                      "yesterday",
                                      "2026-05",
                                      "2026-05-01x",
                                      "2026-02-30",
                                      "2026-02-29Z",
                                      "12:30",
                                      "2026-05-01T25:00",
                                      "never",
                                      "1950-01-01",
                                      "-5h",
                                      "2026-05-01T12:30:15+02:00 and much more"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    int64_t ms = 7;
    assert_int_equal(hf_when_parse(hf_str_from(texts[i]), NOW, &ms), HF_ERR_SYNTAX);
    assert_int_equal(ms, 7);
  }
}

static void when__is_printed_in_local_time(void **state) {
  (void)state;
  char text[HF_WHEN_TEXT_MAX];
  assert_string_equal(hf_when_print(NOW, text), "2026-05-01 14:30:00");
  assert_string_equal(hf_when_print_short(NOW - HOUR, NOW, text), "05-01 13:30");
  assert_string_equal(hf_when_print_short(NOW - 200 * 24 * HOUR, NOW, text), "2025-10-13");
}

static void when__a_span_has_a_unit_that_says_enough(void **state) {
  (void)state;
  static const struct {
    int64_t ms;
    const char *text;
  } cases[] = {{0, "0 s"},        {119999, "119 s"},   {120000, "2 min"},     {2 * HOUR - 1, "119 min"},
               {2 * HOUR, "2 h"}, {47 * HOUR, "47 h"}, {48 * HOUR, "2 days"}, {-5000, "-5 s"}};
  char text[HF_WHEN_TEXT_MAX];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_string_equal(hf_when_print_span(cases[i].ms, text), cases[i].text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(when__is_read_as_people_write_it),
      cmocka_unit_test(when__what_is_none_is_refused),
      cmocka_unit_test(when__is_printed_in_local_time),
      cmocka_unit_test(when__a_span_has_a_unit_that_says_enough),
  };
  return cmocka_run_group_tests(tests, in_zone, NULL);
}
