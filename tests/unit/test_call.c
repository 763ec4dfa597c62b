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

static void call__local_limit_is_tried_again(void **state) {
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
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, HF_SECONDS(1));
  assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_LOCAL_LIMIT, HF_EXECUTED_NO, 0);
}

static void call__server_that_is_not_there_is_waited_for(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  o.retry.patience = HF_SECONDS(50);
  o.retry.attempts = 2;
  start_with(&f, &o);
  hf_time now = 0;
  for (unsigned i = 0; i < 8; i++) { /* refused at the door, or by a child that does not start */
    if (i % 2 == 0) {
      refuse(&f, HF_DENIAL_DOWN, HF_TIME_NEVER, HF_EVIDENCE_NOT_STARTED, now);
    } else {
      grant(&f, now);
      faulted(&f, i / 2, HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED), now);
    }
    now = hf_call_deadline(&f.call);
    assert_true(now < HF_SECONDS(55));
    timer(&f, now);
    ASSERT_ACTIONS(&f, HF_CALL_ACQUIRE);
  }
  for (unsigned i = 0; i < 2; i++) { /* now it is there, and what reaches it counts */
    grant(&f, now);
    sent(&f, 4 + i, true, now);
    faulted(&f, 4 + i, http(429, -1), now);
    if (i == 0) {
      now = hf_call_deadline(&f.call);
      timer(&f, now);
    }
  }
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_RATE_LIMITED, HF_EXECUTED_NO, 6);
}

static void call__one_attempt_is_one_also_where_nobody_is(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  o.retry.attempts = 1;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED), 1);
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_UNREACHABLE, HF_EXECUTED_NO, 1);
}

static void call__nobody_is_waited_for_where_there_is_another_answer(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  o.retry.attempts = 2;
  o.retry.patience = HF_SECONDS(50);
  o.degrades = true;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED), 1);
  hf_time now = hf_call_deadline(&f.call);
  timer(&f, now);
  grant(&f, now);
  faulted(&f, 1, HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED), now);
  assert_int_equal(f.acts.items[f.acts.len - 1].kind, HF_CALL_DEGRADE);
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

/* Several targets: what a test says of them, and the rest as in options(). */
static struct hf_call_options chain(const struct hf_call_target *targets, size_t count) {
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  o.targets = targets;
  o.target_count = count;
  return o;
}

#define HARMLESS(n)                                                                                                    \
  { .safety = HF_SAFETY_READ_ONLY, .harmless = true, .server = (n) }
#define OF(s, n)                                                                                                       \
  { .safety = HF_SAFETY_##s, .server = (n), .keyed_until = HF_TIME_NEVER }

static void assert_at(const struct fixture *f, unsigned index, enum hf_call_action_kind kind, unsigned provider) {
  assert_true(index < f->acts.len);
  assert_int_equal(f->acts.items[index].kind, kind);
  assert_int_equal(f->acts.items[index].provider, provider);
}

/* What a call does whose one attempt at its first target ends like that. */
static void call__moves_on_only_where_no_effect_can_happen_twice(void **state) {
  (void)state;
  static const struct row {
    struct hf_evidence evidence;
    bool complete;
    struct hf_call_target first, second;
    bool moves;
    enum hf_call_end end;
  } rows[] = {
      /* not executed: anything may follow */
      {{HF_EVIDENCE_CONNECT_REFUSED, .retry_after = -1}, false, OF(UNSAFE, 0), OF(UNSAFE, 1), true},
      {{HF_EVIDENCE_NO_SUCH_HOST, .retry_after = -1}, false, OF(UNSAFE, 0), OF(UNSAFE, 1), true},
      {{HF_EVIDENCE_HTTP_STATUS, 401, .retry_after = -1}, true, OF(UNSAFE, 0), OF(UNSAFE, 1), true},
      {{HF_EVIDENCE_HTTP_STATUS, 405, .retry_after = -1}, true, OF(UNSAFE, 0), OF(UNSAFE, 1), true},
      {{HF_EVIDENCE_HTTP_STATUS, 429, .retry_after = HF_SECONDS(60)}, true, OF(UNSAFE, 0), OF(UNSAFE, 1), true},
      /* it is the request's own fault */
      {{HF_EVIDENCE_HTTP_STATUS, 422, .retry_after = -1}, true, HARMLESS(0), HARMLESS(1), false, HF_CALL_END_FINAL},
      {{HF_EVIDENCE_HTTP_STATUS, 409, .retry_after = -1}, true, HARMLESS(0), HARMLESS(1), false, HF_CALL_END_FINAL},
      {{HF_EVIDENCE_HTTP_STATUS, 404, .retry_after = -1, .carried_session = true},
       true,
       {.safety = HF_SAFETY_READ_ONLY, .harmless = true, .stateful = true},
       HARMLESS(1),
       false,
       HF_CALL_END_FINAL},
      /* may have run */
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, HARMLESS(0), HARMLESS(1), true},
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, HARMLESS(0), OF(UNSAFE, 1), true},
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, OF(READ_ONLY, 0), HARMLESS(1), false, HF_CALL_END_ATTEMPTS},
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, OF(IDEMPOTENT, 0), OF(IDEMPOTENT, 1), false, HF_CALL_END_ATTEMPTS},
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, OF(IDEMPOTENT, 0), OF(IDEMPOTENT, 0), true},
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, OF(KEYED, 0), OF(KEYED, 0), true},
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, OF(KEYED, 0), OF(UNSAFE, 0), false, HF_CALL_END_ATTEMPTS},
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, OF(UNSAFE, 0), OF(KEYED, 0), false, HF_CALL_END_UNSAFE},
      {{HF_EVIDENCE_BROKE, .retry_after = -1}, true, OF(UNSAFE, 0), HARMLESS(1), false, HF_CALL_END_UNSAFE},
      {{HF_EVIDENCE_BROKE, .retry_after = -1},
       true,
       OF(KEYED, 0),
       {.safety = HF_SAFETY_KEYED, .keyed_until = HF_MS(2)},
       false,
       HF_CALL_END_ATTEMPTS},
      /* it ran, and says that it failed */
      {{HF_EVIDENCE_TOOL_ERROR, .retry_after = -1}, true, HARMLESS(0), HARMLESS(1), true},
      {{HF_EVIDENCE_TOOL_ERROR, .retry_after = -1}, true, OF(UNSAFE, 0), OF(UNSAFE, 1), false, HF_CALL_END_FINAL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct hf_call_target targets[] = {rows[i].first, rows[i].second};
    struct hf_call_options o = chain(targets, 2);
    struct fixture f;
    o.retry.attempts = 1;
    start_with(&f, &o);
    assert_false(f.call.waiter.may_wait);
    grant(&f, 0);
    sent(&f, 0, rows[i].complete, HF_MS(1));
    faulted(&f, 0, rows[i].evidence, HF_MS(2));
    assert_at(&f, 0, HF_CALL_REPORT, 0);
    assert_false(report(&f, 0)->deferred);
    if (!rows[i].moves) {
      ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
      assert_int_equal(outcome(&f)->end, rows[i].end);
      assert_int_equal(outcome(&f)->provider, 0);
      continue;
    }
    ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_ACQUIRE);
    assert_at(&f, 1, HF_CALL_ACQUIRE, 1);
    assert_false(f.call.waiter.is_retry); /* a first attempt, there */
    assert_int_equal(f.call.waiter.may_wait, rows[i].second.safety != HF_SAFETY_UNSAFE);
    grant(&f, HF_MS(3));
    assert_at(&f, 0, HF_CALL_START_ATTEMPT, 1);
    assert_int_equal(f.acts.items[0].start.attempt, 1);
    succeeded(&f, 1, HF_MS(4));
    assert_at(&f, 0, HF_CALL_REPORT, 1);
    assert_int_equal(outcome(&f)->provider, 1);
    assert_int_equal(outcome(&f)->attempt, 1);
    assert_int_equal(outcome(&f)->attempts, 2);
  }
}

static void call__attempts_are_each_targets_own(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {HARMLESS(0), HARMLESS(1)};
  struct hf_call_options o = chain(targets, 2);
  o.retry.attempts = 2;
  struct fixture f;
  start_with(&f, &o);
  for (unsigned attempt = 0; attempt < 4; attempt++) {
    hf_time now = HF_SECONDS(attempt);
    grant(&f, now);
    sent(&f, attempt, true, now);
    faulted(&f, attempt, http(500, -1), now);
    assert_at(&f, 0, HF_CALL_REPORT, attempt / 2);
    assert_int_equal(report(&f, 0)->deferred, attempt % 2 == 0);
    if (attempt % 2 == 0)
      timer(&f, now + HF_MS(500));
  }
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 4);
  assert_int_equal(outcome(&f)->provider, 1);
}

static void call__session_is_renewed_once_at_each_target(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {OF(UNSAFE, 0), OF(UNSAFE, 1)};
  struct hf_call_options o = chain(targets, 2);
  struct hf_evidence lost = http(404, -1);
  struct fixture f;
  lost.carried_session = true;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, lost, 0);
  assert_true(f.acts.items[0].start.new_session);
  faulted(&f, 1, http(401, -1), 0);
  grant(&f, 0);
  faulted(&f, 2, lost, 0);
  ASSERT_ACTIONS(&f, HF_CALL_START_ATTEMPT);
  assert_at(&f, 0, HF_CALL_START_ATTEMPT, 1);
  assert_true(f.acts.items[0].start.new_session);
  faulted(&f, 3, lost, 0);
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_SESSION_LOST, HF_EXECUTED_NO, 4);
}

static void call__hints_bound_all_targets_together(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {HARMLESS(0), HARMLESS(1)};
  struct hf_call_options o = chain(targets, 2);
  struct fixture f;
  o.hints.max_attempts = 1;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, http(500, -1), 0);
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 1);

  o.hints = (struct hf_call_hints){.stay = true};
  start_with(&f, &o);
  assert_true(f.call.waiter.may_wait); /* there is no other for it */
  grant(&f, 0);
  faulted(&f, 0, http(401, -1), 0);
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_UNAUTHORIZED, HF_EXECUTED_NO, 1);

  o.hints = (struct hf_call_hints){0};
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  life(&f, 0, HF_SECONDS(19));
  faulted(&f, 0, http(401, -1), HF_SECONDS(55) - HF_MS(9)); /* no time for another one */
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_UNAUTHORIZED, HF_EXECUTED_MAYBE, 1);
}

static void call__refusal_costs_nothing_while_a_target_is_left(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {OF(UNSAFE, 0), OF(READ_ONLY, 1)};
  static const enum hf_denial reasons[] = {HF_DENIAL_BREAKER, HF_DENIAL_LIMIT, HF_DENIAL_BUDGET, HF_DENIAL_DOWN};
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    struct hf_call_options o = chain(targets, 2);
    struct fixture f;
    start_with(&f, &o);
    refuse(&f, reasons[i], HF_SECONDS(9), HF_EVIDENCE_NONE, 0);
    ASSERT_ACTIONS(&f, HF_CALL_ACQUIRE);
    assert_at(&f, 0, HF_CALL_ACQUIRE, 1);
    assert_int_equal(f.call.waiter.may_wait, reasons[i] != HF_DENIAL_BREAKER); /* which of two is open: see below */
    grant(&f, 0);
    succeeded(&f, 0, 0);
    assert_int_equal(outcome(&f)->provider, 1);
  }
}

static void call__last_target_is_tried_again_after_a_full_queue(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {OF(UNSAFE, 0), OF(UNSAFE, 1)};
  struct hf_call_options o = chain(targets, 2);
  struct fixture f;
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0);
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0);
  assert_int_equal(f.acts.len, 0);
  timer(&f, HF_SECONDS(1));
  assert_at(&f, 0, HF_CALL_ACQUIRE, 1);
}

static void call__all_open_it_waits_where_half_open_comes_first(void **state) {
  (void)state;
  static const struct row {
    hf_time at[2];
    enum hf_safety safety[2];
    unsigned waits_at; /* 2: nowhere */
  } rows[] = {
      {{HF_SECONDS(30), HF_SECONDS(20)}, {HF_SAFETY_READ_ONLY, HF_SAFETY_READ_ONLY}, 1},
      {{HF_SECONDS(20), HF_SECONDS(30)}, {HF_SAFETY_READ_ONLY, HF_SAFETY_READ_ONLY}, 0},
      {{HF_SECONDS(20), HF_SECONDS(30)}, {HF_SAFETY_UNSAFE, HF_SAFETY_READ_ONLY}, 1},
      {{HF_SECONDS(20), HF_SECONDS(30)}, {HF_SAFETY_UNSAFE, HF_SAFETY_UNSAFE}, 2},
      {{HF_SECONDS(60), HF_SECONDS(70)}, {HF_SAFETY_READ_ONLY, HF_SAFETY_READ_ONLY}, 2},
      {{HF_TIME_NEVER, HF_TIME_NEVER}, {HF_SAFETY_READ_ONLY, HF_SAFETY_READ_ONLY}, 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct hf_call_target targets[] = {{.safety = rows[i].safety[0]}, {.safety = rows[i].safety[1], .server = 1}};
    struct hf_call_options o = chain(targets, 2);
    struct fixture f;
    start_with(&f, &o);
    refuse(&f, HF_DENIAL_BREAKER, rows[i].at[0], HF_EVIDENCE_NONE, 0);
    refuse(&f, HF_DENIAL_BREAKER, rows[i].at[1], HF_EVIDENCE_NONE, 0);
    if (rows[i].waits_at == 2) {
      assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_BREAKER_OPEN, HF_EXECUTED_NO, 0);
      hf_time soonest = rows[i].at[0] == HF_TIME_NEVER ? -1 : rows[i].at[0];
      assert_int_equal(outcome(&f)->retry_after, soonest);
      continue;
    }
    ASSERT_ACTIONS(&f, HF_CALL_ACQUIRE);
    assert_at(&f, 0, HF_CALL_ACQUIRE, rows[i].waits_at);
    assert_true(f.call.waiter.may_wait);
    refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(25), HF_EVIDENCE_NONE, HF_SECONDS(20)); /* the probe of another failed */
    assert_int_equal(outcome(&f)->end, HF_CALL_END_REFUSED);
  }
}

static void call__returns_to_a_breaker_that_its_own_repeats_opened(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {HARMLESS(0), HARMLESS(1)};
  struct hf_call_options o = chain(targets, 2);
  o.retry.attempts = 3;
  struct fixture f;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), 0);
  timer(&f, HF_MS(500));
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(10), HF_EVIDENCE_NONE, HF_MS(500));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_ACQUIRE); /* what was put off counts against the one that was left */
  assert_at(&f, 0, HF_CALL_REPORT, 0);
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_TOOL);
  assert_false(report(&f, 0)->deferred);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(20), HF_EVIDENCE_NONE, HF_MS(500));
  assert_at(&f, 0, HF_CALL_ACQUIRE, 0);
  assert_true(f.call.waiter.may_wait);
  assert_true(f.call.waiter.is_retry);
  grant(&f, HF_SECONDS(10));
  sent(&f, 1, true, HF_SECONDS(10));
  faulted(&f, 1, http(500, -1), HF_SECONDS(11));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT); /* the refusals were no tries: one of three is left */
  timer(&f, HF_SECONDS(12));
  grant(&f, HF_SECONDS(12));
  succeeded(&f, 2, HF_SECONDS(13));
  assert_int_equal(outcome(&f)->provider, 0);
}

static void call__waits_for_half_open_only_where_it_may_run(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {OF(IDEMPOTENT, 0), OF(IDEMPOTENT, 1)};
  struct hf_call_options o = chain(targets, 2);
  struct fixture f;
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(10), HF_EVIDENCE_NONE, 0);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), 0); /* what ran at the second must not run at the first */
  timer(&f, HF_MS(500));
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(20), HF_EVIDENCE_NONE, HF_MS(500));
  assert_at(&f, 1, HF_CALL_ACQUIRE, 1);
  assert_true(f.call.waiter.may_wait);
}

static void call__attempt_is_cut_for_the_next_target(void **state) {
  (void)state;
  static const struct row {
    struct hf_call_target first, second;
    hf_time due;
  } rows[] = {
      {HARMLESS(0), HARMLESS(1), HF_SECONDS(20)},
      {OF(KEYED, 0), OF(KEYED, 0), HF_SECONDS(20)},
      {OF(IDEMPOTENT, 0), OF(IDEMPOTENT, 1), HF_SECONDS(55)}, /* which could not take over */
      {OF(UNSAFE, 0), OF(UNSAFE, 1), HF_SECONDS(55)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct hf_call_target targets[] = {rows[i].first, rows[i].second};
    struct hf_call_options o = chain(targets, 2);
    struct fixture f;
    o.retry.attempts = 1;
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    assert_int_equal(hf_call_deadline(&f.call), rows[i].due);
  }
}

/* A server that hangs while it starts must not keep the call from one that is up. */
static void call__a_permit_is_not_waited_for_while_a_target_is_left(void **state) {
  (void)state;
  const struct hf_call_target targets[] = {OF(UNSAFE, 0), OF(UNSAFE, 1)};
  struct hf_call_options o = chain(targets, 2);
  struct fixture f;
  start_with(&f, &o);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(2));
  timer(&f, HF_SECONDS(2));
  ASSERT_ACTIONS(&f, HF_CALL_WITHDRAW, HF_CALL_ACQUIRE);
  assert_int_equal(f.call.evidence.kind, HF_EVIDENCE_CONNECT_TIMEOUT);
  assert_int_equal(f.acts.items[0].provider, 0);
  assert_int_equal(f.acts.items[1].provider, 1);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55)); /* the last one is waited for */
  timer(&f, HF_SECONDS(55));
  assert_outcome(&f, HF_CALL_END_DEADLINE, HF_FAULT_DEADLINE, HF_EXECUTED_NO, 0);
}

static struct hf_call_options keyed(struct hf_call_target *target, hf_time until) {
  *target = (struct hf_call_target){.safety = HF_SAFETY_KEYED, .keyed_until = until};
  struct hf_call_options o = chain(target, 1);
  o.retry.jitter = HF_RETRY_JITTER_NONE; /* the first pause is 500 ms */
  return o;
}

static void call__key_is_trusted_until_the_server_forgets_it(void **state) {
  (void)state;
  struct hf_call_target target;
  struct fixture f;
  struct hf_call_options o = keyed(&target, HF_MS(500));
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), 0); /* would begin just too late */
  assert_outcome(&f, HF_CALL_END_UNSAFE, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 1);

  o = keyed(&target, HF_MS(501));
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), 0);
  ASSERT_ACTIONS(&f, HF_CALL_REPORT);
  assert_int_equal(hf_call_deadline(&f.call), HF_MS(500));
  timer(&f, HF_MS(501)); /* a slow loop */
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_TOOL);
  assert_outcome(&f, HF_CALL_END_UNSAFE, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 1);

  o = keyed(&target, HF_SECONDS(3));
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), 0);
  timer(&f, HF_MS(500));
  struct hf_call_event event = {.kind = HF_CALL_PERMIT_GRANTED};
  step(&f, event, HF_SECONDS(3)); /* a long queue: the permit goes back */
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_NOBODY);
  assert_int_equal(outcome(&f)->end, HF_CALL_END_UNSAFE);
}

static void call__repeat_under_a_key_must_be_out_in_time(void **state) {
  (void)state;
  for (int complete = 0; complete < 2; complete++) {
    struct hf_call_target target;
    struct fixture f;
    struct hf_call_options o = keyed(&target, HF_SECONDS(2));
    start_with(&f, &o);
    grant(&f, 0);
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(2)); /* to connect: the first needs no key */
    sent(&f, 0, true, 0);
    faulted(&f, 0, http(500, -1), 0);
    timer(&f, HF_MS(500));
    grant(&f, HF_MS(500));
    sent(&f, 1, complete, HF_MS(600));
    if (complete) {
      assert_int_equal(hf_call_deadline(&f.call), HF_MS(20500));
      continue;
    }
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(2));
    timer(&f, HF_SECONDS(2));
    ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
    assert_int_equal(report(&f, 1)->blame, HF_BLAME_NOBODY);
    assert_outcome(&f, HF_CALL_END_UNSAFE, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 2);
  }
}

/* The first attempt may have run; the second one asks, and what is answered goes out after the key's time, or before.
 */
static void call__what_a_repeat_asked_goes_out_again_while_the_key_is_known(void **state) {
  (void)state;
  static const hf_time answered_at[] = {HF_SECONDS(20), HF_SECONDS(10)};
  for (size_t i = 0; i < 2; i++) {
    struct hf_call_target target;
    struct fixture f;
    struct hf_call_options o = keyed(&target, HF_SECONDS(20));
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    faulted(&f, 0, http(500, -1), 0);
    timer(&f, HF_MS(500));
    grant(&f, HF_MS(500));
    sent(&f, 1, true, HF_MS(600));
    step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED, .attempt = 1}, HF_SECONDS(1));
    assert_true(hf_call_send_again(&f.call, 1, answered_at[i]) == (i == 1));
    step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED, .attempt = 1}, answered_at[i]);
    ASSERT_ACTIONS(&f, );
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(20)); /* unless it is out by then */
    if (i == 1) {
      sent(&f, 1, true, HF_SECONDS(11));
      assert_true(hf_call_deadline(&f.call) > HF_SECONDS(20));
      continue;
    }
    timer(&f, HF_SECONDS(20));
    ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
    assert_int_equal(report(&f, 1)->blame, HF_BLAME_NOBODY);
    assert_outcome(&f, HF_CALL_END_UNSAFE, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 2);
  }
}

/* Nothing ran before it: it repeats nothing, however long a person thinks. */
static void call__what_a_first_attempt_asked_goes_out_again_at_any_time(void **state) {
  (void)state;
  struct hf_call_target target;
  struct fixture f;
  struct hf_call_options o = keyed(&target, HF_SECONDS(20));
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, HF_SECONDS(1));
  assert_true(hf_call_send_again(&f.call, 0, HF_SECONDS(300)));
  step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED}, HF_SECONDS(300));
  assert_true(hf_call_deadline(&f.call) > HF_SECONDS(300));
}

static const struct hf_call_target hedged[] = {
    {.safety = HF_SAFETY_READ_ONLY, .harmless = true, .hedged = true},
    {.safety = HF_SAFETY_READ_ONLY, .harmless = true, .server = 1},
};

static void grant_hedged(struct fixture *f, hf_time now, hf_time hedge_after) {
  struct hf_call_event event = {.kind = HF_CALL_PERMIT_GRANTED};
  event.granted.permit = (struct hf_permit){.holds_slot = true, .hedge_after = hedge_after};
  step(f, event, now);
  ASSERT_ACTIONS(f, HF_CALL_START_ATTEMPT);
}

/* Up to two in flight: at 0, and at 200 ms. */
static void two_in_flight(struct fixture *f, size_t targets) {
  struct hf_call_options o = chain(hedged, targets);
  start_with(f, &o);
  grant_hedged(f, 0, HF_MS(200));
  assert_false(f->acts.items[0].start.hedge);
  sent(f, 0, true, HF_MS(1));
  assert_int_equal(hf_call_deadline(&f->call), HF_MS(200));
  timer(f, HF_MS(200));
  ASSERT_ACTIONS(f, HF_CALL_ACQUIRE);
  assert_true(f->call.waiter.is_retry);
  assert_false(f->call.waiter.may_wait);
  grant_hedged(f, HF_MS(200), HF_MS(200));
  assert_true(f->acts.items[0].start.hedge);
  assert_int_equal(f->acts.items[0].start.attempt, 1);
  sent(f, 1, true, HF_MS(201));
  assert_int_equal(hf_call_deadline(&f->call), HF_SECONDS(20)); /* no third one */
}

static void call__first_answer_of_two_wins(void **state) {
  (void)state;
  for (unsigned winner = 0; winner < 2; winner++) {
    struct fixture f;
    two_in_flight(&f, 1);
    succeeded(&f, winner, HF_MS(300));
    ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
    assert_int_equal(report(&f, 0)->blame, HF_BLAME_SUCCESS);
    assert_int_equal(report(&f, 0)->latency, winner == 0 ? HF_MS(300) : HF_MS(100));
    assert_int_equal(f.acts.items[1].abort.attempt, 1 - winner);
    assert_int_equal(f.acts.items[1].abort.reason, HF_ABORT_HEDGED);
    assert_int_equal(report(&f, 2)->blame, HF_BLAME_NOBODY);
    assert_int_equal(report(&f, 2)->latency, -1);
    assert_true(report(&f, 2)->permit.holds_slot);
    assert_outcome(&f, HF_CALL_END_ANSWERED, HF_FAULT_NONE, HF_EXECUTED_YES, 2);
    assert_int_equal(outcome(&f)->attempt, winner);
  }
}

static void call__one_of_two_fails_and_the_other_goes_on(void **state) {
  (void)state;
  struct fixture f;
  two_in_flight(&f, 1);
  faulted(&f, 0, http(500, -1), HF_MS(300));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT);
  assert_true(report(&f, 0)->deferred);
  succeeded(&f, 1, HF_MS(400));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH); /* the call counts once, as a success */
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_SUCCESS);

  two_in_flight(&f, 1);
  faulted(&f, 1, http(500, -1), HF_MS(300));
  faulted(&f, 0, http(500, -1), HF_MS(400)); /* one try is over */
  ASSERT_ACTIONS(&f, HF_CALL_REPORT);
  assert_true(report(&f, 0)->deferred);
  timer(&f, HF_SECONDS(1));
  grant_hedged(&f, HF_SECONDS(1), HF_MS(200));
  sent(&f, 2, false, HF_SECONDS(1));
  assert_int_equal(hf_call_deadline(&f.call), HF_MS(1200)); /* the next try has a hedge of its own */
}

static void call__final_fault_of_one_ends_both(void **state) {
  (void)state;
  for (size_t targets = 1; targets <= 2; targets++) {
    struct fixture f;
    two_in_flight(&f, targets);
    faulted(&f, 1, http(401, -1), HF_MS(300));
    assert_at(&f, 0, HF_CALL_ABORT_ATTEMPT, 0);
    assert_int_equal(f.acts.items[0].abort.attempt, 0);
    assert_int_equal(report(&f, 1)->blame, HF_BLAME_NOBODY);
    assert_int_equal(report(&f, 2)->blame, HF_BLAME_NOBODY);
    assert_int_equal(f.acts.len, 4);
    if (targets == 2) {
      assert_at(&f, 3, HF_CALL_ACQUIRE, 1);
    } else {
      assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_UNAUTHORIZED, HF_EXECUTED_MAYBE, 2); /* the other may have run */
      assert_int_equal(outcome(&f)->attempt, 1);
    }
  }
}

static void call__two_that_hang_count_once(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = chain(hedged, 1);
  o.retry.attempts = 1;
  start_with(&f, &o);
  grant_hedged(&f, 0, HF_SECONDS(1));
  sent(&f, 0, true, 0);
  timer(&f, HF_SECONDS(1));
  grant_hedged(&f, HF_SECONDS(1), HF_SECONDS(1));
  sent(&f, 1, true, HF_SECONDS(1));
  timer(&f, HF_SECONDS(55));
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_int_equal(report(&f, 1)->blame, HF_BLAME_TOOL);
  assert_int_equal(report(&f, 3)->blame, HF_BLAME_NOBODY);
}

static void call__hedges_only_where_it_is_worth_it(void **state) {
  (void)state;
  static const struct row {
    bool harmless, hedged;
    hf_time after;
    unsigned max_attempts;
    hf_time due;
  } rows[] = {
      {true, true, HF_SECONDS(1), 0, HF_SECONDS(1)},
      {true, true, HF_SECONDS(1), 2, HF_SECONDS(1)},
      {true, true, HF_SECONDS(1), 1, HF_SECONDS(55)},
      {true, true, HF_TIME_NEVER, 0, HF_SECONDS(20)},
      {true, false, HF_SECONDS(1), 0, HF_SECONDS(20)},
      {false, true, HF_SECONDS(1), 0, HF_SECONDS(20)},
      {true, true, HF_SECONDS(55) - HF_MS(9), 0, HF_SECONDS(20)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_call_target target = {
        .safety = HF_SAFETY_READ_ONLY, .harmless = rows[i].harmless, .hedged = rows[i].hedged};
    struct hf_call_options o = chain(&target, 1);
    struct fixture f;
    o.hints.max_attempts = rows[i].max_attempts;
    start_with(&f, &o);
    grant_hedged(&f, 0, rows[i].after);
    sent(&f, 0, true, 0);
    assert_int_equal(hf_call_deadline(&f.call), rows[i].due);
  }
}

static void call__refused_hedge_is_no_hedge(void **state) {
  (void)state;
  static const enum hf_denial reasons[] = {HF_DENIAL_BREAKER, HF_DENIAL_LIMIT, HF_DENIAL_BUDGET, HF_DENIAL_DOWN};
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    struct hf_call_options o = chain(hedged, 2);
    struct fixture f;
    start_with(&f, &o);
    grant_hedged(&f, 0, HF_MS(200));
    sent(&f, 0, true, 0);
    timer(&f, HF_MS(200));
    refuse(&f, reasons[i], HF_SECONDS(5), HF_EVIDENCE_NONE, HF_MS(200));
    assert_int_equal(f.acts.len, 0);
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(20));
    succeeded(&f, 0, HF_MS(300));
    assert_outcome(&f, HF_CALL_END_ANSWERED, HF_FAULT_NONE, HF_EXECUTED_YES, 1);
  }
}

static void call__hedge_that_is_not_needed_is_withdrawn(void **state) {
  (void)state;
  struct hf_call_options o = chain(hedged, 1);
  struct fixture f;
  start_with(&f, &o);
  grant_hedged(&f, 0, HF_MS(200));
  sent(&f, 0, true, 0);
  timer(&f, HF_MS(200));
  succeeded(&f, 0, HF_MS(210));
  ASSERT_ACTIONS(&f, HF_CALL_WITHDRAW, HF_CALL_REPORT, HF_CALL_FINISH);

  start_with(&f, &o);
  grant_hedged(&f, 0, HF_MS(200));
  sent(&f, 0, true, 0);
  timer(&f, HF_MS(200));
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, HF_MS(210)); /* a person is slow, not the server */
  ASSERT_ACTIONS(&f, HF_CALL_WITHDRAW);
  timer(&f, HF_SECONDS(100));
  assert_int_equal(f.acts.len, 0);
}

static void call__waiting_for_a_person_is_not_slow(void **state) {
  (void)state;
  struct hf_call_options o = chain(hedged, 1);
  struct fixture f;
  start_with(&f, &o);
  grant_hedged(&f, 0, HF_MS(200));
  sent(&f, 0, true, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, HF_MS(100));
  timer(&f, HF_SECONDS(50));
  assert_int_equal(f.acts.len, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED}, HF_SECONDS(100));
  assert_int_equal(hf_call_deadline(&f.call), HF_MS(100100));
  succeeded(&f, 0, HF_MS(100050));
  assert_int_equal(report(&f, 0)->latency, HF_MS(150));
}

/* The grant was on its way when the hedge was withdrawn; the next acquire is at another target. */
static void call__answer_to_a_withdrawn_acquire_is_not_taken_for_the_next(void **state) {
  (void)state;
  for (int granted = 0; granted < 2; granted++) {
    struct hf_call_options o = chain(hedged, 2);
    struct fixture f;
    start_with(&f, &o);
    grant_hedged(&f, 0, HF_MS(200));
    sent(&f, 0, true, 0);
    timer(&f, HF_MS(200));
    f.call.waiter.queued = false; /* answered: the event is in the owner's queue */
    faulted(&f, 0, http(401, -1), HF_MS(200));
    ASSERT_ACTIONS(&f, HF_CALL_WITHDRAW, HF_CALL_REPORT);
    if (granted) {
      struct hf_call_event event = {.kind = HF_CALL_PERMIT_GRANTED};
      event.granted.permit.tool_generation = 77;
      step(&f, event, HF_MS(200));
      ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_ACQUIRE);
      assert_at(&f, 0, HF_CALL_REPORT, 0);
      assert_int_equal(report(&f, 0)->permit.tool_generation, 77);
      assert_int_equal(report(&f, 0)->blame, HF_BLAME_NOBODY);
      assert_at(&f, 1, HF_CALL_ACQUIRE, 1);
    } else {
      refuse(&f, HF_DENIAL_BUDGET, HF_TIME_NEVER, HF_EVIDENCE_NONE, HF_MS(200));
      ASSERT_ACTIONS(&f, HF_CALL_ACQUIRE);
      assert_at(&f, 0, HF_CALL_ACQUIRE, 1);
    }
    grant_hedged(&f, HF_MS(200), HF_TIME_NEVER);
    succeeded(&f, 1, HF_MS(250));
    assert_int_equal(outcome(&f)->provider, 1);
  }
}

static void call__withdrawn_in_time_the_next_acquire_follows_at_once(void **state) {
  (void)state;
  struct hf_call_options o = chain(hedged, 2);
  struct fixture f;
  start_with(&f, &o);
  grant_hedged(&f, 0, HF_MS(200));
  sent(&f, 0, true, 0);
  timer(&f, HF_MS(200));
  faulted(&f, 0, http(401, -1), HF_MS(200));
  ASSERT_ACTIONS(&f, HF_CALL_WITHDRAW, HF_CALL_REPORT, HF_CALL_ACQUIRE);
  assert_at(&f, 0, HF_CALL_WITHDRAW, 0);
  assert_at(&f, 2, HF_CALL_ACQUIRE, 1);
}

static void call__only_a_success_has_a_latency(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  succeeded(&f, 0, HF_MS(30));
  assert_int_equal(report(&f, 0)->latency, HF_MS(30));
  running(&f, HF_SAFETY_READ_ONLY);
  step(&f, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .done.result = HF_ATTEMPT_PENDING}, HF_MS(30));
  assert_int_equal(report(&f, 0)->latency, -1);
  running(&f, HF_SAFETY_UNSAFE);
  faulted(&f, 0, http(500, -1), HF_MS(30));
  assert_int_equal(report(&f, 0)->latency, -1);
}

static struct hf_call_target checked(hf_time settle) {
  return (struct hf_call_target){.safety = HF_SAFETY_UNSAFE, .check_time = HF_SECONDS(5), .settle = settle};
}

/* Up to an unsafe attempt whose answer was lost at 1 s. */
static void answer_lost(struct fixture *f, hf_time settle, bool child_dead, enum hf_letter_policy letters) {
  struct hf_call_target target = checked(settle);
  struct hf_call_options o = chain(&target, 1);
  o.letters = letters;
  start_with(f, &o);
  grant(f, 0);
  sent(f, 0, true, 0);
  struct hf_evidence broke = HF_EVIDENCE(HF_EVIDENCE_BROKE);
  broke.child_dead = child_dead;
  faulted(f, 0, broke, HF_SECONDS(1));
  assert_true(report(f, 0)->deferred);
}

static void say(struct fixture *f, enum hf_check check, hf_time now) {
  step(f, (struct hf_call_event){.kind = HF_CALL_CHECKED, .check = check}, now);
}

/* What waits in a queue of its server's own may begin at any time. */
static void call__check_does_not_disprove_what_was_followed_to_no_end(void **state) {
  (void)state;
  static const struct {
    enum hf_evidence_kind kind;
    bool child_dead;
    enum hf_check said;
    enum hf_call_end end; /* HF_CALL_END_ANSWERED: it is tried again */
  } rows[] = {
      {HF_EVIDENCE_TASK_LOST, false, HF_CHECK_DID_NOT_RUN, HF_CALL_END_UNSAFE},
      {HF_EVIDENCE_TASK_LOST, false, HF_CHECK_RAN, HF_CALL_END_CHECKED},
      {HF_EVIDENCE_TASK_LOST, true, HF_CHECK_DID_NOT_RUN, HF_CALL_END_ANSWERED},
      {HF_EVIDENCE_BAD_REPLY, false, HF_CHECK_DID_NOT_RUN, HF_CALL_END_UNSAFE},
      {HF_EVIDENCE_JSONRPC_ERROR, false, HF_CHECK_DID_NOT_RUN, HF_CALL_END_ANSWERED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture f;
    struct hf_call_target target = checked(0);
    struct hf_call_options o = chain(&target, 1);
    struct hf_evidence evidence = HF_EVIDENCE(rows[i].kind);
    evidence.child_dead = rows[i].child_dead;
    evidence.jsonrpc_code = rows[i].kind == HF_EVIDENCE_JSONRPC_ERROR ? -32603 : 0;
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    hf_call_follow(&f.call, 0);
    life(&f, 0, HF_MS(10));
    faulted(&f, 0, evidence, HF_SECONDS(1));
    assert_int_equal(f.acts.items[f.acts.len - 1].kind, HF_CALL_CHECK);
    say(&f, rows[i].said, HF_SECONDS(1) + HF_MS(10));
    if (rows[i].end == HF_CALL_END_ANSWERED) {
      assert_int_equal(f.acts.len, 0);
      assert_int_equal(f.call.executed, HF_EXECUTED_NO);
    } else {
      assert_int_equal(f.acts.items[f.acts.len - 1].kind, HF_CALL_FINISH);
      assert_int_equal(f.acts.items[f.acts.len - 1].outcome.end, rows[i].end);
    }
  }
}

static void call__check_says_what_became_of_a_lost_answer(void **state) {
  (void)state;
  static const struct row {
    hf_time settle;
    bool child_dead;
    hf_time asked; /* when */
    enum hf_check said;
    enum hf_call_end end; /* HF_CALL_END_ANSWERED: it is tried again */
    enum hf_executed executed;
  } rows[] = {
      {0, false, HF_SECONDS(1), HF_CHECK_RAN, HF_CALL_END_CHECKED, HF_EXECUTED_YES},
      {0, false, HF_SECONDS(1), HF_CHECK_DID_NOT_RUN, HF_CALL_END_ANSWERED, HF_EXECUTED_NO},
      {HF_SECONDS(10), false, HF_SECONDS(11), HF_CHECK_RAN, HF_CALL_END_CHECKED, HF_EXECUTED_YES},
      {HF_SECONDS(10), false, HF_SECONDS(11), HF_CHECK_DID_NOT_RUN, HF_CALL_END_ANSWERED, HF_EXECUTED_NO},
      {HF_SECONDS(10), true, HF_SECONDS(1), HF_CHECK_DID_NOT_RUN, HF_CALL_END_ANSWERED, HF_EXECUTED_NO},
      /* it does not settle in time: 49 s and the check's own 5 s fit, more does not */
      {HF_SECONDS(49), false, HF_SECONDS(50), HF_CHECK_DID_NOT_RUN, HF_CALL_END_ANSWERED, HF_EXECUTED_NO},
      {HF_SECONDS(49) + 1, false, HF_SECONDS(1), HF_CHECK_RAN, HF_CALL_END_CHECKED, HF_EXECUTED_YES},
      {HF_SECONDS(54), false, HF_SECONDS(1), HF_CHECK_DID_NOT_RUN, HF_CALL_END_UNSAFE, HF_EXECUTED_MAYBE},
      {HF_TIME_NEVER, false, HF_SECONDS(1), HF_CHECK_DID_NOT_RUN, HF_CALL_END_UNSAFE, HF_EXECUTED_MAYBE},
      {HF_TIME_NEVER, true, HF_SECONDS(1), HF_CHECK_DID_NOT_RUN, HF_CALL_END_ANSWERED, HF_EXECUTED_NO},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture f;
    answer_lost(&f, rows[i].settle, rows[i].child_dead, HF_LETTER_OFF);
    if (rows[i].asked > HF_SECONDS(1)) {
      ASSERT_ACTIONS(&f, HF_CALL_REPORT);
      assert_int_equal(hf_call_deadline(&f.call), rows[i].asked);
      timer(&f, rows[i].asked);
    }
    const struct hf_call_action *check = &f.acts.items[f.acts.len - 1];
    assert_int_equal(check->kind, HF_CALL_CHECK);
    assert_int_equal(check->check_by, rows[i].asked + HF_SECONDS(5));
    assert_int_equal(hf_call_deadline(&f.call), check->check_by);
    say(&f, rows[i].said, rows[i].asked + HF_MS(10));
    if (rows[i].end == HF_CALL_END_ANSWERED) {
      assert_int_equal(f.acts.len, 0);
      assert_int_equal(f.call.executed, HF_EXECUTED_NO);
      timer(&f, rows[i].asked + HF_MS(600));
      assert_true(f.call.waiter.is_retry);
      grant(&f, rows[i].asked + HF_MS(600));
      succeeded(&f, 1, rows[i].asked + HF_MS(700));
      ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
      assert_outcome(&f, HF_CALL_END_ANSWERED, HF_FAULT_NONE, HF_EXECUTED_YES, 2);
    } else {
      ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH); /* the lost answer counts against the tool */
      assert_int_equal(report(&f, 0)->blame, HF_BLAME_TOOL);
      assert_outcome(&f, rows[i].end, HF_FAULT_BROKE, rows[i].executed, 1);
      assert_int_equal(outcome(&f)->source, HF_SOURCE_LIVE);
    }
  }
}

static void call__check_that_tells_nothing_is_made_again(void **state) {
  (void)state;
  struct fixture f;
  answer_lost(&f, 0, false, HF_LETTER_UNSAFE);
  hf_time now = HF_SECONDS(6);
  timer(&f, now);
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_CHECK);
  say(&f, HF_CHECK_RAN, now); /* late */
  assert_int_equal(f.acts.len, 0);
  unsigned checks = 1;
  do {
    now = hf_call_deadline(&f.call);
    timer(&f, now);
    ASSERT_ACTIONS(&f, HF_CALL_CHECK);
    checks++;
    say(&f, HF_CHECK_FAILED, now + HF_MS(20));
  } while (f.acts.len == 0);
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_DEAD_LETTER); /* there is no time for another one */
  assert_true(checks > 8 && now > HF_SECONDS(40) && now < HF_SECONDS(55));
}

static void call__check_waits_for_what_may_yet_run(void **state) {
  (void)state;
  struct fixture f;
  answer_lost(&f, HF_SECONDS(52), false, HF_LETTER_OFF);
  say(&f, HF_CHECK_DID_NOT_RUN, HF_SECONDS(2)); /* too early to tell */
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(53));
  timer(&f, HF_SECONDS(53));
  ASSERT_ACTIONS(&f, HF_CALL_CHECK);
  say(&f, HF_CHECK_DID_NOT_RUN, HF_SECONDS(53) + HF_MS(20));
  assert_int_equal(f.call.executed, HF_EXECUTED_NO);
}

static void call__check_after_the_last_attempt_moves_on_or_ends(void **state) {
  (void)state;
  for (size_t targets = 1; targets <= 2; targets++) {
    struct hf_call_target both[] = {checked(0), OF(UNSAFE, 1)};
    struct hf_call_options o = chain(both, targets);
    struct fixture f;
    o.retry.attempts = 1;
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), 0);
    ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_CHECK);
    say(&f, HF_CHECK_DID_NOT_RUN, HF_MS(1));
    assert_int_equal(report(&f, 0)->blame, HF_BLAME_TOOL);
    if (targets == 2)
      assert_at(&f, 1, HF_CALL_ACQUIRE, 1);
    else
      assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_BROKE, HF_EXECUTED_NO, 1);
  }
}

/* The first endpoint has no check of its own, so that nobody knows how long a request there can take. */
static void call__what_may_still_run_at_another_endpoint_is_not_disproved(void **state) {
  (void)state;
  for (int harmless = 0; harmless < 2; harmless++) {
    struct hf_call_target targets[] = {
        {.safety = HF_SAFETY_KEYED, .keyed_until = HF_MS(10)},
        {.safety = HF_SAFETY_KEYED, .keyed_until = HF_MS(10), .check_time = HF_SECONDS(5)},
    };
    if (harmless)
      targets[0] = (struct hf_call_target)HARMLESS(1);
    struct hf_call_options o = chain(targets, 2);
    struct fixture f;
    o.retry.attempts = 1;
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_MS(1));
    assert_at(&f, 1, HF_CALL_ACQUIRE, 1);
    grant(&f, HF_MS(2));
    sent(&f, 1, true, HF_MS(3));
    faulted(&f, 1, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_MS(20));
    ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_CHECK);
    say(&f, HF_CHECK_DID_NOT_RUN, HF_MS(30));
    assert_outcome(&f, harmless ? HF_CALL_END_ATTEMPTS : HF_CALL_END_UNSAFE, HF_FAULT_BROKE, HF_EXECUTED_MAYBE, 2);
    assert_int_equal(f.call.visits[1].ran, harmless ? HF_EXECUTED_NO : HF_EXECUTED_MAYBE);
  }
}

static void call__conflict_is_checked_and_not_repeated(void **state) {
  (void)state;
  struct hf_call_target target = checked(0);
  struct hf_call_options o = chain(&target, 1);
  struct fixture f;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(409, -1), 0);
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_CHECK);
  say(&f, HF_CHECK_DID_NOT_RUN, HF_MS(1));
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_CONFLICT, HF_EXECUTED_NO, 1);
}

static void call__attempt_is_cut_short_for_a_check_that_may_allow_another(void **state) {
  (void)state;
  struct hf_call_target target = checked(HF_SECONDS(3));
  struct hf_call_options o = chain(&target, 1);
  struct fixture f;
  start_with(&f, &o);
  assert_true(f.call.waiter.may_wait);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(20));
  timer(&f, HF_SECONDS(20));
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(23));
}

static void call__time_for_the_check_is_kept(void **state) {
  (void)state;
  struct hf_call_target target = checked(HF_TIME_NEVER);
  struct hf_call_options o = chain(&target, 1);
  struct fixture f;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(50));
  timer(&f, HF_SECONDS(50));
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_CHECK);
  assert_int_equal(f.acts.items[0].abort.reason, HF_ABORT_ATTEMPT);
  assert_int_equal(f.acts.items[2].check_by, HF_SECONDS(55));

  o.hints.deadline = HF_SECONDS(4); /* less than twice the check's time: half of it */
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(2));
  timer(&f, HF_SECONDS(2));
  assert_int_equal(f.acts.items[2].check_by, HF_SECONDS(4));

  target =
      (struct hf_call_target){.safety = HF_SAFETY_KEYED, .keyed_until = HF_SECONDS(50), .check_time = HF_SECONDS(5)};
  o = chain(&target, 1);
  o.retry.attempts = 1;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(50)); /* by then the key says nothing */
  target.keyed_until = HF_SECONDS(51);
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
}

static void call__no_check_without_time_for_one(void **state) {
  (void)state;
  struct hf_call_target target = checked(0);
  struct hf_call_options o = chain(&target, 1);
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    /* The loop was busy all the time: the answer's loss is seen before the timer. */
    faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_SECONDS(55) - HF_MS(10) + i);
    if (i == 0)
      ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_CHECK);
    else
      ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
  }
}

static void offer(struct fixture *f, enum hf_source source, hf_time now) {
  struct hf_call_event event = {.kind = HF_CALL_DEGRADED};
  event.degraded.source = source;
  event.degraded.age = HF_SECONDS(7);
  step(f, event, now);
}

/* One attempt that fails like that, of a call that has another answer and writes down all it may. */
static void call__what_is_degraded_and_what_is_written_down(void **state) {
  (void)state;
  static const struct row {
    struct hf_evidence evidence;
    bool complete;
    enum hf_safety safety;
    bool degrades;
    bool written_of_effects; /* HF_LETTER_UNSAFE */
    bool written;            /* HF_LETTER_ALL */
  } rows[] = {
      {{HF_EVIDENCE_HTTP_STATUS, 500, .retry_after = -1}, true, HF_SAFETY_READ_ONLY, true, false, true},
      {{HF_EVIDENCE_HTTP_STATUS, 500, .retry_after = -1}, true, HF_SAFETY_IDEMPOTENT, false, true, true},
      {{HF_EVIDENCE_HTTP_STATUS, 500, .retry_after = -1}, true, HF_SAFETY_UNSAFE, false, true, true},
      {{HF_EVIDENCE_CONNECT_REFUSED, .retry_after = -1}, false, HF_SAFETY_UNSAFE, true, true, true},
      {{HF_EVIDENCE_NO_SUCH_HOST, .retry_after = -1}, false, HF_SAFETY_READ_ONLY, true, false, true},
      {{HF_EVIDENCE_NO_SUCH_HOST, .retry_after = -1}, false, HF_SAFETY_UNSAFE, true, true, true},
      {{HF_EVIDENCE_HTTP_STATUS, 429, .retry_after = HF_SECONDS(90)}, true, HF_SAFETY_READ_ONLY, true, false, true},
      {{HF_EVIDENCE_HTTP_STATUS, 401, .retry_after = -1}, true, HF_SAFETY_READ_ONLY, false, false, true},
      {{HF_EVIDENCE_HTTP_STATUS, 403, .retry_after = -1}, true, HF_SAFETY_UNSAFE, false, true, true},
      {{HF_EVIDENCE_HTTP_STATUS, 422, .retry_after = -1}, true, HF_SAFETY_UNSAFE, false, false, false},
      {{HF_EVIDENCE_HTTP_STATUS, 405, .retry_after = -1}, true, HF_SAFETY_UNSAFE, false, false, false},
      {{HF_EVIDENCE_HTTP_STATUS, 409, .retry_after = -1}, true, HF_SAFETY_READ_ONLY, false, false, false},
      {{HF_EVIDENCE_HTTP_STATUS, 409, .retry_after = -1}, true, HF_SAFETY_UNSAFE, false, true, true},
      {{HF_EVIDENCE_HTTP_STATUS, 302, .retry_after = -1}, true, HF_SAFETY_READ_ONLY, true, false, true},
      {{HF_EVIDENCE_TOOL_ERROR, .retry_after = -1}, true, HF_SAFETY_READ_ONLY, false, false, false},
      {{HF_EVIDENCE_TOOL_ERROR, .retry_after = -1}, true, HF_SAFETY_UNSAFE, false, false, false},
      {{HF_EVIDENCE_TOOL_ERROR, .retry_after = -1, .matches_transient = true},
       true,
       HF_SAFETY_READ_ONLY,
       true,
       false,
       true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int letters = HF_LETTER_OFF; letters <= HF_LETTER_ALL; letters++) {
      struct hf_call_options o = options(rows[i].safety);
      struct fixture f;
      o.retry.attempts = 1;
      o.degrades = true;
      o.letters = (enum hf_letter_policy)letters;
      start_with(&f, &o);
      grant(&f, 0);
      sent(&f, 0, rows[i].complete, 0);
      faulted(&f, 0, rows[i].evidence, HF_MS(2));
      if (rows[i].degrades) {
        ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_DEGRADE);
        assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
        offer(&f, HF_SOURCE_LIVE, HF_MS(3)); /* there is nothing */
      }
      bool written = letters == HF_LETTER_ALL ? rows[i].written : letters && rows[i].written_of_effects;
      enum hf_call_action_kind last = f.acts.items[f.acts.len - 1].kind;
      assert_int_equal(last, written ? HF_CALL_DEAD_LETTER : HF_CALL_FINISH);
      if (written)
        step(&f, (struct hf_call_event){.kind = HF_CALL_LETTER_DONE, .letter_written = true}, HF_MS(9));
      assert_int_equal(outcome(&f)->letter, written ? HF_LETTER_WRITTEN : HF_LETTER_NONE);
      assert_int_equal(outcome(&f)->source, HF_SOURCE_LIVE);
    }
  }
}

static void call__degraded_answer_keeps_the_fault_and_says_its_source(void **state) {
  (void)state;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  struct fixture f;
  o.retry.attempts = 1;
  o.degrades = true;
  o.letters = HF_LETTER_ALL;
  for (int source = HF_SOURCE_CACHE; source <= HF_SOURCE_DEGRADED; source++) {
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    faulted(&f, 0, http(500, -1), 0);
    offer(&f, (enum hf_source)source, HF_MS(1));
    ASSERT_ACTIONS(&f, HF_CALL_FINISH); /* and no letter */
    assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 1);
    assert_int_equal(outcome(&f)->source, source);
    assert_int_equal(outcome(&f)->age, HF_SECONDS(7));
    assert_int_equal(outcome(&f)->letter, HF_LETTER_NONE);
  }
}

static void call__other_answer_is_waited_for_until_the_deadline(void **state) {
  (void)state;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  struct fixture f;
  o.retry.attempts = 1;
  o.degrades = true;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, http(500, -1), 0);
  timer(&f, HF_SECONDS(55));
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 1);
  offer(&f, HF_SOURCE_CACHE, HF_SECONDS(55)); /* late */
  assert_int_equal(f.acts.len, 0);

  start_with(&f, &o); /* also at the deadline itself, if it is there at once */
  grant(&f, 0);
  sent(&f, 0, true, 0);
  timer(&f, HF_SECONDS(55));
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_DEGRADE);
  offer(&f, HF_SOURCE_CACHE, HF_SECONDS(55));
  assert_outcome(&f, HF_CALL_END_DEADLINE, HF_FAULT_DEADLINE, HF_EXECUTED_MAYBE, 1);
  assert_int_equal(outcome(&f)->source, HF_SOURCE_CACHE);
}

static void call__letter_is_waited_for_but_not_for_ever(void **state) {
  (void)state;
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  struct fixture f;
  o.letters = HF_LETTER_UNSAFE;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  timer(&f, HF_SECONDS(55));
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_DEAD_LETTER);
  assert_int_equal(f.acts.items[2].outcome.end, HF_CALL_END_DEADLINE);
  assert_int_equal(f.acts.items[2].outcome.executed, HF_EXECUTED_MAYBE);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(57));
  timer(&f, HF_SECONDS(57));
  assert_int_equal(outcome(&f)->letter, HF_LETTER_FAILED);
  step(&f, (struct hf_call_event){.kind = HF_CALL_LETTER_DONE, .letter_written = true}, HF_SECONDS(57)); /* late */
  assert_int_equal(f.acts.len, 0);

  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  timer(&f, HF_SECONDS(55));
  step(&f, (struct hf_call_event){.kind = HF_CALL_LETTER_DONE, .letter_written = false}, HF_SECONDS(56));
  assert_int_equal(outcome(&f)->letter, HF_LETTER_FAILED);
}

static void call__cancelled_call_is_written_down_if_its_effect_is_unknown(void **state) {
  (void)state;
  static const struct row {
    enum hf_safety safety;
    bool complete;
    bool written;
  } rows[] = {
      {HF_SAFETY_UNSAFE, true, true},
      {HF_SAFETY_IDEMPOTENT, true, true},
      {HF_SAFETY_UNSAFE, false, false},
      {HF_SAFETY_READ_ONLY, true, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_call_options o = options(rows[i].safety);
    struct fixture f;
    o.letters = HF_LETTER_ALL;
    o.degrades = true; /* nobody is there for it */
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, rows[i].complete, 0);
    cancel(&f, HF_MS(5));
    assert_int_equal(f.acts.items[f.acts.len - 1].kind, rows[i].written ? HF_CALL_DEAD_LETTER : HF_CALL_FINISH);
    if (!rows[i].written)
      continue;
    cancel(&f, HF_MS(6));
    assert_int_equal(f.acts.len, 0);
    step(&f, (struct hf_call_event){.kind = HF_CALL_LETTER_DONE, .letter_written = true}, HF_MS(7));
    assert_outcome(&f, HF_CALL_END_CANCELLED, HF_FAULT_CANCELLED, HF_EXECUTED_MAYBE, 1);
  }
}

static void call__cancel_ends_a_check_and_what_comes_after_it(void **state) {
  (void)state;
  struct fixture f;
  answer_lost(&f, HF_SECONDS(10), false, HF_LETTER_OFF);
  cancel(&f, HF_SECONDS(2));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_outcome(&f, HF_CALL_END_CANCELLED, HF_FAULT_CANCELLED, HF_EXECUTED_MAYBE, 1);

  answer_lost(&f, 0, false, HF_LETTER_UNSAFE);
  cancel(&f, HF_SECONDS(2));
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_CHECK, HF_CALL_REPORT, HF_CALL_DEAD_LETTER);

  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  o.retry.attempts = 1;
  o.degrades = true;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, http(500, -1), 0);
  cancel(&f, HF_MS(1));
  ASSERT_ACTIONS(&f, HF_CALL_FINISH);
  assert_outcome(&f, HF_CALL_END_CANCELLED, HF_FAULT_CANCELLED, HF_EXECUTED_MAYBE, 1);
}

static void call__priority_goes_into_the_queue(void **state) {
  (void)state;
  static const unsigned rows[][2] = {{0, HF_PRIORITY_MIDDLE}, {1, 1}, {5, 5}, {6, HF_PRIORITY_LAST}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_call_options o = options(HF_SAFETY_UNSAFE);
    struct fixture f;
    o.priority = rows[i][0];
    start_with(&f, &o);
    assert_int_equal(f.call.waiter.priority, rows[i][1]);
  }
}

/* The longest list that a step can give: everything that can be under way is, and it ends. */
static void call__longest_list_of_actions_fits(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = chain(hedged, 1);
  o.letters = HF_LETTER_ALL;
  start_with(&f, &o);
  grant_hedged(&f, 0, HF_MS(200));
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), 0); /* deferred */
  timer(&f, HF_MS(500));
  grant_hedged(&f, HF_MS(500), HF_MS(200));
  sent(&f, 1, true, HF_MS(500));
  timer(&f, HF_MS(700));
  grant_hedged(&f, HF_MS(700), HF_MS(200));
  sent(&f, 2, true, HF_MS(700));
  timer(&f, HF_SECONDS(60));
  assert_true(f.acts.len <= HF_CALL_ACTIONS_MAX - 2);
}

static void call__hands_a_permit_back_as_it_came_and_to_whom_it_came_from(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {OF(UNSAFE, 0), OF(UNSAFE, 1)};
  struct hf_call_options o = chain(targets, 2);
  struct fixture f;
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0);
  assert_at(&f, 0, HF_CALL_ACQUIRE, 1);
  f.call.waiter.queued = false; /* answered: the event is on its way */
  cancel(&f, 1);
  ASSERT_ACTIONS(&f, HF_CALL_WITHDRAW, HF_CALL_FINISH);
  struct hf_call_event event = {.kind = HF_CALL_PERMIT_GRANTED};
  event.granted.permit = (struct hf_permit){.holds_slot = true, .tool_generation = 5};
  step(&f, event, 2);
  assert_at(&f, 0, HF_CALL_REPORT, 1);
  assert_int_equal(report(&f, 0)->permit.tool_generation, 5);
  assert_int_equal(report(&f, 0)->retry_after, -1);
  assert_int_equal(report(&f, 0)->latency, -1);
}

static void call__reports_of_failures_have_no_latency(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  faulted(&f, 0, http(500, -1), HF_SECONDS(1));
  assert_int_equal(report(&f, 0)->latency, -1);
  assert_true(report(&f, 0)->deferred);
  struct hf_call_target target;
  struct hf_call_options o = keyed(&target, HF_SECONDS(10));
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_SECONDS(1));
  timer(&f, HF_SECONDS(2));
  grant(&f, HF_SECONDS(9));
  timer(&f, HF_SECONDS(10)); /* not out yet, and the key is forgotten */
  assert_at(&f, 0, HF_CALL_ABORT_ATTEMPT, 0);
  assert_int_equal(report(&f, 1)->latency, -1);
  assert_int_equal(report(&f, 1)->blame, HF_BLAME_NOBODY);
}

static struct hf_evidence input_required(void) {
  struct hf_evidence e = HF_EVIDENCE(HF_EVIDENCE_JSONRPC_ERROR);
  e.jsonrpc_code = -32042;
  return e;
}

static void call__question_in_place_of_an_answer_is_one(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  faulted(&f, 0, input_required(), HF_SECONDS(1));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_FINISH);
  assert_int_equal(report(&f, 0)->blame, HF_BLAME_SUCCESS);
  assert_int_equal(report(&f, 0)->latency, -1);
  assert_outcome(&f, HF_CALL_END_ANSWERED, HF_FAULT_NONE, HF_EXECUTED_NO, 1);
}

static void call__success_forgets_the_fault_before_it(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), 0);
  timer(&f, HF_MS(500));
  grant(&f, HF_MS(500));
  succeeded(&f, 1, HF_SECONDS(1));
  assert_outcome(&f, HF_CALL_END_ANSWERED, HF_FAULT_NONE, HF_EXECUTED_YES, 2);
  assert_int_equal(outcome(&f)->evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(outcome(&f)->attempt, 1);
}

static void call__says_where_it_was_when_it_was_stopped(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {OF(UNSAFE, 0), OF(UNSAFE, 1)};
  for (int late = 0; late < 2; late++) {
    struct hf_call_options o = chain(targets, 2);
    struct fixture f;
    start_with(&f, &o);
    grant(&f, 0);
    faulted(&f, 0, http(401, -1), 0);
    grant(&f, 0);
    sent(&f, 1, true, 0);
    if (late)
      timer(&f, HF_SECONDS(55));
    else
      cancel(&f, HF_SECONDS(1));
    ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
    assert_int_equal(report(&f, 1)->latency, -1);
    assert_int_equal(outcome(&f)->end, late ? HF_CALL_END_DEADLINE : HF_CALL_END_CANCELLED);
    assert_int_equal(outcome(&f)->evidence.kind, late ? HF_EVIDENCE_DEADLINE : HF_EVIDENCE_CANCELLED);
    assert_int_equal(outcome(&f)->provider, 1);
    assert_int_equal(outcome(&f)->attempt, 1);
  }
}

static void call__final_fault_of_the_first_of_two_is_its_own(void **state) {
  (void)state;
  struct fixture f;
  two_in_flight(&f, 1);
  faulted(&f, 0, http(401, -1), HF_MS(300));
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_UNAUTHORIZED, HF_EXECUTED_MAYBE, 2);
  assert_int_equal(outcome(&f)->attempt, 0);
}

static void call__session_is_not_lost_once_the_server_spoke(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  sent(&f, 0, true, 0);
  life(&f, 0, 1);
  struct hf_evidence e = http(404, -1);
  e.carried_session = true;
  faulted(&f, 0, e, 2);
  assert_outcome(&f, HF_CALL_END_FINAL, HF_FAULT_UNKNOWN_TOOL, HF_EXECUTED_MAYBE, 1);
}

/* Half of the deadline is a fair time, where the attempt's own limit is no shorter. */
static void call__deadline_blames_the_tool_after_a_fair_time(void **state) {
  (void)state;
  static const struct row {
    hf_time granted;
    hf_time hint;
    bool complete;
    enum hf_blame blame;
  } rows[] = {
      {HF_MS(27500), 0, true, HF_BLAME_TOOL},     {HF_MS(27500) + 1, 0, true, HF_BLAME_NOBODY},
      {HF_SECONDS(40), 0, true, HF_BLAME_NOBODY}, {0, 0, false, HF_BLAME_NOBODY},
      {0, HF_SECONDS(55), true, HF_BLAME_TOOL}, /* no shorter than ours: it is ours */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct fixture f;
    struct hf_call_options o = options(HF_SAFETY_UNSAFE);
    o.timeout.attempt = HF_SECONDS(60);
    o.hints.deadline = rows[i].hint;
    start_with(&f, &o);
    grant(&f, rows[i].granted);
    sent(&f, 0, rows[i].complete, rows[i].granted);
    timer(&f, HF_SECONDS(55));
    assert_int_equal(outcome(&f)->end, HF_CALL_END_DEADLINE);
    assert_int_equal(report(&f, 1)->blame, rows[i].blame);
  }
}

static void call__that_nobody_waits_for_has_the_time_of_a_task(void **state) {
  (void)state;
  static const struct row {
    hf_time deadline, task, hint, due;
  } rows[] = {
      {HF_SECONDS(55), HF_SECONDS(600), 0, HF_SECONDS(600)},
      {HF_SECONDS(55), HF_SECONDS(600), HF_SECONDS(20), HF_SECONDS(20)},
      {HF_SECONDS(55), HF_SECONDS(600), HF_SECONDS(100), HF_SECONDS(100)}, /* it tightens that, too */
      {HF_SECONDS(55), HF_SECONDS(600), HF_SECONDS(601), HF_SECONDS(600)},
      {HF_SECONDS(55), HF_SECONDS(50), 0, HF_SECONDS(55)}, /* never less than it had */
      {HF_SECONDS(55), 0, 0, HF_SECONDS(55)},
      {HF_SECONDS(55), HF_SECONDS(50), HF_SECONDS(20), HF_SECONDS(20)},
  };
  enum { BEFORE, ACQUIRING, RUNNING, MOMENTS };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int when = BEFORE; when < MOMENTS; when++) {
      struct fixture f;
      struct hf_call_options o = options(HF_SAFETY_UNSAFE);
      o.timeout.deadline = rows[i].deadline;
      o.timeout.task = rows[i].task;
      o.hints.deadline = rows[i].hint;
      hf_call_init(&f.call, &o);
      if (when == BEFORE)
        hf_call_outlive(&f.call);
      step(&f, (struct hf_call_event){.kind = HF_CALL_STARTED}, HF_SECONDS(1));
      if (when == ACQUIRING) {
        hf_call_outlive(&f.call);
        hf_call_outlive(&f.call);
      }
      assert_int_equal(f.call.waiter.until,
                       HF_SECONDS(1) +
                           (when == RUNNING && rows[i].hint != HF_SECONDS(20) ? HF_SECONDS(55) : rows[i].due));
      grant(&f, HF_SECONDS(1));
      sent(&f, 0, true, HF_SECONDS(1));
      if (when == RUNNING)
        hf_call_outlive(&f.call);
      assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(1) + rows[i].due);
      timer(&f, HF_SECONDS(1) + rows[i].due);
      assert_int_equal(outcome(&f)->end, HF_CALL_END_DEADLINE);
      bool callers = rows[i].hint > 0 && rows[i].due == rows[i].hint;
      assert_int_equal(report(&f, 1)->blame, callers ? HF_BLAME_NOBODY : HF_BLAME_TOOL);
    }
  }
}

static void call__that_nobody_waits_for_is_not_cut_short_for_a_repeat(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(20));
  hf_call_outlive(&f.call);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3600));
  step(&f, (struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE}, HF_SECONDS(100));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(130)); /* silence is not work */
  step(&f, (struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE}, HF_SECONDS(120));
  timer(&f, HF_SECONDS(150));
  assert_int_equal(f.acts.items[0].abort.reason, HF_ABORT_IDLE);
  timer(&f, hf_call_deadline(&f.call));
  grant(&f, HF_SECONDS(160)); /* which is repeated, as any other */
  sent(&f, 1, true, HF_SECONDS(160));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3600));
  timer(&f, HF_SECONDS(3600));
  assert_outcome(&f, HF_CALL_END_DEADLINE, HF_FAULT_DEADLINE, HF_EXECUTED_MAYBE, 2);
}

/* Another one would begin the work anew. */
static void call__attempt_that_is_followed_at_its_server_is_not_cut_short(void **state) {
  (void)state;
  struct fixture f;
  two_in_flight(&f, 1);
  hf_call_follow(&f.call, 2); /* there is none */
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(20));
  hf_call_follow(&f.call, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_MS(20200)); /* of the other one */
  hf_call_follow(&f.call, 1);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
  step(&f, (struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE, .attempt = 1}, HF_SECONDS(10));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(40)); /* silence ends it */
}

/* Its attempt takes more than one that is cut short, but others wait for that no longer than for any call. */
static void call__that_nobody_waits_for_holds_a_probe_no_longer_than_a_call(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  start_with(&f, &o);
  assert_int_equal(f.call.waiter.lease, HF_SECONDS(20));
  hf_call_init(&f.call, &o);
  hf_call_outlive(&f.call);
  step(&f, (struct hf_call_event){.kind = HF_CALL_STARTED}, 0);
  assert_int_equal(f.call.waiter.lease, HF_SECONDS(55));
  assert_true(f.call.waiter.may_wait);
}

static void call__that_a_person_is_asked_in_has_its_time_besides(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_UNSAFE);
  sent(&f, 0, true, 0);
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, HF_SECONDS(10));
  hf_call_outlive(&f.call);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3610)); /* of the person */
  step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED}, HF_SECONDS(110));
  step(&f, (struct hf_call_event){.kind = HF_CALL_ANSWER_BYTES}, HF_SECONDS(3690));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3700));
}

/* What is left to do then is not the tool's, and has its own time. */
static void call__that_ends_gets_no_more_time(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  o.degrades = true;
  o.retry.attempts = 1;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), HF_SECONDS(1));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_DEGRADE);
  hf_call_outlive(&f.call);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(55));
}

static void call__pause_may_last_until_the_least_attempt_just_fits(void **state) {
  (void)state;
  for (int late = 0; late < 2; late++) {
    struct fixture f;
    struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
    o.retry.jitter = HF_RETRY_JITTER_NONE;
    start_with(&f, &o);
    grant(&f, 0);
    hf_time hint = HF_SECONDS(55) - HF_MS(10);
    faulted(&f, 0, http(429, hint + late), 0);
    if (late)
      assert_int_equal(outcome(&f)->end, HF_CALL_END_HINT);
    else
      assert_int_equal(hf_call_deadline(&f.call), hint);
  }
}

static void call__refused_before_anything_was_tried_it_says_by_what(void **state) {
  (void)state;
  static const struct row {
    enum hf_denial reason;
    enum hf_evidence_kind told, kind;
    enum hf_call_end end;
    enum hf_fault fault;
  } rows[] = {
      {HF_DENIAL_BREAKER, HF_EVIDENCE_NONE, HF_EVIDENCE_BREAKER_OPEN, HF_CALL_END_REFUSED, HF_FAULT_BREAKER_OPEN},
      {HF_DENIAL_LIMIT, HF_EVIDENCE_NONE, HF_EVIDENCE_LOCAL_LIMIT, HF_CALL_END_REFUSED, HF_FAULT_LOCAL_LIMIT},
      {HF_DENIAL_BUDGET, HF_EVIDENCE_NONE, HF_EVIDENCE_NONE, HF_CALL_END_BUDGET, HF_FAULT_NONE},
      {HF_DENIAL_DOWN, HF_EVIDENCE_NONE, HF_EVIDENCE_NOT_STARTED, HF_CALL_END_REFUSED, HF_FAULT_UNREACHABLE},
      {HF_DENIAL_DOWN, HF_EVIDENCE_BAD_CERTIFICATE, HF_EVIDENCE_BAD_CERTIFICATE, HF_CALL_END_REFUSED,
       HF_FAULT_MISCONFIGURED},
  };
  static const struct hf_call_target targets[] = {OF(READ_ONLY, 0), OF(READ_ONLY, 1)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (unsigned count = 1; count <= 2; count++) {
      struct fixture f;
      struct hf_call_options o = chain(targets, count);
      o.hints.max_attempts = 1; /* one means one, also where nobody is */
      start_with(&f, &o);
      for (unsigned j = 0; j < count; j++)
        refuse(&f, rows[i].reason, HF_TIME_NEVER, rows[i].told, 0);
      assert_outcome(&f, rows[i].end, rows[i].fault, HF_EXECUTED_NO, 0);
      assert_int_equal(outcome(&f)->evidence.kind, rows[i].kind);
      assert_int_equal(outcome(&f)->provider, rows[i].reason == HF_DENIAL_BUDGET ? 0 : count - 1);
    }
  }
}

static void call__refusal_after_an_attempt_keeps_its_fault(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {HARMLESS(0), HARMLESS(1)};
  struct hf_call_options o = chain(targets, 2);
  o.retry.attempts = 1;
  struct fixture f;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, http(500, -1), 0);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(60), HF_EVIDENCE_NONE, HF_SECONDS(1));
  assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 1);
  assert_int_equal(outcome(&f)->evidence.http_status, 500);
  assert_int_equal(outcome(&f)->provider, 0);
  assert_int_equal(outcome(&f)->retry_after, HF_SECONDS(59)); /* the first one has not refused */
}

static void call__says_when_the_first_of_all_that_refused_will_not(void **state) {
  (void)state;
  static const struct row {
    hf_time at[2], now, after;
  } rows[] = {
      {{HF_SECONDS(70), HF_SECONDS(60)}, 0, HF_SECONDS(60)},
      {{HF_SECONDS(60), HF_SECONDS(70)}, 0, HF_SECONDS(60)},
      {{HF_SECONDS(1), HF_SECONDS(60)}, HF_SECONDS(5), 0}, /* by now */
      {{1, HF_TIME_NEVER}, 0, 1},
  };
  static const struct hf_call_target targets[] = {OF(UNSAFE, 0), OF(UNSAFE, 1)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_call_options o = chain(targets, 2);
    struct fixture f;
    start_with(&f, &o);
    refuse(&f, HF_DENIAL_BREAKER, rows[i].at[0], HF_EVIDENCE_NONE, 0);
    refuse(&f, HF_DENIAL_BREAKER, rows[i].at[1], HF_EVIDENCE_NONE, rows[i].now);
    assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_BREAKER_OPEN, HF_EXECUTED_NO, 0);
    assert_int_equal(outcome(&f)->retry_after, rows[i].after);
  }
}

static void call__waits_for_half_open_only_among_several(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {OF(READ_ONLY, 0), OF(READ_ONLY, 1), OF(READ_ONLY, 2)};
  struct fixture f;
  struct hf_call_options o = chain(targets, 1);
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(20), HF_EVIDENCE_NONE, 0); /* it has waited in the queue */
  assert_int_equal(outcome(&f)->end, HF_CALL_END_REFUSED);

  o = chain(targets, 2);
  o.retry.attempts = 1;
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(20), HF_EVIDENCE_NONE, 0);
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0); /* the last word was no breaker's */
  assert_int_equal(outcome(&f)->end, HF_CALL_END_REFUSED);

  o = chain(targets, 2);
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(20), HF_EVIDENCE_NONE, 0);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(20), HF_EVIDENCE_NONE, 0);
  assert_at(&f, 0, HF_CALL_ACQUIRE, 0); /* the preferred one of two that are equal */
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(55), HF_EVIDENCE_NONE, 0);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(55), HF_EVIDENCE_NONE, 0); /* at the deadline: too late */
  assert_int_equal(outcome(&f)->end, HF_CALL_END_REFUSED);

  o = chain(targets, 3);
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(20), HF_EVIDENCE_NONE, 0);
  assert_at(&f, 0, HF_CALL_ACQUIRE, 2);
  assert_false(f.call.waiter.may_wait); /* the second one is open, too, and perhaps sooner */
}

static void call__retry_after_of_a_refusal_beyond_the_deadline_ends_it(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_LIMIT, HF_SECONDS(56), HF_EVIDENCE_NONE, 0);
  assert_outcome(&f, HF_CALL_END_HINT, HF_FAULT_LOCAL_LIMIT, HF_EXECUTED_NO, 0);
}

static void call__once_refused_it_is_acquiring_no_more(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0);
  hf_time due = hf_call_deadline(&f.call);
  refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0);
  assert_int_equal(f.acts.len, 0);
  assert_int_equal(hf_call_deadline(&f.call), due);
  cancel(&f, 0);
  ASSERT_ACTIONS(&f, HF_CALL_FINISH);
}

static void call__refused_hedge_leaves_what_is_due_to_the_timer(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = chain(hedged, 1);
  start_with(&f, &o);
  grant_hedged(&f, 0, HF_MS(200));
  sent(&f, 0, true, 0);
  timer(&f, HF_MS(200));
  ASSERT_ACTIONS(&f, HF_CALL_ACQUIRE);
  refuse(&f, HF_DENIAL_BUDGET, HF_TIME_NEVER, HF_EVIDENCE_NONE, HF_SECONDS(20));
  assert_int_equal(f.acts.len, 0);
  timer(&f, HF_SECONDS(20));
  assert_at(&f, 0, HF_CALL_ABORT_ATTEMPT, 0);
}

static void call__limits_that_meet_are_told_apart(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  o.retry.attempts = 2;
  o.timeout.attempt = o.timeout.connect;
  start_with(&f, &o);
  grant(&f, 0);
  assert_int_equal(f.acts.items[0].start.connect_by, HF_SECONDS(2));
  timer(&f, HF_SECONDS(2));
  assert_int_equal(f.acts.items[0].abort.reason, HF_ABORT_CONNECT);
  assert_int_equal(f.call.evidence.kind, HF_EVIDENCE_CONNECT_TIMEOUT);
  o.hints.deadline = HF_SECONDS(1);
  start_with(&f, &o);
  grant(&f, 0);
  assert_int_equal(f.acts.items[0].start.connect_by, HF_SECONDS(1));
}

static void call__hints_may_be_extreme(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
  hf_call_init(&f.call, &o);
  assert_int_equal(step(&f, (struct hf_call_event){.kind = HF_CALL_TIMER}, 0), 0); /* there is nothing to do yet */
  o.hints.deadline = 1;
  start_with(&f, &o);
  assert_int_equal(hf_call_deadline(&f.call), 1);
  o = options(HF_SAFETY_READ_ONLY);
  o.retry.attempts = 0;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, http(500, -1), 0);
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, 1);
  o = options(HF_SAFETY_READ_ONLY);
  o.hints.max_attempts = 2; /* also where a server that is not there is waited for */
  start_with(&f, &o);
  for (unsigned i = 0; i < 2; i++) {
    grant(&f, HF_SECONDS(i));
    faulted(&f, i, HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED), HF_SECONDS(i));
    if (i == 0)
      timer(&f, HF_SECONDS(1));
  }
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_UNREACHABLE, HF_EXECUTED_NO, 2);
}

static void call__deadline_ends_a_pause(void **state) {
  (void)state;
  struct fixture f;
  running(&f, HF_SAFETY_READ_ONLY);
  faulted(&f, 0, http(500, -1), 0);
  timer(&f, HF_SECONDS(55)); /* nobody looked before */
  assert_outcome(&f, HF_CALL_END_DEADLINE, HF_FAULT_DEADLINE, HF_EXECUTED_MAYBE, 1);
}

static void call__question_dies_with_its_attempt(void **state) {
  (void)state;
  for (int asks = 0; asks < 2; asks++) {
    struct fixture f;
    struct hf_call_options o = options(HF_SAFETY_READ_ONLY);
    o.retry.attempts = 2;
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    if (asks)
      step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED}, HF_SECONDS(5));
    hf_time now = HF_SECONDS(asks ? 105 : 10);
    faulted(&f, 0, http(500, -1), now);
    now += HF_SECONDS(1);
    timer(&f, now);
    grant(&f, now);
    sent(&f, 1, true, now);
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(asks ? 155 : 55)); /* as long as it waited */
  }
}

/* What one of two does counts for both: while it asks, all clocks stand still. */
static void call__either_of_two_may_ask(void **state) {
  (void)state;
  for (unsigned asks = 0; asks < 2; asks++) {
    struct fixture f;
    two_in_flight(&f, 1);
    step(&f, (struct hf_call_event){.kind = HF_CALL_ANSWER_BYTES, .attempt = 1 - asks}, HF_MS(300));
    step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED, .attempt = asks}, HF_SECONDS(1));
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3601));
    step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED, .attempt = asks}, HF_SECONDS(101));
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(120)); /* the first one's time, moved on */
    step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED, .attempt = 0}, HF_SECONDS(101));
    step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED, .attempt = 1}, HF_SECONDS(101));
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3701));
    step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED, .attempt = asks}, HF_SECONDS(102));
    assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(3701)); /* the other one still does */
    step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED, .attempt = 1 - asks}, HF_SECONDS(201));
    succeeded(&f, asks, HF_SECONDS(202));
    ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH);
    assert_int_equal(f.acts.items[1].abort.attempt, 1 - asks);
    assert_outcome(&f, HF_CALL_END_ANSWERED, HF_FAULT_NONE, HF_EXECUTED_YES, 2);
  }
}

/* Silence is measured from the end of the question, for whoever has begun to answer. */
static void call__idle_time_of_both_begins_anew_after_a_question(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = chain(hedged, 1);
  o.timeout.idle = HF_SECONDS(3);
  start_with(&f, &o);
  grant_hedged(&f, 0, HF_MS(200));
  sent(&f, 0, true, 0);
  timer(&f, HF_MS(200));
  grant_hedged(&f, HF_MS(200), HF_MS(200));
  sent(&f, 1, true, HF_MS(200));
  step(&f, (struct hf_call_event){.kind = HF_CALL_ANSWER_BYTES, .attempt = 0}, HF_SECONDS(1));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(4));
  step(&f, (struct hf_call_event){.kind = HF_CALL_PAUSED, .attempt = 1}, HF_SECONDS(2));
  step(&f, (struct hf_call_event){.kind = HF_CALL_RESUMED, .attempt = 1}, HF_SECONDS(100));
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(103));
}

static void call__second_of_two_has_limits_of_its_own(void **state) {
  (void)state;
  struct fixture f;
  two_in_flight(&f, 1);
  faulted(&f, 0, http(500, -1), HF_MS(300));
  assert_int_equal(hf_call_deadline(&f.call), HF_MS(20200));
}

static void call__hedge_must_leave_time_for_itself(void **state) {
  (void)state;
  for (int late = 0; late < 2; late++) {
    struct fixture f;
    struct hf_call_options o = chain(hedged, 1);
    o.timeout.attempt = HF_SECONDS(100);
    start_with(&f, &o);
    hf_time after = HF_SECONDS(55) - HF_MS(10) + late;
    grant_hedged(&f, 0, after);
    sent(&f, 0, true, 0);
    assert_int_equal(hf_call_deadline(&f.call), late ? HF_SECONDS(55) : after);
  }
}

static void call__time_for_a_check_is_half_of_what_is_left_at_most(void **state) {
  (void)state;
  static const struct row {
    hf_time check_time, due;
  } rows[] = {{HF_SECONDS(40), HF_SECONDS(30)}, {HF_SECONDS(10), HF_SECONDS(45)}, {1, HF_SECONDS(55) - 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_call_target target = {
        .safety = HF_SAFETY_UNSAFE, .check_time = rows[i].check_time, .settle = HF_TIME_NEVER};
    struct hf_call_options o = chain(&target, 1);
    struct fixture f;
    start_with(&f, &o);
    grant(&f, HF_SECONDS(5));
    sent(&f, 0, true, HF_SECONDS(5));
    assert_int_equal(hf_call_deadline(&f.call), rows[i].due);
    faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_SECONDS(6));
    ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_CHECK);
    assert_int_equal(f.acts.items[1].check_by, HF_SECONDS(6) + rows[i].check_time);
  }
}

static void call__another_answer_after_a_check_is_waited_for(void **state) {
  (void)state;
  struct hf_call_target target = checked(0);
  struct hf_call_options o = chain(&target, 1);
  o.retry.attempts = 1;
  o.degrades = true;
  struct fixture f;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_SECONDS(1));
  say(&f, HF_CHECK_DID_NOT_RUN, HF_SECONDS(2));
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_DEGRADE);
  offer(&f, HF_SOURCE_CACHE, HF_SECONDS(2));
  assert_int_equal(outcome(&f)->source, HF_SOURCE_CACHE);
}

static void call__letter_of_any_target_that_writes(void **state) {
  (void)state;
  static const struct hf_call_target targets[] = {HARMLESS(0), OF(UNSAFE, 1)};
  struct hf_call_options o = chain(targets, 2);
  o.letters = HF_LETTER_UNSAFE;
  struct fixture f;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, http(401, -1), 0);
  grant(&f, 0);
  faulted(&f, 1, http(401, -1), 0);
  assert_at(&f, f.acts.len - 1, HF_CALL_DEAD_LETTER, 1);
}

/* As many targets as there can be: nothing looks beyond the last. */
static void call__all_targets_there_can_be(void **state) {
  (void)state;
  struct hf_call_target targets[HF_CALL_TARGETS_MAX];
  for (unsigned i = 0; i < HF_CALL_TARGETS_MAX; i++)
    targets[i] = (struct hf_call_target)HARMLESS(i);
  struct hf_call_options o = chain(targets, HF_CALL_TARGETS_MAX);
  o.retry.attempts = 1;
  o.degrades = true;
  o.letters = HF_LETTER_UNSAFE;
  struct fixture f;
  start_with(&f, &o);
  for (unsigned i = 0; i < HF_CALL_TARGETS_MAX; i++) {
    assert_int_equal(f.acts.items[f.acts.len - 1].provider, i);
    grant(&f, 0);
    sent(&f, i, true, 0);
    faulted(&f, i, http(500, -1), 0);
  }
  ASSERT_ACTIONS(&f, HF_CALL_REPORT, HF_CALL_DEGRADE);
  offer(&f, HF_SOURCE_LIVE, 0);
  assert_outcome(&f, HF_CALL_END_ATTEMPTS, HF_FAULT_SERVER_ERROR, HF_EXECUTED_MAYBE, HF_CALL_TARGETS_MAX);

  o.degrades = false;
  o.letters = HF_LETTER_ALL;
  start_with(&f, &o);
  for (unsigned i = 0; i < HF_CALL_TARGETS_MAX - 1; i++)
    refuse(&f, HF_DENIAL_LIMIT, HF_TIME_NEVER, HF_EVIDENCE_NONE, 0);
  assert_at(&f, 0, HF_CALL_ACQUIRE, HF_CALL_TARGETS_MAX - 1);
  assert_true(f.call.waiter.may_wait);
  refuse(&f, HF_DENIAL_BREAKER, HF_SECONDS(60), HF_EVIDENCE_NONE, 0);
  assert_at(&f, 0, HF_CALL_DEAD_LETTER, HF_CALL_TARGETS_MAX - 1);

  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  cancel(&f, 0);
  ASSERT_ACTIONS(&f, HF_CALL_ABORT_ATTEMPT, HF_CALL_REPORT, HF_CALL_FINISH); /* it only read */
}

static void call__patience_with_an_outage_ends(void **state) {
  (void)state;
  for (int late = 0; late < 2; late++) {
    struct fixture f;
    struct hf_call_options o = options(HF_SAFETY_UNSAFE);
    o.retry.attempts = 2;
    o.retry.patience = HF_SECONDS(15);
    hf_call_init(&f.call, &o);
    step(&f, (struct hf_call_event){.kind = HF_CALL_STARTED}, HF_SECONDS(10));
    hf_time last = HF_SECONDS(25) - 1 + late;
    refuse(&f, HF_DENIAL_DOWN, HF_TIME_NEVER, HF_EVIDENCE_NOT_STARTED, last);
    timer(&f, HF_SECONDS(30));
    refuse(&f, HF_DENIAL_DOWN, HF_TIME_NEVER, HF_EVIDENCE_NOT_STARTED, HF_SECONDS(30));
    if (late)
      assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_UNREACHABLE, HF_EXECUTED_NO, 0); /* two tries */
    else
      assert_int_equal(f.acts.len, 0);
  }
}

static void call__check_that_does_not_know_is_not_made_again(void **state) {
  (void)state;
  struct fixture f;
  answer_lost(&f, HF_TIME_NEVER, false, HF_LETTER_OFF);
  assert_at(&f, 1, HF_CALL_CHECK, 0);
  say(&f, HF_CHECK_UNKNOWN, HF_SECONDS(2));
  assert_outcome(&f, HF_CALL_END_UNSAFE, HF_FAULT_BROKE, HF_EXECUTED_MAYBE, 1);
}

static void call__check_is_made_again_while_there_is_time_for_one(void **state) {
  (void)state;
  for (int late = 0; late < 2; late++) {
    struct hf_call_target target = checked(HF_TIME_NEVER);
    struct hf_call_options o = chain(&target, 1);
    o.retry.jitter = HF_RETRY_JITTER_NONE;
    struct fixture f;
    start_with(&f, &o);
    grant(&f, 0);
    sent(&f, 0, true, 0);
    faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_SECONDS(1));
    hf_time last = HF_SECONDS(55) - HF_MS(510);
    say(&f, HF_CHECK_FAILED, last + late);
    if (late) {
      assert_int_equal(outcome(&f)->end, HF_CALL_END_UNSAFE);
    } else {
      assert_int_equal(f.acts.len, 0);
      assert_int_equal(hf_call_deadline(&f.call), last + HF_MS(500));
    }
  }
}

static void call__deadline_ends_the_wait_for_what_may_yet_run(void **state) {
  (void)state;
  struct fixture f;
  answer_lost(&f, HF_SECONDS(10), false, HF_LETTER_OFF);
  assert_int_equal(f.acts.len, 1);
  timer(&f, HF_SECONDS(55)); /* nobody looked before */
  assert_outcome(&f, HF_CALL_END_UNSAFE, HF_FAULT_BROKE, HF_EXECUTED_MAYBE, 1);
}

static void call__letter_follows_another_answer_that_did_not_come(void **state) {
  (void)state;
  static const struct hf_call_target target = HARMLESS(0);
  struct hf_call_options o = chain(&target, 1);
  o.degrades = true;
  o.letters = HF_LETTER_ALL;
  struct fixture f;
  o.retry.attempts = 1;
  start_with(&f, &o);
  grant(&f, 0);
  faulted(&f, 0, http(500, -1), 0);
  assert_at(&f, f.acts.len - 1, HF_CALL_DEGRADE, 0);
  timer(&f, HF_SECONDS(55));
  ASSERT_ACTIONS(&f, HF_CALL_DEAD_LETTER);
}

static void call__attempt_is_cut_short_for_the_briefest_check(void **state) {
  (void)state;
  const struct hf_call_target target = {.safety = HF_SAFETY_UNSAFE, .check_time = 1, .settle = 0};
  struct hf_call_options o = chain(&target, 1);
  struct fixture f;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  assert_int_equal(hf_call_deadline(&f.call), HF_SECONDS(20));
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_SECONDS(1));
  say(&f, HF_CHECK_DID_NOT_RUN, HF_SECONDS(2));
  assert_int_equal(f.acts.len, 0); /* it had settled: a repeat is planned */
  assert_int_equal(f.call.executed, HF_EXECUTED_NO);
}

static void call__what_did_not_run_is_looked_for_at_all_targets(void **state) {
  (void)state;
  struct hf_call_target targets[HF_CALL_TARGETS_MAX];
  for (unsigned i = 0; i < HF_CALL_TARGETS_MAX; i++)
    targets[i] = checked(0);
  struct hf_call_options o = chain(targets, HF_CALL_TARGETS_MAX);
  struct fixture f;
  start_with(&f, &o);
  grant(&f, 0);
  sent(&f, 0, true, 0);
  faulted(&f, 0, HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_SECONDS(1));
  assert_at(&f, 1, HF_CALL_CHECK, 0);
  say(&f, HF_CHECK_DID_NOT_RUN, HF_SECONDS(2));
  assert_int_equal(f.call.executed, HF_EXECUTED_NO);
}

static void call__who_allows_few_attempts_waits_for_no_outage(void **state) {
  (void)state;
  struct fixture f;
  struct hf_call_options o = options(HF_SAFETY_UNSAFE);
  o.hints.max_attempts = 2;
  start_with(&f, &o);
  refuse(&f, HF_DENIAL_DOWN, HF_TIME_NEVER, HF_EVIDENCE_NOT_STARTED, 0);
  assert_int_equal(f.acts.len, 0);
  timer(&f, HF_SECONDS(1));
  refuse(&f, HF_DENIAL_DOWN, HF_TIME_NEVER, HF_EVIDENCE_NOT_STARTED, HF_SECONDS(1));
  assert_outcome(&f, HF_CALL_END_REFUSED, HF_FAULT_UNREACHABLE, HF_EXECUTED_NO, 0);
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
      cmocka_unit_test(call__local_limit_is_tried_again),
      cmocka_unit_test(call__server_that_is_not_there_is_waited_for),
      cmocka_unit_test(call__one_attempt_is_one_also_where_nobody_is),
      cmocka_unit_test(call__nobody_is_waited_for_where_there_is_another_answer),
      cmocka_unit_test(call__wrong_command_is_not_tried_again),
      cmocka_unit_test(call__refused_retry_keeps_the_fault_and_counts_it),
      cmocka_unit_test(call__clock_that_goes_back_does_no_harm),
      cmocka_unit_test(call__events_that_cannot_be_are_refused),
      cmocka_unit_test(call__same_seed_same_pauses),
      cmocka_unit_test(call__moves_on_only_where_no_effect_can_happen_twice),
      cmocka_unit_test(call__attempts_are_each_targets_own),
      cmocka_unit_test(call__session_is_renewed_once_at_each_target),
      cmocka_unit_test(call__hints_bound_all_targets_together),
      cmocka_unit_test(call__refusal_costs_nothing_while_a_target_is_left),
      cmocka_unit_test(call__last_target_is_tried_again_after_a_full_queue),
      cmocka_unit_test(call__all_open_it_waits_where_half_open_comes_first),
      cmocka_unit_test(call__returns_to_a_breaker_that_its_own_repeats_opened),
      cmocka_unit_test(call__waits_for_half_open_only_where_it_may_run),
      cmocka_unit_test(call__attempt_is_cut_for_the_next_target),
      cmocka_unit_test(call__a_permit_is_not_waited_for_while_a_target_is_left),
      cmocka_unit_test(call__key_is_trusted_until_the_server_forgets_it),
      cmocka_unit_test(call__repeat_under_a_key_must_be_out_in_time),
      cmocka_unit_test(call__what_a_repeat_asked_goes_out_again_while_the_key_is_known),
      cmocka_unit_test(call__what_a_first_attempt_asked_goes_out_again_at_any_time),
      cmocka_unit_test(call__first_answer_of_two_wins),
      cmocka_unit_test(call__one_of_two_fails_and_the_other_goes_on),
      cmocka_unit_test(call__final_fault_of_one_ends_both),
      cmocka_unit_test(call__two_that_hang_count_once),
      cmocka_unit_test(call__hedges_only_where_it_is_worth_it),
      cmocka_unit_test(call__refused_hedge_is_no_hedge),
      cmocka_unit_test(call__hedge_that_is_not_needed_is_withdrawn),
      cmocka_unit_test(call__waiting_for_a_person_is_not_slow),
      cmocka_unit_test(call__answer_to_a_withdrawn_acquire_is_not_taken_for_the_next),
      cmocka_unit_test(call__withdrawn_in_time_the_next_acquire_follows_at_once),
      cmocka_unit_test(call__only_a_success_has_a_latency),
      cmocka_unit_test(call__check_says_what_became_of_a_lost_answer),
      cmocka_unit_test(call__check_does_not_disprove_what_was_followed_to_no_end),
      cmocka_unit_test(call__check_that_tells_nothing_is_made_again),
      cmocka_unit_test(call__check_waits_for_what_may_yet_run),
      cmocka_unit_test(call__attempt_is_cut_short_for_a_check_that_may_allow_another),
      cmocka_unit_test(call__check_after_the_last_attempt_moves_on_or_ends),
      cmocka_unit_test(call__what_may_still_run_at_another_endpoint_is_not_disproved),
      cmocka_unit_test(call__conflict_is_checked_and_not_repeated),
      cmocka_unit_test(call__time_for_the_check_is_kept),
      cmocka_unit_test(call__no_check_without_time_for_one),
      cmocka_unit_test(call__what_is_degraded_and_what_is_written_down),
      cmocka_unit_test(call__degraded_answer_keeps_the_fault_and_says_its_source),
      cmocka_unit_test(call__other_answer_is_waited_for_until_the_deadline),
      cmocka_unit_test(call__letter_is_waited_for_but_not_for_ever),
      cmocka_unit_test(call__cancelled_call_is_written_down_if_its_effect_is_unknown),
      cmocka_unit_test(call__cancel_ends_a_check_and_what_comes_after_it),
      cmocka_unit_test(call__priority_goes_into_the_queue),
      cmocka_unit_test(call__longest_list_of_actions_fits),
      cmocka_unit_test(call__hands_a_permit_back_as_it_came_and_to_whom_it_came_from),
      cmocka_unit_test(call__reports_of_failures_have_no_latency),
      cmocka_unit_test(call__question_in_place_of_an_answer_is_one),
      cmocka_unit_test(call__success_forgets_the_fault_before_it),
      cmocka_unit_test(call__says_where_it_was_when_it_was_stopped),
      cmocka_unit_test(call__final_fault_of_the_first_of_two_is_its_own),
      cmocka_unit_test(call__session_is_not_lost_once_the_server_spoke),
      cmocka_unit_test(call__deadline_blames_the_tool_after_a_fair_time),
      cmocka_unit_test(call__attempt_that_is_followed_at_its_server_is_not_cut_short),
      cmocka_unit_test(call__that_nobody_waits_for_has_the_time_of_a_task),
      cmocka_unit_test(call__that_nobody_waits_for_is_not_cut_short_for_a_repeat),
      cmocka_unit_test(call__that_nobody_waits_for_holds_a_probe_no_longer_than_a_call),
      cmocka_unit_test(call__that_a_person_is_asked_in_has_its_time_besides),
      cmocka_unit_test(call__that_ends_gets_no_more_time),
      cmocka_unit_test(call__pause_may_last_until_the_least_attempt_just_fits),
      cmocka_unit_test(call__refused_before_anything_was_tried_it_says_by_what),
      cmocka_unit_test(call__refusal_after_an_attempt_keeps_its_fault),
      cmocka_unit_test(call__says_when_the_first_of_all_that_refused_will_not),
      cmocka_unit_test(call__waits_for_half_open_only_among_several),
      cmocka_unit_test(call__retry_after_of_a_refusal_beyond_the_deadline_ends_it),
      cmocka_unit_test(call__once_refused_it_is_acquiring_no_more),
      cmocka_unit_test(call__refused_hedge_leaves_what_is_due_to_the_timer),
      cmocka_unit_test(call__limits_that_meet_are_told_apart),
      cmocka_unit_test(call__hints_may_be_extreme),
      cmocka_unit_test(call__deadline_ends_a_pause),
      cmocka_unit_test(call__question_dies_with_its_attempt),
      cmocka_unit_test(call__either_of_two_may_ask),
      cmocka_unit_test(call__idle_time_of_both_begins_anew_after_a_question),
      cmocka_unit_test(call__second_of_two_has_limits_of_its_own),
      cmocka_unit_test(call__hedge_must_leave_time_for_itself),
      cmocka_unit_test(call__time_for_a_check_is_half_of_what_is_left_at_most),
      cmocka_unit_test(call__another_answer_after_a_check_is_waited_for),
      cmocka_unit_test(call__letter_of_any_target_that_writes),
      cmocka_unit_test(call__all_targets_there_can_be),
      cmocka_unit_test(call__patience_with_an_outage_ends),
      cmocka_unit_test(call__check_that_does_not_know_is_not_made_again),
      cmocka_unit_test(call__check_is_made_again_while_there_is_time_for_one),
      cmocka_unit_test(call__deadline_ends_the_wait_for_what_may_yet_run),
      cmocka_unit_test(call__letter_follows_another_answer_that_did_not_come),
      cmocka_unit_test(call__attempt_is_cut_short_for_the_briefest_check),
      cmocka_unit_test(call__what_did_not_run_is_looked_for_at_all_targets),
      cmocka_unit_test(call__who_allows_few_attempts_waits_for_no_outage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
