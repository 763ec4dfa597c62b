#include "json/pointer.h"

#include "base/error.h"

enum { TOKEN_MAX = 4096 }; /* bytes of one unescaped reference token */

/* Undoes ~0 and ~1. */
static int read_token(struct hf_str raw, struct hf_buf *token) {
  hf_buf_reset(token, TOKEN_MAX);
  for (size_t i = 0; i < raw.len; i++) {
    char c = raw.ptr[i];
    if (c == '~') {
      i++;
      if (i == raw.len || (raw.ptr[i] != '0' && raw.ptr[i] != '1'))
        return HF_ERR_INVALID;
      c = raw.ptr[i] == '0' ? '~' : '/';
    }
    int r = hf_buf_append(token, &c, 1);
    if (r < 0)
      return r;
  }
  return 0;
}

/* Takes the first token off `pointer`, which starts with a slash. */
static struct hf_str cut_token(struct hf_str *pointer) {
  const char *start = pointer->ptr + 1;
  size_t left = pointer->len - 1;
  const char *slash = memchr(start, '/', left);
  size_t len = slash ? (size_t)(slash - start) : left;
  *pointer = (struct hf_str){start + len, left - len};
  return (struct hf_str){start, len};
}

static int step(const struct hf_json_doc *doc, uint32_t node, struct hf_str token, uint32_t *ret_node) {
  if (hf_json_type(doc, node) != HF_JSON_ARRAY)
    return hf_json_member(doc, node, token, ret_node);
  unsigned long long index;
  if ((token.len > 1 && token.ptr[0] == '0') || hf_str_to_u64(token, UINT32_MAX, &index) < 0)
    return HF_ERR_NOTFOUND;
  return hf_json_element(doc, node, (size_t)index, ret_node);
}

static uint32_t count_tokens(struct hf_str pointer) {
  uint32_t count = 0;
  for (size_t i = 0; i < pointer.len && count < HF_JSON_TREE_ALL; i++)
    count += pointer.ptr[i] == '/';
  return count;
}

static int walk(const struct hf_json_doc *doc, uint32_t node, struct hf_str *pointer, struct hf_buf *token,
                uint32_t *ret_node) {
  while (pointer->len && !hf_json_opaque(doc, node)) {
    int r = read_token(cut_token(pointer), token);
    if (r == 0)
      r = step(doc, node, hf_buf_str(token), &node);
    if (r < 0)
      return r;
  }
  *ret_node = node;
  return 0;
}

/* Goes on inside an opaque span. The tape made for it reaches as deep as the pointer does, so this happens once. */
static int walk_span(struct hf_str span, struct hf_str *pointer, struct hf_buf *token, struct hf_str *ret_span,
                     enum hf_json_type *ret_type) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_bytes = span.len;
  options.tree_depth = count_tokens(*pointer);
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, span.ptr, span.len, true);
  if (r == 0) {
    struct hf_json_doc doc = hf_json_doc(span.ptr, &scan);
    uint32_t node;
    r = walk(&doc, 0, pointer, token, &node);
    if (r == 0) {
      *ret_span = hf_json_span(&doc, node);
      *ret_type = hf_json_type(&doc, node);
    }
  }
  hf_json_scan_deinit(&scan);
  return r;
}

int hf_json_pointer(const struct hf_json_doc *doc, uint32_t node, struct hf_str pointer, struct hf_str *ret_span,
                    enum hf_json_type *ret_type) {
  if (pointer.len && pointer.ptr[0] != '/')
    return HF_ERR_INVALID;
  struct hf_buf token;
  hf_buf_init(&token, TOKEN_MAX);
  int r = walk(doc, node, &pointer, &token, &node);
  if (r == 0 && pointer.len) {
    r = walk_span(hf_json_span(doc, node), &pointer, &token, ret_span, ret_type);
  } else if (r == 0) {
    *ret_span = hf_json_span(doc, node);
    *ret_type = hf_json_type(doc, node);
  }
  hf_buf_deinit(&token);
  return r;
}
