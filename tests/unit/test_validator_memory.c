#include "holdfast/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"

static const char SCHEMA[] = "{\"$id\":\"urn:a\",\"properties\":{\"n\":{\"type\":\"integer\",\"pattern\":\"^a+$\"}},"
                             "\"additionalProperties\":false,\"anyOf\":[{\"required\":[\"x\"]},{\"$ref\":\"urn:b\"}]}";
static const char DOCUMENT[] = "{\"required\":[\"n\"]}";

static int compile(struct hf_json_validator **ret_validator) {
  struct hf_json_document document = {"urn:b", 5, DOCUMENT, sizeof DOCUMENT - 1};
  struct hf_json_validator_options options = HF_JSON_VALIDATOR_OPTIONS_INIT;
  options.documents = &document;
  options.document_count = 1;
  return hf_json_validator_new(SCHEMA, sizeof SCHEMA - 1, &options, ret_validator, NULL, 0);
}

static void validator__survives_each_failed_allocation(void **state) {
  (void)state;
  int err = HF_ERR_NOMEM;
  for (long n = 0; err; n++) {
    struct hf_json_validator *validator = NULL;
    hf_alloc_fail_after(n);
    err = compile(&validator);
    hf_alloc_fail_after(-1);
    if (err != 0 && err != HF_ERR_NOMEM)
      fail_msg("allocation %ld: %d", n, err);
    hf_json_validator_free(validator);
  }
}

static void validator__checks_without_allocating(void **state) {
  (void)state;
  struct hf_json_validator *validator = NULL;
  assert_int_equal(compile(&validator), 0);
  assert_int_equal(hf_json_validator_check(validator, "{\"n\":1}", 7), 0);
  unsigned long before = hf_alloc_count();
  assert_int_equal(hf_json_validator_check(validator, "{\"n\":1}", 7), 0);
  assert_int_equal(hf_json_validator_check(validator, "{\"n\":\"\"}", 8), HF_ERR_INVALID);
  assert_int_equal(hf_alloc_count(), before);
  hf_json_validator_free(validator);
}

/* A repair that finds no memory may be no repair at all, but never another one. */
static void validation__survives_each_failed_allocation(void **state) {
  (void)state;
  static const char *const texts[] = {"{\"n\":1}", "{\"n\":\"1\"}", "{\"n\":\"one\",\"z\":1}", "{'n':1}"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    int err = HF_ERR_NOMEM;
    for (long n = 0; err; n++) {
      struct hf_json_validator *validator = NULL;
      struct hf_json_validation *validation = NULL;
      char why[64] = "";
      assert_int_equal(compile(&validator), 0);
      hf_alloc_fail_after(n);
      err = hf_json_validator_validate(validator, texts[i], strlen(texts[i]), HF_JSON_REPAIR_SAFE, &validation, why,
                                       sizeof why);
      hf_alloc_fail_after(-1);
      if (err != 0 && (err != HF_ERR_NOMEM || strncmp(why, "out of memory", 13) != 0))
        fail_msg("%s, allocation %ld: %d, %s", texts[i], n, err, why);
      hf_json_validation_free(validation);
      hf_json_validator_free(validator);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(validator__survives_each_failed_allocation),
      cmocka_unit_test(validator__checks_without_allocating),
      cmocka_unit_test(validation__survives_each_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
