/* A person who looks after dead letters: replays one or many, mostly with the status check, sometimes by knowing. */
#include "gateway.h"
#include "gateway/letter/replay.h"

#include <stdlib.h>
#include <string.h>

/* Two replays can be under way: two people who do not know of each other. */
enum { REPLAYS = 2 };

struct sim_operator {
  struct sim_gateway *sim;
  struct sim_timer timer;
  struct work {
    struct sim_operator *owner;
    struct hf_replay *replay;
  } work[REPLAYS];
};

static void look(struct sim_timer *timer);

static void plan(struct sim_operator *o) {
  struct sim_world *w = o->sim->world;
  sim_timer_set(w, &o->timer, w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(200)), look);
}

/* The letters that a replay tells of were made of calls: what it starts is one more for the same deed. */
static void on_progress(void *ctx, struct hf_str json) {
  struct sim_operator *o = ((struct work *)ctx)->owner;
  char text[SIM_TEXT_MAX];
  snprintf(text, sizeof text, "%.*s", HF_STR_FMT(json));
  if (o->sim->trace)
    fprintf(o->sim->trace, "%.6f replay %s\n", (double)o->sim->world->now / 1e6, text);
  bool started = strstr(text, "\"what\":\"started\"") != NULL, replayed = strstr(text, "\"what\":\"replayed\"") != NULL;
  char id[HF_LETTER_ID_MAX] = "";
  const char *at = strstr(text, "\"letter\":\"");
  if (!at || sscanf(at, "\"letter\":\"%31[^\"]\"", id) != 1)
    return;
  const struct hf_letter *letter = sim_store_letter(o->sim->store, id);
  if (!sim_check(o->sim->check, letter != NULL, "a replay of a letter that is not there", 0))
    return;
  struct sim_deed *deed = &o->sim->deeds.deed[sim_letter_deed(letter)];
  o->sim->replays += started;
  deed->replays += started;
  o->sim->replayed += replayed;
  bool says_so = !replayed || deed->ran_at != 0 || o->sim->no_memory;
  sim_check(o->sim->check, says_so, "'replayed', but it did not run", (unsigned)sim_letter_deed(letter));
}

static void on_done(void *ctx, struct hf_str json) {
  struct work *work = ctx;
  struct sim_gateway *sim = work->owner->sim;
  if (sim->trace)
    fprintf(sim->trace, "%.6f replay %.*s\n", (double)sim->world->now / 1e6, HF_STR_FMT(json));
  hf_replay_free(work->replay);
  work->replay = NULL;
}

static const struct hf_replay_ops ops = {on_progress, on_done};

/* One letter of which the person knows that it did not run. */
static bool choose_known(struct sim_operator *o, struct hf_replay_options *options) {
  const struct hf_letter *letter = sim_world_chance(o->sim->world, 30) ? sim_store_undone(o->sim->store) : NULL;
  if (!letter)
    return false;
  options->filter.id = letter->id;
  options->filter.any_status = true;
  options->executed_no = true;
  return true;
}

static void start(struct sim_operator *o, struct work *work) {
  struct sim_world *w = o->sim->world;
  struct hf_replay_options options = {.filter.limit = (unsigned)sim_world_between(w, 1, 20),
                                      .concurrency = (unsigned)sim_world_between(w, 0, 4),
                                      .stop_percent = sim_world_chance(w, 30) ? HF_REPLAY_STOP_PERCENT : 0};
  if (sim_world_chance(w, 20))
    options.interval = HF_MS(sim_world_between(w, 1, 5000));
  if (sim_world_chance(w, 10))
    options.ramp_up = HF_SECONDS(sim_world_between(w, 1, 60));
  if (!choose_known(o, &options))
    options.reconcile = sim_world_chance(w, 80);
  if (sim_world_chance(w, 10))
    options.patch = HF_STR("{\"mended\":true}");
  options.dry_run = sim_world_chance(w, 5);
  int r = hf_replay_start(o->sim->gateway, &options, &ops, work, &work->replay);
  sim_check(o->sim->check, r == 0 || o->sim->no_memory, "a replay did not start", 0);
}

static void look(struct sim_timer *timer) {
  struct sim_operator *o = HF_CONTAINER_OF(timer, struct sim_operator, timer);
  plan(o);
  if (!o->sim->gateway)
    return;
  if (!o->work[0].replay)
    start(o, &o->work[0]);
  else if (!o->work[1].replay && sim_world_chance(o->sim->world, 50))
    start(o, &o->work[1]);
}

void sim_operator_init(struct sim_gateway *sim) {
  struct sim_operator *o = calloc(1, sizeof *o);
  if (!o)
    abort();
  o->sim = sim;
  for (unsigned i = 0; i < REPLAYS; i++)
    o->work[i].owner = o;
  sim->operator= o;
  plan(o);
}

void sim_operator_stop(struct sim_gateway *sim) {
  if (sim->operator)
    sim_timer_stop(sim->world, &sim->operator->timer);
}

void sim_operator_end(struct sim_gateway *sim) {
  for (unsigned i = 0; sim->operator&& i<REPLAYS; i++) {
    hf_replay_free(sim->operator->work[i].replay);
    sim->operator->work[i].replay = NULL;
  }
}

bool sim_operator_works(const struct sim_gateway *sim) {
  return sim->operator&&(sim->operator->work[0].replay || sim->operator->work[1].replay);
}

void sim_operator_free(struct sim_gateway *sim) {
  sim_operator_stop(sim);
  free(sim->operator);
}
