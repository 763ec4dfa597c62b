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

/* Seconds since 1970 as other calendars count them. */
static void retry_after__knows_the_calendar(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t at;
  } cases[] = {
      {"Sun, 01 Jan 2023 00:00:00 GMT", 1672531200},  {"Wed, 01 Feb 2023 00:00:00 GMT", 1675209600},
      {"Wed, 01 Mar 2023 00:00:00 GMT", 1677628800},  {"Sat, 01 Apr 2023 00:00:00 GMT", 1680307200},
      {"Mon, 01 May 2023 00:00:00 GMT", 1682899200},  {"Thu, 01 Jun 2023 00:00:00 GMT", 1685577600},
      {"Sat, 01 Jul 2023 00:00:00 GMT", 1688169600},  {"Tue, 01 Aug 2023 00:00:00 GMT", 1690848000},
      {"Fri, 01 Sep 2023 00:00:00 GMT", 1693526400},  {"Sun, 01 Oct 2023 00:00:00 GMT", 1696118400},
      {"Wed, 01 Nov 2023 00:00:00 GMT", 1698796800},  {"Fri, 01 Dec 2023 00:00:00 GMT", 1701388800},
      {"Tue, 31 Jan 2023 23:59:59 GMT", 1675209599},  {"Tue, 28 Feb 2023 23:59:59 GMT", 1677628799},
      {"Fri, 31 Mar 2023 23:59:59 GMT", 1680307199},  {"Sun, 30 Apr 2023 23:59:59 GMT", 1682899199},
      {"Wed, 31 May 2023 23:59:59 GMT", 1685577599},  {"Fri, 30 Jun 2023 23:59:59 GMT", 1688169599},
      {"Mon, 31 Jul 2023 23:59:59 GMT", 1690847999},  {"Thu, 31 Aug 2023 23:59:59 GMT", 1693526399},
      {"Sat, 30 Sep 2023 23:59:59 GMT", 1696118399},  {"Tue, 31 Oct 2023 23:59:59 GMT", 1698796799},
      {"Thu, 30 Nov 2023 23:59:59 GMT", 1701388799},  {"Sun, 31 Dec 2023 23:59:59 GMT", 1704067199},
      {"Thu, 29 Feb 1996 00:00:00 GMT", 825552000},   {"Fri, 31 Dec 1999 00:00:00 GMT", 946598400},
      {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},   {"Wed, 01 Mar 2000 00:00:00 GMT", 951868800},
      {"Thu, 31 Dec 2099 00:00:00 GMT", 4102358400},  {"Sun, 28 Feb 2100 00:00:00 GMT", 4107456000},
      {"Mon, 01 Mar 2100 00:00:00 GMT", 4107542400},  {"Fri, 31 Dec 2399 00:00:00 GMT", 13569379200},
      {"Tue, 29 Feb 2400 00:00:00 GMT", 13574563200}, {"Mon, 01 Jan 1601 00:00:00 GMT", -11644473600},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hf_time pause = NEVER_SET;
    assert_int_equal(hf_retry_after_parse(hf_str_from(cases[i].text), (cases[i].at - 3) * 1000, &pause), 0);
    assert_int_equal(pause, HF_SECONDS(3));
  }
}

static void retry_after__reads_what_is_barely_a_date(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t at;
  } cases[] = {
      {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800},  /* a leap second */
      {"AZaz, 06 Nov 1994 08:49:37 GMT", 784111777},  /* whatever the day of the week is called */
      {"Friday, 31-Dec-69 23:59:59 GMT", 3155759999}, /* 2069 */
      {"Thursday, 01-Jan-70 00:00:00 GMT", 0},        {"Saturday, 01-Jan-00 00:00:00 GMT", 946684800},
      {"Friday, 31-Dec-99 00:00:00 GMT", 946598400},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hf_time pause = NEVER_SET;
    assert_int_equal(hf_retry_after_parse(hf_str_from(cases[i].text), (cases[i].at - 3) * 1000, &pause), 0);
    assert_int_equal(pause, HF_SECONDS(3));
  }
  hf_time pause = NEVER_SET;
  assert_int_equal(hf_retry_after_parse(HF_STR("Fri, 31 Dec 9999 00:00:00 GMT"), WALL_MS, &pause), 0);
  assert_int_equal(pause, HF_SECONDS(31622400));
}

/* Each is a date but for one thing. The good one before it leaves no number behind that could stand in for one that is
 * missing. */
static void retry_after__refuses_what_is_nearly_a_date(void **state) {
  (void)state;
  static const char *const cases[] = {
      "Sun, 06 Nov 1994 08:49:61 GMT",
      "Sun, 06 Nov 1994 08:60:37 GMT",
      "Mon, 01 Jan 1600 00:00:00 GMT",
      "Sun,06 Nov 1994 08:49:37 GMT",
      "Sun, 06Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov1994 08:49:37 GMT",
      "Sun, 06 Nov  08:49:37 GMT",
      "Sun, 06 Nov 199408:49:37 GMT",
      "Sun, 06  1994 08:49:37 GMT",
      "Sun,  Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 :49:37 GMT",
      "Sun, 06 Nov 1994 08::37 GMT",
      "Sun, 06 Nov 1994 08:49: GMT",
      "Sun, 06 Nov 1994 0849:37 GMT",
      "Sun, 06 Nov 1994 08:4937 GMT",
      "Sunday 06-Nov-94 08:49:37 GMT",
      "Sunday, -Nov-94 08:49:37 GMT",
      "Sunday, 06Nov-94 08:49:37 GMT",
      "Sunday, 06--94 08:49:37 GMT",
      "Sunday, 06-Nov94 08:49:37 GMT",
      "Sunday, 06-Nov- 08:49:37 GMT",
      "Sunday, 06-Nov-94-08:49:37 GMT",
      "Sunday, 06-Nov-94 08.49.37 GMT",
      "Sunday, 06-Nov-94 08:49:37 UTC",
      "Sunday, 06-Nov-94 08:49:37",
      "Sunday, 06-Nov-94 08:49:37 GMT.",
      "Sunday, 06-Nov-94",
      "SunNov  6 08:49:37 1994",
      "Sun   6 08:49:37 1994",
      "Sun Nov6 08:49:37 1994",
      "Sun Nov    08:49:37 1994",
      "Sun Nov  608:49:37 1994",
      "Sun Nov  6 08.49.37 1994",
      "Sun Nov  6 08:49:371994",
      "Sun Nov  6 08:49:37 19",
      "Sun Nov  6 08:49:37 1994 GMT",
      "Sun Nov  6",
      "Sun",
      "Sun, ",
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hf_time pause = NEVER_SET;
    hf_time good = NEVER_SET;
    int first = hf_retry_after_parse(HF_STR("Sun, 06 Nov 1994 08:49:37 GMT"), WALL_MS, &good);
    int r = hf_retry_after_parse(hf_str_from(cases[i]), WALL_MS, &pause);
    assert_int_equal(first, 0);
    assert_int_equal(r, HF_ERR_SYNTAX);
    assert_int_equal(pause, NEVER_SET);
  }
}

static void retry__bound_is_never_beyond_the_longest_pause(void **state) {
  (void)state;
  struct hf_retry_options odd = options;
  odd.max = HF_MS(700);
  assert_int_equal(hf_retry_pause(&odd, 2, -1, UINT64_MAX), HF_MS(700));
  odd.max = HF_MS(300);
  assert_int_equal(hf_retry_pause(&odd, 1, -1, UINT64_MAX), HF_MS(300));
}

static void retry__pause_that_is_as_long_as_the_hint_does(void **state) {
  (void)state;
  assert_int_equal(hf_retry_pause(&options, 1, HF_MS(500), UINT64_MAX), HF_MS(500));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(retry__pause_has_full_jitter_under_a_doubling_bound),
      cmocka_unit_test(retry__hint_is_a_floor),
      cmocka_unit_test(retry__without_jitter_each_pause_is_its_bound),
      cmocka_unit_test(retry_after__reads_seconds_and_all_three_dates),
      cmocka_unit_test(retry_after__leap_days_count),
      cmocka_unit_test(retry_after__refuses_what_is_neither),
      cmocka_unit_test(retry_after__knows_the_calendar),
      cmocka_unit_test(retry_after__reads_what_is_barely_a_date),
      cmocka_unit_test(retry_after__refuses_what_is_nearly_a_date),
      cmocka_unit_test(retry__bound_is_never_beyond_the_longest_pause),
      cmocka_unit_test(retry__pause_that_is_as_long_as_the_hint_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
