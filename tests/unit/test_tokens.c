#include "base/tokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What o200k_base makes of them. */
static const struct {
  size_t tokens;
  const char *text;
} known[] = {
    {15, "{\"query\":\"holdfast\",\"limit\":10,\"includeDeleted\":false}"},
    {26,
     "The tool may have been executed: nobody knows. It is not known to be safe to repeat, so it was not repeated."},
    {53, "{\"id\":\"6f1c2b9e-58a4-4b7d-9a55-0e2f7c1d3a40\",\"at\":\"2026-05-01T12:30:15Z\"}"},
    {12, "Этот инструмент недоступен, повторите попытку позже."},
    {20, "この ツールは現在利用できません。後でもう一度お試しください。"},
    {39, "[\n  {\n    \"code\": \"invalid_type\",\n    \"expected\": \"string\",\n    \"path\": [\n      \"query\"\n   "
         " ],\n    \"message\": \"Required\"\n  }\n]"},
    {19, "https://api.example.com/v2/repositories/holdfast/issues?state=open&page=2"},
    {19, "Error: ENOENT: no such file or directory, open '/srv/docs/report.md'"},
};

/* The estimate is made for JSON and English; of other scripts only the sum of many texts is near. */
enum { TOLERANCE_PERCENT = 20, OTHER_TOLERANCE_PERCENT = 55 };

static void tokens__are_near_what_a_tokenizer_says(void **state) {
  (void)state;
  size_t estimated = 0;
  size_t true_count = 0;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    const size_t n = hf_tokens(hf_str_from(known[i].text));
    const size_t percent = (known[i].text[0] & 0x80) ? OTHER_TOLERANCE_PERCENT : TOLERANCE_PERCENT;
    assert_in_range(n * 100, known[i].tokens * (100 - percent), known[i].tokens * (100 + percent));
    estimated += n;
    true_count += known[i].tokens;
  }
  assert_in_range(estimated * 100, true_count * 93, true_count * 107); /* errors cancel out */
}

static void tokens__of_nothing_are_none(void **state) {
  (void)state;
  assert_int_equal(hf_tokens((struct hf_str){NULL, 0}), 0);
  assert_int_equal(hf_tokens(HF_STR("")), 0);
  assert_int_equal(hf_tokens(HF_STR("-")), 1); /* 0.54, but never none of something */
}

/* Text from outside need not be UTF-8, nor end where a character does. */
static void tokens__bytes_that_are_no_text_have_an_end(void **state) {
  (void)state;
  char bytes[512];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (char)(i * 7);
  for (size_t len = 0; len <= sizeof bytes; len++)
    assert_true(hf_tokens((struct hf_str){bytes, len}) <= 3 * len);
  assert_int_equal(hf_tokens(HF_STR("\xe4")), hf_tokens(HF_STR("\xe4\xb8\xad")));
}

static void tokens__words_break_where_a_capital_begins(void **state) {
  (void)state;
  assert_int_equal(hf_tokens(HF_STR("include")), 1);        /* 1.03 + 0.21 */
  assert_int_equal(hf_tokens(HF_STR("includeDeleted")), 2); /* two of seven letters */
  assert_int_equal(hf_tokens(HF_STR("includedeleted")), 3); /* 1.03 + 8 × 0.21 */
  assert_int_equal(hf_tokens(HF_STR("1234567890")), 5);     /* four groups of 1.32 */
  assert_int_equal(hf_tokens(HF_STR("a b c d")), 4);        /* single blanks are free */
}

/* A large text costs no more time than its beginning. */
static void tokens__of_a_long_text_are_those_of_its_beginning(void **state) {
  (void)state;
  static char text[4 * HF_TOKENS_READ_MAX];
  memset(text, 'x', sizeof text);
  for (size_t i = 0; i < sizeof text; i += 4)
    text[i] = ' ';
  const size_t quarter = hf_tokens((struct hf_str){text, HF_TOKENS_READ_MAX});
  assert_int_equal(quarter, 16876); /* 16,384 words of three letters */
  assert_in_range(hf_tokens((struct hf_str){text, sizeof text}), 4 * quarter - 2, 4 * quarter + 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tokens__are_near_what_a_tokenizer_says),
      cmocka_unit_test(tokens__of_nothing_are_none),
      cmocka_unit_test(tokens__bytes_that_are_no_text_have_an_end),
      cmocka_unit_test(tokens__of_a_long_text_are_those_of_its_beginning),
      cmocka_unit_test(tokens__words_break_where_a_capital_begins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
