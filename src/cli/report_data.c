#include "cli/report_data.h"

#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

enum { ARENA_MAX = 256 << 20, KEY_MAX = 2048, HOUR_MS = 60 * 60 * 1000, HOUR_S = 60 * 60, HOURS_OF_DAY = 24 };

static void add(uint64_t *sum, uint64_t n) {
  *sum = hf_report_plus(*sum, n);
}

bool hf_report_is_unknown(const struct hf_report_tool *tool) {
  return hf_str_equal(tool->server, HF_STR("_unknown"));
}

const char *hf_misfit_title(enum hf_misfit_kind misfit) {
  static const char *const titles[HF_MISFIT_COUNT] = {
      [HF_MISFIT_NONE] = "",
      [HF_MISFIT_ARGUMENTS] = "arguments that don't fit",
      [HF_MISFIT_PARAMETER] = "made-up parameters",
      [HF_MISFIT_TOOL] = "made-up tools",
      [HF_MISFIT_LIMIT] = "arguments that are too large",
      [HF_MISFIT_RESULT] = "results that don't fit",
      [HF_MISFIT_EXPECTATION] = "unexpected results",
  };
  return titles[misfit];
}

const char *hf_correction_title(enum hf_correction correction) {
  static const char *const titles[HF_CORRECTION_COUNT] = {
      [HF_CORRECTION_NONE] = "",
      [HF_CORRECTION_FEEDBACK] = "feedback",
      [HF_CORRECTION_ANCHORED] = "feedback put another way",
      [HF_CORRECTION_CLIENT] = "the client's model",
      [HF_CORRECTION_MODEL] = "the configured model",
      [HF_CORRECTION_HINT] = "advice on errors",
  };
  return titles[correction];
}

static struct hf_report_tool *new_tool(struct hf_report_data *report, struct hf_report_tools *tools, struct hf_str key,
                                       struct hf_str server, struct hf_str tool) {
  struct hf_report_tool *made = hf_arena_alloc(&report->arena, sizeof *made);
  const struct hf_str server_copy = hf_arena_copy(&report->arena, server);
  const struct hf_str tool_copy = tool.ptr ? hf_arena_copy(&report->arena, tool) : tool;
  if (!made || !server_copy.ptr || (tool.ptr && !tool_copy.ptr))
    return NULL;
  *made = (struct hf_report_tool){.server = server_copy, .tool = tool_copy};
  return hf_map_put(&tools->by_name, key, made) == 0 ? made : NULL;
}

static struct hf_report_tool *tool_of(struct hf_report_data *report, struct hf_report_tools *tools,
                                      struct hf_str server, struct hf_str tool) {
  char text[KEY_MAX];
  if (server.len + tool.len + 1 > sizeof text)
    return NULL;
  memcpy(text, server.ptr, server.len);
  text[server.len] = '\0';
  if (tool.len)
    memcpy(text + server.len + 1, tool.ptr, tool.len);
  const struct hf_str key = {text, server.len + 1 + tool.len};
  struct hf_report_tool *found = hf_map_get(&tools->by_name, key);
  if (found || tools->by_name.len >= HF_REPORT_TOOLS_MAX)
    return found;
  found = new_tool(report, tools, key, server, tool);
  report->failed |= !found;
  return found;
}

static void add_place(struct hf_report_data *report, struct hf_report_tool *tool, struct hf_str pointer, uint64_t n) {
  for (size_t i = 0; i < tool->place_count; i++) {
    if (hf_str_equal(tool->place[i].pointer, pointer)) {
      add(&tool->place[i].n, n);
      return;
    }
  }
  const struct hf_str copy = hf_arena_copy(&report->arena, pointer);
  if (tool->place_count == HF_REPORT_PLACES_MAX || !copy.ptr)
    add(&tool->counts.elsewhere, n);
  else
    tool->place[tool->place_count++] = (struct hf_report_place){copy, n};
}

static void add_to(struct hf_counts *counts, struct hf_str what, uint64_t n) {
  uint64_t *sum = hf_counts_find(counts, what);
  if (sum)
    add(sum, n);
}

static void take(void *ctx, const struct hf_tally_entry *entry) {
  struct hf_report_data *report = ctx;
  if (entry->n <= 0)
    return;
  const uint64_t n = (uint64_t)entry->n;
  struct hf_report_tool *tool = tool_of(report, &report->tools, entry->server, entry->tool);
  struct hf_report_tool *server = tool_of(report, &report->servers, entry->server, (struct hf_str){NULL, 0});
  if (entry->hour < report->first_hour)
    report->first_hour = entry->hour;
  const struct hf_str place = HF_STR(HF_COUNTS_PLACE);
  if (hf_str_starts(entry->what, place)) {
    if (tool)
      add_place(report, tool, (struct hf_str){entry->what.ptr + place.len, entry->what.len - place.len}, n);
    return;
  }
  add_to(&report->all, entry->what, n);
  if (tool)
    add_to(&tool->counts, entry->what, n);
  if (server)
    add_to(&server->counts, entry->what, n);
  const int64_t bar = (entry->hour - report->bar_first) / report->bar_hours;
  if (bar >= 0 && (size_t)bar < report->bar_count)
    add_to(&report->bar[bar], entry->what, n);
}

/* What went wrong, put right or not: the order in which people want to see tools. */
static uint64_t trouble(const struct hf_counts *counts) {
  uint64_t sum = 0;
  add(&sum, counts->count[HF_COUNT_REPAIRED]);
  for (int i = 1; i < HF_FAULT_COUNT; i++) {
    if (i == HF_FAULT_CANCELLED)
      continue;
    add(&sum, counts->ended[i]);
    add(&sum, counts->recovered[i]);
  }
  for (int i = 1; i < HF_MISFIT_COUNT; i++)
    add(&sum, counts->misfit[i]);
  return sum;
}

static int compare_names(struct hf_str a, struct hf_str b) {
  const size_t len = a.len < b.len ? a.len : b.len;
  const int order = len ? memcmp(a.ptr, b.ptr, len) : 0;
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare(const void *left, const void *right) {
  const struct hf_report_tool *a = *(struct hf_report_tool *const *)left;
  const struct hf_report_tool *b = *(struct hf_report_tool *const *)right;
  const uint64_t trouble_a = trouble(&a->counts);
  const uint64_t trouble_b = trouble(&b->counts);
  if (trouble_a != trouble_b)
    return trouble_a < trouble_b ? 1 : -1;
  const uint64_t calls_a = a->counts.count[HF_COUNT_CALLS];
  const uint64_t calls_b = b->counts.count[HF_COUNT_CALLS];
  if (calls_a != calls_b)
    return calls_a < calls_b ? 1 : -1;
  const int order = compare_names(a->server, b->server);
  return order ? order : compare_names(a->tool, b->tool);
}

static void sort(struct hf_report_data *report, struct hf_report_tools *tools) {
  tools->count = tools->by_name.len;
  if (tools->count == 0)
    return;
  tools->item = hf_arena_alloc(&report->arena, tools->count * sizeof(struct hf_report_tool *));
  report->failed |= !tools->item;
  if (!tools->item) {
    tools->count = 0;
    return;
  }
  for (size_t i = 0; i < tools->count; i++) {
    tools->item[i] = tools->by_name.entries[i].value;
    tools->known += !hf_report_is_unknown(tools->item[i]);
  }
  qsort(tools->item, tools->count, sizeof(struct hf_report_tool *), compare);
}

/* As few hours a bar as leave no more bars than can be seen; half a day and whole days rather than odd numbers. */
static int64_t hours_of_bar(int64_t hours) {
  static const int64_t steps[] = {1, 2, 3, 6, 12, HOURS_OF_DAY};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
    if ((hours + steps[i] - 1) / steps[i] < HF_REPORT_BARS_MAX) /* one more, if they begin in the middle of one */
      return steps[i];
  const int64_t days = (hours + HOURS_OF_DAY - 1) / HOURS_OF_DAY;
  return (days + HF_REPORT_BARS_MAX - 2) / (HF_REPORT_BARS_MAX - 1) * HOURS_OF_DAY;
}

/* The last hour up to this one at which a bar of so many hours can begin in a local day. */
static int64_t aligned(int64_t hour, int64_t bar_hours) {
  const time_t seconds = (time_t)(hour * HOUR_S);
  struct tm tm;
  if (!localtime_r(&seconds, &tm))
    return hour;
  return hour - tm.tm_hour % (bar_hours < HOURS_OF_DAY ? bar_hours : HOURS_OF_DAY);
}

static int make_bars(struct hf_report_data *report, int64_t first_hour, int64_t last_hour) {
  report->bar_hours = hours_of_bar(last_hour - first_hour + 1);
  report->bar_first = aligned(first_hour, report->bar_hours);
  const int64_t hours = last_hour - report->bar_first + 1;
  report->bar_count = (size_t)((hours + report->bar_hours - 1) / report->bar_hours);
  const size_t size = report->bar_count * sizeof report->bar[0];
  report->bar = hf_arena_alloc(&report->arena, size);
  if (!report->bar)
    return HF_ERR_NOMEM;
  memset(report->bar, 0, size);
  return 0;
}

int hf_report_data_load(struct hf_report_data *report, struct hf_database *database, int64_t since_ms,
                        int64_t until_ms) {
  *report = (struct hf_report_data){.since_ms = since_ms, .until_ms = until_ms, .first_hour = INT64_MAX};
  hf_arena_init(&report->arena, ARENA_MAX);
  hf_map_init(&report->tools.by_name, HF_REPORT_TOOLS_MAX);
  hf_map_init(&report->servers.by_name, HF_REPORT_TOOLS_MAX);
  const int64_t last = until_ms / HOUR_MS;
  const int64_t kept = last - HF_TALLY_HOURS_KEPT;
  const int64_t first = since_ms / HOUR_MS > kept ? since_ms / HOUR_MS : kept;
  assert(first <= last);
  int r = make_bars(report, first, last);
  if (r == 0)
    r = hf_database_tallies(database, first, last, take, report);
  struct hf_store_stats stats = {0};
  if (r == 0)
    r = hf_database_stats(database, &stats);
  report->waiting = stats.depth[HF_LETTER_DEAD];
  report->quarantined = stats.depth[HF_LETTER_QUARANTINED];
  sort(report, &report->tools);
  sort(report, &report->servers);
  return r == 0 && report->failed ? HF_ERR_NOMEM : r;
}

void hf_report_data_deinit(struct hf_report_data *report) {
  hf_map_deinit(&report->tools.by_name);
  hf_map_deinit(&report->servers.by_name);
  hf_arena_deinit(&report->arena);
}
