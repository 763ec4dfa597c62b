#include "fake_store.h"
#include "gateway_world.h"

#include "base/alloc.h"
#include "gateway/question/held.h"
#include "gateway/question/question.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A legacy server that asks in the middle of a call, and a modern client. */

#define HELLO                                                                                                          \
  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{},\"prompts\":{}},\"serverInfo\":{\"name\":\"s\"," \
  "\"version\":\"1\"}}"
#define TOOLS "{\"tools\":[{\"name\":\"order\"},{\"name\":\"read\",\"annotations\":{\"readOnlyHint\":true}}]}"
#define ALL "{\"sampling\":{},\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{}}"
#define FORM "{\"jsonrpc\":\"2.0\",\"id\":\"x1\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\"}}"
#define SAMPLE "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"sampling/createMessage\",\"params\":{\"maxTokens\":9}}"
#define ROOTS "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"roots/list\"}"
#define ACCEPT "{\"action\":\"accept\",\"content\":{\"n\":1.50}}"
#define DONE "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"

static const struct fake_server servers[] = {
    {.name = "old", .hello = HELLO, .tools = TOOLS, .prompts = "{\"prompts\":[{\"name\":\"greet\"}]}"},
    {.name = "two", .hello = HELLO, .tools = TOOLS},
};

struct bed {
  struct world world;
  struct fake_client client;
  struct fake_reply reply;
  struct fake_upstream *upstream;
  struct hf_attempt_ref *ref;
  char state[512];
  char key[64];
};

static void open_world(struct bed *bed) {
  memset(bed, 0, sizeof *bed);
  world_init(&bed->world, servers, 2);
  bed->world.settings->servers[0].instance = HF_INSTANCE_SESSION;
  client_open(&bed->world, &bed->client, "old", HF_ERA_MODERN);
}

static void assert_has(const char *text, const char *part) {
  if (!text || !strstr(text, part))
    fail_msg("'%s' is not in %s", part, text ? text : "(nothing)");
}

static void send_as(struct bed *bed, struct fake_client *client, struct fake_reply *reply, const char *id,
                    const char *method, const char *params, const char *capabilities) {
  char text[4096];
  assert_true(snprintf(text, sizeof text,
                       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":%s,\"progressToken\":%s}}}",
                       id, method, params, capabilities, id) < (int)sizeof text);
  client_send(&bed->world, client, reply, text);
}

#define NAME "\"name\":\"order\",\"arguments\":{\"a\":1}"

static void call(struct bed *bed, const char *capabilities) {
  send_as(bed, &bed->client, &bed->reply, "7", "tools/call", NAME, capabilities);
  world_run(&bed->world, 0);
  bed->upstream = world_upstream(&bed->world, "old");
  bed->ref = upstream_last(bed->upstream);
  assert_non_null(bed->ref);
  upstream_handed_over(bed->ref);
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

/* The client was asked by `reply`, which is done with. */
static void note_question(struct bed *bed, struct fake_reply *reply) {
  assert_has(reply->answer, "\"resultType\":\"input_required\"");
  cut(reply->answer, "\"requestState\":\"", '"', bed->state, sizeof bed->state);
  cut(reply->answer, "\"inputRequests\":{\"", '"', bed->key, sizeof bed->key);
  reply_deinit(reply);
}

static void question(struct bed *bed, const char *text) {
  upstream_message(bed->upstream, bed->ref, text);
  world_run(&bed->world, 0);
}

static void open_asked(struct bed *bed) {
  open_world(bed);
  call(bed, ALL);
  question(bed, FORM);
  note_question(bed, &bed->reply);
}

static void close_world(struct bed *bed) {
  reply_deinit(&bed->reply);
  client_close(&bed->client);
  world_deinit(&bed->world);
}

static void come_back(struct bed *bed, struct fake_reply *reply, const char *id, const char *answer) {
  char params[2048];
  assert_true(snprintf(params, sizeof params, NAME ",\"requestState\":\"%s\",\"inputResponses\":{\"%s\":%s}",
                       bed->state, bed->key, answer) > 0);
  send_as(bed, &bed->client, reply, id, "tools/call", params, ALL);
}

static const char *last_posted(const struct bed *bed) {
  return bed->upstream->posted_count ? bed->upstream->posted[bed->upstream->posted_count - 1] : "(nothing)";
}

static void held__the_answer_goes_to_the_call_that_waits(void **state) {
  (void)state;
  struct bed bed;
  open_world(&bed);
  call(&bed, ALL);
  assert_has(bed.upstream->capabilities, "\"elicitation\":{\"form\":{},\"url\":{}}");
  question(&bed, FORM);
  assert_has(bed.reply.answer, "\"id\":7");
  assert_has(bed.reply.answer, "\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\"}");
  assert_int_equal(bed.reply.status, 200);
  note_question(&bed, &bed.reply);
  assert_int_equal(bed.world.gateway->held_count, 1);
  come_back(&bed, &bed.reply, "\"eight\"", ACCEPT);
  assert_string_equal(last_posted(&bed), "{\"jsonrpc\":\"2.0\",\"id\":\"x1\",\"result\":" ACCEPT "}");
  assert_int_equal(bed.upstream->sent_count, 3); /* two lists and the call: nothing was sent again */
  assert_null(bed.reply.answer);
  upstream_message(bed.upstream, bed.ref,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                   "\"progress\":1}}");
  assert_has(bed.reply.messages[0], "\"progressToken\":\"eight\"");
  upstream_answer(bed.ref, DONE);
  assert_has(bed.reply.answer, "\"id\":\"eight\"");
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  assert_has(bed.reply.answer, "\"attempts\":1");
  assert_int_equal(bed.world.gateway->held_count, 0);
  assert_int_equal(bed.world.gateway->calls, 0);
  close_world(&bed);
}

static void held__it_waits_for_its_client_outside_the_deadline(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  world_run(&bed.world, HF_SECONDS(500));
  come_back(&bed, &bed.reply, "8", ACCEPT);
  world_run(&bed.world, HF_SECONDS(20));
  assert_null(bed.reply.answer);
  upstream_answer(bed.ref, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  close_world(&bed);
}

static void held__the_same_state_twice_answers_once_and_starts_nothing(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply again, late;
  open_asked(&bed);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  const size_t posted = bed.upstream->posted_count, sent = bed.upstream->sent_count;
  come_back(&bed, &again, "9", ACCEPT); /* its stream broke, and the gateway has not noticed */
  assert_has(bed.reply.answer, "\"id\":8,\"error\"");
  assert_null(again.answer);
  upstream_answer(bed.ref, DONE);
  assert_has(again.answer, "\"id\":9,\"result\":");
  assert_has(again.answer, "\"text\":\"done\"");
  come_back(&bed, &late, "10", ACCEPT);
  assert_has(late.answer, "\"isError\":true");
  assert_has(late.answer, "that call has ended");
  assert_has(late.answer, "\"reason\":\"conflict\"");
  assert_int_equal(bed.upstream->posted_count, posted);
  assert_int_equal(bed.upstream->sent_count, sent);
  reply_deinit(&again);
  reply_deinit(&late);
  close_world(&bed);
}

static void held__several_rounds_each_with_a_state_of_its_own(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply old;
  open_asked(&bed);
  char first[512];
  memcpy(first, bed.state, sizeof first);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  question(&bed, SAMPLE);
  assert_has(bed.reply.answer, "\"id\":8");
  note_question(&bed, &bed.reply);
  assert_string_not_equal(first, bed.state);
  char second[512];
  memcpy(second, bed.state, sizeof second);
  memcpy(bed.state, first, sizeof first);
  come_back(&bed, &old, "9", ACCEPT);
  assert_has(old.answer, "that question was answered before");
  reply_deinit(&old);
  memcpy(bed.state, second, sizeof second);
  come_back(&bed, &bed.reply, "10", "{\"role\":\"assistant\"}");
  assert_string_equal(last_posted(&bed), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"role\":\"assistant\"}}");
  upstream_answer(bed.ref, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  close_world(&bed);
}

static void held__rounds_have_an_end(void **state) {
  (void)state;
  struct bed bed;
  open_world(&bed);
  call(&bed, ALL);
  for (int i = 0; i < HF_HELD_ROUNDS_MAX; i++) {
    question(&bed, FORM);
    note_question(&bed, &bed.reply);
    come_back(&bed, &bed.reply, "8", ACCEPT);
  }
  question(&bed, FORM);
  assert_has(last_posted(&bed), "\"id\":\"x1\",\"error\":");
  assert_null(bed.reply.answer);
  upstream_answer(bed.ref, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  close_world(&bed);
}

/* What a client leaves out it is asked again, and not for ever. */
static void held__what_is_left_out_is_asked_again(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  for (int i = 1; i < HF_HELD_ROUNDS_MAX; i++) {
    (void)memcpy(bed.key, "other", sizeof "other");
    come_back(&bed, &bed.reply, "8", ACCEPT);
    note_question(&bed, &bed.reply);
  }
  (void)memcpy(bed.key, "other", sizeof "other");
  come_back(&bed, &bed.reply, "8", ACCEPT);
  assert_has(last_posted(&bed), "\"id\":\"x1\",\"error\":");
  assert_null(bed.reply.answer);
  close_world(&bed);
}

static void held__questions_that_come_meanwhile_are_asked_next(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  question(&bed, SAMPLE);
  question(&bed, ROOTS);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  assert_has(bed.reply.answer, "\"method\":\"sampling/createMessage\"");
  assert_has(bed.reply.answer, "\"method\":\"roots/list\"");
  assert_null(strstr(bed.reply.answer, "elicitation/create"));
  close_world(&bed);
}

static void held__only_so_many_questions_of_one_call(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  for (int i = 1; i < HF_QUESTIONS_HELD_MAX; i++)
    question(&bed, FORM);
  assert_int_equal(bed.upstream->posted_count, 0);
  question(&bed, FORM);
  assert_has(last_posted(&bed), "too many open requests");
  close_world(&bed);
}

static void held__only_what_the_request_declared(void **state) {
  (void)state;
  static const struct {
    const char *capabilities, *question;
  } rows[] = {{"{}", FORM},
              {"{\"sampling\":{}}", FORM},
              {"{\"elicitation\":{\"url\":{}}}", FORM},
              {"{\"elicitation\":{}}", SAMPLE},
              {"{\"elicitation\":{}}", ROOTS}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bed bed;
    open_world(&bed);
    call(&bed, rows[i].capabilities);
    question(&bed, rows[i].question);
    assert_has(last_posted(&bed), "\"error\":{\"code\":-32601");
    assert_null(bed.reply.answer);
    close_world(&bed);
  }
}

static void held__a_client_that_never_comes_back_ends_both_sides(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  world_run(&bed.world, HF_MS(HF_HELD_MS) - HF_SECONDS(5));
  assert_int_equal(bed.world.gateway->held_count, 1);
  world_run(&bed.world, HF_SECONDS(6));
  assert_has(last_posted(&bed), "\"id\":\"x1\",\"error\":");
  assert_has(last_posted(&bed), "did not come back in time");
  assert_true(bed.ref->aborted);
  assert_int_equal(bed.world.gateway->held_count, 0);
  assert_int_equal(bed.world.gateway->calls, 0);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  assert_has(bed.reply.answer, "it comes too late");
  assert_int_equal(bed.upstream->posted_count, 1);
  close_world(&bed);
}

/* What may have run is written down when nobody will hear of it, and only then. */
static void held__a_client_that_never_comes_back_leaves_a_letter(void **state) {
  (void)state;
  static struct fake_store store;
  struct bed bed;
  open_world(&bed);
  bed.world.settings->tool_defaults.letters = HF_LETTER_UNSAFE;
  fake_store_init(&store, &bed.world.loop);
  hf_gateway_use_store(bed.world.gateway, &store.head);
  call(&bed, ALL);
  question(&bed, FORM);
  note_question(&bed, &bed.reply);
  assert_int_equal(fake_store_open_intents(&store), 1);
  assert_int_equal(fake_store_letters(&store), 0);
  world_run(&bed.world, HF_MS(HF_HELD_MS) + HF_SECONDS(5));
  assert_int_equal(fake_store_letters(&store), 1);
  assert_int_equal(fake_store_open_intents(&store), 0);
  assert_int_equal(bed.world.gateway->calls, 0);
  close_world(&bed);
}

static void held__what_a_call_comes_to_meanwhile_is_kept(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  upstream_answer(bed.ref, DONE); /* the server has gone on without an answer */
  world_run(&bed.world, HF_SECONDS(300));
  assert_int_equal(bed.world.gateway->held_count, 1);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  assert_has(bed.reply.answer, "\"id\":8,\"result\":");
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  assert_int_equal(bed.upstream->posted_count, 0); /* the answer is late, and dropped */
  assert_int_equal(bed.world.gateway->calls, 0);
  close_world(&bed);
}

static void held__what_was_kept_is_dropped_in_time(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  upstream_answer(bed.ref, DONE);
  world_run(&bed.world, HF_MS(HF_HELD_MS) + HF_SECONDS(1));
  assert_int_equal(bed.world.gateway->held_count, 0);
  assert_int_equal(bed.world.gateway->calls, 0);
  close_world(&bed);
}

static void held__a_question_dies_with_its_attempt(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  upstream_fail(bed.ref, HF_EVIDENCE_BROKE);
  world_run(&bed.world, HF_SECONDS(1));
  come_back(&bed, &bed.reply, "8", ACCEPT);
  assert_has(bed.reply.answer, "\"isError\":true");
  assert_has(bed.reply.answer, "\"executed\":\"maybe\"");
  assert_int_equal(bed.upstream->posted_count, 0);
  assert_null(upstream_last(bed.upstream));
  close_world(&bed);
}

/* What the next attempt asks is another question. */
static void held__an_answer_is_for_the_attempt_that_asked(void **state) {
  (void)state;
  struct bed bed;
  open_world(&bed);
  send_as(&bed, &bed.client, &bed.reply, "7", "tools/call", "\"name\":\"read\"", ALL);
  world_run(&bed.world, 0);
  bed.upstream = world_upstream(&bed.world, "old");
  bed.ref = upstream_last(bed.upstream);
  upstream_handed_over(bed.ref);
  question(&bed, FORM);
  note_question(&bed, &bed.reply);
  upstream_fail(bed.ref, HF_EVIDENCE_BROKE);
  world_run(&bed.world, HF_SECONDS(2));
  bed.ref = upstream_last(bed.upstream);
  assert_non_null(bed.ref);
  assert_null(strstr(bed.ref->text, "requestState"));
  upstream_handed_over(bed.ref);
  question(&bed, FORM);
  char params[1024];
  snprintf(params, sizeof params, "\"name\":\"read\",\"requestState\":\"%s\",\"inputResponses\":{\"%s\":" ACCEPT "}",
           bed.state, bed.key);
  send_as(&bed, &bed.client, &bed.reply, "8", "tools/call", params, ALL);
  assert_int_equal(bed.upstream->posted_count, 0);
  assert_has(bed.reply.answer, "\"resultType\":\"input_required\"");
  assert_null(strstr(bed.reply.answer, bed.key));
  close_world(&bed);
}

static void held__a_question_that_is_taken_back_pauses_nothing(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  upstream_message(bed.upstream, NULL,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"x1\"}}");
  world_run(&bed.world, HF_SECONDS(60)); /* its silence counts again */
  assert_true(bed.ref->aborted);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  assert_has(bed.reply.answer, "\"executed\":\"maybe\"");
  assert_has(bed.reply.answer, "\"reason\":\"timed_out\"");
  close_world(&bed);
}

static void held__the_state_of_another_call_is_refused(void **state) {
  (void)state;
  struct bed bed;
  struct fake_client other;
  struct fake_reply reply;
  char params[2048];
  open_asked(&bed);
  /* other arguments, another tool, another method, another principal, another endpoint, a changed byte */
  static const char *const wrong[] = {"\"name\":\"order\",\"arguments\":{\"a\":2}",
                                      "\"name\":\"read\",\"arguments\":{\"a\":1}"};
  for (size_t i = 0; i < 2; i++) {
    snprintf(params, sizeof params, "%s,\"requestState\":\"%s\",\"inputResponses\":{\"%s\":" ACCEPT "}", wrong[i],
             bed.state, bed.key);
    send_as(&bed, &bed.client, &reply, "8", "tools/call", params, ALL);
    assert_has(reply.answer, "its requestState belongs to another one");
    reply_deinit(&reply);
  }
  snprintf(params, sizeof params, NAME ",\"requestState\":\"%s\",\"inputResponses\":{\"%s\":" ACCEPT "}", bed.state,
           bed.key);
  send_as(&bed, &bed.client, &reply, "8", "prompts/get", params, ALL);
  assert_has(reply.answer, "belongs to another one");
  reply_deinit(&reply);
  client_open_as(&bed.world, &other, "mallory", HF_ERA_MODERN);
  send_as(&bed, &other, &reply, "8", "tools/call", params, ALL);
  assert_has(reply.answer, "belongs to another one");
  reply_deinit(&reply);
  client_close(&other);
  char *last = strrchr(params, '"');
  assert_non_null(last);
  bed.state[strlen(bed.state) - 1] ^= 1;
  come_back(&bed, &reply, "8", ACCEPT);
  assert_has(reply.answer, "was not made by this gateway, or was changed");
  reply_deinit(&reply);
  assert_int_equal(bed.upstream->posted_count, 0);
  assert_int_equal(bed.world.gateway->held_count, 1);
  close_world(&bed);
}

/* Of an earlier gateway, or another one: to a legacy server it would be the call once more. */
static void held__what_no_call_waits_for_starts_none(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply reply;
  open_asked(&bed);
  const size_t sent = bed.upstream->sent_count;
  bed.state[strlen("dev.holdfast/held-1.")] ^= 1; /* the name of the signer */
  come_back(&bed, &reply, "8", ACCEPT);
  assert_has(reply.answer, "no call here waits for it");
  reply_deinit(&reply);
  send_as(&bed, &bed.client, &reply, "8", "tools/call", NAME ",\"requestState\":\"a server's\"", ALL);
  assert_has(reply.answer, "no call here waits for it");
  reply_deinit(&reply);
  send_as(&bed, &bed.client, &reply, "8", "tools/call", NAME ",\"inputResponses\":{}", ALL);
  assert_has(reply.answer, "no call here waits for it");
  reply_deinit(&reply);
  assert_int_equal(bed.upstream->sent_count, sent);
  close_world(&bed);
}

static void held__only_so_many_calls_are_held(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  bed.world.gateway->held_count = HF_HELD_MAX;
  struct fake_reply reply;
  send_as(&bed, &bed.client, &reply, "8", "tools/call", "\"name\":\"read\"", ALL);
  struct hf_attempt_ref *ref = upstream_last(bed.upstream);
  upstream_message(bed.upstream, ref, SAMPLE);
  assert_has(last_posted(&bed), "too many open requests");
  assert_null(reply.answer);
  bed.world.gateway->held_count = 1;
  close_world(&bed);
  reply_deinit(&reply);
}

static void held__a_call_that_waits_for_its_client_takes_no_room(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  bed.world.settings->limits.calls_per_client = 1;
  struct fake_reply second, third;
  send_as(&bed, &bed.client, &second, "8", "tools/call", "\"name\":\"read\"", ALL);
  assert_null(second.answer); /* it is at its server */
  send_as(&bed, &bed.client, &third, "9", "tools/call", "\"name\":\"read\"", ALL);
  assert_has(third.answer, "Too many calls are in flight");
  close_world(&bed);
  reply_deinit(&second);
  reply_deinit(&third);
}

static void held__which_of_several_clients_asks_is_not_guessed(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply reply;
  open_world(&bed);
  call(&bed, ALL);
  send_as(&bed, &bed.client, &reply, "8", "tools/call", "\"name\":\"read\"", "{\"elicitation\":{}}");
  upstream_message(bed.upstream, NULL, FORM); /* a child: nothing says whose it is */
  assert_has(last_posted(&bed), "calls of several clients are under way");
  upstream_message(bed.upstream, bed.ref, FORM); /* on the stream of a call */
  assert_has(bed.reply.answer, "input_required");
  assert_null(reply.answer);
  close_world(&bed);
  reply_deinit(&reply);
}

/* Of one client each call gets one, and whichever it gets, the answer reaches the call that waits for it. */
static void held__of_one_client_each_call_gets_one(void **state) {
  (void)state;
  struct bed bed;
  struct fake_reply second;
  open_world(&bed);
  call(&bed, ALL);
  struct hf_attempt_ref *first_ref = bed.ref;
  send_as(&bed, &bed.client, &second, "8", "tools/call", "\"name\":\"read\"", ALL);
  struct hf_attempt_ref *second_ref = upstream_last(bed.upstream);
  upstream_handed_over(second_ref);
  upstream_message(bed.upstream, NULL, SAMPLE); /* the second one's, but who knows */
  upstream_message(bed.upstream, NULL, FORM);   /* the first one's */
  assert_has(second.answer, "elicitation/create");
  assert_has(bed.reply.answer, "sampling/createMessage");
  note_question(&bed, &bed.reply);
  come_back(&bed, &bed.reply, "9", "{\"role\":\"assistant\"}");
  assert_has(last_posted(&bed), "\"id\":5,\"result\":{\"role\":\"assistant\"}");
  upstream_answer(second_ref, DONE); /* whose client has not come back with the first one's answer yet */
  cut(second.answer, "\"requestState\":\"", '"', bed.state, sizeof bed.state);
  cut(second.answer, "\"inputRequests\":{\"", '"', bed.key, sizeof bed.key);
  reply_deinit(&second);
  char params[1024];
  snprintf(params, sizeof params, "\"name\":\"read\",\"requestState\":\"%s\",\"inputResponses\":{\"%s\":" ACCEPT "}",
           bed.state, bed.key);
  send_as(&bed, &bed.client, &second, "10", "tools/call", params, ALL);
  assert_has(last_posted(&bed), "\"id\":\"x1\",\"result\":" ACCEPT);
  assert_has(second.answer, "\"text\":\"done\"");
  upstream_answer(first_ref, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  close_world(&bed);
  reply_deinit(&second);
}

static void held__a_prompt_is_held_as_well(void **state) {
  (void)state;
  struct bed bed;
  open_world(&bed);
  send_as(&bed, &bed.client, &bed.reply, "7", "prompts/get", "\"name\":\"greet\"", ALL);
  world_run(&bed.world, 0);
  bed.upstream = world_upstream(&bed.world, "old");
  bed.ref = upstream_last(bed.upstream);
  question(&bed, ROOTS);
  note_question(&bed, &bed.reply);
  char params[1024];
  snprintf(params, sizeof params,
           "\"name\":\"greet\",\"requestState\":\"%s\",\"inputResponses\":{\"%s\":{\"roots\":[]}}", bed.state, bed.key);
  send_as(&bed, &bed.client, &bed.reply, "8", "prompts/get", params, ALL);
  assert_string_equal(last_posted(&bed), "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"roots\":[]}}");
  upstream_answer(bed.ref, "{\"messages\":[]}");
  assert_has(bed.reply.answer, "\"messages\":[]");
  close_world(&bed);
}

static void held__a_client_that_leaves_after_its_answer_cancels(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  client_abandon(&bed.client, &bed.reply);
  assert_true(bed.ref->aborted);
  assert_int_equal(bed.world.gateway->held_count, 0);
  struct fake_reply again;
  come_back(&bed, &again, "9", ACCEPT);
  assert_has(again.answer, "that call has ended");
  reply_deinit(&again);
  close_world(&bed);
}

/* Where an effect outlives its client's stream, the request that is made anew finds it. */
static void held__a_call_that_goes_on_alone_is_found_again(void **state) {
  (void)state;
  struct bed bed;
  open_world(&bed);
  bed.world.settings->tool_defaults.coalesce = HF_SECONDS(60);
  call(&bed, ALL);
  question(&bed, FORM);
  note_question(&bed, &bed.reply);
  struct fake_reply equal, again;
  send_as(&bed, &bed.client, &equal, "20", "tools/call", NAME, ALL); /* without the state: not a second one */
  assert_has(equal.answer, "asked for input there");
  reply_deinit(&equal);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  client_abandon(&bed.client, &bed.reply);
  assert_false(bed.ref->aborted);
  come_back(&bed, &again, "9", ACCEPT);
  assert_int_equal(bed.upstream->posted_count, 1);
  upstream_answer(bed.ref, DONE);
  assert_has(again.answer, "\"id\":9,\"result\":");
  assert_has(again.answer, "\"text\":\"done\"");
  reply_deinit(&again);
  close_world(&bed);
}

static void held__a_client_that_ends_takes_its_calls_along(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed);
  client_close(&bed.client);
  assert_true(bed.ref->aborted);
  assert_int_equal(bed.world.gateway->held_count, 0);
  world_run(&bed.world, HF_SECONDS(1));
  client_open(&bed.world, &bed.client, "old", HF_ERA_MODERN);
  close_world(&bed);
}

static void held__an_id_of_a_call_that_is_held_is_free(void **state) {
  (void)state;
  struct bed bed;
  memset(&bed, 0, sizeof bed);
  world_init(&bed.world, servers, 2);
  bed.world.settings->servers[0].instance = HF_INSTANCE_SESSION;
  client_open(&bed.world, &bed.client, "old", HF_ERA_UNKNOWN); /* over stdio: one client, which may cancel by id */
  call(&bed, ALL);
  assert_string_equal(bed.upstream->capabilities, ALL); /* what it said of itself */
  question(&bed, FORM);
  note_question(&bed, &bed.reply);
  client_send(&bed.world, &bed.client, NULL,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
  assert_false(bed.ref->aborted);
  come_back(&bed, &bed.reply, "8", ACCEPT);
  client_send(&bed.world, &bed.client, NULL,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":8}}");
  assert_true(bed.ref->aborted);
  close_world(&bed);
}

/* Whatever cannot be had: the client is asked, or the server told; and the call ends. */
static void held__ends_without_memory(void **state) {
  (void)state;
  unsigned asked = 0, refused = 0;
  for (long n = 0; n < 60; n++) {
    struct bed bed;
    struct hf_message message;
    struct hf_refusal refusal;
    open_world(&bed);
    call(&bed, ALL);
    assert_int_equal(hf_message_decode_copy(hf_str_from(FORM), &message, &refusal), 0);
    hf_alloc_fail_after(n);
    bed.ref->events->message(bed.ref->ctx, &message);
    hf_alloc_fail_after(-1);
    hf_message_deinit(&message);
    world_run(&bed.world, 0);
    if (bed.reply.answer) {
      asked++;
      assert_int_equal(bed.upstream->posted_count, 0);
      note_question(&bed, &bed.reply);
      come_back(&bed, &bed.reply, "8", ACCEPT);
    } else {
      refused += bed.upstream->posted_count == 1; /* or there is no memory even for that */
    }
    upstream_answer(bed.ref, DONE);
    assert_has(bed.reply.answer, "\"text\":\"done\"");
    assert_int_equal(bed.world.gateway->held_count, 0);
    assert_int_equal(bed.world.gateway->calls, 0);
    close_world(&bed);
  }
  assert_true(asked > 10 && refused > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(held__the_answer_goes_to_the_call_that_waits),
      cmocka_unit_test(held__it_waits_for_its_client_outside_the_deadline),
      cmocka_unit_test(held__the_same_state_twice_answers_once_and_starts_nothing),
      cmocka_unit_test(held__several_rounds_each_with_a_state_of_its_own),
      cmocka_unit_test(held__rounds_have_an_end),
      cmocka_unit_test(held__what_is_left_out_is_asked_again),
      cmocka_unit_test(held__questions_that_come_meanwhile_are_asked_next),
      cmocka_unit_test(held__only_so_many_questions_of_one_call),
      cmocka_unit_test(held__only_what_the_request_declared),
      cmocka_unit_test(held__a_client_that_never_comes_back_ends_both_sides),
      cmocka_unit_test(held__a_client_that_never_comes_back_leaves_a_letter),
      cmocka_unit_test(held__what_a_call_comes_to_meanwhile_is_kept),
      cmocka_unit_test(held__what_was_kept_is_dropped_in_time),
      cmocka_unit_test(held__a_question_dies_with_its_attempt),
      cmocka_unit_test(held__an_answer_is_for_the_attempt_that_asked),
      cmocka_unit_test(held__a_question_that_is_taken_back_pauses_nothing),
      cmocka_unit_test(held__the_state_of_another_call_is_refused),
      cmocka_unit_test(held__what_no_call_waits_for_starts_none),
      cmocka_unit_test(held__only_so_many_calls_are_held),
      cmocka_unit_test(held__a_call_that_waits_for_its_client_takes_no_room),
      cmocka_unit_test(held__which_of_several_clients_asks_is_not_guessed),
      cmocka_unit_test(held__of_one_client_each_call_gets_one),
      cmocka_unit_test(held__a_prompt_is_held_as_well),
      cmocka_unit_test(held__a_client_that_leaves_after_its_answer_cancels),
      cmocka_unit_test(held__a_call_that_goes_on_alone_is_found_again),
      cmocka_unit_test(held__a_client_that_ends_takes_its_calls_along),
      cmocka_unit_test(held__an_id_of_a_call_that_is_held_is_free),
      cmocka_unit_test(held__ends_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
