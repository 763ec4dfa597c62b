#include "shop.h"

#include "base/alloc.h"
#include "gateway/letter/replay.h"
#include "gateway/letter/replay_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct fake_store store;

/* Somebody who watches a replay. */
struct watcher {
  struct hf_replay *replay;
  char lines[8192]; /* of progress, one behind the other */
  char end[512];    /* "" until it has ended */
};

static void on_progress(void *ctx, struct hf_str json) {
  struct watcher *watcher = ctx;
  size_t len = strlen(watcher->lines);
  snprintf(watcher->lines + len, sizeof watcher->lines - len, "%.*s\n", HF_STR_FMT(json));
}

static void on_done(void *ctx, struct hf_str json) {
  struct watcher *watcher = ctx;
  assert_string_equal(watcher->end, "");
  snprintf(watcher->end, sizeof watcher->end, "%.*s", HF_STR_FMT(json));
}

static const struct hf_replay_ops ops = {on_progress, on_done};

static void begin(struct shop *shop) {
  memset(&store, 0, sizeof store);
  fake_store_init(&store, NULL);
  shop_open(shop, &store);
  shop->pay->letters = HF_LETTER_ALL;
  shop->order->letters = HF_LETTER_ALL;
  shop->look->letters = HF_LETTER_ALL;
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

static struct hf_letter *letter(size_t i) {
  assert_true(store.letters[i].used);
  return &store.letters[i].row;
}

/* Makes a letter of a call that failed: `executed` no (the server was busy) or maybe (its answer was lost). */
static void make_letter(struct shop *shop, const char *tool, int n, bool sent, const char *more) {
  struct fake_reply reply;
  char arguments[32];
  snprintf(arguments, sizeof arguments, "{\"n\":%d}", n);
  char meta[256];
  snprintf(meta, sizeof meta, ",\"dev.holdfast/call\":{\"maxAttempts\":1%s}", more);
  shop_call(shop, &shop->ann, &reply, tool, arguments, meta);
  struct hf_attempt_ref *ref = upstream_last(shop->upstream);
  struct hf_evidence busy = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  busy.http_status = 429;
  if (sent) {
    upstream_handed_over(ref);
    upstream_fail(ref, HF_EVIDENCE_BROKE);
  } else {
    ref->open = false;
    ref->events->done(ref->ctx, &busy, NULL);
  }
  world_run(&shop->world, 0);
  assert_has(reply.answer, "deadLetterId");
  reply_deinit(&reply);
}

static void start(struct shop *shop, struct watcher *watcher, const struct hf_replay_options *options) {
  *watcher = (struct watcher){0};
  assert_int_equal(hf_replay_start(shop->world.gateway, options, &ops, watcher, &watcher->replay), 0);
  assert_string_equal(watcher->lines, "");
  world_run(&shop->world, 0);
}

static void end(struct watcher *watcher) {
  hf_replay_free(watcher->replay);
}

static void replay__calls_again_as_the_letters_principal_and_keeps_the_result(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "pay", 1, false, "");
  start(&shop, &watcher, &(struct hf_replay_options){.by = HF_STR("eve")});
  assert_int_equal(shop_count(&shop), 2);
  assert_int_equal(letter(0)->status, HF_LETTER_REPLAYING);
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  assert_has(ref->text, "\"name\":\"pay\",\"arguments\":{\"n\":1}");
  upstream_answer(ref, SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_int_equal(letter(0)->status, HF_LETTER_REPLAYED);
  assert_has(letter(0)->result.ptr, "\"content\":[{\"type\":\"text\",\"text\":\"paid\"}]");
  assert_has(letter(0)->history.ptr, "\"what\":\"replayed\",\"by\":\"eve\",\"call\":\"c-");
  assert_int_equal(letter(0)->replays, 1);
  assert_has(watcher.lines, "{\"letter\":\"d-1\",\"tool\":\"shop__pay\",\"what\":\"started\",\"call\":\"c-");
  assert_has(watcher.lines, "\"what\":\"replayed\",");
  assert_has(watcher.lines, "\"executed\":\"yes\",\"done\":1,\"total\":1}");
  assert_string_equal(watcher.end, "{\"total\":1,\"replayed\":1,\"ran\":0,\"failed\":0,\"refused\":0,\"left\":0}");
  assert_int_equal(fake_store_letters(&store), 1);
  assert_int_equal(shop.world.gateway->metrics.counters[HF_METRIC_REPLAYS_DONE], 1);
  end(&watcher);
  shop_close(&shop);
}

static void replay__that_fails_makes_the_letter_dead_again_and_no_new_one(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "pay", 1, false, "");
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&shop.world, 0);
  assert_int_equal(fake_store_letters(&store), 1);
  assert_int_equal(letter(0)->status, HF_LETTER_DEAD);
  assert_int_equal(letter(0)->count, 2);
  /* What it may have done now counts from now on. */
  assert_text(letter(0)->executed, "maybe");
  assert_has(watcher.lines, "\"what\":\"failed\",\"why\":\"connection_lost\"");
  assert_has(watcher.end, "\"failed\":1");
  end(&watcher);
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it may have run");
  assert_int_equal(shop_count(&shop), 2);
  assert_int_equal(letter(0)->status, HF_LETTER_DEAD);
  end(&watcher);
  shop_close(&shop);
}

static void replay__refuses_what_may_have_run_until_a_person_says_that_it_has_not(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "pay", 1, true, "");
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it may have run");
  assert_has(watcher.end, "\"refused\":1");
  assert_int_equal(shop_count(&shop), 1);
  end(&watcher);
  start(&shop, &watcher, &(struct hf_replay_options){.executed_no = true});
  assert_int_equal(shop_count(&shop), 2);
  assert_has(letter(0)->history.ptr, "\"executedBefore\":\"maybe\"");
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
  world_run(&shop.world, 0);
  assert_int_equal(letter(0)->status, HF_LETTER_REPLAYED);
  end(&watcher);
  shop_close(&shop);
}

/* What a replay of a letter that may have run does, by what is known of its tool. */
static void replay__repeats_what_may_be_repeated(void **state) {
  static const struct {
    const char *tool;
    const char *executed;
    const char *patch; /* or NULL */
    const char *why;   /* NULL: it stays refused */
  } cases[] = {
      {"pay", "maybe", NULL, NULL},
      {"note", "maybe", NULL, "it may be repeated: idempotent"},
      {"note", "yes", NULL, NULL},
      {"note", "maybe", "{\"n\":2}", NULL}, /* other arguments are another effect */
      {"look", "maybe", NULL, "it may be repeated: read_only"},
      {"look", "yes", NULL, "it may be repeated: read_only"},
      {"look", "maybe", "{\"n\":2}", "it may be repeated: read_only"},
      {"order", "maybe", NULL, "it may be repeated: keyed"},
      {"order", "yes", NULL, NULL},
      {"order", "maybe", "{\"n\":2}", NULL}, /* a patch makes a new key */
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct shop shop;
    struct watcher watcher;
    char line[128];
    begin(&shop);
    shop.note->letters = HF_LETTER_ALL;
    make_letter(&shop, cases[i].tool, 1, true, "");
    letter(0)->executed = hf_str_from(cases[i].executed);
    struct hf_replay_options options = {.dry_run = true};
    if (cases[i].patch)
      options.patch = hf_str_from(cases[i].patch);
    start(&shop, &watcher, &options);
    snprintf(line, sizeof line, "\"what\":\"%s\",\"why\":\"%s", cases[i].why ? "would_replay" : "refused",
             cases[i].why                  ? cases[i].why
             : cases[i].executed[0] == 'y' ? "it has run"
                                           : "it may have run");
    assert_has(watcher.lines, line);
    end(&watcher);
    options.dry_run = false;
    start(&shop, &watcher, &options);
    assert_int_equal(shop_count(&shop), cases[i].why ? 2 : 1);
    if (cases[i].why) {
      snprintf(line, sizeof line, "\"what\":\"started\",\"why\":\"%s\"", cases[i].why);
      assert_has(watcher.lines, line);
      assert_has(letter(0)->history.ptr, cases[i].why);
      upstream_answer(upstream_last(shop.upstream), SHOP_OK("done"));
      world_run(&shop.world, 0);
    }
    assert_int_equal(letter(0)->status, cases[i].why ? HF_LETTER_REPLAYED : HF_LETTER_DEAD);
    end(&watcher);
    shop_close(&shop);
  }
}

/* What a repeat did not do says nothing of the attempt before it. */
static void replay__a_repeat_that_did_not_run_leaves_it_open_whether_it_ran_before(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.note->letters = HF_LETTER_ALL;
  make_letter(&shop, "note", 1, true, "");
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  upstream_error(upstream_last(shop.upstream), HF_RPC_INVALID_PARAMS, "no");
  world_run(&shop.world, 0);
  assert_has(watcher.lines, "\"what\":\"failed\",\"why\":\"rejected\"");
  assert_has(watcher.lines, "\"executed\":\"maybe\",\"done\":1");
  assert_text(letter(0)->executed, "maybe");
  end(&watcher);
  shop_close(&shop);
}

/* Its server forgets the key an hour after it was first sent, not after the letter was written. */
static void replay__repeats_under_a_key_no_longer_than_the_server_knows_it(void **state) {
  (void)state;
  static const struct {
    hf_time later;
    bool repeated;
  } cases[] = {{SHOP_KEY_TTL - HF_SECONDS(31), true}, {SHOP_KEY_TTL - HF_SECONDS(29), false}};
  for (size_t i = 0; i < 2; i++) {
    struct shop shop;
    struct watcher watcher;
    struct fake_reply reply;
    begin(&shop);
    shop_call(&shop, &shop.ann, &reply, "order", "{\"n\":1}", ",\"dev.holdfast/call\":{\"maxAttempts\":1}");
    upstream_handed_over(upstream_last(shop.upstream));
    world_run(&shop.world, HF_SECONDS(30));
    upstream_fail(upstream_last(shop.upstream), HF_EVIDENCE_BROKE);
    world_run(&shop.world, 0);
    assert_has(reply.answer, "deadLetterId");
    reply_deinit(&reply);
    world_run(&shop.world, cases[i].later);
    start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
    assert_int_equal(shop_count(&shop), cases[i].repeated ? 2 : 1);
    assert_has(watcher.lines, cases[i].repeated ? "it may be repeated: keyed" : "it may have run");
    if (cases[i].repeated) { /* what is left of its time is the deadline, too */
      upstream_handed_over(upstream_last(shop.upstream));
      world_run(&shop.world, HF_SECONDS(2));
      assert_has(watcher.lines, "\"what\":\"failed\",\"why\":\"deadline\"");
    }
    end(&watcher);
    shop_close(&shop);
  }
}

static void replay__trusts_no_key_of_the_future(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "order", 1, true, "");
  letter(0)->first_ms = shop.world.loop.wall_ms + 1; /* of another clock */
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it may have run");
  assert_int_equal(shop_count(&shop), 1);
  end(&watcher);
  shop_close(&shop);
}

/* So that what becomes of it when the gateway dies says how old the key is. */
static void replay__an_intent_is_as_old_as_its_key(void **state) {
  (void)state;
  struct shop shop;
  struct fake_reply first, second;
  begin(&shop);
  const int64_t began_ms = shop.world.loop.wall_ms;
  const char *key = ",\"dev.holdfast/call\":{\"maxAttempts\":1,\"idempotencyKey\":\"k-1\"}";
  shop_call(&shop, &shop.ann, &first, "order", "{\"n\":1}", key);
  upstream_error(upstream_last(shop.upstream), HF_RPC_INVALID_PARAMS, "not now");
  world_run(&shop.world, HF_SECONDS(600));
  shop_call(&shop, &shop.ann, &second, "order", "{\"n\":1}", key);
  assert_int_equal(fake_store_open_intents(&store), 1);
  assert_int_equal(fake_store_owner_died(&store), 1);
  assert_int_equal(letter(0)->first_ms, began_ms);
  reply_deinit(&first);
  reply_deinit(&second);
  shop_close(&shop);
}

/* While it waits for the store the server forgets the key. */
static void replay__sends_nothing_when_the_key_expires_before_it_is_sent(void **state) {
  (void)state;
  for (int late = 0; late < 2; late++) {
    struct shop shop;
    struct watcher watcher = {0};
    begin(&shop);
    make_letter(&shop, "order", 1, true, ",\"idempotencyKey\":\"k-1\"");
    world_run(&shop.world, SHOP_KEY_TTL - HF_MS(1500));
    store.slow = true;
    const struct hf_replay_options options = {.concurrency = 1};
    assert_int_equal(hf_replay_start(shop.world.gateway, &options, &ops, &watcher, &watcher.replay), 0);
    for (int answers = 0; answers < 4; answers++) { /* the ids, the letter, the mark, the letter once more */
      if (late == 0 && answers == 2)
        world_run(&shop.world, HF_SECONDS(2));
      assert_true(fake_store_answer_one(&store));
      world_run(&shop.world, 0);
    }
    if (late == 1)
      world_run(&shop.world, HF_MS(1600)); /* its intent, that is */
    store.slow = false;
    fake_store_answer(&store);
    world_run(&shop.world, HF_SECONDS(5));
    assert_int_equal(shop_count(&shop), 1);
    assert_has(watcher.lines, late ? "\"what\":\"failed\",\"why\":\"deadline\"" : "\"what\":\"refused\"");
    assert_text(letter(0)->executed, "maybe");
    assert_int_equal(letter(0)->status, HF_LETTER_DEAD);
    end(&watcher);
    shop_close(&shop);
  }
}

static void replay__believes_annotations_where_nothing_is_configured(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "look", 1, true, "");
  shop.look->has_safety = false;
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it may have run");
  end(&watcher);
  struct hf_listing *tools = &hf_gateway_server(shop.world.gateway, HF_STR("shop"))->shared->lists[HF_LIST_TOOLS];
  for (size_t i = 0; i < tools->items.count; i++)
    tools->items.item[i].annotated = HF_SAFETY_IDEMPOTENT;
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  assert_has(watcher.lines, "\"what\":\"started\",\"why\":\"it may be repeated: idempotent\"");
  end(&watcher);
  shop_close(&shop);
}

/* Which of its providers is asked is not known before. */
static void replay__repeats_a_routes_letter_if_all_its_tools_only_read(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "look", 1, true, "");
  struct hf_route_provider providers[2] = {{.tool = {HF_STR("shop"), HF_STR("look")}},
                                           {.tool = {HF_STR("shop"), HF_STR("note")}}};
  struct hf_route_settings route = {.name = HF_STR("find"), .providers = providers, .provider_count = 2};
  shop.world.settings->routes = &route;
  shop.world.settings->route_count = 1;
  letter(0)->route = HF_STR("find");
  const struct hf_replay_options dry = {.dry_run = true};
  start(&shop, &watcher, &dry);
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it may have run");
  end(&watcher);
  shop.note->safety = HF_SAFETY_READ_ONLY;
  start(&shop, &watcher, &dry);
  assert_has(watcher.lines, "\"what\":\"would_replay\",\"why\":\"it may be repeated: read_only\"");
  end(&watcher);
  shop.note->has_safety = false; /* a server's own word is not enough */
  start(&shop, &watcher, &dry);
  assert_has(watcher.lines, "\"what\":\"refused\"");
  end(&watcher);
  shop.world.settings->route_count = 0;
  shop_close(&shop);
}

/* Somebody says that it had not run, and the attempt did not either: then nothing is open any more. */
static void replay__takes_a_persons_word_and_goes_on_from_there(void **state) {
  (void)state;
  static const struct {
    bool sent;
    const char *executed;
  } cases[] = {{false, "no"}, {true, "maybe"}};
  for (size_t i = 0; i < 2; i++) {
    struct shop shop;
    struct watcher watcher;
    struct hf_evidence busy = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
    busy.http_status = 429;
    begin(&shop);
    make_letter(&shop, "pay", 1, true, "");
    start(&shop, &watcher, &(struct hf_replay_options){.executed_no = true});
    if (cases[i].sent) {
      upstream_handed_over(upstream_last(shop.upstream));
      upstream_fail(upstream_last(shop.upstream), HF_EVIDENCE_BROKE);
      world_run(&shop.world, 0);
    }
    while (!watcher.end[0]) { /* as often as the policy says */
      struct hf_attempt_ref *ref = upstream_last(shop.upstream);
      if (ref) {
        ref->open = false;
        ref->events->done(ref->ctx, &busy, NULL);
      }
      world_run(&shop.world, HF_SECONDS(1));
    }
    assert_int_equal(letter(0)->count, 2); /* the chain wrote it down, as it does with any call */
    assert_has(watcher.end, "\"failed\":1");
    assert_int_equal(letter(0)->status, HF_LETTER_DEAD);
    assert_text(letter(0)->executed, cases[i].executed);
    end(&watcher);
    shop_close(&shop);
  }
}

/* The word was not meant for what happened between the look at the letter and the mark. */
static void replay__a_persons_word_that_is_not_used_changes_nothing(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher = {0};
  begin(&shop);
  make_letter(&shop, "pay", 1, true, "");
  store.slow = true;
  const struct hf_replay_options options = {.executed_no = true};
  assert_int_equal(hf_replay_start(shop.world.gateway, &options, &ops, &watcher, &watcher.replay), 0);
  for (int answers = 0; answers < 2; answers++) {
    assert_true(fake_store_answer_one(&store));
    world_run(&shop.world, 0);
  }
  letter(0)->count++;
  store.slow = false;
  fake_store_answer(&store);
  world_run(&shop.world, 0);
  assert_int_equal(shop_count(&shop), 1);
  assert_has(watcher.lines, "\"what\":\"refused\"");
  assert_text(letter(0)->executed, "maybe");
  end(&watcher);
  shop_close(&shop);
}

static const struct hf_attempt_ref *call_sent(const struct shop *shop, size_t index) {
  for (size_t i = 0; i < shop->upstream->sent_count; i++)
    if (shop->upstream->sent[i]->method == HF_METHOD_TOOLS_CALL && index-- == 0)
      return shop->upstream->sent[i];
  fail();
  return NULL;
}

static void let_check(struct shop *shop, const char *ran, const char *not_run) {
  struct hf_reconcile_settings *reconcile = &shop->pay->reconcile;
  *reconcile = (struct hf_reconcile_settings){
      .tool = {HF_STR("shop"), HF_STR("look")},
      .arguments = HF_STR("{\"what\":\"{{n}}\"}"),
      .executed = {.pointer = HF_STR("/structuredContent/state"), .op = HF_OPERATOR_EQUALS, .value = hf_str_from(ran)},
      .not_executed = {.pointer = HF_STR("/structuredContent/state"),
                       .op = HF_OPERATOR_EQUALS,
                       .value = hf_str_from(not_run)},
      .timeout = HF_SECONDS(5),
      .settle = HF_SECONDS(60),
  };
}

#define CHECK_SAYS(state) "{\"content\":[],\"structuredContent\":{\"state\":\"" state "\"}}"

/* The key of a patch that was not sent protects from nothing. */
static void replay__a_patch_that_was_not_sent_leaves_the_letter_as_it_was(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  char key[64], patched[64];
  begin(&shop);
  make_letter(&shop, "order", 1, true, "");
  shop_key_sent(call_sent(&shop, 0), key);
  let_check(&shop, "\"paid\"", "\"none\"");
  shop.order->reconcile = shop.pay->reconcile;
  const struct hf_replay_options options = {.reconcile = true, .patch = HF_STR("{\"n\":2}")};
  start(&shop, &watcher, &options);
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it can still begin to run");
  assert_text(letter(0)->key, key);
  assert_text(letter(0)->arguments, "{\"n\":1}");
  end(&watcher);
  world_run(&shop.world, HF_SECONDS(100));
  start(&shop, &watcher, &options);
  upstream_answer(upstream_last(shop.upstream), CHECK_SAYS("none"));
  world_run(&shop.world, 0);
  shop_key_sent(upstream_last(shop.upstream), patched);
  assert_true(strncmp(patched, "d-1-", 4) == 0);
  assert_text(letter(0)->key, patched);
  assert_text(letter(0)->executed, "no"); /* so says the check, and this attempt has not ended */
  end(&watcher);
  shop_close(&shop);
}

static void replay__asks_the_status_check_and_does_what_it_proves(void **state) {
  static const struct {
    const char *answer;
    size_t calls; /* the check among them */
    enum hf_letter_status status;
    const char *told;
  } cases[] = {
      {CHECK_SAYS("none"), 3, HF_LETTER_REPLAYED, "\"what\":\"replayed\""},
      {CHECK_SAYS("paid"), 2, HF_LETTER_REPLAYED, "\"what\":\"ran\",\"why\":\"the status check says that it has run\""},
      {CHECK_SAYS("?"), 2, HF_LETTER_DEAD, "\"what\":\"refused\",\"why\":\"the status check cannot say"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct shop shop;
    struct watcher watcher;
    begin(&shop);
    make_letter(&shop, "pay", 3, true, "");
    let_check(&shop, "\"paid\"", "\"none\"");
    world_run(&shop.world, HF_SECONDS(100));
    start(&shop, &watcher, &(struct hf_replay_options){.reconcile = true});
    assert_int_equal(shop_count(&shop), 2);
    struct hf_attempt_ref *check = upstream_last(shop.upstream);
    assert_has(check->text, "\"name\":\"look\",\"arguments\":{\"what\":3}");
    upstream_answer(check, cases[i].answer);
    world_run(&shop.world, 0);
    assert_int_equal(shop_count(&shop), cases[i].calls);
    if (cases[i].calls == 3)
      upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
    world_run(&shop.world, 0);
    assert_int_equal(letter(0)->status, cases[i].status);
    assert_has(watcher.lines, cases[i].told);
    assert_true(watcher.end[0] != '\0');
    end(&watcher);
    shop_close(&shop);
  }
}

static void replay__believes_no_check_before_the_time_to_settle_has_passed(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "pay", 3, true, "");
  let_check(&shop, "\"paid\"", "\"none\"");
  world_run(&shop.world, HF_SECONDS(59));
  start(&shop, &watcher, &(struct hf_replay_options){.reconcile = true});
  assert_int_equal(shop_count(&shop), 1);
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it can still begin to run");
  end(&watcher);
  shop.pay->reconcile.settle = HF_TIME_NEVER;
  world_run(&shop.world, HF_SECONDS(86400));
  start(&shop, &watcher, &(struct hf_replay_options){.reconcile = true});
  assert_int_equal(shop_count(&shop), 1);
  end(&watcher);
  shop.pay->reconcile = (struct hf_reconcile_settings){0};
  start(&shop, &watcher, &(struct hf_replay_options){.reconcile = true});
  assert_has(watcher.lines, "its tool has no status check");
  end(&watcher);
  shop_close(&shop);
}

static void replay__trusts_a_key_no_longer_than_the_server_does(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.order->key.ttl = HF_SECONDS(100);
  make_letter(&shop, "order", 1, false, "");
  world_run(&shop.world, HF_SECONDS(99));
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  assert_int_equal(shop_count(&shop), 2);
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  upstream_handed_over(ref);
  world_run(&shop.world, HF_SECONDS(2));
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&shop.world, HF_SECONDS(10));
  assert_int_equal(shop_count(&shop), 2); /* its key is older than the replay */
  end(&watcher);
  shop_close(&shop);
}

static void replay__keeps_the_key_and_a_patch_makes_a_new_one(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  char key[64];
  begin(&shop);
  make_letter(&shop, "order", 1, false, ",\"idempotencyKey\":\"k-1\"");
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  shop_key_sent(upstream_last(shop.upstream), key);
  assert_string_equal(key, "k-1");
  upstream_error(upstream_last(shop.upstream), HF_RPC_INVALID_PARAMS, "not now");
  world_run(&shop.world, 0);
  assert_int_equal(letter(0)->status, HF_LETTER_DEAD);
  end(&watcher);
  start(&shop, &watcher, &(struct hf_replay_options){.patch = HF_STR("{\"n\":2,\"m\":3}")});
  struct hf_attempt_ref *ref = upstream_last(shop.upstream);
  shop_key_sent(ref, key);
  assert_true(strncmp(key, "d-1-", 4) == 0);
  assert_has(ref->text, "\"n\":2,\"m\":3");
  assert_text(letter(0)->arguments, "{\"n\":2,\"m\":3}");
  assert_text(letter(0)->key, key);
  assert_has(letter(0)->history.ptr, "\"patch\":{\"n\":2,\"m\":3}");
  upstream_answer(ref, SHOP_OK("done"));
  world_run(&shop.world, 0);
  assert_int_equal(letter(0)->status, HF_LETTER_REPLAYED);
  end(&watcher);
  shop_close(&shop);
}

static void replay__a_dry_run_tells_and_does_nothing(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "pay", 1, false, "");
  make_letter(&shop, "pay", 2, true, "");
  start(&shop, &watcher, &(struct hf_replay_options){.dry_run = true});
  assert_has(watcher.lines, "{\"letter\":\"d-1\",\"tool\":\"shop__pay\",\"what\":\"would_replay\",\"executed\":\"no\"");
  assert_has(watcher.lines,
             "{\"letter\":\"d-2\",\"tool\":\"shop__pay\",\"what\":\"refused\",\"why\":\"it may have run");
  assert_string_equal(watcher.end, "{\"total\":2,\"replayed\":0,\"ran\":0,\"failed\":0,\"refused\":1,\"left\":0}");
  assert_int_equal(shop_count(&shop), 2);
  assert_int_equal(store.changed, 0);
  end(&watcher);
  shop_close(&shop);
}

static void make_many(struct shop *shop, int count) {
  for (int i = 0; i < count; i++)
    make_letter(shop, "note", i, false, "");
}

static void answer_last(struct shop *shop, bool good) {
  struct hf_attempt_ref *ref = upstream_last(shop->upstream);
  assert_non_null(ref);
  if (good)
    upstream_answer(ref, SHOP_OK("noted"));
  else
    upstream_error(ref, HF_RPC_INVALID_PARAMS, "never");
  world_run(&shop->world, 0);
}

/* How many there are; the server has got all of them whole. */
static size_t open_calls(const struct shop *shop) {
  size_t count = 0;
  for (size_t i = 0; i < shop->upstream->sent_count; i++) {
    if (!shop->upstream->sent[i]->open)
      continue;
    upstream_handed_over(shop->upstream->sent[i]);
    count++;
  }
  return count;
}

static void replay__takes_as_many_at_once_as_it_may_the_oldest_first(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.note->letters = HF_LETTER_ALL;
  make_many(&shop, 5);
  size_t before = shop_count(&shop);
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 2});
  assert_int_equal(open_calls(&shop), 2);
  assert_has(call_sent(&shop, before)->text, "{\"n\":0}");
  assert_has(call_sent(&shop, before + 1)->text, "{\"n\":1}");
  while (!watcher.end[0]) {
    assert_true(open_calls(&shop) <= 2);
    answer_last(&shop, true);
  }
  assert_has(watcher.end, "\"replayed\":5");
  end(&watcher);
  shop_close(&shop);
}

static void replay__takes_letters_by_their_ids_in_that_order(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.note->letters = HF_LETTER_ALL;
  make_many(&shop, 5);
  size_t before = shop_count(&shop);
  const struct hf_str ids[] = {HF_STR("d-4"), HF_STR("d-none"), HF_STR("d-1"), HF_STR("d-3"), HF_STR("d-1")};
  struct hf_replay_options options = {.ids = ids, .id_count = 5, .concurrency = 2, .dry_run = true};
  start(&shop, &watcher, &options);
  assert_has(watcher.end, "{\"total\":5,\"replayed\":0,\"ran\":0,\"failed\":0,\"refused\":1,\"left\":0}");
  end(&watcher);
  options.dry_run = false;
  start(&shop, &watcher, &options);
  assert_has(watcher.lines, "{\"letter\":\"d-none\",\"what\":\"refused\",\"why\":\"there is no such letter\"");
  assert_int_equal(open_calls(&shop), 2);
  assert_has(call_sent(&shop, before)->text, "{\"n\":3}");
  assert_has(call_sent(&shop, before + 1)->text, "{\"n\":0}");
  while (!watcher.end[0]) {
    assert_true(open_calls(&shop) <= 2);
    answer_last(&shop, true);
  }
  assert_has(watcher.lines, "{\"letter\":\"d-1\",\"tool\":\"shop__note\",\"what\":\"refused\"");
  assert_has(watcher.end, "{\"total\":5,\"replayed\":3,\"ran\":0,\"failed\":0,\"refused\":2,\"left\":0}");
  assert_int_equal(letter(1)->status, HF_LETTER_DEAD);
  end(&watcher);
  shop_close(&shop);
}

static void replay__keeps_its_pace(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.note->letters = HF_LETTER_ALL;
  make_many(&shop, 3);
  size_t before = shop_count(&shop);
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 10, .interval = HF_SECONDS(1)});
  assert_int_equal(open_calls(&shop), 1);
  world_run(&shop.world, HF_SECONDS(1) - 1);
  assert_int_equal(open_calls(&shop), 1);
  world_run(&shop.world, 1);
  assert_int_equal(open_calls(&shop), 2);
  world_run(&shop.world, HF_SECONDS(1));
  assert_int_equal(open_calls(&shop), 3);
  assert_int_equal(shop_count(&shop) - before, 3);
  while (!watcher.end[0])
    answer_last(&shop, true);
  end(&watcher);
  shop_close(&shop);
}

static void replay__ramps_up(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.note->letters = HF_LETTER_ALL;
  make_many(&shop, 8);
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 5, .ramp_up = HF_SECONDS(10)});
  assert_int_equal(open_calls(&shop), 1);
  for (int i = 0; i < 10; i++) {
    world_run(&shop.world, HF_SECONDS(1) + 2);
    assert_int_equal(open_calls(&shop), 1 + 4 * (i + 1) / 10);
  }
  while (!watcher.end[0])
    answer_last(&shop, true);
  end(&watcher);
  shop_close(&shop);
}

static void replay__stops_when_most_of_the_last_letters_failed(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.note->letters = HF_LETTER_ALL;
  make_many(&shop, 14);
  size_t before = shop_count(&shop);
  start(&shop, &watcher, &(struct hf_replay_options){.stop_percent = 50});
  for (int i = 0; i < 10; i++) {
    assert_string_equal(watcher.end, "");
    answer_last(&shop, i < 4);
  }
  assert_int_equal(shop_count(&shop) - before, 10);
  assert_string_equal(watcher.end, "{\"total\":14,\"replayed\":4,\"ran\":0,\"failed\":6,\"refused\":0,\"left\":4,"
                                   "\"stopped\":\"too many of the last letters failed\"}");
  end(&watcher);
  shop_close(&shop);
}

static void replay__goes_on_when_half_of_them_failed(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.note->letters = HF_LETTER_ALL;
  make_many(&shop, 12);
  start(&shop, &watcher, &(struct hf_replay_options){.stop_percent = 50});
  for (int i = 0; i < 12; i++)
    answer_last(&shop, i % 2 == 0);
  assert_has(watcher.end, "\"replayed\":6,\"ran\":0,\"failed\":6,\"refused\":0,\"left\":0}");
  end(&watcher);
  shop_close(&shop);
}

static void replay__that_is_stopped_ends_what_it_has_begun(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  shop.note->letters = HF_LETTER_ALL;
  make_many(&shop, 3);
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  hf_replay_stop(watcher.replay, "enough");
  world_run(&shop.world, 0);
  assert_string_equal(watcher.end, "");
  answer_last(&shop, true);
  assert_has(watcher.end, "\"replayed\":1,\"ran\":0,\"failed\":0,\"refused\":0,\"left\":2,\"stopped\":\"enough\"}");
  assert_int_equal(letter(0)->status, HF_LETTER_REPLAYED);
  assert_int_equal(letter(1)->status, HF_LETTER_DEAD);
  end(&watcher);
  shop_close(&shop);
}

static void replay__freed_in_the_middle_leaves_nothing_behind(void **state) {
  (void)state;
  for (int stage = 0; stage < 7; stage++) {
    struct shop shop;
    struct watcher watcher = {0};
    begin(&shop);
    make_letter(&shop, "pay", 1, true, "");
    let_check(&shop, "\"paid\"", "\"none\"");
    world_run(&shop.world, HF_SECONDS(100));
    store.slow = true;
    assert_int_equal(hf_replay_start(shop.world.gateway, &(struct hf_replay_options){.reconcile = true}, &ops, &watcher,
                                     &watcher.replay),
                     0);
    for (int i = 0; i < stage; i++) {
      (void)fake_store_answer_one(&store);
      world_run(&shop.world, 0);
    }
    hf_replay_free(watcher.replay);
    store.slow = false;
    fake_store_answer(&store);
    world_run(&shop.world, HF_SECONDS(100));
    assert_string_equal(watcher.end, "");
    shop_close(&shop);
  }
}

/* Two at once, in one gateway or in two: one of them wins. */
static void replay__of_one_letter_by_two_happens_once(void **state) {
  (void)state;
  struct shop shop;
  struct watcher first, second = {0};
  begin(&shop);
  make_letter(&shop, "pay", 1, false, "");
  first = (struct watcher){0};
  store.slow = true;
  const struct hf_replay_options options = {.concurrency = 1};
  assert_int_equal(hf_replay_start(shop.world.gateway, &options, &ops, &first, &first.replay), 0);
  assert_int_equal(hf_replay_start(shop.world.gateway, &options, &ops, &second, &second.replay), 0);
  world_run(&shop.world, 0);
  store.slow = false;
  fake_store_answer(&store);
  world_run(&shop.world, 0);
  assert_int_equal(shop_count(&shop), 2);
  assert_has(second.lines, "\"what\":\"refused\",\"why\":\"it is being replayed already\"");
  answer_last(&shop, true);
  assert_int_equal(letter(0)->status, HF_LETTER_REPLAYED);
  end(&first);
  end(&second);
  start(&shop, &first, &(struct hf_replay_options){.filter = {.id = HF_STR("d-1")}});
  assert_has(first.lines, "\"what\":\"refused\",\"why\":\"it was replayed before; requeue it first");
  assert_int_equal(shop_count(&shop), 2);
  end(&first);
  shop_close(&shop);
}

/* While the store has not written all of one replay, another one of the same gateway may see the letter dead. */
static void replay__leaves_a_letter_to_who_has_it_in_this_gateway(void **state) {
  (void)state;
  struct shop shop;
  struct watcher first, second;
  begin(&shop);
  make_letter(&shop, "pay", 1, false, "");
  start(&shop, &first, &(struct hf_replay_options){.concurrency = 1});
  letter(0)->status = HF_LETTER_DEAD;
  start(&shop, &second, &(struct hf_replay_options){.concurrency = 1});
  assert_has(second.lines, "\"what\":\"refused\",\"why\":\"it is being replayed already\"");
  assert_int_equal(shop_count(&shop), 2);
  end(&first);
  end(&second);
  shop_close(&shop);
}

static void replay__that_cannot_mark_the_letter_sends_nothing(void **state) {
  (void)state;
  static const struct {
    int error;
    const char *why;
  } cases[] = {
      {HF_ERR_BUSY, "somebody else replays it"},
      {HF_ERR_INVALID, "it is not dead any more"},
      {HF_ERR_FULL, "no space left"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct shop shop;
    struct watcher watcher;
    char line[128];
    begin(&shop);
    make_letter(&shop, "pay", 1, false, "");
    store.error = cases[i].error;
    start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
    snprintf(line, sizeof line, "\"what\":\"refused\",\"why\":\"%s\"", cases[i].why);
    assert_has(watcher.lines, line);
    assert_int_equal(shop_count(&shop), 1);
    end(&watcher);
    shop_close(&shop);
  }
}

/* Between the look at a letter and the mark another one replayed it, and it may have run. */
static void replay__looks_again_once_the_letter_is_its_own(void **state) {
  (void)state;
  static const char *const changes[] = {"executed", "count", "replays"};
  for (size_t i = 0; i < 3; i++) {
    struct shop shop;
    struct watcher watcher = {0};
    begin(&shop);
    make_letter(&shop, "pay", 1, false, "");
    store.slow = true;
    const struct hf_replay_options options = {.concurrency = 1};
    assert_int_equal(hf_replay_start(shop.world.gateway, &options, &ops, &watcher, &watcher.replay), 0);
    for (int answers = 0; answers < 2; answers++) { /* the ids, the letter */
      assert_true(fake_store_answer_one(&store));
      world_run(&shop.world, 0);
    }
    if (i == 0)
      letter(0)->executed = HF_STR("maybe");
    else if (i == 1)
      letter(0)->count++;
    else
      letter(0)->replays++;
    store.slow = false;
    fake_store_answer(&store);
    world_run(&shop.world, 0);
    if (shop_count(&shop) != 1)
      fail_msg("it did not see the change of %s", changes[i]);
    assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it was replayed, or an equal call has failed");
    assert_int_equal(letter(0)->status, HF_LETTER_DEAD);
    end(&watcher);
    shop_close(&shop);
  }
}

static void replay__refuses_contradictions(void **state) {
  (void)state;
  static struct hf_str ids[HF_REPLAY_IDS_MAX + 1];
  static const struct hf_str long_id = HF_STR("d-345678901234567890123456789012"), no_id = HF_STR("");
  for (size_t i = 0; i <= HF_REPLAY_IDS_MAX; i++)
    ids[i] = HF_STR("d-1");
  static const struct hf_replay_options wrong[] = {
      {.reconcile = true, .executed_no = true},
      {.concurrency = HF_REPLAY_CONCURRENCY_MAX + 1},
      {.patch = {"[1]", 3}},
      {.patch = {"{", 1}},
      {.interval = -1},
      {.ramp_up = HF_SECONDS(86401)},
      {.ids = ids, .id_count = HF_REPLAY_IDS_MAX + 1},
      {.ids = ids, .id_count = 1, .filter = {.tool = HF_STR("x")}},
      {.ids = &long_id, .id_count = 1},
      {.ids = &no_id, .id_count = 1},
  };
  struct shop shop;
  struct hf_replay *replay;
  begin(&shop);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal(hf_replay_start(shop.world.gateway, &wrong[i], &ops, NULL, &replay), HF_ERR_INVALID);
  const struct hf_replay_options most = {.ids = ids, .id_count = HF_REPLAY_IDS_MAX};
  assert_int_equal(hf_replay_start(shop.world.gateway, &most, &ops, NULL, &replay), 0);
  hf_replay_free(replay);
  shop_close(&shop);
  shop_open(&shop, NULL);
  assert_int_equal(hf_replay_start(shop.world.gateway, &(struct hf_replay_options){0}, &ops, NULL, &replay),
                   HF_ERR_UNSUPPORTED);
  shop_close(&shop);
}

static void replay__refuses_arguments_that_were_not_kept(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "pay", 1, false, "");
  letter(0)->redacted = true;
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"its arguments were not kept whole");
  assert_int_equal(shop_count(&shop), 1);
  end(&watcher);
  shop_close(&shop);
}

static void replay__of_arguments_that_did_not_fit_needs_a_patch(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  begin(&shop);
  make_letter(&shop, "pay", 1, false, "");
  letter(0)->reason = HF_STR("schema");
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  assert_has(watcher.lines, "\"what\":\"refused\",\"why\":\"it was never sent, because its arguments don't fit");
  assert_int_equal(shop_count(&shop), 1);
  assert_int_equal(letter(0)->status, HF_LETTER_DEAD);
  end(&watcher);
  start(&shop, &watcher, &(struct hf_replay_options){.patch = HF_STR("{\"n\":2}")});
  assert_has(upstream_last(shop.upstream)->text, "\"arguments\":{\"n\":2}");
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("done"));
  world_run(&shop.world, 0);
  assert_int_equal(letter(0)->status, HF_LETTER_REPLAYED);
  end(&watcher);
  shop_close(&shop);
}

/* A stored answer is not what the letter's caller had wanted. */
static void replay__asks_the_server_whatever_is_in_the_cache(void **state) {
  (void)state;
  struct shop shop;
  struct watcher watcher;
  struct fake_reply reply;
  begin(&shop);
  hf_cache_limit(&shop.world.gateway->cache, 1 << 20);
  shop.look->cache.ttl = shop.look->cache.max_stale = HF_SECONDS(3600);
  make_letter(&shop, "look", 1, false, "");
  shop_call(&shop, &shop.ann, &reply, "look", "{\"n\":1}", "");
  upstream_answer(upstream_last(shop.upstream), SHOP_OK("old"));
  reply_deinit(&reply);
  shop_call(&shop, &shop.ann, &reply, "look", "{\"n\":1}", "");
  assert_has(reply.answer, "\"source\":\"cache\"");
  reply_deinit(&reply);
  start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
  upstream_error(upstream_last(shop.upstream), HF_RPC_INVALID_PARAMS, "no");
  world_run(&shop.world, 0);
  assert_int_equal(letter(0)->status, HF_LETTER_DEAD);
  assert_has(watcher.lines, "\"what\":\"failed\",\"why\":\"rejected\"");
  end(&watcher);
  shop_close(&shop);
}

static void replay__takes_only_a_live_and_whole_answer_for_a_result(void **state) {
#define RESULT(members, marker) "\"result\":{" members "\"_meta\":{\"dev.holdfast/outcome\":{" marker "}}}"
  static const struct {
    const char *answer;
    bool good;
    const char *executed;
    const char *reason;
  } cases[] = {
      {RESULT("", "\"source\":\"live\""), true, "yes", ""},
      {RESULT("\"resultType\":\"complete\",", "\"source\":\"live\""), true, "yes", ""},
      {RESULT("", "\"source\":\"cache\""), false, "maybe", ""},
      {RESULT("", "\"source\":\"degraded\",\"reason\":\"timed_out\",\"executed\":\"no\""), false, "no", "timed_out"},
      {RESULT("", "\"source\":\"live\",\"reason\":\"timed_out\",\"executed\":\"yes\""), false, "yes", "timed_out"},
      {RESULT("\"isError\":true,", "\"source\":\"live\",\"reason\":\"tool_error\",\"executed\":\"yes\""), false, "yes",
       "tool_error"},
      {RESULT("\"isError\":true,", "\"source\":\"live\""), false, "maybe", ""},
      {RESULT("\"resultType\":\"input_required\",", "\"source\":\"live\""), false, "maybe",
       "the tool asks for something, and nobody is there to be asked"},
      {"\"result\":{}", false, "maybe", ""},
      {"\"error\":{\"code\":-32602,\"message\":\"x\"}", false, "maybe", ""},
      {"\"error\":{\"code\":-32602,\"message\":\"x\",\"data\":{\"dev.holdfast/outcome\":{\"source\":\"live\","
       "\"reason\":\"rejected\",\"executed\":\"no\"}}}",
       false, "no", "rejected"},
      {RESULT("\"isError\":true,", "\"source\":\"live\",\"reason\":\"x\",\"executed\":\"never\""), false, "maybe", "x"},
      {RESULT(
           "\"isError\":true,",
           "\"source\":\"live\",\"reason\":\"x\",\"executed\":\"maybe\",\"deadLetterId\":\"d-1\",\"joined\":\"c-1\""),
       false, "maybe", "x"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[512];
    struct hf_message message;
    struct hf_refusal refusal;
    struct hf_arena arena;
    struct hf_replay_verdict verdict;
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,%s}", cases[i].answer);
    assert_int_equal(hf_message_decode_copy(hf_str_from(text), &message, &refusal), 0);
    hf_arena_init(&arena, 1 << 16);
    hf_replay_judge(&message, HF_STR("d-1"), &arena, &verdict);
    if (verdict.good != cases[i].good)
      fail_msg("%s", text);
    assert_string_equal(verdict.executed, cases[i].executed);
    assert_text(verdict.reason, cases[i].reason);
    assert_false(verdict.buried);
    hf_arena_deinit(&arena);
    hf_message_deinit(&message);
  }
}

static void replay__keeps_no_result_that_is_too_large(void **state) {
  (void)state;
  for (int over = 0; over < 2; over++) {
    struct shop shop;
    struct watcher watcher;
    begin(&shop);
    make_letter(&shop, "pay", 1, false, "");
    start(&shop, &watcher, &(struct hf_replay_options){.concurrency = 1});
    size_t len = over ? 1 << 20 : 20000;
    char *result = calloc(1, len + 64);
    int n = snprintf(result, len, "{\"content\":[],\"x\":\"");
    memset(result + n, 'x', len);
    memcpy(result + n + len, "\"}", 3);
    upstream_answer(upstream_last(shop.upstream), result);
    free(result);
    world_run(&shop.world, 0);
    assert_int_equal(letter(0)->status, HF_LETTER_REPLAYED);
    if (over)
      assert_text(letter(0)->result, "{\"notKept\":\"the result is too large to be kept\"}");
    else
      assert_true(letter(0)->result.len > len);
    end(&watcher);
    shop_close(&shop);
  }
}

static void replay__survives_any_failed_allocation(void **state) {
  (void)state;
  for (long n = 0; n < 120; n++) {
    struct shop shop;
    struct watcher watcher = {0};
    begin(&shop);
    make_letter(&shop, "pay", 1, false, "");
    hf_alloc_fail_after(n);
    const struct hf_replay_options options = {.concurrency = 1};
    int r = hf_replay_start(shop.world.gateway, &options, &ops, &watcher, &watcher.replay);
    unsigned paid = 0;
    for (int i = 0; i < 10; i++) {
      world_run(&shop.world, HF_SECONDS(1));
      if (!upstream_last(shop.upstream))
        continue;
      upstream_answer(upstream_last(shop.upstream), SHOP_OK("paid"));
      paid++;
    }
    world_run(&shop.world, HF_SECONDS(100));
    hf_alloc_fail_after(-1);
    assert_true(paid <= 1);
    assert_int_equal(fake_store_letters(&store), 1);
    assert_true(letter(0)->status != HF_LETTER_REPLAYING);
    if (paid && letter(0)->status == HF_LETTER_DEAD)
      assert_false(hf_str_equal(letter(0)->executed, HF_STR("no")));
    if (r == 0)
      end(&watcher);
    shop_close(&shop);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(replay__calls_again_as_the_letters_principal_and_keeps_the_result),
      cmocka_unit_test(replay__that_fails_makes_the_letter_dead_again_and_no_new_one),
      cmocka_unit_test(replay__refuses_what_may_have_run_until_a_person_says_that_it_has_not),
      cmocka_unit_test(replay__repeats_what_may_be_repeated),
      cmocka_unit_test(replay__a_repeat_that_did_not_run_leaves_it_open_whether_it_ran_before),
      cmocka_unit_test(replay__repeats_under_a_key_no_longer_than_the_server_knows_it),
      cmocka_unit_test(replay__trusts_no_key_of_the_future),
      cmocka_unit_test(replay__an_intent_is_as_old_as_its_key),
      cmocka_unit_test(replay__sends_nothing_when_the_key_expires_before_it_is_sent),
      cmocka_unit_test(replay__believes_annotations_where_nothing_is_configured),
      cmocka_unit_test(replay__repeats_a_routes_letter_if_all_its_tools_only_read),
      cmocka_unit_test(replay__takes_a_persons_word_and_goes_on_from_there),
      cmocka_unit_test(replay__a_persons_word_that_is_not_used_changes_nothing),
      cmocka_unit_test(replay__a_patch_that_was_not_sent_leaves_the_letter_as_it_was),
      cmocka_unit_test(replay__asks_the_status_check_and_does_what_it_proves),
      cmocka_unit_test(replay__believes_no_check_before_the_time_to_settle_has_passed),
      cmocka_unit_test(replay__keeps_the_key_and_a_patch_makes_a_new_one),
      cmocka_unit_test(replay__trusts_a_key_no_longer_than_the_server_does),
      cmocka_unit_test(replay__a_dry_run_tells_and_does_nothing),
      cmocka_unit_test(replay__takes_as_many_at_once_as_it_may_the_oldest_first),
      cmocka_unit_test(replay__takes_letters_by_their_ids_in_that_order),
      cmocka_unit_test(replay__keeps_its_pace),
      cmocka_unit_test(replay__ramps_up),
      cmocka_unit_test(replay__stops_when_most_of_the_last_letters_failed),
      cmocka_unit_test(replay__goes_on_when_half_of_them_failed),
      cmocka_unit_test(replay__that_is_stopped_ends_what_it_has_begun),
      cmocka_unit_test(replay__freed_in_the_middle_leaves_nothing_behind),
      cmocka_unit_test(replay__of_one_letter_by_two_happens_once),
      cmocka_unit_test(replay__leaves_a_letter_to_who_has_it_in_this_gateway),
      cmocka_unit_test(replay__that_cannot_mark_the_letter_sends_nothing),
      cmocka_unit_test(replay__looks_again_once_the_letter_is_its_own),
      cmocka_unit_test(replay__refuses_contradictions),
      cmocka_unit_test(replay__refuses_arguments_that_were_not_kept),
      cmocka_unit_test(replay__of_arguments_that_did_not_fit_needs_a_patch),
      cmocka_unit_test(replay__asks_the_server_whatever_is_in_the_cache),
      cmocka_unit_test(replay__takes_only_a_live_and_whole_answer_for_a_result),
      cmocka_unit_test(replay__keeps_no_result_that_is_too_large),
      cmocka_unit_test(replay__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
