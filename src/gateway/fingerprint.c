#include "gateway/fingerprint.h"

#include "json/canonical.h"

#include <nettle/sha2.h>

/* Each part is hashed behind its length, so that no two lists of parts are the same bytes. An absent part (a principal
 * where nobody has to say who they are) is not an empty one. */
static void add(struct sha256_ctx *hash, struct hf_str part) {
  uint8_t head[9] = {part.ptr != NULL};
  for (size_t i = 0; i < 8; i++)
    head[i + 1] = (uint8_t)((uint64_t)part.len >> (8 * i));
  sha256_update(hash, sizeof head, head);
  if (part.len > 0)
    sha256_update(hash, part.len, (const uint8_t *)part.ptr);
}

int hf_fingerprint_of(struct hf_str principal, struct hf_str server, struct hf_str tool, struct hf_str arguments,
                      struct hf_fingerprint *ret) {
  struct hf_str raw = arguments.ptr ? arguments : HF_STR("{}");
  struct hf_buf text;
  hf_buf_init(&text, raw.len * 3 + HF_DECIMAL_MAX); /* canonical text is never longer */
  int r = hf_json_canonical(raw, &text);
  /* What has no canonical text is itself the canonical text of nothing else. */
  bool as_spelt = r == HF_ERR_LIMIT || r == HF_ERR_DUPLICATE;
  if (r == 0 || as_spelt) {
    struct sha256_ctx hash;
    sha256_init(&hash);
    add(&hash, principal);
    add(&hash, server);
    add(&hash, tool);
    add(&hash, as_spelt ? raw : hf_buf_str(&text));
    sha256_digest(&hash, sizeof ret->byte, ret->byte);
    r = 0;
  }
  hf_buf_deinit(&text);
  return r;
}
