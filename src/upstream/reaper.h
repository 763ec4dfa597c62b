/* Starts child processes, and makes sure that none outlives the gateway.
 *
 * The children belong to a helper process, forked before anything else runs: it is a subreaper at the end of a socket,
 * so that whatever the children start ends up below it, also what left its process group. When the gateway ends,
 * however it ends, the helper reads the end of the socket, asks everything below it to stop, kills what did not, and
 * exits. Each child has a process group and session of its own; when it ends, its group and its strays are killed. */
#ifndef HF_UPSTREAM_REAPER_H
#define HF_UPSTREAM_REAPER_H

#include "base/error.h"
#include "base/list.h"
#include "base/str.h"
#include "gateway/loop.h"
#include "gateway/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct hf_reaper;
struct hf_child;

enum hf_spawn_stage {
  HF_SPAWN_DONE,
  HF_SPAWN_FORK, /* no process could be made */
  HF_SPAWN_CWD,  /* the working directory cannot be entered */
  HF_SPAWN_EXEC, /* the command is missing or not executable */
};

/* How a child ended. */
struct hf_child_end {
  enum hf_spawn_stage stage; /* not DONE: it never ran; `error` says why */
  int error;                 /* errno */
  bool lost;                 /* the helper itself died: nothing is known, the child is killed */
  int status;                /* wait status, when it ran */
};

struct hf_child_events {
  void (*started)(struct hf_child *child);
  /* Nothing of its group runs any more; what it wrote may still wait in its pipes. */
  void (*ended)(struct hf_child *child, const struct hf_child_end *end);
};

/* Part of its owner; known to the reaper from a good spawn until ended() or hf_reaper_drop. */
struct hf_child {
  struct hf_list link;
  uint64_t id; /* 0: none */
  pid_t pid;   /* 0 until started */
  enum hf_spawn_stage failed;
  int error;
  const struct hf_child_events *events;
};

struct hf_spawn {
  struct hf_str command; /* looked up in the child's PATH unless it has a slash */
  struct hf_strings args;
  struct hf_strings env; /* "NAME=value", on top of the gateway's environment at its start */
  struct hf_str cwd;     /* absent: the gateway's */
  int fds[3];            /* what becomes its stdin, stdout, stderr; borrowed for the call */
};

/* Forks the helper: call it before there are threads, and early, for the helper keeps a copy of what is there. Returns
 * 0 and owned, HF_ERR_IO or HF_ERR_NOMEM. */
int hf_reaper_new(struct hf_reaper **ret_reaper, struct hf_error *reterr);

/* Reports come through `uv` from here on. Returns 0 or HF_ERR_NOMEM. Call it once, before the first spawn. */
int hf_reaper_attach(struct hf_reaper *reaper, uv_loop_t *uv, struct hf_loop *loop);

/* Lets the helper kill what is left and exit, without waiting for it. Run the loop once more to let the handle go. */
void hf_reaper_free(struct hf_reaper *reaper);

/* Starts a child; events follow from the loop. A helper that died is replaced. Returns 0; HF_ERR_LIMIT (too many
 * children, descriptors or bytes), HF_ERR_NOMEM, HF_ERR_IO. */
int hf_reaper_spawn(struct hf_reaper *reaper, const struct hf_spawn *spawn, const struct hf_child_events *events,
                    struct hf_child *child, struct hf_error *reterr);

/* Sends `signal` to the child's whole group; nothing happens if it has ended. */
void hf_reaper_signal(struct hf_reaper *reaper, const struct hf_child *child, int signal);

/* Kills the child's group; no event follows. Harmless for a child that is not running. */
void hf_reaper_drop(struct hf_reaper *reaper, struct hf_child *child);

/* The helper's pid, for status and tests. */
pid_t hf_reaper_pid(const struct hf_reaper *reaper);

#endif
