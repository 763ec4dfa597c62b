/* The composition root: joins loop, log, settings, upstreams, gateway, fronts, control socket and signals.
 *
 * SIGTERM and SIGINT drain, a second one ends at once; SIGHUP reads the configuration anew, and a bad one changes
 * nothing. */
#ifndef HF_DAEMON_APP_H
#define HF_DAEMON_APP_H

#include "daemon/config.h"

enum hf_app_front { HF_APP_HTTP, HF_APP_STDIO, HF_APP_NONE };

struct hf_app_options {
  enum hf_app_front front;
  const char *config_path; /* read again at SIGHUP; NULL: there is nothing to read */
  struct hf_config_options config;
  bool single;       /* stdio: the only server, with its own names */
  const char *state; /* directory of the database; NULL: the usual one */
};

struct hf_app;

/* Forks the helper of children, so call it early. A reference to `settings` is taken. Returns 0 and owned, or an error
 * that `reterr` tells: HF_ERR_IO (cannot listen), HF_ERR_NOMEM, HF_ERR_INVALID. */
int hf_app_new(const struct hf_app_options *options, struct hf_settings *settings, struct hf_app **ret_app,
               struct hf_error *reterr);

/* Serves until it is told to end, or its stdio client goes. */
void hf_app_run(struct hf_app *app);

/* Asks the own gateway (console.h) and runs until the answer is there. Returns 0, HF_ERR_CLOSED (a signal came first)
 * or HF_ERR_NOMEM. */
int hf_app_ask(struct hf_app *app, struct hf_str question, struct hf_buf *ret_answer);

void hf_app_free(struct hf_app *app);

#endif
