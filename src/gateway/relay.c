#include "gateway/relay.h"

#include "base/alloc.h"
#include "gateway/catalog/link.h"
#include "gateway/catalog/verbosity.h"
#include "gateway/correct/ask.h"
#include "gateway/question/elicitation.h"
#include "gateway/question/page.h"
#include "gateway/question/round.h"
#include "gateway/stage/key_place.h"
#include "gateway/task/follow.h"
#include "mcp/compose.h"
#include "mcp/log_level.h"
#include "mcp/rewrite.h"
#include "json/value.h"
#include "json/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 64, REF_MAX = 1 << 16, PROGRESS_TEXT_MAX = 256 };

/* Appends `text` with another value in place of the string `old`, which is part of it. */
static int splice(struct hf_buf *out, struct hf_str text, struct hf_str old, struct hf_str value) {
  const size_t before = (size_t)(old.ptr - text.ptr), rest = before + old.len;
  struct hf_buf quoted;
  hf_buf_init(&quoted, REF_MAX);
  int r = hf_json_escape(&quoted, value);
  if (r == 0)
    r = hf_buf_append(out, text.ptr, before);
  if (r == 0)
    r = hf_buf_append_str(out, hf_buf_str(&quoted));
  if (r == 0)
    r = hf_buf_append(out, text.ptr + rest, text.len - rest);
  hf_buf_deinit(&quoted);
  return r;
}

/* completion/complete names what it completes inside `ref`, of which nothing else is touched. */
static int replace_in_ref(struct hf_rewrite *rewrite, const struct hf_exchange *exchange, struct hf_str member,
                          struct hf_str name) {
  const struct hf_str text = hf_message_raw(&exchange->request, HF_FIELD_REF);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  struct hf_buf ref;
  hf_buf_init(&ref, REF_MAX);
  uint32_t node;
  int r = hf_json_scan_feed(&scan, text.ptr, text.len, true);
  const struct hf_json_doc doc = hf_json_doc(text.ptr, &scan);
  if (r == 0)
    r = hf_json_member(&doc, 0, member, &node);
  if (r == 0 && !hf_json_string_is(&doc, node, name)) {
    r = splice(&ref, text, hf_json_span(&doc, node), name);
    if (r == 0)
      hf_rewrite_replace(rewrite, exchange->request.at[HF_FIELD_REF], hf_buf_str(&ref));
  }
  hf_buf_deinit(&ref);
  hf_json_scan_deinit(&scan);
  return r;
}

static int replace_uri(struct hf_rewrite *rewrite, const struct hf_exchange *exchange) {
  const struct hf_message *request = &exchange->request;
  if (request->method == HF_METHOD_COMPLETE)
    return replace_in_ref(rewrite, exchange, HF_STR("uri"), exchange->target->uri);
  struct hf_buf raw;
  hf_buf_init(&raw, REF_MAX);
  int r = hf_json_escape(&raw, exchange->target->uri);
  if (r == 0)
    hf_rewrite_replace(rewrite, request->at[HF_FIELD_URI], hf_buf_str(&raw));
  hf_buf_deinit(&raw);
  return r;
}

static int rename_target(struct hf_rewrite *rewrite, const struct hf_exchange *exchange) {
  const struct hf_message *request = &exchange->request;
  if (exchange->target->uri.ptr)
    return replace_uri(rewrite, exchange);
  if (!exchange->target->name.ptr)
    return 0;
  if (request->method == HF_METHOD_COMPLETE)
    return replace_in_ref(rewrite, exchange, HF_STR("name"), exchange->target->name);
  if (request->name.ptr && (exchange->asked_name.ptr || !hf_str_equal(request->name, exchange->target->name)))
    hf_rewrite_set_name(rewrite, exchange->target->name);
  return 0;
}

/* A modern server wants to be told the version and capabilities in each request; a legacy one got them once, and might
 * take a modern client's for something of its own. */
static void cross_eras(struct hf_rewrite *rewrite, const struct hf_exchange *exchange) {
  const struct hf_instance *instance = exchange->target->instance;
  if (instance->era == HF_ERA_MODERN && exchange->era != HF_ERA_MODERN) {
    char raw[NUMBER_MAX];
    int n = snprintf(raw, sizeof raw, "\"%.*s\"", HF_STR_FMT(instance->version));
    hf_rewrite_set_meta(rewrite, HF_STR(HF_META_VERSION), (struct hf_str){raw, (size_t)n});
    const char *asked = exchange->client->asked_capabilities;
    hf_rewrite_set_meta(rewrite, HF_STR(HF_META_CAPABILITIES), asked ? hf_str_from(asked) : HF_STR("{}"));
    hf_rewrite_set_meta(rewrite, HF_STR(HF_META_CLIENT_INFO), HF_STR(HF_IMPLEMENTATION));
    if (exchange->client->log_level >= 0) {
      n = snprintf(raw, sizeof raw, "\"%s\"", hf_log_level_name(exchange->client->log_level));
      hf_rewrite_set_meta(rewrite, HF_STR(HF_META_LOG_LEVEL), (struct hf_str){raw, (size_t)n});
    }
  } else if (instance->era != HF_ERA_MODERN && exchange->era == HF_ERA_MODERN) {
    static const struct hf_str modern[] = {HF_STR(HF_META_VERSION), HF_STR(HF_META_CAPABILITIES),
                                           HF_STR(HF_META_CLIENT_INFO), HF_STR(HF_META_LOG_LEVEL)};
    for (size_t i = 0; i < sizeof modern / sizeof modern[0]; i++)
      hf_rewrite_remove_meta(rewrite, modern[i]);
  }
}

/* Returns 0 or HF_ERR_INVALID: what is mapped must be an object, or nothing. */
static int replace_arguments(struct hf_rewrite *rewrite, const struct hf_exchange *exchange, struct hf_str arguments) {
  const struct hf_message *request = &exchange->request;
  struct hf_str own = hf_message_raw(request, HF_FIELD_ARGUMENTS);
  if (arguments.ptr == own.ptr)
    return 0;
  if (arguments.len == 0 || arguments.ptr[0] != '{')
    return HF_ERR_INVALID;
  if (own.ptr)
    hf_rewrite_replace(rewrite, request->at[HF_FIELD_ARGUMENTS], arguments);
  else
    hf_rewrite_set_member(rewrite, request->at[HF_FIELD_PARAMS], HF_STR("arguments"), arguments);
  return 0;
}

/* An idempotency key that the tool takes in `_meta`; as an argument it stands in the arguments, as a header outside. */
static int put_key(struct hf_rewrite *rewrite, const struct hf_exchange *exchange,
                   const struct hf_target_tool *target) {
  struct hf_buf raw;
  hf_buf_init(&raw, 8 * HF_KEY_BYTES_MAX);
  struct hf_str name;
  int r = hf_key_meta(exchange, target, &name, &raw);
  if (r == 0)
    hf_rewrite_set_meta(rewrite, name, hf_buf_str(&raw));
  hf_buf_deinit(&raw);
  return r == HF_ERR_NOTFOUND ? 0 : r;
}

int hf_relay_request(const struct hf_exchange *exchange, const struct hf_live *live, struct hf_str arguments,
                     struct hf_pieces *ret_text) {
  char digits[HF_DECIMAL_MAX];
  struct hf_str raw = hf_str_decimal(live->upstream_id, digits);

  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, &exchange->request);
  hf_rewrite_set_id(&rewrite, raw);
  int r = rename_target(&rewrite, exchange);
  if (r == 0)
    r = replace_arguments(&rewrite, exchange, arguments);
  cross_eras(&rewrite, exchange);
  hf_ask_strip(exchange, &rewrite);
  if (exchange->pages > 0) {
    hf_rewrite_remove_member(&rewrite, exchange->request.at[HF_FIELD_PARAMS], HF_STR("requestState"));
    hf_rewrite_remove_member(&rewrite, exchange->request.at[HF_FIELD_PARAMS], HF_STR("inputResponses"));
  }
  hf_round_put(exchange, live, &rewrite);
  hf_follow_put(exchange, live, &rewrite);
  if (exchange->request.at[HF_FIELD_META_CALL])
    hf_rewrite_remove_meta(&rewrite, HF_STR(HF_META_CALL));
  hf_rewrite_set_progress_token(&rewrite, raw);
  if (r == 0)
    r = put_key(&rewrite, exchange, live->target);
  if (r == 0)
    return hf_rewrite_finish(&rewrite, ret_text);
  hf_rewrite_deinit(&rewrite);
  return r;
}

/* What a modern client may count on in a result, and a legacy server doesn't say. */
static void complete_result(struct hf_rewrite *rewrite, const struct hf_exchange *exchange,
                            const struct hf_message *response) {
  uint32_t result = response->at[HF_FIELD_RESULT];
  if (!response->at[HF_FIELD_RESULT_TYPE])
    hf_rewrite_set_member(rewrite, result, HF_STR("resultType"), HF_STR("\"complete\""));
  if (!(hf_method_info(exchange->request.method)->flags & HF_METHOD_CACHEABLE))
    return;
  uint32_t node;
  if (hf_json_member(&response->doc, result, HF_STR("ttlMs"), &node) == HF_ERR_NOTFOUND)
    hf_rewrite_set_member(rewrite, result, HF_STR("ttlMs"), HF_STR("0"));
  if (hf_json_member(&response->doc, result, HF_STR("cacheScope"), &node) == HF_ERR_NOTFOUND)
    hf_rewrite_set_member(rewrite, result, HF_STR("cacheScope"), HF_STR("\"private\""));
}

/* The value of the marker that a gateway behind this one has set. Returns 0, HF_ERR_NOTFOUND, or why that cannot be
 * told. */
static int find_mark(struct hf_str data, struct hf_str *ret_value) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, data.ptr, data.len, true);
  if (r == 0) {
    const struct hf_json_doc doc = hf_json_doc(data.ptr, &scan);
    uint32_t value;
    r = hf_json_member(&doc, 0, HF_STR(HF_META_OUTCOME), &value);
    if (r == 0)
      *ret_value = hf_json_span(&doc, value);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

static bool is_white(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Appends `data` with the outcome as its first member, or in place of the value `old`. */
static int put_marked(struct hf_buf *out, struct hf_str data, struct hf_str old, struct hf_str outcome) {
  size_t rest = old.ptr ? (size_t)(old.ptr - data.ptr) + old.len : 1;
  int r = old.ptr ? hf_buf_append(out, data.ptr, (size_t)(old.ptr - data.ptr))
                  : hf_buf_append_str(out, HF_STR("{\"" HF_META_OUTCOME "\":"));
  if (r == 0)
    r = hf_buf_append_str(out, outcome);
  size_t next = rest;
  while (next < data.len && is_white(data.ptr[next]))
    next++;
  if (r == 0 && !old.ptr && next < data.len && data.ptr[next] != '}')
    r = hf_buf_append_str(out, HF_STR(","));
  return r == 0 ? hf_buf_append(out, data.ptr + rest, data.len - rest) : r;
}

/* An error has no `_meta`, so its marker goes into `data`: among an object's members, or as all of it where there is
 * none. Data of another kind stays alone. */
static int mark_error(struct hf_rewrite *rewrite, const struct hf_message *response, struct hf_str outcome) {
  struct hf_str data = hf_message_raw(response, HF_FIELD_ERROR_DATA);
  if (!data.ptr)
    data = HF_STR("{}");
  if (data.ptr[0] != '{')
    return 0;
  struct hf_str old = {NULL, 0};
  int r = find_mark(data, &old);
  if (r < 0 && r != HF_ERR_NOTFOUND)
    return r == HF_ERR_NOMEM ? r : 0;
  struct hf_buf marked;
  hf_buf_init(&marked, data.len + outcome.len + sizeof HF_META_OUTCOME + 8);
  r = put_marked(&marked, data, old, outcome);
  if (r == 0)
    hf_rewrite_set_member(rewrite, response->at[HF_FIELD_ERROR], HF_STR("data"), hf_buf_str(&marked));
  hf_buf_deinit(&marked);
  return r;
}

int hf_relay_response(const struct hf_exchange *exchange, const struct hf_message *response, struct hf_str outcome,
                      struct hf_pieces *ret_text) {
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, response);
  hf_rewrite_set_id(&rewrite, exchange->request.id);
  if (response->kind == HF_MESSAGE_RESULT) {
    if (exchange->era == HF_ERA_MODERN)
      complete_result(&rewrite, exchange, response);
    if (outcome.ptr)
      hf_rewrite_set_meta(&rewrite, HF_STR(HF_META_OUTCOME), outcome);
    hf_links_pass(exchange, response, &rewrite);
  } else if (response->error_code == HF_RPC_PAGE_REQUIRED && exchange->target->instance) {
    hf_elicitation_note_error(exchange->target->instance, exchange->client,
                              hf_message_raw(response, HF_FIELD_ERROR_DATA));
  }
  int r = response->kind == HF_MESSAGE_ERROR && outcome.ptr ? mark_error(&rewrite, response, outcome) : 0;
  if (r == 0)
    return hf_rewrite_finish(&rewrite, ret_text);
  hf_rewrite_deinit(&rewrite);
  return r;
}

static bool read_progress(const struct hf_message *message, double *ret_progress) {
  uint32_t node;
  if (hf_json_member(&message->doc, message->at[HF_FIELD_PARAMS], HF_STR("progress"), &node) < 0)
    return false;
  struct hf_str span = hf_json_span(&message->doc, node);
  char text[NUMBER_MAX];
  if (hf_json_type(&message->doc, node) != HF_JSON_NUMBER || span.len >= sizeof text)
    return false;
  memcpy(text, span.ptr, span.len);
  text[span.len] = '\0';
  *ret_progress = strtod(text, NULL);
  return true;
}

/* Which task that is, its server says by its own id. */
static void unrelate(const struct hf_exchange *exchange, const struct hf_message *message, struct hf_rewrite *rewrite) {
  if (exchange->follow && message->at[HF_FIELD_PARAMS_META])
    hf_rewrite_remove_meta(rewrite, HF_STR(HF_META_RELATED_TASK));
}

/* A repeated call starts from nothing, but what the client sees must not fall. */
static int relay_progress(struct hf_exchange *exchange, const struct hf_message *message, struct hf_pieces *ret_text) {
  double progress;
  if (!exchange->request.progress_token.ptr || !read_progress(message, &progress) ||
      (exchange->has_progress && progress <= exchange->progress))
    return HF_ERR_NOTFOUND;
  exchange->progress = progress;
  exchange->has_progress = true;

  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, message);
  hf_rewrite_set_progress_token(&rewrite, exchange->request.progress_token);
  unrelate(exchange, message, &rewrite);
  return hf_rewrite_finish(&rewrite, ret_text);
}

/* A step so small that what the server itself counts goes on behind it. */
#define PROGRESS_STEP 0.001

int hf_relay_make_progress(const struct hf_exchange *exchange, struct hf_str words, struct hf_message *ret_message) {
  const double progress = exchange->has_progress ? exchange->progress + PROGRESS_STEP : 0;
  struct hf_refusal refusal;
  struct hf_buf text;
  if (exchange->has_progress && progress <= exchange->progress)
    return HF_ERR_NOTFOUND;
  hf_buf_init(&text, words.len + PROGRESS_TEXT_MAX);
  char number[NUMBER_MAX];
  int len = snprintf(number, sizeof number, "%.15g", progress);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "jsonrpc", HF_STR("2.0"));
  hf_json_write_member_str(&w, "method", hf_method_info(HF_METHOD_PROGRESS)->name);
  hf_json_write_key(&w, "params");
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "progressToken", 0);
  hf_json_write_member_raw(&w, "progress", (struct hf_str){number, (size_t)len});
  hf_json_write_member_raw(&w, "message", words);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_message_decode(&text, ret_message, &refusal);
  hf_buf_deinit(&text);
  return r;
}

/* A modern client hears log lines only if this very request asked for them. */
static bool wants_log(const struct hf_exchange *exchange, const struct hf_message *message) {
  int level = hf_log_level_of(message);
  if (exchange->era == HF_ERA_MODERN)
    return exchange->meta.log_level.ptr && level >= hf_log_level_index(exchange->meta.log_level);
  return hf_verbosity_covers(exchange->client, exchange->target->instance, level);
}

int hf_relay_notification(struct hf_exchange *exchange, const struct hf_message *message, struct hf_pieces *ret_text) {
  if (message->method == HF_METHOD_PROGRESS)
    return relay_progress(exchange, message, ret_text);
  if (message->method == HF_METHOD_LOG_MESSAGE && !wants_log(exchange, message))
    return HF_ERR_NOTFOUND;
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, message);
  unrelate(exchange, message, &rewrite);
  return hf_rewrite_finish(&rewrite, ret_text);
}
