#include "scenario.h"

#include "base/alloc.h"
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arrival {
  hf_time at;
  hf_time cancel_at; /* 0: never */
  unsigned provider;
  unsigned tool;
  enum hf_safety safety;
  unsigned route_len; /* 0: provider, tool and safety say it all */
  struct sim_target route[SIM_ROUTE_MAX];
};

enum { ARRIVALS_MAX = 16, PLANS_MAX = 16, STARTS_MAX = 4 };

struct scenario {
  const char *name;
  const char *about; /* the first line of the trace */
  size_t providers;
  unsigned attempts;    /* 0: the default */
  unsigned failures;    /* likewise, of the breakers */
  unsigned concurrency; /* likewise */
  hf_time hedge_after;
  bool degrades;
  enum hf_letter_policy letters;
  struct sim_offer offer;
  struct arrival calls[ARRIVALS_MAX];
  struct sim_plan plans[3][PLANS_MAX]; /* by provider; ends with a delay of 0 */
  struct {
    size_t len;
    bool ok[STARTS_MAX];
  } starts[3];
};

#define CALL(seconds, t, s)                                                                                            \
  { .at = HF_MS((seconds)*1000), .tool = (t), .safety = HF_SAFETY_##s }
#define CANCELLED_CALL(seconds, cancel, t, s)                                                                          \
  { .at = HF_MS((seconds)*1000), .cancel_at = HF_MS((cancel)*1000), .tool = (t), .safety = HF_SAFETY_##s }
#define PLAN(f, ms)                                                                                                    \
  { .fault = SIM_##f, .delay = HF_MS(ms), .retry_after = -1 }
#define HINT(f, ms, seconds)                                                                                           \
  { .fault = SIM_##f, .delay = HF_MS(ms), .retry_after = HF_SECONDS(seconds) }

/* `at` is the number of its provider. */
#define TARGET(at, s, ...)                                                                                             \
  { .target = {.safety = HF_SAFETY_##s, __VA_ARGS__}, .ttl = HF_TIME_NEVER, .provider = (at) }
#define HARMLESS(at) TARGET(at, READ_ONLY, .server = (at), .harmless = true)
#define HEDGED(at) TARGET(at, READ_ONLY, .server = (at), .harmless = true, .hedged = true)
#define ROUTE(seconds, len, ...)                                                                                       \
  {                                                                                                                    \
    .at = HF_MS((seconds)*1000), .route_len = (len), .route = { __VA_ARGS__ }                                          \
  }

static const struct scenario scenarios[] = {
    {.name = "retry-then-success",
     .about = "an idempotent tool fails twice, after the request was handed over, and then answers",
     .providers = 1,
     .calls = {CALL(0.1, 0, IDEMPOTENT)},
     .plans = {{PLAN(EXECUTE_RESET, 20), PLAN(STATUS_503, 20), PLAN(OK, 20)}}},
    {.name = "unsafe-lost-answer",
     .about = "an unsafe tool runs and its answer is lost: never again, and the call says 'maybe'",
     .providers = 1,
     .calls = {CALL(0.1, 0, UNSAFE)},
     .plans = {{PLAN(EXECUTE_RESET, 20), PLAN(OK, 20)}}},
    {.name = "unsafe-not-sent",
     .about = "an unsafe tool whose request was never whole on the wire is tried again",
     .providers = 1,
     .calls = {CALL(0.1, 0, UNSAFE)},
     .plans = {{PLAN(BREAK_EARLY, 20), PLAN(REFUSE, 20), PLAN(OK, 20)}}},
    {.name = "hint-beyond-deadline",
     .about = "Retry-After within the deadline is a floor; beyond it, it ends the call at once",
     .providers = 1,
     .calls = {CALL(0.1, 0, READ_ONLY), CALL(10, 0, READ_ONLY)},
     .plans = {{HINT(STATUS_429, 20, 3), PLAN(OK, 20), HINT(STATUS_503_HINT, 20, 60), PLAN(OK, 20)}}},
    {.name = "probe-lost-probe-again",
     .about = "a breaker opens; its probe is lost on a person who does not answer; the next one closes it; then the "
              "first one's late success is of an old generation",
     .providers = 1,
     .attempts = 1,
     .failures = 2,
     .calls = {CALL(0.1, 0, UNSAFE), CALL(1, 0, UNSAFE), CALL(2, 0, UNSAFE), CALL(40, 0, UNSAFE), CALL(41, 0, UNSAFE),
               CALL(100, 0, UNSAFE), CALL(101, 0, UNSAFE)},
     .plans = {{PLAN(GARBAGE, 20), PLAN(GARBAGE, 20), PLAN(QUESTION, 20), PLAN(OK, 20), PLAN(OK, 20)}}},
    {.name = "hanging-probe",
     .about = "a probe that hangs until the deadline is a failure, not a loss: the open time grows",
     .providers = 1,
     .attempts = 1,
     .failures = 2,
     .calls = {CALL(0.1, 0, UNSAFE), CALL(1, 0, UNSAFE), CALL(40, 0, UNSAFE), CALL(96, 0, UNSAFE)},
     .plans = {{PLAN(GARBAGE, 20), PLAN(GARBAGE, 20), PLAN(EXECUTE_HANG, 20), PLAN(OK, 20)}}},
    {.name = "failed-probes-grow",
     .about = "each failed probe makes the open time longer; a call that may be repeated waits for half-open",
     .providers = 1,
     .attempts = 1,
     .failures = 2,
     .calls = {CALL(0.1, 0, READ_ONLY), CALL(1, 0, READ_ONLY), CALL(2, 0, READ_ONLY), CALL(40, 0, UNSAFE),
               CALL(110, 0, READ_ONLY)},
     .plans = {{PLAN(STATUS_500, 20), PLAN(STATUS_500, 20), PLAN(STATUS_500, 20), PLAN(OK, 20)}}},
    {.name = "one-provider-of-two-fails",
     .about = "one provider cannot be reached and its breaker opens; the other one's calls notice nothing",
     .providers = 2,
     .attempts = 1,
     .failures = 3,
     .calls = {CALL(1, 0, UNSAFE),
               {.at = HF_SECONDS(1), .provider = 1, .safety = HF_SAFETY_UNSAFE},
               CALL(2, 1, UNSAFE),
               {.at = HF_SECONDS(2), .provider = 1, .safety = HF_SAFETY_UNSAFE},
               CALL(3, 2, UNSAFE),
               {.at = HF_SECONDS(3), .provider = 1, .safety = HF_SAFETY_UNSAFE},
               CALL(4, 3, UNSAFE),
               {.at = HF_SECONDS(4), .provider = 1, .safety = HF_SAFETY_UNSAFE}},
     .plans = {{PLAN(REFUSE, 1), PLAN(REFUSE, 1), PLAN(REFUSE, 1), PLAN(REFUSE, 1)}}},
    {.name = "one-tool-of-two-fails",
     .about = "one tool fails and its breaker opens; the provider's stays closed, and the other tool goes on",
     .providers = 1,
     .attempts = 1,
     .failures = 2,
     .calls = {CALL(1, 0, UNSAFE), CALL(2, 1, UNSAFE), CALL(3, 0, UNSAFE), CALL(4, 1, UNSAFE), CALL(5, 0, UNSAFE),
               CALL(6, 0, UNSAFE), CALL(7, 1, UNSAFE)},
     .plans = {{PLAN(STATUS_500, 20), PLAN(OK, 20), PLAN(STATUS_500, 20), PLAN(OK, 20), PLAN(STATUS_500, 20),
                PLAN(OK, 20)}}},
    {.name = "two-tools-fail",
     .about = "two tools fail with no success between: that is the provider's trouble",
     .providers = 1,
     .attempts = 1,
     .failures = 3,
     .calls = {CALL(1, 0, UNSAFE), CALL(2, 1, UNSAFE), CALL(3, 0, UNSAFE), CALL(4, 1, UNSAFE), CALL(5, 2, UNSAFE)},
     .plans = {{PLAN(STATUS_500, 20), PLAN(STATUS_500, 20), PLAN(STATUS_500, 20), PLAN(STATUS_500, 20)}}},
    {.name = "dead-child",
     .about = "the upstream dies in flight, a start fails, the next one works: the breaker is not wedged",
     .providers = 1,
     .failures = 2,
     .calls = {CALL(0.1, 0, READ_ONLY), CALL(0.1, 1, UNSAFE), CALL(5, 0, READ_ONLY)},
     .plans = {{PLAN(DEATH, 50), PLAN(OK, 900), PLAN(OK, 20)}},
     .starts = {{.len = 4, .ok = {true, false, true, true}}}},
    {.name = "respawn-before-probe",
     .about = "the provider's breaker is open and its child is dead: the probe waits for a new child",
     .providers = 1,
     .attempts = 1,
     .failures = 2,
     .calls = {CALL(0.1, 0, READ_ONLY), CALL(1, 0, READ_ONLY), CALL(2, 0, READ_ONLY), CALL(3, 0, UNSAFE)},
     .starts = {{.len = 3, .ok = {false, false, true}}}},
    {.name = "session-lost",
     .about = "a lost session is renewed once; the second loss ends the call",
     .providers = 1,
     .calls = {CALL(0.1, 0, UNSAFE), CALL(1, 0, UNSAFE)},
     .plans = {{PLAN(SESSION_LOST, 20), PLAN(OK, 20), PLAN(SESSION_LOST, 20), PLAN(SESSION_LOST, 20)}}},
    {.name = "person-is-asked",
     .about = "90 seconds of a person's time are outside the deadline of 55",
     .providers = 1,
     .calls = {CALL(0.1, 0, UNSAFE)},
     .plans = {{PLAN(QUESTION, 20)}}},
    {.name = "timeouts",
     .about = "connect, attempt, idle, and for an unsafe tool the deadline alone",
     .providers = 1,
     .attempts = 2,
     .calls = {CALL(0.1, 0, READ_ONLY), CALL(100, 0, READ_ONLY), CALL(200, 1, UNSAFE), CALL(300, 1, UNSAFE)},
     .plans = {{PLAN(CONNECT_HANG, 1), PLAN(OK, 20), PLAN(DROP_REQUEST, 1), PLAN(OK, 20), PLAN(PROGRESS_HANG, 20),
                PLAN(EXECUTE_HANG, 20)}}},
    {.name = "slow-answer",
     .about = "an answer that comes in parts, 10 seconds apart, is not idle; it fits the deadline",
     .providers = 1,
     .calls = {CALL(0.1, 0, UNSAFE)},
     .plans = {{PLAN(SLOW_ANSWER, 20)}}},
    {.name = "cancel-while-starting",
     .about = "the caller cancels while the upstream starts: withdrawn, nothing was sent",
     .providers = 1,
     .calls = {CANCELLED_CALL(0.1, 0.12, 0, UNSAFE)}},
    {.name = "cancel-while-connecting",
     .about = "the caller cancels before the request is whole: not executed",
     .providers = 1,
     .calls = {CANCELLED_CALL(0.1, 0.5, 0, UNSAFE)},
     .plans = {{PLAN(CONNECT_HANG, 1)}}},
    {.name = "cancel-in-flight",
     .about = "the caller cancels after the request was handed over: maybe executed, and nobody's fault",
     .providers = 1,
     .calls = {CANCELLED_CALL(0.1, 0.5, 0, UNSAFE)},
     .plans = {{PLAN(OK, 2000)}}},
    {.name = "cancel-between-attempts",
     .about = "the caller cancels in the pause before a retry: what the attempt showed still counts",
     .providers = 1,
     .calls = {CANCELLED_CALL(0.1, 1, 0, READ_ONLY)},
     .plans = {{HINT(STATUS_503_HINT, 20, 5)}}},
    {.name = "cancel-in-queue",
     .about = "the caller cancels while it waits for a slot: the next one in the queue goes",
     .providers = 1,
     .concurrency = 1,
     .calls = {CALL(0.1, 0, UNSAFE), CANCELLED_CALL(0.2, 0.5, 0, UNSAFE), CALL(0.3, 0, UNSAFE)},
     .plans = {{PLAN(OK, 1000), PLAN(OK, 20)}}},
    {.name = "cancel-the-probe",
     .about = "the caller cancels the call that is the probe: the slot returns, the breaker neither closes nor wedges",
     .providers = 1,
     .attempts = 1,
     .failures = 2,
     .calls = {CALL(0.1, 0, UNSAFE), CALL(1, 0, UNSAFE), CANCELLED_CALL(40, 41, 0, UNSAFE), CALL(42, 0, UNSAFE)},
     .plans = {{PLAN(GARBAGE, 20), PLAN(GARBAGE, 20), PLAN(EXECUTE_HANG, 20), PLAN(OK, 20)}}},
    {.name = "unauthorized-probe",
     .about = "the probe is answered 401: neutral, so the next call is the probe",
     .providers = 1,
     .attempts = 1,
     .failures = 2,
     .calls = {CALL(0.1, 0, UNSAFE), CALL(1, 0, UNSAFE), CALL(40, 0, UNSAFE), CALL(41, 0, UNSAFE)},
     .plans = {{PLAN(GARBAGE, 20), PLAN(GARBAGE, 20), PLAN(STATUS_401, 20), PLAN(OK, 20)}}},
    {.name = "retry-then-next",
     .about = "two attempts at the first provider fail; the second one answers, and the first is blamed all the same",
     .providers = 2,
     .attempts = 2,
     .calls = {ROUTE(0.1, 2, HARMLESS(0), HARMLESS(1))},
     .plans = {{PLAN(STATUS_500, 20), PLAN(STATUS_500, 20)}, {PLAN(OK, 20)}}},
    {.name = "effects-stay-at-one",
     .about = "an unsafe tool that was not executed moves on; one that may have been does not",
     .providers = 2,
     .attempts = 1,
     .calls = {ROUTE(0.1, 2, TARGET(0, UNSAFE), TARGET(1, UNSAFE, .server = 1)),
               ROUTE(1, 2, TARGET(0, UNSAFE), TARGET(1, UNSAFE, .server = 1))},
     .plans = {{PLAN(REFUSE, 1), PLAN(EXECUTE_RESET, 20)}, {PLAN(OK, 20)}}},
    {.name = "open-then-next",
     .about = "the first provider's breaker is open: it is skipped at no cost",
     .providers = 2,
     .attempts = 1,
     .failures = 2,
     .calls = {CALL(0.1, 0, READ_ONLY), CALL(1, 0, READ_ONLY), ROUTE(2, 2, HARMLESS(0), HARMLESS(1))},
     .plans = {{PLAN(STATUS_500, 20), PLAN(STATUS_500, 20)}, {PLAN(OK, 20)}}},
    {.name = "all-open-then-half-open",
     .about = "both breakers are open; the call waits for the one that is half-open first",
     .providers = 2,
     .attempts = 1,
     .failures = 2,
     .calls = {{.at = HF_MS(100), .provider = 1, .safety = HF_SAFETY_READ_ONLY},
               {.at = HF_SECONDS(1), .provider = 1, .safety = HF_SAFETY_READ_ONLY},
               CALL(5, 0, READ_ONLY),
               CALL(6, 0, READ_ONLY),
               ROUTE(10, 2, HARMLESS(0), HARMLESS(1))},
     .plans = {{PLAN(STATUS_500, 20), PLAN(STATUS_500, 20)}, {PLAN(STATUS_500, 20), PLAN(STATUS_500, 20)}}},
    {.name = "standby-with-key",
     .about = "a keyed tool whose answer was lost goes on at its server's other endpoint, under the same key",
     .providers = 2,
     .attempts = 1,
     .calls = {ROUTE(0.1, 2, TARGET(0, KEYED), TARGET(1, KEYED))},
     .plans = {{PLAN(EXECUTE_RESET, 20)}, {PLAN(OK, 20)}}},
    {.name = "key-expired",
     .about = "the server forgets the key before a repeat could begin: it is not begun, and the call says 'maybe'",
     .providers = 1,
     .letters = HF_LETTER_UNSAFE,
     .calls = {ROUTE(0.1, 1, {.target.safety = HF_SAFETY_KEYED, .ttl = HF_MS(200)})},
     .plans = {{HINT(STATUS_500, 20, 1)}}},
    {.name = "key-expires-on-the-way",
     .about = "the server forgets the key while the repeat is not out yet: it is given up",
     .providers = 1,
     .calls = {ROUTE(0.1, 1, {.target.safety = HF_SAFETY_KEYED, .ttl = HF_MS(1500)})},
     .plans = {{PLAN(EXECUTE_RESET, 20), PLAN(CONNECT_HANG, 1)}}},
    {.name = "hedge-wins",
     .about = "the first attempt is slow, the second one answers: the first is cancelled, and neutral",
     .providers = 1,
     .hedge_after = HF_MS(200),
     .calls = {ROUTE(0.1, 1, HEDGED(0))},
     .plans = {{PLAN(EXECUTE_HANG, 10), PLAN(OK, 20)}}},
    {.name = "hedge-loses",
     .about = "the first attempt answers after all: the second is cancelled, and neutral",
     .providers = 1,
     .hedge_after = HF_MS(200),
     .calls = {ROUTE(0.1, 1, HEDGED(0))},
     .plans = {{PLAN(OK, 300), PLAN(OK, 2000)}}},
    {.name = "hedge-goes-on-alone",
     .about = "one of two fails: the other goes on, without another hedge, and its answer is the call's",
     .providers = 1,
     .hedge_after = HF_MS(200),
     .calls = {ROUTE(0.1, 1, HEDGED(0))},
     .plans = {{PLAN(STATUS_500, 300), PLAN(OK, 900)}}},
    {.name = "check-ran",
     .about = "the answer of an unsafe tool is lost; the status check says that it ran",
     .providers = 1,
     .letters = HF_LETTER_UNSAFE,
     .offer = {.check_delay = HF_MS(30)},
     .calls = {ROUTE(0.1, 1, TARGET(0, UNSAFE, .check_time = HF_SECONDS(5), .settle = 0))},
     .plans = {{PLAN(EXECUTE_RESET, 20)}}},
    {.name = "check-did-not-run",
     .about = "the status check says, once all has settled, that it did not run: so it may be tried again",
     .providers = 1,
     .offer = {.check_delay = HF_MS(30)},
     .calls = {ROUTE(0.1, 1, TARGET(0, UNSAFE, .check_time = HF_SECONDS(5), .settle = HF_SECONDS(10)))},
     .plans = {{PLAN(RESET_UNEXECUTED, 20), PLAN(OK, 20)}}},
    {.name = "check-waits-for-the-late",
     .about =
         "the request runs seven seconds after its connection broke: a check that had not waited would have missed it",
     .providers = 1,
     .offer = {.check_delay = HF_MS(30)},
     .calls = {ROUTE(0.1, 1, TARGET(0, UNSAFE, .check_time = HF_SECONDS(5), .settle = HF_SECONDS(10)))},
     .plans = {{{.fault = SIM_RESET_UNEXECUTED, .delay = HF_MS(20), .retry_after = -1, .late = HF_SECONDS(7)}}}},
    {.name = "check-of-a-dead-child",
     .about = "the child that might still run it is dead: nothing has to settle",
     .providers = 1,
     .offer = {.check_delay = HF_MS(30)},
     .calls = {ROUTE(0.1, 1, TARGET(0, UNSAFE, .check_time = HF_SECONDS(5), .settle = HF_TIME_NEVER))},
     .plans = {{PLAN(DEATH, 50)}}},
    {.name = "check-unknown",
     .about =
         "a check that comes too early to prove that it did not run, and one that cannot say: both are dead letters",
     .providers = 1,
     .letters = HF_LETTER_UNSAFE,
     .offer = {.check_delay = HF_MS(30)},
     .calls = {ROUTE(0.1, 1, TARGET(0, UNSAFE, .check_time = HF_SECONDS(5), .settle = HF_TIME_NEVER)),
               ROUTE(10, 1, TARGET(0, UNSAFE, .check_time = HF_SECONDS(5), .settle = HF_TIME_NEVER))},
     .plans = {{PLAN(RESET_UNEXECUTED, 20), PLAN(DROP_REQUEST, 1)}}},
    {.name = "check-unanswered",
     .about = "the status check itself is not answered: its time is over, and nobody knows",
     .providers = 1,
     .offer = {.check_delay = HF_TIME_NEVER},
     .calls = {ROUTE(0.1, 1, TARGET(0, UNSAFE, .check_time = HF_SECONDS(5), .settle = 0))},
     .plans = {{PLAN(EXECUTE_RESET, 20)}}},
    {.name = "cache-after-exhausted",
     .about = "both providers are exhausted: the last good answer stands in, and nothing is written down",
     .providers = 2,
     .attempts = 1,
     .degrades = true,
     .letters = HF_LETTER_ALL,
     .offer = {.source = HF_SOURCE_CACHE},
     .calls = {ROUTE(0.1, 2, HARMLESS(0), HARMLESS(1))},
     .plans = {{PLAN(STATUS_500, 20)}, {PLAN(REFUSE, 1)}}},
    {.name = "default-after-exhausted",
     .about = "there is no last good answer, but a default; it is the caller's own fault that has none",
     .providers = 1,
     .attempts = 1,
     .degrades = true,
     .offer = {.source = HF_SOURCE_DEGRADED, .degrade_delay = HF_MS(4)},
     .calls = {CALL(0.1, 0, READ_ONLY), CALL(1, 0, READ_ONLY)},
     .plans = {{PLAN(STATUS_500, 20), PLAN(INVALID_PARAMS, 20)}}},
    {.name = "no-default-over-an-effect",
     .about = "a default does not hide that an effect may have happened",
     .providers = 1,
     .degrades = true,
     .letters = HF_LETTER_UNSAFE,
     .offer = {.source = HF_SOURCE_DEGRADED},
     .calls = {CALL(0.1, 0, UNSAFE)},
     .plans = {{PLAN(EXECUTE_RESET, 20)}}},
    {.name = "letter-written",
     .about = "an unsafe tool may have run: a letter is written before the call ends, also when the caller is gone",
     .providers = 1,
     .letters = HF_LETTER_UNSAFE,
     .offer = {.letter_delay = HF_MS(15)},
     .calls = {CALL(0.1, 0, UNSAFE), CANCELLED_CALL(1, 1.5, 0, UNSAFE), CALL(3, 1, READ_ONLY)},
     .plans = {{PLAN(EXECUTE_RESET, 20), PLAN(OK, 2000), PLAN(STATUS_401, 20)}}},
    {.name = "letter-failed",
     .about = "the store refuses: the call ends all the same, and says so",
     .providers = 1,
     .attempts = 1,
     .letters = HF_LETTER_ALL,
     .offer = {.letter_delay = HF_MS(15), .store_fails = true},
     .calls = {CALL(0.1, 0, READ_ONLY)},
     .plans = {{PLAN(STATUS_500, 20)}}},
    {.name = "letter-hangs",
     .about = "the store hangs: two seconds, also past the deadline",
     .providers = 1,
     .letters = HF_LETTER_UNSAFE,
     .offer = {.letter_delay = HF_TIME_NEVER},
     .calls = {CALL(0.1, 0, UNSAFE)},
     .plans = {{PLAN(EXECUTE_HANG, 20)}}},
};

static void configure(struct sim_kernel *k, const struct scenario *s) {
  k->provider_options = (struct hf_provider_options)HF_PROVIDER_OPTIONS_INIT;
  k->provider_options.breaker.open = HF_SECONDS(30);
  k->tool_breaker = k->provider_options.breaker;
  k->call_options.timeout = (struct hf_timeout_options)HF_TIMEOUT_OPTIONS_INIT;
  k->call_options.retry = (struct hf_retry_options)HF_RETRY_OPTIONS_INIT;
  if (s->attempts)
    k->call_options.retry.attempts = s->attempts;
  if (s->failures)
    k->tool_breaker.failures = k->provider_options.breaker.failures = s->failures;
  if (s->concurrency)
    k->provider_options.max_concurrent = s->concurrency;
  k->call_options.degrades = s->degrades;
  k->call_options.letters = s->letters;
  k->hedge_after = s->hedge_after > 0 ? s->hedge_after : HF_TIME_NEVER;
}

static unsigned count_calls(const struct scenario *s) {
  unsigned n = 0;
  while (n < ARRIVALS_MAX && s->calls[n].at > 0)
    n++;
  return n;
}

static void load(struct sim_world *w, struct sim_kernel *k, const struct scenario *s) {
  for (size_t i = 0; i < s->providers; i++) {
    struct sim_upstream *u = &w->upstreams[i];
    u->script = s->plans[i];
    while (u->script_len < PLANS_MAX && s->plans[i][u->script_len].delay > 0)
      u->script_len++;
    u->starts = s->starts[i].ok;
    u->starts_len = s->starts[i].len;
  }
  for (unsigned i = 0; i < count_calls(s); i++) {
    const struct arrival *a = &s->calls[i];
    struct sim_target one = {.ttl = HF_TIME_NEVER, .provider = a->provider, .tool = a->tool};
    one.target.safety = a->safety;
    for (unsigned j = 0; j < a->route_len; j++)
      w->upstreams[a->route[j].provider].server = a->route[j].target.server;
    sim_kernel_call(k, i, a->at, a->cancel_at ? a->cancel_at : HF_TIME_NEVER, a->route_len ? a->route : &one,
                    a->route_len ? a->route_len : 1, &s->offer);
  }
}

/* Returns the violations. */
static unsigned long run(const struct scenario *s, FILE *trace) {
  struct sim_world world;
  struct sim_check check = {.seed = 1};
  struct sim_kernel kernel = {.world = &world, .check = &check, .trace = trace};
  configure(&kernel, s);
  if (sim_world_init(&world, 1, s->providers, count_calls(s)) < 0)
    abort();
  world.scripted = true;
  if (sim_kernel_init(&kernel) < 0)
    abort();
  load(&world, &kernel, s);
  fprintf(trace, "# %s\n", s->about);
  while (sim_world_turn(&world)) {
  }
  sim_kernel_check_end(&kernel);
  sim_kernel_deinit(&kernel);
  sim_world_deinit(&world);
  return check.violations;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file)
    return NULL;
  char *text = NULL;
  size_t len = 0;
  if (getdelim(&text, &len, '\0', file) < 0) {
    free(text);
    text = NULL;
  }
  fclose(file);
  return text;
}

static bool write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  if (!file)
    return false;
  bool ok = fputs(text, file) >= 0;
  return fclose(file) == 0 && ok;
}

/* Shows the first line that differs. */
static void show_difference(const char *want, const char *got) {
  while (*want && *want == *got) {
    const char *end = strchr(want, '\n');
    size_t len = end ? (size_t)(end - want) + 1 : strlen(want);
    if (strncmp(want, got, len) != 0)
      break;
    want += len;
    got += len;
  }
  printf("#   want: %.*s\n#   got:  %.*s\n", (int)strcspn(want, "\n"), want, (int)strcspn(got, "\n"), got);
}

static bool compare(const char *path, const char *got, bool update) {
  if (update)
    return write_file(path, got);
  char *want = read_file(path);
  bool same = want && strcmp(want, got) == 0;
  if (!same)
    show_difference(want ? want : "", got);
  free(want);
  return same;
}

int sim_scenarios_run(const char *dir, bool update) {
  size_t count = sizeof scenarios / sizeof *scenarios;
  int failed = 0;
  printf("1..%zu\n", count);
  for (size_t i = 0; i < count; i++) {
    char *text = NULL;
    size_t len = 0;
    FILE *trace = open_memstream(&text, &len);
    if (!trace)
      abort();
    unsigned long violations = run(&scenarios[i], trace);
    fclose(trace);
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s.trace", dir, scenarios[i].name) >= (int)sizeof path)
      abort();
    bool ok = compare(path, text, update) && violations == 0;
    printf("%s %zu - golden %s\n", ok ? "ok" : "not ok", i + 1, scenarios[i].name);
    failed += !ok;
    free(text);
  }
  return failed;
}
