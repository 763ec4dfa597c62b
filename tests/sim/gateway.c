#include "client_task.h"

#include "base/alloc.h"
#include "gateway/stage/flight.h"
#include "gateway/task/task.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TURNS_AT_ONE_TIME = 100000, TIMERS_RESERVED = 1 << 14 };

/* The wall clock at the beginning of a world. */
#define WALL_MS 1790000000000

/* Beyond this no call can still be open: a question is waited for an hour at most. */
#define LONGEST_WORLD (HF_SECONDS(86400) * 100)

size_t sim_join(const struct hf_pieces *pieces, char text[SIM_TEXT_MAX]) {
  size_t at = 0;
  for (size_t i = 0; i < pieces->count; i++) {
    struct hf_str bytes = pieces->piece[i].bytes;
    if (at + bytes.len >= SIM_TEXT_MAX)
      bytes.len = SIM_TEXT_MAX - 1 - at;
    memcpy(text + at, bytes.ptr, bytes.len);
    at += bytes.len;
  }
  text[at] = '\0';
  return at;
}

long sim_number_after(const char *text, const char *key) {
  const char *at = strstr(text, key);
  if (!at)
    return -1;
  at += strlen(key);
  return *at >= '0' && *at <= '9' ? strtol(at, NULL, 10) : -1;
}

static bool fill_server(struct hf_settings *settings, const struct sim_gateway_options *o, unsigned number,
                        struct hf_server_settings *ret_server) {
  char url[32];
  int m = snprintf(url, sizeof url, "http://h/%u", o->url[number]);
  *ret_server = (struct hf_server_settings){
      .name = hf_str_from(sim_server_name(number)),
      .transport = HF_TRANSPORT_HTTP,
      .url = hf_arena_copy(&settings->arena, (struct hf_str){url, (size_t)m}),
      .era = o->modern[number] ? HF_ERA_MODERN : HF_ERA_LEGACY,
      .instance = o->own[number] ? HF_INSTANCE_SESSION : HF_INSTANCE_SHARED,
      .stateful = o->stateful[number],
      .disabled = o->disabled[number],
      .disabled_reason = HF_STR("disabled: true"),
      .start = o->eager[number] ? HF_START_EAGER : HF_START_LAZY,
      .start_timeout = HF_SECONDS(10),
      .idle_stop = HF_TIME_NEVER,
      .keepalive = HF_TIME_NEVER,
      .policy = {HF_TIMEOUT_OPTIONS_INIT, HF_RETRY_OPTIONS_INIT, HF_BREAKER_OPTIONS_INIT},
      .provider = o->provider,
  };
  if (o->chain.on && o->chain.standby[number] >= 0)
    ret_server->standby = hf_str_from(sim_server_name((unsigned)o->chain.standby[number]));
  ret_server->policy.retry.attempts = o->attempts;
  ret_server->policy.retry.patience = HF_SECONDS(30);
  ret_server->policy.timeout.deadline = o->deadline;
  ret_server->policy.timeout.task = SIM_TASK_TIME;
  ret_server->policy.breaker.failures = o->provider.breaker.failures;
  ret_server->transient_errors.item = hf_arena_alloc(&settings->arena, sizeof *ret_server->transient_errors.item);
  if (!ret_server->url.ptr || !ret_server->transient_errors.item)
    return false;
  ret_server->transient_errors.item[0] = HF_STR("try again");
  ret_server->transient_errors.count = 1;
  return true;
}

static struct hf_settings *make_settings(const struct sim_gateway_options *o) {
  struct hf_settings *settings = hf_settings_new();
  if (!settings)
    return NULL;
  settings->servers = hf_arena_alloc(&settings->arena, o->servers * sizeof *settings->servers);
  bool good = settings->servers != NULL;
  for (unsigned i = 0; good && i < o->servers; i++) {
    if (!o->present[i])
      continue;
    good = fill_server(settings, o, i, &settings->servers[settings->server_count]);
    settings->server_count++;
  }
  settings->limits = (struct hf_limits){.sessions = 100,
                                        .calls = 1000,
                                        .calls_per_client = 500,
                                        .session_upstreams = 8,
                                        .argument_bytes = 1 << 20,
                                        .argument_depth = 64,
                                        .feedback_tokens = 400,
                                        .list_wait = HF_SECONDS(3),
                                        .list_ttl = HF_SECONDS(60),
                                        .drain = HF_SECONDS(5),
                                        .cache_bytes = 1 << 16,
                                        .traces = 16};
  if (o->tasks) {
    settings->limits.tasks = 4000; /* without a store those that have ended are forgotten beyond that */
    settings->limits.tasks_per_client = 100;
    settings->limits.task_ttl = o->task_ttl;
    settings->tool_defaults.tasks = o->task_mode;
  }
  settings->correction = (struct hf_correction_settings){.max = 3, .ttl = HF_SECONDS(600)};
  struct hf_policy policy = {HF_TIMEOUT_OPTIONS_INIT, HF_RETRY_OPTIONS_INIT, HF_BREAKER_OPTIONS_INIT};
  policy.retry.attempts = o->attempts;
  policy.retry.patience = HF_SECONDS(30);
  policy.timeout.deadline = o->deadline;
  policy.timeout.task = SIM_TASK_TIME;
  if (good && o->chain.on)
    good = sim_chain_fill(settings, &o->chain, o->present, o->servers, &policy);
  if (!good) {
    hf_settings_free(settings);
    return NULL;
  }
  return settings;
}

static void draw_provider(struct sim_gateway_options *o, struct sim_world *w) {
  o->provider = (struct hf_provider_options)HF_PROVIDER_OPTIONS_INIT;
  if (sim_world_chance(w, 40))
    o->provider.max_concurrent = (unsigned)sim_world_between(w, 1, 8);
  if (sim_world_chance(w, 20))
    o->provider.max_queued = (unsigned)sim_world_between(w, 0, 20);
  if (sim_world_chance(w, 30))
    o->provider.probe_timeout = 0;
  if (sim_world_chance(w, 30))
    o->provider.max_tools = (unsigned)sim_world_between(w, 0, 2);
  if (sim_world_chance(w, 50))
    o->provider.breaker.failures = (unsigned)sim_world_between(w, 1, 5);
  if (sim_world_chance(w, 30))
    o->provider.adaptive = true;
}

static void draw_options(struct sim_gateway_options *o, struct sim_world *w) {
  o->servers = (unsigned)sim_world_between(w, 1, SIM_SERVERS_MAX);
  o->agents = (unsigned)sim_world_between(w, 1, SIM_AGENTS_MAX);
  o->attempts = (unsigned)sim_world_between(w, 1, 5);
  o->deadline = sim_world_chance(w, 20) ? HF_MS(sim_world_between(w, 1, 20000)) : HF_SECONDS(55);
  o->gap = HF_MS(sim_world_between(w, 1, 3000));
  for (unsigned i = 0; i < o->servers; i++) {
    o->modern[i] = sim_world_chance(w, 50);
    o->own[i] = sim_world_chance(w, 40);
    o->stateful[i] = sim_world_chance(w, 10);
    o->present[i] = true;
    o->eager[i] = sim_world_chance(w, 30);
  }
  draw_provider(o, w);
}

static void look_on(struct sim_gateway *sim) {
  struct hf_buf text;
  hf_buf_init(&text, 1 << 20);
  (void)hf_gateway_ready(sim->gateway, &text);
  int r = hf_gateway_status(sim->gateway, &text);
  if (r == 0)
    r = hf_gateway_metrics(sim->gateway, &text);
  sim_check(sim->check, r == 0 || sim->no_memory, "status or metrics failed", 0);
  const struct hf_corrections *corrections = &sim->gateway->corrections;
  sim_check(sim->check,
            corrections->loops.len <= HF_CORRECTIONS_MAX && corrections->bytes <= HF_CORRECTIONS_BYTES_MAX &&
                (corrections->loops.len == 0) == (corrections->bytes == 0),
            "what callers tried takes more than it may", 0);
  hf_buf_deinit(&text);
}

static void fire_reload(struct sim_timer *timer) {
  struct sim_gateway *sim = HF_CONTAINER_OF(timer, struct sim_gateway, reload);
  struct sim_world *w = sim->world;
  struct sim_gateway_options *o = &sim->options;
  unsigned number = (unsigned)hf_random_below(&w->random, o->servers);
  if (sim->asked < w->call_count)
    sim_timer_set(w, timer, w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(600)), fire_reload);
  if (!sim->gateway)
    return;
  look_on(sim);
  draw_provider(o, w);
  if (sim_world_chance(w, 30))
    o->url[number]++;
  if (sim_world_chance(w, 30))
    o->present[number] = !o->present[number];
  if (sim_world_chance(w, 20))
    o->disabled[number] = !o->disabled[number];
  if (sim_world_chance(w, 20))
    o->own[number] = !o->own[number];
  struct hf_settings *settings = make_settings(o);
  struct hf_error why = {0};
  if (settings && hf_gateway_reload(sim->gateway, settings, &why) < 0) {
    sim_check(sim->check, sim->no_memory, "a reload failed", 0);
    hf_settings_free(settings);
  }
  sim->reloads++;
  if (sim->trace)
    fprintf(sim->trace, "%.6f reload, of server %u\n", (double)w->now / 1e6, number);
}

static void read_hello(struct sim_gateway *sim) {
  static const char *const texts[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{"
      "\"listChanged\":true},\"prompts\":{},\"resources\":{\"subscribe\":true},\"logging\":{},\"tasks\":{\"cancel\":{},"
      "\"requests\":{\"tools\":{\"call\":{}}}}},\"serverInfo\":{"
      "\"name\":\"sim\",\"version\":\"1\"}}}",
      "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
      "\"capabilities\":{\"tools\":{\"listChanged\":true},\"prompts\":{},\"resources\":{\"subscribe\":true},"
      "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}},\"ttlMs\":"
      "0,\"cacheScope\":\"private\"}}",
  };
  struct hf_refusal refusal;
  for (int i = 0; i < 2; i++)
    if (hf_message_decode_copy(hf_str_from(texts[i]), &sim->hello[i], &refusal) < 0)
      abort();
}

/* Returns false if there was no memory for it. */
static bool open_gateway(struct sim_gateway *sim) {
  struct hf_settings *settings = make_settings(&sim->options);
  struct hf_upstream_factory factory = {sim_server_open, sim};
  struct hf_gateway *gateway;
  if (!settings || hf_gateway_new(&sim->loop, settings, &factory, &gateway) < 0) {
    hf_settings_free(settings);
    return false;
  }
  sim->gateway = gateway;
  if (sim->store) {
    sim_store_reopen(sim->store);
    hf_gateway_use_store(gateway, sim_store_head(sim->store));
  }
  hf_gateway_start(gateway);
  return true;
}

static void fire_death(struct sim_timer *timer);

/* Calls that may have run when a gateway died are known to its heir. */
static void check_inheritance(struct sim_gateway *sim) {
  for (unsigned i = 0; i < sim->asked; i++) {
    const struct sim_ask *ask = &sim->asks[i];
    const struct sim_deed *deed = &sim->deeds.deed[ask->deed];
    bool effects = deed->tool == SIM_TOOL_UNSAFE || deed->tool == SIM_TOOL_KEYED;
    bool at_risk = ask->ledgered && effects && deed->known == SIM_DIED && (ask->ran > 0 || deed->under_way > 0);
    bool known = deed->letters > 0 || sim_store_has_failed(sim->store) || sim->no_memory;
    bool by_death = ask->executed < 0 && !ask->vanished;
    sim_check(sim->check, !at_risk || !by_death || known,
              "a gateway died, and nobody knows of a call that may have run", i);
  }
}

static void fire_birth(struct sim_timer *timer) {
  struct sim_gateway *sim = HF_CONTAINER_OF(timer, struct sim_gateway, death);
  struct sim_world *w = sim->world;
  if (!open_gateway(sim)) {
    sim_check(sim->check, sim->no_memory, "a gateway did not start", 0);
    sim_timer_set(w, timer, w->now + HF_SECONDS(1), fire_birth);
    return;
  }
  if (sim->trace)
    fprintf(sim->trace, "%.6f a new gateway\n", (double)w->now / 1e6);
  check_inheritance(sim);
  if (sim->asked < w->call_count && !sim->drained)
    sim_timer_set(w, timer, w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(900)), fire_death);
}

/* Killed: nothing of what it does from here on reaches anybody. */
static void kill_gateway(struct sim_gateway *sim) {
  if (sim->trace)
    fprintf(sim->trace, "%.6f the gateway dies\n", (double)sim->world->now / 1e6);
  sim->deaths++;
  sim_store_die(sim->store);
  sim_operator_end(sim);
  for (unsigned i = 0; i < sim->options.agents; i++)
    sim_agent_cut_off(&sim->agents[i]);
  sim_client_tasks_cut_off(sim);
  hf_gateway_free(sim->gateway);
  sim->gateway = NULL;
  sim_check(sim->check, sim->loop.timer_count == 0, "a timer was left", (unsigned)sim->loop.timer_count);
}

static void fire_death(struct sim_timer *timer) {
  struct sim_gateway *sim = HF_CONTAINER_OF(timer, struct sim_gateway, death);
  struct sim_world *w = sim->world;
  if (sim->drained)
    return;
  kill_gateway(sim);
  sim_timer_set(w, timer, w->now + sim_world_between(w, HF_MS(1), HF_SECONDS(30)), fire_birth);
}

static void trace_options(const struct sim_gateway *sim) {
  const struct sim_chain *chain = &sim->options.chain;
  for (unsigned i = 0; sim->trace && i < sim->options.servers; i++) {
    fprintf(sim->trace, "server %u: own %d, stateful %d, standby %d, child %d\n", i, sim->options.own[i],
            sim->options.stateful[i], chain->standby[i], chain->child[i]);
    for (unsigned kind = 0; chain->on && chain->site[i] == i && kind < SIM_TOOLS_ASKED; kind++) {
      const struct hf_tool_settings *t = &chain->tools[i][kind];
      fprintf(sim->trace, "  %s: safety %d, coalesce %lld, settle %lld, key %d for %lld, letters %d, cache %lld/%lld\n",
              sim_tool_names[kind], t->has_safety, (long long)t->coalesce,
              t->reconcile.tool.server.ptr ? (long long)t->reconcile.settle : -1, t->key.place, (long long)t->key.ttl,
              t->letters, (long long)t->cache.ttl, (long long)t->cache.max_stale);
    }
  }
  for (unsigned kind = 0; sim->trace && chain->on && kind < SIM_TOOLS_ASKED; kind++) {
    const struct sim_route *r = &chain->routes[kind];
    fprintf(sim->trace, "any_%s: present %d, order %d, %u servers from %u, coalesce %lld, letters %d\n",
            sim_tool_names[kind], r->present, r->order, r->server_count, r->servers[0], (long long)r->tool.coalesce,
            r->tool.letters);
  }
}

/* Three worlds of four have the chain, and most of those a store. */
static void draw_chain(struct sim_gateway *sim, uint64_t seed) {
  struct sim_world *w = sim->world;
  if (seed % 4 == 0)
    return;
  sim_chain_draw(&sim->options.chain, w, sim->options.servers);
  for (unsigned i = 0; i < sim->options.servers; i++)
    sim->options.stateful[i] = sim->options.stateful[i] && sim->options.chain.standby[i] < 0;
  if (sim_world_chance(w, 20))
    return;
  sim->store = sim_store_new(sim, sim_world_chance(w, 50), (unsigned)sim_world_between(w, 0, 6));
  if (sim_world_chance(w, 70))
    sim_operator_init(sim);
  if (sim_world_chance(w, 50))
    sim_timer_set(w, &sim->death, sim_world_between(w, HF_SECONDS(1), HF_SECONDS(900)), fire_death);
}

static void draw_task_tool(struct hf_tool_settings *tool, struct sim_world *w) {
  static const enum hf_task_mode modes[] = {HF_TASKS_AUTO, HF_TASKS_AUTO, HF_TASKS_ALWAYS, HF_TASKS_NEVER};
  tool->tasks = modes[hf_random_below(&w->random, sizeof modes / sizeof modes[0])];
  tool->task_after = HF_MS(sim_world_between(w, 0, 5000));
}

/* Every third world has clients that know tasks. */
static void draw_tasks(struct sim_gateway *sim, uint64_t seed) {
  struct sim_world *w = sim->world;
  struct sim_gateway_options *o = &sim->options;
  if (seed % 3 != 1)
    return;
  o->tasks = true;
  o->task_ttl = sim_world_chance(w, 20) ? HF_SECONDS(sim_world_between(w, 60, 600)) : HF_SECONDS(3600);
  o->task_mode = sim_world_chance(w, 50) ? HF_TASKS_ALWAYS : HF_TASKS_AUTO;
  for (unsigned kind = 0; o->chain.on && kind < SIM_TOOLS_ASKED; kind++) {
    draw_task_tool(&o->chain.routes[kind].tool, w);
    for (unsigned i = 0; i < o->servers; i++)
      draw_task_tool(&o->chain.tools[i][kind], w);
  }
}

static void set_up(struct sim_gateway *sim, uint64_t seed) {
  struct sim_world *w = sim->world;
  draw_options(&sim->options, w);
  if (hf_heap_reserve(&w->timers, TIMERS_RESERVED) < 0)
    abort();
  sim->asks = calloc(w->call_count, sizeof *sim->asks);
  if (!sim->asks)
    abort();
  hf_list_init(&sim->ghosts);
  hf_list_init(&sim->works);
  hf_list_init(&sim->client_tasks);
  sim_deeds_init(sim);
  read_hello(sim);
  sim->log_fd = memfd_create("log", MFD_CLOEXEC);
  sim->log = hf_log_new(sim->log_fd, HF_LOG_ERROR, HF_LOG_HUMAN);
  hf_loop_init(&sim->loop, seed, sim->log);
  hf_loop_advance(&sim->loop, 0, WALL_MS);
  draw_chain(sim, seed);
  draw_tasks(sim, seed);
  trace_options(sim);
  if (!open_gateway(sim))
    abort();
  for (unsigned i = 0; i < sim->options.agents; i++)
    sim_agent_init(&sim->agents[i], sim);
  sim_timer_set(w, &sim->reload, sim_world_between(w, HF_SECONDS(1), HF_SECONDS(600)), fire_reload);
}

static int64_t wall_ms(hf_time now) {
  return WALL_MS + now / HF_MS(1);
}

/* Events of the world that fall together with the loop's own come before them or after, as it happens. */
static void turn(struct sim_gateway *sim) {
  struct sim_world *w = sim->world;
  const struct hf_heap_node *top = hf_heap_top(&w->timers);
  hf_time world = top ? top->at : HF_TIME_NEVER, loop = hf_loop_next(&sim->loop);
  if (sim->no_memory && sim_world_chance(w, 2))
    hf_alloc_fail_after((long)hf_random_below(&w->random, 1ULL << hf_random_below(&w->random, 9)));
  bool ours = world < loop || (world == loop && sim_world_chance(w, 50));
  if (ours) {
    hf_loop_advance(&sim->loop, world, wall_ms(world));
    sim_world_turn(w);
  } else {
    w->now = loop == HF_TIME_NEVER ? w->now + HF_SECONDS(1) : hf_time_max(w->now, loop);
    hf_loop_run(&sim->loop, w->now, wall_ms(w->now));
  }
}

/* It lets nobody in any more. */
static bool is_ending(const struct sim_gateway *sim) {
  return sim->gateway && sim->gateway->draining;
}

static void run(struct sim_gateway *sim) {
  struct sim_world *w = sim->world;
  unsigned turns = 0;
  hf_time before = 0;
  while (sim->open > 0 || (sim->asked < w->call_count && !sim->drained) || !sim->gateway ||
         (sim->tasks_open > 0 && !is_ending(sim))) {
    turn(sim);
    turns = w->now == before ? turns + 1 : 0;
    before = w->now;
    if (!sim_check(sim->check, turns < TURNS_AT_ONE_TIME, "time stands still", 0) ||
        !sim_check(sim->check, w->now < LONGEST_WORLD, "a call never ended", 0))
      break;
  }
}

static void note_drained(void *ctx) {
  struct sim_gateway *sim = ctx;
  sim->drains++;
  sim_check(sim->check, sim->gateway->calls == 0, "drained with a call in flight", 0);
}

static void maybe_drain(struct sim_gateway *sim) {
  struct sim_world *w = sim->world;
  unsigned before = (unsigned)hf_random_below(&w->random, w->call_count);
  while ((sim->asked < before && w->now < LONGEST_WORLD) || !sim->gateway)
    turn(sim);
  sim->drained = true;
  hf_gateway_drain(sim->gateway, note_drained, sim);
}

/* The next gateway goes on with tasks that servers run, and can tell of all others. */
static void succeed(struct sim_gateway *sim) {
  struct sim_world *w = sim->world;
  const hf_time until = w->now + HF_SECONDS(400);
  while (sim->drains == 0 || !sim_store_is_idle(sim->store)) {
    turn(sim);
    if (!sim_check(sim->check, w->now < until, "a drain never ends", 0))
      return;
  }
  kill_gateway(sim);
  sim_timer_stop(w, &sim->death);
  while (!open_gateway(sim))
    sim_check(sim->check, sim->no_memory, "a gateway did not start", 0);
  if (sim->trace)
    fprintf(sim->trace, "%.6f a new gateway after the drain\n", (double)w->now / 1e6);
  run(sim);
}

static void check_instance(struct sim_gateway *sim, const struct hf_instance *instance) {
  struct hf_provider_view view;
  hf_provider_view(instance->provider, &view);
  sim_check(sim->check, view.in_flight == 0, "a slot was lost", 0);
  sim_check(sim->check, view.queued == 0, "a waiter was left", 0);
  sim_check(sim->check, hf_list_empty(&instance->attempts), "an attempt was left", 0);
}

/* Nothing of a call outlives it but what it was promised. */
static void check_chain(struct sim_gateway *sim) {
  const struct hf_gateway *gateway = sim->gateway;
  sim_check(sim->check, hf_flights_count(gateway->flights) == 0, "a flight was left",
            (unsigned)hf_flights_count(gateway->flights));
  sim_check(sim->check, hf_list_empty(&gateway->nobody->exchanges), "a call of nobody's goes on", 0);
  sim_check(sim->check, hf_list_empty(&gateway->replays), "a replay goes on", 0);
  size_t bytes = 0;
  for (const struct hf_list *it = gateway->keys.order.next; it != &gateway->keys.order; it = it->next) {
    const struct hf_key_entry *entry = HF_CONTAINER_OF(it, struct hf_key_entry, link);
    bytes += entry->result.len;
    sim_check(sim->check, entry->given || entry->in_round || sim->no_memory, "a key was left that nobody knows", 0);
    sim_check(sim->check, !entry->store_waits, "a key waits for the store", 0);
  }
  sim_check(sim->check, bytes == gateway->keys.result_bytes, "the bytes of keys' results are miscounted", 0);
  if (sim->store)
    sim_store_check_end(sim->store);
}

static void check_end(struct sim_gateway *sim) {
  struct hf_gateway *gateway = sim->gateway;
  sim_check(sim->check, gateway->calls == 0, "the count of calls does not return to zero", (unsigned)gateway->calls);
  sim_check(sim->check, hf_list_empty(&gateway->waiting), "an exchange waits for ever", 0);
  sim_check(sim->check, hf_list_empty(&gateway->ending), "an upstream that does not stop is waited for for ever", 0);
  sim_check(sim->check, sim->drains == (sim->drained ? 1 : 0), "a drain that does not end, or ends twice", sim->drains);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers) {
    const struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    if (server->shared)
      check_instance(sim, server->shared);
    for (const struct hf_list *own = server->own.next; own != &server->own; own = own->next)
      check_instance(sim, HF_CONTAINER_OF(own, struct hf_instance, link));
  }
  check_chain(sim);
  sim_told_check_end(sim);
}

static bool is_busy(const struct sim_gateway *sim) {
  return sim_operator_works(sim) || (sim->store && !sim_store_is_idle(sim->store)) || sim->gateway->calls > 0 ||
         hf_flights_count(sim->gateway->flights) > 0 || !hf_list_empty(&sim->gateway->ending);
}

/* With the chain a call may go on without its client, for a while. */
static void close_agents(struct sim_gateway *sim) {
  for (unsigned i = 0; i < sim->options.agents; i++)
    sim_agent_close(&sim->agents[i]);
  hf_time until = sim->world->now + HF_SECONDS(400);
  while (sim->options.chain.on && sim->world->now < until)
    turn(sim);
  hf_alloc_fail_after(-1);
}

/* What the servers still had in mind is done before the ledger is read. */
static void come_to_rest(struct sim_gateway *sim) {
  for (unsigned i = 0; i < sim->options.agents; i++)
    sim_timer_stop(sim->world, &sim->agents[i].timer);
  sim_client_tasks_leave(sim);
  sim_timer_stop(sim->world, &sim->reload);
  sim_timer_stop(sim->world, &sim->death);
  sim_operator_stop(sim);
  if (sim->options.chain.on && sim_world_chance(sim->world, 50))
    close_agents(sim);
  hf_time until = sim->world->now + HF_SECONDS(400);
  for (unsigned turns = 0; (sim->world->now < until || is_busy(sim)) && turns < TURNS_AT_ONE_TIME; turns++)
    turn(sim);
  hf_alloc_fail_after(-1);
}

/* The gateway logs an error only where its own parts do not fit together. */
static void check_log(struct sim_gateway *sim) {
  char text[SIM_TEXT_MAX];
  ssize_t n = pread(sim->log_fd, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = '\0';
  bool expected = n <= 0 || (sim->store && (sim_store_has_failed(sim->store) || sim->no_memory));
  if (!sim_check(sim->check, expected, "an error was logged", 0))
    fprintf(stderr, "%.*s", (int)n, text);
  hf_log_free(sim->log);
  close(sim->log_fd);
}

/* The gateway's own, for status checks of calls whose client has gone. */
static size_t instances_of_nobody(const struct hf_gateway *gateway) {
  size_t count = 0;
  for (const struct hf_list *it = gateway->servers.next; it != &gateway->servers; it = it->next) {
    const struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    for (const struct hf_list *own = server->own.next; own != &server->own; own = own->next)
      count += HF_CONTAINER_OF(own, struct hf_instance, link)->client == gateway->nobody;
  }
  return count;
}

static void tear_down(struct sim_gateway *sim) {
  sim_check(sim->check, sim->gateway->calls == 0, "a closed client's call goes on", 0);
  const bool runs = hf_tasks_running(sim->gateway->tasks) > 0; /* whose client cannot ask for it any more */
  sim_check(sim->check, runs || sim->gateway->own_instances == instances_of_nobody(sim->gateway),
            "a client's instance was left", (unsigned)sim->gateway->own_instances);
  hf_gateway_free(sim->gateway);
  sim_check(sim->check, sim->loop.timer_count == 0, "a timer was left", (unsigned)sim->loop.timer_count);
  sim_operator_free(sim);
  sim_servers_free(sim);
  sim_ghosts_free(sim);
  sim_works_free(sim);
  sim_client_tasks_free(sim);
  sim_deeds_free(sim);
  hf_loop_deinit(&sim->loop);
  check_log(sim);
  sim_store_free(sim->store);
  hf_message_deinit(&sim->hello[0]);
  hf_message_deinit(&sim->hello[1]);
  free(sim->asks);
}

static void add(struct sim_gateway *totals, const struct sim_gateway *sim) {
  totals->asked += sim->asked;
  totals->answered += sim->answered;
  totals->attempts += sim->attempts;
  totals->cancelled += sim->cancelled;
  totals->successes += sim->successes;
  totals->failures += sim->failures;
  totals->refusals += sim->refusals;
  totals->lost += sim->lost;
  totals->questions += sim->questions;
  totals->reloads += sim->reloads;
  totals->again += sim->again;
  totals->own_risk += sim->own_risk;
  totals->joined += sim->joined;
  totals->cached += sim->cached;
  totals->degraded += sim->degraded;
  totals->checked += sim->checked;
  totals->letters += sim->letters;
  totals->lost_told += sim->lost_told;
  totals->recorded += sim->recorded;
  totals->replays += sim->replays;
  totals->replayed += sim->replayed;
  totals->deaths += sim->deaths;
  totals->works_made += sim->works_made;
  totals->tasks += sim->tasks;
  totals->tasks_ended += sim->tasks_ended;
  totals->tasks_lost += sim->tasks_lost;
}

void sim_gateway_run(uint64_t seed, unsigned calls, bool failing, FILE *trace, struct sim_gateway *totals,
                     struct sim_check *check) {
  struct sim_world world;
  if (sim_world_init(&world, seed, 0, calls) < 0)
    abort();
  struct sim_gateway sim = {.world = &world, .check = check, .trace = trace};
  set_up(&sim, seed);
  sim.no_memory = failing;
  if (sim_world_chance(&world, 20))
    maybe_drain(&sim);
  run(&sim);
  if (sim.tasks_open > 0 && sim.store)
    succeed(&sim);
  come_to_rest(&sim);
  check_end(&sim);
  close_agents(&sim);
  tear_down(&sim);
  add(totals, &sim);
  sim_world_deinit(&world);
}
