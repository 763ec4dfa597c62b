/* The simulator's command line.
 *
 *   sim --seeds N [--first S] [--calls N]   N worlds, each from its own seed; prints the seeds that break an invariant
 *   sim --seed S [--trace]                  one world, with all it does
 *   sim --golden DIR [--update]             the named scenarios against their traces
 *
 * With --pipeline a world is a whole gateway instead of the policy kernel alone; with --failing its memory fails now
 * and then. */
#include "base/alloc.h"
#include "gateway.h"
#include "kernel.h"
#include "scenario.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

struct totals {
  unsigned long calls;
  unsigned long attempts;
  unsigned long violations;
  unsigned long faults[HF_FAULT_COUNT];
};

static unsigned between(struct sim_world *w, unsigned low, unsigned high) {
  return (unsigned)sim_world_between(w, low, high);
}

/* Every world is configured differently, also with settings that nobody would choose. */
static void configure(struct sim_kernel *k, struct sim_world *w) {
  k->provider_options = (struct hf_provider_options)HF_PROVIDER_OPTIONS_INIT;
  k->tool_breaker = (struct hf_breaker_options)HF_BREAKER_OPTIONS_INIT;
  k->call_options.timeout = (struct hf_timeout_options)HF_TIMEOUT_OPTIONS_INIT;
  k->call_options.retry = (struct hf_retry_options)HF_RETRY_OPTIONS_INIT;
  k->call_options.retry.attempts = between(w, 1, 6);
  if (sim_world_chance(w, 50))
    k->provider_options.max_concurrent = between(w, 1, 8);
  if (sim_world_chance(w, 30))
    k->provider_options.max_queued = between(w, 0, 20);
  if (sim_world_chance(w, 50))
    k->provider_options.budget = (struct hf_budget_options){between(w, 0, 20), between(w, 0, 1), between(w, 0, 50)};
  if (sim_world_chance(w, 30))
    k->provider_options.probe_timeout = 0;
  if (sim_world_chance(w, 50))
    k->tool_breaker.failures = k->provider_options.breaker.failures = between(w, 1, 5);
  if (sim_world_chance(w, 20))
    k->call_options.timeout.deadline = HF_MS(between(w, 1, 20000));
  if (sim_world_chance(w, 20))
    k->call_options.hints.deadline = HF_MS(between(w, 1, 30000));
}

static void plan_calls(struct sim_kernel *k, struct sim_world *w) {
  hf_time at = 0;
  hf_time gap = HF_MS(between(w, 1, 3000));
  for (unsigned i = 0; i < w->call_count; i++) {
    at += sim_world_between(w, 0, gap);
    if (sim_world_chance(w, 1))
      at += HF_SECONDS(between(w, 1, 7200)); /* idle time */
    hf_time cancel_at = HF_TIME_NEVER;
    if (sim_world_chance(w, 5))
      cancel_at = at + 1 + sim_world_between(w, 0, HF_SECONDS(sim_world_chance(w, 50) ? 1 : 60));
    unsigned provider = (unsigned)hf_random_below(&w->random, w->upstream_count);
    unsigned tool = between(w, 0, SIM_TOOLS_MAX - 1);
    sim_kernel_call(k, i, at, cancel_at, provider, tool, (enum hf_safety)tool);
  }
}

static void run_seed(uint64_t seed, unsigned calls, FILE *trace, struct totals *totals) {
  struct sim_world world;
  struct sim_check check = {.seed = seed};
  struct sim_kernel kernel = {.world = &world, .check = &check, .trace = trace};
  if (sim_world_init(&world, seed, 1 + seed % SIM_UPSTREAMS_MAX, calls) < 0)
    abort();
  configure(&kernel, &world);
  if (sim_kernel_init(&kernel) < 0)
    abort();
  plan_calls(&kernel, &world);
  while (sim_world_turn(&world)) {
  }
  sim_kernel_check_end(&kernel);
  totals->calls += kernel.finished;
  totals->attempts += kernel.attempts;
  totals->violations += check.violations;
  for (int i = 0; i < HF_FAULT_COUNT; i++)
    totals->faults[i] += kernel.faults[i];
  sim_kernel_deinit(&kernel);
  sim_world_deinit(&world);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_seeds(uint64_t first, unsigned long count, unsigned calls) {
  struct totals totals = {0};
  double start = seconds();
  for (unsigned long i = 0; i < count; i++)
    run_seed(first + i, calls, NULL, &totals);
  double took = seconds() - start;
  printf("# %lu seeds, %lu calls, %lu attempts, %.2f s, %.0f calls/s\n", count, totals.calls, totals.attempts, took,
         (double)totals.calls / took);
  printf("#");
  for (int i = 0; i < HF_FAULT_COUNT; i++)
    printf(" %s=%lu", hf_fault_name((enum hf_fault)i), totals.faults[i]);
  printf("\n1..1\n%s 1 - invariants over %lu seeds\n", totals.violations ? "not ok" : "ok", count);
  return totals.violations ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_gateways(uint64_t first, unsigned long count, unsigned calls, bool failing, FILE *trace) {
  struct sim_gateway totals = {0};
  struct sim_check check = {0};
  double start = seconds();
  for (unsigned long i = 0; i < count; i++) {
    check.seed = first + i;
    sim_gateway_run(first + i, calls, failing, trace, &totals, &check);
  }
  double took = seconds() - start;
  printf("# %lu seeds, %u requests, %lu attempts, %.2f s, %.0f calls/s\n", count, totals.asked, totals.attempts, took,
         (double)totals.asked / took);
  printf("# answered=%u succeeded=%lu failed=%lu refused=%lu cancelled=%lu lost=%lu questions=%lu reloads=%lu\n",
         totals.answered, totals.successes, totals.failures, totals.refusals, totals.cancelled, totals.lost,
         totals.questions, totals.reloads);
  printf("1..1\n%s 1 - invariants of the pipeline over %lu seeds\n", check.violations ? "not ok" : "ok", count);
  return check.violations ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  static const struct option options[] = {
      {"seeds", required_argument, NULL, 'n'},  {"seed", required_argument, NULL, 's'},
      {"first", required_argument, NULL, 'f'},  {"calls", required_argument, NULL, 'c'},
      {"golden", required_argument, NULL, 'g'}, {"update", no_argument, NULL, 'u'},
      {"trace", no_argument, NULL, 't'},        {"pipeline", no_argument, NULL, 'p'},
      {"failing", no_argument, NULL, 'x'},      {NULL, 0, NULL, 0}};
  unsigned long count = 100, calls = 500;
  uint64_t first = 1;
  const char *golden = NULL;
  bool update = false, one = false, trace = false, pipeline = false, failing = false;
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (c) {
    case 'n':
      count = strtoul(optarg, NULL, 10);
      break;
    case 's':
      one = true;
      first = strtoull(optarg, NULL, 10);
      break;
    case 'f':
      first = strtoull(optarg, NULL, 10);
      break;
    case 'c':
      calls = strtoul(optarg, NULL, 10);
      break;
    case 'g':
      golden = optarg;
      break;
    case 'u':
      update = true;
      break;
    case 't':
      trace = true;
      break;
    case 'p':
      pipeline = true;
      break;
    case 'x':
      failing = true;
      break;
    default:
      return 2;
    }
  }
  if (golden)
    return sim_scenarios_run(golden, update) ? EXIT_FAILURE : EXIT_SUCCESS;
  if (pipeline)
    return run_gateways(first, one ? 1 : count, (unsigned)calls, failing, trace ? stdout : NULL);
  if (!one)
    return run_seeds(first, count, (unsigned)calls);
  struct totals totals = {0};
  run_seed(first, (unsigned)calls, trace ? stdout : NULL, &totals);
  return totals.violations ? EXIT_FAILURE : EXIT_SUCCESS;
}
