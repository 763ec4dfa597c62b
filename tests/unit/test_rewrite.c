#include "mcp/rewrite.h"

#include "base/alloc.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,"

static const struct hf_str absent = {NULL, 0};

static void decode(struct hf_message *m, const char *text) {
  struct hf_refusal refusal;
  if (hf_message_decode_copy(hf_str_from(text), m, &refusal) != 0)
    fail_msg("%s: %s", text, refusal.why.text);
}

static void assert_finish(struct hf_rewrite *rw, const char *expected) {
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_rewrite_finish(rw, &pieces), 0);
  struct hf_buf out;
  hf_buf_init(&out, 1 << 20);
  assert_int_equal(hf_pieces_join(&pieces, &out), 0);
  if (!hf_str_equal(hf_buf_str(&out), hf_str_from(expected)))
    fail_msg("got  %.*s\nwant %s", HF_STR_FMT(hf_buf_str(&out)), expected);
  hf_buf_deinit(&out);
  hf_pieces_deinit(&pieces);
}

static void rewrite__without_edits_changes_nothing(void **state) {
  (void)state;
  struct hf_message m;
  decode(&m, " { \"jsonrpc\" : \"2.0\" ,\"id\": -0, \"z\":1.0,\"z\":1e400,\n\"method\":\"p\\u0069ng\"}\n");
  struct hf_rewrite rw;
  hf_rewrite_begin(&rw, &m);
  assert_finish(&rw, "{ \"jsonrpc\" : \"2.0\" ,\"id\": -0, \"z\":1.0,\"z\":1e400,\n\"method\":\"p\\u0069ng\"}");
  hf_message_deinit(&m);
}

static void rewrite__splices_a_call(void **state) {
  (void)state;
  struct hf_message m;
  decode(&m,
         HEAD "\"method\":\"tools/call\",\"params\":{\"_meta\":{\"progressToken\":\"t\",\"k\":1},\"name\":\"s__a\"}}");
  struct hf_rewrite rw;
  hf_rewrite_begin(&rw, &m);
  hf_rewrite_set_name(&rw, HF_STR("a \"b\""));
  hf_rewrite_set_id(&rw, HF_STR("42"));
  hf_rewrite_set_progress_token(&rw, HF_STR("77"));
  hf_rewrite_set_meta(&rw, HF_STR("x"), HF_STR("{}"));
  hf_rewrite_set_meta(&rw, HF_STR("y"), HF_STR("[]"));
  hf_rewrite_set_meta(&rw, HF_STR("x"), HF_STR("2"));
  assert_finish(&rw, "{\"jsonrpc\":\"2.0\",\"id\":42,\"method\":\"tools/call\",\"params\":{\"_meta\":{\"x\":2,\"y\":[],"
                     "\"progressToken\":77,\"k\":1},\"name\":\"a \\\"b\\\"\"}}");
  hf_message_deinit(&m);
}

static void rewrite__makes_the_meta_that_is_missing(void **state) {
  (void)state;
  static const struct {
    const char *before;
    const char *after;
  } rows[] = {
      {HEAD "\"method\":\"ping\"}",
       "{\"params\":{\"_meta\":{\"progressToken\":5,\"b\":2}},\"jsonrpc\":\"2.0\",\"id\":1,"
       "\"method\":\"ping\"}"},
      {HEAD "\"method\":\"ping\",\"params\":{}}",
       HEAD "\"method\":\"ping\",\"params\":{\"_meta\":{\"progressToken\":5,\"b\":2}}}"},
      {HEAD "\"method\":\"ping\",\"params\":{ \"a\":1 }}",
       HEAD "\"method\":\"ping\",\"params\":{\"_meta\":{\"progressToken\":5,\"b\":2}, \"a\":1 }}"},
      {HEAD "\"method\":\"ping\",\"params\":null}",
       HEAD "\"method\":\"ping\",\"params\":{\"_meta\":{\"progressToken\":5,\"b\":2}}}"},
      {HEAD "\"method\":\"ping\",\"params\":{\"_meta\":{}}}",
       HEAD "\"method\":\"ping\",\"params\":{\"_meta\":{\"progressToken\":5,\"b\":2}}}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_message m;
    decode(&m, rows[i].before);
    struct hf_rewrite rw;
    hf_rewrite_begin(&rw, &m);
    hf_rewrite_set_progress_token(&rw, HF_STR("5"));
    hf_rewrite_set_meta(&rw, HF_STR("gone"), HF_STR("0"));
    hf_rewrite_set_meta(&rw, HF_STR("b"), HF_STR("1"));
    hf_rewrite_set_meta(&rw, HF_STR("b"), HF_STR("2"));
    hf_rewrite_remove_meta(&rw, HF_STR("gone"));
    assert_finish(&rw, rows[i].after);
    hf_message_deinit(&m);
  }
}

static void rewrite__removes_members_with_their_commas(void **state) {
  (void)state;
  static const struct {
    const char *before;
    const char *remove;
    const char *after;
  } rows[] = {
      {"{\"a\":1,\"b\":2,\"c\":3}", "a", "{\"b\":2,\"c\":3}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", "b", "{\"a\":1,\"c\":3}"},
      {"{\"a\":1,\"b\":2 , \"c\":3 }", "c", "{\"a\":1,\"b\":2 }"},
      {"{\"a\":1,\"b\":2,\"c\":3}", "ab", "{\"c\":3}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", "bc", "{\"a\":1}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", "cb", "{\"a\":1}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", "ac", "{\"b\":2}"},
      {"{\"a\":1,\"b\":2,\"c\":3}", "abc", "{}"},
      {"{ \"a\":1 }", "a", "{  }"},
      {"{\"a\":1,\"\\u0061\":2,\"b\":3}", "a", "{\"b\":3}"},
      {"{\"a\":1}", "z", "{\"a\":1}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char before[256], after[256];
    assert_in_range(snprintf(before, sizeof before, HEAD "\"method\":\"x\",\"params\":%s}", rows[i].before), 1, 255);
    assert_in_range(snprintf(after, sizeof after, HEAD "\"method\":\"x\",\"params\":%s}", rows[i].after), 1, 255);
    struct hf_message m;
    decode(&m, before);
    struct hf_rewrite rw;
    hf_rewrite_begin(&rw, &m);
    for (const char *p = rows[i].remove; *p; p++)
      hf_rewrite_remove_member(&rw, m.at[HF_FIELD_PARAMS], (struct hf_str){p, 1});
    assert_finish(&rw, after);
    hf_message_deinit(&m);
  }
}

static void rewrite__inserts_into_what_a_removal_left(void **state) {
  (void)state;
  struct hf_message m;
  decode(&m, HEAD "\"method\":\"x\",\"params\":{\"_meta\":{\"progressToken\":1},\"a\":2}}");
  struct hf_rewrite rw;
  hf_rewrite_begin(&rw, &m);
  hf_rewrite_set_progress_token(&rw, absent);
  hf_rewrite_set_meta(&rw, HF_STR("n"), HF_STR("0"));
  hf_rewrite_remove_member(&rw, m.at[HF_FIELD_PARAMS], HF_STR("a"));
  hf_rewrite_set_member(&rw, m.at[HF_FIELD_PARAMS], HF_STR("a"), HF_STR("3"));
  assert_finish(&rw, HEAD "\"method\":\"x\",\"params\":{\"_meta\":{\"n\":0},\"a\":3}}");
  hf_message_deinit(&m);
}

static void rewrite__marks_a_result(void **state) {
  (void)state;
  static const struct {
    const char *before;
    const char *after;
  } rows[] = {
      {HEAD "\"result\":{\"content\":[{\"type\":\"x\"}]}}",
       HEAD "\"result\":{\"_meta\":{\"o\":1},\"content\":[{\"type\":\"x\"}]}}"},
      {HEAD "\"result\":{\"content\":[ ],\"_meta\":{\"s\":2}}}",
       HEAD "\"result\":{\"content\":[ ],\"_meta\":{\"o\":1,\"s\":2}}}"},
      {HEAD "\"result\":{ }}", HEAD "\"result\":{\"_meta\":{\"o\":1} }}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_message m;
    decode(&m, rows[i].before);
    struct hf_rewrite rw;
    hf_rewrite_begin(&rw, &m);
    hf_rewrite_set_meta(&rw, HF_STR("o"), HF_STR("1"));
    assert_finish(&rw, rows[i].after);
    hf_message_deinit(&m);
  }
}

static void rewrite__progress_token_of_a_notification_is_in_params(void **state) {
  (void)state;
  struct hf_message m;
  decode(&m,
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":9,\"progress\":1}}");
  struct hf_rewrite rw;
  hf_rewrite_begin(&rw, &m);
  hf_rewrite_set_progress_token(&rw, HF_STR("\"client\""));
  assert_finish(&rw,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"client\","
                "\"progress\":1}}");
  hf_message_deinit(&m);
}

static void rewrite__refers_to_long_runs_instead_of_copying(void **state) {
  (void)state;
  struct hf_buf text;
  hf_buf_init(&text, 1 << 20);
  assert_int_equal(hf_buf_printf(&text, HEAD "\"result\":{\"content\":[\""), 0);
  for (int i = 0; i < 10000; i++)
    assert_int_equal(hf_buf_append(&text, "QUJD", 4), 0);
  assert_int_equal(hf_buf_printf(&text, "\"]}}"), 0);
  struct hf_message m;
  struct hf_refusal refusal;
  const char *data = text.data;
  assert_int_equal(hf_message_decode(&text, &m, &refusal), 0);
  struct hf_rewrite rw;
  hf_rewrite_begin(&rw, &m);
  hf_rewrite_set_id(&rw, HF_STR("\"other\""));
  hf_rewrite_set_meta(&rw, HF_STR("o"), HF_STR("1"));
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_rewrite_finish(&rw, &pieces), 0);
  assert_int_equal(pieces.count, 2);
  assert_true(pieces.piece[1].bytes.ptr > data && pieces.piece[1].bytes.ptr < data + 60);
  assert_in_range(pieces.piece[1].bytes.len, 40000, 40060);
  hf_pieces_deinit(&pieces);
  hf_message_deinit(&m);
}

static void rewrite__reports_edits_that_do_not_fit(void **state) {
  (void)state;
  struct hf_message m;
  struct hf_rewrite rw;
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  decode(&m, HEAD "\"error\":{\"code\":1}}");
  hf_rewrite_begin(&rw, &m);
  hf_rewrite_set_meta(&rw, HF_STR("o"), HF_STR("1"));
  assert_int_equal(hf_rewrite_finish(&rw, &pieces), HF_ERR_INVALID);
  hf_rewrite_begin(&rw, &m);
  hf_rewrite_set_name(&rw, HF_STR("n"));
  assert_int_equal(hf_rewrite_finish(&rw, &pieces), HF_ERR_INVALID);
  hf_rewrite_begin(&rw, &m);
  for (int i = 0; i <= HF_REWRITE_EDITS_MAX; i++) {
    char key = (char)('A' + i);
    hf_rewrite_set_member(&rw, 0, (struct hf_str){&key, 1}, HF_STR("1"));
  }
  assert_int_equal(hf_rewrite_finish(&rw, &pieces), HF_ERR_LIMIT);
  hf_message_deinit(&m);

  decode(&m, HEAD "\"method\":\"x\",\"params\":{\"_meta\":{\"a\":1}}}");
  hf_rewrite_begin(&rw, &m);
  hf_rewrite_replace(&rw, m.at[HF_FIELD_PARAMS], HF_STR("{}"));
  hf_rewrite_set_meta(&rw, HF_STR("a"), HF_STR("2"));
  assert_int_equal(hf_rewrite_finish(&rw, &pieces), HF_ERR_INVALID);
  assert_int_equal(pieces.count, 0);
  hf_message_deinit(&m);
}

static void rewrite__survives_each_failing_allocation(void **state) {
  (void)state;
  struct hf_message m;
  decode(&m, HEAD "\"result\":{}}");
  char long_text[2000];
  memset(long_text, 'a', sizeof long_text);
  long_text[0] = long_text[sizeof long_text - 1] = '"';
  int failures = 0;
  for (long n = 0;; n++) {
    struct hf_rewrite rw;
    struct hf_pieces pieces;
    hf_pieces_init(&pieces);
    hf_alloc_fail_after(n);
    hf_rewrite_begin(&rw, &m);
    hf_rewrite_set_member(&rw, m.at[HF_FIELD_RESULT], HF_STR("k"), HF_STR("{}"));
    hf_rewrite_set_meta(&rw, HF_STR("o"), (struct hf_str){long_text, sizeof long_text});
    int r = hf_rewrite_finish(&rw, &pieces);
    hf_alloc_fail_after(-1);
    hf_pieces_deinit(&pieces);
    if (r == 0)
      break;
    assert_int_equal(r, HF_ERR_NOMEM);
    failures++;
  }
  assert_true(failures >= 4);
  hf_message_deinit(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewrite__without_edits_changes_nothing),
      cmocka_unit_test(rewrite__splices_a_call),
      cmocka_unit_test(rewrite__makes_the_meta_that_is_missing),
      cmocka_unit_test(rewrite__removes_members_with_their_commas),
      cmocka_unit_test(rewrite__inserts_into_what_a_removal_left),
      cmocka_unit_test(rewrite__marks_a_result),
      cmocka_unit_test(rewrite__progress_token_of_a_notification_is_in_params),
      cmocka_unit_test(rewrite__refers_to_long_runs_instead_of_copying),
      cmocka_unit_test(rewrite__reports_edits_that_do_not_fit),
      cmocka_unit_test(rewrite__survives_each_failing_allocation),
  };
  return cmocka_run_group_tests_name("rewrite", tests, NULL, NULL);
}
