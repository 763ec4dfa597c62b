#include "gateway/task/task.h"

#include "base/alloc.h"
#include "gateway/gateway.h"
#include "gateway/outcome.h"
#include "gateway/session.h"
#include "gateway/stage/intent.h"
#include "gateway/task/task_state.h"
#include "mcp/compose.h"

#include <assert.h>
#include <stdlib.h>

enum { TASK_TEXT_MAX = 64 << 20, REASON_NODES_MAX = 1024, NOTICE_PAUSE_MS = 1000 };

static void on_expired(struct hf_timer *timer);
static void on_again(struct hf_job *job);

struct hf_tasks *hf_tasks_new(struct hf_gateway *gateway) {
  struct hf_tasks *tasks = hf_calloc(1, sizeof *tasks);
  if (!tasks)
    return NULL;
  tasks->gateway = gateway;
  hf_map_init(&tasks->by_id, HF_TASKS_MAX);
  hf_list_init(&tasks->running);
  hf_list_init(&tasks->ended);
  return tasks;
}

void hf_tasks_free(struct hf_tasks *tasks) {
  if (!tasks)
    return;
  while (!hf_list_empty(&tasks->running))
    hf_task_free(hf_task_of_link(tasks->running.next));
  while (!hf_list_empty(&tasks->ended))
    hf_task_free(hf_task_of_link(tasks->ended.next));
  hf_map_deinit(&tasks->by_id);
  hf_free(tasks);
}

size_t hf_tasks_running(const struct hf_tasks *tasks) {
  return tasks->running_count;
}

bool hf_task_is_of(const struct hf_exchange *exchange, struct hf_str principal, struct hf_str endpoint) {
  return hf_str_equal(hf_exchange_principal(exchange), principal) &&
         hf_str_equal(hf_str_from(exchange->client->server), endpoint);
}

struct hf_task *hf_task_find(const struct hf_exchange *exchange, struct hf_str id) {
  struct hf_task *task = hf_map_get(&exchange->client->gateway->tasks->by_id, id);
  return task && task->told && hf_task_is_of(exchange, hf_str_from(task->principal), hf_str_from(task->endpoint))
             ? task
             : NULL;
}

static void tell_nobody(struct hf_client *client, void *owner, struct hf_pieces *text) {
  (void)client, (void)owner;
  hf_pieces_deinit(text);
}

int hf_task_open_client(struct hf_task *task, const struct hf_client *origin) {
  static const struct hf_client_ops ops = {tell_nobody};
  const struct hf_client_options options = {
      .server = hf_str_from(origin ? task->endpoint : NULL),
      .principal = hf_str_from(task->principal),
      .era = HF_ERA_MODERN,
      .ops = &ops,
  };
  int r = hf_client_new(hf_task_gateway(task), &options, &task->client);
  if (r < 0)
    return r;
  task->client->stateless = false;
  task->client->task = task;
  task->client->number = origin ? origin->number : 0;
  return 0;
}

static char *copy(struct hf_str text, bool *failed) {
  char *made = text.ptr ? hf_strndup(text.ptr, text.len) : NULL;
  *failed |= text.ptr && !made;
  return made;
}

static const struct hf_reply_ops reply_ops;

struct hf_task *hf_task_new(struct hf_gateway *gateway, const struct hf_stored_task *row) {
  struct hf_task *task = hf_calloc(1, sizeof *task);
  if (!task || hf_timer_init(gateway->loop, &task->expiry, on_expired) < 0) {
    hf_free(task);
    return NULL;
  }
  bool failed = false;
  task->tasks = gateway->tasks;
  task->number = ++gateway->tasks->last_number;
  task->reply.ops = &reply_ops;
  hf_list_init(&task->link);
  hf_list_init(&task->awaiting);
  hf_list_init(&task->listeners);
  hf_job_init(&task->again, on_again);
  memcpy(task->id, row->id.ptr, row->id.len < HF_TASK_ID_MAX ? row->id.len : HF_TASK_ID_MAX - 1);
  task->principal = row->principal.len ? copy(row->principal, &failed) : NULL;
  task->endpoint = row->endpoint.len ? copy(row->endpoint, &failed) : NULL;
  task->tool = copy(row->tool, &failed);
  task->server = copy(row->server, &failed);
  task->server_task = copy(row->server_task, &failed);
  memcpy(task->call, row->call.ptr, row->call.len < sizeof task->call ? row->call.len : sizeof task->call - 1);
  task->created_ms = row->created_ms;
  task->updated_ms = row->updated_ms;
  task->expires_ms = row->expires_ms;
  if (failed || hf_map_put(&task->tasks->by_id, hf_str_from(task->id), task) < 0) {
    hf_task_free(task);
    return NULL;
  }
  hf_list_push_back(&task->tasks->running, &task->link);
  task->tasks->running_count++;
  return task;
}

static void close_client(struct hf_task *task) {
  struct hf_client *client = task->client;
  task->client = NULL;
  if (client)
    hf_client_close(client);
}

static void unlink_task(struct hf_task *task) {
  if (hf_list_empty(&task->link))
    return;
  hf_list_remove(&task->link);
  if (task->listed_as_ended)
    task->tasks->ended_bytes -= task->answer.blob ? hf_message_bytes(&task->answer).len : 0;
  else
    task->tasks->running_count--;
}

/* Whoever still waits for it hears that it is gone. */
static void desert(struct hf_task *task) {
  while (!hf_list_empty(&task->awaiting)) {
    struct hf_task_ties *ties = HF_CONTAINER_OF(task->awaiting.next, struct hf_task_ties, awaiting);
    hf_list_remove(&ties->awaiting);
    ties->awaited = NULL;
    hf_exchange_end_cancelled(ties->exchange);
  }
}

void hf_task_free(struct hf_task *task) {
  struct hf_gateway *gateway = hf_task_gateway(task);
  struct hf_store *store = gateway->store;
  if (task->waiting) {
    assert(store); /* which it waits for */
    store->ops->forget(store, &task->wait);
  }
  if (task->draft_for && !task->told)
    task->draft_for->ties->draft = NULL;
  unlink_task(task);
  hf_task_drop_call(task);
  close_client(task);
  desert(task);
  hf_task_forget_listeners(task);
  if (hf_map_get(&task->tasks->by_id, hf_str_from(task->id)) == task)
    (void)hf_map_remove(&task->tasks->by_id, hf_str_from(task->id));
  hf_job_cancel(&task->again);
  hf_timer_deinit(gateway->loop, &task->expiry);
  hf_task_round_deinit(&task->round);
  hf_message_deinit(&task->answer);
  hf_blob_unref(task->request);
  hf_free(task->principal);
  hf_free(task->endpoint);
  hf_free(task->tool);
  hf_free(task->server);
  hf_free(task->server_task);
  hf_free(task->token);
  hf_free(task);
}

static void publish(struct hf_task *task);

/* It is over; or its end is, and the store has taken too long to write that down. */
static void on_expired(struct hf_timer *timer) {
  struct hf_task *task = HF_CONTAINER_OF(timer, struct hf_task, expiry);
  struct hf_store *store = hf_task_gateway(task)->store;
  if (task->ending && !hf_task_has_ended(task)) {
    task->failing = true;
    hf_intent_complain(hf_task_gateway(task), HF_STR("end of a task"), HF_ERR_TIMEOUT);
    publish(task);
    return;
  }
  if (store)
    store->ops->drop_task(store, hf_str_from(task->id));
  hf_task_free(task);
}

void hf_task_changed(struct hf_task *task) {
  task->updated_ms = hf_task_gateway(task)->loop->wall_ms;
  if (!task->told)
    return;
  if (!hf_task_has_ended(task))
    hf_task_keep(task, NULL);
  hf_task_tell(task);
}

void hf_task_says(struct hf_exchange *exchange, struct hf_str message) {
  struct hf_task *task = hf_task_made_of(exchange);
  if (task)
    hf_task_note(task, message);
  else
    exchange->server_says = hf_arena_copy(&exchange->arena, hf_str_cut(message, HF_TASK_MESSAGE_MAX));
}

void hf_task_note(struct hf_task *task, struct hf_str message) {
  const int64_t now = hf_task_gateway(task)->loop->wall_ms;
  message = hf_str_cut(message, HF_TASK_MESSAGE_MAX);
  if (!message.ptr || hf_str_equal(message, hf_str_from(task->message)))
    return;
  memcpy(task->message, message.ptr, message.len);
  task->message[message.len] = '\0';
  task->updated_ms = now;
  if (task->told && !task->ending && now - task->noticed_ms >= NOTICE_PAUSE_MS) {
    task->noticed_ms = now;
    hf_task_tell(task);
  }
}

static void answer_awaiting(struct hf_task *task) {
  const struct hf_task_view view = hf_task_view(task);
  while (!hf_list_empty(&task->awaiting)) {
    struct hf_task_ties *ties = HF_CONTAINER_OF(task->awaiting.next, struct hf_task_ties, awaiting);
    hf_list_remove(&ties->awaiting);
    ties->awaited = NULL;
    if (ties->exchange->request.method == HF_METHOD_TASKS_CANCEL && ties->exchange->era == HF_ERA_MODERN)
      hf_task_answer_nothing(ties->exchange);
    else if (ties->exchange->request.method == HF_METHOD_TASKS_CANCEL)
      hf_task_answer_state(ties->exchange, &view);
    else
      hf_task_answer_result(ties->exchange, &view);
  }
}

/* The oldest of those that have ended goes from memory; one that is nowhere else as whole stays longest. */
static bool make_room(struct hf_tasks *tasks) {
  struct hf_list *it = tasks->ended.next;
  while (it != &tasks->ended && (hf_task_of_link(it)->failing || hf_task_of_link(it)->too_large))
    it = it->next;
  if (it == &tasks->ended)
    it = tasks->ended.next;
  if (it == &tasks->ended)
    return false;
  hf_task_free(hf_task_of_link(it));
  return true;
}

static void log_ended(const struct hf_task *task) {
  hf_log_event(hf_task_gateway(task)->loop->log, HF_LOG_INFO, "task ended", HF_LOG_STR("task", hf_str_from(task->id)),
               HF_LOG_STR("call", hf_str_from(task->call)),
               HF_LOG_STR("status", hf_str_from(hf_task_status_name(task->status))),
               HF_LOG_STR("principal", hf_str_from(task->principal ? task->principal : "")),
               HF_LOG_INT("ms", task->updated_ms - task->created_ms));
}

static size_t count_of(const struct hf_tasks *tasks, struct hf_str principal) {
  size_t count = 0;
  for (struct hf_list *it = tasks->running.next; it != &tasks->running; it = it->next)
    count += hf_str_equal(hf_str_from(hf_task_of_link(it)->principal), principal);
  return count;
}

bool hf_tasks_have_room(struct hf_tasks *tasks, struct hf_str principal) {
  const struct hf_limits *limits = &tasks->gateway->settings->limits;
  if (count_of(tasks, principal) >= limits->tasks_per_client)
    return false;
  return tasks->by_id.len < limits->tasks || make_room(tasks);
}

/* Its end is written down, or cannot be: whoever asks is told from now on. It may be gone. */
static void publish(struct hf_task *task) {
  struct hf_tasks *tasks = task->tasks;
  struct hf_gateway *gateway = tasks->gateway;
  task->status = task->end;
  unlink_task(task);
  hf_list_push_back(&tasks->ended, &task->link);
  task->listed_as_ended = true;
  tasks->ended_bytes += task->answer.blob ? hf_message_bytes(&task->answer).len : 0;
  const int64_t left_ms = task->expires_ms - gateway->loop->wall_ms;
  hf_timer_set(gateway->loop, &task->expiry, hf_time_add(gateway->loop->now, HF_MS(left_ms > 0 ? left_ms : 0)));
  log_ended(task);
  hf_task_tell(task);
  answer_awaiting(task);
  hf_job_defer(gateway->loop, &task->again); /* what it was made of goes when nobody stands in it */
  while (tasks->ended_bytes > HF_TASKS_ENDED_BYTES && tasks->ended.next != &task->link && make_room(tasks))
    ;
}

static void keep_end(struct hf_task *task);

static void on_end_written(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct hf_task *task = HF_CONTAINER_OF(wait, struct hf_task, wait);
  task->waiting = false;
  if (error == HF_ERR_LIMIT && !task->too_large) {
    task->too_large = true;
    keep_end(task);
    return;
  }
  task->failing = error < 0;
  if (error < 0)
    hf_intent_complain(hf_task_gateway(task), HF_STR("end of a task"), error);
  if (!hf_task_has_ended(task))
    publish(task);
}

/* A result that the store does not take is kept as one that says so. */
static void keep_end(struct hf_task *task) {
  struct hf_loop *loop = hf_task_gateway(task)->loop;
  if (!hf_task_has_ended(task))
    hf_timer_set(loop, &task->expiry, hf_time_add(loop->now, HF_TASK_WRITE_WAIT));
  task->wait = (struct hf_store_wait){.done = on_end_written};
  task->waiting = true;
  hf_task_keep(task, &task->wait);
}

/* The text of a result that is an error of the tool's. */
static void note_tool_error(struct hf_task *task) {
  const struct hf_str content = hf_message_raw(&task->answer, HF_FIELD_CONTENT);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  options.max_nodes = REASON_NODES_MAX;
  struct hf_json_scan scan;
  struct hf_arena arena;
  struct hf_str text;
  uint32_t node;
  hf_arena_init(&arena, TASK_TEXT_MAX);
  hf_json_scan_init(&scan, &options);
  if (content.ptr && hf_json_scan_feed(&scan, content.ptr, content.len, true) == 0 && scan.count > 1 &&
      scan.nodes[1].type == HF_JSON_OBJECT) {
    const struct hf_json_doc doc = hf_json_doc(content.ptr, &scan);
    if (hf_json_member(&doc, 1, HF_STR("text"), &node) == 0 && hf_json_string(&doc, node, &arena, &text) == 0)
      hf_task_note(task, text);
  }
  hf_json_scan_deinit(&scan);
  hf_arena_deinit(&arena);
}

static void note_reason(struct hf_task *task) {
  struct hf_message *answer = &task->answer;
  struct hf_str text;
  if (task->end == HF_TASK_FAILED && hf_message_string(answer, HF_FIELD_ERROR_MESSAGE, &text) == 0)
    hf_task_note(task, text);
  else if (task->end == HF_TASK_COMPLETED && answer->is_error)
    note_tool_error(task);
  else if (task->end == HF_TASK_COMPLETED)
    task->message[0] = '\0';
}

void hf_task_end(struct hf_task *task, enum hf_task_status status, struct hf_message *answer) {
  struct hf_gateway *gateway = hf_task_gateway(task);
  if (task->ending) {
    if (answer)
      hf_message_deinit(answer);
    return;
  }
  task->ending = true;
  task->resuming = false;
  task->end = status;
  if (answer)
    hf_message_move(&task->answer, answer);
  note_reason(task);
  hf_task_round_deinit(&task->round);
  task->updated_ms = gateway->loop->wall_ms;
  const int64_t ttl_ms = task->expires_ms - task->created_ms;
  const int64_t grace_ms = ttl_ms < HF_TASK_ENDED_GRACE_MS ? ttl_ms : HF_TASK_ENDED_GRACE_MS;
  if (task->expires_ms < task->updated_ms + grace_ms)
    task->expires_ms = task->updated_ms + grace_ms;
  if (!gateway->store || gateway->closing) {
    if (gateway->store)
      hf_task_keep(task, NULL);
    publish(task);
    return;
  }
  keep_end(task);
}

/* As in all results of the gateway's own making: what is known of the call. */
static void write_outcome(const struct hf_task *task, struct hf_json_writer *w) {
  hf_json_write_key(w, "_meta");
  hf_json_write_object(w);
  hf_json_write_key(w, HF_META_OUTCOME);
  hf_json_write_object(w);
  hf_json_write_member_str(w, "source", HF_STR("live"));
  if (task->server)
    hf_json_write_member_str(w, "provider", hf_str_from(task->server));
  hf_json_write_member_str(w, "executed", HF_STR("maybe"));
  hf_json_write_member_str(w, "reason", hf_str_from(hf_fault_name(HF_FAULT_TASK_LOST)));
  hf_json_write_member_str(w, "call", hf_str_from(task->call));
  hf_json_write_object_end(w);
  hf_json_write_object_end(w);
}

static int compose_text(const struct hf_task *task, struct hf_str text, struct hf_message *ret_answer) {
  struct hf_buf body;
  struct hf_json_writer w;
  struct hf_refusal refusal;
  hf_buf_init(&body, TASK_TEXT_MAX);
  hf_json_writer_init(&w, &body);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "jsonrpc", HF_STR("2.0"));
  hf_json_write_member_int(&w, "id", 0);
  hf_json_write_key(&w, "result");
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "resultType", HF_STR("complete"));
  hf_json_write_key(&w, "content");
  hf_json_write_array(&w);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "type", HF_STR("text"));
  hf_json_write_member_str(&w, "text", text);
  hf_json_write_object_end(&w);
  hf_json_write_array_end(&w);
  hf_json_write_member_bool(&w, "isError", true);
  write_outcome(task, &w);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_message_decode(&body, ret_answer, &refusal);
  hf_buf_deinit(&body);
  return r;
}

void hf_task_end_with_text(struct hf_task *task, struct hf_str text) {
  struct hf_message answer = {0};
  if (compose_text(task, text, &answer) < 0) {
    hf_task_end(task, HF_TASK_CANCELLED, NULL);
    return;
  }
  hf_task_end(task, HF_TASK_COMPLETED, &answer);
}

static int decode_pieces(const struct hf_pieces *text, struct hf_message *ret_message) {
  struct hf_buf joined;
  struct hf_refusal refusal;
  hf_buf_init(&joined, TASK_TEXT_MAX);
  int r = hf_pieces_join(text, &joined);
  if (r == 0)
    r = hf_message_decode(&joined, ret_message, &refusal);
  hf_buf_deinit(&joined);
  return r;
}

static void on_message(struct hf_reply *reply, struct hf_pieces *text) {
  struct hf_task *task = HF_CONTAINER_OF(reply, struct hf_task, reply);
  struct hf_message message = {0};
  if (decode_pieces(text, &message) == 0)
    hf_task_hears(task, &message);
  hf_message_deinit(&message);
  hf_pieces_deinit(text);
}

static bool asks(const struct hf_message *message) {
  return message->kind == HF_MESSAGE_RESULT &&
         hf_str_equal(hf_message_raw(message, HF_FIELD_RESULT_TYPE), HF_STR("\"input_required\""));
}

static void on_finish(struct hf_reply *reply, int http_status, struct hf_pieces *text) {
  struct hf_task *task = HF_CONTAINER_OF(reply, struct hf_task, reply);
  struct hf_message message = {0};
  const int r = text->len ? decode_pieces(text, &message) : HF_ERR_NOMEM;
  if (http_status == HF_STATUS_CANCELLED)
    hf_task_end(task, HF_TASK_CANCELLED, NULL);
  else if (r < 0)
    hf_task_end_with_text(task, HF_STR("The gateway had no memory for the answer. The tool may have been executed."));
  else if (task->resuming)
    hf_task_lost(task, (struct hf_str){NULL, 0});
  else if (asks(&message))
    hf_task_ask(task, &message);
  else
    hf_task_end(task, message.kind == HF_MESSAGE_RESULT ? HF_TASK_COMPLETED : HF_TASK_FAILED, &message);
  hf_message_deinit(&message);
  hf_pieces_deinit(text);
}

static const struct hf_reply_ops reply_ops = {on_message, on_finish};

void hf_task_drop_call(struct hf_task *task) {
  struct hf_exchange *exchange = task->exchange;
  if (!exchange)
    return;
  task->exchange = NULL;
  exchange->task = NULL;
  exchange->reply = NULL;
  task->reply.exchange = NULL;
  if (!hf_task_gateway(task)->closing)
    hf_exchange_disown(exchange);
  hf_exchange_cancel(exchange);
}

/* In the next turn: the client of one that has ended, which its last call may still have stood in; or the call once
 * more, with the answers to what it asked. */
static void on_again(struct hf_job *job) {
  struct hf_task *task = HF_CONTAINER_OF(job, struct hf_task, again);
  if (task->resuming)
    hf_task_resume(task);
  else if (task->ending)
    close_client(task);
  else if (task->quits)
    hf_task_quit(task);
  else
    hf_task_call_again(task);
}

/* Of a call that is a task: it was asked something, and its client has not come back in time. */
static void unanswered(struct hf_task *task) {
  hf_task_end_with_text(task, HF_STR("The server asked something, and nobody answered in time. The call was given up; "
                                     "the tool may have been executed in part."));
}

void hf_task_joined(struct hf_exchange *exchange) {
  struct hf_task *task = exchange->client->task;
  exchange->task = task;
  if (!task || task->exchange)
    return;
  task->exchange = exchange;
  if (task->resuming) /* it is the same call, to which its intent belongs */
    exchange->number = strtoull(task->call + 2, NULL, 16);
  (void)hf_outcome_call_id(exchange, task->call);
}

void hf_task_left(struct hf_exchange *exchange) {
  struct hf_task_ties *ties = exchange->ties;
  struct hf_task *task = exchange->task;
  if (task && task->exchange == exchange) {
    task->exchange = NULL;
    if (!exchange->reply && task->status == HF_TASK_INPUT_REQUIRED && !task->tasks->stopping)
      unanswered(task);
  }
  exchange->task = NULL;
  if (!ties)
    return;
  if (ties->timed)
    hf_timer_deinit(exchange->client->gateway->loop, &ties->later);
  ties->timed = false;
  if (ties->draft)
    hf_task_drop_draft(exchange);
  hf_task_untie(exchange);
}

void hf_tasks_client_closed(struct hf_client *client) {
  struct hf_tasks *tasks = client->gateway->tasks;
  for (struct hf_list *it = tasks ? tasks->running.next : NULL; it && it != &tasks->running; it = it->next) {
    const struct hf_task *task = hf_task_of_link(it);
    if (task->client && task->client->origin == client)
      task->client->origin = NULL;
  }
}
