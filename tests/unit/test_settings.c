#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/settings.h"

static struct hf_str s(const char *text) {
  return hf_str_from(text);
}

static void pattern__star_stands_for_any_run(void **state) {
  (void)state;
  static const struct {
    const char *pattern, *server, *tool;
    bool match;
  } cases[] = {
      {"search__*", "search", "web", true},
      {"search__*", "search", "", true},
      {"search__*", "searching", "web", false},
      {"*", "a", "b", true},
      {"*__delete_*", "files", "delete_all", true},
      {"*__delete_*", "files", "undelete", false},
      {"a__b", "a", "b", true},
      {"a__b", "a", "bc", false},
      {"a__b__c", "a", "b__c", true},
      {"a__b__c", "a__b", "c", true},
      {"a*b*c", "aXb", "c", true},
      {"**", "a", "b", true},
      {"", "a", "b", false},
      {"*x", "a", "xyx", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_int_equal(hf_pattern_match(s(cases[i].pattern), s(cases[i].server), s(cases[i].tool)), cases[i].match);
}

static void pattern__overlap_is_found_in_both_directions(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    bool overlap;
  } cases[] = {
      {"a__*", "*__b", true},  {"a__*", "b__*", false},   {"*_x", "*_y", false}, {"a__b", "a__b", true},
      {"a__b", "a__c", false}, {"a__b", "a__*", true},    {"*", "a*b*c", true},  {"ab*", "a*c", true},
      {"ab*cd", "ab*d", true}, {"ab*cd", "ab*cx", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(hf_pattern_overlap(s(cases[i].a), s(cases[i].b)), cases[i].overlap);
    assert_int_equal(hf_pattern_overlap(s(cases[i].b), s(cases[i].a)), cases[i].overlap);
  }
}

static void settings__exact_beats_the_longest_literal(void **state) {
  (void)state;
  struct hf_tool_settings tools[] = {
      {.server = s("a"), .pattern = s("a__*"), .source = s("1")},
      {.server = s("a"), .pattern = s("a__get_*"), .source = s("2")},
      {.server = s("a"), .pattern = s("a__get_x"), .source = s("3")},
      {.server = s("b"), .pattern = s("*"), .source = s("4")},
  };
  struct hf_settings settings = {.tools = tools, .tool_count = 4};
  assert_string_equal(hf_settings_tool(&settings, s("a"), s("put"))->source.ptr, "1");
  assert_string_equal(hf_settings_tool(&settings, s("a"), s("get_y"))->source.ptr, "2");
  assert_string_equal(hf_settings_tool(&settings, s("a"), s("get_x"))->source.ptr, "3");
  assert_string_equal(hf_settings_tool(&settings, s("b"), s("get_x"))->source.ptr, "4");
  assert_null(hf_settings_tool(&settings, s("c"), s("get_x")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pattern__star_stands_for_any_run),
      cmocka_unit_test(pattern__overlap_is_found_in_both_directions),
      cmocka_unit_test(settings__exact_beats_the_longest_literal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
