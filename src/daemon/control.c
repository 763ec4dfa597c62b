#include "daemon/control.h"

#include "base/alloc.h"
#include "base/list.h"
#include "daemon/console.h"
#include "daemon/state.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* A gateway that is stopped still has a socket that takes connections and questions, until that is full. */
enum { PATIENCE_S = 5 };

enum { PEERS_MAX = 16, QUESTION_MAX = 20 << 20, BACKLOG = 16, READ_BYTES = 64 << 10, TELL_BACKLOG = 1 << 20 };

struct hf_control {
  uv_pipe_t listener;
  struct hf_control_handler handler;
  struct hf_list peers;
  size_t peer_count;
  char *path;
  bool closing;
};

struct hf_control_peer {
  struct hf_list link;
  uv_pipe_t pipe;
  uv_timer_t patience; /* runs while the peer is to do something: ask, or read */
  size_t unread;       /* of its answer, when that began */
  struct hf_control *control;
  struct hf_buf in;
  size_t searched; /* of `in`: holds no end of a line */
  void *ask;       /* under way, or NULL */
  bool closing;
  char bytes[READ_BYTES];
};

struct answer {
  uv_write_t write;
  struct hf_buf text;
};

static void free_if_done(struct hf_control *control) {
  if (control->closing && control->peer_count == 0 && !control->path)
    hf_free(control);
}

static void on_peer_closed(uv_handle_t *handle) {
  struct hf_control_peer *peer = handle->data;
  struct hf_control *control = peer->control;
  if (handle == (uv_handle_t *)&peer->pipe) {
    uv_close((uv_handle_t *)&peer->patience, on_peer_closed);
    return;
  }
  hf_buf_deinit(&peer->in);
  hf_free(peer);
  control->peer_count--;
  free_if_done(control);
}

static void close_peer(struct hf_control_peer *peer) {
  if (peer->closing)
    return;
  peer->closing = true;
  hf_list_remove(&peer->link);
  if (peer->ask)
    peer->control->handler.gone(peer->control->handler.context, peer->ask);
  peer->ask = NULL;
  uv_close((uv_handle_t *)&peer->pipe, on_peer_closed);
}

static void on_impatient(uv_timer_t *timer);

/* From now on it is the peer's turn. */
static void expect(struct hf_control_peer *peer) {
  const unsigned ms = peer->control->handler.patience_ms;
  peer->unread = uv_stream_get_write_queue_size((uv_stream_t *)&peer->pipe);
  if (!peer->closing)
    (void)uv_timer_start(&peer->patience, on_impatient, ms ? ms : PATIENCE_S * 1000, 0);
}

static void on_impatient(uv_timer_t *timer) {
  struct hf_control_peer *peer = timer->data;
  if (uv_stream_get_write_queue_size((uv_stream_t *)&peer->pipe) < peer->unread)
    expect(peer); /* it reads, if slowly */
  else
    close_peer(peer);
}

/* Asks what the next whole line asks, if nothing is under way. */
static void next_question(struct hf_control_peer *peer) {
  while (!peer->closing && !peer->ask) {
    const char *end = peer->in.len > peer->searched
                          ? memchr(peer->in.data + peer->searched, '\n', peer->in.len - peer->searched)
                          : NULL;
    if (!end) {
      peer->searched = peer->in.len;
      return;
    }
    size_t len = (size_t)(end - peer->in.data);
    int r = len ? peer->control->handler.ask(peer->control->handler.context, peer, (struct hf_str){peer->in.data, len},
                                             &peer->ask)
                : 0;
    if (r < 0) {
      close_peer(peer);
      return;
    }
    if (peer->ask)
      uv_timer_stop(&peer->patience);
    hf_buf_consume(&peer->in, len + 1);
    peer->searched = 0;
  }
}

static void on_written(uv_write_t *write, int status) {
  struct answer *answer = HF_CONTAINER_OF(write, struct answer, write);
  struct hf_control_peer *peer = write->handle->data;
  hf_buf_deinit(&answer->text);
  hf_free(answer);
  if (status < 0)
    close_peer(peer);
  else
    next_question(peer);
}

/* Appends `text`, which is JSON, as one line: line breaks between its tokens are white space like any other. */
static int append_line(struct hf_buf *buf, struct hf_str text) {
  size_t at = buf->len;
  int r = hf_buf_append_str(buf, text);
  for (; r == 0 && at < buf->len; at++)
    if (buf->data[at] == '\n' || buf->data[at] == '\r')
      buf->data[at] = ' ';
  return r < 0 ? r : hf_buf_append(buf, "\n", 1);
}

static void send_line(struct hf_control_peer *peer, struct hf_str text) {
  struct answer *answer = hf_calloc(1, sizeof *answer);
  if (!answer) {
    close_peer(peer);
    return;
  }
  hf_buf_init(&answer->text, text.len + 1);
  int r = append_line(&answer->text, text);
  const uv_buf_t buf = uv_buf_init(answer->text.data, (unsigned)answer->text.len);
  if (r < 0 || uv_write(&answer->write, (uv_stream_t *)&peer->pipe, &buf, 1, on_written) < 0) {
    hf_buf_deinit(&answer->text);
    hf_free(answer);
    close_peer(peer);
  }
}

void hf_control_answer(struct hf_control_peer *peer, struct hf_str text) {
  peer->ask = NULL;
  send_line(peer, text);
  expect(peer);
}

void hf_control_tell(struct hf_control_peer *peer, struct hf_str text) {
  if (uv_stream_get_write_queue_size((uv_stream_t *)&peer->pipe) < TELL_BACKLOG)
    send_line(peer, text);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  (void)suggested;
  struct hf_control_peer *peer = handle->data;
  *buf = uv_buf_init(peer->bytes, sizeof peer->bytes);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
  struct hf_control_peer *peer = stream->data;
  peer->control->handler.advance(peer->control->handler.context);
  if (n < 0 || (n > 0 && hf_buf_append(&peer->in, buf->base, (size_t)n) < 0))
    close_peer(peer);
  else
    next_question(peer);
}

static bool is_own_user(uv_pipe_t *pipe) {
  uv_os_fd_t fd;
  struct ucred cred;
  socklen_t len = sizeof cred;
  return uv_fileno((uv_handle_t *)pipe, &fd) == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
         (cred.uid == geteuid() || cred.uid == 0);
}

static void on_connection(uv_stream_t *listener, int status) {
  struct hf_control *control = listener->data;
  struct hf_control_peer *peer = status == 0 ? hf_calloc(1, sizeof *peer) : NULL;
  if (!peer)
    return;
  peer->control = control;
  peer->pipe.data = peer;
  hf_buf_init(&peer->in, QUESTION_MAX);
  hf_list_init(&peer->link);
  uv_pipe_init(listener->loop, &peer->pipe, 0);
  uv_timer_init(listener->loop, &peer->patience);
  peer->patience.data = peer;
  control->peer_count++;
  bool good = uv_accept(listener, (uv_stream_t *)&peer->pipe) == 0 && control->peer_count <= PEERS_MAX &&
              is_own_user(&peer->pipe) && uv_read_start((uv_stream_t *)&peer->pipe, on_alloc, on_read) == 0;
  if (good) {
    hf_list_push_back(&control->peers, &peer->link);
    expect(peer);
  } else {
    close_peer(peer);
  }
}

static int put_address(const char *path, struct sockaddr_un *address, struct hf_error *reterr) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address->sun_path)
    return hf_error_set(reterr, HF_ERR_LIMIT, "the path of the control socket is too long: '%s'", path);
  memcpy(address->sun_path, path, strlen(path));
  return 0;
}

static int connect_to(const char *path, struct hf_error *reterr) {
  struct sockaddr_un address;
  int r = put_address(path, &address, reterr);
  if (r < 0)
    return r;
  const struct timeval patience = {.tv_sec = PATIENCE_S};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0)
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
    return fd;
  int e = errno;
  if (fd >= 0)
    close(fd);
  return hf_error_set(reterr, HF_ERR_UNAVAILABLE, "no gateway answers at '%s': %s", path, strerror(e));
}

/* Makes the directories on the way to the socket, for this user only. */
static void make_directories(const char *path) {
  char copy[PATH_MAX];
  size_t len = strlen(path);
  if (len >= sizeof copy)
    return;
  memcpy(copy, path, len + 1);
  for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(copy, 0700);
    *slash = '/';
  }
}

/* A socket that nobody listens at is left over from a gateway that was killed. */
static int bind_socket(const char *path, struct hf_error *reterr) {
  struct sockaddr_un address;
  int r = put_address(path, &address, reterr);
  if (r < 0)
    return r;
  int other = connect_to(path, NULL);
  if (other >= 0) {
    close(other);
    return hf_error_set(reterr, HF_ERR_BUSY, "another gateway listens at '%s'", path);
  }
  make_directories(path);
  struct stat st;
  if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
    unlink(path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  mode_t mask = umask(0177);
  int bound = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&address, sizeof address);
  int e = errno;
  umask(mask);
  if (bound == 0)
    return fd;
  if (fd >= 0)
    close(fd);
  return hf_error_set(reterr, HF_ERR_IO, "cannot make the control socket '%s': %s", path, strerror(e));
}

static void on_listener_closed(uv_handle_t *handle) {
  struct hf_control *control = handle->data;
  hf_free(control->path);
  control->path = NULL;
  free_if_done(control);
}

int hf_control_new(uv_loop_t *uv, const char *path, const struct hf_control_handler *handler,
                   struct hf_control **ret_control, struct hf_error *reterr) {
  struct hf_control *control = hf_calloc(1, sizeof *control);
  char *copy = hf_strndup(path, strlen(path));
  if (!control || !copy) {
    hf_free(copy);
    hf_free(control);
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  }
  int fd = bind_socket(path, reterr);
  if (fd < 0) {
    hf_free(copy);
    hf_free(control);
    return fd;
  }
  control->handler = *handler;
  control->path = copy;
  control->listener.data = control;
  hf_list_init(&control->peers);
  uv_pipe_init(uv, &control->listener, 0);
  if (uv_pipe_open(&control->listener, fd) < 0) {
    close(fd);
    hf_control_free(control);
    return hf_error_set(reterr, HF_ERR_IO, "cannot use the control socket '%s'", path);
  }
  if (uv_listen((uv_stream_t *)&control->listener, BACKLOG, on_connection) < 0) {
    hf_control_free(control);
    return hf_error_set(reterr, HF_ERR_IO, "cannot listen at the control socket '%s'", path);
  }
  *ret_control = control;
  return 0;
}

void hf_control_free(struct hf_control *control) {
  if (!control)
    return;
  struct hf_list *it;
  struct hf_list *next;
  control->closing = true;
  HF_LIST_FOREACH (it, next, &control->peers)
    close_peer(HF_CONTAINER_OF(it, struct hf_control_peer, link));
  unlink(control->path);
  uv_close((uv_handle_t *)&control->listener, on_listener_closed);
}

char *hf_control_path(void) {
  const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime && runtime[0] == '/')
    return hf_concat(runtime, "/holdfast/control.sock");
  return hf_state_path(NULL, "control.sock");
}

static int write_all(int fd, struct hf_str text) {
  while (text.len) {
    ssize_t n = send(fd, text.ptr, text.len, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return HF_ERR_IO;
    text.ptr += n;
    text.len -= (size_t)n;
  }
  return 0;
}

/* Hands out the whole lines that are there, but for the answer, which stays in `in` with its line break. Returns 0 once
 * it has come, HF_ERR_AGAIN if it has not, or what `line` returned. */
static int hand_out_lines(struct hf_buf *in, hf_control_line_fn *line, void *context) {
  const struct hf_str more = HF_STR(HF_CONSOLE_MORE);
  for (;;) {
    const char *end = in->len ? memchr(in->data, '\n', in->len) : NULL;
    if (!end)
      return HF_ERR_AGAIN;
    struct hf_str text = {in->data, (size_t)(end - in->data)};
    if (!hf_str_starts(text, more))
      return 0;
    int r = line ? line(context, text) : 0;
    if (r < 0)
      return r;
    hf_buf_consume(in, text.len + 1);
  }
}

static int read_answer(int fd, hf_control_line_fn *line, void *context, struct hf_buf *answer) {
  for (;;) {
    int r = hf_buf_reserve(answer, READ_BYTES);
    if (r < 0)
      return r;
    ssize_t n = recv(fd, answer->data + answer->len, READ_BYTES, 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n < 0 && errno == EAGAIN ? HF_ERR_TIMEOUT : HF_ERR_CLOSED;
    bool ends = memchr(answer->data + answer->len, '\n', (size_t)n) != NULL;
    answer->len += (size_t)n;
    r = ends ? hand_out_lines(answer, line, context) : HF_ERR_AGAIN;
    if (r == 0)
      answer->len = (size_t)((const char *)memchr(answer->data, '\n', answer->len) - answer->data);
    if (r != HF_ERR_AGAIN)
      return r;
  }
}

/* `patience_s` 0: for ever. */
static int ask(const char *path, struct hf_str question, time_t patience_s, hf_control_line_fn *on_line, void *context,
               struct hf_buf *ret_answer, struct hf_error *reterr) {
  int fd = connect_to(path, reterr);
  if (fd < 0)
    return fd;
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = patience_s}, sizeof(struct timeval));
  struct hf_buf line;
  hf_buf_init(&line, QUESTION_MAX);
  int r = append_line(&line, question);
  if (r == 0)
    r = write_all(fd, hf_buf_str(&line));
  if (r == 0)
    r = read_answer(fd, on_line, context, ret_answer);
  hf_buf_deinit(&line);
  close(fd);
  return r < 0 ? hf_error_set(reterr, r, "the gateway at '%s' gave no answer: %s", path, hf_err_text(r)) : 0;
}

int hf_control_follow(const char *path, struct hf_str question, hf_control_line_fn *on_line, void *context,
                      struct hf_buf *ret_answer, struct hf_error *reterr) {
  return ask(path, question, 0, on_line, context, ret_answer, reterr);
}

int hf_control_call(const char *path, struct hf_str question, struct hf_buf *ret_answer, struct hf_error *reterr) {
  return ask(path, question, PATIENCE_S, NULL, NULL, ret_answer, reterr);
}
