/* Automatic correction (`correction.auto`): before arguments that do not fit are refused, a model is asked for better
 * ones: the caller's own, through its client, or one that the gateway is configured with.
 *
 * Nothing was sent to the server when this happens, and nothing is sent unless the answer fits the schema. Two tries at
 * most; then the call is refused as it would have been. A legacy client is asked on the stream of its call. A modern
 * one gets a result that asks (`input_required`), whose state is signed, expires, and is all that is kept of it
 * (gateway/question/signed_state.h). */
#ifndef HF_GATEWAY_CORRECT_ASK_H
#define HF_GATEWAY_CORRECT_ASK_H

#include "gateway/stage/arguments.h"
#include "gateway/stage/stage.h"

enum {
  HF_ASK_TRIES_MAX = 2,
  HF_ASK_STATE_MS = 10 * 60 * 1000, /* so long a modern client may take to come back */
};

struct hf_ask;
struct hf_rewrite;

/* A stage before the one of the arguments: a request that comes back with an answer says for which question it is. What
 * was signed by somebody else, for another call, or too long ago, is refused here. */
enum hf_stage_result hf_ask_before(struct hf_exchange *exchange);

/* The arguments do not fit, and are about to be refused. Returns HF_STAGE_PASS if nobody is to be asked: refuse them;
 * HF_STAGE_KEPT if somebody is, which ends in hf_arguments_resume or hf_arguments_give_up; HF_STAGE_ENDED if the answer
 * asks the client. */
enum hf_stage_result hf_ask_begin(struct hf_exchange *exchange, const struct hf_misfit *misfit);

/* Takes out of a request what only the gateway wanted to know. */
void hf_ask_strip(const struct hf_exchange *exchange, struct hf_rewrite *rewrite);

/* The exchange is about to be freed: no answer is wanted any more. */
void hf_ask_left(struct hf_exchange *exchange);

#endif
