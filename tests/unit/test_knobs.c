#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/config.h"
#include "policy/breaker.h"
#include "policy/budget.h"
#include "policy/retry.h"

#include <stdio.h>

/* Each knob is turned in a configuration, and the policy kernel must do something else. */
static struct hf_server_settings load(const char *policy) {
  static struct hf_problems problems;
  char yaml[512];
  struct hf_settings *settings = NULL;
  struct hf_error error = {0};
  const struct hf_config_options options = {.listens = true};
  hf_problems_init(&problems);
  snprintf(yaml, sizeof yaml, "mcpServers: { a: { command: x } }\npolicies: { default: { %s } }\n", policy);
  assert_int_equal(hf_config_parse(hf_str_from(yaml), &options, &problems, &settings, &error), 0);
  struct hf_server_settings server = settings->servers[0];
  hf_settings_free(settings);
  return server;
}

/* Runs calls of which every `every`th fails, `gap` apart; returns how many there were when the breaker opened. */
static int calls_until_open(const char *policy, int every, hf_time gap) {
  const struct hf_server_settings server = load(policy);
  struct hf_breaker breaker;
  hf_breaker_init(&breaker, &server.policy.breaker);
  for (int i = 1; i <= 100; i++) {
    enum hf_verdict verdict = i % every == 0 ? HF_VERDICT_FAILURE : HF_VERDICT_SUCCESS;
    hf_breaker_record(&breaker, breaker.generation, verdict, 0, i * gap, 0);
    if (breaker.state == HF_BREAKER_OPEN)
      return i;
  }
  return 0;
}

static void knob__breaker_rate(void **state) {
  (void)state;
  assert_int_equal(calls_until_open("breaker: { rate: 50% }", 3, HF_MS(1)), 0);
  assert_int_equal(calls_until_open("breaker: { rate: 30% }", 3, HF_MS(1)), 12);
}

static void knob__breaker_min_calls(void **state) {
  (void)state;
  assert_int_equal(calls_until_open("breaker: { minCalls: 10 }", 2, HF_MS(1)), 10);
  assert_int_equal(calls_until_open("breaker: { minCalls: 20 }", 2, HF_MS(1)), 20);
}

static void knob__breaker_window(void **state) {
  (void)state;
  assert_int_equal(calls_until_open("breaker: { window: 60s }", 2, HF_SECONDS(2)), 10);
  assert_int_equal(calls_until_open("breaker: { window: 6s }", 2, HF_SECONDS(2)), 0);
}

static int repeats(const char *policy, int firsts, hf_time later) {
  const struct hf_server_settings server = load(policy);
  struct hf_budget budget;
  hf_budget_init(&budget, &server.provider.budget, 0);
  while (hf_budget_withdraw(&budget, 0))
    continue;
  for (int i = 0; i < firsts; i++)
    hf_budget_deposit(&budget, 0);
  int count = 0;
  while (hf_budget_withdraw(&budget, later))
    count++;
  return count;
}

static void knob__retry_budget_per_second(void **state) {
  (void)state;
  assert_int_equal(repeats("retryBudget: { perSecond: 2 }", 0, HF_SECONDS(3)), 6);
  assert_int_equal(repeats("retryBudget: { perSecond: 5 }", 0, HF_SECONDS(3)), 15);
}

static void knob__retry_budget_share(void **state) {
  (void)state;
  assert_int_equal(repeats("retryBudget: { share: 20% }", 100, 0), 20);
  assert_int_equal(repeats("retryBudget: { share: 50% }", 100, 0), 50);
}

/* The first pause of a policy, for a chance of one half. */
static hf_time pause_of(const char *policy) {
  const struct hf_server_settings server = load(policy);
  return hf_retry_pause(&server.policy.retry, 1, -1, UINT64_MAX / 2);
}

static void knob__retry_jitter(void **state) {
  (void)state;
  assert_int_equal(pause_of("retry: { base: 100ms, jitter: full }"), HF_MS(50));
  assert_int_equal(pause_of("retry: { base: 100ms, jitter: none }"), HF_MS(100));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knob__breaker_rate),       cmocka_unit_test(knob__breaker_min_calls),
      cmocka_unit_test(knob__breaker_window),     cmocka_unit_test(knob__retry_budget_per_second),
      cmocka_unit_test(knob__retry_budget_share), cmocka_unit_test(knob__retry_jitter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
