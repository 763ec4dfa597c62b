#include "gateway/gateway.h"
#include "gateway/session.h"
#include "gateway/task/follow.h"
#include "gateway/task/task_state.h"

/* What becomes of tasks when the gateway is to end. */

/* Whoever waits for the result asks again, of the next gateway. */
static void dismiss_awaiting(struct hf_task *task) {
  while (!hf_list_empty(&task->awaiting)) {
    struct hf_task_ties *ties = HF_CONTAINER_OF(task->awaiting.next, struct hf_task_ties, awaiting);
    hf_exchange_error(ties->exchange, HF_RPC_INTERNAL_ERROR,
                      HF_STR("the gateway is shutting down; the task is kept: ask again when it is back"),
                      (struct hf_str){NULL, 0});
  }
}

/* Its server goes on with it, and the next gateway asks for it. Its intent stays as well. */
static void leave(struct hf_task *task) {
  struct hf_exchange *exchange = task->exchange;
  task->exchange = NULL;
  task->reply.exchange = NULL;
  exchange->task = NULL;
  exchange->reply = NULL;
  exchange->intended = false;
  for (size_t i = 0; i < HF_LIVE_MAX; i++) {
    const struct hf_live *live = &exchange->live[i];
    struct hf_upstream *upstream = live->ref ? live->target->instance->upstream : NULL;
    if (upstream)
      upstream->ops->abort(upstream, live->ref, HF_STR("the gateway is shutting down"));
    exchange->live[i].ref = NULL;
  }
  if (exchange->call.waiter.queued) /* for a second attempt */
    hf_instance_step(exchange->targets[exchange->call.target].instance,
                     &(struct hf_provider_event){.kind = HF_PROVIDER_WITHDRAW, .waiter = &exchange->call.waiter});
  hf_log_event(hf_task_gateway(task)->loop->log, HF_LOG_INFO, "task is left to its server and the next gateway",
               HF_LOG_STR("task", hf_str_from(task->id)), HF_LOG_STR("server", hf_str_from(task->server)));
  hf_exchange_drop(exchange);
}

static bool is_followed(const struct hf_task *task) {
  return task->server_task && task->exchange && task->exchange->follow && task->exchange->stage == HF_STAGE_CALLING &&
         task->status == HF_TASK_WORKING;
}

void hf_tasks_drain(struct hf_gateway *gateway) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &gateway->tasks->running) {
    struct hf_task *task = hf_task_of_link(it);
    dismiss_awaiting(task);
    if (!task->told || task->ending)
      continue;
    if (gateway->store && is_followed(task)) {
      leave(task);
    } else if (task->status == HF_TASK_INPUT_REQUIRED) {
      hf_task_drop_call(task);
      hf_task_end_with_text(task, HF_STR("The gateway was shut down while the call waited for an answer to what its "
                                         "server had asked. The tool may have been executed in part."));
    }
  }
}

void hf_tasks_stop(struct hf_gateway *gateway) {
  struct hf_list *it, *tmp;
  gateway->tasks->stopping = true;
  HF_LIST_FOREACH (it, tmp, &gateway->tasks->running) {
    struct hf_task *task = hf_task_of_link(it);
    if (task->told && task->exchange)
      hf_exchange_cancel(task->exchange);
  }
}
