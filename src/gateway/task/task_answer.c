#include "base/date.h"
#include "gateway/gateway.h"
#include "gateway/session.h"
#include "gateway/task/task_state.h"
#include "mcp/compose.h"
#include "mcp/rewrite.h"
#include "json/value.h"

#include <stdio.h>

enum { ANSWER_MAX = 130 << 20, RELATED_MAX = 128, RPC_TASK_CANCELLED = -31001 };

struct hf_task_view hf_task_view(const struct hf_task *task) {
  const struct hf_message *answer = &task->answer;
  const bool shown = task->message[0] && (hf_task_has_ended(task) || !task->ending);
  return (struct hf_task_view){
      .id = hf_str_from(task->id),
      .status = task->status,
      .message = shown ? hf_str_from(task->message) : (struct hf_str){NULL, 0},
      .created_ms = task->created_ms,
      .updated_ms = task->updated_ms,
      .ttl_ms = task->expires_ms - task->created_ms,
      .result = hf_message_raw(answer, answer->kind == HF_MESSAGE_ERROR ? HF_FIELD_ERROR : HF_FIELD_RESULT),
      .failed = answer->is_error,
      .task = task,
  };
}

/* What a task asks is known to the gateway that runs it, and to nobody else: here it can only be waited for. */
struct hf_task_view hf_task_view_row(const struct hf_gateway *gateway, const struct hf_stored_task *row) {
  const bool asks = row->status == HF_TASK_INPUT_REQUIRED;
  const struct hf_str message = row->message.len ? row->message : (struct hf_str){NULL, 0};
  return (struct hf_task_view){
      .id = row->id,
      .status = asks ? HF_TASK_WORKING : row->status,
      .message =
          asks ? HF_STR("It asks something, and another gateway runs it: only there can it be answered.") : message,
      .created_ms = row->created_ms,
      .updated_ms = row->updated_ms,
      .ttl_ms = hf_task_row_expires_ms(gateway, row) - row->created_ms,
      .result = row->result,
      .failed = row->failed,
  };
}

/* A tool's own error is a result to the extension, and a failure to 2025-11-25. */
static enum hf_task_status shown_status(const struct hf_task_view *view, enum hf_era era) {
  return era != HF_ERA_MODERN && view->status == HF_TASK_COMPLETED && view->failed ? HF_TASK_FAILED : view->status;
}

/* The longer it lasts, the less often it is worth asking. */
static int64_t poll_interval(const struct hf_task_view *view, int64_t now_ms) {
  static const struct {
    int64_t age_ms, every_ms;
  } steps[] = {{10 * 1000, 1000}, {60 * 1000, 2000}, {10 * 60 * 1000, 5000}};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
    if (now_ms - view->created_ms < steps[i].age_ms)
      return steps[i].every_ms;
  return 10 * 1000;
}

static void write_details(const struct hf_task_view *view, struct hf_json_writer *w) {
  if (view->status == HF_TASK_COMPLETED && view->result.ptr)
    hf_json_write_member_raw(w, "result", view->result);
  if (view->status == HF_TASK_FAILED && view->result.ptr)
    hf_json_write_member_raw(w, "error", view->result);
  if (view->status != HF_TASK_INPUT_REQUIRED)
    return;
  struct hf_buf questions;
  hf_buf_init(&questions, ANSWER_MAX);
  if (hf_task_write_questions(view->task, &questions) == 0)
    hf_json_write_member_raw(w, "inputRequests", hf_buf_str(&questions));
  else
    w->error = HF_ERR_NOMEM;
  hf_buf_deinit(&questions);
}

void hf_task_write(const struct hf_task_view *view, enum hf_era era, enum hf_task_form form, int64_t now_ms,
                   struct hf_json_writer *w) {
  const bool modern = era == HF_ERA_MODERN;
  const enum hf_task_status status = shown_status(view, era);
  char created[HF_DATE_MAX], updated[HF_DATE_MAX];
  hf_json_write_member_str(w, "taskId", view->id);
  hf_json_write_member_str(w, "status", hf_str_from(hf_task_status_name(status)));
  if (view->message.ptr)
    hf_json_write_member_str(w, "statusMessage", view->message);
  hf_json_write_member_str(w, "createdAt", hf_date_write(view->created_ms, created));
  hf_json_write_member_str(w, "lastUpdatedAt", hf_date_write(view->updated_ms, updated));
  hf_json_write_member_int(w, modern ? "ttlMs" : "ttl", view->ttl_ms);
  if (!hf_task_status_is_terminal(view->status))
    hf_json_write_member_int(w, modern ? "pollIntervalMs" : "pollInterval", poll_interval(view, now_ms));
  if (modern && form == HF_TASK_DETAILED)
    write_details(view, w);
}

static int64_t now_of(const struct hf_gateway *gateway) {
  return gateway->loop->wall_ms;
}

void hf_task_answer_state(struct hf_exchange *exchange, const struct hf_task_view *view) {
  struct hf_buf result;
  struct hf_json_writer w;
  hf_buf_init(&result, ANSWER_MAX);
  hf_json_writer_init(&w, &result);
  hf_json_write_object(&w);
  if (exchange->era == HF_ERA_MODERN)
    hf_json_write_member_str(&w, "resultType", HF_STR("complete"));
  hf_task_write(view, exchange->era, HF_TASK_DETAILED, now_of(exchange->client->gateway), &w);
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) == 0)
    hf_exchange_result(exchange, hf_buf_str(&result));
  else
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"), (struct hf_str){NULL, 0});
  hf_buf_deinit(&result);
}

void hf_task_relate(struct hf_rewrite *rewrite, struct hf_str id) {
  char related[RELATED_MAX];
  int n = snprintf(related, sizeof related, "{\"taskId\":\"%.*s\"}", HF_STR_FMT(id));
  hf_rewrite_set_meta(rewrite, HF_STR(HF_META_RELATED_TASK), (struct hf_str){related, (size_t)n});
}

static int compose_result(struct hf_str id, const struct hf_task_view *view, struct hf_pieces *ret_text) {
  struct hf_buf text;
  struct hf_message message = {0};
  struct hf_refusal refusal;
  struct hf_rewrite rewrite;
  hf_buf_init(&text, ANSWER_MAX);
  int r = hf_compose_result(&text, id, view->result);
  if (r == 0)
    r = hf_message_decode(&text, &message, &refusal);
  if (r == 0) {
    hf_rewrite_begin(&rewrite, &message);
    hf_rewrite_remove_member(&rewrite, message.at[HF_FIELD_RESULT], HF_STR("resultType"));
    hf_task_relate(&rewrite, view->id);
    r = hf_rewrite_finish(&rewrite, ret_text);
  }
  hf_message_deinit(&message);
  hf_buf_deinit(&text);
  return r;
}

/* What the call was answered with, under another id. */
static int compose_error(struct hf_str id, struct hf_str error, struct hf_pieces *ret_text) {
  struct hf_buf text;
  struct hf_json_writer w;
  hf_buf_init(&text, ANSWER_MAX);
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "jsonrpc", HF_STR("2.0"));
  hf_json_write_member_raw(&w, "id", id);
  hf_json_write_member_raw(&w, "error", error);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_pieces_add_copy(ret_text, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return r;
}

void hf_task_answer_result(struct hf_exchange *exchange, const struct hf_task_view *view) {
  struct hf_pieces text;
  int r = HF_ERR_NOTFOUND;
  hf_pieces_init(&text);
  if (view->status == HF_TASK_COMPLETED && view->result.ptr)
    r = compose_result(exchange->request.id, view, &text);
  else if (view->status == HF_TASK_FAILED && view->result.ptr)
    r = compose_error(exchange->request.id, view->result, &text);
  if (r == 0)
    hf_exchange_finish(exchange, 200, &text);
  else if (r == HF_ERR_NOTFOUND)
    hf_exchange_error(exchange, RPC_TASK_CANCELLED,
                      view->message.ptr ? view->message : HF_STR("the task was cancelled"), (struct hf_str){NULL, 0});
  else
    hf_exchange_error(exchange, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"), (struct hf_str){NULL, 0});
  hf_pieces_deinit(&text);
}

/* It begins as one that works, whatever has become of it since it was written down. */
int hf_task_write_created(const struct hf_task *task, struct hf_str id, enum hf_era era, struct hf_buf *out) {
  struct hf_task_view view = hf_task_view(task);
  struct hf_buf result;
  struct hf_json_writer w;
  hf_buf_init(&result, ANSWER_MAX);
  hf_json_writer_init(&w, &result);
  hf_json_write_object(&w);
  if (era == HF_ERA_MODERN) {
    hf_json_write_member_str(&w, "resultType", HF_STR("task"));
    hf_task_write(&view, era, HF_TASK_BARE, now_of(hf_task_gateway(task)), &w);
  } else {
    hf_json_write_key(&w, "task");
    hf_json_write_object(&w);
    hf_task_write(&view, era, HF_TASK_BARE, now_of(hf_task_gateway(task)), &w);
    hf_json_write_object_end(&w);
  }
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_compose_result(out, id, hf_buf_str(&result));
  hf_buf_deinit(&result);
  return r;
}

int hf_task_compose_notice(const struct hf_task *task, enum hf_era era, struct hf_str subscription,
                           struct hf_pieces *ret_text) {
  const struct hf_task_view view = hf_task_view(task);
  const enum hf_method method = era == HF_ERA_MODERN ? HF_METHOD_TASKS_CHANGED : HF_METHOD_TASKS_STATUS;
  struct hf_buf params;
  struct hf_json_writer w;
  hf_buf_init(&params, ANSWER_MAX);
  hf_json_writer_init(&w, &params);
  hf_json_write_object(&w);
  hf_task_write(&view, era, HF_TASK_DETAILED, now_of(hf_task_gateway(task)), &w);
  if (subscription.ptr) {
    hf_json_write_key(&w, "_meta");
    hf_json_write_object(&w);
    hf_json_write_member_raw(&w, HF_META_SUBSCRIPTION, subscription);
    hf_json_write_object_end(&w);
  }
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_compose_notice(ret_text, method, hf_buf_str(&params));
  hf_buf_deinit(&params);
  return r;
}
