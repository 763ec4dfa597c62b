/* The command line: one table of options, one of commands. */
#ifndef HF_CLI_ARGS_H
#define HF_CLI_ARGS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What every command may return. */
enum hf_exit { HF_EXIT_GOOD, HF_EXIT_FAILED, HF_EXIT_USAGE, HF_EXIT_UNAVAILABLE };

enum hf_flag {
  HF_FLAG_CONFIG = 1 << 0,
  HF_FLAG_LISTEN = 1 << 1,
  HF_FLAG_LOG_LEVEL = 1 << 2,
  HF_FLAG_LOG_FORMAT = 1 << 3,
  HF_FLAG_CONTROL = 1 << 4,
  HF_FLAG_NAME = 1 << 5,
  HF_FLAG_JSON = 1 << 6,
  HF_FLAG_PROBE = 1 << 7,
  HF_FLAG_DEFAULTS = 1 << 8,
  HF_FLAG_SCHEMA = 1 << 9,
  HF_FLAG_MANUAL = 1 << 10,
  HF_FLAG_HELP = 1 << 11,
  HF_FLAG_STATE = 1 << 12,
  HF_FLAG_WATCH = 1 << 13,
  HF_FLAG_FILTER = 1 << 14, /* all that choose letters */
  HF_FLAG_STATUS = 1 << 15, /* one more of them */
  HF_FLAG_ALL = 1 << 16,
  HF_FLAG_REASON = 1 << 17,
  HF_FLAG_SECRETS = 1 << 18,
  HF_FLAG_REPLAY = 1 << 19, /* all that a replay takes besides */
  HF_FLAG_AUDIT = 1 << 20,  /* all that an audit takes */
  HF_FLAG_REPORT = 1 << 24, /* all that a report takes */
  HF_FLAG_REPAIR = 1 << 25,
};

/* Which letters, as the command line says it. NULL: nothing is said. */
struct hf_filter_args {
  const char *tool;
  const char *provider;
  const char *reason; /* --class */
  const char *fingerprint;
  const char *priority;
  const char *since;
  const char *until;
  const char *limit;
  const char *status;
};

struct hf_replay_args {
  const char *dry_run; /* what takes no value is its own name when it is given */
  const char *rate;
  const char *concurrency;
  const char *ramp_up;
  const char *stop_on;
  const char *reconcile;
  const char *force_executed;
  const char *patch;
};

struct hf_args {
  const char *config; /* values are NULL when not given; all borrowed from argv */
  const char *listen;
  const char *log_level;
  const char *log_format;
  const char *control;
  const char *name;
  const char *state;
  const char *watch; /* "" without a value */
  const char *reason;
  const char *since; /* of a report */
  const char *html;
  const char *price;
  const char *min_score; /* of an audit */
  struct hf_filter_args filter;
  struct hf_replay_args replay;
  unsigned flags; /* enum hf_flag, of all that were given */
  char **rest;    /* what is no option, NULL-terminated */
  size_t rest_count;
};

struct hf_command {
  const char *name;
  const char *operands; /* "TOOL [JSON]" */
  unsigned flags;       /* enum hf_flag that it takes */
  size_t rest_min;
  size_t rest_max;
  bool verbatim; /* the first operand ends the options: it and what follows is another program's command line */
  const char *help;
  int (*run)(const struct hf_args *args); /* returns enum hf_exit */
  void (*print_options)(void);            /* of a command that parses its own: all that follows its name is `rest` */
};

/* Ends with a row without name. */
extern const struct hf_command hf_commands[];

/* Parses what follows the command's name; `argv` ends with NULL and is reordered. Returns 0 or HF_ERR_INVALID. */
int hf_args_parse(const struct hf_command *command, char **argv, struct hf_args *ret_args, struct hf_error *reterr);

/* Finds a command. Returns NULL with `reterr` telling the nearest. */
const struct hf_command *hf_command_find(const char *name, struct hf_error *reterr);

/* The same in a table of one's own, which `holdfast LISTED_BY` prints. */
const struct hf_command *hf_command_find_in(const struct hf_command *commands, const char *name, const char *listed_by,
                                            struct hf_error *reterr);

/* Prints the help of one command, or of all (NULL), on standard output. */
void hf_command_help(const struct hf_command *command);

/* Prints "holdfast: text" on standard error and returns `code`, so that `return hf_complain(…)` reads well. */
int hf_complain(enum hf_exit code, const char *format, ...) __attribute__((format(printf, 2, 3)));

int hf_cmd_serve(const struct hf_args *args);
int hf_cmd_stdio(const struct hf_args *args);
int hf_cmd_wrap(const struct hf_args *args);
int hf_cmd_check(const struct hf_args *args);
int hf_cmd_tools(const struct hf_args *args);
int hf_cmd_call(const struct hf_args *args);
int hf_cmd_status(const struct hf_args *args);
int hf_cmd_chaos(const struct hf_args *args);
int hf_cmd_dlq(const struct hf_args *args);
int hf_cmd_explain(const struct hf_args *args);
int hf_cmd_report(const struct hf_args *args);
int hf_cmd_validate(const struct hf_args *args);
int hf_cmd_config(const struct hf_args *args);
int hf_cmd_token(const struct hf_args *args);
int hf_cmd_version(const struct hf_args *args);
int hf_cmd_help(const struct hf_args *args);

#endif
