/* Does a text say no member twice? Whoever acts on an object must know, because the next reader may take the other one.
 */
#ifndef HF_JSON_UNIQUE_H
#define HF_JSON_UNIQUE_H

#include "json/value.h"

/* Looks at all objects whose members have nodes. Returns 0; HF_ERR_DUPLICATE with the node of the second one's name;
 * HF_ERR_NOMEM. Allocates only for objects with many members, or with escapes in their names. */
int hf_json_unique(const struct hf_json_doc *doc, uint32_t *ret_key);

#endif
