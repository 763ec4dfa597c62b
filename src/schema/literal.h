/* One literal of JSON, Python or JavaScript, turned into JSON while it is read. */
#ifndef HF_SCHEMA_LITERAL_H
#define HF_SCHEMA_LITERAL_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

enum { HF_LITERAL_DEPTH_MAX = 64 }; /* of containers in one another */

/* A text that is read from left to right; everything is borrowed. */
struct hf_literal {
  struct hf_str text;
  size_t at;
  struct hf_buf *out; /* what was read is appended */
  unsigned how;       /* enum hf_loose, added to */
  unsigned depth;     /* starts at 0 */
  struct hf_error *reterr;
};

/* Skips white space and comments. Returns 0, or HF_ERR_INCOMPLETE within a comment. */
int hf_literal_space(struct hf_literal *l);

/* Reads the value that starts at `at`, and ends behind it. Also reads a call, or a list of calls, with named arguments.
 * Returns 0, HF_ERR_SYNTAX, HF_ERR_INCOMPLETE, HF_ERR_LIMIT or HF_ERR_NOMEM; then what was appended is unfinished. */
int hf_literal_value(struct hf_literal *l);

/* Does a call start at `at`: f(…), a.b(…)? */
bool hf_literal_is_call(const struct hf_literal *l);

#endif
