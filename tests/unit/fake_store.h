/* A store in memory that a test can make slow, full or the heir of a dead gateway. It outlives the worlds that use it,
 * as a database does. */
#ifndef HF_TEST_FAKE_STORE_H
#define HF_TEST_FAKE_STORE_H

#include "gateway/loop.h"
#include "gateway/store.h"

enum { FAKE_TASK_TEXT_MAX = 2048 };
enum { FAKE_ROWS_MAX = 64, FAKE_TEXT_MAX = 512, FAKE_LETTER_BYTES = 32 << 10, FAKE_TASK_TEXTS = 10 };

struct fake_intent {
  bool used;
  char call[FAKE_TEXT_MAX];
  char principal[FAKE_TEXT_MAX];
  char server[FAKE_TEXT_MAX];
  char tool[FAKE_TEXT_MAX];
  char arguments[FAKE_TEXT_MAX];
  char key[FAKE_TEXT_MAX]; /* empty: absent; so are the others */
  struct hf_fingerprint fingerprint;
  int64_t at_ms;
};

struct fake_letter {
  bool used;
  struct hf_letter row; /* its texts are in `text` */
  char id[HF_LETTER_ID_MAX];
  char text[FAKE_LETTER_BYTES];
  size_t len;
};

struct fake_keyed {
  bool used;
  char principal[FAKE_TEXT_MAX];
  char server[FAKE_TEXT_MAX];
  char tool[FAKE_TEXT_MAX];
  char key[FAKE_TEXT_MAX];
  char result[FAKE_TEXT_MAX];
  struct hf_fingerprint fingerprint;
  int64_t first_ms;
  int64_t expires_ms;
};

struct fake_cached {
  bool used;
  struct hf_fingerprint fingerprint;
  char result[FAKE_TEXT_MAX];
  int64_t at_ms;
  int64_t expires_ms;
};

struct fake_task {
  bool used;
  bool nobodys;              /* its gateway died, or ended, and nobody has taken it */
  struct hf_stored_task row; /* `elsewhere` may be set by a test; its texts are in `text` */
  char text[FAKE_TASK_TEXTS][FAKE_TASK_TEXT_MAX];
};

struct fake_answer {
  struct hf_store_wait *wait;
  struct hf_store_query *query;
  struct hf_task_query *task_query;
  bool lists;               /* tasks, not one */
  char task[FAKE_TEXT_MAX]; /* that is looked for, or the list's `after` */
  char principal[FAKE_TEXT_MAX];
  char endpoint[FAKE_TEXT_MAX];
  unsigned limit;
  int error;
  char id[HF_LETTER_ID_MAX];
  struct hf_letter_filter filter;
};

struct fake_store {
  struct hf_store head;
  struct hf_loop *loop;
  struct hf_job job;
  bool slow; /* answers wait for fake_store_answer */
  int error; /* not 0: what every write comes to */
  struct fake_intent intents[FAKE_ROWS_MAX];
  struct fake_letter letters[FAKE_ROWS_MAX];
  struct fake_keyed keys[FAKE_ROWS_MAX];
  struct fake_cached cached[FAKE_ROWS_MAX];
  struct fake_task tasks[FAKE_ROWS_MAX];     /* the oldest first */
  struct fake_answer answers[FAKE_ROWS_MAX]; /* that are owed, in order */
  size_t answer_count;
  hf_store_news_fn *news;
  void *news_ctx;
  hf_stored_task_fn *take;
  void *take_ctx;
  unsigned letters_made;
  unsigned intended; /* how often each was asked for */
  unsigned settled;
  unsigned buried;
  unsigned changed;
  unsigned remembered;
  unsigned forgotten;
  unsigned kept_tasks;
};

/* All zero before. */
void fake_store_init(struct fake_store *store, struct hf_loop *loop);

/* For the next world: what was written stays. Nobody waits any more. Tasks that are unfinished are nobody's. */
void fake_store_reopen(struct fake_store *store, struct hf_loop *loop);

/* Gives the first of the answers that are owed. Returns false if none is. */
bool fake_store_answer_one(struct fake_store *store);

/* Gives the answers that are owed, and those that are asked for meanwhile. */
void fake_store_answer(struct fake_store *store);

/* The gateway that wrote them is dead: its open intents become letters, but for those of tasks that are to be followed;
 * its unfinished tasks are nobody's. Returns how many letters. Whoever watches then is told, now or when it begins to,
 * and so is who takes tasks. */
unsigned fake_store_owner_died(struct fake_store *store);

unsigned fake_store_open_intents(const struct fake_store *store);
/* The task with this id, or NULL. */
struct fake_task *fake_store_task(struct fake_store *store, const char *id);

unsigned fake_store_letters(const struct fake_store *store);

#endif
