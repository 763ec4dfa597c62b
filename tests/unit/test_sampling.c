#include "gateway/correct/sampling.h"

#include "base/alloc.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void sampling__asks_with_one_message(void **state) {
  (void)state;
  struct hf_buf out;
  hf_buf_init(&out, 4096);
  assert_int_equal(hf_sampling_params(HF_STR("do"), HF_STR("\"this\""), 7, &out), 0);
  assert_true(
      hf_str_equal(hf_buf_str(&out), HF_STR("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
                                            "\"\\\"this\\\"\"}}],\"systemPrompt\":\"do\",\"maxTokens\":7}")));
  hf_buf_deinit(&out);
}

static void sampling__reads_all_text_and_nothing_else(void **state) {
  (void)state;
  static const struct {
    const char *result;
    int r;
    const char *text;
  } rows[] = {
      {"{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"a\\nb\"}}", 0, "a\nb"},
      {"{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"text\":\"x\"},{\"type\":\"text\","
       "\"text\":\"b\"}]}",
       0, "ab"},
      {"{\"content\":{\"type\":\"text\",\"text\":\"\"}}", 0, ""},
      {"{\"content\":[]}", HF_ERR_INVALID, NULL},
      {"{\"content\":{\"type\":\"audio\",\"data\":\"\"}}", HF_ERR_INVALID, NULL},
      {"{\"content\":{\"type\":\"text\",\"text\":1}}", HF_ERR_INVALID, NULL},
      {"{\"content\":\"a\"}", HF_ERR_INVALID, NULL},
      {"{}", HF_ERR_INVALID, NULL},
      {"[]", HF_ERR_INVALID, NULL},
      {"", HF_ERR_INVALID, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf text;
    hf_buf_init(&text, HF_SAMPLING_TEXT_MAX);
    assert_int_equal(hf_sampling_read(hf_str_from(rows[i].result), &text), rows[i].r);
    if (rows[i].text)
      assert_true(hf_str_equal(hf_buf_str(&text), hf_str_from(rows[i].text)));
    hf_buf_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sampling__asks_with_one_message),
      cmocka_unit_test(sampling__reads_all_text_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
