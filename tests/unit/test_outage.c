#include "policy/outage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const hf_time LEAST = HF_SECONDS(10);
static const hf_time MOST = HF_SECONDS(300);

/* `count` outages that ended somewhere in a span, and one that goes on. */
static struct hf_outage_log past(unsigned count, hf_time at_least, hf_time at_most) {
  struct hf_outage_log log = {0};
  for (unsigned i = 0; i < count; i++) {
    struct hf_outage *outage = hf_outage_log_push(&log, 0);
    outage->ended = at_most;
    outage->at_least = at_least;
    outage->at_most = at_most;
  }
  hf_outage_log_push(&log, 0);
  return log;
}

static void assert_wait(const struct hf_outage_log *log, hf_time elapsed, int64_t seconds_low, int64_t seconds_high) {
  hf_time wait = hf_outage_wait(log, elapsed, LEAST, MOST);
  if (wait < HF_SECONDS(seconds_low) || wait > HF_SECONDS(seconds_high))
    print_error("after %lld: %lld\n", (long long)elapsed, (long long)wait);
  assert_in_range(wait, HF_SECONDS(seconds_low), HF_SECONDS(seconds_high));
}

/* Keller's rule by hand, with a price of 2.5 s: the root of t + 10 grows by the root of 1.25 with each look. */
static void outage__of_which_nothing_is_known_is_looked_at_ever_less_often(void **state) {
  (void)state;
  struct hf_outage_log log = past(0, 0, 0);
  assert_int_equal(hf_outage_wait(&log, 0, LEAST, MOST), LEAST);
  assert_wait(&log, HF_SECONDS(10), 11, 13);     /* 11.3, and a step */
  assert_wait(&log, HF_SECONDS(90), 23, 26);     /* 23.6 */
  assert_wait(&log, HF_SECONDS(990), 71, 76);    /* 71.96 */
  assert_wait(&log, HF_SECONDS(9990), 224, 233); /* 224.9 */
  assert_wait(&log, HF_SECONDS(1000000), 300, 300);
}

static void outage__is_looked_at_when_others_ended(void **state) {
  (void)state;
  struct hf_outage_log log = past(7, HF_SECONDS(100), HF_SECONDS(110));
  assert_wait(&log, HF_SECONDS(50), 50, 66); /* from 90 s on it may have ended */
  assert_wait(&log, HF_SECONDS(80), 16, 36);
  assert_wait(&log, HF_SECONDS(112), 10, 10); /* one that still goes on is about to end */
  assert_wait(&log, HF_SECONDS(121), 24, 29); /* it is none of those: as if nothing were known */
}

/* What is certain to end between 90 and 121 s (100 to 110, and a tenth) is looked at from 90 s on, not before. */
static void outage__others_differ_by_a_tenth(void **state) {
  (void)state;
  struct hf_outage_log narrow = past(7, HF_SECONDS(100), HF_SECONDS(110));
  struct hf_outage_log wide = past(7, HF_SECONDS(90), HF_SECONDS(121));
  hf_time of_narrow = hf_outage_wait(&narrow, HF_SECONDS(50), LEAST, MOST);
  hf_time of_wide = hf_outage_wait(&wide, HF_SECONDS(50), LEAST, MOST);
  assert_in_range(of_narrow, HF_SECONDS(51), HF_SECONDS(53)); /* from 100 s on it would be 56 */
  assert_in_range(of_wide, HF_SECONDS(43), HF_SECONDS(49));
}

static void outage__bounds_hold(void **state) {
  (void)state;
  struct hf_outage_log log = past(7, HF_SECONDS(5000), HF_SECONDS(5100));
  assert_wait(&log, HF_SECONDS(100), 300, 300);
  struct hf_outage_log brief = past(7, 0, HF_SECONDS(1));
  assert_wait(&brief, 0, 10, 10);
}

/* A long outage and a short open time: the odds of a step are small, but not nothing. */
static void outage__fine_odds_are_not_lost(void **state) {
  (void)state;
  struct hf_outage_log log = past(0, 0, 0);
  hf_time wait = hf_outage_wait(&log, HF_SECONDS(10000), HF_SECONDS(1), MOST);
  assert_in_range(wait, HF_SECONDS(70), HF_SECONDS(76));                    /* 70.8, and a step */
  assert_int_equal(hf_outage_wait(&log, HF_SECONDS(10000), 1, MOST), MOST); /* too small to be told from nothing */
}

static void outage__log_keeps_eight(void **state) {
  (void)state;
  struct hf_outage_log log = {0};
  for (int i = 0; i < 20; i++)
    hf_outage_log_push(&log, i);
  assert_int_equal(log.len, HF_OUTAGES_MAX);
  for (unsigned i = 0; i < HF_OUTAGES_MAX; i++)
    assert_int_equal(hf_outage_log_at(&log, i)->began, 19 - i);
}

/* What gateways on other machines work out, too: nothing is rounded as a processor likes. */
static void outage__waits_are_the_same_everywhere(void **state) {
  (void)state;
  static const struct {
    unsigned count;
    hf_time at_least, at_most, elapsed, least, wait;
  } rows[] = {
      {0, 0, 0, 7000000, 10000000, 11164853},
      {0, 0, 0, 7000000, 3, 592765},
      {1, 60000000, 90000000, 0, 10000000, 16113018},
      {1, 60000000, 90000000, 0, 3, 4},
      {1, 60000000, 90000000, 7000000, 10000000, 23462838},
      {1, 60000000, 90000000, 65000000, 10000000, 12763755},
      {7, 20000000, 25000000, 0, 10000000, 21539721},
      {7, 20000000, 25000000, 0, 3, 15},
      {7, 20000000, 25000000, 7000000, 3, 11371952},
      {3, 0, 5000000, 0, 3, 8},
      {8, 400000000, 401000000, 0, 10000000, 60688286},
      {8, 400000000, 401000000, 7000000, 3, 368097872},
      {8, 400000000, 401000000, 65000000, 3, 306040945},
      {8, 400000000, 401000000, 86000000000, 3, 100000000000},
      {3, 86400000000, 90000000000, 0, 10000000, 29600344},
      {3, 86400000000, 90000000000, 0, 3, 8},
      {3, 86400000000, 90000000000, 86000000000, 10000000, 255609000},
      {3, 86400000000, 90000000000, 86000000000, 3, 143914},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_outage_log log = past(rows[i].count, rows[i].at_least, rows[i].at_most);
    assert_int_equal(hf_outage_wait(&log, rows[i].elapsed, rows[i].least, HF_SECONDS(100000)), rows[i].wait);
  }
}

static void outage__no_open_time_is_shorter_than_time_itself(void **state) {
  (void)state;
  struct hf_outage_log log = past(0, 0, 0);
  assert_int_equal(hf_outage_wait(&log, 0, 0, MOST), 1);
  assert_int_equal(hf_outage_wait(&log, 0, -5, MOST), 1);
  assert_int_equal(hf_outage_wait(&log, 0, LEAST, 0), LEAST);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outage__of_which_nothing_is_known_is_looked_at_ever_less_often),
      cmocka_unit_test(outage__is_looked_at_when_others_ended),
      cmocka_unit_test(outage__others_differ_by_a_tenth),
      cmocka_unit_test(outage__bounds_hold),
      cmocka_unit_test(outage__fine_odds_are_not_lost),
      cmocka_unit_test(outage__log_keeps_eight),
      cmocka_unit_test(outage__waits_are_the_same_everywhere),
      cmocka_unit_test(outage__no_open_time_is_shorter_than_time_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
