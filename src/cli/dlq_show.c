#include "cli/dlq.h"

#include "base/alloc.h"
#include "base/hex.h"
#include "cli/explain_text.h"
#include "cli/terminal.h"
#include "cli/when.h"

#include <inttypes.h>
#include <stdio.h>

enum { LETTER_MAX = 256 << 20, SHOWN_MAX = 4000 };

static void print_field(const char *name, struct hf_str text) {
  if (!text.ptr)
    return;
  printf("  %-12s", name);
  hf_terminal_print(stdout, text, false);
  (void)fputc('\n', stdout);
}

static void print_caller(const struct hf_letter *letter) {
  printf("  %-12s", "called by");
  hf_terminal_print(stdout, letter->principal.len ? letter->principal : HF_STR("nobody in particular"), false);
  if (letter->call.ptr)
    printf(", as call %.*s", HF_STR_FMT(letter->call));
  printf(", priority %u\n", letter->priority);
}

static void print_times(const struct hf_letter *letter) {
  char first[HF_WHEN_TEXT_MAX], last[HF_WHEN_TEXT_MAX];
  hf_when_print(letter->first_ms, first);
  hf_when_print(letter->last_ms, last);
  if (letter->count > 1)
    printf("  %-12s%u times, first %s, last %s\n", "seen", letter->count, first, last);
  else
    printf("  %-12s%s\n", "seen", last);
  if (letter->replays)
    printf("  %-12s%u\n", "replays", letter->replays);
  if (letter->expiring)
    printf("  %-12swithin a day: retention removes it then; `holdfast dlq export` keeps it\n", "expires");
}

static void print_value(const char *name, struct hf_str raw, const struct hf_letter_view *view) {
  struct hf_buf text;
  bool hidden = false;
  hf_buf_init(&text, LETTER_MAX);
  if (hf_letter_json_redact(raw, view, &text, &hidden) < 0)
    hf_buf_reset(&text, 0);
  struct hf_str shown = hf_buf_str(&text);
  const bool cut = shown.len > SHOWN_MAX;
  if (cut)
    shown = hf_terminal_cut((struct hf_str){shown.ptr, SHOWN_MAX}, SHOWN_MAX - 4);
  printf("  %-12s", name);
  hf_terminal_print(stdout, shown, false);
  printf("%s\n", cut ? "… (--json has the rest)" : "");
  if (hidden)
    printf("  %-12s(secrets are hidden; --show-secrets shows them)\n", "");
  hf_buf_deinit(&text);
}

static const struct {
  struct hf_str what;
  const char *words;
} deeds[] = {
    {{"replay", 6}, "a replay began"},
    {{"replayed", 8}, "replayed: the tool answered"},
    {{"ran", 3}, "not called again: the status check says that it had run"},
    {{"replay_refused", 14}, "not replayed"},
    {{"replay_failed", 13}, "the replay failed"},
    {{"discarded", 9}, "discarded"},
    {{"requeued", 8}, "made dead again"},
    {{"gateway_died", 12}, "the gateway that was replaying it ended; the tool may have run"},
};

static void print_deed(const struct hf_json_doc *doc, uint32_t entry, struct hf_arena *arena) {
  char when[HF_WHEN_TEXT_MAX];
  const struct hf_str what = hf_explain_text(doc, entry, "what", arena, "?");
  const struct hf_str by = hf_explain_text(doc, entry, "by", arena, "");
  const struct hf_str why = hf_explain_text(doc, entry, "why", arena, "");
  const struct hf_str call = hf_explain_text(doc, entry, "call", arena, "");
  const char *words = NULL;
  for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++)
    if (hf_str_equal(what, deeds[i].what))
      words = deeds[i].words;
  printf("  %s  ", hf_when_print(hf_explain_number(doc, entry, "atMs"), when));
  hf_terminal_print(stdout, words ? hf_str_from(words) : what, false);
  (void)fputs(by.len ? ", by " : "", stdout);
  hf_terminal_print(stdout, by, false);
  (void)fputs(call.len ? ", as call " : "", stdout);
  hf_terminal_print(stdout, call, false);
  (void)fputs(why.len ? ": " : "", stdout);
  hf_terminal_print(stdout, why, false);
  uint32_t patch;
  if (hf_json_member(doc, entry, HF_STR("patch"), &patch) == 0) {
    (void)fputs("\n      with the patch ", stdout);
    hf_terminal_print(stdout, hf_json_span(doc, patch), false);
  }
  (void)fputc('\n', stdout);
}

static void print_history(struct hf_str raw, const struct hf_letter_view *view) {
  struct hf_buf text;
  struct hf_json_scan scan;
  struct hf_arena arena;
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  hf_buf_init(&text, LETTER_MAX);
  hf_json_scan_init(&scan, &options);
  hf_arena_init(&arena, LETTER_MAX);
  if ((view->secrets_shown ? hf_buf_append_str(&text, raw) : hf_letter_json_redact_history(raw, view, &text)) == 0 &&
      hf_json_scan_feed(&scan, text.data, text.len, true) == 0 && scan.nodes[0].count > 0) {
    const struct hf_json_doc doc = hf_json_doc(text.data, &scan);
    struct hf_json_iter iter = hf_json_iter(&doc, 0);
    uint32_t entry;
    printf("\nWhat became of it\n");
    while (hf_json_next(&doc, &iter, NULL, &entry))
      print_deed(&doc, entry, &arena);
  }
  hf_arena_deinit(&arena);
  hf_json_scan_deinit(&scan);
  hf_buf_deinit(&text);
}

/* What the class leaves open depends on whether it ran, and on where the letter is now. */
static void print_advice(const struct hf_letter *letter) {
  if (letter->status == HF_LETTER_REPLAYED || letter->status == HF_LETTER_DISCARDED)
    return;
  printf("\nWhat to do\n  %s\n", hf_dlq_advice(letter->reason));
  if (letter->status == HF_LETTER_QUARANTINED)
    printf("  It came back too often and is set aside: `holdfast dlq requeue %.*s` once the cause is mended.\n",
           HF_STR_FMT(letter->id));
  else if (letter->status == HF_LETTER_REPLAYING)
    printf("  It is being replayed just now.\n");
  else if (hf_str_equal(letter->reason, HF_STR("schema")))
    printf("  It was never sent. A replay needs arguments that fit: holdfast dlq replay %.*s --patch JSON\n",
           HF_STR_FMT(letter->id));
  else if (hf_str_equal(letter->executed, HF_STR("no")))
    printf("  It has not run, so a replay does no harm: holdfast dlq replay %.*s\n", HF_STR_FMT(letter->id));
  else
    printf("  It may have run, so a replay is refused, unless its tool may be repeated (--dry-run tells), its status "
           "check "
           "is asked (--reconcile), or you know that it has not run (--force-executed=no).\n");
  if (letter->redacted)
    printf("  Its arguments are not kept whole, so a replay needs --patch with what is missing.\n");
}

void hf_dlq_print_letter(const struct hf_letter *letter, const struct hf_letter_view *view) {
  printf("Letter %.*s: %s\n", HF_STR_FMT(letter->id), hf_letter_status_name(letter->status));
  print_field("tool", letter->tool);
  print_field("route", letter->route);
  print_field("providers", letter->providers);
  printf("  %-12s%.*s; %s\n", "what", HF_STR_FMT(letter->reason), hf_explain_executed(letter->executed));
  print_caller(letter);
  print_times(letter);
  print_field("key", letter->key);
  print_field("trace", letter->trace_id);
  char hex[HF_FINGERPRINT_HEX];
  hf_hex(letter->fingerprint.byte, sizeof letter->fingerprint.byte, hex);
  print_field("fingerprint", (struct hf_str){hex, sizeof hex});
  if (letter->arguments.ptr)
    print_value("arguments", letter->arguments, view);
  else
    print_field("arguments", HF_STR("(not kept)"));
  if (letter->result.ptr)
    print_value("result", letter->result, view);
  printf("\nWhat happened\n");
  if (!letter->attempts.ptr || hf_explain_print_raw_steps(letter->attempts) == 0)
    printf("  (nothing is known of it)\n");
  if (letter->history.ptr)
    print_history(letter->history, view);
  print_advice(letter);
}

struct show {
  struct hf_letter_view view;
  bool json;
  bool first;
  bool failed;
};

static void show_letter(void *ctx, const struct hf_letter *letter) {
  struct show *show = ctx;
  if (!show->json) {
    (void)fputs(show->first ? "" : "\n", stdout);
    hf_dlq_print_letter(letter, &show->view);
    show->first = false;
    return;
  }
  struct hf_buf text;
  struct hf_json_writer w;
  hf_buf_init(&text, LETTER_MAX);
  hf_json_writer_init(&w, &text);
  hf_letter_json_write(&w, letter, &show->view);
  show->failed |= hf_json_write_finish(&w) < 0 || fwrite(text.data, 1, text.len, stdout) != text.len;
  (void)fputc('\n', stdout);
  hf_buf_deinit(&text);
}

static int show_one(struct hf_dlq *dlq, const char *id, struct show *show) {
  int64_t *rows = NULL;
  size_t count = 0;
  const struct hf_letter_filter filter = {.id = hf_str_from(id), .any_status = true};
  int r = hf_database_find(dlq->database, &filter, &rows, &count);
  if (r == 0 && count)
    r = hf_database_letter(dlq->database, rows[0], show_letter, show);
  hf_free(rows);
  if (r < 0 && r != HF_ERR_NOTFOUND)
    return hf_dlq_complain(dlq, r);
  if (r == 0 && count)
    return HF_EXIT_GOOD;
  return hf_complain(HF_EXIT_FAILED,
                     "there is no letter '%.60s'; `holdfast dlq list --status any` shows which there are (with --state "
                     "DIR, if the gateway was started so)",
                     id);
}

int hf_dlq_show(const struct hf_args *args) {
  struct hf_dlq dlq;
  int exit_code = hf_dlq_open(args, false, &dlq);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  struct show show = {.view = hf_dlq_view(&dlq, args), .json = (args->flags & HF_FLAG_JSON) != 0, .first = true};
  for (size_t i = 0; i < args->rest_count && exit_code != HF_EXIT_UNAVAILABLE; i++) {
    int shown = show_one(&dlq, args->rest[i], &show);
    exit_code = shown > exit_code ? shown : exit_code;
  }
  hf_dlq_close(&dlq);
  return (fflush(stdout) == 0 && !show.failed) || exit_code != HF_EXIT_GOOD ? exit_code : HF_EXIT_FAILED;
}
