/* One JSON-RPC message, decoded where it lies.
 *
 * A message owns a reference to its bytes and a tape that goes no deeper than the gateway reads: the members of the
 * message, of params, result and error, and of their `_meta`. Every member that the gateway reads is a field of one
 * table; a message in which one occurs twice (after unescaping) is refused, for the other side might read the other.
 * All else is neither looked at nor changed. */
#ifndef HF_MCP_MESSAGE_H
#define HF_MCP_MESSAGE_H

#include "base/arena.h"
#include "base/blob.h"
#include "mcp/methods.h"
#include "json/value.h"

enum {
  HF_MESSAGE_ID_MAX = 512, /* bytes of a raw id or progress token */
  HF_MESSAGE_BYTES_MAX = 64 << 20,
};

/* JSON-RPC and MCP error codes. */
enum hf_rpc_code {
  HF_RPC_PARSE_ERROR = -32700,
  HF_RPC_INVALID_REQUEST = -32600,
  HF_RPC_METHOD_NOT_FOUND = -32601,
  HF_RPC_INVALID_PARAMS = -32602,
  HF_RPC_INTERNAL_ERROR = -32603,
  HF_RPC_RESOURCE_NOT_FOUND = -32002, /* legacy only */
  HF_RPC_HEADER_MISMATCH = -32020,
  HF_RPC_MISSING_CAPABILITY = -32021,
  HF_RPC_UNSUPPORTED_VERSION = -32022,
};

#define HF_META_VERSION "io.modelcontextprotocol/protocolVersion"
#define HF_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define HF_META_CLIENT_INFO "io.modelcontextprotocol/clientInfo"
#define HF_META_SERVER_INFO "io.modelcontextprotocol/serverInfo"
#define HF_META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define HF_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define HF_META_RELATED_TASK "io.modelcontextprotocol/related-task"
#define HF_META_CALL "dev.holdfast/call"
#define HF_META_OUTCOME "dev.holdfast/outcome"

/* field, the field it is a member of, its key. A parent stands before its members. */
#define HF_FIELD_LIST(X)                                                                                               \
  X(JSONRPC, ROOT, "jsonrpc")                                                                                          \
  X(ID, ROOT, "id")                                                                                                    \
  X(METHOD, ROOT, "method")                                                                                            \
  X(PARAMS, ROOT, "params")                                                                                            \
  X(RESULT, ROOT, "result")                                                                                            \
  X(ERROR, ROOT, "error")                                                                                              \
  X(NAME, PARAMS, "name")                                                                                              \
  X(URI, PARAMS, "uri")                                                                                                \
  X(ARGUMENTS, PARAMS, "arguments")                                                                                    \
  X(REQUEST_ID, PARAMS, "requestId")                                                                                   \
  X(PARAM_PROGRESS_TOKEN, PARAMS, "progressToken")                                                                     \
  X(TASK_ID, PARAMS, "taskId")                                                                                         \
  X(TASK, PARAMS, "task")                                                                                              \
  X(CURSOR, PARAMS, "cursor")                                                                                          \
  X(REF, PARAMS, "ref")                                                                                                \
  X(LEVEL, PARAMS, "level")                                                                                            \
  X(REQUEST_STATE, PARAMS, "requestState")                                                                             \
  X(INPUT_RESPONSES, PARAMS, "inputResponses")                                                                         \
  X(NOTIFICATIONS, PARAMS, "notifications")                                                                            \
  X(PROTOCOL_VERSION, PARAMS, "protocolVersion")                                                                       \
  X(CAPABILITIES, PARAMS, "capabilities")                                                                              \
  X(CLIENT_INFO, PARAMS, "clientInfo")                                                                                 \
  X(PARAMS_META, PARAMS, "_meta")                                                                                      \
  X(PROGRESS_TOKEN, PARAMS_META, "progressToken")                                                                      \
  X(META_VERSION, PARAMS_META, HF_META_VERSION)                                                                        \
  X(META_CAPABILITIES, PARAMS_META, HF_META_CAPABILITIES)                                                              \
  X(META_CLIENT_INFO, PARAMS_META, HF_META_CLIENT_INFO)                                                                \
  X(META_LOG_LEVEL, PARAMS_META, HF_META_LOG_LEVEL)                                                                    \
  X(META_SUBSCRIPTION, PARAMS_META, HF_META_SUBSCRIPTION)                                                              \
  X(META_CALL, PARAMS_META, HF_META_CALL)                                                                              \
  X(RESULT_TYPE, RESULT, "resultType")                                                                                 \
  X(IS_ERROR, RESULT, "isError")                                                                                       \
  X(CONTENT, RESULT, "content")                                                                                        \
  X(NEXT_CURSOR, RESULT, "nextCursor")                                                                                 \
  X(RESULT_VERSION, RESULT, "protocolVersion")                                                                         \
  X(RESULT_CAPABILITIES, RESULT, "capabilities")                                                                       \
  X(RESULT_SERVER_INFO, RESULT, "serverInfo")                                                                          \
  X(SUPPORTED_VERSIONS, RESULT, "supportedVersions")                                                                   \
  X(RESULT_META, RESULT, "_meta")                                                                                      \
  X(META_SERVER_INFO, RESULT_META, HF_META_SERVER_INFO)                                                                \
  X(META_RESULT_SUBSCRIPTION, RESULT_META, HF_META_SUBSCRIPTION)                                                       \
  X(META_OUTCOME, RESULT_META, HF_META_OUTCOME)                                                                        \
  X(ERROR_CODE, ERROR, "code")                                                                                         \
  X(ERROR_MESSAGE, ERROR, "message")                                                                                   \
  X(ERROR_DATA, ERROR, "data")

enum hf_field {
  HF_FIELD_ROOT,
#define HF_FIELD_ENUM(name, parent, key) HF_FIELD_##name,
  HF_FIELD_LIST(HF_FIELD_ENUM)
#undef HF_FIELD_ENUM
      HF_FIELD_COUNT,
};

enum hf_message_kind { HF_MESSAGE_REQUEST, HF_MESSAGE_NOTIFICATION, HF_MESSAGE_RESULT, HF_MESSAGE_ERROR };

/* A response may have no id, or null, when the request's could not be read. */
enum hf_id_type { HF_ID_NONE, HF_ID_NULL, HF_ID_INTEGER, HF_ID_STRING };

struct hf_message {
  struct hf_blob *blob; /* a reference; the text, from hf_message_bytes on nothing follows */
  struct hf_json_doc doc;
  enum hf_message_kind kind;
  enum hf_id_type id_type;
  struct hf_str id; /* raw, as it must be echoed; absent if there is none */
  enum hf_method method;
  struct hf_str method_name; /* unescaped; absent in responses */
  struct hf_str name;        /* params.name, params.uri: unescaped strings, or absent */
  struct hf_str uri;
  struct hf_str progress_token; /* raw: from `_meta`, in notifications/progress from params; absent if there is none */
  bool is_error;                /* result.isError is true */
  int64_t error_code;           /* of an error; 0 if it is no integer */
  uint32_t at[HF_FIELD_COUNT];  /* node of each field, or HF_JSON_NONE */

  struct hf_json_node *nodes; /* owned; what `doc` points to */
  struct hf_arena arena;      /* of unescaped strings */
};

/* Why a text is no message we take, and what to answer. */
struct hf_refusal {
  int rpc_code;               /* HF_RPC_PARSE_ERROR, _INVALID_REQUEST, _INVALID_PARAMS */
  bool response;              /* it was meant as a response: never answer it */
  bool notification;          /* it has a method and no id: never answer it */
  char id[HF_MESSAGE_ID_MAX]; /* raw id to echo */
  size_t id_len;              /* 0: none could be read, answer with null */
  struct hf_error why;        /* code: SYNTAX no JSON; LIMIT; UNSUPPORTED a batch; DUPLICATE; INVALID; NOMEM */
};

/* The options a scanner must have so that its tape serves hf_message_from_scan. `sequence` as the framing needs it. */
void hf_message_scan_options(size_t max_bytes, bool sequence, struct hf_json_options *ret_options);

/* Makes a message of `buf`, which `scan` has read completely (hf_json_scan_feed returned 0); bytes behind the value are
 * cut off. Takes the content of both on success (they are left empty, ready for the next text); on failure takes
 * nothing. Returns 0, or the error that `ret_refusal` tells. */
int hf_message_from_scan(struct hf_json_scan *scan, struct hf_buf *buf, struct hf_message *ret_message,
                         struct hf_refusal *ret_refusal);

/* Describes the fault of a scan that failed, with the id if it stood in what was read. Returns the error code. */
int hf_message_refuse_scan(const struct hf_json_scan *scan, struct hf_str text, struct hf_refusal *ret_refusal);

/* Scans and decodes a text that is there as a whole. As hf_message_from_scan. */
int hf_message_decode(struct hf_buf *buf, struct hf_message *ret_message, struct hf_refusal *ret_refusal);

/* The same of a copy of `text`. */
int hf_message_decode_copy(struct hf_str text, struct hf_message *ret_message, struct hf_refusal *ret_refusal);

void hf_message_deinit(struct hf_message *message); /* all zero is fine */

/* Moves: `from` is left empty. */
void hf_message_move(struct hf_message *to, struct hf_message *from);

/* The message as it is, without the white space that may stand around it. */
struct hf_str hf_message_bytes(const struct hf_message *message);

/* The raw value of a field, strings with their quotes; absent if the message lacks it. */
struct hf_str hf_message_raw(const struct hf_message *message, enum hf_field field);

/* A result that is no end of the work: the server asks something first, or has made a task of it. */
bool hf_message_is_pending(const struct hf_message *result);

/* The unescaped value of a string field, valid as long as the message. Returns 0, HF_ERR_NOTFOUND, HF_ERR_INVALID if it
 * is no string, HF_ERR_LIMIT, or HF_ERR_NOMEM. */
int hf_message_string(struct hf_message *message, enum hf_field field, struct hf_str *ret_text);

/* Finds the raw id of a request or response in a text that need not be complete or valid. Absent if it cannot be read.
 */
struct hf_str hf_message_peek_id(const struct hf_json_scan *scan, struct hf_str text);

#endif
