#include "daemon/server_config.h"

#include "daemon/tool_name.h"
#include "mcp/field_value.h"
#include "upstream/origin.h"
#include "upstream/own_header.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 128, SERVERS_MAX = 1024, SHOWN_MAX = 60, WHERE_MAX = 96 };

static int shown_len(struct hf_str s) {
  return s.len < SHOWN_MAX ? (int)s.len : SHOWN_MAX;
}

static void put_where(char where[WHERE_MAX], const char *group, struct hf_str name) {
  if (snprintf(where, WHERE_MAX, "%s.%.*s", group, shown_len(name), name.ptr) < 0)
    where[0] = '\0';
}

void hf_policy_check(const struct hf_reader *reader, struct hf_place place, const char *where,
                     const struct hf_policy *policy) {
  const struct hf_timeout_options *timeout = &policy->timeout;
  if (policy->retry.base > policy->retry.max)
    hf_problems_error(reader->problems, place, "%s: retry.base is longer than retry.max", where);
  if (policy->breaker.open > policy->breaker.max_open)
    hf_problems_error(reader->problems, place, "%s: breaker.open is longer than breaker.maxOpen", where);
  if (policy->breaker.slow != HF_TIME_NEVER && policy->breaker.slow >= timeout->deadline)
    hf_problems_warn(reader->problems, place, "%s: breaker.slow is not shorter than timeout.deadline, so no success is",
                     where);
  if (timeout->connect > timeout->deadline)
    hf_problems_warn(reader->problems, place, "%s: timeout.connect is longer than timeout.deadline, which ends it",
                     where);
}

int hf_policies_read(const struct hf_reader *reader, enum hf_profile profile, const struct hf_node *node,
                     struct hf_policies *ret_policies) {
  struct hf_policies policies = {.named = node};
  const struct hf_targets base = {.policy = &policies.policy, .provider = &policies.provider};
  int r = hf_options_defaults(reader->arena, profile, &base);
  const struct hf_node *by_default = hf_node_get(node, HF_STR("default"));
  if (r == 0 && by_default)
    r = hf_options_read(reader, by_default, "policies.default", &base, NULL);
  if (r == 0 && by_default)
    hf_policy_check(reader, by_default->place, "policies.default", &policies.policy);
  if (node && node->kind != HF_NODE_MAPPING && node->kind != HF_NODE_NULL)
    hf_problems_error(reader->problems, node->place, "policies: a mapping is needed here, not %s",
                      hf_node_kind_name(node->kind));

  bool usable = node && node->kind == HF_NODE_MAPPING;
  for (const struct hf_node *p = usable ? node->first : NULL; p && r == 0; p = p->next) {
    struct hf_policy policy = policies.policy;
    struct hf_provider_options provider = policies.provider;
    const struct hf_targets targets = {.policy = &policy, .provider = &provider};
    if (p == by_default)
      continue;
    char where[WHERE_MAX];
    put_where(where, "policies", p->key);
    r = hf_options_read(reader, p, where, &targets, NULL);
    hf_policy_check(reader, p->place, where, &policy);
  }
  *ret_policies = policies;
  return r;
}

/* A tool takes the calls' half of a policy; what calls share belongs to the server, and would have no effect here. */
static void warn_of_shared(const struct hf_reader *reader, const struct hf_node *name, const struct hf_node *policy) {
  size_t count;
  const struct hf_option *options = hf_options(&count);
  for (const struct hf_node *entry = policy->first; entry; entry = entry->next) {
    for (size_t i = 0; i < count; i++) {
      if (options[i].scope != HF_SCOPE_PROVIDER || !hf_option_under(&options[i], entry->key))
        continue;
      hf_problems_warn(reader->problems, name->place,
                       "policy: '%.*s' of '%.*s' holds for whole servers and has no effect on a tool",
                       shown_len(entry->key), entry->key.ptr, shown_len(name->text), name->text.ptr);
      break;
    }
  }
}

int hf_policies_apply(const struct hf_reader *reader, const struct hf_policies *policies, const struct hf_node *node,
                      const struct hf_targets *targets) {
  const struct hf_node *name = hf_node_get(node, HF_STR("policy"));
  if (!name)
    return 0;
  const struct hf_node *policy = name->kind == HF_NODE_SCALAR ? hf_node_get(policies->named, name->text) : NULL;
  if (!policy) {
    hf_problems_error(reader->problems, name->place, "policy: there is no '%.*s' in policies", shown_len(name->text),
                      name->text.ptr ? name->text.ptr : "");
    return 0;
  }
  /* What is wrong in it was told when the policies were read. */
  struct hf_problems told;
  hf_problems_init(&told);
  struct hf_reader again = *reader;
  again.problems = &told;
  if (!targets->provider)
    warn_of_shared(reader, name, policy);
  struct hf_provider_options unused = {0};
  struct hf_targets both = {.policy = targets->policy, .provider = targets->provider ? targets->provider : &unused};
  return hf_options_read(&again, policy, "policies", &both, NULL);
}

/* Members that other clients know and that mean nothing, or something else, here. */
static bool server_foreign(const struct hf_reader *reader, const struct hf_node *entry) {
  static const char *const silent[] = {"type",      "description", "name",        "title",   "icon",
                                       "iconUrl",   "version",     "gallery",     "enabled", "httpUrl",
                                       "serverUrl", "transport",   "displayName", "tags",    NULL};
  static const char *const told[] = {"autoApprove",
                                     "alwaysAllow",
                                     "autoApprovedTools",
                                     "envFile",
                                     "trust",
                                     "oauth",
                                     "auth",
                                     "dev",
                                     "sandbox",
                                     "inputs",
                                     "disabledTools",
                                     "includeTools",
                                     "excludeTools",
                                     "tools",
                                     "authProviderType",
                                     "sse_read_timeout",
                                     "encoding",
                                     "roots",
                                     "disabledReason",
                                     "timeoutSeconds",
                                     NULL};
  for (size_t i = 0; silent[i]; i++)
    if (hf_str_equal(entry->key, hf_str_from(silent[i])))
      return true;
  bool number = hf_str_equal(entry->key, HF_STR("timeout")) && entry->kind == HF_NODE_SCALAR;
  bool known = number;
  for (size_t i = 0; told[i] && !known; i++)
    known = hf_str_equal(entry->key, hf_str_from(told[i]));
  if (number)
    hf_problems_warn(
        reader->problems, entry->place,
        "'timeout' as a number is another client's and has no effect here; write timeout: { deadline: … }");
  else if (known)
    hf_problems_warn(reader->problems, entry->place, "'%.*s' is another client's and has no effect here",
                     shown_len(entry->key), entry->key.ptr);
  return known;
}

static bool has_control(struct hf_str s) {
  for (size_t i = 0; i < s.len; i++)
    if (((unsigned char)s.ptr[i] < 0x20 && s.ptr[i] != '\t') || s.ptr[i] == 0x7f)
      return true;
  return false;
}

static void check_headers(const struct hf_reader *reader, const struct hf_node *headers,
                          const struct hf_server_settings *server) {
  for (const struct hf_node *h = headers ? headers->first : NULL; h; h = h->next) {
    if (!hf_field_name_valid(h->key))
      hf_problems_error(reader->problems, h->place, "headers: '%.*s' is no header name", shown_len(h->key), h->key.ptr);
    else if (hf_own_header(h->key))
      hf_problems_error(reader->problems, h->place, "headers: '%.*s' is set by holdfast itself", shown_len(h->key),
                        h->key.ptr);
  }
  for (size_t i = 0; headers && i < server->headers.count; i++)
    if (has_control(server->headers.item[i]))
      hf_problems_error(reader->problems, headers->place, "headers: a value holds a line break or control character");
}

static void check_env(const struct hf_reader *reader, const struct hf_node *env) {
  for (const struct hf_node *e = env ? env->first : NULL; e; e = e->next)
    if (e->key.len == 0 || memchr(e->key.ptr, '=', e->key.len))
      hf_problems_error(reader->problems, e->place, "env: '%.*s' is no name of a variable", shown_len(e->key),
                        e->key.ptr);
}

static void check_name(const struct hf_reader *reader, const struct hf_node *node) {
  struct hf_str name = node->key;
  if (name.len == 0 || name.len > NAME_MAX_BYTES)
    hf_problems_error(reader->problems, node->place, "the name of a server must have 1 to %d bytes", NAME_MAX_BYTES);
  else if (has_control(name) || memchr(name.ptr, '*', name.len) || memchr(name.ptr, '/', name.len))
    hf_problems_error(reader->problems, node->place,
                      "the name of a server must not hold '*', '/' or control characters");
}

/* NULL: there is none. */
static const struct hf_node *url_of(const struct hf_node *node) {
  static const char *const names[] = {"url", "httpUrl", "serverUrl"};
  const struct hf_node *url = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !url; i++)
    url = hf_node_get(node, hf_str_from(names[i]));
  return url;
}

/* What is wrong with it is told here and not at the first call, and without its text, which may hold secrets. */
static int check_url(const struct hf_reader *reader, const struct hf_node *node, struct hf_place place,
                     struct hf_str url) {
  struct hf_error error = {0};
  struct hf_origin origin;
  if (!hf_str_starts(url, HF_STR("http://")) && !hf_str_starts(url, HF_STR("https://")))
    hf_error_set(&error, HF_ERR_INVALID, "'url' must begin with http:// or https://");
  else if (has_control(url))
    hf_error_set(&error, HF_ERR_INVALID, "'url' holds a control character");
  else if (memchr(url.ptr, ' ', url.len))
    hf_error_set(&error, HF_ERR_INVALID, "'url' holds a blank; in a URL it is written %%20");
  else if (hf_str_starts(url, HF_STR("http:///")) || hf_str_starts(url, HF_STR("https:///")))
    hf_error_set(&error, HF_ERR_INVALID, "malformed url: No host part in the URL"); /* libcurl skips the third slash */
  else if (hf_origin_parse(&origin, url, &error) == 0)
    hf_origin_deinit(&origin);
  if (error.code < 0 && error.code != HF_ERR_NOMEM)
    hf_problems_error(reader->problems, place, "server '%.*s': %s", shown_len(node->key), node->key.ptr, error.text);
  return error.code == HF_ERR_NOMEM ? HF_ERR_NOMEM : 0;
}

static bool says_sse(const struct hf_node *word) {
  return word && word->kind == HF_NODE_SCALAR && hf_str_equal_nocase(word->text, HF_STR("sse"));
}

/* Clients' files say `type: sse`, or `transport: sse`, of servers of 2024-11-05. Any other word of theirs says nothing
 * that is not found out anyway. */
static int check_sse(const struct hf_reader *reader, const struct hf_node *node, struct hf_server_settings *server) {
  const struct hf_node *type = hf_node_get(node, HF_STR("type"));
  const struct hf_node *transport = hf_node_get(node, HF_STR("transport"));
  const struct hf_node *endpoint = hf_node_get(node, HF_STR("endpoint"));
  server->sse = says_sse(type) || says_sse(transport);
  if (server->sse && server->era == HF_ERA_MODERN)
    hf_problems_error(reader->problems, says_sse(type) ? type->place : transport->place,
                      "'sse' is the transport of 2024-11-05, which no modern server speaks");
  if (!endpoint || !server->endpoint.ptr || !server->url.ptr || server->disabled)
    return 0;
  struct hf_error ignored = {0};
  struct hf_origin origin;
  struct hf_buf target;
  hf_buf_init(&target, HF_URL_MAX);
  int r = hf_origin_parse(&origin, server->url, &ignored);
  if (r == 0) {
    r = hf_origin_resolve(&origin, hf_buf_str(&origin.target), server->endpoint, &target);
    hf_origin_deinit(&origin);
    if (r < 0 && r != HF_ERR_NOMEM)
      hf_problems_error(reader->problems, endpoint->place,
                        r == HF_ERR_REFUSED ? "endpoint: it is of another origin than 'url'" : "endpoint: malformed");
  }
  hf_buf_deinit(&target);
  return r == HF_ERR_NOMEM ? r : 0;
}

static int check_transport(const struct hf_reader *reader, const struct hf_node *node,
                           struct hf_server_settings *server) {
  bool has_command = hf_node_get(node, HF_STR("command")) != NULL;
  const struct hf_node *url = url_of(node);
  bool has_url = url != NULL;
  int r = 0;
  server->transport = has_url ? HF_TRANSPORT_HTTP : HF_TRANSPORT_STDIO;
  if (has_command == has_url)
    hf_problems_error(reader->problems, node->place, "server '%.*s' needs either 'command' or 'url'%s",
                      shown_len(node->key), node->key.ptr, has_url ? ", not both" : "");
  else if (!server->disabled && has_command && server->command.len == 0)
    hf_problems_error(reader->problems, node->place, "server '%.*s': 'command' is empty", shown_len(node->key),
                      node->key.ptr);
  else if (!server->disabled && has_url && server->url.ptr)
    r = check_url(reader, node, url->place, server->url);
  return r == 0 && has_url ? check_sse(reader, node, server) : r;
}

/* Other clients' spellings of what we have. */
static int read_synonyms(const struct hf_reader *reader, const struct hf_node *node, const struct hf_targets *targets) {
  static const char *const urls[] = {"httpUrl", "serverUrl"};
  int r = 0;
  for (size_t i = 0; i < 2 && r == 0; i++) {
    const struct hf_node *url = hf_node_get(node, hf_str_from(urls[i]));
    if (url && !hf_node_get(node, HF_STR("url")))
      r = hf_option_set(reader, hf_option_find(HF_SCOPE_SERVER, "url"), url, targets);
  }
  const struct hf_node *enabled = hf_node_get(node, HF_STR("enabled"));
  if (enabled && hf_str_equal(enabled->text, HF_STR("false")))
    targets->server->disabled = true;
  return r;
}

static int read_server(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                       enum hf_instance_mode instance, struct hf_server_settings *server) {
  const struct hf_targets targets = {.server = server, .policy = &server->policy, .provider = &server->provider};
  const struct hf_targets own = {.server = server};
  struct hf_str missing = {NULL, 0};
  struct hf_reader inside = *reader;
  inside.missing = &missing;
  char where[WHERE_MAX];
  put_where(where, "mcpServers", node->key);

  check_name(reader, node);
  int r = hf_options_defaults(reader->arena, HF_PROFILE_STANDARD, &own);
  server->instance = instance;
  server->policy = policies->policy;
  server->provider = policies->provider;
  server->name = hf_arena_copy(reader->arena, node->key);
  if (r < 0 || !server->name.ptr)
    return HF_ERR_NOMEM;
  if (node->kind != HF_NODE_MAPPING) {
    hf_problems_error(reader->problems, node->place, "%s: a mapping is needed here, not %s", where,
                      hf_node_kind_name(node->kind));
    return 0;
  }
  r = hf_policies_apply(reader, policies, node, &targets);
  if (r == 0)
    r = hf_options_read(&inside, node, where, &targets, server_foreign);
  if (r == 0)
    r = read_synonyms(&inside, node, &targets);
  if (r < 0)
    return r;
  server->provider.breaker = server->policy.breaker;
  if (server->disabled) {
    server->disabled_reason = HF_STR(HF_SERVER_OFF);
  } else if (missing.ptr) {
    server->disabled = true;
    server->disabled_reason = missing;
    hf_problems_warn(reader->problems, node->place, "server '%.*s' is left out: %.*s", shown_len(node->key),
                     node->key.ptr, HF_STR_FMT(missing));
  }
  hf_policy_check(reader, node->place, where, &server->policy);
  check_headers(reader, hf_node_get(node, HF_STR("headers")), server);
  check_env(reader, hf_node_get(node, HF_STR("env")));
  return check_transport(reader, node, server);
}

/* The standbys behind a server, up to one that was seen before. Returns how many, and whether they lead back to it. */
static size_t follow_standbys(const struct hf_settings *settings, const struct hf_server_settings *first,
                              bool *ret_circle) {
  const struct hf_server_settings *s = first;
  size_t count = 0;
  *ret_circle = false;
  while (s && s->standby.ptr && count <= settings->server_count) {
    s = hf_tool_name_server(settings, s->standby);
    count += s != NULL;
    if (s == first) {
      *ret_circle = true;
      break;
    }
  }
  return count;
}

static int check_standby(const struct hf_reader *reader, const struct hf_node *node,
                         const struct hf_server_settings *server) {
  const struct hf_settings *settings = reader->settings;
  const char *nearest = NULL;
  bool circle;
  size_t count = follow_standbys(settings, server, &circle);
  if (hf_str_equal(server->standby, server->name)) {
    hf_problems_error(reader->problems, node->place, "standby: a server cannot stand in for itself");
  } else if (!hf_tool_name_server(settings, server->standby)) {
    int r = hf_tool_name_nearest(reader, server->standby, &nearest);
    if (r < 0)
      return r;
    hf_problems_error(reader->problems, node->place, "standby: there is no server '%.*s' in mcpServers%s%s%s",
                      shown_len(server->standby), server->standby.ptr, nearest ? "; did you mean '" : "",
                      nearest ? nearest : "", nearest ? "'?" : "");
  } else if (circle) {
    hf_problems_error(reader->problems, node->place, "standby: from '%.*s' the standbys lead back to it",
                      shown_len(server->name), server->name.ptr);
  } else if (count >= HF_CALL_TARGETS_MAX) {
    hf_problems_error(reader->problems, node->place, "standby: more than %d servers in a row", HF_CALL_TARGETS_MAX);
  } else if (server->stateful) {
    hf_problems_error(reader->problems, node->place,
                      "standby: what '%.*s' holds for its sessions (stateful: true) no other server has; say only one",
                      shown_len(server->name), server->name.ptr);
  }
  return 0;
}

static int check_standbys(const struct hf_reader *reader, const struct hf_node *node) {
  const struct hf_server_settings *server = reader->settings->servers;
  int r = 0;
  for (const struct hf_node *s = node->first; s && r == 0; s = s->next, server++) {
    const struct hf_node *standby = hf_node_get(s, HF_STR("standby"));
    if (standby && server->standby.ptr)
      r = check_standby(reader, standby, server);
  }
  return r;
}

int hf_servers_read(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                    enum hf_instance_mode instance, struct hf_settings *settings) {
  if (node->kind != HF_NODE_MAPPING || node->count > SERVERS_MAX) {
    hf_problems_error(reader->problems, node->place, "mcpServers: a mapping of at most %d servers is needed here",
                      SERVERS_MAX);
    return 0;
  }
  settings->servers = hf_arena_alloc(reader->arena, (node->count + 1) * sizeof *settings->servers);
  if (!settings->servers)
    return HF_ERR_NOMEM;
  int r = 0;
  for (const struct hf_node *s = node->first; s && r == 0; s = s->next)
    r = read_server(reader, s, policies, instance, &settings->servers[settings->server_count++]);
  return r == 0 ? check_standbys(reader, node) : r;
}

/* Names of files and folders that say nothing about the program in them. */
static bool says_nothing(struct hf_str part) {
  static const char *const parts[] = {"index", "main", "cli", "server", "app", "dist", "build", "src",
                                      "bin",   "lib",  "out", "stdio",  "mcp", "",     NULL};
  const char *dot = part.len ? memchr(part.ptr, '.', part.len) : NULL;
  if (dot)
    part.len = (size_t)(dot - part.ptr);
  for (size_t i = 0; parts[i]; i++)
    if (hf_str_equal(part, hf_str_from(parts[i])))
      return true;
  return false;
}

/* The last part of a path that says something, or just the last. */
static struct hf_str telling_part(struct hf_str path) {
  struct hf_str last = {NULL, 0};
  while (path.len) {
    const char *slash = memrchr(path.ptr, '/', path.len);
    struct hf_str part = slash ? (struct hf_str){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)} : path;
    if (!last.ptr)
      last = part;
    if (!says_nothing(part))
      return part;
    path.len = slash ? (size_t)(slash - path.ptr) : 0;
  }
  return last;
}

/* `npx -y @scope/server-files@1.2 /srv` is "server-files": launchers are looked through. */
static struct hf_str derive_name(char *const *argv) {
  static const char *const launchers[] = {"npx",  "uvx", "node", "python", "python3", "bunx", "bun",
                                          "pipx", "uv",  "deno", "docker", "env",     "sh",   NULL};
  struct hf_str name = telling_part(hf_str_from(argv[0]));
  bool launcher = false;
  for (size_t i = 0; launchers[i]; i++)
    launcher = launcher || hf_str_equal(name, hf_str_from(launchers[i]));
  for (size_t i = 1; launcher && argv[i]; i++) {
    struct hf_str arg = hf_str_from(argv[i]);
    bool word = hf_str_equal(arg, HF_STR("run")) || hf_str_equal(arg, HF_STR("x")) || hf_str_equal(arg, HF_STR("exec"));
    bool script = memchr(arg.ptr, ' ', arg.len) != NULL; /* of `sh -c` */
    if (arg.len == 0 || arg.ptr[0] == '-' || word || script)
      continue;
    name = telling_part(arg);
    break;
  }
  const char *at = name.len > 1 ? memchr(name.ptr + 1, '@', name.len - 1) : NULL;
  if (at)
    name.len = (size_t)(at - name.ptr);
  static const char *const endings[] = {".js", ".mjs", ".cjs", ".py", ".ts", ".sh"};
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    size_t len = strlen(endings[i]);
    if (name.len > len && memcmp(name.ptr + name.len - len, endings[i], len) == 0)
      name.len -= len;
  }
  return name.len && name.len <= NAME_MAX_BYTES ? name : HF_STR("server");
}

int hf_server_wrap(const struct hf_reader *reader, char *const *argv, const char *name, enum hf_instance_mode instance,
                   struct hf_settings *settings) {
  struct hf_server_settings *server = hf_arena_alloc(reader->arena, sizeof *server);
  size_t count = 0;
  while (argv[count])
    count++;
  struct hf_str *args = hf_arena_alloc(reader->arena, count * sizeof *args);
  if (!server || !args)
    return HF_ERR_NOMEM;
  const struct hf_targets targets = {.server = server, .policy = &server->policy, .provider = &server->provider};
  int r = hf_options_defaults(reader->arena, HF_PROFILE_STANDARD, &targets);
  if (r < 0)
    return r;
  for (size_t i = 1; i < count; i++)
    args[i - 1] = hf_arena_copy(reader->arena, hf_str_from(argv[i]));
  server->args = (struct hf_strings){args, count - 1};
  server->command = hf_arena_copy(reader->arena, hf_str_from(argv[0]));
  server->name = hf_arena_copy(reader->arena, name ? hf_str_from(name) : derive_name(argv));
  server->provider.breaker = server->policy.breaker;
  server->instance = instance;
  settings->servers = server;
  settings->server_count = 1;
  return server->command.ptr && server->name.ptr && (count < 2 || args[count - 2].ptr) ? 0 : HF_ERR_NOMEM;
}
