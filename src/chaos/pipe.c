#include "chaos/pipe.h"

#include "chaos/pick.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct hf_chaos_pipe {
  uv_loop_t *loop;
  struct hf_chaos_pipe_owner owner;
  uv_pipe_t in_pipe; /* open unless the input is a file */
  uv_pipe_t out_pipe;
  uv_fs_t in_file;
  struct hf_buf in;
  size_t looked_at; /* bytes of `in` that hold no line end */
};

/* An answer on its way: with a delay, or with progress before it. */
struct pending {
  uv_timer_t timer;
  struct hf_chaos_pipe *pipe;
  struct hf_chaos_answer answer;
  long step;
};

enum { PATIENCE_MS = 60 * 1000 };

struct write {
  uv_write_t req;
  char bytes[];
};

static const struct {
  const char *style;
  const char *before;
  const char *after; /* ends the line */
} noises[] = {
    {"banner", "Starting the server on port 3000...\nReady.\n", "\n"},
    {"blank", "\n\n   \n\r\n", "\n\n"},
    {"crlf", "", "\r\n"},
    {"bom", "\xEF\xBB\xBF", "\n"},
    {"spaces", "  ", "  \t\n"},
    {"values", "[1,2]\n\"text\"\n123\nnull\n{}\ntrue\n", "\n"},
    {"emoji", "\xF0\x9F\x9A\x80 \x1B[32mserver running\x1B[0m\n", "\n"},
    {"glued", "log without a line end: ", "\n"},
    {"two", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}",
     "\n"},
    {"utf8", "\xFF\xFE not text \xC3\n", "\n"},
};

static _Noreturn void die(struct hf_chaos_pipe *pipe, int code) {
  pipe->owner.dying(pipe->owner.data);
  _exit(code);
}

static void written(uv_write_t *req, int status) {
  (void)status; /* whoever read us is gone; end of input ends us too */
  hf_free(req);
}

void hf_chaos_pipe_put(struct hf_chaos_pipe *pipe, struct hf_str bytes) {
  if (uv_stream_get_write_queue_size((uv_stream_t *)&pipe->out_pipe) > HF_CHAOS_MESSAGE_MAX) {
    (void)fputs("chaos: nobody reads the output\n", stderr);
    die(pipe, 1);
  }
  struct write *write = hf_chaos_have(hf_malloc(sizeof *write + bytes.len + 1));
  memcpy(write->bytes, bytes.ptr, bytes.len);
  uv_buf_t buf = uv_buf_init(write->bytes, (unsigned)bytes.len);
  if (uv_write(&write->req, (uv_stream_t *)&pipe->out_pipe, &buf, 1, written) != 0) {
    hf_free(write);
  }
}

/* One byte at a time, blocking: nothing may come between them. */
static void put_slowly(struct hf_str bytes, long ms) {
  enum { MS_PER_S = 1000, MS_NS = 1000000 };
  for (size_t i = 0; i < bytes.len;) {
    if (write(STDOUT_FILENO, bytes.ptr + i, 1) == 1) {
      i++;
      nanosleep(&(struct timespec){.tv_sec = ms / MS_PER_S, .tv_nsec = ms % MS_PER_S * MS_NS}, NULL);
    } else if (errno != EAGAIN || poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, PATIENCE_MS) != 1) {
      return;
    }
  }
}

static void put_big_line(struct hf_buf *line, long bytes) {
  for (long i = 0; i < bytes; i++) {
    hf_chaos_must(hf_buf_append(line, "#", 1));
  }
  hf_chaos_must(hf_buf_append(line, "\n", 1));
}

static void put_line(struct hf_buf *line, const struct hf_chaos_answer *answer) {
  const char *after = "\n";
  if (answer->fault.kind == HF_CHAOS_NOISE) {
    if (answer->fault.number > 0) { /* noise:70000 is a line of that many bytes */
      put_big_line(line, answer->fault.number);
    }
    for (size_t i = 0; i < sizeof noises / sizeof noises[0]; i++) {
      if (strcmp(noises[i].style, answer->fault.text) == 0) {
        hf_chaos_must(hf_buf_append_str(line, hf_str_from(noises[i].before)));
        after = noises[i].after;
      }
    }
  }
  hf_chaos_must(hf_buf_append_str(line, hf_buf_str(&answer->body)));
  hf_chaos_must(hf_buf_append_str(line, hf_str_from(after)));
}

static void put_status(struct hf_chaos_answer *answer) {
  hf_buf_reset(&answer->body, 0);
  hf_chaos_must(hf_buf_printf(
      &answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32000,\"message\":\"status %ld\"}}",
      HF_STR_FMT(hf_buf_str(&answer->id)), answer->fault.number));
}

static void answer_now(struct hf_chaos_pipe *pipe, struct hf_chaos_answer *answer) {
  const struct hf_chaos_fault *fault = &answer->fault;
  struct hf_buf line;
  hf_buf_init(&line, HF_CHAOS_MESSAGE_MAX);
  if (fault->kind == HF_CHAOS_STATUS) {
    put_status(answer);
  }
  put_line(&line, answer);
  size_t part = (size_t)fault->number < line.len ? (size_t)fault->number : line.len;
  switch ((int)fault->kind) {
  case HF_CHAOS_SLOW:
    put_slowly(hf_buf_str(&line), fault->number);
    break;
  case HF_CHAOS_CUT:
  case HF_CHAOS_CUT_CLOSE:
    put_slowly((struct hf_str){line.data, part}, 0);
    die(pipe, 1);
  case HF_CHAOS_TRUNCATED: /* the line ends in the middle of the message */
    hf_chaos_pipe_put(pipe, (struct hf_str){line.data, line.len / 2});
    hf_chaos_pipe_put(pipe, HF_STR("\n"));
    break;
  case HF_CHAOS_STALL_AFTER:
    hf_chaos_pipe_put(pipe, (struct hf_str){line.data, part});
    break;
  default:
    hf_chaos_pipe_put(pipe, hf_buf_str(&line));
  }
  hf_buf_deinit(&line);
}

static void pending_closed(uv_handle_t *handle) {
  struct pending *pending = handle->data;
  hf_chaos_answer_deinit(&pending->answer);
  hf_free(pending);
}

static void pending_tick(uv_timer_t *timer) {
  struct pending *pending = timer->data;
  if (++pending->step > pending->answer.steps) {
    answer_now(pending->pipe, &pending->answer);
    uv_close((uv_handle_t *)timer, pending_closed);
    return;
  }
  if (pending->answer.token.len > 0) {
    struct hf_buf note;
    hf_buf_init(&note, HF_CHAOS_MESSAGE_MAX);
    hf_chaos_answer_progress(&pending->answer, pending->step, &note);
    hf_chaos_must(hf_buf_append(&note, "\n", 1));
    hf_chaos_pipe_put(pending->pipe, hf_buf_str(&note));
    hf_buf_deinit(&note);
  }
  uv_timer_start(timer, pending_tick, (uint64_t)pending->answer.step_ms, 0);
}

/* Takes the answer. */
static void answer_later(struct hf_chaos_pipe *pipe, struct hf_chaos_answer *answer, long ms) {
  struct pending *pending = hf_chaos_have(hf_calloc(1, sizeof *pending));
  pending->pipe = pipe;
  pending->answer = *answer;
  hf_chaos_answer_init(answer);
  uv_timer_init(pipe->loop, &pending->timer);
  pending->timer.data = pending;
  uv_timer_start(&pending->timer, pending_tick, (uint64_t)ms, 0);
}

void hf_chaos_pipe_answer(struct hf_chaos_pipe *pipe, struct hf_chaos_answer *answer) {
  switch ((int)answer->fault.kind) {
  case HF_CHAOS_RESET:
  case HF_CHAOS_CLOSE:
  case HF_CHAOS_REFUSE:
    die(pipe, 1);
  case HF_CHAOS_DEATH:
    die(pipe, (int)answer->fault.number);
  case HF_CHAOS_KILL:
    pipe->owner.dying(pipe->owner.data);
    (void)raise(SIGKILL);
    break;
  case HF_CHAOS_STALL:
  case HF_CHAOS_LATE:
    break;
  case HF_CHAOS_DELAY:
    answer_later(pipe, answer, answer->fault.number);
    break;
  default:
    if (answer->steps > 0) {
      answer_later(pipe, answer, answer->step_ms);
    } else {
      answer_now(pipe, answer);
    }
  }
  hf_chaos_answer_deinit(answer);
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  struct hf_chaos_pipe *pipe = handle->data;
  hf_chaos_must(hf_buf_reserve(&pipe->in, suggested));
  *buf = uv_buf_init(pipe->in.data + pipe->in.len, (unsigned)suggested);
}

static size_t leading_blanks(struct hf_str line) {
  size_t blank = 0;
  while (blank < line.len && strchr(" \t\r", line.ptr[blank]) != NULL && line.ptr[blank] != '\0') {
    blank++;
  }
  return blank;
}

static void take_lines(struct hf_chaos_pipe *pipe) {
  const char *end;
  size_t used = 0;
  size_t from = pipe->looked_at;
  while ((end = memchr(pipe->in.data + from, '\n', pipe->in.len - from)) != NULL) {
    size_t len = (size_t)(end - pipe->in.data) - used;
    struct hf_str line = {pipe->in.data + used, len};
    if (leading_blanks(line) < len) {
      pipe->owner.line(pipe->owner.data, line);
    }
    used += len + 1;
    from = used;
  }
  hf_buf_consume(&pipe->in, used);
  pipe->looked_at = pipe->in.len;
}

static void input_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
  (void)buf;
  struct hf_chaos_pipe *pipe = stream->data;
  if (got < 0) {
    hf_chaos_pipe_close_input(pipe);
    pipe->owner.eof(pipe->owner.data);
    return;
  }
  pipe->in.len += (size_t)got;
  take_lines(pipe);
}

/* Files and /dev/null cannot be watched: they are read in a thread of libuv's pool. */
static int read_file(struct hf_chaos_pipe *pipe);

static void file_read(uv_fs_t *req) {
  struct hf_chaos_pipe *pipe = req->data;
  ssize_t got = req->result;
  uv_fs_req_cleanup(req);
  if (uv_is_closing((uv_handle_t *)&pipe->in_pipe)) {
    return;
  }
  input_read((uv_stream_t *)&pipe->in_pipe, got == 0 ? UV_EOF : got, NULL);
  if (got > 0 && read_file(pipe) != 0) {
    input_read((uv_stream_t *)&pipe->in_pipe, UV_EOF, NULL);
  }
}

static int read_file(struct hf_chaos_pipe *pipe) {
  enum { CHUNK = 64 << 10, WHERE_IT_IS = -1 };
  if (uv_is_closing((uv_handle_t *)&pipe->in_pipe)) {
    return 0;
  }
  uv_buf_t buf;
  give_room((uv_handle_t *)&pipe->in_pipe, CHUNK, &buf);
  pipe->in_file.data = pipe;
  return uv_fs_read(pipe->loop, &pipe->in_file, STDIN_FILENO, &buf, 1, WHERE_IT_IS, file_read);
}

static int read_input(struct hf_chaos_pipe *pipe) {
  switch ((int)uv_guess_handle(STDIN_FILENO)) {
  case UV_FILE:
    return read_file(pipe);
  case UV_UNKNOWN_HANDLE: /* a directory, say */
    return UV_EINVAL;
  default:
    break;
  }
  int rc = uv_pipe_open(&pipe->in_pipe, STDIN_FILENO);
  return rc == 0 ? uv_read_start((uv_stream_t *)&pipe->in_pipe, give_room, input_read) : rc;
}

void hf_chaos_pipe_close_input(struct hf_chaos_pipe *pipe) {
  if (!uv_is_closing((uv_handle_t *)&pipe->in_pipe)) {
    uv_close((uv_handle_t *)&pipe->in_pipe, NULL);
  }
}

int hf_chaos_pipe_new(uv_loop_t *loop, const struct hf_chaos_pipe_owner *owner, struct hf_chaos_pipe **ret_pipe,
                      struct hf_error *reterr) {
  struct hf_chaos_pipe *pipe = hf_calloc(1, sizeof *pipe);
  if (pipe == NULL) {
    return hf_error_set(reterr, HF_ERR_NOMEM, "chaos: out of memory");
  }
  *pipe = (struct hf_chaos_pipe){.loop = loop, .owner = *owner};
  hf_buf_init(&pipe->in, HF_CHAOS_MESSAGE_MAX);
  uv_pipe_init(loop, &pipe->in_pipe, 0);
  uv_pipe_init(loop, &pipe->out_pipe, 0);
  pipe->in_pipe.data = pipe->out_pipe.data = pipe;
  int rc = uv_pipe_open(&pipe->out_pipe, STDOUT_FILENO);
  rc = rc == 0 ? read_input(pipe) : rc;
  *ret_pipe = pipe;
  return rc == 0 ? 0 : hf_error_set(reterr, HF_ERR_IO, "chaos: standard input and output: %s", uv_strerror(rc));
}

void hf_chaos_pipe_free(struct hf_chaos_pipe *pipe) {
  if (pipe != NULL) {
    hf_chaos_pipe_close_input(pipe);
    uv_close((uv_handle_t *)&pipe->out_pipe, NULL);
    uv_run(pipe->loop, UV_RUN_DEFAULT);
    hf_buf_deinit(&pipe->in);
    hf_free(pipe);
  }
}
