/* The store's tables, synchronously: for the store's thread, and for the command line when no gateway runs.
 *
 * One SQLite file in WAL mode, which several processes may have open. What writes needs a transaction (begin, commit);
 * when a function fails with HF_ERR_FULL, HF_ERR_IO, HF_ERR_NOMEM or HF_ERR_TIMEOUT (others hold the database), the
 * transaction is lost and must be rolled back; after any other error it goes on as if the call had not been made. One
 * thread at a time. */
#ifndef HF_STORE_DATABASE_H
#define HF_STORE_DATABASE_H

#include "gateway/settings.h"
#include "gateway/store.h"

struct hf_database;

struct hf_database_options {
  const char *path;                         /* NULL: in memory, and nobody else's */
  const char *vfs;                          /* of SQLite; NULL: the usual one */
  const struct hf_store_settings *settings; /* copied */
  bool own;                                 /* be an owner: have intents, replay letters */
  bool must_exist;                          /* make no new one: HF_ERR_NOTFOUND */
};

/* Opens the database, makes what is missing (directories for the user alone, and the file), and migrates an older one.
 * Errors: HF_ERR_NOTFOUND, HF_ERR_UNSUPPORTED (a newer version, or not ours), HF_ERR_IO, HF_ERR_NOMEM. */
int hf_database_open(const struct hf_database_options *options, struct hf_database **ret_database,
                     struct hf_error *reterr);

/* Ends the owner. What it left open is for others to recover. NULL is fine. */
void hf_database_close(struct hf_database *database);

/* Takes other settings: what is kept, for how long, and what is set aside. Returns 0 or HF_ERR_NOMEM. */
int hf_database_set(struct hf_database *database, const struct hf_store_settings *settings);

/* The id of this owner, hex; empty if it is none. */
struct hf_str hf_database_owner(const struct hf_database *database);

/* What SQLite said when something failed last; "" before. */
const char *hf_database_trouble(const struct hf_database *database);

/* A durable transaction survives the loss of power once it is committed, any other the end of this process. A commit
 * that fails has been rolled back. */
int hf_database_begin(struct hf_database *database, bool durable);
int hf_database_commit(struct hf_database *database);
void hf_database_rollback(struct hf_database *database);

/* As the operations of struct hf_store_ops; `id` gets the letter's, NUL-terminated. */
int hf_database_intend(struct hf_database *database, const struct hf_intent *intent);
int hf_database_settle(struct hf_database *database, struct hf_str call);
int hf_database_bury(struct hf_database *database, const struct hf_letter *letter, char id[HF_LETTER_ID_MAX]);
int hf_database_change(struct hf_database *database, const struct hf_letter *letter);
int hf_database_remember(struct hf_database *database, const struct hf_keyed *keyed);
int hf_database_keep(struct hf_database *database, const struct hf_cached *cached);

/* As the operations; what is read is told within the call. `now_ms`: what has expired by then is not there. */
int hf_database_keep_task(struct hf_database *database, const struct hf_stored_task *task);
int hf_database_drop_task(struct hf_database *database, struct hf_str id);
int hf_database_find_task(struct hf_database *database, struct hf_str id, int64_t now_ms, hf_stored_task_fn *task,
                          void *ctx);
int hf_database_list_tasks(struct hf_database *database, const struct hf_task_filter *filter, int64_t now_ms,
                           hf_stored_task_fn *task, void *ctx);

/* Have dead owners left unfinished tasks? 1, 0, or an error. */
int hf_database_tasks_left(struct hf_database *database, int64_t now_ms);

/* They become ours, and are told before that is committed. */
int hf_database_take_tasks(struct hf_database *database, int64_t now_ms, hf_stored_task_fn *task, void *ctx);

/* A count, as hf_database_tally has added it up. Texts are borrowed. */
struct hf_tally_entry {
  int64_t hour; /* since 1970 */
  struct hf_str server;
  struct hf_str tool;
  struct hf_str what;
  int64_t n;
};

typedef void hf_tally_fn(void *ctx, const struct hf_tally_entry *entry);

/* Counts are kept for so many hours. */
enum { HF_TALLY_HOURS_KEPT = 90 * 24 };

int hf_database_tally(struct hf_database *database, struct hf_str rows);

/* The counts of these hours, both included, by server, tool and hour. */
int hf_database_tallies(struct hf_database *database, int64_t first_hour, int64_t last_hour, hf_tally_fn *tally,
                        void *ctx);

/* Adds a letter as it is, with its id; one that was being replayed elsewhere becomes a dead one that may have run.
 * Returns 0 or HF_ERR_EXISTS. */
int hf_database_import(struct hf_database *database, const struct hf_letter *letter);

/* The letters that match, the newest first. Their rows can be read one by one later: HF_ERR_NOTFOUND when one is gone.
 * `ret_rows` is owned. */
int hf_database_find(struct hf_database *database, const struct hf_letter_filter *filter, int64_t **ret_rows,
                     size_t *ret_count);
int hf_database_letter(struct hf_database *database, int64_t row, hf_letter_fn *letter, void *ctx);

/* The newest letters since then of what dead owners left, which may have run and wait: of equal calls, or, if
 * `fingerprint` is NULL, of all, 256 at most. `ret_rows` is owned. */
int hf_database_left(struct hf_database *database, const struct hf_fingerprint *fingerprint, int64_t since_ms,
                     int64_t **ret_rows, size_t *ret_count);

/* What has not expired. */
int hf_database_keys(struct hf_database *database, int64_t now_ms, hf_keyed_fn *keyed, void *ctx);
int hf_database_cached(struct hf_database *database, int64_t now_ms, hf_cached_fn *cached, void *ctx);

/* `error` is 0: it is the store's business. */
int hf_database_stats(struct hf_database *database, struct hf_store_stats *ret_stats);

/* A number that changes when others change the database; negative if it cannot be read. */
int64_t hf_database_version(struct hf_database *database);

/* Calls back with what happened to letters in what was committed since the last time. */
void hf_database_news(struct hf_database *database, hf_store_news_fn *news, void *ctx);

/* Makes letters of what dead owners left open, in a durable transaction of its own; hf_database_news tells which. */
int hf_database_recover(struct hf_database *database, int64_t now_ms);

/* Retention, in a transaction of its own: announces letters and removes some, in age (what is older than `maxAge` and
 * was announced a day, or `maxAge` if that is less, before) and in size (the oldest beyond `maxBytes`, those that are
 * done first; announced when there is a tenth left). Calls back with each that is removed, before it is;
 * hf_database_news tells the announcements. Keys, cached answers, counts, and tasks that are done or nobody's go, too,
 * when they have expired. `ret_more`: there is more to do. */
int hf_database_sweep(struct hf_database *database, int64_t now_ms, hf_store_news_fn *news, void *ctx, bool *ret_more);

#endif
