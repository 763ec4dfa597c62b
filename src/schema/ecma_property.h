/* The Unicode properties that ECMA-262 knows, by its names: \p{Letter}, \p{gc=Lu}, \p{Script=Greek}, \p{Emoji}. */
#ifndef HF_SCHEMA_ECMA_PROPERTY_H
#define HF_SCHEMA_ECMA_PROPERTY_H

#include "base/str.h"

/* PCRE2's \p{prefix name}. */
struct hf_ecma_property {
  const char *prefix;
  struct hf_str name; /* borrowed from the text, or constant */
  bool inverted;      /* what has it not is meant */
};

/* Reads what stands in the braces. Returns 0, or HF_ERR_NOTFOUND if there is no such property; of scripts only the form
 * of the name is checked. */
int hf_ecma_property(struct hf_str text, struct hf_ecma_property *ret_property);

#endif
