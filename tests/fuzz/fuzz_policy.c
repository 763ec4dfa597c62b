/* Random events, in any order and at any time, for two providers and a few calls that share them: whatever the world
 * does, the kernel keeps its promises. Actions are performed between the two machines; the world's part (what the
 * network and the upstream do) is the input's. */
#include "policy/provider.h"

#include "base/list.h"
#include "require.h"

enum { CALLS = 6, PROVIDERS = 2, TOOLS = 2, TARGETS = 3, EVENTS_MAX = 4096 };

struct world;

struct player {
  struct world *world;
  struct hf_call call;
  struct hf_call_target targets[TARGETS];
  unsigned count;
  unsigned tool;
  unsigned started; /* attempts */
  unsigned in_flight;
  unsigned permits; /* granted, and not reported for good */
  unsigned letters;
  bool acquiring;
  bool checking;
  bool offered;
  bool arrived;
  bool finished;
};

struct place {
  struct world *world;
  struct hf_provider *provider;
  struct hf_provider_tool *tools[TOOLS];
  unsigned slots;
  uint32_t last_probe;
};

struct world {
  const uint8_t *data;
  size_t len;
  hf_time now;
  struct place places[PROVIDERS];
  struct player players[CALLS];
  unsigned max_concurrent;
};

static void step_call(struct player *p, const struct hf_call_event *event);
static void step_provider(struct place *place, const struct hf_provider_event *event);

static uint8_t take(struct world *w) {
  if (w->len == 0)
    return 0;
  w->len--;
  return *w->data++;
}

/* Targets 0 and 2 are at the first provider. */
static struct place *place_of(struct player *p, unsigned target) {
  REQUIRE(target < p->count);
  return &p->world->places[target % PROVIDERS];
}

static void report(struct player *p, const struct hf_call_action *action) {
  struct place *place = place_of(p, action->provider);
  const struct hf_report *r = &action->report;
  if (r->permit.holds_slot) {
    REQUIRE(place->slots > 0 && p->permits > 0);
    place->slots--;
    p->permits--;
  }
  REQUIRE(r->latency < 0 || r->blame == HF_BLAME_SUCCESS);
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = place->tools[p->tool];
  event.report.report = *r;
  step_provider(place, &event);
}

static bool repeatable(const struct player *p, unsigned target) {
  const struct hf_call_target *t = &p->targets[target];
  return t->safety != HF_SAFETY_UNSAFE && (t->safety != HF_SAFETY_KEYED || p->world->now < t->keyed_until);
}

/* Nothing that may have run at any target forbids a run at this one. */
static void require_safe(const struct player *p, unsigned target) {
  for (unsigned i = 0; i < p->count; i++) {
    const struct hf_call_target *t = &p->targets[i];
    if (p->call.visits[i].ran == HF_EXECUTED_NO || (i != target && t->harmless))
      continue;
    REQUIRE(t->server == p->targets[target].server && repeatable(p, i) && repeatable(p, target));
  }
}

static void start_attempt(struct player *p, const struct hf_call_action *action) {
  require_safe(p, action->provider);
  REQUIRE(action->start.attempt == p->started++);
  REQUIRE(p->started <= p->count * (2 * p->call.retry.attempts + 2));
  REQUIRE(action->start.hedge == (p->in_flight == 1));
  REQUIRE(!action->start.hedge || p->targets[action->provider].harmless);
  REQUIRE(++p->in_flight <= 2);
}

static void finish(struct player *p, const struct hf_outcome *outcome) {
  p->finished = true;
  REQUIRE(!p->call.waiter.queued && !p->acquiring && !p->checking && p->in_flight == 0);
  REQUIRE(outcome->attempts == p->started);
  REQUIRE(outcome->source == HF_SOURCE_LIVE || p->offered);
  REQUIRE((outcome->letter != HF_LETTER_NONE) == (p->letters > 0));
}

static void perform_call(struct player *p, const struct hf_call_action *action) {
  REQUIRE(!p->finished || action->kind == HF_CALL_REPORT);
  switch (action->kind) {
  case HF_CALL_ACQUIRE: {
    struct place *place = place_of(p, action->provider);
    REQUIRE(!p->acquiring);
    p->acquiring = true;
    p->call.waiter.tool = place->tools[p->tool];
    step_provider(place, &(struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &p->call.waiter});
    break;
  }
  case HF_CALL_WITHDRAW:
    REQUIRE(p->acquiring);
    p->acquiring = false;
    step_provider(place_of(p, action->provider),
                  &(struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &p->call.waiter});
    break;
  case HF_CALL_START_ATTEMPT:
    start_attempt(p, action);
    break;
  case HF_CALL_ABORT_ATTEMPT:
    REQUIRE(action->abort.attempt < p->started && p->in_flight > 0);
    p->in_flight--;
    break;
  case HF_CALL_REPORT:
    report(p, action);
    break;
  case HF_CALL_CHECK:
    REQUIRE(!p->checking && p->targets[action->provider].check_time > 0 && action->check_by <= p->call.deadline);
    p->checking = true;
    break;
  case HF_CALL_ABORT_CHECK:
    REQUIRE(p->checking);
    p->checking = false;
    break;
  case HF_CALL_DEGRADE:
    break;
  case HF_CALL_DEAD_LETTER:
    REQUIRE(p->letters++ == 0);
    break;
  case HF_CALL_FINISH:
    finish(p, &action->outcome);
    break;
  }
}

static void step_call(struct player *p, const struct hf_call_event *event) {
  struct hf_call_actions out;
  enum hf_executed before = p->call.executed;
  unsigned flying = p->call.attempt[0].in_flight + p->call.attempt[1].in_flight;
  bool ends_one = event->kind == HF_CALL_ATTEMPT_DONE && hf_call_attempt(&p->call, event->attempt) != NULL;
  if (event->kind == HF_CALL_PERMIT_GRANTED || event->kind == HF_CALL_PERMIT_REFUSED)
    p->acquiring = false;
  REQUIRE(p->in_flight == flying);
  p->in_flight -= ends_one;
  if (event->kind == HF_CALL_CHECKED && p->call.state == HF_CALL_STATE_CHECKING)
    p->checking = false;
  if (event->kind == HF_CALL_DEGRADED && p->call.state == HF_CALL_STATE_DEGRADING)
    p->offered = event->degraded.source != HF_SOURCE_LIVE;
  hf_call_step(&p->call, event, p->world->now, &out);
  REQUIRE(p->call.executed >= before || (event->kind == HF_CALL_CHECKED && event->check == HF_CHECK_DID_NOT_RUN));
  for (unsigned i = 0; i < out.len; i++)
    perform_call(p, &out.items[i]);
  REQUIRE(!hf_call_finished(&p->call) || hf_call_deadline(&p->call) == HF_TIME_NEVER);
}

static void perform_provider(struct place *place, const struct hf_provider_action *action) {
  struct hf_call_event event = {0};
  if (action->kind != HF_PROVIDER_GRANT && action->kind != HF_PROVIDER_REFUSE)
    return; /* starts and probes end when the input says so */
  struct hf_call *call = HF_CONTAINER_OF(action->waiter, struct hf_call, waiter);
  struct player *p = HF_CONTAINER_OF(call, struct player, call);
  if (action->kind == HF_PROVIDER_GRANT) {
    REQUIRE(++place->slots <= place->world->max_concurrent);
    if (action->permit.provider_probe) {
      REQUIRE(action->permit.provider_generation > place->last_probe);
      place->last_probe = action->permit.provider_generation;
    }
    event.kind = HF_CALL_PERMIT_GRANTED;
    event.granted.permit = action->permit;
    event.granted.permit.hedge_after = HF_MS(200);
    p->permits++;
  } else {
    event.kind = HF_CALL_PERMIT_REFUSED;
    event.refused.reason = action->refuse.reason;
    event.refused.retry_at = action->refuse.retry_at;
    event.refused.evidence = action->refuse.evidence;
  }
  step_call(p, &event);
}

static void step_provider(struct place *place, const struct hf_provider_event *event) {
  struct hf_provider_actions out;
  REQUIRE(hf_provider_step(place->provider, event, place->world->now, &out) == 0);
  for (unsigned i = 0; i < out.len; i++)
    REQUIRE(out.items[i].waiter == NULL || !out.items[i].waiter->queued);
  for (unsigned i = 0; i < out.len; i++)
    perform_provider(place, &out.items[i]);
}

static struct hf_call_target draw_target(struct world *w) {
  uint8_t bits = take(w);
  struct hf_call_target t = {.safety = (enum hf_safety)(bits & 3), .stateful = bits & 4, .server = bits >> 3 & 1};
  t.harmless = t.safety == HF_SAFETY_READ_ONLY && (bits & 16);
  t.hedged = bits & 32;
  t.keyed_until = bits & 64 ? HF_TIME_NEVER : w->now + HF_SECONDS(2);
  if (bits & 128) {
    t.check_time = HF_SECONDS(5);
    t.settle = bits & 4 ? HF_TIME_NEVER : HF_SECONDS(bits >> 3 & 7);
  }
  return t;
}

static void arrive(struct world *w, struct player *p) {
  uint8_t bits = take(w), more = take(w);
  *p = (struct player){.world = w, .arrived = true, .tool = bits & 1, .count = 1 + (bits >> 1 & 3) % TARGETS};
  for (unsigned i = 0; i < p->count; i++)
    p->targets[i] = draw_target(w);
  struct hf_call_options options = {.timeout = HF_TIMEOUT_OPTIONS_INIT,
                                    .retry = HF_RETRY_OPTIONS_INIT,
                                    .targets = p->targets,
                                    .target_count = p->count,
                                    .degrades = bits & 8,
                                    .letters = (enum hf_letter_policy)(more % 3),
                                    .seed = bits};
  options.retry.attempts = bits >> 4 & 7;
  options.hints.stay = more & 16;
  options.hints.max_attempts = more & 32 ? more >> 6 : 0;
  hf_call_init(&p->call, &options);
  step_call(p, &(struct hf_call_event){.kind = HF_CALL_STARTED});
}

static struct hf_evidence draw_evidence(struct world *w) {
  static const int statuses[] = {200, 400, 401, 404, 409, 429, 500, 503, 302, -1};
  static const int codes[] = {0, -32600, -32601, -32602, -32603, -32000, -32001, -32042, -32700, 7};
  uint8_t bits = take(w);
  struct hf_evidence e = HF_EVIDENCE((enum hf_evidence_kind)(take(w) % (HF_EVIDENCE_DEADLINE + 1)));
  e.http_status = statuses[take(w) % 10];
  e.jsonrpc_code = codes[take(w) % 10];
  e.carried_session = bits & 1;
  e.says_session_lost = bits & 2;
  e.listed_unexecuted = bits & 4;
  e.matches_transient = bits & 8;
  e.child_dead = bits & 1;
  e.retry_after = bits & 16 ? HF_SECONDS(bits >> 5) * 20 : -1;
  return e;
}

static void attempt_event(struct world *w, struct player *p, uint8_t what) {
  struct hf_call_event event = {.attempt = take(w) % 8};
  if (what & 1 && p->started > 0)
    event.attempt = p->started - 1;
  switch (what >> 1 & 7) {
  case 0:
  case 1:
    event.kind = HF_CALL_ATTEMPT_SENT;
    event.sent.bytes = what & 16;
    event.sent.complete = what & 32;
    break;
  case 2:
    event.kind = HF_CALL_SIGN_OF_LIFE;
    break;
  case 3:
    event.kind = HF_CALL_ANSWER_BYTES;
    break;
  case 4:
    event.kind = what & 16 ? HF_CALL_PAUSED : HF_CALL_RESUMED;
    break;
  default:
    event.kind = HF_CALL_ATTEMPT_DONE;
    event.done.result = (enum hf_attempt_result)(take(w) % 3);
    if (event.done.result == HF_ATTEMPT_FAULT)
      event.done.evidence = draw_evidence(w);
  }
  step_call(p, &event);
}

/* What is asked of the owner beside attempts is answered, also when it was not asked. */
static void aside_event(struct world *w, struct player *p, uint8_t what) {
  struct hf_call_event event = {.kind = HF_CALL_CHECKED, .check = (enum hf_check)(what >> 2 & 3)};
  if (event.check > HF_CHECK_DID_NOT_RUN)
    event.check = HF_CHECK_DID_NOT_RUN;
  if ((what & 3) == 1) {
    event = (struct hf_call_event){.kind = HF_CALL_DEGRADED};
    event.degraded.source = (enum hf_source)((what >> 2) % HF_SOURCE_COUNT);
    event.degraded.age = HF_SECONDS(take(w));
  } else if ((what & 3) == 2) {
    event = (struct hf_call_event){.kind = HF_CALL_LETTER_DONE, .letter_written = what & 4};
  }
  step_call(p, &event);
}

static void provider_event(struct world *w, uint8_t what) {
  struct hf_provider_event event = {0};
  switch (what & 3) {
  case 0:
    event.kind = HF_PROVIDER_UPSTREAM_READY;
    break;
  case 1:
    event.kind = HF_PROVIDER_UPSTREAM_DOWN;
    event.down.evidence = draw_evidence(w);
    event.down.not_before = what & 4 ? HF_TIME_NEVER : w->now + HF_MS(take(w)) * 100;
    break;
  case 2:
    event.kind = HF_PROVIDER_PROBE_DONE;
    event.probe_ok = what & 4;
    break;
  default:
    event.kind = HF_PROVIDER_TIMER;
  }
  step_provider(&w->places[what >> 7], &event);
}

/* Time mostly goes on; sometimes it jumps, either way. */
static void pass_time(struct world *w, uint8_t what) {
  if (what & 1)
    w->now += HF_MS(what);
  else if (what & 2)
    w->now += HF_SECONDS(what);
  else if (w->now > HF_SECONDS(10))
    w->now -= HF_SECONDS(what & 8);
}

static void serve_timers(struct world *w) {
  for (int i = 0; i < CALLS; i++) {
    struct player *p = &w->players[i];
    for (int j = 0; p->arrived && hf_call_deadline(&p->call) <= w->now; j++) {
      REQUIRE(j < 100); /* it comes to rest */
      step_call(p, &(struct hf_call_event){.kind = HF_CALL_TIMER});
    }
  }
  for (int at = 0; at < PROVIDERS; at++) {
    struct place *place = &w->places[at];
    for (int i = 0; i < 100 && hf_provider_deadline(place->provider) <= w->now; i++) {
      REQUIRE(i < 99); /* it comes to rest */
      step_provider(place, &(struct hf_provider_event){.kind = HF_PROVIDER_TIMER});
    }
  }
}

static void turn(struct world *w) {
  uint8_t what = take(w);
  struct player *p = &w->players[take(w) % CALLS];
  switch (what & 7) {
  case 0:
    pass_time(w, take(w));
    break;
  case 1:
    provider_event(w, take(w));
    break;
  case 2:
    if (!p->arrived || p->finished)
      break;
    if (what & 8)
      hf_call_outlive(&p->call);
    else
      step_call(p, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
    break;
  case 3:
    if (p->arrived)
      aside_event(w, p, take(w));
    break;
  default:
    if (!p->arrived || p->finished)
      arrive(w, p);
    else
      attempt_event(w, p, take(w));
  }
  serve_timers(w);
}

static void check_place(struct place *place) {
  struct hf_provider_view view;
  hf_provider_view(place->provider, &view);
  REQUIRE(place->slots == 0 && view.in_flight == 0 && view.queued == 0);
  REQUIRE(view.breaker != HF_BREAKER_HALF_OPEN);
  for (int i = 0; i < TOOLS; i++)
    REQUIRE(hf_provider_tool_breaker(place->tools[i])->state != HF_BREAKER_HALF_OPEN);
}

/* In the end every call is cancelled, its letter may take its time, and nothing may be left behind. */
static void check_end(struct world *w) {
  for (int i = 0; i < CALLS; i++) {
    struct player *p = &w->players[i];
    if (p->arrived && !p->finished)
      step_call(p, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
  }
  w->now += HF_SECONDS(1000);
  serve_timers(w);
  for (int i = 0; i < CALLS; i++)
    REQUIRE(!w->players[i].arrived || (w->players[i].finished && w->players[i].permits == 0));
  for (int i = 0; i < PROVIDERS; i++)
    check_place(&w->places[i]);
}

static void open_place(struct world *w, struct place *place, const struct hf_provider_options *options, uint8_t seed) {
  place->world = w;
  place->provider = hf_provider_new(options, seed, w->now);
  REQUIRE(place->provider);
  REQUIRE(hf_provider_tool_get(place->provider, HF_STR("a"), &options->breaker, &place->tools[0]) == 0);
  REQUIRE(hf_provider_tool_get(place->provider, HF_STR("b"), &options->breaker, &place->tools[1]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  struct world w = {.data = data, .len = len, .now = HF_SECONDS(1)};
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  uint8_t bits = take(&w);
  options.max_concurrent = w.max_concurrent = 1 + (bits & 3);
  options.max_queued = bits >> 2 & 3;
  options.budget.burst = bits >> 4 & 7;
  options.breaker.failures = 1 + (bits >> 6 & 1);
  if (bits & 128)
    options.probe_timeout = 0;
  for (int i = 0; i < PROVIDERS; i++)
    open_place(&w, &w.places[i], &options, bits);
  for (int i = 0; i < EVENTS_MAX && w.len > 0; i++)
    turn(&w);
  check_end(&w);
  for (int i = 0; i < PROVIDERS; i++)
    hf_provider_unref(w.places[i].provider);
  return 0;
}
