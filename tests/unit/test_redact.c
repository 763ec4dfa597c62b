#include "gateway/letter/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *raw, const struct hf_strings *secrets, const char *wanted) {
  struct hf_buf out;
  bool changed = false;
  hf_buf_init(&out, 1 << 20);
  assert_int_equal(hf_redact(hf_str_from(raw), secrets, &out, &changed), 0);
  assert_int_equal(out.len, strlen(wanted));
  assert_memory_equal(out.data, wanted, out.len);
  assert_int_equal(changed, strcmp(raw, wanted) != 0);
  hf_buf_deinit(&out);
}

static void redact__takes_out_what_names_say(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"{\"password\":\"x\",\"a\":1}", "{\"password\":\"[redacted]\",\"a\":1}"},
      {"{\"API-Key\":\"x\"}", "{\"API-Key\":\"[redacted]\"}"},
      {"{\"apiKey\":\"x\"}", "{\"apiKey\":\"[redacted]\"}"},
      {"{\"Authorization\" : [1, {\"b\":2}] }", "{\"Authorization\" : \"[redacted]\" }"},
      {"{\"x\":{\"client_token_2\":{\"token\":1}},\"y\":[{\"secret\":null}]}",
       "{\"x\":{\"client_token_2\":\"[redacted]\"},\"y\":[{\"secret\":\"[redacted]\"}]}"},
      {"{\"\\u0074oken\":1}", "{\"\\u0074oken\":\"[redacted]\"}"},
      {"{\"name\": \"password\", \"n\": 1.50 }", "{\"name\": \"password\", \"n\": 1.50 }"},
      {"{\"authorizations\":1}", "{\"authorizations\":1}"},
      {"\"token\"", "\"token\""},
      {"[]", "[]"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    expect(rows[i][0], NULL, rows[i][1]);
}

static void redact__takes_out_what_pointers_and_own_patterns_say(void **state) {
  (void)state;
  struct hf_str items[] = {HF_STR("/a/1/b"), HF_STR("Card*"), HF_STR("/missing"), HF_STR("/o~1k")};
  const struct hf_strings secrets = {items, 4};
  expect(
      "{\"a\":[0,{\"b\":{\"c\":1},\"c\":2}],\"cardNumber\":3,\"discard\":4,\"o/k\":[5]}", &secrets,
      "{\"a\":[0,{\"b\":\"[redacted]\",\"c\":2}],\"cardNumber\":\"[redacted]\",\"discard\":4,\"o/k\":\"[redacted]\"}");
}

static void redact__does_not_pass_what_it_cannot_read(void **state) {
  (void)state;
  struct hf_buf out;
  hf_buf_init(&out, 1 << 20);
  assert_int_equal(hf_redact(HF_STR("{\"token\":"), NULL, &out, NULL), HF_ERR_SYNTAX);
  hf_buf_deinit(&out);
  hf_buf_init(&out, 8);
  assert_int_equal(hf_redact(HF_STR("{\"token\":\"0123456789\"}"), NULL, &out, NULL), HF_ERR_LIMIT);
  hf_buf_deinit(&out);
}

/* Nobody hides a secret under a name that is too long to be compared. */
static void redact__a_long_name_counts_as_a_secret(void **state) {
  (void)state;
  char raw[600];
  char wanted[600];
  char name[300];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  assert_true(snprintf(raw, sizeof raw, "{\"%s\":\"x\"}", name) > 0);
  assert_true(snprintf(wanted, sizeof wanted, "{\"%s\":\"[redacted]\"}", name) > 0);
  expect(raw, NULL, wanted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(redact__takes_out_what_names_say),
      cmocka_unit_test(redact__takes_out_what_pointers_and_own_patterns_say),
      cmocka_unit_test(redact__does_not_pass_what_it_cannot_read),
      cmocka_unit_test(redact__a_long_name_counts_as_a_secret),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
