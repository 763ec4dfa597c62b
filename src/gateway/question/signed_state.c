#include "gateway/question/signed_state.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/random.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>

/* Prefix, name of the signer, a full stop, then all bytes of the state and its signature; both in hexadecimal. */
static const struct hf_str prefixes[HF_STATE_KIND_COUNT] = {
    [HF_STATE_CORRECTION] = HF_STR("dev.holdfast/correction-1."),
    [HF_STATE_HELD] = HF_STR("dev.holdfast/held-1."),
    [HF_STATE_PAGE] = HF_STR("dev.holdfast/page-1."),
};

enum {
  NAME_HEX = 2 * HF_SIGNER_NAME_LEN,
  TIME_AT = HF_FINGERPRINT_LEN,
  NUMBER_AT = TIME_AT + 8,
  TRIES_AT = NUMBER_AT + 8,
  PAYLOAD = TRIES_AT + 1,
  SIGNED = PAYLOAD + SHA256_DIGEST_SIZE,
};

int hf_signer_init(struct hf_signer *signer) {
  int r = hf_random_secret(signer->key, sizeof signer->key);
  return r == 0 ? hf_random_secret(signer->name, sizeof signer->name) : r;
}

static void sign(const struct hf_signer *signer, struct hf_str prefix, const uint8_t payload[PAYLOAD],
                 uint8_t digest[SHA256_DIGEST_SIZE]) {
  struct hmac_sha256_ctx hmac;
  hmac_sha256_set_key(&hmac, sizeof signer->key, signer->key);
  hmac_sha256_update(&hmac, prefix.len, (const uint8_t *)prefix.ptr);
  hmac_sha256_update(&hmac, sizeof signer->name, signer->name);
  hmac_sha256_update(&hmac, PAYLOAD, payload);
  hmac_sha256_digest(&hmac, SHA256_DIGEST_SIZE, digest);
}

static void put_number(uint8_t *at, uint64_t number) {
  for (unsigned i = 0; i < 8; i++)
    at[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t number_at(const uint8_t *at) {
  uint64_t number = 0;
  for (unsigned i = 0; i < 8; i++)
    number |= (uint64_t)at[i] << (8 * i);
  return number;
}

int hf_signed_state_write(const struct hf_signer *signer, const struct hf_signed_state *state, struct hf_buf *out) {
  const struct hf_str prefix = prefixes[state->kind];
  uint8_t bytes[SIGNED];
  char name[NAME_HEX], text[2 * SIGNED];
  memcpy(bytes, state->call.byte, sizeof state->call.byte);
  put_number(bytes + TIME_AT, (uint64_t)state->expires_ms);
  put_number(bytes + NUMBER_AT, state->number);
  bytes[TRIES_AT] = (uint8_t)state->tries;
  sign(signer, prefix, bytes, bytes + PAYLOAD);
  hf_hex(signer->name, sizeof signer->name, name);
  hf_hex(bytes, sizeof bytes, text);
  int r = hf_buf_append_str(out, prefix);
  if (r == 0)
    r = hf_buf_append(out, name, sizeof name);
  if (r == 0)
    r = hf_buf_append_str(out, HF_STR("."));
  return r == 0 ? hf_buf_append(out, text, sizeof text) : r;
}

bool hf_signed_state_is_of(enum hf_state_kind kind, struct hf_str text) {
  return hf_str_starts(text, prefixes[kind]);
}

/* HF_STATE_KIND_COUNT: none of ours. */
static enum hf_state_kind kind_of(struct hf_str text) {
  unsigned kind = 0;
  while (kind < HF_STATE_KIND_COUNT && !hf_str_starts(text, prefixes[kind]))
    kind++;
  return (enum hf_state_kind)kind;
}

bool hf_signed_state_is_like_ours(struct hf_str text) {
  return kind_of(text) != HF_STATE_KIND_COUNT;
}

bool hf_signed_state_is_ours(const struct hf_signer *signer, struct hf_str text) {
  const enum hf_state_kind kind = kind_of(text);
  char name[NAME_HEX];
  hf_hex(signer->name, sizeof signer->name, name);
  return kind != HF_STATE_KIND_COUNT && text.len > prefixes[kind].len + NAME_HEX &&
         memcmp(text.ptr + prefixes[kind].len, name, NAME_HEX) == 0;
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
  if (!hf_signed_state_is_ours(signer, text))
    return HF_ERR_INVALID;
  const enum hf_state_kind kind = kind_of(text);
  const size_t head = prefixes[kind].len + NAME_HEX;
  if (text.ptr[head] != '.' || !read_bytes((struct hf_str){text.ptr + head + 1, text.len - head - 1}, bytes))
    return HF_ERR_INVALID;
  sign(signer, prefixes[kind], bytes, digest);
  if (!memeql_sec(digest, bytes + PAYLOAD, sizeof digest))
    return HF_ERR_INVALID;
  const int64_t expires = (int64_t)number_at(bytes + TIME_AT);
  if (expires <= now_ms)
    return HF_ERR_CLOSED;
  if (memcmp(bytes, call->byte, sizeof call->byte) != 0)
    return HF_ERR_NOTFOUND;
  ret_state->kind = kind;
  ret_state->call = *call;
  ret_state->expires_ms = expires;
  ret_state->number = number_at(bytes + NUMBER_AT);
  ret_state->tries = bytes[TRIES_AT];
  return 0;
}
