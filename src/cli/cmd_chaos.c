#include "cli/chaos_config.h"
#include "cli/setup.h"

#include "chaos/run.h"

static int load(const char *path, struct hf_arena *arena, struct hf_chaos_options *options) {
  struct hf_error error = {0};
  struct hf_problems problems;
  hf_problems_init(&problems);
  int r = hf_chaos_config_load(arena, path, options, &problems, &error);
  hf_setup_print_problems(&problems, path);
  if (r < 0 && problems.errors == 0)
    return hf_complain(HF_EXIT_USAGE, "chaos: %s", error.text);
  return r < 0 ? HF_EXIT_USAGE : HF_EXIT_GOOD;
}

/* The file first, then the flags, which count for more; so they are read twice. */
static int configure(const struct hf_args *args, struct hf_arena *arena, struct hf_chaos_options *options) {
  struct hf_error error = {0};
  struct hf_chaos_options flags;
  hf_chaos_options_init(&flags);
  hf_chaos_options_init(options);
  if (hf_chaos_options_parse(&flags, args->rest, &error) < 0)
    return hf_complain(HF_EXIT_USAGE, "%s", error.text);
  if (flags.config) {
    int code = load(flags.config, arena, options);
    if (code != HF_EXIT_GOOD)
      return code;
  }
  if (flags.stdio || flags.http)
    options->stdio = options->http = false;
  if (hf_chaos_options_parse(options, args->rest, &error) < 0 ||
      (!options->help && hf_chaos_options_check(options, &error) < 0))
    return hf_complain(HF_EXIT_USAGE, "%s", error.text);
  return HF_EXIT_GOOD;
}

int hf_cmd_chaos(const struct hf_args *args) {
  struct hf_arena arena;
  struct hf_chaos_options options;
  struct hf_error error = {0};
  hf_arena_init(&arena, HF_CHAOS_CONFIG_ARENA_MAX);
  int code = configure(args, &arena, &options);
  if (code == HF_EXIT_GOOD && options.help) {
    hf_command_help(hf_command_find("chaos", &error));
  } else if (code == HF_EXIT_GOOD) {
    code = hf_chaos_run(&options, &error);
    if (error.code)
      (void)hf_complain(HF_EXIT_FAILED, "%s", error.text);
  }
  hf_arena_deinit(&arena);
  return code;
}
