/* The names under which tools and prompts of many servers are shown, and the way back.
 *
 * A name is `server__tool` where that is legal, short enough and unambiguous; otherwise illegal characters become `_`,
 * the text is shortened, and a hash of the true pair ends it. The result depends on the pair alone, not on what else is
 * shown, so it is the same on every start. The way back is a map, never a split at a separator.
 *
 * Resource URIs are not renamed: a client may have them from elsewhere. Where two servers offer the same URI, the one
 * named first in the configuration serves it. */
#ifndef HF_MCP_NAMES_H
#define HF_MCP_NAMES_H

#include "base/map.h"
#include "base/str.h"

enum { HF_NAME_MAX = 64 };

struct hf_name {
  struct hf_str exposed;
  struct hf_str server; /* absent if it was added without */
  struct hf_str original;
};

struct hf_names {
  struct hf_map by_exposed;
  struct hf_map by_pair;
};

/* `max` bounds the names in it. */
void hf_names_init(struct hf_names *names, size_t max);
void hf_names_deinit(struct hf_names *names);

/* Adds `original` of `server`, or finds it if it is there. An absent `server` adds no prefix. Returns 0, HF_ERR_LIMIT,
 * HF_ERR_INVALID (empty name) or HF_ERR_NOMEM. `ret_name` is valid as long as `names`. */
int hf_names_add(struct hf_names *names, struct hf_str server, struct hf_str original, struct hf_name **ret_name);

/* NULL if there is none. */
struct hf_name *hf_names_find(const struct hf_names *names, struct hf_str exposed);
struct hf_name *hf_names_find_pair(const struct hf_names *names, struct hf_str server, struct hf_str original);

/* True for 1 to HF_NAME_MAX of [A-Za-z0-9_.-]. */
bool hf_name_legal(struct hf_str name);

#endif
