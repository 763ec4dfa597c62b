#include "gateway/catalog/subscription.h"

#include "base/alloc.h"
#include "base/map.h"
#include "gateway/catalog/catalog.h"
#include "gateway/gateway.h"
#include "mcp/compose.h"
#include "mcp/log_level.h"
#include "mcp/rewrite.h"
#include "json/write.h"

#include <stdio.h>

enum { NOTICE_MAX = 1 << 16, URIS_MAX = 1 << 18, FILTER_NODES_MAX = 4096, URIS_SEEN_MAX = 1 << 20 };

struct subscription {
  struct hf_list link; /* in the gateway's list */
  struct hf_client *client;
  struct hf_instance *instance; /* borrowed: forgotten when it retires */
  struct hf_exchange *listen;   /* or NULL */
  struct hf_str uri;            /* owned */
};

static void subscription_free(struct subscription *subscription) {
  hf_list_remove(&subscription->link);
  hf_free((char *)subscription->uri.ptr);
  hf_free(subscription);
}

int hf_subscription_add(struct hf_client *client, struct hf_instance *instance, struct hf_exchange *listen,
                        struct hf_str uri) {
  struct hf_list *it, *tmp;
  size_t count = 0;
  HF_LIST_FOREACH (it, tmp, &client->gateway->subscriptions) {
    struct subscription *other = HF_CONTAINER_OF(it, struct subscription, link);
    if (other->client != client)
      continue;
    if (other->instance == instance && other->listen == listen && hf_str_equal(other->uri, uri))
      return 0;
    if (++count >= HF_SUBSCRIPTIONS_MAX)
      return HF_ERR_LIMIT;
  }
  struct subscription *subscription = hf_calloc(1, sizeof *subscription);
  char *copy = hf_strndup(uri.ptr, uri.len);
  if (!subscription || !copy) {
    hf_free(subscription);
    hf_free(copy);
    return HF_ERR_NOMEM;
  }
  *subscription =
      (struct subscription){.client = client, .instance = instance, .listen = listen, .uri = {copy, uri.len}};
  hf_list_push_back(&client->gateway->subscriptions, &subscription->link);
  return 0;
}

bool hf_subscription_wanted(const struct hf_instance *instance, struct hf_str uri) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->gateway->subscriptions) {
    const struct subscription *subscription = HF_CONTAINER_OF(it, struct subscription, link);
    if (subscription->instance == instance && hf_str_equal(subscription->uri, uri))
      return true;
  }
  return false;
}

static void unsubscribe_upstream(struct hf_instance *instance, struct hf_str uri) {
  if (hf_subscription_wanted(instance, uri) || instance->era == HF_ERA_MODERN)
    return;
  struct hf_buf raw;
  hf_buf_init(&raw, NOTICE_MAX);
  if (hf_json_escape(&raw, uri) == 0)
    hf_instance_tell(instance, HF_METHOD_RESOURCES_UNSUBSCRIBE, "uri", hf_buf_str(&raw));
  hf_buf_deinit(&raw);
}

void hf_subscription_remove(struct hf_client *client, struct hf_str uri) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &client->gateway->subscriptions) {
    struct subscription *subscription = HF_CONTAINER_OF(it, struct subscription, link);
    if (subscription->client == client && !subscription->listen && hf_str_equal(subscription->uri, uri))
      subscription_free(subscription);
  }
}

/* Frees those that match; the last one of a URI is undone at the server. */
static void forget(struct hf_gateway *gateway, const struct hf_client *client, const struct hf_exchange *listen) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->subscriptions) {
    struct subscription *subscription = HF_CONTAINER_OF(it, struct subscription, link);
    if ((client && subscription->client != client) || (listen && subscription->listen != listen))
      continue;
    struct hf_instance *instance = subscription->instance;
    struct hf_str uri = subscription->uri;
    subscription->uri.ptr = NULL;
    subscription_free(subscription);
    unsubscribe_upstream(instance, uri);
    hf_free((char *)uri.ptr);
  }
}

void hf_subscription_forget_client(struct hf_client *client) {
  forget(client->gateway, client, NULL);
}

void hf_subscription_forget_listen(struct hf_exchange *listen) {
  forget(listen->client->gateway, NULL, listen);
}

void hf_subscription_forget_instance(struct hf_instance *instance) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->gateway->subscriptions) {
    struct subscription *subscription = HF_CONTAINER_OF(it, struct subscription, link);
    if (subscription->instance == instance)
      subscription_free(subscription);
  }
}

static void each_uri(struct hf_instance *instance, void (*take)(void *ctx, struct hf_str uri), void *ctx) {
  struct hf_map seen; /* where it does not suffice, a URI comes twice, which is harmless */
  hf_map_init(&seen, URIS_SEEN_MAX);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->gateway->subscriptions) {
    const struct subscription *subscription = HF_CONTAINER_OF(it, struct subscription, link);
    if (subscription->instance != instance || hf_map_get(&seen, subscription->uri))
      continue;
    (void)hf_map_put(&seen, subscription->uri, instance);
    take(ctx, subscription->uri);
  }
  hf_map_deinit(&seen);
}

static void list_uri(void *ctx, struct hf_str uri) {
  hf_json_write_str(ctx, uri);
}

/* A modern server is asked for everything in one stream: changes of lists, and each URI once. */
static void renew_listen(struct hf_instance *instance) {
  const struct hf_capabilities *can = &instance->capabilities;
  struct hf_buf filter;
  hf_buf_init(&filter, URIS_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &filter);
  hf_json_write_object(&w);
  if (can->tools_changed)
    hf_json_write_member_bool(&w, "toolsListChanged", true);
  if (can->prompts_changed)
    hf_json_write_member_bool(&w, "promptsListChanged", true);
  if (can->resources_changed)
    hf_json_write_member_bool(&w, "resourcesListChanged", true);
  hf_json_write_key(&w, "resourceSubscriptions");
  hf_json_write_array(&w);
  size_t before = filter.len;
  each_uri(instance, list_uri, &w);
  bool wanted = filter.len > before || can->tools_changed || can->prompts_changed || can->resources_changed;
  hf_json_write_array_end(&w);
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) == 0 && wanted)
    hf_instance_listen(instance, hf_buf_str(&filter));
  hf_buf_deinit(&filter);
}

static void subscribe_upstream(void *ctx, struct hf_str uri) {
  struct hf_buf raw;
  hf_buf_init(&raw, NOTICE_MAX);
  if (hf_json_escape(&raw, uri) == 0)
    hf_instance_tell(ctx, HF_METHOD_RESOURCES_SUBSCRIBE, "uri", hf_buf_str(&raw));
  hf_buf_deinit(&raw);
}

void hf_subscription_renew(struct hf_instance *instance) {
  if (instance->era == HF_ERA_MODERN)
    renew_listen(instance);
  else
    each_uri(instance, subscribe_upstream, instance);
}

void hf_subscription_ask(struct hf_instance *instance, struct hf_str uri) {
  if (instance->phase != HF_UPSTREAM_READY)
    return; /* it is asked for everything when it is */
  if (instance->era == HF_ERA_MODERN)
    hf_job_defer(instance->gateway->loop, &instance->renewal);
  else
    subscribe_upstream(instance, uri);
}

/* On a listen stream everything carries the id of the request that opened it; elsewhere nothing carries one. */
static void send(struct hf_client *client, struct hf_exchange *listen, const struct hf_message *message) {
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, message);
  if (listen)
    hf_rewrite_set_meta(&rewrite, HF_STR(HF_META_SUBSCRIPTION), listen->request.id);
  else if (message->at[HF_FIELD_META_SUBSCRIPTION])
    hf_rewrite_remove_meta(&rewrite, HF_STR(HF_META_SUBSCRIPTION));
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_rewrite_finish(&rewrite, &text) == 0) {
    if (listen)
      hf_exchange_message(listen, &text);
    else
      hf_client_notify(client, &text);
  }
  hf_pieces_deinit(&text);
}

static void deliver_update(struct hf_instance *instance, const struct hf_message *message) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->gateway->subscriptions) {
    const struct subscription *subscription = HF_CONTAINER_OF(it, struct subscription, link);
    if (subscription->instance == instance && hf_str_equal(subscription->uri, message->uri))
      send(subscription->client, subscription->listen, message);
  }
}

void hf_subscription_deliver(struct hf_instance *instance, const struct hf_message *message) {
  if (message->method == HF_METHOD_RESOURCES_UPDATED) {
    deliver_update(instance, message);
    return;
  }
  if (message->method == HF_METHOD_SUBSCRIPTIONS_ACKNOWLEDGED || message->method == HF_METHOD_CANCELLED ||
      message->method == HF_METHOD_PROGRESS)
    return;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->gateway->clients) {
    struct hf_client *client = HF_CONTAINER_OF(it, struct hf_client, link);
    if (client->era != HF_ERA_LEGACY || !client->initialized || !hf_client_sees(client, instance))
      continue;
    if (message->method == HF_METHOD_LOG_MESSAGE && hf_log_level_of(message) < client->log_level)
      continue;
    send(client, NULL, message);
  }
}

static bool asks_for(const struct hf_json_doc *doc, struct hf_str key) {
  uint32_t node;
  bool wanted;
  return hf_json_member(doc, 0, key, &node) == 0 && hf_json_bool(doc, node, &wanted) == 0 && wanted;
}

static void subscribe_uri(struct hf_exchange *exchange, struct hf_str uri, struct hf_json_writer *agreed) {
  struct hf_client *client = exchange->client;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    if (!instance || !hf_catalog_offers(instance, uri))
      continue;
    bool wanted = hf_subscription_wanted(instance, uri);
    if (hf_subscription_add(client, instance, exchange, uri) < 0)
      return;
    if (!wanted)
      hf_subscription_ask(instance, uri);
    hf_json_write_str(agreed, uri);
    return;
  }
}

static void subscribe_uris(struct hf_exchange *exchange, const struct hf_json_doc *doc, struct hf_json_writer *agreed) {
  uint32_t array, node;
  if (hf_json_member(doc, 0, HF_STR("resourceSubscriptions"), &array) < 0)
    return;
  hf_json_write_key(agreed, "resourceSubscriptions");
  hf_json_write_array(agreed);
  struct hf_json_iter iter = hf_json_iter(doc, array);
  struct hf_str uri;
  while (hf_json_next(doc, &iter, NULL, &node))
    if (hf_json_string(doc, node, &exchange->arena, &uri) == 0)
      subscribe_uri(exchange, uri, agreed);
  hf_json_write_array_end(agreed);
}

static const struct {
  struct hf_str key;
  unsigned bits;
} notices[] = {
    {HF_STR("toolsListChanged"), 1U << HF_LIST_TOOLS},
    {HF_STR("promptsListChanged"), 1U << HF_LIST_PROMPTS},
    {HF_STR("resourcesListChanged"), 1U << HF_LIST_RESOURCES | 1U << HF_LIST_TEMPLATES},
};

/* Reads the filter, subscribes, and writes what was agreed to. */
static int agree(struct hf_exchange *exchange, struct hf_json_writer *w) {
  struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_NOTIFICATIONS);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = FILTER_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = raw.ptr ? hf_json_scan_feed(&scan, raw.ptr, raw.len, true) : HF_ERR_NOTFOUND;
  if (r == 0 && scan.nodes[0].type == HF_JSON_OBJECT) {
    struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    for (size_t i = 0; i < sizeof notices / sizeof notices[0]; i++) {
      if (!asks_for(&doc, notices[i].key))
        continue;
      exchange->listens |= notices[i].bits;
      hf_json_write_key_str(w, notices[i].key);
      hf_json_write_bool(w, true);
    }
    subscribe_uris(exchange, &doc, w);
  } else {
    r = HF_ERR_INVALID;
  }
  hf_json_scan_deinit(&scan);
  return r;
}

static void write_subscription_meta(const struct hf_exchange *listen, struct hf_json_writer *w) {
  hf_json_write_key(w, "_meta");
  hf_json_write_object(w);
  hf_json_write_member_raw(w, HF_META_SUBSCRIPTION, listen->request.id);
  hf_json_write_object_end(w);
}

static void send_notice(struct hf_client *client, struct hf_exchange *listen, enum hf_method method,
                        struct hf_str params) {
  struct hf_buf text;
  struct hf_pieces pieces;
  hf_buf_init(&text, URIS_MAX);
  hf_pieces_init(&pieces);
  if (hf_compose_notification(&text, hf_method_info(method)->name, params) == 0 &&
      hf_pieces_add_copy(&pieces, hf_buf_str(&text)) == 0) {
    if (listen)
      hf_exchange_message(listen, &pieces);
    else
      hf_client_notify(client, &pieces);
  }
  hf_pieces_deinit(&pieces);
  hf_buf_deinit(&text);
}

void hf_subscription_listen(struct hf_exchange *exchange) {
  if (!hf_catalog_settle(exchange->client) && !exchange->wait_over) {
    hf_exchange_wait(exchange, exchange->client->gateway->settings->limits.list_wait, hf_subscription_listen);
    return;
  }
  hf_exchange_go_on(exchange);
  struct hf_buf params;
  hf_buf_init(&params, URIS_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &params);
  hf_json_write_object(&w);
  hf_json_write_key(&w, "notifications");
  hf_json_write_object(&w);
  exchange->stage = HF_STAGE_LISTENING;
  int r = agree(exchange, &w);
  hf_json_write_object_end(&w);
  write_subscription_meta(exchange, &w);
  hf_json_write_object_end(&w);
  if (r == 0 && hf_json_write_finish(&w) == 0)
    send_notice(exchange->client, exchange, HF_METHOD_SUBSCRIPTIONS_ACKNOWLEDGED, hf_buf_str(&params));
  else
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS,
                      HF_STR("'notifications' must be an object that says what to "
                             "listen to"),
                      (struct hf_str){NULL, 0});
  hf_buf_deinit(&params);
}

void hf_subscription_announce(struct hf_client *client, enum hf_list_kind kind) {
  enum hf_method method = hf_list_changed_method(kind);
  if (client->era == HF_ERA_LEGACY) {
    if (client->initialized && (client->listed & 1U << kind))
      send_notice(client, NULL, method, (struct hf_str){NULL, 0});
    return;
  }
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &client->exchanges) {
    struct hf_exchange *exchange = HF_CONTAINER_OF(it, struct hf_exchange, link);
    if (exchange->stage != HF_STAGE_LISTENING || !(exchange->listens & 1U << kind))
      continue;
    struct hf_buf params;
    hf_buf_init(&params, NOTICE_MAX);
    struct hf_json_writer w;
    hf_json_writer_init(&w, &params);
    hf_json_write_object(&w);
    write_subscription_meta(exchange, &w);
    hf_json_write_object_end(&w);
    if (hf_json_write_finish(&w) == 0)
      send_notice(client, exchange, method, hf_buf_str(&params));
    hf_buf_deinit(&params);
  }
}

void hf_subscription_end_listen(struct hf_exchange *exchange) {
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
