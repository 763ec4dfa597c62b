#include "gateway/correct/correct.h"

#include "base/tokens.h"
#include "gateway/catalog/catalog.h"
#include "gateway/correct/correct_text.h"
#include "gateway/correct/others.h"
#include "gateway/fingerprint.h"
#include "gateway/gateway.h"
#include "gateway/letter/letter.h"
#include "gateway/letter/redact.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"

#include <inttypes.h>

enum {
  TEXT_MAX = 64 << 10,
  STEPS_MAX = 256 << 10,
  OTHERS_MAX = 2048,
  CANONICAL_MAX = 256 << 10, /* longer arguments are told apart by so many bytes and their length */
  SHOWN_MAX = 16 << 10,      /* larger ones are not shown */
};

static struct hf_str given(const struct hf_exchange *exchange) {
  struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS);
  return raw.ptr ? raw : HF_STR("{}");
}

static uint64_t digest(const struct hf_exchange *exchange) {
  const struct hf_str raw = given(exchange), none = HF_STR("");
  struct hf_fingerprint whole;
  uint64_t part = raw.len;
  if (raw.len > CANONICAL_MAX)
    return hf_map_hash(raw.ptr, CANONICAL_MAX) ^ raw.len;
  if (hf_fingerprint_of(none, none, exchange->request.name, raw, &whole) < 0)
    return hf_map_hash(raw.ptr, raw.len);
  memcpy(&part, whole.byte, sizeof part);
  return part;
}

/* What was called, as people may see it. */
static void write_call(const struct hf_exchange *exchange, struct hf_buf *out, bool *ret_secret) {
  const struct hf_str raw = given(exchange);
  const struct hf_str name = exchange->request.name;
  *ret_secret = false;
  (void)hf_buf_printf(out, "%.*s ", name.len < HF_CORRECTION_CALL_MAX / 2 ? (int)name.len : HF_CORRECTION_CALL_MAX / 2,
                      name.ptr);
  const size_t start = out->len;
  if (raw.len > SHOWN_MAX) {
    (void)hf_buf_printf(out, "(%zu bytes)", raw.len);
  } else if (hf_redact(raw, &exchange->client->gateway->settings->store.secrets, out, ret_secret) < 0) {
    out->len = start;
    *ret_secret = true;
  }
}

/* A stateless client is all that a principal runs; what they call themselves tells some of them apart. */
static uint64_t session_of(const struct hf_exchange *exchange) {
  const struct hf_str name = hf_message_raw(&exchange->request, HF_FIELD_META_CLIENT_INFO);
  return exchange->client->stateless && name.ptr ? hf_map_hash(name.ptr, name.len) : exchange->client->number;
}

static struct hf_correction_place place_of(const struct hf_exchange *exchange, enum hf_correction_kind kind) {
  return (struct hf_correction_place){
      .kind = kind,
      .principal = hf_exchange_principal(exchange),
      .session = session_of(exchange),
      .tool = kind == HF_CORRECTION_NAME ? HF_STR("") : exchange->request.name,
  };
}

void hf_correct_note(struct hf_exchange *exchange, enum hf_correction_kind kind, struct hf_str reason, uint64_t error,
                     struct hf_correction_view *ret_view) {
  struct hf_gateway *gateway = exchange->client->gateway;
  const struct hf_correction_settings *settings = &gateway->settings->correction;
  const struct hf_correction_options options = {.max = settings->max, .ttl = settings->ttl};
  const struct hf_correction_place place = place_of(exchange, kind);
  struct hf_buf call;
  hf_buf_init(&call, TEXT_MAX);
  struct hf_correction_try what = {.arguments = digest(exchange), .error = error, .at_ms = gateway->loop->wall_ms};
  write_call(exchange, &call, &what.secret);
  what.reason = reason;
  what.call = hf_buf_str(&call);
  hf_corrections_note(&gateway->corrections, &place, &what, &options, gateway->loop->now, ret_view);
  hf_buf_deinit(&call);
}

void hf_correct_close(struct hf_exchange *exchange, unsigned kinds) {
  struct hf_gateway *gateway = exchange->client->gateway;
  for (unsigned kind = 0; kind < HF_CORRECTION_KIND_COUNT && gateway->corrections.loops.len > 0; kind++) {
    if (!(kinds & 1U << kind))
      continue;
    const struct hf_correction_place place = place_of(exchange, (enum hf_correction_kind)kind);
    bool anchored;
    unsigned tries = hf_corrections_close(&gateway->corrections, &place, gateway->loop->now, &anchored);
    /* A tool that says no once has answered; what is called next need not be the same thing put right. */
    if (tries == 0 || (kind == HF_CORRECTION_ERROR && !anchored))
      continue;
    exchange->notes.undone_tries += tries;
    exchange->notes.corrected = anchored ? HF_CORRECTION_ANCHORED : HF_CORRECTION_FEEDBACK;
  }
}

/* A tool that there is not can have no effect: its calls are kept only where all are. */
static bool wants_letter(const struct hf_exchange *exchange) {
  const struct hf_gateway *gateway = exchange->client->gateway;
  const struct hf_tool_settings *tool = exchange->tool ? exchange->tool : &gateway->settings->tool_defaults;
  bool writes = false;
  for (size_t i = 0; i < exchange->target_count; i++)
    writes |= exchange->targets[i].safety != HF_SAFETY_READ_ONLY;
  return gateway->store && !exchange->is_check &&
         (tool->letters == HF_LETTER_ALL || (tool->letters == HF_LETTER_UNSAFE && writes));
}

static void log_end(const struct hf_exchange *exchange, const struct hf_correction_view *view) {
  char id[HF_CALL_ID_MAX];
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_WARN, "a model is told to stop and ask its user",
               HF_LOG_STR("call", hf_outcome_call_id(exchange, id)), HF_LOG_STR("tool", exchange->request.name),
               HF_LOG_INT("tries", view->count), HF_LOG_STR("principal", hf_exchange_principal(exchange)));
}

static void answer(struct hf_exchange *exchange, enum hf_fault fault, struct hf_str text) {
  exchange->notes.feedback_tokens = hf_tokens(text);
  hf_outcome_answer_refusal(exchange, fault, HF_RPC_INVALID_PARAMS, text);
}

/* The letter is on the disk, or could not be written, or takes too long. */
static void on_letter(struct hf_exchange *exchange) {
  const bool written = exchange->letter_id[0] != '\0';
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX + HF_LETTER_ID_MAX * 4);
  int r = hf_buf_append_str(&text, exchange->refusal);
  if (r == 0 && written)
    r = hf_buf_printf(&text, "\nIt is kept for the person who runs the gateway. [dead letter %s]", exchange->letter_id);
  if (!written)
    hf_metrics_add(&exchange->client->gateway->metrics, HF_METRIC_LETTERS_LOST);
  answer(exchange, exchange->refused_for, r == 0 ? hf_buf_str(&text) : exchange->refusal);
  hf_buf_deinit(&text);
}

/* Returns false if there is no memory for it. */
static bool bury(struct hf_exchange *exchange, const struct hf_correct_refusal *refusal, struct hf_str text,
                 const struct hf_correction_view *view) {
  struct hf_loop *loop = exchange->client->gateway->loop;
  struct hf_buf steps;
  struct hf_json_writer w;
  hf_buf_init(&steps, STEPS_MAX);
  hf_json_writer_init(&w, &steps);
  hf_correct_steps(view, &w);
  exchange->refusal = hf_arena_copy(&exchange->arena, text);
  exchange->refused_for = refusal->fault;
  const bool good = hf_json_write_finish(&w) == 0 && exchange->refusal.ptr;
  if (good) {
    hf_exchange_hold(exchange, hf_time_add(loop->now, HF_CALL_LETTER_WAIT), on_letter);
    hf_letter_write_refused(exchange, refusal->fault, hf_buf_str(&steps));
  }
  hf_buf_deinit(&steps);
  return good;
}

static void tell(struct hf_exchange *exchange, const struct hf_correct_refusal *refusal, struct hf_str text,
                 const struct hf_correction_view *view) {
  exchange->notes.asked = view->anchored ? HF_CORRECTION_ANCHORED : HF_CORRECTION_FEEDBACK;
  exchange->notes.stopped = view->exhausted;
  if (view->exhausted)
    hf_trace_stage(exchange, HF_STR("its caller has tried often enough, and is told to stop and ask its user"));
  else if (view->anchored)
    hf_trace_stage(exchange, HF_STR("its caller repeats itself, and is told another way"));
  if (view->ends)
    log_end(exchange, view);
  if (!view->ends || !wants_letter(exchange) || !bury(exchange, refusal, text, view))
    answer(exchange, refusal->fault, text);
}

void hf_correct_refuse(struct hf_exchange *exchange, const struct hf_correct_refusal *refusal) {
  if (exchange->replay || exchange->is_check) { /* there is no model that could learn from it */
    hf_outcome_answer_refusal(exchange, refusal->fault, HF_RPC_INVALID_PARAMS, refusal->text);
    return;
  }
  struct hf_correction_view view;
  struct hf_buf text;
  const bool name = refusal->fault == HF_FAULT_UNKNOWN_TOOL;
  struct hf_correct_words words = {
      .kind = name ? HF_CORRECTION_NAME : HF_CORRECTION_ARGUMENTS,
      .name = exchange->request.name,
      .max = exchange->client->gateway->settings->correction.max,
      .text = refusal->text,
      .has_example = refusal->has_example,
  };
  struct hf_buf others;
  hf_correct_note(exchange, words.kind, refusal->reason, refusal->error, &view);
  hf_buf_init(&text, TEXT_MAX);
  hf_buf_init(&others, OTHERS_MAX);
  if (!name && view.anchored && !view.exhausted && hf_others_tell(exchange, &others) == 0 && others.len)
    words.others = hf_buf_str(&others);
  const bool said = hf_correct_text(&words, &view, &text) == 0;
  tell(exchange, refusal, said ? hf_buf_str(&text) : refusal->text, &view);
  hf_buf_deinit(&others);
  hf_buf_deinit(&text);
}

int hf_correct_metrics(const struct hf_corrections *corrections, struct hf_buf *out) {
  int r = hf_buf_printf(out,
                        "# HELP holdfast_correction_loops Callers that have got a call wrong and not yet right.\n"
                        "# TYPE holdfast_correction_loops gauge\nholdfast_correction_loops %zu\n"
                        "# HELP holdfast_corrections_total Calls that went wrong by their caller's own fault, and what "
                        "came of it.\n# TYPE holdfast_corrections_total counter\n",
                        corrections->loops.len);
  for (int kind = 0; kind < HF_CORRECTION_KIND_COUNT; kind++)
    for (int end = 0; r == 0 && end < HF_CORRECTION_END_COUNT; end++)
      r = hf_buf_printf(out, "holdfast_corrections_total{kind=\"%s\",result=\"%s\"} %" PRIu64 "\n",
                        hf_correction_kind_name((enum hf_correction_kind)kind),
                        hf_correction_end_name((enum hf_correction_end)end), corrections->counts[kind][end]);
  return r;
}
