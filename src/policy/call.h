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
  HF_CALL_STATE_RUNNING,   /* an attempt is in flight */
  HF_CALL_STATE_PAUSING,   /* between attempts */
  HF_CALL_STATE_FINISHED,
};

/* The attempt in flight, or the last one. */
struct hf_attempt {
  unsigned index;
  hf_time started;
  hf_time last_life;  /* HF_TIME_NEVER until the first sign of life */
  bool connected;     /* ends the connect timer */
  bool spoke;         /* there was a sign of life */
  bool complete;      /* the request is out: the tool can run from here on */
  bool new_session;   /* opening the session comes before the first byte: no connect timer */
  unsigned questions; /* outstanding questions to a person */
};

/* In the caller's memory (the call's own block). Fields are private, but for `waiter`, which the owner hands to the
 * provider and finds the call by (HF_CONTAINER_OF). Needs no deinit once finished. */
struct hf_call {
  struct hf_waiter waiter;
  struct hf_timeout_options timeout;
  struct hf_retry_options retry;
  struct hf_call_target target;
  uint64_t random;
  enum hf_call_state state;
  enum hf_executed executed; /* over ended attempts, and of what the one in flight has shown */
  hf_time started;
  hf_time deadline;     /* absolute; moves on when a pause ends */
  hf_time paused_at;    /* valid while attempt.questions > 0 */
  hf_time resume_at;    /* pausing: when the next acquire is due */
  hf_time now;          /* the latest time seen: time never runs backwards here */
  bool hinted_deadline; /* the deadline is the caller's, not ours */
  bool session_renewed; /* a lost session is renewed once */
  unsigned tries;       /* acquires that were granted or refused for a reason worth another try */
  unsigned attempts;    /* started */
  struct hf_attempt attempt;
  struct hf_permit permit;
  bool has_permit;   /* granted and not reported yet, deferred reports aside */
  bool has_deferred; /* a failure that counts if no further attempt is made */
  struct hf_report deferred;
  enum hf_fault fault; /* of the last attempt or refusal */
  struct hf_evidence evidence;
};

/* Copies what it needs of `options`. */
void hf_call_init(struct hf_call *call, const struct hf_call_options *options);

static inline bool hf_call_finished(const struct hf_call *call) {
  return call->state == HF_CALL_STATE_FINISHED;
}

#endif
