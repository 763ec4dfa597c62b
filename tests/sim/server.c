#include "work.h"

#include <stdlib.h>
#include <string.h>

static struct sim_world *world_of(const struct sim_server *s) {
  return s->sim->world;
}

static void fire_life(struct sim_timer *timer);
static void fire_start(struct sim_timer *timer);

static void live_on(struct sim_server *s) {
  struct sim_world *w = world_of(s);
  sim_timer_set(w, &s->timer, w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(200)), fire_life);
}

void sim_server_change_mood(struct sim_server *s) {
  static const unsigned weights[SIM_MOOD_COUNT] = {60, 30, 10};
  struct sim_world *w = world_of(s);
  if (w->now < s->mood_until)
    return;
  uint64_t draw = hf_random_below(&w->random, 100);
  s->mood = SIM_HEALTHY;
  while (draw >= weights[s->mood])
    draw -= weights[s->mood++];
  s->mood_until = w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(300));
}

void sim_server_tell(struct sim_server *s, enum hf_evidence_kind why) {
  struct hf_upstream_status status = {
      .phase = s->phase,
      .era = s->modern ? HF_ERA_MODERN : HF_ERA_LEGACY,
      .version = s->modern ? HF_STR("2026-07-28") : HF_STR("2025-06-18"),
      .hello = s->phase == HF_UPSTREAM_READY ? &s->sim->hello[s->modern] : NULL,
      .evidence = HF_EVIDENCE(why),
      .reason = why == HF_EVIDENCE_NONE ? (struct hf_str){NULL, 0} : HF_STR("exit code 1"),
      .retry_at = s->retry_at,
      .starts = s->starts,
  };
  s->events->changed(s->owner, &status);
}

static void report_down(struct sim_server *s, bool first, enum hf_upstream_phase phase, enum hf_evidence_kind why) {
  if (first)
    sim_server_tell(s, why);
  s->killing = why == HF_EVIDENCE_NOT_STARTED && s->sim->options.chain.child[s->number];
  while (!hf_list_empty(&s->requests)) {
    struct hf_attempt_ref *ref = HF_CONTAINER_OF(s->requests.next, struct hf_attempt_ref, link);
    sim_attempt_break_off(ref);
    if (s->freed)
      return;
  }
  if (!first && s->phase == phase)
    sim_server_tell(s, why);
}

/* The news of the end comes before that of the requests, or after it. */
void sim_server_come_down(struct sim_server *s, enum hf_upstream_phase phase, enum hf_evidence_kind why) {
  struct sim_world *w = world_of(s);
  s->phase = phase;
  s->retry_at = w->now + sim_world_between(w, 0, HF_SECONDS(2));
  if (phase == HF_UPSTREAM_PARKED)
    s->retry_at = HF_TIME_NEVER;
  live_on(s);
  sim_work_forget(s);
  report_down(s, sim_world_chance(w, 50), phase, why);
}

static void start(struct sim_server *s) {
  struct sim_world *w = world_of(s);
  if (s->phase == HF_UPSTREAM_PARKED)
    s->retry_at = 0;
  s->phase = HF_UPSTREAM_STARTING;
  s->starts++;
  sim_timer_set(w, &s->timer, hf_time_max(w->now, s->retry_at) + sim_world_between(w, HF_MS(1), HF_SECONDS(3)),
                fire_start);
}

static void fire_start(struct sim_timer *timer) {
  struct sim_server *s = HF_CONTAINER_OF(timer, struct sim_server, timer);
  struct sim_world *w = world_of(s);
  sim_server_change_mood(s);
  if (!sim_world_chance(w, s->mood == SIM_OUTAGE ? 10 : 90)) {
    sim_server_come_down(s, sim_world_chance(w, 10) ? HF_UPSTREAM_PARKED : HF_UPSTREAM_DOWN, HF_EVIDENCE_NOT_STARTED);
    return;
  }
  s->phase = HF_UPSTREAM_READY;
  s->retry_at = 0;
  live_on(s);
  sim_server_tell(s, HF_EVIDENCE_NONE);
}

static void send_notice(struct sim_server *s, const char *text) {
  struct hf_message message;
  struct hf_refusal refusal;
  if (hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0)
    return;
  s->events->message(s->owner, &message);
  hf_message_deinit(&message);
}

static void ask_without_stream(struct sim_server *s) {
  char text[SIM_TEXT_MAX];
  unsigned token = ++s->sim->next_token;
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":\"q%u\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"t=%u\","
           "\"anybodys\":true}}",
           token, token);
  send_notice(s, text);
}

/* What a server does though nobody asked. */
static void fire_life(struct sim_timer *timer) {
  struct sim_server *s = HF_CONTAINER_OF(timer, struct sim_server, timer);
  struct sim_world *w = world_of(s);
  live_on(s);
  if (s->phase == HF_UPSTREAM_PARKED || s->phase == HF_UPSTREAM_DOWN) {
    if (sim_world_chance(w, 30))
      start(s); /* its own supervisor */
    return;
  }
  if (s->phase != HF_UPSTREAM_READY)
    return;
  switch (sim_world_between(w, 0, 8)) {
  case 0:
    sim_server_come_down(s, HF_UPSTREAM_DOWN, HF_EVIDENCE_NOT_STARTED);
    break;
  case 1:
    if (hf_list_empty(&s->requests)) {
      s->phase = HF_UPSTREAM_IDLE;
      sim_server_tell(s, HF_EVIDENCE_NONE);
    }
    break;
  case 2:
    sim_server_tell(s, HF_EVIDENCE_NONE); /* a new session */
    break;
  case 3:
    send_notice(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    break;
  case 4:
    send_notice(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":"
                   "\"x\"}}");
    break;
  case 5:
  case 6:
    ask_without_stream(s);
    break;
  case 7:
    send_notice(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"r:0\"}}");
    break;
  default:
    break;
  }
}

static void op_start(struct hf_upstream *head) {
  struct sim_server *s = (struct sim_server *)head;
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  if (s->phase == HF_UPSTREAM_IDLE || s->phase == HF_UPSTREAM_DOWN)
    start(s);
}

static void op_revive(struct hf_upstream *head) {
  struct sim_server *s = (struct sim_server *)head;
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  s->retry_at = 0;
  if (s->phase == HF_UPSTREAM_IDLE || s->phase == HF_UPSTREAM_DOWN || s->phase == HF_UPSTREAM_PARKED)
    start(s);
}

static unsigned tool_of(const char *text) {
  for (unsigned tool = 0; tool < SIM_TOOL_COUNT; tool++) {
    char name[32];
    snprintf(name, sizeof name, "\"name\":\"%s\"", sim_tool_names[tool]);
    if (strstr(text, name))
      return tool;
  }
  return SIM_TOOL_COUNT;
}

/* The key, wherever the tool takes it. */
static void read_key(struct hf_attempt_ref *ref, const char *text, const struct hf_upstream_request *request) {
  static const char *const places[] = {"\"k\":\"", "\"sim/key\":\""};
  for (size_t i = 0; i < 2; i++) {
    const char *at = strstr(text, places[i]);
    if (at)
      snprintf(ref->key, sizeof ref->key, "%.*s", (int)strcspn(at + strlen(places[i]), "\""), at + strlen(places[i]));
  }
  for (size_t i = 0; i < request->param_count; i++)
    if (hf_str_equal(request->params[i].name, HF_STR("X-Key")))
      snprintf(ref->key, sizeof ref->key, "%.*s", HF_STR_FMT(request->params[i].value));
}

static bool is_expected(const struct sim_server *s, const struct hf_attempt_ref *ref) {
  const struct sim_gateway *sim = s->sim;
  bool effects = ref->run.tool == SIM_TOOL_UNSAFE || ref->run.tool == SIM_TOOL_KEYED;
  return !effects || !sim->store || sim_store_has_failed(sim->store) || sim->no_memory ||
         sim_store_expects(sim->store, (unsigned)ref->deed);
}

/* Somebody waits for it, or has gone and may come back. */
static bool is_wanted(const struct sim_ask *ask) {
  const struct sim_gateway *sim = ask->sim;
  return ask->open || ask->vanished || sim->deeds.deed[ask->deed].open > 0 || sim->deeds.deed[ask->deed].tasks > 0;
}

static void note_attempt(struct sim_server *s, struct hf_attempt_ref *ref, const char *text) {
  struct sim_gateway *sim = s->sim;
  sim_check(sim->check, !strstr(text, "(null)"), "a request that names nothing", s->number);
  bool named = ref->method == HF_METHOD_TOOLS_CALL || ref->method == HF_METHOD_PROMPTS_GET;
  ref->run.tool = ref->method == HF_METHOD_TOOLS_CALL ? tool_of(text) : SIM_TOOL_COUNT;
  ref->run.site = sim->options.chain.on ? sim->options.chain.site[s->number] : s->number;
  ref->deed = named ? sim_number_after(text, "\"n\":") : -1;
  if (named && ref->deed < 0)
    ref->deed = sim_number_after(text, "\"num\":");
  ref->number = named ? sim_number_after(text, "\"sim/ask\":") : -1;
  ref->who = sim_number_after(text, "\"sim/who\":");
  if (ref->deed >= 0)
    ref->run.deed = (unsigned)ref->deed;
  if (ref->deed < 0 || ref->run.tool == SIM_TOOL_STATUS)
    return;
  sim->attempts++;
  sim_check(sim->check, is_expected(s, ref), "a request with effects was sent without an intent", ref->run.deed);
  if (ref->number < 0)
    return;
  struct sim_ask *ask = &sim->asks[ref->number];
  ref->goes_on = strstr(text, "\"requestState\"") != NULL;
  ask->attempts += ref->goes_on ? 0 : 1;
  sim_check(sim->check, is_wanted(ask), "a request was sent of a call that is over", ask->number);
  sim_check(sim->check, ask->attempts <= ask->most, "more attempts than allowed", ask->number);
}

static int op_request(struct hf_upstream *head, struct hf_upstream_request *request, struct hf_attempt_ref **ret_ref) {
  struct sim_server *s = (struct sim_server *)head;
  struct sim_world *w = world_of(s);
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  if (s->phase != HF_UPSTREAM_READY)
    return HF_ERR_UNAVAILABLE;
  if (sim_world_chance(w, 1) && sim_world_chance(w, 2))
    s->full_until = w->now + sim_world_between(w, 0, HF_SECONDS(10));
  if (w->now < s->full_until)
    return HF_ERR_LIMIT;
  struct hf_attempt_ref *ref = calloc(1, sizeof *ref);
  if (!ref)
    abort();
  char text[SIM_TEXT_MAX];
  ref->len = sim_join(request->text, text);
  hf_pieces_deinit(request->text);
  ref->server = s;
  ref->events = request->events;
  ref->ctx = request->ctx;
  ref->id = request->id;
  ref->method = request->method;
  ref->new_session = request->new_session;
  ref->left_at = HF_TIME_NEVER;
  read_key(ref, text, request);
  note_attempt(s, ref, text);
  ref->takes_task = strstr(text, s->modern ? "io.modelcontextprotocol/tasks" : "\"task\":{}") != NULL;
  ref->can_be_asked = strstr(text, "\"elicitation\"") != NULL;
  sim_work_note(ref, text);
  ref->plan = sim_attempt_plan(s);
  if (s->sim->trace)
    fprintf(s->sim->trace, "%.6f server %u request %lu of %ld, fault %d, key '%s': %s\n", (double)w->now / 1e6,
            s->number, (unsigned long)ref->id, ref->deed, ref->plan.fault, ref->key, text);
  hf_list_push_back(&s->requests, &ref->link);
  sim_attempt_next(ref, request->new_session ? HF_MS(20) : sim_world_between(w, 0, HF_MS(1)));
  *ret_ref = ref;
  return 0;
}

static void op_abort(struct hf_upstream *head, struct hf_attempt_ref *ref, struct hf_str reason) {
  struct sim_server *s = (struct sim_server *)head;
  (void)reason;
  sim_check(s->sim->check, ref->server == s && !ref->muted, "a request was given up twice", s->number);
  sim_attempt_leave(ref);
}

/* The answer to a question reaches who asked it, with that question's own token. */
static void op_post(struct hf_upstream *head, struct hf_attempt_ref *about, struct hf_pieces *pieces) {
  struct sim_server *s = (struct sim_server *)head;
  char text[SIM_TEXT_MAX];
  (void)about;
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  sim_join(pieces, text);
  hf_pieces_deinit(pieces);
  long id = sim_number_after(text, "\"id\":\"q");
  if (id < 0)
    return;
  long token = sim_number_after(text, "t=");
  sim_check(s->sim->check, token < 0 || token == id, "an answer to another question", (unsigned)id);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &s->requests) {
    struct hf_attempt_ref *ref = HF_CONTAINER_OF(it, struct hf_attempt_ref, link);
    if (ref->token == (unsigned)id)
      sim_attempt_next(ref, HF_MS(5));
  }
}

static void fire_stop(struct sim_timer *timer) {
  struct sim_server *s = HF_CONTAINER_OF(timer, struct sim_server, timer);
  s->phase = HF_UPSTREAM_IDLE;
  report_down(s, sim_world_chance(world_of(s), 50), HF_UPSTREAM_IDLE, HF_EVIDENCE_NONE);
}

/* Now and then one does not go. */
static void op_stop(struct hf_upstream *head) {
  struct sim_server *s = (struct sim_server *)head;
  struct sim_world *w = world_of(s);
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  if (sim_world_chance(w, 80))
    sim_timer_set(w, &s->timer, w->now + sim_world_between(w, 0, HF_SECONDS(10)), fire_stop);
}

/* What was sent may still be done, but nobody hears of it. */
static void op_free(struct hf_upstream *head) {
  struct sim_server *s = (struct sim_server *)head;
  sim_check(s->sim->check, !s->freed, "an upstream was freed twice", s->number);
  s->freed = true;
  s->phase = HF_UPSTREAM_IDLE;
  sim_timer_stop(world_of(s), &s->timer);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &s->requests) {
    struct hf_attempt_ref *ref = HF_CONTAINER_OF(it, struct hf_attempt_ref, link);
    if (!ref->muted)
      sim_attempt_leave(ref);
  }
}

static const struct hf_upstream_ops server_ops = {op_start, op_revive, op_request, op_abort, op_post, op_stop, op_free};

int sim_server_open(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
                    const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream) {
  struct sim_gateway *sim = ctx;
  struct sim_server *s = calloc(1, sizeof *s);
  if (!s)
    abort();
  s->head.ops = &server_ops;
  s->sim = sim;
  s->next = sim->servers;
  sim->servers = s;
  s->events = events;
  s->owner = owner;
  s->number = (unsigned)(settings->name.ptr[1] - '0');
  s->modern = settings->era == HF_ERA_MODERN;
  s->asks = capabilities.len > 2;
  hf_list_init(&s->requests);
  *ret_upstream = &s->head;
  return 0;
}

void sim_servers_free(struct sim_gateway *sim) {
  while (sim->servers) {
    struct sim_server *s = sim->servers;
    sim_check(sim->check, s->freed, "an upstream was left", s->number);
    while (!hf_list_empty(&s->requests))
      sim_attempt_release(HF_CONTAINER_OF(s->requests.next, struct hf_attempt_ref, link));
    sim->servers = s->next;
    free(s);
  }
}
