/* A program that is run with a text on its standard input, and ended with all it started when it takes too long. */
#ifndef HF_DAEMON_ALERT_COMMAND_H
#define HF_DAEMON_ALERT_COMMAND_H

#include "base/error.h"
#include "gateway/loop.h"
#include "gateway/settings.h"

#include <uv.h>

struct hf_alert_command;

struct hf_alert_command_options {
  uv_loop_t *uv;                 /* borrowed */
  struct hf_loop *loop;          /* borrowed */
  const struct hf_strings *argv; /* copied; at least the program */
  hf_time patience;              /* until it is killed; 0: 30 s */
};

enum { HF_ALERT_COMMANDS_MAX = 4 }; /* that run at once */

/* Returns 0 and owned, or HF_ERR_NOMEM. */
int hf_alert_command_new(const struct hf_alert_command_options *options, struct hf_alert_command **ret_command);

/* Runs it, without a shell. How it ends is told in the log, if that is not well. Returns 0, HF_ERR_LIMIT when too many
 * run, HF_ERR_NOMEM, or HF_ERR_IO if it cannot be started. */
int hf_alert_command_run(struct hf_alert_command *command, struct hf_str text);

/* Kills what runs; its memory goes once the loop has run. NULL is fine. */
void hf_alert_command_free(struct hf_alert_command *command);

#endif
