/* From a configuration file to settings. */
#ifndef HF_DAEMON_CONFIG_H
#define HF_DAEMON_CONFIG_H

#include "daemon/expand.h"
#include "daemon/problem.h"
#include "gateway/settings.h"

/* What the command line says goes before the file. */
struct hf_config_options {
  hf_variable_fn *variable;       /* NULL: the process's environment */
  enum hf_instance_mode instance; /* what servers get that don't say */
  bool listens;                   /* there will be an HTTP front: check its address */
  const char *listen;             /* NULL: as the file says */
  const char *log_level;          /* likewise */
  const char *log_format;         /* likewise */
};

/* Makes settings of a file. Problems, warnings among them, are collected in any case. Returns 0 and owned settings;
 * HF_ERR_INVALID or HF_ERR_SYNTAX when there are errors among the problems; else HF_ERR_NOTFOUND, _IO, _LIMIT, _NOMEM
 * with `reterr` filled. */
int hf_config_load(const char *path, const struct hf_config_options *options, struct hf_problems *problems,
                   struct hf_settings **ret_settings, struct hf_error *reterr);

/* The same of a text. */
int hf_config_parse(struct hf_str text, const struct hf_config_options *options, struct hf_problems *problems,
                    struct hf_settings **ret_settings, struct hf_error *reterr);

/* Makes settings for one server that is started as `argv` (NULL-terminated, at least the command). `name` may be NULL:
 * then it is derived from the command. */
int hf_config_wrap(char *const *argv, const char *name, const struct hf_config_options *options,
                   struct hf_settings **ret_settings, struct hf_error *reterr);

/* Finds the file that is used when none is named: ./holdfast.yaml, $XDG_CONFIG_HOME/holdfast/holdfast.yaml. Returns
 * owned, or NULL with `reterr` telling where it looked. */
char *hf_config_find(struct hf_error *reterr);

#endif
