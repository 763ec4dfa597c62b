/* Tasks that servers make of calls: what they answer about each, and when it runs. A server that goes down may forget
 * its tasks, and some are then done all the same. */
#ifndef SIM_WORK_H
#define SIM_WORK_H

#include "server.h"

/* Can this request be answered with a task, and must it be? */
bool sim_work_is_taken(const struct hf_attempt_ref *ref);
bool sim_work_is_demanded(const struct hf_attempt_ref *ref);

/* Makes one of a request that has arrived, and writes the result that says so. */
void sim_work_make(struct hf_attempt_ref *ref, char text[SIM_TEXT_MAX / 2]);

/* A request about one, whose id stands in `text`. */
void sim_work_note(struct hf_attempt_ref *ref, const char *text);

/* Writes what is answered to it: a result (true) or an error. `ret_code` is that of the error, 0: nothing is answered
 * yet. It may have asked something first, and then waits. */
bool sim_work_answer(struct hf_attempt_ref *ref, char text[SIM_TEXT_MAX / 2], int *ret_code);

/* The server ends, and what it had in memory with it. */
void sim_work_forget(struct sim_server *s);
void sim_works_free(struct sim_gateway *sim);

#endif
