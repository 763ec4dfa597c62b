/* One call, from its arrival until it is answered: a state machine.
 *
 * The owner tells it what happened, performs the actions that come back, in their order, and decides nothing itself.
 * Time comes in with each step; randomness comes from the seed. holdfast/run.h does the plumbing between a call and its
 * provider for programs that need no more than that.
 *
 * How to drive it:
 *   1. hf_call_new, then step HF_CALL_STARTED.
 *   2. After every step perform the actions, then arm a timer at hf_call_deadline(call) and step HF_CALL_TIMER when it
 * is reached (also if it is already past). A timer event that comes early is harmless.
 *   3. HF_CALL_FINISH is always the last action; after it the call wants nothing and ignores everything, but for a
 * permit that was on its way, which it hands back.
 *
 * The levels of a call follow each other, and are one chain: repeats at one target, the next target, a status check of
 * what may have run, the last good answer or the default, a dead letter, the end.
 *
 * What it keeps: every call that was started finishes exactly once, at the latest at its deadline (a dead letter that
 * is being written adds HF_CALL_LETTER_WAIT at most); at any time it has at most one acquire outstanding and at most
 * two attempts in flight, the second a hedge; every permit it was granted is reported; an attempt whose tool may have
 * run is repeated only if the target's safety allows it, and at another server only if that can do no harm there;
 * `executed` never falls, but for a status check that proves that an ended attempt did not run. Those are checked by
 * simulation (tests/sim); docs/policy.md has the rules and their reasons. */
#ifndef HOLDFAST_CALL_H
#define HOLDFAST_CALL_H

#include "holdfast/api.h"
#include "holdfast/classify.h"
#include "holdfast/permit.h"
#include "holdfast/retry.h"
#include "holdfast/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hf_timeout_options {
  hf_time connect;  /* from the start of an attempt until the connection stands or takes a byte */
  hf_time idle;     /* silence after the first sign of life */
  hf_time attempt;  /* one attempt in all; applies where a repeat is allowed and left */
  hf_time deadline; /* the whole call: queueing, attempts, pauses */
  hf_time task;     /* likewise, in place of the two above, once nobody waits on the line: hf_call_outlive */
};

#define HF_TIMEOUT_OPTIONS_INIT                                                                                        \
  {                                                                                                                    \
    .connect = HF_SECONDS(2), .idle = HF_SECONDS(30), .attempt = HF_SECONDS(20), .deadline = HF_SECONDS(55),           \
    .task = HF_SECONDS(3600)                                                                                           \
  }

/* The caller's hints. They only tighten; 0 means none. */
struct hf_call_hints {
  hf_time deadline;      /* from the start of the call */
  unsigned max_attempts; /* of all targets together */
  bool stay;             /* no target but the first */
};

enum { HF_CALL_TARGETS_MAX = 8 };

/* A dead letter is waited for this long, also past the deadline: then the call ends without one. */
#define HF_CALL_LETTER_WAIT HF_SECONDS(2)

/* One provider that can answer the call, in order of preference. The owner knows what its index stands for. */
struct hf_call_target {
  enum hf_safety safety;
  bool stateful;   /* a lost session is not renewed silently */
  unsigned server; /* equal numbers: endpoints of one server, where what may be repeated at one may be at the other */
  bool harmless;   /* that it ran here cannot matter to another server: its safety is configured as read-only */
  bool hedged;     /* a second attempt may be started while the first is slow; needs `harmless` */

  /* HF_SAFETY_KEYED: until when the server remembers the key (absolute). Later it counts as unsafe. */
  hf_time keyed_until;

  /* What is kept of the deadline for a status check, a read-only call that can say whether this target ran; 0: there is
   * none. */
  hf_time check_time;

  /* How long after an attempt's end it can still begin to run, where its child is not known to be dead; HF_TIME_NEVER:
   * nobody knows. */
  hf_time settle;
};

/* Which calls that end badly are written down. */
enum hf_letter_policy {
  HF_LETTER_OFF,
  HF_LETTER_UNSAFE, /* those whose tool has effects: that is not configured or known as read-only */
  HF_LETTER_ALL,
};

/* All of it is copied, so that a change of options changes no call that runs. */
struct hf_call_options {
  struct hf_timeout_options timeout;
  struct hf_retry_options retry;
  struct hf_call_hints hints;
  const struct hf_call_target *targets; /* the providers, best first */
  size_t target_count;                  /* 1 … HF_CALL_TARGETS_MAX */
  unsigned priority; /* its place in queues: 1 before all … HF_PRIORITY_LAST; 0: HF_PRIORITY_MIDDLE */
  bool degrades;     /* there may be a last good answer or a default: ask before failing */
  enum hf_letter_policy letters;
  uint64_t seed; /* of this call's jitter */
};

enum hf_call_event_kind {
  HF_CALL_STARTED,        /* once, first */
  HF_CALL_PERMIT_GRANTED, /* `granted`; answers HF_CALL_ACQUIRE */
  HF_CALL_PERMIT_REFUSED, /* `refused`; answers HF_CALL_ACQUIRE */
  HF_CALL_ATTEMPT_SENT,   /* `sent`: in the same turn in which the bytes were handed to the socket or pipe */
  HF_CALL_SIGN_OF_LIFE,   /* `attempt`: progress, log, a request from the server, an SSE event that is no answer */
  HF_CALL_ANSWER_BYTES,   /* `attempt`: a part of the answer came: restarts the idle timer, says nothing else */
  HF_CALL_ATTEMPT_DONE,   /* `done` */
  HF_CALL_PAUSED,         /* `attempt`: a question of the server waits for a person; nests */
  HF_CALL_RESUMED,        /* `attempt`: it was answered or is void */
  HF_CALL_CHECKED,        /* `check`; answers HF_CALL_CHECK */
  HF_CALL_DEGRADED,       /* `degraded`; answers HF_CALL_DEGRADE */
  HF_CALL_LETTER_DONE,    /* `letter_written`; answers HF_CALL_DEAD_LETTER */
  HF_CALL_TIMER,          /* hf_call_deadline was reached */
  HF_CALL_CANCELLED,      /* by the caller, or its connection is gone where that means cancel */
};

enum hf_attempt_result {
  HF_ATTEMPT_SUCCESS, /* a result without isError: the tool ran */
  HF_ATTEMPT_PENDING, /* a result that is no fault and no end: input_required, task */
  HF_ATTEMPT_FAULT,   /* `evidence`; also a tool's `isError: true` */
};

struct hf_call_granted {
  struct hf_permit permit;
};

struct hf_call_refused {
  enum hf_denial reason;
  hf_time retry_at;            /* when asking again can help; HF_TIME_NEVER if unknown or never */
  struct hf_evidence evidence; /* with HF_DENIAL_DOWN: why */
};

struct hf_call_sent {
  size_t bytes;  /* handed over; 0 with the news that the connection stands */
  bool complete; /* the last byte of the request among them (stdio: the newline) */
};

struct hf_call_done {
  enum hf_attempt_result result;
  struct hf_evidence evidence; /* with HF_ATTEMPT_FAULT */
};

/* What a status check says of the attempts before it. */
enum hf_check {
  HF_CHECK_UNKNOWN, /* it answered, and that says neither */
  HF_CHECK_RAN,
  HF_CHECK_DID_NOT_RUN,
  HF_CHECK_FAILED, /* it did not answer: to be asked again */
};

/* Where an answer comes from. */
enum hf_source { HF_SOURCE_LIVE, HF_SOURCE_CACHE, HF_SOURCE_DEGRADED, HF_SOURCE_COUNT };

struct hf_call_degraded {
  enum hf_source source; /* HF_SOURCE_LIVE: there is nothing, the call fails */
  hf_time age;           /* of a cached answer */
};

struct hf_call_event {
  enum hf_call_event_kind kind;
  unsigned attempt; /* the index that HF_CALL_START_ATTEMPT gave; events of ended attempts are ignored */
  __extension__ union {
    struct hf_call_granted granted;
    struct hf_call_refused refused;
    struct hf_call_sent sent;
    struct hf_call_done done;
    enum hf_check check;
    struct hf_call_degraded degraded;
    bool letter_written;
  };
};

/* Why the call ended as it did, for texts and logs; its fault says what went wrong. */
enum hf_call_end {
  HF_CALL_END_ANSWERED,  /* success or pending: pass the answer of `attempt` on */
  HF_CALL_END_FINAL,     /* the fault is not one that a repeat can mend */
  HF_CALL_END_UNSAFE,    /* transient, but the tool may have run and must not run twice */
  HF_CALL_END_ATTEMPTS,  /* no attempts left */
  HF_CALL_END_BUDGET,    /* the provider's retry budget is spent */
  HF_CALL_END_REFUSED,   /* no permit: breaker, limit, upstream down */
  HF_CALL_END_HINT,      /* Retry-After, or the pause, lies beyond the deadline */
  HF_CALL_END_DEADLINE,  /* the deadline passed */
  HF_CALL_END_CANCELLED, /* the caller cancelled: nobody waits for an answer */
  HF_CALL_END_CHECKED,   /* the answer was lost, and a status check says that the tool ran */
};

/* What became of its dead letter. */
enum hf_letter_state { HF_LETTER_NONE, HF_LETTER_WRITTEN, HF_LETTER_FAILED };

struct hf_outcome {
  enum hf_call_end end;
  enum hf_fault fault; /* HF_FAULT_NONE when answered; else of the last attempt, or of the refusal if there was none */
  enum hf_executed executed;   /* of the whole call */
  struct hf_evidence evidence; /* behind `fault` */
  unsigned provider;           /* target index of the last attempt (or refusal) */
  unsigned attempts;           /* how many were started */
  unsigned attempt;      /* index of the one it ends with, if attempts > 0: whose answer to pass on, if it had one */
  hf_time elapsed;       /* since the start, waiting for people included */
  hf_time retry_after;   /* when a later call may do better; negative if unknown */
  enum hf_source source; /* of the answer; not live: `fault` and `end` say why the live one failed */
  hf_time age;           /* of a cached answer */
  enum hf_letter_state letter;
};

enum hf_call_action_kind {
  HF_CALL_ACQUIRE,       /* step the provider with HF_PROVIDER_ACQUIRE, and the call's waiter with the tool it is for */
  HF_CALL_WITHDRAW,      /* step the provider with HF_PROVIDER_WITHDRAW: the acquire is not wanted any more */
  HF_CALL_START_ATTEMPT, /* `start` */
  HF_CALL_ABORT_ATTEMPT, /* `abort`: cancel upstream and forget it; no event of it is expected any more */
  HF_CALL_REPORT,        /* `report`: step the provider with HF_PROVIDER_REPORT */
  HF_CALL_CHECK,         /* `check_by`: ask the status tool of this target whether it ran; ends in HF_CALL_CHECKED */
  HF_CALL_ABORT_CHECK,   /* its answer is not wanted any more */
  HF_CALL_DEGRADE,       /* look for the last good answer, else the default; ends in HF_CALL_DEGRADED */
  HF_CALL_DEAD_LETTER,   /* `outcome`, as it is so far: write it down; ends in HF_CALL_LETTER_DONE */
  HF_CALL_FINISH,        /* `outcome`: the end */
};

enum hf_abort_reason {
  HF_ABORT_CONNECT,
  HF_ABORT_IDLE,
  HF_ABORT_ATTEMPT,
  HF_ABORT_DEADLINE,
  HF_ABORT_CANCELLED,
  HF_ABORT_HEDGED, /* the other one of the two has answered */
};

/* The verdict on one attempt, or on the call's last attempt at this provider. */
struct hf_report {
  struct hf_permit permit;
  enum hf_blame blame;
  bool deferred;       /* the call goes on: give the slot back, settle a probe, but count nothing yet */
  hf_time retry_after; /* the server's hint; negative if none */
  hf_time latency;     /* of a success, from the start of the attempt to its answer, without pauses; negative if none */
};

struct hf_call_start {
  unsigned attempt;   /* 0, 1, 2 … over the whole call */
  bool hedge;         /* another one is in flight */
  hf_time connect_by; /* absolute, for the owner's own layers; the call's timer watches it all the same */
  bool new_session;   /* the last one was lost: open a new one first */
};

struct hf_call_abort {
  unsigned attempt;
  enum hf_abort_reason reason;
};

struct hf_call_action {
  enum hf_call_action_kind kind;
  unsigned provider; /* target index; all but `finish` and `dead_letter`, whose outcome has it */
  __extension__ union {
    struct hf_call_start start;
    struct hf_call_abort abort;
    struct hf_report report;
    hf_time check_by;
    struct hf_outcome outcome;
  };
};

enum { HF_CALL_ACTIONS_MAX = 8 };

struct hf_call_actions {
  unsigned len;
  struct hf_call_action items[HF_CALL_ACTIONS_MAX];
};

struct hf_call;

/* Makes a call, to be started with HF_CALL_STARTED. Copies what it needs of `options`; `owner` is the caller's, for
 * hf_call_owner, and may be NULL. Returns 0 and the call, owned; HF_ERR_NOMEM; or HF_ERR_INVALID if there is no
 * target, or more than HF_CALL_TARGETS_MAX. */
HF_API int hf_call_new(const struct hf_call_options *options, void *owner, struct hf_call **ret_call);

/* Makes a new call of one that has finished, in its memory: allocates nothing. Returns 0, HF_ERR_BUSY for a call that
 * was started and has not finished, or HF_ERR_INVALID as above. */
HF_API int hf_call_reset(struct hf_call *call, const struct hf_call_options *options);

/* Takes the call, which has finished or was never started; accepts NULL. It stays in memory while its waiter stands in
 * a list of a provider's actions that is being performed. */
HF_API void hf_call_free(struct hf_call *call);

HF_API void *hf_call_owner(const struct hf_call *call);

/* What HF_CALL_ACQUIRE and HF_CALL_WITHDRAW hand to the provider: the call's waiter, for `tool` (borrowed; of that
 * provider). Borrowed from the call. */
HF_API struct hf_waiter *hf_call_waiter(struct hf_call *call, struct hf_provider_tool *tool);

/* The call that a granted or refused waiter belongs to; it was made by hf_call_new. Borrowed. */
HF_API struct hf_call *hf_call_of(struct hf_waiter *waiter);

/* Tells the call what happened. `out` is overwritten. Returns 0, or HF_ERR_INVALID for an event that its state does not
 * allow (a bug of the owner; nothing changes and no action is given). Events about ended attempts are not wrong, only
 * late: they are ignored. Perform the actions after it has returned. */
HF_API int hf_call_step(struct hf_call *call, const struct hf_call_event *event, hf_time now,
                        struct hf_call_actions *out);

/* Nobody waits on the line for its answer any more: it is a task, or goes on without its caller. From now on its
 * deadline is `timeout.task` from its start, where that is longer and the caller has not set a shorter one itself, and
 * no attempt is cut off by `timeout.attempt`, not even one that is under way; silence still is. There is no way back.
 * Changes hf_call_deadline, so arm the timer anew. May come at any time, also before the start, and again. */
HF_API void hf_call_outlive(struct hf_call *call);

/* When it wants HF_CALL_TIMER; HF_TIME_NEVER if not at all. */
HF_API hf_time hf_call_deadline(const struct hf_call *call);

/* The constant name of an end ("attempts"), for logs. */
HF_API const char *hf_call_end_name(enum hf_call_end end);

/* "live", "cache", "degraded". */
HF_API const char *hf_source_name(enum hf_source source);

#ifdef __cplusplus
}
#endif

#endif
