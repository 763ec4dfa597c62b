#include "base/alloc.h"
#include "base/buf.h"
#include "json/value.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct hf_json_options options(void) {
  struct hf_json_options o = HF_JSON_OPTIONS_INIT;
  return o;
}

static int scan_whole(struct hf_json_scan *scan, const struct hf_json_options *o, struct hf_str text) {
  hf_json_scan_init(scan, o);
  return hf_json_scan_feed(scan, text.ptr, text.len, true);
}

/* Feeds one byte more each time, from a copy that moves, so that a pointer kept from before would be found out. */
static int scan_bytewise(struct hf_json_scan *scan, const struct hf_json_options *o, struct hf_str text) {
  hf_json_scan_init(scan, o);
  int r = HF_ERR_AGAIN;
  bool move = text.len < 4096;
  for (size_t len = 1; len <= text.len && r == HF_ERR_AGAIN; len++) {
    char *copy = move ? hf_strndup(text.ptr, len) : NULL;
    r = hf_json_scan_feed(scan, move ? copy : text.ptr, len, false);
    hf_free(copy);
  }
  return r == HF_ERR_AGAIN ? hf_json_scan_feed(scan, text.ptr, text.len, true) : r;
}

static void assert_same_scan(const struct hf_json_scan *a, const struct hf_json_scan *b) {
  assert_int_equal(a->fault, b->fault);
  assert_int_equal(a->pos, b->pos);
  assert_int_equal(a->count, b->count);
  for (uint32_t i = 0; i < a->count; i++) {
    assert_int_equal(a->nodes[i].type, b->nodes[i].type);
    assert_int_equal(a->nodes[i].start, b->nodes[i].start);
    if (a->fault == HF_JSON_FAULT_NONE) {
      assert_int_equal(a->nodes[i].end, b->nodes[i].end);
      assert_int_equal(a->nodes[i].next, b->nodes[i].next);
      assert_int_equal(a->nodes[i].count, b->nodes[i].count);
      assert_int_equal(a->nodes[i].flags, b->nodes[i].flags);
    }
  }
}

static void assert_verdict(struct hf_str text, enum hf_json_fault fault, uint32_t pos) {
  struct hf_json_options o = options();
  struct hf_json_scan whole, bytes;
  int r = scan_whole(&whole, &o, text);
  if (whole.fault != fault || whole.pos != pos)
    fail_msg("'%.*s': %s at %u", HF_STR_FMT(text), hf_json_fault_text(whole.fault), whole.pos);
  assert_int_equal(r == 0, fault == HF_JSON_FAULT_NONE);
  assert_int_equal(scan_bytewise(&bytes, &o, text), r);
  assert_same_scan(&whole, &bytes);
  hf_json_scan_deinit(&whole);
  hf_json_scan_deinit(&bytes);
}

static void json_scan__says_what_is_wrong_and_where(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum hf_json_fault fault;
    uint32_t pos;
  } rows[] = {
      {"{}", HF_JSON_FAULT_NONE, 2},
      {" [1, -0, 1.0, 1e9, 1E-2, 0.5e+3] ", HF_JSON_FAULT_NONE, 33},
      {"0", HF_JSON_FAULT_NONE, 1},
      {"\"\\u2028\\ud800\"", HF_JSON_FAULT_NONE, 14},
      {"\"\xe2\x80\xa8\xf0\x9f\x98\x80\"", HF_JSON_FAULT_NONE, 9},
      {"", HF_JSON_FAULT_EMPTY, 0},
      {"  ", HF_JSON_FAULT_EMPTY, 2},
      {"[1", HF_JSON_FAULT_CUT, 2},
      {"-", HF_JSON_FAULT_CUT, 1},
      {"\"abc", HF_JSON_FAULT_CUT, 4},
      {"\xef\xbb\xbf{}", HF_JSON_FAULT_VALUE, 0},
      {"[,1]", HF_JSON_FAULT_VALUE, 1},
      {"[1,]", HF_JSON_FAULT_VALUE, 3},
      {"[NaN]", HF_JSON_FAULT_VALUE, 1},
      {"[+1]", HF_JSON_FAULT_VALUE, 1},
      {"{'a':1}", HF_JSON_FAULT_KEY, 1},
      {"{\"a\":1,}", HF_JSON_FAULT_KEY, 7},
      {"{\"a\" 1}", HF_JSON_FAULT_COLON, 5},
      {"[1 2]", HF_JSON_FAULT_SEPARATOR, 3},
      {"[1}", HF_JSON_FAULT_SEPARATOR, 2},
      {"{\"a\":1]", HF_JSON_FAULT_SEPARATOR, 6},
      {"trux", HF_JSON_FAULT_LITERAL, 3},
      {"[01]", HF_JSON_FAULT_SEPARATOR, 2},
      {"[1.]", HF_JSON_FAULT_NUMBER, 3},
      {"[1e]", HF_JSON_FAULT_NUMBER, 3},
      {"[-x]", HF_JSON_FAULT_NUMBER, 2},
      {"\"a\nb\"", HF_JSON_FAULT_CONTROL, 2},
      {"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x1f\"", HF_JSON_FAULT_CONTROL, 31},
      {"\"\\x\"", HF_JSON_FAULT_ESCAPE, 2},
      {"\"\\u12g4\"", HF_JSON_FAULT_ESCAPE, 5},
      {"\"\xc0\xaf\"", HF_JSON_FAULT_UTF8, 1},
      {"\"\xed\xa0\x80\"", HF_JSON_FAULT_UTF8, 2},
      {"\"\xf4\x90\x80\x80\"", HF_JSON_FAULT_UTF8, 2},
      {"\"\xe2\x80\"", HF_JSON_FAULT_UTF8, 3},
      {"\"\xe0\x9f\xbf\"", HF_JSON_FAULT_UTF8, 2},
      {"\"\xe0\xa0\x80\"", HF_JSON_FAULT_NONE, 5},
      {"\"\xed\x9f\xbf\"", HF_JSON_FAULT_NONE, 5},
      {"\"\xf0\x8f\xbf\xbf\"", HF_JSON_FAULT_UTF8, 2},
      {"\"\xf0\x90\x80\x80\"", HF_JSON_FAULT_NONE, 6},
      {"\"\xf4\x8f\xbf\xbf\"", HF_JSON_FAULT_NONE, 6},
      {"\"\xf5\x80\x80\x80\"", HF_JSON_FAULT_UTF8, 1},
      {"\"\xc2\xc2\"", HF_JSON_FAULT_UTF8, 2},
      {"{} x", HF_JSON_FAULT_TRAILING, 3},
      {"nullx", HF_JSON_FAULT_TRAILING, 4},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_verdict(hf_str_from(rows[i].text), rows[i].fault, rows[i].pos);
}

static void json_scan__finds_each_special_byte_at_each_offset(void **state) {
  (void)state;
  static const struct {
    char byte;
    enum hf_json_fault fault;
  } rows[] = {{0x00, HF_JSON_FAULT_CONTROL},    {0x1f, HF_JSON_FAULT_CONTROL}, {(char)0x80, HF_JSON_FAULT_UTF8},
              {(char)0xff, HF_JSON_FAULT_UTF8}, {0x20, HF_JSON_FAULT_NONE},    {0x7f, HF_JSON_FAULT_NONE},
              {'\\', HF_JSON_FAULT_ESCAPE}};
  char text[70];
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    for (uint32_t at = 1; at < 68; at++) {
      memset(text, 'a', sizeof text);
      text[0] = text[69] = '"';
      text[at] = rows[row].byte;
      enum hf_json_fault fault = rows[row].fault;
      uint32_t pos = fault == HF_JSON_FAULT_NONE ? 70 : fault == HF_JSON_FAULT_ESCAPE ? at + 1 : at;
      assert_verdict((struct hf_str){text, sizeof text}, fault, pos);
    }
  }
}

static void json_scan__records_the_tree_in_preorder(void **state) {
  (void)state;
  struct hf_str text = HF_STR(" {\"a\":[1,\"x\\n\"],\"b\":{}} ");
  static const struct hf_json_node expected[] = {
      {1, 23, 7, 2, HF_JSON_OBJECT, 0},
      {2, 5, 2, 0, HF_JSON_STRING, 0},
      {6, 15, 5, 2, HF_JSON_ARRAY, 0},
      {7, 8, 4, 0, HF_JSON_NUMBER, 0},
      {9, 14, 5, 0, HF_JSON_STRING, HF_JSON_ESCAPED},
      {16, 19, 6, 0, HF_JSON_STRING, 0},
      {20, 22, 7, 0, HF_JSON_OBJECT, 0},
  };
  struct hf_json_options o = options();
  struct hf_json_scan scan;
  assert_int_equal(scan_whole(&scan, &o, text), 0);
  assert_int_equal(scan.count, 7);
  for (uint32_t i = 0; i < 7; i++) {
    assert_int_equal(scan.nodes[i].start, expected[i].start);
    assert_int_equal(scan.nodes[i].end, expected[i].end);
    assert_int_equal(scan.nodes[i].next, expected[i].next);
    assert_int_equal(scan.nodes[i].count, expected[i].count);
    assert_int_equal(scan.nodes[i].type, expected[i].type);
    assert_int_equal(scan.nodes[i].flags, expected[i].flags);
  }
  hf_json_scan_deinit(&scan);
}

static void json_scan__keeps_deep_values_as_one_span(void **state) {
  (void)state;
  struct hf_json_options o = options();
  o.tree_depth = 1;
  struct hf_json_scan scan;
  struct hf_str text = HF_STR("{\"a\":{\"b\":[1,2,{\"c\":3}]},\"d\":[[]],\"e\":4}");
  assert_int_equal(scan_whole(&scan, &o, text), 0);
  assert_int_equal(scan.count, 7);
  struct hf_json_doc doc = hf_json_doc(text.ptr, &scan);
  assert_true(hf_json_opaque(&doc, 2));
  assert_true(hf_str_equal(hf_json_span(&doc, 2), HF_STR("{\"b\":[1,2,{\"c\":3}]}")));
  assert_true(hf_str_equal(hf_json_span(&doc, 4), HF_STR("[[]]")));
  assert_true(hf_str_equal(hf_json_span(&doc, 6), HF_STR("4")));
  assert_int_equal(scan.nodes[0].count, 3);
  hf_json_scan_deinit(&scan);

  o.tree_depth = 0;
  assert_int_equal(scan_whole(&scan, &o, text), 0);
  assert_int_equal(scan.count, 1);
  hf_json_scan_deinit(&scan);
}

static void json_scan__expands_the_named_member_one_level_more(void **state) {
  (void)state;
  struct hf_json_options o = options();
  o.tree_depth = 2;
  o.expand_key = HF_STR("_meta");
  static const struct {
    const char *text;
    uint32_t nodes;
  } rows[] = {
      {"{\"p\":{\"_meta\":{\"k\":{\"z\":1}},\"x\":{\"k\":1}}}", 9},
      {"{\"p\":{\"\\u005fmeta\":{\"k\":1}}}", 7},
      {"{\"_meta\":{\"k\":{\"z\":1}}}", 5}, /* at another level the name means nothing */
      {"{\"p\":{\"_meta\":[1,2,3],\"x\":{\"k\":1}}}", 7},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_json_scan scan, bytes;
    assert_int_equal(scan_whole(&scan, &o, hf_str_from(rows[i].text)), 0);
    assert_int_equal(scan.count, rows[i].nodes);
    assert_int_equal(scan_bytewise(&bytes, &o, hf_str_from(rows[i].text)), 0);
    assert_same_scan(&scan, &bytes);
    hf_json_scan_deinit(&scan);
    hf_json_scan_deinit(&bytes);
  }
}

static void json_scan__limits_have_faults_of_their_own(void **state) {
  (void)state;
  struct hf_json_options o = options();
  o.max_bytes = 8;
  struct hf_json_scan scan;
  struct hf_error error;

  assert_int_equal(scan_whole(&scan, &o, HF_STR("[1,2,34]")), 0);
  hf_json_scan_deinit(&scan);
  assert_int_equal(scan_whole(&scan, &o, HF_STR("[1,2,345]")), HF_ERR_LIMIT);
  assert_int_equal(hf_json_scan_error(&scan, &error), HF_ERR_LIMIT);
  assert_string_equal(error.text, "text too long at byte 8");
  hf_json_scan_deinit(&scan);

  o = options();
  o.max_depth = 3;
  assert_int_equal(scan_whole(&scan, &o, HF_STR("[[[]]]")), 0);
  hf_json_scan_deinit(&scan);
  assert_int_equal(scan_whole(&scan, &o, HF_STR("[[[[]]]]")), HF_ERR_LIMIT);
  hf_json_scan_error(&scan, &error);
  assert_string_equal(error.text, "nested too deep at byte 3");
  hf_json_scan_deinit(&scan);

  o = options();
  o.max_nodes = 4;
  assert_int_equal(scan_whole(&scan, &o, HF_STR("[1,2,3]")), 0);
  hf_json_scan_deinit(&scan);
  assert_int_equal(scan_whole(&scan, &o, HF_STR("[1,2,3,4]")), HF_ERR_LIMIT);
  hf_json_scan_error(&scan, &error);
  assert_string_equal(error.text, "too many values at byte 7");
  hf_json_scan_deinit(&scan);
}

static void json_scan__sequence_stops_behind_the_value(void **state) {
  (void)state;
  struct hf_json_options o = options();
  o.sequence = true;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &o);
  assert_int_equal(hf_json_scan_feed(&scan, "{\"a\":[1", 7, false), HF_ERR_AGAIN);
  assert_int_equal(hf_json_scan_feed(&scan, "{\"a\":[1]}{\"b\"", 13, false), 0);
  assert_int_equal(scan.pos, 9);
  hf_json_scan_reset(&scan, 1000);
  assert_int_equal(hf_json_scan_feed(&scan, "{\"b\":2}", 7, false), 0);
  assert_int_equal(scan.count, 3);
  hf_json_scan_deinit(&scan);
}

static void json_scan__out_of_memory_is_an_error(void **state) {
  (void)state;
  struct hf_json_options o = options();
  struct hf_json_scan scan;
  hf_alloc_fail_after(0);
  assert_int_equal(scan_whole(&scan, &o, HF_STR("[1]")), HF_ERR_NOMEM);
  hf_alloc_fail_after(-1);
  assert_int_equal(hf_json_scan_feed(&scan, "[1]", 3, true), HF_ERR_NOMEM);
  hf_json_scan_reset(&scan, 0);
  assert_int_equal(hf_json_scan_feed(&scan, "[1]", 3, true), 0);
  hf_json_scan_deinit(&scan);
}

/* What RFC 8259 leaves open. */
static const struct {
  const char *name;
  bool accept;
  const char *reason;
} decided[] = {
    {"i_number_double_huge_neg_exp", true, "numbers are forwarded as spelt, never converted"},
    {"i_number_huge_exp", true, "likewise"},
    {"i_number_neg_int_huge_exp", true, "likewise"},
    {"i_number_pos_double_huge_exp", true, "likewise"},
    {"i_number_real_neg_overflow", true, "likewise"},
    {"i_number_real_pos_overflow", true, "likewise"},
    {"i_number_real_underflow", true, "likewise"},
    {"i_number_too_big_neg_int", true, "likewise"},
    {"i_number_too_big_pos_int", true, "likewise"},
    {"i_number_very_big_negative_int", true, "likewise"},
    {"i_object_key_lone_2nd_surrogate", true, "an escape is ASCII text and forwarded byte for byte"},
    {"i_string_1st_surrogate_but_2nd_missing", true, "likewise"},
    {"i_string_1st_valid_surrogate_2nd_invalid", true, "likewise"},
    {"i_string_incomplete_surrogate_and_escape_valid", true, "likewise"},
    {"i_string_incomplete_surrogate_pair", true, "likewise"},
    {"i_string_incomplete_surrogates_escape_valid", true, "likewise"},
    {"i_string_invalid_lonely_surrogate", true, "likewise"},
    {"i_string_invalid_surrogate", true, "likewise"},
    {"i_string_inverted_surrogates_U+1D11E", true, "likewise"},
    {"i_string_lone_second_surrogate", true, "likewise"},
    {"i_string_UTF-16LE_with_BOM", false, "only UTF-8 may travel between systems (section 8.1)"},
    {"i_string_utf16BE_no_BOM", false, "likewise"},
    {"i_string_utf16LE_no_BOM", false, "likewise"},
    {"i_string_UTF-8_invalid_sequence", false, "bytes that are no UTF-8 mean different things to different readers"},
    {"i_string_UTF8_surrogate_U+D800", false, "likewise"},
    {"i_string_invalid_utf-8", false, "likewise"},
    {"i_string_iso_latin_1", false, "likewise"},
    {"i_string_lone_utf8_continuation_byte", false, "likewise"},
    {"i_string_not_in_unicode_range", false, "likewise"},
    {"i_string_overlong_sequence_2_bytes", false, "likewise"},
    {"i_string_overlong_sequence_6_bytes", false, "likewise"},
    {"i_string_overlong_sequence_6_bytes_null", false, "likewise"},
    {"i_string_truncated-utf-8", false, "likewise"},
    {"i_structure_500_nested_arrays", true, "within the default depth"},
    {"i_structure_UTF-8_BOM_empty_object", false, "a sender must not add one; the framing layers strip it"},
};

static bool wanted_verdict(const char *name) {
  if (name[0] != 'i')
    return name[0] == 'y';
  for (size_t i = 0; i < sizeof decided / sizeof decided[0]; i++)
    if (strncmp(name, decided[i].name, strlen(decided[i].name)) == 0 &&
        strcmp(name + strlen(decided[i].name), ".json") == 0)
      return decided[i].accept;
  fail_msg("%s is not decided", name);
  return false;
}

static void read_file(const char *path, struct hf_buf *buf) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char chunk[4096];
  size_t n;
  while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
    assert_int_equal(hf_buf_append(buf, chunk, n), 0);
  fclose(file);
}

static void json_scan__agrees_with_the_json_test_suite(void **state) {
  (void)state;
  const char *data = getenv("HF_TEST_DATA");
  char dir[512], path[1024];
  assert_in_range(snprintf(dir, sizeof dir, "%s/JSONTestSuite/test_parsing", data ? data : "tests/data"), 1, 511);
  DIR *d = opendir(dir);
  assert_non_null(d);
  int cases = 0;
  struct dirent *entry;
  while ((entry = readdir(d)) != NULL) {
    const char *name = entry->d_name;
    if (name[0] == '.')
      continue;
    assert_in_range(snprintf(path, sizeof path, "%s/%s", dir, name), 1, sizeof path - 1);
    struct hf_buf buf;
    hf_buf_init(&buf, 1 << 20);
    read_file(path, &buf);

    struct hf_json_options o = options();
    struct hf_json_scan whole, bytes;
    int r = scan_whole(&whole, &o, hf_buf_str(&buf));
    if ((r == 0) != wanted_verdict(name))
      fail_msg("%s: %s", name, hf_json_fault_text(whole.fault));
    assert_int_equal(scan_bytewise(&bytes, &o, hf_buf_str(&buf)), r);
    assert_same_scan(&whole, &bytes);
    hf_json_scan_deinit(&whole);
    hf_json_scan_deinit(&bytes);
    hf_buf_deinit(&buf);
    cases++;
  }
  closedir(d);
  assert_int_equal(cases, 318);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_scan__says_what_is_wrong_and_where),
      cmocka_unit_test(json_scan__finds_each_special_byte_at_each_offset),
      cmocka_unit_test(json_scan__records_the_tree_in_preorder),
      cmocka_unit_test(json_scan__keeps_deep_values_as_one_span),
      cmocka_unit_test(json_scan__expands_the_named_member_one_level_more),
      cmocka_unit_test(json_scan__limits_have_faults_of_their_own),
      cmocka_unit_test(json_scan__sequence_stops_behind_the_value),
      cmocka_unit_test(json_scan__out_of_memory_is_an_error),
      cmocka_unit_test(json_scan__agrees_with_the_json_test_suite),
  };
  return cmocka_run_group_tests_name("json_scan", tests, NULL, NULL);
}
