#include "cli/chaos_config.h"

#include "chaos/plan.h"
#include "daemon/document.h"
#include "daemon/quantity.h"
#include "json/write.h"

#include <stdlib.h>

struct reader {
  struct hf_arena *arena;
  struct hf_chaos_options *options;
  struct hf_problems *problems;
};

/* A copy that ends with NUL, "" without memory: the problem is told. */
static const char *text_of(const struct reader *reader, struct hf_str s) {
  struct hf_str copy = hf_arena_printf(reader->arena, "%.*s", HF_STR_FMT(s));
  if (!copy.ptr)
    hf_problems_error(reader->problems, (struct hf_place){0}, "out of memory");
  return copy.ptr ? copy.ptr : "";
}

static bool expect(const struct reader *reader, const struct hf_node *node, enum hf_node_kind kind, const char *what) {
  if (node->kind == kind)
    return true;
  hf_problems_error(reader->problems, node->place, "'%.*s' must be %s, not %s", HF_STR_FMT(node->key), what,
                    hf_node_kind_name(node->kind));
  return false;
}

/* `faults: { reset: 5%, "delay:200": 0.1 }` is checked one by one, so that a mistake has a place. */
static void read_faults(const struct reader *reader, const struct hf_node *node) {
  struct hf_str all = HF_STR("");
  if (!expect(reader, node, HF_NODE_MAPPING, "a mapping of faults to rates"))
    return;
  for (const struct hf_node *entry = node->first; entry; entry = entry->next) {
    struct hf_chaos_plan plan;
    struct hf_error error;
    const char *one = hf_arena_printf(reader->arena, "%.*s=%.*s", HF_STR_FMT(entry->key), HF_STR_FMT(entry->text)).ptr;
    hf_chaos_plan_init(&plan, 0);
    if (!one || hf_chaos_plan_add_rates(&plan, one, &error) < 0)
      hf_problems_error(reader->problems, entry->place, "%s", one ? error.text : "out of memory");
    else
      all = hf_arena_printf(reader->arena, "%.*s%s%s", HF_STR_FMT(all), all.len ? "," : "", one);
    hf_chaos_plan_deinit(&plan);
  }
  reader->options->faults = text_of(reader, all);
}

/* `script: [tools/call reset, …]`, or the path of a script. */
static void read_script(const struct reader *reader, const struct hf_node *node) {
  struct hf_str all = HF_STR("");
  if (node->kind == HF_NODE_SCALAR) {
    reader->options->script = text_of(reader, node->text);
    return;
  }
  if (!expect(reader, node, HF_NODE_SEQUENCE, "a list of lines, or a file"))
    return;
  for (const struct hf_node *line = node->first; line; line = line->next) {
    struct hf_chaos_plan plan;
    struct hf_error error;
    hf_chaos_plan_init(&plan, 0);
    if (line->kind != HF_NODE_SCALAR || hf_chaos_plan_add_script(&plan, line->text, &error) < 0)
      hf_problems_error(reader->problems, line->place, "%s",
                        line->kind == HF_NODE_SCALAR ? error.text : "a line is METHOD FAULT");
    hf_chaos_plan_deinit(&plan);
    all = hf_arena_printf(reader->arena, "%.*s%.*s\n", HF_STR_FMT(all), HF_STR_FMT(line->text));
  }
  reader->options->script_text = text_of(reader, all);
}

static bool is_number(struct hf_str text) {
  char copy[32];
  if (text.len == 0 || text.len >= sizeof copy || strspn(text.ptr, "-0123456789.eE+") < text.len)
    return false;
  memcpy(copy, text.ptr, text.len);
  copy[text.len] = '\0';
  char *end = NULL;
  (void)strtod(copy, &end);
  return *end == '\0' && (copy[0] == '-' || (copy[0] >= '0' && copy[0] <= '9'));
}

static void write_json(struct hf_json_writer *writer, const struct hf_node *node) {
  struct hf_str text = node->text;
  switch (node->kind) {
  case HF_NODE_NULL:
    hf_json_write_null(writer);
    return;
  case HF_NODE_SCALAR:
    if (!node->quoted && (hf_str_equal(text, HF_STR("true")) || hf_str_equal(text, HF_STR("false")) || is_number(text)))
      hf_json_write_raw(writer, text);
    else
      hf_json_write_str(writer, text);
    return;
  case HF_NODE_SEQUENCE:
    hf_json_write_array(writer);
    for (const struct hf_node *item = node->first; item; item = item->next)
      write_json(writer, item);
    hf_json_write_array_end(writer);
    return;
  case HF_NODE_MAPPING:
    hf_json_write_object(writer);
    for (const struct hf_node *entry = node->first; entry; entry = entry->next) {
      hf_json_write_key_str(writer, entry->key);
      write_json(writer, entry);
    }
    hf_json_write_object_end(writer);
    return;
  }
}

static const char *json_of(const struct reader *reader, const struct hf_node *node) {
  enum { SCHEMA_MAX = 64 << 10 };
  struct hf_buf buf;
  struct hf_json_writer writer;
  hf_buf_init(&buf, SCHEMA_MAX);
  hf_json_writer_init(&writer, &buf);
  write_json(&writer, node);
  int r = hf_json_write_finish(&writer);
  if (r < 0)
    hf_problems_error(reader->problems, node->place, "the schema: %s", hf_err_text(r));
  const char *text = r == 0 ? text_of(reader, hf_buf_str(&buf)) : "";
  hf_buf_deinit(&buf);
  return text;
}

static void unknown_key(const struct reader *reader, const struct hf_node *node, const char *const *keys) {
  const char *nearest = hf_nearest(node->key, keys);
  hf_problems_error(reader->problems, node->place, "unknown key '%.*s'%s%s%s", HF_STR_FMT(node->key),
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static void read_ttl(const struct reader *reader, const struct hf_node *node, struct hf_chaos_tool *tool) {
  hf_time ttl;
  if (!expect(reader, node, HF_NODE_SCALAR, "a duration"))
    return;
  if (hf_duration_parse(node->text, &ttl) < 0 || ttl < HF_MS(1))
    hf_problems_error(reader->problems, node->place, "'ttl' must be a duration such as 24h");
  else
    tool->key_ttl_ms = ttl / HF_MS(1);
}

/* `idempotencyKey: { argument: client_token, ttl: 24h }`, as a gateway's configuration has it. */
static void read_key(const struct reader *reader, const struct hf_node *node, struct hf_chaos_tool *tool) {
  static const char *const keys[] = {"argument", "meta", "header", "ttl", NULL};
  if (!expect(reader, node, HF_NODE_MAPPING, "a mapping"))
    return;
  for (const struct hf_node *entry = node->first; entry; entry = entry->next) {
    int place = 0;
    while (keys[place] && !hf_str_equal(entry->key, hf_str_from(keys[place])))
      place++;
    if (!keys[place]) {
      unknown_key(reader, entry, keys);
    } else if (hf_str_equal(entry->key, HF_STR("ttl"))) {
      read_ttl(reader, entry, tool);
    } else if (expect(reader, entry, HF_NODE_SCALAR, "a name")) {
      tool->key_place = (enum hf_chaos_key_place)(HF_CHAOS_KEY_ARGUMENT + place);
      tool->key_name = text_of(reader, entry->text);
    }
  }
  if (tool->key_place == HF_CHAOS_KEY_NONE || tool->key_ttl_ms == 0)
    hf_problems_error(reader->problems, node->place,
                      "'idempotencyKey' needs one of argument, meta and header, and a ttl");
}

static void read_tool(const struct reader *reader, const struct hf_node *node, struct hf_chaos_tool *tool) {
  static const char *const keys[] = {"description",    "text",  "inputSchema", "annotations",
                                     "idempotencyKey", "tells", NULL};
  const struct {
    struct hf_str key;
    const char **text;
    bool json;
  } members[] = {{HF_STR("description"), &tool->description, false},
                 {HF_STR("text"), &tool->text, false},
                 {HF_STR("tells"), &tool->tells, false},
                 {HF_STR("inputSchema"), &tool->schema, true},
                 {HF_STR("annotations"), &tool->annotations, true}};
  enum { MEMBERS = sizeof members / sizeof members[0] };
  if (!expect(reader, node, HF_NODE_MAPPING, "a mapping"))
    return;
  for (const struct hf_node *entry = node->first; entry; entry = entry->next) {
    size_t i = 0;
    while (i < MEMBERS && !hf_str_equal(entry->key, members[i].key))
      i++;
    if (hf_str_equal(entry->key, HF_STR("idempotencyKey")))
      read_key(reader, entry, tool);
    else if (i == MEMBERS)
      unknown_key(reader, entry, keys);
    else if (members[i].json && expect(reader, entry, HF_NODE_MAPPING, "a mapping"))
      *members[i].text = json_of(reader, entry);
    else if (!members[i].json && expect(reader, entry, HF_NODE_SCALAR, "a string"))
      *members[i].text = text_of(reader, entry->text);
  }
}

static void check_tells(const struct reader *reader, const struct hf_node *node, const struct hf_chaos_tool *tools,
                        size_t count) {
  for (size_t i = 0; i < count; i++) {
    size_t told = 0;
    while (tools[i].tells && told < count && strcmp(tools[told].name, tools[i].tells) != 0)
      told++;
    if (told == count)
      hf_problems_error(reader->problems, node->place, "'%s' tells of '%s', which is no tool here", tools[i].name,
                        tools[i].tells);
  }
}

static void read_tools(const struct reader *reader, const struct hf_node *node) {
  if (!expect(reader, node, HF_NODE_MAPPING, "a mapping of names to tools"))
    return;
  if (node->count > HF_CHAOS_TOOLS_MAX) {
    hf_problems_error(reader->problems, node->place, "more than %d tools", HF_CHAOS_TOOLS_MAX);
    return;
  }
  struct hf_chaos_tool *tools = hf_arena_alloc(reader->arena, (node->count + 1) * sizeof *tools);
  if (!tools) {
    hf_problems_error(reader->problems, node->place, "out of memory");
    return;
  }
  size_t count = 0;
  for (const struct hf_node *entry = node->first; entry; entry = entry->next) {
    if (entry->key.len == 0 || entry->key.len > HF_CHAOS_TOOL_NAME_MAX)
      hf_problems_error(reader->problems, entry->place, "a tool's name has 1 to %d characters", HF_CHAOS_TOOL_NAME_MAX);
    tools[count] = (struct hf_chaos_tool){.name = text_of(reader, entry->key)};
    read_tool(reader, entry, &tools[count++]);
  }
  check_tells(reader, node, tools, count);
  reader->options->tools = tools;
  reader->options->tools_count = count;
}

static const char *const section_names[] = {"faults", "script", "tools", NULL};

static void read_option(const struct reader *reader, const struct hf_node *node) {
  struct hf_error error = {0};
  const char *name = text_of(reader, node->key);
  const char *section = hf_nearest(node->key, section_names);
  if (section) {
    hf_problems_error(reader->problems, node->place, "unknown key '%.*s'; did you mean '%s'?", HF_STR_FMT(node->key),
                      section);
    return;
  }
  if (!expect(reader, node, HF_NODE_SCALAR, "a value") || hf_str_equal(node->key, HF_STR("config")) ||
      hf_str_equal(node->key, HF_STR("help")))
    return;
  int r;
  if (!node->quoted && hf_str_equal(node->text, HF_STR("false")))
    return;
  if (!node->quoted && hf_str_equal(node->text, HF_STR("true")))
    r = hf_chaos_options_set(reader->options, name, NULL, &error);
  else
    r = hf_chaos_options_set(reader->options, name, text_of(reader, node->text), &error);
  if (r < 0)
    hf_problems_error(reader->problems, node->place, "%s", error.text);
}

static void read_all(const struct reader *reader, const struct hf_node *root) {
  static const struct {
    struct hf_str key;
    void (*read)(const struct reader *reader, const struct hf_node *node);
  } sections[] = {
      {HF_STR("faults"), read_faults},
      {HF_STR("script"), read_script},
      {HF_STR("tools"), read_tools},
  };
  for (const struct hf_node *entry = root->first; entry; entry = entry->next) {
    void (*read)(const struct reader *reader, const struct hf_node *node) = read_option;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
      if (hf_str_equal(entry->key, sections[i].key))
        read = sections[i].read;
    read(reader, entry);
  }
}

int hf_chaos_config_load(struct hf_arena *arena, const char *path, struct hf_chaos_options *options,
                         struct hf_problems *problems, struct hf_error *reterr) {
  const struct hf_node *root;
  const struct reader reader = {.arena = arena, .options = options, .problems = problems};
  int r = hf_document_load(arena, path, problems, &root, reterr);
  if (r < 0)
    return r;
  if (root->kind == HF_NODE_MAPPING)
    read_all(&reader, root);
  else
    hf_problems_error(problems, root->place, "the configuration must be a mapping");
  return problems->errors ? hf_error_set(reterr, HF_ERR_INVALID, "the configuration has errors") : 0;
}
