#include "client_task.h"

#include "gateway/stage/intent.h"

#include <stdlib.h>
#include <string.h>

static struct sim_world *world_of(const struct sim_agent *a) {
  return a->sim->world;
}

static void trace(struct sim_gateway *sim, const char *what, unsigned number, const char *text) {
  if (sim->trace)
    fprintf(sim->trace, "%.6f %s %u %s\n", (double)sim->world->now / 1e6, what, number, text);
}

static void end_pause(struct sim_ask *ask) {
  if (ask->questions > 0)
    ask->paused += ask->sim->world->now - ask->paused_at;
  ask->questions = 0;
}

static void set_adrift(struct sim_agent *a) {
  if (a->adrift++ == 0)
    a->adrift_at = world_of(a)->now;
}

static void end_adrift(struct sim_agent *a) {
  if (--a->adrift == 0)
    a->adrift_time += world_of(a)->now - a->adrift_at;
}

static hf_time adrift_time(const struct sim_agent *a) {
  return a->adrift_time + (a->adrift > 0 ? world_of(a)->now - a->adrift_at : 0);
}

/* The front has the reply again. */
static void over(struct sim_ask *ask) {
  struct sim_agent *a = ask->agent;
  end_pause(ask);
  ask->open = false;
  ask->sim->open--;
  if (ask->ledgered)
    ask->sim->deeds.deed[ask->deed].open--;
  sim_timer_stop(ask->sim->world, &ask->cancel);
  for (unsigned i = 0; i < a->question_count; i++) {
    if (a->questions[i].ask != ask)
      continue;
    a->questions[i].ask = NULL;
    set_adrift(a);
  }
}

/* What lies on its stream it may fetch, or not. */
static void answered_away(struct sim_ask *ask) {
  struct sim_gateway *sim = ask->sim;
  if (sim_world_chance(sim->world, 50))
    ask->away = false;
  if (!ask->away)
    hf_client_heard(sim->gateway, ask->reply.call);
}

/* It did not hear what it was told. */
static void note_unheard(struct sim_ask *ask) {
  struct sim_deed *deed = &ask->sim->deeds.deed[ask->deed];
  if (!ask->away || !ask->ledgered || deed->known == SIM_TOLD_NO || deed->known == SIM_DIED)
    return;
  deed->known = SIM_VANISHED;
  deed->gone_at = ask->sim->world->now;
}

static void on_finish(struct hf_reply *reply, int http_status, struct hf_pieces *pieces) {
  struct sim_ask *ask = HF_CONTAINER_OF(reply, struct sim_ask, reply);
  struct sim_gateway *sim = ask->sim;
  char text[SIM_TEXT_MAX], id[32];
  size_t len = sim_join(pieces, text);
  hf_pieces_deinit(pieces);
  trace(sim, "answer", ask->number, text);
  if (!sim_check(sim->check, ask->open, "answered twice, or after it was given up", ask->number))
    return;
  over(ask);
  const bool away = ask->away;
  if (away)
    answered_away(ask);
  sim->answered++;
  hf_time adrift = adrift_time(ask->agent) - ask->adrift_until;
  hf_time took = sim->world->now - ask->started - ask->paused - adrift;
  sim_check(sim->check, took <= ask->deadline, "a call outlived its deadline", ask->number);
  if (http_status == HF_STATUS_CANCELLED) {
    sim_check(sim->check, ask->cancelled || sim->drained, "cancelled by nobody", ask->number);
    sim->cancelled++;
    ask->vanished |= away; /* it was away for too long: it may go on */
    note_unheard(ask);
    return;
  }
  if (len == 0) {
    sim_check(sim->check, http_status == 500 && sim->no_memory, "an answer without text", ask->number);
    sim->lost++;
    if (ask->ledgered)
      sim->deeds.deed[ask->deed].known = SIM_TOLD;
    return;
  }
  snprintf(id, sizeof id, "\"id\":%u,", ask->id);
  sim_check(sim->check, strstr(text, id) != NULL, "an answer under another id", ask->number);
  if (sim_client_task_begin(ask, text))
    return;
  sim_told(ask, text);
  note_unheard(ask);
  if (ask->method == HF_METHOD_INITIALIZE && strstr(text, "\"result\""))
    ask->agent->ready = true;
}

/* A question to a person; `ask` is NULL if it belongs to no request. One that came on no stream is taken to belong to
 * one request, and then to another, as they end. */
static void note_question(struct sim_agent *a, struct sim_ask *ask, const char *text) {
  struct sim_gateway *sim = a->sim;
  if (strstr(text, "\"anybodys\""))
    ask = NULL;
  long id = sim_number_after(text, "\"id\":"), token = sim_number_after(text, "t=");
  sim_check(sim->check, a->asks_back, "a question to one that did not say it could be asked", a->endpoint);
  if (!sim_check(sim->check, id >= 0 && token >= 0, "a question without its id", 0) ||
      a->question_count == SIM_QUESTIONS_MAX)
    return;
  sim->questions++;
  a->questions[a->question_count++] = (struct sim_question){(unsigned long)id, (unsigned)token, ask};
  if (!ask)
    set_adrift(a);
  else if (ask->questions++ == 0)
    ask->paused_at = sim->world->now;
  struct sim_world *w = sim->world;
  if (a->patience.node.place == 0)
    sim_timer_set(w, &a->patience, w->now + sim_world_between(w, 0, HF_SECONDS(200)), a->patience.fire);
}

static void forget_question(struct sim_agent *a, unsigned i) {
  struct sim_ask *ask = a->questions[i].ask;
  if (!ask)
    end_adrift(a);
  else if (ask->questions == 1)
    end_pause(ask);
  else
    ask->questions--;
  a->questions[i] = a->questions[--a->question_count];
}

static void void_question(struct sim_agent *a, const char *text) {
  long id = sim_number_after(text, "\"requestId\":");
  for (unsigned i = 0; i < a->question_count; i++) {
    if ((long)a->questions[i].id == id) {
      forget_question(a, i);
      return;
    }
  }
}

static void hear(struct sim_agent *a, struct sim_ask *ask, struct hf_pieces *pieces) {
  char text[SIM_TEXT_MAX];
  sim_join(pieces, text);
  hf_pieces_deinit(pieces);
  trace(a->sim, "message to", ask ? ask->number : 0, text);
  if (strstr(text, "\"elicitation/create\""))
    note_question(a, ask, text);
  else if (strstr(text, "\"notifications/cancelled\""))
    void_question(a, text);
  if (!ask || !strstr(text, "\"notifications/progress\""))
    return;
  struct sim_check *check = a->sim->check;
  const char *at = strstr(text, "\"progress\":");
  double progress = at ? strtod(at + strlen("\"progress\":"), NULL) : -1;
  sim_check(check, sim_number_after(text, "\"progressToken\":") == (long)ask->id, "progress under another token",
            ask->number);
  long echo = sim_number_after(text, "n=");
  sim_check(check, echo < 0 || echo == (long)ask->deed, "progress of another call", ask->number);
  sim_check(check, progress > ask->progress, "progress fell", ask->number);
  ask->progress = progress;
}

static void on_message(struct hf_reply *reply, struct hf_pieces *pieces) {
  struct sim_ask *ask = HF_CONTAINER_OF(reply, struct sim_ask, reply);
  sim_check(ask->sim->check, ask->open, "a message after the answer", ask->number);
  hear(ask->agent, ask, pieces);
}

static void on_notify(struct hf_client *client, void *owner, struct hf_pieces *pieces) {
  struct sim_agent *a = owner;
  sim_check(a->sim->check, a->client == client, "a message to a client that is gone", 0);
  hear(a, NULL, pieces);
}

static const struct hf_reply_ops reply_ops = {on_message, on_finish};
static const struct hf_client_ops client_ops = {on_notify};

/* Returns false if there was no memory to read it. */
static bool hand_in(struct sim_agent *a, struct sim_ask *ask, const char *text) {
  struct hf_message message;
  struct hf_refusal refusal;
  if (hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0) {
    sim_check(a->sim->check, a->sim->no_memory, "a text that is no message", 0);
    return false;
  }
  hf_client_handle(a->client, &message, ask ? &ask->reply : NULL);
  return true;
}

/* An allocation fails once only. */
static void tell(struct sim_agent *a, const char *text) {
  if (!hand_in(a, NULL, text))
    (void)hand_in(a, NULL, text);
}

/* Whoever calls again for what is not protected means it once more. */
static void note_call(struct sim_agent *a, const struct sim_ask *ask) {
  struct sim_gateway *sim = a->sim;
  struct sim_deed *deed = &sim->deeds.deed[ask->deed];
  if (deed->calls++ > 0) {
    bool protected = sim_deed_is_protected(sim, a, ask->deed);
    deed->meant += !protected;
    sim->again++;
    sim->own_risk += !protected;
    if (sim->trace)
      fprintf(sim->trace, "%.6f again %u, meant %u times\n", (double)sim->world->now / 1e6, ask->deed, deed->meant);
  } else {
    deed->first = sim->world->now;
  }
  deed->open++;
  deed->own = sim_deed_goes_to_own(sim, deed);
  deed->opened = a->opened;
  deed->reloads = (unsigned)sim->reloads;
}

static void send_ask(struct sim_agent *a, struct sim_ask *ask, const char *text) {
  struct sim_gateway *sim = a->sim;
  ask->reply = (struct hf_reply){.ops = &reply_ops};
  ask->open = true;
  ask->started = sim->world->now;
  ask->adrift_until = adrift_time(ask->agent);
  sim->open++;
  if (ask->ledgered)
    note_call(a, ask);
  trace(sim, "ask", ask->number, text);
  if (!hand_in(a, ask, text))
    over(ask);
}

/* A call waits for a key's note, its intent and its letter; and may have followed one that waited for the same. */
static hf_time store_patience(const struct sim_gateway *sim) {
  return sim->store ? 4 * HF_INTENT_WAIT + HF_CALL_LETTER_WAIT : 0;
}

/* The next request of the world, or NULL. */
static struct sim_ask *next_ask(struct sim_agent *a, enum hf_method method) {
  struct sim_gateway *sim = a->sim;
  if (sim->asked == sim->world->call_count)
    return NULL;
  struct sim_ask *ask = &sim->asks[sim->asked];
  sim->deeds.deed[sim->asked] = (struct sim_deed){.lost_at = HF_TIME_NEVER, .meant = 1, .principal = a->principal};
  *ask = (struct sim_ask){
      .sim = sim,
      .agent = a,
      .deed = sim->asked,
      .number = sim->asked,
      .id = sim_world_chance(sim->world, 2) ? a->next_id : a->next_id++, /* some clients use one twice */
      .method = method,
      .most = sim->options.attempts + 1, /* a lost session is renewed once */
      .deadline = sim->options.deadline + sim->gateway->settings->limits.list_wait + store_patience(sim),
      .progress = -1,
      .executed = -1,
  };
  sim->asked++;
  return ask;
}

/* Its id tells which one is meant. */
static bool is_only_one(const struct sim_ask *ask) {
  const struct sim_gateway *sim = ask->sim;
  for (unsigned i = 0; i < sim->asked; i++) {
    const struct sim_ask *other = &sim->asks[i];
    if (other != ask && other->open && other->agent == ask->agent && other->id == ask->id)
      return false;
  }
  return true;
}

/* Its stream breaks. What was told of another call for the same says nothing of this one. */
static void vanish(struct sim_ask *ask) {
  struct sim_deed *deed = &ask->sim->deeds.deed[ask->deed];
  trace(ask->sim, "vanishes", ask->number, "");
  over(ask);
  ask->vanished = true;
  if (!ask->ledgered)
    return;
  deed->gone_at = ask->sim->world->now;
  if (deed->known != SIM_TOLD && deed->known != SIM_DIED)
    deed->known = SIM_VANISHED;
  if (sim_world_chance(ask->sim->world, 70)) {
    hf_time window = sim_chain_tool(&ask->sim->options.chain, deed->server, deed->tool)->coalesce;
    sim_agent_plan(ask->agent, ask->deed, sim_world_between(ask->sim->world, 0, HF_SECONDS(5) + window * 3 / 2));
  }
}

static void fire_back(struct sim_timer *timer) {
  struct sim_ask *ask = HF_CONTAINER_OF(timer, struct sim_ask, cancel);
  trace(ask->sim, "is back", ask->number, "");
  ask->away = false;
  hf_client_back(ask->agent->client, &ask->reply);
}

/* Its stream breaks, of the era in which that says nothing. */
static void go_away(struct sim_ask *ask) {
  struct sim_world *w = ask->sim->world;
  trace(ask->sim, "is away", ask->number, "");
  ask->away = true;
  ask->deadline = hf_time_add(ask->deadline, SIM_TASK_TIME);
  hf_client_away(ask->agent->client, &ask->reply);
  if (sim_world_chance(w, 50))
    sim_timer_set(w, &ask->cancel, w->now + sim_world_between(w, 0, HF_SECONDS(20)), fire_back);
  if (ask->ledgered && sim_world_chance(w, 70))
    sim_agent_plan(ask->agent, ask->deed, sim_world_between(w, 0, HF_SECONDS(100)));
}

static void fire_cancel(struct sim_timer *timer) {
  struct sim_ask *ask = HF_CONTAINER_OF(timer, struct sim_ask, cancel);
  struct sim_agent *a = ask->agent;
  ask->cancelled = true;
  if (a->era == HF_ERA_LEGACY && sim_world_chance(ask->sim->world, 50)) {
    go_away(ask);
    return;
  }
  if (a->stateless || !is_only_one(ask) || sim_world_chance(ask->sim->world, 50)) {
    vanish(ask);
    hf_client_abandon(a->client, &ask->reply);
    return;
  }
  char text[SIM_TEXT_MAX];
  bool waited = sim_world_chance(ask->sim->world, 50);
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%u%s}}", ask->id,
           waited ? ",\"reason\":\"Request timed out\"" : "");
  if (ask->ledgered)
    ask->sim->deeds.deed[ask->deed].known = SIM_TOLD; /* as it was asked for */
  ask->away = ask->vanished = waited;                 /* likewise */
  tell(a, text);
  sim_check(ask->sim->check, !ask->open || ask->sim->store, "a cancelled request goes on", ask->number);
}

#define MODERN(capabilities)                                                                                           \
  ",\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"                             \
  "clientCapabilities\":" capabilities ",\"io.modelcontextprotocol/logLevel\":\"debug\""

static void write_meta(struct sim_agent *a, struct sim_ask *ask, char *text, size_t size) {
  struct sim_world *w = world_of(a);
  char hints[256] = "";
  /* Without memory a hint may go unread. */
  if (ask->ledgered && !a->sim->no_memory && sim_world_chance(w, 5)) {
    unsigned attempts = 1 + (unsigned)hf_random_below(&w->random, 3);
    unsigned ms = 1 + (unsigned)hf_random_below(&w->random, 30000);
    if (attempts + ask->targets < ask->most)
      ask->most = attempts + ask->targets;
    ask->deadline =
        hf_time_min(ask->deadline, HF_MS(ms) + a->sim->gateway->settings->limits.list_wait + store_patience(a->sim));
    snprintf(hints, sizeof hints, "\"deadlineMs\":%u,\"maxAttempts\":%u", ms, attempts);
  }
  if (ask->ledgered && a->sim->deeds.deed[ask->deed].key[0])
    snprintf(hints + strlen(hints), sizeof hints - strlen(hints), "%s\"idempotencyKey\":\"%s\"", hints[0] ? "," : "",
             a->sim->deeds.deed[ask->deed].key);
  snprintf(text, size, "\"_meta\":{\"progressToken\":%u,\"sim/ask\":%u,\"sim/who\":%u,\"dev.holdfast/call\":{%s}%s}",
           ask->id, ask->number, a->principal, hints,
           a->era != HF_ERA_MODERN ? ""
           : a->knows_tasks ? MODERN("{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}},\"elicitation\":{}}")
                            : MODERN("{}"));
}

static void plan_cancel(struct sim_ask *ask) {
  struct sim_world *w = ask->sim->world;
  if (ask->open && sim_world_chance(w, 5))
    sim_timer_set(w, &ask->cancel, w->now + sim_world_between(w, 0, HF_SECONDS(sim_world_chance(w, 50) ? 1 : 60)),
                  fire_cancel);
}

void sim_agent_plan(struct sim_agent *a, unsigned deed, hf_time after) {
  if (!a->sim->options.chain.on || a->again_count == SIM_AGAIN_MAX)
    return;
  a->again[a->again_count++] = (struct sim_again){deed, world_of(a)->now + after};
}

/* How many attempts it may take: repeats, hedges, and a new session at each target. */
static void set_bounds(struct sim_ask *ask, const struct sim_deed *deed) {
  const struct sim_gateway *sim = ask->sim;
  const struct sim_chain *chain = &sim->options.chain;
  bool read_only = false;
  ask->targets = 0;
  for (unsigned i = 0; i < sim->options.servers; i++) {
    if (!sim_chain_reaches(chain, deed->server, deed->tool, i))
      continue;
    ask->targets++;
    read_only = read_only || (chain->on && chain->tools[i][SIM_TOOL_READ].has_safety);
  }
  ask->read_only = read_only && deed->tool == SIM_TOOL_READ;
  ask->most = ask->targets * (sim->options.attempts * (chain->on && deed->tool == SIM_TOOL_READ ? 2 : 1) + 1);
}

/* A client of 2025-11-25 asks for a task, mostly. */
static const char *wish_of(const struct sim_agent *a) {
  return a->knows_tasks && a->era == HF_ERA_LEGACY && sim_world_chance(world_of(a), 70) ? "\"task\":{}," : "";
}

static void call_for(struct sim_agent *a, struct sim_ask *ask, const char *name) {
  struct sim_gateway *sim = a->sim;
  const struct sim_deed *deed = &sim->deeds.deed[ask->deed];
  char text[SIM_TEXT_MAX], meta[SIM_TEXT_MAX / 2], shown[32];
  ask->ledgered = true;
  ask->unsafe = deed->tool == SIM_TOOL_UNSAFE;
  set_bounds(ask, deed);
  if (deed->server < 0)
    snprintf(shown, sizeof shown, "any_%s", name);
  else if (a->endpoint < 0)
    snprintf(shown, sizeof shown, "%s__%s", sim_server_name((unsigned)deed->server), name);
  else
    snprintf(shown, sizeof shown, "%s", name);
  write_meta(a, ask, meta, sizeof meta);
  const char *argument = deed->server < 0 ? "n" : sim_argument_name(&sim->options.chain, (unsigned)deed->server);
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/"
           "call\",\"params\":{\"name\":\"%s\",\"arguments\":{\"%s\":%u},%s%s}}",
           ask->id, shown, argument, ask->deed, wish_of(a), meta);
  send_ask(a, ask, text);
  plan_cancel(ask);
}

/* Something that was read before, by whomever. */
static const struct sim_deed *choose_known(struct sim_agent *a, const struct sim_deed *wanted, unsigned *ret_number) {
  struct sim_gateway *sim = a->sim;
  for (unsigned back = 1; back <= 30 && back < sim->asked; back++) {
    unsigned number = sim->asks[sim->asked - 1 - back].deed;
    const struct sim_deed *deed = &sim->deeds.deed[number];
    if (sim->asks[sim->asked - 1 - back].ledgered && deed->tool == SIM_TOOL_READ && deed->server == wanted->server &&
        sim_world_chance(sim->world, 30)) {
      *ret_number = number;
      return deed;
    }
  }
  return NULL;
}

/* Its own, or by mistake that of another deed of this principal. */
static void choose_key(struct sim_agent *a, struct sim_deed *deed, unsigned number) {
  struct sim_gateway *sim = a->sim;
  snprintf(deed->key, sizeof deed->key, "key-%u", number);
  for (unsigned i = number; deed->server >= 0 && i-- > 0 && i + 60 > number;) {
    const struct sim_deed *other = &sim->deeds.deed[i];
    if (!other->key[0] || other->borrowed || other->server != deed->server || other->principal != deed->principal ||
        !sim_world_chance(sim->world, 10))
      continue;
    snprintf(deed->key, sizeof deed->key, "key-%u", i);
    deed->borrowed = true;
    return;
  }
}

static void call_tool(struct sim_agent *a) {
  struct sim_world *w = world_of(a);
  struct sim_ask *ask = next_ask(a, HF_METHOD_TOOLS_CALL);
  if (!ask)
    return;
  struct sim_gateway *sim = a->sim;
  const struct sim_chain *chain = &sim->options.chain;
  struct sim_deed *deed = &sim->deeds.deed[ask->deed];
  deed->tool = (unsigned)hf_random_below(&w->random, chain->on ? SIM_TOOLS_ASKED : SIM_TOOLS_PLAIN);
  deed->server = a->endpoint >= 0 ? a->endpoint : (int)hf_random_below(&w->random, sim->options.servers);
  if (chain->on && a->endpoint < 0 && chain->routes[deed->tool].present && sim_world_chance(w, 50))
    deed->server = -1;
  if (chain->on && deed->tool == SIM_TOOL_KEYED && sim_world_chance(w, 40))
    choose_key(a, deed, ask->deed);
  if (chain->on && deed->tool == SIM_TOOL_READ && sim_world_chance(w, 60))
    (void)choose_known(a, deed, &ask->deed);
  call_for(a, ask, sim_world_chance(w, 2) ? "invented" : sim_tool_names[deed->tool]);
}

/* What it means to ask for again by now. Returns false if there is nothing. */
static bool call_again(struct sim_agent *a) {
  struct sim_gateway *sim = a->sim;
  for (unsigned i = 0; i < a->again_count; i++) {
    unsigned number = a->again[i].deed;
    const struct sim_deed *deed = &sim->deeds.deed[number];
    if (a->again[i].at > sim->world->now || (a->endpoint >= 0 && a->endpoint != deed->server))
      continue;
    a->again[i] = a->again[--a->again_count];
    struct sim_ask *ask = next_ask(a, HF_METHOD_TOOLS_CALL);
    if (!ask)
      return true;
    ask->deed = number;
    call_for(a, ask, sim_tool_names[deed->tool]);
    return true;
  }
  return false;
}

static void ask_for(struct sim_agent *a, enum hf_method method) {
  struct sim_ask *ask = next_ask(a, method);
  if (!ask)
    return;
  char text[SIM_TEXT_MAX], meta[SIM_TEXT_MAX / 2], more[128] = "";
  if (method == HF_METHOD_PROMPTS_GET)
    snprintf(more, sizeof more, "\"name\":\"%sgreet\",\"arguments\":{\"n\":%u},", a->endpoint < 0 ? "s0__" : "",
             ask->number);
  else if (method == HF_METHOD_SUBSCRIPTIONS_LISTEN)
    snprintf(more, sizeof more, "\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"r:0\"]},");
  else if (method == HF_METHOD_LOGGING_SET_LEVEL)
    snprintf(more, sizeof more, "\"level\":\"error\",");
  else if (hf_method_info(method)->target == HF_TARGET_URI)
    snprintf(more, sizeof more, "\"uri\":\"r:%u\",", (unsigned)hf_random_below(&world_of(a)->random, 3));
  write_meta(a, ask, meta, sizeof meta);
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%.*s\",\"params\":{%s%s}}", ask->id,
           HF_STR_FMT(hf_method_info(method)->name), more, meta);
  if (method == HF_METHOD_SUBSCRIPTIONS_LISTEN)
    ask->deadline = HF_TIME_NEVER; /* open until one side ends it */
  send_ask(a, ask, text);
  if (ask->open && ask->deadline == HF_TIME_NEVER) {
    struct sim_world *w = world_of(a);
    sim_timer_set(w, &ask->cancel, w->now + sim_world_between(w, 0, HF_SECONDS(600)), fire_cancel);
    return;
  }
  plan_cancel(ask);
}

static void introduce(struct sim_agent *a) {
  struct sim_ask *ask = next_ask(a, HF_METHOD_INITIALIZE);
  if (!ask)
    return;
  char text[SIM_TEXT_MAX];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\","
           "\"capabilities\":{%s},\"clientInfo\":{\"name\":\"sim\",\"version\":\"1\"}}}",
           ask->id, a->knows_tasks ? "2025-11-25" : "2025-06-18", a->asks_back ? "\"elicitation\":{}" : "");
  a->greeting = ask;
  send_ask(a, ask, text);
}

static void open_client(struct sim_agent *a) {
  struct sim_world *w = world_of(a);
  struct sim_gateway *sim = a->sim;
  if (!sim->gateway)
    return;
  char principal[SIM_NAME_MAX];
  snprintf(principal, sizeof principal, "p%u", a->principal);
  a->opened++;
  a->era = sim_world_chance(w, 50) ? HF_ERA_LEGACY : HF_ERA_MODERN;
  a->endpoint = sim_world_chance(w, 50) ? -1 : (int)hf_random_below(&w->random, sim->options.servers);
  a->asks_back = a->era == HF_ERA_LEGACY && sim_world_chance(w, 70);
  a->ready = a->era == HF_ERA_MODERN;
  a->knows_tasks = sim->options.tasks && sim_world_chance(w, 70);
  a->introduced = false;
  a->greeting = NULL;
  a->next_id = 1;
  char name[SIM_NAME_MAX];
  snprintf(name, sizeof name, "s%d", a->endpoint);
  struct hf_client_options options = {
      .era = sim_world_chance(w, 50) ? HF_ERA_UNKNOWN : a->era,
      .principal = hf_str_from(principal),
      .ops = &client_ops,
      .owner = a,
  };
  a->stateless = options.era == HF_ERA_MODERN;
  if (a->endpoint >= 0)
    options.server = hf_str_from(name);
  struct hf_client *client;
  int r = hf_client_open(sim->gateway, &options, &client);
  bool expected = r == HF_ERR_CLOSED || r == HF_ERR_NOTFOUND || (r == HF_ERR_NOMEM && sim->no_memory);
  sim_check(sim->check, r == 0 || expected, "a client was not let in", 0);
  if (r < 0)
    return;
  a->client = client;
  if (a->era == HF_ERA_LEGACY)
    introduce(a);
}

void sim_agent_close(struct sim_agent *a) {
  struct sim_gateway *sim = a->sim;
  if (!a->client)
    return;
  sim_timer_stop(sim->world, &a->patience);
  struct hf_client *client = a->client;
  while (a->question_count > 0)
    forget_question(a, 0);
  for (unsigned i = 0; i < sim->asked; i++) {
    if (!sim->asks[i].open || sim->asks[i].agent != a)
      continue;
    sim->asks[i].cancelled = true;
    vanish(&sim->asks[i]);
  }
  a->client = NULL;
  hf_client_close(client);
}

void sim_agent_cut_off(struct sim_agent *a) {
  struct sim_gateway *sim = a->sim;
  for (unsigned i = 0; i < sim->asked; i++) {
    struct sim_ask *ask = &sim->asks[i];
    struct sim_deed *deed = &sim->deeds.deed[ask->deed];
    if (ask->agent != a || !ask->ledgered)
      continue;
    bool open = ask->open;
    if (deed->known == SIM_VANISHED || (open && deed->known != SIM_TOLD))
      deed->known = SIM_DIED;
    deed->lost_at = HF_TIME_NEVER;
    if (open && sim_world_chance(sim->world, 70))
      sim_agent_plan(a, ask->deed, sim_world_between(sim->world, 0, HF_SECONDS(100)));
  }
  sim_agent_close(a);
}

/* A person answers the oldest question, or leaves it. */
static void fire_patience(struct sim_timer *timer) {
  struct sim_agent *a = HF_CONTAINER_OF(timer, struct sim_agent, patience);
  struct sim_world *w = world_of(a);
  if (a->question_count == 0)
    return;
  struct sim_question question = a->questions[0];
  forget_question(a, 0);
  if (a->question_count > 0)
    sim_timer_set(w, &a->patience, w->now + sim_world_between(w, 0, HF_SECONDS(100)), fire_patience);
  char text[SIM_TEXT_MAX];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"result\":{\"action\":\"accept\",\"content\":{\"said\":\"t=%u\"}}}",
           question.id, question.token);
  tell(a, text);
}

static void act(struct sim_agent *a) {
  if (a->again_count > 0 && sim_world_chance(world_of(a), 70) && call_again(a))
    return;
  static const enum hf_method both[] = {HF_METHOD_TOOLS_LIST,    HF_METHOD_TOOLS_LIST,  HF_METHOD_PROMPTS_LIST,
                                        HF_METHOD_PROMPTS_GET,   HF_METHOD_PROMPTS_GET, HF_METHOD_RESOURCES_LIST,
                                        HF_METHOD_RESOURCES_READ};
  static const enum hf_method legacy[] = {HF_METHOD_PING, HF_METHOD_RESOURCES_SUBSCRIBE,
                                          HF_METHOD_RESOURCES_UNSUBSCRIBE, HF_METHOD_LOGGING_SET_LEVEL};
  static const enum hf_method modern[] = {HF_METHOD_DISCOVER, HF_METHOD_SUBSCRIPTIONS_LISTEN};
  struct hf_random *random = &world_of(a)->random;
  uint64_t draw = hf_random_below(random, 1000);
  if (draw < 5)
    sim_agent_close(a);
  else if (draw < 60)
    ask_for(a, both[hf_random_below(random, sizeof both / sizeof both[0])]);
  else if (draw < 80 && a->era == HF_ERA_LEGACY)
    ask_for(a, legacy[hf_random_below(random, sizeof legacy / sizeof legacy[0])]);
  else if (draw < 80)
    ask_for(a, modern[hf_random_below(random, sizeof modern / sizeof modern[0])]);
  else
    call_tool(a);
}

static void fire_agent(struct sim_timer *timer) {
  struct sim_agent *a = HF_CONTAINER_OF(timer, struct sim_agent, timer);
  struct sim_world *w = world_of(a);
  if (!a->client)
    open_client(a);
  else if (a->ready && a->era == HF_ERA_LEGACY && !a->introduced)
    a->introduced = hand_in(a, NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
  else if (a->ready)
    act(a);
  else if (!a->greeting || !a->greeting->open)
    sim_agent_close(a); /* it was not let in */
  hf_time pause = sim_world_between(w, 0, a->sim->options.gap);
  if (sim_world_chance(w, 1))
    pause += HF_SECONDS(sim_world_between(w, 1, 600));
  if (a->sim->asked < w->call_count && !a->sim->drained)
    sim_timer_set(w, &a->timer, w->now + pause, fire_agent);
}

void sim_agent_init(struct sim_agent *agent, struct sim_gateway *sim) {
  *agent = (struct sim_agent){.sim = sim};
  agent->principal = (unsigned)sim_world_between(sim->world, 0, SIM_PRINCIPALS - 1);
  agent->patience.fire = fire_patience;
  sim_timer_set(sim->world, &agent->timer, sim_world_between(sim->world, 0, sim->options.gap), fire_agent);
}
