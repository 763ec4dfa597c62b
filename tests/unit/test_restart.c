#include "upstream/restart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct hf_restart_options options = {
    .base = HF_MS(200), .max = HF_SECONDS(2), .stable_after = HF_SECONDS(10), .park_after = 8};

static void restart__pauses_double_up_to_the_maximum(void **state) {
  (void)state;
  struct hf_restart restart;
  hf_restart_init(&restart, &options);
  static const hf_time most[] = {HF_MS(200), HF_MS(400), HF_MS(800), HF_MS(1600), HF_MS(2000), HF_MS(2000)};
  for (size_t i = 0; i < sizeof most / sizeof most[0]; i++)
    assert_int_equal(hf_restart_ended(&restart, HF_SECONDS(1), 0, UINT64_MAX), most[i]);
}

static void restart__jitter_takes_at_most_half_of_the_pause(void **state) {
  (void)state;
  struct hf_restart restart;
  hf_restart_init(&restart, &options);
  assert_int_equal(hf_restart_ended(&restart, 0, 0, 0), HF_MS(100));
  assert_int_equal(hf_restart_ended(&restart, 0, 0, UINT64_MAX / 2), HF_MS(300));
}

static void restart__spawning_well_does_not_reset_the_count(void **state) {
  (void)state;
  struct hf_restart restart;
  hf_restart_init(&restart, &options);
  hf_time now = 0;
  for (int i = 1; i < 8; i++) {
    hf_restart_ready(&restart, now);
    now += HF_MS(200);
    assert_int_not_equal(hf_restart_ended(&restart, now, 0, 0), HF_TIME_NEVER);
  }
  hf_restart_ready(&restart, now);
  assert_int_equal(hf_restart_ended(&restart, now + HF_MS(200), 0, 0), HF_TIME_NEVER);
}

static void restart__sustained_uptime_starts_the_count_anew(void **state) {
  (void)state;
  struct hf_restart restart;
  hf_restart_init(&restart, &options);
  for (int i = 0; i < 6; i++)
    hf_restart_ended(&restart, 0, 0, 0);
  hf_restart_ready(&restart, HF_SECONDS(100));
  assert_int_equal(hf_restart_ended(&restart, HF_SECONDS(700), 0, UINT64_MAX), HF_MS(200));
  assert_int_equal(restart.failures, 1);
}

static void restart__uptime_counts_once(void **state) {
  (void)state;
  struct hf_restart restart;
  hf_restart_init(&restart, &options);
  hf_restart_ready(&restart, 0);
  hf_restart_ended(&restart, HF_SECONDS(60), 0, 0);
  hf_restart_ended(&restart, HF_SECONDS(120), 0, 0);
  assert_int_equal(restart.failures, 2);
}

static void restart__a_hint_is_a_floor(void **state) {
  (void)state;
  struct hf_restart restart;
  hf_restart_init(&restart, &options);
  assert_int_equal(hf_restart_ended(&restart, 0, HF_SECONDS(7), 0), HF_SECONDS(7));
}

static void restart__a_remote_server_is_never_parked(void **state) {
  (void)state;
  const struct hf_restart_options remote = HF_RESTART_REMOTE;
  struct hf_restart restart;
  hf_restart_init(&restart, &remote);
  for (int i = 0; i < 1000; i++)
    assert_in_range(hf_restart_ended(&restart, 0, 0, UINT64_MAX), 1, HF_SECONDS(30));
}

static void restart__forgetting_unparks(void **state) {
  (void)state;
  struct hf_restart restart;
  hf_restart_init(&restart, &options);
  for (int i = 0; i < 8; i++)
    hf_restart_ended(&restart, 0, 0, 0);
  hf_restart_forget(&restart);
  assert_int_equal(hf_restart_ended(&restart, 0, 0, UINT64_MAX), HF_MS(200));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(restart__pauses_double_up_to_the_maximum),
      cmocka_unit_test(restart__jitter_takes_at_most_half_of_the_pause),
      cmocka_unit_test(restart__spawning_well_does_not_reset_the_count),
      cmocka_unit_test(restart__sustained_uptime_starts_the_count_anew),
      cmocka_unit_test(restart__uptime_counts_once),
      cmocka_unit_test(restart__a_hint_is_a_floor),
      cmocka_unit_test(restart__a_remote_server_is_never_parked),
      cmocka_unit_test(restart__forgetting_unparks),
  };
  return cmocka_run_group_tests_name("restart", tests, NULL, NULL);
}
