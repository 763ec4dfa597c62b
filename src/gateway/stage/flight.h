/* Calls in flight that equal calls share: equal in principal, tool and canonical arguments.
 *
 * The first one is the leader, and goes on to the server; the others follow it, HELD, and get its answer under their
 * own ids. So an effect that is asked for again, because a stream broke or an agent was impatient, does not happen
 * twice, and many who ask for the same ask the server once. A leader is not ended by its client's going while others
 * follow. One with effects goes on alone for a while (`coalesce`): who asks for the same then joins it, or gets what
 * came meanwhile; only then is it cancelled. */
#ifndef HF_GATEWAY_STAGE_FLIGHT_H
#define HF_GATEWAY_STAGE_FLIGHT_H

#include "gateway/stage/stage.h"

enum {
  HF_FLIGHTS_MAX = 1 << 17,
  HF_FLIGHTS_KEPT = 256, /* answers that nobody has heard yet, and as many of which that is not sure */
  HF_FLIGHTS_KEPT_BYTES = 16 << 20,
};

/* Official clients wait for an answer that long, also when its stream has broken without a word. */
#define HF_CLIENT_PATIENCE HF_SECONDS(60)

/* Returns owned, or NULL when out of memory. */
struct hf_flights *hf_flights_new(struct hf_gateway *gateway);

/* No call is in flight any more. Accepts NULL. */
void hf_flights_free(struct hf_flights *flights);

/* How many calls could be joined now. */
size_t hf_flights_count(const struct hf_flights *flights);

/* The rows of the stage. */
enum hf_stage_result hf_flight_before(struct hf_exchange *exchange);
void hf_flight_landed(struct hf_exchange *exchange, const struct hf_message *response,
                      const struct hf_outcome *outcome);
void hf_flight_left(struct hf_exchange *exchange);

/* Progress of the leader's attempt, for those who follow it. */
void hf_flight_progress(struct hf_exchange *exchange, const struct hf_message *message);

enum hf_leave {
  HF_LEAVE_CANCELLED, /* the client said so */
  HF_LEAVE_VANISHED,  /* its stream broke, or it has waited for too long */
  HF_LEAVE_CLOSED,    /* the client itself ends, with its own instances */
};

/* The client leaves this call. True: it goes on without one (and is disowned), until it ends if it is to be kept; else
 * it is to be cancelled. */
bool hf_flight_outlives(struct hf_exchange *exchange, enum hf_leave how, bool keep);

/* Has an equal call an answer that nobody has heard? */
bool hf_flight_has_answer(struct hf_exchange *exchange);

/* What is known of an answer after it was handed over: it did not get to its client, or it did, after all. */
void hf_flight_unheard(struct hf_flights *flights, uint64_t number);
void hf_flight_heard(struct hf_flights *flights, uint64_t number);

/* Can it have begun to run? Before that it can still be taken back. */
bool hf_flight_may_have_run(struct hf_exchange *exchange);

/* The client at whose own instance it is, or NULL. */
struct hf_client *hf_flight_own_client(const struct hf_exchange *exchange);

/* The leader's client is asked something, by the answer to its request: only there can it be answered. */
void hf_flight_asks(struct hf_exchange *exchange);

/* Its client is there again. */
void hf_flight_back(struct hf_exchange *exchange);

/* Nobody is there for this call, and nothing of it has run: it is not begun any more. */
bool hf_flight_is_deserted(struct hf_exchange *exchange);

/* The client is being closed: what flies alone at its own instances ends. */
void hf_flight_client_closed(struct hf_client *client);

#endif
