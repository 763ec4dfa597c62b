#include "base/error.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>

static void str__absent_is_not_empty(void **state) {
  (void)state;
  assert_null(hf_str_from(NULL).ptr);
  assert_non_null(hf_str_from("").ptr);
  assert_true(hf_str_equal(hf_str_from(NULL), hf_str_from("")));
}

static void str__compares_bytes(void **state) {
  (void)state;
  assert_true(hf_str_equal(HF_STR("a\0b"), HF_STR("a\0b")));
  assert_false(hf_str_equal(HF_STR("a\0b"), HF_STR("a\0c")));
  assert_false(hf_str_equal(HF_STR("a"), HF_STR("ab")));
  assert_true(hf_str_starts(HF_STR("search__web"), HF_STR("search__")));
  assert_true(hf_str_starts(HF_STR(""), (struct hf_str){NULL, 0}));
  assert_false(hf_str_starts(HF_STR("sea"), HF_STR("search")));
}

static void str__ignores_case_of_ascii_only(void **state) {
  (void)state;
  assert_true(hf_str_equal_nocase(HF_STR("Content-Type"), HF_STR("content-TYPE")));
  assert_false(hf_str_equal_nocase(HF_STR("K"), HF_STR("\xe2\x84\xaa"))); /* KELVIN SIGN folds to k elsewhere */
  assert_false(hf_str_equal_nocase(HF_STR("@["), HF_STR("`{")));          /* one bit away, but no letters */
}

static void str__writes_decimals(void **state) {
  (void)state;
  static const struct {
    uint64_t value;
    const char *text;
  } cases[] = {{0, "0"}, {9, "9"}, {10, "10"}, {1000, "1000"}, {UINT64_MAX, "18446744073709551615"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char digits[HF_DECIMAL_MAX];
    assert_true(hf_str_equal(hf_str_decimal(cases[i].value, digits), hf_str_from(cases[i].text)));
  }
}

static void str__trims_spaces_and_tabs(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *expected;
  } rows[] = {{" \t a b\t ", "a b"}, {"", ""}, {" \t", ""}, {"x", "x"}, {"\na ", "\na"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_true(hf_str_equal(hf_str_trim(hf_str_from(rows[i].text)), hf_str_from(rows[i].expected)));
}

static void str__reads_decimals_strictly(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned long long max;
    int r;
    unsigned long long value;
  } rows[] = {
      {"0", 10, 0, 0},
      {"10", 10, 0, 10},
      {"007", 10, 0, 7},
      {"11", 10, HF_ERR_LIMIT, 99},
      {"18446744073709551615", ULLONG_MAX, 0, ULLONG_MAX},
      {"18446744073709551616", ULLONG_MAX, HF_ERR_LIMIT, 99},
      {"99999999999999999999999999", ULLONG_MAX, HF_ERR_LIMIT, 99},
      {"", 10, HF_ERR_SYNTAX, 99},
      {"-1", 10, HF_ERR_SYNTAX, 99},
      {"+1", 10, HF_ERR_SYNTAX, 99},
      {" 1", 10, HF_ERR_SYNTAX, 99},
      {"1 ", 10, HF_ERR_SYNTAX, 99},
      {"0x1", 10, HF_ERR_SYNTAX, 99},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    unsigned long long value = 99; /* untouched on failure */
    assert_int_equal(hf_str_to_u64(hf_str_from(rows[i].text), rows[i].max, &value), rows[i].r);
    assert_true(value == rows[i].value);
  }
}

static void str__is_cut_at_a_character(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t max, len;
  } rows[] = {
      {"abc", 3, 3},       {"abc", 2, 2},          {"abc", 0, 0},      {"a\xc3\xa4", 3, 3},
      {"a\xc3\xa4", 2, 1}, {"\xe2\x82\xac", 2, 0}, {"\x80\x80", 1, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_str text = hf_str_from(rows[i].text), cut = hf_str_cut(text, rows[i].max);
    assert_ptr_equal(cut.ptr, text.ptr);
    assert_int_equal(cut.len, rows[i].len);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(str__absent_is_not_empty),        cmocka_unit_test(str__compares_bytes),
      cmocka_unit_test(str__ignores_case_of_ascii_only), cmocka_unit_test(str__writes_decimals),
      cmocka_unit_test(str__trims_spaces_and_tabs),      cmocka_unit_test(str__reads_decimals_strictly),
      cmocka_unit_test(str__is_cut_at_a_character),
  };
  return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
