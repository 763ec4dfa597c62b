#include "policy/provider.h"

#include "base/alloc.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CALLS_MAX = 64 };

struct fixture {
  struct hf_provider_options options;
  struct hf_provider *provider;
  struct hf_provider_tool *tool[3];
  struct hf_waiter waiters[CALLS_MAX];
  struct hf_provider_actions acts;
};

static int setup(void **state) {
  struct fixture *f = hf_calloc(1, sizeof *f);
  f->options = (struct hf_provider_options)HF_PROVIDER_OPTIONS_INIT;
  f->options.breaker.open = HF_SECONDS(30);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  hf_provider_unref(f->provider);
  hf_free(f);
  return 0;
}

/* With what stands in f->options. */
static void make(struct fixture *f) {
  struct hf_breaker_options breaker = HF_BREAKER_OPTIONS_INIT;
  breaker.open = HF_SECONDS(30);
  f->provider = hf_provider_new(&f->options, 1, 0);
  assert_non_null(f->provider);
  for (int i = 0; i < 3; i++) {
    char name[] = {'t', (char)('0' + i), '\0'};
    assert_int_equal(hf_provider_tool_get(f->provider, hf_str_from(name), &breaker, &f->tool[i]), 0);
  }
}

static void step(struct fixture *f, struct hf_provider_event event, hf_time now) {
  assert_int_equal(hf_provider_step(f->provider, &event, now, &f->acts), 0);
}

static void ready(struct fixture *f, hf_time now) {
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY}, now);
}

static void down(struct fixture *f, enum hf_evidence_kind why, hf_time not_before, hf_time now) {
  step(f,
       (struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_DOWN,
                                  .down = {.evidence = HF_EVIDENCE(why), .not_before = not_before}},
       now);
}

static void timer(struct fixture *f, hf_time now) {
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_TIMER}, now);
}

/* Call `i` asks for tool `t`: 60 s of patience, 20 s an attempt. */
static void ask(struct fixture *f, int i, int t, bool may_wait, hf_time now) {
  f->waiters[i] = (struct hf_waiter){
      .tool = f->tool[t], .until = now + HF_SECONDS(60), .lease = HF_SECONDS(20), .may_wait = may_wait};
  hf_list_init(&f->waiters[i].node);
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &f->waiters[i]}, now);
}

static struct hf_permit granted(struct fixture *f, unsigned index, int i) {
  assert_true(index < f->acts.len);
  assert_int_equal(f->acts.items[index].kind, HF_PROVIDER_GRANT);
  assert_ptr_equal(f->acts.items[index].waiter, &f->waiters[i]);
  return f->acts.items[index].permit;
}

static void refused(struct fixture *f, unsigned index, enum hf_denial reason) {
  assert_true(index < f->acts.len);
  assert_int_equal(f->acts.items[index].kind, HF_PROVIDER_REFUSE);
  assert_int_equal(f->acts.items[index].refuse.reason, reason);
}

static void nothing(const struct fixture *f) {
  assert_int_equal(f->acts.len, 0);
}

static void report(struct fixture *f, int t, struct hf_permit permit, enum hf_blame blame, hf_time now) {
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = f->tool[t];
  event.report.report = (struct hf_report){.permit = permit, .blame = blame, .retry_after = -1};
  step(f, event, now);
}

/* One call of tool `t`, granted and reported at once. */
static void one(struct fixture *f, int t, enum hf_blame blame, hf_time now) {
  ask(f, 0, t, false, now);
  report(f, t, granted(f, 0, 0), blame, now);
}

static struct hf_provider_view view(const struct fixture *f) {
  struct hf_provider_view v;
  hf_provider_view(f->provider, &v);
  return v;
}

static enum hf_breaker_state tool_state(const struct fixture *f, int t) {
  return hf_provider_tool_breaker(f->tool[t])->state;
}

static void make_ready(struct fixture *f) {
  make(f);
  ready(f, 0);
}

static void trip_provider(struct fixture *f) {
  make_ready(f);
  for (int i = 0; i < 5; i++)
    one(f, 0, HF_BLAME_PROVIDER, 0);
  assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
}

static void provider__starts_the_upstream_for_the_first_call(void **state) {
  struct fixture *f = *state;
  make(f);
  ask(f, 0, 0, false, 0);
  assert_int_equal(f->acts.len, 1);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM);
  ask(f, 1, 0, false, 1);
  nothing(f); /* one start is enough */
  ready(f, HF_SECONDS(1));
  assert_int_equal(f->acts.len, 2);
  granted(f, 0, 0);
  granted(f, 1, 1);
}

static void provider__waits_out_the_pause_before_a_restart(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  down(f, HF_EVIDENCE_BROKE, HF_SECONDS(5), 0);
  nothing(f); /* nobody asked */
  ask(f, 0, 0, false, 1);
  nothing(f);
  assert_int_equal(hf_provider_deadline(f->provider), HF_SECONDS(5));
  timer(f, HF_SECONDS(5));
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM);
  ready(f, HF_SECONDS(6));
  granted(f, 0, 0);
}

static void provider__failed_start_refuses_those_who_wait_and_counts_once(void **state) {
  struct fixture *f = *state;
  make(f);
  for (int i = 0; i < 20; i++)
    ask(f, i, 0, false, 0);
  down(f, HF_EVIDENCE_NOT_STARTED, HF_SECONDS(1), 1);
  int refusals = 0;
  do {
    for (unsigned i = 0; i < f->acts.len; i++, refusals++) {
      refused(f, i, HF_DENIAL_DOWN);
      assert_int_equal(f->acts.items[i].refuse.evidence.kind, HF_EVIDENCE_NOT_STARTED);
      assert_int_equal(f->acts.items[i].refuse.retry_at, HF_SECONDS(1));
    }
    timer(f, 1);
  } while (f->acts.len > 0);
  assert_int_equal(refusals, 20);
  assert_int_equal(view(f).queued, 0);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

static void provider__a_start_of_the_upstreams_own_that_fails_counts_for_those_who_wait(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  down(f, HF_EVIDENCE_BROKE, HF_SECONDS(5), 0);
  ask(f, 0, 0, false, 1);
  nothing(f);
  down(f, HF_EVIDENCE_NOT_STARTED, HF_SECONDS(9), HF_SECONDS(5));
  refused(f, 0, HF_DENIAL_DOWN);
  assert_int_equal(f->acts.items[0].refuse.retry_at, HF_SECONDS(9));
}

static void provider__parked_upstream_refuses_at_once_and_says_why(void **state) {
  struct fixture *f = *state;
  make(f);
  down(f, HF_EVIDENCE_COMMAND_NOT_FOUND, HF_TIME_NEVER, 0);
  ask(f, 0, 0, true, 1);
  refused(f, 0, HF_DENIAL_DOWN);
  assert_int_equal(f->acts.items[0].refuse.evidence.kind, HF_EVIDENCE_COMMAND_NOT_FOUND);
  ready(f, 2);
  ask(f, 0, 0, true, 3);
  granted(f, 0, 0);
}

static void provider__stopping_on_purpose_counts_against_nobody(void **state) {
  struct fixture *f = *state;
  make(f);
  for (int i = 0; i < 20; i++) {
    ask(f, 0, 0, false, i);
    down(f, HF_EVIDENCE_NONE, 0, i);
    assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM); /* the call still waits */
    ready(f, i);
    report(f, 0, granted(f, 0, 0), HF_BLAME_SUCCESS, i);
    down(f, HF_EVIDENCE_NONE, 0, i);
  }
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

static void provider__limits_what_is_in_flight_first_come_first(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 2;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  struct hf_permit first = granted(f, 0, 0);
  ask(f, 1, 1, false, 0);
  granted(f, 0, 1);
  ask(f, 2, 2, false, 0);
  nothing(f);
  ask(f, 3, 0, false, 0);
  nothing(f);
  report(f, 0, first, HF_BLAME_SUCCESS, 1);
  assert_int_equal(f->acts.len, 1);
  granted(f, 0, 2);
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &f->waiters[3]}, 2);
  assert_int_equal(view(f).queued, 0);
}

static void provider__full_queue_refuses(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 1;
  f->options.max_queued = 1;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  ask(f, 1, 0, false, 0);
  ask(f, 2, 0, false, 0);
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_int_equal(view(f).limit_refusals, 1);
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &f->waiters[1]}, 2);
}

static void provider__more_grants_than_one_list_holds_come_at_once(void **state) {
  struct fixture *f = *state;
  make(f);
  for (int i = 0; i < 40; i++)
    ask(f, i, 0, false, 0);
  int grants = 0;
  ready(f, 1);
  while (f->acts.len > 0) {
    for (unsigned i = 0; i < f->acts.len; i++)
      granted(f, i, grants++);
    if (hf_provider_deadline(f->provider) > 1)
      break;
    timer(f, 1);
  }
  assert_int_equal(grants, 40);
}

static void provider__budget_holds_back_repeats_only(void **state) {
  struct fixture *f = *state;
  f->options.budget = (struct hf_budget_options){.burst = 1};
  make_ready(f);
  for (int i = 0; i < 3; i++) {
    f->waiters[i] =
        (struct hf_waiter){.tool = f->tool[0], .until = HF_SECONDS(60), .lease = HF_SECONDS(20), .is_retry = i < 2};
    step(f, (struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &f->waiters[i]}, 0);
    if (i == 1)
      refused(f, 0, HF_DENIAL_BUDGET);
    else
      granted(f, 0, i);
  }
  assert_int_equal(view(f).budget_refusals, 1);
}

static void provider__connection_faults_open_its_breaker(void **state) {
  struct fixture *f = *state;
  trip_provider(f);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_CLOSED);
  ask(f, 1, 1, false, 1);
  refused(f, 0, HF_DENIAL_BREAKER);
}

static void provider__one_tools_faults_open_only_that_tools_breaker(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 5; i++)
    one(f, 0, HF_BLAME_TOOL, 0);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_OPEN);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
  one(f, 1, HF_BLAME_SUCCESS, 0);
}

static void provider__two_tools_failing_with_no_success_between_count_against_it(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 6; i++) /* the first failure is one tool's alone */
    one(f, i % 2, HF_BLAME_TOOL, 0);
  assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_CLOSED);
}

static void provider__answers_that_are_no_good_are_the_tools_alone(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 10; i++)
    one(f, i % 2, HF_BLAME_ANSWER, 0);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_OPEN);
  assert_int_equal(tool_state(f, 1), HF_BREAKER_OPEN);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
  one(f, 2, HF_BLAME_SUCCESS, 0);
}

static void provider__a_success_between_clears_it(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 3; i++) {
    one(f, 0, HF_BLAME_TOOL, 0);
    one(f, 2, HF_BLAME_SUCCESS, 0);
    one(f, 1, HF_BLAME_TOOL, 0);
    one(f, 2, HF_BLAME_SUCCESS, 0);
  }
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

/* Peers open on 4xx, auth and cancels. */
static void provider__the_callers_own_errors_never_open_a_breaker(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 100; i++)
    one(f, 0, HF_BLAME_NOBODY, 0);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_CLOSED);
}

static void provider__a_calls_retries_count_once(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 4; i++) { /* four calls of five attempts each */
    struct hf_permit permit;
    for (int attempt = 0; attempt < 5; attempt++) {
      ask(f, 0, 0, false, 0);
      permit = granted(f, 0, 0);
      struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
      event.report.tool = f->tool[0];
      event.report.report =
          (struct hf_report){.permit = permit, .blame = HF_BLAME_TOOL, .deferred = attempt < 4, .retry_after = -1};
      step(f, event, 0);
    }
  }
  assert_int_equal(tool_state(f, 0), HF_BREAKER_CLOSED);
  one(f, 0, HF_BLAME_TOOL, 0);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_OPEN);
}

static void provider__half_open_lets_one_through_and_the_patient_wait(void **state) {
  struct fixture *f = *state;
  f->options.probe_timeout = 0;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  for (int i = 0; i < 10; i++) {
    ask(f, i, 0, true, HF_SECONDS(20));
    nothing(f);
  }
  timer(f, due);
  assert_int_equal(f->acts.len, 1);
  struct hf_permit probe = granted(f, 0, 0);
  assert_true(probe.provider_probe);
  assert_int_equal(view(f).breaker, HF_BREAKER_HALF_OPEN);
  ask(f, 20, 0, false, due);
  refused(f, 0, HF_DENIAL_BREAKER);
  report(f, 0, probe, HF_BLAME_SUCCESS, due + 1);
  assert_int_equal(f->acts.len, 9);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

static void provider__failed_probe_refuses_those_who_cannot_wait_so_long(void **state) {
  struct fixture *f = *state;
  f->options.probe_timeout = 0;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, true, HF_SECONDS(1));
  ask(f, 1, 0, true, HF_SECONDS(1));
  timer(f, due);
  report(f, 0, granted(f, 0, 0), HF_BLAME_PROVIDER, due + 1);
  assert_int_equal(f->acts.len, 1);
  refused(f, 0, HF_DENIAL_BREAKER);
  assert_true(view(f).breaker_until >= due + HF_SECONDS(30));
}

static void provider__neutral_probe_hands_the_lease_to_the_next(void **state) {
  struct fixture *f = *state;
  f->options.probe_timeout = 0;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, false, due);
  struct hf_permit first = granted(f, 0, 0);
  report(f, 0, first, HF_BLAME_NOBODY, due + 1); /* 401, or cancelled */
  assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
  ask(f, 1, 0, false, due + 2);
  struct hf_permit second = granted(f, 0, 1);
  assert_true(second.provider_probe);
  assert_true(second.provider_generation > first.provider_generation);
  report(f, 0, second, HF_BLAME_SUCCESS, due + 3);
}

static void provider__lost_probe_frees_the_breaker_and_its_late_result_is_ignored(void **state) {
  struct fixture *f = *state;
  f->options.probe_timeout = 0;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, false, due);
  struct hf_permit lost = granted(f, 0, 0);
  assert_int_equal(hf_provider_deadline(f->provider), due + HF_SECONDS(21)); /* the attempt's 20 s, and a grace */
  timer(f, due + HF_SECONDS(21));
  assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
  ask(f, 1, 0, false, due + HF_SECONDS(22));
  struct hf_permit second = granted(f, 0, 1);
  report(f, 0, lost, HF_BLAME_SUCCESS, due + HF_SECONDS(23));
  assert_int_equal(view(f).breaker, HF_BREAKER_HALF_OPEN);
  assert_int_equal(view(f).in_flight, 1); /* its slot is free all the same */
  report(f, 0, second, HF_BLAME_SUCCESS, due + HF_SECONDS(24));
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

static void provider__results_from_before_the_trip_are_ignored(void **state) {
  struct fixture *f = *state;
  f->options.probe_timeout = 0;
  make_ready(f);
  ask(f, 10, 0, false, 0);
  struct hf_permit old = granted(f, 0, 10);
  for (int i = 0; i < 5; i++)
    one(f, 0, HF_BLAME_PROVIDER, 0);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, false, due);
  struct hf_permit probe = granted(f, 0, 0);
  report(f, 0, old, HF_BLAME_SUCCESS, due + 1);
  assert_int_equal(view(f).breaker, HF_BREAKER_HALF_OPEN);
  report(f, 0, probe, HF_BLAME_SUCCESS, due + 2);
}

static void provider__synthetic_probe_only_admits_the_real_one(void **state) {
  struct fixture *f = *state;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, false, due);
  assert_int_equal(f->acts.len, 1);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_PROBE_UPSTREAM);
  ask(f, 1, 0, false, due);
  nothing(f); /* one is out */
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = true}, due + 1);
  struct hf_permit probe = granted(f, 0, 0);
  assert_true(probe.provider_probe);
  refused(f, 1, HF_DENIAL_BREAKER);
  assert_int_equal(view(f).breaker, HF_BREAKER_HALF_OPEN); /* not closed by a ping */
  report(f, 0, probe, HF_BLAME_PROVIDER, due + 2);
  assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
}

static void provider__failed_or_silent_synthetic_probe_keeps_it_open(void **state) {
  struct fixture *f = *state;
  trip_provider(f);
  for (int i = 0; i < 2; i++) {
    hf_time due = view(f).breaker_until;
    ask(f, 0, 0, false, due);
    assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_PROBE_UPSTREAM);
    if (i == 0)
      step(f, (struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = false}, due + 1);
    else
      timer(f, due + HF_SECONDS(5));
    refused(f, 0, HF_DENIAL_BREAKER);
    assert_true(view(f).breaker_until >= due + HF_SECONDS(30));
    step(f, (struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = true}, due + HF_SECONDS(6));
    nothing(f); /* too late */
    assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
  }
}

/* A peer's breaker stayed half-open for ever when the child died under its probe. */
static void provider__breaker_is_not_wedged_on_a_dead_child(void **state) {
  struct fixture *f = *state;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  down(f, HF_EVIDENCE_BROKE, 0, HF_SECONDS(1));
  ask(f, 0, 0, false, due);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM); /* respawn first, and no ping to the dead */
  assert_int_equal(f->acts.len, 1);
  down(f, HF_EVIDENCE_NOT_STARTED, due + 2, due + 1);
  refused(f, 0, HF_DENIAL_DOWN);
  assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
  due = view(f).breaker_until;
  ask(f, 0, 0, false, due);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM);
  ready(f, due + 1);
  struct hf_permit probe = granted(f, 0, 0); /* the handshake is as good as a ping */
  assert_true(probe.provider_probe);
  down(f, HF_EVIDENCE_BROKE, 0, due + 2);
  report(f, 0, probe, HF_BLAME_TOOL, due + 2); /* neutral for the provider */
  assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
  ask(f, 1, 1, false, due + 3);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM);
  ready(f, due + 4);
  report(f, 1, granted(f, 0, 1), HF_BLAME_SUCCESS, due + 5);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

static void provider__clock_that_goes_back_does_no_harm(void **state) {
  struct fixture *f = *state;
  f->options.probe_timeout = 0;
  make_ready(f);
  for (int i = 0; i < 4; i++)
    one(f, 0, HF_BLAME_PROVIDER, HF_SECONDS(1000));
  one(f, 0, HF_BLAME_PROVIDER, HF_SECONDS(1)); /* opens from the latest time seen, not for a time that is over */
  hf_time due = view(f).breaker_until;
  assert_true(due >= HF_SECONDS(1030));
  ask(f, 0, 0, false, 0);
  refused(f, 0, HF_DENIAL_BREAKER);
  ask(f, 0, 0, false, due);
  report(f, 0, granted(f, 0, 0), HF_BLAME_SUCCESS, 0);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

static void provider__tools_keep_what_was_learnt(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 5; i++)
    one(f, 0, HF_BLAME_TOOL, 0);
  struct hf_breaker_options options = HF_BREAKER_OPTIONS_INIT;
  struct hf_provider_tool *again;
  assert_int_equal(hf_provider_tool_get(f->provider, HF_STR("t0"), &options, &again), 0);
  assert_ptr_equal(again, f->tool[0]);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_OPEN);
}

static void provider__tools_beyond_the_limit_share_one_breaker(void **state) {
  struct fixture *f = *state;
  f->options.max_tools = 3;
  f->options.probe_timeout = 0;
  make_ready(f);
  struct hf_breaker_options options = HF_BREAKER_OPTIONS_INIT;
  struct hf_provider_tool *other;
  assert_int_equal(hf_provider_tool_get(f->provider, HF_STR("t3"), &options, &f->tool[1]), 0);
  assert_int_equal(hf_provider_tool_get(f->provider, HF_STR("t4"), &options, &other), 0);
  assert_ptr_equal(other, f->tool[1]);
  assert_ptr_not_equal(other, f->tool[0]);
  for (int i = 0; i < 5; i++)
    one(f, 1, HF_BLAME_TOOL, 0);
  assert_int_equal(tool_state(f, 1), HF_BREAKER_OPEN);
  ask(f, 0, 1, false, HF_SECONDS(40));
  struct hf_permit lost = granted(f, 0, 0);
  assert_int_equal(tool_state(f, 1), HF_BREAKER_HALF_OPEN);
  timer(f, HF_SECONDS(61)); /* its lease ends like any other's */
  assert_int_equal(tool_state(f, 1), HF_BREAKER_OPEN);
  report(f, 1, lost, HF_BLAME_NOBODY, HF_SECONDS(62));
}

static void provider__permit_outlives_a_reload(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  struct hf_permit permit = granted(f, 0, 0);
  struct hf_provider *held = hf_provider_ref(f->provider);
  hf_provider_unref(f->provider); /* the configuration lets go */
  f->options.max_concurrent = 1;
  hf_provider_configure(held, &f->options);
  report(f, 0, permit, HF_BLAME_SUCCESS, 1);
  assert_int_equal(view(f).in_flight, 0);
}

static void provider__queued_waiter_cannot_ask_twice(void **state) {
  struct fixture *f = *state;
  make(f);
  ask(f, 0, 0, false, 0);
  struct hf_provider_event event = {.kind = HF_PROVIDER_ACQUIRE, .waiter = &f->waiters[0]};
  assert_int_equal(hf_provider_step(f->provider, &event, 1, &f->acts), HF_ERR_INVALID);
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &f->waiters[0]}, 2);
}

/* Like ask, with all of it. */
static void ask_as(struct fixture *f, int i, int t, unsigned priority, hf_time patience, hf_time now) {
  f->waiters[i] = (struct hf_waiter){
      .tool = f->tool[t], .until = now + patience, .lease = HF_SECONDS(20), .may_wait = true, .priority = priority};
  hf_list_init(&f->waiters[i].node);
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &f->waiters[i]}, now);
}

static void withdraw(struct fixture *f, int i, hf_time now) {
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &f->waiters[i]}, now);
}

static void succeed(struct fixture *f, int t, struct hf_permit permit, hf_time latency, hf_time now) {
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = f->tool[t];
  event.report.report =
      (struct hf_report){.permit = permit, .blame = HF_BLAME_SUCCESS, .retry_after = -1, .latency = latency};
  step(f, event, now);
}

/* With one slot, of which it is known that it is held for a second. Call 0 has it since `now`. */
static struct hf_permit one_slot_of_a_second(struct fixture *f, hf_time now) {
  f->options.max_concurrent = 1;
  make_ready(f);
  ask(f, 0, 0, true, now - HF_SECONDS(1));
  succeed(f, 0, granted(f, 0, 0), HF_SECONDS(1), now);
  ask(f, 0, 0, true, now);
  return granted(f, 0, 0);
}

static void provider__a_full_tool_blocks_no_other(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 3;
  make_ready(f);
  hf_provider_tool_limit(f->tool[0], 1);
  ask(f, 0, 0, false, 0);
  struct hf_permit first = granted(f, 0, 0);
  ask(f, 1, 0, false, 0);
  nothing(f);
  ask(f, 2, 0, false, 0);
  nothing(f);
  ask(f, 3, 1, false, 0);
  struct hf_permit other = granted(f, 0, 3);
  ask(f, 4, 1, false, 0);
  granted(f, 0, 4);
  ask(f, 5, 1, false, 0); /* the provider is full */
  nothing(f);
  report(f, 1, other, HF_BLAME_SUCCESS, 1);
  assert_int_equal(f->acts.len, 1);
  granted(f, 0, 5); /* past two of the full tool */
  report(f, 0, first, HF_BLAME_SUCCESS, 2);
  assert_int_equal(f->acts.len, 1);
  granted(f, 0, 1);
  hf_provider_tool_limit(f->tool[0], 0); /* from now on only the provider's */
  withdraw(f, 2, 3);
}

static void provider__a_raised_limit_helps_those_who_wait(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 1;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  ask(f, 1, 0, false, 0);
  nothing(f);
  f->options.max_concurrent = 2;
  hf_provider_configure(f->provider, &f->options);
  assert_int_equal(hf_provider_deadline(f->provider), 0);
  timer(f, 1);
  granted(f, 0, 1);
}

static void provider__more_important_calls_go_first(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 1;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  struct hf_permit permit = granted(f, 0, 0);
  static const unsigned priorities[] = {3, 5, 1, 0 /* the middle */, 1, 4, 2};
  static const int order[] = {3, 5, 7, 1, 4, 6, 2};
  for (int i = 0; i < 7; i++)
    ask_as(f, i + 1, 0, priorities[i], HF_SECONDS(60), i + 1);
  for (int i = 0; i < 7; i++) {
    report(f, 0, permit, HF_BLAME_SUCCESS, 100 + i);
    permit = granted(f, 0, order[i]);
  }
}

/* A second of waiting makes up for one level. */
static void provider__nobody_is_passed_by_for_ever(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 1;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  struct hf_permit permit = granted(f, 0, 0);
  ask_as(f, 1, 0, HF_PRIORITY_LAST, HF_SECONDS(60), 0);
  ask_as(f, 2, 0, HF_PRIORITY_FIRST, HF_SECONDS(60), HF_SECONDS(4) - 1);
  ask_as(f, 3, 0, HF_PRIORITY_FIRST, HF_SECONDS(60), HF_SECONDS(4));
  static const int order[] = {2, 1, 3};
  for (int i = 0; i < 3; i++) {
    report(f, 0, permit, HF_BLAME_SUCCESS, HF_SECONDS(5));
    permit = granted(f, 0, order[i]);
  }
}

static void provider__full_queue_gives_way_to_the_more_important(void **state) {
  struct fixture *f = *state;
  f->options.max_queued = 2;
  struct hf_permit permit = one_slot_of_a_second(f, HF_SECONDS(1));
  ask_as(f, 1, 0, 4, HF_SECONDS(60), HF_SECONDS(1));
  ask_as(f, 2, 0, 4, HF_SECONDS(60), HF_SECONDS(1) + 1);
  ask_as(f, 3, 0, 4, HF_SECONDS(60), HF_SECONDS(1) + 2);
  refused(f, 0, HF_DENIAL_LIMIT); /* as important as those before */
  assert_ptr_equal(f->acts.items[0].waiter, &f->waiters[3]);
  assert_int_equal(f->acts.items[0].refuse.retry_at, HF_SECONDS(4) + 2);
  ask_as(f, 4, 0, 3, HF_SECONDS(60), HF_SECONDS(1) + 3);
  assert_int_equal(f->acts.len, 1);
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_ptr_equal(f->acts.items[0].waiter, &f->waiters[2]); /* the newest of the least important */
  assert_int_equal(f->acts.items[0].refuse.retry_at, HF_SECONDS(3) + 3);
  assert_int_equal(view(f).queued, 2);
  assert_int_equal(view(f).limit_refusals, 2);
  report(f, 0, permit, HF_BLAME_SUCCESS, HF_SECONDS(2));
  granted(f, 0, 4);
  withdraw(f, 1, HF_SECONDS(2));
}

static void provider__refuses_at_once_who_would_come_too_late(void **state) {
  struct fixture *f = *state;
  f->options.max_wait = HF_SECONDS(3);
  one_slot_of_a_second(f, HF_SECONDS(1));
  ask_as(f, 1, 0, 3, HF_MS(1999), HF_SECONDS(1)); /* a second of waiting and one of work */
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_int_equal(f->acts.items[0].refuse.retry_at, HF_SECONDS(2));
  ask_as(f, 1, 0, 3, HF_MS(2001), HF_SECONDS(1));
  nothing(f);
  ask_as(f, 2, 0, 3, HF_SECONDS(60), HF_SECONDS(1));
  ask_as(f, 3, 0, 3, HF_SECONDS(60), HF_SECONDS(1));
  nothing(f);
  ask_as(f, 4, 0, 3, HF_SECONDS(60), HF_SECONDS(1)); /* four seconds; three are allowed */
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_int_equal(f->acts.items[0].refuse.retry_at, HF_SECONDS(5));
  ask_as(f, 4, 0, 2, HF_SECONDS(60), HF_SECONDS(1)); /* more important: first in the queue */
  nothing(f);
  assert_int_equal(view(f).limit_refusals, 2);
  for (int i = 1; i <= 4; i++)
    withdraw(f, i, HF_SECONDS(1));
}

static void provider__a_full_tools_queue_is_its_own(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 8;
  f->options.max_wait = HF_SECONDS(3);
  make_ready(f);
  hf_provider_tool_limit(f->tool[0], 2);
  ask(f, 0, 0, true, 0);
  report(f, 0, granted(f, 0, 0), HF_BLAME_SUCCESS, HF_SECONDS(2)); /* two slots, of two seconds each */
  for (int i = 0; i < 5; i++)
    ask_as(f, i, 0, 3, HF_SECONDS(60), HF_SECONDS(2));
  nothing(f);
  assert_int_equal(view(f).queued, 3);
  ask_as(f, 5, 0, 3, HF_SECONDS(60), HF_SECONDS(2));
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_int_equal(f->acts.items[0].refuse.retry_at, HF_SECONDS(6));
  ask_as(f, 6, 1, 3, HF_SECONDS(60), HF_SECONDS(2));
  granted(f, 0, 6);
  for (int i = 0; i < 6; i++)
    withdraw(f, i, HF_SECONDS(2));
}

static void provider__who_waited_max_wait_for_a_slot_is_refused(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 1;
  f->options.max_wait = HF_SECONDS(3);
  make_ready(f);
  ask(f, 0, 0, true, 0);
  granted(f, 0, 0);
  ask(f, 1, 0, true, HF_SECONDS(1));
  ask(f, 2, 1, true, HF_SECONDS(2));
  assert_int_equal(hf_provider_deadline(f->provider), HF_SECONDS(4));
  timer(f, HF_SECONDS(4) - 1);
  nothing(f);
  timer(f, HF_SECONDS(4));
  assert_int_equal(f->acts.len, 1);
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_ptr_equal(f->acts.items[0].waiter, &f->waiters[1]);
  assert_int_equal(hf_provider_deadline(f->provider), HF_SECONDS(5));
  withdraw(f, 2, HF_SECONDS(4));
}

static void provider__max_wait_is_only_about_slots(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 1;
  f->options.max_wait = HF_SECONDS(3);
  f->options.probe_timeout = 0;
  make(f);
  ask(f, 0, 0, true, 0); /* waits ten seconds for the upstream */
  timer(f, HF_SECONDS(9));
  nothing(f);
  ready(f, HF_SECONDS(10));
  struct hf_permit permit = granted(f, 0, 0);
  report(f, 0, permit, HF_BLAME_SUCCESS, HF_SECONDS(10));
  for (int i = 0; i < 5; i++)
    one(f, 0, HF_BLAME_TOOL, HF_SECONDS(10));
  hf_time due = hf_provider_tool_breaker(f->tool[0])->open_until;
  ask_as(f, 1, 0, 3, HF_SECONDS(60), HF_SECONDS(11)); /* waits for half-open, some thirty seconds */
  ask_as(f, 2, 0, 3, HF_SECONDS(60), HF_SECONDS(11));
  nothing(f);
  timer(f, due - 1);
  nothing(f);
  ask(f, 3, 1, true, due - 1);
  granted(f, 0, 3);
  timer(f, due); /* the slot is taken: from now on it is missing */
  nothing(f);
  timer(f, due + HF_SECONDS(3) - 1);
  nothing(f);
  timer(f, due + HF_SECONDS(3));
  assert_int_equal(f->acts.len, 2);
  refused(f, 0, HF_DENIAL_LIMIT);
  refused(f, 1, HF_DENIAL_LIMIT);
}

static void provider__without_max_wait_only_the_deadline_counts(void **state) {
  struct fixture *f = *state;
  f->options.max_wait = 0;
  one_slot_of_a_second(f, HF_SECONDS(1));
  for (int i = 1; i < 30; i++) {
    ask_as(f, i, 0, 3, HF_SECONDS(60), HF_SECONDS(1));
    nothing(f);
  }
  assert_int_equal(hf_provider_deadline(f->provider), HF_TIME_NEVER);
  for (int i = 1; i < 30; i++)
    withdraw(f, i, HF_SECONDS(1));
}

static void provider__limit_follows_the_latency(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 64;
  f->options.adaptive = true;
  make_ready(f);
  assert_int_equal(view(f).limit, 16);
  hf_time now = 0;
  for (int round = 0; round < 200; round++) { /* the more calls, the slower; two tools, one ten times slower */
    struct hf_permit permits[CALLS_MAX];
    unsigned n = view(f).limit;
    for (unsigned i = 0; i < n; i++) {
      ask(f, (int)i, i % 2, false, now);
      permits[i] = granted(f, 0, (int)i);
    }
    hf_time unit = HF_MS(n > 8 ? n : 8);
    now += unit * 10;
    for (unsigned i = 0; i < n; i++)
      succeed(f, i % 2, permits[i], i % 2 ? unit * 10 : unit, now);
  }
  assert_in_range(view(f).limit, 6, 20);
  f->options.adaptive = false;
  hf_provider_configure(f->provider, &f->options);
  assert_int_equal(view(f).limit, 64);
}

static void provider__the_mix_of_tools_does_not_move_the_limit(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 16;
  f->options.adaptive = true;
  make_ready(f);
  hf_time now = 0;
  int looks = 0;
  for (int round = 0; round < 100; round++) {
    struct hf_permit permits[16];
    int t = round / 10 % 2; /* the fast one for a while, then the slow one */
    int n = (int)view(f).limit;
    assert_true(n == 16 || n == 4);
    looks += n == 4;
    for (int i = 0; i < n; i++) {
      ask(f, i, t, false, now);
      permits[i] = granted(f, 0, i);
    }
    now += HF_MS(400);
    for (int i = 0; i < n; i++)
      succeed(f, t, permits[i], t ? HF_MS(400) : HF_MS(10), now);
  }
  assert_in_range(looks, 2, 6); /* two looks, of some rounds each */
}

static void provider__overload_that_is_answered_counts_for_the_limit(void **state) {
  struct fixture *f = *state;
  f->options.adaptive = true;
  f->options.breaker.min_calls = 1000000;
  make_ready(f);
  for (int round = 0; round < 20; round++) {
    struct hf_permit permits[64];
    unsigned n = view(f).limit;
    for (unsigned i = 0; i < n; i++) {
      ask(f, (int)i, 0, false, round);
      permits[i] = granted(f, 0, (int)i);
    }
    for (unsigned i = 0; i < n; i++) { /* 429 */
      struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
      event.report.tool = f->tool[0];
      event.report.report = (struct hf_report){.permit = permits[i], .blame = HF_BLAME_NOBODY, .latency = -1};
      step(f, event, round + 1);
    }
  }
  assert_in_range(view(f).limit, 1, 3);
}

static void make_slow(struct fixture *f, hf_time slow) {
  make_ready(f);
  struct hf_breaker_options options = f->options.breaker;
  options.slow = slow;
  assert_int_equal(hf_provider_tool_get(f->provider, HF_STR("t0"), &options, &f->tool[0]), 0);
}

static void provider__slow_answers_open_the_tools_breaker_alone(void **state) {
  struct fixture *f = *state;
  f->options.budget = (struct hf_budget_options){.burst = 1};
  make_slow(f, HF_MS(500));
  for (int i = 0; i < 4; i++) {
    ask(f, 0, 0, false, i);
    succeed(f, 0, granted(f, 0, 0), HF_MS(501), i);
  }
  ask(f, 0, 0, false, 4);
  succeed(f, 0, granted(f, 0, 0), HF_MS(500), 4); /* just in time */
  assert_int_equal(tool_state(f, 0), HF_BREAKER_CLOSED);
  for (int i = 0; i < 5; i++) {
    ask(f, 0, 0, false, 5);
    succeed(f, 0, granted(f, 0, 0), HF_MS(501), 5);
  }
  assert_int_equal(tool_state(f, 0), HF_BREAKER_OPEN);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
  for (int i = 0; i < 3; i++) { /* with another tool's failures between they would have been the provider's trouble */
    one(f, 1, HF_BLAME_TOOL, 6);
  }
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

static void provider__slow_probe_reopens(void **state) {
  struct fixture *f = *state;
  make_slow(f, HF_MS(500));
  for (int i = 0; i < 5; i++) {
    ask(f, 0, 0, false, 0);
    succeed(f, 0, granted(f, 0, 0), HF_SECONDS(1), 0);
  }
  hf_time due = hf_provider_tool_breaker(f->tool[0])->open_until;
  ask(f, 0, 0, false, due);
  struct hf_permit probe = granted(f, 0, 0);
  assert_true(probe.tool_probe);
  succeed(f, 0, probe, HF_SECONDS(1), due + HF_SECONDS(1));
  assert_int_equal(tool_state(f, 0), HF_BREAKER_OPEN);
  due = hf_provider_tool_breaker(f->tool[0])->open_until;
  ask(f, 0, 0, false, due);
  succeed(f, 0, granted(f, 0, 0), HF_MS(10), due);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_CLOSED);
}

static void provider__slow_means_nothing_where_it_is_not_set(void **state) {
  struct fixture *f = *state;
  make_slow(f, 0);
  for (int i = 0; i < 20; i++) {
    ask(f, 0, 0, false, 0);
    succeed(f, 0, granted(f, 0, 0), HF_SECONDS(100), 0);
  }
  assert_int_equal(tool_state(f, 0), HF_BREAKER_CLOSED);
}

static void provider__permits_say_when_a_hedge_makes_sense(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 20; i++) {
    ask(f, 0, 0, false, 0);
    struct hf_permit permit = granted(f, 0, 0);
    assert_int_equal(permit.hedge_after, HF_TIME_NEVER);
    succeed(f, 0, permit, HF_MS(40), 0);
  }
  ask(f, 0, 0, false, 0);
  hf_time after = granted(f, 0, 0).hedge_after;
  assert_true(after >= HF_MS(40) && after <= HF_MS(45));
  assert_int_equal(hf_provider_tool_latency(f->tool[0], 95), after);
  assert_int_equal(hf_provider_tool_latency(f->tool[1], 95), HF_TIME_NEVER);
  for (int i = 0; i < 20; i++) {
    ask(f, 0, 1, false, 0);
    succeed(f, 1, granted(f, 0, 0), 100, 0);
  }
  ask(f, 0, 1, false, 0);
  assert_int_equal(granted(f, 0, 0).hedge_after, HF_MS(1)); /* not sooner */
}

static void provider__failures_are_no_latencies(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 30; i++) {
    one(f, 0, HF_BLAME_NOBODY, 0);
    ask(f, 0, 0, false, 0);
    succeed(f, 0, granted(f, 0, 0), -1, 0);
  }
  assert_int_equal(hf_provider_tool_latency(f->tool[0], 50), HF_TIME_NEVER);
}

static void provider__its_gate_says_what_a_call_would_be_told(void **state) {
  struct fixture *f = *state;
  make(f);
  assert_int_equal(hf_provider_gate(f->provider, f->tool[0], 0), HF_BREAKER_PASS); /* it would be started */
  down(f, HF_EVIDENCE_NONE, HF_SECONDS(5), 0);
  assert_int_equal(hf_provider_gate(f->provider, f->tool[0], HF_SECONDS(5) - 1), HF_BREAKER_STOP);
  assert_int_equal(hf_provider_gate(f->provider, f->tool[0], HF_SECONDS(5)), HF_BREAKER_PASS);
  ready(f, HF_SECONDS(5));
  for (int i = 0; i < 5; i++)
    one(f, 0, HF_BLAME_TOOL, HF_SECONDS(10));
  assert_int_equal(hf_provider_gate(f->provider, f->tool[0], HF_SECONDS(10)), HF_BREAKER_STOP);
  assert_int_equal(hf_provider_gate(f->provider, f->tool[1], HF_SECONDS(10)), HF_BREAKER_PASS);
  hf_time due = hf_provider_tool_breaker(f->tool[0])->open_until;
  assert_int_equal(hf_provider_gate(f->provider, f->tool[0], due), HF_BREAKER_PROBE);
  for (int i = 0; i < 5; i++)
    one(f, 1, HF_BLAME_PROVIDER, HF_SECONDS(20));
  assert_int_equal(hf_provider_gate(f->provider, f->tool[1], HF_SECONDS(20)), HF_BREAKER_STOP);
  due = view(f).breaker_until;
  assert_int_equal(hf_provider_gate(f->provider, f->tool[1], due), HF_BREAKER_PROBE);
  ask(f, 0, 1, true, due);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_PROBE_UPSTREAM);
  assert_int_equal(hf_provider_gate(f->provider, f->tool[1], due), HF_BREAKER_STOP); /* one waits for it already */
  down(f, HF_EVIDENCE_BROKE, 0, due + 1);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM);
  assert_int_equal(hf_provider_gate(f->provider, f->tool[1], due + 1), HF_BREAKER_STOP);
  ready(f, due + 2);
  report(f, 1, granted(f, 0, 0), HF_BLAME_SUCCESS, due + 3);
  assert_int_equal(hf_provider_gate(f->provider, f->tool[1], due + 3), HF_BREAKER_PASS);
}

static void provider__waiting_for_a_slot_begins_anew_after_an_outage(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 1;
  f->options.max_wait = HF_SECONDS(40);
  make_ready(f);
  ask(f, 0, 0, true, 0);
  struct hf_permit first = granted(f, 0, 0);
  ask_as(f, 1, 0, 3, HF_SECONDS(200), 0);                     /* misses a slot */
  down(f, HF_EVIDENCE_BROKE, HF_SECONDS(30), HF_SECONDS(10)); /* and now a server */
  nothing(f);
  timer(f, HF_SECONDS(30));
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM);
  ready(f, HF_SECONDS(35)); /* and now a slot again */
  timer(f, HF_SECONDS(74));
  nothing(f);
  timer(f, HF_SECONDS(75));
  refused(f, 0, HF_DENIAL_LIMIT);
  report(f, 0, first, HF_BLAME_NOBODY, HF_SECONDS(76));
}

static void provider__each_bulkhead_has_its_own_line(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 2;
  f->options.max_wait = HF_SECONDS(2);
  make_ready(f);
  for (int t = 0; t < 2; t++) {
    ask(f, t, t, true, 0);
    report(f, t, granted(f, 0, t), HF_BLAME_SUCCESS, HF_SECONDS(1));
  }
  hf_provider_tool_limit(f->tool[0], 1);
  for (int t = 0; t < 2; t++)
    ask(f, t, t, true, HF_SECONDS(1));
  ask_as(f, 2, 1, 3, HF_SECONDS(60), HF_SECONDS(1));
  ask_as(f, 3, 1, 3, HF_SECONDS(60), HF_SECONDS(1));
  ask_as(f, 4, 0, 3, HF_SECONDS(60), HF_SECONDS(1)); /* third in all, at two slots: 1.5 s; first of its tool: 1 s */
  nothing(f);
  ask_as(f, 5, 0, 3, HF_SECONDS(60), HF_SECONDS(1)); /* fourth, and second of its tool: 2 s */
  nothing(f);
  ask_as(f, 6, 0, 3, HF_SECONDS(60), HF_SECONDS(1)); /* fifth, and third of its tool */
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_int_equal(f->acts.items[0].refuse.retry_at, HF_SECONDS(4));
  for (int i = 2; i < 6; i++)
    withdraw(f, i, HF_SECONDS(1));
}

static void provider__out_of_memory_is_an_error(void **state) {
  struct fixture *f = *state;
  hf_alloc_fail_after(0);
  assert_null(hf_provider_new(&f->options, 1, 0));
  make(f);
  struct hf_breaker_options options = HF_BREAKER_OPTIONS_INIT;
  struct hf_provider_tool *tool = NULL;
  for (int i = 0; i < 2; i++) {
    hf_alloc_fail_after(i);
    assert_int_equal(hf_provider_tool_get(f->provider, HF_STR("new"), &options, &tool), HF_ERR_NOMEM);
    assert_null(tool);
  }
  hf_alloc_fail_after(-1);
  assert_int_equal(hf_provider_tool_get(f->provider, HF_STR("new"), &options, &tool), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void configure(struct fixture *f) {
  hf_provider_configure(f->provider, &f->options);
}

static void provider__a_reload_reaches_all_of_it(void **state) {
  struct fixture *f = *state;
  f->options.max_tools = 0;
  f->options.adaptive = true;
  make_ready(f);
  assert_int_equal(view(f).limit, 16);
  f->options.max_tools = 1;
  f->options.breaker.failures = 2;
  f->options.budget.burst = 0;
  f->options.max_concurrent = 7;
  configure(f);
  assert_int_equal(view(f).limit, 7);
  struct hf_provider_tool *own;
  assert_int_equal(hf_provider_tool_get(f->provider, HF_STR("own"), &f->options.breaker, &own), 0);
  assert_ptr_not_equal(own, f->tool[0]);
  f->waiters[0] = (struct hf_waiter){.tool = own, .until = HF_SECONDS(60), .is_retry = true};
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &f->waiters[0]}, 0);
  refused(f, 0, HF_DENIAL_BUDGET);
  one(f, 0, HF_BLAME_TOOL, 0);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_CLOSED);
  one(f, 0, HF_BLAME_TOOL, 0);
  assert_int_equal(tool_state(f, 0), HF_BREAKER_OPEN);
  f->tool[0] = own;
  one(f, 0, HF_BLAME_PROVIDER, 0);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
  one(f, 0, HF_BLAME_PROVIDER, 0);
  assert_int_equal(view(f).breaker, HF_BREAKER_OPEN);
}

static void provider__begins_at_the_time_it_was_made(void **state) {
  struct fixture *f = *state;
  make(f);
  hf_provider_unref(f->provider);
  f->provider = hf_provider_new(&f->options, 1, HF_SECONDS(100));
  assert_int_equal(hf_provider_tool_get(f->provider, HF_STR("t0"), &f->options.breaker, &f->tool[0]), 0);
  ready(f, HF_SECONDS(50));
  ask(f, 0, 0, false, HF_SECONDS(50));
  assert_int_equal(granted(f, 0, 0).granted_at, HF_SECONDS(100));
}

static void provider__refusal_says_why_the_server_is_down_while_it_is(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = f->options.max_queued = 1;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  ask(f, 1, 0, false, 0);
  ask(f, 2, 0, false, 0);
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_int_equal(f->acts.items[0].refuse.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(f->acts.items[0].refuse.retry_at, HF_TIME_NEVER); /* nobody knows how long a slot is held */
  withdraw(f, 1, 0);
  down(f, HF_EVIDENCE_BAD_CERTIFICATE, HF_SECONDS(60), 0);
  ask(f, 1, 0, true, 0); /* its patience ends when the next start may begin */
  refused(f, 0, HF_DENIAL_DOWN);
  assert_int_equal(f->acts.items[0].refuse.evidence.kind, HF_EVIDENCE_BAD_CERTIFICATE);
  ready(f, 1);
  ask(f, 1, 0, false, 1);
  ask(f, 2, 0, false, 1);
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_int_equal(f->acts.items[0].refuse.evidence.kind, HF_EVIDENCE_NONE);
  withdraw(f, 1, 1);
}

static void provider__refusal_before_the_first_start_blames_nobody(void **state) {
  struct fixture *f = *state;
  f->options.max_queued = 1;
  make(f);
  ask(f, 0, 0, false, 0);
  ask(f, 1, 0, false, 0);
  refused(f, 0, HF_DENIAL_LIMIT);
  assert_int_equal(f->acts.items[0].refuse.evidence.kind, HF_EVIDENCE_NONE);
  assert_int_equal(f->acts.items[0].refuse.evidence.retry_after, -1);
  withdraw(f, 0, 0);
}

static void provider__who_waits_without_a_limit_gets_the_slot(void **state) {
  struct fixture *f = *state;
  f->options.max_concurrent = 1;
  f->options.max_wait = 0;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  struct hf_permit permit = granted(f, 0, 0);
  ask(f, 1, 0, false, 0);
  nothing(f);
  report(f, 0, permit, HF_BLAME_SUCCESS, HF_SECONDS(50));
  granted(f, 0, 1);
}

static void provider__refuses_events_that_it_does_not_know(void **state) {
  struct fixture *f = *state;
  make(f);
  const struct hf_provider_event event = {.kind = (enum hf_provider_event_kind)99};
  assert_int_equal(hf_provider_step(f->provider, &event, 0, &f->acts), HF_ERR_INVALID);
}

static void provider__shows_its_tools(void **state) {
  struct fixture *f = *state;
  make(f);
  struct hf_str name;
  const struct hf_breaker *breaker;
  for (int i = 0; i < 3; i++) {
    assert_true(hf_provider_tool_at(f->provider, (size_t)i, &name, &breaker));
    assert_int_equal(name.len, 2);
    assert_int_equal(name.ptr[0], 't');
    assert_ptr_equal(breaker, hf_provider_tool_breaker(f->tool[name.ptr[1] - '0']));
  }
  assert_false(hf_provider_tool_at(f->provider, 3, &name, &breaker));
}

static void provider__leaves_room_in_a_list_for_a_start_and_a_probe(void **state) {
  struct fixture *f = *state;
  make(f);
  for (int i = 0; i < 2 * HF_PROVIDER_ACTIONS_MAX; i++)
    ask(f, i, 0, false, 0);
  ready(f, 1);
  assert_int_equal(f->acts.len, HF_PROVIDER_ACTIONS_MAX - 2);
  for (int i = HF_PROVIDER_ACTIONS_MAX - 2; i < 2 * HF_PROVIDER_ACTIONS_MAX; i++)
    withdraw(f, i, 1);
}

/* One full window of calls, nine of them in flight, that all end alike: what becomes of a limit of 16. It moves, and a
 * look at a quarter of it follows. */
static void provider__what_a_call_says_of_the_limit(void **state) {
  struct fixture *f = *state;
  static const struct row {
    enum hf_blame blame;
    hf_time latency, retry_after;
    unsigned limit;
  } rows[] = {
      {HF_BLAME_SUCCESS, 0, -1, 4}, {HF_BLAME_SUCCESS, -1, -1, 16}, {HF_BLAME_NOBODY, HF_SECONDS(1), -1, 16},
      {HF_BLAME_NOBODY, -1, 0, 3},  {HF_BLAME_TOOL, -1, -1, 3},     {HF_BLAME_PROVIDER, -1, -1, 3},
  };
  f->options.adaptive = true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_permit permits[16];
    hf_provider_unref(f->provider);
    make_ready(f);
    for (int j = 0; j < 16; j++) {
      ask(f, j, 0, false, 0);
      permits[j] = granted(f, 0, j);
    }
    for (int j = 0; j < 8; j++) {
      struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
      event.report.tool = f->tool[0];
      event.report.report = (struct hf_report){
          .permit = permits[j], .blame = rows[i].blame, .retry_after = rows[i].retry_after, .latency = rows[i].latency};
      step(f, event, HF_SECONDS(1));
    }
    assert_int_equal(view(f).limit, rows[i].limit);
  }
}

static void provider__answers_that_took_no_time_have_a_latency(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int i = 0; i < 10; i++) {
    ask(f, 0, 0, false, 0);
    succeed(f, 0, granted(f, 0, 0), 0, 0);
  }
  assert_true(hf_provider_tool_latency(f->tool[0], 50) < HF_TIME_NEVER);
}

static void provider__first_attempts_pay_for_repeats(void **state) {
  struct fixture *f = *state;
  f->options.budget = (struct hf_budget_options){.burst = 1, .per_second = 0, .share_percent = 20};
  make_ready(f);
  for (int i = 0; i < 7; i++) {
    f->waiters[i] = (struct hf_waiter){.tool = f->tool[0], .until = HF_SECONDS(60), .is_retry = i == 0 || i == 6};
    step(f, (struct hf_provider_event){.kind = HF_PROVIDER_ACQUIRE, .waiter = &f->waiters[i]}, 0);
    granted(f, 0, i);
  }
}

static void provider__is_stopped_however_short_and_until_the_last_moment(void **state) {
  struct fixture *f = *state;
  trip_provider(f);
  ask_as(f, 0, 0, 0, view(f).breaker_until, 0);
  refused(f, 0, HF_DENIAL_BREAKER); /* it would be half-open when it is too late */
  hf_provider_unref(f->provider);
  f->options.breaker.open = f->options.breaker.max_open = 1;
  trip_provider(f);
  assert_int_equal(view(f).breaker_until, 1);
  ask(f, 0, 0, false, 0);
  refused(f, 0, HF_DENIAL_BREAKER);
}

static void provider__who_waits_for_anothers_probe_waits_as_long_as_it_can(void **state) {
  struct fixture *f = *state;
  f->options.probe_timeout = 0;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, false, due);
  struct hf_permit probe = granted(f, 0, 0);
  ask_as(f, 1, 0, 0, HF_SECONDS(1), due); /* the probe's lease is longer than that */
  nothing(f);
  report(f, 0, probe, HF_BLAME_SUCCESS, due + 1);
  granted(f, 0, 1);
}

static void provider__each_lease_has_its_end(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  for (int t = 0; t < 3; t++) {
    one(f, t, HF_BLAME_SUCCESS, 0); /* so that it is never two tools that fail */
    for (int i = 0; i < 5; i++)
      one(f, t, HF_BLAME_TOOL, 0);
  }
  hf_time due = HF_SECONDS(100);
  for (int t = 0; t < 3; t++) {
    assert_int_equal(tool_state(f, t), HF_BREAKER_OPEN);
    ask_as(f, t, t, 0, HF_SECONDS(10 + t), due);
    assert_true(granted(f, 0, t).tool_probe);
  }
  for (int t = 0; t < 3; t++) {
    assert_int_equal(hf_provider_deadline(f->provider), due + HF_SECONDS(11 + t));
    timer(f, due + HF_SECONDS(11 + t));
    assert_int_equal(tool_state(f, t), HF_BREAKER_OPEN);
  }
  assert_int_equal(hf_provider_deadline(f->provider), HF_TIME_NEVER);
}

static void provider__lost_probe_is_followed_by_a_synthetic_one(void **state) {
  struct fixture *f = *state;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, false, due);
  assert_int_equal(hf_provider_deadline(f->provider), due + HF_SECONDS(5));
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = true}, due);
  granted(f, 0, 0);
  due = hf_provider_deadline(f->provider);
  timer(f, due);
  ask(f, 1, 0, false, due);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_PROBE_UPSTREAM);
  withdraw(f, 1, due);
}

static void provider__synthetic_probe_ends_with_the_server(void **state) {
  struct fixture *f = *state;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, true, due);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_PROBE_UPSTREAM);
  down(f, HF_EVIDENCE_NONE, due, due + 1);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_START_UPSTREAM);
  assert_int_equal(hf_provider_deadline(f->provider), HF_TIME_NEVER);
  withdraw(f, 0, due + 1);
}

static void provider__late_result_does_not_disturb_a_synthetic_probe(void **state) {
  struct fixture *f = *state;
  make_ready(f);
  ask(f, 1, 1, false, 0);
  struct hf_permit early = granted(f, 0, 1);
  for (int i = 0; i < 5; i++)
    one(f, 0, HF_BLAME_PROVIDER, 0);
  hf_time due = view(f).breaker_until;
  ask(f, 0, 0, true, due);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_PROBE_UPSTREAM);
  report(f, 1, early, HF_BLAME_SUCCESS, due);
  nothing(f);
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = true}, due);
  granted(f, 0, 0);
}

/* Call 0 has given its slot back and its verdict is still to come; call 1 has the only slot. */
static struct hf_permit verdict_to_come(struct fixture *f) {
  f->options.max_concurrent = 1;
  f->options.breaker.failures = 1;
  make_ready(f);
  ask(f, 0, 0, false, 0);
  struct hf_permit permit = granted(f, 0, 0);
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = f->tool[0];
  event.report.report =
      (struct hf_report){.permit = permit, .blame = HF_BLAME_PROVIDER, .retry_after = -1, .deferred = true};
  step(f, event, 0);
  ask(f, 1, 0, false, 0);
  granted(f, 0, 1);
  permit.holds_slot = false;
  return permit;
}

static void provider__tells_everybody_who_waits_that_it_is_open(void **state) {
  struct fixture *f = *state;
  struct hf_permit permit = verdict_to_come(f);
  ask(f, 2, 0, false, 0);
  nothing(f);
  report(f, 0, permit, HF_BLAME_PROVIDER, 1);
  refused(f, 0, HF_DENIAL_BREAKER); /* though there was no slot to hand out */
}

static void provider__tells_everybody_who_waits_that_a_probe_failed(void **state) {
  struct fixture *f = *state;
  struct hf_permit permit = verdict_to_come(f);
  report(f, 0, permit, HF_BLAME_PROVIDER, 0);
  hf_time due = view(f).breaker_until;
  ask_as(f, 2, 0, 0, HF_SECONDS(20), due);
  assert_int_equal(f->acts.items[0].kind, HF_PROVIDER_PROBE_UPSTREAM);
  step(f, (struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = false}, due);
  refused(f, 0, HF_DENIAL_BREAKER);
}

static void provider__one_failing_tool_is_no_trouble_of_its_own(void **state) {
  struct fixture *f = *state;
  f->options.breaker.failures = 3;
  make_ready(f);
  one(f, 0, HF_BLAME_TOOL, 0);
  one(f, 1, HF_BLAME_TOOL, 0);
  one(f, 2, HF_BLAME_SUCCESS, 0); /* all is forgotten */
  for (int i = 0; i < 4; i++)
    one(f, 1, HF_BLAME_TOOL, 0);
  assert_int_equal(view(f).breaker, HF_BREAKER_CLOSED);
}

static void provider__start_that_fails_before_its_time_prolongs_nothing(void **state) {
  struct fixture *f = *state;
  trip_provider(f);
  hf_time due = view(f).breaker_until;
  down(f, HF_EVIDENCE_BROKE, 0, HF_SECONDS(5));
  down(f, HF_EVIDENCE_NOT_STARTED, 0, HF_SECONDS(10)); /* it had started by itself */
  assert_int_equal(view(f).breaker_until, due);
  down(f, HF_EVIDENCE_NOT_STARTED, 0, due);
  assert_true(view(f).breaker_until >= due + HF_SECONDS(30));
}

static void provider__who_would_just_make_it_may_wait(void **state) {
  for (int late = 0; late < 2; late++) {
    struct fixture *f = *state;
    hf_provider_unref(f->provider);
    one_slot_of_a_second(f, HF_SECONDS(1));
    ask_as(f, 1, 0, 0, HF_SECONDS(2) - late, HF_SECONDS(1)); /* a second for the slot, and one to use it */
    if (late) {
      refused(f, 0, HF_DENIAL_LIMIT);
    } else {
      nothing(f);
      withdraw(f, 1, HF_SECONDS(1));
    }
  }
}

static void provider__slow_may_be_as_little_as_can_be_measured(void **state) {
  struct fixture *f = *state;
  make_slow(f, 1);
  for (int i = 0; i < 5; i++) {
    ask(f, 0, 0, false, 0);
    succeed(f, 0, granted(f, 0, 0), 2, 0);
  }
  assert_int_equal(tool_state(f, 0), HF_BREAKER_OPEN);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(provider__starts_the_upstream_for_the_first_call),
      TEST(provider__waits_out_the_pause_before_a_restart),
      TEST(provider__failed_start_refuses_those_who_wait_and_counts_once),
      TEST(provider__a_start_of_the_upstreams_own_that_fails_counts_for_those_who_wait),
      TEST(provider__parked_upstream_refuses_at_once_and_says_why),
      TEST(provider__stopping_on_purpose_counts_against_nobody),
      TEST(provider__limits_what_is_in_flight_first_come_first),
      TEST(provider__full_queue_refuses),
      TEST(provider__more_grants_than_one_list_holds_come_at_once),
      TEST(provider__budget_holds_back_repeats_only),
      TEST(provider__connection_faults_open_its_breaker),
      TEST(provider__one_tools_faults_open_only_that_tools_breaker),
      TEST(provider__two_tools_failing_with_no_success_between_count_against_it),
      TEST(provider__answers_that_are_no_good_are_the_tools_alone),
      TEST(provider__a_success_between_clears_it),
      TEST(provider__the_callers_own_errors_never_open_a_breaker),
      TEST(provider__a_calls_retries_count_once),
      TEST(provider__half_open_lets_one_through_and_the_patient_wait),
      TEST(provider__failed_probe_refuses_those_who_cannot_wait_so_long),
      TEST(provider__neutral_probe_hands_the_lease_to_the_next),
      TEST(provider__lost_probe_frees_the_breaker_and_its_late_result_is_ignored),
      TEST(provider__results_from_before_the_trip_are_ignored),
      TEST(provider__synthetic_probe_only_admits_the_real_one),
      TEST(provider__failed_or_silent_synthetic_probe_keeps_it_open),
      TEST(provider__breaker_is_not_wedged_on_a_dead_child),
      TEST(provider__clock_that_goes_back_does_no_harm),
      TEST(provider__tools_keep_what_was_learnt),
      TEST(provider__tools_beyond_the_limit_share_one_breaker),
      TEST(provider__permit_outlives_a_reload),
      TEST(provider__queued_waiter_cannot_ask_twice),
      TEST(provider__a_full_tool_blocks_no_other),
      TEST(provider__a_raised_limit_helps_those_who_wait),
      TEST(provider__more_important_calls_go_first),
      TEST(provider__nobody_is_passed_by_for_ever),
      TEST(provider__full_queue_gives_way_to_the_more_important),
      TEST(provider__refuses_at_once_who_would_come_too_late),
      TEST(provider__a_full_tools_queue_is_its_own),
      TEST(provider__who_waited_max_wait_for_a_slot_is_refused),
      TEST(provider__max_wait_is_only_about_slots),
      TEST(provider__without_max_wait_only_the_deadline_counts),
      TEST(provider__limit_follows_the_latency),
      TEST(provider__the_mix_of_tools_does_not_move_the_limit),
      TEST(provider__overload_that_is_answered_counts_for_the_limit),
      TEST(provider__slow_answers_open_the_tools_breaker_alone),
      TEST(provider__slow_probe_reopens),
      TEST(provider__slow_means_nothing_where_it_is_not_set),
      TEST(provider__permits_say_when_a_hedge_makes_sense),
      TEST(provider__failures_are_no_latencies),
      TEST(provider__its_gate_says_what_a_call_would_be_told),
      TEST(provider__waiting_for_a_slot_begins_anew_after_an_outage),
      TEST(provider__each_bulkhead_has_its_own_line),
      TEST(provider__out_of_memory_is_an_error),
      TEST(provider__a_reload_reaches_all_of_it),
      TEST(provider__begins_at_the_time_it_was_made),
      TEST(provider__refusal_says_why_the_server_is_down_while_it_is),
      TEST(provider__refusal_before_the_first_start_blames_nobody),
      TEST(provider__who_waits_without_a_limit_gets_the_slot),
      TEST(provider__refuses_events_that_it_does_not_know),
      TEST(provider__shows_its_tools),
      TEST(provider__leaves_room_in_a_list_for_a_start_and_a_probe),
      TEST(provider__what_a_call_says_of_the_limit),
      TEST(provider__answers_that_took_no_time_have_a_latency),
      TEST(provider__first_attempts_pay_for_repeats),
      TEST(provider__is_stopped_however_short_and_until_the_last_moment),
      TEST(provider__who_waits_for_anothers_probe_waits_as_long_as_it_can),
      TEST(provider__each_lease_has_its_end),
      TEST(provider__lost_probe_is_followed_by_a_synthetic_one),
      TEST(provider__synthetic_probe_ends_with_the_server),
      TEST(provider__late_result_does_not_disturb_a_synthetic_probe),
      TEST(provider__tells_everybody_who_waits_that_it_is_open),
      TEST(provider__tells_everybody_who_waits_that_a_probe_failed),
      TEST(provider__one_failing_tool_is_no_trouble_of_its_own),
      TEST(provider__start_that_fails_before_its_time_prolongs_nothing),
      TEST(provider__who_would_just_make_it_may_wait),
      TEST(provider__slow_may_be_as_little_as_can_be_measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
