/* Chains of tool calls in a world whose servers fail, under virtual time: the gateway's own code between agents and
 * servers that are made up, configured by the text that a user would write.
 *
 * A world holds a few agents, each with one chain of steps, and a few servers: over HTTP, but for the last, which is a
 * child process. Every attempt meets a fault by chance, and one server is gone for a while. What the servers ran is in
 * the ledger; what the agents were told is held against it. */
#ifndef RELIABILITY_WORLD_H
#define RELIABILITY_WORLD_H

#include "gateway/gateway.h"
#include "upstream/restart.h"

#include <stdio.h>

enum { SERVERS = 3, AGENTS = 4, STEPS_MAX = 100, TEXT_MAX = 8192, REASONS_MAX = 64 };

/* The kinds of tools. Every server has one of each, and one that tells whether `charge` ran. */
enum kind { KIND_READ, KIND_KEYED, KIND_UNSAFE, KIND_COUNT };

struct scene {
  const char *profile;
  const char *more;       /* configuration to try */
  unsigned steps;         /* of each chain */
  unsigned fault_percent; /* of attempts */
  hf_time outage;         /* how long one server is gone; 0: not at all */
  hf_time settle;         /* how late a request whose connection broke may still be executed */
  bool has[KIND_COUNT];   /* the kinds of tools in chains */
  bool direct;            /* no gateway between */
  FILE *trace;            /* or NULL */
};

struct step {
  unsigned server;
  enum kind kind;
  unsigned ran; /* by the ledger */
  int told;     /* -1: nothing, else enum hf_executed */
  bool good;    /* its right answer came */
  hf_time began;
  hf_time took;
};

/* A count of something by name. */
struct tally {
  char name[64];
  unsigned long count;
};

struct totals {
  unsigned long chains;
  unsigned long good;
  unsigned long steps;
  unsigned long attempts;
  unsigned long checks; /* calls of the tool that tells */
  unsigned long doubles;
  unsigned long misreported;
  unsigned long long step_us;        /* of good steps */
  hf_time longest;                   /* of all steps */
  struct tally reasons[REASONS_MAX]; /* of steps that did not end well */
};

struct world;

struct agent {
  struct hf_reply reply;
  struct hf_attempt_ref *ref; /* without a gateway: what it waits for */
  struct hf_timer timer;
  struct world *world;
  struct hf_client *client;
  unsigned number;
  unsigned at; /* the step it is at */
  bool listed; /* it has seen the tools */
  bool over;
  bool good;
};

struct world {
  const struct scene *scene;
  struct totals *totals;
  struct hf_loop loop;
  struct hf_random random; /* of the servers' and agents' doings; the loop has its own */
  struct hf_message hello;
  struct hf_gateway *gateway;
  struct server *servers[SERVERS];
  struct agent agents[AGENTS];
  struct step steps[AGENTS * STEPS_MAX];
  unsigned open;    /* agents that go on */
  unsigned listing; /* agents that have not begun their chains */
  unsigned out;     /* the server that will be gone */
  hf_time gone_at;
  hf_time back_at;
  struct hf_timer outage;
};

/* Runs the world of this seed to its end and adds what came of it to `totals`. */
void world_run(const struct scene *scene, uint64_t seed, struct totals *totals);

hf_time world_between(struct world *world, hf_time low, hf_time high);
bool world_chance(struct world *world, unsigned percent);
void world_trace(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* agent.c */
void agent_init(struct agent *agent, struct world *world, unsigned number);
void agent_deinit(struct agent *agent);

/* server.c */
int server_open(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
                const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream);

/* The server is gone from now on, or back. */
void server_vanish(struct server *server);
struct hf_upstream *server_upstream(struct server *server);
void server_free(struct server *server);

/* Joins into `text`, cut at its size. */
size_t join(const struct hf_pieces *pieces, char text[TEXT_MAX]);

/* The number that follows `key` in `text`, or -1. */
long number_after(const char *text, const char *key);

#endif
