#include "trace.h"

#include "base/list.h"

static const char *const abort_names[] = {"connect", "idle", "attempt", "deadline", "cancelled", "hedged"};
static const char *const blame_names[] = {"nobody", "tool", "provider", "success"};
static const char *const denial_names[] = {"breaker", "limit", "budget", "down"};
static const char *const evidence_names[] = {"none",
                                             "connect refused",
                                             "connect timeout",
                                             "tls handshake",
                                             "dns temporary",
                                             "not started",
                                             "no such host",
                                             "bad certificate",
                                             "command not found",
                                             "breaker open",
                                             "local limit",
                                             "broke",
                                             "timed out",
                                             "http",
                                             "bad reply",
                                             "json-rpc",
                                             "tool error",
                                             "cancelled",
                                             "deadline"};
static const char *const result_names[] = {"success", "pending"};
static const char *const check_names[] = {"unknown", "ran", "did not run"};
static const char *const letter_names[] = {"none", "written", "failed"};

static void print_time(FILE *trace, hf_time at) {
  fprintf(trace, "%lld.%03lld", (long long)(at / 1000000), (long long)(at / 1000 % 1000));
}

static void print_permit(FILE *trace, const struct hf_permit *permit) {
  fprintf(trace, " generation %u/%u%s%s", permit->provider_generation, permit->tool_generation,
          permit->provider_probe ? " probe-of-provider" : "", permit->tool_probe ? " probe-of-tool" : "");
}

static void print_call_event(FILE *trace, const struct hf_call_event *event) {
  switch (event->kind) {
  case HF_CALL_STARTED:
    fputs("started", trace);
    break;
  case HF_CALL_PERMIT_GRANTED:
    fputs("granted", trace);
    break;
  case HF_CALL_PERMIT_REFUSED:
    fprintf(trace, "refused: %s", denial_names[event->refused.reason]);
    break;
  case HF_CALL_ATTEMPT_SENT:
    fprintf(trace, "attempt %u %s", event->attempt, event->sent.complete ? "handed over" : "partly sent");
    break;
  case HF_CALL_SIGN_OF_LIFE:
    fprintf(trace, "attempt %u sign of life", event->attempt);
    break;
  case HF_CALL_ANSWER_BYTES:
    fprintf(trace, "attempt %u answers", event->attempt);
    break;
  case HF_CALL_ATTEMPT_DONE:
    if (event->done.result == HF_ATTEMPT_FAULT) {
      struct hf_evidence evidence = event->done.evidence;
      fprintf(trace, "attempt %u fault: %s", event->attempt, evidence_names[evidence.kind]);
      if (evidence.http_status)
        fprintf(trace, " %d", evidence.http_status);
      if (evidence.jsonrpc_code)
        fprintf(trace, " %d", evidence.jsonrpc_code);
    } else {
      fprintf(trace, "attempt %u %s", event->attempt, result_names[event->done.result]);
    }
    break;
  case HF_CALL_PAUSED:
    fprintf(trace, "attempt %u asks a person", event->attempt);
    break;
  case HF_CALL_RESUMED:
    fprintf(trace, "attempt %u is answered", event->attempt);
    break;
  case HF_CALL_CHECKED:
    fprintf(trace, "checked: %s", check_names[event->check]);
    break;
  case HF_CALL_DEGRADED:
    fprintf(trace, "offered: %s",
            event->degraded.source == HF_SOURCE_LIVE ? "nothing" : hf_source_name(event->degraded.source));
    break;
  case HF_CALL_LETTER_DONE:
    fprintf(trace, "letter %s", event->letter_written ? "written" : "failed");
    break;
  case HF_CALL_TIMER:
    fputs("timer", trace);
    break;
  case HF_CALL_CANCELLED:
    fputs("cancelled", trace);
    break;
  }
}

static void print_outcome(FILE *trace, const struct hf_outcome *o) {
  fprintf(trace, "%s: fault %s, executed %s, attempts %u, elapsed ", hf_call_end_name(o->end), hf_fault_name(o->fault),
          hf_executed_name(o->executed), o->attempts);
  print_time(trace, o->elapsed);
  if (o->retry_after >= 0) {
    fputs(", retry after ", trace);
    print_time(trace, o->retry_after);
  }
  if (o->provider > 0)
    fprintf(trace, ", target %u", o->provider);
  if (o->source != HF_SOURCE_LIVE)
    fprintf(trace, ", source %s", hf_source_name(o->source));
  if (o->letter != HF_LETTER_NONE)
    fprintf(trace, ", letter %s", letter_names[o->letter]);
}

/* Where a call has one target only, nothing is said of it. */
static void print_target(FILE *trace, const struct sim_call *call, const struct hf_call_action *action) {
  if (call->route_len > 1)
    fprintf(trace, " at target %u", action->provider);
}

static void print_call_action(FILE *trace, const struct sim_call *call, const struct hf_call_action *action) {
  switch (action->kind) {
  case HF_CALL_ACQUIRE:
    fputs("acquire", trace);
    print_target(trace, call, action);
    break;
  case HF_CALL_WITHDRAW:
    fputs("withdraw", trace);
    print_target(trace, call, action);
    break;
  case HF_CALL_START_ATTEMPT:
    fprintf(trace, "start attempt %u%s%s", action->start.attempt, action->start.new_session ? " in a new session" : "",
            action->start.hedge ? " as a hedge" : "");
    break;
  case HF_CALL_ABORT_ATTEMPT:
    fprintf(trace, "abort attempt %u: %s", action->abort.attempt, abort_names[action->abort.reason]);
    break;
  case HF_CALL_REPORT:
    fprintf(trace, "report %s%s", blame_names[action->report.blame], action->report.deferred ? " (deferred)" : "");
    print_target(trace, call, action);
    break;
  case HF_CALL_CHECK:
    fputs("check by ", trace);
    print_time(trace, action->check_by);
    break;
  case HF_CALL_ABORT_CHECK:
    fputs("abort check", trace);
    break;
  case HF_CALL_DEGRADE:
    fputs("degrade", trace);
    break;
  case HF_CALL_DEAD_LETTER:
    fputs("write letter of ", trace);
    print_outcome(trace, &action->outcome);
    break;
  case HF_CALL_FINISH:
    fputs("finish ", trace);
    print_outcome(trace, &action->outcome);
    break;
  }
}

void trace_call(FILE *trace, hf_time now, const struct sim_call *call, const struct hf_call_event *event,
                const struct hf_call_actions *actions) {
  if (!trace)
    return;
  print_time(trace, now);
  fprintf(trace, " call %u: ", call->number);
  print_call_event(trace, event);
  for (unsigned i = 0; i < actions->len; i++) {
    fputs(i == 0 ? " -> " : "; ", trace);
    print_call_action(trace, call, &actions->items[i]);
  }
  fputc('\n', trace);
}

static void print_provider_event(FILE *trace, const struct hf_provider_event *event) {
  switch (event->kind) {
  case HF_PROVIDER_ACQUIRE:
    fputs("acquire", trace);
    break;
  case HF_PROVIDER_WITHDRAW:
    fputs("withdraw", trace);
    break;
  case HF_PROVIDER_REPORT:
    fprintf(trace, "report %s%s", blame_names[event->report.report.blame],
            event->report.report.deferred ? " (deferred)" : "");
    print_permit(trace, &event->report.report.permit);
    break;
  case HF_PROVIDER_UPSTREAM_READY:
    fputs("upstream ready", trace);
    break;
  case HF_PROVIDER_UPSTREAM_DOWN:
    fputs("upstream down", trace);
    break;
  case HF_PROVIDER_PROBE_DONE:
    fprintf(trace, "probe %s", event->probe_ok ? "passed" : "failed");
    break;
  case HF_PROVIDER_TIMER:
    fputs("timer", trace);
    break;
  }
}

static unsigned call_of(const struct hf_waiter *waiter) {
  const struct hf_call *call = HF_CONTAINER_OF(waiter, struct hf_call, waiter);
  return HF_CONTAINER_OF(call, struct sim_call, call)->number;
}

static void print_provider_action(FILE *trace, const struct hf_provider_action *action) {
  switch (action->kind) {
  case HF_PROVIDER_GRANT:
    fprintf(trace, "grant call %u", call_of(action->waiter));
    print_permit(trace, &action->permit);
    break;
  case HF_PROVIDER_REFUSE:
    fprintf(trace, "refuse call %u: %s", call_of(action->waiter), denial_names[action->refuse.reason]);
    if (action->refuse.retry_at != HF_TIME_NEVER) {
      fputs(", again at ", trace);
      print_time(trace, action->refuse.retry_at);
    }
    break;
  case HF_PROVIDER_START_UPSTREAM:
    fputs("start upstream", trace);
    break;
  case HF_PROVIDER_PROBE_UPSTREAM:
    fputs("probe upstream", trace);
    break;
  }
}

static void print_breaker(FILE *trace, enum hf_breaker_state state, hf_time until) {
  fputs(hf_breaker_state_name(state), trace);
  if (state == HF_BREAKER_CLOSED)
    return;
  fputs(" until ", trace);
  print_time(trace, until);
}

/* The breakers' states stand at the end of each line: of the provider, and of the tools that are not closed. */
static void print_breakers(FILE *trace, const struct sim_provider *provider) {
  struct hf_provider_view view;
  hf_provider_view(provider->provider, &view);
  fputs(" [", trace);
  print_breaker(trace, view.breaker, view.breaker_until);
  for (unsigned i = 0; i < SIM_TOOLS_MAX; i++) {
    const struct hf_breaker *b = hf_provider_tool_breaker(provider->tools[i]);
    if (b->state == HF_BREAKER_CLOSED)
      continue;
    fprintf(trace, ", t%u ", i);
    print_breaker(trace, b->state, b->open_until);
  }
  fputc(']', trace);
}

void trace_provider(FILE *trace, hf_time now, const struct sim_provider *provider,
                    const struct hf_provider_event *event, const struct hf_provider_actions *actions) {
  if (!trace)
    return;
  print_time(trace, now);
  fprintf(trace, "   provider %u: ", provider->number);
  print_provider_event(trace, event);
  for (unsigned i = 0; i < actions->len; i++) {
    fputs(i == 0 ? " -> " : "; ", trace);
    print_provider_action(trace, &actions->items[i]);
  }
  print_breakers(trace, provider);
  fputc('\n', trace);
}
