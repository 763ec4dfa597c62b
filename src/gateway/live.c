#include "gateway/live.h"

#include "gateway/catalog/catalog.h"
#include "gateway/catalog/verbosity.h"
#include "gateway/correct/advice.h"
#include "gateway/pipeline.h"
#include "gateway/question/question.h"
#include "gateway/question/round.h"
#include "gateway/relay.h"
#include "gateway/result.h"
#include "gateway/stage/flight.h"
#include "gateway/stage/key_place.h"
#include "gateway/task/follow.h"
#include "mcp/log_level.h"
#include "json/template.h"

#include <assert.h>

static void on_sent(void *ctx, size_t bytes, bool complete) {
  struct hf_live *live = ctx;
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_SENT, .attempt = live->attempt, .sent = {bytes, complete}};
  hf_pipeline_event(live->exchange, &event);
}

static bool show_life(struct hf_live *live) {
  struct hf_call_event event = {.kind = HF_CALL_SIGN_OF_LIFE, .attempt = live->attempt};
  return hf_pipeline_event(live->exchange, &event);
}

static void on_life(void *ctx) {
  show_life(ctx);
}

static void on_part(void *ctx) {
  struct hf_live *live = ctx;
  struct hf_call_event event = {.kind = HF_CALL_ANSWER_BYTES, .attempt = live->attempt};
  hf_pipeline_event(live->exchange, &event);
}

void hf_live_pass_on(struct hf_exchange *exchange, const struct hf_message *message) {
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_relay_notification(exchange, message, &text) == 0)
    hf_exchange_message(exchange, &text);
  hf_pieces_deinit(&text);
  if (message->method == HF_METHOD_PROGRESS)
    hf_flight_progress(exchange, message);
}

void hf_live_message(struct hf_live *live, const struct hf_message *message) {
  if (!show_life(live))
    return;
  if (message->kind == HF_MESSAGE_REQUEST) {
    hf_question_ask(live->target->instance, live, message);
    return;
  }
  if (message->method == HF_METHOD_CANCELLED) {
    hf_question_withdraw(live->target->instance, message);
    return;
  }
  if (message->method != HF_METHOD_PROGRESS && message->method != HF_METHOD_LOG_MESSAGE) {
    hf_instance_message(live->target->instance, message);
    return;
  }
  hf_live_pass_on(live->exchange, message);
}

static void on_message(void *ctx, const struct hf_message *message) {
  hf_live_message(ctx, message);
}

static bool asked_for_log(const struct hf_exchange *exchange) {
  return exchange->era == HF_ERA_MODERN ? exchange->meta.log_level.ptr != NULL : exchange->client->log_level >= 0;
}

/* A modern server logs for a request that asked for it, and a legacy one for whatever it does: so of a shared legacy
 * server the only call under way is meant, else the only one that asked. A legacy server's lines for legacy clients are
 * nobody's in particular. */
bool hf_live_log(struct hf_instance *instance, const struct hf_message *message) {
  const bool legacy = instance->era != HF_ERA_MODERN;
  struct hf_exchange *meant = NULL;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->attempts) {
    struct hf_exchange *exchange = HF_CONTAINER_OF(it, struct hf_live, at_instance)->exchange;
    const bool counts = (legacy && !instance->client) || asked_for_log(exchange);
    if (exchange == meant || !counts)
      continue;
    if (meant)
      return false;
    meant = exchange;
  }
  if (!meant || (legacy && (meant->era != HF_ERA_MODERN || !asked_for_log(meant))))
    return false;
  hf_live_pass_on(meant, message);
  return !legacy || instance->client;
}

static bool matches_transient(const struct hf_target_tool *target, const struct hf_message *response) {
  const struct hf_strings *patterns = target->transient_errors;
  struct hf_str content = hf_message_raw(response, HF_FIELD_CONTENT);
  for (size_t i = 0; patterns && content.ptr && i < patterns->count; i++)
    if (hf_pattern_inside(patterns->item[i], content))
      return true;
  return false;
}

/* Returns how many questions that ends. */
static unsigned land(struct hf_live *live) {
  live->ref = NULL;
  hf_list_remove(&live->at_instance);
  hf_round_end(live);
  return hf_question_void(live->exchange, live);
}

/* Its request has been answered, and the attempt goes on. Returns false if the exchange is gone. */
static bool goes_on(struct hf_live *live) {
  const struct hf_call_event resumed = {.kind = HF_CALL_RESUMED, .attempt = live->attempt};
  for (unsigned ended = land(live); ended > 0; ended--)
    if (!hf_pipeline_event(live->exchange, &resumed))
      return false;
  return true;
}

void hf_live_done(struct hf_live *live, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_exchange *exchange = live->exchange;
  land(live);
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = live->attempt};
  event.done.evidence = *evidence;
  if (!response || response->kind == HF_MESSAGE_ERROR) {
    event.done.result = HF_ATTEMPT_FAULT;
  } else if (response->is_error) {
    event.done.result = HF_ATTEMPT_FAULT;
    event.done.evidence.kind = HF_EVIDENCE_TOOL_ERROR;
    event.done.evidence.matches_transient = matches_transient(live->target, response);
  } else if (hf_message_is_pending(response)) {
    event.done.result = HF_ATTEMPT_PENDING;
  } else if (hf_result_misfits(exchange, live->target, response)) {
    event.done.result = HF_ATTEMPT_FAULT;
    event.done.evidence.kind = HF_EVIDENCE_RESULT_MISFIT;
  } else if (hf_advice_is_unexpected(live->target, response)) {
    event.done.result = HF_ATTEMPT_FAULT;
    event.done.evidence.kind = HF_EVIDENCE_UNEXPECTED;
  } else {
    event.done.result = HF_ATTEMPT_SUCCESS;
  }
  exchange->response = response;
  exchange->response_attempt = live->attempt;
  exchange->response_target = live->target;
  assert(!exchange->stepping);
  hf_pipeline_event(exchange, &event); /* the exchange may be gone now, but not if it goes on */
}

static void finish(struct hf_live *live, const struct hf_evidence *evidence, const struct hf_message *response) {
  if (response)
    hf_round_over(live->exchange, response);
  hf_live_done(live, evidence, response);
}

static void on_done(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_live *live = ctx;
  if (response && hf_round_is_wanted(live->exchange, response)) {
    if (goes_on(live))
      hf_round_begin(live, response);
  } else if (response && hf_follow_is_wanted(live, response)) {
    if (goes_on(live))
      hf_follow_begin(live, response);
  } else {
    finish(live, evidence, response);
  }
}

static const struct hf_attempt_events attempt_events = {on_sent, on_life, on_message, on_done, on_part};

static void attempt_failed_here(struct hf_live *live, enum hf_evidence_kind kind) {
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = live->attempt};
  event.done.result = HF_ATTEMPT_FAULT;
  event.done.evidence = HF_EVIDENCE(kind);
  hf_pipeline_post(live->exchange, &event);
}

/* Headers that repeat arguments are computed from what is sent; those that the schema doesn't know pass as they came.
 */
static int collect_headers(struct hf_exchange *exchange, const struct hf_target_tool *target, struct hf_str arguments,
                           struct hf_header ret_header[HF_PARAM_HEADERS_MAX]) {
  const struct hf_param_headers *known = &target->headers;
  int count = hf_param_headers_compute(known, arguments, &exchange->arena, ret_header);
  for (size_t i = 0; count >= 0 && !target->mapping && count < HF_PARAM_HEADERS_MAX && i < exchange->header_count; i++)
    if (!hf_param_headers_know(known, exchange->headers[i].name))
      ret_header[count++] = exchange->headers[i];
  if (count >= 0 && count < HF_PARAM_HEADERS_MAX && hf_key_header(exchange, target, &ret_header[count]))
    count++;
  return count;
}

static struct hf_live *free_live(struct hf_exchange *exchange) {
  struct hf_live *live = exchange->live;
  while (live->ref || hf_round_waits(live) || hf_follow_is_on(live))
    live++;
  assert(live < exchange->live + HF_LIVE_MAX);
  return live;
}

/* What is sent in place of the caller's arguments, in the exchange's arena, or the caller's. */
static int map_arguments(struct hf_exchange *exchange, const struct hf_target_tool *target, struct hf_str *ret_raw) {
  *ret_raw = hf_exchange_arguments(exchange);
  if (!target->mapping || !target->mapping->arguments.ptr)
    return 0;
  struct hf_buf mapped;
  hf_buf_init(&mapped, HF_MESSAGE_BYTES_MAX);
  int r = hf_template_fill(target->mapping->arguments, ret_raw->ptr ? *ret_raw : HF_STR("{}"), &mapped);
  if (r == 0) {
    *ret_raw = hf_arena_copy(&exchange->arena, hf_buf_str(&mapped));
    r = ret_raw->ptr ? 0 : HF_ERR_NOMEM;
  }
  hf_buf_deinit(&mapped);
  return r;
}

/* What a mapping makes of arguments that fit the route need not fit the provider's tool: that is for the configuration
 * to mend, and another provider's may. Returns 0 or HF_ERR_INVALID. */
static int check_mapped(struct hf_exchange *exchange, const struct hf_target_tool *target, struct hf_str raw) {
  struct hf_gateway *gateway = exchange->client->gateway;
  const struct hf_item *item = hf_catalog_item(target);
  if (!target->mapping || !target->mapping->arguments.ptr || target->fit->validate == HF_CHECK_OFF || !item)
    return 0;
  const struct hf_schema *schema = hf_listing_schema(&target->instance->lists[HF_LIST_TOOLS], item, HF_SCHEMA_INPUT);
  bool deep;
  if (!schema || hf_validator_check(&gateway->validator, schema, raw, HF_JSON_DEPTH, &deep) != HF_ERR_INVALID)
    return 0;
  hf_log_event(gateway->loop->log, HF_LOG_WARN, "what a route's mapping makes of arguments does not fit the tool",
               HF_LOG_STR("route", exchange->route->name), HF_LOG_STR("server", target->instance->settings->name),
               HF_LOG_STR("tool", target->name));
  return target->fit->validate == HF_CHECK_ENFORCE ? HF_ERR_INVALID : 0;
}

/* Every attempt at a target sends the same. */
static int make_arguments(struct hf_exchange *exchange, struct hf_target_tool *target, struct hf_str *ret_raw) {
  *ret_raw = target->arguments;
  if (ret_raw->ptr)
    return 0;
  int r = map_arguments(exchange, target, ret_raw);
  if (r == 0)
    r = hf_key_put_argument(exchange, target, ret_raw);
  if (r == 0)
    r = check_mapped(exchange, target, *ret_raw);
  if (r == 0)
    target->arguments = *ret_raw;
  return r;
}

static int send_request(struct hf_live *live, bool new_session, hf_time connect_by) {
  struct hf_exchange *exchange = live->exchange;
  struct hf_instance *instance = live->target->instance;
  struct hf_str arguments;
  if (exchange->era == HF_ERA_MODERN && instance->era != HF_ERA_MODERN)
    hf_verbosity_request(instance, exchange->meta.log_level.ptr ? hf_log_level_index(exchange->meta.log_level) : -1);
  int r = make_arguments(exchange, live->target, &arguments);
  if (r < 0)
    return r;
  exchange->sent_arguments = arguments;
  struct hf_header params[HF_PARAM_HEADERS_MAX];
  int param_count = collect_headers(exchange, live->target, arguments, params);
  if (param_count < 0)
    return param_count;
  struct hf_pieces text;
  hf_pieces_init(&text);
  r = hf_relay_request(exchange, live, arguments, &text);
  if (r == 0) {
    struct hf_upstream_request request = {
        .id = live->upstream_id,
        .method = exchange->request.method,
        .text = &text,
        .name = live->target->name.ptr  ? live->target->name
                : live->target->uri.ptr ? live->target->uri
                                        : exchange->request.uri,
        .params = params,
        .param_count = (size_t)param_count,
        .new_session = new_session,
        .connect_by = connect_by,
        .events = &attempt_events,
        .ctx = live,
    };
    r = instance->upstream->ops->request(instance->upstream, &request, &live->ref);
  }
  hf_pieces_deinit(&text);
  return r;
}

static void begin(struct hf_live *live, bool new_session, hf_time connect_by) {
  live->upstream_id = hf_gateway_next_id(live->exchange->client->gateway);
  live->exchange->target = live->target;
  int r = send_request(live, new_session, connect_by);
  if (r == 0) {
    hf_list_push_back(&live->target->instance->attempts, &live->at_instance);
    return;
  }
  live->ref = NULL;
  attempt_failed_here(live, r == HF_ERR_UNAVAILABLE ? HF_EVIDENCE_NOT_STARTED
                            : r == HF_ERR_INVALID   ? HF_EVIDENCE_MISFIT
                                                    : HF_EVIDENCE_LOCAL_LIMIT);
}

void hf_live_start(struct hf_exchange *exchange, const struct hf_call_action *action) {
  if (hf_flight_is_deserted(exchange)) {
    hf_pipeline_post(exchange, &(struct hf_call_event){.kind = HF_CALL_CANCELLED});
    return;
  }
  if (action->start.hedge)
    hf_metrics_add(&exchange->client->gateway->metrics, HF_METRIC_HEDGES);
  struct hf_live *live = free_live(exchange);
  live->target = &exchange->targets[action->provider];
  live->attempt = action->start.attempt;
  if (exchange->response_attempt != action->start.attempt)
    exchange->response = NULL; /* that of the attempt before is not this one's */
  if (exchange->server_task.ptr) {
    exchange->target = live->target;
    hf_follow_resume(live);
  } else {
    begin(live, action->start.new_session, action->start.connect_by);
  }
}

void hf_live_again(struct hf_live *live) {
  const hf_time patience = live->target->policy->timeout.connect;
  begin(live, false, hf_time_add(live->exchange->client->gateway->loop->now, patience));
}

void hf_live_abort(struct hf_exchange *exchange, const struct hf_call_abort *what) {
  static const struct hf_str texts[] = {
      [HF_ABORT_CONNECT] = HF_STR("no connection in time"),
      [HF_ABORT_IDLE] = HF_STR("no sign of life for too long"),
      [HF_ABORT_ATTEMPT] = HF_STR("took too long"),
      [HF_ABORT_DEADLINE] = HF_STR("the deadline of the call has passed"),
      [HF_ABORT_CANCELLED] = HF_STR("cancelled by the client"),
      [HF_ABORT_HEDGED] = HF_STR("another attempt has answered"),
  };
  for (size_t i = 0; i < HF_LIVE_MAX; i++) {
    struct hf_live *live = &exchange->live[i];
    if ((!live->ref && !hf_round_waits(live) && !hf_follow_is_on(live)) || live->attempt != what->attempt)
      continue;
    struct hf_upstream *upstream = live->target->instance->upstream;
    if (live->ref)
      upstream->ops->abort(upstream, live->ref, texts[what->reason]);
    hf_follow_abort(live);
    land(live);
  }
}
