/* From the command line to settings, and to a gateway in this process. */
#ifndef HF_CLI_SETUP_H
#define HF_CLI_SETUP_H

#include "cli/args.h"
#include "daemon/app.h"

/* Loads the configuration that is named, or found; problems are printed on standard error. Returns HF_EXIT_GOOD with
 * owned settings and the path (owned), else what to exit with, said already. */
int hf_setup_settings(const struct hf_args *args, const struct hf_config_options *options,
                      struct hf_settings **ret_settings, char **ret_path);

/* Prints problems with the places they have in `path`, on standard error. */
void hf_setup_print_problems(const struct hf_problems *problems, const char *path);

#endif
