/* How much servers log for whom.
 *
 * A legacy client asks for a level once, a modern one with each request; a server that is shared is asked for the least
 * level of all, and each client gets its own and above. Who has not asked gets "info" and above from a server that was
 * asked by somebody else, and what the server likes from any other. A line on the stream of a call goes to its caller
 * alone. One that says nothing of a call, by a child or on a stream of its own, goes to those in whose sight the server
 * is; but where several principals share the server, to nobody, for it may tell of another one's call. */
#ifndef HF_GATEWAY_CATALOG_VERBOSITY_H
#define HF_GATEWAY_CATALOG_VERBOSITY_H

#include "mcp/message.h"

#include <stdbool.h>
#include <stddef.h>

struct hf_client;
struct hf_gateway;
struct hf_instance;

/* How many clients ask for each level, by its index plus one; 0: none was asked for. */
enum { HF_VERBOSITY_SLOTS = 9 };

struct hf_verbosity {
  size_t clients[HF_VERBOSITY_SLOTS];
};

/* A legacy client is there, or leaves, or asks for another level. */
void hf_verbosity_join(struct hf_client *client);
void hf_verbosity_leave(struct hf_client *client);
void hf_verbosity_set(struct hf_client *client, int level);

/* The servers are others now: counts anew. */
void hf_verbosity_recount(struct hf_gateway *gateway);

/* The server has a new session, which knows of no level. */
void hf_verbosity_renew(struct hf_instance *instance);

/* A modern client's request to a legacy server asks for this level; -1: for none. */
void hf_verbosity_request(struct hf_instance *instance, int level);

/* Does the client want a line of this level from this server? */
bool hf_verbosity_covers(const struct hf_client *client, const struct hf_instance *instance, int level);

/* A notification of a legacy server that belongs to no call and to nobody in particular: log lines, and what is not
 * known here. */
void hf_verbosity_deliver(struct hf_instance *instance, const struct hf_message *message);

#endif
