/* The kernel's own stream of chance: splitmix64 over a state that a seed was handed in for. Same seed, same decisions.
 */
#ifndef HF_POLICY_JITTER_H
#define HF_POLICY_JITTER_H

#include "base/time.h"

#include <stdint.h>

static inline uint64_t hf_jitter_next(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/* `random` scaled to [0, bound]; 0 for a bound that is not positive. */
static inline hf_time hf_jitter_scale(uint64_t random, hf_time bound) {
  if (bound <= 0)
    return 0;
  return (hf_time)(((unsigned __int128)random * ((uint64_t)bound + 1)) >> 64);
}

#endif
