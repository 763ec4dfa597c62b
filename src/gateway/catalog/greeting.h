/* What the gateway says of itself: `initialize` and `server/discover`.
 *
 * At a server's own endpoint it speaks for that server, with its name, instructions and abilities; at the endpoint of
 * all it speaks for itself, with what any of them can do. It waits a bounded time for servers that are still starting,
 * and then counts on them: what they turn out to have is announced as a change. */
#ifndef HF_GATEWAY_CATALOG_GREETING_H
#define HF_GATEWAY_CATALOG_GREETING_H

#include "gateway/exchange.h"

void hf_greeting_initialize(struct hf_exchange *exchange);
void hf_greeting_discover(struct hf_exchange *exchange);

/* What the client is told that it can ask for. */
struct hf_capabilities hf_greeting_capabilities(struct hf_client *client);

#endif
