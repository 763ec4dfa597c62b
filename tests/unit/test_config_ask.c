#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "daemon/config.h"

#include <string.h>

/* `correction.auto` and `correction.model`. */

#define SERVERS "mcpServers: { shop: { url: 'http://x' } }\n"

static const char *variable(const char *name) {
  return strcmp(name, "KEY") == 0 ? "canary-key" : NULL;
}

struct loaded {
  int r;
  struct hf_settings *settings;
  struct hf_problems problems;
  struct hf_buf text;
};

static void load(struct loaded *l, const char *yaml) {
  const struct hf_config_options options = {.variable = variable, .listens = true};
  memset(l, 0, sizeof *l);
  hf_problems_init(&l->problems);
  hf_buf_init(&l->text, 1 << 16);
  struct hf_error error = {0};
  l->r = hf_config_parse(hf_str_from(yaml), &options, &l->problems, &l->settings, &error);
  assert_int_equal(hf_problems_print(&l->problems, "f", &l->text), 0);
  assert_int_equal(hf_buf_append(&l->text, "", 1), 0);
  assert_null(strstr(l->text.data, "canary"));
}

static void unload(struct loaded *l) {
  hf_settings_free(l->settings);
  hf_buf_deinit(&l->text);
}

static void assert_problems(const char *yaml, const char *expected) {
  struct loaded l;
  load(&l, yaml);
  assert_string_equal(l.text.data, expected);
  unload(&l);
}

static void assert_str(struct hf_str s, const char *expected) {
  assert_non_null(s.ptr);
  assert_true(hf_str_equal(s, hf_str_from(expected)));
}

static void config_ask__nobody_is_asked_by_default(void **state) {
  (void)state;
  struct loaded l;
  load(&l, SERVERS);
  assert_int_equal(l.r, 0);
  assert_int_equal(l.settings->tool_defaults.ask.mode, HF_ASK_OFF);
  assert_false(l.settings->tool_defaults.ask.unsafe);
  assert_int_equal(l.settings->tool_defaults.ask.timeout, HF_SECONDS(25));
  assert_null(l.settings->model.url.ptr);
  assert_int_equal(l.settings->model.timeout, HF_SECONDS(15));
  assert_int_equal(l.settings->model.max_tokens, 2048);
  assert_int_equal(l.settings->model.budget, 200000);
  unload(&l);
}

static void config_ask__a_tool_and_a_route_say_otherwise(void **state) {
  (void)state;
  struct loaded l;
  load(&l,
       SERVERS "correction: { auto: model, timeout: 3s, model: { url: 'https://h/v1', api: anthropic, name: small, "
               "key: '${KEY}', timeout: 2s, maxTokens: 5, budget: 7 } }\n"
               "tools: { shop__buy: { correction: { auto: client } }, shop__see: { correction: { unsafe: true } } }\n"
               "routes: { find: { correction: { auto: 'off' }, providers: [ { tool: shop__see } ] } }\n");
  assert_string_equal(l.text.data, "");
  const struct hf_settings *s = l.settings;
  const struct hf_ask_settings *buy = &hf_settings_tool(s, HF_STR("shop"), HF_STR("buy"))->ask;
  const struct hf_ask_settings *see = &hf_settings_tool(s, HF_STR("shop"), HF_STR("see"))->ask;
  assert_int_equal(s->tool_defaults.ask.mode, HF_ASK_MODEL);
  assert_int_equal(buy->mode, HF_ASK_CLIENT);
  assert_int_equal(buy->timeout, HF_SECONDS(3));
  assert_false(buy->unsafe);
  assert_int_equal(see->mode, HF_ASK_MODEL);
  assert_true(see->unsafe);
  assert_int_equal(s->routes[0].tool.ask.mode, HF_ASK_OFF);
  assert_str(s->model.url, "https://h/v1");
  assert_int_equal(s->model.api, HF_MODEL_ANTHROPIC);
  assert_str(s->model.name, "small");
  assert_str(s->model.key, "canary-key");
  assert_int_equal(s->model.timeout, HF_SECONDS(2));
  assert_int_equal(s->model.max_tokens, 5);
  assert_int_equal(s->model.budget, 7);
  unload(&l);
}

static void config_ask__what_cannot_work_is_refused(void **state) {
  (void)state;
  static const char missing[] = "correction.auto: 'model' asks the one of correction.model, whose 'url' is missing\n";
  static const struct {
    const char *yaml;
    const char *expected;
  } rows[] = {
      {SERVERS "correction: { auto: model }", "f:2:1: error: "},
      {SERVERS "tools: { shop__x: { correction: { auto: model } } }", "f:1:1: error: "},
      {SERVERS "routes: { find: { correction: { auto: model }, providers: [ { tool: shop__x } ] } }", "f:1:1: error: "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf expected;
    hf_buf_init(&expected, 1 << 10);
    assert_int_equal(hf_buf_printf(&expected, "%s%s", rows[i].expected, missing), 0);
    assert_int_equal(hf_buf_append(&expected, "", 1), 0);
    assert_problems(rows[i].yaml, expected.data);
    hf_buf_deinit(&expected);
  }
  assert_problems(SERVERS "correction: { model: { url: 'https://h' } }",
                  "f:2:1: error: correction.model: 'name' says which model is asked, and is missing\n");
  assert_problems(SERVERS "correction: { model: { url: 'ftp://canary@h', name: a } }",
                  "f:2:1: error: correction.model: 'url' must begin with http:// or https://\n");
  static const char *const malformed[] = {"https://", "https:///v1", "https://:80/", "https://h h/",
                                          "https://h\\r\\nX: y"};
  for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
    struct hf_buf yaml;
    hf_buf_init(&yaml, 1 << 10);
    assert_int_equal(hf_buf_printf(&yaml, SERVERS "correction: { model: { url: \"%s\", name: a } }", malformed[i]), 0);
    assert_int_equal(hf_buf_append(&yaml, "", 1), 0);
    assert_problems(yaml.data, "f:2:1: error: correction.model: 'url' is malformed\n");
    hf_buf_deinit(&yaml);
  }
  assert_problems(SERVERS "correction: { model: { url: 'https://h', name: a, key: \"canary\\n\" } }",
                  "f:2:1: error: correction.model: 'key' holds a blank or a line break, perhaps at its end\n");
}

static void config_ask__a_key_in_the_clear_is_warned_of(void **state) {
  (void)state;
  static const char *const fine[] = {"https://h", "http://127.0.0.1:11434/v1", "http://localhost/v1",
                                     "http://[::1]:8/"};
  static const char *const open[] = {"http://h", "http://h:8080/v1", "http://10.0.0.7/localhost",
                                     "http://[2001:db8::1]/"};
  struct hf_buf yaml;
  hf_buf_init(&yaml, 1 << 12);
  for (size_t i = 0; i < 2 * 4; i++) {
    hf_buf_reset(&yaml, 1 << 12);
    assert_int_equal(hf_buf_printf(&yaml, SERVERS "correction: { model: { url: '%s', name: a, key: '${KEY}' } }",
                                   i < 4 ? fine[i] : open[i - 4]),
                     0);
    assert_int_equal(hf_buf_append(&yaml, "", 1), 0);
    assert_problems(yaml.data, i < 4 ? ""
                                     : "f:2:1: warning: correction.model: its 'key', and the arguments of calls, go to "
                                       "'url' unencrypted\n");
  }
  hf_buf_deinit(&yaml);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(config_ask__nobody_is_asked_by_default),
      cmocka_unit_test(config_ask__a_tool_and_a_route_say_otherwise),
      cmocka_unit_test(config_ask__what_cannot_work_is_refused),
      cmocka_unit_test(config_ask__a_key_in_the_clear_is_warned_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
