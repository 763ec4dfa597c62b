#include "world.h"

#include "daemon/config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS_MAX = 1000000 };

/* What a chain's step takes with its pause, about: the outage begins at any time in the chains. */
static const hf_time STEP_TAKES = HF_MS(700);

hf_time world_between(struct world *world, hf_time low, hf_time high) {
  return low + (hf_time)hf_random_below(&world->random, (uint64_t)(high - low + 1));
}

bool world_chance(struct world *world, unsigned percent) {
  return hf_random_below(&world->random, 100) < percent;
}

void world_trace(struct world *world, const char *format, ...) {
  FILE *trace = world->scene->trace;
  if (!trace)
    return;
  va_list args;
  va_start(args, format);
  fprintf(trace, "%.6f ", (double)world->loop.now / 1e6);
  vfprintf(trace, format, args);
  fputc('\n', trace);
  va_end(args);
}

size_t join(const struct hf_pieces *pieces, char text[TEXT_MAX]) {
  size_t at = 0;
  for (size_t i = 0; i < pieces->count; i++) {
    struct hf_str bytes = pieces->piece[i].bytes;
    if (at + bytes.len >= TEXT_MAX)
      bytes.len = TEXT_MAX - 1 - at;
    memcpy(text + at, bytes.ptr, bytes.len);
    at += bytes.len;
  }
  text[at] = '\0';
  return at;
}

long number_after(const char *text, const char *key) {
  const char *at = strstr(text, key);
  if (!at)
    return -1;
  at += strlen(key);
  return *at >= '0' && *at <= '9' ? strtol(at, NULL, 10) : -1;
}

/* What a user writes: the servers, and what is known of their tools. */
static void write_config(const struct scene *scene, struct hf_buf *text) {
  int r = hf_buf_printf(text, "profile: %s\n%s\nmcpServers:\n", scene->profile, scene->more);
  for (unsigned i = 0; i < SERVERS; i++)
    r |= i + 1 < SERVERS ? hf_buf_printf(text, "  s%u: { url: \"http://s%u.test/mcp\" }\n", i, i)
                         : hf_buf_printf(text, "  s%u: { command: s%u }\n", i, i);
  r |= hf_buf_printf(text, "tools:\n  \"*__look\": { safety: read_only }\n  \"*__told\": { safety: read_only }\n");
  if (scene->has[KIND_KEYED] && !scene->direct)
    r |= hf_buf_printf(text, "  \"*__put\": { safety: keyed, idempotencyKey: { argument: client_token, ttl: 24h } }\n");
  for (unsigned i = 0; i < SERVERS && scene->has[KIND_UNSAFE] && !scene->direct; i++)
    r |= hf_buf_printf(text,
                       "  \"s%u__charge\":\n    reconcile:\n      tool: s%u__told\n"
                       "      arguments: { step: \"{{step}}\" }\n"
                       "      executed: { pointer: /structuredContent/happened, equals: true }\n"
                       "      notExecuted: { pointer: /structuredContent/happened, equals: false }\n"
                       "      settle: %ldms\n",
                       i, i, (long)(scene->settle / HF_MS(1)));
  if (r != 0)
    abort();
}

static struct hf_settings *read_config(const struct scene *scene) {
  static const struct hf_config_options options = {.instance = HF_INSTANCE_SHARED};
  struct hf_buf text;
  struct hf_problems problems;
  struct hf_settings *settings;
  struct hf_error why = {0};
  hf_buf_init(&text, 1 << 16);
  write_config(scene, &text);
  hf_problems_init(&problems);
  if (hf_config_parse(hf_buf_str(&text), &options, &problems, &settings, &why) < 0) {
    fprintf(stderr, "reliability: %s\n", why.text);
    for (size_t i = 0; i < problems.count; i++)
      fprintf(stderr, "  %d: %s\n", problems.item[i].place.line, problems.item[i].text);
    exit(EXIT_FAILURE);
  }
  hf_buf_deinit(&text);
  return settings;
}

static void read_hello(struct world *w) {
  static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\","
                             "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}";
  struct hf_refusal refusal;
  if (hf_message_decode_copy(hf_str_from(text), &w->hello, &refusal) < 0)
    abort();
}

static void nothing_changes(void *owner, const struct hf_upstream_status *status) {
  (void)owner, (void)status;
}

static void nobody_hears(void *owner, const struct hf_message *message) {
  (void)owner, (void)message;
}

static void open_servers(struct world *w) {
  static const struct hf_upstream_events events = {nothing_changes, nobody_hears};
  struct hf_settings *settings = read_config(w->scene);
  for (size_t i = 0; i < settings->server_count; i++) {
    struct hf_upstream *upstream;
    if (server_open(w, &settings->servers[i], HF_STR("{}"), &events, NULL, &upstream) < 0)
      abort();
    upstream->ops->start(upstream);
  }
  hf_settings_free(settings);
}

static void fire_outage(struct hf_timer *timer) {
  struct world *w = HF_CONTAINER_OF(timer, struct world, outage);
  world_trace(w, "server %u is gone", w->out);
  server_vanish(w->servers[w->out]);
}

/* Once everybody has seen the tools. */
static void plan_outage(struct world *w) {
  if (w->scene->outage == 0 || w->gone_at < HF_TIME_NEVER)
    return;
  w->gone_at = w->loop.now + world_between(w, 0, STEP_TAKES * w->scene->steps);
  w->back_at = w->gone_at + w->scene->outage;
  hf_timer_set(&w->loop, &w->outage, w->gone_at);
}

static void turn(struct world *w) {
  hf_loop_run(&w->loop, hf_loop_next(&w->loop), 0);
}

static void run(struct world *w) {
  for (unsigned turns = 0; w->open > 0; turns++) {
    if (turns > TURNS_MAX || hf_loop_next(&w->loop) == HF_TIME_NEVER) {
      fprintf(stderr, "reliability: a world that never ends\n");
      abort();
    }
    if (w->listing == 0)
      plan_outage(w);
    turn(w);
  }
}

/* What the servers still have in mind is done before the ledger is read. */
static void come_to_rest(struct world *w) {
  hf_time until = w->loop.now + w->scene->settle + HF_SECONDS(1);
  while (hf_loop_next(&w->loop) <= until)
    turn(w);
}

static void count(struct world *w) {
  struct totals *t = w->totals;
  for (unsigned i = 0; i < AGENTS; i++) {
    t->chains++;
    t->good += w->agents[i].good;
    for (unsigned j = 0; j < w->scene->steps; j++) {
      const struct step *step = &w->steps[i * STEPS_MAX + j];
      bool twice = step->kind != KIND_READ && step->ran > 1;
      bool lied = (step->told == HF_EXECUTED_NO && step->ran > 0) || (step->told == HF_EXECUTED_YES && step->ran == 0);
      t->doubles += twice;
      t->misreported += lied;
      if (twice || lied)
        world_trace(w, "step %u ran %u times and was told %d", i * STEPS_MAX + j, step->ran, step->told);
    }
  }
}

void world_run(const struct scene *scene, uint64_t seed, struct totals *totals) {
  static struct world w; /* large */
  w = (struct world){.scene = scene, .totals = totals, .open = AGENTS, .listing = AGENTS, .gone_at = HF_TIME_NEVER};
  hf_random_init(&w.random, seed);
  hf_loop_init(&w.loop, seed, NULL);
  read_hello(&w);
  w.out = (unsigned)hf_random_below(&w.random, SERVERS);
  struct hf_upstream_factory factory = {server_open, &w};
  if (hf_timer_init(&w.loop, &w.outage, fire_outage) < 0)
    abort();
  if (scene->direct)
    open_servers(&w);
  else if (hf_gateway_new(&w.loop, read_config(scene), &factory, &w.gateway) < 0)
    abort();
  if (w.gateway)
    hf_gateway_start(w.gateway);
  for (unsigned i = 0; i < AGENTS; i++)
    agent_init(&w.agents[i], &w, i);
  run(&w);
  come_to_rest(&w);
  count(&w);
  for (unsigned i = 0; i < AGENTS; i++)
    agent_deinit(&w.agents[i]);
  if (w.gateway)
    hf_gateway_free(w.gateway);
  for (unsigned i = 0; i < SERVERS; i++)
    server_free(w.servers[i]);
  hf_timer_deinit(&w.loop, &w.outage);
  hf_message_deinit(&w.hello);
  hf_loop_deinit(&w.loop);
}
