#include "fake_store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void put(char *to, struct hf_str from) {
  assert(from.len < FAKE_TEXT_MAX);
  if (from.len)
    memcpy(to, from.ptr, from.len);
  to[from.len] = '\0';
}

static struct hf_str get(const char *text) {
  return text[0] ? hf_str_from(text) : (struct hf_str){NULL, 0};
}

static struct fake_store *store_of(struct hf_store *head) {
  return (struct fake_store *)head;
}

static void owe(struct fake_store *store, struct hf_store_wait *wait, struct hf_store_query *query, int error,
                const char *id) {
  assert(store->answer_count < FAKE_ROWS_MAX);
  struct fake_answer *answer = &store->answers[store->answer_count++];
  *answer = (struct fake_answer){.wait = wait, .query = query, .error = error};
  snprintf(answer->id, sizeof answer->id, "%s", id);
  if (!store->slow)
    hf_job_defer(store->loop, &store->job);
}

static bool matches(const struct hf_letter_filter *filter, const struct hf_letter *row) {
  return (!filter->id.ptr || hf_str_equal(filter->id, row->id)) &&
         (!filter->tool.ptr || hf_str_equal(filter->tool, row->tool)) &&
         (filter->any_status || filter->status == row->status);
}

static void give_tasks(struct fake_store *store, const struct fake_answer *answer);

static void give(struct fake_store *store, const struct fake_answer *answer) {
  if (answer->wait) {
    answer->wait->done(answer->wait, answer->error, get(answer->id));
    return;
  }
  if (answer->task_query) {
    give_tasks(store, answer);
    return;
  }
  for (size_t i = FAKE_ROWS_MAX; answer->query->row && i-- > 0;)
    if (store->letters[i].used && matches(&answer->filter, &store->letters[i].row))
      answer->query->row(answer->query->ctx, &store->letters[i].row);
  answer->query->done(answer->query, answer->error);
}

bool fake_store_answer_one(struct fake_store *store) {
  if (store->answer_count == 0)
    return false;
  struct fake_answer answer = store->answers[0];
  store->answer_count--;
  memmove(store->answers, store->answers + 1, store->answer_count * sizeof store->answers[0]);
  give(store, &answer);
  return true;
}

void fake_store_answer(struct fake_store *store) {
  while (fake_store_answer_one(store))
    continue;
}

static void run_job(struct hf_job *job) {
  fake_store_answer(HF_CONTAINER_OF(job, struct fake_store, job));
}

static void op_intend(struct hf_store *head, const struct hf_intent *intent, struct hf_store_wait *wait) {
  struct fake_store *store = store_of(head);
  store->intended++;
  for (size_t i = 0; store->error == 0; i++) {
    assert(i < FAKE_ROWS_MAX);
    struct fake_intent *row = &store->intents[i];
    if (row->used)
      continue;
    row->used = true;
    put(row->call, intent->call);
    put(row->principal, intent->principal);
    put(row->server, intent->server);
    put(row->tool, intent->tool);
    put(row->arguments, intent->arguments);
    put(row->key, intent->key);
    row->fingerprint = intent->fingerprint;
    row->at_ms = intent->at_ms;
    break;
  }
  owe(store, wait, NULL, store->error, "");
}

static void end_intent(struct fake_store *store, struct hf_str call) {
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    if (store->intents[i].used && hf_str_equal(hf_str_from(store->intents[i].call), call))
      store->intents[i].used = false;
}

static void op_settle(struct hf_store *head, struct hf_str call) {
  struct fake_store *store = store_of(head);
  store->settled++;
  end_intent(store, call);
}

static void keep_text(struct fake_letter *letter, struct hf_str *text) {
  if (!text->ptr)
    return;
  assert(text->len < FAKE_LETTER_BYTES - letter->len);
  char *copy = letter->text + letter->len;
  memcpy(copy, text->ptr, text->len);
  copy[text->len] = '\0';
  letter->len += text->len + 1;
  *text = (struct hf_str){copy, text->len};
}

/* What is absent stays as it was. */
static void change_text(struct fake_letter *letter, struct hf_str *to, struct hf_str from) {
  if (!from.ptr)
    return;
  *to = from;
  keep_text(letter, to);
}

static unsigned executed_rank(struct hf_str name) {
  return hf_str_equal(name, HF_STR("no")) ? 0 : hf_str_equal(name, HF_STR("yes")) ? 2 : 1;
}

/* The one that is equal and dead, or that we are replaying as this call. */
static struct fake_letter *find_equal(struct fake_store *store, const struct hf_letter *row) {
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++) {
    struct fake_letter *letter = &store->letters[i];
    bool replayed = letter->row.status == HF_LETTER_REPLAYING && hf_str_equal(letter->row.call, row->call);
    bool equal = letter->row.status == HF_LETTER_DEAD &&
                 memcmp(&letter->row.fingerprint, &row->fingerprint, sizeof row->fingerprint) == 0;
    if (letter->used && (replayed || equal))
      return letter;
  }
  return NULL;
}

static struct fake_letter *bury_again(struct fake_letter *letter, const struct hf_letter *row) {
  letter->row.status = HF_LETTER_DEAD;
  letter->row.count++;
  letter->row.first_ms = row->first_ms < letter->row.first_ms ? row->first_ms : letter->row.first_ms;
  letter->row.last_ms = row->last_ms;
  if (executed_rank(row->executed) > executed_rank(letter->row.executed))
    change_text(letter, &letter->row.executed, row->executed);
  change_text(letter, &letter->row.reason, row->reason);
  change_text(letter, &letter->row.attempts, row->attempts);
  return letter;
}

static struct fake_letter *add_letter(struct fake_store *store, const struct hf_letter *row) {
  size_t i = 0;
  while (store->letters[i].used)
    i++;
  struct fake_letter *letter = &store->letters[i];
  *letter = (struct fake_letter){.used = true, .row = *row};
  snprintf(letter->id, sizeof letter->id, "d-%u", ++store->letters_made);
  struct hf_str *texts[] = {&letter->row.call,     &letter->row.principal, &letter->row.tool,
                            &letter->row.route,    &letter->row.providers, &letter->row.reason,
                            &letter->row.end,      &letter->row.executed,  &letter->row.arguments,
                            &letter->row.schema,   &letter->row.attempts,  &letter->row.key,
                            &letter->row.trace_id, &letter->row.result,    &letter->row.history};
  for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
    keep_text(letter, texts[k]);
  letter->row.id = hf_str_from(letter->id);
  return letter;
}

static struct hf_letter with_intent(struct fake_store *store, const struct hf_letter *letter) {
  struct hf_letter whole = *letter;
  for (size_t i = 0; !letter->arguments.ptr && i < FAKE_ROWS_MAX; i++) {
    struct fake_intent *intent = &store->intents[i];
    if (!intent->used || !hf_str_equal(hf_str_from(intent->call), letter->call))
      continue;
    whole.arguments = get(intent->arguments);
    whole.key = get(intent->key);
    whole.fingerprint = intent->fingerprint;
  }
  return whole;
}

static void op_bury(struct hf_store *head, const struct hf_letter *said, struct hf_store_wait *wait) {
  struct fake_store *store = store_of(head);
  const struct hf_letter whole = with_intent(store, said), *letter = &whole;
  store->buried++;
  const char *id = "";
  if (store->error == 0) {
    struct fake_letter *equal = find_equal(store, letter);
    id = (equal ? bury_again(equal, letter) : add_letter(store, letter))->id;
    end_intent(store, letter->call);
  }
  owe(store, wait, NULL, store->error, id);
}

static void op_change(struct hf_store *head, const struct hf_letter *letter, struct hf_store_wait *wait) {
  struct fake_store *store = store_of(head);
  int error = HF_ERR_NOTFOUND;
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++) {
    struct fake_letter *row = &store->letters[i];
    if (!row->used || !hf_str_equal(row->row.id, letter->id))
      continue;
    bool begins = letter->status == HF_LETTER_REPLAYING && !hf_str_equal(row->row.call, letter->call);
    error = begins && row->row.status == HF_LETTER_REPLAYING                                 ? HF_ERR_BUSY
            : begins && row->row.status != HF_LETTER_DEAD                                    ? HF_ERR_INVALID
            : letter->status == HF_LETTER_REPLAYED && row->row.status != HF_LETTER_REPLAYING ? HF_ERR_INVALID
                                                                                             : 0;
    if (error < 0 || store->error)
      break;
    store->changed++;
    row->row.status = letter->status;
    row->row.last_ms = letter->last_ms ? letter->last_ms : row->row.last_ms;
    row->row.replays = letter->replays ? letter->replays : row->row.replays;
    change_text(row, &row->row.result, letter->result);
    change_text(row, &row->row.call, letter->call);
    change_text(row, &row->row.key, letter->key);
    change_text(row, &row->row.arguments, letter->arguments);
    change_text(row, &row->row.executed, letter->executed);
    change_text(row, &row->row.history, letter->history);
  }
  owe(store, wait, NULL, store->error ? store->error : error, "");
}

static void op_letters(struct hf_store *head, const struct hf_letter_filter *filter, struct hf_store_query *query) {
  struct fake_store *store = store_of(head);
  owe(store, NULL, query, 0, "");
  store->answers[store->answer_count - 1].filter = *filter;
}

static struct fake_keyed *find_key(struct fake_store *store, const struct hf_keyed *keyed) {
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++) {
    struct fake_keyed *row = &store->keys[i];
    if (row->used && hf_str_equal(hf_str_from(row->principal), keyed->principal) &&
        hf_str_equal(hf_str_from(row->server), keyed->server) && hf_str_equal(hf_str_from(row->tool), keyed->tool) &&
        hf_str_equal(hf_str_from(row->key), keyed->key) && row->expires_ms > store->loop->wall_ms)
      return row;
  }
  return NULL;
}

static int remember(struct fake_store *store, const struct hf_keyed *keyed) {
  struct fake_keyed *row = find_key(store, keyed);
  if (row && memcmp(&row->fingerprint, &keyed->fingerprint, sizeof row->fingerprint) != 0)
    return HF_ERR_EXISTS;
  for (size_t i = 0; !row; i++) {
    assert(i < FAKE_ROWS_MAX);
    if (store->keys[i].used)
      continue;
    row = &store->keys[i];
    row->used = true;
    put(row->principal, keyed->principal);
    put(row->server, keyed->server);
    put(row->tool, keyed->tool);
    put(row->key, keyed->key);
    row->fingerprint = keyed->fingerprint;
    row->first_ms = keyed->first_ms;
    row->expires_ms = keyed->expires_ms;
  }
  if (keyed->result.ptr)
    put(row->result, keyed->result);
  return 0;
}

static void op_remember(struct hf_store *head, const struct hf_keyed *keyed, struct hf_store_wait *wait) {
  struct fake_store *store = store_of(head);
  store->remembered++;
  owe(store, wait, NULL, store->error ? store->error : remember(store, keyed), "");
}

static void op_keep(struct hf_store *head, const struct hf_cached *cached) {
  struct fake_store *store = store_of(head);
  size_t i = 0;
  while (store->cached[i].used &&
         memcmp(&store->cached[i].fingerprint, &cached->fingerprint, sizeof cached->fingerprint) != 0)
    i++;
  assert(i < FAKE_ROWS_MAX);
  struct fake_cached *row = &store->cached[i];
  *row = (struct fake_cached){true, cached->fingerprint, "", cached->at_ms, cached->expires_ms};
  put(row->result, cached->result);
}

static void op_load(struct hf_store *head, hf_keyed_fn *keyed, hf_cached_fn *cached, void *ctx) {
  struct fake_store *store = store_of(head);
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++) {
    const struct fake_keyed *k = &store->keys[i];
    struct hf_keyed row = {.principal = get(k->principal),
                           .server = get(k->server),
                           .tool = get(k->tool),
                           .key = get(k->key),
                           .fingerprint = k->fingerprint,
                           .first_ms = k->first_ms,
                           .expires_ms = k->expires_ms,
                           .result = get(k->result)};
    if (k->used)
      keyed(ctx, &row);
    const struct fake_cached *c = &store->cached[i];
    struct hf_cached answer = {c->fingerprint, get(c->result), c->at_ms, c->expires_ms};
    if (c->used)
      cached(ctx, &answer);
  }
}

static void tell_recovered(struct fake_store *store) {
  for (size_t i = 0; store->news && i < FAKE_ROWS_MAX; i++)
    if (store->letters[i].used && hf_str_equal(store->letters[i].row.reason, HF_STR("gateway_died")))
      store->news(store->news_ctx, HF_NEWS_RECOVERED, &store->letters[i].row);
}

static void op_watch(struct hf_store *head, hf_store_news_fn *news, void *ctx) {
  struct fake_store *store = store_of(head);
  store->news = news;
  store->news_ctx = ctx;
  tell_recovered(store);
}

static void op_stats(struct hf_store *head, struct hf_store_stats *ret_stats) {
  struct fake_store *store = store_of(head);
  *ret_stats = (struct hf_store_stats){0};
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    ret_stats->tasks += store->tasks[i].used;
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    if (store->letters[i].used)
      ret_stats->depth[store->letters[i].row.status]++;
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    for (unsigned fault = 0; fault < HF_FAULT_COUNT && store->letters[i].used; fault++)
      ret_stats->waiting[fault] +=
          store->letters[i].row.status == HF_LETTER_DEAD &&
          hf_str_equal(store->letters[i].row.reason, hf_str_from(hf_fault_name((enum hf_fault)fault)));
}

static void drop_answers(struct fake_store *store, const struct hf_store_wait *wait, const struct hf_store_query *query,
                         const struct hf_task_query *task_query) {
  size_t kept = 0;
  for (size_t i = 0; i < store->answer_count; i++)
    if (store->answers[i].wait != wait || store->answers[i].query != query ||
        store->answers[i].task_query != task_query)
      store->answers[kept++] = store->answers[i];
  store->answer_count = kept;
}

static void op_forget(struct hf_store *head, struct hf_store_wait *wait) {
  struct fake_store *store = store_of(head);
  store->forgotten++;
  drop_answers(store, wait, NULL, NULL);
}

static void op_forget_query(struct hf_store *head, struct hf_store_query *query) {
  drop_answers(store_of(head), NULL, query, NULL);
}

static void op_forget_task_query(struct hf_store *head, struct hf_task_query *query) {
  drop_answers(store_of(head), NULL, NULL, query);
}

static void task_texts(struct hf_stored_task *task, struct hf_str *texts[FAKE_TASK_TEXTS]) {
  struct hf_str *all[FAKE_TASK_TEXTS] = {&task->id,     &task->principal, &task->endpoint, &task->call,
                                         &task->tool,   &task->server,    &task->letter,   &task->server_task,
                                         &task->result, &task->message};
  memcpy(texts, all, sizeof all);
}

struct fake_task *fake_store_task(struct fake_store *store, const char *id) {
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    if (store->tasks[i].used && hf_str_equal(store->tasks[i].row.id, hf_str_from(id)))
      return &store->tasks[i];
  return NULL;
}

static struct fake_task *task_of(struct fake_store *store, struct hf_str id) {
  char text[FAKE_TEXT_MAX];
  put(text, id);
  return fake_store_task(store, text);
}

static bool is_unfinished(const struct fake_task *task) {
  return task->used && task->row.status < HF_TASK_COMPLETED;
}

/* What is absent stays as it was. */
static void write_task(struct fake_task *to, const struct hf_stored_task *from) {
  struct hf_stored_task given = *from;
  struct hf_str *texts[FAKE_TASK_TEXTS];
  struct hf_str *new_texts[FAKE_TASK_TEXTS];
  task_texts(&to->row, texts);
  task_texts(&given, new_texts);
  for (size_t i = 0; i < FAKE_TASK_TEXTS; i++) {
    if (!new_texts[i]->ptr)
      continue;
    assert(new_texts[i]->len < FAKE_TASK_TEXT_MAX);
    memcpy(to->text[i], new_texts[i]->ptr, new_texts[i]->len);
    to->text[i][new_texts[i]->len] = '\0';
    *texts[i] = hf_str_from(to->text[i]);
  }
  to->used = true;
  to->nobodys = false;
  to->row.status = from->status;
  to->row.failed = from->failed;
  to->row.created_ms = from->created_ms ? from->created_ms : to->row.created_ms;
  to->row.updated_ms = from->updated_ms ? from->updated_ms : to->row.updated_ms;
  to->row.expires_ms = from->expires_ms ? from->expires_ms : to->row.expires_ms;
}

static int keep_task(struct fake_store *store, const struct hf_stored_task *task) {
  struct fake_task *row = task_of(store, task->id);
  if (row && row->row.elsewhere)
    return HF_ERR_BUSY;
  if (!row && (task->created_ms == 0 || task->expires_ms == 0))
    return HF_ERR_NOTFOUND;
  if (task->result.len > HF_TASK_RESULT_MAX)
    return HF_ERR_LIMIT;
  for (size_t i = 0; !row; i++) {
    if (i == FAKE_ROWS_MAX)
      return HF_ERR_LIMIT;
    if (store->tasks[i].used)
      continue;
    row = &store->tasks[i];
    *row = (struct fake_task){0};
    row->row.principal = row->row.endpoint = HF_STR("");
  }
  write_task(row, task);
  return 0;
}

static void op_keep_task(struct hf_store *head, const struct hf_stored_task *task, struct hf_store_wait *wait) {
  struct fake_store *store = store_of(head);
  store->kept_tasks++;
  const int error = store->error ? store->error : keep_task(store, task);
  if (wait)
    owe(store, wait, NULL, error, "");
}

static void op_drop_task(struct hf_store *head, struct hf_str id) {
  struct fake_task *row = task_of(store_of(head), id);
  if (row && !(row->row.elsewhere && is_unfinished(row)))
    row->used = false;
}

static struct fake_answer *owe_tasks(struct fake_store *store, struct hf_task_query *query, struct hf_str task) {
  owe(store, NULL, NULL, 0, "");
  struct fake_answer *answer = &store->answers[store->answer_count - 1];
  answer->task_query = query;
  put(answer->task, task);
  return answer;
}

static void op_find_task(struct hf_store *head, struct hf_str id, struct hf_task_query *query) {
  (void)owe_tasks(store_of(head), query, id);
}

static void op_list_tasks(struct hf_store *head, const struct hf_task_filter *filter, struct hf_task_query *query) {
  struct fake_answer *answer = owe_tasks(store_of(head), query, filter->after);
  answer->lists = true;
  answer->limit = filter->limit;
  put(answer->principal, filter->principal);
  put(answer->endpoint, filter->endpoint);
}

static bool is_listed(const struct fake_store *store, const struct fake_task *task, const struct fake_answer *answer) {
  return task->used && task->row.expires_ms > store->loop->wall_ms &&
         hf_str_equal(task->row.principal, hf_str_from(answer->principal)) &&
         hf_str_equal(task->row.endpoint, hf_str_from(answer->endpoint));
}

/* The oldest of those that are listed and behind `before`; equally old ones in the order of their places. */
static struct fake_task *next_listed(struct fake_store *store, const struct fake_answer *answer,
                                     const struct fake_task *before) {
  struct fake_task *next = NULL;
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++) {
    struct fake_task *task = &store->tasks[i];
    if (!is_listed(store, task, answer))
      continue;
    const bool behind = !before || task->row.created_ms > before->row.created_ms ||
                        (task->row.created_ms == before->row.created_ms && task > before);
    if (behind && (!next || task->row.created_ms < next->row.created_ms))
      next = task;
  }
  return next;
}

static int list_tasks(struct fake_store *store, const struct fake_answer *answer) {
  struct fake_task *task = answer->task[0] ? fake_store_task(store, answer->task) : NULL;
  if (answer->task[0] && !task)
    return HF_ERR_NOTFOUND;
  for (unsigned i = 0; i < answer->limit && (task = next_listed(store, answer, task)) != NULL; i++) {
    struct hf_stored_task small = task->row;
    small.result = (struct hf_str){NULL, 0};
    answer->task_query->row(answer->task_query->ctx, &small);
  }
  return 0;
}

static void give_tasks(struct fake_store *store, const struct fake_answer *answer) {
  int error = answer->error;
  const struct fake_task *task = answer->lists ? NULL : fake_store_task(store, answer->task);
  if (answer->lists && error == 0)
    error = list_tasks(store, answer);
  else if (task && task->row.expires_ms > store->loop->wall_ms)
    answer->task_query->row(answer->task_query->ctx, &task->row);
  answer->task_query->done(answer->task_query, error);
}

static void tell_tasks(struct fake_store *store) {
  for (size_t i = 0; store->take && i < FAKE_ROWS_MAX; i++) {
    struct fake_task *task = &store->tasks[i];
    if (!is_unfinished(task) || !task->nobodys || task->row.expires_ms <= store->loop->wall_ms)
      continue;
    task->nobodys = false;
    const struct hf_stored_task row = task->row;
    store->take(store->take_ctx, &row);
  }
}

static void op_take_tasks(struct hf_store *head, hf_stored_task_fn *task, void *ctx) {
  struct fake_store *store = store_of(head);
  store->take = task;
  store->take_ctx = ctx;
  tell_tasks(store);
}

static void leave_tasks(struct fake_store *store) {
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    if (is_unfinished(&store->tasks[i]) && !store->tasks[i].row.elsewhere)
      store->tasks[i].nobodys = true;
}

static struct fake_task *task_of_call(struct fake_store *store, const char *call) {
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    if (is_unfinished(&store->tasks[i]) && hf_str_equal(store->tasks[i].row.call, hf_str_from(call)))
      return &store->tasks[i];
  return NULL;
}

static int op_tally(struct hf_store *head, struct hf_str rows) {
  (void)head, (void)rows;
  return 0;
}

static struct hf_str op_owner(const struct hf_store *head) {
  (void)head;
  return HF_STR("t");
}

static const struct hf_store_ops ops = {
    .intend = op_intend,
    .settle = op_settle,
    .bury = op_bury,
    .change = op_change,
    .letters = op_letters,
    .remember = op_remember,
    .keep = op_keep,
    .tally = op_tally,
    .keep_task = op_keep_task,
    .drop_task = op_drop_task,
    .find_task = op_find_task,
    .list_tasks = op_list_tasks,
    .take_tasks = op_take_tasks,
    .load = op_load,
    .watch = op_watch,
    .stats = op_stats,
    .forget = op_forget,
    .forget_query = op_forget_query,
    .forget_task_query = op_forget_task_query,
    .owner = op_owner,
};

void fake_store_init(struct fake_store *store, struct hf_loop *loop) {
  store->head.ops = &ops;
  fake_store_reopen(store, loop);
}

void fake_store_reopen(struct fake_store *store, struct hf_loop *loop) {
  assert(store->answer_count == 0);
  store->loop = loop;
  store->news = NULL;
  store->take = NULL;
  leave_tasks(store);
  hf_job_init(&store->job, run_job);
}

unsigned fake_store_owner_died(struct fake_store *store) {
  unsigned made = 0;
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++) {
    struct fake_intent *intent = &store->intents[i];
    struct fake_task *task = task_of_call(store, intent->call);
    if (!intent->used || (task && task->row.server_task.len && task->row.expires_ms > store->loop->wall_ms))
      continue;
    struct hf_letter row = {.call = get(intent->call),
                            .principal = get(intent->principal),
                            .tool = get(intent->tool),
                            .reason = HF_STR("gateway_died"),
                            .executed = HF_STR("maybe"),
                            .arguments = get(intent->arguments),
                            .key = get(intent->key),
                            .fingerprint = intent->fingerprint,
                            .first_ms = intent->at_ms,
                            .last_ms = intent->at_ms};
    const struct fake_letter *letter = add_letter(store, &row);
    const struct hf_stored_task named = {.letter = hf_str_from(letter->id), .status = task ? task->row.status : 0};
    if (task)
      write_task(task, &named);
    intent->used = false;
    made++;
  }
  leave_tasks(store);
  tell_recovered(store);
  tell_tasks(store);
  return made;
}

unsigned fake_store_open_intents(const struct fake_store *store) {
  unsigned count = 0;
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    count += store->intents[i].used;
  return count;
}

unsigned fake_store_letters(const struct fake_store *store) {
  unsigned count = 0;
  for (size_t i = 0; i < FAKE_ROWS_MAX; i++)
    count += store->letters[i].used;
  return count;
}
