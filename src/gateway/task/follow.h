/* Tasks, as servers have them: an answer that is an id, followed until there is a real one.
 *
 * Towards the policy it is one attempt that goes on: every answer about the task is a sign of life, and what it comes
 * to is the attempt's answer. It is asked for as often as the server says (`pollIntervalMs`), with jitter, ever more
 * seldom, and at once when the server tells that something has changed. A poll that fails is tried again within the
 * attempt's time: it starts nothing. A task that the server does not know any more may have run.
 *
 * Both protocols are spoken: a modern server makes tasks as it likes, since the gateway declares that it takes them;
 * one of 2025-11-25 where its tool requires it, or allows it and the client has a task of its own (then it survives the
 * gateway). What a task asks (`input_required`) goes to the caller as any other question; a client that has no
 * tasks gets the result as if there had been none, and the task's messages as progress. */
#ifndef HF_GATEWAY_TASK_FOLLOW_H
#define HF_GATEWAY_TASK_FOLLOW_H

#include "gateway/exchange.h"

struct hf_rewrite;

/* Is this answer a task that is to be followed? */
bool hf_follow_is_wanted(const struct hf_live *live, const struct hf_message *response);

/* Follows it. The attempt of `live` goes on until an event that ends it. Borrows `response`; the exchange may be gone.
 */
void hf_follow_begin(struct hf_live *live, const struct hf_message *response);

/* Follows a task that an earlier gateway was told of (`exchange->server_task`), instead of sending anything. */
void hf_follow_resume(struct hf_live *live);

/* Is a server of 2025-11-25 asked for a task? */
bool hf_follow_wants(const struct hf_exchange *exchange, const struct hf_target_tool *target);

/* Puts into a request what makes its server answer with a task, where that is wanted. */
void hf_follow_put(const struct hf_exchange *exchange, const struct hf_live *live, struct hf_rewrite *rewrite);

/* Does this attempt follow a task? */
bool hf_follow_is_on(const struct hf_live *live);

/* The attempt is given up: the server is asked to cancel its task. */
void hf_follow_abort(struct hf_live *live);

/* A notification of this server that can only be about a task or a call: its state, or progress. What concerns none
 * that is followed is dropped. False: it is about something else. Borrowed. */
bool hf_follow_told(struct hf_instance *instance, const struct hf_message *message);

/* A result that nobody waits for any more: if it is a task, that is cancelled. Borrowed. */
void hf_follow_stray(struct hf_instance *instance, const struct hf_message *result);

/* The server is there (again): what could not be asked for is asked for now. */
void hf_follow_back(struct hf_instance *instance);

/* The attempt that a server's request says it belongs to, or NULL if it says nothing of a task here. Borrowed. */
const struct hf_live *hf_follow_asker(const struct hf_instance *instance, const struct hf_message *request);

/* The exchange is about to be freed. */
void hf_follow_left(struct hf_exchange *exchange);

#endif
