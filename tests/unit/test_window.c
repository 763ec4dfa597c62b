#include "policy/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void window__counts_what_lies_in_it(void **state) {
  (void)state;
  struct hf_window w;
  hf_window_init(&w, HF_SECONDS(60));
  hf_window_add(&w, HF_SECONDS(1), 1);
  hf_window_add(&w, HF_SECONDS(30), 0);
  hf_window_add(&w, HF_SECONDS(59), 1);
  struct hf_window_counts c = hf_window_counts(&w, HF_SECONDS(59));
  assert_int_equal(c.calls, 3);
  assert_int_equal(c.failures, 2);
}

static void window__forgets_bucket_by_bucket(void **state) {
  (void)state;
  struct hf_window w;
  hf_window_init(&w, HF_SECONDS(60));
  hf_window_add(&w, HF_SECONDS(1), 1);  /* bucket 0: 0–5 s */
  hf_window_add(&w, HF_SECONDS(12), 1); /* bucket 2 */
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(59)).calls, 2);
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(60)).calls, 1);
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(69)).calls, 1);
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(70)).calls, 0);
}

/* A peer rotated one bucket per call, so that after an idle night yesterday's failures still counted. */
static void window__is_empty_after_idle_time(void **state) {
  (void)state;
  struct hf_window w;
  hf_window_init(&w, HF_SECONDS(60));
  for (int i = 0; i < 60; i++)
    hf_window_add(&w, HF_SECONDS(i), 1);
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(3600)).calls, 0);
  hf_window_add(&w, HF_SECONDS(3600), 0);
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(3600)).calls, 1);
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(3600)).failures, 0);
}

static void window__whole_turns_of_idle_time_leave_nothing(void **state) {
  (void)state;
  struct hf_window w;
  hf_window_init(&w, HF_SECONDS(60));
  hf_window_add(&w, 0, 1);
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(120)).calls, 0);
}

static void window__time_that_goes_back_counts_as_now(void **state) {
  (void)state;
  struct hf_window w;
  hf_window_init(&w, HF_SECONDS(60));
  hf_window_add(&w, HF_SECONDS(100), 0);
  hf_window_add(&w, HF_SECONDS(40), 1);
  hf_window_add(&w, -HF_SECONDS(1), 1);
  assert_int_equal(hf_window_counts(&w, HF_SECONDS(100)).calls, 3);
}

static void window__may_be_as_short_as_nothing(void **state) {
  (void)state;
  struct hf_window w;
  hf_window_init(&w, 0);
  hf_window_add(&w, 0, 1);
  assert_int_equal(hf_window_counts(&w, 0).failures, 1);
  assert_int_equal(hf_window_counts(&w, HF_WINDOW_BUCKETS - 1).failures, 1);
  assert_int_equal(hf_window_counts(&w, HF_WINDOW_BUCKETS).calls, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(window__counts_what_lies_in_it),
      cmocka_unit_test(window__forgets_bucket_by_bucket),
      cmocka_unit_test(window__is_empty_after_idle_time),
      cmocka_unit_test(window__whole_turns_of_idle_time_leave_nothing),
      cmocka_unit_test(window__time_that_goes_back_counts_as_now),
      cmocka_unit_test(window__may_be_as_short_as_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
