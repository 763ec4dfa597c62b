#include "chain.h"

#include "world.h"

#include <stdio.h>
#include <string.h>

const char *const sim_tool_names[] = {"ro", "idem", "unsafe", "keyed", "status"};

static const char *const server_names[] = {"s0", "s1", "s2", "s3"};
static const char *const route_names[] = {"any_ro", "any_idem", "any_unsafe", "any_keyed"};
static const char *const patterns[SIM_SERVERS_MAX][SIM_TOOL_COUNT] = {
    {"s0__ro", "s0__idem", "s0__unsafe", "s0__keyed", "s0__status"},
    {"s1__ro", "s1__idem", "s1__unsafe", "s1__keyed", "s1__status"},
    {"s2__ro", "s2__idem", "s2__unsafe", "s2__keyed", "s2__status"},
    {"s3__ro", "s3__idem", "s3__unsafe", "s3__keyed", "s3__status"},
};

const char *sim_server_name(unsigned server) {
  return server_names[server];
}

static bool is_odd(const struct sim_chain *chain, unsigned server) {
  return chain->on && chain->site[server] % 2 == 1;
}

const char *sim_argument_name(const struct sim_chain *chain, unsigned server) {
  return is_odd(chain, server) ? "num" : "n";
}

static hf_time seconds(struct sim_world *w, unsigned low, unsigned high) {
  return HF_SECONDS(sim_world_between(w, low, high));
}

static void draw_cache(struct hf_tool_settings *tool, struct sim_world *w) {
  if (sim_world_chance(w, 50))
    tool->cache.ttl = HF_MS(sim_world_between(w, 1, 60000));
  if (sim_world_chance(w, 70))
    tool->cache.max_stale = seconds(w, 1, 900);
  tool->cache.keep = sim_world_chance(w, 50);
}

static void draw_degraded(struct hf_tool_settings *tool, struct sim_world *w, bool odd) {
  if (sim_world_chance(w, 20))
    tool->degraded = HF_DEGRADED_EXPLICIT;
  if (sim_world_chance(w, 30))
    tool->fallback.text = odd ? HF_STR("\"A default of n={{num}}\"") : HF_STR("\"A default of n={{n}}\"");
}

static void draw_reconcile(struct hf_tool_settings *tool, struct sim_world *w, bool odd) {
  tool->reconcile = (struct hf_reconcile_settings){
      .tool = {tool->server, HF_STR("status")},
      .arguments = odd ? HF_STR("{\"n\":\"{{num}}\",\"of\":\"work\"}") : HF_STR("{\"n\":\"{{n}}\",\"of\":\"work\"}"),
      .executed = {HF_STR("/structuredContent/ran"), HF_OPERATOR_EQUALS, HF_STR("true")},
      .not_executed = {HF_STR("/structuredContent/ran"), HF_OPERATOR_EQUALS, HF_STR("false")},
      .timeout = HF_MS(sim_world_between(w, 200, 8000)),
      .settle = sim_world_chance(w, 20) ? HF_TIME_NEVER : HF_MS(sim_world_between(w, 0, 30000)),
  };
}

static void draw_key(struct hf_tool_settings *tool, struct sim_world *w) {
  static const struct hf_key_settings places[] = {{.place = HF_KEY_ARGUMENT, .name = HF_STR("k")},
                                                  {.place = HF_KEY_META, .name = HF_STR("sim/key")},
                                                  {.place = HF_KEY_HEADER, .name = HF_STR("X-Key")}};
  tool->key = places[sim_world_between(w, 0, 2)];
  tool->key.ttl = sim_world_chance(w, 40) ? seconds(w, 1, 60) : seconds(w, 60, 3600);
}

static void draw_letters(struct hf_tool_settings *tool, struct sim_world *w) {
  tool->letters = (enum hf_letter_policy)sim_world_between(w, HF_LETTER_OFF, HF_LETTER_ALL);
}

static void draw_shields(struct hf_tool_settings *tool, struct sim_world *w) {
  if (sim_world_chance(w, 30))
    tool->max_concurrent = (uint32_t)sim_world_between(w, 1, 4);
  if (sim_world_chance(w, 40))
    tool->priority = (uint32_t)sim_world_between(w, HF_PRIORITY_FIRST, HF_PRIORITY_LAST);
}

static void draw_coalesce(struct hf_tool_settings *tool, struct sim_world *w) {
  tool->detach = sim_world_chance(w, 30) ? HF_DETACH_CANCEL : HF_DETACH_KEEP;
  if (sim_world_chance(w, 80))
    tool->coalesce = HF_MS(sim_world_between(w, 1, 120000));
}

static void draw_tool(struct hf_tool_settings *tool, struct sim_world *w, unsigned kind, bool odd) {
  *tool = (struct hf_tool_settings){.server = HF_STR("s0"), .letters = HF_LETTER_UNSAFE};
  draw_letters(tool, w);
  draw_shields(tool, w);
  switch (kind) {
  case SIM_TOOL_READ:
    tool->has_safety = sim_world_chance(w, 70);
    tool->safety = HF_SAFETY_READ_ONLY;
    tool->hedge = sim_world_chance(w, 60);
    draw_cache(tool, w);
    draw_degraded(tool, w, odd);
    break;
  case SIM_TOOL_IDEMPOTENT:
    tool->has_safety = sim_world_chance(w, 30);
    tool->safety = HF_SAFETY_IDEMPOTENT;
    draw_degraded(tool, w, odd);
    break;
  case SIM_TOOL_UNSAFE:
    draw_coalesce(tool, w);
    draw_degraded(tool, w, odd);
    if (sim_world_chance(w, 60))
      draw_reconcile(tool, w, odd);
    break;
  case SIM_TOOL_KEYED:
    tool->has_safety = true;
    tool->safety = HF_SAFETY_KEYED;
    draw_coalesce(tool, w);
    draw_degraded(tool, w, odd);
    draw_key(tool, w);
    if (sim_world_chance(w, 30))
      draw_reconcile(tool, w, odd);
    break;
  default:
    break;
  }
}

static void draw_site(struct sim_chain *chain, struct sim_world *w, unsigned site) {
  for (unsigned kind = 0; kind < SIM_TOOL_COUNT; kind++)
    draw_tool(&chain->tools[site][kind], w, kind, site % 2 == 1);
  chain->truth_ttl[site] = chain->tools[site][SIM_TOOL_KEYED].key.ttl;
  if (sim_world_chance(w, 15))
    chain->truth_ttl[site] /= 1 + sim_world_between(w, 1, 10);
}

static void draw_route(struct sim_chain *chain, struct sim_world *w, unsigned kind, unsigned servers) {
  struct sim_route *route = &chain->routes[kind];
  route->present = sim_world_chance(w, 80);
  route->order = (enum hf_route_order)sim_world_between(w, HF_ROUTE_PRIORITY, HF_ROUTE_SPLIT);
  route->server_count = (unsigned)sim_world_between(w, 1, servers);
  unsigned first = (unsigned)sim_world_between(w, 0, servers - 1);
  for (unsigned i = 0; i < route->server_count; i++) {
    route->servers[i] = (first + i) % servers;
    route->weights[i] = (uint32_t)sim_world_between(w, 0, 10);
  }
  route->maps_result = sim_world_chance(w, 50);
  route->tool = (struct hf_tool_settings){.letters = HF_LETTER_UNSAFE};
  draw_letters(&route->tool, w);
  draw_shields(&route->tool, w);
  draw_coalesce(&route->tool, w);
  draw_cache(&route->tool, w);
  draw_degraded(&route->tool, w, false);
}

/* A few pairs of servers are two endpoints of one. */
static void draw_standbys(struct sim_chain *chain, struct sim_world *w, unsigned servers) {
  for (unsigned i = 0; i < servers; i++) {
    chain->site[i] = i;
    chain->standby[i] = -1;
  }
  for (unsigned i = 0; i + 1 < servers; i += 2) {
    if (!sim_world_chance(w, 40))
      continue;
    chain->site[i + 1] = i;
    chain->standby[i] = (int)i + 1;
  }
}

void sim_chain_draw(struct sim_chain *chain, struct sim_world *w, unsigned servers) {
  *chain = (struct sim_chain){.on = true};
  draw_standbys(chain, w, servers);
  for (unsigned i = 0; i < servers; i++) {
    if (chain->site[i] == i)
      draw_site(chain, w, i);
    chain->child[i] = sim_world_chance(w, 30);
  }
  for (unsigned i = 0; i < servers; i++) {
    for (unsigned kind = 0; kind < SIM_TOOL_COUNT; kind++) {
      struct hf_tool_settings *tool = &chain->tools[i][kind];
      *tool = chain->tools[chain->site[i]][kind];
      tool->server = hf_str_from(server_names[i]);
      tool->pattern = hf_str_from(patterns[i][kind]);
      if (tool->reconcile.tool.server.ptr)
        tool->reconcile.tool.server = tool->server;
    }
  }
  for (unsigned kind = 0; kind < SIM_TOOLS_ASKED; kind++)
    draw_route(chain, w, kind, servers);
}

static bool fill_tools(struct hf_settings *settings, const struct sim_chain *chain, unsigned servers) {
  settings->tools = hf_arena_alloc(&settings->arena, sizeof *settings->tools * servers * SIM_TOOL_COUNT);
  for (unsigned i = 0; settings->tools && i < servers; i++)
    for (unsigned kind = 0; kind < SIM_TOOL_COUNT; kind++)
      settings->tools[settings->tool_count++] = chain->tools[i][kind];
  return settings->tools != NULL;
}

static bool fill_providers(struct hf_settings *settings, const struct sim_chain *chain, const struct sim_route *from,
                           unsigned kind, const bool *present, struct hf_route_settings *route) {
  route->providers = hf_arena_alloc(&settings->arena, sizeof *route->providers * from->server_count);
  for (unsigned i = 0; route->providers && i < from->server_count; i++) {
    unsigned server = from->servers[i];
    if (!present[server])
      continue;
    bool odd = is_odd(chain, server);
    route->providers[route->provider_count++] = (struct hf_route_provider){
        .tool = {hf_str_from(server_names[server]), hf_str_from(sim_tool_names[kind])},
        .arguments = odd ? HF_STR("{\"num\":\"{{n}}\",\"how\":{\"fast\":true}}") : (struct hf_str){NULL, 0},
        .result =
            from->maps_result ? HF_STR("{\"content\":\"{{content}}\",\"isError\":false}") : (struct hf_str){NULL, 0},
        .weight = from->weights[i],
    };
  }
  return route->providers != NULL;
}

static bool fill_routes(struct hf_settings *settings, const struct sim_chain *chain, const bool *present,
                        const struct hf_policy *policy) {
  settings->routes = hf_arena_alloc(&settings->arena, sizeof *settings->routes * SIM_TOOLS_ASKED);
  for (unsigned kind = 0; settings->routes && kind < SIM_TOOLS_ASKED; kind++) {
    const struct sim_route *from = &chain->routes[kind];
    struct hf_route_settings *route = &settings->routes[settings->route_count];
    if (!from->present)
      continue;
    *route = (struct hf_route_settings){
        .name = hf_str_from(route_names[kind]),
        .input_schema = HF_STR("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"k\":{}},"
                               "\"required\":[\"n\"]}"),
        .order = from->order,
        .policy = *policy,
        .tool = from->tool,
    };
    if (!fill_providers(settings, chain, from, kind, present, route))
      return false;
    settings->route_count += route->provider_count > 0;
  }
  return settings->routes != NULL;
}

bool sim_chain_fill(struct hf_settings *settings, const struct sim_chain *chain, const bool *present, unsigned servers,
                    const struct hf_policy *policy) {
  return fill_tools(settings, chain, servers) && fill_routes(settings, chain, present, policy);
}

bool sim_chain_reaches(const struct sim_chain *chain, int server, unsigned tool, unsigned to) {
  if (server >= 0) {
    for (int at = server, steps = 0; at >= 0 && steps < SIM_SERVERS_MAX;
         at = chain->on ? chain->standby[at] : -1, steps++)
      if ((unsigned)at == to)
        return true;
    return false;
  }
  const struct sim_route *route = &chain->routes[tool];
  for (unsigned i = 0; i < route->server_count; i++)
    if (route->servers[i] == to)
      return true;
  return false;
}

const struct hf_tool_settings *sim_chain_tool(const struct sim_chain *chain, int server, unsigned tool) {
  return server < 0 ? &chain->routes[tool].tool : &chain->tools[server][tool];
}
