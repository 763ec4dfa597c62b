/* Dead letters as JSON: what `dlq --json` shows, and what `dlq export` writes and `dlq import` reads. */
#ifndef HF_CLI_LETTER_JSON_H
#define HF_CLI_LETTER_JSON_H

#include "gateway/settings.h"
#include "gateway/store.h"
#include "json/value.h"
#include "json/write.h"

/* How much of a letter is told. */
struct hf_letter_view {
  bool whole;                       /* also arguments, attempts, result and history */
  bool secrets_shown;               /* nothing is redacted */
  const struct hf_strings *secrets; /* what is redacted beyond the usual, or NULL */
};

/* Returns 0, or HF_ERR_INVALID for a name of none. */
int hf_letter_status_parse(struct hf_str name, enum hf_letter_status *ret_status);

/* Writes it. If redaction hides something, `redacted` is true in what is written. */
void hf_letter_json_write(struct hf_json_writer *w, const struct hf_letter *letter, const struct hf_letter_view *view);

/* Reads what was written whole. Texts are borrowed, or in `arena`. Returns 0, or HF_ERR_INVALID or HF_ERR_NOMEM with
 * `reterr` telling what is wrong. */
int hf_letter_json_read(const struct hf_json_doc *doc, struct hf_arena *arena, struct hf_letter *ret_letter,
                        struct hf_error *reterr);

/* Appends a value of JSON that may hold secrets, as far as `view` allows; "\"[redacted]\"" if it cannot be read.
 * `ret_hidden` (or NULL) becomes true if something is hidden. Returns 0 or the buffer's error. */
int hf_letter_json_redact(struct hf_str raw, const struct hf_letter_view *view, struct hf_buf *out, bool *ret_hidden);

/* The same for a letter's history, whose entries hold patches of the arguments. */
int hf_letter_json_redact_history(struct hf_str raw, const struct hf_letter_view *view, struct hf_buf *out);

#endif
