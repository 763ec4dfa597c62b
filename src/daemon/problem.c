#include "daemon/problem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

enum { NEAREST_WORD_MAX = 64 };

void hf_problems_init(struct hf_problems *problems) {
  problems->count = problems->dropped = problems->errors = 0;
}

__attribute__((format(printf, 4, 0))) static void add(struct hf_problems *problems, struct hf_place place, bool warning,
                                                      const char *format, va_list args) {
  if (!warning)
    problems->errors++;
  if (problems->count == HF_PROBLEMS_MAX) {
    problems->dropped++;
    return;
  }
  struct hf_problem *problem = &problems->item[problems->count++];
  problem->place = place;
  problem->warning = warning;
  if (vsnprintf(problem->text, sizeof problem->text, format, args) < 0)
    problem->text[0] = '\0';
}

void hf_problems_error(struct hf_problems *problems, struct hf_place place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(problems, place, false, format, args);
  va_end(args);
}

void hf_problems_warn(struct hf_problems *problems, struct hf_place place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(problems, place, true, format, args);
  va_end(args);
}

static bool comes_before(const struct hf_problem *a, const struct hf_problem *b) {
  return a->place.line != b->place.line ? a->place.line < b->place.line : a->place.column < b->place.column;
}

int hf_problems_print(const struct hf_problems *problems, const char *file, struct hf_buf *out) {
  size_t order[HF_PROBLEMS_MAX] = {0};
  for (size_t i = 0; i < problems->count; i++) {
    size_t at = i;
    for (; at > 0 && comes_before(&problems->item[i], &problems->item[order[at - 1]]); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }

  int r = 0;
  for (size_t i = 0; i < problems->count && r == 0; i++) {
    const struct hf_problem *p = &problems->item[order[i]];
    const char *kind = p->warning ? "warning" : "error";
    r = p->place.line ? hf_buf_printf(out, "%s:%d:%d: %s: %s\n", file, p->place.line, p->place.column, kind, p->text)
                      : hf_buf_printf(out, "%s: %s: %s\n", file, kind, p->text);
  }
  if (r == 0 && problems->dropped)
    r = hf_buf_printf(out, "%s: and %zu more\n", file, problems->dropped);
  return r;
}

static char fold(char c) {
  if (c >= 'A' && c <= 'Z')
    return (char)(c + ('a' - 'A'));
  return c == '-' ? '_' : c;
}

static size_t least(size_t a, size_t b, size_t c) {
  size_t least_of_two = a < b ? a : b;
  return least_of_two < c ? least_of_two : c;
}

/* Edit distance with swaps of neighbours (the commonest slip) as one edit; case and hyphens don't count. */
static size_t distance(struct hf_str a, struct hf_str b) {
  size_t rows[3][NEAREST_WORD_MAX + 1];
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

const char *hf_nearest(struct hf_str word, const char *const *candidates) {
  if (word.len == 0 || word.len > NEAREST_WORD_MAX)
    return NULL;

  const char *best = NULL;
  size_t best_distance = SIZE_MAX;
  for (; *candidates; candidates++) {
    struct hf_str candidate = hf_str_from(*candidates);
    if (candidate.len > NEAREST_WORD_MAX)
      continue;
    size_t d = distance(word, candidate);
    size_t longer = word.len > candidate.len ? word.len : candidate.len;
    bool plausible = d * 2 <= longer && d <= 3 && d < longer;
    if (plausible && d < best_distance) {
      best = *candidates;
      best_distance = d;
    }
  }
  return best;
}
