/* Repair of what is certain: a value that does not fit its schema, and that can be read in exactly one way that does.
 *
 * Only where the original is invalid, only to what the schema asks for at that place, and only if exactly one of all
 * readings is valid: then that one is taken, else nothing. A valid value is never touched; a repaired one is valid, and
 * repairing it again changes nothing. */
#ifndef HF_SCHEMA_REPAIR_H
#define HF_SCHEMA_REPAIR_H

#include "schema/schema.h"

/* name, what logs and markers show, does it change a value? (unwrapping, parsing and spelling of keys do not) */
#define HF_REPAIR_LIST(X)                                                                                              \
  X(UNWRAPPED, "unwrapped", false) /* the arguments were in a wrapper, or in a string */                               \
  X(PARSED, "parsed", false)       /* a string held the object or array that is wanted */                              \
  X(READ, "read_leniently", false) /* the text was no strict JSON */                                                   \
  X(RENAMED, "renamed", false)     /* a key, by case or snake/camel fold */                                            \
  X(NUMBER, "number_from_text", true)                                                                                  \
  X(BOOLEAN, "boolean_from_text", true)                                                                                \
  X(INTEGER, "integer_spelt_out", true) /* 1.0 for 1: only for drafts where that is no integer */                      \
  X(WRAPPED, "put_in_array", true)      /* a scalar for an array of one */                                             \
  X(DROPPED_NULL, "null_dropped", true)                                                                                \
  X(ENUM_CASE, "case_of_enum", true)

enum hf_repair_kind {
#define HF_REPAIR_ENUM(name, text, changes) HF_REPAIR_##name,
  HF_REPAIR_LIST(HF_REPAIR_ENUM)
#undef HF_REPAIR_ENUM
      HF_REPAIR_KIND_COUNT
};

enum {
  HF_REPAIRS_MAX = 32,
  HF_REPAIR_SHOWN_MAX = 120,
  HF_REPAIR_TRIES_MAX = 256,
  HF_REPAIR_ELEMENT_MAX = 64 << 10, /* bytes of a text that is put into an array */
};

struct hf_repair {
  enum hf_repair_kind kind;
  struct hf_str pointer; /* of the value before the repair, or of the object whose key it was */
  struct hf_str from;    /* raw JSON as it came, cut to HF_REPAIR_SHOWN_MAX bytes; or the key */
  struct hf_str to;      /* raw JSON as it is now, likewise; absent: dropped */
};

/* The strings are in `arena`, the caller's. */
struct hf_repairs {
  struct hf_repair item[HF_REPAIRS_MAX];
  unsigned count;
};

struct hf_repair_options {
  bool keep_values;   /* only repairs that change no value: for tools whose effects cannot be taken back */
  struct hf_str tool; /* its name: a whole call in place of the arguments is read only if it names no other. Absent: any
                       */
};

const char *hf_repair_name(enum hf_repair_kind kind);

/* Repairs `raw`, which need not be JSON, and appends the valid value, which is compact where it was changed and
 * otherwise as it was. Returns 0 (with `ret_repairs->count` 0 if it was valid already); HF_ERR_INVALID if no reading,
 * or more than one, is valid; HF_ERR_LIMIT if there are too many to try; HF_ERR_NOMEM. */
int hf_repair(const struct hf_schema *schema, struct hf_schema_run *run, struct hf_str raw,
              const struct hf_repair_options *options, struct hf_arena *arena, struct hf_buf *out,
              struct hf_repairs *ret_repairs);

#endif
