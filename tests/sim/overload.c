/* What an adaptive limit is worth when a server is overloaded, against a fixed one.
 *
 * A server works on 20 calls at a time, for a tenth of a second each; more share its time, and each one too many costs
 * it some of it. 150 calls a second come, three quarters of what it can do. For a minute it can do a third. Callers
 * give up after their deadline; the server notices nothing and works on. Permits, queue and limit are the real
 * provider's; its breakers are off, for they would hide what the limit does. */
#include "base/alloc.h"
#include "base/random.h"
#include "policy/provider.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 64, CALLS_MAX = 4096, JOBS_MAX = 1024, LATENCIES_MAX = 60000, ARRIVALS_PERCENT = 15 };
enum { WIDTH = 20000, THIRD = WIDTH / 3 }; /* thousandths of calls */

enum phase { BEFORE, OVERLOAD, AFTER, PHASES };

static const char *const phase_names[PHASES] = {"before", "a third of the capacity", "after"};
static const hf_time PHASE = HF_SECONDS(60);
static const hf_time DEADLINE = HF_SECONDS(3);
static const hf_time MAX_WAIT = HF_MS(500);
static const hf_time TICK = HF_MS(1);

struct caller {
  struct hf_waiter waiter;
  struct hf_permit permit;
  hf_time came;
  hf_time until;
  bool taken;
  bool granted;
};

/* A piece of work in the server: its caller may have given up. */
struct job {
  struct caller *caller; /* or NULL */
  int64_t left;          /* microseconds, if it had a place for itself */
};

struct figures {
  unsigned good, refused, late;
  unsigned latency_count;
  hf_time latencies[LATENCIES_MAX];
};

struct play {
  struct hf_provider *provider;
  struct hf_provider_tool *tool;
  struct hf_random random;
  hf_time now;
  int64_t crowding; /* what a call too many costs: thousandths */
  struct caller callers[CALLS_MAX];
  struct job jobs[JOBS_MAX];
  unsigned job_count;
  struct figures figures[PHASES];
};

static enum phase phase_at(hf_time at) {
  return at < PHASE ? BEFORE : at < 2 * PHASE ? OVERLOAD : AFTER;
}

static struct figures *figures_of(struct play *p, const struct caller *c) {
  return &p->figures[phase_at(c->came)];
}

static int64_t draw_work(struct play *p) {
  uint64_t many = hf_random_below(&p->random, 10);
  return HF_MS(20) + (hf_time)hf_random_below(&p->random, (uint64_t)(many == 0 ? HF_MS(480) : HF_MS(120)));
}

static void step(struct play *p, struct hf_provider_event event);

static void act(struct play *p, const struct hf_provider_action *action) {
  struct caller *c = HF_CONTAINER_OF(action->waiter, struct caller, waiter);
  if (action->kind == HF_PROVIDER_REFUSE) {
    figures_of(p, c)->refused++;
    c->taken = false;
    return;
  }
  if (action->kind != HF_PROVIDER_GRANT || p->job_count == JOBS_MAX)
    abort();
  c->permit = action->permit;
  c->granted = true;
  p->jobs[p->job_count++] = (struct job){.caller = c, .left = draw_work(p)};
}

static void step(struct play *p, struct hf_provider_event event) {
  do {
    struct hf_provider_actions out;
    if (hf_provider_step(p->provider, &event, p->now, &out) < 0)
      abort();
    for (unsigned i = 0; i < out.len; i++)
      act(p, &out.items[i]);
    event = (struct hf_provider_event){.kind = HF_PROVIDER_TIMER};
  } while (hf_provider_deadline(p->provider) <= p->now);
}

static void report(struct play *p, struct caller *c, enum hf_blame blame, hf_time latency) {
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT, .report.tool = p->tool};
  event.report.report = (struct hf_report){.permit = c->permit, .blame = blame, .retry_after = -1, .latency = latency};
  c->taken = false;
  step(p, event);
}

static void arrive(struct play *p) {
  struct caller *c = p->callers;
  while (c->taken)
    c++;
  *c = (struct caller){.came = p->now, .until = p->now + DEADLINE, .taken = true};
  c->waiter = (struct hf_waiter){.tool = p->tool, .until = c->until, .lease = DEADLINE};
  hf_list_init(&c->waiter.node);
  step(p, (struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &c->waiter});
}

static void give_up(struct play *p, struct caller *c) {
  figures_of(p, c)->late++;
  if (c->granted) {
    for (unsigned i = 0; i < p->job_count; i++)
      if (p->jobs[i].caller == c)
        p->jobs[i].caller = NULL;
    report(p, c, HF_BLAME_TOOL, -1);
    return;
  }
  c->taken = false;
  step(p, (struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &c->waiter});
}

static void answer(struct play *p, struct caller *c) {
  struct figures *f = figures_of(p, c);
  f->good++;
  if (f->latency_count < LATENCIES_MAX)
    f->latencies[f->latency_count++] = p->now - c->came;
  report(p, c, HF_BLAME_SUCCESS, p->now - c->permit.granted_at);
}

static void work(struct play *p) {
  int64_t width = phase_at(p->now) == OVERLOAD ? THIRD : WIDTH;
  int64_t wanted = (int64_t)p->job_count * 1000;
  int64_t done = TICK;
  if (wanted > width)
    done = TICK * width / wanted * 1000 / (1000 + (wanted - width) / 1000 * p->crowding);
  for (unsigned i = p->job_count; i-- > 0;) {
    p->jobs[i].left -= done;
    if (p->jobs[i].left > 0)
      continue;
    struct caller *c = p->jobs[i].caller;
    p->jobs[i] = p->jobs[--p->job_count];
    if (c)
      answer(p, c);
  }
}

static int by_time(const void *a, const void *b) {
  hf_time x = *(const hf_time *)a, y = *(const hf_time *)b;
  return x < y ? -1 : x > y;
}

static double percentile(struct figures *f, unsigned percent) {
  if (f->latency_count == 0)
    return 0;
  qsort(f->latencies, f->latency_count, sizeof *f->latencies, by_time);
  size_t place = (size_t)f->latency_count * percent / 100;
  return (double)f->latencies[place] / 1e3;
}

static void tick(struct play *p) {
  if (hf_random_below(&p->random, 100) < ARRIVALS_PERCENT)
    arrive(p);
  work(p);
  for (unsigned i = 0; i < CALLS_MAX; i++)
    if (p->callers[i].taken && p->now >= p->callers[i].until)
      give_up(p, &p->callers[i]);
  if (hf_provider_deadline(p->provider) <= p->now)
    step(p, (struct hf_provider_event){.kind = HF_PROVIDER_TIMER});
}

static void print_figures(struct play *p, const char *name) {
  printf("#   %s\n", name);
  for (int i = 0; i < PHASES; i++) {
    struct figures *f = &p->figures[i];
    double seconds = (double)PHASE / 1e6;
    printf("#     %-24s %6.1f good/s %6.0f ms p50 %6.0f ms p95 %6.1f refused/s %5.1f late/s\n", phase_names[i],
           f->good / seconds, percentile(f, 50), percentile(f, 95), f->refused / seconds, f->late / seconds);
  }
}

static void play(struct play *p, bool adaptive, int64_t crowding) {
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  options.breaker.failures = 0;
  options.breaker.min_calls = UINT32_MAX;
  options.max_concurrent = SLOTS;
  options.max_wait = MAX_WAIT;
  options.adaptive = adaptive;
  p->crowding = crowding;
  hf_random_init(&p->random, 1);
  p->provider = hf_provider_new(&options, 1, 0);
  if (!p->provider || hf_provider_tool_get(p->provider, HF_STR("tool"), &options.breaker, &p->tool) < 0)
    abort();
  step(p, (struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY});
  for (; p->now < PHASES * PHASE; p->now += TICK)
    tick(p);
  print_figures(p, adaptive ? "adaptive, up to 64" : "fixed, 64");
  for (unsigned i = 0; i < CALLS_MAX; i++)
    if (p->callers[i].taken)
      give_up(p, &p->callers[i]);
  hf_provider_unref(p->provider);
}

static bool check(bool good, int number, const char *world, const char *what) {
  printf("%s %d - %s: %s\n", good ? "ok" : "not ok", number, world, what);
  return good;
}

/* More calls answered while overloaded, if there is more to be had, and sooner; all of them again afterwards. */
static bool compare(struct play *fixed, struct play *adaptive, int number, const char *world, unsigned least_percent) {
  struct figures *f = fixed->figures, *a = adaptive->figures;
  bool more = check(a[OVERLOAD].good * 100 >= f[OVERLOAD].good * least_percent, number, world, "goodput");
  bool sooner = check(percentile(&a[OVERLOAD], 95) < percentile(&f[OVERLOAD], 95) * 0.75, number + 1, world, "latency");
  bool back = check(a[AFTER].good * 100 >= f[AFTER].good * 99 && a[BEFORE].good * 100 >= f[BEFORE].good * 99,
                    number + 2, world, "before and after");
  return more && sooner && back;
}

int main(void) {
  static const struct {
    const char *name;
    int64_t crowding;
    unsigned least_percent;
  } worlds[] = {{"a server that loses nothing by crowding", 0, 97}, {"a server that loses by crowding", 5, 115}};
  bool good = true;
  printf("1..6\n# 150 calls/s to a server that does 200, and for a minute 67\n");
  for (int i = 0; i < 2; i++) {
    struct play *fixed = hf_calloc(1, sizeof *fixed), *adaptive = hf_calloc(1, sizeof *adaptive);
    if (!fixed || !adaptive)
      abort();
    printf("#\n# %s\n", worlds[i].name);
    play(fixed, false, worlds[i].crowding);
    play(adaptive, true, worlds[i].crowding);
    good = compare(fixed, adaptive, 3 * i + 1, worlds[i].name, worlds[i].least_percent) && good;
    hf_free(fixed);
    hf_free(adaptive);
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
