#include "gateway/question/question.h"

#include "base/alloc.h"
#include "gateway/pipeline.h"
#include "gateway/question/elicitation.h"
#include "gateway/question/held.h"
#include "gateway/question/input_required.h"
#include "gateway/task/follow.h"
#include "gateway/task/server_task.h"
#include "mcp/compose.h"
#include "mcp/rewrite.h"
#include "json/value.h"
#include "json/write.h"

#include <assert.h>
#include <stdio.h>

enum { QUESTION_TEXT_MAX = 4096, QUESTION_ID_MAX = 32 };

static void set_exchange(struct hf_question *question, struct hf_exchange *exchange) {
  if (question->exchange)
    question->exchange->question_count--;
  question->exchange = exchange;
  if (exchange)
    exchange->question_count++;
}

static void question_free(struct hf_question *question) {
  set_exchange(question, NULL);
  hf_list_remove(&question->link);
  hf_instance_unref(question->instance);
  hf_free(question->server_id);
  hf_free(question->relation);
  hf_free(question->held);
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
  set_exchange(question, live ? live->exchange : NULL);
  question->attempt = live ? live->attempt : 0;
  question->id = hf_gateway_next_id(client->gateway);
  hf_list_push_back(&client->questions, &question->link);
  return question;
}

static int write_id(const struct hf_question *question, char text[QUESTION_ID_MAX]) {
  return snprintf(text, QUESTION_ID_MAX, "%llu", (unsigned long long)question->id);
}

/* A guessed question may outlive the attempt that it was taken to belong to, which then is not paused any more. */
static bool is_in_flight(const struct hf_exchange *exchange, unsigned attempt) {
  for (size_t i = 0; exchange->stage == HF_STAGE_CALLING && i < HF_LIVE_MAX; i++)
    if ((exchange->live[i].ref || hf_follow_is_on(&exchange->live[i])) && exchange->live[i].attempt == attempt)
      return true;
  return false;
}

static void tell_pause(struct hf_exchange *exchange, unsigned attempt, enum hf_call_event_kind kind) {
  if (exchange && is_in_flight(exchange, attempt))
    hf_pipeline_event(exchange, &(struct hf_call_event){.kind = kind, .attempt = attempt});
}

static void deliver(struct hf_question *question, struct hf_pieces *text) {
  if (question->exchange)
    hf_exchange_message(question->exchange, text);
  else
    hf_client_notify(question->client, text);
}

static void pass_on(struct hf_question *question, const struct hf_message *message) {
  char id[QUESTION_ID_MAX];
  int n = write_id(question, id);
  struct hf_rewrite rewrite;
  hf_rewrite_begin(&rewrite, message);
  hf_rewrite_set_id(&rewrite, (struct hf_str){id, (size_t)n});
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_rewrite_finish(&rewrite, &text) == 0) {
    if (message->method == HF_METHOD_ELICIT)
      hf_elicitation_note(question->instance, question->client, hf_message_raw(message, HF_FIELD_PARAMS));
    deliver(question, &text);
    tell_pause(question->exchange, question->attempt, HF_CALL_PAUSED);
  } else {
    refuse(question->instance, message->id, HF_RPC_INTERNAL_ERROR, HF_STR("request could not be passed on"));
    question_free(question);
  }
  hf_pieces_deinit(&text);
}

/* A modern client is asked by the answer to its request. */
static void hold(struct hf_question *question, const struct hf_message *message) {
  struct hf_buf text;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  if (hf_input_request_write(message->method, hf_message_raw(message, HF_FIELD_PARAMS), &text) == 0)
    question->held = hf_strndup(text.data, text.len);
  hf_buf_deinit(&text);
  if (!question->held) {
    refuse(question->instance, message->id, HF_RPC_INTERNAL_ERROR, HF_STR("there is no memory to ask the client"));
    question_free(question);
    return;
  }
  struct hf_exchange *exchange = question->exchange;
  tell_pause(exchange, question->attempt, HF_CALL_PAUSED);
  hf_held_asked(exchange);
}

static void ask(struct hf_question *question, const struct hf_message *message) {
  if (question->exchange && question->exchange->era == HF_ERA_MODERN)
    hold(question, message);
  else
    pass_on(question, message);
}

/* The server's id of its task is not the client's, which may have none. */
static void ask_unrelated(struct hf_question *question, const struct hf_message *message, struct hf_str relation) {
  struct hf_message plain = {0};
  question->relation = hf_strndup(relation.ptr, relation.len);
  if (question->relation && hf_server_task_strip(message, &plain) == 0) {
    ask(question, &plain);
  } else {
    refuse(question->instance, message->id, HF_RPC_INTERNAL_ERROR, HF_STR("there is no memory to ask the client"));
    question_free(question);
  }
  hf_message_deinit(&plain);
}

static struct hf_capabilities declared(const struct hf_client *client, const struct hf_exchange *exchange) {
  return exchange && exchange->era == HF_ERA_MODERN ? hf_capabilities_read(exchange->meta.capabilities)
                                                    : client->capabilities;
}

static const struct hf_live *live_of(const struct hf_list *link) {
  return HF_CONTAINER_OF(link, const struct hf_live, at_instance);
}

/* Do two requests say the same of who makes them? */
static bool alike(const struct hf_exchange *a, const struct hf_exchange *b) {
  return hf_str_equal(hf_message_raw(&a->request, HF_FIELD_META_CLIENT_INFO),
                      hf_message_raw(&b->request, HF_FIELD_META_CLIENT_INFO)) &&
         hf_str_equal(a->meta.capabilities, b->meta.capabilities);
}

/* Several agents can stand behind one stateless client, and which of them is meant must not be guessed. */
static bool is_anybodys(const struct hf_instance *instance) {
  const struct hf_list *attempts = &instance->attempts;
  if (!instance->client || !instance->client->stateless)
    return false;
  for (const struct hf_list *it = attempts->next; it != attempts->prev && it != attempts; it = it->next)
    if (!alike(live_of(it)->exchange, live_of(it->next)->exchange))
      return true;
  return false;
}

/* Servers ask in the order in which they were called, mostly: the oldest of the calls that were asked least and wait
 * for nothing, so that each of several gets one. */
static const struct hf_live *oldest_quiet(const struct hf_instance *instance) {
  const struct hf_live *best = NULL;
  for (const struct hf_list *it = instance->attempts.next; it != &instance->attempts; it = it->next) {
    const struct hf_exchange *exchange = live_of(it)->exchange;
    if (hf_question_count(exchange) == 0 && exchange->reply &&
        (!best || hf_held_rounds(exchange) < hf_held_rounds(best->exchange)))
      best = live_of(it);
  }
  return best ? best : latest(instance);
}

void hf_question_ask(struct hf_instance *instance, const struct hf_live *live, const struct hf_message *message) {
  if (!live)
    live = hf_follow_asker(instance, message);
  struct hf_client *client = live && instance->client ? live->exchange->client : instance->client;
  if (!live && is_anybodys(instance)) {
    refuse(instance, message->id, HF_RPC_INTERNAL_ERROR,
           HF_STR("calls of several clients are under way, and nothing says which of them asks"));
    return;
  }
  const bool guessed = !live;
  if (!live)
    live = instance->client && instance->client->era == HF_ERA_MODERN ? oldest_quiet(instance) : latest(instance);
  if (live && instance->settings->instance == HF_INSTANCE_SESSION)
    client = live->exchange->client; /* its task's, maybe, which outlives the instance's own */
  if (!client || !hf_capabilities_cover(declared(client, live ? live->exchange : NULL), message->method,
                                        hf_message_raw(message, HF_FIELD_PARAMS))) {
    refuse(instance, message->id, HF_RPC_METHOD_NOT_FOUND, HF_STR("no client here can answer this request"));
    return;
  }
  const bool modern = live && live->exchange->era == HF_ERA_MODERN;
  const bool room = modern ? hf_held_has_room(live->exchange) : count_open(client) < HF_QUESTIONS_MAX;
  struct hf_question *question = room ? question_new(client, instance, live, message->id) : NULL;
  if (!question) {
    refuse(instance, message->id, HF_RPC_INTERNAL_ERROR, HF_STR("too many open requests to this client"));
    return;
  }
  question->guessed = guessed;
  const struct hf_str relation = hf_server_task_relation(hf_message_raw(message, HF_FIELD_PARAMS_META));
  if (relation.ptr)
    ask_unrelated(question, message, relation);
  else
    ask(question, message);
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

static int send_own(struct hf_question *question, const struct hf_own_question *what) {
  struct hf_pieces text;
  hf_pieces_init(&text);
  int r = compose_own(question, what->method, what->params, &text);
  if (r == 0)
    deliver(question, &text);
  hf_pieces_deinit(&text);
  return r;
}

static int hold_own(struct hf_question *question, const struct hf_own_question *what) {
  struct hf_buf text;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  int r = hf_input_request_write(what->method, what->params, &text);
  if (r == 0)
    question->held = hf_strndup(text.data, text.len);
  hf_buf_deinit(&text);
  return r == 0 && !question->held ? HF_ERR_NOMEM : r;
}

int hf_question_ask_own(struct hf_exchange *exchange, const struct hf_own_question *what) {
  struct hf_client *client = exchange->client;
  const bool modern = exchange->era == HF_ERA_MODERN;
  if (!hf_capabilities_cover(declared(client, exchange), what->method, what->params))
    return HF_ERR_UNSUPPORTED;
  if (modern ? !hf_held_has_room(exchange) : count_open(client) >= HF_QUESTIONS_MAX)
    return HF_ERR_LIMIT;
  struct hf_question *question = question_new(client, NULL, what->live, (struct hf_str){NULL, 0});
  if (!question)
    return HF_ERR_NOMEM;
  set_exchange(question, exchange);
  question->answered = what->answered;
  question->tag = what->tag;
  int r = modern ? hold_own(question, what) : send_own(question, what);
  if (r < 0)
    question_free(question);
  return r;
}

static struct hf_question *find(struct hf_client *client, struct hf_str id) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &client->questions) {
    struct hf_question *question = HF_CONTAINER_OF(it, struct hf_question, link);
    char text[QUESTION_ID_MAX];
    int n = write_id(question, text);
    if (!question->held && hf_str_equal(id, (struct hf_str){text, (size_t)n}))
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
  if (question->relation && response->kind == HF_MESSAGE_RESULT)
    hf_rewrite_set_meta(&rewrite, HF_STR(HF_META_RELATED_TASK), hf_str_from(question->relation));
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_rewrite_finish(&rewrite, &text) == 0)
    hf_instance_post(question->instance, &text);
  else
    refuse(question->instance, hf_str_from(question->server_id), HF_RPC_INTERNAL_ERROR,
           HF_STR("there is no memory for the answer"));
  hf_pieces_deinit(&text);
  unsigned attempt = question->attempt;
  question_free(question);
  tell_pause(exchange, attempt, HF_CALL_RESUMED);
}

static void tell_void(struct hf_question *question) {
  char params[96];
  int n = snprintf(params, sizeof params, "{\"requestId\":%llu,\"reason\":\"nobody waits for its answer any more\"}",
                   (unsigned long long)question->id);
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  if (hf_compose_notice(&pieces, HF_METHOD_CANCELLED, (struct hf_str){params, (size_t)n}) == 0)
    deliver(question, &pieces);
  hf_pieces_deinit(&pieces);
}

/* Where nothing says whose question it is, another call may wait for its answer. A modern client brings that with the
 * call that was asked, so there it stays; else it goes over to a call that is still there. */
static bool outlives(struct hf_question *question, const struct hf_live *over) {
  if (!over || !question->guessed)
    return false;
  if (question->held)
    return true;
  const struct hf_live *other = latest(question->instance);
  if (!other || other->exchange == question->exchange || other->exchange->client != question->client)
    return false;
  set_exchange(question, other->exchange);
  question->attempt = other->attempt;
  if (!other->exchange->stepping)
    tell_pause(other->exchange, other->attempt, HF_CALL_PAUSED);
  return true;
}

unsigned hf_question_void(struct hf_exchange *exchange, const struct hf_live *live) {
  struct hf_list *it, *tmp;
  unsigned count = 0;
  if (!exchange->question_count)
    return 0;
  HF_LIST_FOREACH (it, tmp, &exchange->client->questions) {
    struct hf_question *question = HF_CONTAINER_OF(it, struct hf_question, link);
    if (question->exchange != exchange || (live && question->attempt != live->attempt))
      continue;
    if (outlives(question, live)) {
      count += question->exchange != exchange;
      continue;
    }
    count++;
    if (!question->held)
      tell_void(question);
    if (question->guessed)
      refuse(question->instance, hf_str_from(question->server_id), HF_RPC_INTERNAL_ERROR,
             HF_STR("the call it was taken to belong to has ended"));
    question_free(question);
  }
  return count;
}

void hf_question_withdraw(struct hf_instance *instance, const struct hf_message *message) {
  const struct hf_str id = hf_message_raw(message, HF_FIELD_REQUEST_ID);
  struct hf_client *client = instance->client;
  struct hf_list *it, *tmp;
  if (!client || !id.ptr)
    return;
  HF_LIST_FOREACH (it, tmp, &client->questions) {
    struct hf_question *question = HF_CONTAINER_OF(it, struct hf_question, link);
    if (question->instance != instance || !hf_str_equal(hf_str_from(question->server_id), id))
      continue;
    struct hf_exchange *exchange = question->exchange;
    const unsigned attempt = question->attempt;
    if (!question->held)
      tell_void(question);
    question_free(question);
    tell_pause(exchange, attempt, HF_CALL_RESUMED);
    return;
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

bool hf_question_desert(struct hf_exchange *exchange, struct hf_str why) {
  struct hf_question *question;
  while ((question = first_of(exchange)) != NULL) {
    if (question->answered) {
      answer_own(question, NULL);
      continue;
    }
    refuse(question->instance, hf_str_from(question->server_id), HF_RPC_INTERNAL_ERROR, why);
    struct hf_call_event event = {.kind = HF_CALL_RESUMED, .attempt = question->attempt};
    question_free(question);
    if (is_in_flight(exchange, event.attempt) && !hf_pipeline_event(exchange, &event))
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

size_t hf_question_count(const struct hf_exchange *exchange) {
  return exchange->question_count;
}

static void write_key(const struct hf_question *question, char key[QUESTION_ID_MAX]) {
  int n = snprintf(key, QUESTION_ID_MAX, "q%llu", (unsigned long long)question->id);
  assert(n > 0 && n < QUESTION_ID_MAX);
  (void)n;
}

int hf_question_write_held(const struct hf_exchange *exchange, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  for (const struct hf_list *it = exchange->client->questions.next; it != &exchange->client->questions; it = it->next) {
    const struct hf_question *question = HF_CONTAINER_OF(it, const struct hf_question, link);
    char key[QUESTION_ID_MAX];
    if (question->exchange != exchange || !question->held)
      continue;
    write_key(question, key);
    hf_json_write_member_raw(&w, key, hf_str_from(question->held));
  }
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

/* The answer to one of the gateway's own; what is no object is none. */
static void answer_own_held(struct hf_question *question, struct hf_str result) {
  struct hf_message response = {0};
  struct hf_refusal refusal;
  struct hf_buf text;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  int r = result.len > 0 && result.ptr[0] == '{' ? hf_compose_result(&text, HF_STR("0"), result) : HF_ERR_INVALID;
  if (r == 0)
    r = hf_message_decode(&text, &response, &refusal);
  hf_buf_deinit(&text);
  answer_own(question, r == 0 ? &response : NULL);
  hf_message_deinit(&response);
}

static int relate(const struct hf_question *question, struct hf_buf *text, struct hf_pieces *ret_text) {
  struct hf_message response = {0};
  struct hf_refusal refusal;
  int r = hf_message_decode(text, &response, &refusal);
  if (r == 0) {
    struct hf_rewrite rewrite;
    hf_rewrite_begin(&rewrite, &response);
    hf_rewrite_set_meta(&rewrite, HF_STR(HF_META_RELATED_TASK), hf_str_from(question->relation));
    r = hf_rewrite_finish(&rewrite, ret_text);
  }
  hf_message_deinit(&response);
  return r;
}

static int compose_held(const struct hf_question *question, struct hf_str result, struct hf_pieces *ret_text) {
  struct hf_buf text;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  int r = hf_compose_result(&text, hf_str_from(question->server_id), result);
  if (r == 0)
    r = question->relation ? relate(question, &text, ret_text) : hf_pieces_add_copy(ret_text, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return r;
}

/* What is no object is no answer. */
static void answer_held(struct hf_question *question, struct hf_str result) {
  const struct hf_str id = hf_str_from(question->server_id);
  if (result.len == 0 || result.ptr[0] != '{') {
    refuse(question->instance, id, HF_RPC_INTERNAL_ERROR, HF_STR("the client did not answer with a result"));
    return;
  }
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  if (compose_held(question, result, &pieces) == 0)
    hf_instance_post(question->instance, &pieces);
  else
    refuse(question->instance, id, HF_RPC_INTERNAL_ERROR, HF_STR("there is no memory for the answer"));
  hf_pieces_deinit(&pieces);
}

static struct hf_question *find_held(const struct hf_exchange *exchange, const struct hf_json_doc *doc, uint32_t key) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &exchange->client->questions) {
    struct hf_question *question = HF_CONTAINER_OF(it, struct hf_question, link);
    char name[QUESTION_ID_MAX];
    if (question->exchange != exchange || !question->held)
      continue;
    write_key(question, name);
    if (hf_json_string_is(doc, key, hf_str_from(name)))
      return question;
  }
  return NULL;
}

static bool take_each(struct hf_exchange *exchange, const struct hf_json_doc *doc) {
  struct hf_json_iter iter = hf_json_iter(doc, 0);
  uint32_t key, value;
  while (iter.object && hf_json_next(doc, &iter, &key, &value)) {
    struct hf_question *question = find_held(exchange, doc, key);
    if (!question)
      continue; /* it has died meanwhile, or never was */
    if (question->answered) {
      answer_own_held(question, hf_json_span(doc, value));
      continue;
    }
    answer_held(question, hf_json_span(doc, value));
    const struct hf_call_event event = {.kind = HF_CALL_RESUMED, .attempt = question->attempt};
    question_free(question);
    if (is_in_flight(exchange, event.attempt) && !hf_pipeline_event(exchange, &event))
      return false;
  }
  return true;
}

bool hf_question_take_held(struct hf_exchange *exchange, struct hf_str responses) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  bool there = true;
  if (responses.ptr && hf_json_scan_feed(&scan, responses.ptr, responses.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(responses.ptr, &scan);
    there = take_each(exchange, &doc);
  }
  hf_json_scan_deinit(&scan);
  return there;
}
