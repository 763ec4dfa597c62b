#include "chaos/http.h"

#include "chaos/late.h"
#include "chaos/ledger.h"
#include "chaos/pick.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 4096 };

struct hf_chaos_http {
  uv_loop_t *loop;
  struct hf_chaos *chaos;
  const struct hf_chaos_back *back; /* borrowed, or NULL */
  uv_tcp_t *listener;               /* owned by the loop until its close callback; NULL while refusing */
  uv_timer_t reopen;
  struct hf_list conns;
  size_t open;
  int port;
};

struct hf_chaos_conn {
  struct hf_list link;
  struct hf_chaos_http *http;
  uv_tcp_t tcp;
  uv_timer_t timer;
  int open_handles;
  struct hf_buf in;
  struct hf_buf out;
  struct hf_chaos_answer answer;
  struct hf_chaos_fault accepted;
  size_t sent; /* bytes of the current answer */
  long step;
  bool busy;          /* a request is being answered */
  bool streams;       /* its answer is an event stream */
  bool takes_streams; /* its client has said so */
  bool head_sent;     /* of the stream */
  bool writing;
  bool complete; /* all of the answer is in `out` */
  bool last;     /* close afterwards */
  bool closing;
};

struct write {
  uv_write_t req;
  struct hf_chaos_conn *conn;
  char bytes[];
};

static void conn_closed(uv_handle_t *handle) {
  struct hf_chaos_conn *conn = handle->data;
  if (--conn->open_handles == 0) {
    hf_chaos_answer_deinit(&conn->answer);
    hf_buf_deinit(&conn->in);
    hf_buf_deinit(&conn->out);
    conn->http->open--;
    hf_free(conn);
  }
}

static void conn_end(struct hf_chaos_conn *conn, bool reset) {
  if (conn->closing) {
    return;
  }
  conn->closing = true;
  if (conn->http->back != NULL) {
    conn->http->back->gone(conn->http->back->data, conn);
  }
  hf_list_remove(&conn->link);
  uv_close((uv_handle_t *)&conn->timer, conn_closed);
  if (!reset || uv_tcp_close_reset(&conn->tcp, conn_closed) != 0) {
    uv_close((uv_handle_t *)&conn->tcp, conn_closed);
  }
}

static void conn_flush(struct hf_chaos_conn *conn);
static void conn_serve(struct hf_chaos_conn *conn);

static void conn_finish(struct hf_chaos_conn *conn) {
  const struct hf_chaos_fault *fault = &conn->answer.fault;
  bool open = fault->kind == HF_CHAOS_SSE && strcmp(fault->text, "open") == 0;
  if (fault->kind == HF_CHAOS_SSE && strcmp(fault->text, "reset") == 0) {
    conn_end(conn, true);
  } else if (conn->last || fault->kind == HF_CHAOS_TRUNCATED || fault->kind == HF_CHAOS_CHUNK_CUT) {
    conn_end(conn, false);
  } else if (!open) {
    conn->busy = false;
    conn_serve(conn);
  }
}

static bool cuts(const struct hf_chaos_conn *conn) {
  enum hf_chaos_fault_kind kind = conn->answer.fault.kind;
  return conn->busy && (kind == HF_CHAOS_CUT || kind == HF_CHAOS_CUT_CLOSE || kind == HF_CHAOS_STALL_AFTER);
}

static void slow_tick(uv_timer_t *timer) {
  conn_flush(timer->data);
}

static void conn_written(uv_write_t *req, int status) {
  struct write *write = (struct write *)req;
  struct hf_chaos_conn *conn = write->conn;
  hf_free(write);
  conn->writing = false;
  if (conn->closing) {
    return;
  }
  if (status < 0) {
    conn_end(conn, false);
  } else if (cuts(conn) && conn->sent >= (size_t)conn->answer.fault.number) {
    if (conn->answer.fault.kind != HF_CHAOS_STALL_AFTER) {
      conn_end(conn, conn->answer.fault.kind == HF_CHAOS_CUT);
    }
  } else if (conn->out.len > 0 && conn->busy && conn->answer.fault.kind == HF_CHAOS_SLOW) {
    uv_timer_start(&conn->timer, slow_tick, (uint64_t)conn->answer.fault.number, 0);
  } else if (conn->out.len > 0) {
    conn_flush(conn);
  } else if (conn->complete) {
    conn_finish(conn);
  }
}

/* One write at a time: the end of each decides what comes next. */
static void conn_flush(struct hf_chaos_conn *conn) {
  if (conn->writing || conn->closing) {
    return;
  }
  size_t len = conn->out.len;
  if (cuts(conn)) {
    size_t left = (size_t)conn->answer.fault.number - conn->sent;
    len = len < left ? len : left;
  } else if (conn->busy && conn->answer.fault.kind == HF_CHAOS_SLOW && len > 1) {
    len = 1;
  }
  struct write *write = hf_chaos_have(hf_malloc(sizeof *write + len + 1));
  write->conn = conn;
  if (len > 0) {
    memcpy(write->bytes, conn->out.data, len);
    hf_buf_consume(&conn->out, len);
  }
  conn->sent += len;
  conn->writing = true;
  uv_buf_t buf = uv_buf_init(write->bytes, (unsigned)len);
  if (uv_write(&write->req, (uv_stream_t *)&conn->tcp, &buf, 1, conn_written) != 0) {
    hf_free(write);
    conn->writing = false;
    conn_end(conn, false);
  }
}

static void answer_complete(struct hf_chaos_conn *conn) {
  const struct hf_chaos_answer *answer = &conn->answer;
  const char *style = answer->fault.kind == HF_CHAOS_SSE ? answer->fault.text : "";
  if (!conn->streams) {
    hf_chaos_wire_put_json(&conn->out, answer);
  } else {
    if (strcmp(style, "no_answer") == 0 || strcmp(style, "reset") == 0) {
      hf_chaos_wire_put_event(
          &conn->out, answer,
          HF_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\","
                 "\"data\":\"going\"}}"));
    } else {
      hf_chaos_wire_put_event(&conn->out, answer, hf_buf_str(&answer->body));
    }
    if (strcmp(style, "open") != 0 && strcmp(style, "reset") != 0) {
      hf_chaos_wire_put_stream_end(&conn->out);
    }
  }
  conn->complete = true;
  conn_flush(conn);
}

static void answer_tick(uv_timer_t *timer) {
  struct hf_chaos_conn *conn = timer->data;
  if (++conn->step > conn->answer.steps) {
    answer_complete(conn);
    return;
  }
  if (conn->streams && conn->answer.token.len > 0) {
    struct hf_buf note;
    hf_buf_init(&note, HF_CHAOS_MESSAGE_MAX);
    hf_chaos_answer_progress(&conn->answer, conn->step, &note);
    hf_chaos_wire_put_event(&conn->out, &conn->answer, hf_buf_str(&note));
    hf_buf_deinit(&note);
    conn_flush(conn);
  }
  uv_timer_start(&conn->timer, answer_tick, (uint64_t)conn->answer.step_ms, 0);
}

static void start_stream(struct hf_chaos_conn *conn) {
  if (conn->streams && !conn->head_sent) {
    conn->head_sent = true;
    hf_chaos_wire_put_stream_head(&conn->out, &conn->answer);
    conn_flush(conn);
  }
}

static void answer_start(struct hf_chaos_conn *conn) {
  const struct hf_chaos_answer *answer = &conn->answer;
  start_stream(conn);
  if (answer->steps > 0) {
    uv_timer_start(&conn->timer, answer_tick, (uint64_t)answer->step_ms, 0);
  } else {
    answer_complete(conn);
  }
}

static void delay_over(uv_timer_t *timer) {
  answer_start(timer->data);
}

static int listen_again(struct hf_chaos_http *http, struct hf_error *reterr);

static void reopen_tick(uv_timer_t *timer) {
  struct hf_error error;
  if (listen_again(timer->data, &error) != 0) {
    (void)fprintf(stderr, "%s\n", error.text);
    exit(1);
  }
}

static void listener_closed(uv_handle_t *handle) {
  hf_free(handle);
}

static void stop_listening(struct hf_chaos_http *http) {
  if (http->listener != NULL) {
    uv_close((uv_handle_t *)http->listener, listener_closed);
    http->listener = NULL;
  }
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &http->conns) {
    conn_end(HF_CONTAINER_OF(it, struct hf_chaos_conn, link), true);
  }
}

static void tell_of_death(const struct hf_chaos_http *http) {
  if (http->back != NULL) {
    http->back->dying(http->back->data);
  }
}

/* Does what the fault does instead of answering. Returns false if an answer is due. */
static bool break_off(struct hf_chaos_conn *conn) {
  const struct hf_chaos_fault *fault = &conn->answer.fault;
  switch ((int)fault->kind) {
  case HF_CHAOS_RESET:
  case HF_CHAOS_LATE:
  case HF_CHAOS_CLOSE:
    conn_end(conn, fault->kind != HF_CHAOS_CLOSE);
    return true;
  case HF_CHAOS_STALL:
    return true;
  case HF_CHAOS_DEATH:
    tell_of_death(conn->http);
    _exit((int)fault->number);
  case HF_CHAOS_KILL:
    tell_of_death(conn->http);
    (void)raise(SIGKILL);
    return true;
  case HF_CHAOS_REFUSE:
    uv_timer_start(&conn->http->reopen, reopen_tick, (uint64_t)fault->number, 0);
    stop_listening(conn->http);
    return true;
  case HF_CHAOS_DELAY:
    uv_timer_start(&conn->timer, delay_over, (uint64_t)fault->number, 0);
    return true;
  default:
    return false;
  }
}

static void serve_other(struct hf_chaos_conn *conn, const struct hf_chaos_wire_request *request) {
  struct hf_chaos *chaos = conn->http->chaos;
  struct hf_chaos_answer *answer = &conn->answer;
  conn->complete = true;
  if (chaos->eras == HF_CHAOS_MODERN) {
    answer->status = 405;
  } else if (strcmp(request->method, "DELETE") == 0) {
    answer->status = hf_chaos_forget_session(chaos, request->session) ? 200 : 404;
  } else if (request->session.ptr == NULL || hf_map_get(&chaos->live, request->session) == NULL) {
    answer->status = request->session.ptr == NULL ? 405 : 404;
  } else {
    hf_chaos_wire_put_stream_head(&conn->out, answer);
    conn->complete = false; /* the stream stays open, silent */
  }
  if (conn->complete) {
    hf_chaos_wire_put_json(&conn->out, answer);
  }
  conn_flush(conn);
}

static void conn_answer(struct hf_chaos_conn *conn, const struct hf_chaos_wire_request *wire) {
  struct hf_chaos *chaos = conn->http->chaos;
  conn->busy = true;
  conn->complete = false;
  conn->sent = 0;
  conn->step = 0;
  conn->last = wire->closes;
  conn->streams = conn->head_sent = false;
  conn->takes_streams = wire->streams;
  hf_chaos_answer_deinit(&conn->answer);
  hf_chaos_answer_init(&conn->answer);
  if (conn->http->back != NULL) {
    conn->http->back->request(conn->http->back->data, conn, wire);
    return;
  }
  if (strcmp(wire->method, "POST") != 0) {
    serve_other(conn, wire);
    return;
  }
  struct hf_chaos_request request = {.message = hf_buf_str(&wire->body),
                                     .session = wire->session,
                                     .version = wire->version,
                                     .method_header = wire->method_header,
                                     .name_header = wire->name_header,
                                     .head = wire->head};
  hf_chaos_serve(chaos, &request, &conn->answer);
  const struct hf_chaos_answer *answer = &conn->answer;
  conn->streams = wire->streams && answer->is_call && answer->status == 200 && answer->fault.kind != HF_CHAOS_STATUS &&
                  (chaos->sse || answer->fault.kind == HF_CHAOS_SSE || (answer->steps > 0 && answer->token.len > 0));
  if (answer->fault.kind == HF_CHAOS_LATE) {
    hf_chaos_late(conn->http->loop, chaos, &request, answer->fault.number);
  }
  if (!break_off(conn)) {
    answer_start(conn);
  }
}

void hf_chaos_http_answer(struct hf_chaos_conn *conn, struct hf_chaos_answer *answer) {
  bool streams = conn->streams || (conn->takes_streams && answer->fault.kind == HF_CHAOS_SSE) ||
                 (conn->takes_streams && conn->http->chaos->sse && answer->is_call);
  hf_chaos_answer_deinit(&conn->answer);
  conn->answer = *answer;
  hf_chaos_answer_init(answer);
  conn->streams = streams && conn->answer.status == 200 && conn->answer.fault.kind != HF_CHAOS_STATUS;
  if (!break_off(conn)) {
    answer_start(conn);
  }
}

bool hf_chaos_http_event(struct hf_chaos_conn *conn, struct hf_str message) {
  if (!conn->takes_streams) {
    return false;
  }
  conn->streams = true;
  start_stream(conn);
  hf_chaos_wire_put_event(&conn->out, &conn->answer, message);
  conn_flush(conn);
  return true;
}

void hf_chaos_http_listen(struct hf_chaos_conn *conn) {
  conn->streams = conn->takes_streams = true;
  start_stream(conn);
}

void hf_chaos_http_pass(struct hf_chaos_conn *conn, const struct hf_chaos_fault *fault, struct hf_str bytes) {
  conn->answer.fault = *fault;
  hf_chaos_must(hf_buf_append_str(&conn->out, bytes));
  conn_flush(conn);
}

void hf_chaos_http_passed(struct hf_chaos_conn *conn, bool last) {
  conn->complete = true;
  conn->last = conn->last || last;
  conn_flush(conn);
}

void hf_chaos_http_end(struct hf_chaos_conn *conn, bool reset) {
  conn_end(conn, reset);
}

static void conn_serve(struct hf_chaos_conn *conn) {
  while (!conn->busy && !conn->closing) {
    struct hf_chaos_wire_request request = {0};
    hf_buf_init(&request.body, HF_CHAOS_MESSAGE_MAX);
    long len = hf_chaos_wire_read(hf_buf_str(&conn->in), &request);
    if (len > 0) {
      conn_answer(conn, &request);
      hf_buf_consume(&conn->in, (size_t)len);
    } else if (len < 0) {
      conn_end(conn, false);
    }
    hf_buf_deinit(&request.body);
    if (len == 0) {
      return;
    }
  }
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  struct hf_chaos_conn *conn = handle->data;
  bool room = hf_buf_reserve(&conn->in, suggested) == 0; /* without it, the reader is told */
  *buf = room ? uv_buf_init(conn->in.data + conn->in.len, (unsigned)suggested) : uv_buf_init(NULL, 0);
}

static void conn_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
  (void)buf;
  struct hf_chaos_conn *conn = stream->data;
  if (got < 0) {
    if (conn->busy && conn->answer.is_call && !conn->complete) {
      hf_chaos_ledger_add(conn->http->chaos->ledger, "disconnected", "", (struct hf_str){NULL, 0});
    }
    conn_end(conn, false);
    return;
  }
  conn->in.len += (size_t)got;
  if (conn->accepted.kind == HF_CHAOS_RESET_UNREAD) {
    conn_end(conn, true);
    return;
  }
  conn_serve(conn);
}

static void on_connection(uv_stream_t *listener, int status) {
  struct hf_chaos_http *http = listener->data;
  struct hf_chaos_conn *conn = status == 0 ? hf_calloc(1, sizeof *conn) : NULL;
  if (conn == NULL) {
    return;
  }
  http->open++;
  conn->http = http;
  conn->open_handles = 2;
  hf_buf_init(&conn->in, HF_CHAOS_MESSAGE_MAX);
  hf_buf_init(&conn->out, HF_CHAOS_MESSAGE_MAX);
  hf_chaos_answer_init(&conn->answer);
  uv_tcp_init(http->loop, &conn->tcp);
  uv_timer_init(http->loop, &conn->timer);
  conn->tcp.data = conn->timer.data = conn;
  hf_list_push_back(&http->conns, &conn->link);
  if (uv_accept(listener, (uv_stream_t *)&conn->tcp) != 0 || http->open > CONNECTIONS_MAX) {
    conn_end(conn, false);
    return;
  }
  uv_tcp_nodelay(&conn->tcp, 1);
  conn->accepted = hf_chaos_plan_pick(&http->chaos->plan, "accept", "", "");
  if (conn->accepted.kind == HF_CHAOS_CLOSE_ACCEPT || conn->accepted.kind == HF_CHAOS_RESET_ACCEPT) {
    conn_end(conn, conn->accepted.kind == HF_CHAOS_RESET_ACCEPT);
    return;
  }
  uv_read_start((uv_stream_t *)&conn->tcp, give_room, conn_read);
}

static int listen_again(struct hf_chaos_http *http, struct hf_error *reterr) {
  struct sockaddr_in address;
  struct sockaddr_storage bound;
  int size = sizeof bound;
  enum { BACKLOG = 128 };
  http->listener = hf_chaos_have(hf_calloc(1, sizeof *http->listener));
  uv_tcp_init(http->loop, http->listener);
  http->listener->data = http;
  uv_ip4_addr("127.0.0.1", http->port, &address);
  int rc = uv_tcp_bind(http->listener, (const struct sockaddr *)&address, 0);
  rc = rc == 0 ? uv_listen((uv_stream_t *)http->listener, BACKLOG, on_connection) : rc;
  rc = rc == 0 ? uv_tcp_getsockname(http->listener, (struct sockaddr *)&bound, &size) : rc;
  if (rc != 0) {
    return hf_error_set(reterr, HF_ERR_UNAVAILABLE, "chaos: cannot listen on port %d: %s", http->port, uv_strerror(rc));
  }
  http->port = ntohs(((struct sockaddr_in *)&bound)->sin_port);
  return 0;
}

struct hf_chaos_http *hf_chaos_http_new(uv_loop_t *loop, struct hf_chaos *chaos, int port,
                                        const struct hf_chaos_back *back, int *ret_port, struct hf_error *reterr) {
  struct hf_chaos_http *http = hf_chaos_have(hf_calloc(1, sizeof *http));
  http->loop = loop;
  http->chaos = chaos;
  http->back = back;
  http->port = port;
  hf_list_init(&http->conns);
  uv_timer_init(loop, &http->reopen);
  http->reopen.data = http;
  if (listen_again(http, reterr) != 0) {
    hf_chaos_http_stop(http);
    uv_run(loop, UV_RUN_DEFAULT);
    hf_chaos_http_free(http);
    return NULL;
  }
  *ret_port = http->port;
  return http;
}

void hf_chaos_http_stop(struct hf_chaos_http *http) {
  stop_listening(http);
  uv_close((uv_handle_t *)&http->reopen, NULL);
}

void hf_chaos_http_free(struct hf_chaos_http *http) {
  hf_free(http);
}
