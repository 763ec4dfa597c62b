#include "store_fixture.h"

#include <sqlite3.h>

#include <inttypes.h>
#include <sys/stat.h>

enum { TEXT_BYTES = 4096, PATH_BYTES = 256 };

static const int64_t hour_ms = 60LL * 60 * 1000;

struct told_counts {
  char text[TEXT_BYTES]; /* "hour server tool what n;" */
  size_t len;
};

static void tell(void *ctx, const struct hf_tally_entry *entry) {
  struct told_counts *told = ctx;
  int n = snprintf(told->text + told->len, sizeof told->text - told->len, "%" PRId64 " %.*s %.*s %.*s %" PRId64 ";",
                   entry->hour, HF_STR_FMT(entry->server), HF_STR_FMT(entry->tool), HF_STR_FMT(entry->what), entry->n);
  assert_true(n > 0);
  told->len += (size_t)n;
}

static const char *tallies(struct hf_database *db, int64_t first, int64_t last) {
  static struct told_counts told;
  told = (struct told_counts){.len = 0};
  assert_int_equal(hf_database_tallies(db, first, last, tell, &told), 0);
  return told.text;
}

static struct hf_database *in_memory(void) {
  const struct hf_store_settings all = keep_all();
  return open_with(NULL, &all, true);
}

static void tallies__add_up(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  assert_int_equal(
      ALONE(db, hf_database_tally(db, HF_STR("[{\"hour\":5,\"server\":\"s\",\"tool\":\"t\",\"counts\":"
                                             "{\"calls\":3,\"fault.timed_out\":1}},{\"hour\":5,"
                                             "\"server\":\"s\",\"tool\":\"u\",\"counts\":{\"calls\":1}}]"))),
      0);
  assert_int_equal(ALONE(db, hf_database_tally(db, HF_STR("[{\"hour\":5,\"server\":\"s\",\"tool\":\"t\",\"counts\":"
                                                          "{\"calls\":4,\"first\":2}},{\"hour\":6,\"server\":\"s\","
                                                          "\"tool\":\"t\",\"counts\":{\"calls\":9}}]"))),
                   0);
  assert_string_equal(tallies(db, 0, 100), "5 s t calls 7;5 s t fault.timed_out 1;5 s t first 2;6 s t calls 9;"
                                           "5 s u calls 1;");
  assert_string_equal(tallies(db, 6, 6), "6 s t calls 9;");
  assert_string_equal(tallies(db, 7, 100), "");
  hf_database_close(db);
}

/* What a server calls its tools is nothing to trust. */
static void tallies__names_are_nothing_but_text(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  assert_int_equal(
      ALONE(db, hf_database_tally(db, HF_STR("[{\"hour\":1,\"server\":\"'); DROP TABLE tallies; --\",\"tool\":"
                                             "\"a\\\"b\\u001b[31m\",\"counts\":{\"at./x.y$[0]\":2}}]"))),
      0);
  assert_string_equal(tallies(db, 0, 9), "1 '); DROP TABLE tallies; -- a\"b\x1b[31m at./x.y$[0] 2;");
  hf_database_close(db);
}

static void tallies__what_is_no_json_changes_nothing(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  assert_int_equal(hf_database_begin(db, false), 0);
  assert_int_equal(hf_database_tally(db, HF_STR("[{\"hour\":1,\"server\":\"s\",\"tool\":\"t\",\"counts\":{\"a\":1}}]")),
                   0);
  assert_true(hf_database_tally(db, HF_STR("[{")) < 0);
  assert_int_equal(hf_database_commit(db), 0);
  assert_string_equal(tallies(db, 0, 9), "1 s t a 1;");
  hf_database_close(db);
}

static void make_place(char path[PATH_BYTES]) {
  char dir[64];
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, PATH_BYTES, "%s/holdfast.db", dir) > 0);
}

static void remove_place(char path[PATH_BYTES]) {
  *strrchr(path, '/') = '\0';
  remove_directory(path);
}

static void tallies__several_gateways_add_to_the_same(void **state) {
  (void)state;
  char path[PATH_BYTES];
  make_place(path);
  const struct hf_store_settings settings = keep_all();
  const struct hf_str rows = HF_STR("[{\"hour\":1,\"server\":\"s\",\"tool\":\"t\",\"counts\":{\"calls\":2}}]");
  struct hf_database *one = open_with(path, &settings, true);
  struct hf_database *other = open_with(path, &settings, true);
  assert_int_equal(ALONE(one, hf_database_tally(one, rows)), 0);
  assert_int_equal(ALONE(other, hf_database_tally(other, rows)), 0);
  assert_int_equal(ALONE(one, hf_database_tally(one, rows)), 0);
  hf_database_close(one);
  assert_string_equal(tallies(other, 0, 9), "1 s t calls 6;"); /* and a reader need own nothing */
  hf_database_close(other);
  struct hf_database *reader = open_with(path, &settings, false);
  assert_string_equal(tallies(reader, 0, 9), "1 s t calls 6;");
  hf_database_close(reader);
  remove_place(path);
}

static void ignore(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  (void)ctx, (void)news, (void)letter;
}

static void tallies__go_after_ninety_days(void **state) {
  (void)state;
  struct hf_database *db = in_memory();
  assert_int_equal(ALONE(db, hf_database_tally(db, HF_STR("[{\"hour\":10,\"server\":\"s\",\"tool\":\"t\",\"counts\":"
                                                          "{\"calls\":1}},{\"hour\":11,\"server\":\"s\",\"tool\":\"t\","
                                                          "\"counts\":{\"calls\":1}}]"))),
                   0);
  bool more;
  assert_int_equal(hf_database_sweep(db, (10 + 90 * 24) * hour_ms, ignore, NULL, &more), 0);
  assert_string_equal(tallies(db, 0, 99), "10 s t calls 1;11 s t calls 1;");
  assert_int_equal(hf_database_sweep(db, (11 + 90 * 24) * hour_ms, ignore, NULL, &more), 0);
  assert_string_equal(tallies(db, 0, 99), "11 s t calls 1;");
  hf_database_close(db);
}

static void tallies__a_database_of_before_gets_them(void **state) {
  (void)state;
  char path[PATH_BYTES];
  make_place(path);
  extern const char *const hf_sql_migrations[];
  sqlite3 *old;
  assert_int_equal(sqlite3_open(path, &old), SQLITE_OK);
  assert_int_equal(sqlite3_exec(old, hf_sql_migrations[0], NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_exec(old, hf_sql_migrations[1], NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(old);
  const struct hf_store_settings settings = keep_all();
  struct hf_database *db = open_with(path, &settings, true);
  assert_string_equal(tallies(db, 0, 9), "");
  assert_int_equal(
      ALONE(db, hf_database_tally(db, HF_STR("[{\"hour\":1,\"server\":\"s\",\"tool\":\"t\",\"counts\":{\"a\":1}}]"))),
      0);
  assert_string_equal(tallies(db, 0, 9), "1 s t a 1;");
  hf_database_close(db);
  remove_place(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tallies__add_up),
      cmocka_unit_test(tallies__names_are_nothing_but_text),
      cmocka_unit_test(tallies__what_is_no_json_changes_nothing),
      cmocka_unit_test(tallies__several_gateways_add_to_the_same),
      cmocka_unit_test(tallies__go_after_ninety_days),
      cmocka_unit_test(tallies__a_database_of_before_gets_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
