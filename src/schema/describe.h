/* What is wrong with a value, in a sentence that a person or a model can act on: what was expected, and what came. */
#ifndef HF_SCHEMA_DESCRIBE_H
#define HF_SCHEMA_DESCRIBE_H

#include "schema/schema.h"

enum {
  HF_DESCRIBE_VALUE_MAX = 60,    /* bytes of a value that are shown; what is longer is cut, and says so */
  HF_DESCRIBE_CHOICES_MAX = 300, /* bytes of a list of choices, likewise */
};

/* Appends what `error` says of the document `value`: `must be one of "a", "b"; got "c"`. One line, valid UTF-8, no full
 * stop; where the value is, is not in it. Quotes what schema and value say as JSON, so that neither gets out of its
 * quotes. Returns 0 or the buffer's error. */
int hf_schema_describe(const struct hf_schema_error *error, const struct hf_json_doc *value, struct hf_buf *out);

#endif
