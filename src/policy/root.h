/* The square root of an integer, rounded down. */
#ifndef HF_POLICY_ROOT_H
#define HF_POLICY_ROOT_H

#include <stdint.h>

static inline uint64_t hf_root(uint64_t square) {
  uint64_t root = 0;
  for (uint64_t bit = UINT64_C(1) << 62; bit; bit >>= 2) {
    if (square >= root + bit) {
      square -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return root;
}

#endif
