#include "cli/setup.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 64 << 10 };

void hf_setup_print_problems(const struct hf_problems *problems, const char *path) {
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  if (hf_problems_print(problems, path, &text) == 0 && text.len)
    (void)fwrite(text.data, 1, text.len, stderr);
  hf_buf_deinit(&text);
}

int hf_setup_settings(const struct hf_args *args, const struct hf_config_options *options,
                      struct hf_settings **ret_settings, char **ret_path) {
  struct hf_error error = {0};
  char *path = args->config ? hf_strndup(args->config, strlen(args->config)) : hf_config_find(&error);
  if (!path)
    return hf_complain(HF_EXIT_USAGE, "%s", error.code ? error.text : "out of memory");

  struct hf_problems problems;
  hf_problems_init(&problems);
  int r = hf_config_load(path, options, &problems, ret_settings, &error);
  hf_setup_print_problems(&problems, path);
  if (r < 0) {
    if (problems.errors == 0)
      hf_complain(HF_EXIT_USAGE, "%s", error.text);
    hf_free(path);
    return HF_EXIT_USAGE;
  }
  *ret_path = path;
  return HF_EXIT_GOOD;
}
