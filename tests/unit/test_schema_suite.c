/* The official test suite of JSON Schema, where it is at hand: all that is mandatory, and of what is optional all but
 * what tests/data/schema-suite-optional.txt lists with its reason. */
#include "base/alloc.h"
#include "base/buf.h"
#include "schema/schema.h"
#include "json/value.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { PATH_SIZE = 1024, FILE_MAX = 8 << 20, REMOTES_MAX = 256, ROWS_MAX = 512 };

static void join(char out[PATH_SIZE], const char *a, const char *b) {
  assert_in_range(snprintf(out, PATH_SIZE, "%s%s%s", a, *a && *b ? "/" : "", b), 0, PATH_SIZE - 1);
}

static bool suite_path(char out[PATH_SIZE]) {
  const char *data = getenv("HF_TEST_DATA");
  join(out, data ? data : "tests/data", "../../../shared/suites/JSON-Schema-Test-Suite");
  struct stat st;
  return stat(out, &st) == 0;
}

static void read_file(const char *path, struct hf_buf *buf) {
  FILE *file = fopen(path, "rb");
  if (!file)
    fail_msg("cannot open %s", path);
  hf_buf_init(buf, FILE_MAX);
  char block[65536];
  size_t len;
  while ((len = fread(block, 1, sizeof block, file)) > 0)
    assert_int_equal(hf_buf_append(buf, block, len), 0);
  (void)fclose(file);
}

/* The documents that tests refer to. */
struct remotes {
  struct hf_schema_resource item[REMOTES_MAX];
  struct hf_buf text[REMOTES_MAX];
  char *uri[REMOTES_MAX];
  size_t count;
};

static void read_remotes(struct remotes *remotes, const char *root, const char *under) {
  char path[PATH_SIZE];
  join(path, root, under);
  DIR *dir = opendir(path);
  assert_non_null(dir);
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (entry->d_name[0] == '.')
      continue;
    char inside[PATH_SIZE], full[PATH_SIZE];
    join(inside, under, entry->d_name);
    join(full, root, inside);
    struct stat st;
    assert_int_equal(stat(full, &st), 0);
    if (S_ISDIR(st.st_mode)) {
      read_remotes(remotes, root, inside);
      continue;
    }
    size_t i = remotes->count++;
    assert_in_range(i, 0, REMOTES_MAX - 1);
    read_file(full, &remotes->text[i]);
    remotes->uri[i] = hf_concat("http://localhost:1234/", inside);
    remotes->item[i] = (struct hf_schema_resource){hf_str_from(remotes->uri[i]), hf_buf_str(&remotes->text[i])};
  }
  (void)closedir(dir);
}

static void free_remotes(struct remotes *remotes) {
  for (size_t i = 0; i < remotes->count; i++) {
    hf_buf_deinit(&remotes->text[i]);
    hf_free(remotes->uri[i]);
  }
}

/* What is expected to fail: "file | group | test | reason", where a star stands for all. */
struct row {
  struct hf_str file, group, test;
  bool used;
};

struct suite {
  char root[PATH_SIZE];
  struct remotes remotes;
  struct hf_buf table;
  struct row rows[ROWS_MAX];
  size_t row_count;
  struct hf_schema_run *run;
  /* Of the file in turn: */
  const char *draft;
  const char *file;
  const char *dialect;
  bool assert_format;
  size_t passed, failed, listed;
};

static struct hf_str cut_field(struct hf_str *line) {
  const char *bar = line->len ? memchr(line->ptr, '|', line->len) : NULL;
  size_t len = bar ? (size_t)(bar - line->ptr) : line->len;
  struct hf_str field = hf_str_trim((struct hf_str){line->ptr, len});
  *line = bar ? (struct hf_str){bar + 1, line->len - len - 1} : (struct hf_str){line->ptr + len, 0};
  return field;
}

static void read_table(struct suite *suite) {
  const char *data = getenv("HF_TEST_DATA");
  char path[PATH_SIZE];
  join(path, data ? data : "tests/data", "schema-suite-optional.txt");
  read_file(path, &suite->table);
  const char *p = suite->table.data, *end = p + suite->table.len;
  while (p < end) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    size_t len = newline ? (size_t)(newline - p) : (size_t)(end - p);
    struct hf_str line = {p, len};
    p += len + 1;
    if (line.len == 0 || line.ptr[0] == '#')
      continue;
    struct row *row = &suite->rows[suite->row_count++];
    assert_in_range(suite->row_count, 1, ROWS_MAX - 1);
    row->file = cut_field(&line);
    row->group = cut_field(&line);
    row->test = cut_field(&line);
    if (hf_str_trim(line).len == 0)
      fail_msg("a row without a reason: %.*s", HF_STR_FMT(row->group));
  }
}

static bool fits(struct hf_str pattern, struct hf_str text) {
  return hf_str_equal(pattern, HF_STR("*")) || hf_str_equal(pattern, text);
}

static struct row *find_row(struct suite *suite, struct hf_str group, struct hf_str test) {
  for (size_t i = 0; i < suite->row_count; i++)
    if (hf_str_equal(suite->rows[i].file, hf_str_from(suite->file)) && fits(suite->rows[i].group, group) &&
        fits(suite->rows[i].test, test))
      return &suite->rows[i];
  return NULL;
}

static struct hf_str description(const struct hf_json_doc *doc, uint32_t node) {
  uint32_t value;
  assert_int_equal(hf_json_member(doc, node, HF_STR("description"), &value), 0);
  struct hf_str raw = hf_json_span(doc, value);
  return (struct hf_str){raw.ptr + 1, raw.len - 2};
}

/* Older drafts' tests leave it to the reader which draft they are in. */
static void say_dialect(struct suite *suite, const struct hf_json_doc *doc, uint32_t schema, struct hf_buf *out) {
  struct hf_str raw = hf_json_span(doc, schema);
  uint32_t said;
  hf_buf_init(out, FILE_MAX);
  if (hf_json_type(doc, schema) != HF_JSON_OBJECT || hf_json_member(doc, schema, HF_STR("$schema"), &said) == 0) {
    assert_int_equal(hf_buf_append_str(out, raw), 0);
    return;
  }
  bool empty = doc->nodes[schema].count == 0;
  assert_int_equal(hf_buf_printf(out, "{\"$schema\":\"%s\"%s", suite->dialect, empty ? "" : ","), 0);
  assert_int_equal(hf_buf_append(out, raw.ptr + 1, raw.len - 1), 0);
}

static void judge(struct suite *suite, struct hf_str group, struct hf_str test, bool good, const char *why) {
  struct row *row = find_row(suite, group, test);
  if (row && !good) {
    row->used = true;
    suite->listed++;
  } else if (good) {
    suite->passed++;
  } else {
    suite->failed++;
    print_error("%s: %.*s: %.*s: %s\n", suite->file, HF_STR_FMT(group), HF_STR_FMT(test), why);
  }
}

/* The verdict, which an explanation must share. */
static int verdict(struct suite *suite, const struct hf_schema *schema, const struct hf_json_doc *doc, uint32_t node) {
  struct hf_schema_errors errors;
  hf_schema_errors_init(&errors);
  int r = hf_schema_check(schema, suite->run, doc, node);
  assert_int_equal(hf_schema_explain(schema, suite->run, doc, node, &errors), r);
  assert_int_equal(errors.count > 0, r == HF_ERR_INVALID);
  for (unsigned i = 0; i < errors.count; i++)
    assert_in_range(errors.item[i].parent + 1, 0, i);
  hf_schema_errors_deinit(&errors);
  return r;
}

static void judge_tests(struct suite *suite, const struct hf_schema *schema, const struct hf_error *error,
                        const struct hf_json_doc *doc, uint32_t group) {
  uint32_t tests, test, data, valid;
  assert_int_equal(hf_json_member(doc, group, HF_STR("tests"), &tests), 0);
  struct hf_json_iter iter = hf_json_iter(doc, tests);
  while (hf_json_next(doc, &iter, NULL, &test)) {
    assert_int_equal(hf_json_member(doc, test, HF_STR("data"), &data), 0);
    assert_int_equal(hf_json_member(doc, test, HF_STR("valid"), &valid), 0);
    int expected = hf_json_type(doc, valid) == HF_JSON_TRUE ? 0 : HF_ERR_INVALID;
    int r = schema ? verdict(suite, schema, doc, data) : error->code;
    judge(suite, description(doc, group), description(doc, test), schema && r == expected,
          schema ? hf_err_name(r) : error->text);
  }
}

static void run_group(struct suite *suite, const struct hf_json_doc *doc, uint32_t group) {
  uint32_t node;
  assert_int_equal(hf_json_member(doc, group, HF_STR("schema"), &node), 0);
  struct hf_buf text;
  say_dialect(suite, doc, node, &text);
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  options.resources = suite->remotes.item;
  options.resource_count = suite->remotes.count;
  options.assert_format = suite->assert_format;
  struct hf_schema *schema = NULL;
  struct hf_error error = {0};
  int r = hf_schema_compile(hf_buf_str(&text), &options, &schema, &error);
  assert_int_equal(r, error.code);
  judge_tests(suite, schema, &error, doc, group);
  hf_schema_free(schema);
  hf_buf_deinit(&text);
}

static void run_file(struct suite *suite, const char *path, const char *name) {
  struct hf_buf text;
  read_file(path, &text);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, text.data, text.len, true), 0);
  struct hf_json_doc doc = hf_json_doc(text.data, &scan);
  suite->file = name;
  struct hf_json_iter iter = hf_json_iter(&doc, 0);
  uint32_t group;
  while (hf_json_next(&doc, &iter, NULL, &group))
    run_group(suite, &doc, group);
  hf_json_scan_deinit(&scan);
  hf_buf_deinit(&text);
}

static void run_dir(struct suite *suite, const char *under) {
  char tests[PATH_SIZE], path[PATH_SIZE];
  join(tests, suite->root, "tests");
  join(path, tests, under);
  DIR *dir = opendir(path);
  assert_non_null(dir);
  for (struct dirent *entry; (entry = readdir(dir));) {
    char name[PATH_SIZE], full[PATH_SIZE];
    join(name, under, entry->d_name);
    join(full, tests, name);
    struct stat st;
    assert_int_equal(stat(full, &st), 0);
    if (S_ISREG(st.st_mode))
      run_file(suite, full, name);
  }
  (void)closedir(dir);
}

static const struct {
  const char *name;
  const char *dialect;
} drafts[] = {
    {"draft2020-12", "https://json-schema.org/draft/2020-12/schema"},
    {"draft2019-09", "https://json-schema.org/draft/2019-09/schema"},
    {"draft7", "http://json-schema.org/draft-07/schema#"},
    {"draft6", "http://json-schema.org/draft-06/schema#"},
    {"draft4", "http://json-schema.org/draft-04/schema#"},
};

enum { DRAFTS = sizeof drafts / sizeof drafts[0] };

static struct suite *open_suite(void) {
  struct suite *suite = hf_calloc(1, sizeof *suite);
  assert_non_null(suite);
  assert_true(suite_path(suite->root));
  char remotes[PATH_SIZE];
  join(remotes, suite->root, "remotes");
  read_remotes(&suite->remotes, remotes, "");
  suite->run = hf_schema_run_new();
  assert_non_null(suite->run);
  return suite;
}

static void close_suite(struct suite *suite) {
  free_remotes(&suite->remotes);
  hf_buf_deinit(&suite->table);
  hf_schema_run_free(suite->run);
  hf_free(suite);
}

static void schema_suite__passes_all_that_is_mandatory(void **state) {
  (void)state;
  struct suite *suite = open_suite();
  size_t failed = 0;
  for (size_t i = 0; i < DRAFTS; i++) {
    suite->passed = suite->failed = 0;
    suite->dialect = drafts[i].dialect;
    run_dir(suite, drafts[i].name);
    print_message("# %s: %zu of %zu\n", drafts[i].name, suite->passed, suite->passed + suite->failed);
    failed += suite->failed;
  }
  close_suite(suite);
  assert_int_equal(failed, 0);
}

static void schema_suite__passes_what_is_optional_except_what_is_listed(void **state) {
  (void)state;
  struct suite *suite = open_suite();
  read_table(suite);
  size_t failed = 0;
  for (size_t i = 0; i < DRAFTS; i++) {
    suite->passed = suite->failed = suite->listed = 0;
    suite->dialect = drafts[i].dialect;
    char under[PATH_SIZE];
    join(under, drafts[i].name, "optional");
    suite->assert_format = false;
    run_dir(suite, under);
    join(under, drafts[i].name, "optional/format");
    suite->assert_format = true;
    run_dir(suite, under);
    print_message("# %s, optional: %zu, listed %zu, failed %zu\n", drafts[i].name, suite->passed, suite->listed,
                  suite->failed);
    failed += suite->failed;
  }
  for (size_t i = 0; i < suite->row_count; i++)
    if (!suite->rows[i].used) {
      print_error("listed, but passes: %.*s | %.*s | %.*s\n", HF_STR_FMT(suite->rows[i].file),
                  HF_STR_FMT(suite->rows[i].group), HF_STR_FMT(suite->rows[i].test));
      failed++;
    }
  close_suite(suite);
  assert_int_equal(failed, 0);
}

/* cmocka writes what is skipped as "not ok", which is a failure to who reads TAP. */
int main(void) {
  char path[PATH_SIZE];
  if (!suite_path(path)) {
    puts("1..0 # SKIP the official suite is not at hand");
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schema_suite__passes_all_that_is_mandatory),
      cmocka_unit_test(schema_suite__passes_what_is_optional_except_what_is_listed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
