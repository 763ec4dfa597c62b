/* Arguments as models really sent them, of public issues and of the Berkeley function calling leaderboard: what is
 * repaired must be what was meant, and most of what can be repaired must be. A selection always runs; the whole corpus
 * does where it lies beside the project. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schema/equal.h"
#include "schema/repair.h"

#include <stdio.h>
#include <stdlib.h>

#define SELECTION "malformed-args/selection.jsonl"
#define CORPUS "../../../shared/cases/malformed-args.jsonl"

enum { CLASSES_MAX = 128, STEPS = 1 << 20, NODES = 1 << 16, PATH_LEN_MAX = 1024 };

/* A scanned text that is kept. */
struct text {
  struct hf_json_scan scan;
  struct hf_json_doc doc;
};

struct row {
  struct text text;
  struct hf_str id, kind, tool;
  struct hf_str schema;
  struct hf_str sent; /* what the model sent */
  bool raw;           /* as a text, not as JSON */
  struct hf_str right, candidates;
  struct hf_str meant; /* what the text says, where the right answer is another one, or none is known */
};

enum verdict { SKIPPED, UNTOUCHED, REFUSED, REPAIRED, WRONG };

struct class {
  char name[64];
  unsigned rows, repairable, right, repaired, refused, wrong;
};

struct tally {
  struct class class[CLASSES_MAX];
  unsigned count;
  struct class issues, texts; /* the two that have a goal */
};

/* Texts that name a right answer, but that nobody can read it from. */
static const struct {
  const char *id, *why;
} unreadable[] = {
    {"issue-058", "cut off"},       {"issue-059", "two calls in one"}, {"issue-060", "cut off"},
    {"bfcl-210", "an expression"},  {"bfcl-228", "an expression"},     {"bfcl-229", "an expression"},
    {"bfcl-272", "an expression"},  {"bfclraw-123", "two calls"},      {"bfclraw-188", "an expression"},
    {"bfclraw-200", "three calls"},
};

static bool scan(struct hf_str raw, struct text *ret_text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  hf_json_scan_init(&ret_text->scan, &options);
  if (hf_json_scan_feed(&ret_text->scan, raw.ptr, raw.len, true) < 0) {
    hf_json_scan_deinit(&ret_text->scan);
    return false;
  }
  ret_text->doc = hf_json_doc(raw.ptr, &ret_text->scan);
  return true;
}

static bool same(const struct hf_json_doc *a, uint32_t at, const struct hf_json_doc *b, uint32_t bt) {
  uint32_t steps = STEPS;
  return hf_json_equal(a, at, b, bt, &steps) == 1;
}

static bool member(const struct hf_json_doc *doc, uint32_t object, struct hf_str name, uint32_t *ret_value) {
  return hf_json_type(doc, object) == HF_JSON_OBJECT && hf_json_member(doc, object, name, ret_value) == 0;
}

static bool is_object(const struct hf_json_doc *doc, uint32_t node) {
  return hf_json_type(doc, node) == HF_JSON_OBJECT;
}

/* Three versions of one value. */
struct versions {
  const struct hf_json_doc *repaired, *right, *sent;
  struct hf_arena *arena;
};

/* Is every member what is right, or what was sent and is none of the repair's doing? `sent` is HF_JSON_NONE, and not
 * the root, where nothing was sent at this place. */
static bool is_faithful(const struct versions *v, uint32_t repaired, uint32_t right, bool was_sent, uint32_t sent) {
  if (same(v->repaired, repaired, v->right, right) || (was_sent && same(v->repaired, repaired, v->sent, sent)))
    return true;
  if (!is_object(v->repaired, repaired) || !is_object(v->right, right))
    return false;
  uint32_t key, value, other, old = HF_JSON_NONE;
  struct hf_json_iter iter = hf_json_iter(v->repaired, repaired);
  while (hf_json_next(v->repaired, &iter, &key, &value)) {
    struct hf_str name;
    if (hf_json_string(v->repaired, key, v->arena, &name) < 0)
      return false;
    bool there = was_sent && member(v->sent, sent, name, &old);
    if (member(v->right, right, name, &other) ? !is_faithful(v, value, other, there, old)
                                              : !there || !same(v->repaired, value, v->sent, old))
      return false;
  }
  if (!was_sent || !is_object(v->sent, sent))
    return true;
  iter = hf_json_iter(v->sent, sent);
  while (hf_json_next(v->sent, &iter, &key, &value)) { /* nothing that was said and is right is lost */
    struct hf_str name;
    if (hf_json_string(v->sent, key, v->arena, &name) < 0)
      return false;
    if (hf_json_type(v->sent, value) != HF_JSON_NULL && member(v->right, right, name, &other) &&
        !member(v->repaired, repaired, name, &old))
      return false;
  }
  return true;
}

static bool equals(const struct hf_json_doc *repaired, struct hf_str expected) {
  struct text text;
  if (!expected.ptr || !scan(expected, &text))
    return false;
  bool yes = same(repaired, 0, &text.doc, 0);
  hf_json_scan_deinit(&text.scan);
  return yes;
}

static bool is_candidate(const struct row *row, const struct hf_json_doc *repaired) {
  struct text list;
  if (!row->candidates.ptr || !scan(row->candidates, &list))
    return false;
  bool found = false;
  uint32_t candidate;
  struct hf_json_iter iter = hf_json_iter(&list.doc, 0);
  while (hf_json_next(&list.doc, &iter, NULL, &candidate))
    found = found || same(repaired, 0, &list.doc, candidate);
  hf_json_scan_deinit(&list.scan);
  return found;
}

/* Is the repaired text what the model meant? */
static bool is_meant(const struct row *row, struct hf_str repaired, struct hf_arena *arena) {
  struct text text, right, sent;
  assert_true(scan(repaired, &text));
  bool yes = equals(&text.doc, row->right) || is_candidate(row, &text.doc) || equals(&text.doc, row->meant);
  if (!yes && !row->meant.ptr && row->right.ptr && !row->raw && scan(row->right, &right)) {
    assert_true(scan(row->sent, &sent));
    struct versions v = {&text.doc, &right.doc, &sent.doc, arena};
    yes = is_faithful(&v, 0, 0, true, 0);
    hf_json_scan_deinit(&sent.scan);
    hf_json_scan_deinit(&right.scan);
  }
  hf_json_scan_deinit(&text.scan);
  return yes;
}

static void show(const struct row *row, const char *what, struct hf_str repaired) {
  print_error("%s: %.*s (%.*s): %.*s -> %.*s; right: %.*s\n", what, HF_STR_FMT(row->id), HF_STR_FMT(row->kind),
              HF_STR_FMT(row->sent), HF_STR_FMT(repaired), HF_STR_FMT(row->right));
}

/* The value that is left is valid, and repairing it again changes nothing. */
static void check_result(const struct hf_schema *schema, struct hf_schema_run *run, struct hf_str text,
                         struct hf_arena *arena) {
  struct hf_repair_options options = {.keep_values = false};
  struct hf_buf again;
  hf_buf_init(&again, text.len + 1);
  static struct hf_repairs repairs;
  assert_int_equal(hf_repair(schema, run, text, &options, arena, &again, &repairs), 0);
  assert_int_equal(repairs.count, 0);
  assert_true(hf_str_equal(hf_buf_str(&again), text));
  hf_buf_deinit(&again);
}

static enum verdict judge(const struct row *row, struct hf_schema_run *run, struct hf_arena *arena, bool *ret_right) {
  struct hf_schema *schema;
  struct hf_error error;
  *ret_right = false;
  if (!row->schema.ptr || !row->sent.ptr)
    return SKIPPED;
  int r = hf_schema_compile(row->schema, &(struct hf_schema_options)HF_SCHEMA_OPTIONS_INIT, &schema, &error);
  if (r < 0)
    print_error("%.*s: %s\n", HF_STR_FMT(row->id), error.text);
  assert_int_equal(r, 0);
  static struct hf_repairs repairs;
  struct hf_repair_options options = {.tool = row->tool};
  struct hf_buf out;
  hf_buf_init(&out, 1 << 20);
  r = hf_repair(schema, run, row->sent, &options, arena, &out, &repairs);
  enum verdict verdict = r < 0 ? REFUSED : repairs.count == 0 ? UNTOUCHED : REPAIRED;
  if (r == 0) {
    bool meant = is_meant(row, hf_buf_str(&out), arena);
    if (verdict == REPAIRED && !meant) {
      verdict = WRONG;
      show(row, "wrong", hf_buf_str(&out));
    }
    *ret_right = row->right.ptr && meant;
    if (verdict == UNTOUCHED)
      assert_true(hf_str_equal(hf_buf_str(&out), row->sent));
    check_result(schema, run, hf_buf_str(&out), arena);
  } else {
    assert_true(r == HF_ERR_INVALID);
    if (row->right.ptr && getenv("HF_VERBOSE"))
      show(row, "refused", HF_STR("-"));
  }
  hf_buf_deinit(&out);
  hf_schema_free(schema);
  return verdict;
}

static bool contains(struct hf_str text, const char *word) {
  return text.ptr && memmem(text.ptr, text.len, word, strlen(word));
}

static bool is_unreadable(const struct row *row) {
  for (size_t i = 0; i < sizeof unreadable / sizeof unreadable[0]; i++)
    if (hf_str_equal(row->id, hf_str_from(unreadable[i].id)))
      return true;
  return false;
}

static struct class *find_class(struct tally *tally, struct hf_str name) {
  name.len = name.len < sizeof tally->class[0].name ? name.len : sizeof tally->class[0].name - 1;
  for (unsigned i = 0; i < tally->count; i++)
    if (hf_str_equal(hf_str_from(tally->class[i].name), name))
      return &tally->class[i];
  assert_true(tally->count < CLASSES_MAX);
  struct class *class = &tally->class[tally->count++];
  memcpy(class->name, name.ptr, name.len);
  return class;
}

static void count(struct class *class, const struct row *row, enum verdict verdict, bool right) {
  class->rows++;
  class->repairable += row->right.ptr && verdict != SKIPPED && !(row->raw && is_unreadable(row));
  class->right += right;
  class->repaired += verdict == REPAIRED;
  class->refused += verdict == REFUSED;
  class->wrong += verdict == WRONG;
}

static struct hf_str text_of(const struct row *row, const char *name, struct hf_arena *arena) {
  uint32_t node;
  struct hf_str text = {NULL, 0};
  if (member(&row->text.doc, 0, hf_str_from(name), &node))
    (void)hf_json_string(&row->text.doc, node, arena, &text);
  return text;
}

static struct hf_str value_of(const struct row *row, const char *name) {
  uint32_t node;
  return member(&row->text.doc, 0, hf_str_from(name), &node) ? hf_json_span(&row->text.doc, node)
                                                             : (struct hf_str){NULL, 0};
}

static void read_row(struct row *row, struct hf_str line, struct hf_arena *arena) {
  assert_true(scan(line, &row->text));
  row->id = text_of(row, "id", arena);
  row->kind = text_of(row, "class", arena);
  row->tool = text_of(row, "tool", arena);
  row->schema = value_of(row, "schema");
  row->sent = value_of(row, "bad_args");
  row->raw = !row->sent.ptr;
  if (row->raw)
    row->sent = text_of(row, "bad_args_raw", arena);
  row->right = value_of(row, "right_args");
  row->candidates = value_of(row, "right_candidates");
  row->meant = value_of(row, "meant");
}

static void run_row(struct tally *tally, struct hf_str line, struct hf_str meant, struct hf_schema_run *run) {
  struct hf_arena arena;
  hf_arena_init(&arena, 1 << 24);
  struct row row = {.raw = false};
  read_row(&row, line, &arena);
  struct text table = {.doc = {NULL, NULL, 0}};
  uint32_t node;
  if (!row.meant.ptr && meant.ptr && scan(meant, &table) && member(&table.doc, 0, row.id, &node))
    row.meant = hf_json_span(&table.doc, node);
  bool right;
  enum verdict verdict = judge(&row, run, &arena, &right);
  count(find_class(tally, row.kind), &row, verdict, right);
  if (hf_str_starts(row.id, HF_STR("issue-")))
    count(&tally->issues, &row, verdict, right);
  if (hf_str_starts(row.kind, HF_STR("raw:")) || contains(row.kind, "args-json-invalid"))
    count(&tally->texts, &row, verdict, right);
  if (table.doc.nodes)
    hf_json_scan_deinit(&table.scan);
  hf_json_scan_deinit(&row.text.scan);
  hf_arena_deinit(&arena);
}

static void print_class(const struct class *class) {
  fprintf(stderr, "# %-62s %5u %10u %6u %8u %7u %5u\n", class->name, class->rows, class->repairable, class->right,
          class->repaired, class->refused, class->wrong);
}

static void print_tally(const struct tally *tally) {
  fprintf(stderr, "# %-62s %5s %10s %6s %8s %7s %5s\n", "class", "cases", "repairable", "right", "repaired", "refused",
          "wrong");
  for (unsigned i = 0; i < tally->count; i++)
    print_class(&tally->class[i]);
  print_class(&tally->issues);
  print_class(&tally->texts);
}

/* The text of a file among the tests' data, NUL-terminated, or NULL. */
static char *load(const char *path) {
  char full[PATH_LEN_MAX];
  int len = snprintf(full, sizeof full, "%s/%s", getenv("HF_TEST_DATA"), path);
  FILE *file = len > 0 && (size_t)len < sizeof full ? fopen(full, "r") : NULL;
  if (!file)
    return NULL;
  size_t size = 1 << 22;
  char *text = malloc(size);
  assert_non_null(text);
  text[fread(text, 1, size - 1, file)] = '\0';
  fclose(file);
  return text;
}

/* At least so many of the two classes are to come out right: what docs/corrections.md says of them. */
static void run_corpus(const char *path, unsigned issues, unsigned texts) {
  char *meant = load("malformed-args/meant.json");
  char *text = load(path);
  assert_non_null(meant);
  assert_non_null(text);
  static struct tally tally;
  tally = (struct tally){.issues = {.name = "issues"}, .texts = {.name = "texts that are no JSON"}};
  struct hf_schema_run *run = hf_schema_run_new();
  assert_non_null(run);
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n"));)
    if (line[0] == '{')
      run_row(&tally, hf_str_from(line), hf_str_from(meant), run);
  print_tally(&tally);
  for (unsigned i = 0; i < tally.count; i++)
    assert_int_equal(tally.class[i].wrong, 0);
  assert_in_range(tally.issues.right, issues, tally.issues.repairable);
  assert_in_range(tally.texts.right, texts, tally.texts.repairable);
  hf_schema_run_free(run);
  free(text);
  free(meant);
}

static void repair_corpus__a_selection_is_read_right_or_not_at_all(void **state) {
  (void)state;
  run_corpus(SELECTION, 38, 31);
}

static void repair_corpus__the_whole_corpus_is_read_right_or_not_at_all(void **state) {
  (void)state;
  run_corpus(CORPUS, 38, 94);
}

/* What is skipped is left out: cmocka would write it as "not ok", which is a failure to who reads TAP. */
int main(void) {
  const struct CMUnitTest selection[] = {
      cmocka_unit_test(repair_corpus__a_selection_is_read_right_or_not_at_all),
  };
  const struct CMUnitTest all[] = {
      selection[0],
      cmocka_unit_test(repair_corpus__the_whole_corpus_is_read_right_or_not_at_all),
  };
  char *corpus = load(CORPUS);
  int failed = corpus ? cmocka_run_group_tests(all, NULL, NULL) : cmocka_run_group_tests(selection, NULL, NULL);
  free(corpus);
  return failed;
}
