#include "cli/args.h"

#include "base/distance.h"
#include "chaos/options.h"
#include "cli/dlq.h"
#include "cli/terminal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
  COMMON = HF_FLAG_CONFIG | HF_FLAG_LOG_LEVEL | HF_FLAG_LOG_FORMAT | HF_FLAG_HELP,
  NAMES_MAX = 32,
  COMPLAINT_MAX = 4096
};

struct option {
  const char *name; /* "--config" */
  char letter;      /* 'c', or 0 */
  enum hf_flag flag;
  size_t offset; /* of its value in struct hf_args, where it takes one */
  const char *value;
  const char *help;
};

#define VALUE(member, text) offsetof(struct hf_args, member), (text)
#define NO_VALUE 0, NULL
#define GIVEN(member) offsetof(struct hf_args, member), NULL /* its own name stands for it */

static const struct option options[] = {
    {"--config", 'c', HF_FLAG_CONFIG, VALUE(config, "FILE"), "configuration, or an MCP client's file as it is"},
    {"--listen", 'l', HF_FLAG_LISTEN, VALUE(listen, "ADDRESS:PORT"), "where to listen, instead of what the file says"},
    {"--log-level", 0, HF_FLAG_LOG_LEVEL, VALUE(log_level, "LEVEL"), "error, warn, info or debug"},
    {"--log-format", 0, HF_FLAG_LOG_FORMAT, VALUE(log_format, "FORMAT"), "human or json"},
    {"--control", 0, HF_FLAG_CONTROL, VALUE(control, "PATH"), "control socket of the gateway to ask"},
    {"--name", 'n', HF_FLAG_NAME, VALUE(name, "NAME"), "name of the server, or of the token's owner"},
    {"--state", 0, HF_FLAG_STATE, VALUE(state, "DIR"), "where dead letters and the like are kept"},
    {"--watch", 'w', HF_FLAG_WATCH, VALUE(watch, "[SECONDS]"), "again and again, until it is interrupted"},
    {"--tool", 0, HF_FLAG_FILTER, VALUE(filter.tool, "PATTERN"), "letters of these tools; * stands for anything"},
    {"--provider", 0, HF_FLAG_FILTER, VALUE(filter.provider, "SERVER"), "letters of calls that this server was asked"},
    {"--class", 0, HF_FLAG_FILTER, VALUE(filter.reason, "REASON"), "what was wrong: timed_out, connection_lost, …"},
    {"--since", 0, HF_FLAG_FILTER, VALUE(filter.since, "WHEN"), "last seen since: 24h (ago), 2026-05-01T12:30"},
    {"--until", 0, HF_FLAG_FILTER, VALUE(filter.until, "WHEN"), "last seen until"},
    {"--priority", 0, HF_FLAG_FILTER, VALUE(filter.priority, "1-5"), "letters of this priority"},
    {"--fingerprint", 0, HF_FLAG_FILTER, VALUE(filter.fingerprint, "HEX"), "equal calls; its beginning will do"},
    {"--status", 0, HF_FLAG_STATUS, VALUE(filter.status, "STATUS"), "dead, replayed, discarded, quarantined, … or any"},
    {"--limit", 0, HF_FLAG_FILTER, VALUE(filter.limit, "N"), "so many at most, the newest"},
    {"--all", 0, HF_FLAG_ALL, NO_VALUE, "all letters, if nothing else says which"},
    {"--reason", 0, HF_FLAG_REASON, VALUE(reason, "TEXT"), "why, for the letter's history"},
    {"--show-secrets", 0, HF_FLAG_SECRETS, NO_VALUE, "what redaction would hide, too"},
    {"--dry-run", 0, HF_FLAG_REPLAY, GIVEN(replay.dry_run), "only tell what would be done"},
    {"--rate", 0, HF_FLAG_REPLAY, VALUE(replay.rate, "N/s"), "so many starts a second (or N/m, N/h)"},
    {"--concurrency", 0, HF_FLAG_REPLAY, VALUE(replay.concurrency, "N"), "so many at once; one after the other else"},
    {"--ramp-up", 0, HF_FLAG_REPLAY, VALUE(replay.ramp_up, "TIME"), "rate and concurrency rise to that within this"},
    {"--stop-on", 0, HF_FLAG_REPLAY, VALUE(replay.stop_on, "50%"), "ends when more of the last 10 failed; or never"},
    {"--reconcile", 0, HF_FLAG_REPLAY, GIVEN(replay.reconcile), "if it may have run, ask the status check first"},
    {"--force-executed", 0, HF_FLAG_REPLAY, VALUE(replay.force_executed, "no"),
     "you say that none has run, and answer for it"},
    {"--patch", 0, HF_FLAG_REPLAY, VALUE(replay.patch, "JSON"), "merge patch of the arguments; makes a new key"},
    {"--since", 0, HF_FLAG_REPORT, VALUE(since, "WHEN"), "calls since then: 24h (ago), 7d, 2026-05-01 (24h)"},
    {"--html", 0, HF_FLAG_REPORT, VALUE(html, "FILE"), "write a page with charts to it; - prints the page"},
    {"--price", 0, HF_FLAG_REPORT, VALUE(price, "DOLLARS"), "of a million tokens (3)"},
    {"--repair", 'r', HF_FLAG_REPAIR, NO_VALUE, "repair what has one right reading, and print it"},
    {"--json", 'j', HF_FLAG_JSON, NO_VALUE, "answer in JSON"},
    {"--probe", 'p', HF_FLAG_PROBE, NO_VALUE, "start the servers and explain their tools"},
    {"--audit", 0, HF_FLAG_AUDIT, NO_VALUE, "how resilient each tool is, and what would help"},
    {"--min-score", 0, HF_FLAG_AUDIT, VALUE(min_score, "N"), "audit, and fail below N of 100 (else: at any no)"},
    {"--defaults", 0, HF_FLAG_DEFAULTS, NO_VALUE, "every option with its default, with comments"},
    {"--schema", 0, HF_FLAG_SCHEMA, NO_VALUE, "JSON Schema of the file, for editors"},
    {"--manual", 0, HF_FLAG_MANUAL, NO_VALUE, "reference of the options, for holdfast.yaml(5)"},
    {"--help", 'h', HF_FLAG_HELP, NO_VALUE, "this text"},
};

enum { OPTIONS = sizeof options / sizeof options[0] };

const struct hf_command hf_commands[] = {
    {"serve", "", COMMON | HF_FLAG_LISTEN | HF_FLAG_STATE, 0, 0, false, "serve all servers over Streamable HTTP",
     hf_cmd_serve},
    {"stdio", "", COMMON | HF_FLAG_STATE, 0, 0, false, "serve all servers to one client on standard input and output",
     hf_cmd_stdio},
    {"wrap", "[--] COMMAND [ARGS…]",
     HF_FLAG_NAME | HF_FLAG_STATE | HF_FLAG_LOG_LEVEL | HF_FLAG_LOG_FORMAT | HF_FLAG_HELP, 1, SIZE_MAX, true,
     "put one server behind the gateway, in the place of its command", hf_cmd_wrap},
    {"check", "[FILE]", HF_FLAG_CONFIG | HF_FLAG_JSON | HF_FLAG_PROBE | HF_FLAG_AUDIT | HF_FLAG_HELP, 0, 1, false,
     "check a configuration and explain what it means", hf_cmd_check},
    {"tools", "", COMMON | HF_FLAG_CONTROL | HF_FLAG_JSON, 0, 0, false,
     "list the tools of the running gateway, or of a configuration", hf_cmd_tools},
    {"call", "TOOL [JSON]", COMMON | HF_FLAG_CONTROL | HF_FLAG_JSON, 1, 2, false,
     "call a tool through the running gateway, or from a configuration", hf_cmd_call},
    {"status", "", HF_FLAG_CONTROL | HF_FLAG_CONFIG | HF_FLAG_WATCH | HF_FLAG_JSON | HF_FLAG_HELP, 0, 0, false,
     "how the running gateway and its servers are", hf_cmd_status},
    {"explain", "CALL_ID", HF_FLAG_CONTROL | HF_FLAG_CONFIG | HF_FLAG_STATE | HF_FLAG_JSON | HF_FLAG_HELP, 1, 1, false,
     "what was decided about a call, step by step, and why", hf_cmd_explain},
    {"report", "", HF_FLAG_REPORT | HF_FLAG_STATE | HF_FLAG_CONFIG | HF_FLAG_JSON | HF_FLAG_HELP, 0, 0, false,
     "what failed, what was put right and what it saved, in numbers", hf_cmd_report},
    {"dlq", "COMMAND [ARGS…]", 0, 0, SIZE_MAX, true, "dead letters: look at calls that were lost, and replay them",
     hf_cmd_dlq, hf_dlq_print_commands},
    {"chaos", "[-- COMMAND [ARGS…]]", 0, 0, SIZE_MAX, true,
     "break on purpose, as a server or before one, to test an agent with", hf_cmd_chaos, hf_chaos_options_help},
    {"validate", "SCHEMA VALUE", HF_FLAG_REPAIR | HF_FLAG_JSON | HF_FLAG_HELP, 2, 2, false,
     "hold a JSON file against a JSON Schema (- is standard input)", hf_cmd_validate},
    {"config", "", HF_FLAG_DEFAULTS | HF_FLAG_SCHEMA | HF_FLAG_MANUAL | HF_FLAG_HELP, 0, 0, false,
     "print what can be configured", hf_cmd_config},
    {"token", "[NAME]", HF_FLAG_NAME | HF_FLAG_HELP, 0, 1, false, "make a bearer token and its line for auth.tokens",
     hf_cmd_token},
    {"version", "", HF_FLAG_HELP, 0, 0, false, "print the version", hf_cmd_version},
    {"help", "[COMMAND]", HF_FLAG_HELP, 0, 1, false, "print this, or the help of a command", hf_cmd_help},
    {NULL},
};

int hf_complain(enum hf_exit code, const char *format, ...) {
  char text[COMPLAINT_MAX] = "";
  va_list args;
  va_start(args, format);
  if (vsnprintf(text, sizeof text, format, args) < 0)
    text[0] = '\0';
  va_end(args);
  (void)fputs("holdfast: ", stderr);
  hf_terminal_print(stderr, hf_str_from(text), true);
  (void)fputc('\n', stderr);
  return (int)code;
}

const struct hf_command *hf_command_find_in(const struct hf_command *commands, const char *name, const char *listed_by,
                                            struct hf_error *reterr) {
  const char *names[NAMES_MAX + 1] = {NULL};
  size_t count = 0;
  for (const struct hf_command *command = commands; command->name && count < NAMES_MAX; command++) {
    if (strcmp(command->name, name) == 0)
      return command;
    names[count++] = command->name;
  }
  const char *nearest = hf_nearest(hf_str_from(name), names);
  if (nearest)
    hf_error_set(reterr, HF_ERR_NOTFOUND, "unknown command '%.60s'; did you mean '%s'?", name, nearest);
  else
    hf_error_set(reterr, HF_ERR_NOTFOUND, "unknown command '%.60s'; `holdfast %s` lists them", name, listed_by);
  return NULL;
}

const struct hf_command *hf_command_find(const char *name, struct hf_error *reterr) {
  return hf_command_find_in(hf_commands, name, "help", reterr);
}

static const struct option *find_option(const struct hf_command *command, const char *word, size_t len) {
  for (size_t i = 0; i < OPTIONS; i++) {
    bool letter = len == 2 && word[0] == '-' && word[1] == options[i].letter && options[i].letter;
    if ((command->flags & options[i].flag) &&
        (letter || (strlen(options[i].name) == len && memcmp(options[i].name, word, len) == 0)))
      return &options[i];
  }
  return NULL;
}

static int unknown_option(const struct hf_command *command, const char *word, size_t len, struct hf_error *reterr) {
  const char *names[OPTIONS + 1] = {NULL};
  size_t count = 0;
  for (size_t i = 0; i < OPTIONS; i++)
    if (command->flags & options[i].flag)
      names[count++] = options[i].name;
  const char *nearest = hf_nearest((struct hf_str){word, len}, names);
  return hf_error_set(reterr, HF_ERR_INVALID, "%s: unknown option '%.*s'%s%s%s", command->name,
                      (int)(len < NAMES_MAX ? len : NAMES_MAX), word, nearest ? "; did you mean '" : "",
                      nearest ? nearest : "", nearest ? "'?" : "");
}

/* The next word; of an option whose value may be left out only a number. NULL: there is none. */
static const char *take_value(const struct option *option, char **argv, size_t *at) {
  const char *next = argv[*at + 1];
  if (option->value[0] == '[' && !(next && next[0] >= '0' && next[0] <= '9'))
    return "";
  if (next)
    ++*at;
  return next;
}

/* Takes the option at argv[*at] and its value. */
static int take_option(const struct hf_command *command, char **argv, size_t *at, struct hf_args *args,
                       struct hf_error *reterr) {
  const char *word = argv[*at];
  const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
  size_t len = equals ? (size_t)(equals - word) : strlen(word);
  const struct option *option = find_option(command, word, len);
  if (!option)
    return unknown_option(command, word, len, reterr);
  args->flags |= option->flag;
  if (!option->value && equals)
    return hf_error_set(reterr, HF_ERR_INVALID, "%s: '%s' takes no value", command->name, option->name);
  if (!option->value && !option->offset)
    return 0;
  const char *value = equals ? equals + 1 : option->name;
  if (option->value && !equals)
    value = take_value(option, argv, at);
  if (!value)
    return hf_error_set(reterr, HF_ERR_INVALID, "%s: '%s' needs a value: %s", command->name, option->name,
                        option->value);
  memcpy((char *)args + option->offset, &value, sizeof value);
  return 0;
}

int hf_args_parse(const struct hf_command *command, char **argv, struct hf_args *ret_args, struct hf_error *reterr) {
  struct hf_args args = {.rest = argv};
  size_t i = 0;
  bool options_ended = false;
  for (; command->print_options && argv[i]; i++) {
    args.rest_count++;
  }
  for (; argv[i]; i++) {
    if (!options_ended && strcmp(argv[i], "--") == 0) {
      options_ended = true;
    } else if (!options_ended && argv[i][0] == '-' && argv[i][1]) {
      int r = take_option(command, argv, &i, &args, reterr);
      if (r < 0)
        return r;
    } else {
      argv[args.rest_count++] = argv[i];
      options_ended = options_ended || command->verbatim;
    }
  }
  argv[args.rest_count] = NULL;
  if (!(args.flags & HF_FLAG_HELP) && args.rest_count < command->rest_min)
    return hf_error_set(reterr, HF_ERR_INVALID, "%s: an argument is missing: holdfast %s %s", command->name,
                        command->name, command->operands);
  if (args.rest_count > command->rest_max)
    return hf_error_set(reterr, HF_ERR_INVALID, "%s: unexpected argument '%.60s'", command->name,
                        argv[command->rest_max]);
  *ret_args = args;
  return 0;
}

static void help_of_one(const struct hf_command *command) {
  printf("holdfast %s [OPTIONS]%s%s\n\n  %s\n\n", command->name, *command->operands ? " " : "", command->operands,
         command->help);
  if (command->print_options)
    command->print_options();
  for (size_t i = 0; i < OPTIONS; i++) {
    if (!(command->flags & options[i].flag))
      continue;
    char left[48];
    int n = snprintf(left, sizeof left, "%s%s%s", options[i].name, options[i].value ? " " : "",
                     options[i].value ? options[i].value : "");
    if (options[i].letter)
      printf("  -%c, %-24s %s\n", options[i].letter, n < 0 ? "" : left, options[i].help);
    else
      printf("      %-24s %s\n", n < 0 ? "" : left, options[i].help);
  }
}

void hf_command_help(const struct hf_command *command) {
  if (command) {
    help_of_one(command);
    return;
  }
  printf("holdfast, a gateway for MCP, keeps agents' tool calls working when tools don't.\n\n"
         "  holdfast serve --config ~/.cursor/mcp.json  all servers of a client's file\n"
         "  holdfast wrap -- npx -y some-mcp-server     one server, instead of its command\n\n");
  for (size_t i = 0; hf_commands[i].name; i++)
    printf("  %-8s %s\n", hf_commands[i].name, hf_commands[i].help);
  printf("\nOptions: `holdfast help COMMAND`. Manuals: holdfast(1), holdfast.yaml(5).\n");
}
