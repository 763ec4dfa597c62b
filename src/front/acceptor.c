#include "front/acceptor.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum { BACKLOG = 1024, ACCEPTS_PER_TURN = 64, HOST_MAX = 64 };

#define RETRY_AFTER HF_MS(100)

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

static void pause_accepting(struct hf_acceptor *acceptor) {
  acceptor->paused = true;
  (void)uv_poll_stop(&acceptor->poll);
}

static void on_readable(uv_poll_t *poll, int status, int events);

void hf_acceptor_resume(struct hf_acceptor *acceptor) {
  if (!acceptor->paused || acceptor->stopped)
    return;
  acceptor->paused = false;
  hf_timer_stop(acceptor->loop, &acceptor->retry);
  (void)uv_poll_start(&acceptor->poll, UV_READABLE, on_readable);
}

static void on_retry(struct hf_timer *timer) {
  hf_acceptor_resume(HF_CONTAINER_OF(timer, struct hf_acceptor, retry));
}

/* Connections that ended before they were accepted are none of our trouble; every other failure may last. */
static bool accept_failed(struct hf_acceptor *acceptor, int error) {
  if (error == EAGAIN || error == EWOULDBLOCK)
    return false;
  if (error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM)
    return true;
  acceptor->pauses++;
  hf_log_event(acceptor->loop->log, HF_LOG_WARN, "new connections have to wait",
               HF_LOG_STR("reason", hf_str_from(strerror(error))));
  pause_accepting(acceptor);
  hf_timer_set(acceptor->loop, &acceptor->retry, hf_time_add(acceptor->loop->now, RETRY_AFTER));
  return false;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  struct hf_acceptor *acceptor = poll->data;
  (void)status;
  (void)events;
  hf_loop_advance(acceptor->loop, hf_clock_now(), hf_clock_wall_ms());
  for (int i = 0; i < ACCEPTS_PER_TURN && !acceptor->paused && !acceptor->stopped; i++) {
    union address address;
    socklen_t len = sizeof(address);
    int fd = accept4(acceptor->fd, &address.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (!accept_failed(acceptor, errno))
        return;
      continue;
    }
    if (!acceptor->accepted(acceptor->owner, fd, &address.any, len))
      pause_accepting(acceptor);
  }
}

static int parse_address(struct hf_str host, uint16_t port, union address *ret_address, socklen_t *ret_len) {
  char text[HOST_MAX];
  if (host.len >= sizeof(text))
    return HF_ERR_INVALID;
  memcpy(text, host.ptr, host.len);
  text[host.len] = '\0';
  if (hf_str_equal_nocase(host, HF_STR("localhost")))
    memcpy(text, "127.0.0.1", sizeof("127.0.0.1"));
  *ret_address = (union address){.v6 = {0}};
  if (inet_pton(AF_INET, text, &ret_address->v4.sin_addr) == 1) {
    ret_address->v4.sin_family = AF_INET;
    ret_address->v4.sin_port = htons(port);
    *ret_len = sizeof(ret_address->v4);
    return 0;
  }
  if (inet_pton(AF_INET6, text, &ret_address->v6.sin6_addr) == 1) {
    ret_address->v6.sin6_family = AF_INET6;
    ret_address->v6.sin6_port = htons(port);
    *ret_len = sizeof(ret_address->v6);
    return 0;
  }
  return HF_ERR_INVALID;
}

static int bind_and_listen(int fd, const union address *address, socklen_t len) {
  const int on = 1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 || bind(fd, &address->any, len) < 0 ||
      listen(fd, BACKLOG) < 0)
    return HF_ERR_IO;
  return 0;
}

int hf_acceptor_open(struct hf_acceptor *acceptor, uv_loop_t *uv, struct hf_loop *loop, struct hf_str host,
                     uint16_t port, struct hf_error *reterr) {
  union address address;
  socklen_t len;
  if (parse_address(host, port, &address, &len) < 0)
    return hf_error_set(reterr, HF_ERR_INVALID, "cannot listen on '%.*s': not an IP address", HF_STR_FMT(host));
  int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind_and_listen(fd, &address, len) < 0) {
    int error =
        hf_error_set(reterr, HF_ERR_IO, "cannot listen on '%.*s' port %d: %s", HF_STR_FMT(host), port, strerror(errno));
    if (fd >= 0)
      (void)close(fd);
    return error;
  }
  if (hf_timer_init(loop, &acceptor->retry, on_retry) < 0) {
    (void)close(fd);
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  }
  if (uv_poll_init(uv, &acceptor->poll, fd) < 0) {
    hf_timer_deinit(loop, &acceptor->retry);
    (void)close(fd);
    return hf_error_set(reterr, HF_ERR_IO, "cannot poll the listening socket");
  }
  acceptor->poll.data = acceptor;
  acceptor->loop = loop;
  acceptor->fd = fd;
  acceptor->paused = true;
  hf_acceptor_resume(acceptor);
  return 0;
}

uint16_t hf_acceptor_port(const struct hf_acceptor *acceptor) {
  union address address = {.v6 = {0}};
  socklen_t len = sizeof(address);
  if (getsockname(acceptor->fd, &address.any, &len) < 0)
    return 0;
  return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

void hf_acceptor_stop(struct hf_acceptor *acceptor) {
  if (acceptor->fd < 0 || acceptor->stopped)
    return;
  acceptor->stopped = true;
  (void)uv_poll_stop(&acceptor->poll);
  hf_timer_deinit(acceptor->loop, &acceptor->retry);
  (void)shutdown(acceptor->fd, SHUT_RDWR);
}

void hf_acceptor_close(struct hf_acceptor *acceptor, uv_close_cb closed) {
  hf_acceptor_stop(acceptor);
  uv_close((uv_handle_t *)&acceptor->poll, closed);
  (void)close(acceptor->fd);
}
