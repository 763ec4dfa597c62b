/* A line to a gateway: the running one, or one in this process. Questions and answers are those of console.h. */
#ifndef HF_CLI_LINE_H
#define HF_CLI_LINE_H

#include "cli/setup.h"
#include "daemon/control.h"
#include "json/value.h"

struct hf_line {
  char *path;         /* of the running gateway's control socket; owned */
  struct hf_app *app; /* or the one in this process; owned */
};

/* Takes the running gateway unless --config is given; else, where `own` allows it, makes one. Returns HF_EXIT_GOOD or
 * what to exit with, said already. */
int hf_line_open(const struct hf_args *args, bool own, struct hf_line *ret_line);
void hf_line_close(struct hf_line *line);

/* One answer, parsed. */
struct hf_line_answer {
  struct hf_buf text;
  struct hf_json_scan scan;
  struct hf_json_doc doc;
};

/* Where the control socket of the gateway that is meant is. Returns HF_EXIT_GOOD and owned, or what to exit with, said
 * already. */
int hf_line_find(const struct hf_args *args, char **ret_path);

/* The same for who can do without: nothing is said, and what cannot be found is false. */
bool hf_line_guess(const struct hf_args *args, char **ret_path);

/* Asks. Returns HF_EXIT_GOOD, and then `ret_answer` is to be deinitialised; or what to exit with, said already: also
 * when the answer is an error. */
int hf_line_ask(struct hf_line *line, struct hf_str question, struct hf_line_answer *ret_answer);

/* The same with the lines that come before the answer (console.h), each as it comes. Only of a running gateway. */
int hf_line_follow(struct hf_line *line, struct hf_str question, hf_control_line_fn *on_line, void *context,
                   struct hf_line_answer *ret_answer);

void hf_line_answer_deinit(struct hf_line_answer *answer);

#endif
