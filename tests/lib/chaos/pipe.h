/* The faulty server on standard input and output, one message a line. */
#ifndef CHAOS_PIPE_H
#define CHAOS_PIPE_H

#include "server.h"

#include <uv.h>

struct chaos_pipe;

/* Returns owned, or NULL with a message on standard error. With `echo_noise`, each line read has a log line printed
 * for it on standard output. Ends with its input. */
struct chaos_pipe *chaos_pipe_new(uv_loop_t *loop, struct chaos *chaos, bool echo_noise);
void chaos_pipe_free(struct chaos_pipe *pipe);

#endif
