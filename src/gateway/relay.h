/* Messages on their way between a client and a server: what must be spliced, and nothing else.
 *
 * Towards the server: the gateway's id and progress token, the server's own name of the tool, the version and
 * capability members of the server's era. Towards the client: its own id and token, and what its era requires of a
 * result. All other bytes stay. */
#ifndef HF_GATEWAY_RELAY_H
#define HF_GATEWAY_RELAY_H

#include "gateway/exchange.h"

/* The exchange's request as this attempt sends it; `arguments` in place of the caller's, if they are others. All return
 * 0 or what hf_rewrite_finish returns. */
int hf_relay_request(const struct hf_exchange *exchange, const struct hf_live *live, struct hf_str arguments,
                     struct hf_pieces *ret_text);

/* The server's answer for the client. `outcome` is the raw marker, or absent. */
int hf_relay_response(const struct hf_exchange *exchange, const struct hf_message *response, struct hf_str outcome,
                      struct hf_pieces *ret_text);

/* Makes a progress notification of a server's words about the call (a raw string): one that comes next, whatever the
 * number was before. Returns 0, HF_ERR_NOTFOUND if the number cannot rise, or what hf_message_decode does. */
int hf_relay_make_progress(const struct hf_exchange *exchange, struct hf_str words, struct hf_message *ret_message);

/* A notification on the stream of the exchange's attempt. HF_ERR_NOTFOUND: it is not for the client. */
int hf_relay_notification(struct hf_exchange *exchange, const struct hf_message *message, struct hf_pieces *ret_text);

#endif
