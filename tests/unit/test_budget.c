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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(budget__allows_one_burst_and_no_more),
      cmocka_unit_test(budget__five_first_attempts_pay_for_one_repeat),
      cmocka_unit_test(budget__trickles_by_the_second),
      cmocka_unit_test(budget__never_holds_more_than_a_burst),
      cmocka_unit_test(budget__time_that_goes_back_pays_nothing),
      cmocka_unit_test(budget__keeps_what_it_holds_over_a_reload),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
