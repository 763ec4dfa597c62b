#include "schema/remedy.h"

#include "schema/loose.h"
#include "json/number.h"
#include "json/write.h"

#include <stdio.h>
#include <stdlib.h>

enum {
  NUMBER_MAX = 40,    /* bytes of a number that is read from a text */
  DOUBLE_DIGITS = 17, /* that tell one double from all others */
  /* How a text within a value may differ from JSON. A value among words is something that is said about the value. */
  LENIENT = HF_LOOSE_FENCE | HF_LOOSE_QUOTES | HF_LOOSE_PYTHON | HF_LOOSE_TRAILING_COMMA | HF_LOOSE_COMMENT |
            HF_LOOSE_BARE_KEY | HF_LOOSE_ENCODED_TWICE | HF_LOOSE_CONTROL | HF_LOOSE_NUMBER,
  INTEGER_BIT = 1 << 7, /* beside a bit per enum hf_json_type */
  READ_STEP_BYTES = 8,  /* of a text that is read in one step */
  SPLIT_STEP_BYTES = 4, /* … or split in parts */
};

/* The error that is looked at, and its value. */
struct look {
  const struct hf_unfit *unfit;
  const struct hf_schema_error *error;
  struct hf_remedies *out;
  struct hf_str text; /* of a string, unescaped */
};

void hf_remedies_add(struct hf_remedies *remedies, const struct hf_remedy *remedy) {
  for (unsigned i = 0; i < remedies->count; i++) {
    const struct hf_remedy *other = &remedies->item[i];
    if (other->start == remedy->start && other->end == remedy->end && hf_str_equal(other->put, remedy->put))
      return;
  }
  if (remedies->count < HF_REMEDIES_MAX)
    remedies->item[remedies->count++] = *remedy;
  else
    remedies->more = true;
}

static void spend(const struct hf_unfit *unfit, size_t steps) {
  *unfit->left -= steps < *unfit->left ? (uint32_t)steps : *unfit->left;
}

static int lower(int c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* "-1" is not "1" in another spelling. */
static bool separates(struct hf_str name, size_t at) {
  return name.ptr[at] == '_' || name.ptr[at] == ' ' || (name.ptr[at] == '-' && at > 0);
}

bool hf_member_names_fold(struct hf_str a, struct hf_str b) {
  size_t i = 0, j = 0, same = 0;
  for (;;) {
    while (i < a.len && separates(a, i))
      i++;
    while (j < b.len && separates(b, j))
      j++;
    if (i == a.len || j == b.len)
      return i == a.len && j == b.len && same > 0;
    if (lower((unsigned char)a.ptr[i++]) != lower((unsigned char)b.ptr[j++]))
      return false;
    same++;
  }
}

/* Counts the members of `object` whose name is `name`, and names the last of them. */
static unsigned count_named(const struct hf_json_doc *doc, uint32_t object, struct hf_str name, bool fold,
                            struct hf_arena *arena, uint32_t *ret_key) {
  unsigned count = 0;
  uint32_t key, value;
  struct hf_json_iter iter = hf_json_iter(doc, object);
  while (hf_json_next(doc, &iter, &key, &value)) {
    struct hf_str text;
    bool same = hf_json_string_is(doc, key, name);
    if (!same && fold) /* what cannot be read could be it */
      same = hf_json_string(doc, key, arena, &text) < 0 || hf_member_names_fold(text, name);
    if (same) {
      count++;
      *ret_key = key;
    }
  }
  return count;
}

unsigned hf_schema_declares(const struct hf_json_doc *schema, struct hf_str name, bool fold, struct hf_arena *arena) {
  unsigned count = 0;
  uint32_t key;
  for (uint32_t i = 1; i + 1 < schema->count; i++)
    if (hf_json_type(schema, i + 1) == HF_JSON_OBJECT && hf_json_type(schema, i) == HF_JSON_STRING &&
        hf_json_string_is(schema, i, HF_STR("properties")))
      count += count_named(schema, i + 1, name, fold, arena, &key);
  return count;
}

/* The object or array that a node is in, or HF_JSON_NONE's for the root: ask for others only. */
static uint32_t parent_of(const struct hf_json_doc *doc, uint32_t node) {
  uint32_t parent = node;
  do
    parent--;
  while (doc->nodes[parent].next <= node || hf_json_type(doc, parent) < HF_JSON_ARRAY);
  return parent;
}

static bool is_member(const struct hf_json_doc *doc, uint32_t node) {
  return node != 0 && hf_json_type(doc, parent_of(doc, node)) == HF_JSON_OBJECT;
}

/* Something in place of the value. */
static struct hf_remedy replacement(const struct look *look, enum hf_repair_kind kind, struct hf_str put) {
  const struct hf_json_node *node = &look->unfit->doc->nodes[look->error->value];
  return (struct hf_remedy){.kind = kind,
                            .node = look->error->value,
                            .start = node->start,
                            .end = node->end,
                            .put = put,
                            .from = hf_json_span(look->unfit->doc, look->error->value),
                            .to = put};
}

static void replace(const struct look *look, enum hf_repair_kind kind, struct hf_str put) {
  const struct hf_remedy remedy = replacement(look, kind, put);
  hf_remedies_add(look->out, &remedy);
}

/* Is the number one that doubles have, so that no reader of JSON loses a digit of it? */
static bool is_exact(struct hf_str text) {
  struct hf_decimal number, again;
  char digits[NUMBER_MAX + 1], printed[NUMBER_MAX + 1];
  if (text.len > NUMBER_MAX || hf_decimal_read(text, &number) < 0 || number.count > DOUBLE_DIGITS)
    return false;
  memcpy(digits, text.ptr, text.len);
  digits[text.len] = '\0';
  int len =
      snprintf(printed, sizeof printed, "%.*e", number.count > 0 ? (int)number.count - 1 : 0, strtod(digits, NULL));
  int order;
  return len > 0 && (size_t)len < sizeof printed &&
         hf_decimal_read((struct hf_str){printed, (size_t)len}, &again) == 0 &&
         hf_decimal_compare(&number, &again, &order) == 0 && order == 0;
}

/* `integer`: spelt as one, if it is one, for readers that know no other spelling. */
static int read_number(const struct look *look, bool integer) {
  if (!is_exact(look->text))
    return 0;
  struct hf_str put = look->text;
  int64_t value;
  if (integer && hf_json_int64(put, &value) == 0)
    put = hf_arena_printf(look->unfit->arena, "%lld", (long long)value);
  if (!put.ptr)
    return HF_ERR_NOMEM;
  replace(look, HF_REPAIR_NUMBER, put);
  return 0;
}

static void read_boolean(const struct look *look) {
  if (hf_str_equal(look->text, HF_STR("true")) || hf_str_equal(look->text, HF_STR("True")))
    replace(look, HF_REPAIR_BOOLEAN, HF_STR("true"));
  else if (hf_str_equal(look->text, HF_STR("false")) || hf_str_equal(look->text, HF_STR("False")))
    replace(look, HF_REPAIR_BOOLEAN, HF_STR("false"));
}

static struct hf_str take(struct hf_buf *buf, struct hf_arena *arena) {
  struct hf_str copy = hf_arena_copy(arena, hf_buf_str(buf));
  hf_buf_deinit(buf);
  return copy;
}

/* The object or array in a string. Returns 1 if there is one, also if it is not the one that is wanted. */
static int read_container(const struct look *look, unsigned wanted) {
  struct hf_buf value;
  hf_buf_init(&value, 2 * look->text.len + 64);
  unsigned how;
  spend(look->unfit, look->text.len / READ_STEP_BYTES);
  int r = hf_loose_read(look->text, &value, &how, NULL);
  bool found = r == 0 && (value.data[0] == '{' || value.data[0] == '[');
  unsigned bit = found ? 1U << (value.data[0] == '{' ? HF_JSON_OBJECT : HF_JSON_ARRAY) : 0;
  struct hf_str put = take(&value, look->unfit->arena);
  if (!put.ptr || r == HF_ERR_NOMEM)
    return HF_ERR_NOMEM;
  if (wanted & bit && (how & ~(unsigned)LENIENT) == 0) {
    struct hf_remedy remedy = replacement(look, look->error->value == 0 ? HF_REPAIR_UNWRAPPED : HF_REPAIR_PARSED, put);
    remedy.lenient = how != 0;
    hf_remedies_add(look->out, &remedy);
  }
  return found;
}

/* What lists in a text are separated by: split at one row, a part of one keeps what is in the others. */
enum { SEPARATORS = 5, SPELLINGS = 6 };
static const char *const separators[SEPARATORS][SPELLINGS] = {
    {",", "\uff0c", "\u3001", "\u060c"}, /* full-width, ideographic, Arabic */
    {";", "\uff1b", "\u061b"},
    {"|", "\uff5c"},
    {"\n", "\\n"}, /* a line end, and one that was escaped twice */
    {" ", "\t", "\n", "\r", "\u00a0", "\u3000"},
};

/* The length of the separator that `text` starts with, or 0. */
static size_t separator_length(struct hf_str text, const char *const *spellings) {
  for (size_t i = 0; i < SPELLINGS && spellings[i]; i++)
    if (text.len > 0 && *text.ptr == *spellings[i] && hf_str_starts(text, hf_str_from(spellings[i])))
      return strlen(spellings[i]);
  return 0;
}

/* Splits the text. Returns its longest part, or an absent one if there is only one. */
static struct hf_str longest_part(struct hf_str text, const char *const *spellings) {
  struct hf_str longest = {NULL, 0};
  unsigned parts = 0;
  size_t start = 0;
  for (size_t at = 0; at <= text.len;) {
    struct hf_str rest = {text.ptr + at, text.len - at};
    size_t passed = separator_length(rest, spellings);
    if (passed > 0 || rest.len == 0) {
      struct hf_str part = hf_str_trim((struct hf_str){text.ptr + start, at - start});
      parts += part.len > 0;
      longest = part.len > longest.len ? part : longest;
      start = at + passed;
    }
    at += passed > 0 ? passed : 1;
  }
  return parts > 1 ? longest : (struct hf_str){NULL, 0};
}

/* How else a list in one text may be meant: if a part of it could be an element, the whole is none for certain. One
 * part is enough, and fits however many are allowed. */
static int add_decoy(const struct look *look, const char *const *spellings) {
  spend(look->unfit, look->text.len / SPLIT_STEP_BYTES);
  struct hf_str part = longest_part(look->text, spellings);
  if (!part.ptr)
    return 0;
  struct hf_buf list;
  hf_buf_init(&list, 6 * part.len + 64);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &list);
  hf_json_write_array(&w);
  hf_json_write_str(&w, part);
  hf_json_write_array_end(&w);
  int r = hf_json_write_finish(&w);
  struct hf_str put = take(&list, look->unfit->arena);
  if (r < 0 || !put.ptr)
    return HF_ERR_NOMEM;
  struct hf_remedy remedy = replacement(look, HF_REPAIR_WRAPPED, put);
  remedy.decoy = true;
  hf_remedies_add(look->out, &remedy);
  return 0;
}

/* A text that starts like a value, or that says that there is none, is no element, and a very long one is not looked
 * through. */
static bool is_element(struct hf_str text) {
  struct hf_str trimmed = hf_str_trim(text);
  return trimmed.len > 0 && text.len <= HF_REPAIR_ELEMENT_MAX && !strchr("[{(<`\"'", trimmed.ptr[0]) &&
         !hf_str_equal_nocase(trimmed, HF_STR("null")) && !hf_str_equal_nocase(trimmed, HF_STR("none")) &&
         !hf_str_equal_nocase(trimmed, HF_STR("undefined"));
}

static int wrap(const struct look *look) {
  const struct hf_json_doc *doc = look->unfit->doc;
  bool string = hf_json_type(doc, look->error->value) == HF_JSON_STRING;
  if (!is_member(doc, look->error->value) || (string && !is_element(look->text)))
    return 0;
  struct hf_str put = hf_arena_printf(look->unfit->arena, "[%.*s]", HF_STR_FMT(hf_json_span(doc, look->error->value)));
  if (!put.ptr)
    return HF_ERR_NOMEM;
  replace(look, HF_REPAIR_WRAPPED, put);
  int r = 0;
  for (size_t i = 0; string && r == 0 && i < SEPARATORS; i++)
    r = add_decoy(look, separators[i]);
  return r;
}

/* 1.0 where an integer must be spelt without a fraction. */
static int spell_integer(const struct look *look) {
  int64_t value;
  if (hf_json_int64(hf_json_span(look->unfit->doc, look->error->value), &value) < 0)
    return 0;
  struct hf_str put = hf_arena_printf(look->unfit->arena, "%lld", (long long)value);
  if (!put.ptr)
    return HF_ERR_NOMEM;
  if (!hf_str_equal(put, hf_json_span(look->unfit->doc, look->error->value)))
    replace(look, HF_REPAIR_INTEGER, put);
  return 0;
}

static unsigned type_bit(const struct hf_json_doc *doc, uint32_t node) {
  static const struct {
    struct hf_str name;
    unsigned bit;
  } types[] = {
      {{"object", 6}, 1U << HF_JSON_OBJECT}, {{"array", 5}, 1U << HF_JSON_ARRAY},
      {{"number", 6}, 1U << HF_JSON_NUMBER}, {{"integer", 7}, INTEGER_BIT},
      {{"boolean", 7}, 1U << HF_JSON_TRUE},
  };
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (hf_json_type(doc, node) == HF_JSON_STRING && hf_json_string_is(doc, node, types[i].name))
      return types[i].bit;
  return 0;
}

static unsigned wanted_types(const struct hf_schema_place *at) {
  if (hf_json_type(at->doc, at->keyword) != HF_JSON_ARRAY)
    return type_bit(at->doc, at->keyword);
  unsigned bits = 0;
  uint32_t node;
  struct hf_json_iter iter = hf_json_iter(at->doc, at->keyword);
  while (hf_json_next(at->doc, &iter, NULL, &node))
    bits |= type_bit(at->doc, node);
  return bits;
}

static int mend_string(const struct look *look, unsigned wanted) {
  int r = 0;
  if (wanted & (INTEGER_BIT | 1U << HF_JSON_NUMBER))
    r = read_number(look, !(wanted & 1U << HF_JSON_NUMBER));
  if (wanted & 1U << HF_JSON_TRUE)
    read_boolean(look);
  if (r == 0 && wanted & (1U << HF_JSON_OBJECT | 1U << HF_JSON_ARRAY))
    r = read_container(look, wanted);
  return r == 0 && (wanted & 1U << HF_JSON_ARRAY) ? wrap(look) : r < 0 ? r : 0;
}

static int mend_type(const struct look *look) {
  unsigned wanted = wanted_types(&look->error->at);
  enum hf_json_type type = hf_json_type(look->unfit->doc, look->error->value);
  if (type == HF_JSON_STRING)
    return mend_string(look, wanted);
  int r = 0;
  if (type == HF_JSON_NUMBER && (wanted & INTEGER_BIT))
    r = spell_integer(look);
  bool scalar = type == HF_JSON_NUMBER || type == HF_JSON_TRUE || type == HF_JSON_FALSE;
  return r == 0 && scalar && (wanted & 1U << HF_JSON_ARRAY) ? wrap(look) : r;
}

/* The values that are allowed, and which of them differ from the text only in case. */
struct choices {
  const struct hf_json_doc *doc;
  bool number, boolean; /* is there one? */
  struct hf_str put;
  unsigned count;
};

static void look_at_choice(const struct look *look, struct choices *choices, uint32_t choice) {
  enum hf_json_type type = hf_json_type(choices->doc, choice);
  struct hf_str text;
  choices->number = choices->number || type == HF_JSON_NUMBER;
  choices->boolean = choices->boolean || type == HF_JSON_TRUE || type == HF_JSON_FALSE;
  if (type != HF_JSON_STRING)
    return;
  int r = hf_json_string(choices->doc, choice, look->unfit->arena, &text);
  if (r == 0 && !hf_str_equal_nocase(text, look->text))
    return;
  choices->count += r < 0 ? 2 : 1; /* what cannot be read could be it */
  choices->put = hf_json_span(choices->doc, choice);
}

static int mend_enum(const struct look *look) {
  const struct hf_schema_place *at = &look->error->at;
  if (hf_json_type(look->unfit->doc, look->error->value) != HF_JSON_STRING)
    return 0;
  struct choices choices = {.doc = at->doc};
  spend(look->unfit, at->doc->nodes[at->keyword].count);
  uint32_t choice;
  struct hf_json_iter iter = hf_json_iter(at->doc, at->keyword);
  if (look->error->keyword == HF_KEYWORD_CONST)
    look_at_choice(look, &choices, at->keyword);
  else
    while (hf_json_next(at->doc, &iter, NULL, &choice))
      look_at_choice(look, &choices, choice);
  if (choices.count == 1)
    replace(look, HF_REPAIR_ENUM_CASE, choices.put);
  if (choices.boolean)
    read_boolean(look);
  return choices.number ? read_number(look, true) : 0;
}

static void rename_key(const struct look *look, uint32_t key, struct hf_str put) {
  const struct hf_json_node *node = &look->unfit->doc->nodes[key];
  hf_remedies_add(look->out, &(struct hf_remedy){.kind = HF_REPAIR_RENAMED,
                                                 .node = look->error->value,
                                                 .start = node->start,
                                                 .end = node->end,
                                                 .put = put,
                                                 .from = hf_json_span(look->unfit->doc, key),
                                                 .to = put});
}

static bool member_of(const struct look *look, const char *keyword, uint32_t *ret_node) {
  const struct hf_schema_place *at = &look->error->at;
  return hf_json_type(at->doc, at->schema) == HF_JSON_OBJECT &&
         hf_json_member(at->doc, at->schema, hf_str_from(keyword), ret_node) == 0 &&
         hf_json_type(at->doc, *ret_node) == HF_JSON_OBJECT;
}

/* Renames the one member that is called `name` but for its spelling, unless the schema has a property that is spelt
 * like it, or another one that it could be. */
static void rename_to(const struct look *look, struct hf_str name, struct hf_str put) {
  const struct hf_unfit *m = look->unfit;
  struct hf_str said;
  uint32_t key = HF_JSON_NONE, properties, other;
  spend(m, m->doc->nodes[look->error->value].count);
  if (hf_json_type(m->doc, look->error->value) != HF_JSON_OBJECT ||
      count_named(m->doc, look->error->value, name, true, m->arena, &key) != 1 ||
      hf_json_string(m->doc, key, m->arena, &said) < 0 || hf_str_equal(said, name) ||
      hf_schema_declares(look->error->at.doc, said, false, m->arena) > 0)
    return;
  spend(m, look->error->at.doc->count);
  if (member_of(look, "properties", &properties) &&
      count_named(look->error->at.doc, properties, name, true, m->arena, &other) > 1)
    return;
  rename_key(look, key, put);
}

static int mend_missing(const struct look *look) {
  struct hf_buf name;
  hf_buf_init(&name, look->error->missing.len + 1);
  int r = hf_json_unescape(look->error->missing, &name);
  struct hf_str text = take(&name, look->unfit->arena);
  if (r < 0 || !text.ptr)
    return HF_ERR_NOMEM;
  rename_to(look, text, look->error->missing);
  return 0;
}

/* A name that is not allowed may be another spelling of one that is. */
static int mend_key(const struct look *look) {
  const struct hf_unfit *m = look->unfit;
  struct hf_str said, name;
  uint32_t properties, target;
  int r = hf_json_string(m->doc, look->error->key, m->arena, &said);
  if (r < 0 || !member_of(look, "properties", &properties))
    return r;
  spend(m, look->error->at.doc->nodes[properties].count);
  if (count_named(look->error->at.doc, properties, said, true, m->arena, &target) == 1)
    r = hf_json_string(look->error->at.doc, target, m->arena, &name);
  else
    return 0;
  if (r == 0)
    rename_to(look, name, hf_json_span(look->error->at.doc, target));
  return r;
}

/* Does a way through a schema, behind a property, go to a value within that of the property? */
static bool goes_within(struct hf_str way) {
  static const char *const steps[] = {
      "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames",
      "items",      "prefixItems",       "additionalItems",      "unevaluatedItems",      "contains",
  };
  while (way.len > 0) {
    const char *slash = memchr(way.ptr, '/', way.len);
    struct hf_str token = {way.ptr, slash ? (size_t)(slash - way.ptr) : way.len};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
      if (hf_str_equal(token, hf_str_from(steps[i])))
        return true;
    size_t passed = token.len + (slash != NULL);
    way = (struct hf_str){way.ptr + passed, way.len - passed};
  }
  return false;
}

/* Does a way name a property in its last step to a value? `property` is "/properties/name/". */
static bool ends_at(struct hf_str way, struct hf_str property) {
  const char *found = NULL, *end = way.ptr + way.len;
  for (const char *at = way.ptr; at && (at = memmem(at, (size_t)(end - at), property.ptr, property.len)); at++)
    found = at + property.len;
  return found && !goes_within((struct hf_str){found, (size_t)(end - found)});
}

/* Is the value that of a property which the schema names? Then its way through the schema says so. */
static bool is_declared(const struct look *look, uint32_t key) {
  const struct hf_schema_error *error = look->error;
  struct hf_str path = {look->unfit->errors->paths.data + error->path, error->path_len}, name;
  if (hf_json_string(look->unfit->doc, key, look->unfit->arena, &name) < 0)
    return false;
  struct hf_buf needle;
  hf_buf_init(&needle, 2 * name.len + 32);
  int r = hf_buf_append_str(&needle, HF_STR("/properties/"));
  for (size_t i = 0; r == 0 && i < name.len; i++)
    r = name.ptr[i] == '~'   ? hf_buf_append(&needle, "~0", 2)
        : name.ptr[i] == '/' ? hf_buf_append(&needle, "~1", 2)
                             : hf_buf_append(&needle, name.ptr + i, 1);
  if (r == 0)
    r = hf_buf_append(&needle, "/", 1);
  bool found = r == 0 && path.len > 0 && ends_at(path, hf_buf_str(&needle));
  hf_buf_deinit(&needle);
  return found;
}

/* What is cut out so that the member goes with one of its commas. */
static void drop_null(const struct look *look) {
  const struct hf_json_doc *doc = look->unfit->doc;
  uint32_t value = look->error->value;
  if (!is_member(doc, value) || !is_declared(look, value - 1))
    return;
  uint32_t parent = parent_of(doc, value), next = doc->nodes[value].next, key = value - 1;
  uint32_t start = doc->nodes[key].start, end = doc->nodes[value].end;
  if (next < doc->nodes[parent].next) {
    end = doc->nodes[next].start;
  } else if (doc->nodes[parent].count > 1) {
    while (doc->base[start] != ',')
      start--;
  }
  hf_remedies_add(look->out, &(struct hf_remedy){.kind = HF_REPAIR_DROPPED_NULL,
                                                 .node = value,
                                                 .start = start,
                                                 .end = end,
                                                 .put = HF_STR(""),
                                                 .from = hf_json_span(doc, value)});
}

/* No arguments at all, for a tool that needs none. */
static void mend_nothing(const struct look *look) {
  const struct hf_unfit *m = look->unfit;
  uint32_t properties;
  if (hf_json_type(m->doc, 0) == HF_JSON_NULL)
    replace(look, HF_REPAIR_DROPPED_NULL, HF_STR("{}"));
  else if (look->text.ptr && look->text.len == 0 &&
           (!member_of(look, "properties", &properties) || look->error->at.doc->nodes[properties].count == 0))
    replace(look, HF_REPAIR_UNWRAPPED, HF_STR("{}"));
}

static int mend_one(const struct look *look) {
  const struct hf_schema_error *error = look->error;
  if (error->value == 0 && error->keyword == HF_KEYWORD_TYPE)
    mend_nothing(look);
  if (hf_json_type(look->unfit->doc, error->value) == HF_JSON_NULL) {
    drop_null(look);
    return 0;
  }
  if (error->key != HF_JSON_NONE)
    return mend_key(look);
  if (error->missing.ptr)
    return mend_missing(look);
  if (error->keyword == HF_KEYWORD_TYPE)
    return mend_type(look);
  if (error->keyword == HF_KEYWORD_ENUM || error->keyword == HF_KEYWORD_CONST)
    return mend_enum(look);
  return 0;
}

static int find(const struct hf_unfit *unfit, unsigned index, struct hf_remedies *out);

/* The remedies of a branch of an alternative: those of the error in it that has the fewest, for all of them have to go.
 */
static int find_branch(const struct hf_unfit *unfit, unsigned parent, uint32_t branch, struct hf_remedies *out) {
  struct hf_remedies fewest = {.count = HF_REMEDIES_MAX + 1};
  for (unsigned i = parent + 1; i < unfit->errors->count; i++) {
    const struct hf_schema_error *error = &unfit->errors->item[i];
    if (error->parent != (int)parent || error->branch != branch)
      continue;
    struct hf_remedies some = {.count = 0};
    int r = find(unfit, i, &some);
    if (r < 0)
      return r;
    if (some.count < fewest.count)
      fewest = some;
  }
  for (unsigned i = 0; fewest.count <= HF_REMEDIES_MAX && i < fewest.count; i++)
    hf_remedies_add(out, &fewest.item[i]);
  out->more = out->more || fewest.more;
  return 0;
}

/* Did the list of errors end among those of this one, so that not all of its branches are known? */
static bool is_cut(const struct hf_unfit *unfit, unsigned parent) {
  int last = (int)unfit->errors->count - 1;
  while (last > (int)parent)
    last = unfit->errors->item[last].parent;
  return unfit->errors->cut && last == (int)parent;
}

static int find_branches(const struct hf_unfit *unfit, unsigned parent, struct hf_remedies *out) {
  if (is_cut(unfit, parent))
    return 0;
  uint32_t seen = 0; /* branches before this one are done: errors come branch by branch */
  int r = 0;
  for (unsigned i = parent + 1; r == 0 && i < unfit->errors->count; i++) {
    const struct hf_schema_error *error = &unfit->errors->item[i];
    if (error->parent != (int)parent || error->branch < seen)
      continue;
    r = find_branch(unfit, parent, error->branch, out);
    seen = error->branch + 1;
  }
  return r;
}

static int find(const struct hf_unfit *unfit, unsigned index, struct hf_remedies *out) {
  const struct hf_schema_error *error = &unfit->errors->item[index];
  if (*unfit->left == 0)
    return HF_ERR_LIMIT;
  spend(unfit, 1);
  if (error->keyword == HF_KEYWORD_ANY_OF || error->keyword == HF_KEYWORD_ONE_OF)
    return find_branches(unfit, index, out);
  struct look look = {.unfit = unfit, .error = error, .out = out};
  if (hf_json_type(unfit->doc, error->value) == HF_JSON_STRING &&
      hf_json_string(unfit->doc, error->value, unfit->arena, &look.text) < 0)
    return HF_ERR_NOMEM;
  return mend_one(&look);
}

int hf_remedies_find(const struct hf_unfit *unfit, unsigned error, struct hf_remedies *ret_remedies) {
  *ret_remedies = (struct hf_remedies){.count = 0};
  return find(unfit, error, ret_remedies);
}
