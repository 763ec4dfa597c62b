#include "gateway/pipeline.h"

#include "gateway/outcome.h"
#include "gateway/question.h"
#include "gateway/relay.h"
#include "gateway/subscription.h"

#include <assert.h>

enum { HINT_NODES_MAX = 256, HINT_BYTES_MAX = 1 << 16 };

struct hf_exchange *hf_pipeline_waiter_exchange(struct hf_waiter *waiter) {
  struct hf_call *call = HF_CONTAINER_OF(waiter, struct hf_call, waiter);
  return HF_CONTAINER_OF(call, struct hf_exchange, call);
}

static void report(struct hf_exchange *exchange, const struct hf_report *what) {
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT, .report = {exchange->target.breaker, *what}};
  hf_instance_step(exchange->target.instance, &event);
}

/* A permit that was granted to a call which no longer wants it goes back, and counts for nothing. */
static void return_unused_permits(struct hf_exchange *exchange) {
  for (unsigned i = 0; i < exchange->event_count; i++) {
    const struct hf_call_event *event = &exchange->events[i];
    if (event->kind != HF_CALL_PERMIT_GRANTED)
      continue;
    struct hf_report unused = {.permit = event->granted.permit, .blame = HF_BLAME_NOBODY, .retry_after = -1};
    report(exchange, &unused);
  }
  exchange->event_count = 0;
}

static void on_sent(void *ctx, size_t bytes, bool complete) {
  struct hf_exchange *exchange = ctx;
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_SENT, .attempt = exchange->attempt, .sent = {bytes, complete}};
  hf_pipeline_event(exchange, &event);
}

static bool show_life(struct hf_exchange *exchange) {
  struct hf_call_event event = {.kind = HF_CALL_SIGN_OF_LIFE, .attempt = exchange->attempt};
  return hf_pipeline_event(exchange, &event);
}

static void on_life(void *ctx) {
  show_life(ctx);
}

static void on_part(void *ctx) {
  struct hf_exchange *exchange = ctx;
  struct hf_call_event event = {.kind = HF_CALL_ANSWER_BYTES, .attempt = exchange->attempt};
  hf_pipeline_event(exchange, &event);
}

static void on_message(void *ctx, const struct hf_message *message) {
  struct hf_exchange *exchange = ctx;
  if (!show_life(exchange))
    return;
  if (message->kind == HF_MESSAGE_REQUEST) {
    hf_question_ask(exchange->target.instance, exchange, message);
    return;
  }
  if (message->method != HF_METHOD_PROGRESS && message->method != HF_METHOD_LOG_MESSAGE) {
    hf_instance_message(exchange->target.instance, message);
    return;
  }
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_relay_notification(exchange, message, &text) == 0)
    hf_exchange_message(exchange, &text);
  hf_pieces_deinit(&text);
}

/* Reads `resultType`: what is neither complete nor absent is no end of the work. */
static bool is_pending(const struct hf_message *response) {
  struct hf_str type = hf_message_raw(response, HF_FIELD_RESULT_TYPE);
  return type.ptr && !hf_str_equal(type, HF_STR("\"complete\""));
}

static bool matches_transient(const struct hf_exchange *exchange, const struct hf_message *response) {
  const struct hf_strings *patterns = exchange->target.transient_errors;
  struct hf_str content = hf_message_raw(response, HF_FIELD_CONTENT);
  for (size_t i = 0; patterns && content.ptr && i < patterns->count; i++)
    if (hf_pattern_inside(patterns->item[i], content))
      return true;
  return false;
}

static void on_done(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_exchange *exchange = ctx;
  exchange->ref = NULL;
  hf_question_void(exchange);

  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = exchange->attempt};
  event.done.evidence = *evidence;
  if (!response || response->kind == HF_MESSAGE_ERROR) {
    event.done.result = HF_ATTEMPT_FAULT;
  } else if (response->is_error) {
    event.done.result = HF_ATTEMPT_FAULT;
    event.done.evidence.kind = HF_EVIDENCE_TOOL_ERROR;
    event.done.evidence.matches_transient = matches_transient(exchange, response);
  } else {
    event.done.result = is_pending(response) ? HF_ATTEMPT_PENDING : HF_ATTEMPT_SUCCESS;
  }
  exchange->response = response;
  assert(!exchange->stepping);
  hf_pipeline_event(exchange, &event); /* the exchange may be gone now, but not if it goes on */
}

static const struct hf_attempt_events attempt_events = {on_sent, on_life, on_message, on_done, on_part};

static void attempt_failed_here(struct hf_exchange *exchange, enum hf_evidence_kind kind) {
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = exchange->attempt};
  event.done.result = HF_ATTEMPT_FAULT;
  event.done.evidence = HF_EVIDENCE(kind);
  hf_pipeline_post(exchange, &event);
}

/* Headers that repeat arguments are computed from what is sent; those that the schema doesn't know pass as they came.
 */
static int collect_headers(struct hf_exchange *exchange, struct hf_header ret_header[HF_PARAM_HEADERS_MAX]) {
  const struct hf_param_headers *known = &exchange->target.headers;
  int count = hf_param_headers_compute(known, hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS), &exchange->arena,
                                       ret_header);
  for (size_t i = 0; count >= 0 && count < HF_PARAM_HEADERS_MAX && i < exchange->header_count; i++)
    if (!hf_param_headers_know(known, exchange->headers[i].name))
      ret_header[count++] = exchange->headers[i];
  return count;
}

static void start_attempt(struct hf_exchange *exchange, const struct hf_call_action *action) {
  struct hf_instance *instance = exchange->target.instance;
  exchange->attempt = action->start.attempt;
  exchange->response = NULL; /* that of the attempt before is not this one's */
  exchange->upstream_id = hf_gateway_next_id(instance->gateway);
  struct hf_header params[HF_PARAM_HEADERS_MAX];
  int param_count = collect_headers(exchange, params);
  struct hf_pieces text;
  hf_pieces_init(&text);
  int r = param_count < 0 ? param_count : hf_relay_request(exchange, exchange->upstream_id, &text);
  if (r == 0) {
    struct hf_upstream_request request = {
        .id = exchange->upstream_id,
        .method = exchange->request.method,
        .text = &text,
        .name = exchange->target.name.ptr ? exchange->target.name : exchange->request.uri,
        .params = params,
        .param_count = (size_t)param_count,
        .new_session = action->start.new_session,
        .connect_by = action->start.connect_by,
        .events = &attempt_events,
        .ctx = exchange,
    };
    r = instance->upstream->ops->request(instance->upstream, &request, &exchange->ref);
  }
  hf_pieces_deinit(&text);
  if (r < 0) {
    exchange->ref = NULL;
    attempt_failed_here(exchange, r == HF_ERR_UNAVAILABLE ? HF_EVIDENCE_NOT_STARTED : HF_EVIDENCE_LOCAL_LIMIT);
  }
}

static void abort_attempt(struct hf_exchange *exchange, enum hf_abort_reason reason) {
  static const struct hf_str texts[] = {
      [HF_ABORT_CONNECT] = HF_STR("no connection in time"),
      [HF_ABORT_IDLE] = HF_STR("no sign of life for too long"),
      [HF_ABORT_ATTEMPT] = HF_STR("took too long"),
      [HF_ABORT_DEADLINE] = HF_STR("the deadline of the call has passed"),
      [HF_ABORT_CANCELLED] = HF_STR("cancelled by the client"),
      [HF_ABORT_HEDGED] = HF_STR("another attempt has answered"),
  };
  struct hf_upstream *upstream = exchange->target.instance->upstream;
  if (exchange->ref)
    upstream->ops->abort(upstream, exchange->ref, texts[reason]);
  exchange->ref = NULL;
  hf_question_void(exchange);
}

/* A legacy client cannot be asked in the modern way. */
static bool can_carry(const struct hf_exchange *exchange) {
  return exchange->era == HF_ERA_MODERN || exchange->target.instance->era != HF_ERA_MODERN ||
         !is_pending(exchange->response);
}

static void pass_answer_on(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  struct hf_buf marker;
  hf_buf_init(&marker, 4096);
  struct hf_str absent = {NULL, 0};
  bool marked = exchange->request.method == HF_METHOD_TOOLS_CALL && hf_outcome_marker(exchange, outcome, &marker) == 0;
  struct hf_pieces text;
  hf_pieces_init(&text);
  int r = hf_relay_response(exchange, exchange->response, marked ? hf_buf_str(&marker) : absent, &text);
  if (r == 0) {
    hf_outcome_record(exchange, outcome);
    bool good = exchange->response->kind == HF_MESSAGE_RESULT;
    hf_exchange_finish(exchange, good ? 200 : hf_exchange_status(exchange->response->error_code), &text);
  } else {
    struct hf_outcome failed = *outcome;
    failed.fault = HF_FAULT_BAD_REPLY;
    hf_outcome_record(exchange, &failed);
    hf_outcome_answer_failure(exchange, &failed);
  }
  hf_pieces_deinit(&text);
  hf_buf_deinit(&marker);
}

/* An answer that came in the step which ended the call is the server's own words, error or not, and is passed on; but
 * that a session is lost is said of the gateway's session, and a client would take it for its own. */
static void finish(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  if (exchange->request.method == HF_METHOD_RESOURCES_SUBSCRIBE && outcome->fault != HF_FAULT_NONE)
    hf_subscription_remove(exchange->client, exchange->request.uri);
  hf_timer_stop(exchange->client->gateway->loop, &exchange->timer);
  bool shutdown = exchange->client->gateway->draining && exchange->reply;
  if (!exchange->reply || (outcome->end == HF_CALL_END_CANCELLED && !shutdown)) {
    hf_outcome_record(exchange, outcome);
    hf_exchange_end_cancelled(exchange);
    return;
  }
  bool answered = exchange->response && outcome->attempts > 0 && outcome->attempt == exchange->attempt &&
                  outcome->fault != HF_FAULT_SESSION_LOST;
  if (answered && can_carry(exchange)) {
    pass_answer_on(exchange, outcome);
    return;
  }
  struct hf_outcome told = *outcome;
  if (answered)
    told.fault = HF_FAULT_INPUT_REQUIRED;
  hf_outcome_record(exchange, &told);
  hf_outcome_answer_failure(exchange, &told);
}

static void perform(struct hf_exchange *exchange, const struct hf_call_action *action) {
  struct hf_instance *instance = exchange->target.instance;
  struct hf_provider_event event = {.waiter = &exchange->call.waiter};
  switch (action->kind) {
  case HF_CALL_ACQUIRE:
    event.kind = HF_PROVIDER_ACQUIRE;
    hf_instance_step(instance, &event);
    break;
  case HF_CALL_WITHDRAW:
    event.kind = HF_PROVIDER_WITHDRAW;
    hf_instance_step(instance, &event);
    break;
  case HF_CALL_START_ATTEMPT:
    start_attempt(exchange, action);
    break;
  case HF_CALL_ABORT_ATTEMPT:
    abort_attempt(exchange, action->abort.reason);
    break;
  case HF_CALL_REPORT:
    report(exchange, &action->report);
    break;
  case HF_CALL_CHECK:
  case HF_CALL_ABORT_CHECK:
  case HF_CALL_DEGRADE:
  case HF_CALL_DEAD_LETTER:
    break; /* not asked for */
  case HF_CALL_FINISH:
    finish(exchange, &action->outcome);
    break;
  }
}

static void step_once(struct hf_exchange *exchange, const struct hf_call_event *event) {
  struct hf_loop *loop = exchange->client->gateway->loop;
  struct hf_call_actions actions;
  if (hf_call_step(&exchange->call, event, loop->now, &actions) < 0) {
    hf_log_event(loop->log, HF_LOG_ERROR, "call refused an event", HF_LOG_INT("kind", event->kind),
                 HF_LOG_INT("state", exchange->call.state));
    return;
  }
  for (unsigned i = 0; i < actions.len; i++)
    perform(exchange, &actions.items[i]);
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
  exchange->response = NULL;
  exchange->stepping = false;

  if (exchange->stage == HF_STAGE_CALLING) {
    hf_timer_set(exchange->client->gateway->loop, &exchange->timer, hf_call_deadline(&exchange->call));
    return true;
  }
  return_unused_permits(exchange);
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

void hf_pipeline_timer(struct hf_exchange *exchange) {
  hf_pipeline_event(exchange, &(struct hf_call_event){.kind = HF_CALL_TIMER});
}

void hf_pipeline_cancel(struct hf_exchange *exchange) {
  exchange->stepping = true;
  step_once(exchange, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
  exchange->stepping = false;
  return_unused_permits(exchange);
  hf_exchange_drop(exchange);
}

/* The caller's hints are read leniently: what cannot be read is no hint. */
static struct hf_call_hints read_hints(const struct hf_exchange *exchange) {
  struct hf_call_hints hints = {0};
  struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_META_CALL);
  if (!raw.ptr)
    return hints;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = HINT_NODES_MAX;
  options.max_bytes = HINT_BYTES_MAX;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0 && scan.nodes[0].type == HF_JSON_OBJECT) {
    struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    uint32_t node;
    int64_t value;
    if (hf_json_member(&doc, 0, HF_STR("deadlineMs"), &node) == 0 &&
        hf_json_int64(hf_json_span(&doc, node), &value) == 0 && value > 0 && value < INT32_MAX)
      hints.deadline = HF_MS(value);
    if (hf_json_member(&doc, 0, HF_STR("maxAttempts"), &node) == 0 &&
        hf_json_int64(hf_json_span(&doc, node), &value) == 0 && value > 0 && value < INT32_MAX)
      hints.max_attempts = (unsigned)value;
  }
  hf_json_scan_deinit(&scan);
  return hints;
}

void hf_pipeline_start(struct hf_exchange *exchange) {
  const struct hf_target_tool *target = &exchange->target;
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_call_target call_target = {.safety = target->safety, .stateful = target->instance->settings->stateful};
  struct hf_call_options options = {
      .timeout = target->policy->timeout,
      .retry = target->policy->retry,
      .hints = read_hints(exchange),
      .targets = &call_target,
      .target_count = 1,
      .seed = hf_random_next(&gateway->loop->random),
  };
  exchange->stage = HF_STAGE_CALLING;
  hf_job_init(&exchange->job, run_job);
  hf_call_init(&exchange->call, &options);
  exchange->call.waiter.tool = target->breaker;
  hf_list_push_back(&target->instance->exchanges, &exchange->at_instance);
  hf_pipeline_event(exchange, &(struct hf_call_event){.kind = HF_CALL_STARTED});
}
