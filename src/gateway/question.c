#include "gateway/question.h"

#include "base/alloc.h"
#include "gateway/pipeline.h"
#include "mcp/compose.h"
#include "mcp/rewrite.h"

#include <stdio.h>

enum { QUESTION_TEXT_MAX = 4096, QUESTION_ID_MAX = 32 };

static void question_free(struct hf_question *question) {
  hf_list_remove(&question->link);
  hf_instance_unref(question->instance);
  hf_free(question->server_id);
  hf_free(question);
}

static void refuse(struct hf_instance *instance, struct hf_str server_id, int code, struct hf_str why) {
  struct hf_buf text;
  hf_buf_init(&text, QUESTION_TEXT_MAX);
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  if (hf_compose_error(&text, server_id, code, why, (struct hf_str){NULL, 0}) == 0 &&
      hf_pieces_add_copy(&pieces, hf_buf_str(&text)) == 0)
    hf_instance_post(instance, &pieces);
  hf_pieces_deinit(&pieces);
  hf_buf_deinit(&text);
}

/* A child's requests carry nothing that says which call they belong to: with one client behind it, the call that was
 * sent last is the likeliest, and any is at the right client. One that is not at the server cannot be meant. */
static const struct hf_live *latest(const struct hf_instance *instance) {
  return hf_list_empty(&instance->attempts) ? NULL
                                            : HF_CONTAINER_OF(instance->attempts.prev, struct hf_live, at_instance);
}

static size_t count_open(const struct hf_client *client) {
  size_t count = 0;
  for (const struct hf_list *it = client->questions.next; it != &client->questions; it = it->next)
    count++;
  return count;
}

static struct hf_question *question_new(struct hf_client *client, struct hf_instance *instance,
                                        const struct hf_live *live, struct hf_str server_id) {
  struct hf_question *question = hf_calloc(1, sizeof *question);
  if (!question)
    return NULL;
  question->server_id = server_id.ptr ? hf_strndup(server_id.ptr, server_id.len) : NULL;
  if (server_id.ptr && !question->server_id) {
    hf_free(question);
    return NULL;
  }
  question->client = client;
  question->instance = instance ? hf_instance_ref(instance) : NULL;
  question->exchange = live ? live->exchange : NULL;
  question->attempt = live ? live->attempt : 0;
  question->id = hf_gateway_next_id(client->gateway);
  hf_list_push_back(&client->questions, &question->link);
  return question;
}

static int write_id(const struct hf_question *question, char text[QUESTION_ID_MAX]) {
  return snprintf(text, QUESTION_ID_MAX, "%llu", (unsigned long long)question->id);
}

static void tell_pause(struct hf_exchange *exchange, unsigned attempt, enum hf_call_event_kind kind) {
  if (exchange && exchange->stage == HF_STAGE_CALLING)
    hf_pipeline_event(exchange, &(struct hf_call_event){.kind = kind, .attempt = attempt});
}

static void deliver(struct hf_question *question, struct hf_pieces *text) {
  if (question->exchange)
    hf_exchange_message(question->exchange, text);
  else
    hf_client_notify(question->client, text);
}

void hf_question_ask(struct hf_instance *instance, const struct hf_live *live, const struct hf_message *message) {
  struct hf_client *client = live && instance->client ? live->exchange->client : instance->client;
  if (!client ||
      !hf_capabilities_cover(client->capabilities, message->method, hf_message_raw(message, HF_FIELD_PARAMS))) {
    refuse(instance, message->id, HF_RPC_METHOD_NOT_FOUND, HF_STR("no client here can answer this request"));
    return;
  }
  if (!live)
    live = latest(instance);
  struct hf_question *question =
      count_open(client) < HF_QUESTIONS_MAX ? question_new(client, instance, live, message->id) : NULL;
  if (!question) {
    refuse(instance, message->id, HF_RPC_INTERNAL_ERROR, HF_STR("too many open requests to this client"));
    return;
  }

  char id[QUESTION_ID_MAX];
  int n = write_id(question, id);
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, message);
  hf_rewrite_set_id(&rewrite, (struct hf_str){id, (size_t)n});
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_rewrite_finish(&rewrite, &text) == 0) {
    deliver(question, &text);
    tell_pause(question->exchange, question->attempt, HF_CALL_PAUSED);
  } else {
    refuse(instance, message->id, HF_RPC_INTERNAL_ERROR, HF_STR("request could not be passed on"));
    question_free(question);
  }
  hf_pieces_deinit(&text);
}

static int compose_own(const struct hf_question *question, enum hf_method method, struct hf_str params,
                       struct hf_pieces *ret_text) {
  char id[QUESTION_ID_MAX];
  const int n = write_id(question, id);
  struct hf_buf text;
  hf_buf_init(&text, params.len + QUESTION_TEXT_MAX);
  int r = hf_compose_request(&text, (struct hf_str){id, (size_t)n}, hf_method_info(method)->name, params);
  if (r == 0)
    r = hf_pieces_add_copy(ret_text, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return r;
}

int hf_question_ask_own(struct hf_exchange *exchange, const struct hf_own_question *what) {
  struct hf_client *client = exchange->client;
  if (!hf_capabilities_cover(client->capabilities, what->method, what->params))
    return HF_ERR_UNSUPPORTED;
  if (count_open(client) >= HF_QUESTIONS_MAX)
    return HF_ERR_LIMIT;
  struct hf_question *question = question_new(client, NULL, what->live, (struct hf_str){NULL, 0});
  if (!question)
    return HF_ERR_NOMEM;
  question->exchange = exchange;
  question->answered = what->answered;
  question->tag = what->tag;
  struct hf_pieces text;
  hf_pieces_init(&text);
  int r = compose_own(question, what->method, what->params, &text);
  if (r == 0)
    deliver(question, &text);
  else
    question_free(question);
  hf_pieces_deinit(&text);
  return r;
}

static struct hf_question *find(struct hf_client *client, struct hf_str id) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &client->questions) {
    struct hf_question *question = HF_CONTAINER_OF(it, struct hf_question, link);
    char text[QUESTION_ID_MAX];
    int n = write_id(question, text);
    if (hf_str_equal(id, (struct hf_str){text, (size_t)n}))
      return question;
  }
  return NULL;
}

static void answer_own(struct hf_question *question, const struct hf_message *response) {
  hf_question_fn *answered = question->answered;
  struct hf_exchange *exchange = question->exchange;
  const unsigned tag = question->tag;
  question_free(question);
  answered(exchange, response, tag);
}

void hf_question_answer(struct hf_client *client, const struct hf_message *response) {
  struct hf_question *question = find(client, response->id);
  if (!question) {
    client->gateway->late_answers++;
    return;
  }
  struct hf_exchange *exchange = question->exchange;
  if (question->answered) {
    answer_own(question, response);
    return;
  }
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, response);
  hf_rewrite_set_id(&rewrite, hf_str_from(question->server_id));
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_rewrite_finish(&rewrite, &text) == 0)
    hf_instance_post(question->instance, &text);
  hf_pieces_deinit(&text);
  unsigned attempt = question->attempt;
  question_free(question);
  tell_pause(exchange, attempt, HF_CALL_RESUMED);
}

static void tell_void(struct hf_question *question) {
  char params[96];
  int n = snprintf(params, sizeof params, "{\"requestId\":%llu,\"reason\":\"the call it belongs to has ended\"}",
                   (unsigned long long)question->id);
  struct hf_buf text;
  hf_buf_init(&text, QUESTION_TEXT_MAX);
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  if (hf_compose_notification(&text, hf_method_info(HF_METHOD_CANCELLED)->name, (struct hf_str){params, (size_t)n}) ==
          0 &&
      hf_pieces_add_copy(&pieces, hf_buf_str(&text)) == 0)
    deliver(question, &pieces);
  hf_pieces_deinit(&pieces);
  hf_buf_deinit(&text);
}

void hf_question_void(struct hf_exchange *exchange, const struct hf_live *live) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &exchange->client->questions) {
    struct hf_question *question = HF_CONTAINER_OF(it, struct hf_question, link);
    if (question->exchange != exchange || (live && question->attempt != live->attempt))
      continue;
    tell_void(question);
    question_free(question);
  }
}

/* The oldest one of a call. */
static struct hf_question *first_of(const struct hf_exchange *exchange) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &exchange->client->questions) {
    struct hf_question *question = HF_CONTAINER_OF(it, struct hf_question, link);
    if (question->exchange == exchange)
      return question;
  }
  return NULL;
}

bool hf_question_desert(struct hf_exchange *exchange) {
  struct hf_question *question;
  while ((question = first_of(exchange)) != NULL) {
    if (question->answered) {
      answer_own(question, NULL);
      continue;
    }
    refuse(question->instance, hf_str_from(question->server_id), HF_RPC_INTERNAL_ERROR, HF_STR("the client is gone"));
    struct hf_call_event event = {.kind = HF_CALL_RESUMED, .attempt = question->attempt};
    question_free(question);
    if (exchange->stage == HF_STAGE_CALLING && !hf_pipeline_event(exchange, &event))
      return false;
  }
  return true;
}

void hf_question_close(struct hf_client *client) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &client->questions) {
    struct hf_question *question = HF_CONTAINER_OF(it, struct hf_question, link);
    if (question->instance)
      refuse(question->instance, hf_str_from(question->server_id), HF_RPC_INTERNAL_ERROR, HF_STR("the client is gone"));
    question_free(question);
  }
}
