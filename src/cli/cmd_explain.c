#include "cli/dlq.h"

#include "base/alloc.h"
#include "cli/explain_text.h"
#include "cli/line.h"
#include "cli/terminal.h"
#include "cli/when.h"
#include "daemon/state.h"
#include "gateway/outcome.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { QUESTION_MAX = 4096, ANSWER_MAX = 16 << 20, LETTER_MAX = 256 << 20 };

static int write_question(const char *call, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "op", HF_STR("explain"));
  hf_json_write_member_str(&w, "call", hf_str_from(call));
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static void print_end(const struct hf_json_doc *doc, uint32_t trace, struct hf_arena *arena) {
  bool running = false;
  uint32_t node;
  if (hf_json_member(doc, trace, HF_STR("running"), &node) == 0)
    (void)hf_json_bool(doc, node, &running);
  const double elapsed = (double)hf_explain_number(doc, trace, "elapsedMs") / 1000;
  const struct hf_str fault = hf_explain_text(doc, trace, "fault", arena, "");
  if (running) {
    printf("It is under way for %.3f s.\n", elapsed);
    return;
  }
  const int64_t attempts = hf_explain_number(doc, trace, "attempts");
  const struct hf_str source = hf_explain_text(doc, trace, "source", arena, "live");
  const char *s = attempts == 1 ? "" : "s";
  if (!fault.len)
    printf("It was answered after %" PRId64 " attempt%s in %.3f s", attempts, s, elapsed);
  else
    printf("It failed after %" PRId64 " attempt%s in %.3f s (%.*s): %s", attempts, s, elapsed, HF_STR_FMT(fault),
           hf_explain_executed(hf_explain_text(doc, trace, "executed", arena, "maybe")));
  if (hf_str_equal(source, HF_STR("cache")))
    printf("; an earlier answer stood in");
  else if (hf_str_equal(source, HF_STR("degraded")))
    printf("; the configured default stood in");
  printf(".\n");
  const struct hf_str letter = hf_explain_text(doc, trace, "deadLetterId", arena, "");
  if (letter.len)
    printf("It is kept as a dead letter: holdfast dlq show %.*s\n", HF_STR_FMT(letter));
}

static void print_trace(const struct hf_json_doc *doc, uint32_t trace) {
  struct hf_arena arena;
  char when[HF_WHEN_TEXT_MAX];
  uint32_t steps;
  hf_arena_init(&arena, ANSWER_MAX);
  const struct hf_str principal = hf_explain_text(doc, trace, "principal", &arena, "");
  printf("Call %.*s of '", HF_STR_FMT(hf_explain_text(doc, trace, "call", &arena, "?")));
  hf_terminal_print(stdout, hf_explain_text(doc, trace, "tool", &arena, "?"), false);
  (void)fputc('\'', stdout);
  if (principal.len)
    (void)fputs(" by ", stdout);
  hf_terminal_print(stdout, principal, false);
  printf(", %s\n", hf_when_print(hf_explain_number(doc, trace, "startedMs"), when));
  if (hf_json_member(doc, trace, HF_STR("steps"), &steps) == 0)
    (void)hf_explain_print_steps(doc, steps);
  const int64_t dropped = hf_explain_number(doc, trace, "dropped");
  if (dropped)
    printf("  (and %" PRId64 " steps for which there was no room)\n", dropped);
  print_end(doc, trace, &arena);
  hf_arena_deinit(&arena);
}

static bool read_answer(const struct hf_buf *answer, bool json) {
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  uint32_t trace;
  hf_json_scan_init(&scan, &options);
  bool found = hf_json_scan_feed(&scan, answer->data, answer->len, true) == 0;
  const struct hf_json_doc doc = hf_json_doc(answer->data, &scan);
  found = found && hf_json_member(&doc, 0, HF_STR("result"), &trace) == 0;
  if (found && json)
    printf("%.*s\n", HF_STR_FMT(hf_json_span(&doc, trace)));
  else if (found)
    print_trace(&doc, trace);
  hf_json_scan_deinit(&scan);
  return found;
}

/* What a running gateway still knows. HF_EXIT_FAILED: nothing, HF_EXIT_UNAVAILABLE: there is none; neither is said. */
static int ask_gateway(const struct hf_args *args, bool json) {
  HF_CLEANUP_FREE char *path = NULL;
  struct hf_buf question, answer;
  hf_buf_init(&question, QUESTION_MAX);
  hf_buf_init(&answer, ANSWER_MAX);
  int exit_code = hf_line_find(args, &path);
  if (exit_code == HF_EXIT_GOOD && write_question(args->rest[0], &question) < 0)
    exit_code = hf_complain(HF_EXIT_USAGE, "explain: that is no id of a call");
  else if (exit_code == HF_EXIT_GOOD && hf_control_call(path, hf_buf_str(&question), &answer, NULL) < 0)
    exit_code = HF_EXIT_UNAVAILABLE;
  else if (exit_code == HF_EXIT_GOOD && !read_answer(&answer, json))
    exit_code = HF_EXIT_FAILED;
  hf_buf_deinit(&answer);
  hf_buf_deinit(&question);
  return exit_code;
}

struct search {
  struct hf_str call;
  struct hf_str quoted; /* as it stands in JSON */
  struct hf_letter_view view;
  bool json;
  bool found;
};

/* A letter has the call of its last replay; its history names those before. */
static bool knows_call(const struct hf_letter *letter, const struct search *search) {
  return hf_str_equal(letter->call, search->call) ||
         (letter->history.ptr &&
          memmem(letter->history.ptr, letter->history.len, search->quoted.ptr, search->quoted.len));
}

static void look_at(void *ctx, const struct hf_letter *letter) {
  struct search *search = ctx;
  if (search->found || !knows_call(letter, search))
    return;
  search->found = true;
  if (!search->json) {
    hf_dlq_print_letter(letter, &search->view);
    return;
  }
  struct hf_buf text;
  struct hf_json_writer w;
  hf_buf_init(&text, LETTER_MAX);
  hf_json_writer_init(&w, &text);
  hf_letter_json_write(&w, letter, &search->view);
  if (hf_json_write_finish(&w) == 0)
    printf("%.*s\n", HF_STR_FMT(hf_buf_str(&text)));
  hf_buf_deinit(&text);
}

static int ask_letters(const struct hf_args *args, struct search *search) {
  struct hf_dlq dlq;
  const struct hf_letter_filter filter = {.any_status = true};
  int exit_code = hf_dlq_open(args, false, &dlq);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  search->view = hf_dlq_view(&dlq, args);
  exit_code = hf_dlq_each(&dlq, &filter, look_at, search);
  hf_dlq_close(&dlq);
  return exit_code;
}

static bool is_call_id(struct hf_str id) {
  return hf_str_starts(id, HF_STR("c-")) && id.len > 2 && id.len < HF_CALL_ID_MAX;
}

int hf_cmd_explain(const struct hf_args *args) {
  struct search search = {.call = hf_str_from(args->rest[0]), .json = (args->flags & HF_FLAG_JSON) != 0};
  if (hf_str_starts(search.call, HF_STR("d-")))
    return hf_complain(HF_EXIT_USAGE, "explain: '%.60s' is a dead letter: `holdfast dlq show %.60s` tells its call",
                       args->rest[0], args->rest[0]);
  if (hf_str_starts(search.call, HF_STR("t-")))
    return hf_complain(HF_EXIT_USAGE,
                       "explain: '%.60s' is a task; its call is in the log, in the line 'call becomes a task', and in "
                       "_meta[\"dev.holdfast/outcome\"] of its result",
                       args->rest[0]);
  if (!is_call_id(search.call))
    return hf_complain(HF_EXIT_USAGE,
                       "explain: '%.60s' is no id of a call; they look like c-1a2b3c, and stand in the log "
                       "and in _meta[\"dev.holdfast/outcome\"] of answers",
                       args->rest[0]);
  char quoted[HF_CALL_ID_MAX + sizeof "\"\""];
  int n = snprintf(quoted, sizeof quoted, "\"%.*s\"", HF_STR_FMT(search.call));
  search.quoted = (struct hf_str){quoted, n > 0 ? (size_t)n : 0};
  int exit_code = ask_gateway(args, search.json);
  if (exit_code != HF_EXIT_FAILED && exit_code != HF_EXIT_UNAVAILABLE)
    return exit_code;
  const bool running = exit_code == HF_EXIT_FAILED;
  exit_code = hf_dlq_exists(args) ? ask_letters(args, &search) : HF_EXIT_GOOD;
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  if (search.found)
    return fflush(stdout) == 0 ? HF_EXIT_GOOD : HF_EXIT_FAILED;
  return hf_complain(HF_EXIT_FAILED,
                     running
                         ? "nothing is known of call '%s' (any more): a gateway keeps the last ones (limits.traces), "
                           "and letters those that failed; the log has a line for each call"
                         : "nothing is known of call '%s': no gateway is running, which would remember its last "
                           "calls, and no dead letter is of this one",
                     args->rest[0]);
}
