/* The way in: from the request line to the gateway. What is wrong with a request is found here, and only here. */
#include "base/alloc.h"
#include "front/guard.h"
#include "front/http_state.h"
#include "front/rules.h"
#include "mcp/compose.h"

enum { ENDPOINT_MAX = 256, PARAM_HEADERS_MAX = 64 };

struct hf_request *hf_request_new(struct hf_front_http *front, const char *target) {
  struct hf_request *request = hf_spare_take(&front->spare_requests, sizeof(*request));
  if (!request)
    return NULL;
  memset(request, 0, sizeof(*request));
  request->reply.ops = &hf_request_reply_ops;
  request->front = front;
  request->settings = hf_settings_ref(front->settings);
  request->target = target;
  request->target_len = strlen(target);
  request->target_fault = hf_head_target((struct hf_str){target, request->target_len});
  hf_list_init(&request->link);
  hf_list_init(&request->pending);
  hf_list_push_back(&front->requests, &request->all);
  hf_pieces_init(&request->answer);
  hf_buf_init(&request->body, request->settings->limits.body_bytes);
  front->stats.requests++;
  return request;
}

static enum MHD_Result collect(void *context, enum MHD_ValueKind kind, const char *name, size_t name_len,
                               const char *value, size_t value_len) {
  (void)kind;
  struct hf_request *request = context;
  hf_head_add(&request->head, (struct hf_str){name, name_len}, (struct hf_str){value ? value : "", value_len});
  return MHD_YES;
}

/* libmicrohttpd hands out the parts of the head as pointers into its read buffer, with NULs where it found separators:
 * so the bytes between them tell what it skipped or joined. Another layout than expected is refused as well. */
static const char *check_bytes(struct hf_request *request, struct MHD_Connection *mhd, const char *method,
                               const char *version) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (!info)
    return "unreadable head";
  if (request->target_fault)
    return request->target_fault;
  const char *end = method + info->header_size;
  if (request->target != method + strlen(method) + 1 || version != request->target + request->target_len + 1 ||
      version >= end)
    return "malformed request line";
  request->http_1_0 = strcmp(version, "HTTP/1.0") == 0;
  if (!request->http_1_0 && strcmp(version, "HTTP/1.1") != 0)
    return "unsupported HTTP version";
  const char *lines = version + strlen("HTTP/1.1");
  if (end - lines < 4 || lines[0] != '\0' || lines[1] != '\0')
    return "malformed request line";
  lines += 2;
  size_t fields;
  const char *fault = hf_head_lines((struct hf_str){lines, (size_t)(end - lines)}, &fields);
  if (!fault && fields != request->head.fields)
    fault = "malformed head";
  return fault;
}

enum route { ROUTE_NONE, ROUTE_MCP, ROUTE_SSE, ROUTE_METRICS, ROUTE_HEALTH };

/* True for `base` itself, and for `base/SERVER`. */
static bool is_endpoint(struct hf_request *request, struct hf_str path, struct hf_str base) {
  if (!hf_str_starts(path, base))
    return false;
  struct hf_str rest = {path.ptr + base.len, path.len - base.len};
  if (rest.len == 0 || hf_str_equal(rest, HF_STR("/")))
    return true;
  if (rest.ptr[0] != '/' || rest.len > ENDPOINT_MAX)
    return false;
  request->endpoint_copy = hf_strndup(rest.ptr + 1, rest.len - 1);
  if (!request->endpoint_copy)
    return false;
  size_t len = MHD_http_unescape(request->endpoint_copy);
  if (len == 0 || strlen(request->endpoint_copy) != len || strchr(request->endpoint_copy, '/'))
    return false;
  request->endpoint = (struct hf_str){request->endpoint_copy, len};
  return true;
}

static enum route route_of(struct hf_request *request, struct hf_str path) {
  if (hf_str_equal(path, HF_STR("/healthz")) || hf_str_equal(path, HF_STR("/readyz")))
    return request->front->page ? ROUTE_HEALTH : ROUTE_NONE;
  if (hf_str_equal(path, HF_STR("/metrics")))
    return request->front->page ? ROUTE_METRICS : ROUTE_NONE;
  if (is_endpoint(request, path, HF_STR("/mcp")))
    return ROUTE_MCP;
  if (request->settings->sse.enabled && is_endpoint(request, path, HF_STR("/sse")))
    return ROUTE_SSE;
  return ROUTE_NONE;
}

/* Returns false once the request is refused. */
static bool admit(struct hf_request *request, enum route route, bool preflight) {
  const struct hf_str *value = request->head.value;
  if (route == ROUTE_HEALTH)
    return true;
  if (!hf_guard_host(request->settings, value[HF_HEAD_HOST])) {
    hf_request_refuse(request, 403, HF_RPC_INVALID_REQUEST,
                      "the Host header names no host of this gateway; 'allowedHosts' in its configuration adds one");
    return false;
  }
  if (value[HF_HEAD_ORIGIN].ptr && !hf_guard_origin(request->settings, value[HF_HEAD_HOST], value[HF_HEAD_ORIGIN])) {
    request->head.value[HF_HEAD_ORIGIN] = (struct hf_str){NULL, 0};
    hf_request_refuse(
        request, 403, HF_RPC_INVALID_REQUEST,
        "web pages of this Origin may not use this gateway; 'allowedOrigins' in its configuration adds one");
    return false;
  }
  if (preflight || request->settings->principal_count == 0)
    return true;
  const struct hf_principal_settings *principal = hf_guard_principal(request->settings, value[HF_HEAD_AUTHORIZATION]);
  if (!principal) {
    request->unauthorized = true;
    hf_request_refuse(request, 401, HF_RPC_INVALID_REQUEST,
                      "a valid bearer token is required: Authorization: Bearer TOKEN");
    return false;
  }
  request->principal = principal->name;
  return true;
}

static void refuse_encoding(struct hf_request *request) {
  request->identity_only = true;
  hf_request_refuse(request, 415, HF_RPC_INVALID_REQUEST,
                    "Content-Encoding is not supported: messages to this gateway must not be compressed");
}

static void check_post(struct hf_request *request) {
  const struct hf_head *head = &request->head;
  struct hf_str encoding = head->value[HF_HEAD_CONTENT_ENCODING];
  if (!hf_head_is_json(head->value[HF_HEAD_CONTENT_TYPE]))
    hf_request_refuse(request, 415, HF_RPC_INVALID_REQUEST, "Content-Type must be application/json");
  else if (encoding.ptr && !hf_str_equal_nocase(encoding, HF_STR("identity")))
    refuse_encoding(request);
  else if (request->sse || hf_request_takes_json(request) || hf_request_takes_sse(request))
    request->post = true;
  else
    hf_request_refuse(request, 406, HF_RPC_INVALID_REQUEST,
                      "Accept must include application/json or text/event-stream");
}

static const char *methods_of(const struct hf_request *request) {
  return request->sse ? "GET, POST, OPTIONS" : "GET, POST, DELETE, OPTIONS";
}

static void show_page(struct hf_request *request, struct hf_str path) {
  struct hf_buf body;
  hf_buf_init(&body, 16U << 20);
  const char *type = "text/plain; charset=utf-8";
  request->status = request->front->page(request->front->page_context, path, &body, &type);
  if (hf_pieces_add_copy(&request->answer, hf_buf_str(&body)) < 0)
    request->status = 500;
  request->type = type;
  request->phase = HF_REQUEST_ANSWERED;
  hf_buf_deinit(&body);
}

/* To a web page that asks whether it may, or to whoever wants to know. */
static void answer_options(struct hf_request *request) {
  request->preflight = request->head.value[HF_HEAD_ORIGIN].ptr != NULL;
  request->allow = methods_of(request);
  hf_request_answer_empty(request, 204);
}

static void route(struct hf_request *request, struct hf_str path, struct hf_str method) {
  bool options = hf_str_equal(method, HF_STR("OPTIONS"));
  enum route to = route_of(request, path);
  if (to == ROUTE_NONE) {
    hf_request_refuse(request, 404, HF_RPC_INVALID_REQUEST,
                      hf_str_starts(path, HF_STR("/sse")) && !request->settings->sse.enabled
                          ? "MCP is at /mcp and /mcp/SERVER; clients of HTTP+SSE are served at /sse where "
                            "'sse.enabled' in the configuration says so"
                          : "there is nothing at this path; MCP is at /mcp and /mcp/SERVER");
    return;
  }
  if (!admit(request, to, options))
    return;
  request->sse = to == ROUTE_SSE;
  if (to != ROUTE_MCP && to != ROUTE_SSE) {
    if (hf_str_equal(method, HF_STR("GET")) || hf_str_equal(method, HF_STR("HEAD"))) {
      show_page(request, path);
    } else {
      request->allow = "GET, HEAD";
      hf_request_refuse(request, 405, HF_RPC_INVALID_REQUEST, "method not allowed");
    }
    return;
  }
  if (request->front->draining) {
    request->close = request->retry_later = true;
    hf_request_refuse(request, 503, HF_RPC_INTERNAL_ERROR, "the gateway is shutting down");
  } else if (hf_str_equal(method, HF_STR("POST"))) {
    check_post(request);
  } else if (options) {
    answer_options(request);
  } else if (!hf_str_equal(method, HF_STR("GET")) && (request->sse || !hf_str_equal(method, HF_STR("DELETE")))) {
    request->allow = methods_of(request);
    hf_request_refuse(request, 405, HF_RPC_INVALID_REQUEST, "method not allowed");
  }
}

enum MHD_Result hf_request_head(struct hf_request *request, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version) {
  const struct hf_limits *limits = &request->settings->limits;
  (void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, collect, request);
  const char *fault = check_bytes(request, mhd, method, version);
  if (!fault)
    fault = hf_head_framing(&request->head, request->http_1_0);
  request->phase = HF_REQUEST_BODY;
  if (fault) {
    request->close = true;
    hf_request_refuse(request, 400, HF_RPC_INVALID_REQUEST, fault);
    return hf_request_respond(request, mhd);
  }
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (info && info->header_size > limits->header_bytes) {
    request->close = true;
    hf_request_refuse(request, 431, HF_RPC_INVALID_REQUEST,
                      "the head of the request is larger than limits.header allows");
    return hf_request_respond(request, mhd);
  }
  route(request, hf_str_from(url), hf_str_from(method));
  if (hf_head_content_length(&request->head) <= limits->body_bytes)
    return MHD_YES;
  if (request->phase == HF_REQUEST_BODY)
    hf_request_refuse(request, 413, HF_RPC_INVALID_REQUEST, "the body is larger than limits.body allows");
  request->close = true;
  return hf_request_respond(request, mhd);
}

/* The body is scanned as it comes, so that a large one costs each turn of the loop only what is new. */
void hf_request_body(struct hf_request *request, struct hf_str bytes) {
  request->received += bytes.len;
  if (request->phase != HF_REQUEST_BODY || !request->post)
    return;
  if (!request->scanning) {
    const struct hf_limits *limits = &request->settings->limits;
    struct hf_json_options options;
    hf_message_scan_options(limits->body_bytes, false, &options);
    options.max_depth = limits->json_depth;
    options.max_nodes = limits->json_nodes;
    hf_json_scan_init(&request->scan, &options);
    request->scanning = true;
    uint64_t declared = hf_head_content_length(&request->head);
    if (declared > bytes.len && hf_buf_reserve(&request->body, declared) < 0)
      request->scan_error = HF_ERR_NOMEM;
  }
  int error = hf_buf_append_str(&request->body, bytes);
  if (error == HF_ERR_LIMIT) {
    request->close = true;
    hf_request_refuse(request, 413, HF_RPC_INVALID_REQUEST, "the body is larger than limits.body allows");
    return;
  }
  if (error) {
    hf_request_refuse(request, 500, HF_RPC_INTERNAL_ERROR, "out of memory");
    return;
  }
  if (request->scan_error == 0 || request->scan_error == HF_ERR_AGAIN)
    request->scan_error = hf_json_scan_feed(&request->scan, request->body.data, request->body.len, false);
}

static void refuse_message(struct hf_request *request, const struct hf_refusal *refusal) {
  int status = refusal->why.code == HF_ERR_NOMEM ? 500 : 400;
  if (!refusal->response && refusal->id_len > 0)
    request->id = hf_strndup(refusal->id, refusal->id_len);
  request->id_len = request->id ? refusal->id_len : 0;
  hf_request_refuse(request, status, refusal->rpc_code, refusal->why.text);
}

/* Returns 0 and the message, or refuses the request. */
static int decode(struct hf_request *request, struct hf_message *ret_message) {
  struct hf_refusal refusal = {0};
  if (!request->scanning) {
    hf_request_refuse(request, 400, HF_RPC_PARSE_ERROR, "the body is empty: a JSON-RPC message is expected");
    return HF_ERR_SYNTAX;
  }
  int error = request->scan_error;
  if (error == 0 || error == HF_ERR_AGAIN)
    error = hf_json_scan_feed(&request->scan, request->body.data, request->body.len, true);
  if (error)
    (void)hf_message_refuse_scan(&request->scan, hf_buf_str(&request->body), &refusal);
  else
    error = hf_message_from_scan(&request->scan, &request->body, ret_message, &refusal);
  if (error)
    refuse_message(request, &refusal);
  return error;
}

void hf_request_object(struct hf_request *request, const struct hf_objection *objection) {
  if (objection->code != HF_RPC_UNSUPPORTED_VERSION) {
    hf_request_refuse(request, objection->status, objection->code, objection->why.text);
    return;
  }
  struct hf_buf text;
  hf_buf_init(&text, 16U << 10);
  struct hf_str id = {request->id, request->id_len};
  if (hf_objection_text(objection, id, &text) == 0 && hf_pieces_add_copy(&request->answer, hf_buf_str(&text)) == 0) {
    request->status = objection->status;
    request->type = "application/json";
    request->phase = HF_REQUEST_ANSWERED;
    request->front->stats.refused++;
  } else {
    hf_request_refuse(request, objection->status, objection->code, objection->why.text);
  }
  hf_buf_deinit(&text);
}

/* A message for a client as a whole: its session's newest stream, or one kept until somebody asks. */
static void on_notify(struct hf_client *client, void *owner, struct hf_pieces *text) {
  (void)client;
  struct hf_session *session = owner;
  struct hf_front_http *front = session->front;
  const struct hf_limits *limits = &front->settings->limits;
  struct hf_stream *stream = NULL;
  if (session->era == HF_ERA_LEGACY && !session->ended)
    stream = hf_session_standalone(session);
  if (!stream && session->era == HF_ERA_LEGACY && !session->ended)
    stream = hf_session_add_stream(session, true, limits->replay_bytes, limits->write_backlog);
  if (!stream) {
    front->stats.dropped++;
    hf_pieces_deinit(text);
    return;
  }
  if (hf_stream_push(stream, text) == HF_ERR_LIMIT) {
    front->stats.cut_slow++;
    hf_front_cut(((struct hf_request *)stream->reader)->connection);
  }
}

static const struct hf_client_ops client_ops = {.notify = on_notify};

static void refuse_open(struct hf_request *request, int error) {
  switch (error) {
  case HF_ERR_NOTFOUND:
    hf_request_refuse(request, 404, HF_RPC_INVALID_REQUEST,
                      request->sse ? "there is no server of this name; /sse serves all"
                                   : "there is no server of this name; /mcp serves all");
    return;
  case HF_ERR_LIMIT:
    request->retry_later = true;
    hf_request_refuse(request, 503, HF_RPC_INTERNAL_ERROR, "too many sessions are open; try again later");
    return;
  case HF_ERR_CLOSED:
    request->retry_later = request->close = true;
    hf_request_refuse(request, 503, HF_RPC_INTERNAL_ERROR, "the gateway is shutting down");
    return;
  default:
    hf_request_refuse(request, 500, HF_RPC_INTERNAL_ERROR, "cannot open a session");
    return;
  }
}

static int open_client(struct hf_request *request, struct hf_session *session, enum hf_era era) {
  struct hf_front_http *front = request->front;
  session->front = front;
  int error = hf_client_open(front->gateway,
                             &(struct hf_client_options){.server = request->endpoint,
                                                         .principal = request->principal,
                                                         .era = era,
                                                         .ops = &client_ops,
                                                         .owner = session},
                             &session->client);
  if (error) {
    hf_sessions_remove(&front->sessions, session);
    hf_session_free(session);
  }
  return error;
}

struct hf_session *hf_request_open_session(struct hf_request *request) {
  struct hf_front_http *front = request->front;
  struct hf_session *session;
  int error = hf_sessions_open(&front->sessions, request->principal, request->endpoint, front->loop->now, &session);
  if (!error)
    error = open_client(request, session, HF_ERA_LEGACY);
  if (!error)
    return session;
  refuse_open(request, error);
  return NULL;
}

struct hf_session *hf_request_session(struct hf_request *request) {
  struct hf_front_http *front = request->front;
  struct hf_session *session = NULL;
  int error = 0;
  if (request->era == HF_ERA_MODERN) {
    error = hf_sessions_stateless(&front->sessions, request->principal, request->endpoint, front->loop->now, &session);
    if (!error && !session->client)
      error = open_client(request, session, HF_ERA_MODERN);
  } else if (request->initialize) {
    return hf_request_open_session(request);
  } else {
    struct hf_str id = request->head.value[HF_HEAD_SESSION];
    if (!id.ptr) {
      hf_request_refuse(request, 400, HF_RPC_INVALID_REQUEST, "Mcp-Session-Id header is missing");
      return NULL;
    }
    session = hf_sessions_find(&front->sessions, id, request->principal, request->endpoint);
    if (!session || session->sse) {
      hf_request_refuse(request, 404, HF_RPC_INVALID_REQUEST, "session not found");
      return NULL;
    }
  }
  if (error) {
    refuse_open(request, error);
    return NULL;
  }
  hf_sessions_touch(&front->sessions, session, front->loop->now);
  return session;
}

struct param_headers {
  struct hf_header item[PARAM_HEADERS_MAX];
  size_t count;
};

static enum MHD_Result collect_param(void *context, enum MHD_ValueKind kind, const char *key, const char *value) {
  struct param_headers *params = context;
  (void)kind;
  struct hf_str name = hf_str_from(key);
  struct hf_str prefix = HF_STR("Mcp-Param-");
  if (name.len <= prefix.len || !hf_str_equal_nocase((struct hf_str){name.ptr, prefix.len}, prefix))
    return MHD_YES;
  if (params->count < PARAM_HEADERS_MAX)
    params->item[params->count++] = (struct hf_header){name, hf_str_trim(hf_str_from(value ? value : ""))};
  return MHD_YES;
}

/* Headers that repeat arguments are the gateway's to compare: only it knows the tool's schema. */
static void hand_over_modern(struct hf_request *request, struct hf_message *message) {
  struct param_headers params = {.count = 0};
  MHD_get_connection_values(request->connection->mhd, MHD_HEADER_KIND, collect_param, &params);
  struct hf_reply *reply = &request->reply;
  reply->has_headers = true;
  reply->headers = params.item;
  reply->header_count = params.count;
  hf_client_handle(request->session->client, message, reply);
}

static void hand_over(struct hf_request *request, struct hf_message *message) {
  struct hf_session *session = hf_request_session(request);
  if (!session)
    return;
  if (message->kind != HF_MESSAGE_REQUEST) {
    hf_client_handle(session->client, message, NULL);
    hf_request_answer_empty(request, 202);
    return;
  }
  request->session = session;
  hf_list_push_back(&session->requests, &request->link);
  request->phase = HF_REQUEST_WAITING;
  request->waiting = true;
  request->since = request->front->loop->now;
  hf_list_push_back(&request->front->pending, &request->pending);
  if (hf_client_era(session->client) == HF_ERA_MODERN)
    hand_over_modern(request, message);
  else
    hf_client_handle(session->client, message, &request->reply);
}

/* Refuses or hands over. */
static void take_message(struct hf_request *request, struct hf_message *message) {
  request->era = hf_rules_era(&request->head, message);
  request->initialize =
      request->era == HF_ERA_LEGACY && message->kind == HF_MESSAGE_REQUEST && message->method == HF_METHOD_INITIALIZE;
  request->listen = message->method == HF_METHOD_SUBSCRIPTIONS_LISTEN;
  struct hf_objection objection = {0};
  if (request->era == HF_ERA_MODERN)
    hf_rules_modern(&request->head, message, &objection);
  else if (!request->initialize)
    hf_rules_legacy(&request->head, &objection);
  if (objection.status)
    hf_request_object(request, &objection);
  else
    hand_over(request, message);
}

static void complete_post(struct hf_request *request) {
  struct hf_message message = {0};
  if (decode(request, &message) < 0)
    return;
  if (message.kind == HF_MESSAGE_REQUEST) {
    request->id = hf_strndup(message.id.ptr, message.id.len);
    request->id_len = request->id ? message.id.len : 0;
  }
  if (request->sse)
    hf_sse_post(request, &message);
  else
    take_message(request, &message);
  hf_message_deinit(&message);
}

void hf_request_complete(struct hf_request *request, const char *method) {
  if (request->phase != HF_REQUEST_BODY)
    return;
  if (request->post)
    complete_post(request);
  else if (request->sse)
    hf_sse_open(request);
  else if (strcmp(method, "GET") == 0)
    hf_request_listen(request);
  else
    hf_request_end_session(request);
}
