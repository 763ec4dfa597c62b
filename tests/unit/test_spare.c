#include "base/alloc.h"
#include "base/spare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 2000, MANY = 100, KEPT_MAX = 32 };

static unsigned long allocations_of(struct hf_spare *spare, size_t count) {
  unsigned long before = hf_alloc_count();
  void *blocks[MANY];
  for (size_t i = 0; i < count; i++) {
    blocks[i] = hf_spare_take(spare, SIZE);
    assert_non_null(blocks[i]);
    memset(blocks[i], 0xa5, SIZE);
  }
  for (size_t i = 0; i < count; i++)
    hf_spare_give(spare, blocks[i]);
  return hf_alloc_count() - before;
}

static void spare__gives_out_again_what_came_back(void **state) {
  (void)state;
  struct hf_spare spare = {0};
  assert_int_equal(allocations_of(&spare, 3), 3);
#ifndef __SANITIZE_ADDRESS__
  assert_int_equal(allocations_of(&spare, 3), 0);
  assert_int_equal(allocations_of(&spare, 4), 1);
#endif
  hf_spare_deinit(&spare);
  assert_null(spare.first);
}

static void spare__keeps_no_more_than_its_bound(void **state) {
  (void)state;
  struct hf_spare spare = {0};
  (void)allocations_of(&spare, MANY);
  assert_true(spare.count <= KEPT_MAX);
  assert_int_equal(allocations_of(&spare, MANY), MANY - spare.count);
  hf_spare_deinit(&spare);
  assert_int_equal(spare.count, 0);
}

static void spare__without_memory_has_nothing_but_what_is_kept(void **state) {
  (void)state;
  struct hf_spare spare = {0};
  hf_alloc_fail_after(0);
  assert_null(hf_spare_take(&spare, SIZE));
  hf_alloc_fail_after(-1);
  hf_spare_give(&spare, NULL);
  assert_int_equal(spare.count, 0);
  hf_spare_deinit(&spare);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spare__gives_out_again_what_came_back),
      cmocka_unit_test(spare__keeps_no_more_than_its_bound),
      cmocka_unit_test(spare__without_memory_has_nothing_but_what_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
