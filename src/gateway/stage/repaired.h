/* What was put right in a call before it was sent, as the marker shows it and the model is told: so that it knows what
 * was done in its name, and does better next time. */
#ifndef HF_GATEWAY_STAGE_REPAIRED_H
#define HF_GATEWAY_STAGE_REPAIRED_H

#include "gateway/exchange.h"
#include "json/write.h"

/* Was anything? */
bool hf_repaired(const struct hf_exchange *exchange);

/* Writes the marker's array: {"kind", "pointer", "from", "to"} each; what was dropped has no "to". */
void hf_repaired_write(const struct hf_exchange *exchange, struct hf_json_writer *w);

/* Appends what a model is told of it. Returns 0 or the buffer's error. */
int hf_repaired_text(const struct hf_exchange *exchange, struct hf_buf *out);

/* The server's result with that as its last text: the structured content stays, and so does the place of all other
 * content. Returns the message to pass on: `response`, or `ret_made`, which wants its deinit in any case. */
const struct hf_message *hf_repaired_amend(const struct hf_exchange *exchange, const struct hf_message *response,
                                           struct hf_message *ret_made);

#endif
