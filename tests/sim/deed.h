/* The ledger of a world with a whole gateway: what agents mean to do, and what the servers did of it.
 *
 * A deed is one thing that an agent wants done, however often it calls for it. It may be done once; an agent that calls
 * again although it was told that it may have been done, or too late to be recognised, means it once more. A server
 * that knows its idempotency key does not do it again. */
#ifndef SIM_DEED_H
#define SIM_DEED_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_KEY_MAX = 64 };

struct sim_gateway;
struct sim_agent;

/* What is known of a deed to who wants it done. */
enum sim_knowledge {
  SIM_UNTOLD,   /* a call is under way, or none has been made */
  SIM_TOLD_NO,  /* all that was said: not executed */
  SIM_VANISHED, /* the stream of a call broke */
  SIM_DIED,     /* the gateway died with a call */
  SIM_TOLD,     /* it was done, or may have been: who calls again means it once more */
};

struct sim_deed {
  unsigned tool;
  int server; /* whose tool was called; -1: the route of this tool */
  unsigned principal;
  char key[SIM_KEY_MAX]; /* the caller's own, or "" */
  bool borrowed;         /* which is another deed's */
  unsigned calls;        /* that were made for it */
  unsigned open;         /* of those, that are under way */
  unsigned tasks;        /* of those, that have become tasks whose end is not known yet */
  unsigned meant;        /* how often it may happen */
  unsigned replays;      /* of its letters, that were started */
  unsigned letters;      /* writes of letters */
  unsigned under_way;    /* requests that a server has, and has not done with */
  unsigned effects;
  uint8_t ran_at;    /* sites where it ran: bits */
  uint8_t effect_at; /* sites where it had its effect, though it may run there again: bits */
  bool forgotten;    /* a server forgot its key too soon: nobody can help that */
  enum sim_knowledge known;
  hf_time first;    /* when it was first called for */
  hf_time gone_at;  /* SIM_VANISHED: the last time */
  hf_time lost_at;  /* when the gateway took note that a call for it was lost; HF_TIME_NEVER: it has not */
  bool own;         /* it could go to a client's own instance, when it was last called for */
  unsigned opened;  /* of the agent, and … */
  unsigned reloads; /* … of the gateway, when it was last called for */
};

/* A key as a site knows it. */
struct sim_known_key {
  struct sim_known_key *next;
  char key[SIM_KEY_MAX];
  unsigned site;
  unsigned deed;
  hf_time until;
  bool done;
};

struct sim_deeds {
  struct sim_deed *deed; /* by number; as many as there are calls */
  struct sim_known_key *keys;
};

/* A request as the ledger sees it. */
struct sim_run {
  unsigned deed;
  unsigned tool;
  unsigned site;
  struct sim_known_key *key; /* NULL: it came with none that counts */
};

void sim_deeds_init(struct sim_gateway *sim);
void sim_deeds_free(struct sim_gateway *sim);

/* The whole request has arrived, with this key ("" for none). Returns what the site knows of the key then; `ret_other`:
 * it belongs to another deed. */
struct sim_known_key *sim_deed_arrive(struct sim_gateway *sim, const struct sim_run *run, const char *key,
                                      bool *ret_other);

/* The tool runs. */
void sim_deed_run(struct sim_gateway *sim, const struct sim_run *run);

/* Can a call for it go to a server that each client has for itself? */
bool sim_deed_goes_to_own(const struct sim_gateway *sim, const struct sim_deed *deed);

/* An agent is about to call for it again: does the gateway promise that it is not done a second time? */
bool sim_deed_is_protected(struct sim_gateway *sim, const struct sim_agent *agent, unsigned deed);

#endif
