/* The one table of options. Parsing, `holdfast config`, the schema for editors and the manual all read it.
 *
 * A row says where an option may stand (its scope), what it is called there, what it holds, its default and bounds, and
 * which member of the settings it fills. There is no other list. */
#ifndef HF_DAEMON_OPTIONS_H
#define HF_DAEMON_OPTIONS_H

#include "daemon/document.h"
#include "daemon/expand.h"
#include "gateway/settings.h"

enum hf_option_type {
  HF_OPTION_DURATION,  /* hf_time */
  HF_OPTION_SIZE,      /* uint32_t, bytes */
  HF_OPTION_COUNT,     /* uint32_t */
  HF_OPTION_PERCENT,   /* uint32_t */
  HF_OPTION_FLAG,      /* bool */
  HF_OPTION_CHOICE,    /* an enum in the order of `choices` */
  HF_OPTION_WORD,      /* struct hf_str, one of `choices` */
  HF_OPTION_TEXT,      /* struct hf_str */
  HF_OPTION_TEXTS,     /* struct hf_strings */
  HF_OPTION_PAIRS,     /* struct hf_strings, from a mapping; `choices` is what joins name and value */
  HF_OPTION_STATUSES,  /* uint16_t[], HTTP statuses */
  HF_OPTION_ADDRESS,   /* host and port */
  HF_OPTION_TOKENS,    /* names and hashes */
  HF_OPTION_JSON,      /* struct hf_str, raw JSON of what stands there; `choices` says of which kind */
  HF_OPTION_TEMPLATE,  /* likewise, a template (json/template.h) */
  HF_OPTION_CONDITION, /* struct hf_condition */
  HF_OPTION_TOOL,      /* struct hf_tool_name, written server__tool */
  HF_OPTION_KEY,       /* struct hf_key_settings; the last part of the path is the place */
  HF_OPTION_PROVIDERS, /* read by route_config.c */
  HF_OPTION_BLOCK,     /* read by config.c */
};

/* Where an option may stand. A policy fills two structures, and stands in `policies`, in a server, and (but for
 * HF_SCOPE_PROVIDER) in a tool and a route. What tools and routes have in common fills the one's settings, or that part
 * of the other's. */
enum hf_scope {
  HF_SCOPE_TOP = 1 << 0,      /* struct hf_settings */
  HF_SCOPE_SERVER = 1 << 1,   /* struct hf_server_settings */
  HF_SCOPE_POLICY = 1 << 2,   /* struct hf_policy */
  HF_SCOPE_PROVIDER = 1 << 3, /* struct hf_provider_options */
  HF_SCOPE_TOOL = 1 << 4,     /* struct hf_tool_settings */
  HF_SCOPE_ANSWER = 1 << 5,   /* struct hf_tool_settings, of tools and of routes */
  HF_SCOPE_ROUTE = 1 << 6,    /* struct hf_route_settings */
  HF_SCOPE_TARGET = 1 << 7,   /* struct hf_route_provider */
};

enum hf_profile { HF_PROFILE_LIGHT, HF_PROFILE_STANDARD, HF_PROFILE_ENTERPRISE, HF_PROFILE_COUNT };

struct hf_option {
  enum hf_scope scope;
  const char *path; /* "timeout.connect" within its scope */
  enum hf_option_type type;
  size_t offset;                       /* in the structure of its scope */
  const char *value[HF_PROFILE_COUNT]; /* defaults; NULL: empty. Only policies differ between profiles */
  const char *min;                     /* spelt as in the file, or NULL */
  const char *max;
  const char *choices; /* "a|b|c" */
  bool fixed;          /* a change needs a restart */
  bool secret;         /* its values are shown nowhere */
  bool alone;          /* a scalar in the place of its group is its value */
  const char *help;    /* one line; no full stop */
};

const struct hf_option *hf_options(size_t *ret_count);

/* The row, or NULL. */
const struct hf_option *hf_option_find(enum hf_scope scope, const char *path);

/* True if `key` names the option, or the group it is in. */
bool hf_option_under(const struct hf_option *option, struct hf_str key);

/* The structures that the scopes fill; those a place doesn't have are NULL. */
struct hf_targets {
  struct hf_settings *top;
  struct hf_server_settings *server;
  struct hf_policy *policy;
  struct hf_provider_options *provider;
  struct hf_tool_settings *tool;
  struct hf_tool_settings *answer;
  struct hf_route_settings *route;
  struct hf_route_provider *target;
};

/* What reading needs. */
struct hf_reader {
  struct hf_arena *arena;
  struct hf_problems *problems;
  hf_variable_fn *variable;
  struct hf_str *missing; /* where an unset variable is told, once ("'TOKEN' in headers"); NULL: it is an error */
  const struct hf_settings *settings; /* with the servers that names of tools begin with, once they are read */
};

/* Sets all options of the targets that are there to their defaults. Returns 0 or HF_ERR_NOMEM. */
int hf_options_defaults(struct hf_arena *arena, enum hf_profile profile, const struct hf_targets *targets);

/* Reads the mapping `node`, called `where` in messages, into the targets; rows of type HF_OPTION_BLOCK are left to the
 * caller. An unknown key is a problem, unless the caller takes it: `foreign` (may be NULL) is asked first. Returns 0 or
 * HF_ERR_NOMEM; what else is wrong becomes a problem. */
typedef bool hf_foreign_fn(const struct hf_reader *reader, const struct hf_node *entry);
int hf_options_read(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                    const struct hf_targets *targets, hf_foreign_fn *foreign);

/* True if `key` is a key of this scope, or near enough to one to be a slip of the pen. */
bool hf_option_resembles(enum hf_scope scope, struct hf_str key);

/* Reads one value. Returns 0 or HF_ERR_NOMEM; what else is wrong becomes a problem. */
int hf_option_set(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                  const struct hf_targets *targets);

/* Expands the variables of a scalar, which messages call `path`. `ret_text` is absent when there is none to be had.
 * Returns 0 or HF_ERR_NOMEM; what else is wrong becomes a problem. */
int hf_option_expand(const struct hf_reader *reader, const char *path, const struct hf_node *node,
                     struct hf_str *ret_text);

/* True when `node` is of that kind; otherwise it becomes a problem. */
bool hf_option_wants(const struct hf_reader *reader, const char *path, const struct hf_node *node,
                     enum hf_node_kind kind);

/* The index of `word` in "a|b|c", or -1. */
int hf_choice_find(const char *choices, struct hf_str word);

#endif
