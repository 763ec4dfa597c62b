#include "check.h"

#include <inttypes.h>
#include <stdio.h>

enum { PRINTED_MAX = 20 };

bool sim_check(struct sim_check *check, bool holds, const char *rule, unsigned who) {
  if (holds)
    return true;
  if (check->violations++ < PRINTED_MAX)
    fprintf(stderr, "sim: seed %" PRIu64 ": broken by %u: %s\n", check->seed, who, rule);
  return false;
}
