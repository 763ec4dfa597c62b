/* A small MCP client over HTTP: one connection a request, no repeats of its own. */
#ifndef DEMO_CALLER_H
#define DEMO_CALLER_H

#include <stdbool.h>

struct caller {
  int port;
  const char *path;
  char session[128];
};

struct answer {
  bool good; /* a result, and no error in it */
  bool told; /* the answer says whether the tool may have run */
  bool may_have_run;
  long attempts; /* as the gateway tells; 1 otherwise */
};

/* Opens a session. Returns 0 or -1. */
int caller_open(struct caller *caller);

struct answer caller_call(const struct caller *caller, int id, const char *tool, const char *key);

#endif
