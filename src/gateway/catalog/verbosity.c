#include "gateway/catalog/verbosity.h"

#include "gateway/gateway.h"
#include "gateway/session.h"
#include "mcp/log_level.h"
#include "mcp/rewrite.h"

#include <stdio.h>

enum { INFO = 1 };

/* A level that a modern request asked for is kept for a while, so that a server is not told twice with each call. */
#define REQUEST_LASTS HF_SECONDS(60)

static struct hf_verbosity *counts_of(struct hf_client *client) {
  if (!client->server)
    return &client->gateway->verbosity;
  struct hf_server *server = hf_gateway_server(client->gateway, hf_str_from(client->server));
  return server ? &server->verbosity : NULL;
}

static int least(int a, int b) {
  return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* The least level that is wanted of a shared server, or -1: none was ever asked for. */
static int wanted_of_shared(const struct hf_instance *instance) {
  const struct hf_server *server = hf_gateway_server(instance->gateway, instance->settings->name);
  int level = -1;
  bool any_silent = false;
  for (int slot = HF_VERBOSITY_SLOTS - 1; slot >= 0; slot--) {
    const bool any = instance->gateway->verbosity.clients[slot] > 0 || (server && server->verbosity.clients[slot] > 0);
    if (any && slot > 0)
      level = slot - 1;
    any_silent = any_silent || (any && slot == 0);
  }
  const bool was_asked = level >= 0 || instance->log_level >= 0 || instance->log_request >= 0;
  return any_silent && was_asked ? least(level, INFO) : level;
}

static void tell(struct hf_instance *instance) {
  char raw[32];
  int n = snprintf(raw, sizeof raw, "\"%s\"", hf_log_level_name(instance->log_level));
  hf_instance_tell(instance, HF_METHOD_LOGGING_SET_LEVEL, "level", (struct hf_str){raw, (size_t)n});
}

static void apply(struct hf_instance *instance) {
  const int standing = instance->client ? instance->client->log_level : wanted_of_shared(instance);
  const int level = least(standing, instance->log_request);
  if (level < 0 || level == instance->log_level || instance->phase != HF_UPSTREAM_READY ||
      instance->era == HF_ERA_MODERN || !instance->capabilities.logging)
    return;
  instance->log_level = level;
  tell(instance);
}

static void apply_all(struct hf_client *client) {
  struct hf_list *it, *tmp;
  for (struct hf_server *server = hf_client_next_server(client, NULL); server;
       server = hf_client_next_server(client, server)) {
    if (server->shared)
      apply(server->shared);
    HF_LIST_FOREACH (it, tmp, &server->own) {
      struct hf_instance *instance = HF_CONTAINER_OF(it, struct hf_instance, link);
      if (instance->client == client)
        apply(instance);
    }
  }
}

/* Only the first and the last one of a level can make a difference. */
static void count(struct hf_client *client, int by) {
  struct hf_verbosity *verbosity = counts_of(client);
  if (!verbosity)
    return;
  size_t *slot = &verbosity->clients[client->log_level + 1];
  *slot = by > 0 ? *slot + 1 : *slot - (*slot > 0);
  if (*slot <= 1)
    apply_all(client);
}

void hf_verbosity_join(struct hf_client *client) {
  if (!client->counted)
    count(client, 1);
  client->counted = true;
}

void hf_verbosity_leave(struct hf_client *client) {
  if (client->counted)
    count(client, -1);
  client->counted = false;
}

void hf_verbosity_set(struct hf_client *client, int level) {
  struct hf_verbosity *verbosity = client->counted ? counts_of(client) : NULL;
  if (verbosity && verbosity->clients[client->log_level + 1] > 0)
    verbosity->clients[client->log_level + 1]--;
  client->log_level = (signed char)level;
  if (verbosity)
    verbosity->clients[level + 1]++;
  apply_all(client);
}

void hf_verbosity_recount(struct hf_gateway *gateway) {
  struct hf_list *it, *tmp;
  gateway->verbosity = (struct hf_verbosity){0};
  HF_LIST_FOREACH (it, tmp, &gateway->servers)
    HF_CONTAINER_OF(it, struct hf_server, link)->verbosity = (struct hf_verbosity){0};
  HF_LIST_FOREACH (it, tmp, &gateway->clients) {
    struct hf_client *client = HF_CONTAINER_OF(it, struct hf_client, link);
    struct hf_verbosity *verbosity = client->counted ? counts_of(client) : NULL;
    if (verbosity)
      verbosity->clients[client->log_level + 1]++;
  }
}

void hf_verbosity_renew(struct hf_instance *instance) {
  const int before = instance->log_level;
  instance->log_level = -1;
  apply(instance);
  if (instance->log_level < 0 && before >= 0 && instance->capabilities.logging && instance->era != HF_ERA_MODERN) {
    instance->log_level = before;
    tell(instance);
  }
}

void hf_verbosity_request(struct hf_instance *instance, int level) {
  const hf_time now = instance->gateway->loop->now;
  if (level < 0 && instance->log_request < 0)
    return;
  if (level >= 0)
    instance->log_request_until = hf_time_add(now, REQUEST_LASTS);
  if (level >= 0)
    instance->log_request = least(instance->log_request, level);
  else if (now > instance->log_request_until)
    instance->log_request = -1;
  apply(instance);
}

bool hf_verbosity_covers(const struct hf_client *client, const struct hf_instance *instance, int level) {
  if (client->log_level >= 0)
    return level >= client->log_level;
  return instance->log_level < 0 || level >= INFO;
}

static void hand_over(struct hf_client *client, const struct hf_instance *instance, const struct hf_message *message) {
  const bool is_log = message->method == HF_METHOD_LOG_MESSAGE;
  if (client->era != HF_ERA_LEGACY || !client->initialized || !hf_client_sees(client, instance) ||
      (is_log && !hf_verbosity_covers(client, instance, hf_log_level_of(message))))
    return;
  struct hf_rewrite rewrite;
  struct hf_pieces text;
  hf_rewrite_begin(&rewrite, message);
  hf_pieces_init(&text);
  if (hf_rewrite_finish(&rewrite, &text) == 0)
    hf_client_notify(client, &text);
  hf_pieces_deinit(&text);
}

void hf_verbosity_deliver(struct hf_instance *instance, const struct hf_message *message) {
  struct hf_list *it, *tmp;
  if (instance->client) {
    hand_over(instance->client, instance, message);
    return;
  }
  if (instance->gateway->settings->principal_count > 1)
    return;
  HF_LIST_FOREACH (it, tmp, &instance->gateway->clients)
    hand_over(HF_CONTAINER_OF(it, struct hf_client, link), instance, message);
}
