#include "gateway/task/server_task.h"

#include "mcp/rewrite.h"
#include "json/value.h"

enum { TASK_NODES_MAX = 256 };

static void scan_options(struct hf_json_options *ret_options) {
  *ret_options = (struct hf_json_options)HF_JSON_OPTIONS_INIT;
  ret_options->tree_depth = 1;
  ret_options->max_nodes = TASK_NODES_MAX;
}

static struct hf_str member(const struct hf_json_doc *doc, const char *name, enum hf_json_type type) {
  uint32_t node;
  if (hf_json_member(doc, 0, hf_str_from(name), &node) < 0 || hf_json_type(doc, node) != type)
    return (struct hf_str){NULL, 0};
  return hf_json_span(doc, node);
}

static enum hf_task_status read_status(const struct hf_json_doc *doc, uint32_t node) {
  for (int status = 0; status < HF_TASK_STATUS_COUNT; status++)
    if (hf_json_string_is(doc, node, hf_str_from(hf_task_status_name((enum hf_task_status)status))))
      return (enum hf_task_status)status;
  return HF_TASK_WORKING;
}

/* The extension calls it `pollIntervalMs`, the older protocol `pollInterval`. */
static hf_time read_interval(const struct hf_json_doc *doc) {
  static const char *const names[] = {"pollIntervalMs", "pollInterval"};
  int64_t ms;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const struct hf_str raw = member(doc, names[i], HF_JSON_NUMBER);
    if (raw.ptr && hf_json_int64(raw, &ms) == 0 && ms > 0 && ms < INT32_MAX)
      return HF_MS(ms);
  }
  return 0;
}

static int read(const struct hf_json_doc *doc, struct hf_server_task *ret_task) {
  uint32_t status;
  *ret_task = (struct hf_server_task){
      .id = member(doc, "taskId", HF_JSON_STRING),
      .message = member(doc, "statusMessage", HF_JSON_STRING),
      .result = member(doc, "result", HF_JSON_OBJECT),
      .error = member(doc, "error", HF_JSON_OBJECT),
      .requests = member(doc, "inputRequests", HF_JSON_OBJECT),
      .interval = read_interval(doc),
  };
  if (!ret_task->id.ptr || hf_json_member(doc, 0, HF_STR("status"), &status) < 0 ||
      hf_json_type(doc, status) != HF_JSON_STRING)
    return HF_ERR_INVALID;
  ret_task->status = read_status(doc, status);
  return 0;
}

int hf_server_task_read(struct hf_str raw, struct hf_server_task *ret_task) {
  struct hf_json_options options;
  struct hf_json_scan scan;
  scan_options(&options);
  hf_json_scan_init(&scan, &options);
  int r = HF_ERR_INVALID;
  if (raw.ptr && hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    if (hf_json_type(&doc, 0) == HF_JSON_OBJECT)
      r = read(&doc, ret_task);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

static struct hf_str member_of(struct hf_str raw, const char *name, enum hf_json_type type) {
  struct hf_str found = {NULL, 0};
  struct hf_json_options options;
  struct hf_json_scan scan;
  scan_options(&options);
  hf_json_scan_init(&scan, &options);
  if (raw.ptr && hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    if (hf_json_type(&doc, 0) == HF_JSON_OBJECT)
      found = member(&doc, name, type);
  }
  hf_json_scan_deinit(&scan);
  return found;
}

struct hf_str hf_server_task_relation(struct hf_str meta) {
  return member_of(meta, HF_META_RELATED_TASK, HF_JSON_OBJECT);
}

struct hf_str hf_server_task_related(struct hf_str meta) {
  return member_of(hf_server_task_relation(meta), "taskId", HF_JSON_STRING);
}

int hf_server_task_strip(const struct hf_message *message, struct hf_message *ret_message) {
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, message);
  hf_rewrite_remove_meta(&rewrite, HF_STR(HF_META_RELATED_TASK));
  return hf_rewrite_finish_message(&rewrite, ret_message);
}
