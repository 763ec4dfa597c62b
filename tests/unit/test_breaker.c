#include "policy/breaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* No jitter: random 0. Opens after 5 in a row or 50 % of 10; 30 s to 300 s. */
static const struct hf_breaker_options options = {.failures = 5,
                                                  .rate_percent = 50,
                                                  .min_calls = 10,
                                                  .window = HF_SECONDS(60),
                                                  .open = HF_SECONDS(30),
                                                  .max_open = HF_SECONDS(300)};

static bool record(struct hf_breaker *b, enum hf_verdict verdict, hf_time now) {
  return hf_breaker_record(b, b->generation, verdict, 0, now, 0);
}

static void failures(struct hf_breaker *b, int times, hf_time now) {
  for (int i = 0; i < times; i++)
    record(b, HF_VERDICT_FAILURE, now);
}

static struct hf_breaker tripped(hf_time now) {
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  failures(&b, 5, now);
  assert_int_equal(b.state, HF_BREAKER_OPEN);
  return b;
}

static void breaker__opens_after_consecutive_failures(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  failures(&b, 4, 0);
  assert_int_equal(hf_breaker_gate(&b, 0), HF_BREAKER_PASS);
  failures(&b, 1, 0);
  assert_int_equal(hf_breaker_gate(&b, 0), HF_BREAKER_STOP);
  assert_int_equal(b.open_until, HF_SECONDS(30));
}

static void breaker__a_success_breaks_the_row(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  failures(&b, 4, 0);
  record(&b, HF_VERDICT_SUCCESS, 0);
  failures(&b, 4, 0);
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
}

static void breaker__opens_at_half_of_ten_calls(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  for (int i = 0; i < 4; i++) {
    record(&b, HF_VERDICT_FAILURE, HF_SECONDS(i));
    record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(i));
  }
  record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(5));
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
  record(&b, HF_VERDICT_FAILURE, HF_SECONDS(5)); /* 5 of 10 */
  assert_int_equal(b.state, HF_BREAKER_OPEN);
}

static void breaker__failures_of_an_hour_ago_count_no_more(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  for (int i = 0; i < 4; i++) {
    record(&b, HF_VERDICT_FAILURE, HF_SECONDS(i));
    record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(i));
  }
  record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(3600));
  record(&b, HF_VERDICT_FAILURE, HF_SECONDS(3600));
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
}

static void breaker__neutral_neither_opens_nor_closes(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  failures(&b, 4, 0);
  for (int i = 0; i < 100; i++)
    record(&b, HF_VERDICT_NEUTRAL, 0);
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
  failures(&b, 1, 0);
  assert_int_equal(b.state, HF_BREAKER_OPEN);
}

static void breaker__half_open_admits_one(void **state) {
  (void)state;
  struct hf_breaker b = tripped(0);
  assert_int_equal(hf_breaker_gate(&b, HF_SECONDS(30) - 1), HF_BREAKER_STOP);
  assert_int_equal(hf_breaker_gate(&b, HF_SECONDS(30)), HF_BREAKER_PROBE);
  hf_breaker_lease(&b, HF_SECONDS(50));
  for (int i = 0; i < 100; i++)
    assert_int_equal(hf_breaker_gate(&b, HF_SECONDS(30)), HF_BREAKER_STOP);
}

static void breaker__good_probe_closes(void **state) {
  (void)state;
  struct hf_breaker b = tripped(0);
  hf_breaker_lease(&b, HF_SECONDS(50));
  assert_true(record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(31)));
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
  failures(&b, 4, HF_SECONDS(32));
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
}

static void breaker__open_time_grows_while_probes_fail_up_to_its_bound(void **state) {
  (void)state;
  struct hf_breaker b = tripped(0);
  hf_time before = HF_SECONDS(30);
  assert_int_equal(b.open_until, before);
  for (int i = 0; i < 40; i++) {
    hf_time now = b.open_until;
    hf_breaker_lease(&b, now + HF_SECONDS(20));
    record(&b, HF_VERDICT_FAILURE, now);
    assert_int_equal(b.state, HF_BREAKER_OPEN);
    hf_time open_time = b.open_until - now;
    assert_true(open_time >= before);
    assert_true(open_time <= before + HF_SECONDS(30));
    before = open_time;
  }
  assert_int_equal(before, HF_SECONDS(300));
}

static void breaker__jitter_stays_within_the_bounds(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  failures(&b, 4, 0);
  hf_breaker_record(&b, b.generation, HF_VERDICT_FAILURE, 0, 0, UINT64_MAX);
  assert_int_equal(b.open_until, HF_SECONDS(36));
  hf_time last = 0;
  for (int i = 0; i < 40; i++) {
    last = b.open_until;
    hf_breaker_lease(&b, last + 1);
    hf_breaker_record(&b, b.generation, HF_VERDICT_FAILURE, 0, last, UINT64_MAX);
    assert_true(b.open_until - last <= HF_SECONDS(300));
    assert_true(b.open_until - last >= HF_SECONDS(30));
  }
  assert_int_equal(b.open_until - last, HF_SECONDS(270)); /* 300 less an open time */
}

/* One outage: trips now, its probe at each of the times fails, the last one gets through. Returns when. */
static hf_time outage(struct hf_breaker *b, hf_time now, hf_time took) {
  hf_time began = now;
  failures(b, 5, now);
  assert_int_equal(b->state, HF_BREAKER_OPEN);
  while (b->state != HF_BREAKER_CLOSED) {
    now = b->open_until;
    hf_breaker_lease(b, now + HF_SECONDS(20));
    record(b, now < began + took ? HF_VERDICT_FAILURE : HF_VERDICT_SUCCESS, now);
  }
  return now;
}

static void breaker__looks_when_outages_like_this_have_ended(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  hf_time now = 0;
  for (int i = 0; i < 8; i++)
    now = outage(&b, now + HF_SECONDS(3600), HF_SECONDS(200));
  hf_time began = now + HF_SECONDS(3600);
  failures(&b, 5, began);
  assert_true(b.open_until - began > HF_SECONDS(90)); /* unlearnt it would have been 30 */
  int looks = 0;
  for (; b.open_until < began + HF_SECONDS(230); looks++) {
    hf_time due = b.open_until;
    hf_breaker_lease(&b, due + HF_SECONDS(20));
    record(&b, HF_VERDICT_FAILURE, due);
  }
  assert_in_range(looks, 2, 3);
  assert_true(b.open_until > began + HF_SECONDS(250)); /* no longer: it is none of those */
}

static void breaker__forgets_what_eight_later_outages_contradict(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  hf_time now = outage(&b, 0, HF_SECONDS(2000));
  for (int i = 0; i < 8; i++)
    now = outage(&b, now + HF_SECONDS(3600), HF_SECONDS(1));
  failures(&b, 5, now);
  assert_int_equal(b.open_until - now, HF_SECONDS(30));
}

static void breaker__an_outage_is_no_longer_for_nobody_having_asked(void **state) {
  (void)state;
  struct hf_breaker b = tripped(0);
  hf_breaker_lease(&b, HF_SECONDS(9000));
  record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(9000));
  failures(&b, 5, HF_SECONDS(9001));
  assert_int_equal(b.open_until - HF_SECONDS(9001), HF_SECONDS(30));
}

static void breaker__remembers_its_outages(void **state) {
  (void)state;
  struct hf_breaker b;
  struct hf_outage o[HF_OUTAGES_MAX];
  hf_breaker_init(&b, &options);
  assert_int_equal(hf_breaker_outages(&b, o), 0);
  outage(&b, HF_SECONDS(100), HF_SECONDS(40));
  failures(&b, 5, HF_SECONDS(1000));
  assert_int_equal(hf_breaker_outages(&b, o), 2);
  assert_int_equal(o[0].began, HF_SECONDS(1000));
  assert_int_equal(o[0].ended, HF_TIME_NEVER);
  assert_int_equal(o[0].end, HF_OUTAGE_GOES_ON);
  assert_int_equal(o[1].began, HF_SECONDS(100));
  assert_int_equal(o[1].at_least, HF_SECONDS(30));
  assert_int_equal(o[1].at_most, o[1].ended - o[1].began);
  assert_true(o[1].at_most > HF_SECONDS(40));
  assert_int_equal(o[1].probes, 1);
  assert_int_equal(o[1].end, HF_OUTAGE_PROBED);
  hf_time due = b.open_until;
  struct hf_breaker timely = b;
  hf_breaker_lease(&timely, HF_SECONDS(9000));
  record(&timely, HF_VERDICT_SUCCESS, due + HF_SECONDS(300));
  hf_breaker_outages(&timely, o);
  assert_int_equal(o[0].end, HF_OUTAGE_PROBED);
  hf_breaker_lease(&b, HF_SECONDS(9000));
  record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(9000));
  hf_breaker_outages(&b, o);
  assert_int_equal(o[0].end, HF_OUTAGE_UNNOTICED);
  assert_int_equal(o[0].ended, HF_SECONDS(9000));
  assert_int_equal(o[0].at_most, due - HF_SECONDS(1000));
  for (int i = 0; i < 20; i++)
    outage(&b, HF_SECONDS(20000 + 1000 * i), 0);
  assert_int_equal(hf_breaker_outages(&b, o), HF_OUTAGES_MAX);
  assert_int_equal(o[0].began, HF_SECONDS(39000));
  assert_int_equal(o[7].began, HF_SECONDS(32000));
}

/* What an operator may set must neither overflow nor loop for long. */
static void breaker__extreme_open_times_are_kept(void **state) {
  (void)state;
  static const hf_time bounds[][2] = {{1, HF_SECONDS(7 * 24 * 3600)},
                                      {HF_MS(10), HF_SECONDS(7 * 24 * 3600)},
                                      {1, 1},
                                      {HF_SECONDS(3600), HF_SECONDS(1)}};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    struct hf_breaker_options o = options;
    o.open = bounds[i][0];
    o.max_open = bounds[i][1];
    struct hf_breaker b;
    hf_breaker_init(&b, &o);
    hf_time now = 0;
    for (int k = 0; k < 10; k++)
      now = outage(&b, now + 1, k % 2 ? o.open * 1000 : 0) + 1;
    failures(&b, 5, now);
    assert_true(b.open_until - now >= o.open);
    assert_true(b.open_until - now <= hf_time_max(o.open, o.max_open));
  }
}

static void breaker__retry_after_is_a_floor_of_the_open_time(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  failures(&b, 4, 0);
  hf_breaker_record(&b, b.generation, HF_VERDICT_FAILURE, HF_SECONDS(90), 0, 0);
  assert_int_equal(b.open_until, HF_SECONDS(90));
  hf_breaker_lease(&b, HF_SECONDS(100));
  hf_breaker_record(&b, b.generation, HF_VERDICT_FAILURE, HF_SECONDS(5000), HF_SECONDS(90), 0);
  assert_int_equal(b.open_until, HF_SECONDS(390));
}

/* Peers count a 401 or a cancelled probe as a success, or keep its slot for ever. */
static void breaker__neutral_probe_returns_the_slot_without_closing(void **state) {
  (void)state;
  struct hf_breaker b = tripped(0);
  hf_breaker_lease(&b, HF_SECONDS(50));
  record(&b, HF_VERDICT_NEUTRAL, HF_SECONDS(31));
  assert_int_equal(b.state, HF_BREAKER_OPEN);
  assert_int_equal(hf_breaker_gate(&b, HF_SECONDS(31)), HF_BREAKER_PROBE);
}

static void breaker__neutral_probe_with_a_hint_waits_for_it(void **state) {
  (void)state;
  struct hf_breaker b = tripped(0);
  hf_breaker_lease(&b, HF_SECONDS(50));
  hf_breaker_record(&b, b.generation, HF_VERDICT_NEUTRAL, HF_SECONDS(20), HF_SECONDS(31), 0); /* 429 */
  assert_int_equal(hf_breaker_gate(&b, HF_SECONDS(51) - 1), HF_BREAKER_STOP);
  assert_int_equal(hf_breaker_gate(&b, HF_SECONDS(51)), HF_BREAKER_PROBE);
}

static void breaker__lost_probe_leaves_half_open_with_its_lease(void **state) {
  (void)state;
  struct hf_breaker b = tripped(0);
  hf_breaker_lease(&b, HF_SECONDS(50));
  assert_false(hf_breaker_expire(&b, HF_SECONDS(50) - 1));
  assert_true(hf_breaker_expire(&b, HF_SECONDS(50)));
  assert_int_equal(b.state, HF_BREAKER_OPEN);
  assert_int_equal(hf_breaker_gate(&b, HF_SECONDS(50)), HF_BREAKER_PROBE);
}

static void breaker__late_results_of_an_old_generation_are_ignored(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  uint32_t closed = b.generation;
  failures(&b, 5, 0);
  hf_breaker_lease(&b, HF_SECONDS(50));
  uint32_t first_probe = b.generation;
  assert_false(hf_breaker_record(&b, closed, HF_VERDICT_SUCCESS, 0, HF_SECONDS(31), 0));
  assert_false(hf_breaker_record(&b, closed, HF_VERDICT_FAILURE, 0, HF_SECONDS(31), 0));
  assert_int_equal(b.state, HF_BREAKER_HALF_OPEN);
  hf_breaker_expire(&b, HF_SECONDS(50));
  hf_breaker_lease(&b, HF_SECONDS(70));
  assert_false(hf_breaker_record(&b, first_probe, HF_VERDICT_SUCCESS, 0, HF_SECONDS(51), 0));
  assert_int_equal(b.state, HF_BREAKER_HALF_OPEN);
  record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(52));
  for (int i = 0; i < 20; i++)
    hf_breaker_record(&b, closed, HF_VERDICT_FAILURE, 0, HF_SECONDS(53), 0);
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
}

static void breaker__reopens_on_outside_evidence_only_when_not_closed(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  assert_false(hf_breaker_reopen(&b, 0, 0));
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
  failures(&b, 5, 0);
  assert_true(hf_breaker_reopen(&b, HF_SECONDS(30), 0));
  assert_true(b.open_until > HF_SECONDS(60));
}

static void breaker__zero_failures_turns_the_row_off(void **state) {
  (void)state;
  struct hf_breaker_options o = options;
  o.failures = 0;
  struct hf_breaker b;
  hf_breaker_init(&b, &o);
  failures(&b, 9, 0);
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
  failures(&b, 1, 0);
  assert_int_equal(b.state, HF_BREAKER_OPEN); /* by rate */
}

static void breaker__says_whether_its_state_changed(void **state) {
  (void)state;
  struct hf_breaker b;
  hf_breaker_init(&b, &options);
  assert_false(record(&b, HF_VERDICT_SUCCESS, 0));
  assert_false(record(&b, HF_VERDICT_NEUTRAL, 0));
  for (int i = 0; i < 4; i++)
    assert_false(record(&b, HF_VERDICT_FAILURE, 0));
  assert_true(record(&b, HF_VERDICT_FAILURE, 0));
  assert_false(record(&b, HF_VERDICT_FAILURE, 0)); /* open: nothing was admitted */
  assert_int_equal(b.open_until, HF_SECONDS(30));
}

static void breaker__shows_what_it_is(void **state) {
  (void)state;
  struct hf_breaker b;
  struct hf_breaker_view view;
  hf_breaker_init(&b, &options);
  failures(&b, 3, 0);
  hf_breaker_view(&b, &view);
  assert_int_equal(view.state, HF_BREAKER_CLOSED);
  assert_int_equal(view.generation, 1);
  assert_int_equal(view.consecutive, 3);
  failures(&b, 2, HF_SECONDS(1));
  hf_breaker_view(&b, &view);
  assert_int_equal(view.state, HF_BREAKER_OPEN);
  assert_int_equal(view.generation, 2);
  assert_int_equal(view.until, HF_SECONDS(31));
}

static void breaker__rate_is_exact(void **state) {
  (void)state;
  struct hf_breaker b;
  struct hf_breaker_options rate = options;
  rate.failures = 0;
  hf_breaker_init(&b, &rate);
  for (int i = 0; i < 51; i++)
    record(&b, HF_VERDICT_SUCCESS, 0);
  failures(&b, 50, 0);
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
  failures(&b, 1, 0);
  assert_int_equal(b.state, HF_BREAKER_OPEN);
}

static void breaker__counts_from_nothing_once_it_has_closed(void **state) {
  (void)state;
  struct hf_breaker b;
  struct hf_breaker_options rate = options;
  rate.failures = 0;
  hf_breaker_init(&b, &rate);
  failures(&b, 10, 0);
  hf_breaker_lease(&b, HF_SECONDS(40));
  record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(31));
  failures(&b, 9, HF_SECONDS(32));
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
  failures(&b, 1, HF_SECONDS(32));
  assert_int_equal(b.state, HF_BREAKER_OPEN);
}

static void breaker__keeps_its_counts_over_a_reload_unless_the_window_is_another(void **state) {
  (void)state;
  struct hf_breaker b;
  struct hf_breaker_options rate = options;
  rate.failures = 0;
  hf_breaker_init(&b, &rate);
  failures(&b, 9, 0);
  hf_breaker_configure(&b, &rate);
  failures(&b, 1, 0);
  assert_int_equal(b.state, HF_BREAKER_OPEN);
  hf_breaker_init(&b, &rate);
  failures(&b, 9, 0);
  rate.window = HF_SECONDS(30);
  hf_breaker_configure(&b, &rate);
  failures(&b, 9, 0);
  assert_int_equal(b.state, HF_BREAKER_CLOSED);
  rate.min_calls = 9;
  hf_breaker_configure(&b, &rate);
  failures(&b, 1, 0);
  assert_int_equal(b.state, HF_BREAKER_OPEN);
}

static void breaker__jitter_that_just_fits_is_kept(void **state) {
  (void)state;
  struct hf_breaker b;
  struct hf_breaker_options tight = options;
  tight.max_open = HF_SECONDS(33);
  hf_breaker_init(&b, &tight);
  failures(&b, 4, 0);
  assert_true(hf_breaker_record(&b, b.generation, HF_VERDICT_FAILURE, 0, 0, UINT64_MAX / 2));
  assert_int_equal(b.open_until, HF_SECONDS(33));
}

static void breaker__an_outage_is_noticed_within_the_longest_open_time(void **state) {
  (void)state;
  struct hf_outage outages[HF_OUTAGES_MAX];
  for (int late = 0; late < 2; late++) {
    struct hf_breaker b = tripped(0);
    hf_breaker_lease(&b, HF_SECONDS(1000));
    record(&b, HF_VERDICT_SUCCESS, HF_SECONDS(330) + late);
    assert_int_equal(hf_breaker_outages(&b, outages), 1);
    assert_int_equal(outages[0].end, late ? HF_OUTAGE_UNNOTICED : HF_OUTAGE_PROBED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(breaker__opens_after_consecutive_failures),
      cmocka_unit_test(breaker__a_success_breaks_the_row),
      cmocka_unit_test(breaker__opens_at_half_of_ten_calls),
      cmocka_unit_test(breaker__failures_of_an_hour_ago_count_no_more),
      cmocka_unit_test(breaker__neutral_neither_opens_nor_closes),
      cmocka_unit_test(breaker__half_open_admits_one),
      cmocka_unit_test(breaker__good_probe_closes),
      cmocka_unit_test(breaker__open_time_grows_while_probes_fail_up_to_its_bound),
      cmocka_unit_test(breaker__jitter_stays_within_the_bounds),
      cmocka_unit_test(breaker__looks_when_outages_like_this_have_ended),
      cmocka_unit_test(breaker__forgets_what_eight_later_outages_contradict),
      cmocka_unit_test(breaker__an_outage_is_no_longer_for_nobody_having_asked),
      cmocka_unit_test(breaker__remembers_its_outages),
      cmocka_unit_test(breaker__extreme_open_times_are_kept),
      cmocka_unit_test(breaker__retry_after_is_a_floor_of_the_open_time),
      cmocka_unit_test(breaker__neutral_probe_returns_the_slot_without_closing),
      cmocka_unit_test(breaker__neutral_probe_with_a_hint_waits_for_it),
      cmocka_unit_test(breaker__lost_probe_leaves_half_open_with_its_lease),
      cmocka_unit_test(breaker__late_results_of_an_old_generation_are_ignored),
      cmocka_unit_test(breaker__reopens_on_outside_evidence_only_when_not_closed),
      cmocka_unit_test(breaker__zero_failures_turns_the_row_off),
      cmocka_unit_test(breaker__says_whether_its_state_changed),
      cmocka_unit_test(breaker__shows_what_it_is),
      cmocka_unit_test(breaker__rate_is_exact),
      cmocka_unit_test(breaker__counts_from_nothing_once_it_has_closed),
      cmocka_unit_test(breaker__keeps_its_counts_over_a_reload_unless_the_window_is_another),
      cmocka_unit_test(breaker__jitter_that_just_fits_is_kept),
      cmocka_unit_test(breaker__an_outage_is_noticed_within_the_longest_open_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
