#include "cli/dlq.h"

#include "cli/explain_text.h"
#include "cli/line.h"
#include "cli/terminal.h"

#include "daemon/quantity.h"
#include "gateway/letter/replay.h"

#include <stdio.h>
#include <string.h>

enum { QUESTION_MAX = 1 << 20, TEXT_MAX = 1 << 20 };

/* What is asked for, read from the command line. */
struct plan {
  struct hf_letter_filter filter;
  int64_t interval_ms;
  int64_t ramp_up_ms;
  unsigned concurrency;
  unsigned stop_percent;
};

/* What became of it. */
struct score {
  const struct hf_args *args;
  int64_t total;
  int64_t replayed;
  int64_t ran;
  int64_t failed;
  int64_t refused;
  int64_t left;
  bool stopped;
};

static const struct {
  const char *name;
  size_t offset;
} counts[] = {
    {"total", offsetof(struct score, total)},     {"replayed", offsetof(struct score, replayed)},
    {"ran", offsetof(struct score, ran)},         {"failed", offsetof(struct score, failed)},
    {"refused", offsetof(struct score, refused)}, {"left", offsetof(struct score, left)},
};

enum { COUNTS = sizeof counts / sizeof counts[0] };

/* "5/s", "30/m", "100/h" */
static int read_rate(const char *text, int64_t *ret_interval_ms) {
  static const struct {
    const char *unit;
    int64_t ms;
  } units[] = {{"/s", 1000}, {"/m", 60000}, {"/h", 3600000}};
  const char *slash = strchr(text, '/');
  unsigned long long number;
  for (size_t i = 0; slash && i < sizeof units / sizeof units[0]; i++) {
    if (strcmp(slash, units[i].unit) != 0)
      continue;
    if (hf_str_to_u64((struct hf_str){text, (size_t)(slash - text)}, 1000, &number) < 0 || number == 0)
      break;
    *ret_interval_ms = units[i].ms / (int64_t)number;
    return HF_EXIT_GOOD;
  }
  return hf_complain(HF_EXIT_USAGE, "--rate: '%.40s' is none: up to 1000/s, or 30/m, or 100/h", text);
}

static int read_pace(const struct hf_replay_args *from, struct plan *plan) {
  unsigned long long number;
  uint64_t percent = HF_REPLAY_STOP_PERCENT;
  hf_time ramp_up = 0;
  if (from->rate && read_rate(from->rate, &plan->interval_ms) != HF_EXIT_GOOD)
    return HF_EXIT_USAGE;
  if (from->concurrency) {
    if (hf_str_to_u64(hf_str_from(from->concurrency), HF_REPLAY_CONCURRENCY_MAX, &number) < 0 || number == 0)
      return hf_complain(HF_EXIT_USAGE, "--concurrency: '%.40s' is no number from 1 to %d", from->concurrency,
                         HF_REPLAY_CONCURRENCY_MAX);
    plan->concurrency = (unsigned)number;
  }
  if (from->ramp_up && (hf_duration_parse(hf_str_from(from->ramp_up), &ramp_up) < 0 || ramp_up > HF_SECONDS(86400)))
    return hf_complain(HF_EXIT_USAGE, "--ramp-up: '%.40s' is no time such as 30s, and at most a day", from->ramp_up);
  if (from->stop_on && strcmp(from->stop_on, "never") == 0)
    percent = 0;
  else if (from->stop_on && (hf_percent_parse(hf_str_from(from->stop_on), &percent) < 0 || percent == 0))
    return hf_complain(HF_EXIT_USAGE, "--stop-on: '%.40s' is neither a share such as 50%% nor never", from->stop_on);
  plan->ramp_up_ms = ramp_up / HF_MS(1);
  plan->stop_percent = (unsigned)percent;
  return HF_EXIT_GOOD;
}

static int check_patch(const char *text) {
  struct hf_error error = {0};
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text, strlen(text), true);
  const bool object = r == 0 && scan.nodes[0].type == HF_JSON_OBJECT;
  if (r < 0)
    hf_json_scan_error(&scan, &error);
  hf_json_scan_deinit(&scan);
  if (r < 0)
    return hf_complain(HF_EXIT_USAGE, "--patch: no JSON: %s", error.text);
  return object ? HF_EXIT_GOOD : hf_complain(HF_EXIT_USAGE, "--patch: a merge patch of arguments is a JSON object");
}

static int check_ids(const struct hf_args *args) {
  if (args->rest_count > HF_REPLAY_IDS_MAX)
    return hf_complain(HF_EXIT_USAGE, "dlq replay: at most %d letters are named at once; a filter finds more",
                       HF_REPLAY_IDS_MAX);
  for (size_t i = 0; i < args->rest_count; i++) {
    size_t len = strlen(args->rest[i]);
    if (len == 0 || len >= HF_LETTER_ID_MAX)
      return hf_complain(HF_EXIT_USAGE, "dlq replay: '%.60s' is no id of a letter", args->rest[i]);
  }
  return HF_EXIT_GOOD;
}

static int read_plan(const struct hf_args *args, struct plan *plan) {
  const struct hf_replay_args *from = &args->replay;
  int exit_code = hf_dlq_check_choice(args, "dlq replay");
  if (exit_code == HF_EXIT_GOOD)
    exit_code = check_ids(args);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_dlq_filter(args, HF_LETTER_DEAD, &plan->filter);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = read_pace(from, plan);
  if (exit_code == HF_EXIT_GOOD && from->patch)
    exit_code = check_patch(from->patch);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  if (from->force_executed && strcmp(from->force_executed, "no") != 0)
    return hf_complain(HF_EXIT_USAGE, "--force-executed: only `no` can be said: that none of them has run");
  if (from->force_executed && from->reconcile)
    return hf_complain(HF_EXIT_USAGE, "--reconcile asks whether they have run, --force-executed=no says that they "
                                      "have not: one of the two");
  return HF_EXIT_GOOD;
}

static void write_text(struct hf_json_writer *w, const char *key, struct hf_str text) {
  if (text.ptr)
    hf_json_write_member_str(w, key, text);
}

static void write_number(struct hf_json_writer *w, const char *key, int64_t number) {
  if (number)
    hf_json_write_member_int(w, key, number);
}

static void write_ids(struct hf_json_writer *w, const struct hf_args *args) {
  if (args->rest_count == 0)
    return;
  hf_json_write_key(w, "ids");
  hf_json_write_array(w);
  for (size_t i = 0; i < args->rest_count; i++)
    hf_json_write_str(w, hf_str_from(args->rest[i]));
  hf_json_write_array_end(w);
}

static int write_question(const struct hf_args *args, const struct plan *plan, struct hf_buf *out) {
  const struct hf_replay_args *replay = &args->replay;
  const struct hf_letter_filter *filter = &plan->filter;
  char who[HF_DLQ_WHO_MAX];
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "op", HF_STR("letters-replay"));
  write_ids(&w, args);
  write_text(&w, "tool", filter->tool);
  write_text(&w, "provider", filter->provider);
  write_text(&w, "class", filter->reason);
  write_text(&w, "fingerprint", filter->fingerprint);
  write_number(&w, "sinceMs", filter->since_ms);
  write_number(&w, "untilMs", filter->until_ms);
  write_number(&w, "priority", filter->priority);
  write_number(&w, "limit", filter->limit);
  write_number(&w, "concurrency", plan->concurrency);
  write_number(&w, "intervalMs", plan->interval_ms);
  write_number(&w, "rampUpMs", plan->ramp_up_ms);
  hf_json_write_member_int(&w, "stopPercent", plan->stop_percent);
  hf_json_write_member_bool(&w, "dryRun", replay->dry_run != NULL);
  hf_json_write_member_bool(&w, "reconcile", replay->reconcile != NULL);
  hf_json_write_member_bool(&w, "executedNo", replay->force_executed != NULL);
  if (replay->patch)
    hf_json_write_member_raw(&w, "patch", hf_str_from(replay->patch));
  write_text(&w, "by", hf_dlq_who(who));
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static const struct {
  struct hf_str what;
  const char *words;
} words[] = {
    {{"would_replay", 12}, "would be replayed"}, {{"refused", 7}, "not replayed"}, {{"replayed", 8}, "replayed"},
    {{"ran", 3}, "not called: it had run"},      {{"failed", 6}, "failed"},
};

static void print_progress(const struct hf_json_doc *doc, uint32_t progress, struct hf_arena *arena) {
  const struct hf_str what = hf_explain_text(doc, progress, "what", arena, "?");
  const struct hf_str why = hf_explain_text(doc, progress, "why", arena, "");
  const struct hf_str call = hf_explain_text(doc, progress, "call", arena, "");
  const char *said = NULL;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (hf_str_equal(what, words[i].what))
      said = words[i].words;
  if (!said)
    return; /* that one was started is no news to a person */
  printf("%.*s  ", HF_STR_FMT(hf_explain_text(doc, progress, "letter", arena, "?")));
  hf_terminal_print(stdout, hf_explain_text(doc, progress, "tool", arena, "?"), false);
  printf("  %s", said);
  if (why.len)
    (void)fputs(": ", stdout);
  hf_terminal_print(stdout, why, false);
  if (call.len)
    printf(" (call %.*s)", HF_STR_FMT(call));
  const int64_t done = hf_explain_number(doc, progress, "done");
  if (done)
    printf("  [%lld of %lld]", (long long)done, (long long)hf_explain_number(doc, progress, "total"));
  (void)fputc('\n', stdout);
}

static int on_line(void *context, struct hf_str line) {
  struct score *score = context;
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  struct hf_arena arena;
  uint32_t progress;
  hf_json_scan_init(&scan, &options);
  hf_arena_init(&arena, TEXT_MAX);
  if (hf_json_scan_feed(&scan, line.ptr, line.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(line.ptr, &scan);
    const bool found = hf_json_member(&doc, 0, HF_STR("progress"), &progress) == 0;
    if (found && (score->args->flags & HF_FLAG_JSON))
      printf("%.*s\n", HF_STR_FMT(hf_json_span(&doc, progress)));
    else if (found)
      print_progress(&doc, progress, &arena);
  }
  (void)fflush(stdout);
  hf_arena_deinit(&arena);
  hf_json_scan_deinit(&scan);
  return 0;
}

static void read_score(struct score *score, const struct hf_line_answer *answer) {
  struct hf_arena arena;
  uint32_t result = HF_JSON_NONE;
  if (hf_json_member(&answer->doc, 0, HF_STR("result"), &result) < 0)
    return;
  for (size_t i = 0; i < COUNTS; i++)
    *(int64_t *)(void *)((char *)score + counts[i].offset) = hf_explain_number(&answer->doc, result, counts[i].name);
  hf_arena_init(&arena, TEXT_MAX);
  const struct hf_str why = hf_explain_text(&answer->doc, result, "stopped", &arena, "");
  if (why.len)
    (void)hf_complain(HF_EXIT_FAILED, "stopped: %.*s", HF_STR_FMT(why));
  score->stopped = why.len > 0;
  hf_arena_deinit(&arena);
}

static int ask(struct hf_line *line, const struct plan *plan, struct score *score) {
  struct hf_buf question;
  struct hf_line_answer answer;
  hf_buf_init(&question, QUESTION_MAX);
  int exit_code = HF_EXIT_GOOD;
  if (write_question(score->args, plan, &question) < 0)
    exit_code = hf_complain(HF_EXIT_USAGE, "dlq replay: the patch or an id is too long");
  else
    exit_code = hf_line_follow(line, hf_buf_str(&question), on_line, score, &answer);
  hf_buf_deinit(&question);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  read_score(score, &answer);
  hf_line_answer_deinit(&answer);
  return HF_EXIT_GOOD;
}

static void print_score(const struct score *score) {
  struct hf_buf text;
  struct hf_json_writer w;
  const char *s = score->total == 1 ? "" : "s";
  if (!(score->args->flags & HF_FLAG_JSON)) {
    if (score->total == 0)
      printf("No letter matches.\n");
    else if (score->args->replay.dry_run)
      printf("%lld letter%s: %lld would be replayed, %lld not. Nothing has been done.\n", (long long)score->total, s,
             (long long)(score->total - score->refused - score->left), (long long)(score->refused + score->left));
    else
      printf("%lld letter%s: %lld replayed, %lld had run, %lld failed, %lld refused, %lld left.\n",
             (long long)score->total, s, (long long)score->replayed, (long long)score->ran, (long long)score->failed,
             (long long)score->refused, (long long)score->left);
    return;
  }
  hf_buf_init(&text, TEXT_MAX);
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  for (size_t i = 0; i < COUNTS; i++)
    hf_json_write_member_int(&w, counts[i].name,
                             *(const int64_t *)(const void *)((const char *)score + counts[i].offset));
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) == 0)
    printf("%.*s\n", HF_STR_FMT(hf_buf_str(&text)));
  hf_buf_deinit(&text);
}

int hf_dlq_replay(const struct hf_args *args) {
  struct plan plan = {.interval_ms = 0};
  struct score score = {.args = args};
  struct hf_line line;
  int exit_code = read_plan(args, &plan);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_dlq_check_state(args);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_line_open(args, false, &line);
  if (exit_code == HF_EXIT_UNAVAILABLE)
    (void)hf_complain(HF_EXIT_UNAVAILABLE, "replays are calls like any other, so a running gateway makes them: start "
                                           "`holdfast serve`, or name its socket with --control");
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  exit_code = ask(&line, &plan, &score);
  hf_line_close(&line);
  if (exit_code == HF_EXIT_GOOD)
    print_score(&score);
  const bool bad = score.failed || score.refused || score.left || score.stopped;
  return exit_code == HF_EXIT_GOOD && bad ? HF_EXIT_FAILED : exit_code;
}
