#include "shop.h"

#include "gateway/stage/away.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A legacy client of the same principal, with one call that the server has got. */
struct visit {
  struct shop shop;
  struct fake_client client;
  struct fake_reply reply;
  struct hf_attempt_ref *ref;
};

static void legacy_call(struct shop *shop, struct fake_client *client, struct fake_reply *reply, int id,
                        const char *tool) {
  char text[512];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"shop__%s\","
           "\"arguments\":{\"n\":1}}}",
           id, tool);
  client_send(&shop->world, client, reply, text);
}

static void visit_begin(struct visit *v, const char *tool, enum hf_detach detach, struct fake_store *store) {
  shop_open(&v->shop, store);
  v->shop.pay->detach = v->shop.look->detach = detach;
  v->shop.pay->letters = HF_LETTER_UNSAFE;
  v->shop.world.settings->servers[0].policy.timeout.task = HF_SECONDS(600);
  v->shop.world.settings->servers[0].policy.retry.attempts = 1;
  v->shop.world.settings->limits.calls_per_client = 2 * HF_AWAY_ALONE_MAX;
  v->shop.world.settings->limits.calls = 2 * HF_AWAY_ALONE_MAX;
  client_open_as(&v->shop.world, &v->client, "ann", HF_ERA_LEGACY);
  client_initialize(&v->shop.world, &v->client, "{}");
  legacy_call(&v->shop, &v->client, &v->reply, 1, tool);
  v->ref = upstream_last(v->shop.upstream);
  upstream_handed_over(v->ref);
}

static void away(struct visit *v) {
  hf_client_away(v->client.client, &v->reply.head);
}

static void back(struct visit *v) {
  hf_client_back(v->client.client, &v->reply.head);
}

static void visit_end(struct visit *v) {
  reply_deinit(&v->reply);
  client_close(&v->client);
  shop_close(&v->shop);
}

static void away__a_kept_call_has_the_time_of_a_task_while_nobody_is_there(void **state) {
  (void)state;
  struct visit v;
  visit_begin(&v, "pay", HF_DETACH_KEEP, NULL);
  away(&v);
  away(&v);
  world_run(&v.shop.world, HF_SECONDS(300));
  assert_true(v.ref->open);
  assert_null(v.reply.answer);
  upstream_answer(v.ref, SHOP_OK("paid"));
  world_run(&v.shop.world, 0);
  assert_non_null(strstr(v.reply.answer, "paid")); /* on its stream */
  visit_end(&v);
}

static void away__who_is_back_in_time_waits_no_longer_than_any_other(void **state) {
  (void)state;
  struct visit v;
  visit_begin(&v, "pay", HF_DETACH_KEEP, NULL);
  away(&v);
  world_run(&v.shop.world, HF_SECONDS(54));
  back(&v);
  back(&v);
  world_run(&v.shop.world, HF_SECONDS(2));
  assert_true(v.ref->aborted);
  assert_non_null(strstr(v.reply.answer, "\"reason\":\"deadline\""));
  visit_end(&v);
}

static void away__with_cancel_it_is_given_up_after_a_grace(void **state) {
  (void)state;
  struct visit v;
  visit_begin(&v, "look", HF_DETACH_CANCEL, NULL);
  away(&v);
  world_run(&v.shop.world, HF_AWAY_GRACE - HF_MS(1));
  back(&v);
  world_run(&v.shop.world, HF_SECONDS(1));
  assert_true(v.ref->open);
  away(&v);
  world_run(&v.shop.world, HF_AWAY_GRACE - HF_MS(1));
  assert_true(v.ref->open);
  world_run(&v.shop.world, HF_MS(2));
  assert_true(v.ref->aborted);
  assert_non_null(strstr(v.reply.answer, "away for too long"));
  visit_end(&v);
}

static void away__with_cancel_an_effect_has_the_window_of_its_re_issue_besides(void **state) {
  (void)state;
  struct visit v;
  visit_begin(&v, "pay", HF_DETACH_CANCEL, NULL);
  away(&v);
  world_run(&v.shop.world, HF_AWAY_GRACE + SHOP_COALESCE - HF_MS(1));
  assert_true(v.ref->open);
  world_run(&v.shop.world, HF_MS(2));
  assert_true(v.ref->aborted);
  assert_int_equal(v.shop.world.gateway->calls, 0);
  visit_end(&v);
}

/* A client that hangs on a broken stream notices when its own time is over, and asks again. */
static void away__an_answer_that_was_not_fetched_is_an_equal_calls(void **state) {
  (void)state;
  for (int fetched = 0; fetched < 2; fetched++) {
    struct visit v;
    struct fake_reply again;
    visit_begin(&v, "pay", HF_DETACH_KEEP, NULL);
    uint64_t call = v.reply.head.call;
    away(&v);
    upstream_answer(v.ref, SHOP_OK("paid"));
    world_run(&v.shop.world, HF_SECONDS(70));
    if (fetched)
      hf_client_heard(v.shop.world.gateway, call);
    legacy_call(&v.shop, &v.client, &again, 2, "pay");
    assert_int_equal(shop_count(&v.shop), fetched ? 2 : 1);
    if (!fetched)
      assert_non_null(strstr(again.answer, "\"joined\":\"c-"));
    reply_deinit(&again);
    visit_end(&v);
  }
}

/* The connection broke under the answer, in either era: what the client sends again does not run again. */
static void away__an_answer_that_did_not_arrive_is_an_equal_calls_once(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply[3];
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &reply[0], "pay", "{\"n\":1}", "");
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, HF_SECONDS(29));
  hf_client_unheard(shop.world.gateway, reply[0].head.call + 1); /* of another one */
  hf_client_unheard(shop.world.gateway, reply[0].head.call);
  shop_call(&shop, &shop.ann, &reply[1], "pay", "{\"n\":1}", "");
  assert_int_equal(shop_count(&shop), 1);
  assert_non_null(strstr(reply[1].answer, "paid"));
  world_run(&shop.world, 0);
  shop_call(&shop, &shop.ann, &reply[2], "pay", "{\"n\":1}", ""); /* that one was heard, as far as is known */
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  for (int i = 0; i < 3; i++)
    reply_deinit(&reply[i]);
  shop_close(&shop);
}

static void away__who_has_asked_again_before_it_was_known_has_a_call_of_its_own(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, again;
  shop_open(&shop, NULL);
  shop_call(&shop, &shop.ann, &first, "pay", "{\"n\":1}", "");
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, 0);
  shop_call(&shop, &shop.ann, &again, "pay", "{\"n\":1}", "");
  hf_client_unheard(shop.world.gateway, first.head.call);
  assert_int_equal(shop_count(&shop), 2);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid twice"));
  world_run(&shop.world, 0);
  assert_non_null(strstr(again.answer, "paid twice"));
  assert_int_equal(hf_flights_count(shop.world.gateway->flights), 0);
  reply_deinit(&first);
  reply_deinit(&again);
  shop_close(&shop);
}

static void away__answers_that_may_not_arrive_are_bounded(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply, again;
  uint64_t first = 0;
  shop_open(&shop, NULL);
  for (int i = 0; i <= HF_FLIGHTS_KEPT; i++) {
    char arguments[32];
    snprintf(arguments, sizeof arguments, "{\"n\":%d}", i);
    shop_call(&shop, &shop.ann, &reply, "pay", arguments, "");
    first = first ? first : reply.head.call;
    upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
    world_run(&shop.world, 0);
    reply_deinit(&reply);
  }
  hf_client_unheard(shop.world.gateway, first); /* gone to make room for the others */
  hf_client_unheard(shop.world.gateway, first + 1);
  assert_int_equal(hf_flights_count(shop.world.gateway->flights), 1);
  shop_call(&shop, &shop.ann, &again, "pay", "{\"n\":0}", "");
  assert_int_equal(shop_count(&shop), HF_FLIGHTS_KEPT + 2);
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  reply_deinit(&again);
  shop_close(&shop);
}

static void widen(struct shop *shop) {
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  options.max_concurrent = 2 * HF_AWAY_ALONE_MAX;
  struct hf_list *first = shop->world.gateway->servers.next;
  hf_provider_configure(HF_CONTAINER_OF(first, struct hf_server, link)->shared->provider, &options);
}

static void away__effects_that_go_on_alone_are_bounded(void **state) {
  (void)state;
  struct visit v;
  visit_begin(&v, "pay", HF_DETACH_KEEP, NULL);
  widen(&v.shop);
  struct fake_reply *replies = calloc(HF_AWAY_ALONE_MAX, sizeof *replies);
  assert_non_null(replies);
  for (int i = 0; i < HF_AWAY_ALONE_MAX; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"shop__pay\","
             "\"arguments\":{\"n\":%d}}}",
             i + 2, i + 2);
    client_send(&v.shop.world, &v.client, &replies[i], text);
    upstream_handed_over(upstream_last(v.shop.upstream));
  }
  client_close(&v.client);
  world_run(&v.shop.world, SHOP_COALESCE - HF_MS(1));
  assert_int_equal(v.shop.world.gateway->calls, HF_AWAY_ALONE_MAX + 1);
  world_run(&v.shop.world, HF_MS(2));
  assert_int_equal(v.shop.world.gateway->calls, HF_AWAY_ALONE_MAX); /* one is given up as with `cancel` */
  for (int i = 0; i < HF_AWAY_ALONE_MAX; i++)
    reply_deinit(&replies[i]);
  free(replies);
  reply_deinit(&v.reply);
  shop_close(&v.shop);
}

static void away__only_a_cancellation_that_says_so_is_one_of_a_client_that_waited_too_long(void **state) {
  (void)state;
  static const struct row {
    const char *reason;
    bool goes_on;
  } rows[] = {{",\"reason\":\"McpError: MCP error -32001: Request timed out\"", true},
              {",\"reason\":\"request timeout\"", true},
              {",\"reason\":\"context deadline exceeded\"", true},
              {",\"reason\":\"User pressed stop\"", false},
              {",\"reason\":7", false},
              {"", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct visit v;
    char text[256];
    visit_begin(&v, "pay", HF_DETACH_KEEP, NULL);
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1%s}}",
             rows[i].reason);
    client_send(&v.shop.world, &v.client, NULL, text);
    assert_int_equal(v.reply.status, 499);
    assert_int_equal(v.ref->open, rows[i].goes_on);
    world_run(&v.shop.world, HF_SECONDS(300));
    assert_int_equal(v.shop.world.gateway->calls, rows[i].goes_on ? 1 : 0);
    visit_end(&v);
  }
}

/* What an effect came to that failed, and that nobody asked for in time, is told to who asks later. */
static void away__a_failure_that_nobody_heard_is_told_later(void **state) {
  (void)state;
  struct visit v;
  static struct fake_store store;
  struct fake_reply again;
  struct fake_client next;
  fake_store_init(&store, NULL);
  visit_begin(&v, "pay", HF_DETACH_KEEP, &store);
  client_close(&v.client);
  upstream_fail(v.ref, HF_EVIDENCE_BROKE);
  world_run(&v.shop.world, HF_SECONDS(300));
  client_open_as(&v.shop.world, &next, "ann", HF_ERA_LEGACY);
  client_initialize(&v.shop.world, &next, "{}");
  legacy_call(&v.shop, &next, &again, 2, "pay");
  world_run(&v.shop.world, 0);
  assert_int_equal(shop_count(&v.shop), 1);
  assert_non_null(strstr(again.answer, "its client went away, and it may have run"));
  reply_deinit(&again);
  reply_deinit(&v.reply);
  client_close(&next);
  shop_close(&v.shop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(away__a_kept_call_has_the_time_of_a_task_while_nobody_is_there),
      cmocka_unit_test(away__who_is_back_in_time_waits_no_longer_than_any_other),
      cmocka_unit_test(away__with_cancel_it_is_given_up_after_a_grace),
      cmocka_unit_test(away__with_cancel_an_effect_has_the_window_of_its_re_issue_besides),
      cmocka_unit_test(away__an_answer_that_was_not_fetched_is_an_equal_calls),
      cmocka_unit_test(away__an_answer_that_did_not_arrive_is_an_equal_calls_once),
      cmocka_unit_test(away__who_has_asked_again_before_it_was_known_has_a_call_of_its_own),
      cmocka_unit_test(away__answers_that_may_not_arrive_are_bounded),
      cmocka_unit_test(away__effects_that_go_on_alone_are_bounded),
      cmocka_unit_test(away__only_a_cancellation_that_says_so_is_one_of_a_client_that_waited_too_long),
      cmocka_unit_test(away__a_failure_that_nobody_heard_is_told_later),
  };
  return cmocka_run_group_tests_name("away", tests, NULL, NULL);
}
