/* What a fuzz target demands of every input. */
#ifndef HF_FUZZ_REQUIRE_H
#define HF_FUZZ_REQUIRE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                          \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The length of the next piece, pseudo-random but the same for the same `state`; 1 to 64, at most `left`. */
static inline size_t next_piece(uint32_t *state, size_t left) {
  *state = *state * 1664525U + 1013904223U;
  size_t len = 1 + (*state >> 16) % ((*state >> 30) ? 64 : 4);
  return len < left ? len : left;
}

#endif
