/* Opening, transactions, and the tables without letters. */
#include "store/database.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/letter/redact.h"
#include "store/database_state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 5000, SECRETS_BYTES_MAX = 4 << 20, REDACTED_BYTES_MAX = 64 << 20 };

/* Notes what SQLite says, and returns the error for it. */
static int error_of(struct hf_database *database, int rc) {
  int written = snprintf(database->trouble, sizeof database->trouble, "%s",
                         database->sql ? sqlite3_errmsg(database->sql) : sqlite3_errstr(rc));
  if (written < 0)
    database->trouble[0] = '\0';
  if (rc == SQLITE_IOERR_NOMEM)
    return HF_ERR_NOMEM;
  switch (rc & 0xff) {
  case SQLITE_NOMEM:
    return HF_ERR_NOMEM;
  case SQLITE_FULL:
    return HF_ERR_FULL;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return HF_ERR_TIMEOUT;
  case SQLITE_TOOBIG:
    return HF_ERR_LIMIT;
  case SQLITE_CONSTRAINT:
    return HF_ERR_EXISTS;
  case SQLITE_ERROR:
    return HF_ERR_INVALID;
  default:
    return HF_ERR_IO;
  }
}

sqlite3_stmt *hf_database_statement(struct hf_database *database, enum hf_sql sql) {
  sqlite3_stmt **statement = &database->statements[sql];
  if (*statement) {
    sqlite3_clear_bindings(*statement);
    return *statement;
  }
  int rc = sqlite3_prepare_v3(database->sql, hf_sql_texts[sql], -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
  if (rc != SQLITE_OK)
    *statement = NULL;
  return *statement;
}

int hf_database_step(struct hf_database *database, sqlite3_stmt *statement) {
  int rc = statement ? sqlite3_step(statement) : sqlite3_extended_errcode(database->sql);
  if (rc == SQLITE_ROW)
    return 1;
  int r = rc == SQLITE_DONE ? 0 : error_of(database, rc);
  if (statement)
    (void)sqlite3_reset(statement);
  return r;
}

int hf_database_run(struct hf_database *database, sqlite3_stmt *statement) {
  int r;
  do
    r = hf_database_step(database, statement);
  while (r > 0);
  return r;
}

void hf_bind_str(sqlite3_stmt *statement, int parameter, struct hf_str text) {
  if (statement && text.ptr)
    (void)sqlite3_bind_text64(statement, parameter, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
}

void hf_bind_fingerprint(sqlite3_stmt *statement, int parameter, const struct hf_fingerprint *fingerprint) {
  if (statement)
    (void)sqlite3_bind_blob(statement, parameter, fingerprint->byte, sizeof fingerprint->byte, SQLITE_STATIC);
}

static void bind_int(sqlite3_stmt *statement, int parameter, int64_t number) {
  if (statement)
    (void)sqlite3_bind_int64(statement, parameter, number);
}

struct hf_str hf_column_str(sqlite3_stmt *statement, int column) {
  const char *text = (const char *)sqlite3_column_text(statement, column);
  return (struct hf_str){text, text ? (size_t)sqlite3_column_bytes(statement, column) : 0};
}

struct hf_fingerprint hf_column_fingerprint(sqlite3_stmt *statement, int column) {
  struct hf_fingerprint fingerprint = {{0}};
  const void *bytes = sqlite3_column_blob(statement, column);
  if (bytes && sqlite3_column_bytes(statement, column) == HF_FINGERPRINT_LEN)
    memcpy(fingerprint.byte, bytes, HF_FINGERPRINT_LEN);
  return fingerprint;
}

int hf_database_rows(struct hf_database *database, sqlite3_stmt *statement, int64_t **ret_rows, size_t *ret_count) {
  int64_t *rows = NULL;
  size_t count = 0;
  size_t cap = 0;
  int r;
  while ((r = hf_database_step(database, statement)) > 0) {
    if (count == cap) {
      size_t more = cap ? cap * 2 : 64;
      int64_t *grown = hf_realloc(rows, more * sizeof *rows);
      if (!grown) {
        r = HF_ERR_NOMEM;
        (void)sqlite3_reset(statement);
        break;
      }
      rows = grown;
      cap = more;
    }
    rows[count++] = sqlite3_column_int64(statement, 0);
  }
  if (r < 0) {
    hf_free(rows);
    return r;
  }
  *ret_rows = rows;
  *ret_count = count;
  return 0;
}

static int set_durable(struct hf_database *database, bool durable) {
  if (database->durable == durable)
    return 0;
  int rc = sqlite3_exec(database->sql, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL,
                        NULL, NULL);
  if (rc != SQLITE_OK)
    return error_of(database, rc);
  database->durable = durable;
  return 0;
}

/* After a failed sync the kernel holds what it could not write for written, so that the next sync proves nothing about
 * it. Copying the whole WAL into the database writes it once more. */
static int mend(struct hf_database *database) {
  if (!database->suspect)
    return 0;
  int rc = sqlite3_wal_checkpoint_v2(database->sql, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
  if (rc != SQLITE_OK)
    return error_of(database, rc);
  database->suspect = false;
  return 0;
}

/* What is written to a file that was removed is nowhere, however well it is synced. */
static int check_place(struct hf_database *database) {
  int moved = 0;
  (void)sqlite3_file_control(database->sql, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (!moved)
    return 0;
  static const char removed[] = "the database was removed or replaced; a restart begins a new one";
  memcpy(database->trouble, removed, sizeof removed);
  return HF_ERR_IO;
}

int hf_database_begin(struct hf_database *database, bool durable) {
  int r = check_place(database);
  if (r == 0 && durable)
    r = mend(database);
  if (r == 0)
    r = set_durable(database, durable);
  return r == 0 ? hf_database_run(database, hf_database_statement(database, HF_SQL_BEGIN)) : r;
}

int hf_database_commit(struct hf_database *database) {
  int r = hf_database_run(database, hf_database_statement(database, HF_SQL_COMMIT));
  if (r < 0) {
    database->suspect |= r == HF_ERR_IO || r == HF_ERR_FULL;
    hf_database_rollback(database);
    return r;
  }
  database->news_committed = database->news_count;
  return 0;
}

void hf_database_rollback(struct hf_database *database) {
  if (!sqlite3_get_autocommit(database->sql)) {
    char trouble[HF_TROUBLE_MAX];
    memcpy(trouble, database->trouble, sizeof trouble);
    (void)hf_database_run(database, hf_database_statement(database, HF_SQL_ROLLBACK));
    memcpy(database->trouble, trouble, sizeof trouble);
  }
  database->news_count = database->news_committed;
}

void hf_database_tell(struct hf_database *database, enum hf_store_news news, int64_t row) {
  if (database->news_count == database->news_cap) {
    size_t more = database->news_cap ? database->news_cap * 2 : 16;
    struct hf_database_news *grown = hf_realloc(database->news, more * sizeof *grown);
    if (!grown)
      return;
    database->news = grown;
    database->news_cap = more;
  }
  database->news[database->news_count++] = (struct hf_database_news){news, row};
}

struct teller {
  enum hf_store_news news;
  hf_store_news_fn *tell;
  void *ctx;
};

static void tell_letter(void *ctx, const struct hf_letter *letter) {
  const struct teller *teller = ctx;
  teller->tell(teller->ctx, teller->news, letter);
}

void hf_database_news(struct hf_database *database, hf_store_news_fn *news, void *ctx) {
  assert(sqlite3_get_autocommit(database->sql));
  for (size_t i = 0; i < database->news_count; i++) {
    struct teller teller = {database->news[i].news, news, ctx};
    (void)hf_database_letter(database, database->news[i].row, tell_letter, &teller);
  }
  database->news_count = database->news_committed = 0;
}

struct hf_str hf_database_kept(const struct hf_database *database, struct hf_str arguments, struct hf_buf *space,
                               bool *redacted) {
  if (!database->settings.redact || !arguments.ptr)
    return arguments;
  bool changed = false;
  if (hf_redact(arguments, &database->settings.secrets, space, &changed) < 0) {
    *redacted = true;
    return (struct hf_str){NULL, 0};
  }
  *redacted |= changed;
  return hf_buf_str(space);
}

int hf_database_intend(struct hf_database *database, const struct hf_intent *intent) {
  assert(database->owns);
  struct hf_buf space;
  hf_buf_init(&space, REDACTED_BYTES_MAX);
  bool redacted = false;
  const struct hf_str arguments = hf_database_kept(database, intent->arguments, &space, &redacted);
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_INTEND);
  hf_bind_str(s, 1, intent->call);
  hf_bind_str(s, 2, hf_database_owner(database));
  bind_int(s, 3, intent->priority);
  bind_int(s, 4, intent->at_ms);
  bind_int(s, 5, redacted);
  hf_bind_fingerprint(s, 6, &intent->fingerprint);
  hf_bind_str(s, 7, intent->principal);
  hf_bind_str(s, 8, intent->server);
  hf_bind_str(s, 9, intent->tool);
  hf_bind_str(s, 10, intent->route);
  hf_bind_str(s, 11, intent->key);
  hf_bind_str(s, 12, intent->trace_id);
  hf_bind_str(s, 13, arguments);
  int r = hf_database_run(database, s);
  hf_buf_deinit(&space);
  return r;
}

int hf_database_settle(struct hf_database *database, struct hf_str call) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_SETTLE);
  hf_bind_str(s, 1, call);
  return hf_database_run(database, s);
}

/* Absent parts of a key are empty in its row, because NULLs are never equal to each other. */
static struct hf_str or_empty(struct hf_str text) {
  return text.ptr ? text : HF_STR("");
}

static struct hf_str or_absent(struct hf_str text) {
  return text.len ? text : (struct hf_str){NULL, 0};
}

int hf_database_remember(struct hf_database *database, const struct hf_keyed *keyed) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_KEY_PUT);
  hf_bind_str(s, 1, or_empty(keyed->principal));
  hf_bind_str(s, 2, or_empty(keyed->server));
  hf_bind_str(s, 3, or_empty(keyed->tool));
  hf_bind_str(s, 4, or_empty(keyed->key));
  hf_bind_fingerprint(s, 5, &keyed->fingerprint);
  bind_int(s, 6, keyed->first_ms);
  bind_int(s, 7, keyed->expires_ms);
  hf_bind_str(s, 8, keyed->result);
  int r = hf_database_run(database, s);
  return r == 0 && sqlite3_changes(database->sql) == 0 ? HF_ERR_EXISTS : r;
}

int hf_database_keep(struct hf_database *database, const struct hf_cached *cached) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_CACHE_PUT);
  hf_bind_fingerprint(s, 1, &cached->fingerprint);
  bind_int(s, 2, cached->at_ms);
  bind_int(s, 3, cached->expires_ms);
  bind_int(s, 4, (int64_t)cached->result.len);
  hf_bind_str(s, 5, cached->result);
  return hf_database_run(database, s);
}

int hf_database_keys(struct hf_database *database, int64_t now_ms, hf_keyed_fn *keyed, void *ctx) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_KEY_LIST);
  bind_int(s, 1, now_ms);
  int r;
  while ((r = hf_database_step(database, s)) > 0) {
    const struct hf_keyed row = {
        .principal = or_absent(hf_column_str(s, 0)),
        .server = hf_column_str(s, 1),
        .tool = hf_column_str(s, 2),
        .key = hf_column_str(s, 3),
        .fingerprint = hf_column_fingerprint(s, 4),
        .first_ms = sqlite3_column_int64(s, 5),
        .expires_ms = sqlite3_column_int64(s, 6),
        .result = hf_column_str(s, 7),
    };
    keyed(ctx, &row);
  }
  return r;
}

int hf_database_cached(struct hf_database *database, int64_t now_ms, hf_cached_fn *cached, void *ctx) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_CACHE_LIST);
  bind_int(s, 1, now_ms);
  int r;
  while ((r = hf_database_step(database, s)) > 0) {
    const struct hf_cached row = {
        .fingerprint = hf_column_fingerprint(s, 0),
        .at_ms = sqlite3_column_int64(s, 1),
        .expires_ms = sqlite3_column_int64(s, 2),
        .result = hf_column_str(s, 3),
    };
    cached(ctx, &row);
  }
  return r;
}

struct hf_str hf_database_owner(const struct hf_database *database) {
  return hf_str_from(database->owner.id);
}

const char *hf_database_trouble(const struct hf_database *database) {
  return database->trouble;
}

int hf_database_set(struct hf_database *database, const struct hf_store_settings *settings) {
  struct hf_arena arena;
  hf_arena_init(&arena, SECRETS_BYTES_MAX);
  struct hf_store_settings copy = *settings;
  const size_t count = settings->secrets.count;
  copy.secrets.item = count ? hf_arena_alloc(&arena, count * sizeof *copy.secrets.item) : NULL;
  bool ok = copy.secrets.item || !count;
  for (size_t i = 0; ok && i < count; i++) {
    copy.secrets.item[i] = hf_arena_copy(&arena, settings->secrets.item[i]);
    ok = copy.secrets.item[i].ptr != NULL;
  }
  if (!ok) {
    hf_arena_deinit(&arena);
    return HF_ERR_NOMEM;
  }
  hf_arena_deinit(&database->arena);
  database->arena = arena;
  database->settings = copy;
  return 0;
}

/* Makes the directories on the way, for the user alone. */
static int make_directories(const char *path, struct hf_error *reterr) {
  HF_CLEANUP_FREE char *dir = hf_strndup(path, strlen(path));
  if (!dir)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
      return hf_error_set(reterr, HF_ERR_IO, "cannot make the directory '%s': %s", dir, strerror(errno));
    *slash = '/';
  }
  return 0;
}

/* SQLite gives its other files the mode of this one. */
static int make_file(const struct hf_database_options *options, struct hf_error *reterr) {
  const char *path = options->path;
  int r = options->must_exist ? 0 : make_directories(path, reterr);
  if (r < 0)
    return r;
  int fd = open(path, O_RDWR | O_CLOEXEC | (options->must_exist ? 0 : O_CREAT), 0600);
  if (fd < 0 && errno == ENOENT)
    return hf_error_set(reterr, HF_ERR_NOTFOUND, "there is no '%s'", path);
  struct stat stat;
  bool ok = fd >= 0 && fstat(fd, &stat) == 0 && ((stat.st_mode & 0077) == 0 || fchmod(fd, 0600) == 0);
  int error = errno;
  if (fd >= 0)
    close(fd);
  return ok ? 0 : hf_error_set(reterr, HF_ERR_IO, "cannot open '%s': %s", path, strerror(error));
}

static int explain(struct hf_database *database, int rc, struct hf_error *reterr) {
  int r = error_of(database, rc);
  return hf_error_set(reterr, r == HF_ERR_INVALID ? HF_ERR_IO : r, "%s", database->trouble);
}

static int read_number(struct hf_database *database, const char *pragma, int *ret_number) {
  sqlite3_stmt *statement;
  int rc = sqlite3_prepare_v2(database->sql, pragma, -1, &statement, NULL);
  if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
    *ret_number = sqlite3_column_int(statement, 0);
  int finalized = sqlite3_finalize(statement);
  return rc == SQLITE_OK ? finalized : rc;
}

static int migrate_from(struct hf_database *database, int version, struct hf_error *reterr) {
  int rc = sqlite3_exec(database->sql, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  for (; rc == SQLITE_OK && version < HF_SCHEMA_VERSION; version++)
    rc = sqlite3_exec(database->sql, hf_sql_migrations[version], NULL, NULL, NULL);
  if (rc == SQLITE_OK)
    rc = sqlite3_exec(database->sql, "COMMIT", NULL, NULL, NULL);
  if (rc == SQLITE_OK)
    return 0;
  int r = explain(database, rc, reterr);
  hf_database_rollback(database);
  return r;
}

static int migrate(struct hf_database *database, struct hf_error *reterr) {
  int version = 0;
  int application = 0;
  int tables = 0;
  int rc = read_number(database, "PRAGMA user_version", &version);
  if (rc == SQLITE_OK)
    rc = read_number(database, "PRAGMA application_id", &application);
  if (rc == SQLITE_OK)
    rc = read_number(database, "SELECT count(*) FROM sqlite_schema", &tables);
  if (rc != SQLITE_OK)
    return explain(database, rc, reterr);
  if (tables > 0 && application != HF_APPLICATION_ID)
    return hf_error_set(reterr, HF_ERR_UNSUPPORTED, "it is another program's database");
  if (version > HF_SCHEMA_VERSION)
    return hf_error_set(reterr, HF_ERR_UNSUPPORTED, "it was written by a newer version (%d, this one knows %d)",
                        version, HF_SCHEMA_VERSION);
  return version < HF_SCHEMA_VERSION ? migrate_from(database, version, reterr) : 0;
}

/* EXTRA also syncs the directory: a new database begins with a rollback journal, and if that came back after a loss of
 * power, it would undo everything. */
static int open_sql(struct hf_database *database, const struct hf_database_options *options, struct hf_error *reterr) {
  int rc = sqlite3_open_v2(options->path ? options->path : ":memory:", &database->sql,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                           options->vfs);
  if (rc == SQLITE_OK)
    rc = sqlite3_busy_timeout(database->sql, BUSY_MS);
  if (rc == SQLITE_OK)
    rc = sqlite3_exec(database->sql,
                      "PRAGMA synchronous = EXTRA;"
                      "PRAGMA auto_vacuum = INCREMENTAL;"
                      "PRAGMA journal_mode = WAL;"
                      "PRAGMA journal_size_limit = 16777216;"
                      "PRAGMA temp_store = MEMORY;"
                      "PRAGMA trusted_schema = OFF;"
                      "PRAGMA foreign_keys = OFF",
                      NULL, NULL, NULL);
  database->durable = true;
  return rc == SQLITE_OK ? migrate(database, reterr) : explain(database, rc, reterr);
}

static int become_owner(struct hf_database *database, struct hf_error *reterr) {
  int r = hf_owner_take(&database->owner, reterr);
  if (r < 0)
    return r;
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_OWNER_ADD);
  hf_bind_str(s, 1, hf_database_owner(database));
  bind_int(s, 2, getpid());
  bind_int(s, 3, hf_clock_wall_ms());
  r = hf_database_begin(database, false);
  if (r == 0)
    r = hf_database_run(database, s);
  if (r == 0)
    r = hf_database_commit(database);
  else
    hf_database_rollback(database);
  database->owns = r == 0;
  return r < 0 ? hf_error_set(reterr, r, "%s", database->trouble) : 0;
}

/* Opening goes one at a time: to switch to WAL and to migrate need the file alone, and SQLite would not wait. */
static int open_files(struct hf_database *database, const struct hf_database_options *options,
                      struct hf_error *reterr) {
  int r = options->path ? make_file(options, reterr) : 0;
  if (r == 0)
    r = hf_owner_open(&database->owner, options->path, reterr);
  if (r < 0)
    return r;
  if (hf_owner_enter(&database->owner) < 0)
    return hf_error_set(reterr, HF_ERR_IO, "cannot lock '%s-owners'", options->path);
  r = open_sql(database, options, reterr);
  if (r == 0 && options->own)
    r = become_owner(database, reterr);
  hf_owner_leave(&database->owner);
  return r < 0 ? hf_error_wrap(reterr, "open the store '%s'", options->path ? options->path : ":memory:") : 0;
}

int hf_database_open(const struct hf_database_options *options, struct hf_database **ret_database,
                     struct hf_error *reterr) {
  struct hf_error ignored;
  if (!reterr)
    reterr = &ignored;
  struct hf_database *database = hf_calloc(1, sizeof *database);
  if (!database)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  database->owner.fd = -1;
  hf_arena_init(&database->arena, SECRETS_BYTES_MAX);
  int r = hf_database_set(database, options->settings);
  r = r < 0 ? hf_error_set(reterr, r, "out of memory") : open_files(database, options, reterr);
  if (r < 0) {
    hf_database_close(database);
    return r;
  }
  *ret_database = database;
  return 0;
}

/* The row stays if something is open: whoever finds it makes letters of that. */
static void end_owner(struct hf_database *database) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_OWNER_END);
  hf_bind_str(s, 1, hf_database_owner(database));
  (void)hf_database_run(database, s);
}

void hf_database_close(struct hf_database *database) {
  if (!database)
    return;
  if (database->owns)
    end_owner(database);
  for (size_t i = 0; i < HF_SQL_COUNT; i++)
    (void)sqlite3_finalize(database->statements[i]);
  (void)sqlite3_close(database->sql);
  hf_owner_close(&database->owner);
  hf_arena_deinit(&database->arena);
  hf_free(database->news);
  hf_free(database);
}
