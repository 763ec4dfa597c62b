#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/config.h"
#include "daemon/console.h"

#include <string.h>

struct fixture {
  struct hf_loop loop;
  struct hf_gateway *gateway;
  struct hf_console *console;
  char answer[4096];
  int answers;
  int reloads;
  bool bad_reload;
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
      cmocka_unit_test_setup_teardown(console__tools_are_listed_as_a_client_sees_them, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__a_call_goes_through_the_pipeline, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__bad_questions_get_an_error, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__reload_says_what_is_wrong, set_up, tear_down),
      cmocka_unit_test_setup_teardown(console__a_forgotten_question_is_not_answered, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
