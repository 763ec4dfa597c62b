#include "gateway/letter/letter.h"

#include "base/hex.h"
#include "gateway/catalog/catalog.h"
#include "gateway/fingerprint.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/stage/intent.h"

#include <nettle/sha2.h>

enum { ATTEMPTS_MAX = 256 << 10, PROVIDERS_MAX = 2048, TRACE_ID_AT = 3, TRACEPARENT_LEN = 55 };

struct hf_str hf_letter_tool(const struct hf_exchange *exchange) {
  const struct hf_target_tool *target = exchange->target;
  if (!exchange->client->server || exchange->route || !target->instance || !target->name.ptr)
    return exchange->request.name;
  /* A server that has never been up may have told of none of its tools. */
  struct hf_name *name;
  struct hf_names *names = &exchange->client->gateway->tool_names;
  int r = hf_names_add(names, target->instance->settings->name, target->name, &name);
  return r == 0 ? name->exposed : exchange->request.name;
}

/* "00-<32 digits>-<16>-<2>"; later versions may go on behind that. All zeros is no id. */
static bool holds_trace_id(struct hf_str parent) {
  if (parent.len < TRACEPARENT_LEN || parent.ptr[2] != '-' || parent.ptr[TRACE_ID_AT + HF_TRACE_ID_MAX] != '-')
    return false;
  bool zero = true;
  for (size_t i = 0; i < HF_TRACE_ID_MAX; i++) {
    char c = parent.ptr[TRACE_ID_AT + i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
      return false;
    zero = zero && c == '0';
  }
  return !zero;
}

static struct hf_str read_trace_id(const struct hf_json_doc *doc, char text[HF_TRACE_ID_MAX]) {
  uint32_t node;
  struct hf_str absent = {NULL, 0};
  if (hf_json_type(doc, 0) != HF_JSON_OBJECT || hf_json_member(doc, 0, HF_STR("traceparent"), &node) < 0 ||
      hf_json_type(doc, node) != HF_JSON_STRING)
    return absent;
  struct hf_str raw = hf_json_span(doc, node);
  struct hf_str parent = {raw.ptr + 1, raw.len - 2};
  if (!holds_trace_id(parent))
    return absent;
  memcpy(text, parent.ptr + TRACE_ID_AT, HF_TRACE_ID_MAX);
  return (struct hf_str){text, HF_TRACE_ID_MAX};
}

struct hf_str hf_letter_trace_id(const struct hf_exchange *exchange, char text[HF_TRACE_ID_MAX]) {
  struct hf_str found = {NULL, 0};
  struct hf_str meta = hf_message_raw(&exchange->request, HF_FIELD_PARAMS_META);
  if (!meta.ptr)
    return found;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (hf_json_scan_feed(&scan, meta.ptr, meta.len, true) == 0) {
    struct hf_json_doc doc = hf_json_doc(meta.ptr, &scan);
    found = read_trace_id(&doc, text);
  }
  hf_json_scan_deinit(&scan);
  return found;
}

/* In hex; absent if the schema is not known. */
static struct hf_str schema_hash(const struct hf_target_tool *target, char text[2 * SHA256_DIGEST_SIZE]) {
  const struct hf_item *item = target->instance ? hf_catalog_item(target) : NULL;
  if (!item || !item->schema.ptr)
    return (struct hf_str){NULL, 0};
  struct sha256_ctx ctx;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&ctx);
  sha256_update(&ctx, item->schema.len, (const uint8_t *)item->schema.ptr);
  sha256_digest(&ctx, sizeof digest, digest);
  hf_hex(digest, sizeof digest, text);
  return (struct hf_str){text, sizeof digest * 2};
}

static void post_done(struct hf_exchange *exchange, bool written) {
  hf_pipeline_post(exchange, &(struct hf_call_event){.kind = HF_CALL_LETTER_DONE, .letter_written = written});
}

static void complain(const struct hf_exchange *exchange, int error) {
  char call[HF_CALL_ID_MAX];
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_ERROR, "a dead letter could not be written",
               HF_LOG_STR("reason", hf_str_from(hf_err_text(error))),
               HF_LOG_STR("call", hf_outcome_call_id(exchange, call)));
}

static void fail(struct hf_exchange *exchange, int error) {
  complain(exchange, error);
  post_done(exchange, false);
}

/* Returns whether the letter was written. */
static bool take_id(struct hf_exchange *exchange, int error, struct hf_str id) {
  exchange->store_waits = false;
  if (error < 0 || id.len == 0 || id.len >= sizeof exchange->letter_id) {
    complain(exchange, error ? error : HF_ERR_LIMIT);
    return false;
  }
  memcpy(exchange->letter_id, id.ptr, id.len);
  exchange->letter_id[id.len] = '\0';
  return true;
}

static void on_buried(struct hf_store_wait *wait, int error, struct hf_str id) {
  struct hf_exchange *exchange = HF_CONTAINER_OF(wait, struct hf_exchange, store_wait);
  post_done(exchange, take_id(exchange, error, id));
}

static void on_refused_buried(struct hf_store_wait *wait, int error, struct hf_str id) {
  struct hf_exchange *exchange = HF_CONTAINER_OF(wait, struct hf_exchange, store_wait);
  (void)take_id(exchange, error, id);
  exchange->resume(exchange);
}

/* Without memory for them a letter goes without its attempts rather than not at all. */
static void put_history(const struct hf_exchange *exchange, const struct hf_outcome *outcome, struct hf_buf *attempts,
                        struct hf_buf *providers) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, attempts);
  hf_trace_write(exchange->trace, &w);
  if (hf_json_write_finish(&w) < 0)
    hf_buf_reset(attempts, 0);
  if (hf_trace_providers(exchange->trace, providers) < 0)
    hf_buf_reset(providers, 0);
  if (providers->len == 0 && outcome->provider < exchange->target_count)
    (void)hf_buf_append_str(providers, exchange->targets[outcome->provider].instance->settings->name);
}

static void bury(struct hf_exchange *exchange, const struct hf_outcome *outcome, struct hf_str attempts,
                 struct hf_str providers, void (*done)(struct hf_store_wait *wait, int error, struct hf_str id)) {
  struct hf_gateway *gateway = exchange->client->gateway;
  const struct hf_target_tool *target =
      outcome->provider < exchange->target_count ? &exchange->targets[outcome->provider] : exchange->target;
  struct hf_str arguments = hf_exchange_arguments(exchange);
  char call[HF_CALL_ID_MAX], trace_id[HF_TRACE_ID_MAX], hash[2 * SHA256_DIGEST_SIZE];
  const struct hf_letter letter = {
      .call = hf_outcome_call_id(exchange, call),
      .principal = hf_exchange_principal(exchange),
      .tool = hf_letter_tool(exchange),
      .route = exchange->route ? exchange->route->name : (struct hf_str){NULL, 0},
      .providers = providers,
      .reason = hf_str_from(hf_fault_name(outcome->fault)),
      .end = hf_str_from(hf_call_end_name(outcome->end)),
      .executed = hf_str_from(hf_executed_name(outcome->executed)),
      .arguments = arguments.ptr || exchange->server_task.ptr ? arguments : HF_STR("{}"),
      .schema = schema_hash(target, hash),
      .attempts = attempts,
      .key = exchange->key,
      .trace_id = hf_letter_trace_id(exchange, trace_id),
      .fingerprint = exchange->fingerprint,
      .priority = exchange->priority,
      .first_ms = exchange->key.ptr ? exchange->key_first_ms : gateway->loop->wall_ms,
      .last_ms = gateway->loop->wall_ms,
      .count = 1,
      .status = HF_LETTER_DEAD,
  };
  exchange->store_wait = (struct hf_store_wait){.done = done};
  exchange->store_waits = true;
  gateway->store->ops->bury(gateway->store, &letter, &exchange->store_wait);
}

void hf_letter_write(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  if (!exchange->client->gateway->store) {
    post_done(exchange, false);
    return;
  }
  if (!hf_exchange_identify(exchange)) {
    fail(exchange, HF_ERR_INVALID);
    return;
  }
  struct hf_buf attempts, providers;
  hf_buf_init(&attempts, ATTEMPTS_MAX);
  hf_buf_init(&providers, PROVIDERS_MAX);
  hf_intent_stop_waiting(exchange);
  put_history(exchange, outcome, &attempts, &providers);
  bury(exchange, outcome, attempts.len ? hf_buf_str(&attempts) : HF_STR("[]"), hf_buf_str(&providers), on_buried);
  hf_buf_deinit(&attempts);
  hf_buf_deinit(&providers);
}

/* What makes two calls equal of which nobody knows where they would have gone. */
static bool identify_refused(struct hf_exchange *exchange) {
  if (exchange->route || exchange->target->instance)
    return hf_exchange_identify(exchange);
  exchange->has_fingerprint =
      hf_fingerprint_of(hf_exchange_principal(exchange), HF_STR(""), exchange->request.name,
                        hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS), &exchange->fingerprint) == 0;
  return exchange->has_fingerprint;
}

void hf_letter_write_refused(struct hf_exchange *exchange, enum hf_fault fault, struct hf_str steps) {
  const struct hf_target_tool *target = exchange->target;
  const struct hf_outcome outcome = {.end = HF_CALL_END_REFUSED, .fault = fault, .executed = HF_EXECUTED_NO};
  struct hf_str nobody = {NULL, 0};
  if (!identify_refused(exchange)) {
    complain(exchange, HF_ERR_NOMEM);
    exchange->resume(exchange);
    return;
  }
  bury(exchange, &outcome, steps, target->instance ? target->instance->settings->name : nobody, on_refused_buried);
}
