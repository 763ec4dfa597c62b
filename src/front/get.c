/* GET and DELETE of legacy sessions: who listens to one, comes back to a stream that broke, or ends it. */
#include "front/http_state.h"
#include "front/rules.h"

/* The stream of an event id, to be read from behind it. Returns NULL once the request is refused. */
static struct hf_stream *resume(struct hf_request *request, struct hf_session *session, struct hf_str last,
                                uint64_t *ret_after) {
  struct hf_stream_id id;
  const char *why = NULL;
  struct hf_stream *stream = NULL;
  if (hf_stream_id_parse(last, &id) < 0)
    why = "Last-Event-ID was never sent by this server";
  else if (id.tag != session->tag)
    why = "Last-Event-ID is of another session";
  else if (!(stream = hf_session_stream(session, id.number)) && id.number < session->next_stream)
    why = "what followed this Last-Event-ID is no longer kept: go on without one";
  else if (!stream || id.seq == 0 || id.seq > stream->last_seq)
    why = "Last-Event-ID was never sent in this session";
  *ret_after = why ? 0 : id.seq;
  if (!why)
    return stream;
  hf_request_refuse(request, 400, HF_RPC_INVALID_REQUEST, why);
  return NULL;
}

/* Without an id a client goes on where the stream that it no longer reads was left: nothing is told twice, and streams
 * that break do not pile up. Of many that seem to be read most are dead, and nobody has noticed yet. */
static struct hf_stream *choose_stream(struct hf_request *request, struct hf_session *session, uint64_t *ret_after) {
  const struct hf_limits *limits = &request->settings->limits;
  struct hf_str last = request->head.value[HF_HEAD_LAST_EVENT_ID];
  if (last.len > 0)
    return resume(request, session, last, ret_after);
  struct hf_stream *stream = hf_session_left(session);
  if (stream) {
    *ret_after = hf_stream_written(stream);
    return stream;
  }
  stream = hf_session_add_stream(session, true, limits->replay_bytes, limits->write_backlog);
  if (!stream)
    hf_request_refuse(request, 500, HF_RPC_INTERNAL_ERROR, "out of memory");
  return stream;
}

/* Legacy only, with a session. Returns NULL once the request is refused. */
static struct hf_session *session_of(struct hf_request *request) {
  struct hf_str version = request->head.value[HF_HEAD_VERSION];
  if (version.ptr && hf_version_era(hf_version_parse(version)) == HF_ERA_MODERN) {
    request->allow = "POST, OPTIONS";
    hf_request_refuse(request, 405, HF_RPC_INVALID_REQUEST, "method not allowed in this protocol version");
    return NULL;
  }
  struct hf_objection objection;
  hf_rules_legacy(&request->head, &objection);
  if (objection.status) {
    hf_request_object(request, &objection);
    return NULL;
  }
  request->era = HF_ERA_LEGACY;
  return hf_request_session(request);
}

bool hf_request_may_stream(struct hf_request *request) {
  if (!hf_request_takes_sse(request)) {
    hf_request_refuse(request, 406, HF_RPC_INVALID_REQUEST, "Accept must include text/event-stream");
    return false;
  }
  if (request->front->stats.streams >= request->settings->limits.streams) {
    request->retry_later = true;
    hf_request_refuse(request, 503, HF_RPC_INTERNAL_ERROR, "too many streams are open; try again later");
    return false;
  }
  return true;
}

void hf_request_listen(struct hf_request *request) {
  struct hf_session *session = session_of(request);
  if (!session || !hf_request_may_stream(request))
    return;
  uint64_t after = 0;
  struct hf_stream *stream = choose_stream(request, session, &after);
  if (!stream)
    return;
  request->session = session;
  hf_list_push_back(&session->requests, &request->link);
  hf_list_remove(&stream->link); /* who came last is there for certain: what is told goes to the newest */
  hf_list_push_back(&session->streams, &stream->link);
  hf_request_read_stream(request, stream, after);
  bool knows_id = request->head.value[HF_HEAD_LAST_EVENT_ID].len > 0;
  if (after > 0 && !knows_id && !stream->next && hf_request_is_primed(request))
    (void)hf_stream_prime(stream);
}

void hf_request_end_session(struct hf_request *request) {
  struct hf_session *session = session_of(request);
  if (!session)
    return;
  hf_front_end_session(request->front, session);
  hf_request_answer_empty(request, 204);
}
