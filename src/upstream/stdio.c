/* A child, its three pipes, and what is under way on them. The end of the child, not of a pipe, is the end of the
 * transport: only then is it certain that nothing more will come, and that nothing runs on. */
#include "upstream/stdio.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "mcp/line_tail.h"
#include "mcp/message.h"
#include "mcp/ndjson.h"
#include "upstream/child_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  READ_CHUNK = 64 << 10,
  READS_PER_TURN = 4, /* a flood on one pipe leaves the others their turn */
  QUEUE_BYTES_MAX = 64 << 20,
  QUEUE_FRAMES_MAX = 4096,
  READS_AT_END = 64,
  SETTINGS_MAX = 1 << 20,
};

static const hf_time eof_grace = HF_MS(200); /* a child that closed its output is about to end; if not, it is ended */

enum state {
  ST_CLOSED,
  ST_OPENING, /* ordered, not yet reported as started */
  ST_OPEN,
  ST_LEAVING, /* standard input is closed; SIGTERM comes next */
  ST_TERMED,  /* SIGTERM was sent; SIGKILL comes next */
  ST_KILLED,
};

struct pipe_end {
  int fd;           /* -1: closed */
  uv_poll_t *watch; /* freed in its close callback */
};

/* One message on its way into the pipe. */
struct frame {
  struct hf_list link;
  struct hf_outgoing *out; /* NULL once aborted: what was begun must be finished */
  struct hf_pieces line;
  size_t written;
  size_t told;
};

struct stdio {
  struct hf_transport transport;
  struct hf_stdio_options options;
  struct hf_arena arena; /* of `spawn` */
  struct hf_spawn spawn;
  size_t max_message;
  enum state state;
  struct hf_child child;
  struct pipe_end in, out, err; /* the child's */
  struct hf_ndjson reader;
  struct hf_child_log log;
  struct hf_secrets secrets;
  struct hf_list queue;   /* frames to write */
  struct hf_list written; /* frames written, not yet told */
  struct hf_list sent;    /* requests handed over, by hf_outgoing.link */
  size_t queue_bytes;
  size_t queue_frames;
  struct hf_timer timer;
  struct hf_job job; /* tells what was written; or that it could not be opened */
  bool failed_to_open;
  struct hf_error open_error;
  bool broken;   /* the child reads no more */
  bool oversize; /* the rest of a line that was too long and had no id so far is passing */
  struct hf_line_tail tail;
};

static struct stdio *stdio_of(struct hf_transport *transport) {
  return HF_CONTAINER_OF(transport, struct stdio, transport);
}

static void on_handle_closed(uv_handle_t *handle) {
  hf_free(handle);
}

static void end_close(struct pipe_end *end) {
  if (end->watch)
    uv_close((uv_handle_t *)end->watch, on_handle_closed);
  end->watch = NULL;
  if (end->fd >= 0)
    close(end->fd);
  end->fd = -1;
}

static int end_watch(struct stdio *s, struct pipe_end *end, int events, uv_poll_cb on_ready) {
  if (!end->watch) {
    uv_poll_t *watch = hf_malloc(sizeof *watch);
    if (!watch)
      return HF_ERR_NOMEM;
    if (uv_poll_init(s->options.uv, watch, end->fd) < 0) {
      hf_free(watch);
      return HF_ERR_IO;
    }
    watch->data = s;
    end->watch = watch;
  }
  return uv_poll_start(end->watch, events, on_ready) < 0 ? HF_ERR_IO : 0;
}

static void advance(struct stdio *s) {
  hf_loop_advance(s->options.loop, hf_clock_now(), hf_clock_wall_ms());
}

static void frame_free(struct stdio *s, struct frame *frame) {
  hf_list_remove(&frame->link);
  s->queue_bytes -= frame->line.len;
  s->queue_frames--;
  hf_pieces_deinit(&frame->line);
  hf_free(frame);
}

/* Closes its input and lets time do the rest: SIGTERM, then SIGKILL. */
static void begin_end(struct stdio *s, hf_time grace) {
  if (s->state != ST_OPENING && s->state != ST_OPEN)
    return;
  s->state = ST_LEAVING;
  end_close(&s->in);
  hf_timer_set(s->options.loop, &s->timer, hf_time_add(s->options.loop->now, grace));
}

static void on_timer(struct hf_timer *timer) {
  struct stdio *s = HF_CONTAINER_OF(timer, struct stdio, timer);
  if (s->state == ST_LEAVING) {
    s->state = ST_TERMED;
    hf_reaper_signal(s->options.reaper, &s->child, SIGTERM);
    hf_timer_set(s->options.loop, &s->timer, hf_time_add(s->options.loop->now, s->options.term_grace));
  } else if (s->state == ST_TERMED) {
    s->state = ST_KILLED;
    hf_reaper_signal(s->options.reaper, &s->child, SIGKILL);
  }
}

static void on_writable(uv_poll_t *watch, int status, int events);

static void flush(struct stdio *s) {
  while (s->in.fd >= 0 && !s->broken && !hf_list_empty(&s->queue)) {
    struct frame *frame = HF_CONTAINER_OF(s->queue.next, struct frame, link);
    ssize_t n = hf_pieces_write(s->in.fd, &frame->line, frame->written);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (end_watch(s, &s->in, UV_WRITABLE, on_writable) == 0)
        return;
      n = -1;
    }
    if (n < 0) {
      /* It will end, or be ended; what waits here was never handed over. */
      s->broken = true;
      begin_end(s, eof_grace);
      return;
    }
    frame->written += (size_t)n;
    if (frame->out)
      frame->out->handed = frame->written;
    hf_job_defer(s->options.loop, &s->job);
    if (frame->written == frame->line.len) {
      hf_list_remove(&frame->link);
      hf_list_push_back(&s->written, &frame->link);
    }
  }
  if (s->in.watch && hf_list_empty(&s->queue))
    uv_poll_stop(s->in.watch);
}

static void on_writable(uv_poll_t *watch, int status, int events) {
  (void)status;
  (void)events;
  struct stdio *s = watch->data;
  advance(s);
  flush(s);
}

static void tell_written(struct stdio *s) {
  const struct hf_transport_events *events = s->transport.events;
  const struct hf_evidence fine = HF_EVIDENCE(HF_EVIDENCE_NONE);
  while (!hf_list_empty(&s->written)) {
    struct frame *frame = HF_CONTAINER_OF(s->written.next, struct frame, link);
    struct hf_outgoing *out = frame->out;
    size_t bytes = frame->written;
    if (out)
      out->transport_data = NULL;
    frame_free(s, frame);
    if (!out)
      continue;
    if (out->is_request) {
      hf_list_push_back(&s->sent, &out->link);
      events->sent(s->transport.owner, out, bytes, true);
    } else {
      events->done(s->transport.owner, out, &fine);
    }
  }
  if (hf_list_empty(&s->queue))
    return;
  struct frame *first = HF_CONTAINER_OF(s->queue.next, struct frame, link);
  if (first->out && first->written > first->told) {
    first->told = first->written;
    events->sent(s->transport.owner, first->out, first->written, false);
  }
}

static void fail(struct stdio *s, struct hf_outgoing *out) {
  const struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY);
  hf_list_remove(&out->link);
  s->transport.events->done(s->transport.owner, out, &evidence);
}

/* An answer that cannot be read ends the call that it answers, and no other. Returns false if there is none. */
static bool fail_by_id(struct stdio *s, struct hf_str raw) {
  int64_t id;
  if (!raw.len || hf_json_int64(raw, &id) < 0)
    return false;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &s->sent) {
    struct hf_outgoing *out = HF_CONTAINER_OF(it, struct hf_outgoing, link);
    if (out->id == (uint64_t)id) {
      fail(s, out);
      return true;
    }
  }
  return false;
}

static void end_oversize(struct stdio *s) {
  s->oversize = false;
  if (fail_by_id(s, hf_line_tail_id(&s->tail)))
    return;
  /* Without an id it can only be told whose answer it was if there is one who waits. */
  if (!hf_list_empty(&s->sent) && s->sent.next == s->sent.prev)
    fail(s, HF_CONTAINER_OF(s->sent.next, struct hf_outgoing, link));
}

static int on_frame(void *context, struct hf_buf *buf, struct hf_json_scan *scan) {
  struct stdio *s = context;
  struct hf_message message;
  struct hf_refusal refusal;
  if (hf_message_from_scan(scan, buf, &message, &refusal) == 0) {
    s->transport.events->message(s->transport.owner, NULL, &message);
    hf_message_deinit(&message);
    return 0;
  }
  hf_log_event(s->options.loop->log, HF_LOG_WARN, "server sent a malformed message",
               HF_LOG_STR("server", s->log.server), HF_LOG_STR("why", hf_str_from(refusal.why.text)));
  (void)fail_by_id(s, (struct hf_str){refusal.id, refusal.id_len});
  return 0;
}

static int on_dropped(void *context, const struct hf_ndjson_drop *drop) {
  struct stdio *s = context;
  switch (drop->kind) {
  case HF_NDJSON_NOISE:
    hf_child_log_noise(&s->log, drop->head, s->options.loop->now);
    return 0;
  case HF_NDJSON_OVERSIZE:
    hf_log_event(s->options.loop->log, HF_LOG_WARN, "server sent a message over the limit",
                 HF_LOG_STR("server", s->log.server), HF_LOG_INT("limit", (int64_t)s->max_message));
    if (!fail_by_id(s, drop->id)) {
      s->oversize = true;
      s->tail.len = 0;
    }
    return 0;
  case HF_NDJSON_BROKEN:
  case HF_NDJSON_CUT:
    hf_child_log_noise(&s->log, drop->head, s->options.loop->now);
    (void)fail_by_id(s, drop->id);
    return 0;
  }
  return 0;
}

/* Line by line, so that the end of one that was too long is seen. */
static int feed(struct stdio *s, struct hf_str bytes) {
  while (bytes.len) {
    const char *newline = memchr(bytes.ptr, '\n', bytes.len);
    size_t len = newline ? (size_t)(newline - bytes.ptr) + 1 : bytes.len;
    int rc = hf_ndjson_feed(&s->reader, bytes.ptr, len);
    if (rc < 0)
      return rc;
    if (s->oversize) {
      hf_line_tail_add(&s->tail, (struct hf_str){bytes.ptr, len});
      if (newline)
        end_oversize(s);
    }
    bytes.ptr += len;
    bytes.len -= len;
  }
  return 0;
}

/* Reads once. Returns the number of bytes, 0 when nothing waits, or HF_ERR_CLOSED at the end. */
static ssize_t read_pipe(struct pipe_end *end, char *chunk) {
  if (end->fd < 0)
    return HF_ERR_CLOSED;
  ssize_t n;
  do {
    n = read(end->fd, chunk, READ_CHUNK);
  } while (n < 0 && errno == EINTR);
  if (n < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : HF_ERR_CLOSED;
  return n == 0 ? HF_ERR_CLOSED : n;
}

/* Returns false when there is no more for now. */
static bool read_stdout(struct stdio *s) {
  char chunk[READ_CHUNK];
  ssize_t n = read_pipe(&s->out, chunk);
  if (n > 0 && feed(s, (struct hf_str){chunk, (size_t)n}) < 0)
    n = HF_ERR_CLOSED; /* out of memory: its answers are lost, so it starts anew */
  if (n < 0 && s->out.fd >= 0) {
    (void)hf_ndjson_eof(&s->reader);
    if (s->oversize)
      end_oversize(s);
    end_close(&s->out);
    begin_end(s, eof_grace);
  }
  return n > 0;
}

static bool read_stderr(struct stdio *s) {
  char chunk[READ_CHUNK];
  ssize_t n = read_pipe(&s->err, chunk);
  if (n > 0)
    hf_child_log_stderr(&s->log, (struct hf_str){chunk, (size_t)n}, s->options.loop->now);
  else if (n < 0)
    end_close(&s->err);
  return n > 0;
}

static void on_stdout(uv_poll_t *watch, int status, int events) {
  (void)status;
  (void)events;
  struct stdio *s = watch->data;
  advance(s);
  tell_written(s); /* an answer never comes before the news that its request was sent */
  for (int i = 0; i < READS_PER_TURN && read_stdout(s); i++)
    ;
}

static void on_stderr(uv_poll_t *watch, int status, int events) {
  (void)status;
  (void)events;
  struct stdio *s = watch->data;
  advance(s);
  for (int i = 0; i < READS_PER_TURN && read_stderr(s); i++)
    ;
}

static void forget_frames(struct stdio *s, struct hf_list *list) {
  while (!hf_list_empty(list)) {
    struct frame *frame = HF_CONTAINER_OF(list->next, struct frame, link);
    if (frame->out)
      frame->out->transport_data = NULL;
    frame_free(s, frame);
  }
}

/* Lets go of all that belonged to this child. */
static void clear(struct stdio *s) {
  end_close(&s->in);
  end_close(&s->out);
  end_close(&s->err);
  forget_frames(s, &s->queue);
  forget_frames(s, &s->written);
  while (!hf_list_empty(&s->sent))
    hf_list_remove(s->sent.next);
  hf_ndjson_deinit(&s->reader);
  hf_timer_stop(s->options.loop, &s->timer);
  hf_job_cancel(&s->job);
  s->state = ST_CLOSED;
  s->broken = s->oversize = false;
}

static void explain(const struct stdio *s, const struct hf_child_end *end, struct hf_error *reason) {
  char tail[HF_CHILD_LOG_TAIL_MAX * 3];
  const char *joint = hf_child_log_tail(&s->log, tail, sizeof tail) ? ": " : "";
  struct hf_str command = s->spawn.command;
  if (end->lost)
    hf_error_set(reason, HF_ERR_CLOSED, "the helper process that ran it ended");
  else if (end->stage == HF_SPAWN_CWD)
    hf_error_set(reason, HF_ERR_CLOSED, "cannot enter directory '%.*s': %s", HF_STR_FMT(s->spawn.cwd),
                 strerror(end->error));
  else if (end->stage == HF_SPAWN_EXEC && end->error == ENOENT)
    hf_error_set(reason, HF_ERR_CLOSED, "command '%.*s' not found", HF_STR_FMT(command));
  else if (end->stage == HF_SPAWN_EXEC)
    hf_error_set(reason, HF_ERR_CLOSED, "command '%.*s' cannot be run: %s", HF_STR_FMT(command), strerror(end->error));
  else if (end->stage == HF_SPAWN_FORK)
    hf_error_set(reason, HF_ERR_CLOSED, "no process for command '%.*s': %s", HF_STR_FMT(command), strerror(end->error));
  else if (WIFSIGNALED(end->status))
    hf_error_set(reason, HF_ERR_CLOSED, "killed by signal %d (%s)%s%s", WTERMSIG(end->status),
                 strsignal(WTERMSIG(end->status)), joint, tail);
  else
    hf_error_set(reason, HF_ERR_CLOSED, "exited with code %d%s%s", WEXITSTATUS(end->status), joint, tail);
}

static void on_started(struct hf_child *child) {
  struct stdio *s = HF_CONTAINER_OF(child, struct stdio, child);
  if (s->state != ST_OPENING)
    return;
  s->state = ST_OPEN;
  s->transport.events->opened(s->transport.owner);
}

/* All of its group is dead: what its pipes still hold is all there will ever be. */
static void on_ended(struct hf_child *child, const struct hf_child_end *end) {
  struct stdio *s = HF_CONTAINER_OF(child, struct stdio, child);
  tell_written(s);
  for (int i = 0; i < READS_AT_END && read_stdout(s); i++)
    ;
  for (int i = 0; i < READS_AT_END && read_stderr(s); i++)
    ;
  if (s->out.fd >= 0) {
    (void)hf_ndjson_eof(&s->reader);
    if (s->oversize)
      end_oversize(s);
  }
  struct hf_error reason;
  explain(s, end, &reason);
  bool cannot_work = end->stage == HF_SPAWN_EXEC || end->stage == HF_SPAWN_CWD;
  struct hf_evidence evidence = HF_EVIDENCE(cannot_work ? HF_EVIDENCE_COMMAND_NOT_FOUND : HF_EVIDENCE_BROKE);
  evidence.child_dead = true;
  clear(s);
  s->transport.events->closed(s->transport.owner, &evidence, hf_str_from(reason.text));
}

static const struct hf_child_events child_events = {.started = on_started, .ended = on_ended};

static void on_job(struct hf_job *job) {
  struct stdio *s = HF_CONTAINER_OF(job, struct stdio, job);
  if (!s->failed_to_open) {
    tell_written(s);
    return;
  }
  s->failed_to_open = false;
  const struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
  s->transport.events->closed(s->transport.owner, &evidence, hf_str_from(s->open_error.text));
}

static void close_fd(int *fd) {
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

/* Makes a pipe of which the gateway's end does not block and the child's does. */
static int make_pipe(bool child_reads, int *ret_ours, int *ret_childs) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) < 0)
    return HF_ERR_LIMIT;
  *ret_ours = fds[child_reads ? 1 : 0];
  *ret_childs = fds[child_reads ? 0 : 1];
  return fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0 ? HF_ERR_IO : 0;
}

static int start_child(struct stdio *s) {
  struct hf_error *reterr = &s->open_error;
  int childs[3] = {-1, -1, -1};
  int rc = make_pipe(true, &s->in.fd, &childs[0]);
  if (rc == 0)
    rc = make_pipe(false, &s->out.fd, &childs[1]);
  if (rc == 0)
    rc = make_pipe(false, &s->err.fd, &childs[2]);
  if (rc < 0)
    hf_error_set(reterr, rc, "start '%.*s': make its pipes: %s", HF_STR_FMT(s->spawn.command), strerror(errno));
  if (rc == 0 && ((rc = end_watch(s, &s->out, UV_READABLE, on_stdout)) < 0 ||
                  (rc = end_watch(s, &s->err, UV_READABLE, on_stderr)) < 0))
    hf_error_set(reterr, rc, "start '%.*s': watch its pipes: %s", HF_STR_FMT(s->spawn.command), hf_err_text(rc));
  if (rc == 0) {
    memcpy(s->spawn.fds, childs, sizeof childs);
    rc = hf_reaper_spawn(s->options.reaper, &s->spawn, &child_events, &s->child, reterr);
  }
  for (int i = 0; i < 3; i++)
    close_fd(&childs[i]);
  return rc;
}

static void stdio_open(struct hf_transport *transport) {
  struct stdio *s = stdio_of(transport);
  static const struct hf_ndjson_handler handler = {.frame = on_frame, .dropped = on_dropped};
  struct hf_ndjson_handler mine = handler;
  mine.context = s;
  hf_ndjson_init(&s->reader, s->max_message, &mine);
  hf_child_log_restart(&s->log);
  s->state = ST_OPENING;
  if (start_child(s) == 0)
    return;
  clear(s);
  s->failed_to_open = true;
  hf_job_defer(s->options.loop, &s->job);
}

static int make_frame(struct stdio *s, struct hf_outgoing *out, struct frame **ret_frame) {
  struct frame *frame = hf_calloc(1, sizeof *frame);
  if (!frame)
    return HF_ERR_NOMEM;
  hf_list_init(&frame->link);
  hf_pieces_init(&frame->line);
  int rc = hf_ndjson_write(&frame->line, &out->text);
  if (rc < 0) {
    hf_pieces_deinit(&frame->line);
    hf_free(frame);
    return rc;
  }
  frame->out = out;
  s->queue_bytes += frame->line.len;
  s->queue_frames++;
  *ret_frame = frame;
  return 0;
}

static int stdio_send(struct hf_transport *transport, struct hf_outgoing *out) {
  struct stdio *s = stdio_of(transport);
  if (s->state != ST_OPEN || s->broken)
    return HF_ERR_CLOSED;
  if (s->queue_frames >= QUEUE_FRAMES_MAX || (s->queue_bytes && s->queue_bytes + out->text.len > QUEUE_BYTES_MAX))
    return HF_ERR_LIMIT;
  struct frame *frame;
  int rc = make_frame(s, out, &frame);
  if (rc < 0)
    return rc;
  hf_list_init(&out->link);
  out->transport_data = frame;
  hf_list_push_back(&s->queue, &frame->link);
  flush(s);
  return 0;
}

static void stdio_abort(struct hf_transport *transport, struct hf_outgoing *out) {
  struct stdio *s = stdio_of(transport);
  struct frame *frame = out->transport_data;
  if (out->link.next)
    hf_list_remove(&out->link);
  if (!frame)
    return;
  out->transport_data = NULL;
  frame->out = NULL;
  if (frame->written == 0)
    frame_free(s, frame);
}

static void stdio_settle(struct hf_transport *transport, enum hf_era era, struct hf_str version) {
  (void)transport;
  (void)era;
  (void)version;
}

/* The session is the process: upstream.c starts it anew. */
static void stdio_forget_session(struct hf_transport *transport) {
  (void)transport;
}

static void stdio_close(struct hf_transport *transport) {
  struct stdio *s = stdio_of(transport);
  begin_end(s, s->options.leave_grace);
}

static void stdio_free(struct hf_transport *transport) {
  struct stdio *s = stdio_of(transport);
  hf_reaper_drop(s->options.reaper, &s->child);
  clear(s);
  hf_timer_deinit(s->options.loop, &s->timer);
  hf_arena_deinit(&s->arena);
  hf_free(s);
}

static int64_t stdio_pid(const struct hf_transport *transport) {
  const struct stdio *s = HF_CONTAINER_OF(transport, const struct stdio, transport);
  return s->state == ST_CLOSED ? 0 : s->child.pid;
}

static const struct hf_transport_ops stdio_ops = {
    .open = stdio_open,
    .send = stdio_send,
    .abort = stdio_abort,
    .settle = stdio_settle,
    .forget_session = stdio_forget_session,
    .close = stdio_close,
    .free = stdio_free,
    .pid = stdio_pid,
};

static int copy_strings(struct hf_arena *arena, const struct hf_strings *from, struct hf_strings *to) {
  *to = (struct hf_strings){.count = from->count};
  if (!from->count)
    return 0;
  to->item = hf_arena_alloc(arena, from->count * sizeof *to->item);
  for (size_t i = 0; to->item && i < from->count; i++) {
    to->item[i] = hf_arena_copy(arena, from->item[i]);
    if (!to->item[i].ptr)
      return HF_ERR_NOMEM;
  }
  return to->item ? 0 : HF_ERR_NOMEM;
}

static int copy_settings(struct stdio *s, const struct hf_server_settings *settings) {
  struct hf_str name = hf_arena_copy(&s->arena, settings->name);
  s->spawn.command = hf_arena_copy(&s->arena, settings->command);
  if (!name.ptr || !s->spawn.command.ptr)
    return HF_ERR_NOMEM;
  if (settings->cwd.ptr && !(s->spawn.cwd = hf_arena_copy(&s->arena, settings->cwd)).ptr)
    return HF_ERR_NOMEM;
  hf_child_log_init(&s->log, s->options.loop->log, name, &s->secrets);
  s->max_message = settings->max_message;
  int rc = copy_strings(&s->arena, &settings->args, &s->spawn.args);
  if (rc == 0)
    rc = copy_strings(&s->arena, &settings->env, &s->spawn.env);
  return rc < 0 ? rc : hf_secrets_init(&s->secrets, &s->arena, &s->spawn.env);
}

int hf_stdio_transport_new(const struct hf_stdio_options *options, const struct hf_server_settings *settings,
                           const struct hf_transport_events *events, void *owner, struct hf_transport **ret_transport) {
  struct stdio *s = hf_calloc(1, sizeof *s);
  if (!s)
    return HF_ERR_NOMEM;
  s->transport = (struct hf_transport){.ops = &stdio_ops, .events = events, .owner = owner};
  s->options = *options;
  s->in.fd = s->out.fd = s->err.fd = -1;
  hf_list_init(&s->queue);
  hf_list_init(&s->written);
  hf_list_init(&s->sent);
  hf_list_init(&s->child.link);
  hf_job_init(&s->job, on_job);
  hf_arena_init(&s->arena, SETTINGS_MAX);
  int rc = hf_timer_init(options->loop, &s->timer, on_timer);
  if (rc == 0)
    rc = copy_settings(s, settings);
  if (rc < 0) {
    stdio_free(&s->transport);
    return rc;
  }
  *ret_transport = &s->transport;
  return 0;
}
