#include "gateway/stage/intent.h"

#include "gateway/gateway.h"
#include "gateway/letter/letter.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/stage/lost.h"

enum { SERVERS_MAX = 2048 };

#define COMPLAINT_PAUSE HF_SECONDS(60)

bool hf_intent_has_effects(const struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++) {
    enum hf_safety safety = exchange->targets[i].safety;
    if (safety == HF_SAFETY_UNSAFE || safety == HF_SAFETY_KEYED)
      return true;
  }
  return false;
}

void hf_intent_complain(struct hf_gateway *gateway, struct hf_str what, int error) {
  if (gateway->loop->now < gateway->next_complaint)
    return;
  gateway->next_complaint = hf_time_add(gateway->loop->now, COMPLAINT_PAUSE);
  hf_log_event(gateway->loop->log, HF_LOG_ERROR, "the store does not take what a crash must not lose",
               HF_LOG_STR("what", what), HF_LOG_STR("error", hf_str_from(hf_err_text(error))));
}

static void go_without(struct hf_exchange *exchange, int error) {
  hf_trace_stage(exchange, HF_STR("the store did not take down that it is sent: a crash in the middle would lose it"));
  hf_intent_complain(exchange->client->gateway, HF_STR("intent"), error);
}

static void on_written(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct hf_exchange *exchange = HF_CONTAINER_OF(wait, struct hf_exchange, store_wait);
  exchange->store_waits = false;
  if (error < 0)
    go_without(exchange, error);
  if (hf_lost_meanwhile(exchange) == HF_STAGE_PASS)
    hf_pipeline_go_on(exchange);
}

void hf_intent_stop_waiting(struct hf_exchange *exchange) {
  struct hf_store *store = exchange->client->gateway->store;
  if (exchange->store_waits)
    store->ops->forget(store, &exchange->store_wait);
  exchange->store_waits = false;
}

static void on_slow(struct hf_exchange *exchange) {
  hf_intent_stop_waiting(exchange);
  go_without(exchange, HF_ERR_TIMEOUT);
  hf_pipeline_go_on(exchange);
}

/* Who may come to run it: any provider of its route, for the order in which they are tried is known to nobody once the
 * gateway is dead. Without memory for the list: unknown. */
static struct hf_str servers(struct hf_exchange *exchange) {
  if (!exchange->route || exchange->target_count < 2)
    return exchange->target->instance->settings->name;
  struct hf_buf names;
  hf_buf_init(&names, SERVERS_MAX);
  int r = 0;
  for (size_t i = 0; r == 0 && i < exchange->target_count; i++) {
    r = hf_buf_append_str(&names, i ? HF_STR(", ") : HF_STR(""));
    if (r == 0)
      r = hf_buf_append_str(&names, exchange->targets[i].instance->settings->name);
  }
  struct hf_str copy = r == 0 ? hf_arena_copy(&exchange->arena, hf_buf_str(&names)) : (struct hf_str){NULL, 0};
  hf_buf_deinit(&names);
  return copy.ptr ? copy : HF_STR("");
}

enum hf_stage_result hf_intent_before(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = exchange->client->gateway;
  if (!gateway->store || !hf_intent_has_effects(exchange) || !hf_exchange_identify(exchange))
    return HF_STAGE_PASS;
  char id[HF_CALL_ID_MAX], trace_id[HF_TRACE_ID_MAX];
  struct hf_intent intent = {
      .call = hf_outcome_call_id(exchange, id),
      .principal = hf_exchange_principal(exchange),
      .server = servers(exchange),
      .tool = hf_letter_tool(exchange),
      .route = exchange->route ? exchange->route->name : (struct hf_str){NULL, 0},
      .arguments = hf_exchange_arguments(exchange),
      .key = exchange->key,
      .fingerprint = exchange->fingerprint,
      .trace_id = hf_letter_trace_id(exchange, trace_id),
      .priority = exchange->priority,
      .at_ms = exchange->key.ptr ? exchange->key_first_ms : gateway->loop->wall_ms,
  };
  exchange->store_wait = (struct hf_store_wait){.done = on_written};
  exchange->store_waits = true;
  exchange->intended = true;
  hf_exchange_hold(exchange, hf_time_add(gateway->loop->now, HF_INTENT_WAIT), on_slow);
  gateway->store->ops->intend(gateway->store, &intent, &exchange->store_wait);
  return HF_STAGE_KEPT;
}

static void settle(struct hf_exchange *exchange) {
  struct hf_store *store = exchange->client->gateway->store;
  char id[HF_CALL_ID_MAX];
  exchange->intended = false;
  store->ops->settle(store, hf_outcome_call_id(exchange, id));
}

/* A letter has ended the intent with it. One that could not be written has not: what may have run stays open, so that
 * it becomes a letter when this gateway has ended. */
void hf_intent_landed(struct hf_exchange *exchange, const struct hf_message *response,
                      const struct hf_outcome *outcome) {
  (void)response;
  bool open = outcome->letter == HF_LETTER_WRITTEN ||
              (outcome->letter == HF_LETTER_FAILED && outcome->executed == HF_EXECUTED_MAYBE);
  if (exchange->intended && !open)
    settle(exchange);
  exchange->intended = false;
}

void hf_intent_left(struct hf_exchange *exchange) {
  hf_intent_stop_waiting(exchange);
  if (exchange->intended)
    settle(exchange);
}
