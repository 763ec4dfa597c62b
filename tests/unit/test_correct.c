#include "shop.h"

#include "base/alloc.h"
#include "gateway/correct/advice.h"
#include "gateway/correct/correct.h"
#include "gateway/correct/others.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FAILED(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true}"
#define NOTE "Note of the gateway, not of the tool: "

static struct fake_store store;

static void begin(struct shop *shop) {
  memset(&store, 0, sizeof store);
  fake_store_init(&store, NULL);
  shop_open(shop, &store);
  shop->world.settings->correction = (struct hf_correction_settings){.max = 3, .ttl = HF_SECONDS(600)};
  shop->look->letters = HF_LETTER_ALL;
  shop->pay->coalesce = shop->note->coalesce = 0;
}

static void assert_has(const char *text, const char *part) {
  if (!text || !strstr(text, part))
    fail_msg("'%s' is not in %s", part, text ? text : "nothing");
}

static void assert_lacks(const char *text, const char *part) {
  if (!text || strstr(text, part))
    fail_msg("'%s' is in %s", part, text ? text : "nothing");
}

/* Calls, and has the server answer. `expected` and `not_expected` (or NULL) are parts of what the client gets. */
static void call(struct shop *shop, struct fake_client *client, const char *tool, const char *arguments,
                 const char *result, const char *expected, const char *not_expected) {
  struct fake_reply reply;
  shop_call(shop, client, &reply, tool, arguments, "");
  if (result) {
    assert_null(reply.answer);
    upstream_answer(upstream_last(shop->upstream), result);
    world_run(&shop->world, 0);
  }
  assert_has(reply.answer, expected);
  if (not_expected)
    assert_lacks(reply.answer, not_expected);
  reply_deinit(&reply);
}

static uint64_t count(const struct shop *shop, enum hf_correction_kind kind, enum hf_correction_end end) {
  return shop->world.gateway->corrections.counts[kind][end];
}

static void correct__names_that_do_not_exist_have_an_end(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  call(&shop, &shop.ann, "loook", "{}", NULL, "There is no tool \\\"shop__loook\\\"", "Tried before");
  call(&shop, &shop.ann, "lokk", "{}", NULL, "Tried before, without success:\\n1. There is no tool \\\"shop__loook\\\"",
       "Stop");
  call(&shop, &shop.bob, "lokk", "{}", NULL, "There is no tool \\\"shop__lokk\\\"",
       "Tried before"); /* another caller */
  call(&shop, &shop.ann, "lok", "{}", NULL, "Stop: you have called 3 times what there is not.", NULL);
  call(&shop, &shop.ann, "look", "{}", SHOP_OK("it"), "it", NULL);
  assert_int_equal(count(&shop, HF_CORRECTION_NAME, HF_CORRECTION_END_FAILED), 4);
  assert_int_equal(count(&shop, HF_CORRECTION_NAME, HF_CORRECTION_END_EXHAUSTED), 1);
  assert_int_equal(count(&shop, HF_CORRECTION_NAME, HF_CORRECTION_END_CORRECTED), 1);
  call(&shop, &shop.ann, "lokk", "{}", NULL, "There is no tool", "Tried before");
  shop_close(&shop);
}

static void correct__the_same_name_again_is_told_another_way(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  call(&shop, &shop.ann, "loook", "{\"a\":1}", NULL, "There is no tool", "Take another way");
  call(&shop, &shop.ann, "loook", "{\"a\":2}", NULL, "You called \\\"shop__loook\\\" before", NULL);
  assert_int_equal(count(&shop, HF_CORRECTION_NAME, HF_CORRECTION_END_ANCHORED), 1);
  shop_close(&shop);
}

static void correct__tries_are_forgotten_after_their_time(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  call(&shop, &shop.ann, "loook", "{}", NULL, "There is no tool", NULL);
  world_run(&shop.world, HF_SECONDS(600) - 1);
  call(&shop, &shop.ann, "loook", "{}", NULL, "You called \\\"shop__loook\\\" before", NULL);
  world_run(&shop.world, HF_SECONDS(600));
  call(&shop, &shop.ann, "loook", "{}", NULL, "There is no tool", "before");
  assert_int_equal(count(&shop, HF_CORRECTION_NAME, HF_CORRECTION_END_ABANDONED), 1);
  shop_close(&shop);
}

static void correct__sessions_of_one_principal_are_apart(void **state) {
  (void)state;
  static const char *const text =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"nothing\"}}";
  struct shop shop;
  struct fake_client one, other;
  struct fake_reply reply;
  begin(&shop);
  client_open_as(&shop.world, &one, "ann", HF_ERA_LEGACY);
  client_open_as(&shop.world, &other, "ann", HF_ERA_LEGACY);
  client_initialize(&shop.world, &one, "{}");
  client_initialize(&shop.world, &other, "{}");
  for (int i = 0; i < 2; i++) {
    client_send(&shop.world, &one, &reply, text);
    reply_deinit(&reply);
  }
  client_send(&shop.world, &other, &reply, text);
  assert_lacks(reply.answer, "before");
  assert_lacks(reply.answer, "Stop: ");
  reply_deinit(&reply);
  client_send(&shop.world, &one, &reply, text);
  assert_has(reply.answer, "Stop: ");
  reply_deinit(&reply);
  client_close(&one);
  client_close(&other);
  shop_close(&shop);
}

static void correct__stateless_clients_are_told_apart_by_what_they_call_themselves(void **state) {
  (void)state;
  static const char *const names[] = {
      ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"a\",\"version\":\"1\"}",
      ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"b\",\"version\":\"1\"}",
      "",
  };
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  for (int again = 0; again < 2; again++)
    for (size_t i = 0; i < 3; i++) {
      shop_call(&shop, &shop.ann, &reply, "loook", "{}", names[i]);
      if (again)
        assert_has(reply.answer, "before");
      else
        assert_lacks(reply.answer, "before");
      reply_deinit(&reply);
    }
  shop_close(&shop);
}

/* Three tries, the last of which ends in a letter; without `reply` the first two of them. */
static void exhaust(struct shop *shop, struct fake_reply *reply) {
  shop->world.settings->tool_defaults.letters = HF_LETTER_ALL;
  call(shop, &shop->ann, "loook", "{\"password\":\"hunter2\",\"n\":1}", NULL, "There is no tool", NULL);
  call(shop, &shop->ann, "loook", "{\"password\":\"hunter2\",\"n\":1}", NULL, "before", NULL);
  if (reply)
    shop_call(shop, &shop->ann, reply, "lok", "{\"n\":2}", "");
}

static void correct__a_letter_has_the_tries_once_a_loop(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  exhaust(&shop, &reply);
  assert_int_equal(fake_store_letters(&store), 1);
  const struct hf_letter *letter = &store.letters[0].row;
  assert_true(hf_str_equal(letter->reason, HF_STR("unknown_tool")));
  assert_true(hf_str_equal(letter->executed, HF_STR("no")));
  assert_true(hf_str_equal(letter->end, HF_STR("refused")));
  assert_true(hf_str_equal(letter->tool, HF_STR("shop__lok")));
  assert_true(hf_str_equal(letter->arguments, HF_STR("{\"n\":2}")));
  assert_has(letter->attempts.ptr, "\"what\":\"refused_try\",\"times\":2,\"why\":\"refused, 2 times: shop__loook "
                                   "{\\\"password\\\":\\\"[redacted]\\\",\\\"n\\\":1} | (what is wrong is not kept");
  assert_has(letter->attempts.ptr, "\"times\":1,\"why\":\"refused: shop__lok {\\\"n\\\":2} | There is no tool");
  assert_lacks(letter->attempts.ptr, "hunter2");
  char id[64];
  snprintf(id, sizeof id, "\"deadLetterId\":\"%s\"", store.letters[0].id);
  assert_has(reply.answer, id);
  snprintf(id, sizeof id, "[dead letter %s]", store.letters[0].id);
  assert_has(reply.answer, id);
  assert_has(reply.answer, "Stop: ");
  assert_int_equal(shop.world.gateway->metrics.letters[HF_FAULT_UNKNOWN_TOOL], 1);
  reply_deinit(&reply);
  call(&shop, &shop.ann, "lokk", "{}", NULL, "Stop: ", "dead letter");
  assert_int_equal(fake_store_letters(&store), 1);
  shop_close(&shop);
}

static void correct__the_policy_decides_about_letters(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  shop.world.settings->tool_defaults.letters = HF_LETTER_UNSAFE;
  for (int i = 0; i < 3; i++)
    call(&shop, &shop.ann, "loook", "{}", NULL, i < 2 ? "There is no tool" : "Stop: ", "dead letter");
  assert_int_equal(fake_store_letters(&store), 0);
  shop_close(&shop);
}

static void correct__without_a_store_there_is_no_letter(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  shop_open(&shop, NULL);
  shop.world.settings->correction = (struct hf_correction_settings){.max = 3, .ttl = HF_SECONDS(600)};
  exhaust(&shop, &reply);
  assert_has(reply.answer, "Stop: ");
  assert_lacks(reply.answer, "dead letter");
  reply_deinit(&reply);
  shop_close(&shop);
}

static void correct__a_letter_that_cannot_be_written_keeps_nobody(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  store.error = HF_ERR_IO;
  exhaust(&shop, &reply);
  assert_has(reply.answer, "Stop: ");
  assert_lacks(reply.answer, "dead letter");
  assert_int_equal(shop.world.gateway->metrics.counters[HF_METRIC_LETTERS_LOST], 1);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void correct__a_store_that_is_slow_is_waited_for_two_seconds(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  store.slow = true;
  exhaust(&shop, &reply);
  assert_null(reply.answer);
  world_run(&shop.world, HF_SECONDS(2) - 1);
  assert_null(reply.answer);
  world_run(&shop.world, 1);
  assert_has(reply.answer, "Stop: ");
  fake_store_answer(&store); /* nobody waits any more */
  reply_deinit(&reply);
  shop_close(&shop);
}

static void correct__a_client_may_leave_while_its_letter_is_written(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  store.slow = true;
  exhaust(&shop, &reply);
  client_abandon(&shop.ann, &reply);
  world_run(&shop.world, HF_SECONDS(5));
  assert_int_equal(shop.world.gateway->calls, 0);
  reply_deinit(&reply);
  shop_close(&shop);
}

/* Whatever finds no memory: there is one answer, and nothing leaks. */
static void correct__survives_any_failed_allocation(void **state) {
  (void)state;
  bool failed = true;
  unsigned letters = 0;
  for (long n = 0; failed; n++) {
    struct shop shop;
    struct fake_reply reply;
    begin(&shop);
    exhaust(&shop, NULL);
    unsigned long before = hf_alloc_count();
    hf_alloc_fail_after(n);
    shop_call(&shop, &shop.ann, &reply, "lok", "{\"n\":2}", "");
    failed = hf_alloc_count() - before > (unsigned long)n;
    hf_alloc_fail_after(-1);
    world_run(&shop.world, HF_SECONDS(3));
    assert_non_null(reply.answer);
    assert_int_equal(shop.world.gateway->calls, 0);
    letters += fake_store_letters(&store);
    reply_deinit(&reply);
    shop_close(&shop);
    assert_true(n < 2000);
  }
  assert_true(letters > 1);
}

static const struct fake_server library = {
    .name = "lib",
    .hello = "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
             "\"ttlMs\":0,\"cacheScope\":\"private\"}",
    .tools = "{\"tools\":[{\"name\":\"find\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"q\":{\"type\":"
             "\"string\"},\"n\":{\"type\":\"integer\"}},\"required\":[\"q\"]}},"
             "{\"name\":\"count\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"integer\"}}}},"
             "{\"name\":\"small\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"q\":{\"maximum\":1}}}},"
             "{\"name\":\"more\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"q\":{}},\"required\":[\"n\"]}},"
             "{\"name\":\"any\",\"inputSchema\":{\"type\":\"object\"}}]}",
    .era = HF_ERA_MODERN,
};

static void open_server(struct shop *shop, const struct fake_server *server, enum hf_letter_policy letters) {
  memset(&store, 0, sizeof store);
  fake_store_init(&store, NULL);
  *shop = (struct shop){0};
  world_init(&shop->world, server, 1);
  shop->world.settings->correction = (struct hf_correction_settings){.max = 3, .ttl = HF_SECONDS(600)};
  shop->world.settings->tool_defaults.letters = letters;
  fake_store_reopen(&store, &shop->world.loop);
  hf_gateway_use_store(shop->world.gateway, &store.head);
  hf_gateway_start(shop->world.gateway);
  client_open_as(&shop->world, &shop->ann, "ann", HF_ERA_MODERN);
  client_open_as(&shop->world, &shop->bob, "bob", HF_ERA_MODERN);
  shop->upstream = world_upstream(&shop->world, "lib");
}

static void open_library(struct shop *shop, enum hf_letter_policy letters) {
  open_server(shop, &library, letters);
}

static void ask(struct shop *shop, const char *tool, const char *arguments, const char *expected,
                const char *not_expected) {
  struct fake_reply reply;
  static char text[(256 << 10) + 1024];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"lib__%s\","
           "\"arguments\":%s,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
           "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
           tool, arguments);
  client_send(&shop->world, &shop->ann, &reply, text);
  if (!reply.answer)
    upstream_answer(upstream_last(shop->upstream), SHOP_OK("found"));
  world_run(&shop->world, 0);
  assert_has(reply.answer, expected);
  if (not_expected)
    assert_lacks(reply.answer, not_expected);
  reply_deinit(&reply);
}

static void correct__arguments_that_do_not_fit_have_an_end(void **state) {
  (void)state;
  struct shop shop;
  open_library(&shop, HF_LETTER_UNSAFE);
  ask(&shop, "find", "{\"q\":5}", "Correct the arguments and call it again.", "Take another way");
  ask(&shop, "find", "{ \"q\" : 5.0 }", "You sent these very arguments before.", "Stop: ");
  ask(&shop, "find", "{\"n\":1}", "Stop: 3 calls of \\\"lib__find\\\" had arguments that don't fit it",
      "Correct the arguments");
  assert_int_equal(shop_count(&shop), 0);
  assert_int_equal(fake_store_letters(&store), 1);
  const struct hf_letter *letter = &store.letters[0].row;
  assert_true(hf_str_equal(letter->reason, HF_STR("schema")));
  assert_true(hf_str_equal(letter->executed, HF_STR("no")));
  assert_true(hf_str_equal(letter->tool, HF_STR("lib__find")));
  assert_true(hf_str_equal(letter->providers, HF_STR("lib")));
  assert_true(hf_str_equal(letter->arguments, HF_STR("{\"n\":1}")));
  assert_has(letter->attempts.ptr, "\"times\":2,\"why\":\"refused, 2 times: lib__find {\\\"q\\\":5} | ");
  ask(&shop, "find", "{\"q\":\"five\"}", "found", NULL);
  assert_int_equal(count(&shop, HF_CORRECTION_ARGUMENTS, HF_CORRECTION_END_CORRECTED), 1);
  ask(&shop, "find", "{\"n\":1}", "Correct the arguments and call it again.", "Tried before");
  shop_close(&shop);
}

/* Calls `find` with `len` bytes of arguments that don't fit, the last character of which is `last`. */
static void ask_large(struct shop *shop, size_t len, char last, const char *expected) {
  static const char head[] = "{\"q\":5,\"p\":\"", tail[] = "\"}";
  static char arguments[(256 << 10) + 16];
  size_t fill = len - (sizeof head - 1) - (sizeof tail - 1);
  memcpy(arguments, head, sizeof head - 1);
  memset(arguments + sizeof head - 1, 'x', fill);
  arguments[sizeof head - 1 + fill - 1] = last;
  memcpy(arguments + sizeof head - 1 + fill, tail, sizeof tail);
  ask(shop, "find", arguments, expected, NULL);
}

static void correct__large_arguments_are_not_shown(void **state) {
  (void)state;
  struct shop shop;
  open_library(&shop, HF_LETTER_ALL);
  ask_large(&shop, 16 << 10, 'a', "Correct the arguments");
  ask_large(&shop, (16 << 10) + 1, 'a', "You changed the arguments");
  ask(&shop, "find", "{\"q\":5}", "dead letter", NULL);
  const struct hf_letter *letter = &store.letters[0].row;
  assert_has(letter->attempts.ptr, "lib__find {\\\"q\\\":5,\\\"p\\\":\\\"xxx");
  assert_has(letter->attempts.ptr, "lib__find (16385 bytes)");
  shop_close(&shop);
}

static void correct__very_large_arguments_are_told_apart_by_their_beginning(void **state) {
  (void)state;
  struct shop shop;
  open_library(&shop, HF_LETTER_OFF);
  ask_large(&shop, 256 << 10, 'a', "Correct the arguments");
  ask_large(&shop, 256 << 10, 'b', "You changed the arguments");
  shop_close(&shop);
  open_library(&shop, HF_LETTER_OFF);
  ask_large(&shop, (256 << 10) + 4, 'a', "Correct the arguments");
  ask_large(&shop, (256 << 10) + 4, 'b', "You sent these very arguments before");
  shop_close(&shop);
}

static void correct__the_same_error_with_other_arguments_is_the_same_error(void **state) {
  (void)state;
  struct shop shop;
  open_library(&shop, HF_LETTER_OFF);
  ask(&shop, "find", "{\"q\":5}", "Correct the arguments", "Take another way");
  ask(&shop, "find", "{\"q\":true}", "You changed the arguments, but the same is wrong with them as before", NULL);
  ask(&shop, "find", "{\"q\":7}", "Stop: ", "dead letter");
  assert_int_equal(fake_store_letters(&store), 0);
  shop_close(&shop);
}

static void others__are_those_that_take_the_arguments_as_they_are(void **state) {
  (void)state;
  struct shop shop;
  open_library(&shop, HF_LETTER_OFF);
  ask(&shop, "find", "{\"q\":5}", "Correct the arguments", "another tool");
  ask(&shop, "find", "{\"q\":5}", "the arguments that you gave fit \\\"lib__count\\\".\\n", NULL);
  shop_close(&shop);
  open_library(&shop, HF_LETTER_OFF);
  ask(&shop, "find", "{\"q\":0}", "Correct the arguments", "another tool");
  ask(&shop, "find", "{\"q\":0}", "the arguments that you gave fit \\\"lib__count\\\", \\\"lib__small\\\".\\n", NULL);
  shop_close(&shop);
  open_library(&shop, HF_LETTER_OFF);
  ask(&shop, "find", "{}", "Correct the arguments", "another tool");
  ask(&shop, "find", "{}", "You sent these very arguments before.", "another tool"); /* nothing fits everything */
  shop_close(&shop);
  open_library(&shop, HF_LETTER_OFF);
  ask(&shop, "find", "{\"q\":5,\"q\":6}", "Correct the arguments", "another tool");
  ask(&shop, "find", "{\"q\":5,\"q\":6}", "You sent these very arguments before.", "another tool"); /* which of them? */
  shop_close(&shop);
}

/* Is the tool `wanted` told to who brings these arguments to `find` again? */
static bool finds(const char *tools, const char *arguments) {
  struct shop shop;
  struct fake_server many = library;
  struct fake_reply reply;
  char text[64 << 10];
  many.tools = tools;
  open_server(&shop, &many, HF_LETTER_OFF);
  for (int i = 0; i < 2; i++) {
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"lib__find\","
             "\"arguments\":%s,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             arguments);
    client_send(&shop.world, &shop.ann, &reply, text);
    if (i == 0)
      reply_deinit(&reply);
  }
  bool found = strstr(reply.answer, "lib__wanted") != NULL;
  reply_deinit(&reply);
  shop_close(&shop);
  return found;
}

static void write_tools(struct hf_buf *out, unsigned others, const char *other, const char *wanted) {
  out->len = 0;
  assert_int_equal(hf_buf_printf(out, "{\"tools\":[{\"name\":\"find\",\"inputSchema\":{\"type\":\"object\","
                                      "\"properties\":{\"q\":{\"type\":\"string\"}}}}"),
                   0);
  for (unsigned i = 0; i < others; i++)
    assert_int_equal(hf_buf_printf(out, ",{\"name\":\"o%u\",\"inputSchema\":%s}", i, other), 0);
  assert_int_equal(hf_buf_printf(out, ",{\"name\":\"wanted\",\"inputSchema\":%s}]}", wanted), 0);
  assert_int_equal(hf_buf_append(out, "", 1), 0);
}

static void others__are_looked_for_within_limits(void **state) {
  (void)state;
  static const char takes[] = "{\"properties\":{\"q\":{}}}", refuses[] = "{\"properties\":{\"q\":false}}";
  static char long_schema[HF_OTHERS_BYTES_MAX + 2], long_arguments[HF_OTHERS_BYTES_MAX + 2];
  struct hf_buf tools;
  hf_buf_init(&tools, 1 << 20);
  write_tools(&tools, HF_OTHERS_LOOK_MAX - 2, "{}", takes); /* and the one that was called */
  assert_true(finds(tools.data, "{\"q\":1}"));
  write_tools(&tools, HF_OTHERS_LOOK_MAX - 1, "{}", takes);
  assert_false(finds(tools.data, "{\"q\":1}"));
  write_tools(&tools, HF_OTHERS_TRY_MAX - 1, refuses, takes);
  assert_true(finds(tools.data, "{\"q\":1}"));
  write_tools(&tools, HF_OTHERS_TRY_MAX, refuses, takes);
  assert_false(finds(tools.data, "{\"q\":1}"));
  write_tools(&tools, HF_OTHERS_TOLD_MAX - 1, takes, takes);
  assert_true(finds(tools.data, "{\"q\":1}"));
  write_tools(&tools, HF_OTHERS_TOLD_MAX, takes, takes);
  assert_false(finds(tools.data, "{\"q\":1}"));
  for (int more = 0; more < 2; more++) {
    snprintf(long_schema, sizeof long_schema, "{%*s%s", HF_OTHERS_BYTES_MAX + more - (int)sizeof takes + 1, "",
             takes + 1);
    write_tools(&tools, 0, "{}", long_schema);
    assert_int_equal(finds(tools.data, "{\"q\":1}"), more == 0);
    write_tools(&tools, 0, "{}", takes);
    snprintf(long_arguments, sizeof long_arguments, "{\"q\":1%*s}", HF_OTHERS_BYTES_MAX + more - 7, "");
    assert_int_equal(finds(tools.data, long_arguments), more == 0);
  }
  hf_buf_deinit(&tools);
}

static void advice__the_same_call_with_the_same_error_is_told_so(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  /* Numbers don't make another error, nor spelling another call. */
  call(&shop, &shop.ann, "note", "{\"id\":4,\"x\":\"y\"}", FAILED("no note 4 at 10:31"), "no note 4", "gateway,");
  call(&shop, &shop.ann, "note", "{\"x\":\"y\", \"id\":4.0}", FAILED("no note 4 at 10:32"),
       "\"content\":[{\"type\":\"text\",\"text\":\"no note 4 at 10:32\"},{\"type\":\"text\",\"text\":\"" NOTE
       "This same call has now brought this same error 2 times",
       "may have changed");
  call(&shop, &shop.ann, "note", "{\"id\":5}", FAILED("no note 5 at 10:32"), "no note 5", NOTE);
  call(&shop, &shop.ann, "note", "{\"id\":5}", FAILED("no permission"), "no permission", NOTE);
  call(&shop, &shop.bob, "note", "{\"x\":\"y\",\"id\":4}", FAILED("no note 4 at 10:33"), "no note 4", NOTE);
  call(&shop, &shop.ann, "note", "{\"x\":\"y\",\"id\":4}", FAILED("no note 4 at 10:34"),
       NOTE "Stop: this same call has now brought this same error 3 times. Don't make it again.", NULL);
  assert_int_equal(count(&shop, HF_CORRECTION_ERROR, HF_CORRECTION_END_FAILED), 6);
  assert_int_equal(count(&shop, HF_CORRECTION_ERROR, HF_CORRECTION_END_ANCHORED), 2);
  call(&shop, &shop.ann, "note", "{\"x\":\"y\",\"id\":4}", SHOP_OK("good"), "good", NOTE);
  assert_int_equal(count(&shop, HF_CORRECTION_ERROR, HF_CORRECTION_END_CORRECTED), 1);
  call(&shop, &shop.ann, "note", "{\"x\":\"y\",\"id\":4}", FAILED("no note 4 at 10:35"), "no note", NOTE);
  shop_close(&shop);
}

static void advice__never_is_to_repeat_what_may_have_run(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  shop.world.settings->correction.max = 2;
  call(&shop, &shop.ann, "pay", "{\"n\":1}", FAILED("declined"), "declined", NOTE);
  call(&shop, &shop.ann, "pay", "{\"n\":1}", FAILED("declined"),
       "Each time it may have changed something: find out what, before you call this tool again in any way.", NULL);
  shop.pay->expect = (struct hf_condition){HF_STR("/structuredContent/id"), HF_OPERATOR_EXISTS, HF_STR("true")};
  call(&shop, &shop.ann, "pay", "{\"n\":2}", SHOP_OK("paid"),
       "Don't call it again only to get another answer: it may change something each time.", "other arguments");
  shop_close(&shop);
}

static void advice__hints_are_given_by_pattern(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  static struct hf_str hints[] = {HF_STR("*quota*\nWait for tomorrow."), HF_STR("no such user\nLook it up first."),
                                  HF_STR("quota * reached\nOr ask for more.")};
  shop.note->hints = (struct hf_strings){hints, 3};
  call(&shop, &shop.ann, "note", "{}", FAILED("the quota 7 reached"),
       "\"text\":\"the quota 7 reached\"},{\"type\":\"text\",\"text\":\"" NOTE
       "Advice of the person who runs the gateway: Wait for tomorrow. Or ask for more.\"}]",
       "Look it up");
  call(&shop, &shop.ann, "note", "{}", FAILED("something else"), "something else", NOTE);
  call(&shop, &shop.ann, "note", "{\"n\":1}", SHOP_OK("quota"), "quota", NOTE); /* no error */
  shop_close(&shop);
}

static void advice__hints_are_bounded(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  static char text[HF_ADVICE_BYTES_MAX + 4], half[HF_ADVICE_BYTES_MAX / 2 + 3];
  memset(text, 'x', sizeof text);
  memset(half, 'y', sizeof half);
  memcpy(text, "*\n", 2);
  memcpy(half, "*\n", 2);
  struct hf_str hints[] = {{text, sizeof text}, {half, sizeof half - 1}, {half, sizeof half}, {half, sizeof half - 1}};
  shop.note->hints = (struct hf_strings){hints, 4};
  struct fake_reply reply;
  shop_call(&shop, &shop.ann, &reply, "note", "{}", "");
  upstream_answer(upstream_last(shop.upstream), FAILED("no"));
  world_run(&shop.world, 0);
  assert_lacks(reply.answer, "xx");
  size_t ys = 0;
  for (const char *c = strstr(reply.answer, NOTE); *c && *c != '}'; c++)
    ys += *c == 'y' && (c[1] == 'y' || c[-1] == 'y');
  assert_int_equal(ys, HF_ADVICE_BYTES_MAX);
  reply_deinit(&reply);
  shop_close(&shop);
}

static void expect_items(struct shop *shop) {
  shop->look->expect = (struct hf_condition){HF_STR("/structuredContent/items"), HF_OPERATOR_AT_LEAST, HF_STR("1")};
}

#define ITEMS(items)                                                                                                   \
  "{\"content\":[{\"type\":\"text\",\"text\":\"list\"}],\"structuredContent\":{\"items\":[" items "]}}"

static void expect__a_result_that_is_not_as_expected_goes_back_with_the_reason(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  expect_items(&shop);
  shop_call(&shop, &shop.ann, &reply, "look", "{\"q\":1}", "");
  upstream_answer(upstream_last(shop.upstream), ITEMS(""));
  world_run(&shop.world, 0);
  assert_has(
      reply.answer,
      "\"content\":[{\"type\":\"text\",\"text\":\"" NOTE "\\\"shop__look\\\" was executed and answered, but not with "
      "what is expected of it: '/structuredContent/items' is to be at least 1, or to have so many elements. If "
      "the task needs it, call it with other arguments (try 1), take another tool, or ask the user. Its answer "
      "follows.\"},{\"type\":\"text\",\"text\":\"list\"}],\"structuredContent\":{\"items\":[]},\"isError\":true");
  assert_has(reply.answer, "\"executed\":\"yes\",\"reason\":\"unexpected_result\"");
  reply_deinit(&reply);
  call(&shop, &shop.ann, "look", "{\"q\":1}", ITEMS(""), "You called it with these arguments before", NULL);
  call(&shop, &shop.ann, "look", "{\"q\":2}", ITEMS(""), "Stop: this is the result of 3 calls by now.", NULL);
  call(&shop, &shop.ann, "look", "{\"q\":3}", ITEMS("1"), "\"items\":[1]", "isError");
  assert_int_equal(count(&shop, HF_CORRECTION_RESULT, HF_CORRECTION_END_CORRECTED), 1);
  assert_int_equal(count(&shop, HF_CORRECTION_RESULT, HF_CORRECTION_END_EXHAUSTED), 1);
  assert_int_equal(fake_store_letters(&store), 0);
  shop_close(&shop);
}

static void expect__such_a_result_is_no_good_answer_for_later_and_no_failure_of_the_server(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  expect_items(&shop);
  shop.look->policy.breaker.failures = shop.world.settings->servers[0].policy.breaker.failures = 1;
  call(&shop, &shop.ann, "look", "{\"q\":1}", ITEMS(""), "unexpected_result", NULL);
  for (int i = 0; i < 8; i++) /* neither breaker has opened: it is sent */
    call(&shop, &shop.ann, "look", "{\"q\":1}", ITEMS(""), "unexpected_result", NULL);
  shop_call(&shop, &shop.ann, &reply, "look", "{\"q\":1}", "");
  for (int i = 0; i < 50 && !reply.answer; i++) {
    struct hf_attempt_ref *ref = upstream_last(shop.upstream);
    if (ref)
      upstream_fail(ref, HF_EVIDENCE_BROKE);
    world_run(&shop.world, HF_SECONDS(2));
  }
  assert_has(reply.answer, "\"isError\":true"); /* nothing of it was kept to stand in */
  assert_lacks(reply.answer, "\"source\":\"cache\"");
  reply_deinit(&reply);
  shop_close(&shop);
}

static void expect__what_cannot_be_told_passes(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  expect_items(&shop);
  call(&shop, &shop.ann, "look", "{\"q\":1}", "{\"content\":[],\"structuredContent\":{\"items\":[],\"items\":[]}}",
       "\"items\":[],\"items\":[]", "isError");
  const struct hf_target_tool target = {.tool = shop.look};
  struct hf_buf text;
  struct hf_message response;
  struct hf_refusal refusal;
  for (size_t extra = 0; extra < 2; extra++) {
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":", begin_result[] = "{\"x\":\"", end[] = "\"}";
    hf_buf_init(&text, HF_ADVICE_EXPECTED_MAX + 4096);
    assert_int_equal(hf_buf_append(&text, head, sizeof head - 1), 0);
    assert_int_equal(hf_buf_append(&text, begin_result, sizeof begin_result - 1), 0);
    size_t fill = HF_ADVICE_EXPECTED_MAX - (sizeof begin_result - 1) - (sizeof end - 1) + extra;
    for (size_t i = 0; i < fill; i++)
      assert_int_equal(hf_buf_append(&text, "x", 1), 0);
    assert_int_equal(hf_buf_append(&text, end, sizeof end - 1), 0);
    assert_int_equal(hf_buf_append(&text, "}", 1), 0);
    assert_int_equal(hf_message_decode(&text, &response, &refusal), 0);
    assert_int_equal(hf_advice_is_unexpected(&target, &response), extra == 0);
    hf_message_deinit(&response);
    hf_buf_deinit(&text);
  }
  shop_close(&shop);
}

/* What is no caller's try, or not over yet, leaves the loops alone. */
static void correct__only_what_callers_hear_of_counts(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply reply;
  begin(&shop);
  call(&shop, &shop.ann, "note", "{}", FAILED("no"), "no", NULL);
  call(&shop, &shop.ann, "note", "{\"n\":1}",
       "{\"resultType\":\"input_required\",\"requestState\":\"s\",\"inputRequests\":{}}", "input_required", NOTE);
  assert_int_equal(shop.world.gateway->corrections.loops.len, 1); /* a question is no success */

  static const struct hf_condition ran = {HF_STR("/ran"), HF_OPERATOR_EQUALS, HF_STR("true")};
  shop.pay->reconcile = (struct hf_reconcile_settings){
      .tool = {HF_STR("shop"), HF_STR("look")}, .arguments = HF_STR("{}"), .executed = ran, .timeout = HF_SECONDS(5)};
  shop_call(&shop, &shop.ann, &reply, "pay", "{}", "");
  upstream_handed_over(upstream_last(shop.upstream));
  upstream_fail(upstream_last(shop.upstream), HF_EVIDENCE_BROKE);
  world_run(&shop.world, 0);
  upstream_answer(upstream_last(shop.upstream), FAILED("not now")); /* to the status check */
  world_run(&shop.world, HF_SECONDS(60));
  reply_deinit(&reply);
  assert_int_equal(count(&shop, HF_CORRECTION_ERROR, HF_CORRECTION_END_FAILED), 1);

  shop.pay->reconcile = (struct hf_reconcile_settings){0};
  shop.pay->coalesce = SHOP_COALESCE;
  shop_call(&shop, &shop.ann, &reply, "pay", "{\"n\":2}", "");
  upstream_handed_over(upstream_last(shop.upstream));
  client_abandon(&shop.ann, &reply); /* and it goes on */
  upstream_answer(upstream_last(shop.upstream), FAILED("no"));
  world_run(&shop.world, 0);
  reply_deinit(&reply);
  assert_int_equal(count(&shop, HF_CORRECTION_ERROR, HF_CORRECTION_END_FAILED), 1);
  shop_close(&shop);
}

static char tallied[4096];

static int take_tally(struct hf_store *head, struct hf_str rows) {
  (void)head;
  snprintf(tallied, sizeof tallied, "%.*s", HF_STR_FMT(rows));
  return 0;
}

static void correct__the_report_hears_of_it(void **state) {
  (void)state;
  struct shop shop;
  begin(&shop);
  static struct hf_store_ops ops;
  ops = *store.head.ops;
  ops.tally = take_tally;
  store.head.ops = &ops;
  static struct hf_str hint[] = {HF_STR("no\nAsk.")};
  shop.note->hints = (struct hf_strings){hint, 1};
  shop.world.settings->correction.max = 2;
  call(&shop, &shop.ann, "note", "{}", FAILED("no"), "Ask.", NULL);
  call(&shop, &shop.ann, "note", "{}", FAILED("no"), "Stop: ", NULL);
  call(&shop, &shop.ann, "note", "{}", SHOP_OK("good"), "good", NULL);
  hf_tally_flush(&shop.world.gateway->tally);
  assert_has(tallied, "\"stopped\":1,\"undone_tries\":2");
  assert_has(tallied, "\"asked.anchored\":1,\"asked.hint\":1,\"corrected.anchored\":1");
  assert_has(tallied, "\"tokens_feedback\":");
  expect_items(&shop);
  call(&shop, &shop.ann, "look", "{}", ITEMS(""), "unexpected_result", NULL);
  call(&shop, &shop.ann, "look", "{\"n\":1}", ITEMS("1"), "[1]", NULL);
  hf_tally_flush(&shop.world.gateway->tally);
  assert_has(tallied, "\"undone_tries\":1");
  assert_has(tallied, "\"misfit.expected\":1");
  assert_has(tallied, "\"asked.feedback\":1,\"corrected.feedback\":1");
  shop_close(&shop);
}

static void correct__is_counted(void **state) {
  (void)state;
  struct shop shop;
  struct hf_buf text;
  begin(&shop);
  call(&shop, &shop.ann, "loook", "{}", NULL, "There is no tool", NULL);
  call(&shop, &shop.ann, "note", "{}", FAILED("no"), "no", NULL);
  call(&shop, &shop.ann, "note", "{}", FAILED("no"), "no", NULL);
  hf_buf_init(&text, 1 << 20);
  assert_int_equal(hf_gateway_metrics(shop.world.gateway, &text), 0);
  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  assert_has(text.data, "\nholdfast_corrections_total{kind=\"name\",result=\"failed\"} 1\n");
  assert_has(text.data, "\nholdfast_corrections_total{kind=\"name\",result=\"corrected\"} 1\n");
  assert_has(text.data, "\nholdfast_corrections_total{kind=\"error\",result=\"failed\"} 2\n");
  assert_has(text.data, "\nholdfast_corrections_total{kind=\"error\",result=\"anchored\"} 1\n");
  assert_has(text.data, "\nholdfast_correction_loops 1\n");
  hf_buf_deinit(&text);
  shop_close(&shop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(correct__names_that_do_not_exist_have_an_end),
      cmocka_unit_test(correct__the_same_name_again_is_told_another_way),
      cmocka_unit_test(correct__tries_are_forgotten_after_their_time),
      cmocka_unit_test(correct__sessions_of_one_principal_are_apart),
      cmocka_unit_test(correct__stateless_clients_are_told_apart_by_what_they_call_themselves),
      cmocka_unit_test(correct__a_letter_has_the_tries_once_a_loop),
      cmocka_unit_test(correct__the_policy_decides_about_letters),
      cmocka_unit_test(correct__without_a_store_there_is_no_letter),
      cmocka_unit_test(correct__a_letter_that_cannot_be_written_keeps_nobody),
      cmocka_unit_test(correct__a_store_that_is_slow_is_waited_for_two_seconds),
      cmocka_unit_test(correct__a_client_may_leave_while_its_letter_is_written),
      cmocka_unit_test(correct__survives_any_failed_allocation),
      cmocka_unit_test(correct__arguments_that_do_not_fit_have_an_end),
      cmocka_unit_test(correct__large_arguments_are_not_shown),
      cmocka_unit_test(correct__very_large_arguments_are_told_apart_by_their_beginning),
      cmocka_unit_test(correct__the_same_error_with_other_arguments_is_the_same_error),
      cmocka_unit_test(others__are_those_that_take_the_arguments_as_they_are),
      cmocka_unit_test(others__are_looked_for_within_limits),
      cmocka_unit_test(advice__the_same_call_with_the_same_error_is_told_so),
      cmocka_unit_test(advice__never_is_to_repeat_what_may_have_run),
      cmocka_unit_test(advice__hints_are_given_by_pattern),
      cmocka_unit_test(advice__hints_are_bounded),
      cmocka_unit_test(expect__a_result_that_is_not_as_expected_goes_back_with_the_reason),
      cmocka_unit_test(expect__such_a_result_is_no_good_answer_for_later_and_no_failure_of_the_server),
      cmocka_unit_test(expect__what_cannot_be_told_passes),
      cmocka_unit_test(correct__is_counted),
      cmocka_unit_test(correct__only_what_callers_hear_of_counts),
      cmocka_unit_test(correct__the_report_hears_of_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
