/* Two threads share what `mutex` guards, and nothing else: the loop's puts tasks in, this one takes them out and puts
 * them among the answers. The database belongs to who holds `database_mutex`: this thread while it works, the loop's to
 * load at the start. */
#include "store/writer.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>

enum {
  GROUP_MAX = 256,             /* tasks in one transaction */
  CHUNK_ROWS_MAX = 64,         /* letters in one answer … */
  CHUNK_BYTES_MAX = 256 << 10, /* … and their bytes, but for the last */
  NEWS_MAX = 1024,             /* that wait to be told; what is beyond is in the database all the same */
};

/* The end of an intent waits so long for other work, to be written with it. */
static const hf_time settle_wait = HF_MS(10);

static const hf_time stats_every = HF_SECONDS(1);
static const hf_time look_every = HF_SECONDS(2);
static const hf_time sweep_every = HF_SECONDS(60);

static struct hf_task *first(struct hf_list *tasks) {
  return HF_CONTAINER_OF(tasks->next, struct hf_task, link);
}

static void move_first(struct hf_list *from, struct hf_list *to) {
  struct hf_list *link = from->next;
  hf_list_remove(link);
  hf_list_push_back(to, link);
}

static void move_all(struct hf_list *from, struct hf_list *to) {
  while (!hf_list_empty(from))
    move_first(from, to);
}

static bool is_write(const struct hf_task *task) {
  return task->kind <= HF_TASK_KEEP;
}

static void add_left(void *ctx, const struct hf_letter *letter) {
  struct hf_list *letters = ctx;
  struct hf_letter small = *letter;
  small.arguments = small.attempts = small.result = small.history = (struct hf_str){NULL, 0};
  struct hf_task *task = hf_task_new(HF_TASK_LETTER, &small);
  if (!task)
    return;
  task->news = HF_NEWS_LEFT;
  hf_list_push_back(letters, &task->link);
}

/* What dead owners left not long ago: of calls that equal this one, or of all. Without memory it is not told. */
static void find_left(struct hf_database *database, const struct hf_fingerprint *fingerprint, struct hf_list *letters) {
  HF_CLEANUP_FREE int64_t *rows = NULL;
  size_t count = 0;
  int r = hf_database_left(database, fingerprint, hf_clock_wall_ms() - HF_LEFT_FOR_MS, &rows, &count);
  for (size_t i = 0; i < count && r == 0; i++)
    (void)hf_database_letter(database, rows[i], add_left, letters);
}

static int intend(struct hf_database *database, struct hf_task *task) {
  const struct hf_intent *intent = task->subject;
  int r = hf_database_intend(database, intent);
  if (r == 0 && hf_list_empty(&task->letters))
    find_left(database, &intent->fingerprint, &task->letters);
  return r;
}

static int apply(struct hf_database *database, struct hf_task *task) {
  switch (task->kind) {
  case HF_TASK_INTEND:
    return intend(database, task);
  case HF_TASK_SETTLE:
    return hf_database_settle(database, *(const struct hf_str *)task->subject);
  case HF_TASK_BURY:
    return hf_database_bury(database, task->subject, task->id);
  case HF_TASK_CHANGE:
    return hf_database_change(database, task->subject);
  case HF_TASK_REMEMBER:
    return hf_database_remember(database, task->subject);
  case HF_TASK_TALLY:
    return hf_database_tally(database, *(const struct hf_str *)task->subject);
  case HF_TASK_KEEP:
    return hf_database_keep(database, task->subject);
  case HF_TASK_FIND:
  case HF_TASK_SET:
  case HF_TASK_LETTER:
    break;
  }
  assert(false); /* no write */
  return HF_ERR_INVALID;
}

/* Errors of one task alone leave the transaction as it was; any other ends it. */
static bool ends_transaction(int error) {
  return error == HF_ERR_FULL || error == HF_ERR_IO || error == HF_ERR_NOMEM || error == HF_ERR_TIMEOUT;
}

/* One transaction. On failure nothing of it is written. */
static int write_once(struct hf_writer *writer, struct hf_task *const *tasks, size_t task_count) {
  bool durable = false;
  for (size_t i = 0; i < task_count; i++)
    durable |= tasks[i]->kind == HF_TASK_BURY || tasks[i]->kind == HF_TASK_CHANGE;
  writer->stale |= durable;
  int r = hf_database_begin(writer->database, durable);
  if (r < 0)
    return r;
  for (size_t i = 0; i < task_count; i++) {
    tasks[i]->error = apply(writer->database, tasks[i]);
    if (ends_transaction(tasks[i]->error)) {
      hf_database_rollback(writer->database);
      return tasks[i]->error;
    }
  }
  return hf_database_commit(writer->database);
}

/* Takes the writes at the front of the list, where one is. When a disk is full, or memory, the small ones may fit: each
 * is tried alone. When it is broken or held by others, that would take time, and change nothing. */
static void write_group(struct hf_writer *writer, struct hf_list *tasks, struct hf_list *done) {
  struct hf_task *group[GROUP_MAX];
  size_t group_count = 0;
  bool any_intent = false;
  do {
    group[group_count] = first(tasks);
    any_intent |= group[group_count]->kind == HF_TASK_INTEND;
    hf_list_remove(&group[group_count++]->link);
  } while (group_count < GROUP_MAX && !hf_list_empty(tasks) && is_write(first(tasks)));
  if (any_intent)
    (void)hf_database_recover(writer->database, hf_clock_wall_ms()); /* who dies later is not known to anybody yet */
  int r = write_once(writer, group, group_count);
  const bool alone = (r == HF_ERR_FULL || r == HF_ERR_NOMEM) && group_count > 1;
  for (size_t i = 0; i < group_count; i++) {
    struct hf_task *task = group[i];
    if (alone)
      r = write_once(writer, &task, 1);
    if (r < 0)
      task->error = r;
    const bool lost = r < 0 && task->kind == HF_TASK_SETTLE;
    hf_list_push_back(lost ? &writer->unsettled : done, &task->link);
  }
  writer->error = r;
}

struct chunk {
  struct hf_task *task;
  size_t rows;
  size_t bytes;
  int error;
};

static void add_row(void *ctx, const struct hf_letter *letter) {
  struct chunk *chunk = ctx;
  struct hf_task *row = hf_task_new(HF_TASK_LETTER, letter);
  if (!row) {
    chunk->error = HF_ERR_NOMEM;
    return;
  }
  hf_list_push_back(&chunk->task->letters, &row->link);
  chunk->rows++;
  chunk->bytes += row->size;
}

/* A few letters at a time, so that neither memory nor a turn of the loop is filled by a long list. */
static void find(struct hf_writer *writer, struct hf_task *task) {
  struct chunk chunk = {.task = task};
  if (!task->rows)
    chunk.error = hf_database_find(writer->database, task->subject, &task->rows, &task->row_count);
  while (chunk.error == 0 && task->row_next < task->row_count && chunk.rows < CHUNK_ROWS_MAX &&
         chunk.bytes < CHUNK_BYTES_MAX) {
    int r = hf_database_letter(writer->database, task->rows[task->row_next++], add_row, &chunk);
    if (r < 0 && r != HF_ERR_NOTFOUND)
      chunk.error = r;
  }
  task->error = chunk.error;
}

static void add_news(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  struct hf_writer *writer = ctx;
  struct hf_task *task = hf_task_new(HF_TASK_LETTER, letter);
  if (!task)
    return;
  task->news = news;
  hf_list_push_back(&writer->made, &task->link);
}

static void look(struct hf_writer *writer, hf_time now) {
  if (now < writer->next_look)
    return;
  writer->next_look = now + writer->look_every;
  (void)hf_database_recover(writer->database, hf_clock_wall_ms());
  const int64_t version = hf_database_version(writer->database);
  writer->stale |= version != writer->version;
  writer->version = version;
}

static void sweep(struct hf_writer *writer, hf_time now) {
  if (now < writer->next_sweep)
    return;
  bool more = false;
  int r = hf_database_sweep(writer->database, hf_clock_wall_ms(), add_news, writer, &more);
  writer->next_sweep = r == 0 && more ? now : now + writer->sweep_every;
  writer->stale = true;
}

/* Counting takes a look at each letter, so while many are written it is done once in a while. */
static void count(struct hf_writer *writer, hf_time now) {
  if (!writer->stale || now < writer->next_stats)
    return;
  writer->stale = hf_database_stats(writer->database, &writer->fresh) < 0;
  writer->next_stats = now + stats_every;
}

static void work(struct hf_writer *writer, struct hf_list *tasks, struct hf_list *done) {
  struct hf_list again;
  hf_list_init(&again);
  move_all(&writer->unsettled, &again);
  while (!hf_list_empty(&again))
    write_group(writer, &again, done);
  while (!hf_list_empty(tasks)) {
    struct hf_task *task = first(tasks);
    if (is_write(task)) {
      write_group(writer, tasks, done);
      continue;
    }
    if (task->kind == HF_TASK_FIND)
      find(writer, task);
    else
      task->error = hf_database_set(writer->database, task->subject);
    move_first(tasks, done);
  }
  const hf_time now = hf_clock_now();
  look(writer, now);
  sweep(writer, now);
  hf_database_news(writer->database, add_news, writer);
  count(writer, now);
}

static void hand_over(struct hf_writer *writer, struct hf_list *done) {
  bool any = !hf_list_empty(done) || !hf_list_empty(&writer->made);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, done) {
    const struct hf_task *task = HF_CONTAINER_OF(it, struct hf_task, link);
    writer->queue_count--;
    writer->queue_bytes -= task->size;
  }
  move_all(done, &writer->answers);
  while (!hf_list_empty(&writer->made) && writer->news_count < NEWS_MAX) {
    move_first(&writer->made, &writer->news);
    writer->news_count++;
  }
  writer->fresh.error = writer->error;
  writer->stats = writer->fresh;
  writer->health.error = writer->error;
  int written =
      snprintf(writer->health.trouble, sizeof writer->health.trouble, "%s", hf_database_trouble(writer->database));
  if (written < 0)
    writer->health.trouble[0] = '\0';
  if (any)
    writer->notify(writer->notify_ctx);
}

/* Returns false if it is `until`. */
static bool sleep_until(struct hf_writer *writer, hf_time until) {
  const struct timespec at = {.tv_sec = until / HF_SECONDS(1), .tv_nsec = until % HF_SECONDS(1) * 1000};
  return pthread_cond_timedwait(&writer->wake, &writer->mutex, &at) != ETIMEDOUT;
}

static void wait_for_work(struct hf_writer *writer) {
  hf_time until = hf_time_min(writer->next_look, writer->next_sweep);
  if (writer->stale)
    until = hf_time_min(until, writer->next_stats);
  bool waiting = true;
  writer->idle = true;
  while (waiting && hf_list_empty(&writer->queue) && !writer->stopping)
    waiting = sleep_until(writer, until);
  waiting = !hf_list_empty(&writer->queue);
  until = waiting && !writer->hurry ? hf_clock_now() + settle_wait : 0;
  while (waiting && !writer->hurry && !writer->stopping)
    waiting = sleep_until(writer, until);
  writer->idle = false;
}

static void *run(void *ctx) {
  struct hf_writer *writer = ctx;
  struct hf_list tasks;
  struct hf_list done;
  hf_list_init(&tasks);
  hf_list_init(&done);
  bool last = false;
  pthread_mutex_lock(&writer->mutex);
  while (!last) {
    wait_for_work(writer);
    last = writer->stopping && hf_list_empty(&writer->queue);
    for (size_t i = 0; i < GROUP_MAX && !hf_list_empty(&writer->queue); i++)
      move_first(&writer->queue, &tasks);
    writer->hurry &= !hf_list_empty(&writer->queue);
    pthread_mutex_unlock(&writer->mutex);
    pthread_mutex_lock(&writer->database_mutex);
    work(writer, &tasks, &done);
    pthread_mutex_unlock(&writer->database_mutex);
    pthread_mutex_lock(&writer->mutex);
    hand_over(writer, &done);
    hf_tasks_free(&writer->made); /* those beyond the limit */
  }
  pthread_mutex_unlock(&writer->mutex);
  return NULL;
}

/* The end of an intent is never refused: there are no more of them than there were intents. */
int hf_writer_push(struct hf_writer *writer, struct hf_task *task) {
  pthread_mutex_lock(&writer->mutex);
  const bool full =
      writer->queue_count >= writer->queue_max || task->size + writer->queue_bytes > HF_STORE_QUEUE_BYTES_MAX;
  const bool refused = full && task->kind != HF_TASK_SETTLE && task->kind != HF_TASK_SET && task->row_count == 0;
  if (!refused) {
    const bool hurry = task->kind != HF_TASK_SETTLE;
    if (writer->idle && (hurry || hf_list_empty(&writer->queue)))
      pthread_cond_signal(&writer->wake);
    writer->hurry |= hurry;
    hf_list_push_back(&writer->queue, &task->link);
    writer->queue_count++;
    writer->queue_bytes += task->size;
  }
  pthread_mutex_unlock(&writer->mutex);
  return refused ? HF_ERR_LIMIT : 0;
}

static int start_thread(struct hf_writer *writer) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  /* Signals are the loop's business. */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int r = pthread_create(&writer->thread, NULL, run, writer);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return r == 0 ? 0 : HF_ERR_NOMEM;
}

static void init_locks(struct hf_writer *writer) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&writer->wake, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&writer->mutex, NULL);
  pthread_mutex_init(&writer->database_mutex, NULL);
}

static void deinit(struct hf_writer *writer) {
  hf_tasks_free(&writer->queue);
  hf_tasks_free(&writer->answers);
  hf_tasks_free(&writer->news);
  hf_tasks_free(&writer->made);
  hf_tasks_free(&writer->unsettled);
  hf_database_close(writer->database);
  pthread_cond_destroy(&writer->wake);
  pthread_mutex_destroy(&writer->mutex);
  pthread_mutex_destroy(&writer->database_mutex);
}

static void init(struct hf_writer *writer, const struct hf_writer_options *options) {
  *writer = (struct hf_writer){
      .notify = options->notify,
      .notify_ctx = options->ctx,
      .queue_max = options->database.settings->queue,
      .look_every = options->look_every ? options->look_every : look_every,
      .sweep_every = options->sweep_every ? options->sweep_every : sweep_every,
  };
  init_locks(writer);
  hf_list_init(&writer->queue);
  hf_list_init(&writer->answers);
  hf_list_init(&writer->news);
  hf_list_init(&writer->made);
  hf_list_init(&writer->unsettled);
}

int hf_writer_start(struct hf_writer *writer, const struct hf_writer_options *options, struct hf_error *reterr) {
  init(writer, options);
  int r = hf_database_open(&options->database, &writer->database, reterr);
  if (r < 0) {
    deinit(writer);
    return r;
  }
  writer->error = hf_database_recover(writer->database, hf_clock_wall_ms());
  hf_database_news(writer->database, add_news, writer);
  find_left(writer->database, NULL, &writer->made);
  const hf_time now = hf_clock_now();
  writer->next_look = now + writer->look_every;
  writer->next_sweep = now; /* short-lived gateways remove what is too old, too */
  writer->stale = true;
  count(writer, now);
  struct hf_list none;
  hf_list_init(&none);
  hand_over(writer, &none);
  r = start_thread(writer);
  if (r < 0) {
    deinit(writer);
    return hf_error_set(reterr, r, "start a thread for the store: %s", hf_err_text(r));
  }
  return 0;
}

void hf_writer_stop(struct hf_writer *writer) {
  pthread_mutex_lock(&writer->mutex);
  writer->stopping = true;
  pthread_cond_signal(&writer->wake);
  pthread_mutex_unlock(&writer->mutex);
  pthread_join(writer->thread, NULL);
  deinit(writer);
}

void hf_writer_take(struct hf_writer *writer, struct hf_list *tasks, bool with_news,
                    struct hf_writer_health *ret_health) {
  pthread_mutex_lock(&writer->mutex);
  move_all(&writer->answers, tasks);
  if (with_news) {
    move_all(&writer->news, tasks);
    writer->news_count = 0;
  }
  *ret_health = writer->health;
  pthread_mutex_unlock(&writer->mutex);
}

void hf_writer_stats(struct hf_writer *writer, struct hf_store_stats *ret_stats) {
  pthread_mutex_lock(&writer->mutex);
  *ret_stats = writer->stats;
  pthread_mutex_unlock(&writer->mutex);
}

void hf_writer_limit(struct hf_writer *writer, size_t queue_max) {
  pthread_mutex_lock(&writer->mutex);
  writer->queue_max = queue_max;
  pthread_mutex_unlock(&writer->mutex);
}

void hf_writer_load(struct hf_writer *writer, hf_keyed_fn *keyed, hf_cached_fn *cached, void *ctx) {
  const int64_t now_ms = hf_clock_wall_ms();
  pthread_mutex_lock(&writer->database_mutex);
  (void)hf_database_keys(writer->database, now_ms, keyed, ctx);
  (void)hf_database_cached(writer->database, now_ms, cached, ctx);
  pthread_mutex_unlock(&writer->database_mutex);
}
