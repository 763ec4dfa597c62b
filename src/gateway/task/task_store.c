#include "base/alloc.h"
#include "gateway/gateway.h"
#include "gateway/session.h"
#include "gateway/task/task_state.h"
#include "mcp/compose.h"

/* The rows of tasks, and what earlier gateways have left in them. */

enum { REQUEST_MAX = 1 << 16, TEXT_MAX = 2048 };

#define TOO_LARGE                                                                                                      \
  "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"The tool was executed, and its result was " \
  "too large to be kept. It cannot be had any more.\"}],\"isError\":true}"

static struct hf_str result_of(const struct hf_task *task) {
  if (!task->ending || !task->answer.blob)
    return (struct hf_str){NULL, 0};
  if (task->too_large)
    return HF_STR(TOO_LARGE);
  return hf_message_raw(&task->answer, task->end == HF_TASK_FAILED ? HF_FIELD_ERROR : HF_FIELD_RESULT);
}

/* As long as it has not ended it is not forgotten, however long that takes: its row is kept for so much longer. */
static int64_t extra_ms(const struct hf_gateway *gateway) {
  return gateway->settings->limits.task_ttl / HF_MS(1) + HF_TASK_ENDED_GRACE_MS;
}

static int64_t kept_until(const struct hf_task *task) {
  return task->ending ? task->expires_ms : task->expires_ms + extra_ms(hf_task_gateway(task));
}

/* The gateway that wrote it may have had another limit. */
int64_t hf_task_row_expires_ms(const struct hf_gateway *gateway, const struct hf_stored_task *row) {
  const int64_t most_ms = gateway->settings->limits.task_ttl / HF_MS(1);
  const int64_t ttl_ms = row->expires_ms - row->created_ms - extra_ms(gateway);
  if (hf_task_status_is_terminal(row->status))
    return row->expires_ms;
  return row->created_ms + (ttl_ms > 0 && ttl_ms < most_ms ? ttl_ms : most_ms);
}

void hf_task_keep(struct hf_task *task, struct hf_store_wait *wait) {
  struct hf_store *store = hf_task_gateway(task)->store;
  const struct hf_stored_task row = {
      .id = hf_str_from(task->id),
      .principal = hf_str_from(task->principal),
      .endpoint = hf_str_from(task->endpoint),
      .call = hf_str_from(task->call),
      .tool = hf_str_from(task->tool),
      .server = hf_str_from(task->server),
      .server_task = hf_str_from(task->server_task),
      .status = task->ending ? task->end : task->status,
      .message = hf_str_from(task->message),
      .result = result_of(task),
      .failed = task->ending && (task->too_large || task->answer.is_error),
      .created_ms = task->created_ms,
      .updated_ms = task->updated_ms,
      .expires_ms = kept_until(task),
  };
  if (store)
    store->ops->keep_task(store, &row, wait);
}

int hf_task_set_server(struct hf_task *task, struct hf_str name, struct hf_str server_task) {
  char *server = hf_strndup(name.ptr, name.len);
  char *id = hf_strndup(server_task.ptr, server_task.len);
  if (!server || !id) {
    hf_free(server);
    hf_free(id);
    return HF_ERR_NOMEM;
  }
  hf_free(task->server);
  hf_free(task->server_task);
  task->server = server;
  task->server_task = id;
  return 0;
}

void hf_task_lost(struct hf_task *task, struct hf_str letter) {
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  task->resuming = false;
  int r = hf_buf_printf(&text, "The gateway that ran '%s' was stopped in the middle of it, and ", task->tool);
  if (r == 0)
    r = hf_buf_append_str(&text, task->server_task ? HF_STR("its server cannot be asked how it went on")
                                                   : HF_STR("it is not known whether it was sent"));
  if (r == 0)
    r = hf_buf_append_str(&text,
                          HF_STR(". The tool may have been executed: nobody knows. If it does more than read, find out "
                                 "whether it took effect before you call it again."));
  if (r == 0 && letter.ptr)
    r = hf_buf_printf(&text, " It is kept as a dead letter, from which a person can repeat it. [dead letter %.*s]",
                      HF_STR_FMT(letter));
  if (r == 0)
    r = hf_buf_printf(&text, " [call %s]", task->call);
  hf_task_end_with_text(task, r == 0 ? hf_buf_str(&text)
                                     : HF_STR("The gateway was stopped in the middle of it. The tool may have been "
                                              "executed: nobody knows."));
  hf_buf_deinit(&text);
}

static int compose_call(const struct hf_task *task, struct hf_message *ret_request) {
  struct hf_buf text;
  struct hf_json_writer w;
  struct hf_refusal refusal;
  hf_buf_init(&text, REQUEST_MAX);
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "jsonrpc", HF_STR("2.0"));
  hf_json_write_member_int(&w, "id", 0);
  hf_json_write_member_str(&w, "method", HF_STR("tools/call"));
  hf_json_write_key(&w, "params");
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "name", hf_str_from(task->tool));
  hf_json_write_key(&w, "_meta");
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, HF_META_VERSION, HF_STR("2026-07-28"));
  hf_json_write_member_raw(&w, HF_META_CAPABILITIES, HF_STR("{}"));
  hf_json_write_member_raw(&w, HF_META_CLIENT_INFO, HF_STR(HF_IMPLEMENTATION));
  hf_json_write_member_int(&w, "progressToken", 0);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_message_decode(&text, ret_request, &refusal);
  hf_buf_deinit(&text);
  return r;
}

void hf_task_resume(struct hf_task *task) {
  struct hf_message request = {0};
  int r = hf_task_open_client(task, NULL);
  if (r == 0)
    r = compose_call(task, &request);
  if (r < 0) {
    hf_task_lost(task, (struct hf_str){NULL, 0});
    return;
  }
  hf_client_handle(task->client, &request, &task->reply);
}

/* Only where its server has it can it be found: that is the first, then. Another one may have one of that name, too. */
static bool put_first(struct hf_exchange *exchange, struct hf_str server) {
  for (size_t i = 0; i < exchange->target_count; i++) {
    if (!hf_str_equal(exchange->targets[i].instance->settings->name, server))
      continue;
    const struct hf_target_tool found = exchange->targets[i];
    exchange->targets[i] = exchange->targets[0];
    exchange->targets[0] = found;
    exchange->target = &exchange->targets[0];
    return true;
  }
  return false;
}

bool hf_task_resumed(struct hf_exchange *exchange) {
  struct hf_task *task = exchange->task;
  if (!task || !task->resuming)
    return true;
  if (!put_first(exchange, hf_str_from(task->server))) {
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("its server is not there any more"),
                      (struct hf_str){NULL, 0});
    return false;
  }
  task->resuming = false;
  exchange->server_task = hf_arena_copy(&exchange->arena, hf_str_from(task->server_task));
  exchange->hints.stay = true;
  exchange->intended = true;
  return true;
}

static void on_left(void *ctx, const struct hf_stored_task *row) {
  struct hf_gateway *gateway = ctx;
  char id[HF_TASK_ID_MAX];
  struct hf_task *task = row->id.len < sizeof id ? hf_task_new(gateway, row) : NULL;
  if (!task)
    return; /* it stays as it is, for the next gateway */
  task->told = true;
  task->expires_ms = hf_task_row_expires_ms(gateway, row);
  hf_log_event(gateway->loop->log, HF_LOG_INFO, "task of a gateway that has ended is taken over",
               HF_LOG_STR("task", row->id), HF_LOG_STR("tool", row->tool), HF_LOG_STR("server", row->server));
  if (!row->server_task.ptr || !row->server.ptr) {
    hf_task_lost(task, row->letter);
    return;
  }
  task->resuming = true;
  hf_job_defer(gateway->loop, &task->again);
}

void hf_tasks_take_over(struct hf_gateway *gateway) {
  struct hf_tasks *tasks = gateway->tasks;
  if (tasks->taken_over)
    return;
  tasks->taken_over = true;
  gateway->store->ops->take_tasks(gateway->store, on_left, gateway);
}
