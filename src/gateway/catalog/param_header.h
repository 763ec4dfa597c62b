/* Arguments that travel as HTTP headers too: `x-mcp-header` in a tool's inputSchema (MCP 2026-07-28, Streamable HTTP,
 * "Custom headers from tool parameters").
 *
 * A tool's annotations are read once, when its list is loaded. Towards a modern server the headers are computed from
 * the arguments that are sent; from a modern client they are held against the arguments that came. */
#ifndef HF_GATEWAY_CATALOG_PARAM_HEADER_H
#define HF_GATEWAY_CATALOG_PARAM_HEADER_H

#include "base/arena.h"
#include "gateway/upstream.h"

enum { HF_PARAM_HEADERS_MAX = 32, HF_PARAM_PATH_MAX = 8 };

struct hf_param_header {
  struct hf_str name;                    /* "Mcp-Param-Region" */
  struct hf_str path[HF_PARAM_PATH_MAX]; /* the chain of property names */
  size_t depth;
};

struct hf_param_headers {
  struct hf_param_header *item;
  size_t count;
};

/* Reads the annotations of a tool (its raw object) into `arena`. Returns 0, HF_ERR_INVALID if they break the rules (a
 * client must not use such a tool; `reterr` says why), HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_param_headers_read(struct hf_str tool, struct hf_arena *arena, struct hf_param_headers *ret_headers,
                          struct hf_error *reterr);

/* True if `name` is one of them. */
bool hf_param_headers_know(const struct hf_param_headers *headers, struct hf_str name);

/* Computes the headers of a call with these raw `arguments` (absent: none). `ret_header` has room for
 * HF_PARAM_HEADERS_MAX; values live in `arena`. Returns the count, or HF_ERR_NOMEM. */
int hf_param_headers_compute(const struct hf_param_headers *headers, struct hf_str arguments, struct hf_arena *arena,
                             struct hf_header *ret_header);

/* Do the headers that came with a call agree with its arguments? Returns 0, or HF_ERR_INVALID and says which does not.
 */
int hf_param_headers_check(const struct hf_param_headers *headers, struct hf_str arguments,
                           const struct hf_header *came, size_t came_count, struct hf_arena *arena,
                           struct hf_error *reterr);

#endif
