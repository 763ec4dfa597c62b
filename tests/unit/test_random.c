#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* The reference output of xoshiro256** seeded with splitmix64(1), so that recorded seeds stay meaningful. */
static void random__follows_the_published_generator(void **state) {
  (void)state;
  struct hf_random random;
  hf_random_init(&random, 1);
  assert_true(hf_random_next(&random) == UINT64_C(0xb3f2af6d0fc710c5));
  assert_true(hf_random_next(&random) == UINT64_C(0x853b559647364cea));
}

static void random__stays_below_its_bound_and_reaches_all(void **state) {
  (void)state;
  struct hf_random random;
  int seen[6] = {0};
  hf_random_init(&random, 7);
  for (int i = 0; i < 6000; i++)
    seen[hf_random_below(&random, 6)]++;
  for (int i = 0; i < 6; i++)
    assert_in_range(seen[i], 800, 1200);
  assert_true(hf_random_below(&random, 1) == 0);
}

static void random__secrets_differ(void **state) {
  (void)state;
  unsigned char a[32] = {0};
  unsigned char b[32] = {0};
  assert_int_equal(hf_random_secret(a, sizeof a), 0);
  assert_int_equal(hf_random_secret(b, sizeof b), 0);
  assert_memory_not_equal(a, b, sizeof a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random__follows_the_published_generator),
      cmocka_unit_test(random__stays_below_its_bound_and_reaches_all),
      cmocka_unit_test(random__secrets_differ),
  };
  return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
