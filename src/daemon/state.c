#include "daemon/state.h"

#include "base/alloc.h"
#include "base/str.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

char *hf_state_path(const char *dir, const char *name) {
  const char *state = secure_getenv("XDG_STATE_HOME");
  const char *home = secure_getenv("HOME");
  HF_CLEANUP_FREE char *base = NULL;
  if (dir)
    base = hf_concat(dir, "/");
  else if (state && state[0] == '/')
    base = hf_concat(state, "/holdfast/");
  else
    base = hf_concat(home && home[0] == '/' ? home : "/nonexistent", "/.local/state/holdfast/");
  return base ? hf_concat(base, name) : NULL;
}

char *hf_state_absolute(const char *dir, const char *name) {
  char here[PATH_MAX];
  char *path = hf_state_path(dir, name);
  if (!path || path[0] == '/' || !getcwd(here, sizeof here))
    return path;
  HF_CLEANUP_FREE char *relative = path;
  HF_CLEANUP_FREE char *base = hf_concat(here, "/");
  return base ? hf_concat(base, relative) : NULL;
}
