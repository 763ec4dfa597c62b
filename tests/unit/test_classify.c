#include "policy/classify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The fault table of the design, written out a second time: evidence in, row out. */
struct row {
  const char *name;
  struct hf_evidence evidence;
  enum hf_fault fault;
  enum hf_executed executed;
  enum hf_repeat repeat;
  enum hf_blame blame;
  enum hf_next next;
};

#define E(k, ...)                                                                                                      \
  { .kind = HF_EVIDENCE_##k, .retry_after = -1, __VA_ARGS__ }
#define STATUS(s, ...) E(HTTP_STATUS, .http_status = (s), .handed_over = true, __VA_ARGS__)
#define CODE(c, ...) E(JSONRPC_ERROR, .http_status = 200, .jsonrpc_code = (c), .handed_over = true, __VA_ARGS__)
#define UNREACHABLE HF_FAULT_UNREACHABLE, HF_EXECUTED_NO, HF_REPEAT_TRANSIENT, HF_BLAME_PROVIDER, HF_NEXT_YES
#define MISCONFIGURED HF_FAULT_MISCONFIGURED, HF_EXECUTED_NO, HF_REPEAT_NEVER, HF_BLAME_PROVIDER, HF_NEXT_YES
#define SESSION_LOST HF_FAULT_SESSION_LOST, HF_EXECUTED_NO, HF_REPEAT_SESSION, HF_BLAME_NOBODY, HF_NEXT_NO
#define NOT_SENT HF_FAULT_NOT_SENT, HF_EXECUTED_NO, HF_REPEAT_TRANSIENT, HF_BLAME_PROVIDER, HF_NEXT_YES
#define REFUSED HF_FAULT_REFUSED_UNEXECUTED, HF_EXECUTED_NO, HF_REPEAT_TRANSIENT, HF_BLAME_PROVIDER, HF_NEXT_YES
#define IN_FLIGHT(f) f, HF_EXECUTED_MAYBE, HF_REPEAT_TRANSIENT, HF_BLAME_TOOL, HF_NEXT_SAFE
#define REJECTED HF_FAULT_REJECTED, HF_EXECUTED_NO, HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_NO
#define UNAUTHORIZED HF_FAULT_UNAUTHORIZED, HF_EXECUTED_NO, HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_YES
#define UNKNOWN_TOOL HF_FAULT_UNKNOWN_TOOL, HF_EXECUTED_NO, HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_YES
#define REDIRECTED HF_FAULT_REDIRECTED, HF_EXECUTED_MAYBE, HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_NO
#define UNKNOWN HF_FAULT_UNKNOWN, HF_EXECUTED_MAYBE, HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_NO

static const struct row table[] = {
    {"refused", E(CONNECT_REFUSED), UNREACHABLE},
    {"connect timeout", E(CONNECT_TIMEOUT), UNREACHABLE},
    {"tls handshake broken", E(TLS_HANDSHAKE), UNREACHABLE},
    {"temporary dns failure", E(DNS_TEMPORARY), UNREACHABLE},
    {"child dead before the write", E(NOT_STARTED), UNREACHABLE},
    {"no such host", E(NO_SUCH_HOST), MISCONFIGURED},
    {"certificate not accepted", E(BAD_CERTIFICATE), MISCONFIGURED},
    {"command not found", E(COMMAND_NOT_FOUND), MISCONFIGURED},
    {"'refused' after the bytes went out", E(CONNECT_REFUSED, .handed_over = true), IN_FLIGHT(HF_FAULT_BROKE)},
    {"'no such host' after the bytes went out", E(NO_SUCH_HOST, .handed_over = true), IN_FLIGHT(HF_FAULT_BROKE)},
    {"breaker open", E(BREAKER_OPEN), HF_FAULT_BREAKER_OPEN, HF_EXECUTED_NO, HF_REPEAT_NEVER, HF_BLAME_NOBODY,
     HF_NEXT_YES},
    {"local limit", E(LOCAL_LIMIT), HF_FAULT_LOCAL_LIMIT, HF_EXECUTED_NO, HF_REPEAT_TRANSIENT, HF_BLAME_NOBODY,
     HF_NEXT_YES},
    {"404 with session", STATUS(404, .carried_session = true), SESSION_LOST},
    {"400 that says so", STATUS(400, .carried_session = true, .says_session_lost = true), SESSION_LOST},
    {"503 that says so", STATUS(503, .carried_session = true, .says_session_lost = true), SESSION_LOST},
    {"-32600 that says so", CODE(-32600, .carried_session = true, .says_session_lost = true), SESSION_LOST},
    {"-32001 that says so", CODE(-32001, .carried_session = true, .says_session_lost = true), SESSION_LOST},
    {"-32015 that says so", CODE(-32015, .carried_session = true, .says_session_lost = true), SESSION_LOST},
    {"400 with session that does not say so", STATUS(400, .carried_session = true), REJECTED},
    {"400 that says so without a session", STATUS(400, .says_session_lost = true), REJECTED},
    {"500 that says so", STATUS(500, .carried_session = true, .says_session_lost = true),
     IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"404 with session after a sign of life", STATUS(404, .carried_session = true, .answered = true), UNKNOWN_TOOL},
    {"404 with session for the method", STATUS(404, .carried_session = true, .jsonrpc_code = -32601), UNKNOWN_TOOL},
    {"-32001 with session that does not say so", CODE(-32001, .carried_session = true), IN_FLIGHT(HF_FAULT_RPC_ERROR)},
    {"broke before the last byte", E(BROKE), NOT_SENT},
    {"timed out before the last byte", E(TIMED_OUT), NOT_SENT},
    {"broke after the last byte", E(BROKE, .handed_over = true), IN_FLIGHT(HF_FAULT_BROKE)},
    {"timed out after the last byte", E(TIMED_OUT, .handed_over = true), IN_FLIGHT(HF_FAULT_TIMED_OUT)},
    {"429", STATUS(429), HF_FAULT_RATE_LIMITED, HF_EXECUTED_NO, HF_REPEAT_TRANSIENT, HF_BLAME_NOBODY, HF_NEXT_YES},
    {"503 with Retry-After",
     {.kind = HF_EVIDENCE_HTTP_STATUS, .http_status = 503, .retry_after = 0, .handed_over = true},
     REFUSED},
    {"502 listed in notExecuted", STATUS(502, .listed_unexecuted = true), REFUSED},
    {"503", STATUS(503), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"408", STATUS(408), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"425", STATUS(425), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"500", STATUS(500), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"502", STATUS(502), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"504", STATUS(504), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"520", STATUS(520), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"529", STATUS(529), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"500 whose body says -32602", STATUS(500, .jsonrpc_code = -32602), IN_FLIGHT(HF_FAULT_SERVER_ERROR)},
    {"reply that is no json", E(BAD_REPLY, .handed_over = true), IN_FLIGHT(HF_FAULT_BAD_REPLY)},
    {"-32603", CODE(-32603), IN_FLIGHT(HF_FAULT_RPC_ERROR)},
    {"-32000", CODE(-32000), IN_FLIGHT(HF_FAULT_RPC_ERROR)},
    {"-32019", CODE(-32019), IN_FLIGHT(HF_FAULT_RPC_ERROR)},
    {"400", STATUS(400), REJECTED},
    {"406", STATUS(406), REJECTED},
    {"413", STATUS(413), REJECTED},
    {"415", STATUS(415), REJECTED},
    {"422", STATUS(422), REJECTED},
    {"-32602", CODE(-32602), REJECTED},
    {"-32600", CODE(-32600), REJECTED},
    {"-32020", CODE(-32020), REJECTED},
    {"-32021", CODE(-32021), REJECTED},
    {"-32022", CODE(-32022), REJECTED},
    {"401", STATUS(401), UNAUTHORIZED},
    {"403", STATUS(403), UNAUTHORIZED},
    {"-32601", CODE(-32601), UNKNOWN_TOOL},
    {"400 whose body says -32601", STATUS(400, .jsonrpc_code = -32601), UNKNOWN_TOOL},
    {"404 without session", STATUS(404), UNKNOWN_TOOL},
    {"405", STATUS(405), UNKNOWN_TOOL},
    {"409", STATUS(409), HF_FAULT_CONFLICT, HF_EXECUTED_MAYBE, HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_NO},
    {"isError", E(TOOL_ERROR, .handed_over = true), HF_FAULT_TOOL_ERROR, HF_EXECUTED_YES, HF_REPEAT_NEVER,
     HF_BLAME_NOBODY, HF_NEXT_SAFE},
    {"isError that matches", E(TOOL_ERROR, .handed_over = true, .matches_transient = true), HF_FAULT_TOOL_TRANSIENT,
     HF_EXECUTED_YES, HF_REPEAT_TRANSIENT, HF_BLAME_TOOL, HF_NEXT_SAFE},
    {"a result that does not fit its schema", E(RESULT_MISFIT, .handed_over = true), HF_FAULT_RESULT_MISFIT,
     HF_EXECUTED_YES, HF_REPEAT_NEVER, HF_BLAME_ANSWER, HF_NEXT_SAFE},
    {"mapped arguments that do not fit", E(MISFIT, .answered = false), HF_FAULT_SCHEMA, HF_EXECUTED_NO, HF_REPEAT_NEVER,
     HF_BLAME_NOBODY, HF_NEXT_YES},
    {"the same, though they were sent", E(MISFIT, .handed_over = true), HF_FAULT_UNKNOWN, HF_EXECUTED_MAYBE,
     HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_NO},
    {"a result that fails what is expected", E(UNEXPECTED, .handed_over = true), HF_FAULT_UNEXPECTED, HF_EXECUTED_YES,
     HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_SAFE},
    {"-32042", CODE(-32042), HF_FAULT_INPUT_REQUIRED, HF_EXECUTED_NO, HF_REPEAT_NEVER, HF_BLAME_SUCCESS, HF_NEXT_NO},
    {"caller cancelled", E(CANCELLED), HF_FAULT_CANCELLED, HF_EXECUTED_NO, HF_REPEAT_NEVER, HF_BLAME_NOBODY,
     HF_NEXT_NO},
    {"deadline passed", E(DEADLINE), HF_FAULT_DEADLINE, HF_EXECUTED_NO, HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_NO},
    {"a task that its server has forgotten", E(TASK_LOST, .handed_over = true, .answered = true), HF_FAULT_TASK_LOST,
     HF_EXECUTED_MAYBE, HF_REPEAT_TRANSIENT, HF_BLAME_TOOL, HF_NEXT_SAFE},
    {"a task that its server has cancelled", E(TASK_CANCELLED, .handed_over = true, .answered = true),
     HF_FAULT_TASK_CANCELLED, HF_EXECUTED_MAYBE, HF_REPEAT_NEVER, HF_BLAME_NOBODY, HF_NEXT_NO},
    {"nothing", E(NONE), UNKNOWN},
    {"300", STATUS(300), REDIRECTED},
    {"301", STATUS(301), REDIRECTED},
    {"302", STATUS(302), REDIRECTED},
    {"303", STATUS(303), REDIRECTED},
    {"304", STATUS(304), REDIRECTED},
    {"307", STATUS(307), MISCONFIGURED},
    {"308", STATUS(308), MISCONFIGURED},
    {"309", STATUS(309), REDIRECTED},
    {"402", STATUS(402), UNKNOWN},
    {"410", STATUS(410), UNKNOWN},
    {"501", STATUS(501), UNKNOWN},
    {"530", STATUS(530), UNKNOWN},
    {"-32700", CODE(-32700), UNKNOWN},
    {"-32023", CODE(-32023), UNKNOWN},
    {"1", CODE(1), UNKNOWN},
    {"0", CODE(0), UNKNOWN},
};

static void classify__follows_the_table_row_by_row(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const struct row *want = &table[i];
    struct hf_verdict_row got = hf_classify(&want->evidence);
    if (got.fault != want->fault || got.executed != want->executed || got.repeat != want->repeat ||
        got.blame != want->blame || got.next != want->next)
      fail_msg("%s: got %s, executed %s, repeat %d, blame %d, next %d", want->name, hf_fault_name(got.fault),
               hf_executed_name(got.executed), got.repeat, got.blame, got.next);
  }
}

static void classify__every_fault_has_a_row_and_a_name(void **state) {
  (void)state;
  for (int i = 0; i < HF_FAULT_COUNT; i++) {
    assert_int_equal(hf_fault_row((enum hf_fault)i)->fault, i);
    assert_true(hf_fault_name((enum hf_fault)i)[0] != '\0');
  }
}

static void safety__only_unsafe_forbids_a_repeat(void **state) {
  (void)state;
  assert_false(hf_safety_allows_repeat(HF_SAFETY_UNSAFE));
  assert_true(hf_safety_allows_repeat(HF_SAFETY_KEYED));
  assert_true(hf_safety_allows_repeat(HF_SAFETY_IDEMPOTENT));
  assert_true(hf_safety_allows_repeat(HF_SAFETY_READ_ONLY));
}

static void names__are_those_of_the_configuration(void **state) {
  (void)state;
  assert_string_equal(hf_executed_name(HF_EXECUTED_MAYBE), "maybe");
  assert_string_equal(hf_safety_name(HF_SAFETY_READ_ONLY), "read_only");
  assert_string_equal(hf_fault_name(HF_FAULT_RATE_LIMITED), "rate_limited");
}

/* Every status of HTTP and what is beyond them, told one by one. */
static enum hf_fault fault_of_status(int status) {
  static const struct {
    enum hf_fault fault;
    int statuses[16];
  } cases[] = {
      {HF_FAULT_REJECTED, {400, 406, 413, 415, 422}},
      {HF_FAULT_UNAUTHORIZED, {401, 403}},
      {HF_FAULT_UNKNOWN_TOOL, {404, 405}},
      {HF_FAULT_CONFLICT, {409}},
      {HF_FAULT_RATE_LIMITED, {429}},
      {HF_FAULT_MISCONFIGURED, {307, 308}},
      {HF_FAULT_SERVER_ERROR, {408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 527, 528, 529}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (size_t j = 0; j < 16 && cases[i].statuses[j]; j++)
      if (cases[i].statuses[j] == status)
        return cases[i].fault;
  }
  return status / 100 == 3 ? HF_FAULT_REDIRECTED : HF_FAULT_UNKNOWN;
}

static void classify__knows_every_status(void **state) {
  (void)state;
  for (int status = 0; status < 700; status++) {
    const struct hf_evidence evidence = STATUS(status);
    assert_int_equal(hf_classify(&evidence).fault, fault_of_status(status));
  }
}

static enum hf_fault fault_of_code(int code) {
  switch (code) {
  case -32600:
  case -32602:
  case -32020:
  case -32021:
  case -32022:
    return HF_FAULT_REJECTED;
  case -32601:
    return HF_FAULT_UNKNOWN_TOOL;
  case -32603:
    return HF_FAULT_RPC_ERROR;
  case -32042:
    return HF_FAULT_INPUT_REQUIRED;
  default:
    return code <= -32000 && code > -32020 ? HF_FAULT_RPC_ERROR : HF_FAULT_UNKNOWN;
  }
}

static void classify__knows_every_code(void **state) {
  (void)state;
  for (int code = -33000; code < -31900; code++) {
    const struct hf_evidence evidence = CODE(code);
    assert_int_equal(hf_classify(&evidence).fault, fault_of_code(code));
  }
}

static void classify__a_status_that_is_no_success_says_itself_that_a_session_is_lost(void **state) {
  (void)state;
  struct hf_evidence evidence = CODE(-32600, .carried_session = true, .says_session_lost = true);
  evidence.http_status = 299;
  assert_int_equal(hf_classify(&evidence).fault, HF_FAULT_SESSION_LOST);
  evidence.http_status = 300;
  assert_int_equal(hf_classify(&evidence).fault, HF_FAULT_REJECTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classify__follows_the_table_row_by_row),
      cmocka_unit_test(classify__every_fault_has_a_row_and_a_name),
      cmocka_unit_test(safety__only_unsafe_forbids_a_repeat),
      cmocka_unit_test(names__are_those_of_the_configuration),
      cmocka_unit_test(classify__knows_every_status),
      cmocka_unit_test(classify__knows_every_code),
      cmocka_unit_test(classify__a_status_that_is_no_success_says_itself_that_a_session_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
