/* What a letter's tool is by now: whom a status check asks about it, and whether it may run again although it may have
 * run. Its safety is what the gateway goes by for any call; a letter is older than that, so its key is looked at too.
 */
#include "gateway/gateway.h"
#include "gateway/letter/replay_state.h"
#include "json/template.h"

static const struct hf_route_settings *find_route(const struct hf_gateway *gateway, const struct hf_letter *letter) {
  const struct hf_settings *settings = gateway->settings;
  for (size_t i = 0; i < settings->route_count; i++)
    if (hf_str_equal(settings->routes[i].name, letter->route))
      return &settings->routes[i];
  return NULL;
}

/* The provider of a route that was tried, if it was only one: it alone can have run. Where a replay went that failed
 * without being written down as a call, the letter does not say, and the route may have had others then. */
static const struct hf_route_provider *tried_provider(const struct hf_gateway *gateway,
                                                      const struct hf_letter *letter) {
  const struct hf_route_settings *route = find_route(gateway, letter);
  if (!route || letter->replays > 0)
    return NULL;
  for (size_t p = 0; p < route->provider_count; p++)
    if (hf_str_equal(route->providers[p].tool.server, letter->providers))
      return &route->providers[p];
  return NULL;
}

/* Fills the arguments of a route in as its provider gets them. Returns false if they don't fit, or for lack of memory.
 */
static bool map_arguments(const struct hf_route_provider *provider, struct hf_arena *arena, struct hf_str *arguments) {
  if (!provider->arguments.ptr)
    return true;
  struct hf_buf mapped;
  hf_buf_init(&mapped, HF_MESSAGE_BYTES_MAX);
  if (hf_template_fill(provider->arguments, *arguments, &mapped) == 0)
    *arguments = hf_arena_copy(arena, hf_buf_str(&mapped));
  else
    arguments->ptr = NULL;
  hf_buf_deinit(&mapped);
  return arguments->ptr != NULL;
}

const struct hf_tool_settings *hf_replay_checked_tool(const struct hf_gateway *gateway, const struct hf_letter *letter,
                                                      struct hf_arena *arena, struct hf_str *ret_arguments) {
  struct hf_tool_name name;
  *ret_arguments = letter->arguments;
  if (letter->route.len) {
    const struct hf_route_provider *provider = tried_provider(gateway, letter);
    if (!provider || !map_arguments(provider, arena, ret_arguments))
      return NULL;
    name = provider->tool;
  } else {
    const struct hf_name *shown = hf_names_find(&gateway->tool_names, letter->tool);
    if (!shown)
      return NULL;
    name = (struct hf_tool_name){shown->server, shown->original};
  }
  const struct hf_tool_settings *tool = hf_settings_tool(gateway->settings, name.server, name.tool);
  return tool ? tool : &gateway->settings->tool_defaults;
}

/* Annotations of servers that every client has its own of are not known here: nothing is promised of such a tool. */
static enum hf_safety safety_of(const struct hf_gateway *gateway, const struct hf_name *name,
                                const struct hf_tool_settings *tool) {
  if (tool && tool->has_safety)
    return tool->safety;
  const struct hf_server *server = hf_gateway_server(gateway, name->server);
  const struct hf_item *item =
      server && server->shared ? hf_listing_find(&server->shared->lists[HF_LIST_TOOLS], name->original) : NULL;
  return item ? item->annotated : HF_SAFETY_UNSAFE;
}

/* Which of its providers a replay goes to is not known before, so what holds must hold at each of them. */
static bool route_is_harmless(const struct hf_gateway *gateway, const struct hf_letter *letter) {
  const struct hf_route_settings *route = find_route(gateway, letter);
  bool harmless = route != NULL;
  for (size_t i = 0; harmless && i < route->provider_count; i++) {
    const struct hf_tool_name *name = &route->providers[i].tool;
    const struct hf_tool_settings *tool = hf_settings_tool(gateway->settings, name->server, name->tool);
    harmless = tool && tool->has_safety && tool->safety == HF_SAFETY_READ_ONLY;
  }
  return harmless;
}

/* For how long the server still knows the letter's key. A key of the future is one of another clock. */
static int64_t key_left_ms(const struct hf_gateway *gateway, const struct hf_letter *letter,
                           const struct hf_tool_settings *tool) {
  int64_t age_ms = gateway->loop->wall_ms - letter->first_ms;
  if (!letter->key.len || tool->key.place == HF_KEY_NONE || age_ms < 0)
    return 0;
  return tool->key.ttl / HF_MS(1) - age_ms;
}

struct hf_replay_repeat hf_replay_may_repeat(const struct hf_gateway *gateway, const struct hf_letter *letter,
                                             bool patched) {
  const struct hf_replay_repeat no = {NULL, 0};
  const struct hf_replay_repeat read_only = {"it may be repeated: read_only", 0};
  const struct hf_replay_repeat idempotent = {"it may be repeated: idempotent", 0};
  if (letter->route.len)
    return route_is_harmless(gateway, letter) ? read_only : no;
  const struct hf_name *name = hf_names_find(&gateway->tool_names, letter->tool);
  if (!name)
    return no;
  const struct hf_tool_settings *tool = hf_settings_tool(gateway->settings, name->server, name->original);
  enum hf_safety safety = safety_of(gateway, name, tool);
  if (safety == HF_SAFETY_READ_ONLY)
    return read_only;
  if (patched || hf_str_equal(letter->executed, HF_STR("yes")))
    return no; /* it would be another effect, or one that is known to be there */
  if (safety == HF_SAFETY_IDEMPOTENT)
    return idempotent;
  int64_t left_ms = safety == HF_SAFETY_KEYED ? key_left_ms(gateway, letter, tool) : 0;
  return left_ms > 0 ? (struct hf_replay_repeat){"it may be repeated: keyed", left_ms} : no;
}
