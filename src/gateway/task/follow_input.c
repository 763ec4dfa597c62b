#include "gateway/task/follow_state.h"

#include "gateway/own_request.h"
#include "gateway/pipeline.h"
#include "gateway/question/held.h"
#include "gateway/question/question.h"
#include "gateway/question/round.h"
#include "json/value.h"
#include "json/write.h"

enum { INPUT_NODES_MAX = 1 << 16 };

static const struct hf_attempt_events update_events;

/* The attempt ends with a question that nobody answers. It is told for the end of this turn. */
static void give_up(struct hf_follow *follow, const char *why, bool take_back) {
  struct hf_live *live = follow->live;
  struct hf_exchange *exchange = live->exchange;
  exchange->unasked = hf_arena_copy(&exchange->arena, hf_str_from(why));
  if (!exchange->unasked.ptr)
    exchange->unasked = HF_STR("there is no memory to ask it");
  hf_follow_cancel(follow);
  hf_follow_forget(follow);
  if (take_back)
    hf_question_void(exchange, live);
  hf_pipeline_post(exchange, &(struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE,
                                                     .attempt = live->attempt,
                                                     .done = {.result = HF_ATTEMPT_PENDING}});
}

static int write_answers(const struct hf_follow_inputs *inputs, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  for (size_t i = inputs->first; i < inputs->count; i++) {
    hf_json_write_key_raw(&w, inputs->known[i]);
    hf_json_write_raw(&w, inputs->answer[i]);
  }
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

/* One that does not arrive is sent again when the server has said that it still waits: it takes each key once. */
static void send_answers(struct hf_follow *follow) {
  struct hf_instance *instance = hf_follow_instance(follow);
  struct hf_buf answers;
  hf_buf_init(&answers, HF_MESSAGE_BYTES_MAX);
  if (instance->phase == HF_UPSTREAM_READY && write_answers(follow->inputs, &answers) == 0) {
    const struct hf_own_request request = {.method = HF_METHOD_TASKS_UPDATE,
                                           .key = "taskId",
                                           .raw = follow->id,
                                           .second_key = "inputResponses",
                                           .second_raw = hf_buf_str(&answers),
                                           .new_session = follow->new_session,
                                           .patience = HF_FOLLOW_PATIENCE,
                                           .events = &update_events,
                                           .ctx = follow};
    if (hf_own_request_send(instance, &request, &follow->update) < 0)
      follow->update = NULL;
  }
  hf_buf_deinit(&answers);
}

static void on_updated(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_follow *follow = ctx;
  (void)evidence;
  follow->update = NULL;
  if (response)
    follow->inputs->answered = false; /* it has taken note, or refuses to */
  if (response && response->kind == HF_MESSAGE_RESULT)
    hf_follow_hurry(follow);
}

static const struct hf_attempt_events update_events = {hf_own_request_sent, hf_own_request_life, hf_own_request_message,
                                                       on_updated};

static void all_answered(struct hf_follow *follow) {
  struct hf_live *live = follow->live;
  const struct hf_call_event event = {.kind = HF_CALL_RESUMED, .attempt = live->attempt};
  follow->inputs->answered = true;
  if (hf_pipeline_event(live->exchange, &event) && follow->live == live)
    send_answers(follow);
}

static void on_answer(struct hf_exchange *exchange, const struct hf_message *response, unsigned tag) {
  struct hf_follow *follow = &exchange->follow[tag / HF_FOLLOW_KEYS_MAX];
  struct hf_follow_inputs *inputs = follow->inputs;
  const unsigned index = tag % HF_FOLLOW_KEYS_MAX;
  if (!follow->live)
    return; /* given up already */
  if (!response || response->kind != HF_MESSAGE_RESULT) {
    give_up(follow, response ? "the client answered it with an error" : "the client has gone", response != NULL);
    return;
  }
  inputs->answer[index] = hf_arena_copy(&exchange->arena, hf_message_raw(response, HF_FIELD_RESULT));
  if (!inputs->answer[index].ptr)
    give_up(follow, "its answer is too large", true);
  else if (--inputs->open == 0)
    all_answered(follow);
}

static bool is_known(const struct hf_follow_inputs *inputs, struct hf_str key, size_t *ret_index) {
  for (size_t i = 0; i < inputs->count; i++) {
    if (!hf_str_equal(inputs->known[i], key))
      continue;
    *ret_index = i;
    return true;
  }
  return false;
}

/* Returns NULL, or why they cannot be asked. All go out before any can be answered. */
static const char *ask_each(struct hf_follow *follow, const struct hf_json_doc *doc) {
  struct hf_follow_inputs *inputs = follow->inputs;
  struct hf_live *live = follow->live;
  struct hf_exchange *exchange = live->exchange;
  const unsigned slot = (unsigned)(follow - exchange->follow);
  struct hf_json_iter iter = hf_json_iter(doc, 0);
  const char *why = NULL;
  uint32_t key, value;
  size_t index;
  while (!why && hf_json_next(doc, &iter, &key, &value)) {
    if (is_known(inputs, hf_json_span(doc, key), &index))
      continue;
    const struct hf_str copy = hf_arena_copy(&exchange->arena, hf_json_span(doc, key));
    if (inputs->count == HF_FOLLOW_KEYS_MAX)
      return "it was asked too often";
    if (!copy.ptr)
      return "there is no memory to ask it";
    inputs->known[inputs->count] = copy;
    inputs->open++;
    why = hf_round_ask(live, doc, value, on_answer, slot * HF_FOLLOW_KEYS_MAX + (unsigned)inputs->count++);
  }
  return why;
}

/* Does it wait for what it was told? */
static bool is_waiting(const struct hf_follow_inputs *inputs, const struct hf_json_doc *doc) {
  struct hf_json_iter iter = hf_json_iter(doc, 0);
  uint32_t key, value;
  size_t index;
  while (hf_json_next(doc, &iter, &key, &value))
    if (is_known(inputs, hf_json_span(doc, key), &index) && index >= inputs->first)
      return true;
  return false;
}

static bool has_new(const struct hf_follow_inputs *inputs, const struct hf_json_doc *doc) {
  struct hf_json_iter iter = hf_json_iter(doc, 0);
  uint32_t key, value;
  size_t index;
  while (hf_json_next(doc, &iter, &key, &value))
    if (!is_known(inputs, hf_json_span(doc, key), &index))
      return true;
  return false;
}

/* Questions are open until they are answered. Those that have died with whoever was asked are asked anew. */
static bool is_there_room(struct hf_follow *follow) {
  struct hf_follow_inputs *inputs = follow->inputs;
  struct hf_live *live = follow->live;
  const struct hf_call_event event = {.kind = HF_CALL_RESUMED, .attempt = live->attempt};
  if (inputs->open == 0)
    return true;
  if (hf_question_count(live->exchange) > 0)
    return false;
  inputs->count = inputs->first;
  inputs->open = 0;
  return hf_pipeline_event(live->exchange, &event) && follow->live == live;
}

static void take_requests(struct hf_follow *follow, const struct hf_json_doc *doc) {
  struct hf_follow_inputs *inputs = follow->inputs;
  struct hf_live *live = follow->live;
  const struct hf_call_event event = {.kind = HF_CALL_PAUSED, .attempt = live->attempt};
  if (follow->update || !is_there_room(follow))
    return;
  if (inputs->answered && is_waiting(inputs, doc)) {
    send_answers(follow);
    return;
  }
  inputs->answered = false;
  if (!has_new(inputs, doc))
    return;
  inputs->first = inputs->count;
  if (!hf_pipeline_event(live->exchange, &event) || follow->live != live)
    return;
  const char *why = ask_each(follow, doc);
  if (why && follow->live)
    give_up(follow, why, true);
  else if (live->exchange->era == HF_ERA_MODERN)
    hf_held_asked(live->exchange); /* with all of them at once */
}

/* Keys are told from one another as they are spelt. */
void hf_follow_ask(struct hf_follow *follow, struct hf_str requests) {
  struct hf_exchange *exchange = follow->live->exchange;
  if (!follow->inputs)
    follow->inputs = hf_arena_alloc(&exchange->arena, sizeof *follow->inputs);
  hf_follow_plan(follow, hf_follow_pause(follow));
  if (!follow->inputs) {
    give_up(follow, "there is no memory to ask it", false);
    return;
  }
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 3; /* down to the members of each question */
  options.max_nodes = INPUT_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (requests.ptr && hf_json_scan_feed(&scan, requests.ptr, requests.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(requests.ptr, &scan);
    take_requests(follow, &doc);
  } else if (requests.ptr) {
    give_up(follow, "it cannot be understood", false);
  }
  hf_json_scan_deinit(&scan);
}
