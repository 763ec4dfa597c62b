/* Calls whose client is not there, and what becomes of them (`detach`).
 *
 * In the legacy era a stream that breaks says nothing about the call: its client may come back for the answer. With
 * `keep` it goes on, and when its time is up while nobody is there, it gets the time of a task. With `cancel` it is
 * given up if the client is not back soon. A session that has ended, and a client that has waited for too long and says
 * so, are not coming back to this very call: what may have run goes on then for whoever asks for the same, and to be
 * known. In the modern era a stream that breaks is the cancellation, and only equal calls keep an effect going
 * (flight.h). */
#ifndef HF_GATEWAY_STAGE_AWAY_H
#define HF_GATEWAY_STAGE_AWAY_H

#include "gateway/stage/flight.h"

/* Clients reconnect within seconds: the official ones try after 1, 2.5 and 5, others when `retry` says. */
#define HF_AWAY_GRACE HF_SECONDS(10)

enum { HF_AWAY_ALONE_MAX = 256 }; /* that go on without a client; past it they are given up as with `cancel` */

struct hf_aways;

/* Returns owned, or NULL when out of memory. */
struct hf_aways *hf_aways_new(struct hf_gateway *gateway);

/* No exchange is left. Accepts NULL. */
void hf_aways_free(struct hf_aways *aways);

/* The stream of a legacy client broke; the reply still takes what comes. */
void hf_away_begin(struct hf_exchange *exchange);

/* And it is back. */
void hf_away_end(struct hf_exchange *exchange);

/* The client leaves this call for good. True: the call goes on without one (and is disowned); else it is to be
 * cancelled. */
bool hf_away_outlives(struct hf_exchange *exchange, enum hf_leave how);

/* It goes on without a client, with the time of a task. */
void hf_away_go_alone(struct hf_exchange *exchange);

/* The time of the call is up: nobody may be there to be told. */
void hf_away_due(struct hf_exchange *exchange);

/* The exchange is about to be freed. */
void hf_away_left(struct hf_exchange *exchange);

#endif
