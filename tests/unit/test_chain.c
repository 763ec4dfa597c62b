/* The levels of a call as the gateway performs them: routes and standbys, status checks, hedges, letters. */
#include "gateway_world.h"

#include "gateway/catalog/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HELLO                                                                                                          \
  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\","                \
  "\"version\":\"1\"}}"

static const struct fake_server google = {
    .name = "google",
    .hello = HELLO,
    .tools = "{\"tools\":[{\"name\":\"search\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"q\":{\"type\":"
             "\"string\"},\"n\":{\"type\":\"integer\"}},\"required\":[\"q\"]}}]}",
};

static const struct fake_server bing = {
    .name = "bing",
    .hello = HELLO,
    .tools = "{\"tools\":[{\"name\":\"find\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"query\":{\"type\":"
             "\"string\"}},\"required\":[\"query\"]}},{\"name\":\"search\",\"inputSchema\":{\"type\":\"object\"}}]}",
};

static const struct fake_server orders = {
    .name = "orders",
    .hello = HELLO,
    .tools = "{\"tools\":[{\"name\":\"create\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"status\","
             "\"inputSchema\":{\"type\":\"object\"}}]}",
};

struct bed {
  struct world world;
  struct fake_client client;
  struct fake_reply reply; /* to the newest request */
  struct hf_route_settings route;
  struct hf_route_provider providers[3];
  struct hf_tool_settings tools[3];
};

static void bed_open(struct bed *bed, const struct fake_server *servers, size_t count) {
  memset(bed, 0, sizeof *bed);
  world_init(&bed->world, servers, count);
  client_open(&bed->world, &bed->client, NULL, HF_ERA_LEGACY);
  client_initialize(&bed->world, &bed->client, "{}");
}

static void bed_close(struct bed *bed) {
  reply_deinit(&bed->reply);
  client_close(&bed->client);
  world_deinit(&bed->world);
}

static void bed_send(struct bed *bed, const char *request) {
  reply_deinit(&bed->reply);
  client_send(&bed->world, &bed->client, &bed->reply, request);
}

/* One entry of `tools:`; what it doesn't say is as the defaults have it. */
static struct hf_tool_settings *bed_tool(struct bed *bed, const char *server, const char *pattern,
                                         enum hf_safety safety) {
  struct hf_tool_settings *tool = &bed->tools[bed->world.settings->tool_count++];
  *tool = bed->world.settings->tool_defaults;
  tool->server = hf_str_from(server);
  tool->pattern = hf_str_from(pattern);
  tool->has_safety = true;
  tool->safety = safety;
  bed->world.settings->tools = bed->tools;
  return tool;
}

static void bed_provider(struct bed *bed, const char *server, const char *tool, const char *arguments,
                         const char *result) {
  bed->providers[bed->route.provider_count++] = (struct hf_route_provider){
      .tool = {hf_str_from(server), hf_str_from(tool)},
      .arguments = arguments ? hf_str_from(arguments) : (struct hf_str){NULL, 0},
      .result = result ? hf_str_from(result) : (struct hf_str){NULL, 0},
      .weight = 1,
  };
}

/* The route `web_search` over google and bing, which name their argument differently. */
static void bed_route(struct bed *bed) {
  bed->route.name = HF_STR("web_search");
  bed->route.policy = bed->world.settings->servers[0].policy;
  bed->route.policy.retry.attempts = 1;
  bed->route.tool = bed->world.settings->tool_defaults;
  bed->route.providers = bed->providers;
  bed_provider(bed, "google", "search", "{\"q\":\"{{query}}\",\"n\":5}", NULL);
  bed_provider(bed, "bing", "find", "{\"query\":\"{{query}}\"}", "{\"content\":\"{{content}}\",\"from\":\"bing\"}");
  bed->world.settings->routes = &bed->route;
  bed->world.settings->route_count = 1;
}

static void two_providers(struct bed *bed) {
  const struct fake_server servers[] = {google, bing};
  bed_open(bed, servers, 2);
  bed_route(bed);
}

static struct hf_attempt_ref *sent_to(struct bed *bed, const char *server) {
  return upstream_last(world_upstream(&bed->world, server));
}

#define CALL_SEARCH                                                                                                    \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"google__search\",\"arguments\":{"    \
  "\"q\":\"x\"}}}"

#define CALL_ROUTE                                                                                                     \
  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"web_search\",\"arguments\":{"        \
  "\"query\":\"cats \\u0026 dogs\"}}}"

static void chain__a_route_is_listed_with_the_schema_that_its_first_provider_has(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  assert_non_null(strstr(bed.reply.answer, "{\"name\":\"web_search\",\"inputSchema\":{\"type\":\"object\","
                                           "\"properties\":{\"query\":{\"type\":\"string\"}},\"required\":[\"query\"]}"
                                           "}"));
  bed_close(&bed);
}

static void chain__a_schema_that_no_renaming_gives_is_not_guessed(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed.providers[0].arguments = HF_STR("{\"q\":\"about {{query}}\"}");
  hf_route_check(bed.world.gateway);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  assert_null(strstr(bed.reply.answer, "web_search"));
  bed_send(&bed, CALL_ROUTE);
  assert_non_null(strstr(bed.reply.answer, "There is no tool \\\"web_search\\\"."));
  assert_null(sent_to(&bed, "google"));
  bed.route.input_schema = HF_STR("{\"type\":\"object\",\"properties\":{\"query\":{}}}");
  hf_route_check(bed.world.gateway);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
  assert_non_null(strstr(bed.reply.answer, "{\"name\":\"web_search\",\"inputSchema\":{\"type\":\"object\","
                                           "\"properties\":{\"query\":{}}}}"));
  bed_close(&bed);
}

static void chain__a_routes_arguments_and_name_are_those_of_its_provider(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed_send(&bed, CALL_ROUTE);
  struct hf_attempt_ref *ref = sent_to(&bed, "google");
  assert_non_null(ref);
  assert_non_null(strstr(ref->text, "\"name\":\"search\",\"arguments\":{\"q\":\"cats \\u0026 dogs\",\"n\":5}"));
  upstream_answer(ref, "{\"content\":[1.0]}");
  assert_non_null(strstr(bed.reply.answer, "\"content\":[1.0]"));
  assert_non_null(strstr(bed.reply.answer, "\"source\":\"live\",\"provider\":\"google\""));
  bed_close(&bed);
}

static void chain__a_provider_that_was_not_reached_is_followed_by_the_next(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed_send(&bed, CALL_ROUTE);
  upstream_fail(sent_to(&bed, "google"), HF_EVIDENCE_CONNECT_REFUSED);
  world_run(&bed.world, 0);
  struct hf_attempt_ref *ref = sent_to(&bed, "bing");
  assert_non_null(ref);
  assert_non_null(strstr(ref->text, "\"name\":\"find\",\"arguments\":{\"query\":\"cats \\u0026 dogs\"}"));
  upstream_answer(ref, "{\"content\":[{\"type\":\"text\",\"text\":\"two\"}],\"x\":1}");
  assert_non_null(strstr(bed.reply.answer, "\"content\":[{\"type\":\"text\",\"text\":\"two\"}],\"from\":\"bing\""));
  assert_null(strstr(bed.reply.answer, "\"x\":1"));
  assert_non_null(strstr(bed.reply.answer, "\"provider\":\"bing\",\"attempts\":2"));
  bed_close(&bed);
}

static void chain__a_result_has_content_whatever_the_template_finds(void **state) {
  (void)state;
  const char *const templates[] = {"{\"content\":\"{{nothing}}\"}", "{\"structuredContent\":{\"a\":\"{{x}}\"}}"};
  for (size_t i = 0; i < sizeof templates / sizeof templates[0]; i++) {
    struct bed bed;
    two_providers(&bed);
    bed.providers[0].result = hf_str_from(templates[i]);
    bed_send(&bed, CALL_ROUTE);
    upstream_answer(sent_to(&bed, "google"), "{\"content\":[],\"x\":1}");
    assert_non_null(strstr(bed.reply.answer, "\"content\":[]"));
    assert_int_equal(strstr(bed.reply.answer, "\"structuredContent\":{\"a\":1}") != NULL, i == 1);
    bed_close(&bed);
  }
}

static void chain__an_unsafe_tool_that_may_have_run_is_not_followed(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed_send(&bed, CALL_ROUTE);
  struct hf_attempt_ref *ref = sent_to(&bed, "google");
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&bed.world, HF_SECONDS(60));
  assert_null(sent_to(&bed, "bing"));
  assert_non_null(strstr(bed.reply.answer, "\"executed\":\"maybe\""));
  bed_close(&bed);
}

static void chain__tools_that_are_configured_as_read_only_are_followed_all_the_same(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed_tool(&bed, "google", "google__*", HF_SAFETY_READ_ONLY);
  bed_tool(&bed, "bing", "bing__*", HF_SAFETY_READ_ONLY);
  bed_send(&bed, CALL_ROUTE);
  struct hf_attempt_ref *ref = sent_to(&bed, "google");
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&bed.world, 0);
  upstream_answer(sent_to(&bed, "bing"), "{\"content\":[]}");
  assert_non_null(strstr(bed.reply.answer, "\"provider\":\"bing\""));
  bed_close(&bed);
}

static void chain__a_caller_may_forbid_the_next_provider(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"web_search\","
                 "\"arguments\":{\"query\":\"x\"},\"_meta\":{\"dev.holdfast/call\":{\"allowFallback\":false}}}}");
  upstream_fail(sent_to(&bed, "google"), HF_EVIDENCE_CONNECT_REFUSED);
  world_run(&bed.world, 0);
  assert_null(sent_to(&bed, "bing"));
  assert_non_null(strstr(bed.reply.answer, "\"reason\":\"unreachable\""));
  bed_close(&bed);
}

static void chain__a_provider_that_lacks_what_the_tool_requires_is_left_out(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed.providers[0].arguments = HF_STR("{\"n\":1}"); /* and no q */
  bed_send(&bed, CALL_ROUTE);
  assert_null(sent_to(&bed, "google"));
  assert_non_null(sent_to(&bed, "bing"));
  bed_close(&bed);
}

/* Answers what was sent to whoever got it, after so long. Returns who that was. */
static const char *answer_after(struct bed *bed, hf_time latency) {
  const char *who = sent_to(bed, "google") ? "google" : "bing";
  assert_non_null(sent_to(bed, who));
  world_run(&bed->world, latency);
  upstream_answer(sent_to(bed, who), "{\"content\":[]}");
  assert_non_null(strstr(bed->reply.answer, "\"content\":[]"));
  return who;
}

static void chain__the_faster_provider_is_asked_first_where_latency_decides(void **state) {
  (void)state;
  for (int by_latency = 0; by_latency < 2; by_latency++) {
    struct bed bed;
    two_providers(&bed);
    bed.route.order = by_latency ? HF_ROUTE_LATENCY : HF_ROUTE_PRIORITY;
    unsigned fast = 0;
    for (int i = 0; i < 400; i++) {
      bed_send(&bed, CALL_ROUTE);
      bool slow = sent_to(&bed, "google") != NULL;
      if (i >= 350)
        fast += !slow;
      answer_after(&bed, slow ? HF_MS(400) : HF_MS(10));
    }
    assert_true(by_latency ? fast > 40 : fast == 0);
    bed_close(&bed);
  }
}

static void chain__calls_are_split_by_weight(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed.route.order = HF_ROUTE_SPLIT;
  bed.providers[0].weight = 1;
  bed.providers[1].weight = 3;
  unsigned bings = 0;
  for (int i = 0; i < 400; i++) {
    bed_send(&bed, CALL_ROUTE);
    bings += strcmp(answer_after(&bed, 0), "bing") == 0;
  }
  assert_in_range(bings, 260, 340);
  bed_close(&bed);
}

/* An open provider is not asked, and asked again first when a probe has shown that it is well. */
static void chain__a_preferred_provider_is_gone_back_to_when_its_breaker_closes(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  for (int i = 0; i < 5; i++) {
    bed_send(&bed, CALL_ROUTE);
    upstream_fail(sent_to(&bed, "google"), HF_EVIDENCE_CONNECT_REFUSED);
    world_run(&bed.world, 0);
    assert_string_equal(answer_after(&bed, 0), "bing");
  }
  size_t asked = world_upstream(&bed.world, "google")->sent_count;
  for (int i = 0; i < 5; i++) {
    bed_send(&bed, CALL_ROUTE);
    assert_string_equal(answer_after(&bed, 0), "bing");
  }
  assert_int_equal(world_upstream(&bed.world, "google")->sent_count, asked);
  world_run(&bed.world, HF_SECONDS(400));
  for (int i = 0; i < 3; i++) {
    bed_send(&bed, CALL_ROUTE);
    struct hf_attempt_ref *probe = sent_to(&bed, "google");
    if (probe && probe->method == HF_METHOD_PING) {
      upstream_answer(probe, "{}");
      world_run(&bed.world, 0);
    }
    answer_after(&bed, 0);
  }
  bed_send(&bed, CALL_ROUTE);
  assert_string_equal(answer_after(&bed, 0), "google");
  bed_close(&bed);
}

/* google hangs while it starts, bing is ready. */
static void one_hangs(struct bed *bed) {
  struct fake_server hanging = google;
  hanging.hello = NULL;
  const struct fake_server servers[] = {hanging, bing};
  bed_open(bed, servers, 2);
  bed_route(bed);
  bed->route.input_schema = HF_STR("{\"type\":\"object\",\"properties\":{\"query\":{}}}");
  bed_send(bed, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}");
  world_run(&bed->world, HF_SECONDS(10)); /* bing's list is known */
}

static void chain__a_route_waits_a_moment_for_the_first_that_hangs_and_goes_to_one_that_is_ready(void **state) {
  (void)state;
  struct bed bed;
  one_hangs(&bed);
  bed_send(&bed, CALL_ROUTE);
  assert_null(sent_to(&bed, "bing"));
  world_run(&bed.world, HF_MS(499));
  assert_null(sent_to(&bed, "bing"));
  world_run(&bed.world, HF_MS(1));
  assert_non_null(sent_to(&bed, "bing"));
  upstream_answer(sent_to(&bed, "bing"), "{\"content\":[]}");
  assert_non_null(strstr(bed.reply.answer, "\"provider\":\"bing\""));
  bed_close(&bed);
}

static void chain__a_route_takes_the_first_if_it_is_ready_in_that_moment(void **state) {
  (void)state;
  struct bed bed;
  one_hangs(&bed);
  bed_send(&bed, CALL_ROUTE);
  world_run(&bed.world, HF_MS(300));
  bed.world.servers[0].hello = HELLO;
  upstream_ready(world_upstream(&bed.world, "google"));
  world_run(&bed.world, 0);
  assert_non_null(sent_to(&bed, "google"));
  assert_null(sent_to(&bed, "bing"));
  bed_close(&bed);
}

static void chain__a_route_does_not_wait_for_one_that_comes_after_the_first_ready_one(void **state) {
  (void)state;
  struct bed bed;
  one_hangs(&bed);
  struct hf_route_provider first = bed.providers[0];
  bed.providers[0] = bed.providers[1];
  bed.providers[1] = first;
  bed_send(&bed, CALL_ROUTE);
  assert_non_null(sent_to(&bed, "bing"));
  upstream_fail(sent_to(&bed, "bing"), HF_EVIDENCE_CONNECT_REFUSED); /* and it stays a way out */
  world_run(&bed.world, HF_MS(100));
  upstream_ready(world_upstream(&bed.world, "google"));
  world_run(&bed.world, HF_MS(100));
  assert_non_null(sent_to(&bed, "google"));
  bed_close(&bed);
}

static void chain__a_route_by_weight_waits_a_moment_for_all(void **state) {
  (void)state;
  struct bed bed;
  one_hangs(&bed);
  bed.route.order = HF_ROUTE_SPLIT;
  struct hf_route_provider first = bed.providers[0];
  bed.providers[0] = bed.providers[1];
  bed.providers[1] = first;
  bed_send(&bed, CALL_ROUTE);
  assert_null(sent_to(&bed, "bing"));
  world_run(&bed.world, HF_MS(500));
  assert_non_null(sent_to(&bed, "bing"));
  bed_close(&bed);
}

static void chain__whether_a_provider_fits_is_found_out_once_a_list(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed_send(&bed, CALL_ROUTE);
  upstream_answer(sent_to(&bed, "google"), "{\"content\":[]}");
  assert_int_equal(bed.world.gateway->route_fits.len, 2);
  /* Had it been read anew, bing would be all that is left. What is sent does not fit google's tool either. */
  bed.world.settings->servers[0].fit.validate = HF_CHECK_OFF;
  bed.providers[0].arguments = HF_STR("{\"n\":5}");
  bed_send(&bed, CALL_ROUTE);
  assert_non_null(sent_to(&bed, "google"));
  upstream_answer(sent_to(&bed, "google"), "{\"content\":[]}");
  hf_route_check(bed.world.gateway); /* as after a reload, or when a list has come */
  bed_send(&bed, CALL_ROUTE);
  assert_null(sent_to(&bed, "google"));
  assert_non_null(sent_to(&bed, "bing"));
  bed_close(&bed);
}

static void chain__verdicts_on_providers_are_bounded(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed.world.gateway->route_fits.max = 1;
  for (int i = 0; i < 5; i++) {
    bed_send(&bed, CALL_ROUTE);
    upstream_answer(sent_to(&bed, "google"), "{\"content\":[]}");
    assert_true(bed.world.gateway->route_fits.len <= 1);
  }
  bed_close(&bed);
}

static void chain__a_route_whose_providers_are_all_gone_says_so(void **state) {
  (void)state;
  struct bed bed;
  two_providers(&bed);
  bed.providers[0].tool.tool = HF_STR("gone");
  bed.providers[1].tool.tool = HF_STR("gone");
  bed_send(&bed, CALL_ROUTE);
  world_run(&bed.world, HF_SECONDS(5));
  assert_non_null(strstr(bed.reply.answer, "There is no tool \\\"web_search\\\"."));
  bed_close(&bed);
}

static void chain__a_standby_takes_over_what_its_server_could_not_be_asked(void **state) {
  (void)state;
  struct bed bed;
  const struct fake_server servers[] = {google, bing};
  bed_open(&bed, servers, 2);
  bed.world.settings->servers[0].standby = HF_STR("bing");
  bed.world.settings->servers[0].policy.retry.attempts = 1;
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"google__search\","
                 "\"arguments\":{\"q\":\"x\"}}}");
  upstream_fail(sent_to(&bed, "google"), HF_EVIDENCE_CONNECT_REFUSED);
  world_run(&bed.world, 0);
  struct hf_attempt_ref *ref = sent_to(&bed, "bing");
  assert_non_null(ref);
  assert_non_null(strstr(ref->text, "\"name\":\"search\",\"arguments\":{\"q\":\"x\"}"));
  upstream_answer(ref, "{\"content\":[]}");
  assert_non_null(strstr(bed.reply.answer, "\"provider\":\"bing\""));
  bed_close(&bed);
}

/* Its tools are known from the standby, and are shown and called by the server's own name. */
static void chain__a_standby_stands_in_for_a_server_that_was_never_up(void **state) {
  (void)state;
  struct bed bed;
  struct fake_server servers[] = {google, bing};
  servers[0].hello = NULL;
  bed_open(&bed, servers, 2);
  bed.world.settings->servers[0].standby = HF_STR("bing");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  upstream_down(world_upstream(&bed.world, "google"), HF_EVIDENCE_CONNECT_REFUSED, "refused");
  world_run(&bed.world, HF_SECONDS(4));
  assert_non_null(strstr(bed.reply.answer, "\"google__search\""));
  assert_non_null(strstr(bed.reply.answer, "\"bing__search\""));
  bed_send(&bed, CALL_SEARCH);
  world_run(&bed.world, HF_SECONDS(3));
  struct hf_attempt_ref *ref = sent_to(&bed, "bing");
  assert_non_null(ref);
  upstream_answer(ref, "{\"content\":[]}");
  assert_non_null(strstr(bed.reply.answer, "\"provider\":\"bing\""));
  bed_close(&bed);
}

/* What may be repeated at a server may be at its other endpoint; another server is another matter. */
static void chain__an_idempotent_tool_is_repeated_at_a_standby_but_not_at_another_server(void **state) {
  (void)state;
  for (int other = 0; other < 2; other++) {
    struct bed bed;
    two_providers(&bed);
    bed_tool(&bed, "google", "google__*", HF_SAFETY_IDEMPOTENT);
    bed.world.settings->servers[0].standby = HF_STR("bing");
    bed.world.settings->servers[0].policy.retry.attempts = 1;
    bed_send(&bed, other ? CALL_ROUTE
                         : "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                           "\"google__search\",\"arguments\":{\"q\":\"x\"}}}");
    struct hf_attempt_ref *ref = sent_to(&bed, "google");
    upstream_handed_over(ref);
    upstream_fail(ref, HF_EVIDENCE_BROKE);
    world_run(&bed.world, 0);
    assert_int_equal(sent_to(&bed, "bing") != NULL, !other);
    bed_close(&bed);
  }
}

/* Thirty quick answers, and one that is slow to come. Returns the attempt that is slow. */
static struct hf_attempt_ref *be_slow(struct bed *bed, bool hedge) {
  bed_open(bed, &google, 1);
  bed_tool(bed, "google", "google__*", HF_SAFETY_READ_ONLY)->hedge = hedge;
  for (int i = 0; i < 30; i++) {
    bed_send(bed, CALL_SEARCH);
    world_run(&bed->world, HF_MS(10));
    upstream_answer(sent_to(bed, "google"), "{\"content\":[]}");
  }
  bed_send(bed, CALL_SEARCH);
  struct hf_attempt_ref *slow = sent_to(bed, "google");
  upstream_handed_over(slow);
  world_run(&bed->world, HF_MS(50));
  return slow;
}

static void chain__a_slow_call_is_hedged_and_the_first_answer_counts(void **state) {
  (void)state;
  for (int first_wins = 0; first_wins < 2; first_wins++) {
    struct bed bed;
    struct hf_attempt_ref *slow = be_slow(&bed, true);
    struct hf_attempt_ref *hedge = sent_to(&bed, "google");
    assert_ptr_not_equal(slow, hedge);
    assert_true(slow->open && hedge->open);
    upstream_answer(first_wins ? slow : hedge, first_wins ? "{\"content\":[1]}" : "{\"content\":[2]}");
    assert_non_null(strstr(bed.reply.answer, first_wins ? "\"content\":[1]" : "\"content\":[2]"));
    assert_non_null(strstr(bed.reply.answer, "\"attempts\":2"));
    assert_true((first_wins ? hedge : slow)->aborted);
    bed_close(&bed);
  }
}

static void chain__nothing_is_hedged_that_does_not_say_so(void **state) {
  (void)state;
  struct bed bed;
  struct hf_attempt_ref *slow = be_slow(&bed, false);
  assert_ptr_equal(sent_to(&bed, "google"), slow);
  upstream_answer(slow, "{\"content\":[]}");
  bed_close(&bed);
}

/* `orders__create` is unsafe; `orders__status` tells whether it ran. */
static void with_status(struct bed *bed) {
  bed_open(bed, &orders, 1);
  struct hf_tool_settings *tool = bed_tool(bed, "orders", "orders__create", HF_SAFETY_UNSAFE);
  tool->reconcile = (struct hf_reconcile_settings){
      .tool = {HF_STR("orders"), HF_STR("status")},
      .arguments = HF_STR("{\"ref\":\"{{ref}}\"}"),
      .executed = {HF_STR("/structuredContent/found"), HF_OPERATOR_EQUALS, HF_STR("true")},
      .not_executed = {HF_STR("/structuredContent/found"), HF_OPERATOR_EQUALS, HF_STR("false")},
      .timeout = HF_SECONDS(5),
      .settle = HF_SECONDS(2),
  };
}

static struct hf_attempt_ref *lose_order(struct bed *bed) {
  bed_send(bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"orders__create\","
                "\"arguments\":{\"ref\":\"r-7\",\"n\":1}}}");
  struct hf_attempt_ref *ref = sent_to(bed, "orders");
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&bed->world, HF_SECONDS(3));
  ref = sent_to(bed, "orders");
  assert_non_null(ref);
  assert_non_null(strstr(ref->text, "\"name\":\"status\",\"arguments\":{\"ref\":\"r-7\"}"));
  return ref;
}

static void chain__a_check_that_finds_the_effect_answers_that_it_ran(void **state) {
  (void)state;
  struct bed bed;
  with_status(&bed);
  upstream_answer(lose_order(&bed), "{\"content\":[],\"structuredContent\":{\"found\":true}}");
  world_run(&bed.world, 0);
  assert_null(sent_to(&bed, "orders"));
  assert_non_null(bed.reply.answer);
  assert_non_null(strstr(bed.reply.answer, "'create' was executed"));
  assert_non_null(strstr(bed.reply.answer, "\"executed\":\"yes\""));
  assert_non_null(strstr(bed.reply.answer, "\"checked\":true"));
  assert_null(strstr(bed.reply.answer, "\"isError\":true"));
  bed_close(&bed);
}

static void chain__a_check_that_proves_that_nothing_ran_lets_it_be_sent_again(void **state) {
  (void)state;
  struct bed bed;
  with_status(&bed);
  upstream_answer(lose_order(&bed), "{\"content\":[],\"structuredContent\":{\"found\":false}}");
  world_run(&bed.world, HF_SECONDS(2));
  struct hf_attempt_ref *again = sent_to(&bed, "orders");
  assert_non_null(again);
  assert_non_null(strstr(again->text, "\"name\":\"create\""));
  upstream_answer(again, "{\"content\":[],\"order\":1}");
  assert_non_null(strstr(bed.reply.answer, "\"order\":1"));
  bed_close(&bed);
}

static void chain__a_check_that_says_nothing_leaves_it_at_maybe(void **state) {
  (void)state;
  const char *const answers[] = {"{\"content\":[],\"structuredContent\":{}}", "{\"content\":[],\"isError\":true}",
                                 "{\"structuredContent\":{\"found\":\"true\"}}"};
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    struct bed bed;
    with_status(&bed);
    upstream_answer(lose_order(&bed), answers[i]);
    world_run(&bed.world, HF_SECONDS(60));
    assert_non_null(bed.reply.answer);
    assert_non_null(strstr(bed.reply.answer, "\"executed\":\"maybe\""));
    assert_int_equal(world_upstream(&bed.world, "orders")->sent_count >= 2, true);
    assert_null(sent_to(&bed, "orders"));
    bed_close(&bed);
  }
}

static void chain__a_client_that_goes_during_a_check_takes_it_with_it_unless_what_it_began_is_kept(void **state) {
  (void)state;
  for (int keep = 0; keep < 2; keep++) {
    struct bed bed;
    with_status(&bed);
    bed.world.settings->tools[0].detach = keep ? HF_DETACH_KEEP : HF_DETACH_CANCEL;
    struct hf_attempt_ref *check = lose_order(&bed);
    client_close(&bed.client);
    world_run(&bed.world, 0);
    assert_int_equal(check->aborted, !keep);
    if (keep)
      upstream_answer(check, "{\"content\":[],\"structuredContent\":{\"found\":true}}");
    world_run(&bed.world, HF_SECONDS(5));
    assert_int_equal(bed.world.gateway->calls, 0);
    reply_deinit(&bed.reply);
    world_deinit(&bed.world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chain__a_route_is_listed_with_the_schema_that_its_first_provider_has),
      cmocka_unit_test(chain__a_schema_that_no_renaming_gives_is_not_guessed),
      cmocka_unit_test(chain__a_routes_arguments_and_name_are_those_of_its_provider),
      cmocka_unit_test(chain__a_provider_that_was_not_reached_is_followed_by_the_next),
      cmocka_unit_test(chain__a_result_has_content_whatever_the_template_finds),
      cmocka_unit_test(chain__an_unsafe_tool_that_may_have_run_is_not_followed),
      cmocka_unit_test(chain__tools_that_are_configured_as_read_only_are_followed_all_the_same),
      cmocka_unit_test(chain__a_caller_may_forbid_the_next_provider),
      cmocka_unit_test(chain__a_provider_that_lacks_what_the_tool_requires_is_left_out),
      cmocka_unit_test(chain__the_faster_provider_is_asked_first_where_latency_decides),
      cmocka_unit_test(chain__calls_are_split_by_weight),
      cmocka_unit_test(chain__a_preferred_provider_is_gone_back_to_when_its_breaker_closes),
      cmocka_unit_test(chain__a_route_waits_a_moment_for_the_first_that_hangs_and_goes_to_one_that_is_ready),
      cmocka_unit_test(chain__a_route_takes_the_first_if_it_is_ready_in_that_moment),
      cmocka_unit_test(chain__a_route_does_not_wait_for_one_that_comes_after_the_first_ready_one),
      cmocka_unit_test(chain__a_route_by_weight_waits_a_moment_for_all),
      cmocka_unit_test(chain__whether_a_provider_fits_is_found_out_once_a_list),
      cmocka_unit_test(chain__verdicts_on_providers_are_bounded),
      cmocka_unit_test(chain__a_route_whose_providers_are_all_gone_says_so),
      cmocka_unit_test(chain__a_standby_takes_over_what_its_server_could_not_be_asked),
      cmocka_unit_test(chain__a_standby_stands_in_for_a_server_that_was_never_up),
      cmocka_unit_test(chain__an_idempotent_tool_is_repeated_at_a_standby_but_not_at_another_server),
      cmocka_unit_test(chain__a_slow_call_is_hedged_and_the_first_answer_counts),
      cmocka_unit_test(chain__nothing_is_hedged_that_does_not_say_so),
      cmocka_unit_test(chain__a_check_that_finds_the_effect_answers_that_it_ran),
      cmocka_unit_test(chain__a_check_that_proves_that_nothing_ran_lets_it_be_sent_again),
      cmocka_unit_test(chain__a_check_that_says_nothing_leaves_it_at_maybe),
      cmocka_unit_test(chain__a_client_that_goes_during_a_check_takes_it_with_it_unless_what_it_began_is_kept),
  };
  return cmocka_run_group_tests_name("chain", tests, NULL, NULL);
}
