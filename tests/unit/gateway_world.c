#include "gateway_world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Fakes allocate by the C library, so that an injected failure hits the gateway alone. */
static char *join(const struct hf_pieces *pieces) {
  char *text = malloc(pieces->len + 1);
  size_t at = 0;
  for (size_t i = 0; i < pieces->count; i++) {
    memcpy(text + at, pieces->piece[i].bytes.ptr, pieces->piece[i].bytes.len);
    at += pieces->piece[i].bytes.len;
  }
  text[at] = '\0';
  return text;
}

static void decode(const char *text, struct hf_message *message) {
  struct hf_refusal refusal;
  int r = hf_message_decode_copy(hf_str_from(text), message, &refusal);
  if (r < 0)
    *message = (struct hf_message){0};
}

static void report(struct fake_upstream *upstream, enum hf_evidence_kind evidence, const char *reason) {
  struct hf_upstream_status status = {
      .phase = upstream->phase,
      .era = upstream->era,
      .version = upstream->era == HF_ERA_MODERN ? HF_STR("2026-07-28") : HF_STR("2025-06-18"),
      .hello = upstream->phase == HF_UPSTREAM_READY ? &upstream->hello : NULL,
      .evidence = HF_EVIDENCE(evidence),
      .reason = hf_str_from(reason),
      .retry_at = upstream->world->loop.now,
      .starts = upstream->starts,
  };
  upstream->events->changed(upstream->owner, &status);
}

static const struct fake_server *behaviour(const struct fake_upstream *upstream) {
  for (size_t i = 0; i < upstream->world->server_count; i++)
    if (strcmp(upstream->world->servers[i].name, upstream->name) == 0)
      return &upstream->world->servers[i];
  return NULL;
}

static void op_start(struct hf_upstream *head) {
  struct fake_upstream *upstream = (struct fake_upstream *)head;
  if (upstream->phase != HF_UPSTREAM_IDLE && upstream->phase != HF_UPSTREAM_DOWN)
    return;
  upstream->phase = HF_UPSTREAM_STARTING;
  upstream->starts++;
}

static void op_revive(struct hf_upstream *head) {
  ((struct fake_upstream *)head)->revivals++;
}

static const char *listed(const struct fake_server *server, enum hf_method method) {
  if (method == HF_METHOD_TOOLS_LIST)
    return server->tools;
  if (method == HF_METHOD_PROMPTS_LIST)
    return server->prompts;
  if (method == HF_METHOD_RESOURCES_LIST)
    return server->resources;
  return method == HF_METHOD_RESOURCES_TEMPLATES_LIST ? server->templates : NULL;
}

static int op_request(struct hf_upstream *head, struct hf_upstream_request *request, struct hf_attempt_ref **ret_ref) {
  struct fake_upstream *upstream = (struct fake_upstream *)head;
  if (upstream->phase != HF_UPSTREAM_READY)
    return HF_ERR_UNAVAILABLE;
  if (upstream->full)
    return HF_ERR_LIMIT;
  assert(upstream->sent_count < WORLD_SENT_MAX);
  struct hf_attempt_ref *ref = calloc(1, sizeof *ref);
  *ref = (struct hf_attempt_ref){.upstream = upstream,
                                 .id = request->id,
                                 .method = request->method,
                                 .text = join(request->text),
                                 .open = true,
                                 .new_session = request->new_session,
                                 .events = request->events,
                                 .ctx = request->ctx};
  for (size_t i = 0; i < request->param_count; i++) {
    size_t len = strlen(ref->headers);
    snprintf(ref->headers + len, sizeof ref->headers - len, "%.*s: %.*s\n", HF_STR_FMT(request->params[i].name),
             HF_STR_FMT(request->params[i].value));
  }
  hf_pieces_deinit(request->text);
  upstream->sent[upstream->sent_count++] = ref;
  *ret_ref = ref;
  return 0;
}

static void op_abort(struct hf_upstream *head, struct hf_attempt_ref *ref, struct hf_str reason) {
  (void)head, (void)reason;
  assert(ref->open);
  ref->open = false;
  ref->aborted = true;
}

static void op_post(struct hf_upstream *head, struct hf_attempt_ref *about, struct hf_pieces *text) {
  struct fake_upstream *upstream = (struct fake_upstream *)head;
  (void)about;
  assert(upstream->posted_count < WORLD_TEXTS_MAX);
  upstream->posted[upstream->posted_count++] = join(text);
  hf_pieces_deinit(text);
}

static void op_stop(struct hf_upstream *head) {
  ((struct fake_upstream *)head)->stopping = true;
}

static void op_free(struct hf_upstream *head) {
  ((struct fake_upstream *)head)->freed = true;
}

static const struct hf_upstream_ops upstream_ops = {op_start, op_revive, op_request, op_abort,
                                                    op_post,  op_stop,   op_free};

static int open_upstream(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
                         const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream) {
  struct world *world = ctx;
  struct fake_upstream *upstream = calloc(1, sizeof *upstream);
  upstream->head.ops = &upstream_ops;
  upstream->world = world;
  upstream->events = events;
  upstream->owner = owner;
  snprintf(upstream->name, sizeof upstream->name, "%.*s", HF_STR_FMT(settings->name));
  snprintf(upstream->capabilities, sizeof upstream->capabilities, "%.*s", HF_STR_FMT(capabilities));
  world->upstreams[world->upstream_count++] = upstream;
  *ret_upstream = &upstream->head;
  return 0;
}

static struct hf_str keep(struct hf_settings *settings, const char *text) {
  return hf_arena_copy(&settings->arena, hf_str_from(text));
}

struct hf_settings *world_settings(const struct fake_server *servers, size_t count) {
  struct hf_settings *settings = hf_settings_new();
  settings->servers = hf_arena_alloc(&settings->arena, count * sizeof *settings->servers);
  settings->server_count = count;
  for (size_t i = 0; i < count; i++) {
    settings->servers[i] = (struct hf_server_settings){
        .name = keep(settings, servers[i].name),
        .start_timeout = HF_SECONDS(10),
        .idle_stop = HF_TIME_NEVER,
        .keepalive = HF_TIME_NEVER,
        .policy = {HF_TIMEOUT_OPTIONS_INIT, HF_RETRY_OPTIONS_INIT, HF_BREAKER_OPTIONS_INIT},
        .provider = HF_PROVIDER_OPTIONS_INIT,
    };
    settings->servers[i].policy.retry.base = HF_MS(100);
  }
  settings->limits = (struct hf_limits){.sessions = 100,
                                        .calls = 100,
                                        .calls_per_client = 50,
                                        .session_upstreams = 4,
                                        .argument_bytes = 16 << 20,
                                        .argument_depth = 64,
                                        .feedback_tokens = 400,
                                        .list_wait = HF_SECONDS(3),
                                        .list_ttl = HF_SECONDS(60),
                                        .tasks = 100,
                                        .tasks_per_client = 50,
                                        .task_ttl = HF_SECONDS(3600),
                                        .drain = HF_SECONDS(5)};
  return settings;
}

void world_init(struct world *world, const struct fake_server *servers, size_t count) {
  *world = (struct world){.server_count = count};
  memcpy(world->servers, servers, count * sizeof *servers);
  hf_loop_init(&world->loop, 7, NULL);
  hf_loop_advance(&world->loop, world->loop.now, WORLD_WALL_MS);
  world->settings = world_settings(servers, count);
  struct hf_upstream_factory factory = {open_upstream, world};
  int r = hf_gateway_new(&world->loop, world->settings, &factory, &world->gateway);
  assert(r == 0);
  (void)r;
}

static void upstream_destroy(struct fake_upstream *upstream) {
  for (size_t i = 0; i < upstream->sent_count; i++) {
    free(upstream->sent[i]->text);
    free(upstream->sent[i]);
  }
  for (size_t i = 0; i < upstream->posted_count; i++)
    free(upstream->posted[i]);
  hf_message_deinit(&upstream->hello);
  free(upstream);
}

void world_deinit(struct world *world) {
  hf_gateway_free(world->gateway);
  hf_loop_deinit(&world->loop);
  for (size_t i = 0; i < world->upstream_count; i++) {
    assert(world->upstreams[i]->freed);
    upstream_destroy(world->upstreams[i]);
  }
}

static bool is_list(enum hf_method method) {
  return hf_method_info(method)->list.ptr != NULL && method != HF_METHOD_ROOTS_LIST;
}

/* What an upstream does by itself: gets ready, and answers lists. Returns true if it did something. */
static bool act(struct fake_upstream *upstream) {
  if (upstream->stopping) {
    upstream->stopping = false;
    upstream->phase = HF_UPSTREAM_IDLE;
    report(upstream, HF_EVIDENCE_NONE, NULL);
    return true;
  }
  const struct fake_server *server = behaviour(upstream);
  if (upstream->phase == HF_UPSTREAM_STARTING && server->hello) {
    upstream_ready(upstream);
    return true;
  }
  for (size_t i = 0; i < upstream->sent_count; i++) {
    struct hf_attempt_ref *ref = upstream->sent[i];
    if (!ref->open || !is_list(ref->method))
      continue;
    const char *result = listed(server, ref->method);
    if (result)
      upstream_answer(ref, result);
    else
      upstream_error(ref, HF_RPC_METHOD_NOT_FOUND, "method not found");
    return true;
  }
  return false;
}

static void run_at(struct world *world, hf_time now) {
  hf_loop_run(&world->loop, now, WORLD_WALL_MS + now / HF_MS(1));
}

void world_run(struct world *world, hf_time elapsed) {
  hf_time until = world->loop.now + elapsed;
  for (;;) {
    run_at(world, world->loop.now);
    bool acted = false;
    for (size_t i = 0; i < world->upstream_count; i++)
      acted = (!world->upstreams[i]->freed && act(world->upstreams[i])) || acted;
    hf_time next = hf_loop_next(&world->loop);
    if (!acted && next > until)
      break;
    if (!acted)
      run_at(world, next);
  }
  run_at(world, until);
}

struct fake_upstream *world_upstream(struct world *world, const char *name) {
  for (size_t i = world->upstream_count; i-- > 0;)
    if (!world->upstreams[i]->freed && strcmp(world->upstreams[i]->name, name) == 0)
      return world->upstreams[i];
  return NULL;
}

void upstream_ready(struct fake_upstream *upstream) {
  const struct fake_server *server = behaviour(upstream);
  const char *hello = server->hello ? server->hello : "{}";
  size_t size = strlen(hello) + 64;
  char *text = malloc(size);
  snprintf(text, size, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":%s}", hello);
  hf_message_deinit(&upstream->hello);
  decode(text, &upstream->hello);
  free(text);
  upstream->era = server->era == HF_ERA_MODERN ? HF_ERA_MODERN : HF_ERA_LEGACY;
  upstream->phase = HF_UPSTREAM_READY;
  report(upstream, HF_EVIDENCE_NONE, NULL);
}

void upstream_down(struct fake_upstream *upstream, enum hf_evidence_kind evidence, const char *reason) {
  upstream->phase = HF_UPSTREAM_DOWN;
  report(upstream, evidence, reason);
}

struct hf_attempt_ref *upstream_last(struct fake_upstream *upstream) {
  for (size_t i = upstream->sent_count; i-- > 0;)
    if (upstream->sent[i]->open)
      return upstream->sent[i];
  return NULL;
}

void upstream_handed_over(struct hf_attempt_ref *ref) {
  ref->events->sent(ref->ctx, strlen(ref->text), true);
}

static void done(struct hf_attempt_ref *ref, struct hf_evidence evidence, const char *text) {
  struct hf_message message;
  decode(text, &message);
  ref->open = false;
  if (message.blob)
    ref->events->done(ref->ctx, &evidence, &message);
  else
    ref->events->done(ref->ctx, &HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY), NULL); /* no memory to read it */
  hf_message_deinit(&message);
}

void upstream_answer(struct hf_attempt_ref *ref, const char *result) {
  size_t size = strlen(result) + 128;
  char *text = malloc(size);
  snprintf(text, size, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":%s}", (unsigned long long)ref->id, result);
  upstream_handed_over(ref);
  done(ref, HF_EVIDENCE(HF_EVIDENCE_NONE), text);
  free(text);
}

void upstream_refuse(struct hf_attempt_ref *ref, int code, const char *error) {
  char text[1024];
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":%s}", (unsigned long long)ref->id, error);
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_JSONRPC_ERROR);
  evidence.jsonrpc_code = code;
  upstream_handed_over(ref);
  done(ref, evidence, text);
}

void upstream_error(struct hf_attempt_ref *ref, int code, const char *message) {
  char error[512];
  snprintf(error, sizeof error, "{\"code\":%d,\"message\":\"%s\"}", code, message);
  upstream_refuse(ref, code, error);
}

void upstream_fail(struct hf_attempt_ref *ref, enum hf_evidence_kind kind) {
  struct hf_evidence evidence = HF_EVIDENCE(kind);
  ref->open = false;
  ref->events->done(ref->ctx, &evidence, NULL);
}

void upstream_message(struct fake_upstream *upstream, struct hf_attempt_ref *ref, const char *format) {
  char text[2048];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(text, sizeof text, format, (unsigned long long)(ref ? ref->id : 0));
#pragma GCC diagnostic pop
  struct hf_message message;
  decode(text, &message);
  if (ref)
    ref->events->message(ref->ctx, &message);
  else
    upstream->events->message(upstream->owner, &message);
  hf_message_deinit(&message);
}

static void on_notify(struct hf_client *client, void *owner, struct hf_pieces *text) {
  struct fake_client *fake = owner;
  (void)client;
  assert(fake->notified_count < WORLD_TEXTS_MAX);
  fake->notified[fake->notified_count++] = join(text);
  hf_pieces_deinit(text);
}

static const struct hf_client_ops client_ops = {on_notify};

static void on_message(struct hf_reply *head, struct hf_pieces *text) {
  struct fake_reply *reply = (struct fake_reply *)head;
  assert(reply->message_count < WORLD_TEXTS_MAX && !reply->answer);
  reply->messages[reply->message_count++] = join(text);
  hf_pieces_deinit(text);
}

static void on_finish(struct hf_reply *head, int http_status, struct hf_pieces *text) {
  struct fake_reply *reply = (struct fake_reply *)head;
  assert(!reply->answer);
  reply->answer = join(text);
  reply->status = http_status;
  hf_pieces_deinit(text);
}

static const struct hf_reply_ops reply_ops = {on_message, on_finish};

static void open_with(struct world *world, struct fake_client *client, struct hf_client_options options) {
  *client = (struct fake_client){0};
  options.ops = &client_ops;
  options.owner = client;
  int r = hf_client_open(world->gateway, &options, &client->client);
  assert(r == 0);
  (void)r;
}

void client_open(struct world *world, struct fake_client *client, const char *server, enum hf_era era) {
  open_with(world, client, (struct hf_client_options){.server = hf_str_from(server), .era = era});
}

void client_open_as(struct world *world, struct fake_client *client, const char *principal, enum hf_era era) {
  open_with(world, client, (struct hf_client_options){.principal = hf_str_from(principal), .era = era});
}

void client_close(struct fake_client *client) {
  hf_client_close(client->client);
  for (size_t i = 0; i < client->notified_count; i++)
    free(client->notified[i]);
}

void client_send(struct world *world, struct fake_client *client, struct fake_reply *reply, const char *text) {
  struct hf_message message;
  decode(text, &message);
  if (reply)
    *reply = (struct fake_reply){.head = {&reply_ops, NULL}};
  hf_client_handle(client->client, &message, reply ? &reply->head : NULL);
  world_run(world, 0);
}

void client_initialize(struct world *world, struct fake_client *client, const char *capabilities) {
  char text[1024];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
           "\"2025-06-18\",\"capabilities\":%s,\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
           capabilities);
  struct fake_reply reply;
  client_send(world, client, &reply, text);
  world_run(world, HF_SECONDS(4));
  reply_deinit(&reply);
  client_send(world, client, NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

void client_abandon(struct fake_client *client, struct fake_reply *reply) {
  hf_client_abandon(client->client, &reply->head);
}

void reply_deinit(struct fake_reply *reply) {
  for (size_t i = 0; i < reply->message_count; i++)
    free(reply->messages[i]);
  free(reply->answer);
  *reply = (struct fake_reply){0};
}
