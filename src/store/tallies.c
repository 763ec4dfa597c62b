/* Counts of calls by hour, server, tool and what is counted. */
#include "store/database.h"

#include "store/database_state.h"

int hf_database_tally(struct hf_database *database, struct hf_str rows) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TALLY_ADD);
  hf_bind_str(s, 1, rows);
  return hf_database_run(database, s);
}

int hf_database_tallies(struct hf_database *database, int64_t first_hour, int64_t last_hour, hf_tally_fn *tally,
                        void *ctx) {
  sqlite3_stmt *s = hf_database_statement(database, HF_SQL_TALLY_LIST);
  if (s) {
    (void)sqlite3_bind_int64(s, 1, first_hour);
    (void)sqlite3_bind_int64(s, 2, last_hour);
  }
  int r;
  while ((r = hf_database_step(database, s)) > 0) {
    const struct hf_tally_entry entry = {
        .hour = sqlite3_column_int64(s, 0),
        .server = hf_column_str(s, 1),
        .tool = hf_column_str(s, 2),
        .what = hf_column_str(s, 3),
        .n = sqlite3_column_int64(s, 4),
    };
    tally(ctx, &entry);
  }
  return r;
}
