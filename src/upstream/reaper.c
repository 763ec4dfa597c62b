/* The gateway's side: orders go out without waiting, reports come in by the loop. Children are known by number, never
 * by process id, so that a late report can meet nobody else. */
#include "upstream/reaper.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "upstream/reaper_process.h"
#include "upstream/reaper_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAM_MAX = 4 << 20 };

struct hf_reaper {
  int socket; /* -1 when the helper is gone */
  pid_t pid;
  struct rlimit descriptors; /* as children shall have it */
  uv_loop_t *uv;
  struct hf_loop *loop;
  uv_poll_t *poll; /* freed in its close callback */
  struct hf_list children;
  size_t child_count;
  uint64_t next_child;
};

static int start_helper(struct hf_reaper *reaper, struct hf_error *reterr) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    return hf_error_set(reterr, HF_ERR_IO, "make a socket for the helper process: %s", strerror(errno));
  pid_t gateway = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    (void)setrlimit(RLIMIT_NOFILE, &reaper->descriptors);
    hf_reaper_process_run(pair[1], gateway, reaper->next_child > 0);
  }
  int error = errno;
  close(pair[1]);
  if (pid < 0) {
    close(pair[0]);
    return hf_error_set(reterr, HF_ERR_IO, "start the helper process: %s", strerror(error));
  }
  reaper->socket = pair[0];
  reaper->pid = pid;
  return 0;
}

int hf_reaper_new(struct hf_reaper **ret_reaper, struct hf_error *reterr) {
  struct hf_reaper *reaper = hf_calloc(1, sizeof *reaper);
  if (!reaper)
    return hf_error_set(reterr, HF_ERR_NOMEM, "start the helper process: out of memory");
  hf_list_init(&reaper->children);
  reaper->socket = -1;
  (void)getrlimit(RLIMIT_NOFILE, &reaper->descriptors);
  int rc = start_helper(reaper, reterr);
  if (rc < 0) {
    hf_free(reaper);
    return rc;
  }
  *ret_reaper = reaper;
  return 0;
}

static struct hf_child *find_child(struct hf_reaper *reaper, uint64_t id) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &reaper->children) {
    struct hf_child *child = HF_CONTAINER_OF(it, struct hf_child, link);
    if (child->id == id)
      return child;
  }
  return NULL;
}

static void forget(struct hf_reaper *reaper, struct hf_child *child) {
  hf_list_remove(&child->link);
  child->id = 0;
  reaper->child_count--;
}

static void on_closed(uv_handle_t *handle) {
  hf_free(handle);
}

static void close_socket(struct hf_reaper *reaper) {
  if (reaper->poll)
    uv_close((uv_handle_t *)reaper->poll, on_closed);
  reaper->poll = NULL;
  if (reaper->socket >= 0)
    close(reaper->socket);
  reaper->socket = -1;
}

static int watch(struct hf_reaper *reaper);

/* Sees to it that there is a helper, and that its reports are read. One that could not be watched when it started is
 * kept, and watched at the next try: so it is also known when it ends. */
static int revive_helper(struct hf_reaper *reaper, struct hf_error *reterr) {
  int rc = reaper->socket < 0 ? start_helper(reaper, reterr) : 0;
  if (rc < 0)
    return rc;
  rc = reaper->poll ? 0 : watch(reaper);
  return rc < 0 ? hf_error_set(reterr, rc, "watch the new helper process: %s", hf_err_text(rc)) : 0;
}

/* The helper is gone. The kernel kills its own children with it; theirs are killed from here where they are in the
 * same group, and otherwise by the next helper, which therefore starts at once. */
static void lose_helper(struct hf_reaper *reaper) {
  close_socket(reaper);
  kill(reaper->pid, SIGKILL);
  while (waitpid(reaper->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  reaper->pid = 0;
  hf_log_event(reaper->loop->log, HF_LOG_ERROR, "the helper process ended; its children are lost",
               HF_LOG_INT("children", (int64_t)reaper->child_count));
  struct hf_list lost, *it, *tmp;
  hf_list_init(&lost);
  HF_LIST_FOREACH (it, tmp, &reaper->children) {
    const struct hf_child *child = HF_CONTAINER_OF(it, struct hf_child, link);
    if (child->pid > 0)
      kill(-child->pid, SIGKILL);
    hf_list_remove(it);
    hf_list_push_back(&lost, it);
  }
  struct hf_error error = {0};
  if (revive_helper(reaper, &error) < 0)
    hf_log_event(reaper->loop->log, HF_LOG_ERROR, "no new helper process",
                 HF_LOG_STR("reason", hf_str_from(error.text)));
  const struct hf_child_end end = {.lost = true};
  while (!hf_list_empty(&lost)) {
    struct hf_child *child = HF_CONTAINER_OF(lost.next, struct hf_child, link);
    forget(reaper, child);
    child->events->ended(child, &end);
  }
}

static void take_report(struct hf_reaper *reaper, const struct hf_reaper_report *report) {
  struct hf_child *child = find_child(reaper, report->child);
  if (!child)
    return;
  switch ((enum hf_reaper_report_kind)report->kind) {
  case HF_REAPER_STARTED:
    child->pid = report->value;
    child->events->started(child);
    break;
  case HF_REAPER_FAILED:
    child->failed = (enum hf_spawn_stage)report->value;
    child->error = report->error;
    break;
  case HF_REAPER_ENDED: {
    const struct hf_child_end end = {.stage = child->failed, .error = child->error, .status = report->value};
    forget(reaper, child);
    child->events->ended(child, &end);
    break;
  }
  }
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  (void)events;
  struct hf_reaper *reaper = poll->data;
  hf_loop_advance(reaper->loop, hf_clock_now(), hf_clock_wall_ms());
  if (status < 0) {
    lose_helper(reaper);
    return;
  }
  while (reaper->socket >= 0) {
    struct hf_reaper_report report;
    ssize_t n = recv(reaper->socket, &report, sizeof report, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (n != (ssize_t)sizeof report) {
      lose_helper(reaper);
      return;
    }
    take_report(reaper, &report);
  }
}

static int watch(struct hf_reaper *reaper) {
  uv_poll_t *poll = hf_malloc(sizeof *poll);
  if (!poll)
    return HF_ERR_NOMEM;
  if (uv_poll_init(reaper->uv, poll, reaper->socket) < 0) {
    hf_free(poll);
    return HF_ERR_IO;
  }
  poll->data = reaper;
  uv_poll_start(poll, UV_READABLE, on_readable);
  reaper->poll = poll;
  return 0;
}

int hf_reaper_attach(struct hf_reaper *reaper, uv_loop_t *uv, struct hf_loop *loop) {
  reaper->uv = uv;
  reaper->loop = loop;
  return watch(reaper);
}

void hf_reaper_free(struct hf_reaper *reaper) {
  if (!reaper)
    return;
  close_socket(reaper);
  if (reaper->pid > 0)
    waitpid(reaper->pid, NULL, WNOHANG);
  hf_free(reaper);
}

static int append_string(struct hf_buf *buf, struct hf_str s) {
  if (s.len && memchr(s.ptr, '\0', s.len))
    return HF_ERR_INVALID;
  int rc = hf_buf_append_str(buf, s);
  return rc < 0 ? rc : hf_buf_append(buf, "", 1);
}

static int append_program(struct hf_buf *buf, const struct hf_spawn *spawn) {
  struct hf_reaper_program head = {.argc = (uint32_t)spawn->args.count + 1, .envc = (uint32_t)spawn->env.count};
  int rc = hf_buf_append(buf, &head, sizeof head);
  if (rc == 0)
    rc = append_string(buf, spawn->cwd);
  if (rc == 0)
    rc = append_string(buf, spawn->command);
  for (size_t i = 0; rc == 0 && i < spawn->args.count; i++)
    rc = append_string(buf, spawn->args.item[i]);
  for (size_t i = 0; rc == 0 && i < spawn->env.count; i++)
    rc = append_string(buf, spawn->env.item[i]);
  return rc;
}

/* Arguments and environment go through memory of their own: no packet could hold them all. Returns it or an error. */
static int program_file(const struct hf_spawn *spawn, struct hf_error *reterr) {
  struct hf_buf buf;
  hf_buf_init(&buf, PROGRAM_MAX);
  int rc = append_program(&buf, spawn);
  int fd = -1;
  if (rc == 0) {
    fd = memfd_create("holdfast-program", MFD_CLOEXEC);
    if (fd < 0 || write(fd, buf.data, buf.len) != (ssize_t)buf.len)
      rc = HF_ERR_LIMIT;
  }
  hf_buf_deinit(&buf);
  if (rc == 0)
    return fd;
  if (fd >= 0)
    close(fd);
  return hf_error_set(reterr, rc, "hand over command '%.*s': %s", HF_STR_FMT(spawn->command), hf_err_text(rc));
}

static int send_order(const struct hf_reaper *reaper, const struct hf_reaper_order *order, const int *fds,
                      size_t fd_count) {
  union {
    struct cmsghdr align;
    char space[CMSG_SPACE(sizeof(int) * HF_REAPER_FD_COUNT)];
  } control = {0};
  struct iovec iov = {(void *)(uintptr_t)order, sizeof *order};
  struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
  if (fd_count) {
    msg.msg_control = control.space;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
    memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
  }
  ssize_t n;
  do {
    n = sendmsg(reaper->socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n == (ssize_t)sizeof *order ? 0 : HF_ERR_IO;
}

int hf_reaper_spawn(struct hf_reaper *reaper, const struct hf_spawn *spawn, const struct hf_child_events *events,
                    struct hf_child *child, struct hf_error *reterr) {
  if (reaper->child_count >= HF_REAPER_CHILDREN_MAX)
    return hf_error_set(reterr, HF_ERR_LIMIT, "start '%.*s': more than %d children", HF_STR_FMT(spawn->command),
                        HF_REAPER_CHILDREN_MAX);
  int rc = revive_helper(reaper, reterr);
  if (rc < 0)
    return rc;
  int program = program_file(spawn, reterr);
  if (program < 0)
    return program;

  *child = (struct hf_child){.id = ++reaper->next_child, .events = events};
  const int fds[HF_REAPER_FD_COUNT] = {spawn->fds[0], spawn->fds[1], spawn->fds[2], program};
  const struct hf_reaper_order order = {.kind = HF_REAPER_SPAWN, .child = child->id};
  rc = send_order(reaper, &order, fds, HF_REAPER_FD_COUNT);
  close(program);
  if (rc < 0) {
    child->id = 0;
    return hf_error_set(reterr, rc, "start '%.*s': the helper process takes no orders", HF_STR_FMT(spawn->command));
  }
  hf_list_push_back(&reaper->children, &child->link);
  reaper->child_count++;
  return 0;
}

/* A full socket (hundreds of orders wait in it) is made up for by signalling from here. The process id could be stale
 * only if the helper reaped the child and the id was used again before its report is read; a kill that is lost for sure
 * would be worse. */
void hf_reaper_signal(struct hf_reaper *reaper, const struct hf_child *child, int signal) {
  if (!child->id || reaper->socket < 0)
    return;
  const struct hf_reaper_order order = {.kind = HF_REAPER_SIGNAL, .child = child->id, .signal = signal};
  if (send_order(reaper, &order, NULL, 0) < 0 && child->pid > 0)
    kill(-child->pid, signal);
}

void hf_reaper_drop(struct hf_reaper *reaper, struct hf_child *child) {
  if (!child->id)
    return;
  hf_reaper_signal(reaper, child, SIGKILL);
  forget(reaper, child);
}

pid_t hf_reaper_pid(const struct hf_reaper *reaper) {
  return reaper->pid;
}
