#include "store_fixture.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 256 };

static const int64_t day_ms = 24LL * 60 * 60 * 1000;

static struct hf_database *in_memory(const struct hf_store_settings *settings) {
  const struct hf_store_settings all = keep_all();
  return open_with(NULL, settings ? settings : &all, true);
}

static int bury(struct hf_database *db, unsigned number, const char *call, char *id) {
  const struct hf_letter letter = letter_of(number, call);
  return ALONE(db, hf_database_bury(db, &letter, id));
}

static int change(struct hf_database *db, const char *id, enum hf_letter_status status) {
  const struct hf_letter letter = {.id = hf_str_from(id), .status = status, .call = HF_STR("replay-1")};
  return ALONE(db, hf_database_change(db, &letter));
}

static void database__keeps_a_letter_as_it_was_given(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(bury(db, 1, "call-1", id), 0);
  assert_memory_equal(id, "d-", 2);
  const struct read_letters *read = read_all(db);
  assert_int_equal(read->count, 1);
  const struct read_letter *l = &read->letter[0];
  assert_string_equal(l->id, id);
  assert_string_equal(l->call, "call-1");
  assert_string_equal(l->executed, "maybe");
  assert_string_equal(l->arguments, "{\"item\":1}");
  assert_string_equal(l->attempts, "[{\"atMs\":1}]");
  assert_string_equal(l->history, "[]");
  assert_int_equal(l->numbers.status, HF_LETTER_DEAD);
  assert_int_equal(l->numbers.count, 1);
  assert_int_equal(l->numbers.first_ms, 1000);
  assert_int_equal(l->numbers.priority, 5);
  assert_false(l->numbers.redacted);
  assert_null(l->numbers.route.ptr);
  assert_null(l->numbers.result.ptr);
  hf_database_close(db);
}

static void database__an_equal_letter_is_not_written_twice(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char first[HF_LETTER_ID_MAX];
  char second[HF_LETTER_ID_MAX];
  struct hf_letter letter = letter_of(1, "call-1");
  letter.executed = HF_STR("yes");
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, first)), 0);
  letter = letter_of(1, "call-2");
  letter.executed = HF_STR("no");
  letter.attempts = HF_STR("[2]");
  letter.reason = HF_STR("timed_out");
  letter.last_ms = 2000;
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, second)), 0);
  assert_string_equal(first, second);
  const struct read_letters *read = read_all(db);
  assert_int_equal(read->count, 1);
  assert_int_equal(read->letter[0].numbers.count, 2);
  assert_int_equal(read->letter[0].numbers.first_ms, 1000);
  assert_int_equal(read->letter[0].numbers.last_ms, 2000);
  assert_string_equal(read->letter[0].attempts, "[2]");
  assert_string_equal(read->letter[0].reason, "timed_out");
  assert_string_equal(read->letter[0].executed, "yes"); /* never lowered */
  assert_string_equal(read->letter[0].call, "call-2");

  assert_int_equal(change(db, first, HF_LETTER_DISCARDED), 0);
  assert_int_equal(bury(db, 1, "call-3", second), 0);
  assert_string_not_equal(first, second);
  hf_database_close(db);
}

/* A key is as old as the first call that had it, whenever its letter was written. */
static void database__a_letter_is_as_old_as_its_key(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  struct hf_letter letter = letter_of(1, "call-1");
  letter.first_ms = 600;
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.first_ms, 600);
  letter.first_ms = 800; /* of a fresh key */
  letter.last_ms = 2000;
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.first_ms, 600);
  letter.first_ms = 500; /* of an older one */
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.first_ms, 500);
  letter = letter_of(2, "call-2");
  letter.first_ms = 3000; /* nothing began after it was written down */
  letter.last_ms = 2500;
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.first_ms, 2500);
  hf_database_close(db);
}

static void database__a_change_may_say_when_it_was_last_tried(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(bury(db, 1, "call-1", id), 0);
  static const struct { int64_t said, is; } cases[] = {{4000, 4000}, {0, 4000}, {3000, 4000}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct hf_letter letter = {
        .id = hf_str_from(id), .status = HF_LETTER_DEAD, .last_ms = cases[i].said, .executed = HF_STR("no")};
    assert_int_equal(ALONE(db, hf_database_change(db, &letter)), 0);
    assert_int_equal(read_all(db)->letter[0].numbers.last_ms, cases[i].is);
  }
  hf_database_close(db);
}

static void database__a_letter_ends_its_intent(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  const struct hf_intent intent = intent_of(1, "call-1");
  assert_int_equal(ALONE(db, hf_database_intend(db, &intent)), 0);
  assert_int_equal(ALONE(db, hf_database_intend(db, &intent)), HF_ERR_EXISTS);
  assert_int_equal(bury(db, 1, "call-1", id), 0);
  assert_int_equal(ALONE(db, hf_database_intend(db, &intent)), 0); /* it is free again */
  hf_database_close(db);
}

static void database__a_letter_without_arguments_has_those_of_its_intent(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  const struct hf_intent intent = intent_of(1, "call-1");
  assert_int_equal(ALONE(db, hf_database_intend(db, &intent)), 0);
  struct hf_letter letter = letter_of(2, "call-1"); /* it cannot know what made the call equal to others */
  letter.arguments = (struct hf_str){NULL, 0};
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  const struct read_letters *letters = read_all(db);
  assert_int_equal(letters->count, 1);
  assert_string_equal(letters->letter[0].arguments, "{\"item\":1}");
  assert_string_equal(letters->letter[0].reason, "connection_lost");
  assert_false(letters->letter[0].numbers.redacted);
  const struct hf_fingerprint fingerprint = fingerprint_of(1);
  assert_memory_equal(&letters->letter[0].numbers.fingerprint, &fingerprint, sizeof fingerprint);
  assert_int_equal(ALONE(db, hf_database_intend(db, &intent)), 0); /* that has ended */
  hf_database_close(db);
}

static void database__a_letter_without_arguments_and_intent_says_so(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  struct hf_letter letter = letter_of(2, "call-1");
  letter.arguments = (struct hf_str){NULL, 0};
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  assert_string_equal(read_all(db)->letter[0].arguments, "");
  assert_true(read_all(db)->letter[0].numbers.redacted); /* no replay without a patch */
  hf_database_close(db);
}

struct told {
  unsigned count[HF_NEWS_URGENT + 1];
  char id[HF_LETTER_ID_MAX];
};

static void hear(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  struct told *told = ctx;
  told->count[news]++;
  copy_text(told->id, sizeof told->id, letter->id);
}

static void database__what_comes_back_too_often_is_quarantined(void **state) {
  (void)state;
  struct hf_store_settings settings = keep_all();
  settings.quarantine = 2;
  struct hf_database *db = in_memory(&settings);
  char id[HF_LETTER_ID_MAX];
  struct told told = {0};
  assert_int_equal(bury(db, 1, "a", id), 0);
  assert_int_equal(bury(db, 1, "b", id), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.status, HF_LETTER_DEAD);
  assert_int_equal(bury(db, 1, "c", id), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.status, HF_LETTER_QUARANTINED);
  assert_int_equal(bury(db, 1, "d", id), 0); /* stays where it is, and is told once */
  hf_database_news(db, hear, &told);
  assert_int_equal(told.count[HF_NEWS_QUARANTINED], 1);
  assert_string_equal(told.id, id);
  assert_int_equal(change(db, id, HF_LETTER_REPLAYING), HF_ERR_INVALID);

  assert_int_equal(change(db, id, HF_LETTER_DEAD), 0); /* a person lets it out: it starts over */
  assert_int_equal(bury(db, 1, "e", id), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.status, HF_LETTER_DEAD);
  assert_int_equal(read_all(db)->letter[0].numbers.count, 5);
  hf_database_close(db);
}

static void database__what_comes_first_is_told(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  struct told told = {0};
  struct hf_letter letter = letter_of(1, "a");
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  hf_database_news(db, hear, &told);
  assert_int_equal(told.count[HF_NEWS_URGENT], 0);
  letter = letter_of(2, "b");
  letter.priority = 1;
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  hf_database_news(db, hear, &told);
  assert_int_equal(told.count[HF_NEWS_URGENT], 1);
  assert_string_equal(told.id, id);
  hf_database_close(db);
}

static void database__without_quarantine_it_may_come_back_for_ever(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  for (int i = 0; i < 50; i++)
    assert_int_equal(bury(db, 1, "a", id), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.status, HF_LETTER_DEAD);
  hf_database_close(db);
}

static void database__a_replay_that_fails_returns_to_its_letter(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  char again[HF_LETTER_ID_MAX];
  assert_int_equal(bury(db, 1, "a", id), 0);
  assert_int_equal(change(db, id, HF_LETTER_REPLAYING), 0);
  struct hf_letter more = {.id = hf_str_from(id), .status = HF_LETTER_REPLAYING, .call = HF_STR("replay-2")};
  assert_int_equal(ALONE(db, hf_database_change(db, &more)), HF_ERR_BUSY); /* only one can win */
  more.call = (struct hf_str){NULL, 0};
  assert_int_equal(ALONE(db, hf_database_change(db, &more)), HF_ERR_BUSY);
  more.call = HF_STR("replay-1");
  more.arguments = HF_STR("{\"item\":2}");
  assert_int_equal(ALONE(db, hf_database_change(db, &more)), 0); /* and may say more */
  assert_int_equal(bury(db, 1, "somebody-else", again), 0);
  assert_string_not_equal(again, id); /* another call, while the replay is under way */
  assert_int_equal(bury(db, 1, "replay-1", again), 0);
  assert_string_equal(again, id);
  const struct read_letters *read =
      read_matching(db, (struct hf_letter_filter){.any_status = true, .id = hf_str_from(id)});
  assert_int_equal(read->letter[0].numbers.status, HF_LETTER_DEAD);
  assert_int_equal(read->letter[0].numbers.count, 2);
  assert_int_equal(read->letter[0].numbers.replays, 1);
  assert_string_equal(read->letter[0].arguments, "{\"item\":2}");
  hf_database_close(db);
}

static void database__a_failed_replay_that_is_told_by_a_change_counts_as_a_return(void **state) {
  (void)state;
  struct hf_store_settings settings = keep_all();
  settings.quarantine = 1;
  struct hf_database *db = in_memory(&settings);
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(bury(db, 1, "a", id), 0);
  assert_int_equal(change(db, id, HF_LETTER_REPLAYING), 0);
  assert_int_equal(change(db, id, HF_LETTER_DEAD), 0); /* given back unsent */
  assert_int_equal(read_all(db)->letter[0].numbers.status, HF_LETTER_DEAD);
  assert_int_equal(change(db, id, HF_LETTER_REPLAYING), 0);
  const struct hf_letter failed = {.id = hf_str_from(id), .status = HF_LETTER_DEAD, .replays = 1};
  assert_int_equal(ALONE(db, hf_database_change(db, &failed)), 0);
  assert_int_equal(read_all(db)->letter[0].numbers.status, HF_LETTER_QUARANTINED);
  assert_int_equal(read_all(db)->letter[0].numbers.replays, 1);
  hf_database_close(db);
}

static void database__a_change_sets_what_is_there_and_appends_history(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(bury(db, 1, "a", id), 0);
  struct hf_letter letter = {
      .id = hf_str_from(id),
      .status = HF_LETTER_REPLAYING,
      .call = HF_STR("r"),
      .arguments = HF_STR("{\"item\":2}"),
      .fingerprint = fingerprint_of(2),
      .history = HF_STR("{\"atMs\":1,\"what\":\"replay\"}"),
  };
  assert_int_equal(ALONE(db, hf_database_change(db, &letter)), 0);
  letter = (struct hf_letter){
      .id = hf_str_from(id),
      .status = HF_LETTER_REPLAYED,
      .executed = HF_STR("yes"),
      .result = HF_STR("{\"ok\":true}"),
      .history = HF_STR("{ \"what\" : \"done\" }"),
      .replays = 1,
      .priority = 1,
  };
  assert_int_equal(ALONE(db, hf_database_change(db, &letter)), 0);
  const struct read_letter *l = &read_all(db)->letter[0];
  assert_int_equal(l->numbers.status, HF_LETTER_REPLAYED);
  assert_string_equal(l->arguments, "{\"item\":2}");
  assert_string_equal(l->call, "r");
  assert_string_equal(l->executed, "yes");
  assert_string_equal(l->result, "{\"ok\":true}");
  assert_string_equal(l->history, "[{\"atMs\":1,\"what\":\"replay\"},{\"what\":\"done\"}]");
  assert_string_equal(l->attempts, "[{\"atMs\":1}]");
  assert_int_equal(l->numbers.replays, 1);
  assert_int_equal(l->numbers.priority, 1);
  const struct hf_fingerprint two = fingerprint_of(2);
  assert_memory_equal(&l->numbers.fingerprint, &two, sizeof two);

  assert_int_equal(change(db, id, HF_LETTER_REPLAYING), HF_ERR_INVALID); /* it is done */
  assert_int_equal(change(db, "d-none", HF_LETTER_DEAD), HF_ERR_NOTFOUND);
  letter.history = HF_STR("{");
  assert_int_equal(ALONE(db, hf_database_change(db, &letter)), HF_ERR_INVALID);
  hf_database_close(db);
}

static void database__history_keeps_the_newest_hundred(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(bury(db, 1, "a", id), 0);
  for (int i = 0; i < 130; i++) {
    char entry[16];
    assert_true(snprintf(entry, sizeof entry, "%d", i) > 0);
    const struct hf_letter letter = {.id = hf_str_from(id), .status = HF_LETTER_DEAD, .history = hf_str_from(entry)};
    assert_int_equal(ALONE(db, hf_database_change(db, &letter)), 0);
  }
  assert_memory_equal(read_all(db)->letter[0].history, "[30,31,", 7);
  hf_database_close(db);
}

static void database__finds_by_what_is_asked(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[3][HF_LETTER_ID_MAX];
  struct hf_letter letter = letter_of(1, "a");
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id[0])), 0);
  letter = letter_of(0x1234, "b");
  letter.tool = HF_STR("search__web");
  letter.providers = HF_STR("google, bing");
  letter.reason = HF_STR("timed_out");
  letter.priority = 1;
  letter.last_ms = 2000;
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id[1])), 0);
  letter = letter_of(3, "c");
  letter.last_ms = 3000;
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id[2])), 0);
  assert_int_equal(change(db, id[2], HF_LETTER_DISCARDED), 0);

  const struct {
    struct hf_letter_filter filter;
    unsigned found; /* a bit each */
  } rows[] = {
      {{.any_status = true}, 7},
      {{.status = HF_LETTER_DEAD}, 3},
      {{.status = HF_LETTER_DISCARDED}, 4},
      {{.id = hf_str_from(id[1])}, 2},
      {{.id = hf_str_from(id[2])}, 0}, /* it is not dead */
      {{.id = HF_STR("d-none"), .any_status = true}, 0},
      {{.tool = HF_STR("orders__*"), .any_status = true}, 5},
      {{.tool = HF_STR("search__web")}, 2},
      {{.tool = HF_STR("search")}, 0},
      {{.provider = HF_STR("bing")}, 2},
      {{.provider = HF_STR("bin")}, 0},
      {{.reason = HF_STR("timed_out")}, 2},
      {{.fingerprint = HF_STR("AB000000341"), .any_status = true}, 2},
      {{.fingerprint = HF_STR("ab"), .any_status = true}, 7},
      {{.fingerprint = HF_STR("ac"), .any_status = true}, 0},
      {{.since_ms = 2000, .any_status = true}, 6},
      {{.until_ms = 2000, .any_status = true}, 3},
      {{.priority = 1, .any_status = true}, 2},
      {{.limit = 1, .any_status = true}, 4}, /* the newest */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct read_letters *read = read_matching(db, rows[i].filter);
    unsigned found = 0;
    for (size_t j = 0; j < read->count; j++)
      for (size_t k = 0; k < 3; k++)
        found |= (unsigned)(strcmp(read->letter[j].id, id[k]) == 0) << k;
    if (found != rows[i].found)
      fail_msg("row %zu: found %u, wanted %u", i, found, rows[i].found);
  }
  hf_database_close(db);
}

static void database__imports_what_it_exported(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  struct hf_letter letter = letter_of(1, "a");
  letter.id = HF_STR("d-imported");
  letter.status = HF_LETTER_REPLAYING;
  letter.executed = HF_STR("no");
  letter.count = 7;
  letter.first_ms = 10;
  letter.history = HF_STR("[1]");
  assert_int_equal(ALONE(db, hf_database_import(db, &letter)), 0);
  assert_int_equal(ALONE(db, hf_database_import(db, &letter)), HF_ERR_EXISTS);
  const struct read_letter *l = &read_all(db)->letter[0];
  assert_string_equal(l->id, "d-imported");
  assert_int_equal(l->numbers.count, 7);
  assert_int_equal(l->numbers.first_ms, 10);
  assert_string_equal(l->history, "[1]");
  assert_int_equal(l->numbers.status, HF_LETTER_DEAD); /* nobody here is replaying it, and it may have run there */
  assert_string_equal(l->executed, "maybe");
  hf_database_close(db);
}

static void database__redacts_before_it_stores(void **state) {
  (void)state;
  struct hf_store_settings settings = keep_all();
  struct hf_str secrets[] = {HF_STR("/card")};
  settings.redact = true;
  settings.secrets = (struct hf_strings){secrets, 1};
  struct hf_database *db = in_memory(&settings);
  char id[HF_LETTER_ID_MAX];
  struct hf_letter letter = letter_of(1, "a");
  letter.arguments = HF_STR("{\"token\":\"s3cr3t\",\"card\":42,\"n\":1}");
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  assert_string_equal(read_all(db)->letter[0].arguments, "{\"token\":\"[redacted]\",\"card\":\"[redacted]\",\"n\":1}");
  assert_true(read_all(db)->letter[0].numbers.redacted);
  letter = letter_of(2, "b");
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  assert_false(read_matching(db, (struct hf_letter_filter){.id = hf_str_from(id)})->letter[0].numbers.redacted);
  letter = letter_of(3, "c");
  letter.arguments = HF_STR("{\"token\":");
  assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id)), 0);
  assert_true(read_matching(db, (struct hf_letter_filter){.id = hf_str_from(id)})->letter[0].numbers.redacted);
  assert_string_equal(read_matching(db, (struct hf_letter_filter){.id = hf_str_from(id)})->letter[0].arguments, "");
  hf_database_close(db);
}

static void see_key(void *ctx, const struct hf_keyed *keyed) {
  struct told *told = ctx;
  told->count[0]++;
  copy_text(told->id, sizeof told->id, keyed->result);
}

static void database__a_key_is_bound_until_it_expires(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  struct hf_keyed key = {.server = HF_STR("orders"), .tool = HF_STR("create"), .key = HF_STR("k")};
  key.fingerprint = fingerprint_of(1);
  key.first_ms = 100;
  key.expires_ms = 200;
  assert_int_equal(ALONE(db, hf_database_remember(db, &key)), 0);
  key.result = HF_STR("\"done\"");
  assert_int_equal(ALONE(db, hf_database_remember(db, &key)), 0);
  key.result = (struct hf_str){NULL, 0};
  key.first_ms = 150;
  key.expires_ms = 250;
  assert_int_equal(ALONE(db, hf_database_remember(db, &key)), 0); /* sent once more: neither longer nor forgotten */
  key.fingerprint = fingerprint_of(2);
  assert_int_equal(ALONE(db, hf_database_remember(db, &key)), HF_ERR_EXISTS);
  struct told told = {0};
  assert_int_equal(hf_database_keys(db, 199, see_key, &told), 0);
  assert_int_equal(told.count[0], 1);
  assert_string_equal(told.id, "\"done\"");
  assert_int_equal(hf_database_keys(db, 200, see_key, &told), 0);
  assert_int_equal(told.count[0], 1);
  key.first_ms = 200; /* the server has forgotten it: it is a new one */
  key.expires_ms = 300;
  assert_int_equal(ALONE(db, hf_database_remember(db, &key)), 0);
  assert_int_equal(hf_database_keys(db, 250, see_key, &told), 0);
  assert_int_equal(told.count[0], 2);
  assert_string_equal(told.id, "");
  hf_database_close(db);
}

static void see_cached(void *ctx, const struct hf_cached *cached) {
  struct told *told = ctx;
  told->count[0]++;
  copy_text(told->id, sizeof told->id, cached->result);
}

static void database__keeps_the_newest_cached_answer(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  struct hf_cached cached = {fingerprint_of(1), HF_STR("1"), 100, 200};
  assert_int_equal(ALONE(db, hf_database_keep(db, &cached)), 0);
  cached.result = HF_STR("2");
  assert_int_equal(ALONE(db, hf_database_keep(db, &cached)), 0);
  struct told told = {0};
  assert_int_equal(hf_database_cached(db, 199, see_cached, &told), 0);
  assert_int_equal(told.count[0], 1);
  assert_string_equal(told.id, "2");
  assert_int_equal(hf_database_cached(db, 200, see_cached, &told), 0);
  assert_int_equal(told.count[0], 1);
  hf_database_close(db);
}

static void database__finds_no_more_than_its_limit(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(hf_database_begin(db, true), 0);
  for (unsigned i = 0; i <= HF_LETTERS_MAX; i++) {
    const struct hf_letter letter = letter_of(i, "a");
    assert_int_equal(hf_database_bury(db, &letter, id), 0);
  }
  assert_int_equal(hf_database_commit(db), 0);
  int64_t *rows;
  size_t count;
  const struct hf_letter_filter filter = {.limit = HF_LETTERS_MAX * 2};
  assert_int_equal(hf_database_find(db, &filter, &rows, &count), 0);
  assert_int_equal(count, 10000);
  hf_free(rows);
  hf_database_close(db);
}

static struct told sweep(struct hf_database *db, int64_t now_ms) {
  struct told told = {0};
  bool more;
  assert_int_equal(hf_database_sweep(db, now_ms, hear, &told, &more), 0);
  hf_database_news(db, hear, &told);
  return told;
}

static void database__kept_answers_are_bounded_together(void **state) {
  (void)state;
  enum { ANSWER_BYTES = 1 << 20, ANSWERS = 66 };
  struct hf_database *db = in_memory(NULL);
  struct told told = {0};
  char *result = test_malloc(ANSWER_BYTES);
  memset(result, '1', ANSWER_BYTES);
  for (unsigned i = 0; i < ANSWERS; i++) {
    const struct hf_cached cached = {fingerprint_of(i), {result, i ? ANSWER_BYTES : 1}, 100 + i, 10000};
    assert_int_equal(ALONE(db, hf_database_keep(db, &cached)), 0);
  }
  sweep(db, 200);
  assert_int_equal(hf_database_cached(db, 200, see_cached, &told), 0);
  assert_in_range(told.count[0], 62, 64); /* 64 MiB, what else is in a row included */
  test_free(result);
  hf_database_close(db);
}

static void database__age_is_announced_before_it_removes(void **state) {
  (void)state;
  struct hf_store_settings settings = keep_all();
  settings.max_age = HF_SECONDS(30 * 24 * 60 * 60);
  struct hf_database *db = in_memory(&settings);
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(bury(db, 1, "a", id), 0); /* at 1000 */
  struct told told = sweep(db, 1000 + 29 * day_ms - 1);
  assert_int_equal(told.count[HF_NEWS_EXPIRING], 0);
  told = sweep(db, 1000 + 29 * day_ms);
  assert_int_equal(told.count[HF_NEWS_EXPIRING], 1);
  assert_string_equal(told.id, id);
  assert_true(read_all(db)->letter[0].numbers.expiring);
  struct hf_store_stats stats;
  assert_int_equal(hf_database_stats(db, &stats), 0);
  assert_int_equal(stats.expiring, 1);
  told = sweep(db, 1000 + 30 * day_ms - 1);
  assert_int_equal(told.count[HF_NEWS_EXPIRING], 0); /* once */
  assert_int_equal(told.count[HF_NEWS_EXPIRED], 0);
  told = sweep(db, 1000 + 30 * day_ms);
  assert_int_equal(told.count[HF_NEWS_EXPIRED], 1);
  assert_string_equal(told.id, id);
  assert_int_equal(read_all(db)->count, 0);
  hf_database_close(db);
}

/* A gateway that was off for long announces first, too. */
static void database__what_is_long_too_old_is_announced_first(void **state) {
  (void)state;
  struct hf_store_settings settings = keep_all();
  settings.max_age = HF_SECONDS(60);
  struct hf_database *db = in_memory(&settings);
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(bury(db, 1, "a", id), 0);
  struct told told = sweep(db, 1000 + 100 * day_ms);
  assert_int_equal(told.count[HF_NEWS_EXPIRED], 0);
  assert_int_equal(told.count[HF_NEWS_EXPIRING], 1);
  told = sweep(db, 1000 + 100 * day_ms + 59999);
  assert_int_equal(told.count[HF_NEWS_EXPIRED], 0);
  told = sweep(db, 1000 + 100 * day_ms + 60000);
  assert_int_equal(told.count[HF_NEWS_EXPIRED], 1);
  hf_database_close(db);
}

static void database__size_removes_the_oldest_and_what_is_done_first(void **state) {
  (void)state;
  struct hf_store_settings settings = keep_all();
  settings.max_bytes = 5400; /* ten letters of 534 bytes */
  struct hf_database *db = in_memory(&settings);
  char id[12][HF_LETTER_ID_MAX];
  for (unsigned i = 0; i < 12; i++) {
    struct hf_letter letter = letter_of(i, "a");
    letter.last_ms = 1000 + i;
    assert_int_equal(ALONE(db, hf_database_bury(db, &letter, id[i])), 0);
  }
  assert_int_equal(change(db, id[5], HF_LETTER_DISCARDED), 0);
  assert_int_equal(change(db, id[0], HF_LETTER_REPLAYING), 0); /* is never removed */
  struct told told = sweep(db, 2000);
  assert_int_equal(told.count[HF_NEWS_EXPIRED], 2);
  assert_int_equal(told.count[HF_NEWS_EXPIRING], 1);
  const struct read_letters *read = read_all(db);
  assert_int_equal(read->count, 10);
  for (size_t i = 0; i < read->count; i++) {
    assert_string_not_equal(read->letter[i].id, id[5]);
    assert_string_not_equal(read->letter[i].id, id[1]);
    assert_int_equal(read->letter[i].numbers.expiring, strcmp(read->letter[i].id, id[2]) == 0);
  }
  hf_database_close(db);
}

static void database__cached_answers_are_bounded(void **state) {
  (void)state;
  enum { MEGABYTE = 1 << 20 };
  struct hf_database *db = in_memory(NULL);
  char *text = malloc(MEGABYTE);
  assert_non_null(text);
  memset(text, ' ', MEGABYTE);
  assert_int_equal(hf_database_begin(db, false), 0);
  for (unsigned i = 0; i < 66; i++) {
    const struct hf_cached cached = {fingerprint_of(i), {text, MEGABYTE}, 1000 + i, 1000000};
    assert_int_equal(hf_database_keep(db, &cached), 0);
  }
  assert_int_equal(hf_database_commit(db), 0);
  free(text);
  (void)sweep(db, 2000);
  struct told told = {0};
  assert_int_equal(hf_database_cached(db, 2000, see_cached, &told), 0);
  assert_int_equal(told.count[0], 64);
  hf_database_close(db);
}

static void database__counts(void **state) {
  (void)state;
  struct hf_database *db = in_memory(NULL);
  char id[HF_LETTER_ID_MAX];
  struct hf_store_stats stats;
  assert_int_equal(hf_database_stats(db, &stats), 0);
  assert_int_equal(stats.depth[HF_LETTER_DEAD], 0);
  assert_int_equal(stats.oldest_ms, 0);
  assert_int_equal(bury(db, 1, "a", id), 0);
  assert_int_equal(bury(db, 2, "b", id), 0);
  assert_int_equal(bury(db, 3, "c", id), 0);
  assert_int_equal(change(db, id, HF_LETTER_DISCARDED), 0);
  assert_int_equal(hf_database_stats(db, &stats), 0);
  assert_int_equal(stats.depth[HF_LETTER_DEAD], 2);
  assert_int_equal(stats.depth[HF_LETTER_DISCARDED], 1);
  assert_int_equal(stats.waiting[HF_FAULT_BROKE], 2);
  assert_int_equal(stats.waiting[HF_FAULT_COUNT], 0);
  assert_int_equal(stats.oldest_ms, 1000);
  assert_true(stats.bytes >= 4096);
  hf_database_close(db);
}

static void database__a_rolled_back_transaction_leaves_nothing(void **state) {
  (void)state;
  struct hf_store_settings settings = keep_all();
  settings.quarantine = 1;
  struct hf_database *db = in_memory(&settings);
  char id[HF_LETTER_ID_MAX];
  struct told told = {0};
  const struct hf_letter letter = letter_of(1, "a");
  assert_int_equal(hf_database_begin(db, true), 0);
  assert_int_equal(hf_database_bury(db, &letter, id), 0);
  assert_int_equal(hf_database_bury(db, &letter, id), 0);
  hf_database_rollback(db);
  assert_int_equal(read_all(db)->count, 0);
  hf_database_news(db, hear, &told);
  assert_int_equal(told.count[HF_NEWS_QUARANTINED], 0);
  hf_database_close(db);
}

static void mode_is(const char *path, mode_t mode) {
  struct stat stat_;
  if (stat(path, &stat_) < 0 || (stat_.st_mode & 0777) != mode)
    fail_msg("%s: mode %o", path, stat_.st_mode & 0777);
}

static void database__files_are_the_users_alone(void **state) {
  (void)state;
  char dir[PATH_BYTES];
  char path[PATH_BYTES];
  char other[PATH_BYTES + 8];
  make_directory(dir, sizeof dir - 64);
  mode_t before = umask(0);
  assert_true(snprintf(path, sizeof path, "%.200s/a/b/holdfast.db", dir) > 0);
  const struct hf_store_settings settings = keep_all();
  const struct hf_database_options options = {.path = path, .settings = &settings, .must_exist = true};
  struct hf_database *db = NULL;
  struct hf_error error = {0};
  assert_int_equal(hf_database_open(&options, &db, &error), HF_ERR_NOTFOUND);
  db = open_with(path, &settings, true);
  umask(before);
  mode_is(path, 0600);
  assert_true(snprintf(other, sizeof other, "%s-wal", path) > 0);
  mode_is(other, 0600);
  assert_true(snprintf(other, sizeof other, "%s-owners", path) > 0);
  mode_is(other, 0600);
  assert_true(snprintf(other, sizeof other, "%.200s/a", dir) > 0);
  mode_is(other, 0700);
  hf_database_close(db);
  assert_int_equal(chmod(path, 0644), 0);
  hf_database_close(open_with(path, &settings, false));
  mode_is(path, 0600);
  remove_directory(dir);
}

static void database__nothing_is_promised_in_a_file_that_was_removed(void **state) {
  (void)state;
  char dir[] = "/tmp/holdfast-store-XXXXXX";
  char path[PATH_BYTES];
  char id[HF_LETTER_ID_MAX];
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/holdfast.db", dir);
  const struct hf_store_settings settings = keep_all();
  struct hf_database *db = open_with(path, &settings, true);
  assert_int_equal(bury(db, 1, "call-1", id), 0);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(hf_database_begin(db, true), HF_ERR_IO);
  assert_string_equal(hf_database_trouble(db), "the database was removed or replaced; a restart begins a new one");
  assert_int_equal(hf_database_begin(db, false), HF_ERR_IO);
  struct hf_database *other = open_with(path, &settings, true);
  assert_int_equal(hf_database_begin(db, false), HF_ERR_IO); /* somebody else's */
  assert_int_equal(bury(other, 1, "call-1", id), 0);
  hf_database_close(other);
  hf_database_close(db);
  remove_directory(dir);
}

static void in_file(const char *path, const char *sql) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
    fail_msg("%s", message);
  sqlite3_close(db);
}

static int open_error(const char *path, struct hf_error *error) {
  const struct hf_store_settings settings = keep_all();
  const struct hf_database_options options = {.path = path, .settings = &settings};
  struct hf_database *db = NULL;
  int r = hf_database_open(&options, &db, error);
  hf_database_close(db);
  return r;
}

static int number_in(const char *path, const char *query) {
  sqlite3 *sql;
  sqlite3_stmt *s;
  assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(sql, query, -1, &s, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  const int number = sqlite3_column_int(s, 0);
  sqlite3_finalize(s);
  sqlite3_close(sql);
  return number;
}

static void database__migrates_what_every_older_version_wrote(void **state) {
  (void)state;
  for (int version = 1; version < 4; version++) {
    char dir[64];
    char path[PATH_BYTES];
    make_directory(dir, sizeof dir);
    assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
    extern const char *const hf_sql_migrations[];
    for (int i = 0; i < version; i++)
      in_file(path, hf_sql_migrations[i]);
    assert_int_equal(number_in(path, "PRAGMA user_version"), version);
    in_file(path, "INSERT INTO letters (id, status, executed, priority, first_ms, last_ms, count, replays, redacted,"
                  " fingerprint, tool, arguments, history) VALUES ('d-old', 0, 2, 3, 4, 5, 6, 7, 0, zeroblob(32), 't',"
                  " '{}', '[]')");
    in_file(path, "INSERT INTO owners VALUES ('00000001', 1, 1)");
    in_file(path, "INSERT INTO intents (call, owner, priority, at_ms, redacted, fingerprint)"
                  " VALUES ('c-old', '00000001', 3, 4, 0, randomblob(32))");
    const struct hf_store_settings settings = keep_all();
    struct hf_database *db = open_with(path, &settings, true);
    const struct read_letters *read = read_all(db);
    assert_int_equal(read->count, 1);
    assert_string_equal(read->letter[0].id, "d-old");
    assert_string_equal(read->letter[0].executed, "yes");
    assert_int_equal(read->letter[0].numbers.last_ms, 5);
    assert_int_equal(hf_database_recover(db, 6), 0);
    assert_int_equal(read_all(db)->count, 2);
    const struct hf_stored_task task = {.id = HF_STR("t-1"), .created_ms = 1, .expires_ms = 2};
    assert_int_equal(ALONE(db, hf_database_keep_task(db, &task)), 0);
    hf_database_close(db);
    assert_int_equal(number_in(path, "PRAGMA user_version"), 4);
    assert_int_equal(number_in(path, "SELECT count(*) FROM sqlite_schema WHERE name IN"
                                     " ('letters_age', 'tallies', 'tasks', 'task_totals')"),
                     4);
    remove_directory(dir);
  }
}

static void database__refuses_what_a_newer_version_wrote(void **state) {
  (void)state;
  char dir[64];
  char path[PATH_BYTES];
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
  const struct hf_store_settings settings = keep_all();
  hf_database_close(open_with(path, &settings, false));
  in_file(path, "PRAGMA user_version = 5");
  struct hf_error error = {0};
  assert_int_equal(open_error(path, &error), HF_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.text, "written by a newer version (5, this one knows 4)"));
  remove_directory(dir);
}

static void database__touches_nobody_elses(void **state) {
  (void)state;
  char dir[64];
  char path[PATH_BYTES];
  struct hf_error error = {0};
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
  in_file(path, "CREATE TABLE theirs (x)");
  assert_int_equal(open_error(path, &error), HF_ERR_UNSUPPORTED);
  assert_true(snprintf(path, sizeof path, "%s/text", dir) > 0);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (int i = 0; i < 100; i++)
    fputs("this is no database, but a text of some length; ", file);
  fclose(file);
  assert_int_equal(open_error(path, &error), HF_ERR_IO);
  assert_non_null(strstr(error.text, "not a database"));
  remove_directory(dir);
}

static void database__makes_letters_of_what_a_dead_owner_left(void **state) {
  (void)state;
  char dir[64];
  char path[PATH_BYTES];
  char replaying[HF_LETTER_ID_MAX];
  char id[HF_LETTER_ID_MAX];
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
  const struct hf_store_settings settings = keep_all();
  struct hf_database *dying = open_with(path, &settings, true);
  struct hf_database *living = open_with(path, &settings, true);
  struct hf_letter letter = letter_of(7, "call-7");
  letter.executed = HF_STR("no");
  assert_int_equal(ALONE(dying, hf_database_bury(dying, &letter, replaying)), 0);
  assert_int_equal(change(dying, replaying, HF_LETTER_REPLAYING), 0);
  struct hf_intent intent = intent_of(7, "replay-1"); /* of that replay */
  assert_int_equal(ALONE(dying, hf_database_intend(dying, &intent)), 0);
  intent = intent_of(8, "call-8");
  assert_int_equal(ALONE(dying, hf_database_intend(dying, &intent)), 0);
  intent = intent_of(9, "call-9");
  assert_int_equal(ALONE(living, hf_database_intend(living, &intent)), 0);

  struct told told = {0};
  assert_int_equal(hf_database_recover(living, 5000), 0); /* it lives */
  hf_database_news(living, hear, &told);
  assert_int_equal(told.count[HF_NEWS_RECOVERED], 0);
  assert_int_equal(change(living, replaying, HF_LETTER_DISCARDED), HF_ERR_BUSY);

  hf_database_close(dying);
  assert_int_equal(hf_database_recover(living, 5000), 0);
  hf_database_news(living, hear, &told);
  assert_int_equal(told.count[HF_NEWS_RECOVERED], 2);
  assert_int_equal(hf_database_recover(living, 6000), 0); /* once */
  hf_database_news(living, hear, &told);
  assert_int_equal(told.count[HF_NEWS_RECOVERED], 2);

  const struct read_letters *read = read_all(living);
  assert_int_equal(read->count, 2);
  const struct read_letter *replayed = &read->letter[strcmp(read->letter[0].id, replaying) != 0];
  const struct read_letter *left = &read->letter[strcmp(read->letter[0].id, replaying) == 0];
  assert_int_equal(replayed->numbers.status, HF_LETTER_DEAD);
  assert_string_equal(replayed->executed, "maybe");
  assert_int_equal(replayed->numbers.count, 1);
  assert_int_equal(replayed->numbers.replays, 1);
  static const char begin[] = "[{\"atMs\":5000,\"what\":\"gateway_died\",\"by\":\"";
  assert_memory_equal(replayed->history, begin, sizeof begin - 1);
  assert_string_equal(left->reason, "gateway_died");
  assert_string_equal(left->executed, "maybe");
  assert_string_equal(left->call, "call-8");
  assert_string_equal(left->arguments, "{\"item\":1}");
  assert_string_equal(left->attempts,
                      "[{\"atMs\":900,\"provider\":\"orders\",\"fault\":\"gateway_died\",\"executed\":\"maybe\"}]");
  assert_int_equal(left->numbers.first_ms, 900);
  /* It may have gone on until now: a status check waits for the time to settle from here. */
  assert_int_equal(left->numbers.last_ms, 5000);
  assert_int_equal(replayed->numbers.last_ms, 5000);

  assert_int_equal(bury(living, 9, "call-9", id), 0); /* the living one's intent was left alone: this ends it */
  hf_database_close(living);
  struct hf_database *next = open_with(path, &settings, true);
  assert_int_equal(hf_database_recover(next, 7000), 0);
  hf_database_news(next, hear, &told);
  assert_int_equal(told.count[HF_NEWS_RECOVERED], 2);
  hf_database_close(next);
  remove_directory(dir);
}

/* Without this, a second gateway that starts while nobody looks could take the place of the dead. */
static void database__a_change_meets_a_dead_owner_by_itself(void **state) {
  (void)state;
  char dir[64];
  char path[PATH_BYTES];
  char id[HF_LETTER_ID_MAX];
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
  const struct hf_store_settings settings = keep_all();
  struct hf_database *dying = open_with(path, &settings, true);
  assert_int_equal(bury(dying, 1, "a", id), 0);
  assert_int_equal(change(dying, id, HF_LETTER_REPLAYING), 0);
  hf_database_close(dying);
  struct hf_database *cli = open_with(path, &settings, false);
  assert_int_equal(change(cli, id, HF_LETTER_REPLAYING), HF_ERR_BUSY); /* it is no owner */
  assert_int_equal(change(cli, id, HF_LETTER_DISCARDED), 0);
  assert_memory_equal(read_all(cli)->letter[0].history, "[{\"atMs\":", 9);
  hf_database_close(cli);
  remove_directory(dir);
}

/* The disk was full when the replay's call failed, and no more when that was told by a change. */
static void database__what_a_replay_came_to_ends_the_intent_of_its_call(void **state) {
  (void)state;
  static const enum hf_letter_status ends[] = {HF_LETTER_DEAD, HF_LETTER_REPLAYED};
  const struct hf_store_settings settings = keep_all();
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    char dir[64], path[PATH_BYTES], id[HF_LETTER_ID_MAX];
    make_directory(dir, sizeof dir);
    assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
    struct hf_database *dying = open_with(path, &settings, true);
    assert_int_equal(bury(dying, 7, "call-7", id), 0);
    struct hf_letter mark = {.id = hf_str_from(id), .status = HF_LETTER_REPLAYING, .call = HF_STR("replay-1")};
    assert_int_equal(ALONE(dying, hf_database_change(dying, &mark)), 0);
    const struct hf_intent of_replay = intent_of(7, "replay-1");
    assert_int_equal(ALONE(dying, hf_database_intend(dying, &of_replay)), 0);
    const struct hf_intent of_other = intent_of(8, "call-8");
    assert_int_equal(ALONE(dying, hf_database_intend(dying, &of_other)), 0);
    assert_int_equal(change(dying, id, ends[i]), 0);

    struct hf_database *living = open_with(path, &settings, true);
    assert_int_equal(change(living, id, HF_LETTER_DEAD), 0);
    mark.call = HF_STR("replay-2");
    assert_int_equal(ALONE(living, hf_database_change(living, &mark)), 0);
    hf_database_close(dying);
    assert_int_equal(hf_database_recover(living, 5000), 0);
    const struct read_letters *read = read_all(living);
    assert_int_equal(read->count, 2);
    assert_string_equal(read->letter[strcmp(read->letter[0].id, id) == 0].call, "call-8");
    hf_database_close(living);
    remove_directory(dir);
  }
}

static void database__nobody_is_dead_whose_locks_cannot_be_seen(void **state) {
  (void)state;
  char dir[64];
  char path[PATH_BYTES];
  char locks[PATH_BYTES + 8];
  char id[HF_LETTER_ID_MAX];
  make_directory(dir, sizeof dir);
  assert_true(snprintf(path, sizeof path, "%s/holdfast.db", dir) > 0);
  assert_true(snprintf(locks, sizeof locks, "%s-owners", path) > 0);
  const struct hf_store_settings settings = keep_all();
  struct hf_database *a = open_with(path, &settings, true);
  struct hf_database *b = open_with(path, &settings, true);
  assert_int_equal(bury(a, 1, "a", id), 0);
  assert_int_equal(change(a, id, HF_LETTER_REPLAYING), 0);
  assert_int_equal(unlink(locks), 0);
  hf_database_close(a);
  assert_int_equal(hf_database_recover(b, 1), 0);
  assert_int_equal(read_all(b)->letter[0].numbers.status, HF_LETTER_REPLAYING);
  hf_database_close(b);
  remove_directory(dir);
}

static void database__every_allocation_may_fail(void **state) {
  (void)state;
  const struct hf_store_settings settings = keep_all();
  const struct hf_letter letter = letter_of(1, "a");
  const struct hf_intent intent = intent_of(2, "b");
  bool done = false;
  for (long n = 0; !done; n++) {
    assert_true(n < 1000);
    const struct hf_database_options options = {.settings = &settings, .own = true};
    struct hf_database *db = NULL;
    char id[HF_LETTER_ID_MAX];
    hf_alloc_fail_after(n);
    int r = hf_database_open(&options, &db, NULL);
    if (r == 0) {
      assert_int_equal(hf_database_begin(db, true), 0);
      r = hf_database_bury(db, &letter, id);
      if (r == 0)
        r = hf_database_intend(db, &intent);
      if (r == 0)
        r = hf_database_commit(db);
      else
        hf_database_rollback(db);
      int64_t *rows = NULL;
      size_t count = 0;
      const struct hf_letter_filter filter = {.any_status = true};
      const unsigned long before = hf_alloc_count();
      int found = hf_database_find(db, &filter, &rows, &count);
      assert_int_equal(hf_alloc_count() - before, 1);
      done = r == 0 && found == 0;
      assert_true(found == 0 || found == HF_ERR_NOMEM);
      if (found == 0)
        assert_int_equal(count, r == 0);
      hf_free(rows);
    }
    hf_alloc_fail_after(-1);
    assert_true(r == 0 || r == HF_ERR_NOMEM);
    hf_database_close(db);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(database__keeps_a_letter_as_it_was_given),
      cmocka_unit_test(database__an_equal_letter_is_not_written_twice),
      cmocka_unit_test(database__a_letter_is_as_old_as_its_key),
      cmocka_unit_test(database__a_change_may_say_when_it_was_last_tried),
      cmocka_unit_test(database__a_letter_ends_its_intent),
      cmocka_unit_test(database__a_letter_without_arguments_has_those_of_its_intent),
      cmocka_unit_test(database__a_letter_without_arguments_and_intent_says_so),
      cmocka_unit_test(database__what_comes_back_too_often_is_quarantined),
      cmocka_unit_test(database__what_comes_first_is_told),
      cmocka_unit_test(database__without_quarantine_it_may_come_back_for_ever),
      cmocka_unit_test(database__a_replay_that_fails_returns_to_its_letter),
      cmocka_unit_test(database__a_failed_replay_that_is_told_by_a_change_counts_as_a_return),
      cmocka_unit_test(database__a_change_sets_what_is_there_and_appends_history),
      cmocka_unit_test(database__history_keeps_the_newest_hundred),
      cmocka_unit_test(database__finds_by_what_is_asked),
      cmocka_unit_test(database__imports_what_it_exported),
      cmocka_unit_test(database__redacts_before_it_stores),
      cmocka_unit_test(database__a_key_is_bound_until_it_expires),
      cmocka_unit_test(database__keeps_the_newest_cached_answer),
      cmocka_unit_test(database__kept_answers_are_bounded_together),
      cmocka_unit_test(database__age_is_announced_before_it_removes),
      cmocka_unit_test(database__what_is_long_too_old_is_announced_first),
      cmocka_unit_test(database__size_removes_the_oldest_and_what_is_done_first),
      cmocka_unit_test(database__finds_no_more_than_its_limit),
      cmocka_unit_test(database__cached_answers_are_bounded),
      cmocka_unit_test(database__counts),
      cmocka_unit_test(database__a_rolled_back_transaction_leaves_nothing),
      cmocka_unit_test(database__files_are_the_users_alone),
      cmocka_unit_test(database__nothing_is_promised_in_a_file_that_was_removed),
      cmocka_unit_test(database__migrates_what_every_older_version_wrote),
      cmocka_unit_test(database__refuses_what_a_newer_version_wrote),
      cmocka_unit_test(database__touches_nobody_elses),
      cmocka_unit_test(database__makes_letters_of_what_a_dead_owner_left),
      cmocka_unit_test(database__a_change_meets_a_dead_owner_by_itself),
      cmocka_unit_test(database__what_a_replay_came_to_ends_the_intent_of_its_call),
      cmocka_unit_test(database__nobody_is_dead_whose_locks_cannot_be_seen),
      cmocka_unit_test(database__every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
