#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "cli/dlq.h"
#include "policy/classify.h"

enum { TEXT_MAX = 1 << 20 };

static struct hf_letter sample(void) {
  struct hf_letter letter = {
      .id = HF_STR("d-1"),
      .call = HF_STR("c-1"),
      .principal = HF_STR("al\"ice"),
      .tool = HF_STR("shop__charge"),
      .providers = HF_STR("shop, backup"),
      .reason = HF_STR("timed_out"),
      .end = HF_STR("attempts"),
      .executed = HF_STR("maybe"),
      .arguments = HF_STR("{\"n\": 1.50, \"token\":\"canary\", \"card\":{\"pin\":\"canary\"}}"),
      .attempts = HF_STR("[{\"at\":1}]"),
      .key = HF_STR("k"),
      .result = HF_STR("{\"secret\":\"canary\"}"),
      .history = HF_STR("[{\"atMs\":1,\"patch\":{\"card\":{\"pin\":\"canary\"}}}]"),
      .priority = 2,
      .first_ms = 1,
      .last_ms = 2,
      .count = 3,
      .replays = 4,
      .status = HF_LETTER_QUARANTINED,
      .redacted = false,
  };
  letter.fingerprint.byte[0] = 0xab;
  letter.fingerprint.byte[31] = 0x01;
  return letter;
}

static void write(const struct hf_letter *letter, const struct hf_letter_view *view, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_buf_init(out, TEXT_MAX);
  hf_json_writer_init(&w, out);
  hf_letter_json_write(&w, letter, view);
  assert_int_equal(hf_json_write_finish(&w), 0);
  assert_int_equal(hf_buf_append(out, "", 1), 0);
  out->len--;
}

struct reading {
  struct hf_json_scan scan;
  struct hf_arena arena;
  struct hf_letter letter;
  struct hf_error error;
};

static int read_letter(struct reading *r, struct hf_str text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  *r = (struct reading){.error = {0}};
  hf_json_scan_init(&r->scan, &options);
  hf_arena_init(&r->arena, TEXT_MAX);
  assert_int_equal(hf_json_scan_feed(&r->scan, text.ptr, text.len, true), 0);
  const struct hf_json_doc doc = hf_json_doc(text.ptr, &r->scan);
  return hf_letter_json_read(&doc, &r->arena, &r->letter, &r->error);
}

static void end_reading(struct reading *r) {
  hf_arena_deinit(&r->arena);
  hf_json_scan_deinit(&r->scan);
}

#define SAME_TEXT(member) assert_true(hf_str_equal(r.letter.member, letter.member))

static void letter_json__what_is_written_whole_is_read_back_the_same(void **state) {
  (void)state;
  const struct hf_letter letter = sample();
  const struct hf_letter_view view = {.whole = true, .secrets_shown = true};
  struct hf_buf text;
  struct reading r;
  write(&letter, &view, &text);
  assert_int_equal(read_letter(&r, hf_buf_str(&text)), 0);
  SAME_TEXT(id);
  SAME_TEXT(call);
  SAME_TEXT(principal);
  SAME_TEXT(tool);
  SAME_TEXT(providers);
  SAME_TEXT(reason);
  SAME_TEXT(end);
  SAME_TEXT(executed);
  SAME_TEXT(arguments); /* byte for byte */
  SAME_TEXT(attempts);
  SAME_TEXT(key);
  SAME_TEXT(result);
  SAME_TEXT(history);
  assert_null(r.letter.route.ptr);
  assert_null(r.letter.trace_id.ptr);
  assert_memory_equal(&r.letter.fingerprint, &letter.fingerprint, sizeof letter.fingerprint);
  assert_int_equal(r.letter.priority, 2);
  assert_int_equal(r.letter.first_ms, 1);
  assert_int_equal(r.letter.last_ms, 2);
  assert_int_equal(r.letter.count, 3);
  assert_int_equal(r.letter.replays, 4);
  assert_int_equal(r.letter.status, HF_LETTER_QUARANTINED);
  assert_false(r.letter.redacted);
  end_reading(&r);
  hf_buf_deinit(&text);
}

static void letter_json__shows_no_secret_unless_it_is_asked_to(void **state) {
  (void)state;
  const struct hf_letter letter = sample();
  struct hf_str pointer[] = {HF_STR("/card/pin")};
  const struct hf_strings secrets = {pointer, 1};
  const struct hf_letter_view view = {.whole = true, .secrets = &secrets};
  struct hf_buf text;
  struct reading r;
  write(&letter, &view, &text);
  assert_null(strstr(text.data, "canary"));
  assert_non_null(strstr(text.data, "{\"n\": 1.50, \"token\":\"[redacted]\", \"card\":{\"pin\":\"[redacted]\"}}"));
  assert_non_null(strstr(text.data, "\"patch\":{\"card\":{\"pin\":\"[redacted]\"}}"));
  assert_int_equal(read_letter(&r, hf_buf_str(&text)), 0);
  assert_true(r.letter.redacted); /* nobody may replay it as it is */
  end_reading(&r);
  hf_buf_deinit(&text);
}

static void letter_json__what_cannot_be_read_is_hidden_whole(void **state) {
  (void)state;
  struct hf_letter letter = sample();
  letter.arguments = HF_STR("{\"broken\": canary");
  const struct hf_letter_view view = {.whole = true};
  struct hf_buf text;
  write(&letter, &view, &text);
  assert_non_null(strstr(text.data, "\"arguments\":\"[redacted]\""));
  assert_null(strstr(text.data, "broken"));
  hf_buf_deinit(&text);
}

static void letter_json__a_line_of_a_list_has_no_arguments(void **state) {
  (void)state;
  const struct hf_letter letter = sample();
  const struct hf_letter_view view = {.whole = false};
  struct hf_buf text;
  write(&letter, &view, &text);
  assert_non_null(strstr(text.data, "\"status\":\"quarantined\""));
  assert_non_null(strstr(text.data, "\"fingerprint\":\"ab00"));
  static const char *const large[] = {"\"arguments\"", "\"attempts\":", "\"result\"", "\"history\"", "canary"};
  for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
    assert_null(strstr(text.data, large[i]));
  hf_buf_deinit(&text);
}

/* Whichever allocation fails, a letter is written and read as it is, or not at all: never with a secret. */
static void letter_json__every_allocation_may_fail(void **state) {
  (void)state;
  const struct hf_letter letter = sample();
  struct hf_str pointer[] = {HF_STR("/card/pin")};
  const struct hf_strings secrets = {pointer, 1};
  const struct hf_letter_view view = {.whole = true, .secrets = &secrets};
  bool done = false;
  for (long n = 0; !done; n++) {
    struct hf_buf text;
    struct hf_json_writer w;
    hf_buf_init(&text, TEXT_MAX);
    hf_json_writer_init(&w, &text);
    unsigned long before = hf_alloc_count();
    hf_alloc_fail_after(n);
    hf_letter_json_write(&w, &letter, &view);
    hf_alloc_fail_after(-1);
    done = hf_alloc_count() - before <= (unsigned long)n;
    if (hf_json_write_finish(&w) == 0)
      assert_null(memmem(text.data, text.len, "canary", 6));
    else
      assert_false(done);
    hf_buf_deinit(&text);
  }
}

static void advice__there_is_some_for_every_class(void **state) {
  (void)state;
  const char *const none = hf_dlq_advice(HF_STR("no such class"));
  for (enum hf_fault fault = HF_FAULT_NONE + 1; fault < HF_FAULT_COUNT; fault++) {
    const struct hf_str name = hf_str_from(hf_fault_name(fault));
    assert_true(hf_dlq_class_known(name));
    assert_string_not_equal(hf_dlq_advice(name), none);
  }
  assert_string_not_equal(hf_dlq_advice(HF_STR("gateway_died")), none);
  assert_true(hf_dlq_class_known(HF_STR("gateway_died")));
  assert_false(hf_dlq_class_known(HF_STR("none")));
  assert_false(hf_dlq_class_known(HF_STR("no such class")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(letter_json__what_is_written_whole_is_read_back_the_same),
      cmocka_unit_test(letter_json__shows_no_secret_unless_it_is_asked_to),
      cmocka_unit_test(letter_json__what_cannot_be_read_is_hidden_whole),
      cmocka_unit_test(letter_json__a_line_of_a_list_has_no_arguments),
      cmocka_unit_test(letter_json__every_allocation_may_fail),
      cmocka_unit_test(advice__there_is_some_for_every_class),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
