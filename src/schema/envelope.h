/* Arguments within something else: a wrapper {"params": …}, or a whole call {"name": …, "arguments": …}. */
#ifndef HF_SCHEMA_ENVELOPE_H
#define HF_SCHEMA_ENVELOPE_H

#include "schema/remedy.h"

enum hf_envelope {
  HF_ENVELOPE_NONE,
  HF_ENVELOPE_WRAPPER, /* an object with nothing but one of the words that wrap arguments */
  HF_ENVELOPE_CALL,    /* one with the name of a tool beside it */
};

/* What the root of `doc` is, if the schema has no such property, and the node of what is in it. */
enum hf_envelope hf_envelope_find(const struct hf_unfit *unfit, uint32_t *ret_content);

/* The change that takes the content out. */
struct hf_remedy hf_envelope_open(const struct hf_unfit *unfit, uint32_t content);

#endif
