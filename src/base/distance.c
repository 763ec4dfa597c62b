#include "base/distance.h"

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
