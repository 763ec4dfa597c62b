/* Requests and their replies, on two descriptors that may be anything: pipes, sockets, terminals, files. What cannot be
 * watched (a file is always ready) is read in a thread of libuv's pool. */
#include "front/stdio.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "mcp/ndjson.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_CHUNK = 64 << 10 };

struct frame {
  struct hf_list link;
  struct hf_pieces line;
  size_t written;
};

struct reply {
  struct hf_reply base;
  struct hf_list link;
  struct hf_front_stdio *front;
  enum hf_method method;
  char *id; /* raw, for the error that says that there is no memory for an answer */
};

/* A descriptor, opened anew where possible so that its flags are ours alone. */
struct end {
  int fd;
  int borrowed;     /* the caller's */
  int old_flags;    /* of the caller's, when it is used itself; -1 otherwise */
  uv_poll_t *watch; /* freed in its close callback; NULL: cannot be watched */
};

/* A read of a file, on its own while the thread has it. */
struct file_read {
  uv_fs_t request;
  struct hf_front_stdio *front; /* NULL once the front is gone */
  char chunk[READ_CHUNK];
};

struct hf_front_stdio {
  struct hf_front_stdio_options options;
  struct hf_limits limits;
  struct hf_client *client;
  struct end in, out;
  struct hf_ndjson reader;
  struct file_read *reading;
  struct hf_list replies;
  struct hf_list queue;
  size_t queue_bytes;
  bool paused; /* the client does not read: neither do we */
  bool ended;  /* the input ended */
  bool gone;   /* nothing can be written any more */
  bool closed_told;
  struct hf_timer stall; /* takes nothing; or, after the end of the input, still owes answers */
  struct hf_job job;     /* tells closed() */
};

static void read_more(struct hf_front_stdio *front);
static void on_readable(uv_poll_t *watch, int status, int events);
static void on_writable(uv_poll_t *watch, int status, int events);

static void advance(struct hf_front_stdio *front) {
  hf_loop_advance(front->options.loop, hf_clock_now(), hf_clock_wall_ms());
}

static void on_handle_closed(uv_handle_t *handle) {
  hf_free(handle);
}

static void watch_end(struct hf_front_stdio *front, struct end *end) {
  uv_poll_t *watch = hf_malloc(sizeof *watch);
  if (!watch)
    return;
  if (uv_poll_init(front->options.uv, watch, end->fd) < 0) {
    hf_free(watch);
    return;
  }
  watch->data = front;
  end->watch = watch;
}

/* A descriptor of a pipe or terminal is shared with whoever started us: not blocking on it must be our affair alone. */
static void open_end(struct hf_front_stdio *front, struct end *end, int fd, int mode) {
  char path[32];
  int n = snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  *end = (struct end){.borrowed = fd, .old_flags = -1};
  struct stat st;
  bool file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode); /* a new description would start at its beginning */
  end->fd = file || n < 0 || (size_t)n >= sizeof path ? -1 : open(path, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (end->fd < 0) {
    end->fd = fd;
    end->old_flags = fcntl(fd, F_GETFL);
  }
  if (!file)
    watch_end(front, end);
}

static void close_end(struct end *end) {
  if (end->watch)
    uv_close((uv_handle_t *)end->watch, on_handle_closed);
  end->watch = NULL;
  if (end->fd >= 0 && end->fd != end->borrowed)
    close(end->fd);
  else if (end->fd >= 0 && end->old_flags >= 0)
    (void)fcntl(end->fd, F_SETFL, end->old_flags);
  end->fd = -1;
}

static void maybe_close(struct hf_front_stdio *front) {
  bool answered = hf_list_empty(&front->replies) && hf_list_empty(&front->queue);
  if (front->closed_told || !(front->gone || (front->ended && answered)))
    return;
  front->closed_told = true;
  hf_job_defer(front->options.loop, &front->job);
}

static void on_job(struct hf_job *job) {
  struct hf_front_stdio *front = HF_CONTAINER_OF(job, struct hf_front_stdio, job);
  front->options.closed(front->options.context);
}

static void give_up(struct hf_front_stdio *front) {
  front->gone = true;
  maybe_close(front);
}

static void on_stall(struct hf_timer *timer) {
  struct hf_front_stdio *front = HF_CONTAINER_OF(timer, struct hf_front_stdio, stall);
  hf_log_event(front->options.loop->log, HF_LOG_WARN,
               hf_list_empty(&front->queue) ? "the client left without waiting for its answers"
                                            : "the client does not read its answers",
               HF_LOG_INT("waiting", (int64_t)front->queue_bytes));
  give_up(front);
}

static void set_stall_timer(struct hf_front_stdio *front) {
  hf_time at = HF_TIME_NEVER;
  if (!hf_list_empty(&front->queue))
    at = hf_time_add(front->options.loop->now, front->limits.client_write);
  else if (front->ended && !hf_list_empty(&front->replies))
    at = hf_time_add(front->options.loop->now, front->limits.drain);
  hf_timer_set(front->options.loop, &front->stall, at);
}

static void frame_free(struct hf_front_stdio *front, struct frame *frame) {
  hf_list_remove(&frame->link);
  front->queue_bytes -= frame->line.len;
  hf_pieces_deinit(&frame->line);
  hf_free(frame);
}

static void flush(struct hf_front_stdio *front) {
  bool progress = false;
  while (!front->gone && !hf_list_empty(&front->queue)) {
    struct frame *frame = HF_CONTAINER_OF(front->queue.next, struct frame, link);
    ssize_t n = hf_pieces_write(front->out.fd, &frame->line, frame->written);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && front->out.watch) {
      uv_poll_start(front->out.watch, UV_WRITABLE, on_writable);
      break;
    }
    if (n < 0) {
      give_up(front);
      return;
    }
    progress = true;
    frame->written += (size_t)n;
    if (frame->written == frame->line.len)
      frame_free(front, frame);
  }
  if (hf_list_empty(&front->queue) && front->out.watch)
    uv_poll_stop(front->out.watch);
  if (progress)
    set_stall_timer(front);
  if (front->paused && front->queue_bytes <= front->limits.write_backlog / 2) {
    front->paused = false;
    read_more(front);
  }
  maybe_close(front);
}

static bool over_backlog(const struct hf_front_stdio *front) {
  return front->queue_bytes > front->limits.write_backlog;
}

static void on_writable(uv_poll_t *watch, int status, int events) {
  (void)status;
  (void)events;
  struct hf_front_stdio *front = watch->data;
  advance(front);
  flush(front);
}

/* Queues a line; takes `text`. */
static void put(struct hf_front_stdio *front, struct hf_pieces *text) {
  struct frame *frame = front->gone ? NULL : hf_calloc(1, sizeof *frame);
  if (!frame || hf_ndjson_write(&frame->line, text) < 0) {
    hf_pieces_deinit(text);
    if (frame)
      hf_pieces_deinit(&frame->line);
    hf_free(frame);
    if (!front->gone)
      give_up(front); /* an answer that cannot be given would leave the client waiting for ever */
    return;
  }
  hf_pieces_deinit(text);
  hf_list_init(&frame->link);
  bool first = hf_list_empty(&front->queue);
  hf_list_push_back(&front->queue, &frame->link);
  front->queue_bytes += frame->line.len;
  if (first)
    set_stall_timer(front);
  flush(front);
  if (over_backlog(front) && !front->paused) {
    front->paused = true;
    read_more(front);
  }
}

static void put_error(struct hf_front_stdio *front, struct hf_str id, int code, struct hf_str message) {
  struct hf_pieces text;
  hf_pieces_init(&text);
  if (hf_client_error_text(id, code, message, &text) < 0)
    give_up(front);
  else
    put(front, &text);
}

static void reply_free(struct reply *reply) {
  hf_list_remove(&reply->link);
  hf_free(reply->id);
  hf_free(reply);
}

static void reply_message(struct hf_reply *base, struct hf_pieces *text) {
  struct reply *reply = HF_CONTAINER_OF(base, struct reply, base);
  put(reply->front, text);
}

static void reply_finish(struct hf_reply *base, int http_status, struct hf_pieces *text) {
  struct reply *reply = HF_CONTAINER_OF(base, struct reply, base);
  struct hf_front_stdio *front = reply->front;
  char *id = reply->id;
  reply->id = NULL;
  reply_free(reply);
  if (http_status == HF_STATUS_CANCELLED)
    hf_pieces_deinit(text);
  else if (text->len == 0)
    put_error(front, hf_str_from(id), HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"));
  else
    put(front, text);
  hf_free(id);
  maybe_close(front);
}

static const struct hf_reply_ops reply_ops = {.message = reply_message, .finish = reply_finish};

/* A notice may be lost to a client that does not read; an answer may not. */
static void on_notify(struct hf_client *client, void *owner, struct hf_pieces *text) {
  (void)client;
  struct hf_front_stdio *front = owner;
  if (over_backlog(front))
    hf_pieces_deinit(text);
  else
    put(front, text);
}

static const struct hf_client_ops client_ops = {.notify = on_notify};

static void handle_request(struct hf_front_stdio *front, struct hf_message *message) {
  struct reply *reply = hf_calloc(1, sizeof *reply);
  char *id = hf_strndup(message->id.ptr, message->id.len);
  if (!reply || !id) {
    put_error(front, message->id, HF_RPC_INTERNAL_ERROR, HF_STR("out of memory"));
    hf_free(reply);
    hf_free(id);
    return;
  }
  reply->base.ops = &reply_ops;
  reply->front = front;
  reply->method = message->method;
  reply->id = id;
  hf_list_push_back(&front->replies, &reply->link);
  hf_client_handle(front->client, message, &reply->base);
}

static int on_frame(void *context, struct hf_buf *buf, struct hf_json_scan *scan) {
  struct hf_front_stdio *front = context;
  struct hf_message message = {0};
  struct hf_refusal refusal;
  int rc = hf_message_from_scan(scan, buf, &message, &refusal);
  if (rc == 0 && message.kind == HF_MESSAGE_REQUEST)
    handle_request(front, &message);
  else if (rc == 0)
    hf_client_handle(front->client, &message, NULL);
  else if (!refusal.response)
    put_error(front, (struct hf_str){refusal.id_len ? refusal.id : NULL, refusal.id_len}, refusal.rpc_code,
              hf_str_from(refusal.why.text));
  hf_message_deinit(&message);
  return 0;
}

static int on_dropped(void *context, const struct hf_ndjson_drop *drop) {
  struct hf_front_stdio *front = context;
  struct hf_str id = drop->id.len ? drop->id : (struct hf_str){NULL, 0};
  if (drop->kind == HF_NDJSON_OVERSIZE)
    put_error(front, id, HF_RPC_INVALID_REQUEST,
              HF_STR("the message is over the limit of size, depth or number of values"));
  else
    put_error(front, id, HF_RPC_PARSE_ERROR,
              drop->kind == HF_NDJSON_NOISE ? HF_STR("the line is no JSON-RPC message")
                                            : hf_str_from(hf_json_fault_text(drop->fault)));
  return 0;
}

/* A subscription has no answer to wait for. */
static void end_listening(struct hf_front_stdio *front) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &front->replies) {
    struct reply *reply = HF_CONTAINER_OF(it, struct reply, link);
    if (reply->method != HF_METHOD_SUBSCRIPTIONS_LISTEN)
      continue;
    hf_client_abandon(front->client, &reply->base);
    reply_free(reply);
  }
}

static void end_input(struct hf_front_stdio *front) {
  if (front->ended)
    return;
  (void)hf_ndjson_eof(&front->reader);
  front->ended = true;
  if (front->in.watch)
    uv_poll_stop(front->in.watch);
  end_listening(front);
  set_stall_timer(front);
  maybe_close(front);
}

static void take_input(struct hf_front_stdio *front, ssize_t n, const char *chunk) {
  if (n <= 0 || hf_ndjson_feed(&front->reader, chunk, (size_t)n) < 0)
    end_input(front);
}

static void on_readable(uv_poll_t *watch, int status, int events) {
  (void)status;
  (void)events;
  struct hf_front_stdio *front = watch->data;
  advance(front);
  char chunk[READ_CHUNK];
  ssize_t n = read(front->in.fd, chunk, sizeof chunk);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    return;
  take_input(front, n, chunk);
  read_more(front);
}

static void on_file_read(uv_fs_t *request) {
  struct file_read *reading = HF_CONTAINER_OF(request, struct file_read, request);
  struct hf_front_stdio *front = reading->front;
  ssize_t n = request->result;
  uv_fs_req_cleanup(request);
  if (front) {
    advance(front);
    front->reading = NULL;
    take_input(front, n, reading->chunk);
    read_more(front);
  }
  hf_free(reading);
}

static void read_file(struct hf_front_stdio *front) {
  struct file_read *reading = hf_calloc(1, sizeof *reading);
  if (!reading) {
    end_input(front);
    return;
  }
  reading->front = front;
  uv_buf_t buf = uv_buf_init(reading->chunk, sizeof reading->chunk);
  front->reading = reading;
  if (uv_fs_read(front->options.uv, &reading->request, front->in.fd, &buf, 1, -1, on_file_read) < 0) {
    front->reading = NULL;
    hf_free(reading);
    end_input(front);
  }
}

/* Reads on, or not while the client does not read what it asked for. */
static void read_more(struct hf_front_stdio *front) {
  bool wanted = !front->ended && !front->gone && !front->paused;
  if (front->in.watch && wanted)
    uv_poll_start(front->in.watch, UV_READABLE, on_readable);
  else if (front->in.watch)
    uv_poll_stop(front->in.watch);
  else if (wanted && !front->reading)
    read_file(front);
}

int hf_front_stdio_new(const struct hf_front_stdio_options *options, struct hf_front_stdio **ret_front,
                       struct hf_error *reterr) {
  struct hf_front_stdio *front = hf_calloc(1, sizeof *front);
  if (!front)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  front->options = *options;
  front->limits = options->settings->limits;
  front->in.fd = front->out.fd = -1;
  hf_list_init(&front->replies);
  hf_list_init(&front->queue);
  hf_job_init(&front->job, on_job);
  const struct hf_ndjson_handler handler = {.context = front, .frame = on_frame, .dropped = on_dropped};
  hf_ndjson_init(&front->reader, front->limits.body_bytes, &handler);
  hf_ndjson_limit(&front->reader, front->limits.json_depth, front->limits.json_nodes);
  int rc = hf_timer_init(options->loop, &front->stall, on_stall);
  const struct hf_client_options client = {
      .server = options->server, .era = HF_ERA_UNKNOWN, .ops = &client_ops, .owner = front};
  if (rc == 0)
    rc = hf_client_open(options->gateway, &client, &front->client);
  if (rc < 0) {
    hf_front_stdio_free(front);
    return hf_error_set(reterr, rc, "cannot serve on standard input: %s", hf_err_text(rc));
  }
  open_end(front, &front->in, options->in, O_RDONLY);
  open_end(front, &front->out, options->out, O_WRONLY);
  read_more(front);
  *ret_front = front;
  return 0;
}

void hf_front_stdio_free(struct hf_front_stdio *front) {
  if (!front)
    return;
  if (front->client)
    hf_client_close(front->client);
  while (!hf_list_empty(&front->replies))
    reply_free(HF_CONTAINER_OF(front->replies.next, struct reply, link));
  while (!hf_list_empty(&front->queue))
    frame_free(front, HF_CONTAINER_OF(front->queue.next, struct frame, link));
  if (front->reading)
    front->reading->front = NULL;
  close_end(&front->in);
  close_end(&front->out);
  hf_ndjson_deinit(&front->reader);
  hf_timer_deinit(front->options.loop, &front->stall);
  hf_job_cancel(&front->job);
  hf_free(front);
}
