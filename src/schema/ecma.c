#include "schema/ecma.h"

#include "schema/ecma_char.h"

enum {
  REPEAT_MAX = 65535, /* that PCRE2 can count to */
  CHUNK = 16,         /* repeats of a character that pass without a callout */
  NO_MAXIMUM = -1,
};

#define NO_LINE_END "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]"

/* Every way to go on starts with one, so that whoever tries them all is counted. */
#define CALLOUT "(?C)"

/* Reads digits; returns false if there are none. What is more than PCRE2 counts saturates. */
static bool take_number(struct hf_ecma_reader *r, int *ret_number) {
  int number = 0;
  size_t start = r->at;
  for (; hf_ecma_is_digit(hf_ecma_peek(r, 0)); r->at++) {
    if (number <= REPEAT_MAX)
      number = number * 10 + (hf_ecma_peek(r, 0) - '0');
  }
  *ret_number = number;
  return r->at > start;
}

struct repeat {
  int min;
  int max; /* or NO_MAXIMUM */
  bool lazy;
};

/* Reads the braces of a quantifier. */
static int read_braces(struct hf_ecma_reader *r, struct repeat *ret_repeat) {
  r->at++;
  if (!take_number(r, &ret_repeat->min))
    return hf_ecma_bad(r, "a brace that is no quantifier");
  ret_repeat->max = ret_repeat->min;
  if (hf_ecma_take(r, ",") && !take_number(r, &ret_repeat->max))
    ret_repeat->max = NO_MAXIMUM;
  if (!hf_ecma_take(r, "}"))
    return hf_ecma_bad(r, "a brace that is no quantifier");
  if (ret_repeat->min > REPEAT_MAX || ret_repeat->max > REPEAT_MAX)
    hf_ecma_cannot(r, "a quantifier beyond 65535");
  if (ret_repeat->max != NO_MAXIMUM && ret_repeat->max < ret_repeat->min)
    return hf_ecma_bad(r, "a quantifier out of order");
  return 0;
}

static int read_repeat(struct hf_ecma_reader *r, struct repeat *ret_repeat) {
  char c = hf_ecma_peek(r, 0);
  *ret_repeat = (struct repeat){1, 1, false};
  switch (c) {
  case '*':
  case '+':
    ret_repeat->min = c == '+';
    ret_repeat->max = NO_MAXIMUM;
    r->at++;
    break;
  case '?':
    ret_repeat->min = 0;
    r->at++;
    break;
  case '{': {
    int err = read_braces(r, ret_repeat);
    if (err)
      return err;
    break;
  }
  default:
    return 0;
  }
  ret_repeat->lazy = hf_ecma_take(r, "?");
  return 0;
}

static void put_repeat(struct hf_ecma_reader *r, struct repeat repeat) {
  if (!r->out || r->error || (repeat.min == 1 && repeat.max == 1))
    return;
  if (repeat.max == NO_MAXIMUM)
    r->error = hf_buf_printf(r->out, "{%d,}", repeat.min);
  else
    r->error = hf_buf_printf(r->out, "{%d,%d}", repeat.min, repeat.max);
  hf_ecma_put_text(r, repeat.lazy ? "?" : "");
}

/* Repeats the character or set that was written from `start` on. Many of one kind count as several. */
static void repeat_atom(struct hf_ecma_reader *r, size_t start, struct repeat repeat) {
  int chunks = repeat.min / CHUNK;
  if (r->out && r->error == 0 && repeat.min > CHUNK) {
    struct hf_buf copy;
    hf_buf_init(&copy, r->out->max);
    r->error = hf_buf_append(&copy, r->out->data + start, r->out->len - start);
    r->out->len = start;
    hf_ecma_put_text(r, "(?:" CALLOUT);
    hf_ecma_put(r, hf_buf_str(&copy));
    if (r->error == 0)
      r->error = hf_buf_printf(r->out, "{%d}){%d}", CHUNK, chunks);
    hf_ecma_put(r, hf_buf_str(&copy));
    hf_buf_deinit(&copy);
    repeat.min -= chunks * CHUNK;
    repeat.max -= repeat.max == NO_MAXIMUM ? 0 : chunks * CHUNK;
  }
  put_repeat(r, repeat);
  if (repeat.min != repeat.max)
    hf_ecma_put_text(r, CALLOUT);
}

static int read_repeated_atom(struct hf_ecma_reader *r, size_t start) {
  struct repeat repeat;
  int err = read_repeat(r, &repeat);
  if (err == 0)
    repeat_atom(r, start, repeat);
  return err;
}

static bool is_name_char(char c, bool first) {
  return hf_ecma_is_letter(c) || c == '_' || c == '$' || (c & 0x80) || (!first && hf_ecma_is_digit(c));
}

/* Reads `name>`. */
static int read_name(struct hf_ecma_reader *r, struct hf_str *ret_name) {
  size_t start = r->at;
  while (is_name_char(hf_ecma_peek(r, 0), r->at == start))
    r->at++;
  *ret_name = (struct hf_str){r->text.ptr + start, r->at - start};
  return ret_name->len > 0 && hf_ecma_take(r, ">") ? 0 : hf_ecma_bad(r, "malformed name of a group");
}

static int put_reference(struct hf_ecma_reader *r, unsigned group) {
  if (group == 0 || group > r->groups)
    return hf_ecma_bad(r, "a reference to no group");
  if (r->out && r->error == 0)
    r->error = hf_buf_printf(r->out, "\\g{%u}" CALLOUT, group);
  return 0;
}

static int read_named_reference(struct hf_ecma_reader *r) {
  struct hf_str name;
  if (!hf_ecma_take(r, "<"))
    return hf_ecma_bad(r, "\\k without its name");
  int err = read_name(r, &name);
  if (err)
    return err;
  for (unsigned i = 0; i < r->names; i++) {
    if (hf_str_equal(r->name[i], name))
      return put_reference(r, r->name_group[i]);
  }
  return hf_ecma_bad(r, "a reference to no group");
}

/* A repeated reference is put in a group, so that each round counts. */
static int read_reference(struct hf_ecma_reader *r) {
  int number, err;
  hf_ecma_put_text(r, "(?:");
  if (hf_ecma_take(r, "k"))
    err = read_named_reference(r);
  else
    err = take_number(r, &number) ? put_reference(r, (unsigned)number) : HF_ERR_SYNTAX;
  if (err)
    return err;
  hf_ecma_put_text(r, ")");
  struct repeat repeat;
  err = read_repeat(r, &repeat);
  put_repeat(r, repeat);
  return err;
}

static bool is_repeat_start(char c) {
  return c == '*' || c == '+' || c == '?' || c == '{';
}

static int put_assertion(struct hf_ecma_reader *r, const char *text) {
  hf_ecma_put_text(r, text);
  return is_repeat_start(hf_ecma_peek(r, 0)) ? hf_ecma_bad(r, "nothing to repeat") : 0;
}

static int read_backslash(struct hf_ecma_reader *r) {
  char c = hf_ecma_peek(r, 0);
  if (c == 'b' || c == 'B') {
    r->at++;
    return put_assertion(r, c == 'b' ? "\\b" : "\\B");
  }
  if (c == 'k' || (c >= '1' && c <= '9'))
    return read_reference(r);
  size_t start = r->out ? r->out->len : 0;
  struct hf_ecma_atom atom;
  int err = hf_ecma_read_escape(r, false, &atom);
  if (err)
    return err;
  if (atom.is_set)
    hf_ecma_put_set(r, &atom, false);
  else if (hf_ecma_is_surrogate(atom.code))
    hf_ecma_put_text(r, HF_ECMA_NOTHING);
  else
    hf_ecma_put_code(r, atom.code);
  return read_repeated_atom(r, start);
}

/* Reads `ims-ims:` behind `(?`. */
static bool take_modifiers(struct hf_ecma_reader *r) {
  size_t at = r->at;
  bool any = false, off = false;
  for (; at < r->text.len && r->text.ptr[at] != ':'; at++) {
    char c = r->text.ptr[at];
    if (c == '-' ? off : c != 'i' && c != 'm' && c != 's')
      return false;
    off = off || c == '-';
    any = any || c != '-';
  }
  if (at == r->text.len || !any)
    return false;
  hf_ecma_cannot(r, "flags of a group");
  r->at = at + 1;
  return true;
}

/* Reads from behind the parenthesis. */
static int open_group(struct hf_ecma_reader *r) {
  static const struct {
    const char *text;
    bool looks;
  } kinds[] = {{"?:", false}, {"?=", true}, {"?!", true}, {"?<=", true}, {"?<!", true}};
  if (r->depth == HF_ECMA_DEPTH_MAX)
    return hf_error_set(r->reterr, HF_ERR_LIMIT, "more than %d groups in one another", HF_ECMA_DEPTH_MAX);
  bool *looks = &r->looks[r->depth++];
  *looks = false;
  hf_ecma_put_text(r, "(");
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (hf_ecma_take(r, kinds[i].text)) {
      *looks = kinds[i].looks;
      hf_ecma_put_text(r, kinds[i].text);
      hf_ecma_put_text(r, CALLOUT);
      return 0;
    }
  }
  int err = 0;
  struct hf_str name;
  if (hf_ecma_take(r, "?<"))
    err = read_name(r, &name);
  else if (hf_ecma_take(r, "?"))
    err = take_modifiers(r) ? 0 : hf_ecma_bad(r, "unknown kind of group");
  hf_ecma_put_text(r, r->refers ? CALLOUT : "?:" CALLOUT);
  return err;
}

static int close_group(struct hf_ecma_reader *r) {
  if (r->depth == 0) {
    r->at--;
    return hf_ecma_bad(r, "a parenthesis that was not opened");
  }
  if (r->looks[--r->depth])
    return put_assertion(r, ")");
  hf_ecma_put_text(r, ")");
  struct repeat repeat;
  int err = read_repeat(r, &repeat);
  put_repeat(r, repeat);
  return err;
}

static int read_term(struct hf_ecma_reader *r) {
  size_t start = r->out ? r->out->len : 0;
  char c = hf_ecma_peek(r, 0);
  if (c != '\0' && strchr("*+?{}]", c))
    return hf_ecma_bad(r, c == '}' || c == ']' ? "a bracket that was not opened" : "nothing to repeat");
  r->at++;
  switch (c) {
  case '^':
    return put_assertion(r, "^");
  case '$':
    return put_assertion(r, "\\z");
  case '|':
    hf_ecma_put_text(r, "|" CALLOUT);
    return 0;
  case '(':
    return open_group(r);
  case ')':
    return close_group(r);
  case '\\':
    return read_backslash(r);
  case '.':
    hf_ecma_put_text(r, NO_LINE_END);
    return read_repeated_atom(r, start);
  case '[': {
    int err = hf_ecma_read_class(r);
    return err ? err : read_repeated_atom(r, start);
  }
  default: {
    uint32_t code;
    r->at--;
    int err = hf_ecma_read_literal(r, &code);
    if (err)
      return err;
    hf_ecma_put_code(r, code);
    return read_repeated_atom(r, start);
  }
  }
}

static int add_name(struct hf_ecma_reader *r, unsigned group) {
  struct hf_str name;
  int err = read_name(r, &name);
  if (err)
    return err;
  for (unsigned i = 0; i < r->names; i++) {
    if (hf_str_equal(r->name[i], name))
      hf_ecma_cannot(r, "two groups of one name");
  }
  if (r->names == HF_ECMA_NAMES_MAX)
    return hf_error_set(r->reterr, HF_ERR_LIMIT, "more than %d named groups", HF_ECMA_NAMES_MAX);
  r->name[r->names] = name;
  r->name_group[r->names++] = group;
  return 0;
}

/* Counts and names the groups, for what refers to them may come first. */
static int survey(struct hf_ecma_reader *r) {
  bool in_class = false;
  while (!hf_ecma_at_end(r)) {
    char c = hf_ecma_peek(r, 0), next = hf_ecma_peek(r, 1);
    r->at++;
    if (c == '\\') {
      r->refers = r->refers || (!in_class && (next == 'k' || (next >= '1' && next <= '9')));
      r->at++;
    } else if (c == '[' || c == ']') {
      in_class = c == '[';
    } else if (c == '(' && !in_class && next != '?') {
      r->groups++;
    } else if (c == '(' && !in_class && hf_ecma_take(r, "?<") && hf_ecma_peek(r, 0) != '=' &&
               hf_ecma_peek(r, 0) != '!') {
      int err = add_name(r, ++r->groups);
      if (err)
        return err;
    }
  }
  r->at = 0;
  return 0;
}

int hf_ecma_translate(struct hf_str ecma, struct hf_buf *out, struct hf_error *reterr) {
  struct hf_ecma_reader r = {.text = ecma, .out = out, .reterr = reterr};
  int err = survey(&r);
  hf_ecma_put_text(&r, CALLOUT);
  while (err == 0 && !hf_ecma_at_end(&r))
    err = read_term(&r);
  if (err)
    return err;
  if (r.depth > 0)
    return hf_ecma_bad(&r, "a parenthesis without its end");
  if (r.error)
    return hf_error_set(reterr, r.error, "%s", hf_err_text(r.error));
  if (r.unsupported)
    return hf_error_set(reterr, HF_ERR_UNSUPPORTED, "%s at offset %zu", r.unsupported, r.unsupported_at);
  return 0;
}
