#include "mcp/message.h"

#include "base/alloc.h"
#include "base/error.h"
#include "mcp/compose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CALL "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"

static void assert_str(struct hf_str actual, const char *expected) {
  assert_non_null(actual.ptr);
  if (actual.len != strlen(expected) || memcmp(actual.ptr, expected, actual.len) != 0)
    fail_msg("'%.*s' is not '%s'", HF_STR_FMT(actual), expected);
}

static void message__reads_a_call(void **state) {
  (void)state;
  struct hf_message m;
  struct hf_refusal refusal;
  assert_int_equal(
      hf_message_decode_copy(HF_STR(" {\"jsonrpc\":\"2.0\",\"id\":\"a\\u0031\",\"method\":\"tools\\/call\","
                                    "\"params\":{\"name\":\"caf\\u00e9\",\"arguments\":{\"x\":[1.0]},"
                                    "\"_meta\":{\"progressToken\":7,\"dev.holdfast/call\":{}}}} \n"),
                             &m, &refusal),
      0);
  assert_int_equal(m.kind, HF_MESSAGE_REQUEST);
  assert_int_equal(m.method, HF_METHOD_TOOLS_CALL);
  assert_str(m.method_name, "tools/call");
  assert_int_equal(m.id_type, HF_ID_STRING);
  assert_str(m.id, "\"a\\u0031\"");
  assert_str(m.name, "caf\xc3\xa9");
  assert_null(m.uri.ptr);
  assert_str(m.progress_token, "7");
  assert_str(hf_message_raw(&m, HF_FIELD_ARGUMENTS), "{\"x\":[1.0]}");
  assert_str(hf_message_raw(&m, HF_FIELD_META_CALL), "{}");
  assert_null(hf_message_raw(&m, HF_FIELD_CURSOR).ptr);
  assert_int_equal(hf_message_bytes(&m).ptr[0], '{');
  assert_int_equal(hf_message_bytes(&m).ptr[hf_message_bytes(&m).len - 1], '}');
  hf_message_deinit(&m);
}

static void message__tells_the_kinds_apart(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum hf_message_kind kind;
    enum hf_id_type id_type;
    bool is_error;
    int64_t code;
  } rows[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"ping\"}", HF_MESSAGE_REQUEST,
       HF_ID_INTEGER, false, 0},
      {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"ping\",\"params\":null}", HF_MESSAGE_REQUEST, HF_ID_INTEGER, false,
       0},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", HF_MESSAGE_NOTIFICATION, HF_ID_NONE, false, 0},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"x/unheard\",\"id\":\"\"}", HF_MESSAGE_REQUEST, HF_ID_STRING, false, 0},
      {"{\"id\":1,\"result\":{\"isError\":true},\"jsonrpc\":\"2.0\"}", HF_MESSAGE_RESULT, HF_ID_INTEGER, true, 0},
      {"{\"id\":1,\"result\":{\"isError\":\"yes\"},\"jsonrpc\":\"2.0\"}", HF_MESSAGE_RESULT, HF_ID_INTEGER, false, 0},
      {"{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"},\"jsonrpc\":\"2.0\"}", HF_MESSAGE_ERROR, HF_ID_NULL,
       false, -32700},
      {"{\"error\":{\"code\":1.5},\"jsonrpc\":\"2.0\"}", HF_MESSAGE_ERROR, HF_ID_NONE, false, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_message m;
    struct hf_refusal refusal;
    if (hf_message_decode_copy(hf_str_from(rows[i].text), &m, &refusal) != 0)
      fail_msg("%s: %s", rows[i].text, refusal.why.text);
    assert_int_equal(m.kind, rows[i].kind);
    assert_int_equal(m.id_type, rows[i].id_type);
    assert_int_equal(m.is_error, rows[i].is_error);
    assert_int_equal(m.error_code, rows[i].code);
    hf_message_deinit(&m);
  }
}

static void message__refuses_with_the_answer_to_give(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int error;
    int rpc_code;
    const char *id;
    bool silent;
  } rows[] = {
      {"{\"jsonrpc\":\"2.0\",\"id\":1,", HF_ERR_SYNTAX, -32700, "1", false},
      {"{\"jsonrpc\":\"2.0\",\"id\":1", HF_ERR_SYNTAX, -32700, "", false},
      {"nonsense", HF_ERR_SYNTAX, -32700, "", false},
      {"", HF_ERR_SYNTAX, -32700, "", false},
      {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", HF_ERR_UNSUPPORTED, -32600, "", false},
      {"3", HF_ERR_INVALID, -32600, "", false},
      {"{}", HF_ERR_INVALID, -32600, "", false},
      {"{\"id\":5,\"method\":\"ping\"}", HF_ERR_INVALID, -32600, "5", false},
      {"{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}", HF_ERR_INVALID, -32600, "5", false},
      {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", HF_ERR_INVALID, -32600, "", false},
      {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", HF_ERR_INVALID, -32600, "", false},
      {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", HF_ERR_INVALID, -32600, "", false},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", HF_ERR_INVALID, -32600, "1", false},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}", HF_ERR_INVALID, -32600, "1", false},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", HF_ERR_INVALID, -32600, "1", true},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}", HF_ERR_INVALID, -32600, "1", true},
      {"{\"jsonrpc\":\"2.0\",\"result\":{}}", HF_ERR_INVALID, -32600, "", true},
      {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}", HF_ERR_INVALID, -32602, "1", false},
      {"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":[1]}", HF_ERR_INVALID, -32602, "", true},
      {CALL "{}}", HF_ERR_INVALID, -32602, "1", false},
      {CALL "{\"name\":3}}", HF_ERR_INVALID, -32602, "1", false},
      {CALL "{\"name\":\"a\",\"_meta\":[]}}", HF_ERR_INVALID, -32602, "1", false},
      {CALL "{\"name\":\"a\",\"_meta\":{\"progressToken\":1.5}}}", HF_ERR_INVALID, -32602, "1", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_message m;
    struct hf_refusal refusal;
    int r = hf_message_decode_copy(hf_str_from(rows[i].text), &m, &refusal);
    if (r != rows[i].error || refusal.rpc_code != rows[i].rpc_code)
      fail_msg("%s: %d %d %s", rows[i].text, r, refusal.rpc_code, refusal.why.text);
    assert_int_equal(refusal.why.code, r);
    assert_str((struct hf_str){refusal.id, refusal.id_len}, rows[i].id);
    assert_int_equal(refusal.response || refusal.notification, rows[i].silent);
  }
}

static void message__asks_nothing_of_a_method_that_its_era_has_not(void **state) {
  (void)state;
  struct hf_message m;
  struct hf_refusal refusal;
  assert_int_equal(hf_message_decode_copy(HF_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\","
                                                 "\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                                                 "\"2026-07-28\"}}}"),
                                          &m, &refusal),
                   0);
  assert_null(m.uri.ptr);
  hf_message_deinit(&m);
  assert_int_equal(hf_message_decode_copy(HF_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\","
                                                 "\"params\":{}}"),
                                          &m, &refusal),
                   HF_ERR_INVALID);
}

static void message__refuses_duplicates_of_what_it_reads(void **state) {
  (void)state;
  static const char *const refused[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"i\\u0064\":2}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"ping\"}",
      "{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
      CALL "{\"name\":\"a\"},\"params\":{\"name\":\"b\"}}",
      CALL "{\"name\":\"a\",\"n\\u0061me\":\"b\"}}",
      CALL "{\"name\":\"a\",\"arguments\":{},\"arguments\":{}}}",
      CALL "{\"name\":\"a\",\"_meta\":{},\"\\u005fmeta\":{}}}",
      CALL "{\"name\":\"a\",\"\\u005fmeta\":{\"progressToken\":1,\"progressToken\":2}}}",
      CALL "{\"name\":\"a\",\"_meta\":{\"dev.holdfast/call\":{},\"dev.holdfast\\/call\":{}}}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true,\"isError\":false}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"a\",\"resultType\":\"b\"}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"result\":{}}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"code\":2}}",
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,\"requestId\":2}}",
  };
  struct hf_message m;
  struct hf_refusal refusal;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    if (hf_message_decode_copy(hf_str_from(refused[i]), &m, &refusal) != HF_ERR_DUPLICATE)
      fail_msg("%s was not refused as a duplicate", refused[i]);

  static const char *const passed[] = {
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":1,\"x\":2}",
      CALL "{\"name\":\"a\",\"x\":1,\"x\":2,\"arguments\":{\"a\":1,\"a\":2},\"_meta\":{\"y\":1,\"y\":1}}}",
  };
  for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
    assert_int_equal(hf_message_decode_copy(hf_str_from(passed[i]), &m, &refusal), 0);
    hf_message_deinit(&m);
  }
}

static void message__echoes_the_id_beside_a_duplicate(void **state) {
  (void)state;
  struct hf_message m;
  struct hf_refusal refusal;
  assert_int_equal(hf_message_decode_copy(HF_STR(CALL "{\"name\":\"a\",\"name\":\"b\"}}"), &m, &refusal),
                   HF_ERR_DUPLICATE);
  assert_int_equal(refusal.rpc_code, HF_RPC_INVALID_REQUEST);
  assert_str(((struct hf_str){refusal.id, refusal.id_len}), "1");
  assert_string_equal(refusal.why.text, "member 'name' occurs twice");
}

static void message__is_made_from_a_scan_fed_in_parts(void **state) {
  (void)state;
  struct hf_str text = HF_STR("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"content\":[{\"type\":\"text\"}]}}{\"next\"");
  struct hf_json_options options;
  hf_message_scan_options(1024, true, &options);
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  struct hf_buf buf;
  hf_buf_init(&buf, 1024);
  int r = HF_ERR_AGAIN;
  for (size_t i = 0; i < text.len && r == HF_ERR_AGAIN; i++) {
    assert_int_equal(hf_buf_append(&buf, text.ptr + i, 1), 0);
    r = hf_json_scan_feed(&scan, buf.data, buf.len, false);
  }
  assert_int_equal(r, 0);
  struct hf_message m;
  struct hf_refusal refusal;
  assert_int_equal(hf_message_from_scan(&scan, &buf, &m, &refusal), 0);
  assert_str(hf_message_raw(&m, HF_FIELD_CONTENT), "[{\"type\":\"text\"}]");
  assert_null(buf.data);

  /* Both are ready for the next one. */
  assert_int_equal(hf_buf_append(&buf, "[]", 2), 0);
  assert_int_equal(hf_json_scan_feed(&scan, buf.data, buf.len, false), 0);
  struct hf_message second;
  assert_int_equal(hf_message_from_scan(&scan, &buf, &second, &refusal), HF_ERR_UNSUPPORTED);
  assert_int_equal(buf.len, 2);
  hf_message_deinit(&m);
  hf_buf_deinit(&buf);
  hf_json_scan_deinit(&scan);
}

static void message__survives_each_failing_allocation(void **state) {
  (void)state;
  struct hf_str text = HF_STR(CALL "{\"name\":\"\\u0061\"}}");
  int failures = 0;
  for (long n = 0;; n++) {
    struct hf_message m = {0};
    struct hf_refusal refusal;
    hf_alloc_fail_after(n);
    int r = hf_message_decode_copy(text, &m, &refusal);
    hf_alloc_fail_after(-1);
    if (r == 0) {
      hf_message_deinit(&m);
      break;
    }
    assert_int_equal(r, HF_ERR_NOMEM);
    failures++;
  }
  assert_true(failures >= 4);
}

static void message__composes(void **state) {
  (void)state;
  struct hf_str none = {NULL, 0};
  struct hf_buf out;
  hf_buf_init(&out, 4096);
  assert_int_equal(hf_compose_error(&out, none, -32600, HF_STR("say \"no\""), HF_STR("[1]")), 0);
  assert_str(hf_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":"
                               "\"say \\\"no\\\"\",\"data\":[1]}}");
  hf_buf_reset(&out, 4096);
  assert_int_equal(hf_compose_request(&out, HF_STR("7"), HF_STR("ping"), none), 0);
  assert_str(hf_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}");
  hf_buf_reset(&out, 4096);
  assert_int_equal(hf_compose_notification(&out, HF_STR("a/b"), HF_STR("{}")), 0);
  assert_str(hf_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"method\":\"a/b\",\"params\":{}}");
  hf_buf_reset(&out, 4096);
  assert_int_equal(hf_compose_result(&out, HF_STR("\"x\""), HF_STR("{}")), 0);
  assert_str(hf_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}");
  hf_buf_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(message__reads_a_call),
      cmocka_unit_test(message__tells_the_kinds_apart),
      cmocka_unit_test(message__refuses_with_the_answer_to_give),
      cmocka_unit_test(message__asks_nothing_of_a_method_that_its_era_has_not),
      cmocka_unit_test(message__refuses_duplicates_of_what_it_reads),
      cmocka_unit_test(message__echoes_the_id_beside_a_duplicate),
      cmocka_unit_test(message__is_made_from_a_scan_fed_in_parts),
      cmocka_unit_test(message__survives_each_failing_allocation),
      cmocka_unit_test(message__composes),
  };
  return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
