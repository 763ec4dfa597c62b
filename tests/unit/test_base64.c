#include "base/base64.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* RFC 4648, section 10, and the ends of the alphabet. */
static void base64__goes_there_and_back(void **state) {
  (void)state;
  static const struct {
    struct hf_str bytes;
    const char *text;
  } rows[] = {
      {{"", 0}, ""},
      {{"f", 1}, "Zg=="},
      {{"fo", 2}, "Zm8="},
      {{"foo", 3}, "Zm9v"},
      {{"foob", 4}, "Zm9vYg=="},
      {{"fooba", 5}, "Zm9vYmE="},
      {{"foobar", 6}, "Zm9vYmFy"},
      {{"\xfb\xff\xbf\0", 4}, "+/+/AA=="},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf buf;
    hf_buf_init(&buf, 64);
    assert_int_equal(hf_base64_encode(&buf, rows[i].bytes), 0);
    assert_true(hf_str_equal(hf_buf_str(&buf), hf_str_from(rows[i].text)));
    hf_buf_reset(&buf, 64);
    assert_int_equal(hf_base64_decode(&buf, hf_str_from(rows[i].text)), 0);
    assert_true(hf_str_equal(hf_buf_str(&buf), rows[i].bytes));
    hf_buf_deinit(&buf);
  }
}

static void base64__refuses_what_nobody_encodes(void **state) {
  (void)state;
  static const char *const rows[] = {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "====", "Zm9v=", "Z-9v", "Zm9v\n"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf buf;
    hf_buf_init(&buf, 64);
    assert_int_equal(hf_buf_append(&buf, "x", 1), 0);
    assert_int_equal(hf_base64_decode(&buf, hf_str_from(rows[i])), HF_ERR_SYNTAX);
    assert_int_equal(buf.len, 1);
    hf_buf_deinit(&buf);
  }
}

static void base64__keeps_to_the_buffers_limit(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 5);
  assert_int_equal(hf_base64_encode(&buf, HF_STR("foob")), HF_ERR_LIMIT);
  hf_buf_reset(&buf, 5);
  assert_int_equal(hf_base64_decode(&buf, HF_STR("Zm9vYmFy")), HF_ERR_LIMIT);
  assert_int_equal(buf.len, 0);
  hf_buf_deinit(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(base64__goes_there_and_back),
      cmocka_unit_test(base64__refuses_what_nobody_encodes),
      cmocka_unit_test(base64__keeps_to_the_buffers_limit),
  };
  return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
