/* subscriptions/listen of modern clients, and what legacy ones are told of changed lists.
 *
 * A listening request is answered by messages on its stream, all of which carry its id: first what was agreed to, which
 * waits, as long as lists do, for the servers' own word; then what was asked for; and its result when the gateway ends
 * it. */
#ifndef HF_GATEWAY_CATALOG_LISTEN_H
#define HF_GATEWAY_CATALOG_LISTEN_H

#include "gateway/exchange.h"

/* The request subscriptions/listen. */
void hf_listen(struct hf_exchange *exchange);

/* Ends its stream with its result. */
void hf_listen_end(struct hf_exchange *exchange);

/* Sends a notice that a list of this kind has changed to the client (legacy), or to those of its listen streams that
 * asked for it. */
void hf_listen_announce(struct hf_client *client, enum hf_list_kind kind);

#endif
