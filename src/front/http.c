/* The daemon: libmicrohttpd on the event loop, connections with their deadlines, and the end of it all. */
#include "front/http.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "front/guard.h"
#include "front/http_state.h"

#include <errno.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  PASSES_MAX = 8,
  HANGUPS_MAX = 64,
  MEMORY_MIN = 16 << 10,
  STRICT = 1,
  EXPIRE_PER_TICK = 256,
  TRIM_AFTER = 256,
  GONE_PATIENCE = 1
};

#define EXPIRE_AGAIN HF_MS(1)

#define RESUMABLE_AFTER HF_SECONDS(1)
#define TICK_MAX HF_SECONDS(1)
#define TICK_MIN HF_MS(5)
#define IDLE_CONNECTION HF_SECONDS(75)
#define BROKEN_SOON HF_SECONDS(1)

static void look_for_hangups(struct hf_front_http *front);

/* Lets libmicrohttpd work until it waits for the network again, but not for ever: others want their turn. */
static void run_daemon(struct hf_front_http *front) {
  for (int i = 0; i < PASSES_MAX; i++) {
    look_for_hangups(front); /* before what comes on other connections of the same client */
    if (!hf_daemons_run(&front->daemons))
      return;
  }
  hf_timer_set(front->loop, &front->rerun, front->loop->now + 1);
}

static void on_run(struct hf_job *job) {
  run_daemon(HF_CONTAINER_OF(job, struct hf_front_http, run));
}

static void on_rerun(struct hf_timer *timer) {
  run_daemon(HF_CONTAINER_OF(timer, struct hf_front_http, rerun));
}

static void on_daemon_readable(uv_poll_t *poll, int status, int events) {
  struct hf_front_http *front = poll->data;
  (void)status;
  (void)events;
  hf_loop_advance(front->loop, hf_clock_now(), hf_clock_wall_ms());
  run_daemon(front);
}

void hf_front_wake(struct hf_peer *peer) {
  if (!peer->suspended)
    return;
  peer->suspended = false;
  peer->daemon->due = true;
  MHD_resume_connection(peer->mhd);
  hf_job_defer(peer->front->loop, &peer->front->run);
}

/* libmicrohttpd finds the socket closed and cleans up. */
void hf_front_cut(struct hf_peer *peer) {
  peer->peer_gone = true;
  (void)shutdown(peer->fd, SHUT_RDWR);
  hf_front_wake(peer);
}

/* Seconds are all it knows. */
static unsigned write_timeout(const struct hf_limits *limits) {
  hf_time seconds = (limits->client_write + HF_SECONDS(1) - 1) / HF_SECONDS(1);
  return (unsigned)hf_time_min(hf_time_max(seconds, 1), 24 * 3600);
}

/* libmicrohttpd can miss that a peer closed, when that came together with its last bytes. Where nothing is owed to such
 * a peer, a short time-out of its own makes it look again. */
static void set_patience(struct hf_peer *peer, unsigned seconds) {
  (void)MHD_set_connection_option(peer->mhd, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

/* A peer that closed its side is gone for streams and for modern requests, where that is the cancellation. Others may
 * still read their answer. */
static void on_hangup(struct hf_peer *peer, bool reset) {
  struct hf_request *request = peer->request;
  peer->peer_gone = true;
  if (reset && peer->told)
    hf_client_unheard(peer->front->gateway, peer->told); /* who has read all of an answer does not end that way */
  peer->told = reset ? 0 : peer->told;
  if (request && (request->era == HF_ERA_MODERN || request->phase == HF_REQUEST_QUEUED))
    hf_front_wake(peer);
  else if (!request || request->phase == HF_REQUEST_HEAD || request->phase == HF_REQUEST_BODY)
    set_patience(peer, GONE_PATIENCE);
}

static void look_for_hangups(struct hf_front_http *front) {
  struct epoll_event batch[HANGUPS_MAX];
  int count = epoll_wait(front->hangup_fd, batch, HANGUPS_MAX, 0);
  for (int i = 0; i < count; i++)
    on_hangup(batch[i].data.ptr, batch[i].events & (EPOLLERR | EPOLLHUP));
}

static void on_hangup_readable(uv_poll_t *poll, int status, int events) {
  struct hf_front_http *front = poll->data;
  (void)status;
  (void)events;
  hf_loop_advance(front->loop, hf_clock_now(), hf_clock_wall_ms());
  look_for_hangups(front);
}

static void set_deadline(struct hf_peer *peer, struct hf_list *list, hf_time delay) {
  peer->deadline = hf_time_add(peer->front->loop->now, delay);
  hf_list_remove(&peer->link);
  hf_list_push_back(list, &peer->link);
}

static void peer_started(struct hf_daemon *daemon, struct MHD_Connection *mhd, void **ret_context) {
  struct hf_front_http *front = daemon->all->owner;
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
  struct hf_peer *peer = info ? hf_calloc(1, sizeof(*peer)) : NULL;
  *ret_context = peer;
  front->stats.connections++;
  if (!peer)
    return;
  peer->front = front;
  peer->daemon = daemon;
  peer->mhd = mhd;
  peer->fd = info->connect_fd;
  hf_list_init(&peer->link);
  set_deadline(peer, &front->reading, front->settings->limits.client_read);
  struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = peer};
  if (epoll_ctl(front->hangup_fd, EPOLL_CTL_ADD, peer->fd, &event) < 0)
    (void)shutdown(peer->fd, SHUT_RDWR);
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code) {
  struct hf_daemon *daemon = context;
  struct hf_front_http *front = daemon->all->owner;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    daemon->connections++;
    peer_started(daemon, mhd, socket_context);
    return;
  }
  struct hf_peer *peer = *socket_context;
  daemon->connections--;
  front->stats.connections--;
  if (!front->closing && !front->draining)
    hf_acceptor_resume(&front->acceptor);
  if (!peer)
    return;
  if (peer->told && !peer->peer_gone && front->loop->now < peer->deadline - IDLE_CONNECTION + BROKEN_SOON)
    hf_client_unheard(front->gateway, peer->told); /* libmicrohttpd saw first how it broke */
  (void)epoll_ctl(front->hangup_fd, EPOLL_CTL_DEL, peer->fd, NULL);
  hf_list_remove(&peer->link);
  hf_free(peer);
}

static struct hf_peer *peer_of(struct MHD_Connection *mhd) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

static void *on_request_line(void *context, const char *target, struct MHD_Connection *mhd) {
  struct hf_front_http *front = context;
  struct hf_peer *peer = peer_of(mhd);
  struct hf_request *request = peer ? hf_request_new(front, target) : NULL;
  if (!request)
    return NULL;
  request->connection = peer;
  peer->request = request;
  peer->told = 0;
  set_deadline(peer, &front->reading, request->settings->limits.client_read);
  return request;
}

/* A body may be dropped up to this much beyond its limit before the answer; then the connection ends. */
static bool too_much(const struct hf_request *request) {
  return request->received / 2 > request->settings->limits.body_bytes;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_len, void **state) {
  (void)context;
  struct hf_request *request = *state;
  if (!request)
    return MHD_NO;
  if (request->phase == HF_REQUEST_HEAD)
    return hf_request_head(request, mhd, url, method, version);
  if (*upload_len > 0) {
    hf_request_body(request, (struct hf_str){upload, *upload_len});
    *upload_len = 0;
    return too_much(request) ? MHD_NO : MHD_YES;
  }
  struct hf_peer *peer = request->connection;
  if (request->phase == HF_REQUEST_BODY || request->phase == HF_REQUEST_ANSWERED) {
    hf_list_remove(&peer->link);
    hf_list_push_back(&request->front->busy, &peer->link);
    if (peer->peer_gone)
      set_patience(peer, write_timeout(&request->settings->limits));
    hf_request_complete(request, method);
  }
  if (request->phase == HF_REQUEST_ANSWERED || request->phase == HF_REQUEST_STREAMING)
    return hf_request_respond(request, mhd);
  if (peer->peer_gone && request->era == HF_ERA_MODERN)
    return MHD_NO;
  peer->suspended = true;
  MHD_suspend_connection(mhd);
  return MHD_YES;
}

/* Others end with their answer, however it went. */
static bool is_kept(const struct hf_request *request, struct MHD_Connection *mhd) {
  const char *value = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONNECTION);
  return !request->http_1_0 && !request->close && !request->front->draining && (!value || !strcasestr(value, "close"));
}

/* Also comes for requests that never came whole, and for those that on_request never saw. */
static void on_completed(void *context, struct MHD_Connection *mhd, void **state,
                         enum MHD_RequestTerminationCode code) {
  struct hf_front_http *front = context;
  struct hf_request *request = *state;
  struct hf_peer *peer = peer_of(mhd);
  *state = NULL;
  uint64_t call = request ? hf_request_answered_call(request) : 0;
  if (call && (code != MHD_REQUEST_TERMINATED_COMPLETED_OK || request->left))
    hf_client_unheard(front->gateway, call);
  else if (call && is_kept(request, mhd))
    peer->told = call;
  if (peer) {
    peer->request = NULL;
    set_deadline(peer, &front->idle, IDLE_CONNECTION);
    if (peer->peer_gone)
      set_patience(peer, GONE_PATIENCE);
    if (front->draining)
      (void)shutdown(peer->fd, SHUT_RD);
  }
  if (request)
    hf_request_http_over(request);
}

/* The target is judged as it came; decoding it is left to the one place that wants it decoded. */
static size_t leave_escaped(void *context, struct MHD_Connection *mhd, char *text) {
  (void)context;
  (void)mhd;
  return strlen(text);
}

static bool on_accepted(void *owner, int fd, const struct sockaddr *address, socklen_t len) {
  struct hf_front_http *front = owner;
  hf_daemons_add(&front->daemons, fd, address, len);
  hf_job_defer(front->loop, &front->run);
  return front->stats.connections < front->settings->limits.connections;
}

void hf_front_end_session(struct hf_front_http *front, struct hf_session *session) {
  struct hf_list *it;
  struct hf_list *tmp;
  if (session->client)
    hf_client_close(session->client);
  session->client = NULL;
  front->ended++;
  HF_LIST_FOREACH (it, tmp, &session->requests)
    hf_request_orphan(HF_CONTAINER_OF(it, struct hf_request, link));
  hf_sessions_remove(&front->sessions, session);
  if (hf_list_empty(&session->requests))
    hf_session_free(session);
}

static void cut_late(struct hf_front_http *front, struct hf_list *list) {
  while (!hf_list_empty(list)) {
    struct hf_peer *peer = HF_CONTAINER_OF(list->next, struct hf_peer, link);
    if (peer->deadline > front->loop->now)
      return;
    if (list == &front->reading)
      front->stats.cut_slow++;
    hf_list_remove(&peer->link);
    hf_list_push_back(&front->busy, &peer->link);
    hf_front_cut(peer);
  }
}

/* Returns false if there are more: a thousand at once would hold up the loop. */
static bool expire_sessions(struct hf_front_http *front) {
  hf_time before = front->loop->now - front->settings->limits.session_idle;
  for (int i = 0; i < EXPIRE_PER_TICK; i++) {
    struct hf_session *session = hf_sessions_expired(&front->sessions, before);
    if (!session)
      return true;
    hf_front_end_session(front, session);
  }
  return false;
}

/* Answers that take long become streams, before a proxy cuts the silence, and sooner where that makes the answer one
 * that a client can come back for. */
static void stream_what_takes_long(struct hf_front_http *front) {
  struct hf_list *it;
  struct hf_list *tmp;
  hf_time half = front->settings->limits.sse_keepalive / 2;
  HF_LIST_FOREACH (it, tmp, &front->pending) {
    struct hf_request *request = HF_CONTAINER_OF(it, struct hf_request, pending);
    hf_time waited = front->loop->now - request->since;
    if (waited < hf_time_min(half, RESUMABLE_AFTER))
      return;
    if (waited < half && !hf_request_is_primed(request))
      continue;
    if (!hf_request_takes_sse(request) || hf_request_open_stream(request) < 0)
      hf_list_remove(&request->pending);
    else
      hf_stream_keep_alive(request->stream);
  }
}

/* Streams get a comment, likewise. */
static void keep_alive(struct hf_front_http *front) {
  struct hf_list *it;
  struct hf_list *tmp;
  hf_time half = front->settings->limits.sse_keepalive / 2;
  if (front->loop->now - front->last_keepalive < half)
    return;
  front->last_keepalive = front->loop->now;
  HF_LIST_FOREACH (it, tmp, &front->requests) {
    struct hf_request *request = HF_CONTAINER_OF(it, struct hf_request, all);
    if (request->stream && request->stream->reader == request)
      hf_stream_keep_alive(request->stream);
  }
}

static void on_tick(struct hf_timer *timer) {
  struct hf_front_http *front = HF_CONTAINER_OF(timer, struct hf_front_http, tick);
  cut_late(front, &front->reading);
  cut_late(front, &front->idle);
  stream_what_takes_long(front);
  keep_alive(front);
  bool expired = expire_sessions(front);
  if (expired && front->ended >= TRIM_AFTER) {
    front->ended = 0;
    (void)malloc_trim(0);
  }
  if (front->stats.connections > 0) {
    hf_daemons_wake_all(&front->daemons); /* their own time-outs */
    hf_job_defer(front->loop, &front->run);
  }
  hf_timer_set(front->loop, &front->tick, front->loop->now + (expired ? front->tick_every : EXPIRE_AGAIN));
}

static hf_time tick_of(const struct hf_limits *limits) {
  hf_time every = hf_time_min(TICK_MAX, limits->sse_keepalive / 4);
  every = hf_time_min(every, hf_time_min(limits->client_read, limits->session_idle) / 4);
  return hf_time_max(every, TICK_MIN);
}

static struct MHD_Daemon *start_daemon(void *owner, struct hf_daemon *daemon) {
  struct hf_front_http *front = owner;
  const struct hf_limits *limits = &front->settings->limits;
  /* For the head, what is parsed from it, and the head of the response. It is wiped after each request: no more than
   * needed. */
  size_t memory = limits->header_bytes + limits->header_bytes / 2UL;
  if (memory < MEMORY_MIN)
    memory = MEMORY_MIN;
  /* Without its own wake-up descriptor: everything happens on this thread, and run_daemon follows each resumption. */
  unsigned flags =
      MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | ((unsigned)MHD_ALLOW_SUSPEND_RESUME & ~(unsigned)MHD_USE_ITC);
  return MHD_start_daemon(flags, 0, NULL, NULL, on_request, front, MHD_OPTION_NOTIFY_COMPLETED, on_completed, front,
                          MHD_OPTION_NOTIFY_CONNECTION, on_connection, daemon, MHD_OPTION_URI_LOG_CALLBACK,
                          on_request_line, front, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_CONNECTION_LIMIT,
                          (unsigned)HF_DAEMON_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, write_timeout(limits),
                          MHD_OPTION_STRICT_FOR_CLIENT, STRICT, MHD_OPTION_END);
}

static int open_poll(struct hf_front_http *front, uv_poll_t *poll, int fd, uv_poll_cb callback) {
  if (uv_poll_init(front->uv, poll, fd) < 0)
    return HF_ERR_IO;
  poll->data = front;
  front->open_handles++;
  return uv_poll_start(poll, UV_READABLE, callback) < 0 ? HF_ERR_IO : 0;
}

/* Sets up everything. On failure hf_front_http_free cleans up whatever is there. */
static int set_up(struct hf_front_http *front, struct hf_error *reterr) {
  const struct hf_settings *settings = front->settings;
  int error = hf_daemons_init(&front->daemons, start_daemon, front);
  if (error)
    return hf_error_set(reterr, error, "cannot start the HTTP server");
  front->hangup_fd = epoll_create1(EPOLL_CLOEXEC);
  if (front->hangup_fd < 0)
    return hf_error_set(reterr, HF_ERR_IO, "cannot watch connections: %s", strerror(errno));
  if (hf_timer_init(front->loop, &front->rerun, on_rerun) < 0 || hf_timer_init(front->loop, &front->tick, on_tick) < 0)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  if (open_poll(front, &front->daemon_poll, front->daemons.fd, on_daemon_readable) < 0 ||
      open_poll(front, &front->hangup_poll, front->hangup_fd, on_hangup_readable) < 0)
    return hf_error_set(reterr, HF_ERR_IO, "cannot poll the HTTP server");
  front->acceptor.accepted = on_accepted;
  front->acceptor.owner = front;
  error =
      hf_acceptor_open(&front->acceptor, front->uv, front->loop, settings->listen_host, settings->listen_port, reterr);
  if (error)
    return error;
  front->open_handles++;
  hf_timer_set(front->loop, &front->tick, front->loop->now + front->tick_every);
  return 0;
}

static void on_drained(struct hf_job *job) {
  struct hf_front_http *front = HF_CONTAINER_OF(job, struct hf_front_http, drained_job);
  void (*done)(void *) = front->drained;
  front->drained = NULL;
  if (done)
    done(front->drained_context);
}

int hf_front_http_new(const struct hf_front_http_options *options, struct hf_front_http **ret_front,
                      struct hf_error *reterr) {
  const struct hf_settings *settings = options->settings;
  if (settings->principal_count == 0 && !hf_guard_is_loopback(settings->listen_host))
    return hf_error_set(reterr, HF_ERR_INVALID, "cannot listen on '%.*s' without auth.tokens: not a loopback address",
                        HF_STR_FMT(settings->listen_host));
  struct hf_front_http *front = hf_calloc(1, sizeof(*front));
  if (!front)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  front->uv = options->uv;
  front->loop = options->loop;
  front->gateway = options->gateway;
  front->settings = hf_settings_ref(options->settings);
  front->page = options->page;
  front->page_context = options->page_context;
  front->hangup_fd = -1;
  front->acceptor.fd = -1;
  front->tick_every = tick_of(&settings->limits);
  hf_list_init(&front->reading);
  hf_list_init(&front->idle);
  hf_list_init(&front->busy);
  hf_list_init(&front->requests);
  hf_list_init(&front->pending);
  hf_job_init(&front->run, on_run);
  hf_job_init(&front->drained_job, on_drained);
  hf_sessions_init(&front->sessions, settings->limits.sessions, settings->limits.sessions_per_principal);
  int error = set_up(front, reterr);
  if (error) {
    hf_front_http_free(front);
    return error;
  }
  *ret_front = front;
  return 0;
}

uint16_t hf_front_http_port(const struct hf_front_http *front) {
  return hf_acceptor_port(&front->acceptor);
}

void hf_front_http_reload(struct hf_front_http *front, struct hf_settings *settings) {
  struct hf_settings *old = front->settings;
  front->settings = hf_settings_ref(settings);
  front->tick_every = tick_of(&settings->limits);
  hf_settings_free(old);
}

void hf_front_http_stats(const struct hf_front_http *front, struct hf_front_http_stats *ret_stats) {
  *ret_stats = front->stats;
  ret_stats->sessions = front->sessions.by_key.len;
  ret_stats->pauses = front->acceptor.pauses;
}

void hf_front_check_drained(struct hf_front_http *front) {
  if (front->draining && front->drained && hf_list_empty(&front->requests))
    hf_job_defer(front->loop, &front->drained_job);
}

void hf_front_http_drain(struct hf_front_http *front, void (*done)(void *context), void *context) {
  struct hf_list *it;
  struct hf_list *tmp;
  front->draining = true;
  front->drained = done;
  front->drained_context = context;
  hf_acceptor_stop(&front->acceptor);
  HF_LIST_FOREACH (it, tmp, &front->requests)
    hf_request_close_idle(HF_CONTAINER_OF(it, struct hf_request, all));
  HF_LIST_FOREACH (it, tmp, &front->idle)
    hf_front_cut(HF_CONTAINER_OF(it, struct hf_peer, link));
  hf_front_check_drained(front);
}

/* libmicrohttpd must not be stopped with suspended connections. */
static void stop_daemons(struct hf_front_http *front) {
  struct hf_list *it;
  struct hf_list *tmp;
  while (!hf_list_empty(&front->sessions.order))
    hf_front_end_session(front, HF_CONTAINER_OF(front->sessions.order.next, struct hf_session, link));
  HF_LIST_FOREACH (it, tmp, &front->busy)
    hf_front_wake(HF_CONTAINER_OF(it, struct hf_peer, link));
  hf_daemons_deinit(&front->daemons);
}

static void release(struct hf_front_http *front) {
  hf_spare_deinit(&front->spare_requests);
  hf_settings_free(front->settings);
  hf_free(front);
}

static void handle_closed(struct hf_front_http *front) {
  if (--front->open_handles == 0)
    release(front);
}

static void on_closed(uv_handle_t *handle) {
  handle_closed(handle->data);
}

static void on_acceptor_closed(uv_handle_t *handle) {
  struct hf_acceptor *acceptor = handle->data;
  handle_closed(acceptor->owner);
}

void hf_front_http_free(struct hf_front_http *front) {
  if (!front)
    return;
  front->closing = true;
  if (front->acceptor.fd >= 0)
    hf_acceptor_close(&front->acceptor, on_acceptor_closed);
  if (front->daemon_poll.data)
    uv_close((uv_handle_t *)&front->daemon_poll, on_closed);
  if (front->hangup_poll.data)
    uv_close((uv_handle_t *)&front->hangup_poll, on_closed);
  stop_daemons(front);
  if (front->hangup_fd >= 0)
    (void)close(front->hangup_fd);
  hf_sessions_deinit(&front->sessions);
  hf_job_cancel(&front->run);
  hf_job_cancel(&front->drained_job);
  hf_timer_deinit(front->loop, &front->rerun);
  hf_timer_deinit(front->loop, &front->tick);
  if (front->open_handles == 0)
    release(front);
}
