#include "cli/line.h"

#include "base/alloc.h"
#include "cli/ancestry.h"

#include <string.h>

enum { ANSWER_MAX = 96 << 20, NODES_MAX = 1 << 22 };

/* A gateway is running if its socket takes a connection. */
static bool is_running(const char *path) {
  struct hf_buf answer;
  hf_buf_init(&answer, ANSWER_MAX);
  int r = hf_control_call(path, HF_STR("{\"op\":\"status\"}"), &answer, NULL);
  hf_buf_deinit(&answer);
  return r == 0;
}

static int open_own(const struct hf_args *args, struct hf_line *line) {
  struct hf_settings *settings = NULL;
  HF_CLEANUP_FREE char *path = NULL;
  struct hf_error error = {0};
  const struct hf_app_options options = {
      .front = HF_APP_NONE,
      .config = {.instance = HF_INSTANCE_SHARED,
                 .log_level = args->log_level ? args->log_level : "warn",
                 .log_format = args->log_format},
  };
  int exit_code = hf_setup_settings(args, &options.config, &settings, &path);
  if (exit_code == HF_EXIT_GOOD && hf_ancestry_add(path) < 0)
    exit_code = hf_complain(HF_EXIT_UNAVAILABLE, "too many gateways above this one, or out of memory");
  if (exit_code == HF_EXIT_GOOD && hf_app_new(&options, settings, &line->app, &error) < 0)
    exit_code = hf_complain(HF_EXIT_UNAVAILABLE, "%s", error.text);
  hf_settings_free(settings);
  return exit_code;
}

/* Where the gateway with this configuration listens. Returns an exit code; `ret_path` is owned, or NULL without memory.
 */
static int find_path(const struct hf_args *args, bool own, char **ret_path) {
  bool named = (args->flags & HF_FLAG_CONTROL) != 0;
  if (named || own || !(args->flags & HF_FLAG_CONFIG)) {
    *ret_path = named ? hf_strndup(args->control, strlen(args->control)) : hf_control_path();
    return HF_EXIT_GOOD;
  }
  struct hf_settings *settings = NULL;
  HF_CLEANUP_FREE char *file = NULL;
  const struct hf_config_options options = {.instance = HF_INSTANCE_SHARED};
  int exit_code = hf_setup_settings(args, &options, &settings, &file);
  if (exit_code == HF_EXIT_GOOD)
    *ret_path = settings->control.ptr ? hf_strndup(settings->control.ptr, settings->control.len) : hf_control_path();
  hf_settings_free(settings);
  return exit_code;
}

int hf_line_find(const struct hf_args *args, char **ret_path) {
  char *path = NULL;
  int exit_code = find_path(args, false, &path);
  if (exit_code == HF_EXIT_GOOD && !path)
    exit_code = hf_complain(HF_EXIT_FAILED, "out of memory");
  if (exit_code == HF_EXIT_GOOD)
    *ret_path = path;
  return exit_code;
}

bool hf_line_guess(const struct hf_args *args, char **ret_path) {
  struct hf_error error = {0};
  struct hf_settings *settings = NULL;
  struct hf_problems problems;
  const struct hf_config_options options = {.instance = HF_INSTANCE_SHARED};
  char *path = NULL;
  hf_problems_init(&problems);
  if (args->control)
    path = hf_strndup(args->control, strlen(args->control));
  else if (!args->config)
    path = hf_control_path();
  else if (hf_config_load(args->config, &options, &problems, &settings, &error) >= 0)
    path = settings->control.ptr ? hf_strndup(settings->control.ptr, settings->control.len) : hf_control_path();
  hf_settings_free(settings);
  if (path)
    *ret_path = path;
  return path != NULL;
}

int hf_line_open(const struct hf_args *args, bool own, struct hf_line *ret_line) {
  struct hf_line line = {0};
  bool named = (args->flags & HF_FLAG_CONTROL) != 0;
  int exit_code = find_path(args, own, &line.path);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  if (!line.path)
    return hf_complain(HF_EXIT_FAILED, "out of memory");
  bool wants_own = own && (args->flags & HF_FLAG_CONFIG) != 0 && !named;
  if (wants_own || !is_running(line.path)) {
    if (named || !own)
      exit_code =
          hf_complain(HF_EXIT_UNAVAILABLE, "no gateway answers at '%s'; is `holdfast serve` running?", line.path);
    else
      exit_code = open_own(args, &line);
  }
  if (exit_code != HF_EXIT_GOOD) {
    hf_line_close(&line);
    return exit_code;
  }
  *ret_line = line;
  return HF_EXIT_GOOD;
}

void hf_line_close(struct hf_line *line) {
  hf_app_free(line->app);
  hf_free(line->path);
  *line = (struct hf_line){0};
}

void hf_line_answer_deinit(struct hf_line_answer *answer) {
  hf_json_scan_deinit(&answer->scan);
  hf_buf_deinit(&answer->text);
}

static int tell_error(struct hf_line_answer *answer) {
  uint32_t node;
  struct hf_arena arena;
  struct hf_str text = HF_STR("the answer of the gateway cannot be read");
  hf_arena_init(&arena, ANSWER_MAX);
  if (hf_json_member(&answer->doc, 0, HF_STR("error"), &node) == 0)
    (void)hf_json_string(&answer->doc, node, &arena, &text);
  int exit_code = hf_complain(HF_EXIT_FAILED, "%.*s", HF_STR_FMT(text));
  hf_arena_deinit(&arena);
  return exit_code;
}

int hf_line_ask(struct hf_line *line, struct hf_str question, struct hf_line_answer *ret_answer) {
  return hf_line_follow(line, question, NULL, NULL, ret_answer);
}

int hf_line_follow(struct hf_line *line, struct hf_str question, hf_control_line_fn *on_line, void *context,
                   struct hf_line_answer *ret_answer) {
  struct hf_error error = {0};
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_bytes = ANSWER_MAX;
  options.max_nodes = NODES_MAX;
  hf_buf_init(&ret_answer->text, ANSWER_MAX);
  hf_json_scan_init(&ret_answer->scan, &options);
  int r = line->app ? hf_app_ask(line->app, question, &ret_answer->text)
                    : hf_control_follow(line->path, question, on_line, context, &ret_answer->text, &error);
  int exit_code = HF_EXIT_GOOD;
  if (r < 0)
    exit_code = hf_complain(HF_EXIT_UNAVAILABLE, "%s",
                            error.code           ? error.text
                            : r == HF_ERR_CLOSED ? "interrupted before the answer came"
                                                 : hf_err_text(r));
  else if (hf_json_scan_feed(&ret_answer->scan, ret_answer->text.data, ret_answer->text.len, true) < 0)
    exit_code = hf_complain(HF_EXIT_FAILED, "the answer of the gateway cannot be read");
  ret_answer->doc = hf_json_doc(ret_answer->text.data, &ret_answer->scan);
  uint32_t node;
  if (exit_code == HF_EXIT_GOOD && hf_json_member(&ret_answer->doc, 0, HF_STR("result"), &node) < 0 &&
      hf_json_member(&ret_answer->doc, 0, HF_STR("response"), &node) < 0)
    exit_code = tell_error(ret_answer);
  if (exit_code != HF_EXIT_GOOD)
    hf_line_answer_deinit(ret_answer);
  return exit_code;
}
