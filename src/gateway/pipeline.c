#include "gateway/pipeline.h"

#include "gateway/catalog/subscription.h"
#include "gateway/correct/advice.h"
#include "gateway/correct/ask.h"
#include "gateway/letter/letter.h"
#include "gateway/live.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/question/held.h"
#include "gateway/question/page.h"
#include "gateway/relay.h"
#include "gateway/result.h"
#include "gateway/stage/arguments.h"
#include "gateway/stage/away.h"
#include "gateway/stage/cached.h"
#include "gateway/stage/check.h"
#include "gateway/stage/flight.h"
#include "gateway/stage/intent.h"
#include "gateway/stage/key.h"
#include "gateway/stage/lost.h"
#include "gateway/stage/repaired.h"
#include "gateway/stage/stage.h"
#include "gateway/task/task.h"
#include "json/template.h"

#include <assert.h>

enum { HINT_NODES_MAX = 256, HINT_BYTES_MAX = 1 << 16 };

/* In their order on the way to the server. */
static const struct hf_stage_row stages[] = {
    {hf_task_wanted_before, NULL, hf_task_left},
    {hf_ask_before, NULL, hf_ask_left},
    {hf_arguments_before, NULL, NULL},
    {hf_key_before, hf_key_landed, NULL},
    {hf_cached_before, hf_cached_landed, NULL},
    {hf_task_before, NULL, NULL},
    {hf_lost_before, hf_lost_landed, NULL},
    {hf_flight_before, hf_flight_landed, hf_flight_left},
    {hf_intent_before, hf_intent_landed, hf_intent_left},
};
enum { STAGE_COUNT = sizeof stages / sizeof stages[0] };

struct hf_exchange *hf_pipeline_waiter_exchange(struct hf_waiter *waiter) {
  struct hf_call *call = HF_CONTAINER_OF(waiter, struct hf_call, waiter);
  return HF_CONTAINER_OF(call, struct hf_exchange, call);
}

static struct hf_target_tool *target_at(struct hf_exchange *exchange, unsigned index) {
  return &exchange->targets[index];
}

static void report(struct hf_exchange *exchange, unsigned provider, const struct hf_report *what) {
  const struct hf_target_tool *target = target_at(exchange, provider);
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT, .report = {target->breaker, *what}};
  hf_instance_step(target->instance, &event);
}

/* A permit that was granted to a call which no longer wants it goes back to where it was asked for, which need not be
 * where the call ended, and counts for nothing. */
static void return_unused_permits(struct hf_exchange *exchange) {
  const struct hf_call *call = &exchange->call;
  unsigned from = call->owed ? call->owed_by : call->target;
  for (unsigned i = 0; i < exchange->event_count; i++) {
    const struct hf_call_event *event = &exchange->events[i];
    if (event->kind != HF_CALL_PERMIT_GRANTED)
      continue;
    struct hf_report unused = {
        .permit = event->granted.permit, .blame = HF_BLAME_NOBODY, .retry_after = -1, .latency = -1};
    report(exchange, from, &unused);
  }
  exchange->event_count = 0;
}

/* Reads `resultType`: what is neither complete nor absent is no end of the work. */
/* A legacy client cannot be asked in the modern way. */
static bool can_carry(const struct hf_exchange *exchange, const struct hf_message *response) {
  return exchange->era == HF_ERA_MODERN || !hf_message_is_pending(response);
}

static int decode_mapped(const struct hf_target_tool *target, const struct hf_message *response, struct hf_str between,
                         struct hf_message *ret_mapped) {
  static const struct hf_str head = HF_STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":");
  struct hf_buf text, result;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  hf_buf_init(&result, HF_MESSAGE_BYTES_MAX);
  struct hf_refusal refusal;
  int r = hf_template_fill(target->mapping->result, hf_message_raw(response, HF_FIELD_RESULT), &result);
  if (r == 0 && (result.len < 2 || result.data[0] != '{'))
    r = HF_ERR_INVALID;
  if (r == 0)
    r = hf_buf_append_str(&text, head);
  if (r == 0)
    r = hf_buf_append_str(&text, HF_STR("{"));
  if (r == 0)
    r = hf_buf_append_str(&text, between);
  if (r == 0 && between.len && result.len > 2)
    r = hf_buf_append_str(&text, HF_STR(","));
  if (r == 0)
    r = hf_buf_append(&text, result.data + 1, result.len - 1);
  if (r == 0)
    r = hf_buf_append_str(&text, HF_STR("}"));
  if (r == 0)
    r = hf_message_decode(&text, ret_mapped, &refusal);
  hf_buf_deinit(&result);
  hf_buf_deinit(&text);
  return r;
}

/* The answer as the route gives it. Returns the message to pass on, `ret_mapped` if it had to be made. A tool's result
 * has `content`, whatever the template found. */
static const struct hf_message *map_result(const struct hf_target_tool *target, const struct hf_message *response,
                                           struct hf_message *ret_mapped) {
  *ret_mapped = (struct hf_message){0};
  if (!target || !target->mapping || !target->mapping->result.ptr || response->kind != HF_MESSAGE_RESULT ||
      response->is_error || hf_message_is_pending(response))
    return response;
  int r = decode_mapped(target, response, HF_STR(""), ret_mapped);
  if (r == 0 && !hf_message_raw(ret_mapped, HF_FIELD_CONTENT).ptr) {
    hf_message_deinit(ret_mapped);
    r = decode_mapped(target, response, HF_STR("\"content\":[]"), ret_mapped);
  }
  return r == 0 ? ret_mapped : NULL;
}

static void pass_answer_on(struct hf_exchange *exchange, const struct hf_message *response,
                           const struct hf_outcome *outcome) {
  struct hf_buf marker;
  hf_buf_init(&marker, HF_OUTCOME_MARKER_MAX);
  struct hf_str absent = {NULL, 0};
  bool marked = exchange->request.method == HF_METHOD_TOOLS_CALL && hf_outcome_marker(exchange, outcome, &marker) == 0;
  struct hf_message amended;
  response = hf_repaired_amend(exchange, response, &amended);
  struct hf_pieces text;
  hf_pieces_init(&text);
  int r = hf_relay_response(exchange, response, marked ? hf_buf_str(&marker) : absent, &text);
  if (r == 0) {
    hf_outcome_record(exchange, outcome);
    bool good = response->kind == HF_MESSAGE_RESULT;
    hf_exchange_finish(exchange, good ? 200 : hf_exchange_status(response->error_code), &text);
  } else {
    struct hf_outcome failed = *outcome;
    failed.fault = HF_FAULT_BAD_REPLY;
    hf_outcome_record(exchange, &failed);
    hf_outcome_answer_failure(exchange, &failed);
  }
  hf_pieces_deinit(&text);
  hf_message_deinit(&amended);
  hf_buf_deinit(&marker);
}

void hf_pipeline_answer(struct hf_exchange *exchange, const struct hf_message *response,
                        const struct hf_outcome *outcome) {
  struct hf_outcome told = *outcome;
  if (response && can_carry(exchange, response)) {
    struct hf_message made;
    pass_answer_on(exchange, hf_advice_give(exchange, response, outcome, &made), outcome);
    hf_message_deinit(&made);
    return;
  }
  if (!response)
    (void)hf_advice_give(exchange, NULL, outcome, &(struct hf_message){0});
  if (response)
    told.fault = HF_FAULT_INPUT_REQUIRED;
  hf_outcome_record(exchange, &told);
  if (told.source != HF_SOURCE_LIVE)
    hf_outcome_answer_substitute(exchange, &told);
  else if (told.end == HF_CALL_END_CHECKED)
    hf_outcome_answer_checked(exchange, &told);
  else
    hf_outcome_answer_failure(exchange, &told);
}

static bool is_staged(const struct hf_exchange *exchange) {
  return exchange->request.method == HF_METHOD_TOOLS_CALL && !exchange->is_check;
}

static void tell_stages(struct hf_exchange *exchange, const struct hf_message *response,
                        const struct hf_outcome *outcome) {
  for (size_t i = 0; is_staged(exchange) && i < STAGE_COUNT; i++)
    if (stages[i].landed)
      stages[i].landed(exchange, response, outcome);
}

static const struct hf_message *tell_pages(struct hf_exchange *exchange, struct hf_outcome *told,
                                           struct hf_message *ret_made) {
  int r = hf_page_tell(exchange, exchange->response, ret_made);
  if (r == 0)
    return ret_made;
  exchange->unasked = r == HF_ERR_UNSUPPORTED
                          ? HF_STR("a page must be opened, and the client did not declare that it can")
                      : r == HF_ERR_LIMIT ? HF_STR("pages were opened for it too often")
                                          : HF_STR("a page must be opened, and it cannot be told which");
  told->fault = HF_FAULT_INPUT_REQUIRED;
  return NULL;
}

/* What the client gets of the server's last answer. NULL: it cannot be put as the route promises, or there is no
 * memory. */
static const struct hf_message *told_answer(struct hf_exchange *exchange, struct hf_outcome *told,
                                            struct hf_message *ret_made) {
  if (hf_page_is_wanted(exchange, exchange->response))
    return tell_pages(exchange, told, ret_made);
  if (told->fault == HF_FAULT_RESULT_MISFIT)
    return hf_result_tell(exchange, exchange->response, ret_made) == 0 ? ret_made : NULL;
  const struct hf_message *mapped = map_result(exchange->response_target, exchange->response, ret_made);
  if (!mapped)
    told->fault = HF_FAULT_BAD_REPLY; /* it ran, and what it said has no place in the route's */
  if (!mapped || told->fault != HF_FAULT_NONE || !hf_result_misfits_route(exchange, mapped))
    return mapped;
  struct hf_message mended = {0};
  told->fault = HF_FAULT_RESULT_MISFIT;
  told->executed = HF_EXECUTED_YES;
  int r = hf_result_tell(exchange, mapped, &mended);
  hf_message_deinit(ret_made);
  if (r == 0)
    hf_message_move(ret_made, &mended);
  return r == 0 ? ret_made : NULL;
}

/* What a server says that cannot ask: that a legacy client declared too little, in words that such a client does not
 * know. */
static bool lacks_capability(const struct hf_exchange *exchange) {
  const struct hf_message *response = exchange->response;
  return exchange->era != HF_ERA_MODERN && response && response->kind == HF_MESSAGE_ERROR &&
         response->error_code == HF_RPC_MISSING_CAPABILITY;
}

/* An answer that came in the step which ended the call is the server's own words, error or not, and is passed on; but
 * that a session is lost is said of the gateway's session, and a client would take it for its own. */
static void finish(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  if (exchange->request.method == HF_METHOD_RESOURCES_SUBSCRIBE)
    hf_subscription_answered(exchange, outcome->fault == HF_FAULT_NONE);
  hf_timer_stop(exchange->client->gateway->loop, &exchange->timer);
  if (outcome->attempts > 0 || outcome->fault != HF_FAULT_NONE)
    exchange->target = target_at(exchange, outcome->provider);
  bool answered = exchange->response && outcome->attempts > 0 && outcome->attempt == exchange->response_attempt &&
                  outcome->fault != HF_FAULT_SESSION_LOST && outcome->source == HF_SOURCE_LIVE &&
                  outcome->end != HF_CALL_END_CHECKED;
  struct hf_message made = {0};
  struct hf_outcome told = *outcome;
  if (answered && lacks_capability(exchange)) {
    exchange->unasked = HF_STR("the client did not declare that it can be asked");
    answered = false;
    told.fault = HF_FAULT_INPUT_REQUIRED;
  } else if (exchange->unasked.ptr && told.end == HF_CALL_END_ANSWERED) {
    told.fault = HF_FAULT_INPUT_REQUIRED;
  }
  const struct hf_message *response = answered ? told_answer(exchange, &told, &made) : NULL;
  tell_stages(exchange, response, &told);
  bool shutdown = exchange->client->gateway->draining && exchange->reply;
  if (hf_held_keep(exchange, response, &told)) {
    hf_trace_stage(exchange, HF_STR("its answer is kept until its client comes back"));
  } else if (!exchange->reply || (told.end == HF_CALL_END_CANCELLED && !shutdown)) {
    hf_outcome_record(exchange, &told);
    hf_exchange_end_cancelled(exchange);
  } else {
    hf_pipeline_answer(exchange, response, &told);
  }
  hf_message_deinit(&made);
}

/* The server's last answer is borrowed for the turn in which it came; a call that first looks for something better, or
 * is written down, passes it on later. */
static void keep_response(struct hf_exchange *exchange) {
  if (!exchange->response || exchange->response == &exchange->kept)
    return;
  struct hf_refusal refusal;
  struct hf_message kept;
  if (hf_message_decode_copy(hf_message_bytes(exchange->response), &kept, &refusal) < 0) {
    exchange->response = NULL;
    return;
  }
  hf_message_deinit(&exchange->kept);
  exchange->kept = kept;
  exchange->response = &exchange->kept;
}

static void degrade(struct hf_exchange *exchange) {
  struct hf_call_event event = {.kind = HF_CALL_DEGRADED};
  event.degraded.source = hf_cached_substitute(exchange, &event.degraded.age);
  hf_pipeline_post(exchange, &event);
}

static void perform(struct hf_exchange *exchange, const struct hf_call_action *action) {
  struct hf_provider_event event = {.waiter = &exchange->call.waiter};
  switch (action->kind) {
  case HF_CALL_ACQUIRE:
    exchange->target = target_at(exchange, action->provider);
    exchange->call.waiter.tool = exchange->target->breaker;
    event.kind = HF_PROVIDER_ACQUIRE;
    hf_instance_step(exchange->target->instance, &event);
    hf_trace_asked(exchange);
    break;
  case HF_CALL_WITHDRAW:
    event.kind = HF_PROVIDER_WITHDRAW;
    hf_instance_step(target_at(exchange, action->provider)->instance, &event);
    break;
  case HF_CALL_START_ATTEMPT:
    hf_live_start(exchange, action);
    break;
  case HF_CALL_ABORT_ATTEMPT:
    hf_live_abort(exchange, &action->abort);
    break;
  case HF_CALL_REPORT:
    report(exchange, action->provider, &action->report);
    break;
  case HF_CALL_CHECK:
    keep_response(exchange);
    hf_check_start(exchange, target_at(exchange, action->provider), action->check_by);
    break;
  case HF_CALL_ABORT_CHECK:
    hf_check_abort(exchange);
    break;
  case HF_CALL_DEGRADE:
    keep_response(exchange);
    degrade(exchange);
    break;
  case HF_CALL_DEAD_LETTER:
    keep_response(exchange);
    exchange->target = target_at(exchange, action->outcome.provider);
    hf_letter_write(exchange, &action->outcome);
    break;
  case HF_CALL_FINISH:
    finish(exchange, &action->outcome);
    break;
  }
}

static void step_once(struct hf_exchange *exchange, const struct hf_call_event *event) {
  struct hf_loop *loop = exchange->client->gateway->loop;
  struct hf_call_actions actions;
  hf_trace_event(exchange, event);
  if (hf_call_step(&exchange->call, event, loop->now, &actions) < 0) {
    hf_log_event(loop->log, HF_LOG_ERROR, "call refused an event", HF_LOG_INT("kind", event->kind),
                 HF_LOG_INT("state", exchange->call.state));
    return;
  }
  for (unsigned i = 0; i < actions.len; i++) {
    bool report = actions.items[i].kind == HF_CALL_REPORT;
    if (!report)
      hf_trace_action(exchange, &actions.items[i]);
    perform(exchange, &actions.items[i]);
    if (report)
      hf_trace_action(exchange, &actions.items[i]);
  }
}

static bool pop(struct hf_exchange *exchange, struct hf_call_event *ret_event) {
  if (exchange->event_count == 0)
    return false;
  *ret_event = exchange->events[0];
  exchange->event_count--;
  memmove(exchange->events, exchange->events + 1, exchange->event_count * sizeof exchange->events[0]);
  return true;
}

/* Returns false if the exchange is gone. */
static bool run(struct hf_exchange *exchange) {
  if (exchange->stepping)
    return true;
  exchange->stepping = true;
  struct hf_call_event event;
  while (exchange->stage == HF_STAGE_CALLING && pop(exchange, &event))
    step_once(exchange, &event);
  if (exchange->response != &exchange->kept)
    exchange->response = NULL;
  exchange->stepping = false;

  if (exchange->stage == HF_STAGE_CALLING) {
    hf_timer_set(exchange->client->gateway->loop, &exchange->timer, hf_call_deadline(&exchange->call));
    return true;
  }
  return_unused_permits(exchange);
  if (exchange->stage == HF_STAGE_HELD)
    return true; /* for its client, which is to come back */
  hf_exchange_drop(exchange);
  return false;
}

static void run_job(struct hf_job *job) {
  run(HF_CONTAINER_OF(job, struct hf_exchange, job));
}

static void queue(struct hf_exchange *exchange, const struct hf_call_event *event) {
  assert(exchange->event_count < HF_EXCHANGE_EVENTS_MAX);
  exchange->events[exchange->event_count++] = *event;
}

void hf_pipeline_post(struct hf_exchange *exchange, const struct hf_call_event *event) {
  queue(exchange, event);
  if (!exchange->stepping)
    hf_job_defer(exchange->client->gateway->loop, &exchange->job);
}

bool hf_pipeline_event(struct hf_exchange *exchange, const struct hf_call_event *event) {
  queue(exchange, event);
  return run(exchange);
}

void hf_pipeline_outlive(struct hf_exchange *exchange) {
  if (exchange->stage != HF_STAGE_CALLING)
    return;
  hf_call_outlive(&exchange->call);
  hf_timer_set(exchange->client->gateway->loop, &exchange->timer, hf_call_deadline(&exchange->call));
}

void hf_pipeline_timer(struct hf_exchange *exchange) {
  hf_away_due(exchange);
  hf_pipeline_event(exchange, &(struct hf_call_event){.kind = HF_CALL_TIMER});
}

/* The call says when it is over: one that may have run can have to be written down first. */
void hf_pipeline_cancel(struct hf_exchange *exchange) {
  exchange->stepping = true;
  step_once(exchange, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
  if (exchange->stage == HF_STAGE_CALLING && exchange->client->gateway->closing) {
    /* The loop turns no more: what is being written will be, but nobody hears of it here. */
    hf_intent_stop_waiting(exchange);
    step_once(exchange, &(struct hf_call_event){.kind = HF_CALL_LETTER_DONE});
  }
  exchange->stepping = false;
  run(exchange);
}

/* The caller's hints are read leniently: what cannot be read is no hint. */
static void read_hint(const struct hf_json_doc *doc, struct hf_str name, int64_t *ret_value) {
  uint32_t node;
  int64_t value;
  if (hf_json_member(doc, 0, name, &node) == 0 && hf_json_int64(hf_json_span(doc, node), &value) == 0 && value > 0 &&
      value < INT32_MAX)
    *ret_value = value;
}

static void read_hints(struct hf_exchange *exchange) {
  struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_META_CALL);
  if (!raw.ptr)
    return;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = HINT_NODES_MAX;
  options.max_bytes = HINT_BYTES_MAX;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0 && scan.nodes[0].type == HF_JSON_OBJECT) {
    struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    int64_t deadline = 0, attempts = 0, priority = 0;
    read_hint(&doc, HF_STR("deadlineMs"), &deadline);
    read_hint(&doc, HF_STR("maxAttempts"), &attempts);
    read_hint(&doc, HF_STR("priority"), &priority);
    exchange->hints.deadline = HF_MS(deadline);
    exchange->hints.max_attempts = (unsigned)attempts;
    if (priority > exchange->priority && priority <= HF_PRIORITY_LAST)
      exchange->priority = (unsigned)priority;
    uint32_t node;
    bool allowed;
    if (hf_json_member(&doc, 0, HF_STR("allowFallback"), &node) == 0 && hf_json_bool(&doc, node, &allowed) == 0)
      exchange->hints.stay = !allowed;
  }
  hf_json_scan_deinit(&scan);
}

/* A key that cannot be put into the request, or that the server has forgotten, protects from nothing. */
static hf_time keyed_until(const struct hf_exchange *exchange, const struct hf_target_tool *target) {
  const struct hf_loop *loop = exchange->client->gateway->loop;
  if (!exchange->key.ptr || target->tool->key.place == HF_KEY_NONE)
    return 0;
  int64_t age_ms = exchange->key_first_ms ? loop->wall_ms - exchange->key_first_ms : 0;
  hf_time left = target->tool->key.ttl - HF_MS(age_ms > 0 ? age_ms : 0);
  return left > 0 ? hf_time_add(loop->now, left) : 0;
}

/* Of a call that an earlier gateway has sent the arguments are not known, and nothing says which one is asked about. */
static bool can_be_checked(const struct hf_exchange *exchange) {
  return !exchange->replay && !exchange->server_task.ptr;
}

static struct hf_call_target call_target(const struct hf_exchange *exchange, const struct hf_target_tool *target) {
  bool read_only = target->configured && target->safety == HF_SAFETY_READ_ONLY;
  const struct hf_reconcile_settings *reconcile = &target->tool->reconcile;
  return (struct hf_call_target){
      .safety = target->safety,
      .stateful = target->instance->settings->stateful,
      .server = target->server,
      .harmless = read_only,
      .hedged = read_only && target->tool->hedge,
      .keyed_until = target->safety == HF_SAFETY_KEYED ? keyed_until(exchange, target) : 0,
      .check_time = can_be_checked(exchange) && reconcile->tool.server.ptr ? reconcile->timeout : 0,
      .settle = reconcile->settle,
  };
}

static bool may_degrade(const struct hf_exchange *exchange) {
  const struct hf_tool_settings *tool = exchange->tool;
  return tool && !exchange->is_check && can_be_checked(exchange) &&
         (tool->cache.max_stale > 0 || tool->fallback.text.ptr || tool->fallback.structured.ptr ||
          tool->degraded == HF_DEGRADED_EXPLICIT);
}

/* A replay that fails is written to its letter, whatever the policy says by now. */
static enum hf_letter_policy letters(const struct hf_exchange *exchange) {
  if (!exchange->client->gateway->store || !exchange->tool || exchange->is_check)
    return HF_LETTER_OFF;
  return exchange->replay ? HF_LETTER_ALL : exchange->tool->letters;
}

/* The caller's deadline counts from when it called, and the call may have waited here: for lists, the store, or an
 * equal call. Returns false if nothing is left of it. */
static bool hints_left(const struct hf_exchange *exchange, struct hf_call_hints *ret_hints) {
  hf_time waited = exchange->client->gateway->loop->now - exchange->started;
  *ret_hints = exchange->hints;
  if (exchange->hints.deadline > 0)
    ret_hints->deadline -= waited;
  return exchange->hints.deadline == 0 || ret_hints->deadline > 0;
}

static void begin_call(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = exchange->client->gateway;
  const struct hf_target_tool *target = exchange->target;
  struct hf_call_target targets[HF_CALL_TARGETS_MAX];
  struct hf_call_hints hints;
  if (!hints_left(exchange, &hints)) {
    hf_outcome_answer_refusal(exchange, HF_FAULT_DEADLINE, HF_RPC_INTERNAL_ERROR,
                              HF_STR("The deadline that came with the call passed before it could be sent. Nothing "
                                     "was executed."));
    return;
  }
  /* Whoever gave the state of a question must get its answer. */
  size_t count = exchange->request.at[HF_FIELD_REQUEST_STATE] ? 1 : exchange->target_count;
  for (size_t i = 0; i < count; i++)
    targets[i] = call_target(exchange, target_at(exchange, (unsigned)i));
  struct hf_call_options options = {
      .timeout = target->policy->timeout,
      .retry = target->policy->retry,
      .hints = hints,
      .targets = targets,
      .target_count = count,
      .priority = exchange->priority,
      .degrades = may_degrade(exchange),
      .letters = letters(exchange),
      .seed = hf_random_next(&gateway->loop->random),
  };
  exchange->stage = HF_STAGE_CALLING;
  hf_job_init(&exchange->job, run_job);
  hf_call_init(&exchange->call, &options);
  if (exchange->server_task.ptr)
    hf_call_inherit(&exchange->call);
  if (exchange->task || exchange->alone)
    hf_call_outlive(&exchange->call);
  hf_pipeline_event(exchange, &(struct hf_call_event){.kind = HF_CALL_STARTED});
}

void hf_pipeline_go_on(struct hf_exchange *exchange) {
  hf_timer_stop(exchange->client->gateway->loop, &exchange->timer);
  exchange->stage = HF_STAGE_NEW;
  while (is_staged(exchange) && exchange->stage_next < STAGE_COUNT) {
    const struct hf_stage_row *row = &stages[exchange->stage_next++];
    if (row->before && row->before(exchange) != HF_STAGE_PASS)
      return;
  }
  begin_call(exchange);
}

void hf_pipeline_start(struct hf_exchange *exchange) {
  exchange->priority = exchange->tool ? exchange->tool->priority : 0;
  read_hints(exchange);
  if (exchange->request.method == HF_METHOD_TOOLS_CALL)
    hf_trace_begin(exchange);
  if (!hf_task_resumed(exchange))
    return;
  if (exchange->server_task.ptr)
    begin_call(exchange); /* its stages were gone through before it was sent */
  else
    hf_pipeline_go_on(exchange);
}

void hf_pipeline_left(struct hf_exchange *exchange) {
  for (size_t i = 0; i < STAGE_COUNT; i++)
    if (stages[i].left)
      stages[i].left(exchange);
  hf_check_abort(exchange);
  hf_trace_left(exchange);
}
