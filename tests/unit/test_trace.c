#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace.h"

#include <string.h>

/* Exchanges without a gateway around them: a trace looks at no more than this. */
struct fixture {
  struct hf_loop loop;
  struct hf_settings settings;
  struct hf_gateway gateway;
  struct hf_client client;
  struct hf_server_settings servers[2];
  struct hf_instance instances[2];
  struct hf_target_tool targets[2];
  struct hf_buf text;
};

static int set_up(void **state) {
  static struct fixture f;
  memset(&f, 0, sizeof f);
  hf_loop_init(&f.loop, 1, NULL);
  f.loop.now = HF_SECONDS(100);
  f.loop.wall_ms = 1700000000000;
  f.settings.limits.traces = 3;
  f.gateway.loop = &f.loop;
  f.gateway.settings = &f.settings;
  hf_traces_init(&f.gateway.traces);
  f.client.gateway = &f.gateway;
  static const char *const names[] = {"alpha", "beta"};
  for (unsigned i = 0; i < 2; i++) {
    struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
    struct hf_breaker_options breaker = HF_BREAKER_OPTIONS_INIT;
    f.servers[i].name = hf_str_from(names[i]);
    f.instances[i].settings = &f.servers[i];
    f.instances[i].provider = hf_provider_new(&options, 1, f.loop.now);
    f.targets[i].instance = &f.instances[i];
    assert_int_equal(hf_provider_tool_get(f.instances[i].provider, HF_STR("create"), &breaker, &f.targets[i].breaker),
                     0);
  }
  hf_buf_init(&f.text, 1 << 20);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  hf_traces_deinit(&f->gateway.traces);
  for (unsigned i = 0; i < 2; i++)
    hf_provider_unref(f->instances[i].provider);
  hf_buf_deinit(&f->text);
  hf_loop_deinit(&f->loop);
  return 0;
}

static struct hf_exchange begin(struct fixture *f, uint64_t number) {
  static char principal[] = "alice";
  struct hf_exchange exchange = {.client = &f->client,
                                 .principal = principal,
                                 .started = f->loop.now,
                                 .number = number,
                                 .targets = f->targets,
                                 .target_count = 2,
                                 .target = f->targets,
                                 .request = {.name = HF_STR("orders__create")}};
  hf_trace_begin(&exchange);
  return exchange;
}

static void event(struct hf_exchange *exchange, struct hf_call_event event) {
  hf_trace_event(exchange, &event);
}

static void action(struct hf_exchange *exchange, struct hf_call_action action) {
  hf_trace_action(exchange, &action);
}

static void pass(struct fixture *f, hf_time t) {
  f->loop.now += t;
  f->loop.wall_ms += t / HF_MS(1);
}

static void end(struct hf_exchange *exchange, enum hf_call_end how, enum hf_fault fault, unsigned attempts) {
  struct hf_outcome outcome = {.end = how, .fault = fault, .attempts = attempts, .elapsed = HF_MS(5)};
  hf_trace_end(exchange, &outcome);
}

static const char *steps(struct fixture *f, const struct hf_trace *trace) {
  struct hf_json_writer w;
  hf_buf_reset(&f->text, 1 << 20);
  hf_json_writer_init(&w, &f->text);
  hf_trace_write(trace, &w);
  assert_int_equal(hf_json_write_finish(&w), 0);
  assert_int_equal(hf_buf_append(&f->text, "", 1), 0);
  return f->text.data;
}

static const char *explain(struct fixture *f, const char *call) {
  hf_buf_reset(&f->text, 1 << 20);
  int r = hf_trace_explain(&f->gateway, hf_str_from(call), &f->text);
  if (r == HF_ERR_NOTFOUND)
    return NULL;
  assert_int_equal(r, 0);
  assert_int_equal(hf_buf_append(&f->text, "", 1), 0);
  return f->text.data;
}

static void assert_has(const char *text, const char *part) {
  if (!text || !strstr(text, part))
    fail_msg("'%s' is not in %s", part, text ? text : "nothing");
}

static void good_call(struct fixture *f, struct hf_exchange *exchange) {
  event(exchange, (struct hf_call_event){.kind = HF_CALL_STARTED});
  action(exchange, (struct hf_call_action){.kind = HF_CALL_ACQUIRE});
  event(exchange, (struct hf_call_event){.kind = HF_CALL_PERMIT_GRANTED});
  action(exchange, (struct hf_call_action){.kind = HF_CALL_START_ATTEMPT});
  event(exchange, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_SENT, .sent = {10, true}});
  pass(f, HF_MS(5));
  event(exchange, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .done = {.result = HF_ATTEMPT_SUCCESS}});
  action(exchange, (struct hf_call_action){.kind = HF_CALL_REPORT, .report = {.blame = HF_BLAME_SUCCESS}});
}

static void trace__a_good_call_is_told_in_five_steps(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 0x1a2b);
  good_call(f, &exchange);
  end(&exchange, HF_CALL_END_ANSWERED, HF_FAULT_NONE, 1);
  assert_null(exchange.trace);
  assert_string_equal(
      explain(f, "c-1a2b"),
      "{\"call\":\"c-1a2b\",\"tool\":\"orders__create\",\"principal\":\"alice\",\"running\":false,"
      "\"startedMs\":1700000000000,\"elapsedMs\":5,\"end\":\"answered\",\"source\":\"live\",\"attempts\":1,\"steps\":["
      "{\"at\":0,\"what\":\"called\",\"why\":\"'orders__create' was called by 'alice'; best first, it can go to "
      "'alpha', 'beta'\"},"
      "{\"at\":0,\"what\":\"attempt\",\"attempt\":1,\"provider\":\"alpha\",\"ms\":0,\"why\":\"attempt 1 went to "
      "'alpha'\"},"
      "{\"at\":0,\"what\":\"sent\",\"attempt\":1,\"provider\":\"alpha\",\"why\":\"the last byte of attempt 1 was "
      "handed "
      "over: from here on the tool can run\"},"
      "{\"at\":5,\"what\":\"answered\",\"attempt\":1,\"provider\":\"alpha\",\"executed\":\"yes\",\"why\":\"'alpha' "
      "answered attempt 1\"},"
      "{\"at\":5,\"what\":\"ended\",\"why\":\"it was answered\"}]}");
}

/* Refused at the first provider, broken at the second, tried again, given up, written down. */
static void trace__every_level_says_what_and_why(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 1);
  struct hf_evidence broke = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  broke.http_status = 503;
  broke.retry_after = HF_SECONDS(2);
  hf_trace_stage(&exchange, HF_STR("joined c-7"));
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_STARTED});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_ACQUIRE});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_PERMIT_REFUSED,
                                          .refused = {HF_DENIAL_BREAKER, f->loop.now + HF_SECONDS(3), broke}});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_ACQUIRE, .provider = 1});
  pass(f, HF_MS(20));
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_PERMIT_GRANTED, .granted = {{.tool_probe = true}}});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_START_ATTEMPT, .provider = 1});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .done = {HF_ATTEMPT_FAULT, broke}});
  action(&exchange, (struct hf_call_action){
                        .kind = HF_CALL_REPORT,
                        .provider = 1,
                        .report = {.permit = {.tool_probe = true}, .blame = HF_BLAME_PROVIDER, .deferred = true}});
  pass(f, HF_MS(300));
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_ACQUIRE, .provider = 1});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_PERMIT_GRANTED});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_START_ATTEMPT, .provider = 1, .start = {.attempt = 1}});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_SENT, .attempt = 1, .sent = {9, true}});
  action(&exchange,
         (struct hf_call_action){.kind = HF_CALL_ABORT_ATTEMPT, .provider = 1, .abort = {1, HF_ABORT_DEADLINE}});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_REPORT, .provider = 1, .report = {.blame = HF_BLAME_TOOL}});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_CHECK, .provider = 1});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_CHECKED, .check = HF_CHECK_UNKNOWN});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_DEGRADE});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_DEGRADED, .degraded = {HF_SOURCE_CACHE, HF_SECONDS(90)}});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_DEAD_LETTER});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_LETTER_DONE, .letter_written = true});

  const char *text = steps(f, exchange.trace);
  assert_has(text, "{\"at\":0,\"what\":\"note\",\"why\":\"joined c-7\"}");
  assert_has(text, "\"what\":\"refused\",\"provider\":\"alpha\",\"ms\":3000,\"breaker\":\"closed\",\"toolBreaker\":"
                   "\"closed\",\"why\":\"'alpha' did not get the call: ");
  assert_has(text, "asking again may help in 3.0 s\"");
  assert_has(text, "{\"at\":0,\"what\":\"fallback\",\"provider\":\"beta\",\"why\":\"it went on to 'beta'\"}");
  assert_has(text, "\"why\":\"attempt 1 went to 'beta', after 0.020 s in its queue, as the probe of a breaker that was "
                   "open\"");
  assert_has(text, "{\"at\":20,\"what\":\"failed\",\"attempt\":1,\"provider\":\"beta\",\"fault\":\"unavailable\","
                   "\"executed\":\"no\",\"httpStatus\":503,\"ms\":2000,\"why\":\"attempt 1 at 'beta' failed: "
                   "unavailable (HTTP 503); the tool cannot have run; a repeat may help and does no harm; the server "
                   "asks to be left alone for 2.0 s\"}");
  assert_has(text, "\"why\":\"that counts against nobody yet, for the call goes on\"");
  assert_has(text, "{\"at\":320,\"what\":\"pause\",\"ms\":300,\"why\":\"after a failure it waited 0.300 s before it "
                   "asked again\"}");
  assert_has(text,
             "{\"at\":320,\"what\":\"aborted\",\"attempt\":2,\"provider\":\"beta\",\"fault\":\"deadline\","
             "\"executed\":\"maybe\",\"why\":\"attempt 2 at 'beta' was given up: the deadline of the call passed; "
             "the tool may have run\"}");
  assert_has(text, "\"why\":\"the outcome counts against the tool; both breakers are closed\"");
  assert_has(text, "\"what\":\"checked\",\"provider\":\"beta\",\"why\":\"the status check could not say");
  assert_has(text, "\"what\":\"degraded\",\"ms\":90000,\"why\":\"the last good answer stands in, 90.0 s old\"");
  assert_has(text, "\"why\":\"the dead letter is on the disk\"");

  struct hf_buf tried;
  hf_buf_init(&tried, 100);
  assert_int_equal(hf_trace_providers(exchange.trace, &tried), 0);
  assert_true(hf_str_equal(hf_buf_str(&tried), HF_STR("beta")));
  hf_buf_deinit(&tried);
  hf_trace_left(&exchange);
}

/* As the provider queues it, once enough failures opened the breaker of the tool, or of the server as well. */
static void trip(struct fixture *f, enum hf_blame blame) {
  struct hf_provider_event report = {
      .kind = HF_PROVIDER_REPORT,
      .report = {f->targets[0].breaker, {.blame = blame, .retry_after = -1, .latency = -1}},
  };
  struct hf_provider_actions out;
  report.report.report.permit.tool_generation = hf_provider_tool_breaker(f->targets[0].breaker)->generation;
  report.report.report.permit.provider_generation = hf_provider_breaker(f->instances[0].provider)->generation;
  for (int i = 0; i < 5; i++)
    assert_int_equal(hf_provider_step(f->instances[0].provider, &report, f->loop.now, &out), 0);
}

static void trace__a_call_that_waits_at_an_open_breaker_says_so(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 1);
  exchange.call.waiter.queued = true;
  hf_trace_asked(&exchange);
  assert_null(strstr(steps(f, exchange.trace), "waits")); /* for a slot, or the start of the server */
  trip(f, HF_BLAME_TOOL);
  exchange.call.waiter.queued = false;
  hf_trace_asked(&exchange);
  assert_null(strstr(steps(f, exchange.trace), "waits")); /* refused, or granted */
  exchange.call.waiter.queued = true;
  const struct hf_breaker *breaker = hf_provider_tool_breaker(f->targets[0].breaker);
  pass(f, breaker->open_until - f->loop.now - HF_MS(1500));
  hf_trace_asked(&exchange);
  assert_has(steps(f, exchange.trace),
             "\"what\":\"waits\",\"provider\":\"alpha\",\"ms\":1500,\"why\":\"it waits for the "
             "breaker of the tool at 'alpha', which lets a probe through in 1.5 s\"}");
  trip(f, HF_BLAME_PROVIDER);
  hf_trace_asked(&exchange);
  assert_has(steps(f, exchange.trace), "\"why\":\"it waits for the breaker of 'alpha', which lets a probe through in ");
  hf_trace_left(&exchange);
}

static void trace__a_call_that_waits_for_anothers_probe_says_so(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 1);
  trip(f, HF_BLAME_TOOL);
  pass(f, HF_SECONDS(600));
  struct hf_provider_actions out;
  struct hf_waiter probe = {.tool = f->targets[0].breaker, .until = HF_TIME_NEVER, .lease = HF_SECONDS(20)};
  struct hf_provider_event ready = {.kind = HF_PROVIDER_UPSTREAM_READY};
  struct hf_provider_event acquire = {.kind = HF_PROVIDER_ACQUIRE, .waiter = &probe};
  assert_int_equal(hf_provider_step(f->instances[0].provider, &ready, f->loop.now, &out), 0);
  assert_int_equal(hf_provider_step(f->instances[0].provider, &acquire, f->loop.now, &out), 0);
  assert_int_equal(out.len, 1);
  exchange.call.waiter.queued = true;
  hf_trace_asked(&exchange);
  assert_has(steps(f, exchange.trace),
             "{\"at\":600000,\"what\":\"waits\",\"provider\":\"alpha\",\"why\":\"it waits for the "
             "breaker of the tool at 'alpha', whose probe is under way\"}");
  hf_trace_left(&exchange);
}

/* The same evidence says less once the request was handed over. */
static void trace__executed_is_what_the_fault_table_says_of_the_attempt(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 1);
  struct hf_call_done broke = {HF_ATTEMPT_FAULT, HF_EVIDENCE(HF_EVIDENCE_BROKE)};
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .attempt = 0, .done = broke});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_SENT, .attempt = 1, .sent = {9, true}});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE, .attempt = 1, .done = broke});
  const char *text = steps(f, exchange.trace);
  assert_has(text, "\"fault\":\"not_sent\",\"executed\":\"no\"");
  assert_has(text, "\"fault\":\"connection_lost\",\"executed\":\"maybe\"");
  hf_trace_left(&exchange);
}

static void trace__signs_of_life_are_told_once_an_attempt(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 1);
  for (int i = 0; i < 1000; i++)
    event(&exchange, (struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE});
  const char *text = steps(f, exchange.trace);
  const char *first = strstr(text, "sign_of_life");
  assert_non_null(first);
  assert_null(strstr(first + 1, "sign_of_life"));
  hf_trace_left(&exchange);
}

static void trace__steps_beyond_the_limit_are_counted_and_the_end_has_its_place(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 2);
  for (unsigned i = 0; i < 100; i++)
    action(&exchange, (struct hf_call_action){.kind = HF_CALL_START_ATTEMPT, .start = {.attempt = i}});
  end(&exchange, HF_CALL_END_ATTEMPTS, HF_FAULT_BROKE, 100);
  const char *text = explain(f, "c-2");
  unsigned count = 0;
  for (const char *at = text; (at = strstr(at, "\"what\":")) != NULL; at++)
    count++;
  assert_int_equal(count, HF_TRACE_STEPS_MAX);
  assert_has(text, "\"dropped\":38}");
  assert_has(
      text,
      "\"what\":\"ended\",\"fault\":\"connection_lost\",\"executed\":\"no\",\"why\":\"it failed: all attempts that "
      "the policy allows were made; the tool cannot have run\"}");
}

static void trace__notes_and_names_are_cut_at_a_character(void **state) {
  struct fixture *f = *state;
  static char name[1000];
  for (size_t i = 0; i < sizeof name / 2; i++)
    memcpy(name + 2 * i, "\xc3\xa4", 2);
  struct hf_exchange exchange = {.client = &f->client,
                                 .target = f->targets,
                                 .targets = f->targets,
                                 .target_count = 2,
                                 .started = f->loop.now,
                                 .request = {.name = {name + 1, sizeof name - 1}}};
  hf_trace_begin(&exchange);
  for (int i = 0; i < 50; i++)
    hf_trace_stage(&exchange, (struct hf_str){name, sizeof name});
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_STARTED});
  action(&exchange, (struct hf_call_action){.kind = HF_CALL_START_ATTEMPT});
  const char *text = steps(f, exchange.trace);
  assert_null(strstr(text, "\xef\xbf\xbd\",\""));
  assert_has(text, "attempt 1 went to 'alpha'");
  assert_null(strstr(text, "\"why\":\"\""));
  hf_trace_left(&exchange);
}

static void trace__as_many_ended_calls_are_known_as_the_limit_says(void **state) {
  struct fixture *f = *state;
  for (unsigned i = 1; i <= 5; i++) {
    struct hf_exchange exchange = begin(f, i);
    good_call(f, &exchange);
    end(&exchange, HF_CALL_END_ANSWERED, HF_FAULT_NONE, 1);
  }
  assert_null(explain(f, "c-1"));
  assert_null(explain(f, "c-2"));
  assert_non_null(explain(f, "c-3"));
  assert_non_null(explain(f, "c-5"));
  assert_null(explain(f, "c-55"));
  assert_null(explain(f, ""));
  f->settings.limits.traces = 0;
  struct hf_exchange exchange = begin(f, 6);
  assert_non_null(exchange.trace);
  end(&exchange, HF_CALL_END_ANSWERED, HF_FAULT_NONE, 1);
  assert_null(explain(f, "c-6"));
  assert_null(explain(f, "c-5"));
}

static void trace__a_call_under_way_can_be_explained(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 9);
  event(&exchange, (struct hf_call_event){.kind = HF_CALL_STARTED});
  pass(f, HF_MS(70));
  assert_has(explain(f, "c-9"), "\"running\":true,\"startedMs\":1700000000000,\"elapsedMs\":70,\"steps\":[{");
  hf_trace_left(&exchange);
  assert_null(exchange.trace);
  assert_has(explain(f, "c-9"), "\"running\":false");
}

static void trace__an_answer_that_was_not_asked_for_says_whose_it_is(void **state) {
  struct fixture *f = *state;
  struct hf_exchange exchange = begin(f, 9);
  struct hf_outcome outcome = {.end = HF_CALL_END_ANSWERED, .source = HF_SOURCE_CACHE, .age = HF_SECONDS(12)};
  hf_trace_end(&exchange, &outcome);
  assert_has(explain(f, "c-9"), "\"why\":\"it was answered by the last good answer, 12.0 s old and young enough: "
                                "nothing was sent\"}]}");
  exchange = begin(f, 10);
  exchange.joined = HF_STR("c-9");
  end(&exchange, HF_CALL_END_ANSWERED, HF_FAULT_NONE, 1);
  assert_has(explain(f, "c-a"), "\"what\":\"joined\",\"why\":\"an equal call, c-9, was under way");
}

/* Sanitizers let nothing be used again. */
#ifdef __SANITIZE_ADDRESS__
enum { BLOCKS = 2 };
#else
enum { BLOCKS = 1 };
#endif

static void trace__takes_one_small_block_a_call(void **state) {
  struct fixture *f = *state;
  for (unsigned i = 0; i < 10; i++) {
    struct hf_exchange exchange = begin(f, i);
    good_call(f, &exchange);
    end(&exchange, HF_CALL_END_ANSWERED, HF_FAULT_NONE, 1);
  }
  unsigned long before = hf_alloc_count();
  for (unsigned i = 0; i < 100; i++) {
    struct hf_exchange exchange = begin(f, i);
    good_call(f, &exchange);
    end(&exchange, HF_CALL_END_ANSWERED, HF_FAULT_NONE, 1);
  }
  assert_int_equal(hf_alloc_count(), before + 100 * BLOCKS);
  assert_int_equal(f->gateway.traces.ended_count, f->settings.limits.traces);
}

static void trace__without_memory_there_is_none_and_nothing_minds(void **state) {
  struct fixture *f = *state;
  hf_alloc_fail_after(0);
  struct hf_exchange exchange = begin(f, 4);
  hf_alloc_fail_after(-1);
  assert_null(exchange.trace);
  hf_trace_stage(&exchange, HF_STR("x"));
  good_call(f, &exchange);
  assert_string_equal(steps(f, exchange.trace), "[]");
  end(&exchange, HF_CALL_END_ANSWERED, HF_FAULT_NONE, 1);
  hf_trace_left(&exchange);
  assert_null(explain(f, "c-4"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(trace__a_good_call_is_told_in_five_steps, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__every_level_says_what_and_why, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__a_call_that_waits_at_an_open_breaker_says_so, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__a_call_that_waits_for_anothers_probe_says_so, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__executed_is_what_the_fault_table_says_of_the_attempt, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__signs_of_life_are_told_once_an_attempt, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__steps_beyond_the_limit_are_counted_and_the_end_has_its_place, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(trace__notes_and_names_are_cut_at_a_character, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__as_many_ended_calls_are_known_as_the_limit_says, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__a_call_under_way_can_be_explained, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__an_answer_that_was_not_asked_for_says_whose_it_is, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__takes_one_small_block_a_call, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trace__without_memory_there_is_none_and_nothing_minds, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
