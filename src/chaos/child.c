#include "chaos/child.h"

#include "chaos/pick.h"
#include "chaos/server.h"

#include "base/alloc.h"

#include <signal.h>
#include <stdio.h>

enum { SIGNALLED = 128, GRACE_MS = 5000 };

struct hf_chaos_child {
  uv_loop_t *loop;
  struct hf_chaos_child_owner owner;
  uv_process_t process;
  uv_pipe_t to;
  uv_shutdown_t last; /* of `to` */
  uv_pipe_t from;
  uv_signal_t term;
  uv_signal_t interrupt;
  uv_timer_t grace;
  struct hf_buf in;
  size_t looked_at; /* bytes of `in` that hold no line end */
  int code;         /* once it has ended */
  bool ended;
};

struct write {
  uv_write_t req;
  char bytes[];
};

static void written(uv_write_t *req, int status) {
  (void)status; /* a child that does not read is about to end, which is told by its end */
  hf_free(req);
}

static void kill_with(struct hf_chaos_child *child, int number) {
  if (!child->ended) {
    (void)uv_process_kill(&child->process, number);
  }
}

void hf_chaos_child_kill(struct hf_chaos_child *child) {
  kill_with(child, SIGKILL);
}

void hf_chaos_child_put(struct hf_chaos_child *child, struct hf_str line) {
  if (uv_is_closing((uv_handle_t *)&child->to)) {
    return;
  }
  if (uv_stream_get_write_queue_size((uv_stream_t *)&child->to) > HF_CHAOS_MESSAGE_MAX) {
    (void)fputs("chaos: the server does not read\n", stderr);
    kill_with(child, SIGKILL);
    return;
  }
  struct write *write = hf_chaos_have(hf_malloc(sizeof *write + line.len + 1));
  memcpy(write->bytes, line.ptr, line.len);
  write->bytes[line.len] = '\n';
  uv_buf_t buf = uv_buf_init(write->bytes, (unsigned)line.len + 1);
  if (uv_write(&write->req, (uv_stream_t *)&child->to, &buf, 1, written) != 0) {
    hf_free(write);
  }
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  struct hf_chaos_child *child = handle->data;
  hf_chaos_must(hf_buf_reserve(&child->in, suggested));
  *buf = uv_buf_init(child->in.data + child->in.len, (unsigned)suggested);
}

static void close_once(uv_handle_t *handle) {
  if (!uv_is_closing(handle)) {
    uv_close(handle, NULL);
  }
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
  (void)buf;
  struct hf_chaos_child *child = stream->data;
  if (got < 0) {
    close_once((uv_handle_t *)stream);
    child->owner.rest(child->owner.data, hf_buf_str(&child->in));
    return;
  }
  child->in.len += (size_t)got;
  const char *end;
  size_t used = 0;
  size_t from = child->looked_at;
  while ((end = memchr(child->in.data + from, '\n', child->in.len - from)) != NULL) {
    size_t len = (size_t)(end - child->in.data) - used;
    child->owner.line(child->owner.data, (struct hf_str){child->in.data + used, len});
    from = used = used + len + 1;
  }
  hf_buf_consume(&child->in, used);
  child->looked_at = child->in.len;
}

static void on_exit(uv_process_t *process, int64_t code, int number) {
  struct hf_chaos_child *child = process->data;
  child->ended = true;
  child->code = number != 0 ? SIGNALLED + number : (int)code;
  close_once((uv_handle_t *)&child->to);
  close_once((uv_handle_t *)&child->term);
  close_once((uv_handle_t *)&child->interrupt);
  close_once((uv_handle_t *)&child->grace);
  close_once((uv_handle_t *)process);
  child->owner.ended(child->owner.data);
}

static void grace_over(uv_timer_t *timer) {
  kill_with(timer->data, SIGKILL);
}

static void end_in_time(struct hf_chaos_child *child) {
  if (!child->ended) {
    uv_timer_start(&child->grace, grace_over, GRACE_MS, 0);
  }
}

static void all_written(uv_shutdown_t *req, int status) {
  (void)status;
  struct hf_chaos_child *child = req->data;
  close_once((uv_handle_t *)&child->to);
}

void hf_chaos_child_close(struct hf_chaos_child *child) {
  child->last.data = child;
  if (!uv_is_closing((uv_handle_t *)&child->to) &&
      uv_shutdown(&child->last, (uv_stream_t *)&child->to, all_written) != 0) {
    close_once((uv_handle_t *)&child->to);
  }
  end_in_time(child);
}

static void told_to_end(uv_signal_t *handle, int number) {
  struct hf_chaos_child *child = handle->data;
  kill_with(child, number);
  end_in_time(child);
}

static int spawn(struct hf_chaos_child *child, char **command) {
  uv_stdio_container_t stdio[3] = {
      {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&child->to},
      {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&child->from},
      {.flags = UV_INHERIT_FD, .data.fd = 2},
  };
  const uv_process_options_t options = {
      .file = command[0], .args = command, .exit_cb = on_exit, .stdio = stdio, .stdio_count = 3};
  uv_pipe_init(child->loop, &child->to, 0);
  uv_pipe_init(child->loop, &child->from, 0);
  uv_signal_init(child->loop, &child->term);
  uv_signal_init(child->loop, &child->interrupt);
  uv_timer_init(child->loop, &child->grace);
  child->process.data = child->to.data = child->from.data = child;
  child->term.data = child->interrupt.data = child->grace.data = child;
  int rc = uv_spawn(child->loop, &child->process, &options);
  if (rc == 0) {
    uv_signal_start(&child->term, told_to_end, SIGTERM);
    uv_signal_start(&child->interrupt, told_to_end, SIGINT);
    uv_read_start((uv_stream_t *)&child->from, give_room, on_read);
  }
  return rc;
}

static void close_all(struct hf_chaos_child *child) {
  child->ended = true;
  close_once((uv_handle_t *)&child->to);
  close_once((uv_handle_t *)&child->from);
  close_once((uv_handle_t *)&child->term);
  close_once((uv_handle_t *)&child->interrupt);
  close_once((uv_handle_t *)&child->grace);
  close_once((uv_handle_t *)&child->process);
  uv_run(child->loop, UV_RUN_DEFAULT);
}

int hf_chaos_child_new(uv_loop_t *loop, char **command, const struct hf_chaos_child_owner *owner,
                       struct hf_chaos_child **ret_child, struct hf_error *reterr) {
  struct hf_chaos_child *child = hf_chaos_have(hf_calloc(1, sizeof *child));
  child->loop = loop;
  child->owner = *owner;
  hf_buf_init(&child->in, HF_CHAOS_MESSAGE_MAX);
  int rc = spawn(child, command);
  if (rc != 0) {
    close_all(child);
    hf_chaos_child_free(child);
    return hf_error_set(reterr, HF_ERR_UNAVAILABLE, "chaos: cannot start '%.200s': %s", command[0], uv_strerror(rc));
  }
  *ret_child = child;
  return 0;
}

int hf_chaos_child_code(const struct hf_chaos_child *child) {
  return child->code;
}

void hf_chaos_child_free(struct hf_chaos_child *child) {
  if (child != NULL) {
    hf_buf_deinit(&child->in);
    hf_free(child);
  }
}
