#include "json/pointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void pointer__finds_what_rfc_6901_says(void **state) {
  (void)state;
  static const char text[] = "{\"foo\":[\"bar\", \"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,"
                             "\"k\\\"l\":6,\" \":7,\"m~n\":8,\"\\u0064\":{\"x\":[[1.0]]},\"two\":1,\"tw\\u006f\":2}";
  static const struct {
    const char *pointer;
    int result;
    const char *value;
  } rows[] = {
      {"", 0, text},
      {"/foo", 0, "[\"bar\", \"baz\"]"},
      {"/foo/0", 0, "\"bar\""},
      {"/foo/1", 0, "\"baz\""},
      {"/foo/2", HF_ERR_NOTFOUND, NULL},
      {"/foo/-", HF_ERR_NOTFOUND, NULL},
      {"/foo/01", HF_ERR_NOTFOUND, NULL},
      {"/foo/00", HF_ERR_NOTFOUND, NULL},
      {"/foo/+1", HF_ERR_NOTFOUND, NULL},
      {"/foo/", HF_ERR_NOTFOUND, NULL},
      {"/foo/18446744073709551616", HF_ERR_NOTFOUND, NULL},
      {"/foo/4294967296", HF_ERR_NOTFOUND, NULL},
      {"/foo/0/0", HF_ERR_NOTFOUND, NULL},
      {"/", 0, "0"},
      {"/a~1b", 0, "1"},
      {"/c%d", 0, "2"},
      {"/e^f", 0, "3"},
      {"/g|h", 0, "4"},
      {"/i\\j", 0, "5"},
      {"/k\"l", 0, "6"},
      {"/ ", 0, "7"},
      {"/m~0n", 0, "8"},
      {"/m~01n", HF_ERR_NOTFOUND, NULL},
      {"/d/x/0/0", 0, "1.0"},
      {"/d/x/0/0/y", HF_ERR_NOTFOUND, NULL},
      {"/nobody", HF_ERR_NOTFOUND, NULL},
      {"/two", HF_ERR_DUPLICATE, NULL},
      {"/two/x", HF_ERR_DUPLICATE, NULL},
      {"foo", HF_ERR_INVALID, NULL},
      {"/foo~", HF_ERR_INVALID, NULL},
      {"/foo~2", HF_ERR_INVALID, NULL},
      {"/nobody/~", HF_ERR_INVALID, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_str value = {NULL, 0};
    int r = hf_json_pointer(hf_str_from(text), hf_str_from(rows[i].pointer), &value);
    if (r != rows[i].result)
      fail_msg("'%s': %d", rows[i].pointer, r);
    if (rows[i].value && !hf_str_equal(value, hf_str_from(rows[i].value)))
      fail_msg("'%s': '%.*s'", rows[i].pointer, HF_STR_FMT(value));
    struct hf_error error;
    assert_int_equal(hf_json_pointer_check(hf_str_from(rows[i].pointer), &error),
                     rows[i].result == HF_ERR_INVALID ? HF_ERR_INVALID : 0);
  }
}

static void pointer__refuses_text_that_is_no_json(void **state) {
  (void)state;
  struct hf_str value;
  assert_int_equal(hf_json_pointer(HF_STR("{\"a\":1"), HF_STR("/a"), &value), HF_ERR_SYNTAX);
  assert_int_equal(hf_json_pointer(HF_STR(""), HF_STR(""), &value), HF_ERR_SYNTAX);
}

static void pointer__says_what_is_wrong(void **state) {
  (void)state;
  struct hf_error error;
  assert_int_equal(hf_json_pointer_check(HF_STR("a/b"), &error), HF_ERR_INVALID);
  assert_string_equal(error.text, "a JSON Pointer is empty or starts with '/'");
  assert_int_equal(hf_json_pointer_check(HF_STR("/a~b"), &error), HF_ERR_INVALID);
  assert_string_equal(error.text, "in a JSON Pointer '~' is followed by 0 or 1");
}

static void pointer__of_a_node_is_spelt_as_it_is_found(void **state) {
  (void)state;
  static const char text[] = "{\"foo\":[\"bar\",{\"\":7}],\"a/b~c\":1,\"\\u0064\":[[2]]}";
  static const char *const pointers[] = {"", "/foo", "/foo/0", "/foo/1", "/foo/1/", "/a~1b~0c", "/d", "/d/0/0"};
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = 100;
  options.tree_depth = 10;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, text, strlen(text), true), 0);
  const struct hf_json_doc doc = hf_json_doc(text, &scan);
  for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
    char bytes[64];
    struct hf_buf out = {.data = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    uint32_t node;
    assert_int_equal(hf_json_pointer_walk(&doc, hf_str_from(pointers[i]), &node), 0);
    assert_int_equal(hf_json_pointer_of(&doc, node, &out), 0);
    if (!hf_str_equal(hf_buf_str(&out), hf_str_from(pointers[i])))
      fail_msg("'%s': '%.*s'", pointers[i], HF_STR_FMT(hf_buf_str(&out)));
  }
  hf_json_scan_deinit(&scan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pointer__finds_what_rfc_6901_says),
      cmocka_unit_test(pointer__refuses_text_that_is_no_json),
      cmocka_unit_test(pointer__says_what_is_wrong),
      cmocka_unit_test(pointer__of_a_node_is_spelt_as_it_is_found),
  };
  return cmocka_run_group_tests_name("pointer", tests, NULL, NULL);
}
