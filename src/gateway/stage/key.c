#include "gateway/stage/key.h"

#include "gateway/fingerprint.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/stage/intent.h"
#include "gateway/stage/key_place.h"
#include "gateway/stage/lost.h"

enum { ID_MAX = 1 << 16, TEXT_MAX = 2048, SHOWN_MAX = 64 };

_Static_assert((int)HF_KEY_CALL_MAX >= (int)HF_CALL_ID_MAX, "a key knows the call that sent it first");

/* The first one of its providers that takes a key says what the key belongs to. */
static const struct hf_target_tool *keyed_target(const struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++) {
    const struct hf_target_tool *target = &exchange->targets[i];
    if (target->safety == HF_SAFETY_KEYED && target->tool->key.place != HF_KEY_NONE)
      return target;
  }
  return NULL;
}

static int id_of(const struct hf_exchange *exchange, struct hf_buf *id) {
  const struct hf_target_tool *target = keyed_target(exchange);
  return hf_keys_write_id(id, hf_exchange_principal(exchange), target->instance->settings->name, target->name,
                          exchange->key);
}

/* NULL also for lack of memory: then the key is not known here, but it is still the same one for the server. */
static struct hf_key_entry *find(struct hf_exchange *exchange) {
  struct hf_buf id;
  hf_buf_init(&id, ID_MAX);
  struct hf_key_entry *entry = NULL;
  if (id_of(exchange, &id) == 0)
    entry = hf_keys_find(&exchange->client->gateway->keys, hf_buf_str(&id));
  hf_buf_deinit(&id);
  return entry;
}

static struct hf_key_entry *add_for(struct hf_exchange *exchange) {
  struct hf_buf id;
  hf_buf_init(&id, ID_MAX);
  struct hf_key_entry *entry = NULL;
  if (id_of(exchange, &id) == 0)
    entry = hf_keys_add(&exchange->client->gateway->keys, hf_buf_str(&id), exchange->key.len);
  hf_buf_deinit(&id);
  if (!entry)
    return NULL;
  entry->fingerprint = exchange->fingerprint;
  entry->first_ms = exchange->key_first_ms;
  entry->expires_ms = exchange->key_first_ms + keyed_target(exchange)->tool->key.ttl / HF_MS(1);
  entry->given = exchange->key_given;
  (void)hf_outcome_call_id(exchange, entry->call);
  return entry;
}

void hf_key_load(struct hf_gateway *gateway, const struct hf_keyed *keyed) {
  struct hf_buf id;
  hf_buf_init(&id, ID_MAX);
  struct hf_key_entry *entry = NULL;
  if (keyed->expires_ms > gateway->loop->wall_ms &&
      hf_keys_write_id(&id, keyed->principal, keyed->server, keyed->tool, keyed->key) == 0 &&
      !hf_map_get(&gateway->keys.by_id, hf_buf_str(&id)))
    entry = hf_keys_add(&gateway->keys, hf_buf_str(&id), keyed->key.len);
  hf_buf_deinit(&id);
  if (!entry)
    return;
  entry->fingerprint = keyed->fingerprint;
  entry->first_ms = keyed->first_ms;
  entry->expires_ms = keyed->expires_ms;
  entry->given = true;
  if (keyed->result.ptr)
    hf_keys_record(entry, keyed->result, keyed->first_ms);
}

static struct hf_keyed row_of(const struct hf_exchange *exchange, const struct hf_key_entry *entry) {
  const struct hf_target_tool *target = keyed_target(exchange);
  return (struct hf_keyed){
      .principal = hf_exchange_principal(exchange),
      .server = target->instance->settings->name,
      .tool = target->name,
      .key = entry->key,
      .fingerprint = entry->fingerprint,
      .first_ms = entry->first_ms,
      .expires_ms = entry->expires_ms,
      .result = entry->result,
  };
}

static struct hf_str shown(struct hf_str key) {
  return (struct hf_str){key.ptr, key.len < SHOWN_MAX ? key.len : SHOWN_MAX};
}

static enum hf_stage_result refuse(struct hf_exchange *exchange, enum hf_fault fault, struct hf_str text) {
  hf_outcome_answer_refusal(exchange, fault, HF_RPC_INVALID_PARAMS, text);
  return HF_STAGE_ENDED;
}

/* `entry` says who sent the key first; NULL: another gateway, as far as is known. */
static enum hf_stage_result refuse_other_arguments(struct hf_exchange *exchange, const struct hf_key_entry *entry) {
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  int64_t age_ms = entry ? exchange->client->gateway->loop->wall_ms - entry->first_ms : 0;
  (void)hf_buf_printf(&text,
                      "The idempotency key '%.*s' belongs to other arguments: ", HF_STR_FMT(shown(exchange->key)));
  if (!entry || entry->refused)
    (void)hf_buf_printf(&text, "another gateway has sent it.");
  else if (entry->call[0])
    (void)hf_buf_printf(&text, "call %s was sent with it %lld s ago.", entry->call, (long long)(age_ms / 1000));
  else
    (void)hf_buf_printf(&text, "an earlier call was sent with it %lld s ago.", (long long)(age_ms / 1000));
  (void)hf_buf_append_str(&text, HF_STR(" Nothing was sent now. Use the same arguments again to get the result of that "
                                        "call, or another key to make a new one."));
  enum hf_stage_result result = refuse(exchange, HF_FAULT_CONFLICT, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return result;
}

static enum hf_stage_result answer_recorded(struct hf_exchange *exchange, const struct hf_key_entry *entry) {
  struct hf_loop *loop = exchange->client->gateway->loop;
  int64_t age_ms = loop->wall_ms - entry->result_ms;
  struct hf_outcome outcome = {
      .end = HF_CALL_END_ANSWERED,
      .fault = HF_FAULT_NONE,
      .executed = HF_EXECUTED_YES,
      .elapsed = loop->now - exchange->started,
      .retry_after = -1,
      .source = HF_SOURCE_CACHE,
      .age = HF_MS(age_ms > 0 ? age_ms : 0),
  };
  hf_buf_reset(&exchange->substitute, 0);
  if (entry->call[0])
    exchange->joined = hf_arena_copy(&exchange->arena, hf_str_from(entry->call));
  if (hf_buf_append_str(&exchange->substitute, entry->result) < 0)
    return refuse(exchange, HF_FAULT_LOCAL_LIMIT,
                  HF_STR("The gateway has no memory for this call's recorded result. "
                         "Nothing was sent. Try again later."));
  hf_pipeline_answer(exchange, NULL, &outcome);
  return HF_STAGE_ENDED;
}

static void on_noted(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct hf_exchange *exchange = HF_CONTAINER_OF(wait, struct hf_exchange, store_wait);
  exchange->store_waits = false;
  struct hf_key_entry *entry = find(exchange);
  if (error == HF_ERR_EXISTS) {
    if (entry)
      entry->refused = true;
    (void)refuse_other_arguments(exchange, entry);
    return;
  }
  if (error < 0)
    hf_intent_complain(exchange->client->gateway, HF_STR("key"), error);
  hf_pipeline_go_on(exchange);
}

static void on_slow(struct hf_exchange *exchange) {
  hf_intent_stop_waiting(exchange);
  hf_intent_complain(exchange->client->gateway, HF_STR("key"), HF_ERR_TIMEOUT);
  hf_pipeline_go_on(exchange);
}

/* A key is stored before it is first sent, so that another process neither gives it to other arguments nor trusts it
 * too long. */
static enum hf_stage_result note(struct hf_exchange *exchange, const struct hf_key_entry *entry) {
  struct hf_gateway *gateway = exchange->client->gateway;
  if (!gateway->store)
    return HF_STAGE_PASS;
  struct hf_keyed row = row_of(exchange, entry);
  exchange->store_wait = (struct hf_store_wait){.done = on_noted};
  exchange->store_waits = true;
  hf_exchange_hold(exchange, hf_time_add(gateway->loop->now, HF_INTENT_WAIT), on_slow);
  gateway->store->ops->remember(gateway->store, &row, &exchange->store_wait);
  return HF_STAGE_KEPT;
}

/* A key that somebody may know from before. */
static enum hf_stage_result use_given(struct hf_exchange *exchange) {
  struct hf_key_entry *entry = find(exchange);
  if (entry && (entry->refused || !hf_fingerprint_equal(&entry->fingerprint, &exchange->fingerprint)))
    return refuse_other_arguments(exchange, entry);
  if (entry && entry->result.ptr)
    return answer_recorded(exchange, entry);
  if (entry) {
    hf_trace_stage(exchange, HF_STR("it goes under the caller's own idempotency key, which was sent before"));
    exchange->key_first_ms = entry->first_ms;
    return HF_STAGE_PASS;
  }
  hf_trace_stage(exchange, HF_STR("it goes under the caller's own idempotency key"));
  if (exchange->key_first_ms == 0)
    exchange->key_first_ms = exchange->client->gateway->loop->wall_ms;
  entry = exchange->key_given ? add_for(exchange) : NULL;
  return entry ? note(exchange, entry) : HF_STAGE_PASS;
}

static struct hf_str fresh_key(struct hf_exchange *exchange) {
  struct hf_random *random = &exchange->client->gateway->loop->random;
  uint64_t a = hf_random_next(random), b = hf_random_next(random);
  return hf_arena_printf(&exchange->arena, "%08llx-%04llx-4%03llx-%04llx-%012llx", (unsigned long long)(a >> 32),
                         (unsigned long long)(a >> 16 & 0xffff), (unsigned long long)(a & 0xfff),
                         (unsigned long long)(b >> 48 & 0x3fff) | 0x8000, (unsigned long long)(b & 0xffffffffffff));
}

static bool state_of(const struct hf_json_doc *doc, uint32_t object, uint64_t *ret_state) {
  struct hf_buf text;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  uint32_t node;
  int r = hf_json_member(doc, object, HF_STR("requestState"), &node);
  if (r == 0)
    r = hf_json_type(doc, node) == HF_JSON_STRING ? hf_json_unescape(hf_json_span(doc, node), &text)
                                                  : hf_buf_append_str(&text, hf_json_span(doc, node));
  if (r == 0 || r == HF_ERR_NOTFOUND)
    *ret_state = hf_map_hash(text.data ? text.data : "", text.len);
  hf_buf_deinit(&text);
  return r == 0 || r == HF_ERR_NOTFOUND;
}

/* The round of questions that this request goes on with, or NULL. */
static struct hf_key_entry *find_round(struct hf_exchange *exchange) {
  const struct hf_message *request = &exchange->request;
  uint64_t state;
  if ((!request->at[HF_FIELD_REQUEST_STATE] && !request->at[HF_FIELD_INPUT_RESPONSES]) ||
      !state_of(&request->doc, request->at[HF_FIELD_PARAMS], &state))
    return NULL;
  return hf_keys_find_round(&exchange->client->gateway->keys, &exchange->fingerprint, state);
}

/* Without a key of the caller's it is that of the round it belongs to, of the lost call that it repeats, or a new one.
 */
static enum hf_stage_result choose(struct hf_exchange *exchange, const struct hf_target_tool *target) {
  int64_t now_ms = exchange->client->gateway->loop->wall_ms;
  const struct hf_key_entry *round = find_round(exchange);
  const struct hf_lost *lost = round ? NULL : hf_lost_find(exchange);
  if (round) {
    hf_trace_stage(exchange,
                   HF_STR("it goes under the idempotency key of the round of questions that it goes on with"));
    exchange->key = hf_arena_copy(&exchange->arena, round->key);
    exchange->key_first_ms = round->first_ms;
  } else if (lost && hf_lost_key_is_good(lost, target, now_ms)) {
    hf_trace_stage(exchange, HF_STR("it goes under the idempotency key of the lost call that it repeats"));
    exchange->key = hf_arena_copy(&exchange->arena, hf_str_from(lost->key));
    exchange->key_first_ms = lost->key_first_ms;
  } else {
    hf_trace_stage(exchange, HF_STR("the gateway made an idempotency key for it"));
    exchange->key = fresh_key(exchange);
    exchange->key_first_ms = now_ms;
  }
  return HF_STAGE_PASS;
}

enum hf_stage_result hf_key_before(struct hf_exchange *exchange) {
  const struct hf_target_tool *target = keyed_target(exchange);
  if (!target)
    return HF_STAGE_PASS;
  const struct hf_key_settings *settings = &target->tool->key;
  struct hf_str given = {NULL, 0};
  int r = hf_key_read_given(exchange, settings, &given);
  if (r == HF_ERR_INVALID)
    return refuse(exchange, HF_FAULT_REJECTED,
                  HF_STR("The idempotency key cannot be used: it must be a string of at most 1024 bytes (where it "
                         "travels as an HTTP header, of visible ASCII characters), given once. Nothing was executed."));
  bool identified = hf_exchange_identify(exchange);
  if (r == HF_ERR_NOMEM || (r == 0 && !identified))
    return refuse(exchange, HF_FAULT_LOCAL_LIMIT,
                  HF_STR("The gateway has no memory for this call's idempotency key, "
                         "without which it was not sent. Try again later."));
  if ((r < 0 && r != HF_ERR_NOTFOUND) || !identified)
    return HF_STAGE_PASS; /* without a key nothing is repeated */
  if (r == HF_ERR_NOTFOUND)
    return choose(exchange, target);
  exchange->key = given;
  exchange->key_given = true;
  return use_given(exchange);
}

static void open_round(struct hf_exchange *exchange, struct hf_key_entry *entry, const struct hf_message *response) {
  uint64_t state;
  if (!entry)
    entry = add_for(exchange);
  if (entry && state_of(&response->doc, response->at[HF_FIELD_RESULT], &state))
    hf_keys_open_round(entry, state);
}

static void on_recorded(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct hf_key_entry *entry = HF_CONTAINER_OF(wait, struct hf_key_entry, noted);
  entry->store_waits = false;
  if (error < 0)
    hf_intent_complain(entry->keys->gateway, HF_STR("result of a key"), error);
}

static void record_good(struct hf_exchange *exchange, struct hf_key_entry *entry, const struct hf_message *response) {
  struct hf_gateway *gateway = exchange->client->gateway;
  hf_keys_record(entry, hf_message_raw(response, HF_FIELD_RESULT), gateway->loop->wall_ms);
  if (!gateway->store || !entry->result.ptr || entry->store_waits)
    return;
  struct hf_keyed row = row_of(exchange, entry);
  entry->noted = (struct hf_store_wait){.done = on_recorded};
  entry->store_waits = true;
  gateway->store->ops->remember(gateway->store, &row, &entry->noted);
}

void hf_key_landed(struct hf_exchange *exchange, const struct hf_message *response, const struct hf_outcome *outcome) {
  if (!exchange->key.ptr || !keyed_target(exchange))
    return;
  struct hf_key_entry *entry = find(exchange);
  if (entry && !hf_fingerprint_equal(&entry->fingerprint, &exchange->fingerprint))
    return; /* a key that this call has from a lost one, and that somebody has given to another call meanwhile */
  bool result = response && response->kind == HF_MESSAGE_RESULT && outcome->fault == HF_FAULT_NONE;
  if (result && hf_message_is_pending(response)) {
    open_round(exchange, entry, response);
    return;
  }
  if (!entry)
    return;
  hf_keys_close_round(entry);
  if (!entry->given)
    hf_keys_drop(entry); /* nobody knows it any more */
  else if (result)
    record_good(exchange, entry, response);
}
