#include "gateway_world.h"

#include "gateway/catalog/catalog.h"
#include "gateway/exchange.h"
#include "gateway/pipeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Servers that make tasks of calls, and clients that know nothing of that. */

#define EXTENSION "\"io.modelcontextprotocol/tasks\""
#define NEW_HELLO                                                                                                      \
  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{},"                \
  "\"extensions\":{" EXTENSION ":{}}},\"ttlMs\":0,\"cacheScope\":\"private\"}"
#define OLD_HELLO                                                                                                      \
  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{},\"tasks\":{\"cancel\":{},\"requests\":{"         \
  "\"tools\":{\"call\":{}}}}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}"
#define PLAIN_HELLO                                                                                                    \
  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":"    \
  "\"1\"}}"
#define TOOLS                                                                                                          \
  "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[{\"name\":\"order\",\"execution\":{" \
  "\"taskSupport\":\"required\"}},{\"name\":\"read\",\"annotations\":{\"readOnlyHint\":true},\"execution\":{"          \
  "\"taskSupport\":\"optional\"}},{\"name\":\"count\",\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{"   \
  "\"type\":\"integer\"}},\"required\":[\"n\"]}}]}"

#define CALL(name) CALL_WITH(name, "")
#define CALL_WITH(name, meta)                                                                                          \
  "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"" name                               \
  "\",\"arguments\":{\"n\":1}" meta "}}"
#define TOKEN ",\"_meta\":{\"progressToken\":\"p\"}"
#define MODERN(capabilities)                                                                                           \
  ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                            \
  "\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"
#define FORM                                                                                                           \
  "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"Who?\",\"requestedSchema\":{}}}"
#define ROOTS "{\"method\":\"roots/list\"}"

#define TASK(status, more)                                                                                             \
  "\"taskId\":\"t/1\",\"status\":\"" status "\",\"createdAt\":\"2025-11-25T10:30:00Z\",\"lastUpdatedAt\":"             \
  "\"2025-11-25T10:30:00Z\"" more
#define CREATED(more) "{\"resultType\":\"task\"," TASK("working", ",\"ttlMs\":60000" more) "}"
#define OLD_CREATED(more) "{\"task\":{" TASK("working", ",\"ttl\":60000" more) "}}"
#define STATE(status, more) "{\"resultType\":\"complete\"," TASK(status, more) "}"
#define RESULT "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"x\":1.50}"
#define DONE STATE("completed", ",\"result\":" RESULT)
#define ASKS(requests) STATE("input_required", ",\"inputRequests\":{" requests "}")

static const struct fake_server modern = {.name = "far", .hello = NEW_HELLO, .tools = TOOLS, .era = HF_ERA_MODERN};
static const struct fake_server legacy = {.name = "far", .hello = OLD_HELLO, .tools = TOOLS};

struct bed {
  struct world world;
  struct fake_client client;
  struct fake_reply reply;
  struct fake_upstream *upstream;
};

static void bed_open(struct bed *bed, const struct fake_server *server, enum hf_era era, const char *capabilities) {
  memset(bed, 0, sizeof *bed);
  world_init(&bed->world, server, 1);
  bed->world.settings->servers[0].instance = HF_INSTANCE_SESSION;
  client_open(&bed->world, &bed->client, "far", era);
  if (era == HF_ERA_LEGACY)
    client_initialize(&bed->world, &bed->client, capabilities);
}

static void call(struct bed *bed, const char *text) {
  client_send(&bed->world, &bed->client, &bed->reply, text);
  world_run(&bed->world, HF_SECONDS(1) / 2);
  bed->upstream = world_upstream(&bed->world, "far");
  assert_non_null(bed->upstream);
}

static void bed_close(struct bed *bed) {
  reply_deinit(&bed->reply);
  client_close(&bed->client);
  world_deinit(&bed->world);
}

static void assert_has(const char *text, const char *part) {
  if (!text || !strstr(text, part))
    fail_msg("'%s' is not in %s", part, text ? text : "(nothing)");
}

static size_t count(const struct bed *bed, enum hf_method method) {
  size_t n = 0;
  for (size_t i = 0; i < bed->upstream->sent_count; i++)
    n += bed->upstream->sent[i]->method == method;
  return n;
}

/* The newest request that is open and says this method. */
static struct hf_attempt_ref *open_request(struct bed *bed, enum hf_method method) {
  for (size_t i = bed->upstream->sent_count; i-- > 0;)
    if (bed->upstream->sent[i]->open && bed->upstream->sent[i]->method == method)
      return bed->upstream->sent[i];
  fail_msg("no request %s is open", hf_method_info(method)->name.ptr);
  return NULL;
}

static void answers(struct bed *bed, enum hf_method method, const char *result) {
  upstream_answer(open_request(bed, method), result);
  world_run(&bed->world, 0);
}

/* The server is asked for the task, and says this. */
static void polled(struct bed *bed, const char *result) {
  for (int i = 0; i < 200; i++) {
    for (size_t k = bed->upstream->sent_count; k-- > 0;) {
      struct hf_attempt_ref *ref = bed->upstream->sent[k];
      if (!ref->open || ref->method != HF_METHOD_TASKS_GET)
        continue;
      assert_has(ref->text, "\"taskId\":\"t/1\"");
      upstream_answer(ref, result);
      world_run(&bed->world, 0);
      return;
    }
    world_run(&bed->world, HF_MS(100));
  }
  fail_msg("the task was not asked for");
}

static unsigned long long id_of(const char *message) {
  const char *id = strstr(message, "\"id\":");
  assert_non_null(id);
  return strtoull(id + 5, NULL, 10);
}

static void client_answers(struct bed *bed, size_t index, const char *body) {
  char text[512];
  assert_true(index < bed->reply.message_count);
  assert_true(
      snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,%s}", id_of(bed->reply.messages[index]), body) > 0);
  client_send(&bed->world, &bed->client, NULL, text);
}

/* A call that a modern server has made a task of. */
static void follow_modern(struct bed *bed, const char *capabilities, const char *text) {
  bed_open(bed, &modern, HF_ERA_LEGACY, capabilities);
  call(bed, text);
  answers(bed, HF_METHOD_TOOLS_CALL, CREATED(""));
  assert_null(bed->reply.answer);
}

static void follow_legacy(struct bed *bed, const char *capabilities, const char *text) {
  bed_open(bed, &legacy, HF_ERA_LEGACY, capabilities);
  call(bed, text);
  answers(bed, HF_METHOD_TOOLS_CALL, OLD_CREATED(""));
  assert_null(bed->reply.answer);
}

static void follow__a_task_ends_as_the_answer_of_the_call(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &modern, HF_ERA_LEGACY, "{\"roots\":{}}");
  call(&bed, CALL("order"));
  assert_has(open_request(&bed, HF_METHOD_TOOLS_CALL)->text,
             "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{" EXTENSION ":{}},\"roots\":{}}");
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(""));
  polled(&bed, STATE("working", ""));
  assert_has(bed.upstream->sent[bed.upstream->sent_count - 1]->text,
             "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{" EXTENSION ":{}}}");
  polled(&bed, DONE);
  assert_has(bed.reply.answer, "\"id\":7");
  assert_has(bed.reply.answer, "\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"x\":1.50");
  assert_has(bed.reply.answer, "\"attempts\":1");
  assert_null(strstr(bed.reply.answer, "t/1"));
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 1);
  world_run(&bed.world, HF_SECONDS(100));
  assert_int_equal(count(&bed, HF_METHOD_TASKS_GET), 2); /* and no more */
  bed_close(&bed);
}

static void follow__a_modern_client_gets_no_task_that_it_did_not_ask_for(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &modern, HF_ERA_MODERN, NULL);
  call(&bed, CALL_WITH("order", MODERN("{\"sampling\":{},\"extensions\":{\"a/b\":{\"c\":1}}}")));
  assert_has(open_request(&bed, HF_METHOD_TOOLS_CALL)->text,
             "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{" EXTENSION
             ":{},\"a/b\":{\"c\":1}},\"sampling\":{}}");
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(""));
  polled(&bed, DONE);
  assert_has(bed.reply.answer, "\"resultType\":\"complete\"");
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  bed_close(&bed);
}

static void follow__a_tool_that_is_never_a_task_is_asked_for_none(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &modern, HF_ERA_MODERN, NULL);
  bed.world.settings->tool_defaults.tasks = HF_TASKS_NEVER;
  call(&bed, CALL_WITH("order", MODERN("{\"extensions\":{" EXTENSION ":{}},\"roots\":{}}")));
  assert_has(open_request(&bed, HF_METHOD_TOOLS_CALL)->text,
             "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{},\"roots\":{}}");
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED("")); /* makes one all the same */
  polled(&bed, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  bed_close(&bed);
}

/* When the polls came, in ms since the task was made. */
static size_t poll_times(struct bed *bed, hf_time until, const char *said, hf_time *ret_at, size_t max) {
  size_t n = 0;
  const hf_time began = bed->world.loop.now;
  while (bed->world.loop.now - began < until && n < max) {
    for (size_t k = 0; k < bed->upstream->sent_count; k++) {
      struct hf_attempt_ref *ref = bed->upstream->sent[k];
      if (!ref->open || ref->method != HF_METHOD_TASKS_GET)
        continue;
      ret_at[n++] = bed->world.loop.now - began;
      upstream_answer(ref, said);
      break;
    }
    world_run(&bed->world, HF_MS(1));
  }
  return n;
}

static void follow__asks_as_often_as_the_server_wants(void **state) {
  (void)state;
  static const struct {
    const char *said;
    hf_time least, most;
  } rows[] = {
      {STATE("working", ",\"pollIntervalMs\":700"), HF_MS(700), HF_MS(840 + 2)},
      {STATE("working", ",\"pollIntervalMs\":1"), HF_MS(50), HF_MS(60 + 2)},
      {STATE("working", ",\"pollIntervalMs\":600000"), HF_SECONDS(60), HF_SECONDS(72)},
      {STATE("working", ",\"pollIntervalMs\":\"soon\""), HF_MS(800), HF_SECONDS(12)},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bed bed;
    hf_time at[8];
    bed_open(&bed, &modern, HF_ERA_LEGACY, "{}");
    bed.world.settings->servers[0].policy.timeout.deadline = HF_SECONDS(1000);
    call(&bed, CALL("order"));
    answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(""));
    const size_t n = poll_times(&bed, HF_SECONDS(700), rows[i].said, at, 8);
    assert_int_equal(n, 8);
    bool differs = false;
    for (size_t k = 1; k < n; k++) {
      assert_in_range(at[k] - at[k - 1], rows[i].least, rows[i].most);
      differs |= k > 1 && at[k] - at[k - 1] != at[k - 1] - at[k - 2];
    }
    assert_true(differs); /* jitter */
    bed_close(&bed);
  }
}

static void follow__asks_ever_more_seldom_where_the_server_does_not_say(void **state) {
  (void)state;
  struct bed bed;
  hf_time at[9];
  bed_open(&bed, &modern, HF_ERA_LEGACY, "{}");
  bed.world.settings->servers[0].policy.timeout.deadline = HF_SECONDS(1000);
  call(&bed, CALL("order"));
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(""));
  assert_int_equal(poll_times(&bed, HF_SECONDS(300), STATE("working", ""), at, 9), 9);
  assert_in_range(at[0], HF_MS(800), HF_MS(1202));
  assert_in_range(at[1] - at[0], HF_MS(1200), HF_MS(1802));
  assert_in_range(at[2] - at[1], HF_MS(1800), HF_MS(2702));
  assert_in_range(at[8] - at[7], HF_SECONDS(8), HF_SECONDS(12));
  bed_close(&bed);
}

static void follow__what_the_task_says_is_progress(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL_WITH("order", TOKEN));
  polled(&bed, STATE("working", ",\"statusMessage\":\"packing \\u00e9\""));
  polled(&bed, STATE("working", ",\"statusMessage\":\"packing \\u00e9\"")); /* nothing new */
  polled(&bed, STATE("working", ",\"statusMessage\":\"sending\""));
  assert_int_equal(bed.reply.message_count, 2);
  assert_has(bed.reply.messages[0], "\"method\":\"notifications/progress\"");
  assert_has(bed.reply.messages[0], "\"progressToken\":\"p\"");
  assert_has(bed.reply.messages[0], "\"progress\":0,\"message\":\"packing \\u00e9\"");
  assert_has(bed.reply.messages[1], "\"progress\":0.001,\"message\":\"sending\"");
  polled(&bed, DONE);
  assert_non_null(bed.reply.answer);
  bed_close(&bed);
}

static void follow__who_wants_no_progress_gets_none(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL("order"));
  polled(&bed, STATE("working", ",\"statusMessage\":\"packing\""));
  assert_int_equal(bed.reply.message_count, 0);
  polled(&bed, DONE);
  bed_close(&bed);
}

static void follow__progress_of_the_call_goes_on_after_its_answer(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &legacy, HF_ERA_LEGACY, "{}");
  call(&bed, CALL_WITH("order", TOKEN));
  const unsigned long long id = open_request(&bed, HF_METHOD_TOOLS_CALL)->id;
  answers(&bed, HF_METHOD_TOOLS_CALL, OLD_CREATED(""));
  char text[256];
  assert_true(snprintf(text, sizeof text,
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                       "\"progress\":3,\"total\":9}}",
                       id) > 0);
  upstream_message(bed.upstream, NULL, text);
  assert_int_equal(bed.reply.message_count, 1);
  assert_has(bed.reply.messages[0], "\"progressToken\":\"p\",\"progress\":3,\"total\":9");
  assert_int_equal(bed.client.notified_count, 0);
  bed_close(&bed);
}

static void follow__a_tool_that_fails_is_told_as_it_says(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL("order"));
  polled(&bed,
         STATE("completed", ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"sold out\"}],\"isError\":true}"));
  assert_has(bed.reply.answer, "sold out");
  assert_has(bed.reply.answer, "\"executed\":\"yes\",\"reason\":\"tool_error\"");
  bed_close(&bed);
}

static void follow__an_error_of_the_task_is_one_of_the_call(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL("order"));
  polled(&bed, STATE("failed", ",\"error\":{\"code\":-32603,\"message\":\"broken\",\"data\":{\"a\":1}}"));
  assert_has(bed.reply.answer, "\"error\":{\"code\":-32603,\"message\":\"broken\"");
  assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"rpc_error\"");
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 1); /* it may have run, and is not known to be safe */
  bed_close(&bed);
}

/* Even where a direct answer would prove that nothing ran. */
static void follow__what_was_begun_is_never_said_not_to_have_run(void **state) {
  (void)state;
  static const int codes[] = {-32602, -32601, -32600, -32021};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    struct bed bed;
    char text[512];
    follow_modern(&bed, "{}", CALL("order"));
    assert_true(snprintf(text, sizeof text, STATE("failed", ",\"error\":{\"code\":%d,\"message\":\"no\"}"), codes[i]) >
                0);
    polled(&bed, text);
    assert_non_null(bed.reply.answer);
    assert_null(strstr(bed.reply.answer, "\"executed\":\"no\""));
    assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 1);
    bed_close(&bed);
  }
}

static void follow__a_task_that_is_cancelled_may_have_run(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++) {
    struct bed bed;
    if (old)
      follow_legacy(&bed, "{}", CALL("order"));
    else
      follow_modern(&bed, "{}", CALL("order"));
    polled(&bed, STATE("cancelled", ""));
    assert_has(bed.reply.answer, "\"isError\":true");
    assert_has(bed.reply.answer, "made a task of the call, and has cancelled that");
    assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"task_cancelled\"");
    assert_int_equal(count(&bed, HF_METHOD_TASKS_CANCEL), 0);
    bed_close(&bed);
  }
}

static void follow__a_task_that_is_not_known_any_more_may_have_run(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL("order"));
  world_run(&bed.world, HF_SECONDS(2));
  upstream_error(open_request(&bed, HF_METHOD_TASKS_GET), -32602, "Failed to retrieve task: Task not found");
  world_run(&bed.world, HF_SECONDS(5));
  assert_has(bed.reply.answer, "does not know any more what became of that");
  assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"task_lost\"");
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 1);
  bed_close(&bed);
}

static void follow__a_lost_task_of_what_only_reads_is_made_anew(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL("read"));
  world_run(&bed.world, HF_SECONDS(2));
  upstream_error(open_request(&bed, HF_METHOD_TASKS_GET), -32602, "Task not found");
  world_run(&bed.world, HF_SECONDS(2));
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 2);
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(""));
  polled(&bed, DONE);
  assert_has(bed.reply.answer, "\"attempts\":2");
  bed_close(&bed);
}

static void follow__results_are_held_against_their_schema(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL("count"));
  polled(&bed, STATE("completed", ",\"result\":{\"content\":[],\"structuredContent\":{\"n\":\"one\"}}"));
  assert_has(bed.reply.answer, "\"reason\":\"result_misfit\"");
  bed_close(&bed);
}

static void follow__what_cannot_be_read_is_no_task(void **state) {
  (void)state;
  static const char *const results[] = {
      "{\"resultType\":\"task\"}",
      "{\"resultType\":\"task\",\"taskId\":7,\"status\":\"working\"}",
      "{\"resultType\":\"task\",\"taskId\":\"\",\"status\":\"working\"}",
      "{\"resultType\":\"task\",\"taskId\":\"a\"}",
      "{\"resultType\":\"task\",\"taskId\":\"a\",\"taskId\":\"b\",\"status\":\"working\"}",
  };
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    struct bed bed;
    bed_open(&bed, &modern, HF_ERA_LEGACY, "{}");
    call(&bed, CALL("order"));
    answers(&bed, HF_METHOD_TOOLS_CALL, results[i]);
    assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"bad_reply\"");
    bed_close(&bed);
  }
}

static void follow__what_a_task_ends_with_must_be_an_end(void **state) {
  (void)state;
  static const char *const states[] = {
      STATE("completed", ""),
      STATE("completed", ",\"result\":7"),
      STATE("completed", ",\"result\":{\"resultType\":\"task\",\"taskId\":\"b\",\"status\":\"working\"}"),
      STATE("completed", ",\"result\":{\"resultType\":\"input_required\",\"requestState\":\"s\"}"),
      STATE("failed", ""),
  };
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
    struct bed bed;
    follow_modern(&bed, "{}", CALL("order"));
    polled(&bed, states[i]);
    assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"bad_reply\"");
    bed_close(&bed);
  }
}

static void follow__what_a_task_asks_goes_to_a_legacy_client(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{\"elicitation\":{},\"roots\":{}}", CALL("order"));
  polled(&bed, ASKS("\"a\\\"b\":" FORM ",\"c\":" ROOTS));
  assert_int_equal(bed.reply.message_count, 2);
  assert_has(bed.reply.messages[0], "\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\"");
  client_answers(&bed, 0, "\"result\":{\"action\":\"accept\",\"content\":{\"x\":1.50}}");
  assert_int_equal(count(&bed, HF_METHOD_TASKS_UPDATE), 0); /* one is missing */
  polled(&bed, ASKS("\"a\\\"b\":" FORM ",\"c\":" ROOTS));
  assert_int_equal(bed.reply.message_count, 2); /* each is asked once */
  client_answers(&bed, 1, "\"result\":{\"roots\":[]}");
  assert_has(open_request(&bed, HF_METHOD_TASKS_UPDATE)->text,
             "\"taskId\":\"t/1\",\"inputResponses\":{\"a\\\"b\":{\"action\":\"accept\",\"content\":{\"x\":1.50}},"
             "\"c\":{\"roots\":[]}}");
  answers(&bed, HF_METHOD_TASKS_UPDATE, "{\"resultType\":\"complete\"}");
  polled(&bed, ASKS("\"a\\\"b\":" FORM)); /* it has not got round to it */
  assert_int_equal(bed.reply.message_count, 2);
  assert_int_equal(count(&bed, HF_METHOD_TASKS_UPDATE), 1);
  polled(&bed, ASKS("\"d\":" ROOTS));
  assert_int_equal(bed.reply.message_count, 3);
  client_answers(&bed, 2, "\"result\":{\"roots\":[{\"uri\":\"file:///\"}]}");
  assert_has(open_request(&bed, HF_METHOD_TASKS_UPDATE)->text,
             "\"inputResponses\":{\"d\":{\"roots\":[{\"uri\":\"file:///\"}]}}");
  answers(&bed, HF_METHOD_TASKS_UPDATE, "{\"resultType\":\"complete\"}");
  polled(&bed, DONE);
  assert_has(bed.reply.answer, "\"attempts\":1");
  bed_close(&bed);
}

static void follow__answers_that_were_lost_are_sent_again_if_they_are_waited_for(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{\"roots\":{}}", CALL("order"));
  polled(&bed, ASKS("\"c\":" ROOTS));
  client_answers(&bed, 0, "\"result\":{\"roots\":[]}");
  upstream_fail(open_request(&bed, HF_METHOD_TASKS_UPDATE), HF_EVIDENCE_BROKE);
  polled(&bed, ASKS("\"c\":" ROOTS));
  assert_int_equal(count(&bed, HF_METHOD_TASKS_UPDATE), 2);
  upstream_fail(open_request(&bed, HF_METHOD_TASKS_UPDATE), HF_EVIDENCE_BROKE);
  polled(&bed, STATE("working", "")); /* it had arrived */
  polled(&bed, DONE);
  assert_int_equal(count(&bed, HF_METHOD_TASKS_UPDATE), 2);
  assert_int_equal(bed.reply.message_count, 1);
  assert_non_null(bed.reply.answer);
  bed_close(&bed);
}

static void follow__a_person_who_thinks_is_outside_the_deadline(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{\"roots\":{}}", CALL("order"));
  polled(&bed, ASKS("\"c\":" ROOTS));
  for (int i = 0; i < 60; i++)
    polled(&bed, ASKS("\"c\":" ROOTS));
  assert_true(bed.world.loop.now > HF_SECONDS(300));
  assert_null(bed.reply.answer);
  client_answers(&bed, 0, "\"result\":{\"roots\":[]}");
  answers(&bed, HF_METHOD_TASKS_UPDATE, "{\"resultType\":\"complete\"}");
  polled(&bed, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  bed_close(&bed);
}

static void follow__what_nobody_can_be_asked_ends_the_task(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{\"roots\":{}}", CALL("order"));
  polled(&bed, ASKS("\"c\":" ROOTS ",\"d\":" FORM));
  assert_has(bed.reply.answer, "\"isError\":true");
  assert_has(bed.reply.answer, "asks for input that this client does not give");
  assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"input_required\"");
  assert_has(open_request(&bed, HF_METHOD_TASKS_CANCEL)->text, "\"taskId\":\"t/1\"");
  bed_close(&bed);
}

static void follow__a_client_that_answers_with_an_error_ends_the_task(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{\"roots\":{}}", CALL("order"));
  polled(&bed, ASKS("\"c\":" ROOTS));
  client_answers(&bed, 0, "\"error\":{\"code\":-1,\"message\":\"no\"}");
  world_run(&bed.world, 0);
  assert_has(bed.reply.answer, "the client answered it with an error");
  assert_int_equal(count(&bed, HF_METHOD_TASKS_CANCEL), 1);
  bed_close(&bed);
}

/* The state of an answer that asks, as it goes back. */
static void take_state(const char *answer, char state[4096]) {
  const char *at = strstr(answer, "\"requestState\":\"");
  assert_non_null(at);
  at += strlen("\"requestState\":\"");
  assert_true(strcspn(at, "\"") < 4096);
  snprintf(state, 4096, "%.*s", (int)strcspn(at, "\""), at);
}

static void key_of(const char *answer, const char *method, char key[32]) {
  const char *at = strstr(answer, method);
  assert_non_null(at);
  while (strncmp(at, "\"q", 2) != 0)
    at--;
  snprintf(key, 32, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
}

static void follow__what_a_task_asks_goes_to_a_modern_client(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply second;
  char token[4096], form[32], roots[32], text[8192];
  bed_open(&bed, &modern, HF_ERA_MODERN, NULL);
  call(&bed, CALL_WITH("order", MODERN("{\"elicitation\":{},\"roots\":{}}")));
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(""));
  polled(&bed, ASKS("\"a\":" FORM ",\"b\":" ROOTS));
  assert_has(bed.reply.answer, "\"resultType\":\"input_required\"");
  assert_has(bed.reply.answer, "\"message\":\"Who?\"");
  take_state(bed.reply.answer, token);
  key_of(bed.reply.answer, "elicitation/create", form); /* both at once */
  key_of(bed.reply.answer, "roots/list", roots);
  polled(&bed, ASKS("\"a\":" FORM ",\"b\":" ROOTS));
  snprintf(
      text, sizeof text,
      "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"order\",\"arguments\":{\"n\":1},"
      "\"requestState\":\"%s\",\"inputResponses\":{\"%s\":{\"action\":\"decline\"},\"%s\":{\"roots\":[]}}%s}}",
      token, form, roots, MODERN("{\"elicitation\":{},\"roots\":{}}"));
  client_send(&bed.world, &bed.client, &second, text);
  assert_null(second.answer);
  assert_has(open_request(&bed, HF_METHOD_TASKS_UPDATE)->text,
             "\"inputResponses\":{\"a\":{\"action\":\"decline\"},\"b\":{\"roots\":[]}}");
  answers(&bed, HF_METHOD_TASKS_UPDATE, "{\"resultType\":\"complete\"}");
  polled(&bed, DONE);
  assert_has(second.answer, "\"id\":8");
  assert_has(second.answer, "\"text\":\"done\"");
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 1);
  reply_deinit(&second);
  bed_close(&bed);
}

static void follow__who_cancels_cancels_the_task(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++) {
    struct bed bed;
    if (old)
      follow_legacy(&bed, "{}", CALL("order"));
    else
      follow_modern(&bed, "{}", CALL("order"));
    client_send(&bed.world, &bed.client, NULL,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
    assert_has(open_request(&bed, HF_METHOD_TASKS_CANCEL)->text, "\"taskId\":\"t/1\"");
    world_run(&bed.world, HF_SECONDS(30));
    assert_int_equal(count(&bed, HF_METHOD_TASKS_GET), 0);
    assert_int_equal(bed.world.gateway->calls, 0);
    bed_close(&bed);
  }
}

static void follow__a_task_that_comes_too_late_is_cancelled(void **state) {
  (void)state;
  static const struct {
    const struct fake_server *server;
    const char *result;
    bool cancelled;
  } rows[] = {
      {&modern, CREATED(""), true},
      {&legacy, OLD_CREATED(""), true},
      {&modern, RESULT, false},
      {&legacy, "{\"content\":[],\"task\":{" TASK("working", "") "}}", false},
      {&modern, "{\"resultType\":\"task\"," TASK("completed", "") "}", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bed bed;
    char text[512];
    bed_open(&bed, rows[i].server, HF_ERA_LEGACY, "{}");
    call(&bed, CALL("order"));
    client_send(&bed.world, &bed.client, NULL,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}", rows[i].result);
    upstream_message(bed.upstream, NULL, text);
    assert_int_equal(count(&bed, HF_METHOD_TASKS_CANCEL), rows[i].cancelled);
    bed_close(&bed);
  }
}

static void follow__a_task_ends_at_the_deadline_of_its_call(void **state) {
  (void)state;
  struct bed bed;
  hf_time at[100];
  follow_modern(&bed, "{}", CALL("order"));
  (void)poll_times(&bed, HF_SECONDS(60), STATE("working", ""), at, 100);
  assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"deadline\"");
  assert_int_equal(count(&bed, HF_METHOD_TASKS_CANCEL), 1);
  bed_close(&bed);
}

/* Nobody can answer it any more, so nobody is waited for. */
static void follow__a_question_on_the_stream_of_the_call_ends_with_that(void **state) {
  (void)state;
  struct bed bed;
  hf_time at[100];
  bed_open(&bed, &legacy, HF_ERA_LEGACY, "{\"roots\":{}}");
  call(&bed, CALL("order"));
  upstream_message(bed.upstream, open_request(&bed, HF_METHOD_TOOLS_CALL),
                   "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}");
  assert_int_equal(bed.reply.message_count, 1);
  answers(&bed, HF_METHOD_TOOLS_CALL, OLD_CREATED(""));
  (void)poll_times(&bed, HF_SECONDS(60), STATE("working", ""), at, 100);
  assert_has(bed.reply.answer, "\"reason\":\"deadline\"");
  bed_close(&bed);
}

/* A repeat would only begin it again. */
static void follow__a_task_is_not_cut_short_for_a_repeat(void **state) {
  (void)state;
  struct bed bed;
  hf_time at[100];
  follow_modern(&bed, "{}", CALL("read"));
  (void)poll_times(&bed, HF_SECONDS(40), STATE("working", ""), at, 100);
  assert_null(bed.reply.answer);
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 1);
  polled(&bed, DONE);
  assert_has(bed.reply.answer, "\"attempts\":1");
  bed_close(&bed);
}

static void follow__a_server_that_wants_to_be_asked_seldom_is_not_silent(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &modern, HF_ERA_LEGACY, "{}");
  bed.world.settings->servers[0].policy.timeout.idle = HF_SECONDS(3);
  call(&bed, CALL("order"));
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(",\"pollIntervalMs\":20000"));
  world_run(&bed.world, HF_SECONDS(19));
  assert_null(bed.reply.answer);
  polled(&bed, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  bed_close(&bed);
}

static void follow__a_server_that_does_not_answer_is_silent(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL("order"));
  world_run(&bed.world, HF_SECONDS(40)); /* idle: 30 s */
  assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"timed_out\"");
  assert_true(count(&bed, HF_METHOD_TASKS_GET) >= 2); /* it was asked again */
  bed_close(&bed);
}

static void follow__a_server_that_comes_back_is_asked_at_once(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &modern, HF_ERA_LEGACY, "{}");
  bed.world.settings->servers[0].policy.timeout.deadline = HF_SECONDS(300);
  call(&bed, CALL("order"));
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(""));
  world_run(&bed.world, HF_SECONDS(2));
  upstream_fail(open_request(&bed, HF_METHOD_TASKS_GET), HF_EVIDENCE_BROKE);
  bed.world.servers[0].hello = NULL; /* it does not start */
  upstream_down(bed.upstream, HF_EVIDENCE_CONNECT_REFUSED, "gone");
  world_run(&bed.world, HF_SECONDS(100));
  assert_null(bed.reply.answer);
  assert_int_equal(bed.upstream->phase, HF_UPSTREAM_STARTING);
  bed.world.servers[0].hello = NEW_HELLO;
  world_run(&bed.world, 0);
  assert_int_equal(bed.upstream->phase, HF_UPSTREAM_READY);
  answers(&bed, HF_METHOD_TASKS_GET, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 1);
  bed_close(&bed);
}

static void follow__a_session_that_is_lost_is_made_anew_and_asked(void **state) {
  (void)state;
  struct bed bed;
  follow_legacy(&bed, "{}", CALL("order"));
  world_run(&bed.world, HF_SECONDS(2));
  struct hf_attempt_ref *ref = open_request(&bed, HF_METHOD_TASKS_GET);
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  evidence.http_status = 404;
  evidence.carried_session = true;
  assert_false(ref->new_session);
  ref->open = false;
  ref->events->done(ref->ctx, &evidence, NULL);
  world_run(&bed.world, 0);
  ref = open_request(&bed, HF_METHOD_TASKS_GET);
  assert_true(ref->new_session);
  upstream_error(ref, -32602, "Task not found");
  world_run(&bed.world, 0);
  assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"task_lost\"");
  assert_int_equal(count(&bed, HF_METHOD_TOOLS_CALL), 1);
  bed_close(&bed);
}

static void follow__refusals_have_an_end(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{}", CALL("order"));
  for (int i = 0; i < 5; i++) {
    assert_null(bed.reply.answer);
    world_run(&bed.world, HF_SECONDS(8));
    upstream_error(open_request(&bed, HF_METHOD_TASKS_GET), -32603, "busy");
    world_run(&bed.world, 0);
  }
  assert_has(bed.reply.answer, "\"reason\":\"task_lost\"");
  bed_close(&bed);
}

static void follow__an_outage_has_an_end(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &modern, HF_ERA_LEGACY, "{}");
  bed.world.settings->servers[0].policy.timeout.deadline = HF_SECONDS(7200);
  call(&bed, CALL("order"));
  answers(&bed, HF_METHOD_TOOLS_CALL, CREATED(""));
  bed.world.servers[0].hello = NULL;
  upstream_down(bed.upstream, HF_EVIDENCE_CONNECT_REFUSED, "gone");
  world_run(&bed.world, HF_SECONDS(590));
  assert_null(bed.reply.answer);
  world_run(&bed.world, HF_SECONDS(60));
  assert_has(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"timed_out\"");
  bed_close(&bed);
}

static void follow__questions_have_an_end(void **state) {
  (void)state;
  struct bed bed;
  char text[512];
  follow_modern(&bed, "{\"roots\":{}}", CALL("order"));
  for (int i = 0; i <= 64; i++) {
    assert_null(bed.reply.answer);
    snprintf(text, sizeof text, ASKS("\"q%d\":" ROOTS), i);
    polled(&bed, text);
    if (i == 64)
      break;
    char answer[128];
    snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"roots\":[]}}",
             id_of(bed.reply.messages[bed.reply.message_count - 1]));
    client_send(&bed.world, &bed.client, NULL, answer);
    answers(&bed, HF_METHOD_TASKS_UPDATE, "{\"resultType\":\"complete\"}");
  }
  assert_has(bed.reply.answer, "it was asked too often");
  bed_close(&bed);
}

static void follow__an_id_is_only_so_long(void **state) {
  (void)state;
  for (int extra = 0; extra < 2; extra++) {
    struct bed bed;
    char id[1026], text[2048];
    memset(id, 'a', sizeof id);
    id[1024 + extra] = '\0';
    snprintf(text, sizeof text, "{\"resultType\":\"task\",\"taskId\":\"%s\",\"status\":\"working\"}", id);
    bed_open(&bed, &modern, HF_ERA_LEGACY, "{}");
    call(&bed, CALL("order"));
    answers(&bed, HF_METHOD_TOOLS_CALL, text);
    assert_int_equal(bed.reply.answer != NULL, extra);
    bed_close(&bed);
  }
}

static void follow__an_older_server_is_asked_for_a_task_where_its_tool_wants_one(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &legacy, HF_ERA_LEGACY, "{}");
  call(&bed, CALL_WITH("order", TOKEN));
  assert_has(open_request(&bed, HF_METHOD_TOOLS_CALL)->text, "\"task\":{}");
  answers(&bed, HF_METHOD_TOOLS_CALL, OLD_CREATED(",\"pollInterval\":300"));
  polled(&bed, "{" TASK("working", ",\"statusMessage\":\"half\"") "}");
  assert_has(bed.reply.messages[0], "\"message\":\"half\"");
  polled(&bed, "{" TASK("completed", "") "}");
  assert_has(open_request(&bed, HF_METHOD_TASKS_RESULT)->text, "\"taskId\":\"t/1\"");
  answers(&bed, HF_METHOD_TASKS_RESULT,
          "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"_meta\":{\"io.modelcontextprotocol/related-task\":{"
          "\"taskId\":\"t/1\"},\"a\":1}}");
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  assert_has(bed.reply.answer, "\"a\":1");
  assert_null(strstr(bed.reply.answer, "t/1"));
  bed_close(&bed);
}

static void follow__others_are_not(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &legacy, HF_ERA_LEGACY, "{}");
  call(&bed, CALL("read"));
  assert_null(strstr(open_request(&bed, HF_METHOD_TOOLS_CALL)->text, "\"task\""));
  answers(&bed, HF_METHOD_TOOLS_CALL, RESULT);
  assert_has(bed.reply.answer, "done");
  bed_close(&bed);

  static const struct fake_server plain = {.name = "far", .hello = PLAIN_HELLO, .tools = TOOLS};
  bed_open(&bed, &plain, HF_ERA_LEGACY, "{}");
  call(&bed, CALL("order"));
  assert_null(strstr(open_request(&bed, HF_METHOD_TOOLS_CALL)->text, "\"task\""));
  bed_close(&bed);
}

/* What is a result of a tool is no task, whatever else is in it. */
static void follow__a_result_may_have_a_member_of_that_name(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, &legacy, HF_ERA_LEGACY, "{}");
  call(&bed, CALL("order"));
  answers(&bed, HF_METHOD_TOOLS_CALL, "{\"content\":[],\"task\":{" TASK("working", "") "}}");
  assert_has(bed.reply.answer, "\"task\":{\"taskId\":\"t/1\"");
  bed_close(&bed);
}

static void follow__an_older_task_asks_on_the_stream_of_its_result(void **state) {
  (void)state;
  struct bed bed;
  follow_legacy(&bed, "{\"elicitation\":{}}", CALL("order"));
  polled(&bed, "{" TASK("input_required", "") "}");
  struct hf_attempt_ref *result = open_request(&bed, HF_METHOD_TASKS_RESULT);
  upstream_message(
      bed.upstream, result,
      "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\","
      "\"requestedSchema\":{},\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t/1\"}}}}");
  assert_int_equal(bed.reply.message_count, 1);
  assert_has(bed.reply.messages[0], "\"message\":\"Who?\"");
  assert_null(strstr(bed.reply.messages[0], "t/1"));
  polled(&bed, "{" TASK("input_required", "") "}");
  assert_int_equal(count(&bed, HF_METHOD_TASKS_RESULT), 1); /* one is open */
  for (int i = 0; i < 20; i++)
    polled(&bed, "{" TASK("input_required", "") "}");
  assert_null(bed.reply.answer); /* a person thinks */
  client_answers(&bed, 0, "\"result\":{\"action\":\"cancel\"}");
  assert_int_equal(bed.upstream->posted_count, 1);
  assert_has(bed.upstream->posted[0], "\"id\":\"s1\"");
  assert_has(bed.upstream->posted[0], "\"action\":\"cancel\"");
  assert_has(bed.upstream->posted[0], "\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t/1\"}}");
  upstream_message(
      bed.upstream, result,
      "{\"jsonrpc\":\"2.0\",\"id\":\"s2\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\","
      "\"requestedSchema\":{},\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t/1\"}}}}");
  client_answers(&bed, 1, "\"error\":{\"code\":-1,\"message\":\"no\"}"); /* an error has no _meta */
  assert_has(bed.upstream->posted[1], "\"error\":{\"code\":-1,");
  upstream_answer(result, RESULT);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  bed_close(&bed);
}

static void follow__a_question_outside_any_stream_says_whose_task_it_is(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply other;
  follow_legacy(&bed, "{\"roots\":{}}", CALL("order"));
  client_send(
      &bed.world, &bed.client, &other,
      "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"read\",\"arguments\":{}}}");
  upstream_message(bed.upstream, NULL,
                   "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\",\"params\":{\"_meta\":{"
                   "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t\\/1\"}}}}");
  assert_int_equal(bed.reply.message_count, 1); /* and not the call that was sent last */
  assert_int_equal(other.message_count, 0);
  assert_null(strstr(bed.reply.messages[0], "related-task"));
  upstream_answer(open_request(&bed, HF_METHOD_TOOLS_CALL), RESULT);
  reply_deinit(&other);
  bed_close(&bed);
}

static void follow__a_stream_of_a_result_that_breaks_is_opened_again(void **state) {
  (void)state;
  struct bed bed;
  follow_legacy(&bed, "{\"elicitation\":{}}", CALL("order"));
  polled(&bed, "{" TASK("input_required", "") "}");
  upstream_fail(open_request(&bed, HF_METHOD_TASKS_RESULT), HF_EVIDENCE_BROKE);
  polled(&bed, "{" TASK("input_required", "") "}");
  assert_int_equal(count(&bed, HF_METHOD_TASKS_RESULT), 2);
  upstream_fail(open_request(&bed, HF_METHOD_TASKS_RESULT), HF_EVIDENCE_BROKE);
  polled(&bed, "{" TASK("completed", "") "}");
  upstream_fail(open_request(&bed, HF_METHOD_TASKS_RESULT), HF_EVIDENCE_BROKE);
  world_run(&bed.world, HF_SECONDS(3));
  answers(&bed, HF_METHOD_TASKS_RESULT, RESULT);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  bed_close(&bed);
}

static void follow__an_older_task_that_failed_tells_why(void **state) {
  (void)state;
  struct bed bed;
  follow_legacy(&bed, "{}", CALL("order"));
  polled(&bed, "{" TASK("failed", ",\"statusMessage\":\"no \\\"stock\\\"\"") "}");
  upstream_error(open_request(&bed, HF_METHOD_TASKS_RESULT), -32603, "Task t has no result stored");
  assert_has(bed.reply.answer, "\"code\":-32603,\"message\":\"no \\\"stock\\\" (Task t has no result stored)\"");
  bed_close(&bed);

  follow_legacy(&bed, "{}", CALL("order"));
  polled(&bed, "{" TASK("failed", ",\"statusMessage\":\"no stock\"") "}");
  answers(&bed, HF_METHOD_TASKS_RESULT, "{\"content\":[{\"type\":\"text\",\"text\":\"sold out\"}],\"isError\":true}");
  assert_has(bed.reply.answer, "sold out");
  assert_has(bed.reply.answer, "\"executed\":\"yes\",\"reason\":\"tool_error\"");
  bed_close(&bed);
}

static void follow__news_are_asked_about_at_once(void **state) {
  (void)state;
  static const char *const methods[] = {"notifications/tasks/status", "notifications/tasks"};
  for (size_t i = 0; i < 2; i++) {
    struct bed bed;
    char text[512];
    bed_open(&bed, &legacy, HF_ERA_LEGACY, "{}");
    call(&bed, CALL_WITH("order", TOKEN));
    answers(&bed, HF_METHOD_TOOLS_CALL, OLD_CREATED(",\"pollInterval\":40000"));
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{%s}}", methods[i],
             TASK("working", ",\"statusMessage\":\"half\""));
    upstream_message(bed.upstream, NULL, text);
    world_run(&bed.world, 0);
    assert_int_equal(bed.reply.message_count, 1);
    assert_int_equal(count(&bed, HF_METHOD_TASKS_GET), 0);
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{%s}}", methods[i],
             TASK("completed", ""));
    upstream_message(bed.upstream, NULL, text);
    world_run(&bed.world, 0);
    answers(&bed, HF_METHOD_TASKS_GET, "{" TASK("completed", "") "}");
    answers(&bed, HF_METHOD_TASKS_RESULT, RESULT);
    assert_has(bed.reply.answer, "done");
    assert_int_equal(bed.client.notified_count, 0); /* the ids of its server's are nothing to it */
    bed_close(&bed);
  }
}

static void follow__news_of_other_tasks_are_nobodys(void **state) {
  (void)state;
  struct bed bed;
  follow_legacy(&bed, "{}", CALL("order"));
  upstream_message(bed.upstream, NULL,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{\"taskId\":\"t/2\","
                   "\"status\":\"completed\"}}");
  upstream_message(bed.upstream, NULL,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":9999,"
                   "\"progress\":1}}");
  world_run(&bed.world, 0);
  assert_int_equal(count(&bed, HF_METHOD_TASKS_GET), 0);
  assert_int_equal(bed.client.notified_count, 0);
  bed_close(&bed);
}

static void follow__a_client_that_goes_takes_the_task_along(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{\"roots\":{}}", CALL("order"));
  polled(&bed, ASKS("\"c\":" ROOTS));
  client_close(&bed.client);
  world_run(&bed.world, HF_SECONDS(1));
  assert_int_equal(bed.world.gateway->calls, 0);
  reply_deinit(&bed.reply);
  world_deinit(&bed.world);
}

static void follow__an_answer_after_the_end_is_for_nobody(void **state) {
  (void)state;
  struct bed bed;
  follow_modern(&bed, "{\"roots\":{}}", CALL("order"));
  polled(&bed, ASKS("\"c\":" ROOTS));
  polled(&bed, DONE); /* it did without */
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  assert_int_equal(bed.reply.message_count, 2);
  assert_has(bed.reply.messages[1], "notifications/cancelled");
  client_answers(&bed, 0, "\"result\":{\"roots\":[]}");
  assert_int_equal(bed.world.gateway->late_answers, 1);
  bed_close(&bed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follow__a_task_ends_as_the_answer_of_the_call),
      cmocka_unit_test(follow__a_modern_client_gets_no_task_that_it_did_not_ask_for),
      cmocka_unit_test(follow__a_tool_that_is_never_a_task_is_asked_for_none),
      cmocka_unit_test(follow__asks_as_often_as_the_server_wants),
      cmocka_unit_test(follow__asks_ever_more_seldom_where_the_server_does_not_say),
      cmocka_unit_test(follow__what_the_task_says_is_progress),
      cmocka_unit_test(follow__who_wants_no_progress_gets_none),
      cmocka_unit_test(follow__progress_of_the_call_goes_on_after_its_answer),
      cmocka_unit_test(follow__a_tool_that_fails_is_told_as_it_says),
      cmocka_unit_test(follow__an_error_of_the_task_is_one_of_the_call),
      cmocka_unit_test(follow__what_was_begun_is_never_said_not_to_have_run),
      cmocka_unit_test(follow__a_task_that_is_cancelled_may_have_run),
      cmocka_unit_test(follow__a_task_that_is_not_known_any_more_may_have_run),
      cmocka_unit_test(follow__a_lost_task_of_what_only_reads_is_made_anew),
      cmocka_unit_test(follow__results_are_held_against_their_schema),
      cmocka_unit_test(follow__what_cannot_be_read_is_no_task),
      cmocka_unit_test(follow__what_a_task_ends_with_must_be_an_end),
      cmocka_unit_test(follow__what_a_task_asks_goes_to_a_legacy_client),
      cmocka_unit_test(follow__answers_that_were_lost_are_sent_again_if_they_are_waited_for),
      cmocka_unit_test(follow__a_person_who_thinks_is_outside_the_deadline),
      cmocka_unit_test(follow__what_nobody_can_be_asked_ends_the_task),
      cmocka_unit_test(follow__a_client_that_answers_with_an_error_ends_the_task),
      cmocka_unit_test(follow__what_a_task_asks_goes_to_a_modern_client),
      cmocka_unit_test(follow__who_cancels_cancels_the_task),
      cmocka_unit_test(follow__a_task_that_comes_too_late_is_cancelled),
      cmocka_unit_test(follow__a_task_ends_at_the_deadline_of_its_call),
      cmocka_unit_test(follow__a_question_on_the_stream_of_the_call_ends_with_that),
      cmocka_unit_test(follow__a_task_is_not_cut_short_for_a_repeat),
      cmocka_unit_test(follow__a_server_that_wants_to_be_asked_seldom_is_not_silent),
      cmocka_unit_test(follow__a_server_that_does_not_answer_is_silent),
      cmocka_unit_test(follow__a_server_that_comes_back_is_asked_at_once),
      cmocka_unit_test(follow__a_session_that_is_lost_is_made_anew_and_asked),
      cmocka_unit_test(follow__refusals_have_an_end),
      cmocka_unit_test(follow__an_outage_has_an_end),
      cmocka_unit_test(follow__questions_have_an_end),
      cmocka_unit_test(follow__an_id_is_only_so_long),
      cmocka_unit_test(follow__an_older_server_is_asked_for_a_task_where_its_tool_wants_one),
      cmocka_unit_test(follow__others_are_not),
      cmocka_unit_test(follow__a_result_may_have_a_member_of_that_name),
      cmocka_unit_test(follow__an_older_task_asks_on_the_stream_of_its_result),
      cmocka_unit_test(follow__a_question_outside_any_stream_says_whose_task_it_is),
      cmocka_unit_test(follow__a_stream_of_a_result_that_breaks_is_opened_again),
      cmocka_unit_test(follow__an_older_task_that_failed_tells_why),
      cmocka_unit_test(follow__news_are_asked_about_at_once),
      cmocka_unit_test(follow__news_of_other_tasks_are_nobodys),
      cmocka_unit_test(follow__a_client_that_goes_takes_the_task_along),
      cmocka_unit_test(follow__an_answer_after_the_end_is_for_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
