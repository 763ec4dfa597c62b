/* What the faulty server is told to do: its flags, which the command `holdfast chaos` and the test program share, and
 * which a configuration file sets by the same names. */
#ifndef HF_CHAOS_OPTIONS_H
#define HF_CHAOS_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hf_chaos_era { HF_CHAOS_LEGACY = 1, HF_CHAOS_MODERN = 2, HF_CHAOS_EITHER = 3 };

/* Where a tool takes its idempotency key. */
enum hf_chaos_key_place { HF_CHAOS_KEY_NONE, HF_CHAOS_KEY_ARGUMENT, HF_CHAOS_KEY_META, HF_CHAOS_KEY_HEADER };

struct hf_chaos_tool {
  const char *name;
  const char *description; /* this and the others may be NULL */
  const char *schema;      /* raw JSON, as the next */
  const char *annotations;
  const char *text;                  /* what it answers; else its name, key and how often anything ran */
  enum hf_chaos_key_place key_place; /* a key runs it once, for as long as the key is remembered */
  const char *key_name;
  int64_t key_ttl_ms;
  const char *tells; /* a tool: it tells whether that one ran with the arguments that it is given itself */
};

enum { HF_CHAOS_TOOLS_MAX = 256, HF_CHAOS_TOOL_NAME_MAX = 128 };

enum { HF_CHAOS_EXTRA_TOOLS_MAX = 10000, HF_CHAOS_WAIT_MS_MAX = 24 * 3600 * 1000 };

struct hf_chaos_options {
  const char *config; /* texts are borrowed; NULL where not given */
  const char *ledger;
  const char *faults;      /* "NAME=RATE,…" */
  const char *script;      /* a file */
  const char *script_text; /* or the lines themselves, in a configuration */
  const char *key;         /* the argument that is a call's key in the ledger */
  const char *banner;
  const char *url;                   /* of the server to stand before, or NULL */
  const struct hf_chaos_tool *tools; /* instead of its own */
  size_t tools_count;
  char **command; /* the server to stand before, ends with NULL; or NULL */
  unsigned long long seed;
  unsigned long long port;
  unsigned long long extra_tools;
  unsigned long long start_delay_ms;
  unsigned long long exit_code;
  unsigned long long exit_after_ms;
  int eras; /* of enum hf_chaos_era */
  bool stdio;
  bool http;
  bool no_sessions;
  bool sse;
  bool echo_noise;
  bool hang;
  bool exits;
  bool ignore_term;
  bool ignore_eof;
  bool grandchild;
  bool help;
};

void hf_chaos_options_init(struct hf_chaos_options *settings);

/* Takes the flags of `argv` (which ends with NULL, and to which texts point); what follows `--` is the command. Returns
 * 0 or HF_ERR_INVALID with a text that names the nearest flag. */
int hf_chaos_options_parse(struct hf_chaos_options *settings, char **argv, struct hf_error *reterr);

/* Sets one by its name without dashes, as a configuration does. `value` NULL is for those that take none. Returns 0,
 * HF_ERR_NOTFOUND or HF_ERR_INVALID. */
int hf_chaos_options_set(struct hf_chaos_options *settings, const char *name, const char *value,
                         struct hf_error *reterr);

/* Whether they make sense together. Returns 0 or HF_ERR_INVALID. */
int hf_chaos_options_check(const struct hf_chaos_options *settings, struct hf_error *reterr);

/* Prints a line for each flag on standard output. */
void hf_chaos_options_help(void);

#endif
