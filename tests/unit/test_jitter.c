#include "policy/jitter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The numbers that other implementations of splitmix64 give for this seed. */
static void jitter__is_splitmix64(void **state) {
  (void)state;
  static const uint64_t numbers[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                     UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                     UINT64_C(16408922859458223821)};
  uint64_t seed = 1234567;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    assert_true(hf_jitter_next(&seed) == numbers[i]);
}

static void jitter__scales_to_its_bound_and_no_further(void **state) {
  (void)state;
  assert_int_equal(hf_jitter_scale(UINT64_MAX, -5), 0);
  assert_int_equal(hf_jitter_scale(UINT64_MAX, 0), 0);
  assert_int_equal(hf_jitter_scale(0, 1), 0);
  assert_int_equal(hf_jitter_scale(UINT64_MAX / 2, 1), 0);
  assert_int_equal(hf_jitter_scale(UINT64_MAX / 2 + 1, 1), 1);
  assert_int_equal(hf_jitter_scale(UINT64_MAX, 1), 1);
  assert_int_equal(hf_jitter_scale(UINT64_MAX, HF_TIME_NEVER), HF_TIME_NEVER);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(jitter__is_splitmix64),
      cmocka_unit_test(jitter__scales_to_its_bound_and_no_further),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
