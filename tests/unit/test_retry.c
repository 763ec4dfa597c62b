#include "policy/retry.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct hf_retry_options options = HF_RETRY_OPTIONS_INIT; /* 500 ms, at most 8 s */

static void retry__pause_has_full_jitter_under_a_doubling_bound(void **state) {
  (void)state;
  static const struct {
    unsigned retry;
    hf_time bound;
  } cases[] = {{1, HF_MS(500)},  {2, HF_MS(1000)}, {3, HF_MS(2000)},  {4, HF_MS(4000)},
               {5, HF_MS(8000)}, {6, HF_MS(8000)}, {400, HF_MS(8000)}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(hf_retry_pause(&options, cases[i].retry, -1, 0), 0);
    assert_int_equal(hf_retry_pause(&options, cases[i].retry, -1, UINT64_MAX / 2), cases[i].bound / 2);
    assert_int_equal(hf_retry_pause(&options, cases[i].retry, -1, UINT64_MAX), cases[i].bound);
  }
}

static void retry__hint_is_a_floor(void **state) {
  (void)state;
  assert_int_equal(hf_retry_pause(&options, 1, HF_SECONDS(3), 0), HF_SECONDS(3));
  assert_int_equal(hf_retry_pause(&options, 1, HF_SECONDS(3), UINT64_MAX), HF_MS(3500));
  assert_int_equal(hf_retry_pause(&options, 5, HF_SECONDS(3), UINT64_MAX), HF_SECONDS(8));
  assert_int_equal(hf_retry_pause(&options, 1, 0, 0), 0);
}

static void retry__without_jitter_each_pause_is_its_bound(void **state) {
  (void)state;
  struct hf_retry_options none = options;
  none.jitter = HF_RETRY_JITTER_NONE;
  for (uint64_t chance = 0; chance < UINT64_MAX / 2; chance += UINT64_MAX / 5) {
    assert_int_equal(hf_retry_pause(&none, 1, -1, chance), HF_MS(500));
    assert_int_equal(hf_retry_pause(&none, 2, -1, chance), HF_MS(1000));
    assert_int_equal(hf_retry_pause(&none, 9, -1, chance), HF_MS(8000));
    assert_int_equal(hf_retry_pause(&none, 1, HF_SECONDS(3), chance), HF_SECONDS(3));
    assert_int_equal(hf_retry_pause(&none, 5, HF_SECONDS(3), chance), HF_MS(8000));
  }
}

enum { NEVER_SET = -77 };

/* 1994-11-06 08:49:30 UTC, seven seconds before the date of RFC 9110's examples. */
static const int64_t WALL_MS = 784111770000;

static void retry_after__reads_seconds_and_all_three_dates(void **state) {
  (void)state;
  static const struct {
    const char *text;
    hf_time pause;
  } cases[] = {
      {"0", 0},
      {"120", HF_SECONDS(120)},
      {"  5\t", HF_SECONDS(5)},
      {"99999999999999999999", HF_SECONDS(31622400)},
      {"Sun, 06 Nov 1994 08:49:37 GMT", HF_SECONDS(7)},
      {"Sunday, 06-Nov-94 08:49:37 GMT", HF_SECONDS(7)},
      {"Sun Nov  6 08:49:37 1994", HF_SECONDS(7)},
      {"Sun Nov 06 08:49:37 1994", HF_SECONDS(7)},
      {"Sun, 06 Nov 1994 08:49:29 GMT", 0},
      {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
      {"Mon, 07 Nov 1994 08:49:30 GMT", HF_SECONDS(86400)},
      {"Wed, 29 Feb 2040 00:00:00 GMT", HF_SECONDS(31622400)},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hf_time pause = NEVER_SET;
    assert_int_equal(hf_retry_after_parse(hf_str_from(cases[i].text), WALL_MS, &pause), 0);
    assert_int_equal(pause, cases[i].pause);
  }
}

static void retry_after__leap_days_count(void **state) {
  (void)state;
  hf_time pause = NEVER_SET;
  /* 2024-02-28T00:00:00Z */
  assert_int_equal(hf_retry_after_parse(HF_STR("Fri, 01 Mar 2024 00:00:00 GMT"), 1709078400000, &pause), 0);
  assert_int_equal(pause, HF_SECONDS(2 * 86400));
}

static void retry_after__refuses_what_is_neither(void **state) {
  (void)state;
  static const char *const cases[] = {"",
                                      "soon",
                                      "-1",
                                      "1.5",
                                      "5 s",
                                      "Sun, 06 Nov 1994 08:49:37",
                                      "Sun, 06 Nov 1994 08:49:37 CET",
                                      "Sun, 06 Nov 1994 08:49:37 GMT ok",
                                      "Sun, 06 Nov 1994 24:49:37 GMT",
                                      "Sun, 32 Nov 1994 08:49:37 GMT",
                                      "Sun, 00 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Foo 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 0094 08:49:37 GMT"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hf_time pause = NEVER_SET;
    assert_int_equal(hf_retry_after_parse(hf_str_from(cases[i]), WALL_MS, &pause), HF_ERR_SYNTAX);
    assert_int_equal(pause, NEVER_SET);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(retry__pause_has_full_jitter_under_a_doubling_bound),
      cmocka_unit_test(retry__hint_is_a_floor),
      cmocka_unit_test(retry__without_jitter_each_pause_is_its_bound),
      cmocka_unit_test(retry_after__reads_seconds_and_all_three_dates),
      cmocka_unit_test(retry_after__leap_days_count),
      cmocka_unit_test(retry_after__refuses_what_is_neither),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
