/* The event stream that a legacy server may open towards us. A server without one says so with 405 and is not asked
 * again in this session; one that ends is opened again, ever more slowly while nothing comes of it.
 *
 * Servers on the official SDK put what they ask during a call on this stream, and what they say before it is there is
 * lost. So the first calls of a session wait until it is open or refused: not for long, for some servers send no head
 * before their first event. */
#include "base/log.h"
#include "gateway/loop.h"
#include "upstream/http_state.h"
#include "upstream/reopen.h"

#define CONNECT_TIME HF_SECONDS(10)
#define PATIENCE HF_MS(500)
#define HEALTHY_TIME HF_SECONDS(10) /* what lived as long did not fail, whatever cut it */

static const struct hf_reopen barren_pauses = {.first = HF_MS(1000), .most = HF_SECONDS(300), .least = HF_MS(100)};
static const struct hf_reopen useful_pauses = {.first = HF_MS(1000), .most = HF_SECONDS(30), .least = HF_MS(100)};

static struct hf_http_stream *stream_of(struct hf_http_exchange *exchange) {
  return HF_CONTAINER_OF(exchange, struct hf_http_stream, exchange);
}

static void let_calls_go(struct hf_http_stream *stream) {
  if (!stream->awaited)
    return;
  stream->awaited = false;
  hf_timer_stop(stream->http->loop, &stream->patience);
  hf_post_begin_held(stream->http);
}

static void on_patience(struct hf_timer *timer) {
  let_calls_go(HF_CONTAINER_OF(timer, struct hf_http_stream, patience));
}

static void on_message(struct hf_answer *answer, struct hf_message *message) {
  struct hf_http_stream *stream = HF_CONTAINER_OF(answer, struct hf_http_stream, answer);
  struct hf_http *http = stream->http;
  stream->got_message = true;
  if (!http->freed && stream->wanted)
    http->base.events->message(http->base.owner, NULL, message);
}

static void on_life(struct hf_answer *answer) {
  (void)answer;
}

static const struct hf_answer_events answer_events = {on_message, on_life};

/* The pause grows as long as the streams are short, less where they bring something. A server that closes on purpose
 * says when to come back, and is believed as long as there was something to come for. */
static void reopen_later(struct hf_http_stream *stream, hf_time floor) {
  struct hf_loop *loop = stream->http->loop;
  bool lived = stream->streaming && loop->now - stream->opened >= HEALTHY_TIME;
  bool polled = stream->got_message && stream->answer.retry_ms >= 0;
  if (lived || polled)
    stream->failures = 0;
  const struct hf_reopen *reopen =
      stream->got_message || stream->answer.retry_ms >= 0 ? &useful_pauses : &barren_pauses;
  hf_time pause = hf_reopen_pause(reopen, stream->failures++, stream->answer.retry_ms, &loop->random);
  hf_timer_set(loop, &stream->timer, hf_time_add(loop->now, hf_time_max(pause, floor)));
}

static void on_sent(struct hf_http_exchange *exchange, size_t bytes, bool complete) {
  (void)exchange;
  (void)bytes;
  (void)complete;
}

static void give_up(struct hf_http_stream *stream, int status) {
  stream->wanted = false;
  stream->http->pool.options.max_connections = stream->http->max_connections;
  if (status != 405)
    hf_log_event(stream->http->loop->log, HF_LOG_DEBUG, "server has no event stream of its own",
                 HF_LOG_STR("server", stream->http->server), HF_LOG_INT("status", status));
}

/* The response is no event stream. */
static void on_refusal(struct hf_http_stream *stream, const struct hf_http1_reader *response) {
  int status = response->status;
  hf_time floor = hf_time_min(hf_http_retry_after(stream->http, response), HF_MS(HF_REOPEN_RETRY_MAX_MS));
  bool elsewhere = hf_http_redirect_get(stream->http, response, &stream->redirection);
  hf_http_exchange_cancel(&stream->exchange);
  if (elsewhere) {
    hf_timer_set(stream->http->loop, &stream->timer, stream->http->loop->now);
  } else if (hf_http_is_passing(status)) {
    reopen_later(stream, floor);
  } else if (status >= 400 && status != 405 && stream->answer.last_id.len) {
    /* It may only not know the event any more. */
    hf_buf_reset(&stream->answer.last_id, 0);
    reopen_later(stream, floor);
  } else {
    give_up(stream, status);
  }
}

static void on_head(struct hf_http_exchange *exchange) {
  struct hf_http_stream *stream = stream_of(exchange);
  const struct hf_http1_reader *response = hf_http_exchange_response(exchange);
  struct hf_str type = hf_http1_header(response, HF_STR("content-type"));
  let_calls_go(stream);
  stream->streaming = response->status == 200 && exchange->coding != HF_CODING_UNKNOWN &&
                      hf_http_is_type(type, HF_STR("text/event-stream"));
  if (!stream->streaming) {
    on_refusal(stream, response);
    return;
  }
  stream->opened = stream->http->loop->now;
  hf_answer_begin(&stream->answer, HF_ANSWER_EVENTS, stream->http->max_message);
}

static void on_body(struct hf_http_exchange *exchange, struct hf_str bytes) {
  struct hf_http_stream *stream = stream_of(exchange);
  struct hf_http *http = stream->http;
  hf_http_hold(http);
  int r = hf_answer_feed(&stream->answer, bytes);
  if (r < 0 && exchange->active) {
    hf_http_exchange_cancel(exchange);
    reopen_later(stream, 0);
  }
  hf_http_release(http);
}

static void on_ended(struct hf_http_exchange *exchange, const struct hf_evidence *evidence, struct hf_str reason) {
  (void)evidence;
  (void)reason;
  struct hf_http_stream *stream = stream_of(exchange);
  let_calls_go(stream);
  if (stream->wanted)
    reopen_later(stream, 0);
}

static const struct hf_http_exchange_events exchange_events = {on_sent, on_head, on_body, on_ended};

static void open_stream(struct hf_http_stream *stream) {
  struct hf_http *http = stream->http;
  struct hf_str target = hf_http_get_target(http, &stream->redirection);
  bool carried;
  stream->streaming = false;
  stream->got_message = false;
  hf_buf_reset(&stream->exchange.head, HF_REQUEST_HEAD_MAX);
  int r = hf_http_write_head(http, &stream->exchange.head, HF_STR("GET"), target, NULL,
                             hf_buf_str(&stream->answer.last_id), &carried);
  if (r < 0) {
    reopen_later(stream, 0);
    return;
  }
  hf_http_exchange_start(&stream->exchange, NULL, hf_time_add(http->loop->now, CONNECT_TIME), true);
}

static void on_timer(struct hf_timer *timer) {
  struct hf_http_stream *stream = HF_CONTAINER_OF(timer, struct hf_http_stream, timer);
  if (stream->wanted)
    open_stream(stream);
}

int hf_http_stream_init(struct hf_http_stream *stream, struct hf_http *http) {
  stream->http = http;
  hf_http_exchange_init(&stream->exchange, &http->pool, &exchange_events);
  hf_answer_init(&stream->answer, &answer_events);
  hf_buf_init(&stream->redirection.target, HF_URL_MAX);
  int r = hf_timer_init(http->loop, &stream->timer, on_timer);
  return r < 0 ? r : hf_timer_init(http->loop, &stream->patience, on_patience);
}

void hf_http_stream_deinit(struct hf_http_stream *stream) {
  if (!stream->http)
    return;
  hf_http_exchange_deinit(&stream->exchange);
  hf_answer_deinit(&stream->answer);
  hf_buf_deinit(&stream->redirection.target);
  hf_timer_deinit(stream->http->loop, &stream->timer);
  hf_timer_deinit(stream->http->loop, &stream->patience);
}

void hf_http_stream_start(struct hf_http_stream *stream) {
  struct hf_loop *loop = stream->http->loop;
  hf_http_stream_stop(stream);
  stream->wanted = true;
  stream->http->pool.options.max_connections = stream->http->max_connections + 1;
  stream->failures = 0;
  stream->redirection.count = 0;
  hf_buf_reset(&stream->redirection.target, HF_URL_MAX);
  stream->awaited = stream->http->may_ask;
  if (stream->awaited)
    hf_timer_set(loop, &stream->patience, hf_time_add(loop->now, PATIENCE));
  hf_timer_set(loop, &stream->timer, loop->now); /* from the loop, for it may report */
}

void hf_http_stream_stop(struct hf_http_stream *stream) {
  stream->wanted = false;
  let_calls_go(stream);
  stream->http->pool.options.max_connections = stream->http->max_connections;
  hf_http_exchange_cancel(&stream->exchange);
  hf_timer_stop(stream->http->loop, &stream->timer);
  hf_buf_reset(&stream->answer.last_id, 0);
  stream->answer.retry_ms = -1;
}
