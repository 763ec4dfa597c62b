/* The power goes before every single write, sync, truncation and deletion of a day in the life of a database;
 * afterwards each letter whose id was told is there, once and whole. */
#include "store_fixture.h"

#include "lossy_disk.h"

#include <sqlite3.h>

enum { TOLD_MAX = 64, LARGE = 5000, DISK_PATH = 128, BOUNDARIES_MAX = 5000 };

struct told {
  size_t count;
  struct {
    char id[HF_LETTER_ID_MAX];
    unsigned number;
    unsigned count;
  } letter[TOLD_MAX];
};

static char dir[64];
static char path[DISK_PATH];
static char large[LARGE + 1];

static struct hf_database *open_lossy(void) {
  const struct hf_store_settings settings = keep_all();
  const struct hf_database_options options = {.path = path, .vfs = LOSSY_DISK, .settings = &settings, .own = true};
  struct hf_database *database = NULL;
  (void)hf_database_open(&options, &database, NULL);
  return database;
}

static struct hf_letter large_letter(unsigned number, const char *call) {
  struct hf_letter letter = letter_of(number, call);
  letter.arguments = (struct hf_str){large, LARGE};
  return letter;
}

static void remember_told(struct told *told, const char *id, unsigned number) {
  for (size_t i = 0; i < told->count; i++) {
    if (strcmp(told->letter[i].id, id) == 0) {
      told->letter[i].count++;
      return;
    }
  }
  assert_true(told->count < TOLD_MAX);
  memcpy(told->letter[told->count].id, id, HF_LETTER_ID_MAX);
  told->letter[told->count].number = number;
  told->letter[told->count++].count = 1;
}

static bool commit(struct hf_database *db, int r) {
  if (r == 0)
    return hf_database_commit(db) == 0;
  hf_database_rollback(db);
  return false;
}

/* An intent, and its letter. */
static void one_call(struct hf_database *db, struct told *told, unsigned number) {
  const char call[] = {'c', (char)('a' + number), '\0'};
  const struct hf_intent intent = intent_of(number, call);
  const struct hf_letter letter = large_letter(number % 7, call); /* later ones come back */
  char id[HF_LETTER_ID_MAX];
  if (hf_database_begin(db, false) == 0)
    (void)commit(db, hf_database_intend(db, &intent));
  if (hf_database_begin(db, true) == 0 && commit(db, hf_database_bury(db, &letter, id)))
    remember_told(told, id, number % 7);
}

static void one_replay(struct hf_database *db, const struct told *told, size_t i) {
  if (i >= told->count)
    return;
  struct hf_letter letter = {.id = hf_str_from(told->letter[i].id), .status = HF_LETTER_REPLAYING, .call = HF_STR("r")};
  if (hf_database_begin(db, true) == 0)
    (void)commit(db, hf_database_change(db, &letter));
  letter = (struct hf_letter){.id = letter.id, .status = HF_LETTER_REPLAYED, .result = {large, LARGE}};
  if (hf_database_begin(db, true) == 0)
    (void)commit(db, hf_database_change(db, &letter));
}

static void checkpoint(void) {
  sqlite3 *sql;
  if (sqlite3_open_v2(path, &sql, SQLITE_OPEN_READWRITE, LOSSY_DISK) == SQLITE_OK)
    (void)sqlite3_exec(sql, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
  (void)sqlite3_close(sql);
}

static void a_day(struct told *told) {
  struct hf_database *db = open_lossy();
  if (db) {
    for (unsigned i = 0; i < 4; i++)
      one_call(db, told, i);
    one_replay(db, told, 0);
    hf_database_close(db); /* copies the WAL into the database */
  }
  checkpoint();
  db = open_lossy();
  if (db) {
    (void)hf_database_recover(db, 1);
    for (unsigned i = 4; i < 9; i++)
      one_call(db, told, i);
    one_replay(db, told, 3);
    hf_database_close(db);
  }
}

static void check_integrity(void) {
  sqlite3 *sql;
  sqlite3_stmt *s;
  assert_int_equal(sqlite3_open_v2(path, &sql, SQLITE_OPEN_READWRITE, LOSSY_DISK), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(sql, "PRAGMA integrity_check", -1, &s, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  assert_string_equal((const char *)sqlite3_column_text(s, 0), "ok");
  sqlite3_finalize(s);
  sqlite3_close(sql);
}

struct seen {
  const struct told *told;
  unsigned letters[TOLD_MAX]; /* by told */
  unsigned fingerprints[TOLD_MAX];
};

static void see_letter(void *ctx, const struct hf_letter *letter) {
  struct seen *seen = ctx;
  unsigned number;
  memcpy(&number, letter->fingerprint.byte + 4, sizeof number);
  assert_true(number < TOLD_MAX);
  seen->fingerprints[number]++;
  assert_true(letter->arguments.len == LARGE || hf_str_equal(letter->arguments, HF_STR("{\"item\":1}"))); /* whole */
  assert_true(letter->arguments.len != LARGE || memcmp(letter->arguments.ptr, large, LARGE) == 0);
  assert_true(letter->result.ptr == NULL || letter->result.len == LARGE);
  assert_int_equal(letter->result.ptr != NULL, letter->status == HF_LETTER_REPLAYED);
  for (size_t i = 0; i < seen->told->count; i++) {
    if (!hf_str_equal(letter->id, hf_str_from(seen->told->letter[i].id)))
      continue;
    seen->letters[i]++;
    assert_int_equal(number, seen->told->letter[i].number);
    assert_true(letter->count >= seen->told->letter[i].count);
  }
}

static void check_after(const struct told *told, enum lossy_fate fate, uint64_t seed) {
  lossy_disk_reboot(fate, seed);
  struct hf_database *db = open_lossy();
  assert_non_null(db);
  assert_int_equal(hf_database_recover(db, 2), 0);
  struct seen seen = {.told = told};
  const struct hf_letter_filter filter = {.any_status = true};
  for_letters(db, &filter, see_letter, &seen);
  for (size_t i = 0; i < told->count; i++)
    if (seen.letters[i] != 1)
      fail_msg("letter %s was told, and is there %u times (fate %u, seed %lu)", told->letter[i].id, seen.letters[i],
               fate, (unsigned long)seed);
  struct told more = {0};
  one_call(db, &more, 30); /* it goes on */
  assert_int_equal(more.count, 1);
  hf_database_close(db);
  check_integrity();
}

static void power__every_letter_that_was_told_survives(void **state) {
  (void)state;
  lossy_disk_reset(0);
  struct told all = {0};
  a_day(&all);
  assert_int_equal(all.count, 8); /* seven, and one that was done when an equal one came */
  const long boundaries = lossy_disk_boundaries();
  assert_true(boundaries > 150 && boundaries < BOUNDARIES_MAX);
  for (long n = 1; n <= boundaries; n++) {
    for (unsigned fate = LOSSY_DROP; fate <= LOSSY_SHRED + 1; fate++) {
      struct told told = {0};
      lossy_disk_reset(n);
      a_day(&told);
      assert_true(lossy_disk_is_down());
      check_after(&told, fate > LOSSY_SHRED ? LOSSY_SHRED : (enum lossy_fate)fate, (uint64_t)n * 10 + fate);
    }
  }
}

/* After a sync that failed, a later one that does not proves nothing about what the first one should have written. */
static void power__a_failed_sync_costs_no_later_letter(void **state) {
  (void)state;
  lossy_disk_reset(0);
  struct told all = {0};
  a_day(&all);
  const long syncs = lossy_disk_syncs();
  assert_true(syncs > 12);
  for (long n = 1; n <= syncs; n++) {
    for (unsigned fate = LOSSY_DROP; fate <= LOSSY_KEEP; fate++) {
      struct told told = {0};
      lossy_disk_reset(0);
      lossy_disk_fail_sync(n);
      a_day(&told);
      assert_true(told.count > 3);
      check_after(&told, (enum lossy_fate)fate, 1);
    }
  }
}

static int set_up(void **state) {
  (void)state;
  make_directory(dir, sizeof dir);
  memset(large, ' ', LARGE);
  memcpy(large, "{\"a\":1}", 7);
  return snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0 ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lossy_disk_reset(0);
  remove_directory(dir);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(power__every_letter_that_was_told_survives),
      cmocka_unit_test(power__a_failed_sync_costs_no_later_letter),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
