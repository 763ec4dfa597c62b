#include "base/alloc.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MANY = 500 };

static void heap__gives_the_earliest_first(void **state) {
  (void)state;
  struct hf_heap heap;
  struct hf_heap_node late = {0};
  struct hf_heap_node early = {0};
  hf_heap_init(&heap);
  assert_null(hf_heap_top(&heap));
  assert_int_equal(hf_heap_set(&heap, &late, 20), 0);
  assert_int_equal(hf_heap_set(&heap, &early, 10), 0);
  assert_ptr_equal(hf_heap_top(&heap), &early);
  hf_heap_remove(&heap, &early);
  assert_ptr_equal(hf_heap_top(&heap), &late);
  hf_heap_remove(&heap, &late);
  assert_null(hf_heap_top(&heap));
  hf_heap_deinit(&heap);
}

static void heap__breaks_ties_by_insertion(void **state) {
  (void)state;
  struct hf_heap heap;
  struct hf_heap_node nodes[5] = {0};
  hf_heap_init(&heap);
  for (size_t i = 0; i < 5; i++)
    assert_int_equal(hf_heap_set(&heap, &nodes[i], 7), 0);
  for (size_t i = 0; i < 5; i++) {
    assert_ptr_equal(hf_heap_top(&heap), &nodes[i]);
    hf_heap_remove(&heap, &nodes[i]);
  }
  hf_heap_deinit(&heap);
}

static void heap__moves_a_node_both_ways(void **state) {
  (void)state;
  struct hf_heap heap;
  struct hf_heap_node a = {0};
  struct hf_heap_node b = {0};
  hf_heap_init(&heap);
  assert_int_equal(hf_heap_set(&heap, &a, 10), 0);
  assert_int_equal(hf_heap_set(&heap, &b, 20), 0);
  assert_int_equal(hf_heap_set(&heap, &a, 30), 0);
  assert_ptr_equal(hf_heap_top(&heap), &b);
  assert_int_equal(hf_heap_set(&heap, &a, 5), 0);
  assert_ptr_equal(hf_heap_top(&heap), &a);
  assert_int_equal(heap.len, 2);
  hf_heap_deinit(&heap);
}

static void heap__stays_sorted_under_random_use(void **state) {
  (void)state;
  struct hf_heap heap;
  static struct hf_heap_node nodes[MANY];
  struct hf_random random;
  hf_heap_init(&heap);
  hf_random_init(&random, 1);
  for (int round = 0; round < 10 * MANY; round++) {
    struct hf_heap_node *node = &nodes[hf_random_below(&random, MANY)];
    if (hf_random_below(&random, 3) == 0)
      hf_heap_remove(&heap, node);
    else
      assert_int_equal(hf_heap_set(&heap, node, (hf_time)hf_random_below(&random, 1000)), 0);
  }
  size_t left = 0;
  for (size_t i = 0; i < MANY; i++)
    left += nodes[i].place != 0;
  assert_int_equal(heap.len, left);
  hf_time last = 0;
  struct hf_heap_node *top;
  while ((top = hf_heap_top(&heap))) {
    assert_true(top->at >= last);
    last = top->at;
    hf_heap_remove(&heap, top);
    left--;
  }
  assert_int_equal(left, 0);
  hf_heap_deinit(&heap);
}

static void heap__cannot_fail_after_a_reserve(void **state) {
  (void)state;
  struct hf_heap heap;
  static struct hf_heap_node nodes[40];
  hf_heap_init(&heap);
  hf_alloc_fail_after(0);
  assert_int_equal(hf_heap_set(&heap, &nodes[0], 1), HF_ERR_NOMEM);
  assert_int_equal(nodes[0].place, 0);
  assert_int_equal(hf_heap_reserve(&heap, 40), 0);
  hf_alloc_fail_after(0);
  for (size_t i = 0; i < 40; i++)
    assert_int_equal(hf_heap_set(&heap, &nodes[i], (hf_time)i), 0);
  hf_alloc_fail_after(-1);
  hf_heap_deinit(&heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heap__gives_the_earliest_first),    cmocka_unit_test(heap__breaks_ties_by_insertion),
      cmocka_unit_test(heap__moves_a_node_both_ways),      cmocka_unit_test(heap__stays_sorted_under_random_use),
      cmocka_unit_test(heap__cannot_fail_after_a_reserve),
  };
  return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
