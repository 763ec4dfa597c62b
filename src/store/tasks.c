/* Tasks: how they are kept, found, and handed on. One that is unfinished belongs to its owner while that lives; one
 * that a dead owner left belongs to nobody (''), and whoever takes it does so in one transaction. */
#include "store/database.h"

#include "store/database_state.h"

#include <assert.h>
#include <stddef.h>

/* The texts of a task, by column. */
static const struct {
  enum hf_task_column column;
  size_t offset;
} texts[] = {
    {HF_TASK_COLUMN_ID, offsetof(struct hf_stored_task, id)},
    {HF_TASK_COLUMN_PRINCIPAL, offsetof(struct hf_stored_task, principal)},
    {HF_TASK_COLUMN_ENDPOINT, offsetof(struct hf_stored_task, endpoint)},
    {HF_TASK_COLUMN_CALL, offsetof(struct hf_stored_task, call)},
    {HF_TASK_COLUMN_TOOL, offsetof(struct hf_stored_task, tool)},
    {HF_TASK_COLUMN_SERVER, offsetof(struct hf_stored_task, server)},
    {HF_TASK_COLUMN_SERVER_TASK, offsetof(struct hf_stored_task, server_task)},
    {HF_TASK_COLUMN_MESSAGE, offsetof(struct hf_stored_task, message)},
    {HF_TASK_COLUMN_RESULT, offsetof(struct hf_stored_task, result)},
};

static void bind_int(sqlite3_stmt *s, int parameter, int64_t number) {
  if (s)
    (void)sqlite3_bind_int64(s, parameter, number);
}

int hf_database_task_totals(struct hf_database *database, uint64_t *ret_count, uint64_t *ret_bytes) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_TOTALS);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r < 0 ? r : HF_ERR_IO;
  *ret_count = (uint64_t)sqlite3_column_int64(s, 0);
  *ret_bytes = (uint64_t)sqlite3_column_int64(s, 1);
  return hf_database_run(database, s);
}

/* Is it known, and whose is it? 1, 0, or HF_ERR_BUSY for one that is another's. */
static int look_up(struct hf_database *database, struct hf_str id) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_OWNER);
  hf_bind_str(s, 1, id);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r;
  const struct hf_str owner = hf_column_str(s, 0);
  const bool ours = owner.len == 0 || hf_str_equal(owner, hf_database_owner(database));
  r = hf_database_run(database, s);
  return r < 0 ? r : ours ? 1 : HF_ERR_BUSY;
}

/* There is room for one more, if it is new, and for its result. */
static int check_room(struct hf_database *database, const struct hf_stored_task *task, bool known) {
  uint64_t count = 0;
  uint64_t bytes = 0;
  if (known && !task->result.ptr)
    return 0;
  if (task->result.len > HF_TASK_RESULT_MAX)
    return HF_ERR_LIMIT;
  int r = hf_database_task_totals(database, &count, &bytes);
  if (r < 0)
    return r;
  return (!known && count >= HF_TASKS_STORED_MAX) || bytes + task->result.len > HF_TASKS_STORED_BYTES_MAX ? HF_ERR_LIMIT
                                                                                                          : 0;
}

static int put(struct hf_database *database, const struct hf_stored_task *task) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_PUT);
  /* What a row must have is empty, not absent; it is not changed later. */
  hf_bind_str(s, HF_TASK_COLUMN_PRINCIPAL + 1, HF_STR(""));
  hf_bind_str(s, HF_TASK_COLUMN_ENDPOINT + 1, HF_STR(""));
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct hf_str text;
    memcpy(&text, (const char *)task + texts[i].offset, sizeof text);
    hf_bind_str(s, (int)texts[i].column + 1, text);
  }
  hf_bind_str(s, HF_TASK_COLUMN_OWNER + 1, hf_database_owner(database));
  bind_int(s, HF_TASK_COLUMN_STATUS + 1, task->status);
  bind_int(s, HF_TASK_COLUMN_FAILED + 1, task->failed);
  bind_int(s, HF_TASK_COLUMN_CREATED_MS + 1, task->created_ms);
  bind_int(s, HF_TASK_COLUMN_UPDATED_MS + 1, task->updated_ms);
  bind_int(s, HF_TASK_COLUMN_EXPIRES_MS + 1, task->expires_ms);
  return hf_database_run(database, s);
}

int hf_database_keep_task(struct hf_database *database, const struct hf_stored_task *task) {
  assert(database->owns && task->status < HF_TASK_STATUS_COUNT);
  const int known = look_up(database, task->id);
  if (known < 0)
    return known;
  if (!known && (task->created_ms == 0 || task->expires_ms == 0))
    return HF_ERR_NOTFOUND;
  int r = check_room(database, task, known > 0);
  return r == 0 ? put(database, task) : r;
}

int hf_database_drop_task(struct hf_database *database, struct hf_str id) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_DROP);
  hf_bind_str(s, 1, id);
  hf_bind_str(s, 2, hf_database_owner(database));
  return hf_database_run(database, s);
}

static bool is_elsewhere(const struct hf_database *database, struct hf_str owner) {
  char id[HF_OWNER_ID_LEN + 1] = "";
  if (owner.len != HF_OWNER_ID_LEN || hf_str_equal(owner, hf_database_owner(database)))
    return false;
  memcpy(id, owner.ptr, owner.len);
  return !hf_owner_is_dead(&database->owner, id);
}

static struct hf_stored_task read_small(const struct hf_database *database, sqlite3_stmt *s) {
  return (struct hf_stored_task){
      .id = hf_column_str(s, HF_TASK_COLUMN_ID),
      .principal = hf_column_str(s, HF_TASK_COLUMN_PRINCIPAL),
      .endpoint = hf_column_str(s, HF_TASK_COLUMN_ENDPOINT),
      .call = hf_column_str(s, HF_TASK_COLUMN_CALL),
      .tool = hf_column_str(s, HF_TASK_COLUMN_TOOL),
      .server = hf_column_str(s, HF_TASK_COLUMN_SERVER),
      .server_task = hf_column_str(s, HF_TASK_COLUMN_SERVER_TASK),
      .letter = hf_column_str(s, HF_TASK_COLUMN_LETTER),
      .status = (enum hf_task_status)sqlite3_column_int(s, HF_TASK_COLUMN_STATUS),
      .failed = sqlite3_column_int(s, HF_TASK_COLUMN_FAILED) != 0,
      .message = hf_column_str(s, HF_TASK_COLUMN_MESSAGE),
      .created_ms = sqlite3_column_int64(s, HF_TASK_COLUMN_CREATED_MS),
      .updated_ms = sqlite3_column_int64(s, HF_TASK_COLUMN_UPDATED_MS),
      .expires_ms = sqlite3_column_int64(s, HF_TASK_COLUMN_EXPIRES_MS),
      .elsewhere = is_elsewhere(database, hf_column_str(s, HF_TASK_COLUMN_OWNER)),
  };
}

int hf_database_find_task(struct hf_database *database, struct hf_str id, int64_t now_ms, hf_stored_task_fn *task,
                          void *ctx) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_GET);
  hf_bind_str(s, 1, id);
  bind_int(s, 2, now_ms);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r;
  struct hf_stored_task found = read_small(database, s);
  found.result = hf_column_str(s, HF_TASK_COLUMN_RESULT);
  task(ctx, &found);
  return hf_database_run(database, s);
}

/* Where the list begins: behind the one that was named. */
static int find_place(struct hf_database *database, const struct hf_task_filter *filter, int64_t *ret_created_ms,
                      int64_t *ret_row) {
  *ret_created_ms = INT64_MIN;
  *ret_row = 0;
  if (!filter->after.ptr)
    return 0;
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_PLACE);
  hf_bind_str(s, 1, filter->after);
  hf_bind_str(s, 2, filter->principal);
  hf_bind_str(s, 3, filter->endpoint);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r < 0 ? r : HF_ERR_NOTFOUND;
  *ret_created_ms = sqlite3_column_int64(s, 0);
  *ret_row = sqlite3_column_int64(s, 1);
  return hf_database_run(database, s);
}

static int tell_all(struct hf_database *database, sqlite3_stmt *s, hf_stored_task_fn *task, void *ctx) {
  int r;
  while ((r = hf_database_step(database, s)) > 0) {
    const struct hf_stored_task found = read_small(database, s);
    task(ctx, &found);
  }
  return r;
}

/* Absent is empty, as it was when it was kept. */
static struct hf_str or_empty(struct hf_str text) {
  return text.ptr ? text : HF_STR("");
}

int hf_database_list_tasks(struct hf_database *database, const struct hf_task_filter *filter, int64_t now_ms,
                           hf_stored_task_fn *task, void *ctx) {
  const struct hf_task_filter wanted = {or_empty(filter->principal), or_empty(filter->endpoint), filter->after,
                                        filter->limit};
  int64_t created_ms;
  int64_t row;
  int r = find_place(database, &wanted, &created_ms, &row);
  if (r < 0)
    return r;
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_LIST);
  hf_bind_str(s, 1, wanted.principal);
  hf_bind_str(s, 2, wanted.endpoint);
  bind_int(s, 3, created_ms);
  bind_int(s, 4, row);
  bind_int(s, 5, now_ms);
  bind_int(s, 6, wanted.limit);
  return tell_all(database, s, task, ctx);
}

int hf_database_tasks_left(struct hf_database *database, int64_t now_ms) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_LEFT);
  bind_int(s, 1, now_ms);
  int r = hf_database_step(database, s);
  if (r > 0)
    (void)sqlite3_reset(s);
  return r;
}

int hf_database_take_tasks(struct hf_database *database, int64_t now_ms, hf_stored_task_fn *task, void *ctx) {
  assert(database->owns);
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_LEFT);
  bind_int(s, 1, now_ms);
  int r = tell_all(database, s, task, ctx);
  if (r < 0)
    return r;
  s = hf_database_statement(database, HF_SQL_TASK_TAKE);
  hf_bind_str(s, 1, hf_database_owner(database));
  bind_int(s, 2, now_ms);
  r = hf_database_run(database, s);
  if (r < 0)
    return r;
  s = hf_database_statement(database, HF_SQL_INTENT_TAKE);
  hf_bind_str(s, 1, hf_database_owner(database));
  return hf_database_run(database, s);
}

int hf_database_leave_tasks(struct hf_database *database, const char *owner, int64_t now_ms) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_LEAVE);
  hf_bind_str(s, 1, hf_str_from(owner));
  int r = hf_database_run(database, s);
  if (r < 0)
    return r;
  s = hf_database_statement(database, HF_SQL_INTENT_LEAVE);
  hf_bind_str(s, 1, hf_str_from(owner));
  bind_int(s, 2, now_ms);
  return hf_database_run(database, s);
}

int hf_database_name_letter(struct hf_database *database, struct hf_str call, const char *id) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TASK_LETTER);
  hf_bind_str(s, 1, call);
  hf_bind_str(s, 2, hf_str_from(id));
  return hf_database_run(database, s);
}
