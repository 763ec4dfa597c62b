#include "gateway/result.h"

#include "gateway/catalog/catalog.h"
#include "gateway/catalog/route.h"
#include "gateway/correct/amend.h"
#include "gateway/correct/feedback.h"
#include "gateway/gateway.h"
#include "gateway/outcome.h"
#include "mcp/compose.h"
#include "json/value.h"
#include "json/write.h"

enum { TEXT_MAX = 64 << 10, REASONS_TOKENS = 200 };

static const struct hf_schema *schema_of(const struct hf_target_tool *target) {
  const struct hf_item *item = hf_catalog_item(target);
  return item && item->output_schema.ptr
             ? hf_listing_schema(&target->instance->lists[HF_LIST_TOOLS], item, HF_SCHEMA_OUTPUT)
             : NULL;
}

/* The raw structured content; absent if there is none. */
static struct hf_str structured_of(const struct hf_message *response) {
  uint32_t node;
  int r = hf_json_member(&response->doc, response->at[HF_FIELD_RESULT], HF_STR("structuredContent"), &node);
  return r == 0 ? hf_json_span(&response->doc, node) : (struct hf_str){NULL, 0};
}

/* Appends why it does not fit. Returns HF_ERR_INVALID if that is so, 0 if not, HF_ERR_AGAIN if nobody can tell. */
static int look(struct hf_exchange *exchange, const struct hf_schema *schema, struct hf_str raw, struct hf_buf *why) {
  struct hf_gateway *gateway = exchange->client->gateway;
  bool deep;
  if (!raw.ptr) {
    (void)hf_buf_append_str(why, HF_STR("\n- there is no structured content"));
    return HF_ERR_INVALID;
  }
  int r = hf_validator_check(&gateway->validator, schema, raw, HF_JSON_DEPTH, &deep);
  if (r == HF_ERR_DUPLICATE)
    (void)hf_buf_append_str(why, HF_STR("\n- a member of it occurs twice"));
  if (r != HF_ERR_INVALID)
    return r == 0 || r == HF_ERR_DUPLICATE ? r : HF_ERR_AGAIN;
  struct hf_misfit misfit;
  hf_misfit_init(&misfit, raw);
  misfit.whole = "it";
  if (hf_misfit_explain(&misfit, &gateway->validator, schema) == 0)
    (void)hf_feedback_reasons(&misfit, REASONS_TOKENS, why);
  hf_misfit_deinit(&misfit);
  return HF_ERR_INVALID;
}

/* `why` is one line afterwards. */
static void log_misfit(const struct hf_exchange *exchange, const struct hf_target_tool *target, struct hf_buf *why) {
  char id[HF_CALL_ID_MAX];
  hf_feedback_join(why);
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_WARN, "a result does not fit its outputSchema",
               HF_LOG_STR("call", hf_outcome_call_id(exchange, id)),
               HF_LOG_STR("server", target->instance->settings->name), HF_LOG_STR("tool", target->name),
               HF_LOG_STR("reasons", hf_buf_str(why)));
}

/* Counts, logs and keeps what is wrong. `schema` NULL: there is one, and it cannot be used. */
static bool judge(struct hf_exchange *exchange, const struct hf_target_tool *target, const struct hf_schema *schema,
                  enum hf_check_mode mode, const struct hf_message *response) {
  uint64_t *counts = exchange->client->gateway->metrics.results;
  struct hf_buf why;
  hf_buf_init(&why, TEXT_MAX);
  int r = schema ? look(exchange, schema, structured_of(response), &why) : HF_ERR_AGAIN;
  bool misfit = r < 0 && r != HF_ERR_AGAIN;
  if (misfit) {
    exchange->result_misfit = hf_arena_copy(&exchange->arena, hf_buf_str(&why));
    if (mode == HF_CHECK_ENFORCE)
      exchange->notes.misfit = HF_MISFIT_RESULT;
    log_misfit(exchange, target, &why);
  }
  counts[r == 0                     ? HF_FIT_VALID
         : !misfit                  ? HF_FIT_UNVALIDATED
         : mode == HF_CHECK_ENFORCE ? HF_FIT_REFUSED
                                    : HF_FIT_WARNED]++;
  hf_buf_deinit(&why);
  return misfit && mode == HF_CHECK_ENFORCE;
}

bool hf_result_misfits(struct hf_exchange *exchange, const struct hf_target_tool *target,
                       const struct hf_message *response) {
  const enum hf_check_mode mode = target->fit->results;
  const struct hf_item *item = mode == HF_CHECK_OFF ? NULL : hf_catalog_item(target);
  if (!item || !item->output_schema.ptr || exchange->request.method != HF_METHOD_TOOLS_CALL)
    return false;
  return judge(exchange, target, schema_of(target), mode, response);
}

bool hf_result_misfits_route(struct hf_exchange *exchange, const struct hf_message *response) {
  const struct hf_route_settings *route = exchange->route;
  if (!route || !route->output_schema.ptr || route->tool.fit.results == HF_CHECK_OFF ||
      response->kind != HF_MESSAGE_RESULT || response->is_error || hf_message_is_pending(response))
    return false;
  const struct hf_schema *schema = hf_route_schema(exchange->client, route, HF_SCHEMA_OUTPUT);
  return judge(exchange, exchange->target, schema, route->tool.fit.results, response);
}

/* Appends the result without its structured content. */
static int write_without(const struct hf_message *response, struct hf_buf *out) {
  const struct hf_json_doc *doc = &response->doc;
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  struct hf_json_iter iter = hf_json_iter(doc, response->at[HF_FIELD_RESULT]);
  uint32_t key, value;
  while (hf_json_next(doc, &iter, &key, &value)) {
    if (hf_json_string_is(doc, key, HF_STR("structuredContent")))
      continue;
    hf_json_write_key_raw(&w, hf_json_span(doc, key));
    hf_json_write_raw(&w, hf_json_span(doc, value));
  }
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

int hf_result_tell(const struct hf_exchange *exchange, const struct hf_message *response, struct hf_message *ret_told) {
  struct hf_refusal refusal;
  struct hf_buf text, without, amended, message;
  hf_buf_init(&text, TEXT_MAX * 2);
  hf_buf_init(&without, HF_MESSAGE_BYTES_MAX);
  hf_buf_init(&amended, HF_MESSAGE_BYTES_MAX);
  hf_buf_init(&message, HF_MESSAGE_BYTES_MAX);
  int r = hf_buf_printf(&text,
                        "The tool was executed, but its structured result does not fit the outputSchema that the tool "
                        "has, so it was left out:%.*s\nThat is a fault of the tool, not of the call. Don't repeat the "
                        "call only to get its answer. What else it answered follows.",
                        HF_STR_FMT(exchange->result_misfit));
  if (r == 0)
    r = write_without(response, &without);
  const struct hf_amendment what = {.first = hf_buf_str(&text), .is_error = true};
  if (r == 0)
    r = hf_amend(hf_buf_str(&without), &what, &amended);
  if (r == 0)
    r = hf_compose_result(&message, HF_STR("0"), hf_buf_str(&amended));
  if (r == 0)
    r = hf_message_decode(&message, ret_told, &refusal);
  hf_buf_deinit(&message);
  hf_buf_deinit(&amended);
  hf_buf_deinit(&without);
  hf_buf_deinit(&text);
  return r;
}
