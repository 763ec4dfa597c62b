/* A table of texts, whose columns shrink until a line fits. */
#ifndef HF_CLI_TABLE_H
#define HF_CLI_TABLE_H

#include "base/arena.h"

#include <stdio.h>

enum { HF_TABLE_COLUMNS_MAX = 12 };

struct hf_table_column {
  const char *title;
  bool right;   /* numbers */
  bool shrinks; /* its texts may be cut, with "…" */
};

struct hf_table {
  struct hf_arena arena;
  const struct hf_table_column *columns; /* borrowed */
  size_t column_count;
  struct hf_str *cells; /* owned */
  size_t count;
  size_t cap;
  bool failed;
};

void hf_table_init(struct hf_table *table, const struct hf_table_column *columns, size_t count);
void hf_table_deinit(struct hf_table *table);

/* Appends a cell, row by row. Texts are copied. */
void hf_table_add(struct hf_table *table, struct hf_str text);
void hf_table_addf(struct hf_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints titles and rows, each line behind `indent` blanks and, if `width` isn't 0, within it as far as columns shrink.
 * Returns 0, or HF_ERR_NOMEM if a cell was lost. */
int hf_table_print(const struct hf_table *table, FILE *to, size_t indent, size_t width);

#endif
