/* What is removed, when, and what is told of it before; and how much there is. */
#include "store/database.h"

#include "base/alloc.h"
#include "store/database_state.h"

#include <string.h>

enum { AT_ONCE = 256, CACHE_BYTES_MAX = 64 << 20 };

static const int64_t hour_ms = 60LL * 60 * 1000;
static const int64_t day_ms = 24LL * 60 * 60 * 1000;

static int64_t earlier(int64_t a, int64_t b) {
  return a < b ? a : b;
}

struct sweep {
  struct hf_database *database;
  int64_t now_ms;
  hf_store_news_fn *news;
  void *ctx;
  bool more;
};

static void tell_expired(void *ctx, const struct hf_letter *letter) {
  const struct sweep *sweep = ctx;
  sweep->news(sweep->ctx, HF_NEWS_EXPIRED, letter);
}

static int remove_letter(struct sweep *sweep, int64_t row) {
  int r = hf_database_letter(sweep->database, row, tell_expired, sweep);
  if (r < 0)
    return r;
  sqlite3_stmt *s = hf_database_statement(sweep->database, HF_SQL_LETTER_DELETE);
  if (s)
    (void)sqlite3_bind_int64(s, 1, row);
  return hf_database_run(sweep->database, s);
}

static int announce(struct sweep *sweep, int64_t row) {
  sqlite3_stmt *s = hf_database_statement(sweep->database, HF_SQL_LETTER_ANNOUNCE);
  if (s) {
    (void)sqlite3_bind_int64(s, 1, row);
    (void)sqlite3_bind_int64(s, 2, sweep->now_ms);
  }
  int r = hf_database_run(sweep->database, s);
  if (r == 0)
    hf_database_tell(sweep->database, HF_NEWS_EXPIRING, row);
  return r;
}

static int for_rows(struct sweep *sweep, sqlite3_stmt *s, int (*act)(struct sweep *, int64_t)) {
  HF_CLEANUP_FREE int64_t *rows = NULL;
  size_t count = 0;
  int r = hf_database_rows(sweep->database, s, &rows, &count);
  for (size_t i = 0; i < count && r == 0; i++)
    r = act(sweep, rows[i]);
  sweep->more |= count == AT_ONCE;
  return r;
}

static int by_age(struct sweep *sweep) {
  const hf_time max_age = sweep->database->settings.max_age;
  if (max_age <= 0 || max_age == HF_TIME_NEVER)
    return 0;
  const int64_t age_ms = max_age / HF_MS(1);
  const int64_t notice_ms = earlier(day_ms, age_ms);
  sqlite3_stmt *s = hf_database_statement(sweep->database, HF_SQL_LETTER_AGED);
  if (s) {
    (void)sqlite3_bind_int64(s, 1, sweep->now_ms - age_ms);
    (void)sqlite3_bind_int64(s, 2, sweep->now_ms - notice_ms);
    (void)sqlite3_bind_int64(s, 3, AT_ONCE);
  }
  int r = for_rows(sweep, s, remove_letter);
  if (r < 0)
    return r;
  s = hf_database_statement(sweep->database, HF_SQL_LETTER_AGEING);
  if (s) {
    (void)sqlite3_bind_int64(s, 1, sweep->now_ms - age_ms + notice_ms);
    (void)sqlite3_bind_int64(s, 2, AT_ONCE);
  }
  return for_rows(sweep, s, announce);
}

struct totals {
  struct hf_store_stats stats;
  uint64_t bytes; /* of all letters */
};

static int read_totals(struct hf_database *database, struct totals *ret_totals) {
  *ret_totals = (struct totals){0};
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_TOTALS);
  int r;
  while ((r = hf_database_step(database, s)) > 0) {
    const int status = sqlite3_column_int(s, 0);
    if (status < 0 || status >= HF_LETTER_STATUS_COUNT)
      continue;
    ret_totals->stats.depth[status] = (uint64_t)sqlite3_column_int64(s, 1);
    if (status == HF_LETTER_DEAD)
      ret_totals->stats.oldest_ms = sqlite3_column_int64(s, 2);
    ret_totals->bytes += (uint64_t)sqlite3_column_int64(s, 3);
    ret_totals->stats.expiring += (uint64_t)sqlite3_column_int64(s, 4);
  }
  return r;
}

struct candidate {
  int64_t row;
  uint64_t bytes;
  bool announced;
};

static int read_oldest(struct hf_database *database, struct candidate *candidates, size_t *ret_count) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_OLDEST);
  if (s)
    (void)sqlite3_bind_int64(s, 1, AT_ONCE);
  size_t count = 0;
  int r = 1;
  while (count < AT_ONCE && (r = hf_database_step(database, s)) > 0)
    candidates[count++] = (struct candidate){
        .row = sqlite3_column_int64(s, 0),
        .bytes = (uint64_t)sqlite3_column_int64(s, 1),
        .announced = sqlite3_column_type(s, 2) != SQLITE_NULL,
    };
  if (r > 0)
    (void)sqlite3_reset(s);
  *ret_count = count;
  return r < 0 ? r : 0;
}

/* The oldest go until the rest is within the limit; those that would be next are announced. */
static int by_size(struct sweep *sweep) {
  const uint64_t max = sweep->database->settings.max_bytes;
  const uint64_t near = max - max / 10;
  struct totals totals;
  int r = read_totals(sweep->database, &totals);
  if (r < 0 || max == 0 || totals.bytes <= near)
    return r;
  struct candidate candidates[AT_ONCE];
  size_t count;
  r = read_oldest(sweep->database, candidates, &count);
  uint64_t rest = totals.bytes;
  for (size_t i = 0; i < count && rest > near && r == 0; i++) {
    if (rest > max)
      r = remove_letter(sweep, candidates[i].row);
    else if (!candidates[i].announced)
      r = announce(sweep, candidates[i].row);
    rest -= candidates[i].bytes < rest ? candidates[i].bytes : rest;
  }
  sweep->more |= rest > max && count == AT_ONCE;
  return r;
}

static int expire(struct hf_database *database, enum hf_sql sql, int64_t limit) {
  sqlite3_stmt *s = hf_database_statement(database, sql);
  if (s)
    (void)sqlite3_bind_int64(s, 1, limit);
  return hf_database_run(database, s);
}

int hf_database_sweep(struct hf_database *database, int64_t now_ms, hf_store_news_fn *news, void *ctx, bool *ret_more) {
  struct sweep sweep = {database, now_ms, news, ctx, false};
  int r = hf_database_begin(database, false);
  if (r < 0)
    return r;
  r = by_age(&sweep);
  if (r == 0)
    r = by_size(&sweep);
  if (r == 0)
    r = expire(database, HF_SQL_KEY_EXPIRE, now_ms);
  if (r == 0)
    r = expire(database, HF_SQL_TASK_EXPIRE, now_ms);
  if (r == 0)
    r = expire(database, HF_SQL_CACHE_EXPIRE, now_ms);
  if (r == 0)
    r = expire(database, HF_SQL_CACHE_TRIM, CACHE_BYTES_MAX);
  if (r == 0)
    r = expire(database, HF_SQL_TALLY_EXPIRE, now_ms / hour_ms - HF_TALLY_HOURS_KEPT);
  if (r < 0) {
    hf_database_rollback(database);
    return r;
  }
  r = hf_database_commit(database);
  if (r == 0)
    r = hf_database_recover_lost(database, now_ms);
  if (r == 0)
    r = hf_database_run(database, hf_database_statement(database, HF_SQL_VACUUM));
  *ret_more = sweep.more;
  return r;
}

static unsigned class_of(const char *reason) {
  unsigned fault = 0;
  while (fault < HF_FAULT_COUNT && strcmp(hf_fault_name((enum hf_fault)fault), reason) != 0)
    fault++;
  return fault;
}

static int read_classes(struct hf_database *database, struct hf_store_stats *stats) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_CLASSES);
  int r;
  while ((r = hf_database_step(database, s)) > 0) {
    const char *reason = (const char *)sqlite3_column_text(s, 0);
    stats->waiting[class_of(reason ? reason : "")] += (uint64_t)sqlite3_column_int64(s, 1);
  }
  return r;
}

int hf_database_stats(struct hf_database *database, struct hf_store_stats *ret_stats) {
  struct totals totals;
  int r = read_totals(database, &totals);
  if (r == 0)
    r = read_classes(database, &totals.stats);
  uint64_t task_bytes;
  if (r == 0)
    r = hf_database_task_totals(database, &totals.stats.tasks, &task_bytes);
  if (r < 0)
    return r;
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_PAGES);
  r = hf_database_step(database, s);
  if (r > 0) {
    totals.stats.bytes = (uint64_t)sqlite3_column_int64(s, 0);
    r = hf_database_run(database, s);
  }
  if (r < 0)
    return r;
  *ret_stats = totals.stats;
  return 0;
}

int64_t hf_database_version(struct hf_database *database) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_VERSION);
  if (hf_database_step(database, s) <= 0)
    return -1;
  const int64_t version = sqlite3_column_int64(s, 0);
  (void)hf_database_run(database, s);
  return version;
}
