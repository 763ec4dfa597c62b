#include "gateway/gateway.h"

#include "base/alloc.h"
#include "gateway/catalog/listen.h"
#include "gateway/catalog/route.h"
#include "gateway/exchange.h"
#include "gateway/question/page.h"
#include "gateway/session.h"
#include "gateway/stage/away.h"
#include "gateway/stage/flight.h"
#include "gateway/stage/key.h"
#include "gateway/stage/lost.h"
#include "gateway/task/task.h"

enum { ROUTES_KEPT_MAX = 4096, ROUTE_FITS_MAX = 4096 };

enum { SERVERS_MAX = 1000, NAMES_MAX = 1 << 18 };

static void wake_waiting(struct hf_job *job);
static void announce_changes(struct hf_job *job);
static void drain_due(struct hf_timer *timer);

/* Nobody who looks through the servers meets one whose instances are going. */
static void server_free(struct hf_server *server) {
  struct hf_list *it, *tmp;
  hf_list_remove(&server->link);
  HF_LIST_FOREACH (it, tmp, &server->own)
    hf_instance_retire(HF_CONTAINER_OF(it, struct hf_instance, link));
  if (server->shared)
    hf_instance_retire(server->shared);
  hf_settings_free(server->config);
  hf_free(server);
}

static int server_new(struct hf_gateway *gateway, struct hf_settings *config, const struct hf_server_settings *settings,
                      struct hf_server **ret_server) {
  struct hf_server *server = hf_calloc(1, sizeof *server);
  if (!server)
    return HF_ERR_NOMEM;
  server->gateway = gateway;
  server->config = hf_settings_ref(config);
  server->settings = settings;
  hf_list_init(&server->link);
  hf_list_init(&server->own);
  int r = 0;
  if (!settings->disabled && settings->instance == HF_INSTANCE_SHARED)
    r = hf_instance_new(gateway, config, settings, NULL, HF_STR("{}"), &server->shared);
  if (r < 0) {
    server_free(server);
    return r;
  }
  *ret_server = server;
  return 0;
}

static int add_server(struct hf_gateway *gateway, struct hf_settings *config,
                      const struct hf_server_settings *settings) {
  struct hf_server *server;
  int r = server_new(gateway, config, settings, &server);
  if (r < 0)
    return r;
  r = hf_map_put(&gateway->by_name, settings->name, server);
  if (r < 0) {
    server_free(server);
    return r;
  }
  hf_list_push_back(&gateway->servers, &server->link);
  return 0;
}

static void tell_nobody(struct hf_client *client, void *owner, struct hf_pieces *text) {
  (void)client, (void)owner;
  hf_pieces_deinit(text);
}

/* It is no client to be counted, announced to or closed. */
static int open_nobody(struct hf_gateway *gateway) {
  static const struct hf_client_ops ops = {tell_nobody};
  const struct hf_client_options options = {.era = HF_ERA_LEGACY, .ops = &ops};
  return hf_client_new(gateway, &options, &gateway->nobody);
}

static void close_nobody(struct hf_gateway *gateway) {
  if (!gateway->nobody)
    return;
  hf_client_close(gateway->nobody);
  gateway->nobody = NULL;
}

static void take_keyed(void *ctx, const struct hf_keyed *keyed) {
  hf_key_load(ctx, keyed);
}

static void take_cached(void *ctx, const struct hf_cached *cached) {
  struct hf_gateway *gateway = ctx;
  (void)hf_cache_restore(&gateway->cache, cached, gateway->loop->now, gateway->loop->wall_ms);
}

static void take_news(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  struct hf_gateway *gateway = ctx;
  if (news == HF_NEWS_RECOVERED || news == HF_NEWS_LEFT)
    hf_lost_recovered(gateway, letter);
  if (gateway->hear && news != HF_NEWS_LEFT)
    gateway->hear(gateway->hear_ctx, news, letter);
}

void hf_gateway_use_model(struct hf_gateway *gateway, struct hf_model *model) {
  gateway->model = model;
}

void hf_gateway_hear_news(struct hf_gateway *gateway, hf_store_news_fn *hear, void *ctx) {
  gateway->hear = hear;
  gateway->hear_ctx = ctx;
}

void hf_gateway_use_store(struct hf_gateway *gateway, struct hf_store *store) {
  gateway->store = store;
  gateway->cache.store = store;
  gateway->tally.store = store;
  store->ops->load(store, take_keyed, take_cached, gateway);
  store->ops->watch(store, take_news, gateway);
  hf_tasks_take_over(gateway);
}

void hf_gateway_note_database(struct hf_gateway *gateway, const char *path, const char *trouble) {
  hf_free(gateway->database);
  hf_free(gateway->store_trouble);
  gateway->database = hf_strndup(path, strlen(path));
  gateway->store_trouble = trouble ? hf_strndup(trouble, strlen(trouble)) : NULL;
}

int hf_gateway_new(struct hf_loop *loop, struct hf_settings *settings, const struct hf_upstream_factory *factory,
                   struct hf_gateway **ret_gateway) {
  struct hf_gateway *gateway = hf_calloc(1, sizeof *gateway);
  if (!gateway)
    return HF_ERR_NOMEM;
  gateway->loop = loop;
  gateway->factory = *factory;
  gateway->settings = hf_settings_ref(settings);
  gateway->next_id = 1;
  gateway->next_call = hf_random_next(&loop->random) >> 24;
  hf_list_init(&gateway->servers);
  hf_list_init(&gateway->clients);
  hf_list_init(&gateway->waiting);
  hf_list_init(&gateway->elicitations);
  hf_links_init(&gateway->links);
  hf_list_init(&gateway->held);
  hf_list_init(&gateway->pages);
  hf_list_init(&gateway->ending);
  hf_map_init(&gateway->by_name, SERVERS_MAX);
  hf_map_init(&gateway->routes, ROUTES_KEPT_MAX);
  hf_map_init(&gateway->route_fits, ROUTE_FITS_MAX);
  hf_map_init(&gateway->route_schemas, ROUTES_KEPT_MAX);
  hf_names_init(&gateway->tool_names, NAMES_MAX);
  hf_names_init(&gateway->prompt_names, NAMES_MAX);
  hf_metrics_init(&gateway->metrics);
  hf_validator_init(&gateway->validator);
  hf_traces_init(&gateway->traces);
  hf_list_init(&gateway->replays);
  hf_job_init(&gateway->wake, wake_waiting);
  hf_job_init(&gateway->announce, announce_changes);
  hf_cache_init(&gateway->cache, settings->limits.cache_bytes, NULL);
  int r = hf_timer_init(loop, &gateway->drain_timer, drain_due);
  if (r == 0)
    r = hf_tally_init(&gateway->tally, loop);
  hf_keys_init(&gateway->keys, gateway);
  hf_corrections_init(&gateway->corrections);
  gateway->flights = r == 0 ? hf_flights_new(gateway) : NULL;
  gateway->lost = hf_lost_calls_new();
  gateway->tasks = hf_tasks_new(gateway);
  if (r == 0)
    r = gateway->flights && gateway->lost && gateway->tasks ? open_nobody(gateway) : HF_ERR_NOMEM;
  if (r == 0)
    r = hf_signer_init(&gateway->signer);
  if (r == 0 && !(gateway->aways = hf_aways_new(gateway)))
    r = HF_ERR_NOMEM;
  for (size_t i = 0; r == 0 && i < settings->server_count; i++)
    r = add_server(gateway, settings, &settings->servers[i]);
  if (r < 0) {
    hf_gateway_free(gateway);
    return r;
  }
  hf_settings_free(settings);
  *ret_gateway = gateway;
  return 0;
}

void hf_gateway_free(struct hf_gateway *gateway) {
  if (!gateway)
    return;
  gateway->closing = true;
  hf_tasks_free(gateway->tasks);
  gateway->tasks = NULL;
  close_nobody(gateway);
  hf_flights_free(gateway->flights);
  hf_page_forget(gateway);
  hf_keys_deinit(&gateway->keys);
  hf_corrections_deinit(&gateway->corrections);
  hf_lost_calls_free(gateway->lost);
  hf_aways_free(gateway->aways);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers)
    server_free(HF_CONTAINER_OF(it, struct hf_server, link));
  HF_LIST_FOREACH (it, tmp, &gateway->ending)
    hf_instance_free(HF_CONTAINER_OF(it, struct hf_instance, link));
  hf_job_cancel(&gateway->wake);
  hf_job_cancel(&gateway->announce);
  hf_timer_deinit(gateway->loop, &gateway->drain_timer);
  hf_names_deinit(&gateway->tool_names);
  hf_names_deinit(&gateway->prompt_names);
  hf_map_deinit(&gateway->routes);
  hf_map_deinit(&gateway->route_fits);
  hf_route_forget_schemas(gateway);
  hf_map_deinit(&gateway->route_schemas);
  hf_map_deinit(&gateway->by_name);
  hf_links_deinit(&gateway->links);
  hf_traces_deinit(&gateway->traces);
  hf_spare_deinit(&gateway->spare_exchanges);
  hf_cache_deinit(&gateway->cache);
  hf_tally_deinit(&gateway->tally);
  hf_metrics_deinit(&gateway->metrics);
  hf_validator_deinit(&gateway->validator);
  hf_free(gateway->database);
  hf_free(gateway->store_trouble);
  hf_settings_free(gateway->settings);
  hf_free(gateway);
}

void hf_gateway_start(struct hf_gateway *gateway) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers) {
    struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    if (server->shared && server->settings->start == HF_START_EAGER)
      hf_instance_start(server->shared);
    if (server->settings->disabled)
      hf_log_event(gateway->loop->log, HF_LOG_WARN, "server is disabled", HF_LOG_STR("server", server->settings->name),
                   HF_LOG_STR("reason", server->settings->disabled_reason));
  }
}

uint64_t hf_gateway_next_id(struct hf_gateway *gateway) {
  return gateway->next_id++;
}

uint64_t hf_gateway_next_call(struct hf_gateway *gateway) {
  return ++gateway->next_call;
}

struct hf_server *hf_gateway_server(const struct hf_gateway *gateway, struct hf_str name) {
  return hf_map_get(&gateway->by_name, name);
}

/* A stateless client is many, each of which says with each request what it can be asked: so a server may ask anything,
 * and what a request does not allow is refused here. */
static struct hf_str declared_by(const struct hf_client *client) {
  if (client->stateless)
    return HF_STR("{\"sampling\":{\"tools\":{},\"context\":{}},\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{}}");
  return client->raw_capabilities ? hf_str_from(client->raw_capabilities) : HF_STR("{}");
}

static struct hf_instance *own_instance(struct hf_server *server, struct hf_client *client) {
  struct hf_list *it, *tmp;
  if (client->origin)
    client = client->origin;
  HF_LIST_FOREACH (it, tmp, &server->own) {
    struct hf_instance *instance = HF_CONTAINER_OF(it, struct hf_instance, link);
    if (instance->client == client)
      return instance;
  }
  struct hf_gateway *gateway = server->gateway;
  if (gateway->own_instances >= gateway->settings->limits.session_upstreams)
    return NULL;
  struct hf_str capabilities = declared_by(client);
  struct hf_instance *instance;
  if (hf_instance_new(gateway, server->config, server->settings, client, capabilities, &instance) < 0)
    return NULL;
  gateway->own_instances++;
  hf_list_push_back(&server->own, &instance->link);
  return instance;
}

struct hf_instance *hf_server_instance(struct hf_server *server, struct hf_client *client) {
  if (server->settings->disabled || server->settings->instance == HF_INSTANCE_SHARED)
    return server->shared;
  return own_instance(server, client);
}

void hf_gateway_wake(struct hf_gateway *gateway) {
  if (!hf_list_empty(&gateway->waiting))
    hf_job_defer(gateway->loop, &gateway->wake);
}

/* Each is looked at once, whatever comes and goes meanwhile. */
static void wake_waiting(struct hf_job *job) {
  struct hf_gateway *gateway = HF_CONTAINER_OF(job, struct hf_gateway, wake);
  struct hf_list now;
  hf_list_init(&now);
  while (!hf_list_empty(&gateway->waiting)) {
    struct hf_list *first = gateway->waiting.next;
    hf_list_remove(first);
    hf_list_push_back(&now, first);
  }
  while (!hf_list_empty(&now)) {
    struct hf_exchange *exchange = HF_CONTAINER_OF(now.next, struct hf_exchange, waiting);
    hf_list_remove(&exchange->waiting);
    hf_list_push_back(&gateway->waiting, &exchange->waiting);
    exchange->resume(exchange);
  }
}

static void mark_changed(struct hf_gateway *gateway, const struct hf_instance *instance, unsigned kinds) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->clients) {
    struct hf_client *client = HF_CONTAINER_OF(it, struct hf_client, link);
    if (!instance || hf_client_sees(client, instance))
      client->changed |= kinds;
  }
  hf_job_defer(gateway->loop, &gateway->announce);
}

void hf_gateway_list_changed(struct hf_gateway *gateway, struct hf_instance *instance, unsigned kinds) {
  mark_changed(gateway, instance, kinds);
}

static void announce_changes(struct hf_job *job) {
  struct hf_gateway *gateway = HF_CONTAINER_OF(job, struct hf_gateway, announce);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->clients) {
    struct hf_client *client = HF_CONTAINER_OF(it, struct hf_client, link);
    unsigned changed = client->changed;
    client->changed = 0;
    /* Resources and templates share one notice. */
    if ((changed & 1U << HF_LIST_RESOURCES) &&
        (client->era != HF_ERA_LEGACY || client->listed & 1U << HF_LIST_RESOURCES))
      changed &= ~(1U << HF_LIST_TEMPLATES);
    for (int kind = 0; kind < HF_LIST_COUNT; kind++)
      if (changed & 1U << kind)
        hf_listen_announce(client, (enum hf_list_kind)kind);
  }
}

/* Goes over to new settings without touching the upstream, which keeps those it was opened with. */
static void adopt(struct hf_instance *instance, struct hf_settings *config, const struct hf_server_settings *settings) {
  hf_settings_free(instance->config);
  instance->config = hf_settings_ref(config);
  instance->settings = settings;
  hf_provider_configure(instance->provider, &settings->provider);
  if (instance->phase == HF_UPSTREAM_PARKED)
    instance->upstream->ops->revive(instance->upstream);
}

static void keep_server(struct hf_server *server, struct hf_settings *config,
                        const struct hf_server_settings *settings) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &server->own)
    adopt(HF_CONTAINER_OF(it, struct hf_instance, link), config, settings);
  if (server->shared)
    adopt(server->shared, config, settings);
  hf_settings_free(server->config);
  server->config = hf_settings_ref(config);
  server->settings = settings;
}

/* New servers are made before anything old is touched, so that a failure changes nothing. */
static int make_changed_servers(struct hf_gateway *gateway, struct hf_settings *settings, struct hf_list *made) {
  for (size_t i = 0; i < settings->server_count; i++) {
    struct hf_server *old = hf_gateway_server(gateway, settings->servers[i].name);
    if (old && hf_server_settings_same_upstream(old->settings, &settings->servers[i]))
      continue;
    struct hf_server *server;
    int r = server_new(gateway, settings, &settings->servers[i], &server);
    if (r < 0)
      return r;
    hf_list_push_back(made, &server->link);
  }
  return 0;
}

static struct hf_server *take_made(struct hf_list *made, const struct hf_server_settings *settings) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, made) {
    struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    if (server->settings == settings) {
      hf_list_remove(&server->link);
      return server;
    }
  }
  return NULL;
}

int hf_gateway_reload(struct hf_gateway *gateway, struct hf_settings *settings, struct hf_error *reterr) {
  struct hf_list made, order, *it, *tmp;
  hf_list_init(&made);
  hf_list_init(&order);
  struct hf_map by_name;
  hf_map_init(&by_name, SERVERS_MAX);
  int r = make_changed_servers(gateway, settings, &made);
  for (size_t i = 0; r == 0 && i < settings->server_count; i++)
    r = hf_map_put(&by_name, settings->servers[i].name, gateway); /* reserves the place */
  if (r < 0) {
    HF_LIST_FOREACH (it, tmp, &made)
      server_free(HF_CONTAINER_OF(it, struct hf_server, link));
    hf_map_deinit(&by_name);
    return hf_error_set(reterr, r, "cannot set up the new servers: %s", hf_err_text(r));
  }
  for (size_t i = 0; i < settings->server_count; i++) {
    struct hf_server *server = take_made(&made, &settings->servers[i]);
    if (!server) {
      server = hf_gateway_server(gateway, settings->servers[i].name);
      keep_server(server, settings, &settings->servers[i]);
      hf_list_remove(&server->link);
    }
    hf_list_push_back(&order, &server->link);
    (void)hf_map_put(&by_name, server->settings->name, server);
  }
  HF_LIST_FOREACH (it, tmp, &gateway->servers)
    server_free(HF_CONTAINER_OF(it, struct hf_server, link));
  HF_LIST_FOREACH (it, tmp, &order) {
    hf_list_remove(it);
    hf_list_push_back(&gateway->servers, it);
  }
  hf_map_deinit(&gateway->by_name);
  gateway->by_name = by_name;
  hf_settings_free(gateway->settings);
  gateway->settings = settings;
  hf_cache_limit(&gateway->cache, settings->limits.cache_bytes);
  hf_route_forget_schemas(gateway);
  hf_gateway_start(gateway);
  hf_route_check(gateway);
  hf_verbosity_recount(gateway);
  mark_changed(gateway, NULL, (1U << HF_LIST_COUNT) - 1);
  hf_gateway_wake(gateway);
  return 0;
}

void hf_gateway_drain(struct hf_gateway *gateway, void (*done)(void *ctx), void *ctx) {
  gateway->draining = true;
  gateway->drained = done;
  gateway->drained_ctx = ctx;
  struct hf_list *client_it, *client_tmp, *it, *tmp;
  HF_LIST_FOREACH (client_it, client_tmp, &gateway->clients) {
    struct hf_client *client = HF_CONTAINER_OF(client_it, struct hf_client, link);
    HF_LIST_FOREACH (it, tmp, &client->exchanges) {
      struct hf_exchange *exchange = HF_CONTAINER_OF(it, struct hf_exchange, link);
      if (exchange->stage == HF_STAGE_LISTENING)
        hf_listen_end(exchange);
    }
  }
  hf_tasks_drain(gateway);
  hf_time wait = gateway->calls ? gateway->settings->limits.drain : 0;
  hf_timer_set(gateway->loop, &gateway->drain_timer, hf_time_add(gateway->loop->now, wait));
}

static void stop_upstream(struct hf_instance *instance) {
  if (hf_instance_running(instance))
    instance->upstream->ops->stop(instance->upstream);
}

static void stop_upstreams(struct hf_gateway *gateway) {
  struct hf_list *it, *tmp, *own_it, *own_tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers) {
    struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    if (server->shared)
      stop_upstream(server->shared);
    HF_LIST_FOREACH (own_it, own_tmp, &server->own)
      stop_upstream(HF_CONTAINER_OF(own_it, struct hf_instance, link));
  }
}

static bool any_running(struct hf_gateway *gateway) {
  struct hf_list *it, *tmp, *own_it, *own_tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers) {
    struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    if (server->shared && hf_instance_running(server->shared))
      return true;
    HF_LIST_FOREACH (own_it, own_tmp, &server->own)
      if (hf_instance_running(HF_CONTAINER_OF(own_it, struct hf_instance, link)))
        return true;
  }
  return !hf_list_empty(&gateway->ending);
}

static struct hf_list *next_call(const struct hf_client *client, struct hf_list *it) {
  while (it != &client->exchanges && HF_CONTAINER_OF(it, struct hf_exchange, link)->is_check)
    it = it->next;
  return it;
}

/* A call takes its status check with it, which may stand anywhere in the list; what is left then are replays' checks.
 */
static void cancel_calls_of_nobody(struct hf_client *nobody) {
  struct hf_list *it, *tmp;
  for (it = next_call(nobody, nobody->exchanges.next); it != &nobody->exchanges; it = tmp) {
    tmp = next_call(nobody, it->next);
    hf_exchange_cancel(HF_CONTAINER_OF(it, struct hf_exchange, link));
  }
  HF_LIST_FOREACH (it, tmp, &nobody->exchanges)
    if (HF_CONTAINER_OF(it, struct hf_exchange, link)->is_check)
      hf_exchange_cancel(HF_CONTAINER_OF(it, struct hf_exchange, link));
}

static void cancel_calls(struct hf_gateway *gateway) {
  struct hf_list *client_it, *client_tmp, *it, *tmp;
  HF_LIST_FOREACH (client_it, client_tmp, &gateway->clients) {
    struct hf_client *client = HF_CONTAINER_OF(client_it, struct hf_client, link);
    HF_LIST_FOREACH (it, tmp, &client->exchanges)
      hf_exchange_cancel(HF_CONTAINER_OF(it, struct hf_exchange, link));
  }
  hf_tasks_stop(gateway);
  cancel_calls_of_nobody(gateway->nobody);
}

static void end_drain(struct hf_gateway *gateway) {
  void (*done)(void *ctx) = gateway->drained;
  gateway->drained = NULL;
  hf_timer_stop(gateway->loop, &gateway->drain_timer);
  if (done)
    done(gateway->drained_ctx);
}

/* First the calls' time is up (or none is left): what still runs is answered as it stands, or once its letter is
 * written. Then the upstreams'. */
static void drain_due(struct hf_timer *timer) {
  struct hf_gateway *gateway = HF_CONTAINER_OF(timer, struct hf_gateway, drain_timer);
  if (gateway->stopping) {
    end_drain(gateway);
    return;
  }
  cancel_calls(gateway);
  gateway->stopping = true;
  stop_upstreams(gateway);
  bool wait = gateway->calls > 0 || any_running(gateway);
  hf_timer_set(gateway->loop, &gateway->drain_timer, hf_time_add(gateway->loop->now, wait ? HF_STOP_WAIT : 0));
}

static void end_drain_soon(struct hf_gateway *gateway) {
  if (gateway->drained && !gateway->closing && gateway->calls == 0 && (!gateway->stopping || !any_running(gateway)))
    hf_timer_set(gateway->loop, &gateway->drain_timer, gateway->loop->now);
}

void hf_gateway_upstream_ended(struct hf_gateway *gateway) {
  if (gateway->stopping)
    end_drain_soon(gateway);
}

void hf_gateway_call_ended(struct hf_gateway *gateway) {
  gateway->calls--;
  if (gateway->draining)
    end_drain_soon(gateway);
}
