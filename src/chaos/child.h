/* A server that is a child process: lines to it, lines from it, and its end. */
#ifndef HF_CHAOS_CHILD_H
#define HF_CHAOS_CHILD_H

#include "base/error.h"
#include "base/str.h"

#include <uv.h>

struct hf_chaos_child;

struct hf_chaos_child_owner {
  void *data;
  void (*line)(void *data, struct hf_str line); /* without its end */
  void (*rest)(void *data, struct hf_str rest); /* a last line without an end; may be empty */
  void (*ended)(void *data);
};

/* Starts it. Signals that end this process end it first. Returns 0 and owned, or HF_ERR_UNAVAILABLE. */
int hf_chaos_child_new(uv_loop_t *loop, char **command, const struct hf_chaos_child_owner *owner,
                       struct hf_chaos_child **ret_child, struct hf_error *reterr);

/* Writes a line; one that does not read is killed. */
void hf_chaos_child_put(struct hf_chaos_child *child, struct hf_str line);

/* Its input ends; if it does not follow, it is killed after a while. */
void hf_chaos_child_close(struct hf_chaos_child *child);

void hf_chaos_child_kill(struct hf_chaos_child *child);

/* What to exit with in its place: its own code, or 128 and the signal that ended it. */
int hf_chaos_child_code(const struct hf_chaos_child *child);

/* Once the loop is idle. Accepts NULL. */
void hf_chaos_child_free(struct hf_chaos_child *child);

#endif
