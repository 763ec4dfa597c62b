/* JSON Schema, compiled once into a flat program that is run over a scanned text without allocating.
 *
 * Drafts 2020-12 (also where `$schema` says nothing), 2019-09, 7, 6 and 4. A schema is immutable once compiled. Nothing
 * is ever loaded: `$ref` finds what is in the schema itself, in the resources that came with it, and the drafts' own
 * meta-schemas. Numbers are compared exactly, as the decimals they are spelt as. Every compilation and every run has an
 * end: programs, depth and steps are bounded. */
#ifndef HF_SCHEMA_SCHEMA_H
#define HF_SCHEMA_SCHEMA_H

#include "base/buf.h"
#include "base/error.h"
#include "json/value.h"

/* What can refuse a value. name, spelling */
#define HF_KEYWORD_LIST(X)                                                                                             \
  X(FALSE, "false") /* the schema `false` */                                                                           \
  X(TYPE, "type")                                                                                                      \
  X(ENUM, "enum")                                                                                                      \
  X(CONST, "const")                                                                                                    \
  X(MULTIPLE_OF, "multipleOf")                                                                                         \
  X(MAXIMUM, "maximum")                                                                                                \
  X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum")                                                                             \
  X(MINIMUM, "minimum")                                                                                                \
  X(EXCLUSIVE_MINIMUM, "exclusiveMinimum")                                                                             \
  X(MAX_LENGTH, "maxLength")                                                                                           \
  X(MIN_LENGTH, "minLength")                                                                                           \
  X(PATTERN, "pattern")                                                                                                \
  X(FORMAT, "format")                                                                                                  \
  X(MAX_ITEMS, "maxItems")                                                                                             \
  X(MIN_ITEMS, "minItems")                                                                                             \
  X(UNIQUE_ITEMS, "uniqueItems")                                                                                       \
  X(CONTAINS, "contains")                                                                                              \
  X(MAX_CONTAINS, "maxContains")                                                                                       \
  X(MIN_CONTAINS, "minContains")                                                                                       \
  X(ITEMS, "items")                                                                                                    \
  X(PREFIX_ITEMS, "prefixItems")                                                                                       \
  X(ADDITIONAL_ITEMS, "additionalItems")                                                                               \
  X(UNEVALUATED_ITEMS, "unevaluatedItems")                                                                             \
  X(MAX_PROPERTIES, "maxProperties")                                                                                   \
  X(MIN_PROPERTIES, "minProperties")                                                                                   \
  X(REQUIRED, "required")                                                                                              \
  X(PROPERTIES, "properties")                                                                                          \
  X(PATTERN_PROPERTIES, "patternProperties")                                                                           \
  X(ADDITIONAL_PROPERTIES, "additionalProperties")                                                                     \
  X(UNEVALUATED_PROPERTIES, "unevaluatedProperties")                                                                   \
  X(PROPERTY_NAMES, "propertyNames")                                                                                   \
  X(DEPENDENT_REQUIRED, "dependentRequired")                                                                           \
  X(DEPENDENT_SCHEMAS, "dependentSchemas")                                                                             \
  X(DEPENDENCIES, "dependencies")                                                                                      \
  X(ALL_OF, "allOf")                                                                                                   \
  X(ANY_OF, "anyOf")                                                                                                   \
  X(ONE_OF, "oneOf")                                                                                                   \
  X(NOT, "not")                                                                                                        \
  X(THEN, "then")                                                                                                      \
  X(ELSE, "else")

enum hf_keyword {
#define HF_KEYWORD_ENUM(name, text) HF_KEYWORD_##name,
  HF_KEYWORD_LIST(HF_KEYWORD_ENUM)
#undef HF_KEYWORD_ENUM
      HF_KEYWORD_COUNT
};

/* The constant spelling ("minLength"). */
const char *hf_keyword_name(enum hf_keyword keyword);

enum {
  HF_SCHEMA_BYTES_MAX = 1 << 19, /* of a schema's text */
  HF_SCHEMA_NODES_MAX = 1 << 15, /* of its program: what 5 ms allow, measured */
  HF_SCHEMA_DEPTH_MAX = 128,     /* of subschemas applied within one another while it runs, references included */
  HF_SCHEMA_STEPS_MAX = 1 << 18, /* of one run: what 5 ms allow, measured */
  HF_SCHEMA_ERRORS_MAX = 64,     /* that are collected */
};

/* A document that `$ref` may name. Borrowed during the compilation. */
struct hf_schema_resource {
  struct hf_str uri;
  struct hf_str text;
};

struct hf_schema_options {
  const struct hf_schema_resource *resources;
  size_t resource_count;
  bool assert_format; /* else `format` says nothing about what is valid */
  size_t max_bytes;
  uint32_t max_nodes;
};

#define HF_SCHEMA_OPTIONS_INIT                                                                                         \
  { .max_bytes = HF_SCHEMA_BYTES_MAX, .max_nodes = HF_SCHEMA_NODES_MAX }

struct hf_schema;

/* Compiles `text`, which is copied. Returns 0 and a schema, owned; HF_ERR_SYNTAX (no JSON), HF_ERR_INVALID (no schema:
 * `reterr` names the keyword and its JSON Pointer), HF_ERR_UNSUPPORTED (a draft, vocabulary or pattern that is not
 * known), HF_ERR_NOTFOUND (a reference to nothing), HF_ERR_LIMIT, HF_ERR_NOMEM. */
int hf_schema_compile(struct hf_str text, const struct hf_schema_options *options, struct hf_schema **ret_schema,
                      struct hf_error *reterr);
void hf_schema_free(struct hf_schema *schema); /* accepts NULL */

/* Bytes of memory that it takes. */
size_t hf_schema_size(const struct hf_schema *schema);

/* Its own document, as it was given: what the model's feedback shows. Borrowed. */
const struct hf_json_doc *hf_schema_doc(const struct hf_schema *schema);

/* Memory for runs of any schema, one at a time. Only some KiB are touched, except by what needs more. Returns owned, or
 * NULL. */
struct hf_schema_run;
struct hf_schema_run *hf_schema_run_new(void);
void hf_schema_run_free(struct hf_schema_run *run); /* accepts NULL */

/* Is the value valid? `doc` has nodes for everything in it, and no object in it says a member twice. Returns 0;
 * HF_ERR_INVALID; HF_ERR_LIMIT if the bounds of a run did not suffice to tell (then it is neither). Allocates nothing.
 */
int hf_schema_check(const struct hf_schema *schema, struct hf_schema_run *run, const struct hf_json_doc *doc,
                    uint32_t node);

/* Where a schema says something: a subschema (the node of an object or boolean) and the value of one of its keywords.
 */
struct hf_schema_place {
  const struct hf_json_doc *doc; /* of the resource that it is in */
  uint32_t schema;
  uint32_t keyword; /* HF_JSON_NONE for the schema `false` */
};

/* One reason why a value is not valid. */
struct hf_schema_error {
  enum hf_keyword keyword;
  struct hf_schema_place at;
  uint32_t value;        /* node of the value that does not fit: for a missing or superfluous member, the object */
  uint32_t key;          /* node of the member name that is one too many or not allowed, or HF_JSON_NONE */
  struct hf_str missing; /* the member that is required, as the schema spells it (raw, with its quotes), or absent */
  int parent;            /* the anyOf, oneOf, not, contains … that this error is a reason of, in the list; -1: none */
  uint32_t branch;       /* which of the parent's subschemas it is in */
  uint32_t path;         /* the way through the schema, references included: a JSON Pointer in `paths` */
  uint32_t path_len;
};

/* The reasons of one run, parents before what is in them. */
struct hf_schema_errors {
  struct hf_schema_error item[HF_SCHEMA_ERRORS_MAX];
  unsigned count;
  bool cut;            /* there were more, or the bounds did not suffice to find all */
  struct hf_buf paths; /* JSON Pointers, one after the other */
};

void hf_schema_errors_init(struct hf_schema_errors *errors);
void hf_schema_errors_deinit(struct hf_schema_errors *errors);

/* The same as hf_schema_check, slower, and fills `errors` (whatever is in there goes) if the value is invalid. Also
 * returns HF_ERR_NOMEM. */
int hf_schema_explain(const struct hf_schema *schema, struct hf_schema_run *run, const struct hf_json_doc *doc,
                      uint32_t node, struct hf_schema_errors *errors);

#endif
