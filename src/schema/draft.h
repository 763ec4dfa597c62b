/* Which draft, and which vocabularies of it, a schema is written in. */
#ifndef HF_SCHEMA_DRAFT_H
#define HF_SCHEMA_DRAFT_H

#include "schema/resource.h"

/* Finds out what `uri`, the value of `$schema`, says. Returns 0; HF_ERR_NOTFOUND (not told) if it is known neither here
 * nor as a resource; HF_ERR_UNSUPPORTED, told, for a vocabulary that is needed and not known; or another error, told.
 */
int hf_draft_find(struct hf_resources *resources, struct hf_str uri, uint8_t *ret_draft, uint8_t *ret_vocabularies);

#endif
