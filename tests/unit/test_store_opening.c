#include "store_fixture.h"

#include "base/clock.h"
#include "daemon/loop.h"
#include "store/opening.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

enum { PATH_BYTES = 128, PATIENCE_MS = 20000 };

struct world {
  uv_loop_t uv;
  uv_timer_t patience;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  struct hf_settings *settings;
  struct hf_store *store;
  struct hf_store_opening *opening;
  unsigned failures;
  char reason[512];
  char dir[64];
  char place[PATH_BYTES]; /* that must be a directory, and is a file */
  char path[PATH_BYTES];
};

static void on_opened(void *ctx, struct hf_store *store) {
  struct world *world = ctx;
  world->store = store;
  hf_store_opening_free(world->opening);
  world->opening = NULL;
}

static void on_failed(void *ctx, const char *reason) {
  struct world *world = ctx;
  world->failures++;
  assert_true(snprintf(world->reason, sizeof world->reason, "%s", reason) > 0);
}

static void on_patience(uv_timer_t *timer) {
  (void)timer;
  fail_msg("it was not tried again");
}

static void write_file(const char *path) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fclose(file), 0);
}

static void world_init(struct world *world, const char *why) {
  static const struct hf_store_opening_events events = {on_opened, on_failed};
  memset(world, 0, sizeof *world);
  make_directory(world->dir, sizeof world->dir);
  assert_true(snprintf(world->place, sizeof world->place, "%s/place", world->dir) > 0);
  assert_true(snprintf(world->path, sizeof world->path, "%s/state/holdfast.db", world->place) > 0);
  write_file(world->place);
  uv_loop_init(&world->uv);
  uv_timer_init(&world->uv, &world->patience);
  uv_timer_start(&world->patience, on_patience, PATIENCE_MS, 0);
  hf_loop_init(&world->loop, 1, NULL);
  hf_loop_advance(&world->loop, hf_clock_now(), hf_clock_wall_ms());
  hf_loop_driver_init(&world->driver, &world->uv, &world->loop);
  world->settings = hf_settings_new();
  assert_non_null(world->settings);
  world->settings->store = keep_all();
  const struct hf_store_options options = {.uv = &world->uv, .loop = &world->loop, .path = world->path};
  assert_int_equal(hf_store_opening_new(&options, world->settings, why, HF_MS(5), &events, world, &world->opening), 0);
}

static void world_deinit(struct world *world) {
  hf_store_opening_free(world->opening);
  hf_store_free(world->store);
  hf_settings_free(world->settings);
  uv_close((uv_handle_t *)&world->patience, NULL);
  hf_loop_driver_close(&world->driver);
  uv_run(&world->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&world->uv), 0);
  hf_loop_deinit(&world->loop);
  remove_directory(world->dir);
}

#define RUN_UNTIL(world, condition)                                                                                    \
  while (!(condition))                                                                                                 \
  uv_run(&(world)->uv, UV_RUN_ONCE)

static void on_buried(struct hf_store_wait *wait, int error, struct hf_str id) {
  assert_int_equal(error, 0);
  assert_true(id.len > 0);
  wait->next = wait; /* answered */
}

static void store_opening__tries_until_the_directory_can_be_made_and_then_keeps_letters(void **state) {
  (void)state;
  struct world world;
  world_init(&world, "it is not known");
  RUN_UNTIL(&world, world.failures);
  assert_non_null(strstr(world.reason, "place"));
  assert_null(world.store);
  assert_int_equal(unlink(world.place), 0);
  RUN_UNTIL(&world, world.store);
  assert_null(world.opening);
  assert_int_equal(access(world.path, F_OK), 0);
  const struct hf_letter letter = letter_of(1, "c-1");
  struct hf_store_wait wait = {.done = on_buried};
  world.store->ops->bury(world.store, &letter, &wait);
  RUN_UNTIL(&world, wait.next);
  world_deinit(&world);
}

static void store_opening__tells_a_reason_once(void **state) {
  (void)state;
  struct world world;
  world_init(&world, "it is not known");
  RUN_UNTIL(&world, world.failures);
  const hf_time begun = world.loop.now;
  RUN_UNTIL(&world, world.loop.now > begun + HF_MS(150)); /* four times more, by then */
  assert_int_equal(world.failures, 1);
  world_deinit(&world);
}

/* Ended while it works in its thread, or before. */
static void store_opening__can_be_ended_at_any_time(void **state) {
  (void)state;
  for (unsigned turns = 0; turns < 12; turns++) {
    struct world world;
    world_init(&world, "it is not known");
    assert_int_equal(unlink(world.place), 0);
    for (unsigned i = 0; i < turns && !world.store; i++)
      uv_run(&world.uv, UV_RUN_ONCE);
    world_deinit(&world);
  }
}

static void store_opening__runs_out_of_memory_and_tries_again(void **state) {
  (void)state;
  for (long n = 0; n < 6; n++) {
    struct world world;
    world_init(&world, "it is not known");
    assert_int_equal(unlink(world.place), 0);
    hf_alloc_fail_after(n);
    for (int i = 0; i < 4 && !world.store; i++)
      uv_run(&world.uv, UV_RUN_ONCE);
    hf_alloc_fail_after(-1);
    RUN_UNTIL(&world, world.store);
    world_deinit(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(store_opening__tries_until_the_directory_can_be_made_and_then_keeps_letters),
      cmocka_unit_test(store_opening__tells_a_reason_once),
      cmocka_unit_test(store_opening__can_be_ended_at_any_time),
      cmocka_unit_test(store_opening__runs_out_of_memory_and_tries_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
