/* What a client is told of a tool call, held against what the servers did. */
#include "gateway.h"

#include <string.h>

/* As the text says it. */
struct told {
  bool error;      /* a JSON-RPC error */
  bool tool_error; /* `isError` */
  bool marked;
  bool pending;
  bool joined;
  enum hf_source source;
  int executed; /* -1: it does not say */
  long echo;    /* the payload, or -1 */
  long at;      /* when the server gave it, or -1 */
  long who;     /* for whom, or -1 */
};

static bool has(const char *text, const char *part) {
  return strstr(text, part) != NULL;
}

static int read_executed(const char *text) {
  static const char *const words[] = {"\"executed\":\"no\"", "\"executed\":\"maybe\"", "\"executed\":\"yes\""};
  for (int i = 0; i < 3; i++)
    if (has(text, words[i]))
      return i;
  return -1;
}

static struct told read_told(const char *text) {
  static const char *const sources[HF_SOURCE_COUNT] = {
      [HF_SOURCE_LIVE] = "\"dev.holdfast/outcome\":{\"source\":\"live\"",
      [HF_SOURCE_CACHE] = "\"dev.holdfast/outcome\":{\"source\":\"cache\"",
      [HF_SOURCE_DEGRADED] = "\"dev.holdfast/outcome\":{\"source\":\"degraded\"",
  };
  struct told t = {
      .error = has(text, "\"error\":{"),
      .tool_error = has(text, "\"isError\":true"),
      .pending = has(text, "input_required"),
      .joined = has(text, "\"joined\":"),
      .executed = read_executed(text),
      .echo = sim_number_after(text, "n="),
      .at = sim_number_after(text, " at="),
      .who = sim_number_after(text, " w="),
  };
  for (int i = 0; i < HF_SOURCE_COUNT; i++) {
    if (has(text, sources[i])) {
      t.marked = true;
      t.source = (enum hf_source)i;
    }
  }
  return t;
}

static void count(struct sim_gateway *sim, const struct told *t, const char *text) {
  sim->refusals += t->error;
  sim->failures += !t->error && t->tool_error;
  sim->successes += !t->error && !t->tool_error;
  sim->joined += t->joined;
  sim->cached += t->source == HF_SOURCE_CACHE;
  sim->degraded += t->source == HF_SOURCE_DEGRADED;
  sim->checked += has(text, "\"checked\":true");
  sim->letters += has(text, "\"deadLetterId\"");
  sim->recorded += has(text, "is the recorded result");
}

/* Nobody may take it for the tool's own. */
static void check_mark(struct sim_ask *ask, const struct told *t, const char *text) {
  struct sim_check *check = ask->sim->check;
  bool said = has(text, "This is not a live answer") || has(text, "This is not an answer of the tool") ||
              has(text, "This tool is unavailable, and there is no answer from it");
  sim_check(check, t->error || t->marked || ask->sim->no_memory, "an answer without its outcome", ask->number);
  sim_check(check, said == (t->source != HF_SOURCE_LIVE),
            "an answer that is not live, without a word of it, or the reverse", ask->number);
}

/* The oldest that an answer may be: `fresh` is one that was given without asking the server. */
static void check_age(struct sim_ask *ask, const struct told *t, const char *text) {
  struct sim_gateway *sim = ask->sim;
  const struct sim_deed *deed = &sim->deeds.deed[ask->deed];
  const struct hf_cache_settings *cache = &sim_chain_tool(&sim->options.chain, deed->server, deed->tool)->cache;
  bool fresh = !has(text, "\"reason\":");
  hf_time age = sim->world->now - t->at;
  hf_time slack = sim->deaths > 0 ? HF_MS(2) : 0; /* the store counts in milliseconds */
  sim_check(sim->check, ask->read_only, "an answer from the cache for a tool with effects", ask->number);
  sim_check(sim->check, t->at >= 0, "a cached answer without its payload", ask->number);
  if (ask->task)
    return; /* it was composed some time ago */
  sim_check(sim->check, age <= (fresh ? cache->ttl : cache->max_stale) + slack, "an answer older than it may be",
            ask->number);
  long told = sim_number_after(text, "\"ageMs\":");
  sim_check(sim->check, told >= 0 && HF_MS(told) <= age + slack && HF_MS(told + 1) + slack > age,
            "an answer that lies about its age", ask->number);
}

static void check_source(struct sim_ask *ask, const struct told *t, const char *text) {
  struct sim_check *check = ask->sim->check;
  bool recorded = has(text, "is the recorded result");
  check_mark(ask, t, text);
  if (t->source == HF_SOURCE_CACHE && !recorded)
    check_age(ask, t, text);
  if (recorded)
    sim_check(check, ask->sim->deeds.deed[ask->deed].key[0], "a recorded result without a key", ask->number);
  if (t->marked && t->source == HF_SOURCE_LIVE && !t->joined && t->at >= 0)
    sim_check(check, t->at >= ask->started, "an answer from before the call, as live", ask->number);
  if (t->source != HF_SOURCE_LIVE)
    sim_check(check, !has(text, "\"reason\":\"unauthorized\""), "401 or 403 was covered up", ask->number);
  sim_check(check, t->who < 0 || t->who == (long)ask->agent->principal, "an answer to another principal", ask->number);
}

static void check_letter(struct sim_ask *ask, const char *text) {
  struct sim_gateway *sim = ask->sim;
  const char *at = strstr(text, "\"deadLetterId\":\"");
  char id[HF_LETTER_ID_MAX] = "";
  if (!at || sscanf(at, "\"deadLetterId\":\"%31[^\"]\"", id) != 1 || strcmp(id, SIM_LETTER_OF_NOTHING) == 0)
    return;
  const struct hf_letter *letter = sim->store ? sim_store_letter(sim->store, id) : NULL;
  if (!sim_check(sim->check, letter != NULL, "a letter that is not there", ask->number))
    return;
  char principal[SIM_NAME_MAX];
  snprintf(principal, sizeof principal, "p%u", ask->agent->principal);
  sim_check(sim->check, sim_letter_deed(letter) == (long)ask->deed, "the letter of another call", ask->number);
  sim_check(sim->check, hf_str_equal(letter->principal, hf_str_from(principal)), "the letter of another principal",
            ask->number);
}

static void check_executed(struct sim_ask *ask, const struct told *t) {
  struct sim_gateway *sim = ask->sim;
  unsigned ran = sim->world->executions[ask->deed];
  ask->executed = t->executed;
  ask->vanished |= t->pending && ask->agent->knows_tasks; /* it is held, and goes on for a while */
  ask->joined = t->joined;
  if (!t->error && !t->tool_error && !t->pending && t->source == HF_SOURCE_LIVE && t->executed < 0) {
    sim_check(sim->check, t->echo >= 0, "a success without its payload", ask->number);
    ask->executed = HF_EXECUTED_YES;
  }
  bool says = !t->tool_error || ask->executed >= 0 || sim->no_memory || t->source != HF_SOURCE_LIVE;
  sim_check(sim->check, says, "a failure that does not say what ran", ask->number);
  sim_check(sim->check, ask->executed != HF_EXECUTED_YES || ran > 0, "'executed', but it was not", ask->number);
}

/* What the one who wants it done knows now. A call that was not sent says nothing of those before it. */
static void learn(struct sim_ask *ask, const char *text) {
  struct sim_gateway *sim = ask->sim;
  struct sim_world *w = sim->world;
  struct sim_deed *deed = &sim->deeds.deed[ask->deed];
  if (has(text, "an equal one was in flight when")) {
    sim->lost_told++;
    sim_check(sim->check, deed->known != SIM_UNTOLD && deed->calls > 1, "told of a lost call that never was",
              ask->number);
    ask->executed = -1;
    deed->known = SIM_TOLD;
    deed->lost_at = HF_TIME_NEVER;
  } else if (ask->executed != HF_EXECUTED_NO) {
    deed->known = SIM_TOLD;
  } else if (deed->known == SIM_UNTOLD) {
    deed->known = SIM_TOLD_NO;
  }
  unsigned chance = deed->known == SIM_TOLD_NO ? 40 : deed->key[0] ? 30 : 4;
  if (deed->principal == ask->agent->principal && sim_world_chance(w, chance))
    sim_agent_plan(ask->agent, ask->deed, sim_world_between(w, 0, HF_SECONDS(60)));
}

void sim_told(struct sim_ask *ask, const char *text) {
  struct told t = read_told(text);
  struct sim_gateway *sim = ask->sim;
  count(sim, &t, text);
  sim_check(sim->check, t.echo < 0 || t.echo == (long)ask->deed, "an answer reached another caller", ask->number);
  if (!ask->ledgered)
    return;
  check_source(ask, &t, text);
  check_executed(ask, &t);
  if (ask->task && ask->asked && ask->executed == HF_EXECUTED_NO)
    ask->executed = -1; /* that is said of its last round */
  check_letter(ask, text);
  learn(ask, text);
}

void sim_told_cancelled(struct sim_ask *ask, bool nothing_ran) {
  struct sim_deed *deed = &ask->sim->deeds.deed[ask->deed];
  ask->vanished = !nothing_ran; /* it may go on */
  if (nothing_ran)
    ask->executed = HF_EXECUTED_NO;
  if (!nothing_ran || deed->known != SIM_UNTOLD)
    deed->known = SIM_TOLD;
  else
    deed->known = SIM_TOLD_NO;
}

/* All calls for it were told that it was not executed, and nobody else had a hand in it. */
static bool nobody_ran_it(const struct sim_gateway *sim, unsigned number) {
  for (unsigned i = 0; i < sim->asked; i++)
    if (sim->asks[i].ledgered && sim->asks[i].deed == number && sim->asks[i].executed != HF_EXECUTED_NO)
      return false;
  /* Without memory nobody may hear that a letter's replay has begun. */
  return sim->deeds.deed[number].replays == 0 && !(sim->no_memory && sim->deeds.deed[number].letters > 0);
}

void sim_told_check_end(struct sim_gateway *sim) {
  for (unsigned i = 0; i < sim->asked; i++) {
    const struct sim_ask *ask = &sim->asks[i];
    if (!ask->ledgered || ask->executed != HF_EXECUTED_NO)
      continue;
    sim_check(sim->check, ask->ran == 0, "'not executed', but it was", i);
    sim_check(sim->check, !nobody_ran_it(sim, ask->deed) || sim->world->executions[ask->deed] == 0,
              "'not executed' was told to all, but it was", i);
  }
}
