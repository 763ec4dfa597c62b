#include "chaos/ledger.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int hf_chaos_ledger_open(const char *path, struct hf_error *reterr) {
  enum { MODE = 0644 };
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, MODE);
  return fd >= 0 ? fd
                 : hf_error_set(reterr, HF_ERR_IO, "chaos: cannot open the ledger '%s': %s", path, strerror(errno));
}

/* Puts at most `max` bytes of `text` at `line`, none of them below `least`, and returns how many. */
static size_t put(char *line, struct hf_str text, size_t max, unsigned char least, char instead) {
  size_t len = text.len < max ? text.len : max;
  for (size_t i = 0; i < len; i++) {
    line[i] = (unsigned char)text.ptr[i] < least ? instead : text.ptr[i];
  }
  return len;
}

void hf_chaos_ledger_key(const char *key, char text[HF_CHAOS_LEDGER_KEY_MAX + 1]) {
  text[put(text, hf_str_from(key[0] != '\0' ? key : "-"), HF_CHAOS_LEDGER_KEY_MAX, '!', '_')] = '\0';
}

void hf_chaos_ledger_add(int ledger, const char *tool, const char *key, struct hf_str arguments) {
  enum { TOOL_MAX = 127, FIGURES = 64 };
  char line[TOOL_MAX + HF_CHAOS_LEDGER_KEY_MAX + FIGURES + HF_CHAOS_LEDGER_ARGUMENTS_MAX + sizeof "...\n"];
  if (ledger < 0) {
    return;
  }
  size_t len = put(line, hf_str_from(tool[0] != '\0' ? tool : "-"), TOOL_MAX, '!', '_');
  line[len++] = ' ';
  len += put(line + len, hf_str_from(key[0] != '\0' ? key : "-"), HF_CHAOS_LEDGER_KEY_MAX, '!', '_');
  int figures = snprintf(line + len, FIGURES, " %" PRId64 " %ld ", hf_clock_wall_ms(), (long)getpid());
  len += figures > 0 ? (size_t)figures : 0;
  struct hf_str rest = arguments.len > 0 ? arguments : HF_STR("-");
  len += put(line + len, rest, HF_CHAOS_LEDGER_ARGUMENTS_MAX, ' ', ' ');
  if (rest.len > HF_CHAOS_LEDGER_ARGUMENTS_MAX) {
    len += put(line + len, HF_STR("..."), 3, ' ', ' ');
  }
  line[len++] = '\n';
  if (write(ledger, line, len) != (ssize_t)len) {
    (void)fprintf(stderr, "chaos: cannot write the ledger: %s\n", strerror(errno));
    exit(1);
  }
}
