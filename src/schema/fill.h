/* An incomplete schema with what some language models' APIs insist on: they refuse a whole request for one object
 * without `properties`, one array without `items`, one value without `type`.
 *
 * Only what is missing is added, as the last members of the (sub)schema it belongs to; everything else keeps its bytes.
 * `properties` and an empty list of them say the same. A `type` is told from the other keywords; where these tell
 * nothing, a property or an element is shown as a string. So this is for showing: values are held against the schema as
 * it was. What stands below `not`, `if`, `then`, `else`, `contains` and the like is left alone, and so is what is
 * nested too deeply. */
#ifndef HF_SCHEMA_FILL_H
#define HF_SCHEMA_FILL_H

#include "base/buf.h"
#include "base/str.h"

enum {
  HF_SCHEMA_FILL_DEPTH = 32,     /* schemas within one another */
  HF_SCHEMA_FILL_BYTES = 1 << 20 /* of a schema that is read for it */
};

/* Appends `schema`, the inputSchema of a tool, completed. Absent, or no object: one that takes no arguments in
 * particular. Returns 0; HF_ERR_LIMIT or HF_ERR_SYNTAX if it cannot be read, and the buffer's errors. */
int hf_schema_fill(struct hf_str schema, struct hf_buf *out);

#endif
