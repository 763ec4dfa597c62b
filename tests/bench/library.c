/* What a decision costs a program that embeds the library, through its public functions alone: nanoseconds and
 * allocations. Fails on an allocation, and beyond the bounds that the library promises. */
#include "holdfast/api.h"
#include "holdfast/breaker.h"
#include "holdfast/call.h"
#include "holdfast/provider.h"
#include "holdfast/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 50000, REPEATS = 100, BREAKER_NS = 50, CALL_NS = 250 };

/* The library's own allocations come by here too. */
static unsigned long allocations;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);

HF_API void *malloc(size_t size) {
  allocations++;
  return __libc_malloc(size);
}

HF_API void *calloc(size_t count, size_t size) {
  allocations++;
  return __libc_calloc(count, size);
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(bool good) {
  if (good)
    return;
  fprintf(stderr, "bench_library: the library did not do what is measured\n");
  exit(EXIT_FAILURE);
}

/* Leave to go, and the record of a result. */
static void breaker_rounds(struct hf_breaker *breaker) {
  for (int i = 0; i < ROUNDS; i++) {
    hf_time now = HF_US(i) * 50;
    uint32_t generation;
    must(hf_breaker_acquire(breaker, now, now + HF_SECONDS(1), &generation));
    hf_breaker_record(breaker, generation, i % 7 ? HF_VERDICT_SUCCESS : HF_VERDICT_FAILURE, 0, now, 0);
  }
}

struct desk {
  struct hf_provider *provider;
  struct hf_provider_tool *tool;
  struct hf_call *call;
};

/* A whole call that succeeds at once: started, permit, sent, answered, reported, finished. */
static void one_call(const struct desk *desk, hf_time now) {
  struct hf_call_actions actions;
  struct hf_provider_actions grants;
  struct hf_call_event event = {.kind = HF_CALL_STARTED};
  must(hf_call_step(desk->call, &event, now, &actions) == 0);
  struct hf_provider_event acquire = {.kind = HF_PROVIDER_ACQUIRE, .waiter = hf_call_waiter(desk->call, desk->tool)};
  must(hf_provider_step(desk->provider, &acquire, now, &grants) == 0);
  event = (struct hf_call_event){.kind = HF_CALL_PERMIT_GRANTED, .granted.permit = grants.items[0].permit};
  must(hf_call_step(desk->call, &event, now, &actions) == 0);
  event = (struct hf_call_event){.kind = HF_CALL_ATTEMPT_SENT, .sent = {.bytes = 100, .complete = true}};
  must(hf_call_step(desk->call, &event, now, &actions) == 0);
  event = (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .done.result = HF_ATTEMPT_SUCCESS};
  must(hf_call_step(desk->call, &event, now + HF_MS(1), &actions) == 0);
  struct hf_provider_event report = {.kind = HF_PROVIDER_REPORT};
  report.report.tool = desk->tool;
  report.report.report = actions.items[0].report;
  must(hf_provider_step(desk->provider, &report, now + HF_MS(1), &grants) == 0);
  must(actions.items[1].kind == HF_CALL_FINISH && actions.items[1].outcome.end == HF_CALL_END_ANSWERED);
}

static void call_rounds(struct desk *desk) {
  static const struct hf_call_target target = {.safety = HF_SAFETY_READ_ONLY};
  struct hf_call_options options = {
      .timeout = HF_TIMEOUT_OPTIONS_INIT, .retry = HF_RETRY_OPTIONS_INIT, .targets = &target, .target_count = 1};
  for (int i = 0; i < ROUNDS; i++) {
    options.seed = (uint64_t)i;
    must(hf_call_reset(desk->call, &options) == 0);
    one_call(desk, HF_US(i) * 50);
  }
}

static void open_desk(struct desk *desk, const struct hf_provider_options *options) {
  static const struct hf_call_target target = {.safety = HF_SAFETY_READ_ONLY};
  struct hf_call_options of_call = {.targets = &target, .target_count = 1};
  struct hf_provider_actions ignored;
  struct hf_provider_event ready = {.kind = HF_PROVIDER_UPSTREAM_READY};
  desk->provider = hf_provider_new(options, 1, 0);
  must(desk->provider && hf_provider_tool_named(desk->provider, "tool", &options->breaker, &desk->tool) == 0);
  must(hf_provider_step(desk->provider, &ready, 0, &ignored) == 0);
  must(hf_call_new(&of_call, NULL, &desk->call) == 0);
}

static double least(double a, double b) {
  return a < b ? a : b;
}

int main(void) {
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  struct hf_breaker *breaker = hf_breaker_new(&options.breaker);
  struct desk desk;
  must(breaker != NULL);
  open_desk(&desk, &options);

  /* The best of several: what disturbs a short measurement only ever makes it longer. */
  double breaker_ns = 1e9, call_ns = 1e9;
  unsigned long before = allocations;
  must(before > 0);
  for (int i = 0; i < REPEATS; i++) {
    double start = now_ns();
    breaker_rounds(breaker);
    double middle = now_ns();
    call_rounds(&desk);
    breaker_ns = least(breaker_ns, (middle - start) / ROUNDS);
    call_ns = least(call_ns, (now_ns() - middle) / ROUNDS);
  }
  unsigned long made = allocations - before;

  printf("breaker: acquire and record     %7.1f ns (at most %d)\n", breaker_ns, BREAKER_NS);
  printf("call: all decisions of one      %7.1f ns (at most %d)\n", call_ns, CALL_NS);
  printf("allocations in %d calls    %7lu\n", ROUNDS * REPEATS, made);
  printf("{\"library_breaker_ns\": %.1f, \"library_call_ns\": %.1f, \"library_allocations\": %lu}\n", breaker_ns,
         call_ns, made);
  hf_call_free(desk.call);
  hf_provider_unref(desk.provider);
  hf_breaker_free(breaker);
  return made == 0 && breaker_ns <= BREAKER_NS && call_ns <= CALL_NS ? EXIT_SUCCESS : EXIT_FAILURE;
}
