/* Calls that are held open for modern clients: a legacy server asks in the middle of a call, and its client is asked by
 * the answer to its request (`input_required`).
 *
 * The call goes on without a reply until the client comes back with another request, which brings the answers and the
 * signed state of the newest round, and whose reply the call takes over. So nothing is started twice, and an answer
 * reaches its server once, however often a request is made anew. What the call comes to meanwhile is kept for the same
 * time. A client that does not come back in time is gone: its server is told, and the call is cancelled. */
#ifndef HF_GATEWAY_QUESTION_HELD_H
#define HF_GATEWAY_QUESTION_HELD_H

#include "gateway/exchange.h"

enum {
  HF_HELD_MAX = 1024,          /* in all */
  HF_HELD_ROUNDS_MAX = 16,     /* of one call */
  HF_HELD_MS = 10 * 60 * 1000, /* so long its client may take to come back */
};

/* Whose request this is, as its caller made it and will make it again. Returns 0, or what hf_fingerprint_of does. */
int hf_held_identify(struct hf_exchange *exchange, struct hf_fingerprint *ret_call);

/* May this call ask its client something? */
bool hf_held_has_room(const struct hf_exchange *exchange);

/* How often its client was asked. */
unsigned hf_held_rounds(const struct hf_exchange *exchange);

/* There is a question for its client. If the client waits, it is answered with it; if not, it gets it when it comes
 * back. */
void hf_held_asked(struct hf_exchange *exchange);

/* Does the call wait for its client to come back? */
bool hf_held_waits(const struct hf_exchange *exchange);

/* How many calls of this client do. */
size_t hf_held_waiting(const struct hf_client *client);

/* A request that comes back belongs to a call that is held: it goes on there, or is refused, and is gone either way.
 * False: it is a request as any other. */
bool hf_held_return(struct hf_exchange *exchange);

/* A request that brings answers to a server which could not ask for them, whoever could: it is refused, and gone. */
bool hf_held_refuse_stray(struct hf_exchange *exchange);

/* The call has ended and its client is to come back: `response` (or NULL) and `outcome` are kept for it. The exchange
 * is HELD then. False: there is nobody to keep it for. */
bool hf_held_keep(struct hf_exchange *exchange, const struct hf_message *response, const struct hf_outcome *outcome);

/* The exchange is about to be freed. */
void hf_held_left(struct hf_exchange *exchange);

#endif
