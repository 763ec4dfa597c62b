/* Who is alive: a file of locks beside the database, one byte for each owner.
 *
 * The lock belongs to an open file description, so the kernel lets it go however its process ends, no other descriptor
 * that this process closes takes it away, and owners in one process are as separate as those in several. A child that
 * is forked must close the descriptor (or exec): else it keeps its parent alive. */
#ifndef HF_STORE_OWNER_H
#define HF_STORE_OWNER_H

#include "base/error.h"

#include <stdbool.h>

enum { HF_OWNER_ID_LEN = 8 };

struct hf_owner {
  int fd;                       /* -1: nobody else can share this database */
  char id[HF_OWNER_ID_LEN + 1]; /* hex; empty for who only looks */
  char *path;                   /* of the file of locks; owned */
};

/* Opens the locks of the database at `path` (absent: of one that nobody shares). */
int hf_owner_open(struct hf_owner *owner, const char *path, struct hf_error *reterr);

/* Takes an id that nobody holds. */
int hf_owner_take(struct hf_owner *owner, struct hf_error *reterr);

/* Lets go of everything. */
void hf_owner_close(struct hf_owner *owner);

/* Waits until nobody else is between this and hf_owner_leave: for who opens and migrates. Returns 0 or HF_ERR_IO. */
int hf_owner_enter(struct hf_owner *owner);
void hf_owner_leave(struct hf_owner *owner);

/* True only if it is certain that nobody holds `id`. */
bool hf_owner_is_dead(const struct hf_owner *owner, const char *id);

#endif
