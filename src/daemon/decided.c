#include "daemon/decided.h"

#include "daemon/options.h"

#include <string.h>

/* What stands at "a.b" in a mapping, or NULL. */
static const struct hf_node *at_path(const struct hf_node *node, const char *path) {
  while (node && *path) {
    size_t len = strcspn(path, ".");
    node = node->kind == HF_NODE_MAPPING ? hf_node_get(node, (struct hf_str){path, len}) : NULL;
    path += len + (path[len] == '.');
  }
  return node;
}

struct search {
  const struct hf_node *root;
  const char *path;
  struct hf_arena *arena;
  struct hf_decided found;
};

static bool look(struct search *s, const struct hf_node *mapping, const char *group, struct hf_str name) {
  const struct hf_node *node = at_path(mapping, s->path);
  if (!node)
    return false;
  struct hf_str by =
      name.ptr ? hf_arena_printf(s->arena, "%s.%.*s.%s", group, HF_STR_FMT(name), s->path) : hf_str_from(s->path);
  if (by.ptr)
    s->found = (struct hf_decided){node->place, by};
  return by.ptr != NULL;
}

/* An entry of a group, then the policy that it names. */
static bool look_in(struct search *s, const char *group, struct hf_str name) {
  const struct hf_node *groups = hf_node_get(s->root, hf_str_from(group));
  const struct hf_node *entry = name.ptr && groups ? hf_node_get(groups, name) : NULL;
  if (!entry || entry->kind != HF_NODE_MAPPING)
    return false;
  if (look(s, entry, group, name))
    return true;
  const struct hf_node *policies = hf_node_get(s->root, HF_STR("policies"));
  const struct hf_node *policy = hf_node_get(entry, HF_STR("policy"));
  bool named = policies && policy && policy->kind == HF_NODE_SCALAR;
  return named && look(s, hf_node_get(policies, policy->text), "policies", policy->text);
}

static bool differs_by_profile(const char *path) {
  const struct hf_option *option = hf_option_find(HF_SCOPE_POLICY, path);
  if (!option)
    option = hf_option_find(HF_SCOPE_PROVIDER, path);
  for (int i = 1; option && i < HF_PROFILE_COUNT; i++)
    if (option->value[0] && strcmp(option->value[0], option->value[i]) != 0)
      return true;
  return false;
}

struct hf_decided hf_decided_find(const struct hf_node *root, const struct hf_decided_for *whom, const char *path,
                                  struct hf_arena *arena) {
  struct search s = {root, path, arena, {{0, 0}, HF_STR("default")}};
  const struct hf_str none = {NULL, 0};
  if (look_in(&s, "routes", whom->route) || look_in(&s, "tools", whom->pattern) ||
      look_in(&s, "mcpServers", whom->server) || look_in(&s, "servers", whom->server))
    return s.found;
  const struct hf_node *policies = hf_node_get(root, HF_STR("policies"));
  if (policies && look(&s, hf_node_get(policies, HF_STR("default")), "policies", HF_STR("default")))
    return s.found;
  const struct hf_node *profile = hf_node_get(root, HF_STR("profile"));
  if (profile && differs_by_profile(path))
    return (struct hf_decided){profile->place, HF_STR("profile")};
  if (hf_option_find(HF_SCOPE_TOP, path))
    (void)look(&s, root, "", none);
  return s.found;
}
