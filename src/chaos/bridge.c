#include "chaos/bridge.h"

#include "chaos/child.h"
#include "chaos/pick.h"
#include "chaos/spoil.h"

#include "base/alloc.h"
#include "base/list.h"

#include <stdlib.h>

struct hf_chaos_bridge {
  uv_loop_t *loop;
  struct hf_chaos *chaos;
  struct hf_chaos_back back;
  struct hf_chaos_child *child;
  struct hf_list requests; /* oldest first */
  struct hf_list streams;  /* of clients that listen */
  unsigned long next_id;
};

struct request {
  struct hf_list link;
  struct hf_chaos_conn *conn; /* NULL: nobody waits for the answer */
  unsigned long id;           /* the child's */
  struct hf_buf own_id;       /* the client's, raw */
  struct hf_buf token;        /* of its progress, raw */
  struct hf_chaos_fault fault;
  struct hf_chaos_kind kind;
  bool opens; /* it begins a session */
};

struct stream {
  struct hf_list link;
  struct hf_chaos_conn *conn;
};

/* A message that came over HTTP may be written on several lines; its strings hold no line ends. */
static void put_to_child(struct hf_chaos_bridge *bridge, struct hf_buf *line) {
  for (size_t i = 0; i < line->len; i++) {
    if (line->data[i] == '\n' || line->data[i] == '\r') {
      line->data[i] = ' ';
    }
  }
  hf_chaos_child_put(bridge->child, hf_buf_str(line));
}

static void free_request(struct request *request) {
  hf_list_remove(&request->link);
  hf_buf_deinit(&request->own_id);
  hf_buf_deinit(&request->token);
  hf_free(request);
}

static struct request *find(const struct hf_chaos_bridge *bridge, unsigned long id) {
  for (struct hf_list *it = bridge->requests.next; it != &bridge->requests; it = it->next) {
    struct request *request = HF_CONTAINER_OF(it, struct request, link);
    if (request->id == id) {
      return request;
    }
  }
  return NULL;
}

static void answer_request(struct hf_chaos_bridge *bridge, struct request *request, struct hf_str line) {
  struct hf_chaos_answer answer;
  struct hf_buf own;
  hf_buf_init(&own, HF_CHAOS_MESSAGE_MAX);
  hf_chaos_answer_init(&answer);
  hf_chaos_splice(line, hf_pick_member(line, "id"), hf_buf_str(&request->own_id), &own);
  hf_chaos_spoil_answer(bridge->chaos, &request->fault, request->kind, hf_buf_str(&request->own_id), hf_buf_str(&own),
                        &answer);
  if (request->opens && bridge->chaos->sessions && hf_pick_member(line, "result").ptr != NULL) {
    hf_chaos_must(hf_chaos_start_session(bridge->chaos, &answer));
  }
  struct hf_chaos_conn *conn = request->conn;
  free_request(request);
  if (conn != NULL) {
    hf_chaos_http_answer(conn, &answer);
  }
  hf_chaos_answer_deinit(&answer);
  hf_buf_deinit(&own);
}

/* Progress goes to the request that it belongs to, anything else to the newest that can take it. */
static bool put_to_request(struct hf_chaos_bridge *bridge, struct hf_str token, struct hf_str line) {
  struct hf_list *it = bridge->requests.prev;
  for (; it != &bridge->requests; it = it->prev) {
    struct request *request = HF_CONTAINER_OF(it, struct request, link);
    bool its = token.ptr == NULL || hf_str_equal(token, hf_buf_str(&request->token));
    if (request->conn != NULL && request->kind.call && its) {
      return hf_chaos_http_event(request->conn, line);
    }
  }
  return false;
}

static void put_unasked(struct hf_chaos_bridge *bridge, struct hf_str line) {
  struct hf_str token = hf_pick_path(line, "params.progressToken");
  if (put_to_request(bridge, token, line)) {
    return;
  }
  for (struct hf_list *it = bridge->streams.next; it != &bridge->streams; it = it->next) {
    (void)hf_chaos_http_event(HF_CONTAINER_OF(it, struct stream, link)->conn, line);
  }
}

static void child_line(void *data, struct hf_str line) {
  struct hf_chaos_bridge *bridge = data;
  if (!hf_chaos_well_formed(line)) {
    return; /* a banner, noise: there is nobody whom it could reach over HTTP */
  }
  if (hf_pick_member(line, "method").ptr != NULL) {
    put_unasked(bridge, line);
    return;
  }
  long id = hf_pick_number(hf_pick_member(line, "id"), 0);
  struct request *request = id > 0 ? find(bridge, (unsigned long)id) : NULL;
  if (request != NULL) {
    answer_request(bridge, request, line);
  }
}

static void child_rest(void *data, struct hf_str rest) {
  (void)data, (void)rest;
}

static void child_ended(void *data) {
  struct hf_chaos_bridge *bridge = data;
  exit(hf_chaos_child_code(bridge->child));
}

static void answer_instead(struct hf_chaos_bridge *bridge, struct hf_chaos_conn *conn,
                           const struct hf_chaos_fault *fault, const struct hf_chaos_glance *glance) {
  struct hf_chaos_answer answer;
  hf_chaos_answer_init(&answer);
  hf_chaos_spoil_instead(bridge->chaos, fault, glance, &answer);
  hf_chaos_http_answer(conn, &answer);
  hf_chaos_answer_deinit(&answer);
}

/* A status without a word. */
static void answer_status(struct hf_chaos_conn *conn, int status) {
  struct hf_chaos_answer answer;
  hf_chaos_answer_init(&answer);
  answer.status = status;
  hf_chaos_http_answer(conn, &answer);
  hf_chaos_answer_deinit(&answer);
}

/* Returns true if the request was answered: it names no session, or none that lives. */
static bool refuse(struct hf_chaos_bridge *bridge, struct hf_chaos_conn *conn, const struct hf_chaos_wire_request *wire,
                   const struct hf_chaos_glance *glance) {
  struct hf_chaos *chaos = bridge->chaos;
  if (!chaos->sessions || glance->kind.modern || strcmp(glance->method, "initialize") == 0 ||
      (wire->session.ptr != NULL && hf_map_get(&chaos->live, wire->session) != NULL)) {
    return false;
  }
  struct hf_chaos_answer answer;
  hf_chaos_answer_init(&answer);
  if (glance->id.ptr != NULL) {
    hf_chaos_must(hf_buf_append_str(&answer.id, glance->id));
  }
  if (wire->session.ptr == NULL) {
    hf_chaos_answer_error(&answer, 400, -32000, "Bad Request: no session id", "");
  } else {
    hf_chaos_answer_error(&answer, 404, -32001, "Session not found", "");
  }
  hf_chaos_http_answer(conn, &answer);
  hf_chaos_answer_deinit(&answer);
  return true;
}

/* The child hears its own id of the request that is cancelled. */
static void put_notification(struct hf_chaos_bridge *bridge, struct hf_str message) {
  struct hf_buf line;
  struct hf_str about = hf_pick_path(message, "params.requestId");
  struct hf_buf id;
  hf_buf_init(&id, HF_CHAOS_ID_MAX);
  hf_buf_init(&line, HF_CHAOS_MESSAGE_MAX);
  for (struct hf_list *it = bridge->requests.next; about.ptr != NULL && it != &bridge->requests; it = it->next) {
    const struct request *request = HF_CONTAINER_OF(it, struct request, link);
    if (hf_str_equal(about, hf_buf_str(&request->own_id))) {
      hf_buf_reset(&id, 0);
      hf_chaos_must(hf_buf_printf(&id, "%lu", request->id));
    }
  }
  if (id.len > 0) {
    hf_chaos_splice(message, about, hf_buf_str(&id), &line);
  } else {
    hf_chaos_must(hf_buf_append_str(&line, message));
  }
  put_to_child(bridge, &line);
  hf_buf_deinit(&line);
  hf_buf_deinit(&id);
}

static void pass_on(struct hf_chaos_bridge *bridge, struct hf_chaos_conn *conn, const struct hf_chaos_fault *fault,
                    const struct hf_chaos_glance *glance, struct hf_str message) {
  struct request *request = hf_chaos_have(hf_calloc(1, sizeof *request));
  struct hf_str token = hf_pick_member(hf_pick_member(glance->params, "_meta"), "progressToken");
  struct hf_buf line;
  struct hf_buf id;
  request->conn = conn;
  request->id = ++bridge->next_id;
  request->fault = *fault;
  request->kind = glance->kind;
  request->opens = strcmp(glance->method, "initialize") == 0;
  hf_buf_init(&request->own_id, HF_CHAOS_ID_MAX);
  hf_buf_init(&request->token, HF_CHAOS_MESSAGE_MAX);
  hf_chaos_must(hf_buf_append_str(&request->own_id, glance->id));
  hf_chaos_must(token.ptr != NULL ? hf_buf_append_str(&request->token, token) : 0);
  hf_list_push_back(&bridge->requests, &request->link);
  hf_buf_init(&line, HF_CHAOS_MESSAGE_MAX);
  hf_buf_init(&id, HF_CHAOS_ID_MAX);
  hf_chaos_must(hf_buf_printf(&id, "%lu", request->id));
  hf_chaos_splice(message, glance->id, hf_buf_str(&id), &line);
  hf_buf_deinit(&id);
  put_to_child(bridge, &line);
  hf_buf_deinit(&line);
}

static void on_post(struct hf_chaos_bridge *bridge, struct hf_chaos_conn *conn,
                    const struct hf_chaos_wire_request *wire) {
  struct hf_str message = hf_buf_str(&wire->body);
  const struct hf_chaos_glance glance = hf_chaos_glance(bridge->chaos, message);
  if (!hf_chaos_well_formed(message)) {
    answer_status(conn, 400);
    return;
  }
  if (refuse(bridge, conn, wire, &glance)) {
    return;
  }
  if (glance.method[0] == '\0') {
    put_notification(bridge, message);
    answer_status(conn, 202);
    return;
  }
  struct hf_chaos_fault fault = hf_chaos_meet(bridge->chaos, &glance);
  if (fault.kind == HF_CHAOS_SESSION) {
    (void)hf_chaos_forget_session(bridge->chaos, wire->session);
  }
  if (fault.executes) {
    pass_on(bridge, conn, &fault, &glance, message);
  } else {
    answer_instead(bridge, conn, &fault, &glance);
  }
}

static void on_request(void *data, struct hf_chaos_conn *conn, const struct hf_chaos_wire_request *wire) {
  struct hf_chaos_bridge *bridge = data;
  const struct hf_chaos_glance nothing = {.id = {NULL, 0}};
  if (strcmp(wire->method, "POST") == 0) {
    on_post(bridge, conn, wire);
  } else if (strcmp(wire->method, "DELETE") == 0) {
    answer_status(conn, hf_chaos_forget_session(bridge->chaos, wire->session) ? 200 : 404);
  } else if (strcmp(wire->method, "GET") != 0 || !wire->streams) {
    answer_status(conn, 405);
  } else if (!refuse(bridge, conn, wire, &nothing)) {
    struct stream *stream = hf_chaos_have(hf_calloc(1, sizeof *stream));
    stream->conn = conn;
    hf_list_push_back(&bridge->streams, &stream->link);
    hf_chaos_http_listen(conn);
  }
}

static void on_gone(void *data, struct hf_chaos_conn *conn) {
  struct hf_chaos_bridge *bridge = data;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &bridge->requests) {
    struct request *request = HF_CONTAINER_OF(it, struct request, link);
    request->conn = request->conn == conn ? NULL : request->conn;
  }
  HF_LIST_FOREACH (it, tmp, &bridge->streams) {
    struct stream *stream = HF_CONTAINER_OF(it, struct stream, link);
    if (stream->conn == conn) {
      hf_list_remove(&stream->link);
      hf_free(stream);
    }
  }
}

static void on_dying(void *data) {
  struct hf_chaos_bridge *bridge = data;
  hf_chaos_child_kill(bridge->child);
}

int hf_chaos_bridge_new(uv_loop_t *loop, struct hf_chaos *chaos, char **command, struct hf_chaos_bridge **ret_bridge,
                        struct hf_error *reterr) {
  struct hf_chaos_bridge *bridge = hf_chaos_have(hf_calloc(1, sizeof *bridge));
  const struct hf_chaos_child_owner owner = {bridge, child_line, child_rest, child_ended};
  *bridge = (struct hf_chaos_bridge){.loop = loop, .chaos = chaos};
  bridge->back = (struct hf_chaos_back){bridge, on_request, on_gone, on_dying};
  hf_list_init(&bridge->requests);
  hf_list_init(&bridge->streams);
  int rc = hf_chaos_child_new(loop, command, &owner, &bridge->child, reterr);
  if (rc != 0) {
    hf_free(bridge);
    return rc;
  }
  *ret_bridge = bridge;
  return 0;
}

const struct hf_chaos_back *hf_chaos_bridge_back(const struct hf_chaos_bridge *bridge) {
  return &bridge->back;
}

void hf_chaos_bridge_free(struct hf_chaos_bridge *bridge) {
  if (bridge != NULL) {
    hf_chaos_child_kill(bridge->child);
    hf_chaos_child_free(bridge->child);
    hf_free(bridge);
  }
}
