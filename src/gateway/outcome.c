#include "gateway/outcome.h"

#include "base/tokens.h"
#include "gateway/catalog/catalog.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace.h"
#include "gateway/relay.h"
#include "gateway/stage/degrade.h"
#include "gateway/stage/repaired.h"
#include "mcp/compose.h"
#include "json/write.h"

#include <stdio.h>

enum { OUTCOME_TEXT_MAX = 8192, OUTCOME_MESSAGE_MAX = 32768, NAME_SHOWN_MAX = 128, REASON_SHOWN_MAX = 300 };

/* The gateway's own code for a call that failed behind it: outside the range that JSON-RPC reserves. */
enum { RPC_UPSTREAM_FAILED = -31000 };

struct hf_str hf_outcome_id_of(uint64_t number, char text[HF_CALL_ID_MAX]) {
  size_t len = 3;
  for (uint64_t rest = number; rest >= 16; rest >>= 4)
    len++;
  memcpy(text, "c-", 2);
  for (size_t i = len; i-- > 2; number >>= 4)
    text[i] = "0123456789abcdef"[number & 15];
  text[len] = '\0';
  return (struct hf_str){text, len};
}

struct hf_str hf_outcome_call_id(const struct hf_exchange *exchange, char text[HF_CALL_ID_MAX]) {
  return hf_outcome_id_of(exchange->number, text);
}

static hf_time to_ms(hf_time t) {
  return t / HF_MS(1);
}

int hf_outcome_marker(const struct hf_exchange *exchange, const struct hf_outcome *outcome, struct hf_buf *out) {
  char id[HF_CALL_ID_MAX];
  bool failed = outcome->fault != HF_FAULT_NONE;
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "source", hf_str_from(hf_source_name(outcome->source)));
  if (exchange->target->instance)
    hf_json_write_member_str(&w, "provider", exchange->target->instance->settings->name);
  hf_json_write_member_int(&w, "attempts", outcome->attempts);
  hf_json_write_member_int(&w, "elapsedMs", to_ms(outcome->elapsed));
  if (failed) {
    hf_json_write_member_str(&w, "executed", hf_str_from(hf_executed_name(outcome->executed)));
    hf_json_write_member_str(&w, "reason", hf_str_from(hf_fault_name(outcome->fault)));
  }
  if (outcome->source == HF_SOURCE_CACHE)
    hf_json_write_member_int(&w, "ageMs", to_ms(outcome->age));
  if (failed && outcome->retry_after >= 0)
    hf_json_write_member_int(&w, "retryAfterMs", to_ms(outcome->retry_after));
  if (outcome->end == HF_CALL_END_CHECKED)
    hf_json_write_member_bool(&w, "checked", true);
  if (outcome->letter == HF_LETTER_WRITTEN)
    hf_json_write_member_str(&w, "deadLetterId", hf_str_from(exchange->letter_id));
  if (exchange->joined.ptr)
    hf_json_write_member_str(&w, "joined", exchange->joined);
  if (hf_repaired(exchange)) {
    hf_json_write_key(&w, "repairs");
    hf_repaired_write(exchange, &w);
  }
  hf_json_write_member_str(&w, "call", hf_outcome_call_id(exchange, id));
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static struct hf_str shown(struct hf_str s, size_t max) {
  return (struct hf_str){s.ptr, s.len < max ? s.len : max};
}

/* What happened, as the end of "the server 'x' …". */
static const char *const descriptions[HF_FAULT_COUNT] = {
    [HF_FAULT_UNREACHABLE] = "could not be reached",
    [HF_FAULT_MISCONFIGURED] = "cannot be used as the gateway is configured",
    [HF_FAULT_BREAKER_OPEN] = "has been failing, so it is given a rest and nothing was sent",
    [HF_FAULT_LOCAL_LIMIT] = "is busy: a limit of the gateway was reached and nothing was sent",
    [HF_FAULT_SESSION_LOST] = "has forgotten the session that the call belongs to",
    [HF_FAULT_NOT_SENT] = "was lost before the whole request was sent",
    [HF_FAULT_BROKE] = "lost the connection before it answered",
    [HF_FAULT_TIMED_OUT] = "did not answer in time",
    [HF_FAULT_RATE_LIMITED] = "refused the call because of its rate limit",
    [HF_FAULT_REFUSED_UNEXECUTED] = "said that it is unavailable",
    [HF_FAULT_SERVER_ERROR] = "answered with a server error",
    [HF_FAULT_BAD_REPLY] = "sent an answer that could not be understood",
    [HF_FAULT_RPC_ERROR] = "answered with an error",
    [HF_FAULT_REJECTED] = "rejected the request",
    [HF_FAULT_UNAUTHORIZED] = "did not accept the gateway's credentials",
    [HF_FAULT_UNKNOWN_TOOL] = "does not know this tool",
    [HF_FAULT_CONFLICT] = "reported a conflict",
    [HF_FAULT_REDIRECTED] = "redirected the call to where it cannot follow",
    [HF_FAULT_TOOL_ERROR] = "reported that the tool failed",
    [HF_FAULT_TOOL_TRANSIENT] = "reported that the tool failed",
    [HF_FAULT_UNEXPECTED] = "answered, but not with what is expected of it",
    [HF_FAULT_RESULT_MISFIT] = "answered with a result that doesn't fit the tool's outputSchema",
    [HF_FAULT_SCHEMA] = "was not asked: the arguments don't fit the tool's schema",
    [HF_FAULT_INPUT_REQUIRED] = "asks for input that this client does not give",
    [HF_FAULT_CANCELLED] = "was not waited for: the call was cancelled",
    [HF_FAULT_DEADLINE] = "did not answer before the call's deadline",
    [HF_FAULT_NONE] = "did not fail",
    [HF_FAULT_UNKNOWN] = "failed in an unknown way",
    [HF_FAULT_TASK_LOST] = "made a task of the call, and does not know any more what became of that",
    [HF_FAULT_TASK_CANCELLED] = "made a task of the call, and has cancelled that",
};

static const char *executed_sentence(enum hf_executed executed) {
  switch (executed) {
  case HF_EXECUTED_NO:
    return "The tool was not executed.";
  case HF_EXECUTED_MAYBE:
    return "The tool may have been executed: nobody knows.";
  case HF_EXECUTED_YES:
    return "The tool was executed.";
  }
  return "";
}

static const char *advice(const struct hf_outcome *outcome, enum hf_safety safety) {
  if (outcome->letter == HF_LETTER_WRITTEN && outcome->executed == HF_EXECUTED_NO)
    return "It is kept as a dead letter, which the person who runs the gateway can replay. You may try again later, or "
           "go on without this tool.";
  if (outcome->executed == HF_EXECUTED_MAYBE && !hf_safety_allows_repeat(safety))
    return "It is not known to be safe to repeat, so it was not repeated. Find out whether it took effect before you "
           "call it again.";
  if (outcome->executed == HF_EXECUTED_YES)
    return "Don't repeat the call only to get its answer.";
  if (outcome->fault == HF_FAULT_REJECTED)
    return "Correct the arguments before you call it again.";
  if (outcome->fault == HF_FAULT_UNKNOWN_TOOL)
    return "Use a tool from the current list.";
  if (outcome->fault == HF_FAULT_INPUT_REQUIRED)
    return "Repeating the call won't help: it needs a client that can be asked. Go on without this tool.";
  if (outcome->fault == HF_FAULT_UNAUTHORIZED || outcome->fault == HF_FAULT_MISCONFIGURED)
    return "Repeating the call won't help: the person who runs the gateway has to mend this. Go on without this tool.";
  return outcome->retry_after >= 0 ? "" : "You may try again later, or go on without this tool.";
}

static const char *const encoding_texts[] = {
    [HF_ENCODING_BR] = "compressed with br",
    [HF_ENCODING_ZSTD] = "compressed with zstd",
    [HF_ENCODING_COMPRESS] = "compressed with compress",
    [HF_ENCODING_OTHER] = "in an unknown Content-Encoding",
};

static int append_cause(const struct hf_exchange *exchange, const struct hf_outcome *outcome, struct hf_buf *out) {
  int r = 0;
  if (outcome->evidence.redirect)
    r = hf_buf_printf(out, " (HTTP %d, %s, which is not followed)", outcome->evidence.http_status,
                      hf_redirect_text(outcome->evidence.redirect));
  else if (outcome->evidence.unread_encoding)
    r = hf_buf_printf(out, " (HTTP %d, %s, which nobody asked for)", outcome->evidence.http_status,
                      encoding_texts[outcome->evidence.unread_encoding]);
  else if (outcome->evidence.http_status)
    r = hf_buf_printf(out, " (HTTP %d)", outcome->evidence.http_status);
  const struct hf_instance *instance = exchange->target->instance;
  if (r == 0 && instance->reason &&
      (outcome->fault == HF_FAULT_UNREACHABLE || outcome->fault == HF_FAULT_MISCONFIGURED))
    r = hf_buf_printf(out, " (%.*s)", HF_STR_FMT(shown(hf_str_from(instance->reason), REASON_SHOWN_MAX)));
  if (r == 0 && outcome->fault == HF_FAULT_INPUT_REQUIRED && exchange->unasked.ptr)
    r = hf_buf_printf(out, " (%.*s)", HF_STR_FMT(shown(exchange->unasked, REASON_SHOWN_MAX)));
  return r;
}

static int append_effort(const struct hf_outcome *outcome, struct hf_buf *out) {
  double seconds = (double)outcome->elapsed / (double)HF_SECONDS(1);
  if (outcome->attempts == 0)
    return hf_buf_printf(out, ", after %.1f s", seconds);
  return hf_buf_printf(out, ", after %u attempt%s in %.1f s", outcome->attempts, outcome->attempts == 1 ? "" : "s",
                       seconds);
}

/* Tells a model what happened, whether the tool may have run, and what to do next. */
static int append_text(const struct hf_exchange *exchange, const struct hf_outcome *outcome, struct hf_buf *out) {
  const struct hf_target_tool *target = exchange->target;
  char id[HF_CALL_ID_MAX];
  struct hf_str name = target->name.ptr ? target->name : hf_method_info(exchange->request.method)->name;
  int r =
      hf_buf_printf(out, "'%.*s' failed: the server '%.*s' %s", HF_STR_FMT(shown(name, NAME_SHOWN_MAX)),
                    HF_STR_FMT(shown(target->instance->settings->name, NAME_SHOWN_MAX)), descriptions[outcome->fault]);
  if (r == 0)
    r = append_cause(exchange, outcome, out);
  if (r == 0)
    r = append_effort(outcome, out);
  if (r == 0)
    r = hf_buf_printf(out, ". %s", executed_sentence(outcome->executed));
  if (r == 0 && outcome->letter == HF_LETTER_FAILED)
    r = hf_buf_append_str(out, HF_STR(" It could not be kept as a dead letter."));
  const char *next = advice(outcome, target->safety);
  if (r == 0 && next[0])
    r = hf_buf_printf(out, " %s", next);
  if (r == 0 && outcome->retry_after >= 0)
    r = hf_buf_printf(out, " It can be tried again in %.0f s.",
                      (double)(outcome->retry_after + HF_SECONDS(1) - 1) / (double)HF_SECONDS(1));
  if (r == 0 && outcome->letter == HF_LETTER_WRITTEN)
    r = hf_buf_printf(out, " [dead letter %s]", exchange->letter_id);
  if (r == 0 && hf_repaired(exchange)) {
    r = hf_buf_append_str(out, HF_STR("\n"));
    if (r == 0)
      r = hf_repaired_text(exchange, out);
    if (r == 0)
      r = hf_buf_append_str(out, HF_STR("\n"));
  }
  return r ? r : hf_buf_printf(out, " [call %.*s]", HF_STR_FMT(hf_outcome_call_id(exchange, id)));
}

/* Only of what failed, or would have: good calls are not read again. */
static size_t tokens_of(struct hf_str text, bool wanted) {
  return wanted ? hf_tokens(text) : 0;
}

/* Who gave other arguments than the caller's is known by what the marker calls it. */
static enum hf_correction corrected_by(const struct hf_exchange *exchange) {
  if (!exchange->corrected || exchange->notes.corrected != HF_CORRECTION_NONE)
    return exchange->notes.corrected;
  return strstr(exchange->corrected, "client") ? HF_CORRECTION_CLIENT : HF_CORRECTION_MODEL;
}

static void tally(struct hf_exchange *exchange, const struct hf_outcome *outcome, struct hf_str server,
                  struct hf_str tool) {
  const struct hf_target_tool *target = exchange->target;
  if (exchange->request.method != HF_METHOD_TOOLS_CALL || exchange->is_check || exchange->replay)
    return;
  const enum hf_fault first = hf_trace_first_fault(exchange->trace);
  const bool failed = outcome->fault != HF_FAULT_NONE;
  const bool words = outcome->fault == HF_FAULT_TOOL_ERROR && exchange->response;
  exchange->notes.corrected = corrected_by(exchange);
  const struct hf_tally_call call = {
      .server = server,
      .tool = target->listed ? tool : (struct hf_str){NULL, 0},
      .outcome = outcome,
      .notes = &exchange->notes,
      .repairs = exchange->repairs,
      .renamed = exchange->asked_name.ptr != NULL,
      .first_fault = first,
      .unsafe = !hf_safety_allows_repeat(target->safety),
      .shared = exchange->joined.ptr != NULL,
      .arguments_tokens = tokens_of(hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS),
                                    failed || first != HF_FAULT_NONE || exchange->repairs),
      .answer_tokens = words ? hf_tokens(hf_message_raw(exchange->response, HF_FIELD_CONTENT)) : 0,
  };
  hf_tally_count(&exchange->client->gateway->tally, &call);
}

void hf_outcome_record(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  struct hf_gateway *gateway = exchange->client->gateway;
  const struct hf_target_tool *target = exchange->target;
  struct hf_str absent = {NULL, 0};
  struct hf_str server = target->instance ? target->instance->settings->name : absent;
  struct hf_str tool = target->name.ptr   ? target->name
                       : target->instance ? hf_method_info(exchange->request.method)->name
                                          : absent;
  hf_metrics_outcome(&gateway->metrics, outcome);
  if (exchange->joined.ptr)
    hf_metrics_add(&gateway->metrics, HF_METRIC_JOINED);
  tally(exchange, outcome, server, tool);
  hf_trace_end(exchange, outcome);
  hf_metrics_count(&gateway->metrics, server, target->listed ? tool : absent, outcome->source, outcome->fault,
                   outcome->attempts, outcome->elapsed);

  char id[HF_CALL_ID_MAX];
  bool good = outcome->fault == HF_FAULT_NONE;
  enum hf_log_level level = HF_LOG_INFO;
  if (!hf_log_enabled(gateway->loop->log, level))
    return;
  hf_log_event(gateway->loop->log, level, "call", HF_LOG_STR("call", hf_outcome_call_id(exchange, id)),
               HF_LOG_STR("provider", server), HF_LOG_STR("tool", tool), HF_LOG_INT("attempts", outcome->attempts),
               HF_LOG_STR("source", hf_str_from(hf_source_name(outcome->source))),
               HF_LOG_STR("executed", hf_str_from(hf_executed_name(outcome->executed))),
               HF_LOG_STR("fault", good ? absent : hf_str_from(hf_fault_name(outcome->fault))),
               HF_LOG_STR("end", good ? absent : hf_str_from(hf_call_end_name(outcome->end))),
               HF_LOG_STR("route", exchange->route ? exchange->route->name : absent),
               HF_LOG_STR("letter", outcome->letter == HF_LETTER_WRITTEN ? hf_str_from(exchange->letter_id) : absent),
               HF_LOG_STR("joined", exchange->joined), HF_LOG_STR("principal", hf_exchange_principal(exchange)),
               HF_LOG_INT("ms", to_ms(outcome->elapsed)));
}

static int write_failure_result(const struct hf_exchange *exchange, struct hf_str text, struct hf_str marker,
                                struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  if (exchange->era == HF_ERA_MODERN)
    hf_json_write_member_str(&w, "resultType", HF_STR("complete"));
  hf_json_write_key(&w, "content");
  hf_json_write_array(&w);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "type", HF_STR("text"));
  hf_json_write_member_str(&w, "text", text);
  hf_json_write_object_end(&w);
  hf_json_write_array_end(&w);
  hf_json_write_member_bool(&w, "isError", true);
  hf_json_write_key(&w, "_meta");
  hf_json_write_object(&w);
  hf_json_write_member_raw(&w, HF_META_OUTCOME, marker);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static int write_error_data(struct hf_str marker, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_raw(&w, HF_META_OUTCOME, marker);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static void answer(struct hf_exchange *exchange, const struct hf_outcome *outcome, int rpc_code, struct hf_str text) {
  struct hf_buf marker, body;
  hf_buf_init(&marker, HF_OUTCOME_MARKER_MAX);
  hf_buf_init(&body, OUTCOME_MESSAGE_MAX);
  /* Who has asked for a task takes no result instead of one. */
  bool is_call = exchange->request.method == HF_METHOD_TOOLS_CALL && (!exchange->wants_task || exchange->task);
  int r = hf_outcome_marker(exchange, outcome, &marker);
  if (r == 0)
    r = is_call ? write_failure_result(exchange, text, hf_buf_str(&marker), &body)
                : write_error_data(hf_buf_str(&marker), &body);
  if (r < 0)
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"), (struct hf_str){NULL, 0});
  else if (is_call)
    hf_exchange_result(exchange, hf_buf_str(&body));
  else
    hf_exchange_error(exchange, rpc_code, text, hf_buf_str(&body));
  hf_buf_deinit(&marker);
  hf_buf_deinit(&body);
}

/* A result of the gateway's own making, marked. Ends the exchange. */
static void answer_result(struct hf_exchange *exchange, struct hf_str result, const struct hf_outcome *outcome,
                          struct hf_str text) {
  struct hf_buf marker, marked, message;
  hf_buf_init(&marker, HF_OUTCOME_MARKER_MAX);
  hf_buf_init(&marked, HF_MESSAGE_BYTES_MAX);
  hf_buf_init(&message, HF_MESSAGE_BYTES_MAX);
  struct hf_message made = {0};
  struct hf_refusal refusal;
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  int r = hf_outcome_marker(exchange, outcome, &marker);
  if (r == 0)
    r = hf_degrade_mark(result, hf_buf_str(&marker), text, &marked);
  if (r == 0)
    r = hf_compose_result(&message, HF_STR("0"), hf_buf_str(&marked));
  if (r == 0)
    r = hf_message_decode(&message, &made, &refusal);
  if (r == 0)
    r = hf_relay_response(exchange, &made, (struct hf_str){NULL, 0}, &pieces);
  if (r == 0)
    hf_exchange_finish(exchange, 200, &pieces);
  else
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"), (struct hf_str){NULL, 0});
  hf_pieces_deinit(&pieces);
  hf_message_deinit(&made);
  hf_buf_deinit(&message);
  hf_buf_deinit(&marked);
  hf_buf_deinit(&marker);
}

/* What a model must know of an answer that is not live, before it reads it. */
/* The same idempotency key was used before, and this is what came of it. */
static int append_recorded(const struct hf_exchange *exchange, const struct hf_outcome *outcome, struct hf_buf *out) {
  return hf_buf_printf(out,
                       "This is not a live answer: it is the recorded result of the call %.*s%swith the same "
                       "idempotency key, from %lld s ago. Nothing was sent.",
                       HF_STR_FMT(exchange->joined), exchange->joined.len ? " " : "",
                       (long long)(outcome->age / HF_SECONDS(1)));
}

static bool is_recorded(const struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  return exchange->key.ptr && outcome->source == HF_SOURCE_CACHE && outcome->fault == HF_FAULT_NONE;
}

static int append_substitute_text(const struct hf_exchange *exchange, const struct hf_outcome *outcome,
                                  struct hf_buf *out) {
  if (is_recorded(exchange, outcome))
    return append_recorded(exchange, outcome, out);
  struct hf_buf why;
  hf_buf_init(&why, OUTCOME_TEXT_MAX);
  int r = outcome->fault == HF_FAULT_NONE
              ? hf_buf_append_str(&why, HF_STR("The server was not asked again: it is recent enough."))
              : append_text(exchange, outcome, &why);
  if (r == 0)
    r = hf_degrade_text(outcome->source, exchange->tool->degraded, outcome->age, hf_buf_str(&why), out);
  hf_buf_deinit(&why);
  return r;
}

/* What is said without memory for more. */
static struct hf_str bare_text(const struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  if (is_recorded(exchange, outcome))
    return HF_STR("This is not a live answer: it is the recorded result of an earlier call with the same key.");
  if (outcome->source == HF_SOURCE_CACHE)
    return HF_STR("This is not a live answer: it is an earlier one, and may be out of date.");
  if (exchange->tool->degraded == HF_DEGRADED_EXPLICIT)
    return HF_STR("This tool is unavailable, and there is no answer from it.");
  return HF_STR("This is not an answer of the tool: it is a stand-in. Do not take it for data.");
}

void hf_outcome_answer_substitute(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  struct hf_buf text;
  hf_buf_init(&text, OUTCOME_TEXT_MAX);
  bool said = append_substitute_text(exchange, outcome, &text) == 0;
  answer_result(exchange, hf_buf_str(&exchange->substitute), outcome,
                said ? hf_buf_str(&text) : bare_text(exchange, outcome));
  hf_buf_deinit(&text);
}

void hf_outcome_answer_checked(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  const struct hf_target_tool *target = exchange->target;
  const struct hf_item *item = hf_catalog_item(target);
  struct hf_buf text, result;
  hf_buf_init(&text, OUTCOME_TEXT_MAX);
  hf_buf_init(&result, OUTCOME_MESSAGE_MAX);
  (void)hf_buf_printf(
      &text,
      "'%.*s' was executed. Its own answer was lost: the server '%.*s' %s. But '%.*s' says that it took "
      "effect. Don't call it again.",
      HF_STR_FMT(shown(target->name, NAME_SHOWN_MAX)),
      HF_STR_FMT(shown(target->instance->settings->name, NAME_SHOWN_MAX)), descriptions[outcome->fault],
      HF_STR_FMT(shown(target->tool->reconcile.tool.tool, NAME_SHOWN_MAX)));
  /* Clients hold a result without isError against the output schema, and nobody has the value that it asks for. */
  bool promised = item && item->output_schema.ptr;
  (void)hf_buf_printf(&result, "{\"content\":[]%s}", promised ? ",\"isError\":true" : "");
  answer_result(exchange, hf_buf_str(&result), outcome, hf_buf_str(&text));
  hf_buf_deinit(&result);
  hf_buf_deinit(&text);
}

void hf_outcome_answer_failure(struct hf_exchange *exchange, const struct hf_outcome *outcome) {
  struct hf_buf text;
  hf_buf_init(&text, OUTCOME_TEXT_MAX);
  if (append_text(exchange, outcome, &text) < 0)
    hf_buf_reset(&text, OUTCOME_TEXT_MAX);
  answer(exchange, outcome, RPC_UPSTREAM_FAILED, hf_buf_str(&text));
  hf_buf_deinit(&text);
}

void hf_outcome_answer_refusal(struct hf_exchange *exchange, enum hf_fault fault, int rpc_code, struct hf_str text) {
  struct hf_outcome outcome = {.end = HF_CALL_END_REFUSED,
                               .fault = fault,
                               .executed = HF_EXECUTED_NO,
                               .elapsed = exchange->client->gateway->loop->now - exchange->started,
                               .retry_after = -1,
                               .letter = exchange->letter_id[0] ? HF_LETTER_WRITTEN : HF_LETTER_NONE};
  hf_outcome_record(exchange, &outcome);
  answer(exchange, &outcome, rpc_code, text);
}
