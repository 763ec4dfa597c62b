/* What dead letters say together: which tool fails in which way at which server, and whether it is getting worse. */
#include "cli/dlq.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/when.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  GROUPS_MAX = HF_LETTERS_MAX,
  KEY_MAX = 16 << 10,
  NAME_COLUMNS_MAX = 1000, /* what is alike so far is one */
  NAMES_BYTES_MAX = 64 << 20,
  SYSTEMIC = 10,
  REPORT_MAX = 16 << 20
};

#define DAY_MS (INT64_C(24) * 3600 * 1000)

/* Letters of one tool, class and provider. */
struct group {
  struct hf_str tool;
  struct hf_str reason;
  struct hf_str providers;
  uint64_t letters;
  uint64_t times;    /* they came here, returns among them */
  uint64_t waiting;  /* dead or quarantined */
  uint64_t maybe;    /* of those that wait: they may have run, or have */
  uint64_t last_day; /* times in the last 24 hours, as far as is known */
  uint64_t day_before;
};

struct analysis {
  struct hf_map by_key; /* to struct group, in `arena` */
  struct hf_arena arena;
  size_t names_bytes;
  struct group rest; /* of those for which there was no room, together: the oldest */
  int64_t now_ms;
  bool failed;
};

/* NULL: no memory. */
static struct group *find_group(struct analysis *a, const struct hf_letter *letter) {
  const struct hf_str tool = hf_terminal_cut(letter->tool, NAME_COLUMNS_MAX);
  const struct hf_str providers = hf_terminal_cut(letter->providers, NAME_COLUMNS_MAX);
  struct hf_buf key;
  hf_buf_init(&key, KEY_MAX);
  int r = hf_buf_printf(&key, "%.*s\n%.*s\n%.*s", HF_STR_FMT(tool), HF_STR_FMT(letter->reason), HF_STR_FMT(providers));
  struct group *group = r == 0 ? hf_map_get(&a->by_key, hf_buf_str(&key)) : NULL;
  const bool full = a->by_key.len >= GROUPS_MAX || a->names_bytes >= NAMES_BYTES_MAX;
  if (r == 0 && !group && full) {
    group = &a->rest;
  } else if (r == 0 && !group) {
    a->names_bytes += tool.len + providers.len + letter->reason.len + sizeof *group;
    group = hf_arena_alloc(&a->arena, sizeof *group);
    if (group) {
      group->tool = hf_arena_copy(&a->arena, tool);
      group->reason = hf_arena_copy(&a->arena, letter->reason);
      group->providers = hf_arena_copy(&a->arena, providers);
    }
    if (!group || !group->tool.ptr || !group->reason.ptr || !group->providers.ptr ||
        hf_map_put(&a->by_key, hf_buf_str(&key), group) < 0)
      group = NULL;
  }
  hf_buf_deinit(&key);
  return group;
}

static bool within(int64_t ms, int64_t from, int64_t to) {
  return ms > from && ms <= to;
}

/* Of a letter that came back only the first and the last time are known; what lies between counts for the day when
 * both lie in it. */
static uint64_t times_within(const struct hf_letter *letter, int64_t from, int64_t to) {
  const bool first = within(letter->first_ms, from, to);
  const bool last = within(letter->last_ms, from, to);
  if (first && last)
    return letter->count ? letter->count : 1;
  return first || last;
}

static void count_letter(void *ctx, const struct hf_letter *letter) {
  struct analysis *a = ctx;
  struct group *group = find_group(a, letter);
  if (!group) {
    a->failed = true;
    return;
  }
  const bool waits = letter->status == HF_LETTER_DEAD || letter->status == HF_LETTER_QUARANTINED;
  group->letters++;
  group->times += letter->count ? letter->count : 1;
  group->waiting += waits;
  group->maybe += waits && !hf_str_equal(letter->executed, HF_STR("no"));
  group->last_day += times_within(letter, a->now_ms - DAY_MS, a->now_ms);
  group->day_before += times_within(letter, a->now_ms - 2 * DAY_MS, a->now_ms - DAY_MS);
}

static bool is_systemic(const struct group *group) {
  return group->last_day > SYSTEMIC;
}

static const char *trend(const struct group *group) {
  if (group->last_day > group->day_before)
    return group->day_before ? "rising" : "new";
  if (group->last_day < group->day_before)
    return group->last_day ? "falling" : "over";
  return group->last_day ? "steady" : "quiet";
}

/* What hurts most now comes first. */
static int compare(const void *left, const void *right) {
  const struct group *a = *(struct group *const *)left;
  const struct group *b = *(struct group *const *)right;
  if (a->last_day != b->last_day)
    return a->last_day < b->last_day ? 1 : -1;
  return a->times < b->times ? 1 : a->times > b->times ? -1 : 0;
}

static struct group **sort(const struct analysis *a) {
  struct group **groups = hf_calloc(a->by_key.len ? a->by_key.len : 1, sizeof *groups);
  for (size_t i = 0; groups && i < a->by_key.len; i++)
    groups[i] = a->by_key.entries[i].value;
  if (groups)
    qsort(groups, a->by_key.len, sizeof *groups, compare);
  return groups;
}

static void write_counts(struct hf_json_writer *w, const struct group *group) {
  hf_json_write_member_int(w, "letters", (int64_t)group->letters);
  hf_json_write_member_int(w, "times", (int64_t)group->times);
  hf_json_write_member_int(w, "waiting", (int64_t)group->waiting);
  hf_json_write_member_int(w, "mayHaveRun", (int64_t)group->maybe);
  hf_json_write_member_int(w, "lastDay", (int64_t)group->last_day);
  hf_json_write_member_int(w, "dayBefore", (int64_t)group->day_before);
}

static void write_group(struct hf_json_writer *w, const struct group *group) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "tool", group->tool);
  hf_json_write_member_str(w, "class", group->reason);
  hf_json_write_member_str(w, "providers", group->providers);
  write_counts(w, group);
  hf_json_write_member_str(w, "trend", hf_str_from(trend(group)));
  hf_json_write_member_bool(w, "systemic", is_systemic(group));
  hf_json_write_member_str(w, "advice", hf_str_from(hf_dlq_advice(group->reason)));
  hf_json_write_object_end(w);
}

static int print_json(struct group *const *groups, size_t count, const struct group *rest) {
  struct hf_buf text;
  struct hf_json_writer w;
  hf_buf_init(&text, REPORT_MAX);
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  hf_json_write_key(&w, "groups");
  hf_json_write_array(&w);
  for (size_t i = 0; i < count; i++)
    write_group(&w, groups[i]);
  hf_json_write_array_end(&w);
  if (rest->letters) {
    hf_json_write_key(&w, "others");
    hf_json_write_object(&w);
    write_counts(&w, rest);
    hf_json_write_object_end(&w);
  }
  hf_json_write_object_end(&w);
  bool good = hf_json_write_finish(&w) == 0 && fwrite(text.data, 1, text.len, stdout) == text.len;
  (void)fputc('\n', stdout);
  hf_buf_deinit(&text);
  return good ? HF_EXIT_GOOD : hf_complain(HF_EXIT_FAILED, "dlq analyze: too much to print");
}

static int print_table(struct group *const *groups, size_t count) {
  static const struct hf_table_column columns[] = {
      {"TOOL", false, true},     {"CLASS", false, true},   {"PROVIDER", false, true},
      {"LETTERS", true, false},  {"WAITING", true, false}, {"MAY HAVE RUN", true, false},
      {"LAST 24H", true, false}, {"BEFORE", true, false},  {"TREND", false, false},
  };
  struct hf_table table;
  hf_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  for (size_t i = 0; i < count; i++) {
    const struct group *group = groups[i];
    hf_table_add(&table, group->tool);
    hf_table_add(&table, group->reason);
    hf_table_add(&table, group->providers);
    hf_table_addf(&table, "%" PRIu64, group->letters);
    hf_table_addf(&table, "%" PRIu64, group->waiting);
    hf_table_addf(&table, "%" PRIu64, group->maybe);
    hf_table_addf(&table, "%" PRIu64, group->last_day);
    hf_table_addf(&table, "%" PRIu64, group->day_before);
    hf_table_add(&table, hf_str_from(trend(group)));
  }
  int r = hf_table_print(&table, stdout, 0, hf_terminal_width());
  hf_table_deinit(&table);
  return r < 0 ? hf_complain(HF_EXIT_FAILED, "out of memory") : HF_EXIT_GOOD;
}

static void print_systemic(struct group *const *groups, size_t count) {
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    const struct group *group = groups[i];
    if (!is_systemic(group))
      continue;
    printf("%s  %.*s: %" PRIu64 " times ", any ? "" : "\nSystemic: more than 10 alike in 24 hours\n",
           HF_STR_FMT(group->reason), group->last_day);
    hf_terminal_print(stdout, group->tool, false);
    (void)fputs(" at ", stdout);
    hf_terminal_print(stdout, group->providers.len ? group->providers : HF_STR("no server"), false);
    printf(". One cause, most likely: mend that before anything is replayed.\n");
    any = true;
  }
}

/* Each class once, however many tools it met. */
static void print_advice(struct group *const *groups, size_t count) {
  printf("\nWhat to do\n");
  for (size_t i = 0; i < count; i++) {
    bool said = false;
    for (size_t j = 0; j < i && !said; j++)
      said = hf_str_equal(groups[j]->reason, groups[i]->reason);
    if (!said)
      printf("  %.*s: %s\n", HF_STR_FMT(groups[i]->reason), hf_dlq_advice(groups[i]->reason));
  }
}

static void print_rest(size_t count, const struct group *rest) {
  printf("\nNot told apart: %" PRIu64 " letters (%" PRIu64 " wait, %" PRIu64
         " of them may have run), older than those of the "
         "%zu kinds above.\nA filter (--tool, --class, --until) leaves fewer kinds.\n",
         rest->letters, rest->waiting, rest->maybe, count);
}

static int print_text(struct group *const *groups, size_t count, const struct group *rest) {
  if (count == 0) {
    printf("No letter matches.\n");
    return HF_EXIT_GOOD;
  }
  int exit_code = print_table(groups, count);
  if (rest->letters)
    print_rest(count, rest);
  print_systemic(groups, count);
  print_advice(groups, count);
  return exit_code;
}

static int analyze(struct hf_dlq *dlq, const struct hf_letter_filter *filter, bool json) {
  struct analysis a = {.now_ms = hf_clock_wall_ms()};
  hf_map_init(&a.by_key, GROUPS_MAX);
  hf_arena_init(&a.arena, 2 * NAMES_BYTES_MAX); /* it is full before */
  int exit_code = hf_dlq_each(dlq, filter, count_letter, &a);
  HF_CLEANUP_FREE struct group **groups = exit_code == HF_EXIT_GOOD && !a.failed ? sort(&a) : NULL;
  if (exit_code == HF_EXIT_GOOD && !groups)
    exit_code = hf_complain(HF_EXIT_FAILED, "out of memory");
  else if (exit_code == HF_EXIT_GOOD)
    exit_code = json ? print_json(groups, a.by_key.len, &a.rest) : print_text(groups, a.by_key.len, &a.rest);
  hf_map_deinit(&a.by_key);
  hf_arena_deinit(&a.arena);
  return exit_code;
}

int hf_dlq_analyze(const struct hf_args *args) {
  struct hf_letter_filter filter;
  struct hf_dlq dlq;
  int exit_code = hf_dlq_filter(args, HF_LETTER_STATUS_COUNT, &filter);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_dlq_open(args, false, &dlq);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  exit_code = analyze(&dlq, &filter, (args->flags & HF_FLAG_JSON) != 0);
  hf_dlq_close(&dlq);
  return fflush(stdout) == 0 ? exit_code : HF_EXIT_FAILED;
}
