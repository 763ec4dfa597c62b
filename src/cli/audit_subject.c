/* Who is asked about. */
#include "cli/audit.h"

#include "base/alloc.h"
#include "daemon/server_config.h"

enum { ARENA_MAX = 256 << 20, FIRST_CAP = 64 };

void hf_audit_init(struct hf_audit *audit, const struct hf_settings *settings, const struct hf_node *root) {
  *audit = (struct hf_audit){.settings = settings, .root = root};
  hf_arena_init(&audit->arena, ARENA_MAX);
}

void hf_audit_deinit(struct hf_audit *audit) {
  hf_arena_deinit(&audit->arena);
  hf_free(audit->subjects);
}

/* NULL: no memory, or too many. */
static struct hf_audit_subject *add(struct hf_audit *audit, struct hf_str name) {
  if (audit->count == audit->cap && audit->cap < HF_AUDIT_SUBJECTS_MAX) {
    size_t cap = audit->cap ? 2 * audit->cap : FIRST_CAP;
    cap = cap < HF_AUDIT_SUBJECTS_MAX ? cap : HF_AUDIT_SUBJECTS_MAX;
    struct hf_audit_subject *grown = hf_realloc(audit->subjects, cap * sizeof *grown);
    if (grown) {
      audit->subjects = grown;
      audit->cap = cap;
    }
  }
  if (!name.ptr || audit->count == audit->cap) {
    audit->failed = true;
    return NULL;
  }
  struct hf_audit_subject *subject = &audit->subjects[audit->count++];
  *subject = (struct hf_audit_subject){.name = name};
  return subject;
}

static const struct hf_server_settings *server_of(const struct hf_audit *audit, struct hf_str name) {
  for (size_t i = 0; i < audit->settings->server_count; i++)
    if (hf_str_equal(audit->settings->servers[i].name, name))
      return &audit->settings->servers[i];
  return NULL;
}

/* One that is left out because a variable is not set, as in CI, is meant to be there. */
static bool is_off(const struct hf_server_settings *server) {
  return server->disabled && hf_str_equal(server->disabled_reason, HF_STR(HF_SERVER_OFF));
}

static struct hf_audit_part part_of(const struct hf_audit *audit, struct hf_str server, struct hf_str tool) {
  return (struct hf_audit_part){
      .server = server_of(audit, server), .own = tool, .tool = hf_settings_tool(audit->settings, server, tool)};
}

static bool is_exact(const struct hf_tool_settings *entry) {
  return hf_pattern_rank(entry->pattern) == SIZE_MAX;
}

/* Of an exact entry: the tool's own name. */
static struct hf_str own_name(const struct hf_tool_settings *entry) {
  size_t before = entry->server.len + 2;
  return is_exact(entry) && entry->pattern.len > before
             ? (struct hf_str){entry->pattern.ptr + before, entry->pattern.len - before}
             : (struct hf_str){NULL, 0};
}

static void add_entry(struct hf_audit *audit, const struct hf_tool_settings *entry,
                      const struct hf_server_settings *server) {
  bool several = !hf_str_starts(entry->pattern, entry->server);
  struct hf_str name =
      several ? hf_arena_printf(&audit->arena, "%.*s at %.*s", HF_STR_FMT(entry->pattern), HF_STR_FMT(entry->server))
              : entry->pattern;
  struct hf_audit_subject *subject = add(audit, name);
  if (!subject)
    return;
  subject->part[subject->part_count++] =
      (struct hf_audit_part){.server = server, .own = own_name(entry), .tool = entry};
}

static bool is_known(const struct hf_audit *audit, struct hf_str name) {
  for (size_t i = 0; i < audit->count; i++)
    if (hf_str_equal(audit->subjects[i].name, name))
      return true;
  return false;
}

/* A tool that something else names. */
static void add_named(struct hf_audit *audit, const struct hf_tool_name *tool) {
  const struct hf_server_settings *server = tool->server.ptr ? server_of(audit, tool->server) : NULL;
  if (!server || is_off(server))
    return;
  struct hf_str name = hf_arena_printf(&audit->arena, "%.*s__%.*s", HF_STR_FMT(tool->server), HF_STR_FMT(tool->tool));
  const struct hf_audit_part part = part_of(audit, tool->server, tool->tool);
  if ((name.ptr && is_known(audit, name)) || (part.tool && part.tool->hidden))
    return;
  struct hf_audit_subject *subject = add(audit, name);
  if (!subject)
    return;
  subject->part[subject->part_count++] = part;
}

static void add_routes(struct hf_audit *audit) {
  for (size_t i = 0; i < audit->settings->route_count; i++) {
    const struct hf_route_settings *route = &audit->settings->routes[i];
    struct hf_audit_subject *subject = add(audit, route->name);
    if (!subject)
      return;
    subject->route = route;
    for (size_t k = 0; k < route->provider_count; k++) {
      struct hf_audit_part part = part_of(audit, route->providers[k].tool.server, route->providers[k].tool.tool);
      if (part.server && !is_off(part.server))
        subject->part[subject->part_count++] = part;
    }
  }
}

/* The tools of a server that nothing names. */
static void add_rest(struct hf_audit *audit, const struct hf_server_settings *server) {
  struct hf_str all = hf_arena_printf(&audit->arena, "%.*s__*", HF_STR_FMT(server->name));
  struct hf_str name = hf_arena_printf(&audit->arena, "%.*s__* (all others)", HF_STR_FMT(server->name));
  for (size_t i = 0; all.ptr && i < audit->settings->tool_count; i++) {
    const struct hf_tool_settings *entry = &audit->settings->tools[i];
    if (hf_str_equal(entry->server, server->name) && hf_str_equal(entry->pattern, all))
      return;
    if (hf_str_equal(entry->server, server->name) && hf_str_equal(entry->pattern, HF_STR("*")))
      return;
  }
  struct hf_audit_subject *subject = add(audit, name);
  if (subject)
    subject->part[subject->part_count++] = (struct hf_audit_part){.server = server};
}

static void add_server(struct hf_audit *audit, const struct hf_server_settings *server) {
  const struct hf_settings *settings = audit->settings;
  if (is_off(server))
    return;
  for (size_t k = 0; k < settings->tool_count; k++)
    if (hf_str_equal(settings->tools[k].server, server->name) && !settings->tools[k].hidden)
      add_entry(audit, &settings->tools[k], server);
  add_rest(audit, server);
}

void hf_audit_add_configured(struct hf_audit *audit) {
  const struct hf_settings *settings = audit->settings;
  for (size_t i = 0; i < settings->server_count; i++)
    add_server(audit, &settings->servers[i]);
  for (size_t i = 0; i < settings->tool_count; i++)
    add_named(audit, &settings->tools[i].reconcile.tool);
  for (size_t i = 0; i < settings->route_count; i++)
    for (size_t k = 0; k < settings->routes[i].provider_count; k++)
      add_named(audit, &settings->routes[i].providers[k].tool);
  add_routes(audit);
}

static struct hf_str text_of(struct hf_audit *audit, const struct hf_json_doc *doc, uint32_t object, const char *key) {
  uint32_t node;
  struct hf_str text;
  if (hf_json_member(doc, object, hf_str_from(key), &node) == 0 && hf_json_type(doc, node) == HF_JSON_STRING &&
      hf_json_string(doc, node, &audit->arena, &text) == 0)
    return hf_arena_copy(&audit->arena, text); /* the answer goes sooner */
  return (struct hf_str){NULL, 0};
}

static enum hf_safety safety_of(struct hf_str name) {
  enum hf_safety safety = HF_SAFETY_UNSAFE;
  while (safety < HF_SAFETY_READ_ONLY && !hf_str_equal(name, hf_str_from(hf_safety_name(safety))))
    safety++;
  return hf_str_equal(name, hf_str_from(hf_safety_name(safety))) ? safety : HF_SAFETY_UNSAFE;
}

static void add_listed_tool(struct hf_audit *audit, const struct hf_server_settings *server,
                            const struct hf_json_doc *doc, uint32_t tool) {
  struct hf_str own = text_of(audit, doc, tool, "name");
  struct hf_str shown = text_of(audit, doc, tool, "shown");
  struct hf_audit_part part = part_of(audit, server->name, own);
  if (!own.ptr || (part.tool && part.tool->hidden))
    return;
  part.listed = true;
  part.annotated = safety_of(text_of(audit, doc, tool, "safety"));
  if (!shown.ptr)
    shown = hf_arena_printf(&audit->arena, "%.*s__%.*s", HF_STR_FMT(server->name), HF_STR_FMT(own));
  struct hf_audit_subject *subject = add(audit, shown);
  if (!subject)
    return;
  subject->part[subject->part_count++] = part;
}

void hf_audit_add_listed(struct hf_audit *audit, const struct hf_json_doc *doc, uint32_t status) {
  uint32_t servers, server, tools, tool;
  if (hf_json_member(doc, status, HF_STR("servers"), &servers) < 0)
    return;
  struct hf_json_iter each = hf_json_iter(doc, servers);
  while (hf_json_next(doc, &each, NULL, &server)) {
    const struct hf_server_settings *settings = server_of(audit, text_of(audit, doc, server, "name"));
    if (!settings || is_off(settings))
      continue;
    if (hf_json_member(doc, server, HF_STR("tools"), &tools) < 0 || doc->nodes[tools].count == 0) {
      add_server(audit, settings);
      continue;
    }
    struct hf_json_iter all = hf_json_iter(doc, tools);
    while (hf_json_next(doc, &all, NULL, &tool))
      add_listed_tool(audit, settings, doc, tool);
  }
  add_routes(audit);
}
