/* The way out: what the gateway answers becomes an HTTP response.
 *
 * One message is answered as JSON. An answer with messages before it, or one that takes long, is a stream of events; so
 * is everything for a client that takes nothing else. */
#include "base/alloc.h"
#include "front/http_state.h"
#include "mcp/compose.h"

enum { STREAM_BLOCK = 4096, PIECES_MAX = HF_PIECES_MAX, HEADER_MAX = 1024 };

#define RETRY_AFTER_SECONDS "5"

bool hf_request_takes_json(const struct hf_request *request) {
  const struct hf_accept *accept = &request->head.accept;
  return accept->json || !request->head.value[HF_HEAD_ACCEPT].ptr;
}

bool hf_request_takes_sse(const struct hf_request *request) {
  const struct hf_accept *accept = &request->head.accept;
  return accept->sse || !request->head.value[HF_HEAD_ACCEPT].ptr;
}

bool hf_request_is_primed(const struct hf_request *request) {
  const struct hf_client *client = request->session->client;
  return request->session->era == HF_ERA_LEGACY && client &&
         hf_version_parse(hf_client_version(client)) >= HF_VERSION_2025_11_25;
}

void hf_request_refuse(struct hf_request *request, int status, int code, const char *why) {
  struct hf_buf text;
  hf_buf_init(&text, HF_ERROR_TEXT_MAX * 8);
  struct hf_str id = {request->id, request->id_len};
  hf_pieces_deinit(&request->answer);
  hf_pieces_init(&request->answer);
  if (hf_compose_error(&text, id, code, hf_str_from(why), (struct hf_str){NULL, 0}) == 0 &&
      hf_pieces_add_copy(&request->answer, hf_buf_str(&text)) == 0)
    request->type = "application/json";
  request->status = status;
  request->phase = HF_REQUEST_ANSWERED;
  request->front->stats.refused++;
  hf_buf_deinit(&text);
}

void hf_request_answer_empty(struct hf_request *request, int status) {
  request->status = status;
  request->type = NULL;
  request->phase = HF_REQUEST_ANSWERED;
}

static void on_stream_ready(void *reader) {
  struct hf_request *request = reader;
  if (request->connection)
    hf_front_wake(request->connection);
}

uint64_t hf_request_answered_call(const struct hf_request *request) {
  const struct hf_stream *stream = request->stream;
  if (stream)
    return stream->reader == request ? stream->call : 0;
  return request->phase == HF_REQUEST_QUEUED && !request->waiting ? request->reply.call : 0;
}

/* Somebody reads the answer of that request again, which may be still to come. */
static void tell_back(const struct hf_request *reader) {
  struct hf_list *it;
  struct hf_list *tmp;
  HF_LIST_FOREACH (it, tmp, &reader->session->requests) {
    struct hf_request *request = HF_CONTAINER_OF(it, struct hf_request, link);
    if (request != reader && request->waiting && request->stream == reader->stream && reader->session->client)
      hf_client_back(reader->session->client, &request->reply);
  }
  if (reader->stream->call)
    hf_client_heard(reader->front->gateway, reader->stream->call);
}

/* Whoever read the stream before reads no more: a client that comes back has lost its old connection, whether we have
 * noticed or not. */
void hf_request_read_stream(struct hf_request *request, struct hf_stream *stream, uint64_t after) {
  struct hf_request *before = stream->reader;
  if (before) {
    hf_stream_detach(stream);
    if (!before->waiting)
      before->stream = NULL;
    if (before->connection)
      hf_front_wake(before->connection);
  }
  request->stream = stream;
  request->phase = HF_REQUEST_STREAMING;
  request->counted = true;
  request->front->stats.streams++;
  hf_stream_attach(stream, after, on_stream_ready, request);
  tell_back(request);
  if (after == 0 && stream->last_seq == 0 && stream->options.ids && request->session->client &&
      hf_version_parse(hf_client_version(request->session->client)) >= HF_VERSION_2025_11_25)
    (void)hf_stream_prime(stream);
}

/* Returns 0, or HF_ERR_LIMIT, HF_ERR_CLOSED (nobody could read it), HF_ERR_NOMEM. */
int hf_request_open_stream(struct hf_request *request) {
  const struct hf_limits *limits = &request->settings->limits;
  if (!request->connection)
    return HF_ERR_CLOSED;
  if (request->front->stats.streams >= limits->streams)
    return HF_ERR_LIMIT;
  struct hf_stream *stream =
      hf_session_add_stream(request->session, false, limits->replay_bytes, limits->write_backlog);
  if (!stream)
    return HF_ERR_NOMEM;
  hf_list_remove(&request->pending);
  hf_request_read_stream(request, stream, 0);
  hf_front_wake(request->connection);
  return 0;
}

static void on_message(struct hf_reply *reply, struct hf_pieces *text) {
  struct hf_request *request = HF_CONTAINER_OF(reply, struct hf_request, reply);
  if (request->sse) {
    hf_sse_say(request, text);
    return;
  }
  if (!request->stream && (!hf_request_takes_sse(request) || hf_request_open_stream(request) < 0)) {
    request->front->stats.dropped++;
    hf_pieces_deinit(text);
    return;
  }
  if (hf_stream_push(request->stream, text) == HF_ERR_LIMIT) {
    struct hf_request *reader = request->stream->reader;
    request->front->stats.cut_slow++;
    hf_front_cut(reader->connection);
  }
}

/* What a client that resumes gets when the answer was too large to keep. */
static void make_fallback(struct hf_request *request, struct hf_pieces *fallback) {
  struct hf_buf text;
  hf_buf_init(&text, HF_ERROR_TEXT_MAX * 4);
  struct hf_str id = {request->id, request->id_len};
  if (hf_compose_error(&text, id, HF_RPC_INTERNAL_ERROR,
                       HF_STR("the call ended, but its answer was too large to keep for a resumed stream"),
                       (struct hf_str){NULL, 0}) == 0)
    (void)hf_pieces_add_copy(fallback, hf_buf_str(&text));
  hf_buf_deinit(&text);
}

static void finish_stream(struct hf_request *request, struct hf_pieces *text) {
  struct hf_pieces fallback;
  hf_pieces_init(&fallback);
  if (request->stream->options.ids && text->len > request->stream->options.replay)
    make_fallback(request, &fallback);
  request->stream->call = request->reply.call;
  if (hf_stream_finish(request->stream, text, &fallback) == HF_ERR_NOMEM && request->connection)
    hf_front_cut(request->connection);
  if (request->stream->reader != request)
    request->stream = NULL; /* from here on the session may drop it */
}

static void request_free(struct hf_request *request) {
  struct hf_front_http *front = request->front;
  struct hf_session *session = request->session;
  hf_list_remove(&request->link);
  hf_list_remove(&request->all);
  hf_list_remove(&request->pending);
  if (session && session->ended && hf_list_empty(&session->requests))
    hf_session_free(session);
  else if (session && !session->ended && request->initialize && !request->show_session)
    hf_sessions_doom(&front->sessions, session); /* the handshake failed: nobody has learnt its id */
  else if (session && !session->ended)
    hf_sessions_touch(&front->sessions, session, front->loop->now);
  if (request->scanning)
    hf_json_scan_deinit(&request->scan);
  hf_buf_deinit(&request->body);
  hf_pieces_deinit(&request->answer);
  hf_free(request->endpoint_copy);
  hf_free(request->id);
  hf_settings_free(request->settings);
  hf_spare_give(&front->spare_requests, request);
  hf_front_check_drained(front);
}

/* The gateway has answered, or has let go. */
static void settle(struct hf_request *request, int status, struct hf_pieces *text) {
  request->waiting = false;
  request->left = request->connection && request->connection->peer_gone;
  hf_list_remove(&request->pending);
  if (!request->sse && !request->stream && request->connection && !hf_request_takes_json(request))
    (void)hf_request_open_stream(request);
  if (request->sse) {
    hf_sse_answer(request, status, text);
  } else if (request->stream) {
    finish_stream(request, text);
  } else if (request->connection) {
    request->status = status;
    request->type = "application/json";
    hf_pieces_move(&request->answer, text);
    request->phase = HF_REQUEST_ANSWERED;
    hf_front_wake(request->connection);
  } else {
    request->front->stats.dropped++;
    hf_pieces_deinit(text);
  }
  if (!request->connection)
    request_free(request);
}

static void on_finish(struct hf_reply *reply, int http_status, struct hf_pieces *text) {
  struct hf_request *request = HF_CONTAINER_OF(reply, struct hf_request, reply);
  request->show_session = request->initialize && hf_client_version(request->session->client).ptr;
  settle(request, request->era == HF_ERA_MODERN || request->sse ? http_status : 200, text);
}

const struct hf_reply_ops hf_request_reply_ops = {.message = on_message, .finish = on_finish};

void hf_request_orphan(struct hf_request *request) {
  if (request->waiting) {
    hf_request_refuse(request, 404, HF_RPC_INVALID_REQUEST, "the session was ended");
    struct hf_pieces text;
    hf_pieces_init(&text);
    hf_pieces_move(&text, &request->answer);
    settle(request, 404, &text);
  } else if (request->stream) {
    hf_stream_end(request->stream);
  }
}

void hf_request_close_idle(struct hf_request *request) {
  if (request->waiting && request->listen && request->session->client) {
    hf_client_abandon(request->session->client, &request->reply);
    request->waiting = false;
    if (!request->stream && hf_request_open_stream(request) < 0 && request->connection)
      hf_front_cut(request->connection);
  }
  if (request->sse && request->stream)
    hf_sse_drain(request->session);
  else if (!request->waiting && request->stream)
    hf_stream_end(request->stream);
}

void hf_request_http_over(struct hf_request *request) {
  struct hf_front_http *front = request->front;
  struct hf_stream *stream = request->stream;
  request->connection = NULL;
  hf_list_remove(&request->pending);
  if (request->counted)
    front->stats.streams--;
  if (stream && stream->reader == request)
    hf_stream_detach(stream);
  if (request->sse && stream)
    hf_sse_over(request);
  if (request->era == HF_ERA_MODERN) {
    if (request->waiting)
      hf_client_abandon(request->session->client, &request->reply);
    request->waiting = false;
    if (stream)
      hf_session_drop_stream(stream);
  } else if (request->waiting && !request->sse && (!stream || !stream->reader)) {
    hf_client_away(request->session->client, &request->reply);
  }
  if (!request->waiting)
    request_free(request);
}

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t max) {
  (void)position;
  struct hf_request *request = context;
  struct hf_stream *stream = request->stream;
  if (!stream || stream->reader != request)
    return MHD_CONTENT_READER_END_OF_STREAM;
  if (request->connection->peer_gone)
    return MHD_CONTENT_READER_END_WITH_ERROR;
  size_t len = hf_stream_read(stream, out, max);
  if (len > 0)
    return (ssize_t)len;
  if (hf_stream_drained(stream))
    return MHD_CONTENT_READER_END_OF_STREAM;
  request->connection->suspended = true;
  MHD_suspend_connection(request->connection->mhd);
  return 0;
}

static void free_pieces(void *pieces) {
  hf_pieces_deinit(pieces);
  hf_free(pieces);
}

/* The body is sent from where it lies, however large. */
static struct MHD_Response *response_of(struct hf_request *request) {
  struct hf_pieces *pieces = hf_malloc(sizeof(*pieces));
  if (!pieces)
    return NULL;
  hf_pieces_init(pieces);
  hf_pieces_move(pieces, &request->answer);
  struct MHD_IoVec vector[PIECES_MAX];
  for (size_t i = 0; i < pieces->count; i++)
    vector[i] = (struct MHD_IoVec){pieces->piece[i].bytes.ptr, pieces->piece[i].bytes.len};
  struct MHD_Response *response = MHD_create_response_from_iovec(vector, (unsigned)pieces->count, free_pieces, pieces);
  if (!response)
    free_pieces(pieces);
  return response;
}

static void add_header(struct MHD_Response *response, const char *name, struct hf_str value) {
  char text[HEADER_MAX];
  if (value.len >= sizeof(text))
    return;
  memcpy(text, value.ptr, value.len);
  text[value.len] = '\0';
  (void)MHD_add_response_header(response, name, text);
}

/* For web pages of an origin that the guard has let in. */
static void add_cors(const struct hf_request *request, struct MHD_Response *response) {
  const struct hf_str *value = request->head.value;
  if (!value[HF_HEAD_ORIGIN].ptr)
    return;
  add_header(response, "Access-Control-Allow-Origin", value[HF_HEAD_ORIGIN]);
  add_header(response, "Vary", HF_STR("Origin"));
  if (!request->preflight) {
    add_header(response, "Access-Control-Expose-Headers", HF_STR("Mcp-Session-Id, WWW-Authenticate, Retry-After"));
    return;
  }
  add_header(response, "Access-Control-Allow-Methods", HF_STR("GET, POST, DELETE"));
  add_header(response, "Access-Control-Max-Age", HF_STR("600"));
  if (value[HF_HEAD_CORS_HEADERS].ptr)
    add_header(response, "Access-Control-Allow-Headers", value[HF_HEAD_CORS_HEADERS]);
}

static void add_headers(const struct hf_request *request, struct MHD_Response *response, bool stream) {
  (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  if (stream) {
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
    (void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
  } else if (request->type) {
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, request->type);
  }
  if (request->show_session || (stream && request->initialize))
    add_header(response, "Mcp-Session-Id", (struct hf_str){request->session->key, request->session->key_len});
  if (request->allow)
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, request->allow);
  if (request->unauthorized)
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  if (request->identity_only)
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ACCEPT_ENCODING, "identity");
  if (request->retry_later)
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_SECONDS);
  if (request->close || request->front->draining)
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  add_cors(request, response);
}

/* Hands the response to libmicrohttpd. */
enum MHD_Result hf_request_respond(struct hf_request *request, struct MHD_Connection *mhd) {
  bool stream = request->phase == HF_REQUEST_STREAMING;
  struct MHD_Response *response =
      stream ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, request, NULL)
             : response_of(request);
  if (!response)
    return MHD_NO;
  add_headers(request, response, stream);
  enum MHD_Result queued = MHD_queue_response(mhd, stream ? MHD_HTTP_OK : (unsigned)request->status, response);
  MHD_destroy_response(response);
  request->phase = HF_REQUEST_QUEUED;
  return queued;
}
