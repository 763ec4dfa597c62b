/* Named scenarios: scripted faults, and the trace they must give, to the letter. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h>

/* Runs all of them and compares with `dir`/NAME.trace, or writes these files when `update`. Prints a TAP line for each.
 * Returns how many failed. */
int sim_scenarios_run(const char *dir, bool update);

#endif
