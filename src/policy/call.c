#include "policy/call.h"

#include "base/error.h"
#include "policy/jitter.h"

#include <assert.h>

/* An attempt with less than this left cannot end well: not even a local tool answers faster through a process. */
static const hf_time LEAST_ATTEMPT = HF_MS(10);

/* A person who has not answered by then will not; the deadline runs on from here. */
static const hf_time LONGEST_PAUSE = HF_SECONDS(3600);

void hf_call_init(struct hf_call *call, const struct hf_call_options *options) {
  assert(options->target_count == 1);
  *call = (struct hf_call){
      .timeout = options->timeout,
      .retry = options->retry,
      .target = options->targets[0],
      .random = options->seed,
      .evidence = HF_EVIDENCE(HF_EVIDENCE_NONE),
  };
  hf_list_init(&call->waiter.node);
  const struct hf_call_hints *hints = &options->hints;
  if (call->retry.attempts == 0)
    call->retry.attempts = 1;
  if (hints->max_attempts && hints->max_attempts < call->retry.attempts)
    call->retry.attempts = hints->max_attempts;
  if (hints->deadline > 0 && hints->deadline < call->timeout.deadline) {
    call->timeout.deadline = hints->deadline;
    call->hinted_deadline = true;
  }
}

static struct hf_call_action *push(struct hf_call_actions *out, enum hf_call_action_kind kind) {
  assert(out->len < HF_CALL_ACTIONS_MAX);
  struct hf_call_action *action = &out->items[out->len++];
  *action = (struct hf_call_action){.kind = kind};
  return action;
}

static void raise_executed(struct hf_call *call, enum hf_executed executed) {
  if (executed > call->executed)
    call->executed = executed;
}

static bool repeat_is_safe(const struct hf_call *call) {
  return call->executed == HF_EXECUTED_NO || hf_safety_allows_repeat(call->target.safety);
}

/* An attempt is cut short of the deadline only to make room for another one. */
static bool attempt_is_limited(const struct hf_call *call) {
  return hf_safety_allows_repeat(call->target.safety) && call->tries < call->retry.attempts;
}

static hf_time attempt_limit(const struct hf_call *call) {
  return attempt_is_limited(call) ? hf_time_add(call->attempt.started, call->timeout.attempt) : HF_TIME_NEVER;
}

static hf_time connect_limit(const struct hf_call *call) {
  const struct hf_attempt *a = &call->attempt;
  return a->connected || a->new_session ? HF_TIME_NEVER : hf_time_add(a->started, call->timeout.connect);
}

static hf_time idle_limit(const struct hf_call *call) {
  return call->attempt.last_life == HF_TIME_NEVER ? HF_TIME_NEVER
                                                  : hf_time_add(call->attempt.last_life, call->timeout.idle);
}

static bool paused(const struct hf_call *call) {
  return call->attempt.questions > 0;
}

hf_time hf_call_deadline(const struct hf_call *call) {
  switch (call->state) {
  case HF_CALL_STATE_NEW:
  case HF_CALL_STATE_FINISHED:
    return HF_TIME_NEVER;
  case HF_CALL_STATE_ACQUIRING:
    return call->deadline;
  case HF_CALL_STATE_PAUSING:
    return hf_time_min(call->resume_at, call->deadline);
  case HF_CALL_STATE_RUNNING:
    if (paused(call))
      return hf_time_add(call->paused_at, LONGEST_PAUSE);
    return hf_time_min(hf_time_min(call->deadline, attempt_limit(call)),
                       hf_time_min(connect_limit(call), idle_limit(call)));
  }
  return HF_TIME_NEVER;
}

static void push_report(struct hf_call_actions *out, const struct hf_report *report) {
  push(out, HF_CALL_REPORT)->report = *report;
}

/* Hands the permit back with the verdict on the attempt that has just ended. What an earlier attempt was blamed for is
 * forgotten: a call counts once, with its last word. */
static void report(struct hf_call *call, enum hf_blame blame, struct hf_call_actions *out) {
  struct hf_report final = {.permit = call->permit, .blame = blame, .retry_after = call->evidence.retry_after};
  push_report(out, &final);
  call->has_permit = call->has_deferred = false;
}

/* Hands the permit back for the time of the pause. If no attempt follows after all, the verdict counts then. */
static void report_deferred(struct hf_call *call, enum hf_blame blame, struct hf_call_actions *out) {
  report(call, blame, out);
  struct hf_report *pushed = &out->items[out->len - 1].report;
  pushed->deferred = true;
  /* A breaker whose probe this settles has moved on to a new generation by then, and counts it only once. */
  call->has_deferred = blame == HF_BLAME_TOOL || blame == HF_BLAME_PROVIDER;
  call->deferred = *pushed;
  call->deferred.deferred = false;
  call->deferred.permit.holds_slot = false;
}

static void finish(struct hf_call *call, enum hf_call_end end, enum hf_fault fault, struct hf_call_actions *out) {
  if (call->has_deferred)
    push_report(out, &call->deferred);
  call->has_deferred = false;
  call->state = HF_CALL_STATE_FINISHED;
  push(out, HF_CALL_FINISH)->outcome = (struct hf_outcome){
      .end = end,
      .fault = fault,
      .executed = call->executed,
      .evidence = call->evidence,
      .attempts = call->attempts,
      .attempt = call->attempt.index,
      .elapsed = call->now - call->started,
      .retry_after = call->evidence.retry_after,
  };
}

static void acquire(struct hf_call *call, struct hf_call_actions *out) {
  struct hf_waiter *w = &call->waiter;
  bool limited = hf_safety_allows_repeat(call->target.safety);
  w->until = call->deadline;
  w->lease = limited ? hf_time_min(call->timeout.attempt, call->timeout.deadline) : call->timeout.deadline;
  w->may_wait = limited;
  w->is_retry = call->attempts > 0;
  call->state = HF_CALL_STATE_ACQUIRING;
  push(out, HF_CALL_ACQUIRE);
}

static void start_attempt(struct hf_call *call, bool new_session, struct hf_call_actions *out) {
  call->attempt = (struct hf_attempt){
      .index = call->attempts++, .started = call->now, .last_life = HF_TIME_NEVER, .new_session = new_session};
  call->state = HF_CALL_STATE_RUNNING;
  struct hf_call_action *start = push(out, HF_CALL_START_ATTEMPT);
  start->start.attempt = call->attempt.index;
  start->start.connect_by = hf_time_min(connect_limit(call), call->deadline);
  start->start.new_session = new_session;
}

/* Plans the next try, or says why there is none. `hint` is a floor of the pause, negative if there is none. */
static bool plan_retry(struct hf_call *call, hf_time hint, enum hf_call_end *ret_end) {
  if (!repeat_is_safe(call)) {
    *ret_end = HF_CALL_END_UNSAFE;
    return false;
  }
  if (call->tries >= call->retry.attempts) {
    *ret_end = HF_CALL_END_ATTEMPTS;
    return false;
  }
  hf_time pause = hf_retry_pause(&call->retry, call->tries, hint, hf_jitter_next(&call->random));
  hf_time resume_at = hf_time_add(call->now, pause);
  if (hf_time_add(resume_at, LEAST_ATTEMPT) > call->deadline) {
    *ret_end = HF_CALL_END_HINT;
    return false;
  }
  call->resume_at = resume_at;
  call->state = HF_CALL_STATE_PAUSING;
  return true;
}

static bool may_renew_session(const struct hf_call *call) {
  return !call->session_renewed && !call->target.stateful && repeat_is_safe(call) &&
         hf_time_add(call->now, LEAST_ATTEMPT) <= call->deadline;
}

static void answered(struct hf_call *call, struct hf_call_actions *out) {
  call->evidence = HF_EVIDENCE(HF_EVIDENCE_NONE);
  report(call, HF_BLAME_SUCCESS, out);
  finish(call, HF_CALL_END_ANSWERED, HF_FAULT_NONE, out);
}

static void attempt_failed(struct hf_call *call, struct hf_evidence evidence, struct hf_call_actions *out) {
  evidence.handed_over = call->attempt.complete;
  evidence.answered = call->attempt.spoke;
  struct hf_verdict_row row = hf_classify(&evidence);
  raise_executed(call, row.executed);
  if (row.blame == HF_BLAME_SUCCESS) {
    answered(call, out);
    return;
  }
  call->evidence = evidence;
  call->fault = row.fault;
  call->attempt.questions = 0;
  enum hf_call_end end = HF_CALL_END_FINAL;
  switch (row.repeat) {
  case HF_REPEAT_SESSION:
    if (may_renew_session(call)) {
      call->session_renewed = true;
      start_attempt(call, true, out);
      return;
    }
    break;
  case HF_REPEAT_TRANSIENT:
    if (plan_retry(call, evidence.retry_after, &end)) {
      report_deferred(call, row.blame, out);
      return;
    }
    break;
  case HF_REPEAT_NEVER:
    break;
  }
  report(call, row.blame, out);
  finish(call, end, row.fault, out);
}

static int on_started(struct hf_call *call, struct hf_call_actions *out) {
  if (call->state != HF_CALL_STATE_NEW)
    return HF_ERR_INVALID;
  call->started = call->now;
  call->deadline = hf_time_add(call->now, call->timeout.deadline);
  acquire(call, out);
  return 0;
}

static int on_granted(struct hf_call *call, const struct hf_permit *permit, struct hf_call_actions *out) {
  if (call->state != HF_CALL_STATE_ACQUIRING) {
    /* Granted while it was being withdrawn: nothing was tried, and the permit goes back. */
    push_report(out, &(struct hf_report){.permit = *permit, .blame = HF_BLAME_NOBODY, .retry_after = -1});
    return 0;
  }
  call->permit = *permit;
  call->has_permit = true;
  call->tries++;
  start_attempt(call, false, out);
  return 0;
}

/* The fault of an attempt says more than the refusal of the next one, and is kept. */
static void note_refusal(struct hf_call *call, const struct hf_evidence *evidence, enum hf_fault fault) {
  if (call->attempts > 0)
    return;
  call->evidence = *evidence;
  call->fault = fault;
}

static void refused_for_now(struct hf_call *call, struct hf_evidence evidence, hf_time hint,
                            struct hf_call_actions *out) {
  struct hf_verdict_row row = hf_classify(&evidence);
  note_refusal(call, &evidence, row.fault);
  call->tries++;
  enum hf_call_end end = HF_CALL_END_REFUSED;
  if (row.repeat == HF_REPEAT_TRANSIENT && plan_retry(call, hint, &end))
    return;
  call->evidence.retry_after = hint;
  finish(call, end == HF_CALL_END_HINT ? end : HF_CALL_END_REFUSED, call->fault, out);
}

static int on_refused(struct hf_call *call, const struct hf_call_event *event, struct hf_call_actions *out) {
  if (call->state != HF_CALL_STATE_ACQUIRING)
    return 0;
  hf_time retry_at = event->refused.retry_at;
  hf_time hint = retry_at == HF_TIME_NEVER ? -1 : hf_time_max(0, retry_at - call->now);
  struct hf_evidence evidence = event->refused.evidence;
  switch (event->refused.reason) {
  case HF_DENIAL_BREAKER:
    evidence = HF_EVIDENCE(HF_EVIDENCE_BREAKER_OPEN);
    break;
  case HF_DENIAL_LIMIT:
    evidence = HF_EVIDENCE(HF_EVIDENCE_LOCAL_LIMIT);
    break;
  case HF_DENIAL_BUDGET:
    finish(call, HF_CALL_END_BUDGET, call->fault, out);
    return 0;
  case HF_DENIAL_DOWN:
    if (evidence.kind == HF_EVIDENCE_NONE)
      evidence = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
    break;
  }
  refused_for_now(call, evidence, hint, out);
  return 0;
}

static void resume(struct hf_call *call) {
  hf_time waited = call->now - call->paused_at;
  call->attempt.questions = 0;
  call->deadline = hf_time_add(call->deadline, waited);
  call->attempt.started += waited;
  call->attempt.last_life = call->now;
}

static void on_question(struct hf_call *call, bool asked) {
  struct hf_attempt *a = &call->attempt;
  if (asked) {
    /* The server talks: it is at work on the call. */
    raise_executed(call, HF_EXECUTED_MAYBE);
    a->spoke = true;
    if (a->questions++ == 0)
      call->paused_at = call->now;
  } else if (a->questions == 1) {
    resume(call);
  } else if (a->questions > 1) {
    a->questions--;
  }
}

static void on_done(struct hf_call *call, const struct hf_call_event *event, struct hf_call_actions *out) {
  if (paused(call))
    resume(call); /* a question dies with its attempt */
  switch (event->done.result) {
  case HF_ATTEMPT_SUCCESS:
    raise_executed(call, HF_EXECUTED_YES);
    answered(call, out);
    break;
  case HF_ATTEMPT_PENDING:
    answered(call, out);
    break;
  case HF_ATTEMPT_FAULT:
    attempt_failed(call, event->done.evidence, out);
    break;
  }
}

static int on_attempt(struct hf_call *call, const struct hf_call_event *event, struct hf_call_actions *out) {
  struct hf_attempt *a = &call->attempt;
  if (event->attempt >= call->attempts)
    return HF_ERR_INVALID;
  if (call->state != HF_CALL_STATE_RUNNING || event->attempt != a->index)
    return 0;
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
    on_question(call, true);
    break;
  case HF_CALL_RESUMED:
    on_question(call, false);
    break;
  case HF_CALL_ATTEMPT_DONE:
    on_done(call, event, out);
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

static void abort_attempt(struct hf_call *call, enum hf_abort_reason reason, struct hf_call_actions *out) {
  struct hf_call_action *action = push(out, HF_CALL_ABORT_ATTEMPT);
  action->abort.attempt = call->attempt.index;
  action->abort.reason = reason;
}

/* Our own deadline is a timeout of the tool if it had time enough; the caller's own is nobody's fault. */
static enum hf_blame blame_for_deadline(const struct hf_call *call) {
  hf_time fair = hf_time_min(call->timeout.attempt, call->timeout.deadline / 2);
  bool had_time = call->attempt.complete && call->now - call->attempt.started >= fair;
  return had_time && !call->hinted_deadline ? HF_BLAME_TOOL : HF_BLAME_NOBODY;
}

/* Cancel and deadline end the call wherever it is. What was handed over and not answered may have run. */
static void stop(struct hf_call *call, enum hf_call_end end, enum hf_fault fault, struct hf_call_actions *out) {
  bool late = end == HF_CALL_END_DEADLINE;
  if (call->state == HF_CALL_STATE_ACQUIRING)
    push(out, HF_CALL_WITHDRAW);
  call->evidence = HF_EVIDENCE(late ? HF_EVIDENCE_DEADLINE : HF_EVIDENCE_CANCELLED);
  if (call->state == HF_CALL_STATE_RUNNING) {
    if (call->attempt.complete)
      raise_executed(call, HF_EXECUTED_MAYBE);
    abort_attempt(call, late ? HF_ABORT_DEADLINE : HF_ABORT_CANCELLED, out);
    report(call, late ? blame_for_deadline(call) : HF_BLAME_NOBODY, out);
  }
  call->fault = fault;
  finish(call, end, fault, out);
}

static void running_timer(struct hf_call *call, struct hf_call_actions *out) {
  if (call->now >= connect_limit(call)) {
    abort_attempt(call, HF_ABORT_CONNECT, out);
    attempt_failed(call, HF_EVIDENCE(HF_EVIDENCE_CONNECT_TIMEOUT), out);
  } else if (call->now >= attempt_limit(call)) {
    abort_attempt(call, HF_ABORT_ATTEMPT, out);
    attempt_failed(call, HF_EVIDENCE(HF_EVIDENCE_TIMED_OUT), out);
  } else if (call->now >= idle_limit(call)) {
    abort_attempt(call, HF_ABORT_IDLE, out);
    attempt_failed(call, HF_EVIDENCE(HF_EVIDENCE_TIMED_OUT), out);
  }
}

static int on_timer(struct hf_call *call, struct hf_call_actions *out) {
  if (call->now < hf_call_deadline(call))
    return 0;
  if (call->state == HF_CALL_STATE_RUNNING && paused(call)) {
    resume(call);
    return 0;
  }
  if (call->now >= call->deadline)
    stop(call, HF_CALL_END_DEADLINE, HF_FAULT_DEADLINE, out);
  else if (call->state == HF_CALL_STATE_RUNNING)
    running_timer(call, out);
  else if (call->state == HF_CALL_STATE_PAUSING)
    acquire(call, out);
  return 0;
}

static int on_cancelled(struct hf_call *call, struct hf_call_actions *out) {
  if (call->state == HF_CALL_STATE_NEW)
    return HF_ERR_INVALID;
  if (call->state != HF_CALL_STATE_FINISHED)
    stop(call, HF_CALL_END_CANCELLED, HF_FAULT_CANCELLED, out);
  return 0;
}

int hf_call_step(struct hf_call *call, const struct hf_call_event *event, hf_time now, struct hf_call_actions *out) {
  out->len = 0;
  call->now = hf_time_max(call->now, now);
  switch (event->kind) {
  case HF_CALL_STARTED:
    return on_started(call, out);
  case HF_CALL_PERMIT_GRANTED:
    return on_granted(call, &event->granted.permit, out);
  case HF_CALL_PERMIT_REFUSED:
    return on_refused(call, event, out);
  case HF_CALL_TIMER:
    return on_timer(call, out);
  case HF_CALL_CANCELLED:
    return on_cancelled(call, out);
  case HF_CALL_ATTEMPT_SENT:
  case HF_CALL_SIGN_OF_LIFE:
  case HF_CALL_ANSWER_BYTES:
  case HF_CALL_ATTEMPT_DONE:
  case HF_CALL_PAUSED:
  case HF_CALL_RESUMED:
    return on_attempt(call, event, out);
  case HF_CALL_CHECKED:
  case HF_CALL_DEGRADED:
  case HF_CALL_LETTER_DONE:
    return HF_ERR_INVALID;
  }
  return HF_ERR_INVALID;
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
