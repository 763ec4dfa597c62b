/* Why arguments do not fit, for a model: every reason at once, the most useful ones first, with what was probably
 * meant.
 *
 * Schema and arguments are the words of strangers: they are only ever shown as JSON strings and values, which they
 * cannot get out of. */
#ifndef HF_GATEWAY_CORRECT_FEEDBACK_H
#define HF_GATEWAY_CORRECT_FEEDBACK_H

#include "base/buf.h"
#include "gateway/stage/misfit.h"

enum { HF_FEEDBACK_ERRORS_MAX = 12 }; /* reasons that are told */

/* Appends one line for each reason ("- /path: must be …; got …"), each behind a line break, the most useful first,
 * within about `tokens` (base/tokens.h) but at least one; says how many were left out. Returns 0 or the buffer's error.
 */
int hf_feedback_reasons(const struct hf_misfit *misfit, size_t tokens, struct hf_buf *out);

/* Appends a line on the members that the schema allows without having heard of them, and what they were probably meant
 * for: no reason for a refusal, but when there is one, a name was often misspelt. Nothing if there are none. Returns 0
 * or the buffer's error. */
int hf_feedback_strangers(const struct hf_misfit *misfit, struct hf_buf *out);

/* Makes one line of the reasons that were appended to an empty buffer, for the log. */
void hf_feedback_join(struct hf_buf *reasons);

/* Appends the most useful reason alone, as one line. Returns 0 or the buffer's error. */
int hf_feedback_first(const struct hf_misfit *misfit, struct hf_buf *out);

/* Equal for two misfits of one tool in which the same is wrong at the same places, whatever the values are. */
uint64_t hf_feedback_digest(const struct hf_misfit *misfit);

/* Appends `text` as a JSON string, cut to about `max` bytes at a character. */
int hf_feedback_quote(struct hf_str text, size_t max, struct hf_buf *out);

#endif
