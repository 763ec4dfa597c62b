/* What is too much for the schema compiler and for a run. */
#include "base/alloc.h"
#include "schema/compile.h"
#include "schema/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TEXT_MAX = 8 << 20 };

static void add(struct hf_buf *buf, const char *text, size_t times) {
  for (size_t i = 0; i < times; i++)
    assert_int_equal(hf_buf_append(buf, text, strlen(text)), 0);
}

/* The result, with its text in `error`. */
static int compile(const struct hf_buf *text, struct hf_schema **ret_schema, struct hf_error *error) {
  const struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  *ret_schema = NULL;
  *error = (struct hf_error){0};
  return hf_schema_compile(hf_buf_str(text), &options, ret_schema, error);
}

static int verdict(const struct hf_schema *schema, const struct hf_buf *value) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, value->data, value->len, true), 0);
  struct hf_json_doc doc = hf_json_doc(value->data, &scan);
  struct hf_schema_run *run = hf_schema_run_new();
  assert_non_null(run);
  int r = hf_schema_check(schema, run, &doc, 0);
  hf_schema_run_free(run);
  hf_json_scan_deinit(&scan);
  return r;
}

static void assert_compiles(const struct hf_buf *text, int code, const char *why) {
  struct hf_schema *schema;
  struct hf_error error;
  int r = compile(text, &schema, &error);
  if (r != code || (why && !strstr(error.text, why)))
    fail_msg("%d: %s", r, error.text);
  hf_schema_free(schema);
}

static void schema_limits__nesting(void **state) {
  (void)state;
  for (size_t extra = 0; extra < 2; extra++) {
    size_t depth = HF_SCHEMA_NESTING_MAX + extra;
    struct hf_buf text;
    hf_buf_init(&text, TEXT_MAX);
    add(&text, "{\"not\":", depth - 1);
    add(&text, "{}", 1);
    add(&text, "}", depth - 1);
    assert_compiles(&text, extra ? HF_ERR_LIMIT : 0, extra ? "nested too deep" : NULL);
    hf_buf_deinit(&text);
  }
}

static void schema_limits__bytes_of_a_schema(void **state) {
  (void)state;
  for (size_t extra = 0; extra < 2; extra++) {
    struct hf_buf text;
    hf_buf_init(&text, TEXT_MAX);
    add(&text, "{\"$comment\":\"", 1);
    add(&text, "a", HF_SCHEMA_BYTES_MAX - text.len - strlen("\"}") + extra);
    add(&text, "\"}", 1);
    assert_compiles(&text, extra ? HF_ERR_LIMIT : 0, extra ? "a schema of more than 524288 bytes" : NULL);
    hf_buf_deinit(&text);
  }
}

/* Two of them for the root and its instruction, then two for each schema in the list. */
static void schema_limits__nodes_of_a_program(void **state) {
  (void)state;
  for (size_t extra = 0; extra < 2; extra++) {
    struct hf_buf text;
    hf_buf_init(&text, TEXT_MAX);
    add(&text, "{\"allOf\":[{}", 1);
    add(&text, ",{}", HF_SCHEMA_NODES_MAX / 2 - 2 + extra);
    add(&text, "]}", 1);
    assert_compiles(&text, extra ? HF_ERR_LIMIT : 0, extra ? "larger than 32768 nodes" : NULL);
    hf_buf_deinit(&text);
  }
}

static void schema_limits__length_of_uris(void **state) {
  (void)state;
  static const char *const keywords[] = {"$id", "$ref"};
  for (size_t k = 0; k < 2; k++)
    for (size_t extra = 0; extra < 2; extra++) {
      struct hf_buf text;
      hf_buf_init(&text, TEXT_MAX);
      assert_int_equal(hf_buf_printf(&text, "{\"%s\":\"urn:", keywords[k]), 0);
      add(&text, "a", HF_URI_BYTES_MAX - strlen("urn:") + extra);
      add(&text, "\"}", 1);
      int good = k == 0 ? 0 : HF_ERR_NOTFOUND;
      assert_compiles(&text, extra ? HF_ERR_LIMIT : good, extra ? "too long for a URI" : NULL);
      hf_buf_deinit(&text);
    }
}

static void schema_limits__number_of_resources(void **state) {
  (void)state;
  for (size_t extra = 0; extra < 2; extra++) {
    struct hf_buf text;
    hf_buf_init(&text, TEXT_MAX);
    add(&text, "{\"$defs\":{\"a\":{}", 1);
    for (unsigned i = 0; i < HF_SCHEMA_RESOURCES_MAX + extra; i++)
      assert_int_equal(hf_buf_printf(&text, ",\"b%u\":{\"$id\":\"c%u\"}", i, i), 0);
    add(&text, "}}", 1);
    assert_compiles(&text, extra ? HF_ERR_LIMIT : 0, extra ? "is one resource too many" : NULL);
    hf_buf_deinit(&text);
  }
}

static void schema_limits__number_of_patterns(void **state) {
  (void)state;
  struct hf_schema *schema;
  struct hf_error error;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  add(&text, "{\"allOf\":[{}", 1);
  add(&text, ",{\"pattern\":\"a\"}", HF_SCHEMA_PATTERNS_MAX);
  size_t full = text.len;
  add(&text, "]}", 1);
  assert_int_equal(compile(&text, &schema, &error), 0);
  hf_schema_free(schema);
  text.len = full;
  add(&text, ",{\"pattern\":\"a\"}]}", 1);
  assert_compiles(&text, HF_ERR_LIMIT, "'/allOf/1025/pattern' is one pattern too many");
  hf_buf_deinit(&text);
}

static void schema_limits__memory_of_patterns(void **state) {
  (void)state;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  add(&text, "{\"allOf\":[{}", 1);
  add(&text, ",{\"pattern\":\"((a{1,60}){1,60}){1,9}\"}", 100);
  add(&text, "]}", 1);
  assert_compiles(&text, HF_ERR_LIMIT, "makes the patterns too large");
  hf_buf_deinit(&text);
}

/* What an escaped string means is put into scratch memory where it has to be read as a whole. */
static void schema_limits__length_of_escaped_strings(void **state) {
  (void)state;
  struct hf_schema *schema;
  struct hf_error error;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  add(&text, "{\"pattern\":\"^a\"}", 1);
  assert_int_equal(compile(&text, &schema, &error), 0);
  for (size_t extra = 0; extra < 2; extra++) {
    text.len = 0;
    add(&text, "\"a\\n", 1);
    add(&text, "a", HF_RUN_SCRATCH_MAX - 5 + extra);
    add(&text, "\"", 1);
    assert_int_equal(verdict(schema, &text), extra ? HF_ERR_LIMIT : 0);
  }
  hf_schema_free(schema);
  hf_buf_deinit(&text);
}

static void schema_limits__divisions_of_long_numbers(void **state) {
  (void)state;
  struct hf_schema *schema;
  struct hf_error error;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  add(&text, "{\"allOf\":[{}", 1);
  add(&text, ",{\"multipleOf\":5}", 20);
  add(&text, "]}", 1);
  assert_int_equal(compile(&text, &schema, &error), 0);
  for (size_t many = 0; many < 2; many++) {
    text.len = 0;
    add(&text, "5", many ? 100000 : 10000);
    assert_int_equal(verdict(schema, &text), many ? HF_ERR_LIMIT : 0);
  }
  hf_schema_free(schema);
  hf_buf_deinit(&text);
}

static void schema_limits__number_of_unique_items(void **state) {
  (void)state;
  struct hf_schema *schema;
  struct hf_error error;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  add(&text, "{\"uniqueItems\":true}", 1);
  assert_int_equal(compile(&text, &schema, &error), 0);
  for (unsigned many = 0; many < 2; many++) {
    text.len = 0;
    add(&text, "[-1", 1);
    for (unsigned i = 1; i < HF_RUN_SCRATCH_MAX / 8 / 4 * 3 + many * 2; i++)
      assert_int_equal(hf_buf_printf(&text, ",%u", i), 0);
    add(&text, "]", 1);
    assert_int_equal(verdict(schema, &text), many ? HF_ERR_LIMIT : 0);
  }
  hf_schema_free(schema);
  hf_buf_deinit(&text);
}

static uint32_t steps_of(const char *schema_text, const struct hf_buf *value) {
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  add(&text, schema_text, 1);
  struct hf_schema *schema;
  struct hf_error error;
  assert_int_equal(compile(&text, &schema, &error), 0);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, value->data, value->len, true), 0);
  struct hf_json_doc doc = hf_json_doc(value->data, &scan);
  struct hf_schema_run *run = hf_schema_run_new();
  assert_non_null(run);
  assert_int_equal(hf_run_root(run, schema, &doc, 0, NULL, HF_SCHEMA_STEPS_MAX), 0);
  uint32_t steps = HF_SCHEMA_STEPS_MAX - run->steps;
  hf_schema_run_free(run);
  hf_json_scan_deinit(&scan);
  hf_schema_free(schema);
  hf_buf_deinit(&text);
  return steps;
}

/* What is read digit by digit, or escape by escape, takes more steps than what is only passed. */
static void schema_limits__long_values(void **state) {
  (void)state;
  enum { BYTES = 8000 };
  struct hf_buf value;
  hf_buf_init(&value, TEXT_MAX);
  add(&value, "1.", 1);
  add(&value, "0", BYTES);
  assert_in_range(steps_of("{\"type\":\"integer\"}", &value), 3 * BYTES / HF_STEP_BYTES, 4 * BYTES / HF_STEP_BYTES);
  value.len = 0;
  add(&value, "\"", 1);
  add(&value, "\\n", BYTES / 2);
  add(&value, "\"", 1);
  assert_in_range(steps_of("{\"minLength\":4000}", &value), 2 * BYTES / HF_STEP_BYTES, 3 * BYTES / HF_STEP_BYTES);
  hf_buf_deinit(&value);
}

/* Each member is passed once, however many are required, and that counts. */
static void schema_limits__members_of_which_some_are_missing(void **state) {
  (void)state;
  enum { NAMES = 4000 };
  struct hf_schema *schema;
  struct hf_error error;
  struct hf_buf text, value;
  hf_buf_init(&text, TEXT_MAX);
  hf_buf_init(&value, TEXT_MAX);
  add(&text, "{\"required\":[\"first\"", 1);
  add(&value, "{\"0\":0", 1);
  for (int i = 1; i < NAMES; i++) {
    assert_int_equal(hf_buf_printf(&text, ",\"%d\"", i), 0);
    assert_int_equal(hf_buf_printf(&value, ",\"%d\":0", i), 0);
  }
  add(&text, ",\"last\"]}", 1);
  add(&value, "}", 1);
  assert_int_equal(compile(&text, &schema, &error), 0);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, value.data, value.len, true), 0);
  struct hf_json_doc doc = hf_json_doc(value.data, &scan);
  struct hf_schema_run *run = hf_schema_run_new();
  struct hf_schema_errors *errors = malloc(sizeof *errors);
  assert_true(run && errors);
  hf_schema_errors_init(errors);
  errors->count = 0;
  assert_int_equal(hf_run_root(run, schema, &doc, 0, NULL, HF_SCHEMA_STEPS_MAX), HF_ERR_INVALID);
  uint32_t left = run->steps;
  assert_int_equal(hf_run_root(run, schema, &doc, 0, errors, HF_SCHEMA_STEPS_MAX), HF_ERR_INVALID);
  assert_in_range(left - run->steps, 2 * NAMES, 8 * NAMES);
  assert_int_equal(errors->count, 2);
  assert_true(hf_str_equal(errors->item[0].missing, HF_STR("\"first\"")));
  assert_true(hf_str_equal(errors->item[1].missing, HF_STR("\"last\"")));
  hf_schema_errors_deinit(errors);
  free(errors);
  hf_schema_run_free(run);
  hf_json_scan_deinit(&scan);
  hf_schema_free(schema);
  hf_buf_deinit(&text);
  hf_buf_deinit(&value);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schema_limits__nesting),
      cmocka_unit_test(schema_limits__bytes_of_a_schema),
      cmocka_unit_test(schema_limits__nodes_of_a_program),
      cmocka_unit_test(schema_limits__length_of_uris),
      cmocka_unit_test(schema_limits__number_of_resources),
      cmocka_unit_test(schema_limits__number_of_patterns),
      cmocka_unit_test(schema_limits__memory_of_patterns),
      cmocka_unit_test(schema_limits__length_of_escaped_strings),
      cmocka_unit_test(schema_limits__divisions_of_long_numbers),
      cmocka_unit_test(schema_limits__number_of_unique_items),
      cmocka_unit_test(schema_limits__long_values),
      cmocka_unit_test(schema_limits__members_of_which_some_are_missing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
