#include "schema/repair.h"

#include "base/alloc.h"
#include "schema/envelope.h"
#include "schema/loose.h"
#include "schema/remedy.h"
#include "schema/run.h"
#include "json/canonical.h"
#include "json/pointer.h"
#include "json/unique.h"

#include <assert.h>

/* The search: as long as a text does not fit, each error that must go has its remedies; what has only one is applied,
 * and then each of the others is tried. Every text that fits is one reading, and there has to be exactly one. */

enum {
  SCRATCH_MAX = 16 << 20,              /* of texts and remedies of one search */
  TRIED_BYTES_MAX = 1 << 20,           /* of all texts that are tried, so that large ones are tried less often */
  STEPS_MAX = 2 * HF_SCHEMA_STEPS_MAX, /* of all runs and searches for remedies together: what 10 ms allow */
  SLACK = 4096,
};

/* How a text came to be: the changes, newest first. */
struct step {
  const struct step *before;
  enum hf_repair_kind kind;
  bool decoy;
  struct hf_str pointer;
  struct hf_str from, to;
};

struct search {
  const struct hf_schema *schema;
  struct hf_schema_run *run;
  struct hf_str tool;
  struct hf_arena arena;
  unsigned tries;
  uint32_t steps;
  size_t bytes;
  struct hf_str found; /* a text that fits; absent: none yet */
  const struct step *way;
  bool uncertain; /* there is another one */
};

/* A text, its nodes, and what is wrong with it. */
struct attempt {
  struct hf_str text;
  struct hf_json_scan scan;
  struct hf_json_doc doc;
  struct hf_schema_errors errors;
};

static const struct {
  const char *name;
  bool changes;
} kinds[] = {
#define KIND(name, text, changes) {text, changes},
    HF_REPAIR_LIST(KIND)
#undef KIND
};

const char *hf_repair_name(enum hf_repair_kind kind) {
  return kinds[kind].name;
}

static void *scratch(struct search *s, size_t size) {
  return hf_arena_alloc(&s->arena, size);
}

/* Returns NULL when out of memory. */
static const struct step *add_step(struct search *s, const struct step *before, struct step step) {
  struct step *copy = scratch(s, sizeof *copy);
  if (copy) {
    *copy = step;
    copy->before = before;
  }
  return copy;
}

static unsigned count_steps(const struct step *last) {
  unsigned count = 0;
  for (; last; last = last->before)
    count++;
  return count;
}

static int same_value(struct hf_str a, struct hf_str b) {
  if (hf_str_equal(a, b))
    return 1;
  struct hf_buf left, right;
  hf_buf_init(&left, 2 * a.len + SLACK);
  hf_buf_init(&right, 2 * b.len + SLACK);
  int r = hf_json_canonical(a, &left);
  if (r == 0)
    r = hf_json_canonical(b, &right);
  if (r == 0)
    r = hf_str_equal(hf_buf_str(&left), hf_buf_str(&right));
  hf_buf_deinit(&left);
  hf_buf_deinit(&right);
  return r;
}

static int note_found(struct search *s, struct hf_str text, const struct step *last) {
  if (!s->found.ptr) {
    s->found = text;
    s->way = last;
  } else {
    int same = same_value(s->found, text);
    if (same < 0)
      return same;
    if (!same)
      s->uncertain = true;
  }
  for (; last; last = last->before)
    if (last->decoy)
      s->uncertain = true;
  return 0;
}

/* Puts in place what the remedies say, in order of their places. */
static struct hf_str apply(struct search *s, const struct attempt *attempt, const struct hf_remedy *remedies,
                           unsigned count) {
  size_t len = attempt->text.len;
  for (unsigned i = 0; i < count; i++)
    len += remedies[i].put.len;
  char *text = scratch(s, len + 1);
  if (!text)
    return (struct hf_str){NULL, 0};
  size_t at = 0, done = 0;
  for (unsigned i = 0; i < count; i++) {
    memcpy(text + at, attempt->text.ptr + done, remedies[i].start - done);
    at += remedies[i].start - done;
    memcpy(text + at, remedies[i].put.ptr, remedies[i].put.len);
    at += remedies[i].put.len;
    done = remedies[i].end;
  }
  memcpy(text + at, attempt->text.ptr + done, attempt->text.len - done);
  return (struct hf_str){text, at + attempt->text.len - done};
}

static struct hf_str pointer_of(struct search *s, const struct hf_json_doc *doc, uint32_t node) {
  struct hf_buf pointer;
  hf_buf_init(&pointer, SLACK);
  struct hf_str copy = {NULL, 0};
  int r = hf_json_pointer_of(doc, node, &pointer);
  if (r == 0 || r == HF_ERR_LIMIT)
    copy = hf_arena_copy(&s->arena, hf_buf_str(&pointer));
  hf_buf_deinit(&pointer);
  return copy;
}

static const struct step *note_remedy(struct search *s, const struct attempt *attempt, const struct hf_remedy *remedy,
                                      const struct step *last) {
  struct step step = {.kind = remedy->kind,
                      .decoy = remedy->decoy,
                      .pointer = pointer_of(s, &attempt->doc, remedy->node),
                      .from = remedy->from,
                      .to = remedy->put.len ? remedy->put : remedy->to};
  if (!step.pointer.ptr)
    return NULL;
  if (remedy->lenient) {
    struct step lenient = step;
    lenient.kind = HF_REPAIR_READ;
    last = add_step(s, last, lenient);
    if (!last)
      return NULL;
  }
  return add_step(s, last, step);
}

static int explore(struct search *s, struct hf_str text, const struct step *last);

/* Goes on with the text as some remedies make it. */
static int follow(struct search *s, const struct attempt *attempt, const struct hf_remedy *remedies, unsigned count,
                  const struct step *last) {
  for (unsigned i = 0; i < count; i++) {
    last = note_remedy(s, attempt, &remedies[i], last);
    if (!last)
      return HF_ERR_NOMEM;
  }
  if (attempt->text.len > TRIED_BYTES_MAX)
    return HF_ERR_LIMIT;
  struct hf_str text = apply(s, attempt, remedies, count);
  return text.ptr ? explore(s, text, last) : HF_ERR_NOMEM;
}

/* Adds a remedy to those that are applied at once, in order of place; not where another one works already. */
static void insert(struct hf_remedy *chosen, unsigned *io_count, const struct hf_remedy *remedy) {
  unsigned at = *io_count;
  for (unsigned i = 0; i < *io_count; i++)
    if (remedy->start < chosen[i].end && chosen[i].start < remedy->end)
      return;
  while (at > 0 && chosen[at - 1].start > remedy->start)
    at--;
  memmove(&chosen[at + 1], &chosen[at], (*io_count - at) * sizeof *chosen);
  chosen[at] = *remedy;
  ++*io_count;
}

static void add_opening(const struct hf_unfit *unfit, uint32_t content, struct hf_remedies *remedies) {
  struct hf_remedy open = hf_envelope_open(unfit, content);
  hf_remedies_add(remedies, &open);
}

/* What to do about the errors of an attempt. */
struct plan {
  struct hf_remedy singles[HF_SCHEMA_ERRORS_MAX]; /* to apply at once */
  unsigned count;
  struct hf_remedies choice; /* of the error that leaves one, and the least */
};

/* Does the plan change something within the value? */
static bool changes_within(const struct plan *plan, const struct hf_json_node *value) {
  for (unsigned i = 0; i < plan->count; i++)
    if (plan->singles[i].start > value->start && plan->singles[i].end <= value->end)
      return true;
  return plan->choice.count > 0 && plan->choice.item[0].start > value->start && plan->choice.item[0].end <= value->end;
}

/* An error without a remedy may go with what is mended within its value (two branches of a oneOf, a null too many);
 * where nothing is, it stays. */
static bool has_hope(const struct attempt *attempt, const struct plan *plan, uint64_t hopeless) {
  for (unsigned i = 0; i < attempt->errors.count; i++)
    if (hopeless & UINT64_C(1) << i && !changes_within(plan, &attempt->doc.nodes[attempt->errors.item[i].value]))
      return false;
  return plan->count > 0 || plan->choice.count > 0;
}

/* Returns 1; 0 if some error has no remedy. */
static int make_plan(struct search *s, const struct attempt *attempt, struct plan *plan) {
  uint32_t left = s->steps < STEPS_MAX ? STEPS_MAX - s->steps : 0;
  struct hf_unfit unfit = {&attempt->doc, &attempt->errors, hf_schema_doc(s->schema), s->tool, &s->arena, &left};
  struct hf_remedies *some = scratch(s, sizeof *some);
  if (!some)
    return HF_ERR_NOMEM;
  uint32_t content;
  bool wrapped = hf_envelope_find(&unfit, &content) != HF_ENVELOPE_NONE;
  uint64_t hopeless = 0; /* a bit for each error */
  static_assert(HF_SCHEMA_ERRORS_MAX <= 64, "one word has a bit for each error");
  for (unsigned i = 0; i < attempt->errors.count; i++) {
    if (attempt->errors.item[i].parent >= 0)
      continue;
    int r = hf_remedies_find(&unfit, i, some);
    s->steps = STEPS_MAX - left;
    if (r < 0)
      return r;
    if (wrapped)
      add_opening(&unfit, content, some);
    if (some->more)
      return HF_ERR_LIMIT;
    if (some->count == 0)
      hopeless |= UINT64_C(1) << i;
    else if (some->count == 1)
      insert(plan->singles, &plan->count, &some->item[0]);
    else if (plan->choice.count == 0 || some->count < plan->choice.count)
      plan->choice = *some;
  }
  return has_hope(attempt, plan, hopeless);
}

static int try_remedies(struct search *s, const struct attempt *attempt, const struct step *last) {
  struct plan *plan = scratch(s, sizeof *plan);
  int r = plan ? make_plan(s, attempt, plan) : HF_ERR_NOMEM;
  if (r <= 0)
    return r;
  if (plan->count > 0)
    return follow(s, attempt, plan->singles, plan->count, last);
  r = 0;
  for (unsigned i = 0; r == 0 && !s->uncertain && i < plan->choice.count; i++)
    r = follow(s, attempt, &plan->choice.item[i], 1, last);
  return r;
}

static int read_attempt(struct attempt *attempt) {
  int r = hf_json_scan_feed(&attempt->scan, attempt->text.ptr, attempt->text.len, true);
  if (r < 0)
    return r;
  attempt->doc = hf_json_doc(attempt->text.ptr, &attempt->scan);
  uint32_t key;
  return hf_json_unique(&attempt->doc, &key);
}

static int explain(struct search *s, struct attempt *attempt) {
  int r = hf_schema_explain(s->schema, s->run, &attempt->doc, 0, &attempt->errors);
  s->steps += HF_SCHEMA_STEPS_MAX - s->run->steps;
  return r;
}

/* Finds the readings that can be reached from `text`. */
static int explore(struct search *s, struct hf_str text, const struct step *last) {
  s->bytes += text.len;
  if (++s->tries > HF_REPAIR_TRIES_MAX || count_steps(last) > HF_REPAIRS_MAX || s->steps > STEPS_MAX ||
      (s->bytes > TRIED_BYTES_MAX && s->tries > 1))
    return HF_ERR_LIMIT;
  struct attempt *attempt = hf_calloc(1, sizeof *attempt);
  if (!attempt)
    return HF_ERR_NOMEM;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  attempt->text = text;
  hf_json_scan_init(&attempt->scan, &options);
  hf_schema_errors_init(&attempt->errors);
  int r = read_attempt(attempt);
  if (r == 0)
    r = explain(s, attempt);
  if (r == 0)
    r = note_found(s, text, last);
  else if (r == HF_ERR_INVALID)
    r = try_remedies(s, attempt, last);
  hf_schema_errors_deinit(&attempt->errors);
  hf_json_scan_deinit(&attempt->scan);
  hf_free(attempt);
  return r == HF_ERR_DUPLICATE ? 0 : r;
}

/* Does the schema know every member of the root? Words around a value that it doesn't know are not about arguments. */
static bool knows_members(struct search *s, const struct hf_json_doc *doc) {
  uint32_t key, value;
  struct hf_json_iter iter = hf_json_iter(doc, 0);
  while (hf_json_next(doc, &iter, &key, &value)) {
    struct hf_str name;
    if (!iter.object || hf_json_string(doc, key, &s->arena, &name) < 0 ||
        hf_schema_declares(hf_schema_doc(s->schema), name, true, &s->arena) == 0)
      return false;
  }
  return true;
}

/* Explores a value that was read from a text. A call in it means its arguments; what is in a wrapper may be meant, and
 * so may the wrapper. */
static int explore_read(struct search *s, struct hf_str text, unsigned how, const struct step *last) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct attempt attempt = {.text = text};
  hf_json_scan_init(&attempt.scan, &options);
  int r = read_attempt(&attempt);
  struct hf_unfit unfit = {
      .doc = &attempt.doc, .schema = hf_schema_doc(s->schema), .tool = s->tool, .arena = &s->arena};
  uint32_t content;
  enum hf_envelope envelope = r == 0 ? hf_envelope_find(&unfit, &content) : HF_ENVELOPE_NONE;
  if (r == 0 && envelope != HF_ENVELOPE_NONE) {
    struct hf_remedy open = hf_envelope_open(&unfit, content);
    r = follow(s, &attempt, &open, 1, last);
  }
  bool known = (how & HF_LOOSE_CALL) == 0 &&
               ((how & (HF_LOOSE_WORDS | HF_LOOSE_TAGS)) == 0 || (r == 0 && knows_members(s, &attempt.doc)));
  if (r == 0 && envelope != HF_ENVELOPE_CALL && known && !s->uncertain)
    r = explore(s, text, last);
  hf_json_scan_deinit(&attempt.scan);
  return r == HF_ERR_DUPLICATE ? 0 : r;
}

static bool is_blank(struct hf_str text) {
  for (size_t i = 0; i < text.len; i++)
    if (text.ptr[i] != ' ' && text.ptr[i] != '\t' && text.ptr[i] != '\r' && text.ptr[i] != '\n')
      return false;
  return true;
}

/* What the text means that is no JSON: nothing means no arguments. */
static int read_leniently(struct search *s, struct hf_str raw) {
  if (raw.len > TRIED_BYTES_MAX)
    return HF_ERR_LIMIT;
  struct hf_buf value;
  hf_buf_init(&value, 2 * raw.len + SLACK);
  unsigned how = 0;
  bool empty = is_blank(raw);
  int r = empty ? hf_buf_append_str(&value, HF_STR("\"\"")) : hf_loose_read(raw, &value, &how, NULL);
  struct hf_str text = r == 0 ? hf_arena_copy(&s->arena, hf_buf_str(&value)) : (struct hf_str){NULL, 0};
  hf_buf_deinit(&value);
  if (r < 0)
    return r == HF_ERR_NOMEM || r == HF_ERR_LIMIT ? r : HF_ERR_INVALID;
  if (!text.ptr)
    return HF_ERR_NOMEM;
  const struct step *last =
      add_step(s, NULL, (struct step){.kind = HF_REPAIR_READ, .pointer = HF_STR(""), .from = raw, .to = text});
  r = last ? explore_read(s, text, how, last) : HF_ERR_NOMEM;
  if (empty && s->found.ptr == text.ptr) /* nothing at all was said, also not an empty string */
    s->found = (struct hf_str){NULL, 0};
  return r;
}

/* A copy for who reads it. */
static struct hf_str shown(struct hf_arena *arena, struct hf_str text) {
  return text.ptr ? hf_arena_copy(arena, hf_str_cut(text, HF_REPAIR_SHOWN_MAX)) : text;
}

/* Lists the steps in the order in which they were made. */
static int list_steps(const struct step *last, struct hf_arena *arena, struct hf_repairs *out) {
  out->count = count_steps(last);
  unsigned at = out->count;
  for (; last; last = last->before) {
    struct hf_repair *repair = &out->item[--at];
    *repair = (struct hf_repair){.kind = last->kind,
                                 .pointer = hf_arena_copy(arena, last->pointer),
                                 .from = shown(arena, last->from),
                                 .to = shown(arena, last->to)};
    if (!repair->pointer.ptr || (last->from.ptr && !repair->from.ptr) || (last->to.ptr && !repair->to.ptr))
      return HF_ERR_NOMEM;
  }
  return 0;
}

static bool changes_values(const struct step *last) {
  for (; last; last = last->before)
    if (kinds[last->kind].changes)
      return true;
  return false;
}

/* The text that was found, if there is one and no other. */
static int finish(struct search *s, const struct hf_repair_options *options, struct hf_arena *arena, struct hf_buf *out,
                  struct hf_repairs *ret_repairs) {
  if (!s->found.ptr || s->uncertain || (options->keep_values && changes_values(s->way)))
    return HF_ERR_INVALID;
  struct hf_repairs *repairs = hf_arena_alloc(arena, sizeof *repairs);
  int r = repairs ? list_steps(s->way, arena, repairs) : HF_ERR_NOMEM;
  if (r == 0)
    r = hf_buf_append_str(out, s->found);
  if (r == 0)
    *ret_repairs = *repairs;
  return r;
}

int hf_repair(const struct hf_schema *schema, struct hf_schema_run *run, struct hf_str raw,
              const struct hf_repair_options *options, struct hf_arena *arena, struct hf_buf *out,
              struct hf_repairs *ret_repairs) {
  struct search s = {.schema = schema, .run = run, .tool = options->tool};
  hf_arena_init(&s.arena, SCRATCH_MAX);
  struct attempt strict = {.text = raw};
  struct hf_json_options scan_options = HF_JSON_OPTIONS_INIT;
  scan_options.tree_depth = 0;
  hf_json_scan_init(&strict.scan, &scan_options);
  int r = hf_json_scan_feed(&strict.scan, raw.ptr, raw.len, true);
  hf_json_scan_deinit(&strict.scan);
  if (r == 0)
    r = explore(&s, raw, NULL);
  else if (r == HF_ERR_SYNTAX)
    r = read_leniently(&s, raw);
  if (r == 0)
    r = finish(&s, options, arena, out, ret_repairs);
  hf_arena_deinit(&s.arena);
  return r;
}
