#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_store.h"

#include "daemon/config.h"
#include "daemon/console.h"

#include <stdio.h>
#include <string.h>

struct fixture {
  struct hf_loop loop;
  struct hf_gateway *gateway;
  struct hf_console *console;
  char answer[4096];
  int answers;
  int reloads;
  bool bad_reload;
  char lines[4096]; /* before the answer, one behind the other */
  struct fake_store store;
};

static int no_upstream(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
                       const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream) {
  (void)ctx, (void)settings, (void)capabilities, (void)events, (void)owner, (void)ret_upstream;
  return HF_ERR_UNAVAILABLE;
}

static int on_reload(void *context, struct hf_error *reterr) {
  struct fixture *f = context;
  f->reloads++;
  return f->bad_reload ? hf_error_set(reterr, HF_ERR_INVALID, "x.yaml:1:1: it is wrong") : 0;
}

static int set_up(void **state) {
  static struct fixture f;
  memset(&f, 0, sizeof f);
  static struct hf_problems problems;
  hf_problems_init(&problems);
  struct hf_settings *settings = NULL;
  struct hf_error error = {0};
  const struct hf_config_options options = {0};
  const struct hf_upstream_factory factory = {.open = no_upstream};
  assert_int_equal(hf_config_parse(HF_STR("mcpServers: { off: { command: canary, disabled: true } }"), &options,
                                   &problems, &settings, &error),
                   0);
  hf_loop_init(&f.loop, 1, NULL);
  assert_int_equal(hf_gateway_new(&f.loop, settings, &factory, &f.gateway), 0);
  f.console = hf_console_new(f.gateway, on_reload, &f);
  assert_non_null(f.console);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  hf_console_free(f->console);
  hf_gateway_free(f->gateway);
  hf_loop_deinit(&f->loop);
  return 0;
}

static void on_answer(void *context, struct hf_str answer) {
  struct fixture *f = context;
  assert_true(answer.len < sizeof f->answer);
  memcpy(f->answer, answer.ptr, answer.len);
  f->answer[answer.len] = '\0';
  f->answers++;
}

static void ask(struct fixture *f, const char *question) {
  struct hf_console_ask *pending;
  int before = f->answers;
  assert_int_equal(hf_console_ask(f->console, hf_str_from(question), on_answer, f, &pending), 0);
  assert_int_equal(f->answers, before);
  for (int i = 1; i <= 10 && f->answers == before; i++)
    hf_loop_run(&f->loop, HF_SECONDS(i), 0);
  assert_int_equal(f->answers, before + 1);
}

static void on_line(void *context, struct hf_str line) {
  struct fixture *f = context;
  size_t len = strlen(f->lines);
  snprintf(f->lines + len, sizeof f->lines - len, "%.*s\n", HF_STR_FMT(line));
}

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("'%s' is not in %s", part, text);
}

/* A gateway with a store, and a dead letter in it whose tool is gone. */
static void add_letter(struct fixture *f) {
  struct hf_store_wait wait = {0};
  const struct hf_letter letter = {.call = HF_STR("c-1"),
                                   .principal = HF_STR("ann"),
                                   .tool = HF_STR("shop__gone"),
                                   .executed = HF_STR("no"),
                                   .arguments = HF_STR("{}"),
                                   .count = 1};
  if (!f->gateway->store) {
    fake_store_init(&f->store, &f->loop);
    hf_gateway_use_store(f->gateway, &f->store.head);
  }
  f->store.slow = true;
  f->store.head.ops->bury(&f->store.head, &letter, &wait);
  f->store.head.ops->forget(&f->store.head, &wait);
  f->store.slow = false;
}

/* Asks, and hears of what goes on. */
static struct hf_console_ask *follow(struct fixture *f, const char *question) {
  struct hf_console_ask *pending;
  assert_int_equal(hf_console_ask(f->console, hf_str_from(question), on_answer, f, &pending), 0);
  assert_string_equal(f->lines, "");
  hf_console_listen(pending, on_line);
  return pending;
}

static void console__a_replay_tells_of_each_letter_and_then_of_all(void **state) {
  struct fixture *f = *state;
  add_letter(f);
  follow(f, "{\"op\":\"letters-replay\",\"tool\":\"shop__gone\",\"by\":\"ann\"}");
  for (int i = 1; i < 10; i++)
    hf_loop_run(&f->loop, HF_SECONDS(i), 0);
  assert_int_equal(f->answers, 1);
  assert_has(f->lines, "{\"more\":true,\"progress\":{\"letter\":\"d-1\",\"tool\":\"shop__gone\",\"what\":\"started\"");
  assert_has(f->lines, "\"what\":\"failed\",\"why\":\"unknown_tool\"");
  assert_string_equal(f->answer,
                      "{\"result\":{\"total\":1,\"replayed\":0,\"ran\":0,\"failed\":1,\"refused\":0,\"left\":0}}");
  assert_int_equal(f->store.letters[0].row.status, HF_LETTER_DEAD);
  assert_has(f->store.letters[0].row.history.ptr, "\"by\":\"ann\"");
}

static void console__a_replay_whose_asker_is_gone_starts_nothing_more(void **state) {
  struct fixture *f = *state;
  add_letter(f);
  struct hf_console_ask *pending = follow(f, "{\"op\":\"letters-replay\"}");
  hf_console_forget(pending);
  for (int i = 1; i < 10; i++)
    hf_loop_run(&f->loop, HF_SECONDS(i), 0);
  assert_int_equal(f->answers, 0);
  assert_int_equal(f->store.changed, 0);
  /* One that is under way when the gateway ends goes with it. */
  (void)follow(f, "{\"op\":\"letters-replay\"}");
}

static void console__replays_take_their_options_from_the_question(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *question, *answer;
  } cases[] = {
      {"{\"op\":\"letters-replay\",\"dryRun\":true}", "\"total\":1,\"replayed\":0"},
      {"{\"op\":\"letters-replay\",\"dryRun\":true,\"tool\":\"other\"}", "\"total\":0,"},
      {"{\"op\":\"letters-replay\",\"dryRun\":true,\"id\":\"d-1\",\"concurrency\":2,\"intervalMs\":10,"
       "\"rampUpMs\":10,\"stopPercent\":10,\"sinceMs\":0,\"untilMs\":9000000000000,\"priority\":0,\"limit\":5,"
       "\"patch\":{\"a\":1},\"provider\":\"x\",\"class\":\"x\",\"fingerprint\":\"0\"}",
       "\"total\":1,"},
      {"{\"op\":\"letters-replay\",\"dryRun\":true,\"ids\":[\"d-1\",\"d-9\"]}", "\"total\":2,\"replayed\":0,\"ran\":0,"
                                                                                "\"failed\":0,\"refused\":1,"},
      {"{\"op\":\"letters-replay\",\"dryRun\":true,\"ids\":[\"d-1\"],\"tool\":\"x\"}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"dryRun\":true,\"ids\":[]}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"dryRun\":true,\"ids\":\"d-1\"}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"dryRun\":true,\"ids\":[\"d-1\",1]}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"concurrency\":1000}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"concurrency\":-1}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"concurrency\":\"1\"}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"patch\":[]}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"reconcile\":true,\"executedNo\":true}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"letters-replay\",\"dryRun\":1}", "{\"error\":\"invalid value\"}"},
  };
  ask(f, "{\"op\":\"letters-replay\"}");
  assert_string_equal(f->answer, "{\"error\":\"this gateway has no store: there are no dead letters\"}");
  add_letter(f);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ask(f, cases[i].question);
    assert_has(f->answer, cases[i].answer);
  }
  assert_int_equal(f->store.changed, 0);
}

static void console__explains_a_call(void **state) {
  struct fixture *f = *state;
  ask(f, "{\"op\":\"explain\"}");
  assert_string_equal(f->answer, "{\"error\":\"invalid value\"}");
  ask(f, "{\"op\":\"explain\",\"call\":\"c-1\"}");
  assert_string_equal(f->answer, "{\"error\":\"this gateway does not know the call, or not any more\"}");
}

static void console__status_tells_of_letters_and_the_cache(void **state) {
  struct fixture *f = *state;
  add_letter(f);
  ask(f, "{\"op\":\"status\"}");
  assert_has(f->answer, "\"letters\":{\"dead\":1,\"replaying\":0,\"replayed\":0,\"discarded\":0,\"quarantined\":0,");
  assert_has(f->answer, "\"cache\":{\"entries\":0,\"bytes\":0,");
}

static void console__status_tells_of_servers_without_their_secrets(void **state) {
  struct fixture *f = *state;
  ask(f, "{\"op\":\"status\"}");
  assert_non_null(strstr(f->answer, "{\"result\":{"));
  assert_non_null(strstr(f->answer, "\"name\":\"off\""));
  assert_non_null(strstr(f->answer, "\"disabled\":\"disabled in the configuration\""));
  assert_null(strstr(f->answer, "canary"));
}

static void console__tools_are_listed_as_a_client_sees_them(void **state) {
  struct fixture *f = *state;
  ask(f, "{\"op\":\"tools\"}");
  assert_non_null(strstr(f->answer, "{\"response\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"));
  assert_non_null(strstr(f->answer, "\"tools\":[]"));
}

static void console__a_call_goes_through_the_pipeline(void **state) {
  struct fixture *f = *state;
  ask(f, "{\"op\":\"call\",\"name\":\"off__nothing\",\"arguments\":{\"a\":1}}");
  assert_non_null(strstr(f->answer, "{\"response\":{"));
  assert_non_null(strstr(f->answer, "off__nothing"));
}

static void console__bad_questions_get_an_error(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *question, *answer;
  } cases[] = {
      {"{\"op\":\"dance\"}", "{\"error\":\"not supported\"}"},
      {"{}", "{\"error\":\"not supported\"}"},
      {"[]", "{\"error\":\"invalid value\"}"},
      {"{", "{\"error\":\"malformed input\"}"},
      {"{\"op\":1}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"call\"}", "{\"error\":\"invalid value\"}"},
      {"{\"op\":\"status\",\"op\":\"call\"}", "{\"error\":\"duplicate member\"}"},
      {"{\"op\":\"tools\",\"server\":\"none\"}", "{\"error\":\"there is no such server\"}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ask(f, cases[i].question);
    assert_string_equal(f->answer, cases[i].answer);
  }
}

static void console__reload_says_what_is_wrong(void **state) {
  struct fixture *f = *state;
  ask(f, "{\"op\":\"reload\"}");
  assert_string_equal(f->answer, "{\"result\":{}}");
  f->bad_reload = true;
  ask(f, "{\"op\":\"reload\"}");
  assert_string_equal(f->answer, "{\"error\":\"x.yaml:1:1: it is wrong\"}");
  assert_int_equal(f->reloads, 2);
}

static void console__a_forgotten_question_is_not_answered(void **state) {
  struct fixture *f = *state;
  struct hf_console_ask *pending;
  assert_int_equal(hf_console_ask(f->console, HF_STR("{\"op\":\"tools\"}"), on_answer, f, &pending), 0);
  hf_console_forget(pending);
  hf_loop_run(&f->loop, HF_SECONDS(1), 0);
  assert_int_equal(f->answers, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(console__status_tells_of_servers_without_their_secrets, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__a_replay_tells_of_each_letter_and_then_of_all, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__a_replay_whose_asker_is_gone_starts_nothing_more, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__replays_take_their_options_from_the_question, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__explains_a_call, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__status_tells_of_letters_and_the_cache, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__tools_are_listed_as_a_client_sees_them, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__a_call_goes_through_the_pipeline, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__bad_questions_get_an_error, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__reload_says_what_is_wrong, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__a_forgotten_question_is_not_answered, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
