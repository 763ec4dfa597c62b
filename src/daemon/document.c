#include "daemon/document.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <libfyaml.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct build {
  struct hf_arena *arena;
  struct hf_problems *problems;
  struct fy_document *document;
  int error;
};

static void fail_to(struct build *b, int code) {
  if (b->error == 0)
    b->error = code;
}

static struct hf_place place_of(struct fy_node *node, struct hf_place otherwise) {
  struct fy_token *token = fy_node_get_scalar_token(node);
  const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
  if (!mark)
    return otherwise;
  /* libfyaml marks what stands between the quotes. */
  enum fy_node_style style = fy_node_get_style(node);
  bool quoted = style == FYNS_SINGLE_QUOTED || style == FYNS_DOUBLE_QUOTED;
  return (struct hf_place){mark->line + 1, mark->column + (quoted && mark->column > 0 ? 0 : 1)};
}

static struct hf_str copy_scalar(struct build *b, struct fy_node *node) {
  size_t len = 0;
  const char *text = fy_node_get_scalar(node, &len);
  struct hf_str copy = hf_arena_copy(b->arena, (struct hf_str){text ? text : "", text ? len : 0});
  if (!copy.ptr)
    fail_to(b, HF_ERR_NOMEM);
  return copy;
}

static bool means_null(struct hf_str text) {
  return text.len == 0 || hf_str_equal(text, HF_STR("~")) || hf_str_equal(text, HF_STR("null")) ||
         hf_str_equal(text, HF_STR("Null")) || hf_str_equal(text, HF_STR("NULL"));
}

static void fill(struct build *b, struct fy_node *from, struct hf_node *to, int depth);

static void fill_scalar(struct build *b, struct fy_node *from, struct hf_node *to) {
  to->text = copy_scalar(b, from);
  to->quoted = fy_node_get_style(from) != FYNS_PLAIN;
  to->kind = !to->quoted && means_null(to->text) ? HF_NODE_NULL : HF_NODE_SCALAR;
}

static struct hf_node *add_child(struct build *b, struct hf_node *parent, struct hf_node **tail) {
  struct hf_node *child = hf_arena_alloc(b->arena, sizeof *child);
  if (!child) {
    fail_to(b, HF_ERR_NOMEM);
    return NULL;
  }
  if (*tail)
    (*tail)->next = child;
  else
    parent->first = child;
  *tail = child;
  parent->count++;
  child->place = parent->place;
  return child;
}

static void fill_sequence(struct build *b, struct fy_node *from, struct hf_node *to, int depth) {
  to->kind = HF_NODE_SEQUENCE;
  struct hf_node *tail = NULL;
  void *walk = NULL;
  struct fy_node *item;
  while (b->error == 0 && (item = fy_node_sequence_iterate(from, &walk))) {
    struct hf_node *child = add_child(b, to, &tail);
    if (!child)
      return;
    child->place = place_of(item, to->place);
    fill(b, item, child, depth + 1);
    if (child->kind == HF_NODE_MAPPING && child->first)
      child->place = child->first->place;
  }
}

static void fill_mapping(struct build *b, struct fy_node *from, struct hf_node *to, int depth) {
  to->kind = HF_NODE_MAPPING;
  struct hf_node *tail = NULL;
  void *walk = NULL;
  struct fy_node_pair *pair;
  while (b->error == 0 && (pair = fy_node_mapping_iterate(from, &walk))) {
    struct fy_node *key = fy_node_pair_key(pair);
    struct hf_node *child = add_child(b, to, &tail);
    if (!child)
      return;
    if (!key || !fy_node_is_scalar(key) || fy_node_is_alias(key)) {
      hf_problems_error(b->problems, child->place, "a key must be a plain string%s",
                        key && fy_node_is_mapping(key) ? "; if this is a template, write it in quotes: \"{{…}}\"" : "");
      fail_to(b, HF_ERR_SYNTAX);
      return;
    }
    child->key = copy_scalar(b, key);
    child->place = place_of(key, to->place);
    struct fy_node *value = fy_node_pair_value(pair);
    if (value)
      fill(b, value, child, depth + 1);
  }
}

static void fill(struct build *b, struct fy_node *from, struct hf_node *to, int depth) {
  if (depth > HF_DOCUMENT_DEPTH_MAX) {
    hf_problems_error(b->problems, to->place, "nested more than %d levels deep", HF_DOCUMENT_DEPTH_MAX);
    fail_to(b, HF_ERR_SYNTAX);
    return;
  }
  if (fy_node_is_alias(from)) {
    struct fy_node *target = fy_node_resolve_alias(from);
    if (!target) {
      hf_problems_error(b->problems, to->place, "an alias names an anchor that does not exist");
      fail_to(b, HF_ERR_SYNTAX);
      return;
    }
    from = target;
  }
  if (fy_node_is_sequence(from))
    fill_sequence(b, from, to, depth);
  else if (fy_node_is_mapping(from))
    fill_mapping(b, from, to, depth);
  else
    fill_scalar(b, from, to);
}

/* libfyaml takes a byte that is no UTF-8 for the end of its scalar. */
static bool is_utf8(struct hf_str s) {
  const unsigned char *p = (const unsigned char *)s.ptr;
  const unsigned char *end = p + s.len;
  while (p < end) {
    size_t more = *p < 0x80                  ? 0
                  : *p >= 0xc2 && *p <= 0xdf ? 1
                  : (*p & 0xf0) == 0xe0      ? 2
                  : *p >= 0xf0 && *p <= 0xf4 ? 3
                                             : 9;
    if (more > (size_t)(end - p) - 1)
      return false;
    for (size_t i = 1; i <= more; i++)
      if ((p[i] & 0xc0) != 0x80)
        return false;
    p += more + 1;
  }
  return true;
}

static bool opens_comment(const char *text, size_t at) {
  return at == 0 || strchr(" \t\r\n,{}[]", text[at - 1]) != NULL;
}

/* Blanks out comments of the // and C kind where the text looks like JSON, keeping every position. */
static void blank_comments(char *text, size_t len) {
  size_t start = strspn(text, " \t\r\n");
  if (start >= len || text[start] != '{')
    return;
  bool in_string = false;
  for (size_t i = start; i + 1 < len; i++) {
    if (in_string) {
      if (text[i] == '\\')
        i++;
      else if (text[i] == '"')
        in_string = false;
    } else if (text[i] == '"') {
      in_string = true;
    } else if (text[i] == '/' && text[i + 1] == '/' && opens_comment(text, i)) {
      while (i < len && text[i] != '\n')
        text[i++] = ' ';
    } else if (text[i] == '/' && text[i + 1] == '*' && opens_comment(text, i)) {
      text[i] = text[i + 1] = ' ';
      for (i += 2; i + 1 < len && !(text[i] == '*' && text[i + 1] == '/'); i++)
        if (text[i] != '\n')
          text[i] = ' ';
      if (i + 1 < len)
        text[i] = text[i + 1] = ' ';
    }
  }
}

static void report(struct fy_diag *diag, struct hf_problems *problems) {
  void *walk = NULL;
  struct fy_diag_error *e;
  while ((e = fy_diag_errors_iterate(diag, &walk)))
    hf_problems_error(problems, (struct hf_place){e->line, e->column}, "%s", e->msg);
  if (problems->errors == 0)
    hf_problems_error(problems, (struct hf_place){0, 0}, "not valid YAML or JSON");
}

static int build_root(struct build *b, const struct hf_node **ret_root) {
  struct fy_node *root = fy_document_root(b->document);
  struct hf_node *node = hf_arena_alloc(b->arena, sizeof *node);
  if (!node)
    return HF_ERR_NOMEM;
  node->place = (struct hf_place){1, 1};
  if (root)
    fill(b, root, node, 0);
  if (b->error == 0)
    *ret_root = node;
  return b->error;
}

static int parse_with(struct fy_parser *parser, struct fy_diag *diag, struct build *b, char *text, size_t len,
                      const struct hf_node **ret_root) {
  if (fy_parser_set_string(parser, text, len) != 0)
    return HF_ERR_NOMEM;
  b->document = fy_parse_load_document(parser);
  if (!b->document) {
    if (len == 0 || !fy_diag_got_error(diag)) {
      hf_problems_error(b->problems, (struct hf_place){0, 0}, "the file is empty");
      return HF_ERR_SYNTAX;
    }
    report(diag, b->problems);
    return HF_ERR_SYNTAX;
  }
  int r = build_root(b, ret_root);
  fy_parse_document_destroy(parser, b->document);
  if (r < 0)
    return r;

  struct fy_document *second = fy_parse_load_document(parser);
  if (second) {
    fy_parse_document_destroy(parser, second);
    hf_problems_error(b->problems, (struct hf_place){0, 0}, "more than one document ('---') in the file");
    return HF_ERR_SYNTAX;
  }
  if (fy_diag_got_error(diag)) {
    report(diag, b->problems);
    return HF_ERR_SYNTAX;
  }
  return 0;
}

int hf_document_parse(struct hf_arena *arena, struct hf_str text, struct hf_problems *problems,
                      const struct hf_node **ret_root) {
  if (!is_utf8(text) || (text.len && memchr(text.ptr, 0, text.len))) {
    hf_problems_error(problems, (struct hf_place){0, 0}, "not UTF-8 text");
    return HF_ERR_SYNTAX;
  }
  HF_CLEANUP_FREE char *copy = hf_strndup(text.ptr ? text.ptr : "", text.len);
  if (!copy)
    return HF_ERR_NOMEM;
  blank_comments(copy, text.len);

  struct fy_diag_cfg diag_config;
  fy_diag_cfg_default(&diag_config);
  diag_config.fp = NULL;
  struct fy_diag *diag = fy_diag_create(&diag_config);
  if (!diag)
    return HF_ERR_NOMEM;
  fy_diag_set_collect_errors(diag, true);
  struct fy_parse_cfg config = {
      .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_SLOPPY_FLOW_INDENTATION | FYPCF_JSON_NONE,
      .diag = diag,
  };
  struct fy_parser *parser = fy_parser_create(&config);
  struct build b = {.arena = arena, .problems = problems};
  int r = parser ? parse_with(parser, diag, &b, copy, text.len, ret_root) : HF_ERR_NOMEM;
  fy_parser_destroy(parser);
  fy_diag_destroy(diag);
  return r;
}

static int read_all(int fd, struct hf_buf *buf) {
  for (;;) {
    int r = hf_buf_reserve(buf, 4096);
    if (r < 0)
      return r;
    ssize_t n = read(fd, buf->data + buf->len, buf->cap - buf->len);
    if (n == 0)
      return 0;
    if (n < 0 && errno != EINTR)
      return HF_ERR_IO;
    if (n > 0)
      buf->len += (size_t)n;
  }
}

int hf_document_load(struct hf_arena *arena, const char *path, struct hf_problems *problems,
                     const struct hf_node **ret_root, struct hf_error *reterr) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    int e = errno;
    return hf_error_set(reterr, e == ENOENT ? HF_ERR_NOTFOUND : HF_ERR_IO, "cannot open '%s': %s", path, strerror(e));
  }
  struct hf_buf buf;
  hf_buf_init(&buf, HF_DOCUMENT_BYTES_MAX);
  int r = read_all(fd, &buf);
  int e = errno;
  close(fd);
  if (r == HF_ERR_LIMIT)
    hf_error_set(reterr, r, "'%s' is larger than %d bytes", path, HF_DOCUMENT_BYTES_MAX);
  else if (r < 0)
    hf_error_set(reterr, r, "cannot read '%s': %s", path, r == HF_ERR_IO ? strerror(e) : hf_err_text(r));
  else if ((r = hf_document_parse(arena, hf_buf_str(&buf), problems, ret_root)) < 0)
    hf_error_set(reterr, r, "'%s' cannot be used: %s", path, hf_err_text(r));
  hf_buf_deinit(&buf);
  return r;
}

const struct hf_node *hf_node_get(const struct hf_node *mapping, struct hf_str key) {
  if (!mapping || mapping->kind != HF_NODE_MAPPING)
    return NULL;
  for (const struct hf_node *n = mapping->first; n; n = n->next)
    if (hf_str_equal(n->key, key))
      return n;
  return NULL;
}

const char *hf_node_kind_name(enum hf_node_kind kind) {
  static const char *const names[] = {"nothing", "a single value", "a list", "a mapping"};
  return names[kind];
}
