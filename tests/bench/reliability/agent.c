#include "world.h"

#include <stdlib.h>
#include <string.h>

static const char *const tools[KIND_COUNT] = {"look", "put", "charge"};

/* The pause between two steps, in which a model would think. */
static const hf_time THINKS = HF_MS(500);

static struct step *step_of(struct agent *a) {
  return &a->world->steps[a->number * STEPS_MAX + a->at];
}

static unsigned number_of(struct agent *a) {
  return a->number * STEPS_MAX + a->at;
}

static void end_chain(struct agent *a, bool good) {
  a->over = true;
  a->good = good;
  a->world->open--;
}

static void note_reason(struct totals *totals, const char *name) {
  for (size_t i = 0; i < REASONS_MAX; i++) {
    struct tally *tally = &totals->reasons[i];
    if (tally->count == 0)
      snprintf(tally->name, sizeof tally->name, "%s", name);
    if (strcmp(tally->name, name) == 0) {
      tally->count++;
      return;
    }
  }
}

/* "charge: deadline, executed maybe, 2 attempts" */
static void note_failure(struct agent *a, const char *text) {
  static const char *const told[] = {"nothing", "no", "maybe", "yes"};
  char reason[32] = "error", name[64];
  const char *at = strstr(text, "\"reason\":\"");
  if (at)
    snprintf(reason, sizeof reason, "%.*s", (int)strcspn(at + 10, "\""), at + 10);
  const struct step *step = step_of(a);
  snprintf(name, sizeof name, "%s: %s, executed %s, %s", tools[step->kind], reason, told[step->told + 1],
           strstr(text, "\"attempts\":0") ? "never tried" : "tried");
  note_reason(a->world->totals, name);
}

static void step_ended(struct agent *a, bool good, const char *text) {
  struct world *w = a->world;
  struct step *step = step_of(a);
  step->good = good;
  step->took = w->loop.now - step->began;
  world_trace(w, "agent %u, step %u is told: %s", a->number, number_of(a), text);
  w->totals->longest = hf_time_max(w->totals->longest, step->took);
  if (!good) {
    note_failure(a, text);
    end_chain(a, false);
    return;
  }
  w->totals->step_us += (unsigned long long)step->took;
  if (++a->at == w->scene->steps)
    end_chain(a, true);
  else
    hf_timer_set(&w->loop, &a->timer, w->loop.now + world_between(w, 0, 2 * THINKS));
}

static void read_told(struct step *step, const char *text) {
  static const char *const words[] = {"\"executed\":\"no\"", "\"executed\":\"maybe\"", "\"executed\":\"yes\""};
  for (int i = 0; i < 3; i++)
    if (strstr(text, words[i]))
      step->told = i;
}

/* An answer to a step is the right one if it is that step's own; or if the answer was lost and found out: it ran. */
static void take_answer(struct agent *a, const char *text) {
  struct step *step = step_of(a);
  bool failed = strstr(text, "\"error\":{") || strstr(text, "\"isError\":true");
  read_told(step, text);
  if (!failed && number_after(text, "n=") == (long)number_of(a)) {
    step->told = HF_EXECUTED_YES;
    step_ended(a, true, text);
    return;
  }
  step_ended(a, step->kind == KIND_UNSAFE && step->told == HF_EXECUTED_YES, text);
}

static void begin_chain(struct agent *a) {
  struct world *w = a->world;
  a->listed = true;
  w->listing--;
  hf_timer_set(&w->loop, &a->timer, w->loop.now + world_between(w, 0, 2 * THINKS));
}

static void on_message(struct hf_reply *reply, struct hf_pieces *text) {
  (void)reply;
  hf_pieces_deinit(text);
}

static void on_finish(struct hf_reply *reply, int http_status, struct hf_pieces *pieces) {
  struct agent *a = HF_CONTAINER_OF(reply, struct agent, reply);
  char text[TEXT_MAX];
  (void)http_status;
  join(pieces, text);
  hf_pieces_deinit(pieces);
  if (!a->listed)
    begin_chain(a);
  else
    take_answer(a, text);
}

static void on_notify(struct hf_client *client, void *owner, struct hf_pieces *text) {
  (void)client, (void)owner;
  hf_pieces_deinit(text);
}

static const struct hf_reply_ops reply_ops = {on_message, on_finish};
static const struct hf_client_ops client_ops = {on_notify};

static void ask_gateway(struct agent *a, const char *text) {
  struct hf_message message;
  struct hf_refusal refusal;
  if (hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0)
    abort();
  a->reply = (struct hf_reply){.ops = &reply_ops};
  hf_client_handle(a->client, &message, &a->reply);
}

static void direct_sent(void *ctx, size_t bytes, bool complete) {
  (void)ctx, (void)bytes, (void)complete;
}

static void direct_life(void *ctx) {
  (void)ctx;
}

static void direct_message(void *ctx, const struct hf_message *message) {
  (void)ctx, (void)message;
}

static void direct_done(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct agent *a = ctx;
  (void)evidence;
  hf_timer_stop(&a->world->loop, &a->timer);
  a->ref = NULL;
  step_ended(a, response != NULL, "\"reason\":\"a fault\"");
}

static const struct hf_attempt_events direct_events = {direct_sent, direct_life, direct_message, direct_done, NULL};

/* Whoever is called without a gateway has to be there already. */
static const hf_time SERVERS_START_IN = HF_SECONDS(1);

/* The patience of the official clients. */
static const hf_time CLIENT_TIMEOUT = HF_SECONDS(60);

static void ask_server(struct agent *a, const char *text) {
  struct world *w = a->world;
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  if (hf_pieces_add_copy(&pieces, hf_str_from(text)) < 0)
    abort();
  struct hf_upstream *upstream = server_upstream(w->servers[step_of(a)->server]);
  struct hf_upstream_request request = {
      .id = number_of(a) + 1, .method = HF_METHOD_TOOLS_CALL, .text = &pieces, .events = &direct_events, .ctx = a};
  hf_timer_set(&w->loop, &a->timer, w->loop.now + CLIENT_TIMEOUT);
  if (upstream->ops->request(upstream, &request, &a->ref) < 0)
    abort();
}

#define MODERN                                                                                                         \
  "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{"     \
  "\"name\":\"agent\",\"version\":\"1\"},\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void begin_step(struct agent *a) {
  struct world *w = a->world;
  struct step *step = step_of(a);
  char text[TEXT_MAX], prefix[8] = "";
  step->told = -1;
  step->began = w->loop.now;
  w->totals->steps++;
  if (!w->scene->direct)
    snprintf(prefix, sizeof prefix, "s%u__", step->server);
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{\"name\":\"%s%s\",\"arguments\":{"
           "\"step\":%u}," MODERN "}}",
           number_of(a) + 1, prefix, tools[step->kind], number_of(a));
  if (w->scene->direct)
    ask_server(a, text);
  else
    ask_gateway(a, text);
}

static void fire_agent(struct hf_timer *timer) {
  struct agent *a = HF_CONTAINER_OF(timer, struct agent, timer);
  if (a->ref) { /* it waits no longer */
    struct hf_upstream *upstream = server_upstream(a->world->servers[step_of(a)->server]);
    upstream->ops->abort(upstream, a->ref, HF_STR("timeout"));
    a->ref = NULL;
    step_ended(a, false, "\"reason\":\"timeout\"");
  } else if (a->listed) {
    begin_step(a);
  } else if (a->world->scene->direct) {
    begin_chain(a);
  } else {
    ask_gateway(a, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"tools/list\",\"params\":{" MODERN "}}");
  }
}

static void plan(struct agent *a) {
  struct world *w = a->world;
  for (unsigned i = 0; i < w->scene->steps; i++) {
    struct step *step = &w->steps[a->number * STEPS_MAX + i];
    step->server = (unsigned)hf_random_below(&w->random, SERVERS);
    step->told = -1;
    do {
      step->kind = (enum kind)hf_random_below(&w->random, KIND_COUNT);
    } while (!w->scene->has[step->kind]);
  }
}

void agent_init(struct agent *agent, struct world *world, unsigned number) {
  *agent = (struct agent){.world = world, .number = number};
  plan(agent);
  if (hf_timer_init(&world->loop, &agent->timer, fire_agent) < 0)
    abort();
  struct hf_client_options options = {.era = HF_ERA_MODERN, .ops = &client_ops, .owner = agent};
  if (!world->scene->direct && hf_client_open(world->gateway, &options, &agent->client) < 0)
    abort();
  hf_timer_set(&world->loop, &agent->timer, world->loop.now + SERVERS_START_IN);
}

void agent_deinit(struct agent *agent) {
  if (agent->client)
    hf_client_close(agent->client);
  hf_timer_deinit(&agent->world->loop, &agent->timer);
}
