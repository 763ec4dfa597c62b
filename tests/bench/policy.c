/* What a decision of the policy kernel costs: nanoseconds and allocations. */
#include "base/alloc.h"
#include "policy/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 2000000 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The answer of a breaker, and the record of a result. */
static double bench_breaker(void) {
  struct hf_breaker_options options = HF_BREAKER_OPTIONS_INIT;
  struct hf_breaker breaker;
  hf_breaker_init(&breaker, &options);
  unsigned long passed = 0;
  double start = now_ns();
  for (int i = 0; i < ROUNDS; i++) {
    hf_time now = HF_US(i) * 50;
    passed += hf_breaker_gate(&breaker, now) == HF_BREAKER_PASS;
    hf_breaker_record(&breaker, breaker.generation, i % 7 ? HF_VERDICT_SUCCESS : HF_VERDICT_FAILURE, 0, now, 0);
  }
  double took = now_ns() - start;
  if (passed != ROUNDS)
    exit(EXIT_FAILURE);
  return took / ROUNDS;
}

static void step_call(struct hf_call *call, struct hf_call_event event, hf_time now, struct hf_call_actions *out) {
  if (hf_call_step(call, &event, now, out) < 0)
    exit(EXIT_FAILURE);
}

/* A whole call that succeeds at once: started, permit, sent, answered, reported, finished. */
static void one_call(struct hf_provider *provider, struct hf_provider_tool *tool, hf_time now) {
  struct hf_call_target target = {.safety = HF_SAFETY_READ_ONLY};
  struct hf_call_options options = {.timeout = HF_TIMEOUT_OPTIONS_INIT,
                                    .retry = HF_RETRY_OPTIONS_INIT,
                                    .targets = &target,
                                    .target_count = 1,
                                    .seed = (uint64_t)now};
  struct hf_call call;
  struct hf_call_actions acts;
  struct hf_provider_actions grants;
  hf_call_init(&call, &options);
  step_call(&call, (struct hf_call_event){.kind = HF_CALL_STARTED}, now, &acts);
  call.waiter.tool = tool;
  hf_provider_step(provider, &(struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &call.waiter}, now,
                   &grants);
  struct hf_call_event granted = {.kind = HF_CALL_PERMIT_GRANTED};
  granted.granted.permit = grants.items[0].permit;
  step_call(&call, granted, now, &acts);
  struct hf_call_event sent = {.kind = HF_CALL_ATTEMPT_SENT, .sent = {.bytes = 100, .complete = true}};
  step_call(&call, sent, now, &acts);
  struct hf_call_event done = {.kind = HF_CALL_ATTEMPT_DONE, .done.result = HF_ATTEMPT_SUCCESS};
  step_call(&call, done, now + HF_MS(1), &acts);
  struct hf_provider_event report = {.kind = HF_PROVIDER_REPORT};
  report.report.tool = tool;
  report.report.report = acts.items[0].report;
  hf_provider_step(provider, &report, now + HF_MS(1), &grants);
  if (acts.items[1].kind != HF_CALL_FINISH || acts.items[1].outcome.end != HF_CALL_END_ANSWERED)
    exit(EXIT_FAILURE);
}

int main(void) {
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  struct hf_provider *provider = hf_provider_new(&options, 1, 0);
  struct hf_provider_tool *tool;
  if (!provider || hf_provider_tool_get(provider, HF_STR("tool"), &options.breaker, &tool) < 0)
    return EXIT_FAILURE;
  struct hf_provider_actions ignored;
  hf_provider_step(provider, &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY}, 0, &ignored);

  unsigned long before = hf_alloc_count();
  double breaker_ns = bench_breaker();
  double start = now_ns();
  for (int i = 0; i < ROUNDS; i++)
    one_call(provider, tool, HF_US(i) * 50);
  double call_ns = (now_ns() - start) / ROUNDS;
  unsigned long allocations = hf_alloc_count() - before;

  printf("breaker: gate and record        %7.1f ns\n", breaker_ns);
  printf("call: all decisions of one      %7.1f ns\n", call_ns);
  printf("allocations in %d calls    %7lu\n", ROUNDS, allocations);
  printf("{\"policy_breaker_ns\": %.1f, \"policy_call_ns\": %.1f, \"policy_allocations\": %lu}\n", breaker_ns, call_ns,
         allocations);
  hf_provider_unref(provider);
  return allocations ? EXIT_FAILURE : EXIT_SUCCESS;
}
