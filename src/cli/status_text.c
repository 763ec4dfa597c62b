#include "cli/status_text.h"

#include "cli/args.h"
#include "cli/explain_text.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/when.h"

#include <inttypes.h>

enum { TEXT_MAX = 64 << 20, OUTAGES_SHOWN = 8, CELL_MAX = 64, HEARD_LATELY_MS = 10000 };

struct status {
  const struct hf_json_doc *doc;
  struct hf_arena arena;
  size_t width;
  bool good;
};

static struct hf_str text(struct status *s, uint32_t object, const char *key) {
  return hf_explain_text(s->doc, object, key, &s->arena, "");
}

static int64_t number(const struct status *s, uint32_t object, const char *key) {
  return hf_explain_number(s->doc, object, key);
}

static uint32_t list_of(const struct status *s, uint32_t object, const char *key) {
  uint32_t node;
  return hf_json_member(s->doc, object, hf_str_from(key), &node) == 0 ? node : HF_JSON_NONE;
}

/* An open breaker says when it looks. */
static void add_breaker(struct status *s, struct hf_table *table, uint32_t object) {
  const struct hf_str state = text(s, object, "breaker");
  const int64_t probe_ms = number(s, object, "probeInMs");
  if (!state.len)
    hf_table_add(table, HF_STR("closed"));
  else if (hf_str_equal(state, HF_STR("open")) && probe_ms >= 0)
    hf_table_addf(table, "open, looks in %" PRId64 " s", (probe_ms + 999) / 1000);
  else
    hf_table_add(table, state);
}

static void add_server(struct status *s, struct hf_table *table, uint32_t server) {
  const struct hf_str disabled = text(s, server, "disabled");
  const struct hf_str phase = text(s, server, "phase");
  const bool bad = hf_str_equal(phase, HF_STR("down")) || hf_str_equal(phase, HF_STR("parked"));
  const uint32_t tools = list_of(s, server, "tools");
  s->good = s->good && !(bad && !disabled.len);
  hf_table_add(table, text(s, server, "name"));
  hf_table_add(table, disabled.len ? HF_STR("left out") : phase.len ? phase : HF_STR("idle"));
  add_breaker(s, table, server);
  hf_table_addf(table, "%" PRId64 " of %" PRId64, number(s, server, "inFlight"), number(s, server, "limit"));
  hf_table_addf(table, "%" PRId64, number(s, server, "queued"));
  hf_table_addf(table, "%" PRId64, number(s, server, "callsRefused"));
  const int64_t refused = number(s, server, "repeatsRefused");
  if (refused)
    hf_table_addf(table, "%" PRId64 " left, %" PRId64 " refused", number(s, server, "repeatsLeft"), refused);
  else
    hf_table_addf(table, "%" PRId64 " left", number(s, server, "repeatsLeft"));
  hf_table_addf(table, "%u", tools ? s->doc->nodes[tools].count : 0);
}

static void print_table(struct status *s, struct hf_table *table) {
  (void)hf_table_print(table, stdout, 2, s->width);
  hf_table_deinit(table);
}

static void print_reason(struct status *s, uint32_t server) {
  const struct hf_str disabled = text(s, server, "disabled");
  const struct hf_str reason = disabled.len ? disabled : text(s, server, "reason");
  const struct hf_str phase = text(s, server, "phase");
  const int64_t heard_ms = number(s, server, "heardMs");
  const bool starts_later = !disabled.len && (!phase.len || hf_str_equal(phase, HF_STR("idle")));
  char ago[HF_WHEN_TEXT_MAX];
  if (!reason.len && !starts_later && heard_ms < HEARD_LATELY_MS)
    return;
  (void)fputs("  ", stdout);
  hf_terminal_print(stdout, text(s, server, "name"), false);
  (void)fputs(": ", stdout);
  if (reason.len)
    hf_terminal_print(stdout, reason, false);
  else if (starts_later)
    (void)fputs("starts with the next call", stdout);
  else
    printf("last heard of %s ago, and nobody looks between calls (`keepalive` would)",
           hf_when_print_span(heard_ms, ago));
  (void)fputc('\n', stdout);
}

static void print_servers(struct status *s, uint32_t servers) {
  static const struct hf_table_column columns[] = {
      {"SERVER", false, true}, {"STATE", false, false},  {"BREAKER", false, false}, {"CALLS", true, false},
      {"QUEUED", true, false}, {"REFUSED", true, false}, {"REPEATS", true, false},  {"TOOLS", true, false},
  };
  struct hf_table table;
  struct hf_json_iter iter = hf_json_iter(s->doc, servers);
  uint32_t server;
  hf_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  while (hf_json_next(s->doc, &iter, NULL, &server))
    add_server(s, &table, server);
  print_table(s, &table);
  iter = hf_json_iter(s->doc, servers);
  while (hf_json_next(s->doc, &iter, NULL, &server))
    print_reason(s, server);
}

/* Only what is not as it should be: a server may have hundreds of tools. */
static void print_tools(struct status *s, uint32_t servers) {
  static const struct hf_table_column columns[] = {
      {"TOOL", false, true}, {"SERVER", false, true}, {"BREAKER", false, false}};
  struct hf_table table;
  struct hf_json_iter iter = hf_json_iter(s->doc, servers);
  uint32_t server, tool;
  hf_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  while (hf_json_next(s->doc, &iter, NULL, &server)) {
    struct hf_json_iter tools = hf_json_iter(s->doc, list_of(s, server, "tools"));
    while (list_of(s, server, "tools") && hf_json_next(s->doc, &tools, NULL, &tool)) {
      if (!text(s, tool, "breaker").len)
        continue;
      hf_table_add(&table, text(s, tool, "name"));
      hf_table_add(&table, text(s, server, "name"));
      add_breaker(s, &table, tool);
    }
  }
  if (table.count)
    printf("\ntools that are not called just now\n");
  if (table.count)
    print_table(s, &table);
  else
    hf_table_deinit(&table);
}

static void add_outage(struct status *s, struct hf_table *table, uint32_t server, uint32_t outage) {
  char ago[HF_WHEN_TEXT_MAX], took[HF_WHEN_TEXT_MAX];
  bool over = false;
  const uint32_t node = list_of(s, outage, "over");
  if (node)
    (void)hf_json_bool(s->doc, node, &over);
  const struct hf_str tool = text(s, outage, "tool");
  hf_table_add(table, text(s, server, "name"));
  hf_table_add(table, tool.len ? tool : HF_STR("(all of it)"));
  hf_table_addf(table, "%s ago", hf_when_print_span(number(s, outage, "beganMs"), ago));
  hf_table_addf(table, "%s%s", hf_when_print_span(number(s, outage, "tookMs"), took), over ? "" : " so far");
  hf_table_addf(table, "%" PRId64, number(s, outage, "probes"));
}

static void print_outages(struct status *s, uint32_t servers) {
  static const struct hf_table_column columns[] = {{"SERVER", false, true},
                                                   {"TOOL", false, true},
                                                   {"BEGAN", false, false},
                                                   {"TOOK", false, false},
                                                   {"PROBES", true, false}};
  struct hf_table table;
  struct hf_json_iter iter = hf_json_iter(s->doc, servers);
  uint32_t server, outage;
  size_t count = 0;
  hf_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  while (hf_json_next(s->doc, &iter, NULL, &server)) {
    const uint32_t outages = list_of(s, server, "outages");
    struct hf_json_iter each = hf_json_iter(s->doc, outages);
    for (size_t i = 0; outages && i < OUTAGES_SHOWN && hf_json_next(s->doc, &each, NULL, &outage); i++, count++)
      add_outage(s, &table, server, outage);
  }
  if (count)
    printf("\nrecent outages\n");
  if (count)
    print_table(s, &table);
  else
    hf_table_deinit(&table);
}

static void print_no_letters(struct status *s, uint32_t status) {
  const uint32_t store = list_of(s, status, "store");
  if (!store) {
    printf("\ndead letters: none are kept, for there is no store\n");
    return;
  }
  printf("\ndead letters: NONE ARE KEPT, until '");
  hf_terminal_print(stdout, text(s, store, "database"), false);
  printf("' can be opened (it is tried again): ");
  hf_terminal_print(stdout, text(s, store, "trouble"), false);
  printf("\n");
}

static void print_letters(struct status *s, uint32_t status) {
  const uint32_t letters = list_of(s, status, "letters");
  char age[HF_WHEN_TEXT_MAX];
  if (!letters) {
    print_no_letters(s, status);
    return;
  }
  const int64_t dead = number(s, letters, "dead");
  printf("\ndead letters: %" PRId64 " wait", dead);
  if (dead)
    printf(", the oldest for %s", hf_when_print_span(number(s, letters, "oldestMs"), age));
  printf("; %" PRId64 " being replayed, %" PRId64 " quarantined", number(s, letters, "replaying"),
         number(s, letters, "quarantined"));
  if (number(s, letters, "expiring"))
    printf("; %" PRId64 " expire within a day", number(s, letters, "expiring"));
  printf("; the database has %.1f MiB\n", (double)number(s, letters, "bytes") / (1 << 20));
}

static void print_tasks(struct status *s, uint32_t status) {
  const int64_t running = number(s, status, "tasks");
  const int64_t kept = number(s, status, "tasksKept");
  if (running || kept)
    printf("tasks: %" PRId64 " running, %" PRId64 " kept in the database\n", running, kept);
}

static void print_rest(struct status *s, uint32_t status) {
  const uint32_t cache = list_of(s, status, "cache");
  if (cache)
    printf("cache: %" PRId64 " answers, %.1f of %.1f MiB, %" PRId64 " hits\n", number(s, cache, "entries"),
           (double)number(s, cache, "bytes") / (1 << 20), (double)number(s, cache, "limit") / (1 << 20),
           number(s, cache, "hits"));
  printf("since the start: %" PRId64 " answers that were not live, %" PRId64 " hedges, %" PRId64
         " status checks, %" PRId64 " calls joined, %" PRId64 " replays\n",
         number(s, status, "degraded"), number(s, status, "hedges"), number(s, status, "checks"),
         number(s, status, "joined"), number(s, status, "replays"));
}

int hf_status_print(const struct hf_json_doc *doc, uint32_t status) {
  struct status s = {.doc = doc, .width = hf_terminal_width(), .good = true};
  bool draining = false;
  hf_arena_init(&s.arena, TEXT_MAX);
  const uint32_t node = list_of(&s, status, "draining");
  if (node)
    (void)hf_json_bool(doc, node, &draining);
  printf("holdfast %.*s%s: clients %" PRId64 ", calls in flight %" PRId64 "\n\n",
         HF_STR_FMT(text(&s, status, "version")), draining ? ", ending" : "", number(&s, status, "clients"),
         number(&s, status, "calls"));
  const uint32_t servers = list_of(&s, status, "servers");
  if (servers && doc->nodes[servers].count) {
    print_servers(&s, servers);
    print_tools(&s, servers);
    print_outages(&s, servers);
  }
  print_letters(&s, status);
  print_tasks(&s, status);
  print_rest(&s, status);
  hf_arena_deinit(&s.arena);
  return s.good ? HF_EXIT_GOOD : HF_EXIT_FAILED;
}
