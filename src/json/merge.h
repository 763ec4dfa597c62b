/* JSON Merge Patch (RFC 7396). */
#ifndef HF_JSON_MERGE_H
#define HF_JSON_MERGE_H

#include "base/buf.h"
#include "base/str.h"

/* The most that a patch may hold. */
enum { HF_JSON_MERGE_DEPTH = 48, HF_JSON_MERGE_NODES = 4096 };

/* Appends what `patch` makes of `target` (both raw JSON). Returns 0, HF_ERR_SYNTAX, HF_ERR_DUPLICATE (a member that is
 * looked at occurs twice), HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_json_merge(struct hf_str target, struct hf_str patch, struct hf_buf *out);

#endif
