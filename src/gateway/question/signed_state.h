/* What the gateway knows again when a modern client comes back with the answer to a question: `requestState`, signed.
 *
 * It holds what the question belongs to (who asked for what, hashed), which try it was, and until when an answer is
 * taken. The key is drawn when the gateway starts and leaves its memory never, so that nothing need be kept for a
 * question: whoever changes a byte, or comes with the state of another call, is found out. */
#ifndef HF_GATEWAY_QUESTION_SIGNED_STATE_H
#define HF_GATEWAY_QUESTION_SIGNED_STATE_H

#include "base/buf.h"
#include "gateway/store.h"

enum { HF_SIGNING_KEY_LEN = 32, HF_SIGNED_STATE_MAX = 256, HF_SIGNER_NAME_LEN = 8 };

struct hf_signer {
  uint8_t key[HF_SIGNING_KEY_LEN];
  uint8_t name[HF_SIGNER_NAME_LEN]; /* tells its states from those of other gateways; no secret */
};

/* What the question was about. */
enum hf_state_kind {
  HF_STATE_CORRECTION, /* arguments that do not fit; the gateway's own question */
  HF_STATE_HELD,       /* a server's, whose call is held open for the answer */
  HF_STATE_PAGE,       /* a page that is to be opened before the call is made again */
  HF_STATE_KIND_COUNT,
};

struct hf_signed_state {
  enum hf_state_kind kind;
  struct hf_fingerprint call; /* principal, tool and the caller's arguments */
  int64_t expires_ms;         /* wall clock */
  uint64_t number;            /* of the call that is held, or of the question */
  unsigned tries;             /* made so far: rounds of questions */
};

/* Draws a key. Returns 0 or HF_ERR_IO. */
int hf_signer_init(struct hf_signer *signer);

/* Appends the state as text that needs no escapes in JSON. Returns 0 or the buffer's error. */
int hf_signed_state_write(const struct hf_signer *signer, const struct hf_signed_state *state, struct hf_buf *out);

/* Is this text meant as one of a gateway's states, this one's or another's? */
bool hf_signed_state_is_ours(const struct hf_signer *signer, struct hf_str text);
bool hf_signed_state_is_like_ours(struct hf_str text);
bool hf_signed_state_is_of(enum hf_state_kind kind, struct hf_str text);

/* Returns 0; HF_ERR_INVALID if it was not signed by `signer`; HF_ERR_CLOSED if its time is over; HF_ERR_NOTFOUND if it
 * belongs to another call than `call`. */
int hf_signed_state_read(const struct hf_signer *signer, struct hf_str text, const struct hf_fingerprint *call,
                         int64_t now_ms, struct hf_signed_state *ret_state);

#endif
