/* Calls with effects that may have run, and whose callers never heard of it: a gateway died with them, or their client
 * went away and stayed away, or cancelled them.
 *
 * They are remembered for an hour. An equal call is told of it, instead of running the effect a second time; the next
 * one is sent, if it was made by somebody who could have heard that. One that repeats safely, because it goes under the
 * key of the lost one, is not kept from it. */
#ifndef HF_GATEWAY_STAGE_LOST_H
#define HF_GATEWAY_STAGE_LOST_H

#include "base/list.h"
#include "gateway/outcome.h"
#include "gateway/stage/stage.h"

enum { HF_LOST_MAX = 1024 }; /* the oldest ones go */

#define HF_LOST_KEPT HF_MS(HF_LEFT_FOR_MS)

struct hf_lost {
  struct hf_list link; /* oldest first */
  struct hf_fingerprint fingerprint;
  hf_time until;
  hf_time told_at; /* HF_TIME_NEVER: nobody has been told */
  bool over;       /* nobody is told any more; it stays, so that it is not taken for another one */
  bool by_death;   /* a gateway died with it; else its client went away … */
  bool by_cancel;  /* … or cancelled it */
  char call[HF_CALL_ID_MAX];
  char letter[HF_LETTER_ID_MAX];
  char *key;    /* idempotency key, owned, or NULL */
  char *server; /* of a route: who can have run it, owned; several are told apart from one by their comma */
  int64_t key_first_ms;
};

/* Returns owned, or NULL. */
struct hf_lost_calls *hf_lost_calls_new(void);
void hf_lost_calls_free(struct hf_lost_calls *calls); /* accepts NULL */

/* Rows of the stages: an equal call is told of the lost one before it joins anything or is sent. */
enum hf_stage_result hf_lost_before(struct hf_exchange *exchange);
void hf_lost_landed(struct hf_exchange *exchange, const struct hf_message *response, const struct hf_outcome *outcome);

/* The store has a letter of what a dead gateway left. Told again, it changes nothing. */
void hf_lost_recovered(struct hf_gateway *gateway, const struct hf_letter *letter);

/* Its caller hears now what the lost call of this id came to. */
void hf_lost_heard(struct hf_exchange *exchange, struct hf_str call);

/* Once it is written that the call is about to be sent: then it is certain which gateways are dead. */
enum hf_stage_result hf_lost_meanwhile(struct hf_exchange *exchange);

/* May a call that begins now go under its key? It waits for its turn until its deadline at most, and must not come to a
 * server that has forgotten the key by then. */
bool hf_lost_key_is_good(const struct hf_lost *lost, const struct hf_target_tool *target, int64_t now_ms);

/* The lost call that equals this one, or NULL. Borrowed until the loop turns. */
const struct hf_lost *hf_lost_find(struct hf_exchange *exchange);

#endif
