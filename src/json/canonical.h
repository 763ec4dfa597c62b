/* One text for all that mean the same: members sorted by key, no white space, strings in one spelling, numbers that are
 * equal in one spelling. For fingerprints and cache keys. Not RFC 8785, whose numbers lose digits. */
#ifndef HF_JSON_CANONICAL_H
#define HF_JSON_CANONICAL_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the canonical text of `raw`. Returns 0, HF_ERR_SYNTAX, HF_ERR_DUPLICATE (a member occurs twice), HF_ERR_LIMIT
 * or HF_ERR_NOMEM. */
int hf_json_canonical(struct hf_str raw, struct hf_buf *out);

#endif
