/* The control socket: one question per line, one answer per line, both JSON, for the gateway's own user only. Before an
 * answer there may be lines about what is going on; they begin with HF_CONSOLE_MORE, and answers never do.
 *
 * The socket is made with mode 0600 in a directory of mode 0700, and a peer of another user is closed unheard. */
#ifndef HF_DAEMON_CONTROL_H
#define HF_DAEMON_CONTROL_H

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"

#include <uv.h>

struct hf_control;
struct hf_control_peer;

/* How questions are answered. */
struct hf_control_handler {
  void *context;

  /* A question came. The answer is hf_control_answer, later, once; or gone() comes. Returns 0, or an error after which
   * the peer is closed. */
  int (*ask)(void *context, struct hf_control_peer *peer, struct hf_str question, void **ret_ask);

  /* The peer went away before its answer. */
  void (*gone)(void *context, void *ask);

  /* A turn of the loop began with I/O here. */
  void (*advance)(void *context);

  /* A peer that takes longer to ask whole, or to read any of its answer, is hung up on, for others want its place; 0:
   * 5 s. */
  unsigned patience_ms;
};

/* Where the socket is when nothing is said: below $XDG_RUNTIME_DIR, else below the state directory. Returns owned, or
 * NULL when out of memory. */
char *hf_control_path(void);

/* Listens at `path`. Returns 0 and owned; HF_ERR_BUSY (another gateway listens there), HF_ERR_IO, HF_ERR_NOMEM. */
int hf_control_new(uv_loop_t *uv, const char *path, const struct hf_control_handler *handler,
                   struct hf_control **ret_control, struct hf_error *reterr);

void hf_control_answer(struct hf_control_peer *peer, struct hf_str text);

/* A line before the answer. A peer that doesn't read loses such lines, and never the answer. */
void hf_control_tell(struct hf_control_peer *peer, struct hf_str text);

/* Closes everything and removes the socket. Memory goes once the loop has closed the handles. */
void hf_control_free(struct hf_control *control);

/* For the command line: asks the gateway at `path` something short, waiting for the answer, for 5 s. Returns 0;
 * HF_ERR_UNAVAILABLE (nobody is there), HF_ERR_TIMEOUT, HF_ERR_CLOSED, HF_ERR_IO, HF_ERR_LIMIT, HF_ERR_NOMEM. */
int hf_control_call(const char *path, struct hf_str question, struct hf_buf *ret_answer, struct hf_error *reterr);

/* Returns 0 to go on, or an error that ends the call: closing the connection tells the gateway to stop. */
typedef int hf_control_line_fn(void *context, struct hf_str line);

/* The same with the lines before the answer, each as it comes, and for however long it takes. */
int hf_control_follow(const char *path, struct hf_str question, hf_control_line_fn *line, void *context,
                      struct hf_buf *ret_answer, struct hf_error *reterr);

#endif
