#include "mcp/era.h"

#include "base/error.h"
#include "mcp/compose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void era__never_answers_newer_than_asked(void **state) {
  (void)state;
  static const struct {
    const char *asked;
    const char *answer;
  } rows[] = {
      {"2024-11-05", "2024-11-05"},  {"2025-03-26", "2025-03-26"},
      {"2025-06-18", "2025-06-18"},  {"2025-11-25", "2025-11-25"},
      {"2025-07-01", "2025-06-18"},  {"2025-03-25", "2024-11-05"},
      {"2026-07-28", "2025-11-25"},  {"9999-99-99", "2025-11-25"},
      {"1999-01-01", "2024-11-05"},  {"", "2025-11-25"},
      {"latest", "2025-11-25"},      {"2025/06/18", "2025-11-25"},
      {"2025-06-18x", "2025-11-25"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_true(
        hf_str_equal(hf_version_text(hf_version_negotiate(hf_str_from(rows[i].asked))), hf_str_from(rows[i].answer)));
}

static void era__is_modern_from_2026_on(void **state) {
  (void)state;
  assert_int_equal(hf_version_era(hf_version_parse(HF_STR("2026-07-28"))), HF_ERA_MODERN);
  assert_int_equal(hf_version_era(hf_version_parse(HF_STR("2025-11-25"))), HF_ERA_LEGACY);
  assert_int_equal(hf_version_parse(HF_STR("2025-11-26")), HF_VERSION_UNKNOWN);
}

#define META(inner) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{" inner "}}}"
#define VERSION "\"io.modelcontextprotocol/protocolVersion\":"
#define CAPS "\"io.modelcontextprotocol/clientCapabilities\":"

static void era__reads_what_a_modern_request_says(void **state) {
  (void)state;
  struct hf_message m;
  struct hf_refusal refusal;
  struct hf_request_meta meta;
  struct hf_error error;
  assert_int_equal(hf_message_decode_copy(HF_STR(META(VERSION "\"2026-07-28\"," CAPS "{\"roots\":{}},"
                                                              "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"},"
                                                              "\"io.modelcontextprotocol/logLevel\":\"info\"")),
                                          &m, &refusal),
                   0);
  assert_int_equal(hf_request_meta_read(&m, &meta, &error), 0);
  assert_int_equal(meta.era, HF_ERA_MODERN);
  assert_int_equal(meta.version, HF_VERSION_2026_07_28);
  assert_true(hf_str_equal(meta.capabilities, HF_STR("{\"roots\":{}}")));
  assert_true(hf_str_equal(meta.log_level, HF_STR("info")));
  hf_message_deinit(&m);
}

static void era__tells_what_a_modern_request_lacks(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int read;
    int require;
  } rows[] = {
      {META(""), 0, HF_ERR_INVALID},
      {META(VERSION "7," CAPS "{}"), HF_ERR_INVALID, HF_ERR_INVALID},
      {META(VERSION "\"2026-07-28\""), HF_ERR_INVALID, HF_ERR_INVALID},
      {META(VERSION "\"2026-07-28\"," CAPS "[]"), HF_ERR_INVALID, HF_ERR_INVALID},
      {META(VERSION "\"2026-07-28\"," CAPS "{},\"io.modelcontextprotocol/clientInfo\":1"), HF_ERR_INVALID,
       HF_ERR_INVALID},
      {META(VERSION "\"2025-11-25\"," CAPS "{}"), HF_ERR_UNSUPPORTED, HF_ERR_UNSUPPORTED},
      {META(VERSION "\"3000-01-01\""), HF_ERR_UNSUPPORTED, HF_ERR_UNSUPPORTED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_message m;
    struct hf_refusal refusal;
    struct hf_request_meta meta;
    struct hf_error error;
    assert_int_equal(hf_message_decode_copy(hf_str_from(rows[i].text), &m, &refusal), 0);
    assert_int_equal(hf_request_meta_read(&m, &meta, &error), rows[i].read);
    assert_int_equal(hf_request_meta_require(&m, &meta, &error), rows[i].require);
    hf_message_deinit(&m);
  }
}

static void era__unsupported_version_names_the_supported_of_the_era(void **state) {
  (void)state;
  static const struct {
    enum hf_era era;
    const char *text;
  } rows[] = {
      {HF_ERA_MODERN, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"unsupported protocol "
                      "version\",\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"1900-01-01\"}}}"},
      {HF_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"unsupported protocol "
                      "version\",\"data\":{\"supported\":[\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"],"
                      "\"requested\":\"1900-01-01\"}}}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    assert_int_equal(hf_compose_unsupported_version(&out, HF_STR("1"), rows[i].era, HF_STR("1900-01-01")), 0);
    assert_true(hf_str_equal(hf_buf_str(&out), hf_str_from(rows[i].text)));
    hf_buf_deinit(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(era__never_answers_newer_than_asked),
      cmocka_unit_test(era__is_modern_from_2026_on),
      cmocka_unit_test(era__reads_what_a_modern_request_says),
      cmocka_unit_test(era__tells_what_a_modern_request_lacks),
      cmocka_unit_test(era__unsupported_version_names_the_supported_of_the_era),
  };
  return cmocka_run_group_tests_name("era", tests, NULL, NULL);
}
