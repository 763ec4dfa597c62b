#include "schema/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "schema/ecma.h"

enum { STEPS = 1 << 18 };

static struct hf_regex *compile(const char *pattern) {
  struct hf_regex *regex = NULL;
  struct hf_error error;
  if (hf_regex_compile(hf_str_from(pattern), &regex, &error) != 0)
    fail_msg("%s: %s", pattern, error.text);
  return regex;
}

static int match(const char *pattern, struct hf_str subject, uint32_t steps) {
  struct hf_regex *regex = compile(pattern);
  struct hf_regex_memory *memory = hf_regex_memory_new();
  int found = hf_regex_match(regex, memory, subject, &steps);
  hf_regex_memory_free(memory);
  hf_regex_free(regex);
  return found;
}

struct row {
  const char *pattern;
  const char *subject;
  int found;
};

static void check_rows(const struct row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int found = match(rows[i].pattern, hf_str_from(rows[i].subject), STEPS);
    if (found != rows[i].found)
      fail_msg("'%s' in '%s': %d", rows[i].pattern, rows[i].subject, found);
    assert_int_equal(hf_ecma_translate(hf_str_from(rows[i].pattern), NULL, NULL), 0);
  }
}

static void pattern__ends_and_escapes_are_those_of_ecma_262(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"^abc$", "abc", 1},
      {"^abc$", "abc\n", 0},
      {"^a$", "b\na", 0},
      {"b", "abc", 1},
      {"", "", 1},
      {"^$", "", 1},
      {"^$", "\n", 0},
      {"a|b|", "", 1},
      {"^\\t$", "\t", 1},
      {"^\\v\\f\\r\\n$", "\v\f\r\n", 1},
      {"^\\v$", "\n", 0},
      {"^\\cC$", "\x03", 1},
      {"^\\cc$", "\x03", 1},
      {"^[\\cJ]$", "\n", 1},
      {"^\\d$", "0", 1},
      {"^\\d$", "\u07c0", 0},
      {"^\\D$", "\u07c0", 1},
      {"^[^\\D]$", "7", 1},
      {"^[^\\D]$", "\u07c0", 0},
      {"^\\w$", "\u00e9", 0},
      {"^\\W$", "\u00e9", 1},
      {"^[\\W]$", "\u00e9", 1},
      {"^[\\W_]$", "_", 1},
      {"^[^\\P{L}\\W]$", "\u0130", 0},
      {"^[^\\p{N}\\D]$", "\u0130", 0},
      {"^[\\P{L}\\W]$", "\u0130", 1},
      {"^\\s$", "\u00a0", 1},
      {"^\\s$", "\ufeff", 1},
      {"^\\s$", "\u2003", 1},
      {"^\\s$", "\u2029", 1},
      {"^\\s$", "\u180e", 0},
      {"^\\s$", "\xc2\x85", 0},
      {"^\\S$", "\xc2\x85", 1},
      {"^\\S$", "\ufeff", 0},
      {"^[\\s]+$", " \t\u3000", 1},
      {"^[\\S]$", " ", 0},
      {"^[\\S]$", "\u00a0", 0},
      {"^[\\S]$", "!", 1},
      {"^[\\S]$", "\U0001f432", 1},
      {"^[^\\S]$", "\u3000", 1},
      {"^[\\s\\S]$", "\n", 1},
      {"\\bcaf\\b", "caf\u00e9", 1},
      {"\\Ba", "ba", 1},
      {"^[\\b]$", "\b", 1},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void pattern__characters_are_code_points(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"^.$", "\U0001f432", 1},
      {"^.$", "\n", 0},
      {"^.$", "\r", 0},
      {"^.$", "\u2028", 0},
      {"^.$", "\xc2\x85", 1},
      {"^[^]$", "\n", 1},
      {"^[^]*$", "\u2028x", 1},
      {"[]", "a", 0},
      {"a[]?b", "ab", 1},
      {"^[^a]$", "\n", 1},
      {"^\\u0061\\x62\\u{63}$", "abc", 1},
      {"^\\ud83d\\udc32$", "\U0001f432", 1},
      {"^\\u{1f432}*$", "\U0001f432\U0001f432", 1},
      {"^[\\ud83d\\udc32-\\ud83d\\udc34]$", "\U0001f433", 1},
      {"^[\\u{1F432}]$", "\U0001f432", 1},
      {"\\ud83d", "\U0001f432", 0},
      {"^[^\\ud83d]$", "\U0001f432", 1},
      {"[\\ud800-\\udfff]", "\U0001f432", 0},
      {"^[\\u0000-\\uffff]+$", "a\u00e9\uffff", 1},
      {"^[\\ud7ff-\\ue000]$", "\ue000", 1},
      {"^[\\udc00-\\ue000]$", "\ue000", 1},
      {"^\U0001f432*$", "\U0001f432\U0001f432", 1},
      {"^\U0001f432*$", "\U0001f409", 0},
      {"^\\0$", "\x01", 0},
      {"^\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/$", "^$\\.*+?()[]{}|/", 1},
      {"^[\\-\\]]+$", "-]", 1},
      {"^[a-]+$", "-a", 1},
      {"^[-a]+$", "-a", 1},
      {"^[+--]+$", "+,-", 1},
      {"^[[:alpha:]+$", "[:alph", 1},
      {"^[&&[~]$", "&", 1},
      {"^a#b c$", "a#b c", 1},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void pattern__properties_have_the_names_of_the_standard(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"^\\p{L}+$", "\u00e9cole", 1},
      {"^\\p{Letter}+$", "\u03c0", 1},
      {"^\\P{Letter}+$", "123", 1},
      {"^\\p{digit}+$", "4\u09ea", 1},
      {"^\\p{Lu}$", "A", 1},
      {"^\\p{gc=Lowercase_Letter}$", "A", 0},
      {"^\\p{General_Category=Nd}$", "7", 1},
      {"^\\p{LC}$", "a", 1},
      {"^\\p{Script=Greek}$", "\u03c0", 1},
      {"^\\p{sc=Grek}$", "p", 0},
      {"^\\p{Script_Extensions=Greek}$", "\u03c0", 1},
      {"^\\p{scx=Cyrl}$", "\u0436", 1},
      {"^\\p{ASCII}$", "~", 1},
      {"^\\p{ASCII}$", "\u00e9", 0},
      {"^\\p{Any}$", "\n", 1},
      {"^\\p{Assigned}$", "a", 1},
      {"^\\P{Assigned}$", "\u0378", 1},
      {"^\\p{Emoji}$", "\U0001f432", 1},
      {"^\\p{Alphabetic}$", "a", 1},
      {"^\\p{White_Space}$", "\xc2\x85", 1},
      {"^[\\p{Lu}\\p{Nd}_]+$", "A1_", 1},
      {"^[^\\P{Lu}]$", "A", 1},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void pattern__groups_and_counts_are_those_of_ecma_262(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"^(a+)-\\1$", "aa-aa", 1},
      {"^(a+)-\\1$", "aa-a", 0},
      {"^\\1(a)$", "a", 1},
      {"^(?:(a)|b)\\1$", "b", 1},
      {"^(?<year>\\d{4})-\\k<year>$", "2024-2024", 1},
      {"^\\k<b>(?<b>x)$", "x", 1},
      {"^(?<$a_1>x)\\k<$a_1>{2}$", "xxx", 1},
      {"^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\\10$", "abcdefghijj", 1},
      {"^(?=a)ab$", "ab", 1},
      {"^(?!b)a", "ab", 1},
      {"(?<=\\$)\\d+", "$42", 1},
      {"(?<!\\$)\\b\\d+", "$42", 0},
      {"(?<=ab|c)d", "cd", 1},
      {"^a{2}$", "aa", 1},
      {"^a{2,}$", "a", 0},
      {"^a{2,3}?b$", "aaab", 1},
      {"^a*?b+?c??$", "aab", 1},
      {"^(?:ab){2}$", "abab", 1},
      {"^(?:ab)*$", "ababa", 0},
      {"^.{70}$", "1234567890123456789012345678901234567890123456789012345678901234567890", 1},
      {"^.{71}$", "1234567890123456789012345678901234567890123456789012345678901234567890", 0},
      {"^\\d{65,69}$", "1234567890123456789012345678901234567890123456789012345678901234567890", 0},
      {"^\\d{20,80}$", "1234567890123456789012345678901234567890123456789012345678901234567890", 1},
      {"^[\\d]{33,}?$", "1234567890123456789012345678901234567890123456789012345678901234567890", 1},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void pattern__takes_a_zero_byte_as_a_character(void **state) {
  (void)state;
  assert_int_equal(match("^\\0$", HF_STR("\0"), STEPS), 1);
  assert_int_equal(match("^[\\0-a]+$", HF_STR("a\0A"), STEPS), 1);
  struct hf_regex *regex = NULL;
  assert_int_equal(hf_regex_compile(HF_STR("^a\0b$"), &regex, NULL), 0);
  struct hf_regex_memory *memory = hf_regex_memory_new();
  uint32_t steps = STEPS;
  assert_int_equal(hf_regex_match(regex, memory, HF_STR("a\0b"), &steps), 1);
  assert_int_equal(hf_regex_match(regex, memory, (struct hf_str){NULL, 0}, &steps), 0);
  hf_regex_memory_free(memory);
  hf_regex_free(regex);
  assert_int_equal(hf_regex_compile(HF_STR("\\\0"), &regex, NULL), HF_ERR_SYNTAX);
}

static void pattern__refuses_what_is_none(void **state) {
  (void)state;
  static const struct {
    const char *pattern;
    const char *reason;
  } rows[] = {
      {"\\a", "unknown escape at offset 1"},
      {"a\\-", "unknown escape at offset 2"},
      {"\\_", "unknown escape at offset 1"},
      {"\\Z", "unknown escape at offset 1"},
      {"\\A", "unknown escape at offset 1"},
      {"\\c1", "unknown escape at offset 1"},
      {"\\x1", "unknown escape at offset 1"},
      {"\\01", "unknown escape at offset 1"},
      {"[\\1]", "unknown escape at offset 2"},
      {"[\\B]", "unknown escape at offset 2"},
      {"\\", "a backslash at the end at offset 1"},
      {"\\u12", "malformed \\u escape at offset 2"},
      {"\\u{}", "malformed \\u{…} at offset 3"},
      {"\\u{61", "malformed \\u{…} at offset 5"},
      {"\\u{110000}", "a code point beyond U+10FFFF at offset 8"},
      {"\\p", "\\p without its property at offset 2"},
      {"\\pL", "\\p without its property at offset 2"},
      {"\\p{Latin}", "unknown property at offset 2"},
      {"\\p{letter}", "unknown property at offset 2"},
      {"\\p{gc=Greek}", "unknown property at offset 2"},
      {"\\p{sc=}", "unknown property at offset 2"},
      {"\\p{foo=bar}", "unknown property at offset 2"},
      {"(?P<name>x)", "unknown kind of group at offset 2"},
      {"(?#c)a", "unknown kind of group at offset 2"},
      {"(?i)abc", "unknown kind of group at offset 2"},
      {"(?>a)", "unknown kind of group at offset 2"},
      {"(?-:a)", "unknown kind of group at offset 2"},
      {"(?<1>a)", "malformed name of a group at offset 3"},
      {"(?<a", "malformed name of a group at offset 4"},
      {"\\1", "a reference to no group at offset 2"},
      {"(a)\\2", "a reference to no group at offset 5"},
      {"\\k<a>", "a reference to no group at offset 5"},
      {"\\k", "\\k without its name at offset 2"},
      {"^(abc]", "a bracket that was not opened at offset 5"},
      {"(a", "a parenthesis without its end at offset 2"},
      {"a)", "a parenthesis that was not opened at offset 1"},
      {"[a", "a class without its end at offset 2"},
      {"[b-a]", "a range out of order at offset 4"},
      {"[a-\\d]", "a range from or to a set at offset 5"},
      {"[\\w-z]", "a range from or to a set at offset 5"},
      {"*a", "nothing to repeat at offset 0"},
      {"a**", "nothing to repeat at offset 2"},
      {"a++", "nothing to repeat at offset 2"},
      {"^*", "nothing to repeat at offset 1"},
      {"(?=a)*", "nothing to repeat at offset 5"},
      {"\\b+", "nothing to repeat at offset 2"},
      {"a{2,1}", "a quantifier out of order at offset 6"},
      {"a{,2}", "a brace that is no quantifier at offset 2"},
      {"a{2", "a brace that is no quantifier at offset 3"},
      {"{", "nothing to repeat at offset 0"},
      {"}", "a bracket that was not opened at offset 0"},
      {"a\xff", "invalid utf-8 at offset 1"},
      {"\xed\xa0\x80", "invalid utf-8 at offset 0"},
      {"\xc0\x80", "invalid utf-8 at offset 0"},
      {"\xf4\x90\x80\x80", "invalid utf-8 at offset 0"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_regex *regex = NULL;
    struct hf_error error;
    int err = hf_regex_compile(hf_str_from(rows[i].pattern), &regex, &error);
    if (err != HF_ERR_SYNTAX)
      fail_msg("'%s': %d", rows[i].pattern, err);
    assert_string_equal(error.text, rows[i].reason);
    assert_int_equal(hf_ecma_translate(hf_str_from(rows[i].pattern), NULL, NULL), HF_ERR_SYNTAX);
  }
}

static void pattern__tells_apart_what_it_cannot_do(void **state) {
  (void)state;
  static const struct {
    const char *pattern;
    const char *reason;
  } rows[] = {
      {"(?<=a+)b", NULL},
      {"\\p{Script=Nowhere}", NULL},
      {"(?i:a)", "flags of a group at offset 2"},
      {"(?i-ms:a)", "flags of a group at offset 2"},
      {"(?<a>x)|(?<a>y)", "two groups of one name at offset 13"},
      {"a{65536}", "a quantifier beyond 65535 at offset 8"},
      {"(?:a{60000}){60000}", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_regex *regex = NULL;
    struct hf_error error;
    int err = hf_regex_compile(hf_str_from(rows[i].pattern), &regex, &error);
    if (err != HF_ERR_UNSUPPORTED)
      fail_msg("'%s': %d", rows[i].pattern, err);
    if (rows[i].reason)
      assert_string_equal(error.text, rows[i].reason);
  }
}

/* A pattern of `count` times `unit`. */
static int compile_many(const char *unit, size_t count) {
  struct hf_buf text;
  hf_buf_init(&text, 1 << 20);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(hf_buf_append_str(&text, hf_str_from(unit)), 0);
  struct hf_regex *regex = NULL;
  int err = hf_regex_compile(hf_buf_str(&text), &regex, NULL);
  hf_regex_free(regex);
  hf_buf_deinit(&text);
  return err;
}

static void pattern__has_limits_of_its_own(void **state) {
  (void)state;
  assert_int_equal(compile_many("a", HF_REGEX_BYTES_MAX), 0);
  assert_int_equal(compile_many("a", HF_REGEX_BYTES_MAX + 1), HF_ERR_LIMIT);
  assert_int_equal(compile_many("(", HF_ECMA_DEPTH_MAX), HF_ERR_SYNTAX);
  assert_int_equal(compile_many("(", HF_ECMA_DEPTH_MAX + 1), HF_ERR_LIMIT);
  assert_int_equal(compile_many("(?<a>)", HF_ECMA_NAMES_MAX), HF_ERR_UNSUPPORTED);
  assert_int_equal(compile_many("(?<a>)", HF_ECMA_NAMES_MAX + 1), HF_ERR_LIMIT);
  assert_int_equal(compile_many("[\\S]", HF_REGEX_BYTES_MAX / 4), HF_ERR_LIMIT);
}

/* What backtracks without end, looks again and again at the same text, or compares long captures. */
static void pattern__ends_when_its_steps_do(void **state) {
  (void)state;
  static const struct {
    const char *pattern;
    size_t len;
  } rows[] = {
      {"^(a+)+[bc]$", 60},
      {"^(a|a)*[bc]$", 60},
      {"^(a|aa|aaa)+[bc]$", 60},
      {"^(a?){200}[bc]", 60},
      {"^a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?[bc]", 60},
      {"^(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)(?:|a)"
       "(?:|a)(?:|a)[bc]",
       60},
      {"^.*.*.*.*[bc]$", 1000},
      {"(a*?)*?[bc]", 60},
      {"(?:(?:a*)*)*[bc]", 60},
      {"a*[bc]", 50000},
      {"a{0,60000}[bc]", 50000},
      {"a{1000}[bc]", 50000},
      {"(.*)\\1[bc]", 50000},
      {"(?=(a*))[bc]|\\1[bc]", 50000},
      {"(?<!(?:[ab]{90})[bc])[bc]|a*[bc]", 50000},
  };
  static char text[50000];
  memset(text, 'a', sizeof text);
  struct hf_regex_memory *memory = hf_regex_memory_new();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_regex *regex = compile(rows[i].pattern);
    uint32_t steps = 1 << 20;
    int found = hf_regex_match(regex, memory, (struct hf_str){text, rows[i].len}, &steps);
    if (found != HF_ERR_LIMIT || steps != 0) /* else it was the memory that ended, or a bound of PCRE2's own */
      fail_msg("'%s': %d, %u steps left", rows[i].pattern, found, steps);
    hf_regex_free(regex);
  }
  hf_regex_memory_free(memory);
}

static void pattern__counts_the_steps_of_a_match(void **state) {
  (void)state;
  struct hf_regex *regex = compile("^(?:[a-z]{4})*$");
  struct hf_regex_memory *memory = hf_regex_memory_new();
  static char text[4000];
  memset(text, 'a', sizeof text);
  uint32_t steps = STEPS;
  assert_int_equal(hf_regex_match(regex, memory, (struct hf_str){text, sizeof text}, &steps), 1);
  uint32_t taken = STEPS - steps;
  assert_in_range(taken, 1000, 10000);
  steps = taken;
  assert_int_equal(hf_regex_match(regex, memory, (struct hf_str){text, sizeof text}, &steps), 1);
  assert_int_equal(steps, 0);
  steps = taken - 1;
  assert_int_equal(hf_regex_match(regex, memory, (struct hf_str){text, sizeof text}, &steps), HF_ERR_LIMIT);
  steps = 0;
  assert_int_equal(hf_regex_match(regex, memory, (struct hf_str){"", 0}, &steps), HF_ERR_LIMIT);
  hf_regex_memory_free(memory);
  hf_regex_free(regex);
}

/* The steps that a match in so many bytes `a` takes. */
static uint32_t steps_of(const char *pattern, size_t len) {
  static char text[64000];
  memset(text, 'a', sizeof text);
  struct hf_regex *regex = compile(pattern);
  struct hf_regex_memory *memory = hf_regex_memory_new();
  uint32_t steps = STEPS;
  assert_int_equal(hf_regex_match(regex, memory, (struct hf_str){text, len}, &steps), 1);
  hf_regex_memory_free(memory);
  hf_regex_free(regex);
  return STEPS - steps;
}

static void pattern__counts_what_is_tried_and_looked_at(void **state) {
  (void)state;
  assert_int_equal(steps_of("^a", 1), 3);
  assert_int_equal(steps_of("^(?:a|b|c)", 1), 5);
  assert_int_equal(steps_of("^(?:b|c|a)", 1), 9);
  assert_int_equal(steps_of("^a?", 1), 5);
  assert_in_range(steps_of("^a*$", 64000), 64000 / HF_REGEX_STEP_BYTES, 64000 / HF_REGEX_STEP_BYTES + 100);
  assert_in_range(steps_of("^(a)\\1", 64000), 3 * 64000 / 64, 3 * 64000 / 64 + 100);
  assert_true(steps_of("^(?:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa){4}", 256) > 10);
}

static void pattern__allocates_nothing_in_a_match(void **state) {
  (void)state;
  struct hf_regex *deep = compile("^(?:(a)|(b)|(c)\\3)*$"), *flat = compile("b");
  struct hf_regex_memory *memory = hf_regex_memory_new();
  static char text[200000];
  memset(text, 'a', sizeof text);
  unsigned long before = hf_alloc_count();
  uint32_t steps = UINT32_MAX;
  /* Deep enough for several blocks of memory, and then for more than there is. */
  assert_int_equal(hf_regex_match(deep, memory, (struct hf_str){text, 2000}, &steps), 1);
  assert_int_equal(hf_regex_match(deep, memory, (struct hf_str){text, 4000}, &steps), 1);
  assert_int_equal(hf_regex_match(deep, memory, (struct hf_str){text, sizeof text}, &steps), HF_ERR_LIMIT);
  assert_int_not_equal(steps, 0);
  assert_int_equal(hf_regex_match(flat, memory, (struct hf_str){text, sizeof text}, &steps), 0);
  assert_int_equal(hf_regex_match(deep, memory, (struct hf_str){text, 4000}, &steps), 1);
  assert_int_equal(hf_alloc_count(), before);
  hf_regex_memory_free(memory);
  hf_regex_free(deep);
  hf_regex_free(flat);
}

static void pattern__survives_each_failed_allocation(void **state) {
  (void)state;
  bool compiled = false, has_memory = false;
  for (long n = 0; !compiled || !has_memory; n++) {
    struct hf_regex *regex = NULL;
    struct hf_error error;
    hf_alloc_fail_after(n);
    int err = hf_regex_compile(HF_STR("^(\\w+)@[^]{100}\\1$"), &regex, &error);
    hf_alloc_fail_after(-1);
    assert_true(err == 0 || err == HF_ERR_NOMEM);
    assert_true(err == 0 || error.code == HF_ERR_NOMEM);
    compiled = err == 0;
    assert_true(!compiled || hf_regex_size(regex) > sizeof(void *));
    hf_regex_free(regex);
    hf_alloc_fail_after(n);
    struct hf_regex_memory *memory = hf_regex_memory_new();
    hf_alloc_fail_after(-1);
    has_memory = memory != NULL;
    hf_regex_memory_free(memory);
  }
  hf_regex_free(NULL);
  hf_regex_memory_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pattern__ends_and_escapes_are_those_of_ecma_262),
      cmocka_unit_test(pattern__characters_are_code_points),
      cmocka_unit_test(pattern__properties_have_the_names_of_the_standard),
      cmocka_unit_test(pattern__groups_and_counts_are_those_of_ecma_262),
      cmocka_unit_test(pattern__takes_a_zero_byte_as_a_character),
      cmocka_unit_test(pattern__refuses_what_is_none),
      cmocka_unit_test(pattern__tells_apart_what_it_cannot_do),
      cmocka_unit_test(pattern__has_limits_of_its_own),
      cmocka_unit_test(pattern__ends_when_its_steps_do),
      cmocka_unit_test(pattern__counts_the_steps_of_a_match),
      cmocka_unit_test(pattern__counts_what_is_tried_and_looked_at),
      cmocka_unit_test(pattern__allocates_nothing_in_a_match),
      cmocka_unit_test(pattern__survives_each_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
