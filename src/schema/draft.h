/* The drafts, and the vocabularies that a meta-schema may be made of, by their names. */
#ifndef HF_SCHEMA_DRAFT_H
#define HF_SCHEMA_DRAFT_H

#include "schema/keyword.h"

/* The draft whose own meta-schema is called so, or 0. */
uint8_t hf_draft_known(struct hf_str uri);

/* The bits of the vocabulary that a draft calls so; 0 if it changes nothing of what is valid, -1 if there is none. */
int hf_draft_vocabulary(uint8_t draft, struct hf_str uri);

#endif
