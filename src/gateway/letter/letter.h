/* A call that ends badly becomes a dead letter: put together from what is known of it, and handed to the store.
 *
 * The call waits for the store's answer in HF_CALL_DEAD_LETTER, so that the client hears of the letter only once it is
 * durable. The store ends the intent of the call with it. */
#ifndef HF_GATEWAY_LETTER_LETTER_H
#define HF_GATEWAY_LETTER_LETTER_H

#include "gateway/exchange.h"

enum { HF_TRACE_ID_MAX = 32 };

/* Writes the letter of a call that ends like this so far. Whether it was written is posted as HF_CALL_LETTER_DONE; then
 * `exchange->letter_id` is filled in. A replay's goes to the letter that is replayed. */
void hf_letter_write(struct hf_exchange *exchange, const struct hf_outcome *outcome);

/* Writes the letter of a call that was refused and never became one, and which is HELD: `resume` is called once it is
 * known whether it was written; then `exchange->letter_id` is filled in. `steps` is the raw array of what led to it.
 * There is a store. */
void hf_letter_write_refused(struct hf_exchange *exchange, enum hf_fault fault, struct hf_str steps);

/* The name by which the tool is called at the endpoint of all servers, where replays call it, whatever the client's own
 * endpoint. Borrowed from the exchange or the catalog. */
struct hf_str hf_letter_tool(const struct hf_exchange *exchange);

/* The trace id of `_meta.traceparent` (W3C Trace Context), copied into `text`; absent if there is none. */
struct hf_str hf_letter_trace_id(const struct hf_exchange *exchange, char text[HF_TRACE_ID_MAX]);

#endif
