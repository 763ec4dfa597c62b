#include "gateway/correct/feedback.h"

#include "base/distance.h"
#include "base/map.h"
#include "base/tokens.h"
#include "schema/describe.h"
#include "json/pointer.h"
#include "json/write.h"

enum {
  LINE_MAX = 4096,
  POINTER_MAX = 1 << 20,
  RANKS = 3,
  TYPES_TOLD_MAX = 6,
  NAME_SHOWN_MAX = 80,
  WORK_MAX = 1 << 14, /* products of lengths that are compared: some 100 µs */
  PART_MIN = 4,
  DESCRIPTION_MAX = 100,
  STRANGERS_MAX = 3,
  ELSEWHERE = 100
};

int hf_feedback_quote(struct hf_str text, size_t max, struct hf_buf *out) {
  const struct hf_str shown = hf_str_cut(text, max);
  int r = hf_json_escape(out, shown);
  return r == 0 && shown.len < text.len ? hf_buf_append_str(out, HF_STR("… (cut)")) : r;
}

/* What was probably meant by a name or value that is none. */
struct nearest {
  const struct hf_misfit *misfit;
  uint32_t object;      /* whose members were not meant, because they are there */
  bool of_member;       /* it is a name, and not a value */
  struct hf_str wanted; /* without quotes, as it is spelt */
  struct hf_str found;  /* likewise; absent: nothing is near */
  size_t distance;
  size_t work;
};

static struct hf_str inside(const struct hf_json_doc *doc, uint32_t node) {
  struct hf_str raw = hf_json_span(doc, node);
  return (struct hf_str){raw.ptr + 1, raw.len - 2};
}

/* Is one of them a part of the other, as `repo` is of `repository`, and `path` of `file_path`? */
static bool is_part(struct hf_str a, struct hf_str b) {
  struct hf_str whole = a.len > b.len ? a : b, part = a.len > b.len ? b : a;
  for (size_t i = 0; part.len >= PART_MIN && i + part.len <= whole.len; i++)
    if (hf_bytes_equal_nocase(whole.ptr + i, part.ptr, part.len))
      return true;
  return false;
}

static bool is_present(struct nearest *nearest, struct hf_str name) {
  const struct hf_json_doc *doc = &nearest->misfit->doc;
  struct hf_json_iter iter = hf_json_iter(doc, nearest->object);
  uint32_t key, value;
  nearest->work += doc->nodes[nearest->object].count;
  while (hf_json_next(doc, &iter, &key, &value))
    if (hf_str_equal(inside(doc, key), name))
      return true;
  return false;
}

/* What it costs to compare is bounded for each reason that is told, whatever a schema has for names. Returns false when
 * it is enough. */
static bool consider(struct nearest *nearest, struct hf_str candidate) {
  const struct hf_str wanted = nearest->wanted;
  const size_t most = wanted.len / 3 + 1;
  const bool compares = hf_distance_may_be(wanted, candidate, most);
  nearest->work += compares ? (wanted.len + 1) * (candidate.len + 1) : wanted.len + candidate.len;
  if (nearest->work > WORK_MAX)
    return false;
  size_t distance = compares ? hf_distance(wanted, candidate) : SIZE_MAX;
  if (distance > most && is_part(wanted, candidate))
    distance = most;
  bool nearer = distance <= most && (!nearest->found.ptr || distance < nearest->distance);
  if (nearer && !(nearest->of_member && is_present(nearest, candidate))) {
    nearest->found = candidate;
    nearest->distance = distance;
  }
  return true;
}

/* The member of the schema's `properties` that the key of an object was meant for: one that is not there already. */
static void near_key(const struct hf_json_doc *doc, uint32_t schema, uint32_t object, uint32_t name,
                     struct nearest *nearest) {
  uint32_t properties, key, value;
  nearest->wanted = inside(&nearest->misfit->doc, name);
  nearest->object = object;
  nearest->of_member = true;
  if (hf_json_member(doc, schema, HF_STR("properties"), &properties) < 0 ||
      hf_json_type(doc, properties) != HF_JSON_OBJECT)
    return;
  struct hf_json_iter iter = hf_json_iter(doc, properties);
  while (hf_json_next(doc, &iter, &key, &value) && consider(nearest, inside(doc, key)))
    ;
}

static void near_choice(const struct hf_schema_error *error, struct nearest *nearest) {
  const struct hf_json_doc *doc = error->at.doc;
  uint32_t choice;
  bool enough = false;
  if (hf_json_type(&nearest->misfit->doc, error->value) != HF_JSON_STRING ||
      hf_json_type(doc, error->at.keyword) != HF_JSON_ARRAY)
    return;
  nearest->wanted = inside(&nearest->misfit->doc, error->value);
  struct hf_json_iter iter = hf_json_iter(doc, error->at.keyword);
  while (!enough && hf_json_next(doc, &iter, NULL, &choice))
    enough = hf_json_type(doc, choice) == HF_JSON_STRING && !consider(nearest, inside(doc, choice));
}

static bool is_unknown_key(const struct hf_schema_error *error) {
  return error->key != HF_JSON_NONE &&
         (error->keyword == HF_KEYWORD_ADDITIONAL_PROPERTIES || error->keyword == HF_KEYWORD_UNEVALUATED_PROPERTIES);
}

/* What a raw string means, which is never longer. `ret_text` wants its deinit in any case. */
static int unescape(struct hf_str raw, struct hf_buf *ret_text) {
  hf_buf_init(ret_text, raw.len);
  return hf_json_unescape(raw, ret_text);
}

/* A raw string as it is shown. */
static int append_string(struct hf_str raw, size_t max, struct hf_buf *out) {
  struct hf_buf text;
  int r = unescape(raw, &text);
  if (r == 0)
    r = hf_feedback_quote(hf_buf_str(&text), max, out);
  hf_buf_deinit(&text);
  return r;
}

/* Raw JSON inside of quotes is put back into quotes: it is spelt as strings are. */
static int append_name(struct hf_str spelt, struct hf_buf *out) {
  return append_string((struct hf_str){spelt.ptr - 1, spelt.len + 2}, NAME_SHOWN_MAX, out);
}

static int append_found(const struct nearest *nearest, struct hf_buf *out) {
  if (!nearest->found.ptr)
    return 0;
  int r = hf_buf_append_str(out, HF_STR("; did you mean "));
  if (r == 0)
    r = append_name(nearest->found, out);
  return r < 0 ? r : hf_buf_append_str(out, HF_STR("?"));
}

static int append_nearest(const struct hf_misfit *misfit, const struct hf_schema_error *error, struct hf_buf *out) {
  struct nearest nearest = {.misfit = misfit};
  if (is_unknown_key(error))
    near_key(error->at.doc, error->at.schema, error->value, error->key, &nearest);
  else if (error->keyword == HF_KEYWORD_ENUM)
    near_choice(error, &nearest);
  return append_found(&nearest, out);
}

/* What a missing member is to hold: its type, and the first words that are said about it. */
static int append_missing(const struct hf_schema_error *error, struct hf_buf *out) {
  const struct hf_json_doc *doc = error->at.doc;
  uint32_t properties, property, node;
  struct hf_buf name;
  int r = unescape(error->missing, &name);
  bool known = r == 0 && hf_json_member(doc, error->at.schema, HF_STR("properties"), &properties) == 0 &&
               hf_json_member(doc, properties, hf_buf_str(&name), &property) == 0;
  hf_buf_deinit(&name);
  if (!known)
    return r;
  if (hf_json_member(doc, property, HF_STR("type"), &node) == 0 && hf_json_type(doc, node) == HF_JSON_STRING)
    r = hf_buf_printf(out, ", a value of type %.*s", HF_STR_FMT(hf_json_span(doc, node)));
  if (r == 0 && hf_json_member(doc, property, HF_STR("description"), &node) == 0 &&
      hf_json_type(doc, node) == HF_JSON_STRING) {
    r = hf_buf_append_str(out, HF_STR(", described as "));
    if (r == 0)
      r = append_string(hf_json_span(doc, node), DESCRIPTION_MAX, out);
  }
  return r;
}

/* A pointer that is too long to be shown whole is cut. */
static int append_place(const struct hf_misfit *misfit, uint32_t value, struct hf_buf *out) {
  struct hf_buf pointer;
  hf_buf_init(&pointer, POINTER_MAX);
  int r = hf_json_pointer_of(&misfit->doc, value, &pointer);
  if (r == 0)
    r = pointer.len ? hf_feedback_quote(hf_buf_str(&pointer), NAME_SHOWN_MAX, out)
                    : hf_buf_append_str(out, hf_str_from(misfit->whole));
  hf_buf_deinit(&pointer);
  return r < 0 ? r : hf_buf_append_str(out, HF_STR(" "));
}

/* Of alternatives none of which is near: the types that they want. */
static int append_types(const struct hf_misfit *misfit, const struct hf_schema_error *error, struct hf_buf *out) {
  const struct hf_schema_errors *errors = &misfit->errors;
  const int parent = (int)(error - errors->item);
  struct hf_str last = {NULL, 0};
  unsigned told = 0;
  int r = 0;
  for (unsigned i = 0; r == 0 && i < errors->count && told < TYPES_TOLD_MAX; i++) {
    const struct hf_schema_error *part = &errors->item[i];
    if (part->parent != parent || part->keyword != HF_KEYWORD_TYPE || part->value != error->value)
      continue;
    struct hf_str raw = hf_json_span(part->at.doc, part->at.keyword);
    if (hf_str_equal(raw, last) || raw.len > NAME_SHOWN_MAX || memchr(raw.ptr, '\n', raw.len))
      continue;
    last = raw;
    r = hf_buf_printf(out, "%s%.*s", told++ ? " or " : "; it may be of type ", HF_STR_FMT(raw));
  }
  return r;
}

static int append_reason(const struct hf_misfit *misfit, const struct hf_schema_error *error, struct hf_buf *out) {
  int r = append_place(misfit, error->value, out);
  if (r == 0)
    r = hf_schema_describe(error, &misfit->doc, out);
  if (r == 0 && error->keyword == HF_KEYWORD_REQUIRED && error->missing.ptr)
    r = append_missing(error, out);
  if (r == 0 && (error->keyword == HF_KEYWORD_ANY_OF || error->keyword == HF_KEYWORD_ONE_OF))
    r = append_types(misfit, error, out);
  return r < 0 ? r : append_nearest(misfit, error, out);
}

static int append_line(const struct hf_misfit *misfit, const struct hf_schema_error *error, struct hf_buf *out) {
  int r = hf_buf_append_str(out, HF_STR("\n- "));
  return r < 0 ? r : append_reason(misfit, error, out);
}

/* How far a branch of an anyOf or oneOf is from what came: one that wants another type, or another constant, was not
 * meant at all. */
static unsigned branch_distance(const struct hf_misfit *misfit, int parent, uint32_t branch) {
  const struct hf_schema_errors *errors = &misfit->errors;
  unsigned distance = 0;
  for (unsigned i = 0; i < errors->count; i++) {
    const struct hf_schema_error *error = &errors->item[i];
    if (error->parent != parent || error->branch != branch)
      continue;
    bool of_value = error->value == errors->item[parent].value;
    bool other = error->keyword == HF_KEYWORD_CONST ||
                 (of_value && (error->keyword == HF_KEYWORD_TYPE || error->keyword == HF_KEYWORD_ENUM ||
                               error->keyword == HF_KEYWORD_FALSE));
    distance += other ? ELSEWHERE : 1;
  }
  return distance;
}

/* The branch whose reasons are told in place of "none of them fits". Returns false if none is near. */
static bool nearest_branch(const struct hf_misfit *misfit, int parent, uint32_t *ret_branch) {
  const struct hf_schema_errors *errors = &misfit->errors;
  unsigned least = ELSEWHERE;
  if (errors->item[parent].keyword != HF_KEYWORD_ANY_OF && errors->item[parent].keyword != HF_KEYWORD_ONE_OF)
    return false;
  for (unsigned i = (unsigned)parent + 1; i < errors->count; i++) {
    if (errors->item[i].parent != parent)
      continue;
    unsigned distance = branch_distance(misfit, parent, errors->item[i].branch);
    if (distance < least) {
      least = distance;
      *ret_branch = errors->item[i].branch;
    }
  }
  return least < ELSEWHERE;
}

/* What is told, as indexes of errors. */
struct chosen {
  unsigned index[HF_SCHEMA_ERRORS_MAX];
  unsigned count;
};

/* Parents stand before what is in them, so that one pass is enough: what is in the branch that is told is told. */
static void choose(const struct hf_misfit *misfit, struct chosen *chosen) {
  const struct hf_schema_errors *errors = &misfit->errors;
  bool open[HF_SCHEMA_ERRORS_MAX] = {false};
  uint32_t branch[HF_SCHEMA_ERRORS_MAX];
  chosen->count = 0;
  for (unsigned i = 0; i < errors->count; i++) {
    int parent = errors->item[i].parent;
    if (parent >= 0 && !(open[parent] && errors->item[i].branch == branch[parent]))
      continue;
    open[i] = nearest_branch(misfit, (int)i, &branch[i]);
    if (!open[i])
      chosen->index[chosen->count++] = i;
  }
}

/* Names come first: what is missing and what is unknown often is one slip. */
static unsigned rank(const struct hf_schema_error *error) {
  if (is_unknown_key(error))
    return 0;
  return error->keyword == HF_KEYWORD_REQUIRED ? 1 : 2;
}

/* The errors that are told, the most useful first. */
static void order(const struct hf_misfit *misfit, struct chosen *ordered) {
  struct chosen chosen;
  choose(misfit, &chosen);
  ordered->count = 0;
  for (unsigned wanted = 0; wanted < RANKS; wanted++)
    for (unsigned i = 0; i < chosen.count; i++)
      if (rank(&misfit->errors.item[chosen.index[i]]) == wanted)
        ordered->index[ordered->count++] = chosen.index[i];
}

/* Does the schema at the root have names for members, and say nothing of others? */
static bool names_members(const struct hf_json_doc *schema, uint32_t *ret_properties) {
  static const struct hf_str others[] = {HF_STR("additionalProperties"),
                                         HF_STR("unevaluatedProperties"),
                                         HF_STR("patternProperties"),
                                         HF_STR("$ref"),
                                         HF_STR("allOf"),
                                         HF_STR("anyOf"),
                                         HF_STR("oneOf")};
  uint32_t node;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (hf_json_member(schema, 0, others[i], &node) != HF_ERR_NOTFOUND)
      return false;
  return hf_json_member(schema, 0, HF_STR("properties"), ret_properties) == 0;
}

static int append_rest(unsigned left, bool more, struct hf_buf *out) {
  if (left == 0 && !more)
    return 0;
  return more ? hf_buf_append_str(out, HF_STR("\n- and more, once these are right"))
              : hf_buf_printf(out, "\n- and %u more, once these are right", left);
}

static const struct hf_schema_error *error_at(const struct hf_misfit *misfit, const struct chosen *order, unsigned i) {
  return &misfit->errors.item[order->index[i]];
}

int hf_feedback_reasons(const struct hf_misfit *misfit, size_t tokens, struct hf_buf *out) {
  struct chosen told;
  size_t spent = 0;
  unsigned i = 0;
  int r = 0;
  if (misfit->why.code)
    return hf_buf_printf(out, "\n- %s", misfit->why.text);
  order(misfit, &told);
  for (; r == 0 && i < told.count && i < HF_FEEDBACK_ERRORS_MAX; i++) {
    struct hf_buf line;
    hf_buf_init(&line, LINE_MAX);
    r = append_line(misfit, error_at(misfit, &told, i), &line);
    spent += hf_tokens(hf_buf_str(&line));
    bool full = i > 0 && spent > tokens;
    if (r == 0 && !full)
      r = hf_buf_append_str(out, hf_buf_str(&line));
    hf_buf_deinit(&line);
    if (full)
      break;
  }
  return r < 0 ? r : append_rest(told.count - i, misfit->errors.cut, out);
}

int hf_feedback_strangers(const struct hf_misfit *misfit, struct hf_buf *out) {
  uint32_t properties, key, value, node;
  unsigned told = 0;
  int r = 0;
  if (misfit->errors.count == 0 || hf_json_type(&misfit->doc, 0) != HF_JSON_OBJECT)
    return 0;
  const struct hf_json_doc *schema = hf_schema_doc(misfit->schema);
  if (!names_members(schema, &properties))
    return 0;
  struct hf_json_iter iter = hf_json_iter(&misfit->doc, 0);
  while (r == 0 && told < STRANGERS_MAX && hf_json_next(&misfit->doc, &iter, &key, &value)) {
    struct nearest nearest = {.misfit = misfit};
    if (hf_json_member(schema, properties, inside(&misfit->doc, key), &node) != HF_ERR_NOTFOUND)
      continue;
    near_key(schema, 0, 0, key, &nearest);
    r = hf_buf_append_str(out, told++ ? HF_STR("\n- nor ") : HF_STR("\n- the tool has no argument "));
    if (r == 0)
      r = append_name(inside(&misfit->doc, key), out);
    if (r == 0)
      r = append_found(&nearest, out);
  }
  return r;
}

void hf_feedback_join(struct hf_buf *reasons) {
  size_t to = 0;
  for (size_t from = 0; from < reasons->len; from++) {
    if (reasons->data[from] != '\n') {
      reasons->data[to++] = reasons->data[from];
      continue;
    }
    from += 2; /* a line begins with "\n- " */
    if (to > 0) {
      reasons->data[to++] = ';';
      reasons->data[to++] = ' ';
    }
  }
  reasons->len = to;
}

int hf_feedback_first(const struct hf_misfit *misfit, struct hf_buf *out) {
  struct chosen told;
  if (misfit->why.code)
    return hf_buf_append_str(out, hf_str_from(misfit->why.text));
  order(misfit, &told);
  return told.count ? append_reason(misfit, error_at(misfit, &told, 0), out) : 0;
}

uint64_t hf_feedback_digest(const struct hf_misfit *misfit) {
  struct chosen told;
  uint64_t digest = (uint64_t)(uint32_t)misfit->why.code;
  order(misfit, &told);
  for (unsigned i = 0; i < told.count; i++) {
    const struct hf_schema_error *error = error_at(misfit, &told, i);
    struct hf_buf place;
    hf_buf_init(&place, LINE_MAX);
    (void)hf_json_pointer_of(&misfit->doc, error->value, &place);
    digest = digest * 31 + hf_map_hash(place.data ? place.data : "", place.len);
    digest = digest * 31 + (uint64_t)error->keyword;
    if (error->missing.ptr)
      digest = digest * 31 + hf_map_hash(error->missing.ptr, error->missing.len);
    hf_buf_deinit(&place);
  }
  return digest;
}
