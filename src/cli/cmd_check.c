#include "cli/args.h"

#include "base/alloc.h"
#include "cli/audit.h"
#include "cli/check_report.h"
#include "cli/query_text.h"
#include "daemon/config.h"

#include <stdio.h>

enum { TEXT_MAX = 4 << 20 };

static int flush(FILE *to, struct hf_buf *text) {
  bool good = text->len == 0 || (fwrite(text->data, 1, text->len, to) == text->len && fflush(to) == 0);
  hf_buf_deinit(text);
  return good ? 0 : HF_ERR_IO;
}

/* Problems go to standard error, one per line, as compilers do; the explanation is the answer. */
int hf_cmd_check(const struct hf_args *args) {
  struct hf_error error = {0};
  HF_CLEANUP_FREE char *found = NULL;
  const char *path = args->rest_count ? args->rest[0] : args->config;
  if (!path) {
    found = hf_config_find(&error);
    path = found;
  }
  if (!path)
    return hf_complain(HF_EXIT_USAGE, "check: %s", error.text);

  struct hf_problems problems;
  hf_problems_init(&problems);
  struct hf_settings *settings = NULL;
  const struct hf_config_options options = {.listens = true};
  int r = hf_config_load(path, &options, &problems, &settings, &error);

  struct hf_args own = *args;
  own.config = path;
  own.flags |= HF_FLAG_CONFIG;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  if (r == 0 && (args->flags & HF_FLAG_AUDIT)) {
    if (hf_problems_print(&problems, path, &text) < 0 || flush(stderr, &text) < 0)
      r = HF_ERR_IO;
    else
      r = hf_audit_command(&own, settings);
    hf_settings_free(settings);
    return r < 0 ? HF_EXIT_FAILED : r;
  }
  if (args->flags & HF_FLAG_JSON) {
    int written = hf_check_json(path, settings, &problems, r < 0 && problems.errors == 0 ? error.text : NULL, &text);
    if (written < 0 || flush(stdout, &text) < 0)
      r = hf_complain(HF_EXIT_FAILED, "check: the report cannot be written");
  } else {
    if (hf_problems_print(&problems, path, &text) < 0 || flush(stderr, &text) < 0)
      r = HF_ERR_IO;
    hf_buf_init(&text, TEXT_MAX);
    if (r < 0 && problems.errors == 0)
      hf_complain(HF_EXIT_USAGE, "check: %s", error.text);
    if (settings && (hf_check_text(path, settings, &problems, &text) < 0 || flush(stdout, &text) < 0))
      r = HF_ERR_IO;
  }
  hf_buf_deinit(&text);
  hf_settings_free(settings);
  if (r < 0)
    return HF_EXIT_USAGE;
  if (r > 0 || !(args->flags & HF_FLAG_PROBE))
    return r;
  return hf_query_probe(&own);
}
