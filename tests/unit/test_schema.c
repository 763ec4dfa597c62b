#include "base/alloc.h"
#include "schema/schema.h"
#include "json/pointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A schema, a value, and memory to run the one over the other. */
struct bench {
  struct hf_schema *schema;
  struct hf_schema_run *run;
  struct hf_schema_errors errors;
  struct hf_json_scan scan;
  struct hf_json_doc doc;
  struct hf_error error;
};

static const struct hf_schema_options defaults = HF_SCHEMA_OPTIONS_INIT;

static int compile_with(struct bench *b, const char *schema, const struct hf_schema_options *options) {
  *b = (struct bench){0};
  hf_schema_errors_init(&b->errors);
  b->run = hf_schema_run_new();
  assert_non_null(b->run);
  return hf_schema_compile(hf_str_from(schema), options, &b->schema, &b->error);
}

static void compile(struct bench *b, const char *schema) {
  if (compile_with(b, schema, &defaults) < 0)
    fail_msg("%s: %s", schema, b->error.text);
}

static void read_value(struct bench *b, const char *value) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  hf_json_scan_deinit(&b->scan);
  hf_json_scan_init(&b->scan, &options);
  assert_int_equal(hf_json_scan_feed(&b->scan, value, strlen(value), true), 0);
  b->doc = hf_json_doc(value, &b->scan);
}

static int check(struct bench *b, const char *value) {
  read_value(b, value);
  return hf_schema_check(b->schema, b->run, &b->doc, 0);
}

static int explain(struct bench *b, const char *value) {
  read_value(b, value);
  return hf_schema_explain(b->schema, b->run, &b->doc, 0, &b->errors);
}

static void close_bench(struct bench *b) {
  hf_json_scan_deinit(&b->scan);
  hf_schema_errors_deinit(&b->errors);
  hf_schema_run_free(b->run);
  hf_schema_free(b->schema);
}

static void repeat(struct hf_buf *buf, const char *text, int times) {
  for (int i = 0; i < times; i++)
    assert_int_equal(hf_buf_append(buf, text, strlen(text)), 0);
}

#define TEXT(literal)                                                                                                  \
  { "" literal, sizeof(literal) - 1 }
#define D4 "\"$schema\":\"http://json-schema.org/draft-04/schema#\","
#define D6 "\"$schema\":\"http://json-schema.org/draft-06/schema#\","
#define D7 "\"$schema\":\"http://json-schema.org/draft-07/schema#\","
#define D19 "\"$schema\":\"https://json-schema.org/draft/2019-09/schema\","

/* A value that fits, and one that does not, where there are such. */
static const struct {
  const char *schema, *good, *bad;
} verdicts[] = {
    {"true", "1", NULL},
    {"false", NULL, "1"},
    {"{}", "{\"a\":1}", NULL},
    {"{\"type\":\"string\"}", "\"a\"", "1"},
    {"{\"type\":\"integer\"}", "1.0", "1.5"},
    {"{\"type\":\"integer\"}", "123456789012345678901234567890", "0.123456789012345678901234567890"},
    {"{\"type\":\"integer\"}", "1e3", "1e-3"},
    {"{" D4 "\"type\":\"integer\"}", "1", "1.0"},
    {"{\"type\":[\"null\",\"boolean\"]}", "true", "0"},
    {"{\"type\":\"number\"}", "1.5", "\"1.5\""},
    {"{\"enum\":[\"a\",1,null,{\"k\":[1]}]}", "{\"k\":[1.0]}", "\"b\""},
    {"{\"enum\":[\"a\"]}", "\"\\u0061\"", "[\"a\"]"},
    {"{\"const\":10}", "1e1", "\"10\""},
    {"{\"multipleOf\":0.01}", "4.35", "4.351"},
    {"{\"multipleOf\":3}", "9", "10"},
    {"{\"maximum\":9007199254740993}", "9007199254740993", "9007199254740994"},
    {"{\"exclusiveMaximum\":1}", "0.9999999999999999999999", "1.0"},
    {"{\"minimum\":-1}", "-1", "-1.0000000000000000001"},
    {"{\"exclusiveMinimum\":0}", "1e-400", "0"},
    {"{" D4 "\"maximum\":1,\"exclusiveMaximum\":true}", "0", "1"},
    {"{" D4 "\"minimum\":1,\"exclusiveMinimum\":false}", "1", "0"},
    {"{\"maxLength\":2}", "\"\\ud83d\\ude00b\"", "\"abc\""},
    {"{\"minLength\":2}", "\"ab\"", "\"\\ud83d\\ude00\""},
    {"{\"pattern\":\"^a\\\\d$\"}", "\"a\\u0031\"", "\"ab\""},
    {"{\"format\":\"ipv4\"}", "\"no address\"", NULL},
    {"{\"maxItems\":1}", "[1]", "[1,2]"},
    {"{\"minItems\":1}", "[1]", "[]"},
    {"{\"uniqueItems\":true}", "[1,true,\"1\",[1],{\"a\":1}]", "[{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1}]"},
    {"{\"uniqueItems\":true}", "[0,1,2,3,4,5,6,7,8,9]", "[0,1,2,3,4,5,6,7,8,9,3.0]"},
    {"{\"contains\":{\"type\":\"string\"}}", "[1,\"a\"]", "[1]"},
    {"{\"contains\":true,\"maxContains\":2}", "[1,2]", "[1,2,3]"},
    {"{\"contains\":{\"const\":1},\"minContains\":2}", "[1,1]", "[1,2]"},
    {"{\"contains\":false,\"minContains\":0}", "[]", NULL},
    {"{\"items\":{\"type\":\"integer\"}}", "[1,2]", "[1,\"2\"]"},
    {"{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\"]", "[\"a\",1]"},
    {"{" D7 "\"items\":[{\"type\":\"string\"}],\"additionalItems\":{\"type\":\"null\"}}", "[\"a\",null]", "[\"a\",1]"},
    {"{\"maxProperties\":1}", "{\"a\":1}", "{\"a\":1,\"b\":2}"},
    {"{\"minProperties\":1}", "{\"a\":1}", "{}"},
    {"{\"required\":[\"a\",\"\\u0062\"]}", "{\"b\":1,\"\\u0061\":2}", "{\"a\":1,\"c\":2}"},
    {"{\"properties\":{\"a\":{\"type\":\"null\"}}}", "{\"a\":null,\"b\":1}", "{\"\\u0061\":1}"},
    {"{\"patternProperties\":{\"^x\":{\"type\":\"null\"}}}", "{\"x\":null,\"y\":1}", "{\"xy\":1}"},
    {"{\"properties\":{\"a\":true},\"patternProperties\":{\"^x\":true},\"additionalProperties\":false}",
     "{\"a\":1,\"x1\":2}", "{\"b\":1}"},
    {"{\"propertyNames\":{\"maxLength\":1}}", "{\"a\":1}", "{\"ab\":1}"},
    {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1,\"b\":2}", "{\"a\":1}"},
    {"{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"b\":1}", "{\"a\":1}"},
    {"{" D7 "\"dependencies\":{\"a\":[\"b\"],\"c\":{\"maxProperties\":1}}}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}"},
    {"{\"allOf\":[{\"minimum\":1},{\"maximum\":2}]}", "2", "3"},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":2}]}", "2", "1"},
    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "1", "2"},
    {"{\"not\":{\"type\":\"string\"}}", "1", "\"a\""},
    {"{\"if\":{\"minimum\":5},\"then\":{\"maximum\":7},\"else\":{\"minimum\":1}}", "6", "8"},
    {"{\"if\":{\"minimum\":5},\"then\":{\"maximum\":7},\"else\":{\"minimum\":1}}", "1", "0"},
    {"{" D6 "\"if\":false,\"else\":false}", "1", NULL},
    {"{\"$ref\":\"#/$defs/a~1b\",\"$defs\":{\"a/b\":{\"type\":\"null\"}}}", "null", "1"},
    {"{\"properties\":{\"next\":{\"$ref\":\"#\"}},\"required\":[\"v\"]}", "{\"v\":1,\"next\":{\"v\":2}}",
     "{\"v\":1,\"next\":{}}"},
    {"{" D7 "\"$ref\":\"#/definitions/a\",\"minimum\":5,\"definitions\":{\"a\":{\"type\":\"number\"}}}", "1", "\"a\""},
    {"{" D19 "\"$ref\":\"#a\",\"minimum\":5,\"$defs\":{\"x\":{\"$anchor\":\"a\",\"type\":\"number\"}}}", "5", "1"},
    {"{\"$id\":\"http://x.test/a/b\",\"$ref\":\"c#d\",\"$defs\":{\"c\":{\"$id\":\"c\",\"$defs\":{\"d\":{\"$anchor\":"
     "\"d\",\"const\":1}}}}}",
     "1", "2"},
    {"{\"properties\":{\"a\":true},\"allOf\":[{\"properties\":{\"b\":true}}],\"unevaluatedProperties\":false}",
     "{\"a\":1,\"b\":2}", "{\"c\":1}"},
    {"{\"anyOf\":[{\"required\":[\"a\"],\"properties\":{\"a\":true}},{\"properties\":{\"b\":true}}],"
     "\"unevaluatedProperties\":false}",
     "{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}"},
    {"{\"prefixItems\":[true],\"contains\":{\"const\":1},\"unevaluatedItems\":false}", "[5,1]", "[5,1,2]"},
    {"{" D19
     "\"$recursiveAnchor\":true,\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"properties\":{\"c\":{\"$recursiveRef\":"
     "\"#\"}}}},\"required\":[\"v\"]}",
     "{\"v\":1,\"c\":{\"v\":1}}", "{\"v\":1,\"c\":{}}"},
    {"{\"required\":[\"a\",\"a\"]}", "{\"a\":1}", "{}"},
    {"{\"additionalProperties\":{\"type\":\"integer\"}}", "{\"a\":1}", "{\"a\":\"1\"}"},
    {"{\"properties\":{\"\\ud800\":false}}", "{\"\\ufffd\":1}", "{\"\\ud800\":1}"},
    {"{\"required\":[\"\\ud800\"],\"patternProperties\":{\"^.$\":{}}}", "{\"\\ud800\":1}", "{\"\\ufffd\":1}"},
    {"{\"patternProperties\":{\"\\ufffd\":false}}", "{\"\\ud83d\\ude00\":1}", "{\"\\ud800\":1}"},
    {"{\"enum\":[\"\\ud800\"]}", "\"\\ud800\"", "\"\\ufffd\""},
    {"{\"pattern\":\"^.\\\\n$\"}", "\"\\ud800\\n\"", "\"\\ud83d\\ude00\""},
    /* An older draft within, with its own word for `$id` and its own meaning of `maximum`. */
    {"{\"$ref\":\"http://x.test/old\",\"$defs\":{\"o\":{" D4
     "\"id\":\"http://x.test/old\",\"maximum\":1,\"exclusiveMaximum\":true}}}",
     "0", "1"},
    /* Only that at the root of a resource is one. */
    {"{" D19 "\"type\":\"object\",\"properties\":{\"s\":{\"$recursiveAnchor\":true,\"type\":\"string\"},\"c\":{"
     "\"$recursiveRef\":\"#\"}}}",
     "{\"c\":{\"c\":{}}}", "{\"c\":\"\"}"},
    /* The outermost of three that have the anchor decides. */
    {"{\"$id\":\"http://x.test/"
     "a\",\"$ref\":\"b\",\"$defs\":{\"t\":{\"$dynamicAnchor\":\"t\",\"const\":1},\"b\":{\"$id\":\"b\","
     "\"$ref\":\"c\",\"$defs\":{\"t\":{\"$dynamicAnchor\":\"t\",\"const\":2}}},\"c\":{\"$id\":\"c\",\"$dynamicRef\":"
     "\"#t\","
     "\"$defs\":{\"t\":{\"$dynamicAnchor\":\"t\",\"const\":3}}}}}",
     "1", "2"},
    /* Since 2020-12, what `contains` fits is evaluated. */
    {"{\"contains\":{\"const\":1},\"unevaluatedItems\":false}", "[1]", "[1,2]"},
    {"{" D19 "\"contains\":{\"const\":1},\"unevaluatedItems\":{\"const\":2}}", NULL, "[1,2]"},
    {"{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}", "{\"items\":{\"type\":\"array\"}}",
     "{\"items\":{\"type\":\"list\"}}"},
    {"{\"$ref\":\"http://json-schema.org/draft-07/schema#\"}", "{\"items\":[true]}", "{\"minLength\":-1}"},
    {"{\"unknown\":{\"type\":\"null\"},\"x-y\":1}", "1", NULL},
};

static void schema__judges_values(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
    struct bench b;
    compile(&b, verdicts[i].schema);
    if (verdicts[i].good && check(&b, verdicts[i].good) != 0)
      fail_msg("%s refuses %s", verdicts[i].schema, verdicts[i].good);
    if (verdicts[i].bad && check(&b, verdicts[i].bad) != HF_ERR_INVALID)
      fail_msg("%s takes %s", verdicts[i].schema, verdicts[i].bad);
    close_bench(&b);
  }
}

static void schema__refuses_what_is_none(void **state) {
  (void)state;
  static const struct {
    const char *schema;
    int code;
    const char *text;
  } rows[] = {
      {"{", HF_ERR_SYNTAX, "text ends inside a value"},
      {"1", HF_ERR_INVALID, "'' must be a schema: an object or a boolean"},
      {"{\"type\":\"strng\"}", HF_ERR_INVALID, "'/type' is no type"},
      {"{\"type\":[\"null\",1]}", HF_ERR_INVALID, "'/type/1' is no type"},
      {"{\"properties\":{\"a/b\":{\"minLength\":-1}}}", HF_ERR_INVALID,
       "'/properties/a~1b/minLength' must be a whole number that is not negative"},
      {"{\"properties\":{\"a\":7}}", HF_ERR_INVALID, "'/properties/a' must be a schema: an object or a boolean"},
      {"{\"properties\":[]}", HF_ERR_INVALID, "'/properties' must be an object"},
      {"{\"required\":true}", HF_ERR_INVALID, "'/required' must be an array of strings"},
      {"{\"required\":[1]}", HF_ERR_INVALID, "'/required/0' must be a string"},
      {"{\"enum\":1}", HF_ERR_INVALID, "'/enum' must be an array"},
      {"{\"multipleOf\":0}", HF_ERR_INVALID, "'/multipleOf' must be above 0"},
      {"{\"maximum\":\"1\"}", HF_ERR_INVALID, "'/maximum' must be a number"},
      {"{" D4 "\"maximum\":1,\"exclusiveMaximum\":2}", HF_ERR_INVALID, "'/exclusiveMaximum' must be a boolean"},
      {"{\"anyOf\":{}}", HF_ERR_INVALID, "'/anyOf' must be an array of schemas"},
      {"{\"anyOf\":[]}", HF_ERR_INVALID, "'/anyOf' must have a schema in it"},
      {"{\"items\":[true]}", HF_ERR_INVALID, "'/items' must be a schema: an object or a boolean"},
      {"{\"uniqueItems\":1}", HF_ERR_INVALID, "'/uniqueItems' must be a boolean"},
      {"{\"dependentRequired\":{\"a\":1}}", HF_ERR_INVALID, "'/dependentRequired/a' must be an array of strings"},
      {"{\"minimum\":1,\"minimum\":2}", HF_ERR_INVALID, "'/minimum' is said twice"},
      {"{\"properties\":{\"a\":true,\"\\u0061\":true}}", HF_ERR_INVALID, "'/properties/a' is said twice"},
      {"{\"pattern\":\"(\"}", HF_ERR_SYNTAX, NULL},
      {"{\"$ref\":1}", HF_ERR_INVALID, "'/$ref' must be a string"},
      {"{\"$ref\":\"#/$defs/a\"}", HF_ERR_NOTFOUND, "'#/$defs/a' refers to nothing that is known"},
      {"{\"$ref\":\"#a\"}", HF_ERR_NOTFOUND, "'#a' refers to nothing that is known"},
      {"{\"$ref\":\"https://example.com/x\"}", HF_ERR_NOTFOUND,
       "'https://example.com/x' refers to nothing that is known"},
      {"{\"$schema\":\"https://example.com/x\"}", HF_ERR_UNSUPPORTED, "'/$schema' is a dialect that is not known"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bench b;
    assert_int_equal(compile_with(&b, rows[i].schema, &defaults), rows[i].code);
    assert_int_equal(b.error.code, rows[i].code);
    if (rows[i].text && !strstr(b.error.text, rows[i].text))
      fail_msg("%s: %s", rows[i].schema, b.error.text);
    assert_null(b.schema);
    close_bench(&b);
  }
}

static void assert_pointer(const struct hf_json_doc *doc, uint32_t node, const char *expected) {
  struct hf_buf buf;
  hf_buf_init(&buf, 4096);
  assert_int_equal(hf_json_pointer_of(doc, node, &buf), 0);
  assert_int_equal(buf.len, strlen(expected));
  if (buf.len)
    assert_memory_equal(buf.data, expected, buf.len);
  hf_buf_deinit(&buf);
}

struct expected {
  enum hf_keyword keyword;
  const char *schema, *said, *value, *path; /* pointers; `said`: of the keyword's value, NULL for none */
  const char *key, *missing;                /* raw, or NULL */
  int parent;
  uint32_t branch;
};

static void assert_errors(const struct bench *b, const struct expected *expected, unsigned count) {
  assert_int_equal(b->errors.count, count);
  assert_false(b->errors.cut);
  for (unsigned i = 0; i < count; i++) {
    const struct expected *want = &expected[i];
    const struct hf_schema_error *got = &b->errors.item[i];
    assert_string_equal(hf_keyword_name(got->keyword), hf_keyword_name(want->keyword));
    assert_pointer(got->at.doc, got->at.schema, want->schema);
    if (want->said)
      assert_pointer(got->at.doc, got->at.keyword, want->said);
    else
      assert_int_equal(got->at.keyword, HF_JSON_NONE);
    assert_pointer(&b->doc, got->value, want->value);
    struct hf_str path = {b->errors.paths.data + got->path, got->path_len};
    assert_true(hf_str_equal(path, hf_str_from(want->path)));
    if (want->key)
      assert_true(hf_str_equal(hf_json_span(&b->doc, got->key), hf_str_from(want->key)));
    else
      assert_int_equal(got->key, HF_JSON_NONE);
    assert_true(hf_str_equal(got->missing, hf_str_from(want->missing)));
    assert_int_equal(got->parent, want->parent);
    assert_int_equal(got->branch, want->branch);
  }
}

static void schema__explains_all_reasons(void **state) {
  (void)state;
  struct bench b;
  compile(&b,
          "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"$ref\":\"#/$defs/"
          "n\"},\"c\":false,\"d\":true,\"e\":true},"
          "\"required\":[\"a\",\"d\",\"\\u0065\"],\"additionalProperties\":false,\"$defs\":{\"n\":{\"maximum\":5}}}");
  assert_int_equal(explain(&b, "{\"a\":1,\"b\":[6],\"x~/\":2,\"c\":3}"), HF_ERR_INVALID);
  static const struct expected first[] = {
      {HF_KEYWORD_TYPE, "/properties/a", "/properties/a/type", "/a", "/properties/a/type", NULL, NULL, -1, 0},
      {HF_KEYWORD_ADDITIONAL_PROPERTIES, "", "/additionalProperties", "", "/additionalProperties", "\"x~/\"", NULL, -1,
       0},
      {HF_KEYWORD_FALSE, "/properties/c", NULL, "/c", "/properties/c", NULL, NULL, -1, 0},
      {HF_KEYWORD_REQUIRED, "", "/required", "", "/required", NULL, "\"d\"", -1, 0},
      {HF_KEYWORD_REQUIRED, "", "/required", "", "/required", NULL, "\"\\u0065\"", -1, 0},
  };
  assert_errors(&b, first, 5);
  assert_int_equal(explain(&b, "{\"a\":\"\",\"b\":6,\"d\":1,\"e\":2}"), HF_ERR_INVALID);
  static const struct expected second[] = {
      {HF_KEYWORD_MAXIMUM, "/$defs/n", "/$defs/n/maximum", "/b", "/properties/b/$ref/maximum", NULL, NULL, -1, 0},
  };
  assert_errors(&b, second, 1);
  assert_int_equal(explain(&b, "{\"a\":\"\",\"d\":1,\"e\":2}"), 0);
  assert_int_equal(b.errors.count, 0);
  close_bench(&b);
}

static void schema__explains_branches_below_their_parent(void **state) {
  (void)state;
  struct bench b;
  compile(&b, "{\"items\":{\"anyOf\":[{\"type\":\"string\"},{\"oneOf\":[{\"minimum\":3},{\"type\":\"null\"}]}]}}");
  assert_int_equal(explain(&b, "[\"a\",1,3]"), HF_ERR_INVALID);
  static const struct expected rows[] = {
      {HF_KEYWORD_ANY_OF, "/items", "/items/anyOf", "/1", "/items/anyOf", NULL, NULL, -1, 0},
      {HF_KEYWORD_TYPE, "/items/anyOf/0", "/items/anyOf/0/type", "/1", "/items/anyOf/0/type", NULL, NULL, 0, 0},
      {HF_KEYWORD_ONE_OF, "/items/anyOf/1", "/items/anyOf/1/oneOf", "/1", "/items/anyOf/1/oneOf", NULL, NULL, 0, 1},
      {HF_KEYWORD_MINIMUM, "/items/anyOf/1/oneOf/0", "/items/anyOf/1/oneOf/0/minimum", "/1",
       "/items/anyOf/1/oneOf/0/minimum", NULL, NULL, 2, 0},
      {HF_KEYWORD_TYPE, "/items/anyOf/1/oneOf/1", "/items/anyOf/1/oneOf/1/type", "/1", "/items/anyOf/1/oneOf/1/type",
       NULL, NULL, 2, 1},
  };
  assert_errors(&b, rows, 5);
  close_bench(&b);
}

static void schema__explains_each_keyword(void **state) {
  (void)state;
  static const struct {
    const char *schema, *value;
    struct expected expected;
  } rows[] = {
      {"{\"oneOf\":[true,true]}", "1", {HF_KEYWORD_ONE_OF, "", "/oneOf", "", "/oneOf", NULL, NULL, -1, 0}},
      {"{\"not\":{}}", "1", {HF_KEYWORD_NOT, "", "/not", "", "/not", NULL, NULL, -1, 0}},
      {"{\"contains\":{\"const\":1}}",
       "[2]",
       {HF_KEYWORD_CONTAINS, "", "/contains", "", "/contains", NULL, NULL, -1, 0}},
      {"{\"contains\":{\"const\":1},\"minContains\":2}",
       "[1]",
       {HF_KEYWORD_MIN_CONTAINS, "", "/minContains", "", "/minContains", NULL, NULL, -1, 0}},
      {"{\"contains\":{\"const\":1},\"maxContains\":1}",
       "[1,1]",
       {HF_KEYWORD_MAX_CONTAINS, "", "/maxContains", "", "/maxContains", NULL, NULL, -1, 0}},
      {"{\"prefixItems\":[true],\"items\":false}",
       "[1,2]",
       {HF_KEYWORD_ITEMS, "", "/items", "/1", "/items", NULL, NULL, -1, 0}},
      {"{\"unevaluatedProperties\":false}",
       "{\"a\":1}",
       {HF_KEYWORD_UNEVALUATED_PROPERTIES, "", "/unevaluatedProperties", "", "/unevaluatedProperties", "\"a\"", NULL,
        -1, 0}},
      {"{\"dependentRequired\":{\"a\":[\"b\"]}}",
       "{\"a\":1}",
       {HF_KEYWORD_DEPENDENT_REQUIRED, "", "/dependentRequired", "", "/dependentRequired", NULL, "\"b\"", -1, 0}},
      {"{\"if\":true,\"then\":{\"minItems\":1}}",
       "[]",
       {HF_KEYWORD_MIN_ITEMS, "/then", "/then/minItems", "", "/then/minItems", NULL, NULL, -1, 0}},
      {"{\"allOf\":[true,{\"const\":1}]}",
       "2",
       {HF_KEYWORD_CONST, "/allOf/1", "/allOf/1/const", "", "/allOf/1/const", NULL, NULL, -1, 0}},
      {"{" D4 "\"maximum\":1,\"exclusiveMaximum\":true}",
       "1",
       {HF_KEYWORD_MAXIMUM, "", "/maximum", "", "/maximum", NULL, NULL, -1, 0}},
      {"{\"patternProperties\":{\"^/~\":{\"type\":\"null\"}}}",
       "{\"/~\":1}",
       {HF_KEYWORD_TYPE, "/patternProperties/^~1~0", "/patternProperties/^~1~0/type", "/~1~0",
        "/patternProperties/^~1~0/type", NULL, NULL, -1, 0}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct bench b;
    compile(&b, rows[i].schema);
    assert_int_equal(explain(&b, rows[i].value), HF_ERR_INVALID);
    assert_errors(&b, &rows[i].expected, 1);
    close_bench(&b);
  }
}

static void schema__explains_names_below_their_keyword(void **state) {
  (void)state;
  struct bench b;
  compile(&b, "{\"propertyNames\":{\"maxLength\":1}}");
  assert_int_equal(explain(&b, "{\"a\":1,\"bc\":2}"), HF_ERR_INVALID);
  static const struct expected rows[] = {
      {HF_KEYWORD_PROPERTY_NAMES, "", "/propertyNames", "", "/propertyNames", "\"bc\"", NULL, -1, 0},
      {HF_KEYWORD_MAX_LENGTH, "/propertyNames", "/propertyNames/maxLength", "/bc", "/propertyNames/maxLength", NULL,
       NULL, 0, 0},
  };
  assert_errors(&b, rows, 2);
  close_bench(&b);
}

/* What only seems to be unevaluated, because something else is wrong. */
static void schema__explains_no_consequences(void **state) {
  (void)state;
  struct bench b;
  compile(&b, "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"null\"}}}],\"unevaluatedProperties\":false}");
  assert_int_equal(explain(&b, "{\"a\":1}"), HF_ERR_INVALID);
  assert_int_equal(b.errors.count, 2);
  assert_int_equal(b.errors.item[0].keyword, HF_KEYWORD_ANY_OF);
  assert_int_equal(b.errors.item[1].keyword, HF_KEYWORD_TYPE);
  close_bench(&b);
}

static void schema__finds_what_is_in_large_containers(void **state) {
  (void)state;
  struct hf_buf text;
  hf_buf_init(&text, 8192);
  repeat(&text, "{\"$defs\":{\"list\":[", 1);
  for (int i = 0; i < 20; i++)
    assert_int_equal(hf_buf_printf(&text, "{\"const\":%d},", i), 0);
  repeat(&text, "{}]", 1);
  for (int i = 0; i < 20; i++)
    assert_int_equal(hf_buf_printf(&text, ",\"\\u0061/%d\":{\"const\":\"%d\"}", i, i), 0);
  size_t len = text.len;
  static const struct {
    const char *reference, *good;
    int code;
  } rows[] = {{"#/$defs/list/17", "17", 0},
              {"#/$defs/a~117", "\"17\"", 0},
              {"#/$defs/list/21", NULL, HF_ERR_NOTFOUND},
              {"#/$defs/list/01", NULL, HF_ERR_NOTFOUND},
              {"#/$defs/a~120", NULL, HF_ERR_NOTFOUND}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    text.len = len;
    assert_int_equal(hf_buf_printf(&text, "},\"$ref\":\"%s\"}", rows[i].reference), 0);
    assert_int_equal(hf_buf_append(&text, "", 1), 0);
    struct bench b;
    assert_int_equal(compile_with(&b, text.data, &defaults), rows[i].code);
    if (rows[i].good) {
      assert_int_equal(check(&b, rows[i].good), 0);
      assert_int_equal(check(&b, "18"), HF_ERR_INVALID);
    }
    close_bench(&b);
  }
  hf_buf_deinit(&text);
}

/* A dialect whose dialect has a dialect … */
static void schema__follows_dialects_only_so_far(void **state) {
  (void)state;
  enum { CHAIN = 8 };
  char uri[CHAIN][32], text[CHAIN][128];
  struct hf_schema_resource resources[CHAIN];
  for (int i = 0; i < CHAIN; i++) {
    assert_in_range(snprintf(uri[i], sizeof uri[i], "urn:meta:%d", i), 1, sizeof uri[i] - 1);
    assert_in_range(snprintf(text[i], sizeof text[i], "{\"$schema\":\"urn:meta:%d\"}", i + 1), 1, sizeof text[i] - 1);
    resources[i] = (struct hf_schema_resource){hf_str_from(uri[i]), hf_str_from(text[i])};
  }
  resources[CHAIN - 1].text = hf_str_from("{" D7 "\"type\":\"object\"}");
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  options.resources = resources;
  options.resource_count = CHAIN;
  struct bench b;
  assert_int_equal(compile_with(&b, "{\"$schema\":\"urn:meta:4\",\"items\":[{\"type\":\"null\"}]}", &options), 0);
  assert_int_equal(check(&b, "[1]"), HF_ERR_INVALID);
  close_bench(&b);
  assert_int_equal(compile_with(&b, "{\"$schema\":\"urn:meta:0\"}", &options), HF_ERR_UNSUPPORTED);
  close_bench(&b);
}

static void schema__finds_the_resources_that_came_with_it(void **state) {
  (void)state;
  static const struct hf_schema_resource resources[] = {
      {TEXT("https://x.test/other#"), TEXT("{\"$defs\":{\"n\":{\"maximum\":5}}}")},
      {TEXT("https://x.test/meta"),
       TEXT("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$vocabulary\":{"
            "\"https://json-schema.org/draft/2020-12/vocab/core\":true}}")},
      {TEXT("https://x.test/strange"), TEXT("{\"$schema\":\"https://json-schema.org/draft/2020-12/"
                                            "schema\",\"$vocabulary\":{\"https://x.test/v\":true}}")},
      {TEXT("https://x.test/broken"), TEXT("{")},
  };
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  options.resources = resources;
  options.resource_count = sizeof resources / sizeof resources[0];
  struct bench b;
  assert_int_equal(compile_with(&b, "{\"$ref\":\"https://x.test/other#/$defs/n\"}", &options), 0);
  assert_int_equal(explain(&b, "6"), HF_ERR_INVALID);
  assert_pointer(b.errors.item[0].at.doc, b.errors.item[0].at.keyword, "/$defs/n/maximum");
  assert_ptr_not_equal(b.errors.item[0].at.doc, hf_schema_doc(b.schema));
  close_bench(&b);
  assert_int_equal(compile_with(&b, "{\"$schema\":\"https://x.test/meta\",\"type\":\"null\"}", &options), 0);
  assert_int_equal(check(&b, "1"), 0);
  close_bench(&b);
  assert_int_equal(compile_with(&b, "{\"$schema\":\"https://x.test/strange\"}", &options), HF_ERR_UNSUPPORTED);
  close_bench(&b);
  assert_int_equal(compile_with(&b, "{\"$ref\":\"https://x.test/broken\"}", &options), HF_ERR_SYNTAX);
  assert_non_null(strstr(b.error.text, "https://x.test/broken"));
  close_bench(&b);
}

static void schema__unevaluated_belongs_to_the_applicators_of_2019(void **state) {
  (void)state;
  static const struct hf_schema_resource meta = {
      TEXT("https://x.test/meta"), TEXT("{" D19 "\"$vocabulary\":{"
                                        "\"https://json-schema.org/draft/2019-09/vocab/core\":true,"
                                        "\"https://json-schema.org/draft/2019-09/vocab/applicator\":true}}")};
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  options.resources = &meta;
  options.resource_count = 1;
  struct bench b;
  assert_int_equal(
      compile_with(&b, "{\"$schema\":\"https://x.test/meta\",\"type\":\"null\",\"unevaluatedProperties\":false}",
                   &options),
      0);
  assert_int_equal(check(&b, "{}"), 0);
  assert_int_equal(check(&b, "{\"a\":1}"), HF_ERR_INVALID);
  close_bench(&b);
}

static void schema__asserts_formats_if_told_to(void **state) {
  (void)state;
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  options.assert_format = true;
  struct bench b;
  assert_int_equal(compile_with(&b, "{\"format\":\"ipv4\"}", &options), 0);
  assert_int_equal(check(&b, "\"127.0.0.1\""), 0);
  assert_int_equal(check(&b, "\"\\u0031.1.1.1\""), 0);
  assert_int_equal(check(&b, "\"no address\""), HF_ERR_INVALID);
  assert_int_equal(check(&b, "1"), 0);
  close_bench(&b);
}

static void schema__ends_at_its_depth(void **state) {
  (void)state;
  struct bench b;
  compile(&b, "{\"items\":{\"$ref\":\"#\"}}");
  for (int extra = 0; extra < 2; extra++) {
    struct hf_buf value;
    hf_buf_init(&value, 4096);
    int depth = HF_SCHEMA_DEPTH_MAX / 2 + extra; /* each level is a reference and its target */
    repeat(&value, "[", depth);
    repeat(&value, "]", depth);
    assert_int_equal(hf_buf_append(&value, "", 1), 0);
    assert_int_equal(check(&b, value.data), extra ? HF_ERR_LIMIT : 0);
    assert_int_equal(explain(&b, value.data), extra ? HF_ERR_LIMIT : 0);
    hf_buf_deinit(&value);
  }
  close_bench(&b);
  compile(&b, "{\"$ref\":\"#\"}");
  assert_int_equal(check(&b, "1"), HF_ERR_LIMIT);
  close_bench(&b);
}

/* Definitions a0 to a20, each of which applies the next one twice. */
#define PAIR(n, m) "\"a" n "\":{\"allOf\":[{\"$ref\":\"#/$defs/a" m "\"},{\"$ref\":\"#/$defs/a" m "\"}]},"
#define DOUBLING                                                                                                       \
  "\"$defs\":{" PAIR("0", "1") PAIR("1", "2") PAIR("2", "3") PAIR("3", "4") PAIR("4", "5") PAIR("5", "6")              \
      PAIR("6", "7") PAIR("7", "8") PAIR("8", "9") PAIR("9", "10") PAIR("10", "11") PAIR("11", "12") PAIR("12", "13")  \
          PAIR("13", "14") PAIR("14", "15") PAIR("15", "16") PAIR("16", "17") PAIR("17", "18") PAIR("18", "19")        \
              PAIR("19", "20") "\"a20\":{}}"

static void schema__ends_at_its_steps(void **state) {
  (void)state;
  struct bench b;
  compile(&b, "{\"$ref\":\"#/$defs/a0\"," DOUBLING "}");
  assert_int_equal(check(&b, "1"), HF_ERR_LIMIT);
  assert_int_equal(check(&b, "1"), HF_ERR_LIMIT);
  close_bench(&b);
}

static void schema__keeps_what_is_certain_when_its_steps_end(void **state) {
  (void)state;
  struct bench b;
  compile(&b, "{\"allOf\":[{\"type\":\"string\"},{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#/$defs/a0\"}]}]," DOUBLING
              "}");
  assert_int_equal(explain(&b, "1"), HF_ERR_INVALID);
  assert_int_equal(b.errors.count, 1);
  assert_int_equal(b.errors.item[0].keyword, HF_KEYWORD_TYPE);
  assert_true(b.errors.cut);
  assert_int_equal(explain(&b, "\"a\""), HF_ERR_LIMIT);
  assert_int_equal(b.errors.count, 0);
  close_bench(&b);
}

static void schema__comes_to_the_first_reason_however_late(void **state) {
  (void)state;
  struct bench b;
  compile(&b, "{\"items\":{\"minimum\":0,\"maximum\":9}}");
  struct hf_buf value;
  hf_buf_init(&value, 1 << 18);
  repeat(&value, "[0", 1);
  repeat(&value, ",0", 59999);
  repeat(&value, ",-1]", 1);
  assert_int_equal(hf_buf_append(&value, "", 1), 0);
  assert_int_equal(explain(&b, value.data), HF_ERR_INVALID);
  assert_int_equal(b.errors.count, 1);
  assert_int_equal(b.errors.item[0].keyword, HF_KEYWORD_MINIMUM);
  close_bench(&b);
  hf_buf_deinit(&value);
}

static void schema__cuts_the_list_of_reasons(void **state) {
  (void)state;
  struct bench b;
  compile(&b, "{\"items\":{\"type\":\"string\"}}");
  for (int extra = 0; extra < 2; extra++) {
    struct hf_buf value;
    hf_buf_init(&value, 4096);
    repeat(&value, "[0", 1);
    repeat(&value, ",0", HF_SCHEMA_ERRORS_MAX - 1 + extra);
    repeat(&value, "]", 1);
    assert_int_equal(hf_buf_append(&value, "", 1), 0);
    assert_int_equal(explain(&b, value.data), HF_ERR_INVALID);
    assert_int_equal(b.errors.count, HF_SCHEMA_ERRORS_MAX);
    assert_int_equal(b.errors.cut, extra);
    hf_buf_deinit(&value);
  }
  close_bench(&b);
}

static void schema__ends_at_its_size(void **state) {
  (void)state;
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  const char *schema = "{\"properties\":{\"a\":{\"minimum\":1},\"b\":{}}}"; /* 3 schemas, 2 instructions, 2 names */
  struct bench b;
  options.max_bytes = strlen(schema);
  options.max_nodes = 7;
  assert_int_equal(compile_with(&b, schema, &options), 0);
  assert_true(hf_schema_size(b.schema) > strlen(schema));
  close_bench(&b);
  options.max_nodes = 6;
  assert_int_equal(compile_with(&b, schema, &options), HF_ERR_LIMIT);
  close_bench(&b);
  options.max_nodes = 7;
  options.max_bytes--;
  assert_int_equal(compile_with(&b, schema, &options), HF_ERR_LIMIT);
  close_bench(&b);
}

static const char rich[] =
    "{\"$id\":\"http://x.test/root\",\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[\"x\",1,{}]},\"b\":{\"$ref\":"
    "\"#n\"},\"\\u0063\":{\"pattern\":\"^a\",\"minLength\":1}},\"required\":[\"\\u0061\"],\"patternProperties\":{\"^"
    "z\":{"
    "\"anyOf\":[{\"type\":\"null\"},{\"multipleOf\":0.5}]}},\"dependentRequired\":{\"a\":[\"b\"]},\"$defs\":{\"n\":{"
    "\"$anchor\":\"n\",\"contains\":{\"const\":1}},\"e\":{\"$id\":\"e\",\"$dynamicAnchor\":\"d\",\"items\":{"
    "\"$dynamicRef\":\"#d\"}}},\"allOf\":[{\"$ref\":\"e\"},{\"$ref\":\"https://json-schema.org/draft/2020-12/"
    "schema\"}],"
    "\"unevaluatedProperties\":false}";

static void schema__survives_every_failed_allocation(void **state) {
  (void)state;
  int r = HF_ERR_NOMEM;
  for (long n = 0; r == HF_ERR_NOMEM; n++) {
    assert_in_range(n, 0, 5000);
    struct hf_schema *schema = NULL;
    struct hf_error error = {0};
    hf_alloc_fail_after(n);
    r = hf_schema_compile(hf_str_from(rich), &defaults, &schema, &error);
    hf_alloc_fail_after(-1);
    assert_int_equal(error.code, r);
    assert_int_equal(schema != NULL, r == 0);
    hf_schema_free(schema);
  }
  assert_int_equal(r, 0);
}

static void schema__survives_every_failed_allocation_of_an_explanation(void **state) {
  (void)state;
  struct bench b;
  compile(&b, rich);
  read_value(&b, "{\"a\":2,\"b\":[2],\"z~\":1.2,\"q\":1}");
  int r = HF_ERR_NOMEM;
  for (long n = 0; r == HF_ERR_NOMEM; n++) {
    hf_schema_errors_deinit(&b.errors);
    hf_schema_errors_init(&b.errors);
    hf_alloc_fail_after(n);
    r = hf_schema_explain(b.schema, b.run, &b.doc, 0, &b.errors);
    hf_alloc_fail_after(-1);
  }
  assert_int_equal(r, HF_ERR_INVALID);
  assert_true(b.errors.count >= 3);
  close_bench(&b);
  for (long n = 0; n < 2; n++) {
    hf_alloc_fail_after(n);
    assert_null(hf_schema_run_new());
    hf_alloc_fail_after(-1);
  }
}

static void schema__allocates_nothing_while_it_checks(void **state) {
  (void)state;
  struct bench b;
  compile(&b, rich);
  static const struct {
    const char *value;
    int verdict;
  } rows[] = {{"{\"a\":\"x\",\"b\":[2,1],\"\\u0063\":\"\\u0061\",\"z\":1.5}", 0},
              {"{\"a\":{},\"b\":[1],\"z\\u0020\":1.2}", HF_ERR_INVALID}};
  for (size_t i = 0; i < 2; i++) {
    read_value(&b, rows[i].value);
    unsigned long before = hf_alloc_count();
    assert_int_equal(hf_schema_check(b.schema, b.run, &b.doc, 0), rows[i].verdict);
    assert_int_equal(hf_alloc_count(), before);
  }
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schema__judges_values),
      cmocka_unit_test(schema__refuses_what_is_none),
      cmocka_unit_test(schema__explains_all_reasons),
      cmocka_unit_test(schema__explains_branches_below_their_parent),
      cmocka_unit_test(schema__explains_each_keyword),
      cmocka_unit_test(schema__explains_names_below_their_keyword),
      cmocka_unit_test(schema__explains_no_consequences),
      cmocka_unit_test(schema__finds_what_is_in_large_containers),
      cmocka_unit_test(schema__follows_dialects_only_so_far),
      cmocka_unit_test(schema__finds_the_resources_that_came_with_it),
      cmocka_unit_test(schema__asserts_formats_if_told_to),
      cmocka_unit_test(schema__ends_at_its_depth),
      cmocka_unit_test(schema__ends_at_its_steps),
      cmocka_unit_test(schema__ends_at_its_size),
      cmocka_unit_test(schema__unevaluated_belongs_to_the_applicators_of_2019),
      cmocka_unit_test(schema__keeps_what_is_certain_when_its_steps_end),
      cmocka_unit_test(schema__comes_to_the_first_reason_however_late),
      cmocka_unit_test(schema__cuts_the_list_of_reasons),
      cmocka_unit_test(schema__survives_every_failed_allocation),
      cmocka_unit_test(schema__survives_every_failed_allocation_of_an_explanation),
      cmocka_unit_test(schema__allocates_nothing_while_it_checks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
