#include "schema/format_uri.h"

#include "schema/format_host.h"
#include "schema/utf8.h"

#include <stdint.h>

#define SUB_DELIMS "!$&'()*+,;="
#define PATH SUB_DELIMS ":@/"
#define QUERY PATH "?"

enum { PLANE = 0x10000, LAST_OF_PLANE = 0xfffd };

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_hex(char c) {
  return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_unreserved(char c) {
  return is_digit(c) || is_letter(c) || (c != '\0' && strchr("-._~", c));
}

static bool is_private(uint32_t code) {
  return (code >= 0xe000 && code <= 0xf8ff) || (code >= 15 * PLANE && code % PLANE <= LAST_OF_PLANE);
}

/* The characters beyond ASCII of an IRI. */
static bool is_ucs(uint32_t code) {
  if (code < PLANE)
    return (code >= 0xa0 && code <= 0xd7ff) || (code >= 0xf900 && code <= 0xfdcf) || (code >= 0xfdf0 && code <= 0xffef);
  return code < 15 * PLANE && code % PLANE <= LAST_OF_PLANE && (code < 14 * PLANE || code >= 0xe1000);
}

struct alphabet {
  const char *also; /* besides what is unreserved */
  bool iri;
  bool private;
};

/* Takes the character at the start: one of the alphabet, or `%41`. Returns the bytes it takes, or 0. */
static size_t read_char(struct hf_str text, const struct alphabet *alphabet) {
  char c = text.ptr[0];
  if (c == '%')
    return text.len > 2 && is_hex(text.ptr[1]) && is_hex(text.ptr[2]) ? 3 : 0;
  if (is_unreserved(c) || (c != '\0' && strchr(alphabet->also, c)))
    return 1;
  uint32_t code;
  size_t len = alphabet->iri && (c & 0x80) ? hf_utf8_read(text, &code) : 0;
  return len > 0 && (is_ucs(code) || (alphabet->private && is_private(code))) ? len : 0;
}

static bool all_of(struct hf_str text, const struct alphabet *alphabet) {
  for (size_t at = 0; at < text.len;) {
    size_t len = read_char((struct hf_str){text.ptr + at, text.len - at}, alphabet);
    if (len == 0)
      return false;
    at += len;
  }
  return true;
}

/* Cuts `text` at the first of `separators`; what is behind it is returned, absent if there is none. */
static struct hf_str cut(struct hf_str *text, const char *separators) {
  for (size_t i = 0; i < text->len; i++) {
    if (text->ptr[i] != '\0' && strchr(separators, text->ptr[i])) {
      struct hf_str rest = {text->ptr + i + 1, text->len - i - 1};
      text->len = i;
      return rest;
    }
  }
  return (struct hf_str){NULL, 0};
}

/* What is in the brackets of `[v1.x]`. */
static bool is_future_address(struct hf_str text) {
  if (text.len < 1 || (text.ptr[0] | 0x20) != 'v')
    return false;
  struct hf_str version = {text.ptr + 1, text.len - 1};
  struct hf_str address = cut(&version, ".");
  for (size_t i = 0; i < version.len; i++) {
    if (!is_hex(version.ptr[i]))
      return false;
  }
  static const struct alphabet alphabet = {.also = SUB_DELIMS ":"};
  return version.len > 0 && address.len > 0 && !memchr(address.ptr, '%', address.len) && all_of(address, &alphabet);
}

static bool is_number(struct hf_str text) {
  for (size_t i = 0; i < text.len; i++) {
    if (!is_digit(text.ptr[i]))
      return false;
  }
  return true;
}

static bool is_authority(struct hf_str text, bool iri) {
  struct alphabet user = {.also = SUB_DELIMS ":", .iri = iri}, name = {.also = SUB_DELIMS, .iri = iri};
  const char *at = memchr(text.ptr, '@', text.len);
  if (at) {
    struct hf_str before = {text.ptr, (size_t)(at - text.ptr)};
    if (!all_of(before, &user))
      return false;
    text = (struct hf_str){at + 1, text.len - before.len - 1};
  }
  if (text.len > 0 && text.ptr[0] == '[') {
    struct hf_str literal = {text.ptr + 1, text.len - 1};
    struct hf_str rest = cut(&literal, "]");
    return rest.ptr && (hf_format_ipv6(literal) || is_future_address(literal)) &&
           (rest.len == 0 || (rest.ptr[0] == ':' && is_number((struct hf_str){rest.ptr + 1, rest.len - 1})));
  }
  struct hf_str port = cut(&text, ":");
  return all_of(text, &name) && is_number(port);
}

/* The bytes of `scheme:`, or 0 if there is none. */
static size_t read_scheme(struct hf_str text) {
  if (text.len == 0 || !is_letter(text.ptr[0]))
    return 0;
  for (size_t i = 1; i < text.len; i++) {
    char c = text.ptr[i];
    if (c == ':')
      return i + 1;
    if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.')
      return 0;
  }
  return 0;
}

static bool is_reference(struct hf_str text, bool iri) {
  struct alphabet path = {.also = PATH, .iri = iri}, fragment = {.also = QUERY, .iri = iri};
  struct alphabet query = {.also = QUERY, .iri = iri, .private = iri};
  size_t scheme = read_scheme(text);
  struct hf_str rest = {text.ptr + scheme, text.len - scheme};
  if (!all_of(cut(&rest, "#"), &fragment) || !all_of(cut(&rest, "?"), &query))
    return false;
  if (hf_str_starts(rest, HF_STR("//"))) {
    struct hf_str authority = {rest.ptr + 2, rest.len - 2};
    struct hf_str behind = cut(&authority, "/");
    return is_authority(authority, iri) && all_of(behind, &path);
  }
  if (scheme == 0) {
    struct hf_str first = rest;
    cut(&first, "/");
    if (first.len > 0 && memchr(first.ptr, ':', first.len))
      return false;
  }
  return all_of(rest, &path);
}

bool hf_format_uri(struct hf_str text) {
  return read_scheme(text) > 0 && is_reference(text, false);
}

bool hf_format_uri_reference(struct hf_str text) {
  return is_reference(text, false);
}

bool hf_format_iri(struct hf_str text) {
  return read_scheme(text) > 0 && is_reference(text, true);
}

bool hf_format_iri_reference(struct hf_str text) {
  return is_reference(text, true);
}

/* Dots stand between other characters. */
static bool is_variable_name(struct hf_str name) {
  bool dot = true;
  for (size_t at = 0; at < name.len;) {
    char c = name.ptr[at];
    bool escaped = c == '%' && name.len - at > 2 && is_hex(name.ptr[at + 1]) && is_hex(name.ptr[at + 2]);
    if (c == '.' ? dot : !escaped && !is_letter(c) && !is_digit(c) && c != '_')
      return false;
    dot = c == '.';
    at += escaped ? 3 : 1;
  }
  return !dot;
}

/* `name`, `name*` or `name:30` */
static bool is_variable(struct hf_str text) {
  struct hf_str name = text, length = cut(&name, ":");
  if (length.ptr)
    return is_variable_name(name) && length.len >= 1 && length.len <= 4 && length.ptr[0] != '0' && is_number(length);
  if (name.len > 0 && name.ptr[name.len - 1] == '*')
    name.len--;
  return is_variable_name(name);
}

static bool is_expression(struct hf_str text) {
  if (text.len > 0 && text.ptr[0] != '\0' && strchr("+#./;?&=,!@|", text.ptr[0]))
    text = (struct hf_str){text.ptr + 1, text.len - 1};
  struct hf_str variable = text, rest;
  do {
    rest = cut(&variable, ",");
    if (!is_variable(variable))
      return false;
    variable = rest;
  } while (rest.ptr);
  return true;
}

/* Takes one character that stands for itself. Returns the bytes it takes, or 0. */
static size_t read_template_literal(struct hf_str text) {
  static const struct alphabet alphabet = {.also = SUB_DELIMS ":/?#[]@", .iri = true, .private = true};
  return read_char(text, &alphabet);
}

bool hf_format_uri_template(struct hf_str text) {
  while (text.len > 0) {
    size_t len = 0;
    if (text.ptr[0] == '{') {
      struct hf_str expression = {text.ptr + 1, text.len - 1};
      struct hf_str rest = cut(&expression, "}");
      if (!rest.ptr || !is_expression(expression))
        return false;
      len = text.len - rest.len;
    } else {
      len = read_template_literal(text);
    }
    if (len == 0)
      return false;
    text = (struct hf_str){text.ptr + len, text.len - len};
  }
  return true;
}
