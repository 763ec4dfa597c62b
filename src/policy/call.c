#include "policy/call.h"

#include "base/error.h"
#include "policy/attempt.h"
#include "policy/chain.h"
#include "policy/ending.h"
#include "policy/jitter.h"
#include "policy/orders.h"
#include "policy/reconcile.h"

#include <assert.h>
#include <limits.h>

/* A person who has not answered by then will not; the deadline runs on from here. */
static const hf_time LONGEST_PAUSE = HF_SECONDS(3600);

enum { IN_FLIGHT_MAX = sizeof((struct hf_call *)0)->attempt / sizeof(struct hf_attempt) };

static unsigned priority_of(const struct hf_call_options *options) {
  if (options->priority == 0)
    return HF_PRIORITY_MIDDLE;
  return options->priority < HF_PRIORITY_LAST ? options->priority : HF_PRIORITY_LAST;
}

void hf_call_init(struct hf_call *call, const struct hf_call_options *options) {
  const struct hf_call_hints *hints = &options->hints;
  assert(options->target_count >= 1 && options->target_count <= HF_CALL_TARGETS_MAX);
  *call = (struct hf_call){
      .timeout = options->timeout,
      .retry = options->retry,
      .random = options->seed,
      .target_count = (unsigned)options->target_count,
      .priority = priority_of(options),
      .stay = hints->stay,
      .hint = hints->deadline,
      .degrades = options->degrades,
      .max_attempts = hints->max_attempts ? hints->max_attempts : UINT_MAX,
      .letters = options->letters,
      .evidence = HF_EVIDENCE(HF_EVIDENCE_NONE),
  };
  hf_list_init(&call->waiter.node);
  for (unsigned i = 0; i < call->target_count; i++)
    call->targets[i] = options->targets[i];
  call->visits[0].gone_to = true;
  if (call->retry.attempts == 0)
    call->retry.attempts = 1;
  if (call->max_attempts < call->retry.attempts)
    call->retry.attempts = call->max_attempts;
  if (hints->max_attempts)
    call->retry.patience = 0; /* the caller wants to know soon */
  if (hints->deadline > 0 && hints->deadline < call->timeout.deadline) {
    call->timeout.deadline = hints->deadline;
    call->hinted_deadline = true;
  }
}

static const struct hf_call_target *target_of(const struct hf_call *call) {
  return &call->targets[call->target];
}

static struct hf_visit *visit_of(struct hf_call *call) {
  return &call->visits[call->target];
}

static void raise_executed(struct hf_call *call, enum hf_executed executed) {
  struct hf_visit *visit = visit_of(call);
  if (executed > visit->ran)
    visit->ran = (uint8_t)executed;
  if (executed > call->executed)
    call->executed = executed;
}

/* The other one of the two, if it is in flight. */
static struct hf_attempt *other_than(struct hf_call *call, const struct hf_attempt *attempt) {
  struct hf_attempt *other = attempt == &call->attempt[0] ? &call->attempt[1] : &call->attempt[0];
  return other->in_flight ? other : NULL;
}

struct hf_attempt *hf_call_attempt(struct hf_call *call, unsigned index) {
  for (unsigned i = 0; i < IN_FLIGHT_MAX; i++) {
    if (call->attempt[i].in_flight && call->attempt[i].index == index)
      return &call->attempt[i];
  }
  return NULL;
}

void hf_call_follow(struct hf_call *call, unsigned attempt) {
  struct hf_attempt *a = hf_call_attempt(call, attempt);
  if (a)
    a->followed = true;
}

void hf_call_inherit(struct hf_call *call) {
  call->inherited = true;
}

bool hf_call_send_again(struct hf_call *call, unsigned attempt, hf_time now) {
  struct hf_attempt *a = hf_call_attempt(call, attempt);
  if (!a || !a->repeats)
    return true;
  a->complete = false;
  return hf_chain_is_safe(call, call->target, now);
}

static bool has_time(const struct hf_call *call, hf_time from) {
  return hf_time_add(from, HF_LEAST_ATTEMPT) <= call->deadline;
}

static bool paused(const struct hf_call *call) {
  return call->attempt[0].questions + call->attempt[1].questions > 0;
}

static hf_time running_deadline(const struct hf_call *call) {
  if (paused(call))
    return hf_time_add(call->paused_at, LONGEST_PAUSE);
  hf_time at = hf_time_min(call->deadline, hf_attempt_hedge_time(call));
  for (unsigned i = 0; i < IN_FLIGHT_MAX; i++) {
    const struct hf_attempt *a = &call->attempt[i];
    if (a->in_flight)
      at = hf_time_min(at, hf_attempt_limit(call, a).at);
  }
  return at;
}

hf_time hf_call_deadline(const struct hf_call *call) {
  switch (call->state) {
  case HF_CALL_STATE_NEW:
  case HF_CALL_STATE_FINISHED:
    return HF_TIME_NEVER;
  case HF_CALL_STATE_DEGRADING:
    return call->deadline;
  case HF_CALL_STATE_ACQUIRING:
  case HF_CALL_STATE_PAUSING:
  case HF_CALL_STATE_SETTLING:
  case HF_CALL_STATE_CHECKING:
    return hf_time_min(call->wake_at, call->deadline);
  case HF_CALL_STATE_BURYING:
    return call->wake_at;
  case HF_CALL_STATE_RUNNING:
    return running_deadline(call);
  }
  return HF_TIME_NEVER;
}

/* The attempt has lost against the other one: nobody's fault. */
static void lose(struct hf_call *call, struct hf_attempt *a, struct hf_call_actions *out) {
  if (a->complete)
    raise_executed(call, HF_EXECUTED_MAYBE);
  hf_orders_abort(call, a, HF_ABORT_HEDGED, out);
  hf_orders_hand_back(call, call->target, &a->permit, out);
  hf_attempt_end(a);
}

/* An open breaker is waited for only where nothing better is left; and if several are open, where it is half-open
 * first. */
static bool may_wait(const struct hf_call *call) {
  if (call->waited)
    return true;
  for (unsigned i = 0; i < call->target_count; i++) {
    if (i != call->target && call->visits[i].shut)
      return false;
  }
  return hf_chain_next(call) == call->target_count;
}

/* Where another target is left, an upstream that starts, or a slot, is waited for no longer than a connection is. */
static void acquire(struct hf_call *call, struct hf_call_actions *out) {
  call->state = HF_CALL_STATE_ACQUIRING;
  bool last = hf_chain_next(call) == call->target_count;
  call->wake_at = last ? HF_TIME_NEVER : hf_time_add(call->now, call->timeout.connect);
  if (!call->owed) /* else once that answer is here, lest it be taken for this one's */
    hf_orders_acquire(call, may_wait(call), visit_of(call)->attempted, out);
}

static bool may_move_on(const struct hf_call *call) {
  switch (call->end) {
  case HF_CALL_END_ATTEMPTS:
  case HF_CALL_END_BUDGET:
  case HF_CALL_END_REFUSED:
  case HF_CALL_END_HINT:
    break;
  case HF_CALL_END_FINAL:
    if (hf_fault_row(call->fault)->next == HF_NEXT_NO)
      return false;
    break;
  case HF_CALL_END_ANSWERED:
  case HF_CALL_END_UNSAFE:
  case HF_CALL_END_DEADLINE:
  case HF_CALL_END_CANCELLED:
  case HF_CALL_END_CHECKED:
    return false;
  }
  return call->spent < call->max_attempts && has_time(call, call->now);
}

/* The next target; or, when all have refused, the one whose breaker is half-open first, once. */
static bool move_on(struct hf_call *call, struct hf_call_actions *out) {
  if (!may_move_on(call))
    return false;
  unsigned next = hf_chain_next(call);
  if (next == call->target_count) {
    bool refused = call->end == HF_CALL_END_REFUSED && visit_of(call)->shut;
    next = refused && call->target_count > 1 && !call->waited ? hf_chain_half_open(call) : call->target_count;
    if (next == call->target_count)
      return false;
    call->waited = true;
  }
  hf_orders_report_what_was_deferred(call, out);
  call->target = next;
  call->session_renewed = false;
  visit_of(call)->gone_to = true;
  acquire(call, out);
  return true;
}

/* The target has nothing more to give. */
static void give_up(struct hf_call *call, enum hf_call_end end, struct hf_call_actions *out) {
  call->end = end;
  if (move_on(call, out))
    return;
  if (hf_chain_wants_check(call))
    hf_reconcile_begin(call, out);
  else
    hf_ending_begin(call, out);
}

static void start_attempt(struct hf_call *call, const struct hf_permit *permit, bool new_session,
                          struct hf_call_actions *out) {
  bool hedge = call->attempt[0].in_flight || call->attempt[1].in_flight;
  struct hf_attempt *a = &call->attempt[call->attempt[0].in_flight ? 1 : 0];
  *a = (struct hf_attempt){.in_flight = true,
                           .index = call->attempts++,
                           .started = call->now,
                           .last_life = HF_TIME_NEVER,
                           .repeats = call->executed != HF_EXECUTED_NO,
                           .new_session = new_session,
                           .permit = *permit};
  visit_of(call)->attempted = true;
  call->state = HF_CALL_STATE_RUNNING;
  call->provider = call->target;
  call->last_attempt = a->index;
  struct hf_call_action *start = hf_orders_push(call, out, HF_CALL_START_ATTEMPT);
  start->start.attempt = a->index;
  start->start.hedge = hedge;
  start->start.connect_by = hf_time_min(hf_attempt_connect_limit(call, a), call->deadline);
  start->start.new_session = new_session;
}

/* Plans the next try, or says why there is none. `hint` is a floor of the pause, negative if there is none. */
static bool plan_retry(struct hf_call *call, hf_time hint, enum hf_call_end *ret_end) {
  *ret_end = HF_CALL_END_UNSAFE;
  if (!hf_chain_is_safe(call, call->target, call->now))
    return false;
  *ret_end = HF_CALL_END_ATTEMPTS;
  if (!hf_attempt_repeat_is_left(call))
    return false;
  hf_time pause = hf_retry_pause(&call->retry, ++visit_of(call)->pauses, hint, hf_jitter_next(&call->random));
  hf_time resume_at = hf_time_add(call->now, pause);
  *ret_end = HF_CALL_END_HINT;
  if (!has_time(call, resume_at))
    return false;
  *ret_end = HF_CALL_END_UNSAFE;
  if (!hf_chain_is_safe(call, call->target, resume_at))
    return false;
  call->wake_at = resume_at;
  call->state = HF_CALL_STATE_PAUSING;
  return true;
}

static bool may_renew_session(const struct hf_call *call) {
  return !call->session_renewed && !target_of(call)->stateful && hf_chain_is_safe(call, call->target, call->now) &&
         has_time(call, call->now);
}

/* `latency` is negative for an answer that says nothing of how long the tool takes. */
static void answered(struct hf_call *call, struct hf_attempt *a, hf_time latency, struct hf_call_actions *out) {
  call->evidence = HF_EVIDENCE(HF_EVIDENCE_NONE);
  call->fault = HF_FAULT_NONE;
  call->end = HF_CALL_END_ANSWERED;
  call->provider = call->target;
  call->last_attempt = a->index;
  hf_orders_withdraw(call, out); /* before the slot goes back, lest it be granted to this one */
  hf_orders_report(call, a, HF_BLAME_SUCCESS, latency, out);
  struct hf_attempt *other = other_than(call, a);
  if (other)
    lose(call, other, out);
  hf_ending_finish(call, out);
}

/* A server that cannot be reached is waited for, if there is no other answer: nothing was sent, so nothing is used up.
 * One attempt means one, though; and who was there, and has only lost the session, is not out. */
static bool waits_outage_out(const struct hf_call *call, enum hf_fault fault) {
  return (fault == HF_FAULT_UNREACHABLE || fault == HF_FAULT_NOT_SENT) && call->retry.attempts > 1 && !call->degrades &&
         !call->session_renewed && call->now - call->started < call->retry.patience &&
         hf_chain_next(call) == call->target_count;
}

static bool plan_what_follows(struct hf_call *call, struct hf_attempt *a, const struct hf_verdict_row *row,
                              struct hf_call_actions *out, enum hf_call_end *ret_end) {
  *ret_end = HF_CALL_END_FINAL;
  switch (row->repeat) {
  case HF_REPEAT_SESSION:
    if (may_renew_session(call)) {
      struct hf_permit permit = a->permit;
      call->session_renewed = true;
      hf_attempt_end(a);
      start_attempt(call, &permit, true, out);
      return true;
    }
    break;
  case HF_REPEAT_TRANSIENT:
    visit_of(call)->tries -= waits_outage_out(call, row->fault) && !call->hedged; /* the hedge may have arrived */
    if (plan_retry(call, call->evidence.retry_after, ret_end)) {
      hf_orders_report_deferred(call, a, row->blame, out);
      return true;
    }
    break;
  case HF_REPEAT_NEVER:
    break;
  }
  return false;
}

static void attempt_failed(struct hf_call *call, struct hf_attempt *a, struct hf_evidence evidence,
                           struct hf_call_actions *out) {
  evidence.handed_over = a->complete;
  evidence.answered = a->spoke;
  struct hf_verdict_row row = hf_classify(&evidence);
  raise_executed(call, row.executed);
  if (row.blame == HF_BLAME_SUCCESS) {
    answered(call, a, -1, out);
    return;
  }
  if (row.executed != HF_EXECUTED_NO || a->spoke)
    hf_reconcile_note_end(call, a, &evidence);
  call->evidence = evidence;
  call->fault = row.fault;
  call->provider = call->target;
  call->last_attempt = a->index;
  hf_orders_withdraw(call, out);
  struct hf_attempt *other = other_than(call, a);
  if (other && row.repeat != HF_REPEAT_NEVER) {
    hf_orders_report_deferred(call, a, row.blame, out);
    return;
  }
  if (other)
    lose(call, other, out);
  enum hf_call_end end;
  if (plan_what_follows(call, a, &row, out, &end))
    return;
  call->end = end;
  if (hf_chain_wants_check(call)) /* which may make room for one more attempt */
    hf_orders_report_deferred(call, a, row.blame, out);
  else
    hf_orders_report(call, a, row.blame, -1, out);
  give_up(call, end, out);
}

/* From its start to its deadline. */
static hf_time span(const struct hf_call *call) {
  hf_time most = call->outlives ? hf_time_max(call->timeout.deadline, call->timeout.task) : call->timeout.deadline;
  return call->hint > 0 ? hf_time_min(most, call->hint) : most;
}

void hf_call_outlive(struct hf_call *call) {
  if (call->state >= HF_CALL_STATE_DEGRADING) /* what is left to do is not the tool's */
    return;
  const hf_time before = span(call);
  call->outlives = true;
  call->hinted_deadline |= call->hint > 0 && call->hint < call->timeout.task;
  if (call->state == HF_CALL_STATE_NEW)
    return;
  call->deadline = hf_time_add(call->deadline, span(call) - before);
  call->waiter.until = call->deadline; /* where it is queued, that is longer, too */
}

static int on_started(struct hf_call *call, struct hf_call_actions *out) {
  if (call->state != HF_CALL_STATE_NEW)
    return HF_ERR_INVALID;
  call->started = call->now;
  call->deadline = hf_time_add(call->now, span(call));
  acquire(call, out);
  return 0;
}

/* Is the answer one to an acquire that was withdrawn? Then the next acquire may follow. */
static bool is_owed(struct hf_call *call) {
  if (!call->owed)
    return false;
  call->owed = false;
  return true;
}

static void acquire_if_due(struct hf_call *call, struct hf_call_actions *out) {
  if (call->state == HF_CALL_STATE_ACQUIRING)
    acquire(call, out);
}

static void on_granted(struct hf_call *call, const struct hf_permit *permit, struct hf_call_actions *out) {
  if (is_owed(call)) {
    hf_orders_hand_back(call, call->owed_by, permit, out);
    acquire_if_due(call, out);
    return;
  }
  if (!call->acquiring) {
    hf_orders_hand_back(call, call->target, permit, out);
    return;
  }
  call->acquiring = false;
  struct hf_visit *visit = visit_of(call);
  if (!hf_chain_is_safe(call, call->target, call->now)) { /* the key has expired while it waited */
    hf_orders_hand_back(call, call->target, permit, out);
    if (call->state == HF_CALL_STATE_ACQUIRING)
      give_up(call, HF_CALL_END_UNSAFE, out);
    return;
  }
  if (call->state == HF_CALL_STATE_ACQUIRING) {
    visit->tries++;
    call->hedged = false;
  }
  call->spent++;
  start_attempt(call, permit, false, out);
}

/* The fault of an attempt says more than the refusal of the next one, and is kept. */
static void note_refusal(struct hf_call *call, const struct hf_evidence *evidence, enum hf_fault fault) {
  if (call->attempts > 0)
    return;
  call->evidence = *evidence;
  call->fault = fault;
  call->provider = call->target;
}

/* Of all that have refused, when the first will not. */
static hf_time refused_for(const struct hf_call *call) {
  hf_time at = HF_TIME_NEVER;
  for (unsigned i = 0; i < call->target_count; i++) {
    if (call->visits[i].retry_at > 0)
      at = hf_time_min(at, call->visits[i].retry_at);
  }
  return at == HF_TIME_NEVER ? -1 : hf_time_max(0, at - call->now);
}

/* A refusal costs nothing, so that it is tried again here only if there is nothing else to try. */
static void refused_for_now(struct hf_call *call, struct hf_evidence evidence, hf_time retry_at,
                            struct hf_call_actions *out) {
  struct hf_verdict_row row = hf_classify(&evidence);
  struct hf_visit *visit = visit_of(call);
  note_refusal(call, &evidence, row.fault);
  visit->tries += row.repeat == HF_REPEAT_TRANSIENT && !waits_outage_out(call, row.fault);
  visit->shut = row.fault == HF_FAULT_BREAKER_OPEN;
  visit->retry_at = retry_at;
  enum hf_call_end end = HF_CALL_END_REFUSED;
  hf_time hint = retry_at == HF_TIME_NEVER ? -1 : hf_time_max(0, retry_at - call->now);
  if (row.repeat == HF_REPEAT_TRANSIENT && hf_chain_next(call) == call->target_count && plan_retry(call, hint, &end))
    return;
  call->evidence.retry_after = refused_for(call);
  give_up(call, end == HF_CALL_END_HINT ? end : HF_CALL_END_REFUSED, out);
}

static void wait_no_longer(struct hf_call *call, struct hf_call_actions *out) {
  hf_orders_withdraw(call, out);
  refused_for_now(call, HF_EVIDENCE(HF_EVIDENCE_CONNECT_TIMEOUT), HF_TIME_NEVER, out);
}

static void on_refused(struct hf_call *call, const struct hf_call_refused *refused, struct hf_call_actions *out) {
  if (is_owed(call)) {
    acquire_if_due(call, out);
    return;
  }
  if (!call->acquiring)
    return;
  call->acquiring = false;
  if (call->state == HF_CALL_STATE_RUNNING)
    return; /* no hedge, then */
  struct hf_evidence evidence = refused->evidence;
  switch (refused->reason) {
  case HF_DENIAL_BREAKER:
    evidence = HF_EVIDENCE(HF_EVIDENCE_BREAKER_OPEN);
    break;
  case HF_DENIAL_LIMIT:
    evidence = HF_EVIDENCE(HF_EVIDENCE_LOCAL_LIMIT);
    break;
  case HF_DENIAL_BUDGET:
    give_up(call, HF_CALL_END_BUDGET, out);
    return;
  case HF_DENIAL_DOWN:
    if (evidence.kind == HF_EVIDENCE_NONE)
      evidence = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
    break;
  }
  refused_for_now(call, evidence, refused->retry_at, out);
}

/* All clocks of the call stood still. */
static void resume(struct hf_call *call) {
  hf_time waited = call->now - call->paused_at;
  call->deadline = hf_time_add(call->deadline, waited);
  for (unsigned i = 0; i < IN_FLIGHT_MAX; i++) {
    struct hf_attempt *a = &call->attempt[i];
    a->questions = 0;
    a->started = hf_time_add(a->started, waited);
    if (a->spoke || a->last_life != HF_TIME_NEVER)
      a->last_life = call->now;
  }
}

static void on_question(struct hf_call *call, struct hf_attempt *a, bool asked, struct hf_call_actions *out) {
  if (asked) {
    /* The server talks: it is at work on the call. */
    raise_executed(call, HF_EXECUTED_MAYBE);
    hf_orders_withdraw(call, out); /* what waits for a person is not slow */
    a->spoke = true;
    if (!paused(call))
      call->paused_at = call->now;
    a->questions++;
  } else if (a->questions > 0) {
    a->questions--;
    if (!paused(call))
      resume(call);
  }
}

static void on_done(struct hf_call *call, struct hf_attempt *a, const struct hf_call_done *done,
                    struct hf_call_actions *out) {
  if (a->questions > 0) { /* a question dies with its attempt */
    a->questions = 0;
    if (!paused(call))
      resume(call);
  }
  switch (done->result) {
  case HF_ATTEMPT_SUCCESS:
    raise_executed(call, HF_EXECUTED_YES);
    answered(call, a, call->now - a->started, out);
    break;
  case HF_ATTEMPT_PENDING:
    answered(call, a, -1, out);
    break;
  case HF_ATTEMPT_FAULT:
    attempt_failed(call, a, done->evidence, out);
    break;
  }
}

static int on_attempt(struct hf_call *call, const struct hf_call_event *event, struct hf_call_actions *out) {
  struct hf_attempt *a = hf_call_attempt(call, event->attempt);
  if (!a)
    return event->attempt >= call->attempts ? HF_ERR_INVALID : 0;
  switch (event->kind) {
  case HF_CALL_ATTEMPT_SENT:
    a->connected = true;
    a->complete = a->complete || event->sent.complete;
    break;
  case HF_CALL_SIGN_OF_LIFE:
    raise_executed(call, HF_EXECUTED_MAYBE);
    a->spoke = true;
    a->last_life = call->now;
    break;
  case HF_CALL_ANSWER_BYTES:
    a->last_life = call->now;
    break;
  case HF_CALL_PAUSED:
    on_question(call, a, true, out);
    break;
  case HF_CALL_RESUMED:
    on_question(call, a, false, out);
    break;
  case HF_CALL_ATTEMPT_DONE:
    on_done(call, a, &event->done, out);
    break;
  case HF_CALL_STARTED:
  case HF_CALL_PERMIT_GRANTED:
  case HF_CALL_PERMIT_REFUSED:
  case HF_CALL_CHECKED:
  case HF_CALL_DEGRADED:
  case HF_CALL_LETTER_DONE:
  case HF_CALL_TIMER:
  case HF_CALL_CANCELLED:
    return HF_ERR_INVALID;
  }
  return 0;
}

static void on_checked(struct hf_call *call, enum hf_check said, struct hf_call_actions *out) {
  if (call->state != HF_CALL_STATE_CHECKING)
    return;
  if (said == HF_CHECK_RAN) {
    raise_executed(call, HF_EXECUTED_YES);
    hf_orders_report_what_was_deferred(call, out);
    call->end = HF_CALL_END_CHECKED;
    hf_ending_finish(call, out);
  } else if (said == HF_CHECK_DID_NOT_RUN && call->settled_check) {
    enum hf_call_end end = call->end;
    hf_reconcile_disprove(call);
    if (hf_fault_row(call->fault)->repeat != HF_REPEAT_TRANSIENT || !plan_retry(call, call->evidence.retry_after, &end))
      give_up(call, end, out);
  } else if (said == HF_CHECK_UNKNOWN || !hf_reconcile_again(call, said)) {
    hf_ending_begin(call, out);
  }
}

/* Our own deadline is a timeout of the tool if it had time enough; the caller's own is nobody's fault. */
static enum hf_blame blame_for_deadline(const struct hf_call *call, const struct hf_attempt *a) {
  hf_time fair = hf_time_min(call->timeout.attempt, call->timeout.deadline / 2);
  bool had_time = a->complete && call->now - a->started >= fair;
  return had_time && !call->hinted_deadline ? HF_BLAME_TOOL : HF_BLAME_NOBODY;
}

/* Cancel and deadline end the call wherever it is. What was handed over and not answered may have run. */
static void stop(struct hf_call *call, enum hf_call_end end, struct hf_call_actions *out) {
  bool late = end == HF_CALL_END_DEADLINE;
  hf_orders_withdraw(call, out);
  if (call->state == HF_CALL_STATE_CHECKING)
    hf_orders_push(call, out, HF_CALL_ABORT_CHECK);
  call->evidence = HF_EVIDENCE(late ? HF_EVIDENCE_DEADLINE : HF_EVIDENCE_CANCELLED);
  enum hf_blame blame = HF_BLAME_NOBODY;
  for (unsigned i = 0; i < IN_FLIGHT_MAX; i++) {
    struct hf_attempt *a = &call->attempt[i];
    if (!a->in_flight)
      continue;
    if (a->complete)
      raise_executed(call, HF_EXECUTED_MAYBE);
    hf_orders_abort(call, a, late ? HF_ABORT_DEADLINE : HF_ABORT_CANCELLED, out);
    /* Two that hang are one call that hangs. */
    blame = late && blame == HF_BLAME_NOBODY ? blame_for_deadline(call, a) : HF_BLAME_NOBODY;
    hf_orders_report(call, a, blame, -1, out);
  }
  call->end = end;
  call->fault = late ? HF_FAULT_DEADLINE : HF_FAULT_CANCELLED;
  hf_ending_begin(call, out);
}

/* What was not out yet would come under a key that nobody remembers. */
static void abort_for_key(struct hf_call *call, struct hf_attempt *a, struct hf_call_actions *out) {
  hf_orders_abort(call, a, HF_ABORT_ATTEMPT, out);
  hf_orders_report(call, a, HF_BLAME_NOBODY, -1, out);
  give_up(call, HF_CALL_END_UNSAFE, out);
}

static void limit_reached(struct hf_call *call, struct hf_attempt *a, enum hf_limit_kind kind,
                          struct hf_call_actions *out) {
  switch (kind) {
  case HF_LIMIT_KEY:
    abort_for_key(call, a, out);
    break;
  case HF_LIMIT_CONNECT:
    hf_orders_abort(call, a, HF_ABORT_CONNECT, out);
    attempt_failed(call, a, HF_EVIDENCE(HF_EVIDENCE_CONNECT_TIMEOUT), out);
    break;
  case HF_LIMIT_ATTEMPT:
    hf_orders_abort(call, a, HF_ABORT_ATTEMPT, out);
    attempt_failed(call, a, HF_EVIDENCE(HF_EVIDENCE_TIMED_OUT), out);
    break;
  case HF_LIMIT_IDLE:
    hf_orders_abort(call, a, HF_ABORT_IDLE, out);
    attempt_failed(call, a, HF_EVIDENCE(HF_EVIDENCE_TIMED_OUT), out);
    break;
  }
}

/* One thing at a time: what is due besides has its own timer event. */
static void running_timer(struct hf_call *call, struct hf_call_actions *out) {
  for (unsigned i = 0; i < IN_FLIGHT_MAX; i++) {
    struct hf_attempt *a = &call->attempt[i];
    if (!a->in_flight)
      continue;
    struct hf_limit limit = hf_attempt_limit(call, a);
    if (call->now >= limit.at) {
      limit_reached(call, a, limit.kind, out);
      return;
    }
  }
  call->hedged = true;
  hf_orders_acquire(call, false, true, out);
}

static void try_again(struct hf_call *call, struct hf_call_actions *out) {
  if (hf_chain_is_safe(call, call->target, call->now))
    acquire(call, out);
  else
    give_up(call, HF_CALL_END_UNSAFE, out);
}

static void on_timer(struct hf_call *call, struct hf_call_actions *out) {
  if (call->now < hf_call_deadline(call))
    return;
  switch (call->state) {
  case HF_CALL_STATE_RUNNING:
    if (paused(call))
      resume(call);
    else if (call->now >= call->deadline)
      stop(call, HF_CALL_END_DEADLINE, out);
    else
      running_timer(call, out);
    break;
  case HF_CALL_STATE_ACQUIRING:
    if (call->now >= call->deadline)
      stop(call, HF_CALL_END_DEADLINE, out);
    else
      wait_no_longer(call, out);
    break;
  case HF_CALL_STATE_PAUSING:
    if (call->now >= call->deadline)
      stop(call, HF_CALL_END_DEADLINE, out);
    else
      try_again(call, out);
    break;
  case HF_CALL_STATE_SETTLING:
    if (call->now >= call->deadline)
      hf_ending_begin(call, out);
    else
      hf_reconcile_check(call, out);
    break;
  case HF_CALL_STATE_CHECKING:
    hf_orders_push(call, out, HF_CALL_ABORT_CHECK);
    if (!hf_reconcile_again(call, HF_CHECK_FAILED))
      hf_ending_begin(call, out);
    break;
  case HF_CALL_STATE_DEGRADING:
    hf_ending_bury(call, out);
    break;
  case HF_CALL_STATE_BURYING:
    hf_ending_letter_done(call, false, out);
    break;
  case HF_CALL_STATE_NEW:
  case HF_CALL_STATE_FINISHED:
    break;
  }
}

/* A letter that is being written is finished: the caller is gone, not what may have happened. */
static void on_cancelled(struct hf_call *call, struct hf_call_actions *out) {
  if (call->state != HF_CALL_STATE_FINISHED && call->state != HF_CALL_STATE_BURYING)
    stop(call, HF_CALL_END_CANCELLED, out);
}

int hf_call_step(struct hf_call *call, const struct hf_call_event *event, hf_time now, struct hf_call_actions *out) {
  out->len = 0;
  call->now = hf_time_max(call->now, now);
  if (event->kind == HF_CALL_STARTED)
    return on_started(call, out);
  if (call->state == HF_CALL_STATE_NEW)
    return event->kind == HF_CALL_TIMER ? 0 : HF_ERR_INVALID;
  switch (event->kind) {
  case HF_CALL_STARTED:
    break;
  case HF_CALL_PERMIT_GRANTED:
    on_granted(call, &event->granted.permit, out);
    break;
  case HF_CALL_PERMIT_REFUSED:
    on_refused(call, &event->refused, out);
    break;
  case HF_CALL_TIMER:
    on_timer(call, out);
    break;
  case HF_CALL_CANCELLED:
    on_cancelled(call, out);
    break;
  case HF_CALL_ATTEMPT_SENT:
  case HF_CALL_SIGN_OF_LIFE:
  case HF_CALL_ANSWER_BYTES:
  case HF_CALL_ATTEMPT_DONE:
  case HF_CALL_PAUSED:
  case HF_CALL_RESUMED:
    return on_attempt(call, event, out);
  case HF_CALL_CHECKED:
    on_checked(call, event->check, out);
    break;
  case HF_CALL_DEGRADED:
    hf_ending_degraded(call, &event->degraded, out);
    break;
  case HF_CALL_LETTER_DONE:
    hf_ending_letter_done(call, event->letter_written, out);
    break;
  }
  return 0;
}

const char *hf_call_end_name(enum hf_call_end end) {
  static const char *const names[] = {"answered", "final", "unsafe",   "attempts",  "budget",
                                      "refused",  "hint",  "deadline", "cancelled", "checked"};
  return names[end];
}

const char *hf_source_name(enum hf_source source) {
  static const char *const names[HF_SOURCE_COUNT] = {"live", "cache", "degraded"};
  return names[source];
}
