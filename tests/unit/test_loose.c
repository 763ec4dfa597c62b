#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schema/literal.h"
#include "schema/loose.h"

enum { OUT_MAX = 1 << 16 };

static void assert_read(const char *raw, const char *expected, unsigned how) {
  struct hf_buf out;
  hf_buf_init(&out, OUT_MAX);
  struct hf_error error = {.code = 0};
  unsigned found = ~0U;
  int r = hf_loose_read(hf_str_from(raw), &out, &found, &error);
  if (r < 0)
    print_error("%s: %s\n", raw, error.text);
  assert_int_equal(r, 0);
  assert_int_equal(hf_buf_append(&out, "", 1), 0);
  assert_string_equal(out.data, expected);
  assert_int_equal(found, how);
  hf_buf_deinit(&out);
}

static void assert_refused(const char *raw, int code) {
  struct hf_buf out;
  hf_buf_init(&out, OUT_MAX);
  struct hf_error error = {.code = 0};
  unsigned how = 77;
  int r = hf_loose_read(hf_str_from(raw), &out, &how, &error);
  if (r == 0)
    print_error("%s: read as %.*s\n", raw, HF_STR_FMT(hf_buf_str(&out)));
  assert_int_equal(r, code);
  assert_int_equal(out.len, 0);
  assert_int_equal(how, 77);
  assert_int_equal(error.code, code);
  hf_buf_deinit(&out);
}

static void assert_all_refused(const char *const *raw, size_t count) {
  for (size_t i = 0; i < count; i++)
    assert_refused(raw[i], HF_ERR_SYNTAX);
}

#define ASSERT_ALL_REFUSED(list) assert_all_refused(list, sizeof(list) / sizeof(list)[0])

static void loose__leaves_json_as_it_is(void **state) {
  (void)state;
  assert_read("{\"query\": \"what's the weather\"}", "{\"query\": \"what's the weather\"}", 0);
  assert_read(" [ 1 , \"// no comment\", \"a,]\" ] ", "[ 1 , \"// no comment\", \"a,]\" ]", 0);
  assert_read("\"plain\"", "\"plain\"", 0);
  assert_read("1.50e0", "1.50e0", 0);
  assert_read("\"[not json\"", "\"[not json\"", 0);
}

static void loose__reads_what_python_prints(void **state) {
  (void)state;
  assert_read("{'a': True, 'b': None, 'c': False}", "{\"a\":true,\"b\":null,\"c\":false}",
              HF_LOOSE_QUOTES | HF_LOOSE_PYTHON);
  assert_read("[(1, 2), (3,), ()]", "[[1,2],[3],[]]", HF_LOOSE_PYTHON);
  assert_read("{\"n\": ['S&P 500', \"it's\"]}", "{\"n\":[\"S&P 500\",\"it's\"]}", HF_LOOSE_QUOTES);
  assert_read("'x'", "\"x\"", HF_LOOSE_QUOTES);
}

static void loose__keeps_what_is_inside_of_strings(void **state) {
  (void)state;
  assert_read("{'a': 'say \"True\", None'}", "{\"a\":\"say \\\"True\\\", None\"}", HF_LOOSE_QUOTES);
  assert_read("['it\\'s', \"it\\'s\"]", "[\"it's\",\"it's\"]", HF_LOOSE_QUOTES);
  assert_read("['a // b', '# c', '/* d */', 'e,]']", "[\"a // b\",\"# c\",\"/* d */\",\"e,]\"]", HF_LOOSE_QUOTES);
  assert_read("['\\u2665\\n\\\\', '\xe2\x99\xa5']", "[\"\\u2665\\n\\\\\",\"\xe2\x99\xa5\"]", HF_LOOSE_QUOTES);
  assert_read("['\\x41']", "[\"\\u0041\"]", HF_LOOSE_QUOTES | HF_LOOSE_PYTHON);
  assert_read("{\"a\": \"one\ntwo\tthree\",}", "{\"a\":\"one\\ntwo\\tthree\"}",
              HF_LOOSE_CONTROL | HF_LOOSE_TRAILING_COMMA);
}

static void loose__reads_what_people_write(void **state) {
  (void)state;
  assert_read("{\"a\": [1, 2,], }", "{\"a\":[1,2]}", HF_LOOSE_TRAILING_COMMA);
  assert_read("{a: 1, $b_2: 2}", "{\"a\":1,\"$b_2\":2}", HF_LOOSE_BARE_KEY);
  assert_read("{\"a\": 6.2832,  // 2 * pi\n \"b\": /* x */ 5 # y\n}", "{\"a\":6.2832,\"b\":5}", HF_LOOSE_COMMENT);
  assert_read("[+1, .5, 5., -.5]", "[1,0.5,5.0,-0.5]", HF_LOOSE_NUMBER);
}

static void loose__reads_what_is_in_a_fence(void **state) {
  (void)state;
  assert_read("```json\n{\n  \"d\": \"s\"\n}\n```", "{\"d\":\"s\"}", HF_LOOSE_FENCE);
  assert_read("  ```\n[1]\n  ```\n", "[1]", HF_LOOSE_FENCE);
  assert_read("`{\"a\":1}`", "{\"a\":1}", HF_LOOSE_FENCE);
  assert_read("```json\n{\"a\":1}\n", "{\"a\":1}", HF_LOOSE_FENCE);
  assert_read("```json\n{\"code\": \"```py\\nx = {}\\n```\"}\n```", "{\"code\":\"```py\\nx = {}\\n```\"}",
              HF_LOOSE_FENCE);
}

static void loose__takes_what_follows_a_fence_for_a_comment(void **state) {
  (void)state;
  assert_read("```json\n{\"a\":1}\n```\nThe call f(x)[0] = {\"b\":2} is easy.", "{\"a\":1}",
              HF_LOOSE_FENCE | HF_LOOSE_WORDS);
  assert_read("Here it is:\n```json\n{\"a\":1}\n```\n```python\nfor x in y: pass\n```", "{\"a\":1}",
              HF_LOOSE_FENCE | HF_LOOSE_WORDS);
  assert_read("```\n{\"a\":1}\n```\nAgain:\n```\n{'a': 1.0}\n```", "{\"a\":1}", HF_LOOSE_FENCE | HF_LOOSE_WORDS);
  assert_refused("```\n{\"a\":1}\n```\nOr:\n```\n{\"a\":2}\n```", HF_ERR_SYNTAX);
}

static void loose__passes_tags_and_words(void **state) {
  (void)state;
  assert_read("<tool_call>\n{'a': 1}\n</tool_call>\n", "{\"a\":1}", HF_LOOSE_TAGS | HF_LOOSE_QUOTES);
  assert_read("<|im_start|>\n{\"a\": 1}\n<|im_start|>", "{\"a\":1}", HF_LOOSE_TAGS);
  assert_read("<?xml ?>\n{\"a\": 1}\n<?xml ?>", "{\"a\":1}", HF_LOOSE_TAGS);
  assert_read("{\"path\": \"a.txt\"} trailing text", "{\"path\":\"a.txt\"}", HF_LOOSE_WORDS);
  assert_read("Sure! Here are the arguments: {\"a\": 1}", "{\"a\":1}", HF_LOOSE_WORDS);
}

static void loose__reads_nothing_in_thoughts(void **state) {
  (void)state;
  assert_read("<think>Not {\"a\": 2}</think>\n{\"a\": 1}", "{\"a\":1}", HF_LOOSE_TAGS | HF_LOOSE_WORDS);
  assert_read("{\"a\": 1}<thinking>[ok?</thinking>", "{\"a\":1}", HF_LOOSE_TAGS | HF_LOOSE_WORDS);
  static const char *const refused[] = {
      "<think>Not {\"a\": 2}</think>",
      "<reasoning>{\"a\": 2}</reasoning>",
      "<think>{\"a\": 2}",
      "Not {\"a\": 2}</think>",
  };
  ASSERT_ALL_REFUSED(refused);
}

static void loose__reads_a_value_that_is_said_again(void **state) {
  (void)state;
  assert_read("{\"x\": 3, \"y\": 2}{\"y\": 2.0, \"x\": 3}", "{\"x\":3,\"y\":2}", HF_LOOSE_REPEATED);
  assert_read("{}{\"stock\":\"MSFT\"}", "{\"stock\":\"MSFT\"}", HF_LOOSE_REPEATED);
  static const char *const refused[] = {
      "{\"a\":1}{\"a\":2}", "{\"a\":1}\n{\"b\":2}", "{}{\"a\":1}{\"a\":2}", "{\"a\":1},{\"a\":1}", "{\"a\":1}{}",
  };
  ASSERT_ALL_REFUSED(refused);
}

static void loose__reads_a_string_that_holds_the_value(void **state) {
  (void)state;
  assert_read("\"{\\\"city\\\": \\\"Paris\\\"}\"", "{\"city\": \"Paris\"}", HF_LOOSE_ENCODED_TWICE);
  assert_read("'[1, 2]'", "[1, 2]", HF_LOOSE_ENCODED_TWICE | HF_LOOSE_QUOTES);
  assert_read("\"{'a': True}\"", "{\"a\":true}", HF_LOOSE_ENCODED_TWICE | HF_LOOSE_QUOTES | HF_LOOSE_PYTHON);
  assert_read("\" {}\"", "{}", HF_LOOSE_ENCODED_TWICE);
  assert_read("{\\\"a\\\": \\\"x\\\"}", "{\"a\": \"x\"}", HF_LOOSE_ENCODED_TWICE);
  assert_refused("{\\\"a\\\": \\\"x\\\"", HF_ERR_SYNTAX);
  assert_read("\xef\xbb\xbf{\"a\":1}", "{\"a\":1}", 0);
  assert_read("\"5\"", "\"5\"", 0);
  assert_read("\"see {x} there\"", "\"see {x} there\"", 0);
}

static void loose__reads_calls_with_named_arguments(void **state) {
  (void)state;
  assert_read("[geometry.area(radius=5, unit='m')]",
              "[{\"name\":\"geometry.area\",\"arguments\":{\"radius\":5,\"unit\":\"m\"}}]",
              HF_LOOSE_CALL | HF_LOOSE_QUOTES);
  assert_read("now()", "{\"name\":\"now\",\"arguments\":{}}", HF_LOOSE_CALL);
  static const char *const refused[] = {
      "area(5)", "area({'r': 5})", "{\"r\": area(r=5)}", "[[area(r=5)]]", "[1, f(a=g(b=1))]", "f(a=1) + 2",
  };
  ASSERT_ALL_REFUSED(refused);
}

static void loose__refuses_what_is_cut_off(void **state) {
  (void)state;
  static const char *const cut[] = {
      "{\"command\": [\"bash\",\"-lc\",\"find\"]",
      "{\"a\": \"b",
      "{'a': tru",
      "[1, 2",
      "{\"a\"",
      "{\"a\":",
      "[\"x\\",
      "['a', (1,",
      "{\"a\": 1 /*",
      "```json\n{\"a\": [1",
      "{\"a\":1}{\"a\":",
      "f(a=1",
      "[\"\\u00",
  };
  for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++)
    assert_refused(cut[i], HF_ERR_INCOMPLETE);
}

static void loose__refuses_what_is_no_value(void **state) {
  (void)state;
  static const char *const refused[] = {
      "",
      "  ",
      "hello",
      "{\"n\": NaN}",
      "{\"n\": Infinity}",
      "{\"n\": -Infinity}",
      "{\"n\": undefined}",
      "{\"p\": 1/6}",
      "{\"p\": 5 * 2800}",
      "{\"p\": 2 * 3.14159, \"q\": 1}",
      "{\"x\": data[\"sales\"]}",
      "{\"x\": name}",
      "{\"a\": 0x10}",
      "{\"a\": 1_000}",
      "{\"a\": 007}",
      "{\"a\": -}",
      "{\"a\": .}",
      "{\"a\": 1e}",
      "{\"a\": TRUE}",
      "{\"vertices\": [-1, 0], [2, 3]]}",
  };
  ASSERT_ALL_REFUSED(refused);
}

static void loose__refuses_what_could_be_read_in_two_ways(void **state) {
  (void)state;
  static const char *const refused[] = {
      "{'a': 'it's'}",
      "{'a': 'x' 'y'}",
      "[1,,2]",
      "[,1]",
      "{,}",
      "{\"a\" 1}",
      "[1 2]",
      "{\"a\": 7 // 2\n}",
      "{\"a\": (1)}",
      "{1: 2}",
      "{True: 2}",
      "{1, 2}",
      "{\"p\": \"C:\\dir\"}",
      "{'re': '\\d+'}",
      "['a\\/b']",
      "['''x''']",
      "[r'x']",
      "[b'x']",
      "data[0]",
      "x = {\"a\": 1}",
      "{\"a\":1}, b: 2",
      "{\"a\":1}]",
      "{\"a\":1};",
      "{\"a\":1}x",
      "{\"a\":1} = 2",
      "{\"a\":1} and \"b\": 2",
      "[f'x']",
      "{'a': 1}.b",
  };
  ASSERT_ALL_REFUSED(refused);
}

static void loose__refuses_bytes_that_are_no_utf8(void **state) {
  (void)state;
  assert_refused("{'a': '\xff'}", HF_ERR_SYNTAX);
  assert_refused("{'a': '\x01'}", HF_ERR_SYNTAX);
  assert_refused("it is \xc3: {\"a\": 1}", HF_ERR_SYNTAX);
  assert_refused("{\"a\": 1 /* \xff */}", HF_ERR_SYNTAX);
}

static void loose__has_limits(void **state) {
  (void)state;
  char text[2 * HF_LITERAL_DEPTH_MAX + 8];
  for (size_t depth = HF_LITERAL_DEPTH_MAX; depth <= HF_LITERAL_DEPTH_MAX + 1; depth++) {
    memset(text, '[', depth);
    text[depth] = '.';
    text[depth + 1] = '5';
    memset(text + depth + 2, ']', depth);
    struct hf_buf out;
    hf_buf_init(&out, OUT_MAX);
    unsigned how;
    int r = hf_loose_read((struct hf_str){text, 2 * depth + 2}, &out, &how, NULL);
    assert_int_equal(r, depth <= HF_LITERAL_DEPTH_MAX ? 0 : HF_ERR_LIMIT);
    hf_buf_deinit(&out);
  }
  struct hf_buf small;
  hf_buf_init(&small, 4);
  unsigned how;
  assert_int_equal(hf_loose_read(HF_STR("['abc']"), &small, &how, NULL), HF_ERR_LIMIT);
  assert_int_equal(small.len, 0);
  hf_buf_deinit(&small);
}

static void loose__reads_a_value_that_is_said_so_often_and_no_more(void **state) {
  (void)state;
  char text[2 * 18 + 1];
  for (size_t i = 0; i < sizeof text - 1; i += 2)
    memcpy(text + i, "[]", 3);
  assert_refused(text, HF_ERR_SYNTAX);
  text[2 * 17] = '\0';
  assert_refused(text, HF_ERR_SYNTAX);
  text[2 * 16] = '\0';
  assert_read(text, "[]", HF_LOOSE_REPEATED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loose__leaves_json_as_it_is),
      cmocka_unit_test(loose__reads_what_python_prints),
      cmocka_unit_test(loose__keeps_what_is_inside_of_strings),
      cmocka_unit_test(loose__reads_what_people_write),
      cmocka_unit_test(loose__reads_what_is_in_a_fence),
      cmocka_unit_test(loose__takes_what_follows_a_fence_for_a_comment),
      cmocka_unit_test(loose__passes_tags_and_words),
      cmocka_unit_test(loose__reads_nothing_in_thoughts),
      cmocka_unit_test(loose__reads_a_value_that_is_said_again),
      cmocka_unit_test(loose__reads_a_string_that_holds_the_value),
      cmocka_unit_test(loose__reads_calls_with_named_arguments),
      cmocka_unit_test(loose__refuses_what_is_cut_off),
      cmocka_unit_test(loose__refuses_what_is_no_value),
      cmocka_unit_test(loose__refuses_what_could_be_read_in_two_ways),
      cmocka_unit_test(loose__refuses_bytes_that_are_no_utf8),
      cmocka_unit_test(loose__has_limits),
      cmocka_unit_test(loose__reads_a_value_that_is_said_so_often_and_no_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
