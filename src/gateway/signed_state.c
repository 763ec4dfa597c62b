#include "gateway/signed_state.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/random.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>

/* Prefix, name of the signer, a full stop, then all bytes of the state and its signature; both in hexadecimal. */
static const struct hf_str prefix = HF_STR("dev.holdfast/correction-1.");

enum {
  NAME_HEX = 2 * HF_SIGNER_NAME_LEN,
  TIME_AT = HF_FINGERPRINT_LEN,
  TRIES_AT = TIME_AT + 8,
  PAYLOAD = TRIES_AT + 1,
  SIGNED = PAYLOAD + SHA256_DIGEST_SIZE,
};

int hf_signer_init(struct hf_signer *signer) {
  int r = hf_random_secret(signer->key, sizeof signer->key);
  return r == 0 ? hf_random_secret(signer->name, sizeof signer->name) : r;
}

static void sign(const struct hf_signer *signer, const uint8_t payload[PAYLOAD], uint8_t digest[SHA256_DIGEST_SIZE]) {
  struct hmac_sha256_ctx hmac;
  hmac_sha256_set_key(&hmac, sizeof signer->key, signer->key);
  hmac_sha256_update(&hmac, prefix.len, (const uint8_t *)prefix.ptr);
  hmac_sha256_update(&hmac, sizeof signer->name, signer->name);
  hmac_sha256_update(&hmac, PAYLOAD, payload);
  hmac_sha256_digest(&hmac, SHA256_DIGEST_SIZE, digest);
}

int hf_signed_state_write(const struct hf_signer *signer, const struct hf_signed_state *state, struct hf_buf *out) {
  uint8_t bytes[SIGNED];
  char name[NAME_HEX], text[2 * SIGNED];
  memcpy(bytes, state->call.byte, sizeof state->call.byte);
  for (unsigned i = 0; i < 8; i++)
    bytes[TIME_AT + i] = (uint8_t)((uint64_t)state->expires_ms >> (8 * i));
  bytes[TRIES_AT] = (uint8_t)state->tries;
  sign(signer, bytes, bytes + PAYLOAD);
  hf_hex(signer->name, sizeof signer->name, name);
  hf_hex(bytes, sizeof bytes, text);
  int r = hf_buf_append_str(out, prefix);
  if (r == 0)
    r = hf_buf_append(out, name, sizeof name);
  if (r == 0)
    r = hf_buf_append_str(out, HF_STR("."));
  return r == 0 ? hf_buf_append(out, text, sizeof text) : r;
}

bool hf_signed_state_is_like_ours(struct hf_str text) {
  return hf_str_starts(text, prefix);
}

bool hf_signed_state_is_ours(const struct hf_signer *signer, struct hf_str text) {
  char name[NAME_HEX];
  hf_hex(signer->name, sizeof signer->name, name);
  return hf_signed_state_is_like_ours(text) && text.len > prefix.len + NAME_HEX &&
         memcmp(text.ptr + prefix.len, name, NAME_HEX) == 0;
}

static int digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_bytes(struct hf_str text, uint8_t bytes[SIGNED]) {
  if (text.len != 2 * SIGNED)
    return false;
  for (size_t i = 0; i < SIGNED; i++) {
    const int high = digit(text.ptr[2 * i]), low = digit(text.ptr[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    bytes[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

int hf_signed_state_read(const struct hf_signer *signer, struct hf_str text, const struct hf_fingerprint *call,
                         int64_t now_ms, struct hf_signed_state *ret_state) {
  uint8_t bytes[SIGNED], digest[SHA256_DIGEST_SIZE];
  const size_t head = prefix.len + NAME_HEX;
  if (!hf_signed_state_is_ours(signer, text) || text.ptr[head] != '.' ||
      !read_bytes((struct hf_str){text.ptr + head + 1, text.len - head - 1}, bytes))
    return HF_ERR_INVALID;
  sign(signer, bytes, digest);
  if (!memeql_sec(digest, bytes + PAYLOAD, sizeof digest))
    return HF_ERR_INVALID;
  uint64_t expires = 0;
  for (unsigned i = 0; i < 8; i++)
    expires |= (uint64_t)bytes[TIME_AT + i] << (8 * i);
  if ((int64_t)expires <= now_ms)
    return HF_ERR_CLOSED;
  if (memcmp(bytes, call->byte, sizeof call->byte) != 0)
    return HF_ERR_NOTFOUND;
  ret_state->call = *call;
  ret_state->expires_ms = (int64_t)expires;
  ret_state->tries = bytes[TRIES_AT];
  return 0;
}
