#include "gateway/catalog/subscription.h"

#include "base/alloc.h"
#include "base/map.h"
#include "gateway/catalog/alias.h"
#include "gateway/gateway.h"
#include "gateway/own_request.h"
#include "mcp/compose.h"
#include "mcp/rewrite.h"

enum { NOTICE_MAX = 1 << 17, ANCESTORS_MAX = 64 };

/* A URI of a server that somebody wants to hear of. In its instance's map; goes when nobody does, and nothing about it
 * is under way. */
struct topic {
  struct hf_instance *instance;
  struct hf_str uri;        /* owned */
  struct hf_list listeners; /* struct subscription */
  enum hf_topic_state state;
  hf_time held_since;              /* the first time; 0: never yet */
  const struct hf_exchange *asker; /* the client's request that asks for it; only compared */
  struct hf_attempt_ref *ref;      /* the gateway's own */
};

struct subscription {
  struct hf_list at_topic;
  struct hf_list at_owner; /* the client, or the listening request */
  struct topic *topic;
  struct hf_client *client;
  struct hf_exchange *listen; /* or NULL */
  bool missed;                /* an update came before the stream was acknowledged */
  struct hf_str shown;        /* owned; absent: it says the server's own URI */
};

static struct topic *topic_of(const struct hf_instance *instance, struct hf_str uri) {
  return hf_map_get(&instance->topics, uri);
}

static struct topic *topic_at(const struct hf_instance *instance, size_t i) {
  return instance->topics.entries[i].value;
}

static void topic_free(struct topic *topic) {
  hf_map_remove(&topic->instance->topics, topic->uri);
  hf_free((char *)topic->uri.ptr);
  hf_free(topic);
}

static void topic_release(struct topic *topic) {
  if (hf_list_empty(&topic->listeners) && !topic->asker && !topic->ref)
    topic_free(topic);
}

static int topic_get(struct hf_instance *instance, struct hf_str uri, struct topic **ret_topic) {
  *ret_topic = topic_of(instance, uri);
  if (*ret_topic)
    return 0;
  if (uri.len > HF_URI_BYTES_MAX)
    return HF_ERR_LIMIT;
  struct topic *topic = hf_calloc(1, sizeof *topic);
  char *copy = hf_strndup(uri.ptr, uri.len);
  if (topic && copy) {
    *topic = (struct topic){.instance = instance, .uri = {copy, uri.len}, .state = HF_TOPIC_NEW};
    hf_list_init(&topic->listeners);
  }
  int r = topic && copy ? hf_map_put(&instance->topics, uri, topic) : HF_ERR_NOMEM;
  if (r < 0) {
    hf_free(topic);
    hf_free(copy);
    return r;
  }
  *ret_topic = topic;
  return 0;
}

static struct hf_list *owner_list(struct hf_client *client, struct hf_exchange *listen) {
  return listen ? &listen->subscriptions : &client->subscriptions;
}

static unsigned *owner_count(struct hf_client *client, struct hf_exchange *listen) {
  return listen ? &listen->subscription_count : &client->subscription_count;
}

static struct subscription *of_owner(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct subscription, at_owner);
}

static struct subscription *of_topic(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct subscription, at_topic);
}

static struct hf_str shown_by(const struct subscription *subscription) {
  return subscription->shown.ptr ? subscription->shown : subscription->topic->uri;
}

/* Takes it out of both lists; its topic stays. */
static void subscription_free(struct subscription *subscription) {
  hf_list_remove(&subscription->at_topic);
  hf_list_remove(&subscription->at_owner);
  --*owner_count(subscription->client, subscription->listen);
  hf_free((char *)subscription->shown.ptr);
  hf_free(subscription);
}

static struct subscription *find(struct hf_client *client, struct hf_exchange *listen, struct hf_str shown) {
  struct hf_list *it, *tmp, *list = owner_list(client, listen);
  HF_LIST_FOREACH (it, tmp, list)
    if (hf_str_equal(shown_by(of_owner(it)), shown))
      return of_owner(it);
  return NULL;
}

int hf_subscription_add(struct hf_client *client, const struct hf_wish *wish) {
  if (find(client, wish->listen, wish->shown.ptr ? wish->shown : wish->uri))
    return 0;
  unsigned *count = owner_count(client, wish->listen);
  struct topic *topic;
  int r = *count < HF_SUBSCRIPTIONS_MAX ? topic_get(wish->instance, wish->uri, &topic) : HF_ERR_LIMIT;
  if (r < 0)
    return r;
  struct subscription *subscription = hf_calloc(1, sizeof *subscription);
  char *shown = wish->shown.ptr ? hf_strndup(wish->shown.ptr, wish->shown.len) : NULL;
  if (!subscription || (wish->shown.ptr && !shown)) {
    hf_free(subscription);
    hf_free(shown);
    topic_release(topic);
    return HF_ERR_NOMEM;
  }
  *subscription = (struct subscription){
      .topic = topic, .client = client, .listen = wish->listen, .shown = {shown, shown ? wish->shown.len : 0}};
  hf_list_push_back(&topic->listeners, &subscription->at_topic);
  hf_list_push_back(owner_list(client, wish->listen), &subscription->at_owner);
  ++*count;
  return 0;
}

struct hf_instance *hf_subscription_place(const struct hf_client *client, struct hf_str shown, struct hf_str *ret_uri) {
  const struct subscription *subscription = find((struct hf_client *)client, NULL, shown);
  if (subscription && ret_uri)
    *ret_uri = subscription->topic->uri;
  return subscription ? subscription->topic->instance : NULL;
}

static void tell(struct topic *topic, enum hf_method method) {
  struct hf_buf raw;
  hf_buf_init(&raw, NOTICE_MAX);
  if (hf_json_escape(&raw, topic->uri) == 0)
    hf_instance_tell(topic->instance, method, "uri", hf_buf_str(&raw));
  hf_buf_deinit(&raw);
}

/* The last one is gone: the server need not tell of it any more. */
static void topic_left(struct topic *topic) {
  if (!hf_list_empty(&topic->listeners))
    return;
  if (topic->instance->era == HF_ERA_MODERN)
    hf_feed_change(&topic->instance->feed);
  else if (topic->state == HF_TOPIC_HELD)
    tell(topic, HF_METHOD_RESOURCES_UNSUBSCRIBE);
  topic->state = HF_TOPIC_NEW;
  topic_release(topic);
}

bool hf_subscription_remove(struct hf_client *client, struct hf_str shown) {
  struct subscription *subscription = find(client, NULL, shown);
  if (!subscription)
    return true;
  struct topic *topic = subscription->topic;
  const bool legacy = topic->instance->era != HF_ERA_MODERN;
  subscription_free(subscription);
  const bool last = hf_list_empty(&topic->listeners);
  if (last && legacy)
    topic->state = HF_TOPIC_NEW; /* the caller tells the server */
  topic_left(topic);
  return last && legacy;
}

static void forget(struct hf_list *owned) {
  while (!hf_list_empty(owned)) {
    struct subscription *subscription = of_owner(owned->next);
    struct topic *topic = subscription->topic;
    subscription_free(subscription);
    topic_left(topic);
  }
}

void hf_subscription_forget_client(struct hf_client *client) {
  forget(&client->subscriptions);
}

/* Nothing is told: the upstream ends, or is another one's by now. */
void hf_subscription_forget_instance(struct hf_instance *instance) {
  while (instance->topics.len > 0) {
    struct topic *topic = topic_at(instance, instance->topics.len - 1);
    while (!hf_list_empty(&topic->listeners))
      subscription_free(of_topic(topic->listeners.next));
    if (topic->ref)
      instance->upstream->ops->abort(instance->upstream, topic->ref, HF_STR("nobody waits for it any more"));
    topic_free(topic);
  }
}

enum hf_topic_state hf_subscription_state(const struct hf_instance *instance, struct hf_str uri) {
  const struct topic *topic = topic_of(instance, uri);
  return topic ? topic->state : HF_TOPIC_NONE;
}

/* The URI of an update as this subscriber knows it: the topic's, or one below it. */
static int write_uri(const struct subscription *subscription, struct hf_str uri, struct hf_buf *raw) {
  if (!subscription->shown.ptr || hf_str_equal(uri, subscription->topic->uri))
    return hf_json_escape(raw, subscription->shown.ptr ? subscription->shown : uri);
  struct hf_buf alias;
  hf_buf_init(&alias, NOTICE_MAX);
  int r = hf_alias_write(&alias, subscription->topic->instance->settings->name, uri);
  if (r == 0)
    r = hf_json_escape(raw, hf_buf_str(&alias));
  hf_buf_deinit(&alias);
  return r;
}

static void hand_over(const struct subscription *subscription, struct hf_pieces *text) {
  if (subscription->listen)
    hf_exchange_message(subscription->listen, text);
  else
    hf_client_notify(subscription->client, text);
}

/* On a listen stream everything carries the id of the request that opened it; elsewhere nothing carries one. */
static int rewrite_update(const struct subscription *subscription, const struct hf_message *message,
                          struct hf_pieces *text) {
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, message);
  if (subscription->listen)
    hf_rewrite_set_meta(&rewrite, HF_STR(HF_META_SUBSCRIPTION), subscription->listen->request.id);
  else if (message->at[HF_FIELD_META_SUBSCRIPTION])
    hf_rewrite_remove_meta(&rewrite, HF_STR(HF_META_SUBSCRIPTION));
  if (subscription->shown.ptr) {
    struct hf_buf raw;
    hf_buf_init(&raw, NOTICE_MAX);
    if (write_uri(subscription, message->uri, &raw) == 0)
      hf_rewrite_replace(&rewrite, message->at[HF_FIELD_URI], hf_buf_str(&raw));
    else
      rewrite.error = HF_ERR_NOMEM;
    hf_buf_deinit(&raw);
  }
  return hf_rewrite_finish(&rewrite, text);
}

/* A notice of the gateway's own: the subscriber is to look. */
static int compose_update(const struct subscription *subscription, struct hf_pieces *text) {
  struct hf_buf params;
  hf_buf_init(&params, NOTICE_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &params);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "uri", shown_by(subscription));
  if (subscription->listen) {
    hf_json_write_key(&w, "_meta");
    hf_json_write_object(&w);
    hf_json_write_member_raw(&w, HF_META_SUBSCRIPTION, subscription->listen->request.id);
    hf_json_write_object_end(&w);
  }
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_compose_notice(text, HF_METHOD_RESOURCES_UPDATED, hf_buf_str(&params));
  hf_buf_deinit(&params);
  return r;
}

/* `message` NULL: a notice of the gateway's own. */
static void send(struct subscription *subscription, const struct hf_message *message) {
  if (subscription->listen && subscription->listen->stage != HF_STAGE_LISTENING) {
    subscription->missed = true;
    return;
  }
  struct hf_pieces text;
  hf_pieces_init(&text);
  int r = message ? rewrite_update(subscription, message, &text) : compose_update(subscription, &text);
  if (r == 0)
    hand_over(subscription, &text);
  hf_pieces_deinit(&text);
}

void hf_subscription_catch_up(const struct hf_exchange *listen) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &listen->subscriptions) {
    struct subscription *subscription = of_owner(it);
    if (subscription->missed)
      send(subscription, NULL);
    subscription->missed = false;
  }
}

/* Has it been told already, as one who wants this very URI? */
static bool has_own(const struct subscription *subscription, const struct topic *exact) {
  struct hf_list *it, *tmp;
  if (!exact)
    return false;
  HF_LIST_FOREACH (it, tmp, owner_list(subscription->client, subscription->listen))
    if (of_owner(it)->topic == exact)
      return true;
  return false;
}

static void tell_of(const struct topic *topic, const struct topic *exact, const struct hf_message *message) {
  struct hf_list *it, *tmp;
  if (topic->state == HF_TOPIC_REFUSED)
    return; /* nobody was promised anything */
  HF_LIST_FOREACH (it, tmp, &topic->listeners)
    if (topic == exact || !has_own(of_topic(it), exact))
      send(of_topic(it), message);
}

/* What is above a URI: it up to its last slash, then without that. An empty segment ends it: that of "scheme://". */
static bool shorten(struct hf_str *uri) {
  if (uri->len > 0 && uri->ptr[uri->len - 1] == '/') {
    uri->len--;
    return uri->len > 0 && uri->ptr[uri->len - 1] != '/';
  }
  while (uri->len > 0 && uri->ptr[uri->len - 1] != '/')
    uri->len--;
  return uri->len > 0;
}

void hf_subscription_updated(struct hf_instance *instance, const struct hf_message *message) {
  if (instance->topics.len == 0 || !message->uri.ptr)
    return;
  const struct topic *exact = topic_of(instance, message->uri);
  if (exact)
    tell_of(exact, exact, message);
  struct hf_str above = message->uri;
  for (int i = 0; i < ANCESTORS_MAX && shorten(&above); i++) {
    const struct topic *topic = topic_of(instance, above);
    if (topic)
      tell_of(topic, exact, message);
  }
}

static void tell_all_to_look(struct topic *topic) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &topic->listeners)
    send(of_topic(it), NULL);
}

static void set_held(struct topic *topic) {
  topic->state = HF_TOPIC_HELD;
  if (topic->held_since == 0)
    topic->held_since = topic->instance->gateway->loop->now;
}

/* A broken connection is no answer: the next session asks again. */
static void own_done(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  (void)evidence;
  struct topic *topic = ctx;
  const bool again = topic->held_since > 0;
  topic->ref = NULL;
  if (response && response->kind == HF_MESSAGE_RESULT)
    set_held(topic);
  else
    topic->state = response ? HF_TOPIC_REFUSED : HF_TOPIC_NEW;
  hf_gateway_wake(topic->instance->gateway);
  if (topic->state == HF_TOPIC_HELD && again)
    tell_all_to_look(topic);
  if (hf_list_empty(&topic->listeners))
    topic_left(topic);
}

static const struct hf_attempt_events own_events = {hf_own_request_sent, hf_own_request_life, hf_own_request_message,
                                                    own_done};

static void ask_legacy(struct topic *topic) {
  struct hf_instance *instance = topic->instance;
  struct hf_buf raw;
  hf_buf_init(&raw, NOTICE_MAX);
  const bool can = hf_json_escape(&raw, topic->uri) == 0;
  const struct hf_own_request request = {.method = HF_METHOD_RESOURCES_SUBSCRIBE,
                                         .key = "uri",
                                         .raw = hf_buf_str(&raw),
                                         .patience = instance->settings->start_timeout,
                                         .events = &own_events,
                                         .ctx = topic};
  if (can && hf_own_request_send(instance, &request, &topic->ref) == 0)
    topic->state = HF_TOPIC_ASKED;
  hf_buf_deinit(&raw);
}

static void ask(struct topic *topic) {
  struct hf_instance *instance = topic->instance;
  if (topic->state != HF_TOPIC_NEW || topic->ref || topic->asker)
    return;
  if (instance->phase != HF_UPSTREAM_READY)
    hf_instance_start(instance); /* everything is asked for once it is there */
  else if (!instance->capabilities.resources_subscribe || (instance->era == HF_ERA_MODERN && instance->feed.refused))
    topic->state = HF_TOPIC_REFUSED;
  else if (instance->era != HF_ERA_MODERN)
    ask_legacy(topic);
  else
    hf_feed_change(&instance->feed);
}

void hf_subscription_forgive(struct hf_instance *instance, struct hf_str uri) {
  struct topic *topic = topic_of(instance, uri);
  if (topic && topic->state == HF_TOPIC_REFUSED)
    topic->state = HF_TOPIC_NEW;
}

void hf_subscription_ask(struct hf_instance *instance, struct hf_str uri) {
  struct topic *topic = topic_of(instance, uri);
  if (topic)
    ask(topic);
}

static struct topic *topic_of_request(const struct hf_exchange *exchange) {
  const struct hf_target_tool *target = exchange->target;
  if (!target->instance || exchange->request.method != HF_METHOD_RESOURCES_SUBSCRIBE)
    return NULL;
  return topic_of(target->instance, target->uri.ptr ? target->uri : exchange->request.uri);
}

void hf_subscription_asked(const struct hf_exchange *exchange) {
  struct topic *topic = topic_of_request(exchange);
  topic->state = HF_TOPIC_ASKED;
  topic->asker = exchange;
}

void hf_subscription_answered(const struct hf_exchange *exchange, bool good) {
  struct topic *topic = topic_of_request(exchange);
  if (!topic || topic->asker != exchange)
    return;
  topic->asker = NULL;
  hf_gateway_wake(topic->instance->gateway);
  if (good) {
    set_held(topic);
    topic_left(topic);
    return;
  }
  topic->state = HF_TOPIC_NEW;
  struct subscription *own = find(exchange->client, NULL, exchange->request.uri);
  if (own)
    subscription_free(own);
  if (hf_list_empty(&topic->listeners))
    topic_release(topic);
  else
    ask(topic); /* others want it, too */
}

void hf_subscription_forget_request(struct hf_exchange *exchange) {
  if (exchange->request.method == HF_METHOD_SUBSCRIPTIONS_LISTEN) {
    forget(&exchange->subscriptions);
    return;
  }
  hf_subscription_answered(exchange, false);
  if (exchange->request.method == HF_METHOD_RESOURCES_SUBSCRIBE && exchange->stage == HF_STAGE_WAITING &&
      exchange->request.uri.ptr)
    (void)hf_subscription_remove(exchange->client, exchange->request.uri);
}

bool hf_subscription_is_open(const struct hf_exchange *listen) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &listen->subscriptions) {
    const enum hf_topic_state state = of_owner(it)->topic->state;
    if (state == HF_TOPIC_NEW || state == HF_TOPIC_ASKED)
      return true;
  }
  return false;
}

void hf_subscription_write_agreed(const struct hf_exchange *listen, struct hf_json_writer *w) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &listen->subscriptions)
    if (of_owner(it)->topic->state != HF_TOPIC_REFUSED)
      hf_json_write_str(w, shown_by(of_owner(it)));
}

void hf_subscription_renew(struct hf_instance *instance) {
  for (size_t i = instance->topics.len; i-- > 0;) {
    struct topic *topic = topic_at(instance, i);
    if (topic->asker)
      continue; /* its answer tells, or that it has none */
    if (topic->ref)
      instance->upstream->ops->abort(instance->upstream, topic->ref, HF_STR("the session is another one"));
    topic->ref = NULL;
    topic->state = HF_TOPIC_NEW;
    if (hf_list_empty(&topic->listeners))
      topic_release(topic);
    else if (instance->era != HF_ERA_MODERN || !instance->capabilities.resources_subscribe)
      ask(topic);
  }
}

bool hf_subscription_write_wanted(struct hf_instance *instance, struct hf_json_writer *w) {
  bool any = false;
  for (size_t i = 0; i < instance->topics.len; i++) {
    struct topic *topic = topic_at(instance, i);
    if (hf_list_empty(&topic->listeners) || !instance->capabilities.resources_subscribe)
      continue;
    if (!any) {
      hf_json_write_key(w, "resourceSubscriptions");
      hf_json_write_array(w);
    }
    any = true;
    hf_json_write_str(w, topic->uri);
    if (topic->state == HF_TOPIC_NEW)
      topic->state = HF_TOPIC_ASKED;
  }
  if (any)
    hf_json_write_array_end(w);
  return any;
}

static void take_agreed(struct hf_instance *instance, const struct hf_json_doc *doc, uint32_t uris) {
  struct hf_arena arena;
  hf_arena_init(&arena, (size_t)HF_URI_BYTES_MAX * HF_TOPICS_MAX);
  struct hf_json_iter iter = hf_json_iter(doc, uris);
  uint32_t node;
  struct hf_str uri;
  while (!iter.object && hf_json_next(doc, &iter, NULL, &node)) {
    struct topic *topic = hf_json_type(doc, node) == HF_JSON_STRING && hf_json_string(doc, node, &arena, &uri) == 0
                              ? topic_of(instance, uri)
                              : NULL;
    if (topic)
      set_held(topic);
  }
  hf_arena_deinit(&arena);
}

void hf_subscription_agreed(struct hf_instance *instance, const struct hf_json_doc *doc, uint32_t uris) {
  for (size_t i = 0; i < instance->topics.len; i++) {
    struct topic *topic = topic_at(instance, i);
    if (topic->state == HF_TOPIC_NEW)
      continue; /* it is not among what was asked for */
    topic->state = HF_TOPIC_REFUSED;
    if (!doc)
      set_held(topic);
  }
  if (doc && uris != HF_JSON_NONE)
    take_agreed(instance, doc, uris);
}

void hf_subscription_refused(struct hf_instance *instance) {
  for (size_t i = 0; i < instance->topics.len; i++)
    topic_at(instance, i)->state = HF_TOPIC_REFUSED;
}

void hf_subscription_missed(struct hf_instance *instance, hf_time opened) {
  for (size_t i = 0; i < instance->topics.len; i++) {
    struct topic *topic = topic_at(instance, i);
    if (topic->state == HF_TOPIC_HELD && topic->held_since < opened)
      tell_all_to_look(topic);
  }
}
