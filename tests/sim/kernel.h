/* Drives the policy kernel in the simulated world as a pipeline would, and watches it. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "check.h"
#include "policy/provider.h"
#include "world.h"

#include <stdio.h>

enum { SIM_TOOLS_MAX = 4, SIM_ROUTE_MAX = SIM_UPSTREAMS_MAX, SIM_ATTEMPTS_MAX = 64, SIM_ANSWERS_MAX = 4 };

/* One provider of a call. */
struct sim_target {
  struct hf_call_target target; /* keyed_until aside, which comes from `ttl` */
  hf_time ttl;
  unsigned provider;
  unsigned tool;
};

/* What the owner of a call has to offer. In a world without a script it is drawn when it is asked for. */
struct sim_offer {
  hf_time check_delay; /* HF_TIME_NEVER: no answer */
  bool check_is_blind; /* it cannot say whether it ran */
  enum hf_source source;
  hf_time degrade_delay;
  hf_time letter_delay; /* HF_TIME_NEVER: the store hangs */
  bool store_fails;
};

struct sim_call {
  struct hf_call call;
  struct sim_timer timer;   /* the call's own */
  struct sim_timer arrival; /* when it starts */
  struct sim_timer cancel;
  struct sim_timer outlive; /* when nobody waits on the line any more */
  struct sim_timer aside;   /* a check, a degraded answer, a letter: one at a time */
  struct sim_timer delivery;
  struct hf_call_event answers[SIM_ANSWERS_MAX]; /* of providers, in the call's queue */
  unsigned answer_count;
  struct sim_kernel *kernel;
  unsigned number;
  struct sim_target route[SIM_ROUTE_MAX];
  unsigned route_len;
  struct sim_offer offer;
  enum hf_letter_policy letters;
  struct sim_request *requests; /* SIM_ATTEMPTS_MAX */
  unsigned request_count;
  unsigned renewals;
  unsigned sent_to[SIM_ROUTE_MAX];    /* attempts started, renewals of a session aside */
  unsigned whole_at[SIM_ROUTE_MAX];   /* of these, handed over whole: others may be repeated as long as there is time */
  unsigned went_to[SIM_ATTEMPTS_MAX]; /* the target of each */
  enum hf_check check_says;
  enum hf_source offered;
  hf_time age;
  unsigned letters_asked;
  hf_time letter_at; /* when it was asked for */
  hf_time started;
  hf_time paused;    /* for people, in all */
  hf_time paused_at; /* HF_TIME_NEVER when not paused */
  bool outlives;
  bool checking;
  bool cancelled;
  bool finished;
  struct hf_outcome outcome;
};

/* The probe that a breaker has out, as seen from outside. */
struct sim_probe {
  uint32_t generation; /* of the last one */
  hf_time lease_end;
  bool out; /* not reported yet */
};

struct sim_provider {
  struct sim_kernel *kernel;
  unsigned number;
  struct hf_provider *provider;
  struct hf_provider_tool *tools[SIM_TOOLS_MAX];
  struct sim_timer timer;
  struct sim_probe probe;
  struct sim_probe tool_probes[SIM_TOOLS_MAX];
  unsigned slots; /* permits out that hold one */
  unsigned tool_slots[SIM_TOOLS_MAX];
  uint64_t firsts;
  uint64_t retries;
};

/* How often each level of the chain was reached. */
struct sim_levels {
  unsigned long moves, hedges, hedges_won, checks, checked, disproved, degraded, letters, outlived;
};

struct sim_kernel {
  struct sim_world *world;
  struct sim_check *check;
  FILE *trace; /* or NULL */
  struct hf_provider_options provider_options;
  struct hf_breaker_options tool_breaker;
  struct hf_call_options call_options; /* of every call; targets and seed aside */
  unsigned tool_limit;                 /* of each tool; 0: none */
  bool priorities;                     /* calls differ in them */
  hf_time hedge_after;                 /* stands in every permit; 0: what the provider says */
  bool queued;                         /* a provider's answer waits in the call's queue */
  struct sim_request *requests;
  struct sim_provider providers[SIM_UPSTREAMS_MAX];
  struct sim_call *calls;
  unsigned finished;
  unsigned long attempts;
  unsigned long faults[HF_FAULT_COUNT];
  struct sim_levels levels;
};

/* The world is initialized, the options are set. Returns 0 or HF_ERR_NOMEM. */
int sim_kernel_init(struct sim_kernel *kernel);
void sim_kernel_deinit(struct sim_kernel *kernel);

/* Has call `number` arrive at `at`, and be cancelled at `cancel_at` (HF_TIME_NEVER: never). `offer` is NULL where it is
 * drawn. */
void sim_kernel_call(struct sim_kernel *kernel, unsigned number, hf_time at, hf_time cancel_at,
                     const struct sim_target *route, unsigned route_len, const struct sim_offer *offer);

/* From `at` on nobody waits on the line for it. */
void sim_kernel_outlive(struct sim_kernel *kernel, unsigned number, hf_time at);

/* After the world has come to rest: what must be true in the end. */
void sim_kernel_check_end(struct sim_kernel *kernel);

#endif
