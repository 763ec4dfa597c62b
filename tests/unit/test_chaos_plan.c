#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chaos/options.h"
#include "chaos/plan.h"
#include "chaos/server.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

static struct hf_chaos_fault parse(const char *text) {
  struct hf_chaos_fault fault;
  struct hf_error error;
  if (hf_chaos_fault_parse(hf_str_from(text), &fault, &error) != 0)
    fail_msg("%s: %s", text, error.text);
  return fault;
}

static void chaos_plan__a_fault_is_what_it_says(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum hf_chaos_fault_kind kind;
    bool executes;
    long number;
    const char *argument;
    long times;
  } cases[] = {
      {"reset", HF_CHAOS_RESET, false, 0, "", 0},
      {"execdrop", HF_CHAOS_RESET, true, 0, "", 0},
      {"exec+close", HF_CHAOS_CLOSE, true, 0, "", 0},
      {"noexec+garbage", HF_CHAOS_GARBAGE, false, 0, "", 0},
      {"delay:300*2", HF_CHAOS_DELAY, true, 300, "300", 2},
      {"status:429/2", HF_CHAOS_STATUS, false, 429, "2", 0},
      {"503:1", HF_CHAOS_STATUS, false, 503, "1", 0},
      {"rpc:-32603", HF_CHAOS_RPC, false, -32603, "-32603", 0},
      {"iserror:out of stock", HF_CHAOS_ISERROR, true, 0, "out of stock", 0},
      {"drift", HF_CHAOS_DRIFT, true, 0, "", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_chaos_fault fault = parse(cases[i].text);
    assert_int_equal(fault.kind, cases[i].kind);
    assert_int_equal(fault.executes, cases[i].executes);
    assert_int_equal(fault.number, cases[i].number);
    assert_string_equal(fault.text, cases[i].argument);
    assert_int_equal(fault.times, cases[i].times);
  }
}

static void chaos_plan__mistakes_are_told(void **state) {
  (void)state;
  static const struct {
    const char *rates;
    const char *text;
  } cases[] = {
      {"reest=0.1", "unknown fault 'reest'; did you mean 'reset'?"},
      {"zzzzzzzzz=0.1", "unknown fault 'zzzzzzzzz'"},
      {"reset", "'reset' is not NAME=RATE"},
      {"reset=often", "'reset=often': a rate is a number from 0 to 1, or from 0% to 100%"},
      {"reset=1.1", "'reset=1.1': a rate is a number from 0 to 1, or from 0% to 100%"},
      {"reset=nan", "'reset=nan': a rate is a number from 0 to 1, or from 0% to 100%"},
      {"reset=70%,500=0.5", "the rates add up to 120 %, which is more than all calls"},
      {"delay:-1=0.1", "the number of fault 'delay' is out of bounds"},
      {"delay:999999999=0.1", "the number of fault 'delay' is out of bounds"},
      {"reset*x=0.1", "'*' needs a number of times"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_chaos_plan plan;
    struct hf_error error = {0};
    hf_chaos_plan_init(&plan, 1);
    assert_int_equal(hf_chaos_plan_add_rates(&plan, cases[i].rates, &error), HF_ERR_INVALID);
    assert_string_equal(error.text, cases[i].text);
    hf_chaos_plan_deinit(&plan);
  }
}

enum { CALLS = 1000 };

static void draw(uint64_t seed, const char *rates, char marks[CALLS + 1]) {
  struct hf_chaos_plan plan;
  struct hf_error error;
  hf_chaos_plan_init(&plan, seed);
  assert_int_equal(hf_chaos_plan_add_rates(&plan, rates, &error), 0);
  for (size_t i = 0; i < CALLS; i++)
    marks[i] = (char)('a' + (int)hf_chaos_plan_pick(&plan, "tools/call", "", "").kind);
  marks[CALLS] = '\0';
  hf_chaos_plan_deinit(&plan);
}

static size_t count(const char *marks, enum hf_chaos_fault_kind kind) {
  size_t found = 0;
  for (; *marks; marks++)
    found += *marks == (char)('a' + (int)kind);
  return found;
}

static void chaos_plan__the_same_seed_gives_the_same_faults(void **state) {
  (void)state;
  char one[CALLS + 1];
  char two[CALLS + 1];
  char other[CALLS + 1];
  draw(42, "reset=10%,garbage=0.2", one);
  draw(42, "reset=10%,garbage=0.2", two);
  draw(43, "reset=10%,garbage=0.2", other);
  assert_string_equal(one, two);
  assert_string_not_equal(one, other);
  assert_in_range(count(one, HF_CHAOS_RESET), 70, 130);
  assert_in_range(count(one, HF_CHAOS_GARBAGE), 160, 240);
}

static void chaos_plan__drift_meets_lists_and_the_other_rates_calls(void **state) {
  (void)state;
  struct hf_chaos_plan plan;
  struct hf_error error;
  hf_chaos_plan_init(&plan, 1);
  assert_int_equal(hf_chaos_plan_add_rates(&plan, "drift=100%,reset=100%", &error), 0);
  assert_int_equal(hf_chaos_plan_pick(&plan, "tools/list", "", "").kind, HF_CHAOS_DRIFT);
  assert_int_equal(hf_chaos_plan_pick(&plan, "tools/call", "", "").kind, HF_CHAOS_RESET);
  assert_int_equal(hf_chaos_plan_pick(&plan, "ping", "", "").kind, HF_CHAOS_NONE);
  hf_chaos_plan_deinit(&plan);
}

static void chaos_plan__a_script_is_used_up_in_order(void **state) {
  (void)state;
  struct hf_chaos_plan plan;
  struct hf_error error;
  hf_chaos_plan_init(&plan, 1);
  const struct hf_str script = HF_STR("# first\n\ntools/call\treset*2\r\n* 500\ntools/call iserror:two words\n");
  assert_int_equal(hf_chaos_plan_add_script(&plan, script, &error), 0);
  assert_int_equal(hf_chaos_plan_pick(&plan, "tools/call", "", "").kind, HF_CHAOS_RESET);
  assert_int_equal(hf_chaos_plan_pick(&plan, "initialize", "", "").kind, HF_CHAOS_STATUS);
  assert_int_equal(hf_chaos_plan_pick(&plan, "tools/call", "", "").kind, HF_CHAOS_RESET);
  assert_string_equal(hf_chaos_plan_pick(&plan, "tools/call", "", "").text, "two words");
  assert_int_equal(hf_chaos_plan_pick(&plan, "tools/call", "", "").kind, HF_CHAOS_NONE);
  hf_chaos_plan_deinit(&plan);
}

static void chaos_plan__a_script_says_which_line_is_wrong(void **state) {
  (void)state;
  static const struct {
    const char *script;
    const char *text;
  } cases[] = {
      {"tools/call reset\ntools/call", "line 2: a line is METHOD FAULT"},
      {"\n\ntools/call gabage\n", "line 3: unknown fault 'gabage'; did you mean 'garbage'?"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_chaos_plan plan;
    struct hf_error error = {0};
    hf_chaos_plan_init(&plan, 1);
    assert_int_equal(hf_chaos_plan_add_script(&plan, hf_str_from(cases[i].script), &error), HF_ERR_INVALID);
    assert_string_equal(error.text, cases[i].text);
    hf_chaos_plan_deinit(&plan);
  }
}

static void chaos_plan__a_script_has_no_more_than_its_lines(void **state) {
  (void)state;
  static const char line[] = "tools/call reset\n";
  struct hf_chaos_plan plan;
  struct hf_error error = {0};
  struct hf_buf text;
  hf_buf_init(&text, HF_CHAOS_SCRIPT_BYTES_MAX);
  for (int i = 0; i < HF_CHAOS_SCRIPT_MAX; i++)
    assert_int_equal(hf_buf_append(&text, line, sizeof line - 1), 0);
  hf_chaos_plan_init(&plan, 1);
  assert_int_equal(hf_chaos_plan_add_script(&plan, hf_buf_str(&text), &error), 0);
  assert_int_equal(hf_chaos_plan_add_script(&plan, hf_str_from(line), &error), HF_ERR_LIMIT);
  assert_string_equal(error.text, "line 1: more than 1024 faults");
  hf_chaos_plan_deinit(&plan);
  hf_buf_deinit(&text);
}

static void chaos_plan__has_no_more_than_its_rates(void **state) {
  (void)state;
  struct hf_chaos_plan plan;
  struct hf_error error = {0};
  hf_chaos_plan_init(&plan, 1);
  for (int i = 0; i < HF_CHAOS_RATES_MAX; i++)
    assert_int_equal(hf_chaos_plan_add_rates(&plan, "reset=0.01", &error), 0);
  assert_int_equal(hf_chaos_plan_add_rates(&plan, "reset=0.01", &error), HF_ERR_INVALID);
  assert_string_equal(error.text, "more than 32 rates");
  hf_chaos_plan_deinit(&plan);
}

static void chaos_server__has_no_more_than_its_sessions(void **state) {
  (void)state;
  struct hf_chaos_options options;
  struct hf_chaos chaos;
  struct hf_chaos_answer answer;
  hf_chaos_options_init(&options);
  hf_chaos_init(&chaos, &options);
  hf_chaos_answer_init(&answer);
  for (int i = 0; i < HF_CHAOS_SESSIONS_MAX; i++)
    assert_int_equal(hf_chaos_start_session(&chaos, &answer), 0);
  assert_int_equal(hf_chaos_start_session(&chaos, &answer), HF_ERR_LIMIT);
  hf_chaos_answer_deinit(&answer);
  hf_chaos_deinit(&chaos);
}

static void chaos_plan__times_count_for_each_key(void **state) {
  (void)state;
  struct hf_chaos_plan plan;
  hf_chaos_plan_init(&plan, 1);
  assert_int_equal(hf_chaos_plan_pick(&plan, "tools/call", "reset*1", "a").kind, HF_CHAOS_RESET);
  assert_int_equal(hf_chaos_plan_pick(&plan, "tools/call", "reset*1", "a").kind, HF_CHAOS_NONE);
  assert_int_equal(hf_chaos_plan_pick(&plan, "tools/call", "reset*1", "b").kind, HF_CHAOS_RESET);
  hf_chaos_plan_deinit(&plan);
}

static void chaos_plan__without_memory_a_script_is_refused(void **state) {
  (void)state;
  struct hf_chaos_plan plan;
  struct hf_error error = {0};
  hf_chaos_plan_init(&plan, 1);
  hf_alloc_fail_after(0);
  assert_int_equal(hf_chaos_plan_add_script(&plan, HF_STR("tools/call reset\n"), &error), HF_ERR_NOMEM);
  hf_alloc_fail_after(-1);
  hf_chaos_plan_deinit(&plan);
}

static void chaos_plan__flags_are_held_against_their_table(void **state) {
  (void)state;
  static const struct {
    const char *argv[4];
    const char *text;
  } cases[] = {
      {{"--stido"}, "chaos: unknown option '--stido'; did you mean '--stdio'?"},
      {{"--http", "70000"}, "chaos: '--http' takes a whole number up to 65535, not '70000'"},
      {{"--http", "80 "}, "chaos: '--http' takes a whole number up to 65535, not '80 '"},
      {{"--era", "moden"}, "chaos: '--era' takes legacy, modern or both, not 'moden'; did you mean 'modern'?"},
      {{"--seed"}, "chaos: '--seed' needs a value: N"},
      {{"--sse=1"}, "chaos: '--sse' takes no value"},
      {{"npx"}, "chaos: unexpected argument 'npx'; a server's command follows '--'"},
      {{"--stdio", "--"}, "chaos: '--' needs a command"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_chaos_options options;
    struct hf_error error = {0};
    const char *argv[4];
    memcpy(argv, cases[i].argv, sizeof argv);
    hf_chaos_options_init(&options);
    assert_int_equal(hf_chaos_options_parse(&options, (char **)(uintptr_t)argv, &error), HF_ERR_INVALID);
    assert_string_equal(error.text, cases[i].text);
  }
  struct hf_chaos_options options;
  struct hf_error error = {0};
  const char *argv[] = {"--seed=9", "--era", "both", "--", "npx", "--sse", NULL};
  hf_chaos_options_init(&options);
  assert_int_equal(hf_chaos_options_parse(&options, (char **)(uintptr_t)argv, &error), 0);
  assert_int_equal(hf_chaos_options_check(&options, &error), 0);
  assert_int_equal(options.seed, 9);
  assert_int_equal(options.eras, HF_CHAOS_EITHER);
  assert_string_equal(options.command[1], "--sse");
  assert_false(options.sse);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chaos_plan__a_fault_is_what_it_says),
      cmocka_unit_test(chaos_plan__mistakes_are_told),
      cmocka_unit_test(chaos_plan__the_same_seed_gives_the_same_faults),
      cmocka_unit_test(chaos_plan__drift_meets_lists_and_the_other_rates_calls),
      cmocka_unit_test(chaos_plan__a_script_is_used_up_in_order),
      cmocka_unit_test(chaos_plan__a_script_says_which_line_is_wrong),
      cmocka_unit_test(chaos_plan__a_script_has_no_more_than_its_lines),
      cmocka_unit_test(chaos_plan__has_no_more_than_its_rates),
      cmocka_unit_test(chaos_server__has_no_more_than_its_sessions),
      cmocka_unit_test(chaos_plan__times_count_for_each_key),
      cmocka_unit_test(chaos_plan__without_memory_a_script_is_refused),
      cmocka_unit_test(chaos_plan__flags_are_held_against_their_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
