#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "schema/fill.h"

static void expect(const char *schema, const char *filled) {
  struct hf_buf out;
  hf_buf_init(&out, 1 << 16);
  assert_int_equal(hf_schema_fill(schema ? hf_str_from(schema) : (struct hf_str){NULL, 0}, &out), 0);
  assert_int_equal(out.len, strlen(filled));
  assert_memory_equal(out.data, filled, out.len);
  hf_buf_deinit(&out);
}

static void fill__adds_what_is_missing_and_keeps_the_rest(void **state) {
  (void)state;
  expect(NULL, "{\"type\":\"object\",\"properties\":{}}");
  expect("null", "{\"type\":\"object\",\"properties\":{}}");
  expect("{ }", "{ \"type\":\"object\",\"properties\":{}}");
  expect("{\"type\" : \"object\", \"properties\":{\"a\":{\"type\":\"string\"}} }",
         "{\"type\" : \"object\", \"properties\":{\"a\":{\"type\":\"string\"}} }");
  expect("{\"properties\":{\"l\":{\"minItems\":1},\"v\":{},\"b\":true}}",
         "{\"properties\":{\"l\":{\"minItems\":1,\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"v\":{\"type\":"
         "\"string\"},\"b\":true},\"type\":\"object\"}");
}

static void fill__leaves_alone_what_would_say_something_else(void **state) {
  (void)state;
  expect("{\"type\":\"object\",\"properties\":{},\"not\":{},\"if\":{\"required\":[\"a\"]}}",
         "{\"type\":\"object\",\"properties\":{},\"not\":{},\"if\":{\"required\":[\"a\"]}}");
  expect(
      "{\"type\":\"object\",\"properties\":{\"r\":{\"$ref\":\"#\"},\"m\":{\"enum\":[1,\"a\"]},\"n\":{\"const\":null}}}",
      "{\"type\":\"object\",\"properties\":{\"r\":{\"$ref\":\"#\"},\"m\":{\"enum\":[1,\"a\"]},\"n\":{\"const\":null}}"
      "}");
  expect("{\"type\":\"object\",\"properties\":{},\"anyOf\":[{},{\"type\":\"array\"}]}",
         "{\"type\":\"object\",\"properties\":{},\"anyOf\":[{},{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]}");
  expect("{\"type\":\"object\",\"properties\":{\"properties\":{\"type\":\"object\"},\"d\":{\"default\":2}}}",
         "{\"type\":\"object\",\"properties\":{\"properties\":{\"type\":\"object\",\"properties\":{}},\"d\":{"
         "\"default\":2,"
         "\"type\":\"number\"}}}");
}

static void fill__goes_no_deeper_than_its_bound(void **state) {
  (void)state;
  struct hf_buf deep, out;
  hf_buf_init(&deep, 1 << 16);
  hf_buf_init(&out, 1 << 16);
  for (int i = 0; i < HF_SCHEMA_FILL_DEPTH + 8; i++)
    assert_int_equal(hf_buf_append_str(&deep, HF_STR("{\"items\":")), 0);
  assert_int_equal(hf_buf_append_str(&deep, HF_STR("{}")), 0);
  for (int i = 0; i < HF_SCHEMA_FILL_DEPTH + 8; i++)
    assert_int_equal(hf_buf_append_str(&deep, HF_STR("}")), 0);
  assert_int_equal(hf_schema_fill(hf_buf_str(&deep), &out), 0);
  size_t types = 0;
  for (size_t i = 0; i + 6 < out.len; i++)
    types += memcmp(out.data + i, "\"type\"", 6) == 0;
  assert_int_equal(types, HF_SCHEMA_FILL_DEPTH);
  hf_buf_reset(&out, 1 << 16);
  assert_true(hf_schema_fill(HF_STR("{\"a\":"), &out) < 0);
  hf_buf_deinit(&deep);
  hf_buf_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fill__adds_what_is_missing_and_keeps_the_rest),
      cmocka_unit_test(fill__leaves_alone_what_would_say_something_else),
      cmocka_unit_test(fill__goes_no_deeper_than_its_bound),
  };
  return cmocka_run_group_tests_name("fill", tests, NULL, NULL);
}
