/* What a breaker that learns from past outages is worth, against one that stays open for 30 s each time.
 *
 * Two calls a second go to a server that is out now and then. Counted are the probes that find it still out, and how
 * long calls are refused after it has come back. The breaker is the real one; chance comes from seeds. */
#include "base/random.h"
#include "policy/breaker.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 100, OUTAGES = 21, CALLS_A_SECOND = 2 };

struct kind {
  const char *name;
  hf_time least_out, most_out;
  hf_time least_up, most_up;
  bool long_one_in_four; /* of 9 to 11 minutes */
};

static const struct kind kinds[] = {
    {"short: 3-10 s, every 5-10 min", HF_SECONDS(3), HF_SECONDS(10), HF_SECONDS(300), HF_SECONDS(600), false},
    {"long: 9-11 min, every 1-2 h", HF_SECONDS(540), HF_SECONDS(660), HF_SECONDS(3600), HF_SECONDS(7200), false},
    {"flapping: 5-15 s out, 10-30 s up", HF_SECONDS(5), HF_SECONDS(15), HF_SECONDS(10), HF_SECONDS(30), false},
    {"mixed: three short ones, a long one", HF_SECONDS(3), HF_SECONDS(10), HF_SECONDS(600), HF_SECONDS(1200), true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct subject {
  const char *name;
  hf_time open;
  hf_time max_open;
};

static const struct subject subjects[] = {
    {"fixed, 30 s", HF_SECONDS(30), HF_SECONDS(30)},
    {"learning, 8 s to 5 min", HF_SECONDS(8), HF_SECONDS(300)},
    {"learning, 5 s to 5 min", HF_SECONDS(5), HF_SECONDS(300)},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

struct result {
  unsigned outages;
  unsigned wasted;
  hf_time refused; /* of the time that the server was up again */
};

struct play {
  struct hf_breaker breaker;
  struct hf_random random;
  hf_time now;
  unsigned wasted;
  bool through; /* a call got through since the server came back */
};

static hf_time between(struct hf_random *random, hf_time low, hf_time high) {
  return low + (hf_time)hf_random_below(random, (uint64_t)(high - low + 1));
}

static void call(struct play *p, bool up) {
  enum hf_breaker_gate gate = hf_breaker_gate(&p->breaker, p->now);
  if (gate == HF_BREAKER_STOP)
    return;
  if (gate == HF_BREAKER_PROBE) {
    hf_breaker_lease(&p->breaker, hf_time_add(p->now, HF_SECONDS(1)));
    p->wasted += !up;
  }
  p->through = p->through || up;
  hf_breaker_record(&p->breaker, p->breaker.generation, up ? HF_VERDICT_SUCCESS : HF_VERDICT_FAILURE, 0, p->now,
                    hf_random_next(&p->random));
}

/* Returns how long it took until a call got through; what comes after it is not of interest. */
static hf_time pass(struct play *p, bool up, hf_time span) {
  static const hf_time tick = HF_MS(50);
  hf_time began = p->now, came_through = span;
  p->through = false;
  for (; p->now < began + span && !p->through; p->now += tick) {
    if (hf_random_below(&p->random, 1000 / CALLS_A_SECOND) >= 50)
      continue;
    call(p, up);
    if (p->through)
      came_through = p->now - began;
  }
  p->now = began + span;
  return came_through;
}

static hf_time draw_outage(struct play *p, const struct kind *kind, int number) {
  if (kind->long_one_in_four && number % 4 == 3)
    return between(&p->random, HF_SECONDS(540), HF_SECONDS(660));
  return between(&p->random, kind->least_out, kind->most_out);
}

static void play(uint64_t seed, const struct kind *kind, const struct subject *subject, int outages,
                 struct result *result) {
  struct hf_breaker_options options = HF_BREAKER_OPTIONS_INIT;
  options.open = subject->open;
  options.max_open = subject->max_open;
  struct play p = {.now = 0};
  hf_breaker_init(&p.breaker, &options);
  hf_random_init(&p.random, seed);
  pass(&p, true, kind->least_up);
  for (int i = 0; i < outages; i++) {
    pass(&p, false, draw_outage(&p, kind, i));
    result->refused += pass(&p, true, between(&p.random, kind->least_up, kind->most_up));
    result->outages++;
  }
  result->wasted += p.wasted;
}

static struct result measure(const struct kind *kind, const struct subject *subject, int outages) {
  struct result result = {0};
  for (uint64_t seed = 1; seed <= SEEDS; seed++)
    play(seed, kind, subject, outages, &result);
  return result;
}

static double wasted(const struct result *r) {
  return (double)r->wasted / r->outages;
}

static double refused(const struct result *r) {
  return (double)r->refused / 1e6 / r->outages;
}

/* Recovers earlier, and wastes fewer probes where any are wasted. */
static bool is_better(const struct result *learning, const struct result *fixed) {
  bool fewer = fixed->wasted ? learning->wasted < fixed->wasted : wasted(learning) < 0.01;
  return fewer && learning->refused < fixed->refused;
}

int main(void) {
  bool better[KINDS];
  printf("# probes wasted, and seconds until calls get through again; means of %d outages (in brackets: of the first, "
         "when nothing is learnt)\n",
         SEEDS * OUTAGES);
  for (int k = 0; k < KINDS; k++) {
    struct result results[SUBJECTS];
    printf("#\n# %s\n", kinds[k].name);
    for (int s = 0; s < SUBJECTS; s++) {
      struct result first = measure(&kinds[k], &subjects[s], 1);
      results[s] = measure(&kinds[k], &subjects[s], OUTAGES);
      printf("#   %-23s %6.2f (%5.2f) probes %7.2f (%5.2f) s\n", subjects[s].name, wasted(&results[s]), wasted(&first),
             refused(&results[s]), refused(&first));
    }
    better[k] = is_better(&results[1], &results[0]);
  }
  printf("1..%d\n", KINDS);
  bool all = true;
  for (int k = 0; k < KINDS; k++) {
    printf("%s %d - earlier and with fewer probes than fixed: %s\n", better[k] ? "ok" : "not ok", k + 1, kinds[k].name);
    all = all && better[k];
  }
  return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
