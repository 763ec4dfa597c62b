#include "kernel.h"

#include "base/alloc.h"
#include "base/error.h"
#include "trace.h"

#include <stdlib.h>

static void step_call(struct sim_call *c, const struct hf_call_event *event);
static void step_provider(struct sim_provider *p, const struct hf_provider_event *event);

static hf_time now(const struct sim_kernel *k) {
  return k->world->now;
}

static void fire_call(struct sim_timer *timer) {
  step_call(HF_CONTAINER_OF(timer, struct sim_call, timer), &(struct hf_call_event){.kind = HF_CALL_TIMER});
}

static void fire_arrival(struct sim_timer *timer) {
  struct sim_call *c = HF_CONTAINER_OF(timer, struct sim_call, arrival);
  c->started = now(c->kernel);
  step_call(c, &(struct hf_call_event){.kind = HF_CALL_STARTED});
}

static void fire_cancel(struct sim_timer *timer) {
  struct sim_call *c = HF_CONTAINER_OF(timer, struct sim_call, cancel);
  c->cancelled = true;
  step_call(c, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
}

static void set_timer(struct sim_call *c);

static void fire_outlive(struct sim_timer *timer) {
  struct sim_call *c = HF_CONTAINER_OF(timer, struct sim_call, outlive);
  c->outlives = c->call.state < HF_CALL_STATE_DEGRADING;
  hf_call_outlive(&c->call);
  set_timer(c);
}

static void fire_provider(struct sim_timer *timer) {
  step_provider(HF_CONTAINER_OF(timer, struct sim_provider, timer),
                &(struct hf_provider_event){.kind = HF_PROVIDER_TIMER});
}

/* A person is asked, or has answered: the call's own count of that, after each step. */
static void note_pause(struct sim_call *c) {
  bool paused = c->call.attempt[0].questions + c->call.attempt[1].questions > 0;
  if (paused && c->paused_at == HF_TIME_NEVER) {
    c->paused_at = now(c->kernel);
  } else if (!paused && c->paused_at != HF_TIME_NEVER) {
    c->paused += now(c->kernel) - c->paused_at;
    c->paused_at = HF_TIME_NEVER;
  }
}

static void on_sent(struct sim_request *r, size_t bytes, bool complete) {
  struct sim_call *c = r->owner;
  c->whole_at[c->went_to[r->attempt]] += complete;
  step_call(c, &(struct hf_call_event){.kind = HF_CALL_ATTEMPT_SENT,
                                       .attempt = r->attempt,
                                       .sent = {.bytes = bytes, .complete = complete}});
}

static void on_life(struct sim_request *r) {
  step_call(r->owner, &(struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE, .attempt = r->attempt});
}

static void on_answer_bytes(struct sim_request *r) {
  step_call(r->owner, &(struct hf_call_event){.kind = HF_CALL_ANSWER_BYTES, .attempt = r->attempt});
}

static void on_question(struct sim_request *r, bool asked) {
  step_call(r->owner, &(struct hf_call_event){.kind = asked ? HF_CALL_PAUSED : HF_CALL_RESUMED, .attempt = r->attempt});
}

static void on_done(struct sim_request *r, enum sim_result result, unsigned call, const struct hf_evidence *evidence) {
  struct sim_call *c = r->owner;
  sim_check(c->kernel->check, call == c->number, "an answer reached another caller", c->number);
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = r->attempt};
  event.done.result = result == SIM_SUCCESS   ? HF_ATTEMPT_SUCCESS
                      : result == SIM_PENDING ? HF_ATTEMPT_PENDING
                                              : HF_ATTEMPT_FAULT;
  if (evidence)
    event.done.evidence = *evidence;
  step_call(c, &event);
}

static const struct sim_request_events request_events = {on_sent, on_life, on_answer_bytes, on_question, on_done};

static void check_attempts(struct sim_call *c, const struct hf_call_action *action) {
  struct sim_check *check = c->kernel->check;
  const struct hf_call_options *o = &c->kernel->call_options;
  unsigned at = action->provider, sent = 0;
  for (unsigned i = 0; i < c->route_len; i++)
    sent += c->sent_to[i];
  sim_check(check, action->start.attempt == c->request_count, "attempts are numbered in order", c->number);
  if (action->start.new_session) {
    sim_check(check, ++c->renewals <= c->route_len + 1, "a session renewed twice", c->number);
    return;
  }
  /* Each try may have its hedge. */
  unsigned tries = c->route[at].target.hedged ? 2 : 1;
  bool patient = c->call.retry.attempts > 1 && c->call.retry.patience > 0;
  unsigned counted = patient ? c->whole_at[at] : c->sent_to[at];
  sim_check(check, counted < c->call.retry.attempts * tries, "more attempts than allowed", c->number);
  sim_check(check, !o->hints.max_attempts || sent < o->hints.max_attempts, "more attempts than hinted", c->number);
  sim_check(check, at == 0 || !o->hints.stay, "it did not stay", c->number);
  sim_check(check, !action->start.hedge || c->route[at].target.harmless, "a hedge that may do harm", c->number);
}

static void start_attempt(struct sim_call *c, const struct hf_call_action *action) {
  struct sim_kernel *k = c->kernel;
  const struct sim_target *t = &c->route[action->provider];
  struct sim_provider *p = &k->providers[t->provider];
  check_attempts(c, action);
  if (!sim_check(k->check, c->request_count < SIM_ATTEMPTS_MAX, "attempts without end", c->number))
    abort();
  if (!action->start.new_session) {
    if (c->sent_to[action->provider]++ == 0)
      p->firsts++;
    else
      p->retries++;
  }
  c->went_to[action->start.attempt] = action->provider;
  c->whole_at[action->provider] -= action->start.new_session; /* it stands in for the one that lost it */
  k->attempts++;
  k->levels.hedges += action->start.hedge;
  struct sim_request *r = &c->requests[c->request_count++];
  *r = (struct sim_request){.world = k->world,
                            .upstream = &k->world->upstreams[t->provider],
                            .events = &request_events,
                            .owner = c,
                            .attempt = action->start.attempt,
                            .call = c->number,
                            .truth = {.safety = t->target.safety,
                                      .harmless = t->target.harmless,
                                      .ttl = t->ttl,
                                      .settle = t->target.check_time > 0 ? t->target.settle : HF_TIME_NEVER}};
  sim_request_start(r, action->start.new_session);
}

/* What nobody waits for is not cut short to make room for a repeat: only for a check, or because a key runs out. */
static void check_abort(struct sim_call *c, const struct hf_call_action *action) {
  const struct hf_call_target *t = &c->route[action->provider].target;
  sim_check(c->kernel->check,
            !c->outlives || action->abort.reason != HF_ABORT_ATTEMPT || t->check_time > 0 ||
                t->safety == HF_SAFETY_KEYED,
            "an attempt that nobody waits for was cut short", c->number);
}

static void probe_is_back(struct sim_probe *probe, bool was_probe, uint32_t generation) {
  if (was_probe && generation == probe->generation)
    probe->out = false;
}

static struct sim_provider *provider_of(const struct sim_call *c, const struct hf_call_action *action) {
  return &c->kernel->providers[c->route[action->provider].provider];
}

static void report(struct sim_call *c, const struct hf_call_action *action) {
  const struct hf_report *rep = &action->report;
  struct sim_provider *p = provider_of(c, action);
  unsigned tool = c->route[action->provider].tool;
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = p->tools[tool];
  event.report.report = *rep;
  if (rep->permit.holds_slot) {
    p->slots--;
    p->tool_slots[tool]--;
  }
  sim_check(c->kernel->check, rep->latency < 0 || rep->blame == HF_BLAME_SUCCESS, "a latency of no success", c->number);
  probe_is_back(&p->probe, rep->permit.provider_probe, rep->permit.provider_generation);
  probe_is_back(&p->tool_probes[tool], rep->permit.tool_probe, rep->permit.tool_generation);
  step_provider(p, &event);
}

static bool chance(const struct sim_kernel *k, unsigned percent) {
  return sim_world_chance(k->world, percent);
}

static struct sim_offer draw_offer(struct sim_kernel *k) {
  struct sim_world *w = k->world;
  return (struct sim_offer){
      .check_delay = chance(k, 15) ? HF_TIME_NEVER : sim_world_between(w, 1, HF_SECONDS(chance(k, 30) ? 12 : 1)),
      .check_is_blind = chance(k, 15),
      .source = (enum hf_source)hf_random_below(&w->random, HF_SOURCE_COUNT),
      .degrade_delay = chance(k, 60)   ? 0
                       : chance(k, 20) ? HF_TIME_NEVER
                                       : sim_world_between(w, 1, HF_SECONDS(1)),
      .letter_delay = chance(k, 10) ? HF_TIME_NEVER : sim_world_between(w, 0, HF_SECONDS(chance(k, 20) ? 3 : 1)),
      .store_fails = chance(k, 10),
  };
}

static void fire_check(struct sim_timer *timer) {
  struct sim_call *c = HF_CONTAINER_OF(timer, struct sim_call, aside);
  c->checking = false;
  c->kernel->levels.disproved += c->check_says == HF_CHECK_DID_NOT_RUN;
  step_call(c, &(struct hf_call_event){.kind = HF_CALL_CHECKED, .check = c->check_says});
}

/* The status tool says how things stand when it is asked; it may be slow to say so. */
static void start_check(struct sim_call *c, const struct hf_call_action *action) {
  struct sim_kernel *k = c->kernel;
  const struct sim_target *t = &c->route[action->provider];
  sim_check(k->check, t->target.check_time > 0, "a check that was not asked for", c->number);
  sim_check(k->check, !c->checking, "two checks at a time", c->number);
  sim_check(k->check, !c->cancelled, "a check after the cancel", c->number);
  sim_check(k->check, action->check_by > now(k) && action->check_by <= c->call.deadline, "a check without time",
            c->number);
  bool ran = k->world->ledger[c->number].ran_on >> k->world->upstreams[t->provider].server & 1;
  c->check_says = c->offer.check_is_blind ? HF_CHECK_UNKNOWN : ran ? HF_CHECK_RAN : HF_CHECK_DID_NOT_RUN;
  c->checking = true;
  k->levels.checks++;
  if (c->offer.check_delay != HF_TIME_NEVER)
    sim_timer_set(k->world, &c->aside, now(k) + c->offer.check_delay, fire_check);
}

/* Now and then its answer comes all the same. */
static void abort_check(struct sim_call *c) {
  sim_check(c->kernel->check, c->checking, "no check to abort", c->number);
  c->checking = false;
  if (c->kernel->world->scripted || chance(c->kernel, 50))
    sim_timer_stop(c->kernel->world, &c->aside);
}

static void tell_degraded(struct sim_call *c) {
  if (c->call.state == HF_CALL_STATE_DEGRADING) /* else it comes too late */
    c->offered = c->offer.source;
  c->age = c->offer.source == HF_SOURCE_CACHE ? HF_SECONDS(90) : 0;
  step_call(c,
            &(struct hf_call_event){.kind = HF_CALL_DEGRADED, .degraded = {.source = c->offer.source, .age = c->age}});
}

static void fire_degraded(struct sim_timer *timer) {
  tell_degraded(HF_CONTAINER_OF(timer, struct sim_call, aside));
}

static void degrade(struct sim_call *c) {
  struct sim_kernel *k = c->kernel;
  sim_check(k->check, k->call_options.degrades, "an answer that was not asked for", c->number);
  sim_check(k->check, !c->cancelled, "an answer for nobody", c->number);
  if (c->offer.degrade_delay == 0)
    tell_degraded(c);
  else if (c->offer.degrade_delay != HF_TIME_NEVER)
    sim_timer_set(k->world, &c->aside, now(k) + c->offer.degrade_delay, fire_degraded);
}

static void fire_letter(struct sim_timer *timer) {
  struct sim_call *c = HF_CONTAINER_OF(timer, struct sim_call, aside);
  step_call(c, &(struct hf_call_event){.kind = HF_CALL_LETTER_DONE, .letter_written = !c->offer.store_fails});
}

static void write_letter(struct sim_call *c, const struct hf_outcome *outcome) {
  struct sim_kernel *k = c->kernel;
  sim_check(k->check, c->letters_asked++ == 0, "two letters of one call", c->number);
  sim_check(k->check, c->letters != HF_LETTER_OFF, "a letter that was not asked for", c->number);
  sim_check(k->check, outcome->end != HF_CALL_END_ANSWERED && outcome->end != HF_CALL_END_CHECKED,
            "a letter of success", c->number);
  sim_check(k->check, outcome->end != HF_CALL_END_CANCELLED || outcome->executed != HF_EXECUTED_NO,
            "a letter of a cancelled call that did not run", c->number);
  k->levels.letters++;
  c->letter_at = now(k);
  if (c->offer.letter_delay != HF_TIME_NEVER)
    sim_timer_set(k->world, &c->aside, now(k) + c->offer.letter_delay, fire_letter);
}

/* The longest it may take, by what its options say. */
static hf_time longest(const struct sim_call *c) {
  const struct hf_call_options *o = &c->kernel->call_options;
  hf_time most = o->timeout.deadline;
  if (c->outlives)
    most = hf_time_max(most, o->timeout.task);
  return o->hints.deadline > 0 ? hf_time_min(most, o->hints.deadline) : most;
}

/* At its deadline not a moment before all of it is over. */
static bool outlived_enough(const struct sim_call *c, const struct hf_outcome *outcome, hf_time end) {
  return outcome->end != HF_CALL_END_DEADLINE || end - c->started - c->paused == longest(c);
}

static void finish(struct sim_call *c, const struct hf_outcome *outcome) {
  struct sim_kernel *k = c->kernel;
  sim_check(k->check, !c->finished, "a call ended twice", c->number);
  note_pause(c);
  c->finished = true;
  c->outcome = *outcome;
  k->finished++;
  k->faults[outcome->fault]++;
  k->levels.checked += outcome->end == HF_CALL_END_CHECKED;
  k->levels.degraded += outcome->source != HF_SOURCE_LIVE;
  k->levels.hedges_won += outcome->end == HF_CALL_END_ANSWERED && outcome->attempt + 1 < outcome->attempts;
  sim_timer_stop(k->world, &c->cancel);
  sim_timer_stop(k->world, &c->outlive);
  hf_time end = c->letters_asked ? c->letter_at : now(k);
  sim_check(k->check, end - c->started - c->paused <= longest(c), "a call outlived its deadline", c->number);
  k->levels.outlived += end - c->started - c->paused > k->call_options.timeout.deadline;
  sim_check(k->check, outlived_enough(c, outcome, end), "a call ended before its time", c->number);
  sim_check(k->check, now(k) - end <= HF_CALL_LETTER_WAIT, "a letter was waited for too long", c->number);
  sim_check(k->check, !c->call.waiter.queued, "a finished call is still queued", c->number);
  sim_check(k->check, (outcome->letter != HF_LETTER_NONE) == (c->letters_asked > 0), "a letter nobody knows of",
            c->number);
  sim_check(k->check, outcome->letter != HF_LETTER_WRITTEN || !c->offer.store_fails, "a letter that is not there",
            c->number);
  sim_check(k->check, outcome->source == c->offered, "an answer of another source", c->number);
}

static void perform_call(struct sim_call *c, const struct hf_call_action *action) {
  struct sim_provider *p = provider_of(c, action);
  sim_check(c->kernel->check, !c->finished || action->kind == HF_CALL_REPORT, "an action after the end", c->number);
  switch (action->kind) {
  case HF_CALL_ACQUIRE:
    c->call.waiter.tool = p->tools[c->route[action->provider].tool];
    step_provider(p, &(struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &c->call.waiter});
    break;
  case HF_CALL_WITHDRAW:
    step_provider(p, &(struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &c->call.waiter});
    break;
  case HF_CALL_START_ATTEMPT:
    start_attempt(c, action);
    break;
  case HF_CALL_ABORT_ATTEMPT:
    check_abort(c, action);
    sim_request_abort(&c->requests[action->abort.attempt]);
    break;
  case HF_CALL_REPORT:
    report(c, action);
    break;
  case HF_CALL_CHECK:
    start_check(c, action);
    break;
  case HF_CALL_ABORT_CHECK:
    abort_check(c);
    break;
  case HF_CALL_DEGRADE:
    degrade(c);
    break;
  case HF_CALL_DEAD_LETTER:
    write_letter(c, &action->outcome);
    break;
  case HF_CALL_FINISH:
    finish(c, &action->outcome);
    break;
  }
}

static void step_call(struct sim_call *c, const struct hf_call_event *event) {
  struct sim_kernel *k = c->kernel;
  struct hf_call_actions out;
  enum hf_executed before = c->call.executed;
  unsigned target = c->call.target;
  int r = hf_call_step(&c->call, event, now(k), &out);
  sim_check(k->check, r == 0, "an event was refused", c->number);
  sim_check(k->check, c->call.executed >= before || event->kind == HF_CALL_CHECKED, "executed fell", c->number);
  k->levels.moves += c->call.target != target;
  note_pause(c);
  trace_call(k->trace, now(k), c, event, &out);
  for (unsigned i = 0; i < out.len; i++)
    perform_call(c, &out.items[i]);
  set_timer(c);
}

static void set_timer(struct sim_call *c) {
  struct sim_world *w = c->kernel->world;
  hf_time at = hf_call_deadline(&c->call);
  if (at == HF_TIME_NEVER)
    sim_timer_stop(w, &c->timer);
  else if (c->timer.node.place == 0 || c->timer.node.at != at)
    sim_timer_set(w, &c->timer, at, fire_call);
}

static unsigned tool_number(const struct sim_provider *p, const struct hf_provider_tool *tool) {
  unsigned i = 0;
  while (p->tools[i] != tool)
    i++;
  return i;
}

/* One probe at a time: the one before has been reported, or its lease has ended. */
static void check_probe(struct sim_provider *p, struct sim_probe *probe, uint32_t generation, hf_time lease_end) {
  struct sim_check *check = p->kernel->check;
  sim_check(check, generation > probe->generation, "two probes of one generation", p->number);
  sim_check(check, !probe->out || now(p->kernel) >= probe->lease_end, "two probes at a time", p->number);
  *probe = (struct sim_probe){.generation = generation, .lease_end = lease_end, .out = true};
}

static void check_grant(struct sim_provider *p, const struct hf_waiter *w, const struct hf_permit *permit) {
  struct sim_check *check = p->kernel->check;
  unsigned tool = tool_number(p, w->tool);
  unsigned tool_limit = p->kernel->tool_limit;
  struct hf_provider_view view;
  hf_provider_view(p->provider, &view);
  p->slots++;
  p->tool_slots[tool]++;
  sim_check(check, p->slots <= view.limit, "more permits than slots", p->number);
  sim_check(check, view.limit <= p->kernel->provider_options.max_concurrent, "a limit beyond its bound", p->number);
  sim_check(check, tool_limit == 0 || p->tool_slots[tool] <= tool_limit, "more permits than a tool's slots", tool);
  enum hf_breaker_state state = hf_provider_tool_breaker(w->tool)->state;
  sim_check(check, view.breaker == HF_BREAKER_CLOSED || permit->provider_probe, "let through a breaker", p->number);
  sim_check(check, state == HF_BREAKER_CLOSED || permit->tool_probe, "let through a tool's breaker", tool);
  if (permit->provider_probe)
    check_probe(p, &p->probe, permit->provider_generation, view.breaker_until);
  if (permit->tool_probe)
    check_probe(p, &p->tool_probes[tool], permit->tool_generation, hf_provider_tool_breaker(w->tool)->open_until);
}

static struct sim_call *call_of(const struct hf_waiter *waiter) {
  return HF_CONTAINER_OF(HF_CONTAINER_OF(waiter, struct hf_call, waiter), struct sim_call, call);
}

static void fire_delivery(struct sim_timer *timer) {
  struct sim_call *c = HF_CONTAINER_OF(timer, struct sim_call, delivery);
  while (c->answer_count > 0) {
    struct hf_call_event event = c->answers[0];
    c->answer_count--;
    for (unsigned i = 0; i < c->answer_count; i++)
      c->answers[i] = c->answers[i + 1];
    step_call(c, &event);
  }
}

/* At once, or in the call's queue behind what else happens at this time. */
static void deliver(struct sim_call *c, const struct hf_call_event *event) {
  struct sim_kernel *k = c->kernel;
  if (!k->queued) {
    step_call(c, event);
    return;
  }
  if (!sim_check(k->check, c->answer_count < SIM_ANSWERS_MAX, "answers without end", c->number))
    abort();
  c->answers[c->answer_count++] = *event;
  sim_timer_set(k->world, &c->delivery, now(k) + sim_world_between(k->world, 0, HF_MS(20)), fire_delivery);
}

static void perform_provider(struct sim_provider *p, const struct hf_provider_action *action) {
  struct sim_kernel *k = p->kernel;
  struct hf_call_event event = {0};
  switch (action->kind) {
  case HF_PROVIDER_GRANT:
    event.kind = HF_CALL_PERMIT_GRANTED;
    event.granted.permit = action->permit;
    if (k->hedge_after > 0)
      event.granted.permit.hedge_after = k->hedge_after;
    break;
  case HF_PROVIDER_REFUSE:
    event.kind = HF_CALL_PERMIT_REFUSED;
    event.refused.reason = action->refuse.reason;
    event.refused.retry_at = action->refuse.retry_at;
    event.refused.evidence = action->refuse.evidence;
    break;
  case HF_PROVIDER_START_UPSTREAM:
    sim_check(k->check, !k->world->upstreams[p->number].starting, "started while starting", p->number);
    sim_upstream_start(&k->world->upstreams[p->number]);
    return;
  case HF_PROVIDER_PROBE_UPSTREAM:
    sim_upstream_probe(&k->world->upstreams[p->number]);
    return;
  }
  deliver(call_of(action->waiter), &event);
}

static void step_provider(struct sim_provider *p, const struct hf_provider_event *event) {
  struct sim_kernel *k = p->kernel;
  struct hf_provider_actions out;
  int r = hf_provider_step(p->provider, event, now(k), &out);
  sim_check(k->check, r == 0, "a provider's event was refused", p->number);
  trace_provider(k->trace, now(k), p, event, &out);
  for (unsigned i = 0; i < out.len; i++) {
    if (out.items[i].kind == HF_PROVIDER_GRANT)
      check_grant(p, out.items[i].waiter, &out.items[i].permit);
  }
  for (unsigned i = 0; i < out.len; i++)
    perform_provider(p, &out.items[i]);
  hf_time at = hf_provider_deadline(p->provider);
  if (at == HF_TIME_NEVER)
    sim_timer_stop(k->world, &p->timer);
  else if (p->timer.node.place == 0 || p->timer.node.at != at)
    sim_timer_set(k->world, &p->timer, at, fire_provider);
}

static void on_ready(void *owner) {
  step_provider(owner, &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY});
}

static void on_down(void *owner, const struct hf_evidence *evidence, hf_time not_before) {
  step_provider(owner, &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_DOWN,
                                                   .down = {.evidence = *evidence, .not_before = not_before}});
}

static void on_probed(void *owner, bool ok) {
  step_provider(owner, &(struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = ok});
}

static const struct sim_upstream_events upstream_events = {on_ready, on_down, on_probed};

static int init_provider(struct sim_kernel *k, unsigned number) {
  static const struct hf_str names[SIM_TOOLS_MAX] = {HF_STR("t0"), HF_STR("t1"), HF_STR("t2"), HF_STR("t3")};
  struct sim_provider *p = &k->providers[number];
  struct sim_upstream *u = &k->world->upstreams[number];
  *p = (struct sim_provider){.kernel = k, .number = number};
  u->owner = p;
  u->events = &upstream_events;
  p->provider = hf_provider_new(&k->provider_options, hf_random_next(&k->world->random), now(k));
  if (!p->provider)
    return HF_ERR_NOMEM;
  for (unsigned i = 0; i < SIM_TOOLS_MAX; i++) {
    int r = hf_provider_tool_get(p->provider, names[i], &k->tool_breaker, &p->tools[i]);
    if (r < 0)
      return r;
    hf_provider_tool_limit(p->tools[i], k->tool_limit);
  }
  return 0;
}

int sim_kernel_init(struct sim_kernel *kernel) {
  size_t count = kernel->world->call_count;
  kernel->calls = hf_calloc(count, sizeof *kernel->calls);
  kernel->requests = hf_calloc(count * SIM_ATTEMPTS_MAX, sizeof *kernel->requests);
  if (!kernel->calls || !kernel->requests)
    return HF_ERR_NOMEM;
  for (unsigned i = 0; i < kernel->world->upstream_count; i++) {
    int r = init_provider(kernel, i);
    if (r < 0)
      return r;
  }
  return 0;
}

void sim_kernel_deinit(struct sim_kernel *kernel) {
  for (unsigned i = 0; i < kernel->world->upstream_count; i++)
    hf_provider_unref(kernel->providers[i].provider);
  hf_free(kernel->requests);
  hf_free(kernel->calls);
}

void sim_kernel_call(struct sim_kernel *kernel, unsigned number, hf_time at, hf_time cancel_at,
                     const struct sim_target *route, unsigned route_len, const struct sim_offer *offer) {
  struct sim_call *c = &kernel->calls[number];
  struct hf_call_target targets[SIM_ROUTE_MAX];
  c->kernel = kernel;
  c->number = number;
  c->requests = &kernel->requests[(size_t)number * SIM_ATTEMPTS_MAX];
  c->route_len = route_len;
  c->letters = kernel->call_options.letters;
  c->paused_at = HF_TIME_NEVER;
  for (unsigned i = 0; i < route_len; i++) {
    c->route[i] = route[i];
    targets[i] = route[i].target;
    targets[i].keyed_until = hf_time_add(at, route[i].ttl);
  }
  struct hf_call_options options = kernel->call_options;
  options.targets = targets;
  options.target_count = route_len;
  options.seed = hf_random_next(&kernel->world->random);
  if (kernel->priorities)
    options.priority = (unsigned)hf_random_below(&kernel->world->random, HF_PRIORITY_LAST + 1);
  c->offer = offer ? *offer : draw_offer(kernel);
  hf_call_init(&c->call, &options);
  sim_timer_set(kernel->world, &c->arrival, at, fire_arrival);
  if (cancel_at != HF_TIME_NEVER)
    sim_timer_set(kernel->world, &c->cancel, cancel_at, fire_cancel);
}

void sim_kernel_outlive(struct sim_kernel *kernel, unsigned number, hf_time at) {
  sim_timer_set(kernel->world, &kernel->calls[number].outlive, at, fire_outlive);
}

static bool all_read_only(const struct sim_call *c) {
  for (unsigned i = 0; i < c->route_len; i++) {
    if (c->route[i].target.safety != HF_SAFETY_READ_ONLY)
      return false;
  }
  return true;
}

static bool is_exhausted(enum hf_call_end end) {
  return end == HF_CALL_END_ATTEMPTS || end == HF_CALL_END_BUDGET || end == HF_CALL_END_REFUSED ||
         end == HF_CALL_END_HINT || end == HF_CALL_END_DEADLINE || end == HF_CALL_END_UNSAFE;
}

/* Who must have written, and who must not. */
static void check_letter(struct sim_kernel *k, const struct sim_call *c) {
  const struct hf_outcome *o = &c->outcome;
  bool live_failure = o->end != HF_CALL_END_ANSWERED && o->end != HF_CALL_END_CHECKED && o->source == HF_SOURCE_LIVE;
  bool lost_effect = live_failure && k->world->ledger[c->number].admitted > 0 && o->executed != HF_EXECUTED_YES;
  sim_check(k->check, c->letters == HF_LETTER_OFF || c->letters_asked || !lost_effect,
            "an effect that nobody knows of has no letter", c->number);
  sim_check(k->check, c->letters != HF_LETTER_ALL || c->letters_asked || !live_failure || !is_exhausted(o->end),
            "an exhausted chain has no letter", c->number);
  sim_check(k->check, c->letters != HF_LETTER_UNSAFE || !c->letters_asked || !all_read_only(c),
            "a letter of a tool without effects", c->number);
  sim_check(k->check, live_failure || !c->letters_asked, "a letter of what did not fail", c->number);
}

static void check_call(struct sim_kernel *k, const struct sim_call *c) {
  unsigned executions = k->world->executions[c->number];
  const struct hf_outcome *o = &c->outcome;
  sim_check(k->check, c->finished, "a call never ended", c->number);
  sim_check(k->check, k->world->ledger[c->number].effects <= 1, "an effect happened twice", c->number);
  sim_check(k->check, o->executed != HF_EXECUTED_NO || executions == 0, "'not executed', but it was", c->number);
  sim_check(k->check, o->executed != HF_EXECUTED_YES || executions > 0, "'executed', but it was not", c->number);
  sim_check(k->check, o->source == HF_SOURCE_LIVE || k->world->ledger[c->number].admitted == 0,
            "a degraded answer hides an effect", c->number);
  sim_check(k->check, o->source == HF_SOURCE_LIVE || o->fault != HF_FAULT_NONE, "an answer that was there is degraded",
            c->number);
  sim_check(k->check, c->call.waiter.queued == false && c->answer_count == 0, "an answer was left", c->number);
  check_letter(k, c);
}

static void check_provider(struct sim_kernel *k, const struct sim_provider *p) {
  struct hf_provider_view view;
  hf_provider_view(p->provider, &view);
  sim_check(k->check, view.in_flight == 0 && p->slots == 0, "a slot was lost", p->number);
  sim_check(k->check, view.queued == 0, "a waiter was left", p->number);
  sim_check(k->check, view.breaker != HF_BREAKER_HALF_OPEN, "a breaker stayed half-open", p->number);
  for (unsigned i = 0; i < SIM_TOOLS_MAX; i++)
    sim_check(k->check, hf_provider_tool_breaker(p->tools[i])->state != HF_BREAKER_HALF_OPEN,
              "a tool's breaker stayed half-open", i);
  const struct hf_budget_options *b = &k->provider_options.budget;
  uint64_t seconds = (uint64_t)(now(k) / HF_SECONDS(1)) + 1;
  sim_check(k->check, p->retries <= b->burst + b->per_second * seconds + p->firsts * b->share_percent / 100 + 1,
            "more repeats than the budget has", p->number);
}

void sim_kernel_check_end(struct sim_kernel *kernel) {
  for (unsigned i = 0; i < kernel->world->call_count; i++)
    check_call(kernel, &kernel->calls[i]);
  for (unsigned i = 0; i < kernel->world->upstream_count; i++)
    check_provider(kernel, &kernel->providers[i]);
}
