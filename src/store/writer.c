/* Two threads share what `mutex` guards, and nothing else: the loop's puts works in, this one takes them out and puts
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
  GROUP_MAX = 256,             /* works in one transaction */
  CHUNK_ROWS_MAX = 64,         /* letters in one answer … */
  CHUNK_BYTES_MAX = 256 << 10, /* … and their bytes, but for the last */
  NEWS_MAX = 1024,             /* that wait to be told; what is beyond is in the database all the same */
};

/* The end of an intent waits so long for other work, to be written with it. */
static const hf_time settle_wait = HF_MS(10);

static const hf_time stats_every = HF_SECONDS(1);
static const hf_time look_every = HF_SECONDS(2);
static const hf_time sweep_every = HF_SECONDS(60);

static struct hf_work *first(struct hf_list *works) {
  return HF_CONTAINER_OF(works->next, struct hf_work, link);
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

static bool is_write(const struct hf_work *work) {
  return work->kind <= HF_WORK_KEEP;
}

static void add_left(void *ctx, const struct hf_letter *letter) {
  struct hf_list *letters = ctx;
  struct hf_letter small = *letter;
  small.arguments = small.attempts = small.result = small.history = (struct hf_str){NULL, 0};
  struct hf_work *work = hf_work_new(HF_WORK_LETTER, &small);
  if (!work)
    return;
  work->news = HF_NEWS_LEFT;
  hf_list_push_back(letters, &work->link);
}

/* What dead owners left not long ago: of calls that equal this one, or of all. Without memory it is not told. */
static void find_left(struct hf_database *database, const struct hf_fingerprint *fingerprint, struct hf_list *letters) {
  HF_CLEANUP_FREE int64_t *rows = NULL;
  size_t count = 0;
  int r = hf_database_left(database, fingerprint, hf_clock_wall_ms() - HF_LEFT_FOR_MS, &rows, &count);
  for (size_t i = 0; i < count && r == 0; i++)
    (void)hf_database_letter(database, rows[i], add_left, letters);
}

static int intend(struct hf_database *database, struct hf_work *work) {
  const struct hf_intent *intent = work->subject;
  int r = hf_database_intend(database, intent);
  if (r == 0 && hf_list_empty(&work->found))
    find_left(database, &intent->fingerprint, &work->found);
  return r;
}

static int apply(struct hf_database *database, struct hf_work *work) {
  switch (work->kind) {
  case HF_WORK_INTEND:
    return intend(database, work);
  case HF_WORK_SETTLE:
    return hf_database_settle(database, *(const struct hf_str *)work->subject);
  case HF_WORK_BURY:
    return hf_database_bury(database, work->subject, work->id);
  case HF_WORK_CHANGE:
    return hf_database_change(database, work->subject);
  case HF_WORK_REMEMBER:
    return hf_database_remember(database, work->subject);
  case HF_WORK_TALLY:
    return hf_database_tally(database, *(const struct hf_str *)work->subject);
  case HF_WORK_KEEP_TASK:
    return hf_database_keep_task(database, work->subject);
  case HF_WORK_DROP_TASK:
    return hf_database_drop_task(database, *(const struct hf_str *)work->subject);
  case HF_WORK_KEEP:
    return hf_database_keep(database, work->subject);
  case HF_WORK_FIND:
  case HF_WORK_FIND_TASK:
  case HF_WORK_LIST_TASKS:
  case HF_WORK_SET:
  case HF_WORK_LETTER:
  case HF_WORK_TASK:
    break;
  }
  assert(false); /* no write */
  return HF_ERR_INVALID;
}

/* Errors of one work alone leave the transaction as it was; any other ends it. */
static bool ends_transaction(int error) {
  return error == HF_ERR_FULL || error == HF_ERR_IO || error == HF_ERR_NOMEM || error == HF_ERR_TIMEOUT;
}

/* One transaction. On failure nothing of it is written. */
static int write_once(struct hf_writer *writer, struct hf_work *const *works, size_t task_count) {
  bool durable = false;
  for (size_t i = 0; i < task_count; i++)
    durable |= works[i]->kind == HF_WORK_BURY || works[i]->kind == HF_WORK_CHANGE;
  writer->stale |= durable;
  int r = hf_database_begin(writer->database, durable);
  if (r < 0)
    return r;
  for (size_t i = 0; i < task_count; i++) {
    works[i]->error = apply(writer->database, works[i]);
    if (ends_transaction(works[i]->error)) {
      hf_database_rollback(writer->database);
      return works[i]->error;
    }
  }
  return hf_database_commit(writer->database);
}

/* Takes the writes at the front of the list, where one is. When a disk is full, or memory, the small ones may fit: each
 * is tried alone. When it is broken or held by others, that would take time, and change nothing. */
static void write_group(struct hf_writer *writer, struct hf_list *works, struct hf_list *done) {
  struct hf_work *group[GROUP_MAX];
  size_t group_count = 0;
  bool any_intent = false;
  do {
    group[group_count] = first(works);
    any_intent |= group[group_count]->kind == HF_WORK_INTEND;
    hf_list_remove(&group[group_count++]->link);
  } while (group_count < GROUP_MAX && !hf_list_empty(works) && is_write(first(works)));
  if (any_intent)
    (void)hf_database_recover(writer->database, hf_clock_wall_ms()); /* who dies later is not known to anybody yet */
  int r = write_once(writer, group, group_count);
  const bool alone = (r == HF_ERR_FULL || r == HF_ERR_NOMEM) && group_count > 1;
  for (size_t i = 0; i < group_count; i++) {
    struct hf_work *work = group[i];
    if (alone)
      r = write_once(writer, &work, 1);
    if (r < 0)
      work->error = r;
    const bool lost = r < 0 && work->kind == HF_WORK_SETTLE;
    hf_list_push_back(lost ? &writer->unsettled : done, &work->link);
  }
  writer->error = r;
}

struct chunk {
  struct hf_work *work;
  size_t rows;
  size_t bytes;
  int error;
};

static void add_row(void *ctx, const struct hf_letter *letter) {
  struct chunk *chunk = ctx;
  struct hf_work *row = hf_work_new(HF_WORK_LETTER, letter);
  if (!row) {
    chunk->error = HF_ERR_NOMEM;
    return;
  }
  hf_list_push_back(&chunk->work->found, &row->link);
  chunk->rows++;
  chunk->bytes += row->size;
}

/* A few letters at a time, so that neither memory nor a turn of the loop is filled by a long list. */
static void find(struct hf_writer *writer, struct hf_work *work) {
  struct chunk chunk = {.work = work};
  if (!work->rows)
    chunk.error = hf_database_find(writer->database, work->subject, &work->rows, &work->row_count);
  while (chunk.error == 0 && work->row_next < work->row_count && chunk.rows < CHUNK_ROWS_MAX &&
         chunk.bytes < CHUNK_BYTES_MAX) {
    int r = hf_database_letter(writer->database, work->rows[work->row_next++], add_row, &chunk);
    if (r < 0 && r != HF_ERR_NOTFOUND)
      chunk.error = r;
  }
  work->error = chunk.error;
}

/* Tasks that are read, and whether there was memory for all. */
struct read_tasks {
  struct hf_list *found;
  int error;
};

static void add_task(void *ctx, const struct hf_stored_task *task) {
  struct read_tasks *read = ctx;
  struct hf_work *work = hf_work_new(HF_WORK_TASK, task);
  if (work)
    hf_list_push_back(read->found, &work->link);
  else
    read->error = HF_ERR_NOMEM;
}

static void find_tasks(struct hf_database *database, struct hf_work *work) {
  struct read_tasks read = {&work->found, 0};
  const int64_t now_ms = hf_clock_wall_ms();
  work->error = work->kind == HF_WORK_FIND_TASK
                    ? hf_database_find_task(database, *(const struct hf_str *)work->subject, now_ms, add_task, &read)
                    : hf_database_list_tasks(database, work->subject, now_ms, add_task, &read);
  if (work->error == 0)
    work->error = read.error;
}

/* All or, for now, none: then it is tried again. */
static void take_tasks(struct hf_database *database, struct hf_list *taken) {
  const int64_t now_ms = hf_clock_wall_ms();
  struct hf_list found;
  hf_list_init(&found);
  struct read_tasks read = {&found, 0};
  int r = hf_database_tasks_left(database, now_ms);
  if (r <= 0 || hf_database_begin(database, false) < 0)
    return;
  r = hf_database_take_tasks(database, now_ms, add_task, &read);
  if (r == 0)
    r = read.error;
  if (r == 0)
    r = hf_database_commit(database);
  else
    hf_database_rollback(database);
  if (r == 0)
    move_all(&found, taken);
  hf_works_free(&found);
}

static void add_news(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  struct hf_writer *writer = ctx;
  struct hf_work *work = hf_work_new(HF_WORK_LETTER, letter);
  if (!work)
    return;
  work->news = news;
  hf_list_push_back(&writer->made, &work->link);
}

static void look(struct hf_writer *writer, hf_time now) {
  if (now < writer->next_look)
    return;
  writer->next_look = now + writer->look_every;
  (void)hf_database_recover(writer->database, hf_clock_wall_ms());
  if (writer->takes_tasks)
    take_tasks(writer->database, &writer->taken);
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

static void work(struct hf_writer *writer, struct hf_list *works, struct hf_list *done) {
  struct hf_list again;
  hf_list_init(&again);
  move_all(&writer->unsettled, &again);
  while (!hf_list_empty(&again))
    write_group(writer, &again, done);
  while (!hf_list_empty(works)) {
    struct hf_work *work = first(works);
    if (is_write(work)) {
      write_group(writer, works, done);
      continue;
    }
    if (work->kind == HF_WORK_FIND)
      find(writer, work);
    else if (work->kind == HF_WORK_FIND_TASK || work->kind == HF_WORK_LIST_TASKS)
      find_tasks(writer->database, work);
    else
      work->error = hf_database_set(writer->database, work->subject);
    move_first(works, done);
  }
  const hf_time now = hf_clock_now();
  look(writer, now);
  sweep(writer, now);
  hf_database_news(writer->database, add_news, writer);
  count(writer, now);
}

static void hand_over(struct hf_writer *writer, struct hf_list *done) {
  bool any = !hf_list_empty(done) || !hf_list_empty(&writer->made) || !hf_list_empty(&writer->taken);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, done) {
    const struct hf_work *work = HF_CONTAINER_OF(it, struct hf_work, link);
    writer->queue_count--;
    writer->queue_bytes -= work->size;
  }
  move_all(done, &writer->answers);
  move_all(&writer->taken, &writer->answers);
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
  struct hf_list works;
  struct hf_list done;
  hf_list_init(&works);
  hf_list_init(&done);
  bool last = false;
  pthread_mutex_lock(&writer->mutex);
  while (!last) {
    wait_for_work(writer);
    last = writer->stopping && hf_list_empty(&writer->queue);
    for (size_t i = 0; i < GROUP_MAX && !hf_list_empty(&writer->queue); i++)
      move_first(&writer->queue, &works);
    writer->hurry &= !hf_list_empty(&writer->queue);
    pthread_mutex_unlock(&writer->mutex);
    pthread_mutex_lock(&writer->database_mutex);
    work(writer, &works, &done);
    pthread_mutex_unlock(&writer->database_mutex);
    pthread_mutex_lock(&writer->mutex);
    hand_over(writer, &done);
    hf_works_free(&writer->made); /* those beyond the limit */
  }
  pthread_mutex_unlock(&writer->mutex);
  return NULL;
}

/* The end of an intent is never refused: there are no more of them than there were intents. */
int hf_writer_push(struct hf_writer *writer, struct hf_work *work) {
  pthread_mutex_lock(&writer->mutex);
  const bool full =
      writer->queue_count >= writer->queue_max || work->size + writer->queue_bytes > HF_STORE_QUEUE_BYTES_MAX;
  const bool refused = full && work->kind != HF_WORK_SETTLE && work->kind != HF_WORK_SET && work->row_count == 0;
  if (!refused) {
    const bool hurry = work->kind != HF_WORK_SETTLE;
    if (writer->idle && (hurry || hf_list_empty(&writer->queue)))
      pthread_cond_signal(&writer->wake);
    writer->hurry |= hurry;
    hf_list_push_back(&writer->queue, &work->link);
    writer->queue_count++;
    writer->queue_bytes += work->size;
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
  hf_works_free(&writer->queue);
  hf_works_free(&writer->answers);
  hf_works_free(&writer->news);
  hf_works_free(&writer->made);
  hf_works_free(&writer->taken);
  hf_works_free(&writer->unsettled);
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
  hf_list_init(&writer->taken);
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

void hf_writer_take(struct hf_writer *writer, struct hf_list *works, bool with_news,
                    struct hf_writer_health *ret_health) {
  pthread_mutex_lock(&writer->mutex);
  move_all(&writer->answers, works);
  if (with_news) {
    move_all(&writer->news, works);
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

void hf_writer_take_tasks(struct hf_writer *writer, struct hf_list *works) {
  pthread_mutex_lock(&writer->database_mutex);
  writer->takes_tasks = true;
  take_tasks(writer->database, works);
  pthread_mutex_unlock(&writer->database_mutex);
}
