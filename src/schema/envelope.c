#include "schema/envelope.h"

static const struct hf_str wrappers[] = {
    {"arguments", 9}, {"args", 4}, {"kwargs", 6}, {"input", 5}, {"params", 6}, {"parameters", 10}, {"properties", 10},
};

/* What a call says besides its arguments. */
static const struct hf_str labels[] = {
    {"name", 4}, {"tool", 4}, {"tool_name", 9}, {"id", 2}, {"type", 4},
};

static bool is_one_of(const struct hf_json_doc *doc, uint32_t key, const struct hf_str *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (hf_json_string_is(doc, key, words[i]))
      return true;
  return false;
}

/* What follows the last separator of a name with a prefix: server__tool, functions.tool. */
static struct hf_str last_part(struct hf_str name) {
  for (size_t i = name.len; i > 0; i--) {
    bool separated =
        name.ptr[i - 1] == '.' || name.ptr[i - 1] == '/' || (i > 1 && name.ptr[i - 1] == '_' && name.ptr[i - 2] == '_');
    if (separated && i < name.len)
      return (struct hf_str){name.ptr + i, name.len - i};
  }
  return name;
}

static void strip_dots(char *text, size_t len) {
  for (size_t i = 0; i < len; i++)
    text[i] = text[i] == '.' || text[i] == '/' ? '_' : text[i];
}

/* Does a call that names `said` call the tool? */
static bool names_tool(const struct hf_unfit *unfit, struct hf_str said) {
  if (!unfit->tool.ptr || hf_member_names_fold(last_part(said), last_part(unfit->tool)))
    return true;
  struct hf_str a = hf_arena_copy(unfit->arena, said), b = hf_arena_copy(unfit->arena, unfit->tool);
  if (!a.ptr || !b.ptr)
    return false;
  strip_dots((char *)a.ptr, a.len);
  strip_dots((char *)b.ptr, b.len);
  return hf_member_names_fold(a, b);
}

static bool names_a_tool(const struct hf_json_doc *doc, uint32_t key) {
  return is_one_of(doc, key, labels, 3);
}

/* A label fits if it is a text, and if the one that names the tool names this one. */
static bool label_fits(const struct hf_unfit *unfit, uint32_t key, uint32_t value) {
  struct hf_str text;
  if (!is_one_of(unfit->doc, key, labels, sizeof labels / sizeof labels[0]) ||
      hf_json_string(unfit->doc, value, unfit->arena, &text) < 0)
    return false;
  return !names_a_tool(unfit->doc, key) || names_tool(unfit, text);
}

static bool declares(const struct hf_unfit *unfit, uint32_t key) {
  struct hf_str name;
  return hf_json_string(unfit->doc, key, unfit->arena, &name) < 0 ||
         hf_schema_declares(unfit->schema, name, true, unfit->arena) > 0;
}

/* Does it say what a value is, in place of a value: {"type": "string"}? */
static bool is_description(const struct hf_json_doc *doc, uint32_t node) {
  static const struct hf_str types[] = {
      {"object", 6},  {"array", 5},   {"string", 6}, {"number", 6},
      {"integer", 7}, {"boolean", 7}, {"null", 4},   {"dict", 4},
  };
  uint32_t type;
  return hf_json_type(doc, node) == HF_JSON_OBJECT && hf_json_member(doc, node, HF_STR("type"), &type) == 0 &&
         hf_json_type(doc, type) == HF_JSON_STRING && is_one_of(doc, type, types, sizeof types / sizeof types[0]);
}

/* The tool's own description, or a part of it, which models also send back. */
static bool is_schema(const struct hf_json_doc *doc, uint32_t content) {
  bool found = is_description(doc, content);
  uint32_t value;
  struct hf_json_iter iter = hf_json_iter(doc, content);
  while (!found && hf_json_next(doc, &iter, NULL, &value))
    found = is_description(doc, value);
  return found;
}

enum hf_envelope hf_envelope_find(const struct hf_unfit *unfit, uint32_t *ret_content) {
  const struct hf_json_doc *doc = unfit->doc;
  bool listed = hf_json_type(doc, 0) == HF_JSON_ARRAY && doc->nodes[0].count == 1;
  uint32_t object = listed ? 1 : 0, key, value, wrapped = HF_JSON_NONE;
  if (hf_json_type(doc, object) != HF_JSON_OBJECT)
    return HF_ENVELOPE_NONE;
  unsigned beside = 0;
  bool named = false;    /* a label names the tool */
  bool declared = false; /* a label could be an argument */
  struct hf_json_iter iter = hf_json_iter(doc, object);
  while (hf_json_next(doc, &iter, &key, &value)) {
    enum hf_json_type type = hf_json_type(doc, value);
    if (wrapped == HF_JSON_NONE && is_one_of(doc, key, wrappers, sizeof wrappers / sizeof wrappers[0]) &&
        (type == HF_JSON_OBJECT || type == HF_JSON_STRING) && !is_schema(doc, value) && !declares(unfit, key)) {
      wrapped = value;
    } else if (label_fits(unfit, key, value)) {
      beside++;
      named = named || names_a_tool(doc, key);
      declared = declared || declares(unfit, key);
    } else {
      return HF_ENVELOPE_NONE;
    }
  }
  if (wrapped == HF_JSON_NONE || (listed && beside == 0) || (declared && !(named && (listed || unfit->tool.ptr))))
    return HF_ENVELOPE_NONE;
  *ret_content = wrapped;
  return beside > 0 ? HF_ENVELOPE_CALL : HF_ENVELOPE_WRAPPER;
}

struct hf_remedy hf_envelope_open(const struct hf_unfit *unfit, uint32_t content) {
  struct hf_str whole = hf_json_span(unfit->doc, 0), inner = hf_json_span(unfit->doc, content);
  uint32_t start = unfit->doc->nodes[0].start;
  return (struct hf_remedy){.kind = HF_REPAIR_UNWRAPPED,
                            .start = start,
                            .end = unfit->doc->nodes[0].end,
                            .put = inner,
                            .from = whole,
                            .to = inner};
}
