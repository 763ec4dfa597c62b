/* A store under virtual time: it takes a while, is slow or full now and then, and outlives the gateways that use it.
 *
 * What is asked for is done in its order, some time later, and answered with it or after that; what was not done when
 * the gateway dies never is. Then the next one inherits: unfinished tasks, and open intents, which become letters
 * unless their task is to be followed at its server, as src/store does it. */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "gateway/store.h"

#include <stdbool.h>

/* The id of a letter that was written without its arguments, and is not kept. */
#define SIM_LETTER_OF_NOTHING "d-0"

struct sim_gateway;
struct sim_store;

struct sim_store *sim_store_new(struct sim_gateway *sim, bool moody, unsigned quarantine);
void sim_store_free(struct sim_store *store);

struct hf_store *sim_store_head(struct sim_store *store);

/* The gateway is dead: nothing more reaches it, and it hears of nothing. */
void sim_store_die(struct sim_store *store);

/* A new gateway opens it. */
void sim_store_reopen(struct sim_store *store);

/* Everything that was asked for is done. */
bool sim_store_is_idle(const struct sim_store *store);

/* It has failed, or has been too slow to be waited for, at some time. */
bool sim_store_has_failed(const struct sim_store *store);

/* Is an intent of this deed in it, or a letter of it that is being replayed? */
bool sim_store_expects(const struct sim_store *store, unsigned deed);

/* The letter with this id, or NULL. Borrowed until the store changes. */
const struct hf_letter *sim_store_letter(const struct sim_store *store, const char *id);

/* What letters say is true, and nothing is left open. */
void sim_store_check_end(struct sim_store *store);

/* A letter that waits, of a deed of which a person can know that it was not done; NULL: there is none. */
const struct hf_letter *sim_store_undone(const struct sim_store *store);

/* The deed that a letter's arguments name. */
long sim_letter_deed(const struct hf_letter *letter);

#endif
