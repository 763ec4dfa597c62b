/* Phases and their timers. The transport's stage and the phase that the gateway sees are two things: a start may wait
 * for an old child to end, and a new session may be made while the phase stays READY. */
#include "upstream/upstream.h"

#include "base/alloc.h"
#include "mcp/compose.h"
#include "upstream/uplink.h"
#include "json/write.h"

#include <stdio.h>

enum {
  ATTEMPTS_MAX = 8192,
  STRINGS_MAX = 1 << 20,
};

static const uint64_t own_ids = 1ULL << 50; /* far above the gateway's, and exact in JavaScript */
static const hf_time ping_silence = HF_SECONDS(10);

struct hf_uplink *hf_uplink_of(struct hf_upstream *upstream) {
  return HF_CONTAINER_OF(upstream, struct hf_uplink, base);
}

static void destroy(struct hf_uplink *up) {
  if (up->transport)
    hf_attempt_drop_all(up);
  if (up->transport)
    up->transport->ops->free(up->transport);
  hf_timer_deinit(up->loop, &up->start_timer);
  hf_timer_deinit(up->loop, &up->probe_timer);
  hf_timer_deinit(up->loop, &up->retry_timer);
  hf_timer_deinit(up->loop, &up->idle_timer);
  hf_timer_deinit(up->loop, &up->wait_timer);
  hf_job_cancel(&up->notify);
  hf_job_cancel(&up->renew);
  hf_map_deinit(&up->attempts_by_id);
  hf_message_deinit(&up->hello);
  hf_arena_deinit(&up->arena);
  hf_free(up);
}

void hf_uplink_enter(struct hf_uplink *up) {
  up->depth++;
}

void hf_uplink_leave(struct hf_uplink *up) {
  if (--up->depth == 0 && up->dead)
    destroy(up);
}

static void on_notify(struct hf_job *job) {
  struct hf_uplink *up = HF_CONTAINER_OF(job, struct hf_uplink, notify);
  up->status.pid = up->transport->ops->pid(up->transport);
  hf_uplink_enter(up);
  up->events->changed(up->owner, &up->status);
  hf_uplink_leave(up);
}

static void set_phase(struct hf_uplink *up, enum hf_upstream_phase phase) {
  up->status.phase = phase;
  if (phase != HF_UPSTREAM_READY) {
    up->status.hello = NULL;
    up->status.era = HF_ERA_UNKNOWN;
    up->status.version = (struct hf_str){NULL, 0};
  }
  if (!up->dead)
    hf_job_defer(up->loop, &up->notify);
}

static void open_transport(struct hf_uplink *up) {
  up->open_when_closed = false;
  up->stage = HF_UPLINK_OPENING;
  up->transport->ops->open(up->transport);
}

static void close_transport(struct hf_uplink *up) {
  if (up->stage == HF_UPLINK_CLOSED || up->stage == HF_UPLINK_CLOSING)
    return;
  up->stage = HF_UPLINK_CLOSING;
  up->transport->ops->close(up->transport);
}

static void begin_start(struct hf_uplink *up) {
  hf_timer_stop(up->loop, &up->retry_timer);
  hf_timer_set(up->loop, &up->start_timer, hf_time_add(up->loop->now, up->start_timeout));
  up->status.starts++;
  up->suspect = up->renewing = false;
  up->bad_streak = 0;
  hf_probe_init(&up->probe, up->wanted_era, *up->remembered);
  set_phase(up, HF_UPSTREAM_STARTING);
  if (up->stage == HF_UPLINK_CLOSED)
    open_transport(up);
  else
    up->open_when_closed = true;
}

void hf_uplink_reopen(struct hf_uplink *up) {
  hf_timer_stop(up->loop, &up->probe_timer);
  if (up->stage == HF_UPLINK_CLOSED)
    open_transport(up);
  else
    up->open_when_closed = true;
}

static void set_idle_timer(struct hf_uplink *up) {
  hf_time next = hf_time_min(hf_time_add(up->last_use, up->idle_stop), hf_time_add(up->last_sign, up->keepalive));
  hf_timer_set(up->loop, &up->idle_timer, next);
}

void hf_uplink_used(struct hf_uplink *up) {
  up->last_use = up->loop->now;
}

static void announce(struct hf_uplink *up) {
  struct hf_buf buf;
  struct hf_pieces text;
  hf_buf_init(&buf, 256);
  hf_pieces_init(&text);
  if (hf_compose_notification(&buf, HF_STR("notifications/initialized"), (struct hf_str){NULL, 0}) == 0 &&
      hf_pieces_add_copy(&text, hf_buf_str(&buf)) == 0)
    hf_attempt_post(up, HF_METHOD_INITIALIZED, &text);
  hf_buf_deinit(&buf);
}

void hf_uplink_ready(struct hf_uplink *up, struct hf_message *hello) {
  hf_message_deinit(&up->hello);
  hf_message_move(&up->hello, hello);
  up->stage = HF_UPLINK_LIVE;
  up->session++;
  up->suspect = up->renewing = false;
  up->bad_streak = 0;
  up->last_use = up->last_sign = up->loop->now;
  hf_restart_ready(&up->restart, up->loop->now);
  if (up->probe.era == HF_ERA_LEGACY)
    announce(up);
  struct hf_str version = hf_version_text(up->probe.version);
  up->transport->ops->settle(up->transport, up->probe.era, version);
  set_phase(up, HF_UPSTREAM_READY);
  up->status.era = up->probe.era;
  up->status.version = version;
  up->status.hello = &up->hello;
  up->status.evidence = HF_EVIDENCE(HF_EVIDENCE_NONE);
  up->status.reason = (struct hf_str){NULL, 0};
  set_idle_timer(up);
  hf_attempt_release_waiting(up);
}

static bool cannot_work(const struct hf_uplink *up, const struct hf_evidence *evidence) {
  return up->is_child && evidence->kind == HF_EVIDENCE_COMMAND_NOT_FOUND;
}

/* Copies the reason: it may lie in what is about to go. */
static void set_reason(struct hf_uplink *up, bool crash_loop, struct hf_str reason) {
  if (!reason.ptr)
    reason = HF_STR("no reason given");
  if (crash_loop)
    hf_error_set(&up->reason, HF_ERR_UNAVAILABLE, "ended %u times in a row soon after its start, last: %.*s",
                 up->restart.failures, HF_STR_FMT(reason));
  else
    hf_error_set(&up->reason, HF_ERR_UNAVAILABLE, "%.*s", HF_STR_FMT(reason));
  up->status.reason = hf_str_from(up->reason.text);
}

void hf_uplink_down(struct hf_uplink *up, const struct hf_evidence *evidence, struct hf_str reason) {
  struct hf_evidence seen = *evidence;
  if (seen.kind == HF_EVIDENCE_BROKE || seen.kind == HF_EVIDENCE_TIMED_OUT || seen.kind == HF_EVIDENCE_NONE)
    seen = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
  hf_handshake_end(up);
  hf_timer_stop(up->loop, &up->idle_timer);
  up->renewing = up->suspect = up->open_when_closed = false;

  hf_time pause = hf_restart_ended(&up->restart, up->loop->now, hf_time_max(seen.retry_after, 0),
                                   hf_random_next(&up->loop->random));
  bool crash_loop = pause == HF_TIME_NEVER;
  bool parked = crash_loop || cannot_work(up, &seen);
  set_reason(up, crash_loop, reason);
  up->status.evidence = seen;
  up->status.retry_at = parked ? HF_TIME_NEVER : hf_time_add(up->loop->now, pause);
  set_phase(up, parked ? HF_UPSTREAM_PARKED : HF_UPSTREAM_DOWN);
  if (up->wanted)
    hf_timer_set(up->loop, &up->retry_timer, up->status.retry_at);
  hf_log_event(up->loop->log, HF_LOG_WARN, parked ? "server is not started again" : "server is down",
               HF_LOG_STR("server", up->name), HF_LOG_STR("reason", up->status.reason));
  close_transport(up);
  hf_attempt_fail_waiting(up, &seen);
}

/* What was told to stop is idle only once its transport has closed: until then whoever waits for its end waits. */
static void go_idle(struct hf_uplink *up) {
  up->wanted = false;
  hf_timer_stop(up->loop, &up->idle_timer);
  hf_timer_stop(up->loop, &up->retry_timer);
  hf_handshake_end(up);
  up->renewing = up->suspect = up->open_when_closed = false;
  close_transport(up);
  bool ending = up->stopped && up->stage == HF_UPLINK_CLOSING;
  set_phase(up, ending ? HF_UPSTREAM_STARTING : HF_UPSTREAM_IDLE);
}

static void on_opened(void *owner) {
  struct hf_uplink *up = owner;
  if (up->stage != HF_UPLINK_OPENING)
    return;
  hf_uplink_enter(up);
  up->stage = HF_UPLINK_SHAKING;
  if (!up->dead)
    hf_handshake_begin(up);
  hf_uplink_leave(up);
}

static void on_closed(void *owner, const struct hf_evidence *evidence, struct hf_str reason) {
  struct hf_uplink *up = owner;
  hf_uplink_enter(up);
  enum hf_uplink_stage stage = up->stage;
  up->stage = HF_UPLINK_CLOSED;
  bool expected = stage == HF_UPLINK_CLOSING || up->dead;
  bool again = !expected && stage == HF_UPLINK_SHAKING && hf_probe_closed(&up->probe, evidence) == HF_PROBE_REOPEN;
  const struct hf_evidence seen = hf_handshake_evidence(evidence);
  if (!expected && !again)
    hf_uplink_down(up, &seen, reason);
  hf_attempt_fail_all(up, evidence);
  const struct hf_evidence not_sent = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
  hf_attempt_fail_waiting(up, &not_sent); /* stopped while a new session was being made */
  if (up->stopped && up->status.phase != HF_UPSTREAM_IDLE)
    set_phase(up, HF_UPSTREAM_IDLE);
  if (!up->dead && up->stage == HF_UPLINK_CLOSED && (again || up->open_when_closed))
    open_transport(up);
  hf_uplink_leave(up);
}

static void on_sent(void *owner, struct hf_outgoing *out, size_t bytes, bool complete) {
  struct hf_uplink *up = owner;
  struct hf_attempt_ref *attempt = HF_CONTAINER_OF(out, struct hf_attempt_ref, out);
  if (!out->is_request || attempt->purpose != HF_ATTEMPT_CALL || up->dead)
    return;
  hf_uplink_enter(up);
  attempt->events->sent(attempt->ctx, bytes, complete);
  hf_uplink_leave(up);
}

static void on_life(void *owner, struct hf_outgoing *out) {
  struct hf_uplink *up = owner;
  struct hf_attempt_ref *attempt = HF_CONTAINER_OF(out, struct hf_attempt_ref, out);
  up->last_sign = up->loop->now;
  if (!out->is_request)
    return;
  attempt->alive = true;
  if (attempt->purpose != HF_ATTEMPT_CALL || up->dead)
    return;
  hf_uplink_enter(up);
  attempt->events->life(attempt->ctx);
  hf_uplink_leave(up);
}

static void on_part(void *owner, struct hf_outgoing *out) {
  struct hf_uplink *up = owner;
  struct hf_attempt_ref *attempt = HF_CONTAINER_OF(out, struct hf_attempt_ref, out);
  up->last_sign = up->loop->now;
  if (!out->is_request || attempt->purpose != HF_ATTEMPT_CALL || !attempt->events->part || up->dead)
    return;
  hf_uplink_enter(up);
  attempt->events->part(attempt->ctx);
  hf_uplink_leave(up);
}

static void on_message(void *owner, struct hf_outgoing *out, const struct hf_message *message) {
  struct hf_uplink *up = owner;
  hf_uplink_enter(up);
  if (!up->dead)
    hf_attempt_message(up, out, message);
  hf_uplink_leave(up);
}

static void on_done(void *owner, struct hf_outgoing *out, const struct hf_evidence *evidence) {
  struct hf_uplink *up = owner;
  hf_uplink_enter(up);
  hf_attempt_done(up, out, evidence);
  hf_uplink_leave(up);
}

const struct hf_transport_events hf_upstream_transport_events = {
    .opened = on_opened,
    .closed = on_closed,
    .sent = on_sent,
    .life = on_life,
    .message = on_message,
    .done = on_done,
    .part = on_part,
};

static void on_start_timer(struct hf_timer *timer) {
  struct hf_uplink *up = HF_CONTAINER_OF(timer, struct hf_uplink, start_timer);
  const struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
  hf_uplink_enter(up);
  hf_uplink_down(up, &evidence,
                 up->renewing ? HF_STR("no new session within startTimeout") : HF_STR("not ready within startTimeout"));
  hf_uplink_leave(up);
}

/* A server that is busy with a call may be too busy to answer a ping. */
static void on_probe_timer(struct hf_timer *timer) {
  struct hf_uplink *up = HF_CONTAINER_OF(timer, struct hf_uplink, probe_timer);
  const struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_TIMED_OUT);
  hf_uplink_enter(up);
  if (up->stage == HF_UPLINK_SHAKING)
    hf_handshake_silence(up);
  else if (up->stage == HF_UPLINK_LIVE && up->calls == 0 && !up->renewing)
    hf_uplink_down(up, &evidence, HF_STR("no answer to a ping"));
  hf_uplink_leave(up);
}

static void on_retry_timer(struct hf_timer *timer) {
  struct hf_uplink *up = HF_CONTAINER_OF(timer, struct hf_uplink, retry_timer);
  if (up->status.phase == HF_UPSTREAM_DOWN && up->wanted)
    begin_start(up);
}

static void ping(struct hf_uplink *up) {
  bool legacy = up->status.era == HF_ERA_LEGACY;
  struct hf_attempt_ref *attempt;
  if (hf_attempt_new(up, HF_ATTEMPT_PING, ++up->next_id, legacy ? HF_METHOD_PING : HF_METHOD_DISCOVER, &attempt) < 0)
    return;
  struct hf_buf buf;
  hf_buf_init(&buf, up->capabilities.len + 1024);
  char id[24];
  int len = snprintf(id, sizeof id, "%llu", (unsigned long long)attempt->out.id);
  int rc = legacy ? hf_compose_request(&buf, (struct hf_str){id, (size_t)len}, HF_STR("ping"), (struct hf_str){NULL, 0})
                  : hf_probe_write_discover(&buf, attempt->out.id, up->capabilities);
  if (rc == 0)
    rc = hf_pieces_add_copy(&attempt->out.text, hf_buf_str(&buf));
  hf_buf_deinit(&buf);
  attempt->out.connect_by = hf_time_add(up->loop->now, ping_silence);
  if (rc == 0)
    rc = hf_attempt_send(up, attempt);
  if (rc < 0)
    hf_attempt_free(up, attempt);
  else
    hf_timer_set(up->loop, &up->probe_timer, hf_time_add(up->loop->now, ping_silence));
}

static void on_idle_timer(struct hf_timer *timer) {
  struct hf_uplink *up = HF_CONTAINER_OF(timer, struct hf_uplink, idle_timer);
  if (up->status.phase != HF_UPSTREAM_READY)
    return;
  if (up->calls > 0) {
    up->last_use = up->last_sign = up->loop->now; /* in use: both begin anew */
  } else if (up->loop->now - up->last_use >= up->idle_stop) {
    go_idle(up);
    return;
  } else if (up->loop->now - up->last_sign >= up->keepalive) {
    up->last_sign = up->loop->now;
    hf_time last_use = up->last_use;
    ping(up);
    up->last_use = last_use;
  }
  set_idle_timer(up);
}

static void on_wait_timer(struct hf_timer *timer) {
  struct hf_uplink *up = HF_CONTAINER_OF(timer, struct hf_uplink, wait_timer);
  const struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_CONNECT_TIMEOUT);
  hf_uplink_enter(up);
  struct hf_list *it, *tmp;
  hf_time next = HF_TIME_NEVER;
  struct hf_list due;
  hf_list_init(&due);
  HF_LIST_FOREACH (it, tmp, &up->waiting) {
    struct hf_attempt_ref *attempt = HF_CONTAINER_OF(it, struct hf_attempt_ref, link);
    if (attempt->out.connect_by <= up->loop->now) {
      hf_list_remove(it);
      hf_list_push_back(&due, it);
    } else {
      next = hf_time_min(next, attempt->out.connect_by);
    }
  }
  hf_timer_set(up->loop, timer, next);
  while (!hf_list_empty(&due))
    hf_attempt_finish(up, HF_CONTAINER_OF(due.next, struct hf_attempt_ref, link), &evidence, NULL);
  hf_uplink_leave(up);
}

static void on_renew(struct hf_job *job) {
  struct hf_uplink *up = HF_CONTAINER_OF(job, struct hf_uplink, renew);
  if (up->status.phase != HF_UPSTREAM_READY || up->renewing || !up->suspect)
    return;
  hf_uplink_enter(up);
  hf_handshake_renew(up);
  hf_uplink_leave(up);
}

static void up_start(struct hf_upstream *upstream) {
  struct hf_uplink *up = hf_uplink_of(upstream);
  if (up->stopped)
    return;
  up->wanted = true;
  bool due = up->status.phase == HF_UPSTREAM_DOWN && up->loop->now >= up->status.retry_at;
  if (up->status.phase == HF_UPSTREAM_IDLE || due)
    begin_start(up);
  else if (up->status.phase == HF_UPSTREAM_DOWN)
    hf_timer_set(up->loop, &up->retry_timer, up->status.retry_at);
}

static void up_revive(struct hf_upstream *upstream) {
  struct hf_uplink *up = hf_uplink_of(upstream);
  if (up->stopped)
    return;
  hf_restart_forget(&up->restart);
  up->wanted = true;
  if (up->status.phase != HF_UPSTREAM_STARTING && up->status.phase != HF_UPSTREAM_READY)
    begin_start(up);
}

static int up_request(struct hf_upstream *upstream, struct hf_upstream_request *request,
                      struct hf_attempt_ref **ret_ref) {
  struct hf_uplink *up = hf_uplink_of(upstream);
  struct hf_attempt_ref *attempt = NULL;
  int rc = up->status.phase != HF_UPSTREAM_READY ? HF_ERR_UNAVAILABLE : 0;
  if (rc == 0)
    rc = hf_attempt_new(up, HF_ATTEMPT_CALL, request->id, request->method, &attempt);
  if (rc == 0)
    rc = hf_attempt_describe(attempt, request);
  if (rc < 0) {
    hf_pieces_deinit(request->text);
    if (attempt)
      hf_attempt_free(up, attempt);
    return rc;
  }
  hf_pieces_move(&attempt->out.text, request->text);
  hf_uplink_used(up);
  /* Whoever is first after a loss renews for all: those that come later find the new session. */
  if (up->suspect || up->renewing) {
    hf_attempt_wait(up, attempt);
    hf_job_defer(up->loop, &up->renew);
  } else if ((rc = hf_attempt_send(up, attempt)) < 0) {
    hf_attempt_free(up, attempt);
    return rc == HF_ERR_CLOSED ? HF_ERR_UNAVAILABLE : rc;
  }
  *ret_ref = attempt;
  return 0;
}

static void tell_cancelled(struct hf_uplink *up, uint64_t id, struct hf_str reason) {
  struct hf_buf params, buf;
  struct hf_pieces text;
  hf_buf_init(&params, reason.len * 6 + 128);
  hf_buf_init(&buf, reason.len * 6 + 512);
  hf_pieces_init(&text);
  int rc = hf_buf_printf(&params, "{\"requestId\":%llu,\"reason\":", (unsigned long long)id);
  if (rc == 0)
    rc = hf_json_escape(&params, reason.ptr ? reason : HF_STR("cancelled"));
  if (rc == 0)
    rc = hf_buf_append_str(&params, HF_STR("}"));
  if (rc == 0)
    rc = hf_compose_notification(&buf, HF_STR("notifications/cancelled"), hf_buf_str(&params));
  if (rc == 0 && hf_pieces_add_copy(&text, hf_buf_str(&buf)) == 0)
    hf_attempt_post(up, HF_METHOD_CANCELLED, &text);
  hf_buf_deinit(&params);
  hf_buf_deinit(&buf);
}

static void up_abort(struct hf_upstream *upstream, struct hf_attempt_ref *ref, struct hf_str reason) {
  struct hf_uplink *up = hf_uplink_of(upstream);
  uint64_t id = ref->out.id;
  bool begun = ref->out.handed > 0;
  bool by_message = up->is_child || up->status.era == HF_ERA_LEGACY;
  hf_attempt_free(up, ref);
  hf_uplink_used(up);
  if (begun && by_message && up->stage == HF_UPLINK_LIVE)
    tell_cancelled(up, id, reason);
}

static void up_post(struct hf_upstream *upstream, struct hf_attempt_ref *about, struct hf_pieces *text) {
  (void)about; /* both transports send it on a way of its own */
  struct hf_uplink *up = hf_uplink_of(upstream);
  hf_attempt_post(up, HF_METHOD_UNKNOWN, text);
}

static void up_stop(struct hf_upstream *upstream) {
  struct hf_uplink *up = hf_uplink_of(upstream);
  up->stopped = true;
  if (up->status.phase != HF_UPSTREAM_IDLE)
    go_idle(up);
}

static void up_free(struct hf_upstream *upstream) {
  struct hf_uplink *up = hf_uplink_of(upstream);
  up->dead = true;
  if (up->depth == 0)
    destroy(up);
}

static const struct hf_upstream_ops upstream_ops = {
    .start = up_start,
    .revive = up_revive,
    .request = up_request,
    .abort = up_abort,
    .post = up_post,
    .stop = up_stop,
    .free = up_free,
};

static int init_timers(struct hf_uplink *up) {
  struct {
    struct hf_timer *timer;
    hf_timer_fn *fire;
  } timers[] = {
      {&up->start_timer, on_start_timer}, {&up->probe_timer, on_probe_timer}, {&up->retry_timer, on_retry_timer},
      {&up->idle_timer, on_idle_timer},   {&up->wait_timer, on_wait_timer},
  };
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < sizeof timers / sizeof timers[0]; i++)
    rc = hf_timer_init(up->loop, timers[i].timer, timers[i].fire);
  return rc;
}

static void take_settings(struct hf_uplink *up, const struct hf_server_settings *settings) {
  up->is_child = settings->transport == HF_TRANSPORT_STDIO;
  up->wanted_era = settings->sse ? HF_ERA_LEGACY : settings->era;
  up->start_timeout = settings->start_timeout;
  up->idle_stop = settings->idle_stop;
  up->keepalive = settings->keepalive;
}

int hf_upstream_new(const struct hf_upstream_options *options, struct hf_upstream **ret_upstream) {
  struct hf_uplink *up = hf_calloc(1, sizeof *up);
  if (!up)
    return HF_ERR_NOMEM;
  up->base.ops = &upstream_ops;
  up->loop = options->loop;
  up->events = options->events;
  up->owner = options->owner;
  up->remembered = options->remembered ? options->remembered : &up->own_memory;
  up->next_id = own_ids;
  up->status = (struct hf_upstream_status){.phase = HF_UPSTREAM_IDLE, .evidence = HF_EVIDENCE(HF_EVIDENCE_NONE)};
  hf_list_init(&up->attempts);
  hf_list_init(&up->waiting);
  hf_list_init(&up->posts);
  hf_job_init(&up->notify, on_notify);
  hf_job_init(&up->renew, on_renew);
  hf_map_init(&up->attempts_by_id, ATTEMPTS_MAX);
  hf_restart_init(&up->restart, &options->restart);
  hf_arena_init(&up->arena, STRINGS_MAX);
  take_settings(up, options->settings);
  up->name = hf_arena_copy(&up->arena, options->settings->name);
  up->capabilities = hf_arena_copy(&up->arena, options->capabilities);
  if (!up->name.ptr || !up->capabilities.ptr || init_timers(up) < 0) {
    destroy(up);
    return HF_ERR_NOMEM;
  }
  *ret_upstream = &up->base;
  return 0;
}

void hf_upstream_attach(struct hf_upstream *upstream, struct hf_transport *transport) {
  hf_uplink_of(upstream)->transport = transport;
}
