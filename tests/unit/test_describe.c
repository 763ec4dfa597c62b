#include "schema/describe.h"
#include "json/pointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Appends "pointer sentence" for each reason, a line each. */
static void describe(const char *schema_text, const char *value_text, struct hf_buf *out) {
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  options.assert_format = true;
  struct hf_schema *schema = NULL;
  struct hf_error error;
  if (hf_schema_compile(hf_str_from(schema_text), &options, &schema, &error) != 0)
    fail_msg("%s: %s", schema_text, error.text);
  struct hf_json_scan scan;
  struct hf_json_options scanning = HF_JSON_OPTIONS_INIT;
  hf_json_scan_init(&scan, &scanning);
  if (hf_json_scan_feed(&scan, value_text, strlen(value_text), true) != 0)
    fail_msg("no JSON: %s", value_text);
  struct hf_json_doc doc = hf_json_doc(value_text, &scan);
  struct hf_schema_run *run = hf_schema_run_new();
  struct hf_schema_errors errors;
  hf_schema_errors_init(&errors);
  assert_int_equal(hf_schema_explain(schema, run, &doc, 0, &errors), HF_ERR_INVALID);
  for (unsigned i = 0; i < errors.count; i++) {
    assert_int_equal(hf_json_pointer_of(&doc, errors.item[i].value, out), 0);
    assert_int_equal(hf_buf_append(out, " ", 1), 0);
    assert_int_equal(hf_schema_describe(&errors.item[i], &doc, out), 0);
    assert_int_equal(hf_buf_append(out, "\n", 1), 0);
  }
  hf_schema_errors_deinit(&errors);
  hf_schema_run_free(run);
  hf_json_scan_deinit(&scan);
  hf_schema_free(schema);
}

static void describe__says_what_was_expected_and_what_came(void **state) {
  (void)state;
  static const struct {
    const char *schema;
    const char *value;
    const char *text;
  } rows[] = {
      {"false", "1", " must not be there: nothing is allowed here; got 1\n"},
      {"{\"type\":\"string\"}", "42", " must be a string; got the number 42\n"},
      {"{\"type\":[\"integer\",\"null\"]}", "\"42\"", " must be an integer or null; got the string \"42\"\n"},
      {"{\"type\":[\"integer\",\"array\",\"object\"]}", "null",
       " must be an integer, an array or an object; got null\n"},
      {"{\"type\":\"boolean\"}", "{ \"a\" :\n [ 1, \" b \" ] }",
       " must be a boolean; got the object {\"a\":[1,\" b \"]}\n"},
      {"{\"enum\":[\"a\",\"b\",3,null]}", "\"c\"", " must be one of \"a\", \"b\", 3, null; got \"c\"\n"},
      {"{\"enum\":[\"a\"]}", "\"c\"", " must be \"a\"; got \"c\"\n"},
      {"{\"const\":{ \"a\": 1 }}", "[]", " must be {\"a\":1}; got []\n"},
      {"{\"multipleOf\":0.01}", "0.001", " must be a multiple of 0.01; got 0.001\n"},
      {"{\"maximum\":10}", "11", " must be at most 10; got 11\n"},
      {"{\"exclusiveMaximum\":10}", "10.0", " must be less than 10; got 10.0\n"},
      {"{\"minimum\":10}", "9", " must be at least 10; got 9\n"},
      {"{\"exclusiveMinimum\":10}", "10", " must be more than 10; got 10\n"},
      {"{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"maximum\":10,\"exclusiveMaximum\":true}", "10",
       " must be less than 10; got 10\n"},
      {"{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"exclusiveMinimum\":true,\"minimum\":10}", "10",
       " must be more than 10; got 10\n"},
      {"{\"maxLength\":3}", "\"\\u00e9bcd\"", " must have at most 3 characters; got 4: \"\\u00e9bcd\"\n"},
      {"{\"minLength\":1}", "\"\"", " must have at least 1 character; got 0: \"\"\n"},
      {"{\"pattern\":\"^\\\\d+$\"}", "\"a\"", " must match the pattern \"^\\\\d+$\"; got \"a\"\n"},
      {"{\"format\":\"date\"}", "\"today\"", " must have the format \"date\"; got \"today\"\n"},
      {"{\"maxItems\":1}", "[1,2]", " must have at most 1 item; got 2\n"},
      {"{\"minItems\":2}", "[1]", " must have at least 2 items; got 1\n"},
      {"{\"uniqueItems\":true}", "[1,1.0]", " must not have two equal items; got [1,1.0]\n"},
      {"{\"contains\":{\"type\":\"string\"}}", "[1]",
       " must have an item that fits the schema of \"contains\"; got [1]\n"},
      {"{\"contains\":true,\"maxContains\":1}", "[1,2]",
       " must have items that fit the schema of \"contains\", in number at most 1; got [1,2]\n"},
      {"{\"prefixItems\":[true],\"items\":false}", "[1,2]", "/1 must not be there: it is an item too many; got 2\n"},
      {"{\"maxProperties\":0}", "{\"a\":1}", " must have at most 0 members; got 1\n"},
      {"{\"required\":[\"pa\\nth\"]}", "{}", " must have the member \"pa\\nth\"\n"},
      {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
       " must have the member \"b\", which goes with another one\n"},
      {"{\"additionalProperties\":false}", "{\"x\":1}", " must not have the member \"x\"\n"},
      {"{\"properties\":{\"path\":{},\"mode\":{}},\"additionalProperties\":false}", "{\"Path\":1}",
       " must not have the member \"Path\"; it may have \"path\", \"mode\"\n"},
      {"{\"unevaluatedProperties\":false}", "{\"x\":1}", " must not have the member \"x\"\n"},
      {"{\"propertyNames\":{\"maxLength\":1}}", "{\"xy\":1}",
       " must not have a member called \"xy\"\n/xy must have at most 1 character; got 2: \"xy\"\n"},
      {"{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", "1",
       " must fit at least one of 2 alternatives; got 1\n must be a string; got the number 1\n must be at least 3; got "
       "1\n"},
      {"{\"oneOf\":[true,true]}", "1", " must fit exactly one of 2 alternatives; got 1\n"},
      {"{\"not\":{\"type\":\"null\"}}", "null", " must not be what \"not\" describes; got null\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    describe(rows[i].schema, rows[i].value, &out);
    if (!hf_str_equal(hf_buf_str(&out), hf_str_from(rows[i].text)))
      fail_msg("%s and %s: '%.*s'", rows[i].schema, rows[i].value, HF_STR_FMT(hf_buf_str(&out)));
    hf_buf_deinit(&out);
  }
}

/* What is cut stays within its quotes, and no character is cut in two. */
static void describe__cuts_what_is_long(void **state) {
  (void)state;
  struct hf_buf value, out;
  hf_buf_init(&value, 4096);
  hf_buf_init(&out, 4096);
  for (unsigned shift = 0; shift < 8; shift++) {
    hf_buf_reset(&value, 4096);
    hf_buf_reset(&out, 4096);
    assert_int_equal(hf_buf_printf(&value, "\"%.*s", (int)shift, "xxxxxxxx"), 0);
    for (unsigned i = 0; i < 20; i++)
      assert_int_equal(hf_buf_append_str(&value, HF_STR("\u00e9\\u00e9\\\"")), 0);
    assert_int_equal(hf_buf_append(&value, "\"", 2), 0);
    describe("{\"type\":\"null\"}", value.data, &out);
    struct hf_str shown = {strstr(out.data, "string ") + 7, 0};
    shown.len = (size_t)(out.data + out.len - 1 - shown.ptr);
    assert_in_range(shown.len, HF_DESCRIBE_VALUE_MAX - 8, HF_DESCRIBE_VALUE_MAX + 4);
    assert_true(shown.len > 4 && memcmp(shown.ptr + shown.len - 4, "…\"", 4) == 0);
    struct hf_json_scan scan;
    struct hf_json_options options = HF_JSON_OPTIONS_INIT;
    hf_json_scan_init(&scan, &options);
    assert_int_equal(hf_json_scan_feed(&scan, shown.ptr, shown.len, true), 0);
    hf_json_scan_deinit(&scan);
  }
  hf_buf_deinit(&value);
  hf_buf_deinit(&out);
}

static void describe__shows_some_of_many_choices(void **state) {
  (void)state;
  struct hf_buf schema, out;
  hf_buf_init(&schema, 1 << 16);
  hf_buf_init(&out, 4096);
  assert_int_equal(hf_buf_append_str(&schema, HF_STR("{\"enum\":[")), 0);
  for (unsigned i = 0; i < 200; i++)
    assert_int_equal(hf_buf_printf(&schema, "\"choice-%03u\",", i), 0);
  assert_int_equal(hf_buf_append_str(&schema, HF_STR("null]}\0")), 0);
  describe(schema.data, "1", &out);
  assert_in_range(out.len, HF_DESCRIBE_CHOICES_MAX, HF_DESCRIBE_CHOICES_MAX + HF_DESCRIBE_VALUE_MAX);
  static const char end[] = ", …; got 1\n";
  assert_memory_equal(out.data + out.len - strlen(end), end, strlen(end));
  hf_buf_deinit(&schema);
  hf_buf_deinit(&out);
}

static void describe__tells_when_there_is_no_room(void **state) {
  (void)state;
  struct hf_json_node nodes[1] = {{.start = 0, .end = 1, .next = 1, .type = HF_JSON_NUMBER}};
  struct hf_json_doc doc = {"1", nodes, 1};
  struct hf_schema_error error = {.keyword = HF_KEYWORD_FALSE, .at.doc = &doc};
  struct hf_buf out;
  static const char whole[] = "must not be there: nothing is allowed here; got 1";
  for (size_t max = 0; max <= strlen(whole); max++) {
    hf_buf_init(&out, max);
    assert_int_equal(hf_schema_describe(&error, &doc, &out), max < strlen(whole) ? HF_ERR_LIMIT : 0);
    hf_buf_deinit(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(describe__says_what_was_expected_and_what_came),
      cmocka_unit_test(describe__cuts_what_is_long),
      cmocka_unit_test(describe__shows_some_of_many_choices),
      cmocka_unit_test(describe__tells_when_there_is_no_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
