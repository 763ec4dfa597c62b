/* Where an idempotency key stands in a request: read from what the caller sent, put where the tool takes it. */
#ifndef HF_GATEWAY_STAGE_KEY_PLACE_H
#define HF_GATEWAY_STAGE_KEY_PLACE_H

#include "gateway/exchange.h"

enum { HF_KEY_BYTES_MAX = 1024 }; /* of the caller's own */

/* The caller's own key, in the exchange's arena: its hint, else the argument that the model gave. Arguments that hold
 * one have their identity (hf_exchange_identify) without it. Returns 0; HF_ERR_NOTFOUND; HF_ERR_INVALID if it can be
 * none; HF_ERR_UNSUPPORTED if the arguments have no place for one; HF_ERR_NOMEM. */
int hf_key_read_given(struct hf_exchange *exchange, const struct hf_key_settings *settings, struct hf_str *ret_key);

/* Puts the key into `arguments` (raw, or absent) if this target takes it there: in the exchange's arena. Returns 0,
 * HF_ERR_INVALID if they are no object, or HF_ERR_NOMEM. */
int hf_key_put_argument(struct hf_exchange *exchange, const struct hf_target_tool *target, struct hf_str *arguments);

/* The key as raw JSON for the member `ret_name` of `_meta`, appended to `raw`, if this target takes it there. Returns
 * 0, HF_ERR_NOTFOUND, or the buffer's error. */
int hf_key_meta(const struct hf_exchange *exchange, const struct hf_target_tool *target, struct hf_str *ret_name,
                struct hf_buf *raw);

/* True if this target takes it as a header. Borrowed from exchange and settings. */
bool hf_key_header(const struct hf_exchange *exchange, const struct hf_target_tool *target,
                   struct hf_header *ret_header);

#endif
