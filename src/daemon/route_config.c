#include "daemon/route_config.h"

#include "daemon/tool_config.h"
#include "mcp/names.h"

#include <stdio.h>

enum { ROUTES_MAX = 1024, SHOWN_MAX = 60, WHERE_MAX = 96 };

static int shown_len(struct hf_str s) {
  return s.len < SHOWN_MAX ? (int)s.len : SHOWN_MAX;
}

static bool begins_like_a_tool_of(struct hf_str name, struct hf_str server) {
  return hf_str_starts(name, server) && name.len >= server.len + 2 && memcmp(name.ptr + server.len, "__", 2) == 0;
}

static void check_name(const struct hf_reader *reader, const struct hf_node *node) {
  const struct hf_settings *settings = reader->settings;
  if (!hf_name_legal(node->key))
    hf_problems_error(reader->problems, node->place,
                      "routes: '%.*s' is no name of a tool, which has 1 to %d letters, digits, '_', '-' or '.'",
                      shown_len(node->key), node->key.ptr, HF_NAME_MAX);
  for (size_t i = 0; i < settings->server_count; i++)
    if (begins_like_a_tool_of(node->key, settings->servers[i].name))
      hf_problems_error(reader->problems, node->place,
                        "routes: '%.*s' would be taken for a tool of the server '%.*s'; name it otherwise",
                        shown_len(node->key), node->key.ptr, shown_len(settings->servers[i].name),
                        settings->servers[i].name.ptr);
}

/* A route has no breaker: its providers' tools have theirs. */
static bool route_foreign(const struct hf_reader *reader, const struct hf_node *entry) {
  if (!hf_str_equal(entry->key, HF_STR("breaker")))
    return false;
  hf_problems_error(reader->problems, entry->place,
                    "a route has no breaker of its own; set those of its tools under tools");
  return true;
}

static int read_provider(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                         const struct hf_route_settings *route, struct hf_route_provider *provider) {
  const struct hf_targets targets = {.target = provider};
  const size_t errors = reader->problems->errors;
  int r = hf_options_defaults(reader->arena, HF_PROFILE_STANDARD, &targets);
  if (r == 0)
    r = hf_options_read(reader, node, where, &targets, NULL);
  if (r < 0)
    return r;
  const struct hf_node *weight = hf_node_get(node, HF_STR("weight"));
  if (weight && route->order != HF_ROUTE_SPLIT)
    hf_problems_error(reader->problems, weight->place, "%s: 'weight' holds only with 'order: split'", where);
  if (reader->problems->errors == errors && !provider->tool.server.ptr)
    hf_problems_error(reader->problems, node->place, "%s: each provider needs 'tool', as server__tool", where);
  return 0;
}

static int read_providers(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                          struct hf_route_settings *route) {
  const struct hf_node *list = hf_node_get(node, HF_STR("providers"));
  bool good = list && list->kind == HF_NODE_SEQUENCE && list->count >= 1 && list->count <= HF_CALL_TARGETS_MAX;
  if (!good) {
    hf_problems_error(reader->problems, list ? list->place : node->place,
                      "%s: needs 'providers', a list of 1 to %d of { tool: server__tool, … }", where,
                      HF_CALL_TARGETS_MAX);
    return 0;
  }
  char inside[WHERE_MAX + sizeof ".providers"];
  if (snprintf(inside, sizeof inside, "%s.providers", where) < 0)
    inside[0] = '\0';
  route->providers = hf_arena_alloc(reader->arena, list->count * sizeof *route->providers);
  int r = route->providers ? 0 : HF_ERR_NOMEM;
  for (const struct hf_node *p = list->first; p && r == 0; p = p->next)
    r = read_provider(reader, p, inside, route, &route->providers[route->provider_count++]);
  return r;
}

/* The schema of a tool's arguments or structured content is that of an object (MCP, "Tool"). */
static void check_schema(const struct hf_reader *reader, const struct hf_node *node, const char *key,
                         const char *where) {
  const struct hf_node *schema = hf_node_get(node, hf_str_from(key));
  const struct hf_node *type = hf_node_get(schema, HF_STR("type"));
  if (schema && schema->kind == HF_NODE_MAPPING && (!type || !hf_str_equal(type->text, HF_STR("object"))))
    hf_problems_error(reader->problems, schema->place, "%s: %s must have 'type: object'", where, key);
}

/* A provider whose tool is not configured as read-only, if there is one. Returns 0 or HF_ERR_NOMEM. */
static int find_writer(const struct hf_reader *reader, const struct hf_route_settings *route, struct hf_str *ret_name) {
  *ret_name = (struct hf_str){NULL, 0};
  for (size_t i = 0; i < route->provider_count; i++) {
    const struct hf_tool_name *name = &route->providers[i].tool;
    const struct hf_tool_settings *tool = hf_settings_tool(reader->settings, name->server, name->tool);
    if (tool && tool->has_safety && tool->safety == HF_SAFETY_READ_ONLY)
      continue;
    *ret_name = hf_arena_printf(reader->arena, "%.*s__%.*s", HF_STR_FMT(name->server), HF_STR_FMT(name->tool));
    return ret_name->ptr ? 0 : HF_ERR_NOMEM;
  }
  return 0;
}

static int check_route(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                       const struct hf_route_settings *route) {
  struct hf_str writer;
  int r = find_writer(reader, route, &writer);
  if (r < 0)
    return r;
  hf_policy_check(reader, node->place, where, &route->policy);
  check_schema(reader, node, "inputSchema", where);
  check_schema(reader, node, "outputSchema", where);
  hf_answer_check(reader, node, where, &route->tool, writer);
  return 0;
}

static int read_route(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                      struct hf_route_settings *route) {
  char where[WHERE_MAX];
  if (snprintf(where, sizeof where, "routes.%.*s", shown_len(node->key), node->key.ptr) < 0)
    where[0] = '\0';
  const struct hf_targets own = {.route = route};
  const struct hf_targets targets = {.policy = &route->policy, .answer = &route->tool, .route = route};
  const size_t errors = reader->problems->errors;
  check_name(reader, node);
  int r = hf_options_defaults(reader->arena, HF_PROFILE_STANDARD, &own);
  route->tool = reader->settings->tool_defaults;
  route->policy = policies->policy;
  route->name = hf_arena_copy(reader->arena, node->key);
  route->tool.source = hf_arena_copy(reader->arena, hf_str_from(where));
  if (r < 0 || !route->name.ptr || !route->tool.source.ptr)
    return HF_ERR_NOMEM;
  r = hf_policies_apply(reader, policies, node, &targets);
  if (r == 0)
    r = hf_options_read(reader, node, where, &targets, route_foreign);
  if (r == 0 && (node->kind == HF_NODE_MAPPING || node->kind == HF_NODE_NULL))
    r = read_providers(reader, node, where, route);
  if (r == 0 && reader->problems->errors == errors)
    r = check_route(reader, node, where, route);
  return r;
}

int hf_routes_read(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                   struct hf_settings *settings) {
  if (node->kind == HF_NODE_NULL)
    return 0;
  if (node->kind != HF_NODE_MAPPING || node->count > ROUTES_MAX) {
    hf_problems_error(reader->problems, node->place, "routes: a mapping of at most %d routes is needed here",
                      ROUTES_MAX);
    return 0;
  }
  settings->routes = hf_arena_alloc(reader->arena, (node->count + 1) * sizeof *settings->routes);
  if (!settings->routes)
    return HF_ERR_NOMEM;
  int r = 0;
  for (const struct hf_node *entry = node->first; entry && r == 0; entry = entry->next)
    r = read_route(reader, entry, policies, &settings->routes[settings->route_count++]);
  return r;
}
