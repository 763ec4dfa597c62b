#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/config.h"
#include "daemon/option_text.h"
#include "daemon/options.h"
#include "daemon/quantity.h"
#include "json/value.h"

#include <stdio.h>
#include <string.h>

static void duration__reads_and_prints(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int r;
    hf_time value;
    const char *printed;
  } cases[] = {
      {"500ms", 0, 500000, "500ms"},
      {"2s", 0, 2000000, "2s"},
      {"5m", 0, 300000000, "5m"},
      {"1h", 0, 3600000000, "1h"},
      {"1.5s", 0, 1500000, "1500ms"},
      {"90s", 0, 90000000, "90s"},
      {"0", 0, 0, "0s"},
      {"7us", 0, 7, "7us"},
      {"2d", 0, 172800000000, "48h"},
      {"never", 0, HF_TIME_NEVER, "never"},
      {"5", HF_ERR_SYNTAX, 0, NULL},
      {"", HF_ERR_SYNTAX, 0, NULL},
      {"-1s", HF_ERR_SYNTAX, 0, NULL},
      {"1 s", HF_ERR_SYNTAX, 0, NULL},
      {"1.s", HF_ERR_SYNTAX, 0, NULL},
      {"9999999999999999999s", HF_ERR_LIMIT, 0, NULL},
      {"18446744073709d", HF_ERR_LIMIT, 0, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hf_time value = -1;
    char text[HF_QUANTITY_TEXT_MAX];
    assert_int_equal(hf_duration_parse(hf_str_from(cases[i].text), &value), cases[i].r);
    if (cases[i].r == 0) {
      assert_int_equal(value, cases[i].value);
      assert_string_equal(hf_duration_print(value, text), cases[i].printed);
    }
  }
}

static void size__reads_units(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int r;
    uint64_t value;
  } cases[] = {
      {"16MiB", 0, 16777216},    {"64KiB", 0, 65536},     {"1000", 0, 1000},
      {"1kB", 0, 1000},          {"10B", 0, 10},          {"0", 0, 0},
      {"1Mb", HF_ERR_SYNTAX, 0}, {"x", HF_ERR_SYNTAX, 0}, {"99999999999GiB", HF_ERR_LIMIT, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t value = 0;
    assert_int_equal(hf_size_parse(hf_str_from(cases[i].text), &value), cases[i].r);
    assert_int_equal(value, cases[i].value);
  }
}

static void nearest__finds_slips_and_no_more(void **state) {
  (void)state;
  static const char *const keys[] = {"retry", "timeout", "breaker", "connect", "url", NULL};
  assert_string_equal(hf_nearest(HF_STR("retires"), keys), "retry");
  assert_string_equal(hf_nearest(HF_STR("tiemout"), keys), "timeout");
  assert_string_equal(hf_nearest(HF_STR("Connect"), keys), "connect");
  assert_null(hf_nearest(HF_STR("zzz"), keys));
  assert_null(hf_nearest(HF_STR(""), keys));
  assert_null(hf_nearest(HF_STR("xyl"), keys));
}

static void options__every_default_is_within_its_bounds_and_parses(void **state) {
  (void)state;
  for (int profile = 0; profile < HF_PROFILE_COUNT; profile++) {
    struct hf_settings *settings = hf_settings_new();
    struct hf_server_settings server = {0};
    struct hf_policy policy = {0};
    struct hf_provider_options provider = {0};
    struct hf_tool_settings tool = {0};
    struct hf_route_settings route = {0};
    struct hf_route_provider target = {0};
    const struct hf_targets targets = {settings, &server, &policy, &provider, &tool, &tool, &route, &target};
    assert_int_equal(hf_options_defaults(&settings->arena, (enum hf_profile)profile, &targets), 0);
    hf_settings_free(settings);
  }
}

/* The kernel has defaults of its own, for programs that embed it; the table must not drift from them. */
static void options__the_standard_profile_differs_from_the_kernels_defaults_in_patience_only(void **state) {
  (void)state;
  struct hf_arena arena;
  hf_arena_init(&arena, 1 << 16);
  struct hf_policy policy = {0};
  struct hf_provider_options provider = {0};
  const struct hf_targets targets = {.policy = &policy, .provider = &provider};
  assert_int_equal(hf_options_defaults(&arena, HF_PROFILE_STANDARD, &targets), 0);
  const struct hf_timeout_options timeout = HF_TIMEOUT_OPTIONS_INIT;
  const struct hf_retry_options retry = HF_RETRY_OPTIONS_INIT;
  const struct hf_breaker_options breaker = HF_BREAKER_OPTIONS_INIT;
  const struct hf_provider_options expected = HF_PROVIDER_OPTIONS_INIT;
  assert_int_equal(policy.timeout.connect, timeout.connect);
  assert_int_equal(policy.timeout.idle, timeout.idle);
  assert_int_equal(policy.timeout.deadline, timeout.deadline);
  assert_int_equal(policy.timeout.task, timeout.task);
  assert_int_equal(policy.retry.base, retry.base);
  assert_int_equal(policy.retry.jitter, retry.jitter);
  assert_int_equal(policy.breaker.failures, breaker.failures);
  assert_int_equal(policy.breaker.rate_percent, breaker.rate_percent);
  assert_int_equal(policy.breaker.min_calls, breaker.min_calls);
  assert_int_equal(policy.breaker.window, breaker.window);
  assert_int_equal(policy.breaker.max_open, breaker.max_open);
  assert_int_equal(policy.breaker.slow, breaker.slow);
  assert_memory_equal(&provider.budget, &expected.budget, sizeof expected.budget);
  assert_int_equal(provider.max_concurrent, expected.max_concurrent);
  assert_int_equal(provider.max_wait, expected.max_wait);
  assert_int_equal(provider.max_queued, expected.max_queued);
  assert_int_equal(provider.adaptive, expected.adaptive);
  assert_int_equal(provider.max_tools, expected.max_tools);
  assert_int_equal(provider.probe_timeout, expected.probe_timeout);
  hf_arena_deinit(&arena);
}

/* What `holdfast config --defaults` prints must load, and mean the defaults. */
static void options__the_printed_defaults_load(void **state) {
  (void)state;
  struct hf_buf text;
  hf_buf_init(&text, 1 << 16);
  assert_int_equal(hf_option_text_defaults(&text), 0);
  assert_int_equal(hf_buf_append_str(&text, HF_STR("")), 0);
  char *hole = memmem(text.data, text.len, "# command: …", strlen("# command: …"));
  assert_non_null(hole);
  memcpy(hole, "command: xyz  ", strlen("# command: …"));

  static struct hf_problems problems;
  hf_problems_init(&problems);
  struct hf_settings *settings = NULL;
  struct hf_error error = {0};
  const struct hf_config_options options = {.listens = true};
  int r = hf_config_parse(hf_buf_str(&text), &options, &problems, &settings, &error);
  if (problems.count)
    print_error("%d: %s\n", problems.item[0].place.line, problems.item[0].text);
  assert_int_equal(r, 0);
  assert_int_equal(problems.count, 0);
  assert_int_equal(settings->listen_port, 8080);
  assert_int_equal(settings->limits.drain, HF_SECONDS(30));
  assert_int_equal(settings->servers[0].policy.timeout.deadline, HF_SECONDS(55));
  hf_settings_free(settings);
  hf_buf_deinit(&text);
}

static void options__the_schema_is_json_and_names_every_option(void **state) {
  (void)state;
  struct hf_buf text;
  hf_buf_init(&text, 1 << 17);
  assert_int_equal(hf_option_text_schema(&text), 0);
  const struct hf_json_options json = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &json);
  assert_int_equal(hf_json_scan_feed(&scan, text.data, text.len, true), 0);
  hf_json_scan_deinit(&scan);

  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  assert_non_null(strstr(text.data, "},\"model\":{\"type\":\"object\",\"additionalProperties\":false,"
                                    "\"properties\":{\"url\":{"));
  size_t count;
  const struct hf_option *options = hf_options(&count);
  for (size_t i = 0; i < count; i++) {
    char key[64];
    const char *dot = strrchr(options[i].path, '.');
    snprintf(key, sizeof key, "\"%s\":{", dot ? dot + 1 : options[i].path);
    assert_non_null(strstr(text.data, key));
    assert_non_null(strstr(text.data, options[i].help));
  }
  hf_buf_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(duration__reads_and_prints),
      cmocka_unit_test(size__reads_units),
      cmocka_unit_test(nearest__finds_slips_and_no_more),
      cmocka_unit_test(options__every_default_is_within_its_bounds_and_parses),
      cmocka_unit_test(options__the_standard_profile_differs_from_the_kernels_defaults_in_patience_only),
      cmocka_unit_test(options__the_printed_defaults_load),
      cmocka_unit_test(options__the_schema_is_json_and_names_every_option),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
