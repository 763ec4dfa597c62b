#include "daemon/model_api.h"

#include "base/alloc.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct hf_model_settings openai = {
    .url = HF_STR("http://127.0.0.1:9/v1"),
    .api = HF_MODEL_OPENAI,
    .name = HF_STR("small"),
    .key = HF_STR("sk-secret"),
    .max_tokens = 512,
};
static const struct hf_model_settings anthropic = {
    .url = HF_STR("https://api.anthropic.com"),
    .api = HF_MODEL_ANTHROPIC,
    .name = HF_STR("claude"),
    .key = HF_STR("sk-ant"),
    .max_tokens = 256,
};

static void assert_text(const struct hf_buf *buf, const char *expected) {
  if (!hf_str_equal(hf_buf_str(buf), hf_str_from(expected)))
    fail_msg("'%.*s' is not '%s'", (int)buf->len, buf->data, expected);
}

static void model_api__finds_its_operation(void **state) {
  (void)state;
  static const struct {
    enum hf_model_api api;
    const char *url;
    const char *expected;
  } rows[] = {
      {HF_MODEL_OPENAI, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"},
      {HF_MODEL_OPENAI, "http://localhost:11434/v1//", "http://localhost:11434/v1/chat/completions"},
      {HF_MODEL_OPENAI, "http://h/x/chat/completions", "http://h/x/chat/completions"},
      {HF_MODEL_ANTHROPIC, "https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"},
      {HF_MODEL_ANTHROPIC, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"},
      {HF_MODEL_ANTHROPIC, "https://h/anthropic/v1/messages", "https://h/anthropic/v1/messages"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct hf_model_settings settings = {.api = rows[i].api, .url = hf_str_from(rows[i].url)};
    struct hf_buf out;
    hf_buf_init(&out, 1024);
    assert_int_equal(hf_model_api_url(&settings, &out), 0);
    assert_text(&out, rows[i].expected);
    assert_int_equal(out.data[out.len], '\0');
    hf_buf_deinit(&out);
  }
}

static void model_api__asks_in_its_words(void **state) {
  (void)state;
  struct hf_buf out;
  hf_buf_init(&out, 4096);
  assert_int_equal(hf_model_api_body(&openai, HF_STR("do"), HF_STR("\"this\"\n"), &out), 0);
  assert_text(&out, "{\"model\":\"small\",\"max_tokens\":512,\"messages\":[{\"role\":\"system\",\"content\":\"do\"},"
                    "{\"role\":\"user\",\"content\":\"\\\"this\\\"\\n\"}]}");
  hf_buf_deinit(&out);
  assert_int_equal(hf_model_api_body(&anthropic, HF_STR("do"), HF_STR("this"), &out), 0);
  assert_text(&out, "{\"model\":\"claude\",\"max_tokens\":256,\"system\":\"do\","
                    "\"messages\":[{\"role\":\"user\",\"content\":\"this\"}]}");
  hf_buf_deinit(&out);

  struct hf_model_settings own = openai;
  own.url = HF_STR("https://api.openai.com/v1");
  assert_int_equal(hf_model_api_body(&own, HF_STR("do"), HF_STR("this"), &out), 0);
  assert_non_null(memmem(out.data, out.len, "\"max_completion_tokens\":512", 27));
  assert_null(memmem(out.data, out.len, "\"max_tokens\"", 12));
  hf_buf_deinit(&out);
}

static void model_api__the_key_is_in_the_header(void **state) {
  (void)state;
  struct hf_buf out;
  hf_buf_init(&out, 4096);
  assert_int_equal(hf_model_api_headers(&openai, &out), 0);
  assert_non_null(memmem(out.data, out.len, "Authorization: Bearer sk-secret", 32));
  hf_buf_deinit(&out);
  assert_int_equal(hf_model_api_headers(&anthropic, &out), 0);
  assert_non_null(memmem(out.data, out.len, "x-api-key: sk-ant", 18));
  assert_non_null(memmem(out.data, out.len, "anthropic-version: 2023-06-01", 30));
  hf_buf_deinit(&out);
  struct hf_model_settings open = openai;
  open.key = (struct hf_str){NULL, 0};
  assert_int_equal(hf_model_api_headers(&open, &out), 0);
  assert_null(memmem(out.data, out.len, "Authorization", 13));
  hf_buf_deinit(&out);
}

static void model_api__reads_what_was_said(void **state) {
  (void)state;
  static const struct {
    enum hf_model_api api;
    const char *body;
    int r;
    const char *text;
    int64_t tokens;
  } rows[] = {
      {HF_MODEL_OPENAI,
       "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"{\\\"n\\\":1}\"},\"finish_reason\":\"stop\"}],"
       "\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"total_tokens\":107}}",
       0, "{\"n\":1}", 107},
      {HF_MODEL_OPENAI,
       "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
       "{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"b\"}]}}]}",
       0, "ab", -1},
      {HF_MODEL_OPENAI, "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"no\"}}]}", 0, "", -1},
      {HF_MODEL_OPENAI, "{\"choices\":[]}", HF_ERR_INVALID, NULL, 0},
      {HF_MODEL_OPENAI, "{\"choices\":[{\"text\":\"x\"}]}", HF_ERR_INVALID, NULL, 0},
      {HF_MODEL_OPENAI, "{\"error\":{\"message\":\"Incorrect API key provided: sk-secret\"}}", HF_ERR_INVALID, NULL, 0},
      {HF_MODEL_OPENAI, "<html>", HF_ERR_INVALID, NULL, 0},
      {HF_MODEL_OPENAI, "", HF_ERR_INVALID, NULL, 0},
      {HF_MODEL_OPENAI, "[]", HF_ERR_INVALID, NULL, 0},
      {HF_MODEL_OPENAI, "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":-5}}", 0, "a",
       -1},
      {HF_MODEL_ANTHROPIC,
       "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"{}\"}],"
       "\"usage\":{\"input_tokens\":10,\"output_tokens\":2,\"cache_read_input_tokens\":5}}",
       0, "{}", 17},
      {HF_MODEL_ANTHROPIC, "{\"content\":[{\"type\":\"thinking\",\"text\":\"hm\"},{\"type\":\"text\",\"text\":\"x\"}]}",
       0, "x", -1},
      {HF_MODEL_ANTHROPIC, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}", HF_ERR_INVALID, NULL, 0},
      {HF_MODEL_ANTHROPIC, "{\"choices\":[{\"message\":{\"content\":\"a\"}}]}", HF_ERR_INVALID, NULL, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf text;
    int64_t tokens = 0;
    hf_buf_init(&text, HF_MODEL_TEXT_MAX);
    assert_int_equal(hf_model_api_read(rows[i].api, hf_str_from(rows[i].body), &text, &tokens), rows[i].r);
    if (rows[i].r == 0) {
      assert_text(&text, rows[i].text);
      assert_int_equal(tokens, rows[i].tokens);
    }
    hf_buf_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(model_api__finds_its_operation),
      cmocka_unit_test(model_api__asks_in_its_words),
      cmocka_unit_test(model_api__the_key_is_in_the_header),
      cmocka_unit_test(model_api__reads_what_was_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
