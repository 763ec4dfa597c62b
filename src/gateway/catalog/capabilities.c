#include "gateway/catalog/capabilities.h"

#include "json/value.h"
#include "json/write.h"

enum { CAPABILITIES_NODES = 4096, CAPABILITIES_BYTES = 1 << 20 };

/* capability, the field it sets; its member, the field that sets (NULL: none) */
static const struct {
  struct hf_str name;
  size_t field;
  struct hf_str member;
  size_t member_field;
} rows[] = {
    {HF_STR("tools"), offsetof(struct hf_capabilities, tools), HF_STR("listChanged"),
     offsetof(struct hf_capabilities, tools_changed)},
    {HF_STR("prompts"), offsetof(struct hf_capabilities, prompts), HF_STR("listChanged"),
     offsetof(struct hf_capabilities, prompts_changed)},
    {HF_STR("resources"), offsetof(struct hf_capabilities, resources), HF_STR("listChanged"),
     offsetof(struct hf_capabilities, resources_changed)},
    {HF_STR("resources"), offsetof(struct hf_capabilities, resources), HF_STR("subscribe"),
     offsetof(struct hf_capabilities, resources_subscribe)},
    {HF_STR("completions"), offsetof(struct hf_capabilities, completions), {NULL, 0}, 0},
    {HF_STR("logging"), offsetof(struct hf_capabilities, logging), {NULL, 0}, 0},
    {HF_STR("sampling"), offsetof(struct hf_capabilities, sampling), HF_STR("tools"),
     offsetof(struct hf_capabilities, sampling_tools)},
    {HF_STR("elicitation"), offsetof(struct hf_capabilities, elicitation), HF_STR("form"),
     offsetof(struct hf_capabilities, elicitation_form)},
    {HF_STR("elicitation"), offsetof(struct hf_capabilities, elicitation), HF_STR("url"),
     offsetof(struct hf_capabilities, elicitation_url)},
    {HF_STR("roots"), offsetof(struct hf_capabilities, roots), {NULL, 0}, 0},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static bool *field_of(struct hf_capabilities *capabilities, size_t offset) {
  return (bool *)(void *)((char *)capabilities + offset);
}

static void read_row(const struct hf_json_doc *doc, size_t row, struct hf_capabilities *capabilities) {
  uint32_t value;
  if (hf_json_member(doc, 0, rows[row].name, &value) < 0 || hf_json_type(doc, value) != HF_JSON_OBJECT)
    return;
  *field_of(capabilities, rows[row].field) = true;

  uint32_t member;
  bool set = true;
  if (rows[row].member.ptr && hf_json_member(doc, value, rows[row].member, &member) == 0 &&
      (hf_json_type(doc, member) == HF_JSON_OBJECT || hf_json_bool(doc, member, &set) == 0))
    *field_of(capabilities, rows[row].member_field) = set;
}

/* A member of an object given raw; absent if there is none or the text cannot be read. */
static struct hf_str member_of(struct hf_str raw, struct hf_str name) {
  struct hf_str found = {NULL, 0};
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  options.max_nodes = CAPABILITIES_NODES;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (raw.ptr && hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    uint32_t node;
    if (hf_json_type(&doc, 0) == HF_JSON_OBJECT && hf_json_member(&doc, 0, name, &node) == 0)
      found = hf_json_span(&doc, node);
  }
  hf_json_scan_deinit(&scan);
  return found;
}

static bool has_object(struct hf_str raw, struct hf_str name) {
  const struct hf_str value = member_of(raw, name);
  return value.len && value.ptr[0] == '{';
}

static void read_tasks(struct hf_str raw, struct hf_capabilities *capabilities) {
  const struct hf_str tasks = member_of(raw, HF_STR("tasks"));
  const struct hf_str tools = member_of(member_of(tasks, HF_STR("requests")), HF_STR("tools"));
  capabilities->tasks_call = has_object(tools, HF_STR("call"));
  capabilities->tasks_cancel = has_object(tasks, HF_STR("cancel"));
  capabilities->tasks = has_object(member_of(raw, HF_STR("extensions")), HF_STR(HF_EXTENSION_TASKS));
}

struct hf_capabilities hf_capabilities_read(struct hf_str raw) {
  struct hf_capabilities capabilities = {0};
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  options.max_nodes = CAPABILITIES_NODES;
  options.max_bytes = CAPABILITIES_BYTES;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (raw.ptr && hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0) {
    struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    for (size_t row = 0; hf_json_type(&doc, 0) == HF_JSON_OBJECT && row < ROW_COUNT; row++)
      read_row(&doc, row, &capabilities);
  }
  hf_json_scan_deinit(&scan);
  read_tasks(raw, &capabilities);
  return capabilities;
}

struct hf_capabilities hf_capabilities_union(struct hf_capabilities a, struct hf_capabilities b) {
  for (size_t row = 0; row < ROW_COUNT; row++) {
    *field_of(&a, rows[row].field) |= *field_of(&b, rows[row].field);
    if (rows[row].member.ptr)
      *field_of(&a, rows[row].member_field) |= *field_of(&b, rows[row].member_field);
  }
  return a;
}

bool hf_capabilities_cover(struct hf_capabilities client, enum hf_method method, struct hf_str params) {
  if (method == HF_METHOD_SAMPLING)
    return client.sampling && (client.sampling_tools || !member_of(params, HF_STR("tools")).ptr);
  if (method == HF_METHOD_ELICIT && hf_str_equal(member_of(params, HF_STR("mode")), HF_STR("\"url\"")))
    return client.elicitation_url;
  if (method == HF_METHOD_ELICIT)
    return client.elicitation && (client.elicitation_form || !client.elicitation_url);
  return method == HF_METHOD_ROOTS_LIST && client.roots;
}

int hf_capabilities_write_asked(struct hf_str raw, struct hf_buf *out) {
  static const char *const names[] = {"sampling", "elicitation", "roots"};
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const struct hf_str value = member_of(raw, hf_str_from(names[i]));
    if (value.len && value.ptr[0] == '{')
      hf_json_write_member_raw(&w, names[i], value);
  }
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

/* Appends an object without one of its members, and with `with` as its first, if that is not absent. */
static int write_changed(struct hf_str raw, struct hf_str name, struct hf_str with, struct hf_buf *out) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  options.max_nodes = CAPABILITIES_NODES;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  if (with.ptr) {
    hf_json_write_key_str(&w, name);
    hf_json_write_raw(&w, with);
  }
  if (raw.ptr && hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    struct hf_json_iter iter = hf_json_iter(&doc, 0);
    uint32_t key, value;
    while (iter.object && hf_json_next(&doc, &iter, &key, &value)) {
      if (hf_json_string_is(&doc, key, name))
        continue;
      hf_json_write_key_raw(&w, hf_json_span(&doc, key));
      hf_json_write_raw(&w, hf_json_span(&doc, value));
    }
  }
  hf_json_write_object_end(&w);
  hf_json_scan_deinit(&scan);
  return hf_json_write_finish(&w);
}

int hf_capabilities_write_tasks(struct hf_str raw, bool declared, struct hf_buf *out) {
  const struct hf_str absent = {NULL, 0};
  struct hf_buf extensions;
  hf_buf_init(&extensions, CAPABILITIES_BYTES);
  const struct hf_str old = member_of(raw, HF_STR("extensions"));
  int r = write_changed(old, HF_STR(HF_EXTENSION_TASKS), declared ? HF_STR("{}") : absent, &extensions);
  if (r == 0)
    r = write_changed(raw, HF_STR("extensions"), declared || old.ptr ? hf_buf_str(&extensions) : absent, out);
  hf_buf_deinit(&extensions);
  return r;
}
