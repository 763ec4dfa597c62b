/* What an operator may ask of a gateway: status, tools, call, reload, explain, store, letters-replay.
 *
 * A question is one JSON object with `op`, an answer one with `result` or `error`; the control socket carries them to a
 * running gateway, and the command line asks one in its own process the same way. Tools are listed and called as a
 * client of the modern era would, through the whole pipeline. */
#ifndef HF_DAEMON_CONSOLE_H
#define HF_DAEMON_CONSOLE_H

#include "gateway/gateway.h"

#define HF_CONSOLE_MORE "{\"more\":true"

struct hf_console;
struct hf_console_ask;

/* Returns 0, or an error that `reterr` tells. */
typedef int hf_reload_fn(void *context, struct hf_error *reterr);

/* Returns owned, or NULL when out of memory. `gateway` is borrowed; `reload` may be NULL. */
struct hf_console *hf_console_new(struct hf_gateway *gateway, hf_reload_fn *reload, void *context);

/* Forgets what is under way: before the gateway goes. */
void hf_console_free(struct hf_console *console);

/* The answer, from the loop and never from inside hf_console_ask; the ask is gone with it. */
typedef void hf_console_done_fn(void *context, struct hf_str answer);

/* Returns 0 (the answer will come, also to a bad question), or HF_ERR_NOMEM. */
int hf_console_ask(struct hf_console *console, struct hf_str question, hf_console_done_fn *done, void *context,
                   struct hf_console_ask **ret_ask);

/* What is told before the answer, of questions that take their time: JSON that begins with HF_CONSOLE_MORE. */
typedef void hf_console_line_fn(void *context, struct hf_str line);

/* Lets `line` have it, with the context of the question; nothing has been told before the loop runs. */
void hf_console_listen(struct hf_console_ask *ask, hf_console_line_fn *line);

/* No answer is wanted any more: a call under way is cancelled, a replay starts nothing more. */
void hf_console_forget(struct hf_console_ask *ask);

#endif
