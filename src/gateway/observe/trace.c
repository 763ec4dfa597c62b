#include "gateway/observe/trace.h"

#include "base/alloc.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace_state.h"

enum { ATTEMPT_BITS = 64, NOTE_MIN = 32 };

void hf_traces_init(struct hf_traces *traces) {
  *traces = (struct hf_traces){.ended_count = 0};
  hf_list_init(&traces->live);
  hf_list_init(&traces->ended);
}

static void free_all(struct hf_list *list) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, list)
    hf_free(HF_CONTAINER_OF(it, struct hf_trace, link));
  hf_list_init(list);
}

void hf_traces_deinit(struct hf_traces *traces) {
  free_all(&traces->live);
  free_all(&traces->ended);
  hf_spare_deinit(&traces->rooms);
}

static struct hf_gateway *gateway_of(const struct hf_exchange *exchange) {
  return exchange->client->gateway;
}

static struct hf_trace_text copy(struct hf_trace *trace, struct hf_str s) {
  size_t room = HF_TRACE_TEXT_MAX - trace->text_len;
  size_t len = hf_str_cut(s, room < HF_TRACE_NAME_MAX ? room : HF_TRACE_NAME_MAX).len;
  struct hf_trace_text text = {(uint16_t)trace->text_len, (uint16_t)len};
  if (len)
    memcpy(trace->text + trace->text_len, s.ptr, len);
  trace->text_len += (unsigned)len;
  return text;
}

static struct hf_trace *trace_new(struct hf_traces *traces) {
  struct hf_trace_room *room = hf_spare_take(&traces->rooms, sizeof *room);
  if (!room)
    return NULL;
  room->trace = (struct hf_trace){.step = room->step, .text = room->text};
  return &room->trace;
}

/* A copy without the room that was not used, which is most of it. NULL: no memory. */
static struct hf_trace *fitted(const struct hf_trace *trace) {
  size_t steps = trace->step_count * sizeof trace->step[0];
  struct hf_trace *copy = hf_malloc(sizeof *copy + steps + trace->text_len);
  if (!copy)
    return NULL;
  *copy = *trace;
  copy->step = (struct hf_trace_step *)(copy + 1);
  copy->text = (char *)(copy->step + trace->step_count);
  memcpy(copy->step, trace->step, steps);
  memcpy(copy->text, trace->text, trace->text_len);
  return copy;
}

static uint32_t to_ms(hf_time t) {
  return t < 0 || t / HF_MS(1) >= HF_TRACE_NO_MS ? HF_TRACE_NO_MS : (uint32_t)(t / HF_MS(1));
}

/* The last place is the end's. NULL: there is no room. */
static struct hf_trace_step *add(struct hf_exchange *exchange, enum hf_trace_what what) {
  struct hf_trace *trace = exchange->trace;
  unsigned room = what == HF_TRACE_ENDED ? HF_TRACE_STEPS_MAX : HF_TRACE_STEPS_MAX - 1;
  if (trace->step_count >= room) {
    trace->dropped++;
    return NULL;
  }
  struct hf_trace_step *step = &trace->step[trace->step_count++];
  *step = (struct hf_trace_step){
      .at_ms = to_ms(gateway_of(exchange)->loop->now - trace->started),
      .ms = HF_TRACE_NO_MS,
      .what = (uint8_t)what,
      .provider = (uint8_t)trace->at_provider,
      .breaker = HF_TRACE_NO_BREAKER << 4 | HF_TRACE_NO_BREAKER,
  };
  return step;
}

static void add_text(struct hf_exchange *exchange, enum hf_trace_what what, struct hf_str note) {
  if (HF_TRACE_TEXT_MAX - exchange->trace->text_len < NOTE_MIN) {
    exchange->trace->dropped++;
    return;
  }
  struct hf_trace_step *step = add(exchange, what);
  if (!step)
    return;
  struct hf_trace_text text = copy(exchange->trace, note);
  step->code = text.at;
  step->ms = text.len;
}

void hf_trace_stage(struct hf_exchange *exchange, struct hf_str note) {
  if (exchange->trace)
    add_text(exchange, HF_TRACE_NOTE, note);
}

static const struct hf_target_tool *target_of(const struct hf_exchange *exchange, unsigned provider) {
  return provider < exchange->target_count ? &exchange->targets[provider] : exchange->target;
}

static void name_provider(struct hf_exchange *exchange, unsigned provider) {
  struct hf_trace *trace = exchange->trace;
  const struct hf_instance *instance = target_of(exchange, provider)->instance;
  if (provider < HF_CALL_TARGETS_MAX && !trace->provider[provider].len && instance)
    trace->provider[provider] = copy(trace, instance->settings->name);
}

/* How the breakers of this target are now. */
static void see_breakers(const struct hf_exchange *exchange, struct hf_trace_step *step) {
  const struct hf_target_tool *target = target_of(exchange, step->provider);
  if (!target->instance || !target->breaker)
    return;
  struct hf_provider_view view;
  hf_provider_view(target->instance->provider, &view);
  step->breaker = (uint8_t)((unsigned)view.breaker << 4 | (unsigned)hf_provider_tool_breaker(target->breaker)->state);
}

static void set_attempt(struct hf_trace_step *step, unsigned attempt) {
  step->attempt = (uint8_t)(attempt < UINT8_MAX ? attempt : UINT8_MAX);
}

static uint64_t bit(unsigned attempt) {
  return attempt < ATTEMPT_BITS ? (uint64_t)1 << attempt : 0;
}

/* What the table says of the evidence, with what this trace has seen of the attempt. */
static void judge(const struct hf_trace *trace, struct hf_evidence evidence, unsigned attempt,
                  struct hf_trace_step *step) {
  evidence.handed_over = (trace->sent & bit(attempt)) != 0;
  evidence.answered = (trace->alive & bit(attempt)) != 0;
  struct hf_verdict_row row = hf_classify(&evidence);
  bool running = evidence.handed_over && step->what == HF_TRACE_ABORTED;
  enum hf_executed shown = running || evidence.answered ? HF_EXECUTED_MAYBE : HF_EXECUTED_NO;
  step->fault = (uint8_t)row.fault;
  step->executed = (uint8_t)(row.executed > shown ? row.executed : shown);
}

void hf_trace_begin(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = gateway_of(exchange);
  struct hf_trace *trace = exchange->trace ? NULL : trace_new(&gateway->traces);
  if (!trace)
    return;
  trace->running = true;
  trace->number = exchange->number;
  trace->started = exchange->started;
  trace->started_ms = gateway->loop->wall_ms - (gateway->loop->now - exchange->started) / HF_MS(1);
  trace->failed = HF_TIME_NEVER;
  trace->tool = copy(trace, exchange->request.name);
  trace->principal = copy(trace, hf_exchange_principal(exchange));
  hf_list_init(&trace->link);
  hf_list_push_back(&gateway->traces.live, &trace->link);
  exchange->trace = trace;
  for (unsigned i = 0; i < exchange->target_count; i++)
    name_provider(exchange, i);
  if (exchange->route)
    trace->route = copy(trace, exchange->route->name);
  add(exchange, HF_TRACE_CALLED)->ms = (uint32_t)exchange->target_count;
}

static void on_refused(struct hf_exchange *exchange, const struct hf_call_refused *refused) {
  struct hf_trace_step *step = add(exchange, HF_TRACE_REFUSED);
  if (!step)
    return;
  step->detail = (uint8_t)refused->reason;
  if (refused->retry_at != HF_TIME_NEVER)
    step->ms = to_ms(hf_time_max(refused->retry_at - gateway_of(exchange)->loop->now, 0));
  see_breakers(exchange, step);
}

static void on_sent(struct hf_exchange *exchange, const struct hf_call_event *event) {
  struct hf_trace *trace = exchange->trace;
  if (!event->sent.complete || (trace->sent & bit(event->attempt)))
    return;
  trace->sent |= bit(event->attempt);
  struct hf_trace_step *step = add(exchange, HF_TRACE_SENT);
  if (step)
    set_attempt(step, event->attempt);
}

static void on_life(struct hf_exchange *exchange, unsigned attempt) {
  struct hf_trace *trace = exchange->trace;
  if (trace->alive & bit(attempt))
    return;
  trace->alive |= bit(attempt);
  struct hf_trace_step *step = add(exchange, HF_TRACE_LIFE);
  if (step)
    set_attempt(step, attempt);
}

static void on_done(struct hf_exchange *exchange, const struct hf_call_event *event) {
  bool failed = event->done.result == HF_ATTEMPT_FAULT;
  struct hf_trace_step *step = add(exchange, failed ? HF_TRACE_FAILED : HF_TRACE_ANSWERED);
  if (failed)
    exchange->trace->failed = gateway_of(exchange)->loop->now;
  if (!step)
    return;
  set_attempt(step, event->attempt);
  step->detail = (uint8_t)event->done.result;
  step->executed = (uint8_t)(event->done.result == HF_ATTEMPT_SUCCESS ? HF_EXECUTED_YES : HF_EXECUTED_MAYBE);
  if (!failed)
    return;
  const struct hf_evidence *evidence = &event->done.evidence;
  judge(exchange->trace, *evidence, event->attempt, step);
  step->code = evidence->http_status ? evidence->http_status : evidence->jsonrpc_code;
  step->ms = to_ms(evidence->retry_after);
}

static void on_attempt_event(struct hf_exchange *exchange, enum hf_trace_what what, unsigned attempt) {
  struct hf_trace_step *step = add(exchange, what);
  if (step)
    set_attempt(step, attempt);
}

static void on_detail(struct hf_exchange *exchange, enum hf_trace_what what, unsigned detail, hf_time t) {
  struct hf_trace_step *step = add(exchange, what);
  if (!step)
    return;
  step->detail = (uint8_t)detail;
  step->ms = to_ms(t);
}

void hf_trace_event(struct hf_exchange *exchange, const struct hf_call_event *event) {
  if (!exchange->trace)
    return;
  switch (event->kind) {
  case HF_CALL_PERMIT_GRANTED:
    exchange->trace->probes = event->granted.permit.provider_probe || event->granted.permit.tool_probe;
    break;
  case HF_CALL_PERMIT_REFUSED:
    on_refused(exchange, &event->refused);
    break;
  case HF_CALL_ATTEMPT_SENT:
    on_sent(exchange, event);
    break;
  case HF_CALL_SIGN_OF_LIFE:
    on_life(exchange, event->attempt);
    break;
  case HF_CALL_ATTEMPT_DONE:
    on_done(exchange, event);
    break;
  case HF_CALL_PAUSED:
    on_attempt_event(exchange, HF_TRACE_QUESTION, event->attempt);
    break;
  case HF_CALL_RESUMED:
    on_attempt_event(exchange, HF_TRACE_RESUMED, event->attempt);
    break;
  case HF_CALL_CHECKED:
    on_detail(exchange, HF_TRACE_CHECKED, event->check, -1);
    break;
  case HF_CALL_DEGRADED:
    on_detail(exchange, HF_TRACE_DEGRADED, event->degraded.source,
              event->degraded.source == HF_SOURCE_CACHE ? event->degraded.age : -1);
    break;
  case HF_CALL_LETTER_DONE:
    on_detail(exchange, HF_TRACE_LETTER_DONE, event->letter_written, -1);
    break;
  case HF_CALL_CANCELLED:
    on_detail(exchange, HF_TRACE_CANCELLED, 0, -1);
    break;
  case HF_CALL_STARTED:
  case HF_CALL_ANSWER_BYTES:
  case HF_CALL_TIMER:
    break;
  }
}

static void on_acquire(struct hf_exchange *exchange, unsigned provider) {
  struct hf_trace *trace = exchange->trace;
  hf_time now = gateway_of(exchange)->loop->now;
  trace->acquired = now;
  trace->probes = false;
  if (trace->failed != HF_TIME_NEVER && now > trace->failed)
    on_detail(exchange, HF_TRACE_PAUSE, 0, now - trace->failed);
  trace->failed = HF_TIME_NEVER;
  bool moved = provider != trace->at_provider;
  trace->at_provider = provider;
  if (!moved)
    return;
  name_provider(exchange, provider);
  (void)add(exchange, HF_TRACE_FALLBACK);
}

/* When a breaker lets a call through; HF_TIME_NEVER: when its probe ends, which can be at any time. Closed: the past.
 */
static hf_time due(const struct hf_breaker *breaker) {
  switch (breaker->state) {
  case HF_BREAKER_OPEN:
    return breaker->open_until;
  case HF_BREAKER_HALF_OPEN:
    return HF_TIME_NEVER;
  case HF_BREAKER_CLOSED:
    break;
  }
  return 0;
}

void hf_trace_asked(struct hf_exchange *exchange) {
  const struct hf_target_tool *target = exchange->target;
  if (!exchange->trace || !exchange->call.waiter.queued || !target->instance || !target->breaker)
    return;
  hf_time now = gateway_of(exchange)->loop->now;
  hf_time server = due(hf_provider_breaker(target->instance->provider));
  hf_time tool = due(hf_provider_tool_breaker(target->breaker));
  hf_time later = hf_time_max(server, tool);
  if (later <= now)
    return;
  on_detail(exchange, HF_TRACE_WAITS, tool > server ? HF_TRACE_WAITS_FOR_TOOL : HF_TRACE_WAITS_FOR_SERVER,
            later == HF_TIME_NEVER ? -1 : later - now);
}

static void on_start(struct hf_exchange *exchange, const struct hf_call_action *action) {
  struct hf_trace *trace = exchange->trace;
  trace->at_provider = action->provider;
  trace->tried |= action->provider < HF_CALL_TARGETS_MAX ? 1U << action->provider : 0;
  name_provider(exchange, action->provider);
  struct hf_trace_step *step = add(exchange, HF_TRACE_ATTEMPT);
  if (!step)
    return;
  set_attempt(step, action->start.attempt);
  step->detail = (uint8_t)((action->start.hedge ? HF_TRACE_HEDGE : 0) | (trace->probes ? HF_TRACE_PROBE : 0) |
                           (action->start.new_session ? HF_TRACE_NEW_SESSION : 0));
  step->ms = to_ms(gateway_of(exchange)->loop->now - trace->acquired);
}

static void on_abort(struct hf_exchange *exchange, const struct hf_call_action *action) {
  static const enum hf_evidence_kind kinds[] = {
      [HF_ABORT_CONNECT] = HF_EVIDENCE_CONNECT_TIMEOUT, [HF_ABORT_IDLE] = HF_EVIDENCE_TIMED_OUT,
      [HF_ABORT_ATTEMPT] = HF_EVIDENCE_TIMED_OUT,       [HF_ABORT_DEADLINE] = HF_EVIDENCE_DEADLINE,
      [HF_ABORT_CANCELLED] = HF_EVIDENCE_CANCELLED,     [HF_ABORT_HEDGED] = HF_EVIDENCE_CANCELLED,
  };
  exchange->trace->failed = gateway_of(exchange)->loop->now;
  struct hf_trace_step *step = add(exchange, HF_TRACE_ABORTED);
  if (!step)
    return;
  set_attempt(step, action->abort.attempt);
  step->provider = (uint8_t)action->provider;
  step->detail = (uint8_t)action->abort.reason;
  judge(exchange->trace, HF_EVIDENCE(kinds[action->abort.reason]), action->abort.attempt, step);
}

/* A success is news only to a breaker that was open. */
static void on_report(struct hf_exchange *exchange, const struct hf_call_action *action) {
  const struct hf_report *report = &action->report;
  bool probe = report->permit.provider_probe || report->permit.tool_probe;
  if (!probe && (report->blame == HF_BLAME_SUCCESS || report->blame == HF_BLAME_NOBODY))
    return;
  struct hf_trace_step *step = add(exchange, HF_TRACE_REPORTED);
  if (!step)
    return;
  step->provider = (uint8_t)action->provider;
  step->detail = (uint8_t)((unsigned)report->blame | (report->deferred ? HF_TRACE_DEFERRED : 0));
  see_breakers(exchange, step);
}

void hf_trace_action(struct hf_exchange *exchange, const struct hf_call_action *action) {
  if (!exchange->trace)
    return;
  switch (action->kind) {
  case HF_CALL_ACQUIRE:
    on_acquire(exchange, action->provider);
    break;
  case HF_CALL_START_ATTEMPT:
    on_start(exchange, action);
    break;
  case HF_CALL_ABORT_ATTEMPT:
    on_abort(exchange, action);
    break;
  case HF_CALL_REPORT:
    on_report(exchange, action);
    break;
  case HF_CALL_CHECK:
    on_detail(exchange, HF_TRACE_CHECK, 0, -1);
    break;
  case HF_CALL_ABORT_CHECK:
    on_detail(exchange, HF_TRACE_CHECK_ABORTED, 0, -1);
    break;
  case HF_CALL_DEGRADE:
    on_detail(exchange, HF_TRACE_DEGRADE, 0, -1);
    break;
  case HF_CALL_DEAD_LETTER:
    on_detail(exchange, HF_TRACE_LETTER, 0, -1);
    break;
  case HF_CALL_WITHDRAW:
  case HF_CALL_FINISH:
    break;
  }
}

static enum hf_fault fault_of_denial(enum hf_denial denial) {
  switch (denial) {
  case HF_DENIAL_BREAKER:
    return HF_FAULT_BREAKER_OPEN;
  case HF_DENIAL_DOWN:
    return HF_FAULT_UNREACHABLE;
  case HF_DENIAL_LIMIT:
  case HF_DENIAL_BUDGET:
    break;
  }
  return HF_FAULT_LOCAL_LIMIT;
}

enum hf_fault hf_trace_first_fault(const struct hf_trace *trace) {
  for (unsigned i = 0; trace && i < trace->step_count; i++) {
    const struct hf_trace_step *step = &trace->step[i];
    if (step->what == HF_TRACE_REFUSED)
      return fault_of_denial((enum hf_denial)step->detail);
    if (step->what == HF_TRACE_FAILED || (step->what == HF_TRACE_ABORTED && step->detail != HF_ABORT_HEDGED))
      return (enum hf_fault)step->fault;
  }
  return HF_FAULT_NONE;
}

static void keep(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = gateway_of(exchange);
  struct hf_traces *traces = &gateway->traces;
  struct hf_trace *trace = exchange->trace;
  exchange->trace = NULL;
  trace->running = false;
  hf_list_remove(&trace->link);
  struct hf_trace *ended = fitted(trace);
  hf_spare_give(&traces->rooms, trace);
  if (!ended)
    return;
  hf_list_push_back(&traces->ended, &ended->link);
  traces->ended_count++;
  while (traces->ended_count > gateway->settings->limits.traces) {
    struct hf_trace *oldest = HF_CONTAINER_OF(traces->ended.next, struct hf_trace, link);
    hf_list_remove(&oldest->link);
    traces->ended_count--;
    hf_free(oldest);
  }
}

void hf_trace_end(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  struct hf_trace *trace = exchange->trace;
  if (!trace)
    return;
  if (outcome->attempts)
    trace->at_provider = outcome->provider;
  if (exchange->joined.ptr)
    add_text(exchange, HF_TRACE_JOINED, exchange->joined);
  struct hf_trace_step *step = add(exchange, HF_TRACE_ENDED);
  if (step) {
    step->detail = (uint8_t)outcome->end;
    step->fault = (uint8_t)outcome->fault;
    step->executed = (uint8_t)outcome->executed;
    step->code = (int32_t)outcome->source;
    step->ms = outcome->source == HF_SOURCE_CACHE ? to_ms(outcome->age) : HF_TRACE_NO_MS;
  }
  trace->outcome = *outcome;
  trace->has_outcome = true;
  memcpy(trace->letter, exchange->letter_id, sizeof trace->letter);
  keep(exchange);
}

void hf_trace_left(struct hf_exchange *exchange) {
  if (exchange->trace)
    keep(exchange);
}
