/* The gateway's store on a database: behind the seam of gateway/store.h, with a thread of its own.
 *
 * What is queued while the disk works goes into the next transaction together: one sync for all of them. It is a
 * durable one if a letter is among them. A disk that is full or broken is told to everybody who waits; what is asked
 * later is tried anew. */
#ifndef HF_STORE_STORE_H
#define HF_STORE_STORE_H

#include "gateway/loop.h"
#include "gateway/settings.h"
#include "gateway/store.h"

#include <uv.h>

struct hf_store_options {
  uv_loop_t *uv;                            /* answers come on it; borrowed */
  struct hf_loop *loop;                     /* borrowed */
  const char *path;                         /* of the database; NULL: in memory */
  const char *vfs;                          /* of SQLite; NULL: the usual one */
  const struct hf_store_settings *settings; /* copied */
  hf_time look_every;                       /* for owners that died; 0: 2 s */
  hf_time sweep_every;                      /* what retention removes; 0: a minute */
};

/* Opens the database, waiting for the disk, recovers what dead owners left, and starts the thread. Errors as
 * hf_database_open. */
int hf_store_new(const struct hf_store_options *options, struct hf_store **ret_store, struct hf_error *reterr);

/* The halves of hf_store_new, for who cannot wait for the disk: hf_store_make on the loop, hf_store_open in any thread
 * and once, before anybody uses the store. One that could not be opened is freed. */
int hf_store_make(const struct hf_store_options *options, struct hf_store **ret_store);
int hf_store_open(struct hf_store *store, const struct hf_store_options *options, struct hf_error *reterr);

/* Takes other settings for what is asked from now on. Returns 0 or HF_ERR_NOMEM. */
int hf_store_reload(struct hf_store *store, const struct hf_store_settings *settings);

/* Writes what is queued, waiting for the disk, and lets go of the database. Nobody who waits is called any more. Not
 * from within a callback. Its handle closes on the loop. NULL is fine. */
void hf_store_free(struct hf_store *store);

#endif
