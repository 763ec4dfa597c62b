#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schema/repair.h"

#include <stdio.h>

enum { OUT_MAX = 1 << 20, LIST_MAX = 2048 };

/* A schema and all that a repair needs. */
struct bench {
  struct hf_schema *schema;
  struct hf_schema_run *run;
  struct hf_arena arena;
  struct hf_buf out;
  struct hf_repairs repairs;
  struct hf_repair_options options;
};

static void set_up(struct bench *b, const char *schema) {
  struct hf_error error = {.code = 0};
  *b = (struct bench){.schema = NULL};
  int r = hf_schema_compile(hf_str_from(schema), &(struct hf_schema_options)HF_SCHEMA_OPTIONS_INIT, &b->schema, &error);
  if (r < 0)
    print_error("%s: %s\n", schema, error.text);
  assert_int_equal(r, 0);
  b->run = hf_schema_run_new();
  assert_non_null(b->run);
  hf_arena_init(&b->arena, OUT_MAX);
  hf_buf_init(&b->out, OUT_MAX);
}

static void tear_down(struct bench *b) {
  hf_buf_deinit(&b->out);
  hf_arena_deinit(&b->arena);
  hf_schema_run_free(b->run);
  hf_schema_free(b->schema);
}

static int repair(struct bench *b, const char *raw) {
  b->out.len = 0;
  b->repairs.count = 99;
  return hf_repair(b->schema, b->run, hf_str_from(raw), &b->options, &b->arena, &b->out, &b->repairs);
}

/* "kind pointer from>to; …" */
static void list_repairs(const struct bench *b, char list[LIST_MAX]) {
  size_t len = 0;
  list[0] = '\0';
  for (unsigned i = 0; i < b->repairs.count; i++) {
    const struct hf_repair *repair = &b->repairs.item[i];
    int n = snprintf(list + len, LIST_MAX - len, "%s%s %.*s %.*s>%.*s", i ? "; " : "", hf_repair_name(repair->kind),
                     HF_STR_FMT(repair->pointer), HF_STR_FMT(repair->from), HF_STR_FMT(repair->to));
    assert_true(n > 0 && (size_t)n < LIST_MAX - len);
    len += (size_t)n;
  }
}

static void assert_text(struct bench *b, const char *expected) {
  assert_int_equal(hf_buf_append(&b->out, "", 1), 0);
  assert_string_equal(b->out.data, expected);
}

static void assert_repaired(const char *schema, const char *raw, const char *expected, const char *repairs) {
  struct bench b;
  set_up(&b, schema);
  int r = repair(&b, raw);
  if (r < 0)
    print_error("%s: refused\n", raw);
  assert_int_equal(r, 0);
  char list[LIST_MAX];
  list_repairs(&b, list);
  assert_text(&b, expected);
  assert_string_equal(list, repairs);
  assert_int_equal(repair(&b, expected), 0);
  assert_int_equal(b.repairs.count, 0);
  assert_text(&b, expected);
  tear_down(&b);
}

static void assert_untouched(const char *schema, const char *raw) {
  assert_repaired(schema, raw, raw, "");
}

static void assert_refused(const char *schema, const char *raw) {
  struct bench b;
  set_up(&b, schema);
  int r = repair(&b, raw);
  if (r == 0)
    print_error("%s: repaired to %.*s\n", raw, HF_STR_FMT(hf_buf_str(&b.out)));
  assert_int_equal(r, HF_ERR_INVALID);
  assert_int_equal(b.out.len, 0);
  assert_int_equal(b.repairs.count, 99);
  tear_down(&b);
}

#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"
#define NEEDING(properties, required)                                                                                  \
  "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}"
#define CLOSED(properties) "{\"type\":\"object\",\"properties\":{" properties "},\"additionalProperties\":false}"

static void repair__never_touches_what_is_valid(void **state) {
  (void)state;
  assert_untouched(OBJECT("\"a\":{\"type\":\"string\"}"), " { \"a\" : \"true\" } ");
  assert_untouched(OBJECT("\"t\":{\"anyOf\":[{\"type\":\"array\"},{\"type\":\"string\"}]}"),
                   "{\"t\": \"[\\\"Top\\\", \\\"Child\\\"]\"}");
  assert_untouched(OBJECT("\"a\":{\"type\":[\"integer\",\"null\"]}"), "{\"a\":null,\"b\":\"5\"}");
  assert_untouched(OBJECT("\"a\":{\"type\":\"integer\"}"), "{\"a\":1.0}");
  assert_untouched("{}", "{\"arguments\":{\"a\":1}}");
  assert_untouched("{}", "\"{\\\"a\\\":1}\"");
}

static void repair__leaves_the_rest_as_it_is_spelt(void **state) {
  (void)state;
  assert_repaired(OBJECT("\"n\":{\"type\":\"integer\"}"), "{ \"x\" : 1.50e0 , \"n\" : \"20\" ,\"y\":[ ] }",
                  "{ \"x\" : 1.50e0 , \"n\" : 20 ,\"y\":[ ] }", "number_from_text /n \"20\">20");
}

static void repair__parses_a_string_that_holds_what_is_wanted(void **state) {
  (void)state;
  assert_repaired(OBJECT("\"f\":{\"type\":\"object\"}"), "{\"f\":\"{\\\"lastName\\\":\\\"Fajardo\\\"}\"}",
                  "{\"f\":{\"lastName\":\"Fajardo\"}}",
                  "parsed /f \"{\\\"lastName\\\":\\\"Fajardo\\\"}\">{\"lastName\":\"Fajardo\"}");
  assert_repaired(OBJECT("\"f\":{\"type\":\"array\"}"), "{\"f\":\"['a', True]\"}", "{\"f\":[\"a\",true]}",
                  "read_leniently /f \"['a', True]\">[\"a\",true]; parsed /f \"['a', True]\">[\"a\",true]");
  assert_repaired(OBJECT("\"f\":{\"anyOf\":[{\"type\":\"object\"},{\"type\":\"null\"}]}"), "{\"f\":\"{}\"}",
                  "{\"f\":{}}", "parsed /f \"{}\">{}");
  assert_refused(OBJECT("\"f\":{\"type\":\"object\"}"), "{\"f\":\"[1]\"}");
  assert_refused(OBJECT("\"f\":{\"type\":\"array\"}"), "{\"f\":\"[1, 2\"}");
  assert_refused(OBJECT("\"f\":{\"type\":\"object\"}"), "{\"f\":\"the object {'a': 1}\"}");
  assert_refused(OBJECT("\"f\":{\"type\":\"object\"}"), "{\"f\":\"f(a=1)\"}");
  assert_refused(OBJECT("\"f\":{\"type\":\"object\"}"), "{\"f\":\"{\\\"a\\\":1,\\\"a\\\":2}\"}");
}

static void repair__goes_on_within_what_it_parsed(void **state) {
  (void)state;
  assert_repaired(
      OBJECT("\"f\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"l\":{\"type\":\"array\"}}}"),
      "{\"f\":\"{\\\"n\\\":\\\"5\\\",\\\"l\\\":\\\"[1]\\\"}\"}", "{\"f\":{\"n\":5,\"l\":[1]}}",
      "parsed /f \"{\\\"n\\\":\\\"5\\\",\\\"l\\\":\\\"[1]\\\"}\">{\"n\":\"5\",\"l\":\"[1]\"}; "
      "number_from_text /f/n \"5\">5; parsed /f/l \"[1]\">[1]");
}

static void repair__reads_numbers_that_lose_nothing(void **state) {
  (void)state;
  const char *number = OBJECT("\"n\":{\"type\":\"number\"}"), *integer = OBJECT("\"n\":{\"type\":\"integer\"}");
  assert_repaired(number, "{\"n\":\"0.9\"}", "{\"n\":0.9}", "number_from_text /n \"0.9\">0.9");
  assert_repaired(integer, "{\"n\":\"-2\"}", "{\"n\":-2}", "number_from_text /n \"-2\">-2");
  assert_repaired(integer, "{\"n\":\"9007199254740991\"}", "{\"n\":9007199254740991}",
                  "number_from_text /n \"9007199254740991\">9007199254740991");
  assert_repaired(number, "{\"n\":\"-79.383186\"}", "{\"n\":-79.383186}",
                  "number_from_text /n \"-79.383186\">-79.383186");
  static const char *const refused[] = {
      "{\"n\":\"5.2\"}",   "{\"n\":\"1/6\"}",   "{\"n\":\"\"}",     "{\"n\":\"five\"}",
      "{\"n\":\"007\"}",   "{\"n\":\"1,000\"}", "{\"n\":\" 5\"}",   "{\"n\":\"5 kg\"}",
      "{\"n\":\"0x10\"}",  "{\"n\":\"NaN\"}",   "{\"n\":\"+5\"}",   "{\"n\":\"9007199254740993\"}",
      "{\"n\":\"1e999\"}", "{\"n\":5.2}",       "{\"n\":\"true\"}", "{\"n\":true}",
      "{\"n\":\"1.5e0\"}", "{\"n\":[5]}",       "{\"n\":{}}",       "{\"n\":\"8.854e-12\"}",
  };
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    assert_refused(integer, refused[i]);
  assert_refused(number, "{\"n\":\"0.12345678901234567890\"}");
  assert_refused(number, "{\"n\":\"123456789012345678\"}");
  assert_refused(number, "{\"n\":\"1152921504606846976\"}"); /* a double, but who prints it shortens it */
}

static void repair__reads_true_and_false_and_nothing_like_them(void **state) {
  (void)state;
  const char *schema = OBJECT("\"delete_all\":{\"type\":\"boolean\"}");
  assert_repaired(schema, "{\"delete_all\":\"false\"}", "{\"delete_all\":false}",
                  "boolean_from_text /delete_all \"false\">false");
  assert_repaired(schema, "{\"delete_all\":\"true\"}", "{\"delete_all\":true}",
                  "boolean_from_text /delete_all \"true\">true");
  assert_repaired(schema, "{\"delete_all\":\"False\"}", "{\"delete_all\":false}",
                  "boolean_from_text /delete_all \"False\">false");
  assert_repaired(OBJECT("\"b\":{\"anyOf\":[{\"type\":\"boolean\"},{\"type\":\"null\"}]}"), "{\"b\":\"true\"}",
                  "{\"b\":true}", "boolean_from_text /b \"true\">true");
  static const char *const refused[] = {"0",    "1",      "\"0\"",     "\"1\"",    "\"yes\"",  "\"no\"", "\"TRUE\"",
                                        "\"\"", "\"on\"", "\" true\"", "\"null\"", "\"None\"", "[]",     "[true]"};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    char raw[64];
    assert_in_range(snprintf(raw, sizeof raw, "{\"delete_all\":%s}", refused[i]), 1, sizeof raw - 1);
    assert_refused(schema, raw);
  }
}

static void repair__spells_integers_out_for_draft_4(void **state) {
  (void)state;
  const char *schema = "{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"type\":\"object\","
                       "\"properties\":{\"n\":{\"type\":\"integer\"}}}";
  assert_repaired(schema, "{\"n\":1.0}", "{\"n\":1}", "integer_spelt_out /n 1.0>1");
  assert_repaired(schema, "{\"n\":\"2.0\"}", "{\"n\":2}", "number_from_text /n \"2.0\">2");
  assert_refused(schema, "{\"n\":1.5}");
}

static void repair__puts_a_scalar_into_an_array(void **state) {
  (void)state;
  const char *texts = OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
  const char *numbers = OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}");
  const char *choices = OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"enum\":[\"Gluten Free\",\"Vegan\"]}}");
  assert_repaired(texts, "{\"l\":\"vegan\"}", "{\"l\":[\"vegan\"]}", "put_in_array /l \"vegan\">[\"vegan\"]");
  assert_repaired(numbers, "{\"l\":5}", "{\"l\":[5]}", "put_in_array /l 5>[5]");
  assert_repaired(numbers, "{\"l\":\"5\"}", "{\"l\":[5]}",
                  "put_in_array /l \"5\">[\"5\"]; number_from_text /l/0 \"5\">5");
  assert_repaired(choices, "{\"l\":\"Gluten Free\"}", "{\"l\":[\"Gluten Free\"]}",
                  "put_in_array /l \"Gluten Free\">[\"Gluten Free\"]");
  static const char *const refused[] = {
      "{\"l\":\"a,b\"}",   "{\"l\":\"ls -la\"}", "{\"l\":\"a;b\"}",   "{\"l\":\"a|b\"}",
      "{\"l\":\"[a, b\"}", "{\"l\":\"\"}",       "{\"l\":\"null\"}",  "{\"l\":\"None\"}",
      "{\"l\":{}}",        "{\"l\":{\"l\":[]}}", "{\"l\":\"{'a'}\"}", "{\"l\":\"'a', 'b'\"}",
  };
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    assert_refused(texts, refused[i]);
  assert_refused(choices, "{\"l\":\"Vegan,Gluten Free\"}");
  assert_refused(OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"), "{\"l\":{\"a\":1}}");
  assert_refused(OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"array\"}}"), "{\"l\":[1,2]}");
}

static void repair__puts_no_list_into_an_array_as_one(void **state) {
  (void)state;
  const char *const schemas[] = {
      OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
      OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":1}"),
      OBJECT("\"l\":{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"minLength\":2}}"),
  };
  static const char *const lists[] = {
      "a, bb",    "a,bb,bb",   "a;bb",      "a|bb",      "a bb",      "a\\nbb",
      "a\\\\nbb", "a\uff0cbb", "a\u3001bb", "a\u060cbb", "a\u00a0bb", "a\u3000bb",
  };
  for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++)
    for (size_t j = 0; j < sizeof lists / sizeof lists[0]; j++) {
      char raw[64];
      assert_in_range(snprintf(raw, sizeof raw, "{\"l\":\"%s\"}", lists[j]), 1, 63);
      assert_refused(schemas[i], raw);
    }
  assert_repaired(OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"pattern\":\"^[A-Z][a-z]+ [A-Z][a-z]+$\"}}"),
                  "{\"l\":\"Ada Lovelace\"}", "{\"l\":[\"Ada Lovelace\"]}",
                  "put_in_array /l \"Ada Lovelace\">[\"Ada Lovelace\"]");
}

static void repair__drops_null_where_it_says_nothing(void **state) {
  (void)state;
  const char *schema =
      NEEDING("\"q\":{\"type\":\"string\"},\"c\":{\"type\":\"string\"},\"d\":{\"enum\":[\"x\"]}", "\"q\"");
  assert_repaired(schema, "{\"q\": \"l\", \"c\": null, \"d\": null}", "{\"q\": \"l\"}",
                  "null_dropped /c null>; null_dropped /d null>");
  assert_repaired(schema, "{\"c\":null,\"q\":\"l\"}", "{\"q\":\"l\"}", "null_dropped /c null>");
  assert_repaired(OBJECT("\"range\":{\"type\":\"number\"}"), "{ \"range\" : null }", "{  }",
                  "null_dropped /range null>");
  assert_repaired(OBJECT("\"a\":{\"type\":\"string\"},\"b\":{\"type\":[\"string\",\"null\"]}"),
                  "{\"b\":null,\"a\":null}", "{\"b\":null}", "null_dropped /a null>");
  assert_refused(schema, "{\"q\":null}");
  assert_refused("{\"additionalProperties\":{\"type\":\"string\"}}", "{\"PATH\":null}");
  assert_refused(OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"), "{\"l\":[null]}");
  assert_refused(CLOSED("\"a\":{}"), "{\"b\":null}");
  assert_refused(OBJECT("\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}"),
                 "{\"env\":{\"env\":null}}");
  assert_repaired("{\"$defs\":{\"s\":{\"anyOf\":[{\"type\":\"string\"}]}},\"properties\":{\"a\":{\"properties\":{\"a\":"
                  "{\"$ref\":\"#/$defs/s\"}}}}}",
                  "{\"a\":{\"a\":null}}", "{\"a\":{}}", "null_dropped /a/a null>");
}

static void repair__takes_the_one_choice_that_differs_in_case(void **state) {
  (void)state;
  const char *schema = OBJECT("\"s\":{\"enum\":[\"Connected\",\"Disconnected\"]}");
  assert_repaired(schema, "{\"s\":\"CONNECTED\"}", "{\"s\":\"Connected\"}",
                  "case_of_enum /s \"CONNECTED\">\"Connected\"");
  assert_repaired(OBJECT("\"s\":{\"const\":\"Yes\"}"), "{\"s\":\"yes\"}", "{\"s\":\"Yes\"}",
                  "case_of_enum /s \"yes\">\"Yes\"");
  assert_repaired(OBJECT("\"s\":{\"enum\":[1,2,\"x\"]}"), "{\"s\":\"2\"}", "{\"s\":2}", "number_from_text /s \"2\">2");
  assert_refused(schema, "{\"s\":\"connect\"}");
  assert_refused(schema, "{\"s\":\"\"}");
  assert_refused(OBJECT("\"s\":{\"enum\":[\"a\",\"A\"]}"), "{\"s\":\"\\u0061\\u0061\"}");
  assert_refused(OBJECT("\"s\":{\"enum\":[\"ab\",\"AB\"]}"), "{\"s\":\"Ab\"}");
}

static void repair__renames_the_one_key_that_is_spelt_otherwise(void **state) {
  (void)state;
  const char *needed = NEEDING("\"messageIds\":{\"type\":\"array\"}", "\"messageIds\"");
  assert_repaired(needed, "{\"message_ids\": [1]}", "{\"messageIds\": [1]}", "renamed  \"message_ids\">\"messageIds\"");
  assert_repaired(CLOSED("\"file-path\":{}"), "{\"FilePath\":1}", "{\"file-path\":1}",
                  "renamed  \"FilePath\">\"file-path\"");
  assert_repaired(NEEDING("\"_class\":{}", "\"_class\""), "{\"class\":\"Mage\"}", "{\"_class\":\"Mage\"}",
                  "renamed  \"class\">\"_class\"");
  assert_repaired(
      "{\"type\":\"object\",\"properties\":{\"o\":" NEEDING("\"userId\":{\"type\":\"integer\"}", "\"userId\"") "}}",
      "{\"o\":{\"user_id\":\"7\"}}", "{\"o\":{\"userId\":7}}",
      "renamed /o \"user_id\">\"userId\"; number_from_text /o/userId \"7\">7");
  assert_untouched(OBJECT("\"filePath\":{}"), "{\"file_path\":1}");
  assert_refused(NEEDING("\"-1\":{}", "\"-1\""), "{\"1\":2}");
  assert_refused(needed, "{\"ids\":[1]}");
  assert_refused(needed, "{\"message_ids\":[1],\"MessageIds\":[2]}");
  assert_refused(CLOSED("\"filePath\":{}"), "{\"filePath\":1,\"file_path\":2}");
  assert_refused(NEEDING("\"userId\":{},\"user_id\":{}", "\"userId\",\"user_id\""), "{\"USERID\":1}");
  assert_refused(NEEDING("\"userId\":{},\"user_id\":{}", "\"userId\""), "{\"user_id\":1}");
  assert_refused(CLOSED("\"userId\":{},\"user_id\":{}"), "{\"USER_ID\":1}");
  assert_refused(NEEDING("\"userId\":{},\"user_id\":{}", "\"userId\""), "{\"USER_ID\":1}");
  assert_refused("{\"allOf\":[" OBJECT("\"user_id\":{}") "],\"properties\":{\"userId\":{}},\"required\":[\"userId\"]}",
                 "{\"user_id\":1}");
}

static void repair__takes_arguments_out_of_a_wrapper(void **state) {
  (void)state;
  const char *schema = NEEDING("\"city\":{\"type\":\"string\"}", "\"city\"");
  assert_repaired(schema, "{\"arguments\": {\"city\": \"Paris\"}}", "{\"city\": \"Paris\"}",
                  "unwrapped  {\"arguments\": {\"city\": \"Paris\"}}>{\"city\": \"Paris\"}");
  assert_repaired(schema, "{\"kwargs\":\"{\\\"city\\\":\\\"Paris\\\"}\"}", "{\"city\":\"Paris\"}",
                  "unwrapped  {\"kwargs\":\"{\\\"city\\\":\\\"Paris\\\"}\"}>\"{\\\"city\\\":\\\"Paris\\\"}\"; "
                  "unwrapped  \"{\\\"city\\\":\\\"Paris\\\"}\">{\"city\":\"Paris\"}");
  assert_repaired(schema, "\"{\\\"city\\\":\\\"Paris\\\"}\"", "{\"city\":\"Paris\"}",
                  "unwrapped  \"{\\\"city\\\":\\\"Paris\\\"}\">{\"city\":\"Paris\"}");
  assert_repaired(schema, "[{\"name\":\"w\",\"parameters\":{\"city\":\"Paris\"}}]", "{\"city\":\"Paris\"}",
                  "unwrapped  [{\"name\":\"w\",\"parameters\":{\"city\":\"Paris\"}}]>{\"city\":\"Paris\"}");
  assert_refused(schema, "{\"request\":{\"city\":\"Paris\"}}");
  assert_refused(schema, "{\"params\":{\"city\":\"Paris\"},\"verbose\":true}");
  assert_refused(schema, "[{\"city\":\"Paris\"}]");
  assert_refused(schema, "[{\"params\":{\"city\":\"Paris\"}}]");
  assert_refused(NEEDING("\"city\":{},\"name\":{}", "\"city\""),
                 "{\"name\":\"Ann\",\"arguments\":{\"city\":\"Paris\"}}");
  assert_refused(schema, "{\"params\":{\"town\":\"Paris\"}}");
  assert_refused(NEEDING("\"filter\":{\"type\":\"object\"}", "\"filter\""),
                 "{\"properties\":{\"filter\":{\"type\":\"object\"}}}");
  assert_refused(NEEDING("\"city\":{},\"params\":{}", "\"city\""), "{\"params\":{\"city\":\"Paris\"}}");
  assert_refused(schema, "[{\"name\":\"w\",\"parameters\":{\"city\":\"A\"}},{\"name\":\"w\",\"parameters\":{\"city\":"
                         "\"B\"}}]");
}

static void repair__takes_no_call_of_another_tool(void **state) {
  (void)state;
  struct bench b;
  set_up(&b, NEEDING("\"city\":{\"type\":\"string\"}", "\"city\""));
  static const char *const same[] = {"get_weather", "getWeather", "functions.get_weather", "geo__get_weather"};
  b.options.tool = HF_STR("geo__get_weather");
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    char raw[128];
    assert_in_range(snprintf(raw, sizeof raw, "{\"name\":\"%s\",\"arguments\":{\"city\":\"Paris\"}}", same[i]), 1, 127);
    assert_int_equal(repair(&b, raw), 0);
    assert_text(&b, "{\"city\":\"Paris\"}");
  }
  assert_int_equal(repair(&b, "{\"name\":\"get_news\",\"arguments\":{\"city\":\"Paris\"}}"), HF_ERR_INVALID);
  tear_down(&b);
}

static void repair__keeps_an_argument_that_is_called_like_a_label(void **state) {
  (void)state;
  struct bench b;
  set_up(&b, NEEDING("\"title\":{},\"id\":{},\"type\":{}", "\"title\""));
  b.options.tool = HF_STR("create");
  static const char *const refused[] = {
      "{\"id\":\"42\",\"input\":{\"title\":\"x\"}}",
      "{\"type\":\"issue\",\"arguments\":{\"title\":\"x\"}}",
      "[{\"type\":\"issue\",\"arguments\":{\"title\":\"x\"}}]",
  };
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    assert_int_equal(repair(&b, refused[i]), HF_ERR_INVALID);
  assert_int_equal(repair(&b, "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"create\",\"input\":{\"title\":\"x\"}}"),
                   0);
  assert_text(&b, "{\"title\":\"x\"}");
  tear_down(&b);
}

static void repair__reads_texts_that_are_no_json(void **state) {
  (void)state;
  const char *schema = NEEDING("\"city\":{\"type\":\"string\"}", "\"city\"");
  assert_repaired(schema, "{'city': 'Paris',}", "{\"city\":\"Paris\"}",
                  "read_leniently  {'city': 'Paris',}>{\"city\":\"Paris\"}");
  assert_repaired(schema, "weather(city='Paris')", "{\"city\":\"Paris\"}",
                  "read_leniently  weather(city='Paris')>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}; "
                  "unwrapped  {\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}>{\"city\":\"Paris\"}");
  assert_repaired(OBJECT("\"n\":{\"type\":\"integer\"}"), "{'n': '5'}", "{\"n\":5}",
                  "read_leniently  {'n': '5'}>{\"n\":\"5\"}; number_from_text /n \"5\">5");
  assert_refused(schema, "{\"city\": \"Paris\"");
  assert_refused(schema, "{\"city\": Paris}");
  assert_refused(schema, "{'city': 'Paris'}{'city': 'Rome'}");
  assert_refused(OBJECT("\"n\":{\"type\":\"number\"}"), "{\"n\": NaN}");
  assert_refused(OBJECT("\"n\":{\"type\":\"number\"}"), "Error: {'code': 400}");
  assert_refused(OBJECT("\"n\":{\"type\":\"number\"}"), "{'arguments': {'n': 5}}");
  assert_repaired(OBJECT("\"n\":{\"type\":\"number\"}"), "{'name': 'f', 'arguments': {'n': 5}}", "{\"n\":5}",
                  "read_leniently  {'name': 'f', 'arguments': {'n': 5}}>{\"name\":\"f\",\"arguments\":{\"n\":5}}; "
                  "unwrapped  {\"name\":\"f\",\"arguments\":{\"n\":5}}>{\"n\":5}");
  assert_repaired(OBJECT("\"n\":{\"type\":\"number\"}"), "<tool_call>{'name': 'f', 'arguments': {'n': 5}}</tool_call>",
                  "{\"n\":5}",
                  "read_leniently  <tool_call>{'name': 'f', 'arguments': {'n': "
                  "5}}</tool_call>>{\"name\":\"f\",\"arguments\":{\"n\":5}}; unwrapped  "
                  "{\"name\":\"f\",\"arguments\":{\"n\":5}}>{\"n\":5}");
}

static void repair__reads_nothing_as_no_arguments(void **state) {
  (void)state;
  assert_repaired(OBJECT(""), "", "{}", "read_leniently  >\"\"; unwrapped  \"\">{}");
  assert_repaired("{\"type\":\"object\"}", "\"\"", "{}", "unwrapped  \"\">{}");
  assert_repaired(OBJECT("\"a\":{}"), "null", "{}", "null_dropped  null>{}");
  assert_refused(OBJECT("\"a\":{}"), "");
  assert_refused("{\"required\":[\"a\"]}", " \n");
  assert_refused("{}", "");
  assert_refused(NEEDING("\"a\":{}", "\"a\""), "null");
}

static void repair__refuses_what_can_be_read_in_two_ways(void **state) {
  (void)state;
  assert_refused(
      OBJECT("\"v\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}]}"),
      "{\"v\":\"20\"}");
  assert_refused(OBJECT("\"v\":{\"anyOf\":[{\"type\":\"boolean\"},{\"enum\":[\"TRUE\"]}]}"), "{\"v\":\"true\"}");
  assert_repaired(OBJECT("\"v\":{\"oneOf\":[{\"type\":\"number\"},{\"type\":\"boolean\"}]}"), "{\"v\":\"20\"}",
                  "{\"v\":20}", "number_from_text /v \"20\">20");
  assert_repaired(OBJECT("\"v\":{\"anyOf\":[{\"type\":\"number\"},{\"type\":\"integer\"}]}"), "{\"v\":\"20\"}",
                  "{\"v\":20}", "number_from_text /v \"20\">20");
  assert_refused(OBJECT("\"v\":{\"oneOf\":[{\"type\":\"number\"},{\"type\":\"integer\"}]}"), "{\"v\":\"20\"}");
}

static void repair__mends_all_or_nothing(void **state) {
  (void)state;
  const char *schema = OBJECT("\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"},\"c\":{\"type\":\"array\"}");
  assert_repaired(schema, "{\"a\":\"1\",\"b\":\"true\",\"c\":\"[]\"}", "{\"a\":1,\"b\":true,\"c\":[]}",
                  "number_from_text /a \"1\">1; boolean_from_text /b \"true\">true; parsed /c \"[]\">[]");
  assert_refused(schema, "{\"a\":\"1\",\"b\":\"maybe\"}");
}

static void repair__finds_the_branch_that_fits(void **state) {
  (void)state;
  const char *schema =
      OBJECT("\"v\":{\"oneOf\":["
             "{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":\"a\"},\"x\":{\"type\":\"integer\"},"
             "\"y\":{\"type\":\"boolean\"}},\"required\":[\"kind\",\"x\"]},"
             "{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":\"b\"},\"x\":{\"type\":\"array\"}},"
             "\"required\":[\"kind\",\"x\"]}]}");
  assert_repaired(schema, "{\"v\":{\"kind\":\"a\",\"x\":\"5\",\"y\":\"false\"}}",
                  "{\"v\":{\"kind\":\"a\",\"x\":5,\"y\":false}}",
                  "number_from_text /v/x \"5\">5; boolean_from_text /v/y \"false\">false");
  assert_repaired(schema, "{\"v\":{\"kind\":\"b\",\"x\":\"[5]\"}}", "{\"v\":{\"kind\":\"b\",\"x\":[5]}}",
                  "parsed /v/x \"[5]\">[5]");
  assert_refused(schema, "{\"v\":{\"kind\":\"c\",\"x\":\"5\"}}");
}

static void repair__mends_what_goes_with_something_else(void **state) {
  (void)state;
  const char *one = "{\"properties\":{\"id\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"}},"
                    "\"oneOf\":[{\"required\":[\"id\"]},{\"required\":[\"name\"]}]}";
  assert_repaired(one, "{\"id\":\"a\",\"name\":null}", "{\"id\":\"a\"}", "null_dropped /name null>");
  assert_refused(one, "{\"id\":\"a\",\"name\":\"b\"}");
  assert_refused(one, "{\"id\":null,\"name\":null}");
}

static void repair__keeps_values_where_it_must(void **state) {
  (void)state;
  struct bench b;
  set_up(&b, NEEDING("\"filePath\":{\"type\":\"string\"},\"o\":{\"type\":\"object\"},\"n\":{\"type\":\"integer\"},"
                     "\"l\":{\"type\":\"array\"},\"e\":{\"enum\":[\"A\"]},\"b\":{\"type\":\"boolean\"}",
                     "\"filePath\""));
  b.options.keep_values = true;
  assert_int_equal(repair(&b, "{'params': '{\"file_path\": \"x\", \"o\": \"{}\"}'}"), 0);
  assert_text(&b, "{\"filePath\": \"x\", \"o\": {}}");
  static const char *const changing[] = {
      "{\"filePath\":\"x\",\"n\":\"5\"}", "{\"filePath\":\"x\",\"b\":\"true\"}", "{\"filePath\":\"x\",\"n\":null}",
      "{\"filePath\":\"x\",\"l\":5}",     "{\"filePath\":\"x\",\"e\":\"a\"}",
  };
  for (size_t i = 0; i < sizeof changing / sizeof changing[0]; i++) {
    assert_int_equal(repair(&b, changing[i]), HF_ERR_INVALID);
    b.options.keep_values = false;
    assert_int_equal(repair(&b, changing[i]), 0);
    b.options.keep_values = true;
  }
  tear_down(&b);
}

static void repair__shows_only_the_start_of_what_is_long(void **state) {
  (void)state;
  struct bench b;
  set_up(&b, OBJECT("\"l\":{\"type\":\"array\"}"));
  struct hf_buf raw;
  hf_buf_init(&raw, OUT_MAX);
  assert_int_equal(hf_buf_append_str(&raw, HF_STR("{\"l\":\"['")), 0);
  for (int i = 0; i < 100; i++)
    assert_int_equal(hf_buf_append_str(&raw, HF_STR("\xc3\xa9")), 0);
  assert_int_equal(hf_buf_append(&raw, "']\"}", 5), 0);
  assert_int_equal(repair(&b, raw.data), 0);
  assert_int_equal(b.repairs.item[1].from.len, HF_REPAIR_SHOWN_MAX - 1);
  assert_int_equal(b.repairs.item[1].to.len, HF_REPAIR_SHOWN_MAX);
  hf_buf_deinit(&raw);
  tear_down(&b);
}

static void append(struct hf_buf *buf, const char *text) {
  assert_int_equal(hf_buf_append(buf, text, strlen(text)), 0);
}

/* What comes of `count` copies of a member whose names are numbered. */
static int repair_many(const char *schema_start, const char *schema, const char *schema_end, const char *value,
                       unsigned count, const char *last) {
  struct hf_buf text, raw;
  hf_buf_init(&text, OUT_MAX);
  hf_buf_init(&raw, 2 * OUT_MAX);
  append(&text, schema_start);
  append(&raw, "{");
  for (unsigned i = 0; i < count; i++) {
    assert_int_equal(hf_buf_printf(&text, "%s\"p%u\":%s", i ? "," : "", i, schema), 0);
    assert_int_equal(hf_buf_printf(&raw, "%s\"p%u\":%s", i ? "," : "", i, value), 0);
  }
  append(&text, schema_end);
  append(&raw, last);
  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  assert_int_equal(hf_buf_append(&raw, "", 1), 0);
  struct bench b;
  set_up(&b, text.data);
  int r = repair(&b, raw.data);
  tear_down(&b);
  hf_buf_deinit(&text);
  hf_buf_deinit(&raw);
  return r;
}

static void repair__makes_so_many_repairs_and_no_more(void **state) {
  (void)state;
  const char *start = "{\"properties\":{", *integer = "{\"type\":\"integer\"}";
  assert_int_equal(repair_many(start, integer, "}}", "\"5\"", HF_REPAIRS_MAX, "}"), 0);
  assert_int_equal(repair_many(start, integer, "}}", "\"5\"", HF_REPAIRS_MAX + 1, "}"), HF_ERR_LIMIT);
}

static void repair__makes_so_many_tries_and_no_more(void **state) {
  (void)state;
  const char *either = "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}]}";
  const char *end =
      ",\"z\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}]}}}";
  assert_int_equal(repair_many("{\"properties\":{", either, end, "\"5\"", 3, ",\"z\":\"5.5\"}"), HF_ERR_INVALID);
  assert_int_equal(repair_many("{\"properties\":{", either, end, "\"5\"", 7, ",\"z\":\"5.5\"}"), HF_ERR_LIMIT);
}

/* A branch that did not get on the list of errors could be the other reading. */
static void repair__is_not_certain_where_branches_are_not_known(void **state) {
  (void)state;
  const char *start = "{\"properties\":{\"v\":{\"anyOf\":[", *end = "{\"type\":\"array\"},{\"type\":\"integer\"}]}}}";
  for (unsigned branches = HF_SCHEMA_ERRORS_MAX - 4; branches < HF_SCHEMA_ERRORS_MAX + 2; branches++) {
    struct hf_buf schema;
    hf_buf_init(&schema, 1 << 16);
    append(&schema, start);
    for (unsigned i = 0; i < branches; i++)
      append(&schema, "{\"type\":\"null\"},");
    append(&schema, end);
    assert_int_equal(hf_buf_append(&schema, "", 1), 0);
    assert_refused(schema.data, "{\"v\":\"5\"}");
    hf_buf_deinit(&schema);
  }
}

static void repair__takes_so_many_steps_and_no_more(void **state) {
  (void)state;
  for (unsigned copies = 4; copies <= 100; copies *= 25) {
    struct hf_buf schema, raw;
    hf_buf_init(&schema, OUT_MAX);
    hf_buf_init(&raw, OUT_MAX);
    append(&schema, "{\"properties\":{\"o\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"array\",\"items\":{"
                    "\"type\":\"integer\"}}}},\"l\":{"
                    "\"allOf\":[");
    for (unsigned i = 0; i < copies; i++)
      append(&schema, i ? ",{\"items\":{\"type\":\"integer\"}}" : "{\"items\":{\"type\":\"integer\"}}");
    append(&schema, "]}}}");
    append(&raw, "{\"o\":\"{\\\"n\\\":\\\"['5']\\\"}\",\"l\":[1");
    for (unsigned i = 0; i < 1900; i++)
      append(&raw, ",1");
    append(&raw, "]}");
    assert_int_equal(hf_buf_append(&schema, "", 1), 0);
    assert_int_equal(hf_buf_append(&raw, "", 1), 0);
    struct bench b;
    set_up(&b, schema.data);
    assert_int_equal(repair(&b, raw.data), copies == 4 ? 0 : HF_ERR_LIMIT);
    tear_down(&b);
    hf_buf_deinit(&schema);
    hf_buf_deinit(&raw);
  }
}

/* Searching large objects for the names of members counts as well. */
static void repair__looks_at_so_many_members_and_no_more(void **state) {
  (void)state;
  enum { MEMBERS = 30000, FEW = 5, MANY = 40 };
  struct hf_buf raw;
  hf_buf_init(&raw, 1 << 20);
  append(&raw, "{\"0\":0");
  for (int i = 1; i < MEMBERS; i++)
    assert_int_equal(hf_buf_printf(&raw, ",\"%d\":0", i), 0);
  append(&raw, "}");
  assert_int_equal(hf_buf_append(&raw, "", 1), 0);
  for (int needed = FEW; needed <= MANY; needed += MANY - FEW) {
    struct hf_buf schema;
    hf_buf_init(&schema, 1 << 16);
    append(&schema, "{\"required\":[\"n\"");
    for (int i = 1; i < needed; i++)
      assert_int_equal(hf_buf_printf(&schema, ",\"n%d\"", i), 0);
    append(&schema, "]}");
    assert_int_equal(hf_buf_append(&schema, "", 1), 0);
    struct bench b;
    set_up(&b, schema.data);
    assert_int_equal(repair(&b, raw.data), needed == FEW ? HF_ERR_INVALID : HF_ERR_LIMIT);
    tear_down(&b);
    hf_buf_deinit(&schema);
  }
  hf_buf_deinit(&raw);
}

static void repair__puts_texts_of_so_many_bytes_into_an_array(void **state) {
  (void)state;
  for (size_t extra = 0; extra < 2; extra++) {
    struct hf_buf raw;
    hf_buf_init(&raw, 1 << 20);
    append(&raw, "{\"l\":\"");
    for (size_t i = 0; i < HF_REPAIR_ELEMENT_MAX + extra; i++)
      append(&raw, "x");
    append(&raw, "\"}");
    assert_int_equal(hf_buf_append(&raw, "", 1), 0);
    struct bench b;
    set_up(&b, OBJECT("\"l\":{\"type\":\"array\"}"));
    assert_int_equal(repair(&b, raw.data), extra ? HF_ERR_INVALID : 0);
    tear_down(&b);
    hf_buf_deinit(&raw);
  }
}

static void repair__reads_so_much_and_no_more(void **state) {
  (void)state;
  static const size_t lengths[] = {OUT_MAX / 4, OUT_MAX / 8 * 5, OUT_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    struct hf_buf raw;
    hf_buf_init(&raw, 4 * OUT_MAX);
    append(&raw, "{\"n\":\"5\",\"s\":\"");
    size_t len = lengths[i];
    assert_int_equal(hf_buf_reserve(&raw, len), 0);
    memset(raw.data + raw.len, 'x', len);
    raw.len += len;
    append(&raw, "\"}");
    assert_int_equal(hf_buf_append(&raw, "", 1), 0);
    struct bench b;
    set_up(&b, OBJECT("\"n\":{\"type\":\"integer\"}"));
    assert_int_equal(repair(&b, raw.data), i == 0 ? 0 : HF_ERR_LIMIT);
    tear_down(&b);
    hf_buf_deinit(&raw);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(repair__never_touches_what_is_valid),
      cmocka_unit_test(repair__leaves_the_rest_as_it_is_spelt),
      cmocka_unit_test(repair__parses_a_string_that_holds_what_is_wanted),
      cmocka_unit_test(repair__goes_on_within_what_it_parsed),
      cmocka_unit_test(repair__reads_numbers_that_lose_nothing),
      cmocka_unit_test(repair__reads_true_and_false_and_nothing_like_them),
      cmocka_unit_test(repair__spells_integers_out_for_draft_4),
      cmocka_unit_test(repair__puts_a_scalar_into_an_array),
      cmocka_unit_test(repair__puts_no_list_into_an_array_as_one),
      cmocka_unit_test(repair__drops_null_where_it_says_nothing),
      cmocka_unit_test(repair__takes_the_one_choice_that_differs_in_case),
      cmocka_unit_test(repair__renames_the_one_key_that_is_spelt_otherwise),
      cmocka_unit_test(repair__takes_arguments_out_of_a_wrapper),
      cmocka_unit_test(repair__takes_no_call_of_another_tool),
      cmocka_unit_test(repair__keeps_an_argument_that_is_called_like_a_label),
      cmocka_unit_test(repair__reads_texts_that_are_no_json),
      cmocka_unit_test(repair__reads_nothing_as_no_arguments),
      cmocka_unit_test(repair__refuses_what_can_be_read_in_two_ways),
      cmocka_unit_test(repair__mends_all_or_nothing),
      cmocka_unit_test(repair__finds_the_branch_that_fits),
      cmocka_unit_test(repair__mends_what_goes_with_something_else),
      cmocka_unit_test(repair__keeps_values_where_it_must),
      cmocka_unit_test(repair__shows_only_the_start_of_what_is_long),
      cmocka_unit_test(repair__makes_so_many_repairs_and_no_more),
      cmocka_unit_test(repair__makes_so_many_tries_and_no_more),
      cmocka_unit_test(repair__is_not_certain_where_branches_are_not_known),
      cmocka_unit_test(repair__takes_so_many_steps_and_no_more),
      cmocka_unit_test(repair__looks_at_so_many_members_and_no_more),
      cmocka_unit_test(repair__puts_texts_of_so_many_bytes_into_an_array),
      cmocka_unit_test(repair__reads_so_much_and_no_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
