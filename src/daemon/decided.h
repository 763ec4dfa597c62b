/* Which line of a configuration decides an option: the reading order of config.c, asked backwards. */
#ifndef HF_DAEMON_DECIDED_H
#define HF_DAEMON_DECIDED_H

#include "daemon/document.h"

/* For whom: what is absent does not decide. A tool is named by the pattern of its entry. */
struct hf_decided_for {
  struct hf_str route;
  struct hf_str pattern;
  struct hf_str server;
};

struct hf_decided {
  struct hf_place place; /* line 0: nothing in the file does, so that the default holds */
  struct hf_str by;      /* "tools.orders__*.timeout.attempt", "profile", or "default"; in the arena, or constant */
};

/* `path` as in the table of options: "timeout.attempt". Without memory it is said to be the default. */
struct hf_decided hf_decided_find(const struct hf_node *root, const struct hf_decided_for *whom, const char *path,
                                  struct hf_arena *arena);

#endif
