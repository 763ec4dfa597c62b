#include "json/pointer.h"

int hf_json_pointer_next(struct hf_str *pointer, struct hf_buf *token) {
  const char *start = pointer->ptr + 1;
  const char *end = pointer->ptr + pointer->len;
  const char *slash = memchr(start, '/', (size_t)(end - start));
  const char *stop = slash ? slash : end;
  *pointer = (struct hf_str){stop, (size_t)(end - stop)};
  hf_buf_reset(token, token->cap);
  for (const char *p = start; p < stop; p++) {
    char c = *p;
    if (c == '~') {
      p++;
      if (p == stop || (*p != '0' && *p != '1'))
        return HF_ERR_INVALID;
      c = *p == '0' ? '~' : '/';
    }
    int r = hf_buf_append(token, &c, 1);
    if (r < 0)
      return r;
  }
  return 0;
}

static int find_element(const struct hf_json_doc *doc, uint32_t array, struct hf_str index, uint32_t *ret_node) {
  unsigned long long wanted;
  bool padded = index.len > 1 && index.ptr[0] == '0';
  if (padded || hf_str_to_u64(index, UINT32_MAX, &wanted) < 0 || wanted >= doc->nodes[array].count)
    return HF_ERR_NOTFOUND;
  struct hf_json_iter iter = hf_json_iter(doc, array);
  uint32_t node;
  while (hf_json_next(doc, &iter, NULL, &node) && wanted > 0)
    wanted--;
  *ret_node = node;
  return 0;
}

int hf_json_step(const struct hf_json_doc *doc, uint32_t node, struct hf_str name, uint32_t *ret_node) {
  if (hf_json_type(doc, node) == HF_JSON_ARRAY)
    return find_element(doc, node, name, ret_node);
  return hf_json_member(doc, node, name, ret_node);
}

uint32_t hf_json_pointer_depth(struct hf_str pointer) {
  uint32_t depth = 0;
  for (size_t i = 0; i < pointer.len && depth < HF_JSON_TREE_ALL; i++)
    depth += pointer.ptr[i] == '/';
  return depth;
}

int hf_json_pointer_walk(const struct hf_json_doc *doc, struct hf_str pointer, uint32_t *ret_node) {
  int r = hf_json_pointer_check(pointer, NULL);
  struct hf_buf token;
  hf_buf_init(&token, pointer.len);
  uint32_t node = 0;
  while (r == 0 && pointer.len > 0) {
    r = hf_json_pointer_next(&pointer, &token);
    if (r == 0)
      r = hf_json_step(doc, node, hf_buf_str(&token), &node);
  }
  hf_buf_deinit(&token);
  if (r == 0)
    *ret_node = node;
  return r;
}

int hf_json_pointer(struct hf_str raw, struct hf_str pointer, struct hf_str *ret_value) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = HF_JSON_POINTER_NODES;
  options.tree_depth = hf_json_pointer_depth(pointer);
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, raw.ptr, raw.len, true);
  if (r == 0) {
    struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    uint32_t node;
    r = hf_json_pointer_walk(&doc, pointer, &node);
    if (r == 0)
      *ret_value = hf_json_span(&doc, node);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

int hf_json_pointer_check(struct hf_str pointer, struct hf_error *reterr) {
  if (pointer.len > 0 && pointer.ptr[0] != '/')
    return hf_error_set(reterr, HF_ERR_INVALID, "a JSON Pointer is empty or starts with '/'");
  for (size_t i = 0; i < pointer.len; i++)
    if (pointer.ptr[i] == '~' && (i + 1 == pointer.len || (pointer.ptr[i + 1] != '0' && pointer.ptr[i + 1] != '1')))
      return hf_error_set(reterr, HF_ERR_INVALID, "in a JSON Pointer '~' is followed by 0 or 1");
  return 0;
}

int hf_json_pointer_append(const struct hf_json_doc *doc, uint32_t key, struct hf_buf *out) {
  struct hf_str raw = hf_json_span(doc, key);
  struct hf_buf text;
  hf_buf_init(&text, raw.len);
  int r = hf_json_unescape(raw, &text);
  if (r == 0)
    r = hf_buf_append(out, "/", 1);
  for (size_t i = 0; i < text.len && r == 0; i++) {
    char c = text.data[i];
    r = c == '~' ? hf_buf_append(out, "~0", 2) : c == '/' ? hf_buf_append(out, "~1", 2) : hf_buf_append(out, &c, 1);
  }
  hf_buf_deinit(&text);
  return r;
}

int hf_json_pointer_between(const struct hf_json_doc *doc, uint32_t from, uint32_t to, uint32_t *io_steps,
                            struct hf_buf *out) {
  int r = 0;
  while (from != to && r == 0) {
    struct hf_json_iter iter = hf_json_iter(doc, from);
    uint32_t key = HF_JSON_NONE, value = HF_JSON_NONE, ordinal = 0;
    bool found = false;
    while (!found && hf_json_next(doc, &iter, &key, &value)) {
      found = to < doc->nodes[value].next;
      ordinal++;
    }
    if (!found || (io_steps && *io_steps < ordinal))
      return found ? HF_ERR_LIMIT : HF_ERR_INVALID;
    if (io_steps)
      *io_steps -= ordinal;
    r = iter.object ? hf_json_pointer_append(doc, key, out) : hf_buf_append(out, "/", 1);
    if (r == 0 && !iter.object)
      r = hf_buf_append_int(out, ordinal - 1);
    from = to < value ? to : value; /* a key stands before its value */
  }
  return r;
}

int hf_json_pointer_of(const struct hf_json_doc *doc, uint32_t node, struct hf_buf *out) {
  return hf_json_pointer_between(doc, 0, node, NULL, out);
}
