#include "gateway/task/follow_state.h"

#include "gateway/live.h"
#include "gateway/own_request.h"
#include "gateway/pipeline.h"
#include "gateway/question/question.h"
#include "mcp/compose.h"
#include "json/write.h"

enum { ERROR_TEXT_MAX = 64 << 10 };

static void ask_for_state(struct hf_follow *follow);
static void ask_for_result(struct hf_follow *follow);

/* `share` of a percent, drawn anew each time: many that began together must not ask together. */
static hf_time spread(struct hf_follow *follow, hf_time pause, unsigned least, unsigned most) {
  const uint64_t percent = least + hf_random_below(&hf_follow_loop(follow)->random, most - least + 1);
  return pause * (hf_time)percent / 100;
}

/* Grows by half, from the first to the slowest. */
static hf_time grown(unsigned times) {
  hf_time pause = HF_FOLLOW_FIRST;
  for (unsigned i = 0; i < times && pause < HF_FOLLOW_SLOWEST; i++)
    pause += pause / 2;
  return hf_time_min(pause, HF_FOLLOW_SLOWEST);
}

/* A server that says how often is never asked more often, but by jitter in its favour; one that does not answer is
 * asked ever more seldom. */
hf_time hf_follow_pause(struct hf_follow *follow) {
  const hf_time wanted = hf_time_min(hf_time_max(follow->interval, HF_FOLLOW_SHORTEST), HF_FOLLOW_LONGEST);
  if (follow->failures > 0)
    return spread(follow, hf_time_max(grown(follow->failures - 1), follow->interval ? wanted : 0), 80, 120);
  if (follow->interval)
    return spread(follow, wanted, 100, 120);
  return spread(follow, grown(follow->polls++), 80, 120);
}

/* The policy counts silence from the last sign of life, and ours is none of the server's. */
static void arm(struct hf_follow *follow) {
  struct hf_loop *loop = hf_follow_loop(follow);
  const hf_time idle = follow->live->target->policy->timeout.idle;
  hf_time at = follow->next;
  if (follow->silence_is_ours)
    at = hf_time_min(at, hf_time_add(loop->now, hf_time_max(idle / 2, HF_MS(1))));
  hf_timer_set(loop, &follow->timer, at);
}

void hf_follow_plan(struct hf_follow *follow, hf_time after) {
  struct hf_loop *loop = hf_follow_loop(follow);
  const bool unreachable = follow->failures > 0 && follow->silence_is_ours;
  follow->hurried = false;
  follow->next = hf_time_add(loop->now, after);
  follow->silence_is_ours = follow->failures == 0 || (unreachable && loop->now - follow->heard < HF_FOLLOW_OUTAGE);
  arm(follow);
}

void hf_follow_hurry(struct hf_follow *follow) {
  struct hf_loop *loop = hf_follow_loop(follow);
  if (follow->poll) {
    follow->hurried = true;
    return;
  }
  follow->next = loop->now;
  hf_timer_set(loop, &follow->timer, loop->now);
}

static void plan_next(struct hf_follow *follow) {
  const bool hurried = follow->hurried;
  hf_follow_plan(follow, hurried ? 0 : hf_follow_pause(follow));
}

/* It could not be asked for. `silent`: the server was there to answer, and did not. */
static void failed(struct hf_follow *follow, bool silent) {
  follow->failures++;
  follow->silence_is_ours = !silent;
  hf_follow_plan(follow, hf_follow_pause(follow));
}

/* What of such an answer tells that the task is not known. */
static bool is_unknown(const struct hf_evidence *evidence) {
  return evidence->jsonrpc_code == HF_RPC_INVALID_PARAMS || evidence->jsonrpc_code == HF_RPC_METHOD_NOT_FOUND ||
         evidence->jsonrpc_code == HF_RPC_MISSING_CAPABILITY;
}

/* A request about the task came to nothing. */
static void take_failure(struct hf_follow *follow, const struct hf_evidence *evidence,
                         const struct hf_message *response) {
  struct hf_evidence seen = *evidence;
  seen.handed_over = true;
  if (hf_classify(&seen).fault == HF_FAULT_SESSION_LOST && !follow->new_session) {
    follow->new_session = true;
    follow->failures++;
    hf_follow_plan(follow, 0);
    return;
  }
  const bool refused = response || evidence->kind == HF_EVIDENCE_BAD_REPLY;
  if (refused && (is_unknown(evidence) || ++follow->refusals >= HF_FOLLOW_REFUSALS_MAX))
    hf_follow_lose(follow);
  else
    failed(follow, false);
}

static void answered(struct hf_follow *follow) {
  follow->failures = follow->refusals = 0;
  follow->new_session = false;
  follow->silence_is_ours = true;
}

/* The attempt ends as if the call itself had been answered with this. */
static void conclude(struct hf_follow *follow, const char *member, struct hf_str raw) {
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_NONE);
  struct hf_message response = {0};
  struct hf_refusal refusal;
  struct hf_buf text;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "jsonrpc", HF_STR("2.0"));
  hf_json_write_member_int(&w, "id", 0);
  hf_json_write_member_raw(&w, member, raw.ptr ? raw : HF_STR("null"));
  hf_json_write_object_end(&w);
  int r = raw.ptr ? hf_json_write_finish(&w) : HF_ERR_INVALID;
  if (r == 0)
    r = hf_message_decode(&text, &response, &refusal);
  hf_buf_deinit(&text);
  if (r == 0 && response.kind == HF_MESSAGE_RESULT && hf_message_is_pending(&response)) {
    hf_message_deinit(&response);
    r = HF_ERR_INVALID; /* it is over */
  }
  if (r < 0) {
    hf_follow_finish(follow, &HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY), NULL);
    return;
  }
  if (response.kind == HF_MESSAGE_ERROR) {
    evidence.kind = HF_EVIDENCE_JSONRPC_ERROR;
    evidence.jsonrpc_code = (int)response.error_code;
  }
  hf_follow_finish(follow, &evidence, &response);
  hf_message_deinit(&response);
}

static void act_on(struct hf_follow *follow, const struct hf_server_task *task) {
  const bool modern = hf_follow_instance(follow)->era == HF_ERA_MODERN;
  switch (task->status) {
  case HF_TASK_INPUT_REQUIRED:
    if (modern) {
      hf_follow_ask(follow, task->requests);
      return;
    }
    break; /* it asks on the stream of tasks/result */
  case HF_TASK_COMPLETED:
  case HF_TASK_FAILED:
    if (modern && task->status == HF_TASK_COMPLETED)
      conclude(follow, "result", task->result);
    else if (modern)
      conclude(follow, "error", task->error);
    else
      ask_for_result(follow);
    return;
  case HF_TASK_CANCELLED:
    hf_follow_finish(follow, &HF_EVIDENCE(HF_EVIDENCE_TASK_CANCELLED), NULL);
    return;
  case HF_TASK_WORKING:
  case HF_TASK_STATUS_COUNT:
    break;
  }
  plan_next(follow);
  if (task->status == HF_TASK_INPUT_REQUIRED)
    ask_for_result(follow);
}

/* Is it what was asked for? Its id may be spelt in another way. */
static bool is_about(const struct hf_follow *follow, const struct hf_server_task *task) {
  struct hf_buf name;
  hf_buf_init(&name, HF_SERVER_TASK_ID_MAX);
  const bool same = hf_json_unescape(task->id, &name) == 0 && hf_str_equal(follow->name, hf_buf_str(&name));
  hf_buf_deinit(&name);
  return same;
}

static void on_state(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_follow *follow = ctx;
  struct hf_server_task task;
  follow->poll = NULL;
  if (!response || response->kind != HF_MESSAGE_RESULT) {
    take_failure(follow, evidence, response);
    return;
  }
  if (hf_server_task_read(hf_message_raw(response, HF_FIELD_RESULT), &task) < 0 || !is_about(follow, &task)) {
    if (++follow->refusals >= HF_FOLLOW_REFUSALS_MAX)
      hf_follow_lose(follow);
    else
      failed(follow, false);
    return;
  }
  answered(follow);
  if (hf_follow_note(follow, &task))
    act_on(follow, &task);
}

static const struct hf_attempt_events state_events = {hf_own_request_sent, hf_own_request_life, hf_own_request_message,
                                                      on_state};

static int send(struct hf_follow *follow, enum hf_method method, const struct hf_attempt_events *events,
                struct hf_attempt_ref **ret_ref) {
  struct hf_instance *instance = hf_follow_instance(follow);
  const struct hf_own_request request = {.method = method,
                                         .key = "taskId",
                                         .raw = follow->id,
                                         .new_session = follow->new_session,
                                         .patience = HF_FOLLOW_PATIENCE,
                                         .events = events,
                                         .ctx = follow};
  if (instance->phase == HF_UPSTREAM_READY)
    return hf_own_request_send(instance, &request, ret_ref);
  hf_instance_start(instance);
  return HF_ERR_UNAVAILABLE;
}

static void wait_for(struct hf_follow *follow) {
  struct hf_loop *loop = hf_follow_loop(follow);
  follow->silence_is_ours = false;
  follow->next = hf_time_add(loop->now, HF_FOLLOW_PATIENCE);
  hf_timer_set(loop, &follow->timer, follow->next);
}

static void ask_for_state(struct hf_follow *follow) {
  if (send(follow, HF_METHOD_TASKS_GET, &state_events, &follow->poll) == 0)
    wait_for(follow);
  else
    failed(follow, false);
}

/* Servers that know no more than that it failed have put the reason into its message. */
static int tell_reason(const struct hf_follow *follow, const struct hf_message *response, struct hf_message *ret_made) {
  struct hf_buf reason, message, whole;
  struct hf_refusal refusal;
  hf_buf_init(&reason, ERROR_TEXT_MAX);
  hf_buf_init(&message, ERROR_TEXT_MAX);
  hf_buf_init(&whole, 4 * ERROR_TEXT_MAX);
  const struct hf_str raw = hf_message_raw(response, HF_FIELD_ERROR_MESSAGE);
  int r = follow->said.ptr && raw.ptr && raw.ptr[0] == '"' ? 0 : HF_ERR_NOTFOUND;
  if (r == 0)
    r = hf_json_unescape(raw, &message);
  if (r == 0)
    r = hf_json_unescape(follow->said, &reason);
  if (r == 0 && (reason.len == 0 || memmem(message.data, message.len, reason.data, reason.len)))
    r = HF_ERR_NOTFOUND;
  if (r == 0)
    r = hf_buf_append_str(&reason, HF_STR(" ("));
  if (r == 0)
    r = hf_buf_append_str(&reason, hf_buf_str(&message));
  if (r == 0)
    r = hf_buf_append_str(&reason, HF_STR(")"));
  if (r == 0)
    r = hf_compose_error(&whole, HF_STR("0"), (int)response->error_code, hf_buf_str(&reason),
                         hf_message_raw(response, HF_FIELD_ERROR_DATA));
  if (r == 0)
    r = hf_message_decode(&whole, ret_made, &refusal);
  hf_buf_deinit(&reason);
  hf_buf_deinit(&message);
  hf_buf_deinit(&whole);
  return r;
}

static void end_with(struct hf_follow *follow, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_message made = {0};
  const bool error = response->kind == HF_MESSAGE_ERROR;
  const int r = error ? tell_reason(follow, response, &made) : hf_server_task_strip(response, &made);
  if (r == 0)
    hf_follow_finish(follow, evidence, &made);
  else if (error)
    hf_follow_finish(follow, evidence, response);
  else
    hf_follow_finish(follow, &HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY), NULL);
  hf_message_deinit(&made);
}

/* An error is the task's own where the task is known to have failed; else it may be about the request for the result.
 */
static void on_result(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_follow *follow = ctx;
  follow->result = NULL;
  const bool good = response && response->kind == HF_MESSAGE_RESULT;
  if (good && hf_message_is_pending(response)) {
    hf_follow_finish(follow, &HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY), NULL);
  } else if (good || (response && follow->status == HF_TASK_FAILED && evidence->kind == HF_EVIDENCE_JSONRPC_ERROR)) {
    end_with(follow, evidence, response);
  } else if (hf_task_status_is_terminal(follow->status)) {
    take_failure(follow, evidence, response);
  } /* else it goes on being asked how it is, and that tells what to do */
}

static void on_result_life(void *ctx) {
  const struct hf_follow *follow = ctx;
  struct hf_live *live = follow->live;
  hf_pipeline_event(live->exchange, &(struct hf_call_event){.kind = HF_CALL_SIGN_OF_LIFE, .attempt = live->attempt});
}

static void on_result_message(void *ctx, const struct hf_message *message) {
  hf_live_message(((struct hf_follow *)ctx)->live, message);
}

static void on_result_part(void *ctx) {
  const struct hf_follow *follow = ctx;
  struct hf_live *live = follow->live;
  hf_pipeline_event(live->exchange, &(struct hf_call_event){.kind = HF_CALL_ANSWER_BYTES, .attempt = live->attempt});
}

static const struct hf_attempt_events result_events = {hf_own_request_sent, on_result_life, on_result_message,
                                                       on_result, on_result_part};

/* It is answered when the task is over, and meanwhile the server asks on its stream. */
static void ask_for_result(struct hf_follow *follow) {
  int r = follow->result ? 0 : send(follow, HF_METHOD_TASKS_RESULT, &result_events, &follow->result);
  if (!hf_task_status_is_terminal(follow->status))
    return; /* what does not succeed now is done again when it has said the same again */
  if (r == 0)
    wait_for(follow);
  else
    failed(follow, false);
}

static void overdue(struct hf_follow *follow) {
  struct hf_upstream *upstream = hf_follow_instance(follow)->upstream;
  struct hf_attempt_ref **ref = follow->poll ? &follow->poll : &follow->result;
  upstream->ops->abort(upstream, *ref, HF_STR("no answer in time"));
  *ref = NULL;
  failed(follow, true);
}

void hf_follow_due(struct hf_timer *timer) {
  struct hf_follow *follow = HF_CONTAINER_OF(timer, struct hf_follow, timer);
  struct hf_live *live = follow->live;
  const struct hf_call_event waits = {.kind = HF_CALL_ANSWER_BYTES, .attempt = live->attempt};
  if (follow->silence_is_ours && (!hf_pipeline_event(live->exchange, &waits) || follow->live != live))
    return;
  if (hf_follow_loop(follow)->now < follow->next) {
    arm(follow);
  } else if (follow->poll || (follow->result && hf_task_status_is_terminal(follow->status))) {
    overdue(follow);
  } else if (hf_task_status_is_terminal(follow->status) && follow->status != HF_TASK_CANCELLED &&
             hf_follow_instance(follow)->era != HF_ERA_MODERN) {
    ask_for_result(follow);
  } else {
    ask_for_state(follow);
  }
}
