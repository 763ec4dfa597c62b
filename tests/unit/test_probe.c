#include "upstream/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RESULT(text) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" text "}"
#define ERROR(code, rest) "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":" #code ",\"message\":\"m\"" rest "}}"
#define DISCOVERED(versions)                                                                                           \
  RESULT("{\"resultType\":\"complete\",\"supportedVersions\":" versions                                                \
         ",\"capabilities\":{},\"ttlMs\":0,\"cacheScope\":\"public\"}")
#define INITIALIZED(version)                                                                                           \
  RESULT("{\"protocolVersion\":\"" version "\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}"  \
         "}")

typedef enum hf_probe_step step_fn(struct hf_probe *, const struct hf_evidence *, struct hf_message *);

static enum hf_probe_step answer(struct hf_probe *probe, step_fn *step, const char *text) {
  struct hf_message message = {0};
  struct hf_refusal refusal;
  assert_int_equal(hf_message_decode_copy(hf_str_from(text), &message, &refusal), 0);
  const struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_NONE);
  enum hf_probe_step next = step(probe, &evidence, &message);
  hf_message_deinit(&message);
  return next;
}

static enum hf_probe_step no_answer(struct hf_probe *probe, step_fn *step, enum hf_evidence_kind kind, int status) {
  struct hf_evidence evidence = HF_EVIDENCE(kind);
  evidence.http_status = status;
  return step(probe, &evidence, NULL);
}

static void begin(struct hf_probe *probe) {
  hf_probe_init(probe, HF_ERA_UNKNOWN, HF_ERA_UNKNOWN);
  assert_int_equal(hf_probe_opened(probe), HF_PROBE_DISCOVER);
}

static void probe__an_answer_to_discover_decides(void **state) {
  (void)state;
  static const struct {
    const char *answer;
    enum hf_probe_step step;
  } cases[] = {
      {DISCOVERED("[\"2026-07-28\"]"), HF_PROBE_READY},
      {DISCOVERED("[\"2025-11-25\",\"2026-07-28\"]"), HF_PROBE_READY},
      {DISCOVERED("[\"2025-11-25\"]"), HF_PROBE_INITIALIZE},
      {DISCOVERED("[\"2031-01-01\"]"), HF_PROBE_FAILED},
      {RESULT("{}"), HF_PROBE_INITIALIZE},
      {ERROR(-32601, ""), HF_PROBE_INITIALIZE},
      {ERROR(-32602, ""), HF_PROBE_INITIALIZE},
      {ERROR(-32600, ""), HF_PROBE_INITIALIZE},
      {ERROR(-32000, ""), HF_PROBE_INITIALIZE},
      {ERROR(-32021, ""), HF_PROBE_FAILED},
      {ERROR(-32020, ""), HF_PROBE_FAILED},
      {ERROR(-32022, ",\"data\":{\"supported\":[\"2031-01-01\"],\"requested\":\"2026-07-28\"}"), HF_PROBE_FAILED},
      {ERROR(-32022, ",\"data\":{\"supported\":[\"2025-06-18\"],\"requested\":\"2026-07-28\"}"), HF_PROBE_INITIALIZE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_probe probe;
    begin(&probe);
    assert_int_equal(answer(&probe, hf_probe_discovered, cases[i].answer), cases[i].step);
    if (cases[i].step == HF_PROBE_READY) {
      assert_int_equal(probe.era, HF_ERA_MODERN);
      assert_int_equal(probe.version, HF_VERSION_2026_07_28);
    }
  }
}

static void probe__what_a_balancer_says_proves_nothing(void **state) {
  (void)state;
  static const struct {
    enum hf_evidence_kind kind;
    int status;
    enum hf_probe_step step;
  } cases[] = {
      {HF_EVIDENCE_HTTP_STATUS, 429, HF_PROBE_FAILED},     {HF_EVIDENCE_HTTP_STATUS, 502, HF_PROBE_FAILED},
      {HF_EVIDENCE_HTTP_STATUS, 503, HF_PROBE_FAILED},     {HF_EVIDENCE_HTTP_STATUS, 504, HF_PROBE_FAILED},
      {HF_EVIDENCE_HTTP_STATUS, 500, HF_PROBE_INITIALIZE}, {HF_EVIDENCE_HTTP_STATUS, 400, HF_PROBE_INITIALIZE},
      {HF_EVIDENCE_HTTP_STATUS, 404, HF_PROBE_INITIALIZE}, {HF_EVIDENCE_BROKE, 0, HF_PROBE_INITIALIZE},
      {HF_EVIDENCE_BAD_REPLY, 200, HF_PROBE_INITIALIZE},   {HF_EVIDENCE_CONNECT_REFUSED, 0, HF_PROBE_FAILED},
      {HF_EVIDENCE_NO_SUCH_HOST, 0, HF_PROBE_FAILED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_probe probe;
    begin(&probe);
    assert_int_equal(no_answer(&probe, hf_probe_discovered, cases[i].kind, cases[i].status), cases[i].step);
    assert_false(probe.refuted);
  }
}

static void probe__silence_means_initialize_and_a_late_error_is_ignored(void **state) {
  (void)state;
  struct hf_probe probe;
  begin(&probe);
  assert_int_equal(hf_probe_silence(&probe), HF_PROBE_INITIALIZE);
  assert_int_equal(hf_probe_silence(&probe), HF_PROBE_WAIT);
  assert_int_equal(answer(&probe, hf_probe_discovered, ERROR(-32601, "")), HF_PROBE_WAIT);
  assert_int_equal(answer(&probe, hf_probe_initialized, INITIALIZED("2025-06-18")), HF_PROBE_READY);
  assert_int_equal(probe.era, HF_ERA_LEGACY);
  assert_int_equal(probe.version, HF_VERSION_2025_06_18);
}

static void probe__a_slow_modern_server_is_modern_in_the_end(void **state) {
  (void)state;
  struct hf_probe probe;
  begin(&probe);
  hf_probe_silence(&probe);
  assert_int_equal(answer(&probe, hf_probe_initialized, ERROR(-32601, "")), HF_PROBE_WAIT);
  assert_int_equal(answer(&probe, hf_probe_discovered, DISCOVERED("[\"2026-07-28\"]")), HF_PROBE_READY);
  assert_int_equal(probe.era, HF_ERA_MODERN);
}

static void probe__a_child_that_exits_on_the_probe_is_started_again_once(void **state) {
  (void)state;
  const struct hf_evidence broke = HF_EVIDENCE(HF_EVIDENCE_BROKE);
  struct hf_probe probe;
  begin(&probe);
  assert_int_equal(hf_probe_closed(&probe, &broke), HF_PROBE_REOPEN);
  assert_int_equal(hf_probe_opened(&probe), HF_PROBE_INITIALIZE);
  assert_int_equal(hf_probe_closed(&probe, &broke), HF_PROBE_FAILED);
}

static void probe__a_missing_command_is_not_started_again(void **state) {
  (void)state;
  const struct hf_evidence missing = HF_EVIDENCE(HF_EVIDENCE_COMMAND_NOT_FOUND);
  struct hf_probe probe;
  begin(&probe);
  assert_int_equal(hf_probe_closed(&probe, &missing), HF_PROBE_FAILED);
}

static void probe__the_setting_overrides(void **state) {
  (void)state;
  struct hf_probe probe;
  hf_probe_init(&probe, HF_ERA_LEGACY, HF_ERA_MODERN);
  assert_int_equal(hf_probe_opened(&probe), HF_PROBE_INITIALIZE);
  hf_probe_init(&probe, HF_ERA_MODERN, HF_ERA_LEGACY);
  assert_int_equal(hf_probe_opened(&probe), HF_PROBE_DISCOVER);
  assert_int_equal(hf_probe_silence(&probe), HF_PROBE_WAIT);
  assert_int_equal(answer(&probe, hf_probe_discovered, ERROR(-32601, "")), HF_PROBE_FAILED);
}

static void probe__what_succeeded_before_is_asked_first(void **state) {
  (void)state;
  struct hf_probe probe;
  hf_probe_init(&probe, HF_ERA_UNKNOWN, HF_ERA_LEGACY);
  assert_int_equal(hf_probe_opened(&probe), HF_PROBE_INITIALIZE);
  assert_int_equal(answer(&probe, hf_probe_initialized, ERROR(-32601, "")), HF_PROBE_FAILED);
  assert_true(probe.refuted);
}

static void probe__initialize_must_agree_on_a_version_we_know(void **state) {
  (void)state;
  static const char *const bad[] = {INITIALIZED("1999-01-01"), INITIALIZED("2026-07-28"), RESULT("{}"),
                                    ERROR(-32603, "")};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct hf_probe probe;
    hf_probe_init(&probe, HF_ERA_LEGACY, HF_ERA_UNKNOWN);
    hf_probe_opened(&probe);
    assert_int_equal(answer(&probe, hf_probe_initialized, bad[i]), HF_PROBE_FAILED);
    assert_int_not_equal(probe.why.code, 0);
  }
}

static void probe__messages_carry_what_the_eras_require(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 2048);
  assert_int_equal(hf_probe_write_discover(&buf, 7, HF_STR("{\"roots\":{}}")), 0);
  hf_buf_append(&buf, "", 1);
  assert_string_equal(buf.data,
                      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
                      "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                      "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}},"
                      "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"holdfast\",\"version\":\"0.1.0\"}}}}");
  hf_buf_reset(&buf, 0);
  assert_int_equal(hf_probe_write_initialize(&buf, 8, HF_STR("{}")), 0);
  hf_buf_append(&buf, "", 1);
  assert_string_equal(buf.data, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"initialize\",\"params\":{"
                                "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                                "\"clientInfo\":{\"name\":\"holdfast\",\"version\":\"0.1.0\"}}}");
  hf_buf_deinit(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(probe__an_answer_to_discover_decides),
      cmocka_unit_test(probe__what_a_balancer_says_proves_nothing),
      cmocka_unit_test(probe__silence_means_initialize_and_a_late_error_is_ignored),
      cmocka_unit_test(probe__a_slow_modern_server_is_modern_in_the_end),
      cmocka_unit_test(probe__a_child_that_exits_on_the_probe_is_started_again_once),
      cmocka_unit_test(probe__a_missing_command_is_not_started_again),
      cmocka_unit_test(probe__the_setting_overrides),
      cmocka_unit_test(probe__what_succeeded_before_is_asked_first),
      cmocka_unit_test(probe__initialize_must_agree_on_a_version_we_know),
      cmocka_unit_test(probe__messages_carry_what_the_eras_require),
  };
  return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
