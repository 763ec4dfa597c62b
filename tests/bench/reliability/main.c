/* Chains of tool calls, directly and through the gateway's own code, under virtual time.
 *
 *   reliability [--chains N] [--seed S] [--steps N] [--profile P] [--kinds look,put,charge] [--rate PERCENT]
 *               [--outage SECONDS] [--and YAML] [--direct] [--reasons] [--trace]
 *
 * What follows --and goes into the configuration. Prints one line of JSON. The same seed gives the same worlds. */
#include "world.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct option options[] = {
    {"chains", required_argument, NULL, 'c'}, {"seed", required_argument, NULL, 's'},
    {"steps", required_argument, NULL, 'n'},  {"profile", required_argument, NULL, 'p'},
    {"kinds", required_argument, NULL, 'k'},  {"rate", required_argument, NULL, 'r'},
    {"outage", required_argument, NULL, 'o'}, {"direct", no_argument, NULL, 'd'},
    {"reasons", no_argument, NULL, 'w'},      {"trace", no_argument, NULL, 't'},
    {"and", required_argument, NULL, 'a'},    {NULL, 0, NULL, 0}};

struct arguments {
  struct scene scene;
  unsigned long chains;
  uint64_t seed;
  bool reasons;
};

static void read_kinds(struct scene *scene, const char *text) {
  scene->has[KIND_READ] = strstr(text, "look") != NULL;
  scene->has[KIND_KEYED] = strstr(text, "put") != NULL;
  scene->has[KIND_UNSAFE] = strstr(text, "charge") != NULL;
}

static bool read_arguments(struct arguments *a, int argc, char **argv) {
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (c) {
    case 'c':
      a->chains = strtoul(optarg, NULL, 10);
      break;
    case 's':
      a->seed = strtoull(optarg, NULL, 10);
      break;
    case 'n':
      a->scene.steps = (unsigned)strtoul(optarg, NULL, 10);
      break;
    case 'p':
      a->scene.profile = optarg;
      break;
    case 'k':
      read_kinds(&a->scene, optarg);
      break;
    case 'r':
      a->scene.fault_percent = (unsigned)strtoul(optarg, NULL, 10);
      break;
    case 'o':
      a->scene.outage = HF_SECONDS(strtol(optarg, NULL, 10));
      break;
    case 'd':
      a->scene.direct = true;
      break;
    case 'w':
      a->reasons = true;
      break;
    case 'a':
      a->scene.more = optarg;
      break;
    case 't':
      a->scene.trace = stdout;
      break;
    default:
      return false;
    }
  }
  return a->scene.steps > 0 && a->scene.steps <= STEPS_MAX &&
         (a->scene.has[KIND_READ] || a->scene.has[KIND_KEYED] || a->scene.has[KIND_UNSAFE]);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print(const struct arguments *a, const struct totals *t, double took) {
  printf("{\"profile\":\"%s\",\"steps\":%u,\"chains\":%lu,\"good\":%lu,\"share\":%.5f,\"calls\":%lu,\"attempts\":%lu,"
         "\"checks\":%lu,\"double_effects\":%lu,\"misreported\":%lu,\"mean_step_ms\":%.0f,\"longest_step_ms\":%.0f,"
         "\"seed\":%" PRIu64 ",\"seconds\":%.1f}\n",
         a->scene.direct ? "direct" : a->scene.profile, a->scene.steps, t->chains, t->good,
         (double)t->good / (double)t->chains, t->steps, t->attempts, t->checks, t->doubles, t->misreported,
         t->steps ? (double)t->step_us / (double)t->steps / 1e3 : 0, (double)t->longest / 1e3, a->seed, took);
  for (size_t i = 0; a->reasons && i < REASONS_MAX && t->reasons[i].count; i++)
    printf("# %6lu %s\n", t->reasons[i].count, t->reasons[i].name);
}

int main(int argc, char **argv) {
  struct arguments a = {.scene = {.profile = "standard",
                                  .more = "",
                                  .steps = 20,
                                  .fault_percent = 15,
                                  .outage = HF_SECONDS(20),
                                  .settle = HF_SECONDS(3),
                                  .has = {true, true, true}},
                        .chains = 10000,
                        .seed = 1};
  struct totals totals = {0};
  if (!read_arguments(&a, argc, argv))
    return 2;
  double start = seconds();
  for (unsigned long i = 0; totals.chains < a.chains; i++)
    world_run(&a.scene, a.seed + i, &totals);
  print(&a, &totals, seconds() - start);
  return EXIT_SUCCESS;
}
