/* What the loop's thread asks of the store's, and what comes back: one block of memory each, with a copy of everything
 * that was given. */
#ifndef HF_STORE_WORK_H
#define HF_STORE_WORK_H

#include "base/list.h"
#include "gateway/settings.h"
#include "gateway/store.h"

enum hf_work_kind {
  HF_WORK_INTEND,     /* struct hf_intent */
  HF_WORK_SETTLE,     /* struct hf_str */
  HF_WORK_BURY,       /* struct hf_letter */
  HF_WORK_CHANGE,     /* struct hf_letter */
  HF_WORK_REMEMBER,   /* struct hf_keyed */
  HF_WORK_TALLY,      /* struct hf_str */
  HF_WORK_KEEP_TASK,  /* struct hf_stored_task */
  HF_WORK_DROP_TASK,  /* struct hf_str */
  HF_WORK_KEEP,       /* struct hf_cached */
  HF_WORK_FIND,       /* struct hf_letter_filter */
  HF_WORK_FIND_TASK,  /* struct hf_str */
  HF_WORK_LIST_TASKS, /* struct hf_task_filter */
  HF_WORK_SET,        /* struct hf_store_settings */
  HF_WORK_LETTER,     /* struct hf_letter: a row that was found, or news */
  HF_WORK_TASK,       /* struct hf_stored_task: a row that was found, or taken */
};

struct hf_work {
  struct hf_list link;
  enum hf_work_kind kind;
  int error;
  size_t size;               /* of the whole block */
  void *waiter;              /* of the loop's thread: struct hf_store_wait, hf_store_query or hf_task_query, or NULL */
  char id[HF_LETTER_ID_MAX]; /* of the letter that was buried */
  enum hf_store_news news;
  /* Of what finds letters: */
  int64_t *rows; /* owned */
  size_t row_count;
  size_t row_next;
  struct hf_list found; /* works: letters or tasks that were read */
  void *subject;        /* in this block */
};

/* Copies `subject`, a structure as named above. Returns owned, or NULL. */
struct hf_work *hf_work_new(enum hf_work_kind kind, const void *subject);

/* Frees it and what it found. It is in no list. */
void hf_work_free(struct hf_work *work);

/* Frees all in a list. */
void hf_works_free(struct hf_list *works);

#endif
