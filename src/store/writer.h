/* The store's thread: takes works from a bounded queue, writes those that are there in one transaction, and hands them
 * back as answers. */
#ifndef HF_STORE_WRITER_H
#define HF_STORE_WRITER_H

#include "store/database.h"
#include "store/work.h"

#include <pthread.h>

/* Bytes of what waits, whatever `store.queue` allows in number. */
enum { HF_STORE_QUEUE_BYTES_MAX = 64 << 20, HF_WRITER_TROUBLE_MAX = 256 };

struct hf_writer_options {
  struct hf_database_options database;
  hf_time look_every;        /* 0: the usual */
  hf_time sweep_every;       /* 0: the usual */
  void (*notify)(void *ctx); /* there are answers; from any thread */
  void *ctx;
};

struct hf_writer_health {
  int error;                           /* of the newest write */
  char trouble[HF_WRITER_TROUBLE_MAX]; /* what SQLite said last */
};

struct hf_writer {
  struct hf_database *database;
  void (*notify)(void *ctx);
  void *notify_ctx;
  hf_time look_every;
  hf_time sweep_every;
  pthread_t thread;
  pthread_mutex_t database_mutex;
  bool takes_tasks; /* guarded by that one */

  pthread_mutex_t mutex; /* guards these: */
  pthread_cond_t wake;
  bool idle; /* the thread waits for `wake` */
  bool stopping;
  bool hurry; /* somebody waits for what is queued, or it is no end of an intent */
  struct hf_list queue;
  size_t queue_count; /* and what is being worked on */
  size_t queue_bytes;
  size_t queue_max;
  struct hf_list answers;
  struct hf_list news;
  size_t news_count;
  struct hf_store_stats stats;
  struct hf_writer_health health;

  /* Of the thread: */
  struct hf_list taken;     /* tasks that are not handed over yet */
  struct hf_list made;      /* news that are not handed over yet */
  struct hf_list unsettled; /* ends of intents that could not be written: they are not lost */
  hf_time next_look;
  hf_time next_sweep;
  hf_time next_stats; /* not before */
  bool stale;         /* they are not right any more */
  int64_t version;    /* of the data, as others change it */
  struct hf_store_stats fresh;
  int error; /* of the newest write */
};

/* Opens the database, recovers what dead owners left, and starts the thread. Errors as hf_database_open. */
int hf_writer_start(struct hf_writer *writer, const struct hf_writer_options *options, struct hf_error *reterr);

/* Writes what is queued, ends the thread, closes the database, and frees all works. */
void hf_writer_stop(struct hf_writer *writer);

/* Takes the work, or returns HF_ERR_LIMIT. */
int hf_writer_push(struct hf_writer *writer, struct hf_work *work);

/* Appends what is done to `works`, behind it the news. */
void hf_writer_take(struct hf_writer *writer, struct hf_list *works, bool with_news,
                    struct hf_writer_health *ret_health);

void hf_writer_stats(struct hf_writer *writer, struct hf_store_stats *ret_stats);
void hf_writer_limit(struct hf_writer *writer, size_t queue_max);

/* Waits for the disk. */
void hf_writer_load(struct hf_writer *writer, hf_keyed_fn *keyed, hf_cached_fn *cached, void *ctx);

/* Takes what dead owners left, waiting for the disk, and appends it to `works`. What is left later, or cannot be taken
 * now, comes with hf_writer_take. */
void hf_writer_take_tasks(struct hf_writer *writer, struct hf_list *works);

#endif
