/* One thread, no allocation on its own account, no log: what it must survive is the gateway's death, whatever caused
 * that. Leaders are reaped only after their group was killed, so that a signal never meets a reused process id. */
#include "upstream/reaper_process.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/time.h"
#include "upstream/reaper.h"
#include "upstream/reaper_wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  SOCKET_FD = 3,
  PROC_TEXT_MAX = 64,
  STAT_MAX = 512,
  ENVIRON_CHUNK = 4096,
  MARK_MAX = 64,
  ROUND_MS = 20,
};

static const hf_time polite = HF_SECONDS(1);   /* between SIGTERM and SIGKILL when the gateway is gone */
static const hf_time give_up = HF_SECONDS(30); /* a process that the kernel does not let die holds nobody for ever */

struct leader {
  pid_t pid;
  uint64_t child;
};

struct reaper {
  pid_t self;
  pid_t gateway;
  int signals;
  struct leader leaders[HF_REAPER_CHILDREN_MAX];
  size_t count;
};

static void report(enum hf_reaper_report_kind kind, uint64_t child, int value, int error) {
  struct hf_reaper_report packet = {.kind = kind, .value = value, .error = error, .child = child};
  ssize_t n;
  do {
    n = send(SOCKET_FD, &packet, sizeof packet, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  /* A failure means that the gateway is gone, which the next read tells. */
}

struct program {
  const char *text;
  size_t len;
  const char *at; /* next string */
  struct hf_reaper_program head;
};

static const char *next_string(struct program *program) {
  const char *string = program->at;
  const char *end = memchr(string, '\0', (size_t)(program->text + program->len - string));
  if (!end)
    _exit(127);
  program->at = end + 1;
  return string;
}

static bool program_map(int fd, struct program *ret_program) {
  struct stat st;
  if (fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof ret_program->head)
    return false;
  void *text = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (text == MAP_FAILED)
    return false;
  *ret_program = (struct program){.text = text, .len = (size_t)st.st_size};
  memcpy(&ret_program->head, text, sizeof ret_program->head);
  ret_program->at = ret_program->text + sizeof ret_program->head;
  return true;
}

static _Noreturn void fail(uint64_t child, enum hf_spawn_stage stage, int error) {
  report(HF_REAPER_FAILED, child, (int)stage, error);
  _exit(127);
}

static void set_environment(struct program *program, pid_t gateway, uint64_t child) {
  char mark[MARK_MAX];
  int n = snprintf(mark, sizeof mark, "%d.%llu", (int)gateway, (unsigned long long)child);
  if (n < 0 || (size_t)n >= sizeof mark || setenv(HF_REAPER_MARK, mark, 1) < 0)
    fail(child, HF_SPAWN_FORK, ENOMEM);
  for (uint32_t i = 0; i < program->head.envc; i++) {
    /* The string stays in the private mapping until exec. */
    putenv((char *)(uintptr_t)next_string(program));
  }
}

static _Noreturn void child_run(const struct reaper *reaper, uint64_t child, const int fds[HF_REAPER_FD_COUNT]) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the helper itself be killed */
  if (getppid() != reaper->self)
    _exit(127);
  for (int i = 1; i < NSIG; i++)
    (void)signal(i, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);

  struct program program;
  if (!program_map(fds[HF_REAPER_FD_PROGRAM], &program))
    fail(child, HF_SPAWN_FORK, ENOMEM);
  for (int i = 0; i < 3; i++) {
    if (dup2(fds[i], i) < 0)
      fail(child, HF_SPAWN_FORK, errno);
  }
  const char *cwd = next_string(&program);
  if (cwd[0] && chdir(cwd) < 0)
    fail(child, HF_SPAWN_CWD, errno);

  char **argv = hf_calloc((size_t)program.head.argc + 1, sizeof *argv);
  if (!argv)
    fail(child, HF_SPAWN_FORK, ENOMEM);
  for (uint32_t i = 0; i < program.head.argc; i++)
    argv[i] = (char *)(uintptr_t)next_string(&program);
  set_environment(&program, reaper->gateway, child);
  execvp(argv[0], argv);
  fail(child, HF_SPAWN_EXEC, errno);
}

static struct leader *find_child(struct reaper *reaper, uint64_t child) {
  for (size_t i = 0; i < reaper->count; i++) {
    if (reaper->leaders[i].child == child)
      return &reaper->leaders[i];
  }
  return NULL;
}

static struct leader *find_pid(struct reaper *reaper, pid_t pid) {
  for (size_t i = 0; i < reaper->count; i++) {
    if (reaper->leaders[i].pid == pid)
      return &reaper->leaders[i];
  }
  return NULL;
}

/* The leader may not have made its group yet: it is signalled by itself as well. */
static void signal_leader(const struct leader *leader, int signal) {
  if (kill(-leader->pid, signal) < 0)
    kill(leader->pid, signal);
}

/* Opens a file of /proc/PID for reading. Returns the descriptor or -1. */
static int open_proc(pid_t pid, const char *file) {
  char path[PROC_TEXT_MAX];
  int n = snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
  return n < 0 || (size_t)n >= sizeof path ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

static bool is_child_of(pid_t parent, pid_t pid) {
  char text[STAT_MAX];
  int fd = open_proc(pid, "stat");
  if (fd < 0)
    return false;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0)
    return false;
  text[n] = '\0';
  /* The name may hold anything, also brackets: what follows the last one is state and parent. */
  const char *after = strrchr(text, ')');
  return after && strlen(after) > 4 && strtol(after + 4, NULL, 10) == (long)parent;
}

/* Reads the number of the child whose environment `pid` carries; 0 if it carries none of ours. */
static uint64_t marked_child(const struct reaper *reaper, pid_t pid) {
  char mark[MARK_MAX];
  int mark_len = snprintf(mark, sizeof mark, "%s=%d.", HF_REAPER_MARK, (int)reaper->gateway);
  if (mark_len < 0 || (size_t)mark_len >= sizeof mark)
    return 0;
  int fd = open_proc(pid, "environ");
  if (fd < 0)
    return 0;
  /* A window that keeps enough of the last chunk for a mark that lies across. */
  char window[MARK_MAX + ENVIRON_CHUNK + 1];
  size_t kept = 0;
  uint64_t child = 0;
  ssize_t n;
  while (!child && (n = read(fd, window + kept, ENVIRON_CHUNK)) > 0) {
    size_t len = kept + (size_t)n;
    window[len] = '\0';
    const char *found = memmem(window, len, mark, (size_t)mark_len);
    if (found && memchr(found, '\0', (size_t)(window + len - found)))
      child = strtoull(found + mark_len, NULL, 10);
    kept = len < MARK_MAX ? len : MARK_MAX;
    memmove(window, window + len - kept, kept);
  }
  close(fd);
  return child;
}

enum strays { STRAYS_ENDED, STRAYS_ALL };

/* Signals what was left to us as subreaper: all of it, or what belongs to children that have ended. */
static void signal_strays(struct reaper *reaper, enum strays which, int signal) {
  DIR *proc = opendir("/proc");
  if (!proc)
    return;
  const struct dirent *entry;
  while ((entry = readdir(proc))) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid <= 1 || find_pid(reaper, pid) || !is_child_of(reaper->self, pid))
      continue;
    if (which == STRAYS_ENDED) {
      uint64_t child = marked_child(reaper, pid);
      if (!child || find_child(reaper, child))
        continue;
    }
    kill(-pid, signal); /* it may lead a group of its own */
    kill(pid, signal);
  }
  closedir(proc);
}

/* Returns how many processes it found that carry the mark of this gateway. */
static size_t kill_marked(const struct reaper *reaper) {
  DIR *proc = opendir("/proc");
  size_t found = 0;
  const struct dirent *entry;
  while (proc && (entry = readdir(proc))) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid <= 1 || pid == reaper->self || pid == reaper->gateway || !marked_child(reaper, pid))
      continue;
    kill(pid, SIGKILL);
    found++;
  }
  if (proc)
    closedir(proc);
  return found;
}

/* The strays of a helper that was killed have other parents now, and may go on forking while they are looked for. */
static void bury_inheritance(const struct reaper *reaper) {
  hf_time start = hf_clock_now();
  while (kill_marked(reaper) > 0 && hf_clock_now() - start < polite)
    poll(NULL, 0, ROUND_MS);
}

/* Reaps what has ended. Returns false if there are no children at all. */
static bool reap(struct reaper *reaper) {
  bool ended = false;
  for (;;) {
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
      if (errno == EINTR)
        continue;
      return false;
    }
    if (info.si_pid == 0)
      break;
    struct leader *leader = find_pid(reaper, info.si_pid);
    if (leader)
      kill(-leader->pid, SIGKILL);
    int status = 0;
    waitpid(info.si_pid, &status, 0);
    ended = true;
    if (leader) {
      report(HF_REAPER_ENDED, leader->child, status, 0);
      *leader = reaper->leaders[--reaper->count];
    }
  }
  if (ended)
    signal_strays(reaper, STRAYS_ENDED, SIGKILL);
  return true;
}

static void spawn(struct reaper *reaper, uint64_t child, const int fds[HF_REAPER_FD_COUNT]) {
  if (reaper->count == HF_REAPER_CHILDREN_MAX) {
    report(HF_REAPER_FAILED, child, HF_SPAWN_FORK, EAGAIN);
    report(HF_REAPER_ENDED, child, 0, 0);
    return;
  }
  /* Not fork(): handlers that libraries of the gateway registered for it (libuv does) close descriptors by numbers that
   * mean something else here. */
  pid_t pid = _Fork();
  if (pid == 0)
    child_run(reaper, child, fds);
  if (pid < 0) {
    report(HF_REAPER_FAILED, child, HF_SPAWN_FORK, errno);
    report(HF_REAPER_ENDED, child, 0, 0);
    return;
  }
  reaper->leaders[reaper->count++] = (struct leader){.pid = pid, .child = child};
  report(HF_REAPER_STARTED, child, (int)pid, 0);
}

static void perform(struct reaper *reaper, const struct hf_reaper_order *order, const int *fds, size_t fd_count) {
  const struct leader *leader;
  switch ((enum hf_reaper_order_kind)order->kind) {
  case HF_REAPER_SPAWN:
    if (fd_count == HF_REAPER_FD_COUNT)
      spawn(reaper, order->child, fds);
    break;
  case HF_REAPER_SIGNAL:
    leader = find_child(reaper, order->child);
    if (leader)
      signal_leader(leader, order->signal);
    break;
  }
}

/* Returns false at the end of the socket: the gateway is gone. */
static bool take_order(struct reaper *reaper) {
  struct hf_reaper_order order = {0};
  union {
    struct cmsghdr align;
    char space[CMSG_SPACE(sizeof(int) * HF_REAPER_FD_COUNT)];
  } control = {0};
  struct iovec iov = {&order, sizeof order};
  struct msghdr msg = {
      .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t n = recvmsg(SOCKET_FD, &msg, MSG_CMSG_CLOEXEC);
  if (n < 0)
    return errno == EINTR || errno == EAGAIN;
  if (n == 0)
    return false;

  int fds[HF_REAPER_FD_COUNT];
  size_t fd_count = 0;
  const struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
  if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS) {
    fd_count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(cmsg), fd_count * sizeof(int));
  }
  if (n == (ssize_t)sizeof order)
    perform(reaper, &order, fds, fd_count);
  for (size_t i = 0; i < fd_count; i++)
    close(fds[i]);
  return true;
}

static void forget_signals(const struct reaper *reaper) {
  struct signalfd_siginfo info;
  while (read(reaper->signals, &info, sizeof info) == (ssize_t)sizeof info)
    ;
}

/* Everything below us ends: asked first, then killed in rounds, for each death may hand us the orphans of the dead. */
static _Noreturn void bury(struct reaper *reaper) {
  hf_time start = hf_clock_now();
  for (size_t i = 0; i < reaper->count; i++)
    signal_leader(&reaper->leaders[i], SIGTERM);
  signal_strays(reaper, STRAYS_ALL, SIGTERM);
  while (reap(reaper)) {
    hf_time spent = hf_clock_now() - start;
    if (spent >= give_up)
      break;
    if (spent >= polite) {
      for (size_t i = 0; i < reaper->count; i++)
        signal_leader(&reaper->leaders[i], SIGKILL);
      signal_strays(reaper, STRAYS_ALL, SIGKILL);
    }
    struct pollfd child = {.fd = reaper->signals, .events = POLLIN};
    poll(&child, 1, ROUND_MS);
    forget_signals(reaper);
  }
  _exit(0);
}

/* Keeps nothing of the gateway's: a descriptor held here would keep a client's pipe or a port open after it died. */
static void leave_gateway(int socket) {
  setsid();
  prctl(PR_SET_NAME, "holdfast-reaper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (socket != SOCKET_FD)
    dup2(socket, SOCKET_FD);
  fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC);
  syscall(SYS_close_range, SOCKET_FD + 1, ~0U, 0);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 3; i++)
    dup2(null, i);
  if (null > SOCKET_FD)
    close(null);
}

_Noreturn void hf_reaper_process_run(int socket, pid_t gateway, bool heir) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  leave_gateway(socket);

  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  struct reaper reaper = {
      .self = getpid(), .gateway = gateway, .signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (heir)
    bury_inheritance(&reaper);
  for (;;) {
    struct pollfd fds[] = {{.fd = SOCKET_FD, .events = POLLIN}, {.fd = reaper.signals, .events = POLLIN}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR)
      bury(&reaper);
    if (fds[1].revents) {
      forget_signals(&reaper);
      reap(&reaper);
    }
    if (fds[0].revents && !take_order(&reaper))
      bury(&reaper);
  }
}
