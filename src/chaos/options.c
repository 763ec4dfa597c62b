#include "chaos/options.h"

#include "base/distance.h"

#include <stdio.h>
#include <string.h>

enum kind { SWITCH, TEXT, NUMBER, ERA };

struct option {
  const char *name;
  enum kind kind;
  size_t offset; /* of its value */
  size_t given;  /* of the switch that says that it was given; 0: none */
  uint64_t max;  /* of a number */
  const char *value;
  const char *help;
};

#define AT(member) offsetof(struct hf_chaos_options, member)

static const struct option options[] = {
    {"--config", TEXT, AT(config), 0, 0, "FILE", "YAML or JSON, these names; also faults and script"},
    {"--stdio", SWITCH, AT(stdio), 0, 0, NULL, "serve on standard input and output"},
    {"--http", NUMBER, AT(port), AT(http), UINT16_MAX, "PORT", "serve on 127.0.0.1:PORT; 0: a free one, printed"},
    {"--url", TEXT, AT(url), 0, 0, "URL", "stand before http://HOST[:PORT][/PATH]"},
    {"--era", ERA, AT(eras), 0, 0, "ERA", "legacy (default), modern or both"},
    {"--seed", NUMBER, AT(seed), 0, UINT64_MAX, "N", "the same seed makes the same faults (1)"},
    {"--fault", TEXT, AT(faults), 0, 0, "NAME=RATE,...", "faults of calls by chance; RATE is 0.05 or 5%"},
    {"--script", TEXT, AT(script), 0, 0, "FILE", "lines METHOD FAULT[*TIMES], used up in order"},
    {"--ledger", TEXT, AT(ledger), 0, 0, "FILE", "append a line for each execution"},
    {"--key", TEXT, AT(key), 0, 0, "NAME", "argument that is a call's key in the ledger (key)"},
    {"--no-sessions", SWITCH, AT(no_sessions), 0, 0, NULL, "HTTP without Mcp-Session-Id"},
    {"--sse", SWITCH, AT(sse), 0, 0, NULL, "answer calls as event streams"},
    {"--extra-tools", NUMBER, AT(extra_tools), 0, HF_CHAOS_EXTRA_TOOLS_MAX, "N", "list N further tools"},
    {"--banner", TEXT, AT(banner), 0, 0, "TEXT", "print a line first"},
    {"--echo-noise", SWITCH, AT(echo_noise), 0, 0, NULL, "stdio: print a log line for each line read"},
    {"--start-delay", NUMBER, AT(start_delay_ms), 0, HF_CHAOS_WAIT_MS_MAX, "MS", "stdio: be slow to start"},
    {"--hang", SWITCH, AT(hang), 0, 0, NULL, "never start"},
    {"--exit", NUMBER, AT(exit_code), AT(exits), UINT8_MAX, "CODE", "exit at once"},
    {"--exit-after", NUMBER, AT(exit_after_ms), 0, HF_CHAOS_WAIT_MS_MAX, "MS", "stdio: exit with 1 later"},
    {"--ignore-term", SWITCH, AT(ignore_term), 0, 0, NULL, "do not end on SIGTERM"},
    {"--ignore-eof", SWITCH, AT(ignore_eof), 0, 0, NULL, "stdio: do not end with the input"},
    {"--grandchild", SWITCH, AT(grandchild), 0, 0, NULL, "stdio: leave a child of its own holding the pipes"},
    {"--help", SWITCH, AT(help), 0, 0, NULL, "this text"},
};

enum { OPTIONS = sizeof options / sizeof options[0] };

void hf_chaos_options_init(struct hf_chaos_options *settings) {
  *settings = (struct hf_chaos_options){.eras = HF_CHAOS_LEGACY, .seed = 1, .key = "key"};
}

static const struct option *find(struct hf_str name) {
  for (size_t i = 0; i < OPTIONS; i++) {
    if (hf_str_equal(name, hf_str_from(options[i].name))) {
      return &options[i];
    }
  }
  return hf_str_equal(name, HF_STR("-h")) ? &options[OPTIONS - 1] : NULL;
}

static const char *nearest_to(struct hf_str word) {
  const char *names[OPTIONS + 1] = {NULL};
  for (size_t i = 0; i < OPTIONS; i++) {
    names[i] = options[i].name;
  }
  return hf_nearest(word, names);
}

static int unknown(struct hf_str word, struct hf_error *reterr) {
  enum { SHOWN = 40 };
  const char *nearest = nearest_to(word);
  return hf_error_set(reterr, HF_ERR_INVALID, "chaos: unknown option '%.*s'%s%s%s",
                      (int)(word.len < SHOWN ? word.len : SHOWN), word.ptr, nearest ? "; did you mean '" : "",
                      nearest ? nearest : "", nearest ? "'?" : "");
}

static int set_era(int *eras, const char *value, struct hf_error *reterr) {
  static const char *const names[] = {"legacy", "modern", "both", NULL};
  for (int i = 0; names[i]; i++) {
    if (strcmp(names[i], value) == 0) {
      *eras = i + 1;
      return 0;
    }
  }
  const char *nearest = hf_nearest(hf_str_from(value), names);
  return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '--era' takes legacy, modern or both, not '%.40s'%s%s%s", value,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static int set_number(unsigned long long *number, const struct option *option, const char *value,
                      struct hf_error *reterr) {
  if (hf_str_to_u64(hf_str_from(value), option->max, number) == 0) {
    return 0;
  }
  return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '%s' takes a whole number up to %llu, not '%.40s'", option->name,
                      (unsigned long long)option->max, value);
}

static int set(struct hf_chaos_options *settings, const struct option *option, const char *value,
               struct hf_error *reterr) {
  char *base = (char *)settings;
  if (option->kind == SWITCH && value) {
    return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '%s' takes no value", option->name);
  }
  if (option->kind != SWITCH && !value) {
    return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '%s' needs a value: %s", option->name, option->value);
  }
  if (option->given) {
    memcpy(base + option->given, &(bool){true}, sizeof(bool));
  }
  switch (option->kind) {
  case SWITCH:
    memcpy(base + option->offset, &(bool){true}, sizeof(bool));
    return 0;
  case TEXT:
    memcpy(base + option->offset, &value, sizeof value);
    return 0;
  case NUMBER:
    return set_number((unsigned long long *)(void *)(base + option->offset), option, value, reterr);
  case ERA:
    return set_era((int *)(void *)(base + option->offset), value, reterr);
  }
  return 0;
}

int hf_chaos_options_set(struct hf_chaos_options *settings, const char *name, const char *value,
                         struct hf_error *reterr) {
  char flag[32];
  int len = snprintf(flag, sizeof flag, "--%.28s", name);
  const struct option *option = find((struct hf_str){flag, len > 0 ? (size_t)len : 0});
  if (!option) {
    const char *nearest = nearest_to((struct hf_str){flag, len > 0 ? (size_t)len : 0});
    return hf_error_set(reterr, HF_ERR_NOTFOUND, "unknown key '%.40s'%s%s%s", name, nearest ? "; did you mean '" : "",
                        nearest ? nearest + 2 : "", nearest ? "'?" : "");
  }
  return set(settings, option, value, reterr);
}

int hf_chaos_options_parse(struct hf_chaos_options *settings, char **argv, struct hf_error *reterr) {
  for (size_t i = 0; argv[i]; i++) {
    if (strcmp(argv[i], "--") == 0) {
      settings->command = &argv[i + 1];
      return argv[i + 1] ? 0 : hf_error_set(reterr, HF_ERR_INVALID, "chaos: '--' needs a command");
    }
    if (argv[i][0] != '-') {
      return hf_error_set(reterr, HF_ERR_INVALID, "chaos: unexpected argument '%.40s'; a server's command follows '--'",
                          argv[i]);
    }
    const char *equals = strchr(argv[i], '=');
    struct hf_str word = {argv[i], equals ? (size_t)(equals - argv[i]) : strlen(argv[i])};
    const struct option *option = find(word);
    if (!option) {
      return unknown(word, reterr);
    }
    const char *value = equals ? equals + 1 : option->kind == SWITCH ? NULL : argv[++i];
    int rc = set(settings, option, value, reterr);
    if (rc != 0) {
      return rc;
    }
  }
  return 0;
}

int hf_chaos_options_check(const struct hf_chaos_options *settings, struct hf_error *reterr) {
  if (settings->stdio && settings->http) {
    return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '--stdio' and '--http' exclude each other");
  }
  if (settings->url && settings->command) {
    return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '--url' and a command exclude each other");
  }
  if (settings->url && !settings->http) {
    return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '--url' needs '--http PORT': it stands before it over HTTP");
  }
  if (!settings->stdio && !settings->http && !settings->command) {
    return hf_error_set(reterr, HF_ERR_INVALID, "chaos: '--stdio', '--http PORT' or '-- COMMAND' is needed");
  }
  return 0;
}

void hf_chaos_options_help(void) {
  enum { WIDTH = 28 };
  for (size_t i = 0; i < OPTIONS; i++) {
    const char *value = options[i].value ? options[i].value : "";
    int used = (int)strlen(options[i].name) + 1;
    printf("  %s %-*s %s\n", options[i].name, WIDTH - used, value, options[i].help);
  }
}
