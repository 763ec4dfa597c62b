#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 5, TICKS = 2000 };

/* Waits for the end of a process, but no longer than a tick. */
static void tick(pid_t pid) {
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  struct pollfd end = {.fd = fd, .events = POLLIN};
  poll(&end, 1, TICK_MS);
  if (fd >= 0) {
    close(fd);
  }
}

static void redirect(const char *file, int fd) {
  int opened = open(file ? file : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (opened < 0 || dup2(opened, fd) < 0) {
    _exit(127);
  }
}

pid_t process_start(const char *const argv[], const char *out, const char *err) {
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    redirect(out, STDOUT_FILENO);
    redirect(err, STDERR_FILENO);
    execv(argv[0], (char *const *)argv);
    _exit(127);
  }
  return pid;
}

void process_stop(pid_t pid) {
  if (pid <= 0) {
    return;
  }
  kill(pid, SIGTERM);
  for (int i = 0; i < TICKS; i++) {
    if (waitpid(pid, NULL, WNOHANG) != 0) {
      return;
    }
    tick(pid);
  }
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

static int find(const char *file, const char *mark, char *text, size_t size) {
  char content[16384];
  FILE *stream = fopen(file, "re");
  if (stream == NULL) {
    return -1;
  }
  size_t len = fread(content, 1, sizeof content - 1, stream);
  fclose(stream);
  content[len] = '\0';
  const char *start = strstr(content, mark);
  const char *end = start ? strchr(start, '\n') : NULL;
  if (end == NULL) {
    return -1;
  }
  start += strlen(mark);
  snprintf(text, size, "%.*s", (int)(end - start), start);
  return 0;
}

int process_await(pid_t pid, const char *file, const char *mark, char *text, size_t size) {
  for (int i = 0; i < TICKS; i++) {
    if (find(file, mark, text, size) == 0) {
      return 0;
    }
    if (kill(pid, 0) != 0 || waitpid(pid, NULL, WNOHANG) != 0) {
      return -1;
    }
    tick(pid);
  }
  return -1;
}
