/* Who wants to hear of what: resource subscriptions, change notices, log lines.
 *
 * A client subscribes to a URI; an upstream is subscribed once for all clients that share it, told again after it was
 * started anew, and unsubscribed by the last. Change notices of lists are the gateway's own, sent when a loaded list
 * differs from the one before. */
#ifndef HF_GATEWAY_CATALOG_SUBSCRIPTION_H
#define HF_GATEWAY_CATALOG_SUBSCRIPTION_H

#include "gateway/exchange.h"

enum { HF_SUBSCRIPTIONS_MAX = 256 }; /* of one client */

/* Notes that the client wants updates of `uri` at this instance. `listen` is the exchange of subscriptions/listen it
 * belongs to, or NULL (resources/subscribe). Returns 0, HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_subscription_add(struct hf_client *client, struct hf_instance *instance, struct hf_exchange *listen,
                        struct hf_str uri);

/* True if anybody wants updates of `uri` at this instance. */
bool hf_subscription_wanted(const struct hf_instance *instance, struct hf_str uri);

/* resources/unsubscribe; harmless if there is none. */
void hf_subscription_remove(struct hf_client *client, struct hf_str uri);

void hf_subscription_forget_client(struct hf_client *client);
void hf_subscription_forget_listen(struct hf_exchange *listen);
void hf_subscription_forget_instance(struct hf_instance *instance);

/* The upstream has a new session: what was asked of the old one is asked again. */
void hf_subscription_renew(struct hf_instance *instance);

/* Asks the server for a URI that nobody wanted so far. A modern one has a single stream for all: it is opened anew at
 * the end of the turn, once for all that were added in it. */
void hf_subscription_ask(struct hf_instance *instance, struct hf_str uri);

/* A notification that belongs to no call: updates go to their subscribers, the rest to the clients in whose sight the
 * server is. Borrows `message`. */
void hf_subscription_deliver(struct hf_instance *instance, const struct hf_message *message);

/* The request subscriptions/listen. */
void hf_subscription_listen(struct hf_exchange *exchange);

/* Sends a notice that a list of this kind has changed to the client (legacy), or to those of its listen streams that
 * asked for it. */
void hf_subscription_announce(struct hf_client *client, enum hf_list_kind kind);

/* The raw id of the listen request goes into `_meta` of everything on its stream. Ends the stream with its result. */
void hf_subscription_end_listen(struct hf_exchange *exchange);

#endif
