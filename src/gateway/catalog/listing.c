#include "gateway/catalog/listing.h"

#include "base/alloc.h"
#include "gateway/catalog/ttl.h"
#include "gateway/gateway.h"
#include "gateway/instance.h"
#include "gateway/own_request.h"
#include "schema/fill.h"

#include <stdint.h>

enum { LIST_NODES_MAX = 1 << 20, LIST_DEPTH = 3, DOUBLINGS_MAX = 9, FILLED_MAX = 4 << 20 };

/* A server that answers a page slower than this is not waited for any longer; what is known stays. */
#define LIST_PAGE_TIMEOUT HF_SECONDS(30)

/* How soon a list that could not be loaded is asked for again. */
#define AGAIN_MIN HF_SECONDS(1)
#define AGAIN_MAX HF_SECONDS(300)

static const struct {
  enum hf_method method;
  enum hf_method changed;
  struct hf_str key;
} kinds[HF_LIST_COUNT] = {
    [HF_LIST_TOOLS] = {HF_METHOD_TOOLS_LIST, HF_METHOD_TOOLS_CHANGED, HF_STR("name")},
    [HF_LIST_PROMPTS] = {HF_METHOD_PROMPTS_LIST, HF_METHOD_PROMPTS_CHANGED, HF_STR("name")},
    [HF_LIST_RESOURCES] = {HF_METHOD_RESOURCES_LIST, HF_METHOD_RESOURCES_CHANGED, HF_STR("uri")},
    [HF_LIST_TEMPLATES] = {HF_METHOD_RESOURCES_TEMPLATES_LIST, HF_METHOD_RESOURCES_CHANGED, HF_STR("uriTemplate")},
};

enum hf_method hf_list_method(enum hf_list_kind kind) {
  return kinds[kind].method;
}

enum hf_method hf_list_changed_method(enum hf_list_kind kind) {
  return kinds[kind].changed;
}

static void items_init(struct hf_items *items) {
  *items = (struct hf_items){0};
  hf_arena_init(&items->arena, HF_LIST_BYTES_MAX);
  hf_map_init(&items->by_key, HF_LIST_ITEMS_MAX);
}

static void items_deinit(struct hf_items *items, struct hf_validator *validator) {
  for (size_t i = 0; i < items->count; i++)
    for (size_t side = 0; items->item[i].compiled && side < HF_SCHEMA_SIDES; side++)
      hf_validator_forget(validator, &items->item[i].compiled[side]);
  hf_arena_deinit(&items->arena);
  hf_map_deinit(&items->by_key);
  hf_free(items->item);
  items_init(items);
}

static void due(struct hf_timer *timer);

static struct hf_validator *validator_of(const struct hf_listing *listing) {
  return &listing->instance->gateway->validator;
}

int hf_listing_init(struct hf_listing *listing, struct hf_instance *instance, enum hf_list_kind kind) {
  *listing = (struct hf_listing){.instance = instance, .kind = kind};
  items_init(&listing->items);
  items_init(&listing->next);
  return hf_timer_init(instance->gateway->loop, &listing->timer, due);
}

void hf_listing_deinit(struct hf_listing *listing) {
  items_deinit(&listing->items, validator_of(listing));
  items_deinit(&listing->next, validator_of(listing));
  hf_timer_deinit(listing->instance->gateway->loop, &listing->timer);
}

const struct hf_item *hf_listing_find(const struct hf_listing *listing, struct hf_str key) {
  uintptr_t index = (uintptr_t)hf_map_get(&listing->items.by_key, key);
  return index ? &listing->items.item[index - 1] : NULL;
}

const struct hf_schema *hf_listing_schema(const struct hf_listing *listing, const struct hf_item *item,
                                          enum hf_schema_side side) {
  struct hf_error why;
  struct hf_str text = side == HF_SCHEMA_INPUT ? item->schema : item->output_schema;
  const struct hf_schema *schema =
      item->compiled ? hf_validator_schema(validator_of(listing), &item->compiled[side], text, &why) : NULL;
  if (!schema && item->compiled && why.code)
    hf_log_event(listing->instance->gateway->loop->log, HF_LOG_WARN,
                 "a schema cannot be used, and what it is for passes unchecked",
                 HF_LOG_STR("server", listing->instance->settings->name), HF_LOG_STR("tool", item->key),
                 HF_LOG_STR("schema", side == HF_SCHEMA_INPUT ? HF_STR("inputSchema") : HF_STR("outputSchema")),
                 HF_LOG_STR("reason", hf_str_from(why.text)));
  return schema;
}

/* `raw` with the value `old`, which is part of it or absent, replaced by `schema`. */
static int put_schema(const struct hf_item *item, struct hf_str schema, struct hf_buf *out) {
  const struct hf_str raw = item->raw, old = item->schema;
  const size_t at = old.ptr ? (size_t)(old.ptr - raw.ptr) : raw.len - 1;
  int r = hf_buf_append(out, raw.ptr, at);
  if (r == 0 && !old.ptr)
    r = hf_buf_append_str(out, HF_STR(",\"inputSchema\":"));
  if (r == 0)
    r = hf_buf_append_str(out, schema);
  return r == 0 ? hf_buf_append(out, raw.ptr + at + old.len, raw.len - at - old.len) : r;
}

void hf_listing_fill(struct hf_listing *listing, struct hf_item *item) {
  if (item->filled.ptr)
    return;
  struct hf_buf schema, text;
  hf_buf_init(&schema, FILLED_MAX);
  hf_buf_init(&text, FILLED_MAX);
  int r = hf_schema_fill(item->schema, &schema);
  if (r == 0)
    r = put_schema(item, hf_buf_str(&schema), &text);
  const struct hf_str made = r == 0 ? hf_arena_copy(&listing->items.arena, hf_buf_str(&text)) : item->raw;
  item->filled = made.ptr ? made : item->raw;
  const size_t key = (size_t)(item->raw_key.ptr - item->raw.ptr);
  const bool behind = item->schema.ptr && item->schema.ptr < item->raw_key.ptr;
  const size_t shift = behind ? item->filled.len - item->raw.len : 0;
  item->filled_key = (struct hf_str){item->filled.ptr + key + shift, item->raw_key.len};
  hf_buf_deinit(&schema);
  hf_buf_deinit(&text);
}

static bool hint(const struct hf_json_doc *doc, uint32_t annotations, struct hf_str name, bool otherwise) {
  uint32_t value;
  bool set;
  if (hf_json_member(doc, annotations, name, &value) < 0 || hf_json_bool(doc, value, &set) < 0)
    return otherwise;
  return set;
}

/* Annotations are hints; what a server does not say is what the protocol's defaults say: it may change things. */
static enum hf_safety annotated_safety(const struct hf_json_doc *doc, uint32_t item) {
  uint32_t annotations;
  if (hf_json_member(doc, item, HF_STR("annotations"), &annotations) < 0 ||
      hf_json_type(doc, annotations) != HF_JSON_OBJECT)
    return HF_SAFETY_UNSAFE;
  if (hint(doc, annotations, HF_STR("readOnlyHint"), false))
    return HF_SAFETY_READ_ONLY;
  return hint(doc, annotations, HF_STR("idempotentHint"), false) ? HF_SAFETY_IDEMPOTENT : HF_SAFETY_UNSAFE;
}

static enum hf_task_support task_support(const struct hf_json_doc *doc, uint32_t item) {
  static const struct {
    struct hf_str word;
    enum hf_task_support support;
  } words[] = {{HF_STR("forbidden"), HF_TASK_SUPPORT_FORBIDDEN},
               {HF_STR("optional"), HF_TASK_SUPPORT_OPTIONAL},
               {HF_STR("required"), HF_TASK_SUPPORT_REQUIRED}};
  uint32_t execution, said;
  if (hf_json_member(doc, item, HF_STR("execution"), &execution) < 0 ||
      hf_json_member(doc, execution, HF_STR("taskSupport"), &said) < 0 || hf_json_type(doc, said) != HF_JSON_STRING)
    return HF_TASK_SUPPORT_UNSAID;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (hf_json_string_is(doc, said, words[i].word))
      return words[i].support;
  return HF_TASK_SUPPORT_UNSAID;
}

static int items_append(struct hf_items *items, const struct hf_item *item) {
  if (items->count == HF_LIST_ITEMS_MAX)
    return HF_ERR_LIMIT;
  if (items->count == items->cap) {
    size_t cap = items->cap ? items->cap * 2 : 16;
    struct hf_item *grown = hf_realloc(items->item, cap * sizeof *grown);
    if (!grown)
      return HF_ERR_NOMEM;
    items->item = grown;
    items->cap = cap;
  }
  int r = hf_map_put(&items->by_key, item->key, (void *)(uintptr_t)(items->count + 1));
  if (r == 0)
    items->item[items->count++] = *item;
  return r;
}

/* A modern HTTP server's tool whose annotations break the rules must not be used (and so not shown). Others'
 * annotations are their clients' business. */
static int read_headers(struct hf_listing *listing, struct hf_item *item) {
  const struct hf_instance *instance = listing->instance;
  struct hf_error why = {0};
  int r = hf_param_headers_read(item->raw, &listing->next.arena, &item->headers, &why);
  if (r != HF_ERR_INVALID && r != HF_ERR_LIMIT)
    return r;
  if (instance->era != HF_ERA_MODERN || instance->settings->transport != HF_TRANSPORT_HTTP)
    return 0;
  hf_log_event(instance->gateway->loop->log, HF_LOG_WARN, "tool left out",
               HF_LOG_STR("server", instance->settings->name), HF_LOG_STR("tool", item->key),
               HF_LOG_STR("reason", hf_str_from(why.text)));
  return HF_ERR_INVALID;
}

/* The member's place in `copy`, the item's own text. */
static struct hf_str member_of_copy(const struct hf_json_doc *doc, uint32_t node, struct hf_str name,
                                    struct hf_str copy) {
  uint32_t value;
  if (hf_json_member(doc, node, name, &value) < 0)
    return (struct hf_str){NULL, 0};
  struct hf_str span = hf_json_span(doc, value);
  return (struct hf_str){copy.ptr + (span.ptr - hf_json_span(doc, node).ptr), span.len};
}

/* Adds one element of a page. HF_ERR_INVALID and HF_ERR_EXISTS concern this item alone. */
static int add_item(struct hf_listing *listing, const struct hf_json_doc *doc, uint32_t node) {
  struct hf_items *items = &listing->next;
  uint32_t key_node;
  if (hf_json_type(doc, node) != HF_JSON_OBJECT || hf_json_member(doc, node, kinds[listing->kind].key, &key_node) < 0)
    return HF_ERR_INVALID;

  struct hf_str span = hf_json_span(doc, node);
  struct hf_str key_span = hf_json_span(doc, key_node);
  struct hf_item item = {.raw = hf_arena_copy(&items->arena, span), .annotated = HF_SAFETY_UNSAFE};
  if (!item.raw.ptr)
    return HF_ERR_NOMEM;
  item.raw_key = (struct hf_str){item.raw.ptr + (key_span.ptr - span.ptr), key_span.len};

  struct hf_str key;
  int r = hf_json_string(doc, key_node, &items->arena, &key);
  if (r < 0)
    return r;
  if (key.len == 0)
    return HF_ERR_INVALID;
  item.key = hf_arena_copy(&items->arena, key);
  if (!item.key.ptr)
    return HF_ERR_NOMEM;
  if (hf_map_get(&items->by_key, item.key))
    return HF_ERR_EXISTS;
  if (listing->kind == HF_LIST_TOOLS) {
    item.annotated = annotated_safety(doc, node);
    item.task_support = task_support(doc, node);
    item.schema = member_of_copy(doc, node, HF_STR("inputSchema"), item.raw);
    item.output_schema = member_of_copy(doc, node, HF_STR("outputSchema"), item.raw);
    item.compiled = hf_arena_alloc(&items->arena, HF_SCHEMA_SIDES * sizeof *item.compiled);
    if (!item.compiled)
      return HF_ERR_NOMEM;
    r = read_headers(listing, &item);
    if (r < 0)
      return r;
  }
  items->digest = items->digest * 31 + hf_map_hash(item.raw.ptr, item.raw.len);
  return items_append(items, &item);
}

static void warn(const struct hf_listing *listing, const char *event) {
  hf_log_event(listing->instance->gateway->loop->log, HF_LOG_WARN, event,
               HF_LOG_STR("server", listing->instance->settings->name),
               HF_LOG_STR("list", hf_method_info(kinds[listing->kind].method)->name));
}

/* Returns 0 or an error that ends the list (out of memory, too many items). */
static int add_page(struct hf_listing *listing, struct hf_str array) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = LIST_NODES_MAX;
  options.tree_depth = LIST_DEPTH;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, array.ptr, array.len, true);
  if (r == 0) {
    struct hf_json_doc doc = hf_json_doc(array.ptr, &scan);
    struct hf_json_iter iter = hf_json_iter(&doc, 0);
    uint32_t node;
    while (r == 0 && hf_json_next(&doc, &iter, NULL, &node)) {
      r = add_item(listing, &doc, node);
      if (r == HF_ERR_INVALID || r == HF_ERR_EXISTS || r == HF_ERR_DUPLICATE) {
        warn(listing, r == HF_ERR_EXISTS ? "listed twice, second left out" : "unreadable item left out");
        r = 0;
      }
    }
  }
  hf_json_scan_deinit(&scan);
  return r;
}

/* What is the same stays, with the schemas that are compiled. Returns whether anything is not. */
static bool take_over(struct hf_listing *listing) {
  const bool changed = listing->state != HF_LISTING_KNOWN || listing->items.digest != listing->next.digest ||
                       listing->items.count != listing->next.count;
  if (changed) {
    items_deinit(&listing->items, validator_of(listing));
    listing->items = listing->next;
    items_init(&listing->next);
  } else {
    items_deinit(&listing->next, validator_of(listing));
  }
  listing->state = HF_LISTING_KNOWN;
  listing->loaded_at = listing->instance->gateway->loop->now;
  listing->expires = listing->next_expires;
  listing->is_public = listing->next_is_public;
  listing->is_old = listing->again;
  listing->failures = 0;
  return changed;
}

/* The first notice after a while is followed at once; so is nothing that has to wait for the server to be there. */
static void load_for_notice(struct hf_listing *listing) {
  struct hf_instance *instance = listing->instance;
  struct hf_loop *loop = instance->gateway->loop;
  const hf_time when = hf_pace_notice(&listing->pace, loop->now);
  if (instance->phase != HF_UPSTREAM_READY)
    return;
  if (when > loop->now) {
    hf_timer_set(loop, &listing->timer, when);
    return;
  }
  hf_pace_began(&listing->pace, loop->now);
  hf_listing_load(listing);
}

/* Others may wait for the change that was announced, so what failed is tried again by itself. */
static void load_later(struct hf_listing *listing) {
  struct hf_loop *loop = listing->instance->gateway->loop;
  const unsigned doublings = listing->failures < DOUBLINGS_MAX ? listing->failures : DOUBLINGS_MAX;
  const hf_time bound = hf_time_min(AGAIN_MIN << doublings, AGAIN_MAX);
  listing->failures++;
  const hf_time pause = bound / 2 + (hf_time)hf_random_below(&loop->random, (uint64_t)(bound / 2) + 1);
  hf_timer_set(loop, &listing->timer, hf_time_add(loop->now, pause));
}

static void finish(struct hf_listing *listing, bool good) {
  struct hf_instance *instance = listing->instance;
  hf_timer_stop(instance->gateway->loop, &listing->timer);
  listing->loading = false;
  listing->ref = NULL;
  listing->tried_at = instance->gateway->loop->now;
  bool changed = false;
  if (good) {
    changed = take_over(listing);
    hf_pace_ended(&listing->pace, changed);
  } else {
    items_deinit(&listing->next, validator_of(listing));
    if (listing->state == HF_LISTING_NONE)
      listing->state = HF_LISTING_FAILED;
  }
  const bool again = listing->again;
  listing->again = false;
  hf_instance_listed(instance, listing->kind, changed);
  if (listing->loading || listing->state == HF_LISTING_ABSENT)
    return;
  if (again && good)
    load_for_notice(listing);
  else if (listing->is_old || listing->state == HF_LISTING_FAILED)
    load_later(listing);
}

static void request_page(struct hf_listing *listing);

/* How long the page is good for, counted from now; each has a time of its own. */
static void read_lifetime(struct hf_listing *listing, const struct hf_message *response) {
  const struct hf_limits *limits = &listing->instance->config->limits;
  struct hf_loop *loop = listing->instance->gateway->loop;
  int64_t ttl_ms;
  if (hf_ttl_read(response, &ttl_ms)) {
    const hf_time said = HF_MS(ttl_ms);
    const hf_time ttl = said < limits->list_ttl_min   ? limits->list_ttl_min
                        : said > limits->list_ttl_max ? limits->list_ttl_max
                                                      : said;
    listing->next_expires = hf_time_min(listing->next_expires, hf_time_add(loop->now, ttl));
  }
  listing->next_is_public = listing->next_is_public && hf_ttl_is_public(response);
}

/* Takes a page in. Returns true if another one must be asked for. */
static bool take_page(struct hf_listing *listing, const struct hf_message *response, bool *ret_good) {
  uint32_t array;
  *ret_good = false;
  if (hf_json_member(&response->doc, response->at[HF_FIELD_RESULT], hf_method_info(kinds[listing->kind].method)->list,
                     &array) < 0 ||
      hf_json_type(&response->doc, array) != HF_JSON_ARRAY) {
    warn(listing, "list answer without a list");
    return false;
  }
  size_t before = listing->next.count;
  struct hf_str page = hf_json_span(&response->doc, array);
  int r = add_page(listing, page);
  *ret_good = r == 0 || (r == HF_ERR_LIMIT && listing->next.count > 0);
  if (r < 0) {
    warn(listing, r == HF_ERR_LIMIT ? "list too long, cut" : "list could not be read");
    return false;
  }
  read_lifetime(listing, response);

  struct hf_str cursor = hf_message_raw(response, HF_FIELD_NEXT_CURSOR);
  if (!cursor.ptr || cursor.ptr[0] != '"')
    return false;
  bool nothing_new = listing->next.count == before && page.len > 2;
  if (nothing_new || hf_str_equal(cursor, listing->cursor) || ++listing->pages >= HF_LIST_PAGES_MAX) {
    warn(listing, "list does not end, cut");
    return false;
  }
  listing->cursor = hf_arena_copy(&listing->next.arena, cursor);
  *ret_good = listing->cursor.ptr != NULL;
  return *ret_good;
}

static void page_done(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_listing *listing = ctx;
  listing->ref = NULL;
  if (response && response->kind == HF_MESSAGE_RESULT) {
    bool good;
    if (take_page(listing, response, &good))
      request_page(listing);
    else
      finish(listing, good);
    return;
  }
  if (response && evidence->jsonrpc_code == HF_RPC_METHOD_NOT_FOUND) {
    hf_listing_set_absent(listing);
    finish(listing, false);
    return;
  }
  warn(listing, "list could not be loaded");
  finish(listing, false);
}

static void time_out(struct hf_listing *listing) {
  struct hf_upstream *upstream = listing->instance->upstream;
  if (listing->ref)
    upstream->ops->abort(upstream, listing->ref, HF_STR("timed out"));
  warn(listing, "list was not answered in time");
  finish(listing, false);
}

static void due(struct hf_timer *timer) {
  struct hf_listing *listing = HF_CONTAINER_OF(timer, struct hf_listing, timer);
  if (listing->loading)
    time_out(listing);
  else if (listing->instance->phase == HF_UPSTREAM_READY && listing->failures > 0)
    hf_listing_load(listing);
  else
    load_for_notice(listing);
}

static const struct hf_attempt_events page_events = {hf_own_request_sent, hf_own_request_life, hf_own_request_message,
                                                     page_done};

static void request_page(struct hf_listing *listing) {
  struct hf_instance *instance = listing->instance;
  struct hf_loop *loop = instance->gateway->loop;
  const struct hf_own_request request = {.method = kinds[listing->kind].method,
                                         .key = listing->cursor.ptr ? "cursor" : NULL,
                                         .raw = listing->cursor,
                                         .patience = LIST_PAGE_TIMEOUT,
                                         .events = &page_events,
                                         .ctx = listing};
  if (hf_own_request_send(instance, &request, &listing->ref) < 0) {
    finish(listing, false);
    return;
  }
  hf_timer_set(loop, &listing->timer, hf_time_add(loop->now, LIST_PAGE_TIMEOUT));
}

void hf_listing_load(struct hf_listing *listing) {
  if (listing->loading) {
    listing->again = true;
    return;
  }
  listing->loading = true;
  listing->pages = 0;
  listing->cursor = (struct hf_str){NULL, 0};
  listing->next_expires = HF_TIME_NEVER;
  listing->next_is_public = true;
  request_page(listing);
}

void hf_listing_notice(struct hf_listing *listing) {
  if (listing->state == HF_LISTING_ABSENT)
    return;
  listing->is_old = true;
  listing->failures = 0;
  if (listing->loading)
    listing->again = true;
  else
    load_for_notice(listing);
}

hf_time hf_listing_fresh_until(const struct hf_listing *listing) {
  const struct hf_instance *instance = listing->instance;
  if (listing->is_old)
    return 0;
  if (listing->expires != HF_TIME_NEVER || hf_instance_announces(instance, listing->kind))
    return listing->expires;
  return hf_time_add(listing->loaded_at, instance->config->limits.list_ttl);
}

void hf_listing_set_absent(struct hf_listing *listing) {
  items_deinit(&listing->items, validator_of(listing));
  listing->state = HF_LISTING_ABSENT;
}
