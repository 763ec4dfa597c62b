#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

enum { MANY = 2000 };

static struct hf_str key_of(char *text, size_t size, unsigned n) {
  int len = snprintf(text, size, "key-%u", n);
  assert_true(len > 0 && (size_t)len < size);
  return (struct hf_str){text, (size_t)len};
}

static void map__finds_what_was_put(void **state) {
  (void)state;
  struct hf_map map;
  int one = 1;
  int two = 2;
  hf_map_init(&map, 10);
  assert_null(hf_map_get(&map, HF_STR("a")));
  assert_int_equal(hf_map_put(&map, HF_STR("a"), &one), 0);
  assert_int_equal(hf_map_put(&map, HF_STR("a\0b"), &two), 0);
  assert_ptr_equal(hf_map_get(&map, HF_STR("a")), &one);
  assert_ptr_equal(hf_map_get(&map, HF_STR("a\0b")), &two);
  assert_null(hf_map_get(&map, HF_STR("b")));
  hf_map_deinit(&map);
}

static void map__takes_the_empty_key(void **state) {
  (void)state;
  struct hf_map map;
  int one = 1;
  hf_map_init(&map, 10);
  assert_int_equal(hf_map_put(&map, HF_STR(""), &one), 0);
  assert_ptr_equal(hf_map_get(&map, (struct hf_str){NULL, 0}), &one);
  assert_ptr_equal(hf_map_remove(&map, HF_STR("")), &one);
  hf_map_deinit(&map);
}

static void map__replaces_a_value_even_when_full(void **state) {
  (void)state;
  struct hf_map map;
  int one = 1;
  int two = 2;
  hf_map_init(&map, 1);
  assert_int_equal(hf_map_put(&map, HF_STR("a"), &one), 0);
  assert_int_equal(hf_map_put(&map, HF_STR("b"), &two), HF_ERR_LIMIT);
  assert_int_equal(hf_map_put(&map, HF_STR("a"), &two), 0);
  assert_ptr_equal(hf_map_get(&map, HF_STR("a")), &two);
  assert_int_equal(map.len, 1);
  hf_map_deinit(&map);
}

static void map__iterates_in_the_order_of_insertion(void **state) {
  (void)state;
  struct hf_map map;
  int value = 0;
  hf_map_init(&map, 10);
  assert_int_equal(hf_map_put(&map, HF_STR("c"), &value), 0);
  assert_int_equal(hf_map_put(&map, HF_STR("a"), &value), 0);
  assert_int_equal(hf_map_put(&map, HF_STR("b"), &value), 0);
  assert_string_equal(map.entries[0].key, "c");
  assert_string_equal(map.entries[1].key, "a");
  assert_string_equal(map.entries[2].key, "b");
  hf_map_deinit(&map);
}

/* Removal closes gaps in runs of colliding slots and moves the last entry: every other key must still be found. */
static void map__keeps_the_rest_through_removals(void **state) {
  (void)state;
  static int values[MANY];
  char text[32];
  struct hf_map map;
  hf_map_init(&map, MANY);
  for (unsigned i = 0; i < MANY; i++)
    assert_int_equal(hf_map_put(&map, key_of(text, sizeof text, i), &values[i]), 0);
  for (unsigned i = 0; i < MANY; i += 3)
    assert_ptr_equal(hf_map_remove(&map, key_of(text, sizeof text, i)), &values[i]);
  for (unsigned i = 0; i < MANY; i++)
    assert_ptr_equal(hf_map_get(&map, key_of(text, sizeof text, i)), i % 3 ? &values[i] : NULL);
  for (unsigned i = 0; i < MANY; i += 3)
    assert_int_equal(hf_map_put(&map, key_of(text, sizeof text, i), &values[i]), 0);
  for (unsigned i = 0; i < MANY; i++)
    assert_ptr_equal(hf_map_get(&map, key_of(text, sizeof text, i)), &values[i]);
  assert_null(hf_map_remove(&map, HF_STR("key-x")));
  assert_int_equal(map.len, MANY);
  hf_map_deinit(&map);
}

static void map__is_unchanged_when_memory_runs_out(void **state) {
  (void)state;
  int value = 0;
  for (long n = 0; n < 3; n++) { /* slots, entries, the key */
    struct hf_map map;
    hf_map_init(&map, 10);
    hf_alloc_fail_after(n);
    int r = hf_map_put(&map, HF_STR("a"), &value);
    hf_alloc_fail_after(-1);
    assert_int_equal(r, HF_ERR_NOMEM);
    assert_int_equal(map.len, 0);
    assert_null(hf_map_get(&map, HF_STR("a")));
    assert_int_equal(hf_map_put(&map, HF_STR("a"), &value), 0);
    assert_ptr_equal(hf_map_get(&map, HF_STR("a")), &value);
    hf_map_deinit(&map);
  }
}

static void map__hashes_alike_within_a_process(void **state) {
  (void)state;
  assert_true(hf_map_hash("12345678x", 9) == hf_map_hash("12345678x", 9));
  assert_true(hf_map_hash("12345678x", 9) != hf_map_hash("12345678y", 9));
  assert_true(hf_map_hash("", 0) != hf_map_hash("\0", 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(map__finds_what_was_put),
      cmocka_unit_test(map__takes_the_empty_key),
      cmocka_unit_test(map__replaces_a_value_even_when_full),
      cmocka_unit_test(map__iterates_in_the_order_of_insertion),
      cmocka_unit_test(map__keeps_the_rest_through_removals),
      cmocka_unit_test(map__is_unchanged_when_memory_runs_out),
      cmocka_unit_test(map__hashes_alike_within_a_process),
  };
  return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
