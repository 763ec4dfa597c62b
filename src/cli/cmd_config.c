#include "cli/args.h"

#include "base/buf.h"
#include "daemon/option_text.h"

#include <stdio.h>

enum { TEXT_MAX = 1 << 20 };

static int print_out(struct hf_str text) {
  return fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0 ? HF_EXIT_GOOD : HF_EXIT_FAILED;
}

int hf_cmd_config(const struct hf_args *args) {
  unsigned what = args->flags & (HF_FLAG_DEFAULTS | HF_FLAG_SCHEMA | HF_FLAG_MANUAL);
  if (what != HF_FLAG_DEFAULTS && what != HF_FLAG_SCHEMA && what != HF_FLAG_MANUAL)
    return hf_complain(HF_EXIT_USAGE, "config: say what to print: --defaults, --schema or --manual");

  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  int r = what == HF_FLAG_DEFAULTS ? hf_option_text_defaults(&text)
          : what == HF_FLAG_SCHEMA ? hf_option_text_schema(&text)
                                   : hf_option_text_manual(&text);
  int exit_code = r < 0 ? hf_complain(HF_EXIT_FAILED, "config: %s", hf_err_text(r)) : print_out(hf_buf_str(&text));
  hf_buf_deinit(&text);
  return exit_code;
}

int hf_cmd_version(const struct hf_args *args) {
  (void)args;
  return printf("holdfast %s\n", HOLDFAST_VERSION) < 0 ? HF_EXIT_FAILED : HF_EXIT_GOOD;
}

int hf_cmd_help(const struct hf_args *args) {
  struct hf_error error;
  const struct hf_command *command = NULL;
  if (args->rest_count && !(command = hf_command_find(args->rest[0], &error)))
    return hf_complain(HF_EXIT_USAGE, "%s", error.text);
  hf_command_help(command);
  return HF_EXIT_GOOD;
}
