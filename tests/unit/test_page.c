#include "gateway_world.h"

#include "gateway/question/held.h"
#include "gateway/question/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A server that wants a page to be opened first (-32042), and a modern client. */

#define HELLO                                                                                                          \
  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{},\"prompts\":{}},\"serverInfo\":{\"name\":\"s\"," \
  "\"version\":\"1\"}}"
#define TOOLS "{\"tools\":[{\"name\":\"order\"},{\"name\":\"read\",\"annotations\":{\"readOnlyHint\":true}}]}"
#define DONE "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"

static const struct fake_server servers[] = {
    {.name = "old", .hello = HELLO, .tools = TOOLS},
    {.name = "two", .hello = HELLO, .tools = TOOLS},
};

#define URL "{\"elicitation\":{\"url\":{}}}"
#define WANTS                                                                                                          \
  "{\"code\":-32042,\"message\":\"page\",\"data\":{\"elicitations\":[{\"mode\":\"url\",\"elicitationId\":\"e\","       \
  "\"url\":"                                                                                                           \
  "\"https://x\",\"message\":\"Go\"}]}}"
#define YES "{\"page-0\":{\"action\":\"accept\"}}"

struct bed {
  struct world world;
  struct fake_client client;
  struct fake_reply reply;
  char state[512];
};

static void assert_has(const char *text, const char *part) {
  if (!text || !strstr(text, part))
    fail_msg("'%s' is not in %s", part, text ? text : "(nothing)");
}

static void call(struct bed *bed, const char *more, const char *capabilities) {
  char text[4096];
  assert_true(
      snprintf(text, sizeof text,
               "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"order\"%s,\"_meta\":{"
               "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
               "\"io.modelcontextprotocol/clientCapabilities\":%s}}}",
               more, capabilities) < (int)sizeof text);
  reply_deinit(&bed->reply);
  client_send(&bed->world, &bed->client, &bed->reply, text);
  world_run(&bed->world, 0);
}

static struct fake_upstream *upstream(struct bed *bed) {
  return world_upstream(&bed->world, "old");
}

static void open_asked(struct bed *bed, const char *capabilities, const char *error) {
  memset(bed, 0, sizeof *bed);
  world_init(&bed->world, servers, 1);
  client_open(&bed->world, &bed->client, "old", HF_ERA_MODERN);
  call(bed, "", capabilities);
  upstream_refuse(upstream_last(upstream(bed)), -32042, error);
  world_run(&bed->world, 0);
}

static void close_world(struct bed *bed) {
  reply_deinit(&bed->reply);
  client_close(&bed->client);
  world_deinit(&bed->world);
}

static void note_state(struct bed *bed) {
  assert_has(bed->reply.answer, "\"resultType\":\"input_required\"");
  const char *at = strstr(bed->reply.answer, "\"requestState\":\"");
  assert_non_null(at);
  at += strlen("\"requestState\":\"");
  size_t len = strcspn(at, "\"");
  assert_true(len < sizeof bed->state);
  memcpy(bed->state, at, len);
  bed->state[len] = '\0';
}

static void come_back(struct bed *bed, const char *responses) {
  char more[1024];
  snprintf(more, sizeof more, ",\"requestState\":\"%s\",\"inputResponses\":%s", bed->state, responses);
  call(bed, more, URL);
}

static void page__the_error_becomes_a_question_and_then_the_call(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed, URL, WANTS);
  assert_has(bed.reply.answer, "\"page-0\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\"");
  assert_null(strstr(bed.reply.answer, "32042"));
  note_state(&bed);
  come_back(&bed, YES);
  struct hf_attempt_ref *ref = upstream_last(upstream(&bed));
  assert_non_null(ref);
  assert_null(strstr(ref->text, "requestState"));
  assert_null(strstr(ref->text, "inputResponses"));
  upstream_answer(ref, DONE);
  assert_has(bed.reply.answer, "\"text\":\"done\"");
  close_world(&bed);
}

static void page__an_answer_makes_the_call_once(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed, URL, WANTS);
  note_state(&bed);
  come_back(&bed, YES);
  upstream_answer(upstream_last(upstream(&bed)), DONE);
  const size_t sent = upstream(&bed)->sent_count;
  come_back(&bed, YES);
  assert_has(bed.reply.answer, "this answer was given before");
  assert_int_equal(upstream(&bed)->sent_count, sent);
  close_world(&bed);
}

static void page__nothing_but_yes_is_yes(void **state) {
  (void)state;
  static const char *const answers[] = {
      "{\"page-0\":{\"action\":\"decline\"}}",   "{\"page-0\":{\"action\":\"cancel\"}}", "{}", "[]", "{\"page-0\":1}",
      "{\"a\":{\"action\":\"accept\"},\"b\":{}}"};
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    struct bed bed;
    open_asked(&bed, URL, WANTS);
    note_state(&bed);
    const size_t sent = upstream(&bed)->sent_count;
    come_back(&bed, answers[i]);
    assert_has(bed.reply.answer, "the person did not agree to that");
    assert_has(bed.reply.answer, "\"executed\":\"no\"");
    assert_int_equal(upstream(&bed)->sent_count, sent);
    close_world(&bed);
  }
}

static void page__a_client_that_opens_none_gets_one_clear_error(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed, "{\"elicitation\":{}}", WANTS);
  assert_has(bed.reply.answer, "\"isError\":true");
  assert_has(bed.reply.answer, "a page must be opened, and the client did not declare that it can");
  assert_has(bed.reply.answer, "\"executed\":\"no\"");
  close_world(&bed);
  open_asked(&bed, URL, "{\"code\":-32042,\"message\":\"page\"}");
  assert_has(bed.reply.answer, "it cannot be told which");
  close_world(&bed);
}

static void page__it_has_an_end(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed, URL, WANTS);
  for (int i = 1; i < HF_PAGE_TRIES_MAX; i++) {
    note_state(&bed);
    come_back(&bed, YES);
    upstream_refuse(upstream_last(upstream(&bed)), -32042, WANTS);
    world_run(&bed.world, 0);
  }
  note_state(&bed);
  come_back(&bed, YES);
  upstream_refuse(upstream_last(upstream(&bed)), -32042, WANTS);
  world_run(&bed.world, 0);
  assert_has(bed.reply.answer, "pages were opened for it too often");
  close_world(&bed);
}

static void page__an_answer_comes_in_time_and_for_its_own_call(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed, URL, WANTS);
  note_state(&bed);
  char more[1024];
  snprintf(more, sizeof more, ",\"arguments\":{\"b\":1},\"requestState\":\"%s\",\"inputResponses\":" YES, bed.state);
  call(&bed, more, URL);
  assert_has(bed.reply.answer, "this answer belongs to another call");
  world_run(&bed.world, HF_MS(HF_HELD_MS));
  come_back(&bed, YES);
  assert_has(bed.reply.answer, "this answer comes too late");
  close_world(&bed);
}

static void page__only_so_many_wait(void **state) {
  (void)state;
  struct bed bed;
  open_asked(&bed, URL, WANTS);
  char first[512];
  note_state(&bed);
  memcpy(first, bed.state, sizeof first);
  bed.world.gateway->page_count += HF_PAGES_MAX - 1; /* as if the others had come */
  call(&bed, "", URL);
  upstream_refuse(upstream_last(upstream(&bed)), -32042, WANTS);
  world_run(&bed.world, 0);
  bed.world.gateway->page_count -= HF_PAGES_MAX - 1;
  note_state(&bed);
  memcpy(bed.state, first, sizeof first);
  come_back(&bed, YES);
  assert_has(bed.reply.answer, "this answer was given before");
  close_world(&bed);
}

static void page__a_legacy_client_gets_the_error_itself(void **state) {
  (void)state;
  struct bed bed;
  memset(&bed, 0, sizeof bed);
  world_init(&bed.world, servers, 1);
  client_open(&bed.world, &bed.client, "old", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, URL);
  client_send(&bed.world, &bed.client, &bed.reply,
              "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"order\"}}");
  upstream_refuse(upstream_last(upstream(&bed)), -32042, WANTS);
  assert_has(bed.reply.answer, "\"code\":-32042");
  assert_has(bed.reply.answer, "\"elicitationId\":\"e\"");
  close_world(&bed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(page__the_error_becomes_a_question_and_then_the_call),
      cmocka_unit_test(page__an_answer_makes_the_call_once),
      cmocka_unit_test(page__nothing_but_yes_is_yes),
      cmocka_unit_test(page__a_client_that_opens_none_gets_one_clear_error),
      cmocka_unit_test(page__it_has_an_end),
      cmocka_unit_test(page__an_answer_comes_in_time_and_for_its_own_call),
      cmocka_unit_test(page__only_so_many_wait),
      cmocka_unit_test(page__a_legacy_client_gets_the_error_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
