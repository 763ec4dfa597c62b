#include "schema/loose.h"

#include "schema/literal.h"
#include "schema/utf8.h"
#include "json/canonical.h"
#include "json/value.h"

enum {
  ENCODED_MAX = 3, /* strings within strings */
  REPEATED_MAX = 16,
  TAG_MAX = 40,
};

/* A text that may hold more than the value. */
struct reading {
  struct hf_literal l;
  struct hf_buf value; /* the one that counts */
  struct hf_buf next;  /* the one that is being read */
  unsigned values;
  bool fenced; /* within backquotes */
  bool bare;   /* a value stood outside of them */
};

static int peek(const struct hf_literal *l) {
  return l->at < l->text.len ? (unsigned char)l->text.ptr[l->at] : -1;
}

static struct hf_str rest(const struct hf_literal *l) {
  return (struct hf_str){l->text.ptr + l->at, l->text.len - l->at};
}

static bool is_space(int c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool is_tag_name(int c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static void skip_space(struct hf_literal *l) {
  while (is_space(peek(l)))
    l->at++;
}

static int refuse(const struct hf_literal *l, const char *why) {
  return hf_error_set(l->reterr, HF_ERR_SYNTAX, "%s at byte %zu", why, l->at);
}

/* Is `text` JSON as it stands? Returns 0 and the value within it, or the scanner's error. */
static int read_json(struct hf_str text, struct hf_str *ret_value, struct hf_error *reterr) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 0;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text.ptr, text.len, true);
  if (r < 0)
    hf_json_scan_error(&scan, reterr);
  else
    *ret_value = (struct hf_str){text.ptr + scan.nodes[0].start, scan.nodes[0].end - scan.nodes[0].start};
  hf_json_scan_deinit(&scan);
  return r;
}

/* The length of <name>, </name>, <|name|> or <?name ?>, or 0. */
static size_t tag_length(struct hf_str text) {
  if (text.len < 3 || text.ptr[0] != '<')
    return 0;
  size_t at = 1 + (text.ptr[1] == '/' || text.ptr[1] == '|' || text.ptr[1] == '?'), start = at;
  while (at < text.len && at < TAG_MAX && is_tag_name((unsigned char)text.ptr[at]))
    at++;
  if (at == start)
    return 0;
  while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '|' || text.ptr[at] == '?'))
    at++;
  return at < text.len && text.ptr[at] == '>' ? at + 1 : 0;
}

/* Passes a tag; what stands between those of thoughts goes with them, for it was not said. */
static int skip_tag(struct hf_literal *l, size_t length, bool any_value) {
  static const struct hf_str thoughts[][2] = {
      {{"<think>", 7}, {"</think>", 8}},
      {{"<thinking>", 10}, {"</thinking>", 11}},
      {{"<reasoning>", 11}, {"</reasoning>", 12}},
  };
  l->how |= HF_LOOSE_TAGS;
  for (size_t i = 0; i < sizeof thoughts / sizeof thoughts[0]; i++) {
    if (hf_str_starts(rest(l), thoughts[i][1]) && any_value)
      return refuse(l, "a value that was only thought of");
    if (!hf_str_starts(rest(l), thoughts[i][0]))
      continue;
    const char *end = memmem(l->text.ptr + l->at, l->text.len - l->at, thoughts[i][1].ptr, thoughts[i][1].len);
    if (!end)
      return refuse(l, "thoughts without an end");
    l->how |= HF_LOOSE_WORDS;
    l->at = (size_t)(end - l->text.ptr);
    length = thoughts[i][1].len;
  }
  l->at += length;
  return 0;
}

/* Passes backquotes, and behind three the name of a language. */
static void skip_fence(struct hf_literal *l) {
  l->how |= HF_LOOSE_FENCE;
  size_t start = l->at;
  while (peek(l) == '`')
    l->at++;
  if (l->at - start >= 3)
    while (is_tag_name(peek(l)))
      l->at++;
}

static bool same_value(struct hf_str a, struct hf_str b) {
  struct hf_buf left, right;
  hf_buf_init(&left, 2 * a.len + 64);
  hf_buf_init(&right, 2 * b.len + 64);
  bool same = hf_json_canonical(a, &left) == 0 && hf_json_canonical(b, &right) == 0 &&
              hf_str_equal(hf_buf_str(&left), hf_buf_str(&right));
  hf_buf_deinit(&left);
  hf_buf_deinit(&right);
  return same;
}

/* Reads the value that starts here, which must be the same as the one before. */
static int read_next(struct reading *r) {
  r->next.len = 0;
  r->bare = r->bare || !r->fenced;
  r->l.out = r->values > 0 ? &r->next : &r->value;
  int err = hf_literal_value(&r->l);
  if (err < 0 || r->values++ == 0)
    return err;
  if (r->values > REPEATED_MAX)
    return refuse(&r->l, "a value that is said too often ends");
  r->l.how |= HF_LOOSE_REPEATED;
  if (same_value(hf_buf_str(&r->value), hf_buf_str(&r->next)))
    return 0;
  if (!hf_str_equal(hf_buf_str(&r->value), HF_STR("{}")))
    return refuse(&r->l, "a second value ends");
  r->value.len = 0;
  return hf_buf_append_str(&r->value, hf_buf_str(&r->next));
}

/* A bracket that continues a word belongs to it: data[0]. */
static bool continues_word(const struct hf_literal *l) {
  int c = l->at > 0 ? (unsigned char)l->text.ptr[l->at - 1] : -1;
  return is_tag_name(c) || c == ')' || c == ']' || c == '"' || c == '\'' || c == '.';
}

/* Passes what reads as words, to the end of the line or to what may be a value. Anything that looks like a part of a
 * value is none. */
static int skip_words(struct reading *r) {
  struct hf_literal *l = &r->l;
  if (r->values > 0 && (!is_letter(peek(l)) || continues_word(l) || l->text.ptr[l->at - 1] == '}'))
    return refuse(l, "text after the value");
  l->how |= HF_LOOSE_WORDS;
  for (; l->at < l->text.len; l->at++) {
    int c = peek(l);
    if (c == '\n' || c == '{' || c == '[' || c == '`' || (c == '<' && tag_length(rest(l)) > 0))
      return 0;
    if (c == '}' || c == ']' || c == '=' || hf_str_starts(rest(l), HF_STR("\":")))
      return refuse(l, "text that is no value");
  }
  return 0;
}

/* Whatever follows the fence that held the value is about it, code included. Only another fence with another value
 * makes it one of two. */
static int read_commentary(struct reading *r) {
  struct hf_literal *l = &r->l;
  const struct hf_str fence = HF_STR("```");
  const char *start;
  while ((start = memmem(l->text.ptr + l->at, l->text.len - l->at, fence.ptr, fence.len))) {
    l->how |= HF_LOOSE_WORDS;
    l->at = (size_t)(start - l->text.ptr);
    skip_fence(l);
    skip_space(l);
    r->next.len = 0;
    struct hf_literal inner = {.text = l->text, .at = l->at, .out = &r->next};
    bool starts = peek(l) == '{' || peek(l) == '[' || hf_literal_is_call(l);
    int err = starts ? hf_literal_value(&inner) : HF_ERR_SYNTAX;
    if (err == HF_ERR_NOMEM)
      return err;
    if (err == 0 && !same_value(hf_buf_str(&r->value), hf_buf_str(&r->next)))
      return refuse(l, "another fence with another value");
    const char *end = memmem(l->text.ptr + l->at, l->text.len - l->at, fence.ptr, fence.len);
    l->at = end ? (size_t)(end - l->text.ptr) + fence.len : l->text.len;
  }
  skip_space(l);
  if (l->at < l->text.len)
    l->how |= HF_LOOSE_WORDS;
  l->at = l->text.len;
  return 0;
}

/* Reads a text in which the value may stand among fences, tags and words. */
static int read_among(struct reading *r) {
  struct hf_literal *l = &r->l;
  int err = 0;
  for (skip_space(l); err == 0 && l->at < l->text.len; skip_space(l)) {
    size_t tag = tag_length(rest(l));
    int c = peek(l);
    if (c == '`') {
      skip_fence(l);
      r->fenced = !r->fenced;
      if (!r->fenced && r->values > 0 && !r->bare)
        err = read_commentary(r);
    } else if (tag > 0) {
      err = skip_tag(l, tag, r->values > 0);
    } else if (((c == '{' || c == '[') && (l->at == 0 || !continues_word(l) || r->values > 0)) ||
               hf_literal_is_call(l)) {
      err = read_next(r);
    } else {
      err = c == '{' || c == '[' ? refuse(l, "a bracket within words") : skip_words(r);
    }
  }
  if (err == 0 && r->values == 0)
    return hf_error_set(l->reterr, HF_ERR_SYNTAX, "no value in the text");
  return err;
}

/* Reads a text that is nothing but the value. */
static int read_alone(struct reading *r) {
  r->l.out = &r->value;
  int err = hf_literal_space(&r->l);
  if (err == 0)
    err = hf_literal_value(&r->l);
  if (err == 0)
    err = hf_literal_space(&r->l);
  return err == 0 && r->l.at < r->l.text.len ? refuse(&r->l, "text after the value") : err;
}

/* Passes a byte order mark. */
static struct hf_str skip_mark(struct hf_str raw) {
  const struct hf_str mark = HF_STR("\xef\xbb\xbf");
  return hf_str_starts(raw, mark) ? (struct hf_str){raw.ptr + mark.len, raw.len - mark.len} : raw;
}

static int read_any(struct reading *r, struct hf_str raw, struct hf_error *reterr) {
  raw = skip_mark(raw);
  r->l = (struct hf_literal){.text = raw, .reterr = reterr};
  int err = read_alone(r);
  if (err == 0 || err == HF_ERR_NOMEM || err == HF_ERR_LIMIT)
    return err;
  r->value.len = 0;
  r->l = (struct hf_literal){.text = raw, .reterr = reterr};
  return read_among(r);
}

static int read_level(struct hf_str raw, unsigned level, struct hf_buf *value, unsigned *ret_how,
                      struct hf_error *reterr);

/* If the string that was read holds a container, puts that in its place. Returns 0; HF_ERR_NOTFOUND if it does not. */
static int read_inner(struct hf_buf *value, unsigned level, unsigned *io_how) {
  struct hf_buf text, inner;
  hf_buf_init(&text, value->len + 1);
  hf_buf_init(&inner, value->max);
  unsigned how = 0;
  int err = hf_json_unescape(hf_buf_str(value), &text);
  if (err == 0)
    err = read_level(hf_buf_str(&text), level + 1, &inner, &how, NULL);
  bool found = err == 0 && (inner.data[0] == '{' || inner.data[0] == '[') && !(how & (HF_LOOSE_WORDS | HF_LOOSE_CALL));
  if (found) {
    value->len = 0;
    err = hf_buf_append_str(value, hf_buf_str(&inner));
    *io_how |= how | HF_LOOSE_ENCODED_TWICE;
  } else if (err != HF_ERR_NOMEM) {
    err = HF_ERR_NOTFOUND;
  }
  hf_buf_deinit(&text);
  hf_buf_deinit(&inner);
  return err;
}

/* The content of a string without its quotes, {\"a\": 1}: a backslash right behind the first bracket means nothing
 * else.
 */
static int read_unquoted(struct hf_str raw, unsigned level, struct hf_buf *value, unsigned *io_how) {
  size_t at = 1;
  while (at < raw.len && is_space((unsigned char)raw.ptr[at]))
    at++;
  if (at >= raw.len || (raw.ptr[0] != '{' && raw.ptr[0] != '[') || raw.ptr[at] != '\\')
    return HF_ERR_SYNTAX;
  value->len = 0;
  *io_how = 0;
  struct hf_str quoted;
  int err = hf_buf_append(value, "\"", 1);
  if (err == 0)
    err = hf_buf_append_str(value, raw);
  if (err == 0)
    err = hf_buf_append(value, "\"", 1);
  if (err == 0)
    err = read_json(hf_buf_str(value), &quoted, NULL);
  if (err == 0)
    err = read_inner(value, level, io_how);
  return err == HF_ERR_NOTFOUND ? HF_ERR_SYNTAX : err;
}

/* Reads what is no JSON. */
static int read_loose(struct hf_str raw, unsigned level, struct hf_buf *value, unsigned *ret_how,
                      struct hf_error *reterr) {
  struct reading r = {.value = *value};
  hf_buf_init(&r.next, value->max);
  int err = read_any(&r, raw, reterr);
  *value = r.value;
  *ret_how = r.l.how;
  hf_buf_deinit(&r.next);
  if (err == HF_ERR_SYNTAX)
    err = read_unquoted(raw, level, value, ret_how);
  return err;
}

/* What was read has no white space around it. */
static int read_level(struct hf_str raw, unsigned level, struct hf_buf *value, unsigned *ret_how,
                      struct hf_error *reterr) {
  struct hf_str json;
  *ret_how = 0;
  int err = read_json(raw, &json, reterr);
  if (err == 0) {
    err = hf_buf_append_str(value, json);
  } else if (err == HF_ERR_SYNTAX) {
    err = read_loose(raw, level, value, ret_how, reterr);
    if (err == 0)
      err = read_json(hf_buf_str(value), &json, reterr);
  }
  if (err == 0 && value->data[0] == '"' && level < ENCODED_MAX)
    err = read_inner(value, level, ret_how);
  return err == HF_ERR_NOTFOUND ? 0 : err;
}

/* Words and comments around the value are passed byte by byte. */
static bool is_utf8(struct hf_str text) {
  uint32_t code;
  for (size_t len; text.len > 0; text = (struct hf_str){text.ptr + len, text.len - len})
    if ((len = hf_utf8_read(text, &code)) == 0)
      return false;
  return true;
}

int hf_loose_read(struct hf_str raw, struct hf_buf *out, unsigned *ret_how, struct hf_error *reterr) {
  struct hf_buf value;
  hf_buf_init(&value, out->max);
  unsigned how = 0;
  int err = read_level(raw, 0, &value, &how, reterr);
  if (err == 0 && how != 0 && !is_utf8(raw))
    err = hf_error_set(reterr, HF_ERR_SYNTAX, "bytes that are no UTF-8");
  if (err == 0)
    err = hf_buf_append_str(out, hf_buf_str(&value));
  if (err == 0)
    *ret_how = how;
  hf_buf_deinit(&value);
  return err;
}
