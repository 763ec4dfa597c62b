/* A whole gateway in the simulated world: the real pipeline between fake servers and fake clients.
 *
 * server.c stands behind gateway/upstream.h and misbehaves as world.c does; agent.c stands before gateway/client.h,
 * asks, cancels, vanishes, asks again, and reads every answer (told.c); store.c is behind gateway/store.h, slow, full
 * or the heir of a gateway that died; operator.c replays dead letters; chain.c draws tools, routes and standbys;
 * gateway.c owns them all, the settings with their reloads, lives and deaths, and the one clock. What the servers did
 * is in the ledger (deed.c), what the clients were told is held against it. */
#ifndef SIM_GATEWAY_H
#define SIM_GATEWAY_H

#include "chain.h"
#include "check.h"
#include "deed.h"
#include "gateway/gateway.h"
#include "store.h"
#include "world.h"

#include <stdio.h>

enum { SIM_AGENTS_MAX = 6, SIM_NAME_MAX = 8, SIM_TEXT_MAX = 8192, SIM_QUESTIONS_MAX = 64, SIM_AGAIN_MAX = 8 };

struct sim_gateway;
struct sim_agent;
struct sim_server;

/* One request of a client. */
struct sim_ask {
  struct hf_reply reply; /* the front's side */
  struct sim_timer cancel;
  struct sim_gateway *sim;
  struct sim_agent *agent;
  unsigned number; /* in the world */
  unsigned deed;   /* what it is to do: the payload, and the ledger's key. That of the first call for it */
  unsigned id;     /* as the client numbers its requests: others use the same */
  enum hf_method method;
  bool unsafe;
  bool ledgered; /* a tool is asked for: the servers keep the ledger of it */
  bool open;
  bool cancelled;
  bool vanished;     /* its stream broke: it may go on */
  bool away;         /* its stream broke, and may be resumed */
  bool task;         /* it has become one, of which it was told */
  bool asked;        /* it was answered with a question at least once */
  bool joined;       /* it was answered with another one's answer */
  bool read_only;    /* by configuration, at one of the servers at least */
  unsigned ran;      /* how often a request of its own ran the tool */
  unsigned targets;  /* servers that it may go to */
  unsigned attempts; /* that reached a server */
  unsigned most;     /* that may */
  hf_time started;
  hf_time deadline;
  hf_time paused; /* while a person was asked, in all */
  hf_time paused_at;
  unsigned questions;   /* open */
  hf_time adrift_until; /* its agent's time adrift when it began */
  double progress;
  int executed; /* as told: -1 nothing, else enum hf_executed */
};

struct sim_agent {
  struct sim_gateway *sim;
  struct sim_timer timer;    /* what it does next */
  struct sim_timer patience; /* answers to questions come late */
  struct hf_client *client;
  enum hf_era era;
  int endpoint; /* a server, or -1: all */
  unsigned principal;
  unsigned opened; /* how many clients it has been */
  unsigned next_id;
  bool ready;
  struct sim_ask *greeting; /* its `initialize`, or NULL */
  bool introduced;          /* sent notifications/initialized */
  bool asks_back;           /* it declared that it can be asked */
  bool knows_tasks;         /* and takes one for an answer */
  bool stateless;           /* modern HTTP: leaving a request cancels it, and nothing else does */
  struct sim_question {
    unsigned long id; /* the gateway's */
    unsigned token;   /* the server's, to be echoed */
    struct sim_ask *ask;
  } questions[SIM_QUESTIONS_MAX];
  unsigned question_count;
  unsigned adrift; /* of them, those whose request is over, or never was: they may pause any other one */
  hf_time adrift_at;
  hf_time adrift_time; /* in all */
  struct sim_again {
    unsigned deed;
    hf_time at;
  } again[SIM_AGAIN_MAX]; /* what it means to ask for once more */
  unsigned again_count;
};

/* What a call may take that nobody waits for. */
#define SIM_TASK_TIME HF_SECONDS(300)

/* How one world is configured; a reload changes a part of it. */
struct sim_gateway_options {
  unsigned servers;
  unsigned agents;
  unsigned attempts;
  hf_time deadline;
  hf_time gap;
  bool tasks; /* clients may know them: */
  hf_time task_ttl;
  enum hf_task_mode task_mode; /* without the chain */
  bool modern[SIM_SERVERS_MAX];
  bool own[SIM_SERVERS_MAX]; /* instance: session */
  bool stateful[SIM_SERVERS_MAX];
  unsigned url[SIM_SERVERS_MAX]; /* a reload that changes it makes a new server */
  bool present[SIM_SERVERS_MAX];
  bool disabled[SIM_SERVERS_MAX];
  bool eager[SIM_SERVERS_MAX];
  struct hf_provider_options provider;
  struct sim_chain chain;
};

struct sim_gateway {
  struct sim_world *world;
  struct sim_check *check;
  FILE *trace; /* or NULL */
  struct sim_gateway_options options;
  struct hf_loop loop;
  struct hf_log *log;
  int log_fd;
  struct hf_gateway *gateway;    /* NULL: it has died, and none has been started since */
  struct sim_store *store;       /* or NULL */
  struct sim_operator *operator; /* or NULL */
  struct sim_deeds deeds;
  struct hf_list ghosts; /* requests that run though nobody waits for them */
  struct hf_list works;  /* tasks that servers have made of calls */
  unsigned long next_work;
  struct hf_list client_tasks; /* that clients were told of */
  unsigned tasks_open;         /* of them, those whose end is not known yet */
  struct sim_agent agents[SIM_AGENTS_MAX];
  struct sim_ask *asks;
  unsigned asked;
  unsigned open;
  unsigned answered;
  unsigned long attempts;
  unsigned long cancelled;
  unsigned long successes;
  unsigned long failures;
  unsigned long refusals; /* JSON-RPC errors */
  unsigned long lost;     /* answers for which there was no memory */
  unsigned long questions;
  unsigned long reloads;
  unsigned long again;    /* calls for what was called for before */
  unsigned long own_risk; /* of those, that may do it once more */
  unsigned long joined;   /* answers that were another one's */
  unsigned long cached;
  unsigned long degraded;
  unsigned long checked;
  unsigned long letters;   /* ids of letters that were told */
  unsigned long lost_told; /* that an equal call was lost */
  unsigned long recorded;  /* results of keys */
  unsigned long replays;   /* letters whose replay was started */
  unsigned long replayed;
  unsigned long deaths;
  unsigned long works_made;
  unsigned long tasks; /* that clients were told of */
  unsigned long tasks_ended;
  unsigned long tasks_lost; /* to their clients: expired, or never asked for again */
  struct sim_timer reload;
  struct sim_timer death;
  struct sim_server *servers; /* every one that was opened */
  struct hf_message hello[2]; /* by era: legacy, modern */
  unsigned next_token;
  bool no_memory;  /* allocations fail now and then */
  bool drained;    /* it was told to */
  unsigned drains; /* that ended */
};

/* Runs the world of this seed with `calls` requests to its end, and adds what it did to `totals`. `failing`: memory
 * fails, too. */
void sim_gateway_run(uint64_t seed, unsigned calls, bool failing, FILE *trace, struct sim_gateway *totals,
                     struct sim_check *check);

/* agent.c */
void sim_agent_init(struct sim_agent *agent, struct sim_gateway *sim);
void sim_agent_close(struct sim_agent *agent);

/* The gateway has died with its connections. */
void sim_agent_cut_off(struct sim_agent *agent);

/* It means to ask for it again, `after` from now. */
void sim_agent_plan(struct sim_agent *agent, unsigned deed, hf_time after);

/* told.c: reads an answer to a tool call and holds it against the ledger. */
void sim_told(struct sim_ask *ask, const char *text);

/* Its task was cancelled. */
void sim_told_cancelled(struct sim_ask *ask, bool nothing_ran);

/* Is what was told still true when all has come to rest? */
void sim_told_check_end(struct sim_gateway *sim);

/* server.c */
int sim_server_open(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
                    const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream);
void sim_servers_free(struct sim_gateway *sim);
void sim_ghosts_free(struct sim_gateway *sim);

/* operator.c: replays dead letters. */
void sim_operator_init(struct sim_gateway *sim);
void sim_operator_stop(struct sim_gateway *sim); /* starts nothing more */
void sim_operator_end(struct sim_gateway *sim);  /* frees what is under way: the gateway is about to go */
bool sim_operator_works(const struct sim_gateway *sim);
void sim_operator_free(struct sim_gateway *sim);

/* Joins into `text`, cut at its size. Returns the length. */
size_t sim_join(const struct hf_pieces *pieces, char text[SIM_TEXT_MAX]);

/* The number that follows `key` in `text`, or -1. */
long sim_number_after(const char *text, const char *key);

#endif
