#include "gateway/gateway.h"
#include "gateway/session.h"
#include "gateway/task/task_state.h"
#include "mcp/rewrite.h"
#include "json/value.h"

/* What is told of a task without a request for it. */

static void tell_listener(const struct hf_task *task, struct hf_exchange *exchange) {
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_task_compose_notice(task, HF_ERA_MODERN, exchange->request.id, &text) == 0)
    hf_exchange_message(exchange, &text);
  hf_pieces_deinit(&text);
}

/* Named before in the same request: then it was the last to come. */
static bool listens(const struct hf_task *task, const struct hf_exchange *exchange) {
  const struct hf_list *last = task->listeners.prev;
  return last != &task->listeners &&
         HF_CONTAINER_OF(last, const struct hf_task_listener, at_task)->exchange == exchange;
}

static struct hf_task *agree_to(struct hf_exchange *exchange, struct hf_str id) {
  struct hf_task *task = hf_task_find(exchange, id);
  if (task && listens(task, exchange))
    return NULL;
  struct hf_task_ties *ties = task ? hf_task_ties_of(exchange) : NULL;
  struct hf_task_listener *listener = ties ? hf_arena_alloc(&exchange->arena, sizeof *listener) : NULL;
  if (!listener)
    return NULL;
  listener->exchange = exchange;
  listener->task = task;
  hf_list_init(&listener->at_task);
  hf_list_init(&listener->at_exchange);
  hf_list_push_back(&task->listeners, &listener->at_task);
  hf_list_push_back(&ties->listening, &listener->at_exchange);
  return task;
}

bool hf_task_may_listen(const struct hf_exchange *exchange, const struct hf_json_doc *doc) {
  uint32_t ids;
  return hf_json_member(doc, 0, HF_STR("taskIds"), &ids) < 0 || hf_capabilities_read(exchange->meta.capabilities).tasks;
}

void hf_task_listen(struct hf_exchange *exchange, const struct hf_json_doc *doc, struct hf_json_writer *agreed) {
  uint32_t array, node;
  if (hf_json_member(doc, 0, HF_STR("taskIds"), &array) < 0)
    return;
  hf_json_write_key(agreed, "taskIds");
  hf_json_write_array(agreed);
  struct hf_json_iter iter = hf_json_iter(doc, array);
  struct hf_str id;
  while (hf_json_next(doc, &iter, NULL, &node))
    if (hf_json_string(doc, node, &exchange->arena, &id) == 0 && agree_to(exchange, id))
      hf_json_write_str(agreed, id);
  hf_json_write_array_end(agreed);
}

/* What became of it before anybody listened would not come again. */
void hf_task_listening(struct hf_exchange *exchange) {
  struct hf_task_ties *ties = exchange->ties;
  struct hf_list *it, *tmp;
  if (!ties)
    return;
  HF_LIST_FOREACH (it, tmp, &ties->listening) {
    const struct hf_task *task = HF_CONTAINER_OF(it, struct hf_task_listener, at_exchange)->task;
    if (task->status != HF_TASK_WORKING)
      tell_listener(task, exchange);
  }
}

static void forget(struct hf_task_listener *listener) {
  hf_list_remove(&listener->at_task);
  hf_list_remove(&listener->at_exchange);
}

void hf_task_forget_listeners(struct hf_task *task) {
  while (!hf_list_empty(&task->listeners))
    forget(HF_CONTAINER_OF(task->listeners.next, struct hf_task_listener, at_task));
}

void hf_task_stop_listening(struct hf_task_ties *ties) {
  while (!hf_list_empty(&ties->listening))
    forget(HF_CONTAINER_OF(ties->listening.next, struct hf_task_listener, at_exchange));
}

/* Whom a task of 2025-11-25 speaks to; NULL: nobody. */
static struct hf_client *legacy_origin(const struct hf_task *task) {
  struct hf_client *origin = task->client ? task->client->origin : NULL;
  return origin && origin->era == HF_ERA_LEGACY && origin->initialized ? origin : NULL;
}

void hf_task_tell(struct hf_task *task) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &task->listeners)
    tell_listener(task, HF_CONTAINER_OF(it, struct hf_task_listener, at_task)->exchange);
  struct hf_client *origin = legacy_origin(task);
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (origin && hf_task_compose_notice(task, HF_ERA_LEGACY, (struct hf_str){NULL, 0}, &text) == 0)
    hf_client_notify(origin, &text);
  hf_pieces_deinit(&text);
}

/* On the stream of a request that waits for the result, else on the client's own. */
static void pass_on(struct hf_task *task, const struct hf_message *message) {
  struct hf_client *origin = legacy_origin(task);
  struct hf_rewrite rewrite;
  struct hf_pieces text;
  hf_rewrite_begin(&rewrite, message);
  if (message->method == HF_METHOD_PROGRESS)
    hf_rewrite_set_progress_token(&rewrite, hf_str_from(task->token));
  hf_task_relate(&rewrite, hf_str_from(task->id));
  hf_pieces_init(&text);
  if (hf_rewrite_finish(&rewrite, &text) == 0) {
    if (!hf_list_empty(&task->awaiting))
      hf_exchange_message(HF_CONTAINER_OF(task->awaiting.next, struct hf_task_ties, awaiting)->exchange, &text);
    else
      hf_client_notify(origin, &text);
  }
  hf_pieces_deinit(&text);
}

void hf_task_hears(struct hf_task *task, const struct hf_message *message) {
  uint32_t node;
  struct hf_str text;
  struct hf_arena arena;
  if (task->ending)
    return;
  hf_arena_init(&arena, HF_MESSAGE_BYTES_MAX);
  if (message->method == HF_METHOD_PROGRESS &&
      hf_json_member(&message->doc, message->at[HF_FIELD_PARAMS], HF_STR("message"), &node) == 0 &&
      hf_json_string(&message->doc, node, &arena, &text) == 0)
    hf_task_note(task, text);
  hf_arena_deinit(&arena);
  const bool wanted =
      message->method == HF_METHOD_PROGRESS ? task->token != NULL : message->method == HF_METHOD_LOG_MESSAGE;
  if (wanted && legacy_origin(task))
    pass_on(task, message);
}
