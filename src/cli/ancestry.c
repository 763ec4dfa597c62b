/* Who copies the file of a client that has Holdfast in it already would have a gateway that starts itself as its
 * server, and so on, until the machine has no more processes. So every gateway hands the path of its configuration down
 * in the environment, and one that finds its own there does not start. */
#include "cli/ancestry.h"

#include "base/buf.h"
#include "base/error.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "HOLDFAST_ABOVE"

enum { ALL_MAX = 64 << 10 };

/* One path a line: no other byte is as rare in them. A name that cannot be resolved stands for itself. */
static const char *resolve(const char *path, char resolved[PATH_MAX]) {
  return realpath(path, resolved) ? resolved : path;
}

bool hf_ancestry_has(const char *path) {
  char resolved[PATH_MAX];
  const char *wanted = resolve(path, resolved);
  size_t len = strlen(wanted);
  for (const char *at = getenv(VARIABLE); at && *at;) {
    size_t line = strcspn(at, "\n");
    if (line == len && memcmp(at, wanted, len) == 0)
      return true;
    at += line + (at[line] == '\n');
  }
  return false;
}

int hf_ancestry_add(const char *path) {
  char resolved[PATH_MAX];
  if (hf_ancestry_has(path))
    return 0;
  const char *above = getenv(VARIABLE);
  struct hf_buf all;
  hf_buf_init(&all, ALL_MAX);
  int r = 0;
  if (above && (r = hf_buf_append(&all, above, strlen(above))) == 0)
    r = hf_buf_append(&all, "\n", 1);
  const char *own = resolve(path, resolved);
  if (r == 0)
    r = hf_buf_append(&all, own, strlen(own) + 1);
  if (r == 0 && setenv(VARIABLE, all.data, 1) < 0)
    r = HF_ERR_NOMEM;
  hf_buf_deinit(&all);
  return r;
}
