#include "gateway/correct/ask.h"

#include "gateway/correct/feedback.h"
#include "gateway/correct/prompt.h"
#include "gateway/correct/sampling.h"
#include "gateway/fingerprint.h"
#include "gateway/model.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/question/input_required.h"
#include "gateway/question/question.h"
#include "gateway/question/signed_state.h"
#include "mcp/rewrite.h"
#include "json/value.h"

enum { ASK_TEXT_MAX = 2 * HF_PROMPT_BYTES_MAX, ASK_RESULT_MAX = 4 * HF_PROMPT_BYTES_MAX, ANSWER_TOKENS = 4096 };

/* The name of the question among those of one result. */
#define QUESTION "dev.holdfast/correction"

/* What is known of the questions about one call. In the exchange's arena. */
struct hf_ask {
  struct hf_exchange *exchange;
  unsigned tries; /* made so far */
  bool foreign;   /* the request has a state like ours, which another gateway made */
  bool returned;  /* the request came back with an answer, which nobody has looked at yet */
  uint32_t state; /* where request and server would look for them: these are not for the server */
  uint32_t responses;
  struct hf_str rejected;         /* the last answer, if it was an object; in the arena */
  struct hf_str rejected_reasons; /* why it was not taken; in the arena */
  struct hf_model_wait wait;      /* with HF_ASK_MODEL */
};

static struct hf_ask *ask_of(struct hf_exchange *exchange) {
  if (!exchange->ask) {
    exchange->ask = hf_arena_alloc(&exchange->arena, sizeof *exchange->ask);
    if (exchange->ask)
      *exchange->ask = (struct hf_ask){.exchange = exchange};
  }
  return exchange->ask;
}

static const struct hf_ask_settings *settings_of(const struct hf_exchange *exchange) {
  return &exchange->tool->ask;
}

static struct hf_str given_arguments(const struct hf_exchange *exchange) {
  struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS);
  return raw.ptr ? raw : HF_STR("{}");
}

/* Whose call this is, as the caller made it. */
static bool identify(const struct hf_exchange *exchange, struct hf_fingerprint *ret) {
  const struct hf_target_tool *target = exchange->target_count ? &exchange->targets[0] : exchange->target;
  struct hf_str server = exchange->route || !target->instance ? HF_STR("") : target->instance->settings->name;
  struct hf_str tool = exchange->route ? exchange->route->name : target->name;
  return hf_fingerprint_of(hf_exchange_principal(exchange), server, tool, given_arguments(exchange), ret) == 0;
}

/* Is a correction by a model that does not know what the caller wants as harmless as a repeat is? */
static bool is_harmless(const struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++)
    if (exchange->targets[i].safety != HF_SAFETY_READ_ONLY && exchange->targets[i].safety != HF_SAFETY_IDEMPOTENT)
      return false;
  return true;
}

static bool can_ask(const struct hf_exchange *exchange) {
  if (!exchange->tool || !exchange->reply || exchange->replay || exchange->is_check)
    return false;
  switch (settings_of(exchange)->mode) {
  case HF_ASK_OFF:
    return false;
  case HF_ASK_CLIENT:
    return exchange->era == HF_ERA_MODERN ? hf_capabilities_read(exchange->meta.capabilities).sampling
                                          : exchange->client->capabilities.sampling;
  case HF_ASK_MODEL:
    return exchange->client->gateway->model && exchange->client->gateway->settings->model.url.ptr &&
           (settings_of(exchange)->unsafe || is_harmless(exchange));
  }
  return false;
}

/* Both tries together. What is left of the deadline is the call's own. */
static hf_time until(const struct hf_exchange *exchange) {
  hf_time patience = hf_time_min(settings_of(exchange)->timeout, exchange->target->policy->timeout.deadline / 2);
  if (exchange->hints.deadline > 0)
    patience = hf_time_min(patience, exchange->hints.deadline / 2);
  return hf_time_add(exchange->started, patience);
}

static int write_message(const struct hf_ask *ask, const struct hf_misfit *misfit, struct hf_buf *out) {
  const struct hf_json_doc *schema = hf_schema_doc(misfit->schema);
  struct hf_buf reasons;
  hf_buf_init(&reasons, HF_PROMPT_BYTES_MAX);
  int r = hf_feedback_reasons(misfit, HF_PROMPT_REASONS_TOKENS, &reasons);
  const struct hf_prompt prompt = {
      .tool = ask->exchange->request.name,
      .schema = hf_json_span(schema, 0),
      .arguments = misfit->raw,
      .reasons = hf_buf_str(&reasons),
      .rejected = ask->rejected,
      .rejected_reasons = ask->rejected_reasons,
  };
  if (r == 0)
    r = hf_prompt_write(&prompt, out);
  hf_buf_deinit(&reasons);
  return r;
}

/* The call's deadline counts from when it came, and asking took a part of it. */
static void go_on(struct hf_exchange *exchange, struct hf_str arguments, const char *how) {
  const hf_time deadline = exchange->target->policy->timeout.deadline;
  if (exchange->hints.deadline == 0 || exchange->hints.deadline > deadline)
    exchange->hints.deadline = deadline;
  hf_arguments_resume(exchange, arguments, how);
}

/* What came is read and, if it fits, gone on with. Returns 0, after which the exchange may be gone, or HF_ERR_INVALID
 * with what was wrong in `ask`; other errors mean that another try would not help. */
static int take_answer(struct hf_ask *ask, struct hf_str answer, const char *how) {
  struct hf_exchange *exchange = ask->exchange;
  struct hf_buf object, reasons;
  struct hf_error why;
  struct hf_misfit misfit;
  hf_buf_init(&object, HF_PROMPT_ANSWER_MAX);
  hf_buf_init(&reasons, HF_PROMPT_BYTES_MAX);
  ask->rejected = (struct hf_str){NULL, 0};
  int r = hf_prompt_read(answer, &object, &why);
  if (r == HF_ERR_SYNTAX || r == HF_ERR_LIMIT) {
    ask->rejected_reasons = hf_arena_copy(&exchange->arena, HF_STR("the answer was not one JSON object"));
    r = HF_ERR_INVALID;
  } else if (r == 0) {
    r = hf_arguments_examine(exchange, hf_buf_str(&object), &misfit);
    if (r == HF_ERR_INVALID) {
      (void)hf_feedback_reasons(&misfit, HF_PROMPT_REASONS_TOKENS, &reasons);
      ask->rejected = hf_arena_copy(&exchange->arena, hf_buf_str(&object));
      ask->rejected_reasons = hf_arena_copy(&exchange->arena, hf_buf_str(&reasons));
      hf_misfit_deinit(&misfit);
    }
  }
  if (r == 0)
    go_on(exchange, hf_buf_str(&object), how);
  hf_buf_deinit(&object);
  hf_buf_deinit(&reasons);
  return r;
}

static enum hf_stage_result ask_once(struct hf_ask *ask, const struct hf_misfit *misfit);

/* Another try, or the refusal. */
static void try_again(struct hf_ask *ask) {
  struct hf_exchange *exchange = ask->exchange;
  struct hf_misfit misfit;
  enum hf_stage_result result = HF_STAGE_PASS;
  if (ask->tries < HF_ASK_TRIES_MAX && exchange->client->gateway->loop->now < until(exchange) &&
      hf_arguments_examine(exchange, given_arguments(exchange), &misfit) == HF_ERR_INVALID) {
    if (misfit.schema)
      result = ask_once(ask, &misfit);
    hf_misfit_deinit(&misfit);
  }
  if (result == HF_STAGE_PASS)
    hf_arguments_give_up(exchange);
}

static void on_text(struct hf_ask *ask, struct hf_str text, const char *how) {
  int r = take_answer(ask, text, how);
  if (r == HF_ERR_INVALID)
    try_again(ask);
  else if (r < 0)
    hf_arguments_give_up(ask->exchange);
}

static void on_patience_over(struct hf_exchange *exchange) {
  hf_ask_left(exchange);
  hf_question_void(exchange, NULL);
  hf_trace_stage(exchange, HF_STR("no model gave better arguments in time"));
  hf_arguments_give_up(exchange);
}

static void on_client_answer(struct hf_exchange *exchange, const struct hf_message *response, unsigned tag) {
  (void)tag;
  if (!response)
    return; /* a call that is still held ends with its client */
  struct hf_buf text;
  hf_buf_init(&text, HF_SAMPLING_TEXT_MAX);
  bool said =
      response->kind == HF_MESSAGE_RESULT && hf_sampling_read(hf_message_raw(response, HF_FIELD_RESULT), &text) == 0;
  if (said)
    on_text(exchange->ask, hf_buf_str(&text), "asked_client");
  else
    hf_arguments_give_up(exchange);
  hf_buf_deinit(&text);
}

static void on_model_answer(struct hf_model_wait *wait, int error, struct hf_str text) {
  struct hf_ask *ask = HF_CONTAINER_OF(wait, struct hf_ask, wait);
  if (error == 0)
    on_text(ask, text, "asked_model");
  else
    hf_arguments_give_up(ask->exchange);
}

static int ask_legacy(struct hf_ask *ask, struct hf_str message) {
  struct hf_buf params;
  hf_buf_init(&params, ASK_RESULT_MAX);
  int r = hf_sampling_params(hf_prompt_instructions(), message, ANSWER_TOKENS, &params);
  if (r == 0)
    r = hf_question_ask_own(ask->exchange, &(struct hf_own_question){.method = HF_METHOD_SAMPLING,
                                                                     .params = hf_buf_str(&params),
                                                                     .answered = on_client_answer});
  hf_buf_deinit(&params);
  return r;
}

static int ask_model(struct hf_ask *ask, struct hf_str message) {
  struct hf_model *model = ask->exchange->client->gateway->model;
  ask->wait = (struct hf_model_wait){.done = on_model_answer};
  return model->ops->ask(model, hf_prompt_instructions(), message, until(ask->exchange), &ask->wait);
}

static int write_state(const struct hf_ask *ask, struct hf_buf *out) {
  const struct hf_gateway *gateway = ask->exchange->client->gateway;
  struct hf_signed_state state = {.tries = ask->tries + 1, .expires_ms = gateway->loop->wall_ms + HF_ASK_STATE_MS};
  if (!identify(ask->exchange, &state.call))
    return HF_ERR_NOMEM;
  return hf_signed_state_write(&gateway->signer, &state, out);
}

static int write_result(const struct hf_ask *ask, struct hf_str params, struct hf_buf *out) {
  struct hf_buf state, requests;
  hf_buf_init(&state, HF_SIGNED_STATE_MAX);
  hf_buf_init(&requests, ASK_RESULT_MAX);
  int r = write_state(ask, &state);
  if (r == 0)
    r = hf_buf_append_str(&requests, HF_STR("{\"" QUESTION "\":"));
  if (r == 0)
    r = hf_input_request_write(HF_METHOD_SAMPLING, params, &requests);
  if (r == 0)
    r = hf_buf_append_str(&requests, HF_STR("}"));
  if (r == 0)
    r = hf_input_required_write(
        ask->exchange, &(struct hf_input_required){.requests = hf_buf_str(&requests), .state = hf_buf_str(&state)},
        out);
  hf_buf_deinit(&state);
  hf_buf_deinit(&requests);
  return r;
}

/* The answer is the question, and comes back with another request. */
static int ask_modern(struct hf_ask *ask, struct hf_str message) {
  struct hf_buf params, result;
  hf_buf_init(&params, ASK_RESULT_MAX);
  hf_buf_init(&result, ASK_RESULT_MAX);
  int r = hf_sampling_params(hf_prompt_instructions(), message, ANSWER_TOKENS, &params);
  if (r == 0)
    r = write_result(ask, hf_buf_str(&params), &result);
  if (r == 0)
    hf_exchange_result(ask->exchange, hf_buf_str(&result));
  hf_buf_deinit(&params);
  hf_buf_deinit(&result);
  return r;
}

static void log_asked(const struct hf_exchange *exchange, bool model) {
  char id[HF_CALL_ID_MAX];
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_INFO, "a model is asked for arguments that fit",
               HF_LOG_STR("call", hf_outcome_call_id(exchange, id)), HF_LOG_STR("tool", exchange->request.name),
               HF_LOG_STR("whose", model ? HF_STR("the gateway's") : HF_STR("the caller's")),
               HF_LOG_INT("try", exchange->ask->tries + 1));
}

/* HF_STAGE_PASS: nobody could be asked. */
static enum hf_stage_result ask_once(struct hf_ask *ask, const struct hf_misfit *misfit) {
  struct hf_exchange *exchange = ask->exchange;
  const bool model = settings_of(exchange)->mode == HF_ASK_MODEL;
  const bool modern = !model && exchange->era == HF_ERA_MODERN;
  struct hf_buf message;
  hf_buf_init(&message, ASK_TEXT_MAX);
  int r = write_message(ask, misfit, &message);
  if (r == 0) {
    log_asked(exchange, model);
    hf_metrics_add(&exchange->client->gateway->metrics, HF_METRIC_ASKED);
    hf_trace_stage(exchange, model
                                 ? HF_STR("its arguments do not fit, so the gateway's model was asked for better ones")
                                 : HF_STR("its arguments do not fit, so the caller's model was asked for better ones"));
    r = model    ? ask_model(ask, hf_buf_str(&message))
        : modern ? ask_modern(ask, hf_buf_str(&message))
                 : ask_legacy(ask, hf_buf_str(&message));
  }
  hf_buf_deinit(&message);
  if (r < 0)
    return HF_STAGE_PASS;
  if (modern)
    return HF_STAGE_ENDED;
  ask->tries++;
  exchange->notes.tried = model ? HF_CORRECTION_MODEL : HF_CORRECTION_CLIENT;
  hf_exchange_hold(exchange, until(exchange), on_patience_over);
  return HF_STAGE_KEPT;
}

static enum hf_stage_result refuse(struct hf_exchange *exchange, const char *why) {
  struct hf_buf text;
  hf_buf_init(&text, ASK_TEXT_MAX);
  (void)hf_buf_printf(&text,
                      "The answer to the gateway's question cannot be used: its requestState %s. Nothing was executed. "
                      "Make the call anew, without requestState and inputResponses.",
                      why);
  hf_outcome_answer_refusal(exchange, HF_FAULT_REJECTED, HF_RPC_INVALID_PARAMS, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return HF_STAGE_ENDED;
}

static const char *complaint(int error) {
  switch (error) {
  case HF_ERR_CLOSED:
    return "is too old";
  case HF_ERR_NOTFOUND:
    return "belongs to another call";
  default:
    return "was not made by this gateway, or was changed";
  }
}

/* From here on the request is one as any other, for the stages and for the server. */
static void keep_from_server(struct hf_ask *ask) {
  struct hf_message *request = &ask->exchange->request;
  ask->state = request->at[HF_FIELD_REQUEST_STATE];
  ask->responses = request->at[HF_FIELD_INPUT_RESPONSES];
  request->at[HF_FIELD_REQUEST_STATE] = HF_JSON_NONE;
  request->at[HF_FIELD_INPUT_RESPONSES] = HF_JSON_NONE;
}

enum hf_stage_result hf_ask_before(struct hf_exchange *exchange) {
  struct hf_message *request = &exchange->request;
  const struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_str text;
  if (exchange->era != HF_ERA_MODERN || hf_message_string(request, HF_FIELD_REQUEST_STATE, &text) < 0 ||
      !hf_signed_state_is_of(HF_STATE_CORRECTION, text))
    return HF_STAGE_PASS;
  struct hf_ask *ask = ask_of(exchange);
  if (!ask)
    return HF_STAGE_PASS;
  ask->foreign = !hf_signed_state_is_ours(&gateway->signer, text);
  if (ask->foreign)
    return HF_STAGE_PASS;
  struct hf_fingerprint call;
  struct hf_signed_state state;
  int r = identify(exchange, &call)
              ? hf_signed_state_read(&gateway->signer, text, &call, gateway->loop->wall_ms, &state)
              : HF_ERR_INVALID;
  if (r < 0)
    return refuse(exchange, complaint(r));
  ask->tries = state.tries;
  ask->returned = true;
  keep_from_server(ask);
  return HF_STAGE_PASS;
}

/* The text among the responses of a request that came back. Returns 0 or why there is none. */
static int read_response(const struct hf_ask *ask, struct hf_buf *text) {
  const struct hf_json_doc *doc = &ask->exchange->request.doc;
  struct hf_str raw = ask->responses ? hf_json_span(doc, ask->responses) : (struct hf_str){NULL, 0};
  if (!raw.ptr)
    return HF_ERR_NOTFOUND;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, raw.ptr, raw.len, true);
  if (r == 0) {
    const struct hf_json_doc responses = hf_json_doc(raw.ptr, &scan);
    uint32_t node;
    r = hf_json_type(&responses, 0) == HF_JSON_OBJECT ? hf_json_member(&responses, 0, HF_STR(QUESTION), &node)
                                                      : HF_ERR_INVALID;
    if (r == 0)
      r = hf_sampling_read(hf_json_span(&responses, node), text);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

/* HF_STAGE_PASS: there is no answer, and none to be had. */
static enum hf_stage_result take_response(struct hf_ask *ask, const struct hf_misfit *misfit) {
  struct hf_buf text;
  hf_buf_init(&text, HF_SAMPLING_TEXT_MAX);
  ask->returned = false;
  ask->exchange->notes.tried = HF_CORRECTION_CLIENT;
  enum hf_stage_result result = HF_STAGE_PASS;
  if (read_response(ask, &text) == 0) {
    int r = take_answer(ask, hf_buf_str(&text), "asked_client");
    if (r == 0)
      result = HF_STAGE_KEPT;
    else if (r == HF_ERR_INVALID && ask->tries < HF_ASK_TRIES_MAX)
      result = ask_once(ask, misfit);
  }
  hf_buf_deinit(&text);
  return result;
}

enum hf_stage_result hf_ask_begin(struct hf_exchange *exchange, const struct hf_misfit *misfit) {
  if (exchange->ask && exchange->ask->foreign)
    return refuse(exchange, complaint(HF_ERR_INVALID));
  if (!misfit->schema || !can_ask(exchange))
    return HF_STAGE_PASS;
  struct hf_ask *ask = ask_of(exchange);
  if (!ask)
    return HF_STAGE_PASS;
  return ask->returned ? take_response(ask, misfit) : ask_once(ask, misfit);
}

void hf_ask_strip(const struct hf_exchange *exchange, struct hf_rewrite *rewrite) {
  const struct hf_ask *ask = exchange->ask;
  const uint32_t params = exchange->request.at[HF_FIELD_PARAMS];
  if (ask && ask->state)
    hf_rewrite_remove_member(rewrite, params, HF_STR("requestState"));
  if (ask && ask->responses)
    hf_rewrite_remove_member(rewrite, params, HF_STR("inputResponses"));
}

void hf_ask_left(struct hf_exchange *exchange) {
  struct hf_model *model = exchange->client->gateway->model;
  if (exchange->ask && model)
    model->ops->forget(model, &exchange->ask->wait);
}
