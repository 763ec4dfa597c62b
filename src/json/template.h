/* A JSON value with holes, filled from another one: how arguments and results are mapped.
 *
 * A template is any JSON value. In its strings (not in names of members), `{{path}}` stands for a value of the source:
 * names and array indexes joined by dots (`{{user.emails.0}}`), or a JSON Pointer (`{{/user/emails/0}}`) for names that
 * have dots; `{{}}` is the whole source. A string that is one hole alone becomes the value itself, spelt as it was, so
 * that a number stays a number; among other text a string is put in as its characters, everything else as its JSON.
 * `{{path|default}}` has a JSON value (or else bare text) for the case that nothing is there. Without one, a member or
 * element is left out whose string has a hole of which nothing is there; what contains it stays, though empty. null is
 * something. `{{{{` is a literal `{{`. Space around path and default does not count.
 *
 * Nothing of the source is ever read as a template, and what it puts into a string is escaped. */
#ifndef HF_JSON_TEMPLATE_H
#define HF_JSON_TEMPLATE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>

enum {
  HF_TEMPLATE_BYTES = 256 << 10,
  HF_TEMPLATE_DEPTH = 32, /* what is filled in may be nested as deep as the scanner allows */
  HF_TEMPLATE_NODES = 4096,
};

/* Says what is wrong in a template before it is ever used: HF_ERR_SYNTAX, HF_ERR_DUPLICATE, HF_ERR_LIMIT or
 * HF_ERR_NOMEM with the reason and the place, or 0. */
int hf_template_check(struct hf_str raw, struct hf_error *reterr);

/* Appends what `raw` becomes with `source` (raw JSON, not looked at if there are no holes). Returns 0; HF_ERR_NOTFOUND
 * if nothing is left at the root; HF_ERR_SYNTAX for a template or source that cannot be read; HF_ERR_DUPLICATE if a
 * member on a path occurs twice; HF_ERR_LIMIT (of template, source or buffer) or HF_ERR_NOMEM. On an error `out` is as
 * it was. */
int hf_template_fill(struct hf_str raw, struct hf_str source, struct hf_buf *out);

/* The same, but nothing is left out: HF_ERR_NOTFOUND if there is nothing for a hole. */
int hf_template_fill_whole(struct hf_str raw, struct hf_str source, struct hf_buf *out);

/* Calls back with the first name of each hole's path (absent for the whole source; valid during the call), for checks
 * against a schema. Returns what hf_template_check does. */
int hf_template_names(struct hf_str raw, void (*name)(void *ctx, struct hf_str name, bool has_default), void *ctx);

#endif
