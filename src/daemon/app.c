#include "daemon/app.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "daemon/alert.h"
#include "daemon/console.h"
#include "daemon/control.h"
#include "daemon/loop.h"
#include "daemon/model_client.h"
#include "daemon/pages.h"
#include "daemon/state.h"
#include "front/http.h"
#include "front/stdio.h"
#include "store/opening.h"
#include "upstream/factory.h"
#include "upstream/reaper.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SIGNALS = 3, CLOSE_WAIT_MS = 2000, ADDRESS_MAX = 300 };

static const int signal_numbers[SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

struct hf_app {
  struct hf_app_options options;
  struct hf_settings *settings;
  uv_loop_t uv;
  struct hf_log *log;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  bool driven;
  uv_signal_t signals[SIGNALS];
  size_t signals_open;
  struct hf_reaper *reaper;
  struct hf_factory *factory;
  struct hf_gateway *gateway;
  struct hf_store *store;
  struct hf_store_opening *opening; /* while it could not be opened */
  char *database;                   /* its path */
  struct hf_alerts *alerts;
  struct hf_model_client *model;
  struct hf_console *console;
  struct hf_control *control;
  struct hf_front_http *http;
  struct hf_front_stdio *stdio;
  unsigned draining; /* fronts and gateway that have not drained yet */
  bool ending;
  struct hf_buf *answer; /* of hf_app_ask */
  bool answered;
};

static void advance(void *context) {
  struct hf_app *app = context;
  hf_loop_advance(&app->loop, hf_clock_now(), hf_clock_wall_ms());
}

static void on_drained(void *context) {
  struct hf_app *app = context;
  if (--app->draining == 0)
    uv_stop(&app->uv);
}

static void begin_end(struct hf_app *app, const char *why) {
  if (app->ending) {
    uv_stop(&app->uv);
    return;
  }
  app->ending = true;
  hf_log_event(app->log, HF_LOG_INFO, "draining", HF_LOG_STR("reason", hf_str_from(why)),
               HF_LOG_INT("calls", (int64_t)app->gateway->calls));
  app->draining = app->http ? 2 : 1;
  hf_gateway_drain(app->gateway, on_drained, app); /* first: it ends what listens with an answer */
  if (app->http)
    hf_front_http_drain(app->http, on_drained, app);
}

/* The first error is what a person needs to begin; `holdfast check` tells all. */
static int explain(const char *path, const struct hf_problems *problems, struct hf_error *reterr) {
  for (size_t i = 0; i < problems->count; i++)
    if (!problems->item[i].warning)
      return hf_error_set(reterr, HF_ERR_INVALID, "%s:%d:%d: %s%s", path, problems->item[i].place.line,
                          problems->item[i].place.column, problems->item[i].text,
                          problems->errors > 1 ? " (and more; `holdfast check` tells all)" : "");
  return hf_error_wrap(reterr, "%s", path);
}

/* Without it calls whose arguments do not fit are refused at once. One that was made stays until the end, for questions
 * may be under way. */
static int use_model(struct hf_app *app, const struct hf_settings *settings) {
  if (!settings->model.url.ptr)
    return 0;
  if (app->model)
    return hf_model_client_reload(app->model, &settings->model);
  int r = hf_model_client_new(&app->uv, &app->loop, &settings->model, &app->model);
  if (r == 0)
    hf_gateway_use_model(app->gateway, hf_model_client_seam(app->model));
  return r;
}

static void start_model(struct hf_app *app) {
  int r = use_model(app, app->settings);
  if (r < 0)
    hf_log_event(app->log, HF_LOG_ERROR, "no model to ask", HF_LOG_STR("reason", hf_str_from(hf_err_text(r))));
}

static int reload(void *context, struct hf_error *reterr) {
  struct hf_app *app = context;
  struct hf_settings *settings = NULL;
  struct hf_problems problems;
  hf_problems_init(&problems);
  const char *path = app->options.config_path;
  if (!path)
    return hf_error_set(reterr, HF_ERR_UNSUPPORTED, "there is no configuration file to read again");
  if (hf_config_load(path, &app->options.config, &problems, &settings, reterr) < 0)
    return explain(path, &problems, reterr);

  bool moved = !hf_str_equal(settings->listen_host, app->settings->listen_host) ||
               settings->listen_port != app->settings->listen_port;
  int r = hf_gateway_reload(app->gateway, hf_settings_ref(settings), reterr);
  if (r < 0) {
    hf_settings_free(settings);
    hf_settings_free(settings);
    return r;
  }
  if (app->http)
    hf_front_http_reload(app->http, settings);
  if (app->store && hf_store_reload(app->store, &settings->store) < 0)
    hf_log_event(app->log, HF_LOG_WARN, "the store keeps its old settings", HF_LOG_STR("file", hf_str_from(path)));
  if (use_model(app, settings) < 0)
    hf_log_event(app->log, HF_LOG_WARN, "the model to ask stays what it was", HF_LOG_STR("file", hf_str_from(path)));
  if (app->alerts && hf_alerts_reload(app->alerts, &settings->alerts) < 0)
    hf_log_event(app->log, HF_LOG_WARN, "alerts go where they went", HF_LOG_STR("file", hf_str_from(path)));
  hf_log_set(app->log, settings->log_level, settings->log_format);
  if (moved && app->http)
    hf_log_event(app->log, HF_LOG_WARN, "the new listen address takes effect at the next start",
                 HF_LOG_STR("file", hf_str_from(path)));
  hf_settings_free(app->settings);
  app->settings = settings;
  return 0;
}

static void on_signal(uv_signal_t *handle, int number) {
  struct hf_app *app = handle->data;
  struct hf_error error = {0};
  advance(app);
  if (number != SIGHUP) {
    begin_end(app, number == SIGTERM ? "SIGTERM" : "SIGINT");
  } else if (reload(app, &error) < 0) {
    hf_log_event(app->log, HF_LOG_ERROR, "reload refused, the old configuration stays",
                 HF_LOG_STR("reason", hf_str_from(error.text)));
  } else {
    hf_log_event(app->log, HF_LOG_INFO, "reloaded", HF_LOG_STR("file", hf_str_from(app->options.config_path)));
  }
}

static int start_signals(struct hf_app *app) {
  for (size_t i = 0; i < SIGNALS; i++) {
    uv_signal_init(&app->uv, &app->signals[i]);
    app->signals[i].data = app;
    app->signals_open++;
    if (uv_signal_start(&app->signals[i], on_signal, signal_numbers[i]) < 0)
      return HF_ERR_IO;
  }
  return 0;
}

static void on_control_answer(void *context, struct hf_str answer) {
  hf_control_answer(context, answer);
}

static void on_control_line(void *context, struct hf_str line) {
  hf_control_tell(context, line);
}

static int on_control_ask(void *context, struct hf_control_peer *peer, struct hf_str question, void **ret_ask) {
  struct hf_app *app = context;
  struct hf_console_ask *ask;
  int r = hf_console_ask(app->console, question, on_control_answer, peer, &ask);
  if (r < 0)
    return r;
  hf_console_listen(ask, on_control_line);
  *ret_ask = ask;
  return 0;
}

static void on_control_gone(void *context, void *ask) {
  (void)context;
  hf_console_forget(ask);
}

/* Without it a gateway serves as well; so another one that holds the place is no reason to stop. */
static void start_control(struct hf_app *app) {
  const struct hf_control_handler handler = {app, on_control_ask, on_control_gone, advance};
  struct hf_error error = {0};
  HF_CLEANUP_FREE char *path = app->settings->control.ptr
                                   ? hf_strndup(app->settings->control.ptr, app->settings->control.len)
                                   : hf_control_path();
  if (path && hf_control_new(&app->uv, path, &handler, &app->control, &error) == 0)
    return;
  hf_log_event(app->log, HF_LOG_WARN, "no control socket", HF_LOG_STR("reason", hf_str_from(error.text)));
}

/* Without them letters are kept all the same. */
static void start_alerts(struct hf_app *app) {
  const struct hf_alerts_options options = {
      .uv = &app->uv, .loop = &app->loop, .store = app->store, .settings = &app->settings->alerts};
  if (!app->store)
    return;
  int r = hf_alerts_new(&options, &app->alerts);
  if (r < 0)
    hf_log_event(app->log, HF_LOG_ERROR, "no alerts", HF_LOG_STR("reason", hf_str_from(hf_err_text(r))));
  else
    hf_gateway_hear_news(app->gateway, hf_alerts_news, app->alerts);
}

static void use_store(struct hf_app *app, struct hf_store *store) {
  app->store = store;
  hf_gateway_note_database(app->gateway, app->database, NULL);
  hf_gateway_use_store(app->gateway, store);
  start_alerts(app);
}

/* The settings may have changed since it was tried. */
static void on_store_opened(void *ctx, struct hf_store *store) {
  struct hf_app *app = ctx;
  hf_store_opening_free(app->opening);
  app->opening = NULL;
  use_store(app, store);
  (void)hf_store_reload(store, &app->settings->store);
  hf_log_event(app->log, HF_LOG_INFO, "the store is open: dead letters and intents are kept from now on",
               HF_LOG_STR("path", hf_str_from(app->database)));
}

static void on_store_failed(void *ctx, const char *reason) {
  struct hf_app *app = ctx;
  hf_gateway_note_database(app->gateway, app->database, reason);
  hf_log_event(app->log, HF_LOG_WARN, "the store cannot be opened still",
               HF_LOG_STR("path", hf_str_from(app->database)), HF_LOG_STR("reason", hf_str_from(reason)));
}

/* Calls are answered without one as well, so it is no reason to stop: but until it can be opened what fails is not
 * kept, and nobody knows afterwards what a gateway that died was about to do. */
static int start_store(struct hf_app *app) {
  static const struct hf_store_opening_events events = {on_store_opened, on_store_failed};
  struct hf_error error = {0};
  if (!app->settings->store.enabled || app->options.front == HF_APP_NONE)
    return 0;
  app->database = hf_state_absolute(app->options.state, HF_STATE_DATABASE);
  if (!app->database)
    return HF_ERR_NOMEM;
  const struct hf_store_options options = {
      .uv = &app->uv, .loop = &app->loop, .path = app->database, .settings = &app->settings->store};
  struct hf_store *store;
  if (hf_store_new(&options, &store, &error) == 0) {
    use_store(app, store);
    return 0;
  }
  hf_gateway_note_database(app->gateway, app->database, error.text);
  hf_log_event(app->log, HF_LOG_ERROR, "no store: dead letters and intents will not be kept until it can be opened",
               HF_LOG_STR("path", hf_str_from(app->database)), HF_LOG_STR("reason", hf_str_from(error.text)));
  return hf_store_opening_new(&options, app->settings, error.text, 0, &events, app, &app->opening);
}

static void on_client_gone(void *context) {
  begin_end(context, "the client closed its end");
}

/* The port may have been the kernel's choice: programs that start a gateway read it from here. */
static void tell_address(struct hf_app *app) {
  struct hf_str host = app->settings->listen_host;
  bool v6 = memchr(host.ptr, ':', host.len) != NULL;
  char address[ADDRESS_MAX];
  int len = snprintf(address, sizeof address, "%s%.*s%s:%u", v6 ? "[" : "", (int)host.len, host.ptr, v6 ? "]" : "",
                     hf_front_http_port(app->http));
  char url[ADDRESS_MAX + sizeof "http:///mcp"];
  if (len > 0 && (size_t)len < sizeof address && snprintf(url, sizeof url, "http://%s/mcp", address) > 0)
    hf_log_event(app->log, HF_LOG_INFO, "listening", HF_LOG_STR("address", hf_str_from(address)),
                 HF_LOG_STR("url", hf_str_from(url)), HF_LOG_INT("servers", (int64_t)app->settings->server_count));
}

static int start_front(struct hf_app *app, struct hf_error *reterr) {
  if (app->options.front == HF_APP_HTTP) {
    const struct hf_front_http_options options = {
        .uv = &app->uv,
        .loop = &app->loop,
        .gateway = app->gateway,
        .settings = app->settings,
        .page = hf_pages_serve,
        .page_context = app->gateway,
    };
    int r = hf_front_http_new(&options, &app->http, reterr);
    if (r < 0)
      return r;
    start_control(app);
    tell_address(app);
  } else if (app->options.front == HF_APP_STDIO) {
    const struct hf_front_stdio_options options = {
        .uv = &app->uv,
        .loop = &app->loop,
        .gateway = app->gateway,
        .settings = app->settings,
        .server = app->options.single ? app->settings->servers[0].name : (struct hf_str){NULL, 0},
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .closed = on_client_gone,
        .context = app,
    };
    return hf_front_stdio_new(&options, &app->stdio, reterr);
  }
  return 0;
}

/* Thousands of clients need as many descriptors. The helper is forked before, so that children start with the limit
 * that they are used to. */
static void raise_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

static int start(struct hf_app *app, struct hf_error *reterr) {
  int r = hf_reaper_new(&app->reaper, reterr);
  if (r < 0)
    return r;
  raise_descriptors();
  uint64_t seed;
  if (uv_loop_init(&app->uv) < 0 || hf_random_secret(&seed, sizeof seed) < 0)
    return hf_error_set(reterr, HF_ERR_IO, "cannot set up the event loop");
  hf_loop_init(&app->loop, seed, app->log);
  hf_loop_driver_init(&app->driver, &app->uv, &app->loop);
  app->driven = true;
  r = start_signals(app);
  if (r == 0)
    r = hf_reaper_attach(app->reaper, &app->uv, &app->loop);
  if (r == 0)
    r = hf_factory_new(&app->uv, &app->loop, app->reaper, &app->factory);
  if (r == 0) {
    r = hf_gateway_new(&app->loop, hf_settings_ref(app->settings), hf_factory_seam(app->factory), &app->gateway);
    if (r < 0)
      hf_settings_free(app->settings);
  }
  if (r < 0)
    return hf_error_set(reterr, r, "cannot start: %s", hf_err_text(r));
  r = start_store(app);
  start_model(app);
  app->console = hf_console_new(app->gateway, reload, app);
  if (r < 0 || !app->console)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  r = start_front(app, reterr);
  if (r == 0)
    hf_gateway_start(app->gateway);
  return r;
}

int hf_app_new(const struct hf_app_options *options, struct hf_settings *settings, struct hf_app **ret_app,
               struct hf_error *reterr) {
  struct hf_app *app = hf_calloc(1, sizeof *app);
  if (!app)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  app->options = *options;
  app->settings = hf_settings_ref(settings);
  app->log = hf_log_new(STDERR_FILENO, settings->log_level, settings->log_format);
  int r = app->log ? start(app, reterr) : hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  if (r < 0) {
    hf_app_free(app);
    return r;
  }
  *ret_app = app;
  return 0;
}

void hf_app_run(struct hf_app *app) {
  uv_run(&app->uv, UV_RUN_DEFAULT);
}

static void on_answer(void *context, struct hf_str answer) {
  struct hf_app *app = context;
  app->answered = hf_buf_append_str(app->answer, answer) == 0;
  uv_stop(&app->uv);
}

int hf_app_ask(struct hf_app *app, struct hf_str question, struct hf_buf *ret_answer) {
  struct hf_console_ask *ask;
  app->answer = ret_answer;
  app->answered = false;
  int r = hf_console_ask(app->console, question, on_answer, app, &ask);
  if (r < 0)
    return r;
  uv_run(&app->uv, UV_RUN_DEFAULT);
  return app->answered ? 0 : HF_ERR_CLOSED;
}

static void on_patience_over(uv_timer_t *timer) {
  uv_stop(timer->loop);
}

/* Runs the loop until all handles are closed; what doesn't close in time dies with the process. */
static void close_loop(struct hf_app *app) {
  uv_timer_t patience;
  uv_timer_init(&app->uv, &patience);
  uv_timer_start(&patience, on_patience_over, CLOSE_WAIT_MS, 0);
  uv_unref((uv_handle_t *)&patience);
  uv_run(&app->uv, UV_RUN_DEFAULT);
  uv_close((uv_handle_t *)&patience, NULL);
  uv_run(&app->uv, UV_RUN_NOWAIT);
  uv_loop_close(&app->uv);
}

void hf_app_free(struct hf_app *app) {
  if (!app)
    return;
  hf_control_free(app->control);
  hf_console_free(app->console);
  hf_front_http_free(app->http);
  hf_front_stdio_free(app->stdio);
  hf_gateway_free(app->gateway);
  hf_model_client_free(app->model);
  hf_alerts_free(app->alerts);
  hf_store_opening_free(app->opening);
  hf_store_free(app->store);
  hf_factory_free(app->factory);
  hf_reaper_free(app->reaper);
  for (size_t i = 0; i < app->signals_open; i++)
    uv_close((uv_handle_t *)&app->signals[i], NULL);
  if (app->driven) {
    hf_loop_driver_close(&app->driver);
    close_loop(app);
    hf_loop_deinit(&app->loop);
  }
  hf_settings_free(app->settings);
  hf_log_free(app->log);
  hf_free(app->database);
  hf_free(app);
}
