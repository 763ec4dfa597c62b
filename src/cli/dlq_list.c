#include "cli/dlq.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/when.h"

#include <inttypes.h>
#include <stdio.h>

enum { LISTED = 50, WATCH_EVERY_MS = 250, LINE_MAX = 1 << 20 };

static const struct hf_table_column columns[] = {
    {"ID", false, false},   {"WHEN", false, false},     {"TOOL", false, true},  {"PROVIDER", false, true},
    {"CLASS", false, true}, {"EXECUTED", false, false}, {"COUNT", true, false}, {"STATUS", false, false},
};

static void add_row(void *ctx, const struct hf_letter *letter) {
  struct hf_table *table = ctx;
  char when[HF_WHEN_TEXT_MAX];
  hf_table_add(table, letter->id);
  hf_table_add(table, hf_str_from(hf_when_print_short(letter->last_ms, hf_clock_wall_ms(), when)));
  hf_table_add(table, letter->tool);
  hf_table_add(table, letter->providers);
  hf_table_add(table, letter->reason);
  hf_table_add(table, letter->executed);
  hf_table_addf(table, "%u", letter->count);
  hf_table_add(table, hf_str_from(hf_letter_status_name(letter->status)));
}

static void print_json(void *ctx, const struct hf_letter *letter) {
  size_t *printed = ctx;
  static const struct hf_letter_view view = {.whole = false};
  struct hf_buf line;
  struct hf_json_writer w;
  hf_buf_init(&line, LINE_MAX);
  hf_json_writer_init(&w, &line);
  hf_letter_json_write(&w, letter, &view);
  if (hf_json_write_finish(&w) == 0)
    printf("%s%.*s", (*printed)++ ? ",\n" : "", HF_STR_FMT(hf_buf_str(&line)));
  hf_buf_deinit(&line);
}

/* What the list does not show: nobody should believe that there is nothing else. */
static void print_rest(const struct hf_dlq *dlq, const struct hf_args *args, size_t shown, size_t found) {
  struct hf_store_stats stats = {0};
  if (found > shown)
    printf("\n%zu of %s%zu letters; --limit shows more.\n", shown, found >= HF_LETTERS_MAX ? "at least " : "", found);
  if (args->filter.status || hf_database_stats(dlq->database, &stats) < 0)
    return;
  bool first = true;
  for (enum hf_letter_status s = HF_LETTER_REPLAYING; s < HF_LETTER_STATUS_COUNT; s++) {
    if (stats.depth[s] == 0)
      continue;
    printf("%s%" PRIu64 " %s", first ? "\nNot shown: " : ", ", stats.depth[s], hf_letter_status_name(s));
    first = false;
  }
  if (!first)
    printf(" (--status any shows them).\n");
  if (stats.expiring)
    printf("%s%" PRIu64 " letters expire within a day: retention removes them (deadLetters.maxAge, maxSize).\n",
           first ? "\n" : "", stats.expiring);
}

static int print_letters(struct hf_dlq *dlq, const int64_t *rows, size_t count, hf_letter_fn *print, void *ctx) {
  for (size_t i = 0; i < count; i++) {
    int r = hf_database_letter(dlq->database, rows[i], print, ctx);
    if (r < 0 && r != HF_ERR_NOTFOUND)
      return hf_dlq_complain(dlq, r);
  }
  return HF_EXIT_GOOD;
}

static int print_table(struct hf_dlq *dlq, const int64_t *rows, size_t count) {
  struct hf_table table;
  hf_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  int exit_code = print_letters(dlq, rows, count, add_row, &table);
  if (exit_code == HF_EXIT_GOOD && hf_table_print(&table, stdout, 0, hf_terminal_width()) < 0)
    exit_code = hf_complain(HF_EXIT_FAILED, "out of memory");
  hf_table_deinit(&table);
  return exit_code;
}

static int list_json(struct hf_dlq *dlq, const struct hf_letter_filter *filter) {
  size_t printed = 0;
  (void)fputc('[', stdout);
  int exit_code = hf_dlq_each(dlq, filter, print_json, &printed);
  (void)fputs("]\n", stdout);
  return exit_code;
}

static int list(struct hf_dlq *dlq, const struct hf_args *args, struct hf_letter_filter *filter) {
  HF_CLEANUP_FREE int64_t *rows = NULL;
  size_t found;
  const size_t limit = filter->limit ? filter->limit : LISTED;
  filter->limit = 0; /* to tell how many there are */
  int r = hf_database_find(dlq->database, filter, &rows, &found);
  if (r < 0)
    return hf_dlq_complain(dlq, r);
  const size_t shown = found < limit ? found : limit;
  int exit_code = HF_EXIT_GOOD;
  if (shown)
    exit_code = print_table(dlq, rows, shown);
  else
    printf("No letter matches.\n");
  if (exit_code == HF_EXIT_GOOD)
    print_rest(dlq, args, shown, found);
  return exit_code;
}

int hf_dlq_list(const struct hf_args *args) {
  struct hf_letter_filter filter;
  struct hf_dlq dlq;
  int exit_code = hf_dlq_filter(args, HF_LETTER_DEAD, &filter);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_dlq_open(args, false, &dlq);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  exit_code = args->flags & HF_FLAG_JSON ? list_json(&dlq, &filter) : list(&dlq, args, &filter);
  hf_dlq_close(&dlq);
  return fflush(stdout) == 0 ? exit_code : HF_EXIT_FAILED;
}

/* What has been told. A letter that comes back keeps its row, and is newer than all that were seen. */
struct watch {
  struct hf_dlq *dlq;
  struct hf_letter_filter filter;
  bool json;
  int64_t last_row;
  int64_t last_ms;
  int64_t newest_ms; /* of this look */
};

static void tell(void *ctx, const struct hf_letter *letter) {
  struct watch *watch = ctx;
  if (letter->last_ms > watch->newest_ms)
    watch->newest_ms = letter->last_ms;
  if (watch->json) {
    size_t printed = 0;
    print_json(&printed, letter);
    (void)fputc('\n', stdout);
    return;
  }
  char when[HF_WHEN_TEXT_MAX];
  printf("%s  %.*s  ", hf_when_print(letter->last_ms, when), HF_STR_FMT(letter->id));
  hf_terminal_print(stdout, letter->tool, false);
  (void)fputs(" at ", stdout);
  hf_terminal_print(stdout, letter->providers.len ? letter->providers : HF_STR("no server"), false);
  printf(": %.*s, executed: %.*s", HF_STR_FMT(letter->reason), HF_STR_FMT(letter->executed));
  if (letter->count > 1)
    printf(", for the %u. time", letter->count);
  printf("%s\n", letter->status == HF_LETTER_QUARANTINED ? ", quarantined" : "");
}

/* Tells what is new; `quiet` only notes it. Rows come newest first, and are told oldest first. */
static int look(struct watch *watch, bool quiet) {
  HF_CLEANUP_FREE int64_t *all = NULL;
  HF_CLEANUP_FREE int64_t *recent = NULL;
  size_t all_count = 0, recent_count = 0;
  struct hf_letter_filter later = watch->filter;
  if (later.since_ms <= watch->last_ms)
    later.since_ms = watch->last_ms + 1;
  int r = hf_database_find(watch->dlq->database, &watch->filter, &all, &all_count);
  if (r == 0)
    r = hf_database_find(watch->dlq->database, &later, &recent, &recent_count);
  const int64_t known = watch->last_row;
  for (size_t i = all_count; r == 0 && i-- > 0;) {
    if (all[i] > watch->last_row)
      watch->last_row = all[i];
    if (all[i] > known && !quiet)
      r = hf_database_letter(watch->dlq->database, all[i], tell, watch);
  }
  for (size_t i = recent_count; r == 0 && !quiet && i-- > 0;)
    if (recent[i] <= known)
      r = hf_database_letter(watch->dlq->database, recent[i], tell, watch);
  if (watch->newest_ms > watch->last_ms)
    watch->last_ms = watch->newest_ms;
  (void)fflush(stdout);
  return r == HF_ERR_NOTFOUND ? 0 : r;
}

static void note_newest(void *ctx, const struct hf_letter *letter) {
  struct watch *watch = ctx;
  watch->newest_ms = watch->last_ms = letter->last_ms;
}

static int begin_watch(struct watch *watch) {
  HF_CLEANUP_FREE int64_t *rows = NULL;
  size_t count = 0;
  struct hf_letter_filter newest = {.any_status = true, .limit = 1};
  int r = hf_database_find(watch->dlq->database, &newest, &rows, &count);
  if (r == 0 && count)
    r = hf_database_letter(watch->dlq->database, rows[0], note_newest, watch);
  return r == 0 || r == HF_ERR_NOTFOUND ? look(watch, true) : r;
}

static int watch_until_interrupted(struct watch *watch, struct hf_interrupt *interrupt) {
  int64_t version = hf_database_version(watch->dlq->database);
  int r = begin_watch(watch);
  if (r == 0)
    (void)fputs("Watching for letters that come from now on; Ctrl-C ends it.\n", stderr);
  (void)fflush(stdout);
  while (r == 0 && !ferror(stdout) && !hf_interrupt_wait(interrupt, WATCH_EVERY_MS)) {
    const int64_t now = hf_database_version(watch->dlq->database);
    if (now == version)
      continue;
    version = now;
    r = look(watch, false);
  }
  return r < 0 ? hf_dlq_complain(watch->dlq, r) : HF_EXIT_GOOD;
}

int hf_dlq_watch(const struct hf_args *args) {
  struct hf_dlq dlq;
  struct watch watch = {.dlq = &dlq, .json = (args->flags & HF_FLAG_JSON) != 0};
  struct hf_interrupt interrupt;
  int exit_code = hf_dlq_filter(args, HF_LETTER_STATUS_COUNT, &watch.filter);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_dlq_open(args, true, &dlq);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  watch.filter.limit = 0;
  if (hf_interrupt_init(&interrupt) < 0)
    exit_code = hf_complain(HF_EXIT_FAILED, "cannot wait for signals");
  else
    exit_code = watch_until_interrupted(&watch, &interrupt);
  hf_interrupt_deinit(&interrupt);
  hf_dlq_close(&dlq);
  return exit_code;
}
