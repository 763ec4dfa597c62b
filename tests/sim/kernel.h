/* Drives the policy kernel in the simulated world as a pipeline would, and watches it. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "check.h"
#include "policy/provider.h"
#include "world.h"

#include <stdio.h>

enum { SIM_TOOLS_MAX = 4, SIM_ATTEMPTS_MAX = 8 };

struct sim_call {
  struct hf_call call;
  struct sim_timer timer;   /* the call's own */
  struct sim_timer arrival; /* when it starts */
  struct sim_timer cancel;
  struct sim_kernel *kernel;
  unsigned number;
  unsigned provider;
  unsigned tool;
  enum hf_safety safety;
  struct hf_permit permit;
  struct sim_request requests[SIM_ATTEMPTS_MAX];
  unsigned request_count;
  unsigned sent_first; /* attempts started, renewals of a session aside */
  hf_time started;
  hf_time paused;    /* for people, in all */
  hf_time paused_at; /* HF_TIME_NEVER when not paused */
  unsigned questions;
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
  uint64_t firsts;
  uint64_t retries;
};

struct sim_kernel {
  struct sim_world *world;
  struct sim_check *check;
  FILE *trace; /* or NULL */
  struct hf_provider_options provider_options;
  struct hf_breaker_options tool_breaker;
  struct hf_call_options call_options; /* of every call; target and seed aside */
  struct sim_provider providers[SIM_UPSTREAMS_MAX];
  struct sim_call *calls;
  unsigned finished;
  unsigned long attempts;
  unsigned long faults[HF_FAULT_COUNT];
};

/* The world is initialized, the options are set. Returns 0 or HF_ERR_NOMEM. */
int sim_kernel_init(struct sim_kernel *kernel);
void sim_kernel_deinit(struct sim_kernel *kernel);

/* Has call `number` arrive at `at`, and be cancelled at `cancel_at` (HF_TIME_NEVER: never). */
void sim_kernel_call(struct sim_kernel *kernel, unsigned number, hf_time at, hf_time cancel_at, unsigned provider,
                     unsigned tool, enum hf_safety safety);

/* After the world has come to rest: what must be true in the end. */
void sim_kernel_check_end(struct sim_kernel *kernel);

#endif
