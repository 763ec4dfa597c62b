#include "shop.h"

#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/stage/key_place.h"
#include "gateway/stage/key_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIVEN(key) ",\"dev.holdfast/call\":{\"idempotencyKey\":\"" key "\"}"

static struct hf_attempt_ref *last(const struct shop *shop) {
  return upstream_last(shop->upstream);
}

static void key__a_fresh_one_is_an_argument_and_the_same_over_retries(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply, other;
  char first[64], second[64], third[64];
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"what\":\"tea\"}", "");
  struct hf_attempt_ref *ref = last(&shop);
  assert_non_null(strstr(ref->text, "\"what\":\"tea\""));
  shop_key_sent(ref, first);
  assert_int_equal(strlen(first), 36);
  assert_true(first[8] == '-' && first[13] == '-' && first[14] == '4' && first[18] == '-' && first[23] == '-');
  assert_non_null(strchr("89ab", first[19]));
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&shop.world, HF_SECONDS(1));
  assert_int_equal(shop_count(&shop), 2);
  shop_key_sent(last(&shop), second);
  assert_string_equal(first, second);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  assert_non_null(strstr(reply.answer, "ordered"));

  shop_call(&shop, &shop.ann, &other, "order", "{\"what\":\"tea\"}", "");
  shop_key_sent(last(&shop), third);
  assert_string_not_equal(first, third);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  reply_deinit(&other);
  shop_close(&shop);
}

static void key__the_callers_own_wins(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"token\":\"models\",\"n\":1.0}", GIVEN("own"));
  assert_non_null(strstr(last(&shop)->text, "\"arguments\":{\"token\":\"own\",\"n\":1.0}"));
  assert_null(strstr(last(&shop)->text, "idempotencyKey"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);

  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1.0, \"token\" : \"mod\\u0065l\"}", "");
  assert_non_null(strstr(last(&shop)->text, "{\"n\":1.0, \"token\" : \"model\"}"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);

  shop_call(&shop, &shop.ann, &reply, "order", "{\"token\":42}", "");
  assert_non_null(strstr(last(&shop)->text, "{\"token\":42}"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);

  shop_call(&shop, &shop.ann, &reply, "order", "{\"token\":\"\"}", ""); /* none */
  char key[64];
  shop_key_sent(last(&shop), key);
  assert_int_equal(strlen(key), 36);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__goes_where_the_tool_takes_it(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop.order->key.place = HF_KEY_META;
  shop.order->key.name = HF_STR("shop.example/key");
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", GIVEN("a\\\"b"));
  assert_non_null(strstr(last(&shop)->text, "\"shop.example/key\":\"a\\\"b\""));
  assert_non_null(strstr(last(&shop)->text, "\"arguments\":{\"n\":1}"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);

  shop.order->key.place = HF_KEY_HEADER;
  shop.order->key.name = HF_STR("Idempotency-Key");
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", GIVEN("ab"));
  assert_string_equal(last(&shop)->headers, "Idempotency-Key: ab\n");
  assert_null(strstr(last(&shop)->text, "\"ab\""));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__arguments_are_made_where_there_are_none(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  client_send(&shop.world, &shop.ann, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"shop__order\","
              "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
              "\"io.modelcontextprotocol/clientCapabilities\":{}" GIVEN("k") "}}}");
  assert_non_null(strstr(last(&shop)->text, "\"arguments\":{\"token\":\"k\"}"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k2"));
  assert_non_null(strstr(last(&shop)->text, "\"arguments\":{\"token\":\"k2\"}"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__has_room_in_large_arguments(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char key[64], again[64];
  size_t size = 3 << 20;
  const char *begin = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"shop__order\","
                      "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                      "\"io.modelcontextprotocol/clientCapabilities\":{}},\"arguments\":{\"x\":\"";
  const char *end = "\"}}}";
  char *text = malloc(strlen(begin) + size + strlen(end) + 1);
  if (!text)
    abort();
  memcpy(text, begin, strlen(begin));
  memset(text + strlen(begin), 'x', size);
  memcpy(text + strlen(begin) + size, end, strlen(end) + 1);
  shop_open(&shop, NULL);
  client_send(&shop.world, &shop.ann, &reply, text);
  shop_key_sent(last(&shop), key);
  assert_int_equal(strlen(key), 36);
  upstream_handed_over(last(&shop));
  upstream_fail(last(&shop), HF_EVIDENCE_BROKE);
  world_run(&shop.world, HF_SECONDS(1));
  shop_key_sent(last(&shop), again);
  assert_string_equal(key, again);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  assert_non_null(strstr(reply.answer, "ordered"));
  free(text);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__arguments_without_a_place_for_it_make_the_call_unsafe(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop.order->fit.validate = HF_CHECK_OFF;
  shop_call(&shop, &shop.ann, &reply, "order", "[1]", "");
  upstream_handed_over(last(&shop));
  upstream_fail(last(&shop), HF_EVIDENCE_BROKE);
  world_run(&shop.world, HF_SECONDS(2));
  assert_int_equal(shop_count(&shop), 1);
  assert_non_null(strstr(reply.answer, "\"executed\":\"maybe\""));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__with_other_arguments_it_is_refused(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", GIVEN("k"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  world_run(&shop.world, HF_SECONDS(5));
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":2}", GIVEN("k"));
  assert_int_equal(shop_count(&shop), 1);
  assert_non_null(strstr(reply.answer, "\"isError\":true"));
  assert_non_null(strstr(reply.answer, "The idempotency key 'k' belongs to other arguments: call c-"));
  assert_non_null(strstr(reply.answer, "was sent with it 5 s ago"));
  assert_non_null(strstr(reply.answer, "\"executed\":\"no\""));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__repeated_it_returns_the_recorded_result(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"token\":\"k\",\"n\":1}", "");
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  world_run(&shop.world, HF_SECONDS(5));
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1.0,\"token\":\"k\"}", "");
  assert_int_equal(shop_count(&shop), 1);
  assert_non_null(strstr(reply.answer, "ordered"));
  assert_non_null(strstr(reply.answer, "\"source\":\"cache\""));
  assert_non_null(strstr(reply.answer, "\"ageMs\":5000"));
  assert_non_null(strstr(reply.answer, "idempotency key"));
  reply_deinit(&reply);

  /* It is ann's: bob's is another one. */
  shop_call(&shop, &shop.bob, &reply, "order", "{\"n\":2}", GIVEN("k"));
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__what_failed_is_no_result(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  upstream_answer(last(&shop), "{\"content\":[],\"isError\":true}");
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__is_trusted_from_its_first_use_on_as_long_as_the_server_remembers(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop.order->key.ttl = HF_SECONDS(10);
  shop_call(&shop, &shop.ann, &reply, "order", "{}",
            ",\"dev.holdfast/call\":{\"idempotencyKey\":\"k\",\"maxAttempts\":1}");
  upstream_handed_over(last(&shop));
  upstream_fail(last(&shop), HF_EVIDENCE_BROKE);
  assert_non_null(strstr(reply.answer, "\"executed\":\"maybe\""));
  reply_deinit(&reply);

  world_run(&shop.world, HF_SECONDS(9));
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  assert_int_equal(shop_count(&shop), 2);
  upstream_handed_over(last(&shop));
  world_run(&shop.world, HF_SECONDS(2));
  upstream_fail(last(&shop), HF_EVIDENCE_BROKE);
  world_run(&shop.world, HF_SECONDS(5));
  assert_int_equal(shop_count(&shop), 2); /* not again: the server may have forgotten it */
  assert_non_null(strstr(reply.answer, "\"executed\":\"maybe\""));
  reply_deinit(&reply);

  shop_call(&shop, &shop.ann, &reply, "order", "{\"other\":true}", GIVEN("k")); /* and so have we */
  assert_int_equal(shop_count(&shop), 3);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__survives_a_round_of_questions(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char first[64], second[64];
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  shop_key_sent(last(&shop), first);
  upstream_answer(last(&shop),
                  "{\"resultType\":\"input_required\",\"requestState\":\"s\\u0031\",\"inputRequests\":{}}");
  reply_deinit(&reply);
  const char *round = ",\"requestState\":\"s1\",\"inputResponses\":{}";
  shop_call_with(&shop, &shop.ann, &reply, "order", "{\"n\":2}", "", round);
  shop_key_sent(last(&shop), second);
  assert_string_not_equal(first, second); /* other arguments are another call */
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_call_with(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "", round);
  shop_key_sent(last(&shop), second);
  assert_string_equal(first, second);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_call_with(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "", round);
  shop_key_sent(last(&shop), second);
  assert_string_not_equal(first, second); /* the round is over */
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  assert_int_equal(shop.world.gateway->keys.by_id.len, 0); /* nobody knows these keys any more */
  shop_close(&shop);
}

static void key__is_as_old_in_the_next_round_as_it_is(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop.order->key.ttl = HF_SECONDS(10);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", "");
  upstream_answer(last(&shop), "{\"resultType\":\"input_required\",\"inputRequests\":{}}");
  reply_deinit(&reply);
  world_run(&shop.world, HF_SECONDS(9));
  shop_call_with(&shop, &shop.ann, &reply, "order", "{}", "", ",\"inputResponses\":{}");
  upstream_handed_over(last(&shop));
  world_run(&shop.world, HF_SECONDS(2));
  upstream_fail(last(&shop), HF_EVIDENCE_BROKE);
  world_run(&shop.world, HF_SECONDS(5));
  assert_int_equal(shop_count(&shop), 2);
  assert_non_null(strstr(reply.answer, "\"executed\":\"maybe\""));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__of_the_caller_is_nobody_elses_once_its_round_is_over(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char key[64];
  const char *round = ",\"requestState\":\"s1\",\"inputResponses\":{}";
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  upstream_answer(last(&shop), "{\"resultType\":\"input_required\",\"requestState\":\"s1\"}");
  reply_deinit(&reply);
  shop_call_with(&shop, &shop.ann, &reply, "order", "{}", "", round);
  shop_key_sent(last(&shop), key);
  assert_string_equal(key, "k");
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_call_with(&shop, &shop.ann, &reply, "order", "{}", "", round);
  shop_key_sent(last(&shop), key);
  assert_string_not_equal(key, "k");
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  assert_non_null(strstr(reply.answer, "recorded result")); /* of the round */
  reply_deinit(&reply);
  shop_close(&shop);
}

static struct fake_store store;

static void store_begin(void) {
  memset(&store, 0, sizeof store);
  fake_store_init(&store, NULL);
}

static void key__outlives_the_gateway(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  store_begin();
  shop_open(&shop, &store);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", GIVEN("k"));
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  world_run(&shop.world, 0);
  reply_deinit(&reply);
  shop_close(&shop);

  shop_open(&shop, &store);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", GIVEN("k"));
  assert_non_null(strstr(reply.answer, "ordered"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":2}", GIVEN("k"));
  assert_non_null(strstr(reply.answer, "an earlier call was sent with it"));
  reply_deinit(&reply);
  assert_int_equal(shop_count(&shop), 0);
  shop_close(&shop);
}

static void key__is_stored_before_it_is_sent(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  store_begin();
  shop_open(&shop, &store);
  store.slow = true;
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  assert_int_equal(store.remembered, 1);
  assert_int_equal(shop_count(&shop), 0);
  fake_store_answer(&store); /* the key, and now the intent */
  fake_store_answer(&store);
  world_run(&shop.world, 0);
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  fake_store_answer(&store);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__a_store_that_is_slow_or_full_holds_nothing_up(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  store_begin();
  shop_open(&shop, &store);
  store.slow = true;
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  world_run(&shop.world, HF_SECONDS(5)); /* two waits of two seconds each */
  assert_int_equal(shop_count(&shop), 1);
  assert_int_equal(store.answer_count, 0); /* forgotten */
  store.slow = false;
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  store.error = HF_ERR_FULL;
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k2"));
  world_run(&shop.world, 0);
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  assert_non_null(strstr(reply.answer, "ordered"));
  world_run(&shop.world, 0);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__another_gateways_key_is_not_given_to_other_arguments(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  store_begin();
  shop_open(&shop, &store);
  store.keys[0] = (struct fake_keyed){.used = true, .principal = "ann", .server = "shop", .tool = "order", .key = "k"};
  store.keys[0].expires_ms = WORLD_WALL_MS + 1000000;
  for (int i = 0; i < 2; i++) {
    shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
    world_run(&shop.world, 0);
    assert_non_null(strstr(reply.answer, "another gateway has sent it"));
    assert_int_equal(shop_count(&shop), 0);
    reply_deinit(&reply);
  }
  assert_int_equal(fake_store_open_intents(&store), 0);
  shop_close(&shop);
}

/* The answer comes when the key has made room for others here: it is refused all the same. */
static void key__another_gateways_key_is_refused_also_once_it_is_forgotten_here(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  store_begin();
  shop_open(&shop, &store);
  store.keys[0] = (struct fake_keyed){.used = true, .principal = "ann", .server = "shop", .tool = "order", .key = "k"};
  store.keys[0].expires_ms = WORLD_WALL_MS + 1000000;
  store.slow = true;
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  struct hf_keys *keys = &shop.world.gateway->keys;
  hf_keys_drop(HF_CONTAINER_OF(keys->order.next, struct hf_key_entry, link));
  fake_store_answer(&store);
  world_run(&shop.world, 0);
  assert_non_null(strstr(reply.answer, "another gateway has sent it"));
  assert_int_equal(shop_count(&shop), 0);
  reply_deinit(&reply);
  shop_close(&shop);
}

/* What `explain` tells of the last call, which is under way. */
static void explain(const struct shop *shop, char text[4096]) {
  const struct hf_live *live = last(shop)->ctx;
  char call[HF_CALL_ID_MAX];
  struct hf_buf told;
  hf_buf_init(&told, 4095);
  assert_int_equal(hf_trace_explain(shop->world.gateway, hf_outcome_call_id(live->exchange, call), &told), 0);
  (void)snprintf(text, 4096, "%.*s", HF_STR_FMT(hf_buf_str(&told)));
  hf_buf_deinit(&told);
}

static void key__is_part_of_what_explain_tells(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char text[4096];
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", "");
  explain(&shop, text);
  assert_non_null(strstr(text, "the gateway made an idempotency key for it"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  explain(&shop, text);
  assert_non_null(strstr(text, "it goes under the caller's own idempotency key\""));
  upstream_error(last(&shop), -32602, "no such item");
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("k"));
  explain(&shop, text);
  assert_non_null(strstr(text, "the caller's own idempotency key, which was sent before"));
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void key__what_can_be_none_is_refused(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char more[HF_KEY_BYTES_MAX + 128];
  char key[HF_KEY_BYTES_MAX + 2];
  memset(key, 'k', sizeof key - 1);
  key[sizeof key - 1] = '\0';
  shop_open(&shop, NULL);
  shop.order->fit.validate = HF_CHECK_OFF;
  snprintf(more, sizeof more, GIVEN("%s"), key);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", more);
  assert_non_null(strstr(reply.answer, "The idempotency key cannot be used"));
  reply_deinit(&reply);
  key[HF_KEY_BYTES_MAX] = '\0';
  snprintf(more, sizeof more, GIVEN("%s"), key);
  shop_call(&shop, &shop.ann, &reply, "order", "{}", more);
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(last(&shop), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"token\":{\"a\":1}}", "");
  assert_non_null(strstr(reply.answer, "The idempotency key cannot be used"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"token\":\"a\",\"token\":\"b\"}", "");
  assert_non_null(strstr(reply.answer, "The idempotency key cannot be used"));
  reply_deinit(&reply);
  shop.order->key.place = HF_KEY_HEADER;
  shop_call(&shop, &shop.ann, &reply, "order", "{}", GIVEN("a b"));
  assert_non_null(strstr(reply.answer, "The idempotency key cannot be used"));
  reply_deinit(&reply);
  assert_int_equal(shop_count(&shop), 1);
  shop_close(&shop);
}

static struct hf_key_entry *add(struct hf_keys *keys, unsigned number) {
  char text[32];
  struct hf_buf id;
  hf_buf_init(&id, 1024);
  int n = snprintf(text, sizeof text, "%u", number);
  assert_int_equal(
      hf_keys_write_id(&id, HF_STR("ann"), HF_STR("shop"), HF_STR("order"), (struct hf_str){text, (size_t)n}), 0);
  struct hf_key_entry *entry = hf_keys_add(keys, hf_buf_str(&id), (size_t)n);
  assert_non_null(entry);
  entry->expires_ms = INT64_MAX;
  hf_buf_deinit(&id);
  return entry;
}

static bool known(struct hf_keys *keys, unsigned number) {
  char text[64];
  size_t digits = (size_t)snprintf(text, sizeof text, "%u", number);
  snprintf(text, sizeof text, "3:ann4:shop5:order%zu:%u", digits, number);
  return hf_keys_find(keys, hf_str_from(text)) != NULL;
}

static void key__the_oldest_go_when_there_are_too_many(void **state) {
  (void)state;
  struct shop shop;
  shop_open(&shop, NULL);
  struct hf_keys *keys = &shop.world.gateway->keys;
  for (unsigned i = 0; i < HF_KEYS_MAX; i++)
    add(keys, i);
  assert_true(known(keys, 0));
  add(keys, HF_KEYS_MAX);
  assert_false(known(keys, 0));
  assert_true(known(keys, 1));
  assert_true(known(keys, HF_KEYS_MAX));
  shop_close(&shop);
}

static void key__results_are_bounded_each_and_together(void **state) {
  (void)state;
  struct shop shop;
  shop_open(&shop, NULL);
  struct hf_keys *keys = &shop.world.gateway->keys;
  char *big = calloc(1, HF_KEY_RESULT_MAX + 1);
  if (!big)
    abort();
  memset(big, '1', HF_KEY_RESULT_MAX + 1);
  struct hf_key_entry *first = add(keys, 0);
  hf_keys_record(first, (struct hf_str){big, HF_KEY_RESULT_MAX + 1}, 1);
  assert_null(first->result.ptr);
  hf_keys_record(first, (struct hf_str){big, HF_KEY_RESULT_MAX}, 1);
  assert_non_null(first->result.ptr);
  struct hf_key_entry *entry = NULL;
  for (unsigned i = 1; i <= HF_KEY_RESULTS_BYTES / HF_KEY_RESULT_MAX; i++) {
    entry = add(keys, i);
    hf_keys_record(entry, (struct hf_str){big, HF_KEY_RESULT_MAX}, 1);
  }
  assert_null(first->result.ptr); /* the oldest one made room */
  assert_non_null(entry->result.ptr);
  assert_int_equal(keys->result_bytes, HF_KEY_RESULTS_BYTES);
  free(big);
  shop_close(&shop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(key__a_fresh_one_is_an_argument_and_the_same_over_retries),
      cmocka_unit_test(key__the_callers_own_wins),
      cmocka_unit_test(key__goes_where_the_tool_takes_it),
      cmocka_unit_test(key__arguments_are_made_where_there_are_none),
      cmocka_unit_test(key__has_room_in_large_arguments),
      cmocka_unit_test(key__arguments_without_a_place_for_it_make_the_call_unsafe),
      cmocka_unit_test(key__with_other_arguments_it_is_refused),
      cmocka_unit_test(key__repeated_it_returns_the_recorded_result),
      cmocka_unit_test(key__what_failed_is_no_result),
      cmocka_unit_test(key__is_trusted_from_its_first_use_on_as_long_as_the_server_remembers),
      cmocka_unit_test(key__survives_a_round_of_questions),
      cmocka_unit_test(key__is_as_old_in_the_next_round_as_it_is),
      cmocka_unit_test(key__of_the_caller_is_nobody_elses_once_its_round_is_over),
      cmocka_unit_test(key__outlives_the_gateway),
      cmocka_unit_test(key__is_stored_before_it_is_sent),
      cmocka_unit_test(key__a_store_that_is_slow_or_full_holds_nothing_up),
      cmocka_unit_test(key__another_gateways_key_is_not_given_to_other_arguments),
      cmocka_unit_test(key__another_gateways_key_is_refused_also_once_it_is_forgotten_here),
      cmocka_unit_test(key__is_part_of_what_explain_tells),
      cmocka_unit_test(key__what_can_be_none_is_refused),
      cmocka_unit_test(key__the_oldest_go_when_there_are_too_many),
      cmocka_unit_test(key__results_are_bounded_each_and_together),
  };
  return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
