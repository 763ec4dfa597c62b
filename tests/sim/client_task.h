/* Tasks that clients were told of instead of an answer: who has the id asks for it from time to time, at whatever
 * gateway there is, answers what it asks, cancels it now and then; and a stranger tries the id. */
#ifndef SIM_CLIENT_TASK_H
#define SIM_CLIENT_TASK_H

#include "gateway.h"

/* Is this the answer that a call has become a task? Then it is looked after from now on. */
bool sim_client_task_begin(struct sim_ask *ask, const char *text);

/* The gateway has died with its connections. */
void sim_client_tasks_cut_off(struct sim_gateway *sim);

/* Nobody looks at any of them any more. Whatever has not ended counts as lost to its client. */
void sim_client_tasks_leave(struct sim_gateway *sim);
void sim_client_tasks_free(struct sim_gateway *sim);

#endif
