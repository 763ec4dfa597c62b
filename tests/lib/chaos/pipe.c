#include "pipe.h"

#include "pick.h"

#include "base/alloc.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct chaos_pipe {
  uv_loop_t *loop;
  struct chaos *chaos;
  uv_pipe_t in_pipe;
  uv_pipe_t out_pipe;
  struct hf_buf in;
  bool echo_noise;
};

/* An answer on its way: with a delay, or with progress before it. */
struct pending {
  uv_timer_t timer;
  struct chaos_pipe *pipe;
  struct chaos_answer answer;
  long step;
};

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

static void written(uv_write_t *req, int status) {
  (void)status; /* whoever read us is gone; end of input ends us too */
  hf_free(req);
}

static void put(struct chaos_pipe *pipe, struct hf_str bytes) {
  struct write *write = hf_malloc(sizeof *write + bytes.len + 1);
  chaos_must(write == NULL);
  memcpy(write->bytes, bytes.ptr, bytes.len);
  uv_buf_t buf = uv_buf_init(write->bytes, (unsigned)bytes.len);
  if (uv_write(&write->req, (uv_stream_t *)&pipe->out_pipe, &buf, 1, written) != 0) {
    hf_free(write);
  }
}

/* One byte at a time, blocking: nothing may come between them. */
static void put_slowly(struct hf_str bytes, long ms) {
  enum { MS_NS = 1000000 };
  for (size_t i = 0; i < bytes.len; i++) {
    if (write(STDOUT_FILENO, bytes.ptr + i, 1) < 0) {
      return;
    }
    nanosleep(&(struct timespec){.tv_nsec = ms * MS_NS}, NULL);
  }
}

static void put_big_line(struct hf_buf *line, long bytes) {
  for (long i = 0; i < bytes; i++) {
    chaos_must(hf_buf_append(line, "#", 1));
  }
  chaos_must(hf_buf_append(line, "\n", 1));
}

static void put_line(struct hf_buf *line, const struct chaos_answer *answer) {
  const char *after = "\n";
  if (answer->fault.kind == CHAOS_NOISE) {
    if (answer->fault.number > 0) { /* noise:70000 is a line of that many bytes */
      put_big_line(line, answer->fault.number);
    }
    for (size_t i = 0; i < sizeof noises / sizeof noises[0]; i++) {
      if (strcmp(noises[i].style, answer->fault.text) == 0) {
        chaos_must(hf_buf_append_str(line, hf_str_from(noises[i].before)));
        after = noises[i].after;
      }
    }
  }
  chaos_must(hf_buf_append_str(line, hf_buf_str(&answer->body)));
  chaos_must(hf_buf_append_str(line, hf_str_from(after)));
}

static void put_status(struct chaos_answer *answer) {
  hf_buf_reset(&answer->body, 0);
  chaos_must(hf_buf_printf(&answer->body,
                           "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32000,\"message\":\"status %ld\"}}",
                           HF_STR_FMT(hf_buf_str(&answer->id)), answer->fault.number));
}

static void answer_now(struct chaos_pipe *pipe, struct chaos_answer *answer) {
  const struct chaos_fault *fault = &answer->fault;
  struct hf_buf line;
  hf_buf_init(&line, CHAOS_MESSAGE_MAX);
  if (fault->kind == CHAOS_STATUS) {
    put_status(answer);
  }
  put_line(&line, answer);
  size_t part = (size_t)fault->number < line.len ? (size_t)fault->number : line.len;
  switch ((int)fault->kind) {
  case CHAOS_SLOW:
    put_slowly(hf_buf_str(&line), fault->number);
    break;
  case CHAOS_CUT:
  case CHAOS_CUT_CLOSE:
    put_slowly((struct hf_str){line.data, part}, 0);
    _exit(1);
  case CHAOS_STALL_AFTER:
    put(pipe, (struct hf_str){line.data, part});
    break;
  default:
    put(pipe, hf_buf_str(&line));
  }
  hf_buf_deinit(&line);
}

static void pending_closed(uv_handle_t *handle) {
  struct pending *pending = handle->data;
  chaos_answer_deinit(&pending->answer);
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
    hf_buf_init(&note, CHAOS_MESSAGE_MAX);
    chaos_answer_progress(&pending->answer, pending->step, &note);
    chaos_must(hf_buf_append(&note, "\n", 1));
    put(pending->pipe, hf_buf_str(&note));
    hf_buf_deinit(&note);
  }
  uv_timer_start(timer, pending_tick, (uint64_t)pending->answer.step_ms, 0);
}

/* Takes the answer. */
static void answer_later(struct chaos_pipe *pipe, struct chaos_answer *answer, long ms) {
  struct pending *pending = hf_calloc(1, sizeof *pending);
  chaos_must(pending == NULL);
  pending->pipe = pipe;
  pending->answer = *answer;
  chaos_answer_init(answer);
  uv_timer_init(pipe->loop, &pending->timer);
  pending->timer.data = pending;
  uv_timer_start(&pending->timer, pending_tick, (uint64_t)ms, 0);
}

static void serve_line(struct chaos_pipe *pipe, struct hf_str line) {
  if (pipe->echo_noise) {
    put(pipe, HF_STR("log: got a line\n"));
  }
  struct chaos_answer answer;
  chaos_answer_init(&answer);
  struct chaos_request request = {.message = line};
  chaos_serve(pipe->chaos, &request, &answer);
  switch ((int)answer.fault.kind) {
  case CHAOS_RESET:
  case CHAOS_CLOSE:
    _exit(1);
  case CHAOS_DEATH:
    _exit((int)answer.fault.number);
  case CHAOS_KILL:
    raise(SIGKILL);
    break;
  case CHAOS_STALL:
    break;
  case CHAOS_DELAY:
    answer_later(pipe, &answer, answer.fault.number);
    break;
  default:
    if (answer.steps > 0) {
      answer_later(pipe, &answer, answer.step_ms);
    } else if (answer.status != 202) {
      answer_now(pipe, &answer);
    }
  }
  chaos_answer_deinit(&answer);
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
  struct chaos_pipe *pipe = handle->data;
  chaos_must(hf_buf_reserve(&pipe->in, suggested));
  *buf = uv_buf_init(pipe->in.data + pipe->in.len, (unsigned)suggested);
}

static void input_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
  (void)buf;
  struct chaos_pipe *pipe = stream->data;
  if (got < 0) {
    uv_close((uv_handle_t *)stream, NULL);
    return;
  }
  pipe->in.len += (size_t)got;
  const char *end;
  size_t used = 0;
  while ((end = memchr(pipe->in.data + used, '\n', pipe->in.len - used)) != NULL) {
    size_t len = (size_t)(end - pipe->in.data) - used;
    serve_line(pipe, (struct hf_str){pipe->in.data + used, len});
    used += len + 1;
  }
  hf_buf_consume(&pipe->in, used);
}

struct chaos_pipe *chaos_pipe_new(uv_loop_t *loop, struct chaos *chaos, bool echo_noise) {
  struct chaos_pipe *pipe = hf_calloc(1, sizeof *pipe);
  chaos_must(pipe == NULL);
  *pipe = (struct chaos_pipe){.loop = loop, .chaos = chaos, .echo_noise = echo_noise};
  hf_buf_init(&pipe->in, CHAOS_MESSAGE_MAX);
  uv_pipe_init(loop, &pipe->in_pipe, 0);
  uv_pipe_init(loop, &pipe->out_pipe, 0);
  pipe->in_pipe.data = pipe->out_pipe.data = pipe;
  int rc = uv_pipe_open(&pipe->out_pipe, STDOUT_FILENO);
  rc = rc == 0 ? uv_pipe_open(&pipe->in_pipe, STDIN_FILENO) : rc;
  rc = rc == 0 ? uv_read_start((uv_stream_t *)&pipe->in_pipe, give_room, input_read) : rc;
  if (rc != 0) {
    fprintf(stderr, "chaos: standard input and output must be pipes: %s\n", uv_strerror(rc));
    exit(2);
  }
  return pipe;
}

void chaos_pipe_free(struct chaos_pipe *pipe) {
  hf_buf_deinit(&pipe->in);
  hf_free(pipe);
}
