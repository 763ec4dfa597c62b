/* libmicrohttpd's daemons on one event loop, each with few connections.
 *
 * Whenever a connection is resumed, its daemon walks over all of its suspended ones, and an idle stream is one: with
 * ten thousand of them in one daemon each answer to anybody cost most of a millisecond. So a daemon takes only so many,
 * and the next ones go to another. */
#ifndef HF_FRONT_DAEMONS_H
#define HF_FRONT_DAEMONS_H

#include "base/list.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <sys/socket.h>

enum { HF_DAEMON_CONNECTIONS_MAX = 256 };

struct hf_daemons;

struct hf_daemon {
  struct hf_list link;
  struct hf_daemons *all;
  struct MHD_Daemon *mhd;
  unsigned connections; /* kept by who hears of them */
  bool due;             /* to be run, whatever its descriptors say */
};

struct hf_daemons {
  /* Starts one for at most HF_DAEMON_CONNECTIONS_MAX connections, without a socket of its own; NULL on failure. */
  struct MHD_Daemon *(*start)(void *owner, struct hf_daemon *daemon);
  void *owner;
  struct hf_list list; /* the oldest first */
  int fd;              /* an epoll set of their epoll sets; -1: none */
};

/* Starts the first one. Returns 0 or HF_ERR_IO or HF_ERR_NOMEM; then _deinit cleans up what is there. */
int hf_daemons_init(struct hf_daemons *daemons, struct MHD_Daemon *(*start)(void *owner, struct hf_daemon *daemon),
                    void *owner);

/* Stops all; there must be no suspended connection. */
void hf_daemons_deinit(struct hf_daemons *daemons);

/* Gives a connection, which is taken, to one that has room. */
void hf_daemons_add(struct hf_daemons *daemons, int fd, const struct sockaddr *address, socklen_t len);

/* Each looks after its time-outs at the next run. */
void hf_daemons_wake_all(struct hf_daemons *daemons);

/* Lets those work that have to. Returns true if there is more to do at once. */
bool hf_daemons_run(struct hf_daemons *daemons);

#endif
