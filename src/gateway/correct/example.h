/* The smallest value that a schema takes, to show what is meant.
 *
 * Made from what the schema says plainly: required members, `const`, `examples`, `default`, the first of an `enum`,
 * types and bounds. What comes out was checked against the whole schema, so it is right or there is none. */
#ifndef HF_GATEWAY_CORRECT_EXAMPLE_H
#define HF_GATEWAY_CORRECT_EXAMPLE_H

#include "base/buf.h"
#include "schema/schema.h"

/* Appends the example as compact JSON of at most `max` bytes. Returns 0; HF_ERR_NOTFOUND if none was found;
 * HF_ERR_NOMEM or the buffer's error. */
int hf_example_write(const struct hf_schema *schema, struct hf_schema_run *run, size_t max, struct hf_buf *out);

#endif
