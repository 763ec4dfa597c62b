#include "daemon/model_client.h"

#include "base/alloc.h"
#include "base/tokens.h"
#include "daemon/model_api.h"
#include "daemon/model_post.h"
#include "holdfast/run.h"
#include "policy/budget.h"
#include "policy/provider.h"

#include <curl/curl.h>

enum { TEXTS_MAX = 1 << 20, BODY_MAX = 1 << 20, HOUR = 3600 };

static const hf_time CONNECT_MAX = HF_SECONDS(5);
static const hf_time GRACE = HF_MS(500);

struct hf_model_client {
  struct hf_model head;
  uv_loop_t *uv;
  struct hf_loop *loop;
  struct hf_model_settings settings; /* its strings are in `texts` */
  struct hf_buf texts;
  struct hf_provider *provider;
  struct hf_provider_tool *tool;
  struct hf_budget budget; /* of tokens */
  struct hf_list asked;    /* questions that are not answered */
  size_t asked_count;
  struct hf_timer timer;
  struct hf_job turn;
};

struct question {
  struct hf_list link;
  struct hf_model_client *client;
  struct hf_model_wait *wait;
  struct hf_run *run;
  struct hf_buf url;
  struct hf_buf headers;
  struct hf_buf body;
  enum hf_model_api api;
  hf_time timeout;
  struct hf_model_post *post; /* the attempt in flight, or NULL */
  unsigned attempt;
  int status;         /* of the last one */
  bool charged;       /* an attempt was made that may have cost something */
  uint32_t set_aside; /* tokens */
  int64_t used;       /* that the server told; -1: it did not */
  struct hf_buf text;
};

/* The bucket of the kernel is filled by the second, with whole tokens: an hour here is a second there. What it holds
 * and what comes in within an hour are together what may be used in one. */
static hf_time budget_time(const struct hf_model_client *client) {
  return client->loop->now / HOUR;
}

static struct hf_budget_options budget_options(const struct hf_model_settings *settings) {
  return (struct hf_budget_options){.burst = settings->budget - settings->budget / 2,
                                    .per_second = settings->budget / 2};
}

static void take(struct hf_model_client *client, int64_t tokens) {
  if (client->settings.budget)
    hf_budget_charge(&client->budget, tokens, budget_time(client));
}

static void question_free(struct question *question) {
  if (!hf_list_empty(&question->link))
    question->client->asked_count--;
  hf_list_remove(&question->link);
  hf_model_post_cancel(question->post);
  hf_run_free(question->run);
  hf_buf_deinit(&question->url);
  hf_buf_deinit(&question->headers);
  hf_buf_deinit(&question->body);
  hf_buf_deinit(&question->text);
  hf_free(question);
}

/* What nobody was charged for is given back, and what it cost is taken. */
static void settle(const struct question *question) {
  const int64_t cost = !question->charged ? 0 : question->used >= 0 ? question->used : question->set_aside;
  take(question->client, cost - question->set_aside);
}

static void finish(struct question *question, const struct hf_outcome *outcome) {
  struct hf_model_wait *wait = question->wait;
  const bool good = outcome->end == HF_CALL_END_ANSWERED;
  settle(question);
  if (!good)
    hf_log_event(question->client->loop->log, HF_LOG_WARN, "the model of correction.model did not answer",
                 HF_LOG_STR("fault", hf_str_from(hf_fault_name(outcome->fault))),
                 HF_LOG_STR("end", hf_str_from(hf_call_end_name(outcome->end))), HF_LOG_INT("status", question->status),
                 HF_LOG_INT("attempts", outcome->attempts));
  wait->asked = NULL;
  wait->done(wait, good ? 0 : HF_ERR_UNAVAILABLE, good ? hf_buf_str(&question->text) : (struct hf_str){NULL, 0});
  question_free(question);
}

static void tell_done(struct question *question, struct hf_evidence evidence) {
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = question->attempt};
  event.done.result = evidence.kind == HF_EVIDENCE_NONE ? HF_ATTEMPT_SUCCESS : HF_ATTEMPT_FAULT;
  event.done.evidence = evidence;
  (void)hf_run_tell(question->run, &event, question->client->loop->now);
}

static void on_reply(void *ctx, const struct hf_model_reply *reply) {
  struct question *question = ctx;
  struct hf_model_client *client = question->client;
  struct hf_evidence evidence = reply->evidence;
  question->post = NULL;
  question->status = reply->status;
  if (reply->sent) {
    struct hf_call_event sent = {.kind = HF_CALL_ATTEMPT_SENT, .attempt = question->attempt};
    sent.sent.bytes = question->body.len;
    sent.sent.complete = true;
    (void)hf_run_tell(question->run, &sent, client->loop->now);
  }
  /* A server that says no has done nothing that it could charge. */
  if (reply->sent && (reply->status < 400 || reply->status >= 500))
    question->charged = true;
  if (evidence.kind == HF_EVIDENCE_NONE) {
    hf_buf_reset(&question->text, HF_MODEL_TEXT_MAX);
    if (hf_model_api_read(question->api, reply->body, &question->text, &question->used) < 0)
      evidence = HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY);
  }
  tell_done(question, evidence);
  hf_job_defer(client->loop, &client->turn);
}

static void begin(struct question *question, const struct hf_run_order *order) {
  struct hf_model_client *client = question->client;
  const hf_time now = client->loop->now;
  const struct hf_model_post_options options = {
      .uv = client->uv,
      .loop = client->loop,
      .url = &question->url,
      .headers = &question->headers,
      .body = hf_buf_str(&question->body),
      .connect_by = hf_time_add(now, hf_time_min(CONNECT_MAX, question->timeout)),
      .answer_by = hf_time_min(order->answer_by, hf_time_add(now, question->timeout)),
      .done = on_reply,
      .ctx = question,
  };
  question->attempt = order->attempt;
  question->status = 0;
  if (hf_model_post_start(&options, &question->post) < 0)
    tell_done(question, HF_EVIDENCE(HF_EVIDENCE_LOCAL_LIMIT));
}

/* Performs what the question's run wants now. Returns true if something changed, which others may wait for. */
static bool step(struct question *question, struct hf_outcome *ret_outcome, bool *ret_finished, hf_time *io_next) {
  struct hf_run_order order;
  hf_run_next(question->run, question->client->loop->now, &order);
  switch (order.kind) {
  case HF_RUN_WAIT:
    *io_next = hf_time_min(*io_next, order.until);
    return false;
  case HF_RUN_ATTEMPT:
    begin(question, &order);
    return true;
  case HF_RUN_ABORT:
    question->charged = question->charged || question->post;
    hf_model_post_cancel(question->post);
    question->post = NULL;
    return true;
  case HF_RUN_FINISHED:
    *ret_outcome = order.outcome;
    *ret_finished = true;
    return false;
  }
  return false;
}

/* The next question whose run has come to its end, after all runs were asked until none wants anything. NULL: none;
 * then `ret_next` says when to ask again. */
static struct question *work(struct hf_model_client *client, struct hf_outcome *ret_outcome, hf_time *ret_next) {
  struct hf_list *it, *tmp;
  for (bool again = true; again;) {
    again = false;
    *ret_next = HF_TIME_NEVER;
    HF_LIST_FOREACH (it, tmp, &client->asked) {
      struct question *question = HF_CONTAINER_OF(it, struct question, link);
      bool finished = false;
      again |= step(question, ret_outcome, &finished, ret_next);
      if (finished)
        return question;
    }
  }
  return NULL;
}

/* Whoever is told may ask or forget another question meanwhile. */
static void turn(struct hf_job *job) {
  struct hf_model_client *client = HF_CONTAINER_OF(job, struct hf_model_client, turn);
  struct hf_outcome outcome;
  hf_time next = HF_TIME_NEVER;
  for (struct question *done = work(client, &outcome, &next); done; done = work(client, &outcome, &next))
    finish(done, &outcome);
  hf_timer_set(client->loop, &client->timer, next);
}

static void on_due(struct hf_timer *timer) {
  struct hf_model_client *client = HF_CONTAINER_OF(timer, struct hf_model_client, timer);
  hf_job_defer(client->loop, &client->turn);
}

static int write_texts(struct question *question, struct hf_str instructions, struct hf_str message) {
  const struct hf_model_settings *settings = &question->client->settings;
  int r = hf_model_api_url(settings, &question->url);
  if (r == 0)
    r = hf_model_api_headers(settings, &question->headers);
  return r == 0 ? hf_model_api_body(settings, instructions, message, &question->body) : r;
}

/* The thread keeps the time of an attempt, for only there it is known when it is connected, and what was sent until
 * then. The run's own limits stand behind that. */
static int start_run(struct question *question, hf_time deadline) {
  struct hf_model_client *client = question->client;
  const hf_time now = client->loop->now;
  const hf_time behind = hf_time_add(question->timeout, GRACE);
  struct hf_run_options options = HF_RUN_OPTIONS_INIT;
  options.timeout.connect = behind;
  options.timeout.attempt = behind;
  options.timeout.idle = behind;
  options.timeout.deadline = hf_time_max(deadline - now, 1);
  options.retry.attempts = HF_MODEL_ATTEMPTS;
  options.retry.patience = 0;
  options.safety = HF_SAFETY_READ_ONLY;
  options.seed = hf_random_next(&client->loop->random);
  return hf_run_new(client->provider, client->tool, &options, now, &question->run);
}

static bool affords(const struct hf_model_client *client, uint32_t tokens) {
  return client->settings.budget == 0 || hf_budget_left(&client->budget, budget_time(client)) >= tokens;
}

/* What is down is not waited for: the call that is to be corrected is refused as well without. */
static int ask(struct hf_model *model, struct hf_str instructions, struct hf_str message, hf_time deadline,
               struct hf_model_wait *wait) {
  struct hf_model_client *client = HF_CONTAINER_OF(model, struct hf_model_client, head);
  const uint32_t tokens = (uint32_t)(hf_tokens(instructions) + hf_tokens(message)) + client->settings.max_tokens;
  if (!affords(client, tokens) ||
      hf_provider_gate(client->provider, client->tool, client->loop->now) == HF_BREAKER_STOP)
    return HF_ERR_UNAVAILABLE;
  if (client->asked_count >= HF_MODEL_CONCURRENT + HF_MODEL_WAITING_MAX)
    return HF_ERR_LIMIT;
  struct question *question = hf_calloc(1, sizeof *question);
  if (!question)
    return HF_ERR_NOMEM;
  question->client = client;
  question->wait = wait;
  question->api = client->settings.api;
  question->timeout = client->settings.timeout;
  question->used = -1;
  hf_list_init(&question->link);
  hf_buf_init(&question->url, TEXTS_MAX);
  hf_buf_init(&question->headers, TEXTS_MAX);
  hf_buf_init(&question->body, BODY_MAX);
  hf_buf_init(&question->text, HF_MODEL_TEXT_MAX);
  int r = write_texts(question, instructions, message);
  if (r == 0)
    r = start_run(question, deadline);
  if (r < 0) {
    question_free(question);
    return r;
  }
  question->set_aside = tokens;
  take(client, tokens);
  wait->asked = question;
  hf_list_push_back(&client->asked, &question->link);
  client->asked_count++;
  hf_job_defer(client->loop, &client->turn);
  return 0;
}

/* A request that is under way is paid for all the same. */
static void forget(struct hf_model *model, struct hf_model_wait *wait) {
  struct hf_model_client *client = HF_CONTAINER_OF(model, struct hf_model_client, head);
  struct question *question = wait->asked;
  if (!question)
    return;
  wait->asked = NULL;
  question->charged = question->charged || question->post;
  settle(question);
  question_free(question);
  hf_job_defer(client->loop, &client->turn);
}

static const struct hf_model_ops ops = {ask, forget};

struct hf_model *hf_model_client_seam(struct hf_model_client *client) {
  return &client->head;
}

static int copy(struct hf_buf *texts, struct hf_str text) {
  return text.ptr ? hf_buf_append_str(texts, text) : 0;
}

static struct hf_str moved(const char *base, size_t *io_at, struct hf_str text) {
  if (!text.ptr)
    return text;
  const struct hf_str there = {base + *io_at, text.len};
  *io_at += text.len;
  return there;
}

int hf_model_client_reload(struct hf_model_client *client, const struct hf_model_settings *settings) {
  struct hf_buf texts;
  hf_buf_init(&texts, TEXTS_MAX);
  int r = copy(&texts, settings->url);
  if (r == 0)
    r = copy(&texts, settings->name);
  if (r == 0)
    r = copy(&texts, settings->key);
  if (r < 0) {
    hf_buf_deinit(&texts);
    return r;
  }
  size_t at = 0;
  const struct hf_budget_options budget = budget_options(settings);
  const bool anew = client->settings.budget == 0;
  const int64_t more = (int64_t)budget.burst - budget_options(&client->settings).burst;
  hf_buf_deinit(&client->texts);
  client->texts = texts;
  client->settings = *settings;
  client->settings.url = moved(texts.data, &at, settings->url);
  client->settings.name = moved(texts.data, &at, settings->name);
  client->settings.key = moved(texts.data, &at, settings->key);
  if (anew)
    hf_budget_init(&client->budget, &budget, budget_time(client));
  else
    hf_budget_configure(&client->budget, &budget);
  if (!anew && more > 0)
    take(client, -more); /* at once, for whoever raises it has run out of it */
  return 0;
}

/* The upstream is there as long as nothing proves otherwise, and a real request is the probe. */
static int make_provider(struct hf_model_client *client) {
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  const struct hf_breaker_options breaker = HF_BREAKER_OPTIONS_INIT;
  options.max_concurrent = HF_MODEL_CONCURRENT;
  options.max_queued = HF_MODEL_WAITING_MAX;
  options.max_wait = 0;
  options.probe_timeout = 0;
  client->provider = hf_provider_new(&options, hf_random_next(&client->loop->random), client->loop->now);
  return client->provider ? hf_provider_tool_get(client->provider, HF_STR("model"), &breaker, &client->tool)
                          : HF_ERR_NOMEM;
}

int hf_model_client_new(uv_loop_t *uv, struct hf_loop *loop, const struct hf_model_settings *settings,
                        struct hf_model_client **ret_client) {
  struct hf_model_client *client = hf_calloc(1, sizeof *client);
  if (!client)
    return HF_ERR_NOMEM;
  client->head.ops = &ops;
  client->uv = uv;
  client->loop = loop;
  hf_list_init(&client->asked);
  hf_job_init(&client->turn, turn);
  int r = hf_timer_init(loop, &client->timer, on_due);
  if (r < 0) {
    hf_free(client);
    return r;
  }
  r = make_provider(client);
  if (r == 0)
    r = hf_model_client_reload(client, settings);
  if (r == 0 && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    r = HF_ERR_IO;
  if (r < 0) {
    hf_provider_unref(client->provider);
    hf_timer_deinit(loop, &client->timer);
    hf_buf_deinit(&client->texts);
    hf_free(client);
    return r;
  }
  *ret_client = client;
  return 0;
}

/* libcurl stays initialised: a thread may still use it, whose request was given up. */
void hf_model_client_free(struct hf_model_client *client) {
  if (!client)
    return;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &client->asked) {
    struct question *question = HF_CONTAINER_OF(it, struct question, link);
    question->wait->asked = NULL;
    question_free(question);
  }
  hf_job_cancel(&client->turn);
  hf_timer_deinit(client->loop, &client->timer);
  hf_provider_unref(client->provider);
  hf_buf_deinit(&client->texts);
  hf_free(client);
}
