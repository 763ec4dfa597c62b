#include "chaos/remote.h"

#include "chaos/pick.h"
#include "chaos/spoil.h"

#include "base/alloc.h"
#include "base/list.h"

#include <stdio.h>

enum { HOST_MAX = 255, PATH_MAX_BYTES = 2048, PORT_MAX = 5 };

struct hf_chaos_remote {
  uv_loop_t *loop;
  struct hf_chaos *chaos;
  struct hf_chaos_back back;
  struct sockaddr_storage address;
  char authority[HOST_MAX + PORT_MAX + 2]; /* as in the URL */
  char path[PATH_MAX_BYTES];
  struct hf_list exchanges;
  struct hf_map lost; /* sessions that a fault has ended */
};

/* One request at the server. */
struct exchange {
  struct hf_list link;
  struct hf_chaos_remote *remote;
  struct hf_chaos_conn *conn; /* NULL: nobody waits for the answer */
  uv_tcp_t tcp;
  uv_timer_t timer;
  uv_connect_t connect;
  uv_write_t write;
  int open_handles;
  struct hf_buf out;
  struct hf_buf in; /* all of the answer, where that is needed */
  size_t looked_at; /* of it */
  struct hf_buf id; /* raw */
  struct hf_chaos_fault fault;
  struct hf_chaos_kind kind;
  bool collects; /* the answer is looked at before any of it is passed on */
};

static void closed(uv_handle_t *handle) {
  struct exchange *x = handle->data;
  if (--x->open_handles == 0) {
    hf_buf_deinit(&x->out);
    hf_buf_deinit(&x->in);
    hf_buf_deinit(&x->id);
    hf_free(x);
  }
}

static void close_exchange(struct exchange *x) {
  if (!uv_is_closing((uv_handle_t *)&x->tcp)) {
    hf_list_remove(&x->link);
    x->conn = NULL;
    uv_close((uv_handle_t *)&x->tcp, closed);
    uv_close((uv_handle_t *)&x->timer, closed);
  }
}

/* The answer's message: the body, or of an event stream the last event that answers a request. */
static bool read_message(struct hf_str in, struct hf_buf *message) {
  const char *end = in.len > 0 ? memmem(in.ptr, in.len, "\r\n\r\n", 4) : NULL;
  if (end == NULL) {
    return false;
  }
  struct hf_str head = {in.ptr, (size_t)(end - in.ptr)};
  struct hf_str body = {end + 4, in.len - head.len - 4};
  struct hf_buf decoded;
  hf_buf_init(&decoded, HF_CHAOS_MESSAGE_MAX);
  struct hf_str type = hf_pick_header(head, "content-type");
  if (hf_pick_header(head, "transfer-encoding").ptr != NULL && hf_chaos_wire_read_chunks(body, &decoded) > 0) {
    body = hf_buf_str(&decoded);
  }
  if (type.len > 0 && memmem(type.ptr, type.len, "event-stream", 12) != NULL) {
    hf_chaos_wire_read_events(body, message);
  } else {
    hf_chaos_must(hf_buf_append_str(message, body));
  }
  hf_buf_deinit(&decoded);
  struct hf_str text = hf_buf_str(message);
  return text.len > 0 && hf_chaos_well_formed(text) && hf_pick_member(text, "id").ptr != NULL;
}

/* All of the answer is here. What is no message of the protocol passes as it is: there is nothing to spoil in it. */
static void spoil(struct exchange *x) {
  struct hf_buf message;
  struct hf_chaos_answer answer;
  struct hf_chaos_conn *conn = x->conn;
  hf_buf_init(&message, HF_CHAOS_MESSAGE_MAX);
  hf_chaos_answer_init(&answer);
  x->conn = NULL;
  if (read_message(hf_buf_str(&x->in), &message)) {
    hf_chaos_spoil_answer(x->remote->chaos, &x->fault, x->kind, hf_buf_str(&x->id), hf_buf_str(&message), &answer);
    hf_chaos_http_answer(conn, &answer);
  } else {
    static const struct hf_chaos_fault none = {.executes = true};
    hf_chaos_http_pass(conn, &none, hf_buf_str(&x->in));
    hf_chaos_http_passed(conn, true);
  }
  hf_chaos_answer_deinit(&answer);
  hf_buf_deinit(&message);
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  struct exchange *x = handle->data;
  hf_chaos_must(hf_buf_reserve(&x->in, suggested));
  *buf = uv_buf_init(x->in.data + x->in.len, (unsigned)suggested);
}

/* The whole answer is here, or all that will come of it. `last`: only the end of the connection told so. */
static void answered(struct exchange *x, bool last) {
  struct hf_chaos_conn *conn = x->conn;
  if (conn != NULL && x->collects) {
    spoil(x);
  } else if (conn != NULL) {
    x->conn = NULL;
    hf_chaos_http_passed(conn, last);
  }
  close_exchange(x);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
  struct exchange *x = stream->data;
  struct hf_chaos_conn *conn = x->conn;
  if (got >= 0) {
    x->in.len += (size_t)got;
    if (!x->collects && conn != NULL) {
      hf_chaos_http_pass(conn, &x->fault, (struct hf_str){buf->base, (size_t)got});
    }
    if (hf_chaos_wire_answer_end(hf_buf_str(&x->in), &x->looked_at) > 0) {
      answered(x, false);
    }
  } else if (got == UV_EOF) {
    answered(x, true);
  } else {
    x->conn = NULL;
    if (conn != NULL) {
      hf_chaos_http_end(conn, true); /* as the server did */
    }
    close_exchange(x);
  }
}

static void give_up(struct exchange *x) {
  struct hf_chaos_conn *conn = x->conn;
  x->conn = NULL;
  if (conn != NULL) {
    hf_chaos_http_end(conn, true);
  }
  close_exchange(x);
}

static void on_written(uv_write_t *req, int status) {
  struct exchange *x = req->data;
  if (status < 0 && status != UV_ECANCELED) {
    give_up(x);
  }
}

static void on_connected(uv_connect_t *req, int status) {
  struct exchange *x = req->data;
  if (status == UV_ECANCELED) {
    return;
  }
  uv_buf_t buf = uv_buf_init(x->out.data, (unsigned)x->out.len);
  x->write.data = x;
  if (status < 0 || uv_write(&x->write, (uv_stream_t *)&x->tcp, &buf, 1, on_written) != 0 ||
      uv_read_start((uv_stream_t *)&x->tcp, give_room, on_read) != 0) {
    give_up(x);
  }
}

static void dial(uv_timer_t *timer) {
  struct exchange *x = timer->data;
  x->connect.data = x;
  if (uv_tcp_connect(&x->connect, &x->tcp, (const struct sockaddr *)&x->remote->address, on_connected) != 0) {
    give_up(x);
  }
}

/* Headers of the connection, and what would make the answer unreadable for us. */
static bool is_ours(struct hf_str name) {
  static const char *const names[] = {"host",       "connection", "content-length", "transfer-encoding",
                                      "keep-alive", "expect",     "accept-encoding"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (hf_str_equal_nocase(name, hf_str_from(names[i]))) {
      return true;
    }
  }
  return false;
}

static void compose(const struct hf_chaos_remote *remote, const struct hf_chaos_wire_request *wire,
                    struct hf_buf *out) {
  struct hf_str rest = wire->head;
  hf_chaos_must(hf_buf_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %zu\r\n",
                              wire->method, remote->path, remote->authority, wire->body.len));
  for (bool first = true; rest.len > 0; first = false) {
    const char *end = memmem(rest.ptr, rest.len, "\r\n", 2);
    struct hf_str line = {rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len};
    const char *colon = line.len > 0 ? memchr(line.ptr, ':', line.len) : NULL;
    if (!first && colon != NULL && !is_ours((struct hf_str){line.ptr, (size_t)(colon - line.ptr)})) {
      hf_chaos_must(hf_buf_printf(out, "%.*s\r\n", HF_STR_FMT(line)));
    }
    size_t used = line.len + (end ? 2 : 0);
    rest = (struct hf_str){rest.ptr + used, rest.len - used};
  }
  hf_chaos_must(hf_buf_append(out, "\r\n", 2));
  hf_chaos_must(hf_buf_append_str(out, hf_buf_str(&wire->body)));
}

static struct exchange *new_exchange(struct hf_chaos_remote *remote, struct hf_chaos_conn *conn,
                                     const struct hf_chaos_wire_request *wire) {
  struct exchange *x = hf_chaos_have(hf_calloc(1, sizeof *x));
  x->remote = remote;
  x->conn = conn;
  x->fault.executes = true;
  x->open_handles = 2;
  hf_buf_init(&x->out, HF_CHAOS_MESSAGE_MAX);
  hf_buf_init(&x->in, HF_CHAOS_MESSAGE_MAX);
  hf_buf_init(&x->id, HF_CHAOS_ID_MAX);
  uv_tcp_init(remote->loop, &x->tcp);
  uv_timer_init(remote->loop, &x->timer);
  x->tcp.data = x->timer.data = x;
  hf_list_push_back(&remote->exchanges, &x->link);
  compose(remote, wire, &x->out);
  return x;
}

/* Faults that work on the bytes of any answer need not know what it says. */
static bool must_collect(const struct hf_chaos_remote *remote, const struct exchange *x) {
  switch ((int)x->fault.kind) {
  case HF_CHAOS_NONE:
  case HF_CHAOS_DELAY:
  case HF_CHAOS_SLOW:
  case HF_CHAOS_CUT:
  case HF_CHAOS_CUT_CLOSE:
  case HF_CHAOS_STALL_AFTER:
    return x->kind.list && remote->chaos->drifts > 0;
  default:
    return true;
  }
}

static void answer_instead(struct hf_chaos_remote *remote, struct hf_chaos_conn *conn,
                           const struct hf_chaos_fault *fault, const struct hf_chaos_glance *glance) {
  struct hf_chaos_answer answer;
  hf_chaos_answer_init(&answer);
  hf_chaos_spoil_instead(remote->chaos, fault, glance, &answer);
  hf_chaos_http_answer(conn, &answer);
  hf_chaos_answer_deinit(&answer);
}

/* A session that a fault has ended stays so, whatever the server thinks. */
static bool refuse_lost(struct hf_chaos_remote *remote, struct hf_chaos_conn *conn, struct hf_str session) {
  if (session.len == 0 || hf_map_get(&remote->lost, session) == NULL) {
    return false;
  }
  struct hf_chaos_answer answer;
  hf_chaos_answer_init(&answer);
  hf_chaos_answer_error(&answer, 404, -32001, "Session not found", "");
  hf_chaos_http_answer(conn, &answer);
  hf_chaos_answer_deinit(&answer);
  return true;
}

static void on_request(void *data, struct hf_chaos_conn *conn, const struct hf_chaos_wire_request *wire) {
  struct hf_chaos_remote *remote = data;
  struct hf_chaos_glance glance = {.id = {NULL, 0}};
  struct hf_chaos_fault fault = {.executes = true};
  if (refuse_lost(remote, conn, wire->session)) {
    return;
  }
  if (strcmp(wire->method, "POST") == 0) {
    glance = hf_chaos_glance(remote->chaos, hf_buf_str(&wire->body));
  }
  if (glance.method[0] != '\0') {
    fault = hf_chaos_meet(remote->chaos, &glance);
  }
  if (fault.kind == HF_CHAOS_SESSION && wire->session.len > 0) {
    hf_chaos_must(hf_map_put(&remote->lost, wire->session, remote));
  }
  bool late = fault.kind == HF_CHAOS_LATE;
  if (fault.executes || late) {
    struct exchange *x = new_exchange(remote, late ? NULL : conn, wire);
    x->fault = fault;
    x->kind = glance.kind;
    x->collects = must_collect(remote, x);
    hf_chaos_must(hf_buf_append_str(&x->id, glance.id));
    uv_timer_start(&x->timer, dial, late || fault.kind == HF_CHAOS_DELAY ? (uint64_t)fault.number : 0, 0);
  }
  if (!fault.executes) {
    answer_instead(remote, conn, &fault, &glance);
  }
}

static void on_gone(void *data, struct hf_chaos_conn *conn) {
  struct hf_chaos_remote *remote = data;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &remote->exchanges) {
    struct exchange *x = HF_CONTAINER_OF(it, struct exchange, link);
    if (x->conn == conn) {
      close_exchange(x);
    }
  }
}

static void on_dying(void *data) {
  (void)data; /* the server is somebody else's */
}

static int parse_url(struct hf_chaos_remote *remote, const char *url, char host[HOST_MAX + 1], char port[PORT_MAX + 1],
                     struct hf_error *reterr) {
  static const char scheme[] = "http://";
  const char *authority = strncmp(url, scheme, sizeof scheme - 1) == 0 ? url + sizeof scheme - 1 : NULL;
  size_t len = authority ? strcspn(authority, "/?#") : 0;
  size_t host_len = len;
  while (host_len > 0 && authority[host_len - 1] >= '0' && authority[host_len - 1] <= '9') {
    host_len--;
  }
  bool has_port = host_len > 0 && authority[host_len - 1] == ':';
  host_len = has_port ? host_len - 1 : len;
  bool bracketed = host_len > 2 && authority[0] == '[' && authority[host_len - 1] == ']';
  int n = authority ? snprintf(port, PORT_MAX + 1, "%.*s", has_port ? (int)(len - host_len - 1) : 2,
                               has_port ? authority + host_len + 1 : "80")
                    : 0;
  if (host_len == 0 || host_len > HOST_MAX || n <= 0 || n > PORT_MAX || memchr(authority, '@', len) != NULL ||
      strlen(authority + len) >= sizeof remote->path - 1) {
    return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '--url' takes http://HOST[:PORT][/PATH], not '%.80s'", url);
  }
  memcpy(host, authority + bracketed, host_len - 2 * bracketed);
  host[host_len - 2 * bracketed] = '\0';
  memcpy(remote->authority, authority, len);
  remote->authority[len] = '\0';
  n = snprintf(remote->path, sizeof remote->path, "%s%.*s", authority[len] == '/' ? "" : "/",
               (int)strcspn(authority + len, "#"), authority + len);
  return n > 0 && (size_t)n < sizeof remote->path ? 0 : HF_ERR_LIMIT;
}

static int resolve(struct hf_chaos_remote *remote, const char *host, const char *port, struct hf_error *reterr) {
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  uv_getaddrinfo_t req;
  int rc = uv_getaddrinfo(remote->loop, &req, NULL, host, port, &hints);
  if (rc != 0) {
    return hf_error_set(reterr, HF_ERR_UNAVAILABLE, "chaos: cannot find '%.200s': %s", host, uv_strerror(rc));
  }
  const struct addrinfo *best = req.addrinfo;
  for (const struct addrinfo *at = best->ai_next; at != NULL; at = at->ai_next) {
    if (at->ai_family == AF_INET && best->ai_family != AF_INET) { /* where most local servers listen */
      best = at;
    }
  }
  memcpy(&remote->address, best->ai_addr, best->ai_addrlen);
  uv_freeaddrinfo(req.addrinfo);
  return 0;
}

int hf_chaos_remote_new(uv_loop_t *loop, struct hf_chaos *chaos, const char *url, struct hf_chaos_remote **ret_remote,
                        struct hf_error *reterr) {
  struct hf_chaos_remote *remote = hf_chaos_have(hf_calloc(1, sizeof *remote));
  char host[HOST_MAX + 1];
  char port[PORT_MAX + 1];
  *remote = (struct hf_chaos_remote){.loop = loop, .chaos = chaos};
  remote->back = (struct hf_chaos_back){remote, on_request, on_gone, on_dying};
  hf_list_init(&remote->exchanges);
  hf_map_init(&remote->lost, HF_CHAOS_SESSIONS_MAX);
  int rc = parse_url(remote, url, host, port, reterr);
  rc = rc == 0 ? resolve(remote, host, port, reterr) : rc;
  if (rc != 0) {
    hf_chaos_remote_free(remote);
    return rc;
  }
  *ret_remote = remote;
  return 0;
}

const struct hf_chaos_back *hf_chaos_remote_back(const struct hf_chaos_remote *remote) {
  return &remote->back;
}

void hf_chaos_remote_free(struct hf_chaos_remote *remote) {
  if (remote != NULL) {
    hf_map_deinit(&remote->lost);
    hf_free(remote);
  }
}
