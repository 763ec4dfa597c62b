/* Random events, in any order and at any time, for a provider and a few calls that share it: whatever the world does,
 * the kernel keeps its promises. Actions are performed between the two machines; the world's part (what the network and
 * the upstream do) is the input's. */
#include "policy/provider.h"

#include "base/list.h"
#include "require.h"

enum { CALLS = 6, TOOLS = 2, EVENTS_MAX = 4096 };

struct world;

struct player {
  struct world *world;
  struct hf_call call;
  unsigned tool;
  enum hf_safety safety;
  unsigned started; /* attempts */
  bool arrived;
  bool finished;
};

struct world {
  const uint8_t *data;
  size_t len;
  hf_time now;
  struct hf_provider *provider;
  struct hf_provider_tool *tools[TOOLS];
  struct player players[CALLS];
  unsigned slots;
  unsigned max_concurrent;
  uint32_t last_probe;
};

static void step_call(struct player *p, const struct hf_call_event *event);
static void step_provider(struct world *w, const struct hf_provider_event *event);

static uint8_t take(struct world *w) {
  if (w->len == 0)
    return 0;
  w->len--;
  return *w->data++;
}

static void report(struct player *p, const struct hf_report *r) {
  struct world *w = p->world;
  if (r->permit.holds_slot) {
    REQUIRE(w->slots > 0);
    w->slots--;
  }
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = w->tools[p->tool];
  event.report.report = *r;
  step_provider(w, &event);
}

static void perform_call(struct player *p, const struct hf_call_action *action, enum hf_executed executed) {
  struct world *w = p->world;
  REQUIRE(!p->finished || action->kind == HF_CALL_REPORT);
  switch (action->kind) {
  case HF_CALL_ACQUIRE:
    p->call.waiter.tool = w->tools[p->tool];
    step_provider(w, &(struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &p->call.waiter});
    break;
  case HF_CALL_WITHDRAW:
    step_provider(w, &(struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &p->call.waiter});
    break;
  case HF_CALL_START_ATTEMPT:
    REQUIRE(p->safety != HF_SAFETY_UNSAFE || executed == HF_EXECUTED_NO);
    REQUIRE(action->start.attempt == p->started++);
    REQUIRE(p->started <= p->call.retry.attempts + 1);
    break;
  case HF_CALL_ABORT_ATTEMPT:
    REQUIRE(action->abort.attempt < p->started);
    break;
  case HF_CALL_REPORT:
    report(p, &action->report);
    break;
  case HF_CALL_CHECK:
  case HF_CALL_ABORT_CHECK:
  case HF_CALL_DEGRADE:
  case HF_CALL_DEAD_LETTER:
    break; /* not asked for */
  case HF_CALL_FINISH:
    p->finished = true;
    REQUIRE(!p->call.waiter.queued);
    REQUIRE(action->outcome.attempts == p->started);
    break;
  }
}

static void step_call(struct player *p, const struct hf_call_event *event) {
  struct hf_call_actions out;
  enum hf_executed before = p->call.executed;
  hf_call_step(&p->call, event, p->world->now, &out);
  REQUIRE(p->call.executed >= before);
  for (unsigned i = 0; i < out.len; i++)
    perform_call(p, &out.items[i], p->call.executed);
  REQUIRE(!hf_call_finished(&p->call) || hf_call_deadline(&p->call) == HF_TIME_NEVER);
}

static void perform_provider(struct world *w, const struct hf_provider_action *action) {
  struct hf_call_event event = {0};
  if (action->kind == HF_PROVIDER_GRANT) {
    REQUIRE(++w->slots <= w->max_concurrent);
    if (action->permit.provider_probe) {
      REQUIRE(action->permit.provider_generation > w->last_probe);
      w->last_probe = action->permit.provider_generation;
    }
    event.kind = HF_CALL_PERMIT_GRANTED;
    event.granted.permit = action->permit;
  } else if (action->kind == HF_PROVIDER_REFUSE) {
    event.kind = HF_CALL_PERMIT_REFUSED;
    event.refused.reason = action->refuse.reason;
    event.refused.retry_at = action->refuse.retry_at;
    event.refused.evidence = action->refuse.evidence;
  } else {
    return; /* starts and probes end when the input says so */
  }
  struct hf_call *call = HF_CONTAINER_OF(action->waiter, struct hf_call, waiter);
  step_call(HF_CONTAINER_OF(call, struct player, call), &event);
}

static void step_provider(struct world *w, const struct hf_provider_event *event) {
  struct hf_provider_actions out;
  REQUIRE(hf_provider_step(w->provider, event, w->now, &out) == 0);
  for (unsigned i = 0; i < out.len; i++)
    REQUIRE(out.items[i].waiter == NULL || !out.items[i].waiter->queued);
  for (unsigned i = 0; i < out.len; i++)
    perform_provider(w, &out.items[i]);
}

static void arrive(struct world *w, struct player *p) {
  uint8_t bits = take(w);
  p->tool = bits & 1;
  p->safety = (enum hf_safety)(bits >> 1 & 3);
  struct hf_call_target target = {.safety = p->safety, .stateful = bits & 8};
  struct hf_call_options options = {.timeout = HF_TIMEOUT_OPTIONS_INIT,
                                    .retry = HF_RETRY_OPTIONS_INIT,
                                    .targets = &target,
                                    .target_count = 1,
                                    .seed = bits};
  options.retry.attempts = bits >> 4 & 7;
  hf_call_init(&p->call, &options);
  p->world = w;
  p->arrived = true;
  p->finished = false;
  p->started = 0;
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
  step_provider(w, &event);
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
    if (p->arrived && hf_call_deadline(&p->call) <= w->now)
      step_call(p, &(struct hf_call_event){.kind = HF_CALL_TIMER});
  }
  for (int i = 0; i < 100 && hf_provider_deadline(w->provider) <= w->now; i++) {
    REQUIRE(i < 99); /* it comes to rest */
    step_provider(w, &(struct hf_provider_event){.kind = HF_PROVIDER_TIMER});
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
    if (p->arrived && !p->finished)
      step_call(p, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
    break;
  default:
    if (!p->arrived || p->finished)
      arrive(w, p);
    else
      attempt_event(w, p, take(w));
  }
  serve_timers(w);
}

/* In the end every call is cancelled, and nothing may be left behind. */
static void check_end(struct world *w) {
  for (int i = 0; i < CALLS; i++) {
    struct player *p = &w->players[i];
    if (!p->arrived)
      continue;
    if (!p->finished)
      step_call(p, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
    REQUIRE(p->finished);
  }
  w->now += HF_SECONDS(1000);
  serve_timers(w);
  struct hf_provider_view view;
  hf_provider_view(w->provider, &view);
  REQUIRE(w->slots == 0 && view.in_flight == 0 && view.queued == 0);
  REQUIRE(view.breaker != HF_BREAKER_HALF_OPEN);
  for (int i = 0; i < TOOLS; i++)
    REQUIRE(hf_provider_tool_breaker(w->tools[i])->state != HF_BREAKER_HALF_OPEN);
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
  w.provider = hf_provider_new(&options, bits, w.now);
  REQUIRE(w.provider);
  REQUIRE(hf_provider_tool_get(w.provider, HF_STR("a"), &options.breaker, &w.tools[0]) == 0);
  REQUIRE(hf_provider_tool_get(w.provider, HF_STR("b"), &options.breaker, &w.tools[1]) == 0);
  for (int i = 0; i < EVENTS_MAX && w.len > 0; i++)
    turn(&w);
  check_end(&w);
  hf_provider_unref(w.provider);
  return 0;
}
