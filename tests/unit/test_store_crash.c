/* A gateway is killed before and after every single operation on its database's files. Afterwards every letter that it
 * was told of is there, once; what it was about to send is a letter, or a task that is followed once; and no replay
 * runs twice. Also: who is dead, and who only looks like it. */
#include "store_fixture.h"

#include "faulty_vfs.h"
#include "store/store.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

enum { CALLS = 6, BOUNDARIES_MAX = 3000, LINES_MAX = 256, SURVIVORS = 4, QUIET_RUNS = 3 };

static char dir[64];
static char path[128];
static char ledger[128]; /* what happened outside: effects, and ids that were told */

static void note(const char *what, const char *id) {
  char line[64];
  int len = snprintf(line, sizeof line, "%s %s\n", what, id);
  int fd = open(ledger, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, (size_t)len) != len)
    abort();
  close(fd);
}

struct lines {
  size_t count;
  char what[LINES_MAX][16];
  char id[LINES_MAX][HF_LETTER_ID_MAX];
};

static const struct lines *read_ledger(void) {
  static struct lines lines;
  lines.count = 0;
  FILE *file = fopen(ledger, "r");
  while (file && lines.count < LINES_MAX &&
         fscanf(file, "%15s %31s", lines.what[lines.count], lines.id[lines.count]) == 2)
    lines.count++;
  if (file)
    fclose(file);
  return &lines;
}

static size_t times(const struct lines *lines, const char *what, const char *id) {
  size_t count = 0;
  for (size_t i = 0; i < lines->count; i++)
    count += strcmp(lines->what[i], what) == 0 && strcmp(lines->id[i], id) == 0;
  return count;
}

/* The gateway that dies. It does not use cmocka: only its death, or its end, counts. */

struct killer {
  atomic_long left;
};

static int kill_at(void *ctx, enum faulty_op op, bool after) {
  (void)op;
  (void)after;
  struct killer *killer = ctx;
  if (atomic_fetch_sub(&killer->left, 1) == 1)
    raise(SIGKILL);
  return SQLITE_OK;
}

struct gateway {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_store *store;
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

static void must(bool good) {
  if (!good)
    abort();
}

static void wait_for(struct gateway *gateway, struct waiter *waiter) {
  while (!waiter->done)
    uv_run(&gateway->uv, UV_RUN_ONCE);
}

static void gateway_open(struct gateway *gateway) {
  const struct hf_store_settings settings = keep_all();
  const struct hf_store_options options = {
      .uv = &gateway->uv, .loop = &gateway->loop, .path = path, .vfs = FAULTY_VFS, .settings = &settings};
  must(hf_store_new(&options, &gateway->store, NULL) == 0);
}

/* An unsafe call: its intent, its effect, and its letter, or (every third) its good end. */
static void one_call(struct gateway *gateway, unsigned number) {
  const char call[] = {'c', (char)('a' + number), '\0'};
  struct waiter intent_wait = {.wait = {.done = on_done}};
  const struct hf_intent intent = intent_of(number, call);
  gateway->store->ops->intend(gateway->store, &intent, &intent_wait.wait);
  wait_for(gateway, &intent_wait);
  must(intent_wait.error == 0);
  note("effect", call);
  if (number % 3 == 2) {
    note("settled", call);
    gateway->store->ops->settle(gateway->store, hf_str_from(call));
    return;
  }
  struct waiter waiter = {.wait = {.done = on_done}};
  struct hf_letter letter = letter_of(number, call);
  if (number % 3 == 1)
    letter.executed = HF_STR("no"); /* may be replayed */
  gateway->store->ops->bury(gateway->store, &letter, &waiter.wait);
  wait_for(gateway, &waiter);
  must(waiter.error == 0);
  note("told", waiter.id);
}

static int change(struct gateway *gateway, const char *id, enum hf_letter_status status) {
  struct waiter waiter = {.wait = {.done = on_done}};
  const struct hf_letter letter = {.id = hf_str_from(id), .status = status, .call = HF_STR("replay")};
  gateway->store->ops->change(gateway->store, &letter, &waiter.wait);
  wait_for(gateway, &waiter);
  return waiter.error;
}

/* Nobody outlives a test that failed. */
static pid_t fork_mortal(void) {
  pid_t pid = fork();
  if (pid == 0)
    must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
  return pid;
}

struct replayable {
  size_t count;
  char id[CALLS * 2][HF_LETTER_ID_MAX];
  bool done;
};

static void on_row(void *ctx, const struct hf_letter *letter) {
  struct replayable *replayable = ctx;
  if (hf_str_equal(letter->executed, HF_STR("no")))
    copy_text(replayable->id[replayable->count++], HF_LETTER_ID_MAX, letter->id);
}

static void on_found(struct hf_store_query *query, int error) {
  must(error == 0);
  ((struct replayable *)query->ctx)->done = true;
}

/* All that certainly did not run is sent once more. */
static void replay_all(struct gateway *gateway) {
  struct replayable replayable = {0};
  struct hf_store_query query = {.row = on_row, .done = on_found, .ctx = &replayable};
  const struct hf_letter_filter filter = {.status = HF_LETTER_DEAD};
  gateway->store->ops->letters(gateway->store, &filter, &query);
  while (!replayable.done)
    uv_run(&gateway->uv, UV_RUN_ONCE);
  for (size_t i = 0; i < replayable.count; i++) {
    if (change(gateway, replayable.id[i], HF_LETTER_REPLAYING) < 0)
      continue;
    note("replay", replayable.id[i]);
    must(change(gateway, replayable.id[i], HF_LETTER_REPLAYED) == 0);
  }
}

static void live(long boundary) {
  struct killer killer = {boundary};
  struct gateway gateway = {0};
  faulty_vfs_set(kill_at, &killer);
  uv_loop_init(&gateway.uv);
  hf_loop_init(&gateway.loop, 1, NULL);
  gateway_open(&gateway);
  for (unsigned i = 0; i < CALLS / 2; i++)
    one_call(&gateway, i);
  hf_store_free(gateway.store); /* an orderly restart in the middle */
  gateway_open(&gateway);
  replay_all(&gateway);
  for (unsigned i = CALLS / 2; i < CALLS; i++)
    one_call(&gateway, i);
  hf_store_free(gateway.store);
  _exit(0);
}

/* The one that comes after it. */

static void recover_and_replay(void) {
  const struct hf_store_settings settings = keep_all();
  struct hf_database *db = open_with(path, &settings, true);
  assert_int_equal(hf_database_recover(db, 5000), 0);
  const struct read_letters *read = read_all(db);
  for (size_t i = 0; i < read->count; i++) {
    struct hf_letter letter = {.id = hf_str_from(read->letter[i].id), .status = HF_LETTER_REPLAYING};
    if (strcmp(read->letter[i].executed, "no") != 0 || ALONE(db, hf_database_change(db, &letter)) < 0)
      continue;
    note("replay", read->letter[i].id);
    letter.status = HF_LETTER_REPLAYED;
    assert_int_equal(ALONE(db, hf_database_change(db, &letter)), 0);
  }
  hf_database_close(db);
}

static void expect_number(const char *sql, int number) {
  sqlite3 *db;
  sqlite3_stmt *s;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  assert_int_equal(sqlite3_column_int(s, 0), number);
  sqlite3_finalize(s);
  sqlite3_close(db);
}

static void check_truth(void) {
  const struct hf_store_settings settings = keep_all();
  struct hf_database *db = open_with(path, &settings, false);
  const struct lines *lines = read_ledger();
  const struct read_letters *read = read_all(db);
  for (size_t i = 0; i < lines->count; i++) {
    size_t by_id = 0;
    size_t by_call = 0;
    for (size_t j = 0; j < read->count; j++) {
      const struct hf_fingerprint fingerprint = fingerprint_of((unsigned)(lines->id[i][1] - 'a'));
      by_id += strcmp(read->letter[j].id, lines->id[i]) == 0;
      by_call += memcmp(&read->letter[j].numbers.fingerprint, &fingerprint, sizeof fingerprint) == 0;
    }
    if (strcmp(lines->what[i], "told") == 0)
      assert_int_equal(by_id, 1);
    if (strcmp(lines->what[i], "replay") == 0)
      assert_int_equal(times(lines, "replay", lines->id[i]), 1);
    if (strcmp(lines->what[i], "effect") == 0 && times(lines, "settled", lines->id[i]) == 0)
      assert_int_equal(by_call, 1); /* what may have run is known */
  }
  for (size_t j = 0; j < read->count; j++)
    assert_int_not_equal(read->letter[j].numbers.status, HF_LETTER_REPLAYING);
  for (size_t j = 0; j < read->count; j++)
    assert_int_equal(read->letter[j].numbers.count, 1); /* each call was made once */
  hf_database_close(db);
  expect_number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'", 0);
  expect_number("SELECT count(*) FROM owners", 0);
  expect_number("SELECT count(*) FROM intents", 0);
  expect_number("SELECT count(*) FROM (SELECT 1 FROM letters GROUP BY fingerprint HAVING count(*) > 1)", 0);
}

static bool run_until(long boundary) {
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
  assert_true(snprintf(ledger, sizeof ledger, "%s/ledger", dir) > 0);
  pid_t pid = fork_mortal();
  assert_true(pid >= 0);
  if (pid == 0)
    live(boundary);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  assert_true(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  if (!killed)
    expect_number("SELECT count(*) > 0 FROM letters WHERE status = 2", 1); /* it did replay something */
  recover_and_replay();
  recover_and_replay(); /* a second one finds nothing to do */
  check_truth();
  remove_directory(dir);
  return killed;
}

static void crash__at_every_boundary_nothing_is_lost_or_done_twice(void **state) {
  (void)state;
  long n = 0;
  for (int quiet = 0; quiet < QUIET_RUNS; quiet++) { /* groups differ a little from run to run */
    while (run_until(++n))
      assert_true(n < BOUNDARIES_MAX);
  }
  print_message("# killed at %ld boundaries\n", n - QUIET_RUNS);
  assert_true(n > 200);
}

/* Tasks: every second one runs at its server, and every third ends well. */

static int keep_task(struct gateway *gateway, const struct hf_stored_task *task) {
  struct waiter waiter = {.wait = {.done = on_done}};
  gateway->store->ops->keep_task(gateway->store, task, &waiter.wait);
  wait_for(gateway, &waiter);
  return waiter.error;
}

static void one_task(struct gateway *gateway, unsigned number) {
  const char call[] = {'c', (char)('a' + number), '\0'};
  const char id[] = {'t', (char)('a' + number), '\0'};
  struct waiter intent_wait = {.wait = {.done = on_done}};
  const struct hf_intent intent = intent_of(number, call);
  struct hf_stored_task task = {.id = hf_str_from(id),
                                .principal = HF_STR("alice"),
                                .call = hf_str_from(call),
                                .created_ms = 1,
                                .expires_ms = INT64_MAX};
  gateway->store->ops->intend(gateway->store, &intent, &intent_wait.wait);
  wait_for(gateway, &intent_wait);
  must(intent_wait.error == 0);
  note("effect", call);
  if (number % 2)
    task.server_task = HF_STR("theirs");
  must(keep_task(gateway, &task) == 0);
  note(number % 2 ? "task" : "ours", id);
  if (number % 3)
    return;
  task.status = HF_TASK_COMPLETED;
  task.result = HF_STR("{}");
  must(keep_task(gateway, &task) == 0);
  note("result", id);
  gateway->store->ops->settle(gateway->store, hf_str_from(call));
}

static void live_with_tasks(long boundary) {
  struct killer killer = {boundary};
  struct gateway gateway = {0};
  faulty_vfs_set(kill_at, &killer);
  uv_loop_init(&gateway.uv);
  hf_loop_init(&gateway.loop, 1, NULL);
  gateway_open(&gateway);
  for (unsigned i = 0; i < CALLS; i++)
    one_task(&gateway, i);
  hf_store_free(gateway.store);
  _exit(0);
}

/* What its server ran is followed to its end; of the rest it is said that nobody knows. */
static void go_on_with(void *ctx, const struct hf_stored_task *task) {
  struct lines *taken = ctx;
  must(task->status == HF_TASK_WORKING && taken->count < LINES_MAX);
  copy_text(taken->id[taken->count], HF_LETTER_ID_MAX, task->id);
  copy_text(taken->what[taken->count++], sizeof taken->what[0],
            task->server_task.ptr ? HF_STR("followed") : HF_STR("lost"));
  must(task->server_task.ptr || task->letter.len > 2);
}

static void take_and_finish(void) {
  static struct lines taken;
  taken.count = 0;
  const struct hf_store_settings settings = keep_all();
  struct hf_database *db = open_with(path, &settings, true);
  assert_int_equal(hf_database_recover(db, 5000), 0);
  assert_int_equal(ALONE(db, hf_database_take_tasks(db, 5000, go_on_with, &taken)), 0);
  for (size_t i = 0; i < taken.count; i++) {
    const char call[] = {'c', taken.id[i][1], '\0'};
    const struct hf_stored_task task = {
        .id = hf_str_from(taken.id[i]), .status = HF_TASK_COMPLETED, .result = HF_STR("{}")};
    note(taken.what[i], call);
    assert_int_equal(ALONE(db, hf_database_keep_task(db, &task)), 0);
    if (strcmp(taken.what[i], "followed") == 0)
      assert_int_equal(ALONE(db, hf_database_settle(db, hf_str_from(call))), 0);
  }
  hf_database_close(db);
}

static void see_status(void *ctx, const struct hf_stored_task *task) {
  *(enum hf_task_status *)ctx = task->status;
}

static size_t letters_of(const struct read_letters *read, const char *call) {
  size_t count = 0;
  for (size_t i = 0; i < read->count; i++)
    count += strcmp(read->letter[i].call, call) == 0;
  return count;
}

static void check_tasks(void) {
  const struct hf_store_settings settings = keep_all();
  struct hf_database *db = open_with(path, &settings, false);
  const struct lines *lines = read_ledger();
  const struct read_letters *read = read_all(db);
  for (size_t i = 0; i < lines->count; i++) {
    const char *call = lines->id[i];
    const size_t followed = times(lines, "followed", call);
    const char id[] = {'t', call[1], '\0'};
    enum hf_task_status status = HF_TASK_WORKING;
    assert_int_equal(hf_database_find_task(db, hf_str_from(id), 1, see_status, &status), 0);
    if (call[0] == 't')
      assert_int_equal(status, HF_TASK_COMPLETED); /* whoever has the id gets an answer */
    else if (times(lines, "result", id) == 0 && strcmp(lines->what[i], "effect") == 0)
      assert_true(followed + letters_of(read, call) == 1 || (status == HF_TASK_COMPLETED && !followed));
    assert_true(followed <= 1 && letters_of(read, call) + followed <= 1);
  }
  hf_database_close(db);
  expect_number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'", 0);
  expect_number("SELECT count(*) FROM owners", 0);
  expect_number("SELECT count(*) FROM intents", 0);
  expect_number("SELECT count(*) FROM tasks WHERE status < 2", 0);
  expect_number("SELECT (SELECT n FROM task_totals) = (SELECT count(*) FROM tasks)", 1);
}

static bool run_tasks_until(long boundary) {
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
  assert_true(snprintf(ledger, sizeof ledger, "%s/ledger", dir) > 0);
  pid_t pid = fork_mortal();
  assert_true(pid >= 0);
  if (pid == 0)
    live_with_tasks(boundary);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  assert_true(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  take_and_finish();
  take_and_finish(); /* a second one finds nothing to do */
  if (!killed) {
    const struct lines *lines = read_ledger();
    assert_int_equal(times(lines, "followed", "cb") + times(lines, "followed", "cf"), 2);
    assert_int_equal(times(lines, "lost", "cc") + times(lines, "lost", "ce"), 2);
  }
  check_tasks();
  remove_directory(dir);
  return killed;
}

static void crash__at_every_boundary_a_task_is_followed_once_or_told_to_be_lost(void **state) {
  (void)state;
  long n = 0;
  while (run_tasks_until(++n))
    assert_true(n < BOUNDARIES_MAX);
  print_message("# killed at %ld boundaries\n", n - 1);
  assert_true(n > 100);
}

static void new_directory(void) {
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
}

/* Leaves an intent, and a letter in the middle of a replay. */
static void leave_something(struct hf_database *db) {
  const struct hf_intent intent = intent_of(1, "call-1");
  struct hf_letter letter = letter_of(2, "call-2");
  char id[HF_LETTER_ID_MAX];
  must(hf_database_begin(db, true) == 0);
  must(hf_database_intend(db, &intent) == 0);
  must(hf_database_bury(db, &letter, id) == 0);
  letter = (struct hf_letter){.id = hf_str_from(id), .status = HF_LETTER_REPLAYING, .call = HF_STR("r")};
  must(hf_database_change(db, &letter) == 0);
  must(hf_database_commit(db) == 0);
}

static struct hf_database *must_open(void) {
  const struct hf_store_settings settings = keep_all();
  const struct hf_database_options options = {.path = path, .settings = &settings, .own = true};
  struct hf_database *db = NULL;
  must(hf_database_open(&options, &db, NULL) == 0);
  return db;
}

static void wait_for_end_of(int fd) {
  char byte;
  while (read(fd, &byte, 1) > 0)
    ;
}

static void count_news(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  (void)letter;
  *(unsigned *)ctx += news == HF_NEWS_RECOVERED;
}

static unsigned recover(struct hf_database *db) {
  unsigned recovered = 0;
  must(hf_database_recover(db, 1) == 0);
  hf_database_news(db, count_news, &recovered);
  return recovered;
}

static void crash__of_many_survivors_one_recovers_and_the_living_are_left_alone(void **state) {
  (void)state;
  new_directory();
  struct hf_database *living = must_open();
  const struct hf_intent intent = intent_of(9, "call-9");
  assert_int_equal(ALONE(living, hf_database_intend(living, &intent)), 0);
  int start[2];
  assert_int_equal(pipe2(start, O_CLOEXEC), 0);
  pid_t survivors[SURVIVORS];
  for (int i = 0; i < SURVIVORS; i++) {
    survivors[i] = fork_mortal();
    if (survivors[i] == 0) {
      close(start[1]);
      struct hf_database *db = must_open();
      wait_for_end_of(start[0]);
      _exit((int)recover(db));
    }
  }
  pid_t victim = fork_mortal();
  if (victim == 0) {
    leave_something(must_open());
    raise(SIGKILL);
  }
  int status;
  assert_int_equal(waitpid(victim, &status, 0), victim);
  assert_true(WIFSIGNALED(status));
  close(start[0]);
  close(start[1]);
  int recovered = 0;
  for (int i = 0; i < SURVIVORS; i++) {
    assert_int_equal(waitpid(survivors[i], &status, 0), survivors[i]);
    assert_true(WIFEXITED(status));
    recovered += WEXITSTATUS(status);
  }
  assert_int_equal(recovered, 2);
  assert_int_equal(read_all(living)->count, 2);
  expect_number("SELECT count(*) FROM intents", 1); /* the living one's */
  hf_database_close(living);
  remove_directory(dir);
}

/* A child of a gateway that outlives it: it has closed what it did not need by running another program. */
static void crash__a_child_that_is_left_keeps_nobody_alive(void **state) {
  (void)state;
  new_directory();
  int stay[2];
  int pids[2];
  assert_int_equal(pipe2(stay, 0), 0);
  assert_int_equal(pipe2(pids, O_CLOEXEC), 0);
  pid_t victim = fork_mortal();
  if (victim == 0) {
    leave_something(must_open());
    pid_t child = fork();
    if (child == 0) {
      close(stay[1]);
      dup2(stay[0], 0);
      execl("/bin/cat", "cat", (char *)NULL);
      _exit(1);
    }
    must(write(pids[1], &child, sizeof child) == (ssize_t)sizeof child);
    /* The child runs its program once it has let go of the locks; this one dies by a signal of the test. */
    for (;;)
      pause();
  }
  pid_t child;
  assert_int_equal(read(pids[0], &child, sizeof child), sizeof child);
  struct hf_database *db = must_open();
  assert_int_equal(recover(db), 0); /* it lives */
  assert_int_equal(kill(victim, SIGKILL), 0);
  int status;
  assert_int_equal(waitpid(victim, &status, 0), victim);
  unsigned recovered = 0;
  while (recovered == 0) /* the child may be on its way to its program */
    recovered = recover(db);
  assert_int_equal(recovered, 2);
  assert_int_equal(kill(child, 0), 0);
  hf_database_close(db);
  close(stay[0]);
  close(stay[1]);
  close(pids[0]);
  close(pids[1]);
  remove_directory(dir);
}

static void crash__owners_of_one_process_are_separate(void **state) {
  (void)state;
  new_directory();
  struct hf_database *a = must_open();
  struct hf_database *b = must_open();
  struct hf_database *c = must_open();
  leave_something(a);
  assert_int_equal(recover(b), 0);
  hf_database_close(c); /* closing one's own descriptors costs the others nothing */
  assert_int_equal(recover(b), 0);
  hf_database_close(a);
  assert_int_equal(recover(b), 2);
  hf_database_close(b);
  remove_directory(dir);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crash__at_every_boundary_nothing_is_lost_or_done_twice),
      cmocka_unit_test(crash__at_every_boundary_a_task_is_followed_once_or_told_to_be_lost),
      cmocka_unit_test(crash__of_many_survivors_one_recovers_and_the_living_are_left_alone),
      cmocka_unit_test(crash__a_child_that_is_left_keeps_nobody_alive),
      cmocka_unit_test(crash__owners_of_one_process_are_separate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
