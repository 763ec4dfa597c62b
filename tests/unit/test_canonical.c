#include "json/canonical.h"

#include "base/alloc.h"
#include "base/error.h"
#include "json/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void canonical__has_one_spelling_for_what_is_equal(void **state) {
  (void)state;
  static const struct {
    const char *raw;
    const char *text;
  } rows[] = {
      {" null ", "null"},
      {"true", "true"},
      {"[ 1 ,\t[ ] , { } ]", "[1,[],{}]"},
      {"{\"b\":1,\"a\":{\"d\":[2,1],\"c\":null}}", "{\"a\":{\"c\":null,\"d\":[2,1]},\"b\":1}"},
      {"{\"aa\":1,\"a\":2,\"\":3,\"\\u0061b\":4}", "{\"\":3,\"a\":2,\"aa\":1,\"ab\":4}"},
      /* numbers by value */
      {"[1,1.0,10e-1,1E0,0.1e+1]", "[1,1,1,1,1]"},
      {"[0,-0,0.000,0e99999999999999999999,-0.0E-5]", "[0,0,0,0,0]"},
      {"[100,1e2,0.1e3]", "[1e2,1e2,1e2]"},
      {"[-12.50,-1250e-2]", "[-125e-1,-125e-1]"},
      {"[12345678901234567890123456789,12345678901234567890123456788]",
       "[12345678901234567890123456789,12345678901234567890123456788]"},
      {"[0.00000000000000000000000000000000001]", "[1e-35]"},
      {"[9007199254740993.0,9007199254740992]", "[9007199254740993,9007199254740992]"},
      {"[1e99999999999999999999,10e-99999999999999999999]", "[1e99999999999999999999,10e-99999999999999999999]"},
      /* strings by what they mean */
      {"\"\\u0041\\/\\u00e9\\uD83D\\uDE00\"", "\"A/\xc3\xa9\xf0\x9f\x98\x80\""},
      {"\"\\b\\t\\n\\f\\r\\u0000\\u001F\\\"\\\\\\u0022\\u005c\"",
       "\"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0000\\u001f\\\"\\\\\\\"\\\\\""},
      {"[\"\\uD800\",\"\\udfff\\ud800x\",\"\\ufffd\"]", "[\"\\ud800\",\"\\udfff\\ud800x\",\"\xef\xbf\xbd\"]"},
      {"\"\\u2028\x7f\"", "\"\xe2\x80\xa8\x7f\""},
      {"{\"\\b\\b\\b\\b\\b\\b\":1}", "{\"\\u0008\\u0008\\u0008\\u0008\\u0008\\u0008\":1}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out, again;
    hf_buf_init(&out, 1024);
    hf_buf_init(&again, 1024);
    int r = hf_json_canonical(hf_str_from(rows[i].raw), &out);
    if (r < 0 || !hf_str_equal(hf_buf_str(&out), hf_str_from(rows[i].text)))
      fail_msg("'%s': %d '%.*s'", rows[i].raw, r, HF_STR_FMT(hf_buf_str(&out)));
    assert_int_equal(hf_json_canonical(hf_buf_str(&out), &again), 0);
    assert_true(hf_str_equal(hf_buf_str(&out), hf_buf_str(&again)));
    hf_buf_deinit(&out);
    hf_buf_deinit(&again);
  }
}

static void canonical__refuses_and_leaves_the_buffer_alone(void **state) {
  (void)state;
  static const struct {
    const char *raw;
    size_t max;
    int result;
  } rows[] = {
      {"{\"a\":1,\"b\":2,\"a\":1}", 1024, HF_ERR_DUPLICATE},
      {"[{\"ab\":1,\"\\u0061b\":2}]", 1024, HF_ERR_DUPLICATE},
      {"[1,2", 1024, HF_ERR_SYNTAX},
      {"", 1024, HF_ERR_SYNTAX},
      {"[1] 2", 1024, HF_ERR_SYNTAX},
      {"[1,2,3,4,5]", 8, HF_ERR_LIMIT},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, rows[i].max);
    assert_int_equal(hf_buf_append_str(&out, HF_STR("kept")), 0);
    assert_int_equal(hf_json_canonical(hf_str_from(rows[i].raw), &out), rows[i].result);
    assert_true(hf_str_equal(hf_buf_str(&out), HF_STR("kept")));
    hf_buf_deinit(&out);
  }
}

static int canonical_of(struct hf_str raw) {
  struct hf_buf out;
  hf_buf_init(&out, 1 << 20);
  int r = hf_json_canonical(raw, &out);
  hf_buf_deinit(&out);
  return r;
}

static void canonical__has_limits(void **state) {
  (void)state;
  static char deep[2048];
  memset(deep, '[', 512);
  memset(deep + 512, ']', 512);
  assert_int_equal(canonical_of((struct hf_str){deep, 1024}), 0);
  memset(deep, '[', 513);
  memset(deep + 513, ']', 513);
  assert_int_equal(canonical_of((struct hf_str){deep, 1026}), HF_ERR_LIMIT);

  size_t len = (size_t)HF_JSON_CANONICAL_NODES * 2 + 1; /* one value too many, with the array itself */
  char *wide = test_malloc(len);
  for (size_t i = 0; i < len; i += 2) {
    wide[i] = ',';
    if (i + 1 < len)
      wide[i + 1] = '1';
  }
  wide[0] = '[';
  wide[len - 1] = ']';
  assert_int_equal(canonical_of((struct hf_str){wide, len}), HF_ERR_LIMIT);
  test_free(wide);
}

static void canonical__out_of_memory_is_an_error(void **state) {
  (void)state;
  for (long n = 0; n < 20; n++) {
    hf_alloc_fail_after(n);
    int r = canonical_of(HF_STR("{\"\\u0062\":[1,2,{\"x\":1}],\"a\":\"\\n\"}"));
    hf_alloc_fail_after(-1);
    if (r == 0) {
      assert_true(n > 3);
      return;
    }
    assert_int_equal(r, HF_ERR_NOMEM);
  }
  fail();
}

static void number__compares_exactly(void **state) {
  (void)state;
  static const char *const rising[] = {
      "-1e99999999999999999999",
      "-1e400",
      "-12345678901234567890.2",
      "-12345678901234567890.1",
      "-1.5",
      "-1.45",
      "-1",
      "-1e-400",
      "-0.1e-99999999999999999999",
      "0",
      "1e-99999999999999999999",
      "1e-400",
      "0.09",
      "0.1",
      "0.11",
      "1",
      "1.000000000000000000000000000001",
      "1.5",
      "15",
      "15.01",
      "150",
      "9007199254740992",
      "9007199254740993",
      "10000000000000000000000000001",
      "10000000000000000000000000002",
      "1e400",
      "1.1e400",
      "1e99999999999999999999",
  };
  size_t count = sizeof rising / sizeof rising[0];
  for (size_t i = 0; i < count * count; i++) {
    const char *left = rising[i / count], *right = rising[i % count];
    struct hf_decimal a, b;
    assert_int_equal(hf_decimal_read(hf_str_from(left), &a), 0);
    assert_int_equal(hf_decimal_read(hf_str_from(right), &b), 0);
    int order = 7;
    int r = hf_decimal_compare(&a, &b, &order);
    if (r == HF_ERR_LIMIT) {
      assert_true(a.vast && b.vast && left == right);
      continue;
    }
    if (r < 0 || order != (i / count > i % count) - (i / count < i % count))
      fail_msg("%s, %s: %d, %d", left, right, r, order);
  }
}

static void number__refuses_what_is_none(void **state) {
  (void)state;
  static const char *const rows[] = {"", "-", "+1", "01", "1.", ".1", "1e", "1e+", "0x1", "1 ", " 1", "1,", "Infinity"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_decimal number;
    assert_int_equal(hf_decimal_read(hf_str_from(rows[i]), &number), HF_ERR_INVALID);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(canonical__has_one_spelling_for_what_is_equal),
      cmocka_unit_test(canonical__refuses_and_leaves_the_buffer_alone),
      cmocka_unit_test(canonical__has_limits),
      cmocka_unit_test(canonical__out_of_memory_is_an_error),
      cmocka_unit_test(number__compares_exactly),
      cmocka_unit_test(number__refuses_what_is_none),
  };
  return cmocka_run_group_tests_name("canonical", tests, NULL, NULL);
}
