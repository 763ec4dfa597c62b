#include "daemon/problem.h"

#include <stdarg.h>
#include <stdio.h>

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
