#include "cli/interrupt.h"

#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void signals(sigset_t *set) {
  (void)sigemptyset(set);
  (void)sigaddset(set, SIGINT);
  (void)sigaddset(set, SIGTERM);
}

int hf_interrupt_init(struct hf_interrupt *interrupt) {
  sigset_t set;
  interrupt->fd = -1;
  signals(&set);
  if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
    return HF_ERR_IO;
  interrupt->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  return interrupt->fd < 0 ? HF_ERR_IO : 0;
}

/* The signals stay blocked: the command is about to end. */
void hf_interrupt_deinit(struct hf_interrupt *interrupt) {
  if (interrupt->fd >= 0)
    close(interrupt->fd);
  interrupt->fd = -1;
}

bool hf_interrupt_wait(struct hf_interrupt *interrupt, int timeout_ms) {
  struct pollfd poll_fd = {.fd = interrupt->fd, .events = POLLIN};
  int n;
  do
    n = poll(&poll_fd, 1, timeout_ms);
  while (n < 0 && errno == EINTR);
  return n != 0;
}
