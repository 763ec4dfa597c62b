/* Rounds of questions: a modern server's result that asks (`input_required`) and a client that is asked by requests.
 *
 * The questions go out on the stream of the call, and with all answers the same request is made again, to the same
 * server, with its state byte for byte. Towards the policy that is one attempt which waits for a person: the round
 * trips are no retries, and their time is not the call's. What a client cannot be asked, does not answer, or is asked
 * too often, ends the call with one error. */
#ifndef HF_GATEWAY_QUESTION_ROUND_H
#define HF_GATEWAY_QUESTION_ROUND_H

#include "gateway/exchange.h"
#include "gateway/question/question.h"

enum {
  HF_ROUNDS_MAX = 16,          /* of one call */
  HF_ROUND_QUESTIONS_MAX = 16, /* of one round */
};

struct hf_rewrite;

/* Is this answer one that asks, to a client that is to be asked here? */
bool hf_round_is_wanted(const struct hf_exchange *exchange, const struct hf_message *response);

/* Asks. The attempt of `live` goes on until hf_live_again or an event that ends it. Borrows `response`; the exchange
 * may be gone. */
void hf_round_begin(struct hf_live *live, const struct hf_message *response);

/* Asks the client of the attempt one thing: `request` of `doc` is an object with method and params. Returns NULL, or
 * why it cannot be asked. A modern client hears of it by hf_held_asked. */
const char *hf_round_ask(struct hf_live *live, const struct hf_json_doc *doc, uint32_t request,
                         hf_question_fn *answered, unsigned tag);

/* Puts answers and state into a request to the server that wants them. */
void hf_round_put(const struct hf_exchange *exchange, const struct hf_live *live, struct hf_rewrite *rewrite);

/* The attempt is over: nobody waits for answers. */
void hf_round_end(const struct hf_live *live);

/* Does this attempt wait for answers? */
bool hf_round_waits(const struct hf_live *live);

/* The server has answered for good: what it had asked its client to open is done with, and the client is told so. */
void hf_round_over(struct hf_exchange *exchange, const struct hf_message *response);

#endif
