/* Messages that the gateway makes itself, appended to a buffer. Ids, params, results and data are raw JSON. */
#ifndef HF_MCP_COMPOSE_H
#define HF_MCP_COMPOSE_H

#include "base/buf.h"
#include "mcp/era.h"
#include "mcp/message.h"

/* The gateway's own name towards both sides, as `clientInfo` and `serverInfo`. */
#define HF_IMPLEMENTATION "{\"name\":\"holdfast\",\"version\":\"" HF_VERSION_TEXT "\"}"

/* All return 0 or what the buffer says. An absent `id` is written as null; absent params or data are left out. */
int hf_compose_request(struct hf_buf *buf, struct hf_str id, struct hf_str method, struct hf_str params);
int hf_compose_notification(struct hf_buf *buf, struct hf_str method, struct hf_str params);
int hf_compose_result(struct hf_buf *buf, struct hf_str id, struct hf_str result);
int hf_compose_error(struct hf_buf *buf, struct hf_str id, int code, struct hf_str message, struct hf_str data);

/* A notification of `method` as text that can be sent. Returns 0, HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_compose_notice(struct hf_pieces *pieces, enum hf_method method, struct hf_str params);

/* -32022 with data.supported (the versions of the era, newest first: what server/discover says of it) and
 * data.requested. */
int hf_compose_unsupported_version(struct hf_buf *buf, struct hf_str id, enum hf_era era, struct hf_str requested);

#endif
