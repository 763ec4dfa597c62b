#include "policy/bulkhead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void bulkhead__is_full_at_its_limit(void **state) {
  (void)state;
  struct hf_bulkhead b = {.limit = 2};
  assert_false(hf_bulkhead_is_full(&b));
  hf_bulkhead_take(&b);
  assert_false(hf_bulkhead_is_full(&b));
  hf_bulkhead_take(&b);
  assert_true(hf_bulkhead_is_full(&b));
  b.limit = 1; /* lowered meanwhile */
  hf_bulkhead_give_back(&b, 1);
  assert_true(hf_bulkhead_is_full(&b));
  hf_bulkhead_give_back(&b, 1);
  assert_false(hf_bulkhead_is_full(&b));
}

static void bulkhead__without_a_limit_is_never_full(void **state) {
  (void)state;
  struct hf_bulkhead b = {0};
  for (int i = 0; i < 1000; i++)
    hf_bulkhead_take(&b);
  assert_false(hf_bulkhead_is_full(&b));
  assert_int_equal(hf_bulkhead_wait(&b, 1000), 0);
}

static void bulkhead__expects_what_slots_were_held_for(void **state) {
  (void)state;
  struct hf_bulkhead b = {.limit = 2};
  hf_bulkhead_take(&b);
  assert_int_equal(hf_bulkhead_wait(&b, 5), 0); /* there is one */
  hf_bulkhead_take(&b);
  assert_int_equal(hf_bulkhead_wait(&b, 5), 0); /* nothing is known */
  hf_bulkhead_give_back(&b, HF_MS(800));
  hf_bulkhead_take(&b);
  assert_int_equal(hf_bulkhead_wait(&b, 0), HF_MS(400));
  assert_int_equal(hf_bulkhead_wait(&b, 5), HF_MS(2400));
  hf_bulkhead_give_back(&b, HF_MS(1600));
  assert_int_equal(b.held, HF_MS(900)); /* an eighth of the way */
  hf_bulkhead_give_back(&b, HF_TIME_NEVER);
  assert_int_equal(b.held, HF_MS(900) + (HF_SECONDS(24 * 3600) - HF_MS(900)) / 8);
  struct hf_bulkhead quick = {.limit = 2, .in_flight = 1};
  hf_bulkhead_give_back(&quick, 0);
  assert_int_equal(quick.held, 1); /* known, if short */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bulkhead__is_full_at_its_limit),
      cmocka_unit_test(bulkhead__without_a_limit_is_never_full),
      cmocka_unit_test(bulkhead__expects_what_slots_were_held_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
