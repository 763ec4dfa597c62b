#include "cli/check_report.h"

#include "base/printer.h"
#include "daemon/quantity.h"
#include "policy/classify.h"
#include "json/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ORIGIN_ARENA_MAX = 64 << 10, PATH_TEXT_MAX = 4096 };

/* Scheme, host and port of a URL. */
static struct hf_str origin_of(struct hf_str url, struct hf_arena *arena) {
  const char *scheme_end = url.len ? memmem(url.ptr, url.len, "://", 3) : NULL;
  if (!scheme_end)
    return HF_STR("?");
  size_t scheme = (size_t)(scheme_end - url.ptr) + 3;
  size_t end = scheme;
  while (end < url.len && !strchr("/?#\\", url.ptr[end]))
    end++;
  const char *at = memrchr(url.ptr + scheme, '@', end - scheme);
  size_t host = at ? (size_t)(at - url.ptr) + 1 : scheme;
  struct hf_str origin = hf_arena_printf(arena, "%.*s%.*s", (int)scheme, url.ptr, (int)(end - host), url.ptr + host);
  return origin.ptr ? origin : HF_STR("?");
}

static const char *plural(size_t count) {
  return count == 1 ? "" : "s";
}

static const char *sharing_name(enum hf_instance_mode mode) {
  return mode == HF_INSTANCE_SHARED ? "shared by all clients" : "one per client session";
}

static void put_policy(struct hf_printer *out, const struct hf_policy *p) {
  char a[HF_QUANTITY_TEXT_MAX];
  char b[HF_QUANTITY_TEXT_MAX];
  hf_print(out, "deadline %s", hf_duration_print(p->timeout.deadline, a));
  if (p->timeout.task > p->timeout.deadline)
    hf_print(out, " (%s as a task)", hf_duration_print(p->timeout.task, b));
  hf_print(out, ", %u attempt%s", p->retry.attempts, plural(p->retry.attempts));
  if (p->breaker.failures)
    hf_print(out, ", breaker opens after %u failure%s for %s", p->breaker.failures, plural(p->breaker.failures),
             hf_duration_print(p->breaker.open, b));
}

static bool is_executable(struct hf_str folder, struct hf_str name) {
  char path[PATH_TEXT_MAX];
  int n = snprintf(path, sizeof path, "%.*s/%.*s", HF_STR_FMT(folder), HF_STR_FMT(name));
  struct stat st;
  return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Looks where the child would be looked for: in the PATH that its `env` sets, else in ours. */
static bool is_in_path(const struct hf_server_settings *s) {
  struct hf_str prefix = HF_STR("PATH=");
  struct hf_str rest = hf_str_from(getenv("PATH"));
  for (size_t i = 0; i < s->env.count; i++)
    if (hf_str_starts(s->env.item[i], prefix))
      rest = (struct hf_str){s->env.item[i].ptr + prefix.len, s->env.item[i].len - prefix.len};
  while (rest.len) {
    const char *colon = memchr(rest.ptr, ':', rest.len);
    size_t len = colon ? (size_t)(colon - rest.ptr) : rest.len;
    if (len && is_executable((struct hf_str){rest.ptr, len}, s->command))
      return true;
    size_t used = colon ? len + 1 : len;
    rest = (struct hf_str){rest.ptr + used, rest.len - used};
  }
  return false;
}

/* Says at once what would otherwise be found when the child is started. */
static void put_start_trouble(struct hf_printer *out, const struct hf_server_settings *s) {
  char path[PATH_TEXT_MAX];
  struct stat st;
  if (s->cwd.ptr && s->cwd.len < sizeof path) {
    memcpy(path, s->cwd.ptr, s->cwd.len);
    path[s->cwd.len] = '\0';
    if (stat(path, &st) < 0)
      hf_print(out, "    warning: the working directory '%s' does not exist\n", path);
    else if (!S_ISDIR(st.st_mode))
      hf_print(out, "    warning: the working directory '%s' is no directory\n", path);
    else if (access(path, X_OK) < 0)
      hf_print(out, "    warning: the working directory '%s' may not be entered\n", path);
  }
  if (s->command.ptr && s->command.ptr[0] == '/' && access(s->command.ptr, X_OK) < 0)
    hf_print(out, "    warning: the command '%.*s' is missing or not executable\n", HF_STR_FMT(s->command));
  else if (s->command.ptr && !memchr(s->command.ptr, '/', s->command.len) && !is_in_path(s))
    hf_print(out, "    warning: the command '%.*s' is in no folder of PATH\n", HF_STR_FMT(s->command));
}

static void put_server(struct hf_printer *out, const struct hf_server_settings *s, struct hf_arena *arena) {
  hf_print(out, "  %.*s: ", HF_STR_FMT(s->name));
  if (s->disabled) {
    hf_print(out, "left out: %.*s\n", HF_STR_FMT(s->disabled_reason));
    return;
  }
  if (s->transport == HF_TRANSPORT_HTTP)
    hf_print(out, "%.*s, %zu header%s", HF_STR_FMT(origin_of(s->url, arena)), s->headers.count,
             plural(s->headers.count));
  else
    hf_print(out, "%.*s with %zu argument%s, %zu variable%s", HF_STR_FMT(s->command), s->args.count,
             plural(s->args.count), s->env.count, plural(s->env.count));
  hf_print(out, "; %s, starts %s", sharing_name(s->instance),
           s->start == HF_START_LAZY ? "at its first use" : "with the gateway");
  if (s->standby.ptr)
    hf_print(out, "; '%.*s' stands in for it", HF_STR_FMT(s->standby));
  hf_print(out, "\n    calls: ");
  put_policy(out, &s->policy);
  hf_print(out, "\n");
  put_start_trouble(out, s);
}

/* What is done when its answer fails to come, or is not asked for. */
static void put_answer(struct hf_printer *out, const struct hf_tool_settings *t) {
  char a[HF_QUANTITY_TEXT_MAX];
  if (t->cache.ttl)
    hf_print(out, "    answers are fresh for %s\n", hf_duration_print(t->cache.ttl, a));
  if (t->cache.max_stale)
    hf_print(out, "    answers up to %s old stand in for one that fails\n", hf_duration_print(t->cache.max_stale, a));
  if (t->fallback.text.ptr || t->fallback.structured.ptr)
    hf_print(out, "    has a default answer\n");
  if (t->degraded == HF_DEGRADED_EXPLICIT)
    hf_print(out, "    gives no degraded answer, but asks how to go on\n");
}

static void put_effects(struct hf_printer *out, const struct hf_tool_settings *t) {
  static const char *const places[] = {"", "argument", "_meta member", "header"};
  char a[HF_QUANTITY_TEXT_MAX];
  if (t->key.place != HF_KEY_NONE)
    hf_print(out, "    takes its idempotency key in the %s '%.*s', and remembers it for %s\n", places[t->key.place],
             HF_STR_FMT(t->key.name), hf_duration_print(t->key.ttl, a));
  if (t->reconcile.tool.server.ptr)
    hf_print(out, "    when its answer is lost, '%.*s__%.*s' is asked whether it ran%s\n",
             HF_STR_FMT(t->reconcile.tool.server), HF_STR_FMT(t->reconcile.tool.tool),
             t->reconcile.not_executed.pointer.ptr ? "; if it certainly did not, it is sent again" : "");
}

static void put_tool(struct hf_printer *out, const struct hf_tool_settings *t) {
  hf_print(out, "  %.*s at %.*s:", HF_STR_FMT(t->pattern), HF_STR_FMT(t->server));
  if (t->hidden)
    hf_print(out, " hidden");
  else if (!t->has_safety && !t->has_policy)
    hf_print(out, " as safe as its annotations say");
  if (t->has_safety)
    hf_print(out, " %s, because the configuration says so%s", hf_safety_name(t->safety),
             hf_safety_allows_repeat(t->safety) ? ": it may be sent again when its answer is lost"
                                                : ": it is never sent again once it may have run");
  if (t->has_policy) {
    hf_print(out, "%s", t->has_safety || t->hidden ? "; " : " ");
    put_policy(out, &t->policy);
  }
  hf_print(out, "\n");
  put_effects(out, t);
  put_answer(out, t);
  if (t->expect.pointer.ptr)
    hf_print(out, "    a result is held against what is expected at '%.*s'\n", HF_STR_FMT(t->expect.pointer));
  if (t->hints.count)
    hf_print(out, "    its errors come with advice (%zu hint%s)\n", t->hints.count, plural(t->hints.count));
}

/* Arguments go to whoever is asked, so that is told. */
static void put_correction(struct hf_printer *out, const struct hf_settings *settings, struct hf_arena *arena) {
  bool client = settings->tool_defaults.ask.mode == HF_ASK_CLIENT,
       model = settings->tool_defaults.ask.mode == HF_ASK_MODEL;
  for (size_t i = 0; i < settings->tool_count; i++) {
    client = client || settings->tools[i].ask.mode == HF_ASK_CLIENT;
    model = model || settings->tools[i].ask.mode == HF_ASK_MODEL;
  }
  if (client)
    hf_print(out, "arguments that don't fit: the caller's own model is asked for better ones\n");
  if (model)
    hf_print(out, "arguments that don't fit: the model '%.*s' at %.*s is asked for better ones\n",
             HF_STR_FMT(settings->model.name), HF_STR_FMT(origin_of(settings->model.url, arena)));
}

static void put_route(struct hf_printer *out, const struct hf_route_settings *r) {
  static const char *const orders[] = {"the first that can", "the fastest that can", "by weight"};
  hf_print(out, "  %.*s: answered by ", HF_STR_FMT(r->name));
  for (size_t i = 0; i < r->provider_count; i++)
    hf_print(out, "%s%.*s__%.*s", i ? ", " : "", HF_STR_FMT(r->providers[i].tool.server),
             HF_STR_FMT(r->providers[i].tool.tool));
  hf_print(out, " (%s); deadline ", orders[r->order]);
  char a[HF_QUANTITY_TEXT_MAX];
  hf_print(out, "%s, %u attempt%s\n", hf_duration_print(r->policy.timeout.deadline, a), r->policy.retry.attempts,
           plural(r->policy.retry.attempts));
  put_answer(out, &r->tool);
}

int hf_check_text(const char *path, const struct hf_settings *settings, const struct hf_problems *problems,
                  struct hf_buf *text) {
  struct hf_printer out = {.buf = text};
  struct hf_arena arena;
  hf_arena_init(&arena, ORIGIN_ARENA_MAX);
  hf_print(&out, "%s is good%s\n", path, problems->count ? ", with warnings" : "");
  hf_print(&out, "listens at %.*s port %u, %zu token%s, profile %.*s\n", HF_STR_FMT(settings->listen_host),
           settings->listen_port, settings->principal_count, plural(settings->principal_count),
           HF_STR_FMT(settings->profile));
  put_correction(&out, settings, &arena);
  hf_print(&out, "servers:\n");
  for (size_t i = 0; i < settings->server_count; i++)
    put_server(&out, &settings->servers[i], &arena);
  hf_print(&out, "tools:\n");
  for (size_t i = 0; i < settings->tool_count; i++)
    put_tool(&out, &settings->tools[i]);
  hf_arena_deinit(&arena);
  hf_print(&out, "  all others: as safe as their annotations say (readOnlyHint, idempotentHint),\n"
                 "    else unsafe; `--probe` starts the servers and tells each\n");
  if (settings->route_count)
    hf_print(&out, "routes:\n");
  for (size_t i = 0; i < settings->route_count; i++)
    put_route(&out, &settings->routes[i]);
  return out.error;
}

static void json_problem(struct hf_json_writer *w, const struct hf_problem *p) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "severity", p->warning ? HF_STR("warning") : HF_STR("error"));
  if (p->place.line) {
    hf_json_write_member_int(w, "line", p->place.line);
    hf_json_write_member_int(w, "column", p->place.column);
  }
  hf_json_write_member_str(w, "message", hf_str_from(p->text));
  hf_json_write_object_end(w);
}

static void json_server(struct hf_json_writer *w, const struct hf_server_settings *s, struct hf_arena *arena) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "name", s->name);
  hf_json_write_member_str(w, "transport", s->transport == HF_TRANSPORT_HTTP ? HF_STR("http") : HF_STR("stdio"));
  hf_json_write_member_bool(w, "disabled", s->disabled);
  if (s->disabled)
    hf_json_write_member_str(w, "reason", s->disabled_reason);
  else if (s->transport == HF_TRANSPORT_HTTP)
    hf_json_write_member_str(w, "origin", origin_of(s->url, arena));
  else
    hf_json_write_member_str(w, "command", s->command);
  hf_json_write_member_str(w, "instance", s->instance == HF_INSTANCE_SHARED ? HF_STR("shared") : HF_STR("session"));
  if (s->standby.ptr)
    hf_json_write_member_str(w, "standby", s->standby);
  hf_json_write_member_int(w, "deadlineMs", s->policy.timeout.deadline / 1000);
  hf_json_write_member_int(w, "attempts", s->policy.retry.attempts);
  hf_json_write_object_end(w);
}

static void json_tool(struct hf_json_writer *w, const struct hf_tool_settings *t) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "pattern", t->pattern);
  hf_json_write_member_str(w, "server", t->server);
  if (t->has_safety)
    hf_json_write_member_str(w, "safety", hf_str_from(hf_safety_name(t->safety)));
  hf_json_write_member_bool(w, "hidden", t->hidden);
  if (t->has_policy) {
    hf_json_write_member_int(w, "deadlineMs", t->policy.timeout.deadline / 1000);
    hf_json_write_member_int(w, "attempts", t->policy.retry.attempts);
  }
  hf_json_write_object_end(w);
}

static void json_route(struct hf_json_writer *w, const struct hf_route_settings *r) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "name", r->name);
  hf_json_write_key(w, "providers");
  hf_json_write_array(w);
  for (size_t i = 0; i < r->provider_count; i++) {
    hf_json_write_object(w);
    hf_json_write_member_str(w, "server", r->providers[i].tool.server);
    hf_json_write_member_str(w, "tool", r->providers[i].tool.tool);
    hf_json_write_object_end(w);
  }
  hf_json_write_array_end(w);
  hf_json_write_member_int(w, "deadlineMs", r->policy.timeout.deadline / 1000);
  hf_json_write_member_int(w, "attempts", r->policy.retry.attempts);
  hf_json_write_object_end(w);
}

static void json_settings(struct hf_json_writer *w, const struct hf_settings *settings) {
  struct hf_arena arena;
  hf_arena_init(&arena, ORIGIN_ARENA_MAX);
  hf_json_write_member_str(w, "profile", settings->profile);
  hf_json_write_key(w, "servers");
  hf_json_write_array(w);
  for (size_t i = 0; i < settings->server_count; i++)
    json_server(w, &settings->servers[i], &arena);
  hf_json_write_array_end(w);
  hf_json_write_key(w, "tools");
  hf_json_write_array(w);
  for (size_t i = 0; i < settings->tool_count; i++)
    json_tool(w, &settings->tools[i]);
  hf_json_write_array_end(w);
  hf_json_write_key(w, "routes");
  hf_json_write_array(w);
  for (size_t i = 0; i < settings->route_count; i++)
    json_route(w, &settings->routes[i]);
  hf_json_write_array_end(w);
  hf_arena_deinit(&arena);
}

int hf_check_json(const char *path, const struct hf_settings *settings, const struct hf_problems *problems,
                  const char *failure, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "file", hf_str_from(path));
  hf_json_write_member_bool(&w, "good", settings != NULL);
  hf_json_write_key(&w, "problems");
  hf_json_write_array(&w);
  for (size_t i = 0; i < problems->count; i++)
    json_problem(&w, &problems->item[i]);
  hf_json_write_array_end(&w);
  if (failure)
    hf_json_write_member_str(&w, "failure", hf_str_from(failure));
  if (settings)
    json_settings(&w, settings);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  return r == 0 ? hf_buf_append_str(out, HF_STR("\n")) : r;
}
