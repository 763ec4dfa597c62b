#include "shop.h"

#include "gateway/stage/intent.h"
#include "gateway/stage/lost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct fake_store store;

static void begin(struct shop *shop) {
  memset(&store, 0, sizeof store);
  fake_store_init(&store, NULL);
  shop_open(shop, &store);
}

static void intent__is_in_the_store_before_the_first_byte_and_settled_at_the_end(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  store.slow = true;
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 0);
  assert_int_equal(fake_store_open_intents(&store), 1);
  const struct fake_intent *intent = &store.intents[0];
  assert_string_equal(intent->principal, "ann");
  assert_string_equal(intent->server, "shop");
  assert_string_equal(intent->tool, "shop__pay");
  assert_string_equal(intent->arguments, "{\"n\":1}");
  assert_true(intent->at_ms >= WORLD_WALL_MS);
  fake_store_answer(&store);
  assert_int_equal(shop_count(&shop), 1);
  assert_int_equal(fake_store_open_intents(&store), 1);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  assert_non_null(strstr(reply.answer, "paid"));
  assert_non_null(strstr(reply.answer, intent->call));
  assert_int_equal(fake_store_open_intents(&store), 0);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__only_what_has_effects_has_one(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  const char *tools[] = {"look", "note", "pay", "order"};
  const unsigned after[] = {0, 0, 1, 2};
  for (size_t i = 0; i < 4; i++) {
    shop_call(&shop, &shop.ann, &reply, tools[i], "{}", "");
    assert_int_equal(store.intended, after[i]);
    upstream_answer(upstream_last(shop.upstream), SHOP_OK("done"));
    reply_deinit(&reply);
  }
  assert_int_equal(store.settled, 2);
  shop_close(&shop);
}

static void intent__a_full_disk_holds_no_call_up(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  store.error = HF_ERR_FULL;
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  assert_int_equal(shop_count(&shop), 1);
  hf_time next = shop.world.gateway->next_complaint;
  assert_true(next > shop.world.loop.now);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  assert_non_null(strstr(reply.answer, "paid"));
  reply_deinit(&reply);
  world_run(&shop.world, HF_SECONDS(10));
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  assert_int_equal(shop.world.gateway->next_complaint, next); /* said once a minute */
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__a_slow_store_is_waited_for_two_seconds(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  store.slow = true;
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  world_run(&shop.world, HF_INTENT_WAIT - HF_MS(1));
  assert_int_equal(shop_count(&shop), 0);
  world_run(&shop.world, HF_MS(1));
  assert_int_equal(shop_count(&shop), 1);
  assert_int_equal(store.forgotten, 1);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  assert_int_equal(fake_store_open_intents(&store), 0); /* it may have been written all the same */
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__of_a_call_that_was_taken_back_is_settled(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  store.slow = true;
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  client_abandon(&shop.ann, &reply);
  assert_int_equal(fake_store_open_intents(&store), 0);
  assert_int_equal(store.forgotten, 1);
  world_run(&shop.world, HF_SECONDS(5));
  assert_int_equal(shop_count(&shop), 0);
  reply_deinit(&reply);
  shop_close(&shop);
}

/* A call is sent, and the gateway dies: its fake process is let go of without a word to the store. */
static void die_with(const char *tool, const char *arguments, const char *more, char key[64]) {
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  shop_call(&shop, &shop.ann, &reply, tool, arguments, more);
  assert_int_equal(fake_store_open_intents(&store), 1);
  shop_key_sent(upstream_last(shop.upstream), key);
  struct fake_intent left = store.intents[0];
  client_abandon(&shop.ann, &reply);
  shop_close(&shop);
  fake_store_reopen(&store, NULL);
  store.intents[0] = left;
  reply_deinit(&reply);
}

/* The next gateway, which draws other keys. */
static void inherit(struct shop *shop) {
  assert_int_equal(fake_store_owner_died(&store), 1);
  shop_open(shop, &store);
  hf_random_init(&shop->world.loop.random, 8);
}

static void intent__an_equal_call_is_told_of_the_one_that_a_dead_gateway_lost(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char key[64];
  die_with("pay", "{\"n\":1}", "", key);
  inherit(&shop);
  shop_call(&shop, &shop.bob, &reply, "pay", "{\"n\":1}", ""); /* somebody else's */
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 1);
  assert_non_null(strstr(reply.answer, "when an earlier gateway died, and it may have run (dead letter d-1)"));
  assert_non_null(strstr(reply.answer, "make this very call again: then it is sent"));
  assert_non_null(strstr(reply.answer, "\"isError\":true"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", ""); /* made before that could be heard */
  assert_int_equal(shop_count(&shop), 1);
  assert_non_null(strstr(reply.answer, "dead letter d-1"));
  reply_deinit(&reply);
  world_run(&shop.world, HF_MS(1));
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__a_lost_call_with_a_key_is_repeated_under_it(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char lost[64], again[64];
  die_with("order", "{\"n\":1}", "", lost);
  inherit(&shop);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 1);
  shop_key_sent(upstream_last(shop.upstream), again);
  assert_string_equal(lost, again);
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  struct hf_evidence denied = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  denied.http_status = 401;
  ref->open = false;
  ref->events->done(ref->ctx, &denied, NULL); /* it did not run now, but the lost one may have */
  world_run(&shop.world, HF_MS(1));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  shop_key_sent(upstream_last(shop.upstream), again);
  assert_string_equal(lost, again);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  shop_key_sent(upstream_last(shop.upstream), again);
  assert_string_not_equal(lost, again);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

/* It may wait for its turn until its deadline, and its server must know the key still. */
static void intent__a_lost_calls_key_is_used_only_if_it_is_known_until_the_deadline(void **state) {
  (void)state;
  for (int in_time = 0; in_time < 2; in_time++) {
    struct shop shop;
    struct fake_reply reply;
    char lost[64], again[64];
    die_with("order", "{\"n\":1}", "", lost);
    inherit(&shop);
    const hf_time deadline = shop.world.settings->servers[0].policy.timeout.deadline;
    shop.order->key.ttl = deadline + HF_SECONDS(in_time ? 1 : -1);
    shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
    assert_int_equal(shop_count(&shop), in_time);
    if (in_time) {
      shop_key_sent(upstream_last(shop.upstream), again);
      assert_string_equal(lost, again);
      upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
    } else {
      assert_non_null(strstr(reply.answer, "it may have run (dead letter d-1)"));
      world_run(&shop.world, HF_MS(1));
      reply_deinit(&reply);
      shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", ""); /* meant anew */
      shop_key_sent(upstream_last(shop.upstream), again);
      assert_string_not_equal(lost, again);
      upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
    }
    reply_deinit(&reply);
    shop_close(&shop);
  }
}

/* Two were made when nothing was known of the lost one; the first is answered before the second gets its turn. */
static void intent__an_equal_call_that_began_before_a_lost_one_was_repeated_is_the_same(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char lost[64], again[64];
  die_with("order", "{\"n\":1}", "", lost);
  inherit(&shop);
  shop.order->coalesce = 0;
  world_run(&shop.world, HF_SECONDS(1));
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop.world.loop.now -= HF_MS(1); /* when it came */
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  shop.world.loop.now += HF_MS(1);
  shop_key_sent(upstream_last(shop.upstream), again);
  assert_string_equal(lost, again);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__a_result_is_not_recorded_under_a_key_that_another_call_was_given(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply repeat, other, again;
  char lost[64], given[160];
  die_with("order", "{\"n\":1}", "", lost);
  inherit(&shop);
  shop_call(&shop, &shop.ann, &repeat, "order", "{\"n\":1}", "");
  struct hf_attempt_ref *first = upstream_last(shop.upstream);
  (void)snprintf(given, sizeof given, ",\"dev.holdfast/call\":{\"idempotencyKey\":\"%s\"}", lost);
  shop_call(&shop, &shop.ann, &other, "order", "{\"n\":2}", given);
  upstream_answer(first, SHOP_OK("one"));
  world_run(&shop.world, 0);
  shop_call(&shop, &shop.ann, &again, "order", "{\"n\":2}", given);
  assert_null(again.answer); /* it is under way, or sent anew, and not answered with the other's result */
  client_abandon(&shop.ann, &other);
  client_abandon(&shop.ann, &again);
  reply_deinit(&repeat);
  reply_deinit(&other);
  reply_deinit(&again);
  shop_close(&shop);
}

/* While this gateway runs another one died, which the store tells with the answer to an equal call's intent. */
static void tell_left(struct shop *shop, const char *call, const char *key) {
  const struct hf_letter letter = {
      .id = HF_STR("d-9"),
      .call = hf_str_from(call),
      .executed = HF_STR("maybe"),
      .key = key ? hf_str_from(key) : (struct hf_str){NULL, 0},
      .fingerprint = store.intents[0].fingerprint,
      .first_ms = shop->world.loop.wall_ms,
  };
  store.news(store.news_ctx, HF_NEWS_LEFT, &letter);
  fake_store_answer(&store);
}

static void intent__what_is_found_while_it_is_written_keeps_it_from_being_sent(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  store.slow = true;
  for (unsigned sent = 0; sent < 3; sent++) {
    shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
    tell_left(&shop, sent < 2 ? "c-1" : "c-2", NULL); /* the first one twice: whoever was told of it means it */
    assert_int_equal(shop_count(&shop), sent > 0);
    if (sent == 1)
      upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
    else
      assert_non_null(strstr(reply.answer, "This call was not sent"));
    assert_int_equal(fake_store_open_intents(&store), 0);
    reply_deinit(&reply);
    world_run(&shop.world, HF_MS(1));
  }
  shop_close(&shop);
}

static void intent__what_is_found_while_it_is_written_is_repeated_under_its_key(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char key[64];
  begin(&shop);
  store.slow = true;
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  tell_left(&shop, "c-1", "left"); /* it has another key by now */
  assert_int_equal(shop_count(&shop), 0);
  assert_non_null(strstr(reply.answer, "make this very call again: then it is sent"));
  reply_deinit(&reply);
  world_run(&shop.world, HF_MS(1));
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  tell_left(&shop, "c-1", "left");
  shop_key_sent(upstream_last(shop.upstream), key);
  assert_string_equal(key, "left");
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__a_key_that_the_server_has_forgotten_repeats_nothing(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char lost[64];
  die_with("order", "{\"n\":1}", "", lost);
  inherit(&shop);
  shop.order->key.ttl = HF_SECONDS(60);
  world_run(&shop.world, HF_SECONDS(61));
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 0);
  assert_non_null(strstr(reply.answer, "dead letter d-1"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__a_call_with_its_callers_key_needs_no_warning(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char lost[64];
  const char *given = ",\"dev.holdfast/call\":{\"idempotencyKey\":\"k\"}";
  die_with("order", "{\"n\":1}", given, lost);
  inherit(&shop);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", ",\"dev.holdfast/call\":{\"idempotencyKey\":\"other\"}");
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
  world_run(&shop.world, 0);
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", given);
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("ordered"));
  world_run(&shop.world, 0);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__a_lost_call_is_remembered_for_an_hour(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char key[64];
  die_with("pay", "{\"n\":1}", "", key);
  inherit(&shop);
  world_run(&shop.world, HF_LOST_KEPT);
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__a_call_whose_client_stayed_away_is_a_lost_one_too(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  shop.pay->letters = HF_LETTER_UNSAFE;
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  upstream_handed_over(upstream_last(shop.upstream));
  client_abandon(&shop.ann, &reply);
  world_run(&shop.world, SHOP_COALESCE + HF_MS(1));
  assert_int_equal(fake_store_letters(&store), 1);
  assert_int_equal(fake_store_open_intents(&store), 0);
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 1);
  assert_non_null(strstr(reply.answer, "when its client went away, and it may have run (dead letter d-1)"));
  reply_deinit(&reply);
  world_run(&shop.world, HF_MS(1));
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__a_letter_ends_it_and_one_that_fails_leaves_it(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  shop.pay->letters = HF_LETTER_UNSAFE;
  for (unsigned i = 0; i < 2; i++) {
    shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
    if (i == 1)
      store.error = HF_ERR_FULL;
    upstream_handed_over(upstream_last(shop.upstream));
    upstream_fail(upstream_last(shop.upstream), HF_EVIDENCE_BROKE);
    world_run(&shop.world, HF_SECONDS(3));
    assert_non_null(strstr(reply.answer, "\"executed\":\"maybe\""));
    assert_int_equal(fake_store_letters(&store), 1);
    assert_int_equal(fake_store_open_intents(&store), i);
    reply_deinit(&reply);
  }
  assert_int_equal(store.settled, 0);
  shop_close(&shop);
}

static void intent__what_did_not_run_is_no_lost_call(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char key[64];
  die_with("pay", "{\"n\":1}", "", key);
  struct hf_letter letter = {
      .id = HF_STR("d-x"), .executed = HF_STR("no"), .fingerprint = store.intents[0].fingerprint};
  shop_open(&shop, &store);
  hf_lost_recovered(shop.world.gateway, &letter);
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 1);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void intent__lost_calls_are_bounded(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  char key[64];
  die_with("pay", "{\"n\":1}", "", key);
  inherit(&shop);
  struct hf_letter letter = {.id = HF_STR("d-x"), .executed = HF_STR("maybe")};
  for (unsigned i = 1; i < HF_LOST_MAX; i++) {
    memcpy(letter.fingerprint.byte, &i, sizeof i);
    hf_lost_recovered(shop.world.gateway, &letter);
  }
  memset(letter.fingerprint.byte, 0xff, sizeof letter.fingerprint.byte);
  hf_lost_recovered(shop.world.gateway, &letter);
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 1); /* the oldest one has gone */
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&reply);
  shop_close(&shop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intent__is_in_the_store_before_the_first_byte_and_settled_at_the_end),
      cmocka_unit_test(intent__only_what_has_effects_has_one),
      cmocka_unit_test(intent__a_full_disk_holds_no_call_up),
      cmocka_unit_test(intent__a_slow_store_is_waited_for_two_seconds),
      cmocka_unit_test(intent__of_a_call_that_was_taken_back_is_settled),
      cmocka_unit_test(intent__an_equal_call_is_told_of_the_one_that_a_dead_gateway_lost),
      cmocka_unit_test(intent__a_lost_call_with_a_key_is_repeated_under_it),
      cmocka_unit_test(intent__a_lost_calls_key_is_used_only_if_it_is_known_until_the_deadline),
      cmocka_unit_test(intent__an_equal_call_that_began_before_a_lost_one_was_repeated_is_the_same),
      cmocka_unit_test(intent__a_result_is_not_recorded_under_a_key_that_another_call_was_given),
      cmocka_unit_test(intent__what_is_found_while_it_is_written_keeps_it_from_being_sent),
      cmocka_unit_test(intent__what_is_found_while_it_is_written_is_repeated_under_its_key),
      cmocka_unit_test(intent__a_key_that_the_server_has_forgotten_repeats_nothing),
      cmocka_unit_test(intent__a_call_with_its_callers_key_needs_no_warning),
      cmocka_unit_test(intent__a_lost_call_is_remembered_for_an_hour),
      cmocka_unit_test(intent__a_call_whose_client_stayed_away_is_a_lost_one_too),
      cmocka_unit_test(intent__a_letter_ends_it_and_one_that_fails_leaves_it),
      cmocka_unit_test(intent__what_did_not_run_is_no_lost_call),
      cmocka_unit_test(intent__lost_calls_are_bounded),
  };
  return cmocka_run_group_tests_name("intent", tests, NULL, NULL);
}
