#include "upstream/child_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* What the log has after `lines` on standard error and `noise` on standard output; the next call overwrites it. */
struct heard {
  char log[16384];
  char tail[400];
};

static const struct heard *hear(const char *env, const char *bytes, const char *noise) {
  static struct heard heard;
  struct hf_arena arena;
  struct hf_secrets secrets;
  struct hf_child_log child_log;
  struct hf_str pair = hf_str_from(env);
  FILE *file = tmpfile();
  assert_non_null(file);
  struct hf_log *log = hf_log_new(fileno(file), HF_LOG_DEBUG, HF_LOG_HUMAN);
  hf_arena_init(&arena, 1 << 16);
  assert_int_equal(hf_secrets_init(&secrets, &arena, &(struct hf_strings){&pair, 1}), 0);
  hf_child_log_init(&child_log, log, HF_STR("s"), &secrets);
  for (const char *p = bytes; *p; p++) /* byte by byte: a secret may come in pieces */
    hf_child_log_stderr(&child_log, (struct hf_str){p, 1}, 0);
  if (noise)
    hf_child_log_noise(&child_log, hf_str_from(noise), 0);
  hf_child_log_tail(&child_log, heard.tail, sizeof heard.tail);
  rewind(file);
  heard.log[fread(heard.log, 1, sizeof heard.log - 1, file)] = '\0';
  hf_log_free(log);
  hf_arena_deinit(&arena);
  fclose(file);
  return &heard;
}

static void child_log__hides_the_secrets_that_the_child_was_given(void **state) {
  (void)state;
  const struct heard *heard = hear("TOKEN=canary-1", "using canary-1 and canary-1!\nlast canary-1", "out canary-1 x");
  assert_non_null(strstr(heard->log, "text=\"using *** and ***!\""));
  assert_non_null(strstr(heard->log, "text=\"out *** x\""));
  assert_null(strstr(heard->log, "canary"));
  assert_string_equal(heard->tail, "using *** and ***! | last ***");
}

static void child_log__hides_each_line_of_a_secret(void **state) {
  (void)state;
  const struct heard *heard = hear("KEY=-----BEGIN\ncanary-a\ncanary-b\n", "x canary-b\ncanary-a y\n", NULL);
  assert_string_equal(heard->tail, "x *** | *** y");
}

static void child_log__leaves_short_values_alone(void **state) {
  (void)state;
  assert_string_equal(hear("DEBUG=1", "attempt 1\n", NULL)->tail, "attempt 1");
  assert_string_equal(hear("MODE=prod1", "in prod1\n", NULL)->tail, "in prod1");
  assert_string_equal(hear("MODE=prod-1", "in prod-1\n", NULL)->tail, "in ***");
}

static void child_log__a_line_that_is_cut_shows_no_part_of_a_secret(void **state) {
  (void)state;
  char line[700];
  memset(line, 'x', sizeof line);
  memcpy(line + HF_CHILD_LOG_LINE_MAX - 8, "canary-secret\n", 15);
  const struct heard *heard = hear("TOKEN=canary-secret", line, NULL);
  assert_null(strstr(heard->log, "canary"));
  assert_null(strstr(heard->tail, "canary"));
}

static void child_log__writes_no_more_than_its_rate(void **state) {
  (void)state;
  char lines[401];
  for (size_t i = 0; i < 200; i++)
    memcpy(lines + 2 * i, "l\n", 3);
  const struct heard *heard = hear("A=b", lines, NULL);
  int count = 0;
  for (const char *p = heard->log; (p = strchr(p, '\n')); p++)
    count++;
  assert_int_equal(count, 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(child_log__hides_the_secrets_that_the_child_was_given),
      cmocka_unit_test(child_log__hides_each_line_of_a_secret),
      cmocka_unit_test(child_log__leaves_short_values_alone),
      cmocka_unit_test(child_log__a_line_that_is_cut_shows_no_part_of_a_secret),
      cmocka_unit_test(child_log__writes_no_more_than_its_rate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
