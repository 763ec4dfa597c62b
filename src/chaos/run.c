#include "chaos/run.h"

#include "chaos/bridge.h"
#include "chaos/http.h"
#include "chaos/late.h"
#include "chaos/ledger.h"
#include "chaos/pick.h"
#include "chaos/pipe.h"
#include "chaos/proxy.h"
#include "chaos/remote.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { GOOD, FAILED, USAGE, UNAVAILABLE, MS_PER_S = 1000, MS_NS = 1000000 };

static _Noreturn void hang(void) {
  for (;;) {
    pause();
  }
}

static int read_script(struct hf_chaos_plan *plan, const char *path, struct hf_error *reterr) {
  struct hf_buf text;
  FILE *file = fopen(path, "re");
  if (file == NULL) {
    return hf_error_set(reterr, HF_ERR_IO, "cannot open '%.200s': %s", path, strerror(errno));
  }
  hf_buf_init(&text, HF_CHAOS_SCRIPT_BYTES_MAX + 1);
  int rc = hf_buf_reserve(&text, HF_CHAOS_SCRIPT_BYTES_MAX + 1);
  if (rc == 0) {
    text.len = fread(text.data, 1, HF_CHAOS_SCRIPT_BYTES_MAX + 1, file);
    if (ferror(file)) {
      rc = hf_error_set(reterr, HF_ERR_IO, "cannot read '%.200s'", path);
    } else if (text.len > HF_CHAOS_SCRIPT_BYTES_MAX) {
      rc = hf_error_set(reterr, HF_ERR_LIMIT, "'%.200s' is longer than %d bytes", path, HF_CHAOS_SCRIPT_BYTES_MAX);
    } else {
      rc = hf_chaos_plan_add_script(plan, hf_buf_str(&text), reterr);
    }
  } else {
    (void)hf_error_set(reterr, rc, "%s", hf_err_text(rc));
  }
  hf_buf_deinit(&text);
  (void)fclose(file);
  return rc;
}

static int set_up(struct hf_chaos *chaos, const struct hf_chaos_options *options, struct hf_error *reterr) {
  if (options->faults != NULL && hf_chaos_plan_add_rates(&chaos->plan, options->faults, reterr) != 0) {
    (void)hf_error_wrap(reterr, "chaos: --fault");
    return USAGE;
  }
  if (options->script != NULL && read_script(&chaos->plan, options->script, reterr) != 0) {
    (void)hf_error_wrap(reterr, "chaos: --script");
    return USAGE;
  }
  if (options->script_text != NULL &&
      hf_chaos_plan_add_script(&chaos->plan, hf_str_from(options->script_text), reterr) != 0) {
    (void)hf_error_wrap(reterr, "chaos: script");
    return USAGE;
  }
  if (options->ledger != NULL) {
    chaos->ledger = hf_chaos_ledger_open(options->ledger, reterr);
    hf_chaos_memory_follow(&chaos->memory, options->ledger);
    return chaos->ledger < 0 ? UNAVAILABLE : GOOD;
  }
  return GOOD;
}

/* The stand-in on stdio. */
struct standin {
  uv_loop_t *loop;
  struct hf_chaos *chaos;
  struct hf_chaos_pipe *pipe;
  bool echo_noise;
};

static void standin_line(void *data, struct hf_str line) {
  struct standin *standin = data;
  if (standin->echo_noise) {
    hf_chaos_pipe_put(standin->pipe, HF_STR("log: got a line\n"));
  }
  struct hf_chaos_answer answer;
  hf_chaos_answer_init(&answer);
  const struct hf_chaos_request request = {.message = line};
  hf_chaos_serve(standin->chaos, &request, &answer);
  if (answer.fault.kind == HF_CHAOS_LATE) {
    hf_chaos_late(standin->loop, standin->chaos, &request, answer.fault.number);
  }
  if (answer.status == 202) {
    hf_chaos_answer_deinit(&answer);
  } else {
    hf_chaos_pipe_answer(standin->pipe, &answer);
  }
}

static void nothing(void *data) {
  (void)data;
}

static void exit_tick(uv_timer_t *timer) {
  (void)timer;
  (void)fputs("chaos: exiting later, as told\n", stderr);
  exit(1);
}

static int run_stdio(uv_loop_t *loop, struct hf_chaos *chaos, const struct hf_chaos_options *options,
                     struct hf_error *reterr) {
  uv_timer_t timer;
  struct standin standin = {.loop = loop, .chaos = chaos, .echo_noise = options->echo_noise};
  const struct hf_chaos_pipe_owner owner = {&standin, standin_line, nothing, nothing};
  if (options->grandchild && fork() == 0) {
    hf_chaos_ledger_add(chaos->ledger, "grandchild", "", (struct hf_str){NULL, 0});
    hang();
  }
  if (hf_chaos_pipe_new(loop, &owner, &standin.pipe, reterr) != 0) {
    hf_chaos_pipe_free(standin.pipe);
    return UNAVAILABLE;
  }
  uv_timer_init(loop, &timer);
  if (options->exit_after_ms > 0) {
    uv_timer_start(&timer, exit_tick, options->exit_after_ms, 0);
    if (!options->ignore_eof) {
      uv_unref((uv_handle_t *)&timer);
    }
  } else if (options->ignore_eof) {
    uv_timer_start(&timer, exit_tick, HF_CHAOS_WAIT_MS_MAX, 0);
  }
  uv_run(loop, UV_RUN_DEFAULT);
  uv_close((uv_handle_t *)&timer, NULL);
  hf_chaos_pipe_free(standin.pipe);
  return GOOD;
}

static int run_http(uv_loop_t *loop, struct hf_chaos *chaos, const struct hf_chaos_options *options,
                    const struct hf_chaos_back *back, struct hf_error *reterr) {
  int port = 0;
  struct hf_chaos_http *http = hf_chaos_http_new(loop, chaos, (int)options->port, back, &port, reterr);
  if (http == NULL) {
    return UNAVAILABLE;
  }
  printf("%d\n", port);
  if (fflush(stdout) != 0) {
    (void)hf_error_set(reterr, HF_ERR_IO, "chaos: cannot print the port: %s", strerror(errno));
    return UNAVAILABLE;
  }
  uv_run(loop, UV_RUN_DEFAULT);
  hf_chaos_http_free(http);
  return GOOD;
}

static int run_remote(uv_loop_t *loop, struct hf_chaos *chaos, const struct hf_chaos_options *options,
                      struct hf_error *reterr) {
  struct hf_chaos_remote *remote;
  int rc = hf_chaos_remote_new(loop, chaos, options->url, &remote, reterr);
  if (rc != 0) {
    return rc == HF_ERR_INVALID ? USAGE : UNAVAILABLE;
  }
  rc = run_http(loop, chaos, options, hf_chaos_remote_back(remote), reterr);
  hf_chaos_remote_free(remote);
  return rc;
}

static int run_bridge(uv_loop_t *loop, struct hf_chaos *chaos, const struct hf_chaos_options *options,
                      struct hf_error *reterr) {
  struct hf_chaos_bridge *bridge;
  if (hf_chaos_bridge_new(loop, chaos, options->command, &bridge, reterr) != 0) {
    return UNAVAILABLE;
  }
  int rc = run_http(loop, chaos, options, hf_chaos_bridge_back(bridge), reterr);
  hf_chaos_bridge_free(bridge);
  return rc;
}

/* Misbehaves before anything is served. */
static void misbehave(const struct hf_chaos_options *options) {
  if (options->ignore_term) {
    (void)signal(SIGTERM, SIG_IGN);
  }
  if (options->banner != NULL) {
    printf("%s\n", options->banner);
    (void)fflush(stdout);
  }
  if (options->exits) {
    (void)fprintf(stderr, "chaos: exiting with %llu, as told\n", options->exit_code);
    exit((int)options->exit_code);
  }
  if (options->hang) {
    hang();
  }
  nanosleep(&(struct timespec){.tv_sec = (time_t)(options->start_delay_ms / MS_PER_S),
                               .tv_nsec = (long)(options->start_delay_ms % MS_PER_S) * MS_NS},
            NULL);
}

int hf_chaos_run(const struct hf_chaos_options *options, struct hf_error *reterr) {
  struct hf_chaos chaos;
  uv_loop_t loop;
  (void)signal(SIGPIPE, SIG_IGN);
  hf_chaos_init(&chaos, options);
  int rc = set_up(&chaos, options, reterr);
  if (rc == GOOD && uv_loop_init(&loop) != 0) {
    (void)hf_error_set(reterr, HF_ERR_NOMEM, "chaos: cannot make an event loop");
    rc = UNAVAILABLE;
  } else if (rc == GOOD) {
    misbehave(options);
    if (options->url != NULL) {
      rc = run_remote(&loop, &chaos, options, reterr);
    } else if (options->command != NULL && options->http) {
      rc = run_bridge(&loop, &chaos, options, reterr);
    } else if (options->command != NULL) {
      rc = hf_chaos_proxy_run(&loop, &chaos, options->command, reterr);
    } else if (options->http) {
      rc = run_http(&loop, &chaos, options, NULL, reterr);
    } else {
      rc = run_stdio(&loop, &chaos, options, reterr);
    }
    (void)uv_loop_close(&loop);
  }
  hf_chaos_deinit(&chaos);
  return rc;
}
