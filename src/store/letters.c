/* Letters: how they come, come back, change, and are found. */
#include "store/database.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/random.h"
#include "policy/classify.h"
#include "policy/permit.h"
#include "store/database_state.h"

#include <assert.h>
#include <stddef.h>

enum { TRIES = 4, ID_DIGITS = 10, KEPT_BYTES_MAX = 64 << 20 };

static_assert(ID_DIGITS + sizeof "d-" <= HF_LETTER_ID_MAX, "an id fits");

/* The texts of a letter, by column. */
static const struct {
  enum hf_letter_column column;
  size_t offset;
} texts[] = {
    {HF_COLUMN_CALL, offsetof(struct hf_letter, call)},
    {HF_COLUMN_PRINCIPAL, offsetof(struct hf_letter, principal)},
    {HF_COLUMN_TOOL, offsetof(struct hf_letter, tool)},
    {HF_COLUMN_ROUTE, offsetof(struct hf_letter, route)},
    {HF_COLUMN_PROVIDERS, offsetof(struct hf_letter, providers)},
    {HF_COLUMN_REASON, offsetof(struct hf_letter, reason)},
    {HF_COLUMN_ENDING, offsetof(struct hf_letter, end)},
    {HF_COLUMN_SCHEMA, offsetof(struct hf_letter, schema)},
    {HF_COLUMN_KEY, offsetof(struct hf_letter, key)},
    {HF_COLUMN_TRACE_ID, offsetof(struct hf_letter, trace_id)},
    {HF_COLUMN_ARGUMENTS, offsetof(struct hf_letter, arguments)},
    {HF_COLUMN_ATTEMPTS, offsetof(struct hf_letter, attempts)},
    {HF_COLUMN_RESULT, offsetof(struct hf_letter, result)},
    {HF_COLUMN_HISTORY, offsetof(struct hf_letter, history)},
};

static void bind_texts(sqlite3_stmt *s, const struct hf_letter *letter) {
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct hf_str text;
    memcpy(&text, (const char *)letter + texts[i].offset, sizeof text);
    hf_bind_str(s, texts[i].column + 1, text);
  }
}

static void bind_int(sqlite3_stmt *s, unsigned column, int64_t number) {
  if (s)
    (void)sqlite3_bind_int64(s, (int)column + 1, number);
}

/* What is not known is "maybe". */
static enum hf_executed executed_from(struct hf_str name) {
  for (enum hf_executed e = HF_EXECUTED_NO; e <= HF_EXECUTED_YES; e++)
    if (hf_str_equal(name, hf_str_from(hf_executed_name(e))))
      return e;
  return HF_EXECUTED_MAYBE;
}

static struct hf_str executed_text(int number) {
  return hf_str_from(hf_executed_name(number >= HF_EXECUTED_NO && number <= HF_EXECUTED_YES ? (enum hf_executed)number
                                                                                            : HF_EXECUTED_MAYBE));
}

static struct hf_letter read_small(sqlite3_stmt *s) {
  return (struct hf_letter){
      .id = hf_column_str(s, HF_COLUMN_ID),
      .call = hf_column_str(s, HF_COLUMN_CALL),
      .principal = hf_column_str(s, HF_COLUMN_PRINCIPAL),
      .tool = hf_column_str(s, HF_COLUMN_TOOL),
      .route = hf_column_str(s, HF_COLUMN_ROUTE),
      .providers = hf_column_str(s, HF_COLUMN_PROVIDERS),
      .reason = hf_column_str(s, HF_COLUMN_REASON),
      .end = hf_column_str(s, HF_COLUMN_ENDING),
      .executed = executed_text(sqlite3_column_int(s, HF_COLUMN_EXECUTED)),
      .schema = hf_column_str(s, HF_COLUMN_SCHEMA),
      .key = hf_column_str(s, HF_COLUMN_KEY),
      .trace_id = hf_column_str(s, HF_COLUMN_TRACE_ID),
      .fingerprint = hf_column_fingerprint(s, HF_COLUMN_FINGERPRINT),
      .priority = (unsigned)sqlite3_column_int(s, HF_COLUMN_PRIORITY),
      .first_ms = sqlite3_column_int64(s, HF_COLUMN_FIRST_MS),
      .last_ms = sqlite3_column_int64(s, HF_COLUMN_LAST_MS),
      .count = (unsigned)sqlite3_column_int(s, HF_COLUMN_COUNT),
      .replays = (unsigned)sqlite3_column_int(s, HF_COLUMN_REPLAYS),
      .status = (enum hf_letter_status)sqlite3_column_int(s, HF_COLUMN_STATUS),
      .redacted = sqlite3_column_int(s, HF_COLUMN_REDACTED) != 0,
      .expiring = sqlite3_column_type(s, HF_COLUMN_ANNOUNCED_MS) != SQLITE_NULL,
  };
}

static int random_id(char id[HF_LETTER_ID_MAX]) {
  static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
  uint8_t bytes[ID_DIGITS];
  int r = hf_random_secret(bytes, sizeof bytes);
  if (r < 0)
    return r;
  memcpy(id, "d-", 2);
  for (size_t i = 0; i < ID_DIGITS; i++)
    id[2 + i] = digits[bytes[i] % 32];
  id[2 + ID_DIGITS] = '\0';
  return 0;
}

/* The letter that an equal call, or the replay that is this call, comes back to: 1, or 0 if there is none. */
static int find_return(struct hf_database *database, const struct hf_letter *letter, int64_t *ret_row,
                       int *ret_status) {
  int r = 0;
  sqlite3_stmt *s;
  if (database->owns && letter->call.ptr) {
    s = hf_database_statement(database, HF_SQL_LETTER_OF_REPLAY);
    hf_bind_str(s, 1, hf_database_owner(database));
    hf_bind_str(s, 2, letter->call);
    r = hf_database_step(database, s);
    if (r > 0)
      *ret_status = HF_LETTER_REPLAYING;
  }
  if (r == 0) {
    s = hf_database_statement(database, HF_SQL_LETTER_OF_FINGERPRINT);
    hf_bind_fingerprint(s, 1, &letter->fingerprint);
    r = hf_database_step(database, s);
    if (r > 0)
      *ret_status = sqlite3_column_int(s, 1);
  }
  if (r > 0) {
    *ret_row = sqlite3_column_int64(s, 0);
    (void)sqlite3_reset(s);
  }
  return r;
}

/* A call is not written down before it began. */
static int64_t first_ms(const struct hf_letter *letter) {
  return letter->first_ms && letter->first_ms < letter->last_ms ? letter->first_ms : letter->last_ms;
}

static int write_return(struct hf_database *database, const struct hf_letter *letter, int64_t row, int before,
                        char id[HF_LETTER_ID_MAX]) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_RETURN);
  bind_texts(s, letter);
  bind_int(s, HF_COLUMN_EXECUTED, executed_from(letter->executed));
  bind_int(s, HF_COLUMN_FIRST_MS, first_ms(letter));
  bind_int(s, HF_COLUMN_LAST_MS, letter->last_ms);
  hf_bind_fingerprint(s, HF_COLUMN_FINGERPRINT + 1, &letter->fingerprint);
  bind_int(s, HF_COLUMN_ROW, row);
  bind_int(s, HF_COLUMN_EXTRA, database->settings.quarantine);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r < 0 ? r : HF_ERR_IO;
  const struct hf_str text = hf_column_str(s, 0);
  const size_t len = text.len < HF_LETTER_ID_MAX ? text.len : HF_LETTER_ID_MAX - 1;
  memcpy(id, text.ptr, len);
  id[len] = '\0';
  if (sqlite3_column_int(s, 1) == HF_LETTER_QUARANTINED && before != HF_LETTER_QUARANTINED)
    hf_database_tell(database, HF_NEWS_QUARANTINED, row);
  return hf_database_run(database, s);
}

static int insert(struct hf_database *database, const struct hf_letter *letter) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_ADD);
  bind_texts(s, letter);
  hf_bind_str(s, HF_COLUMN_ID + 1, letter->id);
  bind_int(s, HF_COLUMN_STATUS, letter->status);
  bind_int(s, HF_COLUMN_EXECUTED, executed_from(letter->executed));
  bind_int(s, HF_COLUMN_PRIORITY, letter->priority);
  bind_int(s, HF_COLUMN_FIRST_MS, letter->first_ms);
  bind_int(s, HF_COLUMN_LAST_MS, letter->last_ms);
  bind_int(s, HF_COLUMN_COUNT, letter->count);
  bind_int(s, HF_COLUMN_REPLAYS, letter->replays);
  bind_int(s, HF_COLUMN_REDACTED, letter->redacted);
  hf_bind_fingerprint(s, HF_COLUMN_FINGERPRINT + 1, &letter->fingerprint);
  return hf_database_run(database, s);
}

static int write_new(struct hf_database *database, const struct hf_letter *letter, char id[HF_LETTER_ID_MAX],
                     int64_t *ret_row) {
  struct hf_buf space;
  hf_buf_init(&space, KEPT_BYTES_MAX);
  struct hf_letter row = *letter;
  row.arguments = hf_database_kept(database, letter->arguments, &space, &row.redacted);
  row.status = HF_LETTER_DEAD;
  row.first_ms = first_ms(letter);
  row.count = 1;
  row.replays = 0;
  row.result = row.history = (struct hf_str){NULL, 0};
  int r = HF_ERR_EXISTS;
  for (int i = 0; i < TRIES && r == HF_ERR_EXISTS; i++) {
    r = random_id(id);
    row.id = hf_str_from(id);
    if (r == 0)
      r = insert(database, &row);
  }
  *ret_row = sqlite3_last_insert_rowid(database->sql);
  hf_buf_deinit(&space);
  return r;
}

int hf_database_add_letter(struct hf_database *database, const struct hf_letter *letter, char id[HF_LETTER_ID_MAX],
                           int64_t *ret_row) {
  int status = 0;
  int r = find_return(database, letter, ret_row, &status);
  if (r < 0)
    return r;
  return r > 0 ? write_return(database, letter, *ret_row, status, id) : write_new(database, letter, id, ret_row);
}

/* Whoever went on with a call that another gateway had made knows only what its intent says of it. */
static int add_intended(struct hf_database *database, const struct hf_letter *letter, char id[HF_LETTER_ID_MAX],
                        int64_t *ret_row) {
  struct hf_letter whole = *letter;
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_INTENT_OF_CALL);
  hf_bind_str(s, 1, letter->call);
  const int found = hf_database_step(database, s);
  if (found < 0)
    return found;
  whole.redacted = true; /* without an intent nobody knows its arguments */
  if (found > 0) {
    whole.priority = (unsigned)sqlite3_column_int(s, 0);
    whole.redacted = sqlite3_column_int(s, 1) != 0;
    whole.fingerprint = hf_column_fingerprint(s, 2);
    whole.route = hf_column_str(s, 3);
    whole.key = hf_column_str(s, 4);
    whole.trace_id = hf_column_str(s, 5);
    whole.arguments = hf_column_str(s, 6);
  }
  const int added = hf_database_add_letter(database, &whole, id, ret_row);
  const int r = found > 0 ? hf_database_run(database, s) : 0;
  return added < 0 ? added : r;
}

int hf_database_bury(struct hf_database *database, const struct hf_letter *letter, char id[HF_LETTER_ID_MAX]) {
  int64_t row;
  int r = letter->arguments.ptr ? hf_database_add_letter(database, letter, id, &row)
                                : add_intended(database, letter, id, &row);
  if (r == 0 && letter->priority == HF_PRIORITY_FIRST)
    hf_database_tell(database, HF_NEWS_URGENT, row);
  return r == 0 && letter->call.ptr ? hf_database_settle(database, letter->call) : r;
}

/* What a person or a replay may make of a letter: a bit for each status that may follow. */
#define TO(status) (1U << HF_LETTER_##status)
static const unsigned may_become[HF_LETTER_STATUS_COUNT] = {
    [HF_LETTER_DEAD] = TO(DEAD) | TO(REPLAYING) | TO(DISCARDED) | TO(QUARANTINED),
    [HF_LETTER_REPLAYING] = TO(DEAD) | TO(REPLAYING) | TO(REPLAYED) | TO(DISCARDED) | TO(QUARANTINED),
    [HF_LETTER_REPLAYED] = TO(DEAD) | TO(REPLAYED) | TO(DISCARDED),
    [HF_LETTER_DISCARDED] = TO(DEAD) | TO(DISCARDED),
    [HF_LETTER_QUARANTINED] = TO(DEAD) | TO(DISCARDED) | TO(QUARANTINED),
};

/* What is known of a letter before it changes. */
struct found {
  int64_t row;
  enum hf_letter_status status;
  char owner[HF_OWNER_ID_LEN + 1];
  int64_t returns;
  int64_t replays;
  bool is_call; /* the call that it had last is the one that was named */
};

static int find(struct hf_database *database, struct hf_str id, struct hf_str call, struct found *ret_found) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_OF_ID);
  hf_bind_str(s, 1, id);
  hf_bind_str(s, 2, call);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r < 0 ? r : HF_ERR_NOTFOUND;
  *ret_found = (struct found){
      .row = sqlite3_column_int64(s, 0),
      .status = (enum hf_letter_status)sqlite3_column_int(s, 1),
      .returns = sqlite3_column_int64(s, 3),
      .replays = sqlite3_column_int64(s, 4),
      .is_call = sqlite3_column_int(s, 5) != 0,
  };
  const struct hf_str owner = hf_column_str(s, 2);
  if (owner.len == HF_OWNER_ID_LEN)
    memcpy(ret_found->owner, owner.ptr, owner.len);
  return hf_database_run(database, s);
}

/* Finds a letter that nobody living replays, but perhaps we do. */
static int find_ours(struct hf_database *database, const struct hf_letter *letter, struct found *ret_found) {
  int r = find(database, letter->id, letter->call, ret_found);
  if (r < 0 || ret_found->status != HF_LETTER_REPLAYING || strcmp(ret_found->owner, database->owner.id) == 0)
    return r;
  if (!hf_owner_is_dead(&database->owner, ret_found->owner))
    return HF_ERR_BUSY;
  r = hf_database_recover_owner(database, ret_found->owner, hf_clock_wall_ms());
  return r == 0 ? find(database, letter->id, letter->call, ret_found) : r;
}

/* A replay that failed is a return; a letter that a person made dead again starts over. */
static void count_return(const struct hf_database *database, const struct hf_letter *letter, struct found *found,
                         enum hf_letter_status *status) {
  if (*status != HF_LETTER_DEAD || found->status == HF_LETTER_DEAD)
    return;
  if (found->status != HF_LETTER_REPLAYING) {
    found->returns = 0;
  } else if (letter->replays > found->replays && ++found->returns >= database->settings.quarantine &&
             database->settings.quarantine > 0) {
    *status = HF_LETTER_QUARANTINED;
  }
}

static int write_change(struct hf_database *database, const struct hf_letter *letter, const struct found *found,
                        enum hf_letter_status status) {
  static const struct hf_fingerprint none;
  struct hf_buf space;
  hf_buf_init(&space, KEPT_BYTES_MAX);
  struct hf_letter row = *letter;
  row.arguments = hf_database_kept(database, letter->arguments, &space, &row.redacted);
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_CHANGE);
  bind_texts(s, &row);
  bind_int(s, HF_COLUMN_STATUS, status);
  if (row.executed.ptr)
    bind_int(s, HF_COLUMN_EXECUTED, executed_from(row.executed));
  if (row.priority)
    bind_int(s, HF_COLUMN_PRIORITY, row.priority);
  if (row.last_ms)
    bind_int(s, HF_COLUMN_LAST_MS, row.last_ms);
  if (row.replays)
    bind_int(s, HF_COLUMN_REPLAYS, row.replays);
  bind_int(s, HF_COLUMN_REDACTED, row.redacted);
  if (memcmp(&row.fingerprint, &none, sizeof none) != 0)
    hf_bind_fingerprint(s, HF_COLUMN_FINGERPRINT + 1, &row.fingerprint);
  bind_int(s, HF_COLUMN_ROW, found->row);
  if (status == HF_LETTER_REPLAYING)
    hf_bind_str(s, HF_COLUMN_EXTRA + 1, hf_database_owner(database));
  bind_int(s, HF_COLUMN_RETURNS, found->returns);
  int r = hf_database_run(database, s);
  hf_buf_deinit(&space);
  return r;
}

/* What a replay came to is in its letter: an intent of its call that is still open must not become a second one. */
static int settle_replay(struct hf_database *database, const struct found *found) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_SETTLE_REPLAY);
  if (s)
    (void)sqlite3_bind_int64(s, 1, found->row);
  return hf_database_run(database, s);
}

int hf_database_change(struct hf_database *database, const struct hf_letter *letter) {
  assert(letter->status < HF_LETTER_STATUS_COUNT);
  struct found found;
  int r = find_ours(database, letter, &found);
  if (r < 0)
    return r;
  enum hf_letter_status status = letter->status;
  const bool taken = found.status == HF_LETTER_REPLAYING && !found.is_call;
  if (status == HF_LETTER_REPLAYING && (taken || !database->owns))
    return HF_ERR_BUSY;
  if (found.status >= HF_LETTER_STATUS_COUNT || !(may_become[found.status] >> status & 1))
    return HF_ERR_INVALID;
  count_return(database, letter, &found, &status);
  r = found.status == HF_LETTER_REPLAYING ? settle_replay(database, &found) : 0;
  if (r == 0)
    r = write_change(database, letter, &found, status);
  if (r == 0 && status == HF_LETTER_QUARANTINED && letter->status == HF_LETTER_DEAD)
    hf_database_tell(database, HF_NEWS_QUARANTINED, found.row);
  return r;
}

int hf_database_import(struct hf_database *database, const struct hf_letter *letter) {
  struct hf_letter row = *letter;
  if (row.status == HF_LETTER_REPLAYING) {
    row.status = HF_LETTER_DEAD;
    if (executed_from(row.executed) == HF_EXECUTED_NO)
      row.executed = hf_str_from(hf_executed_name(HF_EXECUTED_MAYBE));
  }
  return insert(database, &row);
}

/* Is `one` among "a, b"? */
static bool among(struct hf_str list, struct hf_str one) {
  size_t start = 0;
  for (size_t i = 0; i <= list.len; i++) {
    if (i < list.len && list.ptr[i] != ',')
      continue;
    if (hf_str_equal(hf_str_trim((struct hf_str){list.ptr + start, i - start}), one))
      return true;
    start = i + 1;
  }
  return false;
}

static bool starts_with_hex(const struct hf_fingerprint *fingerprint, struct hf_str hex) {
  char whole[HF_FINGERPRINT_HEX];
  hf_hex(fingerprint->byte, sizeof fingerprint->byte, whole);
  return hex.len <= sizeof whole && hf_bytes_equal_nocase(hex.ptr, whole, hex.len);
}

static bool matches(const struct hf_letter_filter *filter, const struct hf_letter *letter) {
  return (!filter->id.ptr || hf_str_equal(filter->id, letter->id)) &&
         (!filter->tool.ptr || (letter->tool.ptr && hf_pattern_overlap(letter->tool, filter->tool))) &&
         (!filter->provider.ptr || among(letter->providers, filter->provider)) &&
         (!filter->reason.ptr || hf_str_equal(filter->reason, letter->reason)) &&
         (!filter->fingerprint.ptr || starts_with_hex(&letter->fingerprint, filter->fingerprint)) &&
         (!filter->priority || filter->priority == letter->priority) && letter->last_ms >= filter->since_ms &&
         (!filter->until_ms || letter->last_ms <= filter->until_ms) &&
         (filter->any_status || filter->status == letter->status);
}

struct judge {
  const struct hf_letter_filter *filter;
  bool good;
};

static void judge_letter(void *ctx, const struct hf_letter *letter) {
  struct judge *judge = ctx;
  judge->good = matches(judge->filter, letter);
}

/* The one letter with an id, if it matches otherwise. */
static int find_one(struct hf_database *database, const struct hf_letter_filter *filter, int64_t *rows,
                    size_t *ret_count) {
  struct found found;
  struct judge judge = {filter, false};
  int r = find(database, filter->id, (struct hf_str){NULL, 0}, &found);
  if (r == 0)
    r = hf_database_letter(database, found.row, judge_letter, &judge);
  rows[0] = r == 0 ? found.row : 0;
  *ret_count = r == 0 && judge.good;
  return r == HF_ERR_NOTFOUND ? 0 : r;
}

static int find_all(struct hf_database *database, const struct hf_letter_filter *filter, size_t max, int64_t *rows,
                    size_t *ret_count) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_LIST);
  if (s) {
    (void)sqlite3_bind_int64(s, 1, filter->since_ms);
    (void)sqlite3_bind_int64(s, 2, filter->until_ms ? filter->until_ms : INT64_MAX);
    (void)sqlite3_bind_int64(s, 3, filter->any_status ? -1 : (int64_t)filter->status);
  }
  int r = 1;
  *ret_count = 0;
  while (*ret_count < max && (r = hf_database_step(database, s)) > 0) {
    const struct hf_letter letter = read_small(s);
    if (matches(filter, &letter))
      rows[(*ret_count)++] = sqlite3_column_int64(s, HF_COLUMN_SMALL);
  }
  if (r > 0)
    (void)sqlite3_reset(s);
  return r < 0 ? r : 0;
}

int hf_database_find(struct hf_database *database, const struct hf_letter_filter *filter, int64_t **ret_rows,
                     size_t *ret_count) {
  const size_t max = filter->limit && filter->limit < HF_LETTERS_MAX ? filter->limit : HF_LETTERS_MAX;
  int64_t *rows = hf_malloc(max * sizeof *rows);
  size_t count = 0;
  if (!rows)
    return HF_ERR_NOMEM;
  int r = filter->id.ptr ? find_one(database, filter, rows, &count) : find_all(database, filter, max, rows, &count);
  if (r < 0) {
    hf_free(rows);
    return r;
  }
  *ret_rows = rows;
  *ret_count = count;
  return 0;
}

int hf_database_letter(struct hf_database *database, int64_t row, hf_letter_fn *letter, void *ctx) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_GET);
  if (s)
    (void)sqlite3_bind_int64(s, 1, row);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r < 0 ? r : HF_ERR_NOTFOUND;
  struct hf_letter found = read_small(s);
  found.arguments = hf_column_str(s, HF_COLUMN_ARGUMENTS);
  found.attempts = hf_column_str(s, HF_COLUMN_ATTEMPTS);
  found.result = hf_column_str(s, HF_COLUMN_RESULT);
  found.history = hf_column_str(s, HF_COLUMN_HISTORY);
  letter(ctx, &found);
  (void)sqlite3_reset(s);
  return 0;
}
