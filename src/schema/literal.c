#include "schema/literal.h"

#include "schema/loose.h"

/* What ends the text or could not be meant. */
enum { END = -1 };

static int peek(const struct hf_literal *l) {
  return l->at < l->text.len ? (unsigned char)l->text.ptr[l->at] : END;
}

static bool starts(const struct hf_literal *l, const char *word) {
  return hf_str_starts((struct hf_str){l->text.ptr + l->at, l->text.len - l->at}, hf_str_from(word));
}

/* HF_ERR_INCOMPLETE where the text ends, else HF_ERR_SYNTAX. */
static int refuse(const struct hf_literal *l, const char *why) {
  if (l->at >= l->text.len)
    return hf_error_set(l->reterr, HF_ERR_INCOMPLETE, "text ends inside a value");
  return hf_error_set(l->reterr, HF_ERR_SYNTAX, "%s at byte %zu", why, l->at);
}

static int put(struct hf_literal *l, const char *bytes, size_t len) {
  int r = hf_buf_append(l->out, bytes, len);
  return r < 0 ? hf_error_set(l->reterr, r, "%s", hf_err_text(r)) : 0;
}

static bool is_digit(int c) {
  return c >= '0' && c <= '9';
}

static bool is_hex(int c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool starts_name(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static int skip_block_comment(struct hf_literal *l) {
  const char *end = memmem(l->text.ptr + l->at + 2, l->text.len - l->at - 2, "*/", 2);
  if (!end) {
    l->at = l->text.len;
    return refuse(l, "");
  }
  l->at = (size_t)(end - l->text.ptr) + 2;
  return 0;
}

static void skip_line(struct hf_literal *l) {
  const char *end = memchr(l->text.ptr + l->at, '\n', l->text.len - l->at);
  l->at = end ? (size_t)(end - l->text.ptr) : l->text.len;
}

int hf_literal_space(struct hf_literal *l) {
  for (;;) {
    int c = peek(l);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      l->at++;
    } else if (c == '#' || starts(l, "//")) {
      l->how |= HF_LOOSE_COMMENT;
      skip_line(l);
    } else if (starts(l, "/*")) {
      l->how |= HF_LOOSE_COMMENT;
      int r = skip_block_comment(l);
      if (r < 0)
        return r;
    } else {
      return 0;
    }
  }
}

/* Appends the rest of an escape: `\u` and four digits. */
static int read_unicode(struct hf_literal *l) {
  size_t start = l->at;
  for (l->at += 1; l->at < start + 5; l->at++)
    if (!is_hex(peek(l)))
      return refuse(l, "malformed escape");
  int r = put(l, "\\", 1);
  return r < 0 ? r : put(l, l->text.ptr + start, 5);
}

static int read_hex_escape(struct hf_literal *l) {
  l->how |= HF_LOOSE_PYTHON;
  size_t start = l->at + 1;
  for (l->at = start; l->at < start + 2; l->at++)
    if (!is_hex(peek(l)))
      return refuse(l, "malformed escape");
  int r = put(l, "\\u00", 4);
  return r < 0 ? r : put(l, l->text.ptr + start, 2);
}

/* What follows a backslash. Python keeps the backslash of what it does not know, JavaScript drops it: only what all
 * read alike is read. */
static int read_escape(struct hf_literal *l, int quote) {
  int c = peek(l);
  if (c == 'u')
    return read_unicode(l);
  if (c == 'x')
    return read_hex_escape(l);
  if (c == '\'') {
    l->how |= HF_LOOSE_QUOTES;
    l->at++;
    return put(l, "'", 1);
  }
  if (c <= 0 || !strchr("\"\\nrtbf/", c) || (c == '/' && quote == '\''))
    return refuse(l, "an escape that means different things");
  l->at++;
  int r = put(l, "\\", 1);
  return r < 0 ? r : put(l, l->text.ptr + l->at - 1, 1);
}

/* A character that JSON wants escaped. */
static int read_control(struct hf_literal *l) {
  static const char *const escaped[] = {['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};
  int c = peek(l);
  if (c > '\r' || !escaped[c])
    return refuse(l, "control character in a string");
  l->how |= HF_LOOSE_CONTROL;
  l->at++;
  return put(l, escaped[c], 2);
}

static size_t plain_run(const struct hf_literal *l, int quote) {
  size_t end = l->at;
  while (end < l->text.len && (unsigned char)l->text.ptr[end] >= ' ' && l->text.ptr[end] != '\\' &&
         l->text.ptr[end] != '"' && (unsigned char)l->text.ptr[end] != quote)
    end++;
  return end - l->at;
}

static int read_string(struct hf_literal *l) {
  int quote = peek(l);
  if (quote == '\'')
    l->how |= HF_LOOSE_QUOTES;
  l->at++;
  int r = put(l, "\"", 1);
  while (r == 0 && peek(l) != quote) {
    size_t run = plain_run(l, quote);
    int c = peek(l);
    if (run > 0) {
      r = put(l, l->text.ptr + l->at, run);
      l->at += run;
    } else if (c == '\\') {
      l->at++;
      r = read_escape(l, quote);
    } else if (c == '"') {
      l->at++;
      r = put(l, "\\\"", 2);
    } else {
      r = c == END ? refuse(l, "") : read_control(l);
    }
  }
  l->at++;
  return r < 0 ? r : put(l, "\"", 1);
}

static size_t digits(const struct hf_literal *l) {
  size_t end = l->at;
  while (end < l->text.len && is_digit((unsigned char)l->text.ptr[end]))
    end++;
  return end - l->at;
}

/* Appends the digits that stand here, or a zero where JSON needs one. */
static int read_digits(struct hf_literal *l, bool needed) {
  size_t count = digits(l);
  if (count == 0 && needed)
    return refuse(l, "malformed number");
  if (count == 0)
    l->how |= HF_LOOSE_NUMBER;
  int r = count ? put(l, l->text.ptr + l->at, count) : put(l, "0", 1);
  l->at += count;
  return r;
}

static int read_exponent(struct hf_literal *l) {
  int r = put(l, "e", 1);
  l->at++;
  if (r == 0 && (peek(l) == '+' || peek(l) == '-')) {
    r = put(l, l->text.ptr + l->at, 1);
    l->at++;
  }
  return r < 0 ? r : read_digits(l, true);
}

/* What may follow a number without being a part of it. `7 // 2` is a comment to some, and 3 to others. */
static int end_number(const struct hf_literal *l) {
  struct hf_literal ahead = *l;
  while (peek(&ahead) == ' ' || peek(&ahead) == '\t')
    ahead.at++;
  return peek(&ahead) == '/' && !starts(&ahead, "/*") ? refuse(&ahead, "an expression") : 0;
}

static int read_number(struct hf_literal *l) {
  int r = 0;
  if (peek(l) == '-')
    r = put(l, "-", 1);
  else if (peek(l) == '+')
    l->how |= HF_LOOSE_NUMBER;
  l->at += !is_digit(peek(l)) && peek(l) != '.';
  size_t whole = digits(l);
  if (whole > 1 && peek(l) == '0')
    return refuse(l, "a number with leading zeros");
  bool point = l->at + whole < l->text.len && l->text.ptr[l->at + whole] == '.';
  if (r == 0)
    r = read_digits(l, !point);
  if (r == 0 && point) {
    l->at++;
    r = put(l, ".", 1);
    if (r == 0)
      r = read_digits(l, whole == 0);
  }
  if (r == 0 && (peek(l) == 'e' || peek(l) == 'E'))
    r = read_exponent(l);
  return r < 0 ? r : end_number(l);
}

static struct hf_str name_at(const struct hf_literal *l, size_t at) {
  size_t end = at;
  while (end < l->text.len &&
         (starts_name((unsigned char)l->text.ptr[end]) || (end > at && is_digit((unsigned char)l->text.ptr[end]))))
    end++;
  return (struct hf_str){l->text.ptr + at, end - at};
}

static int read_word(struct hf_literal *l) {
  static const struct {
    struct hf_str name;
    const char *json;
    unsigned how;
  } words[] = {
      {{"true", 4}, "true", 0},
      {{"false", 5}, "false", 0},
      {{"null", 4}, "null", 0},
      {{"True", 4}, "true", HF_LOOSE_PYTHON},
      {{"False", 5}, "false", HF_LOOSE_PYTHON},
      {{"None", 4}, "null", HF_LOOSE_PYTHON},
  };
  struct hf_str name = name_at(l, l->at);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (hf_str_equal(name, words[i].name)) {
      l->at += name.len;
      l->how |= words[i].how;
      return put(l, words[i].json, strlen(words[i].json));
    }
  if (l->depth > 0 && l->at + name.len == l->text.len)
    l->at = l->text.len;
  return refuse(l, "a name that is no value");
}

/* Goes on behind an element: 1 for another, 0 at the end, which is passed. `ret_comma`: was there a comma? */
static int next_element(struct hf_literal *l, int closing, bool *ret_comma) {
  int r = hf_literal_space(l);
  if (r < 0)
    return r;
  *ret_comma = peek(l) == ',';
  if (*ret_comma) {
    l->at++;
    r = hf_literal_space(l);
    if (r < 0)
      return r;
  }
  if (peek(l) == closing) {
    l->at++;
    return 0;
  }
  return *ret_comma ? 1 : refuse(l, "a comma or closing bracket was expected");
}

/* Passes the opening bracket: 1 if something stands in there, 0 behind an empty container. */
static int enter(struct hf_literal *l, int closing) {
  if (l->depth >= HF_LITERAL_DEPTH_MAX)
    return hf_error_set(l->reterr, HF_ERR_LIMIT, "nested too deep");
  l->depth++;
  l->at++;
  int r = hf_literal_space(l);
  if (r < 0 || peek(l) != closing)
    return r < 0 ? r : 1;
  l->at++;
  return 0;
}

static int read_value(struct hf_literal *l, bool calls);

static int read_array(struct hf_literal *l, bool calls) {
  bool tuple = peek(l) == '(', comma = false;
  int closing = tuple ? ')' : ']', r = put(l, "[", 1);
  unsigned count = 0;
  int more = r < 0 ? r : enter(l, closing);
  while (more > 0) {
    r = count++ > 0 ? put(l, ",", 1) : 0;
    if (r == 0)
      r = read_value(l, calls);
    more = r < 0 ? r : next_element(l, closing, &comma);
  }
  if (more < 0)
    return more;
  if (tuple && count == 1 && !comma)
    return hf_error_set(l->reterr, HF_ERR_SYNTAX, "brackets around a single value end at byte %zu", l->at);
  l->how |= tuple ? HF_LOOSE_PYTHON : comma ? HF_LOOSE_TRAILING_COMMA : 0;
  l->depth--;
  return put(l, "]", 1);
}

static int read_key(struct hf_literal *l) {
  if (peek(l) == '"' || peek(l) == '\'')
    return read_string(l);
  struct hf_str name = name_at(l, l->at);
  if (name.len == 0 || hf_str_equal(name, HF_STR("True")) || hf_str_equal(name, HF_STR("False")) ||
      hf_str_equal(name, HF_STR("None")))
    return refuse(l, "a member name was expected");
  l->at += name.len;
  int r = put(l, "\"", 1);
  if (r == 0)
    r = put(l, name.ptr, name.len);
  return r < 0 ? r : put(l, "\"", 1);
}

static int read_member(struct hf_literal *l, int between) {
  if (between == ':' && peek(l) != '"' && peek(l) != '\'')
    l->how |= HF_LOOSE_BARE_KEY;
  int r = read_key(l);
  if (r == 0)
    r = hf_literal_space(l);
  if (r == 0 && peek(l) != between)
    r = refuse(l, "a member name and its value were expected");
  l->at++;
  if (r == 0)
    r = put(l, ":", 1);
  if (r == 0)
    r = hf_literal_space(l);
  return r < 0 ? r : read_value(l, false);
}

/* The members of an object, or the arguments of a call; starts at the opening bracket. */
static int read_members(struct hf_literal *l, int between, int closing) {
  int r = put(l, "{", 1);
  int more = r < 0 ? r : enter(l, closing);
  bool comma = false;
  unsigned count = 0;
  while (more > 0) {
    r = count++ > 0 ? put(l, ",", 1) : 0;
    if (r == 0)
      r = read_member(l, between);
    more = r < 0 ? r : next_element(l, closing, &comma);
  }
  if (more < 0)
    return more;
  if (comma)
    l->how |= HF_LOOSE_TRAILING_COMMA;
  l->depth--;
  return put(l, "}", 1);
}

/* The length of a dotted name that a bracket follows, or 0. */
static size_t call_name(const struct hf_literal *l) {
  size_t at = l->at;
  for (;;) {
    struct hf_str part = name_at(l, at);
    at += part.len;
    if (part.len == 0 || at >= l->text.len)
      return 0;
    if (l->text.ptr[at] == '(')
      return at - l->at;
    if (l->text.ptr[at] != '.')
      return 0;
    at++;
  }
}

bool hf_literal_is_call(const struct hf_literal *l) {
  return call_name(l) > 0;
}

static int read_call(struct hf_literal *l) {
  size_t len = call_name(l);
  int r = put(l, "{\"name\":\"", 9);
  if (r == 0)
    r = put(l, l->text.ptr + l->at, len);
  if (r == 0)
    r = put(l, "\",\"arguments\":", 14);
  l->at += len;
  l->how |= HF_LOOSE_CALL;
  if (r == 0)
    r = read_members(l, '=', ')');
  return r < 0 ? r : put(l, "}", 1);
}

static int read_value(struct hf_literal *l, bool calls) {
  int c = peek(l);
  if (c == '{')
    return read_members(l, ':', '}');
  if (c == '[' || c == '(')
    return read_array(l, calls && l->depth == 0);
  if (c == '"' || c == '\'')
    return read_string(l);
  if (is_digit(c) || c == '-' || c == '+' || c == '.')
    return read_number(l);
  if (calls && hf_literal_is_call(l))
    return read_call(l);
  return starts_name(c) ? read_word(l) : refuse(l, "a value was expected");
}

int hf_literal_value(struct hf_literal *l) {
  return read_value(l, true);
}
