#include "gateway/correct/advice.h"

#include "base/printer.h"
#include "base/tokens.h"
#include "gateway/condition.h"
#include "gateway/correct/amend.h"
#include "gateway/correct/correct.h"
#include "gateway/correct/feedback.h"
#include "gateway/gateway.h"
#include "mcp/compose.h"

enum { NOTE_MAX = 2 * HF_ADVICE_BYTES_MAX, DIGEST_MAX = 4096, REASON_MAX = 512, VALUE_SHOWN_MAX = 200 };

enum {
  ANSWERED = 1U << HF_CORRECTION_ARGUMENTS | 1U << HF_CORRECTION_NAME,
  SUCCEEDED = ANSWERED | 1U << HF_CORRECTION_ERROR | 1U << HF_CORRECTION_RESULT,
};

bool hf_advice_is_unexpected(const struct hf_target_tool *target, const struct hf_message *response) {
  struct hf_str result = hf_message_raw(response, HF_FIELD_RESULT);
  bool holds = true;
  return target->tool && target->tool->expect.pointer.ptr && result.ptr && result.len <= HF_ADVICE_EXPECTED_MAX &&
         hf_condition_holds(&target->tool->expect, result, &holds) == 0 && !holds;
}

/* The same error is often told with other numbers: times, ids, counts. */
static uint64_t digest(struct hf_str content) {
  char text[DIGEST_MAX];
  size_t len = 0;
  for (size_t i = 0; i < content.len && len < sizeof text; i++)
    if (content.ptr[i] < '0' || content.ptr[i] > '9')
      text[len++] = content.ptr[i];
  return hf_map_hash(text, len);
}

static bool can_repeat(const struct hf_exchange *exchange) {
  return hf_safety_allows_repeat(exchange->target->safety);
}

static void print_repetition(struct hf_printer *p, const struct hf_exchange *exchange,
                             const struct hf_correction_view *view) {
  hf_print(p,
           view->exhausted ? "Stop: this same call has now brought this same error %u times. Don't make it again. "
                           : "This same call has now brought this same error %u times, and it will again. ",
           view->times);
  if (!can_repeat(exchange))
    hf_print(p, "Each time it may have changed something: find out what, before you call this tool again in any way. ");
  hf_print(p, view->exhausted
                  ? "Tell the user what the error says, and ask how to go on."
                  : "Read what the error says, and take another way: other arguments, if it names what is wrong with "
                    "these; another tool; or ask the user.");
}

/* "pattern\nadvice", as the configuration has them. Returns how many match. */
static unsigned print_hints(struct hf_printer *p, const struct hf_strings *hints, struct hf_str content) {
  unsigned count = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < hints->count; i++) {
    const struct hf_str hint = hints->item[i];
    const char *end = memchr(hint.ptr, '\n', hint.len);
    const struct hf_str pattern = {hint.ptr, end ? (size_t)(end - hint.ptr) : hint.len};
    const struct hf_str advice = {hint.ptr + pattern.len + 1, end ? hint.len - pattern.len - 1 : 0};
    if (!hf_pattern_inside(pattern, content) || bytes + advice.len > HF_ADVICE_BYTES_MAX)
      continue;
    hf_print(p, "%s", count == 0 ? "Advice of the person who runs the gateway: " : " ");
    hf_print_bytes(p, advice.ptr, advice.len);
    bytes += advice.len;
    count++;
  }
  return count;
}

/* What there is to be said of the tool's own error. Returns false if there is nothing. */
static bool write_error_note(struct hf_exchange *exchange, struct hf_str content, struct hf_buf *out) {
  struct hf_correction_view view;
  struct hf_printer p = {.buf = out};
  struct hf_str reason = {content.ptr, content.len < REASON_MAX ? content.len : REASON_MAX};
  hf_correct_note(exchange, HF_CORRECTION_ERROR, reason, digest(content), &view);
  exchange->notes.stopped = view.exhausted;
  hf_print(&p, "Note of the gateway, not of the tool: ");
  if (view.anchored)
    print_repetition(&p, exchange, &view);
  struct hf_buf hints;
  hf_buf_init(&hints, NOTE_MAX);
  struct hf_printer h = {.buf = &hints};
  const struct hf_strings *known = &exchange->target->tool->hints;
  const unsigned count = print_hints(&h, known, content);
  if (count > 0)
    hf_print(&p, "%s%.*s", view.anchored ? " " : "", HF_STR_FMT(hf_buf_str(&hints)));
  hf_buf_deinit(&hints);
  if (view.anchored || count > 0)
    exchange->notes.asked = view.anchored ? HF_CORRECTION_ANCHORED : HF_CORRECTION_HINT;
  return p.error == 0 && h.error == 0 && (view.anchored || count > 0);
}

static void print_condition(struct hf_printer *p, const struct hf_condition *condition) {
  const struct hf_str value = condition->value;
  const int len = value.len < VALUE_SHOWN_MAX ? (int)value.len : VALUE_SHOWN_MAX;
  const bool there = hf_str_equal(value, HF_STR("true"));
  hf_print(p, "'%.*s' ", HF_STR_FMT(condition->pointer));
  switch (condition->op) {
  case HF_OPERATOR_EQUALS:
    hf_print(p, "is to be %.*s", len, value.ptr);
    break;
  case HF_OPERATOR_NOT:
    hf_print(p, "is to be there and not %.*s", len, value.ptr);
    break;
  case HF_OPERATOR_EXISTS:
    hf_print(p, there ? "is to be there" : "is not to be there");
    break;
  case HF_OPERATOR_CONTAINS:
    hf_print(p, "is to contain %.*s", len, value.ptr);
    break;
  case HF_OPERATOR_AT_LEAST:
    hf_print(p, "is to be at least %.*s, or to have so many elements", len, value.ptr);
    break;
  }
}

/* What there is to be said before a result that is not what is expected. */
static bool write_result_note(struct hf_exchange *exchange, struct hf_buf *out) {
  struct hf_correction_view view;
  struct hf_buf wanted;
  struct hf_printer p = {.buf = out}, w = {.buf = &wanted};
  hf_buf_init(&wanted, REASON_MAX);
  print_condition(&w, &exchange->target->tool->expect);
  hf_correct_note(exchange, HF_CORRECTION_RESULT, hf_buf_str(&wanted), 0, &view);
  exchange->notes.misfit = HF_MISFIT_EXPECTATION;
  exchange->notes.asked = view.anchored ? HF_CORRECTION_ANCHORED : HF_CORRECTION_FEEDBACK;
  exchange->notes.stopped = view.exhausted;
  hf_print(&p, "Note of the gateway, not of the tool: ");
  if (p.error == 0)
    p.error = hf_feedback_quote(exchange->request.name, VALUE_SHOWN_MAX, out);
  hf_print(&p, " was executed and answered, but not with what is expected of it: %.*s. ",
           HF_STR_FMT(hf_buf_str(&wanted)));
  if (view.exhausted)
    hf_print(&p, "Stop: this is the result of %u calls by now. Tell the user, and ask how to go on.", view.count);
  else if (!can_repeat(exchange))
    hf_print(&p, "Don't call it again only to get another answer: it may change something each time.");
  else if (view.same_arguments)
    hf_print(&p,
             "You called it with these arguments before, and it will answer the same again (try %u). Take other "
             "arguments, another tool, or ask the user.",
             view.count);
  else
    hf_print(&p, "If the task needs it, call it with other arguments (try %u), take another tool, or ask the user.",
             view.count);
  hf_print(&p, " Its answer follows.");
  hf_buf_deinit(&wanted);
  return p.error == 0;
}

static int make(const struct hf_message *response, const struct hf_amendment *what, struct hf_message *ret_made) {
  struct hf_buf result, text;
  struct hf_refusal refusal;
  hf_buf_init(&result, HF_MESSAGE_BYTES_MAX);
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  int r = hf_amend(hf_message_raw(response, HF_FIELD_RESULT), what, &result);
  if (r == 0)
    r = hf_compose_result(&text, HF_STR("0"), hf_buf_str(&result));
  if (r == 0)
    r = hf_message_decode(&text, ret_made, &refusal);
  hf_buf_deinit(&result);
  hf_buf_deinit(&text);
  return r;
}

/* A note that cannot be put into the result is left out: then the server's own words have to do. */
static const struct hf_message *amended(struct hf_exchange *exchange, const struct hf_message *response,
                                        const struct hf_amendment *what, struct hf_message *ret_made) {
  if (make(response, what, ret_made) < 0)
    return response;
  exchange->notes.feedback_tokens = hf_tokens(what->first) + hf_tokens(what->last);
  return ret_made;
}

static const struct hf_message *give(struct hf_exchange *exchange, const struct hf_message *response,
                                     enum hf_fault fault, struct hf_message *ret_made) {
  struct hf_buf note;
  struct hf_amendment what = {.is_error = fault == HF_FAULT_UNEXPECTED};
  hf_buf_init(&note, NOTE_MAX);
  if (what.is_error && write_result_note(exchange, &note))
    what.first = hf_buf_str(&note);
  else if (!what.is_error && write_error_note(exchange, hf_message_raw(response, HF_FIELD_CONTENT), &note))
    what.last = hf_buf_str(&note);
  if (what.first.ptr || what.last.ptr)
    response = amended(exchange, response, &what, ret_made);
  hf_buf_deinit(&note);
  return response;
}

const struct hf_message *hf_advice_give(struct hf_exchange *exchange, const struct hf_message *response,
                                        const struct hf_outcome *outcome, struct hf_message *ret_made) {
  *ret_made = (struct hf_message){0};
  if (exchange->request.method != HF_METHOD_TOOLS_CALL || exchange->is_check || exchange->replay)
    return response;
  const bool tools_own =
      response && (outcome->fault == HF_FAULT_TOOL_ERROR || outcome->fault == HF_FAULT_TOOL_TRANSIENT ||
                   outcome->fault == HF_FAULT_UNEXPECTED);
  if (outcome->fault == HF_FAULT_NONE && !(response && hf_message_is_pending(response)))
    hf_correct_close(exchange, SUCCEEDED);
  if (!tools_own || response->kind != HF_MESSAGE_RESULT)
    return response;
  hf_correct_close(exchange, ANSWERED);
  return give(exchange, response, outcome->fault, ret_made);
}
