/* A small world under virtual time: a clock, timers, faulty upstreams, and a ledger of what they executed.
 *
 * It knows nothing of the code under test. Whoever drives that code (kernel.c; a gateway through its seams) starts
 * requests here and is told, as by a network, what becomes of them. Everything follows from the seed, or from a script.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/heap.h"
#include "base/random.h"
#include "base/time.h"
#include "policy/classify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_UPSTREAMS_MAX = 4, SIM_INFLIGHT_MAX = 512 };

struct sim_timer {
  struct hf_heap_node node;
  void (*fire)(struct sim_timer *timer);
};

/* What becomes of one request. */
enum sim_fault {
  SIM_OK,
  SIM_REFUSE,           /* nobody listens */
  SIM_CONNECT_HANG,     /* no answer to the SYN, ever */
  SIM_BREAK_EARLY,      /* the connection breaks with the request half written */
  SIM_DROP_REQUEST,     /* written, never read, no answer */
  SIM_RESET_UNEXECUTED, /* written, then reset, not executed */
  SIM_EXECUTE_RESET,    /* executed, then reset: the lost answer */
  SIM_EXECUTE_HANG,     /* executed, never answered */
  SIM_PROGRESS_HANG,    /* a sign of life, executed, never answered */
  SIM_STATUS_429,
  SIM_STATUS_503_HINT, /* with Retry-After */
  SIM_STATUS_503,      /* without; executed every other time */
  SIM_STATUS_401,
  SIM_STATUS_500,     /* executed */
  SIM_GARBAGE,        /* executed, answered with HTML */
  SIM_TOOL_ERROR,     /* executed, isError */
  SIM_INVALID_PARAMS, /* -32602 */
  SIM_SESSION_LOST,   /* 404 to a request with a session */
  SIM_DEATH,          /* the upstream dies, and with it all that is in flight */
  SIM_QUESTION,       /* the server asks a person, is answered, then succeeds */
  SIM_INPUT_REQUIRED,
  SIM_STATUS_409,
  SIM_RPC_ERROR,      /* executed, -32603 */
  SIM_TOOL_TRANSIENT, /* executed, isError with a text that promises better luck next time */
  SIM_SLOW_ANSWER,    /* executed, and the answer comes in five parts */
  SIM_FAULT_COUNT,
};

struct sim_plan {
  enum sim_fault fault;
  hf_time delay;       /* from the request's last byte (or from the start) until it happens */
  hf_time retry_after; /* negative: none */
  hf_time late;        /* SIM_DROP_REQUEST, SIM_RESET_UNEXECUTED: it runs after all, this much later; 0: never */
};

/* What the tool is in truth, which is for the ledger to count its effects by; and what the server promises. */
struct sim_truth {
  enum hf_safety safety;
  bool harmless;  /* it has no effect at all */
  hf_time ttl;    /* keyed: how long the server remembers a key */
  hf_time settle; /* what nobody waits for any more begins to run within this, or never */
};

/* What became of one call in all: the servers' side of it. */
struct sim_entry {
  uint8_t effects;                  /* how often something happened that must not happen twice */
  uint8_t admitted;                 /* of those, not by a tool that calls itself read-only */
  uint8_t ran_on;                   /* servers: bits */
  uint8_t epoch[SIM_UPSTREAMS_MAX]; /* keyed: grows when the server has forgotten the key */
  uint8_t done[SIM_UPSTREAMS_MAX];  /* epochs in which it ran: bits */
  hf_time key_until[SIM_UPSTREAMS_MAX];
};

/* One attempt on its way. In its owner's memory until `over`. */
struct sim_request {
  struct sim_timer timer;
  struct sim_world *world;
  struct sim_upstream *upstream;
  const struct sim_request_events *events;
  void *owner;
  unsigned attempt;
  unsigned call; /* whose: the answer carries it back, and the ledger counts by it */
  struct sim_truth truth;
  struct sim_plan plan;
  unsigned stage;
  unsigned epoch;  /* keyed: when it arrived */
  hf_time left_at; /* when its owner stopped waiting; HF_TIME_NEVER: it waits */
  size_t place;    /* in the upstream's list plus one */
  bool carried_session;
  bool executed;
  bool aborted;
  bool muted; /* aborted, and the network has forgotten it: no more events */
  bool over;
};

enum sim_result { SIM_SUCCESS, SIM_PENDING, SIM_FAILED };

struct sim_request_events {
  void (*sent)(struct sim_request *request, size_t bytes, bool complete);
  void (*life)(struct sim_request *request);
  void (*answer_bytes)(struct sim_request *request);
  void (*question)(struct sim_request *request, bool asked);
  /* `call` is the caller that the answer is for, as the server wrote it. `evidence` is NULL unless SIM_FAILED. */
  void (*done)(struct sim_request *request, enum sim_result result, unsigned call, const struct hf_evidence *evidence);
};

struct sim_upstream_events {
  void (*ready)(void *owner);
  void (*down)(void *owner, const struct hf_evidence *evidence, hf_time not_before);
  void (*probed)(void *owner, bool ok);
};

/* How an upstream is for a while; the next mood is drawn when this one ends. */
enum sim_mood { SIM_HEALTHY, SIM_FLAKY, SIM_OUTAGE, SIM_MOOD_COUNT };

struct sim_upstream {
  struct sim_world *world;
  const struct sim_upstream_events *events;
  void *owner;
  unsigned server; /* equal numbers: endpoints of one server */
  struct sim_timer start_timer;
  struct sim_timer probe_timer;
  bool up;
  bool starting;
  enum sim_mood mood;
  hf_time mood_until;
  const struct sim_plan *script; /* for requests, in order; then all is well */
  size_t script_len;
  const bool *starts; /* whether each start succeeds, likewise */
  size_t starts_len;
  struct sim_request *in_flight[SIM_INFLIGHT_MAX];
  size_t in_flight_len;
};

struct sim_world {
  hf_time now;
  struct hf_heap timers;
  struct hf_random random;
  struct sim_upstream upstreams[SIM_UPSTREAMS_MAX];
  size_t upstream_count;
  uint8_t *executions;      /* the ledger: by call */
  struct sim_entry *ledger; /* likewise, of those that tell the truth about their tool */
  unsigned call_count;
  bool scripted;
};

/* Returns 0 or HF_ERR_NOMEM. `call_count` calls at most; their numbers are below it. */
int sim_world_init(struct sim_world *world, uint64_t seed, size_t upstream_count, unsigned call_count);
void sim_world_deinit(struct sim_world *world);

void sim_timer_set(struct sim_world *world, struct sim_timer *timer, hf_time at, void (*fire)(struct sim_timer *));
void sim_timer_stop(struct sim_world *world, struct sim_timer *timer);

/* Fires the next timer. Returns false when there is none. */
bool sim_world_turn(struct sim_world *world);

/* Uniform in [low, high]. */
hf_time sim_world_between(struct sim_world *world, hf_time low, hf_time high);
bool sim_world_chance(struct sim_world *world, unsigned percent);

/* Starts or restarts the upstream; ends in `ready` or `down`. */
void sim_upstream_start(struct sim_upstream *upstream);
void sim_upstream_probe(struct sim_upstream *upstream);

/* Sends a request whose world, upstream, events, owner, attempt, call and truth are set. A new session is opened first.
 */
void sim_request_start(struct sim_request *request, bool new_session);

/* The client gives up: the server may still do the work, and its answer may still come. */
void sim_request_abort(struct sim_request *request);

#endif
