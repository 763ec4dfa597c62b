/* The disk is full, or broken, from every single operation on, for a while: everybody who waits is told, what was told
 * is there, and the store goes on as soon as the disk does. */
#include "store_fixture.h"

#include "faulty_vfs.h"
#include "store/store.h"

#include <stdatomic.h>
#include <uv.h>

enum { CALLS = 6, PATIENCE_MS = 60000, OPERATIONS_MAX = 2000 };

struct fault {
  atomic_long left; /* operations that go well; negative: all do */
  int rc;
  atomic_bool happened;
};

static int hook(void *ctx, enum faulty_op op, bool after) {
  struct fault *fault = ctx;
  const long left = atomic_load(&fault->left);
  if (after || left < 0 || (op != FAULTY_WRITE && fault->rc == SQLITE_FULL))
    return SQLITE_OK;
  if (left > 0) {
    atomic_store(&fault->left, left - 1);
    return SQLITE_OK;
  }
  atomic_store(&fault->happened, true);
  return fault->rc;
}

struct world {
  uv_loop_t uv;
  uv_timer_t patience;
  struct hf_loop loop;
  struct hf_store *store;
  char dir[64];
  char path[128];
  struct fault fault;
};

struct waiter {
  struct hf_store_wait wait;
  bool done;
  int error;
  char id[HF_LETTER_ID_MAX];
};

static void on_done(struct hf_store_wait *wait, int error, struct hf_str id) {
  struct waiter *waiter = HF_CONTAINER_OF(wait, struct waiter, wait);
  waiter->done = true;
  waiter->error = error;
  copy_text(waiter->id, sizeof waiter->id, id);
}

static void on_patience(uv_timer_t *timer) {
  (void)timer;
  fail_msg("nobody answered");
}

static int open_store(struct world *world) {
  const struct hf_store_settings settings = keep_all();
  const struct hf_store_options options = {
      .uv = &world->uv, .loop = &world->loop, .path = world->path, .vfs = FAULTY_VFS, .settings = &settings};
  struct hf_error error = {0};
  world->store = NULL;
  int r = hf_store_new(&options, &world->store, &error);
  assert_int_equal(r == 0, error.text[0] == '\0'); /* a failure says why */
  return r;
}

static void world_init(struct world *world, long operations, int rc) {
  memset(world, 0, sizeof *world);
  make_directory(world->dir, sizeof world->dir);
  assert_true(snprintf(world->path, sizeof world->path, "%s/holdfast.db", world->dir) > 0);
  atomic_store(&world->fault.left, operations);
  world->fault.rc = rc;
  faulty_vfs_set(hook, &world->fault);
  uv_loop_init(&world->uv);
  uv_timer_init(&world->uv, &world->patience);
  uv_timer_start(&world->patience, on_patience, PATIENCE_MS, 0);
  hf_loop_init(&world->loop, 1, NULL);
}

static void world_deinit(struct world *world) {
  uv_close((uv_handle_t *)&world->patience, NULL);
  uv_run(&world->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&world->uv), 0);
  hf_loop_deinit(&world->loop);
  faulty_vfs_set(NULL, NULL);
  remove_directory(world->dir);
}

static int wait_for(struct world *world, struct waiter *waiter) {
  while (!waiter->done)
    uv_run(&world->uv, UV_RUN_ONCE);
  return waiter->error;
}

static int bury(struct world *world, unsigned number, char *id) {
  const char call[] = {'c', (char)('a' + number), '\0'};
  struct waiter waiter = {.wait = {.done = on_done}};
  const struct hf_letter letter = letter_of(number, call);
  world->store->ops->bury(world->store, &letter, &waiter.wait);
  int r = wait_for(world, &waiter);
  memcpy(id, waiter.id, HF_LETTER_ID_MAX);
  return r;
}

static int intend(struct world *world, unsigned number) {
  const char call[] = {'c', (char)('a' + number), '\0'};
  struct waiter waiter = {.wait = {.done = on_done}};
  const struct hf_intent intent = intent_of(number, call);
  world->store->ops->intend(world->store, &intent, &waiter.wait);
  return wait_for(world, &waiter);
}

static void settle(struct world *world, unsigned number) {
  const char call[] = {'c', (char)('a' + number), '\0'};
  world->store->ops->settle(world->store, hf_str_from(call));
}

/* Counts may get lost, and nothing else may because of them. */
static void tally(struct world *world) {
  /* Of a time that retention does not reach. */
  const struct hf_str row = HF_STR("[{\"hour\":9000000,\"server\":\"s\",\"tool\":\"t\",\"counts\":{\"calls\":1}}]");
  assert_int_equal(world->store->ops->tally(world->store, row), 0);
}

static void add_up(void *ctx, const struct hf_tally_entry *entry) {
  int64_t *sum = ctx;
  *sum += entry->n;
}

struct outcome {
  int error;
  char id[HF_LETTER_ID_MAX];
};

/* Every second call is settled, and that must not get lost; the others are buried. */
static void make_calls(struct world *world, struct outcome *outcomes) {
  const int wanted = world->fault.rc == SQLITE_FULL ? HF_ERR_FULL : HF_ERR_IO;
  for (unsigned i = 0; i < CALLS; i++) {
    int r = intend(world, i);
    assert_true(r == 0 || r == wanted);
    tally(world);
    if (i % 2)
      settle(world, i);
    else
      outcomes[i].error = bury(world, i, outcomes[i].id);
    assert_true(outcomes[i].error == 0 || outcomes[i].error == wanted);
    assert_int_equal(i % 2 == 0 && outcomes[i].error == 0, outcomes[i].id[0] == 'd');
  }
}

static void check_after(struct world *world, const struct outcome *outcomes) {
  const struct hf_store_settings settings = keep_all();
  struct hf_database *db = open_with(world->path, &settings, true);
  assert_int_equal(hf_database_recover(db, 1), 0);
  const struct read_letters *read = read_all(db);
  for (unsigned i = 0; i <= CALLS; i++) {
    size_t there = 0;
    size_t by_id = 0;
    for (size_t j = 0; j < read->count; j++) {
      const struct hf_fingerprint fingerprint = fingerprint_of(i);
      there += memcmp(&read->letter[j].numbers.fingerprint, &fingerprint, sizeof fingerprint) == 0;
      by_id += outcomes[i].id[0] && strcmp(read->letter[j].id, outcomes[i].id) == 0;
    }
    if (outcomes[i].id[0])
      assert_int_equal(by_id, 1);
    if (i % 2)
      assert_int_equal(there, 0); /* its end was not lost */
    assert_true(there <= 1);
  }
  int64_t counted = 0;
  assert_int_equal(hf_database_tallies(db, 0, 9999999, add_up, &counted), 0);
  assert_in_range(counted, 0, CALLS); /* none of them twice */
  hf_database_close(db);
}

/* Returns false once the fault comes too late to happen. */
static bool fail_from(long operations, int rc) {
  struct world world;
  struct outcome outcomes[CALLS + 1] = {0};
  world_init(&world, operations, rc);
  int r = open_store(&world);
  if (r == 0)
    make_calls(&world, outcomes);
  else
    assert_int_equal(r, rc == SQLITE_FULL ? HF_ERR_FULL : HF_ERR_IO);
  const bool happened = atomic_load(&world.fault.happened);

  atomic_store(&world.fault.left, -1); /* there is room again */
  if (r < 0)
    assert_int_equal(open_store(&world), 0);
  outcomes[CALLS].error = bury(&world, CALLS, outcomes[CALLS].id);
  assert_int_equal(outcomes[CALLS].error, 0);
  struct hf_store_stats stats;
  world.store->ops->stats(world.store, &stats);
  assert_int_equal(stats.error, 0);
  hf_store_free(world.store);
  check_after(&world, outcomes);
  world_deinit(&world);
  return happened;
}

static void fail_from_everywhere(int rc) {
  long n = 0;
  while (fail_from(n, rc))
    assert_true(++n < OPERATIONS_MAX);
  assert_true(n > 40);
}

static void faults__a_full_disk_is_told_and_survived(void **state) {
  (void)state;
  fail_from_everywhere(SQLITE_FULL);
}

static void faults__a_broken_disk_is_told_and_survived(void **state) {
  (void)state;
  fail_from_everywhere(SQLITE_IOERR_WRITE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(faults__a_full_disk_is_told_and_survived),
      cmocka_unit_test(faults__a_broken_disk_is_told_and_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
