#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chaos/drift.h"

#include <string.h>

static void chaos_drift__changes_one_schema_of_the_list(void **state) {
  (void)state;
  static const struct {
    long drifts;
    const char *before;
    const char *after;
  } cases[] = {
      {0, "{\"result\":{\"tools\":[{\"inputSchema\":{}}]}}", "{\"result\":{\"tools\":[{\"inputSchema\":{}}]}}"},
      {1, "{\"result\":{\"tools\":[{\"inputSchema\":{}}]}}",
       "{\"result\":{\"tools\":[{\"inputSchema\":{\"properties\":{\"drift_1\":{\"type\":\"string\"}},"
       "\"required\":[\"drift_1\"]}}]}}"},
      {1, "{\"result\":{\"tools\":[{\"inputSchema\":{\"properties\":{ },\"required\":[]}}]}}",
       "{\"result\":{\"tools\":[{\"inputSchema\":{\"properties\":{\"drift_1\":{\"type\":\"string\"} },"
       "\"required\":[\"drift_1\"]}}]}}"},
      {2,
       "{\"result\":{\"tools\":[{\"inputSchema\":{}},{\"inputSchema\":{\"required\":[\"a\"],\"properties\":{\"a\":1}}}]"
       "}}",
       "{\"result\":{\"tools\":[{\"inputSchema\":{}},{\"inputSchema\":{\"required\":[\"drift_2\",\"a\"],"
       "\"properties\":{\"drift_2\":{\"type\":\"string\"},\"a\":1}}}]}}"},
      {3, "{\"result\":{\"tools\":[]}}", "{\"result\":{\"tools\":[]}}"},
      {3, "{\"error\":{\"code\":1}}", "{\"error\":{\"code\":1}}"},
      {1, "{\"result\":{\"tools\":[{\"inputSchema\":true}]}}", "{\"result\":{\"tools\":[{\"inputSchema\":true}]}}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_buf list;
    hf_buf_init(&list, 4096);
    assert_int_equal(hf_buf_append_str(&list, hf_str_from(cases[i].before)), 0);
    assert_int_equal(hf_chaos_drift(&list, cases[i].drifts), 0);
    assert_int_equal(list.len, strlen(cases[i].after));
    assert_memory_equal(list.data, cases[i].after, list.len);
    hf_buf_deinit(&list);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chaos_drift__changes_one_schema_of_the_list)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
