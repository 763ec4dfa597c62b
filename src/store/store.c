/* The loop's side of the store. Whoever waits is known here alone, so to be forgotten needs no lock. */
#include "store/store.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "store/writer.h"

#include <stdatomic.h>

enum { TURN_MAX = 64 /* answers in one turn of the loop */ };

/* Waiters that are refused, oldest first: to be told needs no memory. */
struct refused {
  struct hf_store_wait *waits, **waits_end;
  struct hf_store_query *queries, **queries_end;
  struct hf_task_query *task_queries, **task_queries_end;
};

struct disk_store {
  struct hf_store head;
  struct hf_loop *loop;
  uv_async_t *async; /* freed in its close callback */
  struct hf_writer writer;
  struct refused refused;
  struct hf_list delivering;
  hf_store_news_fn *tell;
  void *tell_ctx;
  hf_stored_task_fn *take;
  void *take_ctx;
  atomic_bool open; /* before that nobody asks anything, and there is nothing to hear */
  bool failing;     /* the newest write failed, and it was told */
};

static struct disk_store *of(struct hf_store *store) {
  return HF_CONTAINER_OF(store, struct disk_store, head);
}

static struct hf_work *first(struct hf_list *works) {
  return HF_CONTAINER_OF(works->next, struct hf_work, link);
}

/* From any thread. */
static void notify(void *ctx) {
  struct disk_store *store = ctx;
  (void)uv_async_send(store->async);
}

static void refuse_wait(struct disk_store *store, struct hf_store_wait *wait, int error) {
  wait->error = error;
  wait->next = NULL;
  *store->refused.waits_end = wait;
  store->refused.waits_end = &wait->next;
  notify(store);
}

static void refuse_query(struct disk_store *store, struct hf_store_query *query, int error) {
  query->error = error;
  query->next = NULL;
  *store->refused.queries_end = query;
  store->refused.queries_end = &query->next;
  notify(store);
}

static void refuse_task_query(struct disk_store *store, struct hf_task_query *query, int error) {
  query->error = error;
  query->next = NULL;
  *store->refused.task_queries_end = query;
  store->refused.task_queries_end = &query->next;
  notify(store);
}

/* Copies and queues. `waiter` is known from now on. */
static int ask(struct disk_store *store, enum hf_work_kind kind, const void *subject, void *waiter, void **impl) {
  struct hf_work *work = hf_work_new(kind, subject);
  if (!work)
    return HF_ERR_NOMEM;
  work->waiter = waiter;
  if (impl)
    *impl = work;
  int r = hf_writer_push(&store->writer, work);
  if (r < 0) {
    hf_work_free(work);
    if (impl)
      *impl = NULL;
  }
  return r;
}

static void ask_wait(struct hf_store *head, enum hf_work_kind kind, const void *subject, struct hf_store_wait *wait) {
  struct disk_store *store = of(head);
  wait->impl = NULL;
  int r = ask(store, kind, subject, wait, &wait->impl);
  if (r < 0)
    refuse_wait(store, wait, r);
}

static void intend(struct hf_store *head, const struct hf_intent *intent, struct hf_store_wait *wait) {
  ask_wait(head, HF_WORK_INTEND, intent, wait);
}

/* Without memory the intent stays, and is a letter one day: wrong on the safe side. */
static void settle(struct hf_store *head, struct hf_str call) {
  (void)ask(of(head), HF_WORK_SETTLE, &call, NULL, NULL);
}

static void bury(struct hf_store *head, const struct hf_letter *letter, struct hf_store_wait *wait) {
  ask_wait(head, HF_WORK_BURY, letter, wait);
}

static void change(struct hf_store *head, const struct hf_letter *letter, struct hf_store_wait *wait) {
  ask_wait(head, HF_WORK_CHANGE, letter, wait);
}

static void remember(struct hf_store *head, const struct hf_keyed *keyed, struct hf_store_wait *wait) {
  ask_wait(head, HF_WORK_REMEMBER, keyed, wait);
}

/* A cache may lose. */
static void keep(struct hf_store *head, const struct hf_cached *cached) {
  (void)ask(of(head), HF_WORK_KEEP, cached, NULL, NULL);
}

/* So may counts, but what is refused can be asked again. */
static int tally(struct hf_store *head, struct hf_str rows) {
  return ask(of(head), HF_WORK_TALLY, &rows, NULL, NULL);
}

static void letters(struct hf_store *head, const struct hf_letter_filter *filter, struct hf_store_query *query) {
  struct disk_store *store = of(head);
  query->impl = NULL;
  int r = ask(store, HF_WORK_FIND, filter, query, &query->impl);
  if (r < 0)
    refuse_query(store, query, r);
}

/* What is not known of a task is wrong on the safe side: it runs on, or is kept until it expires. */
static void keep_task(struct hf_store *head, const struct hf_stored_task *task, struct hf_store_wait *wait) {
  if (wait)
    ask_wait(head, HF_WORK_KEEP_TASK, task, wait);
  else
    (void)ask(of(head), HF_WORK_KEEP_TASK, task, NULL, NULL);
}

static void drop_task(struct hf_store *head, struct hf_str id) {
  (void)ask(of(head), HF_WORK_DROP_TASK, &id, NULL, NULL);
}

static void ask_tasks(struct hf_store *head, enum hf_work_kind kind, const void *subject, struct hf_task_query *query) {
  struct disk_store *store = of(head);
  query->impl = NULL;
  int r = ask(store, kind, subject, query, &query->impl);
  if (r < 0)
    refuse_task_query(store, query, r);
}

static void find_task(struct hf_store *head, struct hf_str id, struct hf_task_query *query) {
  ask_tasks(head, HF_WORK_FIND_TASK, &id, query);
}

static void list_tasks(struct hf_store *head, const struct hf_task_filter *filter, struct hf_task_query *query) {
  ask_tasks(head, HF_WORK_LIST_TASKS, filter, query);
}

static void take_tasks(struct hf_store *head, hf_stored_task_fn *task, void *ctx) {
  struct disk_store *store = of(head);
  struct hf_list taken;
  hf_list_init(&taken);
  store->take = task;
  store->take_ctx = ctx;
  hf_writer_take_tasks(&store->writer, &taken);
  while (!hf_list_empty(&taken)) {
    struct hf_work *work = first(&taken);
    hf_list_remove(&work->link);
    task(ctx, work->subject);
    hf_work_free(work);
  }
}

static void load(struct hf_store *head, hf_keyed_fn *keyed, hf_cached_fn *cached, void *ctx) {
  hf_writer_load(&of(head)->writer, keyed, cached, ctx);
}

static void watch(struct hf_store *head, hf_store_news_fn *news, void *ctx) {
  struct disk_store *store = of(head);
  store->tell = news;
  store->tell_ctx = ctx;
  notify(store);
}

static void stats(struct hf_store *head, struct hf_store_stats *ret_stats) {
  hf_writer_stats(&of(head)->writer, ret_stats);
}

static void forget(struct hf_store *head, struct hf_store_wait *wait) {
  struct disk_store *store = of(head);
  struct hf_work *work = wait->impl;
  if (work) {
    work->waiter = wait->impl = NULL;
    return;
  }
  struct hf_store_wait **at = &store->refused.waits;
  while (*at && *at != wait)
    at = &(*at)->next;
  if (!*at)
    return;
  *at = wait->next;
  if (!*at)
    store->refused.waits_end = at;
}

static void forget_query(struct hf_store *head, struct hf_store_query *query) {
  struct disk_store *store = of(head);
  struct hf_work *work = query->impl;
  if (work) {
    work->waiter = query->impl = NULL;
    return;
  }
  struct hf_store_query **at = &store->refused.queries;
  while (*at && *at != query)
    at = &(*at)->next;
  if (!*at)
    return;
  *at = query->next;
  if (!*at)
    store->refused.queries_end = at;
}

static void forget_task_query(struct hf_store *head, struct hf_task_query *query) {
  struct disk_store *store = of(head);
  struct hf_work *work = query->impl;
  if (work) {
    work->waiter = query->impl = NULL;
    return;
  }
  struct hf_task_query **at = &store->refused.task_queries;
  while (*at && *at != query)
    at = &(*at)->next;
  if (!*at)
    return;
  *at = query->next;
  if (!*at)
    store->refused.task_queries_end = at;
}

static struct hf_str owner(const struct hf_store *head) {
  return hf_database_owner(HF_CONTAINER_OF(head, const struct disk_store, head)->writer.database);
}

static const struct hf_store_ops ops = {
    .intend = intend,
    .settle = settle,
    .bury = bury,
    .change = change,
    .letters = letters,
    .remember = remember,
    .keep = keep,
    .tally = tally,
    .load = load,
    .keep_task = keep_task,
    .drop_task = drop_task,
    .find_task = find_task,
    .list_tasks = list_tasks,
    .take_tasks = take_tasks,
    .watch = watch,
    .stats = stats,
    .forget = forget,
    .forget_query = forget_query,
    .forget_task_query = forget_task_query,
    .owner = owner,
};

static bool deliver_refused(struct disk_store *store) {
  struct hf_store_wait *wait = store->refused.waits;
  struct hf_store_query *query = store->refused.queries;
  struct hf_task_query *task_query = store->refused.task_queries;
  if (wait) {
    store->refused.waits = wait->next;
    if (!wait->next)
      store->refused.waits_end = &store->refused.waits;
    wait->done(wait, wait->error, (struct hf_str){NULL, 0});
  } else if (query) {
    store->refused.queries = query->next;
    if (!query->next)
      store->refused.queries_end = &store->refused.queries;
    query->done(query, query->error);
  } else if (task_query) {
    store->refused.task_queries = task_query->next;
    if (!task_query->next)
      store->refused.task_queries_end = &store->refused.task_queries;
    task_query->done(task_query, task_query->error);
  }
  return wait || query || task_query;
}

/* Any callback may forget the query, or ask anew. */
static void deliver_letters(struct disk_store *store, struct hf_work *work) {
  while (work->waiter && !hf_list_empty(&work->found)) {
    struct hf_store_query *query = work->waiter;
    struct hf_work *letter = first(&work->found);
    hf_list_remove(&letter->link);
    query->row(query->ctx, letter->subject);
    hf_work_free(letter);
  }
  struct hf_store_query *query = work->waiter;
  if (query && work->error == 0 && work->row_next < work->row_count) {
    (void)hf_writer_push(&store->writer, work);
    return;
  }
  const int error = work->error;
  hf_work_free(work);
  if (query) {
    query->impl = NULL;
    query->done(query, error);
  }
}

/* Likewise. */
static void deliver_tasks(struct hf_work *work) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &work->found) {
    struct hf_task_query *query = work->waiter;
    if (query && work->error == 0)
      query->row(query->ctx, HF_CONTAINER_OF(it, struct hf_work, link)->subject);
  }
  struct hf_task_query *query = work->waiter;
  const int error = work->error;
  hf_work_free(work);
  if (query) {
    query->impl = NULL;
    query->done(query, error);
  }
}

static void deliver_left(struct disk_store *store, struct hf_work *work) {
  while (store->tell && !hf_list_empty(&work->found)) {
    struct hf_work *letter = first(&work->found);
    hf_list_remove(&letter->link);
    store->tell(store->tell_ctx, letter->news, letter->subject);
    hf_work_free(letter);
  }
}

static void deliver_done(struct disk_store *store, struct hf_work *work) {
  deliver_left(store, work);
  struct hf_store_wait *wait = work->waiter;
  if (wait) {
    wait->impl = NULL;
    const bool buried = work->error == 0 && work->id[0]; /* else it got an id that was rolled back */
    wait->done(wait, work->error, buried ? hf_str_from(work->id) : (struct hf_str){NULL, 0});
  }
  hf_work_free(work);
}

static bool deliver_one(struct disk_store *store) {
  if (hf_list_empty(&store->delivering))
    return false;
  struct hf_work *work = first(&store->delivering);
  hf_list_remove(&work->link);
  if (work->kind == HF_WORK_FIND) {
    deliver_letters(store, work);
  } else if (work->kind == HF_WORK_FIND_TASK || work->kind == HF_WORK_LIST_TASKS) {
    deliver_tasks(work);
  } else if (work->kind == HF_WORK_TASK) {
    store->take(store->take_ctx, work->subject);
    hf_work_free(work);
  } else if (work->kind == HF_WORK_LETTER) {
    store->tell(store->tell_ctx, work->news, work->subject);
    hf_work_free(work);
  } else {
    deliver_done(store, work);
  }
  return true;
}

/* Says once that the disk fails, and once that it works again. */
static void log_health(struct disk_store *store, const struct hf_writer_health *health) {
  const bool failing = health->error < 0;
  if (failing && !store->failing)
    hf_log_event(store->loop->log, HF_LOG_ERROR, "the store cannot write",
                 HF_LOG_STR("reason", hf_str_from(health->trouble)),
                 HF_LOG_STR("error", hf_str_from(hf_err_text(health->error))));
  else if (!failing && store->failing)
    hf_log_event(store->loop->log, HF_LOG_INFO, "the store writes again", HF_LOG_STR("owner", owner(&store->head)));
  store->failing = failing;
}

static void on_answers(uv_async_t *async) {
  struct disk_store *store = async->data;
  struct hf_writer_health health;
  if (!atomic_load(&store->open))
    return;
  hf_loop_advance(store->loop, hf_clock_now(), hf_clock_wall_ms());
  hf_writer_take(&store->writer, &store->delivering, store->tell != NULL, &health);
  log_health(store, &health);
  bool more = true;
  for (size_t i = 0; i < TURN_MAX && more; i++)
    more = deliver_refused(store) || deliver_one(store);
  if (more)
    notify(store);
}

int hf_store_reload(struct hf_store *store, const struct hf_store_settings *settings) {
  hf_writer_limit(&of(store)->writer, settings->queue);
  return ask(of(store), HF_WORK_SET, settings, NULL, NULL);
}

static void on_closed(uv_handle_t *handle) {
  hf_free(handle);
}

static void release(struct disk_store *store) {
  if (store->async)
    uv_close((uv_handle_t *)store->async, on_closed);
  hf_works_free(&store->delivering);
  hf_free(store);
}

static int open_async(struct disk_store *store, uv_loop_t *uv) {
  store->async = hf_malloc(sizeof *store->async);
  if (!store->async)
    return HF_ERR_NOMEM;
  if (uv_async_init(uv, store->async, on_answers) < 0) {
    hf_free(store->async);
    store->async = NULL;
    return HF_ERR_IO;
  }
  store->async->data = store;
  return 0;
}

int hf_store_make(const struct hf_store_options *options, struct hf_store **ret_store) {
  struct disk_store *store = hf_calloc(1, sizeof *store);
  if (!store)
    return HF_ERR_NOMEM;
  store->head.ops = &ops;
  store->loop = options->loop;
  store->refused.waits_end = &store->refused.waits;
  store->refused.queries_end = &store->refused.queries;
  store->refused.task_queries_end = &store->refused.task_queries;
  hf_list_init(&store->delivering);
  int r = open_async(store, options->uv);
  if (r < 0) {
    release(store);
    return r;
  }
  *ret_store = &store->head;
  return 0;
}

int hf_store_open(struct hf_store *store, const struct hf_store_options *options, struct hf_error *reterr) {
  struct disk_store *own = of(store);
  const struct hf_writer_options writer = {
      .database = {.path = options->path, .vfs = options->vfs, .settings = options->settings, .own = true},
      .look_every = options->look_every,
      .sweep_every = options->sweep_every,
      .notify = notify,
      .ctx = own,
  };
  int r = hf_writer_start(&own->writer, &writer, reterr);
  atomic_store(&own->open, r == 0);
  if (r == 0)
    notify(own);
  return r;
}

int hf_store_new(const struct hf_store_options *options, struct hf_store **ret_store, struct hf_error *reterr) {
  struct hf_store *store;
  int r = hf_store_make(options, &store);
  if (r < 0)
    return hf_error_set(reterr, r, "open the store: %s", hf_err_text(r));
  r = hf_store_open(store, options, reterr);
  if (r < 0) {
    hf_store_free(store);
    return r;
  }
  *ret_store = store;
  return 0;
}

void hf_store_free(struct hf_store *store) {
  if (!store)
    return;
  if (atomic_load(&of(store)->open))
    hf_writer_stop(&of(store)->writer);
  release(of(store));
}
