#include "schema/equal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"

enum { STEPS = 1 << 20 };

struct value {
  struct hf_json_scan scan;
  struct hf_json_doc doc;
};

static void read(struct value *value, const char *text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  hf_json_scan_init(&value->scan, &options);
  if (hf_json_scan_feed(&value->scan, text, strlen(text), true) != 0)
    fail_msg("no JSON: %s", text);
  value->doc = hf_json_doc(text, &value->scan);
}

static int equal(const char *a, const char *b, uint32_t *io_steps) {
  struct value left, right;
  read(&left, a);
  read(&right, b);
  unsigned long before = hf_alloc_count();
  int same = hf_json_equal(&left.doc, 0, &right.doc, 0, io_steps);
  assert_int_equal(hf_alloc_count(), before);
  hf_json_scan_deinit(&left.scan);
  hf_json_scan_deinit(&right.scan);
  return same;
}

static uint64_t hash(const char *text, uint64_t seed) {
  struct value value;
  read(&value, text);
  uint32_t steps = STEPS;
  uint64_t hash = 0;
  assert_int_equal(hf_json_hash(&value.doc, 0, seed, &steps, &hash), 0);
  hf_json_scan_deinit(&value.scan);
  return hash;
}

static void equal__compares_what_values_mean(void **state) {
  (void)state;
  static const struct {
    const char *a;
    const char *b;
    int same;
  } rows[] = {
      {"null", "null", 1},
      {"null", "false", 0},
      {"true", "true", 1},
      {"true", "1", 0},
      {"false", "0", 0},
      {"0", "-0", 1},
      {"1", "1.0", 1},
      {"1", "10e-1", 1},
      {"100", "1e2", 1},
      {"1e400", "10e399", 1},
      {"1", "-1", 0},
      {"12345678901234567890123", "12345678901234567890124", 0},
      {"9007199254740993", "9007199254740992", 0},
      {"0.1", "0.10000000000000001", 0},
      {"1", "\"1\"", 0},
      {"1e99999999999999999999", "1e99999999999999999999", 1},
      {"1e99999999999999999999", "1e99999999999999999998", HF_ERR_LIMIT},
      {"1e99999999999999999999", "1e-99999999999999999999", 0},
      {"\"\"", "\"\"", 1},
      {"\"a\"", "\"\\u0061\"", 1},
      {"\"\\u0061bc\\n\"", "\"a\\u0062c\\u000a\"", 1},
      {"\"\\u0061bc\"", "\"abcd\"", 0},
      {"\"abcd\"", "\"\\u0061bc\"", 0},
      {"\"\\ud83d\\udc32\"", "\"\U0001f432\"", 1},
      {"\"\\ud83d\"", "\"\\ufffd\"", 0},
      {"\"\\/\"", "\"/\"", 1},
      {"\"a\"", "\"A\"", 0},
      {"[]", "[]", 1},
      {"[]", "{}", 0},
      {"[]", "[null]", 0},
      {"[1,2]", "[1.0,2e0]", 1},
      {"[1,2]", "[2,1]", 0},
      {"[[1],[]]", "[[1],[2]]", 0},
      {"{}", "{}", 1},
      {"{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"\\u0061\":1}", 1},
      {"{\"a\":1}", "{\"a\":2}", 0},
      {"{\"a\":1}", "{\"b\":1}", 0},
      {"{\"a\":1}", "{\"a\":1,\"b\":1}", 0},
      {"{\"a\":{\"b\":{\"c\":null}}}", "{\"a\":{\"b\":{\"c\":null}}}", 1},
      {"{\"a\":{\"b\":{\"c\":null}}}", "{\"a\":{\"b\":{\"c\":false}}}", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint32_t steps = STEPS;
    int same = equal(rows[i].a, rows[i].b, &steps), reverse = equal(rows[i].b, rows[i].a, &steps);
    if (same != rows[i].same || reverse != same)
      fail_msg("%s and %s: %d, %d", rows[i].a, rows[i].b, same, reverse);
    if (same >= 0 && (hash(rows[i].a, 7) == hash(rows[i].b, 7)) != (same == 1))
      fail_msg("hashes of %s and %s", rows[i].a, rows[i].b);
  }
}

static void equal__hashes_by_the_seed_and_what_is_where(void **state) {
  (void)state;
  assert_int_not_equal(hash("[1]", 1), hash("[1]", 2));
  assert_int_not_equal(hash("[[],[]]", 1), hash("[[[]]]", 1));
  assert_int_not_equal(hash("{\"a\":1,\"b\":2}", 1), hash("{\"a\":2,\"b\":1}", 1));
  assert_int_not_equal(hash("{\"a\":\"b\"}", 1), hash("{\"b\":\"a\"}", 1));
  assert_int_not_equal(hash("1", 1), hash("10", 1));
  assert_int_equal(hash("1e99999999999999999999", 1), hash("1e99999999999999999998", 1));
}

static void equal__ends_when_its_steps_do(void **state) {
  (void)state;
  static const char text[] =
      "{\"a\":[1,2,{\"b\":null}],\"c\":\"0123456789012345678901234567890123456789012345678901234567890123\"}";
  uint32_t steps = STEPS;
  assert_int_equal(equal(text, text, &steps), 1);
  uint32_t taken = STEPS - steps;
  for (uint32_t less = 0; less < taken; less++) {
    steps = less;
    assert_int_equal(equal(text, text, &steps), HF_ERR_LIMIT);
  }
  steps = taken;
  assert_int_equal(equal(text, text, &steps), 1);
  assert_int_equal(steps, 0);

  struct value value;
  read(&value, text);
  uint64_t unused;
  steps = STEPS;
  assert_int_equal(hf_json_hash(&value.doc, 0, 1, &steps, &unused), 0);
  taken = STEPS - steps;
  for (uint32_t less = 0; less < taken; less++) {
    steps = less;
    assert_int_equal(hf_json_hash(&value.doc, 0, 1, &steps, &unused), HF_ERR_LIMIT);
  }
  hf_json_scan_deinit(&value.scan);
}

/* What takes longer for each byte takes more steps for it. */
static void equal__counts_what_it_reads(void **state) {
  (void)state;
  enum { BYTES = 6000 };
  static const struct {
    const char *start, *fill, *a, *b;
    uint32_t steps, hash_steps;
  } rows[] = {
      {"\"", "x", "y\"", "z\"", BYTES / 64, BYTES / 16},
      {"\"", "\\u0041", "y\"", "z\"", 2 * BYTES / 4, BYTES / 4},
      {"1.", "1", "2", "3", 2 * BYTES / 8, BYTES / 4},
      {"{\"", "\\u0041", "y\":1}", "z\":1}", 2 * BYTES / 4, BYTES / 4},
      {"{\"", "x", "y\":1}", "z\":1}", BYTES / 64, BYTES / 16},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf a, b;
    hf_buf_init(&a, 2 * BYTES);
    hf_buf_init(&b, 2 * BYTES);
    assert_int_equal(hf_buf_append_str(&a, hf_str_from(rows[i].start)), 0);
    while (a.len < BYTES)
      assert_int_equal(hf_buf_append_str(&a, hf_str_from(rows[i].fill)), 0);
    assert_int_equal(hf_buf_append_str(&b, hf_buf_str(&a)), 0);
    assert_int_equal(hf_buf_append(&a, rows[i].a, strlen(rows[i].a) + 1), 0);
    assert_int_equal(hf_buf_append(&b, rows[i].b, strlen(rows[i].b) + 1), 0);
    uint32_t steps = STEPS;
    assert_int_equal(equal(a.data, b.data, &steps), 0);
    assert_in_range(STEPS - steps, rows[i].steps, rows[i].steps + 8);
    struct value value;
    read(&value, a.data);
    uint64_t hash;
    steps = STEPS;
    assert_int_equal(hf_json_hash(&value.doc, 0, 1, &steps, &hash), 0);
    assert_in_range(STEPS - steps, rows[i].hash_steps, rows[i].hash_steps + 8);
    hf_json_scan_deinit(&value.scan);
    hf_buf_deinit(&a);
    hf_buf_deinit(&b);
  }
}

static void multiple__is_exact(void **state) {
  (void)state;
  static const struct {
    const char *number;
    const char *divisor;
    int is_multiple;
  } rows[] = {
      {"10", "2", 1},
      {"7", "2", 0},
      {"0", "2", 1},
      {"-0.0", "0.3", 1},
      {"-4", "2", 1},
      {"4.5", "1.5", 1},
      {"35", "1.5", 0},
      {"0.0075", "0.0001", 1},
      {"0.00751", "0.0001", 0},
      {"19.99", "0.01", 1},
      {"1.1", "0.1", 1},
      {"0.3", "0.1", 1},
      {"1e308", "0.123456789", 0},
      {"1e308", "0.5", 1},
      {"12391239123", "1e-8", 1},
      {"1", "100", 0},
      {"100", "100", 1},
      {"1e2", "1e3", 0},
      {"5", "10", 0},
      {"1e1", "0.8", 0},
      {"1e2", "0.8", 1},
      {"1e3", "1.6e1", 0},
      {"1e4", "16", 1},
      {"9007199254740993", "2", 0},
      {"123456789012345678901234567890", "10", 1},
      {"123456789012345678901234567891", "10", 0},
      {"99999999999999999998000000000000000000011", "99999999999999999999", 0},
      {"9999999999999999999800000000000000000001", "99999999999999999999", 1},
      {"9999999999999999999800000000000000000002", "99999999999999999999", 0},
      {"1e40", "1099511627776", 1},
      {"1e11", "1099511627776", 0},
      {"1e99999999999999999999", "7", 0},
      {"7e99999999999999999999", "7", 1},
      {"1e99999999999999999999", "1267650600228229401496703205376", 1},
      {"1e-99999999999999999999", "7", 0},
      {"7", "1e-99999999999999999999", 1},
      {"7", "1e99999999999999999999", 0},
      {"1e99999999999999999999", "1e99999999999999999999", HF_ERR_LIMIT},
      {"1e99999999999999999999", "1e-99999999999999999999", 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint32_t steps = STEPS;
    int found = hf_decimal_is_multiple(hf_str_from(rows[i].number), hf_str_from(rows[i].divisor), &steps);
    if (found != rows[i].is_multiple)
      fail_msg("%s of %s: %d", rows[i].number, rows[i].divisor, found);
  }
}

/* A number of `count` nines, and then `tail`. */
static void put_nines(struct hf_buf *out, size_t count, const char *tail) {
  hf_buf_reset(out, SIZE_MAX);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(hf_buf_append(out, "9", 1), 0);
  assert_int_equal(hf_buf_append_str(out, hf_str_from(tail)), 0);
}

static void multiple__has_an_end(void **state) {
  (void)state;
  struct hf_buf number, divisor;
  hf_buf_init(&number, 1 << 20);
  hf_buf_init(&divisor, 1 << 20);
  put_nines(&divisor, 512, "");
  put_nines(&number, 1024, "");
  uint32_t steps = STEPS;
  assert_int_equal(hf_decimal_is_multiple(hf_buf_str(&number), hf_buf_str(&divisor), &steps), 1);
  steps = 100;
  assert_int_equal(hf_decimal_is_multiple(hf_buf_str(&number), hf_buf_str(&divisor), &steps), HF_ERR_LIMIT);
  assert_int_equal(steps, 0);
  put_nines(&number, 1025, "");
  steps = STEPS;
  assert_int_equal(hf_decimal_is_multiple(hf_buf_str(&number), hf_buf_str(&divisor), &steps), 0);
  put_nines(&divisor, 513, "");
  assert_int_equal(hf_decimal_is_multiple(hf_buf_str(&number), hf_buf_str(&divisor), &steps), HF_ERR_LIMIT);
  steps = 0;
  assert_int_equal(hf_decimal_is_multiple(HF_STR("0"), HF_STR("3"), &steps), HF_ERR_LIMIT);
  assert_int_equal(hf_decimal_is_multiple(HF_STR("1"), HF_STR("30"), &steps), HF_ERR_LIMIT);
  hf_buf_deinit(&number);
  hf_buf_deinit(&divisor);
}

static void length__counts_code_points(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t length;
  } rows[] = {
      {"\"\"", 0},
      {"\"abc\"", 3},
      {"\"\u00e9\U0001f432\"", 2},
      {"\"\\n\\u00e9\"", 2},
      {"\"\\ud83d\\udc32x\"", 2},
      {"\"\\ud83d\u00e9\\udc32\"", 3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct value value;
    read(&value, rows[i].text);
    if (hf_json_length(&value.doc, 0) != rows[i].length)
      fail_msg("%s", rows[i].text);
    hf_json_scan_deinit(&value.scan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal__compares_what_values_mean),
      cmocka_unit_test(equal__hashes_by_the_seed_and_what_is_where),
      cmocka_unit_test(equal__ends_when_its_steps_do),
      cmocka_unit_test(equal__counts_what_it_reads),
      cmocka_unit_test(multiple__is_exact),
      cmocka_unit_test(multiple__has_an_end),
      cmocka_unit_test(length__counts_code_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
