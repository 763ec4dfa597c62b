#include "gateway_world.h"

#include "base/alloc.h"
#include "gateway/catalog/link.h"
#include "gateway/catalog/subscription.h"
#include "gateway/question/elicitation.h"
#include "json/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HELLO_ALL                                                                                                      \
  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{\"listChanged\":true},\"prompts\":{},"             \
  "\"resources\":{\"subscribe\":true},\"logging\":{}},\"serverInfo\":{\"name\":\"real\",\"version\":\"9\"},"           \
  "\"instructions\":\"be kind\"}"
#define HELLO_TOOLS                                                                                                    \
  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"b\","                \
  "\"version\":\"1\"}}"
#define HELLO_MODERN                                                                                                   \
  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},\"ttlMs\":0,"   \
  "\"cacheScope\":\"private\"}"

static const struct fake_server files = {
    .name = "files",
    .hello = HELLO_ALL,
    .tools = "{\"tools\":[{\"name\":\"read\",\"x-odd\":1.0,\"annotations\":{\"readOnlyHint\":true},"
             "\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"charge\",\"inputSchema\":{\"type\":\"object\"}}]}",
    .prompts = "{\"prompts\":[{\"name\":\"greet\"}]}",
    .resources = "{\"resources\":[{\"uri\":\"file:///a\",\"name\":\"a\"}]}",
    .templates = "{\"resourceTemplates\":[{\"uriTemplate\":\"file:///{path}\",\"name\":\"any\"}]}",
};

static const struct fake_server search = {
    .name = "search",
    .hello = HELLO_TOOLS,
    .tools = "{\"tools\":[{\"name\":\"web\",\"inputSchema\":{\"type\":\"object\"}}]}",
};

static size_t count_sent(const struct fake_upstream *upstream, enum hf_method method) {
  size_t count = 0;
  for (size_t i = 0; i < upstream->sent_count; i++)
    count += upstream->sent[i]->method == method;
  return count;
}

static void two_servers(struct world *world) {
  struct fake_server servers[] = {files, search};
  world_init(world, servers, 2);
}

/* What most tests need: a world, and one client in it. */
struct bed {
  struct world world;
  struct fake_client client;
  struct fake_reply reply; /* to the newest request */
};

/* Two servers, and a legacy client that has said hello. */
static void bed_open(struct bed *bed, const char *server) {
  two_servers(&bed->world);
  client_open(&bed->world, &bed->client, server, HF_ERA_LEGACY);
  client_initialize(&bed->world, &bed->client, "{}");
  bed->reply = (struct fake_reply){0};
}

static void bed_close(struct bed *bed) {
  reply_deinit(&bed->reply);
  client_close(&bed->client);
  world_deinit(&bed->world);
}

/* Forgets the reply to the request before. */
static void bed_send(struct bed *bed, const char *request) {
  reply_deinit(&bed->reply);
  client_send(&bed->world, &bed->client, &bed->reply, request);
}

static void gateway__merges_lists_in_order_and_keeps_their_bytes(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, NULL);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  assert_string_equal(bed.reply.answer,
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"files__read\",\"x-odd\":1.0,"
                      "\"annotations\":{\"readOnlyHint\":true},\"inputSchema\":{\"type\":\"object\"}},{\"name\":"
                      "\"files__charge\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"search__web\","
                      "\"inputSchema\":{\"type\":\"object\"}}]}}");
  bed_close(&bed);
}

static void gateway__routes_a_call_by_its_own_name_and_answers_under_the_clients_id(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, NULL);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":\"files__read\","
                 "\"arguments\":{\"n\":1.0,\"n2\":12345678901234567890}}}");
  struct hf_attempt_ref *ref = upstream_last(world_upstream(&bed.world, "files"));
  assert_non_null(ref);
  assert_non_null(strstr(ref->text, "\"name\":\"read\",\"arguments\":{\"n\":1.0,\"n2\":12345678901234567890}"));
  assert_null(strstr(ref->text, "\"x\""));
  upstream_answer(ref, "{\"content\":[],\"odd\":-0}");
  assert_non_null(strstr(bed.reply.answer, "\"id\":\"x\""));
  assert_non_null(strstr(bed.reply.answer, "\"content\":[],\"odd\":-0"));
  assert_non_null(strstr(bed.reply.answer, "\"dev.holdfast/outcome\":{\"source\":\"live\",\"provider\":\"files\","
                                           "\"attempts\":1,\"elapsedMs\":0,\"call\":\"c-"));
  bed_close(&bed);
}

static void gateway__two_clients_with_the_same_id_get_their_own_answers(void **state) {
  (void)state;
  struct world world;
  struct fake_client a, b;
  struct fake_reply ra, rb;
  two_servers(&world);
  client_open(&world, &a, "files", HF_ERA_LEGACY);
  client_open(&world, &b, "files", HF_ERA_LEGACY);
  client_initialize(&world, &a, "{}");
  client_initialize(&world, &b, "{}");
  const char *call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read\"}}";
  client_send(&world, &a, &ra, call);
  struct hf_attempt_ref *first = upstream_last(world_upstream(&world, "files"));
  client_send(&world, &b, &rb, call);
  struct hf_attempt_ref *second = upstream_last(world_upstream(&world, "files"));
  assert_ptr_not_equal(first, second);
  assert_true(first->id != second->id);
  upstream_answer(second, "{\"content\":\"for b\"}");
  upstream_answer(first, "{\"content\":\"for a\"}");
  assert_non_null(strstr(ra.answer, "for a"));
  assert_non_null(strstr(rb.answer, "for b"));
  reply_deinit(&ra);
  reply_deinit(&rb);
  client_close(&a);
  client_close(&b);
  world_deinit(&world);
}

static void gateway__an_invented_tool_is_answered_with_near_names_and_is_not_called(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, NULL);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"files__raed\"}}");
  assert_non_null(strstr(bed.reply.answer,
                         "There is no tool \\\"files__raed\\\". Nothing was executed. Did you mean one "
                         "of these?\\n- \\\"files__read\\\""));
  assert_non_null(strstr(bed.reply.answer, "\"isError\":true"));
  assert_non_null(strstr(bed.reply.answer, "\"executed\":\"no\",\"reason\":\"unknown_tool\""));
  assert_int_equal(count_sent(world_upstream(&bed.world, "files"), HF_METHOD_TOOLS_CALL), 0);
  bed_close(&bed);
}

static void gateway__a_list_is_loaded_once_more_for_names_it_lacks_and_not_for_each(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  struct fake_reply reply;
  two_servers(&world);
  client_open(&world, &client, NULL, HF_ERA_LEGACY);
  client_initialize(&world, &client, "{}");
  size_t before = count_sent(world_upstream(&world, "files"), HF_METHOD_TOOLS_LIST);
  world_run(&world, HF_SECONDS(10));
  for (int i = 0; i < 3; i++) {
    client_send(&world, &client, &reply,
                "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"files__fresh\"}}");
    assert_non_null(strstr(reply.answer, "\"executed\":\"no\",\"reason\":\"unknown_tool\""));
    reply_deinit(&reply);
  }
  assert_int_equal(count_sent(world_upstream(&world, "files"), HF_METHOD_TOOLS_LIST), before + 1);
  client_close(&client);
  world_deinit(&world);
}

static void gateway__a_name_with_a_wrong_prefix_is_near_the_right_one(void **state) {
  (void)state;
  static const struct {
    const char *endpoint;
    const char *name;
    const char *near;
  } rows[] = {
      {NULL, "read", "of these?\\n- \\\"files__read\\\""},
      {NULL, "other__web", "of these?\\n- \\\"search__web\\\""},
      {NULL, "files__files__charge", "of these?\\n- \\\"files__charge\\\""},
      {"files", "files__read", "of these?\\n- \\\"read\\\""},
      {"files", "zzzzzzzzzz", "Use a tool from the current list."},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct world world;
    struct fake_client client;
    struct fake_reply reply;
    two_servers(&world);
    client_open(&world, &client, rows[i].endpoint, HF_ERA_LEGACY);
    client_initialize(&world, &client, "{}");
    char call[160];
    int n =
        snprintf(call, sizeof call,
                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\"}}", rows[i].name);
    assert_true(n > 0 && (size_t)n < sizeof call);
    client_send(&world, &client, &reply, call);
    if (!strstr(reply.answer, rows[i].near))
      fail_msg("%s: %s", rows[i].name, reply.answer);
    reply_deinit(&reply);
    client_close(&client);
    world_deinit(&world);
  }
}

static void gateway__a_lost_answer_of_an_unsafe_tool_is_told_and_never_repeated(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  size_t sent = upstream->sent_count;
  struct hf_attempt_ref *ref = upstream_last(upstream);
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&bed.world, HF_SECONDS(60));
  assert_int_equal(upstream->sent_count, sent);
  assert_non_null(strstr(bed.reply.answer, "may have been executed"));
  assert_non_null(strstr(bed.reply.answer, "\"executed\":\"maybe\",\"reason\":\"connection_lost\""));
  bed_close(&bed);
}

static void gateway__a_read_only_tool_is_tried_again(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"read\"}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  struct hf_attempt_ref *ref = upstream_last(upstream);
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  world_run(&bed.world, HF_SECONDS(1));
  struct hf_attempt_ref *again = upstream_last(upstream);
  assert_non_null(again);
  assert_true(again->id != ref->id);
  upstream_answer(again, "{\"content\":[]}");
  assert_non_null(strstr(bed.reply.answer, "\"attempts\":2"));
  assert_null(strstr(bed.reply.answer, "isError"));
  bed_close(&bed);
}

static void gateway__progress_comes_under_the_clients_token_and_never_falls(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"read\",\"_meta\":"
                 "{\"progressToken\":\"mine\"}}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  struct hf_attempt_ref *ref = upstream_last(upstream);
  upstream_message(upstream, ref,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                   "\"progress\":0.50,\"total\":1}}");
  upstream_message(upstream, ref,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                   "\"progress\":0.25}}");
  assert_int_equal(bed.reply.message_count, 1);
  assert_string_equal(bed.reply.messages[0], "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                                             "{\"progressToken\":\"mine\",\"progress\":0.50,\"total\":1}}");
  upstream_answer(ref, "{\"content\":[]}");
  bed_close(&bed);
}

static void gateway__progress_that_the_client_did_not_ask_for_is_hidden(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"read\"}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  struct hf_attempt_ref *ref = upstream_last(upstream);
  assert_non_null(strstr(ref->text, "\"progressToken\":"));
  upstream_message(upstream, ref,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,"
                   "\"progress\":1}}");
  assert_int_equal(bed.reply.message_count, 0);
  upstream_answer(ref, "{\"content\":[]}");
  bed_close(&bed);
}

static void gateway__a_cancelled_call_is_given_up_upstream_and_ends_once(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  struct hf_attempt_ref *ref = upstream_last(world_upstream(&bed.world, "files"));
  client_send(&bed.world, &bed.client, NULL,
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
  assert_true(ref->aborted);
  assert_int_equal(bed.reply.status, HF_STATUS_CANCELLED);
  assert_int_equal(bed.world.gateway->calls, 0);
  bed_close(&bed);
}

static void gateway__abandoning_a_call_gives_the_reply_back_and_cancels(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  client_open(&bed.world, &bed.client, "files", HF_ERA_MODERN);
  const char *meta = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}";
  char text[512];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\",%s}}", meta);
  bed_send(&bed, text);
  world_run(&bed.world, HF_SECONDS(4));
  struct hf_attempt_ref *ref = upstream_last(world_upstream(&bed.world, "files"));
  assert_non_null(ref);
  assert_null(strstr(ref->text, "modelcontextprotocol")); /* a legacy server is not shown the modern members */
  client_send(&bed.world, &bed.client, NULL,              /* of another connection, whose ids begin at 1 as well */
              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
  assert_false(ref->aborted);
  hf_client_abandon(bed.client.client, &bed.reply.head);
  assert_true(ref->aborted);
  assert_null(bed.reply.answer);
  bed_close(&bed);
}

static void gateway__a_modern_server_is_told_the_version_by_every_request(void **state) {
  (void)state;
  struct bed bed = {0};
  struct fake_server modern = {.name = "new",
                               .hello = HELLO_MODERN,
                               .era = HF_ERA_MODERN,
                               .tools = "{\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\","
                                        "\"tools\":[{\"name\":\"t\"}]}"};
  world_init(&bed.world, &modern, 1);
  client_open(&bed.world, &bed.client, "new", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}");
  struct hf_attempt_ref *ref = upstream_last(world_upstream(&bed.world, "new"));
  assert_non_null(strstr(ref->text, "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""));
  assert_non_null(strstr(ref->text, "\"io.modelcontextprotocol/clientCapabilities\":{}"));
  upstream_answer(ref, "{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{\"method\":\"roots/list\"}}}");
  world_run(&bed.world, 0);
  assert_non_null(strstr(bed.reply.answer, "\"isError\":true"));
  assert_non_null(strstr(bed.reply.answer, "asks for input that this client does not give"));
  bed_close(&bed);
}

static void gateway__a_modern_client_gets_a_complete_result_of_a_legacy_server(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  client_open(&bed.world, &bed.client, "files", HF_ERA_MODERN);
  bed_send(&bed,
           "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///a\",\"_meta\":"
           "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
           "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
  world_run(&bed.world, HF_SECONDS(4));
  upstream_answer(upstream_last(world_upstream(&bed.world, "files")), "{\"contents\":[]}");
  assert_non_null(strstr(bed.reply.answer, "\"resultType\":\"complete\""));
  assert_non_null(strstr(bed.reply.answer, "\"ttlMs\":0"));
  assert_non_null(strstr(bed.reply.answer, "\"cacheScope\":\"private\""));
  bed_close(&bed);
}

static void gateway__a_servers_error_has_the_status_that_the_modern_era_wants(void **state) {
  (void)state;
  static const struct {
    int code;
    int status;
  } rows[] = {{-32021, 400}, {-32601, 404}, {-32602, 200}, {7, 200}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct world world;
    struct fake_client client;
    struct fake_reply reply;
    two_servers(&world);
    client_open(&world, &client, "files", HF_ERA_MODERN);
    client_send(&world, &client, &reply,
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"prompts/get\",\"params\":{\"name\":\"greet\",\"_meta\":"
                "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    upstream_error(upstream_last(world_upstream(&world, "files")), rows[i].code, "no");
    assert_non_null(strstr(reply.answer, "\"message\":\"no\""));
    assert_int_equal(reply.status, rows[i].status);
    reply_deinit(&reply);
    client_close(&client);
    world_deinit(&world);
  }
}

static void gateway__a_dead_server_neither_empties_nor_delays_the_list_beyond_its_bound(void **state) {
  (void)state;
  struct bed bed = {0};
  struct fake_server servers[] = {files, {.name = "slow"}, search};
  world_init(&bed.world, servers, 3);
  client_open(&bed.world, &bed.client, NULL, HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  assert_null(bed.reply.answer);
  world_run(&bed.world, HF_SECONDS(3));
  assert_non_null(strstr(bed.reply.answer, "files__read"));
  assert_non_null(strstr(bed.reply.answer, "search__web"));

  bed.world.servers[1].hello = HELLO_TOOLS;
  bed.world.servers[1].tools = "{\"tools\":[{\"name\":\"late\"}]}";
  world_run(&bed.world, HF_SECONDS(1));
  assert_int_equal(bed.client.notified_count, 1);
  assert_string_equal(bed.client.notified[0], "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
  bed_close(&bed);
}

static void gateway__a_list_that_does_not_end_is_cut(void **state) {
  (void)state;
  struct bed bed = {0};
  struct fake_server loop = {
      .name = "loop", .hello = HELLO_TOOLS, .tools = "{\"tools\":[{\"name\":\"once\"}],\"nextCursor\":\"again\"}"};
  world_init(&bed.world, &loop, 1);
  client_open(&bed.world, &bed.client, "loop", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  assert_string_equal(bed.reply.answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"once\"}]}}");
  assert_int_equal(world_upstream(&bed.world, "loop")->sent_count, 2);
  bed_close(&bed);
}

static void gateway__one_unreadable_tool_is_left_out_alone(void **state) {
  (void)state;
  struct bed bed = {0};
  struct fake_server odd = {.name = "odd",
                            .hello = HELLO_TOOLS,
                            .tools = "{\"tools\":[{\"name\":7},{\"name\":\"good\"},{\"name\":\"a\",\"name\":\"b\"},"
                                     "{\"name\":\"good\"},null]}"};
  world_init(&bed.world, &odd, 1);
  client_open(&bed.world, &bed.client, "odd", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  assert_string_equal(bed.reply.answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"good\"}]}}");
  bed_close(&bed);
}

static void gateway__speaks_for_the_one_server_at_its_own_endpoint(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  client_open(&bed.world, &bed.client, "files", HF_ERA_LEGACY);
  bed_send(&bed,
           "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2024-11-05\","
           "\"capabilities\":{}}}");
  assert_string_equal(bed.reply.answer,
                      "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":"
                      "{\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":true},\"resources\":"
                      "{\"listChanged\":true,\"subscribe\":true},\"logging\":{}},\"serverInfo\":{\"name\":\"real\","
                      "\"version\":\"9\"},\"instructions\":\"be kind\"}}");
  bed_close(&bed);
}

static void gateway__instructions_that_just_fit_are_a_whole_string(void **state) {
  (void)state;
  enum { FITS = (1 << 16) - 10 }; /* with `"# files\\n` before it */
  for (size_t len = FITS - 1; len <= FITS + 1; len++) {
    char *text = calloc(len + 1, 1);
    char *hello = calloc(len + 256, 1);
    assert_true(text && hello);
    memset(text, 'x', len);
    snprintf(hello, len + 256, "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"instructions\":\"%s\"}",
             text);
    struct world world;
    struct fake_client client;
    struct fake_reply reply;
    const struct fake_server server = {.name = "files", .hello = hello};
    world_init(&world, &server, 1);
    client_open(&world, &client, NULL, HF_ERA_LEGACY);
    client_send(
        &world, &client, &reply,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
        "\"capabilities\":{}}}");
    assert_string_equal(reply.answer + strlen(reply.answer) - 4, len <= FITS ? "x\"}}" : "\"}}}");
    reply_deinit(&reply);
    client_close(&client);
    world_deinit(&world);
    free(hello);
    free(text);
  }
}

static void gateway__a_question_goes_to_the_client_whose_call_caused_it_and_back(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  bed.world.settings->servers[0].instance = HF_INSTANCE_SESSION; /* before any client came */
  client_open(&bed.world, &bed.client, "files", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{\"sampling\":{}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  assert_string_equal(upstream->capabilities, "{\"sampling\":{}}");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  struct hf_attempt_ref *ref = upstream_last(upstream);
  upstream_message(upstream, NULL,
                   "{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"method\":\"sampling/createMessage\",\"params\":{\"m\":1.0}}");
  assert_int_equal(bed.reply.message_count, 1);
  const char *id = strstr(bed.reply.messages[0], "\"id\":");
  unsigned long long number = strtoull(id + 5, NULL, 10);
  assert_non_null(strstr(bed.reply.messages[0], "\"params\":{\"m\":1.0}"));
  char text[128];
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"r\":1}}", number);
  client_send(&bed.world, &bed.client, NULL, text);
  assert_string_equal(upstream->posted[upstream->posted_count - 1],
                      "{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"result\":{\"r\":1}}");
  client_send(&bed.world, &bed.client, NULL, text); /* a second answer is late, and dropped */
  assert_int_equal(bed.world.gateway->late_answers, 1);
  upstream_answer(ref, "{\"content\":[]}");
  bed_close(&bed);
}

/* Of a child nothing says which call asks: what was taken for one call's may be what another one waits for. */
static void gateway__a_childs_question_goes_over_to_a_call_that_is_still_there(void **state) {
  (void)state;
  struct bed bed = {0};
  struct fake_reply second;
  two_servers(&bed.world);
  bed.world.settings->servers[0].instance = HF_INSTANCE_SESSION;
  client_open(&bed.world, &bed.client, "files", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{\"elicitation\":{}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  struct hf_attempt_ref *first = upstream_last(upstream);
  client_send(&bed.world, &bed.client, &second,
              "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  struct hf_attempt_ref *last = upstream_last(upstream);
  upstream_message(upstream, NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{}}");
  upstream_answer(last, "{\"content\":[]}"); /* it was the first one's */
  assert_int_equal(second.message_count, 1);
  char text[128];
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"r\":1}}",
           strtoull(strstr(second.messages[0], "\"id\":") + 5, NULL, 10));
  client_send(&bed.world, &bed.client, NULL, text);
  assert_string_equal(upstream->posted[upstream->posted_count - 1],
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"r\":1}}");
  upstream_message(upstream, NULL, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"elicitation/create\",\"params\":{}}");
  upstream_answer(first, "{\"content\":[]}"); /* nobody is left to wait */
  assert_non_null(strstr(upstream->posted[upstream->posted_count - 1], "\"id\":2,\"error\""));
  reply_deinit(&second);
  bed_close(&bed);
}

static void gateway__a_question_dies_with_its_call(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  bed.world.settings->servers[0].instance = HF_INSTANCE_SESSION;
  client_open(&bed.world, &bed.client, "files", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{\"elicitation\":{}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  struct hf_attempt_ref *ref = upstream_last(upstream);
  upstream_message(upstream, ref, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{}}");
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  assert_int_equal(bed.reply.message_count, 2);
  assert_non_null(strstr(bed.reply.messages[1], "\"method\":\"notifications/cancelled\""));
  assert_non_null(strstr(bed.reply.answer, "\"executed\":\"maybe\""));
  bed_close(&bed);
}

static void gateway__a_person_who_thinks_is_outside_the_deadline(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  bed.world.settings->servers[0].instance = HF_INSTANCE_SESSION;
  client_open(&bed.world, &bed.client, "files", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{\"elicitation\":{}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  struct hf_attempt_ref *ref = upstream_last(upstream);
  upstream_handed_over(ref);
  upstream_message(upstream, ref, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{}}");
  world_run(&bed.world, HF_SECONDS(300));
  assert_null(bed.reply.answer);
  upstream_answer(ref, "{\"content\":[]}");
  assert_non_null(strstr(bed.reply.answer, "\"content\":[]"));
  bed_close(&bed);
}

static void gateway__a_shared_server_cannot_ask_any_client(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  two_servers(&world);
  client_open(&world, &client, "files", HF_ERA_LEGACY);
  client_initialize(&world, &client, "{\"roots\":{}}");
  struct fake_upstream *upstream = world_upstream(&world, "files");
  assert_string_equal(upstream->capabilities, "{}");
  upstream_message(upstream, NULL, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}");
  assert_int_equal(client.notified_count, 0);
  assert_non_null(strstr(upstream->posted[upstream->posted_count - 1], "\"id\":5,\"error\":{\"code\":-32601"));
  client_close(&client);
  world_deinit(&world);
}

static void gateway__updates_go_to_their_subscribers_and_the_server_hears_of_the_last(void **state) {
  (void)state;
  struct world world;
  struct fake_client a, b;
  struct fake_reply reply;
  two_servers(&world);
  client_open(&world, &a, NULL, HF_ERA_LEGACY);
  client_open(&world, &b, NULL, HF_ERA_LEGACY);
  client_initialize(&world, &a, "{}");
  client_initialize(&world, &b, "{}");
  const char *subscribe =
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///a\"}}";
  struct fake_upstream *upstream = world_upstream(&world, "files");
  client_send(&world, &a, &reply, subscribe);
  upstream_answer(upstream_last(upstream), "{}");
  reply_deinit(&reply);
  size_t sent = upstream->sent_count;
  upstream_message(upstream, NULL,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":"
                   "\"file:///a\"}}");
  assert_int_equal(a.notified_count, 1);
  assert_int_equal(b.notified_count, 0);
  client_send(&world, &b, &reply, subscribe); /* the second one is not the server's business */
  assert_int_equal(upstream->sent_count, sent);
  assert_non_null(strstr(reply.answer, "\"result\":{}"));
  reply_deinit(&reply);
  client_close(&a);
  assert_int_equal(upstream->sent_count, sent);
  client_close(&b);
  assert_int_equal(upstream->sent_count, sent + 1);
  assert_non_null(strstr(upstream->sent[sent]->text, "resources/unsubscribe"));
  world_deinit(&world);
}

static void gateway__a_legacy_subscription_reaches_a_modern_server(void **state) {
  (void)state;
  struct bed bed = {0};
  const struct fake_server modern = {
      .name = "modern",
      .hello = "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"resources\":"
               "{\"subscribe\":true}},\"ttlMs\":0,\"cacheScope\":\"private\"}",
      .resources = "{\"resources\":[{\"uri\":\"file:///a\",\"name\":\"a\"}]}",
      .era = HF_ERA_MODERN,
  };
  world_init(&bed.world, &modern, 1);
  client_open(&bed.world, &bed.client, NULL, HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  bed_send(&bed,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///a\"}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "modern");
  struct hf_attempt_ref *listen = upstream_last(upstream);
  assert_non_null(listen);
  assert_int_equal(listen->method, HF_METHOD_SUBSCRIPTIONS_LISTEN);
  assert_non_null(strstr(listen->text, "\"resourceSubscriptions\":[\"file:///a\"]"));
  assert_null(bed.reply.answer);
  upstream_message(upstream, listen,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":"
                   "{\"notifications\":{\"resourceSubscriptions\":[\"file:///a\"]}}}");
  world_run(&bed.world, HF_MS(1));
  assert_non_null(strstr(bed.reply.answer, "\"result\":{}"));
  upstream_message(upstream, listen,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":"
                   "\"file:///a\"}}");
  assert_int_equal(bed.client.notified_count, 1);
  bed_close(&bed);
}

#define LISTEN_TO(uris)                                                                                                \
  "{\"jsonrpc\":\"2.0\",\"id\":\"L\",\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":"               \
  "{\"resourceSubscriptions\":" uris "},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","        \
  "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"
#define THREE_RESOURCES                                                                                                \
  "{\"resources\":[{\"uri\":\"file:///a\",\"name\":\"a\"},{\"uri\":\"file:///b\",\"name\":\"b\"},"                     \
  "{\"uri\":\"file:///c\",\"name\":\"c\"}]}"

static void gateway__each_uri_is_subscribed_to_once_at_a_legacy_server(void **state) {
  (void)state;
  struct bed bed = {0};
  struct fake_server server = files;
  server.resources = THREE_RESOURCES;
  world_init(&bed.world, &server, 1);
  client_open(&bed.world, &bed.client, NULL, HF_ERA_MODERN);
  bed_send(&bed, LISTEN_TO("[\"file:///a\",\"file:///b\",\"file:///c\",\"file:///a\"]"));
  world_run(&bed.world, HF_SECONDS(4));
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  assert_int_equal(count_sent(upstream, HF_METHOD_RESOURCES_SUBSCRIBE), 3);

  struct fake_client other; /* a new session asks for each URI once, however many want it */
  struct fake_reply reply;
  client_open(&bed.world, &other, NULL, HF_ERA_LEGACY);
  client_initialize(&bed.world, &other, "{}");
  client_send(&bed.world, &other, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///b\"}}");
  reply_deinit(&reply);
  upstream_ready(upstream);
  assert_int_equal(count_sent(upstream, HF_METHOD_RESOURCES_SUBSCRIBE), 6);
  hf_client_abandon(bed.client.client, &bed.reply.head);
  client_close(&other);
  bed_close(&bed);
}

static void gateway__a_modern_server_hears_of_many_uris_in_one_new_stream(void **state) {
  (void)state;
  struct bed bed = {0};
  const struct fake_server modern = {
      .name = "modern",
      .hello = "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"resources\":"
               "{\"subscribe\":true}},\"ttlMs\":0,\"cacheScope\":\"private\"}",
      .resources = THREE_RESOURCES,
      .era = HF_ERA_MODERN,
  };
  world_init(&bed.world, &modern, 1);
  client_open(&bed.world, &bed.client, NULL, HF_ERA_MODERN);
  bed_send(&bed, LISTEN_TO("[\"file:///a\",\"file:///b\",\"file:///c\",\"file:///a\"]"));
  world_run(&bed.world, HF_SECONDS(4));
  struct fake_upstream *upstream = world_upstream(&bed.world, "modern");
  assert_int_equal(count_sent(upstream, HF_METHOD_SUBSCRIPTIONS_LISTEN), 1);
  assert_non_null(
      strstr(upstream_last(upstream)->text, "\"resourceSubscriptions\":[\"file:///a\",\"file:///b\",\"file:///c\"]"));
  hf_client_abandon(bed.client.client, &bed.reply.head);
  bed_close(&bed);
}

static void gateway__one_request_listens_to_only_so_much(void **state) {
  (void)state;
  enum { URIS = 4096 };
  static const struct hf_str head = HF_STR("["), uri = HF_STR("\"u:0\","), tail = HF_STR("\"u:1\"]");
  struct hf_buf uris;
  hf_buf_init(&uris, 1 << 16);
  assert_int_equal(hf_buf_append_str(&uris, head), 0);
  for (int i = 0; i < URIS; i++)
    assert_int_equal(hf_buf_append_str(&uris, uri), 0);
  assert_int_equal(hf_buf_append_str(&uris, tail), 0);
  struct hf_buf text;
  hf_buf_init(&text, 1 << 17);
  assert_int_equal(hf_buf_printf(&text, LISTEN_TO("%.*s"), HF_STR_FMT(hf_buf_str(&uris))), 0);
  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  struct bed bed = {0};
  two_servers(&bed.world);
  client_open(&bed.world, &bed.client, "files", HF_ERA_MODERN);
  bed_send(&bed, text.data);
  world_run(&bed.world, HF_MS(1));
  assert_non_null(strstr(bed.reply.answer, "\"code\":-32602"));
  assert_non_null(strstr(bed.reply.answer, "names too much for one request"));
  hf_buf_deinit(&text);
  hf_buf_deinit(&uris);
  bed_close(&bed);
}

static void gateway__a_listen_stream_is_acknowledged_first_and_marked_throughout(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  client_open(&bed.world, &bed.client, "files", HF_ERA_MODERN);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":\"L\",\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":"
                 "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"file:///a\",\"no://such\"]},\"_meta\":"
                 "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
  world_run(&bed.world, HF_MS(1));
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  assert_int_equal(count_sent(upstream, HF_METHOD_RESOURCES_SUBSCRIBE), 2);
  assert_int_equal(bed.reply.message_count, 0);
  upstream_answer(upstream->sent[upstream->sent_count - 2], "{}");
  upstream_error(upstream_last(upstream), -32002, "no such resource");
  world_run(&bed.world, HF_MS(1));
  assert_string_equal(bed.reply.messages[0],
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":"
                      "{\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"file:///a\"]},"
                      "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"L\"}}}");
  upstream_message(upstream, NULL,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":"
                   "\"file:///a\"}}");
  bed.world.servers[0].tools = "{\"tools\":[]}";
  upstream_message(upstream, NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
  world_run(&bed.world, HF_SECONDS(1));
  assert_int_equal(bed.reply.message_count, 3);
  assert_non_null(strstr(bed.reply.messages[1], "\"io.modelcontextprotocol/subscriptionId\":\"L\""));
  assert_non_null(strstr(bed.reply.messages[2], "notifications/tools/list_changed"));
  hf_client_abandon(bed.client.client, &bed.reply.head);
  bed_close(&bed);
}

static void gateway__a_call_past_the_limit_is_refused_and_the_others_go_on(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  struct fake_reply first, second;
  two_servers(&world);
  world.settings->limits.calls_per_client = 1;
  client_open(&world, &client, "files", HF_ERA_LEGACY);
  client_initialize(&world, &client, "{}");
  client_send(&world, &client, &first,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  client_send(&world, &client, &second,
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  assert_non_null(strstr(second.answer, "\"executed\":\"no\",\"reason\":\"local_limit\""));
  assert_null(first.answer);
  upstream_answer(upstream_last(world_upstream(&world, "files")), "{\"content\":[]}");
  assert_non_null(strstr(first.answer, "\"id\":1"));
  reply_deinit(&first);
  reply_deinit(&second);
  client_close(&client);
  world_deinit(&world);
}

static void note_done(void *ctx) {
  *(bool *)ctx = true;
}

static void gateway__draining_answers_what_does_not_end_in_time(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  struct fake_reply reply, late;
  bool drained = false;
  two_servers(&world);
  client_open(&world, &client, "files", HF_ERA_LEGACY);
  client_initialize(&world, &client, "{}");
  client_send(&world, &client, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  upstream_handed_over(upstream_last(world_upstream(&world, "files")));
  hf_gateway_drain(world.gateway, note_done, &drained);
  client_send(&world, &client, &late,
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  assert_non_null(strstr(late.answer, "shutting down"));
  world_run(&world, HF_SECONDS(4));
  assert_false(drained);
  world_run(&world, HF_SECONDS(2));
  assert_true(drained);
  assert_int_equal(world_upstream(&world, "files")->phase, HF_UPSTREAM_IDLE);
  assert_non_null(strstr(reply.answer, "\"executed\":\"maybe\",\"reason\":\"cancelled\""));
  reply_deinit(&reply);
  reply_deinit(&late);
  client_close(&client);
  world_deinit(&world);
}

static void gateway__a_reload_drops_no_call_and_keeps_what_is_unchanged(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  struct fake_reply reply, list;
  two_servers(&world);
  client_open(&world, &client, NULL, HF_ERA_LEGACY);
  client_initialize(&world, &client, "{}");
  client_send(&world, &client, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"search__web\"}}");
  struct fake_upstream *kept = world_upstream(&world, "files");
  struct fake_upstream *gone = world_upstream(&world, "search");
  struct hf_attempt_ref *ref = upstream_last(gone);

  struct hf_error error;
  struct hf_settings *next = world_settings(&files, 1);
  next->servers[0].policy.retry.attempts = 1;
  assert_int_equal(hf_gateway_reload(world.gateway, next, &error), 0);
  assert_ptr_equal(world_upstream(&world, "files"), kept);
  assert_false(gone->freed);
  upstream_answer(ref, "{\"content\":\"still here\"}");
  assert_non_null(strstr(reply.answer, "still here"));
  assert_true(gone->stopping); /* politely, and only now */
  assert_false(gone->freed);
  world_run(&world, 0);
  assert_true(gone->freed);

  client_send(&world, &client, &list, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
  assert_non_null(strstr(list.answer, "files__read"));
  assert_null(strstr(list.answer, "search__web"));
  reply_deinit(&reply);
  reply_deinit(&list);
  client_close(&client);
  world_deinit(&world);
}

static void gateway__a_reload_may_come_while_it_stops(void **state) {
  (void)state;
  struct world world;
  bool drained = false;
  two_servers(&world);
  hf_gateway_start(world.gateway);
  hf_instance_start(hf_gateway_server(world.gateway, HF_STR("files"))->shared);
  world_run(&world, HF_SECONDS(1));
  hf_gateway_drain(world.gateway, note_done, &drained);
  world.gateway->stopping = true; /* `files` is being stopped, and `search` was never started */
  struct hf_error error;
  assert_int_equal(hf_gateway_reload(world.gateway, world_settings(&files, 1), &error), 0);
  assert_null(hf_gateway_server(world.gateway, HF_STR("search")));
  world_run(&world, HF_STOP_WAIT);
  assert_true(drained);
  world_deinit(&world);
}

static void gateway__a_hidden_tool_is_neither_listed_nor_called(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  struct hf_tool_settings hidden = {.server = HF_STR("files"), .pattern = HF_STR("files__ch*"), .hidden = true};
  bed.world.settings->tools = &hidden;
  bed.world.settings->tool_count = 1;
  client_open(&bed.world, &bed.client, "files", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
  assert_null(strstr(bed.reply.answer, "charge"));
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  assert_non_null(strstr(bed.reply.answer, "The tool \\\"charge\\\" is not offered here: the person who runs the "
                                           "gateway has hidden it. Nothing was executed."));
  bed_close(&bed);
}

static void gateway__configured_safety_beats_annotations(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  struct hf_tool_settings tool = {
      .server = HF_STR("files"), .pattern = HF_STR("files__read"), .has_safety = true, .safety = HF_SAFETY_UNSAFE};
  bed.world.settings->tools = &tool;
  bed.world.settings->tool_count = 1;
  client_open(&bed.world, &bed.client, "files", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"read\"}}");
  struct hf_attempt_ref *ref = upstream_last(world_upstream(&bed.world, "files"));
  upstream_handed_over(ref);
  upstream_fail(ref, HF_EVIDENCE_BROKE);
  assert_non_null(strstr(bed.reply.answer, "\"attempts\":1"));
  assert_non_null(strstr(bed.reply.answer, "\"executed\":\"maybe\""));
  bed_close(&bed);
}

static void gateway__a_transient_tool_error_is_repeated_where_its_text_is_listed(void **state) {
  (void)state;
  struct bed bed = {0};
  two_servers(&bed.world);
  struct hf_str pattern = HF_STR("lock*busy");
  bed.world.settings->servers[0].transient_errors = (struct hf_strings){&pattern, 1};
  client_open(&bed.world, &bed.client, "files", HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"read\"}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  upstream_answer(upstream_last(upstream),
                  "{\"content\":[{\"type\":\"text\",\"text\":\"the lock is busy now\"}],\"isError\":true}");
  world_run(&bed.world, HF_SECONDS(1));
  assert_null(bed.reply.answer);
  upstream_answer(upstream_last(upstream),
                  "{\"content\":[{\"type\":\"text\",\"text\":\"no such file\"}],\"isError\":true}");
  assert_non_null(strstr(bed.reply.answer, "no such file"));
  assert_non_null(strstr(bed.reply.answer, "\"executed\":\"yes\",\"reason\":\"tool_error\""));
  bed_close(&bed);
}

static void gateway__a_subscription_that_the_server_refused_is_none(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, NULL);
  bed_send(&bed,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///a\"}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  upstream_error(upstream_last(upstream), HF_RPC_INVALID_PARAMS, "not this one");
  assert_non_null(strstr(bed.reply.answer, "not this one"));
  upstream_message(upstream, NULL,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":"
                   "\"file:///a\"}}");
  assert_int_equal(bed.client.notified_count, 0);
  bed_close(&bed);
}

static void gateway__a_request_that_waits_is_answered_when_the_gateway_ends(void **state) {
  (void)state;
  struct bed bed = {0};
  bool drained = false;
  struct fake_server servers[] = {files, {.name = "slow"}};
  world_init(&bed.world, servers, 2);
  bed.world.settings->limits.list_wait = HF_SECONDS(60);
  client_open(&bed.world, &bed.client, NULL, HF_ERA_LEGACY);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  assert_null(bed.reply.answer);
  hf_gateway_drain(bed.world.gateway, note_done, &drained);
  world_run(&bed.world, HF_SECONDS(12));
  assert_true(drained);
  assert_int_equal(bed.reply.status, 200);
  assert_non_null(strstr(bed.reply.answer, "the gateway is shutting down"));
  bed_close(&bed);
}

static void gateway__an_error_of_the_server_keeps_its_words_and_is_marked(void **state) {
  (void)state;
  static const struct {
    const char *error; /* as the server sent it */
    const char *before;
    const char *after;
  } rows[] = {
      {"{\"code\":-32602,\"message\":\"bad\"}", "\"data\":{\"dev.holdfast/outcome\":{", "}}"},
      {"{\"code\":-32602,\"message\":\"bad\",\"data\":{ }}", "\"data\":{\"dev.holdfast/outcome\":{", " }"},
      {"{\"code\":-32602,\"message\":\"bad\",\"data\":{\"n\":1.0}}", "\"data\":{\"dev.holdfast/outcome\":{",
       "},\"n\":1.0}"},
      {"{\"code\":-32602,\"message\":\"bad\",\"data\":[1.0]}", "\"data\":[1.0]", "[1.0]"},
      {"{\"code\":-32602,\"message\":\"bad\",\"data\":{\"a\":1,\"dev.holdfast/outcome\":{\"of\":\"another\"} "
       ",\"b\":2}}",
       "\"data\":{\"a\":1,\"dev.holdfast/outcome\":{\"", "} ,\"b\":2}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct world world;
    struct fake_client client;
    struct fake_reply reply;
    two_servers(&world);
    client_open(&world, &client, "files", HF_ERA_LEGACY);
    client_initialize(&world, &client, "{}");
    client_send(&world, &client, &reply,
                "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
    upstream_refuse(upstream_last(world_upstream(&world, "files")), -32602, rows[i].error);
    assert_non_null(strstr(reply.answer, "\"code\":-32602,\"message\":\"bad\""));
    assert_non_null(strstr(reply.answer, rows[i].before));
    assert_non_null(strstr(reply.answer, rows[i].after));
    assert_null(strstr(reply.answer, "another"));
    struct hf_message message;
    struct hf_refusal refusal;
    assert_int_equal(hf_message_decode_copy(hf_str_from(reply.answer), &message, &refusal), 0);
    hf_message_deinit(&message);
    reply_deinit(&reply);
    client_close(&client);
    world_deinit(&world);
  }
}

static void gateway__a_disabled_server_is_told_by_what_the_request_named(void **state) {
  (void)state;
  static const struct {
    const char *request;
    const char *named;
  } rows[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"files__read\"}}",
       "The server of 'files__read' is disabled (by its owner)"},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/prompt\","
       "\"name\":\"files__greet\"},\"argument\":{\"name\":\"a\",\"value\":\"b\"}}}",
       "The server of 'params.ref' is disabled (by its owner)"},
  };
  struct bed bed;
  bed_open(&bed, NULL);
  struct hf_error error;
  struct hf_settings *disabled = world_settings(&files, 1);
  disabled->servers[0].disabled = true;
  disabled->servers[0].disabled_reason = HF_STR("by its owner");
  assert_int_equal(hf_gateway_reload(bed.world.gateway, disabled, &error), 0);
  world_run(&bed.world, 0);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    bed_send(&bed, rows[i].request);
    assert_non_null(bed.reply.answer);
    assert_non_null(strstr(bed.reply.answer, rows[i].named));
  }
  bed_close(&bed);
}

static void gateway__of_a_server_that_never_listed_its_tools_none_is_said_not_to_exist(void **state) {
  (void)state;
  static const struct fake_server servers[] = {{.name = "late", .era = HF_ERA_LEGACY}};
  struct world world;
  struct fake_client client;
  struct fake_reply reply;
  world_init(&world, servers, 1);
  client_open(&world, &client, NULL, HF_ERA_LEGACY);
  client_initialize(&world, &client, "{}");
  client_send(&world, &client, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"late__read\"}}");
  upstream_down(world_upstream(&world, "late"), HF_EVIDENCE_NOT_STARTED, "exit code 1");
  world_run(&world, HF_SECONDS(60));
  assert_non_null(reply.answer);
  assert_non_null(strstr(reply.answer,
                         "'late__read' was not called: the server 'late' is down (exit code 1), so it is not "
                         "known whether it has this tool. Nothing was executed."));
  assert_non_null(strstr(reply.answer, "\"reason\":\"unreachable\""));
  reply_deinit(&reply);
  client_send(&world, &client, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"latest__read\"}}");
  world_run(&world, HF_SECONDS(60));
  assert_non_null(strstr(reply.answer, "There is no tool"));
  reply_deinit(&reply);
  client_close(&client);
  world_deinit(&world);
}

static void gateway__shows_a_tools_breaker_that_has_opened(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  two_servers(&world);
  client_open(&world, &client, "files", HF_ERA_LEGACY);
  client_initialize(&world, &client, "{}");
  for (int i = 0; i < 5; i++) {
    struct fake_reply reply;
    client_send(&world, &client, &reply,
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
    struct hf_attempt_ref *ref = upstream_last(world_upstream(&world, "files"));
    upstream_handed_over(ref);
    upstream_fail(ref, HF_EVIDENCE_BROKE);
    reply_deinit(&reply);
  }
  struct hf_buf text;
  hf_buf_init(&text, 1 << 20);
  assert_int_equal(hf_gateway_metrics(world.gateway, &text), 0);
  assert_int_equal(hf_gateway_status(world.gateway, &text), 0);
  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  assert_non_null(strstr(text.data, "holdfast_tool_breaker_state{server=\"files\",tool=\"charge\"} 1\n"));
  assert_non_null(strstr(text.data, "holdfast_calls_total{server=\"files\",tool=\"charge\",source=\"live\","
                                    "fault=\"connection_lost\"} 5\n"));
  assert_non_null(strstr(text.data, "\"why\":\"nothing says that it is safe to repeat\",\"breaker\":\"open\""));
  hf_buf_deinit(&text);
  client_close(&client);
  world_deinit(&world);
}

static void assert_status(struct world *world, const char *part, bool has) {
  struct hf_buf text;
  hf_buf_init(&text, 1 << 20);
  assert_int_equal(hf_gateway_status(world->gateway, &text), 0);
  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  if ((strstr(text.data, part) != NULL) != has)
    fail_msg("'%s' is %s in %s", part, has ? "not" : "", text.data);
  hf_buf_deinit(&text);
}

static void gateway__says_when_a_server_was_heard_of_that_nobody_looks_after(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  struct fake_reply reply;
  two_servers(&world);
  client_open(&world, &client, "files", HF_ERA_LEGACY);
  client_initialize(&world, &client, "{}");
  struct hf_server_settings *server = (struct hf_server_settings *)&world.settings->servers[0];
  server->keepalive = HF_TIME_NEVER;
  assert_status(&world, "heardMs", false); /* a child, whose end is noticed */
  server->transport = HF_TRANSPORT_HTTP;
  client_send(&world, &client, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  upstream_answer(upstream_last(world_upstream(&world, "files")), "{\"content\":[]}");
  world_run(&world, HF_SECONDS(2));
  assert_status(&world, "\"heardMs\":2000", true);
  world_run(&world, HF_SECONDS(35));
  assert_status(&world, "\"heardMs\":37000", true);
  server->keepalive = HF_SECONDS(30); /* then it is asked */
  assert_status(&world, "heardMs", false);
  reply_deinit(&reply);
  client_close(&client);
  world_deinit(&world);
}

static void gateway__hints_of_the_caller_only_tighten(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"read\",\"_meta\":"
                 "{\"dev.holdfast/call\":{\"deadlineMs\":2000,\"maxAttempts\":1}}}}");
  struct hf_attempt_ref *ref = upstream_last(world_upstream(&bed.world, "files"));
  assert_null(strstr(ref->text, "dev.holdfast"));
  upstream_handed_over(ref);
  world_run(&bed.world, HF_MS(1900));
  assert_null(bed.reply.answer);
  world_run(&bed.world, HF_MS(200));
  assert_non_null(strstr(bed.reply.answer, "\"reason\":\"deadline\""));
  assert_true(ref->aborted);
  bed_close(&bed);
}

/* Fails each allocation of a whole call in turn: it is answered, or refused, and nothing leaks. */
static void gateway__survives_running_out_of_memory_anywhere_in_a_call(void **state) {
  (void)state;
  long n = 0;
  bool good = false;
  for (; !good && n < 500; n++) {
    struct world world;
    struct fake_client client;
    struct fake_reply reply;
    two_servers(&world);
    client_open(&world, &client, "files", HF_ERA_LEGACY);
    client_initialize(&world, &client, "{}");
    struct hf_message message;
    struct hf_refusal refusal;
    assert_int_equal(hf_message_decode_copy(HF_STR("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\","
                                                   "\"params\":{\"name\":\"read\",\"arguments\":{}}}"),
                                            &message, &refusal),
                     0);
    client_send(&world, &client, &reply, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}");
    struct hf_reply_ops const *ops = reply.head.ops;
    reply_deinit(&reply);
    reply.head.ops = ops;
    hf_alloc_fail_after(n);
    hf_client_handle(client.client, &message, &reply.head);
    world_run(&world, 0);
    struct hf_attempt_ref *ref = upstream_last(world_upstream(&world, "files"));
    if (ref)
      upstream_answer(ref, "{\"content\":[]}");
    world_run(&world, HF_SECONDS(60));
    hf_alloc_fail_after(-1);
    world_run(&world, HF_SECONDS(60));
    assert_non_null(reply.answer);
    good = strstr(reply.answer, "\"attempts\":1") && strstr(reply.answer, "\"content\":[]") && n > 5;
    reply_deinit(&reply);
    client_close(&client);
    assert_int_equal(world.gateway->calls, 0);
    world_deinit(&world);
  }
  assert_true(good);
}

static void gateway__a_list_that_is_stale_at_once_is_loaded_once_per_request(void **state) {
  (void)state;
  struct fake_server server = {.name = "modern",
                               .hello = HELLO_MODERN,
                               .tools = "{\"tools\":[{\"name\":\"web\"}],\"ttlMs\":0,\"cacheScope\":\"private\"}",
                               .era = HF_ERA_MODERN};
  struct bed bed = {0};
  world_init(&bed.world, &server, 1);
  client_open(&bed.world, &bed.client, NULL, HF_ERA_LEGACY);
  client_initialize(&bed.world, &bed.client, "{}");
  size_t before = count_sent(world_upstream(&bed.world, "modern"), HF_METHOD_TOOLS_LIST);
  world_run(&bed.world, HF_SECONDS(1));
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  assert_non_null(bed.reply.answer);
  assert_non_null(strstr(bed.reply.answer, "\"modern__web\""));
  assert_int_equal(count_sent(world_upstream(&bed.world, "modern"), HF_METHOD_TOOLS_LIST), before + 1);
  bed_close(&bed);
}

static void gateway__an_unknown_name_is_answered_when_the_list_cannot_be_asked_for(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, NULL);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
  reply_deinit(&bed.reply);
  client_close(&bed.client);
  world_run(&bed.world, HF_SECONDS(10));
  world_upstream(&bed.world, "search")->full = true;
  client_open(&bed.world, &bed.client, "search", HF_ERA_LEGACY);
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"gone\"}}");
  assert_non_null(bed.reply.answer);
  assert_non_null(strstr(bed.reply.answer, "\"reason\":\"unknown_tool\""));
  bed_close(&bed);
}

static void gateway__a_subscription_too_many_is_refused(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  struct fake_reply reply;
  two_servers(&world);
  client_open(&world, &client, NULL, HF_ERA_LEGACY);
  client_initialize(&world, &client, "{}");
  struct hf_instance *instance = hf_gateway_server(world.gateway, HF_STR("files"))->shared;
  for (int i = 0; i < HF_SUBSCRIPTIONS_MAX; i++) {
    char uri[32];
    int n = snprintf(uri, sizeof uri, "file:///%d", i);
    const struct hf_wish wish = {.instance = instance, .uri = {uri, (size_t)n}};
    assert_int_equal(hf_subscription_add(client.client, &wish), 0);
  }
  client_send(&world, &client, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///a\"}}");
  assert_string_equal(reply.answer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32603,\"message\":\"too many "
                                    "subscriptions\"}}");
  reply_deinit(&reply);
  world_upstream(&world, "files")->full = true; /* it need not hear of them all */
  client_close(&client);
  world_deinit(&world);
}

static int subscribe(struct fake_client *client, struct hf_instance *instance, unsigned number) {
  char uri[32];
  int n = snprintf(uri, sizeof uri, "file:///%u", number);
  const struct hf_wish wish = {.instance = instance, .uri = {uri, (size_t)n}};
  return hf_subscription_add(client->client, &wish);
}

/* One that others have as well takes no more room. */
static void gateway__a_server_is_subscribed_to_only_so_much(void **state) {
  (void)state;
  enum { CLIENTS = HF_TOPICS_MAX / HF_SUBSCRIPTIONS_MAX };
  struct world world;
  struct fake_client *clients = calloc(CLIENTS + 1, sizeof *clients), *last = &clients[CLIENTS];
  struct fake_reply reply;
  two_servers(&world);
  world.settings->limits.sessions = CLIENTS + 1;
  client_open(&world, last, NULL, HF_ERA_LEGACY);
  client_initialize(&world, last, "{}");
  struct hf_instance *instance = hf_gateway_server(world.gateway, HF_STR("files"))->shared;
  for (unsigned i = 0; i < HF_TOPICS_MAX; i++) {
    struct fake_client *client = &clients[i / HF_SUBSCRIPTIONS_MAX];
    if (i % HF_SUBSCRIPTIONS_MAX == 0)
      client_open(&world, client, NULL, HF_ERA_LEGACY);
    assert_int_equal(subscribe(client, instance, i), 0);
  }
  assert_int_equal(subscribe(last, instance, 7), 0);
  client_send(&world, last, &reply,
              "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///a\"}}");
  assert_non_null(reply.answer);
  assert_string_equal(reply.answer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32603,\"message\":\"too many "
                                    "subscriptions\"}}");
  reply_deinit(&reply);
  world_upstream(&world, "files")->full = true; /* it need not hear of them all */
  for (unsigned i = 0; i <= CLIENTS; i++)
    client_close(&clients[i]);
  free(clients);
  world_deinit(&world);
}

static void gateway__a_uri_to_subscribe_to_is_only_so_long(void **state) {
  (void)state;
  struct bed bed;
  char uri[HF_URI_BYTES_MAX + 2];
  bed_open(&bed, NULL);
  struct hf_instance *instance = hf_gateway_server(bed.world.gateway, HF_STR("files"))->shared;
  memset(uri, 'a', sizeof uri);
  struct hf_wish wish = {.instance = instance, .uri = {uri, HF_URI_BYTES_MAX + 1}};
  assert_int_equal(hf_subscription_add(bed.client.client, &wish), HF_ERR_LIMIT);
  wish.uri.len = HF_URI_BYTES_MAX;
  assert_int_equal(hf_subscription_add(bed.client.client, &wish), 0);
  bed_close(&bed);
}

/* The answer of a tool that leads to `count` resources, with text of `padding` bytes in front. */
static void answer_with_links(struct bed *bed, unsigned first, unsigned count, size_t padding) {
  const size_t size = padding + 128 + 96 * (size_t)count;
  char *text = malloc(size);
  size_t len = (size_t)snprintf(text, size, "{\"content\":[{\"type\":\"text\",\"text\":\"");
  memset(text + len, 'a', padding);
  len += padding;
  len += (size_t)snprintf(text + len, size - len, "\"}");
  for (unsigned i = first; i < first + count; i++)
    len +=
        (size_t)snprintf(text + len, size - len, ",{\"type\":\"resource_link\",\"uri\":\"odd:%u\",\"name\":\"n\"}", i);
  snprintf(text + len, size - len, "]}");
  bed_send(bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"files__charge\"}}");
  upstream_answer(upstream_last(world_upstream(&bed->world, "files")), text);
  assert_non_null(strstr(bed->reply.answer, "\"uri\":\"odd:"));
  reply_deinit(&bed->reply);
  free(text);
}

static bool is_linked(const struct bed *bed, const char *uri) {
  return hf_links_find(&bed->world.gateway->links, hf_str_from(uri)).ptr != NULL;
}

static void gateway__links_are_remembered_up_to_their_limit(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, NULL);
  answer_with_links(&bed, 0, HF_LINKS_MAX, 0);
  assert_true(is_linked(&bed, "odd:0"));
  assert_true(is_linked(&bed, "odd:4095"));
  answer_with_links(&bed, HF_LINKS_MAX, 1, 0);
  assert_false(is_linked(&bed, "odd:0"));
  assert_true(is_linked(&bed, "odd:1"));
  assert_true(is_linked(&bed, "odd:4096"));
  bed_close(&bed);
}

static void gateway__a_very_large_result_is_not_looked_through_for_links(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, NULL);
  answer_with_links(&bed, 1, 1, HF_LINK_TEXT_MAX - 128);
  assert_true(is_linked(&bed, "odd:1"));
  answer_with_links(&bed, 2, 1, HF_LINK_TEXT_MAX);
  assert_false(is_linked(&bed, "odd:2"));
  bed_close(&bed);
}

static void note_page(struct bed *bed, struct hf_instance *instance, unsigned number) {
  char text[64];
  int n = snprintf(text, sizeof text, "{\"elicitations\":[{\"elicitationId\":\"e-%u\"}]}", number);
  hf_elicitation_note_error(instance, bed->client.client, (struct hf_str){text, (size_t)n});
}

/* Returns how many of them the client has heard of by now. */
static size_t complete(struct bed *bed, unsigned number) {
  char text[160];
  snprintf(
      text, sizeof text,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":\"e-%u\"}}",
      number);
  upstream_message(world_upstream(&bed->world, "files"), NULL, text);
  return bed->client.notified_count;
}

static void gateway__only_so_many_pages_are_told_the_end_of(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, NULL);
  struct hf_instance *instance = hf_gateway_server(bed.world.gateway, HF_STR("files"))->shared;
  for (unsigned i = 0; i < HF_ELICITATIONS_MAX; i++)
    note_page(&bed, instance, i);
  assert_int_equal(complete(&bed, 0), 1);
  note_page(&bed, instance, HF_ELICITATIONS_MAX);
  note_page(&bed, instance, HF_ELICITATIONS_MAX + 1); /* the oldest goes */
  assert_int_equal(complete(&bed, 1), 1);
  assert_int_equal(complete(&bed, 2), 2);
  assert_int_equal(complete(&bed, HF_ELICITATIONS_MAX + 1), 3);
  bed_close(&bed);
}

static void gateway__an_upstream_that_does_not_stop_is_waited_for_no_longer(void **state) {
  (void)state;
  struct world world;
  two_servers(&world);
  hf_gateway_start(world.gateway);
  hf_instance_start(hf_gateway_server(world.gateway, HF_STR("search"))->shared);
  world_run(&world, HF_SECONDS(1));
  struct fake_upstream *gone = world_upstream(&world, "search");
  struct hf_instance *instance = gone->owner;
  struct hf_error error;
  assert_int_equal(hf_gateway_reload(world.gateway, world_settings(&files, 1), &error), 0);
  assert_true(gone->stopping);
  gone->stopping = false; /* it goes on, and a probe of it is answered late */
  hf_instance_step(instance, &(struct hf_provider_event){.kind = HF_PROVIDER_PROBE_DONE, .probe_ok = true});
  world_run(&world, HF_STOP_WAIT);
  assert_true(gone->freed);
  world_deinit(&world);
}

static void gateway__a_childs_question_belongs_to_a_call_that_was_sent(void **state) {
  (void)state;
  struct world world;
  struct fake_client client;
  struct fake_reply sent, queued;
  two_servers(&world);
  world.settings->servers[0].instance = HF_INSTANCE_SESSION;
  world.settings->servers[0].provider.max_concurrent = 1;
  client_open(&world, &client, "files", HF_ERA_LEGACY);
  client_initialize(&world, &client, "{\"elicitation\":{}}");
  client_send(&world, &client, &sent,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  client_send(&world, &client, &queued,
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\"}}");
  upstream_message(world_upstream(&world, "files"), NULL,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"elicitation/create\",\"params\":{}}");
  assert_int_equal(sent.message_count, 1);
  assert_int_equal(queued.message_count, 0);
  world_run(&world, HF_SECONDS(100)); /* a person takes time */
  assert_null(sent.answer);
  client_close(&client);
  reply_deinit(&sent);
  reply_deinit(&queued);
  world_deinit(&world);
}

static void gateway__an_attempt_that_could_not_be_sent_is_not_answered_by_the_one_before(void **state) {
  (void)state;
  struct bed bed;
  bed_open(&bed, "files");
  bed_send(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"charge\",\"_meta\":{"
                 "\"dev.holdfast/call\":{\"maxAttempts\":1}}}}");
  struct fake_upstream *upstream = world_upstream(&bed.world, "files");
  struct hf_attempt_ref *ref = upstream_last(upstream);
  upstream_handed_over(ref);
  struct hf_message lost;
  struct hf_refusal refusal;
  assert_int_equal(hf_message_decode_copy(HF_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,"
                                                 "\"message\":\"no such session\"}}"),
                                          &lost, &refusal),
                   0);
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  evidence.http_status = 404;
  evidence.carried_session = true;
  upstream->full = true;
  ref->open = false;
  ref->events->done(ref->ctx, &evidence, &lost);
  hf_message_deinit(&lost);
  world_run(&bed.world, 0);
  assert_non_null(bed.reply.answer);
  assert_null(strstr(bed.reply.answer, "no such session"));
  assert_non_null(strstr(bed.reply.answer, "\"executed\":\"no\",\"reason\":\"local_limit\""));
  bed_close(&bed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gateway__merges_lists_in_order_and_keeps_their_bytes),
      cmocka_unit_test(gateway__routes_a_call_by_its_own_name_and_answers_under_the_clients_id),
      cmocka_unit_test(gateway__two_clients_with_the_same_id_get_their_own_answers),
      cmocka_unit_test(gateway__an_invented_tool_is_answered_with_near_names_and_is_not_called),
      cmocka_unit_test(gateway__a_list_is_loaded_once_more_for_names_it_lacks_and_not_for_each),
      cmocka_unit_test(gateway__a_name_with_a_wrong_prefix_is_near_the_right_one),
      cmocka_unit_test(gateway__a_lost_answer_of_an_unsafe_tool_is_told_and_never_repeated),
      cmocka_unit_test(gateway__a_read_only_tool_is_tried_again),
      cmocka_unit_test(gateway__progress_comes_under_the_clients_token_and_never_falls),
      cmocka_unit_test(gateway__progress_that_the_client_did_not_ask_for_is_hidden),
      cmocka_unit_test(gateway__a_cancelled_call_is_given_up_upstream_and_ends_once),
      cmocka_unit_test(gateway__abandoning_a_call_gives_the_reply_back_and_cancels),
      cmocka_unit_test(gateway__a_modern_server_is_told_the_version_by_every_request),
      cmocka_unit_test(gateway__a_modern_client_gets_a_complete_result_of_a_legacy_server),
      cmocka_unit_test(gateway__a_servers_error_has_the_status_that_the_modern_era_wants),
      cmocka_unit_test(gateway__a_dead_server_neither_empties_nor_delays_the_list_beyond_its_bound),
      cmocka_unit_test(gateway__a_list_that_does_not_end_is_cut),
      cmocka_unit_test(gateway__one_unreadable_tool_is_left_out_alone),
      cmocka_unit_test(gateway__speaks_for_the_one_server_at_its_own_endpoint),
      cmocka_unit_test(gateway__instructions_that_just_fit_are_a_whole_string),
      cmocka_unit_test(gateway__a_question_goes_to_the_client_whose_call_caused_it_and_back),
      cmocka_unit_test(gateway__a_childs_question_goes_over_to_a_call_that_is_still_there),
      cmocka_unit_test(gateway__a_question_dies_with_its_call),
      cmocka_unit_test(gateway__a_person_who_thinks_is_outside_the_deadline),
      cmocka_unit_test(gateway__a_shared_server_cannot_ask_any_client),
      cmocka_unit_test(gateway__updates_go_to_their_subscribers_and_the_server_hears_of_the_last),
      cmocka_unit_test(gateway__a_legacy_subscription_reaches_a_modern_server),
      cmocka_unit_test(gateway__each_uri_is_subscribed_to_once_at_a_legacy_server),
      cmocka_unit_test(gateway__a_modern_server_hears_of_many_uris_in_one_new_stream),
      cmocka_unit_test(gateway__a_listen_stream_is_acknowledged_first_and_marked_throughout),
      cmocka_unit_test(gateway__a_call_past_the_limit_is_refused_and_the_others_go_on),
      cmocka_unit_test(gateway__draining_answers_what_does_not_end_in_time),
      cmocka_unit_test(gateway__a_reload_drops_no_call_and_keeps_what_is_unchanged),
      cmocka_unit_test(gateway__a_hidden_tool_is_neither_listed_nor_called),
      cmocka_unit_test(gateway__configured_safety_beats_annotations),
      cmocka_unit_test(gateway__a_transient_tool_error_is_repeated_where_its_text_is_listed),
      cmocka_unit_test(gateway__a_subscription_that_the_server_refused_is_none),
      cmocka_unit_test(gateway__a_request_that_waits_is_answered_when_the_gateway_ends),
      cmocka_unit_test(gateway__an_error_of_the_server_keeps_its_words_and_is_marked),
      cmocka_unit_test(gateway__a_disabled_server_is_told_by_what_the_request_named),
      cmocka_unit_test(gateway__of_a_server_that_never_listed_its_tools_none_is_said_not_to_exist),
      cmocka_unit_test(gateway__shows_a_tools_breaker_that_has_opened),
      cmocka_unit_test(gateway__says_when_a_server_was_heard_of_that_nobody_looks_after),
      cmocka_unit_test(gateway__hints_of_the_caller_only_tighten),
      cmocka_unit_test(gateway__survives_running_out_of_memory_anywhere_in_a_call),
      cmocka_unit_test(gateway__a_list_that_is_stale_at_once_is_loaded_once_per_request),
      cmocka_unit_test(gateway__an_unknown_name_is_answered_when_the_list_cannot_be_asked_for),
      cmocka_unit_test(gateway__one_request_listens_to_only_so_much),
      cmocka_unit_test(gateway__a_reload_may_come_while_it_stops),
      cmocka_unit_test(gateway__a_subscription_too_many_is_refused),
      cmocka_unit_test(gateway__a_server_is_subscribed_to_only_so_much),
      cmocka_unit_test(gateway__a_uri_to_subscribe_to_is_only_so_long),
      cmocka_unit_test(gateway__links_are_remembered_up_to_their_limit),
      cmocka_unit_test(gateway__a_very_large_result_is_not_looked_through_for_links),
      cmocka_unit_test(gateway__only_so_many_pages_are_told_the_end_of),
      cmocka_unit_test(gateway__an_upstream_that_does_not_stop_is_waited_for_no_longer),
      cmocka_unit_test(gateway__a_childs_question_belongs_to_a_call_that_was_sent),
      cmocka_unit_test(gateway__an_attempt_that_could_not_be_sent_is_not_answered_by_the_one_before),
  };
  return cmocka_run_group_tests_name("gateway", tests, NULL, NULL);
}
