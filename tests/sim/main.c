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
  struct sim_levels levels;
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
  k->call_options.retry.patience = sim_world_chance(w, 50) ? HF_SECONDS(30) : 0;
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
    k->call_options.hints.deadline = HF_MS(between(w, 1, sim_world_chance(w, 50) ? 30000 : 300000));
  if (sim_world_chance(w, 50))
    k->call_options.timeout.task = HF_MS(between(w, 1, 300000));
  k->provider_options.adaptive = sim_world_chance(w, 30);
  if (sim_world_chance(w, 30))
    k->provider_options.max_wait = HF_MS(between(w, 1, 5000));
  if (sim_world_chance(w, 30))
    k->tool_limit = between(w, 1, 3);
  if (sim_world_chance(w, 20))
    k->tool_breaker.slow = HF_MS(between(w, 1, 2000));
  k->priorities = sim_world_chance(w, 30);
}

/* Half of the worlds have calls with several providers, and all that goes with it. */
static bool is_chain(uint64_t seed) {
  return seed % 2 == 0;
}

static void configure_chain(struct sim_kernel *k, struct sim_world *w) {
  struct hf_call_options *o = &k->call_options;
  o->degrades = sim_world_chance(w, 50);
  o->letters = (enum hf_letter_policy)between(w, HF_LETTER_OFF, HF_LETTER_ALL);
  o->hints.stay = sim_world_chance(w, 5);
  if (sim_world_chance(w, 15))
    o->hints.max_attempts = between(w, 1, 8);
  if (sim_world_chance(w, 50))
    o->timeout.attempt = HF_MS(between(w, 50, 10000));
  k->hedge_after = sim_world_chance(w, 70) ? HF_MS(between(w, 1, 1000)) : HF_TIME_NEVER;
  k->queued = sim_world_chance(w, 40);
  if (w->upstream_count > 1 && sim_world_chance(w, 60))
    w->upstreams[1].server = 0;
}

static struct sim_target draw_target(struct sim_world *w, unsigned tool) {
  struct sim_target t = {.tool = tool, .ttl = HF_TIME_NEVER};
  t.target.safety = (enum hf_safety)(sim_world_chance(w, 70) ? tool : between(w, 0, HF_SAFETY_READ_ONLY));
  t.target.stateful = sim_world_chance(w, 10);
  if (t.target.safety == HF_SAFETY_READ_ONLY && sim_world_chance(w, 70)) {
    t.target.harmless = true;
    t.target.hedged = sim_world_chance(w, 60);
  }
  if (t.target.safety == HF_SAFETY_KEYED && sim_world_chance(w, 70))
    t.ttl = sim_world_between(w, 1, HF_SECONDS(sim_world_chance(w, 50) ? 5 : 60));
  if (t.target.safety <= HF_SAFETY_KEYED && sim_world_chance(w, 60)) {
    t.target.check_time = HF_MS(between(w, 1, 10000));
    t.target.settle = sim_world_chance(w, 20) ? HF_TIME_NEVER : sim_world_between(w, 0, HF_SECONDS(20));
  }
  return t;
}

/* Its providers in any order. What a server's tool is, it is at all of that server's endpoints. */
static unsigned draw_route(struct sim_world *w, struct sim_target *route) {
  unsigned tool = between(w, 0, SIM_TOOLS_MAX - 1);
  unsigned len = between(w, 1, (unsigned)w->upstream_count);
  for (unsigned i = 0; i < len; i++) {
    struct sim_target t = draw_target(w, tool);
    t.provider = i == 0 ? between(w, 0, (unsigned)w->upstream_count - 1)
                        : (route[i - 1].provider + 1) % (unsigned)w->upstream_count;
    unsigned server = w->upstreams[t.provider].server;
    for (unsigned j = 0; j < i; j++) {
      if (route[j].target.server == server) {
        unsigned provider = t.provider;
        t = route[j];
        t.provider = provider;
      }
    }
    t.target.server = server;
    route[i] = t;
  }
  return len;
}

static void plan_calls(struct sim_kernel *k, struct sim_world *w, bool chain) {
  hf_time at = 0;
  hf_time gap = HF_MS(between(w, 1, 3000));
  bool outliving = sim_world_chance(w, 30);
  for (unsigned i = 0; i < w->call_count; i++) {
    at += sim_world_between(w, 0, gap);
    if (sim_world_chance(w, 1))
      at += HF_SECONDS(between(w, 1, 7200)); /* idle time */
    hf_time cancel_at = HF_TIME_NEVER;
    if (sim_world_chance(w, 5))
      cancel_at = at + 1 + sim_world_between(w, 0, HF_SECONDS(sim_world_chance(w, 50) ? 1 : 60));
    struct sim_target route[SIM_ROUTE_MAX];
    unsigned len = 1;
    if (chain) {
      len = draw_route(w, route);
    } else {
      unsigned tool = between(w, 0, SIM_TOOLS_MAX - 1);
      route[0] = (struct sim_target){.ttl = HF_TIME_NEVER, .tool = tool, .target.safety = (enum hf_safety)tool};
      route[0].provider = (unsigned)hf_random_below(&w->random, w->upstream_count);
    }
    sim_kernel_call(k, i, at, cancel_at, route, len, NULL);
    if (outliving && sim_world_chance(w, 30))
      sim_kernel_outlive(k, i, hf_time_max(0, at + sim_world_between(w, 0, HF_SECONDS(30)) - HF_SECONDS(2)));
  }
}

static void add_levels(struct sim_levels *sum, const struct sim_levels *levels) {
  sum->moves += levels->moves;
  sum->hedges += levels->hedges;
  sum->hedges_won += levels->hedges_won;
  sum->checks += levels->checks;
  sum->checked += levels->checked;
  sum->disproved += levels->disproved;
  sum->degraded += levels->degraded;
  sum->letters += levels->letters;
  sum->outlived += levels->outlived;
}

static void run_seed(uint64_t seed, unsigned calls, FILE *trace, struct totals *totals) {
  struct sim_world world;
  struct sim_check check = {.seed = seed};
  struct sim_kernel kernel = {.world = &world, .check = &check, .trace = trace};
  if (sim_world_init(&world, seed, 1 + seed / 2 % SIM_UPSTREAMS_MAX, calls) < 0)
    abort();
  configure(&kernel, &world);
  if (is_chain(seed))
    configure_chain(&kernel, &world);
  if (sim_kernel_init(&kernel) < 0)
    abort();
  plan_calls(&kernel, &world, is_chain(seed));
  while (sim_world_turn(&world)) {
  }
  sim_kernel_check_end(&kernel);
  totals->calls += kernel.finished;
  totals->attempts += kernel.attempts;
  totals->violations += check.violations;
  for (int i = 0; i < HF_FAULT_COUNT; i++)
    totals->faults[i] += kernel.faults[i];
  add_levels(&totals->levels, &kernel.levels);
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
  const struct sim_levels *l = &totals.levels;
  printf("# next targets %lu, hedges %lu (won %lu), checks %lu (ran %lu, did not %lu), degraded %lu, letters %lu, "
         "outlived %lu\n",
         l->moves, l->hedges, l->hedges_won, l->checks, l->checked, l->disproved, l->degraded, l->letters, l->outlived);
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
  printf("# again=%lu (own risk %lu) joined=%lu lost=%lu cached=%lu recorded=%lu degraded=%lu checked=%lu letters=%lu "
         "replays=%lu (%lu good) deaths=%lu\n",
         totals.again, totals.own_risk, totals.joined, totals.lost_told, totals.cached, totals.recorded,
         totals.degraded, totals.checked, totals.letters, totals.replays, totals.replayed, totals.deaths);
  printf("# tasks at servers=%lu, of clients=%lu (ended %lu, lost %lu)\n", totals.works_made, totals.tasks,
         totals.tasks_ended, totals.tasks_lost);
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
