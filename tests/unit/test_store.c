#include "store_fixture.h"

#include "base/clock.h"
#include "store/store.h"
#include "store/writer.h"

#include <sqlite3.h>
#include <uv.h>

enum { PATH_BYTES = 128, WAITERS = 2000, PATIENCE_MS = 20000 };

/* A store on a loop, and what it answered, in order. */
struct world {
  uv_loop_t uv;
  uv_timer_t patience;
  struct hf_loop loop;
  struct hf_store *store;
  char dir[64];
  char path[PATH_BYTES];
  unsigned answered;
  unsigned news[HF_NEWS_URGENT + 1];
  struct read_letters read;
  unsigned queried;
  int query_error;
};

struct waiter {
  struct hf_store_wait wait;
  struct world *world;
  int error;
  unsigned order; /* 0: not answered */
  char id[HF_LETTER_ID_MAX];
};

static void on_done(struct hf_store_wait *wait, int error, struct hf_str id) {
  struct waiter *waiter = HF_CONTAINER_OF(wait, struct waiter, wait);
  assert_int_equal(waiter->order, 0); /* once */
  waiter->order = ++waiter->world->answered;
  waiter->error = error;
  copy_text(waiter->id, sizeof waiter->id, id);
}

static struct waiter waiter_of(struct world *world) {
  return (struct waiter){.wait = {.done = on_done}, .world = world};
}

static void on_patience(uv_timer_t *timer) {
  (void)timer;
  fail_msg("nobody answered");
}

static void world_init(struct world *world, const struct hf_store_options *options) {
  memset(world, 0, sizeof *world);
  make_directory(world->dir, sizeof world->dir);
  assert_true(snprintf(world->path, sizeof world->path, "%s/holdfast.db", world->dir) > 0);
  uv_loop_init(&world->uv);
  uv_timer_init(&world->uv, &world->patience);
  uv_timer_start(&world->patience, on_patience, PATIENCE_MS, 0);
  hf_loop_init(&world->loop, 1, NULL);
  struct hf_store_options all = *options;
  all.uv = &world->uv;
  all.loop = &world->loop;
  all.path = world->path;
  struct hf_error error = {0};
  if (hf_store_new(&all, &world->store, &error) < 0)
    fail_msg("%s", error.text);
}

static void world_deinit(struct world *world) {
  hf_store_free(world->store);
  uv_close((uv_handle_t *)&world->patience, NULL);
  uv_run(&world->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&world->uv), 0);
  hf_loop_deinit(&world->loop);
  remove_directory(world->dir);
}

#define RUN_UNTIL(world, condition)                                                                                    \
  while (!(condition))                                                                                                 \
  uv_run(&(world)->uv, UV_RUN_ONCE)

static const struct hf_store_ops *ops_of(const struct world *world) {
  return world->store->ops;
}

static struct waiter bury(struct world *world, unsigned number, const char *call) {
  struct waiter waiter = waiter_of(world);
  const struct hf_letter letter = letter_of(number, call);
  ops_of(world)->bury(world->store, &letter, &waiter.wait);
  RUN_UNTIL(world, waiter.order);
  return waiter;
}

static void on_row(void *ctx, const struct hf_letter *letter) {
  struct world *world = ctx;
  if (world->read.count < READ_MAX)
    read_row(&world->read, letter);
  world->queried++;
}

struct query {
  struct hf_store_query query;
  struct world *world;
  bool done;
};

static void on_found(struct hf_store_query *query, int error) {
  struct query *q = HF_CONTAINER_OF(query, struct query, query);
  q->done = true;
  q->world->query_error = error;
}

static unsigned find_all(struct world *world) {
  struct query query = {.query = {.row = on_row, .done = on_found, .ctx = world}, .world = world};
  const struct hf_letter_filter filter = {.any_status = true};
  world->read.count = world->queried = 0;
  ops_of(world)->letters(world->store, &filter, &query.query);
  RUN_UNTIL(world, query.done);
  return world->queried;
}

static void on_news(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  struct world *world = ctx;
  assert_non_null(letter->id.ptr);
  world->news[news]++;
}

static struct hf_store_settings settings_of(unsigned queue) {
  struct hf_store_settings settings = keep_all();
  settings.queue = queue;
  return settings;
}

static void store__answers_in_the_order_of_the_questions(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(WAITERS);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct waiter *waiters = calloc(300, sizeof *waiters);
  assert_non_null(waiters);
  char call[16];
  for (unsigned i = 0; i < 300; i++) {
    waiters[i] = waiter_of(&world);
    assert_true(snprintf(call, sizeof call, "c-%u", i / 2) > 0);
    const struct hf_intent intent = intent_of(i, call);
    const struct hf_letter letter = letter_of(i, call);
    if (i % 2)
      ops_of(&world)->bury(world.store, &letter, &waiters[i].wait);
    else
      ops_of(&world)->intend(world.store, &intent, &waiters[i].wait);
    memset(call, 'x', sizeof call - 1); /* what was given is copied */
    assert_int_equal(waiters[i].order, 0);
  }
  RUN_UNTIL(&world, world.answered == 300);
  for (unsigned i = 0; i < 300; i++) {
    assert_int_equal(waiters[i].error, 0);
    assert_int_equal(waiters[i].order, i + 1);
    assert_int_equal(waiters[i].id[0], i % 2 ? 'd' : '\0');
  }
  free(waiters);
  assert_int_equal(find_all(&world), 150);
  assert_true(world.loop.now > 0);
  world_deinit(&world);
  assert_int_equal(world.answered, 300);
}

/* Holds the database, so that the store's thread cannot write. */
static struct hf_database *hold(struct world *world) {
  const struct hf_store_settings settings = keep_all();
  struct hf_database *database = open_with(world->path, &settings, false);
  assert_int_equal(hf_database_begin(database, false), 0);
  return database;
}

static void let_go(struct hf_database *database) {
  hf_database_rollback(database);
  hf_database_close(database);
}

static void store__refuses_what_is_beyond_the_queue(void **state) {
  (void)state;
  struct world world;
  struct hf_store_settings settings = keep_all();
  settings.queue = 10;
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct hf_database *holder = hold(&world);
  struct waiter waiters[13];
  for (unsigned i = 0; i < 13; i++) {
    waiters[i] = waiter_of(&world);
    const struct hf_letter letter = letter_of(i, "a");
    ops_of(&world)->bury(world.store, &letter, &waiters[i].wait);
  }
  ops_of(&world)->settle(world.store, HF_STR("a")); /* is never refused */
  assert_int_equal(world.answered, 0);              /* nor is anybody within the question */
  ops_of(&world)->forget(world.store, &waiters[11].wait);
  RUN_UNTIL(&world, world.answered == 2);
  assert_int_equal(waiters[10].error, HF_ERR_LIMIT);
  assert_int_equal(waiters[12].error, HF_ERR_LIMIT);
  let_go(holder);
  RUN_UNTIL(&world, world.answered == 12);
  for (unsigned i = 0; i < 10; i++)
    assert_int_equal(waiters[i].error, 0);
  assert_int_equal(waiters[11].order, 0);
  assert_int_equal(bury(&world, 99, "b").error, 0); /* there is room again */
  world_deinit(&world);
}

static void add_up(void *ctx, const struct hf_tally_entry *entry) {
  int64_t *sum = ctx;
  *sum += entry->n;
}

/* Who counts does not wait, neither for the disk nor for an answer. */
static void store__counts_are_taken_or_refused_at_once(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  /* Of a time that retention does not reach. */
  const struct hf_str row = HF_STR("[{\"hour\":9000000,\"server\":\"s\",\"tool\":\"t\",\"counts\":{\"calls\":2}}]");
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct hf_database *holder = hold(&world);
  for (unsigned i = 0; i < 10; i++)
    assert_int_equal(ops_of(&world)->tally(world.store, row), 0);
  assert_int_equal(ops_of(&world)->tally(world.store, row), HF_ERR_LIMIT);
  let_go(holder);
  do
    assert_int_equal(find_all(&world), 0); /* what was queued before is written then */
  while (world.query_error == HF_ERR_LIMIT);
  assert_int_equal(ops_of(&world)->tally(world.store, row), 0);
  hf_store_free(world.store);
  world.store = NULL;
  struct hf_database *reader = open_with(world.path, &settings, false);
  int64_t sum = 0;
  assert_int_equal(hf_database_tallies(reader, 0, 9999999, add_up, &sum), 0);
  assert_int_equal(sum, 22);
  hf_database_close(reader);
  world_deinit(&world);
}

static void store__refuses_more_bytes_than_may_wait(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(1000);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct hf_database *holder = hold(&world);
  const size_t size = HF_STORE_QUEUE_BYTES_MAX / 4;
  char *text = malloc(size);
  assert_non_null(text);
  memset(text, ' ', size);
  memcpy(text, "{}", 2);
  struct waiter waiters[5];
  for (unsigned i = 0; i < 5; i++) {
    waiters[i] = waiter_of(&world);
    struct hf_letter letter = letter_of(i, "a");
    letter.arguments = (struct hf_str){text, size};
    ops_of(&world)->bury(world.store, &letter, &waiters[i].wait);
  }
  free(text);
  let_go(holder);
  RUN_UNTIL(&world, world.answered == 5);
  for (unsigned i = 0; i < 5; i++)
    assert_int_equal(waiters[i].error, i < 3 ? 0 : HF_ERR_LIMIT);
  world_deinit(&world);
}

static void store__a_refusal_needs_no_memory(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct waiter waiter = waiter_of(&world);
  struct query query = {.query = {.row = on_row, .done = on_found, .ctx = &world}, .world = &world};
  const struct hf_letter letter = letter_of(1, "a");
  const struct hf_letter_filter filter = {.any_status = true};
  hf_alloc_fail_after(0);
  ops_of(&world)->bury(world.store, &letter, &waiter.wait);
  hf_alloc_fail_after(0);
  ops_of(&world)->letters(world.store, &filter, &query.query);
  hf_alloc_fail_after(-1);
  RUN_UNTIL(&world, waiter.order && query.done);
  assert_int_equal(waiter.error, HF_ERR_NOMEM);
  assert_int_equal(world.query_error, HF_ERR_NOMEM);
  assert_int_equal(bury(&world, 1, "a").error, 0);
  world_deinit(&world);
}

/* One block for each, whatever is in it. */
static void store__to_ask_takes_one_allocation(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct hf_database *holder = hold(&world);
  struct waiter waiters[3];
  for (int i = 0; i < 3; i++)
    waiters[i] = waiter_of(&world);
  const struct hf_letter letter = letter_of(1, "a");
  const struct hf_intent intent = intent_of(1, "a");
  const struct hf_keyed keyed = {.key = HF_STR("k"), .expires_ms = 1};
  const unsigned long before = hf_alloc_count();
  ops_of(&world)->intend(world.store, &intent, &waiters[0].wait);
  ops_of(&world)->remember(world.store, &keyed, &waiters[1].wait);
  ops_of(&world)->bury(world.store, &letter, &waiters[2].wait);
  ops_of(&world)->settle(world.store, HF_STR("a"));
  assert_int_equal(hf_alloc_count() - before, 4);
  let_go(holder);
  RUN_UNTIL(&world, world.answered == 3);
  world_deinit(&world);
}

static int64_t intents_in(const char *path) {
  sqlite3 *db;
  sqlite3_stmt *s;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM intents", -1, &s, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  const int64_t count = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  sqlite3_close(db);
  return count;
}

/* It waits for other work to go with, but not forever. */
static void store__the_end_of_an_intent_is_written_though_nothing_follows(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = keep_all();
  world_init(&world, &(struct hf_store_options){
                         .settings = &settings, .look_every = HF_SECONDS(3600), .sweep_every = HF_SECONDS(3600)});
  struct waiter waiter = waiter_of(&world);
  const struct hf_intent intent = intent_of(1, "a");
  ops_of(&world)->intend(world.store, &intent, &waiter.wait);
  RUN_UNTIL(&world, waiter.order);
  assert_int_equal(waiter.error, 0);
  assert_int_equal(intents_in(world.path), 1);
  ops_of(&world)->settle(world.store, HF_STR("a"));
  while (intents_in(world.path) > 0)
    uv_run(&world.uv, UV_RUN_NOWAIT);
  world_deinit(&world);
}

static void store__who_is_forgotten_is_not_called_but_written(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct hf_database *holder = hold(&world);
  struct waiter waiter = waiter_of(&world);
  const struct hf_letter letter = letter_of(1, "a");
  ops_of(&world)->bury(world.store, &letter, &waiter.wait);
  ops_of(&world)->forget(world.store, &waiter.wait);
  ops_of(&world)->forget(world.store, &waiter.wait); /* harmless */
  let_go(holder);
  assert_int_equal(find_all(&world), 1);
  assert_int_equal(waiter.order, 0);
  world_deinit(&world);
}

static void store__a_long_list_comes_in_pieces(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(WAITERS);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct waiter last;
  for (unsigned i = 0; i < 500; i++) {
    struct waiter *waiter = i == 499 ? &last : NULL;
    static struct waiter others[499];
    waiter = waiter ? waiter : &others[i];
    *waiter = waiter_of(&world);
    struct hf_letter letter = letter_of(i, "a");
    letter.last_ms = i;
    ops_of(&world)->bury(world.store, &letter, &waiter->wait);
  }
  RUN_UNTIL(&world, world.answered == 500);
  struct query query = {.query = {.row = on_row, .done = on_found, .ctx = &world}, .world = &world};
  const struct hf_letter_filter filter = {.any_status = true, .limit = 450};
  ops_of(&world)->letters(world.store, &filter, &query.query);
  unsigned turns = 0;
  unsigned most = 0;
  while (!query.done) {
    const unsigned before = world.queried;
    uv_run(&world.uv, UV_RUN_ONCE);
    turns += world.queried > before;
    most = world.queried - before > most ? world.queried - before : most;
  }
  assert_int_equal(world.queried, 450);
  assert_true(turns >= 7);
  assert_true(most <= 64);
  for (size_t i = 0; i < world.read.count; i++)
    assert_int_equal(world.read.letter[i].numbers.last_ms, 499 - i); /* the newest first */
  world_deinit(&world);
}

struct forgetful {
  struct query query;
  unsigned rows;
};

static void forget_at_the_third(void *ctx, const struct hf_letter *letter) {
  (void)letter;
  struct forgetful *f = ctx;
  if (++f->rows == 3)
    ops_of(f->query.world)->forget_query(f->query.world->store, &f->query.query);
}

static void store__a_query_may_be_forgotten_in_its_middle(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(WAITERS);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  for (unsigned i = 0; i < 100; i++)
    assert_int_equal(bury(&world, i, "a").error, 0);
  struct forgetful f = {.query = {.query = {.row = forget_at_the_third, .done = on_found, .ctx = &f}, .world = &world}};
  const struct hf_letter_filter filter = {.any_status = true};
  ops_of(&world)->letters(world.store, &filter, &f.query.query);
  assert_int_equal(find_all(&world), 100);
  assert_int_equal(f.rows, 3);
  assert_false(f.query.done);
  world_deinit(&world);
}

static void see_key(void *ctx, const struct hf_keyed *keyed) {
  unsigned *seen = ctx;
  seen[0] += hf_str_equal(keyed->result, HF_STR("1"));
}

static void see_cached(void *ctx, const struct hf_cached *cached) {
  unsigned *seen = ctx;
  seen[1] += hf_str_equal(cached->result, HF_STR("2"));
}

static void store__what_was_stored_is_there_at_the_next_start(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct waiter waiter = waiter_of(&world);
  const int64_t now_ms = hf_clock_wall_ms();
  const struct hf_keyed keyed = {
      .key = HF_STR("k"), .first_ms = now_ms, .expires_ms = now_ms + 60000, .result = HF_STR("1")};
  const struct hf_cached cached = {fingerprint_of(1), HF_STR("2"), now_ms, now_ms + 60000};
  ops_of(&world)->remember(world.store, &keyed, &waiter.wait);
  ops_of(&world)->keep(world.store, &cached);
  const struct hf_letter letter = letter_of(1, "a");
  struct waiter unheard = waiter_of(&world);
  ops_of(&world)->bury(world.store, &letter, &unheard.wait);
  hf_store_free(world.store); /* writes what is queued */
  assert_int_equal(unheard.order, 0);

  const struct hf_store_options options = {
      .uv = &world.uv, .loop = &world.loop, .path = world.path, .settings = &settings};
  assert_int_equal(hf_store_new(&options, &world.store, NULL), 0);
  unsigned seen[2] = {0, 0};
  ops_of(&world)->load(world.store, see_key, see_cached, seen);
  assert_int_equal(seen[0], 1);
  assert_int_equal(seen[1], 1);
  assert_int_equal(find_all(&world), 1);
  world_deinit(&world);
}

static void store__tells_what_a_dead_gateway_left(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings, .look_every = HF_MS(5)});
  struct hf_database *other = open_with(world.path, &settings, true);
  const struct hf_intent intent = intent_of(1, "call-1");
  assert_int_equal(ALONE(other, hf_database_intend(other, &intent)), 0);
  ops_of(&world)->watch(world.store, on_news, &world);
  assert_int_equal(find_all(&world), 0);
  hf_database_close(other);
  RUN_UNTIL(&world, world.news[HF_NEWS_RECOVERED] == 1); /* while it runs */
  assert_int_equal(find_all(&world), 1);

  struct waiter waiter = waiter_of(&world);
  const struct hf_intent own = intent_of(2, "call-2");
  ops_of(&world)->intend(world.store, &own, &waiter.wait);
  hf_store_free(world.store);
  const struct hf_store_options options = {
      .uv = &world.uv, .loop = &world.loop, .path = world.path, .settings = &settings};
  assert_int_equal(hf_store_new(&options, &world.store, NULL), 0);
  assert_int_equal(find_all(&world), 2);
  ops_of(&world)->watch(world.store, on_news, &world); /* what happened before is told, too */
  RUN_UNTIL(&world, world.news[HF_NEWS_RECOVERED] == 2);
  world_deinit(&world);
}

static void store__an_intent_is_told_what_equals_it(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings, .look_every = HF_SECONDS(1000)});
  struct hf_database *died = open_with(world.path, &settings, true);
  struct hf_database *tidies = open_with(world.path, &settings, true);
  const struct hf_intent left[] = {intent_of(1, "call-1"), intent_of(2, "call-2")};
  assert_int_equal(ALONE(died, hf_database_intend(died, &left[0])), 0);
  ops_of(&world)->watch(world.store, on_news, &world);
  hf_database_close(died);
  const unsigned known[] = {0, 1, 1}; /* of another call; of an equal one; a little later */
  for (unsigned i = 0; i < 3; i++) {
    struct waiter waiter = waiter_of(&world);
    char call[16];
    assert_true(snprintf(call, sizeof call, "own-%u", i) > 0);
    const struct hf_intent own = intent_of(i == 0 ? 7 : 1, call);
    world.news[HF_NEWS_LEFT] = 0;
    ops_of(&world)->intend(world.store, &own, &waiter.wait);
    RUN_UNTIL(&world, waiter.order);
    assert_int_equal(world.news[HF_NEWS_LEFT], known[i]);
    ops_of(&world)->settle(world.store, own.call);
  }
  assert_int_equal(ALONE(tidies, hf_database_intend(tidies, &left[1])), 0);
  hf_database_close(tidies);
  struct hf_database *line = open_with(world.path, &settings, false); /* the command line finds it first */
  assert_int_equal(hf_database_recover(line, hf_clock_wall_ms()), 0);
  hf_database_close(line);
  struct waiter waiter = waiter_of(&world);
  const struct hf_intent own = intent_of(2, "own-3");
  ops_of(&world)->intend(world.store, &own, &waiter.wait);
  RUN_UNTIL(&world, waiter.order);
  assert_int_equal(world.news[HF_NEWS_LEFT], 2);

  hf_store_free(world.store); /* with its own intent open */
  const struct hf_store_options options = {
      .uv = &world.uv, .loop = &world.loop, .path = world.path, .settings = &settings};
  for (unsigned i = 0; i < 2; i++) { /* a later start is told as well */
    assert_int_equal(hf_store_new(&options, &world.store, NULL), 0);
    world.news[HF_NEWS_LEFT] = 0;
    ops_of(&world)->watch(world.store, on_news, &world);
    RUN_UNTIL(&world, world.news[HF_NEWS_LEFT] == 2);
    if (i == 0)
      hf_store_free(world.store);
  }
  world_deinit(&world);
}

/* Nobody watches: the letters are there all the same. */
static void store__news_that_wait_are_bounded(void **state) {
  (void)state;
  enum { LEFT = 1100 };
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings, .look_every = HF_MS(5)});
  struct hf_database *other = open_with(world.path, &settings, true);
  assert_int_equal(hf_database_begin(other, false), 0);
  for (unsigned i = 0; i < LEFT; i++) {
    char call[16];
    assert_true(snprintf(call, sizeof call, "c-%u", i) > 0);
    const struct hf_intent intent = intent_of(i, call);
    assert_int_equal(hf_database_intend(other, &intent), 0);
  }
  assert_int_equal(hf_database_commit(other), 0);
  hf_database_close(other);
  while (find_all(&world) < LEFT)
    ;
  ops_of(&world)->watch(world.store, on_news, &world);
  assert_int_equal(bury(&world, LEFT, "a").error, 0);
  for (int i = 0; i < 100; i++)
    uv_run(&world.uv, UV_RUN_NOWAIT);
  assert_int_equal(world.news[HF_NEWS_RECOVERED], 1024);
  world_deinit(&world);
}

static void store__retention_and_quarantine_are_told(void **state) {
  (void)state;
  struct world world;
  struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings, .sweep_every = HF_MS(5)});
  ops_of(&world)->watch(world.store, on_news, &world);
  settings.quarantine = 1;
  assert_int_equal(hf_store_reload(world.store, &settings), 0);
  assert_int_equal(bury(&world, 1, "a").error, 0);
  assert_int_equal(bury(&world, 1, "b").error, 0);
  RUN_UNTIL(&world, world.news[HF_NEWS_QUARANTINED] == 1);
  assert_int_equal(world.news[HF_NEWS_EXPIRING], 0);
  settings.max_age = HF_MS(20);
  assert_int_equal(hf_store_reload(world.store, &settings), 0);
  RUN_UNTIL(&world, world.news[HF_NEWS_EXPIRED] == 1);
  assert_int_equal(world.news[HF_NEWS_EXPIRING], 1);
  assert_int_equal(find_all(&world), 0);
  world_deinit(&world);
}

static void store__counts_what_others_write_too(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  struct hf_store_stats stats;
  world_init(&world, &(struct hf_store_options){.settings = &settings, .look_every = HF_MS(5)});
  assert_int_equal(bury(&world, 1, "a").error, 0);
  do {
    ops_of(&world)->stats(world.store, &stats);
    uv_run(&world.uv, UV_RUN_NOWAIT);
  } while (stats.depth[HF_LETTER_DEAD] != 1);
  assert_int_equal(stats.oldest_ms, 1000);
  assert_true(stats.bytes > 0);
  assert_int_equal(stats.error, 0);
  struct hf_database *other = open_with(world.path, &settings, false);
  char id[HF_LETTER_ID_MAX];
  const struct hf_letter letter = letter_of(2, "b");
  assert_int_equal(ALONE(other, hf_database_bury(other, &letter, id)), 0);
  hf_database_close(other);
  do {
    ops_of(&world)->stats(world.store, &stats);
    uv_run(&world.uv, UV_RUN_NOWAIT);
  } while (stats.depth[HF_LETTER_DEAD] != 2);
  world_deinit(&world);
}

static void store__an_error_is_one_waiters_own(void **state) {
  (void)state;
  struct world world;
  const struct hf_store_settings settings = settings_of(10);
  world_init(&world, &(struct hf_store_options){.settings = &settings});
  struct hf_database *holder = hold(&world); /* so that all four are one transaction */
  struct waiter waiters[4];
  for (int i = 0; i < 4; i++)
    waiters[i] = waiter_of(&world);
  const struct hf_letter none = {.id = HF_STR("d-none"), .status = HF_LETTER_DISCARDED};
  const struct hf_letter letter = letter_of(1, "a");
  const struct hf_intent intent = intent_of(1, "c");
  ops_of(&world)->bury(world.store, &letter, &waiters[0].wait);
  ops_of(&world)->change(world.store, &none, &waiters[1].wait);
  ops_of(&world)->intend(world.store, &intent, &waiters[2].wait);
  ops_of(&world)->intend(world.store, &intent, &waiters[3].wait);
  let_go(holder);
  RUN_UNTIL(&world, world.answered == 4);
  assert_int_equal(waiters[0].error, 0);
  assert_int_equal(waiters[1].error, HF_ERR_NOTFOUND);
  assert_int_equal(waiters[2].error, 0);
  assert_int_equal(waiters[3].error, HF_ERR_EXISTS);
  assert_int_equal(find_all(&world), 1);
  world_deinit(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(store__answers_in_the_order_of_the_questions),
      cmocka_unit_test(store__refuses_what_is_beyond_the_queue),
      cmocka_unit_test(store__counts_are_taken_or_refused_at_once),
      cmocka_unit_test(store__refuses_more_bytes_than_may_wait),
      cmocka_unit_test(store__a_refusal_needs_no_memory),
      cmocka_unit_test(store__to_ask_takes_one_allocation),
      cmocka_unit_test(store__the_end_of_an_intent_is_written_though_nothing_follows),
      cmocka_unit_test(store__who_is_forgotten_is_not_called_but_written),
      cmocka_unit_test(store__a_long_list_comes_in_pieces),
      cmocka_unit_test(store__a_query_may_be_forgotten_in_its_middle),
      cmocka_unit_test(store__what_was_stored_is_there_at_the_next_start),
      cmocka_unit_test(store__tells_what_a_dead_gateway_left),
      cmocka_unit_test(store__an_intent_is_told_what_equals_it),
      cmocka_unit_test(store__news_that_wait_are_bounded),
      cmocka_unit_test(store__retention_and_quarantine_are_told),
      cmocka_unit_test(store__counts_what_others_write_too),
      cmocka_unit_test(store__an_error_is_one_waiters_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
