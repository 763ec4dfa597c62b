/* A run: a call, and the carrying of permits and reports between it and its provider.
 *
 * Neither state machine is stepped inside itself or the other: what a provider answers is kept in the run that it is
 * for, which is put on a list, and the list is worked off after the step. It is empty whenever a public function
 * returns. */
#include "holdfast/run.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "policy/call.h"
#include "policy/provider.h"

struct hf_run {
  struct hf_call call;
  struct hf_provider *provider;
  struct hf_provider_tool *tool;

  struct hf_list node;         /* in the list of those that were answered */
  struct hf_call_event answer; /* the provider's, while linked */

  /* Orders that were not fetched yet. */
  bool must_abort;
  bool must_start;
  unsigned aborted;
  struct hf_call_start start;
  struct hf_outcome outcome; /* once the call has finished */
};

static void answer(const struct hf_provider_action *action, struct hf_list *answered) {
  struct hf_run *run = HF_CONTAINER_OF(action->waiter, struct hf_run, call.waiter);
  if (action->kind == HF_PROVIDER_GRANT) {
    run->answer = (struct hf_call_event){.kind = HF_CALL_PERMIT_GRANTED, .granted.permit = action->permit};
  } else {
    run->answer = (struct hf_call_event){.kind = HF_CALL_PERMIT_REFUSED};
    run->answer.refused.reason = action->refuse.reason;
    run->answer.refused.retry_at = action->refuse.retry_at;
    run->answer.refused.evidence = action->refuse.evidence;
  }
  hf_list_push_back(answered, &run->node);
}

/* The upstream is always there, and no synthetic probe stands before a real call. */
static void step_provider(struct hf_provider *provider, struct hf_provider_event event, hf_time now,
                          struct hf_list *answered) {
  for (bool more = true; more;) {
    more = false;
    struct hf_provider_actions actions;
    hf_provider_step(provider, &event, now, &actions);
    for (unsigned i = 0; i < actions.len; i++) {
      switch (actions.items[i].kind) {
      case HF_PROVIDER_GRANT:
      case HF_PROVIDER_REFUSE:
        answer(&actions.items[i], answered);
        break;
      case HF_PROVIDER_START_UPSTREAM:
        event = (struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY};
        more = true;
        break;
      case HF_PROVIDER_PROBE_UPSTREAM:
        event = (struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = true};
        more = true;
        break;
      }
    }
  }
}

static void perform(struct hf_run *run, const struct hf_call_action *action, hf_time now, struct hf_list *answered) {
  struct hf_provider_event event = {.kind = HF_PROVIDER_ACQUIRE};
  switch (action->kind) {
  case HF_CALL_ACQUIRE:
    event.waiter = &run->call.waiter;
    step_provider(run->provider, event, now, answered);
    break;
  case HF_CALL_WITHDRAW:
    event.kind = HF_PROVIDER_WITHDRAW;
    event.waiter = &run->call.waiter;
    step_provider(run->provider, event, now, answered);
    break;
  case HF_CALL_REPORT:
    event.kind = HF_PROVIDER_REPORT;
    event.report.tool = run->tool;
    event.report.report = action->report;
    step_provider(run->provider, event, now, answered);
    break;
  case HF_CALL_START_ATTEMPT:
    run->must_start = true;
    run->start = action->start;
    break;
  case HF_CALL_ABORT_ATTEMPT:
    if (run->must_start) {
      run->must_start = false; /* what nobody was told to start, nobody need abort */
    } else {
      run->must_abort = true;
      run->aborted = action->abort.attempt;
    }
    break;
  case HF_CALL_CHECK:
  case HF_CALL_ABORT_CHECK:
  case HF_CALL_DEGRADE:
  case HF_CALL_DEAD_LETTER:
    break; /* not asked for */
  case HF_CALL_FINISH:
    run->outcome = action->outcome;
    break;
  }
}

static int step_call(struct hf_run *run, const struct hf_call_event *event, hf_time now, struct hf_list *answered) {
  struct hf_call_actions actions;
  int r = hf_call_step(&run->call, event, now, &actions);
  for (unsigned i = 0; i < actions.len; i++)
    perform(run, &actions.items[i], now, answered);
  return r;
}

/* Passes on what the provider answered, and what it answers to that. It ends: an answered call asks again only after a
 * pause. */
static void work_off(struct hf_list *answered, hf_time now) {
  while (!hf_list_empty(answered)) {
    struct hf_run *run = HF_CONTAINER_OF(answered->next, struct hf_run, node);
    hf_list_remove(&run->node);
    struct hf_call_event event = run->answer;
    step_call(run, &event, now, answered);
  }
}

static int step(struct hf_run *run, const struct hf_call_event *event, hf_time now) {
  struct hf_list answered;
  hf_list_init(&answered);
  int r = step_call(run, event, now, &answered);
  work_off(&answered, now);
  return r;
}

int hf_run_new(struct hf_provider *provider, struct hf_provider_tool *tool, const struct hf_run_options *options,
               hf_time now, struct hf_run **ret_run) {
  struct hf_run *run = hf_calloc(1, sizeof *run);
  if (!run)
    return HF_ERR_NOMEM;
  struct hf_call_target target = {.safety = options->safety, .keyed_until = HF_TIME_NEVER};
  struct hf_call_options call_options = {.timeout = options->timeout,
                                         .retry = options->retry,
                                         .hints = options->hints,
                                         .targets = &target,
                                         .target_count = 1,
                                         .seed = options->seed};
  hf_call_init(&run->call, &call_options);
  run->call.waiter.tool = tool;
  run->provider = hf_provider_ref(provider);
  run->tool = tool;
  hf_list_init(&run->node);
  step(run, &(struct hf_call_event){.kind = HF_CALL_STARTED}, now);
  *ret_run = run;
  return 0;
}

void hf_run_free(struct hf_run *run) {
  if (!run)
    return;
  if (!hf_call_finished(&run->call))
    step(run, &(struct hf_call_event){.kind = HF_CALL_CANCELLED}, run->call.now);
  hf_provider_unref(run->provider);
  hf_free(run);
}

void hf_run_outlive(struct hf_run *run) {
  hf_call_outlive(&run->call);
}

static void pass_time(struct hf_run *run, hf_time now) {
  struct hf_list answered;
  hf_list_init(&answered);
  while (hf_provider_deadline(run->provider) <= now) {
    step_provider(run->provider, (struct hf_provider_event){.kind = HF_PROVIDER_TIMER}, now, &answered);
    work_off(&answered, now);
  }
  while (hf_call_deadline(&run->call) <= now)
    step(run, &(struct hf_call_event){.kind = HF_CALL_TIMER}, now);
}

/* When the attempt in flight ends, its connection standing. */
static hf_time answer_limit(const struct hf_run *run) {
  struct hf_call connected = run->call;
  connected.attempt[0].connected = true;
  return hf_call_deadline(&connected);
}

void hf_run_next(struct hf_run *run, hf_time now, struct hf_run_order *ret_order) {
  pass_time(run, now);
  *ret_order = (struct hf_run_order){.kind = HF_RUN_WAIT};
  if (run->must_abort) {
    run->must_abort = false;
    ret_order->kind = HF_RUN_ABORT;
    ret_order->attempt = run->aborted;
  } else if (run->must_start) {
    run->must_start = false;
    ret_order->kind = HF_RUN_ATTEMPT;
    ret_order->attempt = run->start.attempt;
    ret_order->connect_by = run->start.connect_by;
    ret_order->answer_by = answer_limit(run);
    ret_order->new_session = run->start.new_session;
  } else if (hf_call_finished(&run->call)) {
    ret_order->kind = HF_RUN_FINISHED;
    ret_order->outcome = run->outcome;
  } else {
    ret_order->until = hf_time_min(hf_call_deadline(&run->call), hf_provider_deadline(run->provider));
  }
}

int hf_run_tell(struct hf_run *run, const struct hf_call_event *event, hf_time now) {
  switch (event->kind) {
  case HF_CALL_ATTEMPT_SENT:
  case HF_CALL_SIGN_OF_LIFE:
  case HF_CALL_ANSWER_BYTES:
  case HF_CALL_ATTEMPT_DONE:
  case HF_CALL_PAUSED:
  case HF_CALL_RESUMED:
  case HF_CALL_CANCELLED:
    return step(run, event, now);
  case HF_CALL_STARTED:
  case HF_CALL_PERMIT_GRANTED:
  case HF_CALL_PERMIT_REFUSED:
  case HF_CALL_CHECKED:
  case HF_CALL_DEGRADED:
  case HF_CALL_LETTER_DONE:
  case HF_CALL_TIMER:
    break;
  }
  return HF_ERR_INVALID;
}
