#include "deed.h"

#include "gateway.h"
#include "gateway/stage/lost.h"

#include <stdlib.h>
#include <string.h>

/* What is begun so late that the server may have forgotten the key when it arrives is not protected by it. */
#define LONGEST_CALL HF_SECONDS(80)

void sim_deeds_init(struct sim_gateway *sim) {
  sim->deeds.deed = calloc(sim->world->call_count, sizeof *sim->deeds.deed);
  if (!sim->deeds.deed)
    abort();
}

void sim_deeds_free(struct sim_gateway *sim) {
  while (sim->deeds.keys) {
    struct sim_known_key *key = sim->deeds.keys;
    sim->deeds.keys = key->next;
    free(key);
  }
  free(sim->deeds.deed);
}

static struct sim_known_key *find_key(struct sim_gateway *sim, unsigned site, const char *text) {
  for (struct sim_known_key *key = sim->deeds.keys; key; key = key->next)
    if (key->site == site && strcmp(key->key, text) == 0)
      return key;
  return NULL;
}

/* A site that has forgotten a key sooner than it promised does again what it did. */
static void note_forgetting(struct sim_gateway *sim, const struct sim_known_key *old, unsigned site) {
  const struct sim_chain *chain = &sim->options.chain;
  hf_time promised = chain->tools[site][SIM_TOOL_KEYED].key.ttl;
  if (promised > chain->truth_ttl[site] && sim->world->now < old->until - chain->truth_ttl[site] + promised)
    sim->deeds.deed[old->deed].forgotten = true;
}

struct sim_known_key *sim_deed_arrive(struct sim_gateway *sim, const struct sim_run *run, const char *text,
                                      bool *ret_other) {
  *ret_other = false;
  if (run->tool != SIM_TOOL_KEYED || !text[0])
    return NULL;
  struct sim_known_key *old = find_key(sim, run->site, text);
  if (old && sim->world->now < old->until) {
    const struct sim_deed *owner = &sim->deeds.deed[old->deed];
    *ret_other = old->deed != run->deed;
    /* The gateway counts in milliseconds. */
    bool known =
        sim->world->now + HF_MS(1) < owner->first + sim->options.chain.tools[run->site][SIM_TOOL_KEYED].key.ttl;
    bool excused = sim->no_memory || (sim->store && sim_store_has_failed(sim->store));
    bool waited = sim->deeds.deed[run->deed].first < owner->first; /* so long that its key was free again */
    sim_check(sim->check, !*ret_other || !known || waited || excused, "a key was sent with other arguments", run->deed);
    return old;
  }
  if (old)
    note_forgetting(sim, old, run->site);
  struct sim_known_key *key = calloc(1, sizeof *key);
  if (!key)
    abort();
  snprintf(key->key, sizeof key->key, "%s", text);
  key->site = run->site;
  key->deed = run->deed;
  key->until = sim->world->now + sim->options.chain.truth_ttl[run->site];
  key->next = sim->deeds.keys;
  sim->deeds.keys = key;
  return key;
}

static bool is_harmless(const struct sim_gateway *sim, const struct sim_run *run) {
  return run->tool == SIM_TOOL_READ && sim->options.chain.tools[run->site][SIM_TOOL_READ].has_safety;
}

/* Does it do what has not been done yet? */
static bool has_effect(struct sim_gateway *sim, const struct sim_run *run, struct sim_deed *deed) {
  uint8_t here = (uint8_t)(1U << run->site);
  switch (run->tool) {
  case SIM_TOOL_READ: /* as it says of itself, if nobody has confirmed it */
  case SIM_TOOL_IDEMPOTENT:
    if (is_harmless(sim, run) || deed->effect_at & here)
      return false;
    deed->effect_at |= here;
    return true;
  case SIM_TOOL_KEYED:
    if (run->key && run->key->done)
      return false;
    if (run->key)
      run->key->done = true;
    return true;
  default:
    return true;
  }
}

/* Whoever makes a letter's call again besides its replay means both; without memory a replay may begin unheard. */
static unsigned allowed(const struct sim_gateway *sim, const struct sim_deed *deed) {
  unsigned replays = deed->replays + (sim->no_memory ? deed->letters : 0);
  return deed->meant + (deed->calls > 1 ? replays : 0);
}

void sim_deed_run(struct sim_gateway *sim, const struct sim_run *run) {
  struct sim_deed *deed = &sim->deeds.deed[run->deed];
  if (sim->world->executions[run->deed] < UINT8_MAX)
    sim->world->executions[run->deed]++;
  deed->ran_at |= (uint8_t)(1U << run->site);
  if (!has_effect(sim, run, deed))
    return;
  deed->effects++;
  sim_check(sim->check, deed->forgotten || deed->effects <= allowed(sim, deed), "an effect happened once too often",
            run->deed);
}

bool sim_deed_goes_to_own(const struct sim_gateway *sim, const struct sim_deed *deed) {
  for (unsigned i = 0; i < sim->options.servers; i++)
    if (sim->options.own[i] && sim_chain_reaches(&sim->options.chain, deed->server, deed->tool, i))
      return true;
  return false;
}

/* Equal calls at a client's own instance are equal only for that client, and while it lasts. */
static bool is_the_same_way(struct sim_gateway *sim, const struct sim_agent *agent, const struct sim_deed *deed) {
  bool own = deed->own || sim_deed_goes_to_own(sim, deed);
  if (own && (agent->opened != deed->opened || sim->reloads != deed->reloads))
    return false;
  return sim->reloads == deed->reloads || deed->server >= 0;
}

/* Its own key is good as long as the first server remembers it, if it is asked. */
static bool key_holds(struct sim_gateway *sim, const struct sim_deed *deed) {
  if (!deed->key[0] || deed->borrowed || deed->server < 0)
    return false;
  hf_time ttl = sim->options.chain.tools[deed->server][SIM_TOOL_KEYED].key.ttl;
  return sim->world->now + LONGEST_CALL < deed->first + ttl &&
         (!sim->store || !sim_store_has_failed(sim->store) || sim->deaths == 0);
}

bool sim_deed_is_protected(struct sim_gateway *sim, const struct sim_agent *agent, unsigned number) {
  const struct sim_deed *deed = &sim->deeds.deed[number];
  hf_time now = sim->world->now;
  if (sim->no_memory)
    return deed->known == SIM_TOLD_NO && deed->open == 0 && deed->tasks == 0;
  if (key_holds(sim, deed))
    return true;
  if (deed->tasks > 0)
    return false; /* whoever has an id is to ask with it */
  hf_time window = sim_chain_tool(&sim->options.chain, deed->server, deed->tool)->coalesce;
  bool joins = window > 0 && is_the_same_way(sim, agent, deed) && !deed->key[0];
  if (deed->tool != SIM_TOOL_UNSAFE && deed->tool != SIM_TOOL_KEYED)
    joins = false;
  if (deed->open > 0)
    return joins;
  bool lost = deed->lost_at != HF_TIME_NEVER && now < deed->lost_at + HF_LOST_KEPT && !deed->key[0];
  switch (deed->known) {
  case SIM_TOLD_NO:
    return true;
  case SIM_VANISHED:
    return lost || (joins && now < deed->gone_at + window);
  case SIM_DIED:
    return lost;
  case SIM_UNTOLD:
  case SIM_TOLD:
    break;
  }
  return false;
}
