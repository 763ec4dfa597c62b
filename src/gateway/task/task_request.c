#include "base/alloc.h"
#include "gateway/gateway.h"
#include "gateway/session.h"
#include "gateway/task/task_state.h"
#include "mcp/compose.h"
#include "mcp/log_level.h"
#include "mcp/rewrite.h"
#include "json/value.h"

#include <stdio.h>

/* What requests, capabilities and the configuration say of tasks. */

enum { NAME_SHOWN_MAX = 128, REFUSAL_MAX = 512, LEVEL_MAX = 32, WISH_NODES_MAX = 256 };

static bool offered(const struct hf_settings *settings) {
  bool any = settings->tool_defaults.tasks != HF_TASKS_NEVER;
  for (size_t i = 0; !any && i < settings->tool_count; i++)
    any = settings->tools[i].tasks != HF_TASKS_NEVER;
  for (size_t i = 0; !any && i < settings->route_count; i++)
    any = settings->routes[i].tool.tasks != HF_TASKS_NEVER;
  return any;
}

bool hf_task_is_spoken(const struct hf_client *client) {
  return client->era == HF_ERA_LEGACY && client->version == HF_VERSION_2025_11_25 && offered(client->gateway->settings);
}

bool hf_task_is_listed(const struct hf_client *client) {
  return client->principal || client->line;
}

void hf_task_write_capabilities(const struct hf_client *client, enum hf_era era, struct hf_json_writer *w) {
  if (era == HF_ERA_MODERN && offered(client->gateway->settings)) {
    hf_json_write_member_raw(w, "extensions", HF_STR("{\"" HF_EXTENSION_TASKS "\":{}}"));
  } else if (hf_task_is_spoken(client)) {
    hf_json_write_key(w, "tasks");
    hf_json_write_object(w);
    if (hf_task_is_listed(client))
      hf_json_write_member_raw(w, "list", HF_STR("{}"));
    hf_json_write_member_raw(w, "cancel", HF_STR("{}"));
    hf_json_write_member_raw(w, "requests", HF_STR("{\"tools\":{\"call\":{}}}"));
    hf_json_write_object_end(w);
  }
}

bool hf_task_is_taken(const struct hf_exchange *exchange) {
  if (exchange->task || exchange->wants_task)
    return true;
  return exchange->request.method == HF_METHOD_TOOLS_CALL && exchange->tool && !exchange->is_check &&
         !exchange->replay && exchange->era == HF_ERA_MODERN && exchange->tool->tasks != HF_TASKS_NEVER &&
         hf_capabilities_read(exchange->meta.capabilities).tasks;
}

bool hf_task_is_declared(struct hf_exchange *exchange) {
  if (exchange->era != HF_ERA_MODERN || hf_capabilities_read(exchange->meta.capabilities).tasks)
    return true;
  hf_exchange_error(
      exchange, HF_RPC_MISSING_CAPABILITY,
      HF_STR("this needs a client that declares the extension " HF_EXTENSION_TASKS " in its capabilities"),
      HF_STR("{\"requiredCapabilities\":{\"extensions\":{\"" HF_EXTENSION_TASKS "\":{}}}}"));
  return false;
}

/* How long it is to be kept, in ms; 0: not said. */
static int64_t read_ttl(struct hf_str wish) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  options.max_nodes = WISH_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int64_t ttl_ms = 0;
  if (hf_json_scan_feed(&scan, wish.ptr, wish.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(wish.ptr, &scan);
    uint32_t node;
    if (hf_json_member(&doc, 0, HF_STR("ttl"), &node) < 0 || hf_json_int64(hf_json_span(&doc, node), &ttl_ms) < 0)
      ttl_ms = 0;
  }
  hf_json_scan_deinit(&scan);
  return ttl_ms > 0 ? ttl_ms : 0;
}

static void set_words(struct hf_rewrite *rewrite, const struct hf_client *client) {
  char level[LEVEL_MAX];
  hf_rewrite_set_meta(rewrite, HF_STR(HF_META_VERSION), HF_STR("\"2026-07-28\""));
  hf_rewrite_set_meta(rewrite, HF_STR(HF_META_CAPABILITIES),
                      client->asked_capabilities ? hf_str_from(client->asked_capabilities) : HF_STR("{}"));
  hf_rewrite_set_meta(rewrite, HF_STR(HF_META_CLIENT_INFO), HF_STR(HF_IMPLEMENTATION));
  if (client->log_level < 0)
    return;
  int n = snprintf(level, sizeof level, "\"%s\"", hf_log_level_name(client->log_level));
  hf_rewrite_set_meta(rewrite, HF_STR(HF_META_LOG_LEVEL), (struct hf_str){level, (size_t)n});
}

/* The request as a modern client would make it. */
static int make_modern(struct hf_exchange *exchange) {
  struct hf_message *request = &exchange->request, made = {0};
  struct hf_error why;
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, request);
  set_words(&rewrite, exchange->client);
  hf_rewrite_remove_member(&rewrite, request->at[HF_FIELD_PARAMS], HF_STR("task"));
  int r = hf_rewrite_finish_message(&rewrite, &made);
  if (r < 0)
    return r;
  hf_message_deinit(request);
  hf_message_move(request, &made);
  return hf_request_meta_read(request, &exchange->meta, &why);
}

bool hf_task_read_wish(struct hf_exchange *exchange) {
  const struct hf_message *request = &exchange->request;
  const uint32_t task = request->at[HF_FIELD_TASK];
  if (!task || exchange->era != HF_ERA_LEGACY || exchange->client->replay || request->method != HF_METHOD_TOOLS_CALL ||
      !hf_task_is_spoken(exchange->client))
    return true;
  if (hf_json_type(&request->doc, task) != HF_JSON_OBJECT) {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("'params.task' must be an object"),
                      (struct hf_str){NULL, 0});
    return false;
  }
  exchange->task_ttl_ms = read_ttl(hf_message_raw(request, HF_FIELD_TASK));
  if (make_modern(exchange) < 0) {
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"), (struct hf_str){NULL, 0});
    return false;
  }
  exchange->era = HF_ERA_MODERN;
  exchange->wants_task = true;
  return true;
}

bool hf_task_refuse(struct hf_exchange *exchange) {
  if (!exchange->wants_task || exchange->task || exchange->tool->tasks != HF_TASKS_NEVER)
    return false;
  struct hf_str name = hf_str_cut(exchange->request.name, NAME_SHOWN_MAX);
  struct hf_buf text;
  hf_buf_init(&text, REFUSAL_MAX);
  const bool told = hf_buf_printf(&text, "the tool '%.*s' cannot be called as a task", HF_STR_FMT(name)) == 0;
  hf_exchange_error(exchange, HF_RPC_METHOD_NOT_FOUND, told ? hf_buf_str(&text) : HF_STR("no tasks here"),
                    (struct hf_str){NULL, 0});
  hf_buf_deinit(&text);
  return true;
}
