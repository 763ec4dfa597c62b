#include "cli/table.h"

#include "base/alloc.h"
#include "base/error.h"
#include "cli/terminal.h"

#include <assert.h>
#include <stdarg.h>

enum { CELLS_BYTES_MAX = 64 << 20, CELL_MAX = 512, GAP = 2, SHRUNK_MIN = 6, CELL_COLUMNS_MAX = 200 };

void hf_table_init(struct hf_table *table, const struct hf_table_column *columns, size_t count) {
  assert(count <= HF_TABLE_COLUMNS_MAX);
  *table = (struct hf_table){.columns = columns, .column_count = count};
  hf_arena_init(&table->arena, CELLS_BYTES_MAX);
}

void hf_table_deinit(struct hf_table *table) {
  hf_arena_deinit(&table->arena);
  hf_free(table->cells);
}

static bool grow(struct hf_table *table) {
  size_t cap = table->cap ? table->cap * 2 : 256;
  struct hf_str *cells = hf_realloc(table->cells, cap * sizeof *cells);
  if (!cells)
    return false;
  table->cells = cells;
  table->cap = cap;
  return true;
}

void hf_table_add(struct hf_table *table, struct hf_str text) {
  struct hf_str copy = hf_arena_copy(&table->arena, hf_terminal_cut(text, CELL_COLUMNS_MAX + 1));
  if (!copy.ptr || (table->count == table->cap && !grow(table)))
    table->failed = true;
  else
    table->cells[table->count++] = copy;
}

void hf_table_addf(struct hf_table *table, const char *format, ...) {
  char text[CELL_MAX];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  hf_table_add(table, (struct hf_str){text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1});
}

/* The widest of those that shrink; the count of columns if none can any more. */
static size_t widest(const struct hf_table *table, const size_t widths[]) {
  size_t found = table->column_count;
  for (size_t c = 0; c < table->column_count; c++)
    if (table->columns[c].shrinks && widths[c] > SHRUNK_MIN &&
        (found == table->column_count || widths[c] > widths[found]))
      found = c;
  return found;
}

static void measure(const struct hf_table *table, size_t room, size_t widths[]) {
  size_t total = 0;
  for (size_t c = 0; c < table->column_count; c++) {
    widths[c] = hf_terminal_columns(hf_str_from(table->columns[c].title));
    for (size_t i = c; i < table->count; i += table->column_count) {
      size_t width = hf_terminal_columns(table->cells[i]);
      widths[c] = width > widths[c] ? width : widths[c];
    }
    widths[c] = widths[c] < CELL_COLUMNS_MAX ? widths[c] : CELL_COLUMNS_MAX;
    total += widths[c] + (c ? GAP : 0);
  }
  for (size_t c; room && total > room && (c = widest(table, widths)) < table->column_count; total--)
    widths[c]--;
}

static void print_cell(FILE *to, struct hf_str text, size_t width, bool right, bool last) {
  size_t columns = hf_terminal_columns(text);
  bool cut = columns > width;
  if (cut)
    text = hf_terminal_cut(text, width - 1);
  if (right && !cut)
    (void)fprintf(to, "%*s", (int)(width - columns), "");
  hf_terminal_print(to, text, false);
  if (cut)
    (void)fputs("…", to);
  else if (!right && !last)
    (void)fprintf(to, "%*s", (int)(width - columns), "");
  if (!last)
    (void)fprintf(to, "%*s", GAP, "");
}

int hf_table_print(const struct hf_table *table, FILE *to, size_t indent, size_t width) {
  size_t widths[HF_TABLE_COLUMNS_MAX];
  const size_t n = table->column_count;
  if (table->failed)
    return HF_ERR_NOMEM;
  measure(table, width > indent ? width - indent : 0, widths);
  for (size_t i = 0; i < table->count + n; i++) {
    const size_t c = i % n;
    if (c == 0)
      (void)fprintf(to, "%*s", (int)indent, "");
    print_cell(to, i < n ? hf_str_from(table->columns[c].title) : table->cells[i - n], widths[c],
               table->columns[c].right, c + 1 == n);
    if (c + 1 == n)
      (void)fputc('\n', to);
  }
  return 0;
}
