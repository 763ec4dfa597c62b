#include "fake_store.h"
#include "gateway_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A server that makes tasks, and a client that takes them: over the death of the gateway between. */

#define EXTENSION "\"io.modelcontextprotocol/tasks\""
#define HELLO                                                                                                          \
  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{},"                \
  "\"extensions\":{" EXTENSION ":{}}},\"ttlMs\":0,\"cacheScope\":\"private\"}"
#define TOOLS                                                                                                          \
  "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[{\"name\":\"order\"},{\"name\":"     \
  "\"read\",\"annotations\":{\"readOnlyHint\":true}}]}"
#define STATE(status, more) "{\"resultType\":\"complete\",\"taskId\":\"far/1\",\"status\":\"" status "\"" more "}"
#define DONE STATE("completed", ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"x\":1.50}")

static const struct fake_server server = {.name = "far", .hello = HELLO, .tools = TOOLS, .era = HF_ERA_MODERN};

struct bed {
  struct world world;
  struct fake_store store;
  struct fake_client client;
  struct fake_reply reply;
  struct fake_upstream *upstream;
  char id[64];
};

static void assert_has(const char *text, const char *part) {
  if (!text || !strstr(text, part))
    fail_msg("'%s' is not in %s", part, text ? text : "(nothing)");
}

static void open_world(struct bed *bed) {
  world_init(&bed->world, &server, 1);
  bed->world.settings->tool_defaults.task_after = HF_SECONDS(10);
  bed->world.settings->tool_defaults.reconcile = (struct hf_reconcile_settings){
      .tool = {HF_STR("far"), HF_STR("read")}, .timeout = HF_SECONDS(5), .settle = HF_SECONDS(1)};
}

static void send_as(struct bed *bed, const char *method, const char *params) {
  char text[2048];
  reply_deinit(&bed->reply);
  assert_true(snprintf(text, sizeof text,
                       "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{" EXTENSION ":{}}}}}}",
                       method, params) < (int)sizeof text);
  client_send(&bed->world, &bed->client, &bed->reply, text);
  world_run(&bed->world, 0);
}

static const char *get(struct bed *bed) {
  char params[128];
  assert_true(snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed->id) < (int)sizeof params);
  send_as(bed, "tasks/get", params);
  return bed->reply.answer;
}

static struct hf_attempt_ref *open_request(struct bed *bed, enum hf_method method) {
  for (int i = 0; i < 100; i++) {
    bed->upstream = world_upstream(&bed->world, "far");
    for (size_t k = bed->upstream ? bed->upstream->sent_count : 0; k-- > 0;)
      if (bed->upstream->sent[k]->open && bed->upstream->sent[k]->method == method)
        return bed->upstream->sent[k];
    world_run(&bed->world, HF_MS(100));
  }
  fail_msg("no request %s is open", hf_method_info(method)->name.ptr);
  return NULL;
}

static size_t count(const struct bed *bed, enum hf_method method) {
  size_t n = 0;
  for (size_t i = 0; i < bed->upstream->sent_count; i++)
    n += bed->upstream->sent[i]->method == method;
  return n;
}

static void says(struct bed *bed, enum hf_method method, const char *result) {
  upstream_answer(open_request(bed, method), result);
  world_run(&bed->world, 0);
  fake_store_answer(&bed->store);
  world_run(&bed->world, 0);
}

/* A call of which server and client have made a task each. */
static void open_bed(struct bed *bed, const char *tool) {
  char params[128];
  memset(bed, 0, sizeof *bed);
  open_world(bed);
  fake_store_init(&bed->store, &bed->world.loop);
  hf_gateway_use_store(bed->world.gateway, &bed->store.head);
  client_open_as(&bed->world, &bed->client, "ann", HF_ERA_MODERN);
  snprintf(params, sizeof params, "\"name\":\"far__%s\",\"arguments\":{\"n\":1}", tool);
  send_as(bed, "tools/call", params);
  fake_store_answer(&bed->store);
  world_run(&bed->world, 0);
  says(bed, HF_METHOD_TOOLS_CALL,
       "{\"resultType\":\"task\",\"taskId\":\"far/1\",\"status\":\"working\",\"statusMessage\":\"half\"}");
  assert_has(bed->reply.answer, "\"resultType\":\"task\",\"taskId\":\"t-");
  const char *at = strstr(bed->reply.answer, "\"taskId\":\"") + strlen("\"taskId\":\"");
  snprintf(bed->id, sizeof bed->id, "%.*s", (int)strcspn(at, "\""), at);
}

static void close_bed(struct bed *bed) {
  fake_store_answer(&bed->store);
  reply_deinit(&bed->reply);
  client_close(&bed->client);
  world_deinit(&bed->world);
}

/* The gateway is killed, and another one begins where it was. */
static void kill_gateway(struct bed *bed) {
  const struct fake_task row = *fake_store_task(&bed->store, bed->id);
  reply_deinit(&bed->reply);
  client_close(&bed->client);
  world_deinit(&bed->world);
  fake_store_answer(&bed->store);
  *fake_store_task(&bed->store, bed->id) = row; /* of what it did when it went nothing was written */
  open_world(bed);
  fake_store_reopen(&bed->store, &bed->world.loop);
  hf_gateway_use_store(bed->world.gateway, &bed->store.head);
  hf_gateway_start(bed->world.gateway);
  world_run(&bed->world, HF_SECONDS(1));
  client_open_as(&bed->world, &bed->client, "ann", HF_ERA_MODERN);
}

static void follow_task__one_is_the_others(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, "order");
  assert_has(get(&bed), "\"status\":\"working\"");
  says(&bed, HF_METHOD_TASKS_GET, STATE("working", ",\"statusMessage\":\"three quarters\""));
  assert_has(get(&bed), "\"statusMessage\":\"three quarters\"");
  says(&bed, HF_METHOD_TASKS_GET, DONE);
  assert_has(get(&bed), "\"status\":\"completed\"");
  assert_has(bed.reply.answer, "\"text\":\"done\"}],\"x\":1.50");
  assert_null(strstr(bed.reply.answer, "far/1"));
  close_bed(&bed);
}

static void follow_task__who_cancels_one_cancels_the_other(void **state) {
  (void)state;
  struct bed bed;
  char params[128];
  open_bed(&bed, "order");
  snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed.id);
  send_as(&bed, "tasks/cancel", params);
  assert_has(open_request(&bed, HF_METHOD_TASKS_CANCEL)->text, "\"taskId\":\"far/1\"");
  close_bed(&bed);
}

static void follow_task__the_next_gateway_goes_on_with_it(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, "order");
  kill_gateway(&bed);
  const struct hf_attempt_ref *poll = open_request(&bed, HF_METHOD_TASKS_GET);
  assert_has(poll->text, "\"taskId\":\"far/1\"");
  assert_has(get(&bed), "\"status\":\"working\"");
  says(&bed, HF_METHOD_TASKS_GET, DONE);
  assert_has(get(&bed), "\"status\":\"completed\"");
  assert_has(bed.reply.answer, "\"text\":\"done\"}],\"x\":1.50");
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 0);
  close_bed(&bed);
}

/* Not even what only reads is called, nor its status asked for: the arguments are gone. */
static void follow_task__what_the_server_has_forgotten_may_have_run(void **state) {
  (void)state;
  static const char *const tools[] = {"order", "read"};
  for (size_t i = 0; i < 2; i++) {
    struct bed bed;
    open_bed(&bed, tools[i]);
    kill_gateway(&bed);
    for (int k = 0; k < 4 && !strstr(get(&bed), "\"status\":\"completed\""); k++) {
      upstream_error(open_request(&bed, HF_METHOD_TASKS_GET), -32602, "Task not found");
      world_run(&bed.world, HF_SECONDS(10));
      fake_store_answer(&bed.store);
      world_run(&bed.world, HF_SECONDS(1));
    }
    assert_has(get(&bed), "\"isError\":true");
    assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"task_lost\"");
    assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 0);
    close_bed(&bed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follow_task__one_is_the_others),
      cmocka_unit_test(follow_task__who_cancels_one_cancels_the_other),
      cmocka_unit_test(follow_task__the_next_gateway_goes_on_with_it),
      cmocka_unit_test(follow_task__what_the_server_has_forgotten_may_have_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
