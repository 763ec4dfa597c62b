/* The meta-schemas of the drafts, as constant text. */
#ifndef HF_SCHEMA_META_H
#define HF_SCHEMA_META_H

#include "base/str.h"

/* The text of the meta-schema called `uri` (without fragment), absent if there is none. */
struct hf_str hf_meta_find(struct hf_str uri);

#endif
