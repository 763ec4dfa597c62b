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
  HF_FLIGHTS_KEPT = 256, /* answers that nobody has heard yet */
  HF_FLIGHTS_KEPT_BYTES = 16 << 20,
};

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
  HF_LEAVE_VANISHED,  /* its stream broke */
  HF_LEAVE_CLOSED,    /* the client itself ends, with its own instances */
};

/* The client leaves this call. True: it goes on without one (and is disowned); else it is to be cancelled. */
bool hf_flight_outlives(struct hf_exchange *exchange, enum hf_leave how);

/* The leader's client is asked something, by the answer to its request: only there can it be answered. */
void hf_flight_asks(struct hf_exchange *exchange);

/* Its client is there again. */
void hf_flight_back(struct hf_exchange *exchange);

/* Nobody is there for this call, and nothing of it has run: it is not begun any more. */
bool hf_flight_is_deserted(struct hf_exchange *exchange);

/* The client is being closed: what flies alone at its own instances ends. */
void hf_flight_client_closed(struct hf_client *client);

#endif
