/* The demonstration: the same two hundred calls to the same faulty server, three ways.
 *
 * Directly; directly with the usual "try up to four times"; and through Holdfast. What really happened is read from the
 * server's own ledger, not from what the callers were told. */
#include "caller.h"
#include "process.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 200, WAYS = 3, PATH_LEN = 512, NAIVE_ATTEMPTS = 4, KINDS = 8 };

/* Seven of every hundred requests never reach the tool; eight run it and lose the answer; ten are turned away. */
static const char faults[] = "reset=0.04,close=0.03,execdrop=0.03,cut:80=0.02,exec+502=0.02,html=0.01,429:0=0.05,"
                             "503:0=0.05,delay:20=0.05";

static const char *const tools[KINDS] = {"read", "put", "read", "charge", "read", "put", "read", "charge"};

struct setting {
  char dir[PATH_LEN];
  char chaos[PATH_LEN];
  char holdfast[PATH_LEN];
};

struct tally {
  const char *title;
  int answered;
  long repeats;
  int charged_twice;
  int charged_unknown; /* charged, while the caller saw an error that says nothing */
  int silent;          /* failed without a word on whether it ran */
  int honest;          /* failed, and said what is known */
  hf_time took[CALLS];
};

static int executions(const char *ledger, const char *tool, const char *key) {
  char name[64];
  char of[256];
  char line[512];
  int count = 0;
  FILE *file = fopen(ledger, "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    count += sscanf(line, "%63s %255s", name, of) == 2 && strcmp(name, tool) == 0 && strcmp(of, key) == 0;
  }
  if (file != NULL) {
    fclose(file);
  }
  return count;
}

static void make_call(const struct caller *caller, int i, int attempts, const char *prefix, const char *ledger,
                      struct tally *tally) {
  const char *tool = tools[i % KINDS];
  char name[64];
  char key[32];
  snprintf(name, sizeof name, "%s%s", prefix, tool);
  snprintf(key, sizeof key, "order-%d", i);
  hf_time start = hf_clock_now();
  struct answer answer = {0};
  for (int tries = 0; tries < attempts && !answer.good; tries++) {
    answer = caller_call(caller, i * NAIVE_ATTEMPTS + tries + 1, name, key);
    tally->repeats += answer.attempts - (tries == 0);
  }
  tally->took[i] = hf_clock_now() - start;
  tally->answered += answer.good;
  tally->silent += !answer.good && !answer.told;
  tally->honest += !answer.good && answer.told;
  if (strcmp(tool, "charge") == 0) {
    int times = executions(ledger, tool, key);
    tally->charged_twice += times > 1;
    tally->charged_unknown += times > 0 && !answer.good && !answer.may_have_run;
  }
}

static pid_t start_chaos(const struct setting *setting, const char *ledger, const char *out, int *ret_port) {
  const char *const argv[] = {setting->chaos, "--http", "0",        "--seed", "7",
                              "--fault",      faults,   "--ledger", ledger,   NULL};
  char port[16];
  pid_t pid = process_start(argv, out, NULL);
  if (pid < 0 || process_await(pid, out, "", port, sizeof port) != 0) {
    fprintf(stderr, "demo: cannot start '%s'\n", setting->chaos);
    return -1;
  }
  *ret_port = (int)strtol(port, NULL, 10);
  return pid;
}

/* Short pauses between attempts, so that the demonstration takes seconds; all else is the default. */
static int write_config(const char *file, int port) {
  FILE *out = fopen(file, "we");
  if (out == NULL) {
    return -1;
  }
  fprintf(out,
          "listen: 127.0.0.1:0\n"
          "log: { format: json }\n"
          "mcpServers:\n"
          "  shop: { url: \"http://127.0.0.1:%d/mcp\" }\n"
          "policies:\n"
          "  default: { retry: { base: 10ms, max: 100ms } }\n",
          port);
  return fclose(out);
}

static pid_t start_holdfast(const struct setting *setting, int upstream, int *ret_port) {
  char config[PATH_LEN + 16];
  char log[PATH_LEN + 16];
  char address[64];
  snprintf(config, sizeof config, "%s/demo.yaml", setting->dir);
  snprintf(log, sizeof log, "%s/holdfast.log", setting->dir);
  const char *const argv[] = {setting->holdfast, "serve", "--config", config, NULL};
  if (write_config(config, upstream) != 0) {
    return -1;
  }
  setenv("XDG_STATE_HOME", setting->dir, 1);
  setenv("XDG_RUNTIME_DIR", setting->dir, 1);
  pid_t pid = process_start(argv, NULL, log);
  if (pid < 0 || process_await(pid, log, "\"address\":\"127.0.0.1:", address, sizeof address) != 0) {
    fprintf(stderr, "demo: '%s' did not start; see %s\n", setting->holdfast, log);
    return -1;
  }
  *ret_port = (int)strtol(address, NULL, 10);
  return pid;
}

/* Returns 0 or -1. */
static int go(const struct setting *setting, int way, struct tally *tally) {
  char ledger[PATH_LEN + 16];
  char out[PATH_LEN + 16];
  snprintf(ledger, sizeof ledger, "%s/ledger-%d", setting->dir, way);
  snprintf(out, sizeof out, "%s/port-%d", setting->dir, way);
  struct caller caller = {.path = "/mcp"};
  pid_t server = start_chaos(setting, ledger, out, &caller.port);
  pid_t gateway = way == 2 && server > 0 ? start_holdfast(setting, caller.port, &caller.port) : 0;
  int rc = server > 0 && gateway >= 0 ? caller_open(&caller) : -1;
  for (int i = 0; rc == 0 && i < CALLS; i++) {
    make_call(&caller, i, way == 1 ? NAIVE_ATTEMPTS : 1, way == 2 ? "shop__" : "", ledger, tally);
  }
  process_stop(gateway);
  process_stop(server);
  return rc;
}

static int by_time(const void *a, const void *b) {
  hf_time x = *(const hf_time *)a;
  hf_time y = *(const hf_time *)b;
  return (x > y) - (x < y);
}

static double percentile_ms(struct tally *tally, int percent) {
  enum { HUNDRED = 100 };
  const double us_per_ms = 1000.0;
  qsort(tally->took, CALLS, sizeof tally->took[0], by_time);
  return (double)tally->took[CALLS * percent / HUNDRED] / us_per_ms;
}

static const char *colour(bool terminal, bool bad) {
  return !terminal ? "" : bad ? "\033[31m" : "\033[32m";
}

static void print_row(const char *name, const int values[WAYS], const bool bad[WAYS]) {
  bool terminal = isatty(STDOUT_FILENO);
  printf("%-46s", name);
  for (int i = 0; i < WAYS; i++) {
    printf("%s%12d%s", bad ? colour(terminal, bad[i]) : "", values[i], terminal ? "\033[0m" : "");
  }
  putchar('\n');
}

static void print_table(struct tally tally[WAYS]) {
  printf("%d calls to a faulty MCP server, the same faults each time\n\n", CALLS);
  printf("%-46s%12s%12s%12s\n", "", tally[0].title, tally[1].title, tally[2].title);
  int answered[WAYS], repeats[WAYS], twice[WAYS], unknown[WAYS], silent[WAYS], honest[WAYS];
  bool lost[WAYS], doubled[WAYS], blind[WAYS], mute[WAYS];
  for (int i = 0; i < WAYS; i++) {
    answered[i] = tally[i].answered;
    repeats[i] = (int)tally[i].repeats;
    twice[i] = tally[i].charged_twice;
    unknown[i] = tally[i].charged_unknown;
    silent[i] = tally[i].silent;
    honest[i] = tally[i].honest;
    lost[i] = answered[i] + honest[i] < CALLS;
    doubled[i] = twice[i] > 0;
    blind[i] = unknown[i] > 0;
    mute[i] = silent[i] > 0;
  }
  print_row("calls that succeeded", answered, lost);
  print_row("calls repeated", repeats, NULL);
  print_row("charged twice", twice, doubled);
  print_row("charged, but the caller believes it failed", unknown, blind);
  print_row("failed without saying whether it ran", silent, mute);
  print_row("failed, and said so: it may have run, or not", honest, NULL);
  printf("%-46s", "latency, median / 95th percentile");
  for (int i = 0; i < WAYS; i++) {
    char text[32];
    snprintf(text, sizeof text, "%.1f/%.0f ms", percentile_ms(&tally[i], 50), percentile_ms(&tally[i], 95));
    printf("%12s", text);
  }
  printf("\n\nCharges and double charges are counted in the server's own ledger.\n");
}

/* The programs stand beside this one, and two folders up, unless the arguments name them. */
static void find_programs(int argc, char **argv, struct setting *setting) {
  char self[PATH_LEN / 2];
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  self[len > 0 ? len : 0] = '\0';
  char *slash = strrchr(self, '/');
  if (slash != NULL) {
    *slash = '\0';
  }
  snprintf(setting->holdfast, sizeof setting->holdfast, argc > 1 ? "%.500s" : "%.200s/../../holdfast",
           argc > 1 ? argv[1] : self);
  snprintf(setting->chaos, sizeof setting->chaos, argc > 2 ? "%.500s" : "%.200s/chaos", argc > 2 ? argv[2] : self);
}

int main(int argc, char **argv) {
  struct setting setting = {.dir = "/tmp/holdfast-demo-XXXXXX"};
  static struct tally tally[WAYS] = {{.title = "direct"}, {.title = "4 tries"}, {.title = "Holdfast"}};
  find_programs(argc, argv, &setting);
  if (mkdtemp(setting.dir) == NULL) {
    perror("demo: cannot make a folder");
    return 1;
  }
  for (int way = 0; way < WAYS; way++) {
    if (go(&setting, way, &tally[way]) != 0) {
      fprintf(stderr, "demo: the way '%s' failed; logs are in %s\n", tally[way].title, setting.dir);
      return 1;
    }
  }
  print_table(tally);
  return tally[2].charged_twice > 0 || tally[2].charged_unknown > 0;
}
