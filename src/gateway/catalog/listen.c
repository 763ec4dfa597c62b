#include "gateway/catalog/listen.h"

#include "gateway/catalog/catalog.h"
#include "gateway/catalog/greeting.h"
#include "gateway/catalog/subscription.h"
#include "gateway/gateway.h"
#include "gateway/task/task.h"
#include "mcp/compose.h"
#include "json/write.h"

enum { NOTICE_MAX = 1 << 16, URIS_MAX = 4 << 20, FILTER_NODES_MAX = 4096 };

static bool asks_for(const struct hf_json_doc *doc, struct hf_str key) {
  uint32_t node;
  bool wanted;
  return hf_json_member(doc, 0, key, &node) == 0 && hf_json_bool(doc, node, &wanted) == 0 && wanted;
}

static void subscribe_uri(struct hf_exchange *exchange, struct hf_str uri) {
  struct hf_wish wish = {.listen = exchange};
  wish.instance = hf_catalog_locate(exchange->client, uri, &wish.uri);
  if (!wish.instance)
    return;
  if (!hf_str_equal(wish.uri, uri))
    wish.shown = uri;
  if (hf_subscription_add(exchange->client, &wish) == 0)
    hf_subscription_ask(wish.instance, wish.uri);
}

static void subscribe_uris(struct hf_exchange *exchange, const struct hf_json_doc *doc) {
  uint32_t array, node;
  if (hf_json_member(doc, 0, HF_STR("resourceSubscriptions"), &array) < 0 || hf_json_type(doc, array) != HF_JSON_ARRAY)
    return;
  struct hf_json_iter iter = hf_json_iter(doc, array);
  struct hf_str uri;
  while (hf_json_next(doc, &iter, NULL, &node))
    if (hf_json_type(doc, node) == HF_JSON_STRING && hf_json_string(doc, node, &exchange->arena, &uri) == 0)
      subscribe_uri(exchange, uri);
}

static const struct {
  struct hf_str key;
  unsigned bits;
  size_t capability; /* without it there is no such list, and nothing to tell of */
} notices[] = {
    {HF_STR("toolsListChanged"), 1U << HF_LIST_TOOLS, offsetof(struct hf_capabilities, tools)},
    {HF_STR("promptsListChanged"), 1U << HF_LIST_PROMPTS, offsetof(struct hf_capabilities, prompts)},
    {HF_STR("resourcesListChanged"), 1U << HF_LIST_RESOURCES | 1U << HF_LIST_TEMPLATES,
     offsetof(struct hf_capabilities, resources)},
};

enum { NOTICES_COUNT = sizeof notices / sizeof notices[0] };

typedef int filter_fn(struct hf_exchange *exchange, const struct hf_json_doc *filter, struct hf_json_writer *w);

/* Calls `take` with what the client asks for. Returns what that does, HF_ERR_INVALID, or HF_ERR_LIMIT if it is too
 * much.
 */
static int read_filter(struct hf_exchange *exchange, filter_fn *take, struct hf_json_writer *w) {
  struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_NOTIFICATIONS);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = FILTER_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = raw.ptr ? hf_json_scan_feed(&scan, raw.ptr, raw.len, true) : HF_ERR_INVALID;
  if (r == 0 && scan.nodes[0].type != HF_JSON_OBJECT)
    r = HF_ERR_INVALID;
  if (r == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    r = take(exchange, &doc, w);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

static int subscribe(struct hf_exchange *exchange, const struct hf_json_doc *filter, struct hf_json_writer *w) {
  (void)w;
  if (!hf_task_may_listen(exchange, filter))
    return HF_ERR_UNSUPPORTED;
  const struct hf_capabilities can = hf_greeting_capabilities(exchange->client);
  for (size_t i = 0; i < NOTICES_COUNT; i++)
    if (asks_for(filter, notices[i].key) && *(const bool *)((const char *)&can + notices[i].capability))
      exchange->listens |= notices[i].bits;
  subscribe_uris(exchange, filter);
  return 0;
}

static int write_agreed(struct hf_exchange *exchange, const struct hf_json_doc *filter, struct hf_json_writer *w) {
  uint32_t node;
  for (size_t i = 0; i < NOTICES_COUNT; i++) {
    if (!(exchange->listens & notices[i].bits))
      continue;
    hf_json_write_key_str(w, notices[i].key);
    hf_json_write_bool(w, true);
  }
  hf_task_listen(exchange, filter, w);
  if (hf_json_member(filter, 0, HF_STR("resourceSubscriptions"), &node) < 0)
    return 0;
  hf_json_write_key(w, "resourceSubscriptions");
  hf_json_write_array(w);
  hf_subscription_write_agreed(exchange, w);
  hf_json_write_array_end(w);
  return 0;
}

static void write_subscription_meta(const struct hf_exchange *listen, struct hf_json_writer *w) {
  hf_json_write_key(w, "_meta");
  hf_json_write_object(w);
  hf_json_write_member_raw(w, HF_META_SUBSCRIPTION, listen->request.id);
  hf_json_write_object_end(w);
}

static void send_notice(struct hf_client *client, struct hf_exchange *listen, enum hf_method method,
                        struct hf_str params) {
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  if (hf_compose_notice(&pieces, method, params) == 0) {
    if (listen)
      hf_exchange_message(listen, &pieces);
    else
      hf_client_notify(client, &pieces);
  }
  hf_pieces_deinit(&pieces);
}

static void announce_to(struct hf_exchange *listen, enum hf_list_kind kind) {
  struct hf_buf params;
  hf_buf_init(&params, NOTICE_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &params);
  hf_json_write_object(&w);
  write_subscription_meta(listen, &w);
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) == 0)
    send_notice(listen->client, listen, hf_list_changed_method(kind), hf_buf_str(&params));
  hf_buf_deinit(&params);
}

static void catch_up(struct hf_exchange *listen) {
  unsigned missed = listen->listen_missed;
  listen->listen_missed = 0;
  if (missed & 1U << HF_LIST_RESOURCES)
    missed &= ~(1U << HF_LIST_TEMPLATES);
  for (int kind = 0; kind < HF_LIST_COUNT; kind++)
    if (missed & 1U << kind)
      announce_to(listen, (enum hf_list_kind)kind);
  hf_subscription_catch_up(listen);
}

static int write_acknowledged(struct hf_exchange *exchange, struct hf_buf *params) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, params);
  hf_json_write_object(&w);
  hf_json_write_key(&w, "notifications");
  hf_json_write_object(&w);
  int r = read_filter(exchange, write_agreed, &w);
  hf_json_write_object_end(&w);
  write_subscription_meta(exchange, &w);
  hf_json_write_object_end(&w);
  return r == 0 ? hf_json_write_finish(&w) : r;
}

static void refuse(struct hf_exchange *exchange, int error) {
  const struct hf_str why =
      error == HF_ERR_LIMIT ? HF_STR("'notifications' names too much for one request; listen to the rest with another")
                            : HF_STR("'notifications' must be an object that says what to listen to");
  hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, why, (struct hf_str){NULL, 0});
}

/* What the servers have not answered for in time is agreed to: they are asked as soon as they are there. */
static void acknowledge(struct hf_exchange *exchange) {
  if (hf_subscription_is_open(exchange) && !exchange->wait_over) {
    hf_exchange_wait(exchange, exchange->client->gateway->settings->limits.list_wait, acknowledge);
    return;
  }
  hf_exchange_go_on(exchange);
  exchange->stage = HF_STAGE_LISTENING;
  struct hf_buf params;
  hf_buf_init(&params, URIS_MAX);
  int r = write_acknowledged(exchange, &params);
  if (r == 0) {
    send_notice(exchange->client, exchange, HF_METHOD_SUBSCRIPTIONS_ACKNOWLEDGED, hf_buf_str(&params));
    catch_up(exchange);
    hf_task_listening(exchange);
  } else {
    refuse(exchange, r);
  }
  hf_buf_deinit(&params);
}

void hf_listen(struct hf_exchange *exchange) {
  if (!hf_catalog_settle(exchange->client) && !exchange->wait_over) {
    hf_exchange_wait(exchange, exchange->client->gateway->settings->limits.list_wait, hf_listen);
    return;
  }
  int r = read_filter(exchange, subscribe, NULL);
  if (r == 0) {
    acknowledge(exchange);
    return;
  }
  hf_exchange_go_on(exchange);
  if (r != HF_ERR_UNSUPPORTED || hf_task_is_declared(exchange))
    refuse(exchange, r);
}

void hf_listen_announce(struct hf_client *client, enum hf_list_kind kind) {
  if (client->era == HF_ERA_LEGACY) {
    if (client->initialized && (client->listed & 1U << kind))
      send_notice(client, NULL, hf_list_changed_method(kind), (struct hf_str){NULL, 0});
    return;
  }
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &client->exchanges) {
    struct hf_exchange *exchange = HF_CONTAINER_OF(it, struct hf_exchange, link);
    if (!(exchange->listens & 1U << kind))
      continue;
    if (exchange->stage == HF_STAGE_LISTENING)
      announce_to(exchange, kind);
    else
      exchange->listen_missed |= 1U << kind;
  }
}

void hf_listen_end(struct hf_exchange *exchange) {
  struct hf_buf result;
  hf_buf_init(&result, NOTICE_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &result);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "resultType", HF_STR("complete"));
  write_subscription_meta(exchange, &w);
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) == 0)
    hf_exchange_result(exchange, hf_buf_str(&result));
  else
    hf_exchange_end_cancelled(exchange);
  hf_buf_deinit(&result);
}
