#include "mcp/names.h"

#include "base/alloc.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct hf_str absent = {NULL, 0};

static void names__are_plain_where_they_can_be(void **state) {
  (void)state;
  struct hf_names names;
  hf_names_init(&names, 100);
  struct hf_name *name;
  assert_int_equal(hf_names_add(&names, HF_STR("files"), HF_STR("read_file"), &name), 0);
  assert_string_equal(name->exposed.ptr, "files__read_file");
  assert_int_equal(hf_names_add(&names, HF_STR("a-b.c"), HF_STR("_x__y"), &name), 0);
  assert_string_equal(name->exposed.ptr, "a-b.c___x__y");
  assert_int_equal(hf_names_add(&names, absent, HF_STR("bare"), &name), 0);
  assert_string_equal(name->exposed.ptr, "bare");
  hf_names_deinit(&names);
}

static void names__are_legal_short_and_unique_whatever_the_server_says(void **state) {
  (void)state;
  static const struct {
    const char *server;
    const char *original;
  } rows[] = {
      {"a__b", "c"},
      {"a", "b__c"},
      {"a_", "_b"},
      {"a", "__b"},
      {"my server", "do it"},
      {"my_server", "do_it"},
      {"my-server", "do it"},
      {"\xe5\xa4\xa9\xe6\xb0\x94", "\xe6\x9f\xa5\xe8\xaf\xa2"},
      {"\xe5\xa4\xa9\xe6\xb0\x94", "\xe6\x9f\xa5"},
      {"s", "a/b"},
      {"s", "a:b"},
      {"server-with-a-name-that-is-rather-long", "and_a_tool_whose_name_is_longer_than_anyone_would_wish_for_1"},
      {"server-with-a-name-that-is-rather-long", "and_a_tool_whose_name_is_longer_than_anyone_would_wish_for_2"},
  };
  enum { COUNT = sizeof rows / sizeof rows[0] };
  struct hf_names names;
  hf_names_init(&names, 100);
  struct hf_name *added[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    assert_int_equal(hf_names_add(&names, hf_str_from(rows[i].server), hf_str_from(rows[i].original), &added[i]), 0);
    assert_true(hf_name_legal(added[i]->exposed));
    for (size_t j = 0; j < i; j++)
      assert_false(hf_str_equal(added[i]->exposed, added[j]->exposed));
  }
  for (size_t i = 0; i < COUNT; i++) {
    struct hf_name *found = hf_names_find(&names, added[i]->exposed);
    assert_ptr_equal(found, added[i]);
    assert_string_equal(found->server.ptr, rows[i].server);
    assert_string_equal(found->original.ptr, rows[i].original);
    assert_ptr_equal(hf_names_find_pair(&names, hf_str_from(rows[i].server), hf_str_from(rows[i].original)), found);
  }
  hf_names_deinit(&names);
}

static void names__are_the_same_on_every_start(void **state) {
  (void)state;
  struct hf_names names;
  hf_names_init(&names, 100);
  struct hf_name *name, *again;
  assert_int_equal(hf_names_add(&names, HF_STR("my server"), HF_STR("do it"), &name), 0);
  assert_string_equal(name->exposed.ptr, "my_server__do_it_dqz42oyw23");
  assert_int_equal(hf_names_add(&names, HF_STR("my server"), HF_STR("do it"), &again), 0);
  assert_ptr_equal(name, again);
  hf_names_deinit(&names);
}

static void names__do_not_depend_on_the_order(void **state) {
  (void)state;
  static const struct {
    const char *server;
    const char *original;
  } pairs[] = {{"a_", "_b"}, {"a", "__b"}, {"a", "b__c"}, {"a__b", "c"}, {"a b", "c"}, {"a.b", "c"}};
  enum { COUNT = sizeof pairs / sizeof pairs[0] };
  struct hf_names forward, backward;
  hf_names_init(&forward, COUNT);
  hf_names_init(&backward, COUNT);
  struct hf_name *name;
  for (size_t i = 0; i < COUNT; i++) {
    size_t j = COUNT - 1 - i;
    assert_int_equal(hf_names_add(&forward, hf_str_from(pairs[i].server), hf_str_from(pairs[i].original), &name), 0);
    assert_int_equal(hf_names_add(&backward, hf_str_from(pairs[j].server), hf_str_from(pairs[j].original), &name), 0);
  }
  for (size_t i = 0; i < COUNT; i++) {
    struct hf_str server = hf_str_from(pairs[i].server), original = hf_str_from(pairs[i].original);
    assert_string_equal(hf_names_find_pair(&forward, server, original)->exposed.ptr,
                        hf_names_find_pair(&backward, server, original)->exposed.ptr);
  }
  hf_names_deinit(&forward);
  hf_names_deinit(&backward);
}

static void names__a_look_alike_of_a_hash_gets_out_of_the_way(void **state) {
  (void)state;
  struct hf_names names;
  hf_names_init(&names, 100);
  struct hf_name *first, *second;
  assert_int_equal(hf_names_add(&names, HF_STR("a"), HF_STR("x y"), &first), 0);
  char copy[HF_NAME_MAX];
  size_t len = first->exposed.len - 3;
  memcpy(copy, first->exposed.ptr + 3, len);
  assert_int_equal(hf_names_add(&names, HF_STR("a"), (struct hf_str){copy, len}, &second), 0);
  assert_false(hf_str_equal(first->exposed, second->exposed));
  assert_true(hf_name_legal(second->exposed));
  hf_names_deinit(&names);
}

static void names__are_as_many_as_allowed_and_not_empty(void **state) {
  (void)state;
  struct hf_names names;
  hf_names_init(&names, 1);
  struct hf_name *name;
  assert_int_equal(hf_names_add(&names, HF_STR("s"), HF_STR(""), &name), HF_ERR_INVALID);
  assert_int_equal(hf_names_add(&names, HF_STR("s"), HF_STR("t"), &name), 0);
  assert_int_equal(hf_names_add(&names, HF_STR("s"), HF_STR("t"), &name), 0);
  assert_int_equal(hf_names_add(&names, HF_STR("s"), HF_STR("u"), &name), HF_ERR_LIMIT);
  hf_names_deinit(&names);
}

static void names__survive_each_failing_allocation(void **state) {
  (void)state;
  int failures = 0;
  for (long n = 0;; n++) {
    struct hf_names names;
    hf_names_init(&names, 3);
    struct hf_name *name;
    hf_alloc_fail_after(n);
    int r = hf_names_add(&names, HF_STR("s"), HF_STR("t"), &name);
    hf_alloc_fail_after(-1);
    if (r < 0) {
      assert_int_equal(r, HF_ERR_NOMEM);
      assert_int_equal(hf_names_add(&names, HF_STR("s"), HF_STR("t"), &name), 0);
      failures++;
    }
    hf_names_deinit(&names);
    if (r == 0)
      break;
  }
  assert_true(failures >= 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names__are_plain_where_they_can_be),
      cmocka_unit_test(names__are_legal_short_and_unique_whatever_the_server_says),
      cmocka_unit_test(names__are_the_same_on_every_start),
      cmocka_unit_test(names__do_not_depend_on_the_order),
      cmocka_unit_test(names__a_look_alike_of_a_hash_gets_out_of_the_way),
      cmocka_unit_test(names__are_as_many_as_allowed_and_not_empty),
      cmocka_unit_test(names__survive_each_failing_allocation),
  };
  return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
