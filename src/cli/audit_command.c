/* `holdfast check --audit`. */
#include "cli/audit.h"

#include "cli/audit_text.h"
#include "cli/line.h"
#include "daemon/document.h"

#include <stdio.h>

enum { DOCUMENT_MAX = 64 << 20, TEXT_MAX = 64 << 20, BEST = 100 };

/* The running gateway's configuration is another one perhaps: this one's servers are started here. */
static int add_listed(struct hf_audit *audit, const struct hf_args *args) {
  struct hf_line line;
  struct hf_line_answer answer;
  uint32_t result;
  int exit_code = hf_line_open(args, true, &line);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  exit_code = hf_line_ask(&line, HF_STR("{\"op\":\"tools\"}"), &answer);
  if (exit_code == HF_EXIT_GOOD) {
    hf_line_answer_deinit(&answer);
    exit_code = hf_line_ask(&line, HF_STR("{\"op\":\"status\"}"), &answer);
  }
  if (exit_code == HF_EXIT_GOOD) {
    if (hf_json_member(&answer.doc, 0, HF_STR("result"), &result) == 0)
      hf_audit_add_listed(audit, &answer.doc, result);
    hf_line_answer_deinit(&answer);
  }
  hf_line_close(&line);
  return exit_code;
}

static int print(const struct hf_audit *audit, const char *path, bool json) {
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  int r = json ? hf_audit_json(audit, path, &text) : hf_audit_print(audit, path, stdout);
  if (r == 0 && json)
    r = printf("%.*s\n", HF_STR_FMT(hf_buf_str(&text))) < 0 ? HF_ERR_IO : 0;
  hf_buf_deinit(&text);
  return r == 0 && fflush(stdout) == 0 ? HF_EXIT_GOOD
                                       : hf_complain(HF_EXIT_FAILED, "check: the audit cannot be written");
}

/* Without --min-score nothing may be answered with no. */
static int judge(const struct hf_audit *audit, unsigned long long min_score, bool given) {
  const bool good = given ? audit->score >= min_score : audit->noes == 0;
  return good ? HF_EXIT_GOOD : HF_EXIT_FAILED;
}

static int audit_file(struct hf_audit *audit, const struct hf_args *args, unsigned long long min_score) {
  int exit_code = HF_EXIT_GOOD;
  if (args->flags & HF_FLAG_PROBE)
    exit_code = add_listed(audit, args);
  else
    hf_audit_add_configured(audit);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  int r = hf_audit_run(audit);
  if (r < 0)
    return hf_complain(HF_EXIT_FAILED, "check: %s",
                       r == HF_ERR_LIMIT ? "more tools than can be asked about" : "out of memory");
  exit_code = print(audit, args->config, (args->flags & HF_FLAG_JSON) != 0);
  return exit_code == HF_EXIT_GOOD ? judge(audit, min_score, args->min_score != NULL) : exit_code;
}

int hf_audit_command(const struct hf_args *args, const struct hf_settings *settings) {
  unsigned long long min_score = 0;
  if (args->min_score && hf_str_to_u64(hf_str_from(args->min_score), BEST, &min_score) < 0)
    return hf_complain(HF_EXIT_USAGE, "--min-score: '%.20s' is no number from 0 to %d", args->min_score, BEST);
  struct hf_arena arena;
  struct hf_problems told;
  struct hf_error error = {0};
  const struct hf_node *root;
  hf_arena_init(&arena, DOCUMENT_MAX);
  hf_problems_init(&told);
  int exit_code = HF_EXIT_GOOD;
  if (hf_document_load(&arena, args->config, &told, &root, &error) < 0) {
    exit_code = hf_complain(HF_EXIT_USAGE, "%s", error.code ? error.text : "the file has changed meanwhile");
  } else {
    struct hf_audit audit;
    hf_audit_init(&audit, settings, root);
    exit_code = audit_file(&audit, args, min_score);
    hf_audit_deinit(&audit);
  }
  hf_arena_deinit(&arena);
  return exit_code;
}
