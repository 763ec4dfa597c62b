/* The stdio transport: one child process, messages as lines on its standard input and output.
 *
 * It knows of every message whether its newline was handed to the pipe. Writes never block and never wait for reads,
 * nor reads for writes; a message is written whole or, if the child is gone, not taken further. */
#ifndef HF_UPSTREAM_STDIO_H
#define HF_UPSTREAM_STDIO_H

#include "upstream/reaper.h"
#include "upstream/transport.h"

struct hf_stdio_options {
  uv_loop_t *uv;
  struct hf_loop *loop;
  struct hf_reaper *reaper; /* borrowed: outlives the transport */
  hf_time leave_grace;      /* from the end of its standard input until SIGTERM */
  hf_time term_grace;       /* from there until SIGKILL */
};

#define HF_STDIO_LEAVE_GRACE HF_SECONDS(2)
#define HF_STDIO_TERM_GRACE HF_SECONDS(2)

/* Copies what it needs of `settings`. Returns 0 and owned, or HF_ERR_NOMEM. */
int hf_stdio_transport_new(const struct hf_stdio_options *options, const struct hf_server_settings *settings,
                           const struct hf_transport_events *events, void *owner, struct hf_transport **ret_transport);

#endif
