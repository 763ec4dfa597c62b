/* Statuses and `executed` are numbers in the tables, those of enum hf_letter_status and enum hf_executed: 0 is dead, 1
 * replaying, 4 quarantined; and of enum hf_task_status: below 2 a task is unfinished. What may be large stands last in
 * a table, so that a search need not read past it. An owner of '' is nobody: what a dead one left, and others may take.
 */
#include "store/sql.h"

#include "gateway/store.h"

#define BYTES_OF(text) "coalesce(length(CAST(" text " AS BLOB)), 0)"

const char *const hf_sql_migrations[HF_SCHEMA_VERSION] = {
    "CREATE TABLE owners (id TEXT PRIMARY KEY NOT NULL, pid INTEGER NOT NULL, since_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE intents (call TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL, priority INTEGER NOT NULL,"
    " at_ms INTEGER NOT NULL, redacted INTEGER NOT NULL, fingerprint BLOB NOT NULL, principal TEXT, server TEXT,"
    " tool TEXT, route TEXT, key TEXT, trace_id TEXT, arguments TEXT);"
    "CREATE TABLE letters (id TEXT PRIMARY KEY NOT NULL, status INTEGER NOT NULL, executed INTEGER NOT NULL,"
    " priority INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, count INTEGER NOT NULL,"
    " returns INTEGER NOT NULL DEFAULT 0, replays INTEGER NOT NULL, redacted INTEGER NOT NULL,"
    " announced_ms INTEGER,"
    " bytes INTEGER NOT NULL AS (512 + coalesce(length(CAST(arguments AS BLOB)), 0)"
    "  + coalesce(length(CAST(attempts AS BLOB)), 0) + coalesce(length(CAST(result AS BLOB)), 0)"
    "  + length(CAST(history AS BLOB))) STORED,"
    " owner TEXT, fingerprint BLOB NOT NULL, call TEXT, principal TEXT, tool TEXT, route TEXT, providers TEXT,"
    " reason TEXT, ending TEXT, schema TEXT, key TEXT, trace_id TEXT, arguments TEXT, attempts TEXT, result TEXT,"
    " history TEXT NOT NULL);"
    "CREATE INDEX letters_fingerprint ON letters (fingerprint);"
    "CREATE INDEX letters_owner ON letters (owner) WHERE owner IS NOT NULL;"
    "CREATE TABLE keys (principal TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, key TEXT NOT NULL,"
    " fingerprint BLOB NOT NULL, first_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, result TEXT,"
    " UNIQUE (principal, server, tool, key));"
    "CREATE INDEX keys_expires ON keys (expires_ms);"
    "CREATE TABLE cache (fingerprint BLOB PRIMARY KEY NOT NULL, at_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, result TEXT);"
    "CREATE INDEX cache_expires ON cache (expires_ms, at_ms, bytes);"
    "PRAGMA application_id = 1212957771;" /* "HLDK" */
    "PRAGMA user_version = 1",

    "CREATE INDEX letters_age ON letters (status, last_ms, first_ms, bytes, announced_ms);"
    "PRAGMA user_version = 2",

    "CREATE TABLE tallies (hour INTEGER NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, what TEXT NOT NULL,"
    " n INTEGER NOT NULL, PRIMARY KEY (hour, server, tool, what)) WITHOUT ROWID;"
    "PRAGMA user_version = 3",

    "CREATE TABLE tasks (id TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL, status INTEGER NOT NULL,"
    " failed INTEGER NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,"
    " principal TEXT NOT NULL, endpoint TEXT NOT NULL, call TEXT, tool TEXT, server TEXT, server_task TEXT,"
    " letter TEXT, message TEXT, result TEXT);"
    "CREATE INDEX tasks_principal ON tasks (principal, endpoint, created_ms);"
    "CREATE INDEX tasks_expires ON tasks (expires_ms);"
    "CREATE INDEX tasks_owner ON tasks (owner, call) WHERE status < 2;"
    "CREATE TABLE task_totals (n INTEGER NOT NULL, bytes INTEGER NOT NULL);"
    "INSERT INTO task_totals VALUES (0, 0);"
    "CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN"
    " UPDATE task_totals SET n = n + 1, bytes = bytes + " BYTES_OF(
        "new.result") "; END;"
                      "CREATE TRIGGER tasks_changed AFTER UPDATE OF result ON tasks BEGIN"
                      " UPDATE task_totals SET bytes = bytes + " BYTES_OF("new.result") " - " BYTES_OF(
                          "old.result") "; END;"
                                        "CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN"
                                        " UPDATE task_totals SET n = n - 1, bytes = bytes - " BYTES_OF(
                                            "old.result") "; END;"
                                                          "PRAGMA user_version = 4",
};

#define LETTER_COLUMNS                                                                                                 \
  "id, status, executed, priority, first_ms, last_ms, count, replays, redacted, announced_ms, fingerprint, call,"      \
  " principal, tool, route, providers, reason, ending, schema, key, trace_id"
#define LETTER_LARGE ", arguments, attempts, result, history"

#define LEFT_AND_WAITS                                                                                                 \
  " status IN (0, 4) AND executed > 0 AND reason = '" HF_LETTER_GATEWAY_DIED "' ORDER BY last_ms DESC LIMIT 256"

#define TASK_COLUMNS                                                                                                   \
  "id, owner, status, failed, created_ms, updated_ms, expires_ms, principal, endpoint, call, tool, server, "           \
  "server_task, "                                                                                                      \
  "letter, message"

/* Tasks that are nobody's, and whose servers may still be at them. */
#define TASKS_TO_FOLLOW(now)                                                                                           \
  "SELECT call FROM tasks WHERE owner = '' AND status < 2 AND server_task IS NOT NULL AND call IS NOT NULL"            \
  " AND expires_ms > " now

/* The last 100 entries are enough to understand a letter. */
#define HISTORY_WITH(entry)                                                                                            \
  "json_insert(CASE WHEN json_array_length(history) >= 100 THEN json_remove(history, '$[0]') ELSE history END,"        \
  " '$[#]', json(" entry "))"

const char *const hf_sql_texts[HF_SQL_COUNT] = {
    [HF_SQL_BEGIN] = "BEGIN IMMEDIATE",
    [HF_SQL_COMMIT] = "COMMIT",
    [HF_SQL_ROLLBACK] = "ROLLBACK",

    [HF_SQL_OWNER_ADD] = "INSERT INTO owners VALUES (?1, ?2, ?3)",
    [HF_SQL_OWNER_END] = "DELETE FROM owners WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM intents WHERE owner = ?1)"
                         " AND NOT EXISTS (SELECT 1 FROM letters WHERE owner = ?1)"
                         " AND NOT EXISTS (SELECT 1 FROM tasks WHERE owner = ?1 AND status < 2)",
    [HF_SQL_OWNER_LIST] = "SELECT id FROM owners WHERE id <> ?1",

    [HF_SQL_INTEND] = "INSERT INTO intents (call, owner, priority, at_ms, redacted, fingerprint, principal, server,"
                      " tool, route, key, trace_id, arguments)"
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    [HF_SQL_SETTLE] = "DELETE FROM intents WHERE call = ?1",
    [HF_SQL_SETTLE_REPLAY] = "DELETE FROM intents WHERE call = (SELECT call FROM letters WHERE rowid = ?1)",
    [HF_SQL_INTENT_LIST] = "SELECT call, priority, at_ms, redacted, fingerprint, principal, server, tool, route, key,"
                           " trace_id, arguments FROM intents WHERE owner = ?1",
    [HF_SQL_INTENT_OF_CALL] = "SELECT priority, redacted, fingerprint, route, key, trace_id, arguments FROM intents"
                              " WHERE call = ?1",
    [HF_SQL_INTENT_END_ALL] = "DELETE FROM intents WHERE owner = ?1",
    [HF_SQL_INTENT_LEAVE] = "UPDATE intents SET owner = '' WHERE owner = ?1 AND call IN (" TASKS_TO_FOLLOW("?2") ")",
    [HF_SQL_INTENT_TAKE] = "UPDATE intents SET owner = ?1 WHERE owner = '' AND call IN (SELECT call FROM tasks"
                           " WHERE owner = ?1 AND status < 2)",
    [HF_SQL_INTENT_LOST] = "SELECT count(*) FROM intents WHERE owner = '' AND call NOT IN (" TASKS_TO_FOLLOW("?1") ")",
    [HF_SQL_INTENT_LOSE] = "UPDATE intents SET owner = ?2 WHERE owner = '' AND call NOT IN (" TASKS_TO_FOLLOW("?1") ")",

    [HF_SQL_LETTER_ADD] = "INSERT INTO letters (" LETTER_COLUMNS LETTER_LARGE ")"
                          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,"
                          " ?19, ?20, ?21, ?22, ?23, ?24, coalesce(?25, '[]'))",
    [HF_SQL_LETTER_RETURN] =
        "UPDATE letters SET status = CASE WHEN status = 4 OR ?27 > 0 AND returns + 1 >= ?27 THEN 4 ELSE 0 END,"
        " owner = NULL, announced_ms = NULL, count = count + 1, returns = returns + 1, replays = replays + (status = "
        "1), executed = max(executed, ?3),"
        " first_ms = min(first_ms, ?5), last_ms = max(last_ms, ?6), fingerprint = ?11, call = coalesce(?12, call),"
        " providers = coalesce(?16, providers), reason = ?17, ending = ?18, schema = coalesce(?19, schema),"
        " key = coalesce(?20, key), trace_id = coalesce(?21, trace_id), attempts = coalesce(?23, attempts)"
        " WHERE rowid = ?26 RETURNING id, status",
    [HF_SQL_LETTER_CHANGE] =
        "UPDATE letters SET status = ?2, owner = ?27, returns = ?28, executed = coalesce(?3, executed),"
        " priority = coalesce(?4, priority), last_ms = max(last_ms, coalesce(?6, 0)),"
        " announced_ms = CASE WHEN ?6 IS NULL THEN announced_ms END,"
        " replays = coalesce(?8, replays), call = coalesce(?12, call),"
        " fingerprint = coalesce(?11, fingerprint), key = coalesce(?20, key),"
        " redacted = CASE WHEN ?22 IS NULL THEN redacted ELSE ?9 END, arguments = coalesce(?22, arguments),"
        " result = coalesce(?24, result),"
        " history = CASE WHEN ?25 IS NULL THEN history ELSE " HISTORY_WITH("?25") " END"
                                                                                  " WHERE rowid = ?26",
    [HF_SQL_LETTER_GIVE_BACK] =
        "UPDATE letters SET status = CASE WHEN ?3 > 0 AND returns + 1 >= ?3 THEN 4 ELSE 0 END, owner = NULL,"
        " returns = returns + 1, replays = replays + 1, executed = max(executed, 1), last_ms = max(last_ms, ?5),"
        " announced_ms = NULL,"
        " history = " HISTORY_WITH("?4") " WHERE rowid = ?1 AND status = 1 AND owner = ?2 RETURNING status, call",
    [HF_SQL_LETTER_DELETE] = "DELETE FROM letters WHERE rowid = ?1",
    [HF_SQL_LETTER_ANNOUNCE] = "UPDATE letters SET announced_ms = ?2 WHERE rowid = ?1",
    [HF_SQL_LETTER_GET] = "SELECT " LETTER_COLUMNS LETTER_LARGE " FROM letters WHERE rowid = ?1",
    [HF_SQL_LETTER_LIST] =
        "SELECT " LETTER_COLUMNS ", rowid FROM letters"
        " WHERE last_ms BETWEEN ?1 AND ?2 AND (?3 < 0 OR status = ?3) ORDER BY last_ms DESC, rowid DESC",
    [HF_SQL_LETTER_OF_ID] = "SELECT rowid, status, owner, returns, replays, call = ?2 FROM letters WHERE id = ?1",
    [HF_SQL_LETTER_OF_REPLAY] = "SELECT rowid FROM letters WHERE owner = ?1 AND call = ?2 AND status = 1",
    [HF_SQL_LETTER_LEFT] = "SELECT rowid FROM letters WHERE last_ms > ?1 AND fingerprint = ?2 AND" LEFT_AND_WAITS,
    [HF_SQL_LETTERS_LEFT] = "SELECT rowid FROM letters WHERE last_ms > ?1 AND" LEFT_AND_WAITS,
    [HF_SQL_LETTER_OF_FINGERPRINT] = "SELECT rowid, status FROM letters WHERE fingerprint = ?1 AND status IN (0, 4)"
                                     " ORDER BY last_ms DESC LIMIT 1",
    [HF_SQL_LETTER_OF_OWNER] = "SELECT rowid FROM letters WHERE owner = ?1 AND status = 1",
    [HF_SQL_LETTER_TOTALS] = "SELECT status, count(*), min(first_ms), sum(bytes), count(announced_ms) FROM letters"
                             " GROUP BY status",
    [HF_SQL_LETTER_CLASSES] = "SELECT reason, count(*) FROM letters WHERE status = 0 GROUP BY reason",
    [HF_SQL_LETTER_AGEING] = "SELECT rowid FROM letters WHERE status <> 1 AND last_ms <= ?1 AND announced_ms IS NULL"
                             " LIMIT ?2",
    [HF_SQL_LETTER_AGED] =
        "SELECT rowid FROM letters WHERE status <> 1 AND last_ms <= ?1 AND announced_ms <= ?2 LIMIT ?3",
    [HF_SQL_LETTER_OLDEST] = "SELECT rowid, bytes, announced_ms FROM letters WHERE status <> 1"
                             " ORDER BY status IN (0, 4), last_ms LIMIT ?1",

    [HF_SQL_KEY_PUT] =
        "INSERT INTO keys VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        " ON CONFLICT (principal, server, tool, key) DO UPDATE SET fingerprint = excluded.fingerprint,"
        " first_ms = CASE WHEN expires_ms <= excluded.first_ms THEN excluded.first_ms ELSE first_ms END,"
        " expires_ms = CASE WHEN expires_ms <= excluded.first_ms THEN excluded.expires_ms ELSE expires_ms END,"
        " result = CASE WHEN expires_ms <= excluded.first_ms THEN excluded.result"
        "  ELSE coalesce(excluded.result, result) END"
        " WHERE expires_ms <= excluded.first_ms OR fingerprint = excluded.fingerprint",
    [HF_SQL_KEY_LIST] = "SELECT principal, server, tool, key, fingerprint, first_ms, expires_ms, result FROM keys"
                        " WHERE expires_ms > ?1",
    [HF_SQL_KEY_EXPIRE] = "DELETE FROM keys WHERE expires_ms <= ?1",

    [HF_SQL_CACHE_PUT] = "INSERT OR REPLACE INTO cache VALUES (?1, ?2, ?3, ?4, ?5)",
    [HF_SQL_CACHE_LIST] =
        "SELECT fingerprint, at_ms, expires_ms, result FROM cache WHERE expires_ms > ?1 ORDER BY at_ms",
    [HF_SQL_CACHE_EXPIRE] = "DELETE FROM cache WHERE expires_ms <= ?1",
    [HF_SQL_CACHE_TRIM] = "DELETE FROM cache WHERE fingerprint IN (SELECT fingerprint FROM (SELECT fingerprint,"
                          " sum(bytes) OVER (ORDER BY at_ms DESC, fingerprint) AS total FROM cache) WHERE total > ?1)",

    [HF_SQL_TASK_PUT] =
        "INSERT INTO tasks (" TASK_COLUMNS ", result)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
        " ON CONFLICT (id) DO UPDATE SET owner = ?2, status = ?3, failed = ?4,"
        " created_ms = CASE ?5 WHEN 0 THEN created_ms ELSE ?5 END,"
        " updated_ms = CASE ?6 WHEN 0 THEN updated_ms ELSE ?6 END,"
        " expires_ms = CASE ?7 WHEN 0 THEN expires_ms ELSE ?7 END, call = coalesce(?10, call),"
        " tool = coalesce(?11, tool), server = coalesce(?12, server), server_task = coalesce(?13, server_task),"
        " letter = coalesce(?14, letter), message = coalesce(?15, message), result = coalesce(?16, result)",
    [HF_SQL_TASK_OWNER] = "SELECT owner FROM tasks WHERE id = ?1",
    [HF_SQL_TASK_DROP] = "DELETE FROM tasks WHERE id = ?1 AND (status > 1 OR owner IN (?2, ''))",
    [HF_SQL_TASK_GET] = "SELECT " TASK_COLUMNS ", result FROM tasks WHERE id = ?1 AND expires_ms > ?2",
    [HF_SQL_TASK_PLACE] = "SELECT created_ms, rowid FROM tasks WHERE id = ?1 AND principal = ?2 AND endpoint = ?3",
    [HF_SQL_TASK_LIST] = "SELECT " TASK_COLUMNS " FROM tasks WHERE principal = ?1 AND endpoint = ?2"
                         " AND (created_ms, rowid) > (?3, ?4) AND expires_ms > ?5 ORDER BY created_ms, rowid LIMIT ?6",
    [HF_SQL_TASK_LEAVE] = "UPDATE tasks SET owner = '' WHERE owner = ?1 AND status < 2",
    [HF_SQL_TASK_LETTER] = "UPDATE tasks SET letter = ?2 WHERE owner = '' AND status < 2 AND call = ?1",
    [HF_SQL_TASK_LEFT] = "SELECT " TASK_COLUMNS " FROM tasks WHERE owner = '' AND status < 2 AND expires_ms > ?1"
                         " ORDER BY created_ms, rowid",
    [HF_SQL_TASK_TAKE] = "UPDATE tasks SET owner = ?1 WHERE owner = '' AND status < 2 AND expires_ms > ?2",
    [HF_SQL_TASK_TOTALS] = "SELECT n, bytes FROM task_totals",
    [HF_SQL_TASK_EXPIRE] = "DELETE FROM tasks WHERE expires_ms <= ?1 AND (status > 1 OR owner = '')",

    [HF_SQL_TALLY_ADD] =
        "INSERT INTO tallies SELECT a.value ->> '$.hour', a.value ->> '$.server', a.value ->> '$.tool',"
        " c.key, c.value FROM json_each(?1) AS a, json_each(a.value, '$.counts') AS c WHERE true"
        " ON CONFLICT (hour, server, tool, what) DO UPDATE SET n = n + excluded.n",
    [HF_SQL_TALLY_LIST] = "SELECT hour, server, tool, what, n FROM tallies WHERE hour BETWEEN ?1 AND ?2"
                          " ORDER BY server, tool, hour, what",
    [HF_SQL_TALLY_EXPIRE] = "DELETE FROM tallies WHERE hour < ?1",

    [HF_SQL_PAGES] = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    [HF_SQL_VERSION] = "PRAGMA data_version",
    [HF_SQL_VACUUM] = "PRAGMA incremental_vacuum(1000)",
};
