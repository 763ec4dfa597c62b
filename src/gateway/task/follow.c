#include "gateway/task/follow.h"

#include "gateway/live.h"
#include "gateway/observe/trace.h"
#include "gateway/pipeline.h"
#include "gateway/relay.h"
#include "gateway/task/follow_state.h"
#include "gateway/task/task.h"
#include "json/value.h"
#include "json/write.h"

static struct hf_follow *slot_of(const struct hf_live *live) {
  struct hf_exchange *exchange = live->exchange;
  return exchange->follow ? &exchange->follow[live - exchange->live] : NULL;
}

struct hf_follow *hf_follow_of(const struct hf_live *live) {
  struct hf_follow *follow = slot_of(live);
  return follow && follow->live ? follow : NULL;
}

bool hf_follow_is_on(const struct hf_live *live) {
  return hf_follow_of(live) != NULL;
}

struct hf_instance *hf_follow_instance(const struct hf_follow *follow) {
  return follow->live->target->instance;
}

struct hf_loop *hf_follow_loop(const struct hf_follow *follow) {
  return follow->live->exchange->client->gateway->loop;
}

/* The task in an answer to a call, raw; absent if it is another answer. One of the older protocol stands in a member of
 * its own, and where a tool's result stands, there is no task. */
static struct hf_str task_in(const struct hf_instance *instance, const struct hf_message *response) {
  const struct hf_str absent = {NULL, 0};
  uint32_t node;
  if (response->kind != HF_MESSAGE_RESULT)
    return absent;
  if (instance->era == HF_ERA_MODERN)
    return hf_str_equal(hf_message_raw(response, HF_FIELD_RESULT_TYPE), HF_STR("\"task\""))
               ? hf_message_raw(response, HF_FIELD_RESULT)
               : absent;
  if (hf_message_raw(response, HF_FIELD_CONTENT).ptr ||
      hf_json_member(&response->doc, response->at[HF_FIELD_RESULT], HF_STR("task"), &node) < 0 ||
      hf_json_type(&response->doc, node) != HF_JSON_OBJECT)
    return absent;
  return hf_json_span(&response->doc, node);
}

static bool is_call(const struct hf_live *live) {
  return live->exchange->request.method == HF_METHOD_TOOLS_CALL;
}

bool hf_follow_is_wanted(const struct hf_live *live, const struct hf_message *response) {
  const struct hf_instance *instance = live->target->instance;
  return (is_call(live) || instance->era == HF_ERA_MODERN) && task_in(instance, response).ptr;
}

/* All of an exchange's slots are made at once, and its timers given back when it goes. */
static bool make_slots(struct hf_exchange *exchange) {
  struct hf_loop *loop = exchange->client->gateway->loop;
  if (exchange->follow)
    return true;
  struct hf_follow *slots = hf_arena_alloc(&exchange->arena, HF_LIVE_MAX * sizeof *slots);
  for (size_t i = 0; slots && i < HF_LIVE_MAX; i++) {
    if (hf_timer_init(loop, &slots[i].timer, hf_follow_due) == 0)
      continue;
    while (i-- > 0)
      hf_timer_deinit(loop, &slots[i].timer);
    return false;
  }
  exchange->follow = slots;
  return slots != NULL;
}

static struct hf_follow *take_slot(struct hf_live *live, struct hf_str raw, struct hf_str name) {
  struct hf_exchange *exchange = live->exchange;
  const struct hf_str copy = hf_arena_copy(&exchange->arena, raw);
  if (!copy.ptr || !make_slots(exchange))
    return NULL;
  struct hf_follow *follow = slot_of(live);
  const struct hf_timer timer = follow->timer;
  *follow = (struct hf_follow){.live = live,
                               .timer = timer,
                               .id = copy,
                               .name = name,
                               .starts = live->target->instance->starts,
                               .heard = exchange->client->gateway->loop->now};
  hf_list_push_back(&live->target->instance->attempts, &live->at_instance);
  return follow;
}

/* An id is a text: what it means is kept, and spelt anew for the next gateway. */
static bool read_name(struct hf_live *live, struct hf_str raw, struct hf_str *ret_text) {
  struct hf_buf text;
  hf_buf_init(&text, HF_SERVER_TASK_ID_MAX);
  const bool good = hf_json_unescape(raw, &text) == 0 && text.len > 0;
  *ret_text = good ? hf_arena_copy(&live->exchange->arena, hf_buf_str(&text)) : (struct hf_str){NULL, 0};
  hf_buf_deinit(&text);
  return ret_text->ptr != NULL;
}

void hf_follow_begin(struct hf_live *live, const struct hf_message *response) {
  struct hf_exchange *exchange = live->exchange;
  struct hf_server_task task;
  struct hf_str name;
  if (!is_call(live)) { /* nothing else can be one */
    hf_live_done(live, &HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY), NULL);
    return;
  }
  hf_call_follow(&exchange->call, live->attempt); /* also of one that cannot be read: it is there */
  if (hf_server_task_read(task_in(live->target->instance, response), &task) < 0 || !read_name(live, task.id, &name)) {
    hf_live_done(live, &HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY), NULL);
    return;
  }
  struct hf_follow *follow = take_slot(live, task.id, name);
  if (!follow) {
    hf_live_done(live, &HF_EVIDENCE(HF_EVIDENCE_TASK_LOST), NULL);
    return;
  }
  follow->interval = task.interval;
  hf_trace_stage(exchange, HF_STR("its server has made a task of it, which is followed"));
  if (!hf_follow_note(follow, &task))
    return;
  hf_follow_plan(follow, task.status == HF_TASK_WORKING ? hf_follow_pause(follow) : 0);
  hf_task_at_server(exchange, live->target->instance, name);
}

void hf_follow_resume(struct hf_live *live) {
  struct hf_exchange *exchange = live->exchange;
  struct hf_call_event event = {.attempt = live->attempt};
  struct hf_buf raw;
  hf_buf_init(&raw, 8 * HF_SERVER_TASK_ID_MAX);
  struct hf_follow *follow = hf_json_escape(&raw, exchange->server_task) == 0
                                 ? take_slot(live, hf_buf_str(&raw), exchange->server_task)
                                 : NULL;
  hf_buf_deinit(&raw);
  event.kind = HF_CALL_ATTEMPT_SENT;
  event.sent.complete = true; /* by the gateway that was told of it */
  hf_pipeline_post(exchange, &event);
  if (follow) {
    hf_call_follow(&exchange->call, live->attempt);
    hf_trace_stage(exchange, HF_STR("its server had made a task of it before this gateway began, which is followed"));
    hf_follow_plan(follow, 0);
    return;
  }
  event.kind = HF_CALL_ATTEMPT_DONE;
  event.done = (struct hf_call_done){HF_ATTEMPT_FAULT, HF_EVIDENCE(HF_EVIDENCE_TASK_LOST)};
  hf_pipeline_post(exchange, &event);
}

/* A message that is new goes out as progress does, to whoever asked for that. */
static void say(struct hf_follow *follow, struct hf_str raw) {
  struct hf_exchange *exchange = follow->live->exchange;
  if (!raw.ptr || raw.len <= 2 || hf_str_equal(raw, follow->said))
    return;
  const struct hf_str copy = hf_arena_copy(&exchange->arena, raw);
  if (!copy.ptr)
    return;
  follow->said = copy;
  follow->polls = 0;
  struct hf_message progress;
  if (hf_relay_make_progress(exchange, copy, &progress) == 0) {
    hf_live_pass_on(exchange, &progress);
    hf_message_deinit(&progress);
  }
  struct hf_buf text;
  hf_buf_init(&text, raw.len);
  if (hf_json_unescape(copy, &text) == 0)
    hf_task_says(exchange, hf_buf_str(&text));
  hf_buf_deinit(&text);
}

bool hf_follow_note(struct hf_follow *follow, const struct hf_server_task *task) {
  struct hf_live *live = follow->live;
  const struct hf_call_event life = {.kind = HF_CALL_SIGN_OF_LIFE, .attempt = live->attempt};
  if (!hf_pipeline_event(live->exchange, &life) || follow->live != live)
    return false;
  if (follow->status != task->status)
    follow->polls = 0;
  follow->status = task->status;
  follow->heard = hf_follow_loop(follow)->now;
  follow->interval = task->interval ? task->interval : follow->interval;
  say(follow, task->message);
  return true;
}

static void give_up(struct hf_follow *follow, struct hf_attempt_ref **ref) {
  struct hf_upstream *upstream = hf_follow_instance(follow)->upstream;
  if (*ref)
    upstream->ops->abort(upstream, *ref, HF_STR("not wanted any more"));
  *ref = NULL;
}

void hf_follow_forget(struct hf_follow *follow) {
  hf_timer_stop(hf_follow_loop(follow), &follow->timer);
  give_up(follow, &follow->poll);
  give_up(follow, &follow->result);
  give_up(follow, &follow->update);
  hf_list_remove(&follow->live->at_instance);
  follow->live = NULL;
}

void hf_follow_finish(struct hf_follow *follow, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_live *live = follow->live;
  hf_follow_forget(follow);
  hf_live_done(live, evidence, response);
}

/* What was started anew since does not run what it ran before. */
void hf_follow_lose(struct hf_follow *follow) {
  const struct hf_instance *instance = hf_follow_instance(follow);
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_TASK_LOST);
  evidence.child_dead = instance->settings->transport == HF_TRANSPORT_STDIO && instance->starts != follow->starts;
  hf_follow_finish(follow, &evidence, NULL);
}

static void cancel(struct hf_instance *instance, struct hf_str id) {
  if (instance->era == HF_ERA_MODERN || instance->capabilities.tasks_cancel)
    hf_instance_tell(instance, HF_METHOD_TASKS_CANCEL, "taskId", id);
}

void hf_follow_cancel(const struct hf_follow *follow) {
  cancel(hf_follow_instance(follow), follow->id);
}

void hf_follow_stray(struct hf_instance *instance, const struct hf_message *result) {
  struct hf_server_task task;
  if (hf_server_task_read(task_in(instance, result), &task) == 0 && !hf_server_task_is_over(&task))
    cancel(instance, task.id);
}

/* A gateway that ends leaves it to the next one, if that will know of it. */
static bool is_left_to_others(const struct hf_exchange *exchange) {
  const struct hf_gateway *gateway = exchange->client->gateway;
  return exchange->task && gateway->store && (gateway->draining || gateway->closing);
}

void hf_follow_abort(struct hf_live *live) {
  struct hf_follow *follow = hf_follow_of(live);
  if (!follow)
    return;
  if (!is_left_to_others(live->exchange))
    hf_follow_cancel(follow);
  hf_follow_forget(follow);
}

void hf_follow_left(struct hf_exchange *exchange) {
  struct hf_follow *slots = exchange->follow;
  if (!slots)
    return;
  for (size_t i = 0; i < HF_LIVE_MAX; i++) {
    if (slots[i].live)
      hf_follow_forget(&slots[i]);
    hf_timer_deinit(exchange->client->gateway->loop, &slots[i].timer);
  }
  exchange->follow = NULL;
}

/* `id` is raw, and may be spelt in another way. */
static struct hf_follow *find(const struct hf_instance *instance, struct hf_str id) {
  struct hf_follow *found = NULL;
  struct hf_buf name;
  hf_buf_init(&name, HF_SERVER_TASK_ID_MAX);
  const bool good = id.ptr && id.ptr[0] == '"' && hf_json_unescape(id, &name) == 0;
  for (const struct hf_list *it = instance->attempts.next; good && !found && it != &instance->attempts; it = it->next) {
    struct hf_follow *follow = hf_follow_of(HF_CONTAINER_OF(it, const struct hf_live, at_instance));
    if (follow && hf_str_equal(follow->name, hf_buf_str(&name)))
      found = follow;
  }
  hf_buf_deinit(&name);
  return found;
}

static struct hf_follow *find_by_token(const struct hf_instance *instance, struct hf_str token) {
  char digits[HF_DECIMAL_MAX];
  for (const struct hf_list *it = instance->attempts.next; token.ptr && it != &instance->attempts; it = it->next) {
    const struct hf_live *live = HF_CONTAINER_OF(it, const struct hf_live, at_instance);
    struct hf_follow *follow = hf_follow_of(live);
    if (follow && hf_str_equal(hf_str_decimal(live->upstream_id, digits), token))
      return follow;
  }
  return NULL;
}

const struct hf_live *hf_follow_asker(const struct hf_instance *instance, const struct hf_message *request) {
  const struct hf_follow *follow =
      find(instance, hf_server_task_related(hf_message_raw(request, HF_FIELD_PARAMS_META)));
  return follow ? follow->live : NULL;
}

/* A notification says all, but its order to the answers of polls is not known: what ends the task is asked for. */
static void take_news(struct hf_follow *follow, const struct hf_message *message) {
  struct hf_server_task task;
  if (hf_server_task_read(hf_message_raw(message, HF_FIELD_PARAMS), &task) < 0)
    return;
  const bool over = hf_server_task_is_over(&task) || task.status == HF_TASK_INPUT_REQUIRED;
  if (over)
    task.status = follow->status;
  if (hf_follow_note(follow, &task) && over)
    hf_follow_hurry(follow);
}

bool hf_follow_told(struct hf_instance *instance, const struct hf_message *message) {
  if (message->method == HF_METHOD_PROGRESS) {
    const struct hf_follow *follow = find_by_token(instance, message->progress_token);
    if (follow)
      hf_live_message(follow->live, message);
    return true;
  }
  if (message->method != HF_METHOD_TASKS_STATUS && message->method != HF_METHOD_TASKS_CHANGED)
    return false;
  struct hf_follow *follow = find(instance, hf_message_raw(message, HF_FIELD_TASK_ID));
  if (follow)
    take_news(follow, message);
  return true;
}

void hf_follow_back(struct hf_instance *instance) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->attempts) {
    struct hf_follow *follow = hf_follow_of(HF_CONTAINER_OF(it, struct hf_live, at_instance));
    if (follow && follow->failures > 0)
      hf_follow_hurry(follow);
  }
}
