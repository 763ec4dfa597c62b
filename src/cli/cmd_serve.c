#include "cli/ancestry.h"
#include "cli/setup.h"

#include "base/alloc.h"

static int run(const struct hf_app_options *options, struct hf_settings *settings) {
  struct hf_error error = {0};
  struct hf_app *app = NULL;
  int r = hf_app_new(options, settings, &app, &error);
  if (r < 0)
    return hf_complain(HF_EXIT_UNAVAILABLE, "%s", error.text);
  hf_app_run(app);
  hf_app_free(app);
  return HF_EXIT_GOOD;
}

static int load_and_run(const struct hf_args *args, struct hf_app_options *options) {
  struct hf_settings *settings = NULL;
  HF_CLEANUP_FREE char *path = NULL;
  int exit_code = hf_setup_settings(args, &options->config, &settings, &path);
  options->config_path = path;
  if (exit_code == HF_EXIT_GOOD && hf_ancestry_has(path))
    exit_code =
        hf_complain(HF_EXIT_USAGE,
                    "a server in '%s' is holdfast itself with the same file, and would start itself for ever: take it "
                    "out of there, or give --config another file",
                    path);
  if (exit_code == HF_EXIT_GOOD && hf_ancestry_add(path) < 0)
    exit_code = hf_complain(HF_EXIT_UNAVAILABLE, "too many gateways above this one, or out of memory");
  if (exit_code == HF_EXIT_GOOD)
    exit_code = run(options, settings);
  hf_settings_free(settings);
  return exit_code;
}

int hf_cmd_serve(const struct hf_args *args) {
  struct hf_app_options options = {
      .front = HF_APP_HTTP,
      .state = args->state,
      .config = {.instance = HF_INSTANCE_SHARED,
                 .listens = true,
                 .listen = args->listen,
                 .log_level = args->log_level,
                 .log_format = args->log_format},
  };
  return load_and_run(args, &options);
}

int hf_cmd_stdio(const struct hf_args *args) {
  struct hf_app_options options = {
      .front = HF_APP_STDIO,
      .state = args->state,
      .config = {.instance = HF_INSTANCE_SESSION, .log_level = args->log_level, .log_format = args->log_format},
  };
  return load_and_run(args, &options);
}

int hf_cmd_wrap(const struct hf_args *args) {
  const struct hf_app_options options = {
      .front = HF_APP_STDIO,
      .single = true,
      .state = args->state,
      .config = {.instance = HF_INSTANCE_SESSION, .log_level = args->log_level, .log_format = args->log_format},
  };
  struct hf_settings *settings = NULL;
  struct hf_error error = {0};
  if (hf_config_wrap(args->rest, args->name, &options.config, &settings, &error) < 0)
    return hf_complain(HF_EXIT_USAGE, "wrap: %s", error.text);
  int exit_code = run(&options, settings);
  hf_settings_free(settings);
  return exit_code;
}
