#include "gateway/catalog/catalog.h"

#include "base/alloc.h"
#include "gateway/catalog/alias.h"
#include "gateway/catalog/link.h"
#include "gateway/catalog/route.h"
#include "gateway/catalog/subscription.h"
#include "gateway/catalog/ttl.h"
#include "gateway/gateway.h"
#include "gateway/task/task.h"
#include "mcp/compose.h"
#include "json/write.h"

#include <stdio.h>

enum { CATALOG_BYTES_MAX = 64 << 20, REF_NODES_MAX = 64, DESCRIBED_MAX = 16 << 10 };

/* A list is not loaded again sooner than this for the sake of one unknown name. */
#define RELIST_AFTER HF_SECONDS(2)

static struct hf_names *names_of(struct hf_gateway *gateway, enum hf_list_kind kind) {
  return kind == HF_LIST_PROMPTS ? &gateway->prompt_names : &gateway->tool_names;
}

static bool is_named(enum hf_list_kind kind) {
  return kind == HF_LIST_TOOLS || kind == HF_LIST_PROMPTS;
}

bool hf_catalog_settle(struct hf_client *client) {
  bool settled = true;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    if (!instance)
      continue;
    if (instance->phase == HF_UPSTREAM_IDLE && instance->lists[HF_LIST_TOOLS].state == HF_LISTING_NONE)
      hf_instance_start(instance);
    else if (hf_instance_settled(instance) || instance->phase == HF_UPSTREAM_IDLE)
      continue;
    settled = false;
  }
  return settled;
}

void hf_catalog_learn(struct hf_instance *instance, enum hf_list_kind kind) {
  const struct hf_items *items = &instance->lists[kind].items;
  for (size_t i = 0; is_named(kind) && i < items->count; i++) {
    struct hf_name *name;
    if (hf_names_add(names_of(instance->gateway, kind), instance->settings->name, items->item[i].key, &name) < 0)
      hf_log_event(instance->gateway->loop->log, HF_LOG_WARN, "name cannot be shown",
                   HF_LOG_STR("server", instance->settings->name), HF_LOG_STR("name", items->item[i].key));
  }
}

static bool is_hidden(const struct hf_instance *instance, enum hf_list_kind kind, struct hf_str key) {
  if (kind != HF_LIST_TOOLS)
    return false;
  const struct hf_tool_settings *tool = hf_settings_tool(instance->config, instance->settings->name, key);
  return tool && tool->hidden;
}

/* Appends an item with another name or URI in it. */
static int write_shown(struct hf_str raw, struct hf_str raw_key, struct hf_str shown, struct hf_buf *text) {
  const size_t head = (size_t)(raw_key.ptr - raw.ptr), tail = head + raw_key.len;
  int r = hf_buf_append(text, raw.ptr, head);
  if (r == 0)
    r = hf_json_escape(text, shown);
  return r == 0 ? hf_buf_append(text, raw.ptr + tail, raw.len - tail) : r;
}

/* Its URI leads to an earlier server. */
static int write_aliased(const struct hf_instance *instance, const struct hf_item *item, struct hf_json_writer *w) {
  struct hf_buf alias, text;
  hf_buf_init(&alias, item->key.len + 4 * HF_ALIAS_SERVER_MAX);
  hf_buf_init(&text, CATALOG_BYTES_MAX);
  int r = hf_alias_write(&alias, instance->settings->name, item->key);
  if (r == 0)
    r = write_shown(item->raw, item->raw_key, hf_buf_str(&alias), &text);
  if (r == 0)
    hf_json_write_raw(w, hf_buf_str(&text));
  hf_buf_deinit(&text);
  hf_buf_deinit(&alias);
  return r;
}

static void write_raw(const struct hf_client *client, const struct hf_instance *instance, enum hf_list_kind kind,
                      const struct hf_item *item, struct hf_str raw, struct hf_json_writer *w) {
  if (kind == HF_LIST_TOOLS)
    hf_task_write_listed(client, instance, item, raw, w);
  else
    hf_json_write_raw(w, raw);
}

static bool is_completed(const struct hf_instance *instance, enum hf_list_kind kind, struct hf_str key) {
  if (kind != HF_LIST_TOOLS)
    return false;
  const struct hf_tool_settings *tool = hf_settings_tool(instance->config, instance->settings->name, key);
  return tool ? tool->fit.complete : instance->settings->fit.complete;
}

static int write_item(struct hf_client *client, struct hf_instance *instance, struct hf_listing *listing,
                      struct hf_item *item, struct hf_json_writer *w) {
  const enum hf_list_kind kind = listing->kind;
  const bool completed = is_completed(instance, kind, item->key);
  if (completed)
    hf_listing_fill(listing, item);
  const struct hf_str raw = completed ? item->filled : item->raw;
  if (client->server || !is_named(kind)) {
    write_raw(client, instance, kind, item, raw, w);
    return 0;
  }
  struct hf_name *name;
  struct hf_buf text;
  hf_buf_init(&text, CATALOG_BYTES_MAX);
  int r = hf_names_add(names_of(client->gateway, kind), instance->settings->name, item->key, &name);
  if (r == 0)
    r = write_shown(raw, completed ? item->filled_key : item->raw_key, name->exposed, &text);
  if (r == 0)
    write_raw(client, instance, kind, item, hf_buf_str(&text), w);
  hf_buf_deinit(&text);
  return r;
}

/* The instance's own list, or that of the first of its standbys which has one: they are endpoints of one server. */
static struct hf_listing *best_listing(struct hf_client *client, struct hf_instance *instance, enum hf_list_kind kind) {
  struct hf_instance *at = instance;
  for (int i = 0; at && i < HF_CALL_TARGETS_MAX && kind == HF_LIST_TOOLS; i++) {
    if (at->lists[kind].state == HF_LISTING_KNOWN)
      return &at->lists[kind];
    struct hf_str standby = at->settings->standby;
    struct hf_server *server = standby.ptr ? hf_gateway_server(client->gateway, standby) : NULL;
    at = server ? hf_server_instance(server, client) : NULL;
  }
  return &instance->lists[kind];
}

static struct hf_instance *instance_named(struct hf_client *client, struct hf_str name) {
  struct hf_server *server = name.ptr ? hf_gateway_server(client->gateway, name) : NULL;
  if (!server || (client->server && !hf_str_equal(hf_str_from(client->server), name)))
    return NULL;
  return hf_server_instance(server, client);
}

/* The server that an alias is for; NULL: it is none. */
static struct hf_instance *instance_of_alias(struct hf_client *client, struct hf_str uri, struct hf_str *ret_own) {
  char name[HF_ALIAS_SERVER_MAX];
  struct hf_str server;
  return hf_alias_read(uri, name, &server, ret_own) ? instance_named(client, server) : NULL;
}

/* A server does not get what is asked of another one by calling its own resource like an alias. */
static bool is_alias_of_another(struct hf_client *client, const struct hf_instance *instance, struct hf_str uri) {
  struct hf_str own;
  const struct hf_instance *meant = instance_of_alias(client, uri, &own);
  return meant && meant->settings != instance->settings;
}

static void write_instance(struct hf_client *client, struct hf_instance *instance, enum hf_list_kind kind,
                           struct hf_map *seen, struct hf_json_writer *w) {
  struct hf_listing *listing = best_listing(client, instance, kind);
  if (listing->state != HF_LISTING_KNOWN)
    return;
  for (size_t i = 0; i < listing->items.count; i++) {
    struct hf_item *item = &listing->items.item[i];
    if (is_hidden(instance, kind, item->key))
      continue;
    const bool taken = !is_named(kind) && (is_alias_of_another(client, instance, item->key) ||
                                           hf_map_get(seen, item->key) || hf_map_put(seen, item->key, instance) < 0);
    int r = taken ? write_aliased(instance, item, w) : write_item(client, instance, listing, item, w);
    if (r < 0)
      hf_log_event(client->gateway->loop->log, HF_LOG_WARN, "item left out of the list",
                   HF_LOG_STR("server", instance->settings->name), HF_LOG_STR("name", item->key));
  }
}

/* How long the merged list is good for: as long as its shortest part, and not at all while a part is still to come. */
static struct hf_ttl list_ttl(struct hf_client *client, enum hf_list_kind kind) {
  const hf_time now = client->gateway->loop->now;
  struct hf_ttl ttl = {0};
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    const struct hf_listing *listing = instance ? best_listing(client, instance, kind) : NULL;
    if (!listing || listing->state == HF_LISTING_ABSENT)
      continue;
    const bool known = listing->state == HF_LISTING_KNOWN;
    const bool coming = !known && instance->phase != HF_UPSTREAM_DOWN && instance->phase != HF_UPSTREAM_PARKED;
    const bool said = known && (listing->expires != HF_TIME_NEVER || listing->is_old);
    hf_ttl_add(&ttl,
               said     ? hf_listing_fresh_until(listing)
               : coming ? now
                        : HF_TIME_NEVER,
               now, known && listing->is_public);
  }
  return ttl;
}

static void answer_list(struct hf_exchange *exchange, enum hf_list_kind kind) {
  struct hf_client *client = exchange->client;
  struct hf_buf result;
  hf_buf_init(&result, CATALOG_BYTES_MAX);
  struct hf_map seen;
  hf_map_init(&seen, (size_t)HF_LIST_ITEMS_MAX * 16);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &result);
  hf_json_write_object(&w);
  hf_json_write_key_str(&w, hf_method_info(hf_list_method(kind))->list);
  hf_json_write_array(&w);
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    if (instance)
      write_instance(client, instance, kind, &seen, &w);
  }
  if (kind == HF_LIST_TOOLS)
    hf_route_list(client, &w);
  hf_json_write_array_end(&w);
  if (exchange->era == HF_ERA_MODERN) {
    hf_json_write_member_str(&w, "resultType", HF_STR("complete"));
    const struct hf_ttl ttl = list_ttl(client, kind);
    hf_ttl_write(&ttl, client->gateway->settings->limits.list_ttl, &w);
  }
  hf_json_write_object_end(&w);
  hf_map_deinit(&seen);
  client->listed |= 1U << kind;
  if (hf_json_write_finish(&w) == 0)
    hf_exchange_result(exchange, hf_buf_str(&result));
  else
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("the list is too large"), (struct hf_str){NULL, 0});
  hf_buf_deinit(&result);
}

static enum hf_list_kind kind_listed_by(enum hf_method method) {
  for (int kind = 0; kind < HF_LIST_COUNT; kind++)
    if (hf_list_method((enum hf_list_kind)kind) == method)
      return (enum hf_list_kind)kind;
  return HF_LIST_COUNT;
}

/* A list that was loaded, or could not be, since the request came is as good as it gets: one that is stale at once, or
 * that fails each time, is not asked for again and again. */
static bool list_is_known(const struct hf_exchange *exchange, enum hf_list_kind kind) {
  struct hf_client *client = exchange->client;
  bool known = true;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    if (!instance)
      continue;
    const struct hf_listing *listing = &instance->lists[kind];
    if (listing->state != HF_LISTING_NONE && listing->tried_at >= exchange->started)
      continue;
    hf_instance_refresh(instance, kind);
    bool stale = listing->loading && hf_listing_fresh_until(listing) <= client->gateway->loop->now;
    if ((listing->state == HF_LISTING_NONE && instance->phase != HF_UPSTREAM_DOWN &&
         instance->phase != HF_UPSTREAM_PARKED) ||
        stale)
      known = false;
  }
  return known;
}

void hf_catalog_list(struct hf_exchange *exchange) {
  enum hf_list_kind kind = kind_listed_by(exchange->request.method);
  if (exchange->request.at[HF_FIELD_CURSOR]) {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("unknown cursor: lists are given whole, on one page"),
                      (struct hf_str){NULL, 0});
    return;
  }
  if (!list_is_known(exchange, kind) && !exchange->wait_over) {
    hf_exchange_wait(exchange, exchange->client->gateway->settings->limits.list_wait, hf_catalog_list);
    return;
  }
  answer_list(exchange, kind);
}

/* The prompt or resource that completion/complete is about. */
static int read_ref(struct hf_exchange *exchange, enum hf_list_kind *ret_kind, struct hf_str *ret_key) {
  struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_REF);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = REF_NODES_MAX;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = raw.ptr ? hf_json_scan_feed(&scan, raw.ptr, raw.len, true) : HF_ERR_NOTFOUND;
  if (r == 0 && scan.nodes[0].type != HF_JSON_OBJECT)
    r = HF_ERR_INVALID;
  if (r == 0) {
    struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    uint32_t node;
    *ret_kind = HF_LIST_PROMPTS;
    r = hf_json_member(&doc, 0, HF_STR("name"), &node);
    if (r < 0) {
      *ret_kind = HF_LIST_TEMPLATES;
      r = hf_json_member(&doc, 0, HF_STR("uri"), &node);
    }
    struct hf_str key;
    if (r == 0)
      r = hf_json_string(&doc, node, &exchange->arena, &key);
    if (r == 0) {
      *ret_key = hf_arena_copy(&exchange->arena, key);
      r = ret_key->ptr ? 0 : HF_ERR_NOMEM;
    }
  }
  hf_json_scan_deinit(&scan);
  return r < 0 ? HF_ERR_INVALID : 0;
}

/* The next run of literal characters of a template from `at` on; moves behind the variable that follows it. */
static struct hf_str next_literal(struct hf_str pattern, size_t *at) {
  const size_t start = *at;
  size_t end = start;
  while (end < pattern.len && pattern.ptr[end] != '{')
    end++;
  *at = end;
  while (*at < pattern.len && pattern.ptr[*at] != '}')
    ++*at;
  if (*at < pattern.len)
    ++*at;
  return (struct hf_str){pattern.ptr + start, end - start};
}

/* How well a template fits: its literal characters, all of which stand in the URI in this order, the first ones at its
 * beginning and the last ones at its end. 0: it does not, or says nothing. */
static size_t template_rank(struct hf_str pattern, struct hf_str uri) {
  size_t at = 0, rank = 0;
  struct hf_str rest = uri;
  for (bool first = true; at < pattern.len; first = false) {
    const struct hf_str literal = next_literal(pattern, &at);
    const bool last = at >= pattern.len && pattern.ptr[pattern.len - 1] != '}';
    if (literal.len > rest.len || (first && literal.len == 0))
      return 0;
    const char *found = first  ? (hf_str_starts(rest, literal) ? rest.ptr : NULL)
                        : last ? rest.ptr + rest.len - literal.len
                               : memmem(rest.ptr, rest.len, literal.ptr, literal.len);
    if (!found || (literal.len && memcmp(found, literal.ptr, literal.len) != 0))
      return 0;
    rank += literal.len;
    rest = (struct hf_str){found + literal.len, (size_t)(rest.ptr + rest.len - found) - literal.len};
  }
  return rank;
}

static size_t best_template(const struct hf_instance *instance, struct hf_str uri) {
  const struct hf_items *items = &instance->lists[HF_LIST_TEMPLATES].items;
  size_t best = 0;
  for (size_t i = 0; i < items->count; i++) {
    const size_t rank = template_rank(items->item[i].key, uri);
    best = rank > best ? rank : best;
  }
  return best;
}

static bool lists(const struct hf_instance *instance, struct hf_str uri) {
  return hf_listing_find(&instance->lists[HF_LIST_RESOURCES], uri) ||
         hf_listing_find(&instance->lists[HF_LIST_TEMPLATES], uri);
}

static struct hf_instance *find_listed(struct hf_client *client, struct hf_str uri) {
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    if (instance && lists(instance, uri))
      return instance;
  }
  return NULL;
}

static struct hf_instance *find_by_template(struct hf_client *client, struct hf_str uri) {
  struct hf_instance *found = NULL;
  size_t best = 0;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    const size_t rank = instance ? best_template(instance, uri) : 0;
    if (rank <= best)
      continue;
    found = instance;
    best = rank;
  }
  return found;
}

static struct hf_instance *only_one(struct hf_client *client) {
  struct hf_instance *only = NULL;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    if (!instance || instance->lists[HF_LIST_RESOURCES].state == HF_LISTING_ABSENT)
      continue;
    if (only)
      return NULL;
    only = instance;
  }
  return only;
}

struct hf_instance *hf_catalog_locate_known(struct hf_client *client, struct hf_str uri, struct hf_str *ret_own) {
  struct hf_str own;
  struct hf_instance *found = instance_of_alias(client, uri, &own);
  *ret_own = found && !lists(found, uri) ? own : uri;
  if (!found)
    found = find_listed(client, uri);
  if (!found)
    found = find_by_template(client, uri);
  return found ? found : instance_named(client, hf_links_find(&client->gateway->links, uri));
}

struct hf_instance *hf_catalog_locate(struct hf_client *client, struct hf_str uri, struct hf_str *ret_own) {
  struct hf_instance *found = hf_catalog_locate_known(client, uri, ret_own);
  return found ? found : only_one(client);
}

/* The list may be loaded anew during the call, so what the call needs of it is copied. */
static int copy_param_headers(struct hf_exchange *exchange, const struct hf_param_headers *from,
                              struct hf_param_headers *to) {
  to->item = hf_arena_alloc(&exchange->arena, from->count * sizeof *to->item);
  if (!to->item)
    return HF_ERR_NOMEM;
  for (; to->count < from->count; to->count++) {
    struct hf_param_header *header = &to->item[to->count];
    *header = from->item[to->count];
    header->name = hf_arena_copy(&exchange->arena, header->name);
    for (size_t i = 0; i < header->depth; i++)
      header->path[i] = hf_arena_copy(&exchange->arena, header->path[i]);
    if (!header->name.ptr || !header->path[header->depth - 1].ptr)
      return HF_ERR_NOMEM;
  }
  return 0;
}

const struct hf_item *hf_catalog_item(const struct hf_target_tool *target) {
  return target->instance && target->name.ptr ? hf_listing_find(&target->instance->lists[HF_LIST_TOOLS], target->name)
                                              : NULL;
}

static void decide_tool(struct hf_target_tool *target, const struct hf_instance *instance, const struct hf_item *item,
                        struct hf_str name) {
  const struct hf_tool_settings *tool = hf_settings_tool(instance->config, instance->settings->name, name);
  target->tool = tool ? tool : &instance->config->tool_defaults;
  if (tool)
    target->fit = &tool->fit;
  target->safety = item ? item->annotated : HF_SAFETY_UNSAFE;
  target->configured = tool && tool->has_safety;
  if (target->configured)
    target->safety = tool->safety;
  if (tool && tool->has_policy)
    target->policy = &tool->policy;
  if (tool && tool->transient_errors.count)
    target->transient_errors = &tool->transient_errors;
}

int hf_catalog_target(struct hf_exchange *exchange, struct hf_instance *instance, enum hf_list_kind kind,
                      const struct hf_item *item, struct hf_str name, struct hf_target_tool *ret_target) {
  struct hf_target_tool target = {
      .safety = HF_SAFETY_READ_ONLY, /* prompts, resources and completions only read */
      .policy = &instance->settings->policy,
      .fit = &instance->settings->fit,
      .tool = &instance->config->tool_defaults,
      .transient_errors = &instance->settings->transient_errors,
      .listed = item != NULL || kind != HF_LIST_TOOLS,
  };
  if (kind == HF_LIST_TOOLS)
    decide_tool(&target, instance, item, name);
  target.name = name.ptr ? hf_arena_copy(&exchange->arena, name) : name;
  if (name.ptr && !target.name.ptr)
    return HF_ERR_NOMEM;
  if (item && item->headers.count && copy_param_headers(exchange, &item->headers, &target.headers) < 0)
    return HF_ERR_NOMEM;

  /* A caller's inventions share one breaker, so that they cannot fill the table. */
  struct hf_str breaker = kind != HF_LIST_TOOLS ? hf_method_info(exchange->request.method)->name
                          : item                ? name
                                                : HF_STR("_unlisted");
  int r = hf_provider_tool_get(instance->provider, breaker, &target.policy->breaker, &target.breaker);
  if (r < 0)
    return r;
  hf_provider_tool_limit(target.breaker, kind == HF_LIST_TOOLS ? target.tool->max_concurrent : 0);
  target.instance = hf_instance_ref(instance);
  target.config = hf_settings_ref(instance->config);
  *ret_target = target;
  return 0;
}

/* Most calls have one target, so there is room for one at first. */
static int make_room_for_target(struct hf_exchange *exchange) {
  if (exchange->target_count < exchange->target_cap)
    return 0;
  size_t cap = exchange->target_cap ? HF_CALL_TARGETS_MAX : 1;
  if (exchange->target_cap == cap)
    return HF_ERR_LIMIT;
  struct hf_target_tool *targets = hf_arena_alloc(&exchange->arena, cap * sizeof *targets);
  if (!targets)
    return HF_ERR_NOMEM;
  if (exchange->target_count)
    memcpy(targets, exchange->targets, exchange->target_count * sizeof *targets);
  exchange->targets = targets;
  exchange->target_cap = cap;
  return 0;
}

int hf_catalog_add_target(struct hf_exchange *exchange, const struct hf_target_tool *target) {
  int r = make_room_for_target(exchange);
  if (r < 0) {
    hf_settings_free(target->config);
    hf_instance_unref(target->instance);
    return r;
  }
  exchange->targets[exchange->target_count++] = *target;
  exchange->target = &exchange->targets[0];
  return 0;
}

static int set_target(struct hf_exchange *exchange, struct hf_instance *instance, enum hf_list_kind kind,
                      const struct hf_item *item, struct hf_str name) {
  struct hf_target_tool target;
  int r = hf_catalog_target(exchange, instance, kind, item, name, &target);
  if (r == 0)
    r = hf_catalog_add_target(exchange, &target);
  if (r == 0 && kind == HF_LIST_TOOLS) {
    exchange->tool = exchange->target->tool;
    r = hf_route_add_standbys(exchange);
  }
  return r;
}

/* What was subscribed to is where it was then. */
static struct hf_instance *place_of(const struct hf_exchange *exchange, struct hf_str uri, struct hf_str *ret_own) {
  struct hf_instance *place = NULL;
  if (exchange->request.method == HF_METHOD_RESOURCES_UNSUBSCRIBE)
    place = hf_subscription_place(exchange->client, uri, ret_own);
  return place ? place : hf_catalog_locate(exchange->client, uri, ret_own);
}

static int resolve_uri(struct hf_exchange *exchange, enum hf_list_kind kind, struct hf_str uri) {
  struct hf_str own;
  struct hf_instance *instance = place_of(exchange, uri, &own);
  if (!instance)
    return hf_catalog_settle(exchange->client) || exchange->wait_over ? HF_ERR_NOTFOUND : HF_ERR_AGAIN;
  int r = set_target(exchange, instance, kind, NULL, (struct hf_str){NULL, 0});
  if (r < 0 || hf_str_equal(own, uri))
    return r;
  exchange->target->uri = hf_arena_copy(&exchange->arena, own);
  return exchange->target->uri.ptr ? 0 : HF_ERR_NOMEM;
}

static bool is_in_front(struct hf_str server, struct hf_str shown) {
  return shown.len > server.len + 2 && hf_str_starts(shown, server) && memcmp(shown.ptr + server.len, "__", 2) == 0;
}

/* A name that no list has had yet may be one of a server that is disabled, or whose list has changed without a word:
 * the server is the one whose name is in front, the longest of them. */
static struct hf_server *find_by_prefix(struct hf_client *client, enum hf_list_kind kind, struct hf_str shown,
                                        struct hf_str *ret_own) {
  struct hf_server *found = NULL;
  size_t longest = 0;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_str name = server->settings->name;
    if (name.len < longest || !is_in_front(name, shown))
      continue;
    const struct hf_instance *instance = hf_server_instance(server, client);
    if (instance && instance->lists[kind].state != HF_LISTING_KNOWN && !server->settings->standby.ptr)
      continue;
    found = server;
    longest = name.len;
    *ret_own = (struct hf_str){shown.ptr + name.len + 2, shown.len - name.len - 2};
  }
  return found;
}

/* The server and its own name for what the client calls `shown`. */
static int find_server(struct hf_exchange *exchange, enum hf_list_kind kind, struct hf_str shown,
                       struct hf_server **ret_server, struct hf_str *ret_own) {
  struct hf_client *client = exchange->client;
  if (client->server) {
    *ret_server = hf_client_next_server(client, NULL);
    *ret_own = shown;
    return *ret_server ? 0 : HF_ERR_NOTFOUND;
  }
  const struct hf_name *name = hf_names_find(names_of(client->gateway, kind), shown);
  if (name) {
    *ret_server = hf_gateway_server(client->gateway, name->server);
    *ret_own = name->original;
    return *ret_server ? 0 : HF_ERR_NOTFOUND;
  }
  if (!hf_catalog_settle(client) && !exchange->wait_over)
    return HF_ERR_AGAIN;
  *ret_server = find_by_prefix(client, kind, shown, ret_own);
  return *ret_server ? 0 : HF_ERR_NOTFOUND;
}

/* A list that is known and lacks the name may be old: it is loaded again once, not for each invention. */
static int judge_missing(struct hf_exchange *exchange, struct hf_instance *instance, struct hf_listing *listing) {
  if (listing->state == HF_LISTING_ABSENT)
    return HF_ERR_NOTFOUND;
  if (listing->loading && !exchange->wait_over)
    return HF_ERR_AGAIN;
  hf_time now = instance->gateway->loop->now;
  if (instance->phase == HF_UPSTREAM_READY && !exchange->wait_over && now - listing->tried_at >= RELIST_AFTER) {
    hf_listing_load(listing);
    return listing->loading ? HF_ERR_AGAIN : HF_ERR_NOTFOUND;
  }
  return HF_ERR_NOTFOUND;
}

static int resolve_name(struct hf_exchange *exchange, enum hf_list_kind kind, struct hf_str shown) {
  struct hf_server *server;
  struct hf_str own;
  int r = find_server(exchange, kind, shown, &server, &own);
  if (r < 0)
    return r;
  struct hf_instance *instance = hf_server_instance(server, exchange->client);
  if (!instance && server->settings->disabled)
    exchange->nowhere.disabled_reason = server->settings->disabled_reason;
  if (!instance)
    return server->settings->disabled ? HF_ERR_UNAVAILABLE : HF_ERR_LIMIT;
  if (is_hidden(instance, kind, own))
    return HF_ERR_NOTFOUND;

  struct hf_listing *listing = &instance->lists[kind];
  const struct hf_item *item = hf_listing_find(listing, own);
  if (!item && listing->state != HF_LISTING_KNOWN)
    item = hf_listing_find(best_listing(exchange->client, instance, kind), own);
  if (!item && listing->state == HF_LISTING_NONE) {
    if (instance->phase == HF_UPSTREAM_IDLE)
      hf_instance_start(instance);
    bool hopeless = instance->phase == HF_UPSTREAM_DOWN || instance->phase == HF_UPSTREAM_PARKED;
    if (!hopeless && !exchange->wait_over)
      return HF_ERR_AGAIN;
  } else if (!item && listing->state != HF_LISTING_FAILED) {
    r = judge_missing(exchange, instance, listing);
    if (r < 0)
      return r;
  }
  return set_target(exchange, instance, kind, item, own);
}

int hf_catalog_resolve(struct hf_exchange *exchange) {
  const struct hf_message *request = &exchange->request;
  enum hf_list_kind kind = request->method == HF_METHOD_TOOLS_CALL ? HF_LIST_TOOLS : HF_LIST_PROMPTS;
  struct hf_str key = request->name;
  const struct hf_route_settings *route = kind == HF_LIST_TOOLS ? hf_route_find(exchange->client, key) : NULL;
  if (route)
    return hf_route_resolve(exchange, route);
  switch (hf_method_info(request->method)->target) {
  case HF_TARGET_NAME:
    return key.ptr ? resolve_name(exchange, kind, key) : HF_ERR_INVALID;
  case HF_TARGET_URI:
    return request->uri.ptr ? resolve_uri(exchange, HF_LIST_RESOURCES, request->uri) : HF_ERR_INVALID;
  case HF_TARGET_REF:
    if (read_ref(exchange, &kind, &key) < 0)
      return HF_ERR_INVALID;
    return kind == HF_LIST_PROMPTS ? resolve_name(exchange, kind, key) : resolve_uri(exchange, kind, key);
  case HF_TARGET_NONE:
  case HF_TARGET_TASK:
    break;
  }
  return HF_ERR_NOTFOUND;
}

/* What a tool of this instance would be called with: the entry that decides, else the server's and its annotations. */
static void judge(const struct hf_instance *instance, const struct hf_item *item, struct hf_shown_tool *tool) {
  const struct hf_tool_settings *entry = hf_settings_tool(instance->config, instance->settings->name, item->key);
  enum hf_safety safety = entry && entry->has_safety ? entry->safety : item->annotated;
  tool->only_reads = safety == HF_SAFETY_READ_ONLY;
  tool->fit = entry ? &entry->fit : &instance->settings->fit;
}

static bool visit_routes(struct hf_client *client, hf_catalog_visitor *visitor, void *ctx) {
  const struct hf_settings *settings = client->gateway->settings;
  bool go_on = true;
  for (size_t i = 0; go_on && !client->server && i < settings->route_count; i++) {
    const struct hf_route_settings *route = &settings->routes[i];
    const struct hf_shown_tool tool = {
        .shown = route->name, .own = route->name, .schema = route->input_schema, .fit = &route->tool.fit};
    go_on = visitor(ctx, &tool);
  }
  return go_on;
}

void hf_catalog_visit(struct hf_client *client, hf_catalog_visitor *visitor, void *ctx) {
  bool go_on = visit_routes(client, visitor, ctx);
  for (struct hf_server *server = hf_client_next_server(client, NULL); server && go_on;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    const struct hf_items *items = instance ? &instance->lists[HF_LIST_TOOLS].items : NULL;
    for (size_t i = 0; items && go_on && i < items->count; i++) {
      const struct hf_item *item = &items->item[i];
      struct hf_name *name;
      struct hf_shown_tool tool = {.server = instance->settings->name,
                                   .own = item->key,
                                   .shown = item->key,
                                   .schema = item->schema,
                                   .raw = item->raw};
      if (is_hidden(instance, HF_LIST_TOOLS, item->key))
        continue;
      if (!client->server) {
        if (hf_names_add(&client->gateway->tool_names, instance->settings->name, item->key, &name) < 0)
          continue;
        tool.shown = name->exposed;
      }
      judge(instance, item, &tool);
      go_on = visitor(ctx, &tool);
    }
  }
}

struct hf_str hf_catalog_description(const struct hf_shown_tool *tool) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  struct hf_str text = {NULL, 0};
  hf_json_scan_init(&scan, &options);
  bool small = tool->raw.ptr && tool->raw.len <= DESCRIBED_MAX; /* others would hold up the loop, one by one */
  if (small && hf_json_scan_feed(&scan, tool->raw.ptr, tool->raw.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(tool->raw.ptr, &scan);
    uint32_t node;
    if (hf_json_member(&doc, 0, HF_STR("description"), &node) == 0 && hf_json_type(&doc, node) == HF_JSON_STRING)
      text = hf_json_span(&doc, node);
  }
  hf_json_scan_deinit(&scan);
  return text;
}

enum hf_missing hf_catalog_missing(const struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  struct hf_str shown = exchange->request.name, own = shown;
  const struct hf_name *name = client->server ? NULL : hf_names_find(&client->gateway->tool_names, shown);
  struct hf_server *server = client->server ? hf_client_next_server(client, NULL)
                             : name         ? hf_gateway_server(client->gateway, name->server)
                                            : find_by_prefix(client, HF_LIST_TOOLS, shown, &own);
  if (name)
    own = name->original;
  const struct hf_instance *instance = server ? hf_server_instance(server, client) : NULL;
  if (instance && is_hidden(instance, HF_LIST_TOOLS, own))
    return HF_MISSING_HIDDEN;
  if (client->server)
    name = hf_names_find_pair(&client->gateway->tool_names, hf_str_from(client->server), shown);
  return name ? HF_MISSING_VANISHED : HF_MISSING_UNKNOWN;
}

const struct hf_instance *hf_catalog_unlisted(const struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  for (struct hf_server *server = client->server ? NULL : hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    if (!is_in_front(server->settings->name, exchange->request.name) || server->settings->standby.ptr)
      continue;
    const struct hf_instance *instance = hf_server_instance(server, client);
    const enum hf_listing_state state = instance ? instance->lists[HF_LIST_TOOLS].state : HF_LISTING_ABSENT;
    if (state == HF_LISTING_NONE || state == HF_LISTING_FAILED)
      return instance;
  }
  return NULL;
}
