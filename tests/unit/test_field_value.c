#include "mcp/field_value.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The examples of the specification's value encoding, and its edge cases. */
static void field_value__encodes_as_the_specification_says(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *value;
  } rows[] = {
      {"us-west1", "us-west1"},
      {"a b\tc", "a b\tc"},
      {"Hello, \xe4\xb8\x96\xe7\x95\x8c", "=?base64?SGVsbG8sIOS4lueVjA==?="},
      {" padded ", "=?base64?IHBhZGRlZCA=?="},
      {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
      {"line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="},
      {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
      {"\tindented", "=?base64?CWluZGVudGVk?="},
      {"", "=?base64?"
           "?="},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf buf;
    hf_buf_init(&buf, 4096);
    assert_int_equal(hf_field_value_encode(&buf, hf_str_from(rows[i].text)), 0);
    assert_true(hf_str_equal(hf_buf_str(&buf), hf_str_from(rows[i].value)));
    hf_buf_reset(&buf, 4096);
    assert_int_equal(hf_field_value_decode(&buf, hf_str_from(rows[i].value)), 0);
    assert_true(hf_str_equal(hf_buf_str(&buf), hf_str_from(rows[i].text)));
    hf_buf_deinit(&buf);
  }
}

static void field_value__decodes_strictly(void **state) {
  (void)state;
  static const struct {
    const char *value;
    int result;
    const char *text;
  } rows[] = {
      {"=?base64?SGVsbG8=?=", 0, "Hello"},
      {"=?base64?SGVsbG8=", 0, "=?base64?SGVsbG8="},
      {"=?BASE64?SGVsbG8=?=", 0, "=?BASE64?SGVsbG8=?="},
      {"=?base64?=", 0, "=?base64?="},
      {"=?base64?SGVsbG8?=", HF_ERR_SYNTAX, ""},
      {"=?base64?SGVs!!!bG8=?=", HF_ERR_SYNTAX, ""},
      {"=?base64?SGVsbG9=?=", HF_ERR_SYNTAX, ""}, /* stray bits */
      {"=?base64?SG=sbG8=?=", HF_ERR_SYNTAX, ""},
      {"=?base64?====?=", HF_ERR_SYNTAX, ""},
      {"caf\xc3\xa9", HF_ERR_SYNTAX, ""},
      {"a\rb", HF_ERR_SYNTAX, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf buf;
    hf_buf_init(&buf, 4096);
    assert_int_equal(hf_field_value_decode(&buf, hf_str_from(rows[i].value)), rows[i].result);
    assert_true(hf_str_equal(hf_buf_str(&buf), hf_str_from(rows[i].text)));
    hf_buf_deinit(&buf);
  }
}

static void field_name__is_a_token(void **state) {
  (void)state;
  static const char allowed[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (int c = 0; c < 256; c++) {
    char byte = (char)c;
    assert_int_equal(hf_field_name_byte(byte), c != 0 && strchr(allowed, c) != NULL);
    assert_int_equal(hf_field_name_valid((struct hf_str){&byte, 1}), hf_field_name_byte(byte));
  }
  assert_true(hf_field_name_valid(HF_STR("Mcp-Param-Region")));
  assert_false(hf_field_name_valid(HF_STR("a b")));
  assert_false(hf_field_name_valid(HF_STR("")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(field_name__is_a_token),
      cmocka_unit_test(field_value__encodes_as_the_specification_says),
      cmocka_unit_test(field_value__decodes_strictly),
  };
  return cmocka_run_group_tests_name("field_value", tests, NULL, NULL);
}
