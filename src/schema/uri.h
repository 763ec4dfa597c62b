/* References to resources, resolved as RFC 3986 says. Nothing is ever loaded by them: they are names. */
#ifndef HF_SCHEMA_URI_H
#define HF_SCHEMA_URI_H

#include "base/buf.h"

/* Splits what stands before the first '#' from what stands behind it, which is absent if there is none. */
void hf_uri_split(struct hf_str uri, struct hf_str *ret_resource, struct hf_str *ret_fragment);

/* Appends `reference` (without fragment) as it is meant where `base` is, which may be empty. Returns 0 or the buffer's
 * error. */
int hf_uri_resolve(struct hf_str base, struct hf_str reference, struct hf_buf *out);

/* Appends `text` with its percent escapes decoded; what is no escape stays. Returns 0 or the buffer's error. */
int hf_uri_decode(struct hf_str text, struct hf_buf *out);

#endif
