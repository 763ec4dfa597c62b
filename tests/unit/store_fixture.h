/* Rows for tests of the store, a directory that goes with the test, and letters that were read. */
#ifndef HF_TEST_STORE_FIXTURE_H
#define HF_TEST_STORE_FIXTURE_H

#include "base/alloc.h"
#include "store/database.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Settings that keep everything. */
static inline struct hf_store_settings keep_all(void) {
  return (struct hf_store_settings){.enabled = true, .max_age = HF_TIME_NEVER, .max_bytes = 0, .queue = 1000};
}

/* Equal calls have equal numbers. */
static inline struct hf_fingerprint fingerprint_of(unsigned number) {
  struct hf_fingerprint fingerprint = {{0}};
  fingerprint.byte[0] = 0xab;
  memcpy(fingerprint.byte + 4, &number, sizeof number);
  return fingerprint;
}

static inline struct hf_letter letter_of(unsigned number, const char *call) {
  return (struct hf_letter){
      .call = hf_str_from(call),
      .principal = HF_STR("alice"),
      .tool = HF_STR("orders__create"),
      .providers = HF_STR("orders"),
      .reason = HF_STR("connection_lost"),
      .end = HF_STR("unsafe"),
      .executed = HF_STR("maybe"),
      .arguments = HF_STR("{\"item\":1}"),
      .attempts = HF_STR("[{\"atMs\":1}]"),
      .fingerprint = fingerprint_of(number),
      .priority = 5,
      .last_ms = 1000,
  };
}

static inline struct hf_intent intent_of(unsigned number, const char *call) {
  return (struct hf_intent){
      .call = hf_str_from(call),
      .principal = HF_STR("alice"),
      .server = HF_STR("orders"),
      .tool = HF_STR("orders__create"),
      .arguments = HF_STR("{\"item\":1}"),
      .key = HF_STR("k-1"),
      .fingerprint = fingerprint_of(number),
      .priority = 5,
      .at_ms = 900,
  };
}

enum { READ_MAX = 1024, READ_TEXT_MAX = 512 };

/* A letter's parts that tests look at, copied. */
struct read_letter {
  char id[HF_LETTER_ID_MAX];
  char call[64];
  char reason[64];
  char executed[8];
  char arguments[READ_TEXT_MAX];
  char attempts[READ_TEXT_MAX];
  char result[READ_TEXT_MAX];
  char history[READ_TEXT_MAX];
  struct hf_letter numbers; /* its texts are gone */
};

struct read_letters {
  size_t count;
  struct read_letter letter[READ_MAX];
};

static inline void copy_text(char *to, size_t size, struct hf_str from) {
  (void)snprintf(to, size, "%.*s", HF_STR_FMT(from));
}

static inline void read_row(void *ctx, const struct hf_letter *letter) {
  struct read_letters *read = ctx;
  assert_true(read->count < READ_MAX);
  struct read_letter *to = &read->letter[read->count++];
  copy_text(to->id, sizeof to->id, letter->id);
  copy_text(to->call, sizeof to->call, letter->call);
  copy_text(to->reason, sizeof to->reason, letter->reason);
  copy_text(to->executed, sizeof to->executed, letter->executed);
  copy_text(to->arguments, sizeof to->arguments, letter->arguments);
  copy_text(to->attempts, sizeof to->attempts, letter->attempts);
  copy_text(to->result, sizeof to->result, letter->result);
  copy_text(to->history, sizeof to->history, letter->history);
  to->numbers = *letter;
}

/* Shows all that match, the newest first. */
static inline void for_letters(struct hf_database *database, const struct hf_letter_filter *filter,
                               hf_letter_fn *letter, void *ctx) {
  int64_t *rows;
  size_t count;
  assert_int_equal(hf_database_find(database, filter, &rows, &count), 0);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(hf_database_letter(database, rows[i], letter, ctx), 0);
  hf_free(rows);
}

/* All that match, whatever was read before is forgotten. Static, for it is large. */
static inline struct read_letters *read_matching(struct hf_database *database, struct hf_letter_filter filter) {
  static struct read_letters read;
  read.count = 0;
  for_letters(database, &filter, read_row, &read);
  return &read;
}

static inline struct read_letters *read_all(struct hf_database *database) {
  return read_matching(database, (struct hf_letter_filter){.any_status = true});
}

static inline int remove_entry(const char *path, const struct stat *stat, int flag, struct FTW *ftw) {
  (void)stat;
  (void)flag;
  (void)ftw;
  return remove(path);
}

static inline void remove_directory(const char *dir) {
  (void)nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* In memory where there is such a place: nothing here needs a disk that is real, but many need many. */
static inline void make_directory(char *dir, size_t size) {
  (void)snprintf(dir, size, "/dev/shm/holdfast-store-XXXXXX");
  if (mkdtemp(dir))
    return;
  (void)snprintf(dir, size, "/tmp/holdfast-store-XXXXXX");
  assert_non_null(mkdtemp(dir));
}

static inline struct hf_database *open_with(const char *path, const struct hf_store_settings *settings, bool own) {
  const struct hf_database_options options = {.path = path, .settings = settings, .own = own};
  struct hf_database *database = NULL;
  struct hf_error error = {0};
  if (hf_database_open(&options, &database, &error) < 0)
    fail_msg("%s", error.text);
  return database;
}

/* Runs one call in a durable transaction of its own, and returns its error. */
#define ALONE(database, call)                                                                                          \
  ({                                                                                                                   \
    assert_int_equal(hf_database_begin((database), true), 0);                                                          \
    int r_ = (call);                                                                                                   \
    assert_int_equal(hf_database_commit(database), 0);                                                                 \
    r_;                                                                                                                \
  })

#endif
