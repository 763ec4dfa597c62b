#include "base/alloc.h"
#include "base/hex.h"
#include "gateway/gateway.h"
#include "gateway/letter/letter.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/question/question.h"
#include "gateway/session.h"
#include "gateway/stage/intent.h"
#include "gateway/task/task_state.h"

enum { TASK_SECRET_LEN = 16, CREATED_MAX = 1 << 16 };

static const struct hf_str absent = {NULL, 0};

struct hf_task_ties *hf_task_ties_of(struct hf_exchange *exchange) {
  if (exchange->ties)
    return exchange->ties;
  struct hf_task_ties *ties = hf_arena_alloc(&exchange->arena, sizeof *ties);
  if (!ties)
    return NULL;
  ties->exchange = exchange;
  hf_list_init(&ties->awaiting);
  hf_list_init(&ties->listening);
  return exchange->ties = ties;
}

static int64_t ttl_of(const struct hf_exchange *exchange) {
  const int64_t most = exchange->client->gateway->settings->limits.task_ttl / HF_MS(1);
  return exchange->task_ttl_ms > 0 && exchange->task_ttl_ms < most ? exchange->task_ttl_ms : most;
}

static struct hf_task *draft_of(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = exchange->client->gateway;
  uint8_t secret[TASK_SECRET_LEN];
  char id[HF_TASK_ID_MAX] = "t-", call[HF_CALL_ID_MAX];
  if (gateway->draining || !hf_tasks_have_room(gateway->tasks, hf_exchange_principal(exchange)) ||
      hf_random_secret(secret, sizeof secret) < 0)
    return NULL;
  hf_hex(secret, sizeof secret, id + 2);
  const int64_t now = gateway->loop->wall_ms;
  const struct hf_stored_task row = {
      .id = hf_str_from(id),
      .principal = hf_exchange_principal(exchange),
      .endpoint = hf_str_from(exchange->client->server),
      .tool = hf_letter_tool(exchange),
      .call = hf_outcome_call_id(exchange, call),
      .created_ms = now,
      .updated_ms = now,
      .expires_ms = now + ttl_of(exchange),
  };
  struct hf_task *task = hf_task_new(gateway, &row);
  if (task && hf_task_open_client(task, exchange->client) < 0) {
    hf_task_free(task);
    return NULL;
  }
  if (task)
    hf_task_note(task, exchange->server_says);
  return task;
}

/* Nothing of it was told to anybody. */
void hf_task_drop_draft(struct hf_exchange *exchange) {
  struct hf_task *task = exchange->ties->draft;
  struct hf_store *store = exchange->client->gateway->store;
  exchange->ties->draft = NULL;
  if (store)
    store->ops->drop_task(store, hf_str_from(task->id));
  hf_task_free(task);
}

static void note_begun(struct hf_exchange *exchange, const struct hf_task *task) {
  struct hf_str note =
      hf_arena_printf(&exchange->arena, "it has become the task %s, which its client was told", task->id);
  if (note.ptr)
    hf_trace_stage(exchange, note);
  hf_metrics_add(&exchange->client->gateway->metrics, HF_METRIC_TASKS);
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_INFO, "call becomes a task",
               HF_LOG_STR("call", hf_str_from(task->call)), HF_LOG_STR("task", hf_str_from(task->id)),
               HF_LOG_STR("tool", hf_str_from(task->tool)),
               HF_LOG_STR("principal", hf_str_from(task->principal ? task->principal : "")));
}

/* Nobody waits on the line any more. */
static void lengthen(struct hf_exchange *exchange) {
  struct hf_loop *loop = exchange->client->gateway->loop;
  if (exchange->stage == HF_STAGE_CALLING) {
    hf_call_outlive(&exchange->call);
    if (!exchange->stepping)
      hf_timer_set(loop, &exchange->timer, hf_call_deadline(&exchange->call));
  } else if (exchange->stage == HF_STAGE_HELD && exchange->flight && !exchange->store_waits) {
    hf_timer_set(loop, &exchange->timer, hf_time_add(exchange->started, exchange->target->policy->timeout.task));
  }
}

static int compose_created(struct hf_exchange *exchange, struct hf_task *task, struct hf_pieces *ret_text) {
  struct hf_buf text;
  hf_buf_init(&text, CREATED_MAX);
  int r =
      hf_task_write_created(task, exchange->request.id, exchange->wants_task ? HF_ERA_LEGACY : HF_ERA_MODERN, &text);
  if (r == 0)
    r = hf_pieces_add_copy(ret_text, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return r;
}

static void take_token(struct hf_exchange *exchange, struct hf_task *task) {
  const struct hf_str token = exchange->request.progress_token;
  if (token.ptr && exchange->wants_task)
    task->token = hf_strndup(token.ptr, token.len);
  exchange->request.progress_token = HF_STR("0");
  exchange->request.id = HF_STR("0"); /* its client may use its own again */
}

/* The task takes the place of the client, who is told. Returns 0 or an error, and then nothing has happened. */
static int become(struct hf_exchange *exchange, struct hf_task *task) {
  struct hf_pieces text;
  hf_pieces_init(&text);
  int r = compose_created(exchange, task, &text);
  if (r < 0) {
    hf_pieces_deinit(&text);
    return r;
  }
  struct hf_client *origin = exchange->client;
  struct hf_reply *reply = exchange->reply;
  exchange->ties->draft = NULL;
  exchange->task = task;
  task->exchange = exchange;
  task->told = true;
  task->request = hf_blob_ref(exchange->request.blob);
  task->client->origin = origin == origin->gateway->nobody ? NULL : origin;
  exchange->reply = &task->reply;
  task->reply.exchange = exchange;
  reply->exchange = NULL;
  take_token(exchange, task);
  note_begun(exchange, task);
  hf_exchange_adopt(exchange, task->client);
  lengthen(exchange);
  reply->ops->finish(reply, 200, &text);
  hf_pieces_deinit(&text);
  return 0;
}

/* A stage keeps the call until it is known whether the task is written down. */
static bool is_kept_for(const struct hf_exchange *exchange) {
  return exchange->stage == HF_STAGE_HELD && exchange->ties->keeps;
}

static void refuse(struct hf_exchange *exchange, struct hf_str why) {
  hf_outcome_answer_refusal(exchange, HF_FAULT_LOCAL_LIMIT, HF_RPC_INTERNAL_ERROR, why);
}

/* There is no task for this call. A client of 2025-11-25 takes nothing else. */
static void go_without(struct hf_exchange *exchange) {
  exchange->ties->keeps = false;
  hf_trace_stage(exchange, HF_STR("it cannot be written down as a task"));
  if (exchange->wants_task)
    refuse(exchange, HF_STR("The task could not be written down. Nothing was executed. Try again later."));
  else
    hf_pipeline_go_on(exchange);
}

static void on_slow(struct hf_exchange *exchange) {
  hf_intent_complain(exchange->client->gateway, HF_STR("task"), HF_ERR_TIMEOUT);
  hf_task_drop_draft(exchange);
  go_without(exchange);
}

/* One that is asked something comes back; one that finds no room may later. */
static void try_later(struct hf_task_ties *ties) {
  struct hf_loop *loop = ties->exchange->client->gateway->loop;
  hf_timer_set(loop, &ties->later, hf_time_add(loop->now, HF_SECONDS(1)));
}

/* What it asks is asked of the client that it has. */
static bool may_become(const struct hf_exchange *exchange) {
  return exchange->reply && hf_question_count(exchange) == 0;
}

static void on_written(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct hf_task *task = HF_CONTAINER_OF(wait, struct hf_task, wait);
  struct hf_exchange *exchange = task->draft_for;
  const bool kept = is_kept_for(exchange);
  task->waiting = false;
  if (error < 0)
    hf_intent_complain(hf_task_gateway(task), HF_STR("task"), error);
  if (error == 0 && may_become(exchange) && become(exchange, task) == 0) {
    exchange->ties->keeps = false;
    if (kept)
      hf_pipeline_go_on(exchange);
    return;
  }
  hf_task_drop_draft(exchange);
  if (kept)
    go_without(exchange);
  else if (exchange->ties->timed)
    try_later(exchange->ties);
}

/* Makes a task of it: now, or when that is written down. Returns 0; or an error, and then nothing has happened. */
static int begin(struct hf_exchange *exchange, struct hf_str server, struct hf_str server_task) {
  struct hf_store *store = exchange->client->gateway->store;
  struct hf_task_ties *ties = hf_task_ties_of(exchange);
  struct hf_task *task = ties && !ties->draft ? draft_of(exchange) : NULL;
  if (!task)
    return HF_ERR_LIMIT;
  ties->draft = task;
  if (server_task.ptr && hf_task_set_server(task, server, server_task) < 0) {
    hf_task_drop_draft(exchange);
    return HF_ERR_NOMEM;
  }
  if (!store) {
    int r = become(exchange, task);
    if (r < 0)
      hf_task_drop_draft(exchange);
    return r;
  }
  task->draft_for = exchange;
  task->wait = (struct hf_store_wait){.done = on_written};
  task->waiting = true;
  hf_task_keep(task, &task->wait);
  return 0;
}

/* Before anything is sent. */
static enum hf_stage_result begin_first(struct hf_exchange *exchange) {
  struct hf_gateway *gateway = exchange->client->gateway;
  int r = begin(exchange, absent, absent);
  if (r < 0 && exchange->wants_task) {
    refuse(exchange, HF_STR("There are too many tasks already. Nothing was executed. Try again when some have ended."));
    return HF_STAGE_ENDED;
  }
  if (r < 0 || exchange->task)
    return HF_STAGE_PASS;
  exchange->ties->keeps = true;
  hf_exchange_hold(exchange, hf_time_add(gateway->loop->now, HF_TASK_WRITE_WAIT), on_slow);
  return HF_STAGE_KEPT;
}

enum hf_stage_result hf_task_wanted_before(struct hf_exchange *exchange) {
  return exchange->wants_task && !exchange->task ? begin_first(exchange) : HF_STAGE_PASS;
}

static void on_later(struct hf_timer *timer) {
  struct hf_task_ties *ties = HF_CONTAINER_OF(timer, struct hf_task_ties, later);
  struct hf_exchange *exchange = ties->exchange;
  if (exchange->task || ties->draft)
    return;
  if (!may_become(exchange) || begin(exchange, absent, absent) < 0)
    try_later(ties);
}

enum hf_stage_result hf_task_before(struct hf_exchange *exchange) {
  struct hf_loop *loop = exchange->client->gateway->loop;
  if (exchange->task || !hf_task_is_taken(exchange))
    return HF_STAGE_PASS;
  if (exchange->tool->tasks == HF_TASKS_ALWAYS)
    return begin_first(exchange);
  struct hf_task_ties *ties = hf_task_ties_of(exchange);
  if (ties && !ties->timed && hf_timer_init(loop, &ties->later, on_later) == 0) {
    ties->timed = true;
    hf_timer_set(loop, &ties->later, hf_time_add(exchange->started, exchange->tool->task_after));
  }
  return HF_STAGE_PASS;
}

void hf_task_at_server(struct hf_exchange *exchange, const struct hf_instance *instance, struct hf_str server_task) {
  struct hf_task *task = hf_task_made_of(exchange);
  if (task && hf_task_set_server(task, instance->settings->name, server_task) == 0)
    hf_task_keep(task, NULL);
  else if (!task && may_become(exchange) && hf_task_is_taken(exchange))
    (void)begin(exchange, instance->settings->name, server_task);
}
