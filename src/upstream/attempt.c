/* The requests under way: by number, each ended exactly once, whoever ends it. */
#include "upstream/uplink.h"

#include "base/alloc.h"
#include "mcp/compose.h"
#include "upstream/session_lost.h"

enum {
  ATTEMPT_BYTES_MAX = 64 << 10, /* of a request's name and headers */
  BAD_STREAK_MAX = 3,           /* refusals in a row before the session is doubted */
};

struct posted {
  struct hf_list link;
  struct hf_outgoing out;
};

static struct hf_str key_of(const uint64_t *id) {
  return (struct hf_str){(const char *)id, sizeof *id};
}

static struct hf_attempt_ref *attempt_of(struct hf_outgoing *out) {
  return HF_CONTAINER_OF(out, struct hf_attempt_ref, out);
}

int hf_attempt_new(struct hf_uplink *up, enum hf_attempt_purpose purpose, uint64_t id, enum hf_method method,
                   struct hf_attempt_ref **ret_attempt) {
  struct hf_attempt_ref *attempt = hf_calloc(1, sizeof *attempt);
  if (!attempt)
    return HF_ERR_NOMEM;
  int rc = hf_map_put(&up->attempts_by_id, key_of(&id), attempt);
  if (rc < 0) {
    hf_free(attempt);
    return rc;
  }
  attempt->purpose = purpose;
  attempt->out = (struct hf_outgoing){.is_request = true, .id = id, .method = method, .connect_by = HF_TIME_NEVER};
  attempt->out.answer = HF_EVIDENCE(HF_EVIDENCE_NONE);
  hf_arena_init(&attempt->arena, ATTEMPT_BYTES_MAX);
  hf_list_init(&attempt->link);
  hf_list_init(&attempt->out.link);
  up->calls += purpose == HF_ATTEMPT_CALL;
  *ret_attempt = attempt;
  return 0;
}

int hf_attempt_describe(struct hf_attempt_ref *attempt, const struct hf_upstream_request *request) {
  attempt->events = request->events;
  attempt->ctx = request->ctx;
  attempt->out.connect_by = request->connect_by;
  if (request->name.ptr && !(attempt->out.name = hf_arena_copy(&attempt->arena, request->name)).ptr)
    return HF_ERR_NOMEM;
  if (!request->param_count)
    return 0;
  struct hf_header *params = hf_arena_alloc(&attempt->arena, request->param_count * sizeof *params);
  if (!params)
    return HF_ERR_NOMEM;
  for (size_t i = 0; i < request->param_count; i++) {
    params[i].name = hf_arena_copy(&attempt->arena, request->params[i].name);
    params[i].value = hf_arena_copy(&attempt->arena, request->params[i].value);
    if (!params[i].name.ptr || !params[i].value.ptr)
      return HF_ERR_NOMEM;
  }
  attempt->out.params = params;
  attempt->out.param_count = request->param_count;
  return 0;
}

int hf_attempt_send(struct hf_uplink *up, struct hf_attempt_ref *attempt) {
  int rc = up->transport->ops->send(up->transport, &attempt->out);
  attempt->session = up->session;
  if (rc == 0)
    hf_list_push_back(&up->attempts, &attempt->link);
  return rc;
}

/* Takes it off the wire and out of the tables; what remains is memory. */
static void unlink_attempt(struct hf_uplink *up, struct hf_attempt_ref *attempt) {
  bool given = !attempt->waiting && !hf_list_empty(&attempt->link);
  hf_list_remove(&attempt->link);
  hf_map_remove(&up->attempts_by_id, key_of(&attempt->out.id));
  up->calls -= attempt->purpose == HF_ATTEMPT_CALL;
  if (given && up->stage != HF_UPLINK_CLOSED)
    up->transport->ops->abort(up->transport, &attempt->out);
}

static void free_memory(struct hf_attempt_ref *attempt) {
  hf_pieces_deinit(&attempt->out.text);
  hf_arena_deinit(&attempt->arena);
  hf_free(attempt);
}

void hf_attempt_free(struct hf_uplink *up, struct hf_attempt_ref *attempt) {
  unlink_attempt(up, attempt);
  free_memory(attempt);
}

/* Sessions die in silence too: a server that refuses everything for a while may only not know us any more. */
static void doubt_session(struct hf_uplink *up, const struct hf_attempt_ref *attempt,
                          const struct hf_evidence *evidence) {
  struct hf_evidence seen = *evidence;
  if (attempt->session != up->session)
    return;
  seen.answered = attempt->alive;
  if (hf_classify(&seen).fault == HF_FAULT_SESSION_LOST) {
    up->suspect = true;
    return;
  }
  bool refused = seen.kind == HF_EVIDENCE_HTTP_STATUS && seen.carried_session &&
                 (seen.http_status == 400 || seen.http_status == 500 || seen.http_status == 503);
  up->bad_streak = refused ? up->bad_streak + 1 : 0;
  if (up->bad_streak >= BAD_STREAK_MAX)
    up->suspect = true;
}

void hf_attempt_finish(struct hf_uplink *up, struct hf_attempt_ref *attempt, const struct hf_evidence *evidence,
                       const struct hf_message *response) {
  unlink_attempt(up, attempt);
  if (attempt->purpose == HF_ATTEMPT_CALL || attempt->purpose == HF_ATTEMPT_PING)
    doubt_session(up, attempt, evidence);
  hf_uplink_used(up);
  switch (attempt->purpose) {
  case HF_ATTEMPT_CALL:
    if (!up->dead)
      attempt->events->done(attempt->ctx, evidence, response);
    break;
  case HF_ATTEMPT_DISCOVER:
  case HF_ATTEMPT_INITIALIZE:
    hf_handshake_answer(up, attempt->purpose, evidence, response);
    break;
  case HF_ATTEMPT_PING:
    hf_timer_stop(up->loop, &up->probe_timer);
    if (!response && hf_classify(evidence).blame == HF_BLAME_PROVIDER)
      hf_uplink_down(up, evidence, HF_STR("it cannot be reached any more"));
    else if (up->suspect && !up->renewing)
      hf_job_defer(up->loop, &up->renew);
    break;
  }
  free_memory(attempt);
}

void hf_attempt_wait(struct hf_uplink *up, struct hf_attempt_ref *attempt) {
  attempt->waiting = true;
  hf_list_push_back(&up->waiting, &attempt->link);
  if (!up->wait_timer.node.place || attempt->out.connect_by < up->wait_timer.node.at)
    hf_timer_set(up->loop, &up->wait_timer, attempt->out.connect_by);
}

void hf_attempt_release_waiting(struct hf_uplink *up) {
  hf_timer_stop(up->loop, &up->wait_timer);
  while (!hf_list_empty(&up->waiting)) {
    struct hf_attempt_ref *attempt = HF_CONTAINER_OF(up->waiting.next, struct hf_attempt_ref, link);
    hf_list_remove(&attempt->link);
    attempt->waiting = false;
    if (hf_attempt_send(up, attempt) == 0)
      continue;
    const struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_LOCAL_LIMIT);
    hf_attempt_finish(up, attempt, &evidence, NULL);
  }
}

void hf_attempt_fail_waiting(struct hf_uplink *up, const struct hf_evidence *evidence) {
  hf_timer_stop(up->loop, &up->wait_timer);
  while (!hf_list_empty(&up->waiting))
    hf_attempt_finish(up, HF_CONTAINER_OF(up->waiting.next, struct hf_attempt_ref, link), evidence, NULL);
}

/* The owner may start new ones meanwhile: they meet a closed transport, so this ends. */
void hf_attempt_fail_all(struct hf_uplink *up, const struct hf_evidence *evidence) {
  while (!hf_list_empty(&up->posts)) {
    struct posted *posted = HF_CONTAINER_OF(up->posts.next, struct posted, link);
    hf_list_remove(&posted->link);
    hf_pieces_deinit(&posted->out.text);
    hf_free(posted);
  }
  while (!hf_list_empty(&up->attempts)) {
    struct hf_attempt_ref *attempt = HF_CONTAINER_OF(up->attempts.next, struct hf_attempt_ref, link);
    if (attempt->purpose != HF_ATTEMPT_CALL) {
      hf_attempt_free(up, attempt);
      continue;
    }
    struct hf_evidence seen = HF_EVIDENCE(attempt->out.handed ? HF_EVIDENCE_BROKE : HF_EVIDENCE_NOT_STARTED);
    seen.retry_after = evidence->retry_after;
    seen.child_dead = evidence->child_dead;
    hf_attempt_finish(up, attempt, &seen, NULL);
  }
}

void hf_attempt_drop_all(struct hf_uplink *up) {
  const struct hf_evidence none = HF_EVIDENCE(HF_EVIDENCE_NONE);
  while (!hf_list_empty(&up->waiting))
    hf_attempt_free(up, HF_CONTAINER_OF(up->waiting.next, struct hf_attempt_ref, link));
  while (!hf_list_empty(&up->attempts))
    hf_attempt_free(up, HF_CONTAINER_OF(up->attempts.next, struct hf_attempt_ref, link));
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &up->posts) {
    if (up->stage != HF_UPLINK_CLOSED)
      up->transport->ops->abort(up->transport, &HF_CONTAINER_OF(it, struct posted, link)->out);
  }
  hf_attempt_fail_all(up, &none);
}

void hf_attempt_post(struct hf_uplink *up, enum hf_method method, struct hf_pieces *text) {
  struct posted *posted = hf_calloc(1, sizeof *posted);
  if (!posted || up->stage == HF_UPLINK_CLOSED) {
    hf_free(posted);
    hf_pieces_deinit(text);
    return;
  }
  posted->out = (struct hf_outgoing){.method = method, .connect_by = hf_time_add(up->loop->now, up->start_timeout)};
  posted->out.answer = HF_EVIDENCE(HF_EVIDENCE_NONE);
  hf_list_init(&posted->out.link);
  hf_pieces_move(&posted->out.text, text);
  hf_list_init(&posted->link);
  if (up->transport->ops->send(up->transport, &posted->out) == 0) {
    hf_list_push_back(&up->posts, &posted->link);
    return;
  }
  hf_log_event(up->loop->log, HF_LOG_WARN, "a message to a server was lost", HF_LOG_STR("server", up->name));
  hf_pieces_deinit(&posted->out.text);
  hf_free(posted);
}

void hf_attempt_done(struct hf_uplink *up, struct hf_outgoing *out, const struct hf_evidence *evidence) {
  if (out->is_request) {
    hf_attempt_finish(up, attempt_of(out), evidence, NULL);
    return;
  }
  struct posted *posted = HF_CONTAINER_OF(out, struct posted, out);
  hf_list_remove(&posted->link);
  hf_pieces_deinit(&posted->out.text);
  hf_free(posted);
}

/* Finds a request by the raw id or token that the server sent back; one that became a string on the way counts too. */
static struct hf_attempt_ref *find(struct hf_uplink *up, struct hf_str raw) {
  bool quoted = raw.len > 2 && raw.ptr[0] == '"';
  if (quoted) {
    raw.ptr++;
    raw.len -= 2;
  }
  int64_t id;
  if (!raw.len || hf_json_int64(raw, &id) < 0)
    return NULL;
  uint64_t key = (uint64_t)id;
  struct hf_attempt_ref *attempt = hf_map_get(&up->attempts_by_id, key_of(&key));
  if (attempt && attempt->waiting)
    return NULL;
  if (attempt && quoted)
    hf_log_event(up->loop->log, HF_LOG_WARN, "a server turned the number of a request into a string",
                 HF_LOG_STR("server", up->name));
  return attempt;
}

static struct hf_evidence evidence_of(const struct hf_attempt_ref *attempt, const struct hf_message *message) {
  struct hf_evidence evidence = attempt->out.answer;
  bool refused = evidence.http_status >= 300;
  if (message->kind == HF_MESSAGE_RESULT) {
    evidence.kind = refused ? HF_EVIDENCE_HTTP_STATUS : message->is_error ? HF_EVIDENCE_TOOL_ERROR : HF_EVIDENCE_NONE;
    return evidence;
  }
  evidence.kind = refused ? HF_EVIDENCE_HTTP_STATUS : HF_EVIDENCE_JSONRPC_ERROR;
  if (hf_says_session_lost(hf_message_raw(message, HF_FIELD_ERROR_MESSAGE)))
    evidence.says_session_lost = true;
  int64_t code = message->error_code;
  if (code == 32600 && evidence.says_session_lost)
    code = HF_RPC_INVALID_REQUEST; /* a server in the wild lost the sign */
  evidence.jsonrpc_code = code < INT32_MIN || code > INT32_MAX ? 0 : (int)code;
  return evidence;
}

static void take_response(struct hf_uplink *up, struct hf_outgoing *out, const struct hf_message *message) {
  struct hf_attempt_ref *attempt = find(up, message->id);
  /* On a stream of its own an answer without a number can be meant for one request only. */
  bool numberless = message->id_type == HF_ID_NONE || message->id_type == HF_ID_NULL;
  if (!attempt && out && out->is_request && numberless)
    attempt = attempt_of(out);
  if (attempt) {
    const struct hf_evidence evidence = evidence_of(attempt, message);
    hf_attempt_finish(up, attempt, &evidence, message);
    return;
  }
  hf_log_event(up->loop->log, HF_LOG_DEBUG, "an answer came that nobody waits for", HF_LOG_STR("server", up->name),
               HF_LOG_STR("id", message->id));
  if (message->kind == HF_MESSAGE_RESULT && !up->dead)
    up->events->message(up->owner, message);
}

static void deliver(struct hf_uplink *up, struct hf_attempt_ref *attempt, const struct hf_message *message) {
  attempt->alive = true;
  if (attempt->purpose != HF_ATTEMPT_CALL || up->dead)
    return;
  uint64_t id = attempt->out.id;
  attempt->events->life(attempt->ctx);
  if (up->dead || hf_map_get(&up->attempts_by_id, key_of(&id)) != attempt)
    return;
  attempt->events->message(attempt->ctx, message);
}

static void answer_ping(struct hf_uplink *up, const struct hf_message *message) {
  struct hf_buf buf;
  struct hf_pieces text;
  hf_buf_init(&buf, HF_MESSAGE_ID_MAX + 128);
  hf_pieces_init(&text);
  if (hf_compose_result(&buf, message->id, HF_STR("{}")) == 0 && hf_pieces_add_copy(&text, hf_buf_str(&buf)) == 0)
    hf_attempt_post(up, HF_METHOD_UNKNOWN, &text);
  hf_buf_deinit(&buf);
}

static void take_notification(struct hf_uplink *up, struct hf_outgoing *out, const struct hf_message *message) {
  if (message->method == HF_METHOD_PROGRESS) {
    struct hf_attempt_ref *attempt = find(up, message->progress_token);
    if (attempt)
      deliver(up, attempt, message);
    else if (!up->dead)
      up->events->message(up->owner, message); /* a request that became a task goes on where it ended */
    return;
  }
  struct hf_attempt_ref *about = NULL;
  if (message->method == HF_METHOD_CANCELLED) {
    about = find(up, hf_message_raw(message, HF_FIELD_REQUEST_ID));
    if (about && about->out.method == HF_METHOD_SUBSCRIPTIONS_LISTEN) {
      const struct hf_evidence ended = HF_EVIDENCE(HF_EVIDENCE_BROKE);
      hf_attempt_finish(up, about, &ended, NULL);
      return;
    }
  }
  about = find(up, hf_message_raw(message, HF_FIELD_META_SUBSCRIPTION));
  if (!about && out && out->is_request)
    about = attempt_of(out);
  if (about)
    deliver(up, about, message);
  else if (!up->dead)
    up->events->message(up->owner, message);
}

void hf_attempt_message(struct hf_uplink *up, struct hf_outgoing *out, const struct hf_message *message) {
  up->last_sign = up->loop->now;
  switch (message->kind) {
  case HF_MESSAGE_RESULT:
  case HF_MESSAGE_ERROR:
    take_response(up, out, message);
    break;
  case HF_MESSAGE_REQUEST:
    if (message->method == HF_METHOD_PING)
      answer_ping(up, message);
    else if (out && out->is_request)
      deliver(up, attempt_of(out), message);
    else
      up->events->message(up->owner, message);
    break;
  case HF_MESSAGE_NOTIFICATION:
    take_notification(up, out, message);
    break;
  }
}
