#include "gateway/catalog/param_header.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TOOL                                                                                                           \
  "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","              \
  "\"x-mcp-header\":\"Region\"},\"deep\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\","            \
  "\"x-mcp-header\":\"N\"}}},\"on\":{\"type\":\"boolean\",\"x-mcp-header\":\"On\"}}}}"

static void param_header__annotations_that_break_the_rules_are_refused(void **state) {
  (void)state;
  static const struct {
    struct hf_str schema;
    int result;
  } rows[] = {
      {HF_STR("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}"), 0},
      {HF_STR("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}}}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a b\"}}}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a\\r\\nX: y\"}}}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":7}}}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}}}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":{\"a\":{\"type\":\"object\",\"x-mcp-header\":\"A\"}}}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},"
              "\"b\":{\"type\":\"string\",\"x-mcp-header\":\"a\"}}}"),
       HF_ERR_INVALID},
      {HF_STR("{\"x-mcp-header\":\"A\"}"), HF_ERR_INVALID},
      {HF_STR("{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}]}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":{\"a\":{\"items\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":{\"a\":{\"default\":{\"x-mcp-header\":\"A\"}}}}"), 0},
      {HF_STR("{\"properties\":[{\"type\":\"string\",\"x-mcp-header\":\"A\"}]}"), HF_ERR_INVALID},
      {HF_STR("{\"properties\":[\"x-mcp-header\",1]}"), 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_arena arena;
    hf_arena_init(&arena, 1 << 20);
    struct hf_str tool = hf_arena_printf(&arena, "{\"name\":\"t\",\"inputSchema\":%.*s}", HF_STR_FMT(rows[i].schema));
    struct hf_param_headers headers;
    struct hf_error why;
    if (hf_param_headers_read(tool, &arena, &headers, &why) != rows[i].result)
      fail_msg("%s", rows[i].schema.ptr);
    hf_arena_deinit(&arena);
  }
}

static void param_header__values_are_computed_from_the_arguments(void **state) {
  (void)state;
  struct hf_arena arena;
  hf_arena_init(&arena, 1 << 20);
  struct hf_param_headers headers;
  assert_int_equal(hf_param_headers_read(HF_STR(TOOL), &arena, &headers, NULL), 0);
  assert_int_equal(headers.count, 3);
  struct hf_header got[HF_PARAM_HEADERS_MAX];
  int n = hf_param_headers_compute(&headers, HF_STR("{\"region\":\" \\u4e16 \",\"deep\":{\"n\":4.20e1},\"on\":null}"),
                                   &arena, got);
  assert_int_equal(n, 2);
  assert_string_equal(got[0].name.ptr, "Mcp-Param-Region");
  assert_string_equal(got[0].value.ptr, "=?base64?IOS4liA=?=");
  assert_string_equal(got[1].name.ptr, "Mcp-Param-N");
  assert_string_equal(got[1].value.ptr, "42");
  assert_int_equal(hf_param_headers_compute(&headers, (struct hf_str){NULL, 0}, &arena, got), 0);
  hf_arena_deinit(&arena);
}

/* Numbers agree as numbers; texts as they are, also when they look like numbers. */
static void param_header__a_number_may_be_spelt_differently_and_nothing_else(void **state) {
  (void)state;
  static const struct {
    struct hf_str arguments;
    struct hf_str name;
    struct hf_str value;
    int result;
  } rows[] = {
      {HF_STR("{\"deep\":{\"n\":20}}"), HF_STR("Mcp-Param-N"), HF_STR("20.0"), 0},
      {HF_STR("{\"deep\":{\"n\":20.0}}"), HF_STR("Mcp-Param-N"), HF_STR("20"), 0},
      {HF_STR("{\"deep\":{\"n\":20}}"), HF_STR("Mcp-Param-N"), HF_STR("1:"), HF_ERR_INVALID},
      {HF_STR("{\"deep\":{\"n\":2}}"), HF_STR("Mcp-Param-N"), HF_STR("2e"), HF_ERR_INVALID},
      {HF_STR("{\"deep\":{\"n\":0}}"), HF_STR("Mcp-Param-N"), HF_STR("-"), HF_ERR_INVALID},
      {HF_STR("{\"deep\":{\"n\":7}}"), HF_STR("Mcp-Param-N"), HF_STR("007"), HF_ERR_INVALID},
      {HF_STR("{\"region\":\"007\"}"), HF_STR("Mcp-Param-Region"), HF_STR("7"), HF_ERR_INVALID},
      {HF_STR("{\"region\":\"7\"}"), HF_STR("Mcp-Param-Region"), HF_STR("7.0"), HF_ERR_INVALID},
  };
  struct hf_arena arena;
  hf_arena_init(&arena, 1 << 20);
  struct hf_param_headers headers;
  assert_int_equal(hf_param_headers_read(HF_STR(TOOL), &arena, &headers, NULL), 0);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_header came = {rows[i].name, rows[i].value};
    struct hf_error why;
    int r = hf_param_headers_check(&headers, rows[i].arguments, &came, 1, &arena, &why);
    if (r != rows[i].result)
      fail_msg("row %zu: %d", i, r);
  }
  hf_arena_deinit(&arena);
}

static void param_header__headers_must_agree_with_the_arguments(void **state) {
  (void)state;
  static const struct {
    struct hf_str arguments;
    struct hf_str region; /* absent: not sent */
    int result;
  } rows[] = {
      {HF_STR("{\"region\":\"eu\"}"), HF_STR("eu"), 0},
      {HF_STR("{\"region\":\"eu\"}"), HF_STR("=?base64?ZXU=?="), 0},
      {HF_STR("{\"region\":\"eu\"}"), HF_STR("us"), HF_ERR_INVALID},
      {HF_STR("{\"region\":\"eu\"}"), HF_STR("=?base64?%%?="), HF_ERR_INVALID},
      {HF_STR("{\"region\":\"eu\"}"), {NULL, 0}, HF_ERR_INVALID},
      {HF_STR("{\"region\":null}"), {NULL, 0}, 0},
      {HF_STR("{}"), HF_STR("eu"), HF_ERR_INVALID},
      {HF_STR("{}"), {NULL, 0}, 0},
  };
  struct hf_arena arena;
  hf_arena_init(&arena, 1 << 20);
  struct hf_param_headers headers;
  assert_int_equal(hf_param_headers_read(HF_STR(TOOL), &arena, &headers, NULL), 0);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_header came = {HF_STR("mcp-param-REGION"), rows[i].region};
    struct hf_error why;
    int r = hf_param_headers_check(&headers, rows[i].arguments, &came, rows[i].region.ptr ? 1 : 0, &arena, &why);
    if (r != rows[i].result)
      fail_msg("row %zu: %d", i, r);
  }
  hf_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(param_header__annotations_that_break_the_rules_are_refused),
      cmocka_unit_test(param_header__values_are_computed_from_the_arguments),
      cmocka_unit_test(param_header__headers_must_agree_with_the_arguments),
      cmocka_unit_test(param_header__a_number_may_be_spelt_differently_and_nothing_else),
  };
  return cmocka_run_group_tests_name("param_header", tests, NULL, NULL);
}
