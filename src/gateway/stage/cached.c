#include "gateway/stage/cached.h"

#include "gateway/catalog/catalog.h"
#include "gateway/gateway.h"
#include "gateway/pipeline.h"
#include "gateway/stage/cache.h"
#include "gateway/stage/degrade.h"

/* Only what cannot have changed anything, whoever answers, may be answered without asking. */
static bool only_reads(const struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++)
    if (!exchange->targets[i].configured || exchange->targets[i].safety != HF_SAFETY_READ_ONLY)
      return false;
  return exchange->target_count > 0;
}

/* A round of a question is part of a talk, and no answer to anybody else. */
static bool may_be_cached(struct hf_exchange *exchange) {
  const struct hf_tool_settings *tool = exchange->tool;
  return tool && (tool->cache.ttl > 0 || tool->cache.max_stale > 0) && hf_cache_concerns(&exchange->request) &&
         only_reads(exchange) && hf_exchange_identify(exchange);
}

enum hf_stage_result hf_cached_before(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_str result;
  hf_time age;
  if (exchange->replay || !may_be_cached(exchange) || exchange->tool->cache.ttl == 0 ||
      hf_cache_get(&gateway->cache, &exchange->fingerprint, gateway->loop->now, &result, &age) < 0 ||
      age > exchange->tool->cache.ttl || hf_buf_append_str(&exchange->substitute, result) < 0)
    return HF_STAGE_PASS;
  const struct hf_outcome outcome = {.end = HF_CALL_END_ANSWERED,
                                     .source = HF_SOURCE_CACHE,
                                     .age = age,
                                     .elapsed = gateway->loop->now - exchange->started,
                                     .retry_after = -1};
  hf_pipeline_answer(exchange, NULL, &outcome);
  return HF_STAGE_ENDED;
}

void hf_cached_landed(struct hf_exchange *exchange, const struct hf_message *response,
                      const struct hf_outcome *outcome) {
  struct hf_gateway *gateway = exchange->client->gateway;
  if (response && response->kind == HF_MESSAGE_RESULT && outcome->fault == HF_FAULT_NONE && may_be_cached(exchange))
    (void)hf_cache_put(&gateway->cache, &exchange->tool->cache, &exchange->fingerprint,
                       hf_message_raw(response, HF_FIELD_RESULT), gateway->loop->now, gateway->loop->wall_ms);
}

static void log_refused_default(const struct hf_exchange *exchange, const struct hf_error *why) {
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_WARN, "a default answer cannot be given",
               HF_LOG_STR("tool", exchange->request.name), HF_LOG_STR("reason", hf_str_from(why->text)));
}

enum hf_source hf_cached_substitute(struct hf_exchange *exchange, hf_time *ret_age) {
  struct hf_error refused = {0};
  struct hf_gateway *gateway = exchange->client->gateway;
  const struct hf_item *item = hf_catalog_item(exchange->target);
  struct hf_str schema = exchange->route ? exchange->route->output_schema
                         : item          ? item->output_schema
                                         : (struct hf_str){NULL, 0};
  bool cached = may_be_cached(exchange);
  const struct hf_degrade call = {
      .cache = cached ? &gateway->cache : NULL,
      .settings = exchange->tool,
      .fingerprint = &exchange->fingerprint,
      .arguments = hf_exchange_arguments(exchange),
      .output_schema = schema,
      .fault = exchange->call.fault,
  };
  enum hf_source source = hf_degrade_find(&call, gateway->loop->now, &exchange->substitute, ret_age, &refused);
  if (refused.code)
    log_refused_default(exchange, &refused);
  return source;
}
