#include "shop.h"

#include "base/alloc.h"
#include "gateway/stage/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CALL_EQUAL "{\"amount\":1,\"to\":\"x\"}"

/* The client of the newest call goes away when the server has got it. */
static void vanish(struct shop *shop, struct fake_reply *reply) {
  upstream_handed_over(upstream_last(shop->upstream));
  client_abandon(&shop->ann, reply);
}

static void flight__equal_calls_share_one_and_are_answered_under_their_own_ids(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", "{\"amount\":1,\"to\":\"x\"}", "");
  shop_call(&shop, &shop.ann, &second, "pay", "{ \"to\" : \"x\", \"amount\" : 1 }", "");
  assert_int_equal(shop_count(&shop), 1);
  assert_null(second.answer);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(first.answer, "paid"));
  assert_null(strstr(first.answer, "\"joined\""));
  assert_non_null(strstr(second.answer, "\"id\":7"));
  assert_non_null(strstr(second.answer, "paid"));
  assert_non_null(strstr(second.answer, "\"joined\":\"c-"));
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

static void legacy_pay(struct shop *shop, struct fake_client *client, struct fake_reply *reply, int id) {
  char text[512];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"shop__pay\","
           "\"arguments\":" CALL_EQUAL "}}",
           id);
  client_send(&shop->world, client, reply, text);
}

static void flight__who_comes_after_the_answer_makes_a_call_of_its_own(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second, third;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, "");
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  shop_call(&shop, &shop.ann, &third, "pay", CALL_EQUAL, ""); /* the second has not even been answered yet */
  assert_non_null(strstr(second.answer, "paid"));
  assert_null(third.answer);
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&first);
  reply_deinit(&second);
  reply_deinit(&third);
  shop_close(&shop);
}

/* The server of `instance: session` has one state for each client. */
static void flight__calls_at_two_clients_own_servers_are_not_the_same(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, other, same;
  struct fake_client one, two;
  shop_open_own(&shop);
  client_open_as(&shop.world, &one, "ann", HF_ERA_LEGACY);
  client_initialize(&shop.world, &one, "{}");
  struct fake_upstream *ones = world_upstream(&shop.world, "shop");
  client_open_as(&shop.world, &two, "ann", HF_ERA_LEGACY);
  client_initialize(&shop.world, &two, "{}");
  struct fake_upstream *twos = world_upstream(&shop.world, "shop");
  assert_ptr_not_equal(ones, twos);
  legacy_pay(&shop, &one, &first, 1);
  legacy_pay(&shop, &two, &other, 1);
  legacy_pay(&shop, &two, &same, 2);
  assert_true(upstream_last(ones) != NULL);
  struct hf_attempt_ref *ref = upstream_last(twos);
  upstream_handed_over(upstream_last(ones));
  client_close(&one); /* with its own server: nobody else can ever join */
  world_run(&shop.world, 0);
  upstream_answer(ref, SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(same.answer, "\"joined\":\"c-"));
  assert_int_equal(shop.world.gateway->calls, 0);
  reply_deinit(&first);
  reply_deinit(&other);
  reply_deinit(&same);
  client_close(&two);
  shop_close(&shop);
}

/* A modern client's stream breaks, and later the client itself is gone. */
static void flight__at_a_clients_own_server_it_ends_with_the_client(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  shop_open_own(&shop);
  shop_call(&shop, &shop.bob, &first, "pay", "{\"n\":1}", "");
  struct fake_upstream *own = world_upstream(&shop.world, "shop");
  struct hf_attempt_ref *landed = upstream_last(own);
  upstream_handed_over(landed);
  client_abandon(&shop.bob, &first);
  upstream_answer(landed, SHOP_OK("paid"));
  shop_call(&shop, &shop.bob, &second, "pay", "{\"n\":2}", "");
  struct hf_attempt_ref *flying = upstream_last(own);
  upstream_handed_over(flying);
  client_abandon(&shop.bob, &second);
  assert_true(flying->open);
  client_close(&shop.bob);
  assert_true(flying->aborted);
  assert_int_equal(shop.world.gateway->calls, 0);
  client_open_as(&shop.world, &shop.bob, "bob", HF_ERA_MODERN);
  world_run(&shop.world, SHOP_COALESCE);
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

static void flight__a_failure_is_shared_too(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&shop.world, 0);
  assert_non_null(strstr(first.answer, "\"executed\":\"maybe\""));
  assert_non_null(strstr(second.answer, "\"executed\":\"maybe\""));
  assert_non_null(strstr(second.answer, "\"isError\":true"));
  assert_int_equal(shop_count(&shop), 1);
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

/* How many calls reach the server if these two are made one after the other. */
static size_t count_of_two(const char *tool, const char *other_tool, const char *arguments, const char *other, bool bob,
                           const char *params, void (*set)(struct shop *shop)) {
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  if (set)
    set(&shop);
  shop_call_with(&shop, &shop.ann, &first, tool, arguments, "", params);
  shop_call_with(&shop, bob ? &shop.bob : &shop.ann, &second, other_tool, other, "", params);
  size_t count = shop_count(&shop);
  client_abandon(&shop.ann, &first);
  client_abandon(bob ? &shop.bob : &shop.ann, &second);
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
  return count;
}

static void coalesce_nothing(struct shop *shop) {
  shop->pay->coalesce = 0;
}

static void cache_nothing(struct shop *shop) {
  shop->look->cache.max_stale = 0;
}

static void flight__only_equal_calls_share(void **state) {
  (void)state;
  assert_int_equal(count_of_two("pay", "pay", "{}", "{}", false, "", NULL), 1);
  assert_int_equal(count_of_two("pay", "pay", "{}", "{}", true, "", NULL), 2);
  assert_int_equal(count_of_two("pay", "pay", "{\"a\":1}", "{\"a\":2}", false, "", NULL), 2);
  assert_int_equal(count_of_two("pay", "order", "{}", "{}", false, "", NULL), 2);
  assert_int_equal(count_of_two("order", "order", "{}", "{}", false, "", NULL), 1);
  assert_int_equal(count_of_two("note", "note", "{}", "{}", false, "", NULL), 2);
  assert_int_equal(count_of_two("look", "look", "{}", "{}", false, "", NULL), 1);
  assert_int_equal(count_of_two("look", "look", "{}", "{}", false, "", cache_nothing), 2);
  assert_int_equal(count_of_two("pay", "pay", "{}", "{}", false, "", coalesce_nothing), 2);
  assert_int_equal(count_of_two("pay", "pay", "{}", "{}", false, ",\"requestState\":\"s\"", NULL), 2);
  assert_int_equal(count_of_two("pay", "pay", "{}", "{}", false, ",\"inputResponses\":{}", NULL), 2);
}

static void flight__progress_reaches_all_who_follow_and_never_falls(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, ",\"progressToken\":\"one\"");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  const char *five = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                     "\"progress\":5}}";
  upstream_message(shop.upstream, ref, five);
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, ",\"progressToken\":\"two\"");
  upstream_message(shop.upstream, ref,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                   "\"progress\":6}}");
  upstream_message(shop.upstream, ref, five);
  assert_int_equal(first.message_count, 2);
  assert_int_equal(second.message_count, 1);
  assert_non_null(strstr(second.messages[0], "\"progressToken\":\"two\""));
  assert_non_null(strstr(second.messages[0], "\"progress\":6"));
  upstream_answer(ref, SHOP_OK("paid"));
  world_run(&shop.world, 0);
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

static void flight__a_follower_waits_no_longer_than_it_may(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  world_run(&shop.world, HF_SECONDS(1));
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, ",\"dev.holdfast/call\":{\"deadlineMs\":2000}");
  world_run(&shop.world, HF_MS(1900));
  assert_null(second.answer);
  world_run(&shop.world, HF_MS(200));
  assert_non_null(strstr(second.answer, "\"executed\":\"maybe\""));
  assert_non_null(strstr(second.answer, "\"reason\":\"deadline\""));
  assert_non_null(strstr(second.answer, "\"joined\":\"c-"));
  assert_null(first.answer);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(first.answer, "paid"));
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

static void flight__a_follower_that_leaves_changes_nothing(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, "");
  client_abandon(&shop.ann, &second);
  world_run(&shop.world, 0);
  assert_true(upstream_last(shop.upstream) != NULL);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(first.answer, "paid"));
  assert_null(second.answer);
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

static void goes_on_for_those_who_follow(const char *tool) {
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, tool, "{}", "");
  shop_call(&shop, &shop.ann, &second, tool, "{}", "");
  vanish(&shop, &first);
  world_run(&shop.world, HF_SECONDS(10));
  assert_true(upstream_last(shop.upstream) != NULL);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("done"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(second.answer, "done"));
  assert_int_equal(shop.world.gateway->calls, 0);
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

static void flight__a_leader_that_leaves_goes_on_for_those_who_follow(void **state) {
  (void)state;
  goes_on_for_those_who_follow("pay");
  goes_on_for_those_who_follow("look");
}

static void flight__without_anybody_left_a_call_without_effects_ends(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "look", "{}", "");
  shop_call(&shop, &shop.ann, &second, "look", "{}", "");
  client_abandon(&shop.ann, &first);
  client_abandon(&shop.ann, &second);
  world_run(&shop.world, 0);
  assert_null(upstream_last(shop.upstream));
  assert_int_equal(shop.world.gateway->calls, 0);
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

static void flight__who_asks_again_joins_the_call_whose_client_has_gone(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, again;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  vanish(&shop, &first);
  world_run(&shop.world, HF_SECONDS(20));
  shop_call(&shop, &shop.ann, &again, "pay", CALL_EQUAL, "");
  assert_int_equal(shop_count(&shop), 1);
  world_run(&shop.world, HF_SECONDS(20)); /* the window is over, but somebody waits */
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(again.answer, "paid"));
  assert_non_null(strstr(again.answer, "\"joined\":\"c-"));
  reply_deinit(&first);
  reply_deinit(&again);
  shop_close(&shop);
}

static void flight__who_asks_again_gets_what_came_meanwhile_once(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, again, third;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &first);
  world_run(&shop.world, HF_SECONDS(5));
  upstream_answer(ref, SHOP_OK("paid"));
  world_run(&shop.world, HF_SECONDS(29));
  shop_call(&shop, &shop.bob, &third, "pay", CALL_EQUAL, "");
  assert_null(third.answer); /* it is somebody else's */
  client_abandon(&shop.bob, &third);
  reply_deinit(&third);
  shop_call(&shop, &shop.ann, &again, "pay", CALL_EQUAL, "");
  assert_int_equal(shop_count(&shop), 2);
  assert_non_null(strstr(again.answer, "paid"));
  assert_non_null(strstr(again.answer, "\"joined\":\"c-"));
  shop_call(&shop, &shop.ann, &third, "pay", CALL_EQUAL, "");
  assert_int_equal(shop_count(&shop), 3);
  assert_null(third.answer);
  client_abandon(&shop.ann, &third);
  reply_deinit(&first);
  reply_deinit(&again);
  reply_deinit(&third);
  shop_close(&shop);
}

static void flight__an_answer_that_nobody_asks_for_is_forgotten_after_the_window(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, again;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &first);
  upstream_answer(ref, SHOP_OK("paid"));
  world_run(&shop.world, HF_CLIENT_PATIENCE + SHOP_COALESCE - HF_MS(1));
  assert_int_equal(hf_flights_count(shop.world.gateway->flights), 1); /* for one that noticed nothing */
  world_run(&shop.world, HF_MS(2));
  shop_call(&shop, &shop.ann, &again, "pay", CALL_EQUAL, "");
  assert_int_equal(shop_count(&shop), 2);
  client_abandon(&shop.ann, &again);
  reply_deinit(&first);
  reply_deinit(&again);
  shop_close(&shop);
}

static void flight__what_certainly_did_not_run_is_not_kept(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, again;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &first);
  upstream_error(ref, HF_RPC_INVALID_PARAMS, "no");
  world_run(&shop.world, 0);
  shop_call(&shop, &shop.ann, &again, "pay", CALL_EQUAL, "");
  assert_int_equal(shop_count(&shop), 2);
  client_abandon(&shop.ann, &again);
  reply_deinit(&first);
  reply_deinit(&again);
  shop_close(&shop);
}

static void flight__after_the_window_it_is_cancelled(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &first);
  world_run(&shop.world, SHOP_COALESCE - HF_MS(1));
  assert_true(ref->open);
  assert_int_equal(shop.world.gateway->calls, 1);
  world_run(&shop.world, HF_MS(2));
  assert_true(ref->aborted);
  assert_int_equal(shop.world.gateway->calls, 0);
  reply_deinit(&first);
  shop_close(&shop);
}

static void flight__a_second_client_that_goes_begins_the_window_anew(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, again;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &first);
  world_run(&shop.world, HF_SECONDS(20));
  shop_call(&shop, &shop.ann, &again, "pay", CALL_EQUAL, "");
  client_abandon(&shop.ann, &again);
  world_run(&shop.world, HF_SECONDS(20));
  assert_true(ref->open);
  world_run(&shop.world, HF_SECONDS(11));
  assert_true(ref->aborted);
  reply_deinit(&first);
  reply_deinit(&again);
  shop_close(&shop);
}

static void flight__what_was_not_sent_yet_is_taken_back(void **state) {
  (void)state;
  static struct fake_store store;
  memset(&store, 0, sizeof store);
  struct shop shop;
  struct fake_reply first;
  fake_store_init(&store, NULL);
  shop_open(&shop, &store);
  store.slow = true;
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  client_abandon(&shop.ann, &first);
  assert_int_equal(shop.world.gateway->calls, 0);
  fake_store_answer(&store);
  world_run(&shop.world, HF_SECONDS(60));
  assert_int_equal(shop_count(&shop), 0);
  assert_int_equal(fake_store_open_intents(&store), 0);
  reply_deinit(&first);
  shop_close(&shop);
}

static void flight__what_did_not_reach_the_server_is_taken_back(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  ref->events->sent(ref->ctx, 10, false);
  client_abandon(&shop.ann, &first);
  assert_true(ref->aborted);
  assert_int_equal(shop.world.gateway->calls, 0);
  reply_deinit(&first);
  shop_close(&shop);
}

static void flight__nothing_is_begun_for_a_client_that_has_gone(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &first);
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  evidence.http_status = 429;
  ref->open = false;
  ref->events->done(ref->ctx, &evidence, NULL);
  world_run(&shop.world, HF_SECONDS(10));
  assert_int_equal(shop_count(&shop), 1);
  assert_int_equal(shop.world.gateway->calls, 0);
  reply_deinit(&first);
  shop_close(&shop);
}

static void flight__the_next_one_leads_if_the_first_is_ended_before_it_was_sent(void **state) {
  (void)state;
  static struct fake_store store;
  memset(&store, 0, sizeof store);
  struct shop shop;
  struct fake_reply first, second, third;
  fake_store_init(&store, NULL);
  shop_open(&shop, &store);
  store.slow = true;
  struct fake_client old;
  client_open_as(&shop.world, &old, "ann", HF_ERA_LEGACY);
  client_initialize(&shop.world, &old, "{}");
  client_send(&shop.world, &old, &first,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"shop__pay\","
              "\"arguments\":" CALL_EQUAL "}}");
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, "");
  shop_call(&shop, &shop.ann, &third, "pay", CALL_EQUAL, "");
  shop.world.gateway->draining = true; /* what ends calls without regard to who follows */
  client_close(&old);
  shop.world.gateway->draining = false;
  world_run(&shop.world, 0);
  fake_store_answer(&store);
  world_run(&shop.world, 0);
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(second.answer, "paid"));
  assert_null(strstr(second.answer, "\"joined\""));
  assert_non_null(strstr(third.answer, "\"joined\":\"c-"));
  fake_store_answer(&store);
  reply_deinit(&first);
  reply_deinit(&second);
  reply_deinit(&third);
  shop_close(&shop);
}

static void flight__a_session_that_ends_leaves_its_effects_to_the_next_one(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, again;
  struct fake_client old, next;
  shop_open(&shop, NULL);
  client_open_as(&shop.world, &old, "ann", HF_ERA_LEGACY);
  client_initialize(&shop.world, &old, "{}");
  legacy_pay(&shop, &old, &first, 1);
  upstream_handed_over(upstream_last(shop.upstream));
  client_close(&old);
  client_open_as(&shop.world, &next, "ann", HF_ERA_LEGACY);
  client_initialize(&shop.world, &next, "{}");
  legacy_pay(&shop, &next, &again, 2);
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(again.answer, "paid"));
  assert_non_null(strstr(again.answer, "\"id\":2"));
  reply_deinit(&first);
  reply_deinit(&again);
  client_close(&next);
  shop_close(&shop);
}

static void flight__a_cancellation_ends_it_unless_others_follow(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  struct fake_client old;
  shop_open(&shop, NULL);
  client_open_as(&shop.world, &old, "ann", HF_ERA_LEGACY);
  client_initialize(&shop.world, &old, "{}");
  const char *cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}";
  legacy_pay(&shop, &old, &first, 1);
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  upstream_handed_over(ref);
  client_send(&shop.world, &old, NULL, cancel);
  assert_true(ref->aborted);
  assert_int_equal(first.status, 499);
  reply_deinit(&first);

  legacy_pay(&shop, &old, &first, 1);
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, "");
  ref = upstream_last(shop.upstream);
  client_send(&shop.world, &old, NULL, cancel);
  assert_int_equal(first.status, 499);
  assert_true(ref->open);
  upstream_answer(ref, SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(second.answer, "paid"));
  reply_deinit(&first);
  reply_deinit(&second);
  client_close(&old);
  shop_close(&shop);
}

static void flight__a_question_is_asked_of_one_client_only(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second, third;
  const char *asks = "{\"resultType\":\"input_required\",\"requestState\":\"s\",\"inputRequests\":{}}";
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, "");
  upstream_answer(upstream_last(shop.upstream), asks);
  world_run(&shop.world, 0);
  assert_non_null(strstr(first.answer, "input_required"));
  assert_null(strstr(second.answer, "input_required"));
  assert_non_null(strstr(second.answer, "Answer what is asked in the other call"));
  reply_deinit(&first);
  reply_deinit(&second);

  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &first);
  shop_call(&shop, &shop.ann, &second, "pay", CALL_EQUAL, "");
  shop_call(&shop, &shop.ann, &third, "pay", CALL_EQUAL, "");
  upstream_answer(ref, asks);
  world_run(&shop.world, 0);
  assert_non_null(strstr(second.answer, "input_required"));
  assert_null(strstr(third.answer, "input_required"));
  reply_deinit(&first);
  reply_deinit(&second);
  reply_deinit(&third);
  shop_close(&shop);
}

static void orphan(struct shop *shop, int number, const char *answer) {
  char arguments[64];
  struct fake_reply reply;
  snprintf(arguments, sizeof arguments, "{\"n\":%d}", number);
  shop_call(shop, &shop->ann, &reply, "pay", arguments, "");
  struct hf_attempt_ref *ref = upstream_last(shop->upstream);
  vanish(shop, &reply);
  upstream_answer(ref, answer);
  reply_deinit(&reply);
  /* The world keeps only so many. */
  free(ref->text);
  free(ref);
  shop->upstream->sent_count--;
  world_run(&shop->world, HF_MS(1));
}

static bool is_kept(struct shop *shop, int number) {
  char arguments[64];
  struct fake_reply reply;
  snprintf(arguments, sizeof arguments, "{\"n\":%d}", number);
  shop_call(shop, &shop->ann, &reply, "pay", arguments, "");
  bool kept = reply.answer != NULL;
  client_abandon(&shop->ann, &reply);
  reply_deinit(&reply);
  return kept;
}

static void flight__answers_that_nobody_heard_are_bounded_in_number(void **state) {
  (void)state;
  struct shop shop;
  shop_open(&shop, NULL);
  for (int i = 0; i <= HF_FLIGHTS_KEPT; i++)
    orphan(&shop, i, SHOP_OK("paid"));
  assert_true(is_kept(&shop, 1));
  assert_true(is_kept(&shop, HF_FLIGHTS_KEPT));
  assert_false(is_kept(&shop, 0)); /* the oldest has gone */
  shop_close(&shop);
}

static void flight__answers_that_nobody_heard_are_bounded_in_bytes(void **state) {
  (void)state;
  struct shop shop;
  shop_open(&shop, NULL);
  size_t size = HF_FLIGHTS_KEPT_BYTES / 2 - 1024;
  const char *begin = "{\"content\":[],\"x\":\"", *end = "\"}";
  char *big = malloc(strlen(begin) + size + strlen(end) + 1);
  if (!big)
    abort();
  memcpy(big, begin, strlen(begin));
  memset(big + strlen(begin), 'x', size);
  memcpy(big + strlen(begin) + size, end, strlen(end) + 1);
  for (int i = 0; i < 3; i++)
    orphan(&shop, i, big);
  free(big);
  assert_true(is_kept(&shop, 2));
  assert_true(is_kept(&shop, 1));
  assert_false(is_kept(&shop, 0));
  shop_close(&shop);
}

static void note_drained(void *ctx) {
  *(bool *)ctx = true;
}

static void flight__a_drain_ends_what_flies_alone(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first;
  bool drained = false;
  shop_open(&shop, NULL);
  shop.pay->coalesce = HF_SECONDS(600);
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &first);
  hf_gateway_drain(shop.world.gateway, note_drained, &drained);
  world_run(&shop.world, HF_SECONDS(4));
  assert_true(ref->open);
  world_run(&shop.world, HF_SECONDS(7));
  assert_true(ref->aborted);
  assert_true(drained);
  assert_int_equal(shop.world.gateway->calls, 0);
  reply_deinit(&first);
  shop_close(&shop);
}

static void flight__a_drain_waits_for_letters(void **state) {
  (void)state;
  static struct fake_store store;
  memset(&store, 0, sizeof store);
  struct shop shop;
  struct fake_reply first;
  bool drained = false;
  fake_store_init(&store, NULL);
  shop_open(&shop, &store);
  shop.pay->letters = HF_LETTER_UNSAFE;
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  upstream_handed_over(upstream_last(shop.upstream));
  store.slow = true;
  hf_gateway_drain(shop.world.gateway, note_drained, &drained);
  world_run(&shop.world, shop.world.settings->limits.drain);
  shop.upstream->stopping = false;
  shop.upstream->phase = HF_UPSTREAM_IDLE;
  upstream_down(shop.upstream, HF_EVIDENCE_NONE, "stopped");
  world_run(&shop.world, HF_SECONDS(1));
  assert_int_equal(store.buried, 1);
  assert_false(drained);
  fake_store_answer(&store);
  world_run(&shop.world, 0);
  assert_non_null(strstr(first.answer, "\"deadLetterId\":\"d-1\""));
  assert_true(drained);
  reply_deinit(&first);
  shop_close(&shop);
}

static void flight__a_gateway_may_end_while_calls_fly_alone(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", "{\"n\":1}", "");
  vanish(&shop, &first);
  shop_call(&shop, &shop.ann, &second, "pay", "{\"n\":2}", "");
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  vanish(&shop, &second);
  upstream_answer(ref, SHOP_OK("paid"));
  shop_close(&shop);
  reply_deinit(&first);
  reply_deinit(&second);
}

static void flight__a_gateway_may_end_while_letters_are_written(void **state) {
  (void)state;
  static struct fake_store store;
  memset(&store, 0, sizeof store);
  struct shop shop;
  struct fake_reply first;
  fake_store_init(&store, NULL);
  shop_open(&shop, &store);
  shop.pay->letters = HF_LETTER_UNSAFE;
  shop_call(&shop, &shop.ann, &first, "pay", CALL_EQUAL, "");
  store.slow = true;
  vanish(&shop, &first);
  shop_close(&shop);
  assert_int_equal(store.buried, 1);
  assert_int_equal(store.answer_count, 0); /* nobody waits any more */
  reply_deinit(&first);
}

static void flight__a_callers_key_makes_calls_the_same_or_not(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, other, same;
  shop_open(&shop, NULL);
  shop.order->coalesce = 0;
  shop_call(&shop, &shop.ann, &first, "order", "{}", ",\"dev.holdfast/call\":{\"idempotencyKey\":\"k1\"}");
  shop_call(&shop, &shop.ann, &other, "order", "{}", ",\"dev.holdfast/call\":{\"idempotencyKey\":\"k2\"}");
  shop_call(&shop, &shop.ann, &same, "order", "{}", ",\"dev.holdfast/call\":{\"idempotencyKey\":\"k1\"}");
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(shop.upstream->sent[shop.upstream->sent_count - 2], SHOP_OK("first"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(first.answer, "first"));
  assert_non_null(strstr(same.answer, "first"));
  assert_null(other.answer);
  client_abandon(&shop.ann, &other);
  reply_deinit(&first);
  reply_deinit(&other);
  reply_deinit(&same);
  shop_close(&shop);
}

/* A call that is decoded before memory runs out. */
static void prepare(struct hf_message *message, const char *tool, const char *more) {
  char text[1024];
  struct hf_refusal refusal;
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"shop__%s\","
           "\"arguments\":{\"n\":1},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
           "\"io.modelcontextprotocol/clientCapabilities\":{}%s}}}",
           tool, more);
  assert_int_equal(hf_message_decode_copy(hf_str_from(text), message, &refusal), 0);
}

static void send(struct shop *shop, struct fake_reply *reply, const struct hf_reply_ops *ops,
                 struct hf_message *message) {
  *reply = (struct fake_reply){.head = {.ops = ops}};
  hf_client_handle(shop->ann.client, message, &reply->head);
  world_run(&shop->world, 0);
}

/* Two share a call, one of them goes, and a third repeats it, while each allocation fails in turn. Returns true if none
 * did. */
static bool share_without_memory(const char *tool, const char *more, long n) {
  static struct fake_store store;
  memset(&store, 0, sizeof store);
  struct shop shop;
  struct fake_reply ping, reply[3];
  struct hf_message message[3];
  fake_store_init(&store, NULL);
  shop_open(&shop, &store);
  shop_call(&shop, &shop.ann, &ping, "note", "{}", ""); /* the lists are known from now on */
  const struct hf_reply_ops *ops = ping.head.ops;
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("noted"));
  reply_deinit(&ping);
  for (size_t i = 0; i < 3; i++)
    prepare(&message[i], tool, more);

  hf_alloc_fail_after(n);
  send(&shop, &reply[0], ops, &message[0]);
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  assert_true(!ref || !more[0] || strstr(ref->text, "\"token\":\"k\"")); /* never without the caller's key */
  if (ref)
    upstream_handed_over(ref);
  send(&shop, &reply[1], ops, &message[1]);
  if (!reply[0].answer)
    client_abandon(&shop.ann, &reply[0]);
  for (ref = upstream_last(shop.upstream); ref; ref = upstream_last(shop.upstream))
    upstream_answer(ref, SHOP_OK("done"));
  world_run(&shop.world, 0);
  send(&shop, &reply[2], ops, &message[2]);
  for (ref = upstream_last(shop.upstream); ref; ref = upstream_last(shop.upstream))
    upstream_answer(ref, SHOP_OK("done"));
  world_run(&shop.world, HF_SECONDS(90));
  hf_alloc_fail_after(-1);
  world_run(&shop.world, HF_SECONDS(90));

  assert_non_null(reply[1].answer);
  assert_non_null(reply[2].answer);
  assert_int_equal(shop.world.gateway->calls, 0);
  assert_int_equal(fake_store_open_intents(&store), 0);
  bool good = strstr(reply[1].answer, "\"joined\"") && strstr(reply[2].answer, "done") && n > 20;
  for (size_t i = 0; i < 3; i++)
    reply_deinit(&reply[i]);
  shop_close(&shop);
  return good;
}

static void flight__survives_running_out_of_memory_anywhere(void **state) {
  (void)state;
  const char *calls[][2] = {{"pay", ""}, {"order", ",\"dev.holdfast/call\":{\"idempotencyKey\":\"k\"}"}};
  for (size_t i = 0; i < 2; i++) {
    long n = 0;
    while (n < 600 && !share_without_memory(calls[i][0], calls[i][1], n))
      n++;
    assert_in_range(n, 21, 599);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(flight__equal_calls_share_one_and_are_answered_under_their_own_ids),
      cmocka_unit_test(flight__who_comes_after_the_answer_makes_a_call_of_its_own),
      cmocka_unit_test(flight__calls_at_two_clients_own_servers_are_not_the_same),
      cmocka_unit_test(flight__at_a_clients_own_server_it_ends_with_the_client),
      cmocka_unit_test(flight__a_failure_is_shared_too),
      cmocka_unit_test(flight__only_equal_calls_share),
      cmocka_unit_test(flight__progress_reaches_all_who_follow_and_never_falls),
      cmocka_unit_test(flight__a_follower_waits_no_longer_than_it_may),
      cmocka_unit_test(flight__a_follower_that_leaves_changes_nothing),
      cmocka_unit_test(flight__a_leader_that_leaves_goes_on_for_those_who_follow),
      cmocka_unit_test(flight__without_anybody_left_a_call_without_effects_ends),
      cmocka_unit_test(flight__who_asks_again_joins_the_call_whose_client_has_gone),
      cmocka_unit_test(flight__who_asks_again_gets_what_came_meanwhile_once),
      cmocka_unit_test(flight__an_answer_that_nobody_asks_for_is_forgotten_after_the_window),
      cmocka_unit_test(flight__what_certainly_did_not_run_is_not_kept),
      cmocka_unit_test(flight__after_the_window_it_is_cancelled),
      cmocka_unit_test(flight__a_second_client_that_goes_begins_the_window_anew),
      cmocka_unit_test(flight__what_was_not_sent_yet_is_taken_back),
      cmocka_unit_test(flight__what_did_not_reach_the_server_is_taken_back),
      cmocka_unit_test(flight__nothing_is_begun_for_a_client_that_has_gone),
      cmocka_unit_test(flight__the_next_one_leads_if_the_first_is_ended_before_it_was_sent),
      cmocka_unit_test(flight__a_session_that_ends_leaves_its_effects_to_the_next_one),
      cmocka_unit_test(flight__a_cancellation_ends_it_unless_others_follow),
      cmocka_unit_test(flight__a_question_is_asked_of_one_client_only),
      cmocka_unit_test(flight__answers_that_nobody_heard_are_bounded_in_number),
      cmocka_unit_test(flight__answers_that_nobody_heard_are_bounded_in_bytes),
      cmocka_unit_test(flight__a_drain_ends_what_flies_alone),
      cmocka_unit_test(flight__a_drain_waits_for_letters),
      cmocka_unit_test(flight__a_gateway_may_end_while_calls_fly_alone),
      cmocka_unit_test(flight__a_gateway_may_end_while_letters_are_written),
      cmocka_unit_test(flight__a_callers_key_makes_calls_the_same_or_not),
      cmocka_unit_test(flight__survives_running_out_of_memory_anywhere),
  };
  return cmocka_run_group_tests_name("flight", tests, NULL, NULL);
}
