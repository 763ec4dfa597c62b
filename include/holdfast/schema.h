/* JSON Schema: does a text fit, what is wrong if not, and which text that fits was meant.
 *
 * Drafts 2020-12 (also where `$schema` says nothing), 2019-09, 7, 6 and 4. Nothing is ever loaded: references find what
 * is in the schema itself, in the documents that come with it, and the drafts' own meta-schemas. Numbers are compared
 * exactly. Compiling and validating are bounded in time and memory.
 *
 *     struct hf_json_validator *validator;
 *     char why[256];
 *     int r = hf_json_validator_new(schema, strlen(schema), NULL, &validator, why, sizeof why);
 *     …
 *     if (hf_json_validator_check(validator, text, len) == 0)
 *       use(text, len); */
#ifndef HOLDFAST_SCHEMA_H
#define HOLDFAST_SCHEMA_H

#include "holdfast/api.h"
#include "holdfast/error.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A document that `$ref` may name. */
struct hf_json_document {
  const char *uri;
  size_t uri_len;
  const char *text;
  size_t text_len;
};

struct hf_json_validator_options {
  const struct hf_json_document *documents; /* borrowed while the schema is compiled */
  size_t document_count;
  size_t max_schema_bytes; /* at most 512 KiB */
  size_t max_value_bytes;
  bool assert_format; /* else `format` says nothing about what is valid */
};

#define HF_JSON_VALIDATOR_OPTIONS_INIT                                                                                 \
  { .max_schema_bytes = 512 << 10, .max_value_bytes = 16 << 20 }

/* A schema, compiled, and the memory to validate with it. */
struct hf_json_validator;

/* Compiles a schema, which is copied. `options` NULL: as HF_JSON_VALIDATOR_OPTIONS_INIT has them. Returns 0 and a
 * validator, owned; HF_ERR_SYNTAX (no JSON), HF_ERR_INVALID (no schema), HF_ERR_UNSUPPORTED (a draft, vocabulary or
 * pattern that is not known), HF_ERR_NOTFOUND (a reference to nothing), HF_ERR_LIMIT, HF_ERR_NOMEM. What is wrong and
 * where goes into `error`, which has room for `error_size` bytes: one line with its NUL, cut if it is longer. `error`
 * may be NULL if `error_size` is 0. */
HF_API int hf_json_validator_new(const char *schema, size_t schema_len, const struct hf_json_validator_options *options,
                                 struct hf_json_validator **ret_validator, char *error, size_t error_size);

/* Takes the validator; accepts NULL. */
HF_API void hf_json_validator_free(struct hf_json_validator *validator);

/* Is the text valid? The fast way. Returns 0; HF_ERR_INVALID; HF_ERR_SYNTAX (no JSON); HF_ERR_DUPLICATE (a member
 * twice); HF_ERR_LIMIT if the text is too long or the bounds of a run did not suffice to tell; HF_ERR_NOMEM. */
HF_API int hf_json_validator_check(struct hf_json_validator *validator, const char *text, size_t len);

enum hf_json_repair_mode {
  HF_JSON_REPAIR_OFF,
  HF_JSON_REPAIR_SPELLING, /* what changes no value: wrappers, the spelling of keys, JSON in strings, lenient reading */
  HF_JSON_REPAIR_SAFE,     /* and values that can be read in exactly one way that fits */
};

/* What became of a text. */
struct hf_json_validation;

/* One reason why a text is not valid. Everything is borrowed from the validation. */
struct hf_json_misfit {
  const char *keyword;  /* "minLength"; "false" for the schema `false` */
  const char *instance; /* JSON Pointer of the value */
  size_t instance_len;
  const char *member; /* JSON Pointer of the member of it that is not allowed, or NULL */
  size_t member_len;
  const char *location; /* the way through the schema to the keyword, references included: a JSON Pointer */
  size_t location_len;
  const char *absolute; /* the URI of the keyword's own place; NULL where it says the same */
  size_t absolute_len;
  const char *message; /* "must be at least 1; got 0" */
  size_t message_len;
  int parent; /* the reason that it is a reason of (an anyOf, oneOf, …), by number; -1: none */
};

/* One thing that was changed, likewise. */
struct hf_json_repair {
  const char *kind;    /* "number_from_text" */
  const char *pointer; /* of the value before the repair, or of the object whose key it was */
  size_t pointer_len;
  const char *from; /* JSON as it came, or the key; cut if long */
  size_t from_len;
  const char *to; /* likewise, as it is now; NULL: it was dropped */
  size_t to_len;
};

/* Validates a text, repairs it if it is asked to and the text is not valid, and says what is wrong with what is left.
 * Returns 0 and a validation, owned, also for a text that is not valid; HF_ERR_SYNTAX or HF_ERR_DUPLICATE (and it could
 * not be repaired), HF_ERR_LIMIT or HF_ERR_NOMEM, with the reason in `error` as above. */
HF_API int hf_json_validator_validate(struct hf_json_validator *validator, const char *text, size_t len,
                                      enum hf_json_repair_mode mode, struct hf_json_validation **ret_validation,
                                      char *error, size_t error_size);

/* Takes the validation; accepts NULL. */
HF_API void hf_json_validation_free(struct hf_json_validation *validation);

/* Is the text valid, maybe after repair? */
HF_API bool hf_json_validation_is_valid(const struct hf_json_validation *validation);

/* The text as it is now, copied or repaired. Borrowed. */
HF_API const char *hf_json_validation_text(const struct hf_json_validation *validation, size_t *ret_len);

/* How many reasons there are; at most 64 are collected, and `ret_cut` (which may be NULL) says if there were more. */
HF_API size_t hf_json_validation_misfits(const struct hf_json_validation *validation, bool *ret_cut);

/* The reason number `at`, below that count. Those that explain an anyOf, oneOf or the like come after it. */
HF_API void hf_json_validation_misfit(const struct hf_json_validation *validation, size_t at,
                                      struct hf_json_misfit *ret_misfit);

HF_API size_t hf_json_validation_repairs(const struct hf_json_validation *validation);
HF_API void hf_json_validation_repair(const struct hf_json_validation *validation, size_t at,
                                      struct hf_json_repair *ret_repair);

#ifdef __cplusplus
}
#endif

#endif
