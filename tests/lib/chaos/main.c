/* chaos: an MCP server that breaks on purpose, for tests and the demonstration.
 *
 * It keeps a ledger of what it really executed, so that effects that happened twice can be counted. */
#include "http.h"
#include "ledger.h"
#include "pick.h"
#include "pipe.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: chaos --stdio | --http PORT  [options]\n"
    "  --era legacy|modern|both   which revisions it speaks (legacy)\n"
    "  --ledger FILE              append a line for each execution\n"
    "  --seed N                   of the rates (1)\n"
    "  --fault NAME=RATE,...      faults of tools/call, by chance\n"
    "  --script FILE              lines METHOD FAULT[*TIMES], used up in order; METHOD may be `accept` or `*`\n"
    "  --no-sessions              HTTP without Mcp-Session-Id\n"
    "  --sse                      answer calls as event streams\n"
    "  --extra-tools N            list N further tools\n"
    "stdio only:\n"
    "  --banner TEXT              print a line first\n"
    "  --echo-noise               print a log line for each line read\n"
    "  --start-delay MS, --hang   be slow to start, or never do\n"
    "  --exit CODE                exit at once\n"
    "  --exit-after MS            exit with 1 later\n"
    "  --ignore-term, --ignore-eof\n"
    "  --grandchild               leave a child of its own holding the pipes\n";

struct settings {
  struct chaos chaos;
  bool stdio;
  bool echo_noise;
  bool ignore_eof;
  bool grandchild;
  int port;
  long exit_after_ms;
  long start_delay_ms;
  const char *rates;
  const char *script;
  uint64_t seed;
};

enum option_code {
  OPT_STDIO = 256,
  OPT_HTTP,
  OPT_ERA,
  OPT_LEDGER,
  OPT_SEED,
  OPT_FAULT,
  OPT_SCRIPT,
  OPT_NO_SESSIONS,
  OPT_SSE,
  OPT_EXTRA_TOOLS,
  OPT_BANNER,
  OPT_ECHO_NOISE,
  OPT_START_DELAY,
  OPT_HANG,
  OPT_EXIT,
  OPT_EXIT_AFTER,
  OPT_IGNORE_TERM,
  OPT_IGNORE_EOF,
  OPT_GRANDCHILD,
};

static const struct option options[] = {
    {"stdio", no_argument, NULL, OPT_STDIO},
    {"http", required_argument, NULL, OPT_HTTP},
    {"era", required_argument, NULL, OPT_ERA},
    {"ledger", required_argument, NULL, OPT_LEDGER},
    {"seed", required_argument, NULL, OPT_SEED},
    {"fault", required_argument, NULL, OPT_FAULT},
    {"script", required_argument, NULL, OPT_SCRIPT},
    {"no-sessions", no_argument, NULL, OPT_NO_SESSIONS},
    {"sse", no_argument, NULL, OPT_SSE},
    {"extra-tools", required_argument, NULL, OPT_EXTRA_TOOLS},
    {"banner", required_argument, NULL, OPT_BANNER},
    {"echo-noise", no_argument, NULL, OPT_ECHO_NOISE},
    {"start-delay", required_argument, NULL, OPT_START_DELAY},
    {"hang", no_argument, NULL, OPT_HANG},
    {"exit", required_argument, NULL, OPT_EXIT},
    {"exit-after", required_argument, NULL, OPT_EXIT_AFTER},
    {"ignore-term", no_argument, NULL, OPT_IGNORE_TERM},
    {"ignore-eof", no_argument, NULL, OPT_IGNORE_EOF},
    {"grandchild", no_argument, NULL, OPT_GRANDCHILD},
    {NULL, 0, NULL, 0},
};

static _Noreturn void die(const char *what) {
  fprintf(stderr, "chaos: %s\n%s", what, usage);
  exit(2);
}

static int parse_era(const char *text) {
  if (strcmp(text, "legacy") == 0) {
    return CHAOS_LEGACY;
  }
  if (strcmp(text, "modern") == 0) {
    return CHAOS_MODERN;
  }
  if (strcmp(text, "both") != 0) {
    die("--era takes legacy, modern or both");
  }
  return CHAOS_EITHER;
}

static _Noreturn void hang(void) {
  for (;;) {
    pause();
  }
}

static void take_option(struct settings *settings, int option, const char *value) {
  enum { DECIMAL = 10 };
  long number = value ? strtol(value, NULL, DECIMAL) : 0;
  switch (option) {
  case OPT_STDIO:
    settings->stdio = true;
    return;
  case OPT_HTTP:
    settings->port = (int)number;
    return;
  case OPT_ERA:
    settings->chaos.eras = parse_era(value);
    return;
  case OPT_LEDGER:
    settings->chaos.ledger = chaos_ledger_open(value);
    return;
  case OPT_SEED:
    settings->seed = strtoull(value, NULL, DECIMAL);
    return;
  case OPT_FAULT:
    settings->rates = value;
    return;
  case OPT_SCRIPT:
    settings->script = value;
    return;
  case OPT_NO_SESSIONS:
    settings->chaos.sessions = false;
    return;
  case OPT_SSE:
    settings->chaos.sse = true;
    return;
  case OPT_EXTRA_TOOLS:
    settings->chaos.extra_tools = number;
    return;
  case OPT_BANNER:
    printf("%s\n", value);
    fflush(stdout);
    return;
  case OPT_ECHO_NOISE:
    settings->echo_noise = true;
    return;
  case OPT_START_DELAY:
    settings->start_delay_ms = number;
    return;
  case OPT_HANG:
    hang();
  case OPT_EXIT:
    fprintf(stderr, "chaos: exiting with %ld, as told\n", number);
    exit((int)number);
  case OPT_EXIT_AFTER:
    settings->exit_after_ms = number;
    return;
  case OPT_IGNORE_TERM:
    signal(SIGTERM, SIG_IGN);
    return;
  case OPT_IGNORE_EOF:
    settings->ignore_eof = true;
    return;
  case OPT_GRANDCHILD:
    settings->grandchild = true;
    return;
  default:
    die("unknown option");
  }
}

static void load_faults(struct settings *settings) {
  struct chaos_faults *faults = &settings->chaos.faults;
  hf_random_init(&faults->random, settings->seed);
  if (settings->rates != NULL && chaos_faults_add_rates(faults, settings->rates) != 0) {
    die("--fault takes NAME=RATE,...");
  }
  if (settings->script != NULL) {
    FILE *file = fopen(settings->script, "re");
    if (file == NULL || chaos_faults_read_script(faults, file) != 0) {
      die("cannot read the script");
    }
    fclose(file);
  }
}

static void exit_tick(uv_timer_t *timer) {
  (void)timer;
  fputs("chaos: exiting later, as told\n", stderr);
  exit(1);
}

static void run_stdio(uv_loop_t *loop, struct settings *settings) {
  uv_timer_t timer;
  enum { FOREVER_MS = 1000 * 3600 * 24, MS_PER_S = 1000, MS_NS = 1000000 };
  if (settings->grandchild && fork() == 0) {
    chaos_ledger_add(settings->chaos.ledger, "grandchild", "");
    hang();
  }
  nanosleep(&(struct timespec){.tv_sec = settings->start_delay_ms / MS_PER_S,
                               .tv_nsec = settings->start_delay_ms % MS_PER_S * MS_NS},
            NULL);
  struct chaos_pipe *pipe = chaos_pipe_new(loop, &settings->chaos, settings->echo_noise);
  uv_timer_init(loop, &timer);
  if (settings->exit_after_ms > 0) {
    uv_timer_start(&timer, exit_tick, (uint64_t)settings->exit_after_ms, 0);
    if (!settings->ignore_eof) {
      uv_unref((uv_handle_t *)&timer);
    }
  } else if (settings->ignore_eof) {
    uv_timer_start(&timer, exit_tick, FOREVER_MS, 0);
  }
  uv_run(loop, UV_RUN_DEFAULT);
  chaos_pipe_free(pipe);
}

static int run_http(uv_loop_t *loop, struct settings *settings) {
  int port = 0;
  settings->chaos.http = true;
  struct chaos_http *http = chaos_http_new(loop, &settings->chaos, settings->port, &port);
  if (http == NULL) {
    return 1;
  }
  printf("%d\n", port);
  fflush(stdout);
  uv_run(loop, UV_RUN_DEFAULT);
  chaos_http_free(http);
  return 0;
}

int main(int argc, char **argv) {
  struct settings settings = {.port = -1, .seed = 1};
  chaos_init(&settings.chaos, settings.seed);
  signal(SIGPIPE, SIG_IGN);
  int option;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
    take_option(&settings, option, optarg);
  }
  if (optind != argc || settings.stdio == (settings.port >= 0)) {
    die("one of --stdio and --http is needed");
  }
  load_faults(&settings);
  uv_loop_t *loop = uv_default_loop();
  int rc = 0;
  if (settings.stdio) {
    run_stdio(loop, &settings);
  } else {
    rc = run_http(loop, &settings);
  }
  chaos_deinit(&settings.chaos);
  return rc;
}
