/* Environment variables in configuration strings: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, and `$${` for a literal
 * `${`. Expanded once: what a variable holds is never looked at again, and defaults hold no variables. */
#ifndef HF_DAEMON_EXPAND_H
#define HF_DAEMON_EXPAND_H

#include "base/arena.h"

/* Returns the value or NULL if unset; like getenv. */
typedef const char *hf_variable_fn(const char *name);

/* Returns 0 and the text (borrowed when nothing was to expand, else from `arena`); HF_ERR_NOTFOUND when a variable is
 * unset and has no default, with its name (from `arena`) in `ret_variable`; HF_ERR_SYNTAX likewise, with the malformed
 * piece; HF_ERR_NOMEM. An empty variable counts as set, but takes its default where it has one, as in a shell. */
int hf_expand(struct hf_arena *arena, struct hf_str text, hf_variable_fn *variable, struct hf_str *ret_text,
              struct hf_str *ret_variable);

#endif
