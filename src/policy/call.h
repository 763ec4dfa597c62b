/* One tools/call as a pure state machine, in the caller's memory. Events, actions, options, what it keeps and how to
 * drive it are public: holdfast/call.h. Here the owner makes it with hf_call_init, in the call's own block. */
#ifndef HF_POLICY_CALL_H
#define HF_POLICY_CALL_H

#include "base/time.h"
#include "holdfast/call.h"
#include "policy/breaker.h"
#include "policy/classify.h"
#include "policy/permit.h"
#include "policy/retry.h"

#include <stdbool.h>
#include <stdint.h>

enum hf_call_state {
  HF_CALL_STATE_NEW,
  HF_CALL_STATE_ACQUIRING, /* waits for a permit */
  HF_CALL_STATE_RUNNING,   /* an attempt is in flight, or two */
  HF_CALL_STATE_PAUSING,   /* between attempts */
  HF_CALL_STATE_SETTLING,  /* until what may still begin to run has begun */
  HF_CALL_STATE_CHECKING,  /* a status check is in flight */
  HF_CALL_STATE_DEGRADING, /* somebody looks for an answer that is not live */
  HF_CALL_STATE_BURYING,   /* a dead letter is being written */
  HF_CALL_STATE_FINISHED,
};

/* One of the two that can be in flight. */
struct hf_attempt {
  bool in_flight;
  bool connected;     /* ends the connect timer */
  bool spoke;         /* there was a sign of life */
  bool complete;      /* the request is out: the tool can run from here on */
  bool repeats;       /* something before it may have run */
  bool followed;      /* it goes on as work at its server: its own time does not end it */
  bool new_session;   /* opening the session comes before the first byte: no connect timer */
  unsigned questions; /* outstanding questions to a person */
  unsigned index;
  hf_time started;   /* moves on with the time of people */
  hf_time last_life; /* HF_TIME_NEVER until the first sign of life */
  struct hf_permit permit;
};

/* What happened at one target. */
struct hf_visit {
  bool gone_to;
  bool attempted;   /* an attempt was started: the next one is a repeat */
  bool shut;        /* its last answer was that a breaker is open */
  uint8_t ran;      /* enum hf_executed, over its attempts and of what those in flight have shown */
  unsigned tries;   /* acquires that were granted or refused for a reason worth another try; what waits an outage out
                       is not among them */
  unsigned pauses;  /* before repeats */
  hf_time retry_at; /* what its last refusal said; 0 without one, HF_TIME_NEVER if it did not say */
};

/* In the caller's memory (the call's own block). Fields are private, but for `waiter`, which the owner hands to the
 * provider and finds the call by (HF_CONTAINER_OF). Needs no deinit once finished. */
struct hf_call {
  struct hf_waiter waiter;
  struct hf_timeout_options timeout;
  struct hf_retry_options retry;
  uint64_t random;
  enum hf_call_state state;
  unsigned target;       /* where it is now */
  unsigned target_count; /* 1 … HF_CALL_TARGETS_MAX */
  unsigned priority;
  bool stay;                 /* no target but the first */
  bool hinted_deadline;      /* the deadline is the caller's, not ours */
  bool outlives;             /* nobody waits on the line */
  bool inherited;            /* an earlier owner sent it: whatever happens here, it may have run */
  bool degrades;             /* somebody may have another answer */
  bool session_renewed;      /* a lost session is renewed once at each target */
  bool hedged;               /* the one hedge of this try was asked for */
  bool waited;               /* the one visit for a half-open breaker, when all were open, has been */
  unsigned checks;           /* that got no answer */
  bool settled_check;        /* the check in flight began after everything had settled */
  bool acquiring;            /* an acquire is outstanding */
  bool owed;                 /* it was withdrawn too late: its answer is on the way, and is nobody's */
  bool has_deferred;         /* a failure that counts if no further attempt is made at this target */
  unsigned owed_by;          /* whose answer that is */
  unsigned max_attempts;     /* of all targets, renewals of a session aside */
  unsigned spent;            /* of those */
  unsigned attempts;         /* started */
  enum hf_executed executed; /* the most that any target has `ran` */
  enum hf_letter_policy letters;
  hf_time started;
  hf_time hint;       /* the caller's own deadline, from the start; 0: none */
  hf_time deadline;   /* absolute; moves on when a pause ends */
  hf_time paused_at;  /* valid while there are questions */
  hf_time wake_at;    /* acquiring, pausing, settling, checking, burying: when that ends */
  hf_time settled_at; /* what ended and may have run can begin to until then */
  hf_time now;        /* the latest time seen: time never runs backwards here */
  struct hf_attempt attempt[2];
  struct hf_report deferred;

  /* What the call ends with, as far as it is known. */
  enum hf_call_end end;
  enum hf_fault fault; /* of the last attempt, or of the refusal if there was none */
  struct hf_evidence evidence;
  unsigned provider;     /* the target that `fault` is about */
  unsigned last_attempt; /* likewise */
  enum hf_source source;
  hf_time age;
  enum hf_letter_state letter;

  struct hf_call_target targets[HF_CALL_TARGETS_MAX];
  struct hf_visit visits[HF_CALL_TARGETS_MAX]; /* of each target */
};

/* Copies what it needs of `options`. */
void hf_call_init(struct hf_call *call, const struct hf_call_options *options);

static inline bool hf_call_finished(const struct hf_call *call) {
  return call->state == HF_CALL_STATE_FINISHED;
}

/* From now on it goes to no other target. */
static inline void hf_call_stay(struct hf_call *call) {
  call->stay = true;
}

/* The attempt in flight with this index, or NULL. */
struct hf_attempt *hf_call_attempt(struct hf_call *call, unsigned index);

/* The server has taken the attempt's work on, and it is followed there: from now on no time of its own cuts it short
 * for a repeat, only silence and the deadline end it. Arm the timer anew. */
void hf_call_follow(struct hf_call *call, unsigned attempt);

/* An earlier owner sent it, and it only goes on: it may have run before anything is done here. Before it is started. */
void hf_call_inherit(struct hf_call *call);

/* What the server asked is answered, and the attempt's request is about to go out once more; to be called before
 * HF_CALL_RESUMED says so. False: it must not, for it repeats what may have run, under a key that the server has
 * forgotten. Then, or if that comes before the request is out, the timer ends it. */
bool hf_call_send_again(struct hf_call *call, unsigned attempt, hf_time now);

#endif
