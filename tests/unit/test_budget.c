#include "policy/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct hf_budget make(unsigned burst, unsigned per_second, unsigned share_percent) {
  struct hf_budget b;
  hf_budget_init(&b, &(struct hf_budget_options){burst, per_second, share_percent}, 0);
  return b;
}

static void budget__allows_one_burst_and_no_more(void **state) {
  (void)state;
  struct hf_budget b = make(3, 0, 0);
  assert_true(hf_budget_withdraw(&b, 0));
  assert_true(hf_budget_withdraw(&b, 0));
  assert_true(hf_budget_withdraw(&b, 0));
  assert_false(hf_budget_withdraw(&b, 0));
  assert_false(hf_budget_withdraw(&b, HF_SECONDS(1000)));
}

static void budget__five_first_attempts_pay_for_one_repeat(void **state) {
  (void)state;
  struct hf_budget b = make(1, 0, 20);
  assert_true(hf_budget_withdraw(&b, 0));
  for (int i = 0; i < 4; i++)
    hf_budget_deposit(&b, 0);
  assert_false(hf_budget_withdraw(&b, 0));
  hf_budget_deposit(&b, 0);
  assert_true(hf_budget_withdraw(&b, 0));
}

static void budget__trickles_by_the_second(void **state) {
  (void)state;
  struct hf_budget b = make(10, 2, 0);
  while (hf_budget_withdraw(&b, 0)) {
  }
  assert_false(hf_budget_withdraw(&b, HF_MS(499)));
  assert_true(hf_budget_withdraw(&b, HF_MS(500)));
  assert_false(hf_budget_withdraw(&b, HF_MS(500)));
}

static void budget__never_holds_more_than_a_burst(void **state) {
  (void)state;
  struct hf_budget b = make(2, 1000, 100);
  for (int i = 0; i < 50; i++)
    hf_budget_deposit(&b, HF_SECONDS(100000));
  assert_true(hf_budget_withdraw(&b, HF_SECONDS(100000)));
  assert_true(hf_budget_withdraw(&b, HF_SECONDS(100000)));
  assert_false(hf_budget_withdraw(&b, HF_SECONDS(100000)));
}

static void budget__time_that_goes_back_pays_nothing(void **state) {
  (void)state;
  struct hf_budget b = make(1, 1, 0);
  assert_true(hf_budget_withdraw(&b, HF_SECONDS(10)));
  assert_false(hf_budget_withdraw(&b, HF_SECONDS(5)));
  assert_false(hf_budget_withdraw(&b, HF_SECONDS(10)));
  assert_true(hf_budget_withdraw(&b, HF_SECONDS(11)));
}

static void budget__keeps_what_it_holds_over_a_reload(void **state) {
  (void)state;
  struct hf_budget b = make(5, 0, 0);
  hf_budget_configure(&b, &(struct hf_budget_options){.burst = 1});
  assert_true(hf_budget_withdraw(&b, 0));
  assert_false(hf_budget_withdraw(&b, 0));
}

static unsigned drawn(struct hf_budget *b, hf_time now) {
  unsigned count = 0;
  while (hf_budget_withdraw(b, now))
    count++;
  return count;
}

static void budget__shares_add_up_exactly(void **state) {
  (void)state;
  struct hf_budget b = make(200, 0, 20);
  assert_int_equal(drawn(&b, 0), 200);
  for (int i = 0; i < 500; i++)
    hf_budget_deposit(&b, 0);
  assert_int_equal(drawn(&b, 0), 100);
}

static void budget__an_idle_hour_is_the_most_that_pays(void **state) {
  (void)state;
  struct hf_budget b = make(100000, 1, 0);
  assert_int_equal(drawn(&b, 0), 100000);
  assert_int_equal(drawn(&b, HF_SECONDS(7200)), 3600);
  hf_budget_deposit(&b, HF_SECONDS(7200 + 3600)); /* not idle: somebody called */
  assert_int_equal(drawn(&b, HF_SECONDS(7200 + 7200)), 7200);
}

static void budget__reload_neither_gives_nor_takes(void **state) {
  (void)state;
  const struct hf_budget_options same = {1, 1, 0};
  struct hf_budget b = make(1, 1, 0);
  hf_budget_configure(&b, &same);
  assert_int_equal(drawn(&b, 0), 1);
  assert_int_equal(hf_budget_left(&b, HF_SECONDS(1) - 1), 0);
  assert_false(hf_budget_withdraw(&b, HF_SECONDS(1) - 1));
  hf_budget_configure(&b, &same);
  assert_false(hf_budget_withdraw(&b, HF_SECONDS(1) - 1));
}

static void budget__tells_what_is_left(void **state) {
  (void)state;
  struct hf_budget b = make(10, 5, 0);
  assert_int_equal(hf_budget_left(&b, 0), 10);
  assert_int_equal(drawn(&b, 0), 10);
  assert_int_equal(hf_budget_left(&b, 0), 0);
  assert_int_equal(hf_budget_left(&b, HF_MS(999)), 4);
  assert_int_equal(hf_budget_left(&b, HF_SECONDS(1)), 5);
}

static void budget__a_debt_is_paid_before_anything_is_left(void **state) {
  (void)state;
  struct hf_budget b = make(10, 2, 0);
  hf_budget_charge(&b, 4, 0);
  assert_int_equal(hf_budget_left(&b, 0), 6);
  hf_budget_charge(&b, -3, 0);
  assert_int_equal(hf_budget_left(&b, 0), 9);
  hf_budget_charge(&b, -3, 0);
  assert_int_equal(hf_budget_left(&b, 0), 10);
  hf_budget_charge(&b, 14, 0);
  assert_int_equal(hf_budget_left(&b, 0), 0);
  assert_false(hf_budget_withdraw(&b, HF_SECONDS(2)));
  assert_int_equal(hf_budget_left(&b, HF_SECONDS(3)), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(budget__allows_one_burst_and_no_more),
      cmocka_unit_test(budget__five_first_attempts_pay_for_one_repeat),
      cmocka_unit_test(budget__trickles_by_the_second),
      cmocka_unit_test(budget__never_holds_more_than_a_burst),
      cmocka_unit_test(budget__time_that_goes_back_pays_nothing),
      cmocka_unit_test(budget__keeps_what_it_holds_over_a_reload),
      cmocka_unit_test(budget__shares_add_up_exactly),
      cmocka_unit_test(budget__an_idle_hour_is_the_most_that_pays),
      cmocka_unit_test(budget__reload_neither_gives_nor_takes),
      cmocka_unit_test(budget__tells_what_is_left),
      cmocka_unit_test(budget__a_debt_is_paid_before_anything_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
