#include "gateway/session.h"

#include "base/alloc.h"
#include "gateway/catalog/catalog.h"
#include "gateway/catalog/greeting.h"
#include "gateway/catalog/listen.h"
#include "gateway/catalog/subscription.h"
#include "gateway/catalog/verbosity.h"
#include "gateway/correct/correct.h"
#include "gateway/correct/near.h"
#include "gateway/exchange.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/question/elicitation.h"
#include "gateway/question/held.h"
#include "gateway/question/page.h"
#include "gateway/question/question.h"
#include "gateway/stage/away.h"
#include "gateway/stage/flight.h"
#include "gateway/task/task.h"
#include "mcp/compose.h"
#include "mcp/log_level.h"

enum { ERROR_TEXT_MAX = 4096, NAME_SHOWN_MAX = 128, REASON_SHOWN_MAX = 300 };

int hf_client_new(struct hf_gateway *gateway, const struct hf_client_options *options, struct hf_client **ret_client) {
  struct hf_client *client = hf_calloc(1, sizeof *client);
  if (!client)
    return HF_ERR_NOMEM;
  client->gateway = gateway;
  client->ops = options->ops;
  client->owner = options->owner;
  client->era = options->era;
  client->replay = options->replay;
  client->stateless = options->era == HF_ERA_MODERN;
  client->line = options->era == HF_ERA_UNKNOWN;
  client->number = client->stateless ? 0 : ++gateway->last_client;
  client->log_level = -1;
  hf_list_init(&client->link);
  hf_list_init(&client->exchanges);
  hf_list_init(&client->questions);
  hf_list_init(&client->subscriptions);
  client->server = options->server.ptr ? hf_strndup(options->server.ptr, options->server.len) : NULL;
  client->principal = options->principal.ptr ? hf_strndup(options->principal.ptr, options->principal.len) : NULL;
  if ((options->server.ptr && !client->server) || (options->principal.ptr && !client->principal)) {
    hf_free(client->server);
    hf_free(client->principal);
    hf_free(client);
    return HF_ERR_NOMEM;
  }
  *ret_client = client;
  return 0;
}

int hf_client_open(struct hf_gateway *gateway, const struct hf_client_options *options, struct hf_client **ret_client) {
  if (gateway->draining)
    return HF_ERR_CLOSED;
  if (options->server.ptr && !hf_gateway_server(gateway, options->server))
    return HF_ERR_NOTFOUND;
  if (gateway->client_count >= gateway->settings->limits.sessions)
    return HF_ERR_LIMIT;
  int r = hf_client_new(gateway, options, ret_client);
  if (r < 0)
    return r;
  hf_list_push_back(&gateway->clients, &(*ret_client)->link);
  gateway->client_count++;
  (*ret_client)->open = true;
  return 0;
}

static void retire_own_instances(struct hf_client *client) {
  struct hf_list *server_it, *server_tmp, *it, *tmp;
  HF_LIST_FOREACH (server_it, server_tmp, &client->gateway->servers) {
    struct hf_server *server = HF_CONTAINER_OF(server_it, struct hf_server, link);
    HF_LIST_FOREACH (it, tmp, &server->own) {
      struct hf_instance *instance = HF_CONTAINER_OF(it, struct hf_instance, link);
      if (instance->client == client)
        hf_instance_retire(instance);
    }
  }
}

/* The gateway's own client is closed with the gateway: then nothing is waited for, not even the store. */
static void end_exchanges(struct hf_client *client) {
  bool last = client == client->gateway->nobody;
  while (!hf_list_empty(&client->exchanges)) {
    struct hf_list *link = client->exchanges.next;
    struct hf_exchange *exchange = HF_CONTAINER_OF(link, struct hf_exchange, link);
    if (exchange->reply)
      exchange->reply->exchange = NULL;
    exchange->reply = NULL;
    if (!last && hf_away_outlives(exchange, HF_LEAVE_CLOSED))
      continue;
    if (!last)
      hf_exchange_disown(exchange);
    hf_exchange_cancel(exchange);
    if (client->exchanges.next == link)
      hf_exchange_drop(exchange);
  }
}

void hf_client_close(struct hf_client *client) {
  end_exchanges(client);
  hf_question_close(client);
  hf_flight_client_closed(client);
  hf_tasks_client_closed(client);
  hf_subscription_forget_client(client);
  hf_elicitation_forget_client(client);
  hf_verbosity_leave(client);
  retire_own_instances(client);
  hf_list_remove(&client->link);
  client->gateway->client_count -= client->open;
  hf_free(client->server);
  hf_free(client->principal);
  hf_free(client->raw_capabilities);
  hf_free(client->asked_capabilities);
  hf_free(client);
}

void hf_client_abandon(struct hf_client *client, struct hf_reply *reply) {
  struct hf_exchange *exchange = reply->exchange;
  (void)client;
  if (!exchange)
    return;
  reply->exchange = NULL;
  exchange->reply = NULL;
  if (!hf_away_outlives(exchange, HF_LEAVE_VANISHED))
    hf_exchange_cancel(exchange);
}

void hf_client_away(struct hf_client *client, struct hf_reply *reply) {
  (void)client;
  if (reply->exchange)
    hf_away_begin(reply->exchange);
}

void hf_client_back(struct hf_client *client, struct hf_reply *reply) {
  (void)client;
  if (reply->exchange)
    hf_away_end(reply->exchange);
}

void hf_client_unheard(struct hf_gateway *gateway, uint64_t call) {
  hf_flight_unheard(gateway->flights, call);
}

void hf_client_heard(struct hf_gateway *gateway, uint64_t call) {
  hf_flight_heard(gateway->flights, call);
}

struct hf_str hf_client_version(const struct hf_client *client) {
  return client->version == HF_VERSION_UNKNOWN ? (struct hf_str){NULL, 0} : hf_version_text(client->version);
}

enum hf_era hf_client_era(const struct hf_client *client) {
  return client->era;
}

int hf_client_error_text(struct hf_str id, int code, struct hf_str message, struct hf_pieces *ret_text) {
  struct hf_buf text;
  hf_buf_init(&text, ERROR_TEXT_MAX);
  int r = hf_compose_error(&text, id, code, message, (struct hf_str){NULL, 0});
  if (r == 0)
    r = hf_pieces_add_copy(ret_text, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return r;
}

struct hf_server *hf_client_next_server(const struct hf_client *client, struct hf_server *after) {
  struct hf_gateway *gateway = client->gateway;
  if (client->server)
    return after ? NULL : hf_gateway_server(gateway, hf_str_from(client->server));
  struct hf_list *next = after ? after->link.next : gateway->servers.next;
  return next == &gateway->servers ? NULL : HF_CONTAINER_OF(next, struct hf_server, link);
}

bool hf_client_sees(const struct hf_client *client, const struct hf_instance *instance) {
  if (instance->client)
    return instance->client == client;
  return !client->server || hf_str_equal(hf_str_from(client->server), instance->settings->name);
}

void hf_client_notify(struct hf_client *client, struct hf_pieces *text) {
  client->ops->notify(client, client->owner, text);
}

static void answer_empty(struct hf_exchange *exchange) {
  hf_exchange_result(exchange, exchange->era == HF_ERA_MODERN ? HF_STR("{\"resultType\":\"complete\"}") : HF_STR("{}"));
}

static void set_level(struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  int level = hf_log_level_asked(&exchange->request);
  if (level < 0) {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS,
                      HF_STR("'level' must be debug, info, notice, warning, error, critical, alert or emergency"),
                      (struct hf_str){NULL, 0});
    return;
  }
  hf_verbosity_set(client, level);
  answer_empty(exchange);
}

static void refuse_unknown_tool(struct hf_exchange *exchange) {
  struct hf_str name = exchange->request.name;
  struct hf_buf text;
  hf_buf_init(&text, ERROR_TEXT_MAX);
  if (hf_near_tell(exchange, &text) < 0) {
    hf_buf_reset(&text, ERROR_TEXT_MAX);
    (void)hf_buf_append_str(&text, HF_STR("There is no such tool. Nothing was executed."));
  }
  exchange->notes.misfit = HF_MISFIT_TOOL;
  static const struct hf_str behind = HF_STR(" Nothing was executed."); /* tries before are told without the rest */
  const char *end = text.len ? memmem(text.data, text.len, behind.ptr, behind.len) : NULL;
  const struct hf_correct_refusal refusal = {
      .fault = HF_FAULT_UNKNOWN_TOOL,
      .text = hf_buf_str(&text),
      .reason = {text.data, end ? (size_t)(end - text.data) : text.len},
      .error = hf_map_hash(name.ptr, name.len),
  };
  hf_correct_refuse(exchange, &refusal);
  hf_buf_deinit(&text);
}

static void answer_unknown(struct hf_exchange *exchange) {
  struct hf_buf text;
  hf_buf_init(&text, ERROR_TEXT_MAX);
  struct hf_str name = exchange->request.name.ptr ? exchange->request.name : exchange->request.uri;
  if (name.len > 256)
    name.len = 256;
  if (exchange->request.uri.ptr) {
    (void)hf_buf_printf(&text, "no server here has the resource '%.*s'", HF_STR_FMT(name));
    int code = exchange->era == HF_ERA_MODERN ? HF_RPC_INVALID_PARAMS : HF_RPC_RESOURCE_NOT_FOUND;
    hf_outcome_answer_refusal(exchange, HF_FAULT_UNKNOWN_TOOL, code, hf_buf_str(&text));
  } else {
    if (name.ptr)
      (void)hf_buf_printf(&text, "no server here has the prompt '%.*s'; prompts/list tells all", HF_STR_FMT(name));
    else
      (void)hf_buf_append_str(&text, HF_STR("no server here has what 'params.ref' names"));
    hf_outcome_answer_refusal(exchange, HF_FAULT_UNKNOWN_TOOL, HF_RPC_INVALID_PARAMS, hf_buf_str(&text));
  }
  hf_buf_deinit(&text);
}

static void refuse_subscription(struct hf_exchange *exchange, int code, struct hf_str why) {
  hf_exchange_go_on(exchange);
  hf_exchange_error(exchange, code, why, (struct hf_str){NULL, 0});
}

/* The server may be asked on behalf of somebody else already; its word counts for all. What it has not answered in time
 * is taken to be good: it is asked as soon as it can be. */
static void await_subscription(struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  struct hf_instance *instance = exchange->target->instance;
  const struct hf_str uri = exchange->target->uri.ptr ? exchange->target->uri : exchange->request.uri;
  const enum hf_topic_state state = hf_subscription_state(instance, uri);
  if (state == HF_TOPIC_HELD || exchange->wait_over) {
    hf_exchange_go_on(exchange);
    answer_empty(exchange);
  } else if (instance->phase == HF_UPSTREAM_READY && instance->era != HF_ERA_MODERN && state == HF_TOPIC_NEW) {
    hf_exchange_go_on(exchange);
    hf_subscription_asked(exchange);
    hf_pipeline_start(exchange);
  } else if (state == HF_TOPIC_REFUSED) {
    (void)hf_subscription_remove(client, exchange->request.uri);
    refuse_subscription(exchange, HF_RPC_METHOD_NOT_FOUND,
                        HF_STR("the server of this resource does not tell of its changes"));
  } else {
    hf_subscription_ask(instance, uri);
    hf_exchange_wait(exchange, client->gateway->settings->limits.list_wait, await_subscription);
  }
}

static void subscribe(struct hf_exchange *exchange) {
  const struct hf_target_tool *target = exchange->target;
  const bool aliased = target->uri.ptr != NULL;
  const struct hf_wish wish = {.instance = target->instance,
                               .uri = aliased ? target->uri : exchange->request.uri,
                               .shown = aliased ? exchange->request.uri : (struct hf_str){NULL, 0}};
  if (exchange->request.method == HF_METHOD_RESOURCES_SUBSCRIBE) {
    if (hf_subscription_add(exchange->client, &wish) < 0) {
      refuse_subscription(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("too many subscriptions"));
      return;
    }
    hf_subscription_forgive(wish.instance, wish.uri);
    await_subscription(exchange);
  } else if (hf_subscription_remove(exchange->client, exchange->request.uri) &&
             target->instance->era != HF_ERA_MODERN) {
    hf_pipeline_start(exchange);
  } else {
    answer_empty(exchange);
  }
}

/* Answers and returns false if headers that repeat arguments differ from them. */
static bool headers_agree(struct hf_exchange *exchange) {
  struct hf_error why = {0};
  if (!exchange->has_headers ||
      hf_param_headers_check(&exchange->target->headers, hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS),
                             exchange->headers, exchange->header_count, &exchange->arena, &why) != HF_ERR_INVALID)
    return true;
  hf_exchange_error(exchange, HF_RPC_HEADER_MISMATCH, hf_str_from(why.text), (struct hf_str){NULL, 0});
  return false;
}

static void answer_disabled(struct hf_exchange *exchange) {
  struct hf_str name = exchange->request.name.len ? exchange->request.name : HF_STR("params.ref");
  name.len = name.len < NAME_SHOWN_MAX ? name.len : NAME_SHOWN_MAX;
  struct hf_buf text;
  hf_buf_init(&text, ERROR_TEXT_MAX);
  (void)hf_buf_printf(&text,
                      "The server of '%.*s' is disabled (%.*s). Nothing was executed. Repeating the call won't help: "
                      "the person who runs the gateway has to mend this. Go on without it.",
                      HF_STR_FMT(name), HF_STR_FMT(exchange->target->disabled_reason));
  hf_outcome_answer_refusal(exchange, HF_FAULT_MISCONFIGURED, HF_RPC_INTERNAL_ERROR, hf_buf_str(&text));
  hf_buf_deinit(&text);
}

/* That there is no such tool would be a guess, and would send a model away from one that is back in a minute. */
static void answer_unlisted(struct hf_exchange *exchange, const struct hf_instance *instance) {
  const bool down = instance->phase == HF_UPSTREAM_DOWN || instance->phase == HF_UPSTREAM_PARKED;
  struct hf_str name = exchange->request.name;
  name.len = name.len < NAME_SHOWN_MAX ? name.len : NAME_SHOWN_MAX;
  struct hf_str reason = hf_str_from(down && instance->reason ? instance->reason : "");
  reason.len = reason.len < REASON_SHOWN_MAX ? reason.len : REASON_SHOWN_MAX;
  struct hf_buf text;
  hf_buf_init(&text, ERROR_TEXT_MAX);
  (void)hf_buf_printf(
      &text,
      "'%.*s' was not called: the server '%.*s' %s%s%.*s%s, so it is not known whether it has this tool. "
      "Nothing was executed. You may try again later, or go on without this tool.",
      HF_STR_FMT(name), HF_STR_FMT(instance->settings->name), down ? "is down" : "has not listed its tools yet",
      reason.len ? " (" : "", HF_STR_FMT(reason), reason.len ? ")" : "");
  hf_outcome_answer_refusal(exchange, HF_FAULT_UNREACHABLE, HF_RPC_INTERNAL_ERROR, hf_buf_str(&text));
  hf_buf_deinit(&text);
}

static void answer_missing_tool(struct hf_exchange *exchange) {
  const struct hf_instance *unlisted = hf_catalog_unlisted(exchange);
  if (unlisted)
    answer_unlisted(exchange, unlisted);
  else
    refuse_unknown_tool(exchange);
}

static void route(struct hf_exchange *exchange) {
  if (!hf_task_read_wish(exchange) || hf_held_return(exchange) || hf_page_return(exchange))
    return;
  const bool is_call = exchange->request.method == HF_METHOD_TOOLS_CALL;
  int r = hf_catalog_resolve(exchange);
  if (r == HF_ERR_NOTFOUND && is_call && hf_near_correct(exchange))
    r = hf_catalog_resolve(exchange);
  if (r == HF_ERR_AGAIN) {
    hf_time most = exchange->client->gateway->settings->limits.list_wait;
    hf_exchange_wait(exchange, exchange->could_go ? hf_time_min(most, HF_ROUTE_WAIT) : most, route);
    return;
  }
  hf_exchange_go_on(exchange);
  if (r == HF_ERR_NOTFOUND && is_call) {
    answer_missing_tool(exchange);
  } else if (r == HF_ERR_NOTFOUND) {
    answer_unknown(exchange);
  } else if (r == HF_ERR_INVALID) {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("'params.ref' must name a prompt or a resource"),
                      (struct hf_str){NULL, 0});
  } else if (r == HF_ERR_UNAVAILABLE) {
    answer_disabled(exchange);
  } else if (r < 0) {
    hf_outcome_answer_refusal(
        exchange, HF_FAULT_LOCAL_LIMIT, HF_RPC_INTERNAL_ERROR,
        HF_STR("The gateway has no room for this call: one of its limits was reached. Nothing was "
               "executed. Try again later."));
  } else if (exchange->request.method == HF_METHOD_RESOURCES_SUBSCRIBE ||
             exchange->request.method == HF_METHOD_RESOURCES_UNSUBSCRIBE) {
    subscribe(exchange);
  } else if (!hf_task_refuse(exchange) && !hf_held_refuse_stray(exchange) && headers_agree(exchange)) {
    hf_pipeline_start(exchange);
  }
}

/* One row per request that the gateway serves; everything else is -32601. */
static const struct {
  enum hf_method method;
  void (*handle)(struct hf_exchange *exchange);
} handlers[] = {
    {HF_METHOD_TOOLS_CALL, route},
    {HF_METHOD_TOOLS_LIST, hf_catalog_list},
    {HF_METHOD_INITIALIZE, hf_greeting_initialize},
    {HF_METHOD_DISCOVER, hf_greeting_discover},
    {HF_METHOD_PING, answer_empty},
    {HF_METHOD_PROMPTS_LIST, hf_catalog_list},
    {HF_METHOD_PROMPTS_GET, route},
    {HF_METHOD_RESOURCES_LIST, hf_catalog_list},
    {HF_METHOD_RESOURCES_TEMPLATES_LIST, hf_catalog_list},
    {HF_METHOD_RESOURCES_READ, route},
    {HF_METHOD_RESOURCES_SUBSCRIBE, route},
    {HF_METHOD_RESOURCES_UNSUBSCRIBE, route},
    {HF_METHOD_COMPLETE, route},
    {HF_METHOD_LOGGING_SET_LEVEL, set_level},
    {HF_METHOD_SUBSCRIPTIONS_LISTEN, hf_listen},
    {HF_METHOD_TASKS_GET, hf_task_get},
    {HF_METHOD_TASKS_RESULT, hf_task_result},
    {HF_METHOD_TASKS_UPDATE, hf_task_update},
    {HF_METHOD_TASKS_CANCEL, hf_task_cancel},
    {HF_METHOD_TASKS_LIST, hf_task_list},
};

/* Does the method exist in this era? What an older client may send to a newer gateway is served, what never was isn't.
 */
static bool exists(enum hf_method method, enum hf_era era) {
  unsigned flags = hf_method_info(method)->flags;
  unsigned wanted = era == HF_ERA_MODERN ? HF_METHOD_MODERN : HF_METHOD_LEGACY;
  return (flags & HF_METHOD_REQUEST) && (flags & HF_METHOD_TO_SERVER) && (flags & wanted);
}

static void dispatch(struct hf_exchange *exchange) {
  enum hf_method method = exchange->request.method;
  for (size_t i = 0; exists(method, exchange->era) && i < sizeof handlers / sizeof handlers[0]; i++) {
    if (handlers[i].method == method) {
      handlers[i].handle(exchange);
      return;
    }
  }
  struct hf_str name = exchange->request.method_name;
  struct hf_buf text;
  hf_buf_init(&text, ERROR_TEXT_MAX);
  bool named = hf_buf_printf(&text, "method not found: '%.*s'", name.len < 128 ? (int)name.len : 128, name.ptr) == 0;
  hf_exchange_error(exchange, HF_RPC_METHOD_NOT_FOUND, named ? hf_buf_str(&text) : HF_STR("method not found"),
                    (struct hf_str){NULL, 0});
  hf_buf_deinit(&text);
}

/* A modern client of its own connection is one, and what it first says of itself is what its own servers are told. */
static void note_capabilities(struct hf_client *client, struct hf_str raw) {
  if (!client->stateless && !client->raw_capabilities && raw.ptr)
    client->raw_capabilities = hf_strndup(raw.ptr, raw.len);
}

/* Sets the exchange's era. Returns false if it was answered because of what it says of itself. */
static bool read_meta(struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  struct hf_error why;
  int r = hf_request_meta_read(&exchange->request, &exchange->meta, &why);
  exchange->era = exchange->meta.era;
  if (client->era == HF_ERA_LEGACY)
    exchange->era = HF_ERA_LEGACY;
  else if (r == 0 && client->era == HF_ERA_UNKNOWN)
    client->era = exchange->era;
  if (exchange->era == HF_ERA_MODERN && r == 0)
    note_capabilities(client, exchange->meta.capabilities);
  if (exchange->era != HF_ERA_MODERN || r == 0)
    return true;

  if (r == HF_ERR_UNSUPPORTED) {
    struct hf_buf text;
    struct hf_pieces pieces;
    hf_buf_init(&text, ERROR_TEXT_MAX);
    hf_pieces_init(&pieces);
    if (hf_compose_unsupported_version(&text, exchange->request.id, HF_ERA_MODERN, exchange->meta.version_text) == 0)
      (void)hf_pieces_add_copy(&pieces, hf_buf_str(&text));
    hf_exchange_finish(exchange, 400, &pieces);
    hf_pieces_deinit(&pieces);
    hf_buf_deinit(&text);
  } else {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, hf_str_from(why.text), (struct hf_str){NULL, 0});
  }
  return false;
}

static void finish_without_memory(struct hf_reply *reply) {
  struct hf_pieces empty;
  hf_pieces_init(&empty);
  reply->ops->finish(reply, 500, &empty);
}

/* A call whose client was asked something and is to come back takes nothing up: it has a limit of its own. */
static bool has_too_many(const struct hf_client *client, uint32_t most) {
  return client->exchange_count >= most && client->exchange_count - hf_held_waiting(client) >= most;
}

static void take_initialized(struct hf_client *client) {
  client->initialized = true;
  hf_verbosity_join(client);
}

/* Clients of HTTP+SSE open a stream that broke again, which is another session, and go on without a handshake. */
static void go_on_without_handshake(struct hf_client *client, enum hf_method method) {
  if (client->era == HF_ERA_LEGACY && client->version == HF_VERSION_UNKNOWN && !client->initialized &&
      method != HF_METHOD_INITIALIZE && method != HF_METHOD_PING)
    take_initialized(client);
}

static void handle_request(struct hf_client *client, struct hf_message *message, struct hf_reply *reply) {
  const struct hf_limits *limits = &client->gateway->settings->limits;
  bool too_many = client->gateway->calls >= limits->calls || has_too_many(client, limits->calls_per_client);
  bool draining = client->gateway->draining;
  struct hf_exchange *exchange = hf_exchange_new(client, message, reply);
  if (!exchange) {
    finish_without_memory(reply);
    return;
  }
  if (!read_meta(exchange))
    return;
  if ((too_many && !client->task) || draining) {
    struct hf_str text = draining ? HF_STR("The gateway is shutting down. Nothing was executed.")
                                  : HF_STR("Too many calls are in flight. Nothing was executed. Try again later.");
    hf_outcome_answer_refusal(exchange, HF_FAULT_LOCAL_LIMIT, HF_RPC_INTERNAL_ERROR, text);
    return;
  }
  go_on_without_handshake(client, exchange->request.method);
  dispatch(exchange);
}

/* A client whose time is over sends what one sends whose user wants the work stopped, and the difference is in the
 * reason only. These are the words of the official clients. */
static bool gave_up_waiting(const struct hf_message *message) {
  static const struct hf_str words[] = {HF_STR("*timed out*"), HF_STR("*timeout*"), HF_STR("*deadline exceeded*"),
                                        HF_STR("*Timed out*"), HF_STR("*Timeout*")};
  uint32_t node;
  if (hf_json_member(&message->doc, message->at[HF_FIELD_PARAMS], HF_STR("reason"), &node) < 0)
    return false;
  const struct hf_str reason = hf_json_span(&message->doc, node);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (hf_pattern_inside(words[i], reason))
      return true;
  return false;
}

static void handle_cancelled(struct hf_client *client, const struct hf_message *message) {
  struct hf_str id = hf_message_raw(message, HF_FIELD_REQUEST_ID);
  struct hf_list *it, *tmp;
  /* Over modern HTTP closing the stream cancels; an id says nothing there about whose request is meant. */
  if (!id.ptr || client->stateless)
    return;
  HF_LIST_FOREACH (it, tmp, &client->exchanges) {
    struct hf_exchange *exchange = HF_CONTAINER_OF(it, struct hf_exchange, link);
    if (!hf_str_equal(exchange->request.id, id) || exchange->request.method == HF_METHOD_INITIALIZE)
      continue;
    if (exchange->stage == HF_STAGE_LISTENING) {
      hf_listen_end(exchange);
      return;
    }
    if (hf_away_outlives(exchange, gave_up_waiting(message) ? HF_LEAVE_VANISHED : HF_LEAVE_CANCELLED))
      hf_exchange_dismiss(exchange);
    else
      hf_exchange_cancel(exchange);
    return;
  }
}

static void forward_to_own(struct hf_client *client, const struct hf_message *message) {
  struct hf_list *it, *tmp;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    HF_LIST_FOREACH (it, tmp, &server->own) {
      struct hf_instance *instance = HF_CONTAINER_OF(it, struct hf_instance, link);
      if (instance->client != client)
        continue;
      struct hf_pieces text;
      hf_pieces_init(&text);
      if (hf_pieces_add(&text, message->blob, hf_message_bytes(message)) == 0)
        hf_instance_post(instance, &text);
      hf_pieces_deinit(&text);
    }
  }
}

static void handle_notification(struct hf_client *client, const struct hf_message *message) {
  if (message->method == HF_METHOD_CANCELLED)
    handle_cancelled(client, message);
  else if (message->method == HF_METHOD_INITIALIZED)
    take_initialized(client);
  else if (message->method == HF_METHOD_ROOTS_CHANGED || message->method == HF_METHOD_PROGRESS)
    forward_to_own(client, message);
}

void hf_client_handle(struct hf_client *client, struct hf_message *message, struct hf_reply *reply) {
  switch (message->kind) {
  case HF_MESSAGE_REQUEST:
    handle_request(client, message, reply);
    break;
  case HF_MESSAGE_NOTIFICATION:
    handle_notification(client, message);
    break;
  case HF_MESSAGE_RESULT:
  case HF_MESSAGE_ERROR:
    hf_question_answer(client, message);
    break;
  }
  hf_message_deinit(message);
}
