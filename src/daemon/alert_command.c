#include "daemon/alert_command.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"

#include <signal.h>

enum { ARGV_BYTES_MAX = 1 << 20, TEXT_MAX = 64 << 10, STDIO = 3 };

struct hf_alert_command {
  uv_loop_t *uv;
  struct hf_loop *loop;
  struct hf_arena arena; /* of `argv` */
  char **argv;
  hf_time patience;
  struct hf_list runs;
  size_t run_count;
};

/* One process. It goes when both its handles are closed. */
struct run {
  struct hf_list link;
  struct hf_alert_command *command; /* NULL once that is gone */
  uv_process_t process;
  uv_pipe_t in;
  uv_write_t write;
  struct hf_timer timer;
  struct hf_buf text;
  unsigned handles; /* that are open */
  bool killed;
};

static void on_closed(uv_handle_t *handle) {
  struct run *run = handle->data;
  if (--run->handles > 0)
    return;
  hf_buf_deinit(&run->text);
  hf_free(run);
}

static void close_handle(uv_handle_t *handle) {
  if (!uv_is_closing(handle))
    uv_close(handle, on_closed);
}

/* Takes it out of the command's hands. */
static void leave(struct run *run) {
  struct hf_alert_command *command = run->command;
  if (!command)
    return;
  run->command = NULL;
  hf_list_remove(&run->link);
  command->run_count--;
  hf_timer_deinit(command->loop, &run->timer);
}

/* The whole group: it leads one of its own. */
static void kill_group(const struct run *run) {
  if (run->process.pid > 0)
    (void)kill(-run->process.pid, SIGKILL);
}

static void on_exit(uv_process_t *process, int64_t status, int signal) {
  struct run *run = process->data;
  struct hf_alert_command *command = run->command;
  if (command) {
    hf_loop_advance(command->loop, hf_clock_now(), hf_clock_wall_ms());
    if (status != 0 || signal != 0)
      hf_log_event(command->loop->log, HF_LOG_ERROR, "the command of an alert ended badly",
                   HF_LOG_STR("reason", run->killed ? HF_STR("it took too long and was killed") : HF_STR("its exit")),
                   HF_LOG_INT("code", status), HF_LOG_INT("signal", signal));
  }
  kill_group(run); /* what it left behind */
  leave(run);
  close_handle((uv_handle_t *)&run->in);
  close_handle((uv_handle_t *)process);
}

static void on_written(uv_write_t *write, int status) {
  struct run *run = HF_CONTAINER_OF(write, struct run, write);
  (void)status; /* it need not read */
  close_handle((uv_handle_t *)&run->in);
}

static void on_due(struct hf_timer *timer) {
  struct run *run = HF_CONTAINER_OF(timer, struct run, timer);
  run->killed = true;
  kill_group(run);
}

static int spawn(struct hf_alert_command *command, struct run *run) {
  uv_stdio_container_t stdio[STDIO] = {
      {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&run->in},
      {.flags = UV_IGNORE},
      {.flags = UV_IGNORE},
  };
  const uv_process_options_t options = {
      .exit_cb = on_exit,
      .file = command->argv[0],
      .args = command->argv,
      .flags = UV_PROCESS_DETACHED,
      .stdio = stdio,
      .stdio_count = STDIO,
  };
  return uv_spawn(command->uv, &run->process, &options);
}

static void start(struct hf_alert_command *command, struct run *run) {
  hf_list_push_back(&command->runs, &run->link);
  command->run_count++;
  hf_timer_set(command->loop, &run->timer, hf_time_add(command->loop->now, command->patience));
  const uv_buf_t line = uv_buf_init(run->text.data, (unsigned)run->text.len);
  if (uv_write(&run->write, (uv_stream_t *)&run->in, &line, 1, on_written) < 0)
    close_handle((uv_handle_t *)&run->in);
}

int hf_alert_command_run(struct hf_alert_command *command, struct hf_str text) {
  if (command->run_count >= HF_ALERT_COMMANDS_MAX)
    return HF_ERR_LIMIT;
  struct run *run = hf_calloc(1, sizeof *run);
  if (!run)
    return HF_ERR_NOMEM;
  run->command = command;
  hf_buf_init(&run->text, TEXT_MAX);
  int r = hf_buf_append_str(&run->text, text);
  if (r == 0)
    r = hf_buf_append_str(&run->text, HF_STR("\n")); /* so that a command that appends to a file gets lines */
  if (r == 0)
    r = hf_timer_init(command->loop, &run->timer, on_due);
  if (r < 0) {
    hf_buf_deinit(&run->text);
    hf_free(run);
    return r;
  }
  uv_pipe_init(command->uv, &run->in, 0);
  run->in.data = run->process.data = run;
  run->handles = 2;
  if (spawn(command, run) < 0) {
    hf_timer_deinit(command->loop, &run->timer);
    close_handle((uv_handle_t *)&run->in);
    close_handle((uv_handle_t *)&run->process);
    return HF_ERR_IO;
  }
  start(command, run);
  return 0;
}

static int copy_argv(struct hf_alert_command *command, const struct hf_strings *argv) {
  command->argv = hf_arena_alloc(&command->arena, (argv->count + 1) * sizeof *command->argv);
  for (size_t i = 0; command->argv && i < argv->count; i++) {
    const struct hf_str copy = hf_arena_copy(&command->arena, argv->item[i]);
    if (!copy.ptr)
      return HF_ERR_NOMEM;
    command->argv[i] = (char *)(uintptr_t)copy.ptr;
  }
  return command->argv ? 0 : HF_ERR_NOMEM;
}

int hf_alert_command_new(const struct hf_alert_command_options *options, struct hf_alert_command **ret_command) {
  struct hf_alert_command *command = hf_calloc(1, sizeof *command);
  if (!command)
    return HF_ERR_NOMEM;
  command->uv = options->uv;
  command->loop = options->loop;
  command->patience = options->patience ? options->patience : HF_SECONDS(30);
  hf_list_init(&command->runs);
  hf_arena_init(&command->arena, ARGV_BYTES_MAX);
  if (copy_argv(command, options->argv) < 0) {
    hf_alert_command_free(command);
    return HF_ERR_NOMEM;
  }
  *ret_command = command;
  return 0;
}

void hf_alert_command_free(struct hf_alert_command *command) {
  if (!command)
    return;
  while (!hf_list_empty(&command->runs)) {
    struct run *run = HF_CONTAINER_OF(command->runs.next, struct run, link);
    kill_group(run);
    leave(run);
    close_handle((uv_handle_t *)&run->in);
    close_handle((uv_handle_t *)&run->process);
  }
  hf_arena_deinit(&command->arena);
  hf_free(command);
}
