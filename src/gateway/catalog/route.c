#include "gateway/catalog/route.h"

#include "base/alloc.h"
#include "base/error.h"
#include "gateway/catalog/catalog.h"
#include "gateway/gateway.h"
#include "gateway/task/task.h"
#include "policy/fallback.h"
#include "schema/fill.h"
#include "json/template.h"
#include "json/value.h"

_Static_assert((int)HF_ORDER_LATENCY == (int)HF_ROUTE_LATENCY && (int)HF_ORDER_SPLIT == (int)HF_ROUTE_SPLIT,
               "the configuration's order is the policy's");

enum { SCHEMA_BYTES_MAX = 1 << 20, SHOWN_MAX = 64 };

/* One parsed JSON text, for as long as its members are looked at. */
struct parsed {
  struct hf_json_scan scan;
  struct hf_json_doc doc;
};

static bool parse(struct parsed *parsed, struct hf_str raw) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_bytes = SCHEMA_BYTES_MAX;
  hf_json_scan_init(&parsed->scan, &options);
  if (!raw.ptr || hf_json_scan_feed(&parsed->scan, raw.ptr, raw.len, true) < 0)
    return false;
  parsed->doc = hf_json_doc(raw.ptr, &parsed->scan);
  return hf_json_type(&parsed->doc, 0) == HF_JSON_OBJECT;
}

static void parsed_deinit(struct parsed *parsed) {
  hf_json_scan_deinit(&parsed->scan);
}

static bool find(const struct hf_json_doc *doc, uint32_t object, struct hf_str name, enum hf_json_type type,
                 uint32_t *ret_node) {
  return hf_json_type(doc, object) == HF_JSON_OBJECT && hf_json_member(doc, object, name, ret_node) == 0 &&
         hf_json_type(doc, *ret_node) == type;
}

const struct hf_route_settings *hf_route_find(const struct hf_client *client, struct hf_str name) {
  const struct hf_settings *settings = client->gateway->settings;
  for (size_t i = 0; !client->server && name.ptr && i < settings->route_count; i++)
    if (hf_str_equal(settings->routes[i].name, name))
      return &settings->routes[i];
  return NULL;
}

/* Does the array `required` at `node` hold the string `name`? */
static bool requires(const struct hf_json_doc *doc, uint32_t schema, struct hf_str name) {
  uint32_t required, element;
  if (!find(doc, schema, HF_STR("required"), HF_JSON_ARRAY, &required))
    return false;
  struct hf_json_iter iter = hf_json_iter(doc, required);
  while (hf_json_next(doc, &iter, NULL, &element))
    if (hf_json_type(doc, element) == HF_JSON_STRING && hf_json_string_is(doc, element, name))
      return true;
  return false;
}

struct fit {
  const struct hf_json_doc *schema; /* of the route */
  uint32_t properties;
  struct hf_str unknown;
};

static void check_name(void *ctx, struct hf_str name, bool has_default) {
  struct fit *fit = ctx;
  uint32_t node;
  if (name.ptr && !has_default && !fit->unknown.ptr && hf_json_member(fit->schema, fit->properties, name, &node) < 0)
    fit->unknown = name;
}

static int shown_len(struct hf_str s) {
  return s.len < SHOWN_MAX ? (int)s.len : SHOWN_MAX;
}

/* Holes must name arguments that the route has. */
static bool holes_fit(const struct hf_route_settings *route, struct hf_str template, struct hf_error *why) {
  struct parsed schema;
  struct fit fit = {&schema.doc, 0, {NULL, 0}};
  bool known = parse(&schema, route->input_schema) &&
               find(&schema.doc, 0, HF_STR("properties"), HF_JSON_OBJECT, &fit.properties);
  if (known)
    (void)hf_template_names(template, check_name, &fit);
  parsed_deinit(&schema);
  if (fit.unknown.ptr)
    hf_error_set(why, HF_ERR_INVALID, "its arguments use '%.*s', which the route's inputSchema does not have",
                 shown_len(fit.unknown), fit.unknown.ptr);
  return !fit.unknown.ptr;
}

/* What the provider's tool requires must come from the mapping, or under its own name from the route. */
static bool required_is_given(const struct hf_json_doc *tool, const struct hf_json_doc *given, uint32_t members,
                              struct hf_error *why) {
  uint32_t required, element, node;
  if (!find(tool, 0, HF_STR("required"), HF_JSON_ARRAY, &required))
    return true;
  struct hf_json_iter iter = hf_json_iter(tool, required);
  while (hf_json_next(tool, &iter, NULL, &element)) {
    struct hf_str raw = hf_json_span(tool, element);
    struct hf_str name = {raw.ptr + 1, raw.len >= 2 ? raw.len - 2 : 0};
    if (hf_json_type(tool, element) != HF_JSON_STRING || memchr(name.ptr, '\\', name.len) ||
        hf_json_member(given, members, name, &node) == 0)
      continue;
    hf_error_set(why, HF_ERR_INVALID, "it requires '%.*s', which the mapping does not give", shown_len(name), name.ptr);
    return false;
  }
  return true;
}

/* Can this provider's tool be called with what the route makes of its arguments? Schemas that cannot be read say
 * nothing against it. */
static bool provider_fits(const struct hf_route_settings *route, const struct hf_route_provider *provider,
                          const struct hf_item *item, struct hf_error *why) {
  if (provider->arguments.ptr && route->input_schema.ptr && !holes_fit(route, provider->arguments, why))
    return false;
  bool own_names = !provider->arguments.ptr;
  if (own_names && !route->input_schema.ptr)
    return true;
  struct parsed tool, given;
  bool fits = true;
  if (parse(&tool, item->schema)) {
    uint32_t members = 0;
    bool known = parse(&given, own_names ? route->input_schema : provider->arguments);
    if (known && own_names)
      known = find(&given.doc, 0, HF_STR("properties"), HF_JSON_OBJECT, &members);
    if (known)
      fits = required_is_given(&tool.doc, &given.doc, members, why);
    parsed_deinit(&given);
  }
  parsed_deinit(&tool);
  return fits;
}

/* The hole of a string that is one hole alone and names one argument: "{{q}}" is q. */
static bool only_hole(struct hf_str raw, struct hf_str *ret_name) {
  if (raw.len < 7 || memcmp(raw.ptr, "\"{{", 3) != 0 || memcmp(raw.ptr + raw.len - 3, "}}\"", 3) != 0)
    return false;
  *ret_name = (struct hf_str){raw.ptr + 3, raw.len - 6};
  for (size_t i = 0; i < ret_name->len; i++)
    if (strchr(".|/\\{}\" ", ret_name->ptr[i]))
      return false;
  return true;
}

static int write_required(const struct hf_json_doc *tool, const struct hf_json_doc *mapping, struct hf_json_writer *w) {
  uint32_t key, value;
  struct hf_str hole;
  hf_json_write_key(w, "required");
  hf_json_write_array(w);
  struct hf_json_iter iter = hf_json_iter(mapping, 0);
  while (hf_json_next(mapping, &iter, &key, &value)) {
    struct hf_str raw = hf_json_span(mapping, key);
    struct hf_str name = {raw.ptr + 1, raw.len - 2};
    if (only_hole(hf_json_span(mapping, value), &hole) && requires(tool, 0, name))
      hf_json_write_str(w, hole);
  }
  hf_json_write_array_end(w);
  return 0;
}

/* The schema of a mapping that only renames: each argument of the route is one of the provider's under another name;
 * constants vanish. Anything else has no schema that could be derived. */
static int write_renamed(const struct hf_json_doc *tool, const struct hf_json_doc *mapping, struct hf_json_writer *w) {
  uint32_t properties, key, value, property;
  struct hf_str hole;
  if (!find(tool, 0, HF_STR("properties"), HF_JSON_OBJECT, &properties))
    return HF_ERR_INVALID;
  hf_json_write_object(w);
  hf_json_write_member_str(w, "type", HF_STR("object"));
  hf_json_write_key(w, "properties");
  hf_json_write_object(w);
  int r = 0;
  struct hf_json_iter iter = hf_json_iter(mapping, 0);
  while (hf_json_next(mapping, &iter, &key, &value)) {
    struct hf_str raw = hf_json_span(mapping, value);
    struct hf_str name = hf_json_span(mapping, key);
    if (only_hole(raw, &hole) &&
        hf_json_member(tool, properties, (struct hf_str){name.ptr + 1, name.len - 2}, &property) == 0) {
      hf_json_write_key_str(w, hole);
      hf_json_write_raw(w, hf_json_span(tool, property));
    } else if (memmem(raw.ptr, raw.len, "{{", 2)) {
      r = HF_ERR_INVALID;
    }
  }
  hf_json_write_object_end(w);
  (void)write_required(tool, mapping, w);
  hf_json_write_object_end(w);
  return r;
}

/* Appends the route's input schema. Returns HF_ERR_AGAIN while its first provider's list is not known, HF_ERR_INVALID
 * if none can be derived. */
static int write_schema(const struct hf_route_settings *route, const struct hf_item *first, struct hf_buf *out) {
  if (route->input_schema.ptr)
    return hf_buf_append_str(out, route->input_schema);
  if (!first || !first->schema.ptr)
    return HF_ERR_AGAIN;
  struct hf_str template = route->providers[0].arguments;
  if (!template.ptr)
    return hf_buf_append_str(out, first->schema);
  struct parsed tool, mapping;
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  int r = HF_ERR_INVALID;
  if (parse(&tool, first->schema)) {
    if (parse(&mapping, template))
      r = write_renamed(&tool.doc, &mapping.doc, &w);
    parsed_deinit(&mapping);
  }
  parsed_deinit(&tool);
  return r < 0 ? r : hf_json_write_finish(&w);
}

static const struct hf_item *item_of(struct hf_client *client, const struct hf_route_provider *provider,
                                     struct hf_instance **ret_instance) {
  struct hf_server *server = hf_gateway_server(client->gateway, provider->tool.server);
  *ret_instance = server ? hf_server_instance(server, client) : NULL;
  return *ret_instance ? hf_listing_find(&(*ret_instance)->lists[HF_LIST_TOOLS], provider->tool.tool) : NULL;
}

static void write_task_support(const struct hf_client *client, const struct hf_route_settings *route,
                               struct hf_json_writer *w) {
  const char *support = hf_task_route_support(client, route);
  if (!support)
    return;
  hf_json_write_key(w, "execution");
  hf_json_write_object(w);
  hf_json_write_member_str(w, "taskSupport", hf_str_from(support));
  hf_json_write_object_end(w);
}

static void write_input_schema(const struct hf_route_settings *route, struct hf_str schema, struct hf_json_writer *w) {
  struct hf_buf filled;
  hf_buf_init(&filled, 2 * SCHEMA_BYTES_MAX);
  const bool good = route->tool.fit.complete && hf_schema_fill(schema, &filled) == 0;
  hf_json_write_member_raw(w, "inputSchema", good ? hf_buf_str(&filled) : schema);
  hf_buf_deinit(&filled);
}

void hf_route_list(struct hf_client *client, struct hf_json_writer *w) {
  const struct hf_settings *settings = client->gateway->settings;
  for (size_t i = 0; !client->server && i < settings->route_count; i++) {
    const struct hf_route_settings *route = &settings->routes[i];
    struct hf_instance *instance;
    struct hf_buf schema;
    hf_buf_init(&schema, SCHEMA_BYTES_MAX);
    if (write_schema(route, item_of(client, &route->providers[0], &instance), &schema) == 0) {
      hf_json_write_object(w);
      hf_json_write_member_str(w, "name", route->name);
      if (route->description.ptr)
        hf_json_write_member_str(w, "description", route->description);
      write_input_schema(route, hf_buf_str(&schema), w);
      if (route->output_schema.ptr)
        hf_json_write_member_raw(w, "outputSchema", route->output_schema);
      write_task_support(client, route, w);
      hf_json_write_object_end(w);
    }
    hf_buf_deinit(&schema);
  }
}

/* The compiled schemas of a route. */
struct schemas {
  const struct hf_route_settings *route; /* whose they are: another one of that name has others */
  uint64_t digest;                       /* of the list that the input's is derived from; 0: from none */
  struct hf_compiled compiled[HF_SCHEMA_SIDES];
};

static void forget_schemas(struct hf_gateway *gateway, struct schemas *schemas) {
  for (size_t side = 0; side < HF_SCHEMA_SIDES; side++)
    hf_validator_forget(&gateway->validator, &schemas->compiled[side]);
}

void hf_route_forget_schemas(struct hf_gateway *gateway) {
  for (size_t i = 0; i < gateway->route_schemas.len; i++) {
    forget_schemas(gateway, gateway->route_schemas.entries[i].value);
    hf_free(gateway->route_schemas.entries[i].value);
  }
  size_t max = gateway->route_schemas.max;
  hf_map_deinit(&gateway->route_schemas);
  hf_map_init(&gateway->route_schemas, max);
}

static struct schemas *schemas_of(struct hf_gateway *gateway, const struct hf_route_settings *route, uint64_t digest) {
  struct schemas *schemas = hf_map_get(&gateway->route_schemas, route->name);
  if (!schemas) {
    schemas = hf_calloc(1, sizeof *schemas);
    if (!schemas || hf_map_put(&gateway->route_schemas, route->name, schemas) < 0) {
      hf_free(schemas);
      return NULL;
    }
  }
  bool derives_anew = digest && schemas->digest != digest;
  if (schemas->route != route || derives_anew)
    forget_schemas(gateway, schemas);
  schemas->route = route;
  if (digest)
    schemas->digest = digest;
  return schemas;
}

static const struct hf_schema *compile(struct hf_gateway *gateway, const struct hf_route_settings *route,
                                       struct hf_compiled *compiled, struct hf_str text) {
  struct hf_error why;
  const struct hf_schema *schema = hf_validator_schema(&gateway->validator, compiled, text, &why);
  if (!schema && why.code)
    hf_log_event(gateway->loop->log, HF_LOG_WARN, "a schema cannot be used, and what it is for passes unchecked",
                 HF_LOG_STR("route", route->name), HF_LOG_STR("reason", hf_str_from(why.text)));
  return schema;
}

/* Of a mapping that renames: derived from the provider's schema as it is now. */
static const struct hf_schema *derived_schema(struct hf_gateway *gateway, const struct hf_route_settings *route,
                                              struct schemas *schemas, const struct hf_item *item) {
  struct hf_compiled *compiled = &schemas->compiled[HF_SCHEMA_INPUT];
  struct hf_buf text;
  hf_buf_init(&text, SCHEMA_BYTES_MAX);
  if (!compiled->tried && write_schema(route, item, &text) == 0)
    (void)compile(gateway, route, compiled, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return compiled->schema;
}

const struct hf_schema *hf_route_schema(struct hf_client *client, const struct hf_route_settings *route,
                                        enum hf_schema_side side) {
  struct hf_gateway *gateway = client->gateway;
  struct hf_str own = side == HF_SCHEMA_INPUT ? route->input_schema : route->output_schema;
  struct hf_instance *instance = NULL;
  const struct hf_item *item = NULL;
  if (!own.ptr && side == HF_SCHEMA_INPUT)
    item = item_of(client, &route->providers[0], &instance);
  if (item && !route->providers[0].arguments.ptr)
    return hf_listing_schema(&instance->lists[HF_LIST_TOOLS], item, HF_SCHEMA_INPUT);
  if (!own.ptr && !item)
    return NULL;
  uint64_t digest = item ? instance->lists[HF_LIST_TOOLS].items.digest : 0;
  struct schemas *schemas = schemas_of(gateway, route, digest);
  if (!schemas)
    return NULL;
  return item ? derived_schema(gateway, route, schemas, item) : compile(gateway, route, &schemas->compiled[side], own);
}

static void warn(struct hf_gateway *gateway, const struct hf_route_settings *route,
                 const struct hf_route_provider *provider, const char *why) {
  struct hf_str absent = {NULL, 0};
  hf_log_event(gateway->loop->log, HF_LOG_WARN, provider ? "a provider of a route is left out" : "a route is refused",
               HF_LOG_STR("route", route->name), HF_LOG_STR("server", provider ? provider->tool.server : absent),
               HF_LOG_STR("tool", provider ? provider->tool.tool : absent), HF_LOG_STR("reason", hf_str_from(why)));
}

/* What is remembered of a route over calls, by its name, so that a reload keeps it: the index of the provider that came
 * first the last time, and whether it is refused. */
enum { STATE_FIRST = 0xff, STATE_REFUSED = 0x100 };

static uintptr_t state_of(struct hf_gateway *gateway, const struct hf_route_settings *route) {
  return (uintptr_t)hf_map_get(&gateway->routes, route->name);
}

static void set_state(struct hf_gateway *gateway, const struct hf_route_settings *route, uintptr_t clear,
                      uintptr_t set) {
  uintptr_t state = (state_of(gateway, route) & ~clear) | set;
  (void)hf_map_put(&gateway->routes, route->name, (void *)state); /* forgotten where there is no memory */
}

/* What a verdict holds for: this provider of these settings, and a list of tools. */
struct fit_key {
  const struct hf_route_provider *provider;
  uint64_t digest;
};

enum { FITS = 1, MISFITS };

static void forget_fits(struct hf_gateway *gateway) {
  size_t max = gateway->route_fits.max;
  hf_map_deinit(&gateway->route_fits);
  hf_map_init(&gateway->route_fits, max);
}

/* Schemas are read once a list, not at each call. */
static bool is_known_to_fit(struct hf_gateway *gateway, const struct hf_route_settings *route,
                            const struct hf_route_provider *provider, const struct hf_listing *listing,
                            const struct hf_item *item) {
  struct fit_key key = {provider, listing->items.digest};
  const struct hf_str name = {(const char *)&key, sizeof key};
  uintptr_t verdict = (uintptr_t)hf_map_get(&gateway->route_fits, name);
  if (!verdict) {
    verdict = provider_fits(route, provider, item, NULL) ? FITS : MISFITS;
    if (hf_map_put(&gateway->route_fits, name, (void *)verdict) == HF_ERR_LIMIT)
      forget_fits(gateway); /* of lists that are no more, mostly */
  }
  return verdict == FITS;
}

static void check_provider(struct hf_gateway *gateway, const struct hf_route_settings *route, size_t index) {
  const struct hf_route_provider *provider = &route->providers[index];
  const struct hf_server *server = hf_gateway_server(gateway, provider->tool.server);
  if (!server || !server->shared || server->shared->lists[HF_LIST_TOOLS].state != HF_LISTING_KNOWN)
    return;
  const struct hf_item *item = hf_listing_find(&server->shared->lists[HF_LIST_TOOLS], provider->tool.tool);
  struct hf_error why;
  if (!item || !provider_fits(route, provider, item, &why)) {
    warn(gateway, route, provider, item ? why.text : "its server has no such tool");
    return;
  }
  if (index > 0)
    return;
  struct hf_buf schema;
  hf_buf_init(&schema, SCHEMA_BYTES_MAX);
  bool refused = write_schema(route, item, &schema) == HF_ERR_INVALID;
  hf_buf_deinit(&schema);
  if (refused && !(state_of(gateway, route) & STATE_REFUSED))
    warn(gateway, route, NULL,
         "no inputSchema can be derived from its first provider, whose mapping does more than rename; give one");
  set_state(gateway, route, STATE_REFUSED, refused ? STATE_REFUSED : 0);
}

void hf_route_check(struct hf_gateway *gateway) {
  forget_fits(gateway); /* after a reload other providers may have come to stand where these were */
  for (size_t i = 0; i < gateway->settings->route_count; i++)
    for (size_t k = 0; k < gateway->settings->routes[i].provider_count; k++)
      check_provider(gateway, &gateway->settings->routes[i], k);
}

/* Adds the target if its tool can be called. Returns 0 (also if it is left out), HF_ERR_AGAIN if its tools are not
 * known yet (but adds it with `unknown`), or an error. */
static int add_provider(struct hf_exchange *exchange, const struct hf_route_settings *route, size_t index, bool unknown,
                        bool *ret_disabled) {
  const struct hf_route_provider *provider = &route->providers[index];
  struct hf_instance *instance;
  const struct hf_item *item = item_of(exchange->client, provider, &instance);
  const struct hf_server *server = hf_gateway_server(exchange->client->gateway, provider->tool.server);
  if (!instance) {
    if (server && server->settings->disabled) {
      *ret_disabled = true;
      exchange->nowhere.disabled_reason = server->settings->disabled_reason;
    }
    return 0;
  }
  const struct hf_listing *listing = &instance->lists[HF_LIST_TOOLS];
  if (!item && listing->state == HF_LISTING_NONE && !exchange->wait_over && !unknown) {
    if (instance->phase == HF_UPSTREAM_IDLE)
      hf_instance_start(instance);
    if (instance->phase != HF_UPSTREAM_DOWN && instance->phase != HF_UPSTREAM_PARKED)
      return HF_ERR_AGAIN;
  }
  if (listing->state == HF_LISTING_KNOWN &&
      (!item || !is_known_to_fit(exchange->client->gateway, route, provider, listing, item)))
    return 0;
  struct hf_target_tool target;
  int r = hf_catalog_target(exchange, instance, HF_LIST_TOOLS, item, provider->tool.tool, &target);
  if (r < 0)
    return r;
  target.mapping = provider;
  target.policy = &route->policy;
  target.listed = true;
  target.server = (unsigned)index;
  return hf_catalog_add_target(exchange, &target);
}

static void forget_targets(struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++) {
    hf_settings_free(exchange->targets[i].config);
    hf_instance_unref(exchange->targets[i].instance);
  }
  exchange->target_count = 0;
  exchange->target = &exchange->nowhere;
}

/* It starts still, and may never be done: it comes last. */
static bool is_on_its_way(const struct hf_instance *instance) {
  return instance->lists[HF_LIST_TOOLS].state == HF_LISTING_NONE && instance->phase != HF_UPSTREAM_DOWN &&
         instance->phase != HF_UPSTREAM_PARKED;
}

/* Adds what is known, and what is not after it, once it has been waited for. In their order of priority only those
 * before the first that is known are worth waiting for. */
static int add_providers(struct hf_exchange *exchange, const struct hf_route_settings *route, bool *ret_disabled) {
  unsigned unknown = 0; /* bits of providers */
  bool wanted = false;
  int r = 0;
  for (size_t i = 0; r == 0 && i < route->provider_count; i++) {
    r = add_provider(exchange, route, i, false, ret_disabled);
    if (r != HF_ERR_AGAIN)
      continue;
    wanted = wanted || exchange->target_count == 0 || route->order != HF_ROUTE_PRIORITY;
    unknown |= 1U << i;
    r = 0;
  }
  exchange->could_go = exchange->target_count > 0;
  if (r == 0 && wanted)
    return HF_ERR_AGAIN;
  for (size_t i = 0; r == 0 && i < route->provider_count; i++)
    if (unknown & 1U << i)
      r = add_provider(exchange, route, i, true, ret_disabled);
  return r;
}

/* In the order in which they are to be tried. */
static void sort_targets(struct hf_exchange *exchange, const struct hf_route_settings *route) {
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_candidate candidates[HF_CALL_TARGETS_MAX];
  struct hf_target_tool unsorted[HF_CALL_TARGETS_MAX];
  unsigned order[HF_CALL_TARGETS_MAX];
  unsigned count = (unsigned)exchange->target_count;
  unsigned last = (unsigned)(state_of(gateway, route) & STATE_FIRST);
  unsigned preferred = 0;
  bool by_latency = (enum hf_order)route->order == HF_ORDER_LATENCY;
  for (unsigned i = 0; i < count; i++) {
    const struct hf_target_tool *target = &exchange->targets[i];
    candidates[i].gate = hf_provider_gate(target->instance->provider, target->breaker, gateway->loop->now);
    if (is_on_its_way(target->instance))
      candidates[i].gate = HF_BREAKER_STOP;
    candidates[i].latency = by_latency ? hf_provider_tool_latency(target->breaker, 50) : HF_TIME_NEVER;
    candidates[i].weight = target->mapping->weight;
    if (target->server == last)
      preferred = i;
  }
  preferred = hf_fallback_order((enum hf_order)route->order, candidates, count, preferred,
                                hf_random_next(&gateway->loop->random), order);
  set_state(gateway, route, STATE_FIRST, exchange->targets[preferred].server);
  memcpy(unsorted, exchange->targets, count * sizeof unsorted[0]);
  for (unsigned i = 0; i < count; i++)
    exchange->targets[i] = unsorted[order[i]];
}

int hf_route_resolve(struct hf_exchange *exchange, const struct hf_route_settings *route) {
  bool disabled = false;
  if (state_of(exchange->client->gateway, route) & STATE_REFUSED)
    return HF_ERR_NOTFOUND;
  if (!exchange->config)
    exchange->config = hf_settings_ref(exchange->client->gateway->settings);
  int r = add_providers(exchange, route, &disabled);
  if (r == 0 && exchange->target_count == 0)
    r = disabled ? HF_ERR_UNAVAILABLE : HF_ERR_NOTFOUND;
  if (r < 0) {
    forget_targets(exchange);
    return r;
  }
  exchange->route = route;
  exchange->tool = &route->tool;
  sort_targets(exchange, route);
  exchange->target = &exchange->targets[0];
  return 0;
}

int hf_route_add_standbys(struct hf_exchange *exchange) {
  const struct hf_target_tool first = exchange->targets[0];
  struct hf_str standby = first.instance->settings->standby;
  int r = 0;
  while (r == 0 && standby.ptr && exchange->target_count < HF_CALL_TARGETS_MAX) {
    struct hf_server *server = hf_gateway_server(exchange->client->gateway, standby);
    struct hf_instance *instance = server ? hf_server_instance(server, exchange->client) : NULL;
    if (!instance)
      return 0;
    struct hf_target_tool target;
    const struct hf_item *item = hf_listing_find(&instance->lists[HF_LIST_TOOLS], first.name);
    r = hf_catalog_target(exchange, instance, HF_LIST_TOOLS, item, first.name, &target);
    if (r < 0)
      return r;
    /* It is the same tool: what is known of it is known of it here, too. */
    target.safety = first.safety;
    target.configured = first.configured;
    target.tool = first.tool;
    target.fit = first.fit;
    target.policy = first.policy;
    target.listed = first.listed;
    target.server = first.server;
    standby = instance->settings->standby;
    r = hf_catalog_add_target(exchange, &target);
  }
  return r;
}
