#include "mcp/methods.h"

#include <stddef.h>

enum {
  REQ = HF_METHOD_REQUEST,
  C2S = HF_METHOD_TO_SERVER,
  S2C = HF_METHOD_TO_CLIENT,
  OLD = HF_METHOD_LEGACY,
  NEW = HF_METHOD_MODERN,
  CACHE = HF_METHOD_CACHEABLE,
  INPUT = HF_METHOD_INPUT,
};

#define NONE                                                                                                           \
  { NULL, 0 }
#define TEXT(literal)                                                                                                  \
  { "" literal, sizeof(literal) - 1 }
#define ROW(method, name, flags, target, list)                                                                         \
  [HF_METHOD_##method] = {HF_METHOD_##method, TEXT(name), (flags), HF_TARGET_##target, list}

/* In the modern era, what the server asks of the client (sampling, elicitation, roots) travels inside an
 * input_required result under these method names, never as a request, so those rows are legacy. */
static const struct hf_method_info table[HF_METHOD_COUNT] = {
    ROW(UNKNOWN, "", 0, NONE, NONE),
    ROW(INITIALIZE, "initialize", REQ | C2S | OLD, NONE, NONE),
    ROW(INITIALIZED, "notifications/initialized", C2S | OLD, NONE, NONE),
    ROW(DISCOVER, "server/discover", REQ | C2S | NEW | CACHE, NONE, NONE),
    ROW(PING, "ping", REQ | C2S | S2C | OLD, NONE, NONE),
    ROW(CANCELLED, "notifications/cancelled", C2S | S2C | OLD | NEW, NONE, NONE),
    ROW(PROGRESS, "notifications/progress", C2S | S2C | OLD | NEW, NONE, NONE),
    ROW(TOOLS_LIST, "tools/list", REQ | C2S | OLD | NEW | CACHE, NONE, TEXT("tools")),
    ROW(TOOLS_CALL, "tools/call", REQ | C2S | OLD | NEW | INPUT, NAME, NONE),
    ROW(TOOLS_CHANGED, "notifications/tools/list_changed", S2C | OLD | NEW, NONE, NONE),
    ROW(PROMPTS_LIST, "prompts/list", REQ | C2S | OLD | NEW | CACHE, NONE, TEXT("prompts")),
    ROW(PROMPTS_GET, "prompts/get", REQ | C2S | OLD | NEW | INPUT, NAME, NONE),
    ROW(PROMPTS_CHANGED, "notifications/prompts/list_changed", S2C | OLD | NEW, NONE, NONE),
    ROW(RESOURCES_LIST, "resources/list", REQ | C2S | OLD | NEW | CACHE, NONE, TEXT("resources")),
    ROW(RESOURCES_TEMPLATES_LIST, "resources/templates/list", REQ | C2S | OLD | NEW | CACHE, NONE,
        TEXT("resourceTemplates")),
    ROW(RESOURCES_READ, "resources/read", REQ | C2S | OLD | NEW | CACHE | INPUT, URI, NONE),
    ROW(RESOURCES_SUBSCRIBE, "resources/subscribe", REQ | C2S | OLD, URI, NONE),
    ROW(RESOURCES_UNSUBSCRIBE, "resources/unsubscribe", REQ | C2S | OLD, URI, NONE),
    ROW(RESOURCES_CHANGED, "notifications/resources/list_changed", S2C | OLD | NEW, NONE, NONE),
    ROW(RESOURCES_UPDATED, "notifications/resources/updated", S2C | OLD | NEW, URI, NONE),
    ROW(COMPLETE, "completion/complete", REQ | C2S | OLD | NEW, REF, NONE),
    ROW(LOGGING_SET_LEVEL, "logging/setLevel", REQ | C2S | OLD, NONE, NONE),
    ROW(LOG_MESSAGE, "notifications/message", S2C | OLD | NEW, NONE, NONE),
    ROW(SAMPLING, "sampling/createMessage", REQ | S2C | OLD, NONE, NONE),
    ROW(ELICIT, "elicitation/create", REQ | S2C | OLD, NONE, NONE),
    ROW(ELICIT_COMPLETE, "notifications/elicitation/complete", S2C | OLD, NONE, NONE),
    ROW(ROOTS_LIST, "roots/list", REQ | S2C | OLD, NONE, TEXT("roots")),
    ROW(ROOTS_CHANGED, "notifications/roots/list_changed", C2S | OLD, NONE, NONE),
    ROW(TASKS_GET, "tasks/get", REQ | C2S | S2C | OLD | NEW, TASK, NONE),
    ROW(TASKS_RESULT, "tasks/result", REQ | C2S | S2C | OLD, TASK, NONE),
    ROW(TASKS_UPDATE, "tasks/update", REQ | C2S | NEW, TASK, NONE),
    ROW(TASKS_CANCEL, "tasks/cancel", REQ | C2S | S2C | OLD | NEW, TASK, NONE),
    ROW(TASKS_LIST, "tasks/list", REQ | C2S | S2C | OLD, NONE, TEXT("tasks")),
    ROW(TASKS_STATUS, "notifications/tasks/status", C2S | S2C | OLD, TASK, NONE),
    ROW(TASKS_CHANGED, "notifications/tasks", S2C | NEW, TASK, NONE),
    ROW(SUBSCRIPTIONS_LISTEN, "subscriptions/listen", REQ | C2S | NEW, NONE, NONE),
    ROW(SUBSCRIPTIONS_ACKNOWLEDGED, "notifications/subscriptions/acknowledged", S2C | NEW, NONE, NONE),
};

enum hf_method hf_method_find(struct hf_str name) {
  for (size_t i = HF_METHOD_UNKNOWN + 1; i < HF_METHOD_COUNT; i++)
    if (hf_str_equal(table[i].name, name))
      return table[i].method;
  return HF_METHOD_UNKNOWN;
}

const struct hf_method_info *hf_method_info(enum hf_method method) {
  return &table[method];
}
