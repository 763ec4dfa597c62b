#include "fake_store.h"
#include "gateway_world.h"

#include "base/alloc.h"
#include "gateway/task/task.h"
#include "gateway/task/task_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Calls that are answered by an id, for clients of both protocols. The servers here know nothing of tasks. */

#define HELLO                                                                                                          \
  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":"    \
  "\"1\"}}"
#define TOOLS "{\"tools\":[{\"name\":\"order\"},{\"name\":\"read\",\"annotations\":{\"readOnlyHint\":true}}]}"
#define KNOWS "{\"elicitation\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define DONE "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"n\":1.50}"
#define FORM "{\"jsonrpc\":\"2.0\",\"id\":\"x1\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\"}}"
#define ACCEPT "{\"action\":\"accept\",\"content\":{\"n\":1.50}}"
#define ORDER "\"name\":\"order\",\"arguments\":{\"a\":1}"

static const struct fake_server servers[] = {
    {.name = "old", .hello = HELLO, .tools = TOOLS},
};

struct bed {
  struct world world;
  struct fake_store store;
  struct fake_client client;
  struct fake_reply reply;
  struct fake_reply answer; /* of the requests about the task */
  char id[64];
};

static void assert_has(const char *text, const char *part) {
  if (!text || !strstr(text, part))
    fail_msg("'%s' is not in %s", part, text ? text : "(nothing)");
}

static void assert_lacks(const char *text, const char *part) {
  if (text && strstr(text, part))
    fail_msg("'%s' is in %s", part, text);
}

static void open_world(struct bed *bed, enum hf_task_mode mode) {
  memset(bed, 0, sizeof *bed);
  world_init(&bed->world, servers, 1);
  bed->world.settings->servers[0].instance = HF_INSTANCE_SESSION;
  bed->world.settings->tool_defaults.tasks = mode;
  bed->world.settings->tool_defaults.task_after = HF_SECONDS(10);
}

static void use_store(struct bed *bed) {
  fake_store_init(&bed->store, &bed->world.loop);
  hf_gateway_use_store(bed->world.gateway, &bed->store.head);
}

static void open_modern(struct bed *bed, enum hf_task_mode mode) {
  open_world(bed, mode);
  client_open(&bed->world, &bed->client, "old", HF_ERA_MODERN);
}

static void close_world(struct bed *bed) {
  reply_deinit(&bed->reply);
  reply_deinit(&bed->answer);
  client_close(&bed->client);
  world_deinit(&bed->world);
}

static void send_as(struct bed *bed, struct fake_client *client, struct fake_reply *reply, const char *method,
                    const char *params, const char *capabilities) {
  char text[4096];
  reply_deinit(reply);
  assert_true(snprintf(text, sizeof text,
                       "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":%s}}}",
                       method, params, capabilities) < (int)sizeof text);
  client_send(&bed->world, client, reply, text);
  world_run(&bed->world, 0);
}

/* Copies what stands between two texts. */
static void cut(const char *from, const char *before, char end, char *out, size_t size) {
  const char *at = strstr(from, before);
  assert_non_null(at);
  at += strlen(before);
  size_t len = (size_t)(strchr(at, end) - at);
  assert_true(len < size);
  memcpy(out, at, len);
  out[len] = '\0';
}

static struct hf_attempt_ref *sent(struct bed *bed) {
  return upstream_last(world_upstream(&bed->world, "old"));
}

/* A call that has become a task at once. */
static struct hf_attempt_ref *call(struct bed *bed) {
  send_as(bed, &bed->client, &bed->reply, "tools/call", ORDER, KNOWS);
  assert_has(bed->reply.answer, "\"id\":7,\"result\":{\"resultType\":\"task\",\"taskId\":\"t-");
  cut(bed->reply.answer, "\"taskId\":\"", '"', bed->id, sizeof bed->id);
  struct hf_attempt_ref *ref = sent(bed);
  assert_non_null(ref);
  upstream_handed_over(ref);
  return ref;
}

static const char *about(struct bed *bed, const char *method, const char *more) {
  char params[2048];
  assert_true(snprintf(params, sizeof params, "\"taskId\":\"%s\"%s", bed->id, more) < (int)sizeof params);
  send_as(bed, &bed->client, &bed->answer, method, params, KNOWS);
  return bed->answer.answer;
}

static const char *get(struct bed *bed) {
  return about(bed, "tasks/get", "");
}

static void task__always_is_answered_by_an_id_and_completes(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  struct hf_attempt_ref *ref = call(&bed);
  assert_int_equal(strlen(bed.id), 34);
  assert_has(bed.reply.answer, "\"status\":\"working\"");
  assert_has(bed.reply.answer, "\"createdAt\":\"2023-11-14T22:13:20.000Z\"");
  assert_has(bed.reply.answer, "\"ttlMs\":3600000,\"pollIntervalMs\":1000");
  assert_has(get(&bed), "\"result\":{\"resultType\":\"complete\",\"taskId\":\"");
  assert_has(bed.answer.answer, "\"status\":\"working\"");
  assert_lacks(bed.answer.answer, "\"result\":{\"content\"");
  world_run(&bed.world, HF_SECONDS(60)); /* longer than any client waits, and than the deadline of a call */
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"status\":\"completed\"");
  assert_has(bed.answer.answer, "\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"n\":1.50");
  assert_has(bed.answer.answer, "\"dev.holdfast/outcome\":{\"source\":\"live\",\"provider\":\"old\"");
  close_world(&bed);
}

static void task__a_client_that_does_not_know_tasks_gets_none(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  send_as(&bed, &bed.client, &bed.reply, "tools/call", ORDER, "{}");
  assert_null(bed.reply.answer);
  upstream_answer(sent(&bed), DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  snprintf(bed.id, sizeof bed.id, "t-0");
  send_as(&bed, &bed.client, &bed.answer, "tasks/get", "\"taskId\":\"t-0\"", "{}");
  assert_has(bed.answer.answer, "\"code\":-32021");
  assert_has(bed.answer.answer,
             "\"data\":{\"requiredCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}");
  assert_int_equal(bed.answer.status, 400);
  close_world(&bed);
}

static void task__cancel_stops_the_call(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  struct hf_attempt_ref *ref = call(&bed);
  assert_string_equal(about(&bed, "tasks/cancel", ""), "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":"
                                                       "\"complete\"}}");
  assert_true(ref->aborted);
  assert_has(get(&bed), "\"status\":\"cancelled\"");
  assert_has(bed.answer.answer, "The tool may have been executed");
  assert_has(about(&bed, "tasks/cancel", ""), "\"resultType\":\"complete\"");
  close_world(&bed);
}

static void task__cancel_is_answered_when_it_is_written_down(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply cancel = {0};
  char params[128];
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  struct hf_attempt_ref *ref = call(&bed);
  bed.store.slow = true;
  snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed.id);
  send_as(&bed, &bed.client, &cancel, "tasks/cancel", params, KNOWS);
  assert_null(cancel.answer);
  assert_true(ref->aborted);
  assert_has(get(&bed), "\"status\":\"working\"");
  assert_lacks(bed.answer.answer, "Cancelled");
  fake_store_answer(&bed.store);
  assert_has(cancel.answer, "\"resultType\":\"complete\"");
  assert_has(get(&bed), "\"status\":\"cancelled\",\"statusMessage\":\"Cancelled by request");
  reply_deinit(&cancel);
  close_world(&bed);
}

static void task__goes_on_when_its_client_leaves(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  struct hf_attempt_ref *ref = call(&bed);
  client_close(&bed.client);
  world_run(&bed.world, HF_SECONDS(1));
  assert_false(ref->aborted);
  client_open(&bed.world, &bed.client, "old", HF_ERA_MODERN);
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"text\":\"done\"");
  close_world(&bed);
}

static void task__result_and_list_are_not_of_the_extension(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  call(&bed);
  assert_has(about(&bed, "tasks/result", ""), "\"code\":-32601");
  assert_int_equal(bed.answer.status, 404);
  assert_has(about(&bed, "tasks/list", ""), "\"code\":-32601");
  close_world(&bed);
}

static void task__is_written_down_before_its_client_is_told(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  bed.store.slow = true;
  send_as(&bed, &bed.client, &bed.reply, "tools/call", ORDER, KNOWS);
  assert_null(bed.reply.answer);
  assert_true(fake_store_answer_one(&bed.store));
  assert_has(bed.reply.answer, "\"resultType\":\"task\"");
  cut(bed.reply.answer, "\"taskId\":\"", '"', bed.id, sizeof bed.id);
  bed.store.slow = false;
  fake_store_answer(&bed.store);
  world_run(&bed.world, 0);
  bed.store.slow = true;
  upstream_answer(sent(&bed), DONE);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"status\":\"working\""); /* its end is being written down */
  fake_store_answer(&bed.store);
  assert_has(get(&bed), "\"status\":\"completed\"");
  const struct hf_stored_task *row = &fake_store_task(&bed.store, bed.id)->row;
  assert_non_null(row);
  assert_int_equal(row->status, HF_TASK_COMPLETED);
  assert_has(row->result.ptr, "\"text\":\"done\"");
  close_world(&bed);
}

static void task__that_has_ended_is_told_though_its_store_is_slow(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  struct hf_attempt_ref *ref = call(&bed);
  bed.store.slow = true;
  upstream_answer(ref, DONE);
  world_run(&bed.world, HF_MS(1900));
  assert_has(get(&bed), "\"status\":\"working\"");
  world_run(&bed.world, HF_MS(200));
  assert_has(get(&bed), "\"status\":\"completed\"");
  fake_store_answer(&bed.store);
  assert_has(get(&bed), "\"text\":\"done\"");
  assert_int_equal(fake_store_task(&bed.store, bed.id)->row.status, HF_TASK_COMPLETED);
  close_world(&bed);
}

static void task__a_store_that_takes_nothing_leaves_a_call_as_any_other(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  bed.store.error = HF_ERR_IO;
  send_as(&bed, &bed.client, &bed.reply, "tools/call", ORDER, KNOWS);
  assert_null(bed.reply.answer);
  upstream_answer(sent(&bed), DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  close_world(&bed);
}

static void task__auto_becomes_one_when_it_lasts(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_AUTO);
  use_store(&bed);
  send_as(&bed, &bed.client, &bed.reply, "tools/call", ORDER, KNOWS);
  struct hf_attempt_ref *ref = sent(&bed);
  upstream_handed_over(ref);
  world_run(&bed.world, HF_MS(9999));
  assert_null(bed.reply.answer);
  world_run(&bed.world, HF_MS(1));
  assert_has(bed.reply.answer, "\"resultType\":\"task\"");
  cut(bed.reply.answer, "\"taskId\":\"", '"', bed.id, sizeof bed.id);
  world_run(&bed.world, HF_SECONDS(100));
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"text\":\"done\"");
  send_as(&bed, &bed.client, &bed.reply, "tools/call", ORDER, KNOWS);
  upstream_answer(sent(&bed), DONE);
  assert_has(bed.reply.answer, "\"resultType\":\"complete\""); /* quick enough */
  close_world(&bed);
}

static void task__never_makes_none(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_NEVER);
  send_as(&bed, &bed.client, &bed.reply, "tools/call", ORDER, KNOWS);
  struct hf_attempt_ref *ref = sent(&bed);
  upstream_handed_over(ref);
  world_run(&bed.world, HF_SECONDS(50));
  assert_null(bed.reply.answer);
  upstream_answer(ref, DONE);
  assert_has(bed.reply.answer, "\"resultType\":\"complete\"");
  send_as(&bed, &bed.client, &bed.reply, "server/discover", "\"x\":1", "{}");
  assert_lacks(bed.reply.answer, "extensions");
  close_world(&bed);
}

static void task__is_declared_to_those_who_discover(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_AUTO);
  send_as(&bed, &bed.client, &bed.reply, "server/discover", "\"x\":1", "{}");
  assert_has(bed.reply.answer, "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}");
  close_world(&bed);
}

static void task__is_nobody_elses(void **state) {
  (void)state;
  struct bed bed;
  struct fake_client other, elsewhere;
  open_world(&bed, HF_TASKS_ALWAYS);
  client_open_as(&bed.world, &bed.client, "alice", HF_ERA_MODERN);
  client_open_as(&bed.world, &other, "bob", HF_ERA_MODERN);
  client_open(&bed.world, &elsewhere, "old", HF_ERA_MODERN);
  send_as(&bed, &bed.client, &bed.reply, "tools/call", "\"name\":\"old__order\",\"arguments\":{\"a\":1}", KNOWS);
  cut(bed.reply.answer, "\"taskId\":\"", '"', bed.id, sizeof bed.id);
  char mine[512], never[512];
  char params[128];
  snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed.id);
  send_as(&bed, &other, &bed.answer, "tasks/get", params, KNOWS);
  snprintf(mine, sizeof mine, "%s", bed.answer.answer);
  send_as(&bed, &other, &bed.answer, "tasks/get", "\"taskId\":\"t-00000000000000000000000000000000\"", KNOWS);
  snprintf(never, sizeof never, "%s", bed.answer.answer);
  assert_has(mine, "\"code\":-32602");
  assert_string_equal(mine, never);
  send_as(&bed, &elsewhere, &bed.answer, "tasks/cancel", params, KNOWS);
  assert_has(bed.answer.answer, "\"code\":-32602");
  assert_has(get(&bed), "\"status\":\"working\"");
  client_close(&other);
  client_close(&elsewhere);
  close_world(&bed);
}

static void task__too_many_are_calls_as_any_other(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  bed.world.settings->limits.tasks_per_client = 1;
  call(&bed);
  send_as(&bed, &bed.client, &bed.reply, "tools/call", "\"name\":\"order\",\"arguments\":{\"a\":2}", KNOWS);
  assert_null(bed.reply.answer);
  upstream_answer(sent(&bed), DONE);
  assert_has(bed.reply.answer, "\"resultType\":\"complete\"");
  close_world(&bed);
}

static void task__expires(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  bed.world.settings->limits.task_ttl = HF_SECONDS(100);
  use_store(&bed);
  struct hf_attempt_ref *ref = call(&bed);
  world_run(&bed.world, HF_SECONDS(1));
  upstream_answer(ref, DONE);
  world_run(&bed.world, HF_SECONDS(98));
  assert_has(get(&bed), "\"status\":\"completed\"");
  world_run(&bed.world, HF_SECONDS(1));
  assert_has(get(&bed), "\"code\":-32602");
  assert_null(fake_store_task(&bed.store, bed.id));
  close_world(&bed);
}

static void task__an_error_fails_it_and_a_tools_own_does_not(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  upstream_answer(call(&bed), "{\"content\":[{\"type\":\"text\",\"text\":\"no such order\"}],\"isError\":true}");
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"status\":\"completed\",\"statusMessage\":\"no such order\"");
  assert_has(bed.answer.answer, "\"isError\":true");
  upstream_error(call(&bed), -32602, "bad");
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"status\":\"failed\",\"statusMessage\":\"bad\"");
  assert_has(bed.answer.answer, "\"code\":-32602,\"message\":\"bad\"}}");
  close_world(&bed);
}

static void task__asks_and_goes_on_with_the_answer(void **state) {
  (void)state;
  struct bed bed;
  char key[64], more[256];
  open_modern(&bed, HF_TASKS_ALWAYS);
  struct hf_attempt_ref *ref = call(&bed);
  struct fake_upstream *upstream = world_upstream(&bed.world, "old");
  upstream_message(upstream, ref, FORM);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"status\":\"input_required\"");
  assert_has(bed.answer.answer, ":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\"}}}");
  cut(bed.answer.answer, "\"inputRequests\":{\"", '"', key, sizeof key);
  assert_has(about(&bed, "tasks/update", ",\"inputResponses\":{\"other\":{}}"), "\"resultType\":\"complete\"");
  assert_has(get(&bed), "\"status\":\"input_required\"");
  snprintf(more, sizeof more, ",\"inputResponses\":{\"%s\":" ACCEPT "}", key);
  assert_string_equal(about(&bed, "tasks/update", more),
                      "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":\"complete\"}}");
  assert_string_equal(upstream->posted[0], "{\"jsonrpc\":\"2.0\",\"id\":\"x1\",\"result\":" ACCEPT "}");
  assert_has(get(&bed), "\"status\":\"working\"");
  assert_has(about(&bed, "tasks/update", more), "\"resultType\":\"complete\""); /* once more: it is not looked at */
  assert_int_equal(upstream->posted_count, 1);
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"text\":\"done\"");
  close_world(&bed);
}

static void task__a_question_that_nobody_answers_ends_it(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  struct hf_attempt_ref *ref = call(&bed);
  upstream_message(world_upstream(&bed.world, "old"), ref, FORM);
  world_run(&bed.world, HF_SECONDS(601));
  assert_true(ref->aborted);
  assert_has(get(&bed), "\"status\":\"completed\"");
  assert_has(bed.answer.answer, "nobody answered in time");
  close_world(&bed);
}

static void task__listeners_are_told(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply listen = {0};
  char params[256];
  open_modern(&bed, HF_TASKS_ALWAYS);
  struct hf_attempt_ref *ref = call(&bed);
  snprintf(params, sizeof params, "\"notifications\":{\"taskIds\":[\"%s\",\"t-1\",\"%s\"]}", bed.id, bed.id);
  send_as(&bed, &bed.client, &listen, "subscriptions/listen", params, "{}");
  assert_has(listen.answer, "\"code\":-32021");
  send_as(&bed, &bed.client, &listen, "subscriptions/listen", params, KNOWS);
  assert_null(listen.answer);
  snprintf(params, sizeof params, "\"notifications\":{\"taskIds\":[\"%s\"]}", bed.id);
  assert_has(listen.messages[0], params);
  assert_int_equal(listen.message_count, 1);
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_int_equal(listen.message_count, 2);
  assert_has(listen.messages[1], "\"method\":\"notifications/tasks\",\"params\":{\"taskId\":\"t-");
  assert_has(listen.messages[1], "\"text\":\"done\"");
  assert_has(listen.messages[1], "\"io.modelcontextprotocol/subscriptionId\":7");
  reply_deinit(&listen);
  close_world(&bed);
}

/* Another gateway comes, and finds what was in the store by then. */
static void start_again(struct bed *bed, bool died) {
  static struct fake_store kept; /* too large for the stack */
  char id[sizeof bed->id];
  kept = bed->store;
  memcpy(id, bed->id, sizeof id);
  client_close(&bed->client);
  world_deinit(&bed->world);
  reply_deinit(&bed->reply);
  reply_deinit(&bed->answer);
  open_modern(bed, HF_TASKS_ALWAYS);
  memcpy(bed->id, id, sizeof id);
  bed->store = kept;
  fake_store_reopen(&bed->store, &bed->world.loop);
  if (died)
    (void)fake_store_owner_died(&bed->store);
  hf_gateway_use_store(bed->world.gateway, &bed->store.head);
  world_run(&bed->world, 0);
}

/* It tells nothing any more, and tasks/get tells all. */
static void task__that_is_in_the_store_only_is_not_listened_to(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply listen = {0};
  char params[256];
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  upstream_answer(call(&bed), DONE);
  world_run(&bed.world, 0);
  start_again(&bed, false);
  snprintf(params, sizeof params, "\"notifications\":{\"taskIds\":[\"%s\"]}", bed.id);
  send_as(&bed, &bed.client, &listen, "subscriptions/listen", params, KNOWS);
  assert_int_equal(listen.message_count, 1);
  assert_has(listen.messages[0], "\"notifications\":{\"taskIds\":[]}");
  assert_has(get(&bed), "\"text\":\"done\"");
  reply_deinit(&listen);
  close_world(&bed);
}

static void task__one_that_a_dead_gateway_ran_says_so(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  call(&bed);
  start_again(&bed, true);
  assert_has(get(&bed), "\"status\":\"completed\"");
  assert_has(bed.answer.answer, "The tool may have been executed: nobody knows.");
  assert_has(bed.answer.answer, "[dead letter d-");
  assert_has(bed.answer.answer, "\"executed\":\"maybe\",\"reason\":\"task_lost\"");
  close_world(&bed);
}

static void task__one_that_ended_is_read_from_the_store(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  upstream_answer(call(&bed), DONE);
  world_run(&bed.world, 0);
  start_again(&bed, false);
  assert_has(get(&bed), "\"status\":\"completed\"");
  assert_has(bed.answer.answer, "\"text\":\"done\"");
  struct fake_client other;
  char params[128];
  client_open_as(&bed.world, &other, "bob", HF_ERA_MODERN);
  snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed.id);
  send_as(&bed, &other, &bed.answer, "tasks/get", params, KNOWS);
  assert_has(bed.answer.answer, "\"code\":-32602");
  client_close(&other);
  close_world(&bed);
}

static void task__shutdown_answers_what_runs(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  struct hf_attempt_ref *ref = call(&bed);
  hf_gateway_drain(bed.world.gateway, NULL, NULL);
  world_run(&bed.world, HF_SECONDS(6));
  assert_true(ref->aborted);
  const struct hf_stored_task *row = &fake_store_task(&bed.store, bed.id)->row;
  assert_int_equal(row->status, HF_TASK_COMPLETED);
  assert_has(row->result.ptr, "\"isError\":true");
  assert_has(row->result.ptr, "may have been executed");
  close_world(&bed);
}

static void task__that_another_gateway_runs_can_be_read_and_no_more(void **state) {
  (void)state;
  struct bed bed;
  open_modern(&bed, HF_TASKS_ALWAYS);
  use_store(&bed);
  const struct hf_stored_task theirs = {.id = HF_STR("t-theirs"),
                                        .principal = HF_STR(""),
                                        .endpoint = HF_STR("old"),
                                        .call = HF_STR("c-theirs"),
                                        .tool = HF_STR("s__order"),
                                        .status = HF_TASK_INPUT_REQUIRED,
                                        .created_ms = bed.world.loop.wall_ms,
                                        .updated_ms = bed.world.loop.wall_ms,
                                        .expires_ms = bed.world.loop.wall_ms + 1000};
  bed.store.head.ops->keep_task(&bed.store.head, &theirs, NULL);
  fake_store_answer(&bed.store);
  fake_store_task(&bed.store, "t-theirs")->row.elsewhere = true;
  snprintf(bed.id, sizeof bed.id, "t-theirs");
  assert_has(get(&bed), "\"status\":\"working\"");
  assert_has(get(&bed), "another gateway runs it");
  send_as(&bed, &bed.client, &bed.answer, "tasks/cancel", "\"taskId\":\"t-theirs\"", KNOWS);
  fake_store_answer(&bed.store);
  world_run(&bed.world, 0);
  assert_has(bed.answer.answer, "read, but not changed");
  close_world(&bed);
}

/* Clients of 2025-11-25. */

static void open_old(struct bed *bed, const char *principal) {
  if (principal)
    client_open_as(&bed->world, &bed->client, principal, HF_ERA_LEGACY);
  else
    client_open(&bed->world, &bed->client, "old", HF_ERA_LEGACY);
  client_send(&bed->world, &bed->client, &bed->reply,
              "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
              "\"capabilities\":{\"elicitation\":{}},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
  world_run(&bed->world, 0);
  client_send(&bed->world, &bed->client, NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void open_legacy(struct bed *bed, enum hf_task_mode mode, const char *principal) {
  open_world(bed, mode);
  open_old(bed, principal);
}

static void send_old(struct bed *bed, struct fake_reply *reply, const char *id, const char *method,
                     const char *params) {
  char text[2048];
  reply_deinit(reply);
  assert_true(snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{%s}}", id,
                       method, params) < (int)sizeof text);
  client_send(&bed->world, &bed->client, reply, text);
  world_run(&bed->world, 0);
}

static struct hf_attempt_ref *call_old(struct bed *bed, const char *more) {
  char params[512];
  snprintf(params, sizeof params, ORDER ",\"task\":{\"ttl\":60000}%s", more);
  send_old(bed, &bed->reply, "1", "tools/call", params);
  assert_has(bed->reply.answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"task\":{\"taskId\":\"t-");
  cut(bed->reply.answer, "\"taskId\":\"", '"', bed->id, sizeof bed->id);
  struct hf_attempt_ref *ref = sent(bed);
  assert_non_null(ref);
  upstream_handed_over(ref);
  return ref;
}

static const char *about_old(struct bed *bed, const char *method) {
  char params[128];
  snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed->id);
  send_old(bed, &bed->answer, "2", method, params);
  return bed->answer.answer;
}

static void task__of_2025_11_25_is_asked_for_and_its_result_waited_for(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply result = {0};
  char params[128];
  open_legacy(&bed, HF_TASKS_AUTO, NULL);
  assert_has(bed.reply.answer, "\"tasks\":{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}");
  struct hf_attempt_ref *ref = call_old(&bed, "");
  assert_lacks(ref->text, "\"task\"");
  assert_lacks(ref->text, "2026-07-28");
  assert_has(bed.reply.answer, "\"ttl\":60000,\"pollInterval\":1000");
  assert_has(about_old(&bed, "tasks/get"), "\"result\":{\"taskId\":\"t-");
  assert_has(bed.answer.answer, "\"status\":\"working\"");
  snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed.id);
  send_old(&bed, &result, "9", "tasks/result", params);
  assert_null(result.answer);
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(result.answer, "\"id\":9");
  assert_has(result.answer, "\"text\":\"done\"}],\"n\":1.50");
  assert_has(result.answer, "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t-");
  assert_lacks(result.answer, "resultType");
  assert_has(bed.client.notified[0], "\"method\":\"notifications/tasks/status\",\"params\":{\"taskId\":\"t-");
  assert_has(bed.client.notified[0], "\"status\":\"completed\"");
  assert_has(about_old(&bed, "tasks/cancel"), "\"code\":-32602");
  assert_has(about_old(&bed, "tasks/update"), "\"code\":-32601");
  assert_has(about_old(&bed, "tasks/list"), "\"code\":-32601");
  reply_deinit(&result);
  close_world(&bed);
}

static void task__of_2025_11_25_is_cancelled_before_the_answer(void **state) {
  (void)state;
  struct bed bed;
  open_legacy(&bed, HF_TASKS_AUTO, NULL);
  use_store(&bed);
  struct hf_attempt_ref *ref = call_old(&bed, "");
  assert_has(about_old(&bed, "tasks/cancel"), "\"result\":{\"taskId\":\"t-");
  assert_has(bed.answer.answer, "\"status\":\"cancelled\"");
  assert_true(ref->aborted);
  assert_has(about_old(&bed, "tasks/cancel"), "\"code\":-32602");
  assert_has(bed.answer.answer, "it is cancelled");
  assert_has(about_old(&bed, "tasks/result"), "\"error\":{");
  close_world(&bed);
}

static void task__of_2025_11_25_fails_by_a_tools_own_error(void **state) {
  (void)state;
  struct bed bed;
  open_legacy(&bed, HF_TASKS_AUTO, NULL);
  upstream_answer(call_old(&bed, ""), "{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}");
  world_run(&bed.world, 0);
  assert_has(about_old(&bed, "tasks/get"), "\"status\":\"failed\",\"statusMessage\":\"no\"");
  assert_has(about_old(&bed, "tasks/result"), "\"result\":{");
  assert_has(bed.answer.answer, "\"isError\":true");
  close_world(&bed);
}

static void task__of_2025_11_25_asks_on_the_stream_of_its_result(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply result = {0};
  char params[128], id[32], text[256];
  open_legacy(&bed, HF_TASKS_AUTO, NULL);
  struct hf_attempt_ref *ref = call_old(&bed, ",\"_meta\":{\"progressToken\":\"p\"}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "old");
  upstream_message(upstream, ref, FORM);
  world_run(&bed.world, 0);
  assert_has(about_old(&bed, "tasks/get"), "\"status\":\"input_required\"");
  snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed.id);
  send_old(&bed, &result, "9", "tasks/result", params);
  assert_has(result.messages[0], "\"method\":\"elicitation/create\"");
  assert_has(result.messages[0], "\"message\":\"Who?\"");
  assert_has(result.messages[0], "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t-");
  cut(result.messages[0], "\"id\":", ',', id, sizeof id);
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":" ACCEPT "}", id);
  client_send(&bed.world, &bed.client, NULL, text);
  world_run(&bed.world, 0);
  assert_string_equal(upstream->posted[0], "{\"jsonrpc\":\"2.0\",\"id\":\"x1\",\"result\":" ACCEPT "}");
  assert_has(about_old(&bed, "tasks/get"), "\"status\":\"working\"");
  upstream_message(upstream, ref,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                   "\"progress\":1,\"message\":\"half\"}}");
  assert_has(result.messages[1], "\"progressToken\":\"p\"");
  assert_has(about_old(&bed, "tasks/get"), "\"statusMessage\":\"half\"");
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(result.answer, "\"text\":\"done\"");
  reply_deinit(&result);
  close_world(&bed);
}

/* Each side hears of its own id of the task only. */
static void task__of_2025_11_25_has_another_id_at_its_server(void **state) {
  (void)state;
#define RELATED(id) "\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"" id "\"}}"
  struct bed bed;
  struct fake_reply result = {0};
  char params[128], id[32], text[512];
  open_legacy(&bed, HF_TASKS_AUTO, NULL);
  struct hf_attempt_ref *ref = call_old(&bed, "");
  struct fake_upstream *upstream = world_upstream(&bed.world, "old");
  snprintf(params, sizeof params, "\"taskId\":\"%s\"", bed.id);
  send_old(&bed, &result, "9", "tasks/result", params);
  static const char *const questions[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":\"x1\",\"method\":\"elicitation/create\",\"params\":{"
      "\"message\":\"Who?\"," RELATED("far/9") "}}",
      FORM};
  for (size_t i = 0; i < 2; i++) {
    upstream_message(upstream, ref, questions[i]);
    world_run(&bed.world, 0);
    assert_has(result.messages[i], "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t-");
    assert_lacks(result.messages[i], "far/9");
    cut(result.messages[i], "\"id\":", ',', id, sizeof id);
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"decline\"," RELATED("%s") "}}",
             id, bed.id);
    client_send(&bed.world, &bed.client, NULL, text);
    world_run(&bed.world, 0);
  }
  assert_int_equal(upstream->posted_count, 2);
  assert_has(upstream->posted[0], RELATED("far/9"));
  assert_lacks(upstream->posted[0], bed.id);
  assert_has(upstream->posted[1], "\"action\":\"decline\"");
  assert_lacks(upstream->posted[1], "related-task");
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(result.answer, "\"text\":\"done\"");
  reply_deinit(&result);
  close_world(&bed);
#undef RELATED
}

static void task__of_2025_11_25_is_listed_for_who_has_a_name(void **state) {
  (void)state;
  struct bed bed;
  for (int stored = 0; stored < 2; stored++) {
    open_legacy(&bed, HF_TASKS_AUTO, "alice");
    if (stored)
      use_store(&bed);
    assert_has(bed.reply.answer, "\"tasks\":{\"list\":{},\"cancel\":{}");
    send_old(&bed, &bed.reply, "1", "tools/call", "\"name\":\"old__order\",\"arguments\":{\"a\":1},\"task\":{}");
    cut(bed.reply.answer, "\"taskId\":\"", '"', bed.id, sizeof bed.id);
    send_old(&bed, &bed.answer, "2", "tasks/list", "");
    assert_has(bed.answer.answer, "\"result\":{\"tasks\":[{\"taskId\":\"");
    assert_has(bed.answer.answer, bed.id);
    assert_lacks(bed.answer.answer, "nextCursor");
    send_old(&bed, &bed.answer, "2", "tasks/list", "\"cursor\":\"nonsense\"");
    assert_has(bed.answer.answer, "\"code\":-32602");
    close_world(&bed);
  }
}

static void task__of_2025_11_25_is_refused_where_there_are_none(void **state) {
  (void)state;
  struct bed bed;
  open_legacy(&bed, HF_TASKS_NEVER, NULL);
  assert_lacks(bed.reply.answer, "\"tasks\":");
  send_old(&bed, &bed.reply, "1", "tools/call", ORDER ",\"task\":{}");
  upstream_answer(sent(&bed), DONE); /* nobody promised anything, and it is ignored */
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  bed.world.settings->tool_count = 1;
  struct hf_tool_settings tool = bed.world.settings->tool_defaults;
  tool.server = HF_STR("old");
  tool.pattern = HF_STR("old__read");
  tool.tasks = HF_TASKS_ALWAYS;
  bed.world.settings->tools = &tool;
  send_old(&bed, &bed.reply, "1", "tools/call", ORDER ",\"task\":{}");
  assert_has(bed.reply.answer, "\"code\":-32601");
  send_old(&bed, &bed.reply, "1", "tools/call", "\"name\":\"read\",\"task\":7");
  assert_has(bed.reply.answer, "\"code\":-32602");
  send_old(&bed, &bed.reply, "1", "tools/call", "\"name\":\"rad\",\"task\":{}");
  assert_has(bed.reply.answer, "\"error\":{");
  close_world(&bed);
}

static void task__lists_say_what_the_gateway_does(void **state) {
  (void)state;
  static const struct fake_server many[] = {
      {.name = "old",
       .hello = HELLO,
       .tools = "{\"tools\":[{\"name\":\"a\",\"execution\":{\"taskSupport\":\"required\",\"x\":1.0}},{\"name\":\"b\"},{"
                "\"name\":\"c\",\"execution\":{}},{\"name\":\"d\",\"execution\":{\"taskSupport\":\"optional\"}}]}"}};
  static const struct {
    enum hf_task_mode mode;
    const char *a, *b, *c, *d;
  } rows[] = {
      {HF_TASKS_AUTO, "\"taskSupport\":\"optional\",\"x\":1.0", "{\"name\":\"b\"}", "\"execution\":{}}",
       "{\"name\":\"d\",\"execution\":{\"taskSupport\":\"optional\"}}"},
      {HF_TASKS_ALWAYS, "\"taskSupport\":\"optional\",\"x\":1.0",
       "{\"execution\":{\"taskSupport\":\"optional\"},\"name\":\"b\"}", "\"execution\":{\"taskSupport\":\"optional\"}}",
       "{\"name\":\"d\",\"execution\":{\"taskSupport\":\"optional\"}}"},
  };
  struct bed bed;
  for (size_t i = 0; i < 2; i++) {
    memset(&bed, 0, sizeof bed);
    world_init(&bed.world, many, 1);
    bed.world.settings->tool_defaults.tasks = rows[i].mode;
    open_old(&bed, NULL);
    send_old(&bed, &bed.answer, "2", "tools/list", "");
    assert_has(bed.answer.answer, rows[i].a);
    assert_has(bed.answer.answer, rows[i].b);
    assert_has(bed.answer.answer, rows[i].c);
    assert_has(bed.answer.answer, rows[i].d);
    close_world(&bed);
  }
}

/* Servers that make tasks themselves. */

#define FAR_HELLO                                                                                                      \
  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{},\"extensions\":" \
  "{"                                                                                                                  \
  "\"io.modelcontextprotocol/tasks\":{}}},\"ttlMs\":0,\"cacheScope\":\"private\"}"
#define FAR_STATE(type, status, more)                                                                                  \
  "{\"resultType\":\"" type "\",\"taskId\":\"s/1\",\"status\":\"" status                                               \
  "\",\"createdAt\":\"2025-11-25T10:30:00Z\",\"lastUpdatedAt\":\"2025-11-25T10:30:00Z\",\"ttlMs\":60000,"              \
  "\"pollIntervalMs\":100" more "}"

static const struct fake_server far[] = {
    {.name = "old", .hello = FAR_HELLO, .tools = TOOLS, .era = HF_ERA_MODERN},
};

static void open_far(struct bed *bed) {
  memset(bed, 0, sizeof *bed);
  world_init(&bed->world, far, 1);
  bed->world.settings->tool_defaults.task_after = HF_SECONDS(10);
  client_open(&bed->world, &bed->client, "old", HF_ERA_MODERN);
}

static void answer_poll(struct bed *bed, const char *result) {
  struct hf_attempt_ref *ref = NULL;
  for (int i = 0; i < 100 && !ref; i++) {
    world_run(&bed->world, HF_MS(20));
    ref = sent(bed);
  }
  assert_non_null(ref);
  assert_int_equal(ref->method, HF_METHOD_TASKS_GET);
  assert_has(ref->text, "\"taskId\":\"s/1\"");
  upstream_answer(ref, result);
  world_run(&bed->world, 0);
}

static void call_far(struct bed *bed) {
  send_as(bed, &bed->client, &bed->reply, "tools/call", ORDER, KNOWS);
  struct hf_attempt_ref *ref = sent(bed);
  assert_int_equal(ref->method, HF_METHOD_TOOLS_CALL);
  upstream_answer(ref, FAR_STATE("task", "working", ""));
  world_run(&bed->world, 0);
  assert_has(bed->reply.answer, "\"resultType\":\"task\",\"taskId\":\"t-");
  cut(bed->reply.answer, "\"taskId\":\"", '"', bed->id, sizeof bed->id);
}

static void task__of_a_server_is_one_at_once(void **state) {
  (void)state;
  struct bed bed;
  open_far(&bed);
  use_store(&bed);
  call_far(&bed);
  assert_string_equal(fake_store_task(&bed.store, bed.id)->row.server_task.ptr, "s/1");
  answer_poll(&bed, FAR_STATE("complete", "working", ",\"statusMessage\":\"half\""));
  assert_has(get(&bed), "\"statusMessage\":\"half\"");
  answer_poll(&bed, FAR_STATE("complete", "completed", ",\"result\":" DONE));
  assert_has(get(&bed), "\"text\":\"done\"}],\"n\":1.50");
  close_world(&bed);
}

static void task__a_message_is_cut_at_its_limit(void **state) {
  (void)state;
  struct bed bed;
  char words[HF_TASK_MESSAGE_MAX + 2], more[HF_TASK_MESSAGE_MAX + 64], shown[HF_TASK_MESSAGE_MAX + 64];
  memset(words, 'a', HF_TASK_MESSAGE_MAX + 1);
  words[HF_TASK_MESSAGE_MAX + 1] = '\0';
  open_far(&bed);
  call_far(&bed);
  snprintf(more, sizeof more, ",\"statusMessage\":\"%s\"", words);
  char text[2 * sizeof more];
  snprintf(text, sizeof text, FAR_STATE("complete", "working", "%s"), more);
  answer_poll(&bed, text);
  snprintf(shown, sizeof shown, "\"statusMessage\":\"%s\"", words + 1);
  assert_has(get(&bed), shown);
  close_world(&bed);
}

/* A modern server that asks by the answers to its calls, whatever they bring. */
static void ask_by_answers(struct bed *bed, const char *requests, int rounds) {
  char key[64], more[256], result[2048];
  open_far(bed);
  bed->world.settings->tool_defaults.tasks = HF_TASKS_ALWAYS;
  send_as(bed, &bed->client, &bed->reply, "tools/call", ORDER, KNOWS);
  cut(bed->reply.answer, "\"taskId\":\"", '"', bed->id, sizeof bed->id);
  for (int i = 0; i < rounds; i++) {
    snprintf(result, sizeof result,
             "{\"resultType\":\"input_required\",\"inputRequests\":{%s},\"requestState\":\"st%d\"}", requests, i);
    upstream_answer(sent(bed), result);
    world_run(&bed->world, 0);
    if (!strstr(get(bed), "\"status\":\"input_required\""))
      return;
    cut(bed->answer.answer, "\"inputRequests\":{\"", '"', key, sizeof key);
    snprintf(more, sizeof more, ",\"inputResponses\":{\"%s\":" ACCEPT "}", key);
    about(bed, "tasks/update", more);
    world_run(&bed->world, 0);
  }
}

#define ASK "{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\"}}"

static void task__asks_for_a_modern_server_and_gives_its_state_back(void **state) {
  (void)state;
  struct bed bed;
  char keys[2][512];
  ask_by_answers(&bed, "\"who\":" ASK, 1);
  struct hf_attempt_ref *ref = sent(&bed);
  assert_non_null(ref);
  assert_has(ref->text, "\"requestState\":\"st0\"");
  assert_has(ref->text, "\"inputResponses\":{\"who\":" ACCEPT "}");
  assert_has(ref->text, "\"name\":\"order\",\"arguments\":{\"a\":1}");
  upstream_answer(ref, "{\"resultType\":\"input_required\",\"inputRequests\":{\"who\":" ASK "}}");
  world_run(&bed.world, 0);
  snprintf(keys[0], sizeof keys[0], "%s", get(&bed));
  assert_has(keys[0], "\"2.who\":"); /* a key is never the same as one before */
  about(&bed, "tasks/update", ",\"inputResponses\":{\"2.who\":{\"action\":\"decline\"}}");
  world_run(&bed.world, 0);
  ref = sent(&bed);
  assert_has(ref->text, "\"inputResponses\":{\"who\":{\"action\":\"decline\"}}");
  assert_lacks(ref->text, "requestState");
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"text\":\"done\"");
  close_world(&bed);
}

static void task__rounds_have_an_end(void **state) {
  (void)state;
  struct bed bed;
  ask_by_answers(&bed, "\"who\":" ASK, 17);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"status\":\"completed\"");
  assert_has(bed.answer.answer, "it asked too often");
  close_world(&bed);
}

static void task__asks_only_so_much_at_once(void **state) {
  (void)state;
  struct bed bed;
  char requests[2048] = "";
  for (int i = 0; i < 17; i++) {
    size_t len = strlen(requests);
    snprintf(requests + len, sizeof requests - len, "%s\"k%d\":" ASK, i ? "," : "", i);
  }
  ask_by_answers(&bed, requests, 1);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "too much was asked at once");
  close_world(&bed);
}

/* 40 answers of 2 MiB: the first ones are not in memory any more, and without a store nowhere. */
static void task__results_in_memory_are_bounded(void **state) {
  (void)state;
  enum { SIZE = 2 << 20, COUNT = 40 };
  struct bed bed;
  char first[sizeof bed.id];
  char *large = calloc(1, SIZE + 128);
  snprintf(large, 128, "{\"content\":[],\"x\":\"");
  memset(large + strlen(large), 'a', SIZE);
  memcpy(large + strlen(large), "\"}", 3);
  open_modern(&bed, HF_TASKS_ALWAYS);
  for (int i = 0; i < COUNT; i++) {
    upstream_answer(call(&bed), large);
    world_run(&bed.world, 0);
    if (i == 0)
      memcpy(first, bed.id, sizeof first);
  }
  assert_has(get(&bed), "\"status\":\"completed\"");
  memcpy(bed.id, first, sizeof first);
  assert_has(get(&bed), "\"code\":-32602");
  free(large);
  close_world(&bed);
}

static void restart_far(struct bed *bed, bool drained) {
  static struct fake_store kept;
  char id[sizeof bed->id];
  if (drained) {
    hf_gateway_drain(bed->world.gateway, NULL, NULL);
    world_run(&bed->world, HF_SECONDS(6));
  }
  kept = bed->store;
  memcpy(id, bed->id, sizeof id);
  client_close(&bed->client);
  world_deinit(&bed->world);
  reply_deinit(&bed->reply);
  reply_deinit(&bed->answer);
  open_far(bed);
  memcpy(bed->id, id, sizeof id);
  bed->store = kept;
  fake_store_reopen(&bed->store, &bed->world.loop);
  assert_int_equal(fake_store_owner_died(&bed->store), 0); /* no letter: its server can be asked */
  hf_gateway_use_store(bed->world.gateway, &bed->store.head);
}

static void task__of_a_server_is_followed_by_the_next_gateway(void **state) {
  (void)state;
  struct bed bed;
  for (int drained = 0; drained < 2; drained++) {
    open_far(&bed);
    use_store(&bed);
    call_far(&bed);
    restart_far(&bed, drained);
    assert_has(get(&bed), "\"status\":\"working\"");
    answer_poll(&bed, FAR_STATE("complete", "completed", ",\"result\":" DONE));
    assert_has(get(&bed), "\"status\":\"completed\"");
    assert_has(bed.answer.answer, "\"text\":\"done\"}],\"n\":1.50");
    assert_int_equal(fake_store_open_intents(&bed.store), 0);
    assert_int_equal(fake_store_letters(&bed.store), 0);
    close_world(&bed);
  }
}

enum loss { LOST_DOWN, LOST_FULL, LOST_CANCELLED, LOST_COUNT };

static void lose_far(struct bed *bed, enum loss loss) {
  bed->world.servers[0].hello = NULL; /* it does not get ready by itself */
  world_run(&bed->world, 0);
  struct fake_upstream *upstream = world_upstream(&bed->world, "old");
  upstream->full = loss == LOST_FULL;
  if (loss == LOST_DOWN)
    upstream_down(upstream, HF_EVIDENCE_NOT_STARTED, "gone");
  else if (loss == LOST_CANCELLED)
    about(bed, "tasks/cancel", "");
  else
    upstream_ready(upstream);
  world_run(&bed->world, 0);
  world_run(&bed->world, HF_SECONDS(1000));
}

/* What an earlier gateway sent may have run, whatever comes of asking for it. */
static void task__of_a_server_that_is_lost_may_have_run(void **state) {
  (void)state;
  struct bed bed;
  for (int loss = 0; loss < LOST_COUNT; loss++) {
    open_far(&bed);
    use_store(&bed);
    call_far(&bed);
    restart_far(&bed, false);
    lose_far(&bed, (enum loss)loss);
    assert_has(get(&bed), loss == LOST_CANCELLED ? "\"status\":\"cancelled\"" : "\"executed\":\"maybe\"");
    assert_has(bed.answer.answer, "may have been executed");
    assert_null(strstr(bed.answer.answer, "not executed"));
    close_world(&bed);
  }
}

/* Who took it over was never told its arguments, but the store was. */
static void task__that_its_server_forgets_after_a_restart_leaves_its_arguments(void **state) {
  (void)state;
  struct bed bed;
  open_far(&bed);
  use_store(&bed);
  call_far(&bed);
  const struct hf_fingerprint fingerprint = bed.store.intents[0].fingerprint;
  restart_far(&bed, false);
  bed.world.settings->tool_defaults.letters = HF_LETTER_UNSAFE;
  for (int i = 0; i < 1000 && !fake_store_letters(&bed.store); i++) {
    world_run(&bed.world, HF_MS(100));
    struct hf_attempt_ref *ref = sent(&bed);
    if (ref)
      upstream_error(ref, -32602, "no such task");
  }
  world_run(&bed.world, 0);
  assert_has(get(&bed), "task_lost");
  assert_int_equal(fake_store_letters(&bed.store), 1);
  const struct hf_letter *letter = &bed.store.letters[0].row;
  assert_true(hf_str_equal(letter->arguments, HF_STR("{\"a\":1}")));
  assert_true(hf_str_equal(letter->executed, HF_STR("maybe")));
  assert_memory_equal(&letter->fingerprint, &fingerprint, sizeof fingerprint);
  assert_int_equal(fake_store_open_intents(&bed.store), 0);
  close_world(&bed);
}

static void task__equal_calls_have_one_each(void **state) {
  (void)state;
  struct bed bed;
  char first[sizeof bed.id];
  open_modern(&bed, HF_TASKS_ALWAYS);
  bed.world.settings->tool_defaults.coalesce = HF_SECONDS(30);
  struct hf_attempt_ref *ref = call(&bed);
  memcpy(first, bed.id, sizeof first);
  send_as(&bed, &bed.client, &bed.reply, "tools/call", ORDER, KNOWS);
  cut(bed.reply.answer, "\"taskId\":\"", '"', bed.id, sizeof bed.id);
  assert_string_not_equal(first, bed.id);
  assert_ptr_equal(sent(&bed), ref);
  world_run(&bed.world, HF_SECONDS(100)); /* longer than the deadline of a call */
  upstream_answer(ref, DONE);
  world_run(&bed.world, 0);
  assert_has(get(&bed), "\"text\":\"done\"");
  assert_has(bed.answer.answer, "\"joined\":\"c-");
  memcpy(bed.id, first, sizeof first);
  assert_has(get(&bed), "\"text\":\"done\"");
  close_world(&bed);
}

/* Whatever cannot be had: it is a task or a call, it is answered once, and nothing is left of it. */
static void task__ends_without_memory(void **state) {
  (void)state;
  unsigned tasks = 0, calls = 0;
  for (long n = 0; n < 120; n++) {
    struct bed bed;
    open_modern(&bed, HF_TASKS_ALWAYS);
    struct hf_message message;
    struct hf_refusal refusal;
    struct fake_upstream *upstream = world_upstream(&bed.world, "old");
    send_as(&bed, &bed.client, &bed.answer, "tools/list", "\"x\":1", KNOWS);
    hf_alloc_fail_after(n);
    send_as(&bed, &bed.client, &bed.reply, "tools/call", ORDER, KNOWS);
    hf_alloc_fail_after(-1);
    upstream = world_upstream(&bed.world, "old");
    struct hf_attempt_ref *ref = upstream ? upstream_last(upstream) : NULL;
    if (bed.reply.answer && strstr(bed.reply.answer, "\"resultType\":\"task\"")) {
      tasks++;
      cut(bed.reply.answer, "\"taskId\":\"", '"', bed.id, sizeof bed.id);
      if (ref) {
        upstream_handed_over(ref);
        assert_int_equal(hf_message_decode_copy(hf_str_from(FORM), &message, &refusal), 0);
        hf_alloc_fail_after(n / 2);
        ref->events->message(ref->ctx, &message);
        hf_alloc_fail_after(-1);
        hf_message_deinit(&message);
        world_run(&bed.world, 0);
        if (ref->open)
          upstream_answer(ref, DONE);
      }
      world_run(&bed.world, HF_SECONDS(700));
      assert_has(get(&bed), "\"status\":\"c");
    } else {
      calls++;
      if (ref)
        upstream_answer(ref, DONE);
      assert_non_null(bed.reply.answer);
    }
    assert_int_equal(bed.world.gateway->calls, 0);
    close_world(&bed);
  }
  assert_true(tasks > 10 && calls > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(task__always_is_answered_by_an_id_and_completes),
      cmocka_unit_test(task__a_client_that_does_not_know_tasks_gets_none),
      cmocka_unit_test(task__cancel_stops_the_call),
      cmocka_unit_test(task__cancel_is_answered_when_it_is_written_down),
      cmocka_unit_test(task__goes_on_when_its_client_leaves),
      cmocka_unit_test(task__result_and_list_are_not_of_the_extension),
      cmocka_unit_test(task__is_written_down_before_its_client_is_told),
      cmocka_unit_test(task__that_has_ended_is_told_though_its_store_is_slow),
      cmocka_unit_test(task__a_store_that_takes_nothing_leaves_a_call_as_any_other),
      cmocka_unit_test(task__auto_becomes_one_when_it_lasts),
      cmocka_unit_test(task__never_makes_none),
      cmocka_unit_test(task__is_declared_to_those_who_discover),
      cmocka_unit_test(task__is_nobody_elses),
      cmocka_unit_test(task__too_many_are_calls_as_any_other),
      cmocka_unit_test(task__expires),
      cmocka_unit_test(task__an_error_fails_it_and_a_tools_own_does_not),
      cmocka_unit_test(task__asks_and_goes_on_with_the_answer),
      cmocka_unit_test(task__a_question_that_nobody_answers_ends_it),
      cmocka_unit_test(task__listeners_are_told),
      cmocka_unit_test(task__that_is_in_the_store_only_is_not_listened_to),
      cmocka_unit_test(task__one_that_a_dead_gateway_ran_says_so),
      cmocka_unit_test(task__one_that_ended_is_read_from_the_store),
      cmocka_unit_test(task__shutdown_answers_what_runs),
      cmocka_unit_test(task__that_another_gateway_runs_can_be_read_and_no_more),
      cmocka_unit_test(task__of_2025_11_25_is_asked_for_and_its_result_waited_for),
      cmocka_unit_test(task__of_2025_11_25_is_cancelled_before_the_answer),
      cmocka_unit_test(task__of_2025_11_25_fails_by_a_tools_own_error),
      cmocka_unit_test(task__of_2025_11_25_asks_on_the_stream_of_its_result),
      cmocka_unit_test(task__of_2025_11_25_has_another_id_at_its_server),
      cmocka_unit_test(task__of_2025_11_25_is_listed_for_who_has_a_name),
      cmocka_unit_test(task__of_2025_11_25_is_refused_where_there_are_none),
      cmocka_unit_test(task__lists_say_what_the_gateway_does),
      cmocka_unit_test(task__of_a_server_is_one_at_once),
      cmocka_unit_test(task__asks_for_a_modern_server_and_gives_its_state_back),
      cmocka_unit_test(task__a_message_is_cut_at_its_limit),
      cmocka_unit_test(task__rounds_have_an_end),
      cmocka_unit_test(task__asks_only_so_much_at_once),
      cmocka_unit_test(task__results_in_memory_are_bounded),
      cmocka_unit_test(task__of_a_server_is_followed_by_the_next_gateway),
      cmocka_unit_test(task__of_a_server_that_is_lost_may_have_run),
      cmocka_unit_test(task__that_its_server_forgets_after_a_restart_leaves_its_arguments),
      cmocka_unit_test(task__equal_calls_have_one_each),
      cmocka_unit_test(task__ends_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
