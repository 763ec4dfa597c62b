#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/args.h"
#include "cli/check_report.h"
#include "cli/query_text.h"
#include "cli/terminal.h"
#include "daemon/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int parse(const char *command, const char **argv, struct hf_args *args, struct hf_error *error) {
  const struct hf_command *found = hf_command_find(command, error);
  assert_non_null(found);
  return hf_args_parse(found, (char **)(uintptr_t)argv, args, error);
}

static void args__options_and_operands_mix(void **state) {
  (void)state;
  struct hf_args args;
  struct hf_error error;
  const char *argv[] = {"--json", "f.yaml", "--config=g.yaml", NULL};
  assert_int_equal(parse("check", argv, &args, &error), 0);
  assert_int_equal(args.flags, HF_FLAG_JSON | HF_FLAG_CONFIG);
  assert_string_equal(args.config, "g.yaml");
  assert_int_equal(args.rest_count, 1);
  assert_string_equal(args.rest[0], "f.yaml");
  assert_null(args.rest[1]);

  const char *letters[] = {"-c", "x", "--", "-j", NULL};
  assert_int_equal(parse("check", letters, &args, &error), 0);
  assert_string_equal(args.config, "x");
  assert_string_equal(args.rest[0], "-j");
}

/* A number may follow, or stand behind "="; anything else is something else. */
static void args__a_value_may_be_left_out_where_it_says_so(void **state) {
  (void)state;
  static const struct {
    const char *argv[4];
    const char *watch;
  } cases[] = {
      {{"--watch"}, ""},    {{"--watch", "5"}, "5"},     {{"-w", "0.5", "--json"}, "0.5"},
      {{"--watch=7"}, "7"}, {{"--watch", "--json"}, ""}, {{"--json"}, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_args args;
    struct hf_error error = {0};
    const char *argv[4];
    memcpy(argv, cases[i].argv, sizeof argv);
    assert_int_equal(parse("status", argv, &args, &error), 0);
    if (cases[i].watch)
      assert_string_equal(args.watch, cases[i].watch);
    else
      assert_null(args.watch);
  }
}

static void args__mistakes_are_told(void **state) {
  (void)state;
  static const struct {
    const char *command;
    const char *argv[4];
    const char *text;
  } cases[] = {
      {"check", {"--jsn"}, "check: unknown option '--jsn'; did you mean '--json'?"},
      {"check", {"--listen", "x"}, "check: unknown option '--listen'"},
      {"check", {"--config"}, "check: '--config' needs a value: FILE"},
      {"check", {"--json=1"}, "check: '--json' takes no value"},
      {"check", {"a", "b"}, "check: unexpected argument 'b'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_args args;
    struct hf_error error = {0};
    const char *argv[4];
    memcpy(argv, cases[i].argv, sizeof argv);
    assert_int_equal(parse(cases[i].command, argv, &args, &error), HF_ERR_INVALID);
    assert_string_equal(error.text, cases[i].text);
  }
}

static void args__an_unknown_command_has_a_suggestion(void **state) {
  (void)state;
  struct hf_error error = {0};
  assert_null(hf_command_find("confg", &error));
  assert_string_equal(error.text, "unknown command 'confg'; did you mean 'config'?");
  assert_null(hf_command_find("zzzzzz", &error));
  assert_string_equal(error.text, "unknown command 'zzzzzz'; `holdfast help` lists them");
}

/* The canaries stand wherever a configuration may hold a secret. */
static void check__shows_no_secret(void **state) {
  (void)state;
  static const char yaml[] =
      "mcpServers:\n"
      "  web: { url: 'https://user:canary@host.example:8443/canary/mcp?key=canary#canary', proxy: 'http://canary@p',\n"
      "         headers: { Authorization: 'Bearer canary' } }\n"
      "  child: { command: /bin/true, args: ['--token=canary'], env: { TOKEN: canary } }\n"
      "correction: { auto: model, model: { url: 'https://model.example/canary', name: small, key: canary } }\n"
      "tools:\n"
      "  web__*: { safety: read_only, correction: { auto: client } }\n"
      "  child__x: { hidden: true }\n"
      "  child__y: { expect: { pointer: /n, equals: canary }, hints: { a: canary, b: canary } }\n";
  static struct hf_problems problems;
  hf_problems_init(&problems);
  struct hf_settings *settings = NULL;
  struct hf_error error = {0};
  const struct hf_config_options options = {.listens = true};
  assert_int_equal(hf_config_parse(hf_str_from(yaml), &options, &problems, &settings, &error), 0);

  struct hf_buf text;
  hf_buf_init(&text, 1 << 16);
  assert_int_equal(hf_check_text("f", settings, &problems, &text), 0);
  assert_int_equal(hf_check_json("f", settings, &problems, NULL, &text), 0);
  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  assert_null(strstr(text.data, "canary"));
  assert_non_null(strstr(text.data, "web: https://host.example:8443, 1 header;"));
  assert_non_null(strstr(text.data, "child: /bin/true with 1 argument, 1 variable;"));
  assert_non_null(strstr(text.data, "\"origin\":\"https://host.example:8443\""));
  assert_non_null(strstr(text.data, "web__* at web: read_only, because the configuration says so"));
  assert_non_null(strstr(text.data, "don't fit: the caller's own model is asked for better ones\n"));
  assert_non_null(
      strstr(text.data, "don't fit: the model 'small' at https://model.example is asked for better ones\n"));
  assert_non_null(strstr(text.data, "child__y at child: as safe as its annotations say\n    a result is held against "
                                    "what is expected at '/n'\n    its errors come with advice (2 hints)\n"));
  hf_buf_deinit(&text);
  hf_settings_free(settings);
}

static void check__tells_a_missing_working_directory(void **state) {
  (void)state;
  static const struct {
    const char *cwd, *text;
  } cases[] = {
      {"/nonexistent dir", "warning: the working directory '/nonexistent dir' does not exist\n"},
      {"/dev/null", "warning: the working directory '/dev/null' is no directory\n"},
  };
  for (size_t i = 0; i < 2; i++) {
    struct hf_server_settings server = {.name = HF_STR("a"), .command = HF_STR("x"), .cwd = hf_str_from(cases[i].cwd)};
    struct hf_settings settings = {.servers = &server, .server_count = 1};
    static struct hf_problems problems;
    struct hf_buf text;
    hf_buf_init(&text, 1 << 16);
    hf_problems_init(&problems);
    assert_int_equal(hf_check_text("f", &settings, &problems, &text), 0);
    assert_int_equal(hf_buf_append(&text, "", 1), 0);
    assert_non_null(strstr(text.data, cases[i].text));
    hf_buf_deinit(&text);
  }
}

static void check__tells_a_command_that_is_in_no_folder_of_path(void **state) {
  (void)state;
  struct hf_str elsewhere = HF_STR("PATH=/nonexistent:/dev");
  const struct {
    struct hf_str command;
    struct hf_strings env;
    bool warned;
  } cases[] = {
      {HF_STR("sh"), {NULL, 0}, false},
      {HF_STR("sh"), {&elsewhere, 1}, true},
      {HF_STR("no-such-command-of-this-test"), {NULL, 0}, true},
      {HF_STR("null"), {&elsewhere, 1}, true}, /* there, but nothing that can be run */
      {HF_STR("./sh"), {NULL, 0}, false},      /* not looked for in PATH */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_server_settings server = {.name = HF_STR("a"), .command = cases[i].command, .env = cases[i].env};
    struct hf_settings settings = {.servers = &server, .server_count = 1};
    static struct hf_problems problems;
    struct hf_buf text;
    hf_buf_init(&text, 1 << 16);
    hf_problems_init(&problems);
    assert_int_equal(hf_check_text("f", &settings, &problems, &text), 0);
    assert_int_equal(hf_buf_append(&text, "", 1), 0);
    if ((strstr(text.data, "is in no folder of PATH") != NULL) != cases[i].warned)
      fail_msg("row %zu", i);
    hf_buf_deinit(&text);
  }
}

/* What is printed from here on goes into a file that is read again. */
struct capture {
  FILE *file;
  int standard;
};

static void capture_begin(struct capture *c) {
  c->file = tmpfile();
  assert_non_null(c->file);
  (void)fflush(stdout);
  c->standard = dup(STDOUT_FILENO);
  assert_true(c->standard >= 0 && dup2(fileno(c->file), STDOUT_FILENO) >= 0);
}

/* Fails if a line has more than 80 columns; returns how many lines there are. */
static unsigned capture_end(struct capture *c) {
  char line[256];
  unsigned lines = 0;
  (void)fflush(stdout);
  assert_true(dup2(c->standard, STDOUT_FILENO) >= 0);
  assert_int_equal(close(c->standard), 0);
  rewind(c->file);
  for (; fgets(line, sizeof line, c->file); lines++)
    if (hf_terminal_columns((struct hf_str){line, strcspn(line, "\n")}) > 80)
      fail_msg("%s", line);
  assert_int_equal(fclose(c->file), 0);
  return lines;
}

static void assert_help_fits(const struct hf_command *command) {
  struct capture capture;
  capture_begin(&capture);
  hf_command_help(command);
  assert_true(capture_end(&capture) > 3);
}

static void args__help_fits_eighty_columns(void **state) {
  (void)state;
  struct hf_error error;
  assert_help_fits(NULL);
  static const char *const names[] = {"serve",   "stdio",  "wrap",  "check",    "tools",  "call", "status",
                                      "explain", "report", "chaos", "validate", "config", "token"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    assert_help_fits(hf_command_find(names[i], &error));
}

static void args__a_list_of_tools_fits_the_terminal(void **state) {
  (void)state;
  static const char text[] =
      "{\"tools\":[{\"name\":\"a__short\",\"description\":\"Ein Werkzeug für vieles, und länger als eine Zeile von "
      "achtzig Spalten, in die es passen muss\"},{\"name\":\"a__one-whose-name-is-longer-than-its-column\","
      "\"description\":\"Ein Werkzeug für vieles, und länger als eine Zeile von achtzig Spalten\"}]}";
  struct hf_json_scan scan;
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct capture capture;
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, text, sizeof text - 1, true), 0);
  const struct hf_json_doc doc = hf_json_doc(text, &scan);
  assert_int_equal(setenv("COLUMNS", "80", 1), 0);
  capture_begin(&capture);
  const size_t printed = hf_query_print_tools(&doc, 0, false, 0);
  assert_int_equal(capture_end(&capture), 2);
  assert_int_equal(printed, 2);
  assert_int_equal(unsetenv("COLUMNS"), 0);
  hf_json_scan_deinit(&scan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(args__options_and_operands_mix),
      cmocka_unit_test(args__a_value_may_be_left_out_where_it_says_so),
      cmocka_unit_test(args__mistakes_are_told),
      cmocka_unit_test(args__an_unknown_command_has_a_suggestion),
      cmocka_unit_test(args__help_fits_eighty_columns),
      cmocka_unit_test(args__a_list_of_tools_fits_the_terminal),
      cmocka_unit_test(check__shows_no_secret),
      cmocka_unit_test(check__tells_a_missing_working_directory),
      cmocka_unit_test(check__tells_a_command_that_is_in_no_folder_of_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
