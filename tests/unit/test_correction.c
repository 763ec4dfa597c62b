#include "gateway/correct/correction.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct hf_correction_options options = {.max = 3, .ttl = HF_SECONDS(600)};

static const struct hf_correction_place alice = {
    .kind = HF_CORRECTION_ARGUMENTS, .principal = {"alice", 5}, .session = 7, .tool = {"search", 6}};

static struct hf_correction_view note(struct hf_corrections *c, const struct hf_correction_place *place,
                                      uint64_t arguments, uint64_t error, hf_time now) {
  const struct hf_correction_try what = {.arguments = arguments,
                                         .error = error,
                                         .at_ms = now / HF_MS(1),
                                         .reason = HF_STR("/q: must be a string"),
                                         .call = HF_STR("{\"q\":1}")};
  struct hf_correction_view view;
  hf_corrections_note(c, place, &what, &options, now, &view);
  return view;
}

static unsigned close_loop(struct hf_corrections *c, const struct hf_correction_place *place, hf_time now) {
  bool anchored;
  return hf_corrections_close(c, place, now, &anchored);
}

static void correction__a_loop_ends_after_as_many_tries_as_there_may_be(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  struct hf_correction_view view = note(&c, &alice, 1, 1, 0);
  assert_int_equal(view.count, 1);
  assert_false(view.anchored || view.exhausted || view.ends);
  view = note(&c, &alice, 2, 2, 0);
  assert_int_equal(view.count, 2);
  assert_false(view.anchored || view.exhausted || view.ends);
  view = note(&c, &alice, 3, 3, 0);
  assert_true(view.exhausted && view.ends);
  view = note(&c, &alice, 4, 4, 0);
  assert_true(view.exhausted);
  assert_false(view.ends); /* it is said once */
  assert_int_equal(c.counts[HF_CORRECTION_ARGUMENTS][HF_CORRECTION_END_FAILED], 4);
  assert_int_equal(c.counts[HF_CORRECTION_ARGUMENTS][HF_CORRECTION_END_EXHAUSTED], 1);
  assert_int_equal(c.counts[HF_CORRECTION_ARGUMENTS][HF_CORRECTION_END_ANCHORED], 0);
  hf_corrections_deinit(&c);
  assert_int_equal(c.bytes, 0);
}

static void correction__the_same_arguments_or_the_same_error_again_is_anchored(void **state) {
  (void)state;
  static const struct {
    uint64_t arguments, error;
    bool same_arguments, same_error;
  } rows[] = {{1, 9, true, false}, {5, 1, false, true}, {1, 1, true, true}, {5, 5, false, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_corrections c;
    hf_corrections_init(&c);
    note(&c, &alice, 1, 1, 0);
    struct hf_correction_view view = note(&c, &alice, rows[i].arguments, rows[i].error, 0);
    assert_int_equal(view.same_arguments, rows[i].same_arguments);
    assert_int_equal(view.same_error, rows[i].same_error);
    assert_int_equal(view.anchored, rows[i].same_arguments || rows[i].same_error);
    assert_int_equal(view.times, rows[i].same_arguments && rows[i].same_error ? 2 : 1);
    assert_int_equal(c.counts[HF_CORRECTION_ARGUMENTS][HF_CORRECTION_END_ANCHORED], view.anchored);
    hf_corrections_deinit(&c);
  }
}

static void correction__the_tools_own_errors_are_enough_only_for_one_and_the_same_call(void **state) {
  (void)state;
  struct hf_corrections c;
  struct hf_correction_place place = alice;
  place.kind = HF_CORRECTION_ERROR;
  hf_corrections_init(&c);
  for (uint64_t i = 1; i <= 5; i++) {
    struct hf_correction_view other = note(&c, &place, i, 1, 0);
    assert_false(other.anchored || other.exhausted);
  }
  assert_true(note(&c, &place, 5, 1, 0).anchored);
  struct hf_correction_view view = note(&c, &place, 5, 1, 0);
  assert_true(view.exhausted && view.ends);
  assert_int_equal(view.times, 3);
  assert_false(note(&c, &place, 6, 1, 0).exhausted);
  hf_corrections_deinit(&c);
}

static void correction__history_is_the_newest_tries_each_once(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  for (uint64_t i = 1; i <= HF_CORRECTION_TRIES_MAX + 2; i++)
    note(&c, &alice, i, i, HF_MS(1) * (hf_time)i);
  struct hf_correction_view view = note(&c, &alice, 5, 5, HF_MS(99));
  assert_int_equal(view.count, HF_CORRECTION_TRIES_MAX + 3);
  assert_int_equal(view.try_count, HF_CORRECTION_TRIES_MAX);
  assert_int_equal(view.tries[0]->arguments, 3); /* 1 and 2 made room */
  const struct hf_correction_try *last = view.tries[view.try_count - 1];
  assert_int_equal(last->arguments, 5);
  assert_int_equal(last->times, 2);
  assert_int_equal(last->at_ms, 99);
  assert_int_equal(view.tries[2]->arguments, 6);
  hf_corrections_deinit(&c);
  assert_int_equal(c.bytes, 0);
}

static void correction__loops_are_each_callers_tools_and_kinds_own(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  note(&c, &alice, 1, 1, 0);
  struct hf_correction_place others[] = {alice, alice, alice, alice};
  others[0].principal = HF_STR("bob");
  others[1].session = 8;
  others[2].tool = HF_STR("fetch");
  others[3].kind = HF_CORRECTION_RESULT;
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(note(&c, &others[i], 1, 1, 0).count, 1);
  /* "alice" + "search" is not "alices" + "earch" */
  const struct hf_correction_place shifted = {
      .kind = HF_CORRECTION_ARGUMENTS, .principal = {"alices", 6}, .session = 7, .tool = {"earch", 5}};
  assert_int_equal(note(&c, &shifted, 1, 1, 0).count, 1);
  assert_int_equal(note(&c, &alice, 1, 1, 0).count, 2);
  hf_corrections_deinit(&c);
}

static void correction__a_success_closes_the_loop_and_counts(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  assert_int_equal(close_loop(&c, &alice, 0), 0);
  note(&c, &alice, 1, 1, 0);
  note(&c, &alice, 2, 2, 0);
  assert_int_equal(close_loop(&c, &alice, 0), 2);
  assert_int_equal(close_loop(&c, &alice, 0), 0);
  assert_int_equal(c.counts[HF_CORRECTION_ARGUMENTS][HF_CORRECTION_END_CORRECTED], 1);
  assert_int_equal(c.bytes, 0);
  assert_int_equal(note(&c, &alice, 1, 1, 0).count, 1);
  bool anchored;
  assert_int_equal(hf_corrections_close(&c, &alice, 0, &anchored), 1);
  assert_false(anchored);
  note(&c, &alice, 1, 1, 0);
  note(&c, &alice, 1, 1, 0);
  note(&c, &alice, 2, 2, 0);
  assert_int_equal(hf_corrections_close(&c, &alice, 0, &anchored), 3);
  assert_true(anchored);
  hf_corrections_deinit(&c);
}

static void correction__a_loop_that_is_left_alone_expires(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  note(&c, &alice, 1, 1, 0);
  assert_int_equal(note(&c, &alice, 1, 1, options.ttl - 1).count, 2); /* each try begins its time anew */
  assert_int_equal(note(&c, &alice, 1, 1, 2 * options.ttl - 2).count, 3);
  assert_int_equal(note(&c, &alice, 1, 1, 3 * options.ttl - 2).count, 1);
  assert_int_equal(c.counts[HF_CORRECTION_ARGUMENTS][HF_CORRECTION_END_ABANDONED], 0); /* it had been told to stop */
  assert_int_equal(close_loop(&c, &alice, 4 * options.ttl), 0);
  assert_int_equal(c.counts[HF_CORRECTION_ARGUMENTS][HF_CORRECTION_END_ABANDONED], 1);
  assert_int_equal(c.loops.len, 0);
  assert_int_equal(c.bytes, 0);
  hf_corrections_deinit(&c);
}

static struct hf_correction_place numbered(char name[16], unsigned i) {
  struct hf_correction_place place = alice;
  int n = snprintf(name, 16, "tool%u", i);
  place.tool = (struct hf_str){name, (size_t)n};
  return place;
}

static void correction__loops_are_bounded_in_number(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  char name[16];
  for (unsigned i = 0; i < HF_CORRECTIONS_MAX; i++) {
    struct hf_correction_place place = numbered(name, i);
    note(&c, &place, 1, 1, 0);
  }
  struct hf_correction_place first = numbered(name, 0);
  assert_int_equal(note(&c, &first, 1, 1, 1).count, 2); /* used last, so that another one goes */
  struct hf_correction_place more = numbered(name, HF_CORRECTIONS_MAX);
  note(&c, &more, 1, 1, 2);
  assert_int_equal(c.loops.len, HF_CORRECTIONS_MAX);
  first = numbered(name, 0);
  assert_int_equal(note(&c, &first, 1, 1, 3).count, 3);
  struct hf_correction_place second = numbered(name, 1);
  assert_int_equal(close_loop(&c, &second, 3), 0);
  assert_int_equal(c.counts[HF_CORRECTION_ARGUMENTS][HF_CORRECTION_END_ABANDONED], 1);
  hf_corrections_deinit(&c);
  assert_int_equal(c.bytes, 0);
}

static void correction__loops_are_bounded_in_bytes(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  char name[16], text[2000];
  memset(text, 'x', sizeof text);
  size_t most = 0;
  for (unsigned i = 0; i < HF_CORRECTIONS_MAX * HF_CORRECTION_TRIES_MAX; i++) {
    struct hf_correction_place place = numbered(name, i / HF_CORRECTION_TRIES_MAX);
    const struct hf_correction_try what = {
        .arguments = i, .error = i, .reason = {text, sizeof text}, .call = {text, sizeof text}};
    struct hf_correction_view view;
    hf_corrections_note(&c, &place, &what, &options, 0, &view);
    assert_true(c.bytes <= HF_CORRECTIONS_BYTES_MAX);
    most = c.bytes > most ? c.bytes : most;
  }
  assert_true(most > HF_CORRECTIONS_BYTES_MAX / 10 * 9);
  assert_true(c.loops.len < HF_CORRECTIONS_MAX);
  hf_corrections_deinit(&c);
  assert_int_equal(c.bytes, 0);
}

static void correction__texts_are_cut_at_a_character(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  char text[HF_CORRECTION_CALL_MAX * 2 + 1] = "x";
  for (size_t i = 1; i < sizeof text; i += 2)
    memcpy(text + i, "ä", 2);
  const struct hf_correction_try what = {.reason = {text, sizeof text}, .call = {text, sizeof text}};
  struct hf_correction_view view;
  hf_corrections_note(&c, &alice, &what, &options, 0, &view);
  assert_int_equal(view.tries[0]->reason.len, HF_CORRECTION_REASON_MAX - 1);
  assert_int_equal(view.tries[0]->call.len, HF_CORRECTION_CALL_MAX - 1);
  assert_memory_equal(view.tries[0]->call.ptr, text, HF_CORRECTION_CALL_MAX - 1);
  hf_corrections_deinit(&c);
}

static void correction__no_memory_forgets_and_nothing_else(void **state) {
  (void)state;
  bool failed = true;
  for (long n = 0; failed; n++) {
    struct hf_corrections c;
    hf_corrections_init(&c);
    unsigned long before = hf_alloc_count();
    hf_alloc_fail_after(n);
    struct hf_correction_view view = note(&c, &alice, 1, 1, 0);
    failed = hf_alloc_count() - before > (unsigned long)n;
    hf_alloc_fail_after(-1);
    assert_int_equal(view.count, 1);
    assert_false(view.exhausted);
    view = note(&c, &alice, 1, 1, 0);
    assert_int_equal(view.count, c.loops.len ? view.count : 1);
    hf_corrections_deinit(&c);
    assert_int_equal(c.bytes, 0);
    assert_true(n < 100);
  }
}

static void correction__may_have_no_end(void **state) {
  (void)state;
  struct hf_corrections c;
  hf_corrections_init(&c);
  const struct hf_correction_options endless = {.ttl = HF_SECONDS(1)};
  struct hf_correction_view view = {0};
  for (int i = 0; i < 50; i++) {
    const struct hf_correction_try what = {.arguments = 1, .error = 1};
    hf_corrections_note(&c, &alice, &what, &endless, 0, &view);
    assert_false(view.exhausted || view.ends);
  }
  assert_int_equal(view.count, 50);
  hf_corrections_deinit(&c);
}

static void correction__kinds_and_ends_have_names(void **state) {
  (void)state;
  assert_string_equal(hf_correction_kind_name(HF_CORRECTION_RESULT), "result");
  assert_string_equal(hf_correction_end_name(HF_CORRECTION_END_ABANDONED), "abandoned");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(correction__a_loop_ends_after_as_many_tries_as_there_may_be),
      cmocka_unit_test(correction__the_same_arguments_or_the_same_error_again_is_anchored),
      cmocka_unit_test(correction__the_tools_own_errors_are_enough_only_for_one_and_the_same_call),
      cmocka_unit_test(correction__history_is_the_newest_tries_each_once),
      cmocka_unit_test(correction__loops_are_each_callers_tools_and_kinds_own),
      cmocka_unit_test(correction__a_success_closes_the_loop_and_counts),
      cmocka_unit_test(correction__a_loop_that_is_left_alone_expires),
      cmocka_unit_test(correction__loops_are_bounded_in_number),
      cmocka_unit_test(correction__loops_are_bounded_in_bytes),
      cmocka_unit_test(correction__texts_are_cut_at_a_character),
      cmocka_unit_test(correction__no_memory_forgets_and_nothing_else),
      cmocka_unit_test(correction__may_have_no_end),
      cmocka_unit_test(correction__kinds_and_ends_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
