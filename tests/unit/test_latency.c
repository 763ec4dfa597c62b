#include "policy/latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct hf_latency filled(int answers, hf_time took) {
  struct hf_latency l;
  hf_latency_init(&l);
  for (int i = 0; i < answers; i++)
    hf_latency_add(&l, took, i);
  return l;
}

static void assert_about(hf_time found, hf_time exact) {
  assert_true(found >= exact);
  assert_true(found <= exact + exact / 8 + 64);
}

static void latency__says_nothing_of_too_few_answers(void **state) {
  (void)state;
  struct hf_latency l = filled(HF_LATENCY_LEAST - 1, HF_MS(10));
  assert_int_equal(hf_latency_quantile(&l, 50), HF_TIME_NEVER);
  l = filled(HF_LATENCY_LEAST, HF_MS(10));
  assert_about(hf_latency_quantile(&l, 50), HF_MS(10));
  l = filled(19, HF_MS(10));
  assert_int_equal(hf_latency_quantile(&l, 95), HF_TIME_NEVER);
  assert_int_equal(l.p95, HF_TIME_NEVER);
  hf_latency_add(&l, HF_MS(10), 20);
  assert_about(hf_latency_quantile(&l, 50), HF_MS(10));
  assert_about(l.p95, HF_MS(10));
}

static void latency__quantiles_are_an_eighth_too_high_at_most(void **state) {
  (void)state;
  static const struct {
    unsigned percent;
    hf_time exact;
  } rows[] = {{50, HF_MS(50)}, {90, HF_MS(90)}, {95, HF_MS(95)}, {99, HF_MS(99)}, {100, HF_MS(100)}, {1, HF_MS(1)}};
  struct hf_latency l;
  hf_latency_init(&l);
  for (int i = 0; i < 400; i++)
    hf_latency_add(&l, HF_MS(i * 37 % 100 + 1), 0);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_about(hf_latency_quantile(&l, rows[i].percent), rows[i].exact);
}

static void latency__every_time_has_its_bucket(void **state) {
  (void)state;
  static const hf_time times[] = {
      64, 65, 127, 128, 1000, HF_MS(1), HF_MS(999), HF_SECONDS(1), HF_SECONDS(60), HF_SECONDS(1800)};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    struct hf_latency l = filled(20, times[i]);
    assert_about(hf_latency_quantile(&l, 50), times[i]);
  }
  struct hf_latency l = filled(20, 0);
  assert_true(hf_latency_quantile(&l, 50) <= 72);
  l = filled(20, HF_TIME_NEVER);
  assert_true(hf_latency_quantile(&l, 50) >= HF_SECONDS(1800));
}

static void latency__the_kept_one_follows_what_is_new(void **state) {
  (void)state;
  struct hf_latency l = filled(2000, HF_MS(10));
  assert_about(l.p95, HF_MS(10));
  int answers = 0;
  for (; l.p95 < HF_MS(200); answers++)
    hf_latency_add(&l, HF_MS(200), 2000);
  assert_in_range(answers, 10, 70);
  for (int i = 0; i < 3000; i++)
    hf_latency_add(&l, HF_MS(10), 2000);
  assert_about(l.p95, HF_MS(10));
}

static void latency__forgets_a_quiet_night(void **state) {
  (void)state;
  struct hf_latency l = filled(512, HF_MS(10));
  hf_latency_add(&l, HF_MS(10), HF_SECONDS(290)); /* half of it, for the number */
  assert_int_equal(l.total, 257);
  hf_latency_add(&l, HF_MS(10), HF_SECONDS(290 + 299));
  assert_int_equal(l.total, 258);
  hf_latency_add(&l, HF_MS(10), HF_SECONDS(290 + 299 + 600)); /* twice five minutes */
  assert_in_range(l.total, 60, 70);
  hf_latency_add(&l, HF_MS(10), HF_SECONDS(9 * 3600));
  assert_int_equal(l.total, 1);
  assert_int_equal(hf_latency_quantile(&l, 95), HF_TIME_NEVER);
  assert_int_equal(l.p95, HF_TIME_NEVER);
  for (int i = 1; i < 20; i++)
    hf_latency_add(&l, HF_MS(30), HF_SECONDS(9 * 3600 + i));
  assert_about(l.p95, HF_MS(30));
}

static void latency__halves_what_it_knows_at_512(void **state) {
  (void)state;
  struct hf_latency l = {0};
  hf_latency_init(&l);
  for (int i = 0; i < 512; i++)
    hf_latency_add(&l, 1, 0);
  assert_int_equal(l.total, 512);
  hf_latency_add(&l, 1, 0);
  assert_int_equal(l.total, 257);
  assert_int_equal(l.buckets[0], 257);
}

static void latency__halves_what_it_knows_every_five_minutes(void **state) {
  (void)state;
  struct hf_latency l = filled(100, 1);
  hf_latency_add(&l, 1, 99 + HF_SECONDS(300) - 1);
  assert_int_equal(l.total, 101);
  hf_latency_add(&l, 1, 98 + HF_SECONDS(600));
  assert_int_equal(l.total, 51);
  hf_latency_add(&l, 1, 98 + HF_SECONDS(1200));
  assert_int_equal(l.total, 13);
}

static void latency__longest_times_share_the_last_bucket(void **state) {
  (void)state;
  static const hf_time times[] = {((hf_time)1 << (HF_LATENCY_BUCKETS / 8 + 6)) - 1,
                                  (hf_time)1 << (HF_LATENCY_BUCKETS / 8 + 6), HF_TIME_NEVER};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    struct hf_latency l = filled(1, times[i]);
    assert_int_equal(l.buckets[HF_LATENCY_BUCKETS - 1], 1);
  }
}

static void latency__keeps_its_quantile_for_a_sixteenth_of_the_answers(void **state) {
  (void)state;
  struct hf_latency l = filled(160, HF_MS(10));
  while (l.unread > 0)
    hf_latency_add(&l, HF_MS(10), 160);
  hf_time kept = l.p95;
  unsigned due = (l.total + 16) / 16;
  for (unsigned i = 1; i < due; i++) {
    hf_latency_add(&l, HF_SECONDS(10), 160);
    assert_int_equal(l.unread, i);
    assert_int_equal(l.p95, kept);
  }
  while (l.unread > 0)
    hf_latency_add(&l, HF_SECONDS(10), 160);
  assert_about(l.p95, HF_SECONDS(10));
}

static void latency__needs_a_hundred_answers_to_tell_one_of_them(void **state) {
  (void)state;
  struct hf_latency l = filled(99, HF_MS(10));
  assert_int_equal(hf_latency_quantile(&l, 99), HF_TIME_NEVER);
  l = filled(100, HF_MS(10));
  assert_about(hf_latency_quantile(&l, 99), HF_MS(10));
  assert_int_equal(hf_latency_quantile(&l, 0), 72); /* the edge of the first bucket */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(latency__says_nothing_of_too_few_answers),
      cmocka_unit_test(latency__quantiles_are_an_eighth_too_high_at_most),
      cmocka_unit_test(latency__every_time_has_its_bucket),
      cmocka_unit_test(latency__the_kept_one_follows_what_is_new),
      cmocka_unit_test(latency__forgets_a_quiet_night),
      cmocka_unit_test(latency__halves_what_it_knows_at_512),
      cmocka_unit_test(latency__halves_what_it_knows_every_five_minutes),
      cmocka_unit_test(latency__longest_times_share_the_last_bucket),
      cmocka_unit_test(latency__keeps_its_quantile_for_a_sixteenth_of_the_answers),
      cmocka_unit_test(latency__needs_a_hundred_answers_to_tell_one_of_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
