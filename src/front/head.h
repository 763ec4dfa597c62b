/* What the front reads of one HTTP request's head, and the checks on it that need nothing but the head.
 *
 * libmicrohttpd accepts more than HTTP allows: bare LF, folded lines, NUL bytes, odd framing. Another program on the
 * way may read such a request differently, so whatever can be read in two ways is refused before anything is done. */
#ifndef HF_FRONT_HEAD_H
#define HF_FRONT_HEAD_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* field, header name, whether it may come twice */
#define HF_HEAD_LIST(X)                                                                                                \
  X(HOST, "Host", false)                                                                                               \
  X(CONTENT_LENGTH, "Content-Length", false)                                                                           \
  X(TRANSFER_ENCODING, "Transfer-Encoding", false)                                                                     \
  X(CONTENT_TYPE, "Content-Type", false)                                                                               \
  X(CONTENT_ENCODING, "Content-Encoding", false)                                                                       \
  X(ACCEPT, "Accept", true)                                                                                            \
  X(ORIGIN, "Origin", false)                                                                                           \
  X(AUTHORIZATION, "Authorization", false)                                                                             \
  X(SESSION, "Mcp-Session-Id", false)                                                                                  \
  X(VERSION, "MCP-Protocol-Version", false)                                                                            \
  X(METHOD, "Mcp-Method", false)                                                                                       \
  X(NAME, "Mcp-Name", false)                                                                                           \
  X(LAST_EVENT_ID, "Last-Event-ID", false)                                                                             \
  X(CORS_METHOD, "Access-Control-Request-Method", false)                                                               \
  X(CORS_HEADERS, "Access-Control-Request-Headers", false)

enum hf_head_field {
#define HF_HEAD_ENUM(field, name, repeats) HF_HEAD_##field,
  HF_HEAD_LIST(HF_HEAD_ENUM)
#undef HF_HEAD_ENUM
      HF_HEAD_COUNT,
};

/* Which kinds of answer the client takes. The most specific media range decides; ranks remember how specific. */
struct hf_accept {
  uint8_t json_rank;
  uint8_t sse_rank;
  bool json;
  bool sse;
};

struct hf_head {
  struct hf_str value[HF_HEAD_COUNT]; /* trimmed; absent if the header is; borrowed from the request */
  struct hf_accept accept;
  const char *fault; /* the first thing wrong with it, or NULL */
  size_t fields;     /* all of them, known or not */
};

/* Adds one header line. */
void hf_head_add(struct hf_head *head, struct hf_str name, struct hf_str value);

/* Checks the framing once all lines are in. Returns NULL, or what is ambiguous or missing, for people. */
const char *hf_head_framing(const struct hf_head *head, bool http_1_0);

/* The declared length of the body; 0 without one, and with a chunked body. */
uint64_t hf_head_content_length(const struct hf_head *head);

/* Checks the header lines as they came, from behind the request line to the end of the empty line, after libmicrohttpd
 * has put a NUL for each colon, CR and LF it took as such. Sets how many fields there are. Returns NULL or the fault.
 */
const char *hf_head_lines(struct hf_str block, size_t *ret_fields);

/* Checks the target of the request line as it came. Returns NULL or the fault. */
const char *hf_head_target(struct hf_str target);

/* Feeds one Accept value. All of them decide together; without any, both kinds are taken. */
void hf_accept_add(struct hf_accept *accept, struct hf_str value);

/* True for `application/json`, with or without parameters; a charset must be UTF-8. */
bool hf_head_is_json(struct hf_str content_type);

#endif
