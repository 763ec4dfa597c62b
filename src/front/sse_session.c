/* Sessions of HTTP+SSE, the transport of 2024-11-05. Each is one stream, which begins with the endpoint for its POSTs;
 * what is posted is only said to be taken, and all answers come on the stream. The session ends with it. */
#include "front/http_state.h"

enum { ENDPOINT_EVENT_MAX = 64 << 10 };

/* Beside the stream, as the client sees it: that holds behind every proxy, whatever it puts before the path. A name
 * with a colon would be taken for a scheme. */
static int write_reference(struct hf_buf *buf, struct hf_str path) {
  const char *slash = memrchr(path.ptr, '/', path.len);
  struct hf_str name = {slash + 1, path.len - (size_t)(slash + 1 - path.ptr)};
  return hf_buf_printf(buf, "%s%.*s", memchr(name.ptr, ':', name.len) ? "./" : "", HF_STR_FMT(name));
}

static int write_endpoint(const struct hf_request *request, const struct hf_session *session, struct hf_buf *buf) {
  struct hf_str base = request->settings->sse.base;
  struct hf_str path = {request->target, strcspn(request->target, "?")};
  while (base.len > 0 && base.ptr[base.len - 1] == '/')
    base.len--;
  int error = request->settings->sse.base.ptr ? hf_buf_printf(buf, "%.*s%.*s", HF_STR_FMT(base), HF_STR_FMT(path))
                                              : write_reference(buf, path);
  return error ? error : hf_buf_printf(buf, "?sessionId=%s", session->key);
}

static int announce(const struct hf_request *request, const struct hf_session *session, struct hf_stream *stream) {
  struct hf_buf buf;
  struct hf_pieces endpoint;
  hf_buf_init(&buf, ENDPOINT_EVENT_MAX);
  hf_pieces_init(&endpoint);
  int error = write_endpoint(request, session, &buf);
  if (!error)
    error = hf_pieces_add_copy(&endpoint, hf_buf_str(&buf));
  hf_buf_deinit(&buf);
  return error ? error : hf_stream_announce(stream, &endpoint);
}

void hf_sse_open(struct hf_request *request) {
  if (!hf_request_may_stream(request))
    return;
  struct hf_session *session = hf_request_open_session(request);
  if (!session)
    return;
  session->sse = true;
  struct hf_stream *stream = hf_session_add_stream(session, true, SIZE_MAX, request->settings->limits.write_backlog);
  if (!stream) {
    hf_front_end_session(request->front, session);
    hf_request_refuse(request, 500, HF_RPC_INTERNAL_ERROR, "out of memory");
    return;
  }
  request->era = HF_ERA_LEGACY;
  request->session = session;
  hf_list_push_back(&session->requests, &request->link);
  hf_request_read_stream(request, stream, 0);
  if (announce(request, session, stream) < 0)
    hf_front_cut(request->connection);
}

/* The stream of a session that is not over; NULL once it is. */
static struct hf_stream *stream_of(const struct hf_session *session) {
  return session->ended ? NULL : hf_session_standalone(session);
}

/* Returns NULL once the request is refused. A client that tries the newer transport first goes on with GET after 405.
 */
static struct hf_session *find(struct hf_request *request) {
  const char *id = MHD_lookup_connection_value(request->connection->mhd, MHD_GET_ARGUMENT_KIND, "sessionId");
  if (!id) {
    request->allow = "GET, OPTIONS";
    hf_request_refuse(request, 405, HF_RPC_INVALID_REQUEST,
                      "this is the HTTP+SSE transport, which begins with GET; Streamable HTTP is at /mcp");
    return NULL;
  }
  struct hf_session *session =
      hf_sessions_find(&request->front->sessions, hf_str_from(id), request->principal, request->endpoint);
  if (!session || !session->sse || !stream_of(session)) {
    hf_request_refuse(request, 404, HF_RPC_INVALID_REQUEST, "session not found: it ended with its stream");
    return NULL;
  }
  if (hf_stream_is_behind(stream_of(session))) {
    request->retry_later = true;
    hf_request_refuse(request, 503, HF_RPC_INTERNAL_ERROR,
                      "more waits on the stream of this session than limits.writeBacklog allows: read it first");
    return NULL;
  }
  return session;
}

void hf_sse_post(struct hf_request *request, struct hf_message *message) {
  request->era = HF_ERA_LEGACY;
  struct hf_session *session = find(request);
  if (!session)
    return;
  hf_request_answer_empty(request, 202);
  if (message->kind != HF_MESSAGE_REQUEST) {
    hf_client_handle(session->client, message, NULL);
    return;
  }
  request->session = session;
  hf_list_push_back(&session->requests, &request->link);
  request->waiting = true;
  hf_client_handle(session->client, message, &request->reply);
}

static void cut(struct hf_stream *stream) {
  struct hf_request *reader = stream->reader;
  hf_front_cut(reader->connection);
}

void hf_sse_say(struct hf_request *request, struct hf_pieces *text) {
  struct hf_stream *stream = stream_of(request->session);
  if (!stream) {
    request->front->stats.dropped++;
    hf_pieces_deinit(text);
  } else if (hf_stream_push(stream, text) == HF_ERR_LIMIT) {
    request->front->stats.cut_slow++;
    cut(stream);
  }
}

/* What the client itself cancelled is not answered, as over every transport on which requests share a stream. One who
 * cannot be answered is not left waiting. */
void hf_sse_answer(struct hf_request *request, int status, struct hf_pieces *text) {
  struct hf_stream *stream = stream_of(request->session);
  if (!stream || status == HF_STATUS_CANCELLED) {
    request->front->stats.dropped += !stream;
    hf_pieces_deinit(text);
  } else if (text->len == 0 || hf_stream_push_answer(stream, text, request->reply.call) == HF_ERR_NOMEM) {
    hf_pieces_deinit(text);
    cut(stream);
  }
  if (request->front->draining)
    hf_sse_drain(request->session);
}

void hf_sse_drain(struct hf_session *session) {
  struct hf_stream *stream = stream_of(session);
  for (struct hf_list *it = session->requests.next; it != &session->requests; it = it->next)
    if (HF_CONTAINER_OF(it, struct hf_request, link)->waiting)
      return;
  if (stream)
    hf_stream_end(stream);
}

void hf_sse_over(struct hf_request *request) {
  for (uint64_t call; (call = hf_stream_take_unwritten(request->stream));)
    hf_client_unheard(request->front->gateway, call);
  hf_session_drop_stream(request->stream);
  request->stream = NULL;
  if (!request->session->ended)
    hf_front_end_session(request->front, request->session);
}
