/* What dead owners left: intents become letters, and letters that were being replayed are dead again; tasks are
 * nobody's until somebody takes them, and so are the intents of those that a server may still be at. All of one look at
 * the owners is one transaction, and it ends their rows, so that however many gateways look, it happens once. */
#include "store/database.h"

#include "base/alloc.h"
#include "policy/classify.h"
#include "store/database_state.h"
#include "json/write.h"

enum { TEXT_MAX = 4096, OWNERS_AT_ONCE = 32 };

static const struct hf_str gateway_died = {HF_LETTER_GATEWAY_DIED, sizeof HF_LETTER_GATEWAY_DIED - 1};

static struct hf_str maybe(void) {
  return hf_str_from(hf_executed_name(HF_EXECUTED_MAYBE));
}

static int write_history(struct hf_buf *buf, const char *owner, int64_t now_ms) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, buf);
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "atMs", now_ms);
  hf_json_write_member_str(&w, "what", gateway_died);
  hf_json_write_member_str(&w, "by", hf_str_from(owner));
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

/* The one step that is known of a call that was about to be sent. */
static int write_attempts(struct hf_buf *buf, int64_t at_ms, struct hf_str server) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, buf);
  hf_json_write_array(&w);
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "atMs", at_ms);
  if (server.ptr)
    hf_json_write_member_str(&w, "provider", server);
  hf_json_write_member_str(&w, "fault", gateway_died);
  hf_json_write_member_str(&w, "executed", maybe());
  hf_json_write_object_end(&w);
  hf_json_write_array_end(&w);
  return hf_json_write_finish(&w);
}

/* The call that was replaying it has an intent, too, which is no second letter. */
static int give_back(struct hf_database *database, int64_t row, const char *owner, struct hf_str history,
                     int64_t now_ms) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_GIVE_BACK);
  if (s) {
    (void)sqlite3_bind_int64(s, 1, row);
    (void)sqlite3_bind_int64(s, 3, database->settings.quarantine);
    (void)sqlite3_bind_int64(s, 5, now_ms);
  }
  hf_bind_str(s, 2, hf_str_from(owner));
  hf_bind_str(s, 4, history);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r;
  const bool quarantined = sqlite3_column_int(s, 0) == HF_LETTER_QUARANTINED;
  const struct hf_str call = hf_column_str(s, 1);
  r = call.ptr ? hf_database_settle(database, call) : 0;
  int run = hf_database_run(database, s);
  hf_database_tell(database, HF_NEWS_RECOVERED, row);
  if (quarantined)
    hf_database_tell(database, HF_NEWS_QUARANTINED, row);
  return r < 0 ? r : run;
}

static int give_back_all(struct hf_database *database, const char *owner, int64_t now_ms) {
  HF_CLEANUP_FREE int64_t *rows = NULL;
  size_t count = 0;
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_LETTER_OF_OWNER);
  hf_bind_str(s, 1, hf_str_from(owner));
  int r = hf_database_rows(database, s, &rows, &count);
  struct hf_buf history;
  hf_buf_init(&history, TEXT_MAX);
  if (r == 0)
    r = write_history(&history, owner, now_ms);
  for (size_t i = 0; i < count && r == 0; i++)
    r = give_back(database, rows[i], owner, hf_buf_str(&history), now_ms);
  hf_buf_deinit(&history);
  return r;
}

/* Until now its owner was not known to be dead, and may have gone on with it. */
static int bury_intent(struct hf_database *database, sqlite3_stmt *s, struct hf_buf *attempts, int64_t now_ms) {
  const int64_t at_ms = sqlite3_column_int64(s, 2);
  const struct hf_str server = hf_column_str(s, 6);
  hf_buf_reset(attempts, TEXT_MAX);
  int r = write_attempts(attempts, at_ms, server);
  const struct hf_letter letter = {
      .call = hf_column_str(s, 0),
      .priority = (unsigned)sqlite3_column_int(s, 1),
      .first_ms = at_ms,
      .last_ms = now_ms,
      .redacted = sqlite3_column_int(s, 3) != 0,
      .fingerprint = hf_column_fingerprint(s, 4),
      .principal = hf_column_str(s, 5),
      .providers = server,
      .tool = hf_column_str(s, 7),
      .route = hf_column_str(s, 8),
      .key = hf_column_str(s, 9),
      .trace_id = hf_column_str(s, 10),
      .arguments = hf_column_str(s, 11),
      .reason = gateway_died,
      .executed = maybe(),
      .attempts = hf_buf_str(attempts),
  };
  char id[HF_LETTER_ID_MAX];
  int64_t row = 0;
  if (r == 0)
    r = hf_database_add_letter(database, &letter, id, &row);
  if (r == 0)
    r = hf_database_name_letter(database, letter.call, id);
  if (r == 0)
    hf_database_tell(database, HF_NEWS_RECOVERED, row);
  return r;
}

static int bury_intents(struct hf_database *database, const char *owner, int64_t now_ms) {
  struct hf_buf attempts;
  hf_buf_init(&attempts, TEXT_MAX);
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_INTENT_LIST);
  hf_bind_str(s, 1, hf_str_from(owner));
  int r;
  while ((r = hf_database_step(database, s)) > 0) {
    r = bury_intent(database, s, &attempts, now_ms);
    if (r < 0) {
      (void)sqlite3_reset(s);
      break;
    }
  }
  hf_buf_deinit(&attempts);
  if (r < 0)
    return r;
  s = hf_database_statement(database, HF_SQL_INTENT_END_ALL);
  hf_bind_str(s, 1, hf_str_from(owner));
  return hf_database_run(database, s);
}

int hf_database_recover_owner(struct hf_database *database, const char *owner, int64_t now_ms) {
  int r = give_back_all(database, owner, now_ms);
  if (r == 0)
    r = hf_database_leave_tasks(database, owner, now_ms);
  if (r == 0)
    r = bury_intents(database, owner, now_ms);
  if (r < 0)
    return r;
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_OWNER_END);
  hf_bind_str(s, 1, hf_str_from(owner));
  return hf_database_run(database, s);
}

int hf_database_recover_lost(struct hf_database *database, int64_t now_ms) {
  static const char lost[] = "lost"; /* an owner's id is hex, so this is none */
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_INTENT_LOST);
  if (s)
    (void)sqlite3_bind_int64(s, 1, now_ms);
  int r = hf_database_step(database, s);
  if (r <= 0)
    return r;
  const bool any = sqlite3_column_int64(s, 0) > 0;
  r = hf_database_run(database, s);
  if (r < 0 || !any)
    return r;
  r = hf_database_begin(database, true);
  if (r < 0)
    return r;
  s = hf_database_statement(database, HF_SQL_INTENT_LOSE);
  if (s)
    (void)sqlite3_bind_int64(s, 1, now_ms);
  hf_bind_str(s, 2, hf_str_from(lost));
  r = hf_database_run(database, s);
  if (r == 0)
    r = bury_intents(database, lost, now_ms);
  if (r == 0)
    return hf_database_commit(database);
  hf_database_rollback(database);
  return r;
}

int hf_database_left(struct hf_database *database, const struct hf_fingerprint *fingerprint, int64_t since_ms,
                     int64_t **ret_rows, size_t *ret_count) {
  sqlite3_stmt *s = hf_database_statement(database, fingerprint ? HF_SQL_LETTER_LEFT : HF_SQL_LETTERS_LEFT);
  if (s)
    (void)sqlite3_bind_int64(s, 1, since_ms);
  if (fingerprint)
    hf_bind_fingerprint(s, 2, fingerprint);
  return hf_database_rows(database, s, ret_rows, ret_count);
}

/* Who of the others is dead? Returns how many of `owners` are set, or an error. */
static int find_dead(struct hf_database *database, char owners[OWNERS_AT_ONCE][HF_OWNER_ID_LEN + 1]) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_OWNER_LIST);
  hf_bind_str(s, 1, hf_database_owner(database));
  int count = 0;
  int r = 1;
  while (count < OWNERS_AT_ONCE && (r = hf_database_step(database, s)) > 0) {
    const struct hf_str id = hf_column_str(s, 0);
    if (id.len != HF_OWNER_ID_LEN)
      continue;
    memcpy(owners[count], id.ptr, id.len);
    owners[count][id.len] = '\0';
    count += hf_owner_is_dead(&database->owner, owners[count]);
  }
  if (r > 0)
    (void)sqlite3_reset(s);
  return r < 0 ? r : count;
}

/* The first look takes no lock of the database: nearly always there is nobody. */
int hf_database_recover(struct hf_database *database, int64_t now_ms) {
  char owners[OWNERS_AT_ONCE][HF_OWNER_ID_LEN + 1];
  int count;
  while ((count = find_dead(database, owners)) > 0) {
    int r = hf_database_begin(database, true);
    if (r == 0)
      r = count = find_dead(database, owners);
    for (int i = 0; i < count && r >= 0; i++)
      r = hf_database_recover_owner(database, owners[i], now_ms);
    if (r >= 0)
      r = hf_database_commit(database);
    else
      hf_database_rollback(database);
    if (r < 0)
      return r;
  }
  return count;
}
