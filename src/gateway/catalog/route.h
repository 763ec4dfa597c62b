/* Routes: tools of the gateway's own, each answered by the first of its providers that can; and standbys, second
 * endpoints of one server. */
#ifndef HF_GATEWAY_CATALOG_ROUTE_H
#define HF_GATEWAY_CATALOG_ROUTE_H

#include "gateway/exchange.h"
#include "json/write.h"

/* The route that a client at this endpoint calls so; NULL: there is none. Routes exist at the endpoint of all servers.
 */
const struct hf_route_settings *hf_route_find(const struct hf_client *client, struct hf_str name);

/* Fills the exchange's targets in, in the order in which they are to be tried. Returns 0, HF_ERR_AGAIN (lists of its
 * providers are not known yet; never once the wait is over), HF_ERR_NOTFOUND (no provider has its tool),
 * HF_ERR_UNAVAILABLE (all are disabled), HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_route_resolve(struct hf_exchange *exchange, const struct hf_route_settings *route);

/* Adds the standbys of the server of a call's one target. Returns 0 or what hf_catalog_add_target does. */
int hf_route_add_standbys(struct hf_exchange *exchange);

/* Appends the routes to a list of tools. */
void hf_route_list(struct hf_client *client, struct hf_json_writer *w);

/* The schema of what the route takes or gives, compiled: its own, or the one that its first provider's tool makes for
 * it (as a list shows it). NULL: it has none, or none that can be used, which is logged once. */
const struct hf_schema *hf_route_schema(struct hf_client *client, const struct hf_route_settings *route,
                                        enum hf_schema_side side);

/* The settings that the schemas are from go, or the gateway does. */
void hf_route_forget_schemas(struct hf_gateway *gateway);

/* Holds the routes against the schemas of their providers, as far as these are known, and logs what doesn't fit: when a
 * list of tools has come. */
void hf_route_check(struct hf_gateway *gateway);

#endif
