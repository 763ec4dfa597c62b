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

/* For how long a breaker stays open after one failure and `reopened` failed probes, without jitter. */
static hf_time open_time(const char *policy, int reopened) {
  const struct hf_server_settings server = load(policy);
  struct hf_breaker breaker;
  hf_breaker_init(&breaker, &server.policy.breaker);
  assert_true(hf_breaker_record(&breaker, breaker.generation, HF_VERDICT_FAILURE, 0, 0, 0));
  hf_time now = 0;
  for (int i = 0; i < reopened; i++) {
    now = breaker.open_until;
    assert_true(hf_breaker_reopen(&breaker, now, 0));
  }
  return breaker.open_until - now;
}

static void knob__breaker_open(void **state) {
  (void)state;
  assert_int_equal(open_time("breaker: { failures: 1, open: 2s }", 0), HF_SECONDS(2));
  assert_int_equal(open_time("breaker: { failures: 1, open: 7s }", 0), HF_SECONDS(7));
}

static void knob__breaker_max_open(void **state) {
  (void)state;
  assert_int_equal(open_time("breaker: { failures: 1, open: 2s, maxOpen: 5s }", 40), HF_SECONDS(5));
  assert_int_equal(open_time("breaker: { failures: 1, open: 2s, maxOpen: 9s }", 40), HF_SECONDS(9));
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

/* A pause of a policy, for a chance of one half. */
static hf_time pause_of(const char *policy, unsigned retry) {
  const struct hf_server_settings server = load(policy);
  return hf_retry_pause(&server.policy.retry, retry, -1, UINT64_MAX / 2);
}

static void knob__retry_base(void **state) {
  (void)state;
  assert_int_equal(pause_of("retry: { base: 100ms }", 2), HF_MS(100));
  assert_int_equal(pause_of("retry: { base: 300ms }", 2), HF_MS(300));
}

static void knob__retry_max(void **state) {
  (void)state;
  assert_int_equal(pause_of("retry: { base: 1s, max: 2s }", 9), HF_SECONDS(1));
  assert_int_equal(pause_of("retry: { base: 1s, max: 6s }", 9), HF_SECONDS(3));
}

static void knob__retry_jitter(void **state) {
  (void)state;
  assert_int_equal(pause_of("retry: { base: 100ms, jitter: full }", 1), HF_MS(50));
  assert_int_equal(pause_of("retry: { base: 100ms, jitter: none }", 1), HF_MS(100));
}

/* What a provider asks for when its open breaker is due and a call waits for it. */
static enum hf_provider_action_kind asked_when_due(const char *policy) {
  const struct hf_server_settings server = load(policy);
  struct hf_provider *provider = hf_provider_new(&server.provider, 1, 0);
  struct hf_provider_tool *tool;
  struct hf_provider_actions out;
  assert_non_null(provider);
  assert_int_equal(hf_provider_tool_get(provider, HF_STR("t"), &server.policy.breaker, &tool), 0);
  hf_provider_step(provider, &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY}, 0, &out);
  struct hf_waiter waiter = {.tool = tool, .may_wait = true, .until = HF_SECONDS(50)};
  for (int i = 0; i < 5; i++) {
    struct hf_waiter one = {.tool = tool, .until = HF_SECONDS(50)};
    hf_provider_step(provider, &(struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &one}, 0, &out);
    assert_int_equal(out.items[0].kind, HF_PROVIDER_GRANT);
    struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
    event.report.tool = tool;
    event.report.report =
        (struct hf_report){.permit = out.items[0].permit, .blame = HF_BLAME_PROVIDER, .retry_after = -1};
    hf_provider_step(provider, &event, 0, &out);
  }
  hf_provider_step(provider, &(struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &waiter}, 0, &out);
  assert_int_equal(out.len, 0);
  hf_provider_step(provider, &(struct hf_provider_event){.kind = HF_PROVIDER_TIMER}, HF_SECONDS(40), &out);
  assert_int_equal(out.len, 1);
  enum hf_provider_action_kind kind = out.items[0].kind;
  hf_provider_step(provider, &(struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &waiter},
                   HF_SECONDS(40), &out);
  hf_provider_unref(provider);
  return kind;
}

static void knob__probe_timeout(void **state) {
  (void)state;
  assert_int_equal(asked_when_due("probeTimeout: 5s"), HF_PROVIDER_PROBE_UPSTREAM);
  assert_int_equal(asked_when_due("probeTimeout: 0"), HF_PROVIDER_GRANT);
}

/* Do the second and third tool of a server share an entry? */
static bool tools_share(const char *policy) {
  const struct hf_server_settings server = load(policy);
  struct hf_provider *provider = hf_provider_new(&server.provider, 1, 0);
  struct hf_provider_tool *tool[3];
  assert_non_null(provider);
  assert_int_equal(hf_provider_tool_get(provider, HF_STR("a"), &server.policy.breaker, &tool[0]), 0);
  assert_int_equal(hf_provider_tool_get(provider, HF_STR("b"), &server.policy.breaker, &tool[1]), 0);
  assert_int_equal(hf_provider_tool_get(provider, HF_STR("c"), &server.policy.breaker, &tool[2]), 0);
  hf_provider_unref(provider);
  return tool[1] == tool[2];
}

static void knob__max_tools(void **state) {
  (void)state;
  assert_true(tools_share("maxTools: 1"));
  assert_false(tools_share("maxTools: 3"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knob__breaker_rate),       cmocka_unit_test(knob__breaker_min_calls),
      cmocka_unit_test(knob__breaker_window),     cmocka_unit_test(knob__retry_budget_per_second),
      cmocka_unit_test(knob__retry_budget_share), cmocka_unit_test(knob__retry_jitter),
      cmocka_unit_test(knob__retry_base),         cmocka_unit_test(knob__retry_max),
      cmocka_unit_test(knob__breaker_open),       cmocka_unit_test(knob__breaker_max_open),
      cmocka_unit_test(knob__probe_timeout),      cmocka_unit_test(knob__max_tools),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
