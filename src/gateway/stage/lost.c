#include "gateway/stage/lost.h"

#include "base/alloc.h"
#include "base/map.h"
#include "gateway/fingerprint.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/stage/flight.h"
#include "gateway/stage/intent.h"

enum { LOST_TEXT_MAX = 1024 };

struct hf_lost_calls {
  struct hf_map by_fingerprint;
  struct hf_list order; /* oldest first */
};

static struct hf_lost *lost_of(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_lost, link);
}

struct hf_lost_calls *hf_lost_calls_new(void) {
  struct hf_lost_calls *calls = hf_calloc(1, sizeof *calls);
  if (!calls)
    return NULL;
  hf_map_init(&calls->by_fingerprint, HF_LOST_MAX);
  hf_list_init(&calls->order);
  return calls;
}

static void lost_free(struct hf_lost *lost) {
  hf_free(lost->key);
  hf_free(lost->server);
  hf_free(lost);
}

static void forget(struct hf_lost_calls *calls, struct hf_lost *lost) {
  (void)hf_map_remove(&calls->by_fingerprint, hf_fingerprint_key(&lost->fingerprint));
  hf_list_remove(&lost->link);
  lost_free(lost);
}

void hf_lost_calls_free(struct hf_lost_calls *calls) {
  if (!calls)
    return;
  while (!hf_list_empty(&calls->order))
    forget(calls, lost_of(calls->order.next));
  hf_map_deinit(&calls->by_fingerprint);
  hf_free(calls);
}

static void forget_old(struct hf_lost_calls *calls, hf_time now) {
  while (!hf_list_empty(&calls->order)) {
    struct hf_lost *oldest = lost_of(calls->order.next);
    if (oldest->until > now && calls->by_fingerprint.len < HF_LOST_MAX)
      return;
    forget(calls, oldest);
  }
}

static void note(struct hf_gateway *gateway, const struct hf_lost *what, struct hf_str letter, struct hf_str key,
                 struct hf_str server) {
  struct hf_lost_calls *calls = gateway->lost;
  struct hf_lost *old = hf_map_get(&calls->by_fingerprint, hf_fingerprint_key(&what->fingerprint));
  if (old)
    forget(calls, old);
  forget_old(calls, gateway->loop->now);
  struct hf_lost *lost = hf_calloc(1, sizeof *lost);
  if (!lost)
    return; /* it is in the store all the same; only the warning is lost */
  *lost = *what;
  hf_list_init(&lost->link);
  lost->until = hf_time_add(gateway->loop->now, HF_LOST_KEPT);
  lost->told_at = HF_TIME_NEVER;
  memcpy(lost->letter, letter.ptr ? letter.ptr : "", letter.len < sizeof lost->letter ? letter.len : 0);
  lost->key = key.len ? hf_strndup(key.ptr, key.len) : NULL;
  lost->server = server.len ? hf_strndup(server.ptr, server.len) : NULL;
  if ((key.len && !lost->key) || hf_map_put(&calls->by_fingerprint, hf_fingerprint_key(&lost->fingerprint), lost) < 0) {
    lost_free(lost);
    return;
  }
  hf_list_push_back(&calls->order, &lost->link);
}

void hf_lost_recovered(struct hf_gateway *gateway, const struct hf_letter *letter) {
  if (hf_str_equal(letter->executed, HF_STR("no")))
    return;
  struct hf_lost lost = {.fingerprint = letter->fingerprint, .by_death = true, .key_first_ms = letter->first_ms};
  memcpy(lost.call, letter->call.ptr ? letter->call.ptr : "",
         letter->call.len < sizeof lost.call ? letter->call.len : 0);
  const struct hf_lost *known = hf_map_get(&gateway->lost->by_fingerprint, hf_fingerprint_key(&lost.fingerprint));
  if (known && known->by_death && strcmp(known->call, lost.call) == 0 &&
      hf_str_equal(letter->id, hf_str_from(known->letter)))
    return;
  note(gateway, &lost, letter->id, letter->key, letter->providers);
}

/* A lost call has been repeated under its key: who calls from now on means it anew. */
static void forget_repeated(struct hf_exchange *exchange) {
  struct hf_lost_calls *calls = exchange->client->gateway->lost;
  if (!exchange->key.ptr || !exchange->has_fingerprint)
    return;
  struct hf_lost *lost = hf_map_get(&calls->by_fingerprint, hf_fingerprint_key(&exchange->fingerprint));
  if (lost && lost->key && hf_str_equal(exchange->key, hf_str_from(lost->key)))
    lost->told_at = hf_time_min(lost->told_at, exchange->client->gateway->loop->now - 1);
}

void hf_lost_landed(struct hf_exchange *exchange, const struct hf_message *response, const struct hf_outcome *outcome) {
  (void)response;
  if (outcome->fault == HF_FAULT_NONE || outcome->executed != HF_EXECUTED_NO)
    forget_repeated(exchange);
  bool cancelled = exchange->reply && outcome->end == HF_CALL_END_CANCELLED;
  bool unheard = (!exchange->reply || cancelled) && outcome->fault != HF_FAULT_NONE && exchange->tool->coalesce > 0;
  if (!unheard || outcome->executed != HF_EXECUTED_MAYBE || outcome->letter != HF_LETTER_WRITTEN ||
      !exchange->has_fingerprint)
    return;
  struct hf_lost lost = {
      .fingerprint = exchange->fingerprint, .by_cancel = cancelled, .key_first_ms = exchange->key_first_ms};
  (void)hf_outcome_call_id(exchange, lost.call);
  const struct hf_str server = exchange->target->instance->settings->name;
  note(exchange->client->gateway, &lost, hf_str_from(exchange->letter_id), exchange->key,
       exchange->target_count == 1 ? server : (struct hf_str){NULL, 0});
}

void hf_lost_heard(struct hf_exchange *exchange, struct hf_str call) {
  struct hf_lost_calls *calls = exchange->client->gateway->lost;
  if (calls->by_fingerprint.len == 0 || !exchange->has_fingerprint)
    return;
  struct hf_lost *lost = hf_map_get(&calls->by_fingerprint, hf_fingerprint_key(&exchange->fingerprint));
  if (lost && !lost->by_death && hf_str_equal(call, hf_str_from(lost->call)))
    lost->over = true;
}

/* Who calls after somebody was told knows of it. */
static struct hf_lost *find(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = exchange->client->gateway;
  if (gateway->lost->by_fingerprint.len == 0 || exchange->replay || !hf_exchange_identify(exchange))
    return NULL;
  forget_old(gateway->lost, gateway->loop->now);
  struct hf_lost *lost = hf_map_get(&gateway->lost->by_fingerprint, hf_fingerprint_key(&exchange->fingerprint));
  if (!lost)
    return NULL;
  lost->over |= exchange->started > lost->told_at;
  return lost->over ? NULL : lost;
}

const struct hf_lost *hf_lost_find(struct hf_exchange *exchange) {
  return find(exchange);
}

/* What belongs to an earlier round of questions is no call anew. */
static bool is_new(const struct hf_exchange *exchange) {
  return !exchange->request.at[HF_FIELD_REQUEST_STATE] && !exchange->request.at[HF_FIELD_INPUT_RESPONSES];
}

/* The server that knows its key does not run it twice; another provider of its route would, and a reload may have left
 * only another one. */
static bool is_same_server(const struct hf_exchange *exchange, const struct hf_lost *lost) {
  if (!exchange->route)
    return true;
  return exchange->route->provider_count == 1 && lost->server &&
         hf_str_equal(hf_str_from(lost->server), exchange->target->instance->settings->name);
}

static bool is_repeated_safely(const struct hf_exchange *exchange, const struct hf_lost *lost) {
  return is_same_server(exchange, lost) && lost->key && exchange->key.ptr &&
         hf_str_equal(exchange->key, hf_str_from(lost->key));
}

bool hf_lost_key_is_good(const struct hf_lost *lost, const struct hf_target_tool *target, int64_t now_ms) {
  const int64_t until = lost->key_first_ms + target->tool->key.ttl / HF_MS(1);
  return lost->key && until > now_ms + target->policy->timeout.deadline / HF_MS(1);
}

/* The next call can go under its key, if this one has another only because it began before that was known. */
static bool can_be_repeated(const struct hf_exchange *exchange, const struct hf_lost *lost) {
  return is_same_server(exchange, lost) && exchange->key.ptr &&
         hf_lost_key_is_good(lost, exchange->target, exchange->client->gateway->loop->wall_ms);
}

enum hf_stage_result hf_lost_meanwhile(struct hf_exchange *exchange) {
  const struct hf_lost *lost = find(exchange);
  return lost && !is_repeated_safely(exchange, lost) ? hf_lost_before(exchange) : HF_STAGE_PASS;
}

enum hf_stage_result hf_lost_before(struct hf_exchange *exchange) {
  if (!is_new(exchange) || exchange->key_given || !hf_intent_has_effects(exchange))
    return HF_STAGE_PASS;
  struct hf_lost *lost = find(exchange);
  if (!lost || hf_flight_has_answer(exchange))
    return HF_STAGE_PASS;
  struct hf_gateway *gateway = exchange->client->gateway;
  bool safe = is_repeated_safely(exchange, lost);
  char id[HF_CALL_ID_MAX];
  hf_log_event(gateway->loop->log, HF_LOG_WARN,
               safe ? "a lost call is repeated under its key" : "an equal call was lost",
               HF_LOG_STR("call", hf_outcome_call_id(exchange, id)), HF_LOG_STR("letter", hf_str_from(lost->letter)));
  if (safe) {
    hf_trace_stage(exchange, HF_STR("an equal call was lost and may have run: this one repeats it under its key"));
    return HF_STAGE_PASS; /* it may not get to be sent, and then the next one needs the key as well */
  }
  if (!can_be_repeated(exchange, lost))
    lost->told_at = hf_time_min(lost->told_at, gateway->loop->now);
  struct hf_buf text;
  hf_buf_init(&text, LOST_TEXT_MAX);
  (void)hf_buf_printf(&text,
                      "This call was not sent: an equal one was in flight when %s, and it may have run (dead letter "
                      "%s). Find out whether it took effect. If it did not, or if it is meant to happen once more, "
                      "make this very call again: then it is sent.",
                      lost->by_death    ? "an earlier gateway died"
                      : lost->by_cancel ? "its client cancelled it"
                                        : "its client went away",
                      lost->letter);
  hf_outcome_answer_refusal(exchange, HF_FAULT_CONFLICT, HF_RPC_INVALID_PARAMS, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return HF_STAGE_ENDED;
}
