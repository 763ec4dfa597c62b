#include "gateway/correct/amend.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define A "{\"type\":\"text\",\"text\":\"a \\\"b\\\"\"}"
#define Z "{\"type\":\"text\",\"text\":\"z\"}"
#define OWN "{\"type\": \"text\",\"text\":\"\\u00e4\",\"x\":1.0e1}"

static const struct hf_str a = {"a \"b\"", 5}, z = {"z", 1}, none = {NULL, 0};

static void amend__leaves_the_servers_own_words_as_they_are(void **state) {
  (void)state;
  const struct {
    const char *result;
    struct hf_str first, last;
    bool is_error;
    const char *expected;
  } rows[] = {
      {"{\"content\":[" OWN "],\"isError\":true}", none, z, false, "{\"content\":[" OWN "," Z "],\"isError\":true}"},
      {"{ \"isError\" : false, \"content\" : [ " OWN " ] }", a, none, true,
       "{ \"isError\" : true, \"content\" : [" A ", " OWN " ] }"},
      {"{\"content\":[" OWN "],\"isError\":false,\"_meta\":{\"k\":[]}}", a, z, true,
       "{\"content\":[" A "," OWN "," Z "],\"isError\":true,\"_meta\":{\"k\":[]}}"},
      {"{\"content\":[],\"structuredContent\":{\"n\":1}}", a, none, true,
       "{\"content\":[" A "],\"structuredContent\":{\"n\":1},\"isError\":true}"},
      {"{\"content\":[ \n]}", none, z, false, "{\"content\":[ \n" Z "]}"},
      {"{\"content\":[]}", a, z, false, "{\"content\":[" A "," Z "]}"},
      {"{\"k\":1}", none, z, false, "{\"k\":1,\"content\":[" Z "]}"},
      {"{}", a, z, true, "{\"content\":[" A "," Z "],\"isError\":true}"},
      {"{\"isError\":false}", a, none, true, "{\"isError\":true,\"content\":[" A "]}"},
      {"{\"isError\":true}", none, z, false, "{\"isError\":true,\"content\":[" Z "]}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    const struct hf_amendment what = {rows[i].first, rows[i].last, rows[i].is_error};
    assert_int_equal(hf_amend(hf_str_from(rows[i].result), &what, &out), 0);
    assert_int_equal(hf_buf_append(&out, "", 1), 0);
    assert_string_equal(out.data, rows[i].expected);
    hf_buf_deinit(&out);
  }
}

static void amend__refuses_what_could_be_read_in_two_ways(void **state) {
  (void)state;
  static const struct {
    const char *result;
    int code;
  } rows[] = {
      {"[]", HF_ERR_INVALID},
      {"{\"content\":{}}", HF_ERR_INVALID},
      {"{\"content\":[],\"content\":[]}", HF_ERR_DUPLICATE},
      {"{\"isError\":true,\"is\\u0045rror\":false}", HF_ERR_DUPLICATE},
      {"{\"content\":[}", HF_ERR_SYNTAX},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    assert_int_equal(hf_buf_append(&out, "x", 1), 0);
    const struct hf_amendment what = {a, z, true};
    assert_int_equal(hf_amend(hf_str_from(rows[i].result), &what, &out), rows[i].code);
    assert_int_equal(out.len, 1);
    hf_buf_deinit(&out);
  }
}

static void amend__leaves_nothing_behind_without_memory(void **state) {
  (void)state;
  int r = HF_ERR_NOMEM;
  for (long n = 0; r < 0; n++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    const struct hf_amendment what = {a, z, true};
    hf_alloc_fail_after(n);
    r = hf_amend(HF_STR("{\"content\":[" OWN "]}"), &what, &out);
    hf_alloc_fail_after(-1);
    assert_true(r == 0 || r == HF_ERR_NOMEM);
    assert_true(r == 0 || out.len == 0);
    hf_buf_deinit(&out);
    assert_true(n < 100);
  }
  struct hf_buf small;
  hf_buf_init(&small, 20);
  const struct hf_amendment what = {a, z, true};
  assert_int_equal(hf_amend(HF_STR("{\"content\":[" OWN "]}"), &what, &small), HF_ERR_LIMIT);
  assert_int_equal(small.len, 0);
  hf_buf_deinit(&small);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(amend__leaves_the_servers_own_words_as_they_are),
      cmocka_unit_test(amend__refuses_what_could_be_read_in_two_ways),
      cmocka_unit_test(amend__leaves_nothing_behind_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
