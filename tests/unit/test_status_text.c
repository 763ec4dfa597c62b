#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/args.h"
#include "cli/status_text.h"

enum { TEXT_MAX = 16 << 10 };

/* What is printed of a status with this as its servers; `ret_exit` is what it is exited with. */
static const char *print(const char *servers, int *ret_exit) {
  static char text[TEXT_MAX], json[TEXT_MAX];
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  snprintf(json, sizeof json, "{\"version\":\"1\",\"servers\":[%s],\"letters\":{\"dead\":0}}", servers);
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, json, strlen(json), true), 0);
  const struct hf_json_doc doc = hf_json_doc(json, &scan);
  FILE *file = tmpfile();
  assert_non_null(file);
  (void)fflush(stdout);
  const int out = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  *ret_exit = hf_status_print(&doc, 0);
  (void)fflush(stdout);
  dup2(out, STDOUT_FILENO);
  close(out);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  assert_int_equal(fclose(file), 0);
  hf_json_scan_deinit(&scan);
  return text;
}

static void status_text__says_when_an_idle_server_starts(void **state) {
  (void)state;
  int exit_code;
  const char *text =
      print("{\"name\":\"a\",\"phase\":\"idle\"},{\"name\":\"b\",\"disabled\":\"it is off\"}", &exit_code);
  assert_non_null(strstr(text, "\n  a: starts with the next call\n"));
  assert_non_null(strstr(text, "\n  b: it is off\n"));
  assert_int_equal(exit_code, HF_EXIT_GOOD);
}

static void status_text__says_of_a_server_that_nobody_looks_after_when_it_was_heard_of(void **state) {
  (void)state;
  int exit_code;
  const char *text = print("{\"name\":\"a\",\"phase\":\"ready\",\"heardMs\":35000},"
                           "{\"name\":\"b\",\"phase\":\"ready\",\"heardMs\":9000},{\"name\":\"c\",\"phase\":\"ready\"}",
                           &exit_code);
  assert_non_null(strstr(text, "\n  a: last heard of 35 s ago, and nobody looks between calls (`keepalive` would)\n"));
  assert_null(strstr(text, "\n  b: "));
  assert_null(strstr(text, "\n  c: "));
}

static void status_text__fails_for_a_server_that_should_work_and_says_why(void **state) {
  (void)state;
  int exit_code;
  const char *text = print("{\"name\":\"a\",\"phase\":\"down\",\"reason\":\"exited with code 1\"}", &exit_code);
  assert_non_null(strstr(text, "\n  a: exited with code 1\n"));
  assert_int_equal(exit_code, HF_EXIT_FAILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(status_text__says_when_an_idle_server_starts),
      cmocka_unit_test(status_text__says_of_a_server_that_nobody_looks_after_when_it_was_heard_of),
      cmocka_unit_test(status_text__fails_for_a_server_that_should_work_and_says_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
