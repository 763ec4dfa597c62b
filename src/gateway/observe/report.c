/* What the gateway shows of itself to operators: readiness, status, metrics. Reads everything, changes nothing. */
#include "gateway/gateway.h"

#include "gateway/correct/correct.h"
#include "gateway/session.h"
#include "gateway/task/task.h"
#include "json/write.h"

#include <inttypes.h>

enum { OUTAGES_SHOWN = 3 };

static const char *phase_name(enum hf_upstream_phase phase) {
  static const char *const names[] = {"idle", "starting", "ready", "down", "parked"};
  return names[phase];
}

static const struct hf_breaker *find_breaker(const struct hf_instance *instance, struct hf_str tool) {
  struct hf_str name;
  const struct hf_breaker *breaker;
  for (size_t i = 0; hf_provider_tool_at(instance->provider, i, &name, &breaker); i++)
    if (hf_str_equal(name, tool))
      return breaker;
  return NULL;
}

static int64_t ms_until(const struct hf_gateway *gateway, hf_time at) {
  return at == HF_TIME_NEVER ? -1 : hf_time_max(at - gateway->loop->now, 0) / HF_MS(1);
}

/* How a breaker is, if that is news. */
static void write_breaker(struct hf_json_writer *w, const struct hf_gateway *gateway,
                          const struct hf_breaker *breaker) {
  struct hf_breaker_view view;
  hf_breaker_view(breaker, &view);
  if (view.state == HF_BREAKER_CLOSED)
    return;
  hf_json_write_member_str(w, "breaker", hf_str_from(hf_breaker_state_name(view.state)));
  if (view.state == HF_BREAKER_OPEN)
    hf_json_write_member_int(w, "probeInMs", ms_until(gateway, view.until));
}

static void write_outages(struct hf_json_writer *w, const struct hf_gateway *gateway, struct hf_str tool,
                          const struct hf_breaker *breaker) {
  struct hf_outage outages[HF_OUTAGES_MAX];
  hf_time now = gateway->loop->now;
  unsigned count = hf_breaker_outages(breaker, outages);
  for (unsigned i = 0; i < count && i < OUTAGES_SHOWN; i++) {
    const struct hf_outage *outage = &outages[i];
    bool over = outage->ended != HF_TIME_NEVER;
    hf_json_write_object(w);
    if (tool.ptr)
      hf_json_write_member_str(w, "tool", tool);
    hf_json_write_member_int(w, "beganMs", (now - outage->began) / HF_MS(1));
    hf_json_write_member_bool(w, "over", over);
    hf_json_write_member_int(w, "tookMs", ((over ? outage->ended : now) - outage->began) / HF_MS(1));
    hf_json_write_member_int(w, "probes", outage->probes);
    hf_json_write_object_end(w);
  }
}

/* Those of the server, then of each of its tools; how long ago they began. */
static void write_all_outages(struct hf_json_writer *w, const struct hf_instance *instance) {
  struct hf_str tool;
  const struct hf_breaker *breaker;
  hf_json_write_key(w, "outages");
  hf_json_write_array(w);
  write_outages(w, instance->gateway, (struct hf_str){NULL, 0}, hf_provider_breaker(instance->provider));
  for (size_t i = 0; hf_provider_tool_at(instance->provider, i, &tool, &breaker); i++)
    write_outages(w, instance->gateway, tool, breaker);
  hf_json_write_array_end(w);
}

static void write_tool(struct hf_json_writer *w, struct hf_instance *instance, const struct hf_item *item) {
  struct hf_str server = instance->settings->name;
  const struct hf_tool_settings *tool = hf_settings_tool(instance->config, server, item->key);
  bool configured = tool && tool->has_safety;
  enum hf_safety safety = configured ? tool->safety : item->annotated;
  hf_json_write_object(w);
  hf_json_write_member_str(w, "name", item->key);
  const struct hf_name *name = hf_names_find_pair(&instance->gateway->tool_names, server, item->key);
  if (name)
    hf_json_write_member_str(w, "shown", name->exposed);
  hf_json_write_member_str(w, "safety", hf_str_from(hf_safety_name(safety)));
  hf_json_write_member_str(w, "why",
                           tool && tool->has_safety     ? tool->source
                           : safety == HF_SAFETY_UNSAFE ? HF_STR("nothing says that it is safe to repeat")
                                                        : HF_STR("its annotations"));
  if (tool && tool->hidden)
    hf_json_write_member_bool(w, "hidden", true);
  const struct hf_breaker *breaker = find_breaker(instance, item->key);
  if (breaker)
    write_breaker(w, instance->gateway, breaker);
  hf_json_write_object_end(w);
}

/* The end of a child is noticed; a server that is only connected to may have died since it was last heard of. */
static bool nobody_looks(const struct hf_instance *instance) {
  return instance->settings->transport == HF_TRANSPORT_HTTP && instance->settings->keepalive == HF_TIME_NEVER;
}

static void write_instance(struct hf_json_writer *w, struct hf_instance *instance) {
  struct hf_provider_view view;
  hf_provider_view(instance->provider, &view);
  hf_json_write_member_str(w, "phase", hf_str_from(phase_name(instance->phase)));
  if (instance->phase == HF_UPSTREAM_READY) {
    hf_json_write_member_str(w, "era", instance->era == HF_ERA_MODERN ? HF_STR("modern") : HF_STR("legacy"));
    hf_json_write_member_str(w, "version", instance->version.ptr ? instance->version : HF_STR(""));
  }
  if (instance->phase == HF_UPSTREAM_READY && nobody_looks(instance))
    hf_json_write_member_int(w, "heardMs", (instance->gateway->loop->now - instance->heard) / HF_MS(1));
  if (instance->reason)
    hf_json_write_member_str(w, "reason", hf_str_from(instance->reason));
  if (instance->pid)
    hf_json_write_member_int(w, "pid", instance->pid);
  hf_json_write_member_int(w, "starts", (int64_t)instance->starts);
  hf_json_write_member_str(w, "breaker", hf_str_from(hf_breaker_state_name(view.breaker)));
  if (view.breaker == HF_BREAKER_OPEN)
    hf_json_write_member_int(w, "probeInMs", ms_until(instance->gateway, view.breaker_until));
  hf_json_write_member_int(w, "inFlight", view.in_flight);
  hf_json_write_member_int(w, "limit", view.limit);
  hf_json_write_member_int(w, "queued", view.queued);
  hf_json_write_member_int(w, "repeatsLeft",
                           hf_budget_left(hf_provider_budget(instance->provider), instance->gateway->loop->now));
  hf_json_write_member_int(w, "repeatsRefused", (int64_t)view.budget_refusals);
  hf_json_write_member_int(w, "callsRefused", (int64_t)view.limit_refusals);
  write_all_outages(w, instance);
  hf_json_write_key(w, "tools");
  hf_json_write_array(w);
  const struct hf_items *items = &instance->lists[HF_LIST_TOOLS].items;
  for (size_t i = 0; i < items->count; i++)
    write_tool(w, instance, &items->item[i]);
  hf_json_write_array_end(w);
  hf_json_write_member_int(w, "prompts", (int64_t)instance->lists[HF_LIST_PROMPTS].items.count);
  hf_json_write_member_int(w, "resources", (int64_t)instance->lists[HF_LIST_RESOURCES].items.count);
}

static int64_t count_own(const struct hf_server *server) {
  int64_t count = 0;
  for (const struct hf_list *it = server->own.next; it != &server->own; it = it->next)
    count++;
  return count;
}

static struct hf_instance *shown_instance(const struct hf_server *server) {
  if (server->shared || hf_list_empty(&server->own))
    return server->shared;
  return HF_CONTAINER_OF(server->own.next, struct hf_instance, link);
}

static void write_database(struct hf_json_writer *w, const struct hf_gateway *gateway) {
  if (!gateway->database)
    return;
  hf_json_write_key(w, "store");
  hf_json_write_object(w);
  hf_json_write_member_str(w, "database", hf_str_from(gateway->database));
  hf_json_write_member_bool(w, "open", gateway->store != NULL);
  if (gateway->store_trouble)
    hf_json_write_member_str(w, "trouble", hf_str_from(gateway->store_trouble));
  hf_json_write_object_end(w);
}

static void write_store(struct hf_json_writer *w, const struct hf_gateway *gateway) {
  struct hf_store_stats stats = {0};
  gateway->store->ops->stats(gateway->store, &stats);
  hf_json_write_key(w, "letters");
  hf_json_write_object(w);
  for (int i = 0; i < HF_LETTER_STATUS_COUNT; i++)
    hf_json_write_member_int(w, hf_letter_status_name((enum hf_letter_status)i), (int64_t)stats.depth[i]);
  if (stats.oldest_ms)
    hf_json_write_member_int(w, "oldestMs", gateway->loop->wall_ms - stats.oldest_ms);
  hf_json_write_member_int(w, "expiring", (int64_t)stats.expiring);
  hf_json_write_member_int(w, "bytes", (int64_t)stats.bytes);
  hf_json_write_object_end(w);
  hf_json_write_member_int(w, "tasksKept", (int64_t)stats.tasks);
}

static void write_whole(struct hf_json_writer *w, const struct hf_gateway *gateway) {
  const struct hf_metrics *metrics = &gateway->metrics;
  write_database(w, gateway);
  if (gateway->store)
    write_store(w, gateway);
  hf_json_write_key(w, "cache");
  hf_json_write_object(w);
  hf_json_write_member_int(w, "entries", (int64_t)gateway->cache.entries.len);
  hf_json_write_member_int(w, "bytes", (int64_t)gateway->cache.bytes);
  hf_json_write_member_int(w, "limit", (int64_t)gateway->cache.max_bytes);
  hf_json_write_member_int(w, "hits", (int64_t)metrics->counters[HF_METRIC_CACHE_HITS]);
  hf_json_write_object_end(w);
  hf_json_write_member_int(w, "degraded", (int64_t)metrics->counters[HF_METRIC_DEGRADED]);
  hf_json_write_member_int(w, "hedges", (int64_t)metrics->counters[HF_METRIC_HEDGES]);
  hf_json_write_member_int(w, "checks", (int64_t)metrics->counters[HF_METRIC_CHECKS]);
  hf_json_write_member_int(w, "joined", (int64_t)metrics->counters[HF_METRIC_JOINED]);
  hf_json_write_member_int(w, "replays", (int64_t)metrics->counters[HF_METRIC_REPLAYS]);
}

int hf_gateway_status(struct hf_gateway *gateway, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "version", HF_STR(HF_VERSION_TEXT));
  hf_json_write_member_bool(&w, "draining", gateway->draining);
  hf_json_write_member_int(&w, "clients", (int64_t)gateway->client_count);
  hf_json_write_member_int(&w, "calls", (int64_t)gateway->calls);
  hf_json_write_member_int(&w, "tasks", (int64_t)hf_tasks_running(gateway->tasks));
  hf_json_write_member_int(&w, "lateAnswers", (int64_t)gateway->late_answers);
  write_whole(&w, gateway);
  hf_json_write_key(&w, "servers");
  hf_json_write_array(&w);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers) {
    struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    struct hf_instance *instance = shown_instance(server);
    hf_json_write_object(&w);
    hf_json_write_member_str(&w, "name", server->settings->name);
    hf_json_write_member_str(&w, "transport",
                             server->settings->transport == HF_TRANSPORT_STDIO ? HF_STR("stdio") : HF_STR("http"));
    if (server->settings->disabled)
      hf_json_write_member_str(&w, "disabled", server->settings->disabled_reason);
    hf_json_write_member_str(&w, "instance",
                             server->settings->instance == HF_INSTANCE_SHARED ? HF_STR("shared") : HF_STR("session"));
    if (server->settings->instance == HF_INSTANCE_SESSION)
      hf_json_write_member_int(&w, "instances", count_own(server));
    if (instance)
      write_instance(&w, instance);
    hf_json_write_object_end(&w);
  }
  hf_json_write_array_end(&w);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

bool hf_gateway_ready(struct hf_gateway *gateway, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_key(&w, "servers");
  hf_json_write_object(&w);
  bool usable = hf_list_empty(&gateway->servers);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers) {
    struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    struct hf_instance *instance = shown_instance(server);
    bool failed = server->settings->disabled ||
                  (instance && (instance->phase == HF_UPSTREAM_DOWN || instance->phase == HF_UPSTREAM_PARKED));
    usable = usable || !failed;
    hf_json_write_key_str(&w, server->settings->name);
    hf_json_write_str(&w, server->settings->disabled
                              ? HF_STR("disabled")
                              : hf_str_from(phase_name(instance ? instance->phase : HF_UPSTREAM_IDLE)));
  }
  hf_json_write_object_end(&w);
  bool ready = usable && !gateway->draining;
  hf_json_write_member_bool(&w, "ready", ready);
  if (gateway->database) /* calls are answered without it, so it is none of the conditions */
    hf_json_write_member_str(&w, "store", gateway->store ? HF_STR("open") : HF_STR("not open"));
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w) == 0 && ready;
}

struct totals {
  struct hf_str server;
  int64_t state; /* of the provider's breaker, the worst of its instances */
  int64_t in_flight;
  int64_t queued;
  int64_t ready;
  int64_t starts;
  int64_t budget_refusals;
  int64_t limit_refusals;
};

static void add_totals(struct totals *totals, struct hf_instance *instance) {
  struct hf_provider_view view;
  hf_provider_view(instance->provider, &view);
  totals->state = view.breaker > totals->state ? (int64_t)view.breaker : totals->state;
  totals->in_flight += view.in_flight;
  totals->queued += view.queued;
  totals->ready += instance->phase == HF_UPSTREAM_READY;
  totals->starts += (int64_t)instance->starts;
  totals->budget_refusals += (int64_t)view.budget_refusals;
  totals->limit_refusals += (int64_t)view.limit_refusals;
}

static const struct {
  const char *name;
  const char *help;
  size_t field;
} gauges[] = {
    {"holdfast_breaker_state", "Breaker of the server: 0 closed, 1 open, 2 half-open.", offsetof(struct totals, state)},
    {"holdfast_calls_in_flight", "Calls in flight at the server.", offsetof(struct totals, in_flight)},
    {"holdfast_calls_queued", "Calls that wait for the server.", offsetof(struct totals, queued)},
    {"holdfast_upstreams_ready", "Sessions or children of the server that can take calls.",
     offsetof(struct totals, ready)},
    {"holdfast_upstream_starts", "How often the sessions or children there are now were started.",
     offsetof(struct totals, starts)},
    {"holdfast_retries_refused", "Repeats that the server's retry budget did not allow.",
     offsetof(struct totals, budget_refusals)},
    {"holdfast_calls_refused", "Calls that found the server's queue full.", offsetof(struct totals, limit_refusals)},
};

static int write_gauge(struct hf_gateway *gateway, size_t gauge, struct hf_buf *out) {
  int r =
      hf_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", gauges[gauge].name, gauges[gauge].help, gauges[gauge].name);
  struct hf_list *it, *tmp, *own_it, *own_tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers) {
    struct hf_server *server = HF_CONTAINER_OF(it, struct hf_server, link);
    struct totals totals = {.server = server->settings->name};
    if (server->shared)
      add_totals(&totals, server->shared);
    HF_LIST_FOREACH (own_it, own_tmp, &server->own)
      add_totals(&totals, HF_CONTAINER_OF(own_it, struct hf_instance, link));
    if (r == 0)
      r = hf_buf_printf(out, "%s{server=", gauges[gauge].name);
    if (r == 0)
      r = hf_metrics_label(out, totals.server);
    if (r == 0)
      r = hf_buf_printf(out, "} %" PRId64 "\n",
                        *(const int64_t *)(const void *)((const char *)&totals + gauges[gauge].field));
  }
  return r;
}

/* A client's own upstreams each have breakers of their own: the worst state of a tool would need them all, so those of
 * the shared upstream stand for the server. */
static int write_tool_breakers(struct hf_gateway *gateway, struct hf_buf *out) {
  int r = hf_buf_append_str(out, HF_STR("# HELP holdfast_tool_breaker_state Breaker of the tool: 0 closed, 1 open, 2 "
                                        "half-open.\n# TYPE holdfast_tool_breaker_state gauge\n"));
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->servers) {
    const struct hf_instance *instance = shown_instance(HF_CONTAINER_OF(it, struct hf_server, link));
    struct hf_str tool;
    const struct hf_breaker *breaker;
    for (size_t i = 0; instance && r == 0 && hf_provider_tool_at(instance->provider, i, &tool, &breaker); i++) {
      r = hf_buf_append_str(out, HF_STR("holdfast_tool_breaker_state{server="));
      if (r == 0)
        r = hf_metrics_label(out, instance->settings->name);
      if (r == 0)
        r = hf_buf_append_str(out, HF_STR(",tool="));
      if (r == 0)
        r = hf_metrics_label(out, tool);
      if (r == 0)
        r = hf_buf_printf(out, "} %d\n", (int)breaker->state);
    }
  }
  return r;
}

static int write_value(struct hf_buf *out, const char *name, const char *help, int64_t value) {
  return hf_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %" PRId64 "\n", name, help, name, name, value);
}

/* Nothing without a store: no letters is not the same as none kept. */
static int write_letters(const struct hf_gateway *gateway, struct hf_buf *out) {
  if (!gateway->store)
    return 0;
  struct hf_store_stats stats = {0};
  gateway->store->ops->stats(gateway->store, &stats);
  int r = hf_buf_append_str(out, HF_STR("# HELP holdfast_dead_letters Dead letters in the store, by status.\n"
                                        "# TYPE holdfast_dead_letters gauge\n"));
  for (int i = 0; r == 0 && i < HF_LETTER_STATUS_COUNT; i++)
    r = hf_buf_printf(out, "holdfast_dead_letters{status=\"%s\"} %" PRIu64 "\n",
                      hf_letter_status_name((enum hf_letter_status)i), stats.depth[i]);
  if (r == 0)
    r = hf_buf_append_str(out, HF_STR("# HELP holdfast_dead_letters_waiting Letters that are dead, by class.\n"
                                      "# TYPE holdfast_dead_letters_waiting gauge\n"));
  for (unsigned i = 0; r == 0 && i <= HF_FAULT_COUNT; i++)
    if (stats.waiting[i])
      r = hf_buf_printf(out, "holdfast_dead_letters_waiting{class=\"%s\"} %" PRIu64 "\n",
                        i < HF_FAULT_COUNT ? hf_fault_name((enum hf_fault)i) : HF_LETTER_GATEWAY_DIED,
                        stats.waiting[i]);
  int64_t age = stats.oldest_ms ? (gateway->loop->wall_ms - stats.oldest_ms) / 1000 : 0;
  if (r == 0)
    r = write_value(out, "holdfast_dead_letter_oldest_seconds", "Age of the oldest letter that is dead.", age);
  if (r == 0)
    r = write_value(out, "holdfast_dead_letters_expiring", "Letters that retention removes within a day.",
                    (int64_t)stats.expiring);
  return r ? r : write_value(out, "holdfast_store_bytes", "Size of the database.", (int64_t)stats.bytes);
}

static int write_cache(const struct hf_gateway *gateway, struct hf_buf *out) {
  int r = write_value(out, "holdfast_cache_entries", "Good answers that are kept in memory.",
                      (int64_t)gateway->cache.entries.len);
  return r ? r
           : write_value(out, "holdfast_cache_bytes", "Bytes of the good answers that are kept in memory.",
                         (int64_t)gateway->cache.bytes);
}

int hf_gateway_metrics(struct hf_gateway *gateway, struct hf_buf *out) {
  int r = hf_metrics_write(&gateway->metrics, out);
  if (r == 0)
    r = write_letters(gateway, out);
  if (r == 0)
    r = write_cache(gateway, out);
  if (r == 0)
    r = hf_correct_metrics(&gateway->corrections, out);
  if (r == 0)
    r = write_tool_breakers(gateway, out);
  for (size_t i = 0; r == 0 && i < sizeof gauges / sizeof gauges[0]; i++)
    r = write_gauge(gateway, i, out);
  if (r == 0)
    r = hf_buf_printf(out,
                      "# HELP holdfast_clients Clients: sessions, connections, principals.\n"
                      "# TYPE holdfast_clients gauge\nholdfast_clients %zu\n"
                      "# HELP holdfast_late_answers_total Answers to questions that were over already.\n"
                      "# TYPE holdfast_late_answers_total counter\nholdfast_late_answers_total %" PRIu64 "\n"
                      "# HELP holdfast_loop_turn_seconds_max Longest turn of the event loop since the start.\n"
                      "# TYPE holdfast_loop_turn_seconds_max gauge\nholdfast_loop_turn_seconds_max %" PRId64
                      ".%06" PRId64 "\n",
                      gateway->client_count, gateway->late_answers, gateway->loop->longest_turn / HF_SECONDS(1),
                      gateway->loop->longest_turn % HF_SECONDS(1));
  return r;
}
