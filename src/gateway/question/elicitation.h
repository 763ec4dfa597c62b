/* Pages that clients were asked to open (elicitation by URL of 2025-11-25), until it is said that they are done with.
 *
 * That comes as a notification, later than the answer or the error that asked, and with nothing but the page's id: it
 * goes to the client that was asked, on whose stream there may be no call any more, and to nobody else. Of a modern
 * server, which says no such thing, the gateway says it itself, when the call that asked has got its answer. */
#ifndef HF_GATEWAY_QUESTION_ELICITATION_H
#define HF_GATEWAY_QUESTION_ELICITATION_H

#include "gateway/exchange.h"

enum { HF_ELICITATIONS_MAX = 1024 }; /* that are waited for; the oldest goes */

/* A legacy client is passed the params (raw) of a server's request, or the error -32042: notes their pages. */
void hf_elicitation_note(struct hf_instance *instance, struct hf_client *client, struct hf_str params);
void hf_elicitation_note_error(struct hf_instance *instance, struct hf_client *client, struct hf_str data);

/* The server's notifications/elicitation/complete. Borrows `message`. */
void hf_elicitation_complete(struct hf_instance *instance, const struct hf_message *message);

/* Says of a page with an id of the gateway's own, on the stream of its call, that it is done with. */
void hf_elicitation_tell(struct hf_exchange *exchange, struct hf_str id);

void hf_elicitation_forget_client(struct hf_client *client);
void hf_elicitation_forget_instance(struct hf_instance *instance);

#endif
