/* A configuration file as a tree of nodes that know their line and column, whether it was YAML or JSON.
 *
 * JSON with comments, tabs and trailing commas (as editors write it) is accepted too. One document per file; keys are
 * unique; aliases are resolved within the arena's limit; nothing in it is interpreted here. */
#ifndef HF_DAEMON_DOCUMENT_H
#define HF_DAEMON_DOCUMENT_H

#include "base/arena.h"
#include "daemon/problem.h"

enum { HF_DOCUMENT_BYTES_MAX = 4 << 20, HF_DOCUMENT_DEPTH_MAX = 32 };

enum hf_node_kind { HF_NODE_NULL, HF_NODE_SCALAR, HF_NODE_SEQUENCE, HF_NODE_MAPPING };

struct hf_node {
  enum hf_node_kind kind;
  bool quoted;           /* a scalar that is a string whatever it looks like */
  struct hf_str key;     /* of an entry of a mapping, else absent */
  struct hf_place place; /* of the key where there is one, else of the value */
  struct hf_str text;    /* of a scalar */
  struct hf_node *first; /* content of a sequence or mapping */
  struct hf_node *next;  /* the sibling */
  size_t count;
};

/* Parses `text`; everything in `*ret_root` lives in `arena`. Returns 0, HF_ERR_SYNTAX (the problems say where) or
 * HF_ERR_NOMEM. */
int hf_document_parse(struct hf_arena *arena, struct hf_str text, struct hf_problems *problems,
                      const struct hf_node **ret_root);

/* Reads and parses a file. Returns also HF_ERR_IO, HF_ERR_NOTFOUND, HF_ERR_LIMIT, with `reterr` filled. */
int hf_document_load(struct hf_arena *arena, const char *path, struct hf_problems *problems,
                     const struct hf_node **ret_root, struct hf_error *reterr);

/* The entry of a mapping, or NULL. */
const struct hf_node *hf_node_get(const struct hf_node *mapping, struct hf_str key);

/* "a string", "a list", … for messages. */
const char *hf_node_kind_name(enum hf_node_kind kind);

#endif
