/* Reading a scanned text: members, elements, strings, numbers.
 *
 * A document borrows the text and its tape. Nodes are named by index; the root is 0, so 0 also stands for "none" where
 * a node inside is meant. Keys are compared after unescaping, without allocating. */
#ifndef HF_JSON_VALUE_H
#define HF_JSON_VALUE_H

#include "base/arena.h"
#include "base/buf.h"
#include "json/scan.h"

enum { HF_JSON_NONE = 0 };

struct hf_json_doc {
  const char *base;
  const struct hf_json_node *nodes;
  uint32_t count;
};

struct hf_json_iter {
  uint32_t at;  /* next node to visit */
  uint32_t end; /* one past the container's last node */
  bool object;
};

static inline struct hf_json_doc hf_json_doc(const char *base, const struct hf_json_scan *scan) {
  return (struct hf_json_doc){base, scan->nodes, scan->count};
}

static inline enum hf_json_type hf_json_type(const struct hf_json_doc *doc, uint32_t node) {
  return (enum hf_json_type)doc->nodes[node].type;
}

/* The value's own bytes, a string's with its quotes. */
static inline struct hf_str hf_json_span(const struct hf_json_doc *doc, uint32_t node) {
  const struct hf_json_node *n = &doc->nodes[node];
  return (struct hf_str){doc->base + n->start, n->end - n->start};
}

/* True for a container whose content has no nodes: scan its span anew to read it. */
static inline bool hf_json_opaque(const struct hf_json_doc *doc, uint32_t node) {
  return (doc->nodes[node].flags & HF_JSON_OPAQUE) != 0;
}

/* Walks the content of a container (nothing, if it is opaque or a scalar). `ret_key` may be NULL, and is set for
 * objects only. Returns false at the end. */
struct hf_json_iter hf_json_iter(const struct hf_json_doc *doc, uint32_t container);
bool hf_json_next(const struct hf_json_doc *doc, struct hf_json_iter *iter, uint32_t *ret_key, uint32_t *ret_value);

/* Finds the one member called `name`. Returns 0, HF_ERR_NOTFOUND, or HF_ERR_DUPLICATE when it occurs more than once. */
int hf_json_member(const struct hf_json_doc *doc, uint32_t object, struct hf_str name, uint32_t *ret_value);

/* True if the string `node` means `text`. */
bool hf_json_string_is(const struct hf_json_doc *doc, uint32_t node, struct hf_str text);

/* What an escape in a string means. */
struct hf_json_char {
  unsigned code;
  bool lone_surrogate; /* half a pair: then `bytes` are no UTF-8 */
  char bytes[4];
  size_t len;
};

/* Reads the escape at `p`, a backslash in a valid string that ends before `end`; returns the bytes it takes. */
size_t hf_json_read_escape(const char *p, const char *end, struct hf_json_char *ret_char);

/* Appends what the string `raw` (with its quotes, valid JSON) means. A lone surrogate becomes U+FFFD. Returns 0 or what
 * hf_buf_append does. */
int hf_json_unescape(struct hf_str raw, struct hf_buf *out);

/* What the string `node` means: borrowed from the text if nothing is escaped, else from `arena`. Returns 0,
 * HF_ERR_INVALID for another type, or HF_ERR_NOMEM. */
int hf_json_string(const struct hf_json_doc *doc, uint32_t node, struct hf_arena *arena, struct hf_str *ret_text);

/* Reads a number that is an integer, however it is spelt (`1`, `1.0`, `10e-1`). Any text may be handed in. Returns 0,
 * HF_ERR_INVALID if it is no JSON number or has a fraction, HF_ERR_LIMIT if it does not fit. */
int hf_json_int64(struct hf_str raw, int64_t *ret_value);

/* Returns 0 or HF_ERR_INVALID. */
int hf_json_bool(const struct hf_json_doc *doc, uint32_t node, bool *ret_value);

#endif
