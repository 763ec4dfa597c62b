/* Labels of host names beyond ASCII: Punycode (RFC 3492) and the rules of IDNA 2008 (RFC 5891 to 5893).
 *
 * Which characters may be in a label is told by block, not by each character's properties, and the writing directions
 * likewise: what is let through need not be registered anywhere. */
#ifndef HF_SCHEMA_IDN_H
#define HF_SCHEMA_IDN_H

#include "base/str.h"

/* Is it a label, in UTF-8 and not all ASCII? Sets the bytes it takes in the DNS. */
bool hf_idn_is_label(struct hf_str label, size_t *ret_length);

/* Is it what stands behind `xn--` in a label? */
bool hf_idn_is_encoded(struct hf_str encoded);

#endif
