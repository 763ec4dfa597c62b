/* An attempt in flight: what is sent to an upstream for a call, and what comes back, as events of the call.
 *
 * What is sent to a target is made once, so that every attempt at it sends the same. */
#ifndef HF_GATEWAY_LIVE_H
#define HF_GATEWAY_LIVE_H

#include "gateway/exchange.h"

/* Performs HF_CALL_START_ATTEMPT. An attempt that cannot even begin is told as one that has failed, for the end of this
 * turn of the loop. */
void hf_live_start(struct hf_exchange *exchange, const struct hf_call_action *action);

/* Sends the request of an attempt once more, with the answers to what the server asked: part of the same attempt. */
void hf_live_again(struct hf_live *live);

/* Performs HF_CALL_ABORT_ATTEMPT: nothing more is heard of it. */
void hf_live_abort(struct hf_exchange *exchange, const struct hf_call_abort *what);

/* The attempt is over, with what its server answered (borrowed; or NULL) or what was seen instead. The exchange may be
 * gone. */
void hf_live_done(struct hf_live *live, const struct hf_evidence *evidence, const struct hf_message *response);

/* A message of the server that belongs to the attempt, wherever it came: a sign of life, and passed on as is fit. The
 * exchange may be gone. */
void hf_live_message(struct hf_live *live, const struct hf_message *message);

/* Progress or a log line for the client, and for those who share the call. */
void hf_live_pass_on(struct hf_exchange *exchange, const struct hf_message *message);

/* A log line of a modern server outside a call's own stream, as on the output of a child, where nothing says whose it
 * is. Such a server logs only for those who ask, so if one call did, the line is given to it. False: it is not. */
bool hf_live_log(struct hf_instance *instance, const struct hf_message *message);

#endif
