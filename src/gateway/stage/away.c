#include "gateway/stage/away.h"

#include "base/alloc.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/question/question.h"
#include "gateway/stage/intent.h"

struct hf_aways {
  struct hf_gateway *gateway;
  struct hf_list leaving; /* those that are given up if nobody comes back, the first one first */
  struct hf_timer timer;
  size_t alone_count;
};

static struct hf_exchange *leaving_exchange(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_exchange, leaving);
}

static struct hf_aways *aways_of(const struct hf_exchange *exchange) {
  return exchange->client->gateway->aways;
}

static void set_timer(struct hf_aways *aways) {
  hf_time next = HF_TIME_NEVER;
  if (!hf_list_empty(&aways->leaving))
    next = leaving_exchange(aways->leaving.next)->away_until;
  hf_timer_set(aways->gateway->loop, &aways->timer, next);
}

static void log_on(const struct hf_exchange *exchange, const char *what) {
  char id[HF_CALL_ID_MAX];
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_INFO, what,
               HF_LOG_STR("call", hf_outcome_call_id(exchange, id)));
}

/* Its client was away for too long: it has left the call. */
static void give_up(struct hf_exchange *exchange) {
  exchange->given_up = HF_STR("its client was away for too long, and the tool says 'detach: cancel'");
  if (hf_away_outlives(exchange, HF_LEAVE_VANISHED))
    hf_exchange_dismiss(exchange);
  else
    hf_exchange_cancel(exchange);
}

static void on_timer(struct hf_timer *timer) {
  struct hf_aways *aways = HF_CONTAINER_OF(timer, struct hf_aways, timer);
  while (!hf_list_empty(&aways->leaving)) {
    struct hf_exchange *exchange = leaving_exchange(aways->leaving.next);
    if (exchange->away_until > aways->gateway->loop->now)
      break;
    hf_list_remove(&exchange->leaving);
    give_up(exchange);
  }
  set_timer(aways);
}

struct hf_aways *hf_aways_new(struct hf_gateway *gateway) {
  struct hf_aways *aways = hf_calloc(1, sizeof *aways);
  if (!aways)
    return NULL;
  if (hf_timer_init(gateway->loop, &aways->timer, on_timer) < 0) {
    hf_free(aways);
    return NULL;
  }
  aways->gateway = gateway;
  hf_list_init(&aways->leaving);
  return aways;
}

void hf_aways_free(struct hf_aways *aways) {
  if (!aways)
    return;
  hf_timer_deinit(aways->gateway->loop, &aways->timer);
  hf_free(aways);
}

static bool is_kept(const struct hf_exchange *exchange) {
  const struct hf_gateway *gateway = exchange->client->gateway;
  return exchange->era == HF_ERA_LEGACY && exchange->tool && exchange->tool->detach == HF_DETACH_KEEP &&
         !exchange->is_check && !gateway->draining && !gateway->closing;
}

void hf_away_begin(struct hf_exchange *exchange) {
  if (exchange->away || exchange->request.method != HF_METHOD_TOOLS_CALL)
    return;
  exchange->away = true;
  hf_trace_stage(exchange, HF_STR("its client's stream broke"));
  if (exchange->tool && exchange->tool->detach == HF_DETACH_CANCEL) {
    struct hf_aways *aways = aways_of(exchange);
    exchange->away_until = hf_time_add(aways->gateway->loop->now, HF_AWAY_GRACE);
    hf_list_push_back(&aways->leaving, &exchange->leaving);
    set_timer(aways);
  }
}

void hf_away_end(struct hf_exchange *exchange) {
  if (!exchange->away)
    return;
  exchange->away = false;
  hf_list_remove(&exchange->leaving);
  set_timer(aways_of(exchange));
  hf_trace_stage(exchange, HF_STR("its client is back"));
}

static bool has_room(const struct hf_exchange *exchange) {
  return exchange->alone || aways_of(exchange)->alone_count < HF_AWAY_ALONE_MAX;
}

void hf_away_go_alone(struct hf_exchange *exchange) {
  struct hf_aways *aways = aways_of(exchange);
  if (!exchange->alone)
    aways->alone_count++;
  exchange->alone = true;
  hf_pipeline_outlive(exchange);
}

/* An effect that no equal call can find is at least known when it ends: in the log, and in a letter if it fails. */
static bool outlives_alone(struct hf_exchange *exchange, enum hf_leave how) {
  if (exchange->flight || !hf_intent_has_effects(exchange) || !hf_flight_may_have_run(exchange) ||
      (how == HF_LEAVE_CLOSED && hf_flight_own_client(exchange)))
    return false;
  hf_trace_stage(exchange, HF_STR("its client has gone: it goes on, for what it has begun"));
  log_on(exchange, "call goes on without its client");
  hf_away_go_alone(exchange);
  if (hf_question_desert(exchange, HF_STR("the client is gone")))
    hf_exchange_disown(exchange);
  return true;
}

bool hf_away_outlives(struct hf_exchange *exchange, enum hf_leave how) {
  hf_list_remove(&exchange->leaving);
  exchange->away = false;
  const bool kept = how != HF_LEAVE_CANCELLED && is_kept(exchange) && has_room(exchange);
  return hf_flight_outlives(exchange, how, kept) || (kept && outlives_alone(exchange, how));
}

void hf_away_due(struct hf_exchange *exchange) {
  if (!exchange->away || !is_kept(exchange) || exchange->call.outlives ||
      exchange->call.deadline > exchange->client->gateway->loop->now)
    return;
  hf_trace_stage(exchange, HF_STR("its time is up while its client is away: it goes on"));
  log_on(exchange, "call goes on: its time is up while its client is away");
  hf_call_outlive(&exchange->call);
}

void hf_away_left(struct hf_exchange *exchange) {
  hf_list_remove(&exchange->leaving);
  if (exchange->alone)
    aways_of(exchange)->alone_count--;
  exchange->alone = false;
}
