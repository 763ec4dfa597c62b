#include "policy/provider.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/map.h"
#include "policy/bulkhead.h"
#include "policy/jitter.h"
#include "policy/limiter.h"
#include "policy/queue.h"
#include "policy/tool.h"

#include <assert.h>

enum probe_state {
  PROBE_NONE,
  PROBE_OUT,    /* asked for, until probe_until */
  PROBE_PASSED, /* the upstream answers: a real call may be the probe that counts */
};

struct hf_provider {
  unsigned refs;
  struct hf_provider_options options;
  uint64_t random;
  hf_time now; /* the latest time seen: time never runs backwards here */

  struct hf_breaker breaker;
  struct hf_budget budget;
  struct hf_bulkhead slots;
  struct hf_limiter limiter; /* of the slots, if they adapt */
  struct hf_map tools;
  struct hf_provider_tool rest; /* of the tools beyond max_tools */

  /* Tools that failed since the last success: one is its own trouble, several are the provider's. */
  const struct hf_provider_tool *failing;
  bool several_failing;

  struct hf_list queue;  /* waiters, in their order */
  struct hf_list doomed; /* waiters whose upstream failed to start; to be refused */
  unsigned queued;       /* in both */
  bool backlog;          /* there was more to hand out than one list holds */
  hf_time wake_at;       /* when a waiter or a lease may be due */

  enum hf_provider_upstream upstream;
  struct hf_evidence down_why;
  hf_time not_before; /* down: no start before this */

  enum probe_state probe;
  hf_time probe_until;

  uint64_t budget_refusals;
  uint64_t limit_refusals;
};

/* Room that the queue leaves in a list: one start and one probe of the upstream. */
enum { ACTIONS_RESERVED = 2 };

/* A probe's lease outlasts what the call itself allows the attempt: its own timeout is a result, not a loss. */
static const hf_time LEASE_GRACE = HF_SECONDS(1);

static struct hf_limiter_options limiter_options(const struct hf_provider_options *options) {
  struct hf_limiter_options limiter = HF_LIMITER_OPTIONS_INIT;
  limiter.max = options->max_concurrent;
  return limiter;
}

static void set_limit(struct hf_provider *p) {
  p->slots.limit = p->options.adaptive ? hf_limiter_limit(&p->limiter) : p->options.max_concurrent;
}

struct hf_provider *hf_provider_new(const struct hf_provider_options *options, uint64_t seed, hf_time now) {
  struct hf_provider *p = hf_calloc(1, sizeof *p);
  if (!p)
    return NULL;
  p->refs = 1;
  p->options = *options;
  p->random = seed;
  p->now = now;
  p->wake_at = HF_TIME_NEVER;
  p->down_why = HF_EVIDENCE(HF_EVIDENCE_NONE);
  hf_breaker_init(&p->breaker, &options->breaker);
  hf_budget_init(&p->budget, &options->budget, now);
  struct hf_limiter_options limiter = limiter_options(options);
  hf_limiter_init(&p->limiter, &limiter);
  set_limit(p);
  hf_provider_tool_init(&p->rest, &options->breaker);
  hf_map_init(&p->tools, options->max_tools);
  hf_list_init(&p->queue);
  hf_list_init(&p->doomed);
  return p;
}

struct hf_provider *hf_provider_ref(struct hf_provider *provider) {
  provider->refs++;
  return provider;
}

void hf_provider_unref(struct hf_provider *provider) {
  if (!provider || --provider->refs > 0)
    return;
  assert(provider->queued == 0);
  for (size_t i = 0; i < provider->tools.len; i++)
    hf_free(provider->tools.entries[i].value);
  hf_map_deinit(&provider->tools);
  hf_free(provider);
}

void hf_provider_configure(struct hf_provider *provider, const struct hf_provider_options *options) {
  provider->options = *options;
  provider->tools.max = options->max_tools;
  hf_breaker_configure(&provider->breaker, &options->breaker);
  hf_breaker_configure(&provider->rest.breaker, &options->breaker);
  hf_budget_configure(&provider->budget, &options->budget);
  struct hf_limiter_options limiter = limiter_options(options);
  hf_limiter_configure(&provider->limiter, &limiter);
  set_limit(provider);
  provider->backlog = !hf_list_empty(&provider->queue); /* there may be more slots */
}

int hf_provider_tool_get(struct hf_provider *provider, struct hf_str name, const struct hf_breaker_options *options,
                         struct hf_provider_tool **ret_tool) {
  struct hf_provider_tool *tool = hf_map_get(&provider->tools, name);
  if (tool) {
    hf_breaker_configure(&tool->breaker, options);
    *ret_tool = tool;
    return 0;
  }
  tool = hf_calloc(1, sizeof *tool);
  if (!tool)
    return HF_ERR_NOMEM;
  hf_provider_tool_init(tool, options);
  int r = hf_map_put(&provider->tools, name, tool);
  if (r < 0) {
    hf_free(tool);
    if (r != HF_ERR_LIMIT)
      return r;
    tool = &provider->rest;
  }
  *ret_tool = tool;
  return 0;
}

bool hf_provider_tool_at(const struct hf_provider *provider, size_t index, struct hf_str *ret_name,
                         const struct hf_breaker **ret_breaker) {
  if (index >= provider->tools.len)
    return false;
  const struct hf_map_entry *entry = &provider->tools.entries[index];
  *ret_name = (struct hf_str){entry->key, entry->key_len};
  *ret_breaker = &((const struct hf_provider_tool *)entry->value)->breaker;
  return true;
}

enum hf_breaker_gate hf_provider_gate(const struct hf_provider *provider, const struct hf_provider_tool *tool,
                                      hf_time now) {
  bool starts = provider->upstream == HF_PROVIDER_IS_STARTING;
  if (provider->upstream == HF_PROVIDER_IS_DOWN && now < provider->not_before)
    return HF_BREAKER_STOP;
  enum hf_breaker_gate ours = hf_breaker_gate(&provider->breaker, now);
  if (ours == HF_BREAKER_PROBE && (starts || provider->probe == PROBE_OUT))
    return HF_BREAKER_STOP; /* somebody waits for it already */
  enum hf_breaker_gate its = hf_breaker_gate(&tool->breaker, now);
  return ours > its ? ours : its;
}

static struct hf_provider_action *push(struct hf_provider_actions *out, enum hf_provider_action_kind kind,
                                       struct hf_waiter *waiter) {
  assert(out->len < HF_PROVIDER_ACTIONS_MAX);
  struct hf_provider_action *action = &out->items[out->len++];
  *action = (struct hf_provider_action){.kind = kind, .waiter = waiter};
  return action;
}

static void dequeue(struct hf_provider *p, struct hf_waiter *w) {
  if (!w->queued)
    return;
  hf_list_remove(&w->node);
  w->queued = false;
  p->queued--;
}

static void refuse(struct hf_provider *p, struct hf_waiter *w, enum hf_denial reason, hf_time retry_at,
                   struct hf_provider_actions *out) {
  dequeue(p, w);
  struct hf_provider_action *action = push(out, HF_PROVIDER_REFUSE, w);
  action->refuse.reason = reason;
  action->refuse.retry_at = retry_at;
  action->refuse.evidence = p->down_why;
}

static void wake_by(struct hf_provider *p, hf_time at) {
  p->wake_at = hf_time_min(p->wake_at, at);
}

static void lease(struct hf_provider *p, struct hf_breaker *breaker, const struct hf_waiter *w) {
  hf_time end = hf_time_min(w->until, hf_time_add(p->now, w->lease));
  hf_breaker_lease(breaker, hf_time_add(hf_time_max(end, p->now), LEASE_GRACE));
  wake_by(p, breaker->open_until);
}

static void grant(struct hf_provider *p, struct hf_waiter *w, struct hf_provider_actions *out) {
  dequeue(p, w);
  bool provider_probe = hf_breaker_gate(&p->breaker, p->now) == HF_BREAKER_PROBE;
  bool tool_probe = hf_breaker_gate(&w->tool->breaker, p->now) == HF_BREAKER_PROBE;
  if (provider_probe) {
    lease(p, &p->breaker, w);
    p->probe = PROBE_NONE;
  }
  if (tool_probe)
    lease(p, &w->tool->breaker, w);
  hf_bulkhead_take(&p->slots);
  hf_bulkhead_take(&w->tool->slots);
  push(out, HF_PROVIDER_GRANT, w)->permit = (struct hf_permit){
      .provider_generation = p->breaker.generation,
      .tool_generation = w->tool->breaker.generation,
      .granted_at = p->now,
      .holds_slot = true,
      .provider_probe = provider_probe,
      .tool_probe = tool_probe,
      .hedge_after = hf_provider_tool_hedge_after(w->tool),
  };
}

/* The time until which a stopped breaker stops, or 0. */
static hf_time stopped_until(const struct hf_breaker *breaker, hf_time now) {
  return hf_breaker_gate(breaker, now) == HF_BREAKER_STOP ? breaker->open_until : 0;
}

/* When a stopped breaker may let a call through: the probe that is out can end at any time. */
static hf_time opens_at(const struct hf_breaker *breaker, hf_time now) {
  return breaker->state == HF_BREAKER_HALF_OPEN ? now : stopped_until(breaker, now);
}

/* Sees to it that the upstream can take a call. Returns true if it can now; else `ret_wait` is when to look again. */
static bool upstream_is_ready(struct hf_provider *p, hf_time *ret_wait, struct hf_provider_actions *out) {
  *ret_wait = HF_TIME_NEVER;
  switch (p->upstream) {
  case HF_PROVIDER_IS_DOWN:
    if (p->now < p->not_before) {
      *ret_wait = p->not_before;
      return false;
    }
    p->upstream = HF_PROVIDER_IS_STARTING;
    push(out, HF_PROVIDER_START_UPSTREAM, NULL);
    return false;
  case HF_PROVIDER_IS_STARTING:
    return false;
  case HF_PROVIDER_IS_READY:
    break;
  }
  if (p->options.probe_timeout == 0 || p->probe == PROBE_PASSED ||
      hf_breaker_gate(&p->breaker, p->now) != HF_BREAKER_PROBE)
    return true;
  if (p->probe == PROBE_NONE) {
    p->probe = PROBE_OUT;
    p->probe_until = hf_time_add(p->now, p->options.probe_timeout);
    push(out, HF_PROVIDER_PROBE_UPSTREAM, NULL);
  }
  return false;
}

static void refuse_for_limit(struct hf_provider *p, struct hf_waiter *w, hf_time wait,
                             struct hf_provider_actions *out) {
  p->limit_refusals++;
  refuse(p, w, HF_DENIAL_LIMIT, wait > 0 ? hf_time_add(p->now, wait) : HF_TIME_NEVER, out);
}

static hf_time expected_wait(const struct hf_provider *p, const struct hf_waiter *w,
                             const struct hf_queue_place *place) {
  return hf_time_max(hf_bulkhead_wait(&p->slots, place->ahead),
                     hf_bulkhead_wait(&w->tool->slots, place->ahead_of_tool));
}

/* Only a slot is missing. Returns true if the waiter has missed one for too long, and is refused. */
static bool wait_for_slot(struct hf_provider *p, struct hf_waiter *w, struct hf_provider_actions *out) {
  if (w->full_since == HF_TIME_NEVER)
    w->full_since = p->now;
  if (p->options.max_wait == 0)
    return false;
  hf_time until = hf_time_add(w->full_since, p->options.max_wait);
  if (p->now < until) {
    wake_by(p, until);
    return false;
  }
  struct hf_queue_place first = {0};
  refuse_for_limit(p, w, expected_wait(p, w, &first), out);
  return true;
}

/* Grants, refuses, or returns false: the waiter has to wait (and wake_at is set, if time alone can help). */
static bool admit(struct hf_provider *p, struct hf_waiter *w, struct hf_provider_actions *out) {
  hf_time stop = hf_time_max(stopped_until(&p->breaker, p->now), stopped_until(&w->tool->breaker, p->now));
  hf_time wait;
  if (stop > 0) {
    w->full_since = HF_TIME_NEVER;
    hf_time soonest = hf_time_max(opens_at(&p->breaker, p->now), opens_at(&w->tool->breaker, p->now));
    if (w->may_wait && soonest < w->until) {
      wake_by(p, stop);
      return false;
    }
    refuse(p, w, HF_DENIAL_BREAKER, stop, out);
    return true;
  }
  if (!upstream_is_ready(p, &wait, out)) {
    w->full_since = HF_TIME_NEVER;
    if (p->upstream == HF_PROVIDER_IS_DOWN && wait >= w->until) {
      refuse(p, w, HF_DENIAL_DOWN, wait, out);
      return true;
    }
    wake_by(p, wait);
    return false;
  }
  if (hf_bulkhead_is_full(&p->slots) || hf_bulkhead_is_full(&w->tool->slots))
    return wait_for_slot(p, w, out);
  if (!w->is_retry) {
    hf_budget_deposit(&p->budget, p->now);
  } else if (!hf_budget_withdraw(&p->budget, p->now)) {
    p->budget_refusals++;
    refuse(p, w, HF_DENIAL_BUDGET, HF_TIME_NEVER, out);
    return true;
  }
  grant(p, w, out);
  return true;
}

static bool list_is_full(const struct hf_provider_actions *out) {
  return out->len + ACTIONS_RESERVED >= HF_PROVIDER_ACTIONS_MAX;
}

/* Hands out what can be handed out. With `all`, also refuses and rearms those that no slot can help; without, it stops
 * when the slots are gone. */
static void serve(struct hf_provider *p, bool all, struct hf_provider_actions *out) {
  struct hf_list *it, *next;
  p->backlog = false;
  HF_LIST_FOREACH (it, next, &p->doomed) {
    if (list_is_full(out)) {
      p->backlog = true;
      return;
    }
    refuse(p, HF_CONTAINER_OF(it, struct hf_waiter, node), HF_DENIAL_DOWN, p->not_before, out);
  }
  HF_LIST_FOREACH (it, next, &p->queue) {
    if (!all && hf_bulkhead_is_full(&p->slots))
      return;
    if (list_is_full(out)) {
      p->backlog = true;
      return;
    }
    admit(p, HF_CONTAINER_OF(it, struct hf_waiter, node), out);
  }
}

/* Whether a slot would probably come too late: after max_wait, or so that the call would not end by its deadline. */
static bool is_hopeless(const struct hf_provider *p, const struct hf_waiter *w, hf_time wait) {
  if (w->full_since == HF_TIME_NEVER || wait == 0)
    return false;
  return (p->options.max_wait > 0 && wait > p->options.max_wait) ||
         hf_time_add(p->now, wait + w->tool->slots.held) > w->until;
}

/* Makes room in a full queue, if somebody in it is less important. */
static bool displace(struct hf_provider *p, const struct hf_waiter *w, struct hf_provider_actions *out) {
  struct hf_waiter *last = hf_queue_last_after(&p->queue, w);
  if (!last)
    return false;
  dequeue(p, last);
  struct hf_queue_place place = hf_queue_find(&p->queue, last);
  refuse_for_limit(p, last, expected_wait(p, last, &place), out);
  return true;
}

static int on_acquire(struct hf_provider *p, struct hf_waiter *w, struct hf_provider_actions *out) {
  if (w->queued)
    return HF_ERR_INVALID;
  w->queued_at = p->now;
  w->full_since = HF_TIME_NEVER;
  /* Without a backlog nobody in the queue could go now, so that whoever can go now overtakes nobody. */
  if (!p->backlog && admit(p, w, out))
    return 0;
  struct hf_queue_place place = hf_queue_find(&p->queue, w);
  hf_time wait = expected_wait(p, w, &place);
  if (is_hopeless(p, w, wait) || (p->queued >= p->options.max_queued && !displace(p, w, out))) {
    refuse_for_limit(p, w, wait, out);
    return 0;
  }
  place = hf_queue_find(&p->queue, w);
  hf_list_push_back(place.next, &w->node);
  w->queued = true;
  p->queued++;
  return 0;
}

/* Notes who failed, and says whether this failure is evidence against the provider as a whole. */
static bool is_provider_trouble(struct hf_provider *p, const struct hf_provider_tool *tool, enum hf_blame blame) {
  switch (blame) {
  case HF_BLAME_NOBODY:
    return false;
  case HF_BLAME_PROVIDER:
    return true;
  case HF_BLAME_SUCCESS:
  case HF_BLAME_ANSWER:
    p->failing = NULL;
    p->several_failing = false;
    return false;
  case HF_BLAME_TOOL:
    if (!p->failing)
      p->failing = tool;
    else if (p->failing != tool)
      p->several_failing = true;
    return p->several_failing;
  }
  return false;
}

static bool record_provider(struct hf_provider *p, const struct hf_provider_tool *tool, const struct hf_report *report,
                            hf_time at_least) {
  const struct hf_permit *permit = &report->permit;
  if (permit->provider_generation != p->breaker.generation || (report->deferred && !permit->provider_probe))
    return false;
  enum hf_verdict verdict = HF_VERDICT_NEUTRAL;
  if (is_provider_trouble(p, tool, report->blame))
    verdict = HF_VERDICT_FAILURE;
  else if (report->blame == HF_BLAME_SUCCESS || report->blame == HF_BLAME_ANSWER)
    verdict = HF_VERDICT_SUCCESS;
  return hf_breaker_record(&p->breaker, permit->provider_generation, verdict, at_least, p->now,
                           hf_jitter_next(&p->random));
}

static bool record_tool(struct hf_provider *p, struct hf_provider_tool *tool, const struct hf_report *report,
                        hf_time at_least) {
  const struct hf_permit *permit = &report->permit;
  if (report->deferred && !permit->tool_probe)
    return false;
  enum hf_verdict verdict = hf_provider_tool_verdict(tool, report);
  return hf_breaker_record(&tool->breaker, permit->tool_generation, verdict, at_least, p->now,
                           hf_jitter_next(&p->random));
}

/* What a call that held a slot says of how crowded the server is. */
static void adapt(struct hf_provider *p, struct hf_provider_tool *tool, const struct hf_report *report) {
  struct hf_limiter_sample sample = {
      .started = report->permit.granted_at, .latency = report->latency, .in_flight = p->slots.in_flight};
  sample.failed = report->blame == HF_BLAME_TOOL || report->blame == HF_BLAME_PROVIDER || report->retry_after >= 0;
  bool answered = report->blame == HF_BLAME_SUCCESS && report->latency >= 0;
  if (!sample.failed && !answered)
    return;
  hf_limiter_record_kind(&p->limiter, &sample, &tool->usual, p->now);
  set_limit(p);
}

static void give_back_slot(struct hf_provider *p, struct hf_provider_tool *tool, const struct hf_report *report) {
  if (p->options.adaptive)
    adapt(p, tool, report);
  hf_time held = p->now - report->permit.granted_at;
  hf_bulkhead_give_back(&p->slots, held);
  hf_bulkhead_give_back(&tool->slots, held);
}

static void on_report(struct hf_provider *p, struct hf_provider_tool *tool, const struct hf_report *report,
                      struct hf_provider_actions *out) {
  if (report->permit.holds_slot)
    give_back_slot(p, tool, report);
  if (report->blame == HF_BLAME_SUCCESS && report->latency >= 0)
    hf_latency_add(&tool->latency, report->latency, p->now);
  hf_time at_least = hf_time_max(0, report->retry_after);
  bool changed = record_tool(p, tool, report, at_least);
  if (record_provider(p, tool, report, at_least)) {
    p->probe = PROBE_NONE;
    changed = true;
  }
  serve(p, changed, out);
}

/* A start or a synthetic probe failed while the breaker was waiting for one: the outage goes on. */
static void still_out(struct hf_provider *p) {
  if (p->breaker.state == HF_BREAKER_OPEN && p->now >= p->breaker.open_until)
    hf_breaker_reopen(&p->breaker, p->now, hf_jitter_next(&p->random));
}

static void start_failed(struct hf_provider *p) {
  if (p->breaker.state == HF_BREAKER_CLOSED)
    hf_breaker_record(&p->breaker, p->breaker.generation, HF_VERDICT_FAILURE, 0, p->now, hf_jitter_next(&p->random));
  else
    still_out(p);
  /* Each waiting call learns why, and its own retry decides what that is worth. */
  if (hf_list_empty(&p->queue))
    return;
  struct hf_list *first = p->queue.next, *last = p->queue.prev;
  hf_list_remove(&p->queue);
  first->prev = p->doomed.prev;
  p->doomed.prev->next = first;
  last->next = &p->doomed;
  p->doomed.prev = last;
}

static void on_upstream_down(struct hf_provider *p, const struct hf_provider_event *event,
                             struct hf_provider_actions *out) {
  /* The upstream also starts by itself, when its own pause is over: whoever waited has waited for that start. */
  bool starting = p->upstream != HF_PROVIDER_IS_READY;
  p->upstream = HF_PROVIDER_IS_DOWN;
  p->down_why = event->down.evidence;
  p->not_before = event->down.not_before;
  p->probe = PROBE_NONE;
  if (starting && event->down.evidence.kind != HF_EVIDENCE_NONE)
    start_failed(p);
  serve(p, true, out);
}

static void on_upstream_ready(struct hf_provider *p, struct hf_provider_actions *out) {
  p->upstream = HF_PROVIDER_IS_READY;
  p->down_why = HF_EVIDENCE(HF_EVIDENCE_NONE);
  p->probe = PROBE_PASSED; /* a fresh handshake tells as much as a synthetic probe */
  serve(p, true, out);
}

static void on_probe_done(struct hf_provider *p, bool ok, struct hf_provider_actions *out) {
  if (p->probe != PROBE_OUT)
    return; /* late: given up meanwhile */
  p->probe = ok ? PROBE_PASSED : PROBE_NONE;
  if (!ok)
    still_out(p);
  serve(p, true, out);
}

static void expire_lease(struct hf_provider *p, struct hf_breaker *breaker) {
  hf_breaker_expire(breaker, p->now);
  if (breaker->state == HF_BREAKER_HALF_OPEN)
    wake_by(p, breaker->open_until);
}

static void expire_leases(struct hf_provider *p) {
  expire_lease(p, &p->breaker);
  expire_lease(p, &p->rest.breaker);
  for (size_t i = 0; i < p->tools.len; i++) {
    struct hf_provider_tool *tool = p->tools.entries[i].value;
    expire_lease(p, &tool->breaker);
  }
}

static void on_timer(struct hf_provider *p, struct hf_provider_actions *out) {
  if (p->probe == PROBE_OUT && p->now >= p->probe_until) {
    on_probe_done(p, false, out);
    return;
  }
  if (p->now >= p->wake_at) {
    p->wake_at = HF_TIME_NEVER;
    expire_leases(p);
    serve(p, true, out);
  } else if (p->backlog) {
    serve(p, true, out);
  }
}

int hf_provider_step(struct hf_provider *provider, const struct hf_provider_event *event, hf_time now,
                     struct hf_provider_actions *out) {
  out->len = 0;
  provider->now = hf_time_max(provider->now, now);
  switch (event->kind) {
  case HF_PROVIDER_ACQUIRE:
    return on_acquire(provider, event->waiter, out);
  case HF_PROVIDER_WITHDRAW:
    dequeue(provider, event->waiter);
    return 0;
  case HF_PROVIDER_REPORT:
    on_report(provider, event->report.tool, &event->report.report, out);
    return 0;
  case HF_PROVIDER_UPSTREAM_READY:
    on_upstream_ready(provider, out);
    return 0;
  case HF_PROVIDER_UPSTREAM_DOWN:
    on_upstream_down(provider, event, out);
    return 0;
  case HF_PROVIDER_PROBE_DONE:
    on_probe_done(provider, event->probe_ok, out);
    return 0;
  case HF_PROVIDER_TIMER:
    on_timer(provider, out);
    return 0;
  }
  return HF_ERR_INVALID;
}

hf_time hf_provider_deadline(const struct hf_provider *provider) {
  if (provider->backlog)
    return provider->now;
  return provider->probe == PROBE_OUT ? hf_time_min(provider->wake_at, provider->probe_until) : provider->wake_at;
}

void hf_provider_view(const struct hf_provider *provider, struct hf_provider_view *ret_view) {
  *ret_view = (struct hf_provider_view){
      .upstream = provider->upstream,
      .breaker = provider->breaker.state,
      .breaker_until = provider->breaker.open_until,
      .in_flight = provider->slots.in_flight,
      .limit = provider->slots.limit,
      .queued = provider->queued,
      .budget_refusals = provider->budget_refusals,
      .limit_refusals = provider->limit_refusals,
  };
}

const struct hf_breaker *hf_provider_breaker(const struct hf_provider *provider) {
  return &provider->breaker;
}

const struct hf_budget *hf_provider_budget(const struct hf_provider *provider) {
  return &provider->budget;
}
