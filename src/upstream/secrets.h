/* The secrets that a child was given, to be hidden in what it says. */
#ifndef HF_UPSTREAM_SECRETS_H
#define HF_UPSTREAM_SECRETS_H

#include "base/arena.h"
#include "base/str.h"
#include "gateway/settings.h"

enum { HF_SECRET_MIN = 6 }; /* bytes: what is shorter would hide ordinary words */

struct hf_secrets {
  struct hf_str *item;
  size_t count;
};

/* Takes the values of "NAME=value" strings, borrowed; of a value of several lines each is a secret of its own. Returns
 * 0 or HF_ERR_NOMEM. */
int hf_secrets_init(struct hf_secrets *secrets, struct hf_arena *arena, const struct hf_strings *env);

/* Puts "***" for each secret in `text`. Of a text that was `cut`, an end that may be the start of a secret goes too.
 * Returns the new length, which is never larger. */
size_t hf_secrets_hide(const struct hf_secrets *secrets, char *text, size_t len, bool cut);

#endif
