#include "base/alloc.h"
#include "base/buf.h"
#include "json/unique.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 0, HF_ERR_DUPLICATE or HF_ERR_NOMEM; `key` is the name that is said twice, as it is spelt there. */
static int look(const char *text, struct hf_str *ret_key) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, text, strlen(text), true), 0);
  struct hf_json_doc doc = hf_json_doc(text, &scan);
  uint32_t node = 0;
  int r = hf_json_unique(&doc, &node);
  if (r == HF_ERR_DUPLICATE)
    *ret_key = hf_json_span(&doc, node);
  hf_json_scan_deinit(&scan);
  return r;
}

static void unique__finds_the_second_of_two_names(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *key; /* NULL: none is there twice */
  } rows[] = {
      {"1", NULL},
      {"{}", NULL},
      {"{\"a\":1}", NULL},
      {"{\"a\":1,\"b\":2,\"A\":3,\"aa\":4}", NULL},
      {"{\"a\":1,\"a\":1}", "\"a\""},
      {"{\"a\":1,\"b\":{\"a\":2,\"c\":[{\"d\":1,\"e\":2,\"d\":3}]}}", "\"d\""},
      {"[{\"a\":1},{\"a\":2}]", NULL},
      {"{\"a\":1,\"\\u0061\":2}", "\"\\u0061\""},
      {"{\"\\u0061\":1,\"\\u0062\":2}", NULL},
      {"{\"\":1,\"\":2}", "\"\""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_str key = {NULL, 0};
    int r = look(rows[i].text, &key);
    assert_int_equal(r, rows[i].key ? HF_ERR_DUPLICATE : 0);
    assert_true(hf_str_equal(key, hf_str_from(rows[i].key)));
  }
}

static void make_members(struct hf_buf *text, unsigned count, unsigned twice) {
  hf_buf_init(text, 1 << 20);
  for (unsigned i = 0; i < count; i++)
    assert_int_equal(hf_buf_printf(text, "%s\"k%u\":0", i ? "," : "{", i == count - 1 ? twice : i), 0);
  assert_int_equal(hf_buf_append(text, "}", 2), 0);
}

static void unique__many_members_are_looked_at_too(void **state) {
  (void)state;
  static const unsigned counts[] = {23, 24, 25, 26, 5000};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    struct hf_buf text;
    struct hf_str key = {NULL, 0};
    make_members(&text, counts[i], counts[i] - 1);
    assert_int_equal(look(text.data, &key), 0);
    hf_buf_deinit(&text);
    make_members(&text, counts[i], 7);
    assert_int_equal(look(text.data, &key), HF_ERR_DUPLICATE);
    assert_true(hf_str_equal(key, HF_STR("\"k7\"")));
    hf_buf_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unique__finds_the_second_of_two_names),
      cmocka_unit_test(unique__many_members_are_looked_at_too),
  };
  return cmocka_run_group_tests_name("unique", tests, NULL, NULL);
}
