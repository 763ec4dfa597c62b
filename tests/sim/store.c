#include "store.h"

#include "gateway.h"

#include <stdlib.h>
#include <string.h>

enum { LETTER_TEXTS = 15, TASK_TEXTS = 10 };

/* How it is for a while. */
enum mood { GOOD, SLOW, FAILING, HANGING, MOODS };

enum kind { INTEND, SETTLE, BURY, CHANGE, LETTERS, REMEMBER, KEEP, KEEP_TASK, DROP_TASK, FIND_TASK, LIST_TASKS };

/* What was asked for, in its order. */
struct op {
  struct hf_list link;
  enum kind kind;
  hf_time at; /* when it is done, then when it is answered */
  bool done;
  struct hf_store_wait *wait;
  struct hf_store_query *query;
  struct hf_task_query *task_query;
  int error;
  char id[HF_LETTER_ID_MAX];
  struct hf_intent intent;
  struct hf_letter letter;
  struct hf_letter_filter filter;
  struct hf_keyed keyed;
  struct hf_cached cached;
  struct hf_stored_task task; /* also what one is looked for, and, with `after` as its id, which are listed */
  unsigned limit;
};

struct letter_row {
  struct letter_row *next;
  struct hf_letter row; /* owns its texts */
  char id[HF_LETTER_ID_MAX];
  unsigned returns;
  bool recovered; /* nobody has been told yet */
};

struct intent_row {
  struct intent_row *next;
  struct hf_intent row;
  bool
      inherited; /* its call goes on at its server; if it is lost before that is asked, this stays for the next owner */
};

struct keyed_row {
  struct keyed_row *next;
  struct hf_keyed row;
};

struct cached_row {
  struct cached_row *next;
  struct hf_cached row;
};

struct task_row {
  struct task_row *next; /* the newest first */
  struct hf_stored_task row;
  bool nobodys; /* its gateway died, and nobody has taken it */
};

struct sim_store {
  struct hf_store head;
  struct sim_gateway *sim;
  struct hf_list ops;
  struct sim_timer timer;
  struct letter_row *letters;
  struct intent_row *intents;
  struct keyed_row *keys;
  struct cached_row *cached;
  struct task_row *tasks;
  unsigned made;
  unsigned quarantine;
  enum mood mood;
  hf_time mood_until;
  bool moody;
  bool failed;
  bool dead;
  hf_store_news_fn *news;
  void *news_ctx;
};

static struct sim_store *store_of(struct hf_store *head) {
  return (struct sim_store *)head;
}

static struct hf_str copy(struct hf_str text) {
  if (!text.ptr)
    return text;
  char *bytes = malloc(text.len + 1);
  if (!bytes)
    abort();
  memcpy(bytes, text.ptr, text.len);
  bytes[text.len] = '\0';
  return (struct hf_str){bytes, text.len};
}

static void drop(struct hf_str *text) {
  free((void *)(uintptr_t)text->ptr);
  *text = (struct hf_str){NULL, 0};
}

static void letter_texts(struct hf_letter *letter, struct hf_str *texts[LETTER_TEXTS]) {
  struct hf_str *all[LETTER_TEXTS] = {
      &letter->call,   &letter->principal, &letter->tool,      &letter->route,  &letter->providers,
      &letter->reason, &letter->end,       &letter->executed,  &letter->schema, &letter->attempts,
      &letter->key,    &letter->trace_id,  &letter->arguments, &letter->result, &letter->history,
  };
  memcpy(texts, all, sizeof all);
}

static void letter_own(struct hf_letter *letter) {
  struct hf_str *texts[LETTER_TEXTS];
  letter_texts(letter, texts);
  for (size_t i = 0; i < LETTER_TEXTS; i++)
    *texts[i] = copy(*texts[i]);
}

static void letter_drop(struct hf_letter *letter) {
  struct hf_str *texts[LETTER_TEXTS];
  letter_texts(letter, texts);
  for (size_t i = 0; i < LETTER_TEXTS; i++)
    drop(texts[i]);
}

static void intent_each(struct hf_intent *intent, bool own) {
  struct hf_str *texts[] = {&intent->call,      &intent->principal, &intent->server, &intent->tool,
                            &intent->arguments, &intent->route,     &intent->key,    &intent->trace_id};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (own)
      *texts[i] = copy(*texts[i]);
    else
      drop(texts[i]);
  }
}

static void keyed_each(struct hf_keyed *keyed, bool own) {
  struct hf_str *texts[] = {&keyed->principal, &keyed->server, &keyed->tool, &keyed->key, &keyed->result};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (own)
      *texts[i] = copy(*texts[i]);
    else
      drop(texts[i]);
  }
}

static void task_texts(struct hf_stored_task *task, struct hf_str *texts[TASK_TEXTS]) {
  struct hf_str *all[TASK_TEXTS] = {
      &task->id,     &task->principal,   &task->endpoint, &task->call,    &task->tool,
      &task->server, &task->server_task, &task->letter,   &task->message, &task->result,
  };
  memcpy(texts, all, sizeof all);
}

static void task_each(struct hf_stored_task *task, bool own) {
  struct hf_str *texts[TASK_TEXTS];
  task_texts(task, texts);
  for (size_t i = 0; i < TASK_TEXTS; i++) {
    if (own)
      *texts[i] = copy(*texts[i]);
    else
      drop(texts[i]);
  }
}

static void op_free(struct op *op) {
  hf_list_remove(&op->link);
  intent_each(&op->intent, false);
  letter_drop(&op->letter);
  drop(&op->filter.id);
  keyed_each(&op->keyed, false);
  drop(&op->cached.result);
  task_each(&op->task, false);
  free(op);
}

static void change_mood(struct sim_store *store) {
  static const unsigned weights[MOODS] = {70, 12, 10, 8};
  struct sim_world *w = store->sim->world;
  if (!store->moody || w->now < store->mood_until)
    return;
  uint64_t draw = hf_random_below(&w->random, 100);
  store->mood = GOOD;
  while (draw >= weights[store->mood])
    draw -= weights[store->mood++];
  store->mood_until = w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(120));
  store->failed = store->failed || store->mood != GOOD;
}

static hf_time takes(struct sim_store *store) {
  struct sim_world *w = store->sim->world;
  if (store->mood == HANGING)
    return store->mood_until - w->now;
  return sim_world_between(w, 0, store->mood == SLOW ? HF_SECONDS(4) : HF_MS(20));
}

static void fire(struct sim_timer *timer);

static void arm(struct sim_store *store) {
  if (!hf_list_empty(&store->ops))
    sim_timer_set(store->sim->world, &store->timer, HF_CONTAINER_OF(store->ops.next, struct op, link)->at, fire);
}

static struct op *ask(struct sim_store *store, enum kind kind, struct hf_store_wait *wait,
                      struct hf_store_query *query) {
  struct op *op = calloc(1, sizeof *op);
  if (!op)
    abort();
  hf_list_init(&op->link);
  op->kind = kind;
  op->wait = wait;
  op->query = query;
  change_mood(store);
  op->at = store->sim->world->now + takes(store);
  if (!hf_list_empty(&store->ops))
    op->at = hf_time_max(op->at, HF_CONTAINER_OF(store->ops.prev, struct op, link)->at);
  hf_list_push_back(&store->ops, &op->link);
  arm(store);
  return op;
}

long sim_letter_deed(const struct hf_letter *letter) {
  char text[SIM_TEXT_MAX];
  snprintf(text, sizeof text, "%.*s", HF_STR_FMT(letter->arguments));
  long n = sim_number_after(text, "\"n\":");
  return n >= 0 ? n : sim_number_after(text, "\"num\":");
}

static struct sim_deed *deed_of(struct sim_store *store, const struct hf_letter *letter) {
  long n = sim_letter_deed(letter);
  sim_check(store->sim->check, n >= 0 && n < (long)store->sim->asked, "a letter or intent about nothing", (unsigned)n);
  return &store->sim->deeds.deed[n < 0 ? 0 : n];
}

static void end_intent(struct sim_store *store, struct hf_str call) {
  for (struct intent_row **at = &store->intents; *at; at = &(*at)->next) {
    struct intent_row *row = *at;
    if (!hf_str_equal(row->row.call, call))
      continue;
    *at = row->next;
    intent_each(&row->row, false);
    free(row);
    return;
  }
}

static void do_intend(struct sim_store *store, struct op *op) {
  struct intent_row *row = calloc(1, sizeof *row);
  if (!row)
    abort();
  for (struct intent_row *other = store->intents; other; other = other->next)
    sim_check(store->sim->check, !hf_str_equal(other->row.call, op->intent.call), "one call has two intents", 0);
  row->row = op->intent;
  op->intent = (struct hf_intent){0};
  row->next = store->intents;
  store->intents = row;
}

static unsigned rank(struct hf_str executed) {
  return hf_str_equal(executed, HF_STR("no")) ? 0 : hf_str_equal(executed, HF_STR("yes")) ? 2 : 1;
}

/* What is absent stays as it was. */
static void put(struct hf_str *to, struct hf_str from) {
  if (!from.ptr)
    return;
  drop(to);
  *to = copy(from);
}

static bool same(const struct hf_fingerprint *a, const struct hf_fingerprint *b) {
  return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

static struct letter_row *find_return(struct sim_store *store, const struct hf_letter *letter) {
  struct letter_row *equal = NULL;
  for (struct letter_row *row = store->letters; row; row = row->next) {
    if (row->row.status == HF_LETTER_REPLAYING && hf_str_equal(row->row.call, letter->call))
      return row;
    bool waits = row->row.status == HF_LETTER_DEAD || row->row.status == HF_LETTER_QUARANTINED;
    if (waits && same(&row->row.fingerprint, &letter->fingerprint) && (!equal || row->row.last_ms > equal->row.last_ms))
      equal = row;
  }
  return equal;
}

static void come_back(struct sim_store *store, struct letter_row *row, const struct hf_letter *letter) {
  row->returns++;
  bool poison = store->quarantine > 0 && row->returns >= store->quarantine;
  if (row->row.status != HF_LETTER_QUARANTINED)
    row->row.status = poison ? HF_LETTER_QUARANTINED : HF_LETTER_DEAD;
  row->row.count++;
  if (letter->last_ms > row->row.last_ms)
    row->row.last_ms = letter->last_ms;
  if (letter->first_ms < row->row.first_ms)
    row->row.first_ms = letter->first_ms;
  row->row.fingerprint = letter->fingerprint;
  if (rank(letter->executed) > rank(row->row.executed))
    put(&row->row.executed, letter->executed);
  put(&row->row.call, letter->call);
  put(&row->row.providers, letter->providers);
  put(&row->row.reason, letter->reason);
  put(&row->row.end, letter->end);
  put(&row->row.key, letter->key);
  put(&row->row.attempts, letter->attempts);
}

static struct letter_row *add_letter(struct sim_store *store, const struct hf_letter *letter) {
  struct sim_deed *deed = deed_of(store, letter);
  char principal[8];
  snprintf(principal, sizeof principal, "p%u", deed->principal);
  sim_check(store->sim->check, deed->tool == SIM_TOOL_READ || hf_str_equal(letter->principal, hf_str_from(principal)),
            "a letter of another principal", (unsigned)sim_letter_deed(letter));
  deed->letters++;
  struct letter_row *row = find_return(store, letter);
  if (row) {
    come_back(store, row, letter);
    return row;
  }
  row = calloc(1, sizeof *row);
  if (!row)
    abort();
  row->row = *letter;
  letter_own(&row->row);
  snprintf(row->id, sizeof row->id, "d-%u", ++store->made);
  row->row.id = hf_str_from(row->id);
  row->row.status = HF_LETTER_DEAD;
  row->row.count = 1;
  row->row.replays = 0;
  row->next = store->letters;
  store->letters = row;
  return row;
}

/* Whoever went on with a call that another gateway had made was not told its arguments. */
static void take_from_intent(struct sim_store *store, struct hf_letter *letter) {
  for (const struct intent_row *row = store->intents; row && letter->arguments.len == 0; row = row->next) {
    if (!hf_str_equal(row->row.call, letter->call))
      continue;
    put(&letter->arguments, row->row.arguments);
    put(&letter->key, row->row.key);
    letter->fingerprint = row->row.fingerprint;
  }
}

static void do_bury(struct sim_store *store, struct op *op) {
  take_from_intent(store, &op->letter);
  if (!op->letter.arguments.ptr) { /* of what had no intent: nobody can say which deed it is about */
    snprintf(op->id, sizeof op->id, SIM_LETTER_OF_NOTHING);
    return;
  }
  if (!sim_check(store->sim->check, sim_letter_deed(&op->letter) >= 0, "a letter without its arguments", 0))
    return;
  snprintf(op->id, sizeof op->id, "%s", add_letter(store, &op->letter)->id);
  end_intent(store, op->letter.call);
}

static struct letter_row *find_letter(const struct sim_store *store, struct hf_str id) {
  struct letter_row *row = store->letters;
  while (row && !hf_str_equal(hf_str_from(row->id), id))
    row = row->next;
  return row;
}

static int judge_change(const struct letter_row *row, const struct hf_letter *letter) {
  enum hf_letter_status from = row->row.status, to = letter->status;
  if (to == HF_LETTER_REPLAYING && from == HF_LETTER_REPLAYING)
    return hf_str_equal(row->row.call, letter->call) ? 0 : HF_ERR_BUSY; /* who has it may say more of it */
  if ((to == HF_LETTER_REPLAYING && from != HF_LETTER_DEAD) ||
      (to == HF_LETTER_REPLAYED && from != HF_LETTER_REPLAYING && from != HF_LETTER_REPLAYED))
    return HF_ERR_INVALID;
  return 0;
}

static int do_change(struct sim_store *store, struct op *op) {
  struct letter_row *row = find_letter(store, op->letter.id);
  int r = row ? judge_change(row, &op->letter) : HF_ERR_NOTFOUND;
  if (r < 0)
    return r;
  row->row.status = op->letter.status;
  row->row.replays = op->letter.replays ? op->letter.replays : row->row.replays;
  if (op->letter.last_ms > row->row.last_ms)
    row->row.last_ms = op->letter.last_ms;
  put(&row->row.executed, op->letter.executed);
  put(&row->row.call, op->letter.call);
  put(&row->row.key, op->letter.key);
  put(&row->row.arguments, op->letter.arguments);
  put(&row->row.result, op->letter.result);
  put(&row->row.history, op->letter.history);
  return 0;
}

static struct keyed_row *find_key(struct sim_store *store, const struct hf_keyed *keyed) {
  struct keyed_row *row = store->keys;
  while (row && !(hf_str_equal(row->row.principal, keyed->principal) && hf_str_equal(row->row.server, keyed->server) &&
                  hf_str_equal(row->row.tool, keyed->tool) && hf_str_equal(row->row.key, keyed->key)))
    row = row->next;
  return row;
}

static int do_remember(struct sim_store *store, struct op *op) {
  struct keyed_row *row = find_key(store, &op->keyed);
  bool valid = row && row->row.expires_ms > store->sim->loop.wall_ms;
  if (valid && !same(&row->row.fingerprint, &op->keyed.fingerprint))
    return HF_ERR_EXISTS;
  if (!row) {
    row = calloc(1, sizeof *row);
    if (!row)
      abort();
    row->row = op->keyed;
    keyed_each(&row->row, true);
    row->next = store->keys;
    store->keys = row;
  } else if (!valid) {
    drop(&row->row.result);
    row->row.fingerprint = op->keyed.fingerprint;
    row->row.first_ms = op->keyed.first_ms;
    row->row.expires_ms = op->keyed.expires_ms;
  }
  put(&row->row.result, op->keyed.result);
  return 0;
}

static void do_keep(struct sim_store *store, struct op *op) {
  struct cached_row *row = store->cached;
  while (row && !same(&row->row.fingerprint, &op->cached.fingerprint))
    row = row->next;
  if (!row) {
    row = calloc(1, sizeof *row);
    if (!row)
      abort();
    row->next = store->cached;
    store->cached = row;
  }
  drop(&row->row.result);
  row->row = op->cached;
  row->row.result = copy(op->cached.result);
}

static struct task_row *find_task(const struct sim_store *store, struct hf_str id) {
  struct task_row *row = store->tasks;
  while (row && !hf_str_equal(row->row.id, id))
    row = row->next;
  return row;
}

static bool is_unfinished(const struct task_row *row) {
  return row->row.status < HF_TASK_COMPLETED;
}

static bool has_expired(const struct sim_store *store, const struct task_row *row) {
  return row->row.expires_ms <= store->sim->loop.wall_ms;
}

static int do_keep_task(struct sim_store *store, struct op *op) {
  struct task_row *row = find_task(store, op->task.id);
  if (!row && (op->task.created_ms == 0 || op->task.expires_ms == 0))
    return HF_ERR_NOTFOUND;
  if (op->task.result.len > HF_TASK_RESULT_MAX)
    return HF_ERR_LIMIT;
  if (!row) {
    row = calloc(1, sizeof *row);
    if (!row)
      abort();
    row->next = store->tasks;
    store->tasks = row;
  }
  struct hf_str *to[TASK_TEXTS];
  struct hf_str *from[TASK_TEXTS];
  task_texts(&row->row, to);
  task_texts(&op->task, from);
  for (size_t i = 0; i < TASK_TEXTS; i++)
    put(to[i], *from[i]);
  row->nobodys = false;
  row->row.status = op->task.status;
  row->row.failed = op->task.failed;
  row->row.created_ms = op->task.created_ms ? op->task.created_ms : row->row.created_ms;
  row->row.updated_ms = op->task.updated_ms ? op->task.updated_ms : row->row.updated_ms;
  row->row.expires_ms = op->task.expires_ms ? op->task.expires_ms : row->row.expires_ms;
  return 0;
}

static void remove_task(struct task_row **at) {
  struct task_row *row = *at;
  *at = row->next;
  task_each(&row->row, false);
  free(row);
}

static void do_drop_task(struct sim_store *store, struct op *op) {
  struct task_row **at = &store->tasks;
  while (*at && !hf_str_equal((*at)->row.id, op->task.id))
    at = &(*at)->next;
  if (*at)
    remove_task(at);
}

static int perform(struct sim_store *store, struct op *op) {
  if (store->mood == FAILING && op->kind != SETTLE)
    return HF_ERR_IO;
  switch (op->kind) {
  case INTEND:
    do_intend(store, op);
    break;
  case SETTLE:
    end_intent(store, op->intent.call);
    break;
  case BURY:
    do_bury(store, op);
    break;
  case CHANGE:
    return do_change(store, op);
  case REMEMBER:
    return do_remember(store, op);
  case KEEP:
    do_keep(store, op);
    break;
  case KEEP_TASK:
    return do_keep_task(store, op);
  case DROP_TASK:
    do_drop_task(store, op);
    break;
  case LETTERS:
  case FIND_TASK:
  case LIST_TASKS:
    break;
  }
  return 0;
}

static bool matches(const struct hf_letter_filter *filter, const struct hf_letter *row) {
  return (!filter->id.ptr || hf_str_equal(filter->id, row->id)) &&
         (filter->any_status || filter->status == row->status);
}

static void give_rows(struct sim_store *store, struct op *op) {
  unsigned left = op->filter.limit ? op->filter.limit : HF_LETTERS_MAX;
  for (struct letter_row *row = op->error < 0 ? NULL : store->letters; row && left > 0; row = row->next) {
    if (!matches(&op->filter, &row->row))
      continue;
    op->query->row(op->query->ctx, &row->row);
    left--;
  }
  op->query->done(op->query, op->error);
}

static void give_task(struct sim_store *store, struct op *op) {
  const struct task_row *row = op->error < 0 ? NULL : find_task(store, op->task.id);
  if (row && !has_expired(store, row))
    op->task_query->row(op->task_query->ctx, &row->row);
  op->task_query->done(op->task_query, op->error);
}

/* The oldest that is listed and newer than `before`. */
static const struct task_row *next_listed(const struct sim_store *store, const struct op *op,
                                          const struct task_row *before) {
  const struct task_row *next = NULL;
  bool newer = true; /* in the order of the list */
  for (const struct task_row *row = store->tasks; row; row = row->next) {
    newer = newer && row != before;
    const bool behind = !before || row->row.created_ms > before->row.created_ms ||
                        (row->row.created_ms == before->row.created_ms && newer);
    if (behind && !has_expired(store, row) && hf_str_equal(row->row.principal, op->task.principal) &&
        hf_str_equal(row->row.endpoint, op->task.endpoint) && (!next || row->row.created_ms <= next->row.created_ms))
      next = row;
  }
  return next;
}

static void give_tasks(struct sim_store *store, struct op *op) {
  const struct task_row *row = op->task.id.ptr ? find_task(store, op->task.id) : NULL;
  if (op->error == 0 && op->task.id.ptr && !row)
    op->error = HF_ERR_NOTFOUND;
  for (unsigned i = 0; op->error == 0 && i < op->limit && (row = next_listed(store, op, row)) != NULL; i++) {
    struct hf_stored_task small = row->row;
    small.result = (struct hf_str){NULL, 0};
    op->task_query->row(op->task_query->ctx, &small);
  }
  op->task_query->done(op->task_query, op->error);
}

/* The gateway notes such a call when it hears that the letter is written. */
static void note_lost(struct sim_store *store, const struct op *op) {
  const long number = op->kind == BURY && op->error == 0 ? sim_letter_deed(&op->letter) : -1;
  if (number < 0)
    return; /* one without arguments is of a call that was taken over */
  struct sim_deed *deed = &store->sim->deeds.deed[number];
  bool effects = deed->tool == SIM_TOOL_UNSAFE || deed->tool == SIM_TOOL_KEYED;
  if (effects && hf_str_equal(op->letter.end, HF_STR("cancelled")) &&
      hf_str_equal(op->letter.executed, HF_STR("maybe")) && deed->known == SIM_VANISHED &&
      sim_chain_tool(&store->sim->options.chain, deed->server, deed->tool)->coalesce > 0)
    deed->lost_at = store->sim->world->now;
}

static void answer(struct sim_store *store, struct op *op) {
  if (op->wait) {
    struct hf_store_wait *wait = op->wait;
    note_lost(store, op);
    op->wait = NULL;
    wait->done(wait, op->error, op->id[0] ? hf_str_from(op->id) : (struct hf_str){NULL, 0});
  } else if (op->query) {
    give_rows(store, op);
  } else if (op->task_query && op->kind == FIND_TASK) {
    give_task(store, op);
  } else if (op->task_query) {
    give_tasks(store, op);
  }
}

static void fire(struct sim_timer *timer) {
  struct sim_store *store = HF_CONTAINER_OF(timer, struct sim_store, timer);
  struct sim_world *w = store->sim->world;
  struct op *op = HF_CONTAINER_OF(store->ops.next, struct op, link);
  change_mood(store);
  if (!op->done) {
    op->error = perform(store, op);
    op->done = true;
    if (store->sim->trace)
      fprintf(store->sim->trace, "%.6f store does %d, comes to %d %s\n", (double)w->now / 1e6, op->kind, op->error,
              op->id);
    if (sim_world_chance(w, 20)) {
      op->at = w->now + sim_world_between(w, 0, HF_MS(10));
      arm(store);
      return;
    }
  }
  hf_list_remove(&op->link);
  answer(store, op);
  op_free(op);
  arm(store);
}

static void op_intend(struct hf_store *head, const struct hf_intent *intent, struct hf_store_wait *wait) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, INTEND, wait, NULL);
  op->intent = *intent;
  intent_each(&op->intent, true);
}

static void op_settle(struct hf_store *head, struct hf_str call) {
  struct sim_store *store = store_of(head);
  if (!store->dead)
    ask(store, SETTLE, NULL, NULL)->intent.call = copy(call);
}

static void op_bury(struct hf_store *head, const struct hf_letter *letter, struct hf_store_wait *wait) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, BURY, wait, NULL);
  op->letter = *letter;
  op->letter.id = (struct hf_str){NULL, 0};
  letter_own(&op->letter);
}

static void op_change(struct hf_store *head, const struct hf_letter *letter, struct hf_store_wait *wait) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, CHANGE, wait, NULL);
  op->letter = *letter;
  letter_own(&op->letter);
  op->filter.id = copy(letter->id);
  op->letter.id = op->filter.id;
}

static void op_letters(struct hf_store *head, const struct hf_letter_filter *filter, struct hf_store_query *query) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, LETTERS, NULL, query);
  op->filter = *filter;
  op->filter.id = copy(filter->id);
}

static void op_remember(struct hf_store *head, const struct hf_keyed *keyed, struct hf_store_wait *wait) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, REMEMBER, wait, NULL);
  op->keyed = *keyed;
  keyed_each(&op->keyed, true);
}

static void op_keep(struct hf_store *head, const struct hf_cached *cached) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, KEEP, NULL, NULL);
  op->cached = *cached;
  op->cached.result = copy(cached->result);
}

static void op_keep_task(struct hf_store *head, const struct hf_stored_task *task, struct hf_store_wait *wait) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, KEEP_TASK, wait, NULL);
  op->task = *task;
  task_each(&op->task, true);
}

static void op_drop_task(struct hf_store *head, struct hf_str id) {
  struct sim_store *store = store_of(head);
  if (!store->dead)
    ask(store, DROP_TASK, NULL, NULL)->task.id = copy(id);
}

static void op_find_task(struct hf_store *head, struct hf_str id, struct hf_task_query *query) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, FIND_TASK, NULL, NULL);
  op->task_query = query;
  op->task.id = copy(id);
}

static void op_list_tasks(struct hf_store *head, const struct hf_task_filter *filter, struct hf_task_query *query) {
  struct sim_store *store = store_of(head);
  if (store->dead)
    return;
  struct op *op = ask(store, LIST_TASKS, NULL, NULL);
  op->task_query = query;
  op->task.id = copy(filter->after);
  op->task.principal = copy(filter->principal);
  op->task.endpoint = copy(filter->endpoint);
  op->limit = filter->limit;
}

/* One gateway at a time uses it, so all that is left is there at the start. */
static void op_take_tasks(struct hf_store *head, hf_stored_task_fn *task, void *ctx) {
  struct sim_store *store = store_of(head);
  for (struct task_row *row = store->tasks; row; row = row->next) {
    if (!row->nobodys || has_expired(store, row))
      continue;
    row->nobodys = false;
    task(ctx, &row->row);
  }
}

static void op_load(struct hf_store *head, hf_keyed_fn *keyed, hf_cached_fn *cached, void *ctx) {
  struct sim_store *store = store_of(head);
  for (struct keyed_row *row = store->keys; row; row = row->next)
    keyed(ctx, &row->row);
  for (struct cached_row *row = store->cached; row; row = row->next)
    cached(ctx, &row->row);
}

static void op_watch(struct hf_store *head, hf_store_news_fn *news, void *ctx) {
  struct sim_store *store = store_of(head);
  store->news = news;
  store->news_ctx = ctx;
  for (struct letter_row *row = store->letters; row; row = row->next) {
    if (row->recovered)
      news(ctx, HF_NEWS_RECOVERED, &row->row);
    row->recovered = false;
  }
}

static void op_stats(struct hf_store *head, struct hf_store_stats *ret_stats) {
  struct sim_store *store = store_of(head);
  *ret_stats = (struct hf_store_stats){0};
  for (struct letter_row *row = store->letters; row; row = row->next)
    ret_stats->depth[row->row.status]++;
  for (struct task_row *row = store->tasks; row; row = row->next)
    ret_stats->tasks++;
}

static void op_forget(struct hf_store *head, struct hf_store_wait *wait) {
  struct sim_store *store = store_of(head);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &store->ops) {
    struct op *op = HF_CONTAINER_OF(it, struct op, link);
    if (op->wait == wait)
      op->wait = NULL;
  }
}

static void op_forget_query(struct hf_store *head, struct hf_store_query *query) {
  struct sim_store *store = store_of(head);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &store->ops) {
    struct op *op = HF_CONTAINER_OF(it, struct op, link);
    if (op->query == query)
      op->query = NULL;
  }
}

static void op_forget_task_query(struct hf_store *head, struct hf_task_query *query) {
  struct sim_store *store = store_of(head);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &store->ops) {
    struct op *op = HF_CONTAINER_OF(it, struct op, link);
    if (op->task_query == query)
      op->task_query = NULL;
  }
}

static int op_tally(struct hf_store *head, struct hf_str rows) {
  (void)head, (void)rows;
  return 0;
}

static struct hf_str op_owner(const struct hf_store *head) {
  (void)head;
  return HF_STR("sim");
}

static const struct hf_store_ops store_ops = {
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

struct sim_store *sim_store_new(struct sim_gateway *sim, bool moody, unsigned quarantine) {
  struct sim_store *store = calloc(1, sizeof *store);
  if (!store)
    abort();
  store->head.ops = &store_ops;
  store->sim = sim;
  store->moody = moody;
  store->quarantine = quarantine;
  hf_list_init(&store->ops);
  return store;
}

struct hf_store *sim_store_head(struct sim_store *store) {
  return &store->head;
}

static void drop_ops(struct sim_store *store) {
  sim_timer_stop(store->sim->world, &store->timer);
  while (!hf_list_empty(&store->ops))
    op_free(HF_CONTAINER_OF(store->ops.next, struct op, link));
}

void sim_store_die(struct sim_store *store) {
  store->dead = true;
  store->news = NULL;
  drop_ops(store);
}

static void give_back(struct sim_store *store, struct letter_row *row) {
  row->returns++;
  row->row.replays++;
  row->row.last_ms = store->sim->loop.wall_ms;
  row->row.status = store->quarantine > 0 && row->returns >= store->quarantine ? HF_LETTER_QUARANTINED : HF_LETTER_DEAD;
  if (rank(row->row.executed) < 1)
    put(&row->row.executed, HF_STR("maybe"));
  row->recovered = true;
  end_intent(store, row->row.call);
}

static struct task_row *task_of_call(struct sim_store *store, struct hf_str call) {
  struct task_row *row = store->tasks;
  while (row && !(is_unfinished(row) && hf_str_equal(row->row.call, call)))
    row = row->next;
  return row;
}

static void bury_intent(struct sim_store *store, const struct hf_intent *intent) {
  const struct hf_letter letter = {.call = intent->call,
                                   .principal = intent->principal,
                                   .tool = intent->tool,
                                   .route = intent->route,
                                   .providers = intent->server,
                                   .reason = HF_STR("gateway_died"),
                                   .executed = HF_STR("maybe"),
                                   .arguments = intent->arguments,
                                   .key = intent->key,
                                   .fingerprint = intent->fingerprint,
                                   .priority = intent->priority,
                                   .first_ms = intent->at_ms,
                                   .last_ms = store->sim->loop.wall_ms};
  struct letter_row *row = add_letter(store, &letter);
  row->recovered = true;
  struct task_row *task = task_of_call(store, intent->call);
  if (task)
    put(&task->row.letter, row->row.id);
}

static void bury_intents(struct sim_store *store) {
  for (struct intent_row **at = &store->intents; *at;) {
    struct intent_row *intent = *at;
    const struct task_row *task = task_of_call(store, intent->row.call);
    if (task && task->row.server_task.ptr && !has_expired(store, task)) {
      intent->inherited = true;
      at = &intent->next;
      continue;
    }
    bury_intent(store, &intent->row);
    *at = intent->next;
    intent_each(&intent->row, false);
    free(intent);
  }
}

/* As retention does it; whoever is followed has not expired. */
static void leave_tasks(struct sim_store *store) {
  for (struct task_row **at = &store->tasks; *at;) {
    (*at)->nobodys = is_unfinished(*at);
    if (has_expired(store, *at))
      remove_task(at);
    else
      at = &(*at)->next;
  }
}

/* As src/store/recovery.c has it. */
void sim_store_reopen(struct sim_store *store) {
  store->dead = false;
  for (struct letter_row *row = store->letters; row; row = row->next)
    if (row->row.status == HF_LETTER_REPLAYING)
      give_back(store, row);
  bury_intents(store);
  leave_tasks(store);
  for (struct letter_row *row = store->letters; row; row = row->next) {
    struct sim_deed *deed = deed_of(store, &row->row);
    if (row->recovered && (deed->tool == SIM_TOOL_UNSAFE || deed->tool == SIM_TOOL_KEYED))
      deed->lost_at = store->sim->world->now;
  }
}

bool sim_store_is_idle(const struct sim_store *store) {
  return hf_list_empty(&store->ops);
}

bool sim_store_has_failed(const struct sim_store *store) {
  return store->failed;
}

bool sim_store_expects(const struct sim_store *store, unsigned deed) {
  for (const struct intent_row *row = store->intents; row; row = row->next) {
    const struct hf_letter letter = {.arguments = row->row.arguments};
    if (sim_letter_deed(&letter) == (long)deed)
      return true;
  }
  return false;
}

const struct hf_letter *sim_store_letter(const struct sim_store *store, const char *id) {
  const struct letter_row *row = find_letter(store, hf_str_from(id));
  return row ? &row->row : NULL;
}

const struct hf_letter *sim_store_undone(const struct sim_store *store) {
  for (const struct letter_row *row = store->letters; row; row = row->next) {
    const struct sim_deed *deed = &store->sim->deeds.deed[sim_letter_deed(&row->row)];
    if (row->row.status == HF_LETTER_DEAD && rank(row->row.executed) > 0 && deed->ran_at == 0 && deed->open == 0 &&
        deed->tasks == 0 && deed->under_way == 0 && deed->known != SIM_VANISHED)
      return &row->row;
  }
  return NULL;
}

void sim_store_check_end(struct sim_store *store) {
  struct sim_check *check = store->sim->check;
  sim_check(check, hf_list_empty(&store->ops), "the store still has something to do", 0);
  for (const struct intent_row *row = store->intents; row; row = row->next)
    sim_check(check, store->failed || row->inherited, "an intent was left", 0);
  for (const struct letter_row *row = store->letters; row; row = row->next) {
    const struct sim_deed *deed = &store->sim->deeds.deed[sim_letter_deed(&row->row)];
    unsigned number = (unsigned)sim_letter_deed(&row->row);
    sim_check(check, row->row.status != HF_LETTER_REPLAYING || store->failed || store->sim->no_memory,
              "a letter is still being replayed", number);
    /* What became of a replay could not be written: it is known when this gateway has ended. */
    if (row->row.status == HF_LETTER_REPLAYING)
      continue;
    bool only = deed->calls == 1 && deed->letters == 1;
    sim_check(check, !only || rank(row->row.executed) != 0 || deed->ran_at == 0, "a letter says 'no', but it ran",
              number);
    sim_check(check, rank(row->row.executed) != 2 || deed->ran_at != 0 || store->sim->no_memory,
              "a letter says that it ran, but it did not", number);
  }
}

void sim_store_free(struct sim_store *store) {
  if (!store)
    return;
  drop_ops(store);
  while (store->letters) {
    struct letter_row *row = store->letters;
    store->letters = row->next;
    letter_drop(&row->row);
    free(row);
  }
  while (store->intents) {
    struct intent_row *row = store->intents;
    store->intents = row->next;
    intent_each(&row->row, false);
    free(row);
  }
  while (store->keys) {
    struct keyed_row *row = store->keys;
    store->keys = row->next;
    keyed_each(&row->row, false);
    free(row);
  }
  while (store->cached) {
    struct cached_row *row = store->cached;
    store->cached = row->next;
    drop(&row->row.result);
    free(row);
  }
  while (store->tasks)
    remove_task(&store->tasks);
  free(store);
}
