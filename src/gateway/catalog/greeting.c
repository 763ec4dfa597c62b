#include "gateway/catalog/greeting.h"

#include "base/alloc.h"
#include "gateway/catalog/catalog.h"
#include "gateway/catalog/ttl.h"
#include "gateway/gateway.h"
#include "gateway/task/task.h"
#include "mcp/compose.h"
#include "json/write.h"

enum { GREETING_MAX = 1 << 20, INSTRUCTIONS_MAX = 1 << 16 };

/* A server that has not shown yet what it can do may turn out to have lists. */
static struct hf_capabilities expected(const struct hf_instance *instance) {
  struct hf_capabilities hoped = {.tools = true, .prompts = true, .resources = true};
  bool pending = instance->phase == HF_UPSTREAM_STARTING ||
                 (instance->phase == HF_UPSTREAM_IDLE && instance->lists[HF_LIST_TOOLS].state == HF_LISTING_NONE);
  return pending ? hoped : instance->capabilities;
}

static void write_one(struct hf_json_writer *w, const char *key, bool has, bool changes, bool subscribe) {
  if (!has)
    return;
  hf_json_write_key(w, key);
  hf_json_write_object(w);
  if (changes)
    hf_json_write_member_bool(w, "listChanged", true);
  if (subscribe)
    hf_json_write_member_bool(w, "subscribe", true);
  hf_json_write_object_end(w);
}

struct hf_capabilities hf_greeting_capabilities(struct hf_client *client) {
  struct hf_capabilities all = {.tools = true};
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    if (instance)
      all = hf_capabilities_union(all, expected(instance));
  }
  return all;
}

static void write_capabilities(struct hf_client *client, enum hf_era era, struct hf_json_writer *w) {
  const struct hf_capabilities all = hf_greeting_capabilities(client);
  hf_json_write_key(w, "capabilities");
  hf_json_write_object(w);
  write_one(w, "tools", all.tools, true, false);
  write_one(w, "prompts", all.prompts, true, false);
  write_one(w, "resources", all.resources, true, all.resources_subscribe);
  write_one(w, "completions", all.completions, false, false);
  write_one(w, "logging", all.logging, false, false);
  hf_task_write_capabilities(client, era, w);
  hf_json_write_object_end(w);
}

/* The one server behind the endpoint, if there is one and it has introduced itself. */
static struct hf_instance *only_instance(struct hf_client *client) {
  struct hf_server *server = client->server ? hf_client_next_server(client, NULL) : NULL;
  return server ? hf_server_instance(server, client) : NULL;
}

static struct hf_str server_info(struct hf_client *client) {
  const struct hf_instance *instance = only_instance(client);
  return instance && instance->server_info ? hf_str_from(instance->server_info) : HF_STR(HF_IMPLEMENTATION);
}

/* Every server's instructions under its name. Raw strings are joined by cutting their quotes; the closing one comes on
 * top of the limit. */
static void join_instructions(struct hf_client *client, struct hf_buf *out) {
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    const struct hf_instance *instance = hf_server_instance(server, client);
    if (!instance || !instance->instructions)
      continue;
    struct hf_str raw = hf_str_from(instance->instructions);
    size_t before = out->len;
    int r = hf_buf_append_str(out, out->len ? HF_STR("\\n\\n# ") : HF_STR("\"# "));
    struct hf_buf name;
    hf_buf_init(&name, INSTRUCTIONS_MAX);
    if (r == 0)
      r = hf_json_escape(&name, instance->settings->name);
    if (r == 0)
      r = hf_buf_append(out, name.data + 1, name.len - 2);
    if (r == 0)
      r = hf_buf_append_str(out, HF_STR("\\n"));
    if (r == 0)
      r = hf_buf_append(out, raw.ptr + 1, raw.len - 2);
    hf_buf_deinit(&name);
    if (r < 0)
      out->len = before; /* what no longer fits is left out whole */
  }
  out->max++;
  if (out->len && hf_buf_append(out, "\"", 1) < 0)
    hf_buf_reset(out, 0); /* a text without its end would spoil the whole answer */
}

static void write_instructions(struct hf_client *client, struct hf_json_writer *w) {
  const struct hf_instance *only = only_instance(client);
  if (only) {
    if (only->instructions)
      hf_json_write_member_raw(w, "instructions", hf_str_from(only->instructions));
    return;
  }
  struct hf_buf text;
  hf_buf_init(&text, INSTRUCTIONS_MAX);
  if (!client->server)
    join_instructions(client, &text);
  if (text.len)
    hf_json_write_member_raw(w, "instructions", hf_buf_str(&text));
  hf_buf_deinit(&text);
}

static void answer(struct hf_exchange *exchange, struct hf_buf *result, const struct hf_json_writer *w) {
  if (hf_json_write_finish(w) == 0)
    hf_exchange_result(exchange, hf_buf_str(result));
  else
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"), (struct hf_str){NULL, 0});
}

static bool must_wait(struct hf_exchange *exchange, void (*resume)(struct hf_exchange *exchange)) {
  if (hf_catalog_settle(exchange->client) || exchange->wait_over)
    return false;
  hf_exchange_wait(exchange, exchange->client->gateway->settings->limits.list_wait, resume);
  return true;
}

static void answer_initialize(struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  if (must_wait(exchange, answer_initialize))
    return;
  struct hf_buf result;
  hf_buf_init(&result, GREETING_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &result);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "protocolVersion", hf_version_text(client->version));
  write_capabilities(client, HF_ERA_LEGACY, &w);
  hf_json_write_member_raw(&w, "serverInfo", server_info(client));
  write_instructions(client, &w);
  hf_json_write_object_end(&w);
  answer(exchange, &result, &w);
  hf_buf_deinit(&result);
}

static void note_what_it_can_be_asked(struct hf_client *client, struct hf_str raw) {
  struct hf_buf asked;
  hf_buf_init(&asked, raw.len + GREETING_MAX);
  hf_free(client->asked_capabilities);
  const int r = hf_capabilities_write_asked(raw, &asked);
  client->asked_capabilities = r == 0 ? hf_strndup(asked.data, asked.len) : NULL;
  hf_buf_deinit(&asked);
}

void hf_greeting_initialize(struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  struct hf_str asked;
  if (hf_message_string(&exchange->request, HF_FIELD_PROTOCOL_VERSION, &asked) < 0) {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("'protocolVersion' is missing"),
                      (struct hf_str){NULL, 0});
    return;
  }
  client->era = HF_ERA_LEGACY;
  client->version = hf_version_negotiate(asked);
  struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_CAPABILITIES);
  client->capabilities = hf_capabilities_read(raw);
  hf_free(client->raw_capabilities);
  client->raw_capabilities = raw.ptr ? hf_strndup(raw.ptr, raw.len) : NULL;
  note_what_it_can_be_asked(client, raw);
  answer_initialize(exchange);
}

/* What modern servers said of themselves is as good as they said; the rest as is usual. */
static struct hf_ttl discover_ttl(struct hf_client *client) {
  struct hf_ttl ttl = {0};
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    const struct hf_instance *instance = hf_server_instance(server, client);
    const bool said = instance && instance->era == HF_ERA_MODERN;
    if (instance)
      hf_ttl_add(&ttl, said ? instance->hello_expires : HF_TIME_NEVER, client->gateway->loop->now,
                 said && instance->hello_is_public);
  }
  return ttl;
}

/* Returns true while a server is asked anew. */
static bool rediscover(struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  bool asked = false;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    struct hf_instance *instance = hf_server_instance(server, client);
    if (instance && hf_instance_rediscover(instance, exchange->started))
      asked = true;
  }
  return asked;
}

void hf_greeting_discover(struct hf_exchange *exchange) {
  struct hf_client *client = exchange->client;
  if (must_wait(exchange, hf_greeting_discover))
    return;
  if (!exchange->wait_over && rediscover(exchange)) {
    hf_exchange_wait(exchange, client->gateway->settings->limits.list_wait, hf_greeting_discover);
    return;
  }
  struct hf_buf result;
  hf_buf_init(&result, GREETING_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &result);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "resultType", HF_STR("complete"));
  hf_json_write_key(&w, "supportedVersions");
  hf_json_write_array(&w);
  for (int version = HF_VERSION_NEWEST; version > HF_VERSION_UNKNOWN; version--)
    if (hf_version_era((enum hf_version)version) == HF_ERA_MODERN)
      hf_json_write_str(&w, hf_version_text((enum hf_version)version));
  hf_json_write_array_end(&w);
  write_capabilities(client, HF_ERA_MODERN, &w);
  write_instructions(client, &w);
  const struct hf_ttl ttl = discover_ttl(client);
  hf_ttl_write(&ttl, client->gateway->settings->limits.list_ttl, &w);
  hf_json_write_key(&w, "_meta");
  hf_json_write_object(&w);
  hf_json_write_member_raw(&w, HF_META_SERVER_INFO, server_info(client));
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  answer(exchange, &result, &w);
  hf_buf_deinit(&result);
}
