#include "front/daemons.h"

#include "base/alloc.h"
#include "base/error.h"

#include <sys/epoll.h>
#include <unistd.h>

enum { BATCH = 64 };

static struct hf_daemon *daemon_of(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_daemon, link);
}

static void free_daemon(struct hf_daemon *daemon) {
  hf_list_remove(&daemon->link);
  if (daemon->mhd)
    MHD_stop_daemon(daemon->mhd);
  hf_free(daemon);
}

static int watch(struct hf_daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon->mhd, MHD_DAEMON_INFO_EPOLL_FD);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = daemon};
  return info && epoll_ctl(daemon->all->fd, EPOLL_CTL_ADD, info->epoll_fd, &event) == 0 ? 0 : HF_ERR_IO;
}

static int add_daemon(struct hf_daemons *daemons, struct hf_daemon **ret_daemon) {
  struct hf_daemon *daemon = hf_calloc(1, sizeof *daemon);
  if (!daemon)
    return HF_ERR_NOMEM;
  daemon->all = daemons;
  hf_list_push_back(&daemons->list, &daemon->link);
  daemon->mhd = daemons->start(daemons->owner, daemon);
  if (!daemon->mhd || watch(daemon) < 0) {
    free_daemon(daemon);
    return HF_ERR_IO;
  }
  *ret_daemon = daemon;
  return 0;
}

int hf_daemons_init(struct hf_daemons *daemons, struct MHD_Daemon *(*start)(void *owner, struct hf_daemon *daemon),
                    void *owner) {
  daemons->start = start;
  daemons->owner = owner;
  hf_list_init(&daemons->list);
  daemons->fd = epoll_create1(EPOLL_CLOEXEC);
  struct hf_daemon *first;
  return daemons->fd < 0 ? HF_ERR_IO : add_daemon(daemons, &first);
}

void hf_daemons_deinit(struct hf_daemons *daemons) {
  if (!daemons->start)
    return;
  while (!hf_list_empty(&daemons->list))
    free_daemon(daemon_of(daemons->list.next));
  if (daemons->fd >= 0)
    (void)close(daemons->fd);
}

/* The oldest that has room, so that connections stay together. */
static struct hf_daemon *with_room(struct hf_daemons *daemons) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &daemons->list)
    if (daemon_of(it)->connections < HF_DAEMON_CONNECTIONS_MAX)
      return daemon_of(it);
  struct hf_daemon *daemon;
  return add_daemon(daemons, &daemon) == 0 ? daemon : NULL;
}

void hf_daemons_add(struct hf_daemons *daemons, int fd, const struct sockaddr *address, socklen_t len) {
  struct hf_daemon *daemon = with_room(daemons);
  if (!daemon) {
    (void)close(fd);
    return;
  }
  daemon->due = true;
  (void)MHD_add_connection(daemon->mhd, fd, address, len);
}

void hf_daemons_wake_all(struct hf_daemons *daemons) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &daemons->list)
    daemon_of(it)->due |= daemon_of(it)->connections > 0;
}

bool hf_daemons_run(struct hf_daemons *daemons) {
  struct epoll_event batch[BATCH];
  int ready = epoll_wait(daemons->fd, batch, BATCH, 0);
  for (int i = 0; i < ready; i++)
    ((struct hf_daemon *)batch[i].data.ptr)->due = true;
  bool more = ready == BATCH;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &daemons->list) {
    struct hf_daemon *daemon = daemon_of(it);
    if (!daemon->due)
      continue;
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    daemon->due = false;
    (void)MHD_run(daemon->mhd);
    daemon->due |= MHD_get_timeout(daemon->mhd, &timeout_ms) == MHD_YES && timeout_ms == 0;
    more |= daemon->due;
  }
  return more;
}
