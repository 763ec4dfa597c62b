/* A validating, resumable RFC 8259 scanner that turns text into a flat tape of spans.
 *
 * Bytes arrive in pieces, appended to a buffer that may move between calls; the scanner keeps offsets, never pointers,
 * and looks at each byte once, so that a large message costs each turn of the event loop only what is new. Containers
 * down to `tree_depth` get nodes for what they hold; deeper values are validated, but stay one node whose span can be
 * scanned anew. Strict: UTF-8 only, no byte order mark, nothing after the value. */
#ifndef HF_JSON_SCAN_H
#define HF_JSON_SCAN_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  HF_JSON_DEPTH_MAX = 1024, /* the most that `max_depth` can ask for */
  HF_JSON_DEPTH = 512,
  HF_JSON_NODES = 1 << 16,
  HF_JSON_TREE_ALL = HF_JSON_DEPTH_MAX + 1,
};

enum hf_json_type {
  HF_JSON_NULL,
  HF_JSON_FALSE,
  HF_JSON_TRUE,
  HF_JSON_NUMBER,
  HF_JSON_STRING,
  HF_JSON_ARRAY,
  HF_JSON_OBJECT,
};

enum hf_json_flag {
  HF_JSON_ESCAPED = 1, /* a string with a backslash in it */
  HF_JSON_OPAQUE = 2,  /* a container whose content has no nodes */
};

/* The tape is in pre-order: a container is followed by its content, an object's as key, value, key, value. */
struct hf_json_node {
  uint32_t start; /* offset of the first byte (a string's is its quote) */
  uint32_t end;   /* one past the last byte */
  uint32_t next;  /* index of the node after this one and its content */
  uint32_t count; /* elements or members; 0 for scalars and opaque containers */
  uint8_t type;   /* enum hf_json_type */
  uint8_t flags;  /* enum hf_json_flag */
};

struct hf_json_options {
  size_t max_bytes; /* below 4 GiB */
  uint32_t max_nodes;
  uint32_t max_depth;       /* open containers; at most HF_JSON_DEPTH_MAX */
  uint32_t tree_depth;      /* containers nested less deep than this get nodes for their content; the root is at 0 */
  struct hf_str expand_key; /* a member so named gets nodes one level further; absent: none. Borrowed */
  bool sequence;            /* stop behind the value instead of insisting that nothing follows */
};

#define HF_JSON_OPTIONS_INIT                                                                                           \
  { .max_bytes = 64U << 20, .max_nodes = HF_JSON_NODES, .max_depth = HF_JSON_DEPTH, .tree_depth = HF_JSON_TREE_ALL }

/* Why a text was refused. name, error code, text */
#define HF_JSON_FAULT_LIST(X)                                                                                          \
  X(NONE, 0, "no fault")                                                                                               \
  X(TOO_BIG, HF_ERR_LIMIT, "text too long")                                                                            \
  X(TOO_DEEP, HF_ERR_LIMIT, "nested too deep")                                                                         \
  X(TOO_MANY, HF_ERR_LIMIT, "too many values")                                                                         \
  X(NOMEM, HF_ERR_NOMEM, "out of memory")                                                                              \
  X(EMPTY, HF_ERR_SYNTAX, "no value")                                                                                  \
  X(CUT, HF_ERR_SYNTAX, "text ends inside a value")                                                                    \
  X(VALUE, HF_ERR_SYNTAX, "a value was expected")                                                                      \
  X(KEY, HF_ERR_SYNTAX, "a member name was expected")                                                                  \
  X(COLON, HF_ERR_SYNTAX, "a colon was expected")                                                                      \
  X(SEPARATOR, HF_ERR_SYNTAX, "a comma or closing bracket was expected")                                               \
  X(LITERAL, HF_ERR_SYNTAX, "misspelt literal")                                                                        \
  X(NUMBER, HF_ERR_SYNTAX, "malformed number")                                                                         \
  X(CONTROL, HF_ERR_SYNTAX, "control character in a string")                                                           \
  X(ESCAPE, HF_ERR_SYNTAX, "malformed escape")                                                                         \
  X(UTF8, HF_ERR_SYNTAX, "invalid utf-8")                                                                              \
  X(TRAILING, HF_ERR_SYNTAX, "text after the value")

enum hf_json_fault {
#define HF_JSON_FAULT_ENUM(name, code, text) HF_JSON_FAULT_##name,
  HF_JSON_FAULT_LIST(HF_JSON_FAULT_ENUM)
#undef HF_JSON_FAULT_ENUM
};

struct hf_json_scan {
  struct hf_json_node *nodes; /* owned */
  uint32_t count;
  uint32_t cap;
  uint32_t pos; /* the next byte to look at; where the fault is; behind the value once done */
  enum hf_json_fault fault;

  /* The rest is the scanner's own. */
  struct hf_json_options options;
  uint32_t depth;
  uint32_t open;         /* the innermost container that gets nodes */
  uint32_t opaque_depth; /* depth of the outermost open container without nodes; 0: none */
  uint8_t state;
  uint8_t literal;  /* which one */
  uint8_t step;     /* how far into a literal, \u escape or UTF-8 sequence */
  uint8_t utf8_low; /* bounds of the next continuation byte */
  uint8_t utf8_high;
  bool is_key;
  bool escaped;
  bool expand_next;                           /* the last key was `expand_key`, at its level */
  uint64_t is_object[HF_JSON_DEPTH_MAX / 64]; /* a bit per open container */
};

/* `options` is copied; its `expand_key` stays borrowed. */
void hf_json_scan_init(struct hf_json_scan *scan, const struct hf_json_options *options);
void hf_json_scan_deinit(struct hf_json_scan *scan);

/* Makes it ready for another text, keeping the memory of the tape up to `keep_nodes` nodes. */
void hf_json_scan_reset(struct hf_json_scan *scan, uint32_t keep_nodes);

/* Goes on with the text at `base`, of which `len` bytes are there now (the earlier ones unchanged). Returns 0 when the
 * text is complete and good, HF_ERR_AGAIN when more may come, else HF_ERR_SYNTAX, HF_ERR_LIMIT or HF_ERR_NOMEM, and
 * then the same at each further call. Complete means: `final` is set, or, in a sequence, the value has ended (`pos` is
 * behind it). Callers bound the bytes per call to bound its time; it handles about 1 GB/s. */
int hf_json_scan_feed(struct hf_json_scan *scan, const char *base, size_t len, bool final);

/* Fills `reterr` with what was wrong and where; returns the code. */
int hf_json_scan_error(const struct hf_json_scan *scan, struct hf_error *reterr);

/* Constant text of a fault, never NULL. */
const char *hf_json_fault_text(enum hf_json_fault fault);

#endif
