#include "gateway/stage/arguments.h"

#include "gateway/catalog/catalog.h"
#include "gateway/catalog/route.h"
#include "gateway/correct/ask.h"
#include "gateway/correct/correct.h"
#include "gateway/correct/example.h"
#include "gateway/correct/feedback.h"
#include "gateway/correct/near.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/stage/key_place.h"
#include "json/pointer.h"

#include <inttypes.h>

enum {
  TEXT_MAX = 64 << 10,
  NAME_SHOWN_MAX = 128,
  EXAMPLE_BYTES_MAX = 400,
  WARN_TOKENS = 200,
  REPAIRED_MAX = HF_MESSAGE_BYTES_MAX
};

static const struct hf_fit_settings *settings_of(const struct hf_exchange *exchange) {
  return exchange->route ? &exchange->route->tool.fit : exchange->target->fit;
}

static struct hf_str given(struct hf_str raw) {
  return raw.ptr ? raw : HF_STR("{}");
}

/* The newest schema of what is called; NULL if there is none that can be used. Endpoints of one server have one. */
static const struct hf_schema *schema_of(struct hf_exchange *exchange) {
  if (exchange->route)
    return hf_route_schema(exchange->client, exchange->route, HF_SCHEMA_INPUT);
  for (size_t i = 0; i < exchange->target_count; i++) {
    const struct hf_target_tool *target = &exchange->targets[i];
    const struct hf_item *item = hf_catalog_item(target);
    if (item)
      return hf_listing_schema(&target->instance->lists[HF_LIST_TOOLS], item, HF_SCHEMA_INPUT);
  }
  return NULL;
}

/* A keyed tool may require the argument that the gateway fills in itself: with any key there, do they fit? */
static int check_keyed(struct hf_exchange *exchange, const struct hf_schema *schema, struct hf_str raw) {
  const struct hf_target_tool *target = &exchange->targets[0];
  if (exchange->route || exchange->target_count == 0 || exchange->key.ptr ||
      target->tool->key.place != HF_KEY_ARGUMENT || raw.ptr[0] != '{')
    return HF_ERR_INVALID;
  struct hf_gateway *gateway = exchange->client->gateway;
  bool deep;
  exchange->key = HF_STR("8f14e45f-ceea-467f-a9b2-6c1d3e5a7b90");
  int r = hf_key_put_argument(exchange, target, &raw);
  exchange->key = (struct hf_str){NULL, 0};
  return r < 0 ? HF_ERR_INVALID
               : hf_validator_check(&gateway->validator, schema, raw, gateway->settings->limits.argument_depth, &deep);
}

/* What is there to be said of arguments. */
struct finding {
  const struct hf_schema *schema; /* NULL: none that can be used */
  int code;  /* 0: they fit; HF_ERR_AGAIN: nobody can tell; else a misfit: _INVALID, _DUPLICATE, _SYNTAX, _LIMIT */
  bool deep; /* _LIMIT: nested, not long */
};

static struct finding look(struct hf_exchange *exchange, struct hf_str raw) {
  struct hf_gateway *gateway = exchange->client->gateway;
  const struct hf_limits *limits = &gateway->settings->limits;
  struct finding found = {.code = HF_ERR_LIMIT};
  if (raw.len > limits->argument_bytes)
    return found;
  if (settings_of(exchange)->validate != HF_CHECK_OFF)
    found.schema = schema_of(exchange);
  found.code = hf_validator_check(&gateway->validator, found.schema, raw, limits->argument_depth, &found.deep);
  if (found.code == HF_ERR_INVALID && found.schema)
    found.code = check_keyed(exchange, found.schema, raw);
  bool unknown = found.code == 0 ? !found.schema : found.code == HF_ERR_NOMEM || found.code == HF_ERR_LIMIT;
  if (unknown && !found.deep)
    found.code = HF_ERR_AGAIN;
  return found;
}

/* Fills in why what was found is a misfit. Returns 0, or HF_ERR_NOMEM: then it says less. */
static int explain(struct hf_exchange *exchange, struct hf_str raw, const struct finding *found,
                   struct hf_misfit *misfit) {
  const struct hf_limits *limits = &exchange->client->gateway->settings->limits;
  hf_misfit_init(misfit, raw);
  if (found->deep)
    hf_error_set(&misfit->why, HF_ERR_LIMIT,
                 "they are nested too deep: the most is %" PRIu32 " objects and arrays within one another",
                 limits->argument_depth);
  else if (found->code == HF_ERR_LIMIT)
    hf_error_set(&misfit->why, HF_ERR_LIMIT, "they are %zu bytes long, and the most is %" PRIu32, raw.len,
                 limits->argument_bytes);
  else
    return hf_misfit_explain(misfit, &exchange->client->gateway->validator, found->schema);
  return 0;
}

int hf_arguments_examine(struct hf_exchange *exchange, struct hf_str raw, struct hf_misfit *ret_misfit) {
  raw = given(raw);
  struct finding found = look(exchange, raw);
  if (found.code == 0 || found.code == HF_ERR_AGAIN)
    return found.schema ? found.code : HF_ERR_AGAIN;
  int r = explain(exchange, raw, &found, ret_misfit);
  if (r != HF_ERR_NOMEM)
    return HF_ERR_INVALID;
  hf_misfit_deinit(ret_misfit);
  return r;
}

/* Where an effect can neither be repeated nor taken back, a value is the caller's own word. */
static bool must_keep_values(const struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++)
    if (exchange->targets[i].safety < HF_SAFETY_IDEMPOTENT)
      return true;
  return false;
}

static void count_repairs(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_buf kinds;
  hf_buf_init(&kinds, TEXT_MAX);
  for (unsigned i = 0; i < exchange->repairs->count; i++) {
    const struct hf_repair *repair = &exchange->repairs->item[i];
    gateway->metrics.repairs[repair->kind]++;
    (void)hf_buf_printf(&kinds, "%s%s", i ? "," : "", hf_repair_name(repair->kind));
  }
  char id[HF_CALL_ID_MAX];
  hf_log_event(gateway->loop->log, HF_LOG_INFO, "arguments repaired",
               HF_LOG_STR("call", hf_outcome_call_id(exchange, id)), HF_LOG_STR("tool", exchange->request.name),
               HF_LOG_STR("repairs", hf_buf_str(&kinds)));
  hf_buf_deinit(&kinds);
}

/* Returns true if there was exactly one way, and it was taken. */
static bool repair(struct hf_exchange *exchange, struct hf_str raw, const struct finding *found) {
  struct hf_schema_run *run = hf_validator_run(&exchange->client->gateway->validator);
  if (!found->schema || !run || found->code != HF_ERR_INVALID)
    return false;
  const struct hf_repair_options options = {.keep_values = must_keep_values(exchange), .tool = exchange->request.name};
  struct hf_repairs *repairs = hf_arena_alloc(&exchange->arena, sizeof *repairs);
  struct hf_buf out;
  hf_buf_init(&out, REPAIRED_MAX);
  int r = repairs ? hf_repair(found->schema, run, raw, &options, &exchange->arena, &out, repairs) : HF_ERR_NOMEM;
  struct hf_str copy = r == 0 ? hf_arena_copy(&exchange->arena, hf_buf_str(&out)) : (struct hf_str){NULL, 0};
  hf_buf_deinit(&out);
  if (!copy.ptr || repairs->count == 0)
    return false;
  exchange->arguments = copy;
  exchange->repairs = repairs;
  count_repairs(exchange);
  return true;
}

static void count(struct hf_exchange *exchange, enum hf_fit fit) {
  exchange->client->gateway->metrics.arguments[fit]++;
}

/* For the count of the call. */
static void note(struct hf_exchange *exchange, const struct hf_misfit *misfit) {
  bool parameter = misfit->errors.count > 0;
  for (unsigned i = 0; i < misfit->errors.count; i++)
    parameter = parameter && misfit->errors.item[i].key != HF_JSON_NONE;
  struct hf_buf pointer;
  hf_buf_init(&pointer, TEXT_MAX);
  if (misfit->errors.count && hf_json_pointer_of(&misfit->doc, misfit->errors.item[0].value, &pointer) == 0)
    exchange->notes.pointer = hf_arena_copy(&exchange->arena, hf_buf_str(&pointer));
  hf_buf_deinit(&pointer);
  exchange->notes.misfit = misfit->why.code == HF_ERR_LIMIT ? HF_MISFIT_LIMIT
                           : parameter                      ? HF_MISFIT_PARAMETER
                                                            : HF_MISFIT_ARGUMENTS;
}

/* It goes on all the same, and somebody should know. */
static enum hf_stage_result warn(struct hf_exchange *exchange, const struct hf_misfit *misfit) {
  char id[HF_CALL_ID_MAX];
  struct hf_buf reasons;
  hf_buf_init(&reasons, TEXT_MAX);
  (void)hf_feedback_reasons(misfit, WARN_TOKENS, &reasons);
  hf_feedback_join(&reasons);
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_WARN, "arguments do not fit, and are sent all the same",
               HF_LOG_STR("call", hf_outcome_call_id(exchange, id)), HF_LOG_STR("tool", exchange->request.name),
               HF_LOG_STR("reasons", hf_buf_str(&reasons)));
  hf_trace_stage(exchange, HF_STR("its arguments do not fit the tool's schema, and it goes on all the same"));
  hf_buf_deinit(&reasons);
  note(exchange, misfit);
  count(exchange, HF_FIT_WARNED);
  return HF_STAGE_PASS;
}

static enum hf_stage_result refuse(struct hf_exchange *exchange, struct hf_str raw, const struct finding *found) {
  const struct hf_fit_settings *fit = settings_of(exchange);
  struct hf_misfit misfit;
  (void)explain(exchange, raw, found, &misfit);
  enum hf_stage_result result = HF_STAGE_ENDED;
  if (fit->validate == HF_CHECK_WARN && found->code != HF_ERR_LIMIT)
    result = warn(exchange, &misfit);
  else
    hf_arguments_refuse(exchange, &misfit);
  hf_misfit_deinit(&misfit);
  return result;
}

/* A replay sends what its letter or the person who patched it says, or nothing: it is checked, because the tool's
 * schema may be another one by now, and not repaired. */
static bool may_repair(const struct hf_exchange *exchange) {
  const struct hf_fit_settings *fit = settings_of(exchange);
  return !exchange->replay && fit->validate == HF_CHECK_ENFORCE && fit->repair == HF_REPAIR_MODE_SAFE;
}

/* A model may know better, before they are refused. */
static enum hf_stage_result ask(struct hf_exchange *exchange, struct hf_str raw, const struct finding *found) {
  if (found->code != HF_ERR_INVALID || !found->schema || settings_of(exchange)->validate != HF_CHECK_ENFORCE)
    return HF_STAGE_PASS;
  struct hf_misfit misfit;
  (void)explain(exchange, raw, found, &misfit);
  const enum hf_stage_result result = hf_ask_begin(exchange, &misfit);
  hf_misfit_deinit(&misfit);
  return result;
}

static bool is_listed_anew(const struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++)
    if (exchange->targets[i].instance->lists[HF_LIST_TOOLS].loading)
      return false;
  return true;
}

static bool is_gone(const struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++)
    if (hf_catalog_item(&exchange->targets[i]))
      return false;
  return !exchange->route;
}

static void refuse_gone(struct hf_exchange *exchange) {
  struct hf_str name = exchange->request.name;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  if (hf_near_tell(exchange, &text) < 0) {
    hf_buf_reset(&text, TEXT_MAX);
    (void)hf_buf_append_str(&text, HF_STR("The tool is gone. Nothing was executed."));
  }
  exchange->notes.misfit = HF_MISFIT_TOOL;
  const struct hf_correct_refusal refusal = {
      .fault = HF_FAULT_UNKNOWN_TOOL,
      .text = hf_buf_str(&text),
      .reason = HF_STR("its server does not list it any more"),
      .error = hf_map_hash(name.ptr, name.len),
  };
  hf_correct_refuse(exchange, &refusal);
  hf_buf_deinit(&text);
}

static void look_again(struct hf_exchange *exchange) {
  if (!is_listed_anew(exchange) && !exchange->wait_over)
    return;
  hf_exchange_go_on(exchange);
  if (is_gone(exchange))
    refuse_gone(exchange);
  else if (hf_arguments_before(exchange) == HF_STAGE_PASS)
    hf_pipeline_go_on(exchange);
}

/* A schema that may be old is asked for anew before its word is taken against a call, or a server that has changed
 * without a word would never be called right. Returns true if the call waits for it. */
static bool waits_for_newest(struct hf_exchange *exchange) {
  if (exchange->listed_anew || (exchange->route && exchange->route->input_schema.ptr))
    return false;
  exchange->listed_anew = true;
  for (size_t i = 0; i < exchange->target_count; i++)
    hf_instance_refresh(exchange->targets[i].instance, HF_LIST_TOOLS);
  if (is_listed_anew(exchange))
    return false;
  hf_exchange_wait(exchange, exchange->client->gateway->settings->limits.list_wait, look_again);
  return true;
}

enum hf_stage_result hf_arguments_before(struct hf_exchange *exchange) {
  struct hf_str raw = given(hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS));
  struct finding found = look(exchange, raw);
  if (found.code == 0 || found.code == HF_ERR_AGAIN) {
    if (settings_of(exchange)->validate != HF_CHECK_OFF)
      count(exchange, found.code == 0 ? HF_FIT_VALID : HF_FIT_UNVALIDATED);
    return HF_STAGE_PASS;
  }
  if (found.code != HF_ERR_LIMIT && waits_for_newest(exchange))
    return HF_STAGE_KEPT;
  if (may_repair(exchange) && repair(exchange, raw, &found)) {
    hf_trace_stage(exchange, HF_STR("its arguments did not fit the tool's schema, and were repaired"));
    count(exchange, HF_FIT_REPAIRED);
    return HF_STAGE_PASS;
  }
  const enum hf_stage_result result = ask(exchange, raw, &found);
  return result == HF_STAGE_PASS ? refuse(exchange, raw, &found) : result;
}

/* What is wrong, and what would be right. */
static int append_text(struct hf_exchange *exchange, const struct hf_misfit *misfit, struct hf_str example,
                       struct hf_buf *out) {
  const struct hf_gateway *gateway = exchange->client->gateway;
  int r = hf_feedback_quote(exchange->request.name, NAME_SHOWN_MAX, out);
  if (r == 0)
    r = hf_buf_append_str(out, HF_STR(" was not called: its arguments don't fit. Nothing was executed."));
  if (r == 0)
    r = hf_feedback_reasons(misfit, gateway->settings->limits.feedback_tokens, out);
  if (r == 0)
    r = hf_feedback_strangers(misfit, out);
  if (r == 0 && example.len)
    r = hf_buf_printf(out, "\nThe least that fits: %.*s", HF_STR_FMT(example));
  return r;
}

void hf_arguments_refuse(struct hf_exchange *exchange, const struct hf_misfit *misfit) {
  struct hf_schema_run *run = hf_validator_run(&exchange->client->gateway->validator);
  struct hf_buf text, reason, example;
  hf_buf_init(&text, TEXT_MAX);
  hf_buf_init(&reason, TEXT_MAX);
  hf_buf_init(&example, EXAMPLE_BYTES_MAX);
  if (misfit->schema && run)
    (void)hf_example_write(misfit->schema, run, EXAMPLE_BYTES_MAX, &example);
  if (hf_str_equal(hf_buf_str(&example), HF_STR("{}"))) /* whoever sent that would lose what was meant */
    hf_buf_reset(&example, EXAMPLE_BYTES_MAX);
  (void)hf_feedback_first(misfit, &reason);
  if (append_text(exchange, misfit, hf_buf_str(&example), &text) < 0) {
    hf_buf_reset(&text, TEXT_MAX);
    (void)hf_buf_append_str(&text, HF_STR("The arguments don't fit the tool's inputSchema. Nothing was executed."));
  }
  hf_trace_stage(exchange, HF_STR("its arguments do not fit the tool's schema, so nothing was sent"));
  count(exchange, HF_FIT_REFUSED);
  note(exchange, misfit);
  const struct hf_correct_refusal refusal = {
      .fault = HF_FAULT_SCHEMA,
      .text = hf_buf_str(&text),
      .reason = hf_buf_str(&reason),
      .error = hf_feedback_digest(misfit),
      .has_example = example.len > 0,
  };
  hf_correct_refuse(exchange, &refusal);
  hf_buf_deinit(&example);
  hf_buf_deinit(&reason);
  hf_buf_deinit(&text);
}

void hf_arguments_resume(struct hf_exchange *exchange, struct hf_str raw, const char *how) {
  struct hf_str copy = hf_arena_copy(&exchange->arena, raw);
  if (!copy.ptr) {
    hf_arguments_give_up(exchange);
    return;
  }
  exchange->arguments = copy;
  exchange->corrected = how;
  hf_trace_stage(exchange, HF_STR("what it answered fits, and goes on in the place of what came"));
  count(exchange, HF_FIT_CORRECTED);
  hf_pipeline_go_on(exchange);
}

void hf_arguments_give_up(struct hf_exchange *exchange) {
  if (is_gone(exchange)) {
    refuse_gone(exchange);
    return;
  }
  struct hf_str raw = given(hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS));
  struct finding found = look(exchange, raw);
  if (found.code == 0 || found.code == HF_ERR_AGAIN || refuse(exchange, raw, &found) == HF_STAGE_PASS)
    hf_pipeline_go_on(exchange);
}
