/* How far two names are apart, to find what a person or a model probably meant. */
#ifndef HF_BASE_DISTANCE_H
#define HF_BASE_DISTANCE_H

#include "base/str.h"

/* Bytes of a name that are looked at; the rest is cut off. */
enum { HF_DISTANCE_MAX = 128 };

/* The least number of single-byte edits between them, where a swap of neighbours (the commonest slip) is one. Case does
 * not count, and '-' is '_'. */
size_t hf_distance(struct hf_str a, struct hf_str b);

/* Can that be at most `most`? Says no only where it is certain, and much faster than it is found out. */
bool hf_distance_may_be(struct hf_str a, struct hf_str b, size_t most);

/* Finds the candidate that `word` was probably meant to be, or NULL. `candidates` ends with NULL. */
const char *hf_nearest(struct hf_str word, const char *const *candidates);

#endif
