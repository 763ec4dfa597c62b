#include "shop.h"

#include "base/alloc.h"
#include "gateway/letter/letter.h"

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
  shop->pay->letters = HF_LETTER_UNSAFE;
  shop->look->letters = HF_LETTER_UNSAFE;
  shop->order->letters = HF_LETTER_ALL;
}

/* The request is out, and then the connection breaks. */
static void lose(struct shop *shop) {
  struct hf_attempt_ref *ref = upstream_last(shop->upstream);
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&shop->world, 0);
}

static const struct hf_letter *only_letter(void) {
  assert_int_equal(fake_store_letters(&store), 1);
  return &store.letters[0].row;
}

static void assert_text(struct hf_str text, const char *expected) {
  char copy[512];
  snprintf(copy, sizeof copy, "%.*s", HF_STR_FMT(text));
  assert_string_equal(copy, expected);
}

static void assert_has(const char *text, const char *part) {
  if (!text || !strstr(text, part))
    fail_msg("'%s' is not in %s", part, text ? text : "nothing");
}

static void letter__holds_what_is_known_of_the_call(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  world_run(&shop.world, HF_SECONDS(5));
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":1}",
            ",\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\","
            "\"dev.holdfast/call\":{\"priority\":4}");
  lose(&shop);
  const struct hf_letter *letter = only_letter();
  assert_text(letter->tool, "shop__pay");
  assert_text(letter->principal, "ann");
  assert_text(letter->providers, "shop");
  assert_text(letter->reason, "connection_lost");
  assert_text(letter->end, "unsafe");
  assert_text(letter->executed, "maybe");
  assert_text(letter->arguments, "{\"n\":1}");
  /* printf '{"type":"object"}' | sha256sum */
  assert_text(letter->schema, "a2c799262a3ce3c19ef5cdd983bf3d12b43ab3c426227091b909dcb7054738c0");
  assert_text(letter->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  assert_int_equal(letter->priority, 4);
  assert_int_equal(letter->first_ms, WORLD_WALL_MS + 5000);
  assert_int_equal(letter->last_ms, WORLD_WALL_MS + 5000);
  assert_int_equal(letter->status, HF_LETTER_DEAD);
  assert_null(letter->route.ptr);
  assert_null(letter->key.ptr);
  assert_has(letter->attempts.ptr, "\"what\":\"failed\",\"attempt\":1,\"provider\":\"shop\",\"fault\":"
                                   "\"connection_lost\",\"executed\":\"maybe\"");
  char id[64];
  snprintf(id, sizeof id, "\"deadLetterId\":\"%s\"", store.letters[0].id);
  assert_has(reply.answer, id);
  snprintf(id, sizeof id, "\"call\":\"%.*s\"", HF_STR_FMT(letter->call));
  assert_has(reply.answer, id);
  assert_int_equal(fake_store_open_intents(&store), 0);
  assert_int_equal(shop.world.gateway->metrics.letters[HF_FAULT_BROKE], 1);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void letter__is_counted(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  struct hf_buf text;
  begin(&shop);
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  lose(&shop);
  hf_buf_init(&text, 1 << 20);
  assert_int_equal(hf_gateway_metrics(shop.world.gateway, &text), 0);
  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  assert_has(text.data, "\nholdfast_dead_letters_total{class=\"connection_lost\"} 1\n");
  assert_has(text.data, "\nholdfast_dead_letters{status=\"dead\"} 1\n");
  assert_has(text.data, "\nholdfast_dead_letters{status=\"quarantined\"} 0\n");
  assert_has(text.data, "\nholdfast_dead_letters_waiting{class=\"connection_lost\"} 1\n");
  assert_has(text.data, "\nholdfast_dead_letter_oldest_seconds 0\n");
  assert_has(text.data, "\nholdfast_dead_letters_expiring 0\n");
  assert_has(text.data, "\nholdfast_dead_letters_lost_total 0\n");
  assert_has(text.data, "\nholdfast_replays_total 0\n");
  assert_has(text.data, "\nholdfast_hedges_total 0\n");
  assert_has(text.data, "\nholdfast_cache_entries 0\n");
  hf_buf_deinit(&text);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void letter__keeps_the_key(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}",
            ",\"dev.holdfast/call\":{\"idempotencyKey\":\"k-1\",\"maxAttempts\":1}");
  lose(&shop);
  assert_text(only_letter()->key, "k-1");
  reply_deinit(&reply);
  shop_close(&shop);
}

/* The client is told of the letter only once that is on the disk. */
static void letter__is_waited_for(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  store.slow = true;
  lose(&shop);
  assert_int_equal(store.buried, 1);
  assert_null(reply.answer);
  fake_store_answer(&store);
  world_run(&shop.world, 0);
  assert_has(reply.answer, "deadLetterId");
  reply_deinit(&reply);
  shop_close(&shop);
}

static void letter__that_takes_too_long_is_not_waited_for_forever(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  store.slow = true;
  lose(&shop);
  world_run(&shop.world, HF_CALL_LETTER_WAIT - 1);
  assert_null(reply.answer);
  world_run(&shop.world, 1);
  assert_has(reply.answer, "It could not be kept as a dead letter");
  assert_null(strstr(reply.answer, "deadLetterId"));
  assert_int_equal(store.forgotten, 1);
  fake_store_answer(&store);
  assert_int_equal(shop.world.gateway->metrics.counters[HF_METRIC_LETTERS_LOST], 1);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void letter__that_finds_the_disk_full_is_said_and_the_call_answered(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  store.error = HF_ERR_FULL;
  lose(&shop);
  assert_has(reply.answer, "may have been executed");
  assert_has(reply.answer, "It could not be kept as a dead letter");
  /* What may have run stays open, for the day on which this gateway ends. */
  assert_int_equal(fake_store_open_intents(&store), 1);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void letter__is_written_also_if_the_client_leaves_meanwhile(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  store.slow = true;
  lose(&shop);
  client_abandon(&shop.ann, &reply);
  world_run(&shop.world, HF_SECONDS(3));
  fake_store_answer(&store);
  assert_int_equal(fake_store_letters(&store), 1);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void letter__without_a_store_nothing_is_said_of_one(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop.pay->letters = HF_LETTER_ALL;
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  lose(&shop);
  assert_has(reply.answer, "may have been executed");
  assert_null(strstr(reply.answer, "etter"));
  reply_deinit(&reply);
  shop_close(&shop);
}

static void letter__the_policy_decides_which_are_written(void **state) {
  static const struct {
    enum hf_letter_policy policy;
    const char *tool;
    unsigned letters;
  } cases[] = {
      {HF_LETTER_OFF, "pay", 0},     {HF_LETTER_UNSAFE, "pay", 1}, {HF_LETTER_ALL, "pay", 1},
      {HF_LETTER_UNSAFE, "look", 0}, {HF_LETTER_ALL, "look", 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct shop shop;
    struct fake_reply reply;
    begin(&shop);
    shop.pay->letters = shop.look->letters = cases[i].policy;
    shop_call(&shop, &shop.ann, &reply, cases[i].tool, "{}", ",\"dev.holdfast/call\":{\"maxAttempts\":1}");
    lose(&shop);
    assert_int_equal(fake_store_letters(&store), cases[i].letters);
    reply_deinit(&reply);
    shop_close(&shop);
  }
}

/* A replay calls it at the endpoint of all servers. */
static void letter__has_the_tools_full_name_whatever_the_clients_endpoint(void **state) {
  (void)state;
  struct shop shop;
  struct fake_client client;
  struct fake_reply reply;
  begin(&shop);
  client_open(&shop.world, &client, "shop", HF_ERA_MODERN);
  client_send(&shop.world, &client, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"pay\",\"arguments\":{},"
              "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
              "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
  lose(&shop);
  assert_text(only_letter()->tool, "shop__pay");
  reply_deinit(&reply);
  client_close(&client);
  shop_close(&shop);
}

static void letter__has_the_full_name_of_a_tool_that_no_list_has_had(void **state) {
  (void)state;
  struct shop shop;
  struct fake_client client;
  struct fake_reply reply;
  const struct fake_server closed = {.name = "closed", .era = HF_ERA_MODERN};
  begin(&shop);
  shop.world.servers[shop.world.server_count++] = closed;
  struct hf_settings *settings = world_settings(&closed, 1);
  settings->tool_defaults.letters = HF_LETTER_ALL;
  assert_int_equal(hf_gateway_reload(shop.world.gateway, settings, NULL), 0);
  client_open(&shop.world, &client, "closed", HF_ERA_MODERN);
  client_send(
      &shop.world, &client, &reply,
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"refund\",\"arguments\":{},"
      "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
      "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
  upstream_down(world_upstream(&shop.world, "closed"), HF_EVIDENCE_NOT_STARTED, "exit code 1");
  world_run(&shop.world, HF_SECONDS(60));
  assert_text(only_letter()->tool, "closed__refund");
  reply_deinit(&reply);
  client_close(&client);
  shop_close(&shop);
}

static void letter__believes_only_a_well_formed_traceparent(void **state) {
  static const struct {
    const char *meta;
    const char *id; /* "": none */
  } cases[] = {
      {"\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"",
       "4bf92f3577b34da6a3ce929d0e0e4736"},
      {"\"traceparent\":\"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more\"",
       "4bf92f3577b34da6a3ce929d0e0e4736"},
      {"\"traceparent\":\"00-00000000000000000000000000000000-00f067aa0ba902b7-01\"", ""},
      {"\"traceparent\":\"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01\"", ""},
      {"\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736\"", ""},
      {"\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e473600f067aa0ba902b7-0100\"", ""},
      {"\"traceparent\":7", ""},
      {"\"traceparent\":\"\"", ""},
      {"\"other\":1", ""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[512], id[HF_TRACE_ID_MAX];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"_meta\":{%s}}}",
             cases[i].meta);
    struct hf_exchange exchange = {0};
    struct hf_refusal refusal;
    assert_int_equal(hf_message_decode_copy(hf_str_from(text), &exchange.request, &refusal), 0);
    assert_text(hf_letter_trace_id(&exchange, id), cases[i].id);
    hf_message_deinit(&exchange.request);
  }
}

/* Whatever allocation fails, the call is answered once, and there is no more than one letter. */
static void letter__survives_any_failed_allocation(void **state) {
  (void)state;
  for (long n = 0; n < 60; n++) {
    struct shop shop;
    struct fake_reply reply;
    begin(&shop);
    shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
    struct hf_attempt_ref *ref = upstream_last(shop.upstream);
    upstream_handed_over(ref);
    hf_alloc_fail_after(n);
    upstream_fail(ref, HF_EVIDENCE_BROKE);
    world_run(&shop.world, 0);
    hf_alloc_fail_after(-1);
    assert_non_null(reply.answer);
    assert_true(fake_store_letters(&store) <= 1);
    if (strstr(reply.answer, "deadLetterId"))
      assert_int_equal(fake_store_letters(&store), 1);
    reply_deinit(&reply);
    shop_close(&shop);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(letter__holds_what_is_known_of_the_call),
      cmocka_unit_test(letter__is_counted),
      cmocka_unit_test(letter__keeps_the_key),
      cmocka_unit_test(letter__is_waited_for),
      cmocka_unit_test(letter__that_takes_too_long_is_not_waited_for_forever),
      cmocka_unit_test(letter__that_finds_the_disk_full_is_said_and_the_call_answered),
      cmocka_unit_test(letter__is_written_also_if_the_client_leaves_meanwhile),
      cmocka_unit_test(letter__without_a_store_nothing_is_said_of_one),
      cmocka_unit_test(letter__the_policy_decides_which_are_written),
      cmocka_unit_test(letter__has_the_tools_full_name_whatever_the_clients_endpoint),
      cmocka_unit_test(letter__has_the_full_name_of_a_tool_that_no_list_has_had),
      cmocka_unit_test(letter__believes_only_a_well_formed_traceparent),
      cmocka_unit_test(letter__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
