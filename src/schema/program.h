/* The program that a schema is compiled to: arrays that name each other by index, and the documents whose texts and
 * nodes they point into. Immutable once compiled. */
#ifndef HF_SCHEMA_PROGRAM_H
#define HF_SCHEMA_PROGRAM_H

#include "base/arena.h"
#include "schema/format.h"
#include "schema/names.h"
#include "schema/pattern.h"
#include "schema/schema.h"
#include "schema/vec.h"
#include "json/number.h"

/* Types that a subschema allows: a bit per enum hf_json_type, and one for integers only. */
enum { HF_TYPE_INTEGER = 1 << 7, HF_TYPE_ANY = 0x7f };

static inline uint8_t hf_type_bit(enum hf_json_type type) {
  return (uint8_t)(1U << type);
}

enum hf_sub_flag {
  HF_SUB_FALSE = 1,       /* the schema `false` */
  HF_SUB_UNEVALUATED = 2, /* needs to know what others have looked at */
  HF_SUB_STRICT = 4,      /* draft 4: 1.0 is no integer */
};

/* A subschema. */
struct hf_sub {
  uint32_t node;
  uint16_t doc; /* index of its document */
  uint8_t types;
  uint8_t flags;
  uint32_t type_node; /* the value of `type` */
  uint32_t scope;     /* index of the resource that it is in */
  uint32_t first_op;
  uint32_t op_count;
};

enum hf_op_code {
  HF_OP_ENUM,        /* a: of `enums` */
  HF_OP_MULTIPLE_OF, /* a: of `numbers`, also the next four */
  HF_OP_MAXIMUM,
  HF_OP_EXCLUSIVE_MAXIMUM,
  HF_OP_MINIMUM,
  HF_OP_EXCLUSIVE_MINIMUM,
  HF_OP_MAX_LENGTH, /* a: how many, also the next five */
  HF_OP_MIN_LENGTH,
  HF_OP_MAX_ITEMS,
  HF_OP_MIN_ITEMS,
  HF_OP_MAX_PROPERTIES,
  HF_OP_MIN_PROPERTIES,
  HF_OP_PATTERN,        /* a: of `regexes` */
  HF_OP_FORMAT,         /* a: of `formats` */
  HF_OP_OBJECT,         /* a: of `objects` */
  HF_OP_PROPERTY_NAMES, /* a: subschema */
  HF_OP_DEPENDENT,      /* a: first of `dependents`, b: how many */
  HF_OP_PREFIX,         /* a: first of `list`, b: how many */
  HF_OP_ITEMS,          /* a: subschema, b: of items from this one on */
  HF_OP_CONTAINS,       /* a: of `contains` */
  HF_OP_UNIQUE_ITEMS,
  HF_OP_REF,         /* a: subschema */
  HF_OP_DYNAMIC_REF, /* a: subschema, b: name of the anchor */
  HF_OP_ALL_OF,      /* a: first of `list`, b: how many; also the next two */
  HF_OP_ANY_OF,
  HF_OP_ONE_OF,
  HF_OP_NOT,                    /* a: subschema */
  HF_OP_IF,                     /* a: first of `list`, which has if, then, else: HF_NONE if absent */
  HF_OP_UNEVALUATED_ITEMS,      /* a: subschema */
  HF_OP_UNEVALUATED_PROPERTIES, /* a: subschema */
  HF_OP_COUNT
};

struct hf_op {
  uint8_t code;
  uint8_t types;   /* of values that it says something about */
  uint8_t keyword; /* enum hf_keyword, what errors call it */
  uint32_t node;   /* the value of the keyword */
  uint32_t a, b;
};

struct hf_number {
  struct hf_decimal value;
  struct hf_str raw;
  int64_t small; /* the same, if `is_small` */
  bool is_small;
};

struct hf_enum {
  struct hf_member_table strings;
  uint32_t node; /* of the array, or of the one value */
  uint8_t types; /* of all that is in it */
  bool single;   /* `const` */
};

struct hf_pattern_sub {
  uint32_t regex;
  uint32_t sub;
};

/* What is said about the members of an object, in one walk over them. */
struct hf_object {
  struct hf_member_table names; /* of `properties` and `required`; the value is a subschema */
  uint32_t first_pattern;
  uint32_t pattern_count;
  uint32_t additional; /* subschema, or HF_NONE */
  uint32_t required_count;
  uint32_t required_node;
  uint32_t additional_node;
};

struct hf_dependent {
  struct hf_str name;
  uint32_t sub;  /* HF_NONE: `list` is what is required */
  uint32_t list; /* node of an array of strings */
};

struct hf_contains {
  uint32_t sub;
  uint32_t min, max;
  uint32_t min_node, max_node;
  bool evaluates; /* 2020-12: what fits is evaluated */
};

struct hf_dynamic {
  uint32_t name; /* of the anchor */
  uint32_t sub;
};

/* A resource, as dynamic references see it. */
struct hf_scope {
  uint32_t first_dynamic;
  uint32_t dynamic_count;
};

struct hf_schema {
  struct hf_arena arena; /* texts that aren't in a document as they are meant */
  struct hf_member_names names;
  HF_VEC(struct hf_document *) docs; /* owned; the schema itself is the first */
  HF_VEC(struct hf_sub) subs;        /* the root is the first */
  HF_VEC(struct hf_op) ops;
  HF_VEC(uint32_t) list; /* of subschemas */
  HF_VEC(struct hf_number) numbers;
  HF_VEC(struct hf_enum) enums;
  HF_VEC(struct hf_regex *) regexes; /* owned */
  size_t regex_bytes;
  HF_VEC(hf_format_check) formats;
  HF_VEC(struct hf_object) objects;
  HF_VEC(struct hf_pattern_sub) patterns;
  HF_VEC(struct hf_dependent) dependents;
  HF_VEC(struct hf_contains) contains;
  HF_VEC(struct hf_scope) scopes;
  HF_VEC(struct hf_dynamic) dynamics;
};

/* A text with its nodes. */
struct hf_document {
  char *text; /* owned; NULL: `doc` points to constant data */
  struct hf_json_scan scan;
  struct hf_json_doc doc;
};

/* Writes what the string `raw` (with its quotes) means to `out`, which has room for as much as `raw`; returns its
 * length. Half a surrogate pair becomes U+FFFD if it is to be UTF-8, else bytes that equal nothing else. */
size_t hf_text_unescape(struct hf_str raw, bool utf8, char *out);

/* Reads a number of at most 18 digits and nothing else; false for any other. */
bool hf_number_small(struct hf_str raw, int64_t *ret_value);

#endif
