/* A JSON value with holes, filled from another one: how arguments and results are mapped.
 *
 * A template is any JSON value. In its strings, `{{path}}` stands for a value of the source: names and array indexes
 * joined by dots (`{{user.emails.0}}`), or a JSON Pointer (`{{/user/emails/0}}`); `{{}}` is the whole source. A string
 * that is one hole alone becomes the value itself, so that a number stays a number; among other text a string is put in
 * as its characters, everything else as its JSON. `{{path|default}}` has a JSON value (or else bare text) for the
 * case that nothing is there; without one, a member or element of which nothing is there is left out.
 * `{{{{` is a literal `{{`. */
#ifndef HF_JSON_TEMPLATE_H
#define HF_JSON_TEMPLATE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

/* Says what is wrong in a template before it is ever used: HF_ERR_SYNTAX with the place, or 0. */
int hf_template_check(struct hf_str raw, struct hf_error *reterr);

/* Appends what `raw` becomes with `source` (raw JSON). Returns 0; HF_ERR_NOTFOUND if nothing is left at the root;
 * HF_ERR_SYNTAX for a template or source that cannot be read; HF_ERR_LIMIT or HF_ERR_NOMEM of the buffer. */
int hf_template_fill(struct hf_str raw, struct hf_str source, struct hf_buf *out);

/* Calls back with the first name of each hole's path (absent for the whole source), for checks against a schema. */
int hf_template_names(struct hf_str raw, void (*name)(void *ctx, struct hf_str name, bool has_default), void *ctx);

#endif
