#include "gateway/gateway.h"
#include "gateway/session.h"
#include "gateway/stage/intent.h"
#include "gateway/task/task_state.h"
#include "mcp/compose.h"

/* The requests about tasks: of what is in memory at once, of all else by asking the store. */

enum { LIST_LIMIT = 100, LIST_MAX = 1 << 20, TASK_ROW_MAX = 16 << 20, STORE_WAIT_S = 5, REFUSAL_MAX = 256 };

static const struct hf_str no_data = {NULL, 0};

static void answer_unknown(struct hf_exchange *exchange) {
  hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS,
                    HF_STR("there is no such task: its id is wrong, or it has expired"), no_data);
}

static void answer_elsewhere(struct hf_exchange *exchange) {
  hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR,
                    HF_STR("another gateway runs this task: here it can be read, but not changed"), no_data);
}

static void answer_bad_cursor(struct hf_exchange *exchange) {
  hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("'cursor' is none that was given out, or too old"),
                    no_data);
}

static void answer_ended(struct hf_exchange *exchange, const struct hf_task_view *view) {
  struct hf_buf text;
  hf_buf_init(&text, REFUSAL_MAX);
  const char *status =
      hf_task_status_name(view->status == HF_TASK_COMPLETED && view->failed ? HF_TASK_FAILED : view->status);
  const bool told = hf_buf_printf(&text, "the task has ended already: it is %s", status) == 0;
  hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, told ? hf_buf_str(&text) : HF_STR("the task has ended already"),
                    no_data);
  hf_buf_deinit(&text);
}

void hf_task_answer_nothing(struct hf_exchange *exchange) {
  hf_exchange_result(exchange, exchange->era == HF_ERA_MODERN ? HF_STR("{\"resultType\":\"complete\"}") : HF_STR("{}"));
}

/* A client that was not told of tasks has no such method. Answers and returns false if it may not ask. */
static bool may_ask(struct hf_exchange *exchange) {
  if (exchange->era == HF_ERA_MODERN)
    return hf_task_is_declared(exchange);
  if (hf_task_is_spoken(exchange->client))
    return true;
  hf_exchange_error(exchange, HF_RPC_METHOD_NOT_FOUND, HF_STR("method not found: there are no tasks in this session"),
                    no_data);
  return false;
}

void hf_task_untie(struct hf_exchange *exchange) {
  struct hf_task_ties *ties = exchange->ties;
  struct hf_store *store = exchange->client->gateway->store;
  if (ties->querying)
    store->ops->forget_task_query(store, &ties->query);
  ties->querying = false;
  hf_buf_deinit(&ties->rows);
  hf_task_stop_listening(ties);
  hf_list_remove(&ties->awaiting);
  struct hf_task *task = ties->awaited;
  ties->awaited = NULL;
  if (!task || task->round.asker != exchange)
    return;
  task->round.asker = NULL;
  for (size_t i = 0; i < task->round.count; i++)
    task->round.questions[i].asked = false;
}

static void on_slow(struct hf_exchange *exchange) {
  hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("the store does not answer"), no_data);
}

static void on_row(void *ctx, const struct hf_stored_task *row) {
  struct hf_exchange *exchange = ctx;
  struct hf_task_ties *ties = exchange->ties;
  struct hf_stored_task *kept = &ties->row;
  struct hf_str *const texts[] = {&kept->id, &kept->message, &kept->result};
  if (!hf_task_is_of(exchange, row->principal, row->endpoint))
    return;
  *kept = *row;
  ties->had_row = true;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (!texts[i]->ptr)
      continue;
    *texts[i] = hf_arena_copy(&exchange->arena, *texts[i]);
    ties->had_row &= texts[i]->ptr != NULL;
  }
}

static void on_found(struct hf_task_query *query, int error) {
  struct hf_task_ties *ties = HF_CONTAINER_OF(query, struct hf_task_ties, query);
  struct hf_exchange *exchange = ties->exchange;
  ties->querying = false;
  hf_exchange_go_on(exchange);
  if (error < 0 && error != HF_ERR_NOTFOUND)
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("the store cannot be read"), no_data);
  else if (!ties->had_row)
    answer_unknown(exchange);
  else
    ties->found(exchange, &ties->row);
}

static void look_up(struct hf_exchange *exchange, struct hf_str id,
                    void (*found)(struct hf_exchange *exchange, const struct hf_stored_task *row)) {
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_task_ties *ties = gateway->store ? hf_task_ties_of(exchange) : NULL;
  if (!ties) {
    answer_unknown(exchange);
    return;
  }
  ties->query = (struct hf_task_query){.row = on_row, .done = on_found, .ctx = exchange};
  ties->querying = true;
  ties->found = found;
  hf_exchange_hold(exchange, hf_time_add(gateway->loop->now, HF_SECONDS(STORE_WAIT_S)), on_slow);
  gateway->store->ops->find_task(gateway->store, id, &ties->query);
}

/* What a request is about. Answers and returns NULL if it is not in memory: then `found` answers, or nobody has to. */
static struct hf_task *task_of(struct hf_exchange *exchange,
                               void (*found)(struct hf_exchange *exchange, const struct hf_stored_task *row)) {
  struct hf_str id;
  if (!may_ask(exchange))
    return NULL;
  if (hf_message_string(&exchange->request, HF_FIELD_TASK_ID, &id) < 0) {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("'taskId' must be a string"), no_data);
    return NULL;
  }
  struct hf_task *task = hf_task_find(exchange, id);
  if (!task && (id.len == 0 || id.len >= HF_TASK_ID_MAX))
    answer_unknown(exchange);
  else if (!task)
    look_up(exchange, id, found);
  return task;
}

/* It is told when the task has ended. */
static void await(struct hf_exchange *exchange, struct hf_task *task) {
  struct hf_task_ties *ties = hf_task_ties_of(exchange);
  if (!ties) {
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"), no_data);
    return;
  }
  ties->awaited = task;
  hf_list_push_back(&task->awaiting, &ties->awaiting);
  hf_exchange_hold(exchange, HF_TIME_NEVER, on_slow);
  if (exchange->request.method == HF_METHOD_TASKS_RESULT)
    hf_task_ask_there(task, exchange);
}

static void found_state(struct hf_exchange *exchange, const struct hf_stored_task *row) {
  const struct hf_task_view view = hf_task_view_row(exchange->client->gateway, row);
  hf_task_answer_state(exchange, &view);
}

void hf_task_get(struct hf_exchange *exchange) {
  const struct hf_task *task = task_of(exchange, found_state);
  if (!task)
    return;
  const struct hf_task_view view = hf_task_view(task);
  hf_task_answer_state(exchange, &view);
}

static void found_result(struct hf_exchange *exchange, const struct hf_stored_task *row) {
  const struct hf_task_view view = hf_task_view_row(exchange->client->gateway, row);
  if (!hf_task_status_is_terminal(view.status))
    answer_elsewhere(exchange);
  else
    hf_task_answer_result(exchange, &view);
}

void hf_task_result(struct hf_exchange *exchange) {
  struct hf_task *task = task_of(exchange, found_result);
  if (!task)
    return;
  const struct hf_task_view view = hf_task_view(task);
  if (hf_task_has_ended(task))
    hf_task_answer_result(exchange, &view);
  else
    await(exchange, task);
}

static void found_for_update(struct hf_exchange *exchange, const struct hf_stored_task *row) {
  if (!hf_task_status_is_terminal(row->status))
    answer_elsewhere(exchange);
  else
    hf_task_answer_nothing(exchange);
}

void hf_task_update(struct hf_exchange *exchange) {
  const struct hf_str responses = hf_message_raw(&exchange->request, HF_FIELD_INPUT_RESPONSES);
  struct hf_task *task = task_of(exchange, found_for_update);
  if (!task)
    return;
  if (responses.len == 0 || responses.ptr[0] != '{') {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("'inputResponses' must be an object"), no_data);
    return;
  }
  if (hf_task_take_answers(task, responses))
    hf_task_answer_nothing(exchange);
  else
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("each of 'inputResponses' must be an object"), no_data);
}

static void found_for_cancel(struct hf_exchange *exchange, const struct hf_stored_task *row) {
  const struct hf_task_view view = hf_task_view_row(exchange->client->gateway, row);
  if (!hf_task_status_is_terminal(view.status))
    answer_elsewhere(exchange);
  else if (exchange->era == HF_ERA_MODERN)
    hf_task_answer_nothing(exchange);
  else
    answer_ended(exchange, &view);
}

static bool may_have_run(const struct hf_task *task) {
  const struct hf_exchange *call = task->exchange;
  if (!call || task->server_task)
    return true; /* it had been sent, and asked something, or its server has a task of it */
  if (call->held || call->call.executed != HF_EXECUTED_NO)
    return true;
  for (size_t i = 0; call->stage == HF_STAGE_CALLING && i < HF_LIVE_MAX; i++)
    if (call->live[i].ref)
      return true;
  return call->follow != NULL;
}

static void cancel(struct hf_task *task) {
  hf_task_note(task, may_have_run(task)
                         ? HF_STR("Cancelled by request. The tool may have been executed, at least in part.")
                         : HF_STR("Cancelled by request. Nothing was executed."));
  hf_task_drop_call(task);
  hf_task_end(task, HF_TASK_CANCELLED, NULL);
}

void hf_task_cancel(struct hf_exchange *exchange) {
  struct hf_task *task = task_of(exchange, found_for_cancel);
  if (!task)
    return;
  const bool over = task->ending;
  struct hf_task_view view = hf_task_view(task);
  view.status = over ? task->end : task->status;
  if (!over) {
    await(exchange, task); /* so that whoever asks next sees it */
    cancel(task);
  } else if (exchange->era == HF_ERA_MODERN) {
    hf_task_answer_nothing(exchange);
  } else {
    answer_ended(exchange, &view);
  }
}

static void open_list(struct hf_task_ties *ties) {
  hf_buf_init(&ties->rows, LIST_MAX);
  hf_json_writer_init(&ties->writer, &ties->rows);
  hf_json_write_object(&ties->writer);
  hf_json_write_key(&ties->writer, "tasks");
  hf_json_write_array(&ties->writer);
  ties->row_count = 0;
}

static void add(struct hf_task_ties *ties, const struct hf_task_view *view) {
  struct hf_json_writer *w = &ties->writer;
  hf_json_write_object(w);
  hf_task_write(view, HF_ERA_LEGACY, HF_TASK_BARE, ties->exchange->client->gateway->loop->wall_ms, w);
  hf_json_write_object_end(w);
}

static void close_list(struct hf_task_ties *ties) {
  struct hf_exchange *exchange = ties->exchange;
  struct hf_json_writer *w = &ties->writer;
  hf_json_write_array_end(w);
  if (ties->row_count == LIST_LIMIT)
    hf_json_write_member_str(w, "nextCursor", hf_str_from(ties->last));
  hf_json_write_object_end(w);
  if (hf_json_write_finish(w) == 0)
    hf_exchange_result(exchange, hf_buf_str(&ties->rows));
  else
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("the list is too large"), no_data);
}

/* What is in memory is newer than its row. A client without a name sees nothing of what another process does. */
static void on_listed(void *ctx, const struct hf_stored_task *row) {
  struct hf_exchange *exchange = ctx;
  struct hf_task_ties *ties = exchange->ties;
  const struct hf_task *task = hf_task_find(exchange, row->id);
  const struct hf_task_view view = task ? hf_task_view(task) : hf_task_view_row(exchange->client->gateway, row);
  ties->row_count++;
  memcpy(ties->last, row->id.ptr, row->id.len < sizeof ties->last ? row->id.len + 1 : 0);
  ties->last[row->id.len < sizeof ties->last ? row->id.len : 0] = '\0';
  if (exchange->principal || !row->elsewhere)
    add(ties, &view);
}

static void on_list_read(struct hf_task_query *query, int error) {
  struct hf_task_ties *ties = HF_CONTAINER_OF(query, struct hf_task_ties, query);
  struct hf_exchange *exchange = ties->exchange;
  ties->querying = false;
  hf_exchange_go_on(exchange);
  if (error == HF_ERR_NOTFOUND)
    answer_bad_cursor(exchange);
  else if (error < 0)
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("the store cannot be read"), no_data);
  else
    close_list(ties);
}

static void list_from_store(struct hf_exchange *exchange, struct hf_str after) {
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_task_ties *ties = exchange->ties;
  const struct hf_task_filter filter = {
      .principal = hf_exchange_principal(exchange),
      .endpoint = hf_str_from(exchange->client->server),
      .after = after,
      .limit = LIST_LIMIT,
  };
  ties->query = (struct hf_task_query){.row = on_listed, .done = on_list_read, .ctx = exchange};
  ties->querying = true;
  hf_exchange_hold(exchange, hf_time_add(gateway->loop->now, HF_SECONDS(STORE_WAIT_S)), on_slow);
  gateway->store->ops->list_tasks(gateway->store, &filter, &ties->query);
}

static const struct hf_task *oldest_after(const struct hf_exchange *exchange, const struct hf_task *after) {
  const struct hf_tasks *tasks = exchange->client->gateway->tasks;
  const struct hf_task *best = NULL;
  for (size_t i = 0; i < tasks->by_id.len; i++) {
    const struct hf_task *task = tasks->by_id.entries[i].value;
    const bool newer = !after || task->number > after->number;
    if (newer && (!best || task->number < best->number) && hf_task_find(exchange, hf_str_from(task->id)))
      best = task;
  }
  return best;
}

static void list_from_memory(struct hf_exchange *exchange, struct hf_str after) {
  struct hf_task_ties *ties = exchange->ties;
  const struct hf_task *task = after.ptr ? hf_task_find(exchange, after) : NULL;
  if (after.ptr && !task) {
    answer_bad_cursor(exchange);
    return;
  }
  while (ties->row_count < LIST_LIMIT && (task = oldest_after(exchange, task)) != NULL) {
    const struct hf_task_view view = hf_task_view(task);
    memcpy(ties->last, task->id, sizeof ties->last);
    ties->row_count++;
    add(ties, &view);
  }
  close_list(ties);
}

void hf_task_list(struct hf_exchange *exchange) {
  struct hf_str after = {NULL, 0};
  if (!may_ask(exchange))
    return;
  if (!hf_task_is_listed(exchange->client)) {
    hf_exchange_error(exchange, HF_RPC_METHOD_NOT_FOUND,
                      HF_STR("method not found: nothing tells this client's tasks from those of others"), no_data);
    return;
  }
  if (exchange->request.at[HF_FIELD_CURSOR] && hf_message_string(&exchange->request, HF_FIELD_CURSOR, &after) < 0) {
    hf_exchange_error(exchange, HF_RPC_INVALID_PARAMS, HF_STR("'cursor' must be a string"), no_data);
    return;
  }
  struct hf_task_ties *ties = hf_task_ties_of(exchange);
  if (!ties) {
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"), no_data);
    return;
  }
  open_list(ties);
  if (exchange->client->gateway->store)
    list_from_store(exchange, after);
  else
    list_from_memory(exchange, after);
}
