/* A listening socket that pauses instead of failing.
 *
 * Out of descriptors or at the limit of connections, it stops polling, so that waiting connections cost nothing, and
 * goes on when told or after a while. */
#ifndef HF_FRONT_ACCEPTOR_H
#define HF_FRONT_ACCEPTOR_H

#include "base/error.h"
#include "gateway/loop.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <uv.h>

struct hf_acceptor {
  uv_poll_t poll;
  struct hf_loop *loop;
  struct hf_timer retry;
  int fd; /* -1: never opened */
  bool paused;
  bool stopped;
  uint64_t pauses;
  /* Takes the descriptor. Returns false if no more are wanted until hf_acceptor_resume. */
  bool (*accepted)(void *owner, int fd, const struct sockaddr *address, socklen_t len);
  void *owner;
};

/* Binds to a literal address. Returns 0, HF_ERR_INVALID, HF_ERR_IO, HF_ERR_NOMEM. After success the acceptor must be
 * closed. */
int hf_acceptor_open(struct hf_acceptor *acceptor, uv_loop_t *uv, struct hf_loop *loop, struct hf_str host,
                     uint16_t port, struct hf_error *reterr);

uint16_t hf_acceptor_port(const struct hf_acceptor *acceptor);

void hf_acceptor_resume(struct hf_acceptor *acceptor);

/* Takes no more connections. */
void hf_acceptor_stop(struct hf_acceptor *acceptor);

/* Stops, closes the handle (`closed` comes once its memory may go) and then the socket: in this order, for the loop
 * must not hear of a descriptor that somebody else has got meanwhile. */
void hf_acceptor_close(struct hf_acceptor *acceptor, uv_close_cb closed);

#endif
