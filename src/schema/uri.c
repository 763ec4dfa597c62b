#include "schema/uri.h"

#include <stdbool.h>

struct parts {
  struct hf_str scheme;    /* absent, or without its colon */
  struct hf_str authority; /* absent, or without its slashes */
  struct hf_str path;
  struct hf_str query; /* absent, or without its question mark */
};

static const struct hf_str ABSENT = {NULL, 0};

static struct hf_str from(struct hf_str s, size_t at) {
  return (struct hf_str){s.ptr + at, s.len - at};
}

static struct hf_str until(struct hf_str s, size_t len) {
  return (struct hf_str){s.ptr, len};
}

static size_t find(struct hf_str s, char byte) {
  const char *at = s.len ? memchr(s.ptr, byte, s.len) : NULL;
  return at ? (size_t)(at - s.ptr) : s.len;
}

void hf_uri_split(struct hf_str uri, struct hf_str *ret_resource, struct hf_str *ret_fragment) {
  const char *hash = uri.len ? memchr(uri.ptr, '#', uri.len) : NULL;
  size_t len = hash ? (size_t)(hash - uri.ptr) : uri.len;
  *ret_resource = until(uri, len);
  *ret_fragment = hash ? from(uri, len + 1) : ABSENT;
}

static bool is_scheme(struct hf_str s) {
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && (i == 0 || !other))
      return false;
  }
  return s.len > 0;
}

static struct parts split(struct hf_str uri) {
  struct parts p = {ABSENT, ABSENT, uri, ABSENT};
  size_t colon = find(p.path, ':');
  if (colon < p.path.len && is_scheme(until(p.path, colon))) {
    p.scheme = until(p.path, colon);
    p.path = from(p.path, colon + 1);
  }
  size_t question = find(p.path, '?');
  if (question < p.path.len) {
    p.query = from(p.path, question + 1);
    p.path = until(p.path, question);
  }
  if (hf_str_starts(p.path, HF_STR("//"))) {
    struct hf_str rest = from(p.path, 2);
    size_t slash = find(rest, '/');
    p.authority = until(rest, slash);
    p.path = from(rest, slash);
  }
  return p;
}

/* Drops the last segment of what was appended since `start`, with its slash. */
static void drop_segment(struct hf_buf *out, size_t start) {
  while (out->len > start && out->data[out->len - 1] != '/')
    out->len--;
  if (out->len > start)
    out->len--;
}

/* Appends a path without its "." and ".." segments (section 5.2.4). */
static int append_path(struct hf_str path, struct hf_buf *out, size_t start) {
  int r = 0;
  while (path.len > 0 && r == 0) {
    size_t slash = path.ptr[0] == '/';
    size_t len = slash + find(from(path, slash), '/');
    struct hf_str segment = from(until(path, len), slash);
    bool last = len == path.len;
    bool up = hf_str_equal(segment, HF_STR(".."));
    if (up)
      drop_segment(out, start);
    if (!up && !hf_str_equal(segment, HF_STR(".")))
      r = hf_buf_append_str(out, until(path, len));
    else if (last && slash)
      r = hf_buf_append(out, "/", 1);
    path = from(path, len);
  }
  return r;
}

static int append_with(struct hf_buf *out, const char *before, struct hf_str text, const char *after) {
  if (!text.ptr)
    return 0;
  int r = hf_buf_append(out, before, strlen(before));
  if (r == 0)
    r = hf_buf_append_str(out, text);
  return r < 0 ? r : hf_buf_append(out, after, strlen(after));
}

/* The path of a relative reference: it takes the place of the base's last segment. The base has no dots left in it. */
static int append_merged(const struct parts *base, struct hf_str path, struct hf_buf *out) {
  size_t start = out->len, dir = base->path.len;
  while (dir > 0 && base->path.ptr[dir - 1] != '/')
    dir--;
  if (dir == 0 && !base->authority.ptr)
    return append_path(path, out, start);
  struct hf_buf rooted;
  hf_buf_init(&rooted, out->max);
  int r = hf_buf_append(&rooted, "/", 1);
  if (r == 0)
    r = hf_buf_append_str(&rooted, path);
  if (r == 0)
    r = hf_buf_append_str(out, until(base->path, dir > 0 ? dir - 1 : 0));
  if (r == 0)
    r = append_path(hf_buf_str(&rooted), out, start);
  hf_buf_deinit(&rooted);
  return r;
}

int hf_uri_resolve(struct hf_str base, struct hf_str reference, struct hf_buf *out) {
  if (reference.len == 0)
    return hf_buf_append_str(out, base);
  struct parts b = split(base), ref = split(reference);
  const struct parts *place = ref.scheme.ptr || ref.authority.ptr ? &ref : &b;
  int r = append_with(out, "", ref.scheme.ptr ? ref.scheme : b.scheme, ":");
  if (r == 0)
    r = append_with(out, "//", place->authority, "");
  if (r < 0)
    return r;
  if (place == &ref || hf_str_starts(ref.path, HF_STR("/")))
    r = append_path(ref.path, out, out->len);
  else if (ref.path.len == 0)
    r = hf_buf_append_str(out, b.path);
  else
    r = append_merged(&b, ref.path, out);
  struct hf_str query = ref.query.ptr || place == &ref || ref.path.len > 0 ? ref.query : b.query;
  return r < 0 ? r : append_with(out, "?", query, "");
}

static int digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hf_uri_decode(struct hf_str text, struct hf_buf *out) {
  int r = 0;
  for (size_t i = 0; i < text.len && r == 0; i++) {
    char c = text.ptr[i];
    if (c == '%' && text.len - i > 2 && digit(text.ptr[i + 1]) >= 0 && digit(text.ptr[i + 2]) >= 0) {
      c = (char)(digit(text.ptr[i + 1]) << 4 | digit(text.ptr[i + 2]));
      i += 2;
    }
    r = hf_buf_append(out, &c, 1);
  }
  return r;
}
