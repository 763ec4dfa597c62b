/* The invariants, and the one way to fail: it prints what broke, and the seed that shows it again. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct sim_check {
  uint64_t seed;
  unsigned long violations;
};

/* Counts and prints a violation of `rule` by `who` unless `holds`. Returns `holds`. */
bool sim_check(struct sim_check *check, bool holds, const char *rule, unsigned who);

#endif
