/* What a model is told of a call whose arguments do not fit: every reason at once, the most useful ones first, and one
 * example of a call that would fit.
 *
 * Schema and arguments are the words of strangers: they are only ever shown as JSON strings and values, which they
 * cannot get out of. */
#ifndef HF_GATEWAY_FEEDBACK_H
#define HF_GATEWAY_FEEDBACK_H

#include "base/buf.h"
#include "gateway/arguments.h"

enum {
  HF_FEEDBACK_BYTES_PER_TOKEN = 4, /* the estimate: English and JSON alike come to about that */
  HF_FEEDBACK_ERRORS_MAX = 12,     /* reasons that are told */
};

/* About how many tokens a text is. */
size_t hf_feedback_tokens(struct hf_str text);

/* Appends one line for each reason ("- /path: must be …; got …"), the most useful first, within about `tokens`; says
 * how many were left out. Returns 0 or the buffer's error. */
int hf_feedback_reasons(const struct hf_misfit *misfit, size_t tokens, struct hf_buf *out);

/* Appends the smallest arguments that the schema takes, as compact JSON that was checked against it. Returns 0;
 * HF_ERR_NOTFOUND if none was found that fits and is at most `max` bytes; HF_ERR_NOMEM. */
int hf_feedback_example(const struct hf_schema *schema, struct hf_schema_run *run, size_t max, struct hf_buf *out);

/* Appends `text` as a JSON string, cut to about `max` bytes at a character. */
int hf_feedback_quote(struct hf_str text, size_t max, struct hf_buf *out);

#endif
