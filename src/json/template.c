#include "json/template.h"

#include "json/canonical.h"
#include "json/pointer.h"
#include "json/write.h"

enum { SHOWN_MAX = 60 };

struct template {
  struct hf_json_scan scan;
  struct hf_json_doc doc;
  struct hf_arena arena; /* strings of it that are escaped */
  bool is_plain;         /* it has no hole, and no braces that stand for braces */
};

/* A part of a string: text that stays, or a hole. */
struct piece {
  bool is_hole;
  struct hf_str text; /* or the hole's path: absent for the whole source */
  bool has_default;
  bool default_is_json; /* else bare text */
  struct hf_str fallback;
};

/* Somebody who is shown every hole. */
struct visitor {
  int (*hole)(void *ctx, const struct piece *hole);
  void *ctx;
};

static const char *find(struct hf_str text, const char *two) {
  return memmem(text.ptr, text.len, two, 2);
}

static struct hf_str after(struct hf_str text, size_t len) {
  return (struct hf_str){text.ptr + len, text.len - len};
}

static size_t skip_space(struct hf_str text, size_t at) {
  while (at < text.len && strchr(" \t\n\r", text.ptr[at]) && text.ptr[at])
    at++;
  return at;
}

/* The length of the JSON value that `text` starts with, or 0. */
static size_t json_length(struct hf_str text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.sequence = true;
  options.tree_depth = 0;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text.ptr, text.len, true);
  size_t len = r == 0 ? scan.pos : 0;
  hf_json_scan_deinit(&scan);
  return len;
}

/* Reads what stands behind the bar up to the braces. It may have braces in it, where it is JSON. */
static const char *read_default(struct hf_str *text, struct piece *hole) {
  struct hf_str json = after(*text, skip_space(*text, 0));
  size_t len = json_length(json);
  size_t end = skip_space(json, len);
  hole->has_default = true;
  hole->default_is_json = len > 0 && hf_str_starts(after(json, end), HF_STR("}}"));
  if (hole->default_is_json) {
    hole->fallback = (struct hf_str){json.ptr, len};
    *text = after(json, end + 2);
    return NULL;
  }
  const char *braces = find(*text, "}}");
  if (!braces)
    return "a hole has no end";
  hole->fallback = hf_str_trim((struct hf_str){text->ptr, (size_t)(braces - text->ptr)});
  *text = after(*text, (size_t)(braces - text->ptr) + 2);
  return NULL;
}

static const char *check_path(struct hf_str path) {
  if (path.len == 0)
    return NULL;
  if (memchr(path.ptr, '{', path.len))
    return "a hole has a brace in its path";
  if (path.ptr[0] == '/')
    return hf_json_pointer_check(path, NULL) < 0 ? "a hole has a bad JSON Pointer" : NULL;
  if (path.ptr[0] == '.' || path.ptr[path.len - 1] == '.' || find(path, ".."))
    return "a hole has an empty name in its path";
  return NULL;
}

/* Reads a hole from the front of `text`, behind its opening braces. Returns NULL or what is wrong. */
static const char *read_hole(struct hf_str *text, struct piece *hole) {
  const char *braces = find(*text, "}}");
  if (!braces)
    return "a hole has no end";
  const char *bar = memchr(text->ptr, '|', (size_t)(braces - text->ptr));
  const char *stop = bar ? bar : braces;
  *hole = (struct piece){.is_hole = true};
  struct hf_str path = hf_str_trim((struct hf_str){text->ptr, (size_t)(stop - text->ptr)});
  const char *fault = check_path(path);
  if (fault)
    return fault;
  if (path.len > 0)
    hole->text = path;
  size_t taken = (size_t)(stop - text->ptr) + (bar ? 1 : 2);
  *text = after(*text, taken);
  return bar ? read_default(text, hole) : NULL;
}

/* Takes the next piece off the front of `text`, which is not empty. Returns NULL or what is wrong. */
static const char *read_piece(struct hf_str *text, struct piece *ret_piece) {
  struct hf_str opening = HF_STR("{{");
  if (hf_str_starts(*text, HF_STR("{{{{"))) {
    *ret_piece = (struct piece){.text = {text->ptr, opening.len}};
    *text = after(*text, 2 * opening.len);
    return NULL;
  }
  if (hf_str_starts(*text, opening)) {
    *text = after(*text, opening.len);
    return read_hole(text, ret_piece);
  }
  const char *next = find(*text, "{{");
  size_t len = next ? (size_t)(next - text->ptr) : text->len;
  *ret_piece = (struct piece){.text = {text->ptr, len}};
  *text = after(*text, len);
  return NULL;
}

static int refuse(struct hf_error *reterr, const char *fault, struct hf_str place) {
  size_t len = place.len < SHOWN_MAX ? place.len : SHOWN_MAX;
  return hf_error_set(reterr, HF_ERR_SYNTAX, "%s: '%.*s'", fault, (int)len, place.ptr);
}

static int read_string(struct template *t, uint32_t node, struct hf_str *ret_text) {
  return hf_json_string(&t->doc, node, &t->arena, ret_text);
}

static int visit_string(struct template *t, uint32_t node, const struct visitor *visitor, struct hf_error *reterr) {
  struct hf_str text;
  int r = read_string(t, node, &text);
  if (r < 0)
    return hf_error_set(reterr, r, "%s", hf_err_text(r));
  struct hf_str rest = text;
  t->is_plain = t->is_plain && !find(text, "{{");
  while (r == 0 && rest.len > 0) {
    struct piece piece;
    const char *fault = read_piece(&rest, &piece);
    if (fault)
      return refuse(reterr, fault, text);
    if (piece.is_hole)
      r = visitor->hole(visitor->ctx, &piece);
  }
  return r;
}

static int check_name(struct template *t, uint32_t key, struct hf_error *reterr) {
  struct hf_str name;
  int r = read_string(t, key, &name);
  if (r < 0)
    return hf_error_set(reterr, r, "%s", hf_err_text(r));
  return find(name, "{{") ? refuse(reterr, "the name of a member cannot have a hole", name) : 0;
}

/* Recurses at most HF_TEMPLATE_DEPTH deep. */
static int visit(struct template *t, uint32_t node, const struct visitor *visitor, struct hf_error *reterr) {
  if (hf_json_type(&t->doc, node) == HF_JSON_STRING)
    return visit_string(t, node, visitor, reterr);
  struct hf_json_iter iter = hf_json_iter(&t->doc, node);
  uint32_t key, value;
  int r = 0;
  while (r == 0 && hf_json_next(&t->doc, &iter, &key, &value)) {
    if (iter.object)
      r = check_name(t, key, reterr);
    if (r == 0)
      r = visit(t, value, visitor, reterr);
  }
  return r;
}

/* Canonical text has no member twice. */
static int check_members(struct hf_str raw, struct hf_error *reterr) {
  struct hf_buf text;
  hf_buf_init(&text, HF_TEMPLATE_BYTES * 4);
  int r = hf_json_canonical(raw, &text);
  hf_buf_deinit(&text);
  return r < 0 ? hf_error_set(reterr, r, "%s", hf_err_text(r)) : 0;
}

/* Reads a template and shows all holes. To be ended by `close_template` either way. */
static int open_template(struct template *t, struct hf_str raw, const struct visitor *visitor,
                         struct hf_error *reterr) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_bytes = HF_TEMPLATE_BYTES;
  options.max_nodes = HF_TEMPLATE_NODES;
  options.max_depth = HF_TEMPLATE_DEPTH;
  hf_json_scan_init(&t->scan, &options);
  hf_arena_init(&t->arena, (size_t)HF_TEMPLATE_BYTES * 4);
  int r = hf_json_scan_feed(&t->scan, raw.ptr, raw.len, true);
  if (r < 0) {
    hf_json_scan_error(&t->scan, reterr);
    return r;
  }
  t->doc = hf_json_doc(raw.ptr, &t->scan);
  t->is_plain = true;
  r = check_members(raw, reterr);
  return r == 0 ? visit(t, 0, visitor, reterr) : r;
}

static void close_template(struct template *t) {
  hf_json_scan_deinit(&t->scan);
  hf_arena_deinit(&t->arena);
}

static uint32_t path_depth(struct hf_str path) {
  if (!path.ptr)
    return 0;
  if (path.ptr[0] == '/')
    return hf_json_pointer_depth(path);
  uint32_t depth = 1;
  for (size_t i = 0; i < path.len && depth < HF_JSON_TREE_ALL; i++)
    depth += path.ptr[i] == '.';
  return depth;
}

/* How deep the source has to be known. */
static int note_depth(void *ctx, const struct piece *hole) {
  uint32_t *depth = ctx;
  uint32_t own = path_depth(hole->text);
  *depth = own > *depth ? own : *depth;
  return 0;
}

struct filler {
  struct template *template;
  struct hf_json_doc source;
  struct hf_json_writer writer;
  bool whole; /* nothing may be left out */
};

static int walk_names(const struct hf_json_doc *doc, struct hf_str path, uint32_t *ret_node) {
  uint32_t node = 0;
  int r = 0;
  while (r == 0 && path.ptr) {
    const char *dot = memchr(path.ptr, '.', path.len);
    size_t len = dot ? (size_t)(dot - path.ptr) : path.len;
    r = hf_json_step(doc, node, (struct hf_str){path.ptr, len}, &node);
    path = dot ? after(path, len + 1) : (struct hf_str){NULL, 0};
  }
  *ret_node = node;
  return r;
}

/* Finds what fills a hole: raw JSON, or bare text. */
static int resolve(const struct filler *f, const struct piece *hole, struct hf_str *ret_value, bool *ret_json) {
  uint32_t node = 0;
  int r = 0;
  if (hole->text.ptr && hole->text.ptr[0] == '/')
    r = hf_json_pointer_walk(&f->source, hole->text, &node);
  else if (hole->text.ptr)
    r = walk_names(&f->source, hole->text, &node);
  if (r == HF_ERR_NOTFOUND && hole->has_default) {
    *ret_value = hole->fallback;
    *ret_json = hole->default_is_json;
    return 0;
  }
  if (r == 0) {
    *ret_value = hf_json_span(&f->source, node);
    *ret_json = true;
  }
  return r;
}

/* Appends to the inside of a string. That of another string is in place as it is spelt. */
static int append_inside(struct hf_buf *out, struct hf_str value, bool json) {
  if (json && value.ptr[0] == '"')
    return hf_buf_append(out, value.ptr + 1, value.len - 2);
  return hf_json_escape_part(out, value);
}

static int fill_text(struct filler *f, struct hf_str text, struct hf_buf *string) {
  int r = hf_buf_append(string, "\"", 1);
  while (r == 0 && text.len > 0) {
    struct piece piece;
    if (read_piece(&text, &piece))
      return HF_ERR_SYNTAX;
    struct hf_str value = piece.text;
    bool json = false;
    if (piece.is_hole)
      r = resolve(f, &piece, &value, &json);
    if (r == 0)
      r = append_inside(string, value, json);
  }
  return r == 0 ? hf_buf_append(string, "\"", 1) : r;
}

static int fill_alone(struct filler *f, const struct piece *hole) {
  struct hf_str value;
  bool json;
  int r = resolve(f, hole, &value, &json);
  if (r < 0)
    return r;
  if (json)
    hf_json_write_raw(&f->writer, value);
  else
    hf_json_write_str(&f->writer, value);
  return f->writer.error;
}

static int fill_string(struct filler *f, uint32_t node) {
  struct hf_str text;
  int r = read_string(f->template, node, &text);
  if (r < 0)
    return r;
  if (!find(text, "{{")) {
    hf_json_write_raw(&f->writer, hf_json_span(&f->template->doc, node));
    return f->writer.error;
  }
  struct hf_str rest = text;
  struct piece first;
  if (read_piece(&rest, &first))
    return HF_ERR_SYNTAX;
  if (first.is_hole && rest.len == 0)
    return fill_alone(f, &first);

  struct hf_buf string;
  hf_buf_init(&string, f->writer.buf->max);
  r = fill_text(f, text, &string);
  if (r == 0) {
    hf_json_write_raw(&f->writer, hf_buf_str(&string));
    r = f->writer.error;
  }
  hf_buf_deinit(&string);
  return r;
}

static int fill(struct filler *f, uint32_t node);

/* Fills members or elements; takes back what was begun of one of which nothing is there. */
static int fill_content(struct filler *f, uint32_t container) {
  const struct hf_json_doc *doc = &f->template->doc;
  struct hf_json_iter iter = hf_json_iter(doc, container);
  uint32_t key, value;
  int r = 0;
  while (r == 0 && hf_json_next(doc, &iter, &key, &value)) {
    struct hf_json_writer before = f->writer;
    size_t len = before.buf->len;
    if (iter.object)
      hf_json_write_key_raw(&f->writer, hf_json_span(doc, key));
    r = fill(f, value);
    if (r == HF_ERR_NOTFOUND && !f->whole) {
      f->writer = before;
      before.buf->len = len;
      r = 0;
    }
  }
  return r;
}

/* Recurses at most HF_TEMPLATE_DEPTH deep. */
static int fill(struct filler *f, uint32_t node) {
  const struct hf_json_doc *doc = &f->template->doc;
  struct hf_json_writer *w = &f->writer;
  enum hf_json_type type = hf_json_type(doc, node);
  if (type == HF_JSON_STRING)
    return fill_string(f, node);
  if (type != HF_JSON_OBJECT && type != HF_JSON_ARRAY) {
    hf_json_write_raw(w, hf_json_span(doc, node));
    return w->error;
  }
  if (type == HF_JSON_OBJECT)
    hf_json_write_object(w);
  else
    hf_json_write_array(w);
  int r = fill_content(f, node);
  if (r < 0)
    return r;
  if (type == HF_JSON_OBJECT)
    hf_json_write_object_end(w);
  else
    hf_json_write_array_end(w);
  return w->error;
}

static int fill_from(struct template *t, uint32_t depth, struct hf_str source, bool whole, struct hf_buf *out) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = HF_JSON_POINTER_NODES;
  options.tree_depth = depth;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, source.ptr, source.len, true);
  if (r == 0) {
    struct filler f = {.template = t, .source = hf_json_doc(source.ptr, &scan), .whole = whole};
    hf_json_writer_init(&f.writer, out);
    r = fill(&f, 0);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

static int fill_template(struct hf_str raw, struct hf_str source, bool whole, struct hf_buf *out) {
  uint32_t depth = 0;
  const struct visitor visitor = {note_depth, &depth};
  struct template t;
  size_t start = out->len;
  int r = open_template(&t, raw, &visitor, NULL);
  if (r == 0 && t.is_plain)
    r = hf_buf_append_str(out, hf_json_span(&t.doc, 0));
  else if (r == 0)
    r = fill_from(&t, depth, source, whole, out);
  if (r < 0)
    out->len = start;
  close_template(&t);
  return r;
}

int hf_template_fill(struct hf_str raw, struct hf_str source, struct hf_buf *out) {
  return fill_template(raw, source, false, out);
}

int hf_template_fill_whole(struct hf_str raw, struct hf_str source, struct hf_buf *out) {
  return fill_template(raw, source, true, out);
}

static int ignore_hole(void *ctx, const struct piece *hole) {
  (void)ctx;
  (void)hole;
  return 0;
}

int hf_template_check(struct hf_str raw, struct hf_error *reterr) {
  const struct visitor visitor = {ignore_hole, NULL};
  struct template t;
  int r = open_template(&t, raw, &visitor, reterr);
  close_template(&t);
  return r;
}

struct name_visitor {
  void (*name)(void *ctx, struct hf_str name, bool has_default);
  void *ctx;
};

static int tell_name(void *ctx, const struct piece *hole) {
  const struct name_visitor *v = ctx;
  struct hf_str path = hole->text;
  if (path.ptr && path.ptr[0] == '/') {
    struct hf_buf token;
    hf_buf_init(&token, path.len);
    int r = hf_json_pointer_next(&path, &token);
    if (r == 0)
      v->name(v->ctx, hf_buf_str(&token), hole->has_default);
    hf_buf_deinit(&token);
    return r;
  }
  const char *dot = path.ptr ? memchr(path.ptr, '.', path.len) : NULL;
  if (dot)
    path.len = (size_t)(dot - path.ptr);
  v->name(v->ctx, path, hole->has_default);
  return 0;
}

int hf_template_names(struct hf_str raw, void (*name)(void *ctx, struct hf_str name, bool has_default), void *ctx) {
  struct name_visitor names = {name, ctx};
  const struct visitor visitor = {tell_name, &names};
  struct template t;
  int r = open_template(&t, raw, &visitor, NULL);
  close_template(&t);
  return r;
}
