#include "schema/ecma_char.h"

#include "schema/utf8.h"

enum { CODE_MAX = 0x10ffff };

/* White space and line ends of ECMA-262, and what is between them. */
#define SPACES "\\x{9}-\\x{d} \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
#define NO_SPACES                                                                                                      \
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"                  \
  "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

/* Spelt out, for beside a property in a negated class PCRE2 forgets the characters beyond U+00FF of \D and \W. */
#define NO_DIGITS "\\x{0}-/:-\\x{10ffff}"
#define NO_WORDS "\\x{0}-/:-@\\x{5b}-\\x{5e}`\\x{7b}-\\x{10ffff}"

int hf_ecma_bad(const struct hf_ecma_reader *r, const char *why) {
  return hf_error_set(r->reterr, HF_ERR_SYNTAX, "%s at offset %zu", why, r->at);
}

void hf_ecma_cannot(struct hf_ecma_reader *r, const char *why) {
  if (!r->unsupported) {
    r->unsupported = why;
    r->unsupported_at = r->at;
  }
}

void hf_ecma_put(struct hf_ecma_reader *r, struct hf_str text) {
  if (r->out && r->error == 0)
    r->error = hf_buf_append_str(r->out, text);
}

void hf_ecma_put_text(struct hf_ecma_reader *r, const char *text) {
  hf_ecma_put(r, hf_str_from(text));
}

void hf_ecma_put_code(struct hf_ecma_reader *r, uint32_t code) {
  if (!r->out || r->error)
    return;
  char c = (char)code;
  if (code < 0x80 && (hf_ecma_is_digit(c) || hf_ecma_is_letter(c) || c == '_'))
    r->error = hf_buf_append(r->out, &c, 1);
  else if (code > ' ' && code < 0x7f)
    r->error = hf_buf_printf(r->out, "\\%c", c);
  else
    r->error = hf_buf_printf(r->out, "\\x{%x}", (unsigned)code);
}

bool hf_ecma_take(struct hf_ecma_reader *r, const char *what) {
  struct hf_str rest = {r->text.ptr + r->at, r->text.len - r->at};
  struct hf_str wanted = hf_str_from(what);
  if (!hf_str_starts(rest, wanted))
    return false;
  r->at += wanted.len;
  return true;
}

static int hex_value(char c) {
  if (hf_ecma_is_digit(c))
    return c - '0';
  char lower = (char)(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Reads exactly `count` hexadecimal digits. */
static bool take_hex(struct hf_ecma_reader *r, unsigned count, uint32_t *ret_code) {
  uint32_t code = 0;
  for (unsigned i = 0; i < count; i++) {
    int value = hex_value(hf_ecma_peek(r, i));
    if (value < 0)
      return false;
    code = code * 16 + (uint32_t)value;
  }
  r->at += count;
  *ret_code = code;
  return true;
}

/* \u{…}: reads from behind the brace. */
static int read_braced_code(struct hf_ecma_reader *r, uint32_t *ret_code) {
  uint32_t code = 0;
  size_t start = r->at;
  for (int value; (value = hex_value(hf_ecma_peek(r, 0))) >= 0; r->at++) {
    code = code * 16 + (uint32_t)value;
    if (code > CODE_MAX)
      return hf_ecma_bad(r, "a code point beyond U+10FFFF");
  }
  if (r->at == start || !hf_ecma_take(r, "}"))
    return hf_ecma_bad(r, "malformed \\u{…}");
  *ret_code = code;
  return 0;
}

/* Reads from behind `\u`. Two surrogates that make a pair are one character. */
static int read_unicode_escape(struct hf_ecma_reader *r, uint32_t *ret_code) {
  if (hf_ecma_take(r, "{"))
    return read_braced_code(r, ret_code);
  uint32_t high, low;
  if (!take_hex(r, 4, &high))
    return hf_ecma_bad(r, "malformed \\u escape");
  size_t behind = r->at;
  *ret_code = high;
  if (high >= HF_ECMA_SURROGATES && high < 0xdc00 && hf_ecma_take(r, "\\u") && take_hex(r, 4, &low) && low >= 0xdc00 &&
      low < HF_ECMA_SURROGATES_END)
    *ret_code = 0x10000 + ((high - HF_ECMA_SURROGATES) << 10) + (low - 0xdc00);
  else
    r->at = behind;
  return 0;
}

/* Reads from behind `\p` or `\P`. */
static int read_property(struct hf_ecma_reader *r, bool negated, struct hf_ecma_atom *ret_atom) {
  const char *start = r->text.ptr + r->at + 1;
  const char *end = hf_ecma_peek(r, 0) == '{' ? memchr(start, '}', r->text.len - r->at - 1) : NULL;
  if (!end)
    return hf_ecma_bad(r, "\\p without its property");
  *ret_atom = (struct hf_ecma_atom){.is_set = true};
  if (hf_ecma_property((struct hf_str){start, (size_t)(end - start)}, &ret_atom->property) != 0)
    return hf_ecma_bad(r, "unknown property");
  ret_atom->property.inverted ^= negated;
  r->at = (size_t)(end - r->text.ptr) + 1;
  return 0;
}

static const char *class_escape(char c) {
  switch (c) {
  case 'd':
    return "\\d";
  case 'D':
    return NO_DIGITS;
  case 'w':
    return "\\w";
  case 'W':
    return NO_WORDS;
  case 's':
    return SPACES;
  case 'S':
    return NO_SPACES;
  default:
    return NULL;
  }
}

/* The character that a letter stands for behind a backslash, or -1. */
static int control_escape(char c) {
  static const char letters[] = "tnvfr";
  static const char codes[] = "\t\n\v\f\r";
  const char *found = c ? strchr(letters, c) : NULL;
  return found ? codes[found - letters] : -1;
}

/* Reads an escape that means one character or a set, from behind the backslash. */
int hf_ecma_read_escape(struct hf_ecma_reader *r, bool in_class, struct hf_ecma_atom *ret_atom) {
  char c = hf_ecma_peek(r, 0);
  if (hf_ecma_at_end(r))
    return hf_ecma_bad(r, "a backslash at the end");
  r->at++;
  *ret_atom = (struct hf_ecma_atom){.set = class_escape(c)};
  ret_atom->is_set = ret_atom->set != NULL;
  int control = control_escape(c);
  if (ret_atom->is_set)
    return 0;
  if (control >= 0 || strchr("^$\\.*+?()[]{}|/", c) || (in_class && c == '-')) {
    ret_atom->code = control >= 0 ? (uint32_t)control : (unsigned char)c;
    return c == '\0' ? hf_ecma_bad(r, "unknown escape") : 0;
  }
  if (in_class && c == 'b') {
    ret_atom->code = '\b';
    return 0;
  }
  if (c == 'c' && hf_ecma_is_letter(hf_ecma_peek(r, 0))) {
    ret_atom->code = (uint32_t)(hf_ecma_peek(r, 0) & 0x1f);
    r->at++;
    return 0;
  }
  if (c == '0' && !hf_ecma_is_digit(hf_ecma_peek(r, 0)))
    return 0;
  if (c == 'x' && take_hex(r, 2, &ret_atom->code))
    return 0;
  if (c == 'u')
    return read_unicode_escape(r, &ret_atom->code);
  if (c == 'p' || c == 'P')
    return read_property(r, c == 'P', ret_atom);
  r->at--;
  return hf_ecma_bad(r, "unknown escape");
}

int hf_ecma_read_literal(struct hf_ecma_reader *r, uint32_t *ret_code) {
  size_t len = hf_utf8_read((struct hf_str){r->text.ptr + r->at, r->text.len - r->at}, ret_code);
  if (len == 0)
    return hf_ecma_bad(r, "invalid utf-8");
  r->at += len;
  return 0;
}

/* Sets and properties are spelt in a class as outside of one, but for those that are lists. */
void hf_ecma_put_set(struct hf_ecma_reader *r, const struct hf_ecma_atom *atom, bool in_class) {
  if (!atom->set) {
    hf_ecma_put_text(r, atom->property.inverted ? "\\P{" : "\\p{");
    hf_ecma_put_text(r, atom->property.prefix);
    hf_ecma_put(r, atom->property.name);
    hf_ecma_put_text(r, "}");
    return;
  }
  bool list = strlen(atom->set) > 2;
  hf_ecma_put_text(r, list && !in_class ? "[" : "");
  hf_ecma_put_text(r, atom->set);
  hf_ecma_put_text(r, list && !in_class ? "]" : "");
}

/* Surrogates are in no UTF-8 text, so what is left of a range without them is meant. */
static bool put_range(struct hf_ecma_reader *r, uint32_t low, uint32_t high) {
  if (hf_ecma_is_surrogate(low))
    low = HF_ECMA_SURROGATES_END;
  if (hf_ecma_is_surrogate(high))
    high = HF_ECMA_SURROGATES - 1;
  if (low > high)
    return false;
  hf_ecma_put_code(r, low);
  if (low < high) {
    hf_ecma_put_text(r, "-");
    hf_ecma_put_code(r, high);
  }
  return true;
}

static int read_class_atom(struct hf_ecma_reader *r, struct hf_ecma_atom *ret_atom) {
  if (hf_ecma_take(r, "\\"))
    return hf_ecma_read_escape(r, true, ret_atom);
  *ret_atom = (struct hf_ecma_atom){.is_set = false};
  return hf_ecma_at_end(r) ? hf_ecma_bad(r, "a class without its end") : hf_ecma_read_literal(r, &ret_atom->code);
}

/* One character, set or range of a class. */
static int read_class_item(struct hf_ecma_reader *r, bool *io_empty) {
  struct hf_ecma_atom low, high;
  int err = read_class_atom(r, &low);
  if (err)
    return err;
  bool is_range = hf_ecma_peek(r, 0) == '-' && r->at + 1 < r->text.len && hf_ecma_peek(r, 1) != ']';
  if (!is_range && low.is_set) {
    hf_ecma_put_set(r, &low, true);
    *io_empty = false;
    return 0;
  }
  high = low;
  if (is_range) {
    r->at++;
    err = read_class_atom(r, &high);
    if (err)
      return err;
    if (low.is_set || high.is_set)
      return hf_ecma_bad(r, "a range from or to a set");
    if (low.code > high.code)
      return hf_ecma_bad(r, "a range out of order");
  }
  if (put_range(r, low.code, high.code))
    *io_empty = false;
  return 0;
}

/* Reads from behind the bracket. */
int hf_ecma_read_class(struct hf_ecma_reader *r) {
  bool negated = hf_ecma_take(r, "^"), empty = true;
  size_t start = r->out ? r->out->len : 0;
  hf_ecma_put_text(r, negated ? "[^" : "[");
  while (!hf_ecma_take(r, "]")) {
    if (hf_ecma_at_end(r))
      return hf_ecma_bad(r, "a class without its end");
    int err = read_class_item(r, &empty);
    if (err)
      return err;
  }
  if (!empty) {
    hf_ecma_put_text(r, "]");
    return 0;
  }
  if (r->out && !r->error)
    r->out->len = start;
  hf_ecma_put_text(r, negated ? "." : HF_ECMA_NOTHING);
  return 0;
}
