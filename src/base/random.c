#include "base/random.h"

#include "base/error.h"

#include <errno.h>
#include <sys/random.h>

/* splitmix64 spreads a seed over the state, as the authors of xoshiro advise. */
static uint64_t splitmix(uint64_t *x) {
  uint64_t z = (*x += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k) {
  return (x << k) | (x >> (64 - k));
}

void hf_random_init(struct hf_random *random, uint64_t seed) {
  for (int i = 0; i < 4; i++)
    random->state[i] = splitmix(&seed);
}

uint64_t hf_random_next(struct hf_random *random) {
  uint64_t *s = random->state;
  uint64_t result = rotate_left(s[1] * 5, 7) * 9;
  uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

uint64_t hf_random_below(struct hf_random *random, uint64_t bound) {
  uint64_t threshold = -bound % bound;
  uint64_t value;
  do {
    value = hf_random_next(random);
  } while (value < threshold);
  return value % bound;
}

int hf_random_secret(void *bytes, size_t len) {
  unsigned char *out = bytes;
  while (len) {
    ssize_t n = getrandom(out, len, 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return HF_ERR_IO;
    out += n;
    len -= (size_t)n;
  }
  return 0;
}
