/* A call and its provider driven together: what most programs need of the kernel, for blocking code and event loops.
 *
 * A run is one call (holdfast/call.h) to one tool of one provider (holdfast/provider.h). It carries permits, refusals
 * and reports between the two; what is left to its owner is to wait, to make attempts, and to say what came of them:
 *
 *     for (;;) {
 *       hf_run_next(run, now(), &order);
 *       switch (order.kind) {
 *       case HF_RUN_WAIT:     … until order.until (or until an attempt in flight has news)
 *       case HF_RUN_ATTEMPT:  … make it, and hf_run_tell what happened
 *       case HF_RUN_ABORT:    … cancel the attempt; nothing is to be told of it any more
 *       case HF_RUN_FINISHED: … order.outcome says how it ended
 *       }
 *     }
 *
 * Several runs may share a provider. Then each hf_run_next and hf_run_tell can move others that wait: whoever has
 * waiting runs asks them again after that (an event loop in the same turn; threads signal a condition).
 *
 * A run takes its provider's upstream for something that is always there, as a server behind a URL is: there is nothing
 * to start, and the probe that closes a breaker is a real call. For anything else drive hf_call and hf_provider
 * yourself. One provider is driven one way or the other, not both. examples/embed.c is a program that uses this. */
#ifndef HOLDFAST_RUN_H
#define HOLDFAST_RUN_H

#include "holdfast/api.h"
#include "holdfast/call.h"
#include "holdfast/classify.h"
#include "holdfast/provider.h"
#include "holdfast/retry.h"
#include "holdfast/time.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_run_options {
  struct hf_timeout_options timeout;
  struct hf_retry_options retry;
  struct hf_call_hints hints;
  enum hf_safety safety; /* what a repeat does when an earlier attempt may have run: with UNSAFE there is none then */
  uint64_t seed;         /* of this run's jitter; best different for each */
};

#define HF_RUN_OPTIONS_INIT                                                                                            \
  {                                                                                                                    \
    .timeout = HF_TIMEOUT_OPTIONS_INIT, .retry = HF_RETRY_OPTIONS_INIT, .hints = {0, 0}, .safety = HF_SAFETY_UNSAFE,   \
    .seed = 0                                                                                                          \
  }

enum hf_run_order_kind {
  HF_RUN_WAIT,     /* `until`; HF_TIME_NEVER: only for what happens */
  HF_RUN_ATTEMPT,  /* `attempt`, `connect_by`, `answer_by`, `new_session` */
  HF_RUN_ABORT,    /* `attempt` */
  HF_RUN_FINISHED, /* `outcome`; from now on always */
};

struct hf_run_order {
  enum hf_run_order_kind kind;
  unsigned attempt;          /* its index, for hf_run_tell */
  hf_time until;             /* ask again then */
  hf_time connect_by;        /* when the attempt should be connected */
  hf_time answer_by;         /* when it should have its answer: blocking code sets its timeout to this */
  bool new_session;          /* the last session was lost: open a new one first */
  struct hf_outcome outcome; /* how the call ended */
};

struct hf_run;

/* Starts a run. Holds a reference of `provider` and borrows `tool`, which is one of its tools; copies `options`.
 * Returns 0 and the run, owned; or HF_ERR_NOMEM. */
HF_API int hf_run_new(struct hf_provider *provider, struct hf_provider_tool *tool, const struct hf_run_options *options,
                      hf_time now, struct hf_run **ret_run);

/* Takes the run; one that has not finished is cancelled, so that its permit goes back. Accepts NULL. */
HF_API void hf_run_free(struct hf_run *run);

/* Nobody waits on the line for this run any more: hf_call_outlive. An attempt under way was told an earlier
 * `answer_by`; it may take as long as HF_RUN_WAIT says from now on. */
HF_API void hf_run_outlive(struct hf_run *run);

/* Says what is to be done now. Every order is given once, but for HF_RUN_WAIT and HF_RUN_FINISHED. */
HF_API void hf_run_next(struct hf_run *run, hf_time now, struct hf_run_order *ret_order);

/* Tells what happened: HF_CALL_ATTEMPT_SENT, HF_CALL_SIGN_OF_LIFE, HF_CALL_ANSWER_BYTES, HF_CALL_ATTEMPT_DONE,
 * HF_CALL_PAUSED, HF_CALL_RESUMED or HF_CALL_CANCELLED. `executed` is only as good as what is told of bytes sent: tell
 * HF_CALL_ATTEMPT_SENT before the end of an attempt whose request was handed over. Returns 0, or HF_ERR_INVALID for an
 * attempt that was never ordered and for other events, which are the run's own. */
HF_API int hf_run_tell(struct hf_run *run, const struct hf_call_event *event, hf_time now);

#ifdef __cplusplus
}
#endif

#endif
