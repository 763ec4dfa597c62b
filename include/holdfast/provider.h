/* What the calls to one server share: a state machine.
 *
 * It owns the breaker of the provider and of each of its tools, the retry budget, the limit on concurrent calls with
 * its queue, and what is known of the upstream's state. It hands out permits, and asks for the upstream to be started
 * or probed. holdfast/run.h drives it for programs that have nothing to start or probe.
 *
 * How to drive it: step it with what happened; perform the actions in their order, after the step has returned; then,
 * as long as hf_provider_deadline(p) <= now, step it with HF_PROVIDER_TIMER (this is also how more grants come out than
 * fit one list); then arm a timer at hf_provider_deadline(p). A call stays in memory while its waiter stands in a list
 * of actions that is being performed, also if it has finished meanwhile.
 *
 * What it keeps: an acquire is answered exactly once, by a grant or a refusal, unless it is withdrawn (every call
 * withdraws at its own deadline); nobody is granted a slot beyond the limit of that moment; at most one probe per
 * breaker and generation; every breaker leaves half-open, at the latest when the probe's lease ends. Reasons:
 * docs/policy.md. */
#ifndef HOLDFAST_PROVIDER_H
#define HOLDFAST_PROVIDER_H

#include "holdfast/api.h"
#include "holdfast/breaker.h"
#include "holdfast/budget.h"
#include "holdfast/call.h"
#include "holdfast/permit.h"
#include "holdfast/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_provider;
struct hf_provider_tool;

struct hf_provider_options {
  struct hf_breaker_options breaker; /* of the provider; each tool has its own options */
  struct hf_budget_options budget;
  unsigned max_concurrent; /* calls in flight; at least 1 */
  bool adaptive;           /* the limit follows the latency, from 1 up to max_concurrent (holdfast/limiter.h) */
  unsigned max_queued;     /* calls that wait for a slot, for readiness, or for a half-open breaker */
  hf_time max_wait;        /* for a slot: who waits longer, or probably will, is refused; 0: until its deadline */
  unsigned max_tools;
  hf_time probe_timeout; /* a synthetic probe that takes longer has failed; 0: no synthetic probes */
};

#define HF_PROVIDER_OPTIONS_INIT                                                                                       \
  {                                                                                                                    \
    .breaker = HF_BREAKER_OPTIONS_INIT, .budget = HF_BUDGET_OPTIONS_INIT, .max_concurrent = 64, .max_queued = 256,     \
    .max_wait = HF_SECONDS(5), .max_tools = 1024, .probe_timeout = HF_SECONDS(5)                                       \
  }

enum hf_provider_event_kind {
  HF_PROVIDER_ACQUIRE,        /* `waiter`, filled in; answered by an action of this step or of a later one */
  HF_PROVIDER_WITHDRAW,       /* `waiter`: not wanted any more; harmless if it is not queued */
  HF_PROVIDER_REPORT,         /* `report`, and the tool it is about */
  HF_PROVIDER_UPSTREAM_READY, /* connected and initialized: calls can be sent */
  HF_PROVIDER_UPSTREAM_DOWN,  /* `down`: a start failed, the child died, the upstream was stopped */
  HF_PROVIDER_PROBE_DONE,     /* `probe_ok`; answers HF_PROVIDER_PROBE_UPSTREAM */
  HF_PROVIDER_TIMER,          /* hf_provider_deadline was reached; early is harmless */
};

struct hf_provider_report {
  struct hf_provider_tool *tool;
  struct hf_report report;
};

struct hf_provider_down {
  struct hf_evidence evidence; /* why; kind HF_EVIDENCE_NONE: stopped on purpose, counts against nobody */
  hf_time not_before;          /* no start before this; HF_TIME_NEVER: not until told HF_PROVIDER_UPSTREAM_READY */
};

struct hf_provider_event {
  enum hf_provider_event_kind kind;
  __extension__ union {
    struct hf_waiter *waiter; /* borrowed while queued */
    struct hf_provider_report report;
    struct hf_provider_down down;
    bool probe_ok;
  };
};

enum hf_provider_action_kind {
  HF_PROVIDER_GRANT,          /* `grant`: step the waiter's call with HF_CALL_PERMIT_GRANTED */
  HF_PROVIDER_REFUSE,         /* `refuse`: likewise with HF_CALL_PERMIT_REFUSED */
  HF_PROVIDER_START_UPSTREAM, /* start, or start again; ends in UPSTREAM_READY or UPSTREAM_DOWN */
  HF_PROVIDER_PROBE_UPSTREAM, /* ping (legacy) or server/discover (modern); ends in PROBE_DONE, which may be late */
};

struct hf_provider_refuse {
  enum hf_denial reason;
  hf_time retry_at;
  struct hf_evidence evidence;
};

struct hf_provider_action {
  enum hf_provider_action_kind kind;
  struct hf_waiter *waiter; /* grant, refuse: not queued any more */
  __extension__ union {
    struct hf_permit permit;
    struct hf_provider_refuse refuse;
  };
};

enum { HF_PROVIDER_ACTIONS_MAX = 16 };

struct hf_provider_actions {
  unsigned len;
  struct hf_provider_action items[HF_PROVIDER_ACTIONS_MAX];
};

enum hf_provider_upstream { HF_PROVIDER_IS_DOWN, HF_PROVIDER_IS_STARTING, HF_PROVIDER_IS_READY };

/* What status and metrics show. */
struct hf_provider_view {
  enum hf_provider_upstream upstream;
  enum hf_breaker_state breaker;
  hf_time breaker_until; /* open: when a probe is due */
  unsigned in_flight;
  unsigned limit; /* on them, now */
  unsigned queued;
  uint64_t budget_refusals; /* since the start */
  uint64_t limit_refusals;
};

/* Returns owned, with one reference, or NULL when out of memory. Copies `options`; `seed` feeds the jitter of its
 * breakers. It starts down, with nothing against it; the first acquire asks for the upstream's start, unless
 * HF_PROVIDER_UPSTREAM_READY came before (started eagerly, or nothing to start). */
HF_API struct hf_provider *hf_provider_new(const struct hf_provider_options *options, uint64_t seed, hf_time now);

/* Returns `provider`, with one more reference. */
HF_API struct hf_provider *hf_provider_ref(struct hf_provider *provider);

/* Frees it, and its tools, with the last reference. The last holder leaves no waiter queued. Accepts NULL. */
HF_API void hf_provider_unref(struct hf_provider *provider);

/* New limits and thresholds, copied; what was learnt stays. */
HF_API void hf_provider_configure(struct hf_provider *provider, const struct hf_provider_options *options);

/* Finds the tool's entry or makes it (the one allocation after hf_provider_new), and sets its breaker's options. It
 * lives as long as the provider. Beyond max_tools the others share one entry, with the provider's breaker options, so
 * that invented names cost no memory. `name` is borrowed. Returns 0 and the tool, borrowed; or HF_ERR_NOMEM. */
HF_API int hf_provider_tool_named(struct hf_provider *provider, const char *name,
                                  const struct hf_breaker_options *options, struct hf_provider_tool **ret_tool);

/* Bounds the tool's own calls in flight; 0: only the provider's limit holds, as it is at first. Whoever waits for this
 * tool then waits in the provider's queue, but in nobody's way. */
HF_API void hf_provider_tool_limit(struct hf_provider_tool *tool, unsigned max_concurrent);

/* Tells the provider what happened. `out` is overwritten. Returns 0, or HF_ERR_INVALID for wrong use (a waiter that is
 * queued already). Perform the actions after it has returned. */
HF_API int hf_provider_step(struct hf_provider *provider, const struct hf_provider_event *event, hf_time now,
                            struct hf_provider_actions *out);

/* When it wants HF_PROVIDER_TIMER: possibly a time that is past; HF_TIME_NEVER if not at all. */
HF_API hf_time hf_provider_deadline(const struct hf_provider *provider);

HF_API void hf_provider_view(const struct hf_provider *provider, struct hf_provider_view *ret_view);

/* What a call of this tool would be told now, without asking for a permit: HF_BREAKER_STOP while its breaker or the
 * provider's is open, or the upstream is down and may not be started yet. */
HF_API enum hf_breaker_gate hf_provider_gate(const struct hf_provider *provider, const struct hf_provider_tool *tool,
                                             hf_time now);

/* The latency that `percent` of the tool's last good answers stayed below; HF_TIME_NEVER while too few are known. */
HF_API hf_time hf_provider_tool_latency(const struct hf_provider_tool *tool, unsigned percent);

/* The tool's own breaker, to look at: borrowed. */
HF_API const struct hf_breaker *hf_provider_tool_breaker(const struct hf_provider_tool *tool);

#ifdef __cplusplus
}
#endif

#endif
