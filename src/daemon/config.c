#include "daemon/config.h"

#include "base/alloc.h"
#include "daemon/document.h"
#include "daemon/options.h"
#include "daemon/route_config.h"
#include "daemon/server_config.h"
#include "daemon/tool_config.h"
#include "front/guard.h"
#include "json/pointer.h"

#include <stdlib.h>
#include <unistd.h>

enum { DOCUMENT_ARENA_MAX = 64 << 20 };

static const char *environment(const char *name) {
  return secure_getenv(name);
}

/* Other programs' keys at the top of their files, harmless here. */
static bool top_foreign(const struct hf_reader *reader, const struct hf_node *entry) {
  (void)reader;
  return hf_str_equal(entry->key, HF_STR("$schema")) || hf_str_equal(entry->key, HF_STR("inputs")) ||
         hf_str_equal(entry->key, HF_STR("servers"));
}

/* A file with nothing of ours but servers is another client's: its other keys are none of our business, unless one
 * looks like a slip of the pen. */
static bool client_foreign(const struct hf_reader *reader, const struct hf_node *entry) {
  if (top_foreign(reader, entry))
    return true;
  if (hf_option_resembles(HF_SCOPE_TOP, entry->key))
    return false;
  hf_problems_warn(reader->problems, entry->place, "'%.*s' is another program's and has no effect here",
                   (int)(entry->key.len < 60 ? entry->key.len : 60), entry->key.ptr);
  return true;
}

static bool is_option(struct hf_str key) {
  size_t count;
  const struct hf_option *options = hf_options(&count);
  for (size_t i = 0; i < count; i++)
    if (options[i].scope == HF_SCOPE_TOP && hf_option_under(&options[i], key))
      return true;
  return false;
}

static bool is_client_file(const struct hf_node *root) {
  bool servers = false;
  for (const struct hf_node *entry = root->first; entry; entry = entry->next) {
    if (hf_str_equal(entry->key, HF_STR("mcpServers")) || hf_str_equal(entry->key, HF_STR("servers")))
      servers = true;
    else if (is_option(entry->key))
      return false;
  }
  return servers;
}

static void check_listen(const struct hf_reader *reader, const struct hf_node *root, const struct hf_settings *s) {
  if (!s->listen_host.ptr || hf_guard_is_loopback(s->listen_host) || s->principal_count)
    return;
  const struct hf_node *node = hf_node_get(root, HF_STR("listen"));
  hf_problems_error(
      reader->problems, node ? node->place : (struct hf_place){0, 0},
      "listen: '%.*s' can be reached from other machines, and without auth.tokens anyone there could call "
      "every tool; listen on 127.0.0.1, or add a token (`holdfast token NAME` makes one)",
      HF_STR_FMT(s->listen_host));
}

/* Reads what the command line gives as if it stood in the file. */
static int override(const struct hf_reader *reader, const char *path, const char *value,
                    const struct hf_targets *targets) {
  if (!value)
    return 0;
  const struct hf_node node = {.kind = HF_NODE_SCALAR, .quoted = true, .text = hf_str_from(value)};
  return hf_option_set(reader, hf_option_find(HF_SCOPE_TOP, path), &node, targets);
}

static int override_all(const struct hf_reader *reader, const struct hf_config_options *options,
                        const struct hf_targets *targets) {
  int r = override(reader, "listen", options->listen, targets);
  if (r == 0)
    r = override(reader, "log.level", options->log_level, targets);
  if (r == 0)
    r = override(reader, "log.format", options->log_format, targets);
  return r;
}

static bool is_web(struct hf_str url) {
  return hf_str_starts(url, HF_STR("http://")) || hf_str_starts(url, HF_STR("https://"));
}

/* It is written into a URL reference as it stands. */
static void check_sse(const struct hf_reader *reader, const struct hf_node *root, const struct hf_settings *s) {
  const struct hf_node *node = hf_node_get(root, HF_STR("sse"));
  struct hf_str base = s->sse.base;
  if (!node || !base.ptr)
    return;
  bool good = (is_web(base) || hf_str_starts(base, HF_STR("/"))) && !hf_str_starts(base, HF_STR("//"));
  for (size_t i = 0; i < base.len; i++)
    good &= base.ptr[i] > ' ' && base.ptr[i] < 0x7f && base.ptr[i] != '?' && base.ptr[i] != '#';
  if (!good)
    hf_problems_error(reader->problems, node->place,
                      "sse: 'base' must be a path that begins with /, or a URL that begins with http:// or https://, "
                      "without ? and #");
}

static void check_alerts(const struct hf_reader *reader, const struct hf_node *root, const struct hf_settings *s) {
  const struct hf_node *node = hf_node_get(root, HF_STR("alerts"));
  if (!node || node->kind != HF_NODE_MAPPING)
    return;
  if (s->alerts.webhook.ptr && !is_web(s->alerts.webhook))
    hf_problems_error(reader->problems, node->place, "alerts: 'webhook' must begin with http:// or https://");
  if (s->alerts.secret.ptr && !s->alerts.webhook.ptr)
    hf_problems_error(reader->problems, node->place, "alerts: 'secret' signs what the webhook gets, and there is none");
  if (s->alerts.secret.ptr && s->alerts.secret.len == 0)
    hf_problems_error(reader->problems, node->place, "alerts: 'secret' is empty");
  if (s->alerts.command.count && s->alerts.command.item[0].len == 0)
    hf_problems_error(reader->problems, node->place, "alerts: the program in 'command' is empty");
  if (!s->alerts.webhook.ptr && !s->alerts.command.count)
    hf_problems_warn(reader->problems, node->place, "alerts: nobody hears them without 'webhook' or 'command'");
}

/* Does any call ask the gateway's own model? */
static bool asks_model(const struct hf_settings *s) {
  bool asks = s->tool_defaults.ask.mode == HF_ASK_MODEL;
  for (size_t i = 0; i < s->tool_count; i++)
    asks |= s->tools[i].ask.mode == HF_ASK_MODEL;
  for (size_t i = 0; i < s->route_count; i++)
    asks |= s->routes[i].tool.ask.mode == HF_ASK_MODEL;
  return asks;
}

/* Does what is sent there leave the machine in the clear? */
static bool is_overheard(struct hf_str url) {
  static const struct hf_str scheme = HF_STR("http://");
  if (!hf_str_starts(url, scheme))
    return false;
  struct hf_str host = {url.ptr + scheme.len, 0};
  const size_t rest = url.len - scheme.len;
  const bool v6 = rest > 0 && host.ptr[0] == '[';
  host.ptr += v6;
  while (host.len + v6 < rest && !strchr(v6 ? "]" : ":/?#", host.ptr[host.len]))
    host.len++;
  return !hf_guard_is_loopback(host);
}

static bool is_one_word(struct hf_str text) {
  for (size_t i = 0; i < text.len; i++)
    if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == 0x7f)
      return false;
  return true;
}

static bool names_host(struct hf_str url) {
  const char *host = memmem(url.ptr, url.len, "://", 3);
  return host && host + 3 < url.ptr + url.len && !strchr("/?#:", host[3]);
}

/* Once tools and routes are known. */
static void check_model(const struct hf_reader *reader, const struct hf_node *root, const struct hf_settings *s) {
  const struct hf_node *node = hf_node_get(root, HF_STR("correction"));
  const struct hf_place place = node ? node->place : root->place;
  if (s->model.url.ptr && !is_web(s->model.url))
    hf_problems_error(reader->problems, place, "correction.model: 'url' must begin with http:// or https://");
  else if (s->model.url.ptr && (!is_one_word(s->model.url) || !names_host(s->model.url)))
    hf_problems_error(reader->problems, place, "correction.model: 'url' is malformed");
  if (!is_one_word(s->model.key))
    hf_problems_error(reader->problems, place,
                      "correction.model: 'key' holds a blank or a line break, perhaps at its end");
  if (s->model.url.ptr && s->model.name.len == 0)
    hf_problems_error(reader->problems, place, "correction.model: 'name' says which model is asked, and is missing");
  if (s->model.url.ptr && s->model.key.len > 0 && is_overheard(s->model.url))
    hf_problems_warn(reader->problems, place,
                     "correction.model: its 'key', and the arguments of calls, go to 'url' unencrypted");
  if (asks_model(s) && !s->model.url.ptr)
    hf_problems_error(reader->problems, place,
                      "correction.auto: 'model' asks the one of correction.model, whose 'url' is "
                      "missing");
}

static void check_store(const struct hf_reader *reader, const struct hf_node *root, const struct hf_settings *s) {
  const struct hf_node *store = hf_node_get(root, HF_STR("store"));
  struct hf_error error;
  for (size_t i = 0; i < s->store.secrets.count; i++) {
    struct hf_str secret = s->store.secrets.item[i];
    if (store && (secret.len == 0 || (secret.ptr[0] == '/' && hf_json_pointer_check(secret, &error) < 0)))
      hf_problems_error(reader->problems, store->place,
                        "store.secrets: '%.*s' is neither the name of a member nor a JSON Pointer",
                        (int)(secret.len < 60 ? secret.len : 60), secret.ptr);
  }
  static const char *const needy[] = {"deadLetters", "alerts"};
  for (size_t i = 0; !s->store.enabled && i < sizeof needy / sizeof needy[0]; i++) {
    const struct hf_node *node = hf_node_get(root, hf_str_from(needy[i]));
    if (node && node->kind == HF_NODE_MAPPING)
      hf_problems_warn(reader->problems, node->place, "%s: without a store (store.enabled: false) this has no effect",
                       needy[i]);
  }
}

static enum hf_profile find_profile(const struct hf_node *root) {
  const struct hf_node *node = hf_node_get(root, HF_STR("profile"));
  const char *choices = hf_option_find(HF_SCOPE_TOP, "profile")->choices;
  int index = node && node->kind == HF_NODE_SCALAR ? hf_choice_find(choices, node->text) : -1;
  return index < 0 ? HF_PROFILE_STANDARD : (enum hf_profile)index;
}

static const struct hf_node *find_servers(const struct hf_reader *reader, const struct hf_node *root) {
  const struct hf_node *ours = hf_node_get(root, HF_STR("mcpServers"));
  const struct hf_node *theirs = hf_node_get(root, HF_STR("servers"));
  if (ours && theirs)
    hf_problems_error(reader->problems, theirs->place, "'mcpServers' and 'servers' are the same; write only one");
  if (!ours && !theirs)
    hf_problems_error(reader->problems, (struct hf_place){0, 0}, "no servers: there is no 'mcpServers'");
  return ours ? ours : theirs;
}

/* What stands in the blocks, in the order in which one needs the other. */
static int read_blocks(const struct hf_reader *reader, const struct hf_node *root, enum hf_profile profile,
                       const struct hf_config_options *options, struct hf_settings *settings) {
  struct hf_policies policies;
  int r = hf_policies_read(reader, profile, hf_node_get(root, HF_STR("policies")), &policies);
  const struct hf_node *servers = find_servers(reader, root);
  if (r == 0 && servers)
    r = hf_servers_read(reader, servers, &policies, options->instance, settings);
  const struct hf_node *tools = hf_node_get(root, HF_STR("tools"));
  if (r == 0 && tools)
    r = hf_tools_read(reader, tools, &policies, settings);
  const struct hf_node *routes = hf_node_get(root, HF_STR("routes"));
  if (r == 0 && routes)
    r = hf_routes_read(reader, routes, &policies, settings);
  return r;
}

static int read_root(const struct hf_reader *reader, const struct hf_node *root,
                     const struct hf_config_options *options, struct hf_settings *settings) {
  const struct hf_targets top = {.top = settings};
  const struct hf_targets defaults = {
      .top = settings, .tool = &settings->tool_defaults, .answer = &settings->tool_defaults};
  enum hf_profile profile = find_profile(root);
  int r = hf_options_defaults(&settings->arena, profile, &defaults);
  if (r == 0)
    r = hf_options_read(reader, root, "the configuration", &top, is_client_file(root) ? client_foreign : top_foreign);
  if (r == 0)
    r = override_all(reader, options, &top);
  if (r < 0)
    return r;
  if (options->listens)
    check_listen(reader, root, settings);
  check_store(reader, root, settings);
  check_sse(reader, root, settings);
  check_alerts(reader, root, settings);
  r = read_blocks(reader, root, profile, options, settings);
  if (r == 0)
    check_model(reader, root, settings);
  return r;
}

static int build(const struct hf_node *root, const struct hf_config_options *options, struct hf_problems *problems,
                 struct hf_settings **ret_settings, struct hf_error *reterr) {
  struct hf_settings *settings = hf_settings_new();
  if (!settings)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  const struct hf_reader reader = {
      .arena = &settings->arena,
      .problems = problems,
      .variable = options->variable ? options->variable : environment,
      .settings = settings,
  };
  int r = 0;
  if (root->kind == HF_NODE_MAPPING)
    r = read_root(&reader, root, options, settings);
  else
    hf_problems_error(problems, root->place, "a configuration is a mapping with 'mcpServers' in it, not %s",
                      hf_node_kind_name(root->kind));
  if (r == 0 && problems->errors)
    r = HF_ERR_INVALID;
  if (r < 0) {
    hf_settings_free(settings);
    return hf_error_set(reterr, r, "%s", r == HF_ERR_INVALID ? "the configuration has errors" : hf_err_text(r));
  }
  *ret_settings = settings;
  return 0;
}

int hf_config_load(const char *path, const struct hf_config_options *options, struct hf_problems *problems,
                   struct hf_settings **ret_settings, struct hf_error *reterr) {
  struct hf_arena arena;
  hf_arena_init(&arena, DOCUMENT_ARENA_MAX);
  const struct hf_node *root;
  int r = hf_document_load(&arena, path, problems, &root, reterr);
  if (r == 0)
    r = build(root, options, problems, ret_settings, reterr);
  hf_arena_deinit(&arena);
  return r;
}

int hf_config_parse(struct hf_str text, const struct hf_config_options *options, struct hf_problems *problems,
                    struct hf_settings **ret_settings, struct hf_error *reterr) {
  struct hf_arena arena;
  hf_arena_init(&arena, DOCUMENT_ARENA_MAX);
  const struct hf_node *root;
  int r = hf_document_parse(&arena, text, problems, &root);
  if (r == 0)
    r = build(root, options, problems, ret_settings, reterr);
  else
    hf_error_set(reterr, r, "%s", hf_err_text(r));
  hf_arena_deinit(&arena);
  return r;
}

int hf_config_wrap(char *const *argv, const char *name, const struct hf_config_options *options,
                   struct hf_settings **ret_settings, struct hf_error *reterr) {
  struct hf_settings *settings = hf_settings_new();
  if (!settings)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  struct hf_problems problems;
  hf_problems_init(&problems);
  const struct hf_reader reader = {.arena = &settings->arena, .problems = &problems, .variable = environment};
  const struct hf_targets top = {.top = settings, .tool = &settings->tool_defaults, .answer = &settings->tool_defaults};
  int r = hf_options_defaults(&settings->arena, HF_PROFILE_STANDARD, &top);
  if (r == 0)
    r = override_all(&reader, options, &top);
  if (r == 0)
    r = hf_server_wrap(&reader, argv, name, options->instance, settings);
  if (r == 0 && problems.errors)
    r = HF_ERR_INVALID;
  if (r < 0) {
    hf_settings_free(settings);
    return hf_error_set(reterr, r, "%s", problems.count ? problems.item[0].text : hf_err_text(r));
  }
  *ret_settings = settings;
  return 0;
}

char *hf_config_find(struct hf_error *reterr) {
  const char *config_home = secure_getenv("XDG_CONFIG_HOME");
  const char *home = secure_getenv("HOME");
  char *candidates[] = {
      hf_strndup("holdfast.yaml", strlen("holdfast.yaml")),
      config_home && *config_home ? hf_concat(config_home, "/holdfast/holdfast.yaml")
                                  : hf_concat(home ? home : "", "/.config/holdfast/holdfast.yaml"),
  };
  char *found = NULL;
  for (size_t i = 0; i < 2; i++) {
    if (!found && candidates[i] && access(candidates[i], R_OK) == 0) {
      found = candidates[i];
      candidates[i] = NULL;
    }
  }
  if (!found)
    hf_error_set(reterr, HF_ERR_NOTFOUND,
                 "no configuration: there is no 'holdfast.yaml' here and no '%s'; name a file with --config, which may "
                 "be the one of an MCP client as it is (--config ~/.cursor/mcp.json)",
                 candidates[1] ? candidates[1] : "~/.config/holdfast/holdfast.yaml");
  hf_free(candidates[0]);
  hf_free(candidates[1]);
  return found;
}
