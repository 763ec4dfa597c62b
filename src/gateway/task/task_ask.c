#include "base/alloc.h"
#include "gateway/gateway.h"
#include "gateway/question/input_required.h"
#include "gateway/question/question.h"
#include "gateway/session.h"
#include "gateway/task/server_task.h"
#include "gateway/task/task_state.h"
#include "mcp/compose.h"
#include "mcp/rewrite.h"
#include "json/value.h"

#include <stdio.h>

/* What a task's call asks: shown with its state to clients of the extension, and asked by requests of those of
 * 2025-11-25 that wait for the result. */

enum { ROUND_NODES_MAX = 1 << 16, REASON_MAX = 512, TAG_ROUND = 1000 };

static void question_deinit(struct hf_task_question *question) {
  hf_free(question->key);
  hf_free(question->shown);
  hf_free(question->request);
  hf_free(question->answer);
  *question = (struct hf_task_question){0};
}

void hf_task_round_deinit(struct hf_task_round *round) {
  for (size_t i = 0; i < round->count; i++)
    question_deinit(&round->questions[i]);
  round->count = 0;
  round->asker = NULL;
  hf_free(round->state);
  round->state = NULL;
}

void hf_task_quit(struct hf_task *task) {
  struct hf_buf text;
  hf_buf_init(&text, REASON_MAX);
  const bool told = hf_buf_printf(&text,
                                  "The server asked something, and it was not answered: %s. The call was given up; the "
                                  "tool may have been executed in part. [call %s]",
                                  task->quits, task->call) == 0;
  hf_task_drop_call(task);
  hf_task_end_with_text(task, told ? hf_buf_str(&text) : HF_STR("The server's question was not answered."));
  hf_buf_deinit(&text);
}

/* In the next turn: the call may be in the middle of asking. */
static void give_up(struct hf_task *task, const char *why) {
  task->quits = why;
  hf_job_defer(hf_task_gateway(task)->loop, &task->again);
}

static char *copy(struct hf_str text) {
  return hf_strndup(text.ptr, text.len);
}

/* A key may come again in another round, so what is shown is told apart by the round. */
static char *shown_key(unsigned round, struct hf_str raw) {
  char head[32];
  int n = snprintf(head, sizeof head, "\"%u.", round);
  char *shown = hf_malloc((size_t)n + raw.len);
  if (!shown)
    return NULL;
  memcpy(shown, head, (size_t)n);
  memcpy(shown + n, raw.ptr + 1, raw.len - 1);
  shown[(size_t)n + raw.len - 1] = '\0';
  return shown;
}

static const char *read_questions(struct hf_task_round *round, const struct hf_json_doc *doc, uint32_t requests) {
  struct hf_json_iter iter = hf_json_iter(doc, requests);
  uint32_t key, value;
  while (iter.object && hf_json_next(doc, &iter, &key, &value)) {
    if (round->count == HF_TASK_QUESTIONS_MAX)
      return "too much was asked at once";
    struct hf_task_question *question = &round->questions[round->count++];
    question->key = copy(hf_json_span(doc, key));
    question->shown = shown_key(round->number, hf_json_span(doc, key));
    question->request = copy(hf_json_span(doc, value));
    if (!question->key || !question->shown || !question->request)
      return "the gateway had no memory for it";
  }
  return NULL;
}

static const char *read_round(struct hf_task_round *round, struct hf_str result) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  options.max_nodes = ROUND_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  const char *why = "it cannot be understood";
  if (hf_json_scan_feed(&scan, result.ptr, result.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(result.ptr, &scan);
    uint32_t node;
    const bool has_state = hf_json_member(&doc, 0, HF_STR("requestState"), &node) == 0;
    round->state = has_state ? copy(hf_json_span(&doc, node)) : NULL;
    why = has_state && !round->state ? "the gateway had no memory for it" : NULL;
    if (!why && hf_json_member(&doc, 0, HF_STR("inputRequests"), &node) == 0)
      why = read_questions(round, &doc, node);
    else if (!why && !has_state)
      why = "it cannot be understood";
  }
  hf_json_scan_deinit(&scan);
  return why;
}

static void ask_those_who_wait(struct hf_task *task) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &task->awaiting) {
    struct hf_exchange *exchange = HF_CONTAINER_OF(it, struct hf_task_ties, awaiting)->exchange;
    if (exchange->request.method != HF_METHOD_TASKS_RESULT)
      continue;
    hf_task_ask_there(task, exchange);
    return;
  }
}

void hf_task_ask(struct hf_task *task, struct hf_message *response) {
  struct hf_task_round *round = &task->round;
  hf_task_round_deinit(round);
  if (task->ending)
    return;
  const char *why = round->number == HF_TASK_ROUNDS_MAX ? "it asked too often" : NULL;
  round->number++;
  if (!why)
    why = read_round(round, hf_message_raw(response, HF_FIELD_RESULT));
  if (why) {
    give_up(task, why);
  } else if (round->count == 0) {
    hf_job_defer(hf_task_gateway(task)->loop, &task->again);
  } else {
    task->status = HF_TASK_INPUT_REQUIRED;
    hf_task_changed(task);
    ask_those_who_wait(task);
  }
}

int hf_task_write_questions(const struct hf_task *task, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  for (size_t i = 0; i < task->round.count; i++) {
    const struct hf_task_question *question = &task->round.questions[i];
    if (question->answer)
      continue;
    hf_json_write_key_raw(&w, hf_str_from(question->shown));
    hf_json_write_raw(&w, hf_str_from(question->request));
  }
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static int write_answers(const struct hf_task_round *round, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  for (size_t i = 0; i < round->count; i++) {
    hf_json_write_key_raw(&w, hf_str_from(round->questions[i].key));
    hf_json_write_raw(&w, hf_str_from(round->questions[i].answer));
  }
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static void put(struct hf_rewrite *rewrite, uint32_t params, struct hf_str name, struct hf_str raw) {
  if (raw.ptr)
    hf_rewrite_set_member(rewrite, params, name, raw);
  else
    hf_rewrite_remove_member(rewrite, params, name);
}

/* The first request once more, with answers and state. */
static int compose_again(const struct hf_task *task, struct hf_message *ret_request) {
  const struct hf_task_round *round = &task->round;
  const struct hf_str none = {NULL, 0};
  struct hf_message first = {0};
  struct hf_refusal refusal;
  struct hf_buf answers;
  hf_buf_init(&answers, HF_MESSAGE_BYTES_MAX);
  int r = hf_message_decode_copy(hf_blob_str(task->request), &first, &refusal);
  if (r == 0 && round->count)
    r = write_answers(round, &answers);
  if (r == 0) {
    struct hf_rewrite rewrite;
    const uint32_t params = first.at[HF_FIELD_PARAMS];
    hf_rewrite_begin(&rewrite, &first);
    hf_rewrite_set_id(&rewrite, HF_STR("0"));
    hf_rewrite_set_progress_token(&rewrite, HF_STR("0"));
    put(&rewrite, params, HF_STR("inputResponses"), round->count ? hf_buf_str(&answers) : none);
    put(&rewrite, params, HF_STR("requestState"), round->state ? hf_str_from(round->state) : none);
    r = hf_rewrite_finish_message(&rewrite, ret_request);
  }
  hf_buf_deinit(&answers);
  hf_message_deinit(&first);
  return r;
}

void hf_task_call_again(struct hf_task *task) {
  struct hf_message request = {0};
  int r = compose_again(task, &request);
  hf_task_round_deinit(&task->round);
  if (r < 0) {
    give_up(task, "the gateway had no memory for the answers");
    return;
  }
  if (task->status != HF_TASK_WORKING) {
    task->status = HF_TASK_WORKING;
    hf_task_changed(task);
  }
  hf_client_handle(task->client, &request, &task->reply);
}

static bool all_answered(const struct hf_task_round *round) {
  for (size_t i = 0; i < round->count; i++)
    if (!round->questions[i].answer)
      return false;
  return true;
}

/* In the next turn: whoever brought the answers is answered first. */
static void go_on_if_answered(struct hf_task *task) {
  if (task->status == HF_TASK_INPUT_REQUIRED && !task->ending && all_answered(&task->round))
    hf_job_defer(hf_task_gateway(task)->loop, &task->again);
}

static struct hf_task_question *find_open(struct hf_task_round *round, const struct hf_json_doc *doc, uint32_t key,
                                          struct hf_arena *arena) {
  struct hf_str name;
  if (hf_json_string(doc, key, arena, &name) < 0)
    return NULL;
  for (size_t i = 0; i < round->count; i++) {
    struct hf_task_question *question = &round->questions[i];
    struct hf_buf shown;
    hf_buf_init(&shown, HF_MESSAGE_BYTES_MAX);
    const bool same = !question->answer && hf_json_unescape(hf_str_from(question->shown), &shown) == 0 &&
                      hf_str_equal(hf_buf_str(&shown), name);
    hf_buf_deinit(&shown);
    if (same)
      return question;
  }
  return NULL;
}

static bool are_objects(const struct hf_json_doc *doc) {
  struct hf_json_iter iter = hf_json_iter(doc, 0);
  uint32_t value;
  while (iter.object && hf_json_next(doc, &iter, NULL, &value))
    if (hf_json_type(doc, value) != HF_JSON_OBJECT)
      return false;
  return true;
}

/* What was answered before, or never asked, is not looked at. */
bool hf_task_take_answers(struct hf_task *task, struct hf_str responses) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  options.max_nodes = ROUND_NODES_MAX;
  struct hf_json_scan scan;
  struct hf_arena arena;
  hf_arena_init(&arena, HF_MESSAGE_BYTES_MAX);
  hf_json_scan_init(&scan, &options);
  bool good = hf_json_scan_feed(&scan, responses.ptr, responses.len, true) == 0;
  const struct hf_json_doc doc = hf_json_doc(responses.ptr, &scan);
  good = good && are_objects(&doc);
  if (good && !task->ending) {
    struct hf_json_iter iter = hf_json_iter(&doc, 0);
    uint32_t key, value;
    while (iter.object && hf_json_next(&doc, &iter, &key, &value)) {
      struct hf_task_question *question = find_open(&task->round, &doc, key, &arena);
      if (question)
        question->answer = copy(hf_json_span(&doc, value));
    }
    go_on_if_answered(task);
  }
  hf_json_scan_deinit(&scan);
  hf_arena_deinit(&arena);
  return good;
}

/* A legacy server that waits for the answer is told that there is none; with a modern one the call has ended. */
static void refuse_answer(struct hf_task *task, struct hf_task_question *question, const char *why) {
  question->answer = task->exchange ? copy(HF_STR("null")) : NULL;
  if (question->answer)
    go_on_if_answered(task);
  else
    give_up(task, why);
}

/* The client says by the gateway's id which task it answers. */
static char *copy_answer(const struct hf_message *response) {
  struct hf_message plain = {0};
  char *answer = hf_server_task_strip(response, &plain) == 0 ? copy(hf_message_raw(&plain, HF_FIELD_RESULT)) : NULL;
  hf_message_deinit(&plain);
  return answer;
}

static void on_answer(struct hf_exchange *exchange, const struct hf_message *response, unsigned tag) {
  struct hf_task *task = exchange->ties ? exchange->ties->awaited : NULL;
  const unsigned index = tag % TAG_ROUND;
  if (!task || task->ending || task->quits || tag / TAG_ROUND != task->round.number || index >= task->round.count)
    return;
  struct hf_task_question *question = &task->round.questions[index];
  if (!response)
    question->asked = false;
  else if (question->answer)
    return; /* tasks/update was quicker */
  else if (response->kind != HF_MESSAGE_RESULT)
    refuse_answer(task, question, "the client answered it with an error");
  else if ((question->answer = copy_answer(response)) == NULL)
    give_up(task, "the gateway had no memory for the answer");
  else
    go_on_if_answered(task);
}

/* The question's params with what says which task asks. */
static int relate(const struct hf_task *task, struct hf_str params, struct hf_buf *out) {
  struct hf_buf text;
  struct hf_message plain = {0}, related = {0};
  struct hf_refusal refusal;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  int r = hf_compose_notification(&text, HF_STR("x"), params.ptr ? params : HF_STR("{}"));
  if (r == 0)
    r = hf_message_decode(&text, &plain, &refusal);
  if (r == 0) {
    struct hf_rewrite rewrite;
    hf_rewrite_begin(&rewrite, &plain);
    hf_task_relate(&rewrite, hf_str_from(task->id));
    r = hf_rewrite_finish_message(&rewrite, &related);
  }
  if (r == 0)
    r = hf_buf_append_str(out, hf_message_raw(&related, HF_FIELD_PARAMS));
  hf_message_deinit(&plain);
  hf_message_deinit(&related);
  hf_buf_deinit(&text);
  return r;
}

/* Returns NULL, or why it cannot be asked. */
static const char *ask_one(struct hf_task *task, struct hf_exchange *exchange, unsigned index) {
  const struct hf_str request = hf_str_from(task->round.questions[index].request);
  struct hf_own_question question = {.answered = on_answer, .tag = task->round.number * TAG_ROUND + index};
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  options.max_nodes = ROUND_NODES_MAX;
  struct hf_json_scan scan;
  struct hf_buf params, related;
  hf_json_scan_init(&scan, &options);
  hf_buf_init(&params, HF_MESSAGE_BYTES_MAX);
  hf_buf_init(&related, HF_MESSAGE_BYTES_MAX);
  int r = hf_json_scan_feed(&scan, request.ptr, request.len, true);
  const struct hf_json_doc doc = hf_json_doc(request.ptr, &scan);
  if (r == 0)
    r = hf_input_request_read(exchange, &doc, 0, &question.method, &params);
  if (r == 0)
    r = relate(task, params.len ? hf_buf_str(&params) : (struct hf_str){NULL, 0}, &related);
  question.params = hf_buf_str(&related);
  if (r == 0)
    r = hf_question_ask_own(exchange, &question);
  hf_buf_deinit(&params);
  hf_buf_deinit(&related);
  hf_json_scan_deinit(&scan);
  return r == 0                    ? NULL
         : r == HF_ERR_UNSUPPORTED ? "the client did not declare that it can be asked for that"
         : r == HF_ERR_LIMIT       ? "too many questions to this client are open"
                                   : "it cannot be understood";
}

void hf_task_ask_there(struct hf_task *task, struct hf_exchange *exchange) {
  struct hf_task_round *round = &task->round;
  if (task->status != HF_TASK_INPUT_REQUIRED || round->asker)
    return;
  round->asker = exchange;
  for (unsigned i = 0; i < round->count && !task->quits; i++) {
    struct hf_task_question *question = &round->questions[i];
    if (question->answer || question->asked)
      continue;
    question->asked = true;
    const char *why = ask_one(task, exchange, i);
    if (why)
      refuse_answer(task, question, why);
  }
}
