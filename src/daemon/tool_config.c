#include "daemon/tool_config.h"

#include "daemon/tool_name.h"

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
  const struct hf_targets targets = {.policy = &entry->policy, .tool = entry, .answer = entry};
  int r = hf_policies_apply(reader, policies, node, &targets);
  if (r == 0)
    r = hf_options_read(reader, node, where, &targets, NULL);
  entry->has_policy = has_policy(node);
  entry->has_safety = hf_node_get(node, HF_STR("safety")) != NULL;
  return r;
}

/* Where `key` stands in the mapping, else where the mapping does. */
static struct hf_place place_of(const struct hf_node *node, const char *key) {
  const struct hf_node *entry = hf_node_get(node, hf_str_from(key));
  return entry ? entry->place : node->place;
}

static bool is_given(const struct hf_node *node, const char *key) {
  const struct hf_node *entry = hf_node_get(node, hf_str_from(key));
  return entry && entry->kind != HF_NODE_NULL;
}

void hf_answer_check(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                     const struct hf_tool_settings *answer, struct hf_str writes) {
  const struct hf_cache_settings *cache = &answer->cache;
  const bool caches = cache->ttl > 0 || cache->max_stale > 0;
  const struct hf_place place = place_of(node, "cache");
  if (caches && writes.ptr)
    hf_problems_error(reader->problems, place,
                      "%s: only answers of tools that are declared read-only are cached, and '%.*s' is not; if it only "
                      "reads, say 'safety: read_only' in its entry of tools",
                      where, shown_len(writes), writes.ptr);
  if (cache->keep && !caches)
    hf_problems_error(reader->problems, place, "%s: cache.keep keeps nothing without cache.ttl or cache.maxStale",
                      where);
  if (cache->keep && caches && !reader->settings->store.enabled)
    hf_problems_error(reader->problems, place, "%s: cache.keep needs the store, which is off (store.enabled: false)",
                      where);
  if (cache->max_stale > 0 && cache->max_stale < cache->ttl)
    hf_problems_error(reader->problems, place, "%s: cache.maxStale is shorter than cache.ttl", where);
  const char *never = cache->max_stale > 0                                           ? "cache.maxStale"
                      : answer->fallback.text.ptr || answer->fallback.structured.ptr ? "default"
                                                                                     : NULL;
  if (answer->degraded == HF_DEGRADED_EXPLICIT && never)
    hf_problems_error(reader->problems, place_of(node, "degraded"),
                      "%s: with degraded.mode 'explicit' there is no degraded answer, so '%s' has no effect", where,
                      never);
}

static void check_key(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                      const struct hf_tool_settings *entry) {
  const bool keyed = entry->has_safety && entry->safety == HF_SAFETY_KEYED;
  const struct hf_key_settings *key = &entry->key;
  const struct hf_place place = place_of(node, "idempotencyKey");
  if (!keyed && is_given(node, "idempotencyKey"))
    hf_problems_error(reader->problems, place, "%s: idempotencyKey holds only with 'safety: keyed'", where);
  else if (keyed && key->place == HF_KEY_NONE)
    hf_problems_error(reader->problems, is_given(node, "idempotencyKey") ? place : place_of(node, "safety"),
                      "%s: safety 'keyed' needs idempotencyKey with one of argument, meta and header: where the tool "
                      "takes the key",
                      where);
  else if (keyed && key->ttl == 0)
    hf_problems_error(reader->problems, place,
                      "%s: idempotencyKey needs 'ttl': for how long the server remembers a key, since later a repeat "
                      "would run again",
                      where);
}

static void check_hedge(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                        const struct hf_tool_settings *entry) {
  if (entry->hedge && !(entry->has_safety && entry->safety == HF_SAFETY_READ_ONLY))
    hf_problems_error(reader->problems, place_of(node, "hedge"),
                      "%s: a hedge runs the tool twice; if it only reads, say 'safety: read_only' here, too", where);
}

static void check_reconcile(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                            const struct hf_tool_settings *entry) {
  const struct hf_reconcile_settings *reconcile = &entry->reconcile;
  const struct hf_node *given = hf_node_get(node, HF_STR("reconcile"));
  if (!given || given->kind != HF_NODE_MAPPING)
    return;
  if (entry->has_safety && entry->safety != HF_SAFETY_UNSAFE)
    hf_problems_error(reader->problems, given->place,
                      "%s: reconcile is for unsafe tools; one that is %s is sent again instead", where,
                      hf_safety_name(entry->safety));
  static const char *const needed[] = {"tool", "arguments"};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
    if (!is_given(given, needed[i]))
      hf_problems_error(reader->problems, given->place, "%s: reconcile needs '%s'", where, needed[i]);
  if (!is_given(given, "executed") && !is_given(given, "notExecuted"))
    hf_problems_error(reader->problems, given->place,
                      "%s: reconcile needs 'executed' or 'notExecuted': what the answer says of the call", where);
  else if (reconcile->settle != HF_TIME_NEVER && !is_given(given, "notExecuted"))
    hf_problems_error(reader->problems, place_of(given, "settle"), "%s: reconcile.settle holds only with 'notExecuted'",
                      where);
}

/* Reads an entry once for what is wrong in it. */
static int check_entry(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                       const char *where) {
  struct hf_tool_settings entry = reader->settings->tool_defaults;
  entry.policy = policies->policy;
  const size_t errors = reader->problems->errors;
  int r = read_entry(reader, node, policies, where, &entry);
  hf_policy_check(reader, node->place, where, &entry.policy);
  if (node->kind == HF_NODE_MAPPING && node->count == 0)
    hf_problems_warn(reader->problems, node->place, "%s: says nothing", where);
  if (r < 0 || reader->problems->errors > errors)
    return r;
  bool reads = entry.has_safety && entry.safety == HF_SAFETY_READ_ONLY;
  check_key(reader, node, where, &entry);
  check_hedge(reader, node, where, &entry);
  check_reconcile(reader, node, where, &entry);
  hf_answer_check(reader, node, where, &entry, reads ? (struct hf_str){NULL, 0} : node->key);
  return 0;
}

static bool sets_header(const struct hf_server_settings *server, struct hf_str name) {
  for (size_t i = 0; i < server->headers.count; i++) {
    struct hf_str header = server->headers.item[i];
    if (header.len > name.len && header.ptr[name.len] == ':' && hf_bytes_equal_nocase(header.ptr, name.ptr, name.len))
      return true;
  }
  return false;
}

/* What only shows at the servers that get the call: the one, and its standbys. */
static void check_key_at(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                         const struct hf_key_settings *key, const struct hf_server_settings *server) {
  const struct hf_place place = place_of(node, "idempotencyKey");
  if (key->place == HF_KEY_HEADER && server->transport != HF_TRANSPORT_HTTP)
    hf_problems_error(reader->problems, place,
                      "%s: idempotencyKey.header cannot be sent to '%.*s', which is a child process and speaks no HTTP",
                      where, shown_len(server->name), server->name.ptr);
  else if (key->place == HF_KEY_HEADER && sets_header(server, key->name))
    hf_problems_error(reader->problems, place,
                      "%s: the headers of '%.*s' set '%.*s' already, which idempotencyKey.header needs", where,
                      shown_len(server->name), server->name.ptr, HF_STR_FMT(key->name));
}

static void check_settle_at(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                            const struct hf_reconcile_settings *reconcile, const struct hf_server_settings *server) {
  bool blind = reconcile->not_executed.pointer.ptr && reconcile->settle == HF_TIME_NEVER;
  if (blind && server->transport == HF_TRANSPORT_HTTP)
    hf_problems_error(reader->problems, place_of(node, "reconcile"),
                      "%s: reconcile needs 'settle', since '%.*s' speaks HTTP: how long a request that was lost may "
                      "still begin to run there",
                      where, shown_len(server->name), server->name.ptr);
}

static void check_times(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                        const struct hf_reconcile_settings *reconcile, hf_time deadline) {
  const struct hf_place place = place_of(node, "reconcile");
  if (reconcile->tool.server.ptr && reconcile->timeout >= deadline)
    hf_problems_error(reader->problems, place, "%s: reconcile.timeout leaves nothing of the deadline for the call",
                      where);
  else if (reconcile->settle != HF_TIME_NEVER && reconcile->settle >= deadline - reconcile->timeout)
    hf_problems_warn(reader->problems, place,
                     "%s: reconcile.settle and .timeout are longer than the deadline: that a call did not run will not "
                     "be known in time",
                     where);
}

static void check_at(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                     const struct hf_tool_settings *entry, const struct hf_server_settings *server) {
  const hf_time deadline = (entry->has_policy ? entry->policy : server->policy).timeout.deadline;
  check_times(reader, node, where, &entry->reconcile, deadline);
  for (size_t i = 0; server && i < HF_CALL_TARGETS_MAX; i++) {
    check_key_at(reader, node, where, &entry->key, server);
    check_settle_at(reader, node, where, &entry->reconcile, server);
    server = server->standby.ptr ? hf_tool_name_server(reader->settings, server->standby) : NULL;
  }
}

static int add(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
               const char *where, struct hf_settings *settings, size_t *cap) {
  bool used = false;
  const size_t errors = reader->problems->errors;
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
    *entry = settings->tool_defaults;
    entry->server = server->name;
    entry->policy = server->policy;
    entry->fit = server->fit;
    entry->pattern = hf_arena_copy(reader->arena, node->key);
    entry->source = hf_arena_copy(reader->arena, hf_str_from(where));
    int r = read_entry(&again, node, policies, where, entry);
    if (r < 0 || !entry->pattern.ptr || !entry->source.ptr)
      return HF_ERR_NOMEM;
    if (reader->problems->errors == errors)
      check_at(reader, node, where, entry, server);
  }
  if (!used)
    hf_problems_warn(reader->problems, node->place, "%s: there is no server whose tools it could match", where);
  return 0;
}

/* What is asked whether a call ran must not have effects itself. Here all entries are known. */
static void check_asked(const struct hf_reader *reader, const struct hf_node *node,
                        const struct hf_settings *settings) {
  for (size_t i = 0; i < settings->tool_count; i++) {
    const struct hf_tool_settings *entry = &settings->tools[i];
    const struct hf_tool_name *asked = &entry->reconcile.tool;
    const struct hf_tool_settings *its =
        asked->server.ptr ? hf_settings_tool(settings, asked->server, asked->tool) : NULL;
    bool told = i > 0 && hf_str_equal(settings->tools[i - 1].pattern, entry->pattern);
    if (!its || !its->has_safety || its->safety == HF_SAFETY_READ_ONLY || told)
      continue;
    const struct hf_node *stands = hf_node_get(node, entry->pattern);
    hf_problems_error(reader->problems, stands ? place_of(stands, "reconcile") : node->place,
                      "%.*s: reconcile asks '%.*s__%.*s', which is declared %s by %.*s and could have effects itself",
                      HF_STR_FMT(entry->source), shown_len(asked->server), asked->server.ptr, shown_len(asked->tool),
                      asked->tool.ptr, hf_safety_name(its->safety), HF_STR_FMT(its->source));
  }
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
  if (r == 0)
    check_asked(reader, node, settings);
  return r;
}
