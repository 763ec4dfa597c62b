#include "gateway/observe/tally.h"

#include "base/alloc.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAKEN_MAX = 1 << 20 };

static const int64_t hour_ms = 60LL * 60 * 1000;

/* A store that takes counts, or refuses them. */
struct store {
  struct hf_store head;
  int error;
  unsigned asked;
  char taken[TAKEN_MAX]; /* the newest */
};

static int take(struct hf_store *head, struct hf_str rows) {
  struct store *store = HF_CONTAINER_OF(head, struct store, head);
  store->asked++;
  if (store->error)
    return store->error;
  assert_true(rows.len < sizeof store->taken);
  memcpy(store->taken, rows.ptr, rows.len);
  store->taken[rows.len] = '\0';
  return 0;
}

struct world {
  struct hf_loop loop;
  struct store store;
  struct hf_tally tally;
};

static int set_up(void **state) {
  static const struct hf_store_ops ops = {.tally = take};
  struct world *world = calloc(1, sizeof *world);
  hf_loop_init(&world->loop, 1, NULL);
  hf_loop_run(&world->loop, HF_SECONDS(1), 7 * hour_ms);
  world->store.head.ops = &ops;
  assert_int_equal(hf_tally_init(&world->tally, &world->loop), 0);
  world->tally.store = &world->store.head;
  *state = world;
  return 0;
}

static int tear_down(void **state) {
  struct world *world = *state;
  hf_tally_deinit(&world->tally);
  hf_loop_deinit(&world->loop);
  free(world);
  return 0;
}

static struct hf_outcome good(unsigned attempts) {
  return (struct hf_outcome){.attempts = attempts, .elapsed = HF_MS(200), .executed = HF_EXECUTED_YES};
}

static struct hf_outcome bad(enum hf_fault fault) {
  return (struct hf_outcome){
      .end = HF_CALL_END_ATTEMPTS, .fault = fault, .attempts = 1, .elapsed = HF_MS(3), .executed = HF_EXECUTED_MAYBE};
}

static void count(struct world *world, struct hf_tally_call call, struct hf_outcome outcome,
                  struct hf_tally_notes notes) {
  if (!call.server.ptr)
    call.server = HF_STR("s");
  if (!call.tool.ptr)
    call.tool = HF_STR("t");
  call.outcome = &outcome;
  call.notes = &notes;
  hf_tally_count(&world->tally, &call);
}

#define CALL(...) ((struct hf_tally_call){__VA_ARGS__})
#define NOTES(...) ((struct hf_tally_notes){__VA_ARGS__})

static const char *flushed(struct world *world) {
  hf_tally_flush(&world->tally);
  return world->store.taken;
}

static void tally__each_good_call_is_one_of_its_kinds(void **state) {
  struct world *world = *state;
  struct hf_outcome cached = good(0);
  cached.source = HF_SOURCE_CACHE;
  struct hf_outcome elsewhere = good(2);
  elsewhere.provider = 1;
  const struct hf_repairs repairs = {.item = {{.kind = HF_REPAIR_NUMBER}, {.kind = HF_REPAIR_NUMBER}}, .count = 2};
  count(world, CALL(0), good(1), NOTES(0));
  count(world, CALL(0), good(2), NOTES(0)); /* hedged: nothing went wrong */
  count(world, CALL(.first_fault = HF_FAULT_TIMED_OUT, .arguments_tokens = 10), good(3), NOTES(0));
  count(world, CALL(.first_fault = HF_FAULT_BROKE), elsewhere, NOTES(0));
  count(world, CALL(.repairs = &repairs), good(1), NOTES(0));
  count(world, CALL(.renamed = true), good(1), NOTES(.tried = HF_CORRECTION_MODEL, .corrected = HF_CORRECTION_MODEL));
  count(world, CALL(0), cached, NOTES(0));
  count(world, CALL(.shared = true), good(0), NOTES(0));
  assert_string_equal(flushed(world),
                      "[{\"hour\":7,\"server\":\"s\",\"tool\":\"t\",\"counts\":{\"calls\":8,\"first\":2,\"retried\":1,"
                      "\"fell_back\":1,\"repaired\":2,\"renamed\":1,\"cached\":2,\"attempts\":10,\"elapsed_ms\":1600,"
                      "\"tokens_saved\":298,\"recovered.connection_lost\":1,\"recovered.timed_out\":1,"
                      "\"repair.number_from_text\":2,\"asked.model\":1,\"corrected.model\":1,\"latency.250\":8}}]");
}

static void tally__each_bad_call_is_one_of_its_kinds(void **state) {
  struct world *world = *state;
  struct hf_outcome stale = bad(HF_FAULT_UNREACHABLE);
  stale.source = HF_SOURCE_CACHE;
  struct hf_outcome stood_in = bad(HF_FAULT_UNREACHABLE);
  stood_in.source = HF_SOURCE_DEGRADED;
  struct hf_outcome checked = bad(HF_FAULT_BROKE);
  checked.end = HF_CALL_END_CHECKED;
  checked.executed = HF_EXECUTED_YES;
  struct hf_outcome lettered = bad(HF_FAULT_TIMED_OUT);
  lettered.letter = HF_LETTER_WRITTEN;
  struct hf_outcome lost = bad(HF_FAULT_TIMED_OUT);
  lost.letter = HF_LETTER_FAILED;
  count(world, CALL(.arguments_tokens = 28), stale, NOTES(0));
  count(world, CALL(0), stood_in, NOTES(0));
  count(world, CALL(0), checked, NOTES(0));
  count(world, CALL(.unsafe = true), lettered, NOTES(0));
  count(world, CALL(0), lost, NOTES(0)); /* safe to repeat: no harm in not knowing */
  count(world, CALL(0), bad(HF_FAULT_CANCELLED), NOTES(0));
  count(world, CALL(.answer_tokens = 88), bad(HF_FAULT_TOOL_ERROR), NOTES(0));
  assert_string_equal(flushed(world),
                      "[{\"hour\":7,\"server\":\"s\",\"tool\":\"t\",\"counts\":{\"calls\":7,\"checked\":1,"
                      "\"attempts\":7,\"stale\":1,\"defaulted\":1,\"maybe\":1,\"letters\":1,\"letters_lost\":1,"
                      "\"elapsed_ms\":21,\"tokens_failed\":244,\"tokens_saved\":244,\"fault.unreachable\":2,"
                      "\"fault.timed_out\":2,\"fault.tool_error\":1,\"fault.cancelled\":1,\"latency.5\":7}}]");
}

static void tally__misfits_have_a_kind_and_a_place(void **state) {
  struct world *world = *state;
  const struct hf_outcome refused = {.end = HF_CALL_END_REFUSED, .fault = HF_FAULT_REJECTED};
  count(world, CALL(0), refused,
        NOTES(.misfit = HF_MISFIT_ARGUMENTS, .pointer = HF_STR("/limit"), .asked = HF_CORRECTION_FEEDBACK,
              .tried = HF_CORRECTION_CLIENT, .feedback_tokens = 120));
  count(world, CALL(0), refused,
        NOTES(.misfit = HF_MISFIT_ARGUMENTS, .pointer = HF_STR("/limit"), .asked = HF_CORRECTION_ANCHORED,
              .feedback_tokens = 80, .stopped = true));
  count(world, CALL(0), refused, NOTES(.misfit = HF_MISFIT_PARAMETER, .pointer = HF_STR("")));
  count(world, CALL(0), good(1), NOTES(.corrected = HF_CORRECTION_ANCHORED, .undone_tries = 2));
  count(world, CALL(0), good(1), NOTES(.misfit = HF_MISFIT_RESULT)); /* `results: warn` */
  assert_string_equal(
      flushed(world),
      "[{\"hour\":7,\"server\":\"s\",\"tool\":\"t\",\"counts\":{\"calls\":5,\"first\":2,\"attempts\":2,"
      "\"warned\":1,\"stopped\":1,\"undone_tries\":2,\"elapsed_ms\":400,\"tokens_failed\":296,"
      "\"tokens_feedback\":200,\"misfit.schema\":2,\"misfit.parameter\":1,\"asked.feedback\":1,"
      "\"asked.anchored\":1,\"asked.client\":1,\"corrected.anchored\":1,\"latency.5\":3,\"latency.250\":2,"
      "\"at./limit\":2,\"at.\":1}}]");
}

static void tally__places_are_bounded_in_number_and_length(void **state) {
  struct world *world = *state;
  const struct hf_outcome refused = {.end = HF_CALL_END_REFUSED, .fault = HF_FAULT_REJECTED};
  char pointer[HF_TALLY_PLACE_LEN_MAX + 8];
  for (unsigned i = 0; i < HF_TALLY_PLACES_MAX + 3; i++) {
    memset(pointer, 'a' + (int)i, sizeof pointer);
    memcpy(pointer + HF_TALLY_PLACE_LEN_MAX - 1, "\xc3\xa9", 2); /* not cut in two */
    count(world, CALL(0), refused,
          NOTES(.misfit = HF_MISFIT_ARGUMENTS, .pointer = (struct hf_str){pointer, sizeof pointer}));
  }
  const char *text = flushed(world);
  char longest[HF_TALLY_PLACE_LEN_MAX];
  memset(longest, 'a', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  assert_non_null(strstr(text, longest));
  assert_null(strstr(text, "\xc3"));
  assert_null(strstr(text, "\"at.i"));
  assert_non_null(strstr(text, "\"elsewhere\":3"));
}

static void tally__tools_beyond_the_limit_count_together(void **state) {
  struct world *world = *state;
  for (unsigned i = 0; i < HF_TALLY_TOOLS_MAX + 2; i++) {
    char name[16];
    int len = snprintf(name, sizeof name, "t%u", i);
    count(world, CALL(.tool = {name, (size_t)len}), good(1), NOTES(0));
  }
  const char *text = flushed(world);
  assert_non_null(strstr(text, "\"tool\":\"t1023\""));
  assert_null(strstr(text, "\"tool\":\"t1024\""));
  assert_non_null(strstr(text, "\"server\":\"_other\",\"tool\":\"_other\",\"counts\":{\"calls\":2,"));
}

static void tally__hands_over_every_ten_seconds_and_at_the_end_of_an_hour(void **state) {
  struct world *world = *state;
  assert_int_equal(hf_loop_next(&world->loop), HF_TIME_NEVER); /* who is idle is not woken */
  count(world, CALL(0), good(1), NOTES(0));
  hf_loop_run(&world->loop, HF_SECONDS(11) - 1, 7 * hour_ms);
  assert_int_equal(world->store.asked, 0);
  hf_loop_run(&world->loop, HF_SECONDS(11), 7 * hour_ms);
  assert_int_equal(world->store.asked, 1);
  assert_int_equal(hf_loop_next(&world->loop), HF_TIME_NEVER);
  assert_string_equal(flushed(world), world->store.taken);
  assert_int_equal(world->store.asked, 1); /* nothing is handed over twice */

  count(world, CALL(0), good(1), NOTES(0));
  hf_loop_run(&world->loop, HF_SECONDS(12), 8 * hour_ms);
  count(world, CALL(0), good(1), NOTES(0));
  assert_int_equal(world->store.asked, 2);
  assert_non_null(strstr(world->store.taken, "\"hour\":7"));
  assert_non_null(strstr(world->store.taken, "\"calls\":1"));
  assert_non_null(strstr(flushed(world), "\"hour\":8"));
}

static void tally__what_is_refused_is_handed_over_later(void **state) {
  struct world *world = *state;
  world->store.error = HF_ERR_LIMIT;
  count(world, CALL(0), good(1), NOTES(0));
  hf_tally_flush(&world->tally);
  hf_loop_run(&world->loop, HF_SECONDS(20), 8 * hour_ms);
  count(world, CALL(0), good(1), NOTES(0)); /* with those of the hour before */
  assert_true(world->store.asked >= 2);
  world->store.error = 0;
  hf_loop_run(&world->loop, HF_SECONDS(40), 8 * hour_ms);
  assert_non_null(strstr(world->store.taken, "\"hour\":7"));
  assert_non_null(strstr(world->store.taken, "\"calls\":2"));
}

static void tally__what_finds_no_memory_is_not_counted(void **state) {
  struct world *world = *state;
  long n = 0;
  do {
    hf_alloc_fail_after(n);
    count(world, CALL(0), good(1), NOTES(0));
    hf_tally_flush(&world->tally);
    hf_alloc_fail_after(-1);
    hf_tally_flush(&world->tally);
  } while (!strstr(world->store.taken, "\"calls\":1") && ++n < 20);
  assert_in_range(n, 1, 19);
}

static void tally__without_a_store_nothing_is_kept(void **state) {
  struct world *world = *state;
  world->tally.store = NULL;
  count(world, CALL(0), good(1), NOTES(0));
  assert_int_equal(world->tally.rows.len, 0);
  assert_int_equal(hf_loop_next(&world->loop), HF_TIME_NEVER);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(tally__each_good_call_is_one_of_its_kinds),
      TEST(tally__each_bad_call_is_one_of_its_kinds),
      TEST(tally__misfits_have_a_kind_and_a_place),
      TEST(tally__places_are_bounded_in_number_and_length),
      TEST(tally__tools_beyond_the_limit_count_together),
      TEST(tally__hands_over_every_ten_seconds_and_at_the_end_of_an_hour),
      TEST(tally__what_is_refused_is_handed_over_later),
      TEST(tally__what_finds_no_memory_is_not_counted),
      TEST(tally__without_a_store_nothing_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
