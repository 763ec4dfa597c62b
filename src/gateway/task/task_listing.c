#include "gateway/gateway.h"
#include "gateway/session.h"
#include "gateway/task/task_state.h"
#include "json/value.h"

/* What lists of tools say of tasks to clients of 2025-11-25 (`execution.taskSupport`): whether the gateway makes them,
 * whatever the server does. */

enum { TOOL_BYTES_MAX = 64 << 20, TOOL_NODES_MAX = 1 << 16 };

/* So long the official clients wait for an answer: for longer calls a task is the only way. */
#define CLIENT_PATIENCE HF_SECONDS(60)

static bool makes_tasks(const struct hf_tool_settings *tool, const struct hf_policy *policy) {
  return tool->tasks == HF_TASKS_ALWAYS || (tool->tasks == HF_TASKS_AUTO && policy->timeout.deadline > CLIENT_PATIENCE);
}

/* NULL: the tool's own word stands. */
static const char *support_of(const struct hf_instance *instance, const struct hf_item *item) {
  const struct hf_tool_settings *entry = hf_settings_tool(instance->config, instance->settings->name, item->key);
  const struct hf_tool_settings *tool = entry ? entry : &instance->config->tool_defaults;
  const struct hf_policy *policy = entry && entry->has_policy ? &entry->policy : &instance->settings->policy;
  const bool server_does =
      item->task_support == HF_TASK_SUPPORT_OPTIONAL || item->task_support == HF_TASK_SUPPORT_REQUIRED;
  if (tool->tasks == HF_TASKS_NEVER)
    return server_does ? "forbidden" : NULL;
  if (item->task_support == HF_TASK_SUPPORT_REQUIRED || (!server_does && makes_tasks(tool, policy)))
    return "optional";
  /* A modern server says of no tool whether it makes tasks of its calls; if it has the extension, it may of any. */
  if (tool->tasks == HF_TASKS_AUTO && instance->capabilities.tasks)
    return "optional";
  return NULL;
}

/* Appends `raw` with `text` in place of the bytes from `at` on. */
static int splice(struct hf_str raw, size_t at, size_t drop, struct hf_str text, struct hf_buf *out) {
  int r = hf_buf_append(out, raw.ptr, at);
  if (r == 0)
    r = hf_buf_append_str(out, text);
  return r == 0 ? hf_buf_append(out, raw.ptr + at + drop, raw.len - at - drop) : r;
}

static int put_execution(struct hf_str raw, const char *support, struct hf_buf *out) {
  int r = hf_buf_append(out, raw.ptr, 1);
  if (r == 0)
    r = hf_buf_printf(out, "\"execution\":{\"taskSupport\":\"%s\"},", support);
  return r == 0 ? hf_buf_append(out, raw.ptr + 1, raw.len - 1) : r;
}

static int put_support(const struct hf_json_doc *doc, struct hf_str raw, const char *support, struct hf_buf *out) {
  uint32_t execution, node;
  struct hf_buf text;
  hf_buf_init(&text, TOOL_BYTES_MAX);
  int r;
  if (hf_json_member(doc, 0, HF_STR("execution"), &execution) < 0 || hf_json_type(doc, execution) != HF_JSON_OBJECT) {
    r = put_execution(raw, support, out);
  } else if (hf_json_member(doc, execution, HF_STR("taskSupport"), &node) < 0) {
    const struct hf_str old = hf_json_span(doc, execution);
    r = hf_buf_printf(&text, "\"taskSupport\":\"%s\"%s", support, doc->nodes[execution].count ? "," : "");
    if (r == 0)
      r = splice(raw, (size_t)(old.ptr - raw.ptr) + 1, 0, hf_buf_str(&text), out);
  } else {
    const struct hf_str old = hf_json_span(doc, node);
    r = hf_buf_printf(&text, "\"%s\"", support);
    if (r == 0)
      r = splice(raw, (size_t)(old.ptr - raw.ptr), old.len, hf_buf_str(&text), out);
  }
  hf_buf_deinit(&text);
  return r;
}

/* Most have none, however it may be spelled, and need not be read: lists of thousands of tools are written at once. */
static bool may_have_execution(struct hf_str raw) {
  static const struct hf_str name = HF_STR("execution"), escape = HF_STR("\\u");
  const char *backslash = memchr(raw.ptr, '\\', raw.len);
  return memmem(raw.ptr, raw.len, name.ptr, name.len) ||
         (backslash && memmem(backslash, raw.len - (size_t)(backslash - raw.ptr), escape.ptr, escape.len));
}

static int write_with(struct hf_str raw, const char *support, struct hf_buf *out) {
  if (!may_have_execution(raw))
    return put_execution(raw, support, out);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  options.max_nodes = TOOL_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, raw.ptr, raw.len, true);
  const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
  if (r == 0)
    r = put_support(&doc, raw, support, out);
  hf_json_scan_deinit(&scan);
  return r;
}

void hf_task_write_listed(const struct hf_client *client, const struct hf_instance *instance,
                          const struct hf_item *item, struct hf_str raw, struct hf_json_writer *w) {
  const char *support = hf_task_is_spoken(client) ? support_of(instance, item) : NULL;
  struct hf_buf text;
  hf_buf_init(&text, TOOL_BYTES_MAX);
  hf_json_write_raw(w, support && write_with(raw, support, &text) == 0 ? hf_buf_str(&text) : raw);
  hf_buf_deinit(&text);
}

const char *hf_task_route_support(const struct hf_client *client, const struct hf_route_settings *route) {
  return hf_task_is_spoken(client) && makes_tasks(&route->tool, &route->policy) ? "optional" : NULL;
}
