#include "holdfast/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* This test links the shared library, and sees nothing but what is installed. */

static const char TOOL[] = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"
                           "\"lines\":{\"$ref\":\"#/$defs/count\"}},\"required\":[\"path\"],"
                           "\"additionalProperties\":false,\"$defs\":{\"count\":{\"type\":\"integer\",\"minimum\":1}}}";

static struct hf_json_validator *compile(const char *schema, const struct hf_json_validator_options *options) {
  struct hf_json_validator *validator = NULL;
  char why[256];
  if (hf_json_validator_new(schema, strlen(schema), options, &validator, why, sizeof why) != 0)
    fail_msg("%s: %s", schema, why);
  return validator;
}

static int check(struct hf_json_validator *validator, const char *text) {
  return hf_json_validator_check(validator, text, strlen(text));
}

static struct hf_json_validation *validate(struct hf_json_validator *validator, const char *text,
                                           enum hf_json_repair_mode mode) {
  struct hf_json_validation *validation = NULL;
  char why[256];
  if (hf_json_validator_validate(validator, text, strlen(text), mode, &validation, why, sizeof why) != 0)
    fail_msg("%s: %s", text, why);
  return validation;
}

static void assert_text(const char *text, size_t len, const char *expected) {
  if (len != strlen(expected) || memcmp(text, expected, len) != 0)
    fail_msg("'%.*s', not '%s'", (int)len, text, expected);
}

static void validator__tells_valid_texts(void **state) {
  (void)state;
  struct hf_json_validator *validator = compile(TOOL, NULL);
  assert_int_equal(check(validator, "{\"path\":\"/a\"}"), 0);
  assert_int_equal(check(validator, " {\"path\":\"/a\",\"lines\":1.0} "), 0);
  assert_int_equal(check(validator, "{\"path\":1}"), HF_ERR_INVALID);
  assert_int_equal(check(validator, "{\"path\":"), HF_ERR_SYNTAX);
  assert_int_equal(check(validator, "{\"path\":\"a\",\"p\\u0061th\":\"b\"}"), HF_ERR_DUPLICATE);
  assert_int_equal(hf_json_validator_check(validator, NULL, 0), HF_ERR_SYNTAX);
  hf_json_validator_free(validator);
  hf_json_validator_free(NULL);
}

static void validator__tells_what_is_wrong_with_a_schema(void **state) {
  (void)state;
  static const struct {
    const char *schema;
    int code;
  } rows[] = {
      {"{", HF_ERR_SYNTAX},
      {"[]", HF_ERR_INVALID},
      {"{\"type\":\"text\"}", HF_ERR_INVALID},
      {"{\"$ref\":\"#/nowhere\"}", HF_ERR_NOTFOUND},
      {"{\"$schema\":\"http://example.com/mine\"}", HF_ERR_UNSUPPORTED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_json_validator *validator = NULL;
    char why[256] = "";
    int code = hf_json_validator_new(rows[i].schema, strlen(rows[i].schema), NULL, &validator, why, sizeof why);
    if (code != rows[i].code)
      fail_msg("%s: %d, %s", rows[i].schema, code, why);
    assert_null(validator);
    assert_true(strlen(why) > 3);
    char cut[4] = "";
    assert_int_equal(hf_json_validator_new(rows[i].schema, strlen(rows[i].schema), NULL, &validator, cut, sizeof cut),
                     code);
    assert_memory_equal(cut, why, 3);
    assert_int_equal(cut[3], '\0');
    assert_int_equal(hf_json_validator_new(rows[i].schema, strlen(rows[i].schema), NULL, &validator, NULL, 0), code);
  }
  const char *odd_name = "{\"$ref\":\"#/\\n\\u001b[31m\"}";
  struct hf_json_validator *validator = NULL;
  char why[64];
  assert_int_equal(hf_json_validator_new(odd_name, strlen(odd_name), NULL, &validator, why, sizeof why),
                   HF_ERR_NOTFOUND);
  assert_string_equal(why, "'#/??[31m' refers to nothing that is known");
  const char *long_name = "{\"$ref\":\"#/\u00e9\u00e9\"}";
  for (size_t size = 4; size <= 8; size++) {
    char cut[8];
    assert_int_equal(hf_json_validator_new(long_name, strlen(long_name), NULL, &validator, cut, size), HF_ERR_NOTFOUND);
    assert_string_equal(cut, size < 6 ? "'#/" : size < 8 ? "'#/\u00e9" : "'#/\u00e9\u00e9");
  }
}

static void validator__obeys_its_options(void **state) {
  (void)state;
  static const char schema[] = "{\"$ref\":\"urn:x:date\"}", document[] = "{\"format\":\"date\"}";
  struct hf_json_document date = {"urn:x:date", 10, document, sizeof document - 1};
  struct hf_json_validator_options options = HF_JSON_VALIDATOR_OPTIONS_INIT;
  options.documents = &date;
  options.document_count = 1;
  struct hf_json_validator *validator = compile(schema, &options);
  assert_int_equal(check(validator, "\"today\""), 0);
  hf_json_validator_free(validator);
  options.assert_format = true;
  options.max_value_bytes = 12;
  validator = compile(schema, &options);
  assert_int_equal(check(validator, "\"today\""), HF_ERR_INVALID);
  assert_int_equal(check(validator, "\"2026-11-30\""), 0);
  assert_int_equal(check(validator, "\"2026-11-300\""), HF_ERR_LIMIT);
  struct hf_json_validation *validation = NULL;
  char why[64];
  assert_int_equal(
      hf_json_validator_validate(validator, "[1,2,3,4,5,6,7]", 15, HF_JSON_REPAIR_SAFE, &validation, why, sizeof why),
      HF_ERR_LIMIT);
  assert_string_equal(why, "more than 12 bytes");
  hf_json_validator_free(validator);
  options.max_schema_bytes = 10;
  assert_int_equal(hf_json_validator_new(schema, sizeof schema - 1, &options, &validator, NULL, 0), HF_ERR_LIMIT);
}

static void validation__lists_all_that_is_wrong(void **state) {
  (void)state;
  struct hf_json_validator *validator = compile(TOOL, NULL);
  struct hf_json_validation *validation = validate(validator, "{\"lines\":0,\"a/b\":1}", HF_JSON_REPAIR_OFF);
  assert_false(hf_json_validation_is_valid(validation));
  static const struct {
    const char *keyword, *instance, *member, *location, *absolute, *message;
  } expected[] = {
      {"minimum", "/lines", NULL, "/properties/lines/$ref/minimum", "#/$defs/count/minimum",
       "must be at least 1; got 0"},
      {"additionalProperties", "", "/a~1b", "/additionalProperties", NULL,
       "must not have the member \"a/b\"; it may have \"path\", \"lines\""},
      {"required", "", NULL, "/required", NULL, "must have the member \"path\""},
  };
  bool cut = true;
  assert_int_equal(hf_json_validation_misfits(validation, &cut), 3);
  assert_int_equal(hf_json_validation_misfits(validation, NULL), 3);
  assert_false(cut);
  for (size_t i = 0; i < 3; i++) {
    struct hf_json_misfit misfit;
    hf_json_validation_misfit(validation, i, &misfit);
    assert_string_equal(misfit.keyword, expected[i].keyword);
    assert_int_equal(misfit.parent, -1);
    assert_text(misfit.instance, misfit.instance_len, expected[i].instance);
    assert_text(misfit.location, misfit.location_len, expected[i].location);
    assert_text(misfit.message, misfit.message_len, expected[i].message);
    assert_int_equal(misfit.member != NULL, expected[i].member != NULL);
    assert_int_equal(misfit.absolute != NULL, expected[i].absolute != NULL);
    if (misfit.member)
      assert_text(misfit.member, misfit.member_len, expected[i].member);
    if (misfit.absolute)
      assert_text(misfit.absolute, misfit.absolute_len, expected[i].absolute);
  }
  size_t len;
  const char *text = hf_json_validation_text(validation, &len);
  assert_text(text, len, "{\"lines\":0,\"a/b\":1}");
  assert_int_equal(hf_json_validation_repairs(validation), 0);
  hf_json_validation_free(validation);
  hf_json_validation_free(NULL);
  hf_json_validator_free(validator);
}

static void validation__gives_keywords_their_uri(void **state) {
  (void)state;
  struct hf_json_validator *validator =
      compile("{\"$id\":\"https://example.com/s#\",\"properties\":{\"a b\":{\"type\":\"null\"}}}", NULL);
  struct hf_json_validation *validation = validate(validator, "{\"a b\":1}", HF_JSON_REPAIR_OFF);
  assert_int_equal(hf_json_validation_misfits(validation, NULL), 1);
  struct hf_json_misfit misfit;
  hf_json_validation_misfit(validation, 0, &misfit);
  assert_text(misfit.location, misfit.location_len, "/properties/a b/type");
  assert_text(misfit.absolute, misfit.absolute_len, "https://example.com/s#/properties/a%20b/type");
  hf_json_validation_free(validation);
  hf_json_validator_free(validator);
}

static void validation__tells_which_reason_belongs_to_which(void **state) {
  (void)state;
  struct hf_json_validator *validator = compile("{\"anyOf\":[{\"type\":\"string\"},{\"not\":{}}]}", NULL);
  struct hf_json_validation *validation = validate(validator, "1", HF_JSON_REPAIR_OFF);
  static const int parents[] = {-1, 0, 0};
  assert_int_equal(hf_json_validation_misfits(validation, NULL), 3);
  for (size_t i = 0; i < 3; i++) {
    struct hf_json_misfit misfit;
    hf_json_validation_misfit(validation, i, &misfit);
    assert_int_equal(misfit.parent, parents[i]);
  }
  hf_json_validation_free(validation);
  hf_json_validator_free(validator);
}

static void validation__repairs_as_far_as_it_may(void **state) {
  (void)state;
  struct hf_json_validator *validator = compile(TOOL, NULL);
  static const struct {
    const char *text;
    enum hf_json_repair_mode mode;
    bool valid;
    size_t repairs;
    const char *after;
  } rows[] = {
      {"{\"path\": \"a\"}", HF_JSON_REPAIR_SAFE, true, 0, "{\"path\": \"a\"}"},
      {"{\"path\":\"a\",\"lines\":\"3\"}", HF_JSON_REPAIR_SAFE, true, 1, "{\"path\":\"a\",\"lines\":3}"},
      {"{\"path\":\"a\",\"lines\":\"3\"}", HF_JSON_REPAIR_SPELLING, false, 0, "{\"path\":\"a\",\"lines\":\"3\"}"},
      {"{\"path\":\"a\",\"lines\":\"3\"}", HF_JSON_REPAIR_OFF, false, 0, "{\"path\":\"a\",\"lines\":\"3\"}"},
      {"{\"Path\":\"a\"}", HF_JSON_REPAIR_SPELLING, true, 1, "{\"path\":\"a\"}"},
      {"{'path':'a'}", HF_JSON_REPAIR_SPELLING, true, 1, "{\"path\":\"a\"}"},
      {"{\"lines\":\"many\"}", HF_JSON_REPAIR_SAFE, false, 0, "{\"lines\":\"many\"}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_json_validation *validation = validate(validator, rows[i].text, rows[i].mode);
    size_t len;
    const char *text = hf_json_validation_text(validation, &len);
    assert_text(text, len, rows[i].after);
    assert_int_equal(hf_json_validation_is_valid(validation), rows[i].valid);
    assert_int_equal(hf_json_validation_repairs(validation), rows[i].repairs);
    assert_int_equal(hf_json_validation_misfits(validation, NULL) == 0, rows[i].valid);
    hf_json_validation_free(validation);
  }
  struct hf_json_validation *validation = validate(validator, rows[1].text, HF_JSON_REPAIR_SAFE);
  struct hf_json_repair repair;
  hf_json_validation_repair(validation, 0, &repair);
  assert_string_equal(repair.kind, "number_from_text");
  assert_text(repair.pointer, repair.pointer_len, "/lines");
  assert_text(repair.from, repair.from_len, "\"3\"");
  assert_text(repair.to, repair.to_len, "3");
  hf_json_validation_free(validation);
  hf_json_validator_free(validator);
}

static void validation__refuses_what_is_no_json(void **state) {
  (void)state;
  struct hf_json_validator *validator = compile(TOOL, NULL);
  static const struct {
    const char *text;
    enum hf_json_repair_mode mode;
    int code;
    const char *why;
  } rows[] = {
      {"{'path':'a'}", HF_JSON_REPAIR_OFF, HF_ERR_SYNTAX, "a member name was expected"},
      {"{'path':'a", HF_JSON_REPAIR_SAFE, HF_ERR_SYNTAX, "a member name was expected"},
      {"{\"path\":\"a\",\"path\":\"b\"}", HF_JSON_REPAIR_OFF, HF_ERR_DUPLICATE, "a member twice at offset 12"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_json_validation *validation = NULL;
    char why[256];
    int code = hf_json_validator_validate(validator, rows[i].text, strlen(rows[i].text), rows[i].mode, &validation, why,
                                          sizeof why);
    if (code != rows[i].code || !strstr(why, rows[i].why))
      fail_msg("%s: %d, %s", rows[i].text, code, why);
    assert_null(validation);
  }
  hf_json_validator_free(validator);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(validator__tells_valid_texts),
      cmocka_unit_test(validator__tells_what_is_wrong_with_a_schema),
      cmocka_unit_test(validator__obeys_its_options),
      cmocka_unit_test(validation__lists_all_that_is_wrong),
      cmocka_unit_test(validation__gives_keywords_their_uri),
      cmocka_unit_test(validation__tells_which_reason_belongs_to_which),
      cmocka_unit_test(validation__repairs_as_far_as_it_may),
      cmocka_unit_test(validation__refuses_what_is_no_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
