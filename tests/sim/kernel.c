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
  step_call(c, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
}

static void fire_provider(struct sim_timer *timer) {
  step_provider(HF_CONTAINER_OF(timer, struct sim_provider, timer),
                &(struct hf_provider_event){.kind = HF_PROVIDER_TIMER});
}

static void end_pause(struct sim_call *c) {
  if (c->paused_at != HF_TIME_NEVER)
    c->paused += now(c->kernel) - c->paused_at;
  c->paused_at = HF_TIME_NEVER;
  c->questions = 0;
}

static bool is_current(struct sim_call *c, const struct sim_request *r) {
  return !c->finished && hf_call_attempt(&c->call, r->attempt) != NULL;
}

static void on_sent(struct sim_request *r, size_t bytes, bool complete) {
  struct sim_call *c = r->owner;
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
  struct sim_call *c = r->owner;
  if (is_current(c, r)) {
    if (!asked)
      end_pause(c);
    else if (c->questions++ == 0)
      c->paused_at = now(c->kernel);
  }
  step_call(c, &(struct hf_call_event){.kind = asked ? HF_CALL_PAUSED : HF_CALL_RESUMED, .attempt = r->attempt});
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
  if (is_current(c, r))
    end_pause(c);
  step_call(c, &event);
}

static const struct sim_request_events request_events = {on_sent, on_life, on_answer_bytes, on_question, on_done};

static void start_attempt(struct sim_call *c, const struct hf_call_action *action) {
  struct sim_kernel *k = c->kernel;
  unsigned most = c->call.retry.attempts + 1;
  sim_check(k->check, c->request_count < most, "more attempts than allowed", c->number);
  sim_check(k->check, action->start.attempt == c->request_count, "attempts are numbered in order", c->number);
  if (!sim_check(k->check, c->request_count < SIM_ATTEMPTS_MAX, "attempts without end", c->number))
    abort();
  struct sim_provider *p = &k->providers[c->provider];
  if (!action->start.new_session) {
    if (c->sent_first++ == 0)
      p->firsts++;
    else
      p->retries++;
  }
  k->attempts++;
  struct sim_request *r = &c->requests[c->request_count++];
  *r = (struct sim_request){.world = k->world,
                            .upstream = &k->world->upstreams[c->provider],
                            .events = &request_events,
                            .owner = c,
                            .attempt = action->start.attempt,
                            .call = c->number};
  sim_request_start(r, action->start.new_session);
}

static void probe_is_back(struct sim_probe *probe, bool was_probe, uint32_t generation) {
  if (was_probe && generation == probe->generation)
    probe->out = false;
}

static void report(struct sim_call *c, const struct hf_report *rep) {
  struct sim_provider *p = &c->kernel->providers[c->provider];
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = p->tools[c->tool];
  event.report.report = *rep;
  if (rep->permit.holds_slot)
    p->slots--;
  probe_is_back(&p->probe, rep->permit.provider_probe, rep->permit.provider_generation);
  probe_is_back(&p->tool_probes[c->tool], rep->permit.tool_probe, rep->permit.tool_generation);
  step_provider(p, &event);
}

static void finish(struct sim_call *c, const struct hf_outcome *outcome) {
  struct sim_kernel *k = c->kernel;
  sim_check(k->check, !c->finished, "a call ended twice", c->number);
  end_pause(c);
  c->finished = true;
  c->outcome = *outcome;
  k->finished++;
  k->faults[outcome->fault]++;
  sim_timer_stop(k->world, &c->cancel);
  hf_time took = now(k) - c->started - c->paused;
  sim_check(k->check, took <= c->call.timeout.deadline, "a call outlived its deadline", c->number);
  sim_check(k->check, !c->call.waiter.queued, "a finished call is still queued", c->number);
}

static void perform_call(struct sim_call *c, const struct hf_call_action *action) {
  struct sim_provider *p = &c->kernel->providers[c->provider];
  sim_check(c->kernel->check, !c->finished || action->kind == HF_CALL_REPORT, "an action after the end", c->number);
  switch (action->kind) {
  case HF_CALL_ACQUIRE:
    c->call.waiter.tool = p->tools[c->tool];
    step_provider(p, &(struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &c->call.waiter});
    break;
  case HF_CALL_WITHDRAW:
    step_provider(p, &(struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &c->call.waiter});
    break;
  case HF_CALL_START_ATTEMPT:
    start_attempt(c, action);
    break;
  case HF_CALL_ABORT_ATTEMPT:
    sim_request_abort(&c->requests[action->abort.attempt]);
    end_pause(c);
    break;
  case HF_CALL_REPORT:
    report(c, &action->report);
    break;
  case HF_CALL_CHECK:
  case HF_CALL_ABORT_CHECK:
  case HF_CALL_DEGRADE:
  case HF_CALL_DEAD_LETTER:
    break; /* not asked for */
  case HF_CALL_FINISH:
    finish(c, &action->outcome);
    break;
  }
}

static void step_call(struct sim_call *c, const struct hf_call_event *event) {
  struct sim_kernel *k = c->kernel;
  struct hf_call_actions out;
  enum hf_executed before = c->call.executed;
  int r = hf_call_step(&c->call, event, now(k), &out);
  sim_check(k->check, r == 0, "an event was refused", c->number);
  sim_check(k->check, c->call.executed >= before, "executed fell", c->number);
  trace_call(k->trace, now(k), c->number, event, &out);
  for (unsigned i = 0; i < out.len; i++)
    perform_call(c, &out.items[i]);
  hf_time at = hf_call_deadline(&c->call);
  if (at == HF_TIME_NEVER)
    sim_timer_stop(k->world, &c->timer);
  else if (c->timer.node.place == 0 || c->timer.node.at != at)
    sim_timer_set(k->world, &c->timer, at, fire_call);
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
  p->slots++;
  sim_check(check, p->slots <= p->kernel->provider_options.max_concurrent, "more permits than slots", p->number);
  struct hf_provider_view view;
  hf_provider_view(p->provider, &view);
  enum hf_breaker_state state = hf_provider_tool_breaker(w->tool)->state;
  sim_check(check, view.breaker == HF_BREAKER_CLOSED || permit->provider_probe, "let through a breaker", p->number);
  sim_check(check, state == HF_BREAKER_CLOSED || permit->tool_probe, "let through a tool's breaker", tool);
  if (permit->provider_probe)
    check_probe(p, &p->probe, permit->provider_generation, view.breaker_until);
  if (permit->tool_probe)
    check_probe(p, &p->tool_probes[tool], permit->tool_generation, hf_provider_tool_breaker(w->tool)->open_until);
}

static void perform_provider(struct sim_provider *p, const struct hf_provider_action *action) {
  struct sim_kernel *k = p->kernel;
  struct hf_call_event event = {0};
  switch (action->kind) {
  case HF_PROVIDER_GRANT:
    event.kind = HF_CALL_PERMIT_GRANTED;
    event.granted.permit = action->permit;
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
  step_call(HF_CONTAINER_OF(HF_CONTAINER_OF(action->waiter, struct hf_call, waiter), struct sim_call, call), &event);
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
  }
  return 0;
}

int sim_kernel_init(struct sim_kernel *kernel) {
  kernel->calls = hf_calloc(kernel->world->call_count, sizeof *kernel->calls);
  if (!kernel->calls)
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
  hf_free(kernel->calls);
}

void sim_kernel_call(struct sim_kernel *kernel, unsigned number, hf_time at, hf_time cancel_at, unsigned provider,
                     unsigned tool, enum hf_safety safety) {
  struct sim_call *c = &kernel->calls[number];
  c->kernel = kernel;
  c->number = number;
  c->provider = provider;
  c->tool = tool;
  c->safety = safety;
  c->paused_at = HF_TIME_NEVER;
  struct hf_call_target target = {.safety = safety, .keyed_until = HF_TIME_NEVER};
  struct hf_call_options options = kernel->call_options;
  options.targets = &target;
  options.target_count = 1;
  options.seed = hf_random_next(&kernel->world->random);
  hf_call_init(&c->call, &options);
  sim_timer_set(kernel->world, &c->arrival, at, fire_arrival);
  if (cancel_at != HF_TIME_NEVER)
    sim_timer_set(kernel->world, &c->cancel, cancel_at, fire_cancel);
}

static void check_call(struct sim_kernel *k, const struct sim_call *c) {
  unsigned executions = k->world->executions[c->number];
  sim_check(k->check, c->finished, "a call never ended", c->number);
  sim_check(k->check, c->safety != HF_SAFETY_UNSAFE || executions <= 1, "an unsafe effect ran twice", c->number);
  sim_check(k->check, c->outcome.executed != HF_EXECUTED_NO || executions == 0, "'not executed', but it was",
            c->number);
  sim_check(k->check, c->outcome.executed != HF_EXECUTED_YES || executions > 0, "'executed', but it was not",
            c->number);
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
