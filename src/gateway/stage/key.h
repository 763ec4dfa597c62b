/* Idempotency keys: what makes it harmless to send a call twice, as long as the server remembers.
 *
 * A call of a keyed tool has one key for all its attempts: the caller's own, else a fresh one. The caller's own keys
 * are kept, also over restarts, until the server forgets them: each is bound to the arguments it was first sent with,
 * and once there is a good result, that is the answer to every repetition. What is known of keys is in
 * gateway/stage/key_table.h, where they stand in requests in gateway/stage/key_place.h. */
#ifndef HF_GATEWAY_STAGE_KEY_H
#define HF_GATEWAY_STAGE_KEY_H

#include "gateway/stage/key_table.h"
#include "gateway/stage/stage.h"

/* The rows of the stage; it is the first one. */
enum hf_stage_result hf_key_before(struct hf_exchange *exchange);
void hf_key_landed(struct hf_exchange *exchange, const struct hf_message *response, const struct hf_outcome *outcome);

/* A key that was stored before. Copies. */
void hf_key_load(struct hf_gateway *gateway, const struct hf_keyed *keyed);

#endif
