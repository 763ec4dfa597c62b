#include "json/write.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void json_write__places_commas_and_colons(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 4096);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &buf);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "s", HF_STR("t"));
  hf_json_write_member_int(&w, "i", INT64_MIN);
  hf_json_write_key(&w, "a");
  hf_json_write_array(&w);
  hf_json_write_bool(&w, true);
  hf_json_write_null(&w);
  hf_json_write_object(&w);
  hf_json_write_object_end(&w);
  hf_json_write_array(&w);
  hf_json_write_array_end(&w);
  hf_json_write_array_end(&w);
  hf_json_write_member_raw(&w, "r", HF_STR("1.0"));
  hf_json_write_member_bool(&w, "b", false);
  hf_json_write_object_end(&w);
  assert_int_equal(hf_json_write_finish(&w), 0);
  assert_true(
      hf_str_equal(hf_buf_str(&buf),
                   HF_STR("{\"s\":\"t\",\"i\":-9223372036854775808,\"a\":[true,null,{},[]],\"r\":1.0,\"b\":false}")));
  hf_buf_deinit(&buf);
}

static void json_write__escapes_what_must_be(void **state) {
  (void)state;
  static const struct {
    struct hf_str text;
    const char *json;
  } rows[] = {
      {{"", 0}, "\"\""},
      {{"a\"\\/\n\r\t\0\x1f\x7f", 10}, "\"a\\\"\\\\/\\n\\r\\t\\u0000\\u001f\x7f\""},
      {{"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", 9}, "\"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80\""},
      {{"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", 9}, "\"\\u2028\\u2029\xe2\x80\xaa\""},
      {{"\xff", 1}, "\"\xef\xbf\xbd\""},
      {{"a\xc0\xaf", 3}, "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
      {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
      {{"\xe2\x80", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf buf;
    hf_buf_init(&buf, 4096);
    assert_int_equal(hf_json_escape(&buf, rows[i].text), 0);
    assert_true(hf_str_equal(hf_buf_str(&buf), hf_str_from(rows[i].json)));
    hf_buf_deinit(&buf);
  }
}

static void json_write__the_first_error_sticks(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 8);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &buf);
  hf_json_write_array(&w);
  hf_json_write_str(&w, HF_STR("too long for it"));
  hf_json_write_int(&w, 1);
  hf_json_write_array_end(&w);
  assert_int_equal(hf_json_write_finish(&w), HF_ERR_LIMIT);
  hf_buf_deinit(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_write__places_commas_and_colons),
      cmocka_unit_test(json_write__escapes_what_must_be),
      cmocka_unit_test(json_write__the_first_error_sticks),
  };
  return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
