/* One text for all that mean the same: members sorted by key, no white space, strings in one spelling, numbers that are
 * equal in one spelling. For fingerprints, cache keys and comparisons. Not RFC 8785, whose numbers lose digits. */
#ifndef HF_JSON_CANONICAL_H
#define HF_JSON_CANONICAL_H

#include "base/buf.h"
#include "base/str.h"

/* The most values in what is brought into this form. */
enum { HF_JSON_CANONICAL_NODES = 1 << 20 };

/* Appends the canonical text of `raw`. Only numbers whose exponent is beyond ±10^15 keep the spelling they have.
 * Returns 0, HF_ERR_SYNTAX, HF_ERR_DUPLICATE (a member occurs twice), HF_ERR_LIMIT or HF_ERR_NOMEM; then `out` is as it
 * was. */
int hf_json_canonical(struct hf_str raw, struct hf_buf *out);

#endif
