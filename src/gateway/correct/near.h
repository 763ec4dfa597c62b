/* Tools that a caller may have meant by a name that there is not.
 *
 * The way back from a name is the catalog's map, never a guess: only a name that is another one's but for its case, its
 * separators and the server's name in front is one that may be called in its place, and only if it is the only one and
 * its tool only reads. */
#ifndef HF_GATEWAY_CORRECT_NEAR_H
#define HF_GATEWAY_CORRECT_NEAR_H

#include "gateway/exchange.h"

enum {
  HF_NEAR_TOLD_MAX = 3,       /* tools that are told */
  HF_NEAR_LOOK_MAX = 1000,    /* that are compared letter by letter: the loop has others to serve */
  HF_NEAR_DESCRIPTION = 300,  /* bytes of a description that are looked at */
  HF_NEAR_READ_MAX = 1 << 21, /* bytes of descriptions that are looked through for words, all together: about 2 ms */
};

/* Appends what a model is told: that there is no such tool (any more), and which there are by that name or for that
 * purpose, with what they take. Returns 0 or the buffer's error. */
int hf_near_tell(const struct hf_exchange *exchange, struct hf_buf *out);

/* Puts the name of the one tool that was meant in the place of the caller's, if `repair.names` of that tool lets it.
 * Returns true if it did. */
bool hf_near_correct(struct hf_exchange *exchange);

#endif
