#include "json/template.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char source[] =
    "{\"n\": 1.50, \"big\":12345678901234567890123, \"s\":\"a\\u0022b\\\\\", \"nul\":null, \"no\":false, \"z\":[ ],"
    "\"user\":{\"emails\":[\"x@y\",\"z\"],\"a.b\":{\"c/d\":7},\"na me\":3},\"evil\":\"{{n}}\\\",\\\"x\\\":\\\"\","
    "\"two\":1,\"two\":2,\"half\":\"\\ud800\",\"{\":1}";

static void template__fills_holes(void **state) {
  (void)state;
  static const struct {
    const char *template;
    const char *text; /* NULL: nothing is left */
  } rows[] = {
      /* a hole alone is the value, spelt as it was */
      {"\"{{n}}\"", "1.50"},
      {"\"{{big}}\"", "12345678901234567890123"},
      {"\"{{s}}\"", "\"a\\u0022b\\\\\""},
      {"\"{{nul}}\"", "null"},
      {"\"{{z}}\"", "[ ]"},
      {"\"{{user.emails}}\"", "[\"x@y\",\"z\"]"},
      {"\"{{ user.emails.1 }}\"", "\"z\""},
      {"\"{{/user/emails/0}}\"", "\"x@y\""},
      {"\"{{/user/a.b/c~1d}}\"", "7"},
      {"\"{{user.na me}}\"", "3"},
      {"\"{{half}}\"", "\"\\ud800\""},
      {"\"\\u007b{n}}\"", "1.50"},
      {"{\"all\":\"{{}}\"}", NULL}, /* checked below: the whole source */
      /* among other text */
      {"\" {{n}}\"", "\" 1.50\""},
      {"\"{{s}}{{n}}\"", "\"a\\u0022b\\\\1.50\""},
      {"\"<{{user.emails}}>\"", "\"<[\\\"x@y\\\",\\\"z\\\"]>\""},
      {"\"{{nul}}/{{no}}/{{z}}\"", "\"null/false/[ ]\""},
      {"\"\\n{{n}}\\u00e9\"", "\"\\n1.50\xc3\xa9\""},
      {"\"{{half}}!\"", "\"\\ud800!\""},
      /* rename, constant, nesting */
      {"{ \"q\" : \"{{s}}\", \"k\":[1.0,{\"m\":\"{{n}}\"}, \"c\"] }",
       "{\"q\":\"a\\u0022b\\\\\",\"k\":[1.0,{\"m\":1.50},\"c\"]}"},
      {"{\"\\u0071\":\"{{n}}\"}", "{\"\\u0071\":1.50}"},
      /* defaults */
      {"\"{{x|5}}\"", "5"},
      {"\"{{x| 5 }}\"", "5"},
      {"\"{{x|5 apples}}\"", "\"5 apples\""},
      {"\"{{x|1.50e3}}\"", "1.50e3"},
      {"\"{{x|true}}\"", "true"},
      {"\"{{x|trueish}}\"", "\"trueish\""},
      {"\"{{x|}}\"", "\"\""},
      {"\"{{x|  }}\"", "\"\""},
      {"\"{{x|\\\"5\\\"}}\"", "\"5\""},
      {"\"{{x|{\\\"a\\\":{\\\"b\\\":\\\"}}\\\"}}}}\"", "{\"a\":{\"b\":\"}}\"}}"},
      {"\"{{x|[1,{}]}}!\"", "\"[1,{}]!\""},
      {"\"{{x|\\\"a\\\\nb\\\"}}!\"", "\"a\\nb!\""},
      {"\"{{x|say \\\"a\\\"}}!\"", "\"say \\\"a\\\"!\""},
      {"\"{{x|{{n}}\"", "\"{{n\""}, /* nothing in a default is a hole */
      {"\"{{nul|5}}\"", "null"},
      {"\"{{n|5}}\"", "1.50"},
      {"\"{{user.emails.2|a|b}}\"", "\"a|b\""},
      {"\"{{n.x|5}}\"", "5"},
      /* what is not there is left out */
      {"\"{{x}}\"", NULL},
      {"\"no {{x}}\"", NULL},
      {"{\"a\":\"{{x}}\",\"b\":\"{{n}}\",\"c\":\"-{{x}}-\"}", "{\"b\":1.50}"},
      {"[\"{{x}}\",1,\"{{x}}\",\"{{n}}\",\"{{x}}\"]", "[1,1.50]"},
      {"{\"a\":{\"b\":[\"{{x}}\"]}}", "{\"a\":{\"b\":[]}}"},
      {"{\"a\":\"{{n}}\",\"b\":\"{{x}}\"}", "{\"a\":1.50}"},
      /* braces */
      {"\"{{{{n}}\"", "\"{{n}}\""},
      {"\"{{{{{{n}}\"", "\"{{1.50\""},
      {"\"a}}b{c\"", "\"a}}b{c\""},
      /* nothing of the source is a template */
      {"{\"a\":\"{{evil}}\",\"b\":\"<{{evil}}>\"}",
       "{\"a\":\"{{n}}\\\",\\\"x\\\":\\\"\",\"b\":\"<{{n}}\\\",\\\"x\\\":\\\">\"}"},
      /* without holes it is itself */
      {" { \"a\" : [ 1.0 , \"\\u0041\" ] } ", "{ \"a\" : [ 1.0 , \"\\u0041\" ] }"},
      {"7", "7"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    struct hf_error error = {.text = ""};
    if (hf_template_check(hf_str_from(rows[i].template), &error) < 0)
      fail_msg("%s: %s", rows[i].template, error.text);
    int r = hf_template_fill(hf_str_from(rows[i].template), hf_str_from(source), &out);
    if (strcmp(rows[i].template, "{\"all\":\"{{}}\"}") == 0) {
      assert_int_equal(r, 0);
      assert_int_equal(out.len, strlen(source) + strlen("{\"all\":}"));
      assert_memory_equal(out.data + strlen("{\"all\":"), source, strlen(source));
    } else if (r != (rows[i].text ? 0 : HF_ERR_NOTFOUND) || (!rows[i].text && out.len > 0) ||
               (rows[i].text && !hf_str_equal(hf_buf_str(&out), hf_str_from(rows[i].text)))) {
      fail_msg("%s: %d '%.*s'", rows[i].template, r, HF_STR_FMT(hf_buf_str(&out)));
    }
    hf_buf_deinit(&out);
  }
}

static void template__nothing_is_left_out_of_a_whole_one(void **state) {
  (void)state;
  static const struct {
    const char *template;
    const char *text;
  } rows[] = {
      {"{\"a\":\"{{n}}\",\"b\":[\"{{x|1}}\"]}", "{\"a\":1.50,\"b\":[1]}"},
      {"{\"a\":\"{{nul}}\"}", "{\"a\":null}"},
      {"{}", "{}"},
      {"{\"a\":\"{{n}}\",\"b\":\"{{x}}\"}", NULL},
      {"{\"a\":{\"b\":[1,\"<{{x}}>\"]}}", NULL},
      {"\"{{x}}\"", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    int r = hf_template_fill_whole(hf_str_from(rows[i].template), hf_str_from(source), &out);
    if (r != (rows[i].text ? 0 : HF_ERR_NOTFOUND) ||
        !hf_str_equal(hf_buf_str(&out), hf_str_from(rows[i].text ? rows[i].text : "")))
      fail_msg("%s: %d '%.*s'", rows[i].template, r, HF_STR_FMT(hf_buf_str(&out)));
    hf_buf_deinit(&out);
  }
}

static void template__says_what_is_wrong(void **state) {
  (void)state;
  static const struct {
    const char *template;
    int result;
    const char *text;
  } rows[] = {
      {"{\"a\":[\"x {{a\"]}", HF_ERR_SYNTAX, "a hole has no end: 'x {{a'"},
      {"\"{{a|b\"", HF_ERR_SYNTAX, "a hole has no end: '{{a|b'"},
      {"\"{{a|{\\\"b\\\":1}\"", HF_ERR_SYNTAX, "a hole has no end: '{{a|{\"b\":1}'"},
      {"\"{{a}} {{\"", HF_ERR_SYNTAX, "a hole has no end: '{{a}} {{'"},
      {"\"{{a..b}}\"", HF_ERR_SYNTAX, "a hole has an empty name in its path: '{{a..b}}'"},
      {"\"{{.a}}\"", HF_ERR_SYNTAX, "a hole has an empty name in its path: '{{.a}}'"},
      {"\"{{a.}}\"", HF_ERR_SYNTAX, "a hole has an empty name in its path: '{{a.}}'"},
      {"\"{{{a}}}\"", HF_ERR_SYNTAX, "a hole has a brace in its path: '{{{a}}}'"},
      {"\"{{/a~}}\"", HF_ERR_SYNTAX, "a hole has a bad JSON Pointer: '{{/a~}}'"},
      {"{\"{{a}}\":1}", HF_ERR_SYNTAX, "the name of a member cannot have a hole: '{{a}}'"},
      {"{\"a\":1,\"\\u0061\":2}", HF_ERR_DUPLICATE, "duplicate member"},
      {"{\"a\":", HF_ERR_SYNTAX, NULL},
      {"", HF_ERR_SYNTAX, NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_error error = {.text = ""};
    int r = hf_template_check(hf_str_from(rows[i].template), &error);
    if (r != rows[i].result || error.code != r || (rows[i].text && strcmp(error.text, rows[i].text) != 0))
      fail_msg("%s: %d '%s'", rows[i].template, r, error.text);
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    assert_int_equal(hf_template_fill(hf_str_from(rows[i].template), hf_str_from(source), &out), r);
    assert_int_equal(out.len, 0);
    hf_buf_deinit(&out);
  }
}

/* Fails at the allocation after `fail_after` further ones; -1: never. */
static int fill_failing(const char *template, struct hf_str from, size_t max, long fail_after) {
  struct hf_buf out;
  hf_buf_init(&out, max);
  assert_int_equal(hf_buf_append_str(&out, HF_STR("kept")), 0);
  hf_alloc_fail_after(fail_after);
  int r = hf_template_fill(hf_str_from(template), from, &out);
  hf_alloc_fail_after(-1);
  if (r < 0)
    assert_true(hf_str_equal(hf_buf_str(&out), HF_STR("kept")));
  hf_buf_deinit(&out);
  return r;
}

static int fill(const char *template, struct hf_str from, size_t max) {
  return fill_failing(template, from, max, -1);
}

static void template__refuses_sources_and_leaves_the_buffer_alone(void **state) {
  (void)state;
  struct hf_str good = hf_str_from(source);
  assert_int_equal(fill("{\"a\":1,\"b\":\"{{two}}\"}", good, 4096), HF_ERR_DUPLICATE);
  assert_int_equal(fill("\"{{two|1}}\"", good, 4096), HF_ERR_DUPLICATE);
  assert_int_equal(fill("\"{{n}}\"", HF_STR("{\"n\":1"), 4096), HF_ERR_SYNTAX);
  assert_int_equal(fill("\"{{}}\"", HF_STR("1 2"), 4096), HF_ERR_SYNTAX);
  assert_int_equal(fill("{\"a\":1,\"b\":\"{{x}}\"}", HF_STR("[]"), 4096), 0);
  assert_int_equal(fill("{\"a\":1}", HF_STR("no json"), 4096), 0);
}

static void template__has_limits(void **state) {
  (void)state;
  struct hf_str good = hf_str_from(source);
  assert_int_equal(fill("[\"{{big}}\",\"{{big}}\"]", good, 32), HF_ERR_LIMIT);
  assert_int_equal(fill("\"-{{big}}{{big}}\"", good, 32), HF_ERR_LIMIT);

  static char deep[HF_TEMPLATE_DEPTH * 2 + 3];
  memset(deep, '[', HF_TEMPLATE_DEPTH);
  memset(deep + HF_TEMPLATE_DEPTH, ']', HF_TEMPLATE_DEPTH);
  assert_int_equal(fill(deep, good, 4096), 0);
  memset(deep, '[', HF_TEMPLATE_DEPTH + 1);
  memset(deep + HF_TEMPLATE_DEPTH + 1, ']', HF_TEMPLATE_DEPTH + 1);
  assert_int_equal(fill(deep, good, 4096), HF_ERR_LIMIT);

  static char wide[HF_TEMPLATE_NODES * 2 + 2];
  for (size_t i = 0; i < HF_TEMPLATE_NODES; i++)
    memcpy(wide + 2 * i, ",1", 2);
  wide[0] = '[';
  wide[HF_TEMPLATE_NODES * 2] = ']';
  assert_int_equal(hf_template_check(hf_str_from(wide), NULL), HF_ERR_LIMIT);
  memcpy(wide + HF_TEMPLATE_NODES * 2 - 2, " ]", 3);
  assert_int_equal(hf_template_check(hf_str_from(wide), NULL), 0);

  static char big[HF_TEMPLATE_BYTES + 2];
  memset(big, ' ', HF_TEMPLATE_BYTES);
  big[0] = '1';
  assert_int_equal(fill(big, good, 4096), 0);
  big[HF_TEMPLATE_BYTES] = ' ';
  assert_int_equal(fill(big, good, 4096), HF_ERR_LIMIT);
}

static void template__out_of_memory_is_an_error(void **state) {
  (void)state;
  for (long n = 0; n < 40; n++) {
    int r = fill_failing("{\"\\u0061\":\"\\u0041{{/user/emails/0}} {{n}}\",\"b\":\"{{x|1}}\"}", hf_str_from(source),
                         4096, n);
    if (r == 0) {
      assert_true(n > 5);
      return;
    }
    assert_int_equal(r, HF_ERR_NOMEM);
  }
  fail();
}

static void add_name(void *ctx, struct hf_str name, bool has_default) {
  assert_int_equal(hf_buf_printf(ctx, "%.*s%s,", HF_STR_FMT(name.ptr ? name : HF_STR("*")), has_default ? "?" : ""), 0);
}

static void template__tells_the_names_it_needs(void **state) {
  (void)state;
  struct hf_buf names;
  hf_buf_init(&names, 4096);
  assert_int_equal(hf_template_names(HF_STR("{\"a\":[\"{{q}} {{user.x}}\",\"{{{{no\"],\"b\":\"{{/a~1b/c|1}}{{}}\"}"),
                                     add_name, &names),
                   0);
  assert_true(hf_str_equal(hf_buf_str(&names), HF_STR("q,user,a/b?,*,")));
  hf_buf_deinit(&names);
  assert_int_equal(hf_template_names(HF_STR("\"{{\""), add_name, &names), HF_ERR_SYNTAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(template__fills_holes),
      cmocka_unit_test(template__nothing_is_left_out_of_a_whole_one),
      cmocka_unit_test(template__says_what_is_wrong),
      cmocka_unit_test(template__refuses_sources_and_leaves_the_buffer_alone),
      cmocka_unit_test(template__has_limits),
      cmocka_unit_test(template__out_of_memory_is_an_error),
      cmocka_unit_test(template__tells_the_names_it_needs),
  };
  return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
