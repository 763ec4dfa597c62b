/* What the loop's thread asks of the store's, and what comes back: one block of memory each, with a copy of everything
 * that was given. */
#ifndef HF_STORE_TASK_H
#define HF_STORE_TASK_H

#include "base/list.h"
#include "gateway/settings.h"
#include "gateway/store.h"

enum hf_task_kind {
  HF_TASK_INTEND,   /* struct hf_intent */
  HF_TASK_SETTLE,   /* struct hf_str */
  HF_TASK_BURY,     /* struct hf_letter */
  HF_TASK_CHANGE,   /* struct hf_letter */
  HF_TASK_REMEMBER, /* struct hf_keyed */
  HF_TASK_TALLY,    /* struct hf_str */
  HF_TASK_KEEP,     /* struct hf_cached */
  HF_TASK_FIND,     /* struct hf_letter_filter */
  HF_TASK_SET,      /* struct hf_store_settings */
  HF_TASK_LETTER,   /* struct hf_letter: a row that was found, or news */
};

struct hf_task {
  struct hf_list link;
  enum hf_task_kind kind;
  int error;
  size_t size;               /* of the whole block */
  void *waiter;              /* of the loop's thread: struct hf_store_wait or hf_store_query, or NULL */
  char id[HF_LETTER_ID_MAX]; /* of the letter that was buried */
  enum hf_store_news news;
  /* Of what finds letters: */
  int64_t *rows; /* owned */
  size_t row_count;
  size_t row_next;
  struct hf_list letters; /* tasks: those that were read */
  void *subject;          /* in this block */
};

/* Copies `subject`, a structure as named above. Returns owned, or NULL. */
struct hf_task *hf_task_new(enum hf_task_kind kind, const void *subject);

/* Frees it and the letters it found. It is in no list. */
void hf_task_free(struct hf_task *task);

/* Frees all in a list. */
void hf_tasks_free(struct hf_list *tasks);

#endif
