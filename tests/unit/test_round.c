#include "gateway_world.h"

#include "gateway/question/round.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A modern server that asks, and a legacy client. */

#define HELLO                                                                                                          \
  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{},\"prompts\":{}}" \
  ","                                                                                                                  \
  "\"ttlMs\":0,\"cacheScope\":\"private\"}"
#define TOOLS                                                                                                          \
  "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":[{\"name\":\"order\"},"               \
  "{\"name\":\"read\",\"annotations\":{\"readOnlyHint\":true}}]}"
#define PROMPTS                                                                                                        \
  "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"prompts\":[{\"name\":\"greet\"}]}"
#define ALL                                                                                                            \
  "{\"sampling\":{},\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{\"listChanged\":true},\"experimental\":{}}"
#define FORM                                                                                                           \
  "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"Who?\",\"requestedSchema\":{}}}"
#define URL "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\",\"message\":\"Go\",\"url\":\"https://x\"}}"
#define SAMPLE "{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":9}}"
#define ROOTS "{\"method\":\"roots/list\"}"
#define ASKS(requests)                                                                                                 \
  "{\"resultType\":\"input_required\",\"inputRequests\":{" requests "},\"requestState\":\"s\\u0041/é\"}"
#define DONE "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"
#define STATE "\"requestState\":\"s\\u0041/é\""
#define CALL(name)                                                                                                     \
  "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\",\"arguments\":{\"n\":1}}" \
  "}"

static const struct fake_server server = {
    .name = "new", .hello = HELLO, .tools = TOOLS, .prompts = PROMPTS, .era = HF_ERA_MODERN};

struct bed {
  struct world world;
  struct fake_client client;
  struct fake_reply reply;
  struct fake_upstream *upstream;
};

static void bed_open(struct bed *bed, const char *capabilities, const char *call) {
  memset(bed, 0, sizeof *bed);
  world_init(&bed->world, &server, 1);
  client_open(&bed->world, &bed->client, "new", HF_ERA_LEGACY);
  client_initialize(&bed->world, &bed->client, capabilities);
  client_send(&bed->world, &bed->client, &bed->reply, call);
  bed->upstream = world_upstream(&bed->world, "new");
  assert_non_null(upstream_last(bed->upstream));
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

static void asks(struct bed *bed, const char *result) {
  upstream_answer(upstream_last(bed->upstream), result);
  world_run(&bed->world, 0);
}

static unsigned long long id_of(const char *message) {
  const char *id = strstr(message, "\"id\":");
  assert_non_null(id);
  return strtoull(id + 5, NULL, 10);
}

/* The client answers what it was asked as its `index`th message. */
static void answers(struct bed *bed, size_t index, const char *body) {
  char text[512];
  assert_true(index < bed->reply.message_count);
  assert_true(
      snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,%s}", id_of(bed->reply.messages[index]), body) > 0);
  client_send(&bed->world, &bed->client, NULL, text);
}

static void round__what_a_server_asks_goes_out_on_the_stream_and_back(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  const struct hf_attempt_ref *first = upstream_last(bed.upstream);
  assert_has(first->text,
             "\"io.modelcontextprotocol/clientCapabilities\":{\"sampling\":{},\"elicitation\":{\"form\":{},"
             "\"url\":{}},\"roots\":{\"listChanged\":true}}");
  asks(&bed, ASKS("\"a\\\"b\":" FORM ",\"c\":" SAMPLE ",\"d\":" ROOTS));
  assert_null(bed.reply.answer);
  assert_int_equal(bed.reply.message_count, 3);
  assert_has(bed.reply.messages[0],
             "\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"Who?\"");
  assert_has(bed.reply.messages[1],
             "\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":9}");
  assert_has(bed.reply.messages[2], "\"method\":\"roots/list\"");
  answers(&bed, 2, "\"result\":{\"roots\":[]}");
  answers(&bed, 0, "\"result\":{\"action\":\"accept\",\"content\":{\"x\":1.50}}");
  assert_null(upstream_last(bed.upstream)); /* one is missing */
  answers(&bed, 1, "\"result\":{\"role\":\"assistant\"}");
  struct hf_attempt_ref *second = upstream_last(bed.upstream);
  assert_non_null(second);
  assert_true(second->id != first->id);
  assert_has(second->text, STATE);
  assert_has(second->text, "\"inputResponses\":{\"a\\\"b\":{\"action\":\"accept\",\"content\":{\"x\":1.50}},"
                           "\"c\":{\"role\":\"assistant\"},\"d\":{\"roots\":[]}}");
  assert_has(second->text, "\"arguments\":{\"n\":1}");
  upstream_answer(second, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  assert_has(bed.reply.answer, "\"attempts\":1");
  answers(&bed, 1, "\"result\":{}"); /* late, and for nobody */
  assert_int_equal(bed.world.gateway->late_answers, 1);
  bed_close(&bed);
}

static void round__a_prompt_can_ask_as_well(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"prompts/get\",\"params\":{\"name\":\"greet\"}}");
  asks(&bed, ASKS("\"a\":" FORM));
  answers(&bed, 0, "\"result\":{\"action\":\"decline\"}");
  assert_has(upstream_last(bed.upstream)->text, "\"inputResponses\":{\"a\":{\"action\":\"decline\"}}");
  upstream_answer(upstream_last(bed.upstream), "{\"resultType\":\"complete\",\"messages\":[]}");
  assert_has(bed.reply.answer, "\"messages\":[]");
  bed_close(&bed);
}

static void round__there_are_several_and_each_has_its_own_state(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  asks(&bed, ASKS("\"a\":" FORM));
  answers(&bed, 0, "\"result\":{\"action\":\"accept\"}");
  asks(&bed, "{\"resultType\":\"input_required\",\"inputRequests\":{\"b\":" FORM "}}"); /* without a state */
  answers(&bed, 1, "\"result\":{\"action\":\"cancel\"}");
  const struct hf_attempt_ref *third = upstream_last(bed.upstream);
  assert_has(third->text, "\"inputResponses\":{\"b\":{\"action\":\"cancel\"}}");
  assert_null(strstr(third->text, "requestState"));
  asks(&bed, "{\"resultType\":\"input_required\",\"requestState\":\"only\"}"); /* and without a question */
  const struct hf_attempt_ref *fourth = upstream_last(bed.upstream);
  assert_has(fourth->text, "\"requestState\":\"only\"");
  assert_null(strstr(fourth->text, "inputResponses"));
  asks(&bed, DONE);
  assert_has(bed.reply.answer, "\"attempts\":1");
  bed_close(&bed);
}

static void round__they_have_an_end(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  for (int i = 0; i < HF_ROUNDS_MAX; i++) {
    asks(&bed, "{\"resultType\":\"input_required\",\"requestState\":\"again\"}");
    assert_null(bed.reply.answer);
  }
  asks(&bed, "{\"resultType\":\"input_required\",\"requestState\":\"again\"}");
  assert_has(bed.reply.answer, "\"isError\":true");
  assert_has(bed.reply.answer, "it was asked too often");
  assert_null(upstream_last(bed.upstream));
  bed_close(&bed);
}

static void round__asks_only_so_much_at_once(void **state) {
  (void)state;
  for (int count = HF_ROUND_QUESTIONS_MAX; count <= HF_ROUND_QUESTIONS_MAX + 1; count++) {
    struct bed bed;
    char text[4096] = "{\"resultType\":\"input_required\",\"inputRequests\":{";
    bed_open(&bed, ALL, CALL("order"));
    for (int i = 0; i < count; i++) {
      size_t len = strlen(text);
      assert_true(snprintf(text + len, sizeof text - len, "%s\"q%d\":" ROOTS, i ? "," : "", i) > 0);
    }
    strncat(text, "}}", sizeof text - strlen(text) - 1);
    asks(&bed, text);
    if (count == HF_ROUND_QUESTIONS_MAX)
      assert_null(bed.reply.answer);
    else
      assert_has(bed.reply.answer, "it asks too much at once");
    bed_close(&bed);
  }
}

static void round__what_was_not_declared_is_one_clear_error(void **state) {
  (void)state;
  static const struct {
    const char *capabilities, *request;
  } rows[] = {
      {"{}", FORM},
      {"{\"sampling\":{}}", FORM},
      {"{\"elicitation\":{}}", URL},
      {"{\"elicitation\":{\"url\":{}}}", FORM},
      {"{\"elicitation\":{}}", SAMPLE},
      {"{\"sampling\":{}}", "{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"tools\":[]}}"},
      {"{\"sampling\":{},\"elicitation\":{}}", ROOTS},
      {ALL, "{\"method\":\"tools/call\",\"params\":{}}"},
      {ALL, "{\"method\":7}"},
      {ALL, "[]"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bed bed;
    char text[512];
    bed_open(&bed, rows[i].capabilities, CALL("order"));
    /* What could be asked is taken back with what could not. */
    assert_true(snprintf(text, sizeof text, "{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":%s}}",
                         rows[i].request) > 0);
    asks(&bed, text);
    assert_has(bed.reply.answer, "\"isError\":true");
    assert_has(bed.reply.answer, "asks for input that this client does not give");
    assert_has(bed.reply.answer, "\"reason\":\"input_required\"");
    assert_int_equal(bed.reply.message_count, 0);
    assert_null(upstream_last(bed.upstream));
    bed_close(&bed);
  }
}

static void round__a_server_that_cannot_ask_says_so_in_words_of_its_own(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "{}", CALL("order"));
  upstream_error(upstream_last(bed.upstream), HF_RPC_MISSING_CAPABILITY, "elicitation");
  world_run(&bed.world, 0);
  assert_has(bed.reply.answer, "\"isError\":true");
  assert_has(bed.reply.answer, "\"reason\":\"input_required\"");
  assert_has(bed.reply.answer, "\"executed\":\"no\"");
  assert_has(bed.reply.answer, "(the client did not declare that it can be asked)");
  bed_close(&bed);
}

static void round__what_cannot_be_asked_takes_back_what_could(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "{\"elicitation\":{}}", CALL("order"));
  asks(&bed, ASKS("\"a\":" FORM ",\"b\":" ROOTS));
  assert_int_equal(bed.reply.message_count, 2);
  assert_has(bed.reply.messages[1], "\"method\":\"notifications/cancelled\"");
  assert_has(bed.reply.answer, "\"isError\":true");
  bed_close(&bed);
}

static void round__a_url_gets_the_id_that_a_legacy_client_wants(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "{\"elicitation\":{\"url\":{}}}", CALL("order"));
  asks(&bed, ASKS("\"a\":" URL));
  assert_int_equal(bed.reply.message_count, 1);
  assert_has(bed.reply.messages[0], "\"params\":{\"elicitationId\":\"holdfast-");
  assert_has(bed.reply.messages[0], "\"mode\":\"url\",\"message\":\"Go\",\"url\":\"https://x\"}");
  bed_close(&bed);
}

static void round__a_person_who_thinks_is_outside_the_deadline(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  world_run(&bed.world, HF_SECONDS(5));
  asks(&bed, ASKS("\"a\":" FORM));
  world_run(&bed.world, HF_SECONDS(1800));
  assert_null(bed.reply.answer);
  answers(&bed, 0, "\"result\":{\"action\":\"accept\"}");
  world_run(&bed.world, HF_SECONDS(20)); /* it takes its time once more */
  assert_null(bed.reply.answer);
  asks(&bed, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  bed_close(&bed);
}

static void round__a_person_who_never_answers_is_waited_for_an_hour(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  asks(&bed, ASKS("\"a\":" FORM));
  world_run(&bed.world, HF_SECONDS(3600 + 60));
  assert_has(bed.reply.answer, "\"isError\":true");
  assert_has(bed.reply.answer, "\"executed\":\"maybe\"");
  assert_has(bed.reply.messages[1], "\"method\":\"notifications/cancelled\"");
  assert_int_equal(bed.world.gateway->calls, 0);
  bed_close(&bed);
}

static void round__a_client_that_answers_with_an_error_ends_it(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  asks(&bed, ASKS("\"a\":" FORM ",\"b\":" SAMPLE));
  answers(&bed, 1, "\"error\":{\"code\":-1,\"message\":\"no\"}");
  world_run(&bed.world, 0);
  assert_has(bed.reply.answer, "the client answered it with an error");
  assert_has(bed.reply.answer, "\"executed\":\"maybe\"");
  assert_null(upstream_last(bed.upstream));
  bed_close(&bed);
}

static void round__an_attempt_after_it_brings_the_answers_along(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("read"));
  asks(&bed, ASKS("\"a\":" FORM));
  answers(&bed, 0, "\"result\":{\"action\":\"accept\"}");
  upstream_fail(upstream_last(bed.upstream), HF_EVIDENCE_BROKE);
  world_run(&bed.world, HF_SECONDS(2));
  assert_has(upstream_last(bed.upstream)->text, "\"inputResponses\":{\"a\":{\"action\":\"accept\"}}");
  asks(&bed, DONE);
  assert_has(bed.reply.answer, "\"attempts\":2");
  assert_int_equal(bed.reply.message_count, 1); /* nobody was asked twice */
  bed_close(&bed);
}

static void round__what_may_have_run_is_not_repeated(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  asks(&bed, ASKS("\"a\":" FORM));
  answers(&bed, 0, "\"result\":{\"action\":\"accept\"}");
  upstream_fail(upstream_last(bed.upstream), HF_EVIDENCE_CONNECT_REFUSED); /* this round was not sent; the first was */
  world_run(&bed.world, HF_SECONDS(5));
  assert_has(bed.reply.answer, "\"executed\":\"maybe\"");
  assert_int_equal(bed.world.gateway->calls, 0);
  bed_close(&bed);
}

/* `order` takes a key, and its server remembers it for a minute. */
static void use_keyed_order(struct bed *bed) {
  struct hf_settings *settings = bed->world.settings;
  settings->tools = hf_arena_alloc(&settings->arena, sizeof *settings->tools);
  settings->tool_count = 1;
  *settings->tools = settings->tool_defaults;
  settings->tools->server = HF_STR("new");
  settings->tools->pattern = HF_STR("new__order");
  settings->tools->has_safety = true;
  settings->tools->safety = HF_SAFETY_KEYED;
  settings->tools->key = (struct hf_key_settings){HF_KEY_META, HF_STR("key"), HF_SECONDS(60)};
}

/* The first attempt may still run, and the server does not know its key any more. */
static void round__what_may_have_run_is_not_gone_on_with_when_its_key_is_forgotten(void **state) {
  (void)state;
  for (int late = 0; late < 2; late++) {
    struct bed bed;
    memset(&bed, 0, sizeof bed);
    world_init(&bed.world, &server, 1);
    use_keyed_order(&bed);
    client_open(&bed.world, &bed.client, "new", HF_ERA_LEGACY);
    client_initialize(&bed.world, &bed.client, ALL);
    client_send(&bed.world, &bed.client, &bed.reply, CALL("order"));
    bed.upstream = world_upstream(&bed.world, "new");
    upstream_handed_over(upstream_last(bed.upstream));
    upstream_fail(upstream_last(bed.upstream), HF_EVIDENCE_BROKE);
    world_run(&bed.world, HF_SECONDS(2));
    asks(&bed, ASKS("\"a\":" FORM));
    world_run(&bed.world, HF_SECONDS(late ? 60 : 50));
    answers(&bed, 0, "\"result\":{\"action\":\"accept\"}");
    world_run(&bed.world, 0);
    if (late) {
      assert_null(upstream_last(bed.upstream));
      assert_has(bed.reply.answer, "\"isError\":true");
      assert_has(bed.reply.answer, "\"executed\":\"maybe\"");
      assert_int_equal(bed.world.gateway->calls, 0);
    } else {
      assert_has(upstream_last(bed.upstream)->text, STATE);
      asks(&bed, DONE);
      assert_has(bed.reply.answer, "\"text\":\"done\"");
    }
    bed_close(&bed);
  }
}

static void round__progress_does_not_fall(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL,
           "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"order\",\"_meta\":{"
           "\"progressToken\":\"p\"}}}");
  const char *progress =
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
      "\"progress\":5}}";
  upstream_message(bed.upstream, upstream_last(bed.upstream), progress);
  asks(&bed, ASKS("\"a\":" FORM));
  answers(&bed, 1, "\"result\":{\"action\":\"accept\"}");
  upstream_message(bed.upstream, upstream_last(bed.upstream), progress);
  assert_int_equal(bed.reply.message_count, 2);
  upstream_message(bed.upstream, upstream_last(bed.upstream),
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                   "\"progress\":6}}");
  assert_int_equal(bed.reply.message_count, 3);
  bed_close(&bed);
}

static void round__a_cancelled_call_asks_no_more(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  asks(&bed, ASKS("\"a\":" FORM));
  client_send(&bed.world, &bed.client, NULL,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
  assert_int_equal(bed.world.gateway->calls, 0);
  answers(&bed, 0, "\"result\":{\"action\":\"accept\"}");
  assert_null(upstream_last(bed.upstream));
  assert_int_equal(bed.world.gateway->late_answers, 1);
  bed_close(&bed);
}

static void round__a_client_that_goes_takes_its_questions_along(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, ALL, CALL("order"));
  asks(&bed, ASKS("\"a\":" FORM));
  client_close(&bed.client);
  world_run(&bed.world, HF_SECONDS(1));
  assert_int_equal(bed.world.gateway->calls, 0);
  assert_null(upstream_last(bed.upstream));
  client_open(&bed.world, &bed.client, "new", HF_ERA_LEGACY);
  bed_close(&bed);
}

/* A question nobody is left to answer does not keep a call that goes on for those who ask for the same. */
static void round__a_call_that_goes_on_alone_asks_nobody(void **state) {
  (void)state;
  struct bed bed;
  memset(&bed, 0, sizeof bed);
  world_init(&bed.world, &server, 1);
  bed.world.settings->tool_defaults.coalesce = HF_SECONDS(60);
  client_open(&bed.world, &bed.client, "new", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, ALL);
  client_send(&bed.world, &bed.client, &bed.reply, CALL("order"));
  bed.upstream = world_upstream(&bed.world, "new");
  asks(&bed, ASKS("\"a\":" FORM ",\"b\":" FORM));
  client_abandon(&bed.client, &bed.reply);
  world_run(&bed.world, HF_SECONDS(1));
  assert_int_equal(bed.world.gateway->calls, 0);
  assert_null(upstream_last(bed.upstream));
  bed_close(&bed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round__what_a_server_asks_goes_out_on_the_stream_and_back),
      cmocka_unit_test(round__a_prompt_can_ask_as_well),
      cmocka_unit_test(round__there_are_several_and_each_has_its_own_state),
      cmocka_unit_test(round__they_have_an_end),
      cmocka_unit_test(round__asks_only_so_much_at_once),
      cmocka_unit_test(round__what_was_not_declared_is_one_clear_error),
      cmocka_unit_test(round__a_server_that_cannot_ask_says_so_in_words_of_its_own),
      cmocka_unit_test(round__what_cannot_be_asked_takes_back_what_could),
      cmocka_unit_test(round__a_url_gets_the_id_that_a_legacy_client_wants),
      cmocka_unit_test(round__a_person_who_thinks_is_outside_the_deadline),
      cmocka_unit_test(round__a_person_who_never_answers_is_waited_for_an_hour),
      cmocka_unit_test(round__a_client_that_answers_with_an_error_ends_it),
      cmocka_unit_test(round__an_attempt_after_it_brings_the_answers_along),
      cmocka_unit_test(round__what_may_have_run_is_not_repeated),
      cmocka_unit_test(round__what_may_have_run_is_not_gone_on_with_when_its_key_is_forgotten),
      cmocka_unit_test(round__progress_does_not_fall),
      cmocka_unit_test(round__a_cancelled_call_asks_no_more),
      cmocka_unit_test(round__a_client_that_goes_takes_its_questions_along),
      cmocka_unit_test(round__a_call_that_goes_on_alone_asks_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
