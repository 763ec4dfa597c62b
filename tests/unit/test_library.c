/* libholdfast as a program sees it that embeds it: only what is installed is included, but for the heap's fault
 * injection. That the kernel decides rightly is tested where it lives; here, that the library carries it out. */
#include "base/alloc.h"
#include "holdfast/breaker.h"
#include "holdfast/budget.h"
#include "holdfast/call.h"
#include "holdfast/classify.h"
#include "holdfast/error.h"
#include "holdfast/limiter.h"
#include "holdfast/provider.h"
#include "holdfast/retry.h"
#include "holdfast/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void error__has_a_name_and_a_text(void **state) {
  (void)state;
  assert_string_equal(hf_err_name(HF_ERR_NOMEM), "NOMEM");
  assert_string_equal(hf_err_text(HF_ERR_INVALID), "invalid value");
  assert_int_equal(HF_ERR_INVALID, -4);
}

static void breaker__opens_leases_one_probe_and_closes(void **state) {
  (void)state;
  struct hf_breaker_options options = HF_BREAKER_OPTIONS_INIT;
  options.failures = 2;
  options.open = HF_SECONDS(30);
  struct hf_breaker *breaker = hf_breaker_new(&options);
  assert_non_null(breaker);
  uint32_t generation = 0;
  for (int i = 0; i < 2; i++) {
    assert_true(hf_breaker_acquire(breaker, HF_SECONDS(1), HF_SECONDS(2), &generation));
    assert_int_equal(hf_breaker_record(breaker, generation, HF_VERDICT_FAILURE, 0, HF_SECONDS(1), 0), i == 1);
  }

  struct hf_breaker_view view;
  hf_breaker_view(breaker, &view);
  assert_int_equal(view.state, HF_BREAKER_OPEN);
  assert_int_equal(view.consecutive, 2);
  assert_int_equal(view.until, HF_SECONDS(31));
  uint32_t untouched = 77;
  assert_false(hf_breaker_acquire(breaker, HF_SECONDS(30), HF_SECONDS(40), &untouched));
  assert_int_equal(untouched, 77);

  uint32_t late = generation;
  assert_true(hf_breaker_acquire(breaker, HF_SECONDS(31), HF_SECONDS(40), &generation));
  assert_false(hf_breaker_acquire(breaker, HF_SECONDS(31), HF_SECONDS(40), &untouched)); /* one probe at a time */
  assert_false(hf_breaker_record(breaker, late, HF_VERDICT_SUCCESS, 0, HF_SECONDS(32), 0));
  assert_true(hf_breaker_record(breaker, generation, HF_VERDICT_SUCCESS, 0, HF_SECONDS(32), 0));
  hf_breaker_view(breaker, &view);
  assert_string_equal(hf_breaker_state_name(view.state), "closed");
  hf_breaker_free(breaker);
}

static void breaker__lost_probe_is_followed_by_another(void **state) {
  (void)state;
  struct hf_breaker_options options = HF_BREAKER_OPTIONS_INIT;
  options.failures = 1;
  struct hf_breaker *breaker = hf_breaker_new(&options);
  assert_non_null(breaker);
  uint32_t first, second;
  assert_true(hf_breaker_acquire(breaker, 0, HF_SECONDS(1), &first));
  assert_true(hf_breaker_record(breaker, first, HF_VERDICT_FAILURE, 0, 0, 0));
  assert_true(hf_breaker_acquire(breaker, HF_SECONDS(30), HF_SECONDS(35), &first));
  assert_false(hf_breaker_acquire(breaker, HF_SECONDS(34), HF_SECONDS(40), &second));
  assert_true(hf_breaker_acquire(breaker, HF_SECONDS(35), HF_SECONDS(40), &second));
  assert_false(hf_breaker_record(breaker, first, HF_VERDICT_SUCCESS, 0, HF_SECONDS(36), 0)); /* it was lost */
  assert_true(hf_breaker_record(breaker, second, HF_VERDICT_SUCCESS, 0, HF_SECONDS(36), 0));
  hf_breaker_free(breaker);
}

static void limiter__follows_its_calls(void **state) {
  (void)state;
  struct hf_limiter_options options = HF_LIMITER_OPTIONS_INIT;
  struct hf_limiter *limiter = hf_limiter_new(&options);
  assert_non_null(limiter);
  assert_int_equal(hf_limiter_limit(limiter), 16);
  for (int i = 0; i < 1000; i++) {
    struct hf_limiter_sample sample = {.started = HF_MS(i), .in_flight = 16, .failed = true};
    hf_limiter_record(limiter, &sample, HF_MS(i) + 1);
  }
  assert_int_equal(hf_limiter_limit(limiter), 1);
  hf_limiter_free(limiter);
  hf_limiter_free(NULL);
}

static void budget__repeats_draw_what_first_attempts_pay_in(void **state) {
  (void)state;
  struct hf_budget_options options = {.burst = 1, .per_second = 0, .share_percent = 50};
  struct hf_budget *budget = hf_budget_new(&options, 0);
  assert_non_null(budget);
  assert_true(hf_budget_withdraw(budget, 0));
  assert_false(hf_budget_withdraw(budget, 0));
  hf_budget_deposit(budget, 0);
  assert_false(hf_budget_withdraw(budget, 0));
  hf_budget_deposit(budget, 0);
  assert_true(hf_budget_withdraw(budget, 0));
  hf_budget_free(budget);
}

static void retry__pauses_and_reads_the_header(void **state) {
  (void)state;
  struct hf_retry_options options = HF_RETRY_OPTIONS_INIT;
  assert_int_equal(hf_retry_pause(&options, 3, -1, UINT64_MAX), HF_SECONDS(2));
  hf_time pause = -7;
  assert_int_equal(hf_retry_after_read("120, and more", 3, 0, &pause), 0);
  assert_int_equal(pause, HF_SECONDS(120));
  assert_int_equal(hf_retry_after_read("soon", 4, 0, &pause), HF_ERR_SYNTAX);
  assert_int_equal(pause, HF_SECONDS(120));
}

static void classify__says_what_a_status_means(void **state) {
  (void)state;
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  evidence.http_status = 502;
  evidence.handed_over = true;
  struct hf_verdict_row row = hf_classify(&evidence);
  assert_string_equal(hf_fault_name(row.fault), "server_error");
  assert_int_equal(row.executed, HF_EXECUTED_MAYBE);
  assert_int_equal(row.repeat, HF_REPEAT_TRANSIENT);
}

static const struct hf_call_target read_only = {.safety = HF_SAFETY_READ_ONLY};

static struct hf_call_options call_options(void) {
  return (struct hf_call_options){.timeout = HF_TIMEOUT_OPTIONS_INIT,
                                  .retry = HF_RETRY_OPTIONS_INIT,
                                  .targets = &read_only,
                                  .target_count = 1,
                                  .seed = 1};
}

static void call__is_found_by_its_waiter_and_used_again(void **state) {
  (void)state;
  int mine;
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  struct hf_provider *provider = hf_provider_new(&options, 1, 0);
  struct hf_provider_tool *tool;
  assert_int_equal(hf_provider_tool_named(provider, "GET /", &options.breaker, &tool), 0);
  struct hf_provider_actions granted;
  assert_int_equal(
      hf_provider_step(provider, &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY}, 0, &granted), 0);

  struct hf_call_options of_call = call_options();
  struct hf_call *call;
  assert_int_equal(hf_call_new(&of_call, &mine, &call), 0);
  for (int round = 0; round < 2; round++) {
    struct hf_call_actions actions;
    assert_int_equal(hf_call_step(call, &(struct hf_call_event){.kind = HF_CALL_STARTED}, 0, &actions), 0);
    assert_int_equal(actions.items[0].kind, HF_CALL_ACQUIRE);
    struct hf_provider_event acquire = {.kind = HF_PROVIDER_ACQUIRE};
    acquire.waiter = hf_call_waiter(call, tool);
    assert_int_equal(hf_provider_step(provider, &acquire, 0, &granted), 0);
    assert_int_equal(granted.items[0].kind, HF_PROVIDER_GRANT);
    assert_ptr_equal(hf_call_of(granted.items[0].waiter), call);
    assert_ptr_equal(hf_call_owner(call), &mine);
    assert_int_equal(hf_call_reset(call, &of_call), HF_ERR_BUSY);

    struct hf_call_event event = {.kind = HF_CALL_PERMIT_GRANTED, .granted.permit = granted.items[0].permit};
    assert_int_equal(hf_call_step(call, &event, 0, &actions), 0);
    assert_int_equal(actions.items[0].kind, HF_CALL_START_ATTEMPT);
    event = (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .done.result = HF_ATTEMPT_SUCCESS};
    assert_int_equal(hf_call_step(call, &event, 0, &actions), 0);
    assert_int_equal(actions.items[0].kind, HF_CALL_REPORT);
    struct hf_provider_event report = {.kind = HF_PROVIDER_REPORT};
    report.report.tool = tool;
    report.report.report = actions.items[0].report;
    assert_int_equal(hf_provider_step(provider, &report, 0, &granted), 0);
    assert_int_equal(actions.items[1].outcome.end, HF_CALL_END_ANSWERED);
    assert_int_equal(hf_call_deadline(call), HF_TIME_NEVER);
    assert_int_equal(hf_call_reset(call, &of_call), 0);
  }
  hf_call_free(call);
  hf_provider_unref(provider);
}

static void call__wants_one_target_and_no_more_than_fit(void **state) {
  (void)state;
  struct hf_call_options options = call_options();
  struct hf_call *call = NULL;
  options.target_count = 0;
  assert_int_equal(hf_call_new(&options, NULL, &call), HF_ERR_INVALID);
  assert_null(call);
  options.target_count = 1;
  assert_int_equal(hf_call_new(&options, NULL, &call), 0);
  struct hf_call_target many[HF_CALL_TARGETS_MAX] = {{.safety = HF_SAFETY_READ_ONLY}};
  options.targets = many;
  options.target_count = HF_CALL_TARGETS_MAX;
  assert_int_equal(hf_call_reset(call, &options), 0);
  options.target_count = HF_CALL_TARGETS_MAX + 1;
  assert_int_equal(hf_call_reset(call, &options), HF_ERR_INVALID);
  hf_call_free(call);
}

struct world {
  struct hf_provider_options options;
  struct hf_provider *provider;
  struct hf_provider_tool *tool;
  struct hf_run_options run;
};

static void world_init(struct world *w) {
  *w = (struct world){.options = HF_PROVIDER_OPTIONS_INIT, .run = HF_RUN_OPTIONS_INIT};
  w->run.safety = HF_SAFETY_READ_ONLY;
  w->run.retry.jitter = HF_RETRY_JITTER_NONE;
  w->options.max_concurrent = 1;
  w->options.breaker.failures = 2;
  w->provider = hf_provider_new(&w->options, 1, 0);
  assert_non_null(w->provider);
  assert_int_equal(hf_provider_tool_named(w->provider, "GET /", &w->options.breaker, &w->tool), 0);
}

static struct hf_run *started(struct world *w, hf_time now) {
  struct hf_run *run = NULL;
  assert_int_equal(hf_run_new(w->provider, w->tool, &w->run, now, &run), 0);
  return run;
}

static struct hf_run_order next(struct hf_run *run, hf_time now) {
  struct hf_run_order order;
  hf_run_next(run, now, &order);
  return order;
}

static void sent(struct hf_run *run, unsigned attempt, hf_time now) {
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_SENT, .attempt = attempt};
  event.sent.bytes = 10;
  event.sent.complete = true;
  assert_int_equal(hf_run_tell(run, &event, now), 0);
}

static void done(struct hf_run *run, unsigned attempt, int status, hf_time now) {
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = attempt};
  if (status != 200) {
    event.done.result = HF_ATTEMPT_FAULT;
    event.done.evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
    event.done.evidence.http_status = status;
  }
  assert_int_equal(hf_run_tell(run, &event, now), 0);
}

/* One whole call whose every attempt gets `status`, without jitter. */
static struct hf_outcome outcome_of(struct world *w, int status, hf_time now) {
  struct hf_run *run = started(w, now);
  struct hf_run_order order;
  while ((order = next(run, now)).kind != HF_RUN_FINISHED) {
    if (order.kind == HF_RUN_ATTEMPT) {
      sent(run, order.attempt, now);
      done(run, order.attempt, status, now);
    } else {
      now = order.until;
    }
  }
  hf_run_free(run);
  return order.outcome;
}

static void run__repeats_after_a_pause(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  struct hf_run *run = started(&w, 0);

  struct hf_run_order order = next(run, 0);
  assert_int_equal(order.kind, HF_RUN_ATTEMPT);
  assert_int_equal(order.attempt, 0);
  assert_int_equal(order.connect_by, HF_SECONDS(2));
  assert_int_equal(order.answer_by, HF_SECONDS(20));
  assert_int_equal(next(run, 0).kind, HF_RUN_WAIT); /* an order is given once */
  sent(run, 0, 0);
  done(run, 0, 502, HF_MS(10));

  order = next(run, HF_MS(10));
  assert_int_equal(order.kind, HF_RUN_WAIT);
  assert_int_equal(order.until, HF_MS(510));
  order = next(run, HF_MS(510));
  assert_int_equal(order.kind, HF_RUN_ATTEMPT);
  assert_int_equal(order.attempt, 1);
  sent(run, 1, HF_MS(510));
  done(run, 1, 200, HF_MS(520));

  for (int i = 0; i < 2; i++) {
    order = next(run, HF_MS(520));
    assert_int_equal(order.kind, HF_RUN_FINISHED);
    assert_int_equal(order.outcome.end, HF_CALL_END_ANSWERED);
    assert_int_equal(order.outcome.attempts, 2);
    assert_int_equal(order.outcome.executed, HF_EXECUTED_YES);
  }
  hf_run_free(run);
  hf_provider_unref(w.provider);
}

static void run__unsafe_is_not_repeated_once_it_may_have_run(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  w.run.safety = HF_SAFETY_UNSAFE;
  struct hf_outcome outcome = outcome_of(&w, 502, 0);
  assert_int_equal(outcome.end, HF_CALL_END_UNSAFE);
  assert_int_equal(outcome.executed, HF_EXECUTED_MAYBE);
  assert_int_equal(outcome.attempts, 1);
  outcome = outcome_of(&w, 429, HF_SECONDS(1));
  assert_int_equal(outcome.end, HF_CALL_END_ATTEMPTS);
  assert_int_equal(outcome.executed, HF_EXECUTED_NO);
  assert_int_equal(outcome.attempts, 4);
  hf_provider_unref(w.provider);
}

static void run__aborts_what_takes_too_long(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  struct hf_run *run = started(&w, 0);
  assert_int_equal(next(run, 0).kind, HF_RUN_ATTEMPT);
  struct hf_run_order order = next(run, 0);
  assert_int_equal(order.until, HF_SECONDS(2));
  sent(run, 0, HF_SECONDS(1));
  assert_int_equal(next(run, HF_SECONDS(2)).until, HF_SECONDS(20));
  order = next(run, HF_SECONDS(20));
  assert_int_equal(order.kind, HF_RUN_ABORT);
  assert_int_equal(order.attempt, 0);
  assert_int_equal(next(run, HF_SECONDS(20)).kind, HF_RUN_WAIT);
  done(run, 0, 200, HF_SECONDS(20)); /* late: ignored */
  assert_int_equal(next(run, HF_SECONDS(20)).kind, HF_RUN_WAIT);
  hf_run_free(run);
  hf_provider_unref(w.provider);
}

static void run__that_nobody_waits_for_takes_the_time_of_a_task(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  struct hf_run *run = started(&w, 0);
  assert_int_equal(next(run, 0).answer_by, HF_SECONDS(20));
  sent(run, 0, HF_SECONDS(1));
  hf_run_outlive(run);
  assert_int_equal(next(run, HF_SECONDS(20)).until, HF_SECONDS(3600));
  done(run, 0, 200, HF_SECONDS(3599));
  assert_int_equal(next(run, HF_SECONDS(3599)).outcome.end, HF_CALL_END_ANSWERED);
  hf_run_free(run);
  hf_provider_unref(w.provider);
}

static void run__attempt_that_was_never_fetched_needs_no_abort(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  struct hf_run *run = started(&w, 0);
  assert_int_equal(hf_run_tell(run, &(struct hf_call_event){.kind = HF_CALL_CANCELLED}, HF_MS(1)), 0);
  struct hf_run_order order = next(run, HF_MS(1));
  assert_int_equal(order.kind, HF_RUN_FINISHED);
  assert_int_equal(order.outcome.end, HF_CALL_END_CANCELLED);
  assert_int_equal(order.outcome.executed, HF_EXECUTED_NO);
  hf_run_free(run);
  hf_provider_unref(w.provider);
}

static void run__breaker_opens_refuses_at_once_and_recovers(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  w.run.safety = HF_SAFETY_UNSAFE; /* no waiting for half-open */
  assert_int_equal(outcome_of(&w, 502, 0).end, HF_CALL_END_UNSAFE);
  assert_int_equal(outcome_of(&w, 502, 0).end, HF_CALL_END_UNSAFE);

  struct hf_outcome outcome = outcome_of(&w, 200, HF_SECONDS(1));
  assert_int_equal(outcome.end, HF_CALL_END_REFUSED);
  assert_int_equal(outcome.fault, HF_FAULT_BREAKER_OPEN);
  assert_int_equal(outcome.attempts, 0);
  struct hf_breaker_view view;
  hf_breaker_view(hf_provider_tool_breaker(w.tool), &view);
  assert_int_equal(view.state, HF_BREAKER_OPEN);
  assert_int_equal(outcome.retry_after, view.until - HF_SECONDS(1));

  outcome = outcome_of(&w, 200, view.until);
  assert_int_equal(outcome.end, HF_CALL_END_ANSWERED);
  hf_breaker_view(hf_provider_tool_breaker(w.tool), &view);
  assert_int_equal(view.state, HF_BREAKER_CLOSED);
  hf_provider_unref(w.provider);
}

static void run__open_provider_needs_no_synthetic_probe(void **state) {
  (void)state;
  struct world w;
  world_init(&w); /* connection faults, so that the provider's breaker opens; probe_timeout is set */
  w.run.retry.attempts = 1;
  for (int i = 0; i < 2; i++) {
    struct hf_run *run = started(&w, 0);
    assert_int_equal(next(run, 0).kind, HF_RUN_ATTEMPT);
    struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE};
    event.done.result = HF_ATTEMPT_FAULT;
    event.done.evidence = HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED);
    assert_int_equal(hf_run_tell(run, &event, 0), 0);
    hf_run_free(run);
  }
  struct hf_provider_view view;
  hf_provider_view(w.provider, &view);
  assert_int_equal(view.breaker, HF_BREAKER_OPEN);
  assert_int_equal(outcome_of(&w, 200, view.breaker_until).end, HF_CALL_END_ANSWERED);
  hf_provider_view(w.provider, &view);
  assert_int_equal(view.breaker, HF_BREAKER_CLOSED);
  hf_provider_unref(w.provider);
}

static void run__slot_passes_to_the_one_that_waits(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  struct hf_run *first = started(&w, 0), *second = started(&w, 0), *third = started(&w, 0);
  assert_int_equal(next(first, 0).kind, HF_RUN_ATTEMPT);
  assert_int_equal(next(second, 0).kind, HF_RUN_WAIT);
  assert_int_equal(next(third, 0).kind, HF_RUN_WAIT);
  done(first, 0, 200, HF_MS(1));
  assert_int_equal(next(second, HF_MS(1)).kind, HF_RUN_ATTEMPT);
  assert_int_equal(next(third, HF_MS(1)).kind, HF_RUN_WAIT);
  hf_run_free(second); /* unfinished: its slot goes on */
  assert_int_equal(next(third, HF_MS(1)).kind, HF_RUN_ATTEMPT);
  hf_run_free(third);
  hf_run_free(first);
  struct hf_provider_view view;
  hf_provider_view(w.provider, &view);
  assert_int_equal(view.in_flight, 0);
  assert_int_equal(view.queued, 0);
  hf_provider_unref(w.provider);
}

static void run__many_doomed_at_once_end_by_their_deadline(void **state) {
  (void)state;
  enum { COUNT = 100 };
  struct world w;
  world_init(&w);
  struct hf_run *runs[COUNT];
  for (int i = 0; i < COUNT; i++)
    runs[i] = started(&w, 0);
  assert_int_equal(next(runs[0], 0).kind, HF_RUN_ATTEMPT);
  for (int i = 0; i < COUNT; i++) {
    struct hf_run_order order = next(runs[i], HF_SECONDS(55));
    while (order.kind == HF_RUN_ABORT)
      order = next(runs[i], HF_SECONDS(55));
    assert_int_equal(order.kind, HF_RUN_FINISHED);
    bool had_slot = order.outcome.attempts > 0; /* the others have waited for one for as long as they may */
    assert_int_equal(order.outcome.end, had_slot ? HF_CALL_END_DEADLINE : HF_CALL_END_HINT);
    hf_run_free(runs[i]);
  }
  hf_provider_unref(w.provider);
}

static void run__refuses_events_that_are_not_its_owners(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  struct hf_run *run = started(&w, 0);
  assert_int_equal(hf_run_tell(run, &(struct hf_call_event){.kind = HF_CALL_STARTED}, 0), HF_ERR_INVALID);
  assert_int_equal(hf_run_tell(run, &(struct hf_call_event){.kind = HF_CALL_PERMIT_GRANTED}, 0), HF_ERR_INVALID);
  assert_int_equal(hf_run_tell(run, &(struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE, .attempt = 1}, 0),
                   HF_ERR_INVALID);
  assert_int_equal(next(run, 0).kind, HF_RUN_ATTEMPT);
  hf_run_free(run);
  hf_provider_unref(w.provider);
}

static void library__reports_missing_memory(void **state) {
  (void)state;
  struct world w;
  world_init(&w);
  struct hf_call_options of_call = call_options();
  struct hf_budget_options of_budget = HF_BUDGET_OPTIONS_INIT;
  struct hf_call *call = NULL;
  struct hf_run *run = NULL;
  struct hf_provider_tool *tool = NULL;
  hf_alloc_fail_after(0);
  assert_null(hf_breaker_new(&w.options.breaker));
  hf_alloc_fail_after(0);
  assert_null(hf_budget_new(&of_budget, 0));
  hf_alloc_fail_after(0);
  assert_null(hf_provider_new(&w.options, 1, 0));
  hf_alloc_fail_after(0);
  assert_int_equal(hf_call_new(&of_call, NULL, &call), HF_ERR_NOMEM);
  hf_alloc_fail_after(0);
  assert_int_equal(hf_run_new(w.provider, w.tool, &w.run, 0, &run), HF_ERR_NOMEM);
  hf_alloc_fail_after(0);
  assert_int_equal(hf_provider_tool_named(w.provider, "other", &w.options.breaker, &tool), HF_ERR_NOMEM);
  hf_alloc_fail_after(-1);
  assert_null(call);
  assert_null(run);
  assert_null(tool);
  hf_provider_unref(w.provider);
}

static void library__frees_nothing_of_null(void **state) {
  (void)state;
  unsigned long before = hf_alloc_count();
  hf_breaker_free(NULL);
  hf_budget_free(NULL);
  hf_call_free(NULL);
  hf_run_free(NULL);
  hf_provider_unref(NULL);
  assert_int_equal(hf_alloc_count(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(error__has_a_name_and_a_text),
      cmocka_unit_test(breaker__opens_leases_one_probe_and_closes),
      cmocka_unit_test(breaker__lost_probe_is_followed_by_another),
      cmocka_unit_test(budget__repeats_draw_what_first_attempts_pay_in),
      cmocka_unit_test(limiter__follows_its_calls),
      cmocka_unit_test(retry__pauses_and_reads_the_header),
      cmocka_unit_test(classify__says_what_a_status_means),
      cmocka_unit_test(call__is_found_by_its_waiter_and_used_again),
      cmocka_unit_test(call__wants_one_target_and_no_more_than_fit),
      cmocka_unit_test(run__repeats_after_a_pause),
      cmocka_unit_test(run__unsafe_is_not_repeated_once_it_may_have_run),
      cmocka_unit_test(run__aborts_what_takes_too_long),
      cmocka_unit_test(run__that_nobody_waits_for_takes_the_time_of_a_task),
      cmocka_unit_test(run__attempt_that_was_never_fetched_needs_no_abort),
      cmocka_unit_test(run__breaker_opens_refuses_at_once_and_recovers),
      cmocka_unit_test(run__open_provider_needs_no_synthetic_probe),
      cmocka_unit_test(run__slot_passes_to_the_one_that_waits),
      cmocka_unit_test(run__many_doomed_at_once_end_by_their_deadline),
      cmocka_unit_test(run__refuses_events_that_are_not_its_owners),
      cmocka_unit_test(library__reports_missing_memory),
      cmocka_unit_test(library__frees_nothing_of_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
