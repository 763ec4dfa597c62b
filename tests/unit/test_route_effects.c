/* Tools with effects behind a route over two servers: what one of them may have done is not done by the other. */
#include "fake_store.h"
#include "gateway_world.h"

#include "gateway/letter/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HELLO                                                                                                          \
  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"ttlMs\":0,"   \
  "\"cacheScope\":\"private\"}"
#define TOOLS                                                                                                          \
  "{\"tools\":[{\"name\":\"pay\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"order\",\"inputSchema\":{"         \
  "\"type\":\"object\"}},{\"name\":\"paid\",\"inputSchema\":{\"type\":\"object\"}}]}"
#define OK "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"

enum { SERVERS = 2, TOOLS_OF_EACH = 2 };

static const struct fake_server servers[SERVERS] = {
    {.name = "east", .hello = HELLO, .tools = TOOLS, .era = HF_ERA_MODERN},
    {.name = "west", .hello = HELLO, .tools = TOOLS, .era = HF_ERA_MODERN},
};
static const char *const patterns[SERVERS][TOOLS_OF_EACH] = {{"east__pay", "east__order"},
                                                             {"west__pay", "west__order"}};

static struct fake_store store;

struct shops {
  struct world world;
  struct fake_client ann;
  struct hf_route_settings routes[TOOLS_OF_EACH];
  struct hf_route_provider providers[TOOLS_OF_EACH][SERVERS];
  struct hf_tool_settings tools[SERVERS][TOOLS_OF_EACH];
  struct hf_settings *settings;
};

static void describe_tool(struct shops *s, size_t server, size_t i) {
  struct hf_tool_settings *tool = &s->tools[server][i];
  *tool = s->settings->tool_defaults;
  tool->server = hf_str_from(servers[server].name);
  tool->pattern = hf_str_from(patterns[server][i]);
  tool->has_safety = true;
  tool->safety = i ? HF_SAFETY_KEYED : HF_SAFETY_UNSAFE;
  tool->coalesce = HF_SECONDS(30);
  if (i)
    tool->key = (struct hf_key_settings){HF_KEY_ARGUMENT, HF_STR("token"), HF_SECONDS(3600)};
  tool->reconcile = (struct hf_reconcile_settings){
      .tool = {tool->server, HF_STR("paid")},
      .executed = {HF_STR("/structuredContent/ran"), HF_OPERATOR_EQUALS, HF_STR("true")},
      .not_executed = {HF_STR("/structuredContent/ran"), HF_OPERATOR_EQUALS, HF_STR("false")},
      .timeout = HF_SECONDS(2),
  };
}

static void describe(struct shops *s, struct hf_settings *settings) {
  s->settings = settings;
  for (size_t i = 0; i < TOOLS_OF_EACH; i++) {
    s->routes[i] = (struct hf_route_settings){.name = i ? HF_STR("order") : HF_STR("pay"),
                                              .policy = settings->servers[0].policy,
                                              .providers = s->providers[i],
                                              .provider_count = SERVERS};
    for (size_t server = 0; server < SERVERS; server++) {
      describe_tool(s, server, i);
      s->providers[i][server] = (struct hf_route_provider){
          .tool = {hf_str_from(servers[server].name), i ? HF_STR("order") : HF_STR("pay")}, .weight = 1};
    }
    s->routes[i].tool = s->tools[0][i];
    s->routes[i].tool.letters = HF_LETTER_ALL;
    s->routes[i].policy.retry.attempts = 1;
  }
  settings->tools = s->tools[0];
  settings->tool_count = SERVERS * TOOLS_OF_EACH;
  settings->routes = s->routes;
  settings->route_count = TOOLS_OF_EACH;
}

/* `own`: the server that each client has for itself, or SERVERS. */
static void open_shops(struct shops *s, struct fake_store *kept, size_t own) {
  memset(s, 0, sizeof *s);
  world_init(&s->world, servers, SERVERS);
  if (kept) {
    fake_store_reopen(kept, &s->world.loop);
    hf_gateway_use_store(s->world.gateway, &kept->head);
  }
  struct hf_settings *settings = world_settings(servers, SERVERS);
  if (own < SERVERS)
    settings->servers[own].instance = HF_INSTANCE_SESSION;
  describe(s, settings);
  assert_int_equal(hf_gateway_reload(s->world.gateway, settings, NULL), 0);
  s->world.settings = settings;
  hf_gateway_start(s->world.gateway);
  client_open_as(&s->world, &s->ann, "ann", HF_ERA_MODERN);
}

static void close_shops(struct shops *s) {
  client_close(&s->ann);
  world_deinit(&s->world);
}

static void call(struct shops *s, struct fake_reply *reply, const char *tool) {
  char text[1024];
  snprintf(
      text, sizeof text,
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{\"n\":1},"
      "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
      "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
      tool);
  client_send(&s->world, &s->ann, reply, text);
  world_run(&s->world, 0);
}

static struct fake_upstream *shop(struct shops *s, const char *name) {
  return world_upstream(&s->world, name);
}

static struct hf_attempt_ref *sent_to(struct shops *s, const char *name) {
  return shop(s, name) ? upstream_last(shop(s, name)) : NULL;
}

/* The other provider first, from now on. */
static void turn_round(struct shops *s, size_t route) {
  struct hf_route_provider first = s->providers[route][0];
  s->providers[route][0] = s->providers[route][1];
  s->providers[route][1] = first;
}

static void route_effects__an_equal_call_joins_whichever_provider_is_first_by_now(void **state) {
  (void)state;
  struct shops s;
  struct fake_reply first, second;
  open_shops(&s, NULL, 0);
  call(&s, &first, "pay");
  assert_non_null(sent_to(&s, "east"));
  turn_round(&s, 0);
  call(&s, &second, "pay");
  assert_null(sent_to(&s, "west"));
  upstream_answer(sent_to(&s, "east"), OK);
  world_run(&s.world, 0);
  assert_non_null(strstr(second.answer, "\"joined\":\"c-"));
  reply_deinit(&first);
  reply_deinit(&second);
  close_shops(&s);
}

static void lose_and_call_again(bool left_alone) {
  struct shops s;
  struct fake_reply reply;
  memset(&store, 0, sizeof store);
  fake_store_init(&store, NULL);
  open_shops(&s, &store, SERVERS);
  call(&s, &reply, "order");
  upstream_handed_over(sent_to(&s, "east"));
  struct fake_intent left = store.intents[0];
  client_abandon(&s.ann, &reply);
  reply_deinit(&reply);
  close_shops(&s);
  fake_store_reopen(&store, NULL);
  store.intents[0] = left;
  assert_int_equal(fake_store_owner_died(&store), 1);
  open_shops(&s, &store, SERVERS);
  turn_round(&s, 1);
  s.routes[1].provider_count = left_alone ? 1 : SERVERS; /* a reload may have left only the other one */
  call(&s, &reply, "order");
  assert_null(sent_to(&s, "west"));
  assert_non_null(strstr(reply.answer, "when an earlier gateway died, and it may have run (dead letter d-"));
  reply_deinit(&reply);
  close_shops(&s);
}

static void route_effects__a_lost_call_is_not_repeated_at_another_provider_under_its_key(void **state) {
  (void)state;
  lose_and_call_again(false);
  lose_and_call_again(true);
}

/* The first provider fails, and the second one has a place for the call in the very turn in which its client goes. */
static void route_effects__a_place_that_comes_too_late_goes_back_to_who_gave_it(void **state) {
  (void)state;
  struct shops s;
  struct fake_reply first, second;
  open_shops(&s, NULL, SERVERS);
  s.tools[1][0].reconcile = (struct hf_reconcile_settings){0};
  s.settings->servers[1].provider.max_concurrent = 1;
  struct hf_settings *settings = hf_settings_ref(s.settings);
  assert_int_equal(hf_gateway_reload(s.world.gateway, settings, NULL), 0);
  call(&s, &first, "west__pay");
  struct hf_attempt_ref *holds = sent_to(&s, "west");
  call(&s, &second, "order");
  struct hf_evidence busy = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  busy.http_status = 429;
  struct hf_attempt_ref *refused = sent_to(&s, "east");
  refused->open = false;
  refused->events->done(refused->ctx, &busy, NULL);
  assert_ptr_equal(sent_to(&s, "west"), holds);
  upstream_handed_over(holds);
  holds->open = false;
  holds->events->done(holds->ctx, &(struct hf_evidence){.kind = HF_EVIDENCE_BROKE}, NULL);
  client_abandon(&s.ann, &second);
  world_run(&s.world, 0);
  struct hf_provider_view east, west;
  hf_provider_view(hf_gateway_server(s.world.gateway, HF_STR("east"))->shared->provider, &east);
  hf_provider_view(hf_gateway_server(s.world.gateway, HF_STR("west"))->shared->provider, &west);
  assert_int_equal(east.in_flight, 0);
  assert_int_equal(west.in_flight, 0);
  reply_deinit(&first);
  reply_deinit(&second);
  close_shops(&s);
}

static void note_done(void *ctx, struct hf_str json) {
  snprintf(ctx, 512, "%.*s", HF_STR_FMT(json));
}

static void note_progress(void *ctx, struct hf_str json) {
  (void)ctx, (void)json;
}

static struct hf_replay *replay(struct shops *s, const struct hf_replay_options *options, char end[512]) {
  static const struct hf_replay_ops ops = {note_progress, note_done};
  struct hf_replay *made;
  end[0] = '\0';
  assert_int_equal(hf_replay_start(s->world.gateway, options, &ops, end, &made), 0);
  world_run(&s->world, 0);
  return made;
}

/* A tool's own error is no new failure to be written down, so that the letter still names where its first call went. */
static void route_effects__a_replay_elsewhere_is_not_disproved_where_the_first_call_went(void **state) {
  (void)state;
  struct shops s;
  struct fake_reply reply;
  char end[512];
  memset(&store, 0, sizeof store);
  fake_store_init(&store, NULL);
  open_shops(&s, &store, SERVERS);
  turn_round(&s, 0);
  s.routes[0].provider_count = 1; /* west alone */
  call(&s, &reply, "pay");
  struct hf_evidence denied = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  denied.http_status = 401;
  struct hf_attempt_ref *ref = sent_to(&s, "west");
  ref->open = false;
  ref->events->done(ref->ctx, &denied, NULL);
  world_run(&s.world, 0);
  assert_non_null(strstr(reply.answer, "deadLetterId"));
  s.routes[0].provider_count = SERVERS;
  turn_round(&s, 0);
  struct hf_replay *first = replay(&s, &(struct hf_replay_options){.concurrency = 1}, end);
  upstream_answer(sent_to(&s, "east"), "{\"content\":[],\"isError\":true}");
  world_run(&s.world, 0);
  assert_string_equal(end, "{\"total\":1,\"replayed\":0,\"ran\":0,\"failed\":1,\"refused\":0,\"left\":0}");
  hf_replay_free(first);
  struct hf_replay *second = replay(&s, &(struct hf_replay_options){.concurrency = 1, .reconcile = true}, end);
  assert_null(sent_to(&s, "west"));
  assert_string_equal(end, "{\"total\":1,\"replayed\":0,\"ran\":0,\"failed\":0,\"refused\":1,\"left\":0}");
  hf_replay_free(second);
  turn_round(&s, 0);
  s.routes[0].provider_count = 1; /* a reload has left west alone, which never had the call of the replay */
  struct hf_replay *third = replay(&s, &(struct hf_replay_options){.concurrency = 1, .reconcile = true}, end);
  assert_null(sent_to(&s, "west"));
  assert_string_equal(end, "{\"total\":1,\"replayed\":0,\"ran\":0,\"failed\":0,\"refused\":1,\"left\":0}");
  hf_replay_free(third);
  reply_deinit(&reply);
  close_shops(&s);
}

/* In which order they were tried is known to nobody once the gateway is dead. */
static void route_effects__an_intent_names_all_who_may_come_to_run_it(void **state) {
  (void)state;
  struct shops s;
  struct fake_reply reply, own;
  memset(&store, 0, sizeof store);
  fake_store_init(&store, NULL);
  open_shops(&s, &store, SERVERS);
  call(&s, &reply, "pay");
  assert_string_equal(store.intents[0].server, "east, west");
  call(&s, &own, "west__order");
  assert_string_equal(store.intents[1].server, "west");
  reply_deinit(&reply);
  reply_deinit(&own);
  close_shops(&s);
}

/* The client's own server may know what nobody else's does. */
static void route_effects__a_call_without_its_client_is_checked_where_it_was_sent(void **state) {
  (void)state;
  struct shops s;
  struct fake_reply reply;
  open_shops(&s, NULL, 0);
  call(&s, &reply, "east__pay");
  struct fake_upstream *own = shop(&s, "east");
  struct hf_attempt_ref *ref = upstream_last(own);
  upstream_handed_over(ref);
  client_abandon(&s.ann, &reply);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&s.world, 0);
  assert_ptr_equal(shop(&s, "east"), own);
  assert_non_null(upstream_last(own));
  assert_non_null(strstr(upstream_last(own)->text, "\"name\":\"paid\""));
  reply_deinit(&reply);
  close_shops(&s);
}

static void note_drained(void *ctx) {
  *(bool *)ctx = true;
}

/* Calls and their checks are in one list, and a call that ends takes its check along. */
static void route_effects__a_drain_ends_checks_with_their_calls(void **state) {
  (void)state;
  struct shops s;
  struct fake_reply first, second;
  bool drained = false;
  open_shops(&s, NULL, SERVERS);
  call(&s, &first, "east__pay");
  call(&s, &second, "west__pay");
  struct hf_attempt_ref *east = sent_to(&s, "east"), *west = sent_to(&s, "west");
  upstream_handed_over(east);
  upstream_handed_over(west);
  client_abandon(&s.ann, &first);
  client_abandon(&s.ann, &second);
  upstream_fail(west, HF_EVIDENCE_BROKE);
  upstream_fail(east, HF_EVIDENCE_BROKE);
  world_run(&s.world, 0);
  assert_non_null(strstr(sent_to(&s, "east")->text, "\"name\":\"paid\""));
  s.settings->limits.drain = HF_MS(1);
  hf_gateway_drain(s.world.gateway, note_drained, &drained);
  world_run(&s.world, HF_MS(1));
  assert_int_equal(s.world.gateway->calls, 0);
  assert_null(sent_to(&s, "east"));
  assert_null(sent_to(&s, "west"));
  reply_deinit(&first);
  reply_deinit(&second);
  close_shops(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(route_effects__an_equal_call_joins_whichever_provider_is_first_by_now),
      cmocka_unit_test(route_effects__a_lost_call_is_not_repeated_at_another_provider_under_its_key),
      cmocka_unit_test(route_effects__a_place_that_comes_too_late_goes_back_to_who_gave_it),
      cmocka_unit_test(route_effects__a_replay_elsewhere_is_not_disproved_where_the_first_call_went),
      cmocka_unit_test(route_effects__an_intent_names_all_who_may_come_to_run_it),
      cmocka_unit_test(route_effects__a_call_without_its_client_is_checked_where_it_was_sent),
      cmocka_unit_test(route_effects__a_drain_ends_checks_with_their_calls),
  };
  return cmocka_run_group_tests_name("route_effects", tests, NULL, NULL);
}
