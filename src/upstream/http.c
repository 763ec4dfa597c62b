#include "upstream/http.h"

#include "base/alloc.h"
#include "gateway/loop.h"
#include "gateway/settings.h"
#include "upstream/http_state.h"
#include "upstream/own_header.h"

enum { WAITING_MAX = 1024, VERSION_TEXT_MAX = 64 };

#define FAREWELL_TIME HF_SECONDS(2)

void hf_http_hold(struct hf_http *http) {
  http->refs++;
}

void hf_http_release(struct hf_http *http) {
  if (--http->refs)
    return;
  struct hf_loop *loop = http->loop;
  hf_http_stream_deinit(&http->stream);
  hf_http_channel_deinit(&http->channel);
  hf_http_exchange_deinit(&http->farewell);
  hf_pool_deinit(&http->pool);
  hf_timer_deinit(loop, &http->farewell_timer);
  hf_job_cancel(&http->job);
  hf_job_cancel(&http->open_job);
  hf_origin_deinit(&http->origin);
  hf_buf_deinit(&http->fixed_head);
  hf_buf_deinit(&http->version);
  hf_buf_deinit(&http->session);
  hf_arena_deinit(&http->arena);
  hf_spare_deinit(&http->spare_posts);
  hf_free(http);
}

static struct hf_http *http_of(struct hf_transport *transport) {
  return HF_CONTAINER_OF(transport, struct hf_http, base);
}

static void on_job(struct hf_job *job) {
  struct hf_http *http = HF_CONTAINER_OF(job, struct hf_http, job);
  hf_http_hold(http);
  hf_post_begin_ready(http);
  hf_http_release(http);
}

/* opened() and closed() are reported from here, never from inside open() and close(). */
static void on_open_job(struct hf_job *job) {
  struct hf_http *http = HF_CONTAINER_OF(job, struct hf_http, open_job);
  if (http->freed)
    return;
  if (!http->closing) {
    http->base.events->opened(http->base.owner);
    return;
  }
  http->closing = false;
  http->base.events->closed(http->base.owner, &HF_EVIDENCE(HF_EVIDENCE_NONE), HF_STR("closed"));
}

static void http_open(struct hf_transport *transport) {
  struct hf_http *http = http_of(transport);
  hf_job_defer(http->loop, &http->open_job);
}

static int http_send(struct hf_transport *transport, struct hf_outgoing *out) {
  struct hf_http *http = http_of(transport);
  return http->closing ? HF_ERR_CLOSED : hf_post_send(http, out);
}

static void http_abort(struct hf_transport *transport, struct hf_outgoing *out) {
  (void)transport;
  hf_post_abort(out);
}

static void http_settle(struct hf_transport *transport, enum hf_era era, struct hf_str version) {
  struct hf_http *http = http_of(transport);
  http->era = era;
  hf_buf_reset(&http->version, VERSION_TEXT_MAX);
  if (hf_buf_append_str(&http->version, version) < 0)
    hf_buf_reset(&http->version, VERSION_TEXT_MAX);
  if (era == HF_ERA_LEGACY && http->channel.state == HF_CHANNEL_NONE)
    hf_http_stream_start(&http->stream);
}

static void http_forget_session(struct hf_transport *transport) {
  struct hf_http *http = http_of(transport);
  if (http->channel.state != HF_CHANNEL_NONE) {
    hf_http_channel_lose(&http->channel);
    return;
  }
  hf_http_stream_stop(&http->stream);
  /* What was sent in it goes with its id: without one, its refusal would not tell that the session was lost. */
  hf_post_begin_ready(http);
  hf_buf_reset(&http->session, HF_SESSION_ID_MAX);
  hf_buf_reset(&http->version, VERSION_TEXT_MAX);
  http->era = HF_ERA_UNKNOWN;
}

static void say_closed(struct hf_http *http) {
  hf_http_exchange_cancel(&http->farewell);
  hf_timer_stop(http->loop, &http->farewell_timer);
  hf_job_defer(http->loop, &http->open_job);
}

static void on_farewell_timer(struct hf_timer *timer) {
  say_closed(HF_CONTAINER_OF(timer, struct hf_http, farewell_timer));
}

static void on_farewell_sent(struct hf_http_exchange *exchange, size_t bytes, bool complete) {
  (void)exchange;
  (void)bytes;
  (void)complete;
}

/* Whatever it answers: some servers don't let clients end sessions. */
static void on_farewell_head(struct hf_http_exchange *exchange) {
  say_closed(HF_CONTAINER_OF(exchange, struct hf_http, farewell));
}

static void on_farewell_body(struct hf_http_exchange *exchange, struct hf_str bytes) {
  (void)exchange;
  (void)bytes;
}

static void on_farewell_ended(struct hf_http_exchange *exchange, const struct hf_evidence *evidence,
                              struct hf_str reason) {
  (void)evidence;
  (void)reason;
  say_closed(HF_CONTAINER_OF(exchange, struct hf_http, farewell));
}

static const struct hf_http_exchange_events farewell_events = {on_farewell_sent, on_farewell_head, on_farewell_body,
                                                               on_farewell_ended};

static void on_farewell_begin(struct hf_http *http) {
  bool carried;
  hf_time by = hf_time_add(http->loop->now, FAREWELL_TIME);
  hf_buf_reset(&http->farewell.head, HF_REQUEST_HEAD_MAX);
  int r = hf_http_write_head(http, &http->farewell.head, HF_STR("DELETE"), hf_buf_str(&http->origin.target), NULL,
                             (struct hf_str){NULL, 0}, &carried);
  if (r < 0) {
    say_closed(http);
    return;
  }
  hf_timer_set(http->loop, &http->farewell_timer, by);
  hf_http_exchange_start(&http->farewell, NULL, by, true);
}

static void http_close(struct hf_transport *transport) {
  struct hf_http *http = http_of(transport);
  if (http->closing)
    return;
  http->closing = true;
  hf_job_cancel(&http->open_job);
  hf_http_stream_stop(&http->stream);
  hf_http_channel_stop(&http->channel);
  hf_post_abort_all(http);
  if (http->session.len && http->era != HF_ERA_MODERN)
    on_farewell_begin(http);
  else
    say_closed(http);
  hf_buf_reset(&http->session, 0);
}

static void http_free(struct hf_transport *transport) {
  if (!transport)
    return;
  struct hf_http *http = http_of(transport);
  http->freed = true;
  hf_http_stream_stop(&http->stream);
  hf_http_channel_stop(&http->channel);
  hf_http_exchange_cancel(&http->farewell);
  hf_timer_stop(http->loop, &http->farewell_timer);
  hf_job_cancel(&http->open_job);
  hf_post_abort_all(http);
  hf_http_release(http);
}

static int64_t http_pid(const struct hf_transport *transport) {
  (void)transport;
  return 0;
}

static const struct hf_transport_ops transport_ops = {
    .open = http_open,
    .send = http_send,
    .abort = http_abort,
    .settle = http_settle,
    .forget_session = http_forget_session,
    .close = http_close,
    .free = http_free,
    .pid = http_pid,
};

struct configured_headers {
  bool user_agent;
  bool authorization;
};

static int add_configured(struct hf_http *http, struct hf_str line, struct configured_headers *seen,
                          struct hf_error *reterr) {
  const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
  if (!colon)
    return hf_error_set(reterr, HF_ERR_INVALID, "a header without a colon");
  struct hf_str name = hf_str_trim((struct hf_str){line.ptr, (size_t)(colon - line.ptr)});
  struct hf_str value = hf_str_trim((struct hf_str){colon + 1, line.len - (size_t)(colon + 1 - line.ptr)});
  if (hf_own_header(name))
    return hf_error_set(reterr, HF_ERR_INVALID, "header '%.*s' cannot be configured", HF_STR_FMT(name));
  seen->user_agent |= hf_str_equal_nocase(name, HF_STR("user-agent"));
  seen->authorization |= hf_str_equal_nocase(name, HF_STR("authorization"));
  int r = hf_http1_write_header(&http->fixed_head, name, value);
  if (r == HF_ERR_INVALID)
    return hf_error_set(reterr, r, "header '%.*s' is malformed", HF_STR_FMT(name));
  return r < 0 ? hf_error_set(reterr, r, "header '%.*s': %s", HF_STR_FMT(name), hf_err_text(r)) : 0;
}

static int compose_fixed_head(struct hf_http *http, const struct hf_server_settings *settings,
                              struct hf_error *reterr) {
  struct configured_headers seen = {0};
  for (size_t i = 0; i < settings->headers.count; i++) {
    int r = add_configured(http, settings->headers.item[i], &seen, reterr);
    if (r < 0)
      return r;
  }
  if (seen.authorization && http->origin.authorization.len)
    return hf_error_set(reterr, HF_ERR_INVALID, "credentials both in the url and in an Authorization header");
  struct hf_buf *head = &http->fixed_head;
  int r = hf_http1_write_header(head, HF_STR("Host"), hf_buf_str(&http->origin.host));
  if (r == 0 && !seen.user_agent)
    r = hf_http1_write_header(head, HF_STR("User-Agent"), HF_STR("holdfast"));
  if (r == 0 && http->origin.authorization.len)
    r = hf_http1_write_header(head, HF_STR("Authorization"), hf_buf_str(&http->origin.authorization));
  if (r == 0)
    r = hf_http1_write_header(head, HF_STR("Accept-Encoding"), HF_STR("identity"));
  return r < 0 ? hf_error_set(reterr, r, "cannot compose headers: %s", hf_err_text(r)) : 0;
}

/* NULL for an absent text; sets *failed when out of memory. */
static const char *copy_text(struct hf_http *http, struct hf_str text, bool *failed) {
  if (!text.ptr || text.len == 0)
    return NULL;
  struct hf_str copy = hf_arena_copy(&http->arena, text);
  if (!copy.ptr)
    *failed = true;
  return copy.ptr;
}

static int copy_settings(struct hf_http *http, const struct hf_server_settings *settings,
                         struct hf_pool_options *ret_options) {
  bool failed = false;
  http->max_connections = settings->max_connections ? settings->max_connections : 1;
  *ret_options = (struct hf_pool_options){
      .connect =
          {
              .url = http->origin.base.data,
              .proxy = copy_text(http, settings->proxy, &failed),
              .ca_file = copy_text(http, settings->ca_file, &failed),
              .cert_file = copy_text(http, settings->cert_file, &failed),
              .key_file = copy_text(http, settings->key_file, &failed),
              .tls_verify = settings->tls_verify,
          },
      .max_connections = http->max_connections,
      .max_waiting = WAITING_MAX,
  };
  http->may_ask = settings->instance == HF_INSTANCE_SESSION;
  http->max_message = settings->max_message;
  http->not_executed_count = settings->not_executed_count;
  http->not_executed = hf_arena_alloc(&http->arena, sizeof(uint16_t) * (settings->not_executed_count + 1));
  if (failed || !http->not_executed)
    return HF_ERR_NOMEM;
  for (size_t i = 0; i < settings->not_executed_count; i++)
    http->not_executed[i] = settings->not_executed[i];
  return 0;
}

static int set_up(struct hf_http *http, const struct hf_server_settings *settings, struct hf_error *reterr) {
  http->server = hf_arena_copy(&http->arena, settings->name);
  if (!http->server.ptr)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  int r = hf_origin_parse(&http->origin, settings->url, reterr);
  if (r == 0)
    r = compose_fixed_head(http, settings, reterr);
  if (r < 0)
    return r;
  struct hf_pool_options options;
  r = copy_settings(http, settings, &options);
  if (r == 0)
    r = hf_pool_init(&http->pool, http->connector, &options);
  if (r == 0)
    r = hf_http_stream_init(&http->stream, http);
  if (r == 0)
    r = hf_http_channel_init(&http->channel, http, settings);
  if (r == 0)
    r = hf_timer_init(http->loop, &http->farewell_timer, on_farewell_timer);
  return r < 0 ? hf_error_set(reterr, r, "%s", hf_err_text(r)) : 0;
}

int hf_http_transport_new(struct hf_connector *connector, const struct hf_server_settings *settings,
                          const struct hf_transport_events *events, void *owner, struct hf_transport **ret_transport,
                          struct hf_error *reterr) {
  struct hf_http *http = hf_calloc(1, sizeof *http);
  if (!http)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  http->base = (struct hf_transport){&transport_ops, events, owner};
  http->refs = 1;
  http->connector = connector;
  http->loop = connector->loop;
  hf_arena_init(&http->arena, HF_HTTP_SETTINGS_MAX);
  hf_buf_init(&http->fixed_head, HF_REQUEST_HEAD_MAX / 2);
  hf_buf_init(&http->version, VERSION_TEXT_MAX);
  hf_buf_init(&http->session, HF_SESSION_ID_MAX);
  hf_list_init(&http->posts);
  hf_list_init(&http->ready);
  hf_list_init(&http->held);
  hf_job_init(&http->job, on_job);
  hf_job_init(&http->open_job, on_open_job);
  hf_http_exchange_init(&http->farewell, &http->pool, &farewell_events);
  int r = set_up(http, settings, reterr);
  if (r < 0) {
    hf_http_release(http);
    return r;
  }
  *ret_transport = &http->base;
  return 0;
}
