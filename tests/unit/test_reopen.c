#include "upstream/reopen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct hf_reopen pauses = {.first = HF_MS(1000), .most = HF_SECONDS(30), .least = HF_MS(100)};

static hf_time pause_of(unsigned failures, int64_t retry_ms, uint64_t seed) {
  struct hf_random random;
  hf_random_init(&random, seed);
  return hf_reopen_pause(&pauses, failures, retry_ms, &random);
}

static void assert_between(unsigned failures, int64_t retry_ms, hf_time least, hf_time most) {
  bool differs = false;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    hf_time pause = pause_of(failures, retry_ms, seed);
    assert_true(pause >= least && pause <= most);
    differs |= pause != pause_of(failures, retry_ms, 1);
  }
  assert_true(differs);
}

static void reopen__the_pause_doubles_with_jitter_up_to_the_most(void **state) {
  (void)state;
  assert_between(0, -1, HF_MS(500), HF_MS(1000));
  assert_between(1, -1, HF_MS(1000), HF_MS(2000));
  assert_between(4, -1, HF_MS(8000), HF_MS(16000));
  assert_between(5, -1, HF_MS(15000), HF_MS(30000));
  assert_between(4000000000u, -1, HF_MS(15000), HF_MS(30000));
}

static void reopen__a_server_says_where_it_begins(void **state) {
  (void)state;
  assert_between(0, 5000, HF_MS(5000), HF_MS(7500));
  assert_between(1, 5000, HF_MS(5000), HF_MS(10000));
  assert_between(2, 5000, HF_MS(10000), HF_MS(20000));
}

static void reopen__a_server_that_wants_none_gets_the_least(void **state) {
  (void)state;
  assert_between(0, 0, HF_MS(100), HF_MS(150));
  assert_between(3, 1, HF_MS(400), HF_MS(800));
}

static void reopen__what_a_server_wants_is_waited_for_up_to_five_minutes(void **state) {
  (void)state;
  assert_between(0, 60000, HF_SECONDS(60), HF_SECONDS(90));
  assert_between(9, INT64_MAX, HF_SECONDS(300), HF_SECONDS(450));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reopen__the_pause_doubles_with_jitter_up_to_the_most),
      cmocka_unit_test(reopen__a_server_says_where_it_begins),
      cmocka_unit_test(reopen__a_server_that_wants_none_gets_the_least),
      cmocka_unit_test(reopen__what_a_server_wants_is_waited_for_up_to_five_minutes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
