#include "base/distance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void distance__counts_edits_and_swaps_and_not_case(void **state) {
  (void)state;
  static const struct {
    struct hf_str a, b;
    size_t distance;
  } rows[] = {
      {HF_STR(""), HF_STR(""), 0},
      {HF_STR(""), HF_STR("abc"), 3},
      {HF_STR("abc"), HF_STR(""), 3},
      {HF_STR("read"), HF_STR("READ"), 0},
      {HF_STR("read-all"), HF_STR("read_all"), 0},
      {HF_STR("raed"), HF_STR("read"), 1},
      {HF_STR("red"), HF_STR("read"), 1},
      {HF_STR("rread"), HF_STR("read"), 1},
      {HF_STR("kitten"), HF_STR("sitting"), 3},
      {HF_STR("web"), HF_STR("read"), 3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_int_equal(hf_distance(rows[i].a, rows[i].b), rows[i].distance);
}

static void distance__looks_at_no_more_than_its_limit(void **state) {
  (void)state;
  char a[3 * HF_DISTANCE_MAX], b[3 * HF_DISTANCE_MAX];
  memset(a, 'x', sizeof a);
  memset(b, 'x', sizeof b);
  b[HF_DISTANCE_MAX] = 'y';
  assert_int_equal(hf_distance((struct hf_str){a, sizeof a}, (struct hf_str){b, sizeof b}), 0);
  b[HF_DISTANCE_MAX - 1] = 'y';
  assert_int_equal(hf_distance((struct hf_str){a, sizeof a}, (struct hf_str){b, sizeof b}), 1);
}

static void distance__that_cannot_be_is_not_looked_for(void **state) {
  (void)state;
  static const char *const names[] = {"",           "a",      "search",    "serch",   "Search_Web", "search-web",
                                      "web_search", "hcraes", "zzzzzz",    "s3arch",  "orders",     "a.b/c",
                                      "été",        "SEARCH", "searching", "research"};
  const size_t count = sizeof names / sizeof names[0];
  size_t spared = 0;
  for (size_t i = 0; i < count * count; i++) {
    struct hf_str a = hf_str_from(names[i / count]), b = hf_str_from(names[i % count]);
    size_t d = hf_distance(a, b);
    assert_true(hf_distance_may_be(a, b, d));
    spared += d > 2 && !hf_distance_may_be(a, b, 2);
  }
  assert_true(spared > count * count / 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distance__that_cannot_be_is_not_looked_for),
      cmocka_unit_test(distance__counts_edits_and_swaps_and_not_case),
      cmocka_unit_test(distance__looks_at_no_more_than_its_limit),
  };
  return cmocka_run_group_tests_name("distance", tests, NULL, NULL);
}
