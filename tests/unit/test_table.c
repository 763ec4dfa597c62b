#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/table.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

static const struct hf_table_column columns[] = {{"NAME", false, true}, {"N", true, false}, {"LAST", false, true}};

static int print(const char *const cells[], size_t count, size_t indent, size_t width, char **ret_text) {
  struct hf_table table;
  size_t len;
  FILE *file = open_memstream(ret_text, &len);
  hf_table_init(&table, columns, 3);
  for (size_t i = 0; i < count; i++)
    hf_table_add(&table, hf_str_from(cells[i]));
  int r = hf_table_print(&table, file, indent, width);
  hf_table_deinit(&table);
  (void)fclose(file);
  return r;
}

static void expect(const char *const cells[], size_t count, size_t indent, size_t width, const char *text) {
  char *got = NULL;
  assert_int_equal(print(cells, count, indent, width, &got), 0);
  assert_string_equal(got, text);
  free(got);
}

static void table__columns_are_as_wide_as_their_widest_cell(void **state) {
  (void)state;
  static const char *const cells[] = {"a", "1", "x", "a long name", "100", "y"};
  expect(cells, 6, 0, 0,
         "NAME           N  LAST\n"
         "a              1  x\n"
         "a long name  100  y\n");
}

static void table__the_widest_columns_shrink_until_a_line_fits(void **state) {
  (void)state;
  static const char *const cells[] = {"abcdefghijklmnop", "1", "0123456789abcdefghij"};
  expect(cells, 3, 2, 30,
         "  NAME         N  LAST\n"
         "  abcdefghij…  1  0123456789a…\n");
  expect(cells, 3, 0, 10, /* no further than that */
         "NAME    N  LAST\n"
         "abcde…  1  01234…\n");
}

static void table__characters_count_once_and_none_steers_the_terminal(void **state) {
  (void)state;
  static const char *const cells[] = {"äöü", "1", "\x1b[2Jred", "abcd", "2", "tab\tbed\xc2\x9b"};
  expect(cells, 6, 0, 0,
         "NAME  N  LAST\n"
         "äöü   1  ?[2Jred\n"
         "abcd  2  tab?bed?\n");
}

static void terminal__nothing_turns_the_line_around(void **state) {
  (void)state;
  static const char *const cells[] = {"a\u202eb\u2066c\u200fd", "1", "\u2028e…\xe2"};
  expect(cells, 3, 0, 0,
         "NAME     N  LAST\n"
         "a?b?c?d  1  ?e…\xe2\n");
}

static void table__a_cell_has_200_columns_at_most(void **state) {
  (void)state;
  char *got = NULL;
  char *cell = malloc(1 << 20);
  memset(cell, 'x', (1 << 20) - 1);
  cell[(1 << 20) - 1] = '\0';
  const char *const cells[] = {cell, "1", "y"};
  assert_int_equal(print(cells, 3, 0, 0, &got), 0);
  const char *row = strchr(got, '\n') + 1;
  assert_int_equal(strspn(row, "x"), 199);
  assert_string_equal(row + 199, "…  1  y\n");
  free(cell);
  free(got);
}

static void table__a_cell_that_was_lost_is_an_error(void **state) {
  (void)state;
  static const char *const cells[] = {"a", "1", "x"};
  for (int n = 0; n < 2; n++) {
    char *got = NULL;
    hf_alloc_fail_after(n);
    int r = print(cells, 3, 0, 0, &got);
    hf_alloc_fail_after(-1);
    assert_int_equal(r, HF_ERR_NOMEM);
    assert_string_equal(got, "");
    free(got);
  }
}

static void terminal__a_width_is_taken_from_the_environment(void **state) {
  (void)state;
  setenv("COLUMNS", "100", 1);
  assert_int_equal(hf_terminal_width(), 100);
  setenv("COLUMNS", "7", 1);
  assert_int_equal(hf_terminal_width(), 40);
  setenv("COLUMNS", "0", 1);
  assert_int_equal(hf_terminal_width(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(table__columns_are_as_wide_as_their_widest_cell),
      cmocka_unit_test(table__the_widest_columns_shrink_until_a_line_fits),
      cmocka_unit_test(table__characters_count_once_and_none_steers_the_terminal),
      cmocka_unit_test(terminal__nothing_turns_the_line_around),
      cmocka_unit_test(table__a_cell_has_200_columns_at_most),
      cmocka_unit_test(table__a_cell_that_was_lost_is_an_error),
      cmocka_unit_test(terminal__a_width_is_taken_from_the_environment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
