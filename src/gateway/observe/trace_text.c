#include "gateway/gateway.h"
#include "gateway/observe/trace_state.h"

enum { SENTENCE_MAX = 2048, PROVIDER_TEXT_MAX = HF_TRACE_NAME_MAX + 16 };

struct telling {
  const struct hf_trace *trace;
  const struct hf_trace_step *step;
  struct hf_buf *out;
  int error;
  char provider[PROVIDER_TEXT_MAX]; /* in quotes */
};

__attribute__((format(printf, 2, 3))) static void say(struct telling *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (t->error == 0)
    t->error = hf_buf_vprintf(t->out, format, args);
  va_end(args);
}

static double seconds(uint32_t ms) {
  return (double)ms / 1000;
}

static unsigned shown_attempt(const struct hf_trace_step *step) {
  return step->attempt + 1U;
}

static void tell_called(struct telling *t) {
  const struct hf_trace *trace = t->trace;
  struct hf_str tool = hf_trace_str(trace, trace->tool);
  struct hf_str who = hf_trace_str(trace, trace->principal);
  say(t, "%s'%.*s' was called", trace->route.len ? "the route " : "", HF_STR_FMT(tool));
  if (who.ptr)
    say(t, " by '%.*s'", HF_STR_FMT(who));
  say(t, t->step->ms == 1 ? "; it goes to " : "; best first, it can go to ");
  for (unsigned i = 0; i < t->step->ms && i < HF_CALL_TARGETS_MAX; i++)
    say(t, "%s'%.*s'", i ? ", " : "", HF_STR_FMT(hf_trace_str(trace, trace->provider[i])));
}

static struct hf_str text_of(const struct telling *t) {
  return hf_trace_str(t->trace, (struct hf_trace_text){(uint16_t)t->step->code, (uint16_t)t->step->ms});
}

static void tell_note(struct telling *t) {
  say(t, "%.*s", HF_STR_FMT(text_of(t)));
}

static void tell_joined(struct telling *t) {
  say(t, "an equal call, %.*s, was under way or just over: this one shares its answer and was not sent",
      HF_STR_FMT(text_of(t)));
}

static void tell_pause(struct telling *t) {
  say(t, "after a failure it waited %.3f s before it asked again", seconds(t->step->ms));
}

static void tell_fallback(struct telling *t) {
  say(t, "it went on to %s", t->provider);
}

static void tell_waits(struct telling *t) {
  say(t, "it waits for the breaker of %s%s, ", t->step->detail == HF_TRACE_WAITS_FOR_TOOL ? "the tool at " : "",
      t->provider);
  if (t->step->ms == HF_TRACE_NO_MS)
    say(t, "whose probe is under way");
  else
    say(t, "which lets a probe through in %.1f s", seconds(t->step->ms));
}

static const char *open_breaker(const struct hf_trace_step *step) {
  bool provider = step->breaker >> 4 != HF_BREAKER_CLOSED;
  return provider ? "the breaker of the server is open" : "the breaker of the tool is open";
}

static void tell_refused(struct telling *t) {
  switch ((enum hf_denial)t->step->detail) {
  case HF_DENIAL_BREAKER:
    say(t, "%s did not get the call: %s after failures before this call", t->provider, open_breaker(t->step));
    break;
  case HF_DENIAL_LIMIT:
    say(t, "%s did not get the call: as many as allowed were in flight, and its queue was full or too slow",
        t->provider);
    break;
  case HF_DENIAL_BUDGET:
    say(t, "%s did not get a repeat: its retry budget was spent, so that repeats don't become a storm", t->provider);
    break;
  case HF_DENIAL_DOWN:
    say(t, "%s did not get the call: it could not be started or connected to", t->provider);
    break;
  }
  if (t->step->ms != HF_TRACE_NO_MS)
    say(t, "; asking again may help in %.1f s", seconds(t->step->ms));
}

static void tell_attempt(struct telling *t) {
  say(t, "attempt %u went to %s", shown_attempt(t->step), t->provider);
  if (t->step->ms != HF_TRACE_NO_MS && t->step->ms > 0)
    say(t, ", after %.3f s in its queue", seconds(t->step->ms));
  if (t->step->detail & HF_TRACE_PROBE)
    say(t, ", as the probe of a breaker that was open");
  if (t->step->detail & HF_TRACE_HEDGE)
    say(t, ", beside one that is slower than most");
  if (t->step->detail & HF_TRACE_NEW_SESSION)
    say(t, ", in a new session, since the last one was lost");
}

static void tell_sent(struct telling *t) {
  say(t, "the last byte of attempt %u was handed over: from here on the tool can run", shown_attempt(t->step));
}

static void tell_life(struct telling *t) {
  say(t, "the server showed a sign of life for attempt %u: the tool may be running", shown_attempt(t->step));
}

static void tell_question(struct telling *t) {
  say(t, "the server asked the client's user something; the time until the answer doesn't count");
}

static void tell_resumed(struct telling *t) {
  say(t, "the server's question was answered, or is void; time counts again");
}

static void tell_answered(struct telling *t) {
  bool pending = t->step->detail == HF_ATTEMPT_PENDING;
  say(t, pending ? "%s answered attempt %u, and wants something before it goes on" : "%s answered attempt %u",
      t->provider, shown_attempt(t->step));
}

static const char *executed_words(enum hf_executed executed) {
  switch (executed) {
  case HF_EXECUTED_NO:
    return "the tool cannot have run";
  case HF_EXECUTED_MAYBE:
    return "the tool may have run";
  case HF_EXECUTED_YES:
    return "the tool has run";
  }
  return "";
}

/* What follows from the row, said once here, because the steps after it only show what was done. */
static const char *consequence(const struct hf_trace_step *step) {
  const struct hf_verdict_row *row = hf_fault_row((enum hf_fault)step->fault);
  if (row->repeat == HF_REPEAT_SESSION)
    return "a new session may mend it";
  if (row->repeat == HF_REPEAT_TRANSIENT)
    return step->executed == HF_EXECUTED_NO ? "a repeat may help and does no harm"
                                            : "a repeat may help, if the tool allows one";
  return row->next == HF_NEXT_NO ? "no repeat can mend it" : "no repeat can mend it there";
}

static void tell_failed(struct telling *t) {
  const struct hf_trace_step *step = t->step;
  say(t, "attempt %u at %s failed: %s", shown_attempt(step), t->provider, hf_fault_name((enum hf_fault)step->fault));
  if (step->code > 0)
    say(t, " (HTTP %d)", step->code);
  if (step->code < 0)
    say(t, " (JSON-RPC error %d)", step->code);
  say(t, "; %s; %s", executed_words((enum hf_executed)step->executed), consequence(step));
  if (step->ms != HF_TRACE_NO_MS)
    say(t, "; the server asks to be left alone for %.1f s", seconds(step->ms));
}

static void tell_aborted(struct telling *t) {
  static const char *const reasons[] = {
      [HF_ABORT_CONNECT] = "there was no connection in time",
      [HF_ABORT_IDLE] = "the server was silent for too long",
      [HF_ABORT_ATTEMPT] = "one attempt may not take longer while there are others left",
      [HF_ABORT_DEADLINE] = "the deadline of the call passed",
      [HF_ABORT_CANCELLED] = "the client cancelled the call",
      [HF_ABORT_HEDGED] = "the other attempt has answered",
  };
  say(t, "attempt %u at %s was given up: %s; %s", shown_attempt(t->step), t->provider, reasons[t->step->detail],
      executed_words((enum hf_executed)t->step->executed));
}

static void tell_breakers(struct telling *t) {
  static const char *const names[] = {"closed", "open", "half-open"};
  unsigned provider = t->step->breaker >> 4, tool = t->step->breaker & 15;
  if (provider >= HF_TRACE_NO_BREAKER)
    return;
  if (provider == tool)
    say(t, "; both breakers are %s", names[tool]);
  else
    say(t, "; the server's breaker is %s, the tool's %s", names[provider], names[tool]);
}

static void tell_reported(struct telling *t) {
  if (t->step->detail & HF_TRACE_DEFERRED) {
    say(t, "that counts against nobody yet, for the call goes on");
    return;
  }
  static const char *const words[] = {
      [HF_BLAME_NOBODY] = "the outcome counts against nobody",
      [HF_BLAME_TOOL] = "the outcome counts against the tool",
      [HF_BLAME_PROVIDER] = "the outcome counts against the server",
      [HF_BLAME_ANSWER] = "the outcome counts against the tool, not against the server",
      [HF_BLAME_SUCCESS] = "the outcome counts as a success",
  };
  say(t, "%s", words[t->step->detail]);
  tell_breakers(t);
}

static void tell_check(struct telling *t) {
  say(t, "the answer is lost, so the configured tool is asked whether the call ran at %s", t->provider);
}

static void tell_check_aborted(struct telling *t) {
  say(t, "the status check was given up");
}

static void tell_checked(struct telling *t) {
  static const char *const words[] = {
      [HF_CHECK_UNKNOWN] = "the status check could not say whether the call ran",
      [HF_CHECK_FAILED] = "the status check got no answer",
      [HF_CHECK_RAN] = "the status check says that the call ran",
      [HF_CHECK_DID_NOT_RUN] = "the status check says that the call did not run",
  };
  say(t, "%s", words[t->step->detail]);
}

static void tell_degrade(struct telling *t) {
  say(t, "no live answer is to be had: the last good answer and the default are looked for");
}

static void tell_degraded(struct telling *t) {
  if (t->step->detail == HF_SOURCE_CACHE)
    say(t, "the last good answer stands in, %.1f s old", t->step->ms == HF_TRACE_NO_MS ? 0 : seconds(t->step->ms));
  else if (t->step->detail == HF_SOURCE_DEGRADED)
    say(t, "the configured default stands in");
  else
    say(t, "there is neither");
}

static void tell_letter(struct telling *t) {
  say(t, "the call is being written down as a dead letter");
}

static void tell_letter_done(struct telling *t) {
  say(t, t->step->detail ? "the dead letter is on the disk" : "the dead letter could not be written");
}

static void tell_cancelled(struct telling *t) {
  say(t, "the client cancelled the call, or went away");
}

static void tell_ended(struct telling *t) {
  static const char *const words[] = {
      [HF_CALL_END_ANSWERED] = "it was answered",
      [HF_CALL_END_FINAL] = "it failed: the fault is none that a repeat can mend",
      [HF_CALL_END_UNSAFE] = "it failed: the tool may have run, and is not known to be safe to repeat",
      [HF_CALL_END_ATTEMPTS] = "it failed: all attempts that the policy allows were made",
      [HF_CALL_END_BUDGET] = "it failed: the retry budget of the server is spent",
      [HF_CALL_END_REFUSED] = "it failed: no provider could be asked",
      [HF_CALL_END_HINT] = "it failed: the server asks to wait beyond the deadline",
      [HF_CALL_END_DEADLINE] = "it failed: its deadline passed",
      [HF_CALL_END_CANCELLED] = "it was cancelled, and nobody waits for an answer",
      [HF_CALL_END_CHECKED] = "the answer was lost, but the tool ran, and the client is told so",
  };
  if (t->step->code == HF_SOURCE_CACHE && t->step->fault == HF_FAULT_NONE)
    say(t, "it was answered by the last good answer, %.1f s old and young enough: nothing was sent",
        seconds(t->step->ms));
  else
    say(t, "%s", words[t->step->detail]);
  bool said = t->step->detail == HF_CALL_END_UNSAFE || t->step->detail == HF_CALL_END_CHECKED;
  if (t->step->fault != HF_FAULT_NONE && !said)
    say(t, "; %s", executed_words((enum hf_executed)t->step->executed));
}

/* Which members a step has besides. */
enum { ATTEMPT = 1, PROVIDER = 2, FAULT = 4, EXECUTED = 8, BREAKERS = 16, MS = 32 };

static const struct {
  const char *name;
  unsigned members;
  void (*tell)(struct telling *t);
} kinds[HF_TRACE_WHAT_COUNT] = {
    [HF_TRACE_CALLED] = {"called", 0, tell_called},
    [HF_TRACE_NOTE] = {"note", 0, tell_note},
    [HF_TRACE_JOINED] = {"joined", 0, tell_joined},
    [HF_TRACE_PAUSE] = {"pause", MS, tell_pause},
    [HF_TRACE_FALLBACK] = {"fallback", PROVIDER, tell_fallback},
    [HF_TRACE_WAITS] = {"waits", PROVIDER | MS, tell_waits},
    [HF_TRACE_REFUSED] = {"refused", PROVIDER | BREAKERS | MS, tell_refused},
    [HF_TRACE_ATTEMPT] = {"attempt", ATTEMPT | PROVIDER | MS, tell_attempt},
    [HF_TRACE_SENT] = {"sent", ATTEMPT | PROVIDER, tell_sent},
    [HF_TRACE_LIFE] = {"sign_of_life", ATTEMPT | PROVIDER, tell_life},
    [HF_TRACE_QUESTION] = {"question", ATTEMPT | PROVIDER, tell_question},
    [HF_TRACE_RESUMED] = {"resumed", ATTEMPT | PROVIDER, tell_resumed},
    [HF_TRACE_ANSWERED] = {"answered", ATTEMPT | PROVIDER | EXECUTED, tell_answered},
    [HF_TRACE_FAILED] = {"failed", ATTEMPT | PROVIDER | FAULT | EXECUTED | MS, tell_failed},
    [HF_TRACE_ABORTED] = {"aborted", ATTEMPT | PROVIDER | FAULT | EXECUTED, tell_aborted},
    [HF_TRACE_REPORTED] = {"reported", PROVIDER | BREAKERS, tell_reported},
    [HF_TRACE_CHECK] = {"check", PROVIDER, tell_check},
    [HF_TRACE_CHECK_ABORTED] = {"check_aborted", PROVIDER, tell_check_aborted},
    [HF_TRACE_CHECKED] = {"checked", PROVIDER, tell_checked},
    [HF_TRACE_DEGRADE] = {"degrade", 0, tell_degrade},
    [HF_TRACE_DEGRADED] = {"degraded", MS, tell_degraded},
    [HF_TRACE_LETTER] = {"letter", 0, tell_letter},
    [HF_TRACE_LETTER_DONE] = {"letter_done", 0, tell_letter_done},
    [HF_TRACE_CANCELLED] = {"cancelled", 0, tell_cancelled},
    [HF_TRACE_ENDED] = {"ended", FAULT, tell_ended},
};

static void write_members(const struct hf_trace *trace, const struct hf_trace_step *step, struct hf_json_writer *w) {
  unsigned members = kinds[step->what].members;
  if (members & ATTEMPT)
    hf_json_write_member_int(w, "attempt", shown_attempt(step));
  if ((members & PROVIDER) && step->provider < HF_CALL_TARGETS_MAX && trace->provider[step->provider].len)
    hf_json_write_member_str(w, "provider", hf_trace_str(trace, trace->provider[step->provider]));
  if ((members & FAULT) && step->fault != HF_FAULT_NONE)
    hf_json_write_member_str(w, "fault", hf_str_from(hf_fault_name((enum hf_fault)step->fault)));
  if ((members & EXECUTED) || ((members & FAULT) && step->fault != HF_FAULT_NONE))
    hf_json_write_member_str(w, "executed", hf_str_from(hf_executed_name((enum hf_executed)step->executed)));
  if (step->what == HF_TRACE_FAILED && step->code)
    hf_json_write_member_int(w, step->code > 0 ? "httpStatus" : "jsonrpcCode", step->code);
  if ((members & MS) && step->ms != HF_TRACE_NO_MS)
    hf_json_write_member_int(w, "ms", step->ms);
  if (!(members & BREAKERS) || step->breaker >> 4 == HF_TRACE_NO_BREAKER)
    return;
  hf_json_write_member_str(w, "breaker",
                           hf_str_from(hf_breaker_state_name((enum hf_breaker_state)(step->breaker >> 4))));
  hf_json_write_member_str(w, "toolBreaker",
                           hf_str_from(hf_breaker_state_name((enum hf_breaker_state)(step->breaker & 15))));
}

static void put_provider(struct telling *t) {
  struct hf_str name = {NULL, 0};
  if (t->step->provider < HF_CALL_TARGETS_MAX)
    name = hf_trace_str(t->trace, t->trace->provider[t->step->provider]);
  struct hf_buf text;
  hf_buf_init(&text, sizeof t->provider - 1);
  int r = name.ptr ? hf_buf_printf(&text, "'%.*s'", HF_STR_FMT(name))
                   : hf_buf_printf(&text, "provider %u", t->step->provider + 1U);
  if (r == 0)
    memcpy(t->provider, text.data, text.len);
  hf_buf_deinit(&text);
}

static void write_step(const struct hf_trace *trace, const struct hf_trace_step *step, struct hf_buf *sentence,
                       struct hf_json_writer *w) {
  hf_buf_reset(sentence, SENTENCE_MAX);
  struct telling t = {.trace = trace, .step = step, .out = sentence};
  put_provider(&t);
  kinds[step->what].tell(&t);
  hf_json_write_object(w);
  hf_json_write_member_int(w, "at", step->at_ms);
  hf_json_write_member_str(w, "what", hf_str_from(kinds[step->what].name));
  write_members(trace, step, w);
  hf_json_write_member_str(w, "why", hf_buf_str(sentence));
  hf_json_write_object_end(w);
}

void hf_trace_write(const struct hf_trace *trace, struct hf_json_writer *w) {
  struct hf_buf sentence;
  hf_buf_init(&sentence, SENTENCE_MAX);
  hf_json_write_array(w);
  for (unsigned i = 0; trace && i < trace->step_count; i++)
    write_step(trace, &trace->step[i], &sentence, w);
  hf_json_write_array_end(w);
  hf_buf_deinit(&sentence);
}

int hf_trace_providers(const struct hf_trace *trace, struct hf_buf *out) {
  int r = 0;
  bool first = true;
  for (unsigned i = 0; trace && r == 0 && i < HF_CALL_TARGETS_MAX; i++) {
    if (!(trace->tried & 1U << i))
      continue;
    r = hf_buf_printf(out, "%s%.*s", first ? "" : ", ", HF_STR_FMT(hf_trace_str(trace, trace->provider[i])));
    first = false;
  }
  return r;
}

/* The newest is what people ask for mostly. */
static const struct hf_trace *find_in(const struct hf_list *list, struct hf_str call) {
  char text[HF_CALL_ID_MAX];
  for (const struct hf_list *it = list->prev; it != list; it = it->prev) {
    const struct hf_trace *trace = HF_CONTAINER_OF(it, const struct hf_trace, link);
    if (hf_str_equal(hf_outcome_id_of(trace->number, text), call))
      return trace;
  }
  return NULL;
}

static void write_text(struct hf_json_writer *w, const char *key, struct hf_str text) {
  if (text.ptr)
    hf_json_write_member_str(w, key, text);
}

static void write_outcome(const struct hf_trace *trace, struct hf_json_writer *w) {
  const struct hf_outcome *outcome = &trace->outcome;
  hf_json_write_member_int(w, "elapsedMs", outcome->elapsed / HF_MS(1));
  hf_json_write_member_str(w, "end", hf_str_from(hf_call_end_name(outcome->end)));
  if (outcome->fault != HF_FAULT_NONE) {
    hf_json_write_member_str(w, "fault", hf_str_from(hf_fault_name(outcome->fault)));
    hf_json_write_member_str(w, "executed", hf_str_from(hf_executed_name(outcome->executed)));
  }
  hf_json_write_member_str(w, "source", hf_str_from(hf_source_name(outcome->source)));
  hf_json_write_member_int(w, "attempts", outcome->attempts);
  if (trace->letter[0])
    hf_json_write_member_str(w, "deadLetterId",
                             (struct hf_str){trace->letter, strnlen(trace->letter, sizeof trace->letter)});
}

int hf_trace_explain(const struct hf_gateway *gateway, struct hf_str call, struct hf_buf *out) {
  const struct hf_trace *trace = call.len ? find_in(&gateway->traces.live, call) : NULL;
  if (!trace && call.len)
    trace = find_in(&gateway->traces.ended, call);
  if (!trace)
    return HF_ERR_NOTFOUND;
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "call", call);
  write_text(&w, "tool", hf_trace_str(trace, trace->tool));
  write_text(&w, "route", hf_trace_str(trace, trace->route));
  write_text(&w, "principal", hf_trace_str(trace, trace->principal));
  hf_json_write_member_bool(&w, "running", trace->running);
  hf_json_write_member_int(&w, "startedMs", trace->started_ms);
  if (trace->has_outcome)
    write_outcome(trace, &w);
  else if (trace->running)
    hf_json_write_member_int(&w, "elapsedMs", (gateway->loop->now - trace->started) / HF_MS(1));
  hf_json_write_key(&w, "steps");
  hf_trace_write(trace, &w);
  if (trace->dropped)
    hf_json_write_member_int(&w, "dropped", trace->dropped);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}
