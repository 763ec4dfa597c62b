/* What makes two calls equal: who calls, which tool of which server, and what the arguments mean. */
#ifndef HF_GATEWAY_FINGERPRINT_H
#define HF_GATEWAY_FINGERPRINT_H

#include "base/str.h"
#include "gateway/store.h"

/* Makes the fingerprint. `arguments` is raw JSON; absent ones equal {}. Equal is what has one canonical text
 * (json/canonical.h); arguments that have none, because they are too large or a member occurs twice, equal only the
 * same bytes. Returns 0, HF_ERR_SYNTAX for arguments that are no JSON, or HF_ERR_NOMEM. */
int hf_fingerprint_of(struct hf_str principal, struct hf_str server, struct hf_str tool, struct hf_str arguments,
                      struct hf_fingerprint *ret);

static inline bool hf_fingerprint_equal(const struct hf_fingerprint *a, const struct hf_fingerprint *b) {
  return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

/* As a key of a map. Borrows. */
static inline struct hf_str hf_fingerprint_key(const struct hf_fingerprint *fingerprint) {
  return (struct hf_str){(const char *)fingerprint->byte, sizeof fingerprint->byte};
}

#endif
