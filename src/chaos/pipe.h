/* Standard input and output of the faulty server, one message a line, and answers spoiled as their faults say. */
#ifndef HF_CHAOS_PIPE_H
#define HF_CHAOS_PIPE_H

#include "chaos/server.h"

#include <uv.h>

struct hf_chaos_pipe;

/* Who gets the lines. */
struct hf_chaos_pipe_owner {
  void *data;
  void (*line)(void *data, struct hf_str line); /* without its end; not blank */
  void (*eof)(void *data);
  void (*dying)(void *data); /* a fault ends this process */
};

/* Reads and writes this process's standard input and output. Returns 0 with an owned `*ret_pipe`, or HF_ERR_IO,
 * HF_ERR_NOMEM. */
int hf_chaos_pipe_new(uv_loop_t *loop, const struct hf_chaos_pipe_owner *owner, struct hf_chaos_pipe **ret_pipe,
                      struct hf_error *reterr);

/* Writes bytes as they are. */
void hf_chaos_pipe_put(struct hf_chaos_pipe *pipe, struct hf_str bytes);

/* Writes the answer, now or later, whole or not, or ends the process, as its fault says. Takes the answer. */
void hf_chaos_pipe_answer(struct hf_chaos_pipe *pipe, struct hf_chaos_answer *answer);

/* Stops reading; what is written goes on. */
void hf_chaos_pipe_close_input(struct hf_chaos_pipe *pipe);

/* Once the loop is idle; runs it until the handles are closed. */
void hf_chaos_pipe_free(struct hf_chaos_pipe *pipe);

#endif
