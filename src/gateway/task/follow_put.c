#include "gateway/catalog/catalog.h"
#include "gateway/task/follow.h"
#include "mcp/rewrite.h"

bool hf_follow_wants(const struct hf_exchange *exchange, const struct hf_target_tool *target) {
  const struct hf_item *item = hf_catalog_item(target);
  if (!item || !target->instance->capabilities.tasks_call || target->instance->era == HF_ERA_MODERN)
    return false;
  return item->task_support == HF_TASK_SUPPORT_REQUIRED ||
         (item->task_support == HF_TASK_SUPPORT_OPTIONAL && (exchange->task || exchange->wants_task));
}

/* What a modern server is told of whom it answers. */
static struct hf_str declared(const struct hf_exchange *exchange) {
  if (exchange->era == HF_ERA_MODERN)
    return exchange->meta.capabilities;
  return hf_str_from(exchange->client->asked_capabilities);
}

/* A server that knows tasks may make one of any call, whoever made it: they are followed here. What a client declares
 * to other servers stays its own business. */
static void declare(const struct hf_exchange *exchange, const struct hf_live *live, struct hf_rewrite *rewrite) {
  const struct hf_str raw = declared(exchange);
  const bool said = hf_capabilities_read(raw).tasks;
  const bool never = live->target->tool->tasks == HF_TASKS_NEVER;
  const bool wanted = !never && (said || live->target->instance->capabilities.tasks);
  if (said == wanted)
    return;
  struct hf_buf text;
  hf_buf_init(&text, raw.len + 1024);
  if (hf_capabilities_write_tasks(raw, wanted, &text) == 0)
    hf_rewrite_set_meta(rewrite, HF_STR(HF_META_CAPABILITIES), hf_buf_str(&text));
  else
    rewrite->error = HF_ERR_NOMEM;
  hf_buf_deinit(&text);
}

void hf_follow_put(const struct hf_exchange *exchange, const struct hf_live *live, struct hf_rewrite *rewrite) {
  const struct hf_message *request = &exchange->request;
  if (request->method != HF_METHOD_TOOLS_CALL)
    return;
  if (live->target->instance->era == HF_ERA_MODERN)
    declare(exchange, live, rewrite);
  if (hf_follow_wants(exchange, live->target))
    hf_rewrite_set_member(rewrite, request->at[HF_FIELD_PARAMS], HF_STR("task"), HF_STR("{}"));
  else if (request->at[HF_FIELD_TASK])
    hf_rewrite_remove_member(rewrite, request->at[HF_FIELD_PARAMS], HF_STR("task"));
}
