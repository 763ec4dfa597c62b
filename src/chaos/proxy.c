#include "chaos/proxy.h"

#include "chaos/drift.h"
#include "chaos/ledger.h"
#include "chaos/pick.h"
#include "chaos/pipe.h"

#include "base/alloc.h"
#include "base/error.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { UNAVAILABLE = 3, SIGNALLED = 128, GRACE_MS = 5000 };

struct proxy {
  uv_loop_t *loop;
  struct hf_chaos *chaos;
  struct hf_chaos_pipe *client;
  uv_process_t child;
  uv_pipe_t to_child;
  uv_pipe_t from_child;
  uv_signal_t term;
  uv_signal_t interrupt;
  uv_timer_t grace;
  struct hf_buf in;      /* from the child */
  size_t looked_at;      /* bytes of `in` that hold no line end */
  struct hf_map pending; /* raw id → struct pending, of requests whose answers are to be spoiled */
  int code;              /* the child's, once it has ended */
  bool ended;
};

struct pending {
  struct hf_chaos_fault fault;
  bool list; /* of tools */
};

struct write {
  uv_write_t req;
  char bytes[];
};

static void written(uv_write_t *req, int status) {
  (void)status; /* a child that does not read is about to end, which is told by its end */
  hf_free(req);
}

static void kill_child(struct proxy *proxy, int number) {
  if (!proxy->ended) {
    (void)uv_process_kill(&proxy->child, number);
  }
}

static void pass_to_child(struct proxy *proxy, struct hf_str line) {
  if (uv_is_closing((uv_handle_t *)&proxy->to_child)) {
    return;
  }
  if (uv_stream_get_write_queue_size((uv_stream_t *)&proxy->to_child) > HF_CHAOS_MESSAGE_MAX) {
    (void)fputs("chaos: the server does not read\n", stderr);
    kill_child(proxy, SIGKILL);
    return;
  }
  struct write *write = hf_chaos_have(hf_malloc(sizeof *write + line.len + 1));
  memcpy(write->bytes, line.ptr, line.len);
  write->bytes[line.len] = '\n';
  uv_buf_t buf = uv_buf_init(write->bytes, (unsigned)line.len + 1);
  if (uv_write(&write->req, (uv_stream_t *)&proxy->to_child, &buf, 1, written) != 0) {
    hf_free(write);
  }
}

static void pass_to_client(struct proxy *proxy, struct hf_str line) {
  hf_chaos_pipe_put(proxy->client, line);
  hf_chaos_pipe_put(proxy->client, HF_STR("\n"));
}

/* Answers in the server's place, so far as the fault leaves anything to say. Takes the answer. */
static void answer(struct proxy *proxy, struct hf_chaos_answer *answer) {
  const struct hf_chaos_fault *fault = &answer->fault;
  if (fault->kind == HF_CHAOS_WRONG_ID || fault->kind == HF_CHAOS_STRING_ID) {
    hf_chaos_change_id(answer);
  }
  hf_buf_reset(&answer->body, 0);
  if (!hf_chaos_spoil(proxy->chaos, (struct hf_str){NULL, 0}, answer)) {
    if (fault->kind == HF_CHAOS_ISERROR) {
      hf_chaos_must(hf_buf_printf(&answer->body,
                                  "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"isError\":true,"
                                  "\"content\":[{\"type\":\"text\",\"text\":",
                                  HF_STR_FMT(hf_buf_str(&answer->id))));
      hf_pick_quote(&answer->body, hf_str_from(fault->text[0] != '\0' ? fault->text : "made to fail"));
      hf_chaos_must(hf_buf_printf(&answer->body, "}]}}"));
    } else {
      hf_chaos_answer_error(answer, 200, -32000, "made to fail", "");
    }
  }
  hf_chaos_pipe_answer(proxy->client, answer);
}

/* Gives the server's own answer the id that the fault asks for. */
static void splice_id(struct hf_chaos_answer *answer, struct hf_str line) {
  struct hf_str id = hf_pick_member(line, "id");
  size_t before = (size_t)(id.ptr - line.ptr);
  hf_chaos_change_id(answer);
  hf_chaos_must(hf_buf_append(&answer->body, line.ptr, before));
  hf_chaos_must(hf_buf_append_str(&answer->body, hf_buf_str(&answer->id)));
  hf_chaos_must(hf_buf_append(&answer->body, id.ptr + id.len, line.len - before - id.len));
}

/* Takes what the server answered to a request that a fault met. */
static void spoil(struct proxy *proxy, const struct pending *pending, struct hf_str id, struct hf_str line) {
  struct hf_chaos_answer spoilt;
  hf_chaos_answer_init(&spoilt);
  spoilt.fault = pending->fault;
  hf_chaos_must(hf_buf_append_str(&spoilt.id, id));
  switch ((int)pending->fault.kind) {
  case HF_CHAOS_WRONG_ID:
  case HF_CHAOS_STRING_ID:
    splice_id(&spoilt, line);
    break;
  case HF_CHAOS_ISERROR:
    answer(proxy, &spoilt);
    return;
  default:
    if (!hf_chaos_spoil(proxy->chaos, (struct hf_str){NULL, 0}, &spoilt)) {
      hf_chaos_must(hf_buf_append_str(&spoilt.body, line));
    }
  }
  if (pending->list) {
    hf_chaos_must(hf_chaos_drift(&spoilt.body, proxy->chaos->drifts));
  }
  hf_chaos_pipe_answer(proxy->client, &spoilt);
}

static void child_line(struct proxy *proxy, struct hf_str line) {
  struct hf_str id = {NULL, 0};
  if (proxy->pending.len > 0 && hf_chaos_well_formed(line) && hf_pick_member(line, "method").ptr == NULL) {
    id = hf_pick_member(line, "id");
  }
  struct pending *pending = id.ptr != NULL ? hf_map_remove(&proxy->pending, id) : NULL;
  if (pending == NULL) {
    pass_to_client(proxy, line);
    return;
  }
  spoil(proxy, pending, id, line);
  hf_free(pending);
}

/* Passes the request on and remembers what is to become of its answer. */
static void pass_and_spoil(struct proxy *proxy, const struct hf_chaos_fault *fault, bool list, struct hf_str id,
                           struct hf_str line) {
  struct pending *pending = hf_chaos_have(hf_calloc(1, sizeof *pending));
  *pending = (struct pending){.fault = *fault, .list = list};
  struct pending *old = hf_map_remove(&proxy->pending, id); /* a client that uses an id twice */
  hf_free(old);
  hf_chaos_must(hf_map_put(&proxy->pending, id, pending));
  pass_to_child(proxy, line);
}

static void refuse(struct proxy *proxy, const struct hf_chaos_fault *fault, struct hf_str id) {
  struct hf_chaos_answer refusal;
  hf_chaos_answer_init(&refusal);
  refusal.fault = *fault;
  hf_chaos_must(hf_buf_append_str(&refusal.id, id));
  answer(proxy, &refusal);
}

static void record(struct proxy *proxy, struct hf_str params, const char *key) {
  char name[HF_CHAOS_TOOL_NAME_MAX + 1];
  hf_pick_text(hf_pick_member(params, "name"), name, sizeof name);
  hf_chaos_ledger_add(proxy->chaos->ledger, name, key, hf_pick_member(params, "arguments"));
}

static void client_line(void *data, struct hf_str line) {
  struct proxy *proxy = data;
  char method[64] = "";
  char key[HF_CHAOS_KEY_MAX + 1];
  struct hf_str id = {NULL, 0};
  if (hf_chaos_well_formed(line)) {
    hf_pick_text(hf_pick_member(line, "method"), method, sizeof method);
    id = hf_pick_member(line, "id");
  }
  if (method[0] == '\0' || id.ptr == NULL || id.len > HF_CHAOS_ID_MAX) {
    pass_to_child(proxy, line);
    return;
  }
  struct hf_str params = hf_pick_member(line, "params");
  bool list = strcmp(method, "tools/list") == 0;
  hf_pick_text(hf_pick_member(hf_pick_member(params, "arguments"), proxy->chaos->key), key, sizeof key);
  struct hf_chaos_fault fault = hf_chaos_plan_pick(&proxy->chaos->plan, method, "", key);
  proxy->chaos->drifts += list && fault.kind == HF_CHAOS_DRIFT;
  if (strcmp(method, "tools/call") == 0 && fault.executes) {
    record(proxy, params, key);
  }
  if (!fault.executes) {
    refuse(proxy, &fault, id);
  } else if (fault.kind != HF_CHAOS_NONE || (list && proxy->chaos->drifts > 0)) {
    pass_and_spoil(proxy, &fault, list, id, line);
  } else {
    pass_to_child(proxy, line);
  }
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  struct proxy *proxy = handle->data;
  hf_chaos_must(hf_buf_reserve(&proxy->in, suggested));
  *buf = uv_buf_init(proxy->in.data + proxy->in.len, (unsigned)suggested);
}

static void close_once(uv_handle_t *handle) {
  if (!uv_is_closing(handle)) {
    uv_close(handle, NULL);
  }
}

static void child_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
  (void)buf;
  struct proxy *proxy = stream->data;
  if (got < 0) {
    close_once((uv_handle_t *)stream);
    hf_chaos_pipe_put(proxy->client, hf_buf_str(&proxy->in)); /* a last line without an end */
    return;
  }
  proxy->in.len += (size_t)got;
  const char *end;
  size_t used = 0;
  size_t from = proxy->looked_at;
  while ((end = memchr(proxy->in.data + from, '\n', proxy->in.len - from)) != NULL) {
    size_t len = (size_t)(end - proxy->in.data) - used;
    child_line(proxy, (struct hf_str){proxy->in.data + used, len});
    from = used = used + len + 1;
  }
  hf_buf_consume(&proxy->in, used);
  proxy->looked_at = proxy->in.len;
}

/* The server is gone, and so are we, once what it said has been passed on. */
static void child_exited(uv_process_t *child, int64_t code, int number) {
  struct proxy *proxy = child->data;
  proxy->ended = true;
  proxy->code = number != 0 ? SIGNALLED + number : (int)code;
  hf_chaos_pipe_close_input(proxy->client);
  close_once((uv_handle_t *)&proxy->to_child);
  close_once((uv_handle_t *)&proxy->term);
  close_once((uv_handle_t *)&proxy->interrupt);
  close_once((uv_handle_t *)&proxy->grace);
  close_once((uv_handle_t *)child);
}

static void grace_over(uv_timer_t *timer) {
  kill_child(timer->data, SIGKILL);
}

static void end_child_in_time(struct proxy *proxy) {
  if (!proxy->ended) {
    uv_timer_start(&proxy->grace, grace_over, GRACE_MS, 0);
  }
}

static void client_gone(void *data) {
  struct proxy *proxy = data;
  close_once((uv_handle_t *)&proxy->to_child); /* after what is queued: libuv writes at once what a pipe takes */
  end_child_in_time(proxy);
}

static void told_to_end(uv_signal_t *handle, int number) {
  struct proxy *proxy = handle->data;
  kill_child(proxy, number);
  end_child_in_time(proxy);
}

static void dying(void *data) {
  kill_child(data, SIGKILL);
}

static int start(struct proxy *proxy, char **command) {
  uv_stdio_container_t stdio[3] = {
      {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&proxy->to_child},
      {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&proxy->from_child},
      {.flags = UV_INHERIT_FD, .data.fd = 2},
  };
  const uv_process_options_t options = {
      .file = command[0], .args = command, .exit_cb = child_exited, .stdio = stdio, .stdio_count = 3};
  uv_pipe_init(proxy->loop, &proxy->to_child, 0);
  uv_pipe_init(proxy->loop, &proxy->from_child, 0);
  uv_signal_init(proxy->loop, &proxy->term);
  uv_signal_init(proxy->loop, &proxy->interrupt);
  uv_timer_init(proxy->loop, &proxy->grace);
  proxy->child.data = proxy->to_child.data = proxy->from_child.data = proxy;
  proxy->term.data = proxy->interrupt.data = proxy->grace.data = proxy;
  int rc = uv_spawn(proxy->loop, &proxy->child, &options);
  if (rc == 0) {
    uv_signal_start(&proxy->term, told_to_end, SIGTERM);
    uv_signal_start(&proxy->interrupt, told_to_end, SIGINT);
    uv_read_start((uv_stream_t *)&proxy->from_child, give_room, child_read);
  }
  return rc;
}

static void close_all(struct proxy *proxy) {
  proxy->ended = true;
  close_once((uv_handle_t *)&proxy->to_child);
  close_once((uv_handle_t *)&proxy->from_child);
  close_once((uv_handle_t *)&proxy->term);
  close_once((uv_handle_t *)&proxy->interrupt);
  close_once((uv_handle_t *)&proxy->grace);
  close_once((uv_handle_t *)&proxy->child);
  uv_run(proxy->loop, UV_RUN_DEFAULT);
}

int hf_chaos_proxy_run(uv_loop_t *loop, struct hf_chaos *chaos, char **command, struct hf_error *reterr) {
  struct proxy proxy = {.loop = loop, .chaos = chaos};
  const struct hf_chaos_pipe_owner owner = {&proxy, client_line, client_gone, dying};
  hf_buf_init(&proxy.in, HF_CHAOS_MESSAGE_MAX);
  hf_map_init(&proxy.pending, HF_CHAOS_PENDING_MAX);
  int rc = start(&proxy, command);
  if (rc != 0) {
    close_all(&proxy);
    (void)hf_error_set(reterr, HF_ERR_UNAVAILABLE, "chaos: cannot start '%.200s': %s", command[0], uv_strerror(rc));
    proxy.code = UNAVAILABLE;
  } else if (hf_chaos_pipe_new(loop, &owner, &proxy.client, reterr) != 0) {
    kill_child(&proxy, SIGKILL);
    close_all(&proxy);
    proxy.code = UNAVAILABLE;
  } else {
    uv_run(loop, UV_RUN_DEFAULT);
  }
  hf_chaos_pipe_free(proxy.client);
  for (size_t i = 0; i < proxy.pending.len; i++) {
    hf_free(proxy.pending.entries[i].value);
  }
  hf_map_deinit(&proxy.pending);
  hf_buf_deinit(&proxy.in);
  return proxy.code;
}
