#include "base/alloc.h"
#include "base/error.h"
#include "schema/uri.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_resolves(const char *base, const char *reference, const char *expected) {
  struct hf_buf out;
  hf_buf_init(&out, 256);
  assert_int_equal(hf_uri_resolve(hf_str_from(base), hf_str_from(reference), &out), 0);
  if (!hf_str_equal(hf_buf_str(&out), hf_str_from(expected)))
    fail_msg("'%s' at '%s' is '%.*s'", reference, base, HF_STR_FMT(hf_buf_str(&out)));
  hf_buf_deinit(&out);
}

/* The examples of RFC 3986, section 5.4, without fragments, which are split off before. */
static void uri__resolves_the_examples_of_the_rfc(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"g;x?y", "http://a/b/c/g;x?y"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_resolves("http://a/b/c/d;p?q", rows[i][0], rows[i][1]);
}

static void uri__resolves_where_there_is_little_to_go_by(void **state) {
  (void)state;
  assert_resolves("", "item.json", "item.json");
  assert_resolves("", "/a/../b", "/b");
  assert_resolves("http://a", "b", "http://a/b");
  assert_resolves("urn:uuid:1", "urn:uuid:2", "urn:uuid:2");
  assert_resolves("dir/base.json", "other.json", "dir/other.json");
  assert_resolves("file:///folder/file.json", "x.json", "file:///folder/x.json");
}

static void uri__splits_and_decodes(void **state) {
  (void)state;
  struct hf_str resource, fragment;
  hf_uri_split(HF_STR("a#/b#c"), &resource, &fragment);
  assert_true(hf_str_equal(resource, HF_STR("a")));
  assert_true(hf_str_equal(fragment, HF_STR("/b#c")));
  hf_uri_split(HF_STR("a"), &resource, &fragment);
  assert_true(hf_str_equal(resource, HF_STR("a")));
  assert_null(fragment.ptr);
  struct hf_buf out;
  hf_buf_init(&out, 64);
  assert_int_equal(hf_uri_decode(HF_STR("a%20%2Fb%C3%a4%zz%2"), &out), 0);
  assert_true(hf_str_equal(hf_buf_str(&out), HF_STR("a /b\xc3\xa4%zz%2")));
  hf_buf_deinit(&out);
}

static void uri__reports_what_the_buffer_does(void **state) {
  (void)state;
  struct hf_buf out;
  hf_buf_init(&out, 8);
  assert_int_equal(hf_uri_resolve(HF_STR("http://a/b"), HF_STR("c"), &out), HF_ERR_LIMIT);
  hf_buf_deinit(&out);
  int r = HF_ERR_NOMEM;
  for (long n = 0; r == HF_ERR_NOMEM; n++) {
    hf_buf_init(&out, 64);
    hf_alloc_fail_after(n);
    r = hf_uri_resolve(HF_STR("http://a/b"), HF_STR("../c"), &out);
    hf_alloc_fail_after(-1);
    hf_buf_deinit(&out);
  }
  assert_int_equal(r, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uri__resolves_the_examples_of_the_rfc),
      cmocka_unit_test(uri__resolves_where_there_is_little_to_go_by),
      cmocka_unit_test(uri__splits_and_decodes),
      cmocka_unit_test(uri__reports_what_the_buffer_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
