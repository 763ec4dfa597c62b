#include "json/value.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void scan(struct hf_json_scan *s, struct hf_json_doc *doc, const char *text, uint32_t tree_depth) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = tree_depth;
  hf_json_scan_init(s, &options);
  assert_int_equal(hf_json_scan_feed(s, text, strlen(text), true), 0);
  *doc = hf_json_doc(text, s);
}

static void json_value__finds_members_by_what_their_names_mean(void **state) {
  (void)state;
  struct hf_json_scan s;
  struct hf_json_doc doc;
  scan(&s, &doc,
       "{\"a\":1,\"\\u0062\":2,\"c\\/d\":3,\"\\ud83d\\ude00\":4,\"\\ud800\":5,\"dup\":6,\"d\\u0075p\":7,\"\":8}",
       HF_JSON_TREE_ALL);
  static const struct {
    const char *name;
    int result;
    const char *value;
  } rows[] = {
      {"a", 0, "1"},
      {"b", 0, "2"},
      {"c/d", 0, "3"},
      {"\xf0\x9f\x98\x80", 0, "4"},
      {"\xef\xbf\xbd", HF_ERR_NOTFOUND, NULL}, /* a lone surrogate equals no text, not even its substitute */
      {"dup", HF_ERR_DUPLICATE, NULL},
      {"", 0, "8"},
      {"aa", HF_ERR_NOTFOUND, NULL},
      {"\\u0062", HF_ERR_NOTFOUND, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint32_t value;
    assert_int_equal(hf_json_member(&doc, 0, hf_str_from(rows[i].name), &value), rows[i].result);
    if (rows[i].value)
      assert_true(hf_str_equal(hf_json_span(&doc, value), hf_str_from(rows[i].value)));
  }
  hf_json_scan_deinit(&s);
}

static void json_value__unescapes(void **state) {
  (void)state;
  static const struct {
    const char *raw;
    const char *text;
  } rows[] = {
      {"\"\"", ""},
      {"\"plain\"", "plain"},
      {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
      {"\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac"},
      {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
      {"\"\\ud83d\"", "\xef\xbf\xbd"},
      {"\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\"\\ud83d\\n\"", "\xef\xbf\xbd\n"},
      {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                             "A"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_json_scan s;
    struct hf_json_doc doc;
    scan(&s, &doc, rows[i].raw, 1);
    struct hf_arena arena;
    hf_arena_init(&arena, 4096);
    struct hf_str text;
    assert_int_equal(hf_json_string(&doc, 0, &arena, &text), 0);
    assert_true(hf_str_equal(text, hf_str_from(rows[i].text)));
    hf_arena_deinit(&arena);
    hf_json_scan_deinit(&s);
  }
}

static void json_value__reads_integers_however_they_are_spelt(void **state) {
  (void)state;
  static const struct {
    const char *raw;
    int result;
    int64_t value;
  } rows[] = {
      {"0", 0, 0},
      {"-0", 0, 0},
      {"0.000", 0, 0},
      {"0e99999999999", 0, 0},
      {"1.0", 0, 1},
      {"-12", 0, -12},
      {"10e-1", 0, 1},
      {"1.5e1", 0, 15},
      {"1e3", 0, 1000},
      {"1000000", 0, 1000000},
      {"9223372036854775807", 0, INT64_MAX},
      {"-9223372036854775808", 0, INT64_MIN},
      {"9223372036854775808", HF_ERR_LIMIT, 0},
      {"-9223372036854775809", HF_ERR_LIMIT, 0},
      {"1e19", HF_ERR_LIMIT, 0},
      {"1e99999999999999999999", HF_ERR_LIMIT, 0},
      {"123456789012345678901234567890", HF_ERR_LIMIT, 0},
      {"1.5", HF_ERR_INVALID, 0},
      {"1e-1", HF_ERR_INVALID, 0},
      {"", HF_ERR_INVALID, 0},
      {"-", HF_ERR_INVALID, 0},
      {"+1", HF_ERR_INVALID, 0},
      {"01", HF_ERR_INVALID, 0},
      {"-00", HF_ERR_INVALID, 0},
      {"1.", HF_ERR_INVALID, 0},
      {".5", HF_ERR_INVALID, 0},
      {"1.0.0", HF_ERR_INVALID, 0},
      {"1e", HF_ERR_INVALID, 0},
      {"1e+", HF_ERR_INVALID, 0},
      {"1e1.0", HF_ERR_INVALID, 0},
      {"1x", HF_ERR_INVALID, 0},
      {"1 ", HF_ERR_INVALID, 0},
      {" 1", HF_ERR_INVALID, 0},
      {"12,3", HF_ERR_INVALID, 0},
      {"0x10", HF_ERR_INVALID, 0},
      {"true", HF_ERR_INVALID, 0},
      {"\"1\"", HF_ERR_INVALID, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t value = 0;
    assert_int_equal(hf_json_int64(hf_str_from(rows[i].raw), &value), rows[i].result);
    assert_true(value == rows[i].value);
  }
}

static void json_value__walks_arrays_and_objects(void **state) {
  (void)state;
  struct hf_json_scan s;
  struct hf_json_doc doc;
  scan(&s, &doc, "[[1,2],{\"a\":[3]},true]", HF_JSON_TREE_ALL);
  uint32_t value;
  struct hf_json_iter iter = hf_json_iter(&doc, 0);
  int seen = 0;
  while (hf_json_next(&doc, &iter, NULL, &value))
    seen++;
  assert_int_equal(seen, 3);
  bool flag;
  assert_int_equal(hf_json_bool(&doc, value, &flag), 0);
  assert_true(flag);
  assert_int_equal(hf_json_bool(&doc, 0, &flag), HF_ERR_INVALID);
  hf_json_scan_deinit(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_value__finds_members_by_what_their_names_mean),
      cmocka_unit_test(json_value__unescapes),
      cmocka_unit_test(json_value__reads_integers_however_they_are_spelt),
      cmocka_unit_test(json_value__walks_arrays_and_objects),
  };
  return cmocka_run_group_tests_name("json_value", tests, NULL, NULL);
}
