#include "policy/root.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void root__is_rounded_down(void **state) {
  (void)state;
  for (uint64_t n = 0; n < 1000; n++) {
    assert_int_equal(hf_root(n * n), n);
    assert_int_equal(hf_root(n * n + n), n);
    assert_int_equal(hf_root(n * n + 2 * n), n);
  }
  assert_true(hf_root(UINT64_MAX) == UINT32_MAX);
  assert_true(hf_root((uint64_t)UINT32_MAX * UINT32_MAX) == UINT32_MAX);
  assert_true(hf_root((uint64_t)UINT32_MAX * UINT32_MAX - 1) == UINT32_MAX - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(root__is_rounded_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
