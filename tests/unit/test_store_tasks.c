/* Tasks in the database and behind the seam: what is kept of them, for whom, for how long, and who may take them. */
#include "store_fixture.h"

#include "base/clock.h"
#include "store/store.h"

#include <sqlite3.h>
#include <uv.h>

enum { PATH_BYTES = 128, PATIENCE_MS = 20000, TASKS_MAX = 64 };

static const int64_t far_ms = INT64_C(1) << 50;

static struct hf_stored_task task_of(const char *id) {
  return (struct hf_stored_task){
      .id = hf_str_from(id),
      .principal = HF_STR("alice"),
      .endpoint = HF_STR(""),
      .call = HF_STR("call-1"),
      .tool = HF_STR("reports__make"),
      .status = HF_TASK_WORKING,
      .created_ms = 1000,
      .updated_ms = 1000,
      .expires_ms = far_ms,
  };
}

/* Tasks that were read, their texts copied. */
struct seen {
  size_t count;
  struct seen_task {
    char id[HF_TASK_ID_MAX];
    char principal[16];
    char endpoint[16];
    char call[16];
    char tool[32];
    char server[16];
    char server_task[16];
    char letter[HF_LETTER_ID_MAX];
    char message[64];
    char result[64];
    struct hf_stored_task row; /* its texts are gone */
  } task[TASKS_MAX];
};

static void see(void *ctx, const struct hf_stored_task *task) {
  struct seen *seen = ctx;
  assert_true(seen->count < TASKS_MAX);
  struct seen_task *to = &seen->task[seen->count++];
  copy_text(to->id, sizeof to->id, task->id);
  copy_text(to->principal, sizeof to->principal, task->principal);
  copy_text(to->endpoint, sizeof to->endpoint, task->endpoint);
  copy_text(to->call, sizeof to->call, task->call);
  copy_text(to->tool, sizeof to->tool, task->tool);
  copy_text(to->server, sizeof to->server, task->server);
  copy_text(to->server_task, sizeof to->server_task, task->server_task);
  copy_text(to->letter, sizeof to->letter, task->letter);
  copy_text(to->message, sizeof to->message, task->message);
  copy_text(to->result, sizeof to->result, task->result);
  to->row = *task;
}

static struct seen found;

static struct seen *find(struct hf_database *db, const char *id) {
  found.count = 0;
  assert_int_equal(hf_database_find_task(db, hf_str_from(id), 2000, see, &found), 0);
  return &found;
}

static int keep(struct hf_database *db, struct hf_stored_task task) {
  return ALONE(db, hf_database_keep_task(db, &task));
}

static void intend(struct hf_database *db, unsigned number, const char *call) {
  const struct hf_intent intent = intent_of(number, call);
  assert_int_equal(ALONE(db, hf_database_intend(db, &intent)), 0);
}

static struct seen *take(struct hf_database *db, int64_t now_ms) {
  assert_int_equal(hf_database_recover(db, now_ms), 0);
  found.count = 0;
  assert_int_equal(ALONE(db, hf_database_take_tasks(db, now_ms, see, &found)), 0);
  return &found;
}

/* A directory with a database, and whoever opens it. */
struct place {
  char dir[64];
  char path[PATH_BYTES];
};

static void place_init(struct place *place) {
  make_directory(place->dir, sizeof place->dir);
  assert_true(snprintf(place->path, sizeof place->path, "%s/holdfast.db", place->dir) > 0);
}

static struct hf_database *open_place(const struct place *place) {
  const struct hf_store_settings settings = keep_all();
  return open_with(place->path, &settings, true);
}

static struct hf_database *in_memory(void) {
  const struct hf_store_settings settings = keep_all();
  return open_with(NULL, &settings, true);
}

static int64_t number_in(const struct place *place, const char *query) {
  sqlite3 *sql;
  sqlite3_stmt *s;
  assert_int_equal(sqlite3_open(place->path, &sql), SQLITE_OK);
  if (sqlite3_prepare_v2(sql, query, -1, &s, NULL) != SQLITE_OK)
    fail_msg("%s", sqlite3_errmsg(sql));
  int rc = sqlite3_step(s);
  const int64_t number = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
  assert_true(rc == SQLITE_ROW || rc == SQLITE_DONE);
  sqlite3_finalize(s);
  sqlite3_close(sql);
  return number;
}

static void tasks__are_kept_as_they_were_given(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  struct hf_stored_task task = task_of("t-1");
  task.endpoint = HF_STR("reports");
  task.server = HF_STR("reports");
  task.server_task = HF_STR("theirs");
  task.message = HF_STR("half done");
  assert_int_equal(keep(db, task), 0);
  const struct seen *seen = find(db, "t-1");
  assert_int_equal(seen->count, 1);
  assert_string_equal(seen->task[0].principal, "alice");
  assert_string_equal(seen->task[0].endpoint, "reports");
  assert_string_equal(seen->task[0].call, "call-1");
  assert_string_equal(seen->task[0].tool, "reports__make");
  assert_string_equal(seen->task[0].server, "reports");
  assert_string_equal(seen->task[0].server_task, "theirs");
  assert_string_equal(seen->task[0].message, "half done");
  assert_int_equal(seen->task[0].row.status, HF_TASK_WORKING);
  assert_int_equal(seen->task[0].row.created_ms, 1000);
  assert_int_equal(seen->task[0].row.updated_ms, 1000);
  assert_int_equal(seen->task[0].row.expires_ms, far_ms);
  assert_false(seen->task[0].row.elsewhere);
  assert_false(seen->task[0].row.failed);
  assert_null(seen->task[0].row.result.ptr);
  assert_null(seen->task[0].row.letter.ptr);
  assert_int_equal(find(db, "t-2")->count, 0);
  hf_database_close(db);
}

static void tasks__what_is_absent_stays_as_it_was(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  struct hf_stored_task task = task_of("t-1");
  task.server_task = HF_STR("theirs");
  task.message = HF_STR("half done");
  assert_int_equal(keep(db, task), 0);
  assert_int_equal(keep(db, (struct hf_stored_task){.id = HF_STR("t-1"),
                                                    .status = HF_TASK_COMPLETED,
                                                    .result = HF_STR("{\"content\":[]}"),
                                                    .failed = true,
                                                    .updated_ms = 1500}),
                   0);
  const struct seen_task *seen = &find(db, "t-1")->task[0];
  assert_string_equal(seen->principal, "alice");
  assert_string_equal(seen->server_task, "theirs");
  assert_string_equal(seen->message, "half done");
  assert_string_equal(seen->result, "{\"content\":[]}");
  assert_int_equal(seen->row.status, HF_TASK_COMPLETED);
  assert_true(seen->row.failed);
  assert_int_equal(seen->row.created_ms, 1000);
  assert_int_equal(seen->row.updated_ms, 1500);
  assert_int_equal(seen->row.expires_ms, far_ms);
  assert_int_equal(keep(db, (struct hf_stored_task){.id = HF_STR("t-1"),
                                                    .status = HF_TASK_COMPLETED,
                                                    .message = HF_STR(""),
                                                    .expires_ms = 9000}),
                   0);
  seen = &find(db, "t-1")->task[0];
  assert_string_equal(seen->message, "");
  assert_non_null(seen->row.message.ptr); /* empty is not absent */
  assert_string_equal(seen->result, "{\"content\":[]}");
  assert_int_equal(seen->row.updated_ms, 1500);
  assert_int_equal(seen->row.expires_ms, 9000);
  hf_database_close(db);
}

/* Else the rest of one that was dropped, or has expired, would stay for ever. */
static void tasks__a_new_one_says_when_it_began_and_ends(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  struct hf_stored_task task = task_of("t-1");
  task.created_ms = 0;
  assert_int_equal(keep(db, task), HF_ERR_NOTFOUND);
  task = task_of("t-1");
  task.expires_ms = 0;
  assert_int_equal(keep(db, task), HF_ERR_NOTFOUND);
  assert_int_equal(find(db, "t-1")->count, 0);
  task = task_of("t-1");
  assert_int_equal(keep(db, task), 0);
  assert_int_equal(ALONE(db, hf_database_drop_task(db, task.id)), 0);
  assert_int_equal(find(db, "t-1")->count, 0);
  hf_database_close(db);
}

static void list_into(struct hf_database *db, const char *principal, const char *endpoint, const char *after,
                      unsigned limit, int error, const char *ids) {
  const struct hf_task_filter filter = {
      .principal = principal ? hf_str_from(principal) : (struct hf_str){NULL, 0},
      .endpoint = hf_str_from(endpoint),
      .after = after ? hf_str_from(after) : (struct hf_str){NULL, 0},
      .limit = limit,
  };
  char all[256] = "";
  found.count = 0;
  assert_int_equal(hf_database_list_tasks(db, &filter, 2000, see, &found), error);
  for (size_t i = 0; i < found.count; i++)
    assert_true(snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", found.task[i].id) > 0);
  assert_string_equal(all, ids);
}

static void tasks__are_listed_for_their_own(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  static const struct {
    const char *id, *principal, *endpoint;
    int64_t created_ms, expires_ms;
  } rows[] = {
      {"late", "alice", "", 1500, far_ms},  {"first", "alice", "", 1000, far_ms}, {"second", "alice", "", 1000, far_ms},
      {"bobs", "bob", "", 1100, far_ms},    {"other", "alice", "one", 1, far_ms}, {"gone", "alice", "", 1200, 2000},
      {"third", "alice", "", 1000, far_ms}, {"public", NULL, "", 1, far_ms},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_stored_task task = task_of(rows[i].id);
    task.principal = rows[i].principal ? hf_str_from(rows[i].principal) : (struct hf_str){NULL, 0};
    task.endpoint = hf_str_from(rows[i].endpoint);
    task.created_ms = rows[i].created_ms;
    task.expires_ms = rows[i].expires_ms;
    task.status = HF_TASK_COMPLETED;
    task.result = HF_STR("{}");
    assert_int_equal(keep(db, task), 0);
  }
  list_into(db, "alice", "", NULL, 10, 0, "first second third late ");
  assert_null(found.task[0].row.result.ptr);
  assert_string_equal(found.task[0].tool, "reports__make");
  list_into(db, "alice", "", NULL, 3, 0, "first second third ");
  list_into(db, "alice", "", "first", 2, 0, "second third ");
  list_into(db, "alice", "", "third", 10, 0, "late ");
  list_into(db, "alice", "", "late", 10, 0, "");
  list_into(db, "alice", "", NULL, 0, 0, "");
  list_into(db, "alice", "", "gone", 10, 0, "late "); /* its place is known as long as it is */
  list_into(db, "alice", "one", NULL, 10, 0, "other ");
  list_into(db, "bob", "", NULL, 10, 0, "bobs ");
  list_into(db, NULL, "", NULL, 10, 0, "public ");
  list_into(db, "carol", "", NULL, 10, 0, "");
  list_into(db, "alice", "", "never", 10, HF_ERR_NOTFOUND, "");
  list_into(db, "alice", "", "bobs", 10, HF_ERR_NOTFOUND, ""); /* nor does it say that there is one */
  list_into(db, "alice", "", "other", 10, HF_ERR_NOTFOUND, "");
  hf_database_close(db);
}

static void tasks__of_a_living_owner_are_its_own(void **state) {
  (void)state;
  struct place place;
  place_init(&place);
  struct hf_database *a = open_place(&place);
  struct hf_database *b = open_place(&place);
  const struct hf_stored_task task = task_of("t-1");
  assert_int_equal(keep(a, task), 0);
  assert_false(find(a, "t-1")->task[0].row.elsewhere);
  assert_true(find(b, "t-1")->task[0].row.elsewhere);
  assert_int_equal(keep(b, task), HF_ERR_BUSY);
  assert_int_equal(ALONE(b, hf_database_drop_task(b, task.id)), 0);
  assert_int_equal(take(b, 2000)->count, 0);
  assert_int_equal(find(a, "t-1")->count, 1);
  /* One that is done may be forgotten by anybody. */
  assert_int_equal(keep(a, (struct hf_stored_task){.id = HF_STR("t-1"), .status = HF_TASK_CANCELLED}), 0);
  assert_int_equal(ALONE(b, hf_database_drop_task(b, task.id)), 0);
  assert_int_equal(find(a, "t-1")->count, 0);
  hf_database_close(a);
  hf_database_close(b);
  remove_directory(place.dir);
}

/* What its server may still be at is followed; of the rest it is not known whether it ran. */
static void leave_tasks(struct hf_database *db) {
  struct hf_stored_task task = task_of("t-followed");
  task.server = HF_STR("reports");
  task.server_task = HF_STR("theirs");
  intend(db, 1, "call-1");
  assert_int_equal(keep(db, task), 0);
  task = task_of("t-ours");
  task.call = HF_STR("call-2");
  task.status = HF_TASK_INPUT_REQUIRED;
  task.created_ms = 1001;
  intend(db, 2, "call-2");
  assert_int_equal(keep(db, task), 0);
  task = task_of("t-done");
  task.call = HF_STR("call-3");
  task.server_task = HF_STR("theirs-3");
  task.status = HF_TASK_COMPLETED;
  task.result = HF_STR("{}");
  intend(db, 3, "call-3"); /* it is not known that this has ended */
  assert_int_equal(keep(db, task), 0);
  intend(db, 4, "call-4"); /* no task */
}

static void tasks__of_a_dead_owner_are_taken_by_one(void **state) {
  (void)state;
  struct place place;
  place_init(&place);
  struct hf_database *dying = open_place(&place);
  struct hf_database *b = open_place(&place);
  struct hf_database *c = open_place(&place);
  leave_tasks(dying);
  intend(c, 5, "call-5"); /* of the living */
  assert_int_equal(take(b, 2000)->count, 0);
  hf_database_close(dying);
  assert_int_equal(hf_database_recover(c, 2000), 0); /* whoever looks first, takes nothing */
  assert_int_equal(hf_database_tasks_left(c, 2000), 1);
  const struct seen *seen = take(b, 2000);
  assert_int_equal(seen->count, 2);
  assert_string_equal(seen->task[0].id, "t-followed");
  assert_string_equal(seen->task[0].server, "reports");
  assert_string_equal(seen->task[0].server_task, "theirs");
  assert_string_equal(seen->task[0].call, "call-1");
  assert_string_equal(seen->task[0].letter, "");
  assert_string_equal(seen->task[1].id, "t-ours");
  assert_int_equal(seen->task[1].row.status, HF_TASK_INPUT_REQUIRED);
  char letter[HF_LETTER_ID_MAX];
  copy_text(letter, sizeof letter, hf_str_from(seen->task[1].letter));
  assert_int_equal(hf_database_tasks_left(c, 2000), 0);
  assert_int_equal(take(b, 2000)->count, 0); /* once */
  assert_int_equal(take(c, 2000)->count, 0);
  assert_true(find(c, "t-followed")->task[0].row.elsewhere);
  assert_false(find(c, "t-done")->task[0].row.elsewhere);

  const struct read_letters *letters = read_all(b);
  assert_int_equal(letters->count, 3);
  for (size_t i = 0; i < 3; i++) {
    assert_string_not_equal(letters->letter[i].call, "call-1");
    assert_string_equal(letters->letter[i].reason, "gateway_died");
    if (strcmp(letters->letter[i].call, "call-2") == 0)
      assert_string_equal(letters->letter[i].id, letter);
  }
  assert_int_equal(number_in(&place, "SELECT count(*) FROM intents"), 2);
  assert_int_equal(number_in(&place, "SELECT count(*) FROM owners"), 2);
  hf_database_close(b);
  hf_database_close(c);
  remove_directory(place.dir);
}

static void ignore(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  (void)ctx, (void)news, (void)letter;
}

static void sweep(struct hf_database *db, int64_t now_ms) {
  bool more = false;
  assert_int_equal(hf_database_sweep(db, now_ms, ignore, NULL, &more), 0);
}

static void tasks__go_from_one_dead_owner_to_the_next(void **state) {
  (void)state;
  struct place place;
  place_init(&place);
  struct hf_database *db = open_place(&place);
  leave_tasks(db);
  for (int i = 0; i < 3; i++) {
    hf_database_close(db);
    db = open_place(&place);
    const struct seen *seen = take(db, 2000);
    assert_int_equal(seen->count, 2);
    assert_string_equal(seen->task[0].id, "t-followed");
    sweep(db, 2000);
    assert_int_equal(read_all(db)->count, 3);
  }
  /* The last one gets its result, and says what became of the other. */
  assert_int_equal(keep(db, (struct hf_stored_task){.id = HF_STR("t-followed"), .status = HF_TASK_COMPLETED}), 0);
  assert_int_equal(ALONE(db, hf_database_settle(db, HF_STR("call-1"))), 0);
  assert_int_equal(keep(db, (struct hf_stored_task){.id = HF_STR("t-ours"), .status = HF_TASK_FAILED}), 0);
  hf_database_close(db);
  assert_int_equal(number_in(&place, "SELECT count(*) FROM owners"), 0); /* it left nothing */
  db = open_place(&place);
  assert_int_equal(take(db, 2000)->count, 0);
  assert_int_equal(read_all(db)->count, 3);
  hf_database_close(db);
  remove_directory(place.dir);
}

static void tasks__go_when_they_expire(void **state) {
  (void)state;
  struct place place;
  place_init(&place);
  struct hf_database *a = open_place(&place);
  struct hf_database *b = open_place(&place);
  struct hf_stored_task task = task_of("t-done");
  task.status = HF_TASK_FAILED;
  task.expires_ms = 5000;
  assert_int_equal(keep(a, task), 0);
  task = task_of("t-works");
  task.expires_ms = 5000;
  assert_int_equal(keep(a, task), 0);
  sweep(b, 4999);
  assert_int_equal(number_in(&place, "SELECT count(*) FROM tasks"), 2);
  sweep(b, 5000);
  assert_int_equal(find(b, "t-done")->count, 0);
  assert_int_equal(find(b, "t-works")->count, 1); /* the living one's own business */
  found.count = 0;
  assert_int_equal(hf_database_find_task(a, HF_STR("t-works"), 5000, see, &found), 0);
  assert_int_equal(found.count, 0);
  hf_database_close(a);
  assert_int_equal(take(b, 5000)->count, 0); /* nobody has asked for it in time */
  sweep(b, 5000);
  assert_int_equal(number_in(&place, "SELECT count(*) FROM tasks"), 0);
  hf_database_close(b);
  remove_directory(place.dir);
}

/* Nobody asks about the task any more, but the call may have run. */
static void tasks__that_expire_untaken_leave_letters(void **state) {
  (void)state;
  static const enum { WHEN_IT_DIED, LATER, DROPPED } ends[] = {WHEN_IT_DIED, LATER, DROPPED};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    struct place place;
    place_init(&place);
    struct hf_database *dying = open_place(&place);
    struct hf_database *b = open_place(&place);
    struct hf_stored_task task = task_of("t-1");
    task.server_task = HF_STR("theirs");
    task.expires_ms = 5000;
    intend(dying, 1, "call-1");
    assert_int_equal(keep(dying, task), 0);
    hf_database_close(dying);
    assert_int_equal(hf_database_recover(b, ends[i] == WHEN_IT_DIED ? 5000 : 4000), 0);
    assert_int_equal(read_all(b)->count, ends[i] == WHEN_IT_DIED);
    sweep(b, 4000);
    assert_int_equal(read_all(b)->count, ends[i] == WHEN_IT_DIED);
    if (ends[i] == DROPPED)
      assert_int_equal(ALONE(b, hf_database_drop_task(b, task.id)), 0);
    sweep(b, ends[i] == DROPPED ? 4000 : 5000);
    const struct read_letters *letters = read_all(b);
    assert_int_equal(letters->count, 1);
    assert_string_equal(letters->letter[0].call, "call-1");
    assert_string_equal(letters->letter[0].executed, "maybe");
    assert_int_equal(number_in(&place, "SELECT count(*) FROM tasks"), 0);
    assert_int_equal(number_in(&place, "SELECT count(*) FROM intents"), 0);
    hf_database_close(b);
    remove_directory(place.dir);
  }
}

static void tasks__a_result_is_bounded(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  char *text = malloc(HF_TASK_RESULT_MAX + 1);
  assert_non_null(text);
  memset(text, ' ', HF_TASK_RESULT_MAX + 1);
  struct hf_stored_task task = task_of("t-1");
  assert_int_equal(keep(db, task), 0);
  task.status = HF_TASK_COMPLETED;
  task.result = (struct hf_str){text, HF_TASK_RESULT_MAX + 1};
  assert_int_equal(keep(db, task), HF_ERR_LIMIT);
  assert_int_equal(find(db, "t-1")->task[0].row.status, HF_TASK_WORKING); /* all or nothing */
  task.result.len = HF_TASK_RESULT_MAX;
  assert_int_equal(keep(db, task), 0);
  assert_int_equal(find(db, "t-1")->task[0].row.result.len, HF_TASK_RESULT_MAX);
  free(text);
  hf_database_close(db);
}

static void tasks__are_bounded_in_number(void **state) {
  (void)state;
  struct place place;
  place_init(&place);
  struct hf_database *db = open_place(&place);
  (void)number_in(&place, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 65535)"
                          " INSERT INTO tasks (id, owner, status, failed, created_ms, updated_ms, expires_ms,"
                          " principal, endpoint) SELECT i, 'x', 2, 0, 1, 1, 9000, 'p', '' FROM n");
  struct hf_store_stats stats;
  assert_int_equal(hf_database_stats(db, &stats), 0);
  assert_int_equal(stats.tasks, 65535);
  assert_int_equal(keep(db, task_of("t-last")), 0);
  assert_int_equal(keep(db, task_of("t-beyond")), HF_ERR_LIMIT);
  assert_int_equal(keep(db, task_of("t-last")), 0); /* it has its place */
  assert_int_equal(find(db, "1")->count, 1);        /* nothing went for a newer one */
  sweep(db, 9000);
  assert_int_equal(keep(db, task_of("t-beyond")), 0);
  assert_int_equal(hf_database_stats(db, &stats), 0);
  assert_int_equal(stats.tasks, 2);
  hf_database_close(db);
  remove_directory(place.dir);
}

static void tasks__results_are_bounded_together(void **state) {
  (void)state;
  struct place place;
  place_init(&place);
  struct hf_database *db = open_place(&place);
  struct hf_stored_task task = task_of("t-1");
  task.status = HF_TASK_COMPLETED;
  task.result = HF_STR("{\"text\":\"ä\"}");
  assert_int_equal(keep(db, task), 0);
  assert_int_equal(number_in(&place, "SELECT bytes FROM task_totals"), 13); /* not letters */
  task.result = HF_STR("{}");
  assert_int_equal(keep(db, task), 0);
  assert_int_equal(keep(db, (struct hf_stored_task){.id = HF_STR("t-1"), .status = HF_TASK_COMPLETED}), 0);
  assert_int_equal(number_in(&place, "SELECT bytes FROM task_totals"), 2);
  task.id = HF_STR("t-2");
  assert_int_equal(keep(db, task), 0);
  assert_int_equal(ALONE(db, hf_database_drop_task(db, HF_STR("t-1"))), 0);
  assert_int_equal(number_in(&place, "SELECT bytes FROM task_totals"), 2);
  /* As if there were so many. */
  (void)number_in(&place, "UPDATE task_totals SET bytes = 256 * 1024 * 1024 - 2");
  task.id = HF_STR("t-3");
  assert_int_equal(keep(db, task), 0);
  task.id = HF_STR("t-4");
  task.result = HF_STR("1");
  assert_int_equal(keep(db, task), HF_ERR_LIMIT);
  assert_int_equal(keep(db, task_of("t-4")), 0); /* it has none yet */
  assert_int_equal(keep(db, task), HF_ERR_LIMIT);
  assert_int_equal(ALONE(db, hf_database_drop_task(db, HF_STR("t-3"))), 0);
  assert_int_equal(keep(db, task), 0);
  hf_database_close(db);
  remove_directory(place.dir);
}

/* Behind the seam. */

struct world {
  uv_loop_t uv;
  uv_timer_t patience;
  struct hf_loop loop;
  struct place place;
  struct hf_store_settings settings;
  struct hf_store *store;
};

static void on_patience(uv_timer_t *timer) {
  (void)timer;
  fail_msg("nobody answered");
}

static struct hf_store *open_store(struct world *world) {
  const struct hf_store_options options = {.uv = &world->uv,
                                           .loop = &world->loop,
                                           .path = world->place.path,
                                           .settings = &world->settings,
                                           .look_every = HF_MS(1)};
  struct hf_store *store = NULL;
  struct hf_error error = {0};
  if (hf_store_new(&options, &store, &error) < 0)
    fail_msg("%s", error.text);
  return store;
}

static void world_init(struct world *world) {
  memset(world, 0, sizeof *world);
  world->settings = keep_all();
  place_init(&world->place);
  uv_loop_init(&world->uv);
  uv_timer_init(&world->uv, &world->patience);
  uv_timer_start(&world->patience, on_patience, PATIENCE_MS, 0);
  hf_loop_init(&world->loop, 1, NULL);
  world->store = open_store(world);
}

static void world_deinit(struct world *world) {
  hf_store_free(world->store);
  uv_close((uv_handle_t *)&world->patience, NULL);
  uv_run(&world->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&world->uv), 0);
  hf_loop_deinit(&world->loop);
  remove_directory(world->place.dir);
}

#define RUN_UNTIL(world, condition)                                                                                    \
  while (!(condition))                                                                                                 \
  uv_run(&(world)->uv, UV_RUN_ONCE)

struct waiter {
  struct hf_store_wait wait;
  bool done;
  int error;
};

static void on_kept(struct hf_store_wait *wait, int error, struct hf_str id) {
  struct waiter *waiter = HF_CONTAINER_OF(wait, struct waiter, wait);
  assert_null(id.ptr);
  waiter->done = true;
  waiter->error = error;
}

static int keep_in(struct world *world, struct hf_store *store, struct hf_stored_task task) {
  struct waiter waiter = {.wait = {.done = on_kept}};
  store->ops->keep_task(store, &task, &waiter.wait);
  assert_false(waiter.done);
  RUN_UNTIL(world, waiter.done);
  return waiter.error;
}

struct query {
  struct hf_task_query query;
  struct hf_store *store;
  struct seen seen;
  bool forgets; /* when it has seen one */
  bool done;
  int error;
};

static void on_row(void *ctx, const struct hf_stored_task *task) {
  struct query *query = ctx;
  see(&query->seen, task);
  if (query->forgets)
    query->store->ops->forget_task_query(query->store, &query->query);
}

static void on_found(struct hf_task_query *task_query, int error) {
  struct query *query = HF_CONTAINER_OF(task_query, struct query, query);
  assert_false(query->done);
  query->done = true;
  query->error = error;
}

static struct query *query_of(struct hf_store *store) {
  struct query *query = calloc(1, sizeof *query);
  assert_non_null(query);
  query->store = store;
  query->query = (struct hf_task_query){.row = on_row, .done = on_found, .ctx = query};
  return query;
}

static struct query *find_in(struct world *world, struct hf_store *store, const char *id) {
  struct query *query = query_of(store);
  store->ops->find_task(store, hf_str_from(id), &query->query);
  assert_false(query->done);
  RUN_UNTIL(world, query->done);
  return query;
}

static const struct hf_task_filter of_alice = {.principal = {"alice", 5}, .endpoint = {"", 0}, .limit = 10};

static void tasks__answers_come_in_the_order_of_the_questions(void **state) {
  (void)state;
  struct world world;
  world_init(&world);
  struct hf_store *store = world.store;
  char id[] = "t-1";
  const struct hf_stored_task task = task_of(id);
  struct query *before = query_of(store);
  struct query *after = query_of(store);
  struct query *list = query_of(store);
  store->ops->find_task(store, task.id, &before->query);
  store->ops->keep_task(store, &task, NULL); /* nobody waits */
  store->ops->find_task(store, task.id, &after->query);
  store->ops->list_tasks(store, &of_alice, &list->query);
  store->ops->drop_task(store, task.id);
  memset(id, 'x', sizeof id - 1); /* what was given is copied */
  RUN_UNTIL(&world, list->done);
  assert_true(before->done && after->done);
  assert_int_equal(before->seen.count, 0);
  assert_int_equal(after->seen.count, 1);
  assert_string_equal(after->seen.task[0].id, "t-1");
  assert_int_equal(list->seen.count, 1);
  free(before);
  free(after);
  free(list);
  list = find_in(&world, store, "t-1");
  assert_int_equal(list->seen.count, 0);
  assert_int_equal(list->error, 0);
  free(list);
  world_deinit(&world);
}

static void tasks__who_waits_is_told_why_not(void **state) {
  (void)state;
  struct world world;
  world_init(&world);
  struct hf_store *store = world.store;
  assert_int_equal(keep_in(&world, store, task_of("t-1")), 0);
  assert_int_equal(keep_in(&world, store, (struct hf_stored_task){.id = HF_STR("t-2")}), HF_ERR_NOTFOUND);
  struct query *query = query_of(store);
  struct hf_task_filter filter = of_alice;
  filter.after = HF_STR("never");
  store->ops->list_tasks(store, &filter, &query->query);
  RUN_UNTIL(&world, query->done);
  assert_int_equal(query->error, HF_ERR_NOTFOUND);
  free(query);
  world_deinit(&world);
}

static void tasks__a_query_that_is_forgotten_is_not_answered(void **state) {
  (void)state;
  struct world world;
  world_init(&world);
  struct hf_store *store = world.store;
  assert_int_equal(keep_in(&world, store, task_of("t-1")), 0);
  assert_int_equal(keep_in(&world, store, task_of("t-2")), 0);
  struct query *at_once = query_of(store);
  struct query *amid = query_of(store);
  store->ops->list_tasks(store, &of_alice, &at_once->query);
  store->ops->forget_task_query(store, &at_once->query);
  amid->forgets = true;
  store->ops->list_tasks(store, &of_alice, &amid->query);
  free(find_in(&world, store, "t-1"));
  assert_false(at_once->done);
  assert_int_equal(at_once->seen.count, 0);
  assert_false(amid->done);
  assert_int_equal(amid->seen.count, 1);
  free(at_once);
  free(amid);
  world_deinit(&world);
}

static void tasks__a_refusal_needs_no_memory_and_may_be_forgotten(void **state) {
  (void)state;
  struct world world;
  world_init(&world);
  struct hf_store *store = world.store;
  const struct hf_stored_task task = task_of("t-1");
  struct query *queries[3];
  struct waiter waiter = {.wait = {.done = on_kept}};
  for (int i = 0; i < 3; i++) {
    queries[i] = query_of(store);
    hf_alloc_fail_after(0);
    store->ops->find_task(store, HF_STR("t-1"), &queries[i]->query);
  }
  hf_alloc_fail_after(0);
  store->ops->keep_task(store, &task, &waiter.wait);
  hf_alloc_fail_after(0);
  store->ops->keep_task(store, &task, NULL);
  hf_alloc_fail_after(-1);
  store->ops->forget_task_query(store, &queries[2]->query);
  store->ops->forget_task_query(store, &queries[0]->query);
  RUN_UNTIL(&world, queries[1]->done && waiter.done);
  assert_int_equal(queries[1]->error, HF_ERR_NOMEM);
  assert_int_equal(waiter.error, HF_ERR_NOMEM);
  assert_false(queries[0]->done || queries[2]->done);
  for (int i = 0; i < 3; i++)
    free(queries[i]);
  struct query *query = find_in(&world, store, "t-1");
  assert_int_equal(query->seen.count, 0);
  free(query);
  world_deinit(&world);
}

static void tasks__are_told_at_the_start_to_one_of_several(void **state) {
  (void)state;
  struct world world;
  struct seen first = {0};
  struct seen second = {0};
  world_init(&world);
  struct hf_stored_task task = task_of("t-1");
  task.server_task = HF_STR("theirs");
  assert_int_equal(keep_in(&world, world.store, task), 0);
  hf_store_free(world.store);
  world.store = open_store(&world);
  struct hf_store *other = open_store(&world);
  world.store->ops->take_tasks(world.store, see, &first);
  other->ops->take_tasks(other, see, &second);
  assert_int_equal(first.count, 1); /* within the question */
  assert_string_equal(first.task[0].server_task, "theirs");
  assert_int_equal(second.count, 0);
  struct query *query = find_in(&world, other, "t-1");
  assert_true(query->seen.task[0].row.elsewhere);
  free(query);
  assert_int_equal(keep_in(&world, other, task), HF_ERR_BUSY);
  assert_int_equal(keep_in(&world, world.store, task), 0);

  /* The other one goes on with it, while it lives. */
  hf_store_free(world.store);
  RUN_UNTIL(&world, second.count > 0);
  assert_int_equal(second.count, 1);
  assert_string_equal(second.task[0].id, "t-1");
  assert_int_equal(keep_in(&world, other, task), 0);
  assert_int_equal(first.count, 1);
  world.store = other;
  world_deinit(&world);
}

static void tasks__that_cannot_be_taken_now_are_taken_later(void **state) {
  (void)state;
  struct world world;
  struct seen seen = {0};
  world_init(&world);
  assert_int_equal(keep_in(&world, world.store, task_of("t-1")), 0);
  hf_store_free(world.store);
  world.store = open_store(&world);
  hf_alloc_fail_after(0);
  world.store->ops->take_tasks(world.store, see, &seen);
  hf_alloc_fail_after(-1);
  assert_int_equal(seen.count, 0);
  RUN_UNTIL(&world, seen.count > 0);
  assert_int_equal(seen.count, 1);
  assert_string_equal(seen.task[0].id, "t-1");
  world_deinit(&world);
}

static void tasks__statuses_have_names(void **state) {
  (void)state;
  static const char *const names[] = {"working", "input_required", "completed", "failed", "cancelled", "unknown"};
  for (int i = 0; i <= HF_TASK_STATUS_COUNT; i++)
    assert_string_equal(hf_task_status_name((enum hf_task_status)i), names[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks__are_kept_as_they_were_given),
      cmocka_unit_test(tasks__what_is_absent_stays_as_it_was),
      cmocka_unit_test(tasks__a_new_one_says_when_it_began_and_ends),
      cmocka_unit_test(tasks__are_listed_for_their_own),
      cmocka_unit_test(tasks__of_a_living_owner_are_its_own),
      cmocka_unit_test(tasks__of_a_dead_owner_are_taken_by_one),
      cmocka_unit_test(tasks__go_from_one_dead_owner_to_the_next),
      cmocka_unit_test(tasks__go_when_they_expire),
      cmocka_unit_test(tasks__that_expire_untaken_leave_letters),
      cmocka_unit_test(tasks__a_result_is_bounded),
      cmocka_unit_test(tasks__are_bounded_in_number),
      cmocka_unit_test(tasks__results_are_bounded_together),
      cmocka_unit_test(tasks__answers_come_in_the_order_of_the_questions),
      cmocka_unit_test(tasks__who_waits_is_told_why_not),
      cmocka_unit_test(tasks__a_query_that_is_forgotten_is_not_answered),
      cmocka_unit_test(tasks__a_refusal_needs_no_memory_and_may_be_forgotten),
      cmocka_unit_test(tasks__are_told_at_the_start_to_one_of_several),
      cmocka_unit_test(tasks__that_cannot_be_taken_now_are_taken_later),
      cmocka_unit_test(tasks__statuses_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
