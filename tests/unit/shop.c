#include "shop.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct fake_server server = {
    .name = "shop",
    .hello = "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
             "\"ttlMs\":0,\"cacheScope\":\"private\"}",
    .tools = "{\"tools\":[{\"name\":\"pay\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"order\","
             "\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"look\",\"inputSchema\":{\"type\":\"object\"}},"
             "{\"name\":\"note\",\"inputSchema\":{\"type\":\"object\"}}]}",
    .era = HF_ERA_MODERN,
};

static void describe(struct hf_tool_settings *tool, const struct hf_settings *settings, const char *pattern,
                     enum hf_safety safety) {
  *tool = settings->tool_defaults;
  tool->server = HF_STR("shop");
  tool->pattern = hf_str_from(pattern);
  tool->has_safety = true;
  tool->safety = safety;
  tool->coalesce = SHOP_COALESCE;
}

static void put_tools(struct shop *shop, struct hf_settings *settings) {
  settings->limits.cache_bytes = 1 << 20;
  settings->tools = hf_arena_alloc(&settings->arena, 4 * sizeof *settings->tools);
  settings->tool_count = 4;
  shop->pay = &settings->tools[0];
  shop->order = &settings->tools[1];
  shop->look = &settings->tools[2];
  shop->note = &settings->tools[3];
  describe(shop->pay, settings, "shop__pay", HF_SAFETY_UNSAFE);
  describe(shop->order, settings, "shop__order", HF_SAFETY_KEYED);
  describe(shop->look, settings, "shop__look", HF_SAFETY_READ_ONLY);
  describe(shop->note, settings, "shop__note", HF_SAFETY_IDEMPOTENT);
  shop->order->key = (struct hf_key_settings){HF_KEY_ARGUMENT, HF_STR("token"), SHOP_KEY_TTL};
  shop->look->cache.max_stale = HF_SECONDS(600);
}

void shop_open(struct shop *shop, struct fake_store *store) {
  *shop = (struct shop){0};
  world_init(&shop->world, &server, 1);
  put_tools(shop, shop->world.settings);
  if (store) {
    fake_store_reopen(store, &shop->world.loop);
    hf_gateway_use_store(shop->world.gateway, &store->head);
  }
  hf_gateway_start(shop->world.gateway);
  client_open_as(&shop->world, &shop->ann, "ann", HF_ERA_MODERN);
  client_open_as(&shop->world, &shop->bob, "bob", HF_ERA_MODERN);
  shop->upstream = world_upstream(&shop->world, "shop");
}

void shop_open_own(struct shop *shop) {
  shop_open(shop, NULL);
  struct hf_settings *own = world_settings(&server, 1);
  own->servers[0].instance = HF_INSTANCE_SESSION;
  put_tools(shop, own);
  int r = hf_gateway_reload(shop->world.gateway, own, NULL);
  assert(r == 0);
  (void)r;
  shop->world.settings = own;
  shop->upstream = NULL;
  world_run(&shop->world, 0);
}

void shop_close(struct shop *shop) {
  client_close(&shop->ann);
  client_close(&shop->bob);
  world_deinit(&shop->world);
}

void shop_call_with(struct shop *shop, struct fake_client *client, struct fake_reply *reply, const char *tool,
                    const char *arguments, const char *more, const char *params) {
  char text[4096];
  int n = snprintf(text, sizeof text,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"shop__%s\","
                   "\"arguments\":%s%s,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                   "\"io.modelcontextprotocol/clientCapabilities\":{}%s}}}",
                   tool, arguments, params, more);
  assert(n > 0 && (size_t)n < sizeof text);
  (void)n;
  client_send(&shop->world, client, reply, text);
}

void shop_call(struct shop *shop, struct fake_client *client, struct fake_reply *reply, const char *tool,
               const char *arguments, const char *more) {
  shop_call_with(shop, client, reply, tool, arguments, more, "");
}

size_t shop_count(const struct shop *shop) {
  size_t count = 0;
  for (size_t i = 0; i < shop->upstream->sent_count; i++)
    count += shop->upstream->sent[i]->method == HF_METHOD_TOOLS_CALL;
  return count;
}

void shop_key_sent(const struct hf_attempt_ref *ref, char key[64]) {
  const char *at = strstr(ref->text, "\"token\":\"");
  key[0] = '\0';
  if (at)
    sscanf(at + strlen("\"token\":\""), "%63[^\"]", key);
}
