/* Labels of host names beyond ASCII: Punycode (RFC 3492) and the rules of IDNA 2008 (RFC 5891 to 5893).
 *
 * Which characters may be in a label is told by block, not by each character's properties, and the writing directions
 * likewise: what is let through need not be registered anywhere. */
#ifndef HF_SCHEMA_IDN_H
#define HF_SCHEMA_IDN_H

#include "base/str.h"

/* What a name must know of its labels. */
struct hf_idn_label {
  size_t length; /* bytes that it takes in the DNS */
  bool right_to_left;
};

/* Is it a label, in UTF-8 and not all ASCII? */
bool hf_idn_is_label(struct hf_str label, struct hf_idn_label *ret_label);

/* Is it what stands behind `xn--` in a label? */
bool hf_idn_is_encoded(struct hf_str encoded, struct hf_idn_label *ret_label);

#endif
