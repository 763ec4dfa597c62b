#include "daemon/tool_config.h"

#include <stdio.h>

enum { PATTERNS_MAX = 2048, ENTRIES_MAX = 65536, SHOWN_MAX = 60, WHERE_MAX = 80 };

static int shown_len(struct hf_str s) {
  return s.len < SHOWN_MAX ? (int)s.len : SHOWN_MAX;
}

/* Two patterns that are equally exact and meet at some tool would leave the choice to chance. */
static void check_ties(const struct hf_reader *reader, const struct hf_node *node) {
  for (const struct hf_node *b = node->first; b; b = b->next)
    for (const struct hf_node *a = node->first; a != b; a = a->next)
      if (hf_pattern_rank(a->key) == hf_pattern_rank(b->key) && hf_pattern_overlap(a->key, b->key))
        hf_problems_error(reader->problems, b->place,
                          "tools: '%.*s' and '%.*s' are equally exact and can match the same tool; make one longer",
                          shown_len(a->key), a->key.ptr, shown_len(b->key), b->key.ptr);
}

/* Can the pattern match a tool of this server? */
static bool concerns(const struct hf_reader *reader, struct hf_str pattern, struct hf_str server, bool *ret_nomem) {
  struct hf_str any = hf_arena_printf(reader->arena, "%.*s__*", HF_STR_FMT(server));
  *ret_nomem = !any.ptr;
  return any.ptr && hf_pattern_overlap(pattern, any);
}

static bool has_policy(const struct hf_node *node) {
  static const char *const keys[] = {"policy", "timeout", "retry", "breaker"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (hf_node_get(node, hf_str_from(keys[i])))
      return true;
  return false;
}

static int read_entry(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                      const char *where, struct hf_tool_settings *entry) {
  const struct hf_targets targets = {.policy = &entry->policy, .tool = entry};
  int r = hf_policies_apply(reader, policies, node, &targets);
  if (r == 0)
    r = hf_options_read(reader, node, where, &targets, NULL);
  entry->has_policy = has_policy(node);
  entry->has_safety = hf_node_get(node, HF_STR("safety")) != NULL;
  return r;
}

/* Reads an entry once for what is wrong in it. */
static int check_entry(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                       const char *where) {
  struct hf_tool_settings entry = {.policy = policies->policy};
  const struct hf_node *safety = hf_node_get(node, HF_STR("safety"));
  int r = read_entry(reader, node, policies, where, &entry);
  hf_policy_check(reader, node->place, where, &entry.policy);
  if (safety && entry.safety == HF_SAFETY_KEYED)
    hf_problems_error(reader->problems, safety->place,
                      "%s: safety 'keyed' needs an idempotency key, which this version cannot send; say 'unsafe', or "
                      "'idempotent' if a repeat is harmless",
                      where);
  if (node->kind == HF_NODE_MAPPING && node->count == 0)
    hf_problems_warn(reader->problems, node->place, "%s: says nothing", where);
  return r;
}

static int add(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
               const char *where, struct hf_settings *settings, size_t *cap) {
  bool used = false;
  for (size_t i = 0; i < settings->server_count; i++) {
    const struct hf_server_settings *server = &settings->servers[i];
    bool nomem;
    if (!concerns(reader, node->key, server->name, &nomem)) {
      if (nomem)
        return HF_ERR_NOMEM;
      continue;
    }
    used = true;
    if (settings->tool_count == *cap) {
      hf_problems_error(reader->problems, node->place, "tools: more than %d pairs of pattern and server", ENTRIES_MAX);
      return 0;
    }
    struct hf_problems told;
    hf_problems_init(&told);
    struct hf_reader again = *reader;
    again.problems = &told;
    struct hf_tool_settings *entry = &settings->tools[settings->tool_count++];
    *entry = (struct hf_tool_settings){.server = server->name, .policy = server->policy};
    entry->pattern = hf_arena_copy(reader->arena, node->key);
    entry->source = hf_arena_copy(reader->arena, hf_str_from(where));
    int r = read_entry(&again, node, policies, where, entry);
    if (r < 0 || !entry->pattern.ptr || !entry->source.ptr)
      return HF_ERR_NOMEM;
  }
  if (!used)
    hf_problems_warn(reader->problems, node->place, "%s: there is no server whose tools it could match", where);
  return 0;
}

int hf_tools_read(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                  struct hf_settings *settings) {
  if (node->kind == HF_NODE_NULL)
    return 0;
  if (node->kind != HF_NODE_MAPPING || node->count > PATTERNS_MAX) {
    hf_problems_error(reader->problems, node->place, "tools: a mapping of at most %d patterns is needed here",
                      PATTERNS_MAX);
    return 0;
  }
  check_ties(reader, node);
  size_t cap = node->count * (settings->server_count + 1);
  if (cap > ENTRIES_MAX)
    cap = ENTRIES_MAX;
  settings->tools = hf_arena_alloc(reader->arena, (cap + 1) * sizeof *settings->tools);
  if (!settings->tools)
    return HF_ERR_NOMEM;
  int r = 0;
  for (const struct hf_node *entry = node->first; entry && r == 0; entry = entry->next) {
    char where[WHERE_MAX];
    if (snprintf(where, sizeof where, "tools.%.*s", shown_len(entry->key), entry->key.ptr) < 0)
      where[0] = '\0';
    r = check_entry(reader, entry, policies, where);
    if (r == 0)
      r = add(reader, entry, policies, where, settings, &cap);
  }
  return r;
}
