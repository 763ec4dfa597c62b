#include "policy/call.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A call with the default options, started at 0. `acts` holds what the last step asked for. */
struct fixture {
  struct hf_call call;
  struct hf_call_actions acts;
};

static struct hf_call_options options(enum hf_safety safety) {
  static struct hf_call_target target;
  target = (struct hf_call_target){.safety = safety, .keyed_until = HF_TIME_NEVER};
  return (struct hf_call_options){.timeout = HF_TIMEOUT_OPTIONS_INIT,
                                  .retry = HF_RETRY_OPTIONS_INIT,
                                  .targets = &target,
                                  .target_count = 1,
                                  .seed = 7};
}

static int step(struct fixture *f, struct hf_call_event event, hf_time now) {
  return hf_call_step(&f->call, &event, now, &f->acts);
}

static void kinds(const struct fixture *f, unsigned len, const enum hf_call_action_kind *want) {
  assert_int_equal(f->acts.len, len);
  for (unsigned i = 0; i < len; i++)
    assert_int_equal(f->acts.items[i].kind, want[i]);
}

#define ASSERT_ACTIONS(f, ...)                                                                                         \
  kinds(f, sizeof((enum hf_call_action_kind[]){__VA_ARGS__}) / sizeof(enum hf_call_action_kind),                       \
        (enum hf_call_action_kind[]){__VA_ARGS__})

static void start_with(struct fixture *f, const struct hf_call_options *o) {
  hf_call_init(&f->call, o);
  f->call.waiter.queued = true; /* at a provider that takes its time */
  assert_int_equal(step(f, (struct hf_call_event){.kind = HF_CALL_STARTED}, 0), 0);
  ASSERT_ACTIONS(f, HF_CALL_ACQUIRE);
}

static void grant(struct fixture *f, hf_time now) {
  struct hf_call_event event = {.kind = HF_CALL_PERMIT_GRANTED};
  event.granted.permit = (struct hf_permit){.provider_generation = 1, .tool_generation = 1, .holds_slot = true};
  assert_int_equal(step(f, event, now), 0);
  ASSERT_ACTIONS(f, HF_CALL_START_ATTEMPT);
}

/* Up to an attempt in flight at 0. */
static void running(struct fixture *f, enum hf_safety safety) {
  struct hf_call_options o = options(safety);
  start_with(f, &o);
  grant(f, 0);
}

static void sent(struct fixture *f, unsigned attempt, bool complete, hf_time now) {
  step(f,
       (struct hf_call_event){
           .kind = HF_CALL_ATTEMPT_SENT, .attempt = attempt, .sent = {.bytes = 9, .complete = complete}},
       now);
  assert_int_equal(f->acts.len, 0);
}

static void life(struct fixture *f, unsigned attempt, hf_time now) {
  step(f, (struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE, .attempt = attempt}, now);
}

static void faulted(struct fixture *f, unsigned attempt, struct hf_evidence evidence, hf_time now) {
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = attempt};
  event.done.result = HF_ATTEMPT_FAULT;
  event.done.evidence = evidence;
  step(f, event, now);
}

static void succeeded(struct fixture *f, unsigned attempt, hf_time now) {
  step(f, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .attempt = attempt, .done.result = HF_ATTEMPT_SUCCESS},
       now);
}

static void timer(struct fixture *f, hf_time now) {
  step(f, (struct hf_call_event){.kind = HF_CALL_TIMER}, now);
}

static void cancel(struct fixture *f, hf_time now) {
  step(f, (struct hf_call_event){.kind = HF_CALL_CANCELLED}, now);
}

static const struct hf_outcome *outcome(const struct fixture *f) {
  assert_true(f->acts.len > 0);
  assert_int_equal(f->acts.items[f->acts.len - 1].kind, HF_CALL_FINISH);
  return &f->acts.items[f->acts.len - 1].outcome;
}

static void assert_outcome(const struct fixture *f, enum hf_call_end end, enum hf_fault fault,
                           enum hf_executed executed, unsigned attempts) {
  const struct hf_outcome *o = outcome(f);
  assert_int_equal(o->end, end);
  assert_int_equal(o->fault, fault);
  assert_int_equal(o->executed, executed);
  assert_int_equal(o->attempts, attempts);
  assert_int_equal(hf_call_deadline(&f->call), HF_TIME_NEVER);
}

static struct hf_evidence http(int status, hf_time retry_after) {
  struct hf_evidence e = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  e.http_status = status;
  e.retry_after = retry_after;
  return e;
}

static const struct hf_report *report(const struct fixture *f, unsigned index) {
  assert_int_equal(f->acts.items[index].kind, HF_CALL_REPORT);
  return &f->acts.items[index].report;
}

static void call__success_ends_it_as_executed(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, HF_MS(1));
  succeeded(&f, 0, HF_MS(20));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_SUCCESS);
  assert_outcome(&f, HF_CALL_END_ANSWERED, HF_FAULT_NONE, HF_EXECUTED_YES, 1);
  assert_int_equal(outcome(&f)->elapsed, HF_MS(20));
}

static void call__pending_answer_leaves_executed_as_it_was(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .done.result = HF_ATTEMPT_PENDING}, 1);
  assert_outcome(&f, HF_CALL_END_ANSWERED, HF_FAULT_NONE, HF_EXECUTED_NO, 1);
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_SUCCESS);
}

/* What an unsafe tool may do after each kind of evidence. */
static void call__unsafe_tool_is_repeated_only_when_it_cannot_have_run(void **state) {
  (void)state;
  struct row {
    struct hf_evidence evidence;
    bool complete;
    bool life;
    bool repeated;
    enum hf_executed executed;
  } rows[] = {
      {HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED), false, false, true, HF_EXECUTED_NO},
      {HF_EVIDENCE(HF_EVIDENCE_BROKE), false, false, true, HF_EXECUTED_NO},
      {HF_EVIDENCE(HF_EVIDENCE_BROKE), true, false, false, HF_EXECUTED_MAYBE},
      {HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED), true, false, false, HF_EXECUTED_MAYBE},
      {http(429, -1), true, false, true, HF_EXECUTED_NO},
      {http(429, -1), true, true, false, HF_EXECUTED_MAYBE},
      {http(503, 0), true, false, true, HF_EXECUTED_NO},
      {http(503, -1), true, false, false, HF_EXECUTED_MAYBE},
      {HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY), true, false, false, HF_EXECUTED_MAYBE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture f;
    running(&f, HF_SAFETY_UNSAFE);
    sent(&f, 0, rows[i].complete, 0);
    if (rows[i].life)
      life(&f, 0, 1);
    faulted(&f, 0, rows[i].evidence, 2);
    assert_int_equal(f.call.executed, rows[i].executed);
    if (rows[i].repeated) {
      ASSERT_ACTIONS(&f, HF_CALL_REPORT);
      assert_true(report(&f, 0)->deferred);
      assert_true(hf_call_deadline(&f.call) < HF_SECONDS(1));
    } else {
      ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
      assert_int_equal(outcome(&f)->end, HF_CALL_END_UNSAFE);
    }
  }
}

static void call__each_safety_but_unsafe_allows_a_repeat(void **state) {
  (void)state;
  static const enum hf_safety allowed[] = {HF_SAFETY_KEYED, HF_SAFETY_IDEMPOTENT, HF_SAFETY_READ_ONLY};
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
    struct fixture f;
    running(&f, allowed[i]);
    sent(&f, 0, true, 0);
    faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), 1);
    ASSERT_ACTIONS(&f, HF_CALL_REPORT);
    timer(&f, HF_SECONDS(1));
    ASSERT_ACTIONS(&f, HF_CALL_ACQUIRE);
    assert_true(f.call.waiter.is_retry);
    grant(&f, HF_SECONDS(1));
    assert_int_equal(f.acts.items[0].start.attempt, 1);
  }
}

static void call__executed_never_falls(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_IDEMPOTENT);
  sent(&f, 0, true, 0);
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), 1);
  timer(&f, HF_SECONDS(1));
  grant(&f, HF_SECONDS(1));
  faulted(&f, 1, http(401, -1), HF_SECONDS(1) + 1); /* by itself: not executed */
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_UNAUTHORIZED, HF_EXECUTED_MAYBE, 2);
}

static void call__attempts_are_bounded(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  o.hints.max_attempts = 2;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, http(500, -1), 0);
  timer(&f, HF_MS(500));
  grant(&f, HF_MS(500));
  faulted(&f, 1, http(500, -1), HF_MS(500));
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 2);
}

static void call__hints_only_tighten(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  o.hints = (struct hf_call_hints){.deadline = HF_SECONDS(500), .max_attempts = 99};
  start_with(&f, &o);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
  assert_int_equal(f.call.retry.attempts, 4);
  o.hints.deadline = HF_SECONDS(3);
  start_with(&f, &o);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3));
}

static void call__retry_after_is_a_floor(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  faulted(&f, 0, http(429, HF_SECONDS(7)), 0);
  ASSERT_ACTIONS(&f, HF_CALL_REPORT);
  assert_in_range(hf_call_deadline(&f.call), HF_SECONDS(7), HF_MS(7500));
  timer(&f, HF_SECONDS(7) - 1);
  assert_int_equal(f.acts.len, 0);
}

static void call__hint_beyond_the_deadline_ends_it_at_once(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  faulted(&f, 0, http(429, HF_SECONDS(56)), 0);
  assert_outcome(&f, HF_CALL_END_HINT, HF_FAULT_RATE_LIMITED, HF_EXECUTED_NO, 1);
  assert_int_equal(outcome(&f)->retry_after, HF_SECONDS(56));
  assert_int_equal(outcome(&f)->elapsed, 0);
}

static void call__attempt_that_cannot_finish_is_not_started(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  sent(&f, 0, true, 0);
  life(&f, 0, HF_SECONDS(10));
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_SECONDS(55) - HF_MS(9));
  assert_outcome(&f, HF_CALL_END_HINT, HF_FAULT_BROKE, HF_EXECUTED_MAYBE, 1);
}

static void call__connect_timer_ends_with_the_connection(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(2));
  sent(&f, 0, false, HF_SECONDS(1));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
  running(&f, HF_SAFETY_UNSAFE); /* the news of a connection, with no byte yet, is as good */
  step(&f, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_SENT}, HF_SECONDS(1));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
  running(&f, HF_SAFETY_UNSAFE);
  timer(&f, HF_SECONDS(2));
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT);
  assert_int_equal(f.acts.items[0].abort.reason, HF_ABORT_CONNECT);
  assert_int_equal(report(&f, 1)->blame, HF_BLAME_PROVIDER);
  assert_int_equal(f.call.executed, HF_EXECUTED_NO);
}

static void call__idle_timer_arms_at_the_first_sign_and_restarts_at_each(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
  life(&f, 0, HF_SECONDS(5));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(35));
  step(&f, (struct hf_call_event){.kind = HF_CALL_ANSWER_BYTES}, HF_SECONDS(10));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(40));
  timer(&f, HF_SECONDS(40));
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_int_equal(f.acts.items[0].abort.reason, HF_ABORT_IDLE);
  assert_outcome(&f, HF_CALL_END_UNSAFE, HF_FAULT_TIMED_OUT, HF_EXECUTED_MAYBE, 1);
}

/* Bytes of an answer, such as a 429's, prove no execution; a message about the call does. */
static void call__answer_bytes_are_no_sign_of_execution(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_ANSWER_BYTES}, 1);
  assert_int_equal(f.call.executed, HF_EXECUTED_NO);
  life(&f, 0, 2);
  assert_int_equal(f.call.executed, HF_EXECUTED_MAYBE);
}

static void call__attempt_timer_applies_only_where_a_repeat_is_allowed_and_left(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_IDEMPOTENT);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(20));
  struct hf_call_options o = options(HF_SAFETY_IDEMPOTENT);
  o.retry.attempts = 1;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
}

static void call__deadline_says_maybe_once_the_request_is_out(void **state) {
  (void)state;
  for (int complete = 0; complete < 2; complete++) {
    struct fixture f;
    running(&f, HF_SAFETY_UNSAFE);
    sent(&f, 0, complete, 0);
    timer(&f, HF_SECONDS(55));
    ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
    assert_outcome(&f, HF_CALL_END_DEADLINE, HF_FAULT_DEADLINE, complete ? HF_EXECUTED_MAYBE : HF_EXECUTED_NO, 1);
  }
}

static void call__own_deadline_blames_the_tool_and_the_callers_nobody(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  timer(&f, HF_SECONDS(55));
  assert_int_equal(report(&f, 1)->blame, HF_BLAME_TOOL);
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  o.hints.deadline = HF_SECONDS(30);
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  timer(&f, HF_SECONDS(30));
  assert_int_equal(report(&f, 1)->blame, HF_BLAME_NOBODY);
}

static void call__time_of_a_person_is_outside_the_deadline(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, HF_SECONDS(5));
  assert_int_equal(f.call.executed, HF_EXECUTED_MAYBE);
  timer(&f, HF_SECONDS(500));
  assert_int_equal(f.acts.len, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED}, HF_SECONDS(1005));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(1035)); /* idle again from here */
  life(&f, 0, HF_SECONDS(1034));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(1055));
}

static void call__person_who_never_answers_does_not_hold_it_for_ever(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3600));
  timer(&f, HF_SECONDS(3600));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3630));
}

static void call__nested_questions_resume_with_the_last(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED}, HF_SECONDS(100));
  timer(&f, HF_SECONDS(200));
  assert_int_equal(f.acts.len, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED}, HF_SECONDS(300));
  step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED}, HF_SECONDS(310)); /* one too many */
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(330));
}

static void call__lost_session_is_renewed_once_and_not_counted_as_a_retry(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  o.retry.attempts = 1;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  struct hf_evidence lost = http(404, -1);
  lost.carried_session = true;
  faulted(&f, 0, lost, 1);
  ASSERT_ACTIONS(&f, HF_CALL_START_ATTEMPT);
  assert_true(f.acts.items[0].start.new_session);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55)); /* opening a session is no connect */
  sent(&f, 1, true, 2);
  faulted(&f, 1, lost, 3);
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_SESSION_LOST, HF_EXECUTED_NO, 2);
}

static void call__stateful_tools_session_is_not_renewed(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_target target = {.safety = HF_SAFETY_READ_ONLY, .stateful = true};
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  o.targets = &target;
  start_with(&f, &o);
  grant(&f, 0);
  struct hf_evidence lost = http(404, -1);
  lost.carried_session = true;
  faulted(&f, 0, lost, 1);
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_SESSION_LOST, HF_EXECUTED_NO, 1);
}

static void call__cancel_ends_it_in_every_state(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  start_with(&f, &o);
  cancel(&f, 1);
  ASSERT_ACTIONS(&f, HF_CALL_WITHDRAW, HF_CALL_FINISH);
  assert_outcome(&f, HF_CALL_END_CANCELLED, HF_FAULT_CANCELLED, HF_EXECUTED_NO, 0);

  running(&f, HF_SAFETY_READ_ONLY);
  sent(&f, 0, true, 0);
  cancel(&f, 1);
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_int_equal(report(&f, 1)->blame, HF_BLAME_NOBODY);
  assert_outcome(&f, HF_CALL_END_CANCELLED, HF_FAULT_CANCELLED, HF_EXECUTED_MAYBE, 1);

  running(&f, HF_SAFETY_READ_ONLY);
  faulted(&f, 0, http(500, -1), 0);
  cancel(&f, 0);
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH); /* the failure that was put off */
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_TOOL);
  assert_false(report(&f, 0)->permit.holds_slot);

  cancel(&f, 1);
  assert_int_equal(f.acts.len, 0);
}

static void call__permit_that_comes_after_the_end_goes_back(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  start_with(&f, &o);
  cancel(&f, 1);
  struct hf_call_event event = {.kind = HF_CALL_PERMIT_GRANTED};
  event.granted.permit = (struct hf_permit){.holds_slot = true, .tool_probe = true};
  step(&f, event, 2);
  ASSERT_ACTIONS(&f, HF_CALL_REPORT);
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_NOBODY);
  assert_true(report(&f, 0)->permit.holds_slot);
  assert_true(report(&f, 0)->permit.tool_probe);
}

static void call__late_events_of_ended_attempts_are_ignored(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_IDEMPOTENT);
  sent(&f, 0, true, 0);
  timer(&f, HF_SECONDS(20)); /* aborted */
  timer(&f, HF_SECONDS(21));
  grant(&f, HF_SECONDS(21));
  succeeded(&f, 0, HF_SECONDS(22)); /* the first attempt's answer after all */
  assert_int_equal(f.acts.len, 0);
  sent(&f, 0, true, HF_SECONDS(22));
  timer(&f, HF_SECONDS(23)); /* the second one's connect timer still runs */
  assert_int_equal(f.acts.items[0].abort.reason, HF_ABORT_CONNECT);
  assert_int_equal(f.acts.items[0].abort.attempt, 1);
}

static void refuse(struct fixture *f, enum hf_denial reason, hf_time retry_at, enum hf_evidence_kind kind,
                   hf_time now) {
  struct hf_call_event event = {.kind = HF_CALL_PERMIT_REFUSED};
  event.refused.reason = reason;
  event.refused.retry_at = retry_at;
  event.refused.evidence = HF_EVIDENCE(kind);
  step(f, event, now);
}

static void call__open_breaker_ends_it_and_says_when_to_come_back(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(30), HF_EVIDENCE_NONE, HF_SECONDS(1));
  assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_BREAKER_OPEN, HF_EXECUTED_NO, 0);
  assert_int_equal(outcome(&f)->retry_after, HF_SECONDS(29));
}

static void call__local_limit_and_failed_start_are_tried_again(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  o.retry.attempts = 2;
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0);
  assert_int_equal(f.acts.len, 0);
  timer(&f, HF_SECONDS(1));
  ASSERT_ACTIONS(&f, HF_CALL_ACQUIRE);
  assert_false(f.call.waiter.is_retry); /* nothing was sent yet: no charge on the budget */
  refuse(&f, HF_DENIAL_DOWN, HF_SECONDS(2), HF_EVIDENCE_NOT_STARTED, HF_SECONDS(1));
  assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_UNREACHABLE, HF_EXECUTED_NO, 0);
}

static void call__wrong_command_is_not_tried_again(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_DOWN, HF_TIME_NEVER, HF_EVIDENCE_COMMAND_NOT_FOUND, 0);
  assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_MISCONFIGURED, HF_EXECUTED_NO, 0);
}

static void call__refused_retry_keeps_the_fault_and_counts_it(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  sent(&f, 0, true, 0);
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY), 0);
  timer(&f, HF_SECONDS(1));
  refuse(&f, HF_DENIAL_BUDGET, HF_TIME_NEVER, HF_EVIDENCE_NONE, HF_SECONDS(1));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_TOOL);
  assert_false(report(&f, 0)->deferred);
  assert_outcome(&f, HF_CALL_END_BUDGET, HF_FAULT_BAD_REPLY, HF_EXECUTED_MAYBE, 1);
}

static void call__clock_that_goes_back_does_no_harm(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_IDEMPOTENT);
  hf_call_init(&f.call, &o);
  step(&f, (struct hf_call_event){.kind = HF_CALL_STARTED}, HF_SECONDS(1000));
  grant(&f, HF_SECONDS(5));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(1002));
  timer(&f, HF_SECONDS(5));
  assert_int_equal(f.acts.len, 0);
  sent(&f, 0, true, HF_SECONDS(3));
  succeeded(&f, 0, 0);
  assert_int_equal(outcome(&f)->elapsed, 0);
}

static void call__events_that_cannot_be_are_refused(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  hf_call_init(&f.call, &o);
  assert_int_equal(step(&f, (struct hf_call_event){.kind = HF_CALL_CANCELLED}, 0), HF_ERR_INVALID);
  start_with(&f, &o);
  assert_int_equal(step(&f, (struct hf_call_event){.kind = HF_CALL_STARTED}, 0), HF_ERR_INVALID);
  assert_int_equal(step(&f, (struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE}, 0), HF_ERR_INVALID);
}

static void call__same_seed_same_pauses(void **state) {
  (void)state;
  struct fixture a, b, c;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  start_with(&a, &o);
  start_with(&b, &o);
  o.seed = 8;
  start_with(&c, &o);
  struct fixture *all[] = {&a, &b, &c};
  for (int i = 0; i < 3; i++) {
    grant(all[i], 0);
    faulted(all[i], 0, http(500, -1), 0);
  }
  assert_int_equal(hf_call_deadline(&a.call), hf_call_deadline(&b.call));
  assert_int_not_equal(hf_call_deadline(&a.call), hf_call_deadline(&c.call));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(call__success_ends_it_as_executed),
      cmocka_unit_test(call__pending_answer_leaves_executed_as_it_was),
      cmocka_unit_test(call__unsafe_tool_is_repeated_only_when_it_cannot_have_run),
      cmocka_unit_test(call__each_safety_but_unsafe_allows_a_repeat),
      cmocka_unit_test(call__executed_never_falls),
      cmocka_unit_test(call__attempts_are_bounded),
      cmocka_unit_test(call__hints_only_tighten),
      cmocka_unit_test(call__retry_after_is_a_floor),
      cmocka_unit_test(call__hint_beyond_the_deadline_ends_it_at_once),
      cmocka_unit_test(call__attempt_that_cannot_finish_is_not_started),
      cmocka_unit_test(call__connect_timer_ends_with_the_connection),
      cmocka_unit_test(call__idle_timer_arms_at_the_first_sign_and_restarts_at_each),
      cmocka_unit_test(call__answer_bytes_are_no_sign_of_execution),
      cmocka_unit_test(call__attempt_timer_applies_only_where_a_repeat_is_allowed_and_left),
      cmocka_unit_test(call__deadline_says_maybe_once_the_request_is_out),
      cmocka_unit_test(call__own_deadline_blames_the_tool_and_the_callers_nobody),
      cmocka_unit_test(call__time_of_a_person_is_outside_the_deadline),
      cmocka_unit_test(call__person_who_never_answers_does_not_hold_it_for_ever),
      cmocka_unit_test(call__nested_questions_resume_with_the_last),
      cmocka_unit_test(call__lost_session_is_renewed_once_and_not_counted_as_a_retry),
      cmocka_unit_test(call__stateful_tools_session_is_not_renewed),
      cmocka_unit_test(call__cancel_ends_it_in_every_state),
      cmocka_unit_test(call__permit_that_comes_after_the_end_goes_back),
      cmocka_unit_test(call__late_events_of_ended_attempts_are_ignored),
      cmocka_unit_test(call__open_breaker_ends_it_and_says_when_to_come_back),
      cmocka_unit_test(call__local_limit_and_failed_start_are_tried_again),
      cmocka_unit_test(call__wrong_command_is_not_tried_again),
      cmocka_unit_test(call__refused_retry_keeps_the_fault_and_counts_it),
      cmocka_unit_test(call__clock_that_goes_back_does_no_harm),
      cmocka_unit_test(call__events_that_cannot_be_are_refused),
      cmocka_unit_test(call__same_seed_same_pauses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
