#include "base/distance.h"

#include <stdint.h>

enum { NEAREST_WORD_MAX = 64 };

static char fold(char c) {
  if (c >= 'A' && c <= 'Z')
    return (char)(c + ('a' - 'A'));
  return c == '-' ? '_' : c;
}

static size_t least(size_t a, size_t b, size_t c) {
  size_t least_of_two = a < b ? a : b;
  return least_of_two < c ? least_of_two : c;
}

static struct hf_str cut(struct hf_str s) {
  return (struct hf_str){s.ptr, s.len < HF_DISTANCE_MAX ? s.len : HF_DISTANCE_MAX};
}

size_t hf_distance(struct hf_str a, struct hf_str b) {
  a = cut(a);
  b = cut(b);
  size_t rows[3][HF_DISTANCE_MAX + 1];
  for (size_t j = 0; j <= b.len; j++)
    rows[0][j] = j;
  for (size_t i = 1; i <= a.len; i++) {
    size_t *row = rows[i % 3];
    const size_t *above = rows[(i + 2) % 3];
    const size_t *above2 = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.len; j++) {
      char x = fold(a.ptr[i - 1]);
      char y = fold(b.ptr[j - 1]);
      row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y));
      if (i > 1 && j > 1 && x == fold(b.ptr[j - 2]) && y == fold(a.ptr[i - 2]) && above2[j - 2] + 1 < row[j])
        row[j] = above2[j - 2] + 1;
    }
  }
  return rows[a.len % 3][b.len];
}

/* Which characters there are, as bits; those that are no letter or digit share some. */
static uint64_t characters(struct hf_str s) {
  uint64_t bits = 0;
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)fold(s.ptr[i]);
    unsigned bit = 36U + c % 28U;
    if (c >= 'a' && c <= 'z')
      bit = (unsigned)c - 'a';
    else if (c >= '0' && c <= '9')
      bit = 26U + c - '0';
    bits |= UINT64_C(1) << bit;
  }
  return bits;
}

/* An edit brings in one character that was not there, and takes out one that was, at most. */
bool hf_distance_may_be(struct hf_str a, struct hf_str b, size_t most) {
  a = cut(a);
  b = cut(b);
  if ((a.len > b.len ? a.len - b.len : b.len - a.len) > most)
    return false;
  uint64_t of_a = characters(a), of_b = characters(b);
  return (size_t)__builtin_popcountll(of_a & ~of_b) <= most && (size_t)__builtin_popcountll(of_b & ~of_a) <= most;
}

const char *hf_nearest(struct hf_str word, const char *const *candidates) {
  if (word.len == 0 || word.len > NEAREST_WORD_MAX)
    return NULL;

  const char *best = NULL;
  size_t best_distance = SIZE_MAX;
  for (; *candidates; candidates++) {
    struct hf_str candidate = hf_str_from(*candidates);
    if (candidate.len > NEAREST_WORD_MAX)
      continue;
    size_t d = hf_distance(word, candidate);
    size_t longer = word.len > candidate.len ? word.len : candidate.len;
    bool plausible = d * 2 <= longer && d <= 3 && d < longer;
    if (plausible && d < best_distance) {
      best = *candidates;
      best_distance = d;
    }
  }
  return best;
}
