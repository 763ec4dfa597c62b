#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "json/merge.h"

static void assert_merged(const char *target, const char *patch, const char *expected) {
  struct hf_buf out;
  hf_buf_init(&out, 1 << 16);
  assert_int_equal(hf_json_merge(hf_str_from(target), hf_str_from(patch), &out), 0);
  assert_int_equal(hf_buf_append(&out, "", 1), 0);
  assert_string_equal(out.data, expected);
  hf_buf_deinit(&out);
}

/* RFC 7396, appendix A. */
static void merge__does_what_the_rfc_shows(void **state) {
  static const char *const cases[][3] = {
      {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
      {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
      {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
      {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
      {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
      {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
      {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
      {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
      {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
      {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
      {"{\"a\":\"foo\"}", "null", "null"},
      {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
      {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
      {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
      {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_merged(cases[i][0], cases[i][1], cases[i][2]);
}

static void merge__leaves_what_it_does_not_touch_as_it_is_spelt(void **state) {
  (void)state;
  assert_merged("{ \"n\" : 1.50e0, \"\\u0061\" : [ 1 ] }", "{\"b\":10000000000000000001}",
                "{\"n\":1.50e0,\"\\u0061\":[ 1 ],\"b\":10000000000000000001}");
}

static void merge__compares_keys_by_what_they_mean(void **state) {
  (void)state;
  assert_merged("{\"\\u0061\":1}", "{\"a\":2}", "{\"\\u0061\":2}");
  assert_merged("{\"a\":1}", "{\"\\u0061\":null}", "{}");
}

static void merge__done_twice_is_done_once(void **state) {
  (void)state;
  const char *patch = "{\"a\":{\"b\":null,\"c\":2},\"d\":[null]}";
  assert_merged("{\"a\":{\"b\":1}}", patch, "{\"a\":{\"c\":2},\"d\":[null]}");
  assert_merged("{\"a\":{\"c\":2},\"d\":[null]}", patch, "{\"a\":{\"c\":2},\"d\":[null]}");
}

static int merge_error(const char *target, const char *patch, size_t max) {
  struct hf_buf out;
  hf_buf_init(&out, max);
  int r = hf_json_merge(hf_str_from(target), hf_str_from(patch), &out);
  hf_buf_deinit(&out);
  return r;
}

static void merge__refuses_what_cannot_be_read_or_is_too_much(void **state) {
  (void)state;
  assert_int_equal(merge_error("{", "{}", 100), HF_ERR_SYNTAX);
  assert_int_equal(merge_error("{}", "{", 100), HF_ERR_SYNTAX);
  assert_int_equal(merge_error("{\"a\":1,\"a\":2}", "{\"a\":3}", 100), HF_ERR_DUPLICATE);
  assert_int_equal(merge_error("{\"a\":1}", "{\"a\":1,\"a\":2}", 100), HF_ERR_DUPLICATE);
  assert_int_equal(merge_error("{\"a\":1}", "{\"b\":2}", 8), HF_ERR_LIMIT);
  static char deep[2 * HF_JSON_MERGE_DEPTH * 8];
  size_t len = 0;
  for (int i = 0; i <= HF_JSON_MERGE_DEPTH; i++)
    for (const char *c = "{\"a\":"; *c; c++)
      deep[len++] = *c;
  deep[len++] = '1';
  for (int i = 0; i <= HF_JSON_MERGE_DEPTH; i++)
    deep[len++] = '}';
  assert_int_equal(merge_error("{}", deep, 1 << 16), HF_ERR_LIMIT);
  static char many[2 * HF_JSON_MERGE_NODES + 8];
  size_t at = 0;
  many[at++] = '[';
  for (int i = 0; i < HF_JSON_MERGE_NODES; i++) {
    many[at++] = '1';
    many[at++] = i + 1 < HF_JSON_MERGE_NODES ? ',' : ']';
  }
  assert_int_equal(merge_error("{}", many, 1 << 16), HF_ERR_LIMIT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(merge__does_what_the_rfc_shows),
      cmocka_unit_test(merge__leaves_what_it_does_not_touch_as_it_is_spelt),
      cmocka_unit_test(merge__compares_keys_by_what_they_mean),
      cmocka_unit_test(merge__done_twice_is_done_once),
      cmocka_unit_test(merge__refuses_what_cannot_be_read_or_is_too_much),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
