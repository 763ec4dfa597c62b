#include "upstream/upstream.h"

#include "upstream/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { SENT_MAX = 32, CALLS_MAX = 16 };

#define LEGACY_HELLO                                                                                                   \
  "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":"    \
  "\"1\"}}"
#define MODERN_HELLO                                                                                                   \
  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"ttlMs\":0,"               \
  "\"cacheScope\":\"public\"}"

/* A transport that does nothing by itself: the test says what happens. */
struct fake {
  struct hf_transport transport;
  struct hf_outgoing *sent[SENT_MAX]; /* NULL once over */
  char text[SENT_MAX][512];
  size_t count;
  unsigned opens, closes, forgets, settles;
  bool freed;
  int refuse; /* what send() returns */
};

struct call {
  struct hf_attempt_ref *ref;
  bool done, complete;
  unsigned lives, messages;
  struct hf_evidence evidence;
  bool answered;
};

struct bed {
  struct hf_loop loop;
  struct fake fake;
  struct hf_upstream *upstream;
  enum hf_era remembered;
  struct hf_server_settings settings;
  struct call calls[CALLS_MAX];
  unsigned changes, messages;
  enum hf_upstream_phase phase;
  enum hf_era era;
  char version[32];
  char reason[512];
  struct hf_evidence evidence;
  hf_time retry_at;
  struct call *free_in_done;
};

static struct fake *fake_of(struct hf_transport *transport) {
  return HF_CONTAINER_OF(transport, struct fake, transport);
}

static void fake_open(struct hf_transport *transport) {
  fake_of(transport)->opens++;
}

static int fake_send(struct hf_transport *transport, struct hf_outgoing *out) {
  struct fake *fake = fake_of(transport);
  if (fake->refuse)
    return fake->refuse;
  assert_true(fake->count < SENT_MAX);
  struct hf_buf buf;
  hf_buf_init(&buf, 511);
  assert_int_equal(hf_pieces_join(&out->text, &buf), 0);
  snprintf(fake->text[fake->count], 512, "%.*s", HF_STR_FMT(hf_buf_str(&buf)));
  hf_buf_deinit(&buf);
  fake->sent[fake->count++] = out;
  return 0;
}

static void fake_abort(struct hf_transport *transport, struct hf_outgoing *out) {
  struct fake *fake = fake_of(transport);
  for (size_t i = 0; i < fake->count; i++) {
    if (fake->sent[i] == out) {
      fake->sent[i] = NULL;
      return;
    }
  }
  fail_msg("aborted what was not under way");
}

static void fake_settle(struct hf_transport *transport, enum hf_era era, struct hf_str version) {
  (void)era;
  (void)version;
  fake_of(transport)->settles++;
}

static void fake_forget(struct hf_transport *transport) {
  fake_of(transport)->forgets++;
}

static void fake_close(struct hf_transport *transport) {
  fake_of(transport)->closes++;
}

static void fake_free(struct hf_transport *transport) {
  fake_of(transport)->freed = true;
}

static int64_t fake_pid(const struct hf_transport *transport) {
  (void)transport;
  return 42;
}

static const struct hf_transport_ops fake_ops = {fake_open,   fake_send,  fake_abort, fake_settle,
                                                 fake_forget, fake_close, fake_free,  fake_pid};

static void on_changed(void *owner, const struct hf_upstream_status *status) {
  struct bed *bed = owner;
  bed->changes++;
  bed->phase = status->phase;
  bed->era = status->era;
  bed->evidence = status->evidence;
  bed->retry_at = status->retry_at;
  snprintf(bed->version, sizeof bed->version, "%.*s", HF_STR_FMT(status->version));
  snprintf(bed->reason, sizeof bed->reason, "%.*s", HF_STR_FMT(status->reason));
  assert_int_equal(status->hello != NULL, status->phase == HF_UPSTREAM_READY);
}

static void on_message(void *owner, const struct hf_message *message) {
  (void)message;
  ((struct bed *)owner)->messages++;
}

static const struct hf_upstream_events upstream_events = {on_changed, on_message};

static void on_sent(void *ctx, size_t bytes, bool complete) {
  (void)bytes;
  ((struct call *)ctx)->complete = complete;
}

static void on_life(void *ctx) {
  ((struct call *)ctx)->lives++;
}

static void on_call_message(void *ctx, const struct hf_message *message) {
  (void)message;
  ((struct call *)ctx)->messages++;
}

static void on_done(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct call *call = ctx;
  assert_false(call->done);
  call->done = true;
  call->evidence = *evidence;
  call->answered = response != NULL;
}

static const struct hf_attempt_events call_events = {on_sent, on_life, on_call_message, on_done};

static void run(struct bed *bed, hf_time later) {
  hf_loop_run(&bed->loop, bed->loop.now + later, 0);
}

static void open_bed(struct bed *bed, enum hf_transport_kind kind, enum hf_era era) {
  *bed = (struct bed){.remembered = HF_ERA_UNKNOWN};
  hf_loop_init(&bed->loop, 1, NULL);
  bed->fake.transport = (struct hf_transport){.ops = &fake_ops, .events = &hf_upstream_transport_events};
  bed->settings = (struct hf_server_settings){.name = HF_STR("s"),
                                              .transport = kind,
                                              .era = era,
                                              .start_timeout = HF_SECONDS(30),
                                              .idle_stop = HF_TIME_NEVER,
                                              .keepalive = HF_TIME_NEVER};
}

static void make(struct bed *bed) {
  const struct hf_upstream_options options = {.loop = &bed->loop,
                                              .settings = &bed->settings,
                                              .capabilities = HF_STR("{}"),
                                              .restart = HF_RESTART_CHILD,
                                              .remembered = &bed->remembered,
                                              .events = &upstream_events,
                                              .owner = bed};
  assert_int_equal(hf_upstream_new(&options, &bed->upstream), 0);
  bed->fake.transport.owner = bed->upstream;
  hf_upstream_attach(bed->upstream, &bed->fake.transport);
  bed->upstream->ops->start(bed->upstream);
  run(bed, 0);
}

static void close_bed(struct bed *bed) {
  bed->upstream->ops->free(bed->upstream);
  assert_true(bed->fake.freed);
  assert_int_equal(bed->loop.timer_count, 0);
  hf_loop_deinit(&bed->loop);
}

static void opened(struct bed *bed) {
  hf_upstream_transport_events.opened(bed->upstream);
  run(bed, 0);
}

static void closed(struct bed *bed, enum hf_evidence_kind kind, const char *reason) {
  struct hf_evidence evidence = HF_EVIDENCE(kind);
  evidence.child_dead = strncmp(reason, "killed", 6) == 0;
  memset(bed->fake.sent, 0, sizeof bed->fake.sent);
  hf_upstream_transport_events.closed(bed->upstream, &evidence, hf_str_from(reason));
  run(bed, 0);
}

static void incoming(struct bed *bed, struct hf_outgoing *out, const char *text) {
  struct hf_message message = {0};
  struct hf_refusal refusal;
  assert_int_equal(hf_message_decode_copy(hf_str_from(text), &message, &refusal), 0);
  hf_upstream_transport_events.message(bed->upstream, out, &message);
  hf_message_deinit(&message);
  run(bed, 0);
}

/* Answers what was sent as number `i`. */
static void answer(struct bed *bed, size_t i, const char *member, const char *value) {
  char text[1024];
  struct hf_outgoing *out = bed->fake.sent[i];
  assert_non_null(out);
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"%s\":%s}", (unsigned long long)out->id, member,
           value);
  incoming(bed, bed->settings.transport == HF_TRANSPORT_HTTP ? out : NULL, text);
}

static void make_ready(struct bed *bed, enum hf_transport_kind kind) {
  open_bed(bed, kind, HF_ERA_LEGACY);
  make(bed);
  opened(bed);
  answer(bed, 0, "result", LEGACY_HELLO);
  assert_int_equal(bed->phase, HF_UPSTREAM_READY);
}

static int request(struct bed *bed, uint64_t id) {
  struct hf_pieces text;
  char raw[80];
  hf_pieces_init(&text);
  snprintf(raw, sizeof raw, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\"}", (int)id);
  assert_int_equal(hf_pieces_add_copy(&text, hf_str_from(raw)), 0);
  struct hf_upstream_request req = {.id = id,
                                    .method = HF_METHOD_TOOLS_CALL,
                                    .text = &text,
                                    .connect_by = HF_TIME_NEVER,
                                    .events = &call_events,
                                    .ctx = &bed->calls[id]};
  return bed->upstream->ops->request(bed->upstream, &req, &bed->calls[id].ref);
}

static void upstream__probes_then_initializes_a_legacy_server(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_UNKNOWN);
  make(&bed);
  assert_int_equal(bed.phase, HF_UPSTREAM_STARTING);
  assert_int_equal(bed.fake.opens, 1);
  opened(&bed);
  assert_non_null(strstr(bed.fake.text[0], "server/discover"));
  answer(&bed, 0, "error", "{\"code\":-32601,\"message\":\"no\"}");
  assert_non_null(strstr(bed.fake.text[1], "\"initialize\""));
  answer(&bed, 1, "result", LEGACY_HELLO);
  assert_non_null(strstr(bed.fake.text[2], "notifications/initialized"));
  assert_int_equal(bed.phase, HF_UPSTREAM_READY);
  assert_int_equal(bed.era, HF_ERA_LEGACY);
  assert_string_equal(bed.version, "2025-11-25");
  assert_int_equal(bed.remembered, HF_ERA_LEGACY);
  close_bed(&bed);
}

static void upstream__a_modern_server_needs_no_initialize(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_UNKNOWN);
  make(&bed);
  opened(&bed);
  answer(&bed, 0, "result", MODERN_HELLO);
  assert_int_equal(bed.phase, HF_UPSTREAM_READY);
  assert_int_equal(bed.era, HF_ERA_MODERN);
  assert_int_equal(bed.fake.count, 1);
  assert_int_equal(bed.fake.settles, 1);
  close_bed(&bed);
}

static void upstream__silence_on_the_probe_is_bounded(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_UNKNOWN);
  make(&bed);
  opened(&bed);
  run(&bed, HF_SECONDS(2));
  assert_int_equal(bed.fake.count, 2);
  assert_non_null(strstr(bed.fake.text[1], "\"initialize\""));
  answer(&bed, 1, "result", LEGACY_HELLO);
  assert_int_equal(bed.phase, HF_UPSTREAM_READY);
  incoming(&bed, NULL,
           "{\"jsonrpc\":\"2.0\",\"id\":1125899906842625,\"error\":{\"code\":-32601,\"message\":\"late\"}}");
  assert_int_equal(bed.phase, HF_UPSTREAM_READY);
  close_bed(&bed);
}

static void upstream__a_child_that_exits_on_the_probe_gets_initialize_at_once(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_UNKNOWN);
  make(&bed);
  opened(&bed);
  closed(&bed, HF_EVIDENCE_BROKE, "exited with code 1");
  assert_int_equal(bed.fake.opens, 2);
  assert_int_equal(bed.phase, HF_UPSTREAM_STARTING);
  opened(&bed);
  assert_non_null(strstr(bed.fake.text[1], "\"initialize\""));
  answer(&bed, 1, "result", LEGACY_HELLO);
  assert_int_equal(bed.phase, HF_UPSTREAM_READY);
  close_bed(&bed);
}

static void upstream__an_early_exit_is_told_and_tried_again(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_LEGACY);
  make(&bed);
  opened(&bed);
  closed(&bed, HF_EVIDENCE_BROKE, "exited with code 1: no token");
  assert_int_equal(bed.phase, HF_UPSTREAM_DOWN);
  assert_string_equal(bed.reason, "exited with code 1: no token");
  assert_int_equal(bed.evidence.kind, HF_EVIDENCE_NOT_STARTED);
  assert_int_equal(hf_classify(&bed.evidence).executed, HF_EXECUTED_NO);
  assert_in_range(bed.retry_at - bed.loop.now, HF_MS(125), HF_MS(250));
  run(&bed, HF_MS(250));
  assert_int_equal(bed.fake.opens, 2);
  close_bed(&bed);
}

static void upstream__a_crash_loop_is_parked_until_revived(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_LEGACY);
  make(&bed);
  for (int i = 0; i < 20; i++) {
    opened(&bed);
    run(&bed, HF_MS(200));
    closed(&bed, HF_EVIDENCE_BROKE, "exited with code 1");
    run(&bed, HF_SECONDS(30));
  }
  assert_int_equal(bed.phase, HF_UPSTREAM_PARKED);
  assert_string_equal(bed.reason, "ended 20 times in a row soon after its start, last: exited with code 1");
  assert_int_equal(bed.fake.opens, 20);
  run(&bed, HF_SECONDS(3600));
  bed.upstream->ops->start(bed.upstream);
  run(&bed, 0);
  assert_int_equal(bed.fake.opens, 20);
  bed.upstream->ops->revive(bed.upstream);
  run(&bed, 0);
  assert_int_equal(bed.fake.opens, 21);
  assert_int_equal(bed.phase, HF_UPSTREAM_STARTING);
  close_bed(&bed);
}

static void upstream__a_missing_command_is_parked_at_once(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_UNKNOWN);
  make(&bed);
  closed(&bed, HF_EVIDENCE_COMMAND_NOT_FOUND, "command 'x' not found");
  assert_int_equal(bed.phase, HF_UPSTREAM_PARKED);
  assert_int_equal(bed.fake.opens, 1);
  close_bed(&bed);
}

static void upstream__a_start_has_a_deadline(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_LEGACY);
  make(&bed);
  opened(&bed);
  run(&bed, HF_SECONDS(30));
  assert_int_equal(bed.phase, HF_UPSTREAM_DOWN);
  assert_string_equal(bed.reason, "not ready within startTimeout");
  assert_int_equal(bed.fake.closes, 1);
  run(&bed, HF_SECONDS(1));
  assert_int_equal(bed.fake.opens, 1);
  closed(&bed, HF_EVIDENCE_BROKE, "");
  assert_int_equal(bed.fake.opens, 2);
  close_bed(&bed);
}

static void upstream__answers_go_to_their_requests_in_any_order(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_STDIO);
  for (uint64_t id = 1; id <= 3; id++)
    assert_int_equal(request(&bed, id), 0);
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"isError\":true,\"content\":[]}}");
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}");
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
  assert_true(bed.calls[3].done && bed.calls[3].answered);
  assert_int_equal(bed.calls[3].evidence.kind, HF_EVIDENCE_NONE);
  assert_true(bed.calls[1].done);
  assert_int_equal(bed.calls[1].evidence.kind, HF_EVIDENCE_TOOL_ERROR);
  assert_false(bed.calls[2].done);
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602,\"message\":\"bad\"}}");
  assert_int_equal(bed.calls[2].evidence.kind, HF_EVIDENCE_JSONRPC_ERROR);
  assert_int_equal(bed.calls[2].evidence.jsonrpc_code, -32602);
  close_bed(&bed);
}

static void upstream__death_ends_what_was_under_way(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_STDIO);
  assert_int_equal(request(&bed, 1), 0);
  assert_int_equal(request(&bed, 2), 0);
  bed.fake.sent[2]->handed = 50;
  closed(&bed, HF_EVIDENCE_BROKE, "killed by signal 9 (Killed)");
  assert_true(bed.calls[1].done && bed.calls[2].done);
  assert_int_equal(bed.calls[1].evidence.kind, HF_EVIDENCE_BROKE);
  assert_true(bed.calls[1].evidence.child_dead);
  assert_int_equal(bed.calls[2].evidence.kind, HF_EVIDENCE_NOT_STARTED);
  assert_int_equal(bed.phase, HF_UPSTREAM_DOWN);
  assert_int_equal(request(&bed, 3), HF_ERR_UNAVAILABLE);
  close_bed(&bed);
}

static void upstream__progress_finds_its_request_by_token(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_STDIO);
  assert_int_equal(request(&bed, 5), 0);
  incoming(
      &bed, NULL,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5,\"progress\":1}}");
  incoming(
      &bed, NULL,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":6,\"progress\":1}}");
  assert_int_equal(bed.calls[5].lives, 1);
  assert_int_equal(bed.calls[5].messages, 1);
  assert_int_equal(bed.messages, 1); /* of a call that has become a task, maybe */
  close_bed(&bed);
}

static void upstream__answers_a_ping_and_passes_other_requests_on(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_STDIO);
  size_t before = bed.fake.count;
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":\"p1\",\"method\":\"ping\"}");
  assert_int_equal(bed.fake.count, before + 1);
  assert_string_equal(bed.fake.text[before], "{\"jsonrpc\":\"2.0\",\"id\":\"p1\",\"result\":{}}");
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}");
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
  assert_int_equal(bed.messages, 2);
  close_bed(&bed);
}

static void upstream__abort_tells_the_server_only_what_it_knows_of(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_STDIO);
  assert_int_equal(request(&bed, 1), 0);
  assert_int_equal(request(&bed, 2), 0);
  size_t before = bed.fake.count;
  bed.fake.sent[before - 1]->handed = 10;
  bed.upstream->ops->abort(bed.upstream, bed.calls[1].ref, HF_STR("never written"));
  assert_int_equal(bed.fake.count, before);
  bed.upstream->ops->abort(bed.upstream, bed.calls[2].ref, HF_STR("the \"user\" left"));
  assert_string_equal(bed.fake.text[before], "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                                             "\"requestId\":2,\"reason\":\"the \\\"user\\\" left\"}}");
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
  assert_false(bed.calls[2].done);
  close_bed(&bed);
}

static void lose_session(struct bed *bed, uint64_t id) {
  assert_int_equal(request(bed, id), 0);
  bed->fake.sent[bed->fake.count - 1]->answer.carried_session = true;
  answer(bed, bed->fake.count - 1, "error", "{\"code\":32600,\"message\":\"Session terminated\"}");
  assert_int_equal(hf_classify(&bed->calls[id].evidence).fault, HF_FAULT_SESSION_LOST);
}

static void upstream__a_lost_session_is_renewed_once_for_all(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_HTTP);
  lose_session(&bed, 1);
  size_t before = bed.fake.count;
  assert_int_equal(request(&bed, 2), 0);
  assert_int_equal(request(&bed, 3), 0);
  run(&bed, 0);
  assert_int_equal(bed.fake.forgets, 1);
  assert_int_equal(bed.fake.count, before + 1);
  assert_non_null(strstr(bed.fake.text[before], "\"initialize\""));
  unsigned changes = bed.changes;
  answer(&bed, before, "result", LEGACY_HELLO);
  assert_int_equal(bed.fake.count, before + 4); /* initialized, and the two that waited */
  assert_int_equal(bed.changes, changes + 1);
  assert_int_equal(bed.phase, HF_UPSTREAM_READY);
  assert_int_equal(request(&bed, 4), 0);
  run(&bed, 0);
  assert_int_equal(bed.fake.forgets, 1);
  close_bed(&bed);
}

static void upstream__late_news_of_the_old_session_casts_no_doubt_on_the_new_one(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_HTTP);
  assert_int_equal(request(&bed, 1), 0);
  struct hf_outgoing *old = bed.fake.sent[bed.fake.count - 1];
  lose_session(&bed, 2);
  assert_int_equal(request(&bed, 3), 0);
  run(&bed, 0);
  answer(&bed, bed.fake.count - 1, "result", LEGACY_HELLO);
  assert_int_equal(bed.fake.forgets, 1);
  struct hf_evidence lost = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  lost.http_status = 404;
  lost.carried_session = true;
  hf_upstream_transport_events.done(bed.upstream, old, &lost);
  assert_int_equal(hf_classify(&bed.calls[1].evidence).fault, HF_FAULT_SESSION_LOST);
  assert_int_equal(request(&bed, 4), 0);
  run(&bed, 0);
  assert_int_equal(bed.fake.forgets, 1);
  close_bed(&bed);
}

static void upstream__a_refused_new_session_is_not_executed(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_HTTP);
  lose_session(&bed, 1);
  assert_int_equal(request(&bed, 2), 0);
  run(&bed, 0);
  struct hf_evidence refused = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  refused.http_status = 500;
  struct hf_outgoing *out = bed.fake.sent[bed.fake.count - 1];
  hf_upstream_transport_events.done(bed.upstream, out, &refused);
  run(&bed, 0);
  assert_int_equal(bed.phase, HF_UPSTREAM_DOWN);
  assert_true(bed.calls[2].done);
  assert_int_equal(hf_classify(&bed.calls[2].evidence).executed, HF_EXECUTED_NO);
  close_bed(&bed);
}

static void upstream__refusals_in_a_row_cast_doubt_on_the_session(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_HTTP);
  struct hf_evidence refused = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  refused.http_status = 503;
  refused.carried_session = true;
  for (uint64_t id = 1; id <= 3; id++) {
    assert_int_equal(request(&bed, id), 0);
    run(&bed, 0);
    assert_int_equal(bed.fake.forgets, 0);
    hf_upstream_transport_events.done(bed.upstream, bed.fake.sent[bed.fake.count - 1], &refused);
  }
  assert_int_equal(request(&bed, 4), 0);
  run(&bed, 0);
  assert_int_equal(bed.fake.forgets, 1);
  close_bed(&bed);
}

static void upstream__an_unused_child_is_stopped_and_started_by_the_next_use(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_LEGACY);
  bed.settings.idle_stop = HF_SECONDS(60);
  make(&bed);
  opened(&bed);
  answer(&bed, 0, "result", LEGACY_HELLO);
  run(&bed, HF_SECONDS(59));
  assert_int_equal(request(&bed, 1), 0);
  run(&bed, HF_SECONDS(100));
  assert_int_equal(bed.fake.closes, 0);
  incoming(&bed, NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
  run(&bed, HF_SECONDS(120));
  assert_int_equal(bed.phase, HF_UPSTREAM_IDLE);
  assert_int_equal(bed.fake.closes, 1);
  bed.upstream->ops->start(bed.upstream);
  closed(&bed, HF_EVIDENCE_BROKE, "exited with code 0");
  assert_int_equal(bed.phase, HF_UPSTREAM_STARTING);
  assert_int_equal(bed.fake.opens, 2);
  close_bed(&bed);
}

static void upstream__an_idle_server_is_pinged_and_any_answer_is_life(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, HF_TRANSPORT_STDIO, HF_ERA_LEGACY);
  bed.settings.keepalive = HF_SECONDS(30);
  make(&bed);
  opened(&bed);
  answer(&bed, 0, "result", LEGACY_HELLO);
  size_t before = bed.fake.count;
  run(&bed, HF_SECONDS(30));
  assert_int_equal(bed.fake.count, before + 1);
  assert_non_null(strstr(bed.fake.text[before], "\"ping\""));
  answer(&bed, before, "error", "{\"code\":-32601,\"message\":\"no ping\"}");
  run(&bed, HF_SECONDS(10));
  assert_int_equal(bed.phase, HF_UPSTREAM_READY);
  run(&bed, HF_SECONDS(20));
  run(&bed, HF_SECONDS(10));
  assert_int_equal(bed.phase, HF_UPSTREAM_DOWN);
  assert_string_equal(bed.reason, "no answer to a ping");
  close_bed(&bed);
}

static void upstream__stop_is_for_good(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_STDIO);
  assert_int_equal(request(&bed, 1), 0);
  bed.upstream->ops->stop(bed.upstream);
  assert_int_equal(bed.fake.closes, 1);
  run(&bed, 0);
  assert_int_not_equal(bed.phase, HF_UPSTREAM_IDLE); /* not before the child has ended */
  closed(&bed, HF_EVIDENCE_BROKE, "exited with code 0");
  assert_true(bed.calls[1].done);
  run(&bed, 0);
  assert_int_equal(bed.phase, HF_UPSTREAM_IDLE);
  bed.upstream->ops->start(bed.upstream);
  bed.upstream->ops->revive(bed.upstream);
  run(&bed, HF_SECONDS(100));
  assert_int_equal(bed.fake.opens, 1);
  assert_int_equal(bed.phase, HF_UPSTREAM_IDLE);
  close_bed(&bed);
}

static void upstream__stop_ends_what_waits_for_a_new_session(void **state) {
  (void)state;
  struct bed bed;
  make_ready(&bed, HF_TRANSPORT_HTTP);
  lose_session(&bed, 1);
  assert_int_equal(request(&bed, 2), 0);
  run(&bed, 0);
  bed.upstream->ops->stop(bed.upstream);
  closed(&bed, HF_EVIDENCE_NONE, "");
  assert_true(bed.calls[2].done);
  assert_int_equal(bed.calls[2].evidence.kind, HF_EVIDENCE_NOT_STARTED);
  assert_int_equal(bed.phase, HF_UPSTREAM_IDLE);
  close_bed(&bed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(upstream__probes_then_initializes_a_legacy_server),
      cmocka_unit_test(upstream__a_modern_server_needs_no_initialize),
      cmocka_unit_test(upstream__silence_on_the_probe_is_bounded),
      cmocka_unit_test(upstream__a_child_that_exits_on_the_probe_gets_initialize_at_once),
      cmocka_unit_test(upstream__an_early_exit_is_told_and_tried_again),
      cmocka_unit_test(upstream__a_crash_loop_is_parked_until_revived),
      cmocka_unit_test(upstream__a_missing_command_is_parked_at_once),
      cmocka_unit_test(upstream__a_start_has_a_deadline),
      cmocka_unit_test(upstream__answers_go_to_their_requests_in_any_order),
      cmocka_unit_test(upstream__death_ends_what_was_under_way),
      cmocka_unit_test(upstream__progress_finds_its_request_by_token),
      cmocka_unit_test(upstream__answers_a_ping_and_passes_other_requests_on),
      cmocka_unit_test(upstream__abort_tells_the_server_only_what_it_knows_of),
      cmocka_unit_test(upstream__a_lost_session_is_renewed_once_for_all),
      cmocka_unit_test(upstream__late_news_of_the_old_session_casts_no_doubt_on_the_new_one),
      cmocka_unit_test(upstream__a_refused_new_session_is_not_executed),
      cmocka_unit_test(upstream__refusals_in_a_row_cast_doubt_on_the_session),
      cmocka_unit_test(upstream__an_unused_child_is_stopped_and_started_by_the_next_use),
      cmocka_unit_test(upstream__an_idle_server_is_pinged_and_any_answer_is_life),
      cmocka_unit_test(upstream__stop_is_for_good),
      cmocka_unit_test(upstream__stop_ends_what_waits_for_a_new_session),
  };
  return cmocka_run_group_tests_name("upstream", tests, NULL, NULL);
}
