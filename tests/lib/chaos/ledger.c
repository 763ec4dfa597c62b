#include "ledger.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int chaos_ledger_open(const char *path) {
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    fprintf(stderr, "chaos: cannot open '%s': %s\n", path, strerror(errno));
  }
  return fd;
}

void chaos_ledger_add(int ledger, const char *tool, const char *key) {
  if (ledger < 0) {
    return;
  }
  char line[512];
  int len = snprintf(line, sizeof line, "%.63s %.255s %" PRId64 " %ld\n", tool, key[0] != '\0' ? key : "-",
                     hf_clock_wall_ms(), (long)getpid());
  size_t start = strcspn(line, " ") + 1;
  for (size_t i = start; key[0] != '\0' && i < start + strnlen(key, 255); i++) {
    if ((unsigned char)line[i] <= ' ') {
      line[i] = '_';
    }
  }
  if (write(ledger, line, (size_t)len) != len) {
    perror("chaos: ledger"); /* a ledger with a hole would prove nothing */
    abort();
  }
}
