#include "client_task.h"

#include <stdlib.h>
#include <string.h>

enum { ID_SIZE = 64, ROUNDS_MAX = 16, ANSWERS_MAX = 4 };

/* What is kept of one that has ended is kept for so long, even if its time was over before. */
#define GRACE HF_SECONDS(57)

/* A gateway's store is waited for so long. */
#define LOOK_TIME HF_SECONDS(6)

/* By then a call has ended, with all that may be asked in it. */
#define LONGEST_TASK HF_SECONDS(6 * 3600)

/* Its endpoint may be gone for good. */
#define PATIENCE HF_SECONDS(1800)

enum look { LOOK_GREET, LOOK_STATE, LOOK_RESULT, LOOK_UPDATE, LOOK_CANCEL, LOOK_STRANGE, LOOK_STRANGE_CANCEL };

struct sim_client_task {
  struct hf_list link; /* of the world's */
  struct sim_timer timer;
  struct sim_gateway *sim;
  struct sim_ask *ask;
  struct hf_reply reply;
  struct hf_client *client; /* whoever looks now, or NULL */
  bool open;                /* it waits for an answer */
  bool greeted;
  enum look look;
  enum hf_era era; /* of who looks */
  char id[ID_SIZE];
  int endpoint;
  hf_time told_at;
  hf_time asked_at;
  hf_time heard_at; /* when it was last told how it is */
  hf_time ttl;
  unsigned next_id;
  bool ended; /* and its client knows */
  bool gone;  /* nothing more is to be had of it */
  bool had_result;
  bool was_cancelled; /* its client asked for that */
  char state[SIM_TEXT_MAX];
  char keys[ANSWERS_MAX][ID_SIZE]; /* of what it asks … */
  unsigned tokens[ANSWERS_MAX];    /* … and what is to be echoed */
  unsigned question_count;
  unsigned looks; /* after its end */
};

static bool has(const char *text, const char *part) {
  return strstr(text, part) != NULL;
}

static void trace(const struct sim_client_task *t, const char *what, const char *text) {
  if (t->sim->trace)
    fprintf(t->sim->trace, "%.6f task of %u: %s %s\n", (double)t->sim->world->now / 1e6, t->ask->number, what, text);
}

static void fire(struct sim_timer *timer);

static void look_again(struct sim_client_task *t, hf_time after) {
  struct sim_world *w = t->sim->world;
  sim_timer_set(w, &t->timer, w->now + after, fire);
}

/* Nobody waits for it any more. */
static void settled(struct sim_client_task *t) {
  struct sim_gateway *sim = t->sim;
  if (t->ended || t->gone)
    return;
  sim->tasks_open--;
  sim->deeds.deed[t->ask->deed].tasks--;
}

/* What became of it its client will not know. */
static void lose(struct sim_client_task *t, const char *why) {
  trace(t, "is lost:", why);
  if (!t->ended && !t->gone) {
    settled(t);
    t->ask->vanished = true;
    t->sim->deeds.deed[t->ask->deed].known = SIM_TOLD;
    t->sim->tasks_lost++;
  }
  t->gone = true;
}

static void hang_up(struct sim_client_task *t) {
  struct hf_client *client = t->client;
  t->client = NULL;
  t->open = false;
  t->greeted = false;
  if (client)
    hf_client_close(client);
}

static bool is_excused(const struct sim_gateway *sim) {
  return sim->no_memory || (sim->store && sim_store_has_failed(sim->store));
}

/* It may have ended and been forgotten since its client heard of it. */
static void hear_unknown(struct sim_client_task *t) {
  const hf_time now = t->sim->world->now;
  const bool over = now + HF_SECONDS(3) >= t->told_at + t->ttl;
  const bool forgotten = over && (t->ended || now - t->heard_at >= hf_time_min(GRACE, t->ttl));
  sim_check(t->sim->check, forgotten || is_excused(t->sim), "a task is not known to its client", t->ask->number);
  lose(t, "unknown");
}

static void read_questions(struct sim_client_task *t, const char *text) {
  static const char mark[] = "\":{\"method\":\"elicitation/create\"";
  t->question_count = 0;
  for (const char *at = strstr(text, mark); at && t->question_count < ANSWERS_MAX; at = strstr(at + 1, mark)) {
    const char *begin = at;
    while (begin > text && begin[-1] != '"')
      begin--;
    const long token = sim_number_after(at, "t=");
    if (token < 0 || at - begin >= ID_SIZE)
      continue;
    snprintf(t->keys[t->question_count], ID_SIZE, "%.*s", (int)(at - begin), begin);
    t->tokens[t->question_count++] = (unsigned)token;
  }
}

static void note_end(struct sim_client_task *t, const char *state, const char *status) {
  struct sim_gateway *sim = t->sim;
  settled(t);
  t->ended = true;
  t->looks = (unsigned)hf_random_below(&sim->world->random, 4);
  snprintf(t->state, sizeof t->state, "%s", state);
  sim->tasks_ended++;
  if (strcmp(status, "cancelled") == 0)
    sim_told_cancelled(t->ask, has(state, "Nothing was executed"));
  else
    sim_told(t->ask, state);
  const bool by_somebody = t->was_cancelled || sim->drained || sim->no_memory || has(state, "\"result\"");
  sim_check(sim->check, by_somebody || strcmp(status, "cancelled") != 0, "a task was cancelled by nobody",
            t->ask->number);
}

/* As a modern client sees it. */
static void hear_state(struct sim_client_task *t, const char *text) {
  struct sim_check *check = t->sim->check;
  const char *state = strstr(text, "\"taskId\":"), *at = state ? strstr(state, "\"status\":\"") : NULL;
  char status[32] = "";
  if (!sim_check(check, at && sscanf(at, "\"status\":\"%31[^\"]\"", status) == 1, "a state of a task without a status",
                 t->ask->number))
    return;
  const bool ended =
      strcmp(status, "completed") == 0 || strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0;
  t->heard_at = t->sim->world->now;
  const long ttl = sim_number_after(state, "\"ttlMs\":");
  if (ttl >= 0)
    t->ttl = HF_MS(ttl);
  sim_check(check, !t->ended || is_excused(t->sim) || strcmp(t->state, state) == 0, "a task that had ended has changed",
            t->ask->number);
  sim_check(check, !t->had_result || ended || is_excused(t->sim), "a task has a result, and goes on", t->ask->number);
  if (t->ended)
    return;
  read_questions(t, state);
  t->ask->asked |= t->question_count > 0;
  sim_check(check, ended || t->heard_at - t->told_at < LONGEST_TASK, "a task never ends", t->ask->number);
  if (ended)
    note_end(t, state, status);
  else if (t->heard_at - t->told_at >= LONGEST_TASK)
    lose(t, "for ever");
}

static bool is_of_gateway(const char *text) {
  return has(text, "the store") || has(text, "shutting down") || has(text, "out of memory") ||
         has(text, "another gateway") || has(text, "too many");
}

static void hear_result(struct sim_client_task *t, const char *text) {
  struct sim_check *check = t->sim->check;
  const long echo = sim_number_after(text, "n=");
  t->had_result = true;
  sim_check(check, echo < 0 || echo == (long)t->ask->deed, "the result of another task", t->ask->number);
}

static void hear_stranger(struct sim_client_task *t, const char *text) {
  sim_check(t->sim->check, has(text, "there is no such task") || is_of_gateway(text) || t->sim->no_memory,
            "a task is known to a stranger", t->ask->number);
}

static void hear(struct sim_client_task *t, const char *text) {
  const bool error = has(text, "\"error\":{") && !has(text, "\"taskId\":\"");
  if (t->look == LOOK_STRANGE || t->look == LOOK_STRANGE_CANCEL)
    hear_stranger(t, text);
  else if (error && has(text, "there is no such task"))
    hear_unknown(t);
  else if (error && is_of_gateway(text))
    trace(t, "cannot be asked", "");
  else if (t->look == LOOK_STATE && !error && t->era == HF_ERA_MODERN)
    hear_state(t, text);
  else if (t->look == LOOK_RESULT)
    hear_result(t, text);
  else if (t->look == LOOK_GREET)
    t->greeted = !error;
  else if (t->look == LOOK_STATE)
    sim_check(t->sim->check, !error || t->sim->no_memory, "a task cannot be asked for", t->ask->number);
}

static void on_finish(struct hf_reply *reply, int http_status, struct hf_pieces *pieces) {
  struct sim_client_task *t = HF_CONTAINER_OF(reply, struct sim_client_task, reply);
  struct sim_gateway *sim = t->sim;
  char text[SIM_TEXT_MAX];
  const size_t len = sim_join(pieces, text);
  hf_pieces_deinit(pieces);
  trace(t, "hears", text);
  if (!sim_check(sim->check, t->open, "a look at a task was answered twice", t->ask->number))
    return;
  t->open = false;
  const bool waits = t->look == LOOK_RESULT || (t->look == LOOK_CANCEL && sim->store); /* until its end is written */
  const bool soon = waits || sim->world->now - t->asked_at <= LOOK_TIME;
  sim_check(sim->check, soon, "a look at a task takes too long", t->ask->number);
  if (len > 0 && http_status != HF_STATUS_CANCELLED)
    hear(t, text);
  else
    sim_check(sim->check, sim->no_memory || sim->drained || t->look == LOOK_RESULT, "a look at a task got no answer",
              t->ask->number);
  look_again(t, HF_MS(1));
}

static bool say(struct sim_client_task *t, const char *text, bool request) {
  struct hf_message message;
  struct hf_refusal refusal;
  trace(t, "asks", text);
  if (hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0) {
    sim_check(t->sim->check, t->sim->no_memory, "a text that is no message", 0);
    return false;
  }
  if (request) {
    t->open = true;
    t->asked_at = t->sim->world->now;
  }
  hf_client_handle(t->client, &message, request ? &t->reply : NULL);
  return true;
}

/* What is asked on the stream of tasks/result is answered there, or not. */
static void on_message(struct hf_reply *reply, struct hf_pieces *pieces) {
  struct sim_client_task *t = HF_CONTAINER_OF(reply, struct sim_client_task, reply);
  char text[SIM_TEXT_MAX];
  sim_join(pieces, text);
  hf_pieces_deinit(pieces);
  trace(t, "is told", text);
  const long id = sim_number_after(text, "\"id\":"), token = sim_number_after(text, "t=");
  if (!has(text, "\"elicitation/create\"") || id < 0 || token < 0 || t->question_count == ANSWERS_MAX)
    return;
  snprintf(t->keys[t->question_count], ID_SIZE, "%ld", id);
  t->tokens[t->question_count++] = (unsigned)token;
}

static void on_notify(struct hf_client *client, void *owner, struct hf_pieces *pieces) {
  (void)client, (void)owner;
  hf_pieces_deinit(pieces);
}

static const struct hf_reply_ops reply_ops = {on_message, on_finish};
static const struct hf_client_ops client_ops = {on_notify};

static int dial(struct sim_client_task *t) {
  char principal[SIM_NAME_MAX];
  const bool strange = t->look == LOOK_STRANGE || t->look == LOOK_STRANGE_CANCEL;
  const bool elsewhere = strange && t->endpoint >= 0 && sim_world_chance(t->sim->world, 50);
  unsigned who = t->ask->agent->principal;
  if (strange && !elsewhere)
    who = (who + 1) % SIM_PRINCIPALS;
  snprintf(principal, sizeof principal, "p%u", who);
  struct hf_client_options options = {
      .era = t->era,
      .principal = hf_str_from(principal),
      .ops = &client_ops,
      .owner = t,
  };
  if (t->endpoint >= 0 && !elsewhere)
    options.server = hf_str_from(sim_server_name((unsigned)t->endpoint));
  return hf_client_open(t->sim->gateway, &options, &t->client);
}

static void write_answers(struct sim_client_task *t, char *text, size_t size) {
  size_t at = (size_t)snprintf(text, size, "\"inputResponses\":{");
  for (unsigned i = 0; i < t->question_count; i++)
    at += (size_t)snprintf(text + at, size - at, "%s\"%s\":{\"action\":\"accept\",\"content\":{\"said\":\"t=%u\"}}",
                           i ? "," : "", t->keys[i], t->tokens[i]);
  snprintf(text + at, size - at, "},");
  t->question_count = 0;
}

static void ask_about(struct sim_client_task *t) {
  static const char *const methods[] = {"initialize",   "tasks/get", "tasks/result", "tasks/update",
                                        "tasks/cancel", "tasks/get", "tasks/cancel"};
  char text[SIM_TEXT_MAX], more[SIM_TEXT_MAX / 2] = "";
  if (t->look == LOOK_UPDATE)
    write_answers(t, more, sizeof more);
  if (t->look == LOOK_CANCEL)
    t->was_cancelled = true;
  t->reply = (struct hf_reply){.ops = &reply_ops};
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{%s\"taskId\":\"%s\"%s}}",
           ++t->next_id, methods[t->look], more, t->id,
           t->era == HF_ERA_LEGACY ? ""
                                   : ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                     "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{"
                                     "\"io.modelcontextprotocol/tasks\":{}}}}");
  (void)say(t, text, true);
}

static void greet(struct sim_client_task *t, enum look after) {
  char text[SIM_TEXT_MAX];
  t->look = LOOK_GREET;
  t->reply = (struct hf_reply){.ops = &reply_ops};
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
           "\"capabilities\":{\"elicitation\":{}},\"clientInfo\":{\"name\":\"sim\",\"version\":\"1\"}}}",
           ++t->next_id);
  if (say(t, text, true))
    (void)say(t, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", false);
  t->look = t->open ? t->look : after;
}

/* Which look is next. One that has a question open answers it, mostly. */
static enum look choose(struct sim_client_task *t) {
  struct sim_world *w = t->sim->world;
  const uint64_t draw = hf_random_below(&w->random, 100);
  if (t->ended)
    return draw < 80 ? LOOK_STATE : draw < 90 ? LOOK_CANCEL : LOOK_UPDATE;
  if (t->question_count > 0 && draw < 70)
    return LOOK_UPDATE;
  return draw < 74   ? LOOK_STATE
         : draw < 88 ? LOOK_RESULT
         : draw < 91 ? LOOK_CANCEL
         : draw < 95 ? LOOK_STRANGE
         : draw < 98 ? LOOK_STRANGE_CANCEL
                     : LOOK_UPDATE;
}

static void begin_look(struct sim_client_task *t) {
  struct sim_gateway *sim = t->sim;
  t->look = choose(t);
  t->era = t->look == LOOK_RESULT ? HF_ERA_LEGACY : HF_ERA_MODERN;
  const int r = dial(t);
  if (r < 0) {
    t->client = NULL;
    const bool expected = r == HF_ERR_CLOSED || r == HF_ERR_NOTFOUND || r == HF_ERR_LIMIT || sim->no_memory;
    sim_check(sim->check, expected, "a client was not let in", 0);
    if (sim->world->now - t->heard_at > PATIENCE)
      lose(t, "its endpoint is gone");
    look_again(t, HF_SECONDS(5));
    return;
  }
  if (t->era == HF_ERA_LEGACY)
    t->question_count = 0, greet(t, LOOK_RESULT);
  else
    ask_about(t);
  if (!t->open && t->timer.node.place == 0)
    look_again(t, HF_MS(1));
}

/* Somebody waits for the result: the questions that come are answered, or the line is cut. */
static void attend(struct sim_client_task *t) {
  struct sim_world *w = t->sim->world;
  if (t->question_count > 0 && sim_world_chance(w, 80)) {
    char text[SIM_TEXT_MAX];
    const unsigned i = --t->question_count;
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\",\"content\":{\"said\":\"t=%u\"}}}",
             t->keys[i], t->tokens[i]);
    (void)say(t, text, false);
  } else if (sim_world_chance(w, 20)) {
    trace(t, "vanishes", "");
    t->question_count = 0;
    hang_up(t);
  }
  if (t->timer.node.place == 0)
    look_again(t, sim_world_between(w, 0, HF_SECONDS(30)));
}

static void rest(struct sim_client_task *t) {
  struct sim_world *w = t->sim->world;
  const bool result = t->look == LOOK_RESULT;
  if (result)
    t->question_count = 0;
  hang_up(t);
  if (t->gone || (t->ended && t->looks == 0))
    return;
  t->looks -= t->ended;
  const hf_time longest = t->ended || sim_world_chance(w, 10) ? HF_SECONDS(240) : HF_SECONDS(3);
  look_again(t, sim_world_between(w, HF_MS(1), longest));
}

static void fire(struct sim_timer *timer) {
  struct sim_client_task *t = HF_CONTAINER_OF(timer, struct sim_client_task, timer);
  if (t->gone && !t->client)
    return;
  if (!t->sim->gateway)
    look_again(t, HF_SECONDS(1));
  else if (t->open)
    attend(t);
  else if (t->client && t->greeted && t->look == LOOK_GREET)
    t->look = LOOK_RESULT, ask_about(t), look_again(t, HF_MS(1));
  else if (t->client)
    rest(t);
  else
    begin_look(t);
}

bool sim_client_task_begin(struct sim_ask *ask, const char *text) {
  struct sim_gateway *sim = ask->sim;
  const char *at = strstr(text, "\"taskId\":\"");
  char id[ID_SIZE];
  const bool is_one = (has(text, "\"resultType\":\"task\"") || has(text, "\"result\":{\"task\":{")) && at;
  if (!ask->ledgered || !is_one || sscanf(at, "\"taskId\":\"%63[^\"]\"", id) != 1)
    return false;
  sim_check(sim->check, ask->agent->knows_tasks, "a task for a client that knows none", ask->number);
  if (ask->away) {
    ask->vanished = true; /* nobody was told of it */
    sim->deeds.deed[ask->deed].known = SIM_TOLD;
    return true;
  }
  struct sim_client_task *t = calloc(1, sizeof *t);
  if (!t)
    abort();
  *t = (struct sim_client_task){.sim = sim, .ask = ask, .endpoint = ask->agent->endpoint};
  snprintf(t->id, sizeof t->id, "%s", id);
  const long ttl = sim_number_after(text, "\"ttlMs\":"), old = sim_number_after(text, "\"ttl\":");
  t->ttl = HF_MS(ttl >= 0 ? ttl : old);
  t->told_at = t->heard_at = sim->world->now;
  ask->task = true;
  ask->most *= ROUNDS_MAX;
  sim->tasks++;
  sim->tasks_open++;
  sim->deeds.deed[ask->deed].tasks++;
  hf_list_push_back(&sim->client_tasks, &t->link);
  look_again(t, sim_world_between(sim->world, 0, HF_SECONDS(5)));
  return true;
}

static struct sim_client_task *of_link(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct sim_client_task, link);
}

void sim_client_tasks_cut_off(struct sim_gateway *sim) {
  for (struct hf_list *it = sim->client_tasks.next; it != &sim->client_tasks; it = it->next) {
    struct sim_client_task *t = of_link(it);
    if (!t->client)
      continue;
    t->question_count = 0;
    hang_up(t);
    look_again(t, HF_SECONDS(1));
  }
}

void sim_client_tasks_leave(struct sim_gateway *sim) {
  for (struct hf_list *it = sim->client_tasks.next; it != &sim->client_tasks; it = it->next) {
    struct sim_client_task *t = of_link(it);
    hang_up(t);
    sim_timer_stop(sim->world, &t->timer);
    lose(t, "left");
  }
}

void sim_client_tasks_free(struct sim_gateway *sim) {
  while (!hf_list_empty(&sim->client_tasks)) {
    struct sim_client_task *t = of_link(sim->client_tasks.next);
    sim_timer_stop(sim->world, &t->timer);
    hf_list_remove(&t->link);
    free(t);
  }
}
