/* Stands in for a stdio server: hands its pipes to the test that listens on a Unix socket, byte by byte.
 *
 * usage: relay SOCKET. The first line sent is the process id; after it, what comes on standard input goes to the socket
 * and what comes from the socket goes to standard output. Ends when the socket does. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    return -1;
  }
  memcpy(address.sun_path, path, strlen(path));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static bool write_all(int fd, const char *bytes, size_t len) {
  while (len > 0) {
    ssize_t n = write(fd, bytes, len);
    if (n <= 0) {
      return false;
    }
    bytes += n;
    len -= (size_t)n;
  }
  return true;
}

/* Returns false at the end of `from`, or when `to` takes no more. */
static bool pass(int from, int to) {
  char bytes[65536];
  ssize_t n = read(from, bytes, sizeof bytes);
  return n > 0 && write_all(to, bytes, (size_t)n);
}

int main(int argc, char **argv) {
  int sock = argc == 2 ? connect_to(argv[1]) : -1;
  if (sock < 0) {
    fputs("relay: cannot reach the test\n", stderr);
    return 2;
  }
  char hello[32];
  int len = snprintf(hello, sizeof hello, "%ld\n", (long)getpid());
  if (!write_all(sock, hello, (size_t)len)) {
    return 2;
  }
  struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = sock, .events = POLLIN}};
  for (;;) {
    if (poll(fds, 2, -1) < 0) {
      return 2;
    }
    if (fds[0].revents != 0 && !pass(STDIN_FILENO, sock)) {
      shutdown(sock, SHUT_WR);
      fds[0].fd = -1;
    }
    if (fds[1].revents != 0 && !pass(sock, STDOUT_FILENO)) {
      return 1;
    }
  }
}
