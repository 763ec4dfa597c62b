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

struct place {
  struct hf_provider *provider;
  struct hf_provider_tool *tool;
};

/* Acquires where the call wants to, and steps it with the permit. */
static void grant(struct hf_call *call, const struct hf_call_action *acquire, const struct place *places, hf_time now,
                  struct hf_call_actions *out) {
  const struct place *place = &places[acquire->provider];
  struct hf_provider_actions grants;
  if (acquire->kind != HF_CALL_ACQUIRE)
    exit(EXIT_FAILURE);
  call->waiter.tool = place->tool;
  hf_provider_step(place->provider, &(struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &call->waiter},
                   now, &grants);
  struct hf_call_event granted = {.kind = HF_CALL_PERMIT_GRANTED};
  granted.granted.permit = grants.items[0].permit;
  step_call(call, granted, now, out);
}

static void report(const struct hf_call_action *action, const struct place *places, hf_time now) {
  struct hf_provider_actions ignored;
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = places[action->provider].tool;
  event.report.report = action->report;
  hf_provider_step(places[action->provider].provider, &event, now, &ignored);
}

static void init(struct hf_call *call, const struct hf_call_target *targets, size_t count, hf_time now) {
  struct hf_call_options options = {.timeout = HF_TIMEOUT_OPTIONS_INIT,
                                    .retry = HF_RETRY_OPTIONS_INIT,
                                    .targets = targets,
                                    .target_count = count,
                                    .letters = HF_LETTER_UNSAFE,
                                    .seed = (uint64_t)now};
  options.retry.attempts = 1;
  hf_call_init(call, &options);
}

enum { STEPS_OF_ONE = 6, STEPS_OF_TWO = 11 };

/* A whole call that succeeds at once: started, permit, sent, answered, reported, finished. */
static void one_call(const struct place *places, hf_time now) {
  static const struct hf_call_target target = {.safety = HF_SAFETY_READ_ONLY};
  struct hf_call call;
  struct hf_call_actions acts;
  init(&call, &target, 1, now);
  step_call(&call, (struct hf_call_event){.kind = HF_CALL_STARTED}, now, &acts);
  grant(&call, &acts.items[0], places, now, &acts);
  struct hf_call_event sent = {.kind = HF_CALL_ATTEMPT_SENT, .sent = {.bytes = 100, .complete = true}};
  step_call(&call, sent, now, &acts);
  struct hf_call_event done = {.kind = HF_CALL_ATTEMPT_DONE, .done.result = HF_ATTEMPT_SUCCESS};
  step_call(&call, done, now + HF_MS(1), &acts);
  report(&acts.items[0], places, now + HF_MS(1));
  if (acts.items[1].kind != HF_CALL_FINISH || acts.items[1].outcome.end != HF_CALL_END_ANSWERED)
    exit(EXIT_FAILURE);
}

/* One whose first provider refuses the credentials, and whose second one answers. */
static void chain_call(const struct place *places, hf_time now) {
  static const struct hf_call_target targets[] = {{.safety = HF_SAFETY_UNSAFE},
                                                  {.safety = HF_SAFETY_UNSAFE, .server = 1}};
  struct hf_call call;
  struct hf_call_actions acts;
  init(&call, targets, 2, now);
  step_call(&call, (struct hf_call_event){.kind = HF_CALL_STARTED}, now, &acts);
  grant(&call, &acts.items[0], places, now, &acts);
  struct hf_call_event sent = {.kind = HF_CALL_ATTEMPT_SENT, .sent = {.bytes = 100, .complete = true}};
  step_call(&call, sent, now, &acts);
  struct hf_call_event done = {.kind = HF_CALL_ATTEMPT_DONE, .done.result = HF_ATTEMPT_FAULT};
  done.done.evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  done.done.evidence.http_status = 401;
  step_call(&call, done, now + HF_MS(1), &acts);
  report(&acts.items[0], places, now + HF_MS(1));
  grant(&call, &acts.items[1], places, now + HF_MS(1), &acts);
  sent.attempt = 1;
  step_call(&call, sent, now + HF_MS(1), &acts);
  done = (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .attempt = 1, .done.result = HF_ATTEMPT_SUCCESS};
  step_call(&call, done, now + HF_MS(2), &acts);
  report(&acts.items[0], places, now + HF_MS(2));
  if (acts.items[1].kind != HF_CALL_FINISH || acts.items[1].outcome.provider != 1)
    exit(EXIT_FAILURE);
}

static double bench(void (*call)(const struct place *places, hf_time now), const struct place *places) {
  double start = now_ns();
  for (int i = 0; i < ROUNDS; i++)
    call(places, HF_US(i) * 50);
  return (now_ns() - start) / ROUNDS;
}

static bool open_place(struct place *place) {
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  struct hf_provider_actions ignored;
  place->provider = hf_provider_new(&options, 1, 0);
  if (!place->provider || hf_provider_tool_get(place->provider, HF_STR("tool"), &options.breaker, &place->tool) < 0)
    return false;
  hf_provider_step(place->provider, &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY}, 0, &ignored);
  return true;
}

int main(void) {
  struct place places[2] = {0};
  if (!open_place(&places[0]) || !open_place(&places[1]))
    return EXIT_FAILURE;

  unsigned long before = hf_alloc_count();
  double breaker_ns = bench_breaker();
  double call_ns = bench(one_call, places);
  double chain_ns = bench(chain_call, places);
  unsigned long allocations = hf_alloc_count() - before;

  printf("breaker: gate and record        %7.1f ns\n", breaker_ns);
  printf("call: all decisions of one      %7.1f ns, %7.1f ns each\n", call_ns, call_ns / STEPS_OF_ONE);
  printf("chain: of one with two targets  %7.1f ns, %7.1f ns each\n", chain_ns, chain_ns / STEPS_OF_TWO);
  printf("allocations in %d calls    %7lu\n", 2 * ROUNDS, allocations);
  printf("{\"policy_breaker_ns\": %.1f, \"policy_call_ns\": %.1f, \"policy_chain_ns\": %.1f, "
         "\"policy_decision_ns\": %.1f, \"policy_allocations\": %lu}\n",
         breaker_ns, call_ns, chain_ns, chain_ns / STEPS_OF_TWO, allocations);
  hf_provider_unref(places[0].provider);
  hf_provider_unref(places[1].provider);
  return allocations ? EXIT_FAILURE : EXIT_SUCCESS;
}
