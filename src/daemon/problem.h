/* What is wrong with a configuration, and where: collected, so that a person mends a file once and not line by line.
 *
 * Bounded: after HF_PROBLEMS_MAX the rest is only counted. Texts quote keys and plain options, never the values of
 * members that may hold secrets (environment, headers, arguments, URLs, tokens). */
#ifndef HF_DAEMON_PROBLEM_H
#define HF_DAEMON_PROBLEM_H

#include "base/buf.h"
#include "base/distance.h"
#include "base/error.h"

#include <stdbool.h>

enum { HF_PROBLEMS_MAX = 32, HF_PROBLEM_TEXT_MAX = 320 };

struct hf_place {
  int line;   /* from 1; 0: the file as a whole */
  int column; /* from 1, in characters */
};

struct hf_problem {
  struct hf_place place;
  bool warning;
  char text[HF_PROBLEM_TEXT_MAX];
};

struct hf_problems {
  struct hf_problem item[HF_PROBLEMS_MAX];
  size_t count;
  size_t dropped;
  size_t errors; /* dropped ones too */
};

void hf_problems_init(struct hf_problems *problems);

void hf_problems_error(struct hf_problems *problems, struct hf_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void hf_problems_warn(struct hf_problems *problems, struct hf_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a line each, in the order of the file: "holdfast.yaml:12:5: error: unknown key 'retires'". Returns 0 or what
 * hf_buf_append does. */
int hf_problems_print(const struct hf_problems *problems, const char *file, struct hf_buf *out);

#endif
