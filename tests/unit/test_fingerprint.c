#include "gateway/fingerprint.h"

#include "base/alloc.h"
#include "json/canonical.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct hf_fingerprint of(const char *principal, const char *server, const char *tool, const char *arguments) {
  struct hf_fingerprint fingerprint;
  assert_int_equal(hf_fingerprint_of(hf_str_from(principal), hf_str_from(server), hf_str_from(tool),
                                     hf_str_from(arguments), &fingerprint),
                   0);
  return fingerprint;
}

static void fingerprint__is_the_same_for_equal_calls(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"{\"a\":1,\"b\":[true]}", " { \"b\" : [ true ] , \"\\u0061\" : 1.0 } "},
      {"{}", NULL},
      {"{\"n\":12345678901234567890.50}", "{\"n\":1234567890123456789050e-2}"},
      {"{\"s\":\"/\\u00e9\"}", "{\"s\":\"\\/\xc3\xa9\"}"},
      {"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_fingerprint a = of("alice", "web", "search", rows[i][0]), b = of("alice", "web", "search", rows[i][1]);
    if (!hf_fingerprint_equal(&a, &b))
      fail_msg("%s, %s", rows[i][0], rows[i][1]);
  }
}

static void fingerprint__tells_all_others_apart(void **state) {
  (void)state;
  static const char *const rows[][4] = {
      {"alice", "web", "search", "{\"a\":1}"},
      {"bob", "web", "search", "{\"a\":1}"},
      {"alice", "we", "bsearch", "{\"a\":1}"},
      {"alicew", "eb", "search", "{\"a\":1}"},
      {"alice", "web", "search{", "\"a\""},
      {"", "aliceweb", "search", "{\"a\":1}"},
      {NULL, "aliceweb", "search", "{\"a\":1}"},
      {"alice", "web", "search", "{\"a\":\"1\"}"},
      {"alice", "web", "search", "{\"a\":1.0000000000000000000000001}"},
      {"alice", "web", "search", "{\"a\":1,\"b\":null}"},
      {"alice", "web", "search", "{\"a\":[1,2]}"},
      {"alice", "web", "search", "{\"a\":[2,1]}"},
      {"alice", "web", "search", "{\"a\":1,\"a\":2}"},
      {"alice", "web", "search", "{\"a\":2,\"a\":1}"},
      {"alice", "web", "search", "{\"a\":\"\\ud800\"}"},
      {"alice", "web", "search", "{\"a\":\"\\ud801\"}"},
      {"alice", "web", "search", "{\"a\":\"\\ufffd\"}"},
      {"alice", "web", "search", "{}"},
      {"alice", "web", "search", "null"},
  };
  size_t count = sizeof rows / sizeof rows[0];
  for (size_t i = 0; i < count * count; i++) {
    const char *const *l = rows[i / count], *const *r = rows[i % count];
    struct hf_fingerprint a = of(l[0], l[1], l[2], l[3]), b = of(r[0], r[1], r[2], r[3]);
    if (hf_fingerprint_equal(&a, &b) != (l == r))
      fail_msg("rows %zu, %zu", i / count, i % count);
  }
}

/* It is kept in the store and means the same after an update. */
static void fingerprint__never_changes(void **state) {
  (void)state;
  static const uint8_t expected[HF_FINGERPRINT_LEN] = {0xa5, 0xb0, 0xc5, 0xcb, 0xc2, 0x4b, 0xe2, 0x1f, 0x21, 0x9e, 0xd4,
                                                       0x8c, 0x6b, 0x20, 0xd7, 0x9e, 0xaf, 0xad, 0xbf, 0xd6, 0x3e, 0x2d,
                                                       0xfa, 0xdb, 0x31, 0x35, 0x5e, 0xa8, 0x9f, 0x14, 0xbb, 0x30};
  struct hf_fingerprint fingerprint = of("alice", "web", "search", "{\"q\":\"x\",\"n\":10}");
  assert_memory_equal(fingerprint.byte, expected, sizeof expected);
}

static void fingerprint__of_huge_arguments_are_those_of_their_bytes(void **state) {
  (void)state;
  size_t len = (size_t)HF_JSON_CANONICAL_NODES * 2 + 1;
  char *wide = test_malloc(len + 1);
  memset(wide, '1', len);
  for (size_t i = 2; i < len; i += 2)
    wide[i] = ',';
  wide[0] = '[';
  wide[len - 1] = ']';
  wide[len] = '\0';
  struct hf_fingerprint a = of("alice", "web", "search", wide), b = of("alice", "web", "search", wide);
  assert_true(hf_fingerprint_equal(&a, &b));
  wide[len - 2] = '2';
  b = of("alice", "web", "search", wide);
  assert_false(hf_fingerprint_equal(&a, &b));
  test_free(wide);
}

static void fingerprint__refuses_what_is_no_json_and_reports_missing_memory(void **state) {
  (void)state;
  struct hf_fingerprint fingerprint;
  assert_int_equal(hf_fingerprint_of(HF_STR("a"), HF_STR("s"), HF_STR("t"), HF_STR("{\"a\":"), &fingerprint),
                   HF_ERR_SYNTAX);
  hf_alloc_fail_after(0);
  int r = hf_fingerprint_of(HF_STR("a"), HF_STR("s"), HF_STR("t"), HF_STR("{\"a\":1}"), &fingerprint);
  hf_alloc_fail_after(-1);
  assert_int_equal(r, HF_ERR_NOMEM);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fingerprint__is_the_same_for_equal_calls),
      cmocka_unit_test(fingerprint__tells_all_others_apart),
      cmocka_unit_test(fingerprint__never_changes),
      cmocka_unit_test(fingerprint__of_huge_arguments_are_those_of_their_bytes),
      cmocka_unit_test(fingerprint__refuses_what_is_no_json_and_reports_missing_memory),
  };
  return cmocka_run_group_tests_name("fingerprint", tests, NULL, NULL);
}
