#include "gateway/correct/correct_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHORT(text)                                                                                                    \
  { text, sizeof(text) - 1 }

static const struct hf_correction_try first = {
    .at_ms = 7, .reason = SHORT("/q: must be\na string"), .times = 2, .call = SHORT("find {\"q\":1}")};
static const struct hf_correction_try second = {
    .at_ms = 8, .reason = SHORT("/n: must be there"), .times = 1, .call = SHORT("find {}"), .secret = true};
static const struct hf_correction_try third = {.at_ms = 9, .reason = SHORT("/q: is too long"), .times = 1};

static const struct hf_correct_words words = {
    .kind = HF_CORRECTION_ARGUMENTS, .name = SHORT("find"), .max = 4, .text = SHORT("It doesn't fit.")};

static void assert_text(const struct hf_correct_words *what, const struct hf_correction_view *view,
                        const char *expected) {
  struct hf_buf out;
  hf_buf_init(&out, 1 << 14);
  assert_int_equal(hf_correct_text(what, view, &out), 0);
  assert_int_equal(hf_buf_append(&out, "", 1), 0);
  assert_string_equal(out.data, expected);
  hf_buf_deinit(&out);
}

static void correct_text__a_first_try_is_told_what_is_wrong_and_no_more(void **state) {
  (void)state;
  const struct hf_correction_view view = {.count = 1, .tries = {&first}, .try_count = 1};
  assert_text(&words, &view, "It doesn't fit.\nCorrect the arguments and call it again.");
  struct hf_correct_words name = words;
  name.kind = HF_CORRECTION_NAME;
  assert_text(&name, &view, "It doesn't fit.");
}

static void correct_text__the_next_is_told_what_was_tried(void **state) {
  (void)state;
  const struct hf_correction_view view = {.count = 4, .tries = {&first, &second, &third}, .try_count = 3};
  assert_text(&words, &view,
              "It doesn't fit.\n\nTried before, without success:\n1. /q: must be a string (2 times)\n"
              "2. /n: must be there\nCorrect the arguments and call it again.");
}

static void correct_text__who_repeats_itself_is_told_another_way(void **state) {
  (void)state;
  struct hf_correction_view view = {
      .count = 2, .anchored = true, .same_arguments = true, .same_error = true, .tries = {&first}, .try_count = 1};
  struct hf_correct_words what = words;
  what.has_example = true;
  what.others = HF_STR("\"a\", \"b\"");
  assert_text(&what, &view,
              "You sent these very arguments before. They were refused, and will be each time. This was try 2 of 4.\n"
              "Take another way:\n- Read the task again: the value that is wanted may be another one than the one you "
              "think of. If the task doesn't say it, ask the user; don't make it up.\n- Begin with the least that fits "
              "(below), and change nothing but its values.\n- Perhaps it is another tool that you want: the arguments "
              "that you gave fit \"a\", \"b\".\n\nIt doesn't fit.\nCorrect the arguments and call it again.");
  view.same_arguments = false;
  what.has_example = false;
  what.others = (struct hf_str){NULL, 0};
  what.max = 0;
  assert_text(&what, &view,
              "You changed the arguments, but the same is wrong with them as before: the change did not touch it. This "
              "was try 2.\nTake another way:\n- Read the task again: the value that is wanted may be another one than "
              "the one you think of. If the task doesn't say it, ask the user; don't make it up.\n- Leave out whatever "
              "is not required, and begin with the least that can fit.\n\nIt doesn't fit.\nCorrect the arguments and "
              "call it again.");
  what.kind = HF_CORRECTION_NAME;
  what.name = HF_STR("fi\nnd");
  what.max = 3;
  assert_text(
      &what, &view,
      "You called \"fi\\nnd\" before: it was not there, and calling it again doesn't make it. This was try 2 of "
      "3.\nTake another way:\n- Read the list of tools, and call one of those by its exact name.\n- If none of "
      "them does what you want, do without, or ask the user.\n\nIt doesn't fit.");
}

static void correct_text__in_the_end_it_is_to_stop_and_ask(void **state) {
  (void)state;
  struct hf_correction_view view = {
      .count = 3, .anchored = true, .exhausted = true, .tries = {&first, &second}, .try_count = 2};
  assert_text(
      &words, &view,
      "Stop: 3 calls of \"find\" had arguments that don't fit it, and none was sent. Don't call it again for this. "
      "Tell the user what you wanted to do and what stands in the way (below), and ask how to go on.\n\nIt "
      "doesn't fit.\n\nTried before, without success:\n1. /q: must be a string (2 times)\n");
  struct hf_correct_words name = words;
  name.kind = HF_CORRECTION_NAME;
  view = (struct hf_correction_view){.count = 1, .exhausted = true, .tries = {&first}, .try_count = 1};
  assert_text(
      &name, &view,
      "Stop: you have called 1 time what there is not. Don't guess names any more. Tell the user what you wanted "
      "to do and what stands in the way (below), and ask how to go on.\n\nIt doesn't fit.");
}

static void correct_text__steps_of_a_letter(void **state) {
  (void)state;
  const struct hf_correction_view view = {.count = 3, .tries = {&first, &second}, .try_count = 2};
  struct hf_buf out;
  struct hf_json_writer w;
  hf_buf_init(&out, 4096);
  hf_json_writer_init(&w, &out);
  hf_correct_steps(&view, &w);
  assert_int_equal(hf_json_write_finish(&w), 0);
  assert_int_equal(hf_buf_append(&out, "", 1), 0);
  assert_string_equal(
      out.data, "[{\"atMs\":7,\"what\":\"refused_try\",\"times\":2,\"why\":\"refused, 2 times: find {\\\"q\\\":1} | "
                "/q: must be a string\"},{\"atMs\":8,\"what\":\"refused_try\",\"times\":1,\"why\":\"refused: find "
                "{} | (what is wrong is not kept: it could quote a secret)\"}]");
  hf_buf_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(correct_text__a_first_try_is_told_what_is_wrong_and_no_more),
      cmocka_unit_test(correct_text__the_next_is_told_what_was_tried),
      cmocka_unit_test(correct_text__who_repeats_itself_is_told_another_way),
      cmocka_unit_test(correct_text__in_the_end_it_is_to_stop_and_ask),
      cmocka_unit_test(correct_text__steps_of_a_letter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
