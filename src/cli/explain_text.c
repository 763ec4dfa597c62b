#include "cli/explain_text.h"

#include "cli/terminal.h"
#include "cli/when.h"

#include <inttypes.h>

enum { TEXT_MAX = 64 << 20 };

struct hf_str hf_explain_text(const struct hf_json_doc *doc, uint32_t object, const char *key, struct hf_arena *arena,
                              const char *otherwise) {
  uint32_t node;
  struct hf_str text;
  if (hf_json_member(doc, object, hf_str_from(key), &node) == 0 && hf_json_string(doc, node, arena, &text) == 0)
    return text;
  return hf_str_from(otherwise);
}

int64_t hf_explain_number(const struct hf_json_doc *doc, uint32_t object, const char *key) {
  uint32_t node;
  int64_t number;
  if (hf_json_member(doc, object, hf_str_from(key), &node) == 0 && hf_json_int64(hf_json_span(doc, node), &number) == 0)
    return number;
  return 0;
}

const char *hf_explain_executed(struct hf_str executed) {
  if (hf_str_equal(executed, HF_STR("no")))
    return "the tool has not run";
  return hf_str_equal(executed, HF_STR("yes")) ? "the tool has run" : "the tool may have run";
}

/* A letter that was recovered has one step without words of its own, at a time of day. */
static void print_step(const struct hf_json_doc *doc, uint32_t step, struct hf_arena *arena) {
  const struct hf_str why = hf_explain_text(doc, step, "why", arena, "");
  const int64_t at_ms = hf_explain_number(doc, step, "atMs");
  char when[HF_WHEN_TEXT_MAX];
  if (at_ms)
    printf("  %s  ", hf_when_print(at_ms, when));
  else
    printf("  %+9.3f s  ", (double)hf_explain_number(doc, step, "at") / 1000);
  if (why.len) {
    hf_terminal_print(stdout, why, false);
  } else {
    (void)fputs("it was being sent to '", stdout);
    hf_terminal_print(stdout, hf_explain_text(doc, step, "provider", arena, "?"), false);
    printf("' when the gateway ended: %s", hf_explain_executed(hf_explain_text(doc, step, "executed", arena, "maybe")));
  }
  (void)fputc('\n', stdout);
}

size_t hf_explain_print_steps(const struct hf_json_doc *doc, uint32_t steps) {
  struct hf_arena arena;
  struct hf_json_iter iter = hf_json_iter(doc, steps);
  uint32_t step;
  size_t count = 0;
  hf_arena_init(&arena, TEXT_MAX);
  for (; hf_json_next(doc, &iter, NULL, &step); count++)
    print_step(doc, step, &arena);
  hf_arena_deinit(&arena);
  return count;
}

size_t hf_explain_print_raw_steps(struct hf_str raw) {
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  size_t count = 0;
  hf_json_scan_init(&scan, &options);
  if (hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    count = hf_explain_print_steps(&doc, 0);
  }
  hf_json_scan_deinit(&scan);
  return count;
}
