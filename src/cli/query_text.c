#include "cli/query_text.h"

#include "cli/terminal.h"

#include <stdio.h>

enum { TEXT_MAX = 64 << 20, NAME_WIDTH = 32, GAP = 2, SUMMARY_MAX = 96, SUMMARY_MIN = 20 };

/* A string member, or `otherwise`; valid as long as `arena`. */
static struct hf_str text_of(const struct hf_json_doc *doc, uint32_t object, const char *key, struct hf_arena *arena,
                             const char *otherwise) {
  uint32_t node;
  struct hf_str text;
  if (hf_json_member(doc, object, hf_str_from(key), &node) == 0 && hf_json_string(doc, node, arena, &text) == 0)
    return text;
  return hf_str_from(otherwise);
}

static int64_t number_of(const struct hf_json_doc *doc, uint32_t object, const char *key) {
  uint32_t node;
  int64_t number;
  if (hf_json_member(doc, object, hf_str_from(key), &node) == 0 && hf_json_int64(hf_json_span(doc, node), &number) == 0)
    return number;
  return 0;
}

void hf_query_complain(const struct hf_json_doc *doc, uint32_t response) {
  struct hf_arena arena;
  uint32_t error;
  hf_arena_init(&arena, TEXT_MAX);
  if (hf_json_member(doc, response, HF_STR("error"), &error) == 0) {
    struct hf_str text = text_of(doc, error, "message", &arena, "?");
    (void)fputs("holdfast: ", stderr);
    hf_terminal_print(stderr, text, false);
    (void)fputc('\n', stderr);
  } else {
    hf_complain(HF_EXIT_FAILED, "the answer of the gateway cannot be read");
  }
  hf_arena_deinit(&arena);
}

/* Columns left behind a name of so many. */
static size_t summary_columns(size_t name) {
  const size_t width = hf_terminal_width();
  const size_t used = (name > NAME_WIDTH ? name : NAME_WIDTH) + GAP + 1;
  if (width == 0)
    return SUMMARY_MAX;
  return width < used + SUMMARY_MIN ? SUMMARY_MIN : width - used;
}

static void print_tool(const struct hf_json_doc *doc, uint32_t tool, struct hf_arena *arena) {
  struct hf_str description = text_of(doc, tool, "description", arena, "");
  const char *end = description.len ? memchr(description.ptr, '\n', description.len) : NULL;
  if (end)
    description.len = (size_t)(end - description.ptr);
  struct hf_str name = text_of(doc, tool, "name", arena, "?");
  const struct hf_str summary = hf_terminal_cut(description, summary_columns(name.len));
  hf_terminal_print(stdout, name, false);
  printf("%*s%*s", name.len < NAME_WIDTH ? NAME_WIDTH - (int)name.len : 0, "", GAP, "");
  hf_terminal_print(stdout, summary, false);
  (void)puts(summary.len < description.len ? "…" : "");
}

size_t hf_query_print_tools(const struct hf_json_doc *doc, uint32_t result, bool json, size_t printed) {
  struct hf_arena arena;
  uint32_t tools;
  uint32_t tool;
  size_t count = 0;
  if (hf_json_member(doc, result, HF_STR("tools"), &tools) < 0)
    return 0;
  hf_arena_init(&arena, TEXT_MAX);
  struct hf_json_iter iter = hf_json_iter(doc, tools);
  for (; hf_json_next(doc, &iter, NULL, &tool); count++) {
    struct hf_str raw = hf_json_span(doc, tool);
    if (json)
      printf("%s%.*s", printed + count ? ",\n" : "", HF_STR_FMT(raw));
    else
      print_tool(doc, tool, &arena);
  }
  hf_arena_deinit(&arena);
  return count;
}

int hf_query_print_content(const struct hf_json_doc *doc, uint32_t result) {
  struct hf_arena arena;
  uint32_t content;
  uint32_t item;
  if (hf_json_member(doc, result, HF_STR("content"), &content) < 0) {
    struct hf_str raw = hf_json_span(doc, result);
    printf("%.*s\n", HF_STR_FMT(raw));
    return HF_EXIT_GOOD;
  }
  hf_arena_init(&arena, TEXT_MAX);
  struct hf_json_iter iter = hf_json_iter(doc, content);
  while (hf_json_next(doc, &iter, NULL, &item)) {
    struct hf_str type = text_of(doc, item, "type", &arena, "?");
    struct hf_str text = text_of(doc, item, "text", &arena, "");
    if (hf_str_equal(type, HF_STR("text")))
      hf_terminal_print(stdout, text, true);
    else
      printf("(%.*s, %zu bytes; --json shows it)", HF_STR_FMT(type), hf_json_span(doc, item).len);
    (void)fputc('\n', stdout);
  }
  hf_arena_deinit(&arena);
  return ferror(stdout) ? HF_EXIT_FAILED : HF_EXIT_GOOD;
}

static void print_tool_safety(const struct hf_json_doc *doc, uint32_t tool, struct hf_arena *arena) {
  struct hf_str name = text_of(doc, tool, "name", arena, "?");
  struct hf_str safety = text_of(doc, tool, "safety", arena, "?");
  struct hf_str why = text_of(doc, tool, "why", arena, "?");
  (void)fputs("      ", stdout);
  hf_terminal_print(stdout, name, false);
  printf("%*s  %.*s: ", name.len < 28 ? 28 - (int)name.len : 0, "", HF_STR_FMT(safety));
  hf_terminal_print(stdout, why, false);
  (void)fputc('\n', stdout);
}

/* Returns false if the server should work and doesn't. */
static bool print_server(const struct hf_json_doc *doc, uint32_t server, struct hf_arena *arena) {
  struct hf_str phase = text_of(doc, server, "phase", arena, "idle");
  struct hf_str disabled = text_of(doc, server, "disabled", arena, "");
  struct hf_str reason = text_of(doc, server, "reason", arena, "");
  struct hf_str name = text_of(doc, server, "name", arena, "?");
  bool bad = hf_str_equal(phase, HF_STR("down")) || hf_str_equal(phase, HF_STR("parked"));
  (void)fputs("  ", stdout);
  hf_terminal_print(stdout, name, false);
  printf("%*s  ", name.len < 20 ? 20 - (int)name.len : 0, "");
  if (disabled.len) {
    (void)fputs("left out: ", stdout);
    hf_terminal_print(stdout, disabled, false);
    (void)fputc('\n', stdout);
    return true;
  }
  uint32_t tools;
  bool listed = hf_json_member(doc, server, HF_STR("tools"), &tools) == 0;
  printf("%.*s, breaker %.*s, %u tools, %lld in flight", HF_STR_FMT(phase),
         HF_STR_FMT(text_of(doc, server, "breaker", arena, "closed")), listed ? doc->nodes[tools].count : 0,
         (long long)number_of(doc, server, "inFlight"));
  if (number_of(doc, server, "pid"))
    printf(", process %lld", (long long)number_of(doc, server, "pid"));
  if (reason.len) {
    (void)fputs(": ", stdout);
    hf_terminal_print(stdout, reason, false);
  }
  (void)fputc('\n', stdout);
  uint32_t tool;
  struct hf_json_iter iter = hf_json_iter(doc, listed ? tools : server);
  while (listed && hf_json_next(doc, &iter, NULL, &tool))
    print_tool_safety(doc, tool, arena);
  return !bad;
}

int hf_query_print_probe(const struct hf_json_doc *doc, uint32_t status) {
  struct hf_arena arena;
  uint32_t servers;
  uint32_t server;
  bool good = true;
  hf_arena_init(&arena, TEXT_MAX);
  if (hf_json_member(doc, status, HF_STR("servers"), &servers) == 0) {
    struct hf_json_iter iter = hf_json_iter(doc, servers);
    while (hf_json_next(doc, &iter, NULL, &server))
      good = print_server(doc, server, &arena) && good;
  }
  hf_arena_deinit(&arena);
  return good ? HF_EXIT_GOOD : HF_EXIT_FAILED;
}
