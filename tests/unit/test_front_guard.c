#include "base/error.h"
#include "front/guard.h"
#include "front/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void head__accept_is_lenient_where_unambiguous(void **state) {
  (void)state;
  static const struct {
    const char *value;
    bool json;
    bool sse;
  } cases[] = {
      {"application/json, text/event-stream", true, true},
      {"*/*", true, true},
      {"application/*", true, false},
      {"text/*", false, true},
      {"application/json", true, false},
      {"text/event-stream", false, true},
      {"APPLICATION/JSON;q=0.5", true, false},
      {"application/json;q=0, */*", false, true},
      {"*/*, application/json; q=0.000", false, true},
      {"*/*;q=0", false, false},
      {"text/html", false, false},
      {"application/json-seq", false, false},
      {"", false, false},
      {",,;", false, false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct hf_accept accept = {0};
    hf_accept_add(&accept, hf_str_from(cases[i].value));
    if (accept.json != cases[i].json || accept.sse != cases[i].sse)
      fail_msg("'%s': json %d, sse %d", cases[i].value, accept.json, accept.sse);
  }
}

static void head__content_type(void **state) {
  (void)state;
  assert_true(hf_head_is_json(HF_STR("application/json")));
  assert_true(hf_head_is_json(HF_STR("Application/JSON ; charset=\"UTF-8\"")));
  assert_true(hf_head_is_json(HF_STR("application/json;profile=x")));
  assert_false(hf_head_is_json(HF_STR("application/json; charset=utf-16")));
  assert_false(hf_head_is_json(HF_STR("application/jsonx")));
  assert_false(hf_head_is_json(HF_STR("text/plain")));
  assert_false(hf_head_is_json((struct hf_str){NULL, 0}));
}

/* `lines` is what libmicrohttpd leaves: a NUL for each colon, CR and LF. */
static void head__lines(void **state) {
  (void)state;
#define LINES(text)                                                                                                    \
  { text, sizeof(text) - 1 }
  static const struct {
    struct hf_str lines;
    int fields; /* -1: refused */
  } cases[] = {
      {LINES("Host\0 a\0\0\0\0"), 1},
      {LINES("Host\0a\0\0X\0\0\0\0\0"), 2},
      {LINES("\0\0"), 0},
      {LINES(""), -1},
      {LINES("\0"), -1},
      {LINES("Host\0 a\0\0"), -1},
      {LINES("Host\0 a\0X\0 b\0\0\0\0"), -1},
      {LINES("Host\0 a\0\0\0\0rest"), -1},
      {LINES("Host\0 a\0\0 b\0\0\0\0"), -1},
      {LINES("Host \0 a\0\0\0\0"), -1},
      {LINES("Host\0 a\rb\0\0\0\0"), -1},
      {LINES("Host\0 a\x7f\0\0\0\0"), -1},
      {LINES("\0 a\0\0\0\0"), -1},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    size_t fields = 99;
    const char *fault = hf_head_lines(cases[i].lines, &fields);
    if (cases[i].fields < 0 ? !fault : fault || fields != (size_t)cases[i].fields)
      fail_msg("case %zu: %s, %zu fields", i, fault ? fault : "taken", fields);
  }
}

static void guard__hosts(void **state) {
  (void)state;
  static struct hf_str allowed[] = {HF_STR("gateway.example"), HF_STR("other.example:8443")};
  struct hf_settings settings = {.listen_host = HF_STR("192.168.1.5"), .allowed_hosts = {allowed, 2}};
  static const struct {
    const char *host;
    bool good;
  } cases[] = {
      {"192.168.1.5:8080", true},
      {"192.168.1.6", false},
      {"localhost", true},
      {"LocalHost:1", true},
      {"127.9.9.9", true},
      {"[::1]:80", true},
      {"[::2]", false},
      {"GATEWAY.example", true},
      {"gateway.example:9", true},
      {"other.example", false},
      {"other.example:8443", true},
      {"localhost.evil", false},
      {"localhost:x", false},
      {"localhost:99999", false},
      {"[::1", false},
      {"[::1]x", false},
      {":80", false},
      {"", false},
      {"127.0.0.1@evil", false},
      {"2130706433", false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    if (hf_guard_host(&settings, hf_str_from(cases[i].host)) != cases[i].good)
      fail_msg("'%s'", cases[i].host);
  settings.listen_host = HF_STR("0.0.0.0");
  assert_true(hf_guard_host(&settings, HF_STR("10.1.2.3:80")));
  assert_false(hf_guard_host(&settings, HF_STR("evil.example")));
}

static void guard__origins(void **state) {
  (void)state;
  static struct hf_str allowed[] = {HF_STR("https://app.example")};
  const struct hf_settings settings = {.allowed_origins = {allowed, 1}};
  assert_true(hf_guard_origin(&settings, HF_STR("localhost:80"), HF_STR("http://localhost:80")));
  assert_true(hf_guard_origin(&settings, HF_STR("localhost:80"), HF_STR("https://app.example")));
  assert_false(hf_guard_origin(&settings, HF_STR("localhost:80"), HF_STR("http://localhost:81")));
  assert_false(hf_guard_origin(&settings, HF_STR("localhost:80"), HF_STR("ftp://localhost:80")));
  assert_false(hf_guard_origin(&settings, HF_STR("localhost:80"), HF_STR("localhost:80")));
  assert_false(hf_guard_origin(&settings, HF_STR("localhost:80"), HF_STR("https://app.example.evil")));
  assert_false(hf_guard_origin(&settings, HF_STR("null"), HF_STR("null")));
}

static void guard__tokens(void **state) {
  (void)state;
  /* SHA-256 of "abc", FIPS 180-2 */
  struct hf_principal_settings principals[] = {
      {HF_STR("nobody"), {0}},
      {HF_STR("abc"), {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                       0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad}},
  };
  const struct hf_settings settings = {.principals = principals, .principal_count = 2};
  assert_ptr_equal(hf_guard_principal(&settings, HF_STR("Bearer abc")), &principals[1]);
  assert_ptr_equal(hf_guard_principal(&settings, HF_STR("bEARER   abc ")), &principals[1]);
  static const char *const bad[] = {"",          "abc",         "Bearer",    "Bearer ",
                                    "Bearer ab", "Bearer abcd", "Basic abc", "Bearerabc"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_null(hf_guard_principal(&settings, hf_str_from(bad[i])));
  assert_null(hf_guard_principal(&settings, (struct hf_str){NULL, 0}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(head__accept_is_lenient_where_unambiguous),
      cmocka_unit_test(head__content_type),
      cmocka_unit_test(head__lines),
      cmocka_unit_test(guard__hosts),
      cmocka_unit_test(guard__origins),
      cmocka_unit_test(guard__tokens),
  };
  return cmocka_run_group_tests_name("front_guard", tests, NULL, NULL);
}
