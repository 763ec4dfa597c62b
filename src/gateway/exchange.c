#include "gateway/exchange.h"

#include "base/alloc.h"
#include "gateway/catalog/subscription.h"
#include "gateway/fingerprint.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/question/held.h"
#include "gateway/question/question.h"
#include "gateway/stage/away.h"
#include "gateway/task/follow.h"
#include "gateway/task/task.h"
#include "mcp/compose.h"

enum { EXCHANGE_ARENA_MAX = HF_MESSAGE_BYTES_MAX, ANSWER_MAX = 64 << 20, RPC_CANCELLED = -31001 };

static void timer_due(struct hf_timer *timer) {
  struct hf_exchange *exchange = HF_CONTAINER_OF(timer, struct hf_exchange, timer);
  if (exchange->stage == HF_STAGE_CALLING) {
    hf_pipeline_timer(exchange);
  } else if (exchange->stage == HF_STAGE_WAITING || exchange->stage == HF_STAGE_HELD) {
    exchange->wait_over = true;
    exchange->resume(exchange);
  }
}

static int copy_principal(struct hf_exchange *exchange) {
  const char *name = exchange->client->principal;
  if (name)
    exchange->principal = hf_arena_copy(&exchange->arena, hf_str_from(name)).ptr;
  return !name || exchange->principal ? 0 : HF_ERR_NOMEM;
}

static int copy_headers(struct hf_exchange *exchange, const struct hf_reply *reply) {
  exchange->has_headers = reply->has_headers;
  if (reply->header_count == 0)
    return 0;
  exchange->headers = hf_arena_alloc(&exchange->arena, reply->header_count * sizeof *exchange->headers);
  for (size_t i = 0; exchange->headers && i < reply->header_count; i++) {
    struct hf_header *header = &exchange->headers[i];
    header->name = hf_arena_copy(&exchange->arena, reply->headers[i].name);
    header->value = hf_arena_copy(&exchange->arena, reply->headers[i].value);
    if (!header->name.ptr || !header->value.ptr)
      return HF_ERR_NOMEM;
    exchange->header_count++;
  }
  return exchange->headers ? 0 : HF_ERR_NOMEM;
}

struct hf_str hf_exchange_principal(const struct hf_exchange *exchange) {
  return exchange->principal ? hf_str_from(exchange->principal) : HF_STR("");
}

struct hf_str hf_exchange_arguments(const struct hf_exchange *exchange) {
  return exchange->arguments.ptr ? exchange->arguments : hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS);
}

bool hf_exchange_identify_by(struct hf_exchange *exchange, struct hf_str arguments) {
  if (exchange->has_fingerprint)
    return true;
  const struct hf_target_tool *target = exchange->target_count ? &exchange->targets[0] : exchange->target;
  struct hf_str server = exchange->route ? HF_STR("") : target->instance->settings->name;
  struct hf_str tool = exchange->route ? exchange->route->name : target->name;
  exchange->has_fingerprint =
      hf_fingerprint_of(hf_exchange_principal(exchange), server, tool, arguments, &exchange->fingerprint) == 0;
  return exchange->has_fingerprint;
}

bool hf_exchange_identify(struct hf_exchange *exchange) {
  return hf_exchange_identify_by(exchange, hf_exchange_arguments(exchange));
}

void hf_exchange_adopt(struct hf_exchange *exchange, struct hf_client *client) {
  hf_question_void(exchange, NULL);
  hf_list_remove(&exchange->link);
  hf_list_push_back(&client->exchanges, &exchange->link);
  exchange->client->exchange_count--;
  client->exchange_count++;
  exchange->client = client;
}

void hf_exchange_disown(struct hf_exchange *exchange) {
  hf_exchange_adopt(exchange, exchange->client->gateway->nobody);
}

struct hf_exchange *hf_exchange_new(struct hf_client *client, struct hf_message *request, struct hf_reply *reply) {
  struct hf_gateway *gateway = client->gateway;
  struct hf_exchange *exchange = hf_spare_take(&gateway->spare_exchanges, sizeof *exchange);
  if (!exchange)
    return NULL;
  memset(exchange, 0, sizeof *exchange);
  if (hf_timer_init(gateway->loop, &exchange->timer, timer_due) < 0) {
    hf_spare_give(&gateway->spare_exchanges, exchange);
    return NULL;
  }
  hf_list_init(&exchange->waiting);
  hf_list_init(&exchange->subscriptions);
  hf_list_init(&exchange->follower);
  hf_list_init(&exchange->leaving);
  for (size_t i = 0; i < HF_LIVE_MAX; i++) {
    hf_list_init(&exchange->live[i].at_instance);
    exchange->live[i].exchange = exchange;
  }
  exchange->target = &exchange->nowhere;
  hf_list_init(&exchange->job.link);
  hf_arena_init(&exchange->arena, EXCHANGE_ARENA_MAX);
  hf_buf_init(&exchange->substitute, ANSWER_MAX);
  exchange->client = client;
  exchange->reply = reply;
  exchange->started = gateway->loop->now;
  exchange->number = client->replay ? client->replay : hf_gateway_next_call(gateway);
  reply->call = exchange->number;
  exchange->replay = client->replay != 0;
  if (copy_headers(exchange, reply) < 0 || copy_principal(exchange) < 0) {
    hf_timer_deinit(gateway->loop, &exchange->timer);
    hf_arena_deinit(&exchange->arena);
    hf_spare_give(&gateway->spare_exchanges, exchange);
    return NULL;
  }
  hf_message_move(&exchange->request, request);
  hf_list_push_back(&client->exchanges, &exchange->link);
  client->exchange_count++;
  gateway->calls++;
  reply->exchange = exchange;
  hf_task_joined(exchange);
  return exchange;
}

/* Out of every list; what points to it from outside points no more. */
static void detach(struct hf_exchange *exchange) {
  if (exchange->stage == HF_STAGE_DONE)
    return;
  struct hf_gateway *gateway = exchange->client->gateway;
  if (exchange->request.method == HF_METHOD_SUBSCRIPTIONS_LISTEN ||
      exchange->request.method == HF_METHOD_RESOURCES_SUBSCRIBE)
    hf_subscription_forget_request(exchange);
  hf_question_void(exchange, NULL);
  exchange->stage = HF_STAGE_DONE;
  hf_away_left(exchange);
  hf_held_left(exchange);
  hf_follow_left(exchange);
  hf_pipeline_left(exchange);
  hf_list_remove(&exchange->link);
  hf_list_remove(&exchange->waiting);
  for (size_t i = 0; i < HF_LIVE_MAX; i++)
    hf_list_remove(&exchange->live[i].at_instance);
  hf_job_cancel(&exchange->job);
  hf_timer_stop(gateway->loop, &exchange->timer);
  exchange->client->exchange_count--;
  if (exchange->reply)
    exchange->reply->exchange = NULL;
  exchange->reply = NULL;
}

/* The pipeline drops the exchange itself when it has left its own loop. */
static void release(struct hf_exchange *exchange) {
  if (exchange->stepping)
    return;
  struct hf_gateway *gateway = exchange->client->gateway;
  hf_timer_deinit(gateway->loop, &exchange->timer);
  for (size_t i = 0; i < exchange->target_count; i++) {
    hf_settings_free(exchange->targets[i].config);
    hf_instance_unref(exchange->targets[i].instance);
  }
  hf_settings_free(exchange->config);
  hf_message_deinit(&exchange->kept);
  hf_buf_deinit(&exchange->substitute);
  hf_message_deinit(&exchange->request);
  hf_arena_deinit(&exchange->arena);
  hf_spare_give(&gateway->spare_exchanges, exchange);
  hf_gateway_call_ended(gateway);
}

void hf_exchange_drop(struct hf_exchange *exchange) {
  detach(exchange);
  release(exchange);
}

void hf_exchange_finish(struct hf_exchange *exchange, int http_status, struct hf_pieces *text) {
  struct hf_reply *reply = exchange->reply;
  detach(exchange);
  if (reply)
    reply->ops->finish(reply, http_status, text);
  release(exchange);
}

static void finish_text(struct hf_exchange *exchange, int http_status, struct hf_buf *text) {
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  struct hf_blob *blob = hf_blob_take(text);
  if (blob && hf_pieces_add(&pieces, blob, hf_blob_str(blob)) == 0)
    hf_exchange_finish(exchange, http_status, &pieces);
  else
    hf_exchange_finish(exchange, 500, &pieces); /* empty: the front says what it can without memory */
  hf_blob_unref(blob);
  hf_pieces_deinit(&pieces);
}

void hf_exchange_result(struct hf_exchange *exchange, struct hf_str result) {
  struct hf_buf text;
  hf_buf_init(&text, ANSWER_MAX);
  if (hf_compose_result(&text, exchange->request.id, result) < 0)
    hf_buf_deinit(&text);
  finish_text(exchange, text.len ? 200 : 500, &text);
  hf_buf_deinit(&text);
}

int hf_exchange_status(int64_t code) {
  switch (code) {
  case HF_RPC_METHOD_NOT_FOUND:
    return 404;
  case HF_RPC_PARSE_ERROR:
  case HF_RPC_INVALID_REQUEST:
  case HF_RPC_HEADER_MISMATCH:
  case HF_RPC_MISSING_CAPABILITY:
  case HF_RPC_UNSUPPORTED_VERSION:
    return 400;
  default:
    return 200;
  }
}

void hf_exchange_error(struct hf_exchange *exchange, int code, struct hf_str message, struct hf_str data) {
  struct hf_buf text;
  hf_buf_init(&text, ANSWER_MAX);
  if (hf_compose_error(&text, exchange->request.id, code, message, data) < 0)
    hf_buf_deinit(&text);
  finish_text(exchange, text.len ? hf_exchange_status(code) : 500, &text);
  hf_buf_deinit(&text);
}

static struct hf_str why_cancelled(const struct hf_exchange *exchange) {
  if (exchange->client->gateway->draining)
    return HF_STR("the gateway is shutting down");
  return exchange->given_up.ptr ? exchange->given_up : HF_STR("cancelled by the client");
}

/* A gateway that shuts down has cancelled by itself, and the client waits for an answer. */
void hf_exchange_end_cancelled(struct hf_exchange *exchange) {
  bool draining = exchange->client->gateway->draining;
  struct hf_str why = why_cancelled(exchange);
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (exchange->reply)
    (void)hf_client_error_text(exchange->request.id, RPC_CANCELLED, why, &text);
  hf_exchange_finish(exchange, draining ? 200 : HF_STATUS_CANCELLED, &text);
  hf_pieces_deinit(&text);
}

void hf_exchange_dismiss(struct hf_exchange *exchange) {
  struct hf_reply *reply = exchange->reply;
  exchange->reply = NULL;
  if (!reply)
    return;
  reply->exchange = NULL;
  struct hf_pieces text;
  hf_pieces_init(&text);
  (void)hf_client_error_text(exchange->request.id, RPC_CANCELLED, why_cancelled(exchange), &text);
  reply->ops->finish(reply, HF_STATUS_CANCELLED, &text);
  hf_pieces_deinit(&text);
}

void hf_exchange_cancel(struct hf_exchange *exchange) {
  if (exchange->stage == HF_STAGE_CALLING)
    hf_pipeline_cancel(exchange);
  else
    hf_exchange_end_cancelled(exchange);
}

void hf_exchange_wait(struct hf_exchange *exchange, hf_time wait, void (*resume)(struct hf_exchange *exchange)) {
  struct hf_gateway *gateway = exchange->client->gateway;
  hf_time until = hf_time_add(gateway->loop->now, wait);
  exchange->resume = resume;
  if (exchange->stage == HF_STAGE_WAITING && until >= exchange->wait_until)
    return;
  if (exchange->stage != HF_STAGE_WAITING)
    hf_list_push_back(&gateway->waiting, &exchange->waiting);
  exchange->stage = HF_STAGE_WAITING;
  exchange->wait_until = until;
  hf_timer_set(gateway->loop, &exchange->timer, until);
}

void hf_exchange_hold(struct hf_exchange *exchange, hf_time until, void (*resume)(struct hf_exchange *exchange)) {
  exchange->resume = resume;
  exchange->stage = HF_STAGE_HELD;
  exchange->wait_over = false;
  hf_timer_set(exchange->client->gateway->loop, &exchange->timer, until);
}

void hf_exchange_go_on(struct hf_exchange *exchange) {
  hf_list_remove(&exchange->waiting);
  hf_timer_stop(exchange->client->gateway->loop, &exchange->timer);
  exchange->stage = HF_STAGE_NEW;
}

void hf_exchange_message(struct hf_exchange *exchange, struct hf_pieces *text) {
  if (exchange->reply)
    exchange->reply->ops->message(exchange->reply, text);
}
