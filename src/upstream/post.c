/* One outgoing message and what the server answers to it: by POST, and, where a legacy server's event stream broke and
 * had ids, by GET from where it broke. A message is posted once; only a redirect, whose status says that nothing was
 * done, sends it to another path of the same origin. A server that refuses `initialize` is perhaps an old one: then it
 * goes to the channel's endpoint (channel.c), where a POST is taken or refused, and its answer comes elsewhere. */
#include "base/log.h"
#include "gateway/loop.h"
#include "mcp/methods.h"
#include "policy/retry.h"
#include "upstream/http_state.h"
#include "upstream/reopen.h"
#include "upstream/session_lost.h"

enum { RESUME_FAILURES_MAX = 3, POSTS_MAX = 4096 };

#define DRAIN_TIME HF_MS(500)
#define NOTICE_TIME HF_SECONDS(30)  /* until the server has taken what it need not answer */
#define GREETING_TIME HF_SECONDS(1) /* so long nothing is asked before it has taken that it is initialized */
#define RESUME_CONNECT HF_SECONDS(10)

static const struct hf_reopen resume_pauses = {.first = HF_MS(1000), .most = HF_MS(8000), .least = HF_MS(100)};

struct post {
  struct hf_list link;
  struct hf_http *http;
  struct hf_outgoing *out; /* NULL once it is over for its sender */
  unsigned refs;
  struct hf_http_exchange exchange;
  struct hf_answer answer;
  struct hf_timer timer; /* pause before resuming, or the end of draining */
  struct hf_redirection redirection;
  uint8_t resume_failures; /* in a row that brought no event */
  unsigned resumptions;    /* in a row that brought no message */
  bool resuming;
  bool by_channel;        /* the answer comes on the channel */
  bool refused;           /* it waits for the channel because the server would not take it otherwise */
  uint64_t events_before; /* event count when the stream was opened */
};

static void unref(struct post *post) {
  if (--post->refs)
    return;
  struct hf_http *http = post->http;
  hf_http_exchange_deinit(&post->exchange);
  hf_answer_deinit(&post->answer);
  hf_timer_deinit(http->loop, &post->timer);
  hf_buf_deinit(&post->redirection.target);
  hf_spare_give(&http->spare_posts, post);
  hf_http_release(http);
}

static void end_greeting(struct hf_http *http) {
  http->greeting = false;
  if (!hf_list_empty(&http->held))
    hf_post_begin_held(http);
}

/* Lets go of the sender's message; the post may linger to drain its connection. */
static void detach(struct post *post) {
  if (post->out->method == HF_METHOD_INITIALIZED)
    end_greeting(post->http);
  post->out->transport_data = NULL;
  post->out = NULL;
  hf_answer_stop(&post->answer);
}

static void discard(struct post *post) {
  if (post->out)
    detach(post);
  hf_http_exchange_cancel(&post->exchange);
  hf_timer_stop(post->http->loop, &post->timer);
  if (hf_list_empty(&post->link))
    return;
  hf_list_remove(&post->link);
  post->http->post_count--;
  unref(post);
}

static void log_end(const struct post *post, const struct hf_evidence *evidence, struct hf_str reason) {
  if (reason.ptr && evidence->kind != HF_EVIDENCE_NONE)
    hf_log_event(post->http->loop->log, HF_LOG_DEBUG, "request to a server failed",
                 HF_LOG_STR("server", post->http->server), HF_LOG_STR("reason", reason),
                 HF_LOG_INT("status", evidence->http_status));
}

/* Reports the end to the sender. The post stays until discard(). */
static void report(struct post *post, enum hf_evidence_kind kind, struct hf_str reason) {
  struct hf_outgoing *out = post->out;
  if (!out)
    return;
  struct hf_http *http = post->http;
  struct hf_evidence evidence = out->answer;
  evidence.kind = kind;
  log_end(post, &evidence, reason);
  detach(post);
  http->base.events->done(http->base.owner, out, &evidence);
}

static void finish(struct post *post, enum hf_evidence_kind kind, struct hf_str reason) {
  post->refs++;
  hf_http_exchange_cancel(&post->exchange);
  report(post, kind, reason);
  discard(post);
  unref(post);
}

/* All is said; whether the server now ends its body is its business for a moment only. */
static void drain(struct post *post) {
  if (post->exchange.active)
    hf_timer_set(post->http->loop, &post->timer, hf_time_add(post->http->loop->now, DRAIN_TIME));
}

static bool is_answer_to(const struct hf_message *message, uint64_t id) {
  if (message->kind != HF_MESSAGE_RESULT && message->kind != HF_MESSAGE_ERROR)
    return false;
  char digits[HF_DECIMAL_MAX];
  return message->id_type == HF_ID_INTEGER && hf_str_equal(message->id, hf_str_decimal(id, digits));
}

/* The version that a legacy server agreed to is wanted at once: the notification that follows must carry it. */
static void learn_version(struct hf_http *http, struct hf_message *message) {
  struct hf_str version;
  if (hf_message_string(message, HF_FIELD_RESULT_VERSION, &version) < 0 || version.len > 32)
    return;
  hf_buf_reset(&http->version, 64);
  (void)hf_buf_append_str(&http->version, version);
}

static void deliver(struct post *post, struct hf_message *message) {
  struct hf_http *http = post->http;
  struct hf_outgoing *out = post->out;
  bool answers = out->is_request && is_answer_to(message, out->id);
  if (answers && out->method == HF_METHOD_INITIALIZE && message->kind == HF_MESSAGE_RESULT)
    learn_version(http, message);
  if (message->kind == HF_MESSAGE_ERROR)
    out->answer.jsonrpc_code =
        message->error_code < INT32_MIN || message->error_code > INT32_MAX ? 0 : (int)message->error_code;
  http->base.events->message(http->base.owner, out, message);
  if (!answers || !post->out)
    return;
  bool refused = out->answer.http_status >= 300;
  report(post, refused ? HF_EVIDENCE_HTTP_STATUS : HF_EVIDENCE_NONE, (struct hf_str){NULL, 0});
  drain(post);
}

static void on_message(struct hf_answer *answer, struct hf_message *message) {
  struct post *post = HF_CONTAINER_OF(answer, struct post, answer);
  post->resumptions = 0;
  if (post->out)
    deliver(post, message);
}

static void on_life(struct hf_answer *answer) {
  struct post *post = HF_CONTAINER_OF(answer, struct post, answer);
  if (post->out)
    post->http->base.events->life(post->http->base.owner, post->out);
}

static const struct hf_answer_events answer_events = {on_message, on_life};

static struct hf_str endpoint_of(const struct post *post) {
  const struct hf_http *http = post->http;
  return hf_buf_str(post->by_channel ? &http->channel.endpoint : &http->origin.target);
}

static struct hf_str target_of(const struct post *post) {
  return post->redirection.target.len ? hf_buf_str(&post->redirection.target) : endpoint_of(post);
}

static void start_resumption(struct post *post) {
  static const struct hf_str get = {"GET", 3};
  struct hf_http *http = post->http;
  bool carried;
  post->events_before = post->answer.event_count;
  hf_buf_reset(&post->exchange.head, HF_REQUEST_HEAD_MAX);
  struct hf_str last_id = hf_buf_str(&post->answer.last_id);
  if (hf_http_write_head(http, &post->exchange.head, get, target_of(post), NULL, last_id, &carried) < 0) {
    finish(post, HF_EVIDENCE_BROKE, HF_STR("the event stream cannot be resumed"));
    return;
  }
  hf_http_exchange_start(&post->exchange, NULL, hf_time_add(http->loop->now, RESUME_CONNECT), true);
}

static void give_up_greeting(struct post *post) {
  end_greeting(post->http);
  hf_timer_set(post->http->loop, &post->timer, hf_time_add(post->http->loop->now, NOTICE_TIME - GREETING_TIME));
}

static void on_timer(struct hf_timer *timer) {
  struct post *post = HF_CONTAINER_OF(timer, struct post, timer);
  if (!post->out)
    discard(post);
  else if (post->resuming)
    start_resumption(post);
  else if (post->http->greeting && post->out->method == HF_METHOD_INITIALIZED)
    give_up_greeting(post);
  else
    finish(post, HF_EVIDENCE_BROKE, HF_STR("no word about a notification or answer"));
}

static void resume_later(struct post *post, hf_time floor) {
  struct hf_loop *loop = post->http->loop;
  hf_time pause = hf_reopen_pause(&resume_pauses, post->resumptions++, post->answer.retry_ms, &loop->random);
  post->resuming = true;
  hf_timer_set(loop, &post->timer, hf_time_add(loop->now, hf_time_max(pause, floor)));
}

/* A stream ended before its answer. A legacy server that numbers its events lets us go on where it broke. */
static void stream_ended(struct post *post) {
  struct hf_http *http = post->http;
  hf_http_exchange_cancel(&post->exchange);
  if (post->answer.event_count > post->events_before)
    post->resume_failures = 0;
  else
    post->resume_failures++;
  bool can_resume = http->era != HF_ERA_MODERN && post->out->method != HF_METHOD_DISCOVER && post->answer.last_id.len;
  if (!can_resume || post->resume_failures > RESUME_FAILURES_MAX) {
    finish(post, HF_EVIDENCE_BROKE, HF_STR("the event stream ended without an answer"));
    return;
  }
  resume_later(post, 0);
}

static void on_sent(struct hf_http_exchange *exchange, size_t bytes, bool complete) {
  struct post *post = HF_CONTAINER_OF(exchange, struct post, exchange);
  /* Once handed over stays handed over, wherever a redirect leads. */
  if (!post->out || post->resuming || post->redirection.count)
    return;
  post->out->handed = bytes;
  if (post->out->is_request)
    post->http->base.events->sent(post->http->base.owner, post->out, bytes, complete);
}

static void learn_session(struct hf_http *http, struct hf_str id) {
  bool fine = id.len > 0 && id.len <= HF_SESSION_ID_MAX;
  for (size_t i = 0; fine && i < id.len; i++)
    fine = id.ptr[i] > 0x20 && id.ptr[i] < 0x7f;
  hf_buf_reset(&http->session, HF_SESSION_ID_MAX);
  if (fine)
    (void)hf_buf_append_str(&http->session, id);
  else if (id.len)
    hf_log_event(http->loop->log, HF_LOG_WARN, "server gave an unusable session id",
                 HF_LOG_STR("server", http->server));
}

static void note_status(struct post *post, const struct hf_http1_reader *response) {
  struct hf_http *http = post->http;
  struct hf_evidence *answer = &post->out->answer;
  answer->http_status = response->status;
  answer->retry_after = hf_http_retry_after(http, response);
  for (size_t i = 0; i < http->not_executed_count; i++)
    if (http->not_executed[i] == response->status)
      answer->listed_unexecuted = true;
  if (post->out->method == HF_METHOD_INITIALIZE && response->status / 100 == 2 && !post->by_channel)
    learn_session(http, hf_http1_header(response, HF_STR("mcp-session-id")));
}

static enum hf_encoding encoding_of(struct hf_str name) {
  static const struct {
    const char *name;
    enum hf_encoding encoding;
  } known[] = {{"br", HF_ENCODING_BR}, {"zstd", HF_ENCODING_ZSTD}, {"compress", HF_ENCODING_COMPRESS}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (hf_str_equal_nocase(hf_str_trim(name), hf_str_from(known[i].name)))
      return known[i].encoding;
  return HF_ENCODING_OTHER;
}

static enum hf_answer_kind choose_kind(struct post *post, const struct hf_http1_reader *response) {
  struct hf_str type = hf_http1_header(response, HF_STR("content-type"));
  if (post->exchange.coding == HF_CODING_UNKNOWN && !post->by_channel) {
    hf_log_event(post->http->loop->log, HF_LOG_WARN, "server compressed its answer without being asked",
                 HF_LOG_STR("server", post->http->server),
                 HF_LOG_STR("encoding", hf_http1_header(response, HF_STR("content-encoding"))));
    post->out->answer.unread_encoding = encoding_of(hf_http1_header(response, HF_STR("content-encoding")));
    return HF_ANSWER_NONE;
  }
  if (response->status / 100 != 2)
    return HF_ANSWER_TEXT;
  if (!post->out->is_request || post->by_channel)
    return HF_ANSWER_NONE;
  if (hf_http_is_type(type, HF_STR("text/event-stream")))
    return HF_ANSWER_EVENTS;
  return hf_http_may_be_json(type) ? HF_ANSWER_JSON : HF_ANSWER_NONE;
}

/* To the GET that is to go on with a stream. */
static void on_resumption_head(struct post *post, const struct hf_http1_reader *response) {
  struct hf_str type = hf_http1_header(response, HF_STR("content-type"));
  bool readable = post->exchange.coding != HF_CODING_UNKNOWN && hf_http_is_type(type, HF_STR("text/event-stream"));
  if (response->status == 200 && readable) {
    hf_answer_begin(&post->answer, HF_ANSWER_EVENTS, post->http->max_message);
    return;
  }
  if (hf_http_redirect_get(post->http, response, &post->redirection)) {
    hf_http_exchange_cancel(&post->exchange);
    hf_timer_set(post->http->loop, &post->timer, post->http->loop->now);
    return;
  }
  if (!hf_http_is_passing(response->status) || ++post->resume_failures > RESUME_FAILURES_MAX) {
    finish(post, HF_EVIDENCE_BROKE, HF_STR("the event stream ended without an answer, and cannot be resumed"));
    return;
  }
  hf_time floor = hf_http_retry_after(post->http, response);
  hf_http_exchange_cancel(&post->exchange);
  resume_later(post, floor);
}

static void on_head(struct hf_http_exchange *exchange) {
  struct post *post = HF_CONTAINER_OF(exchange, struct post, exchange);
  const struct hf_http1_reader *response = hf_http_exchange_response(exchange);
  if (!post->out)
    return;
  if (post->resuming) {
    on_resumption_head(post, response);
    return;
  }
  note_status(post, response);
  enum hf_answer_kind kind = choose_kind(post, response);
  post->out->answer.redirect = hf_http_redirect_post(post->http, target_of(post), response, &post->redirection);
  hf_answer_begin(&post->answer, kind, post->http->max_message);
  if (!post->out->is_request && response->status / 100 == 2) {
    post->refs++;
    report(post, HF_EVIDENCE_NONE, (struct hf_str){NULL, 0});
    drain(post);
    unref(post);
  }
}

/* The message was taken, and only the channel can tell more. */
static bool awaits_channel(const struct post *post) {
  return post->out && post->by_channel && post->out->is_request && post->out->answer.http_status / 100 == 2;
}

/* Bytes that are still coming: of JSON, or of a stream that has begun to speak, be they only comments. */
static bool is_coming(const struct post *post) {
  return post->answer.kind == HF_ANSWER_JSON || (post->answer.kind == HF_ANSWER_EVENTS && post->answer.event_count);
}

/* A body that cannot be an answer is not waited for: the connection goes with it. */
static void on_body(struct hf_http_exchange *exchange, struct hf_str bytes) {
  struct post *post = HF_CONTAINER_OF(exchange, struct post, exchange);
  post->refs++;
  const struct hf_transport *base = &post->http->base;
  if (post->out && is_coming(post) && base->events->part)
    base->events->part(base->owner, post->out);
  int r = hf_answer_feed(&post->answer, bytes);
  if (r == HF_ERR_CLOSED)
    r = 0;
  if (r < 0 && !post->out)
    discard(post);
  else if (r < 0 && awaits_channel(post))
    hf_http_exchange_cancel(&post->exchange);
  else if (r < 0 && post->answer.kind == HF_ANSWER_TEXT)
    finish(post, HF_EVIDENCE_HTTP_STATUS, HF_STR("the body of an error is too large"));
  else if (r < 0)
    finish(post, HF_EVIDENCE_BAD_REPLY, hf_str_from(post->answer.why.code ? post->answer.why.text : "not a message"));
  unref(post);
}

/* As the specification has it for servers of 2024-11-05. */
static bool may_be_old(const struct post *post) {
  int status = post->out->answer.http_status;
  return post->out->method == HF_METHOD_INITIALIZE && post->http->channel.state == HF_CHANNEL_NONE &&
         (status == 400 || status == 404 || status == 405);
}

static void ask_channel(struct post *post) {
  struct hf_http *http = post->http;
  post->refused = true;
  hf_list_remove(&post->link);
  hf_list_push_back(&http->held, &post->link);
  hf_http_channel_probe(&http->channel);
}

void hf_post_end_probe(struct hf_http *http) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &http->held) {
    struct post *post = HF_CONTAINER_OF(it, struct post, link);
    if (post->refused) {
      finish(post, HF_EVIDENCE_HTTP_STATUS, HF_STR("http status"));
      break;
    }
  }
  hf_post_begin_held(http);
}

/* An error status has come whole, or as much of it as will. */
static void end_refused(struct post *post) {
  struct hf_outgoing *out = post->out;
  struct hf_str text = post->answer.kind == HF_ANSWER_TEXT ? hf_buf_str(&post->answer.body) : HF_STR("");
  out->answer.says_session_lost = hf_says_session_lost(text);
  struct hf_message message = {0};
  struct hf_refusal refusal;
  post->refs++;
  if (text.len && hf_message_decode_copy(text, &message, &refusal) == 0) {
    if (out->is_request && is_answer_to(&message, out->id))
      deliver(post, &message);
    else if (message.kind == HF_MESSAGE_ERROR && message.error_code >= INT32_MIN && message.error_code <= INT32_MAX)
      out->answer.jsonrpc_code = (int)message.error_code;
    hf_message_deinit(&message);
  }
  if (post->out && may_be_old(post))
    ask_channel(post);
  else if (post->out && post->by_channel && out->method == HF_METHOD_INITIALIZE)
    hf_http_channel_refuse(&post->http->channel, &out->answer);
  else if (post->out)
    finish(post, HF_EVIDENCE_HTTP_STATUS,
           hf_str_from(out->answer.redirect ? hf_redirect_text(out->answer.redirect) : "http status"));
  else
    discard(post);
  unref(post);
}

static void begin(struct post *post);

static void on_complete(struct post *post) {
  struct hf_outgoing *out = post->out;
  int status = out->answer.http_status;
  if ((status == 307 || status == 308) && !out->answer.redirect) {
    begin(post);
  } else if (status / 100 != 2) {
    end_refused(post);
  } else if (awaits_channel(post)) {
    hf_buf_reset(&post->exchange.head, 0);
  } else if (post->answer.kind == HF_ANSWER_EVENTS) {
    stream_ended(post);
  } else {
    bool is_json = post->answer.kind == HF_ANSWER_JSON;
    int r = is_json ? hf_answer_finish(&post->answer) : 0;
    if (!post->out)
      discard(post);
    else if (r < 0)
      finish(post, HF_EVIDENCE_BAD_REPLY, hf_str_from(post->answer.why.text));
    else
      finish(post, HF_EVIDENCE_BAD_REPLY,
             is_json ? HF_STR("the answer has another id") : HF_STR("the answer is neither JSON nor an event stream"));
  }
}

static void on_ended(struct hf_http_exchange *exchange, const struct hf_evidence *evidence, struct hf_str reason) {
  struct post *post = HF_CONTAINER_OF(exchange, struct post, exchange);
  post->refs++;
  if (!post->out) {
    discard(post);
  } else if ((!evidence && !post->resuming) || (exchange->got_head && awaits_channel(post))) {
    on_complete(post);
  } else if (post->resuming || (exchange->got_head && post->answer.kind == HF_ANSWER_EVENTS)) {
    stream_ended(post);
  } else if (exchange->got_head && evidence->kind == HF_EVIDENCE_BROKE && post->out->answer.http_status >= 300) {
    end_refused(post); /* the status stands, whatever became of its body */
  } else {
    finish(post, evidence->kind, reason);
  }
  unref(post);
}

static const struct hf_http_exchange_events exchange_events = {on_sent, on_head, on_body, on_ended};

static void begin(struct post *post) {
  struct hf_http *http = post->http;
  struct hf_outgoing *out = post->out;
  if (post->refused)
    hf_buf_reset(&post->redirection.target, HF_URL_MAX);
  post->refused = false;
  post->by_channel = http->channel.state == HF_CHANNEL_OPEN;
  hf_buf_reset(&post->exchange.head, HF_REQUEST_HEAD_MAX);
  out->answer = HF_EVIDENCE(HF_EVIDENCE_NONE);
  int r = hf_http_write_head(http, &post->exchange.head, HF_STR("POST"), target_of(post), out, (struct hf_str){NULL, 0},
                             &out->answer.carried_session);
  if (r < 0) {
    finish(post, HF_EVIDENCE_LOCAL_LIMIT, hf_str_from(hf_err_text(r)));
    return;
  }
  if (post->by_channel) /* the endpoint's own URL has it */
    out->answer.carried_session = out->method != HF_METHOD_INITIALIZE;
  if (out->method == HF_METHOD_INITIALIZED)
    http->greeting = true;
  if (!out->is_request)
    hf_timer_set(http->loop, &post->timer,
                 hf_time_add(http->loop->now, out->method == HF_METHOD_INITIALIZED ? GREETING_TIME : NOTICE_TIME));
  hf_http_exchange_start(&post->exchange, &out->text, out->connect_by, !out->is_request);
}

int hf_post_send(struct hf_http *http, struct hf_outgoing *out) {
  if (http->post_count >= POSTS_MAX)
    return HF_ERR_LIMIT;
  struct post *post = hf_spare_take(&http->spare_posts, sizeof *post);
  if (!post)
    return HF_ERR_NOMEM;
  post->http = http;
  post->out = out;
  post->refs = 1;
  post->redirection.count = 0;
  post->resume_failures = 0;
  post->resumptions = 0;
  post->resuming = post->by_channel = post->refused = false;
  post->events_before = 0;
  if (hf_timer_init(http->loop, &post->timer, on_timer) < 0) {
    hf_spare_give(&http->spare_posts, post);
    return HF_ERR_NOMEM;
  }
  hf_buf_init(&post->redirection.target, HF_URL_MAX);
  hf_http_exchange_init(&post->exchange, &http->pool, &exchange_events);
  hf_answer_init(&post->answer, &answer_events);
  hf_list_push_back(&http->ready, &post->link);
  http->post_count++;
  hf_http_hold(http);
  out->transport_data = post;
  out->handed = 0;
  out->answer = HF_EVIDENCE(HF_EVIDENCE_NONE);
  hf_job_defer(http->loop, &http->job);
  return 0;
}

/* For the channel; until the server has taken that it is initialized, after which alone some have all their tools; or,
 * where a server may ask something during the request, for the server's own stream. */
static bool must_wait(const struct post *post) {
  enum hf_channel_state channel = post->http->channel.state;
  if (channel != HF_CHANNEL_NONE && channel != HF_CHANNEL_OPEN)
    return true;
  if (post->http->greeting && post->out->is_request)
    return true;
  return post->http->stream.awaited && post->out->is_request &&
         (hf_method_info(post->out->method)->flags & HF_METHOD_INPUT);
}

void hf_post_begin_ready(struct hf_http *http) {
  while (!hf_list_empty(&http->ready)) {
    struct post *post = HF_CONTAINER_OF(http->ready.next, struct post, link);
    hf_list_remove(&post->link);
    if (must_wait(post)) {
      hf_list_push_back(&http->held, &post->link);
      hf_http_channel_want(&http->channel);
      continue;
    }
    hf_list_push_back(&http->posts, &post->link);
    begin(post);
  }
}

/* They came before what is ready now. */
void hf_post_begin_held(struct hf_http *http) {
  while (!hf_list_empty(&http->held)) {
    struct hf_list *last = http->held.prev;
    hf_list_remove(last);
    hf_list_push_front(&http->ready, last);
  }
  hf_job_defer(http->loop, &http->job);
}

/* On a channel the answer may be here before the word that the request was taken, which is let come: its connection is
 * of use again. */
void hf_post_abort(struct hf_outgoing *out) {
  struct post *post = out->transport_data;
  if (!post)
    return;
  bool written = post->exchange.active && post->exchange.connection && post->exchange.written == post->exchange.total;
  if (!post->by_channel || !written) {
    discard(post);
    return;
  }
  detach(post);
  drain(post);
}

void hf_post_fail_unreadable(struct hf_http *http, struct hf_str id) {
  struct post *found = NULL;
  struct hf_list *it, *tmp;
  char digits[HF_DECIMAL_MAX];
  HF_LIST_FOREACH (it, tmp, &http->posts) {
    struct post *post = HF_CONTAINER_OF(it, struct post, link);
    if (!post->out || !post->by_channel || !post->out->is_request)
      continue;
    if (id.len && !hf_str_equal(id, hf_str_decimal(post->out->id, digits)))
      continue;
    if (found)
      return;
    found = post;
  }
  if (found)
    finish(found, HF_EVIDENCE_BAD_REPLY, HF_STR("the answer cannot be read, or is too large"));
}

static void discard_all(struct hf_list *posts) {
  while (!hf_list_empty(posts))
    discard(HF_CONTAINER_OF(posts->next, struct post, link));
}

void hf_post_abort_all(struct hf_http *http) {
  discard_all(&http->ready);
  discard_all(&http->held);
  discard_all(&http->posts);
}
