/* What stands for one character in a regular expression of ECMA-262 (literals, escapes, classes), and the reader that
 * goes over the text and writes PCRE2's. */
#ifndef HF_SCHEMA_ECMA_CHAR_H
#define HF_SCHEMA_ECMA_CHAR_H

#include "base/buf.h"
#include "base/error.h"
#include "schema/ecma.h"
#include "schema/ecma_property.h"

enum {
  HF_ECMA_SURROGATES = 0xd800, /* from here … */
  HF_ECMA_SURROGATES_END = 0xe000,
};

#define HF_ECMA_NOTHING "(?:(?!))" /* PCRE2's: matches nowhere, and can be repeated */

struct hf_ecma_reader {
  struct hf_str text;
  size_t at;
  struct hf_buf *out; /* NULL: nothing is written */
  struct hf_error *reterr;
  int error; /* of `out` */
  const char *unsupported;
  size_t unsupported_at;
  unsigned groups; /* that capture, in all of the text */
  bool refers;     /* something refers back to them */
  struct hf_str name[HF_ECMA_NAMES_MAX];
  unsigned name_group[HF_ECMA_NAMES_MAX];
  unsigned names;
  bool looks[HF_ECMA_DEPTH_MAX]; /* the open groups: is it a look-around? */
  unsigned depth;
};

/* One character, or a set of them that stands in for one. */
struct hf_ecma_atom {
  bool is_set;
  uint32_t code;
  const char *set; /* as in a class, or NULL: the property */
  struct hf_ecma_property property;
};

static inline bool hf_ecma_is_digit(char c) {
  return c >= '0' && c <= '9';
}

static inline bool hf_ecma_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool hf_ecma_at_end(const struct hf_ecma_reader *r) {
  return r->at >= r->text.len;
}

/* The byte `ahead` of the next one, or 0. */
static inline char hf_ecma_peek(const struct hf_ecma_reader *r, size_t ahead) {
  return r->at + ahead < r->text.len ? r->text.ptr[r->at + ahead] : '\0';
}

static inline bool hf_ecma_is_surrogate(uint32_t code) {
  return code >= HF_ECMA_SURROGATES && code < HF_ECMA_SURROGATES_END;
}

/* Fills the reader's error; returns HF_ERR_SYNTAX. */
int hf_ecma_bad(const struct hf_ecma_reader *r, const char *why);

/* Notes that what is read here is right but cannot be translated. */
void hf_ecma_cannot(struct hf_ecma_reader *r, const char *why);

/* Write PCRE2's text; what goes wrong sticks in `error`. */
void hf_ecma_put(struct hf_ecma_reader *r, struct hf_str text);
void hf_ecma_put_text(struct hf_ecma_reader *r, const char *text);
void hf_ecma_put_code(struct hf_ecma_reader *r, uint32_t code);
void hf_ecma_put_set(struct hf_ecma_reader *r, const struct hf_ecma_atom *atom, bool in_class);

/* Goes on behind `what`, if that comes next. */
bool hf_ecma_take(struct hf_ecma_reader *r, const char *what);

/* Read one code point; an escape that means a character or a set, from behind the backslash; a class, from behind the
 * bracket, which is written at once. Return 0, or HF_ERR_SYNTAX with the reason. */
int hf_ecma_read_literal(struct hf_ecma_reader *r, uint32_t *ret_code);
int hf_ecma_read_escape(struct hf_ecma_reader *r, bool in_class, struct hf_ecma_atom *ret_atom);
int hf_ecma_read_class(struct hf_ecma_reader *r);

#endif
