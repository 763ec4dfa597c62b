/* A seeded generator (xoshiro256**, Blackman and Vigna 2018) for jitter and choices, and the kernel's for secrets. */
#ifndef HF_BASE_RANDOM_H
#define HF_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct hf_random {
  uint64_t state[4];
};

/* The same seed gives the same sequence, everywhere. */
void hf_random_init(struct hf_random *random, uint64_t seed);
uint64_t hf_random_next(struct hf_random *random);

/* Uniform in [0, bound), without modulo bias; `bound` > 0. */
uint64_t hf_random_below(struct hf_random *random, uint64_t bound);

/* Fills `bytes` from the kernel: session ids, map seeds. Returns 0 or HF_ERR_IO. */
int hf_random_secret(void *bytes, size_t len);

#endif
