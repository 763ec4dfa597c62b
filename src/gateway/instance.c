#include "gateway/instance.h"

#include "base/alloc.h"
#include "gateway/catalog/catalog.h"
#include "gateway/catalog/route.h"
#include "gateway/catalog/subscription.h"
#include "gateway/catalog/ttl.h"
#include "gateway/catalog/verbosity.h"
#include "gateway/exchange.h"
#include "gateway/gateway.h"
#include "gateway/live.h"
#include "gateway/own_request.h"
#include "gateway/pipeline.h"
#include "gateway/question/elicitation.h"
#include "gateway/question/question.h"
#include "gateway/session.h"
#include "gateway/task/follow.h"

static void probe(struct hf_instance *instance);
static void provider_due(struct hf_timer *timer);
static void end_stopped(struct hf_job *job);
static void upstream_changed(void *owner, const struct hf_upstream_status *status);
static void upstream_message(void *owner, const struct hf_message *message);

static const struct hf_upstream_events upstream_events = {upstream_changed, upstream_message};

int hf_instance_new(struct hf_gateway *gateway, struct hf_settings *config, const struct hf_server_settings *settings,
                    struct hf_client *client, struct hf_str capabilities, struct hf_instance **ret_instance) {
  struct hf_instance *instance = hf_calloc(1, sizeof *instance);
  if (!instance)
    return HF_ERR_NOMEM;
  instance->gateway = gateway;
  instance->client = client;
  instance->config = hf_settings_ref(config);
  instance->opened_with = hf_settings_ref(config);
  instance->settings = settings;
  instance->refs = 1;
  instance->log_level = instance->log_request = -1;
  hf_map_init(&instance->topics, HF_TOPICS_MAX);
  hf_list_init(&instance->link);
  hf_list_init(&instance->attempts);
  hf_job_init(&instance->end, end_stopped);

  int r = hf_timer_init(gateway->loop, &instance->provider_timer, provider_due);
  int feed = hf_feed_init(&instance->feed, instance);
  r = r ? r : feed;
  for (int kind = 0; kind < HF_LIST_COUNT; kind++) {
    int listing = hf_listing_init(&instance->lists[kind], instance, (enum hf_list_kind)kind);
    r = r ? r : listing;
  }
  if (r == 0) {
    instance->provider =
        hf_provider_new(&settings->provider, hf_random_next(&gateway->loop->random), gateway->loop->now);
    r = instance->provider ? 0 : HF_ERR_NOMEM;
  }
  if (r == 0)
    r = gateway->factory.open(gateway->factory.ctx, settings, capabilities, &upstream_events, instance,
                              &instance->upstream);
  if (r < 0) {
    hf_instance_free(instance);
    return r;
  }
  *ret_instance = instance;
  return 0;
}

static void forget_hello(struct hf_instance *instance) {
  hf_free(instance->server_info);
  hf_free(instance->instructions);
  instance->server_info = instance->instructions = NULL;
}

void hf_instance_free(struct hf_instance *instance) {
  if (instance->upstream)
    instance->upstream->ops->free(instance->upstream);
  for (int kind = 0; kind < HF_LIST_COUNT; kind++)
    hf_listing_deinit(&instance->lists[kind]);
  hf_timer_deinit(instance->gateway->loop, &instance->provider_timer);
  hf_feed_deinit(&instance->feed);
  hf_map_deinit(&instance->topics);
  hf_provider_unref(instance->provider);
  hf_job_cancel(&instance->end);
  hf_list_remove(&instance->link);
  forget_hello(instance);
  hf_free(instance->reason);
  hf_settings_free(instance->config);
  hf_settings_free(instance->opened_with);
  struct hf_gateway *gateway = instance->gateway;
  hf_free(instance);
  hf_gateway_upstream_ended(gateway);
}

struct hf_instance *hf_instance_ref(struct hf_instance *instance) {
  instance->refs++;
  return instance;
}

bool hf_instance_running(const struct hf_instance *instance) {
  return instance->phase == HF_UPSTREAM_READY || instance->phase == HF_UPSTREAM_STARTING;
}

/* A server is given the time to write down what it has to. */
void hf_instance_unref(struct hf_instance *instance) {
  if (!instance || --instance->refs > 0)
    return;
  struct hf_gateway *gateway = instance->gateway;
  if (gateway->closing || !hf_instance_running(instance)) {
    hf_instance_free(instance);
    return;
  }
  instance->stopping = true;
  hf_list_push_back(&gateway->ending, &instance->link);
  instance->upstream->ops->stop(instance->upstream);
  hf_timer_set(gateway->loop, &instance->provider_timer, hf_time_add(gateway->loop->now, HF_STOP_WAIT));
}

static void end_stopped(struct hf_job *job) {
  hf_instance_free(HF_CONTAINER_OF(job, struct hf_instance, end));
}

void hf_instance_retire(struct hf_instance *instance) {
  if (instance->client)
    instance->gateway->own_instances--;
  instance->retired = true;
  instance->client = NULL;
  hf_list_remove(&instance->link);
  hf_subscription_forget_instance(instance);
  hf_elicitation_forget_instance(instance);
  hf_feed_stop(&instance->feed);
  hf_instance_unref(instance);
}

void hf_instance_start(struct hf_instance *instance) {
  instance->upstream->ops->start(instance->upstream);
}

bool hf_instance_settled(const struct hf_instance *instance) {
  if (instance->phase == HF_UPSTREAM_DOWN || instance->phase == HF_UPSTREAM_PARKED)
    return true;
  if (instance->phase != HF_UPSTREAM_READY)
    return false;
  for (int kind = 0; kind < HF_LIST_COUNT; kind++)
    if (instance->lists[kind].state == HF_LISTING_NONE)
      return false;
  return true;
}

/* What the provider decides about a call goes into that call's own queue: two state machines never run inside each
 * other. */
static void perform(struct hf_instance *instance, const struct hf_provider_action *action) {
  switch (action->kind) {
  case HF_PROVIDER_GRANT: {
    struct hf_call_event event = {.kind = HF_CALL_PERMIT_GRANTED, .granted = {action->permit}};
    hf_pipeline_post(hf_pipeline_waiter_exchange(action->waiter), &event);
    break;
  }
  case HF_PROVIDER_REFUSE: {
    struct hf_call_event event = {.kind = HF_CALL_PERMIT_REFUSED,
                                  .refused = {action->refuse.reason, action->refuse.retry_at, action->refuse.evidence}};
    hf_pipeline_post(hf_pipeline_waiter_exchange(action->waiter), &event);
    break;
  }
  case HF_PROVIDER_START_UPSTREAM:
    instance->upstream->ops->start(instance->upstream);
    break;
  case HF_PROVIDER_PROBE_UPSTREAM:
    probe(instance);
    break;
  }
}

static void step_once(struct hf_instance *instance, const struct hf_provider_event *event) {
  struct hf_provider_actions actions;
  int r = hf_provider_step(instance->provider, event, instance->gateway->loop->now, &actions);
  if (r < 0) {
    hf_log_event(instance->gateway->loop->log, HF_LOG_ERROR, "provider refused an event",
                 HF_LOG_STR("server", instance->settings->name), HF_LOG_INT("kind", event->kind));
    return;
  }
  for (unsigned i = 0; i < actions.len; i++)
    perform(instance, &actions.items[i]);
}

static bool tells_of_life(const struct hf_provider_event *event) {
  return event->kind == HF_PROVIDER_UPSTREAM_READY || (event->kind == HF_PROVIDER_PROBE_DONE && event->probe_ok) ||
         (event->kind == HF_PROVIDER_REPORT && event->report.report.blame == HF_BLAME_SUCCESS);
}

void hf_instance_step(struct hf_instance *instance, const struct hf_provider_event *event) {
  struct hf_loop *loop = instance->gateway->loop;
  if (instance->stopping)
    return; /* no call is left, and the timer is the stop's */
  if (tells_of_life(event))
    instance->heard = loop->now;
  step_once(instance, event);
  while (hf_provider_deadline(instance->provider) <= loop->now)
    step_once(instance, &(struct hf_provider_event){.kind = HF_PROVIDER_TIMER});
  hf_timer_set(loop, &instance->provider_timer, hf_provider_deadline(instance->provider));
}

static void provider_due(struct hf_timer *timer) {
  struct hf_instance *instance = HF_CONTAINER_OF(timer, struct hf_instance, provider_timer);
  if (instance->stopping)
    hf_instance_free(instance);
  else
    hf_instance_step(instance, &(struct hf_provider_event){.kind = HF_PROVIDER_TIMER});
}

static char *copy_raw(struct hf_str raw) {
  return raw.ptr ? hf_strndup(raw.ptr, raw.len) : NULL;
}

/* The result of `initialize` or `server/discover`. */
static void take_hello(struct hf_instance *instance, const struct hf_message *hello) {
  forget_hello(instance);
  instance->capabilities = hf_capabilities_read(hf_message_raw(hello, HF_FIELD_RESULT_CAPABILITIES));
  struct hf_str info = hf_message_raw(hello, HF_FIELD_RESULT_SERVER_INFO);
  instance->server_info = copy_raw(info.ptr ? info : hf_message_raw(hello, HF_FIELD_META_SERVER_INFO));
  uint32_t node;
  if (hf_json_member(&hello->doc, hello->at[HF_FIELD_RESULT], HF_STR("instructions"), &node) == 0 &&
      hf_json_type(&hello->doc, node) == HF_JSON_STRING)
    instance->instructions = copy_raw(hf_json_span(&hello->doc, node));
  int64_t ttl_ms;
  const hf_time now = instance->gateway->loop->now;
  instance->discovered_at = now;
  instance->hello_expires = hf_ttl_read(hello, &ttl_ms) ? hf_time_add(now, HF_MS(ttl_ms)) : HF_TIME_NEVER;
  instance->hello_is_public = hf_ttl_is_public(hello);
}

static const bool *kind_capability(const struct hf_instance *instance, enum hf_list_kind kind) {
  switch (kind) {
  case HF_LIST_TOOLS:
    return &instance->capabilities.tools;
  case HF_LIST_PROMPTS:
    return &instance->capabilities.prompts;
  case HF_LIST_RESOURCES:
  case HF_LIST_TEMPLATES:
  case HF_LIST_COUNT:
    break;
  }
  return &instance->capabilities.resources;
}

/* A server that is reached over HTTP may have no stream to announce anything by, or one that breaks. */
bool hf_instance_announces(const struct hf_instance *instance, enum hf_list_kind kind) {
  const struct hf_capabilities *can = &instance->capabilities;
  if (instance->era == HF_ERA_MODERN)
    return instance->feed.told & 1U << kind;
  if (instance->settings->transport == HF_TRANSPORT_HTTP)
    return false;
  return kind == HF_LIST_TOOLS     ? can->tools_changed
         : kind == HF_LIST_PROMPTS ? can->prompts_changed
                                   : can->resources_changed;
}

static void load_lists(struct hf_instance *instance) {
  for (int kind = 0; kind < HF_LIST_COUNT; kind++) {
    if (*kind_capability(instance, (enum hf_list_kind)kind))
      hf_listing_load(&instance->lists[kind]);
    else
      hf_listing_set_absent(&instance->lists[kind]);
  }
}

/* Changes are listened for before the lists are asked for, so that none falls between. */
static void begin_session(struct hf_instance *instance) {
  hf_subscription_renew(instance);
  if (instance->era == HF_ERA_MODERN)
    hf_feed_start(&instance->feed);
  load_lists(instance);
}

static void became_ready(struct hf_instance *instance, const struct hf_upstream_status *status) {
  instance->era = status->era;
  instance->version = hf_version_text(hf_version_parse(status->version));
  take_hello(instance, status->hello);
  begin_session(instance);
  hf_verbosity_renew(instance);
  hf_follow_back(instance);
  hf_instance_step(instance, &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY});
}

static void became_down(struct hf_instance *instance, const struct hf_upstream_status *status, hf_time not_before) {
  hf_instance_step(
      instance, &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_DOWN, .down = {status->evidence, not_before}});
}

/* A new session of a READY upstream also comes as READY: what was asked of the old one must be asked again. */
static void upstream_changed(void *owner, const struct hf_upstream_status *status) {
  struct hf_instance *instance = owner;
  instance->phase = status->phase;
  instance->pid = status->pid;
  instance->starts = status->starts;
  hf_free(instance->reason);
  instance->reason = copy_raw(status->reason);
  if (instance->stopping) {
    if (!hf_instance_running(instance))
      hf_job_defer(instance->gateway->loop, &instance->end);
    return;
  }

  switch (status->phase) {
  case HF_UPSTREAM_READY:
    became_ready(instance, status);
    break;
  case HF_UPSTREAM_DOWN:
    became_down(instance, status, status->retry_at);
    break;
  case HF_UPSTREAM_PARKED:
    became_down(instance, status, HF_TIME_NEVER);
    break;
  case HF_UPSTREAM_IDLE: {
    struct hf_upstream_status stopped = *status;
    stopped.evidence = HF_EVIDENCE(HF_EVIDENCE_NONE);
    became_down(instance, &stopped, 0);
    break;
  }
  case HF_UPSTREAM_STARTING:
    break;
  }
  hf_gateway_wake(instance->gateway);
  if (!hf_instance_running(instance))
    hf_gateway_upstream_ended(instance->gateway);
  if (instance->topics.len > 0 && (status->phase == HF_UPSTREAM_DOWN || status->phase == HF_UPSTREAM_IDLE) &&
      !instance->retired && !instance->gateway->draining)
    hf_instance_start(instance); /* whoever subscribed wants to hear of what happens */
}

static bool list_kind_of(enum hf_method changed, enum hf_list_kind *ret_kind) {
  for (int kind = 0; kind < HF_LIST_COUNT; kind++) {
    if (hf_list_changed_method((enum hf_list_kind)kind) == changed) {
      *ret_kind = (enum hf_list_kind)kind;
      return true;
    }
  }
  return false;
}

static void upstream_message(void *owner, const struct hf_message *message) {
  struct hf_instance *instance = owner;
  if (message->kind == HF_MESSAGE_REQUEST)
    hf_question_ask(instance, NULL, message);
  else if (message->method == HF_METHOD_CANCELLED)
    hf_question_withdraw(instance, message);
  else if (message->kind == HF_MESSAGE_NOTIFICATION)
    hf_instance_message(instance, message);
  else if (message->kind == HF_MESSAGE_RESULT)
    hf_follow_stray(instance, message);
}

static void take_log(struct hf_instance *instance, const struct hf_message *message) {
  if (!hf_live_log(instance, message) && instance->era != HF_ERA_MODERN)
    hf_verbosity_deliver(instance, message);
}

/* What has no row concerns a request that is over, or that nobody makes here. */
static const struct {
  enum hf_method method;
  void (*take)(struct hf_instance *instance, const struct hf_message *message);
} takers[] = {
    {HF_METHOD_RESOURCES_UPDATED, hf_subscription_updated},
    {HF_METHOD_LOG_MESSAGE, take_log},
    {HF_METHOD_ELICIT_COMPLETE, hf_elicitation_complete},
    {HF_METHOD_UNKNOWN, hf_verbosity_deliver},
};

void hf_instance_message(struct hf_instance *instance, const struct hf_message *message) {
  enum hf_list_kind kind;
  if (list_kind_of(message->method, &kind)) {
    hf_listing_notice(&instance->lists[kind]);
    if (kind == HF_LIST_RESOURCES)
      hf_listing_notice(&instance->lists[HF_LIST_TEMPLATES]);
    return;
  }
  if (hf_follow_told(instance, message))
    return;
  for (size_t i = 0; i < sizeof takers / sizeof takers[0]; i++)
    if (takers[i].method == message->method)
      takers[i].take(instance, message);
}

/* Resources and templates share one notice, so the first of them to be loaded waits for the other. */
static bool awaits_sibling(const struct hf_instance *instance, enum hf_list_kind kind) {
  return (kind == HF_LIST_RESOURCES && instance->lists[HF_LIST_TEMPLATES].loading) ||
         (kind == HF_LIST_TEMPLATES && instance->lists[HF_LIST_RESOURCES].loading);
}

void hf_instance_listed(struct hf_instance *instance, enum hf_list_kind kind, bool changed) {
  hf_catalog_learn(instance, kind);
  if (kind == HF_LIST_TOOLS && changed)
    hf_route_check(instance->gateway);
  if (changed)
    instance->changed |= 1U << kind;
  if (instance->changed && !instance->retired && !awaits_sibling(instance, kind)) {
    hf_gateway_list_changed(instance->gateway, instance, instance->changed);
    instance->changed = 0;
  }
  hf_gateway_wake(instance->gateway);
}

void hf_instance_refresh(struct hf_instance *instance, enum hf_list_kind kind) {
  struct hf_listing *listing = &instance->lists[kind];
  if (instance->phase == HF_UPSTREAM_IDLE && listing->state == HF_LISTING_NONE)
    hf_instance_start(instance);
  else if (instance->phase == HF_UPSTREAM_READY && !listing->loading &&
           (listing->state == HF_LISTING_FAILED ||
            (listing->state == HF_LISTING_KNOWN && hf_listing_fresh_until(listing) <= instance->gateway->loop->now)))
    hf_listing_load(listing);
}

void hf_instance_post(struct hf_instance *instance, struct hf_pieces *text) {
  if (instance->phase == HF_UPSTREAM_READY)
    instance->upstream->ops->post(instance->upstream, NULL, text);
}

static void probe_done(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_instance *instance = ctx;
  (void)evidence;
  instance->probe = NULL;
  /* Any JSON-RPC answer, also an error, shows a living server. */
  hf_instance_step(instance, &(struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = response != NULL});
}

static void discovered(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_instance *instance = ctx;
  (void)evidence;
  instance->discover = NULL;
  instance->discovered_at = instance->gateway->loop->now;
  if (response && response->kind == HF_MESSAGE_RESULT) {
    const struct hf_capabilities before = instance->capabilities;
    take_hello(instance, response);
    if (memcmp(&before, &instance->capabilities, sizeof before) != 0)
      begin_session(instance);
  }
  hf_gateway_wake(instance->gateway);
}

static void told(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  (void)ctx, (void)evidence, (void)response; /* best effort: nobody waits for it */
}

static const struct hf_attempt_events told_events = {hf_own_request_sent, hf_own_request_life, hf_own_request_message,
                                                     told};
static const struct hf_attempt_events probe_events = {hf_own_request_sent, hf_own_request_life, hf_own_request_message,
                                                      probe_done};
static const struct hf_attempt_events discover_events = {hf_own_request_sent, hf_own_request_life,
                                                         hf_own_request_message, discovered};

static int request_own(struct hf_instance *instance, enum hf_method method, const char *key, struct hf_str raw,
                       const struct hf_attempt_events *events, struct hf_attempt_ref **ret_ref) {
  const struct hf_own_request request = {.method = method,
                                         .key = key,
                                         .raw = raw,
                                         .patience = instance->settings->start_timeout,
                                         .events = events,
                                         .ctx = instance};
  return hf_own_request_send(instance, &request, ret_ref);
}

void hf_instance_tell(struct hf_instance *instance, enum hf_method method, const char *key, struct hf_str raw) {
  struct hf_attempt_ref *ref;
  if (instance->phase == HF_UPSTREAM_READY)
    (void)request_own(instance, method, key, raw, &told_events, &ref);
}

static void probe(struct hf_instance *instance) {
  enum hf_method method = instance->era == HF_ERA_MODERN ? HF_METHOD_DISCOVER : HF_METHOD_PING;
  if (instance->probe) /* the provider has given it up */
    instance->upstream->ops->abort(instance->upstream, instance->probe, HF_STR("no answer in time"));
  instance->probe = NULL;
  if (request_own(instance, method, NULL, HF_STR(""), &probe_events, &instance->probe) < 0)
    hf_instance_step(instance, &(struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = false});
}

bool hf_instance_rediscover(struct hf_instance *instance, hf_time since) {
  if (instance->discover)
    return true;
  if (instance->phase != HF_UPSTREAM_READY || instance->era != HF_ERA_MODERN || instance->discovered_at >= since ||
      instance->hello_expires > instance->gateway->loop->now)
    return false;
  return request_own(instance, HF_METHOD_DISCOVER, NULL, HF_STR(""), &discover_events, &instance->discover) == 0;
}
