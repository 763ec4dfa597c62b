#include "gateway/question/held.h"

#include "gateway/fingerprint.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/question/input_required.h"
#include "gateway/question/question.h"
#include "gateway/stage/flight.h"
#include "mcp/compose.h"

enum { RESULT_MAX = 64 << 20, REFUSAL_MAX = 1024 };

/* In the exchange's arena. */
struct hf_held {
  struct hf_list link; /* in the gateway's list */
  struct hf_exchange *exchange;
  struct hf_timer timer; /* while the client is to come back */
  struct hf_fingerprint call;
  unsigned round;            /* the newest: how often its client was asked */
  bool landed;               /* the call is over, and `outcome` is what is to be told */
  bool answered;             /* with the exchange's kept message */
  struct hf_outcome outcome; /* of one that has landed */
};

static struct hf_gateway *gateway_of(const struct hf_exchange *exchange) {
  return exchange->client->gateway;
}

int hf_held_identify(struct hf_exchange *exchange, struct hf_fingerprint *ret_call) {
  const struct hf_message *request = &exchange->request;
  const struct hf_str name = exchange->asked_name.ptr ? exchange->asked_name
                             : request->name.ptr      ? request->name
                                                      : request->uri;
  const char *endpoint = exchange->client->server;
  const struct hf_str place = hf_arena_printf(&exchange->arena, "%s\n%.*s", endpoint ? endpoint : "",
                                              HF_STR_FMT(hf_method_info(request->method)->name));
  if (!place.ptr)
    return HF_ERR_NOMEM;
  return hf_fingerprint_of(hf_exchange_principal(exchange), place, name, hf_message_raw(request, HF_FIELD_ARGUMENTS),
                           ret_call);
}

bool hf_held_waits(const struct hf_exchange *exchange) {
  return exchange->held && !exchange->reply;
}

size_t hf_held_waiting(const struct hf_client *client) {
  size_t count = 0;
  for (struct hf_list *it = client->gateway->held.next; it != &client->gateway->held; it = it->next) {
    const struct hf_exchange *exchange = HF_CONTAINER_OF(it, struct hf_held, link)->exchange;
    count += exchange->client == client && hf_held_waits(exchange);
  }
  return count;
}

unsigned hf_held_rounds(const struct hf_exchange *exchange) {
  return exchange->held ? exchange->held->round : 0;
}

bool hf_held_has_room(const struct hf_exchange *exchange) {
  const struct hf_held *held = exchange->held;
  return (exchange->reply || held) && hf_question_count(exchange) < HF_QUESTIONS_HELD_MAX &&
         (held ? held->round < HF_HELD_ROUNDS_MAX : gateway_of(exchange)->held_count < HF_HELD_MAX);
}

static void log_held(const struct hf_exchange *exchange, const char *what) {
  char id[HF_CALL_ID_MAX];
  hf_log_event(gateway_of(exchange)->loop->log, HF_LOG_INFO, what, HF_LOG_STR("call", hf_outcome_call_id(exchange, id)),
               HF_LOG_INT("round", exchange->held->round));
}

/* The client has not come back. What it was asked dies, and so does the call, as if it had been cancelled. */
static void on_due(struct hf_timer *timer) {
  struct hf_exchange *exchange = HF_CONTAINER_OF(timer, struct hf_held, timer)->exchange;
  log_held(exchange, "a client that was asked did not come back");
  hf_trace_stage(exchange, HF_STR("its client was asked and did not come back in time"));
  if (exchange->held->landed) {
    hf_outcome_record(exchange, &exchange->held->outcome);
    hf_exchange_end_cancelled(exchange);
  } else if (hf_question_desert(exchange, HF_STR("the client did not come back in time"))) {
    hf_exchange_cancel(exchange);
  }
}

static struct hf_held *held_of(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = gateway_of(exchange);
  if (exchange->held)
    return exchange->held;
  struct hf_held *held = hf_arena_alloc(&exchange->arena, sizeof *held);
  if (!held || hf_held_identify(exchange, &held->call) < 0 || hf_timer_init(gateway->loop, &held->timer, on_due) < 0)
    return NULL;
  held->exchange = exchange;
  hf_list_init(&held->link);
  hf_list_push_back(&gateway->held, &held->link);
  gateway->held_count++;
  exchange->held = held;
  return held;
}

static int write_state(struct hf_exchange *exchange, struct hf_buf *out) {
  struct hf_gateway *gateway = gateway_of(exchange);
  const struct hf_held *held = exchange->held;
  const struct hf_signed_state state = {.kind = HF_STATE_HELD,
                                        .call = held->call,
                                        .expires_ms = gateway->loop->wall_ms + HF_HELD_MS,
                                        .number = exchange->number,
                                        .tries = held->round};
  return hf_signed_state_write(&gateway->signer, &state, out);
}

static int write_answer(struct hf_exchange *exchange, struct hf_buf *out) {
  struct hf_buf requests, state, result;
  hf_buf_init(&requests, RESULT_MAX);
  hf_buf_init(&state, HF_SIGNED_STATE_MAX);
  hf_buf_init(&result, RESULT_MAX);
  int r = hf_question_write_held(exchange, &requests);
  if (r == 0)
    r = write_state(exchange, &state);
  if (r == 0)
    r = hf_input_required_write(exchange,
                                &(struct hf_input_required){.requests = hf_buf_str(&requests),
                                                            .state = hf_buf_str(&state),
                                                            .executed = HF_EXECUTED_MAYBE},
                                &result);
  if (r == 0)
    r = hf_compose_result(out, exchange->request.id, hf_buf_str(&result));
  hf_buf_deinit(&requests);
  hf_buf_deinit(&state);
  hf_buf_deinit(&result);
  return r;
}

/* The reply goes; the call stays. From here on the id is nobody's, and may be another request's. */
static void let_go(struct hf_exchange *exchange, int http_status, struct hf_pieces *text) {
  struct hf_reply *reply = exchange->reply;
  exchange->reply = NULL;
  reply->exchange = NULL;
  exchange->request.id = exchange->request.progress_token = (struct hf_str){NULL, 0};
  reply->ops->finish(reply, http_status, text);
}

static int suspend(struct hf_exchange *exchange) {
  struct hf_held *held = held_of(exchange);
  if (!held)
    return HF_ERR_NOMEM;
  held->round++;
  struct hf_buf answer;
  hf_buf_init(&answer, RESULT_MAX);
  struct hf_pieces text;
  hf_pieces_init(&text);
  int r = write_answer(exchange, &answer);
  if (r == 0)
    r = hf_pieces_add_copy(&text, hf_buf_str(&answer));
  if (r == 0) {
    log_held(exchange, "a call is held open, and its client is asked");
    hf_trace_stage(exchange,
                   HF_STR("the server asks something first: its client is asked by the answer to its request"));
    hf_timer_set(gateway_of(exchange)->loop, &held->timer,
                 hf_time_add(gateway_of(exchange)->loop->now, HF_MS(HF_HELD_MS)));
    hf_flight_asks(exchange);
    let_go(exchange, 200, &text);
  }
  hf_pieces_deinit(&text);
  hf_buf_deinit(&answer);
  return r;
}

void hf_held_asked(struct hf_exchange *exchange) {
  if (exchange->reply && suspend(exchange) < 0)
    (void)hf_question_desert(exchange, HF_STR("there is no memory to ask the client"));
}

static void refuse(struct hf_exchange *exchange, const char *why) {
  struct hf_buf text;
  hf_buf_init(&text, REFUSAL_MAX);
  (void)hf_buf_printf(&text,
                      "This request comes back to a call that asked something, but %s. It is not made again. Find out "
                      "what became of the call before you make it anew, without requestState and inputResponses.",
                      why);
  hf_outcome_answer_refusal(exchange, HF_FAULT_CONFLICT, HF_RPC_INVALID_PARAMS, hf_buf_str(&text));
  hf_buf_deinit(&text);
}

static struct hf_held *find(const struct hf_gateway *gateway, uint64_t number) {
  for (struct hf_list *it = gateway->held.next; it != &gateway->held; it = it->next) {
    struct hf_held *held = HF_CONTAINER_OF(it, struct hf_held, link);
    if (held->exchange->number == number)
      return held;
  }
  return NULL;
}

static bool copy(struct hf_arena *arena, struct hf_str from, struct hf_str *ret_to) {
  *ret_to = from.ptr ? hf_arena_copy(arena, from) : from;
  return !from.ptr || ret_to->ptr;
}

/* What the new request says of itself holds from now on. */
static bool take_over_words(struct hf_exchange *exchange, const struct hf_exchange *from) {
  struct hf_arena *arena = &exchange->arena;
  struct hf_str id, token, capabilities, level;
  if (!copy(arena, from->request.id, &id) || !copy(arena, from->request.progress_token, &token) ||
      !copy(arena, from->meta.capabilities, &capabilities) || !copy(arena, from->meta.log_level, &level))
    return false;
  exchange->request.id = id;
  exchange->request.progress_token = token;
  exchange->meta.capabilities = capabilities;
  exchange->meta.log_level = level;
  return true;
}

/* A client that makes the request anew does not read the old stream any more. */
static void dismiss_old(struct hf_exchange *exchange) {
  struct hf_pieces text;
  hf_pieces_init(&text);
  (void)hf_client_error_text(exchange->request.id, HF_RPC_INTERNAL_ERROR,
                             HF_STR("the same request was made anew, and is answered there"), &text);
  let_go(exchange, 200, &text);
  hf_pieces_deinit(&text);
}

static void tell_what_was_kept(struct hf_exchange *exchange) {
  struct hf_held *held = exchange->held;
  hf_pipeline_answer(exchange, held->answered ? &exchange->kept : NULL, &held->outcome);
}

/* What was not answered, or is new, is asked again. */
static void go_on(struct hf_exchange *exchange) {
  if (hf_question_count(exchange) == 0 || !exchange->reply)
    return;
  if (exchange->held->round >= HF_HELD_ROUNDS_MAX || suspend(exchange) < 0)
    (void)hf_question_desert(exchange, HF_STR("the client was asked too often"));
}

static void attach(struct hf_exchange *exchange, struct hf_exchange *from) {
  struct hf_held *held = exchange->held;
  struct hf_client *client = from->client;
  if (exchange->reply)
    dismiss_old(exchange);
  if (!take_over_words(exchange, from)) {
    refuse(from, "the gateway has no memory for it");
    return;
  }
  if (exchange->client != client)
    hf_exchange_adopt(exchange, client);
  exchange->reply = from->reply;
  exchange->reply->exchange = exchange;
  from->reply = NULL;
  hf_timer_stop(client->gateway->loop, &held->timer);
  hf_flight_back(exchange);
  log_held(exchange, "a client that was asked has come back");
  /* What one call was asked may be another one's that still waits, where nothing says whose it is. */
  const bool there = hf_question_take_held(exchange, hf_message_raw(&from->request, HF_FIELD_INPUT_RESPONSES));
  if (there && held->landed)
    tell_what_was_kept(exchange);
  else if (there)
    go_on(exchange);
  hf_exchange_drop(from);
}

static const char *complaint(int error) {
  switch (error) {
  case HF_ERR_CLOSED:
    return "it comes too late";
  case HF_ERR_NOTFOUND:
    return "its requestState belongs to another one";
  default:
    return "its requestState was not made by this gateway, or was changed";
  }
}

bool hf_held_return(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = gateway_of(exchange);
  struct hf_str text;
  if (exchange->era != HF_ERA_MODERN || hf_message_string(&exchange->request, HF_FIELD_REQUEST_STATE, &text) < 0 ||
      !hf_signed_state_is_of(HF_STATE_HELD, text) || !hf_signed_state_is_ours(&gateway->signer, text))
    return false;
  struct hf_fingerprint call;
  struct hf_signed_state state = {0};
  int r = hf_held_identify(exchange, &call);
  if (r == 0)
    r = hf_signed_state_read(&gateway->signer, text, &call, gateway->loop->wall_ms, &state);
  struct hf_held *held = r == 0 ? find(gateway, state.number) : NULL;
  if (r < 0)
    refuse(exchange, complaint(r));
  else if (!held)
    refuse(exchange, "that call has ended: it was answered, or given up");
  else if (held->round != state.tries)
    refuse(exchange, "that question was answered before");
  else
    attach(held->exchange, exchange);
  return true;
}

/* To a legacy server it would be the call once more. What the gateway asked of arguments is another matter: then
 * nothing had been sent. */
bool hf_held_refuse_stray(struct hf_exchange *exchange) {
  struct hf_message *request = &exchange->request;
  struct hf_str text;
  if (exchange->era != HF_ERA_MODERN || exchange->target->instance->era == HF_ERA_MODERN ||
      (!request->at[HF_FIELD_REQUEST_STATE] && !request->at[HF_FIELD_INPUT_RESPONSES]))
    return false;
  if (hf_message_string(request, HF_FIELD_REQUEST_STATE, &text) == 0 &&
      hf_signed_state_is_of(HF_STATE_CORRECTION, text))
    return false;
  refuse(exchange, "no call here waits for it: another gateway asked, or this one before it was started anew");
  return true;
}

bool hf_held_keep(struct hf_exchange *exchange, const struct hf_message *response, const struct hf_outcome *outcome) {
  struct hf_held *held = exchange->held;
  const struct hf_gateway *gateway = gateway_of(exchange);
  if (!held || exchange->reply || outcome->end == HF_CALL_END_CANCELLED || gateway->draining || gateway->closing)
    return false;
  held->outcome = *outcome;
  if (response && response != &exchange->kept) {
    struct hf_refusal refusal;
    struct hf_message kept = {0};
    if (hf_message_decode_copy(hf_message_bytes(response), &kept, &refusal) < 0) {
      held->outcome.fault = HF_FAULT_BAD_REPLY;
      response = NULL;
    }
    hf_message_deinit(&exchange->kept);
    exchange->kept = kept;
  }
  held->landed = true;
  held->answered = response != NULL;
  exchange->stage = HF_STAGE_HELD;
  log_held(exchange, "what a call came to is kept for its client");
  return true;
}

void hf_held_left(struct hf_exchange *exchange) {
  struct hf_held *held = exchange->held;
  if (!held)
    return;
  exchange->held = NULL;
  gateway_of(exchange)->held_count--;
  hf_list_remove(&held->link);
  hf_timer_deinit(gateway_of(exchange)->loop, &held->timer);
}
