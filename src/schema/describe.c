#include "schema/describe.h"

#include "base/printer.h"
#include "schema/equal.h"

/* Appends JSON on one line, cut behind `max` bytes; a string that is cut is closed. */
static void print_json(struct hf_printer *p, struct hf_str raw, size_t max) {
  bool in_string = false;
  size_t start = p->buf->len;
  for (size_t at = 0; at < raw.len;) {
    char c = raw.ptr[at];
    size_t len = c == '\\' ? (at + 1 < raw.len && raw.ptr[at + 1] == 'u' ? 6 : 2) : 1;
    while (at + len < raw.len && (raw.ptr[at + len] & 0xc0) == 0x80)
      len++;
    bool blank = !in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    bool last = at + len == raw.len;
    if (!blank && !last && p->buf->len - start + len > max) {
      hf_print(p, in_string ? "…\"" : "…");
      return;
    }
    if (!blank)
      hf_print_bytes(p, raw.ptr + at, len);
    in_string ^= c == '"';
    at += len;
  }
}

static void print_value(struct hf_printer *p, const struct hf_json_doc *doc, uint32_t node) {
  print_json(p, hf_json_span(doc, node), HF_DESCRIBE_VALUE_MAX);
}

static void print_got(struct hf_printer *p, const struct hf_json_doc *doc, uint32_t node) {
  hf_print(p, "; got ");
  print_value(p, doc, node);
}

/* `"a", "b"`: the values of an array, or the names of an object. */
static void print_choices(struct hf_printer *p, const struct hf_json_doc *doc, uint32_t container) {
  struct hf_json_iter iter = hf_json_iter(doc, container);
  uint32_t key = HF_JSON_NONE, value;
  size_t start = p->buf->len;
  for (bool first = true; hf_json_next(doc, &iter, &key, &value); first = false) {
    hf_print(p, first ? "" : ", ");
    if (p->buf->len - start >= HF_DESCRIBE_CHOICES_MAX) {
      hf_print(p, "…");
      return;
    }
    print_value(p, doc, iter.object ? key : value);
  }
}

static const char *type_phrase(const struct hf_json_doc *doc, uint32_t type) {
  static const struct {
    const char *name;
    const char *phrase;
  } types[] = {
      {"null", "null"},       {"boolean", "a boolean"}, {"object", "an object"},   {"array", "an array"},
      {"number", "a number"}, {"string", "a string"},   {"integer", "an integer"},
  };
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (hf_json_string_is(doc, type, hf_str_from(types[i].name)))
      return types[i].phrase;
  }
  return "something else";
}

/* Draft 4 has a list of types, or one, that may be whole schemas: then nothing is said of them. */
static void print_types(struct hf_printer *p, const struct hf_json_doc *doc, uint32_t types) {
  hf_print(p, "must be ");
  if (hf_json_type(doc, types) != HF_JSON_ARRAY) {
    hf_print(p, "%s", type_phrase(doc, types));
    return;
  }
  struct hf_json_iter iter = hf_json_iter(doc, types);
  uint32_t type;
  for (uint32_t i = 0; hf_json_next(doc, &iter, NULL, &type); i++) {
    hf_print(p, "%s%s", i == 0 ? "" : i + 1 == doc->nodes[types].count ? " or " : ", ", type_phrase(doc, type));
  }
}

static void print_got_typed(struct hf_printer *p, const struct hf_json_doc *doc, uint32_t node) {
  static const char *const names[] = {
      [HF_JSON_NULL] = "",
      [HF_JSON_FALSE] = "",
      [HF_JSON_TRUE] = "",
      [HF_JSON_NUMBER] = "the number ",
      [HF_JSON_STRING] = "the string ",
      [HF_JSON_ARRAY] = "the array ",
      [HF_JSON_OBJECT] = "the object ",
  };
  hf_print(p, "; got %s", names[hf_json_type(doc, node)]);
  print_value(p, doc, node);
}

/* In draft 4 a boolean beside a bound says that it is exclusive. */
static bool has_flag(const struct hf_schema_error *error, struct hf_str name) {
  uint32_t node;
  return hf_json_member(error->at.doc, error->at.schema, name, &node) == 0 &&
         hf_json_type(error->at.doc, node) == HF_JSON_TRUE;
}

static void print_count(struct hf_printer *p, const char *phrase, const char *noun, const struct hf_schema_error *error,
                        uint64_t count) {
  struct hf_str limit = hf_json_span(error->at.doc, error->at.keyword);
  bool one = hf_str_equal(limit, HF_STR("1"));
  hf_print(p, "must have %s %.*s %s%s; got %llu", phrase, HF_STR_FMT(limit), noun, one ? "" : "s",
           (unsigned long long)count);
}

static void print_length(struct hf_printer *p, const char *phrase, const struct hf_schema_error *error,
                         const struct hf_json_doc *value) {
  print_count(p, phrase, "character", error, hf_json_length(value, error->value));
  hf_print(p, ": ");
  print_value(p, value, error->value);
}

static void print_alternatives(struct hf_printer *p, const char *phrase, const struct hf_schema_error *error,
                               const struct hf_json_doc *value) {
  hf_print(p, "must fit %s of %u alternatives", phrase, error->at.doc->nodes[error->at.keyword].count);
  print_got(p, value, error->value);
}

static void print_superfluous(struct hf_printer *p, const struct hf_schema_error *error,
                              const struct hf_json_doc *value) {
  uint32_t properties;
  const struct hf_json_doc *doc = error->at.doc;
  hf_print(p, "must not have the member ");
  print_value(p, value, error->key);
  if (hf_json_member(doc, error->at.schema, HF_STR("properties"), &properties) == 0 &&
      doc->nodes[properties].count > 0) {
    hf_print(p, "; it may have ");
    print_choices(p, doc, properties);
  }
}

static void print_enum(struct hf_printer *p, const struct hf_schema_error *error, const struct hf_json_doc *value) {
  bool one = error->at.doc->nodes[error->at.keyword].count == 1;
  hf_print(p, one ? "must be " : "must be one of ");
  print_choices(p, error->at.doc, error->at.keyword);
  print_got(p, value, error->value);
}

/* "must be … <value of the keyword>; got …" */
static void print_relation(struct hf_printer *p, const char *phrase, const struct hf_schema_error *error,
                           const struct hf_json_doc *value) {
  hf_print(p, "must %s ", phrase);
  print_json(p, hf_json_span(error->at.doc, error->at.keyword), HF_DESCRIBE_CHOICES_MAX);
  print_got(p, value, error->value);
}

static void print_text(struct hf_printer *p, const char *text, const struct hf_schema_error *error,
                       const struct hf_json_doc *value) {
  hf_print(p, "%s", text);
  print_got(p, value, error->value);
}

/* What is wrong with members: those that are missing, or too many. */
static bool print_members(struct hf_printer *p, const struct hf_schema_error *error, const struct hf_json_doc *value) {
  switch ((int)error->keyword) {
  case HF_KEYWORD_REQUIRED:
  case HF_KEYWORD_DEPENDENT_REQUIRED:
  case HF_KEYWORD_DEPENDENCIES:
    if (!error->missing.ptr)
      return false;
    hf_print(p, "must have the member ");
    print_json(p, error->missing, HF_DESCRIBE_VALUE_MAX);
    hf_print(p, error->keyword == HF_KEYWORD_REQUIRED ? "" : ", which goes with another one");
    return true;
  case HF_KEYWORD_ADDITIONAL_PROPERTIES:
  case HF_KEYWORD_UNEVALUATED_PROPERTIES:
    if (error->key == HF_JSON_NONE)
      return false;
    print_superfluous(p, error, value);
    return true;
  case HF_KEYWORD_PROPERTY_NAMES:
    if (error->key == HF_JSON_NONE)
      return false;
    hf_print(p, "must not have a member called ");
    print_value(p, value, error->key);
    return true;
  default:
    return false;
  }
}

static bool print_counts(struct hf_printer *p, const struct hf_schema_error *error, const struct hf_json_doc *value) {
  uint32_t count = value->nodes[error->value].count;
  switch ((int)error->keyword) {
  case HF_KEYWORD_MAX_LENGTH:
    print_length(p, "at most", error, value);
    return true;
  case HF_KEYWORD_MIN_LENGTH:
    print_length(p, "at least", error, value);
    return true;
  case HF_KEYWORD_MAX_ITEMS:
    print_count(p, "at most", "item", error, count);
    return true;
  case HF_KEYWORD_MIN_ITEMS:
    print_count(p, "at least", "item", error, count);
    return true;
  case HF_KEYWORD_MAX_PROPERTIES:
    print_count(p, "at most", "member", error, count);
    return true;
  case HF_KEYWORD_MIN_PROPERTIES:
    print_count(p, "at least", "member", error, count);
    return true;
  default:
    return false;
  }
}

static bool print_bounds(struct hf_printer *p, const struct hf_schema_error *error, const struct hf_json_doc *value) {
  switch ((int)error->keyword) {
  case HF_KEYWORD_MULTIPLE_OF:
    print_relation(p, "be a multiple of", error, value);
    return true;
  case HF_KEYWORD_MAXIMUM:
    print_relation(p, has_flag(error, HF_STR("exclusiveMaximum")) ? "be less than" : "be at most", error, value);
    return true;
  case HF_KEYWORD_EXCLUSIVE_MAXIMUM:
    print_relation(p, "be less than", error, value);
    return true;
  case HF_KEYWORD_MINIMUM:
    print_relation(p, has_flag(error, HF_STR("exclusiveMinimum")) ? "be more than" : "be at least", error, value);
    return true;
  case HF_KEYWORD_EXCLUSIVE_MINIMUM:
    print_relation(p, "be more than", error, value);
    return true;
  default:
    return false;
  }
}

static void print_rest(struct hf_printer *p, const struct hf_schema_error *error, const struct hf_json_doc *value) {
  switch ((int)error->keyword) {
  case HF_KEYWORD_FALSE:
    print_text(p, "must not be there: nothing is allowed here", error, value);
    break;
  case HF_KEYWORD_TYPE:
    print_types(p, error->at.doc, error->at.keyword);
    print_got_typed(p, value, error->value);
    break;
  case HF_KEYWORD_ENUM:
    print_enum(p, error, value);
    break;
  case HF_KEYWORD_CONST:
    print_relation(p, "be", error, value);
    break;
  case HF_KEYWORD_PATTERN:
    print_relation(p, "match the pattern", error, value);
    break;
  case HF_KEYWORD_FORMAT:
    print_relation(p, "have the format", error, value);
    break;
  case HF_KEYWORD_UNIQUE_ITEMS:
    print_text(p, "must not have two equal items", error, value);
    break;
  case HF_KEYWORD_CONTAINS:
    print_text(p, "must have an item that fits the schema of \"contains\"", error, value);
    break;
  case HF_KEYWORD_MIN_CONTAINS:
  case HF_KEYWORD_MAX_CONTAINS:
    print_relation(p,
                   error->keyword == HF_KEYWORD_MIN_CONTAINS
                       ? "have items that fit the schema of \"contains\", in number at least"
                       : "have items that fit the schema of \"contains\", in number at most",
                   error, value);
    break;
  case HF_KEYWORD_ITEMS:
  case HF_KEYWORD_ADDITIONAL_ITEMS:
  case HF_KEYWORD_UNEVALUATED_ITEMS:
    print_text(p, "must not be there: it is an item too many", error, value);
    break;
  case HF_KEYWORD_ANY_OF:
    print_alternatives(p, "at least one", error, value);
    break;
  case HF_KEYWORD_ONE_OF:
    print_alternatives(p, "exactly one", error, value);
    break;
  case HF_KEYWORD_NOT:
    print_text(p, "must not be what \"not\" describes", error, value);
    break;
  default:
    hf_print(p, "must fit \"%s\"", hf_keyword_name(error->keyword));
    print_got(p, value, error->value);
    break;
  }
}

int hf_schema_describe(const struct hf_schema_error *error, const struct hf_json_doc *value, struct hf_buf *out) {
  struct hf_printer printer = {.buf = out};
  if (!print_members(&printer, error, value) && !print_counts(&printer, error, value) &&
      !print_bounds(&printer, error, value))
    print_rest(&printer, error, value);
  return printer.error;
}
