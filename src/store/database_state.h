/* What the files of the database share. */
#ifndef HF_STORE_DATABASE_STATE_H
#define HF_STORE_DATABASE_STATE_H

#include "base/arena.h"
#include "store/database.h"
#include "store/owner.h"
#include "store/sql.h"

#include <sqlite3.h>

enum { HF_TROUBLE_MAX = 256 };

struct hf_database_news {
  enum hf_store_news news;
  int64_t row;
};

struct hf_database {
  sqlite3 *sql;
  sqlite3_stmt *statements[HF_SQL_COUNT]; /* prepared when first needed */
  struct hf_owner owner;
  bool owns;
  struct hf_arena arena;             /* of the strings in `settings` */
  struct hf_store_settings settings; /* limits in force */
  bool durable;                      /* what `synchronous` is set to */
  bool suspect;                      /* a write or sync failed: what is in the WAL may never reach the disk */
  struct hf_database_news *news;     /* owned */
  size_t news_count;
  size_t news_cap;
  size_t news_committed; /* the first so many may be told */
  char trouble[HF_TROUBLE_MAX];
};

/* Returns the statement, without bindings, or NULL. */
sqlite3_stmt *hf_database_statement(struct hf_database *database, enum hf_sql sql);

/* One step: 1 for a row, 0 at the end, else an error. The statement is reset unless there is a row. */
int hf_database_step(struct hf_database *database, sqlite3_stmt *statement);

/* Runs it to its end, resets it, returns 0 or an error. */
int hf_database_run(struct hf_database *database, sqlite3_stmt *statement);

/* Texts are bound without a copy: they must stay until the statement is reset. */
void hf_bind_str(sqlite3_stmt *statement, int parameter, struct hf_str text);
void hf_bind_fingerprint(sqlite3_stmt *statement, int parameter, const struct hf_fingerprint *fingerprint);
struct hf_str hf_column_str(sqlite3_stmt *statement, int column);
struct hf_fingerprint hf_column_fingerprint(sqlite3_stmt *statement, int column);

/* Remembers news to tell once this is committed; without memory they are lost. */
void hf_database_tell(struct hf_database *database, enum hf_store_news news, int64_t row);

/* What is kept of arguments under these settings: `arguments` itself, or text in `space`, or nothing. */
struct hf_str hf_database_kept(const struct hf_database *database, struct hf_str arguments, struct hf_buf *space,
                               bool *redacted);

/* bury without the end of an intent. */
int hf_database_add_letter(struct hf_database *database, const struct hf_letter *letter, char id[HF_LETTER_ID_MAX],
                           int64_t *ret_row);

/* What a dead owner left unfinished is nobody's from now on, to be taken; so are the intents of what may be followed.
 */
int hf_database_leave_tasks(struct hf_database *database, const char *owner, int64_t now_ms);

/* The letter that was made of a call's intent is named in its task, if that is nobody's. */
int hf_database_name_letter(struct hf_database *database, struct hf_str call, const char *id);

/* Makes letters of intents that were left with a task, where that has gone; in a transaction of its own. */
int hf_database_recover_lost(struct hf_database *database, int64_t now_ms);

/* How many tasks there are, and how large their results are together. */
int hf_database_task_totals(struct hf_database *database, uint64_t *ret_count, uint64_t *ret_bytes);

/* Makes letters of what this one left. */
int hf_database_recover_owner(struct hf_database *database, const char *owner, int64_t now_ms);

/* Steps through a statement and keeps its first column. `ret_rows` is owned. */
int hf_database_rows(struct hf_database *database, sqlite3_stmt *statement, int64_t **ret_rows, size_t *ret_count);

#endif
