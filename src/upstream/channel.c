/* The HTTP+SSE transport of 2024-11-05. One event stream, opened by GET, names in its first event where messages are
 * posted, and carries all that the server says: a POST is only taken or refused.
 *
 * The stream is the session. With its end the transport is closed: what was handed over may have run, what still waited
 * here was not sent, and a new stream is a new session. A server is known to be an old one by configuration, or because
 * it refused to be initialized by POST and then gave a stream whose first event is an endpoint. */
#include "base/log.h"
#include "gateway/loop.h"
#include "gateway/settings.h"
#include "upstream/http_state.h"

enum { SHOWN_MAX = 120 };

static struct hf_http_channel *channel_of(struct hf_http_exchange *exchange) {
  return HF_CONTAINER_OF(exchange, struct hf_http_channel, exchange);
}

static void close_stream(struct hf_http_channel *channel, enum hf_channel_state state) {
  struct hf_http *http = channel->http;
  channel->state = state;
  channel->due = false;
  hf_http_exchange_cancel(&channel->exchange);
  hf_timer_stop(http->loop, &channel->timer);
  hf_buf_reset(&channel->endpoint, HF_URL_MAX);
  hf_buf_reset(&http->version, 0);
  http->pool.options.max_connections = http->max_connections;
}

void hf_http_channel_stop(struct hf_http_channel *channel) {
  if (channel->state != HF_CHANNEL_NONE)
    close_stream(channel, HF_CHANNEL_CLOSED);
}

/* To be called from the loop: reports closed(). */
static void end(struct hf_http_channel *channel, const struct hf_evidence *evidence, struct hf_str reason) {
  struct hf_http *http = channel->http;
  close_stream(channel, HF_CHANNEL_CLOSED);
  hf_post_abort_all(http);
  if (!http->freed && !http->closing)
    http->base.events->closed(http->base.owner, evidence, reason);
}

/* It is no old server, at least not now: the refusal stands. */
static void give_up_probe(struct hf_http_channel *channel, struct hf_str reason) {
  struct hf_http *http = channel->http;
  hf_log_event(http->loop->log, HF_LOG_DEBUG, "server does not speak HTTP+SSE either",
               HF_LOG_STR("server", http->server), HF_LOG_STR("reason", reason));
  close_stream(channel, HF_CHANNEL_NONE);
  channel->probing = false;
  hf_post_end_probe(http);
}

static void fail(struct hf_http_channel *channel, const struct hf_evidence *evidence, struct hf_str reason) {
  hf_http_hold(channel->http);
  if (channel->probing)
    give_up_probe(channel, reason);
  else
    end(channel, evidence, reason);
  hf_http_release(channel->http);
}

/* The query may hold what authorizes: it is shown to nobody. */
static int shown(struct hf_str text) {
  const char *query = text.len ? memchr(text.ptr, '?', text.len) : NULL;
  size_t len = query ? (size_t)(query - text.ptr) : text.len;
  return len < SHOWN_MAX ? (int)len : SHOWN_MAX;
}

/* A server that names an endpoint is an old one, whatever is wrong with it. */
static void refuse_endpoint(struct hf_http_channel *channel, int error, struct hf_str said) {
  struct hf_error why = {0};
  if (error == HF_ERR_REFUSED)
    hf_error_set(
        &why, error,
        "its endpoint event names another origin, '%.*s', where nothing is sent; 'endpoint' says the right path",
        shown(said), said.ptr);
  else
    hf_error_set(&why, error, "its endpoint event names no URL: '%.*s'", shown(said), said.ptr ? said.ptr : "");
  channel->probing = false;
  fail(channel, &HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED), hf_str_from(why.text));
}

/* The configured path takes the place of the server's; the query, which has the session, is the server's. */
static int override_path(const struct hf_http_channel *channel, struct hf_str said, struct hf_buf *target) {
  struct hf_buf joined;
  hf_buf_init(&joined, HF_URL_MAX);
  const char *query = said.len ? memchr(said.ptr, '?', said.len) : NULL;
  int r = hf_buf_append_str(&joined, hf_buf_str(&channel->override));
  if (r == 0 && query) {
    bool second = memchr(channel->override.data, '?', channel->override.len) != NULL;
    r = hf_buf_append_str(&joined, second ? HF_STR("&") : HF_STR("?"));
    if (r == 0)
      r = hf_buf_append(&joined, query + 1, said.len - (size_t)(query + 1 - said.ptr));
  }
  if (r == 0)
    r = hf_origin_resolve(&channel->http->origin, hf_http_get_target(channel->http, &channel->source),
                          hf_buf_str(&joined), target);
  hf_buf_deinit(&joined);
  return r;
}

static void take_endpoint(struct hf_http_channel *channel, struct hf_str said) {
  struct hf_http *http = channel->http;
  said = hf_str_trim(said);
  int r = channel->override.len ? override_path(channel, said, &channel->endpoint)
                                : hf_origin_resolve(&http->origin, hf_http_get_target(channel->http, &channel->source),
                                                    said, &channel->endpoint);
  if (r < 0) {
    refuse_endpoint(channel, r, said);
    return;
  }
  if (!channel->configured && !channel->told)
    hf_log_event(http->loop->log, HF_LOG_INFO, "server speaks HTTP+SSE, the transport of 2024-11-05",
                 HF_LOG_STR("server", http->server));
  channel->told = true;
  channel->probing = false;
  channel->state = HF_CHANNEL_OPEN;
  hf_timer_stop(http->loop, &channel->timer);
  hf_post_begin_held(http);
}

static struct hf_http_channel *channel_of_answer(struct hf_answer *answer) {
  return HF_CONTAINER_OF(answer, struct hf_http_channel, answer);
}

static void on_named(struct hf_answer *answer, struct hf_str type, struct hf_str data) {
  struct hf_http_channel *channel = channel_of_answer(answer);
  if (channel->state == HF_CHANNEL_OPENING && hf_str_equal(type, HF_STR("endpoint")))
    take_endpoint(channel, data);
}

static void on_message(struct hf_answer *answer, struct hf_message *message) {
  struct hf_http_channel *channel = channel_of_answer(answer);
  struct hf_http *http = channel->http;
  if (!http->freed && channel->state == HF_CHANNEL_OPEN)
    http->base.events->message(http->base.owner, NULL, message);
}

static void on_life(struct hf_answer *answer) {
  (void)answer;
}

static void on_unreadable(struct hf_answer *answer, struct hf_str id) {
  struct hf_http_channel *channel = channel_of_answer(answer);
  hf_log_event(channel->http->loop->log, HF_LOG_WARN, "server sent a malformed message",
               HF_LOG_STR("server", channel->http->server), HF_LOG_STR("why", hf_str_from(answer->why.text)));
  if (id.len) {
    hf_post_fail_unreadable(channel->http, id);
  } else if (answer->why.code == HF_ERR_LIMIT) {
    channel->oversize = true;
    channel->tail.len = 0;
  }
}

/* Many servers write the id last: the end of a message that is too long may still tell whose it is. */
static void watch_tail(struct hf_http_channel *channel, struct hf_str line, bool ended) {
  hf_line_tail_add(&channel->tail, line);
  if (!ended)
    return;
  channel->oversize = false;
  hf_post_fail_unreadable(channel->http, hf_line_tail_id(&channel->tail));
}

/* Line by line, so that the end of a message that is too long is seen. */
static int feed(struct hf_http_channel *channel, struct hf_str bytes) {
  const struct hf_http_exchange *exchange = &channel->exchange;
  while (bytes.len && exchange->active) {
    const char *newline = memchr(bytes.ptr, '\n', bytes.len);
    size_t len = newline ? (size_t)(newline - bytes.ptr) + 1 : bytes.len;
    struct hf_str line = {bytes.ptr, len};
    int r = hf_answer_feed(&channel->answer, line);
    if (r < 0)
      return r;
    if (channel->oversize)
      watch_tail(channel, line, newline != NULL);
    bytes.ptr += len;
    bytes.len -= len;
  }
  return 0;
}

static const struct hf_answer_events answer_events = {on_message, on_life, on_named, on_unreadable};

static void on_sent(struct hf_http_exchange *exchange, size_t bytes, bool complete) {
  (void)exchange;
  (void)bytes;
  (void)complete;
}

static void open_later(struct hf_http_channel *channel) {
  channel->due = true;
  hf_timer_set(channel->http->loop, &channel->timer, channel->http->loop->now);
}

static void refuse_head(struct hf_http_channel *channel, const struct hf_http1_reader *response) {
  int status = response->status;
  struct hf_evidence evidence = HF_EVIDENCE(status == 200 ? HF_EVIDENCE_NOT_STARTED : HF_EVIDENCE_HTTP_STATUS);
  evidence.http_status = status == 200 ? 0 : status;
  evidence.retry_after = hf_http_retry_after(channel->http, response);
  struct hf_error why = {0};
  if (status == 200)
    hf_error_set(&why, HF_ERR_UNSUPPORTED, "it answered GET with no event stream");
  else
    hf_error_set(&why, HF_ERR_UNAVAILABLE, "it answered GET with HTTP status %d", status);
  fail(channel, &evidence, hf_str_from(why.text));
  /* Found once, it may speak something newer by now. */
  if (!channel->configured && (status == 200 || status == 404 || status == 405))
    channel->state = HF_CHANNEL_NONE;
}

static void on_head(struct hf_http_exchange *exchange) {
  struct hf_http_channel *channel = channel_of(exchange);
  const struct hf_http1_reader *response = hf_http_exchange_response(exchange);
  struct hf_str type = hf_http1_header(response, HF_STR("content-type"));
  if (response->status == 200 && exchange->coding != HF_CODING_UNKNOWN &&
      hf_http_is_type(type, HF_STR("text/event-stream"))) {
    hf_answer_begin(&channel->answer, HF_ANSWER_EVENTS, channel->http->max_message);
  } else if (hf_http_redirect_get(channel->http, response, &channel->source)) {
    hf_http_exchange_cancel(exchange);
    open_later(channel);
  } else {
    hf_http_hold(channel->http);
    refuse_head(channel, response);
    hf_http_release(channel->http);
  }
}

static void on_body(struct hf_http_exchange *exchange, struct hf_str bytes) {
  struct hf_http_channel *channel = channel_of(exchange);
  struct hf_http *http = channel->http;
  hf_http_hold(http);
  int r = feed(channel, bytes);
  if (r < 0 && exchange->active)
    fail(channel, &HF_EVIDENCE(HF_EVIDENCE_BROKE), hf_str_from(hf_err_text(r)));
  hf_http_release(http);
}

static void on_ended(struct hf_http_exchange *exchange, const struct hf_evidence *evidence, struct hf_str reason) {
  struct hf_http_channel *channel = channel_of(exchange);
  bool was_open = channel->state == HF_CHANNEL_OPEN;
  if (was_open)
    fail(channel, &HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_STR("its event stream ended, and its session with it"));
  else if (evidence)
    fail(channel, evidence, reason);
  else
    fail(channel, &HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED), HF_STR("its event stream ended without naming an endpoint"));
}

static const struct hf_http_exchange_events exchange_events = {on_sent, on_head, on_body, on_ended};

static void open_stream(struct hf_http_channel *channel) {
  struct hf_http *http = channel->http;
  hf_time by = hf_time_add(http->loop->now, channel->patience);
  bool carried;
  channel->due = false;
  hf_buf_reset(&channel->exchange.head, HF_REQUEST_HEAD_MAX);
  int r =
      hf_http_write_head(http, &channel->exchange.head, HF_STR("GET"),
                         hf_http_get_target(channel->http, &channel->source), NULL, (struct hf_str){NULL, 0}, &carried);
  if (r < 0) {
    fail(channel, &HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED), hf_str_from(hf_err_text(r)));
    return;
  }
  hf_timer_set(http->loop, &channel->timer, by);
  hf_http_exchange_start(&channel->exchange, NULL, by, true);
}

static void on_timer(struct hf_timer *timer) {
  struct hf_http_channel *channel = HF_CONTAINER_OF(timer, struct hf_http_channel, timer);
  if (channel->state == HF_CHANNEL_LOST)
    fail(channel, &HF_EVIDENCE(HF_EVIDENCE_BROKE), HF_STR("it does not know its session any more"));
  else if (channel->due)
    open_stream(channel);
  else
    fail(channel, &HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED), HF_STR("its event stream names no endpoint"));
}

static void begin(struct hf_http_channel *channel) {
  struct hf_http *http = channel->http;
  channel->state = HF_CHANNEL_OPENING;
  channel->source.count = 0;
  channel->oversize = false;
  http->pool.options.max_connections = http->max_connections + 1;
  hf_buf_reset(&channel->source.target, HF_URL_MAX);
  open_later(channel);
}

void hf_http_channel_want(struct hf_http_channel *channel) {
  if (channel->state == HF_CHANNEL_CLOSED)
    begin(channel);
}

void hf_http_channel_probe(struct hf_http_channel *channel) {
  channel->probing = true;
  begin(channel);
}

void hf_http_channel_refuse(struct hf_http_channel *channel, const struct hf_evidence *answer) {
  struct hf_evidence evidence = *answer;
  struct hf_error why = {0};
  struct hf_str endpoint = hf_buf_str(&channel->endpoint);
  evidence.kind = HF_EVIDENCE_HTTP_STATUS;
  hf_error_set(&why, HF_ERR_UNAVAILABLE,
               "the endpoint that it named, '%.*s', answered initialize with HTTP status %d%s", shown(endpoint),
               endpoint.ptr, evidence.http_status, evidence.http_status == 404 ? "; 'endpoint' says another path" : "");
  fail(channel, &evidence, hf_str_from(why.text));
}

void hf_http_channel_lose(struct hf_http_channel *channel) {
  close_stream(channel, HF_CHANNEL_LOST);
  hf_timer_set(channel->http->loop, &channel->timer, channel->http->loop->now);
}

int hf_http_channel_init(struct hf_http_channel *channel, struct hf_http *http,
                         const struct hf_server_settings *settings) {
  channel->http = http;
  channel->configured = settings->sse;
  channel->state = settings->sse ? HF_CHANNEL_CLOSED : HF_CHANNEL_NONE;
  channel->patience = settings->start_timeout / 2; /* so that the start itself can tell why it failed */
  hf_http_exchange_init(&channel->exchange, &http->pool, &exchange_events);
  hf_answer_init(&channel->answer, &answer_events);
  hf_buf_init(&channel->source.target, HF_URL_MAX);
  hf_buf_init(&channel->endpoint, HF_URL_MAX);
  hf_buf_init(&channel->override, HF_URL_MAX);
  int r = settings->endpoint.len ? hf_buf_append_str(&channel->override, settings->endpoint) : 0;
  return r < 0 ? r : hf_timer_init(http->loop, &channel->timer, on_timer);
}

void hf_http_channel_deinit(struct hf_http_channel *channel) {
  if (!channel->http)
    return;
  hf_http_exchange_deinit(&channel->exchange);
  hf_answer_deinit(&channel->answer);
  hf_timer_deinit(channel->http->loop, &channel->timer);
  hf_buf_deinit(&channel->source.target);
  hf_buf_deinit(&channel->endpoint);
  hf_buf_deinit(&channel->override);
}
